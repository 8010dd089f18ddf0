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
from .._utils.options import Part
from .._utils.threads import fixed_parts, map_in_threads, n_threads
from ..tree.routing import kernel_arrays
from .base import Objective, cluster_sums

# Numbers of values and of rows of a block that fits into the cache with its products.
_CACHED_VALUES, _CACHED_ROWS = 50_000, 64

# Rows are not shifted by their mean if its squared norm is less than this share of the mean of the
# squared norms of the rows. Without the shift, distances then lose at most about one digit.
_ABOUT_ZERO = 0.9

# Squared distances below this share of the squared norm of a row are rounding errors.
_OFF = (8 * np.finfo(np.float64).eps) ** 2


@dataclass(frozen=True)
class KMeans(Part, Objective):
    """k-means: squared Euclidean distance; centres are weighted means.

    Besides the (n, k) distances, memory is needed for blocks of 256 or more rows. X is not copied.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering.
    """

    n_init: int = 10
    centers_are_means: ClassVar[bool] = True
    can_perturb_rows: ClassVar[bool] = True
    # scikit-learn's KMeans has one tolerance for all columns. Columns with a large variance make it
    # stop before the centres are optimal in the other columns.
    stops_early: ClassVar[bool] = True

    def reference(self, n_clusters, random_state):
        """Return scikit-learn's KMeans (k-means++, `n_init` restarts)."""
        return _SklearnKMeans(n_clusters, n_init=self.n_init, random_state=random_state)

    def sparse_reference(self, n_clusters, random_state):
        """Return a KMeans for sparse rows, with the algorithm of Elkan.

        This algorithm computes fewer distances, which are expensive for sparse rows.
        """
        reference = self.reference(n_clusters, random_state)
        return reference.set_params(algorithm="elkan") if n_clusters > 1 else reference

    def prepare(self, X):
        """Compute the mean and the squared norms of the rows; X itself is not copied.

        Raises
        ------
        ValueError
            If squared norms overflow the precision of X.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rows = _CenteredRows.from_matrix(X)
            total = rows.squared_norms.sum()
        if not total < np.finfo(X.dtype).max:
            raise ValueError(
                f"The squared norms of the rows of X overflow {X.dtype}; rescale the data."
            )
        return rows

    def in_threads(self, data, n_jobs):
        """Return the same data for work in several threads."""
        return replace(data, n_jobs=n_jobs)

    def distances(self, data, centers):
        """Return squared Euclidean distances, float64 array of shape (n, k)."""
        out = np.empty((data.X.shape[0], len(centers)))
        data.for_distances(centers, out.__setitem__)
        return out

    def nearest(self, data, centers):
        """Return the nearest centre of each row, ties to the lowest: int array of shape (n,)."""
        out = np.empty(data.X.shape[0], dtype=np.intp)
        data.for_distances(centers, lambda part, own: own.argmin(axis=1, out=out[part]))
        return out

    def update_centers(self, data, labels, weight, centers):
        """Return the weighted means of the clusters, float64 array of shape (k, d)."""
        k, origin = len(centers), data.origin
        total = np.bincount(labels, weights=weight, minlength=k)
        return self.centers_of(data.sums(labels, weight, k), total, centers, origin)

    def cluster_sums(self, data, labels, weight, n_clusters):
        """Return weighted sums of the rows of each cluster: float64 array (n_clusters, d)."""
        total = np.bincount(labels, weights=weight, minlength=n_clusters)
        return data.sums(labels, weight, n_clusters) + total[:, None] * data.origin

    def centers_of(self, sums, total, centers, origin=0.0):
        """Return the means of clusters from sums of rows and of weights; see :class:`Objective`."""
        updated, filled = np.array(centers, dtype=np.float64), total > 0
        updated[filled] = sums[filled] / total[filled, None] + origin
        return updated

    @np.errstate(under="ignore")
    def value(self, data, labels, weight, centers):
        """Return the weighted sum of squared distances of rows to the centres of their clusters."""
        if sp.issparse(data.X):
            labels, stored = labels.astype(np.intp, copy=False), np.zeros(centers.shape)
            cost = _stored_squares(kernel_arrays(data.X), labels, weight, centers, stored)
            # np.bincount adds the weights in the order of the rows, as `_stored_squares` does. The
            # difference from `stored` is then exactly 0 if all rows have a stored value.
            in_all = np.bincount(labels, weights=weight, minlength=len(centers))[:, None]
            return cost + float((np.maximum(in_all - stored, 0.0) * centers**2).sum())
        total, origin = 0.0, float(data.origin @ data.origin)
        moved = centers - data.origin
        for part in data.parts:
            rows = np.subtract(data.X[part], data.origin, dtype=np.float64)
            rows -= moved[labels[part]]
            squares = row_norms(rows, squared=True)
            # The computed distance of a row to a centre that equals it is rounding error.
            noise = _OFF * (data.squared_norms[part] + origin)
            total += float(weight[part] @ np.where(squares > noise, squares, 0.0))
        return total

    def as_distance(self, dissimilarities):
        """Return Euclidean distances, as KMeans.transform of scikit-learn does."""
        return np.sqrt(dissimilarities, out=dissimilarities)


def cluster_means(X, labels, weight, n_clusters):
    """Return the weighted means of the clusters; an empty cluster gets the mean of all rows.

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


@dataclass(frozen=True)
class _CenteredRows:
    """Rows of X relative to a common origin, computed block by block.

    Dense data far from zero are shifted by their mean, which preserves the digits of distances.
    Sparse data are not shifted, because that would make them dense.
    """

    X: Any
    origin: np.ndarray
    squared_norms: np.ndarray
    n_jobs: int = 1

    @classmethod
    def from_matrix(cls, X):
        n_rows, n_columns = X.shape
        rows = cls(X, np.zeros(n_columns), np.empty(n_rows))
        rows._measure()
        if not sp.issparse(X):
            one = np.zeros(n_rows, dtype=np.int8)
            mean = rows.sums(one, np.ones(n_rows), 1)[0] / n_rows
            if not mean @ mean < _ABOUT_ZERO * rows.squared_norms.mean():  # True for NaN
                rows.origin[:] = mean
                # The squared norms are computed anew from the differences from the mean, because
                # |x|^2 - 2 x.mean + |mean|^2 would lose digits.
                rows._measure()
        return rows

    def _measure(self):
        """Compute the squared norms of the rows relative to the origin."""
        for part, block in self.blocks(self.parts):
            self.squared_norms[part] = row_norms(block, squared=True)

    @property
    def parts(self):
        """Return slices of rows whose values fit into the cache."""
        return self.parts_for(1)

    def parts_for(self, n_centers):
        """Return slices of rows whose values and distances to `n_centers` fit into the cache."""
        if sp.issparse(self.X):  # slices of sparse rows cost more than the cache saves
            return list(row_blocks(self.X))
        n_values = _CACHED_VALUES * min(1.0, self.X.shape[1] / n_centers)
        return list(row_blocks(self.X, n_values, _CACHED_ROWS))

    def blocks(self, parts):
        """Yield (part, rows) for each of the slices `parts`.

        `rows` are the rows of X in the slice, minus the origin, in float64. The next block may
        overwrite their memory.
        """
        X, origin = self.X, self.origin
        if sp.issparse(X):
            for part in parts:
                yield part, rows_between(X, part).astype(np.float64, copy=False)
            return
        if X.dtype == np.float64 and X.flags.c_contiguous and not origin.any():
            yield from ((part, X[part]) for part in parts)
            return
        size = max((part.stop - part.start for part in parts), default=0)
        workspace = np.empty((size, X.shape[1]))
        for part in parts:
            rows = X[part]
            yield part, np.subtract(rows, origin, out=workspace[: len(rows)])

    def sums(self, labels, weight, n_clusters):
        """Return the weighted sums of the rows of each cluster, relative to the origin."""
        if sp.issparse(self.X):
            return cluster_sums(self.X, labels, weight, n_clusters)
        parts, n_rows = list(fixed_parts(len(labels))), len(labels)
        sums = np.zeros((len(parts), n_clusters, self.X.shape[1]))

        def add(i):
            part = parts[i]
            rows, labels_, weight_ = self.X[part], labels[part], weight[part]
            sums[i] = cluster_sums(rows, labels_, weight_, n_clusters, self.origin)

        map_in_threads(add, range(len(sums)), n_threads(self.n_jobs, n_rows))
        return sums.sum(axis=0)

    def for_distances(self, centers, use):
        """Call ``use(part, squared distances of these rows to the centres)`` for each part."""
        moved, parts = centers - self.origin, self.parts_for(max(1, len(centers)))
        doubled, squares = -2.0 * moved.T, row_norms(moved, squared=True)

        def run(some):
            for part, block in self.blocks(some):
                distances = block @ doubled  # -2 x.c; both norms are added below
                distances += self.squared_norms[part, None]
                distances += squares
                use(part, np.maximum(distances, 0.0, out=distances))

        # Blocks do not depend on the number of threads, so that results are equal.
        n_runs = n_threads(self.n_jobs, len(self.squared_norms))
        bounds = np.linspace(0, len(parts), n_runs + 1).astype(int)
        runs = [parts[a:b] for a, b in itertools.pairwise(bounds) if a < b]
        map_in_threads(run, runs, self.n_jobs)


@jit
def _stored_squares(X, labels, weight, centers, stored):
    """Return the cost of the stored values of sparse rows, summed over rows and columns.

    The function adds to stored[k, j] the weights of the rows of cluster k that have a stored value
    in column j. The cost of zeros is left to the caller. The formula |x|^2 - 2 x.c + |c|^2 would
    lose the digits of small distances.
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
