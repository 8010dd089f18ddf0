"""Rows as they fall through a tree: statistics at its nodes, and the ways that they take."""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._utils.matrices import check_rows
from ..columns.names import has_indicators, printable
from ..columns.view import numbers_of
from ..objectives.base import cluster_sums
from ..tree import tree_of
from ..tree.routing import kernel_arrays, project

_MOST_BARS = 30  # features of a tree that bars are chosen for


def picture_kind(tree, rows, image_shape, feature_names):
    """What suits the nodes of a tree: "image", "words" or "bars".

    Parameters
    ----------
    tree : Tree
    rows : Rows, or None
    image_shape : (height, width), or None
    feature_names : list of str, maybe Indicators

    Raises
    ------
    ValueError
        If the image has not as many pixels as there are features.
    """
    if image_shape is not None:
        if image_shape[0] * image_shape[1] != tree.n_features:
            raise ValueError(
                f"image_shape {tuple(image_shape)} does not hold {tree.n_features} features."
            )
        return "image"
    is_table = has_indicators(feature_names)  # one-hot is no text
    is_text = rows is not None and sp.issparse(rows.X) and not is_table
    return "words" if is_text or len(tree.used_features) > _MOST_BARS else "bars"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows and how they fall through a tree.

    Parameters
    ----------
    tree : Tree
    X : array or CSR matrix of shape (n, n_features)
    leaf_of_row : int array of shape (n,)
    classes : int array of shape (n,), positions in `class_names`; None if they are not known
    class_names : list of str
    weight : float64 array of shape (n,), optional; default 1 a row
    """

    tree: Any
    X: Any
    leaf_of_row: np.ndarray
    classes: np.ndarray | None
    class_names: list[str]
    weight: np.ndarray | None = None

    @classmethod
    def of(cls, model, X, y=None, class_names=None, weight=None):
        """Checked rows in the tree of a model; None where X is None.

        Raises
        ------
        ValueError
            If X does not fit the tree, `y` does not fit X or `class_names` does not fit `y`.
        """
        if X is None and y is not None:
            raise ValueError("y needs X, the rows whose classes it holds.")
        if X is None:
            return None
        tree, X = tree_of(model), check_rows(numbers_of(model, X))
        leaf_of_row = tree.apply(X)
        if y is None:
            return cls(tree, X, leaf_of_row, None, [], weight)
        y = np.asarray(y)
        if y.shape != (X.shape[0],):
            raise ValueError(f"y has shape {y.shape}, but X has {X.shape[0]} rows.")
        values, classes = np.unique(y, return_inverse=True)
        names = [printable(str(name)) for name in (values if class_names is None else class_names)]
        if len(names) != len(values):
            raise ValueError(f"Got {len(names)} class names for {len(values)} classes in y.")
        return cls(tree, X, leaf_of_row, classes, names, weight)

    def through(self, tree, stands_for):
        """The same rows in a tree whose node stands_for[i] takes the place of node i."""
        return replace(self, tree=tree, leaf_of_row=stands_for[self.leaf_of_row])

    @cached_property
    def counts(self):
        """Rows, or their weight, that reach each node."""
        return self.tree.node_counts(self.leaf_of_row, self.weight)

    @cached_property
    def limits(self):
        """Least and largest value of X."""
        return float(self.X.min()), float(self.X.max())

    @cached_property
    def means(self):
        """Means of the nodes' rows, of shape (n_nodes, n_features); 0 without rows."""
        weight = np.ones(len(self.leaf_of_row)) if self.weight is None else self.weight
        at_leaves = cluster_sums(self.X, self.leaf_of_row, weight, self.tree.n_nodes)
        sums = self.tree.path_matrix.T @ at_leaves
        return sums / np.where(self.counts > 0, self.counts, 1)[:, None]

    @cached_property
    def moments(self):
        """Mean and standard deviation of every feature over all rows."""
        if sp.issparse(self.X):
            mean, variance = mean_variance_axis(self.X, axis=0, weights=self.weight)
            return mean, np.sqrt(variance)
        mean = np.average(self.X, axis=0, weights=self.weight)
        return mean, np.sqrt(np.average((self.X - mean) ** 2, axis=0, weights=self.weight))

    def words(self, leaf, n):
        """The n features of largest mean above 0 in a leaf, and these means."""
        mean = self.means[leaf]
        most = np.argsort(-mean, kind="stable")[:n]
        most = most[mean[most] > 0]
        return most, mean[most]

    def deviations(self, leaf, n):
        """The n features in which a leaf's mean is farthest from that of all rows, and how far.

        In standard deviations of all rows.
        """
        mean, deviation = self.moments
        off = np.zeros(len(mean))
        if self.counts[leaf] > 0:
            off = (self.means[leaf] - mean) / np.where(deviation > 0, deviation, 1.0)
        most = np.argsort(-np.abs(off), kind="stable")[:n]
        return most, off[most]

    def class_shares(self, leaf):
        """Share of each class among the rows of a leaf."""
        here = self.leaf_of_row == leaf
        weight = None if self.weight is None else self.weight[here]
        counts = np.bincount(self.classes[here], weight, minlength=len(self.class_names))
        return counts / (counts.sum() or 1)

    def reaching(self, node):
        """Mask of the rows that reach a node."""
        return self.tree.path_matrix[:, [node]].toarray().ravel()[self.leaf_of_row] > 0


@dataclass(frozen=True, eq=False)
class Way:
    """The way of one row.

    Parameters
    ----------
    values : float64 array or CSR matrix of shape (1, n_features)
    leaf : int, node number
    totals : dict of float, the weighted sum by test, from the root on
        By the order of summation that routing uses.
    """

    values: Any
    leaf: int
    totals: dict


def ways(model, table):
    """The ways of rows.

    Parameters
    ----------
    model : Tree, fitted estimator, or a pipeline in its raw columns
    table : rows as :func:`tao_cluster.columns.some_rows` gives them

    Returns
    -------
    list of Way
    """
    tree, rows = tree_of(model), numbers_of(model, table)
    # An estimator compares the names of columns with those of fit; a bare array has none.
    leaves = model.apply(table) if hasattr(table, "columns") else tree.apply(rows)
    values = rows if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
    return [_way(tree, values[[i]], int(leaf)) for i, leaf in enumerate(leaves)]


def _way(tree, values, leaf):
    view, first = kernel_arrays(values), np.zeros(1, dtype=np.int64)
    nodes = [node for node, _ in itertools.pairwise(tree.path(leaf).tolist())]
    return Way(values, leaf, {i: float(project(view, first, *tree.split(i))[0]) for i in nodes})
