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
    The best two starts are then continued on all rows.

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
    sample = _sample(rows, sample_weight, n_sampled, rng) if is_sampled else (rows, sample_weight)
    found = _continued(estimator, *sample, _starts(estimator, *sample, rng), n_jobs)
    if is_sampled:
        found.sort(key=lambda one: one.inertia_)
        starts = [one.cluster_centers_ for one in found[:_N_CONTINUED]]
        found = _continued(estimator, rows, sample_weight, starts, n_jobs)
    return min(found, key=lambda one: one.inertia_)


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
    """Return one fitted estimator per start; its algorithm begins at the centres of the start."""

    def fitted(start):
        one = clone(estimator).set_params(n_init=1, init=start)
        return one.fit(rows, sample_weight=weight)

    with warnings.catch_warnings():  # for all threads
        warnings.simplefilter("ignore", ConvergenceWarning)
        return map_in_threads(fitted, starts, n_jobs)


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
