"""RandomCuts: the best of several trees with random cuts between the centres."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster._utils.threads import check_interrupted
from tao_cluster._utils.warnings import InterruptedWarning, warn
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from ..base import POSITIVE, CostTree
from ..cuts import quantization_scale, quantized


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
        space = CutDistribution(points.centers, self.rule, self.objective, self.delta)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        rows, weight, view = points.rows, points.weight[points.rows], kernel_arrays(points.X)
        scale, cap = quantization_scale(points.weight @ points.distance_range, len(rows))
        best, least = None, np.inf
        try:
            for _ in range(self.n_trees):
                check_interrupted()
                growth, cost = space.draw(rng.random(space.max_leaves - 1)), 0.0
                if self.n_trees > 1:  # a single tree is the best one, whatever its cost
                    tree = growth.to_tree(points.n_features)
                    labels = tree.leaf_label[tree.route(view, rows, n_jobs=points.n_jobs)]
                    excess = points.distances[rows, labels] - points.nearest[rows]
                    cost = quantized(excess, scale, weight, cap).sum()
                if cost < least:
                    best, least = growth, cost
        except KeyboardInterrupt:
            if best is None or points.is_initial:
                raise
            warn("Interrupted: the best of the trees so far is kept.", InterruptedWarning)
        return best


class CutDistribution:
    """Distribution of random cuts over the gaps between neighbouring centres, in d features.

    On the axis of each feature, the k centres have k - 1 gaps between neighbouring coordinates. A
    cut falls into a gap with a probability proportional to its element of `length`. The position of
    the cut in the gap is uniform or has a triangular density, which rises linearly from both ends
    of the gap to its middle.

    Parameters
    ----------
    centers : float64 array of shape (k, d)
    rule, objective, delta
        As in :class:`RandomCuts`.

    Raises
    ------
    ValueError
        If the rule does not support the objective or does not use `delta`.

    Attributes
    ----------
    rank : int64 array of shape (d, k)
        Position of each centre in the order of each feature.
    edges : float64 array of shape (d, k), sorted coordinates of the centres in each feature
    length : float64 array of shape (d, k - 1), relative probability of a cut in each gap
    is_triangular : bool
    apart : float64 array of shape (k, k), or None
        Distances between centres. The rule of Makarychev & Shan uses them to find pairs of close
        centres, which a cut must not separate.
    overlap : float
        Under the bi-criteria rule, a centre goes to both sides if its distance from the cut is at
        most `overlap` times the distance of the cut from the median centre.
    max_leaves : int
    """

    def __init__(self, centers, rule, objective, delta=None):
        name = DEFAULT_RULE[objective] if rule == "auto" else rule
        chosen, k = RULES[name], len(centers)
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
        order = np.argsort(centers, axis=0, kind="stable").T
        self.centers, self.rule, self.rank = centers, chosen, np.argsort(order, axis=1)
        self.edges = np.take_along_axis(centers.T, order, axis=1)
        gaps = np.diff(self.edges.T, axis=0).T / (np.ptp(centers, axis=0).max() or 1.0)
        self.is_triangular = objective == "kmeans"
        length = gaps**2 if self.is_triangular else gaps
        self.length = np.maximum(length, np.where(gaps > 0, 1e-300, 0.0))
        self.apart = None
        if chosen.keeps_close_centers:
            places = np.zeros_like(self.edges)
            places[:, 1:] = np.cumsum(self.length, axis=1)
            places = np.take_along_axis(places, self.rank, axis=1).T
            self.apart = cdist(places, places, "cityblock")
        self.overlap = min(delta / (15 * np.log(max(k, 2))), 1 / 384)
        self.max_leaves = int((1 + delta) * k) if chosen.is_bicriteria else k

    def draw(self, numbers):
        """Return the tree that an array of random numbers determines, as a Growth.

        `numbers` has one number in [0, 1) per cut, in the order in which the nodes are split.
        """
        growth, numbers = Growth(), iter(numbers.tolist())
        inside = {growth.add(): np.arange(len(self.centers))}  # the centres in each node
        n_spare, node = self.max_leaves - len(self.centers), 0
        if self.rule.cuts_all_leaves:
            for number in numbers:
                leaves = [node for node in inside if growth.splits[node] is None]
                cut = self._cut([inside[leaf] for leaf in leaves], number)
                if cut is None:
                    break
                for leaf in leaves:
                    self._split(growth, inside, leaf, *cut)
            return growth
        while node < growth.n_nodes:
            if np.ptp(self.centers[inside[node]], axis=0).any():
                number = next(numbers, None)
                if number is None:
                    break
                if not self.rule.is_bicriteria:
                    self._split(growth, inside, node, *self._cut([inside[node]], number))
                else:
                    feature, threshold, away = self._cut_from_median(inside[node], number)
                    terms = (growth, inside, node, feature, threshold, self.overlap * away)
                    n_spare -= self._split(*terms, n_spare)
            node += 1
        return growth

    def _split(self, growth, inside, node, feature, threshold, band=-1.0, n_spare=0):
        """Split a node if the cut separates its centres; return the number of further leaves.

        Centres at a distance of at most `band` from the cut go to both sides, unless this would
        add more than `n_spare` leaves.
        """
        some = inside[node]
        values = self.centers[some, feature]
        near, is_left = np.abs(values - threshold) <= band, values <= threshold
        sides = some[is_left | near], some[~is_left | near]
        n_more = len(sides[0]) + len(sides[1]) - len(some)
        if n_more > n_spare:
            sides, n_more = (some[is_left], some[~is_left]), 0
        if min(map(len, sides)) == 0:
            return 0
        split = Split.from_feature(int(feature), float(threshold))
        children = growth.split(node, split, [side[0] for side in sides])
        inside.update(zip(children, sides, strict=True))
        return n_more

    def _cut(self, leaves, number):
        """Return the cut (feature, threshold) for a number in [0, 1); None if no cut is possible.

        The gaps of all features are laid end to end. `number` is a position on this line, as a
        fraction of its total length. It determines the feature, the gap and the place in the gap.
        A cut must separate two centres of one of the `leaves`, and no close pair.
        """
        features = np.arange(len(self.edges))[:, None]
        starts = np.cumsum([0, *map(len, leaves[:-1])])
        ranks, change = self.rank[:, np.concatenate(leaves)], np.zeros(self.edges.shape, np.int64)
        change[features, np.minimum.reduceat(ranks, starts, axis=1)] += 1
        change[features, np.maximum.reduceat(ranks, starts, axis=1)] -= 1
        lengths = np.where(np.cumsum(change, axis=1)[:, :-1] > 0, self.length, 0.0)
        gaps = np.arange(lengths.shape[1])
        for pair in self._close_pairs(leaves):
            low, high = np.sort(self.rank[:, pair], axis=1).T[:, :, None]
            lengths[(low <= gaps) & (gaps < high)] = 0.0
        per_feature = _sum(lengths.T)
        total = _sum(per_feature)
        if total <= 0.0:
            return None
        feature, target = _pick(per_feature, number * total)
        gap, rest = _pick(lengths[feature], target)
        share = min(rest / lengths[feature, gap], 1.0)
        if self.is_triangular:
            share = np.sqrt(share / 2.0) if share < 0.5 else 1.0 - np.sqrt((1.0 - share) / 2.0)
        low, high = self.edges[feature, gap : gap + 2]
        return feature, max(low, min(low + share * (high - low), np.nextafter(high, -np.inf)))

    def _close_pairs(self, leaves):
        """Return the pairs of centres that no cut may separate (Makarychev & Shan 2021).

        Only pairs of centres in the same leaf count. A pair is close if its distance is positive
        and at most D / k ** 3, for k centres. D is the largest distance between two centres of any
        one leaf.
        """
        if self.apart is None:
            return []
        parts = [(leaf, self.apart[np.ix_(leaf, leaf)]) for leaf in leaves]
        close = max(part.max() for _, part in parts) / len(self.centers) ** 3
        found = ((leaf, np.argwhere((part > 0) & (part <= close))) for leaf, part in parts)
        return [leaf[pair] for leaf, pairs in found for pair in pairs]

    def _cut_from_median(self, some, number):
        """Return a random cut (feature, threshold) and its distance from the median centre.

        This is the bi-criteria rule. Per feature, the median is that of the coordinates of some
        centres. The probability density of a cut is proportional to its distance from the median.
        The range of the cuts is limited such that each child has fewer centres than the node,
        although centres near the cut go to both children.
        """
        values = np.sort(self.centers[some], axis=0)
        first, median, last = values[[0, (len(some) - 1) // 2, -1]]
        low, high = ((end - median) / (1.0 + self.overlap) for end in (first, last))
        lengths = low * low + high * high
        f, rest = _pick(lengths, number * _sum(lengths))
        square = low[f] * low[f]
        away = np.sqrt(rest - square) if rest > square else -np.sqrt(square - rest)
        end = np.nextafter(last[f], -np.inf)
        return f, max(first[f], min(median[f] + away, end)), abs(away)


def _sum(lengths):
    """Return the sum over the first axis in the order of its elements, like :func:`_pick`."""
    return np.add.accumulate(lengths)[-1]


def _pick(lengths, target):
    """Return the first index j where the cumulative sum of `lengths` exceeds a target.

    The second result is the target minus the sum of the lengths before j.
    """
    rest = np.subtract.accumulate(np.append(target, lengths[:-1]))
    found = np.flatnonzero((lengths > 0) & (rest < lengths))
    if len(found):
        return found[0], rest[found[0]]
    last = np.flatnonzero(lengths)[-1]  # rounding made the target as large as the whole sum
    return last, lengths[last]
