"""What rows show about their columns; categorical variables, and tests on sets of their levels.

:func:`observed_columns` finds ranges, integer columns and one-hot groups.

A test on a set sends the rows of some levels of one variable to the left. In a tree it is a test of
several 0/1 columns, ``[region is north] + [region is west] <= 0.5``, which lists the levels of one
side. Searches over axis-aligned trees only know tests of one column. They therefore see further
columns with the *rank* of the level of each row, in an order of the levels: a threshold on
the rank divides the levels into two sets. For two outcomes, one of the sets that are prefixes of
the order by mean outcome is the best one (Fisher 1958; Breiman et al. 1984, section 4.2). With more
clusters there is one order per cluster.
"""

import os
import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics import adjusted_mutual_info_score

from .._utils.matrices import ranges, row_blocks, spaced_rows
from .._utils.warnings import warn

_SEPARATOR = re.compile(r"[_=:.\- ]")
# At most this many prefixes of column names are tried, the shortest ones first. Each takes a pass
# over the columns whose names begin with it.
_MOST_PREFIXES = 300

FEW_VALUES = 10  # a column with at most this many values may be a category
_FEWEST_LEVELS = 3  # two levels need no test on sets: a test of one column divides them
# `warn_of_copies` warns if the adjusted mutual information exceeds _NEARLY_EQUAL. A sample of
# _MOST_ROWS rows is enough to estimate it.
_NEARLY_EQUAL, _MOST_ROWS = 0.9, 20_000


@dataclass(frozen=True, eq=False)
class Variable:
    """A categorical variable, which is encoded as one column of X per level (one-hot).

    Parameters
    ----------
    columns : int array of shape (n_levels,)
        The columns of the levels. In each row at most one of them has its high value.
    low, high : float64 array of shape (n_levels,)
        The values of each column in the rows without its level, and in the rows with it.
    """

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def n_levels(self):
        """Number of levels that have a column."""
        return len(self.columns)

    def level_of_row(self, X, rows=None):
        """Return the number of each row's level as an int array; `n_levels` if it has no level.

        With `rows`, an int array, only the levels of these rows are returned.
        """
        values = X[:, self.columns] if rows is None else X[np.ix_(rows, self.columns)]
        has_level = values > 0.5 * (self.low + self.high)
        return np.where(has_level.any(axis=1), has_level.argmax(axis=1), self.n_levels)

    def split(self, goes_left):
        """Return the test that sends some levels to the left: ((indices, weights), threshold).

        Parameters
        ----------
        goes_left : bool array of shape (n_levels + 1,)
            Whether each level goes left; the last entry is for rows without a level. The test
            lists the levels that go to the other side than these rows.
        """
        listed = np.flatnonzero(goes_left[:-1] != goes_left[-1])
        weights = 1.0 / (self.high - self.low)[listed]
        threshold = 0.5 + float(weights @ self.low[listed])
        if not goes_left[-1]:
            weights, threshold = -weights, -threshold
        order = np.argsort(self.columns[listed])
        return (self.columns[listed][order].astype(np.int32), weights[order]), threshold

    def shortest(self, goes_left, has_none):
        """Return `goes_left`, in which the last entry may be changed to get a shorter test.

        The last entry is for rows without a level. If there are no such rows, it is set to the side
        with more levels, because the test lists only the levels of the other side.

        Parameters
        ----------
        goes_left : bool array of shape (n_levels + 1,)
        has_none : bool, whether some rows have no level
        """
        if has_none:
            return goes_left
        is_left = 2 * np.count_nonzero(goes_left[:-1]) > self.n_levels
        return np.append(goes_left[:-1], is_left)


@dataclass(frozen=True, eq=False)
class Levels:
    """All categorical variables of a table with at least three levels.

    Parameters
    ----------
    variables : tuple of Variable
    """

    variables: tuple[Variable, ...]

    @property
    def columns(self):
        """Columns of X with the levels of all variables: int array."""
        return np.concatenate([variable.columns for variable in self.variables])

    @classmethod
    def from_rows(cls, rows, names, X):
        """Return the categorical variables in a table; None if there are none.

        They are recognised by the names and the values of the columns, as of `get_dummies`.

        Parameters
        ----------
        rows : array of shape (n, d), before scaling; a sparse matrix has no variables
        names : sequence of str, or None
        X : array of shape (n, d), the scaled rows; or the same object
        """
        variables = tuple(
            variable
            for variable, lacks_level in _variables(rows, names, X)
            if variable.n_levels + lacks_level >= _FEWEST_LEVELS
        )
        return cls(variables) if variables else None

    def ranked(self, problem):
        """Return columns that replace each level of a variable by a rank, as Ranked.

        There is at most one column per variable and cluster. Its ranks order the levels by the mean
        cost of their rows in this cluster. The cost of a row is its distance to the centre of the
        cluster minus its distance to the nearest centre.

        Returns
        -------
        Ranked
        """
        distances = problem.objective.distances(problem.data, problem.free.centers)
        excess = distances - distances.min(axis=1, keepdims=True)
        ranks, owners = [], []
        for variable in self.variables:
            level, seen = variable.level_of_row(problem.X), set()
            weight = np.bincount(level, problem.weight, variable.n_levels + 1)
            for cluster in range(problem.n_clusters):
                costs = np.bincount(level, problem.weight * excess[:, cluster], len(weight))
                mean = np.divide(costs, weight, out=np.zeros_like(costs), where=weight > 0)
                order = np.argsort(mean, kind="stable")
                key = min(order.tobytes(), order[::-1].tobytes())
                if key not in seen:
                    seen.add(key)
                    ranks.append(np.argsort(order).astype(problem.X.dtype))
                    owners.append(variable)
        return Ranked(tuple(owners), tuple(ranks), problem.X.shape[1])


@dataclass(frozen=True, eq=False)
class Ranked:
    """Columns with ranks of levels, which are added to the columns of X.

    A test of a rank sends a set of levels to the left.

    Parameters
    ----------
    owners : tuple of Variable, one per column of ranks
    ranks : tuple of arrays of shape (n_levels + 1,)
        The rank of each level of the variable; the last one is for rows without a level.
    n_features : int, number of columns of X
    """

    owners: tuple[Variable, ...]
    ranks: tuple[np.ndarray, ...]
    n_features: int

    def widened(self, X):
        """Return X with the columns of ranks appended: array of shape (n, d + number of ranks)."""
        level = {id(variable): variable.level_of_row(X) for variable in self.owners}
        columns = [
            rank[level[id(variable)]]
            for variable, rank in zip(self.owners, self.ranks, strict=True)
        ]
        return np.column_stack([X, *columns])

    def narrowed(self, tree, X):
        """Return a tree over X with the columns of ranks as a tree over X alone.

        Tests of ranks become tests on sets of levels.

        Parameters
        ----------
        tree : Tree, axis-aligned
        X : array of shape (n, n_features)
        """
        splits = {}
        for node in tree.decision_nodes:
            indices, weights = tree.split(node)
            if len(indices) == 1 and indices[0] >= self.n_features:
                place = indices[0] - self.n_features
                variable = self.owners[place]
                goes_left = weights[0] * self.ranks[place] <= tree.threshold[node]
                has_none = bool((variable.level_of_row(X) == variable.n_levels).any())
                splits[node] = variable.split(variable.shortest(goes_left, has_none))
        return replace(tree.with_splits(splits), n_features=self.n_features)


def warn_of_copies(X, names, labels):
    """Warn if the clusters are nearly the levels of one categorical variable.

    The adjusted mutual information of clusters and levels is then above 0.9.

    Parameters
    ----------
    X : array of shape (n, d); a sparse matrix has no variables
    names : sequence of str, or None
    labels : array of shape (n,), the clusters that the tree assigns
    """
    rows = spaced_rows(len(labels), _MOST_ROWS)
    for variable, _ in _variables(X, names, X):
        level = variable.level_of_row(X, rows)
        if adjusted_mutual_info_score(level, labels[rows]) > _NEARLY_EQUAL:
            name = _variable_name(names, variable.columns)
            warn(
                f"The clusters are nearly the levels of {name}. Give this column less weight "
                "(table_pipeline(..., category_weight=0.5)), or leave it out."
            )


def _variables(rows, names, X):
    """Yield each Variable of a table, and whether some rows have none of its levels.

    The parameters are those of :meth:`Levels.from_rows`.
    """
    group = level_groups(rows, names)
    if group is None:
        return
    for number in np.unique(group[group != 0]):
        columns = np.flatnonzero(group == number)
        # One column at a time, so that X is not copied.
        low, high = ([float(part(X[:, j])) for j in columns] for part in (np.min, np.max))
        # A negative number marks groups such as those of get_dummies(drop_first=True).
        yield Variable(columns, np.array(low), np.array(high)), number < 0


def _variable_name(names, columns):
    """Return what the names of the columns of a variable have in common, up to a separator."""
    # The names are not paths, so `commonprefix` is used and not `commonpath`.
    common = os.path.commonprefix([str(names[j]) for j in columns])  # noqa: RUF071
    return re.sub(r"(?<=[ _=:.-])[^ _=:.-]*$", "", common).strip(" _=:.-").removesuffix(" is")


# ---------------------------------------------------------------- observed columns


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


def many_valued(rows):
    """Return which columns of an array or CSR matrix have more than ten values: bool array."""
    if not sp.issparse(rows):
        return np.array([len(np.unique(column)) > FEW_VALUES for column in rows.T])
    stored = pd.Series(rows.data).groupby(rows.indices).nunique()
    n_values = stored.reindex(range(rows.shape[1]), fill_value=0).to_numpy()
    return n_values + (rows.getnnz(axis=0) < rows.shape[0]) > FEW_VALUES


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
