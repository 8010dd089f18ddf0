"""Kernels for the cut that separates the reference centres of a node at the least cost.

A cut costs something for each row that it separates from its centre, i.e. if the row and the centre
lie on different sides. The cost of such a row is its weight or the excess cost of the nearest
centre on the row's side, depending on the arrays of the node (see
:class:`greedy.nodes.SeparationNode`).

The edges of a feature are the sorted coordinates of the c centres of the node. A cut at a threshold
in [edge j, edge j + 1) leaves centres 0..j, in the order of the feature, on the left. One pass over
the rows computes the cost at all edges of all features, and by how much at most a larger threshold
in the same interval can reduce this cost. The difference is a lower bound of the cost in the
interval. The intervals are then searched in the order of their bounds, until no remaining bound is
below the value of the best cut found. Only the rows inside a searched interval are sorted.

Kernels take single arrays and numbers instead of tuples of arrays, since each array in a tuple adds
to the compile time of every kernel that receives the tuple.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..sorted_columns import edges_below, entries, gather, is_better, rows_at_a_time

_SLACK = 1e-12  # lower bounds are reduced by this fraction, because floats are rounded
_BIN = 16  # average number of rows per bin, when an interval is divided into bins
_MANY = 31  # with more edges per feature, binary search is faster than a linear scan
_SUMS = 2**15  # number of sums that fit into the processor's cache together


def separating_cut(X, inverse, node, depth, lo, hi):
    """Find the best cut among those that separate some centres of a node, over features lo..hi-1.

    For m rows and c centres in the node, the pass over the rows takes O(m c) time per feature
    (O(m log c) for many centres), and the sums of the costs take O(c ** 2) time per feature.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `node.rows`; empty for a dense X
    node : greedy.nodes.SeparationNode
    depth : greedy.nodes.DepthTerm
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is the criterion of the cut; lower is better. The feature is -1 if no cut
        separates two centres.
    """
    coordinates = np.ascontiguousarray(node.centers[:, lo:hi].T)
    order = np.argsort(coordinates, axis=1, kind="stable")
    rank, edges = np.argsort(order, axis=1), np.take_along_axis(coordinates, order, axis=1)
    sums = _edge_sums(X, inverse, node, edges, rank, lo)
    criterion = tuple(map(float, (depth.unit, depth.factor, depth.total_mass, depth.is_ratio)))
    used = depth.used[:, lo:hi].astype(np.float64)
    best, bounds = _try_edges(edges, sums, criterion, used, node, lo)
    search = _IntervalSearch(X, inverse, node, criterion)
    for interval in np.argsort(bounds, axis=None, kind="stable").tolist():
        i, j = divmod(interval, edges.shape[1] - 1)
        if bounds[i, j] > best[0] or bounds[i, j] == np.inf:
            break
        if (bounds[i, j], lo + i) <= best[:2]:
            discount = (used[0, i], used[1, i])
            best = search.best_cut(lo + i, j, edges[i], order[i], rank[i], discount, best)
    return best


def mistakes_at_edges(X, inverse, node, edges, rank, feature):
    """Return the total excess cost of the rows that each edge separates from their centres.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `node.rows`; empty for a dense X
    node : greedy.nodes.SeparationNode
    edges : float64 array of shape (c,)
        Thresholds in increasing order. The last threshold is not evaluated, since a cut there has
        no centres on its right.
    rank : int64 array of shape (c,)
        Position of each centre, if the centres are sorted by the feature.
    feature : int

    Returns
    -------
    int64 array of shape (c - 1,), one sum of quantized excess costs per edge but the last
    """
    return _edge_sums(X, inverse, node, edges[None], rank[None], feature)[0][0]


def _edge_sums(X, inverse, node, edges, rank, lo):
    """Sum the excess costs of the rows at every edge j of the features lo, lo + 1, and so on.

    Edge j is the j-th smallest coordinate of the c centres of the node; it serves as a threshold.

    Parameters
    ----------
    edges : float64 array of shape (n_features, c), sorted coordinates of the centres
    rank : int64 array of shape (n_features, c), position of each centre in that order

    Returns
    -------
    cost : int64 array of shape (n_features, c - 1)
        Excess costs of the rows that the cut at edge j separates from their centres.
    savable : int64 array of shape (n_features, c - 1)
        The largest reduction of `cost` that a threshold between edges j and j + 1 can achieve.
    above : int64 array of shape (n_features, c - 1)
        Excess costs of all rows whose centres lie above edge j.
    right : int64 array of shape (n_features, c)
        Mass (quantized weight) of the rows above edge j; 0 if the node has no masses.
    """
    n_features, c = edges.shape
    padded = np.full((n_features, 2 ** int(c).bit_length() - 1), np.inf)
    padded[:, :c] = edges
    # np.bincount sums in float64. This is exact, since the quantized sums are below 2 ** 53.
    totals = np.bincount(node.label, node.excess, c + 1).astype(np.int64)
    totals[c] = node.mass.sum()
    cost, savable = np.zeros((2, n_features, c - 1), np.int64)
    right, width = np.zeros((n_features, c), np.int64), max(1, _SUMS // (c + 1) ** 2)
    for start in range(0, n_features, width):
        some = slice(start, start + width)
        sums = np.zeros((len(padded[some]), c + 1, c + 1), np.int64)
        step = rows_at_a_time(inverse, node.rows)
        terms = (node.label, node.excess, node.mass, padded[some], lo + start, step, sums)
        _add_excess(X, inverse, node.rows, *terms)
        cost[some], savable[some], right[some] = _cumulated(sums, totals, rank[some], edges[some])
    by_rank = np.take_along_axis(np.tile(totals[:c], (n_features, 1)), np.argsort(rank, axis=1), 1)
    above = totals[:c].sum() - np.cumsum(by_rank, axis=1)[:, :-1]
    return cost, savable, above, right


@jit
def _add_excess(X, inverse, rows, label, excess, mass, edges, lo, step, sums):
    """Add the excess cost of each row to sums[feature, label, number of edges below its value].

    The masses of the rows are added in the same way to sums[feature, -1]. `step` is the number of
    rows that are processed at a time.
    """
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
                for i in range(n):  # the compiler vectorizes this loop, but not a binary search
                    below[i] += values[i] > edge[e]
            for i in range(n):
                total[label[start + places[i]], below[i]] += excess[start + places[i]]
            if mass.shape[0]:
                for i in range(n):
                    total[last, below[i]] += mass[start + places[i]]


def _cumulated(sums, totals, rank, edges):
    """Return `cost`, `savable` and `right` of :func:`_edge_sums`, given the sums per interval."""
    each, c = np.arange(len(sums)), rank.shape[1]
    zero = (edges < 0).sum(axis=1)
    # Add the rows in which the feature is zero. A sparse X does not store them.
    sums[each, :, zero] += totals - sums.sum(axis=2)
    # above[f, l, e] is the sum over the rows of label l whose value of feature f is above edge e.
    # The last label c stands for the masses of all rows.
    above = np.cumsum(sums[:, :, :0:-1], axis=2)[:, :, ::-1]
    own, edge = above[:, :c, : c - 1], np.arange(c - 1)
    # The cut at an edge separates two kinds of rows from their centres: rows above the edge whose
    # centre is on the left, and the other rows whose centre is on the right.
    is_left = rank[:, :, None] <= edge
    cost = np.where(is_left, own, totals[:c, None] - own).sum(axis=1)
    savable = np.where(is_left, sums[:, :c, 1:c], 0).sum(axis=1)
    return cost, savable, above[:, c]


@jit
def expected_depth(low, high, n_left, n_centers, discount, table):
    """Return the estimated average leaf depth (WAD) if a fraction low..high of the rows goes left.

    The algorithms are EvalWAD and EvalDExp of Laber, Murtinho & Oliveira (2023), algorithms 2 and
    3. WAD is the weighted average depth of the leaves below the node of the cut. The estimate
    assumes that every further node divides its rows and centres in the proportions of this cut. The
    number of centres is rounded: of K centres the left side gets ceil(K n_left / n_centers), at
    least 1 and at most K - 1. If low < high, the result is a lower bound for all fractions in
    this range.

    Parameters
    ----------
    low, high : float, range of the fraction of the rows that go left
    n_left, n_centers : int, number of centres on the left, and in the node
    discount : tuple of two floats
        The first number is 1 if the left branch makes an earlier condition on the path redundant,
        else 0. The second number is the same for the right branch.
    table : float64 array of shape (n_centers + 1,), workspace

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
        table[k] = 1.0 + min(at_low, at_high)  # linear in the fraction, so minimal at an end
    return table[n_centers]


@jit
def _value(cost, mass_low, mass_high, j, criterion, discount, table):
    """Return the criterion, or a lower bound of it, for a cut with j + 1 centres on its left.

    The cut with the smallest value is the best.

    Parameters
    ----------
    cost : int, sum of the excess costs of the rows that the cut separates from their centres
    mass_low, mass_high : float
        Smallest and largest possible mass (quantized weight) of the rows on the left. If the two
        differ, the result is a lower bound.
    j : int
    criterion : (unit, factor, total_mass, is_ratio), floats
        The fields of :class:`greedy.nodes.DepthTerm`.
    discount, table : see :func:`expected_depth`
    """
    unit, factor, total_mass, is_ratio = criterion
    n_centers, value = table.shape[0] - 1, cost * unit
    if is_ratio > 0.0:
        # Dividing, instead of multiplying by the inverse, gives equal floats for equal ratios.
        value /= min(j + 1, n_centers - j - 1)
    if factor > 0.0:
        low = high = (j + 1) / n_centers  # without rows, use the fraction of the centres
        if total_mass > 0.0:
            low, high = mass_low / total_mass, mass_high / total_mass
        value += factor * expected_depth(low, high, j + 1, n_centers, discount, table)
        if low < high:
            value -= _SLACK * abs(value)
    return value


@jit
def _fill_values(cost, low, high, criterion, used, table, out):
    """Write the result of :func:`_value` for every edge of some features to `out`."""
    for f in range(cost.shape[0]):
        for j in range(cost.shape[1]):
            discount = (used[0, f], used[1, f])
            out[f, j] = _value(cost[f, j], low[f, j], high[f, j], j, criterion, discount, table)


def _try_edges(edges, sums, criterion, used, node, lo):
    """Return the best cut at an edge, and a lower bound of the criterion for each interval.

    An edge is the coordinate of a centre, as threshold of a feature. Interval j contains the
    thresholds from edge j up to, but without, edge j + 1. The bound of an empty interval is
    infinite.

    The costs at edges are exact only if the node has no `distances`. Otherwise they are lower
    bounds, and the returned cut has the feature -1. If `node.all_left` is False, an edge with
    cost == above > 0 (see :func:`_edge_sums`) is not evaluated here, because all rows may lie on
    its left. The search of the interval that begins at this edge evaluates it.

    Returns
    -------
    best : tuple (value of the criterion, feature, threshold)
    bounds : float64 array of shape (n_features, c - 1)
    """
    cost, savable, above, right = sums
    mass, table = int(criterion[2]) - right, np.empty(edges.shape[1] + 1)
    low, high = mass[:, :-1], mass[:, 1:]
    bounds, values = np.empty((2, *cost.shape))
    is_no_cut = edges[:, :-1] == edges[:, 1:]
    _fill_values(cost - savable, low, high, criterion, used, table, bounds)
    bounds[is_no_cut] = np.inf
    if node.distances.shape[1]:
        return (np.inf, -1, np.inf), bounds
    _fill_values(cost, low, low, criterion, used, table, values)
    if not node.all_left:
        is_no_cut |= (cost == above) & (above > 0)
    values[is_no_cut] = np.inf
    i, j = divmod(int(values.argmin()), values.shape[1])
    best = (float(values[i, j]), lo + i, float(edges[i, j]))
    return best if best[0] < np.inf else (np.inf, -1, np.inf), bounds


class _IntervalSearch:
    """Exact search for the best cut in an interval [edge j, edge j + 1) of a feature.

    The working arrays, of one element per row of the node, are allocated once for all intervals.
    """

    def __init__(self, X, inverse, node, criterion):
        self._columns, self._node, self._criterion = (X, inverse, node.rows), node, criterion
        n_rows = len(node.rows)
        self._values, self._table = np.empty(n_rows), np.empty(len(node.centers) + 1)
        self._some, self._change = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64)
        # If `node.all_left` is False, a cut must leave at least one row on its right side, unless
        # it separates no row from its centre.
        self._most_left = n_rows if node.all_left else n_rows - 1

    def best_cut(self, feature, j, edges, order, rank, discount, best):
        """Return the best cut in [edges[j], edges[j + 1]), or the cut `best` if that is better."""
        node, values, some, change = self._node, self._values, self._some, self._change
        is_left, low, high = rank <= j, edges[j], edges[j + 1]
        terms = (feature, low, high, node.label, is_left, node.mass, values, some)
        n, n_left, left_mass = _relevant_rows(*self._columns, *terms)
        some, change = some[:n], change[:n]
        change[:] = node.excess[some]
        if node.distances.shape[1]:
            sides = (node.center_ids[order[: j + 1]], node.center_ids[order[j + 1 :]])
            terms = (node.second, node.nearest, node.weight, node.scale, node.cap, change)
            _correct_excess(some, is_left, *sides, node.distances, node.rows, node.label, *terms)
        n, cost, *span = _interval_changes(values, some, change, node.label, is_left, low, high)
        some, change = some[:n], change[:n]
        place, start = (feature, j, low, self._most_left), (cost, left_mass, n_left)
        terms = (self._criterion, discount, self._table)
        found = _try_edge(values, some, change, node.mass, place, start, tuple(span), *terms, best)
        best, n, bins, states = found
        if n:
            inside, masses = values[some[:n]], node.mass[some[:n]] if len(node.mass) else node.mass
            order = np.argsort(inside, kind="stable")
            best = _try_inside(order, inside, change, masses, bins, states, place, *terms, best)
        return best


@jit
def _relevant_rows(X, inverse, rows, feature, low, high, label, is_left, mass, values, some):
    """Find the rows on which the costs of the cuts in the interval [low, high) depend.

    These are the rows inside the interval and those that a cut at `low` separates from their
    centres. The function writes the values of the feature to `values`, for all rows, and the
    positions of the relevant rows in `rows` to `some`.

    Returns
    -------
    n, n_left, left_mass : int
        Number of relevant rows; number and mass of all rows whose value is at most `low`.
    """
    gather(X, inverse, rows, feature, values)
    n = n_left = left_mass = 0
    for r in range(values.shape[0]):  # no `if`, since the processor could not predict the branches
        value = values[r]
        some[n] = r
        n += ((value <= low) != is_left[label[r]]) | ((value > low) & (value < high))
        n_left += value <= low
    if mass.shape[0]:
        for r in range(values.shape[0]):
            left_mass += mass[r] if values[r] <= low else 0
    return n, n_left, left_mass


@jit
def _correct_excess(
    some, is_left, left, right, distances, rows, label, second, nearest, weight, scale, cap, change
):
    """Correct the excess costs of rows whose two nearest centres lie on the same side of the cut.

    On entry, `change` holds the excess cost of each row in its second nearest centre. This is the
    cost of a separated row if that centre lies on the row's side. Otherwise the row is assigned to
    the nearest centre that lies on its side, and `change` is replaced by the excess cost of that
    centre.

    Parameters
    ----------
    some : int64 array, positions of rows in the node
    is_left : bool array, whether each centre lies on the left side
    left, right : int64 arrays, columns in `distances` of the centres of each side
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
def _interval_changes(values, some, change, label, is_left, low, high):
    """Compute the cost of a cut at `low`, and its changes if the threshold is raised up to `high`.

    On entry `some` holds the positions of the relevant rows and `change` their excess costs. On
    return the first n elements of `some` are the rows inside the interval. The first n elements of
    `change` are the differences in cost when these rows go to the left side.

    Returns
    -------
    n : int, number of rows inside the interval
    cost : int, cost of the cut at `low`
    savable : int, largest possible reduction of `cost` by a larger threshold in the interval
    least, most : float, smallest and largest value of the rows inside the interval
    """
    n = cost = savable = 0
    least, most = np.inf, -np.inf
    for i in range(some.shape[0]):
        r, excess = some[i], change[i]
        value, owned_left = values[r], is_left[label[r]]
        if (value <= low) != owned_left:
            cost += excess
        if low < value < high:
            some[n], change[n] = r, -excess if owned_left else excess
            savable += excess if owned_left else 0
            least, most = min(least, value), max(most, value)
            n += 1
    return n, cost, savable, least, most


@jit
def _try_edge(values, some, change, mass, place, start, span, criterion, discount, table, best):
    """Evaluate the cut at the low edge of an interval and find bins that may contain a better cut.

    The interval is divided into bins of equal width.

    Returns
    -------
    best : (value, feature, threshold)
        The cut at the low edge if it is better than the given cut, else the given cut.
    n_open : int, number of rows in bins that may contain a better cut
    bins : int64 array, the bin of each of these rows, which are moved to the front of `some`
    states : int64 array of shape (n_bins, 4)
        Columns 0 to 2: cost, mass of the rows on the left and number of rows on the left, for a
        threshold just below each bin. Column 3: 1 if the bin may contain a better cut, else 0.
    """
    (feature, j, low, most_left), (cost, left_mass, n_left), n = place, start, some.shape[0]
    total = np.int64(criterion[2]) if criterion[1] > 0.0 else left_mass
    bins, states, n_open = np.zeros(n, np.int64), np.zeros((1, 4), np.int64), 0
    if cost == 0 or n_left <= most_left:
        value = _value(cost, left_mass, left_mass, j, criterion, discount, table)
        if is_better(value, feature, low, best):
            best = (value, feature, low)
    savable, least, most = span
    if n == 0 or _value(cost - savable, left_mass, total, j, criterion, discount, table) > best[0]:
        return best, n_open, bins, states
    states = _bin_sums(values, some, change, mass, least, most, bins)
    for b in range(states.shape[0]):
        own, before = states[b], (cost, left_mass, n_left)
        cost, left_mass, n_left = cost + own[0], left_mass + own[1], n_left + own[2]
        bound = _value(before[0] + own[3], before[1], left_mass, j, criterion, discount, table)
        own[0], own[1], own[2] = before
        own[3] = bound <= best[0]
    for i in range(n):
        some[n_open], change[n_open] = some[i], change[i]
        bins[n_open], is_open = bins[i], states[bins[i], 3]
        n_open += is_open
    return best, n_open, bins, states


@jit
def _bin_sums(values, some, change, mass, least, most, bins):
    """Assign rows to bins of equal width and sum the cost changes of the rows per bin.

    The number of the bin of each row is written to `bins`.

    Returns
    -------
    int64 array of shape (n_bins, 4)
        Per bin: sum of the changes of the cost, mass, number of rows, and sum of the negative
        changes, which gives a lower bound of the cost inside the bin.
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
def _try_inside(
    order, values, change, masses, bins, states, place, criterion, discount, table, best
):
    """Return the best cut at the values of some rows if it is better than `best`, else `best`.

    The rows are those in the bins that may contain a better cut. `order` sorts their values, and
    `states` holds the cost, mass and number of rows before each bin; see :func:`_try_edge`.
    """
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
            value = _value(cost, left_mass, left_mass, j, criterion, discount, table)
            if is_better(value, feature, values[i], best):
                best = (value, feature, values[i])
    return best


@jit
def optimal_search_tree(places, separated, power):
    """Find the binary search tree over some centres that minimizes a weighted sum of extents.

    The sum is that of separated[j] * diam(j) ** power over the nodes j of the search tree.

    This is equation 4 of Laber & Murtinho (2021), solved by dynamic programming over ranges of
    centres. Each node of the search tree is a cut between two neighbouring centres: node j
    separates centre j from centre j + 1. diam(j) is the largest minus the smallest coordinate of
    the centres that reach node j. The function takes O(c ** 3) time and O(c ** 2) memory.

    Knuth's speed-up to O(c ** 2) does not apply. It searches the root of a range between the roots
    of the two ranges that are shorter by one. That requires a weight of the range that does not
    depend on its root. Here the weight is separated[j] of the root j. A counterexample are places
    0, 1, 4, 7, 8 with weights 1, 5, 5, 4 and power 1: the shorter ranges have the roots 1 and 2,
    the whole range has the root 0. Knuth's restriction gives 63 instead of 62.

    Parameters
    ----------
    places : float64 array of shape (c,), not decreasing
        Coordinates of the centres. Centres in the same place are not separated.
    separated : array of shape (c - 1,), at least 0
        Cost of the rows that the cut between centres j and j + 1 separates from their centres.
    power : int

    Returns
    -------
    cost : float64 array of shape (c, c)
        Entry [a, b] is the least sum of a search tree over the centres a..b.
    root : int64 array of shape (c, c)
        Entry [a, b] is the root of the best search tree over the centres a..b. If several roots are
        equally good, it is the lowest one. It is -1 if all these centres have the same coordinate.
    """
    n = places.shape[0]
    cost, root = np.zeros((n, n)), np.full((n, n), -1, np.int64)
    # The transposed `cost`. The loop over j then reads both of its operands along rows, that is,
    # from consecutive memory.
    mirrored = np.zeros((n, n))
    for length in range(1, n):
        for a in range(n - length):
            b = a + length
            if places[a] == places[b]:
                continue
            extent, least, best = (places[b] - places[a]) ** power, np.inf, -1
            for j in range(a, b):
                value = separated[j] * extent + (cost[a, j] + mirrored[b, j + 1])
                if value < least and places[j] < places[j + 1]:
                    least, best = value, j
            cost[a, b] = mirrored[b, a] = least
            root[a, b] = best
    return cost, root
