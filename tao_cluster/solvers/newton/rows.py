"""Passes over rows of X, dense or CSR: products, gradient, Gram matrix of a sample, extraction."""

import numpy as np
from numba import types
from numba.extending import overload

from ...core.jit import jit

_BLOCK = 512  # rows of the Gram matrix at a time, so that they stay in the cache
_LONG_ROW = 8  # values a wanted feature, from which on it is cheaper to search than to read all
_NEAR = 16  # rows whose mean is near enough to that of all
# Where all curvature is on one row there is none along a feature, but for other rows.
_TRACE = 1e-18


def _products_dense(X, rows, w, out):
    used = np.flatnonzero(w).astype(np.uint32)  # a signed index might count from the end
    some = w[used]
    k = used.shape[0]
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for f in range(0, k - 3, 4):
            a += some[f] * row[used[f]]
            b += some[f + 1] * row[used[f + 1]]
            c += some[f + 2] * row[used[f + 2]]
            d += some[f + 3] * row[used[f + 3]]
        for f in range(k - k % 4, k):
            a += some[f] * row[used[f]]
        out[r] = (a + b) + (c + d)


def _products_csr(X, rows, w, out):
    data, indices, indptr = X
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        pairs = (stop - start) // 2
        a, b = 0.0, 0.0
        for s in range(pairs):
            a += values[2 * s] * w[features[2 * s]]
            b += values[2 * s + 1] * w[features[2 * s + 1]]
        if stop - start > 2 * pairs:
            a += values[2 * pairs] * w[features[2 * pairs]]
        out[r] = a + b


def _products(X, rows, w, out):
    """w.x of some rows (compiled only)."""
    raise NotImplementedError


@overload(_products)
def _overload_products(X, rows, w, out):
    return _products_dense if isinstance(X, types.Array) else _products_csr


@jit
def products(X, rows, w):
    """w.x of some rows.

    Parameters
    ----------
    X : float32 or float64 array of shape (n, d), or (data, indices, indptr) of a CSR matrix
    rows : int64 array of shape (m,)
    w : float64 array of shape (d,)

    Returns
    -------
    float64 array of shape (m,)
    """
    out = np.empty(rows.shape[0])
    _products(X, rows, w, out)
    return out


def _add_rows_dense(X, rows, factor, out):
    whole = rows.shape[0] - rows.shape[0] % 4
    for r in range(0, whole, 4):
        a, b, c, d = factor[r], factor[r + 1], factor[r + 2], factor[r + 3]
        x, y, z, u = X[rows[r]], X[rows[r + 1]], X[rows[r + 2]], X[rows[r + 3]]
        for f in range(out.shape[0]):
            out[f] += (a * x[f] + b * y[f]) + (c * z[f] + d * u[f])
    for r in range(whole, rows.shape[0]):
        x = X[rows[r]]
        for f in range(out.shape[0]):
            out[f] += factor[r] * x[f]


def _add_rows_csr(X, rows, factor, out):
    data, indices, indptr = X
    for r in range(rows.shape[0]):
        times = factor[r]
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out[indices[s]] += times * data[s]


def _add_rows(X, rows, factor, out):
    """Add factor[r] times row rows[r] to `out` (compiled only)."""
    raise NotImplementedError


@overload(_add_rows)
def _overload_add_rows(X, rows, factor, out):
    return _add_rows_dense if isinstance(X, types.Array) else _add_rows_csr


@jit
def add_rows(X, rows, factor, n_features):
    """Sum of factor[r] times row rows[r], float64 array of shape (n_features,)."""
    out = np.zeros(n_features)
    _add_rows(X, rows, factor, out)
    return out


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
def column_reach(data, indices, n_columns):
    """Largest absolute value of each column of a CSR matrix, float64."""
    reach = np.zeros(n_columns)
    for s in range(data.shape[0]):
        reach[indices[s]] = max(reach[indices[s]], abs(data[s]))
    return reach


@jit
def compress(X):
    """CSR arrays (data, indices, indptr) of a dense X, without copies on the way."""
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    for r in range(X.shape[0]):
        n_filled = 0
        for j in range(X.shape[1]):
            n_filled += X[r, j] != 0
        indptr[r + 1] = indptr[r] + n_filled
    data, indices = np.empty(indptr[-1], X.dtype), np.empty(indptr[-1], np.int32)
    for r in range(X.shape[0]):
        s = indptr[r]
        for j in range(X.shape[1]):
            if X[r, j] != 0:
                data[s], indices[s] = X[r, j], j
                s += 1
    return data, indices, indptr


def _extract_csr(X, rows, features, slot, out):
    data, indices, indptr = X
    n_features = features.shape[0]
    out[:] = 0
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        if stop - start > _LONG_ROW * n_features:
            for f in range(n_features):
                start += np.searchsorted(indices[start:stop], features[f])
                if start < stop and indices[start] == features[f]:
                    out[r, f] = data[start]
        else:
            for s in range(start, stop):
                position = slot[indices[s]]
                if position < n_features:
                    out[r, position] = data[s]


def _extract(X, rows, features, slot, out):
    """Values of some features of some rows, (rows, features) (compiled only).

    `slot` is the position of each feature in `features`, or their number.
    """
    raise NotImplementedError


@overload(_extract)
def _overload_extract(X, rows, features, slot, out):
    return _take_dense if isinstance(X, types.Array) else _extract_csr


@jit
def extract(X, rows, features, n_columns):
    """Values of some features of some rows, float32 array of shape (rows, features)."""
    slot = np.full(n_columns, features.shape[0])
    slot[features] = np.arange(features.shape[0])
    out = np.empty((rows.shape[0], features.shape[0]), np.float32)
    _extract(X, rows, features, slot, out)
    return out


@jit
def copy_rows(X, rows, indptr, data, indices):
    """Copy rows of a CSR matrix to where `indptr` says."""
    for r in range(rows.shape[0]):
        start, stop = X[2][rows[r]], X[2][rows[r] + 1]
        values, features = X[0][start:stop], X[1][start:stop]
        to_values = data[indptr[r] : indptr[r + 1]]
        to_features = indices[indptr[r] : indptr[r + 1]]
        for s in range(stop - start):  # assigned as slices, they take twice as long
            to_values[s] = values[s]
        for s in range(stop - start):
            to_features[s] = features[s]


# ---------------------------------------------------------------- the Gram matrix


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


def values_of(X):
    """Array of the stored values of X, dense or CSR."""
    return X[0] if isinstance(X, tuple) else X


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
