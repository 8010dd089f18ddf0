"""Parts of the Newton solver that read rows, and its kernels: sums, losses, quadratic models."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._utils.jit import jit

BLOCK_ROWS = 512  # number of rows that are converted at a time
_DENSE_PART = 0.1  # columns of sparse rows become an array if more than this share is non-zero
_MOST_GATHERED = 0.25  # sparse rows of a node are copied if they are at most this share of all

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
_ARMIJO, _MAX_HALVINGS = 0.01, 30
_ROUNDING = 1e-14  # a step may raise the objective by this share, which is a rounding error
_BLOCK = 64  # number of rows that are read at a time
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


# ---------------------------------------------------------------- rows of a node


class NodeRows(NamedTuple):
    """Rows of a node: X[rows] minus `origin`, times `scale`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    rows : int64 array of shape (m,)
    origin, scale : float64 arrays of shape (d,); `origin` is 0 if X is sparse
    error : float
        Bound of the rounding error of a value after scaling; 0 for double precision.
    """

    X: Any
    rows: np.ndarray
    origin: np.ndarray
    scale: np.ndarray
    error: float

    def gathered(self, features):
        """Return these rows in a form that many passes can read fast, with some of the features.

        If `features` is None, all features are kept, and sparse rows are copied if they are few.
        """
        if features is None:
            n, m = self.X.shape[0], len(self.rows)
            if not sp.issparse(self.X) or m > _MOST_GATHERED * n:
                return self
            return self._replace(X=self.X[self.rows], rows=np.arange(m))
        every, scale = np.arange(len(self.rows)), self.scale[features]
        if sp.issparse(self.X):
            X = self.X[self.rows][:, features]
            if X.nnz < _DENSE_PART * X.shape[0] * X.shape[1]:
                return NodeRows(X, every, np.zeros(len(features)), scale, self.error)
            X = X.toarray()
        else:
            X = self.values(every, features).T.astype(self.X.dtype, order="C")
        return NodeRows(X, every, np.zeros(len(features)), scale, self.error)

    def values(self, some, features):
        """Return some columns of X minus `origin`, as rows of an array, for some of the rows."""
        rows, k, features = self.rows[some], len(features), features.astype(np.uint32)
        if not sp.issparse(self.X):
            out = np.empty((k, len(rows)), self.X.dtype)
            extract(self.X, rows, features, self.origin[features], out)
            return out
        inverse = np.full(self.X.shape[1], k, np.uint32)
        inverse[features] = np.arange(k, dtype=np.uint32)
        out = np.zeros((k + 1, len(rows)), self.X.dtype)
        extract_sparse(*_arrays(self.X), rows, inverse, out)
        return out[:-1]

    def columns(self, features):
        """Return the arrays (data, indices, indptr) of the CSC matrix of some features."""
        if sp.issparse(self.X):
            X = self.X[self.rows][:, features].tocsc()
        else:
            X = sp.csc_matrix(self.values(np.arange(len(self.rows)), features).T)
        data = X.data * np.repeat(self.scale[features], np.diff(X.indptr))
        return data, _arrays(X)[1], X.indptr

    def products(self, w):
        """Return the product of each row and the weights: float64 array of shape (m,)."""
        out, w = np.empty(len(self.rows)), w * self.scale
        if sp.issparse(self.X):
            sparse_products(*_arrays(self.X), self.rows, w, out)
        else:
            used = np.flatnonzero(w)
            some = used.astype(np.uint32)
            products(self.X, self.rows, some, w[used], self.origin[used], out)
        return out

    def sums(self, factor):
        """Return the sum of the rows, each times its factor: float64 array of shape (d,)."""
        total = np.zeros(self.X.shape[1])
        if sp.issparse(self.X):
            add_sparse_rows(*_arrays(self.X), self.rows, factor, total)
        else:
            add_rows(self.X, self.rows, factor, total)
            total -= self.origin * factor.sum()
        return total * self.scale

    def deviations(self, weight):
        """Return the weighted sum of the absolute deviations from the mean, per column."""
        total, d = weight.sum(), len(self.scale)
        center = np.divide(
            self.sums(weight / total), self.scale, out=np.zeros(d), where=self.scale > 0
        )
        out = np.zeros(d)
        if sp.issparse(self.X):
            part = self.X[self.rows]
            near = center[part.indices]
            part.data = np.abs(part.data - near) - np.abs(near)
            return (total * np.abs(center) + part.T @ weight) * self.scale
        for start in range(0, len(weight), BLOCK_ROWS):
            some = np.arange(start, min(start + BLOCK_ROWS, len(weight)))
            out += np.abs(self.values(some, np.arange(d)) - center[:, None]) @ weight[some]
        return out * self.scale


def _arrays(X):
    """Return the arrays of a CSR matrix; numba checks signed indices for negative values."""
    indices = X.indices.view(np.uint32) if X.indices.itemsize == 4 else X.indices.astype(np.uint32)
    return X.data, indices, X.indptr


# ---------------------------------------------------------------- kernels


@jit(error_model="numpy")
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


@jit(error_model="numpy")
def gap_terms(margin, residual, curvature, shift, gradient, w, price):
    """Return the sums that the duality gap and its rounding errors consist of.

    Returns
    -------
    scale : float
        The largest factor of at most 1 that makes the dual point feasible.
    penalty, size : float
        The sums of price_j |w_j| and of |w_j|.
    product, excess : float
        The sums of u_n m_n and of (u_n - r_n)^2 / h_n for the dual point u, the residuals r, the
        margins m and the curvature h.
    total : float
        The sum of |r_n|.
    """
    most, penalty, size = 1.0, 0.0, 0.0
    for j in range(w.shape[0]):
        size += abs(w[j])
        penalty += price[j] * abs(w[j])
        most = max(most, abs(gradient[j]) / price[j])
    scale, product, excess, total = 1.0 / most, 0.0, 0.0, 0.0
    for r in range(margin.shape[0]):
        dual = scale * (residual[r] - shift * curvature[r])
        change = dual - residual[r]
        product += dual * margin[r]
        excess += change * change / max(curvature[r], 1e-300)
        total += abs(residual[r])
    return scale, penalty, size, product, excess, total


@jit(error_model="numpy")
def line_search(margin, residual, curvature, sums, sign, weight, direction, w, change, price):
    """Search along a direction by backtracking (Armijo condition), with the bias eliminated.

    Parameters
    ----------
    margin, residual, curvature : float64 arrays of shape (m,)
    sums : (loss, total, shift), see :class:`.newton._State`
    sign, weight : float64 arrays of shape (m,)
    direction : float64 array of shape (m,)
        Change of the margins by `change`, without that of the bias, which is subtracted in place.
    w, change, price : float64 arrays of shape (k,)

    Returns
    -------
    size : float, length of the step; 0 if there is none
    mean : float, decrease of the bias by a full step
    predicted : float, decrease of the objective by a full step, to first order
    trial : float64 array of shape (3, m), margins, residuals and curvature after the step
    found : (loss, slope, total), see :func:`logistic`
    """
    loss, total, shift = sums
    mean, predicted = 0.0, 0.0
    for r in range(direction.shape[0]):
        mean += curvature[r] * direction[r]
    mean = mean / total + shift
    for r in range(direction.shape[0]):
        direction[r] -= mean
        predicted -= residual[r] * direction[r]
    before = loss
    for j in range(w.shape[0]):
        after = w[j] + change[j]
        before += price[j] * abs(w[j])
        # The rise of |w| is computed without rounding errors of the size of w.
        is_kept = w[j] * after > 0
        rise = (change[j] if w[j] > 0 else -change[j]) if is_kept else abs(after) - abs(w[j])
        predicted -= price[j] * rise
    trial, found, size = np.empty((3, margin.shape[0])), (loss, 0.0, total), 1.0
    if not 0.0 < predicted < np.inf:
        return 0.0, mean, predicted, trial, found
    for _ in range(_MAX_HALVINGS):
        for r in range(direction.shape[0]):
            trial[0, r] = margin[r] + size * direction[r]
        found = logistic(trial[0], sign, weight, trial[1], trial[2])
        penalty = 0.0
        for j in range(w.shape[0]):
            penalty += price[j] * abs(w[j] + size * change[j])
        if found[0] + penalty <= before * (1.0 + _ROUNDING) - _ARMIJO * size * predicted:
            return size, mean, predicted, trial, found
        size /= 2
    return 0.0, mean, predicted, trial, found


@jit
def extract(X, rows, features, origin, out):
    """Write X[rows, features] - origin to `out`, an array of shape (k, m)."""
    for start in range(0, rows.shape[0], _BLOCK):
        some = rows[start : start + _BLOCK]
        for f in range(features.shape[0]):
            j, a, to = features[f], origin[f], out[f, start : start + _BLOCK]
            for r in range(some.shape[0]):
                to[r] = X[some[r], j] - a


@jit
def products(X, rows, features, w, origin, out):
    """Write (X[rows, features] - origin) @ w to `out`; four sums let additions overlap."""
    k = features.shape[0]
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for f in range(0, k - 3, 4):
            a += w[f] * (row[features[f]] - origin[f])
            b += w[f + 1] * (row[features[f + 1]] - origin[f + 1])
            c += w[f + 2] * (row[features[f + 2]] - origin[f + 2])
            d += w[f + 3] * (row[features[f + 3]] - origin[f + 3])
        for f in range(k - k % 4, k):
            a += w[f] * (row[features[f]] - origin[f])
        out[r] = (a + b) + (c + d)


@jit
def sparse_products(data, indices, indptr, rows, w, out):
    """Write the products of rows of a CSR matrix and `w` to `out`."""
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


@jit
def add_rows(X, rows, factor, out):
    """Add factor[r] * X[rows[r]] to `out` for each r; four rows at a time, which is faster."""
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
def extract_sparse(data, indices, indptr, rows, inverse, out):
    """Write features of rows of a CSR matrix to `out`, an array of zeros of shape (k + 1, m).

    ``inverse[j]`` is the number of feature j among the k wanted ones. It is k if the feature is not
    wanted, so that the last row of `out` has no meaning; this is faster than a branch.
    """
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        for s in range(stop - start):
            out[inverse[features[s]], r] = values[s]


@jit
def add_sparse_rows(data, indices, indptr, rows, factor, out):
    """Add factor[r] times row rows[r] of a CSR matrix to `out` for each r."""
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        times = factor[r]
        for s in range(stop - start):
            out[features[s]] += times * values[s]


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
    total, leap, n_left = 0.0, 0.0, _MAX_SWEEPS_IN_ALL
    while True:
        decrease = _sweep(gram, slope, weights, price, change, product, True)
        total += decrease
        n_left -= 1
        if decrease + leap <= _ENOUGH * total or n_left <= 0:
            return change
        for _ in range(_MAX_SWEEPS):
            decrease = _sweep(gram, slope, weights, price, change, product, False)
            total += decrease
            n_left -= 1
            if decrease <= _SETTLED * total:
                break
        leap = _leap(gram, slope, weights, price, change, product, used)
        total += leap


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
def minimise_by_columns(columns, slope, weights, price):
    """Minimise as :func:`minimise` does, but without a Gram matrix, for many sparse features.

    Parameters
    ----------
    columns : tuple (data, index, indptr, curvature)
        The arrays of a CSC matrix with one column per feature, and the curvature of each row.
    slope, weights, price : see :func:`minimise`

    Returns
    -------
    float64 array of shape (k,)
    """
    data, index, indptr, curvature = columns
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
