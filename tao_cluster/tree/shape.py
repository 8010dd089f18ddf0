"""Structure of a tree: properties derived from its arrays, their validation, and pruning."""

from functools import cached_property
from numbers import Integral

import numpy as np
import scipy.sparse as sp


class Shape:
    """Base class of Tree: properties derived from its arrays, most of them cached."""

    @property
    def n_nodes(self):
        """Number of nodes, leaves included."""
        return len(self.children_left)

    @cached_property
    def leaves(self):
        """Node numbers of the leaves, increasing."""
        return frozen(np.flatnonzero(self.children_left < 0))

    @cached_property
    def decision_nodes(self):
        """Node numbers of the decision nodes, increasing."""
        return frozen(np.flatnonzero(self.children_left >= 0))

    @property
    def n_leaves(self):
        """Number of leaves."""
        return len(self.leaves)

    @property
    def n_clusters(self):
        """Number of distinct clusters of the leaves."""
        return len(np.unique(self.leaf_label[self.leaves]))

    @cached_property
    def parent(self):
        """Parent of each node, -1 for the root: int32 array of shape (n_nodes,)."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        for children in (self.children_left, self.children_right):
            parent[children[self.decision_nodes]] = self.decision_nodes
        return frozen(parent)

    @cached_property
    def depth(self):
        """Number of tests above each node: int32 array of shape (n_nodes,)."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in range(1, self.n_nodes):  # parents have lower numbers than their children
            depth[node] = depth[self.parent[node]] + 1
        return frozen(depth)

    @property
    def max_depth(self):
        """Largest number of tests on a path; 0 for a single leaf."""
        return int(self.depth.max())

    @property
    def n_nonzero(self):
        """Number of non-zero weights over all nodes."""
        return len(self.split_indices)

    @property
    def n_parameters(self):
        """Number of non-zero weights, thresholds and leaves, as in the tables of the KDD'22 paper.

        An axis-aligned node counts as 2 (weight and threshold), so a tree with ten leaves has 28.
        """
        return self.n_nonzero + len(self.decision_nodes) + self.n_leaves

    @property
    def features_per_split(self):
        """Mean number of features with a weight at a decision node; 0 for a single leaf."""
        return np.float64(self.n_nonzero / max(1, len(self.decision_nodes)))

    @property
    def used_features(self):
        """Sorted indices of the features with a weight somewhere in the tree."""
        return np.unique(self.split_indices)

    @cached_property
    def path_matrix(self):
        """CSR indicator (n_nodes, n_nodes): row i marks the nodes from the root to i.

        For a chain of n nodes it has O(n ** 2) entries; :meth:`paths` takes a subset of the nodes.
        """
        return self.paths(np.arange(self.n_nodes))

    def path(self, node):
        """Return the nodes from the root to a node: int array."""
        nodes = [int(node)]
        while nodes[-1]:
            nodes.append(int(self.parent[nodes[-1]]))
        return np.array(nodes[::-1])

    def paths(self, nodes):
        """Return the CSR indicator (m, n_nodes) whose row i marks the nodes from root to nodes[i].

        Parameters
        ----------
        nodes : int array of shape (m,), repeats allowed
        """
        distinct, copies = np.unique(nodes, return_inverse=True)
        indptr = np.append(0, np.cumsum(self.depth[distinct] + np.int64(1)))
        indices = np.empty(indptr[-1], dtype=np.int32)
        node, place_of_node = distinct, indptr[1:] - 1
        while len(node):  # each step moves all paths up by one level
            indices[place_of_node] = node
            is_below = node > 0
            node, place_of_node = self.parent[node[is_below]], place_of_node[is_below] - 1
        ones = np.ones(len(indices), dtype=np.int8)
        found = sp.csr_matrix((ones, indices, indptr), shape=(len(distinct), self.n_nodes))
        return found if np.array_equal(distinct, nodes) else found[copies]

    def subtree_sums(self, values):
        """Sum the values over the subtree of each node, always in the same order.

        Parameters
        ----------
        values : float64 array of shape (n_nodes,)

        Returns
        -------
        float64 array of shape (n_nodes,)
        """
        sums = np.zeros(len(values))
        total, parent = memoryview(sums), memoryview(self.parent)  # their items are fast to read
        for start in np.flatnonzero(values).tolist():
            node, value = start, float(values[start])
            while node >= 0:
                total[node] += value
                node = parent[node]
        return sums


def frozen(array):
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def check_n_features(n_features):
    """Raise a ValueError unless `n_features` is an integer of at least 1 (not True, not "7")."""
    is_integer = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if not is_integer or n_features < 1:
        raise ValueError(f"n_features must be an integer of at least 1, got {n_features!r}.")


def check_nodes(tree):
    """Raise a ValueError if the node arrays do not form a tree, or leaves have no label."""
    n = tree.children_left.size
    per_node = (tree.children_left, tree.children_right, tree.threshold, tree.leaf_label)
    if n == 0 or any(array.shape != (n,) for array in per_node):
        raise ValueError("A tree needs at least one node and node arrays of equal length.")
    if min(array.min() for array in (*per_node[:2], tree.leaf_label)) < -1:
        raise ValueError("Children and labels must be at least 0, or -1 for none.")
    parents = np.arange(n)
    leaf = tree.children_left < 0
    inner = parents[~leaf]
    children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    if not (
        np.array_equal(leaf, tree.children_right < 0)
        and np.array_equal(np.sort(children), parents[1:])
        and np.all(children > np.concatenate([inner, inner]))
    ):
        raise ValueError("Every node but the root must be one child of an earlier node.")
    if np.any((tree.leaf_label < 0) == leaf) or np.any(tree.threshold[leaf]):
        raise ValueError("Leaves must have a label of at least 0 and threshold 0, others -1.")
    if tree.leaf_value is not None:
        _check_histograms(tree.leaf_value, n)


def _check_histograms(leaf_value, n_nodes):
    if leaf_value.ndim != 2 or len(leaf_value) != n_nodes or leaf_value.shape[1] == 0:
        raise ValueError("leaf_value must have one row per node and one column per cluster.")
    if not np.all(np.isfinite(leaf_value)):
        raise ValueError("leaf_value must be finite.")


def check_splits(tree):
    """Raise a ValueError if the splits are not a CSR structure over the nodes, or have zeros."""
    leaf = tree.children_left < 0
    counts = np.diff(tree.split_indptr)
    nnz = tree.split_indices.size
    if (
        tree.split_indices.shape != (nnz,)
        or tree.split_indptr.shape != (len(leaf) + 1,)
        or tree.split_indptr[0] != 0
        or tree.split_indptr[-1] != nnz
        or np.any(counts < 0)
        or np.any(counts[leaf])
        or tree.split_weights.shape != (nnz,)
    ):
        raise ValueError("The splits must be a CSR structure with empty rows at leaves.")
    if not (np.all(np.isfinite(tree.split_weights)) and np.all(np.isfinite(tree.threshold))):
        raise ValueError("Weights and thresholds must be finite.")
    if not np.all(tree.split_weights):
        raise ValueError("Weights that are stored must not be zero.")
    if nnz == 0:
        return
    if tree.split_indices.min() < 0 or tree.split_indices.max() >= tree.n_features:
        raise ValueError(f"Split features must lie in 0..{tree.n_features - 1}.")
    within_node = np.ones(nnz, dtype=bool)
    within_node[tree.split_indptr[:-1][counts > 0]] = False
    if np.any(np.diff(tree.split_indices, prepend=-1)[within_node] <= 0):
        raise ValueError("Features must increase within a split, without repeats.")


def pruned(tree, counts=None):
    """Return the tree without tests that have no effect; see :meth:`tao_cluster.Tree.prune`.

    Parameters
    ----------
    tree : Tree
    counts : array of shape (n_nodes,), optional
        Number or weight of the rows that reach each node.

    Returns
    -------
    Tree, its nodes numbered breadth-first
    """
    order, stands_for = kept_nodes(tree, counts)
    if np.array_equal(order, np.arange(tree.n_nodes)):
        return tree
    return selected(tree, order, stands_for)


def kept_nodes(tree, counts=None):
    """Return the nodes that :func:`pruned` keeps.

    Returns
    -------
    order : int array, the kept nodes breadth-first
    stands_for : int array of shape (n_nodes,)
        The node that replaces each node wherever it was a child.
    """
    reached = None if counts is None else np.asarray(counts) > 0
    left, right = tree.children_left, tree.children_right
    stands_for = np.arange(tree.n_nodes)
    for i in tree.decision_nodes[::-1]:
        on_left, on_right = stands_for[left[i]], stands_for[right[i]]
        if tree.split_indptr[i] == tree.split_indptr[i + 1]:
            stands_for[i] = on_left if tree.threshold[i] >= 0.0 else on_right
        elif reached is not None and not reached[left[i]]:
            stands_for[i] = on_right
        elif (reached is not None and not reached[right[i]]) or _same_output(
            tree, on_left, on_right
        ):
            stands_for[i] = on_left
    order = [stands_for[0]]
    for node in order:  # the list grows during the loop: breadth-first
        if left[node] >= 0:
            order += [stands_for[left[node]], stands_for[right[node]]]
    return np.array(order), stands_for


def _same_output(tree, a, b):
    """Return whether two nodes are leaves with the same label and histogram."""
    if tree.children_left[a] >= 0 or tree.children_left[b] >= 0:
        return False
    value = tree.leaf_value
    return tree.leaf_label[a] == tree.leaf_label[b] and (
        value is None or np.array_equal(value[a], value[b])
    )


def selected(tree, order, stands_for):
    """Return the tree that consists of the nodes `order`, numbered in this order.

    stands_for[i] is the node that takes the place of node i wherever i was a child.
    """
    number = np.full(tree.n_nodes, -1)
    number[order] = np.arange(len(order))

    def renumber(children):
        children = children[order]
        return np.where(children < 0, -1, number[stands_for[children]])

    return tree.from_splits(
        renumber(tree.children_left),
        renumber(tree.children_right),
        [tree.split(i) for i in order],
        tree.threshold[order],
        tree.leaf_label[order],
        tree.n_features,
        None if tree.leaf_value is None else tree.leaf_value[order],
    )
