"""DPTree: a tree with a leaf a centre, from the optimal search trees of single features."""

import itertools
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_params

from tao_cluster._utils.threads import one_thread
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.tree import halfway

from ..cuts import parted_at_edges, search_tree
from ..growth import Cut, grow
from ..nodes import fixed_labels_node
from ..points import Points
from .start import SHARED, finish

# The power of a diameter that a parted row may pay: Lemma 3 and inequality 15 of the paper.
POWERS = {"kmeans": 2, "kmedians": 1}


@validate_params(
    {**SHARED, "objective": [StrOptions(set(POWERS))]}, prefer_skip_nested_validation=True
)
@one_thread()
def build_dptree(
    X,
    centers,
    *,
    objective="kmeans",
    sample_weight=None,
    embedding=None,
    labels=None,
    midpoints=True,
    n_jobs=None,
):
    """The tree of Laber & Murtinho (2021) with the best known bounds in few dimensions.

    For every feature i a search tree D_i over the centres in its order makes sum_j T_j diam(j)
    least (k-means: diam(j) squared), by dynamic programming; T_j is the weight of all rows that
    a cut halfway between two neighbouring centres parts from theirs. A node of the tree is cut
    where its centres lie farthest apart, ties to the lowest feature, by the node of D_i that is
    the first to part them (sections 3 and 4.1, algorithm 2).

    With the reference centres the tree costs at most 1 + 4 d log2 k times the reference for
    k-medians, and at most 1 + 4 d k log2 k times for k-means (theorems 3 and 4).

    Search trees are made of the features that some node is cut by alone, at most k - 1 of them:
    O(min(d, k) (n k + k^3)) time, whatever the number of features.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        float32 or float64. Sparse input is copied into columns and never made dense.
    centers : array-like of shape (k, m)
        Reference centres; m = d without an embedding. Centres that coincide share a leaf, with
        the lowest label.
    objective : {"kmeans", "kmedians"}, default="kmeans"
        The costs that the bound is of, and whether the nearest centre is that of least Euclidean
        or of least L1 distance.
    sample_weight, embedding, labels
        As in :func:`greedy.build_imm`.
    n_jobs : int, optional
        As in :func:`greedy.build_imm`, but there is nothing to share: few features are looked at.
    midpoints : bool, default=True
        Put thresholds halfway between the values of rows and centres on their two sides; rows
        take the same paths. Else they lie halfway between two centres, as in the paper.

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        As :func:`greedy.build_imm`.

    Examples
    --------
    >>> from greedy import build_dptree
    >>> X = [[0.0], [1.0], [2.0], [9.0]]
    >>> build_dptree(X, centers=[[0.5], [8.5]], midpoints=False).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, labels, n_jobs, objective=objective)
    return finish(part_by_search_trees(points, POWERS[objective]), points, midpoints)


def part_by_search_trees(points, power):
    """Growth of a tree with one centre a leaf; see :class:`PartBySearchTrees`."""
    rule = PartBySearchTrees(points, power)
    root = Centers(np.arange(len(points.positions)))
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
    points : Points
    power : int, of the diameters
    """

    points: Points
    power: int
    trees: dict = field(default_factory=dict)  # by feature, made when they are first asked for

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`: every leaf with several centres must be split."""
        return np.inf if len(leaf.centers) > 1 else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if the centres coincide."""
        places = self.points.positions[leaf.centers]
        extent = places.max(axis=0) - places.min(axis=0)
        feature = int(extent.argmax())
        if not extent[feature] > 0:
            return None
        if feature not in self.trees:
            self.trees[feature] = self._tree(feature)
        return Cut(feature, self.trees[feature].cut_of(leaf.centers), np.inf)

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        is_left = self.points.positions[leaf.centers, cut.feature] <= cut.threshold
        return Centers(leaf.centers[is_left]), Centers(leaf.centers[~is_left])

    @cached_property
    def _node(self):
        """All rows, as the kernel reads them."""
        every = np.arange(len(self.points.positions))
        return fixed_labels_node(
            self.points, self.points.rows, every, all_left=True, is_ratio=False
        )[0]

    def _tree(self, feature):
        """The search tree of a feature."""
        points, node = self.points, self._node
        order = np.argsort(points.positions[:, feature], kind="stable")
        places = points.positions[order, feature]
        rank = np.argsort(order)
        edges = np.append(_between(places), places[-1])
        slot = points.slot(node.rows)
        parted = parted_at_edges(points.columns, slot, node, edges, rank, feature)
        # Prices are whole numbers of a power of two: the sums lose nothing by the division.
        _, root = search_tree(places, parted / node.scale, self.power)
        return SearchTree(edges[:-1].tolist(), rank, root)


def _between(places):
    """Middle between each place and the next: float64 array, one shorter."""
    return np.array(
        [halfway(low, high) if low < high else low for low, high in itertools.pairwise(places)]
    )
