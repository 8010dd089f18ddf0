"""The free clustering: the solution of the clustering problem without a tree."""

import contextlib
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from ._utils.frames import check_host
from ._utils.matrices import check_centers
from ._utils.threads import interruptible, one_thread
from ._utils.warnings import listed, warn
from .objectives.alternating import lloyd
from .objectives.labels import encode
from .objectives.starts import best_of_starts, is_divisible
from .problem.repeats import as_repeats

__all__ = ["FreeClustering", "cost_increase", "free_clustering"]

_ROUNDING = 1e-12
# If an estimator takes no sample weights, rows are repeated instead. The total number of rows may
# then be at most 1 000 000, or 100 times the number of distinct rows if that is larger.
_MOST_REPEATS, _MOST_TIMES = 1_000_000, 100
_CENTERS = ("cluster_centers_", "means_")  # attributes in which estimators store centres

# The `labels_` of a fitted reference may differ from its predictions in at most 3 rows or 2 % of
# the rows. More differences mean that it was fitted to other data. If it has no `predict`, the
# nearest centres are compared, and 25 % are allowed, because its own metric is unknown.
_FEW_OTHER, _FEW_OTHER_SHARE, _OTHER_METRIC_SHARE = 3, 0.02, 0.25


@dataclass(frozen=True, eq=False)
class FreeClustering:
    """A clustering without a tree.

    Parameters
    ----------
    labels : int array of shape (n,)
        Cluster of the nearest centre of each row; ties go to the lowest cluster.
    centers : float64 array of shape (k, m)
    inertia : float
        Cost of the labels.
    """

    labels: np.ndarray
    centers: np.ndarray
    inertia: float

    @classmethod
    def from_labels(cls, objective, data, weight, labels, centers):
        """Return the clustering with given labels and centres, and its cost."""
        return cls(labels, centers, objective.value(data, labels, weight, centers))


def free_clustering(
    reference, objective, rows, data, n_clusters, sample_weight, random_state, n_jobs=1
):
    """Return the free clustering of some rows.

    Parameters
    ----------
    reference : None, estimator or array-like of shape (n_clusters, m)
        None stands for the objective's own estimator with `random_state`. An unfitted estimator is
        cloned and fitted. A fitted estimator gives its centres (see ``centers_of``), an array
        is the centres.
    objective : Objective
    rows : array or CSR matrix of shape (n, m)
        Rows in the space in which they are clustered.
    data : result of ``objective.prepare(rows)``
    n_clusters : int
    sample_weight : float64 array of shape (n,)
    random_state : int, RandomState instance or None
    n_jobs : int, default=1
        Number of threads for the starts of k-means. The result does not depend on it.

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
        If some clusters have no rows, for example because X has fewer distinct rows than clusters.

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
        n_jobs = n_jobs if reference is None else None  # the user's own estimator fits as it is
        terms = (estimator, rows, sample_weight, random_state, n_jobs)
        centers = centers_of(*fit_reference(*terms), objective)
    elif objective.explains_labels:
        centers = objective.reference(n_clusters, random_state)
    else:
        centers = given_centers(reference, rows, sample_weight, objective)
    expected = (n_clusters, rows.shape[1])
    if centers.shape != expected:
        is_other_number = centers.ndim == 2 and centers.shape[1] == expected[1]
        remedy = f" Use n_clusters={len(centers)}." if is_other_number else ""
        raise ValueError(
            f"The reference must have n_clusters={n_clusters} centres with {expected[1]} "
            f"features; it has centres of shape {centers.shape}.{remedy}"
        )
    labels = nearest_center(objective, data, centers)
    if reference is None and objective.stops_early:
        centers, labels = _finished(objective, data, sample_weight, centers, labels)
    is_given = not (is_ours or objective.explains_labels) and rows.shape[0] >= n_clusters
    used = used_clusters(np.bincount(labels, minlength=n_clusters), is_given)
    if is_ours and not used.all():  # clusters are renumbered so that the empty ones come last
        order = np.argsort(~used, kind="stable")
        centers, labels = centers[order], np.argsort(order)[labels]
    with one_thread():
        return FreeClustering.from_labels(objective, data, sample_weight, labels, centers)


def trimmed_clustering(reference, objective, rows, data, n_clusters, weight, random_state, n_jobs):
    """Return a Trimmed objective with its price, and its free clustering.

    The parameters are those of :func:`free_clustering`. The centres of a reference stay as they
    are. The last of the `n_clusters` + 1 clusters has the rows without a cluster.
    """
    terms = (rows, data, n_clusters, weight, random_state, n_jobs)
    centers = free_clustering(reference, objective.geometry, *terms).centers
    if reference is None:
        with one_thread():
            centers = objective.concentrated(rows, data, weight, centers, random_state)
    objective, centers = objective.settled(data, weight, centers)
    labels = nearest_center(objective, data, centers)
    return objective, FreeClustering.from_labels(objective, data, weight, labels, centers)


def _finished(objective, data, weight, centers, labels):
    """Continue Lloyd's algorithm from the centres of an estimator, if this lowers the cost.

    An estimator may stop before its centres are optimal for its clusters. A tree with the same
    labels and optimal centres would then cost less than the free clustering. Centres that are
    optimal up to rounding are returned unchanged.
    """
    with one_thread():
        run = lloyd(objective, data, weight, centers)
        before = objective.value(data, labels, weight, centers)
        after = objective.value(data, run.labels, weight, run.centers)
    return (run.centers, run.labels) if after < before * (1 - _ROUNDING) else (centers, labels)


def _by_labels(objective, rows, data, n_clusters, sample_weight):
    """Return the free clustering of an objective that does not assign rows to nearest centres."""
    labels = objective.free_labels(data, n_clusters, sample_weight)
    used_clusters(np.bincount(labels, minlength=n_clusters))
    blank = np.zeros((n_clusters, rows.shape[1]))
    centers = objective.update_centers(data, labels, sample_weight, blank)
    return FreeClustering.from_labels(objective, data, sample_weight, labels, centers)


def used_clusters(counts, is_given=False):
    """Return which clusters have rows, and warn if some have none.

    Parameters
    ----------
    counts : array of shape (k,), number of rows per cluster
    is_given : bool
        Whether the user gave the centres, so that they may belong to other data.

    Returns
    -------
    bool array of shape (k,)
    """
    used = counts > 0
    if not used.all():
        cause = "X may have fewer distinct rows than n_clusters"
        if is_given:
            cause = f"the reference may belong to other data, such as scaled columns, or {cause}"
        warn(f"Only {used.sum()} of {len(used)} clusters have rows; {cause}.", ConvergenceWarning)
    return used


def optimal_centers(objective, data, labels, sample_weight, free):
    """Return the optimal centres of a partition and its cost.

    Clusters without rows keep their free centres.

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
    """Return the percentage by which a clustering costs more than the free clustering.

    Parameters
    ----------
    cost, free_cost : float
        Values of the clustering objective, with optimal centres.

    Returns
    -------
    float
        0 if the costs are equal up to rounding of sums, inf if only the free cost is 0.

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
    """Return the number of the nearest centre of each row: int array of shape (n,).

    If several centres are equally near, it is the lowest number.
    """
    with one_thread():
        if objective.nearest is None:
            return objective.distances(data, centers).argmin(axis=1)
        return objective.nearest(data, centers)


def free_labels(objective, data, weight, centers):
    """Return the free cluster of each row: that of the nearest free centre.

    If the clusters of the objective are not those of nearest centres, the rows are clustered anew.
    """
    if objective.free_labels is None:
        return nearest_center(objective, data, centers)
    return objective.free_labels(data, len(centers), weight)


def is_to_be_fitted(reference):
    """Return whether a reference has no centres or labels yet.

    Raises
    ------
    ValueError
        If the reference is a class instead of an object.
    """
    if isinstance(reference, type):
        name = reference.__name__
        raise ValueError(f"{name} is a class; give an object as reference, {name}().")
    return reference is None or (
        hasattr(reference, "fit")
        and not any(hasattr(reference, name) for name in (*_CENTERS, "labels_"))
    )


def split_pipeline(reference, X, embedding=None, random_state=None):
    """Split a pipeline that ends in a clusterer into its transformers and the clusterer.

    Parameters
    ----------
    reference : Pipeline, or another reference, which is returned as it is
    X : array-like, CSR matrix or DataFrame of shape (n, d), as the user gave it
    embedding : array-like or CSR matrix of shape (n, m), optional
    random_state : int, RandomState instance or None
        Seed of unfitted transformers that have a `random_state` of None.

    Returns
    -------
    transformers : fitted Pipeline, or None
        All steps but the last. Those of an unfitted pipeline are cloned and fitted to X.
    clusterer : object
        The last step of the pipeline, or the reference itself.
    embedding : array or CSR matrix of shape (n, m), or None
        X after all transformers, or the given embedding.

    Raises
    ------
    ValueError
        If there are both transformers and an embedding.
    """
    if not isinstance(reference, Pipeline):
        return None, reference, embedding
    clusterer, transformers = reference.steps[-1][1], reference[:-1]
    if len(reference.steps) == 1:
        return split_pipeline(clusterer, X, embedding, random_state)
    if isinstance(clusterer, Pipeline):  # a pipeline as the last step is split as well
        steps = [step for _, step in (*reference.steps[:-1], *clusterer.steps)]
        return split_pipeline(make_pipeline(*steps), X, embedding, random_state)
    if embedding is not None:
        raise ValueError(
            "embedding and a pipeline as reference both define the space in which rows are "
            "clustered: give only one of them."
        )
    if not is_to_be_fitted(clusterer):
        try:
            return transformers, clusterer, transformers.transform(X)
        except NotFittedError as error:
            raise ValueError(
                f"The reference is a pipeline whose {type(clusterer).__name__} is fitted, but "
                "whose transformers are not: give the fitted pipeline, or an unfitted clusterer."
            ) from error
    transformers = clone(transformers)
    parameters = transformers.get_params()
    unseeded = [
        name
        for name in sorted(parameters)
        if name.endswith("__random_state") and parameters[name] is None
    ]
    if unseeded:
        rng = check_random_state(random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(unseeded)).tolist()
        transformers.set_params(**dict(zip(unseeded, seeds, strict=True)))
    return transformers, clusterer, transformers.fit_transform(X)


def given_centers(reference, rows, sample_weight, objective, names=None):
    """Return the centres that a reference gives, or the reference itself if it is to be fitted.

    Parameters
    ----------
    reference : None, estimator or array-like
    rows : array or CSR matrix of shape (n, m)
        Rows of the input in their order, in the space in which they are clustered.
    sample_weight : float64 array of shape (n,)
    objective : Objective
    names : sequence, optional
        Names of the columns of `rows`.

    Raises
    ------
    ValueError
        If a fitted estimator belongs to other data, or an array has one dimension; also for the
        reasons of :func:`centers_of`.
    """
    if isinstance(reference, Pipeline):
        raise ValueError(
            "A pipeline as reference needs all rows at once. For rows in blocks, transform each "
            "block with the first steps, and give the result as embedding and the last step as "
            "reference."
        )
    if is_to_be_fitted(reference):
        return reference
    objective = objective.geometry if objective.trims else objective
    if hasattr(reference, "fit"):
        _check_names(reference, names)
        centers = centers_of(reference, rows, sample_weight, objective)
        _check_labels(reference, rows, centers, objective)
        return centers
    check_host(reference, "reference")
    _check_shape(reference)
    return check_centers(reference)


def _check_shape(reference):
    """Raise a ValueError if the parameter `reference` is one-dimensional, as labels are."""
    if np.ndim(reference) != 1:
        return
    values = np.asarray(reference)
    if values.dtype.kind == "f" and not np.all(values == np.rint(values)):
        raise ValueError(
            f"reference is one-dimensional, with {len(values)} numbers: centres of one column must "
            "have the shape (n_clusters, 1), as of reference.reshape(-1, 1)."
        )
    raise ValueError(
        f"reference is one-dimensional, with {len(values)} entries, as labels are; it must be an "
        "estimator or an array of centres of shape (n_clusters, n_features). To explain given "
        "labels, use TAOClustering(objective='labels') and fit(X, labels)."
    )


def _check_names(reference, names):
    """Raise a ValueError if an estimator was fitted to columns of other names, or another order."""
    seen = getattr(reference, "feature_names_in_", None)
    if seen is None or names is None or list(seen) == list(names):
        return
    if not all(isinstance(name, str) for name in names):
        return  # scikit-learn has stored no names to compare with, because some are not strings
    missing = [name for name in seen if name not in set(names)]
    further = [name for name in names if name not in set(seen)]
    if missing or further:
        parts = [f"X lacks {listed(missing)}"] if missing else []
        parts += [f"the reference does not know {listed(further)}"] if further else []
        what = f"other columns than those of X: {', and '.join(parts)}"
    else:
        place = next(i for i, name in enumerate(names) if name != seen[i])
        what = (
            f"the columns of X in another order: its column {place} is {seen[place]!r}, that of X "
            f"is {names[place]!r}"
        )
    raise ValueError(
        f"The reference, a {type(reference).__name__}, was fitted to {what}. Give X with the "
        "columns of the reference, in their order, or an unfitted reference."
    )


def _check_labels(reference, rows, centers, objective):
    """Raise a ValueError if the labels of a fitted estimator differ from its predictions on `rows`.

    This happens if the estimator was fitted to other data of the same shape, such as scaled
    columns. Estimators that stopped early may differ in a few rows.
    """
    labels, name = np.asarray(getattr(reference, "labels_", None)), type(reference).__name__
    has_centers = any(hasattr(reference, name) for name in _CENTERS)
    if not has_centers or labels.shape != (rows.shape[0],) or labels.dtype.kind not in "iu":
        return
    if centers.shape[1] != rows.shape[1] or len(centers) <= labels.max():
        return  # the caller raises an error about the shape of the centres
    predicted, share = _predicted(reference, rows), _FEW_OTHER_SHARE
    if predicted is None:
        predicted = nearest_center(objective, objective.prepare(rows), centers)
        share = _OTHER_METRIC_SHARE
    n_rows, n_other = len(labels), int(np.sum((labels != predicted) & (labels >= 0)))  # -1: noise
    if n_other > max(_FEW_OTHER, share * n_rows):
        raise ValueError(
            f"The reference, a {name}, does not belong to these data: {n_other} of its {n_rows} "
            "labels_ differ from the nearest of its centres. If it was fitted to transformed "
            "columns, give the transformation as well: "
            "reference=make_pipeline(StandardScaler(), KMeans(...)), or fit(X, embedding=Z) with "
            "the transformed columns Z. If it was fitted to other rows, give its centres. If rows "
            "are the same in the same order, explain its labels with "
            "TAOClustering(objective='labels') and fit(X, reference.labels_)."
        )


def _predicted(estimator, rows):
    """Return the labels that an estimator predicts with its own metric, or None if it cannot."""
    if not hasattr(estimator, "predict"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: rows have no names here
            return np.asarray(estimator.predict(rows))
    except (AttributeError, TypeError, ValueError):
        return None


def centers_of(estimator, rows, sample_weight, objective):
    """Return the centres of a fitted estimator, or those that follow from its labels.

    Parameters
    ----------
    estimator : fitted estimator
        It has `cluster_centers_` (as k-means), `means_` (as mixtures) or `labels_` of the rows, in
        which -1 marks noise.
    rows : array or CSR matrix of shape (n, m)
    sample_weight : float64 array of shape (n,)
    objective : Objective

    Returns
    -------
    float64 array of shape (k, m)

    Raises
    ------
    ValueError
        If the estimator has none of these attributes, labels for another number of rows, only
        noise, or centres that are not a matrix of finite numbers.
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
    labels, classes = encode(estimator.labels_, name=f"labels_ of {name}")
    if len(classes) == 0:
        raise ValueError(f"labels_ of {name} puts no row into a cluster: all rows are noise.")
    if len(labels) != rows.shape[0]:
        raise ValueError(
            f"{name} has labels for {len(labels)} rows, but X has {rows.shape[0]} rows. A "
            "reference without centres must be fitted to the rows of X, or unfitted."
        )
    if (labels < 0).any():
        warn(
            f"labels_ of {name} mark {np.sum(labels < 0)} of {len(labels)} rows as noise (-1): the "
            "centres of the reference leave them out. The tree leaves rows without a cluster only "
            "with objective=Trimmed(...); Labels(noise='explain') explains noise by rules."
        )
    weight = np.where(labels < 0, 0.0, sample_weight)
    blank = np.zeros((len(classes), rows.shape[1]))
    return objective.update_centers(objective.prepare(rows), np.maximum(labels, 0), weight, blank)


def _one_row_each(objective, data, n_clusters, shape):
    """Return `n_clusters` centres for fewer rows: one per row, and the last one repeated."""
    n_rows, n_columns = shape
    blank = np.zeros((n_rows, n_columns))
    centers = objective.update_centers(data, np.arange(n_rows), np.ones(n_rows), blank)
    return centers[np.minimum(np.arange(n_clusters), n_rows - 1)]


def to_fit(reference, objective, rows, n_clusters, random_state):
    """Return the unfitted estimator that is to find the free clustering.

    Parameters
    ----------
    reference : None or unfitted estimator
        The result is a clone of it; for None, it is the default estimator of the objective.
    objective : Objective
    rows : array or CSR matrix of shape (n, m)
        Only its type matters.
    n_clusters : int
    random_state : int, RandomState instance or None
        Seed of the estimator of the objective.

    Returns
    -------
    unfitted estimator
    """
    if reference is not None:
        return clone(reference)
    make = objective.sparse_reference if issparse(rows) else None
    return (make or objective.reference)(n_clusters, random_state)


def fit_reference(estimator, rows, sample_weight, random_state, n_jobs=None):
    """Fit an unfitted estimator. If it takes no weights, rows are repeated.

    Parameters
    ----------
    estimator : estimator
        It is fitted in place.
    rows : array or CSR matrix of shape (n, m)
    sample_weight : float64 array of shape (n,)
    random_state : int, RandomState instance or None
        Seed for an estimator without one of its own.
    n_jobs : int, optional
        Maximum number of threads for the starts of k-means, which may then use a sample of many
        rows. By default the method `fit` of the estimator is called.

    Returns
    -------
    estimator : the fitted estimator
    rows : the rows that it was fitted to
    sample_weight : their weights

    Raises
    ------
    ValueError
        If the estimator takes no weights, and the weights are not multiples of one number or
        represent too many rows.
    """
    if "random_state" in estimator.get_params() and estimator.random_state is None:
        estimator.set_params(random_state=check_random_state(random_state))
    options = {"sample_weight": sample_weight}
    if not has_fit_parameter(estimator, "sample_weight"):
        options, found = {}, as_repeats(sample_weight)
        repeats = None if found is None else found[0]
        if repeats is None or repeats.sum() > max(_MOST_REPEATS, _MOST_TIMES * len(repeats)):
            raise ValueError(
                f"{type(estimator).__name__} takes no sample_weight, and rows repeated according "
                "to these weights would be too many, or not an integer number of rows; fit it "
                "beforehand or give another reference."
            )
        if not np.all(repeats == 1):
            rows = rows[np.repeat(np.arange(len(repeats)), repeats)]
        sample_weight = np.ones(rows.shape[0])
    # One thread is used, because scikit-learn's k-means adds the sums of its threads in the order
    # in which they end, so that the last bits of the centres would vary.
    with one_thread(), warnings.catch_warnings():
        # A ConvergenceWarning says here that there are fewer distinct rows than clusters. The
        # caller gives its own warning about this.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Ctrl-C interrupts other estimators at once. Those of this package check for it between
        # their compiled functions, which an interruption could make fail.
        is_ours = type(estimator).__module__.startswith(f"{__package__}.")
        with contextlib.nullcontext() if is_ours else interruptible():
            if n_jobs is not None and is_divisible(estimator, rows):
                found = best_of_starts(estimator, rows, sample_weight, n_jobs)
                return found, rows, sample_weight
            return estimator.fit(rows, **options), rows, sample_weight


def match_labels(labels, free_labels, n_clusters, weight=None):
    """Match clusters to the free clusters one to one, so that the labels agree best.

    The agreement is the total weight of the rows whose matched label equals their free label. The
    Hungarian method maximizes it, in O(n_clusters ** 3).

    Parameters
    ----------
    labels : int array of shape (n,)
        Clusters with any numbering, in 0..n_clusters-1; -1 for rows without a cluster.
    free_labels : int array of shape (n,)
        Free clustering of the same rows, in 0..n_clusters-1 or -1.
    n_clusters : int
    weight : array of shape (n,), optional

    Returns
    -------
    int64 array of shape (n_clusters,)
        The free cluster of each cluster, a permutation.

    Raises
    ------
    ValueError
        If a label is above n_clusters-1.

    Examples
    --------
    >>> match_labels([0, 0, 1, 2], [2, 2, 0, 1], 3).tolist()
    [2, 0, 1]
    """
    labels, free_labels = np.asarray(labels), np.asarray(free_labels)
    if max(labels.max(initial=0), free_labels.max(initial=0)) >= n_clusters:
        raise ValueError(f"Labels to be matched must lie in 0..{n_clusters - 1}.")
    both = (labels >= 0) & (free_labels >= 0)
    pairs = labels[both] * np.int64(n_clusters) + free_labels[both]
    weight = None if weight is None else weight[both]
    overlap = np.bincount(pairs, weight, n_clusters**2).reshape(n_clusters, n_clusters)
    return linear_sum_assignment(overlap, maximize=True)[1].astype(np.int64)


def relabeled(tree, numbers):
    """Return the tree with renumbered clusters.

    Parameters
    ----------
    tree : Tree
    numbers : int array of shape (n_clusters,), the new number of each cluster

    Returns
    -------
    Tree
    """
    return tree.with_leaves(np.where(tree.leaf_label < 0, -1, numbers[tree.leaf_label]))
