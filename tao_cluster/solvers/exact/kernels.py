"""Least 0/1 loss along one weight or the threshold of a test: sums over sorted breakpoints.

Rows are told by their *step*: what it costs to have the row on the left, above having it on the
right. The loss of a test, up to a constant, is the sum of the steps of the rows on its left.

Loops are written out and sorting is by hand: kernels that a first fit waits for compile in a tenth
of the time that way.
"""

import numpy as np

from ..._utils.jit import jit

_FEW = 64  # points that are sorted at once
_N_BUCKETS = 512
_N_PROBES = 33
_NOISE = 1e-9  # of the summed steps: what a loss may differ by without being another
_ROUNDING = 1e-12  # of the spread of points: what two may differ by without being different


@jit
def _sort(points, order):
    """Sort numbers of points by the points (Shell's method with Ciura's gaps)."""
    gap = 1
    while gap < order.shape[0] // 3:
        gap = int(2.25 * gap) + 1
    while gap > 0:
        for i in range(gap, order.shape[0]):
            number, j = order[i], i
            point = points[number]
            while j >= gap and points[order[j - gap]] > point:
                order[j] = order[j - gap]
                j -= gap
            order[j] = number
        gap = int(gap / 2.25) if gap > 1 else 0


@jit
def _scan(points, steps, order, below, best, noise):
    """Go through sorted points; the sum below them is `below`. `best` is changed.

    `best` holds the least sum, the two points between which it lies (different ones, of equal sums
    those farthest apart), and what different points differ by at least.
    """
    for i in range(order.shape[0] - 1):
        point, following = points[order[i]], points[order[i + 1]]
        below += steps[order[i]]
        _consider(below, point, following, best, noise)


@jit
def _consider(value, low, high, best, noise):
    """Put an interval into `best` if its sum is less, or the same and the interval wider."""
    if not high - low > best[3] + _ROUNDING * abs(low) or value > best[0] + noise:
        return
    if value < best[0] - noise or high - low > best[2] - best[1]:
        best[0], best[1], best[2] = min(value, best[0]), low, high


@jit
def _bucket(point, center, scale):
    """Number of the bucket of a point: never less than that of a smaller point."""
    place = (point - center) / scale
    share = 1.0 - 1.0 / (1.0 + abs(place))
    if place < 0:
        share = -share
    return min(_N_BUCKETS - 1, int((share + 1.0) * (0.5 * _N_BUCKETS)))


@jit
def _middle(points):
    """Centre and half width of the middle half of some points."""
    probes, order = np.empty(_N_PROBES), np.empty(_N_PROBES, np.int64)
    for i in range(_N_PROBES):
        probes[i] = points[i * (points.shape[0] - 1) // (_N_PROBES - 1)]
        order[i] = i
    _sort(probes, order)
    low, high = probes[order[_N_PROBES // 4]], probes[order[3 * _N_PROBES // 4]]
    return probes[order[_N_PROBES // 2]], 0.5 * (high - low)


@jit
def _in_buckets(points, center, scale):
    """Numbers of points by bucket, and where each bucket's begin."""
    n = points.shape[0]
    of_point = np.empty(n, np.int16)
    first = np.zeros(_N_BUCKETS + 1, np.int64)
    for i in range(n):
        bucket = _bucket(points[i], center, scale)
        of_point[i] = bucket
        first[bucket + 1] += 1
    for bucket in range(_N_BUCKETS):
        first[bucket + 1] += first[bucket]
    place, order = first.copy(), np.empty(n, np.int64)
    for i in range(n):
        order[place[of_point[i]]] = i
        place[of_point[i]] += 1
    return order, first


@jit
def _between_buckets(points, steps, order, first, best, noise):
    """Look at the sums between buckets; returns the summed steps and negative steps of each."""
    sums, falls = np.zeros(_N_BUCKETS), np.zeros(_N_BUCKETS)
    below, largest = 0.0, np.inf  # no interval before the first point
    for bucket in range(_N_BUCKETS):
        if first[bucket] == first[bucket + 1]:
            continue
        low, high = np.inf, -np.inf
        for place in range(first[bucket], first[bucket + 1]):
            i = order[place]
            sums[bucket] += steps[i]
            falls[bucket] += min(steps[i], 0.0)
            low, high = min(low, points[i]), max(high, points[i])
        _consider(below, largest, low, best, noise)
        below += sums[bucket]
        largest = high
    return sums, falls


@jit
def least_sum(points, steps):
    """The interval between two points below which the steps sum to least.

    Only those buckets of points are sorted that may hold a sum less than the least one found.

    Parameters
    ----------
    points : float64 array of shape (m,), finite
    steps : float64 array of shape (m,)

    Returns
    -------
    least : float, the sum of the steps of the points up to `low`; inf if all points are equal
    low, high : float, neighbouring points
    """
    n, noise = points.shape[0], 0.0
    for i in range(n):
        noise += _NOISE * abs(steps[i])
    center, scale = _middle(points)
    best = np.zeros(4)
    best[0], best[3] = np.inf, _ROUNDING * scale
    if n <= _FEW or not scale > max(1e-290, _ROUNDING * abs(center)):
        order = np.arange(n)
        _sort(points, order)
        _scan(points, steps, order, 0.0, best, noise)
        return best[0], best[1], best[2]
    order, first = _in_buckets(points, center, scale)
    # The better the least sum known, the fewer buckets are sorted.
    sums, falls = _between_buckets(points, steps, order, first, best, noise)
    below = 0.0
    for bucket in range(_N_BUCKETS):
        members = order[first[bucket] : first[bucket + 1]]
        if members.shape[0] > 1 and below + falls[bucket] <= best[0] + noise:
            _sort(points, members)
            _scan(points, steps, members, below, best, noise)
        below += sums[bucket]
    return best[0], best[1], best[2]


@jit
def _best_weight(rest, column, threshold, steps, points, changes):
    """The weight u of a column that makes the loss of rest + u column <= threshold least.

    Returns
    -------
    least : float, the loss; inf if there is no choice
    low, high : float, between which u may lie
    """
    n, loss = 0, 0.0
    for i in range(rest.shape[0]):
        x, room = column[i], threshold - rest[i]
        point = room / x if x != 0.0 else np.inf
        if not abs(point) < 1e300:  # no weight moves the row
            loss += steps[i] if room >= 0.0 else 0.0
            continue
        # From low u to high: rows of positive values leave the left side, the others join it.
        points[n] = point
        changes[n] = -steps[i] if x > 0.0 else steps[i]
        loss += steps[i] if x > 0.0 else 0.0
        n += 1
    if n < 2:
        return np.inf, 0.0, 0.0
    least, low, high = least_sum(points[:n], changes[:n])
    return loss + least, low, high


@jit
def _fill_values(columns, weights, values):
    for i in range(values.shape[0]):
        values[i] = 0.0
        for j in range(weights.shape[0]):
            values[i] += weights[j] * columns[j, i]


@jit
def _subtract(values, weight, column, out):
    for i in range(values.shape[0]):
        out[i] = values[i] - weight * column[i]


@jit
def _by_spread(columns, weights):
    """Numbers of the weights, from the one whose term varies least on."""
    k, m = columns.shape
    spread, order = np.empty(k), np.arange(k)
    for j in range(k):
        total, squares = 0.0, 0.0
        for i in range(m):
            total += columns[j, i]
        for i in range(m):
            squares += (columns[j, i] - total / m) ** 2
        spread[j] = abs(weights[j]) * np.sqrt(squares)
    _sort(spread, order)
    return order


@jit
def _sharpen(values, steps, threshold, loss, noise):
    """The best threshold and its loss, or those there are."""
    least, low, high = least_sum(values, steps)
    if least < loss - noise:
        return 0.5 * low + 0.5 * high, least
    return threshold, loss


@jit
def _improve_one(j, columns, weights, values, work, threshold, loss, steps, price, noise):
    """Remove a weight, at the then best threshold, or give it its best value, if that pays.

    Returns
    -------
    threshold, loss : float, the loss with the price of a weight taken off where one is gone
    """
    rest, points, changes = work
    old, column = weights[j], columns[j]
    _subtract(values, old, column, rest)
    least, low, high = least_sum(rest, steps)
    if least < loss + price - noise:
        weights[j] = 0.0
        _subtract(rest, 0.0, column, values)
        return 0.5 * low + 0.5 * high, least
    least, low, high = _best_weight(rest, column, threshold, steps, points, changes)
    new = 0.5 * low + 0.5 * high
    if not least < loss - noise or new == 0.0:
        return threshold, loss
    weights[j] = new
    _subtract(rest, -new, column, values)
    return _sharpen(values, steps, threshold, least, noise)


@jit
def improve(columns, weights, threshold, steps, price, n_sweeps):
    """Change the weights of a test one at a time while loss + price * (number of weights) falls.

    Of each weight: removed, with the then best threshold, or given its best value. After each
    change the threshold is the best one. Exact along each coordinate (a step of coordinate
    descent), so that the score never rises.

    Parameters
    ----------
    columns : float64 array of shape (k, m), the values of the rows
    weights : float64 array of shape (k,), changed in place; 0 where a weight is gone. Not all go
    threshold : float
    steps : float64 array of shape (m,)
    price : float, of a weight
    n_sweeps : int, at most

    Returns
    -------
    threshold : float
    loss : float
    """
    k, m = columns.shape
    values, loss, noise = np.empty(m), 0.0, 0.0
    work = (np.empty(m), np.empty(m), np.empty(m))
    _fill_values(columns, weights, values)
    for i in range(m):
        noise += _NOISE * abs(steps[i])
        loss += steps[i] if values[i] <= threshold else 0.0
    threshold, loss = _sharpen(values, steps, threshold, loss, noise)
    order, n_weights = _by_spread(columns, weights), k
    for _ in range(n_sweeps):
        before, n_before = loss, n_weights
        for j in order:
            if weights[j] == 0.0:
                continue
            to_pay = price if n_weights > 1 else -np.inf  # the last weight stays
            terms = (j, columns, weights, values, work)
            threshold, loss = _improve_one(*terms, threshold, loss, steps, to_pay, noise)
            n_weights -= weights[j] == 0.0
        if loss == before and n_weights == n_before:
            break
    return threshold, loss


@jit
def removals(columns, weights, steps):
    """Loss of a test without each of its weights, at the then best threshold.

    Parameters as for :func:`improve`.

    Returns
    -------
    float64 array of shape (k,); inf where no test is left
    """
    k, m = columns.shape
    values, rest, losses = np.empty(m), np.empty(m), np.empty(k)
    _fill_values(columns, weights, values)
    for j in range(k):
        _subtract(values, weights[j], columns[j], rest)
        losses[j] = least_sum(rest, steps)[0]
    return losses


@jit
def additions(values, columns, threshold, steps):
    """Loss of a test with one more weight, at its best value, for each of some columns.

    Parameters
    ----------
    values : float64 array of shape (m,), w.x
    columns : float64 array of shape (k, m)
    threshold : float
    steps : float64 array of shape (m,)

    Returns
    -------
    losses, weights : float64 arrays of shape (k,)
    """
    k, m = columns.shape
    points, changes = np.empty(m), np.empty(m)
    losses, weights = np.empty(k), np.empty(k)
    for j in range(k):
        losses[j], low, high = _best_weight(values, columns[j], threshold, steps, points, changes)
        weights[j] = 0.5 * low + 0.5 * high
    return losses, weights
