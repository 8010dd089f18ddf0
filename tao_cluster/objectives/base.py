"""What a clustering objective promises, and what several of them need."""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._utils.jit import by_layout, jit
from .._utils.matrices import check_kind, check_rows, row_blocks
from ..tree.routing import kernel_arrays


@runtime_checkable
class Objective(Protocol):
    """What a clustering cost E(Z, psi) = sum_n c_n d(x_n, psi_{z_n}) must offer (eq. 3).

    The optimiser calls `prepare` once a fit and passes its result, opaque to it, to the
    other methods. `centers_are_means`: whether its centres are weighted means of rows; then initial
    trees start from them, else from such means. `explains_labels`: whether what is clustered are
    labels that `fit` is given as y; a cost is then told as a share of all weight. `geometry`: the
    objective in whose terms centres of clusters are shown, where its own are no places.
    `is_sum`: whether E is the sum above, which trees are searched by; a method that is made for
    the objective does without. `free_labels`: a method (data, n_clusters, weight) -> int array
    with the clusters of the free clustering, where these do not follow from centres.
    `in_threads`: a method (data, n_jobs) -> data, what is prepared for work in as many threads, by
    which no result changes. `nearest`: a method (data, centers) -> int array with the first of the
    least distances of each row, where that costs less than to have them all. `cluster_sums`: a
    method (data, labels, weight, n_clusters) -> float64 array of shape (n_clusters, m) of sums over
    rows, and `centers_of`: a method (sums, total weights, centers) -> what `update_centers` gives,
    where optimal centres follow from sums; rows in blocks need that. `stops_early`: whether the
    estimator of the free clustering may end before its centres are optimal for its clusters, so
    that its iterations are to be finished. `sparse_reference`: a method (n_clusters, random_state)
    -> what `reference` gives, made for sparse rows, where these are better served otherwise.
    `can_perturb_rows`: whether a row plus a little noise is again a row that can be clustered, as
    it is not where rows are codes or dissimilarities; only then a tree of few rows is also judged
    by noisy copies of them.
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

    def reference(self, n_clusters: int, random_state: Any) -> Any:
        """Unfitted estimator of the free clustering, with `cluster_centers_` once fitted.

        :class:`AlternatingClustering` serves any objective.
        """

    def prepare(self, X) -> Any:
        """Check X and compute once what the other methods need: X itself, if it is all.

        Never modifies X.

        Raises
        ------
        ValueError
            If squared norms overflow.
        """
        check_norms(X)
        return X

    def distances(self, data, centers) -> np.ndarray:
        """d(x_n, psi_k): float64 array of shape (n, k), at least 0."""

    def update_centers(self, data, labels, weight, centers) -> np.ndarray:
        """Optimal centres of a partition; a cluster without weight keeps its row of `centers`."""

    def value(self, data, labels, weight, centers) -> float:
        """E(Z, psi)."""

    def as_distance(self, dissimilarities) -> np.ndarray:
        """What `transform` shows for d: d itself, or the root of d for k-means, in place."""
        return dissimilarities


class NearestCenters(ClusterMixin, BaseEstimator):
    """Base of estimators of free clusterings, which put rows to the nearest centre."""

    def predict(self, X):
        """Nearest centre of each row, ties to the lowest: int32 array of shape (n,)."""
        check_is_fitted(self)
        rows = check_rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        X = rows
        objective = self._objective()
        distances = objective.distances(objective.prepare(X), self.cluster_centers_)
        return distances.argmin(axis=1).astype(np.int32)

    def _check_input(self, X, sample_weight):
        """The rows of a fit and their weights, checked."""
        rows = check_rows(X)
        validate_data(self, X, skip_check_array=True)  # names and number of features
        X = rows
        check_kind(sample_weight, "sample_weight")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return X, weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def cluster_sums(X, labels, weight, n_clusters, origin=None):
    """Weighted sums of the rows of each cluster, in the order of the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    labels : int array of shape (n,)
    weight : float64 array of shape (n,)
    n_clusters : int, k
    origin : float64 array of shape (d,), optional
        What is subtracted from the rows of an array.

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
    """Yield (cluster, its rows of positive weight) for the clusters that have some."""
    present = np.flatnonzero(weight > 0)
    order = present[np.argsort(labels[present], kind="stable")]
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    for k in range(n_clusters):
        if bounds[k] < bounds[k + 1]:
            yield k, order[bounds[k] : bounds[k + 1]]


def euclidean(X, places, squared=False):
    """Euclidean distances: float64 array of shape (n, k), by differences for dense rows.

    Of whole numbers they are exact, and so are ties. See :meth:`.kmeans.KMeans.distances` for
    distances by products, which cost less.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    places : float64 array of shape (k, d)
    squared : bool, whether to give the squares of the distances
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
    """Function of one place: squared Euclidean distances of rows, from what is computed once."""
    X = X.astype(np.float64, copy=False)
    if not sp.issparse(X):
        return lambda place: cdist(X, place[None], "sqeuclidean")[:, 0]
    norms = row_norms(X, squared=True)
    return lambda place: np.maximum(norms - 2 * (X @ place) + place @ place, 0.0)


def check_norms(X):
    """ValueError if squared norms of rows overflow."""
    with np.errstate(over="ignore"):
        for part in row_blocks(X):
            norms = row_norms(X[part].astype(np.float64, copy=False), squared=True)
            if not np.isfinite(4 * norms.max(initial=0.0)):
                raise ValueError("The squared norms of the rows of X overflow; rescale the data.")
