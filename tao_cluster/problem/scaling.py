"""Standardisation of columns, and the conversion of trees, centres and rows to and from it."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from .._utils.matrices import ranges, row_blocks
from ..objectives import Objective, cluster_means
from ..tree import midpoint
from ..tree.routing import ReducedSets, kernel_arrays, project
from .inputs import check_embedding, label_column

# Bound of the rounding errors of standardised values, relative to the values.
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Scaling:
    """The standardisation z = (x - offset) / scale of each column.

    Parameters
    ----------
    offset, scale : float64 arrays of shape (d,)
        Scales are positive.
    """

    offset: np.ndarray
    scale: np.ndarray

    @classmethod
    def from_rows(cls, X, sample_weight, names=None):
        """Return the scaling of the columns of X to mean 0 and variance 1.

        Columns of a sparse X keep their mean. Constant columns get the scale 1.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        sample_weight : float64 array of shape (n,)
        names : sequence of str of length d, optional
            Names of the columns, for the error message.

        Raises
        ------
        ValueError
            If the standard deviation of a column overflows.
        """
        is_sparse = sp.issparse(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scaler = StandardScaler(with_mean=not is_sparse).fit(X, sample_weight=sample_weight)
        offset = np.zeros(X.shape[1]) if is_sparse else scaler.mean_.astype(np.float64)
        scale = scaler.scale_.astype(np.float64)
        odd = np.flatnonzero(~np.isfinite(scaler.var_))
        low, high = ranges(X)
        is_constant = low == high
        offset = np.where(is_constant, 0.0 if is_sparse else low, offset)
        scale = np.where(is_constant, 1.0, scale)
        odd = odd[~is_constant[odd]]
        if len(odd):
            column = odd[0] if names is None else repr(names[odd[0]])
            raise ValueError(
                f"The standard deviation of column {column} of X overflows, so that it cannot be "
                "standardised; rescale it."
            )
        return cls(offset, scale)

    @classmethod
    def from_moments(cls, mean, variance, is_constant, is_sparse):
        """Return the scaling to mean 0 and variance 1 from the mean and variance of each column.

        Sparse columns keep their mean. Columns that vary only by rounding get the scale 1.

        Parameters
        ----------
        mean, variance : float64 arrays of shape (d,)
        is_constant : bool array of shape (d,)
        is_sparse : bool
        """
        rounding = (_ROUNDING * np.abs(mean)) ** 2
        scale = np.where(is_constant | (variance <= rounding), 1.0, np.sqrt(variance))
        return cls(np.zeros(len(mean)) if is_sparse else mean, scale)

    def apply(self, X):
        """Return a standardised copy of X with the same dtype.

        If X is sparse, the copy has the same index arrays.
        """
        if sp.issparse(X):
            data = (X.data / self.scale[X.indices]).astype(X.dtype, copy=False)
            return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        scaled = np.empty(X.shape, X.dtype)
        for part in row_blocks(X):
            # The right side is computed in double precision, and then rounded to the dtype of X.
            scaled[part] = (X[part] - self.offset) / self.scale
        return scaled

    def undo(self, points):
        """Convert standardised points to the units of the user: float64 array of shape (m, d)."""
        return points * self.scale + self.offset

    def apply_to_points(self, points):
        """Standardise points that are in the units of the user: float64 array of shape (m, d)."""
        return (np.asarray(points, np.float64) - self.offset) / self.scale

    def apply_to_reference(self, reference):
        """Return the parameter `reference`, standardised if it is an array of centres."""
        fits = isinstance(reference, np.ndarray) and reference.shape[1] == len(self.scale)
        return self.apply_to_points(reference) if fits else reference

    def scaled_tree(self, tree):
        """Return the tree over standardised columns that is equal to a tree in units of the user.

        Its weights are w_j s_j and its thresholds t - sum_j w_j o_j, with scales s and offsets o.
        """
        weights = tree.split_weights * self.scale[tree.split_indices]
        shifts = tree.split_weights * self.offset[tree.split_indices]
        return _with_numbers(tree, weights, tree.threshold - _sums(tree, shifts))

    def unscaled_tree(self, tree):
        """Return the tree in units of the user that is equal to a tree over standardised columns.

        Its weights are w_j / s_j and its thresholds t + sum_j w_j o_j / s_j, with scales s and
        offsets o. Tests of one feature are multiplied by s_j, so that a weight of 1 or -1 stays.
        """
        factor = np.ones(tree.n_nodes)
        is_single = np.diff(tree.split_indptr) == 1
        factor[is_single] = self.scale[tree.split_indices[tree.split_indptr[:-1][is_single]]]
        node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.split_indptr))
        weights = tree.split_weights * (factor[node] / self.scale[tree.split_indices])
        shifts = weights * self.offset[tree.split_indices]
        return _with_numbers(tree, weights, tree.threshold * factor + _sums(tree, shifts))


def _sums(tree, terms):
    """Return the sum of the terms of each node of a tree, rounded only once (`math.fsum`)."""
    bounds = tree.split_indptr
    return np.array([math.fsum(terms[first:stop]) for first, stop in itertools.pairwise(bounds)])


def _with_numbers(tree, weights, threshold):
    threshold = np.where(tree.children_left < 0, 0.0, threshold)
    return replace(tree, split_weights=weights, threshold=threshold)


def in_units_of(tree, scaling, scaled, X, leaf_of_row, n_jobs=1):
    """Return the tree in units of the user, in which all rows take the same decision paths.

    Each threshold is kept between the weighted sums of the rows on its two sides, so that rounding
    moves no row to the other side. A threshold that was equal to the value of a row, or halfway
    between two values, is so again.

    Parameters
    ----------
    tree : Tree
        A tree over `scaled`.
    scaling : Scaling
        The scaling by which `scaled` was computed from X.
    scaled, X : arrays or CSR matrices of shape (n, d)
    leaf_of_row : int array of shape (n,)
        The leaf of `tree` that each row reaches.
    n_jobs : int
        Number of threads. The result does not depend on it.

    Returns
    -------
    tree : Tree
        A tree over X.
    leaf_of_row : int array of shape (n,)
        The leaf that each row reaches in the result. It differs from the given leaf only if
        rounding moves the row in spite of the adjusted thresholds.
    """
    before, after = kernel_arrays(scaled), kernel_arrays(X)
    restored, updates, has_moved = scaling.unscaled_tree(tree), {}, False
    rows_of = ReducedSets(tree, leaf_of_row)
    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows, split = rows_of[node], restored.split(node)
        goes_left = project(before, rows, *tree.split(node), n_jobs) <= tree.threshold[node]
        values = project(after, rows, *split, n_jobs)
        threshold = _between(restored.threshold[node], values, goes_left)
        updates[node] = split, threshold
        has_moved |= not np.array_equal(values <= threshold, goes_left)
    restored = restored.with_splits(updates)
    return restored, restored.route(after, n_jobs=n_jobs) if has_moved else leaf_of_row


def _between(threshold, values, goes_left):
    """Return the threshold, moved if necessary so that it separates the values of the two sides.

    A threshold that is equal, up to rounding, to the largest value on the left or to the midpoint
    between the sides is set to this number.
    """
    low = values[goes_left].max() if goes_left.any() else -np.inf
    high = values[~goes_left].min() if not goes_left.all() else np.inf
    if not low < high:  # rounding errors have removed the gap between the two sides
        return threshold
    if np.isfinite(low) and np.isfinite(high):
        noise = _ROUNDING * max(abs(low), abs(high))
        for exact in (low, midpoint(low, high)):
            if abs(threshold - exact) <= noise:
                return exact
    return float(min(max(threshold, low), np.nextafter(high, -np.inf)))


@dataclass(frozen=True, eq=False)
class ClusteringSpace:
    """The space in which rows are clustered: X, standardised X, an embedding, or given labels.

    Parameters
    ----------
    objective : Objective
    has_embedding : bool
    scaling : Scaling, optional
        The scaling of the columns of X, if rows are clustered by standardised columns.
    classes : array of shape (k,), optional
        The labels that the tree explains.
    noise : int, optional
        The number, after those of all clusters, that stands for rows without a cluster.
    """

    objective: Objective
    has_embedding: bool
    scaling: Scaling | None
    classes: np.ndarray | None
    noise: int | None = None

    @classmethod
    def from_problem(cls, problem, inputs):
        """Return the clustering space of a fit."""
        scaling = None if inputs.has_embedding else problem.scaling
        noise = inputs.n_clusters if problem.objective.trims else None
        return cls(problem.objective, inputs.has_embedding, scaling, inputs.classes, noise)

    def label_names(self, labels):
        """Return clusters as `predict` does: cluster numbers, or the labels that are explained.

        Parameters
        ----------
        labels : int array of shape (n,)
            Numbers below 0 stand for no cluster; they become -1, or None for labels that are not
            numbers.
        """
        if self.classes is None:
            return labels if self.noise is None else np.where(labels == self.noise, -1, labels)
        names, is_noise = self.classes[labels], labels < 0
        if is_noise.any():
            is_number = names.dtype.kind in "if" and -1 not in self.classes
            names = names if is_number else names.astype(object)
            names[is_noise] = -1 if is_number else None
        return names

    def user_centers(self, centers, X, labels, weight):
        """Return centres in units of the user; for given labels, the means of their rows.

        Parameters
        ----------
        centers : float64 array of shape (k, m)
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
        weight : float64 array of shape (n,)
        """
        if self.classes is not None:
            return cluster_means(X, labels, weight, len(centers))
        centers = centers[: self.noise]
        return centers.copy() if self.scaling is None else self.scaling.undo(centers)

    def clustered_rows(self, X, y, embedding):
        """Return new rows in the clustering space: scaled rows, an embedding, or encoded labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), checked
        y : array-like of shape (n,), or None
        embedding : array-like or CSR matrix of shape (n, m), or None

        Raises
        ------
        ValueError
            If an embedding or labels are missing, or if an embedding was not used by `fit`.
        """
        if self.has_embedding == (embedding is None):
            raise ValueError(
                "fit was given an embedding; pass the embedding of these rows, too."
                if self.has_embedding
                else "fit was given no embedding; leave out the embedding of these rows."
            )
        if self.classes is not None:
            return label_column(y, self.classes)[0]
        return self.scaled(X) if embedding is None else check_embedding(embedding)

    def scaled(self, rows):
        """Return rows of X or of the embedding, standardised if the fit standardised X."""
        return rows if self.scaling is None else self.scaling.apply(rows)

    def scaled_centers(self, centers):
        """Return centres, given in units of the user, on the scale of the clustering space.

        If labels are explained, the centre of a cluster is its number.
        """
        if self.classes is not None:
            return np.arange(float(len(centers)))[:, None]
        centers = self._scaled_points(centers)
        return centers if self.noise is None else np.pad(centers, ((0, 1), (0, 0)))

    def _scaled_points(self, points):
        return points if self.scaling is None else self.scaling.apply_to_points(points)

    def distances(self, rows, centers) -> Any:
        """Return the distances of rows to centres in units of the user, as `transform` does."""
        objective = self.objective if self.objective.geometry is None else self.objective.geometry
        data = objective.prepare(self.scaled(rows))
        return objective.as_distance(objective.distances(data, self._scaled_points(centers)))
