"""DPTree: a tree with a leaf a centre, from the optimal search trees of single features."""

import itertools
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tao_cluster.tree.growth import Growth
from tao_cluster.tree.tree import midpoint

from .base import CostTree
from .builder_input import BuilderInput
from .cuts import mistakes_at_edges, optimal_search_tree
from .growth import Cut, grow
from .nodes import fixed_labels_node

# The power of a diameter that a parted row may pay: Lemma 3 and inequality 15 of the paper.
POWERS = {"kmeans": 2, "kmedians": 1}


class DPTree(CostTree):
    """DPTree: one leaf a cluster, cut by the optimal search trees of single features.

    The tree of Laber & Murtinho (2021) with the best known bounds in few dimensions. For every
    feature i a search tree D_i over the centres in its order makes sum_j T_j diam(j) least
    (k-means: diam(j) squared), by dynamic programming; T_j is the weight of all rows that a cut
    halfway between two neighbouring centres parts from theirs. A node of the tree is cut where
    its centres lie farthest apart, ties to the lowest feature, by the node of D_i that is the
    first to part them (sections 3 and 4.1, algorithm 2).

    With the reference centres the tree costs at most 1 + 4 d log2 k times the reference for
    k-medians, and at most 1 + 4 d k log2 k times for k-means (theorems 3 and 4).

    Search trees are made of the features that some node is cut by alone, at most k - 1 of them:
    O(min(d, k) (n k + k^3)) time, whatever the number of features.

    Parameters
    ----------
    n_clusters, objective, reference, standardize, n_jobs, random_state
        As in :class:`IMM`, like the attributes. There is nothing for several threads to share:
        few features are looked at.
    midpoints : bool, default=True
        Put thresholds halfway between the values of rows and centres on their two sides. Else
        they lie halfway between two centres, as in the paper.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import DPTree
    >>> float(round(DPTree(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    4.88
    """

    def _grow(self, points, random_state):
        rule = PartBySearchTrees(points, POWERS[self.objective])
        root = Centers(np.arange(len(points.centers)))
        growth = Growth()
        grow(growth, {growth.add(root.label): root}, rule)
        return growth


@dataclass(frozen=True, eq=False)
class Centers:
    """Reference centres of a cell: int64 array, increasing."""

    centers: np.ndarray

    @property
    def label(self):
        """The lowest of them."""
        return self.centers[0]


@dataclass(frozen=True, eq=False)
class SearchTree:
    """The optimal search tree of a feature.

    Parameters
    ----------
    edges : list of k - 1 floats, the cuts between centres that follow each other
    rank : int64 array of shape (k,), place of each centre, ties by number
    root : int64 array of shape (k, k)
        The cut of the centres of places a..b at [a, b]; -1 where they coincide.
    """

    edges: list
    rank: np.ndarray
    root: np.ndarray

    def cut_of(self, centers):
        """The edge of the first node that parts some centres, which are not all in one place."""
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
class PartBySearchTrees:
    """Cut by the widest feature's search tree until every leaf has one reference centre.

    Parameters
    ----------
    points : BuilderInput
    power : int, of the diameters
    """

    points: BuilderInput
    power: int
    trees: dict = field(default_factory=dict)  # by feature, made when they are first asked for

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`: every leaf with several centres must be split."""
        return np.inf if len(leaf.centers) > 1 else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if the centres coincide."""
        places = self.points.centers[leaf.centers]
        extent = places.max(axis=0) - places.min(axis=0)
        feature = int(extent.argmax())
        if not extent[feature] > 0:
            return None
        if feature not in self.trees:
            self.trees[feature] = self._tree(feature)
        return Cut(feature, self.trees[feature].cut_of(leaf.centers), np.inf)

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        is_left = self.points.centers[leaf.centers, cut.feature] <= cut.threshold
        return Centers(leaf.centers[is_left]), Centers(leaf.centers[~is_left])

    @cached_property
    def _node(self):
        """All rows, as the kernel reads them."""
        every = np.arange(len(self.points.centers))
        terms = (self.points, self.points.rows, every)
        return fixed_labels_node(*terms, all_left=True, is_ratio=False)[0]

    def _tree(self, feature):
        """The search tree of a feature."""
        points, node = self.points, self._node
        order = np.argsort(points.centers[:, feature], kind="stable")
        places = points.centers[order, feature]
        rank = np.argsort(order)
        edges = np.append(_between(places), places[-1])
        inverse = points.inverse_index(node.rows)
        parted = mistakes_at_edges(points.columns, inverse, node, edges, rank, feature)
        # Prices are whole numbers of a power of two: the sums lose nothing by the division.
        _, root = optimal_search_tree(places, parted / node.scale, self.power)
        return SearchTree(edges[:-1].tolist(), rank, root)


def _between(places):
    """Middle between each place and the next: float64 array, one shorter."""
    return np.array(
        [midpoint(low, high) if low < high else low for low, high in itertools.pairwise(places)]
    )
