"""Growing trees: a mutable list of nodes, and breadth-first growth."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from .tree import Split, Tree


@dataclass
class Growth:
    """A mutable tree: nodes in the order in which they were added, children after their parent.

    Every node keeps the label that it had as a leaf. So the tree at any earlier step consists of
    the first nodes of the lists.

    Parameters
    ----------
    left, right : list of int, children of each node, -1 at a leaf
    splits : list of Split or None, the test of each node
    label : list of int
    """

    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    splits: list = field(default_factory=list)
    label: list = field(default_factory=list)

    @classmethod
    def from_tree(cls, tree):
        """Growth that continues an existing tree, with the same node numbers."""
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
        """Append a leaf and return its node number."""
        for column, blank in ((self.left, -1), (self.right, -1), (self.splits, None)):
            column.append(blank)
        self.label.append(int(label))
        return self.n_nodes - 1

    def split(self, node, split, labels=(0, 0)):
        """Turn a leaf into a decision node and return the numbers of its two children."""
        self.splits[node] = split
        self.left[node], self.right[node] = (self.add(label) for label in labels)
        return self.left[node], self.right[node]

    def without(self, nodes):
        """Return a copy in which the given nodes are leaves, without the nodes below them."""
        out, place = Growth(), {0: 0}
        out.add(self.label[0])
        split = (node for node in range(self.n_nodes) if self.splits[node] is not None)
        # Children get their numbers when their parent is split, so this is the order of the splits.
        for node in sorted(split, key=self.left.__getitem__):
            if node in nodes or node not in place:
                continue
            children = (self.left[node], self.right[node])
            labels = [self.label[child] for child in children]
            made = out.split(place[node], self.splits[node], labels)
            place.update(zip(children, made, strict=True))
        return out

    def to_tree(self, n_features, n_nodes=None):
        """Return the tree of all nodes, or of the first `n_nodes` nodes."""
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
    """Grow a tree breadth-first until `part` returns a label for every leaf.

    Parameters
    ----------
    root : object
        Content of the root, which is passed to `part`; for example its row numbers.
    part : callable(content) -> int or (Split, left content, right content)
        Returns the label if the node is to be a leaf, else its test and the contents of its
        children.
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
