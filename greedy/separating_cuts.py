"""The cut of a node that separates centres at the least cost (IMM, EMN, ExGreedy, ExShallow)."""

from dataclasses import dataclass

import numpy as np

from tao_cluster._utils.jit import jit

from .builder_input import nearest_two
from .cuts import COARSE, bin_sums, first_best, quantization_scale, quantized, search_intervals

_SLACK = 1e-12  # lower bounds are reduced by this fraction, because floats are rounded
_SUMS = 2**15  # number of sums that fit into the processor's cache together


@dataclass(frozen=True, eq=False)
class SeparationNode:
    """A node of m rows and c reference centres, with the cost of separating rows from centres.

    The criterion of a cut is ``unit * cost + factor * expected depth``, to be minimised. The cost
    is the sum of the quantized excess costs of the rows that the cut separates from their centres.
    If `distances` is empty, the excess cost of a row is `excess`. Otherwise the row moves to the
    nearest centre on its own side of the cut, and `excess`, the excess cost of its second nearest
    centre, is only a lower bound.
    """

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the node
    weight: np.ndarray  # (m,) float64, weights of the rows
    label: np.ndarray  # (m,) int64, the centre of each row, as a position in `centers`
    second: np.ndarray  # (m,) int64, second nearest centre of each row
    nearest: np.ndarray  # (m,) float64, distance to the nearest centre of the node
    excess: np.ndarray  # (m,) float64, quantized excess costs
    distances: np.ndarray  # (n, k) float64, cost of each row of X at each centre; may be empty
    center_ids: np.ndarray  # (c,) int64, numbers of the centres (columns of `distances`)
    centers: np.ndarray  # (c, d) float64, coordinates of the centres
    scale: float  # factor by which costs are multiplied before they are rounded
    cap: float  # largest quantized cost of a row
    all_left: bool = True  # whether a cut may send all rows left although centres lie on its right
    is_ratio: bool = False  # whether costs are divided by the smaller number of centres of a side
    factor: float = 0.0  # weight of the expected depth
    unit: float = 1.0
    mass: np.ndarray | None = None  # (m,) float64, quantized weights; None if the factor is 0
    used: np.ndarray | None = None  # (2, d) bool, [0, f] ([1, f]): the path goes left (right) at f
    above: np.ndarray | None = None  # (d, c, c + 2), the result of :func:`weight_above`, if known

    @property
    def is_too_coarse(self):
        """Whether the quantized excess cost of some row has too large a rounding error."""
        return bool((self.excess < COARSE * np.maximum(self.weight, 1.0)).any())

    def criterion(self, cost, n_left, features, low=None, high=None):
        """Return the criterion of some cuts, or lower bounds of it.

        Parameters
        ----------
        cost : float64 array of shape (F, J), costs of J cuts per feature
        n_left : int array of shape (J,), number of centres on the left of these cuts
        features : int array of shape (F,)
        low, high : float64 arrays of shape (F, J)
            Smallest and largest possible mass of the rows on the left; not used if the factor is 0.
            If the two differ, the result is a lower bound.
        """
        c, value = len(self.centers), cost * self.unit
        if self.is_ratio:
            # Dividing, instead of multiplying by the inverse, gives equal floats for equal ratios.
            value /= np.minimum(n_left, c - n_left)
        if self.factor > 0:
            total = self.mass.sum()
            if total > 0:
                low, high = low / total, high / total
            else:  # without rows, use the fraction of the centres
                low = high = np.tile(n_left / c, (len(features), 1))
            depth = np.empty(cost.shape)
            _expected_depths(
                low, high, n_left, c, self.used[:, features].astype(float, order="C"), depth
            )
            value += self.factor * depth
            value -= np.where(low < high, _SLACK * np.abs(value), 0.0)
        return value


def separation_node(
    points, rows, centers, keep_labels, factor=0.0, path=(), cost_bound=np.inf, **options
):
    """Return a node with the costs of separating its rows from its centres.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
    centers : int64 array, increasing
    keep_labels : bool
        True (IMM and EMN): the rows keep their labels, which are among `centers`, and a row that a
        cut separates from its centre costs its weight. False (ExGreedy and ExShallow): a row
        belongs to its nearest centre.
    factor : float, weight of the expected depth
    path : sequence of (feature, is_left), branches from the root to the node
    cost_bound : float, optional
        Upper bound of the cost of the best cut; see :func:`greedy.cuts.refined_cap`.
    **options
        The fields `all_left`, `is_ratio` and `above` of the result.

    Returns
    -------
    SeparationNode
    """
    weight = points.weight[rows]
    if keep_labels:
        label = second = _positions(points, rows, centers)
        nearest, distances = weight, np.empty((0, 0))
        gap, largest_sum = np.ones(len(rows)), weight.sum()
    else:
        label, second, nearest, gap, most = nearest_two(points.distances, rows, centers)
        distances, largest_sum = points.distances, weight @ most
    scale, cap = quantization_scale(largest_sum, len(rows), cost_bound)
    if factor > 0:
        weight_scale, _ = quantization_scale(weight.sum(), len(rows))
        used = np.zeros((2, points.n_features), bool)
        for feature, is_left in path:
            used[0 if is_left else 1, feature] = True
        mass = quantized(np.ones(len(rows)), weight_scale, weight, np.inf)
        # The unit turns costs into shares of the cost of the rows at their nearest centres. That
        # cost counts as at least one quantization unit.
        unit = 1.0 / max(scale * (weight @ nearest), 1.0)
        options |= {"factor": float(factor), "unit": unit, "mass": mass, "used": used}
    terms = (weight, label, second, nearest, quantized(gap, scale, weight, cap), distances)
    return SeparationNode(rows, *terms, centers, points.centers[centers], scale, cap, **options)


def weight_above(points, rows, centers):
    """Return the weight of the rows of each label above each centre, for every feature.

    The result for some of the centres is a part of that for all centres. Therefore it is computed
    once for all rows. Each node takes its part and subtracts the weight of the rows that the cut
    above it has dropped.

    Parameters
    ----------
    points : BuilderInput
        Its weights are integers, so that sums and differences are exact.
    rows : int64 array, rows with labels among `centers`
    centers : int64 array of shape (c,), increasing

    Returns
    -------
    float64 array of shape (d, c, c + 2)
        Element [f, i, j] is the weight of the rows with the label centers[i] whose value of feature
        f is larger than that of the centre centers[j]; in the last columns, larger than the two
        numbers of ``points.frequent``.
    """
    inverse, weight = points.inverse_index(rows), points.weight[rows][:, None]
    label = _positions(points, rows, centers)

    def search(lo, hi):
        places = np.hstack([points.centers[centers, lo:hi].T, points.frequent[lo:hi]])
        args = (points, rows, inverse, np.arange(lo, hi), places, weight, label, len(centers))
        return _sums_above(*args)[..., 0]

    return np.concatenate(points.over_features(search))


def _positions(points, rows, centers):
    """Return the positions of the labels of some rows among some centres."""
    return np.searchsorted(centers, np.arange(len(points.centers)))[points.labels[rows]]


def _sums_above(points, rows, inverse, features, places, terms, label, n_labels):
    """Sum terms of the rows of each label above J places of F features: array (F, labels, J, q)."""
    order = np.argsort(places, axis=1)
    args = (points, rows, inverse, features, np.take_along_axis(places, order, axis=1), terms)
    sums = bin_sums(*args, group=label, n_groups=n_labels)
    above = np.cumsum(sums[:, :, :0:-1], axis=2)[:, :, ::-1]
    return np.take_along_axis(above, np.argsort(order, axis=1)[:, None, :, None], axis=2)


def separating_cut(points, inverse, node, lo, hi):
    """Find the best cut among those that separate some centres of a node, over features lo..hi-1.

    The edges of a feature are the sorted coordinates of the c centres. A cut at a threshold in
    [edge j, edge j + 1) leaves centres 0..j, in the order of the feature, on the left. A larger
    threshold in this interval can reduce the cost at edge j at most by the costs of the rows inside
    that belong to the left. For m rows, the sums take O(m c) time per feature (O(m log c) for many
    centres) and O(c ** 2) time per feature.

    Parameters
    ----------
    points : BuilderInput
    inverse : int64 array, inverse index of `node.rows`
    node : SeparationNode
    lo, hi : int

    Returns
    -------
    (value, feature, threshold); the feature is -1 if no cut separates two centres
    """
    coordinates, features = node.centers[:, lo:hi].T, np.arange(lo, hi)
    order = np.argsort(coordinates, axis=1, kind="stable")
    rank, edges = np.argsort(order, axis=1), np.take_along_axis(coordinates, order, axis=1)
    cost, savable, mass = edge_sums(points, inverse, node, edges, rank, lo)
    n_left, column = np.arange(1, edges.shape[1]), points.kept_column(node.rows)
    bounds = node.criterion(cost - savable, n_left, features, mass[:, :-1], mass[:, 1:])
    bounds[edges[:, :-1] == edges[:, 1:]] = np.inf

    def search(i, j, most):
        # A cut that costs more than `limit` has a criterion above `most`, in spite of rounding.
        parts = min(j + 1, len(node.centers) - j - 1) if node.is_ratio else 1
        further = (most - bounds[i, j] + _SLACK * abs(most)) * parts / node.unit
        limit = cost[i, j] - savable[i, j] + further
        terms = (edges[i], rank[i], limit, mass[i, j])
        return _cut_between_edges(node, column(lo + i), lo + i, j, *terms)

    return search_intervals(bounds, features, (np.inf, -1, np.inf), search)


def edge_sums(points, inverse, node, edges, rank, lo):
    """Sum the excess costs of the rows at every edge j of the features lo, lo + 1, and so on.

    The last edge is not evaluated, since no centres lie on its right.

    Parameters
    ----------
    edges : float64 array of shape (F, c), thresholds in increasing order
    rank : int64 array of shape (F, c), position of each centre, sorted by the feature

    Returns
    -------
    cost : float64 array of shape (F, c - 1)
        Excess costs of the rows that the cut at edge j separates from their centres.
    savable : float64 array of shape (F, c - 1)
        The largest reduction of `cost` that a threshold between edges j and j + 1 can achieve.
    mass : float64 array of shape (F, c)
        Mass of the rows up to edge j; zeros if the node has no masses.
    """
    (n_features, c), terms = edges.shape, node.excess[:, None]
    if node.mass is not None:
        terms = np.column_stack([node.excess, node.mass])
    cost, savable = np.zeros((2, n_features, c - 1))
    mass, width = np.zeros((n_features, c)), max(1, _SUMS // (c + 1) ** 2)
    totals = np.bincount(node.label, node.excess, c)
    order = np.hstack([np.argsort(rank, axis=1), np.tile([c, c + 1], (n_features, 1))])
    for start in range(0, n_features, width):
        some = np.arange(start, min(start + width, n_features))
        edge, frequent = edges[some], points.frequent[lo + some]
        # above[f, l, j] is the sum over the rows of label l whose value of feature f is above edge
        # j. The cut at an edge separates two kinds of rows from their centres: rows above the edge
        # whose centre is on the left, and the other rows whose centre is on the right.
        if node.above is None:
            args = (points, node.rows, inverse, lo + some, np.hstack([edge, frequent]), terms)
            sums = _sums_above(*args, node.label, c)
            above, mass[some] = sums[..., 0], (terms.sum(axis=0) - sums.sum(axis=1))[:, :c, -1]
        else:
            above = np.take_along_axis(node.above[lo + some], order[some, None], 2) * node.scale
        is_left, at_edge = rank[some][:, :, None] <= np.arange(c - 1), above[:, :, : c - 1]
        cost[some] = np.where(is_left, at_edge, totals[:, None] - at_edge).sum(axis=1)
        savable[some] = np.where(is_left, at_edge - above[:, :, 1:c], 0).sum(axis=1)
        # The rows with the frequent value of an interval are all on the same side.
        equal = above[:, :, c] - above[:, :, c + 1]
        left, value = np.where(is_left, equal[:, :, None], 0).sum(axis=1), frequent[:, 1:]
        least = np.minimum(left, equal.sum(axis=1)[:, None] - left)
        savable[some] -= np.where((edge[:, :-1] < value) & (value <= edge[:, 1:]), least, 0)
    return cost, savable, mass


def _cut_between_edges(node, values, feature, j, edges, rank, most, mass):
    """Return the best cut of a feature with a threshold in [edges[j], edges[j + 1]).

    `most` is the cost above which a cut is not the best, and `mass` that of the rows up to edge j.
    If no cut costs at most that much, the result is no cut, with feature -1.
    """
    low, places, change = edges[j], np.empty(len(values) + 1, np.int64), np.empty(len(values))
    centers = node.center_ids[np.argsort(rank)]
    others = (node.second, node.nearest, node.weight, node.rows, node.distances, centers)
    args = ((node.label, node.excess), others, (node.scale, node.cap, most, j + 1), places, change)
    n, n_left, cost = _costs_between(values, low, edges[j + 1], rank <= j, *args)
    order = np.argsort(values[places[::-1][:n]])  # in any order if equal, as sums are exact
    places, cost = places[::-1][order], np.cumsum(np.append(cost, change[order]))
    thresholds = np.append(low, values[places])
    is_cut = cost <= most
    is_cut[:-1] &= thresholds[1:] != thresholds[:-1]
    if not node.all_left:  # a row must stay on the right, unless no row is parted from its centre
        is_cut &= (cost == 0) | (n_left + np.arange(len(cost)) < len(values))
    some = np.flatnonzero(is_cut)
    if len(some) == 0:
        return np.inf, -1, np.inf
    masses = cost if node.mass is None else np.cumsum(np.append(mass, node.mass[places]))
    terms = (np.full(len(some), j + 1), np.array([feature]), masses[None, some], masses[None, some])
    return first_best(node.criterion(cost[None, some], *terms)[0], feature, thresholds[some])


@jit
def _costs_between(values, low, high, is_left, own, others, unit, places, change):
    """Find the rows inside the interval (low, high), and what they change in the cost of a cut.

    Only the rows inside and those that a cut at `low` separates from their centres are looked at.
    The excess cost of such a row is `excess` if it keeps its label (`distances` has no rows) or if
    its second nearest centre lies on the other side than its nearest centre. Otherwise the row
    moves to the nearest centre of the other side.

    Returns
    -------
    n_inside : int
        Number of rows inside. Their positions are written to the end of `places` (which has one
        element more than there are rows), from the last element on, and to `change` by how much the
        cost grows when each goes left. It is 0 if all cuts in the interval cost more than `most`.
    n_left : int, number of rows whose value is at most `low`
    cost : float, cost of the cut at `low`; above `most` if all cuts in the interval cost more
    """
    second, nearest, weight, rows, distances, centers = others
    (label, excess), (scale, cap, most, n_below) = own, unit
    last, n, n_inside, n_left, total = values.shape[0], 0, 0, 0, 0.0
    for r in range(last):  # no `if`, since the processor could not predict the branches
        value = values[r]
        is_inside = (value > low) & (value < high)
        places[n] = r
        n += ((value <= low) != is_left[label[r]]) & (not is_inside)
        places[last - n_inside] = r
        n_inside += is_inside
        n_left += value <= low
    for i in range(n + n_inside):
        r = places[i] if i < n else places[last - i + n]
        goes_left, cost = is_left[label[r]], excess[r]
        if distances.shape[0] and is_left[second[r]] == goes_left:
            least, row = np.inf, rows[r]
            for c in range(n_below if goes_left else 0, centers.shape[0] if goes_left else n_below):
                least = min(least, distances[row, centers[c]])
            cost = min(np.rint(np.rint((least - nearest[r]) * scale) * weight[r]), cap)
        if i >= n:
            change[i - n] = -cost if goes_left else cost
        if i < n or goes_left:
            total += cost
        if i < n and total > most:  # these rows are separated by all cuts in the interval
            return 0, n_left, total
    return n_inside, n_left, total


@jit
def _expected_depths(low, high, n_left, n_centers, used, out):
    """Write the estimated average leaf depth (WAD) of J cuts for each of F features to `out`.

    The algorithms are EvalWAD and EvalDExp of Laber, Murtinho & Oliveira (2023), algorithms 2 and
    3. WAD is the weighted average depth of the leaves below the node of the cut. The estimate
    assumes that every further node divides its rows and centres in the proportions of this cut. The
    number of centres is rounded: of K centres the left side gets ceil(K n_left / n_centers), at
    least 1 and at most K - 1.

    Parameters
    ----------
    low, high : float64 arrays of shape (F, J)
        Range of the fraction of the rows that go left. If low < high, the result is a lower bound
        for all fractions in this range.
    n_left : int array of shape (J,), number of centres on the left
    n_centers : int, number of centres in the node
    used : float64 array of shape (2, F)
        used[0, f] is 1 if the left branch makes an earlier condition on the path redundant, else 0;
        used[1, f] is the same for the right branch.
    out : float64 array of shape (F, J)
    """
    table = np.empty(n_centers + 1)
    for f in range(out.shape[0]):
        for j in range(out.shape[1]):
            table[1] = 0.0
            for k in range(2, n_centers + 1):
                k_left = min(max((k * n_left[j] + n_centers - 1) // n_centers, 1), k - 1)
                left, right = table[k_left], table[k - k_left]
                if k == n_centers:
                    left, right = left - used[0, f], right - used[1, f]
                at_low = low[f, j] * left + (1.0 - low[f, j]) * right
                at_high = high[f, j] * left + (1.0 - high[f, j]) * right
                table[k] = 1.0 + min(at_low, at_high)  # linear in the fraction: least at an end
            out[f, j] = table[n_centers]
