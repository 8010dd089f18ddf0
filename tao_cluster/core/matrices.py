"""Rows of numbers, dense or CSR: their canonical form, blocks of rows, moments of columns."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_array

FLOATS = [np.float64, np.float32]

# Values worked on at a time, so that they stay in the cache; bounds the scratch memory.
_BLOCK_VALUES, _MIN_BLOCK_ROWS = 200_000, 256

_MOMENT_ROWS = 512  # rows of which a moment takes a copy at a time


def check_rows(X, name="X", estimator=None):
    """X as an array or canonical CSR matrix of floats; no copy where it is that already.

    Raises
    ------
    ValueError
        If X has NaN or infinite values or is no matrix.
    """
    return canonical(
        check_array(X, accept_sparse="csr", dtype=FLOATS, estimator=estimator, input_name=name)
    )


def canonical(X):
    """CSR input with sorted, unique indices, of 32 bits where they suffice; no needless copy.

    Norms, k-means and LIBLINEAR would each read another matrix from repeated entries, and
    scikit-learn's k-means needs 32 bits.
    """
    if not sp.issparse(X):
        return X
    X = canonical_csr(X)
    if X.nnz > np.iinfo(np.int32).max or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)


def stored_by_rows(X):
    """X itself, or a copy of an array stored by columns: sums over them have other last bits."""
    return X if sp.issparse(X) else np.ascontiguousarray(X)


def canonical_csr(X):
    """CSR with sorted, unique indices of a sparse X; X itself if it is that, else a copy."""
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rows_of(X, space, rows):
    """Some rows of X and of the space where they are clustered, which stays X if it is."""
    some = X[rows]
    return some, some if space is X else space[rows]


def row_blocks(X, n_values=_BLOCK_VALUES, least=_MIN_BLOCK_ROWS):
    """Slices of consecutive rows whose stored values fit into the cache.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    n_values : int, stored values in a slice
    least : int, rows in a slice at least
    """
    step = max(least, int(n_values / max(row_size(X), 1)))
    for start in range(0, X.shape[0], step):
        yield slice(start, start + step)


def row_size(X):
    """Values of a row: columns, or what a row of a sparse matrix stores on average."""
    return X.nnz / max(X.shape[0], 1) if sp.issparse(X) else X.shape[1]


def spaced_rows(n_rows, most):
    """Numbers of at most so many of some rows, evenly over their order: int array."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


def variances(X):
    """Variance of each column: float array of shape (d,)."""
    if sp.issparse(X):
        return mean_variance_axis(X, axis=0)[1]
    mean, squares = X.mean(axis=0, dtype=np.float64), np.zeros(X.shape[1])
    for start in range(0, len(X), _MOMENT_ROWS):  # X.var() would take a copy of X
        squares += ((X[start : start + _MOMENT_ROWS] - mean) ** 2).sum(axis=0)
    return squares / len(X)


def ranges(X):
    """Least and largest value of each column, zeros of sparse X included: two float arrays."""
    low, high = min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    return low.astype(np.float64), high.astype(np.float64)


def power_of_two(size):
    """Power of two near a size, by which one divides without rounding; 1 for 0."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0
