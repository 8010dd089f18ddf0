"""The free clustering: the same problem without a tree, which every method explains."""

import contextlib
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from ._utils.matrices import check_centers, check_kind
from ._utils.threads import interruptible, one_thread
from ._utils.warnings import warn
from .objectives.alternating import lloyd
from .objectives.labels import encode
from .problem.repeats import as_repeats

__all__ = ["FreeClustering", "cost_increase", "free_clustering"]

_ROUNDING = 1e-12
# Of rows that are repeated for what takes no weights, and as a multiple of the distinct ones.
_MOST_REPEATS, _MOST_TIMES = 1_000_000, 100
_CENTERS = ("cluster_centers_", "means_")  # what estimators call their centres


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
        None is the objective's own estimator with `random_state`. An unfitted estimator is
        cloned and fitted. An array gives the centres, as ``centers_of`` those of a fitted one.
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

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.objectives import KMeans
    >>> from tao_cluster.reference import free_clustering
    >>> X, weight = np.array([[0.0], [2.0], [8.0]]), np.ones(3)
    >>> free_clustering([[1.0], [8.0]], KMeans(), X, KMeans().prepare(X), 2, weight, 0).inertia
    2.0
    """
    if objective.free_labels is not None:
        return _by_labels(objective, rows, data, n_clusters, sample_weight)
    is_ours = is_to_be_fitted(reference) and not objective.explains_labels
    if is_ours and rows.shape[0] < n_clusters:
        centers = _one_row_each(objective, data, n_clusters, rows.shape)
    elif is_ours:
        estimator = to_fit(reference, objective, rows, n_clusters, random_state)
        centers = centers_of(
            *fit_reference(estimator, rows, sample_weight, random_state), objective
        )
    elif objective.explains_labels:
        centers = objective.reference(n_clusters, random_state)
    else:
        centers = given_centers(reference, rows, sample_weight, objective)
    expected = (n_clusters, rows.shape[1])
    if centers.shape != expected:
        raise ValueError(
            f"The reference must have n_clusters={n_clusters} centres with {expected[1]} "
            f"features; it has centres of shape {centers.shape}."
        )
    labels = nearest_center(objective, data, centers)
    if reference is None and objective.stops_early:
        centers, labels = _finished(objective, data, sample_weight, centers, labels)
    used = used_clusters(np.bincount(labels, minlength=n_clusters))
    if is_ours and not used.all():  # numbers of our own choosing: empty clusters last
        order = np.argsort(~used, kind="stable")
        centers, labels = centers[order], np.argsort(order)[labels]
    with one_thread():
        inertia = objective.value(data, labels, sample_weight, centers)
    return FreeClustering(labels, centers, inertia)


def _finished(objective, data, weight, centers, labels):
    """Lloyd's algorithm from where a library has stopped, if it pays.

    Else a tree of the free labels would cost less than the free clustering, whose centres are not
    the best ones of its clusters. Centres that only rounding parts from these stay.
    """
    with one_thread():
        run = lloyd(objective, data, weight, centers)
        before = objective.value(data, labels, weight, centers)
        after = objective.value(data, run.labels, weight, run.centers)
    return (run.centers, run.labels) if after < before * (1 - _ROUNDING) else (centers, labels)


def _by_labels(objective, rows, data, n_clusters, sample_weight):
    """The free clustering of an objective that has clusters without centres."""
    labels = objective.free_labels(data, n_clusters, sample_weight)
    used_clusters(np.bincount(labels, minlength=n_clusters))
    blank = np.zeros((n_clusters, rows.shape[1]))
    centers = objective.update_centers(data, labels, sample_weight, blank)
    return FreeClustering(labels, centers, objective.value(data, labels, sample_weight, centers))


def used_clusters(counts):
    """Which clusters have rows, by how many: bool array; a warning if some have none."""
    used = counts > 0
    if not used.all():
        warn(
            f"Only {used.sum()} of {len(used)} clusters have rows; X may have fewer distinct "
            "rows than n_clusters.",
            ConvergenceWarning,
        )
    return used


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
        if objective.nearest is None:
            return objective.distances(data, centers).argmin(axis=1)
        return objective.nearest(data, centers)


def free_labels(objective, data, weight, centers):
    """Clusters of rows beside a free clustering: those of the nearest of its centres.

    Where clusters do not follow from centres, a clustering of the rows into as many.
    """
    if objective.free_labels is None:
        return nearest_center(objective, data, centers)
    return objective.free_labels(data, len(centers), weight)


def is_to_be_fitted(reference):
    """Whether the centres, and with them their numbers, are left to us.

    Raises
    ------
    ValueError
        If it is a class.
    """
    if isinstance(reference, type):
        name = reference.__name__
        raise ValueError(f"{name} is a class; give an object as reference, {name}().")
    return reference is None or (
        hasattr(reference, "fit")
        and not any(hasattr(reference, name) for name in (*_CENTERS, "labels_"))
    )


def given_centers(reference, rows, sample_weight, objective):
    """The centres that a reference gives; the reference itself where it is to be fitted.

    Parameters as for ``centers_of``; the rows are those of the input, in their order.
    """
    if is_to_be_fitted(reference):
        return reference
    if hasattr(reference, "fit"):
        return centers_of(reference, rows, sample_weight, objective)
    return check_centers(reference)


def centers_of(estimator, rows, sample_weight, objective):
    """The centres of a fitted estimator: its own, or what the objective makes of its labels.

    Parameters
    ----------
    estimator : fitted estimator
        With `cluster_centers_`, as k-means has, `means_`, as mixtures have, or `labels_` of the
        rows, -1 for noise, which belongs to no cluster.
    rows : array or CSR matrix of shape (n, m)
    sample_weight : float64 array of shape (n,)
    objective : Objective

    Returns
    -------
    float64 array of shape (k, m)

    Raises
    ------
    ValueError
        If it has none of these, labels of other rows, or centres that
        :func:`tao_cluster._utils.matrices.check_centers` refuses.
    """
    for name in _CENTERS:
        if hasattr(estimator, name):
            own = f"{name} of {type(estimator).__name__}"
            return check_centers(getattr(estimator, name), own)
    name = type(estimator).__name__
    if getattr(estimator, "labels_", None) is None:
        raise ValueError(
            f"{name} has no cluster_centers_, means_ or labels_ after fit; give a reference with "
            "centres or labels, or an array of centres."
        )
    check_kind(estimator.labels_, f"labels_ of {name}", "whole numbers", has_strings=True)
    labels, classes = encode(estimator.labels_)
    if len(classes) == 0:
        raise ValueError(f"labels_ of {name} puts no row into a cluster: all are noise.")
    if len(labels) != rows.shape[0]:
        raise ValueError(
            f"{name} has labels of {len(labels)} rows, X has {rows.shape[0]}: without centres it "
            "must have been fitted to the rows of X, or be left unfitted."
        )
    weight = np.where(labels < 0, 0.0, sample_weight)
    blank = np.zeros((len(classes), rows.shape[1]))
    return objective.update_centers(objective.prepare(rows), np.maximum(labels, 0), weight, blank)


def _one_row_each(objective, data, n_clusters, shape):
    """Centres of the distinct rows, the last one again where there are fewer than clusters."""
    n_rows, n_columns = shape
    blank = np.zeros((n_rows, n_columns))
    centers = objective.update_centers(data, np.arange(n_rows), np.ones(n_rows), blank)
    return centers[np.minimum(np.arange(n_clusters), n_rows - 1)]


def to_fit(reference, objective, rows, n_clusters, random_state):
    """What finds the free clustering of rows: the objective's own estimator, or a clone of one.

    Parameters
    ----------
    reference : None or unfitted estimator
    objective : Objective
    rows : array or CSR matrix of shape (n, m), only its kind counts
    n_clusters : int
    random_state : int, RandomState instance or None, of the objective's own

    Returns
    -------
    unfitted estimator
    """
    if reference is not None:
        return clone(reference)
    make = objective.sparse_reference if issparse(rows) else None
    return (make or objective.reference)(n_clusters, random_state)


def fit_reference(estimator, rows, sample_weight, random_state):
    """Fit an unfitted estimator, with repeated rows where it takes no weights.

    Parameters
    ----------
    estimator : estimator, altered
    rows : array or CSR matrix of shape (n, m)
    sample_weight : float64 array of shape (n,)
    random_state : int, RandomState instance or None, for an estimator without one of its own

    Returns
    -------
    The estimator, the rows that it has seen and their weights

    Raises
    ------
    ValueError
        If it takes no weights and these are no multiples of one number, or of too many.
    """
    if "random_state" in estimator.get_params() and estimator.random_state is None:
        estimator.set_params(random_state=check_random_state(random_state))
    options = {"sample_weight": sample_weight}
    if not has_fit_parameter(estimator, "sample_weight"):
        options, found = {}, as_repeats(sample_weight)
        repeats = None if found is None else found[0]
        if repeats is None or repeats.sum() > max(_MOST_REPEATS, _MOST_TIMES * len(repeats)):
            raise ValueError(
                f"{type(estimator).__name__} takes no sample_weight, and rows repeated as these "
                "weights say would be too many, or no whole number of rows; fit it beforehand or "
                "give another reference."
            )
        if not np.all(repeats == 1):
            rows = rows[np.repeat(np.arange(len(repeats)), repeats)]
        sample_weight = np.ones(rows.shape[0])
    # scikit-learn's k-means adds up the sums of its threads in the order in which they end.
    with one_thread(), warnings.catch_warnings():
        # Fewer distinct rows than clusters: told by the caller.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Our own estimators check for Ctrl-C themselves; an interrupted kernel may fail otherwise.
        is_ours = type(estimator).__module__.startswith(f"{__package__}.")
        with contextlib.nullcontext() if is_ours else interruptible():
            return estimator.fit(rows, **options), rows, sample_weight
