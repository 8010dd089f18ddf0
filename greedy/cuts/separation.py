"""Cut of a node that parts its reference centres at least cost, and the kernels for it.

One pass over the rows gives, for every feature, what the cuts at the coordinates of the centres
(its edges) cost, and how much less cuts between two edges can cost. Only the rows between two
edges where that may be least are sorted.

Kernels take single arrays and numbers, no tuples of arrays: each array of a tuple costs compile
time in every kernel that the tuple passes through.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..sorted_columns import edges_below, entries, gather, is_better, rows_at_a_time

_SLACK = 1e-12  # sums of floats are rounded: their bounds are lowered by this share
_BIN = 16  # rows a bin, about, of those between two edges
_MANY = 31  # edges, above which a search is faster than to compare all
_SUMS = 2**15  # sums of features that stay in the cache together


def separating_cut(X, inverse, node, depth, lo, hi):
    """Best cut of a node, over features lo..hi-1, among those that part some of its centres.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : greedy.nodes.SeparationNode
    depth : greedy.nodes.Depth
    lo, hi : int

    Returns
    -------
    (value, feature, threshold); feature -1 if no cut parts the centres
    """
    places = np.ascontiguousarray(node.positions[:, lo:hi].T)
    order = np.argsort(places, axis=1, kind="stable")
    rank, edges = np.argsort(order, axis=1), np.take_along_axis(places, order, axis=1)
    sums = _edge_sums(X, inverse, node, edges, rank, lo)
    terms = tuple(map(float, (depth.unit, depth.factor, depth.total_mass, depth.is_ratio)))
    used = depth.used[:, lo:hi].astype(np.float64)
    best, bounds = _try_edges(edges, sums, terms, used, node, lo)
    segments = _Segments(X, inverse, node, terms)
    for turn in np.argsort(bounds, axis=None, kind="stable").tolist():
        i, j = divmod(turn, edges.shape[1] - 1)
        if bounds[i, j] > best[0] or bounds[i, j] == np.inf:
            break
        if (bounds[i, j], lo + i) <= best[:2]:
            discount = (used[0, i], used[1, i])
            best = segments.best_cut(lo + i, j, edges[i], order[i], rank[i], discount, best)
    return best


def mistakes_at_edges(X, inverse, node, edges, rank, feature):
    """Price of the rows that each edge of a feature parts from their centres.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : greedy.nodes.SeparationNode
    edges : float64 array of shape (c,), increasing; the last one is no cut
    rank : int64 array of shape (c,), place of each centre in the order of the feature
    feature : int

    Returns
    -------
    int64 array of shape (c - 1,)
    """
    return _edge_sums(X, inverse, node, edges[None], rank[None], feature)[0][0]


def _edge_sums(X, inverse, node, edges, rank, lo):
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
        step = rows_at_a_time(inverse, node.rows)
        terms = (node.label, node.price, node.mass, padded[some], lo + start, step, sums)
        _add_prices(X, inverse, node.rows, *terms)
        cost[some], gain[some], right[some] = _folded(sums, totals, rank[some], edges[some])
    by_place = np.take_along_axis(np.tile(totals[:c], (n_features, 1)), np.argsort(rank, axis=1), 1)
    above = totals[:c].sum() - np.cumsum(by_place, axis=1)[:, :-1]
    return cost, gain, above, right


@jit
def _add_prices(X, inverse, rows, label, price, mass, edges, lo, step, sums):
    """Add what rows pay to sums[feature, label, number of edges below], mass as another label."""
    last, n_edges = sums.shape[1] - 1, edges.shape[1]
    values, places, below = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(edges.shape[0]):
            edge, total = edges[f], sums[f]
            n = entries(X, inverse, rows, lo + f, start, stop, values, places)
            for i in range(n):
                below[i] = edges_below(values[i], edge) if n_edges > _MANY else 0
            for e in range(n_edges if n_edges <= _MANY else 0):
                for i in range(n):  # several values at once, which a search cannot do
                    below[i] += values[i] > edge[e]
            for i in range(n):
                total[label[start + places[i]], below[i]] += price[start + places[i]]
            if mass.shape[0]:
                for i in range(n):
                    total[last, below[i]] += mass[start + places[i]]


def _folded(sums, totals, rank, edges):
    """Cost, gain and right of :func:`_edge_sums`, from the sums of :func:`_add_prices`."""
    each, c = np.arange(len(sums)), rank.shape[1]
    zero = (edges < 0).sum(axis=1)
    sums[each, :, zero] += totals - sums.sum(axis=2)  # the zeros of sparse X
    above = np.cumsum(sums[:, :, :0:-1], axis=2)[:, :, ::-1]  # [feature, label, edge]
    own, place = above[:, :c, : c - 1], np.arange(c - 1)
    is_left = rank[:, :, None] <= place  # the centre: its rows are parted if above the edge
    cost = np.where(is_left, own, totals[:c, None] - own).sum(axis=1)
    gain = np.where(is_left, sums[:, :c, 1:c], 0).sum(axis=1)
    return cost, gain, above[:, c]


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
def _value(cost, mass_low, mass_high, j, terms, discount, table):
    """What a price, a whole number, and the depth count for where j + 1 centres are on the left.

    The least value over a range of the mass on the left. `terms` are the unit, the factor, the
    total mass and whether the price is divided; all floats.
    """
    unit, factor, total_mass, is_ratio = terms
    n_centers, value = table.shape[0] - 1, cost * unit
    if is_ratio > 0.0:
        # Divided, not multiplied by an inverse: so that equal ratios are equal numbers.
        value /= min(j + 1, n_centers - j - 1)
    if factor > 0.0:
        low = high = (j + 1) / n_centers  # a node without rows: as the centres
        if total_mass > 0.0:
            low, high = mass_low / total_mass, mass_high / total_mass
        value += factor * expected_depth(low, high, j + 1, n_centers, discount, table)
        if low < high:  # a bound
            value -= _SLACK * abs(value)
    return value


@jit
def _fill_values(cost, low, high, terms, used, table, out):
    """Values of cuts at the edges of features, whose masses on the left may be in a range."""
    for f in range(cost.shape[0]):
        for j in range(cost.shape[1]):
            discount = (used[0, f], used[1, f])
            out[f, j] = _value(cost[f, j], low[f, j], high[f, j], j, terms, discount, table)


def _try_edges(edges, sums, terms, used, node, lo):
    """Best cut at an edge, where the prices are fixed and costs at edges so exact.

    Also lower bounds of the value in each segment, infinite where no cut is. An edge that may have
    no rows above it is left to the search between edges.
    """
    cost, gain, above, right = sums
    mass, table = int(terms[2]) - right, np.empty(edges.shape[1] + 1)
    low, high = mass[:, :-1], mass[:, 1:]
    bounds, values = np.empty((2, *cost.shape))
    is_no_cut = edges[:, :-1] == edges[:, 1:]
    _fill_values(cost - gain, low, high, terms, used, table, bounds)
    bounds[is_no_cut] = np.inf
    if node.distances.shape[1]:
        return (np.inf, -1, np.inf), bounds
    _fill_values(cost, low, low, terms, used, table, values)
    if not node.all_left:
        is_no_cut |= (cost == above) & (above > 0)
    values[is_no_cut] = np.inf
    i, j = divmod(int(values.argmin()), values.shape[1])
    best = (float(values[i, j]), lo + i, float(edges[i, j]))
    return best if best[0] < np.inf else (np.inf, -1, np.inf), bounds


class _Segments:
    """Cuts between neighbouring edges of a feature, j and j + 1."""

    def __init__(self, X, inverse, node, terms):
        self._columns, self._node, self._terms = (X, inverse, node.rows), node, terms
        n_rows = len(node.rows)
        self._values, self._table = np.empty(n_rows), np.empty(len(node.positions) + 1)
        self._some, self._change = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64)
        # Some rows must stay on the right, if any is parted, or it does not matter.
        self._most_left = n_rows if node.all_left else n_rows - 1

    def best_cut(self, feature, j, edges, order, rank, discount, best):
        """Best cut with a threshold in [edges[j], edges[j + 1]), or `best`."""
        node, values, some, change = self._node, self._values, self._some, self._change
        is_left, low, high = rank <= j, edges[j], edges[j + 1]
        terms = (feature, low, high, node.label, is_left, node.mass, values, some)
        n, n_left, left_mass = _parted_or_between(*self._columns, *terms)
        some, change = some[:n], change[:n]
        change[:] = node.price[some]
        if node.distances.shape[1]:
            far = (node.centers[order[: j + 1]], node.centers[order[j + 1 :]])
            terms = (node.second, node.nearest, node.weight, node.scale, node.cap, change)
            _pay_on_far_side(some, is_left, *far, node.distances, node.rows, node.label, *terms)
        n, cost, *span = _sums_between(values, some, change, node.label, is_left, low, high)
        some, change = some[:n], change[:n]
        place, start = (feature, j, low, self._most_left), (cost, left_mass, n_left)
        terms = (self._terms, discount, self._table)
        found = _try_edge(values, some, change, node.mass, place, start, tuple(span), *terms, best)
        best, n, bins, states = found
        if n:
            inside, masses = values[some[:n]], node.mass[some[:n]] if len(node.mass) else node.mass
            order = np.argsort(inside, kind="stable")
            best = _try_inside(order, inside, change, masses, bins, states, place, *terms, best)
        return best


@jit
def _parted_or_between(X, inverse, rows, feature, low, high, label, is_left, mass, values, some):
    """Fill in the values of a feature, and the rows between two edges or parted at the lower one.

    Returns how many these are; and the number and the mass of all rows up to the lower edge.
    """
    gather(X, inverse, rows, feature, values)
    n = n_left = left_mass = 0
    for r in range(values.shape[0]):  # no branches: they are hard to predict
        value = values[r]
        some[n] = r
        n += ((value <= low) != is_left[label[r]]) | ((value > low) & (value < high))
        n_left += value <= low
    if mass.shape[0]:
        for r in range(values.shape[0]):
            left_mass += mass[r] if values[r] <= low else 0
    return n, n_left, left_mass


@jit
def _pay_on_far_side(
    some, is_left, left, right, distances, rows, label, second, nearest, weight, scale, cap, change
):
    """What some rows pay on the side that their own centre is not on, if the second is not, too.

    `left` and `right` are the centres of the sides.
    """
    for i in range(some.shape[0]):
        r = some[i]
        owned_left = is_left[label[r]]
        if is_left[second[r]] == owned_left:
            far, least = right if owned_left else left, np.inf
            for c in far:
                least = min(least, distances[rows[r], c])
            excess = np.rint((least - nearest[r]) * scale)
            change[i] = np.int64(min(np.rint(excess * weight[rows[r]]), cap))


@jit
def _sums_between(values, some, change, label, is_left, low, high):
    """Keep the rows between two edges of `some` rows, of which the others are parted at the lower.

    `change`, what they pay on the side that their centre is not on, becomes by how much a row
    between the edges changes the cost where it goes left.

    Returns how many these are; the cost at the lower edge, and how much of it they can save; and
    the least and the largest of their values.
    """
    n = cost = saving = 0
    least, most = np.inf, -np.inf
    for i in range(some.shape[0]):
        r, paid = some[i], change[i]
        value, owned_left = values[r], is_left[label[r]]
        if (value <= low) != owned_left:
            cost += paid
        if low < value < high:
            some[n], change[n] = r, -paid if owned_left else paid
            saving += paid if owned_left else 0
            least, most = min(least, value), max(most, value)
            n += 1
    return n, cost, saving, least, most


@jit
def _try_edge(values, some, change, mass, place, start, span, terms, discount, table, best):
    """Best cut at the lower edge, or `best`, and what is left to look at between the edges.

    Keeps the rows of bins that may have a better cut, moved to the front: how many they are, their
    bins, and the (cost, mass, number) of the rows on the left below each bin.
    """
    (feature, j, low, most_left), (cost, left_mass, n_left), n = place, start, some.shape[0]
    total = np.int64(terms[2]) if terms[1] > 0.0 else left_mass
    bins, states, n_open = np.zeros(n, np.int64), np.zeros((1, 4), np.int64), 0
    if cost == 0 or n_left <= most_left:
        value = _value(cost, left_mass, left_mass, j, terms, discount, table)
        if is_better(value, feature, low, best):
            best = (value, feature, low)
    saving, least, most = span
    if n == 0 or _value(cost - saving, left_mass, total, j, terms, discount, table) > best[0]:
        return best, n_open, bins, states
    states = _deal(values, some, change, mass, least, most, bins)
    for b in range(states.shape[0]):
        own, before = states[b], (cost, left_mass, n_left)
        cost, left_mass, n_left = cost + own[0], left_mass + own[1], n_left + own[2]
        bound = _value(before[0] + own[3], before[1], left_mass, j, terms, discount, table)
        own[0], own[1], own[2] = before
        own[3] = bound <= best[0]
    for i in range(n):
        some[n_open], change[n_open] = some[i], change[i]
        bins[n_open], is_open = bins[i], states[bins[i], 3]
        n_open += is_open
    return best, n_open, bins, states


@jit
def _deal(values, some, change, mass, least, most, bins):
    """Deal some rows to bins of equal width: by how much each bin changes cost, mass and number.

    And the cost at best: int64 array of shape (n_bins, 4).
    """
    n = some.shape[0]
    n_bins = max(1, n // _BIN) if most > least else 1
    sums = np.zeros((n_bins, 4), np.int64)
    for i in range(n):
        if n_bins > 1:
            share = (values[some[i]] - least) / (most - least)
            bins[i] = min(np.int64(share * n_bins), n_bins - 1)
        own = sums[bins[i]]
        own[0] += change[i]
        own[1] += mass[some[i]] if mass.shape[0] else 0
        own[2] += 1
        own[3] += min(change[i], 0)
    return sums


@jit
def _try_inside(order, values, change, masses, bins, states, place, terms, discount, table, best):
    """Best cut at one of some values between two edges, or `best`; `order` sorts the values."""
    (feature, j, _, most_left), last = place, -1
    cost = left_mass = n_left = 0
    for k in range(order.shape[0]):
        i = order[k]
        if bins[i] != last:
            last = bins[i]
            cost, left_mass, n_left = states[last, 0], states[last, 1], states[last, 2]
        cost += change[i]
        left_mass += masses[i] if masses.shape[0] else 0
        n_left += 1
        if k + 1 < order.shape[0] and values[order[k + 1]] == values[i]:
            continue
        if cost == 0 or n_left <= most_left:
            value = _value(cost, left_mass, left_mass, j, terms, discount, table)
            if is_better(value, feature, values[i], best):
                best = (value, feature, values[i])
    return best


@jit
def optimal_search_tree(places, parted, power):
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
