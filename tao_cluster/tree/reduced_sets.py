"""Reduced sets: the rows that reach each node of a tree, made level by level from below."""

import numpy as np


class ReducedSets:
    """Rows that reach each node, increasing, for passes that go from the deepest level up.

    All sets share one array of 8 bytes a row, in which the rows of every subtree lie side by
    side: a level's sets are those of its subtrees, sorted where they lie, and the sets of the
    levels below are then gone.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    """

    def __init__(self, tree, leaf_of_row):
        self._tree = tree
        self._first, self._stop, rank = _spans(tree, leaf_of_row)
        # Short integers are sorted in one go over their digits.
        rank = rank.astype(np.min_scalar_type(-tree.n_nodes))
        self._rows = np.argsort(rank[leaf_of_row], kind="stable")

    def __getitem__(self, node):
        """Rows of a leaf above which no level was made, or of a node of the last level made."""
        return self._rows[self._first[node] : self._stop[node]]

    def size(self, node):
        """Number of rows of a node, at any time."""
        return self._stop[node] - self._first[node]

    def goes_left(self, node, leaves):
        """Which of some leaves that have rows are on the left of a node above them: bool array."""
        return self._first[leaves] < self._first[self._tree.children_right[node]]

    def levels(self):
        """Yield the decision nodes of each depth that have rows, from the deepest up.

        Their sets are at hand until the next depth is asked for.
        """
        tree = self._tree
        for depth in range(tree.max_depth - 1, -1, -1):
            nodes = tree.decision_nodes[tree.depth[tree.decision_nodes] == depth]
            nodes = [node for node in nodes if self.size(node)]
            for node in nodes:
                self[node].sort(kind="stable")  # two increasing runs: merged
            yield nodes


def _spans(tree, leaf_of_row):
    """Where the rows of each node begin and stop, and the place of each leaf from left to right.

    Returns
    -------
    first, stop : int arrays of shape (n_nodes,)
    rank : int array of shape (n_nodes,); 0 for decision nodes
    """
    left, right = tree.children_left, tree.children_right
    size = np.bincount(leaf_of_row, minlength=tree.n_nodes)
    n_leaves = np.zeros(tree.n_nodes, dtype=np.intp)
    n_leaves[tree.leaves] = 1
    for node in tree.decision_nodes[::-1]:  # children come after their parent
        size[node] = size[left[node]] + size[right[node]]
        n_leaves[node] = n_leaves[left[node]] + n_leaves[right[node]]
    first, rank = np.zeros((2, tree.n_nodes), dtype=np.intp)
    for node in tree.decision_nodes:
        first[left[node]], rank[left[node]] = first[node], rank[node]
        first[right[node]] = first[node] + size[left[node]]
        rank[right[node]] = rank[node] + n_leaves[left[node]]
    return first, first + size, rank
