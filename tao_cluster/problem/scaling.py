"""Standardised columns, and trees, centres and new rows between them and the user's units."""

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

_ROUNDING = 16 * np.finfo(np.float64).eps  # of the terms of a sum


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine change of columns z = (x - offset) / scale.

    Parameters
    ----------
    offset, scale : float64 arrays of shape (d,); scales are positive
    """

    offset: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X, sample_weight):
        """The change to mean 0 and variance 1; of sparse columns to variance 1 alone.

        Constant columns keep their scale.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        sample_weight : float64 array of shape (n,)

        Raises
        ------
        ValueError
            If the spread of a column overflows.
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
            raise ValueError(
                f"The spread of column {odd[0]} of X overflows, so that it cannot be "
                "standardised; rescale it."
            )
        return cls(offset, scale)

    @classmethod
    def of_moments(cls, mean, variance, is_constant, is_sparse):
        """The same change, of moments of columns; what varies by rounding keeps its scale.

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
        """Rows on the common scale, a copy of the same type; a sparse one shares its structure."""
        if sp.issparse(X):
            data = (X.data / self.scale[X.indices]).astype(X.dtype, copy=False)
            return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        scaled = np.empty(X.shape, X.dtype)
        for part in row_blocks(X):
            scaled[part] = (X[part] - self.offset) / self.scale  # in double precision
        return scaled

    def undo(self, points):
        """Points on the common scale in the user's units: float64 array of shape (m, d)."""
        return points * self.scale + self.offset

    def of_points(self, points):
        """Points in the user's units on the common scale: float64 array of shape (m, d)."""
        return (np.asarray(points, np.float64) - self.offset) / self.scale

    def of_centers(self, reference):
        """The same for the centres of a reference, if it is an array that fits the columns."""
        fits = isinstance(reference, np.ndarray) and reference.shape[1] == len(self.scale)
        return self.of_points(reference) if fits else reference

    def scaled_tree(self, tree):
        """A tree in the user's units as one on the common scale: w_j s_j, t - sum_j w_j o_j."""
        weights = tree.split_weights * self.scale[tree.split_indices]
        shifts = tree.split_weights * self.offset[tree.split_indices]
        return _with_numbers(tree, weights, tree.threshold - _sums(tree, shifts))

    def unscaled_tree(self, tree):
        """A tree on the common scale as one in the user's units.

        Tests of one feature keep weight 1 or -1, where they have it; others are w_j / s_j <= t +
        sum_j w_j o_j / s_j.
        """
        factor = np.ones(tree.n_nodes)
        is_single = np.diff(tree.split_indptr) == 1
        factor[is_single] = self.scale[tree.split_indices[tree.split_indptr[:-1][is_single]]]
        node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.split_indptr))
        weights = tree.split_weights * (factor[node] / self.scale[tree.split_indices])
        shifts = weights * self.offset[tree.split_indices]
        return _with_numbers(tree, weights, tree.threshold * factor + _sums(tree, shifts))


def _sums(tree, terms):
    """Sum over the terms of each node, correctly rounded."""
    bounds = tree.split_indptr
    return np.array([math.fsum(terms[first:stop]) for first, stop in itertools.pairwise(bounds)])


def _with_numbers(tree, weights, threshold):
    threshold = np.where(tree.children_left < 0, 0.0, threshold)
    return replace(tree, split_weights=weights, threshold=threshold)


def in_units_of(tree, scaling, scaled, X, leaf_of_row, n_jobs=1):
    """The tree whose tests read columns as they are, by which rows take the same paths.

    Thresholds are set between the sums of the rows on their two sides, so that the rounding of
    either scale moves no row; where they were a row's value or halfway between two, they are so
    again.

    Parameters
    ----------
    tree : Tree, over `scaled`
    scaling : Scaling, which has made `scaled` of X
    scaled, X : arrays or CSR matrices of shape (n, d)
    leaf_of_row : int array of shape (n,), the leaf of `tree` that each row reaches
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    tree : Tree, over X
    leaf_of_row : int array of shape (n,); other leaves only where rounding moves a row after all
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
    """The threshold, moved by no more than rounding to part the values as they are to be."""
    low = values[goes_left].max() if goes_left.any() else -np.inf
    high = values[~goes_left].min() if not goes_left.all() else np.inf
    if not low < high:  # sums that are equal but for rounding
        return threshold
    if np.isfinite(low) and np.isfinite(high):
        noise = _ROUNDING * max(abs(low), abs(high))
        for exact in (low, midpoint(low, high)):
            if abs(threshold - exact) <= noise:
                return exact
    return float(min(max(threshold, low), np.nextafter(high, -np.inf)))


@dataclass(frozen=True, eq=False)
class ClusteringSpace:
    """The space of the centres: that of X, standardised or not, an embedding, or given labels.

    Parameters
    ----------
    objective : Objective
    has_embedding : bool
    scaling : Scaling, optional
        Of the columns of X, where rows are clustered by them.
    classes : array of shape (k,), optional
        The labels that the tree explains.
    """

    objective: Objective
    has_embedding: bool
    scaling: Scaling | None
    classes: np.ndarray | None

    @classmethod
    def of(cls, problem, inputs):
        """The space of a problem and of the arguments of the fit that it was made of."""
        is_scaled = problem.space is problem.X
        scaling = problem.scaling if is_scaled or inputs.classes is not None else None
        return cls(problem.objective, inputs.has_embedding, scaling, inputs.classes)

    def named(self, labels):
        """Clusters as `predict` gives them: numbers, or the labels that they stand for.

        Parameters
        ----------
        labels : int array of shape (n,); below 0 for no cluster, which is -1 or None
        """
        if self.classes is None:
            return labels
        names, is_noise = self.classes[labels], labels < 0
        if is_noise.any():
            is_number = names.dtype.kind in "if"
            names = names if is_number else names.astype(object)
            names[is_noise] = -1 if is_number else None
        return names

    def shown(self, centers, X, labels, weight):
        """Centres in the user's units; where the objective has none, the means of their rows.

        Parameters
        ----------
        centers : float64 array of shape (k, m)
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
        weight : float64 array of shape (n,)
        """
        if self.classes is not None:
            return cluster_means(X, labels, weight, len(centers))
        return centers.copy() if self.scaling is None else self.scaling.undo(centers)

    def clustered(self, X, y, embedding):
        """New rows as the objective takes them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), checked
        y : array-like of shape (n,), or None
        embedding : array-like or CSR matrix of shape (n, m), or None

        Raises
        ------
        ValueError
            If an embedding, or labels, are missing, or an embedding is not asked for.
        """
        if self.has_embedding == (embedding is None):
            raise ValueError(
                "A cost needs the embedding of the rows, since fit was given one."
                if self.has_embedding
                else "An embedding of new rows is taken only if fit was given one."
            )
        if self.classes is not None:
            return label_column(y, X.shape[0], self.classes)[0]
        return self.scaled(X) if embedding is None else check_embedding(embedding, X.shape[0])

    def scaled(self, rows):
        """Rows of X, or of the embedding, as distances are measured between them."""
        return rows if self.scaling is None else self.scaling.apply(rows)

    def scaled_centers(self, centers):
        """The same for centres that are shown; those of labels are their numbers."""
        if self.classes is not None:
            return np.arange(float(len(centers)))[:, None]
        return self._scaled_points(centers)

    def _scaled_points(self, points):
        return points if self.scaling is None else self.scaling.of_points(points)

    def distances(self, rows, centers) -> Any:
        """Distances of rows to shown centres, as `transform` gives them."""
        objective = self.objective if self.objective.geometry is None else self.objective.geometry
        data = objective.prepare(self.scaled(rows))
        return objective.as_distance(objective.distances(data, self._scaled_points(centers)))
