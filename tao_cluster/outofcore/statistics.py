"""Sums over the rows of blocks: checked rows, what is added, and the statistics of columns."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array

from .._utils.matrices import (
    FLOATS,
    canonical,
    check_kind,
    ranges,
    row_blocks,
    row_size,
    rows_of,
    stored_by_rows,
)
from ..problem.inputs import LARGEST_WEIGHT, check_least_weight
from ..problem.scaling import Scaling, Space
from ..tree.routing import kernel_view
from .blocks import BLOCK_VALUES, MOST_ROWS, LocalBlocks, naming, sum_over_blocks


@dataclass(frozen=True, eq=False)
class Rows:
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
    def of(cls, problem):
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
        return kernel_view(self.X)

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
    space : Space, whose scaling, where there is one, is that of the rows
    n_features : int
    first : int64 array, number of the first row of each block; one entry more, the number of rows
    """

    space: Space
    n_features: int
    first: np.ndarray

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
        X = stored_by_rows(_floats(block.X))
        start, stop = self.first[block.number : block.number + 2]
        if X.shape != (stop - start, self.n_features):
            raise ValueError(
                f"it had {stop - start} rows of {self.n_features} columns when it was first read, "
                f"and has the shape {X.shape} now; blocks must be the same every time."
            )
        weight = _weights(block.weight, X.shape[0])
        embedding = None if block.embedding is None else stored_by_rows(_floats(block.embedding))
        X, embedding, weight, numbers = _present(weight, X, embedding, np.arange(start, stop))
        if not len(weight):
            return None
        space = self.space.scaled(X) if embedding is None else embedding
        return Rows(X, embedding, space, weight, numbers, self.space.objective)


@dataclass(frozen=True, eq=False)
class ProblemReader:
    """Make rows of blocks that hold those of a problem, which are checked.

    Parameters
    ----------
    objective : Objective
    step : int, rows of a block
    """

    objective: Any
    step: int

    def rows(self, block):
        """Return the rows of a block."""
        numbers = block.number * self.step + np.arange(len(block.weight))
        space = block.X if block.embedding is None else block.embedding
        return Rows(block.X, block.embedding, space, block.weight, numbers, self.objective)


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows of a fit, of which a block is in memory at a time.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader or ProblemReader
    """

    blocks: Any
    reader: Any

    @classmethod
    def of(cls, problem, n_jobs):
        """Return the rows of a problem, in slices that `n_jobs` threads work on."""
        X, space, weight = problem.X, problem.space, problem.weight
        size = row_size(X) + (0 if space is X else row_size(space))
        step = max(1, min(MOST_ROWS, int(BLOCK_VALUES / max(size, 1))))

        def read():
            for start in range(0, problem.n_rows, step):
                part = slice(start, start + step)
                some, clustered = rows_of(X, space, part)
                yield some, weight[part], None if clustered is some else clustered

        blocks = LocalBlocks(read, None, space is not X, n_jobs)
        return cls(blocks, ProblemReader(problem.objective, step))

    def sum(self, function, *terms):
        """Return the sum over all blocks of function(rows, *terms).

        Parameters
        ----------
        function : callable(Rows, ...), of a module
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
    """Base of records that are added field by field; None adds nothing."""

    def __add__(self, other):
        """Return the sum, field by field."""
        pairs = ((getattr(self, part.name), getattr(other, part.name)) for part in fields(self))
        return type(self)(*(b if a is None else a if b is None else a + b for a, b in pairs))


@dataclass(frozen=True, eq=False)
class Least:
    """An array whose sum is the least of each entry."""

    values: np.ndarray

    def __add__(self, other):
        """Return the entries of the two that are smaller."""
        return type(self)(np.minimum(self.values, other.values))


@dataclass(frozen=True, eq=False)
class Most:
    """An array whose sum is the largest of each entry."""

    values: np.ndarray

    def __add__(self, other):
        """Return the entries of the two that are larger."""
        return type(self)(np.maximum(self.values, other.values))


@dataclass(frozen=True, eq=False)
class Tables:
    """A list of arrays, of any shapes, that are added one by one."""

    arrays: list[Any]

    def __add__(self, other):
        """Return the sums of the pairs."""
        pairs = zip(self.arrays, other.arrays, strict=True)
        return type(self)([a + b for a, b in pairs])


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of columns over some rows, which can be added (Chan, Golub & LeVeque 1983).

    Parameters
    ----------
    weight : float, summed
    mean, squares : float64 arrays of shape (d,), squares about the mean, summed
    low, high : Least and Most, values of each column
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    low: Least
    high: Most

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
        low, high = ranges(X)
        return cls(float(total), mean.astype(np.float64), squares, Least(low), Most(high))

    def __add__(self, other):
        """Return those of the rows of both."""
        total = self.weight + other.weight
        apart, share = other.mean - self.mean, other.weight / total
        squares = self.squares + other.squares + apart**2 * (self.weight * share)
        terms = (self.mean + apart * share, squares, self.low + other.low, self.high + other.high)
        return type(self)(total, *terms)


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
        total = None
        for number, found in enumerate(blocks.results(_look, None)):
            with naming(number):
                total = found if total is None else total.checked(found) + found
        n_present = 0 if total is None else total.n_present
        if n_present < n_clusters:
            raise ValueError(f"n_samples={n_present} should be >= n_clusters={n_clusters}.")
        if not total.moments.weight < LARGEST_WEIGHT:
            raise ValueError(f"sample_weight must sum to less than {LARGEST_WEIGHT:g}.")
        return total

    def checked(self, other):
        """Return the object itself; raise a ValueError if another one has other columns."""
        for part, further, name in (
            (self.moments, other.moments, "X"),
            (self.of_embedding, other.of_embedding, "embedding"),
        ):
            columns = [len(moments.mean) for moments in (part, further) if moments is not None]
            if len(set(columns)) > 1:
                raise ValueError(
                    f"{name} has {columns[1]} columns, in the blocks before it {columns[0]}."
                )
        return self

    def scaling(self):
        """Return what brings columns of X to a common scale."""
        found = self.moments
        low, high = found.low.values, found.high.values
        variance = found.squares / found.weight
        if not np.isfinite(variance).all():
            column = np.flatnonzero(~np.isfinite(variance))[0]
            raise ValueError(
                f"The spread of column {column} of X overflows, so that it cannot be "
                "standardised; rescale it."
            )
        return Scaling.of_moments(found.mean, variance, low == high, bool(self.n_sparse))

    def reader(self, space):
        """Return what makes rows of the blocks, which are clustered in a space."""
        first = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return Reader(space, len(self.moments.mean), first)


def _look(block, _):
    """Check a block and return its statistics."""
    X, weight, embedding = _floats(block.X, is_finite=True), block.weight, block.embedding
    weight = _weights(weight, X.shape[0])
    if embedding is not None:
        embedding = _floats(embedding, "embedding", is_finite=True)
        if embedding.shape[0] != X.shape[0]:
            raise ValueError(f"embedding has {embedding.shape[0]} rows, X has {X.shape[0]}.")
    n_rows, n_sparse = len(weight), int(sp.issparse(X))
    X, embedding, weight, _ = _present(weight, X, embedding, None)
    if not len(weight):
        return ColumnStatistics([n_rows], 0, n_sparse)
    moments = Moments.of(X, weight)
    other = moments if embedding is None else Moments.of(embedding, weight)
    return ColumnStatistics([n_rows], len(weight), n_sparse, moments, other)


def _present(weight, X, embedding, numbers):
    """Return X, embedding, weight and numbers of the rows of positive weight."""
    present = weight > 0
    if present.all():
        return X, embedding, weight, numbers
    parts = (X, embedding, weight, numbers)
    return tuple(None if part is None else part[present] for part in parts)


def _weights(weight, n_rows):
    """Return weights of rows, at least 0; all of one block may be 0."""
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


def _floats(X, name="X", is_finite=False):
    """Return a block as an array or canonical CSR matrix of floats; check values if asked to."""
    check_kind(X, name)
    options = {"accept_sparse": "csr", "dtype": FLOATS, "input_name": name}
    return canonical(check_array(X, ensure_all_finite=is_finite, ensure_min_samples=0, **options))
