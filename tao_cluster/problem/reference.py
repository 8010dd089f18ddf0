"""The free clustering: the same problem without a tree, which every method explains."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, has_fit_parameter

from ..core.repeats import as_repeats
from ..core.telling import tell
from ..core.threads import one_thread

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class FreeClustering:
    """Centres (k, m), the nearest-centre labels (n,) and their cost.

    Ties between centres go to the lowest cluster.
    """

    labels: np.ndarray
    centers: np.ndarray
    inertia: float


def free_clustering(reference, objective, rows, data, n_clusters, sample_weight, random_state):
    """The free clustering that a `reference` parameter stands for.

    Parameters
    ----------
    reference : None, estimator or array-like of shape (n_clusters, m)
        None is the objective's own estimator with `random_state`. A fitted estimator is used
        as it is, an unfitted one is cloned and fitted. An array gives the centres.
    objective : Objective
    rows : array or CSR matrix of shape (n, m), what is clustered
    data : result of ``objective.prepare(rows)``
    n_clusters : int
    sample_weight : float64 array of shape (n,)
    random_state : int, RandomState instance or None

    Returns
    -------
    FreeClustering

    Raises
    ------
    ValueError
        If the centres do not have the shape (n_clusters, m).

    Warns
    -----
    ConvergenceWarning
        If some clusters have no rows, as when X has fewer distinct rows than clusters.
    """
    is_ours = _is_fitted_here(reference)
    if is_ours and rows.shape[0] < n_clusters:
        centers = _one_row_each(objective, data, n_clusters, rows.shape)
    elif is_ours:
        reference = (
            objective.reference(n_clusters, random_state) if reference is None else clone(reference)
        )
        centers = _centers_of(_fit(reference, rows, sample_weight, random_state))
    elif hasattr(reference, "fit"):
        centers = _centers_of(reference)
    else:
        centers = check_array(reference, dtype=np.float64, input_name="reference")
    expected = (n_clusters, rows.shape[1])
    if centers.shape != expected:
        raise ValueError(
            f"The reference must have n_clusters={n_clusters} centres with {expected[1]} "
            f"features; it has centres of shape {centers.shape}."
        )
    labels = nearest_center(objective, data, centers)
    used = np.bincount(labels, minlength=n_clusters) > 0
    if not used.all():
        tell(
            f"Only {used.sum()} of {n_clusters} clusters have rows; X may have fewer distinct "
            "rows than n_clusters.",
            ConvergenceWarning,
        )
        if is_ours:  # numbers of our own choosing: empty clusters last
            order = np.argsort(~used, kind="stable")
            centers, labels = centers[order], np.argsort(order)[labels]
    with one_thread():
        inertia = objective.value(data, labels, sample_weight, centers)
    return FreeClustering(labels, centers, inertia)


def optimal_centers(objective, data, labels, sample_weight, free):
    """Optimal centres of a partition and its cost; empty clusters keep their free centres.

    Parameters
    ----------
    objective : Objective
    data : result of ``objective.prepare``
    labels : int array of shape (n,)
    sample_weight : float64 array of shape (n,)
    free : FreeClustering

    Returns
    -------
    centers : float64 array of shape (k, m)
    inertia : float
    """
    with one_thread():
        centers = objective.update_centers(data, labels, sample_weight, free.centers)
        return centers, objective.value(data, labels, sample_weight, centers)


def cost_increase(cost, free_cost):
    """Percent by which a clustering costs more than the free clustering.

    Parameters
    ----------
    cost, free_cost : float
        Values of the clustering objective, with optimal centres.

    Returns
    -------
    float; 0 if they are equal up to the rounding of sums, inf if only the free cost is 0

    Examples
    --------
    >>> cost_increase(103.0, 100.0)
    3.0
    """
    if abs(cost - free_cost) <= _ROUNDING * free_cost:
        return 0.0
    if free_cost == 0:
        return float("inf")
    return float(100 * (cost - free_cost) / free_cost)


def nearest_center(objective, data, centers):
    """Cluster of the nearest centre of each row, ties to the lowest: int array of shape (n,)."""
    with one_thread():
        return objective.distances(data, centers).argmin(axis=1)


def _is_fitted_here(reference):
    """Whether the centres, and with them their numbers, are left to us."""
    return reference is None or (
        hasattr(reference, "fit") and not hasattr(reference, "cluster_centers_")
    )


def _centers_of(reference):
    if not hasattr(reference, "cluster_centers_"):
        raise ValueError(
            f"{type(reference).__name__} has no cluster_centers_ after fit; give a reference "
            "with centres or an array of centres."
        )
    return np.asarray(reference.cluster_centers_, dtype=np.float64)


def _one_row_each(objective, data, n_clusters, shape):
    """Centres of the distinct rows, the last one again where there are fewer than clusters."""
    n_rows, n_columns = shape
    blank = np.zeros((n_rows, n_columns))
    centers = objective.update_centers(data, np.arange(n_rows), np.ones(n_rows), blank)
    return centers[np.minimum(np.arange(n_clusters), n_rows - 1)]


def _fit(estimator, rows, sample_weight, random_state):
    if "random_state" in estimator.get_params() and estimator.random_state is None:
        estimator.set_params(random_state=check_random_state(random_state))
    options = {"sample_weight": sample_weight}
    if not has_fit_parameter(estimator, "sample_weight"):
        options, found = {}, as_repeats(sample_weight)
        if found is None:
            raise ValueError(
                f"{type(estimator).__name__} takes no sample_weight; fit it beforehand or give "
                "another reference."
            )
        repeats, _ = found
        if not np.all(repeats == 1):
            rows = rows[np.repeat(np.arange(len(repeats)), repeats)]
    # scikit-learn's k-means adds up the sums of its threads in the order in which they end.
    with one_thread(), warnings.catch_warnings():
        # Fewer distinct rows than clusters: told by the caller.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(rows, **options)
