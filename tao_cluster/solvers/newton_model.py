"""The second-order model of a loss, which a Newton step minimises.

The first part computes second derivatives over a sample of the rows, as a Gram matrix or as columns
of X. The second part minimises a quadratic function plus an l1 norm.
"""

import numpy as np
import scipy.sparse as sp

from .._utils.jit import jit
from .newton_data import NEVER_DENSE, extract, inverse_index, is_sparse, part_of, values_of

# A Gram matrix is summed over blocks of rows. A block has about 2 ** 16 values, which fit into the
# cache, and 512 to 4096 rows, whose products can be summed in single precision.
_BLOCK_VALUES, _LEAST_BLOCK, _MOST_BLOCK = 2**16, 512, 4096
_NEAR = 16  # columns are centred at the mean of this many rows, which avoids large values
# This share of the total curvature is added to each second derivative. Otherwise the second
# derivatives would be 0 if a single row had all the curvature, because the bias is eliminated.
_TRACE = 1e-18

# Coordinate descent ends when a sweep over all features, with the leap before it, contributes at
# most the share `_ENOUGH` of the decrease so far. Between two such sweeps, it sweeps over the
# features with a non-zero weight until one sweep contributes at most the share `_SETTLED`. Without
# a Gram matrix, sweeps are slower, so `_ENOUGH_BY_COLUMNS` replaces both shares. `_MAX_SWEEPS` and
# `_MAX_SWEEPS_IN_ALL` limit the numbers of sweeps.
_MAX_SWEEPS, _MAX_SWEEPS_IN_ALL = 50, 2500
_ENOUGH, _SETTLED = 1e-3, 1e-4
_ENOUGH_BY_COLUMNS = 1e-2


def _sample(curvature, n_sample):
    """Sample rows in proportion to their curvature; return their positions and shares.

    The share of a row is its part of all draws, so that the shares sum to 1.
    """
    if not curvature.any():  # if all rows are far from the threshold, they count equally
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
    """Subtract `center` from each row of `part`, and multiply the row r by root[r], in place.

    root[r] is the square root of the share of row r in the total curvature of the sample. The
    function adds the sum of the centred rows, weighted by these shares, to `mean`.
    """
    for r in range(part.shape[0]):
        row = part[r]
        for f in range(row.shape[0]):
            row[f] = (row[f] - center[f]) * root[r]
            mean[f] += row[f] * root[r]


def _ridge(X):
    """Return the share by which the diagonal of a Gram matrix is increased: 1e-5 or 1e-12.

    It depends on the precision of X. Without the increase, rounding errors could make the matrix
    indefinite.
    """
    return 1e-5 if values_of(X).dtype == np.float32 else 1e-12


def gram(X, rows, curvature, features, reach, n_sample):
    """Return the second derivatives of a loss over some features, with the bias eliminated.

    Parameters
    ----------
    X, rows : see :func:`.newton_data.products`
    curvature : float64 array of shape (m,), second derivatives by the margins
    features : int64 array of shape (k,), increasing
    reach : float64 array of shape (d,), largest absolute value of each feature
    n_sample : int, approximate number of rows that are sampled

    Returns
    -------
    float64 array of shape (k, k), positive definite
    """
    k, inverse = len(features), inverse_index(X, features, len(reach))
    picked, share = _sample(curvature, n_sample)
    some, out, mean = rows[picked], np.zeros((k, k)), np.zeros(k)
    dtype = values_of(X).dtype
    n_block = min(max(_LEAST_BLOCK, min(_BLOCK_VALUES // k, _MOST_BLOCK)), len(some))
    workspace, roots = np.empty(max(n_block, _NEAR) * k + 1, dtype), np.sqrt(share).astype(dtype)
    # Columns are centred only to reduce rounding errors, so the mean of a few rows is enough.
    center = extract(X, some[:_NEAR], features, inverse, workspace).mean(axis=0)
    for start in range(0, len(some), n_block):
        block = slice(start, start + n_block)
        part, root = extract(X, some[block], features, inverse, workspace), roots[block]
        _centre(part, center, root, mean)
        # NumPy computes half of this product only, because it is symmetric.
        out += part.T @ part
    total = curvature.sum()
    out -= mean[:, None] * mean
    out *= total
    # The diagonal is increased for two reasons: rows outside of the sample may have large values,
    # and rounding errors could make the matrix indefinite.
    unseen, diagonal = total / n_sample if n_sample < len(rows) else 0.0, out.reshape(-1)[:: k + 1]
    np.maximum(diagonal, 0.0, out=diagonal)
    diagonal *= 1.0 + _ridge(X)
    diagonal += (unseen + _TRACE * total) * reach[features] ** 2
    return out


def _transposed(X, rows, features, n_columns):
    """Return some features of some rows as the arrays (data, index, indptr) of a CSC matrix."""
    part = part_of(X, rows, features, n_columns, NEVER_DENSE)
    if not is_sparse(X):
        index = np.tile(np.arange(len(rows), dtype=np.uint32), len(features))
        return part.T.ravel(), index, np.arange(len(features) + 1) * len(rows)
    part = sp.csr_matrix(part, shape=(len(rows), len(features))).tocsc()
    return part.data, part.indices.astype(np.uint32), part.indptr.astype(np.int64)


def columns(X, rows, curvature, features, reach, n_sample):
    """Return the columns of a sample of the rows, for use instead of a Gram matrix.

    The parameters are those of :func:`gram`.

    Returns
    -------
    data, index, indptr : arrays of a CSC matrix with one column per feature
    share : float64 array
        Weight of each sampled row. The weights sum to the sum of the curvature.
    extra : float64 array of shape (k,)
        Number that is added to the second derivative by the weight of each feature.
    """
    picked, share = _sample(curvature, n_sample)
    total = curvature.sum()
    unseen = 1.0 / n_sample if n_sample < len(rows) else 0.0
    extra = reach[features] ** 2 * (total * (unseen + _TRACE))
    return *_transposed(X, rows[picked], features, len(reach)), share * total, extra


@jit(inline="always")
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


@jit
def _round(gram, slope, weights, price, change, product, total, leap, most):
    """Run a sweep over all features, then sweeps over the features with a non-zero weight.

    If the first sweep and the preceding call of :func:`_leap` together contribute at most the share
    `_ENOUGH` of the total decrease, the function returns after the first sweep, and `is_done` is
    True. Otherwise, sweeps over the features with a non-zero weight follow, until one of them
    contributes at most the share `_SETTLED`.

    Parameters
    ----------
    gram, slope, weights, price
        As for :func:`minimise`.
    change, product : float64 arrays of shape (k,)
        Change of the weights so far, and `gram` times `change`. Both are updated in place.
    total : float
        Decrease of the objective before these sweeps.
    leap : float
        The part of `total` that the last call of :func:`_leap` contributed; 0 before its first
        call.
    most : int
        Maximum number of sweeps.

    Returns
    -------
    total : float
        Decrease of the objective so far, including these sweeps.
    predicted : float
        Decrease of the objective by `change` if its smooth part is linearised; see
        :func:`minimise`.
    n_sweeps : int
        Number of sweeps that were run.
    is_done : bool
        Whether the decrease is too small for further sweeps.
    """
    n_sweeps, is_done = 0, False
    while n_sweeps < most:
        is_full = n_sweeps == 0
        n_sweeps += 1
        decrease = _sweep(gram, slope, weights, price, change, product, is_full)
        total += decrease
        if is_full:
            is_done = decrease + leap <= _ENOUGH * total
        if is_done or (not is_full and decrease <= _SETTLED * total):
            break
    predicted = 0.0
    for j in range(weights.shape[0]):
        rise = price[j] * (abs(weights[j] + change[j]) - abs(weights[j]))
        predicted -= slope[j] * change[j] + rise
    return total, predicted, n_sweeps, is_done


def minimise(gram, slope, weights, price):
    """Return an approximate minimiser d of slope.d + d.gram.d / 2 + price.|weights + d|.

    Parameters
    ----------
    gram : float64 array of shape (k, k), positive definite
    slope, weights, price : float64 arrays of shape (k,)

    Returns
    -------
    d : float64 array of shape (k,)
    predicted : float
        Decrease to first order: price.|weights| - slope.d - price.|weights + d|.
    """
    change, product = np.zeros((2, len(weights)))
    used, total, leap = np.empty(len(weights), np.uint32), 0.0, 0.0
    terms = (gram, slope, weights, price, change, product)
    n_left = _MAX_SWEEPS_IN_ALL
    while True:
        most = min(n_left, _MAX_SWEEPS + 1)
        total, predicted, n_sweeps, is_done = _round(*terms, total, leap, most)
        n_left -= n_sweeps
        if is_done or n_left == 0:
            break
        leap = _leap(*terms, used)
        total += leap
    return change, predicted


def correct(gram, change, slope_change):
    """Update a Gram matrix in place so that ``gram @ change == slope_change`` (BFGS).

    `change` is the last change of the weights, and `slope_change` that of the slopes of the loss.
    """
    product = gram @ change
    before, after = product @ change, slope_change @ change
    if after > 1e-2 * before > 0:
        gram += (slope_change / after)[:, None] * slope_change
        gram -= (product / before)[:, None] * product


@jit
def _moments(columns, scaled):
    """Return the weighted mean of each column, and the second derivative by its weight.

    `columns` is the result of :func:`columns`. `scaled` is filled with the products of the stored
    values and the weights of their rows.
    """
    data, index, indptr, share, extra = columns
    k, total = extra.shape[0], np.sum(share)
    mean, diagonal = np.zeros(k), np.zeros(k)
    for f in range(k):
        for s in range(indptr[f], indptr[f + 1]):
            scaled[s] = share[index[s]] * data[s]
            mean[f] += scaled[s]
            diagonal[f] += scaled[s] * data[s]
        mean[f] /= total
        least = 1e-12 * diagonal[f] + 1e-300
        diagonal[f] = max(diagonal[f] + extra[f] - total * mean[f] * mean[f], least)
    return mean, diagonal


@jit
def _sweep_columns(columns, scaled, moments, slope, weights, price, change, product, order):
    """Run one sweep of coordinate descent over the features `order`, without a Gram matrix.

    `change` is the change of the weights w so far. `product` is the change of w.x in each sampled
    row; its last entry is their weighted mean. Both are updated. Return a lower bound of the
    decrease of the objective.
    """
    data, index, indptr, share, extra = columns
    mean, diagonal = moments
    total, last, decrease = np.sum(share), share.shape[0], 0.0
    for f in order:
        start, stop = indptr[f], indptr[f + 1]
        pull = slope[f] + extra[f] * change[f] - total * mean[f] * product[last]
        for s in range(start, stop):
            pull += scaled[s] * product[index[s]]
        at = weights[f] + change[f]
        center = at - pull / diagonal[f]
        new = np.sign(center) * max(abs(center) - price[f] / diagonal[f], 0.0)
        step = new - at
        if step != 0.0:
            change[f] = new - weights[f]
            product[last] += step * mean[f]
            decrease += 0.5 * diagonal[f] * step * step
            for s in range(start, stop):
                product[index[s]] += step * data[s]
    return decrease


def minimise_columns(columns, slope, weights, price):
    """Minimise as :func:`minimise` does, but without a Gram matrix, for many features.

    Parameters
    ----------
    columns : result of :func:`columns`, in place of the Gram matrix
    slope, weights, price : see :func:`minimise`

    Returns
    -------
    d, predicted : see :func:`minimise`
    """
    scaled = np.empty_like(columns[0])
    moments = _moments(columns, scaled)
    change, product = np.zeros(weights.shape[0]), np.zeros(columns[3].shape[0] + 1)
    every, total = np.arange(weights.shape[0]), 0.0
    order, is_full = every, True
    for _ in range(_MAX_SWEEPS):
        decrease = _sweep_columns(
            columns, scaled, moments, slope, weights, price, change, product, order
        )
        total += decrease
        if decrease > _ENOUGH_BY_COLUMNS * total:
            order, is_full = np.flatnonzero(weights + change), False
        elif is_full:
            break
        else:
            order, is_full = every, True
    rise = price @ (np.abs(weights + change) - np.abs(weights))
    return change, -(slope @ change + rise)
