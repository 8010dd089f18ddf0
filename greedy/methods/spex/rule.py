"""The rule of SpEx: a node's cut is that of least conductance, and so is the node to cut."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_view, project

from ...cuts import GraphNode, conductance_cuts
from ...growth import Cut
from ...order import Order, first_best
from ...points import Points

# Conductances that differ by less are equal: sums in another order differ in their last bits.
_TOLERANCE = 1e-10

# Times that the sides of a node are drawn towards their neighbours and parted anew.
_ROUNDS = 3


@dataclass(frozen=True)
class SplitCut(Cut):
    """A cut by a weighted sum of several features."""

    test: Split | None = None

    @property
    def split(self):
        """See :class:`greedy.growth.Cut`."""
        return self.test


@dataclass(frozen=True, eq=False)
class SpexLeaf:
    """Rows, and the node that they make."""

    rows: np.ndarray
    node: GraphNode
    label: int = 0  # given when all leaves are known


@dataclass(frozen=True, eq=False)
class CutConductance:
    """Split the leaf where the sum of the leaves' conductances rises least.

    Argov & Wagner (2025), algorithm 1: a leaf S has conductance cut(S) / vol(S) in the whole
    graph, and the tree is to make the sum over its leaves small.

    Parameters
    ----------
    points : Points
    graph : CliqueGraph or NeighborGraph
    hyperplanes : callable(rows, goes_right, weight) -> iterable of Split, optional
        Tests of several features that send rows to their sides, but for little weight.
    price : float
        What conductance must fall by for every further weight of a test.
    """

    points: Points
    graph: Any
    hyperplanes: Callable | None = None
    price: float = 0.0
    view: Any = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "view", kernel_view(self.points.X))

    def root(self):
        """Leaf of all vertices."""
        rows = self.graph.rows
        return self._leaf(rows, Order.of(self.points, np.sort(rows)))

    def _leaf(self, rows, order):
        return SpexLeaf(rows, self.graph.node(order, rows))

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`: only the search can tell."""
        return np.inf if self.graph.can_be_cut(leaf.node) else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if all rows are equal."""
        node, d = leaf.node, self.points.n_features
        kept, threshold = np.empty(d), np.empty(d)
        self.points.over_features(
            lambda lo, hi: conductance_cuts(node, _TOLERANCE, lo, hi, kept, threshold)
        )
        feature = first_best(kept, _TOLERANCE)
        if feature is None:
            return None
        cut = Cut(feature, float(threshold[feature]), _rise(node, kept[feature]))
        return cut if self.hyperplanes is None else self._oblique(leaf, cut)

    def _oblique(self, leaf, cut):
        """The best of a cut and those by hyperplanes that grow out of it.

        Each row is drawn to the side that most of its edges lead to, with the difference as its
        weight; a hyperplane that parts these sides is moved to where its conductance is least.
        """
        best, value = cut, cut.gain
        for _ in range(_ROUNDS):
            goes_left = self._goes_left(leaf.rows, best.split)
            pull = self.graph.pull(leaf.rows, ~goes_left)
            drawn = pull != 0
            goes_right = pull[drawn] > 0
            if goes_right.all() or not goes_right.any():
                break
            tests = self.hyperplanes(leaf.rows[drawn], goes_right, np.abs(pull[drawn]))
            before = best
            for found in (self._placed(leaf, test) for test in tests):
                if found is None:
                    continue
                worth = found.gain - self.price * (len(found.test.indices) - 1)
                if worth > value + _TOLERANCE:
                    best, value = found, worth
            if best is before:
                break
        return best

    def _placed(self, leaf, test):
        """A hyperplane with the threshold of least conductance, as a cut."""
        if len(test.indices) < 2:
            return None  # no better than the best cut of a feature
        values = project(self.view, leaf.rows, test.indices, test.weights)
        at = np.argsort(values, kind="stable")
        rows, n = leaf.rows[at].astype(np.int32), len(at)
        ends = np.array([0, n])
        order = Order(rows, values[at], ends, ends[1:], np.zeros(1), n)
        kept, threshold = np.empty(1), np.empty(1)
        conductance_cuts(leaf.node._replace(order=order), _TOLERANCE, 0, 1, kept, threshold)
        if kept[0] == -np.inf:
            return None
        split = Split(test.indices, test.weights, float(threshold[0]))
        return SplitCut(-1, split.threshold, _rise(leaf.node, kept[0]), split)

    def _goes_left(self, rows, split):
        return project(self.view, rows, split.indices, split.weights) <= split.threshold

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        goes_left = self._goes_left(leaf.rows, cut.split)
        halves = (leaf.rows[goes_left], leaf.rows[~goes_left])
        n = len(self.graph.weight)
        return tuple(self._leaf(rows, leaf.node.order.part(rows, n)) for rows in halves)


def _rise(node, kept):
    """Minus what a cut adds to the sum of conductances, so that equal ones are equal."""
    own = node.inner / node.volume if node.volume > 0 else 0.0
    return round(float(kept - 1 - own), 10)
