"""What every builder starts from: rows, reference centres and the distances between them."""

import itertools
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.validation import column_or_1d

from tao_cluster._utils.jit import jit
from tao_cluster._utils.matrices import check_centers, check_kind, check_rows
from tao_cluster._utils.threads import map_in_threads
from tao_cluster.objectives import KMedians, cluster_means
from tao_cluster.objectives.base import euclidean
from tao_cluster.problem.inputs import check_embedding, check_sample_weight
from tao_cluster.tree.routing import kernel_arrays

# Whole numbers up to here stay, so that weight 2 is exactly the row twice. A price is rounded
# before it is multiplied by the weight: large weights would multiply the rounding.
_SMALL_WEIGHT = 1024

# Bits that distances are rounded by, of 53: what is equal but for the rounding of sums, which
# differs with the order of the features and between dense and sparse rows, is then equal.
_NOISE_BITS = 16


@dataclass(frozen=True, eq=False)
class BuilderInput:
    """Rows and reference centres, checked, in the form that the kernels read.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    columns : array X, or (data, indices, indptr) of the CSC form of a sparse X
    rows : int64 array, those of positive weight
    weight : float64 array of shape (n,)
        In a unit of its own, a power of two.
    centers : float64 array of shape (k, d)
        Where cuts see the centres.
    distances : float64 array of shape (n, k)
        What rows cost under the reference centres: squared distances, or other costs.
    labels : int64 array of shape (n,)
        Cluster of each row in the free clustering.
    nearest, spread : float64 arrays of shape (n,)
        Distance to the nearest centre, and by how much the farthest exceeds it.
    n_jobs : int
        Threads that share the features; results are the same for any number.
    space : array or CSR matrix of shape (n, m)
        Where the rows are clustered: the embedding, or X, the same object.
    """

    X: Any
    columns: Any
    rows: np.ndarray
    weight: np.ndarray
    centers: np.ndarray
    distances: np.ndarray
    labels: np.ndarray
    nearest: np.ndarray
    distance_range: np.ndarray
    n_jobs: int = 1
    space: Any = None

    @classmethod
    def from_centers(
        cls,
        X,
        centers,
        sample_weight=None,
        embedding=None,
        labels=None,
        n_jobs=None,
        distances=None,
        objective="kmeans",
    ):
        """Check the input and measure the distances.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), float32 or float64
        centers : array-like of shape (k, m)
            Reference centres; m = d without an embedding.
        sample_weight : array-like of shape (n,), optional
            At least 0; a row of weight 0 is an absent row.
        embedding : array-like or sparse matrix of shape (n, m), optional
            Where the centres are. A cut of X sees a centre at the mean of its rows in X.
        labels : int array-like of shape (n,), default the nearest centres, ties to the lowest
        n_jobs : int, optional
        distances : float64 array of shape (n, k), default those of the objective
            What a row costs under each centre, at least 0.
        objective : {"kmeans", "kmedians"}
            Squared Euclidean distances, or L1 distances.

        Returns
        -------
        BuilderInput

        Raises
        ------
        ValueError
            If X, the centres or the embedding have NaN or infinite values or shapes that do
            not fit, or the weights are negative or all zero.
        """
        X = check_rows(X)
        space = X if embedding is None else check_embedding(embedding, X.shape[0])
        centers = check_centers(centers, "centers")
        if centers.shape[1] != space.shape[1]:
            raise ValueError(
                f"The centres have {centers.shape[1]} features, the rows {space.shape[1]}."
            )
        # Kernels count weights in units of their own, so that of these numbers does not matter.
        weight = check_sample_weight(sample_weight, X, np.finfo(np.float64).tiny)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry.")
        if distances is None:
            distances = DISTANCES[objective](space, centers)
            _drop_noise(distances.view(np.int64))
        if not np.isfinite(distances.max()):
            raise ValueError("The distances to the centres overflow; rescale the data.")
        terms = nearest_two(distances, np.arange(len(weight)), np.arange(len(centers)))
        own, _, nearest, _, spread = terms
        labels = own if labels is None else _check_labels(labels, len(weight), len(centers))
        if embedding is not None:
            centers = cluster_means(X, labels, weight, len(centers))
        return cls(
            X=X,
            columns=column_arrays(X),
            rows=np.flatnonzero(weight > 0),
            weight=_in_unit(weight),
            centers=centers,
            distances=distances,
            labels=labels,
            nearest=nearest,
            distance_range=spread,
            n_jobs=effective_n_jobs(n_jobs),
            space=space,
        )

    @classmethod
    def from_labels(cls, X, labels, weight, n_jobs=None):
        """Rows of positive weight and their clusters, for a method that knows no centres.

        Parameters
        ----------
        X : array or canonical CSR matrix of shape (n, d)
        labels : int64 array of shape (n,)
        weight : float64 array of shape (n,), positive
        n_jobs : int, optional
        """
        n_rows, blank = X.shape[0], np.zeros(X.shape[0])
        return cls(
            X=X,
            columns=column_arrays(X),
            rows=np.arange(n_rows),
            weight=_in_unit(weight),
            centers=np.empty((0, X.shape[1])),
            distances=np.empty((n_rows, 0)),
            labels=labels,
            nearest=blank,
            distance_range=blank,
            n_jobs=effective_n_jobs(n_jobs),
        )

    @classmethod
    def from_distances(cls, X, distances, weight, n_jobs=1):
        """All rows of X and what each label costs them; the centres have no place in X.

        Parameters
        ----------
        X : array or canonical CSR matrix of shape (n, d)
        distances : float64 array of shape (n, k)
        weight : float64 array of shape (n,), positive
        n_jobs : int
        """
        n, k = distances.shape
        labels, _, nearest, _, spread = nearest_two(distances, np.arange(n), np.arange(k))
        return cls(
            X=X,
            columns=column_arrays(X),
            rows=np.arange(n),
            weight=weight,
            centers=np.zeros((k, 0)),
            distances=distances,
            labels=labels,
            nearest=nearest,
            distance_range=spread,
            n_jobs=n_jobs,
        )

    @property
    def n_features(self):
        """Columns of X."""
        return self.X.shape[1]

    def inverse_index(self, rows):
        """Place of each row of X in `rows`, -1 elsewhere; empty for dense X, which needs none."""
        if not sp.issparse(self.X):
            return np.empty(0, np.int64)
        inverse = np.full(self.X.shape[0], -1, np.int64)
        inverse[rows] = np.arange(len(rows))
        return inverse

    def column(self, rows, feature):
        """Values of a feature for some rows: array of shape (m,), dense."""
        if sp.issparse(self.X):
            data, indices, indptr = self.columns
            stored = slice(indptr[feature], indptr[feature + 1])
            values = np.zeros(self.X.shape[0])
            values[indices[stored]] = data[stored]
            return values[rows]
        return self.X[rows, feature]

    def goes_left(self, rows, feature, threshold):
        """Mask of the rows with a value of at most `threshold`."""
        # Compared as float64: a centre may lie between two values of float32.
        return self.column(rows, feature) <= np.float64(threshold)

    def distinct_values(self, some):
        """Distinct values of some rows by feature; of sparse X zero is among them for each.

        See :func:`greedy.cuts.surrogate_cut`.

        Returns
        -------
        values : float64 array, those of a feature increasing
        start : int64 array of shape (d + 1,), where each feature's values begin
        """
        d = self.n_features
        if sp.issparse(self.X):
            stored = self.X[some]
            features = np.concatenate([stored.indices, np.arange(d)])
            values = np.concatenate([stored.data, np.zeros(d)])
            order = np.lexsort([values, features])
            features, values = features[order], values[order]
        else:
            features = np.repeat(np.arange(d), len(some))
            values = np.sort(self.X[some].T, axis=1).ravel()
        is_new = np.ones(len(values), bool)
        is_new[1:] = (values[1:] > values[:-1]) | (features[1:] > features[:-1])
        counts = np.bincount(features[is_new], minlength=d)
        return values[is_new].astype(np.float64), np.concatenate([[0], np.cumsum(counts)])

    def sparse_bounds(self, kernel, node):
        """What ``kernel(rows of X, node, d)`` tells of each feature; nothing for dense X."""
        if not sp.issparse(self.X):
            return np.empty(0)
        return kernel(kernel_arrays(self.X), node, self.n_features)

    def best_cut(self, search, *arguments):
        """Run ``search(columns, *arguments, lo, hi)`` over all features, shared by threads.

        Returns
        -------
        (value, feature, threshold) or None
        """
        cuts = self.over_features(lambda lo, hi: search(self.columns, *arguments, lo, hi))
        return min((cut for cut in cuts if cut[1] >= 0), default=None)

    def over_features(self, kernel):
        """Run ``kernel(lo, hi)`` on parts of the features, shared by threads: their results."""
        n_parts = max(1, min(self.n_jobs, self.n_features))
        bounds = np.linspace(0, self.n_features, n_parts + 1).astype(int).tolist()
        parts = list(itertools.pairwise(bounds))
        return map_in_threads(lambda part: kernel(*part), parts, n_parts)


def _check_labels(labels, n_rows, n_clusters):
    check_kind(labels, "labels")
    labels = column_or_1d(labels)
    is_whole = labels.dtype.kind in "iu" and len(labels) == n_rows
    if not is_whole or labels.min() < 0 or labels.max() >= n_clusters:
        raise ValueError(
            f"labels must be {n_rows} whole numbers, one a row, in 0..{n_clusters - 1}."
        )
    return labels.astype(np.int64)


def _in_unit(weight):
    """Weights as small whole numbers, or with a largest one of about 1; see _SMALL_WEIGHT."""
    if weight.max() <= _SMALL_WEIGHT and np.array_equal(weight, np.floor(weight)):
        return weight
    return np.ldexp(weight, -int(np.frexp(weight.max())[1]))


class _LastColumns:
    """Weak references to the columns that were made last, and to their rows.

    A fit asks for the columns of its rows for several initial trees and for its own cuts: as long
    as one of them holds these, the others need no copy.
    """

    def __init__(self):
        self._references = ()  # one object, as other threads ask, too

    def of(self, X):
        """Arrays (data, indices, indptr) of the CSC form of a sparse matrix."""
        rows, *arrays = [reference() for reference in self._references] or [None]
        if rows is X and all(array is not None for array in arrays):
            return tuple(arrays)
        columns = X.tocsc()
        arrays = columns.data, columns.indices, columns.indptr
        self._references = tuple(map(weakref.ref, (X, *arrays)))
        return arrays


_last_columns = _LastColumns()


def column_arrays(X):
    """X as the cut kernels read it. Sparse rows are copied into columns, once while these live."""
    return _last_columns.of(X) if sp.issparse(X) else X


@jit
def nearest_two(distances, rows, centers):
    """Nearest of some centres for each row, and how much farther the others are.

    Parameters
    ----------
    distances : float64 array of shape (n, k)
    rows : int64 array of shape (m,)
    centers : int64 array of shape (c,), columns of `distances`

    Returns
    -------
    label, second : int64 arrays of shape (m,)
        Nearest and second nearest, positions in `centers`, ties to the lowest.
    nearest, gap, spread : float64 arrays of shape (m,)
        Distance to the nearest centre, and by how much the second nearest and the farthest
        exceed it.
    """
    n = rows.shape[0]
    label, second = np.empty(n, np.int64), np.empty(n, np.int64)
    nearest, gap, spread = np.empty(n), np.empty(n), np.empty(n)
    for r in range(n):
        least, next_, most = np.inf, np.inf, -np.inf
        label[r] = second[r] = 0
        for c in range(centers.shape[0]):
            value = distances[rows[r], centers[c]]
            if value < least:
                second[r], label[r] = label[r], c
                least, next_ = value, least
            elif value < next_:
                next_, second[r] = value, c
            most = max(most, value)
        nearest[r], gap[r], spread[r] = least, next_ - least, most - least
    return label, second, nearest, gap, spread


def _drop_noise(bits):
    """Round floats, at least 0, that are given by their bits: these are in the same order."""
    bits += 1 << (_NOISE_BITS - 1)
    bits &= -(1 << _NOISE_BITS)


def squared_distances(X, centers):
    """Squared Euclidean distances, exact for integers; see :func:`.objectives.base.euclidean`."""
    return euclidean(X, centers, squared=True)


# What a row costs under a centre, by the name of the objective.
DISTANCES = {"kmeans": squared_distances, "kmedians": KMedians().distances}
