"""Rows that repeat, and the weights that stand for them.

A row of weight 2 is to be the row twice. That holds for sums, but not for what is random: a
k-means++ seed or a sample drawn by the position of a row is another row where rows are repeated.
So repeated rows are merged before anything else is done with them, and weighted or repeated
rows are put into one order.
"""

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import ranges
from ..tree.routing import kernel_arrays, project

_BLOCK_ROWS = 1024
_LARGEST_WHOLE = 2**53


def distinct_rows(X, space, weight, n_jobs=1, in_spreads=False):
    """Rows that stand for all rows equal to them, and the weights of these together.

    Parameters
    ----------
    X, space : arrays or CSR matrices of n rows
        Rows are equal if they are in both; `space` may be X itself.
    weight : float64 array of shape (n,), positive
    n_jobs : int, threads
    in_spreads : bool, default=False
        Whether the order of the rows is to be the same in all units of the columns of X.

    Returns
    -------
    rows : int array, or None if all rows are distinct and have weight 1
    weight : float64 array, one a row
    group : int array of shape (n,), which of `rows` each row is equal to; None with them
    """
    parts = [X] if space is X else [X, space]
    keys = [_keys(part, n_jobs, in_spreads and part is X) for part in parts]
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
    """Whether no two numbers are equal."""
    in_order = np.sort(key)
    return bool(np.all(in_order[1:] != in_order[:-1]))


def content_order(X, n_jobs=1):
    """An order of the rows that follows from their contents, equal rows side by side."""
    return np.argsort(_keys(X, n_jobs), kind="stable")


def _is_new(parts, keys, order):
    """Where in an order by the keys another row begins."""
    same_key = np.all([key[order[1:]] == key[order[:-1]] for key in keys], axis=0)
    followers = np.flatnonzero(same_key) + 1
    equal = np.ones(len(followers), dtype=bool)
    for part in parts:
        equal &= _are_equal(part, order[followers - 1], order[followers])
    is_new = np.ones(len(order), dtype=bool)
    is_new[followers[equal]] = False
    return is_new


def _keys(X, n_jobs, in_spreads=False):
    """A number a row, the same for equal rows wherever they are: a random projection."""
    direction = np.random.RandomState(0).uniform(0.5, 1.0, X.shape[1])
    if in_spreads:
        return _keys_in_spreads(X, direction)
    if sp.issparse(X):
        return X @ direction  # one sum a row, in the order of its columns
    every_column = np.arange(X.shape[1], dtype=np.int32)
    return project(kernel_arrays(X), np.arange(X.shape[0]), every_column, direction, n_jobs)


def _keys_in_spreads(X, direction):
    """The projection of columns that are brought to the range 0..1 (sparse: of that length)."""
    low, high = ranges(X)
    span = high - low
    factors = direction / np.where(span > 0, span, 1.0)
    if sp.issparse(X):
        return X @ factors
    keys = np.empty(len(X))
    for start in range(0, len(X), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        # Row by row in memory, so that equal rows have equal sums.
        keys[part] = (np.ascontiguousarray(X[part] - low) * factors).sum(axis=1)
    return keys


def _are_equal(X, a, b):
    """Whether rows a[i] and b[i] of X are equal."""
    equal = np.empty(len(a), dtype=bool)
    for start in range(0, len(a), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        differs = X[a[part]] != X[b[part]]
        equal[part] = np.asarray(differs.sum(axis=1)).ravel() == 0
    return equal


def as_repeats(weight):
    """Weights as numbers of repeated rows, for what knows no weights.

    Parameters
    ----------
    weight : float64 array of shape (n,), positive

    Returns
    -------
    (int64 array of shape (n,), float), so that weight = unit * repeats up to rounding; None if
    the weights are neither whole numbers nor multiples of the least one
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
