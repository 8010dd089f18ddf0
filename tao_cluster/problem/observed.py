"""What the fitted rows show about their columns: ranges, integer columns, one-hot groups."""

import re

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import ranges, row_blocks

_SEPARATOR = re.compile(r"[_=:.\- ]")
# At most this many prefixes of column names are tried, the shortest ones first. Each takes a pass
# over the columns whose names begin with it.
_MOST_PREFIXES = 300


def observed_columns(X, names=None):
    """Return properties of the columns of the fitted rows, as private attributes by name.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    names : sequence of d strings, optional
        One-hot groups are looked for only among columns with names.

    Returns
    -------
    dict of
        ``_column_range``, float64 array of shape (2, d): smallest and largest value per column;
        ``_column_is_integer``, bool array of shape (d,): whether all values are integers;
        ``_column_group``, int32 array of shape (d,): number of the one-hot group of a column, as
        `pandas.get_dummies` makes them. It is positive if exactly one column of the group is 1 in
        each row, negative if at most one is, and 0 outside of groups.
    """
    low, high = ranges(X)
    is_integer = integer_columns(X)
    group = np.zeros(X.shape[1], dtype=np.int32)
    if names is not None:
        _set_groups(X, names, is_integer & (low == 0) & (high == 1), group)
    return {
        "_column_range": np.array([low, high]),
        "_column_is_integer": is_integer,
        "_column_group": group,
    }


def level_groups(X, names):
    """Return the one-hot group of each column: int array of shape (d,).

    A one-hot group has one column per level of a categorical variable, as `pandas.get_dummies`
    makes them. The numbers are those of ``_column_group`` in :func:`observed_columns`. Here, the
    columns of a group may be multiplied by a positive number.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    names : sequence of d strings, or None

    Returns
    -------
    int32 array of shape (d,), or None
        None if there are no names, or X is sparse.
    """
    if names is None or sp.issparse(X):
        return None
    low, high = X.min(axis=0), X.max(axis=0)
    columns = np.flatnonzero((low == 0) & (high > 0))
    columns = columns[[bool(((X[:, j] == 0) | (X[:, j] == high[j])).all()) for j in columns]]
    group = np.zeros(X.shape[1], dtype=np.int32)
    found = np.zeros(len(columns), dtype=np.int32)
    _set_groups(X[:, columns] > 0, [names[j] for j in columns], np.ones(len(columns), bool), found)
    group[columns] = found
    return group


def columns_with_prefix(names, prefix, group):
    """Return the columns of the one-hot groups whose names all begin with a prefix: list of int.

    Parameters
    ----------
    names : sequence of d strings
    prefix : str
        The name of the column before `pandas.get_dummies`, without the separator.
    group : int array of shape (d,), the ``_column_group`` of :func:`observed_columns`
    """
    begins = np.array(
        [name.startswith(prefix) and bool(_SEPARATOR.match(name, len(prefix))) for name in names]
    )
    groups = [k for k in np.unique(group[begins]) if k and begins[group == k].all()]
    return np.flatnonzero(np.isin(group, groups)).tolist()


def integer_columns(X):
    """Return whether all values of each column are integers."""
    is_integer = np.ones(X.shape[1], dtype=bool)
    if sp.issparse(X):
        is_integer[X.indices[X.data != np.floor(X.data)]] = False
        return is_integer
    columns = np.arange(X.shape[1])
    for part in row_blocks(X):
        if not len(columns):
            break
        values = X[part] if len(columns) == X.shape[1] else X[part][:, columns]
        columns = columns[(values == np.floor(values)).all(axis=0)]
    is_integer[:] = False
    is_integer[columns] = True
    return is_integer


def _set_groups(X, names, is_binary, group):
    """Find one-hot groups by common prefixes of names, and write their numbers to `group`.

    A group consists of 0/1 columns of which at most one is 1 in each row. Short prefixes are tried
    first, so that groups are as large as possible.
    """
    by_prefix = {}
    for j in np.flatnonzero(is_binary):
        for found in _SEPARATOR.finditer(str(names[j])):
            by_prefix.setdefault(names[j][: found.end()], []).append(j)
    prefixes = [prefix for prefix, columns in by_prefix.items() if len(columns) > 1]
    number = 0
    for prefix in sorted(prefixes, key=len)[:_MOST_PREFIXES]:
        columns = [j for j in by_prefix[prefix] if not group[j]]
        if len(columns) < 2:
            continue
        sums = np.asarray(X[:, columns].sum(axis=1))
        if sums.max() == 1:
            number += 1
            group[columns] = number if sums.min() == 1 else -number
