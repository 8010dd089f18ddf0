"""Passes over rows of X, dense or CSR: products, gradient, deviations, parts of X."""

import numpy as np

from ..._utils.jit import jit

# X is a float32 or float64 array of shape (n, d), or the tuple (data, indices, indptr) of a CSR
# matrix; its indices are unsigned, as a signed one might count from the end, and numba would ask.

_LONG_ROW = 8  # values a wanted feature, from which on it is cheaper to search than to read all


def is_sparse(X):
    """Whether X is a CSR matrix."""
    return isinstance(X, tuple)


def values_of(X):
    """Array of the stored values of X, dense or CSR."""
    return X[0] if is_sparse(X) else X


@jit
def _products_dense(X, rows, used, some, out):
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


@jit
def _products_csr(data, indices, indptr, rows, w, out):
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
    out = np.empty(len(rows))
    if is_sparse(X):
        _products_csr(*X, rows, w, out)
    else:
        used = np.flatnonzero(w)
        _products_dense(X, rows, used.astype(np.uint32), w[used], out)
    return out


@jit
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


@jit
def _add_rows_csr(data, indices, indptr, rows, factor, out):
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        times = factor[r]
        for s in range(stop - start):
            out[features[s]] += times * values[s]


def add_rows(X, rows, factor, n_features):
    """Sum of factor[r] times row rows[r], float64 array of shape (n_features,)."""
    out = np.zeros(n_features)
    if is_sparse(X):
        _add_rows_csr(*X, rows, factor, out)
    else:
        _add_rows_dense(X, rows, factor, out)
    return out


@jit
def _deviations_dense(X, rows, weight, center, out):
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        for f in range(out.shape[0]):
            out[f] += weight[r] * abs(row[f] - center[f])


@jit
def _deviations_csr(data, indices, indptr, rows, weight, center, out):
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            f = indices[s]
            out[f] += weight[r] * (abs(data[s] - center[f]) - abs(center[f]))


def deviations(X, rows, weight, n_features):
    """Sum of weight[r] times the distance of row rows[r] from the mean, of each feature."""
    total = weight.sum()
    center = add_rows(X, rows, weight / total, n_features)
    if is_sparse(X):
        out = total * np.abs(center)  # as if all were zeros
        _deviations_csr(*X, rows, weight, center, out)
    else:
        out = np.zeros(n_features)
        _deviations_dense(X, rows, weight, center, out)
    return out


def column_reach(data, indices, n_columns):
    """Largest absolute value of each column of a CSR matrix, float64."""
    reach = np.zeros(n_columns)
    _reach(data, indices, reach)
    return reach


@jit
def _reach(data, indices, reach):
    for s in range(data.shape[0]):
        reach[indices[s]] = max(reach[indices[s]], abs(data[s]))


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


@jit
def _extract_dense(X, rows, features, out):
    k, at = features.shape[0], 0
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        to = out[at : at + k]
        for f in range(k):
            to[f] = row[features[f]]
        at += k


@jit
def _extract_csr(data, indices, indptr, rows, features, slot, out):
    k, at = features.shape[0], 0
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        # What is not wanted is written behind the row, where the next one starts with zeros:
        # cheaper than to ask.
        to = out[at : at + k + 1]
        to[:] = 0
        at += k
        if stop - start > _LONG_ROW * k:
            for f in range(k):
                start += np.searchsorted(indices[start:stop], features[f])
                if start < stop and indices[start] == features[f]:
                    to[f] = data[start]
        else:
            values, columns = data[start:stop], indices[start:stop]
            for s in range(stop - start):
                to[slot[columns[s]]] = values[s]


def extract(X, rows, features, slot, room=None):
    """Values of some features of some rows.

    Parameters
    ----------
    X, rows : see :func:`products`
    features : integer array of shape (k,), increasing
    slot : result of :func:`slots`
    room : array of at least m * k + 1 values, where the result is to be; default a new one

    Returns
    -------
    array of shape (m, k) of the precision of X
    """
    size = len(rows) * len(features)
    if room is None:
        room = np.empty(size + 1, values_of(X).dtype)
    wanted = features.astype(np.uint32)
    if is_sparse(X):
        _extract_csr(*X, rows, wanted, slot, room)
    else:
        _extract_dense(X, rows, wanted, room)
    return room[:size].reshape(len(rows), len(features))


def slots(X, features, n_columns):
    """Position of each column in `features`, their number for others; None if X is dense."""
    if not is_sparse(X):
        return None
    slot = np.full(n_columns, len(features), np.uint32)
    slot[features] = np.arange(len(features))
    return slot


@jit
def _row_ends(indices, indptr, rows, slot, n_wanted, ends):
    at = 0
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            at += slot[indices[s]] < n_wanted
        ends[r] = at


@jit
def _select(X, rows, slot, n_wanted, data, indices):
    at = 0
    for r in range(rows.shape[0]):
        for s in range(X[2][rows[r]], X[2][rows[r] + 1]):
            f = slot[X[1][s]]
            if f < n_wanted:
                data[at], indices[at] = X[0][s], f
                at += 1


def part_of(X, rows, features, n_columns, dense_share):
    """Some features of some rows: as CSR where X is, unless they are filled enough.

    Parameters
    ----------
    X, rows : see :func:`products`
    features : integer array of shape (k,), increasing
    n_columns : int, d
    dense_share : float, share of non-zeros from which on the result is an array

    Returns
    -------
    array of shape (m, k), or (data, indices, indptr), of the precision of X
    """
    k, slot = len(features), slots(X, features, n_columns)
    if not is_sparse(X):
        return extract(X, rows, features, slot)
    indptr = np.zeros(len(rows) + 1, np.int64)
    _row_ends(*X[1:], rows, slot, k, indptr[1:])
    if indptr[-1] >= dense_share * len(rows) * k:
        return extract(X, rows, features, slot)
    data, indices = (np.empty(indptr[-1], part.dtype) for part in X[:2])
    _select(X, rows, slot, k, data, indices)
    return data, indices, indptr


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
