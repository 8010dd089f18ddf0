"""Sums over the rows of blocks: checked rows, what is added, and the statistics of columns."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array

from .._utils.matrices import (
    check_kind,
    check_rows,
    ranges,
    row_blocks,
    stored_by_rows,
)
from ..problem.inputs import LARGEST_WEIGHT, check_least_weight
from ..problem.scaling import ClusteringSpace, Scaling
from ..tree.routing import kernel_arrays
from .blocks import blocks_of, sum_over_blocks


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of positive weight of one block, or of a sample.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d), what trees test
    embedding : array or CSR matrix of shape (m, q), or None
    space : array or CSR matrix, where the rows are clustered
    weight : float64 array of shape (m,), positive
    numbers : int64 array of shape (m,), of the rows among all
    objective : Objective
    """

    X: Any
    embedding: Any
    space: Any
    weight: np.ndarray
    numbers: np.ndarray
    objective: Any

    @classmethod
    def from_problem(cls, problem):
        """Return the rows of a problem."""
        embedding = None if problem.space is problem.X else problem.space
        numbers = np.arange(problem.n_rows)
        terms = (problem.X, embedding, problem.space, problem.weight, numbers, problem.objective)
        return cls(*terms)

    @cached_property
    def data(self):
        """What the objective has prepared."""
        return self.objective.prepare(self.space)

    @cached_property
    def view(self):
        """X as the kernels read it."""
        return kernel_arrays(self.X)

    def nearest(self, centers):
        """Return the distance to the nearest centre and which it is, ties to the lowest."""
        distances = self.objective.distances(self.data, centers)
        nearest = distances.argmin(axis=1)
        return distances[np.arange(len(nearest)), nearest], nearest


@dataclass(frozen=True, eq=False)
class Reader:
    """Make rows of blocks whose values were checked before.

    Parameters
    ----------
    space : ClusteringSpace, whose scaling, where there is one, is that of the rows
    n_features : int
    first : int64 array, number of the first row of each block; one entry more, the number of rows
    """

    space: ClusteringSpace
    n_features: int
    first: np.ndarray

    @classmethod
    def of(cls, space, n_features, counts):
        """Return that of blocks with so many rows each."""
        return cls(space, n_features, np.cumsum([0, *counts]))

    @property
    def objective(self):
        """Objective of the rows."""
        return self.space.objective

    def rows(self, block):
        """Return the rows of positive weight of a block; None if there are none.

        Raises
        ------
        ValueError
            If the block has other rows than it had.
        """
        is_present, X, embedding, weight = _present_rows(block)
        start, stop = self.first[block.number : block.number + 2]
        found, expected = (len(is_present), X.shape[1]), (stop - start, self.n_features)
        if found != expected:
            raise ValueError(
                f"it had {expected[0]} rows of {expected[1]} columns when it was first read, and "
                f"has the shape {found} now; blocks must be the same every time."
            )
        if not len(weight):
            return None
        space = self.space.scaled(X) if embedding is None else embedding
        numbers = np.arange(start, stop)[is_present]
        return WeightedRows(X, embedding, space, weight, numbers, self.space.objective)


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows of a fit, of which a block is in memory at a time.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    """

    blocks: Any
    reader: Reader

    @classmethod
    def from_problem(cls, problem, n_jobs):
        """Return the rows of a problem, in slices that `n_jobs` threads work on."""
        rows = WeightedRows.from_problem(problem)
        blocks = blocks_of(rows.X, rows.weight, rows.embedding, n_jobs)
        space = ClusteringSpace(
            rows.objective, blocks.has_embedding, None, None
        )  # the rows are scaled
        return cls(blocks, Reader.of(space, rows.X.shape[1], blocks.results(_n_rows, None)))

    def sum(self, function, *terms):
        """Return the sum over all blocks of function(rows, *terms).

        Parameters
        ----------
        function : callable(WeightedRows, ...), of a module
        *terms : what else it needs; small, as it is sent to whoever reads the rows
        """
        return sum_over_blocks(_OfRows(function, self.reader), self.blocks, terms)


@dataclass(frozen=True, eq=False)
class _OfRows:
    """A function of a block: that of its rows."""

    function: Callable
    reader: Any

    @property
    def __name__(self):
        """Name of the function, for progress bars."""
        return self.function.__name__

    def __call__(self, block, terms):
        """Return the result for the rows of the block; None if it has none."""
        rows = self.reader.rows(block)
        return None if rows is None else self.function(rows, *terms)


class Sums:
    """Base of records that are added field by field; None adds nothing.

    `combine`: functions of two values, by the names of fields that are put together otherwise.
    """

    combine: ClassVar[dict[str, Callable]] = {}

    def __add__(self, other):
        """Return the sum, field by field."""
        values = []
        for part in fields(self):
            a, b = getattr(self, part.name), getattr(other, part.name)
            combine = self.combine.get(part.name, operator.add)
            values.append(b if a is None else a if b is None else combine(a, b))
        return type(self)(*values)


def table(records):
    """Return records in an array of objects: two such arrays are added record by record."""
    out = np.empty(len(records), dtype=object)
    out[:] = records
    return out


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of columns over some rows, which can be added (Chan, Golub & LeVeque 1983).

    Parameters
    ----------
    weight : float, summed
    mean, squares : float64 arrays of shape (d,), squares about the mean, summed
    low, high : float64 arrays of shape (d,), least and largest values of each column
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X, weight):
        """Return those of weighted rows of an array or CSR matrix."""
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
        """Return those of the rows of both; ValueError if they have other columns."""
        columns, others = len(self.mean), len(other.mean)
        if columns != others:
            raise ValueError(f"its rows have {others} columns, those of the first {columns}.")
        total = self.weight + other.weight
        apart, share = other.mean - self.mean, other.weight / total
        squares = self.squares + other.squares + apart**2 * (self.weight * share)
        ends = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return type(self)(total, self.mean + apart * share, squares, *ends)


@dataclass(frozen=True, eq=False)
class ColumnStatistics(Sums):
    """What the first pass over blocks finds.

    Parameters
    ----------
    counts : list of int, rows of each block
    n_present : int, rows of positive weight
    n_sparse : int, blocks that are sparse
    moments : Moments of X; None without rows
    of_embedding : Moments of where rows are clustered: the embedding, else X
    """

    counts: list
    n_present: int
    n_sparse: int
    moments: Moments | None = None
    of_embedding: Moments | None = None

    @classmethod
    def of(cls, blocks, n_clusters):
        """Return those of all blocks; every value is checked.

        Raises
        ------
        BlockError
            If one has NaN or infinite values, or other columns than those before.
        ValueError
            If there are fewer rows of positive weight than clusters, or weights are too large.
        """
        total = sum_over_blocks(_look, blocks)
        n_present = 0 if total is None else total.n_present
        if n_present < n_clusters:
            raise ValueError(f"n_samples={n_present} should be >= n_clusters={n_clusters}.")
        if not total.moments.weight < LARGEST_WEIGHT:
            raise ValueError(f"sample_weight must sum to less than {LARGEST_WEIGHT:g}.")
        return total

    def scaling(self):
        """Return what brings columns of X to a common scale."""
        found = self.moments
        variance = found.squares / found.weight
        if not np.isfinite(variance).all():
            column = np.flatnonzero(~np.isfinite(variance))[0]
            raise ValueError(
                f"The spread of column {column} of X overflows, so that it cannot be "
                "standardised; rescale it."
            )
        return Scaling.from_moments(
            found.mean, variance, found.low == found.high, self.n_sparse > 0
        )

    def reader(self, space):
        """Return what makes rows of the blocks, which are clustered in a space."""
        return Reader.of(space, len(self.moments.mean), self.counts)


def _n_rows(block, _):
    return block.X.shape[0]


def _look(block, _):
    """Check a block and return its statistics."""
    is_present, X, embedding, weight = _present_rows(block, is_finite=True)
    n_rows, n_sparse = len(is_present), int(sp.issparse(X))
    if not len(weight):
        return ColumnStatistics([n_rows], 0, n_sparse)
    moments = Moments.of(X, weight)
    other = moments if embedding is None else Moments.of(embedding, weight)
    return ColumnStatistics([n_rows], len(weight), n_sparse, moments, other)


def _present_rows(block, is_finite=False):
    """Return which rows of a block have a positive weight, and those of its parts.

    Parameters
    ----------
    block : Block
    is_finite : bool, whether values are checked to be finite

    Returns
    -------
    is_present : bool array of shape (m,)
    X, embedding or None, weight : arrays or canonical CSR matrices
    """
    X, embedding = _floats(block.X, "X", is_finite), block.embedding
    if embedding is not None:
        embedding = _floats(embedding, "embedding", is_finite)
        if embedding.shape[0] != X.shape[0]:
            raise ValueError(f"embedding has {embedding.shape[0]} rows, X has {X.shape[0]}.")
    weight = _weights(block.weight, X.shape[0])
    is_present, parts = weight > 0, (X, embedding, weight)
    if not is_present.all():
        parts = tuple(None if part is None else part[is_present] for part in parts)
    return is_present, *parts


def _weights(weight, n_rows):
    """Return weights of rows, at least 0; all of one block may be 0, or there may be none."""
    if weight is None:
        return np.ones(n_rows)
    check_kind(weight, "sample_weight")
    options = {"dtype": np.float64, "ensure_min_samples": 0, "input_name": "sample_weight"}
    weight = check_array(weight, ensure_2d=False, **options)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has the shape {weight.shape}, X has {n_rows} rows.")
    if weight.min(initial=0.0) < 0:
        raise ValueError("sample_weight must be at least 0.")
    check_least_weight(weight)
    return weight


def _floats(X, name, is_finite):
    """Return a block as an array or canonical CSR matrix of floats; check values if asked to."""
    options = {"ensure_all_finite": is_finite, "ensure_min_samples": 0}
    return stored_by_rows(check_rows(X, name, **options))
