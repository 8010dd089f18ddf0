"""Passes over rows of X, dense or CSR: products, gradient, deviations, extraction."""

import numpy as np
from numba import types
from numba.extending import overload

from ...core.jit import jit

_LONG_ROW = 8  # values a wanted feature, from which on it is cheaper to search than to read all


def values_of(X):
    """Array of the stored values of X, dense or CSR."""
    return X[0] if isinstance(X, tuple) else X


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


def _deviations_dense(X, rows, weight, center, out):
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        for f in range(out.shape[0]):
            out[f] += weight[r] * abs(row[f] - center[f])


def _deviations_csr(X, rows, weight, center, out):
    data, indices, indptr = X
    out += np.sum(weight) * np.abs(center)  # as if all were zeros
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            f = indices[s]
            out[f] += weight[r] * (abs(data[s] - center[f]) - abs(center[f]))


def _deviations(X, rows, weight, center, out):
    """Add weight[r] times the distance of row rows[r] from the centre (compiled only)."""
    raise NotImplementedError


@overload(_deviations)
def _overload_deviations(X, rows, weight, center, out):
    return _deviations_dense if isinstance(X, types.Array) else _deviations_csr


@jit
def deviations(X, rows, weight, n_features):
    """Sum of weight[r] times the distance of row rows[r] from the mean, of each feature."""
    center, out = np.zeros(n_features), np.zeros(n_features)
    _add_rows(X, rows, weight / np.sum(weight), center)
    _deviations(X, rows, weight, center, out)
    return out


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


def _extract_dense(X, rows, features, slot, out):
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        for f in range(features.shape[0]):
            out[r, f] = row[features[f]]


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
    return _extract_dense if isinstance(X, types.Array) else _extract_csr


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
