"""Which side each row takes at each node, kept while an optimiser changes a tree node by node."""

import numpy as np

from ...core.routing import n_rows
from ...core.tree import Split

# Decisions take a byte a row and node; beyond this many bytes they are not kept.
_MOST_BYTES = 2**28


class Decisions:
    """Routing for trees of one structure whose tests change one at a time.

    A row's decision at a node is worked out once and holds until the node's test changes:
    a pass over a tree asks for the way of a row through the subtrees of every node above it.

    Parameters
    ----------
    view : result of :func:`tao_cluster.core.routing.kernel_view`
    """

    def __init__(self, view):
        self._view = view
        self._tree, self._sides = None, None

    def leaves_of(self, tree, rows=None, node=0, n_jobs=1):
        """Leaf that rows (default all) reach from a node: int32 array.

        Threads may ask for rows of their own, once the tree is followed.
        """
        self.follow(tree)
        return tree.route(self._view, rows, node, n_jobs, self._sides)

    def follow(self, tree):
        """Forget the decisions at nodes whose test is another than in the last tree."""
        if tree is self._tree:
            return
        shape = (tree.n_nodes, n_rows(self._view))
        if shape[0] * shape[1] > _MOST_BYTES:
            self._sides = None
        elif self._sides is None or self._sides.shape != shape:
            self._sides = np.zeros(shape, np.int8)
        else:
            for node in tree.decision_nodes:
                if not _test(tree, node).same_as(_test(self._tree, node)):
                    self._sides[node] = 0
        self._tree = tree


def _test(tree, node):
    return Split(*tree.split(node), tree.threshold[node])
