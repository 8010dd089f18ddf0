"""What follows from the arrays of a tree: its leaves, depths, paths and sizes."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._utils.jit import jit


class Shape:
    """Base of a tree: properties that are worked out of its arrays, once."""

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
        """Number of clusters that leaves have."""
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
        for node in range(1, self.n_nodes):  # parents come first
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
        """Non-zero weights + thresholds + leaves, as in the tables of the KDD'22 paper.

        An axis-aligned node counts 2 (feature and threshold), so ten leaves make 28.
        """
        return self.n_nonzero + len(self.decision_nodes) + self.n_leaves

    @cached_property
    def subtree_parameters(self):
        """Parameters of the subtree below each node, its own test included: int array."""
        size = np.diff(self.split_indptr) + 1  # a threshold or a leaf
        for node in self.decision_nodes[::-1]:  # children come after their parent
            size[node] += size[self.children_left[node]] + size[self.children_right[node]]
        return frozen(size)

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

        Of a chain its size is the square of the tree's: see :meth:`paths` for some nodes.
        """
        return self.paths(np.arange(self.n_nodes))

    def path(self, node):
        """Nodes from the root to a node: int array."""
        nodes = [int(node)]
        while nodes[-1]:
            nodes.append(int(self.parent[nodes[-1]]))
        return np.array(nodes[::-1])

    def paths(self, nodes):
        """CSR indicator (m, n_nodes): row i marks the nodes from the root to nodes[i].

        Parameters
        ----------
        nodes : int array of shape (m,), maybe with repeats
        """
        distinct, place = np.unique(nodes, return_inverse=True)
        indptr = np.append(0, np.cumsum(self.depth[distinct] + np.int64(1)))
        indices = np.empty(indptr[-1], dtype=np.int32)
        _fill_paths(self.parent, distinct, indptr, indices)
        ones = np.ones(len(indices), dtype=np.int8)
        found = sp.csr_matrix((ones, indices, indptr), shape=(len(distinct), self.n_nodes))
        return found if np.array_equal(distinct, nodes) else found[place]

    def sums_below(self, values):
        """Sum of the values of each node and all below it, in the order of their numbers.

        Parameters
        ----------
        values : float64 array of shape (n_nodes,)

        Returns
        -------
        float64 array of shape (n_nodes,)
        """
        return _sums_below(self.parent, values)


def frozen(array):
    """The array, read-only from now on."""
    array.setflags(write=False)
    return array


@jit
def _fill_paths(parent, nodes, indptr, indices):
    """Write the path to each node, the root first, into its part of `indices`."""
    for i in range(len(nodes)):
        node = nodes[i]
        for place in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            indices[place] = node
            node = parent[node]


@jit
def _sums_below(parent, values):
    """Every value added to all nodes above it: no memory but the result."""
    sums = np.zeros(len(values))
    for start in range(len(values)):
        node = start if values[start] != 0.0 else -1
        while node >= 0:
            sums[node] += values[start]
            node = parent[node]
    return sums
