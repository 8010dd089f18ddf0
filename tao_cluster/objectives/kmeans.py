"""The k-means objective."""

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans as _SklearnKMeans
from sklearn.utils.extmath import row_norms

from .._utils.jit import jit
from .._utils.matrices import row_blocks, rows_between
from .._utils.threads import fixed_parts, map_in_threads, n_threads
from ..tree.routing import kernel_view
from .base import Objective, cluster_sums

# Rows are worked on where the fast cache holds them with their products.
_CACHED_VALUES, _CACHED_ROWS = 50_000, 64

# Rows are about zero where their mean has at most so much of their squares: products with centres
# then lose a digit of distances.
_ABOUT_ZERO = 0.9

# Squares up to this share of those of a row are rounding of a centre that it is the mean of.
_OFF = (8 * np.finfo(np.float64).eps) ** 2


@jit
def _add_rows(X, origin, labels, weight, sums):
    """Add rows relative to an origin, times their weights, to the sums of their clusters."""
    for i in range(X.shape[0]):
        total, factor = sums[labels[i]], weight[i]
        for j in range(X.shape[1]):
            total[j] += factor * (X[i, j] - origin[j])


@jit
def _shift(X, origin, out):
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = X[i, j] - origin[j]


@jit
def _complete(out, squared_norms, squares):
    """Squared distances |x - c|^2 where `out` holds -2 x.c."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[i, c] = max(squared_norms[i] + out[i, c] + squares[c], 0.0)


@jit
def _nearest(products, squared_norms, squares, out):
    """The first of the least of these distances, which are not kept."""
    for i in range(products.shape[0]):
        least, at = np.inf, 0
        for c in range(products.shape[1]):
            distance = max(squared_norms[i] + products[i, c] + squares[c], 0.0)
            if distance < least:
                least, at = distance, c
        out[i] = at


@jit
def _take_centers(X, origin, centers, labels, out):
    """Rows relative to the centres of their clusters, which are relative to the origin."""
    for i in range(X.shape[0]):
        own = centers[labels[i]]
        for j in range(X.shape[1]):
            out[i, j] = (X[i, j] - origin[j]) - own[j]


@jit
def _stored_squares(X, labels, weight, centers, stored):
    """Cost of the stored values of sparse rows; `stored` gets their weights by cluster and column.

    A squared distance as |x|^2 - 2 x.c + |c|^2 would have lost the digits of what is near.
    """
    data, columns, indptr = X
    total = 0.0
    for i in range(labels.shape[0]):
        center, own, c = centers[labels[i]], stored[labels[i]], weight[i]
        for s in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[s])
            square = (value - center[columns[s]]) ** 2
            if square > _OFF * value * value:
                total += c * square
            own[columns[s]] += c
    return total


@dataclass(frozen=True)
class _CenteredRows:
    """Rows of X relative to a common origin, made a block at a time.

    Dense data far from zero are shifted by their mean, which keeps the digits of distances; sparse
    data stay where they are, since a shift would fill them, and so do data about zero.
    """

    X: Any
    origin: np.ndarray
    squared_norms: np.ndarray
    n_jobs: int = 1

    @classmethod
    def of(cls, X):
        n_rows, n_columns = X.shape
        rows = cls(X, np.zeros(n_columns), np.empty(n_rows))
        rows._measure()
        if not sp.issparse(X):
            one = np.zeros(n_rows, dtype=np.int8)
            mean = rows.sums(one, np.ones(n_rows), 1)[0] / n_rows
            if not mean @ mean < _ABOUT_ZERO * rows.squared_norms.mean():  # or they overflow
                rows.origin[:] = mean
                rows._measure()  # |x|^2 - 2 x.mean + |mean|^2 would lose those digits
        return rows

    def _measure(self):
        """Fill in the squared norms."""
        for part, block in self.blocks():
            self.squared_norms[part] = row_norms(block, squared=True)

    @property
    def parts(self):
        """Slices of rows in which the cache holds the values of each: a list."""
        if sp.issparse(self.X):  # a slice costs more than what the cache saves
            return list(row_blocks(self.X))
        return list(row_blocks(self.X, _CACHED_VALUES, _CACHED_ROWS))

    def blocks(self, parts=None):
        """Yield (slice, rows as float64 relative to the origin); the next ones replace these."""
        parts = self.parts if parts is None else parts
        if sp.issparse(self.X):
            for part in parts:
                yield part, rows_between(self.X, part).astype(np.float64, copy=False)
            return
        if self.X.dtype == np.float64 and self.X.flags.c_contiguous and not self.origin.any():
            yield from ((part, self.X[part]) for part in parts)
            return
        room = self._room(parts)
        for part in parts:
            rows = self.X[part]
            block = room[: len(rows)]
            _shift(rows, self.origin, block)
            yield part, block

    def sums(self, labels, weight, n_clusters):
        """Weighted sums of the rows of each cluster, relative to the origin."""
        n_rows, n_columns = self.X.shape
        if sp.issparse(self.X):
            return cluster_sums(self.X, labels, weight, n_clusters)
        parts = list(fixed_parts(n_rows))
        sums = np.zeros((len(parts), n_clusters, n_columns))

        def add(i):
            part = parts[i]
            own = labels[part].astype(np.intp)
            _add_rows(self.X[part], self.origin, own, weight[part], sums[i])

        map_in_threads(add, range(len(sums)), n_threads(self.n_jobs, n_rows))
        return sums.sum(axis=0)

    def squares(self, moved, labels):
        """Yield (slice, squared distances of rows of an array to the centres of their clusters).

        The centres are relative to the origin.
        """
        parts = self.parts
        room = self._room(parts)
        for part in parts:
            rows, own = self.X[part], labels[part].astype(np.intp, copy=False)
            block = room[: len(rows)]
            _take_centers(rows, self.origin, moved, own, block)
            yield part, row_norms(block, squared=True)

    def _room(self, parts):
        """Room for the rows of any of some parts."""
        size = max((part.stop - part.start for part in parts), default=0)
        return np.empty((size, self.X.shape[1]))

    def multiply(self, centers, use):
        """Call ``use(part, products, squared norms of the rows, of the centres)`` for each part.

        The products are those of the rows with -2 times the centres, relative to the origin.
        """
        moved, parts = centers - self.origin, self.parts
        doubled, squares = -2.0 * moved.T, row_norms(moved, squared=True)

        def run(some):
            for part, block in self.blocks(some):
                use(part, block @ doubled, self.squared_norms[part], squares)

        # The blocks are the same for any number of threads.
        n_runs = n_threads(self.n_jobs, len(self.squared_norms))
        bounds = np.linspace(0, len(parts), n_runs + 1).astype(int)
        runs = [parts[a:b] for a, b in itertools.pairwise(bounds) if a < b]
        map_in_threads(run, runs, self.n_jobs)


@dataclass(frozen=True)
class KMeans(Objective):
    """k-means: squared Euclidean distance; centres are weighted means.

    Scratch memory is a block of rows, 256 or more, beside the (n, k) distances; X is not copied.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering.
    """

    n_init: int = 10
    centers_are_means: ClassVar[bool] = True
    stops_early: ClassVar[bool] = True  # by a tolerance of all columns: wide ones hide the others

    def reference(self, n_clusters, random_state):
        """scikit-learn's KMeans (k-means++, `n_init` restarts)."""
        return _SklearnKMeans(n_clusters, n_init=self.n_init, random_state=random_state)

    def sparse_reference(self, n_clusters, random_state):
        """The same with Elkan's bounds, (n, k) numbers: a distance costs sparse rows much."""
        reference = self.reference(n_clusters, random_state)
        return reference.set_params(algorithm="elkan") if n_clusters > 1 else reference

    def prepare(self, X):
        """Mean and squared norms of the rows; X itself is only referred to.

        Raises
        ------
        ValueError
            If squared norms overflow the precision of X.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rows = _CenteredRows.of(X)
            total = rows.squared_norms.sum()
        if not total < np.finfo(X.dtype).max:
            raise ValueError(
                f"The squared norms of the rows of X overflow {X.dtype}; rescale the data."
            )
        return rows

    def in_threads(self, data, n_jobs):
        """The same rows, to be worked on by so many threads."""
        return replace(data, n_jobs=n_jobs)

    def distances(self, data, centers):
        """Squared Euclidean distances, float64 array of shape (n, k)."""
        out = np.empty((data.X.shape[0], len(centers)))

        def complete(part, products, *norms):
            out[part] = products
            _complete(out[part], *norms)

        data.multiply(centers, complete)
        return out

    def nearest(self, data, centers):
        """The nearest centre of each row, ties to the lowest: int array of shape (n,)."""
        out = np.empty(data.X.shape[0], dtype=np.intp)
        data.multiply(centers, lambda part, *terms: _nearest(*terms, out[part]))
        return out

    def update_centers(self, data, labels, weight, centers):
        """Weighted means of the clusters, float64 array of shape (k, d)."""
        k = len(centers)
        sums = data.sums(labels, weight, k)
        total = np.bincount(labels, weights=weight, minlength=k)
        filled = total > 0
        updated = np.array(centers, dtype=np.float64)
        updated[filled] = sums[filled] / total[filled, None] + data.origin
        return updated

    def cluster_sums(self, data, labels, weight, n_clusters):
        """Weighted sums of the rows of each cluster: float64 array of shape (n_clusters, d)."""
        total = np.bincount(labels, weights=weight, minlength=n_clusters)
        return data.sums(labels, weight, n_clusters) + total[:, None] * data.origin

    def centers_of(self, sums, total, centers):
        """Means from sums of rows and of weights; see :class:`Objective`."""
        updated, filled = np.array(centers, dtype=np.float64), total > 0
        updated[filled] = sums[filled] / total[filled, None]
        return updated

    def value(self, data, labels, weight, centers):
        """Weighted sum of squared distances of the rows to the centres of their clusters."""
        if sp.issparse(data.X):
            labels, stored = labels.astype(np.intp, copy=False), np.zeros(centers.shape)
            cost = _stored_squares(kernel_view(data.X), labels, weight, centers, stored)
            # Added up in the order of the rows, as what is stored: no difference where all are.
            in_all = np.bincount(labels, weights=weight, minlength=len(centers))[:, None]
            return cost + float((np.maximum(in_all - stored, 0.0) * centers**2).sum())
        total, origin = 0.0, float(data.origin @ data.origin)
        for part, squares in data.squares(centers - data.origin, labels):
            # Rows on their centres are off by the rounding of these.
            noise = _OFF * (data.squared_norms[part] + origin)
            total += float(weight[part] @ np.where(squares > noise, squares, 0.0))
        return total

    def as_distance(self, dissimilarities):
        """Euclidean distances, as scikit-learn's KMeans.transform gives them."""
        return np.sqrt(dissimilarities, out=dissimilarities)


def cluster_means(X, labels, weight, n_clusters):
    """Weighted means of the rows of each cluster; of all rows for a cluster without any.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    labels : int array of shape (n,)
    weight : float64 array of shape (n,)
    n_clusters : int

    Returns
    -------
    float64 array of shape (n_clusters, d)

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.objectives import cluster_means
    >>> cluster_means(np.array([[0.0], [2.0], [8.0]]), np.array([0, 0, 1]), np.ones(3), 2).tolist()
    [[1.0], [8.0]]
    """
    objective = KMeans()
    data = objective.prepare(X)
    one = np.zeros(len(labels), dtype=np.intp)
    mean = objective.update_centers(data, one, weight, np.zeros((1, X.shape[1])))
    return objective.update_centers(data, labels, weight, np.repeat(mean, n_clusters, axis=0))
