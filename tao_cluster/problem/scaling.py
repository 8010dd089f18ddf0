"""Columns brought to a common scale, and trees and centres brought back to the user's units."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from .._utils.matrices import ranges, row_blocks
from ..tree import Tree


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
        rounding = (16 * np.finfo(np.float64).eps * np.abs(mean)) ** 2
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
    return Tree(
        tree.children_left,
        tree.children_right,
        tree.split_indptr,
        tree.split_indices,
        weights,
        np.where(tree.children_left < 0, 0.0, threshold),
        tree.leaf_label,
        tree.n_features,
        tree.leaf_value,
    )
