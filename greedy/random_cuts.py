"""Trees by random cuts between the centres, the best of several: the algorithms with proofs."""

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
from .cuts.random import CutDistribution, blank_tree, draw_tree, tree_costs
from .nodes import quantization_scale


@dataclass(frozen=True)
class CutRule:
    """How the cuts of a published algorithm fall.

    Parameters
    ----------
    objectives : tuple of str
        What it is published for.
    cuts_all_leaves : bool
        A cut is made in every leaf whose centres it parts, else in one.
    spares_near : bool
        No cut parts centres that are nearer than 1 / k^3 of those farthest apart.
    is_bicriteria : bool
        Cuts leave the centres near them to both sides: more leaves than centres.
    """

    objectives: tuple
    cuts_all_leaves: bool = True
    spares_near: bool = False
    is_bicriteria: bool = False


RULES = {
    "random-coordinate": CutRule(("kmedians",)),
    "gamlath": CutRule(("kmeans", "kmedians")),
    "makarychev-shan": CutRule(("kmeans", "kmedians"), spares_near=True),
    "esfandiari": CutRule(("kmedians",), cuts_all_leaves=False),
    "bicriteria": CutRule(("kmeans",), cuts_all_leaves=False, is_bicriteria=True),
}
DEFAULT_RULE = {"kmeans": "gamlath", "kmedians": "random-coordinate"}
_DELTA = 0.5
_AT_ONCE = 2**22  # random numbers held at a time, 32 MB


@dataclass(kw_only=True, eq=False, repr=False)
class RandomCuts(CostTree):
    """Random cuts between the reference centres: the best of several trees.

    The cuts of a tree do not depend on the rows. Of `n_trees` trees that of the least cost with
    the reference centres is kept, ties to the first; the proven bounds are those of the mean of
    one tree's cost, over the cost of the reference.

    ==================== ========= =====================================================
    rule                 objective cuts, source, bound of the mean
    ==================== ========= =====================================================
    "random-coordinate"  kmedians  uniform among all cuts that part centres of some leaf,
                                   made in all these leaves (Makarychev & Shan 2023,
                                   2 ln k + 2; Gupta, Pittu, Svensson & Yuan 2023,
                                   1 + H_{k-1})
    "gamlath"            kmedians  the same cuts (Gamlath, Jia, Polak & Svensson 2021,
                                   O(log^2 k) there, 1 + H_{k-1} since 2023)
    "gamlath"            kmeans    a gap between neighbouring centres of a feature by the
                                   square of its length, in it a density that rises from
                                   both ends (same paper, O(k log^2 k))
    "makarychev-shan"    both      the same cuts, but none that part centres nearer than
                                   1 / k^3 of those farthest apart in a leaf, distances
                                   being lengths of such cuts (Makarychev & Shan 2021,
                                   O(log k log log k) and O(k log k log log k))
    "esfandiari"         kmedians  leaf by leaf, a feature by the extent of the leaf's
                                   centres, then uniform (Esfandiari, Mirrokni &
                                   Narayanan 2022, O(log k log log k)); their algorithm
                                   for k-means is :class:`EMN`
    "bicriteria"         kmeans    leaf by leaf, at a distance from the median centre
                                   whose square is uniform; centres near the cut are kept
                                   on both sides, up to (1 + delta) k leaves (Makarychev &
                                   Shan 2022, O(log^2 k log log k / delta))
    ==================== ========= =====================================================

    Cuts that would part nothing are drawn conditionally instead of again and again, with the
    same result. In "bicriteria" each child has at least one centre less than its parent, and
    nothing more is shared once the leaves are spent: there, (1 + delta) k is the mean number.

    Parameters
    ----------
    rule : {"auto", "random-coordinate", "gamlath", "makarychev-shan", "esfandiari", "bicriteria"}
        "auto", the default, is "gamlath" for k-means and "random-coordinate" for k-medians.
    n_trees : int >= 1, default=100
        Their mean cost is what is proven.
    delta : float in (0, 1), default=None
        "bicriteria" has up to (1 + delta) k leaves; None is 0.5. Others have no use for it.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering and of the cuts.
    n_clusters, objective, reference, standardize, midpoints, n_jobs
        As in :class:`IMM`, like the attributes.

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
        best, at_once = (np.inf, None), max(1, _AT_ONCE // max(space.max_leaves - 1, 1))
        for start in range(0, self.n_trees, at_once):
            numbers = rng.random((min(at_once, self.n_trees - start), space.max_leaves - 1))
            # The only tree needs no cost.
            costs = np.zeros(1) if self.n_trees == 1 else _costs(points, space, numbers)
            if costs.min() < best[0]:
                best = (costs.min(), numbers[costs.argmin()])
        return _growth(space, best[1])


def cut_space(positions, rule, objective, delta=None):
    """Where the cuts of a rule fall between some centres.

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
        If the rule is not one of the objective's, or has no use for `delta`.
    """
    name = DEFAULT_RULE[objective] if rule == "auto" else rule
    chosen, n_centers = RULES[name], len(positions)
    if objective not in chosen.objectives:
        known = ", ".join(other for other in RULES if objective in RULES[other].objectives)
        raise ValueError(f"rule={name!r} is not one of objective={objective!r}, which are {known}.")
    if delta is not None and not chosen.is_bicriteria:
        raise ValueError(f'delta belongs to rule="bicriteria", not to rule={name!r}.')
    delta = _DELTA if delta is None else delta
    max_leaves = int((1 + delta) * n_centers) if chosen.is_bicriteria else n_centers
    order = np.argsort(positions, axis=0, kind="stable")
    edges = np.take_along_axis(positions, order, axis=0).T
    gaps = np.diff(edges) / (np.ptp(positions, axis=0).max() or 1.0)
    is_triangular = objective == "kmeans"
    length = np.maximum(gaps**2 if is_triangular else gaps, np.where(gaps > 0, 1e-300, 0.0))
    apart = np.empty((0, 0))
    if chosen.spares_near:
        places = np.zeros_like(edges)
        places[:, 1:] = np.cumsum(length, axis=1)
        places = np.take_along_axis(places, np.argsort(order.T, axis=1), axis=1).T
        apart = cdist(places, places, "cityblock")
    share = min(delta / (15 * np.log(max(n_centers, 2))), 1 / 384)
    # Contiguous for any k and d: of another layout, kernels would be compiled again.
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
    """Cost of each tree with the reference centres, whole numbers."""
    rows, weight = points.rows, points.weight
    scale, cap = quantization_scale(weight @ points.distance_range, len(rows), np.inf)
    terms = (points.distances, points.nearest, weight, scale, cap)
    n_places = len(points.inverse_index(rows))
    parts = np.array_split(numbers, min(points.n_jobs, len(numbers)))

    def costs(part):
        return tree_costs(points.columns, space, part, rows, n_places, terms)

    return np.concatenate(map_in_threads(costs, parts, len(parts)))


def _growth(space, numbers):
    """The tree of some random numbers as a growth, its cuts in the order in which they fell."""
    tree = blank_tree(space.max_leaves)
    draw_tree(space, numbers, tree)
    growth = Growth()
    growth.add(tree.label[0])
    cut = np.flatnonzero(tree.feature >= 0)
    for node in cut[np.argsort(tree.left[cut])]:
        split = Split.from_feature(int(tree.feature[node]), float(tree.threshold[node]))
        growth.split(int(node), split, tree.label[tree.left[node] + np.arange(2)])
    return growth
