"""Ex-SingleLink: clusters with a large spacing between them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tao_cluster.objectives import Edges, Spacing, SpannedRows
from tao_cluster.problem.problem import Result

from ..base import GreedyTree, Method
from ..builder_input import BuilderInput, clipped
from ..growth import Cut, grown
from .leaf_clusters import matched_labels


@dataclass(kw_only=True, eq=False, repr=False)
class ExSingleLink(GreedyTree):
    """Ex-SingleLink: a tree whose clusters are far from each other.

    Use it if clusters should be separated by gaps, as in single linkage. The spacing is the
    smallest Euclidean distance between rows of different clusters. Single linkage has the largest
    possible spacing and is the free clustering, so that there is no `reference`. The cost is 1
    divided by the spacing. Weights have no effect, except that rows of weight 0 are ignored.

    A leaf with rows of several clusters of single linkage is cut where the spacing between its
    sides is largest (ties: lowest feature, then lowest threshold). The leaf with the largest such
    spacing is cut next, until there are as many leaves as clusters. The spacing is then at least
    the largest possible one divided by n - k (Laber & Murtinho 2021, algorithm 3 and lemma 8).
    The clusters of single linkage are numbered by their first rows. Leaves get these numbers
    such that as many rows as possible agree.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, which is also the number of leaves.
    standardize, midpoints, ties, min_samples_leaf, n_jobs
        As in :class:`IMM`.
    random_state : ignored
        Nothing is random. The parameter exists since all other methods have it.

    Attributes
    ----------
    spacing_, free_spacing_ : float
        Spacing of `labels_` and of `free_labels_`, in the units of X, or in standard deviations
        with ``standardize=True``; inf for one cluster.
    inertia_, free_inertia_ : float
        1 divided by these spacings.
    cost_increase_ : float
        Percentage by which `free_spacing_` exceeds `spacing_`.
    cluster_centers_, free_centers_ : arrays of shape (n_clusters, m)
        Means of the clusters. They describe the clusters, but have no effect on the tree.
    tree_, labels_, free_labels_, ...
        As in :class:`IMM`. In `free_labels_`, a row of weight 0 has the cluster of the nearest
        mean.

    Notes
    -----
    Let n be the number of distinct rows:

    ================ ===============================================================
    time             O(n^2 d) for the first minimum spanning tree: about ten seconds
                     for 20 000 rows of 16 columns; less after each cut
    memory beside X  two copies of X, and O(n)
    ================ ===============================================================

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExSingleLink
    >>> model = ExSingleLink(3).fit(load_iris().data)
    >>> round(model.free_spacing_, 3), round(model.spacing_, 3)
    (0.819, 0.819)
    """

    # Not a parameter: single linkage is always used.
    reference: Any = field(default=None, init=False)

    keeps_labels = True
    sees_centers = False

    def _method(self):
        return Method(Spacing(), self._fit_tree)

    def _grow(self, points, random_state):
        return separate_spanned(points, SpannedRows(points.X))

    def _fit_tree(self, problem):
        """Return the tree, with `spacing_` and `free_spacing_` among its attributes."""
        points, weight = self._points(problem), problem.weight
        found = self._result(separate_spanned(points, problem.data), points)
        leaves = found.leaves(problem, points.n_jobs)

        def spacing(labels):
            squared = problem.objective.squared_spacing(problem.data, labels, weight)
            return float(np.sqrt(squared))

        spacings = {
            "spacing_": spacing(found.tree.leaf_label[leaves]),
            "free_spacing_": spacing(problem.free.labels),
        }
        return Result(found.tree, found.attributes | spacings, leaves)


def separate_spanned(points, data):
    """Grow the tree of :class:`ExSingleLink`.

    Parameters
    ----------
    points : BuilderInput
        The labels are those of single linkage.
    data : SpannedRows
        The same rows in the space of the distances.
    """
    root, n_clusters = SpannedLeaf(points.rows, data, data.edges), len(np.unique(points.labels))
    growth, leaves = grown(WidestCuts(points, data), root, n_clusters)
    rows_of = {node: leaves[node].rows for node in sorted(leaves)}
    for node, label in matched_labels(points, rows_of, np.arange(len(leaves))).items():
        growth.label[node] = label
    return growth


@dataclass(frozen=True, eq=False)
class SpannedLeaf:
    """Rows of a leaf (increasing int64 array) and their minimum spanning tree.

    `forest` holds the edges of the parent leaf's spanning tree that join two of these rows.
    """

    rows: np.ndarray
    data: SpannedRows
    forest: Edges

    label = 0  # unused; separate_spanned sets the labels of the tree

    @cached_property
    def edges(self):
        """Edges of the minimum spanning tree of the rows, computed at first use."""
        if len(self.forest.squared) == len(self.rows) - 1:
            return self.forest
        return self.data.join(self.rows, self.forest)


@dataclass(frozen=True, eq=False)
class WidestCuts:
    """Rule of growth: cut a leaf with rows of several clusters where the spacing is largest.

    Parameters
    ----------
    points : BuilderInput
    data : SpannedRows
    """

    points: BuilderInput
    data: SpannedRows

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf for several clusters, else 0."""
        labels = self.points.labels[leaf.rows]
        return np.inf if (labels != labels[0]).any() else 0.0

    def search(self, leaf):
        """Return the cut with the largest spacing, or None if all rows are equal in X."""
        points = clipped(self.points, leaf.rows)
        if points is None:
            return None
        place = np.empty(points.X.shape[0], np.int64)
        place[leaf.rows] = np.arange(len(leaf.rows))
        ends = place[leaf.edges.ends]

        def search(lo, hi):
            return min(widest(feature) for feature in range(lo, hi))

        def widest(feature):
            values, rank = np.unique(points.column(leaf.rows, feature), return_inverse=True)
            if len(values) < 2:
                return np.inf, -1, np.inf
            spacing = spacings(rank[ends], leaf.edges.squared, len(values) - 1)
            gap = int(spacing.argmax())
            return -float(spacing[gap]), feature, float(values[gap])

        best = points.best_cut(search)
        return best and Cut(best[1], best[2], -best[0])

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the rows of a leaf."""
        is_left = np.zeros(self.points.X.shape[0], bool)
        is_left[leaf.rows] = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        ends = is_left[leaf.edges.ends]
        sides = (is_left, ends.all(axis=1)), (~is_left, ~ends.any(axis=1))
        return tuple(
            SpannedLeaf(leaf.rows[side[leaf.rows]], self.data, leaf.edges.some(is_within))
            for side, is_within in sides
        )


def spacings(ends, squared, n_gaps):
    """Return the squared spacing of the cut in each gap between the distinct values of a feature.

    The spacing is the least distance between a row on the left and a row on the right. It is always
    the length of an edge of the minimum spanning tree: of the shortest edge that crosses the gap.

    Parameters
    ----------
    ends : int array of shape (number of edges, 2)
        Numbers of the distinct values at the ends of each edge of the minimum spanning tree. Gap g
        lies between the distinct values g and g + 1.
    squared : float64 array, squared lengths of the edges
    n_gaps : int
    """
    low, high = ends.min(axis=1), ends.max(axis=1)
    crosses = low < high
    low, high, squared = low[crosses], high[crosses], squared[crosses]
    # An edge crosses high - low gaps. Two overlapping ranges of 2 ** level gaps cover them, with
    # the largest possible level. From the highest level on, each range passes its least length on
    # to its two halves; those of level 0 are the gaps.
    level = np.frexp(high - low)[1] - 1
    least = np.full(n_gaps, np.inf)
    for size in 2 ** np.arange(level.max(initial=0), -1, -1):
        some = 2**level == size
        np.minimum.at(least, low[some], squared[some])
        np.minimum.at(least, high[some] - size, squared[some])
        if size > 1:
            half = size // 2
            halved = least.copy()
            halved[half:] = np.minimum(halved[half:], least[:-half])
            least = halved
    return least
