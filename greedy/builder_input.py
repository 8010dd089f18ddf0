"""Validated input of the tree builders: rows, weights, reference centres and distances."""

import functools
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.validation import column_or_1d

from tao_cluster._utils.frames import check_aligned
from tao_cluster._utils.jit import jit
from tao_cluster._utils.matrices import (
    canonical,
    check_centers,
    check_kind,
    check_rows,
    column_arrays,
    spaced_rows,
)
from tao_cluster._utils.threads import map_in_threads
from tao_cluster.objectives import KMedians, cluster_means
from tao_cluster.objectives.base import euclidean
from tao_cluster.problem.inputs import check_embedding, check_sample_weight
from tao_cluster.problem.repeats import as_repeats

# Weights that are multiples of one number, up to this limit, count as that many equal rows. Larger
# ones do not, because a cost is rounded before it is multiplied by the weight, and large weights
# would multiply the rounding error.
_MOST_REPEATS = 1024

_SAMPLE = 101  # number of rows whose medians count as frequent values

KEPT = 2**20  # maximum number of values or sums in memory at a time (8 bytes each: 8 MB)

# This many of the 53 significant bits of a distance are rounded off. These bits depend on the order
# of the features and on whether X is dense or sparse; without them, equal distances compare equal.
_NOISE_BITS = 16


@dataclass(frozen=True, eq=False)
class BuilderInput:
    """Validated input of a tree builder: rows, weights, reference centres and distances.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float32 or float64
    columns : X itself if it is dense, else the arrays (data, indices, indptr) of its CSC form
    rows : int64 array
        Row numbers of the rows with a positive weight, increasing.
    weight : float64 array of shape (n,)
        Weight of each row in the unit `weight_unit`; integers if the weights are small multiples
        of one number.
    centers : float64 array of shape (k, d)
        Coordinates of the reference centres in the features of X. With an embedding these are the
        cluster means in X.
    distances : float64 array of shape (n, k)
        Cost of assigning each row, with weight 1, to each centre; for k-means the squared Euclidean
        distance.
    labels : int64 array of shape (n,)
        Cluster of each row in the free clustering (the clustering without a tree).
    nearest : float64 array of shape (n,)
        Smallest entry of each row of `distances`.
    distance_range : float64 array of shape (n,)
        Largest minus smallest entry of each row of `distances`.
    frequent : float64 array of shape (d, 2)
        A value of each feature that many rows may have, for example 0, after the next smaller
        float. Bounds of costs are tighter if they know these rows.
    n_jobs : int
        Number of threads. They share the features, and the result is the same for any number.
    space : array or CSR matrix of shape (n, m)
        The rows in the space in which they are clustered: the embedding, or the same object as X.
    leaf_size : LeafSize, optional
        The minimum size of leaves.
    weight_unit : float
        The number by which the sample weights were divided.
    is_initial : bool
        Whether the tree is the start of another fit, which then handles a KeyboardInterrupt.

    Notes
    -----
    Memory in addition to X:

    ===================  ===========================================
    distances            8 n k bytes
    other arrays         48 n bytes
    columns, sparse X    a copy of X, shared by all inputs of that X
    ===================  ===========================================
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
    frequent: np.ndarray
    n_jobs: int = 1
    space: Any = None
    leaf_size: Any = None
    weight_unit: float = 1.0
    is_initial: bool = False

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
        leaf_size=None,
    ):
        """Validate the input and compute the distances to the centres.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), float32 or float64
        centers : array-like of shape (k, m)
            Reference centres; m = d without an embedding.
        sample_weight : array-like of shape (n,), optional
            At least 0. A row of weight 0 is ignored.
        embedding : array-like or sparse matrix of shape (n, m), optional
            The rows in the space of the centres. Cuts are made in X; for them, each centre is
            then replaced by the mean, in X, of the rows of its cluster.
        labels : int array-like of shape (n,), optional
            Cluster of each row; by default the nearest centre (ties: the lowest number).
        n_jobs : int, optional
            Number of threads, as in joblib.
        distances : float64 array of shape (n, k), optional
            Cost of assigning each row to each centre, at least 0. By default it is computed for
            `objective`.
        objective : {"kmeans", "kmedians"}
            The cost: "kmeans" is the squared Euclidean distance, "kmedians" the L1 distance. It
            has no effect if `distances` is given.
        leaf_size : LeafSize, optional

        Returns
        -------
        BuilderInput

        Raises
        ------
        ValueError
            If X, the centres or the embedding contain NaN or infinite values or have shapes that
            do not match, if weights are negative or all zero, or if the distances overflow.
        """
        check_aligned(X, sample_weight=sample_weight, embedding=embedding)
        X = check_rows(X)
        space = X if embedding is None else check_embedding(embedding)
        centers = check_centers(centers, "centers")
        if centers.shape[1] != space.shape[1]:
            raise ValueError(
                f"The centres have {centers.shape[1]} features, but the rows have {space.shape[1]}."
            )
        # Any positive weight is valid, however small: the weights are rescaled below.
        weight = check_sample_weight(sample_weight, X, np.finfo(np.float64).tiny)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry.")
        if distances is None:
            distances = DISTANCES[objective](space, centers)
            _drop_noise(distances.view(np.int64))
        if not np.isfinite(distances.max()):
            raise ValueError("The distances to the centres overflow; rescale the data.")
        if labels is None:
            labels = distances.argmin(axis=1)
        else:
            labels = _check_labels(labels, len(weight), len(centers))
        if embedding is not None:
            centers = cluster_means(X, labels, weight, len(centers))
        nearest, (weight, unit) = distances.min(axis=1), _in_unit(weight)
        return cls(
            X=X,
            columns=column_arrays(X),
            rows=np.flatnonzero(weight > 0),
            weight=weight,
            centers=centers,
            distances=distances,
            nearest=nearest,
            distance_range=distances.max(axis=1) - nearest,
            labels=labels,
            frequent=_frequent(X),
            n_jobs=effective_n_jobs(n_jobs),
            space=space,
            leaf_size=leaf_size,
            weight_unit=unit,
        )

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.X.shape[1]

    def inverse_index(self, rows):
        """Return the inverse index of `rows`: int64 array of shape (n,), empty for a dense X.

        Element r is the position of row r in `rows`, or -1. Kernels need it to find the rows of a
        node among the stored values of a sparse column.
        """
        if not sp.issparse(self.X):
            return np.empty(0, np.int64)
        inverse = np.full(self.X.shape[0], -1, np.int64)
        inverse[rows] = np.arange(len(rows))
        return inverse

    def column(self, rows, feature):
        """Return the values of a feature for m given rows: float64 array of shape (m,)."""
        if sp.issparse(self.X):
            data, indices, indptr = self.columns
            stored = slice(indptr[feature], indptr[feature + 1])
            values = np.zeros(self.X.shape[0])
            values[indices[stored]] = data[stored]
            return values[rows]
        return self.X[:, feature][rows].astype(np.float64, copy=False)

    def kept_column(self, rows):
        """Return a function like :meth:`column` for these rows; it remembers the last columns."""
        most = max(1, KEPT // max(1, len(rows)))
        return functools.lru_cache(most)(functools.partial(self.column, rows))

    def goes_left(self, rows, feature, threshold):
        """Return a mask of `rows`: True where the value of `feature` is at most `threshold`."""
        # The values are float64: a threshold may be the coordinate of a centre, which may lie
        # between two float32 values.
        return self.column(rows, feature) <= threshold

    def distinct_values(self, some):
        """Return the distinct values of each feature over the rows numbered `some`.

        For a sparse X, each feature has the value zero, even if no row has it.
        :func:`greedy.surrogate_cuts.best_surrogate_cut` uses the values as candidate thresholds.

        Returns
        -------
        values : float64 array
            The values of all features one after the other, increasing within each feature.
        start : int64 array of shape (d + 1,)
            Position in `values` where those of each feature begin; the last element is the end.
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

    def best_cut(self, search, *arguments):
        """Return the best cut over all features; each thread searches a range of them.

        Parameters
        ----------
        search : callable(*arguments, lo, hi) -> (value, feature, threshold, ...)
            It searches features lo..hi-1; lower values are better.

        Returns
        -------
        (value, feature, threshold, ...), or None if there is no cut
        """
        cuts = self.over_features(lambda lo, hi: search(*arguments, lo, hi))
        return min((cut for cut in cuts if cut[1] >= 0), default=None)

    def over_features(self, kernel):
        """Run ``kernel(lo, hi)`` for a range of features per thread; return the list of results."""
        n_parts = max(1, min(self.n_jobs, self.n_features))
        bounds = np.linspace(0, self.n_features, n_parts + 1).astype(int).tolist()
        parts = list(itertools.pairwise(bounds))
        return map_in_threads(lambda part: kernel(*part), parts, n_parts)


def _frequent(X):
    """Return a value that many rows of X may have in each feature, after the next smaller float."""
    value = np.zeros(X.shape[1])
    if not sp.issparse(X):
        some = X[spaced_rows(len(X), _SAMPLE)].astype(np.float64)
        value = np.sort(some, axis=0)[len(some) // 2]
    return np.column_stack([np.nextafter(value, -np.inf), value])


def _check_labels(labels, n_rows, n_clusters):
    check_kind(labels, "labels")
    labels = column_or_1d(labels)
    is_integer = labels.dtype.kind in "iu" and len(labels) == n_rows
    if not is_integer or labels.min() < 0 or labels.max() >= n_clusters:
        raise ValueError(f"labels must be {n_rows} integers in 0..{n_clusters - 1}, one per row.")
    return labels.astype(np.int64)


def _in_unit(weight):
    """Return weights in a unit in which their sums are exact, if there is one, and the unit.

    Small integers stay as they are, and small multiples of the smallest weight become integers.
    Other weights are divided by a power of two: their maximum is at least 0.5 and less than 1.
    """
    if weight.max() <= _MOST_REPEATS and np.array_equal(weight, np.floor(weight)):
        return weight, 1.0
    is_positive = weight > 0
    found = as_repeats(weight[is_positive])
    if found is not None and found[0].max() <= _MOST_REPEATS:
        repeats = np.zeros(len(weight))
        repeats[is_positive] = found[0]
        return repeats, found[1]
    power = int(np.frexp(weight.max())[1])
    return np.ldexp(weight, -power), float(np.ldexp(1.0, power))


@jit
def nearest_two(distances, rows, centers):
    """Find the nearest and the second nearest of some centres for each row.

    Parameters
    ----------
    distances : float64 array of shape (n, k)
    rows : int64 array of shape (m,)
    centers : int64 array of shape (c,), columns of `distances`

    Returns
    -------
    label, second : int64 arrays of shape (m,)
        Nearest and second nearest centre, as positions in `centers` (ties: the lowest).
    nearest, gap, distance_range : float64 arrays of shape (m,)
        `nearest` is the distance to the nearest centre. `gap` and `distance_range` are the
        distances to the second nearest and to the farthest centre, minus `nearest`.
    """
    n = rows.shape[0]
    label, second = np.empty(n, np.int64), np.empty(n, np.int64)
    nearest, gap, distance_range = np.empty(n), np.empty(n), np.empty(n)
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
        nearest[r], gap[r], distance_range[r] = least, next_ - least, most - least
    return label, second, nearest, gap, distance_range


def _drop_noise(bits):
    """Round non-negative float64 numbers, given as a view of their bits as int64, in place.

    Bit patterns of non-negative floats, read as integers, have the order of the floats. Therefore
    rounding the integers to a multiple of 2 ** _NOISE_BITS rounds the floats.
    """
    bits += 1 << (_NOISE_BITS - 1)
    bits &= -(1 << _NOISE_BITS)


def squared_distances(X, centers):
    """Return the squared Euclidean distance of each row to each centre: array of shape (n, k).

    It is exact for integer coordinates; see :func:`tao_cluster.objectives.base.euclidean`.
    """
    return euclidean(X, centers, squared=True)


# For each objective, the function of (X, centers) that returns the cost of assigning each row to
# each centre, an array of shape (n, k).
DISTANCES = {"kmeans": squared_distances, "kmedians": KMedians().distances}


# ---------------------------------------------------------------- the minimum size of leaves


def clipped(points, rows):
    """Return an input in which all cuts of some rows leave enough of them on both sides.

    A cut of a feature leaves enough rows on both sides (`min_samples_leaf`) if its threshold lies
    in a range [low, high) of values. If the values are clipped to [low, high], exactly these cuts
    remain, with the same thresholds. So searches that know no limit find the best cut within the
    limit.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
        The values of other rows are undefined in the result.

    Returns
    -------
    BuilderInput, or None if the rows are too few for two leaves
        The argument itself if there is no limit.
    """
    if points.leaf_size is None:
        return points
    if not points.leaf_size.can_divide(rows):
        return None
    low, high = threshold_ranges(points, rows)
    high = np.maximum(low, high)  # equal: no cut of this feature remains
    clip = _clipped_sparse if sp.issparse(points.X) else _clipped_dense
    X = clip(points.X, rows, low, high)
    centers = np.clip(points.centers, low, high) if points.centers.size else points.centers
    return replace(points, X=X, columns=column_arrays(X), centers=centers)


def threshold_ranges(points, rows):
    """Return the ranges [low, high) of thresholds that leave enough rows on both sides.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    low, high : float64 arrays of shape (d,)
        A range is empty (low >= high) if no cut of the feature leaves enough rows.
    """
    size, d = points.leaf_size, points.n_features
    if size is None:
        return np.full(d, -np.inf), np.full(d, np.inf)
    if not size.can_divide(rows):
        return np.full(d, np.inf), np.full(d, -np.inf)
    low, high, features = np.zeros(d), np.zeros(d), np.arange(d)
    if sp.issparse(points.X):  # if fewer rows store a feature, 0 is on the larger side of all cuts
        stored = points.X[rows]
        units = np.repeat(size.units[rows], np.diff(stored.indptr))
        features = np.flatnonzero(np.bincount(stored.indices, units, d) >= size.least)
    for feature in features:
        low[feature], high[feature] = size.thresholds(points.column(rows, feature), rows)
    return low, high


def _clipped_dense(X, rows, low, high):
    out = np.empty_like(X)
    out[rows] = np.clip(X[rows], low.astype(X.dtype), high.astype(X.dtype))
    return out


def _clipped_sparse(X, rows, low, high):
    part = X[rows].tocoo()
    data = np.clip(part.data, low[part.col], high[part.col]).astype(X.dtype)
    entries = [(data, rows[part.row], part.col)]
    for feature in np.flatnonzero((low > 0) | (high < 0)):  # fewer zeros than rows of a leaf
        is_zero = np.ones(len(rows), bool)
        is_zero[part.row[part.col == feature]] = False
        value = X.dtype.type(low[feature] if low[feature] > 0 else high[feature])
        n = np.count_nonzero(is_zero)
        entries.append((np.full(n, value), rows[is_zero], np.full(n, feature)))
    data, row, col = map(np.concatenate, zip(*entries, strict=True))
    out = canonical(sp.csr_matrix((data, (row, col)), X.shape, dtype=X.dtype))
    out.eliminate_zeros()
    return out
