"""The protocol of clustering objectives, and helpers that several of them share."""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.jit import by_layout, jit
from .._utils.matrices import check_rows, check_weights, row_blocks
from .._utils.options import NestedParameters
from ..tree.routing import kernel_arrays


@runtime_checkable
class Objective(Protocol):
    """A clustering cost E(Z, psi) = sum_n c_n d(x_n, psi_{z_n}) (eq. 3).

    The optimiser calls `prepare` once per fit and passes its result, whose type is up to the
    objective, to the other methods. An objective that inherits from this class may leave out the
    attributes and the optional methods.

    Attributes
    ----------
    centers_are_means : bool
        Whether centres are weighted means of rows. Initial trees are then built from the centres.
        Otherwise they are built from the means of the clusters.
    explains_labels : bool
        Whether the objective explains labels y that `fit` is given. Cost increases are then error
        rates: percentages of the weight of the rows.
    geometry : Objective, optional
        The objective that defines displayed centres and distances, if this one has no centres in
        space.
    is_sum : bool
        Whether E is the sum above, which TAOClustering needs.
    stops_early : bool
        Whether the estimator of the free clustering can stop before its centres are optimal.
        Iterations of Lloyd's algorithm then follow.
    can_perturb_rows : bool
        Whether a row plus a little noise is a valid row. It is not if rows are codes or
        dissimilarities. If it is, the search for a tree of few rows also uses noisy copies of them.
    free_labels : method (data, n_clusters, weight) -> int array, optional
        Clusters of the free clustering, if they do not follow from centres.
    in_threads : method (data, n_jobs) -> data, optional
        Returns data for work in several threads. Results do not depend on it.
    nearest : method (data, centers) -> int array, optional
        Nearest centre of each row, ties to the lowest, if this is cheaper than all distances.
    cluster_sums : method (data, labels, weight, n_clusters) -> float64 array, optional
        Sums over rows, of shape (n_clusters, m), from which `centers_of` computes centres. Both
        methods are needed if rows are processed in blocks.
    centers_of : method (sums, total weights, centers) -> centres, optional
        The result of `update_centers` from sums.
    trims : bool
        Whether rows may stay without a cluster, as with :class:`.trimmed.Trimmed`.
    sparse_reference : method (n_clusters, random_state) -> estimator, optional
        The estimator of the free clustering for sparse rows, instead of that of `reference`.
    """

    centers_are_means: ClassVar[bool] = False
    explains_labels: ClassVar[bool] = False
    geometry: ClassVar[Any] = None
    is_sum: ClassVar[bool] = True
    free_labels: ClassVar[Any] = None
    in_threads: ClassVar[Any] = None
    nearest: ClassVar[Any] = None
    cluster_sums: ClassVar[Any] = None
    centers_of: ClassVar[Any] = None
    stops_early: ClassVar[bool] = False
    sparse_reference: ClassVar[Any] = None
    can_perturb_rows: ClassVar[bool] = False
    trims: ClassVar[bool] = False

    def reference(self, n_clusters: int, random_state: Any) -> Any:
        """Return an unfitted estimator of the free clustering.

        It has `cluster_centers_` after fit. :class:`AlternatingClustering` serves any objective.
        """

    def prepare(self, X) -> Any:
        """Check X, and compute once what the other methods need, or return X itself.

        X is never modified.

        Raises
        ------
        ValueError
            If squared norms overflow.
        """
        check_norms(X)
        return X

    def distances(self, data, centers) -> np.ndarray:
        """Return the distances of rows and centres: float64 array (n, k), all at least 0."""

    def update_centers(self, data, labels, weight, centers) -> np.ndarray:
        """Return optimal centres of a partition; empty clusters keep their row of `centers`."""

    def value(self, data, labels, weight, centers) -> float:
        """Return E(Z, psi), the cost of the labels Z with the centres psi."""

    def as_distance(self, dissimilarities) -> np.ndarray:
        """Return the distances that `transform` shows: d, or the square root of d for k-means.

        The array may be overwritten.
        """
        return dissimilarities


class NearestCenters(NestedParameters, ClusterMixin, BaseEstimator):
    """Base of estimators of free clusterings, which assign rows to the nearest centre."""

    def predict(self, X):
        """Return the nearest centre of each row, ties to the lowest: int32 array of shape (n,)."""
        check_is_fitted(self)
        rows = check_rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        X = rows
        objective = self._objective()
        distances = objective.distances(objective.prepare(X), self.cluster_centers_)
        return distances.argmin(axis=1).astype(np.int32)

    def _check_input(self, X, sample_weight):
        """Check and return the rows of a fit and their weights."""
        rows = check_rows(X)
        validate_data(self, X, skip_check_array=True)  # names and number of features
        return rows, check_weights(sample_weight, rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def cluster_sums(X, labels, weight, n_clusters, origin=None):
    """Return the weighted sums of the rows of each cluster, added in the order of the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    labels : int array of shape (n,)
    weight : float64 array of shape (n,)
    n_clusters : int, k
    origin : float64 array of shape (d,), optional
        It is subtracted from the rows of a dense X.

    Returns
    -------
    float64 array of shape (k, d)
    """
    sums = np.zeros((n_clusters, X.shape[1]))
    origin = np.zeros(X.shape[1]) if origin is None else origin
    _add_members(kernel_arrays(X), origin, labels.astype(np.intp, copy=False), weight, sums)
    return sums


def _add_members_dense(X, origin, labels, weight, sums):
    for i in range(X.shape[0]):
        total, factor = sums[labels[i]], weight[i]
        for j in range(X.shape[1]):
            total[j] += factor * (X[i, j] - origin[j])


def _add_members_csr(X, origin, labels, weight, sums):
    data, columns, indptr = X
    for i in range(labels.shape[0]):
        total, factor = sums[labels[i]], weight[i]
        for s in range(indptr[i], indptr[i + 1]):
            total[columns[s]] += factor * data[s]


_add_members_of = by_layout(_add_members_dense, _add_members_csr)


@jit
def _add_members(X, origin, labels, weight, sums):
    _add_members_of(X, origin, labels, weight, sums)


def members_of(labels, weight, n_clusters):
    """Yield (cluster, numbers of its rows of positive weight) for each cluster with such rows."""
    present = np.flatnonzero(weight > 0)
    order = present[np.argsort(labels[present], kind="stable")]
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    for k in range(n_clusters):
        if bounds[k] < bounds[k + 1]:
            yield k, order[bounds[k] : bounds[k + 1]]


def euclidean(X, places, squared=False):
    """Return Euclidean distances, by differences for dense rows: float64 array of shape (n, k).

    Distances between integers, and their ties, are exact. :meth:`.kmeans.KMeans.distances` is
    faster, and computes distances from products.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    places : float64 array of shape (k, d)
    squared : bool
        Whether to return squared distances.
    """
    out = np.empty((X.shape[0], len(places)))
    for part in row_blocks(X):
        rows = X[part].astype(np.float64, copy=False)
        if sp.issparse(X):
            out[part] = euclidean_distances(rows, places, squared=squared)
        else:
            out[part] = cdist(rows, places, "sqeuclidean" if squared else "euclidean")
    return out


def squared_distances(X):
    """Return a function that computes the squared distances of the rows of X to one point."""
    X = X.astype(np.float64, copy=False)
    if not sp.issparse(X):
        return lambda place: cdist(X, place[None], "sqeuclidean")[:, 0]
    norms = row_norms(X, squared=True)
    return lambda place: np.maximum(norms - 2 * (X @ place) + place @ place, 0.0)


def check_norms(X):
    """Raise a ValueError if squared norms of rows overflow."""
    with np.errstate(over="ignore"):
        for part in row_blocks(X):
            norms = row_norms(X[part].astype(np.float64, copy=False), squared=True)
            if not np.isfinite(4 * norms.max(initial=0.0)):
                raise ValueError("The squared norms of the rows of X overflow; rescale the data.")
