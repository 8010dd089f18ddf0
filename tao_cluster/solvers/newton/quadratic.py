"""A quadratic function plus an l1 norm: coordinate descent on the Gram matrix, with leaps."""

import numpy as np

from ..._utils.jit import jit

# The end is a sweep that adds less than a share to the decrease: over all features, and over
# those with a weight between two such sweeps. Without a Gram matrix sweeps are dear, and the
# steps of which they are part are many.
_MAX_SWEEPS = 50
_ENOUGH, _SETTLED = 1e-3, 1e-4
_ENOUGH_BY_COLUMNS = 1e-2


@jit
def _sweep(gram, slope, weights, price, change, product, is_full):
    """Coordinate descent over all features, or those with a weight, once.

    Returns
    -------
    float, by how much the objective decreased at least
    """
    decrease = 0.0
    for j in range(weights.shape[0]):
        a, at = gram[j, j], weights[j] + change[j]
        if not a > 0.0 or (at == 0.0 and not is_full):  # corrections can do the former
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
def _solve(system, right, step):
    """Solve a positive definite system, given by its upper half, which is lost (LDL').

    Whole rows are taken from whole rows, four at a time, which compiles to vector instructions:
    about as fast as LAPACK for some hundred unknowns, and a call of that takes long to compile.

    Returns
    -------
    bool, whether all pivots are positive; else `step` means nothing
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


@jit
def _length(at, step, price, slope, curvature, ends):
    """How far to go: the least of slope s + curvature s^2 / 2 + price.|at + s step|, s in [0, 1].

    Returns
    -------
    size : float
    first : int, which value becomes 0 there; -1 if none does
    decrease : float
    """
    for i in range(at.shape[0]):
        slope += price[i] * step[i] * (1.0 if at[i] > 0.0 else -1.0)
        # Where values change their signs.
        ends[i] = -at[i] / step[i] if at[i] * (at[i] + step[i]) < 0.0 else np.inf
    size, decrease = 0.0, 0.0
    while True:
        first, stop = -1, 1.0
        for i in range(at.shape[0]):
            if ends[i] < stop:
                first, stop = i, ends[i]
        best = min(stop, size - slope / curvature)  # `slope` is that at `size`
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
    """Step towards the minimum over features with a weight if their signs stay; the decrease."""
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
    smooth, curvature = 0.0, 0.0  # that of the system along the step
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
def _minimise(gram, slope, weights, price, change, product, used):
    """See :func:`minimise`; `change` and `product` are zeros, `used` is room for numbers."""
    total, leap, n_sweeps = 0.0, 0.0, 0
    is_full = total == 0.0  # not True, for which numba would compile the sweep twice
    for _ in range(_MAX_SWEEPS * _MAX_SWEEPS):
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
    promised = 0.0
    for j in range(weights.shape[0]):
        rise = price[j] * (abs(weights[j] + change[j]) - abs(weights[j]))
        promised -= slope[j] * change[j] + rise
    return promised


def minimise(gram, slope, weights, price):
    """Nearly the d that minimises slope.d + d.gram.d / 2 + price.|weights + d|.

    Returns
    -------
    d : float64 array of shape (k,)
    promised : float, decrease of a function whose slope it is, to first order
    """
    k = len(weights)
    change, product = np.zeros((2, k))
    used = np.empty(k, np.uint32)
    return change, _minimise(gram, slope, weights, price, change, product, used)


def correct(gram, change, slope_change):
    """Make a Gram matrix map the last change to what became of the slopes (BFGS)."""
    product = gram @ change
    before, after = product @ change, slope_change @ change
    if after > 1e-2 * before > 0:
        gram += (slope_change / after)[:, None] * slope_change
        gram -= (product / before)[:, None] * product


@jit
def _moments(columns, scaled):
    """Mean of each column and second derivative by it; `scaled` becomes share times value."""
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
    """See :func:`_sweep`; `product` is that of the rows with the change, its mean comes last."""
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
    """The same by residuals, for more features than a Gram matrix pays for.

    Parameters
    ----------
    columns : result of :func:`.rows.columns`, which stands for the Gram matrix
    slope, weights, price : see :func:`minimise`

    Returns
    -------
    d, promised : see :func:`minimise`
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
