"""The rows of a fit: equal ones are merged, in an order that depends only on their values.

The order of the rows must not matter, and a row of weight 2 must have the same effect as the row
twice. This holds for sums up to rounding, but not for random draws by row number, such as k-means++
seeds or samples. Therefore a fit merges equal rows first, and puts the distinct rows into an order
that depends only on their values.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._utils.matrices import ranges

_BLOCK_ROWS = 1024
_LARGEST_WHOLE = 2**53


def distinct_rows(X, space, weight, unit_free=False):
    """Find the distinct rows and sum the weights of equal rows.

    Parameters
    ----------
    X, space : arrays or CSR matrices with n rows
        Two rows are equal if they are equal in both; `space` may be X itself.
    weight : float64 array of shape (n,), positive
    unit_free : bool, default=False
        Whether the order of the distinct rows must not depend on the units of the columns of X.

    Returns
    -------
    rows : int array of shape (m,)
        The number of one of each group of equal rows.
    weight : float64 array of shape (m,)
    group : int array of shape (n,)
        The position in `rows` of the row that each row is equal to.
    """
    parts = [X] if space is X else [X, space]
    keys = [row_keys(part, unit_free and part is X) for part in parts]
    order = np.lexsort([weight, *keys[::-1]])  # the order of a sum changes its last bits
    is_new = _is_new(parts, keys, order)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum(is_new) - 1
    return order[is_new], np.bincount(group[order], weights=weight[order]), group


def content_order(*tables):
    """Return an order of rows that depends only on their values; equal rows are adjacent.

    Parameters
    ----------
    *tables : arrays, CSR matrices, DataFrames, or lists of labels or weights, with n rows each
        The later ones order rows that are equal in the first ones. None is ignored.
    """
    return np.lexsort([row_keys(table) for table in tables[::-1] if table is not None])


def _is_new(parts, keys, order):
    """Return whether each row differs from the row before it in `order`: bool array.

    `order` sorts the rows by `keys`, one number per row that is the same for equal rows. Only rows
    with equal keys are compared; `parts` are the matrices whose rows are compared.
    """
    same_key = np.all([key[order[1:]] == key[order[:-1]] for key in keys], axis=0)
    followers = np.flatnonzero(same_key) + 1
    equal = np.ones(len(followers), dtype=bool)
    for part in parts:
        equal &= _are_equal(part, order[followers - 1], order[followers])
    is_new = np.ones(len(order), dtype=bool)
    is_new[followers[equal]] = False
    return is_new


def row_keys(X, unit_free=False):
    """Return one number per row, the same for equal rows: a random projection, or a hash of text.

    With `unit_free`, the columns are scaled to a range of 1 first.
    """
    if not sp.issparse(X):
        X = X if isinstance(X, pd.DataFrame | pd.Series) else np.asarray(X)
        frame = pd.DataFrame(X, copy=False)  # otherwise pandas copies an array
        if not all(kind.kind in "iufb" for kind in frame.dtypes):
            return pd.util.hash_pandas_object(frame.astype(str), index=False).to_numpy()
        X = frame.to_numpy()
    factors, low = np.random.RandomState(0).uniform(0.5, 1.0, X.shape[1]), 0.0
    if unit_free:
        low, high = ranges(X)
        factors /= np.where(high > low, high - low, 1.0)
    if sp.issparse(X):
        return X @ factors  # every row is summed in the order of its columns
    keys = np.empty(len(X))
    for start in range(0, len(X), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        # The block is in C order, so that the sums over equal rows are equal in every bit.
        with np.errstate(under="ignore"):
            keys[part] = (np.ascontiguousarray(X[part] - low) * factors).sum(axis=1)
    return keys


def _are_equal(X, a, b):
    """Return for each i whether rows a[i] and b[i] of X are equal."""
    equal = np.empty(len(a), dtype=bool)
    for start in range(0, len(a), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        differs = X[a[part]] != X[b[part]]
        equal[part] = np.asarray(differs.sum(axis=1)).ravel() == 0
    return equal


def as_repeats(weight):
    """Express weights as numbers of repetitions, for methods that do not support weights.

    Parameters
    ----------
    weight : float64 array of shape (n,), positive

    Returns
    -------
    (repeats, unit) : int64 array of shape (n,) and float, or None
        ``weight = unit * repeats`` up to rounding. None if the weights are neither integers nor
        multiples of the smallest weight.
    """
    if np.array_equal(weight, np.floor(weight)) and weight.max() <= _LARGEST_WHOLE:
        repeats = weight.astype(np.int64)
        unit = np.gcd.reduce(repeats)
        return repeats // unit, float(unit)
    unit = float(weight.min())
    multiples = weight / unit
    repeats = np.rint(multiples)
    if repeats.max() > _LARGEST_WHOLE or not np.allclose(multiples, repeats, rtol=1e-12, atol=0):
        return None
    return repeats.astype(np.int64), unit
