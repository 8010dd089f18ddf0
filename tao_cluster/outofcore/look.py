"""The first look at all rows: whether they can be read, how many there are, moments of columns."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._utils.matrices import ranges, row_blocks
from ..problem.inputs import LARGEST_WEIGHT
from ..problem.scaling import Scaling
from .failures import naming
from .rows import Reader, first_look
from .sums import Least, Most, Sums


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
        """Those of weighted rows of an array or CSR matrix."""
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
        """Those of the rows of both."""
        total = self.weight + other.weight
        apart, share = other.mean - self.mean, other.weight / total
        squares = self.squares + other.squares + apart**2 * (self.weight * share)
        terms = (self.mean + apart * share, squares, self.low + other.low, self.high + other.high)
        return type(self)(total, *terms)


@dataclass(frozen=True, eq=False)
class Look(Sums):
    """What the first look at blocks finds.

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
    def at(cls, blocks, n_clusters):
        """The look at all blocks; every value is checked.

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
        """The look itself; ValueError if another one found other columns."""
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

    @property
    def n_rows(self):
        """Number of rows."""
        return sum(self.counts)

    def scaling(self):
        """What brings columns of X to a common scale."""
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
        """What makes rows of the blocks, which are clustered in a space."""
        first = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return Reader(space, len(self.moments.mean), first)


def _look(block, state):
    """The look at one block."""
    del state
    X, weight, embedding = first_look(block)
    present = weight > 0
    n_present, n_sparse = int(present.sum()), int(sp.issparse(X))
    if not n_present:
        return Look([len(present)], 0, n_sparse)
    if n_present < len(present):
        X, weight = X[present], weight[present]
        embedding = None if embedding is None else embedding[present]
    moments = Moments.of(X, weight)
    other = moments if embedding is None else Moments.of(embedding, weight)
    return Look([len(present)], n_present, n_sparse, moments, other)
