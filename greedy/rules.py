"""The four methods as rules of growth: what a leaf is, when it is split, where it is cut."""

from dataclasses import dataclass

import numpy as np

from .cuts import N_EDGES, parting_cut, surrogate_cut
from .growth import Cut
from .nodes import (
    SurrogateNode,
    finer_bound,
    fixed_labels_node,
    is_coarse,
    nearest_labels_node,
    surrogate_node,
)
from .points import Points


@dataclass(frozen=True, eq=False)
class CenterLeaf:
    """Rows, reference centres (int64, increasing) and edges (feature, is_left) of a cell.

    `is_complete` tells that no row of the cell has been dropped.
    """

    rows: np.ndarray
    centers: np.ndarray
    path: tuple = ()
    is_complete: bool = True

    @property
    def label(self):
        """Its centre; the lowest of several that coincide."""
        return self.centers[0]


@dataclass(frozen=True, eq=False)
class PartCenters:
    """Split until every leaf has one reference centre (IMM, ExGreedy, ExShallow).

    Parameters
    ----------
    points : Points
    keep_labels : bool
        IMM: a parted row pays its weight and is dropped. Else it goes to the nearest centre
        of its side and pays what that costs more.
    depth_factor : float >= 0
        Price of the expected depth (ExShallow).
    """

    points: Points
    keep_labels: bool = False
    depth_factor: float = 0.0

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`: every leaf with several centres must be split."""
        return np.inf if len(leaf.centers) > 1 else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if the centres coincide."""
        best = self._best(leaf, leaf.is_complete)
        if best is None and not leaf.is_complete:
            best = self._best(leaf, True)
        return best and Cut(best[1], best[2], np.inf)

    def _best(self, leaf, all_left):
        node, depth = self._node(leaf, all_left)
        best = self._search(node, depth)
        if best is not None and is_coarse(node):
            weight = self.points.weight[node.rows]
            most = finer_bound(best[0] / depth.unit, weight, node.scale)
            if most is not None:
                best = self._search(*self._node(leaf, all_left, most))
        return best

    def _node(self, leaf, all_left, most=np.inf):
        terms = (self.points, leaf.rows, leaf.centers)
        if self.keep_labels:
            return fixed_labels_node(*terms, all_left, most)
        return nearest_labels_node(*terms, self.depth_factor, leaf.path, most)

    def _search(self, node, depth):
        return self.points.best_cut(parting_cut, self.points.slot(node.rows), node, depth)

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        is_left = self.points.positions[:, cut.feature] <= cut.threshold
        parts = []
        for goes_left in (True, False):
            rows = everything = leaf.rows[rows_left == goes_left]
            if self.keep_labels:
                rows = rows[is_left[self.points.labels[rows]] == goes_left]
            centers = leaf.centers[is_left[leaf.centers] == goes_left]
            path = (*leaf.path, (cut.feature, goes_left))
            is_complete = leaf.is_complete and len(rows) == len(everything)
            parts.append(CenterLeaf(rows, centers, path, is_complete))
        return tuple(parts)


@dataclass(frozen=True, eq=False)
class SurrogateLeaf:
    """A leaf that gets the label that serves its rows best."""

    node: SurrogateNode

    @property
    def label(self):
        """Best label of its rows, ties to the lowest."""
        return self.node.own


@dataclass(frozen=True, eq=False)
class CutSurrogate:
    """Split the leaf whose best cut saves most of the surrogate cost (ExKMC).

    Parameters
    ----------
    points : Points
    price : float
        What a cut must save more than.
    """

    points: Points
    price: float = 0.0

    def leaf(self, rows):
        """Leaf of some rows."""
        return SurrogateLeaf(surrogate_node(self.points, rows))

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`."""
        return leaf.node.most / leaf.node.scale - self.price

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if no cut saves more than its price."""
        node, points = leaf.node, self.points
        misplaced = node.rows[points.distances[node.rows, node.own] > node.nearest]
        n = min(N_EDGES, len(misplaced), max(7, len(node.rows) // 16))
        sample = misplaced[np.linspace(0, len(misplaced) - 1, n).astype(int)]
        slot, values = points.slot(node.rows), points.values(sample)
        best = points.best_cut(surrogate_cut, slot, node, values)
        if best is None or -best[0] / node.scale <= self.price:
            return None
        return Cut(best[1], best[2], -best[0] / node.scale - self.price)

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows = leaf.node.rows
        goes_left = self.points.goes_left(rows, cut.feature, cut.threshold)
        return self.leaf(rows[goes_left]), self.leaf(rows[~goes_left])
