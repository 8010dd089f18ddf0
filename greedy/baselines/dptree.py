"""DPTree: one leaf per centre, from the optimal search trees of single features."""

import itertools
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tao_cluster.tree.tree import midpoint

from ..base import CostTree
from ..builder_input import BuilderInput
from ..growth import Cut, grown
from ..separating_cuts import edge_sums, separation_node

# The cost of a row that a cut separates from its centre is bounded by the diameter of the centres
# of the node to this power (lemma 3 and inequality 15 of the paper).
POWERS = {"kmeans": 2, "kmedians": 1}


@dataclass(eq=False, repr=False)
class DPTree(CostTree):
    """DPTree: one leaf per cluster, with cuts from the optimal search trees of single features.

    Use it for data of few columns if a proven bound matters: with the reference centres, the tree
    costs at most 1 + 4 d log2 k times the reference for k-medians, and at most
    1 + 4 d k log2 k times for k-means (Laber & Murtinho 2021, theorems 3 and 4).

    For a feature i, sort the centres by their coordinate. T_j is the weight of the rows that the
    cut halfway between neighbouring centres j and j + 1 separates from their centre. Dynamic
    programming finds the search tree D_i over the sorted centres that minimises
    sum_j T_j diam(j), or sum_j T_j diam(j)^2 for k-means. Here diam(j) is the extent, in feature i,
    of the centres that reach the node of D_i with cut j. A node of the decision tree is cut in
    the feature in which its centres lie farthest apart (ties: the lowest), by the first node of
    D_i that separates them (sections 3 and 4.1, algorithm 2). Each centre gets one leaf, as the
    algorithm prescribes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, which is also the number of leaves.
    midpoints : bool, default=True
        Whether to put thresholds halfway between the values of rows and centres on their two
        sides. Otherwise they lie halfway between two centres, as in the paper.
    n_jobs : int, default=None
        Number of threads that route rows. The search itself uses one thread.
    objective, reference, standardize, ties, min_samples_leaf, random_state
        As in :class:`IMM`. The attributes, errors and memory are also those of :class:`IMM`.

    Notes
    -----
    The time is O(min(d, k) (n k + k^3)), since search trees are built only for features that cut
    some node, at most k - 1 of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import DPTree
    >>> float(round(DPTree(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    4.88
    """

    def _grow(self, points, random_state):
        rule = CutBySearchTrees(points, POWERS[self.objective])
        return grown(rule, Centers(np.arange(len(points.centers))))[0]


@dataclass(frozen=True, eq=False)
class Centers:
    """Reference centres in the cell of a leaf: an increasing int64 array."""

    centers: np.ndarray

    @property
    def label(self):
        """Label of the leaf: the lowest of its centres."""
        return self.centers[0]


@dataclass(frozen=True, eq=False)
class SearchTree:
    """The optimal search tree over the centres, sorted by one feature.

    Parameters
    ----------
    edges : list of k - 1 floats
        Thresholds between centres that are neighbours in the feature of this tree.
    rank : int64 array of shape (k,)
        Position of each centre in the order of its coordinate; equal centres keep their order.
    root : int64 array of shape (k, k)
        ``root[a, b]`` is the number, in `edges`, of the first cut of the centres at positions
        a..b, or -1 if they coincide.
    """

    edges: list
    rank: np.ndarray
    root: np.ndarray

    def cut_of(self, centers):
        """Return the threshold of the first node, from the root, that separates given centres.

        The centres must not all coincide in the feature of this tree.
        """
        rank = self.rank[centers]
        low, high, first, last = rank.min(), rank.max(), 0, len(self.rank) - 1
        while True:
            edge = self.root[first, last]
            if high <= edge:
                last = edge
            elif low > edge:
                first = edge + 1
            else:
                return self.edges[edge]


@dataclass(frozen=True, eq=False)
class CutBySearchTrees:
    """Rule of growth: cut by the search tree of the feature with the largest extent of centres.

    Parameters
    ----------
    points : BuilderInput
    power : int
        Power of the diameters in the cost of a search tree.
    """

    points: BuilderInput
    power: int
    # The SearchTree of each feature, by feature number. It is built when it is first needed.
    trees: dict = field(default_factory=dict)

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf for several centres, else 0."""
        return np.inf if len(leaf.centers) > 1 else 0.0

    def search(self, leaf):
        """Return the cut of the search tree, or None if the centres of the leaf coincide."""
        places = self.points.centers[leaf.centers]
        extent = places.max(axis=0) - places.min(axis=0)
        feature = int(extent.argmax())
        if not extent[feature] > 0:
            return None
        if feature not in self.trees:
            self.trees[feature] = self._tree(feature)
        return Cut(feature, self.trees[feature].cut_of(leaf.centers), np.inf)

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the centres of a leaf."""
        is_left = self.points.centers[leaf.centers, cut.feature] <= cut.threshold
        return Centers(leaf.centers[is_left]), Centers(leaf.centers[~is_left])

    @cached_property
    def _node(self):
        """SeparationNode of all rows and all centres, the input of the kernel."""
        every = np.arange(len(self.points.centers))
        return separation_node(self.points, self.points.rows, every, keep_labels=True)

    def _tree(self, feature):
        """Build the optimal search tree of a feature."""
        points, node = self.points, self._node
        order = np.argsort(points.centers[:, feature], kind="stable")
        places = points.centers[order, feature]
        rank = np.argsort(order)
        edges = np.append(_between(places), places[-1])
        inverse = points.inverse_index(node.rows)
        parted = edge_sums(points, inverse, node, edges[None], rank[None], feature)[0][0]
        # `parted` has integers and the scale is a power of two, so that the division is exact.
        root = optimal_search_tree(places, parted / node.scale, self.power)
        return SearchTree(edges[:-1].tolist(), rank, root)


def _between(places):
    """Return the midpoint between each sorted coordinate and the next one: float64 array."""
    return np.array(
        [midpoint(low, high) if low < high else low for low, high in itertools.pairwise(places)]
    )


def optimal_search_tree(places, separated, power):
    """Find the binary search tree over some centres that minimises a weighted sum of extents.

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
    separated : float64 array of shape (c - 1,), at least 0
        Cost of the rows that the cut between centres j and j + 1 separates from their centres.
    power : int

    Returns
    -------
    root : int64 array of shape (c, c)
        Entry [a, b] is the root of the best search tree over the centres a..b. If several roots are
        equally good, it is the lowest one. It is -1 if all these centres have the same coordinate.
    """
    n = len(places)
    cost, root = np.zeros((n, n)), np.full((n, n), -1, np.int64)
    separated = np.where(places[:-1] < places[1:], separated, np.inf)
    for length in range(1, n):
        for a in range(n - length):
            b = a + length
            if places[a] < places[b]:
                weight = separated[a:b] * (places[b] - places[a]) ** power
                values = weight + (cost[a, a:b] + cost[a + 1 : b + 1, b])
                root[a, b] = a + values.argmin()
                cost[a, b] = values.min()
    return root
