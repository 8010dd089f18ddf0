"""Rows in a tree: statistics of the rows of each node, and decision paths of single rows."""

import itertools
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._utils.frames import check_aligned, check_list_of_names
from .._utils.matrices import check_rows
from ..columns.names import Indicator, has_indicators, printable
from ..columns.view import gaps_of, numbers_of
from ..objectives.base import cluster_sums
from ..tree import tree_of
from ..tree.routing import kernel_arrays, project
from .values import Feature

_NEGATIVE = re.compile(r"(?<!\w)-")  # not the hyphens of a date


def picture_kind(tree, rows, image_shape, feature_names):
    """Return how the nodes of a tree are best shown: as "image", "words" or "bars".

    Parameters
    ----------
    tree : Tree
    rows : Rows or None
    image_shape : (height, width) or None
    feature_names : list of str or Indicator

    Returns
    -------
    str
        "image" if there is an image shape. "words" if the rows are sparse and not one-hot encoded,
        since their features are then the words of a vocabulary. "bars" otherwise.

    Raises
    ------
    ValueError
        If the number of pixels is not the number of features.
    """
    if image_shape is not None:
        check_image_shape(image_shape, tree.n_features)
        return "image"
    is_table = has_indicators(feature_names)  # one-hot encoded columns are not words
    is_text = rows is not None and sp.issparse(rows.X) and not is_table
    return "words" if is_text else "bars"


def check_image_shape(image_shape, n_features):
    """Raise a ValueError if an image of shape (height, width) does not have a pixel per feature."""
    if image_shape[0] * image_shape[1] != n_features:
        raise ValueError(f"image_shape {tuple(image_shape)} does not hold {n_features} features.")


class Difference(NamedTuple):
    """The mean of a feature in a leaf, beside its mean over all rows.

    Parameters
    ----------
    feature : int
    name : str
        The name of the feature; for the level of a categorical column "island: Torgersen".
    deviation : float
        The difference of the means, in standard deviations of all rows.
    text : str
        Both means in the units of the column: "83 000 (47 000)", "84 % (15 %)" or two dates.
    """

    feature: int
    name: str
    deviation: float
    text: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows and the leaves of a tree that they reach.

    Parameters
    ----------
    tree : Tree
    X : array or CSR matrix of shape (n, n_features)
    leaf_of_row : int array of shape (n,)
        Leaf that each row reaches.
    classes : int array of shape (n,) or None
        Positions of the classes of the rows in `class_names`; None if they are unknown.
    class_names : list of str
    weight : float64 array of shape (n,), optional
        Sample weights; the default is 1 per row.
    known_clusters : int array of shape (n,), optional
        Clusters of the rows if they are not those of the leaves, as in a part of a tree.
    gaps : bool array of shape (n, n_features), optional
        Where values of X stand for missing ones, which means leave out.
    """

    tree: Any
    X: Any
    leaf_of_row: np.ndarray
    classes: np.ndarray | None
    class_names: list[str]
    weight: np.ndarray | None = None
    known_clusters: np.ndarray | None = None
    gaps: np.ndarray | None = None

    @classmethod
    def from_data(cls, model, X, y=None, class_names=None, weight=None):
        """Check rows and route them through the tree of a model.

        Returns
        -------
        Rows, or None if X is None

        Raises
        ------
        ValueError
            If X does not fit the tree, `y` does not fit X or `class_names` does not fit `y`.
        """
        if class_names is not None and y is None:
            raise ValueError("class_names needs y, the classes of the rows that it names.")
        if X is None and y is not None:
            raise ValueError("y needs X, the rows whose classes it gives.")
        if X is None:
            return None
        check_aligned(X, y=y)
        tree, gaps, X = tree_of(model), gaps_of(model, X), check_rows(numbers_of(model, X))
        leaf_of_row = tree.apply(X)
        if y is None:
            return cls(tree, X, leaf_of_row, None, [], weight, gaps=gaps)
        y = np.asarray(y)
        if y.shape != (X.shape[0],):
            raise ValueError(f"y has shape {y.shape}, but X has {X.shape[0]} rows.")
        values, classes = np.unique(y, return_inverse=True)
        check_list_of_names(class_names, "class_names")
        names = [printable(str(name)) for name in (values if class_names is None else class_names)]
        if len(names) != len(values):
            raise ValueError(f"Got {len(names)} class names for {len(values)} classes in y.")
        return cls(tree, X, leaf_of_row, classes, names, weight, gaps=gaps)

    def through(self, tree, stands_for):
        """Return a copy of the rows for another tree, such as the upper part of this tree.

        The rows of leaf i of this tree are in the leaf stands_for[i] of `tree`. They keep their
        clusters. Rows of leaves with stands_for[i] = -1 are left out.
        """
        leaf_of_row = stands_for[self.leaf_of_row]
        here = np.flatnonzero(leaf_of_row >= 0)
        kept = {"X": self.X, "leaf_of_row": leaf_of_row, "classes": self.classes}
        kept |= {"weight": self.weight, "known_clusters": self.clusters, "gaps": self.gaps}
        if len(here) < len(leaf_of_row):
            kept = {name: None if part is None else part[here] for name, part in kept.items()}
        return replace(self, tree=tree, **kept)

    @property
    def clusters(self):
        """Cluster of each row: int array of shape (n,)."""
        if self.known_clusters is not None:
            return self.known_clusters
        return self.tree.leaf_label[self.leaf_of_row]

    @cached_property
    def counts(self):
        """Sum of the weights of the rows that reach each node; without weights, their number."""
        return self.tree.node_counts(self.leaf_of_row, self.weight)

    @cached_property
    def limits(self):
        """Smallest and largest value of X, over all rows and features."""
        return float(self.X.min()), float(self.X.max())

    @cached_property
    def means(self):
        """Mean of the rows of each node: array (n_nodes, n_features), 0 at nodes without rows.

        It is NaN if all values of the rows are missing.
        """

        def sums(values):
            at_leaves = cluster_sums(values, self.leaf_of_row, weight, self.tree.n_nodes)
            return self.tree.path_matrix.T @ at_leaves

        weight = np.ones(len(self.leaf_of_row)) if self.weight is None else self.weight
        X, counts = self.X, self.counts[:, None]
        if self.gaps is not None:
            X, counts = np.where(self.gaps, 0.0, self.X), sums((~self.gaps).astype(np.float64))
        unknown = np.where(self.counts[:, None] > 0, np.nan, 1.0)
        return sums(X) / np.where(counts > 0, counts, unknown)

    @cached_property
    def moments(self):
        """Mean and standard deviation of every feature over all rows."""
        if sp.issparse(self.X):
            mean, variance = mean_variance_axis(self.X, axis=0, weights=self.weight)
            return mean, np.sqrt(variance)
        X = self.X if self.gaps is None else np.ma.array(self.X, mask=self.gaps)
        mean = np.ma.filled(np.ma.average(X, axis=0, weights=self.weight), 0.0)
        variance = np.ma.average((X - mean) ** 2, axis=0, weights=self.weight)
        return mean, np.sqrt(np.ma.filled(variance, 0.0))

    def words(self, leaf, n):
        """Return the n features with the largest positive mean in a leaf, and these means."""
        mean = self.means[leaf]
        most = np.argsort(-mean, kind="stable")[:n]
        most = most[mean[most] > 0]
        return most, mean[most]

    def differences(self, leaf, n, names):
        """Return the n features whose mean in a leaf deviates most from the mean of all rows.

        Deviations are compared in standard deviations of all rows.

        Parameters
        ----------
        leaf : int
        n : int
        names : sequence of str, names of all features

        Returns
        -------
        list of Difference, the largest deviation first
        """
        mean, deviation = self.moments
        off = np.zeros(len(mean))
        if self.counts[leaf] > 0:
            off = (self.means[leaf] - mean) / np.where(deviation > 0, deviation, 1.0)
            off[np.isnan(off)] = 0.0
        found = []
        for j in np.argsort(-np.abs(off), kind="stable")[:n].tolist():
            name, is_share = names[j], bool(self._is_binary[j])
            feature = Feature("", "", is_share=is_share, reader=getattr(name, "reader", None))
            numbers = float(self.means[leaf, j]), float(mean[j])
            both = (feature.text(number, float(deviation[j])) for number in numbers)
            text = _NEGATIVE.sub("\N{MINUS SIGN}", "{} ({})".format(*both))
            if is_share and isinstance(name, Indicator):
                name = f"{printable(name.column)}: {name.level}"
            found.append(Difference(j, str(name), float(off[j]), text))
        return found

    @cached_property
    def _is_binary(self):
        """Whether all values of each feature are 0 or 1: bool array of shape (n_features,)."""
        if sp.issparse(self.X):
            others = self.X.indices[(self.X.data != 0) & (self.X.data != 1)]
            return np.bincount(others, minlength=self.X.shape[1]) == 0
        return ((self.X == 0) | (self.X == 1)).all(axis=0)

    def class_shares(self, leaf):
        """Return the share of each class among the rows of a leaf."""
        here = self.leaf_of_row == leaf
        weight = None if self.weight is None else self.weight[here]
        counts = np.bincount(self.classes[here], weight, minlength=len(self.class_names))
        return counts / (counts.sum() or 1)

    def reaching(self, node):
        """Return a mask of the rows that reach a node."""
        return self.tree.path_matrix[:, [node]].toarray().ravel()[self.leaf_of_row] > 0


@dataclass(frozen=True, eq=False)
class DecisionPath:
    """Decision path of one row.

    Parameters
    ----------
    values : float64 array or CSR matrix of shape (1, n_features)
        The row.
    leaf : int
        Node number of its leaf.
    totals : dict of float
        Weighted sum of each test on the path by node number, in the order of the path. The terms
        of a sum are added in the same order as in `predict`.
    """

    values: Any
    leaf: int
    totals: dict


def decision_paths(model, table):
    """Return the decision path of each row.

    Parameters
    ----------
    model : Tree, fitted estimator or RawView of a pipeline
    table : result of :func:`tao_cluster.columns.some_rows`

    Returns
    -------
    list of DecisionPath
    """
    tree, rows = tree_of(model), numbers_of(model, table)
    # A table keeps its column names, which an estimator compares with those of the fit.
    leaves = model.apply(table) if hasattr(table, "columns") else tree.apply(rows)
    values = rows if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
    return [_path(tree, values[[i]], int(leaf)) for i, leaf in enumerate(leaves)]


def _path(tree, values, leaf):
    view, first = kernel_arrays(values), np.zeros(1, dtype=np.int64)
    nodes = [node for node, _ in itertools.pairwise(tree.path(leaf).tolist())]
    return DecisionPath(
        values, leaf, {i: float(project(view, first, *tree.split(i))[0]) for i in nodes}
    )
