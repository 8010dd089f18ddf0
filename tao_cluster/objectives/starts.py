"""Starts of k-means in threads, for many rows on a sample of the rows."""

import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from .._utils.matrices import row_size
from .._utils.threads import map_in_threads
from .base import cluster_sums
from .kmeans import KMeans as _Objective

# With fewer values times clusters, a fit of scikit-learn in one call is faster.
_MIN_WORK = 2**22
# With at least `_MANY` rows, the starts are compared on a sample of `_SAMPLE` rows with at most
# `_SAMPLE_VALUES` values, or of `_SAMPLE_PER_CLUSTER` rows per cluster if that is more. The best
# `_N_CONTINUED` of them are continued on all rows for `_N_COMPARED` iterations, and then the better
# one to the end.
_MANY, _SAMPLE, _SAMPLE_VALUES, _SAMPLE_PER_CLUSTER = 20_000, 10_000, 2**22, 400
_N_CONTINUED, _N_COMPARED = 2, 10
# Results in single precision are used only if the least inertia is at least this share of the sum
# of squares about the mean. Otherwise rounding errors of squared distances could change the result,
# for example if one row is far from all others. Mean squares below `_LEAST_SQUARE` could vanish.
_LEAST_SHARE, _LEAST_SQUARE = 2.0**-12, 1e-20


def is_divisible(estimator, rows):
    """Return whether an estimator is k-means with several starts, and threads or samples help."""
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
    The best two starts are then continued on all rows for ten iterations, and the better one to
    the end. If rows are an array and rounding errors do not matter, all this is done in single
    precision, and the centres are the means of the best clusters in double precision.

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
    rng, k = check_random_state(estimator.random_state), estimator.n_clusters
    n_sampled = min(_SAMPLE, int(_SAMPLE_VALUES / max(row_size(rows), 1)))
    n_sampled = max(n_sampled, _SAMPLE_PER_CLUSTER * k)
    is_sampled = rows.shape[0] >= max(_MANY, 2 * n_sampled)
    few, weight = rows, sample_weight
    if is_sampled:
        few, weight = _sample(rows, sample_weight, n_sampled, rng)
    terms = {"sample_weight": weight, "random_state": rng}
    seeds = (kmeans_plusplus(few, k, **terms)[0] for _ in range(estimator.n_init))
    found, origin = _continued(estimator, few, weight, list(seeds), n_jobs)
    if is_sampled:
        found.sort(key=lambda one: one.inertia_)
        starts = [one.cluster_centers_ + origin for one in found[:_N_CONTINUED]]
        terms = (estimator, rows, sample_weight, starts, n_jobs)
        found, origin = _continued(*terms, is_race=True)
    best = min(found, key=lambda one: one.inertia_)
    if best.cluster_centers_.dtype != rows.dtype:  # the rows were in single precision
        total = np.bincount(best.labels_, sample_weight, k)
        sums = cluster_sums(rows, best.labels_, sample_weight, k, origin)
        terms = (sums, total, best.cluster_centers_ + origin, origin)
        best.cluster_centers_ = _Objective().centers_of(*terms)
    return best


def _continued(estimator, rows, weight, starts, n_jobs, is_race=False):
    """Continue the algorithm of an estimator from each start.

    With `is_race`, only the start that is best after a few iterations is continued to the end.

    Returns
    -------
    list of KMeans, one fitted estimator per start that was continued to the end
    origin : float64 array of shape (m,), or 0.0
        What was subtracted from the rows, which were then in single precision; 0.0 if they were
        used as they are. Single precision is twice as fast.
    """

    def fitted(rows, starts, **options):
        def continued(start):
            one = clone(estimator).set_params(n_init=1, init=start, **options)
            return one.fit(rows, sample_weight=weight)

        return map_in_threads(continued, starts, n_jobs)

    def best_fitted(rows, starts, copy_x=True):
        if is_race:  # without a tolerance, scikit-learn need not compute the variances of columns
            found = fitted(rows, starts, max_iter=_N_COMPARED, tol=0)
            starts = [min(found, key=lambda one: one.inertia_).cluster_centers_]
        return fitted(rows, starts, copy_x=copy_x)

    with warnings.catch_warnings():  # for all threads
        warnings.simplefilter("ignore", ConvergenceWarning)
        if not issparse(rows) and rows.dtype != np.float32:
            origin, single = rows.mean(axis=0), np.empty(rows.shape, np.float32)
            with np.errstate(over="ignore"):
                np.subtract(rows, origin, out=single, casting="same_kind")
                total = float(weight @ row_norms(single, squared=True))
            if _LEAST_SQUARE < total / (weight.sum() * rows.shape[1]) < np.inf:
                moved = [(start - origin).astype(np.float32) for start in starts]
                found = best_fitted(single, moved, copy_x=not is_race)
                if min(one.inertia_ for one in found) >= _LEAST_SHARE * total:
                    return found, origin
            del single  # frees its memory before scikit-learn copies the rows
        return best_fitted(rows, starts), 0.0


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
