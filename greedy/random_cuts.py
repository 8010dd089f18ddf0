"""RandomCuts: the best of several trees with random cuts between the centres."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster._utils.threads import map_in_threads
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth

from .base import POSITIVE, CostTree
from .cuts import quantization_scale
from .random_kernels import CutDistribution, blank_tree, draw_tree, tree_costs


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
