"""A tree in the making: one root without a test, and what splits add below."""

from .node_solvers import Split
from .tree import Tree


class Growing:
    """Lists of nodes in the order in which they appear, children after their parent.

    `labels` holds the cluster of every node that stays a leaf; its owner fills it in.
    """

    def __init__(self):
        self._left, self._right, self._splits, self.labels = [-1], [-1], [None], [-1]

    @property
    def n_leaves(self):
        """Number of leaves so far."""
        return (len(self._left) + 1) // 2

    def split(self, node, split: Split):
        """Give a node a test; returns the numbers of the two new nodes below it."""
        children = len(self._left), len(self._left) + 1
        self._left[node], self._right[node] = children
        self._splits[node] = split
        for column, blank in (
            (self._left, -1),
            (self._right, -1),
            (self._splits, None),
            (self.labels, -1),
        ):
            column += [blank, blank]
        return children

    def to_tree(self, n_features):
        """The tree of all nodes."""
        return Tree.from_splits(
            self._left,
            self._right,
            [s and (s.indices, s.weights) for s in self._splits],
            [s.threshold if s else 0.0 for s in self._splits],
            self.labels,
            n_features,
        )
