"""Growth of axis-aligned trees: one explicit queue for every method, no recursion."""

import heapq
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tao_cluster.routing import kernel_view, project
from tao_cluster.tree import Tree


@dataclass(frozen=True)
class Cut:
    """Test of one feature, left iff the value is at most `threshold`, and what it gains."""

    feature: int
    threshold: float
    gain: float


class Rule(Protocol):
    """A method: which leaves to split, and where. A leaf is what the rule makes of it."""

    def promise(self, leaf: Any) -> float:
        """Upper bound of the gain of a leaf's best cut; 0 where it must stay a leaf."""

    def search(self, leaf: Any) -> Cut | None:
        """Best cut of a leaf, None if there is none worth making."""

    def divide(self, leaf: Any, cut: Cut) -> tuple[Any, Any]:
        """The two leaves that a cut makes of one."""


@dataclass
class Growth:
    """Node arrays of a growing tree, in the order in which nodes appear.

    Every node keeps the label it had as a leaf, so the tree at any earlier step is a prefix
    of the arrays.
    """

    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    feature: list = field(default_factory=list)
    threshold: list = field(default_factory=list)
    label: list = field(default_factory=list)

    @classmethod
    def of(cls, tree):
        """The growth of a tree that is there: its nodes as they are numbered."""
        is_test = np.diff(tree.split_indptr) > 0
        feature = np.full(tree.n_nodes, -1)
        feature[is_test] = tree.split_indices
        arrays = (tree.children_left, tree.children_right, feature)
        return cls(*(array.tolist() for array in (*arrays, tree.threshold, tree.leaf_label)))

    @property
    def n_nodes(self):
        """Number of nodes."""
        return len(self.left)

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (len(self.left) + 1) // 2

    def add(self, label):
        """Append a leaf; returns its number."""
        for column in (self.left, self.right, self.feature):
            column.append(-1)
        self.threshold.append(0.0)
        self.label.append(int(label))
        return self.n_nodes - 1

    def split(self, node, cut, labels):
        """Make a leaf a decision node; returns the numbers of its children."""
        self.feature[node], self.threshold[node] = int(cut.feature), float(cut.threshold)
        self.left[node], self.right[node] = (self.add(label) for label in labels)
        return self.left[node], self.right[node]

    def history(self):
        """One record a cut, in their order: node, feature, threshold, leaves after it."""
        cut = [i for i in range(self.n_nodes) if self.left[i] >= 0]
        return [
            {
                "node": i,
                "feature": self.feature[i],
                "threshold": self.threshold[i],
                "leaves": step + 2,
            }
            for step, i in enumerate(sorted(cut, key=self.left.__getitem__))
        ]

    def to_tree(self, n_features, n_nodes=None):
        """The tree of all nodes, or of the first `n_nodes`."""
        n = self.n_nodes if n_nodes is None else n_nodes
        left = np.array(self.left[:n])
        is_leaf = (left < 0) | (left >= n)
        return Tree.from_splits(
            np.where(is_leaf, -1, left),
            np.where(is_leaf, -1, self.right[:n]),
            [None if is_leaf[i] else ([self.feature[i]], [1.0]) for i in range(n)],
            np.where(is_leaf, 0.0, self.threshold[:n]),
            np.where(is_leaf, self.label[:n], -1),
            n_features,
        )


def grow(growth, leaves, rule, max_leaves=None):
    """Split leaves, the one with the largest gain first, ties to the lowest node number.

    A leaf is searched only when no searched leaf gains as much as this one promises.

    Parameters
    ----------
    growth : Growth, altered
    leaves : dict of node number to leaf, altered
        What the rule knows of the leaves that may be split.
    rule : Rule
        Its leaves have a `label`.
    max_leaves : int, optional
    """
    queue = []

    def enqueue(node):
        promise = rule.promise(leaves[node])
        if promise > 0:
            heapq.heappush(queue, (-promise, False, node, None))

    for node in sorted(leaves):
        enqueue(node)
    while queue and (max_leaves is None or growth.n_leaves < max_leaves):
        _, is_searched, node, cut = heapq.heappop(queue)
        if not is_searched:
            cut = rule.search(leaves[node])
            if cut is not None:
                heapq.heappush(queue, (-cut.gain, True, node, cut))
            continue
        parts = rule.divide(leaves.pop(node), cut)
        children = growth.split(node, cut, [part.label for part in parts])
        for child, part in zip(children, parts, strict=True):
            leaves[child] = part
            enqueue(child)


def with_midpoints(tree, X, positions):
    """The same tree with thresholds halfway between the values on their two sides.

    The values are those of the rows that reach a node and of the reference centres that do.

    Parameters
    ----------
    tree : Tree, axis-aligned
    X : array or CSR matrix of shape (n, d)
    positions : float64 array of shape (k, d), coordinates of the centres

    Returns
    -------
    Tree; rows of X and centres take the same paths
    """
    view = kernel_view(X)
    rows_of = {0: (np.arange(X.shape[0]), np.arange(len(positions)))}
    updates = {}
    for node in tree.decision_nodes:
        rows, centers = rows_of.pop(node)
        split, threshold = tree.split(node), tree.threshold[node]
        values = project(view, rows, *split)
        places = positions[centers, split[0][0]]
        everything = np.concatenate([values, places])
        below, above = everything <= threshold, everything > threshold
        if below.any() and above.any():
            low, high = everything[below].max(), everything[above].min()
            middle = low + (high - low) / 2
            updates[node] = (split, middle if middle < high else low)
        for child, rows_below, centers_below in (
            (tree.children_left[node], values <= threshold, places <= threshold),
            (tree.children_right[node], values > threshold, places > threshold),
        ):
            rows_of[child] = (rows[rows_below], centers[centers_below])
    return tree.with_splits(updates)
