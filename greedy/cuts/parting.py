"""Kernels for the best cut of a node that parts its reference centres."""

import numpy as np

from tao_cluster._utils.jit import jit

from .sums import gather, parting_sums

_BIN = 16  # rows a bin, about, of those between two edges
_SLACK = 1e-12  # sums of floats are rounded: their bounds are lowered by this share


@jit
def _price(excess, scale, weight, cap):
    """Weighted excess as a whole number; whole weights multiply it exactly."""
    return np.int64(min(np.rint(np.rint(excess * scale) * weight), cap))


@jit
def prices(excess, scale, weight, cap):
    """What rows pay, as whole numbers.

    Parameters
    ----------
    excess : float64 array of shape (m,), increase of the cost
    scale : float, power of two
    weight : float64 array of shape (m,)
    cap : float, largest price

    Returns
    -------
    int64 array of shape (m,)
    """
    out = np.empty(excess.shape[0], np.int64)
    for r in range(out.shape[0]):
        out[r] = _price(excess[r], scale, weight[r], cap)
    return out


@jit
def is_better(value, feature, threshold, best):
    """Whether a cut comes before the best one (value, feature, threshold)."""
    if value != best[0]:
        return value < best[0]
    return feature < best[1] or (feature == best[1] and threshold < best[2])


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
def _depth_term(mass_low, mass_high, j, n_centers, feature, depth, table):
    """The part of a cut's value that its depth makes, least over a range of the left mass."""
    low = high = (j + 1) / n_centers  # a node without rows: as the centres
    if depth.total_mass > 0:
        low, high = mass_low / depth.total_mass, mass_high / depth.total_mass
    discount = (np.float64(depth.used[0, feature]), np.float64(depth.used[1, feature]))
    return depth.factor * expected_depth(low, high, j + 1, n_centers, discount, table)


@jit
def _counted(price, j, n_centers, depth):
    """What a price, a whole number, counts for where j + 1 centres are on the left."""
    value = price * depth.unit
    # Divided, not multiplied by an inverse: so that equal ratios are equal numbers.
    return value / min(j + 1, n_centers - j - 1) if depth.is_ratio else value


@jit
def _sort_centers(positions, lo, hi):
    """Centres in the order of each feature (ties by number), their ranks and values."""
    shape = (hi - lo, positions.shape[0])
    order, rank, edges = np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape)
    for f in range(hi - lo):
        for c in range(shape[1]):
            value, at = positions[c, lo + f], c
            while at > 0 and edges[f, at - 1] > value:
                edges[f, at], order[f, at] = edges[f, at - 1], order[f, at - 1]
                at -= 1
            edges[f, at], order[f, at] = value, c
        for c in range(shape[1]):
            rank[f, order[f, c]] = c
    return order, rank, edges


@jit
def _pay_on_far_side(some, j, order, rank, node, out):
    """What some rows pay on the side of edge j that their own centre is not on."""
    label, second, price = node.label, node.second, node.price
    distances, nearest, centers = node.distances, node.nearest, node.centers
    for i in range(some.shape[0]):
        r = some[i]
        owned_left = rank[label[r]] <= j
        if distances.shape[1] == 0 or (rank[second[r]] <= j) != owned_left:
            out[i] = price[r]
            continue
        row, least = node.rows[r], np.inf
        start, stop = (j + 1, order.shape[0]) if owned_left else (0, j + 1)
        for c in range(start, stop):
            least = min(least, distances[row, centers[order[c]]])
        out[i] = _price(least - nearest[r], node.scale, node.weight[row], node.cap)


@jit
def _is_allowed(n_left, cost, node):
    """Whether some rows stay on the right, or none is parted, or it does not matter."""
    return node.all_left or cost == 0 or n_left < node.rows.shape[0]


@jit
def _concerned(values, low, high, owned_left, node, out):
    """Rows between `low` and `high`, and, if their cost is not known, those parted at `low`.

    Returns how many there are, how many rows are not above `low`, and their mass.
    """
    n, n_left, mass = 0, 0, 0
    for r in range(values.shape[0]):  # no branches: they are hard to predict
        n_left += values[r] <= low
    if node.distances.shape[1] == 0:
        for r in range(values.shape[0]):
            out[n] = r
            n += (values[r] > low) & (values[r] < high)
        return n, n_left, mass
    for r in range(values.shape[0]):
        out[n] = r
        is_parted = (values[r] <= low) != owned_left[node.label[r]]
        n += is_parted | ((values[r] > low) & (values[r] < high))
    if node.mass.shape[0]:
        for r in range(values.shape[0]):
            mass += node.mass[r] if values[r] <= low else 0
    return n, n_left, mass


@jit
def _try_segment(values, feature, j, cost, edges, order, rank, node, depth, scratch, best):
    """Best cut with a threshold in [edges[j], edges[j + 1]), or `best`.

    `cost` is what the rows parted at edges[j] pay, if prices are fixed.
    """
    rows, change, table = scratch
    n_centers = edges.shape[0]
    n, n_left, mass = _concerned(values, edges[j], edges[j + 1], rank <= j, node, rows)
    _pay_on_far_side(rows[:n], j, order, rank, node, change)
    has_prices, n_inside, saving = node.distances.shape[1] == 0, 0, 0
    cost = cost if has_prices else 0
    label = node.label
    for i in range(n):
        r, price = rows[i], change[i]
        goes_left, owned_left = values[r] <= edges[j], rank[label[r]] <= j
        if goes_left != owned_left and not has_prices:
            cost += price
        if not goes_left and values[r] < edges[j + 1]:  # what it changes to move it to the left
            rows[n_inside], change[n_inside] = r, -price if owned_left else price
            saving += price if owned_left else 0
            n_inside += 1
    value = _counted(cost, j, n_centers, depth)
    bound = _counted(cost - saving, j, n_centers, depth)
    if depth.factor > 0.0:
        value += _depth_term(mass, mass, j, n_centers, feature, depth, table)
        bound += _depth_term(mass, depth.total_mass, j, n_centers, feature, depth, table)
        bound -= _SLACK * abs(bound)
    if _is_allowed(n_left, cost, node) and is_better(value, feature, edges[j], best):
        best = (value, feature, edges[j])
    if n_inside == 0 or bound > best[0]:
        return best
    at = (feature, j, n_centers)
    state = (cost, n_left, mass)
    return _try_inside(values, at, state, rows[:n_inside], change, node, depth, table, best)


@jit
def _try_inside(values, at, state, rows, change, node, depth, table, best):
    """Best cut at the value of one of `rows`, or `best`, from the state at the edge below.

    The rows are dealt to bins of equal width, and only those are sorted whose bound is good.
    """
    inside = values[rows]
    low, width = inside.min(), inside.max() - inside.min()
    n_bins = max(1, rows.shape[0] // _BIN) if width > 0 else 1
    bin_of = np.empty(rows.shape[0], np.int64)
    first = np.zeros(n_bins + 2, np.int64)
    for i in range(rows.shape[0]):
        bin_of[i] = min(np.int64((inside[i] - low) / width * n_bins), n_bins - 1) if width else 0
        first[bin_of[i] + 2] += 1
    for b in range(2, n_bins + 2):
        first[b] += first[b - 1]
    order = np.empty(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        order[first[bin_of[i] + 1]] = i
        first[bin_of[i] + 1] += 1
    cost, n_left, mass = state
    has_mass = node.mass.shape[0] > 0
    for b in range(n_bins):
        members = order[first[b] : first[b + 1]]
        least, total, weight = cost, 0, 0
        for i in members:
            least += min(change[i], 0)
            total += change[i]
            weight += node.mass[rows[i]] if has_mass else 0
        bound = _counted(least, at[1], at[2], depth)
        if has_mass:
            bound += _depth_term(mass, mass + weight, at[1], at[2], at[0], depth, table)
            bound -= _SLACK * abs(bound)
        if members.shape[0] and bound <= best[0]:
            sorted_ = members[np.argsort(inside[members], kind="mergesort")]
            start = (cost, n_left, mass)
            best = _try_sorted(inside, sorted_, at, start, rows, change, node, depth, table, best)
        cost, n_left, mass = cost + total, n_left + members.shape[0], mass + weight
    return best


@jit
def _try_sorted(inside, order, at, state, rows, change, node, depth, table, best):
    """Best cut at one of the values inside[order], which increase, or `best`."""
    feature, j, n_centers = at
    cost, n_left, mass = state
    for k in range(order.shape[0]):
        i = order[k]
        cost += change[i]
        if node.mass.shape[0]:
            mass += node.mass[rows[i]]
        if k + 1 < order.shape[0] and inside[order[k + 1]] == inside[i]:
            continue
        value = _counted(cost, j, n_centers, depth)
        if depth.factor > 0.0 and value <= best[0]:
            value += _depth_term(mass, mass, j, n_centers, feature, depth, table)
        is_cut = _is_allowed(n_left + k + 1, cost, node)
        if is_cut and is_better(value, feature, inside[i], best):
            best = (value, feature, inside[i])
    return best


@jit
def _bounds(feature, edges, cost, gain, right, depth, table, out):
    """Lower bounds of the value in each segment of a feature; inf where no cut is."""
    n_centers = edges.shape[0]
    out[:] = np.inf
    for j in range(n_centers - 1):
        if edges[j] == edges[j + 1]:
            continue
        out[j] = _counted(cost[j] - gain[j], j, n_centers, depth)
        if depth.factor > 0.0:
            low, high = depth.total_mass - right[j], depth.total_mass - right[j + 1]
            out[j] += _depth_term(low, high, j, n_centers, feature, depth, table)
            out[j] -= _SLACK * abs(out[j])


@jit
def _best_edge(feature, edges, order, cost, node, depth, best):
    """Best cut at the edges of a feature, or `best`, where their costs are exact.

    An edge that may have no rows above it is left to `_try_segment`.
    """
    above = node.price.sum()  # of the rows whose centres are above the edge
    for j in range(edges.shape[0] - 1):
        first, stop = node.first[order[j]], node.first[order[j] + 1]
        above -= node.price[first:stop].sum()
        if edges[j] == edges[j + 1] or (not node.all_left and cost[j] == above > 0):
            continue
        value = _counted(cost[j], j, edges.shape[0], depth)
        if is_better(value, feature, edges[j], best):
            best = (value, feature, edges[j])
    return best


@jit
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
    order, rank, edges = _sort_centers(node.positions, lo, hi)
    n_features, n_centers = edges.shape
    cost, gain = np.zeros(edges.shape, np.int64), np.zeros(edges.shape, np.int64)
    right = np.zeros((n_features, n_centers if depth.factor > 0.0 else 0), np.int64)
    parting_sums(X, slot, node, edges, rank, lo, cost, gain, right)

    table, bound = np.empty(n_centers + 1), np.empty(edges.shape)
    best = (np.inf, np.int64(-1), np.inf)
    least = np.empty(n_features)
    for f in range(n_features):
        _bounds(lo + f, edges[f], cost[f], gain[f], right[f], depth, table, bound[f])
        least[f] = bound[f].min()
        if node.distances.shape[1] == 0:  # then the costs at the edges are exact
            best = _best_edge(lo + f, edges[f], order[f], cost[f], node, depth, best)
    n_rows = node.rows.shape[0]
    values = np.empty(n_rows)
    scratch = (np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64), table)
    for f in np.argsort(least, kind="mergesort"):
        if least[f] > best[0] or least[f] == np.inf:
            break
        if least[f] == best[0] and lo + f > best[1]:
            continue
        gather(X, lo + f, node.rows, slot, values)
        for j in np.argsort(bound[f], kind="mergesort"):
            if bound[f, j] <= best[0] and bound[f, j] < np.inf:
                best = _try_segment(
                    values,
                    lo + f,
                    j,
                    cost[f, j],
                    edges[f],
                    order[f],
                    rank[f],
                    node,
                    depth,
                    scratch,
                    best,
                )
    return best
