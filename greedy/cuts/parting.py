"""Kernels for the best cut of a node that parts its reference centres.

One pass over the rows gives, for every feature, what the cuts at the coordinates of the centres
(its edges) cost, and how much less cuts between two edges can cost. Only the rows between two
edges where that may be least are sorted.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..order import (
    edges_below,
    entries,
    gather,
    is_better,
    is_hopeless,
    rows_at_a_time,
    stable_order,
)

_SLACK = 1e-12  # sums of floats are rounded: their bounds are lowered by this share
_BIN = 16  # rows a bin, about, of those between two edges
_MANY = 31  # edges, above which a search is faster than to compare all
_SUMS = 2**15  # sums of features that stay in the cache together


def parting_cut(X, slot, node, depth, lo, hi):
    """Best cut of a node, over features lo..hi-1, among those that part some of its centres.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : greedy.nodes.PartingNode
    depth : greedy.nodes.Depth
    lo, hi : int

    Returns
    -------
    (value, feature, threshold); feature -1 if no cut parts the centres
    """
    places = np.ascontiguousarray(node.positions[:, lo:hi].T)
    order = np.argsort(places, axis=1, kind="stable")
    rank, edges = np.argsort(order, axis=1), np.take_along_axis(places, order, axis=1)
    sums = _edge_sums(X, slot, node, edges, rank, lo)
    bound = np.full((hi - lo, edges.shape[1] - 1), np.inf)
    best = _try_edges(edges, order, sums, node, depth, lo, bound)
    turns = np.argsort(bound, axis=None, kind="stable")
    terms = (node, depth, lo, edges, order, rank)
    return _try_segments(X, slot, *terms, turns, bound.ravel()[turns], best)


def parted_at_edges(X, slot, node, edges, rank, feature):
    """Price of the rows that each edge of a feature parts from their centres.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : greedy.nodes.PartingNode
    edges : float64 array of shape (c,), increasing; the last one is no cut
    rank : int64 array of shape (c,), place of each centre in the order of the feature
    feature : int

    Returns
    -------
    int64 array of shape (c - 1,)
    """
    return _edge_sums(X, slot, node, edges[None], rank[None], feature)[0][0]


def _edge_sums(X, slot, node, edges, rank, lo):
    """Sums over the rows of a node for each of some features, from `lo` on, and each edge j.

    Returns
    -------
    cost, gain, above : int64 arrays of shape (features, c - 1)
        What the rows parted at edge j pay; the part of it that larger thresholds, below edge
        j + 1, can save; what rows pay in all whose centres are above the edge.
    right : int64 array of shape (features, c)
        Mass above edge j; 0 without masses.
    """
    n_features, c = edges.shape
    padded = np.full((n_features, 2 ** int(c).bit_length() - 1), np.inf)
    padded[:, :c] = edges
    # The prices are below 2 ** 53 in sum.
    totals = np.bincount(node.label, node.price, c + 1).astype(np.int64)
    totals[c] = node.mass.sum()
    cost, gain = np.zeros((2, n_features, c - 1), np.int64)
    right, width = np.zeros((n_features, c), np.int64), max(1, _SUMS // (c + 1) ** 2)
    for start in range(0, n_features, width):
        some = slice(start, start + width)
        sums = np.zeros((len(padded[some]), c + 1, c + 1), np.int64)
        step = rows_at_a_time(slot, node.rows)
        _add_prices(X, slot, node, padded[some], lo + start, step, sums)
        _fold(sums, totals, rank[some], padded[some], cost[some], gain[some], right[some])
    by_place = np.take_along_axis(np.tile(totals[:c], (n_features, 1)), np.argsort(rank, axis=1), 1)
    above = totals[:c].sum() - np.cumsum(by_place, axis=1)[:, :-1]
    return cost, gain, above, right


@jit
def _add_prices(X, slot, node, edges, lo, step, sums):
    """Add what rows pay to sums[feature, label, number of edges below], mass as another label."""
    rows, label, price, mass = node.rows, node.label, node.price, node.mass
    last = sums.shape[1] - 1
    values, places, below = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(edges.shape[0]):
            n, edge, total = (
                entries(X, slot, rows, lo + f, start, stop, values, places),
                edges[f],
                sums[f],
            )
            _count_below(values[:n], edge, below)
            for i in range(n):
                total[label[start + places[i]], below[i]] += price[start + places[i]]
            if mass.shape[0]:
                for i in range(n):
                    total[last, below[i]] += mass[start + places[i]]


@jit
def _count_below(values, edges, below):
    """Fill in how many edges are below each value."""
    if edges.shape[0] > _MANY:
        for i in range(values.shape[0]):
            below[i] = edges_below(values[i], edges)
        return
    below[:] = 0
    for edge in edges:  # several values at once, which a search cannot do
        for i in range(values.shape[0]):
            below[i] += values[i] > edge


@jit
def _fold(sums, totals, rank, edges, cost, gain, right):
    """Turn these sums into those of :func:`_edge_sums`, less those above the edges."""
    c = rank.shape[1]
    for f in range(sums.shape[0]):
        zero = edges_below(0.0, edges[f])
        for g in range(c + 1):
            total = sums[f, g]
            rest = totals[g]
            for j in range(c + 1):
                rest -= total[j]
            total[zero] += rest  # the zeros of sparse X
            above = total[c]
            for j in range(c - 2, -1, -1):
                above += total[j + 1]
                if g == c:
                    right[f, j] = above
                elif rank[f, g] <= j:  # their centre is on the left: parted if above the edge
                    cost[f, j] += above
                    gain[f, j] += total[j + 1]
                else:
                    cost[f, j] += totals[g] - above
        right[f, c - 1] = sums[f, c, c]


@jit
def expected_depth(low, high, n_left, n_centers, discount, table):
    """Least WAD estimate of a cut over a range of shares of the rows that go left.

    EvalWAD and EvalDExp of Laber, Murtinho & Oliveira (2023), algorithms 2 and 3: every node
    splits rows and centres in the proportions of the cut. Rows are divisible, centres are
    not: the left side gets ceil(K n_left / n_centers) of K centres, from 1 to K - 1.

    Parameters
    ----------
    low, high : float, range of the share of the rows on the left
    n_left, n_centers : int
    discount : tuple of two floats
        1 where the left (right) edge makes an earlier condition redundant, else 0.
    table : float64 array of length n_centers + 1, scratch

    Returns
    -------
    float
    """
    table[1] = 0.0
    for k in range(2, n_centers + 1):
        k_left = min(max((k * n_left + n_centers - 1) // n_centers, 1), k - 1)
        left, right = table[k_left], table[k - k_left]
        if k == n_centers:
            left, right = left - discount[0], right - discount[1]
        at_low = low * left + (1.0 - low) * right
        at_high = high * left + (1.0 - high) * right
        table[k] = 1.0 + min(at_low, at_high)  # linear in the share
    return table[n_centers]


@jit
def _value(cost, mass_low, mass_high, j, feature, depth, table):
    """What a price, a whole number, and the depth count for where j + 1 centres are on the left.

    The least value over a range of the mass on the left.
    """
    n_centers, value = table.shape[0] - 1, cost * depth.unit
    if depth.is_ratio:
        # Divided, not multiplied by an inverse: so that equal ratios are equal numbers.
        value /= min(j + 1, n_centers - j - 1)
    if depth.factor > 0.0:
        low = high = (j + 1) / n_centers  # a node without rows: as the centres
        if depth.total_mass > 0:
            low, high = mass_low / depth.total_mass, mass_high / depth.total_mass
        discount = (np.float64(depth.used[0, feature]), np.float64(depth.used[1, feature]))
        value += depth.factor * expected_depth(low, high, j + 1, n_centers, discount, table)
        if low < high:  # a bound
            value -= _SLACK * abs(value)
    return value


@jit
def _try_edges(edges, order, sums, node, depth, lo, bound):
    """Best cut at an edge, where the prices are fixed and costs at edges so exact.

    Fills lower bounds of the value in each segment; where no cut is they stay infinite. An edge
    that may have no rows above it is left to :func:`_try_segments`.
    """
    cost, gain, above, right = sums
    table, best = np.empty(edges.shape[1] + 1), (np.inf, np.int64(-1), np.inf)
    for f in range(edges.shape[0]):
        for j in range(edges.shape[1] - 1):
            if edges[f, j] == edges[f, j + 1]:
                continue
            low, high = depth.total_mass - right[f, j], depth.total_mass - right[f, j + 1]
            bound[f, j] = _value(cost[f, j] - gain[f, j], low, high, j, lo + f, depth, table)
            if node.distances.shape[1] or (not node.all_left and cost[f, j] == above[f, j] > 0):
                continue
            value = _value(cost[f, j], low, low, j, lo + f, depth, table)
            if is_better(value, lo + f, edges[f, j], best):
                best = (value, lo + f, edges[f, j])
    return best


@jit
def _try_segments(X, slot, node, depth, lo, edges, order, rank, turns, bounds, best):
    """Best cut between two edges, or `best`; `turns` are the segments by their bounds."""
    n_rows, c = node.rows.shape[0], edges.shape[1]
    values, table = np.empty(n_rows), np.empty(c + 1)
    scratch = (np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64))
    for t in range(turns.shape[0]):
        f, j = turns[t] // (c - 1), turns[t] % (c - 1)
        if bounds[t] > best[0] or bounds[t] == np.inf:
            break
        if not is_hopeless(bounds[t], lo + f, best):
            gather(X, slot, node.rows, lo + f, values)
            centers = (edges[f], order[f], rank[f])
            best = _try_segment(values, lo + f, j, centers, node, depth, scratch, table, best)
    return best


@jit
def _try_segment(values, feature, j, centers, node, depth, scratch, table, best):
    """Best cut with a threshold in [edges[j], edges[j + 1]), or `best`."""
    edge, (rows, change) = centers[0][j], scratch
    # Some rows must stay on the right, if any is parted, or it does not matter.
    most_left = values.shape[0] if node.all_left else values.shape[0] - 1
    n, saving, start = _between(values, j, centers, node, rows, change)
    total = depth.total_mass if depth.factor > 0.0 else start[1]
    if start[0] == 0 or start[2] <= most_left:
        value = _value(start[0], start[1], start[1], j, feature, depth, table)
        if is_better(value, feature, edge, best):
            best = (value, feature, edge)
    if n == 0 or _value(start[0] - saving, start[1], total, j, feature, depth, table) > best[0]:
        return best
    inside = values[rows[:n]]
    bins, states, least = _deal(inside, rows, change, node, start)
    some, n_open, is_open = np.empty(n, np.int64), 0, np.empty(least.shape[0], np.bool_)
    for b in range(least.shape[0]):
        low, high = states[b, 1], states[b + 1, 1]
        bound = _value(states[b, 0] + least[b], low, high, j, feature, depth, table)
        is_open[b] = bound <= best[0]
    for i in range(n):
        some[n_open] = i
        n_open += is_open[bins[i]]
    at = (feature, j, most_left)
    return _try_inside(
        inside, some[:n_open], at, bins, states, rows, change, node, depth, table, best
    )


@jit
def _deal(inside, rows, change, node, start):
    """Deal the rows between two edges to bins of equal width.

    Returns the bin of each; cost, mass and number of the rows on the left below each bin, int64
    of shape (bins + 1, 3); and by how much the rows of a bin change the cost at best.
    """
    n, low, high, mass = inside.shape[0], inside[0], inside[0], node.mass
    for i in range(n):
        low, high = min(low, inside[i]), max(high, inside[i])
    n_bins = max(1, n // _BIN) if high > low else 1
    bins, least = np.zeros(n, np.int64), np.zeros(n_bins, np.int64)
    states = np.zeros((n_bins + 1, 3), np.int64)
    states[0, 0], states[0, 1], states[0, 2] = start
    for i in range(n):
        if n_bins > 1:
            bins[i] = min(np.int64((inside[i] - low) / (high - low) * n_bins), n_bins - 1)
        b = bins[i]
        least[b] += min(change[i], 0)
        states[b + 1, 0] += change[i]
        states[b + 1, 1] += mass[rows[i]] if mass.shape[0] else 0
        states[b + 1, 2] += 1
    for b in range(n_bins):
        for q in range(3):
            states[b + 1, q] += states[b, q]
    return bins, states, least


@jit
def _try_inside(inside, some, at, bins, states, rows, change, node, depth, table, best):
    """Best cut at the value of some of the rows between two edges, or `best`."""
    (feature, j, most_left), mass = at, node.mass
    order, last, state = stable_order(inside[some]), -1, (0, 0, 0)
    for k in range(order.shape[0]):
        i = some[order[k]]
        if bins[i] != last:
            last = bins[i]
            state = (states[last, 0], states[last, 1], states[last, 2])
        weight = mass[rows[i]] if mass.shape[0] else 0
        state = (state[0] + change[i], state[1] + weight, state[2] + 1)
        if k + 1 < order.shape[0] and inside[some[order[k + 1]]] == inside[i]:
            continue
        if state[0] == 0 or state[2] <= most_left:
            value = _value(state[0], state[1], state[1], j, feature, depth, table)
            if is_better(value, feature, inside[i], best):
                best = (value, feature, inside[i])
    return best


@jit
def _between(values, j, centers, node, rows, change):
    """Rows between two edges, and by how much each changes the cost where it goes left.

    Returns how many there are; how much of the cost they can save; and with the threshold at the
    lower edge the cost, the mass on the left, and the number of rows there.
    """
    (edges, _, rank), label, mass = centers, node.label, node.mass  # attributes cost in loops
    low, high, n_parted, n_left, left_mass = edges[j], edges[j + 1], 0, 0, 0
    for r in range(values.shape[0]):  # no branches: they are hard to predict
        value = values[r]
        rows[n_parted] = r
        is_parted = (value <= low) != (rank[label[r]] <= j)
        n_parted += is_parted | ((value > low) & (value < high))
        n_left += value <= low
    if mass.shape[0]:
        for r in range(values.shape[0]):
            left_mass += mass[r] if values[r] <= low else 0
    _pay_on_far_side(rows[:n_parted], j, centers, node, change)
    n = cost = saving = 0
    for i in range(n_parted):
        r, price = rows[i], change[i]
        goes_left, owned_left = values[r] <= low, rank[label[r]] <= j
        cost += price if goes_left != owned_left else 0
        if not goes_left and values[r] < high:
            rows[n], change[n] = r, -price if owned_left else price
            saving += price if owned_left else 0
            n += 1
    return n, saving, (cost, left_mass, n_left)


@jit
def _pay_on_far_side(some, j, centers, node, out):
    """What some rows pay on the side of edge j that their own centre is not on."""
    _, order, rank = centers
    label, second, price = node.label, node.second, node.price
    distances, nearest, numbers = node.distances, node.nearest, node.centers
    for i in range(some.shape[0]):
        r = some[i]
        owned_left = rank[label[r]] <= j
        if distances.shape[1] == 0 or (rank[second[r]] <= j) != owned_left:
            out[i] = price[r]
            continue
        row, least = node.rows[r], np.inf
        start, stop = (j + 1, order.shape[0]) if owned_left else (0, j + 1)
        for c in range(start, stop):
            least = min(least, distances[row, numbers[order[c]]])
        excess = np.rint((least - nearest[r]) * node.scale)
        out[i] = np.int64(min(np.rint(excess * node.weight[row]), node.cap))


@jit
def search_tree(places, parted, power):
    """Least sum of parted[j] * diam(j) ** power over all search trees of some centres.

    Equation 4 of Laber & Murtinho (2021). Node j parts centre j from centre j + 1, and diam(j)
    is the extent of the centres that reach it.

    O(c^3). Knuth's speed-up to O(c^2) looks for the root of a range of centres between the roots
    of the two ranges that are shorter by one. That needs a price of the range that does not depend
    on its root; here it is the root's own parted[j]. With places 0, 1, 4, 7, 8, prices 1, 5, 5, 4
    and power 1 the shorter ranges have roots 1 and 2, the whole one 0: 62 instead of 63.

    Parameters
    ----------
    places : float64 array of shape (c,), not decreasing
        Centres in the same place are not parted.
    parted : array of shape (c - 1,), at least 0
    power : int

    Returns
    -------
    cost : float64 array of shape (c, c), of the centres a..b at [a, b]
    root : int64 array of shape (c, c), ties to the lowest; -1 where there is nothing to part
    """
    n = places.shape[0]
    cost, root = np.zeros((n, n)), np.full((n, n), -1, np.int64)
    mirrored = np.zeros((n, n))  # cost[j, b] at [b, j]: both sums run along rows
    for length in range(1, n):
        for a in range(n - length):
            b = a + length
            if places[a] == places[b]:
                continue
            extent, least, best = (places[b] - places[a]) ** power, np.inf, -1
            for j in range(a, b):
                value = parted[j] * extent + (cost[a, j] + mirrored[b, j + 1])
                if value < least and places[j] < places[j + 1]:
                    least, best = value, j
            cost[a, b] = mirrored[b, a] = least
            root[a, b] = best
    return cost, root
