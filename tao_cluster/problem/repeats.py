"""Equal rows are merged into one weighted row, in an order that depends only on their values.

A row of weight 2 must have the same effect as the row twice. This holds for sums, but not for
random draws by row number, such as k-means++ seeds or samples: if rows are repeated, the row
numbers of other rows change. Therefore a fit merges equal rows first, and puts the distinct rows
into an order that depends only on their values.
"""

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import ranges
from ..tree.routing import kernel_arrays, project

_BLOCK_ROWS = 1024
_LARGEST_WHOLE = 2**53


def distinct_rows(X, space, weight, n_jobs=1, unit_free=False):
    """Find the distinct rows and sum the weights of equal rows.

    Parameters
    ----------
    X, space : arrays or CSR matrices with n rows
        Two rows are equal if they are equal in both; `space` may be X itself.
    weight : float64 array of shape (n,), positive
    n_jobs : int
        Number of threads.
    unit_free : bool, default=False
        Whether the order of the distinct rows must not depend on the units of the columns of X.

    Returns
    -------
    rows : int array of shape (m,), or None if all rows are distinct and have weight 1
        The number of the first of each group of equal rows.
    weight : float64 array of shape (m,)
    group : int array of shape (n,), or None if `rows` is None
        The position in `rows` of the row that each row is equal to.
    """
    parts = [X] if space is X else [X, space]
    keys = [_keys(part, n_jobs, unit_free and part is X) for part in parts]
    if np.all(weight == 1) and any(_all_differ(key) for key in keys):
        return None, weight, None
    order = np.lexsort(keys[::-1])
    is_new = _is_new(parts, keys, order)
    if is_new.all() and np.all(weight == 1):
        return None, weight, None
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum(is_new) - 1
    return order[is_new], np.bincount(group, weights=weight), group


def _all_differ(key):
    """Return whether all numbers of an array are distinct."""
    in_order = np.sort(key)
    return bool(np.all(in_order[1:] != in_order[:-1]))


def content_order(X, n_jobs=1):
    """Return an order of the rows that depends only on their values; equal rows are adjacent."""
    return np.argsort(_keys(X, n_jobs), kind="stable")


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


def _keys(X, n_jobs, unit_free=False):
    """Return one number per row by a random projection. Equal rows get the same number."""
    direction = np.random.RandomState(0).uniform(0.5, 1.0, X.shape[1])
    if unit_free:
        return _keys_in_spreads(X, direction)
    if sp.issparse(X):
        return X @ direction  # every row is summed in the order of its columns
    every_column = np.arange(X.shape[1], dtype=np.int32)
    return project(kernel_arrays(X), np.arange(X.shape[0]), every_column, direction, n_jobs)


def _keys_in_spreads(X, direction):
    """Return one number per row: its projection, after each column is scaled to a range of 1."""
    low, high = ranges(X)
    span = high - low
    factors = direction / np.where(span > 0, span, 1.0)
    if sp.issparse(X):
        return X @ factors
    keys = np.empty(len(X))
    for start in range(0, len(X), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        # The block is in C order, so that the sums over equal rows are equal in every bit.
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
