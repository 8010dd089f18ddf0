"""The tree: an immutable struct of arrays for oblique and axis-aligned trees, and its tests."""

import json
import math
from dataclasses import dataclass, fields, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.matrices import check_rows
from ..facade import Facade
from . import routing
from .serialization import from_plain, from_text, to_plain
from .shape import Shape, check_n_features, check_nodes, check_splits, frozen, pruned

_MOST_TERMS, _MOST_LINES = 20, 200  # limits of a printed tree: features per test, and lines

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
class Tree(Shape, Facade):
    """A binary decision tree, oblique or axis-aligned, whose leaves are clusters.

    Decision node i sends a row x to the left iff w_i.x <= threshold_i. Node 0 is the root, and
    children come after their parent. The weight vectors w_i are the rows of a CSR matrix. An
    axis-aligned node has one entry of weight 1.0. A node without entries sends every x to one side
    (left iff 0 <= threshold). The arrays are read-only; methods that change something return a new
    tree.

    Parameters
    ----------
    children_left, children_right : int array of shape (n_nodes,)
        Node numbers, -1 at a leaf.
    split_indptr : int array of shape (n_nodes + 1,)
    split_indices : int array of shape (n_nonzero,)
    split_weights : float array of shape (n_nonzero,)
        The weight vectors as a CSR matrix with one row per node. Features increase within a node,
        and weights are not zero.
    threshold : float array of shape (n_nodes,)
        0 at a leaf.
    leaf_label : int array of shape (n_nodes,)
        Cluster of a leaf, -1 at a decision node.
    n_features : int
        Number of columns of the data, at least 1.
    leaf_value : float array of shape (n_nodes, n_clusters), optional
        Histogram over the clusters at each leaf. All values must be finite.

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
            array = np.array(value, dtype=dtype, order="C")  # a copy that no caller can modify
            if dtype == np.int32 and not np.array_equal(array, value):
                raise ValueError(f"{name} must contain 32-bit integers.")
            object.__setattr__(self, name, frozen(array))
        check_n_features(self.n_features)
        object.__setattr__(self, "n_features", int(self.n_features))
        check_nodes(self)
        check_splits(self)

    # ------------------------------------------------------------------ building

    @classmethod
    def single_leaf(cls, label, n_features):
        """Create the tree that assigns every row to one cluster."""
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
        """Create a tree from one pair (features, weights) per node.

        Parameters
        ----------
        splits : sequence of length n_nodes
            (indices, weights) of each decision node, indices increasing; None for no weights.
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
        """Return the features and weights of a node's test: read-only int32 and float64 arrays."""
        part = slice(self.split_indptr[node], self.split_indptr[node + 1])
        return self.split_indices[part], self.split_weights[part]

    def with_splits(self, updates):
        """Return a tree with the splits of some decision nodes replaced.

        Parameters
        ----------
        updates : dict of node number to ((indices, weights), threshold)
        """
        if not updates:
            return self
        splits, threshold = list(map(self.split, range(self.n_nodes))), self.threshold.copy()
        for node, (split, value) in updates.items():
            splits[node], threshold[node] = split, value
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
        """Return a copy of the tree with other leaf labels (and histograms)."""
        return replace(self, leaf_label=leaf_label, leaf_value=leaf_value)

    def __eq__(self, other):
        if not isinstance(other, Tree):
            return NotImplemented
        return self.n_features == other.n_features and all(
            same_array(getattr(self, name), getattr(other, name)) for name in _DTYPES
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return Tree, tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self):
        return (
            f"Tree(n_leaves={self.n_leaves}, max_depth={self.max_depth}, "
            f"n_parameters={self.n_parameters}, n_features={self.n_features})"
        )

    def __str__(self):
        """Return the tree as text: at most 20 features per test and 200 lines."""
        lines = self.to_text(max_terms=_MOST_TERMS).split("\n")
        hidden = len(lines) - _MOST_LINES
        if hidden > 0:
            lines[_MOST_LINES:] = [f"... {hidden} more lines; to_text() returns all of them"]
        return "\n".join(lines)

    # ------------------------------------------------------------------ routing

    def route(self, X, rows=None, node=0, n_jobs=1):
        """Return the leaf that each row reaches from `node`; the data must be validated already.

        Parameters
        ----------
        X : result of ``tao_cluster.tree.routing.kernel_arrays``
        rows : int64 array of shape (m,), optional
            Row numbers, by default all rows.
        node : int
            The node at which the rows start.
        n_jobs : int
            Number of threads; the result is the same for any number.

        Returns
        -------
        int32 array of shape (m,)
        """
        if rows is None:
            rows = np.arange(routing.n_rows(X))
        arrays = (
            self.children_left,
            self.children_right,
            self.split_indptr,
            self.split_indices,
            self.split_weights,
            self.threshold,
        )
        return routing.find_leaves(X, rows, node, arrays, n_jobs)

    def apply(self, X):
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        int32 array of shape (n,), node numbers

        Raises
        ------
        ValueError
            If X contains NaN or infinite values or has another number of columns.
        """
        X = check_rows(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but this tree expects {self.n_features} features."
            )
        return self.route(routing.kernel_arrays(X))

    def predict(self, X):
        """Return the cluster of each row: int32 array of shape (n,). Input as for `apply`."""
        return self.leaf_label[self.apply(X)]

    def decision_path(self, X):
        """Return a CSR indicator (n, n_nodes) of the nodes that each row visits; see `apply`."""
        return self.paths(self.apply(X))

    # ------------------------------------------------------------------ pruning

    def prune(self, counts=None):
        """Remove tests without effect; the outputs stay the same.

        A test is removed if it has no weights (every row takes the same side), if its two children
        are leaves with the same output or, with `counts`, if no row reaches one of its children
        (KDD'22 paper, end of section 7 and appendix A.2).

        Parameters
        ----------
        counts : array of shape (n_nodes,), optional
            Number or weight of the rows that reach each node; see :meth:`node_counts`. Branches
            with count 0 are removed, so the output of rows that were not counted may change.

        Returns
        -------
        Tree, with nodes in breadth-first order
        """
        return pruned(self, counts)

    def node_counts(self, leaf_of_row, sample_weight=None):
        """Count the rows that reach each node, or sum their weights.

        Parameters
        ----------
        leaf_of_row : int array of shape (n,), result of `apply`
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float64 array of shape (n_nodes,)
        """
        counts = np.bincount(leaf_of_row, weights=sample_weight, minlength=self.n_nodes)
        return self.subtree_sums(counts.astype(np.float64))

    # ------------------------------------------------------------------ storage

    def to_dict(self):
        """Convert the tree to plain Python values, ready for JSON; the inverse of `from_dict`."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data):
        """Create a tree from the result of `to_dict`; anything else raises a ValueError."""
        return from_plain(cls, data)

    def to_json(self, **options):
        """Convert the tree to JSON with all floats in full precision; see docs/guide/exports.md.

        Options are passed to ``json.dumps``.
        """
        return json.dumps(self.to_dict(), allow_nan=False, **options)

    @classmethod
    def from_json(cls, text):
        """Create a tree from the result of `to_json`; anything else raises a ValueError."""
        return from_text(cls, text)

    def _repr_html_(self):
        return self._frame()


@dataclass(frozen=True, eq=False)
class Split:
    """Test of a decision node: x goes left iff sum_j weights[j] * x[indices[j]] <= threshold.

    Parameters
    ----------
    indices : int32 array
        Features with a non-zero weight, increasing. An empty array sends all rows to one side.
    weights : float64 array of the same length
    threshold : float
    """

    indices: np.ndarray
    weights: np.ndarray
    threshold: float

    @classmethod
    def constant(cls, goes_left):
        """Create the test without features that sends every row to one side."""
        return cls(np.empty(0, np.int32), np.empty(0), 1.0 if goes_left else -1.0)

    @classmethod
    def from_feature(cls, feature, threshold):
        """Create the axis-aligned test: left iff x[feature] <= threshold."""
        return cls(np.array([feature], np.int32), np.ones(1), float(threshold))

    @classmethod
    def from_tree(cls, tree, node):
        """Return the test of a node of a tree."""
        return cls(*tree.split(node), float(tree.threshold[node]))

    @classmethod
    def from_dense(cls, weights, threshold):
        """Create a split from a weight vector of shape (d,), without its zeros."""
        indices = np.flatnonzero(weights).astype(np.int32)
        return cls(indices, np.asarray(weights, dtype=np.float64)[indices], float(threshold))

    def same_as(self, other):
        """Return whether another split has the same features, weights and threshold."""
        return (
            self.threshold == other.threshold
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.weights, other.weights)
        )


def midpoint(low, high):
    """Return the midpoint of two floats, rounded so that low <= result < high.

    As a threshold the result therefore separates values at `low` from values at `high`.

    Parameters
    ----------
    low, high : float, low < high

    Examples
    --------
    >>> midpoint(1.9, 3.0)
    2.45
    """
    low, high = float(low), float(high)
    middle = low + (high - low) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    return middle + 0.0 if middle < high else low  # adding 0.0 turns -0.0 into 0.0


def tree_of(model):
    """Return the tree of a fitted estimator, or the tree itself.

    Raises
    ------
    TypeError
        If the object is neither.
    NotFittedError
        If the estimator is not fitted.
    """
    if hasattr(model, "fit"):
        check_is_fitted(model)
    tree = getattr(model, "tree_", model)
    if not hasattr(tree, "split_indptr"):
        raise TypeError(
            f"Expected a Tree, or a fitted estimator with tree_, got {type(model).__name__}."
        )
    return tree


def labels_of(model, name="labels_"):
    """Return the labels of the rows to which an estimator was fitted.

    Raises
    ------
    ValueError
        If the estimator was fitted to rows in blocks. It then stores nothing per row.
    """
    tree_of(model)  # raises NotFittedError if the model is not fitted
    labels = getattr(model, name, None)
    if labels is None:
        raise ValueError(
            f"The model has no {name}: it was fitted to rows in blocks. Its inertia_, "
            "cost_increase_ and node_counts_ are of all rows; predict(X) gives clusters."
        )
    return labels


def same_array(a, b):
    """Return whether two arrays (or None) are equal."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)
