"""The tree: one frozen struct of arrays for oblique and axis-aligned trees alike."""

import json
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from . import routing

_DTYPES = {
    "children_left": np.int32,
    "children_right": np.int32,
    "split_indptr": np.int32,
    "split_indices": np.int32,
    "split_weights": np.float64,
    "threshold": np.float64,
    "leaf_label": np.int32,
    "leaf_value": np.float64,
}


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A binary decision tree whose node i sends x to the left iff w_i.x <= threshold_i.

    Node 0 is the root and children come after their parent. The weight vectors w_i are the
    rows of a CSR matrix; an axis-aligned node is a row with one entry of weight 1.0, and a
    row without entries sends every x to one side (left iff 0 <= threshold). Arrays are
    read-only; updates return a new tree.

    Parameters
    ----------
    children_left, children_right : int array of shape (n_nodes,)
        Node numbers, -1 at a leaf.
    split_indptr, split_indices, split_weights : arrays
        The weights as CSR over nodes; features increase within a node, weights are not zero.
    threshold : float array of shape (n_nodes,)
        0 at a leaf.
    leaf_label : int array of shape (n_nodes,)
        Cluster of a leaf, -1 at a decision node.
    n_features : int
        Columns of the data it was built on.
    leaf_value : float array of shape (n_nodes, n_clusters), optional
        Histogram over clusters at a leaf.

    Raises
    ------
    ValueError
        If the arrays do not describe such a tree.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> tree = Tree.from_splits(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1],
    ...     splits=[([0, 1], [1.0, -2.0]), None, None], threshold=[0.5, 0, 0],
    ...     leaf_label=[-1, 0, 1], n_features=2)
    >>> tree.predict([[0.5, 0.0], [3.0, 1.0]])
    array([0, 1], dtype=int32)
    """

    children_left: np.ndarray
    children_right: np.ndarray
    split_indptr: np.ndarray
    split_indices: np.ndarray
    split_weights: np.ndarray
    threshold: np.ndarray
    leaf_label: np.ndarray
    n_features: int
    leaf_value: np.ndarray | None = None

    def __post_init__(self):
        for name, dtype in _DTYPES.items():
            value = getattr(self, name)
            if value is None:
                continue
            array = np.array(value, dtype=dtype, order="C")  # a copy: nobody else can write to it
            if dtype == np.int32 and not np.array_equal(array, value):
                raise ValueError(f"{name} must hold whole numbers of 32 bits.")
            object.__setattr__(self, name, _frozen(array))
        object.__setattr__(self, "n_features", int(self.n_features))
        self._check()

    def _check(self):
        n = len(self.children_left)
        per_node = (self.children_right, self.threshold, self.leaf_label)
        if n == 0 or any(array.shape != (n,) for array in per_node):
            raise ValueError("A tree needs at least one node and node arrays of equal length.")
        parents = np.arange(n)
        leaf = self.children_left < 0
        inner = parents[~leaf]
        children = np.concatenate([self.children_left[inner], self.children_right[inner]])
        if not (
            np.array_equal(leaf, self.children_right < 0)
            and np.array_equal(np.sort(children), parents[1:])
            and np.all(children > np.concatenate([inner, inner]))
        ):
            raise ValueError("Every node but the root must be one child of an earlier node.")
        self._check_splits(n, leaf)
        if np.any((self.leaf_label < 0) == leaf) or np.any(self.threshold[leaf]):
            raise ValueError("Leaves must have a label of at least 0 and threshold 0, others -1.")
        if self.leaf_value is not None and self.leaf_value.shape[:1] != (n,):
            raise ValueError("leaf_value must have one row a node.")

    def _check_splits(self, n, leaf):
        counts = np.diff(self.split_indptr)
        nnz = len(self.split_indices)
        if (
            self.split_indptr.shape != (n + 1,)
            or self.split_indptr[0] != 0
            or self.split_indptr[-1] != nnz
            or np.any(counts < 0)
            or np.any(counts[leaf])
            or self.split_weights.shape != (nnz,)
        ):
            raise ValueError("The splits must be a CSR structure with empty rows at leaves.")
        if not (np.all(np.isfinite(self.split_weights)) and np.all(np.isfinite(self.threshold))):
            raise ValueError("Weights and thresholds must be finite.")
        if not np.all(self.split_weights):
            raise ValueError("Weights that are stored must not be zero.")
        if nnz == 0:
            return
        if self.split_indices.min() < 0 or self.split_indices.max() >= self.n_features:
            raise ValueError(f"Split features must lie in 0..{self.n_features - 1}.")
        within_node = np.ones(nnz, dtype=bool)
        within_node[self.split_indptr[:-1][counts > 0]] = False
        if np.any(np.diff(self.split_indices, prepend=-1)[within_node] <= 0):
            raise ValueError("Features must increase within a split, without repeats.")

    # ------------------------------------------------------------------ building

    @classmethod
    def single_leaf(cls, label, n_features):
        """The tree that puts every row into one cluster."""
        return cls.from_splits([-1], [-1], [None], [0.0], [label], n_features)

    @classmethod
    def from_splits(
        cls,
        children_left,
        children_right,
        splits,
        threshold,
        leaf_label,
        n_features,
        leaf_value=None,
    ):
        """Build a tree from one (features, weights) pair a node.

        Parameters
        ----------
        splits : sequence of length n_nodes
            (indices, weights) of a decision node, indices increasing; None for no weights.
        children_left, children_right, threshold, leaf_label, n_features, leaf_value
            As in :class:`Tree`.
        """
        pairs = [((), ()) if split is None else split for split in splits]
        counts = [len(indices) for indices, _ in pairs]
        return cls(
            children_left,
            children_right,
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([np.asarray(indices, np.int32) for indices, _ in pairs]),
            np.concatenate([np.asarray(weights, np.float64) for _, weights in pairs]),
            threshold,
            leaf_label,
            n_features,
            leaf_value,
        )

    def split(self, node):
        """Features and weights of a node: (int32 array, float64 array), both read-only."""
        part = slice(self.split_indptr[node], self.split_indptr[node + 1])
        return self.split_indices[part], self.split_weights[part]

    def with_splits(self, updates):
        """A tree with the splits of some decision nodes replaced.

        Parameters
        ----------
        updates : dict of int to ((indices, weights), threshold)
        """
        if not updates:
            return self
        splits = [self.split(i) for i in range(self.n_nodes)]
        threshold = self.threshold.copy()
        for node, (split, value) in updates.items():
            splits[node] = split
            threshold[node] = value
        return Tree.from_splits(
            self.children_left,
            self.children_right,
            splits,
            threshold,
            self.leaf_label,
            self.n_features,
            self.leaf_value,
        )

    def with_leaves(self, leaf_label, leaf_value=None):
        """A tree with other leaf labels (and histograms)."""
        return replace(self, leaf_label=leaf_label, leaf_value=leaf_value)

    # ------------------------------------------------------------------ structure

    def __eq__(self, other):
        if not isinstance(other, Tree):
            return NotImplemented
        return self.n_features == other.n_features and all(
            same_array(getattr(self, name), getattr(other, name)) for name in _DTYPES
        )

    __hash__ = None

    def __reduce__(self):
        return Tree, tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self):
        return (
            f"Tree(n_leaves={self.n_leaves}, max_depth={self.max_depth}, "
            f"n_parameters={self.n_parameters}, n_features={self.n_features})"
        )

    @property
    def n_nodes(self):
        """Number of nodes, leaves included."""
        return len(self.children_left)

    @cached_property
    def leaves(self):
        """Node numbers of the leaves, increasing."""
        return _frozen(np.flatnonzero(self.children_left < 0))

    @cached_property
    def decision_nodes(self):
        """Node numbers of the decision nodes, increasing."""
        return _frozen(np.flatnonzero(self.children_left >= 0))

    @property
    def n_leaves(self):
        """Number of leaves."""
        return len(self.leaves)

    @cached_property
    def parent(self):
        """Parent of each node, -1 for the root: int32 array of shape (n_nodes,)."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        for children in (self.children_left, self.children_right):
            parent[children[self.decision_nodes]] = self.decision_nodes
        return _frozen(parent)

    @cached_property
    def depth(self):
        """Number of tests above each node: int32 array of shape (n_nodes,)."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in range(1, self.n_nodes):  # parents come first
            depth[node] = depth[self.parent[node]] + 1
        return _frozen(depth)

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
        """CSR indicator (n_nodes, n_nodes): row i marks the nodes from the root to i."""
        rows = []
        for node in range(self.n_nodes):
            rows.append([*rows[self.parent[node]], node] if node else [0])
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        ones = np.ones(indptr[-1], dtype=np.int8)
        return sp.csr_matrix((ones, np.concatenate(rows), indptr), shape=(self.n_nodes,) * 2)

    # ------------------------------------------------------------------ routing

    def route(self, view, rows=None, node=0, n_jobs=1, sides=None):
        """Leaf that rows reach from a node, for data already checked.

        Parameters
        ----------
        view : result of :func:`tao_cluster.routing.kernel_view`
        rows : int64 array of shape (m,), default all
        node : int, where the rows start
        n_jobs : int, threads; the result is the same for any number
        sides : int8 array of shape (n_nodes, n), optional
            Known decisions; see :func:`tao_cluster.routing.descend`.

        Returns
        -------
        int32 array of shape (m,)
        """
        if rows is None:
            rows = np.arange(routing.n_rows(view))
        arrays = (
            self.children_left,
            self.children_right,
            self.split_indptr,
            self.split_indices,
            self.split_weights,
            self.threshold,
        )
        return routing.descend(view, rows, node, arrays, n_jobs, sides)

    def apply(self, X):
        """Leaf that each row reaches.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        int32 array of shape (n,), node numbers

        Raises
        ------
        ValueError
            If X has NaN or infinite values or another number of columns.
        """
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but this tree expects {self.n_features} features."
            )
        return self.route(routing.kernel_view(X))

    def predict(self, X):
        """Cluster of each row: int32 array of shape (n,). Same input and errors as `apply`."""
        return self.leaf_label[self.apply(X)]

    def decision_path(self, X):
        """CSR indicator (n, n_nodes) of the nodes each row visits. Input as for `apply`."""
        return self.path_matrix[self.apply(X)]

    # ------------------------------------------------------------------ pruning

    def prune(self, counts=None):
        """The smallest tree with the same outputs that this tree's own nodes give.

        Removed are tests without weights (every row takes one side), tests whose two sides
        are leaves with the same output and, with `counts`, branches that no row reaches
        (KDD'22 paper, end of section 7 and appendix A.2).

        Parameters
        ----------
        counts : array of shape (n_nodes,), optional
            Rows, or their weight, that reach each node; see :meth:`node_counts`. A branch
            with count 0 is removed, so rows unlike those counted may get another output.

        Returns
        -------
        Tree, its nodes numbered breadth-first
        """
        reached = None if counts is None else np.asarray(counts) > 0
        stands_for = np.arange(self.n_nodes)  # the node that takes this one's place
        for i in self.decision_nodes[::-1]:
            left, right = stands_for[self.children_left[i]], stands_for[self.children_right[i]]
            if self.split_indptr[i] == self.split_indptr[i + 1]:
                stands_for[i] = left if self.threshold[i] >= 0.0 else right
            elif reached is not None and not reached[self.children_left[i]]:
                stands_for[i] = right
            elif reached is not None and not reached[self.children_right[i]]:
                stands_for[i] = left
            elif self._same_output(left, right):
                stands_for[i] = left
        order = [stands_for[0]]
        for node in order:  # grows while it is read: breadth-first
            if self.children_left[node] >= 0:
                order.append(stands_for[self.children_left[node]])
                order.append(stands_for[self.children_right[node]])
        return self._select(np.array(order), stands_for)

    def _same_output(self, a, b):
        if self.children_left[a] >= 0 or self.children_left[b] >= 0:
            return False
        value = self.leaf_value
        return self.leaf_label[a] == self.leaf_label[b] and (
            value is None or np.array_equal(value[a], value[b])
        )

    def _select(self, order, stands_for):
        """The tree of the nodes `order`, where node i's place is taken by stands_for[i]."""
        number = np.full(self.n_nodes, -1)
        number[order] = np.arange(len(order))

        def renumber(children):
            children = children[order]
            return np.where(children < 0, -1, number[stands_for[children]])

        return Tree.from_splits(
            renumber(self.children_left),
            renumber(self.children_right),
            [self.split(i) for i in order],
            self.threshold[order],
            self.leaf_label[order],
            self.n_features,
            None if self.leaf_value is None else self.leaf_value[order],
        )

    def node_counts(self, leaf_of_row, sample_weight=None):
        """Rows, or their weight, that reach each node.

        Parameters
        ----------
        leaf_of_row : int array of shape (n,), result of `apply`
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float64 array of shape (n_nodes,)
        """
        counts = np.bincount(leaf_of_row, weights=sample_weight, minlength=self.n_nodes)
        return self.path_matrix.T @ counts.astype(np.float64)

    # ------------------------------------------------------------------ what people read

    def to_text(self, feature_names=None, **options):
        """The tree as indented text; see :func:`tao_cluster.export.to_text`."""
        from .export import to_text

        return to_text(self, feature_names, **options)

    def to_rules(self, feature_names=None, **options):
        """One "if ... then cluster" sentence a leaf; see :func:`tao_cluster.export.to_rules`."""
        from .export import to_rules

        return to_rules(self, feature_names, **options)

    def _repr_html_(self):
        from .page import to_frame

        return to_frame(self)

    def plot(self, **options):
        """Draw the tree with matplotlib; see :func:`tao_cluster.plot.plot_tree`."""
        from .plot import plot_tree

        return plot_tree(self, **options)

    def to_dict(self):
        """The tree as plain Python values, ready for JSON; inverse of `from_dict`."""
        from .export import to_dict

        return to_dict(self)

    @staticmethod
    def from_dict(data):
        """Tree from the result of `to_dict`; ValueError for anything else."""
        from .export import from_dict

        return from_dict(data)

    def to_json(self, **options):
        """JSON text with every float in full precision; options go to :func:`json.dumps`."""
        return json.dumps(self.to_dict(), allow_nan=False, **options)

    @staticmethod
    def from_json(text):
        """Tree from the result of `to_json`; ValueError for anything else."""
        return Tree.from_dict(json.loads(text))


def same_array(a, b):
    """Whether two arrays, or None, are equal."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def _frozen(array):
    array.setflags(write=False)
    return array
