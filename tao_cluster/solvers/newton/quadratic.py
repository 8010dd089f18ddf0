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
def _sweep(gram, slope, weights, strength, change, product, order):
    """One sweep of coordinate descent; returns by how much the objective decreased at least."""
    decrease = 0.0
    for j in order:
        a = gram[j, j]
        if not a > 0.0:  # corrections can do that
            continue
        at = weights[j] + change[j]
        center = at - (slope[j] + product[j]) / a
        new = np.sign(center) * max(abs(center) - strength / a, 0.0)
        step = new - at
        if step != 0.0:
            change[j] = new - weights[j]
            row = gram[j]
            for i in range(row.shape[0]):
                product[i] += step * row[i]
            decrease += 0.5 * a * step * step
    return decrease


@jit
def _leap(gram, slope, weights, strength, change, product, used):
    """Step to the minimum over features with a weight, cut at the first change of sign."""
    n = used.shape[0]
    system, right = np.empty((n, n)), np.empty(n)
    for i in range(n):
        row = gram[used[i]]
        for j in range(n):
            system[i, j] = row[used[j]]
        at = weights[used[i]] + change[used[i]]
        right[i] = -(slope[used[i]] + product[used[i]] + strength * np.sign(at))
        system[i, i] *= 1.0 + 1e-12
    if not (np.all(np.isfinite(system)) and np.all(np.isfinite(right))):
        return
    step = np.linalg.solve(system, right)
    size, first = 1.0, -1
    for i in range(n):
        at = weights[used[i]] + change[used[i]]
        if at * (at + size * step[i]) < 0.0:
            size, first = -at / step[i], i
    for i in range(n):
        j = used[i]
        moved = -(weights[j] + change[j]) if i == first else size * step[i]
        change[j] = -weights[j] if i == first else change[j] + moved
        row = gram[j]
        for f in range(row.shape[0]):
            product[f] += moved * row[f]


@jit
def minimise(gram, slope, weights, strength):
    """Nearly the d that minimises slope.d + d.gram.d / 2 + strength |weights + d|_1.

    Returns
    -------
    d : float64 array of shape (k,)
    promised : float, decrease of a function whose slope it is, to first order
    """
    k = weights.shape[0]
    change, product = np.zeros(k), np.zeros(k)
    every, total = np.arange(k), 0.0
    for _ in range(_MAX_SWEEPS):
        decrease = _sweep(gram, slope, weights, strength, change, product, every)
        total += decrease
        if decrease <= _ENOUGH * total:
            break
        for _ in range(_MAX_SWEEPS):
            used = np.flatnonzero(weights + change)
            decrease = _sweep(gram, slope, weights, strength, change, product, used)
            total += decrease
            if decrease <= _SETTLED * total:
                break
        used = np.flatnonzero(weights + change)
        if used.shape[0] > 0:
            _leap(gram, slope, weights, strength, change, product, used)
    penalty = np.abs(weights + change).sum() - np.abs(weights).sum()
    return change, -(np.dot(slope, change) + strength * penalty)


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
        diagonal[f] = diagonal[f] * (1 + 1e-5) + extra[f] - total * mean[f] * mean[f]
    return mean, np.maximum(diagonal, 1e-12 * np.max(diagonal) + 1e-300)


@jit
def _sweep_columns(columns, scaled, moments, slope, weights, strength, change, product, order):
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
        new = np.sign(center) * max(abs(center) - strength / diagonal[f], 0.0)
        step = new - at
        if step != 0.0:
            change[f] = new - weights[f]
            product[last] += step * mean[f]
            decrease += 0.5 * diagonal[f] * step * step
            for s in range(start, stop):
                product[index[s]] += step * data[s]
    return decrease


@jit
def minimise_columns(columns, slope, weights, strength):
    """The same by residuals, for more features than a Gram matrix pays for.

    Parameters
    ----------
    columns : result of :func:`.rows.columns`, which stands for the Gram matrix
    slope, weights, strength : see :func:`minimise`

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
            columns, scaled, moments, slope, weights, strength, change, product, order
        )
        total += decrease
        if decrease > _ENOUGH_BY_COLUMNS * total:
            order, is_full = np.flatnonzero(weights + change), False
        elif is_full:
            break
        else:
            order, is_full = every, True
    penalty = np.abs(weights + change).sum() - np.abs(weights).sum()
    return change, -(np.dot(slope, change) + strength * penalty)
