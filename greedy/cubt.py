"""CUBT: a tree of least deviance, pruned and joined by dissimilarity, without the reference."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils._param_validation import Interval

from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from .base import POSITIVE, CostTree
from .builder_input import BuilderInput
from .cuts.impurity import DevianceNode, deviance_cut
from .growth import Cut, grow
from .leaf_clusters import deviance, matched_leaf_labels, merge_closest, pruned_growth


@dataclass(kw_only=True, eq=False, repr=False)
class CUBT(CostTree):
    """The baseline: clusters of an unsupervised binary tree, pruned and joined.

    Fraiman, Ghattas & Svarc (2013), in three stages, none of which parts rows by the reference:

    1. leaves are cut where the deviance (squared distances to the mean of a leaf) is least
       after the cut;
    2. two leaves of one node are taken back, the least dissimilar first. Of the distances from
       the rows of one to the nearest row of the other the smallest ones are averaged, the share
       `quantile` of them; the dissimilarity is the larger of the averages of the two sides;
    3. leaves are joined, wherever they are, until there are as many groups as clusters, always
       the two that lose least deviance by it.

    Then the groups get the numbers of the reference's clusters with which they agree best. If the
    first stages end with fewer leaves than clusters, fewer clusters have rows. With an embedding
    it is still X that is clustered.

    Parameters
    ----------
    max_leaves : int, default=None
        Leaves after the pruning (`nleaves` of the authors' program); None is twice the number of
        clusters.
    min_size : float, default=2
        Rows (weight) below which a leaf is not cut (`minsize`).
    min_dev : float in [0, 1], default=0.001
        Least share of the deviance of all rows that a cut saves (`mindev`).
    min_dist : float, default=0
        Leaves of one node that are less dissimilar are taken back, whatever their number
        (`mindist`).
    quantile : float in (0, 1], default=0.2
        Share of the smallest distances that make the dissimilarity (the paper's delta).
    n_clusters : int, default=8
        The authors' `nclass`.
    objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Notes
    -----
    The defaults are ours; the papers look for the best on a grid. Finding a cut takes O(m d) a
    feature and node of m rows, the pruning O(m^2 d) a pair of leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CUBT
    >>> CUBT(3, max_leaves=3, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    max_leaves: int | None = None
    min_size: float = 2
    min_dev: float = 0.001
    min_dist: float = 0.0
    quantile: float = 0.2

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
        "min_size": [Interval(Real, 0, None, closed="left")],
        "min_dev": [Interval(Real, 0, 1, closed="both")],
        "min_dist": [Interval(Real, 0, None, closed="left")],
        "quantile": [Interval(Real, 0, 1, closed="right")],
    }

    def _grow(self, points, random_state):
        n_clusters = len(points.centers)
        rule = CutDeviance.of(points, self.min_size, self.min_dev)
        root = DevianceLeaf.of(points, points.rows)
        growth = Growth()
        leaves = {growth.add(): root}
        grow(growth, leaves, rule, 1 if n_clusters == 1 else None)
        rows_of = {node: leaf.rows for node, leaf in leaves.items()}
        max_leaves = 2 * n_clusters if self.max_leaves is None else self.max_leaves
        rows_of = _pruned(points, growth, rows_of, max_leaves, self.min_dist, self.quantile)
        nodes = sorted(rows_of)
        group, _ = merge_closest([deviance(points, rows_of[node]) for node in nodes], n_clusters)
        label = matched_leaf_labels(points, rows_of, dict(zip(nodes, group, strict=True)))
        return pruned_growth(growth, set(nodes), label, points.n_features)


@dataclass(frozen=True, eq=False)
class DevianceLeaf:
    """Rows, their weight, mean and deviance."""

    rows: np.ndarray
    weight: float
    mean: np.ndarray
    deviance: float
    label: int = 0

    @classmethod
    def of(cls, points, rows):
        """Leaf of some rows."""
        return cls(rows, *deviance(points, rows))


@dataclass(frozen=True, eq=False)
class CutDeviance:
    """Cut the leaf whose cut saves most of the deviance.

    Parameters
    ----------
    points : BuilderInput
    view : X as kernels read its rows
    min_size : float, weight below which a leaf is not cut
    least : float, what a cut must save
    """

    points: BuilderInput
    view: tuple
    min_size: float
    least: float

    @classmethod
    def of(cls, points, min_size, min_dev):
        """The rule, with the user's unit of the weights."""
        _, _, total = deviance(points, points.rows)
        return cls(points, kernel_arrays(points.X), min_size, min_dev * total)

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`."""
        return leaf.deviance if leaf.weight >= self.min_size else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if a cut saves too little."""
        points = self.points
        node = DevianceNode(leaf.rows, points.weight, leaf.weight, leaf.mean, leaf.deviance)
        best = points.best_cut(deviance_cut, self.view, points.inverse_index(leaf.rows), node)
        if best is None:
            return None
        gain = float(np.ldexp(-best[0] * leaf.deviance, -40))
        return Cut(best[1], best[2], gain) if gain >= self.least else None

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        goes_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        return tuple(
            DevianceLeaf.of(self.points, leaf.rows[side]) for side in (goes_left, ~goes_left)
        )


def _pruned(points, growth, rows_of, max_leaves, min_dist, quantile):
    """Rows of the leaves that remain when pairs of leaves of one node are taken back."""
    rows_of, found = dict(rows_of), {}
    while True:
        for node in range(growth.n_nodes):
            children = growth.left[node], growth.right[node]
            if node not in found and all(child in rows_of for child in children):
                found[node] = dissimilarity(points, *map(rows_of.get, children), quantile)
        if not found:
            return rows_of
        node = min(found, key=lambda node: (found[node], node))
        if len(rows_of) <= max_leaves and found[node] >= min_dist:
            return rows_of
        del found[node]
        parts = rows_of.pop(growth.left[node]), rows_of.pop(growth.right[node])
        rows_of[node] = np.sort(np.concatenate(parts))


def dissimilarity(points, rows, others, quantile):
    """Mean of the smallest distances to the nearest row of the other side, the larger of two."""
    return max(
        _mean_of_smallest(points, *pair, quantile) for pair in ((rows, others), (others, rows))
    )


def _mean_of_smallest(points, rows, others, quantile):
    _, nearest = pairwise_distances_argmin_min(points.X[rows], points.X[others])
    order = np.argsort(nearest, kind="stable")
    nearest, weight = nearest[order], points.weight[rows][order]
    most = quantile * weight.sum()
    before = np.cumsum(weight) - weight
    counted = np.clip(most - before, 0, weight)  # the last row may count in part
    return float(counted @ nearest / counted.sum())
