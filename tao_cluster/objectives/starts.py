"""Starts of k-means in threads, for many rows on a sample of the rows."""

import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from .._utils.threads import map_in_threads

# With fewer values times clusters, a fit of scikit-learn in one call is faster.
_MIN_WORK = 2**22
# With at least `_MANY` rows, the starts are compared on a sample of `_SAMPLE` rows, or of
# `_SAMPLE_PER_CLUSTER` rows per cluster if that is more. The best ones are continued on all rows.
_MANY, _SAMPLE, _SAMPLE_PER_CLUSTER, _N_CONTINUED = 20_000, 10_000, 400, 2
# Starts run in single precision if the largest value is at most this multiple of the mean one.
# Otherwise a few distant rows would leave no digits for the others.
_MOST_SPREAD = 2.0**12


def is_divisible(estimator, rows):
    """Return whether an estimator is k-means with several starts, and threads or a sample pay."""
    has_starts = (
        type(estimator) is KMeans
        and isinstance(estimator.n_init, int)
        and estimator.n_init > 1
        and estimator.init == "k-means++"
    )
    n_values = rows.nnz if issparse(rows) else rows.size
    return has_starts and n_values * estimator.n_clusters >= _MIN_WORK


def best_of_starts(estimator, rows, sample_weight, n_jobs):
    """Return a fitted clone of k-means: the best one of its `n_init` starts.

    The starts are drawn one after the other, and threads continue them by Lloyd's or Elkan's
    algorithm. The result does not depend on the number of threads. With many rows, the starts are
    compared on a sample, in which each row is drawn with probability 1/2 in proportion to its
    weight, and otherwise in proportion to its weight times its squared distance to the mean
    (lightweight coresets, Bachem, Lucic & Krause 2018), so that distant rows are not overlooked.
    The best two starts are then continued on all rows. All this is done in single precision, and
    the best result is continued in double precision.

    Parameters
    ----------
    estimator : scikit-learn's KMeans, unfitted
    rows : array or CSR matrix of shape (n, m)
    sample_weight : float64 array of shape (n,)
    n_jobs : int

    Returns
    -------
    KMeans
    """
    rng = check_random_state(estimator.random_state)
    n_sampled = max(_SAMPLE, _SAMPLE_PER_CLUSTER * estimator.n_clusters)
    is_sampled = rows.shape[0] >= max(_MANY, 2 * n_sampled)
    few, weight = rows, sample_weight
    if is_sampled:
        few, weight = _sample(rows, sample_weight, n_sampled, rng)
    found = _continued(estimator, few, weight, _starts(estimator, few, weight, rng), n_jobs)
    if is_sampled:
        found.sort(key=lambda one: one[0])
        starts = [centers for _, centers in found[:_N_CONTINUED]]
        found = _continued(estimator, rows, sample_weight, starts, n_jobs)
    _, centers = min(found, key=lambda one: one[0])
    return _one_start(estimator, centers).fit(rows, sample_weight=sample_weight)


def _starts(estimator, rows, weight, rng):
    """Return the centres of each start by k-means++: a list of arrays of shape (k, m)."""
    terms = {
        "sample_weight": weight,
        "random_state": rng,
        "x_squared_norms": row_norms(rows, squared=True),
    }
    return [
        kmeans_plusplus(rows, estimator.n_clusters, **terms)[0] for _ in range(estimator.n_init)
    ]


def _continued(estimator, rows, weight, starts, n_jobs):
    """Return the inertia and the centres that the algorithm of an estimator finds from each start.

    It runs in single precision if rounding cannot matter much.
    """
    rows, origin = _in_single_precision(rows)

    def fitted(start):
        one = _one_start(estimator, np.asarray(start - origin, rows.dtype))
        one.fit(rows, sample_weight=weight)
        return one.inertia_, one.cluster_centers_ + origin

    with warnings.catch_warnings():  # for all threads
        warnings.simplefilter("ignore", ConvergenceWarning)
        return map_in_threads(fitted, starts, n_jobs)


def _one_start(estimator, centers):
    return clone(estimator).set_params(n_init=1, init=centers)


def _in_single_precision(rows):
    """Return rows minus an origin as float32 array, and the origin: twice as fast as float64.

    Sparse rows, and rows of which a few are far from all others, are returned as they are.
    """
    if issparse(rows):
        return rows, 0.0
    origin = rows.mean(axis=0)
    single = np.empty(rows.shape, np.float32)
    with np.errstate(over="ignore"):
        np.subtract(rows, origin, out=single, casting="same_kind")
        most = max(single.max(), -single.min())
        mean = np.linalg.norm(single.ravel(), 1) / single.size
    is_safe = 0 < most <= _MOST_SPREAD * mean < np.inf
    return (single, origin) if is_safe else (rows, 0.0)


def _sample(rows, weight, n_sampled, rng):
    """Return some rows and weights that represent all rows; see :func:`best_of_starts`."""
    share = weight / weight.sum()
    mean = np.asarray(share @ rows).ravel()
    squares = row_norms(rows, squared=True) - 2 * np.asarray(rows @ mean).ravel() + mean @ mean
    far = share * np.maximum(squares, 0)
    chance = 0.5 * share + 0.5 * far / far.sum() if far.any() else share
    drawn = np.bincount(rng.choice(len(share), n_sampled, p=chance), minlength=len(share))
    picked = np.flatnonzero(drawn)
    return rows[picked], drawn[picked] * weight[picked] / (n_sampled * chance[picked])
