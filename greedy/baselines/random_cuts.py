"""RandomCuts: the best of several trees with random cuts between the centres."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster._utils.jit import by_layout, jit
from tao_cluster._utils.threads import map_in_threads
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth

from ..base import POSITIVE, CostTree
from ..cuts import quantization_scale


@dataclass(frozen=True)
class CutRule:
    """Distribution of the random cuts of a published algorithm.

    Parameters
    ----------
    objectives : tuple of str
        The objectives that the algorithm is published for.
    cuts_all_leaves : bool
        Whether a cut is made in every leaf whose centres it separates, instead of one.
    keeps_close_centers : bool
        Whether no cut separates centres that are closer than 1 / k^3 of the largest distance.
    is_bicriteria : bool
        Whether centres near a cut are kept on both sides, which gives more leaves than centres.
    """

    objectives: tuple
    cuts_all_leaves: bool = True
    keeps_close_centers: bool = False
    is_bicriteria: bool = False


RULES = {
    "random-coordinate": CutRule(("kmedians",)),
    "gamlath": CutRule(("kmeans", "kmedians")),
    "makarychev-shan": CutRule(("kmeans", "kmedians"), keeps_close_centers=True),
    "esfandiari": CutRule(("kmedians",), cuts_all_leaves=False),
    "bicriteria": CutRule(("kmeans",), cuts_all_leaves=False, is_bicriteria=True),
}
DEFAULT_RULE = {"kmeans": "gamlath", "kmedians": "random-coordinate"}
_DELTA = 0.5
_MAX_NUMBERS = 2**22  # maximum number of random numbers in memory at a time: 32 MB


@dataclass(kw_only=True, eq=False, repr=False)
class RandomCuts(CostTree):
    """RandomCuts: the best of several trees with random cuts between the reference centres.

    Use it to reproduce the algorithms with the best proven bounds. In practice :class:`IMM` and
    :class:`ExGreedy`, which look at the rows, cost less.

    The cuts of a tree depend on the centres only, not on the rows. Of `n_trees` random trees, the
    one of smallest cost with the reference centres is kept (ties: the first). The published
    bounds hold for the mean cost of a random tree, divided by the cost of the reference. Each
    centre gets one leaf, as the algorithms prescribe, even if no row reaches it; only
    "bicriteria" may have more leaves.

    ==================== ========= =====================================================
    rule                 objective distribution of the cuts, source, bound of the mean
    ==================== ========= =====================================================
    "random-coordinate"  kmedians  A cut is uniform among all cuts that separate centres
                                   of some leaf, and is made in all these leaves
                                   (Makarychev & Shan 2023: 2 ln k + 2; Gupta, Pittu,
                                   Svensson & Yuan 2023: 1 + H_{k-1}).
    "gamlath"            kmedians  The same cuts (Gamlath, Jia, Polak & Svensson 2021:
                                   O(log^2 k); since 2023: 1 + H_{k-1}).
    "gamlath"            kmeans    A gap between neighbouring centres of a feature has a
                                   probability proportional to its squared length. The
                                   density within it rises from both ends (same paper:
                                   O(k log^2 k)).
    "makarychev-shan"    both      As "gamlath", but no cut separates centres of a leaf
                                   closer than 1 / k^3 of its largest distance. Distances
                                   are total lengths of separating cuts (Makarychev &
                                   Shan 2021: O(log k log log k) for k-medians,
                                   O(k log k log log k) for k-means).
    "esfandiari"         kmedians  Leaf by leaf: a feature has a probability proportional
                                   to the extent of the leaf's centres; the cut is uniform
                                   in it (Esfandiari, Mirrokni & Narayanan 2022:
                                   O(log k log log k)). Their algorithm for k-means is
                                   :class:`EMN`.
    "bicriteria"         kmeans    Leaf by leaf: the square of the distance between the
                                   cut and the median centre is uniform. Centres near the
                                   cut are kept on both sides, for up to (1 + delta) k
                                   leaves (Makarychev & Shan 2022:
                                   O(log^2 k log log k / delta)).
    ==================== ========= =====================================================

    The published algorithms discard cuts that separate nothing and draw again; here cuts are
    drawn from the conditional distribution, which gives the same result. In "bicriteria", each
    child has at least one centre less than its parent, and no further centre is kept on both
    sides once the limit of leaves is reached. In the paper, (1 + delta) k is the mean number of
    leaves instead of a limit.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    rule : {"auto", "random-coordinate", "gamlath", "makarychev-shan", "esfandiari", "bicriteria"}
        The algorithm. "auto", the default, is "gamlath" for k-means and "random-coordinate" for
        k-medians.
    n_trees : int >= 1, default=100
        Number of random trees of which the best is kept.
    delta : float in (0, 1), default=None
        Share of additional leaves of ``rule="bicriteria"``; None means 0.5. Other rules raise an
        error if it is given.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering and of the cuts.
    objective, reference, standardize, midpoints, ties, min_samples_leaf, n_jobs
        As in :class:`IMM`. The attributes and memory are also those of :class:`IMM`. Cuts with a
        side smaller than `min_samples_leaf` are removed after the draw.

    Raises
    ------
    ValueError
        If the rule does not support the objective, or `delta` is given with another rule than
        "bicriteria". Others as in :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import RandomCuts
    >>> RandomCuts(3, n_trees=50, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    rule: str = "auto"
    n_trees: int = 100
    delta: float | None = None

    deterministic = False

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "rule": [StrOptions({"auto", *RULES})],
        "n_trees": [POSITIVE],
        "delta": [None, Interval(Real, 0, 1, closed="neither")],
    }

    def _grow(self, points, random_state):
        space = cut_space(points.centers, self.rule, self.objective, self.delta)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        best, n_at_once = (np.inf, None), max(1, _MAX_NUMBERS // max(space.max_leaves - 1, 1))
        for start in range(0, self.n_trees, n_at_once):
            numbers = rng.random((min(n_at_once, self.n_trees - start), space.max_leaves - 1))
            # A single tree is the best one whatever its cost, which is therefore not computed.
            costs = np.zeros(1) if self.n_trees == 1 else _costs(points, space, numbers)
            if costs.min() < best[0]:
                best = (costs.min(), numbers[costs.argmin()])
        return _growth(space, best[1])


def cut_space(positions, rule, objective, delta=None):
    """Return the distribution of a rule's cuts between some centres.

    Parameters
    ----------
    positions : float64 array of shape (k, d)
    rule, objective, delta
        As in :class:`RandomCuts`.

    Returns
    -------
    CutDistribution

    Raises
    ------
    ValueError
        If the rule does not support the objective or does not use `delta`.
    """
    name = DEFAULT_RULE[objective] if rule == "auto" else rule
    chosen, n_centers = RULES[name], len(positions)
    if objective not in chosen.objectives:
        known = ", ".join(other for other in RULES if objective in RULES[other].objectives)
        raise ValueError(
            f"rule={name!r} does not support objective={objective!r}; "
            f"the rules that do are {known}."
        )
    if delta is not None and not chosen.is_bicriteria:
        raise ValueError(
            f'delta={delta} applies to rule="bicriteria" only, not to rule={name!r}; '
            "set delta=None."
        )
    delta = _DELTA if delta is None else delta
    max_leaves = int((1 + delta) * n_centers) if chosen.is_bicriteria else n_centers
    order = np.argsort(positions, axis=0, kind="stable")
    edges = np.take_along_axis(positions, order, axis=0).T
    gaps = np.diff(edges) / (np.ptp(positions, axis=0).max() or 1.0)
    is_triangular = objective == "kmeans"
    length = np.maximum(gaps**2 if is_triangular else gaps, np.where(gaps > 0, 1e-300, 0.0))
    apart = np.empty((0, 0))
    if chosen.keeps_close_centers:
        places = np.zeros_like(edges)
        places[:, 1:] = np.cumsum(length, axis=1)
        places = np.take_along_axis(places, np.argsort(order.T, axis=1), axis=1).T
        apart = cdist(places, places, "cityblock")
    share = min(delta / (15 * np.log(max(n_centers, 2))), 1 / 384)
    # Arrays of another memory layout would make numba compile the kernels again.
    return CutDistribution(
        order=np.ascontiguousarray(order.T),
        rank=np.ascontiguousarray(np.argsort(order.T, axis=1)),
        edges=np.ascontiguousarray(edges),
        length=np.ascontiguousarray(length),
        is_triangular=is_triangular,
        cuts_all_leaves=chosen.cuts_all_leaves,
        pair_lengths=apart,
        overlap=share if chosen.is_bicriteria else -1.0,
        max_leaves=max_leaves,
    )


def _costs(points, space, numbers):
    """Return the quantized costs, with the reference centres, of several random trees.

    Each row of `numbers` has the random numbers of one tree.
    """
    rows, weight = points.rows, points.weight
    scale, cap = quantization_scale(weight @ points.distance_range, len(rows))
    terms = (points.distances, points.nearest, weight, scale, cap)
    n_places = len(points.inverse_index(rows))
    parts = np.array_split(numbers, min(points.n_jobs, len(numbers)))

    def costs(part):
        return tree_costs(points.columns, space, part, rows, n_places, terms)

    return np.concatenate(map_in_threads(costs, parts, len(parts)))


def _growth(space, numbers):
    """Return the tree that random numbers determine, as a Growth with cuts in the order drawn."""
    tree = blank_tree(space.max_leaves)
    draw_tree(space, numbers, tree)
    growth = Growth()
    growth.add(tree.label[0])
    cut = np.flatnonzero(tree.feature >= 0)
    for node in cut[np.argsort(tree.left[cut])]:
        split = Split.from_feature(int(tree.feature[node]), float(tree.threshold[node]))
        growth.split(int(node), split, tree.label[tree.left[node] + np.arange(2)])
    return growth


# ---------------------------------------------------------------- kernels
# They draw no random numbers. The caller draws an array of numbers in [0, 1), one number per cut,
# and this array determines the tree. So the result does not depend on the number of threads.


class CutDistribution(NamedTuple):
    """Distribution of random cuts over the gaps between neighbouring centres, in d features.

    On the axis of each feature, the k centres have k - 1 gaps between neighbouring coordinates. A
    cut falls into a gap with a probability proportional to its element of `length`. The position of
    the cut in the gap is uniform or has a triangular density, which rises linearly from both ends
    of the gap to its middle.
    """

    # (d, k) int64. Row f holds the numbers of the centres, sorted by their coordinate of feature f.
    order: np.ndarray
    # (d, k) int64. Element [f, c] is the position of centre c in row f of `order`.
    rank: np.ndarray
    # (d, k) float64. Row f holds the sorted coordinates of the centres of feature f.
    edges: np.ndarray
    length: np.ndarray  # (d, k - 1) float64, relative probability of a cut in each gap
    is_triangular: bool  # whether the density inside a gap is triangular, else it is uniform
    # Whether a cut splits every leaf whose centres it separates, else only one of them.
    cuts_all_leaves: bool
    # (k, k) float64, distances between centres. The rule of Makarychev & Shan uses them to find
    # pairs of close centres, which a cut must not separate. Empty for other rules.
    pair_lengths: np.ndarray
    # Under the bi-criteria rule, a centre goes to both sides if its distance from the cut is at
    # most `overlap` times the distance of the cut from the median centre. Negative for other rules.
    overlap: float
    max_leaves: int


class DrawnTree(NamedTuple):
    """Arrays of a tree with up to 2 max_leaves - 1 nodes, one element of each array per node."""

    feature: np.ndarray  # int64, number of the tested feature, -1 at a leaf
    threshold: np.ndarray  # float64, arbitrary at a leaf
    left: np.ndarray  # int64, the left child, -1 at a leaf; the right child is the node left + 1
    label: np.ndarray  # int64, lowest number of the centres in the node


def blank_tree(max_leaves):
    """Allocate the arrays of a tree with up to `max_leaves` leaves."""
    n = 2 * max_leaves - 1
    return DrawnTree(
        np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    )


@jit
def _pick(lengths, target):
    """Return the first index j where the cumulative sum of `lengths` exceeds a target.

    The second result is the target minus the sum of the lengths before j.
    """
    last = -1
    for j in range(lengths.shape[0]):
        if lengths[j] > 0.0:
            last = j
            if target < lengths[j]:
                return j, target
            target -= lengths[j]
    return last, lengths[last]  # rounding made the target as large as the sum of all lengths


@jit
def _near_pairs(apart, leaf, active):
    """Return the close pairs of centres that no cut may separate (Makarychev & Shan 2021).

    Only pairs of centres in the same leaf count. A pair is close if its distance is positive and at
    most D / k ** 3, for k centres. D is the largest distance between two centres of the leaf
    `active` or, if `active` is negative, between two centres of any one leaf.
    """
    n, n_pairs, widest = leaf.shape[0], 0, 0.0
    pairs = np.empty((n * (n - 1) // 2 if apart.shape[0] else 0, 2), np.int64)
    for a in range(apart.shape[0]):
        for b in range(a):
            if leaf[a] == leaf[b] and (active < 0 or leaf[a] == active):
                widest = max(widest, apart[a, b])
    for a in range(apart.shape[0]):
        for b in range(a):
            if leaf[a] == leaf[b] and 0.0 < apart[a, b] <= widest / n**3:
                pairs[n_pairs] = a, b
                n_pairs += 1
    return pairs[:n_pairs]


@jit
def _open_gaps(space, f, leaf, size, active, pairs, seen, out):
    """Write the length of each gap of a feature, 0 if no cut may fall into it, and return the sum.

    `f` is the feature, and `out` receives the lengths. A cut must separate two centres of the leaf
    `active` or, if `active` is negative, of any leaf, and it must not separate any of the `pairs`.
    `size` is the number of centres in each node, and `seen` is a workspace.
    """
    seen[:] = 0
    n_open = 0
    for j in range(out.shape[0]):
        at = leaf[space.order[f, j]]
        if size[at] > 1 and (active < 0 or at == active):
            seen[at] += 1
            n_open += (seen[at] == 1) - np.int64(seen[at] == size[at])
        out[j] = space.length[f, j] if n_open > 0 else 0.0
    for p in range(pairs.shape[0]):
        a, b = space.rank[f, pairs[p, 0]], space.rank[f, pairs[p, 1]]
        out[min(a, b) : max(a, b)] = 0.0
    return out.sum()


@jit
def _draw_cut(space, number, leaf, size, active, scratch):
    """Return the cut (feature, threshold) for a number in [0, 1); feature -1 if no cut is possible.

    The kernel lays the gaps of all features end to end. `number` is a position on this line, as a
    fraction of its total length. It determines the feature, the gap and the place in the gap.
    """
    seen, gaps, lengths = scratch
    pairs = _near_pairs(space.pair_lengths, leaf, active)
    for f in range(lengths.shape[0]):
        lengths[f] = _open_gaps(space, f, leaf, size, active, pairs, seen, gaps)
    total = lengths.sum()
    if total <= 0.0:
        return -1, 0.0
    f, target = _pick(lengths, number * total)
    _open_gaps(space, f, leaf, size, active, pairs, seen, gaps)
    j, rest = _pick(gaps, target)
    low, high, share = space.edges[f, j], space.edges[f, j + 1], min(rest / gaps[j], 1.0)
    if space.is_triangular:
        share = np.sqrt(share / 2.0) if share < 0.5 else 1.0 - np.sqrt((1.0 - share) / 2.0)
    return f, max(low, min(low + share * (high - low), np.nextafter(high, -np.inf)))


@jit
def _split_leaf(space, tree, node, n_nodes, f, threshold, leaf, size):
    """Split the leaf `node` if the cut separates its centres; return the new number of nodes.

    `leaf` holds the current leaf of each centre, and `size` the number of centres in each node.
    Both are updated.
    """
    n_below = n_above = 0
    for c in range(leaf.shape[0]):
        if leaf[c] == node:
            is_above = space.edges[f, space.rank[f, c]] > threshold
            n_above += is_above
            n_below += not is_above
    if n_below == 0 or n_above == 0:
        return n_nodes
    tree.feature[node], tree.threshold[node], tree.left[node] = f, threshold, n_nodes
    size[n_nodes], size[n_nodes + 1] = n_below, n_above
    for c in range(leaf.shape[0]):
        if leaf[c] == node:
            leaf[c] = n_nodes + np.int64(space.edges[f, space.rank[f, c]] > threshold)
            tree.label[leaf[c]] = min(tree.label[leaf[c]], c)
    return n_nodes + 2


@jit
def _draw_disjoint(space, numbers, tree):
    """Draw a tree with one leaf per group of equal centres; return its number of nodes."""
    n_features, k = space.order.shape
    leaf, size = np.zeros(k, np.int64), np.zeros(2 * k - 1, np.int64)
    scratch = (np.empty(2 * k - 1, np.int64), np.empty(k - 1), np.empty(n_features))
    size[0], tree.label[0], n_nodes, n_cuts, node = k, 0, 1, 0, 0
    while node < n_nodes and n_cuts < numbers.shape[0]:
        active = -1 if space.cuts_all_leaves else node
        f, threshold = -1, 0.0
        if space.cuts_all_leaves or size[node] > 1:
            f, threshold = _draw_cut(space, numbers[n_cuts], leaf, size, active, scratch)
        if f < 0:
            if space.cuts_all_leaves:
                break
            node += 1
            continue
        n_cuts += 1
        if not space.cuts_all_leaves:
            n_nodes = _split_leaf(space, tree, node, n_nodes, f, threshold, leaf, size)
            node += 1
            continue
        for at in range(n_nodes):
            if tree.feature[at] < 0:
                n_nodes = _split_leaf(space, tree, at, n_nodes, f, threshold, leaf, size)
    return n_nodes


@jit
def _draw_from_median(space, number, is_in, lengths):
    """Return a random cut and its distance from the median centre: (feature, threshold, distance).

    This is the bi-criteria rule. Per feature, the median is that of the coordinates of the centres
    in the node. The probability density of a cut is proportional to its distance from the median.
    The range of the cuts is limited such that each child has fewer centres than the node, although
    centres near the cut go to both children. The feature is -1 if all centres are equal.
    """
    n_features, k = space.order.shape
    ends, n_in = np.empty((n_features, 3)), is_in.sum()
    for f in range(n_features):
        n = 0
        for j in range(k):
            if is_in[space.order[f, j]]:
                value = space.edges[f, j]
                if n == 0:
                    ends[f, 0] = value
                if n == (n_in - 1) // 2:
                    ends[f, 1] = value
                ends[f, 2] = value
                n += 1
        middle = ends[f, 1]
        low, high = (ends[f, 0] - middle, ends[f, 2] - middle)
        low, high = low / (1.0 + space.overlap), high / (1.0 + space.overlap)
        lengths[f] = low * low + high * high
    total = lengths.sum()
    if total <= 0.0:
        return -1, 0.0, 0.0
    f, rest = _pick(lengths, number * total)
    low = (ends[f, 0] - ends[f, 1]) / (1.0 + space.overlap)
    away = np.sqrt(rest - low * low) if rest > low * low else -np.sqrt(low * low - rest)
    last = np.nextafter(ends[f, 2], -np.inf)
    return f, max(ends[f, 0], min(ends[f, 1] + away, last)), abs(away)


@jit
def _share(space, tree, node, n_nodes, f, threshold, band, is_in):
    """Split a node; centres at a distance of at most `band` from the cut go to both sides."""
    tree.feature[node], tree.threshold[node], tree.left[node] = f, threshold, n_nodes
    for c in np.flatnonzero(is_in[node]):
        value = space.edges[f, space.rank[f, c]]
        for side in range(2):
            if abs(value - threshold) <= band or (value > threshold) == side:
                is_in[n_nodes + side, c] = True
                tree.label[n_nodes + side] = min(tree.label[n_nodes + side], c)


@jit
def _draw_overlapping(space, numbers, tree):
    """Draw a tree whose cuts send centres close to them to both sides (bi-criteria rule)."""
    n_features, k = space.order.shape
    is_in = np.zeros((2 * space.max_leaves - 1, k), np.bool_)
    is_in[0] = True
    lengths = np.empty(n_features)
    tree.label[0], n_nodes, n_cuts, n_spare, node = 0, 1, 0, space.max_leaves - k, 0
    while node < n_nodes and n_cuts < numbers.shape[0]:
        f, threshold, away = _draw_from_median(space, numbers[n_cuts], is_in[node], lengths)
        if f >= 0:
            n_cuts += 1
            _share(space, tree, node, n_nodes, f, threshold, space.overlap * away, is_in)
            n_more = is_in[n_nodes : n_nodes + 2].sum() - is_in[node].sum()
            if n_more > n_spare:
                # too many leaves: repeat this cut, but send each centre to one side only
                is_in[n_nodes : n_nodes + 2] = False
                tree.label[n_nodes : n_nodes + 2] = k
                _share(space, tree, node, n_nodes, f, threshold, -1.0, is_in)
                n_more = 0
            n_spare -= n_more
            n_nodes += 2
        node += 1
    return n_nodes


@jit
def draw_tree(space, numbers, tree):
    """Write the tree that an array of random numbers determines to `tree`.

    Parameters
    ----------
    space : CutDistribution
    numbers : float64 array of shape (max_leaves - 1,), in [0, 1)
        One number per cut, in the order in which the nodes are split.
    tree : DrawnTree
        Output: the tree.

    Returns
    -------
    int, number of nodes
    """
    tree.feature[:], tree.left[:] = -1, -1
    tree.label[:] = np.iinfo(np.int64).max
    if space.overlap >= 0.0:
        return _draw_overlapping(space, numbers, tree)
    return _draw_disjoint(space, numbers, tree)


def _goes_left_dense(columns, rows, place, lo, feature, threshold, out):
    for i in range(rows.shape[0]):
        out[i] = np.float64(columns[rows[i], feature]) <= threshold


def _goes_left_csc(columns, rows, place, lo, feature, threshold, out):
    data, indices, indptr = columns
    out[: rows.shape[0]] = threshold >= 0.0
    for s in range(indptr[feature], indptr[feature + 1]):
        i = place[indices[s]] - lo
        if 0 <= i < rows.shape[0]:
            out[i] = data[s] <= threshold


# Write to `out` whether each row of a node goes left. One array contains all rows. In it the rows
# of each node are contiguous, and the rows of this node begin at position `lo`. For a sparse X,
# `place` is the position of each row in that array.
_goes_left = by_layout(_goes_left_dense, _goes_left_csc)


@jit
def _cost_of(columns, tree, n_nodes, node_rows, terms):
    """Return the sum of the quantized excess costs of all rows in a tree.

    The rows are partitioned in place, node by node, as in quicksort. So each row is read once per
    level of the tree.

    Parameters
    ----------
    node_rows : (rows, workspace, place, mask)
        `rows` are the row numbers, which are reordered. `workspace` (int64) and `mask` (bool) are
        working arrays of the same length. `place` is the position of each row in `rows` for a
        sparse X, and empty for a dense X.
    terms : see :func:`tree_costs`
    """
    rows, other, place, goes_left = node_rows
    distances, nearest, weight, scale, cap = terms
    first, stop = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    stop[0], total = rows.shape[0], 0.0
    for node in range(n_nodes):
        lo, hi, f = first[node], stop[node], tree.feature[node]
        if f < 0:
            for i in range(lo, hi):
                row, label = rows[i], tree.label[node]
                excess = np.rint((distances[row, label] - nearest[row]) * scale)
                total += min(np.rint(excess * weight[row]), cap)
            continue
        _goes_left(columns, rows[lo:hi], place, lo, f, tree.threshold[node], goes_left)
        n_left = n_right = 0
        for i in range(hi - lo):
            if goes_left[i]:
                rows[lo + n_left] = rows[lo + i]
                n_left += 1
            else:
                other[n_right] = rows[lo + i]
                n_right += 1
        rows[lo + n_left : hi] = other[:n_right]
        if place.shape[0]:
            for i in range(lo, hi):
                place[rows[i]] = i
        left = tree.left[node]
        first[left], stop[left] = lo, lo + n_left
        first[left + 1], stop[left + 1] = lo + n_left, hi
    return total


def tree_costs(columns, space, numbers, rows, n_places, terms):
    """Compute the costs of random trees whose leaves are assigned to reference centres.

    The computation takes O(m) time per level of a tree, for m rows. For a sparse X each decision
    node also reads all stored values of its feature.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    space : CutDistribution
    numbers : float64 array of shape (n_trees, max_leaves - 1), in [0, 1)
        The random numbers of each tree; see :func:`draw_tree`.
    rows : int64 array of shape (m,)
    n_places : int, n for a sparse X, else 0
    terms : (distances (n, k), nearest (n,), weight (n,), scale, cap)
        See :class:`greedy.builder_input.BuilderInput` and
        :func:`greedy.cuts.quantization_scale`.

    Returns
    -------
    float64 array of shape (n_trees,)
        Quantized excess cost of each tree. Divided by ``scale``, this is the increase in cost over
        the assignment of every row to its nearest centre.
    """
    costs, place = np.empty(len(numbers)), np.full(n_places, -1)
    scratch = (rows.copy(), np.empty_like(rows), place, np.empty(len(rows), np.bool_))
    _fill_costs(columns, space, numbers, rows, scratch, blank_tree(space.max_leaves), terms, costs)
    return costs


@jit
def _fill_costs(columns, space, numbers, rows, scratch, tree, terms, costs):
    """Write the result of :func:`tree_costs` for each tree to `costs`."""
    for t in range(costs.shape[0]):
        n_nodes = draw_tree(space, numbers[t], tree)
        for i in range(rows.shape[0]):
            scratch[0][i] = rows[i]
            if scratch[2].shape[0]:
                scratch[2][rows[i]] = i
        costs[t] = _cost_of(columns, tree, n_nodes, scratch, terms)
