"""Sums over the rows of blocks: checked rows, records that can be added, column statistics."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._utils.matrices import (
    check_kind,
    check_rows,
    checked_array,
    ranges,
    row_blocks,
    stored_by_rows,
)
from ..objectives.alternating import nearest_costs
from ..problem.inputs import LARGEST_WEIGHT, check_least_weight
from ..problem.levels import integer_columns
from ..problem.scaling import ClusteringSpace, Scaling
from ..tree.routing import kernel_arrays
from .blocks import sum_over_blocks


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of positive weight of one block, or of a sample.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d), the features
    embedding : array or CSR matrix of shape (m, q), or None
    space : array or CSR matrix of shape (m, q)
        Coordinates in which the rows are clustered: the embedding, or X, maybe scaled.
    weight : float64 array of shape (m,), positive
    numbers : int64 array of shape (m,), numbers of the rows among all rows
    objective : Objective
    """

    X: Any
    embedding: Any
    space: Any
    weight: np.ndarray
    numbers: np.ndarray
    objective: Any

    @cached_property
    def data(self):
        """Rows prepared by `objective.prepare`, the input of the other methods of the objective."""
        return self.objective.prepare(self.space)

    @cached_property
    def view(self):
        """X as an array, or as the CSR arrays (data, indices, indptr), for compiled functions."""
        return kernel_arrays(self.X)

    def nearest(self, centers):
        """Return the distance of each row to its nearest centre, and the number of this centre.

        If several centres are nearest, the lowest number is returned.
        """
        return nearest_costs(self.objective, self.data, centers)


@dataclass(frozen=True, eq=False)
class Reader:
    """Convert blocks, whose values are already checked, to WeightedRows.

    Parameters
    ----------
    space : ClusteringSpace
        Its scaling, if it has one, is applied to X.
    n_features : int
    first : int64 array of shape (n_blocks + 1,)
        Number of the first row of each block among all rows, then the total number of rows.
    """

    space: ClusteringSpace
    n_features: int
    first: np.ndarray

    @property
    def objective(self):
        """Objective of the clustering, which defines the costs."""
        return self.space.objective

    def rows(self, block):
        """Return the WeightedRows of a block; None if it has no rows of positive weight.

        Raises
        ------
        ValueError
            If the block does not have the shape that it had in the first pass.
        """
        is_present, X, embedding, weight = _present_rows(block)
        start, stop = self.first[block.number : block.number + 2]
        found, expected = (len(is_present), X.shape[1]), (int(stop - start), self.n_features)
        if found != expected:
            raise ValueError(
                f"its shape was {expected} in the first pass and is {found} now: the blocks must "
                "be the same in every pass."
            )
        if not len(weight):
            return None
        space = self.space.scaled(X) if embedding is None else embedding
        numbers = np.arange(start, stop)[is_present]
        return WeightedRows(X, embedding, space, weight, numbers, self.space.objective)


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows of a fit, of which only some blocks are in memory at the same time.

    Parameters
    ----------
    blocks : Blocks
        The source of the blocks.
    reader : Reader
        It checks a block and converts it to the rows of the fit.
    """

    blocks: Any
    reader: Reader

    def sum(self, function, *terms):
        """Return the sum over all blocks of function(rows, *terms).

        Parameters
        ----------
        function : callable (WeightedRows, *terms), which can be pickled
        *terms : further arguments; they should be small, since they are sent to all workers
        """
        return sum_over_blocks(_RowFunction(function, self.reader), self.blocks, terms)


@dataclass(frozen=True, eq=False)
class _RowFunction:
    """Turn a function of WeightedRows into a function of a Block."""

    function: Callable
    reader: Any

    @property
    def __name__(self):
        """Name of the function, which progress bars show."""
        return self.function.__name__

    def __call__(self, block, terms):
        """Return function(rows, *terms) for the rows of a block, or None.

        It is None if no row of the block has a positive weight.
        """
        rows = self.reader.rows(block)
        return None if rows is None else self.function(rows, *terms)


class Sums:
    """Base of dataclasses that can be added field by field; a field of None adds nothing.

    Parameters
    ----------
    combine : dict of str to callable (a, b)
        Class attribute. Functions that replace the addition for some fields, such as np.maximum.
    """

    combine: ClassVar[dict[str, Callable]] = {}

    def __add__(self, other):
        """Add two `Sums` records field by field."""
        values = []
        for part in fields(self):
            a, b = getattr(self, part.name), getattr(other, part.name)
            combine = self.combine.get(part.name, operator.add)
            values.append(b if a is None else a if b is None else combine(a, b))
        return type(self)(*values)


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of columns over rows; moments of different rows can be added.

    The sum uses the formulas of Chan, Golub & LeVeque (1983).

    Parameters
    ----------
    weight : float, total weight of the rows
    mean : float64 array of shape (d,)
    squares : float64 array of shape (d,), weighted sum of squared deviations from the mean
    low, high : float64 arrays of shape (d,), smallest and largest value of each column
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def from_rows(cls, X, weight):
        """Compute the moments of weighted rows of an array or CSR matrix."""
        total = weight.sum()
        if sp.issparse(X):
            mean, variance = mean_variance_axis(X, axis=0, weights=weight.astype(X.dtype))
            squares = variance.astype(np.float64) * total
        else:
            mean, squares = np.zeros((2, X.shape[1]))
            for part in row_blocks(X):
                mean += weight[part] @ X[part] / total
            for part in row_blocks(X):
                squares += weight[part] @ (X[part] - mean) ** 2
        return cls(float(total), mean.astype(np.float64), squares, *ranges(X))

    def __add__(self, other):
        """Combine the moments of two sets of rows with the same columns."""
        columns, others = len(self.mean), len(other.mean)
        if columns != others:
            raise ValueError(
                f"its rows have {others} columns, but those of the first block have {columns}."
            )
        total = self.weight + other.weight
        apart, share = other.mean - self.mean, other.weight / total
        squares = self.squares + other.squares + apart**2 * (self.weight * share)
        ends = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return type(self)(total, self.mean + apart * share, squares, *ends)


@dataclass(frozen=True, eq=False)
class ColumnStatistics(Sums):
    """Statistics of the columns and counts of rows, which the first pass over the blocks sums.

    Parameters
    ----------
    counts : list of int, number of rows of each block
    n_present : int, number of rows of positive weight
    n_sparse : int, number of sparse blocks
    moments : Moments of X; None without rows
    of_embedding : Moments of the embedding; those of X if there is no embedding
    is_integer : bool array of shape (d,), whether all values of each column of X are integers
    """

    combine: ClassVar[dict] = {"is_integer": np.logical_and}

    counts: list
    n_present: int
    n_sparse: int
    moments: Moments | None = None
    of_embedding: Moments | None = None
    is_integer: np.ndarray | None = None

    @classmethod
    def from_blocks(cls, blocks, n_clusters):
        """Read all blocks, check every value, and sum the statistics.

        Raises
        ------
        BlockError
            If a block has NaN or infinite values, or other columns than the first block.
        ValueError
            If there are fewer rows of positive weight than clusters, or weights are too large.
        """
        total = sum_over_blocks(_column_statistics, blocks)
        n_present = 0 if total is None else total.n_present
        if n_present < n_clusters:
            raise ValueError(
                f"n_samples={n_present} should be >= n_clusters={n_clusters}: the blocks have "
                f"{n_present} rows of positive weight."
            )
        if not total.moments.weight < LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight must sum to less than {LARGEST_WEIGHT:g}, but sums to "
                f"{total.moments.weight:g}: divide the weights by a constant."
            )
        return total

    def scaling(self):
        """Return the scaling that standardises the columns of X."""
        found = self.moments
        variance = found.squares / found.weight
        if not np.isfinite(variance).all():
            column = np.flatnonzero(~np.isfinite(variance))[0]
            raise ValueError(
                f"The variance of column {column} of X overflows, so that the column cannot be "
                "standardised: divide it by a constant."
            )
        return Scaling.from_moments(
            found.mean, variance, found.low == found.high, self.n_sparse > 0
        )

    def reader(self, space):
        """Return the Reader of the blocks, for rows that are clustered in a ClusteringSpace."""
        return Reader(space, len(self.moments.mean), np.cumsum([0, *self.counts]))


def _column_statistics(block, _):
    """Check a block and return its statistics."""
    is_present, X, embedding, weight = _present_rows(block, is_finite=True)
    n_rows, n_sparse = len(is_present), int(sp.issparse(X))
    if not len(weight):
        return ColumnStatistics([n_rows], 0, n_sparse)
    moments = Moments.from_rows(X, weight)
    other = moments if embedding is None else Moments.from_rows(embedding, weight)
    return ColumnStatistics([n_rows], len(weight), n_sparse, moments, other, integer_columns(X))


def _present_rows(block, is_finite=False):
    """Check a block and select its rows of positive weight.

    Parameters
    ----------
    block : Block
    is_finite : bool, whether to raise a ValueError for NaN and infinite values

    Returns
    -------
    is_present : bool array of shape (m,)
    X, embedding or None, weight : arrays or canonical CSR matrices
    """
    X, embedding = _floats(block.X, "X", is_finite), block.embedding
    if embedding is not None:
        embedding = _floats(embedding, "embedding", is_finite)
        if embedding.shape[0] != X.shape[0]:
            raise ValueError(f"embedding has {embedding.shape[0]} rows, but X has {X.shape[0]}.")
    weight = _weights(block.weight, X.shape[0])
    is_present, parts = weight > 0, (X, embedding, weight)
    if not is_present.all():
        parts = tuple(None if part is None else part[is_present] for part in parts)
    return is_present, *parts


def _weights(weight, n_rows):
    """Check and return the weights of the rows of a block; they are 1 if `weight` is None."""
    if weight is None:
        return np.ones(n_rows)
    check_kind(weight, "sample_weight")
    options = {"dtype": np.float64, "ensure_min_samples": 0, "input_name": "sample_weight"}
    weight = checked_array(weight, ensure_2d=False, **options)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has the shape {weight.shape}, but X has {n_rows} rows.")
    if weight.min(initial=0.0) < 0:
        raise ValueError(f"sample_weight must be at least 0, but contains {weight.min():g}.")
    check_least_weight(weight)
    return weight


def _floats(X, name, is_finite):
    """Check X or the embedding of a block; return an array or canonical CSR matrix of floats."""
    options = {"ensure_all_finite": is_finite, "ensure_min_samples": 0}
    return stored_by_rows(check_rows(X, name, **options))
