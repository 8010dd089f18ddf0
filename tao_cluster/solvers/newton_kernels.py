"""Compiled parts of the Newton solver that read rows, logistic losses, and quadratic models."""

import numpy as np
import scipy.sparse as sp

from .._utils.jit import by_layout, jit

# Coordinate descent ends when a sweep over all features, with the leap before it, contributes at
# most the share `_ENOUGH` of the decrease so far. Between two such sweeps, it sweeps over the
# features with a non-zero weight until one sweep contributes at most the share `_SETTLED`. Without
# a Gram matrix, sweeps are slower, so `_ENOUGH_BY_COLUMNS` replaces both shares. `_MAX_SWEEPS` and
# `_MAX_SWEEPS_IN_ALL` limit the numbers of sweeps.
_MAX_SWEEPS, _MAX_SWEEPS_IN_ALL = 50, 2500
_ENOUGH, _SETTLED = 1e-3, 1e-4
_ENOUGH_BY_COLUMNS = 1e-2
_LEAST = 1e-12  # least share of a second derivative that is left after the bias is eliminated
_TRACE = 1e-18  # least second derivative, as a share of the total curvature
_BLOCK = 64  # number of rows that are read at a time
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


# ---------------------------------------------------------------- rows of a node


# The rows of a node are X[rows] minus `origin`, times `scale`:
#   X: array of shape (n, d), or tuple (data, indices, indptr) of a CSR matrix
#   rows: int64 array of shape (m,)
#   origin, scale: float64 arrays of shape (d,); `origin` is 0 if X is sparse.


def unsigned_arrays(X):
    """Return X for kernels: an array, or the arrays (data, indices, indptr) of a CSR matrix.

    The indices are unsigned, because numba checks signed ones for negative values.
    """
    if not sp.issparse(X):
        return X
    indices = X.indices.view(np.uint32) if X.indices.itemsize == 4 else X.indices.astype(np.uint32)
    return X.data, indices, X.indptr


@jit
def products(X, rows, origin, scale, features, w):
    """Return the products of the rows and weights of some features: float64 array of shape (m,)."""
    used, scaled, n_used = np.empty_like(features), np.empty_like(w), 0
    for f in range(features.shape[0]):
        if w[f] != 0.0:
            used[n_used], scaled[n_used] = features[f], w[f] * scale[features[f]]
            n_used += 1
    out = np.empty(rows.shape[0])
    _multiply(X, rows, used[:n_used], scaled[:n_used], origin, out)
    return out


@jit
def sums(X, rows, origin, scale, factor):
    """Return the sum of the rows, each times its factor: float64 array of shape (d,)."""
    out, total = np.zeros(scale.shape[0]), 0.0
    add_rows(X, rows, factor, out)
    for r in range(rows.shape[0]):
        total += factor[r]
    for j in range(scale.shape[0]):
        out[j] = (out[j] - total * origin[j]) * scale[j]
    return out


@jit
def deviations(X, rows, origin, scale, factor, weight):
    """Return sums over rows, and weighted sums of absolute deviations from the mean, per column.

    Parameters
    ----------
    X, rows, origin, scale : the rows of a node
    factor, weight : float64 arrays of shape (m,)

    Returns
    -------
    total : float64 array of shape (d,), the sum of the rows, each times its `factor`
    size : float64 array of shape (d,), the sum of the deviations, each times its `weight`
    """
    in_all, every = weight.sum(), np.arange(scale.shape[0])
    center = sums(X, rows, origin, np.ones_like(scale), weight) / in_all
    size = in_all * np.abs(center)
    for r in range(rows.shape[0]):
        values, features = _stored(X, rows[r], every)
        for s in range(values.shape[0]):
            j = features[s]
            size[j] += weight[r] * (abs(values[s] - origin[j] - center[j]) - abs(center[j]))
    return sums(X, rows, origin, scale, factor), size * scale


def _multiply_dense(X, rows, features, w, origin, out):
    k, center, some = features.shape[0], origin[features], np.empty(features.shape[0], np.uint32)
    for f in range(k):
        some[f] = features[f]
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums let additions overlap
        for f in range(0, k - 3, 4):
            a += w[f] * (row[some[f]] - center[f])
            b += w[f + 1] * (row[some[f + 1]] - center[f + 1])
            c += w[f + 2] * (row[some[f + 2]] - center[f + 2])
            d += w[f + 3] * (row[some[f + 3]] - center[f + 3])
        for f in range(k - k % 4, k):
            a += w[f] * (row[some[f]] - center[f])
        out[r] = (a + b) + (c + d)


def _multiply_csr(X, rows, features, w, origin, out):
    data, indices, indptr = X
    table = np.zeros(origin.shape[0])
    table[features] = w
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, columns = data[start:stop], indices[start:stop]
        pairs = (stop - start) // 2
        a, b = 0.0, 0.0
        for s in range(pairs):
            a += values[2 * s] * table[columns[2 * s]]
            b += values[2 * s + 1] * table[columns[2 * s + 1]]
        if stop - start > 2 * pairs:
            a += values[2 * pairs] * table[columns[2 * pairs]]
        out[r] = a + b


# Write (X[rows, features] - origin[features]) @ w to `out`.
_multiply = by_layout(_multiply_dense, _multiply_csr)


def _add_rows_dense(X, rows, factor, out):
    whole = rows.shape[0] - rows.shape[0] % 4
    for r in range(0, whole, 4):  # four rows at a time are faster
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
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        times = factor[r]
        for s in range(stop - start):
            out[features[s]] += times * values[s]


# Add factor[r] * X[rows[r]] to `out` for each r.
add_rows = by_layout(_add_rows_dense, _add_rows_csr)


def _extract_dense(X, rows, features, center, scale, factor, out):
    for start in range(0, rows.shape[0], _BLOCK):
        some, times = rows[start : start + _BLOCK], factor[start : start + _BLOCK]
        for f in range(features.shape[0]):
            j, to = np.uint32(features[f]), out[f, start : start + _BLOCK]
            a, b = center[j], scale[j]
            for r in range(some.shape[0]):
                to[r] = (X[some[r], j] - a) * b * times[r]


def _extract_csr(X, rows, features, center, scale, factor, out):
    data, indices, indptr = X
    k, inverse = features.shape[0], _inverse(features, center.shape[0])
    for f in range(k):
        empty = -center[features[f]] * scale[features[f]]
        for r in range(rows.shape[0]):
            out[f, r] = empty * factor[r]
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, columns = data[start:stop], indices[start:stop]
        for s in range(stop - start):
            j = columns[s]
            f = inverse[j]
            if f < k:
                out[f, r] = (values[s] - center[j]) * scale[j] * factor[r]


# Write (X[rows, features] - center) * scale, each row times its factor, to `out` of shape (k, m).
extract = by_layout(_extract_dense, _extract_csr)


@jit
def _inverse(features, d):
    """Return the position of each of `d` columns among some features, and their number if none."""
    inverse = np.full(d, features.shape[0], np.uint32)
    inverse[features] = np.arange(features.shape[0]).astype(np.uint32)
    return inverse


@jit
def columns(X, rows, origin, scale, features):
    """Return the arrays (data, index, indptr) of the CSC matrix of some features of the rows."""
    k, inverse, every = features.shape[0], _inverse(features, scale.shape[0]), np.arange(scale.size)
    ends = np.zeros(k + 2, np.int64)
    for row in rows:
        _, stored = _stored(X, row, every)
        for s in range(stored.shape[0]):
            ends[inverse[stored[s]] + 1] += 1
    ends = np.cumsum(ends)[:-1]  # the start of each column, which then moves to its end
    data, index, indptr = np.empty(ends[k]), np.empty(ends[k], np.int64), ends.copy()
    for r in range(rows.shape[0]):
        values, stored = _stored(X, rows[r], every)
        for s in range(stored.shape[0]):
            j = stored[s]
            f = inverse[j]
            if f < k:
                data[ends[f]], index[ends[f]] = (values[s] - origin[j]) * scale[j], r
                ends[f] += 1
    return data, index, indptr


def _stored_dense(X, row, every):
    return X[row], every


def _stored_csr(X, row, every):
    data, indices, indptr = X
    return data[indptr[row] : indptr[row + 1]], indices[indptr[row] : indptr[row + 1]]


# Return the stored values of a row and their features; `every` contains all feature numbers.
_stored = by_layout(_stored_dense, _stored_csr)


# ---------------------------------------------------------------- losses and models


@jit
def logistic(margin, sign, weight, residual, curvature):
    """Return the sums of the losses log(1 + exp(-sign * margin)) times `weight`, and derivatives.

    The first and the second derivative of each loss are written to `residual` and `curvature`. The
    values exp(-|margin|) and log(1 + exp(-|margin|)) are computed by power series, to full relative
    precision. Loops without branches or calls compile to vector instructions.

    Returns
    -------
    loss, slope, total : float
        Sums of the losses, of the first and of the second derivatives.
    """
    n = margin.shape[0]
    loss, bits = np.empty(n), np.empty(n, np.int64)
    power = bits.view(np.float64)
    for r in range(n):
        bits[r] = np.int64(min(abs(margin[r]), 700.0) * _LOG2_E + 0.5)
    for r in range(n):
        whole = np.float64(bits[r])
        x = whole * _LN2_HIGH - min(abs(margin[r]), 700.0) + whole * _LN2_LOW
        series = 1 / 6227020800
        series = (series * x + 1 / 479001600) * x + 1 / 39916800
        series = (series * x + 1 / 3628800) * x + 1 / 362880
        series = (series * x + 1 / 40320) * x + 1 / 5040
        series = (series * x + 1 / 720) * x + 1 / 120
        series = (series * x + 1 / 24) * x + 1 / 6
        series = (series * x + 0.5) * x + 1.0
        loss[r] = series * x + 1.0
        bits[r] = (1023 - bits[r]) << 52  # the bits of the float64 number 2 ** -whole
    for r in range(n):
        e = loss[r] * power[r]
        inverse = 1.0 / (1.0 + e)
        signed = sign[r] * margin[r]
        residual[r] = -sign[r] * weight[r] * (e if signed > 0 else 1.0) * inverse
        curvature[r] = weight[r] * e * inverse * inverse
        s = e / (2.0 + e)
        q = s * s
        series = 1 / 33
        series = (series * q + 1 / 31) * q + 1 / 29
        series = (series * q + 1 / 27) * q + 1 / 25
        series = (series * q + 1 / 23) * q + 1 / 21
        series = (series * q + 1 / 19) * q + 1 / 17
        series = (series * q + 1 / 15) * q + 1 / 13
        series = (series * q + 1 / 11) * q + 1 / 9
        series = (series * q + 1 / 7) * q + 1 / 5
        series = (series * q + 1 / 3) * q + 1.0
        loss[r] = weight[r] * (max(-signed, 0.0) + 2.0 * s * series)
    # Eight independent partial sums let the processor overlap additions.
    sums, whole = np.zeros((3, 8)), n - n % 8
    for r in range(0, whole, 8):
        for i in range(8):
            sums[0, i] += loss[r + i]
            sums[1, i] += residual[r + i]
            sums[2, i] += curvature[r + i]
    for r in range(whole, n):
        sums[0, 0] += loss[r]
        sums[1, 0] += residual[r]
        sums[2, 0] += curvature[r]
    for i in range(1, 8):
        for j in range(3):
            sums[j, 0] += sums[j, i]
    return sums[0, 0], sums[1, 0], sums[2, 0]


@jit
def minimise(gram, slope, weights, price):
    """Return an approximate minimiser d of slope.d + d.gram.d / 2 + price.|weights + d|.

    Sweeps of coordinate descent over the features with a non-zero weight follow a sweep over all
    features. Then a step towards the minimum over the non-zero weights precedes the next round.

    Parameters
    ----------
    gram : float64 array of shape (k, k), positive definite
    slope, weights, price : float64 arrays of shape (k,)

    Returns
    -------
    float64 array of shape (k,)
    """
    k = weights.shape[0]
    change, product, used = np.zeros(k), np.zeros(k), np.empty(k, np.uint32)
    total, leap, n_sweeps, is_full = 0.0, 0.0, 0, True
    for _ in range(_MAX_SWEEPS_IN_ALL):
        decrease = _sweep(gram, slope, weights, price, change, product, is_full)
        total += decrease
        n_sweeps += 1
        if is_full:
            if decrease + leap <= _ENOUGH * total:
                break
            is_full, n_sweeps = False, 0
        elif decrease <= _SETTLED * total or n_sweeps == _MAX_SWEEPS:
            leap = _leap(gram, slope, weights, price, change, product, used)
            total += leap
            is_full = True
    return change


@jit
def _sweep(gram, slope, weights, price, change, product, is_full):
    """Run one sweep of coordinate descent over the features; see :func:`minimise`.

    `change` is the change of the weights so far, and `product` is `gram` times `change`; both are
    updated. If `is_full` is False, only features with a weight are visited.

    Returns
    -------
    float, a lower bound of the decrease of the objective
    """
    decrease = 0.0
    for j in range(weights.shape[0]):
        a, at = gram[j, j], weights[j] + change[j]
        # `a` is the second derivative of the objective by weight j. Rounding errors of the
        # corrections of the Gram matrix (BFGS) can make it negative.
        if not a > 0.0 or (at == 0.0 and not is_full):
            continue
        center = at - (slope[j] + product[j]) / a
        size = abs(center) - price[j] / a
        new = 0.0
        if size > 0.0:
            new = size if center > 0.0 else -size
        step = new - at
        if step != 0.0:
            change[j] = new - weights[j]
            row = gram[j]
            for i in range(row.shape[0]):
                product[i] += step * row[i]
            decrease += 0.5 * a * step * step
    return decrease


@jit
def _leap(gram, slope, weights, price, change, product, used):
    """Step towards the minimum over the non-zero weights for fixed signs, with a line search.

    It speeds up the sweeps of :func:`minimise`. `change` (the change of the weights so far) and
    `product` (`gram` times `change`) are updated; `used` is a workspace.

    Returns
    -------
    float, the decrease of the objective
    """
    n = 0
    for j in range(weights.shape[0]):
        if weights[j] + change[j] != 0.0:
            used[n] = j
            n += 1
    system, vectors = np.empty((n, n)), np.empty((5, n))
    at, right, step, prices, ends = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    for i in range(n):
        j = used[i]
        row = gram[j]
        for f in range(i, n):
            system[i, f] = row[used[f]]
        system[i, i] *= 1.0 + 1e-12
        at[i], prices[i] = weights[j] + change[j], price[j]
        right[i] = -(slope[j] + product[j] + price[j] * (1.0 if at[i] > 0.0 else -1.0))
    if not _solve(system, right, step):
        return 0.0
    # The first and second derivative, along the step, of the objective without its l1 norm.
    smooth, curvature = 0.0, 0.0
    for i in range(n):
        curvature += step[i] * right[i]
        smooth += step[i] * (slope[used[i]] + product[used[i]])
    if not 0.0 < curvature < np.inf:
        return 0.0
    size, first, decrease = _length(at, step, prices, smooth, curvature, ends)
    for i in range(n):
        j = used[i]
        moved = -at[i] if i == first else size * step[i]
        change[j] = -weights[j] if i == first else change[j] + moved
        row = gram[j]
        for f in range(row.shape[0]):
            product[f] += moved * row[f]
    return decrease


@jit(inline="always")
def _solve(system, right, step):
    """Solve ``system @ step = right`` for a positive definite matrix by its LDL' decomposition.

    Only the upper triangle of `system` is used, and it is overwritten.

    Rows are eliminated four at a time, which compiles to vector instructions. This is about as fast
    as LAPACK for some hundred unknowns, and calls of LAPACK take long to compile.

    Returns
    -------
    bool, whether all pivots are positive; otherwise `step` has no meaning
    """
    n = right.shape[0]
    for i in range(n):
        target, whole = system[i, i:], i - i % 4
        step[i] = right[i]
        for k in range(0, whole, 4):
            a, b = system[k, i] / system[k, k], system[k + 1, i] / system[k + 1, k + 1]
            c, d = system[k + 2, i] / system[k + 2, k + 2], system[k + 3, i] / system[k + 3, k + 3]
            x, y, z, u = system[k, i:], system[k + 1, i:], system[k + 2, i:], system[k + 3, i:]
            step[i] -= (a * step[k] + b * step[k + 1]) + (c * step[k + 2] + d * step[k + 3])
            for j in range(target.shape[0]):
                target[j] -= (a * x[j] + b * y[j]) + (c * z[j] + d * u[j])
        for k in range(whole, i):
            a, x = system[k, i] / system[k, k], system[k, i:]
            step[i] -= a * step[k]
            for j in range(target.shape[0]):
                target[j] -= a * x[j]
        if not target[0] > 0.0:
            return False
    for i in range(n - 1, -1, -1):
        total = step[i]
        for j in range(i + 1, n):
            total -= system[i, j] * step[j]
        step[i] = total / system[i, i]
    return True


@jit(inline="always")
def _length(at, step, price, slope, curvature, ends):
    """Minimise slope s + curvature s^2 / 2 + price.|at + s step| over s in [0, 1].

    `ends` is a workspace of the shape of `at`.

    Returns
    -------
    size : float
        The minimiser s.
    first : int
        Index of the value of `at` + s `step` that is 0 at the minimiser; -1 if there is none.
    decrease : float
        Value at s = 0 minus the minimum.
    """
    for i in range(at.shape[0]):
        slope += price[i] * step[i] * (1.0 if at[i] > 0.0 else -1.0)
        # The value of s at which at[i] + s step[i] changes its sign, or infinity.
        ends[i] = -at[i] / step[i] if at[i] * (at[i] + step[i]) < 0.0 else np.inf
    size, decrease = 0.0, 0.0
    while True:
        first, stop = -1, 1.0
        for i in range(at.shape[0]):
            if ends[i] < stop:
                first, stop = i, ends[i]
        # `slope` is the derivative by s at s = `size`, the start of the current linear piece.
        best = min(stop, size - slope / curvature)
        if best > size:
            length = best - size
            decrease -= slope * length + 0.5 * curvature * length * length
            slope, size = slope + curvature * length, best
        if size < stop or first < 0:
            return size, -1, decrease
        ends[first] = np.inf
        slope += 2.0 * price[first] * abs(step[first])
        if slope >= 0.0:
            return size, first, decrease


@jit
def minimise_by_columns(data, index, indptr, curvature, slope, weights, price):
    """Minimise as :func:`minimise` does, but without a Gram matrix, for many sparse features.

    Parameters
    ----------
    data, index, indptr : arrays of a CSC matrix with one column per feature
    curvature : float64 array of shape (m,)
    slope, weights, price : see :func:`minimise`

    Returns
    -------
    float64 array of shape (k,)
    """
    k, total, scaled = weights.shape[0], np.sum(curvature), np.empty_like(data)
    mean, diagonal, change = np.zeros(k), np.zeros(k), np.zeros(k)
    for f in range(k):
        for s in range(indptr[f], indptr[f + 1]):
            scaled[s] = curvature[index[s]] * data[s]
            mean[f] += scaled[s]
            diagonal[f] += scaled[s] * data[s]
        mean[f] /= total
        least = _LEAST * diagonal[f] + _TRACE * total
        diagonal[f] = max(diagonal[f] - total * mean[f] * mean[f], least)
    # The change of the margin of each row, and its mean, weighted by the curvature.
    product, center, so_far, is_full = np.zeros(curvature.shape[0]), 0.0, 0.0, True
    for _ in range(_MAX_SWEEPS):
        decrease = 0.0
        for f in range(k):
            at, start, stop = weights[f] + change[f], indptr[f], indptr[f + 1]
            if at == 0.0 and not is_full:
                continue
            pull = slope[f] - total * mean[f] * center
            for s in range(start, stop):
                pull += scaled[s] * product[index[s]]
            goal = at - pull / diagonal[f]
            new = np.sign(goal) * max(abs(goal) - price[f] / diagonal[f], 0.0)
            step = new - at
            if step != 0.0:
                change[f] = new - weights[f]
                center += step * mean[f]
                decrease += 0.5 * diagonal[f] * step * step
                for s in range(start, stop):
                    product[index[s]] += step * data[s]
        so_far += decrease
        is_enough = decrease <= _ENOUGH_BY_COLUMNS * so_far
        if is_enough and is_full:
            break
        is_full = is_enough
    return change
