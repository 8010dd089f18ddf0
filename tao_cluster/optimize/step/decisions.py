"""Which side each row takes at each node, kept while an optimiser changes a tree node by node."""

import numpy as np

from ..._utils.jit import jit
from ...tree.routing import n_rows
from .columns_of_tests import ColumnsOfTests

# Decisions take two bits a row and node. Of trees with more than 256 nodes only the first ones,
# those near the root, are kept where that would be much: a bound on the bytes of a row alone
# would slow down the deep trees of small data, and one on all bytes every tree of large data.
_BYTES_A_ROW = 64
_MOST_BYTES = 2**26  # unless the bytes of a row ask for more

# What it costs to look up a feature in a sparse row, where one in an array costs 1, as it does to
# carry a decision over to another tree.
_LOOKUP = 30


class Decisions:
    """Routing for trees of one structure whose tests change one at a time.

    A row's decision at a node is worked out once and holds until the node's test changes:
    a pass over a tree asks for the way of a row through the subtrees of every node above it.

    Parameters
    ----------
    view : result of :func:`tao_cluster.tree.routing.kernel_view`

    Attributes
    ----------
    columns : ColumnsOfTests, those of the trees that were followed
    """

    def __init__(self, view):
        self._view, self.columns = view, ColumnsOfTests(view)
        self._tree, self._sides = None, None

    def leaves_of(self, tree, rows=None, node=0, n_jobs=1):
        """Leaf that rows (default all) reach from a node: int32 array.

        Threads may ask for rows of their own, once the tree is followed.
        """
        self.follow(tree)
        view = self.columns.of(tree.split_indices)
        return tree.route(view, rows, node, n_jobs, self._sides)

    def gains(self, tree, node, rows, loss, n_jobs=1):
        """By how much more it costs rows of a node to go left than right: float64 array.

        Parameters
        ----------
        tree : Tree
        node : int
        rows : int64 array of shape (m,)
        loss : LeafLoss of that tree
        n_jobs : int, threads
        """
        left, right = tree.children_left[node], tree.children_right[node]
        gain = loss(rows, self.leaves_of(tree, rows, left, n_jobs))
        gain -= loss(rows, self.leaves_of(tree, rows, right, n_jobs))
        return gain

    def follow(self, tree):
        """Forget the decisions at nodes whose test is another than in the last tree."""
        if tree is self._tree:
            return
        self.columns.expect(tree)
        if self._tree is not None and tree.n_nodes == self._tree.n_nodes:
            self._forget(_changed(tree, self._tree))
        else:
            old = self._sides if self._is_worth_carrying(tree) else None
            self._sides = None  # before there are new ones
            self._sides = np.zeros(_shape(tree.n_nodes, n_rows(self._view)), np.uint8)
            if old is not None:
                _carry(old, self._sides, _same_tests(tree, self._tree))
        self._tree = tree

    def _is_worth_carrying(self, tree):
        """Whether routing anew would cost more than to look for what is known of each test."""
        if self._tree is None:
            return False
        lookup = _LOOKUP if isinstance(self._view, tuple) else 1
        n_features = tree.n_nonzero / max(len(tree.decision_nodes), 1)
        return tree.max_depth * lookup * n_features > tree.n_nodes

    def _forget(self, nodes):
        """Clear the decisions at some nodes, in one pass over the rows."""
        kept = np.full(self._sides.shape[1], 255, np.uint8)
        for node in nodes:
            byte, place = divmod(node, 4)
            if byte < len(kept):
                kept[byte] &= 255 ^ (3 << 2 * place)
        changed = np.flatnonzero(kept != 255)
        if len(changed):
            part = slice(changed[0], changed[-1] + 1)
            self._sides[:, part] &= kept[part]


def _changed(tree, other):
    """Decision nodes of a tree whose tests are not those of another one of as many nodes.

    All at once: a pass over a tree asks for each of its levels.
    """
    size, other_size = np.diff(tree.split_indptr), np.diff(other.split_indptr)
    changed = (tree.threshold != other.threshold) | (size != other_size)
    kept, other_kept = np.repeat(~changed, size), np.repeat(~changed, other_size)
    differs = tree.split_indices[kept] != other.split_indices[other_kept]
    differs |= tree.split_weights[kept] != other.split_weights[other_kept]
    changed[np.repeat(np.arange(tree.n_nodes), size)[kept][differs]] = True
    return tree.decision_nodes[changed[tree.decision_nodes]]


def _same_tests(tree, other):
    """For each node of a tree one of another that has its test, or -1: int64 array."""
    where = {_test(other, node): node for node in other.decision_nodes.tolist()}
    found = np.full(tree.n_nodes, -1)
    for node in tree.decision_nodes.tolist():
        found[node] = where.get(_test(tree, node), -1)
    return found


def _test(tree, node):
    indices, weights = tree.split(node)
    return float(tree.threshold[node]), indices.tobytes(), weights.tobytes()


@jit
def _carry(old, sides, source):
    """Enter what is known of the tests that nodes have in common with others."""
    for r in range(sides.shape[0]):
        for node in range(source.shape[0]):
            other = source[node]
            if other >= 0 and other >> 2 < old.shape[1] and node >> 2 < sides.shape[1]:
                known = (old[r, other >> 2] >> (2 * (other & 3))) & 3
                sides[r, node >> 2] |= known << (2 * (node & 3))


def _shape(n_nodes, n_rows):
    """Rows, and bytes a row of decisions to be kept."""
    affordable = max(_BYTES_A_ROW, _MOST_BYTES // max(n_rows, 1))
    return n_rows, min(-(-n_nodes // 4), affordable)
