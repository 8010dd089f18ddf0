"""Second derivatives over a sample of the rows: as a Gram matrix, or as columns of X."""

import numpy as np

from ..._utils.jit import jit
from .rows import extract, is_sparse, slots, values_of

# Rows of the Gram matrix at a time: so many values stay in the cache, and single precision
# does for the sum of so many rows.
_BLOCK_VALUES, _LEAST_BLOCK, _MOST_BLOCK = 2**16, 512, 4096
_NEAR = 16  # rows whose mean is near enough to that of all
# Where all curvature is on one row there is none along a feature, but for other rows.
_TRACE = 1e-18


def _sample(curvature, n_sample):
    """Rows at equal steps of the summed curvature and the share of it that each stands for."""
    if not curvature.any():  # every row is so far beyond the threshold that none counts more
        curvature = np.ones_like(curvature)
    seen = np.cumsum(curvature)
    if n_sample >= len(curvature):
        return np.arange(len(curvature)), curvature / seen[-1]
    hits = np.minimum((seen * (n_sample / seen[-1]) + 0.5).astype(np.int64), n_sample)
    hits[1:] -= hits[:-1].copy()
    picked = np.flatnonzero(hits)
    return picked, hits[picked] / n_sample


@jit
def _centre(part, center, root, mean):
    """Values of some rows: centred, and times the root of each row's share; adds to the mean."""
    for r in range(part.shape[0]):
        row = part[r]
        for f in range(row.shape[0]):
            row[f] = (row[f] - center[f]) * root[r]
            mean[f] += row[f] * root[r]


def _ridge(X):
    """Share of the second derivatives that is added to them, by the precision of X.

    A rounded Gram matrix need not be positive definite.
    """
    return 1e-5 if values_of(X).dtype == np.float32 else 1e-12


def gram(X, rows, curvature, features, reach, n_sample):
    """Second derivatives of a loss over some features, with the bias eliminated.

    Parameters
    ----------
    X, rows : see :func:`products`
    curvature : float64 array of shape (m,), second derivatives by the margins
    features : int64 array of shape (k,), increasing
    reach : float64 array of shape (d,), largest absolute value of each feature
    n_sample : int, about how many rows stand for all

    Returns
    -------
    float64 array of shape (k, k), positive definite
    """
    k, slot = len(features), slots(X, features, len(reach))
    picked, share = _sample(curvature, n_sample)
    some, out, mean = rows[picked], np.zeros((k, k)), np.zeros(k)
    dtype = values_of(X).dtype
    n_block = min(max(_LEAST_BLOCK, min(_BLOCK_VALUES // k, _MOST_BLOCK)), len(some))
    room, roots = np.empty(max(n_block, _NEAR) * k + 1, dtype), np.sqrt(share).astype(dtype)
    # Any value of a column serves as its centre here: it only keeps rounding errors small.
    center = extract(X, some[:_NEAR], features, slot, room).mean(axis=0)
    for start in range(0, len(some), n_block):
        block = slice(start, start + n_block)
        part, root = extract(X, some[block], features, slot, room), roots[block]
        _centre(part, center, root, mean)
        # By numpy, which knows that the product is symmetric and halves the work.
        out += part.T @ part
    total = curvature.sum()
    out -= mean[:, None] * mean
    out *= total
    # What a sample may have missed, and for rounding.
    unseen, diagonal = total / n_sample if n_sample < len(rows) else 0.0, out.reshape(-1)[:: k + 1]
    np.maximum(diagonal, 0.0, out=diagonal)
    diagonal *= 1.0 + _ridge(X)
    diagonal += (unseen + _TRACE * total) * reach[features] ** 2
    return out


# ---------------------------------------------------------------- columns


@jit
def _count_csr(indices, indptr, rows, slot, counts):
    for r in range(rows.shape[0]):
        for feature in indices[indptr[rows[r]] : indptr[rows[r] + 1]]:
            counts[slot[feature]] += 1


@jit
def _transpose_csr(X, rows, slot, free, data, index):
    for r in range(rows.shape[0]):
        for s in range(X[2][rows[r]], X[2][rows[r] + 1]):
            f = slot[X[1][s]]
            if f < free.shape[0]:
                data[free[f]], index[free[f]] = X[0][s], r
                free[f] += 1


def _transposed(X, rows, features, n_columns):
    """Some features of some rows as a CSC matrix: data, index, indptr."""
    slot, k = slots(X, features, n_columns), len(features)
    indptr = np.arange(k + 1) * len(rows)
    if not is_sparse(X):
        data = extract(X, rows, features, slot).T.ravel()
        return data, np.tile(np.arange(len(rows), dtype=np.uint32), k), indptr
    counts = np.zeros(k + 1, np.int64)
    _count_csr(*X[1:], rows, slot, counts)
    indptr[1:] = np.cumsum(counts[:k])
    data, index = np.empty(indptr[k], X[0].dtype), np.empty(indptr[k], np.uint32)
    _transpose_csr(X, rows, slot, indptr[:k].copy(), data, index)
    return data, index, indptr


def columns(X, rows, curvature, features, reach, n_sample):
    """What :func:`gram` sums, as columns of a sample of the rows.

    Returns
    -------
    data, index, indptr : CSC matrix, one column a feature
    share : float64 array, what each row of it counts; sums to the curvature's sum
    extra : float64 array of shape (k,), to be added to the second derivatives
    """
    picked, share = _sample(curvature, n_sample)
    total = curvature.sum()
    unseen = 1.0 / n_sample if n_sample < len(rows) else 0.0
    extra = reach[features] ** 2 * (total * (unseen + _TRACE))
    return *_transposed(X, rows[picked], features, len(reach)), share * total, extra
