"""Ex-SingleLink: clusters with a large spacing, each cut with the largest one that it can leave."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from tao_cluster.objectives import Edges, Spacing, SpannedRows
from tao_cluster.problem.problem import Result
from tao_cluster.tree.growth import Growth

from .base import GreedyTree, Method
from .builder_input import BuilderInput
from .cuts import spacing_cut
from .growth import Cut, grow


@dataclass(kw_only=True, eq=False, repr=False)
class ExSingleLink(GreedyTree):
    """Ex-SingleLink: clusters that are far from each other.

    What counts is the spacing, the least Euclidean distance between rows of different clusters,
    which is largest for single linkage, the free clustering. A cost is one over it. Weights do
    not matter, but that rows of weight 0 are absent.

    A leaf with rows of several clusters of single linkage is cut where the spacing between the
    sides is largest, ties to the lowest feature and threshold, and the leaf with the largest such
    spacing comes first, until there are as many leaves as clusters. The spacing is then at least
    the largest possible one over n - k (Laber & Murtinho 2021, algorithm 3 and lemma 8). Leaves
    have the numbers of clusters of single linkage that share as many rows with them as possible;
    these are numbered by their first rows.

    Parameters
    ----------
    n_clusters : int, default=8
    standardize, midpoints, n_jobs
        As in :class:`IMM`.
    random_state : ignored
        Nothing is random; all methods have it.

    Attributes
    ----------
    spacing_, free_spacing_ : float
        Spacing of `labels_` and of `free_labels_`, on standardised columns with
        ``standardize=True``; inf for one cluster.
    inertia_, free_inertia_ : float
        One over these.
    cost_increase_ : float
        Percent by which the price of explainability, `free_spacing_` over `spacing_`, exceeds 1.
    cluster_centers_, free_centers_ : arrays of shape (n_clusters, m)
        Means of the clusters, to look at.
    tree_, labels_, free_labels_, ...
        As of :class:`IMM`. In `free_labels_` a row of weight 0 has the cluster of the nearest mean.

    Notes
    -----
    The first minimum spanning tree takes O(n^2 d) time for n distinct rows, about ten
    seconds for 20 000 rows of 16 columns. After a cut, distances are measured between the parts
    alone into which it divides the tree of a side. Memory beside X: O(n), and two copies of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExSingleLink
    >>> model = ExSingleLink(3).fit(load_iris().data)
    >>> round(model.free_spacing_, 3), round(model.spacing_, 3)
    (0.819, 0.819)
    """

    reference: Any = field(default=None, init=False)  # no parameter: single linkage

    def _method(self):
        return Method(Spacing(), self._fit_tree)

    def _grow(self, points, random_state):
        return part_spanned(points, SpannedRows(points.X))

    def _fit_tree(self, problem):
        """The tree of the growth, and the spacings."""
        labels, weight = problem.free.labels, problem.weight
        points = BuilderInput.from_labels(problem.X, labels, weight, self.n_jobs)
        found = self._result(part_spanned(points, problem.data), points)
        leaves = found.leaves(problem, points.n_jobs)

        def spacing(labels):
            squared = problem.objective.squared_spacing(problem.data, labels, weight)
            return float(np.sqrt(squared))

        spacings = {
            "spacing_": spacing(found.tree.leaf_label[leaves]),
            "free_spacing_": spacing(labels),
        }
        return Result(found.tree, found.attributes | spacings, leaves)


def part_spanned(points, data):
    """Growth of the widest cuts; see :class:`ExSingleLink`.

    Parameters
    ----------
    points : BuilderInput
        Their labels are those of single linkage.
    data : SpannedRows, the same rows where distances are measured
    """
    rule, growth = WidestCuts(points, data), Growth()
    leaves = {growth.add(): Linked(points.rows, data, data.edges)}
    n_clusters = len(np.unique(points.labels))
    grow(growth, leaves, rule, n_clusters)
    nodes, shared = sorted(leaves), np.zeros((len(leaves), points.labels.max() + 1))
    for place, node in enumerate(nodes):
        rows = leaves[node].rows
        np.add.at(shared[place], points.labels[rows], points.weight[rows])
    for place, label in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        growth.label[nodes[place]] = int(label)
    return growth


@dataclass(frozen=True, eq=False)
class Linked:
    """Rows (int64 array, increasing) and what is left of the spanning tree above them."""

    rows: np.ndarray
    data: SpannedRows
    forest: Edges

    label = 0  # found when all leaves are there

    @cached_property
    def edges(self):
        """Their minimum spanning tree."""
        if len(self.forest.squared) == len(self.rows) - 1:
            return self.forest
        return self.data.join(self.rows, self.forest)


@dataclass(frozen=True, eq=False)
class WidestCuts:
    """Cut a leaf with rows of several clusters where the spacing is largest.

    Parameters
    ----------
    points : BuilderInput
    data : SpannedRows
    """

    points: BuilderInput
    data: SpannedRows

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`: the spacing is not known before the search."""
        labels = self.points.labels[leaf.rows]
        return np.inf if (labels != labels[0]).any() else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if the rows are equal in X."""
        place = np.empty(self.points.X.shape[0], np.int64)
        place[leaf.rows] = np.arange(len(leaf.rows))
        terms = (leaf.rows, place[leaf.edges.ends], leaf.edges.squared)
        best = self.points.best_cut(spacing_cut, self.points.inverse_index(leaf.rows), *terms)
        return best and Cut(best[1], best[2], -best[0])

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        is_left = np.zeros(self.points.X.shape[0], bool)
        is_left[leaf.rows] = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        sides = is_left[leaf.edges.ends]
        return (
            Linked(leaf.rows[is_left[leaf.rows]], self.data, leaf.edges.some(sides.all(axis=1))),
            Linked(leaf.rows[~is_left[leaf.rows]], self.data, leaf.edges.some(~sides.any(axis=1))),
        )
