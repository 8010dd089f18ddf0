"""The upper part of a tree: nodes below a depth are put together, box by box."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tree import Tree


@dataclass(frozen=True, eq=False)
class Upper:
    """The nodes of a tree down to a depth.

    Parameters
    ----------
    tree : Tree, whose tests at that depth have become leaves
    origin : int array of shape (tree.n_nodes,), node numbers in the whole tree
    stands_for : int array, node of the upper tree that holds each node of the whole one
    hidden : dict of int arrays, by node of the upper tree the leaves of the whole one below it
    """

    tree: Any
    origin: np.ndarray
    stands_for: np.ndarray
    hidden: dict

    @classmethod
    def of(cls, tree, max_depth):
        """The tree as far as it is drawn, all of it if `max_depth` is None.

        Raises
        ------
        ValueError
            If it is not a whole number of at least 0.
        """
        depth = tree.max_depth if max_depth is None else max_depth
        if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 0:
            raise ValueError(f"max_depth must be a whole number of at least 0; got {max_depth!r}.")
        origin = np.flatnonzero(tree.depth <= depth)
        number = np.full(tree.n_nodes, -1)
        number[origin] = np.arange(len(origin))
        for node in range(tree.n_nodes):  # parents come first
            if number[node] < 0:
                number[node] = number[tree.parent[node]]
        is_cut = (tree.depth[origin] == depth) & (tree.children_left[origin] >= 0)
        leaves = tree.leaves
        hidden = {int(i): leaves[number[leaves] == i] for i in np.flatnonzero(is_cut)}
        if not hidden:
            return cls(tree, origin, number, {})
        return cls(_cut(tree, origin, number, hidden), origin, number, hidden)


def _cut(tree, origin, number, hidden):
    """The tree of some nodes, where those with something hidden are leaves."""
    children = [
        np.where(side[origin] < 0, -1, number[side[origin]])
        for side in (tree.children_left, tree.children_right)
    ]
    splits = [tree.split(i) for i in origin]
    label, threshold = tree.leaf_label[origin].copy(), tree.threshold[origin].copy()
    value = None if tree.leaf_value is None else tree.leaf_value[origin].copy()
    for node, leaves in hidden.items():
        for side in children:
            side[node] = -1
        splits[node], threshold[node] = None, 0.0
        label[node] = tree.leaf_label[leaves[0]]
        if value is not None:
            value[node] = tree.leaf_value[leaves[0]]
    return Tree.from_splits(*children, splits, threshold, label, tree.n_features, value)
