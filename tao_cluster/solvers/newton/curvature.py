"""Second derivatives over a sample of the rows: as a Gram matrix, or as columns of X."""

import numpy as np
from numba import types
from numba.extending import overload

from ...core.jit import jit
from .rows import values_of

_BLOCK = 512  # rows of the Gram matrix at a time, so that they stay in the cache
_NEAR = 16  # rows whose mean is near enough to that of all
# Where all curvature is on one row there is none along a feature, but for other rows.
_TRACE = 1e-18


def _take_dense(X, rows, features, slot, out):
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        for f in range(features.shape[0]):
            out[r, f] = row[features[f]]


def _take_csr(X, rows, features, slot, out):
    data, indices, indptr = X
    out[:] = 0
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out[r, slot[indices[s]]] = data[s]


def _take(X, rows, features, slot, out):
    """Values of some features of some rows, (rows, features + 1) (compiled only).

    `slot` is the position of each feature in `features`; of all others it is the last column of
    `out`, whose values mean nothing: that is cheaper than to ask.
    """
    raise NotImplementedError


@overload(_take)
def _overload_take(X, rows, features, slot, out):
    return _take_dense if isinstance(X, types.Array) else _take_csr


@jit
def _sample(curvature, n_sample):
    """Rows at equal steps of the summed curvature and the share of it that each stands for."""
    n = curvature.shape[0]
    total = np.sum(curvature)
    if n_sample >= n:
        return np.arange(n), curvature / total
    picked, share = np.empty(n_sample, np.int64), np.empty(n_sample)
    count, seen, hits = 0, 0.0, 0
    for r in range(n):
        seen += curvature[r]
        before = hits
        hits = min(int(seen / total * n_sample + 0.5), n_sample)
        if hits > before:
            picked[count], share[count] = r, (hits - before) / n_sample
            count += 1
    return picked[:count], share[:count]


@jit
def _fill(X, rows, share, features, slot, center, mean, part):
    """Values of some features of some rows: centred, and times the root of each row's share."""
    k = features.shape[0]
    _take(X, rows, features, slot, part)
    for r in range(rows.shape[0]):
        root = np.sqrt(share[r])
        for f in range(k):
            value = (part[r, f] - center[f]) * root
            part[r, f] = value
            mean[f] += value * root


@jit
def _choose(curvature, n_sample, features, n_features):
    """Sample of the rows, their shares, and the position of each feature."""
    slot = np.full(n_features, features.shape[0], np.uint32)
    for f in range(features.shape[0]):
        slot[features[f]] = f
    picked, share = _sample(curvature, n_sample)
    return picked, share, slot


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
    k = len(features)
    picked, share, slot = _choose(curvature, n_sample, features, len(reach))
    some, out, mean, center = rows[picked], np.zeros((k, k)), np.zeros(k), np.zeros(k)
    room = np.empty((min(_BLOCK, len(some)), k + 1), values_of(X).dtype)
    # Any value of a column serves as its centre here: it only keeps rounding errors small.
    _fill(
        X,
        some[:_NEAR],
        np.full(len(some[:_NEAR]), 1 / len(some[:_NEAR])),
        features,
        slot,
        np.zeros(k),
        center,
        room[:_NEAR],
    )
    for start in range(0, len(some), _BLOCK):
        block = some[start : start + _BLOCK]
        part = room[: len(block)]
        _fill(X, block, share[start : start + _BLOCK], features, slot, center, mean, part)
        # By numpy, which knows that the product is symmetric and halves the work.
        out += part[:, :k].T @ part[:, :k]
    total = curvature.sum()
    unseen = total / n_sample if n_sample < len(rows) else 0.0
    _finish(out, mean, total, reach[features], unseen, _ridge(X))
    return out


@jit
def _finish(gram, mean, total, reach, unseen, ridge):
    """Centre a Gram matrix and scale it; add what a sample may have missed, and for rounding."""
    for i in range(mean.shape[0]):
        for j in range(mean.shape[0]):
            gram[i, j] = total * (gram[i, j] - mean[i] * mean[j])
        square = reach[i] * reach[i]
        gram[i, i] = max(gram[i, i], 0.0) * (1.0 + ridge) + (unseen + _TRACE * total) * square


# ---------------------------------------------------------------- columns


def _count_dense(X, rows, features, slot, counts):
    counts[: features.shape[0]] += rows.shape[0]


def _count_csr(X, rows, features, slot, counts):
    for r in range(rows.shape[0]):
        for feature in X[1][X[2][rows[r]] : X[2][rows[r] + 1]]:
            counts[slot[feature]] += 1


def _count(X, rows, features, slot, counts):
    """Add the numbers of stored values of some features in some rows (compiled only)."""
    raise NotImplementedError


@overload(_count)
def _overload_count(X, rows, features, slot, counts):
    return _count_dense if isinstance(X, types.Array) else _count_csr


def _transpose_dense(X, rows, features, slot, free, data, index):
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        for f in range(features.shape[0]):
            data[free[f]], index[free[f]] = row[features[f]], r
            free[f] += 1


def _transpose_csr(X, rows, features, slot, free, data, index):
    for r in range(rows.shape[0]):
        for s in range(X[2][rows[r]], X[2][rows[r] + 1]):
            f = slot[X[1][s]]
            if f < features.shape[0]:
                data[free[f]], index[free[f]] = X[0][s], r
                free[f] += 1


def _transpose(X, rows, features, slot, free, data, index):
    """Values and row numbers by features, each from free[feature] on (compiled only)."""
    raise NotImplementedError


@overload(_transpose)
def _overload_transpose(X, rows, features, slot, free, data, index):
    return _transpose_dense if isinstance(X, types.Array) else _transpose_csr


def columns(X, rows, curvature, features, reach, n_sample):
    """What :func:`gram` sums, as columns of a sample of the rows.

    Returns
    -------
    data, index, indptr : CSC matrix, one column a feature
    share : float64 array, what each row of it counts; sums to the curvature's sum
    extra : float64 array of shape (k,), to be added to the second derivatives
    """
    return _columns(X, values_of(X), rows, curvature, features, reach, n_sample)


@jit
def _columns(X, values, rows, curvature, features, reach, n_sample):
    k = features.shape[0]
    picked, share, slot = _choose(curvature, n_sample, features, reach.shape[0])
    some, counts = rows[picked], np.zeros(k + 1, np.int64)
    _count(X, some, features, slot, counts)
    indptr = np.zeros(k + 1, np.int64)
    indptr[1:] = np.cumsum(counts[:k])
    data, index = np.empty(indptr[k], values.dtype), np.empty(indptr[k], np.uint32)
    _transpose(X, some, features, slot, indptr[:k].copy(), data, index)
    total = np.sum(curvature)
    unseen = 1.0 / n_sample if n_sample < rows.shape[0] else 0.0
    extra = reach[features] ** 2 * (total * (unseen + _TRACE))
    return data, index, indptr, share * total, extra
