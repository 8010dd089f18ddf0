"""Growth of trees: the node lists of a tree in the making, and the loop that fills them."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from .tree import Split, Tree


@dataclass
class Growth:
    """Nodes of a growing tree in the order in which they appear, children after their parent.

    Every node keeps the label that it had as a leaf, so the tree at any earlier step is a prefix
    of the lists.
    """

    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    splits: list = field(default_factory=list)
    label: list = field(default_factory=list)

    @classmethod
    def from_tree(cls, tree):
        """The growth of a tree that is there: its nodes as they are numbered."""
        splits = [None] * tree.n_nodes
        for node in tree.decision_nodes:
            splits[node] = Split.from_tree(tree, node)
        arrays = (tree.children_left, tree.children_right, tree.leaf_label)
        left, right, label = (array.tolist() for array in arrays)
        return cls(left, right, splits, label)

    @property
    def n_nodes(self):
        """Number of nodes."""
        return len(self.left)

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    def add(self, label=0):
        """Append a leaf; returns its number."""
        for column, blank in ((self.left, -1), (self.right, -1), (self.splits, None)):
            column.append(blank)
        self.label.append(int(label))
        return self.n_nodes - 1

    def split(self, node, split, labels=(0, 0)):
        """Make a leaf a decision node; returns the numbers of its children."""
        self.splits[node] = split
        self.left[node], self.right[node] = (self.add(label) for label in labels)
        return self.left[node], self.right[node]

    def without(self, nodes):
        """The growth in which some nodes, and all below them, were never split."""
        out, place = Growth(), {0: 0}
        out.add(self.label[0])
        split = (node for node in range(self.n_nodes) if self.splits[node] is not None)
        for node in sorted(split, key=self.left.__getitem__):  # as they were made
            if node in nodes or node not in place:
                continue
            children = (self.left[node], self.right[node])
            labels = [self.label[child] for child in children]
            made = out.split(place[node], self.splits[node], labels)
            place.update(zip(children, made, strict=True))
        return out

    def to_tree(self, n_features, n_nodes=None):
        """The tree of all nodes, or of the first `n_nodes`."""
        n = self.n_nodes if n_nodes is None else n_nodes
        left = np.array(self.left[:n])
        is_leaf = (left < 0) | (left >= n)
        splits = [None if leaf else s for leaf, s in zip(is_leaf, self.splits[:n], strict=True)]
        return Tree.from_splits(
            np.where(is_leaf, -1, left),
            np.where(is_leaf, -1, self.right[:n]),
            [s and (s.indices, s.weights) for s in splits],
            [s.threshold if s else 0.0 for s in splits],
            np.where(is_leaf, self.label[:n], -1),
            n_features,
        )


def grow_breadth_first(root, part, n_features):
    """Tree that is grown breadth-first until nothing more is to be parted.

    Parameters
    ----------
    root : what the root holds; the same for `item` below
    part : callable(item) -> int, or (Split, item to the left, item to the right)
        The label of a leaf, or how a node is split.
    n_features : int

    Returns
    -------
    Tree
    """
    growth = Growth()
    queue = deque([(growth.add(), root)])
    while queue:
        node, item = queue.popleft()
        parted = part(item)
        if not isinstance(parted, tuple):
            growth.label[node] = int(parted)
            continue
        split, *items = parted
        queue.extend(zip(growth.split(node, split), items, strict=True))
    return growth.to_tree(n_features)
