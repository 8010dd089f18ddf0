"""Copies of parts of sparse rows: few columns, for passes that ask for no others; some rows."""

import numpy as np
import scipy.sparse as sp

from .._utils.jit import jit
from ..tree.routing import kernel_view

# Of all stored values: what a copy may take, and up to where it saves a pass much.
_MOST_COPIED = 1 / 8


@jit
def _count(X, rows, counts):
    for row in rows:
        for s in range(X[2][row], X[2][row + 1]):
            counts[np.uint64(X[1][s])] += 1  # numba asks of a signed index if it counts back


@jit
def _copy_wanted(X, is_wanted, data, indices, indptr):
    # What is not wanted is written over: cheaper than to ask.
    at = 0
    for r in range(indptr.shape[0] - 1):
        for s in range(X[2][r], X[2][r + 1]):
            data[at], indices[at] = X[0][s], X[1][s]
            at += is_wanted[np.uint64(X[1][s])]
        indptr[r + 1] = at


@jit
def _turn(X, rows, free, data, indices):
    for r in range(rows.shape[0]):
        for s in range(X[2][rows[r]], X[2][rows[r] + 1]):
            j = np.uint64(X[1][s])
            data[free[j]], indices[free[j]] = X[0][s], r
            free[j] += 1


def columns_of_rows(X, rows):
    """Some rows of a sparse matrix by columns, without a copy of these rows on the way.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
    rows : int64 array of shape (m,)

    Returns
    -------
    CSC matrix of shape (m, d), indices sorted
    """
    view, indptr = kernel_view(X), np.zeros(X.shape[1] + 1, np.int64)
    _count(view, rows, indptr[1:])
    np.cumsum(indptr, out=indptr)
    data, indices = np.empty(indptr[-1], X.dtype), np.empty(indptr[-1], np.int32)
    _turn(view, rows, indptr[:-1].copy(), data, indices)
    return sp.csc_matrix((data, indices, indptr), shape=(len(rows), X.shape[1]))


class FewColumns:
    """Copies of few columns of sparse rows, which take at most an eighth of the stored values.

    A copy is a CSR matrix of the same shape, in which other columns are zeros.

    Parameters
    ----------
    X : tuple (data, indices, indptr) of a CSR matrix of shape (n, d)
    n_columns : int, d
    """

    def __init__(self, X, n_columns):
        self._X = X
        self._sizes = np.zeros(n_columns, np.int64)  # stored values of each column
        _count(X, np.arange(len(X[2]) - 1), self._sizes)

    def copied(self, is_wanted):
        """Tuple (data, indices, indptr) of the columns of a mask; None if they are too large."""
        size, most = self._sizes[is_wanted].sum(), int(_MOST_COPIED * len(self._X[1]))
        if size > most:
            return None
        # With a place to be written over.
        data, indices = (np.empty(size + 1, part.dtype) for part in self._X[:2])
        indptr = np.zeros_like(self._X[2])
        _copy_wanted(self._X, is_wanted, data, indices, indptr)
        return data[:size], indices[:size], indptr
