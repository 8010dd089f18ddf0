"""A quadratic function plus an l1 norm: coordinate descent on the Gram matrix, with leaps."""

import numpy as np

from ...core.jit import jit

# The end is a sweep that adds less than a share to the decrease: over all features, and over
# those with a weight between two such sweeps. Without a Gram matrix sweeps are dear, and the
# steps of which they are part are many.
_MAX_SWEEPS = 50
_ENOUGH, _SETTLED = 1e-3, 1e-4
_ENOUGH_BY_COLUMNS = 1e-2


@jit
def _sweep(gram, slope, weights, price, change, product, order):
    """One sweep of coordinate descent; returns by how much the objective decreased at least."""
    decrease = 0.0
    for j in order:
        a = gram[j, j]
        if not a > 0.0:  # corrections can do that
            continue
        at = weights[j] + change[j]
        center = at - (slope[j] + product[j]) / a
        new = np.sign(center) * max(abs(center) - price[j] / a, 0.0)
        step = new - at
        if step != 0.0:
            change[j] = new - weights[j]
            row = gram[j]
            for i in range(row.shape[0]):
                product[i] += step * row[i]
            decrease += 0.5 * a * step * step
    return decrease


@jit
def _length(at, step, price, slope, curvature):
    """How far to go: the least of slope s + curvature s^2 / 2 + price.|at + s step|, s in [0, 1].

    Returns
    -------
    size : float
    first : int, which value becomes 0 there; -1 if none does
    decrease : float
    """
    n = at.shape[0]
    ends = np.full(n, np.inf)  # where values change their signs
    for i in range(n):
        slope += price[i] * step[i] * np.sign(at[i])
        if at[i] * (at[i] + step[i]) < 0.0:
            ends[i] = -at[i] / step[i]
    if np.all(ends == np.inf):
        return 1.0, -1, -slope - 0.5 * curvature
    size, decrease = 0.0, 0.0
    for i in np.argsort(ends, kind="mergesort"):
        stop = min(ends[i], 1.0)
        best = min(stop, size - slope / curvature)  # `slope` is that at `size`
        if best > size:
            length = best - size
            decrease -= slope * length + 0.5 * curvature * length * length
            slope, size = slope + curvature * length, best
        if size < stop or ends[i] >= 1.0:
            return size, -1, decrease
        slope += 2.0 * price[i] * abs(step[i])
        if slope >= 0.0:
            return size, i, decrease
    return size, -1, decrease


@jit
def _leap(gram, slope, weights, price, change, product, used):
    """Step towards the minimum over features with a weight if their signs stay; the decrease."""
    n = used.shape[0]
    system, right, at = np.empty((n, n)), np.empty(n), np.empty(n)
    for i in range(n):
        row = gram[used[i]]
        for j in range(n):
            system[i, j] = row[used[j]]
        at[i] = weights[used[i]] + change[used[i]]
        right[i] = -(slope[used[i]] + product[used[i]] + price[used[i]] * np.sign(at[i]))
        system[i, i] *= 1.0 + 1e-12
    if not (np.all(np.isfinite(system)) and np.all(np.isfinite(right))):
        return 0.0
    try:
        step = np.linalg.solve(system, right)
    except Exception:
        return 0.0
    curvature = np.dot(step, right)  # that of the system along the step
    if not 0.0 < curvature < np.inf:
        return 0.0
    smooth = np.dot(step, slope[used] + product[used])
    size, first, decrease = _length(at, step, price[used], smooth, curvature)
    for i in range(n):
        j = used[i]
        moved = -at[i] if i == first else size * step[i]
        change[j] = -weights[j] if i == first else change[j] + moved
        row = gram[j]
        for f in range(row.shape[0]):
            product[f] += moved * row[f]
    return decrease


@jit
def _rise(weights, price, change):
    """Increase of price.|weights| by a change of the weights."""
    rise = 0.0
    for j in range(weights.shape[0]):
        rise += price[j] * (abs(weights[j] + change[j]) - abs(weights[j]))
    return rise


@jit
def minimise(gram, slope, weights, price):
    """Nearly the d that minimises slope.d + d.gram.d / 2 + price.|weights + d|.

    Returns
    -------
    d : float64 array of shape (k,)
    promised : float, decrease of a function whose slope it is, to first order
    """
    k = weights.shape[0]
    change, product = np.zeros(k), np.zeros(k)
    every, total, leap = np.arange(k), 0.0, 0.0
    for _ in range(_MAX_SWEEPS):
        decrease = _sweep(gram, slope, weights, price, change, product, every)
        total += decrease
        if decrease + leap <= _ENOUGH * total:
            break
        for _ in range(_MAX_SWEEPS):
            used = np.flatnonzero(weights + change)
            decrease = _sweep(gram, slope, weights, price, change, product, used)
            total += decrease
            if decrease <= _SETTLED * total:
                break
        used = np.flatnonzero(weights + change)
        leap = 0.0
        if used.shape[0] > 0:
            leap = _leap(gram, slope, weights, price, change, product, used)
            total += leap
    return change, -(np.dot(slope, change) + _rise(weights, price, change))


@jit
def correct(gram, change, slope_change):
    """Make a Gram matrix map the last change to what became of the slopes (BFGS)."""
    product = np.dot(gram, change)
    before, after = np.dot(product, change), np.dot(slope_change, change)
    if after > 1e-2 * before > 0:
        for i in range(change.shape[0]):
            a, b = product[i] / before, slope_change[i] / after
            for j in range(change.shape[0]):
                gram[i, j] += b * slope_change[j] - a * product[j]


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


@jit
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
    return change, -(np.dot(slope, change) + _rise(weights, price, change))
