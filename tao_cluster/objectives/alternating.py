"""The free clustering of any objective: alternation of assignments and centres."""

from functools import partial
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from .._utils.matrices import FLOATS, check_kind
from .._utils.threads import check_interrupted
from ..problem.repeats import content_order
from .base import Objective
from .kmeans import KMeans
from .swaps import SWAPS, Clustered, shuffled_rows, swapped

# A swap has settled when a pass lowers the cost by no more than this share.
_SETTLED = 1e-4


class AlternatingClustering(ClusterMixin, BaseEstimator):
    """k clusters of least cost for an objective, by alternating assignments and centres.

    Lloyd's algorithm for any :class:`tao_cluster.objectives.Objective`; with
    ``objective=SphericalKMeans()`` it is spherical k-means.

    Parameters
    ----------
    n_clusters : int, default=8
    objective : Objective, default KMeans()
    init : {"k-means++", "random"}, default="k-means++"
        "k-means++" draws each seed with probability proportional to its weighted
        dissimilarity to the nearest seed so far, the best of 2 + log k draws (Arthur &
        Vassilvitskii 2007); "random" draws rows with probability proportional to their weight.
    n_init : int, default=10
        Restarts; the one of least cost is kept.
    max_iter : int, default=300
        Most iterations of a restart.
    tol : float, default=1e-6
        A restart also ends when the cost falls by no more than this share.
    swaps : {None, "eager", "settled"}, default=None
        Whether centres are then swapped for rows, which finds better clusterings than restarts do.
        "eager", for centres that are rows, begins at the best seeds and makes every swap that
        lowers the cost (FasterPAM, Schubert & Rousseeuw 2021); "settled" begins at the best
        restart and judges a swap after some iterations. A search ends when 3200 rows ("settled":
        25 blocks of 16), or all, have been tried in vain. Alternation follows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
    labels_ : int32 array of shape (n,), nearest centres, ties to the lowest
    inertia_ : float, the cost
    n_iter_ : int, iterations of the restart that is kept; after swaps, of the last alternation
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A cluster that loses all its rows gets the row with the largest dissimilarity to its centre.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.objectives import AlternatingClustering, SphericalKMeans
    >>> X = np.array([[1.0, 0.0], [5.0, 1.0], [0.0, 2.0], [1.0, 9.0]])
    >>> AlternatingClustering(2, SphericalKMeans(), random_state=0).fit(X).labels_
    array([0, 0, 1, 1], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "objective": [None, HasMethods(["prepare", "distances", "update_centers"])],
        "init": [StrOptions({"k-means++", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "swaps": [None, StrOptions(set(SWAPS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        objective=None,
        *,
        init="k-means++",
        n_init=10,
        max_iter=300,
        tol=1e-6,
        swaps=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.objective = objective
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.swaps = swaps
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
            At least 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer rows than clusters, or the objective refuses X.
        """
        check_kind(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        check_kind(sample_weight, "sample_weight")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        objective, rng = self._objective(), check_random_state(self.random_state)
        data, order = objective.prepare(X), content_order(X)
        seed = spread_seeds if self.init == "k-means++" else _random_seeds
        # Swaps of rows do better from seeds than from where alternation is stuck.
        max_iter = 0 if self.swaps == "eager" else self.max_iter
        runs = (
            _single_run(
                objective,
                data,
                weight,
                seed(objective, X, data, weight, self.n_clusters, order, rng),
                max_iter,
                self.tol,
            )
            for _ in range(self.n_init)
        )
        labels, centers, cost, n_iter = min(runs, key=lambda run: run[2])
        if self.swaps is not None:
            clustered = _clustered(objective, X, data, weight)
            deck = shuffled_rows(X, weight, rng)
            centers = swapped(clustered, SWAPS[self.swaps], centers, deck)
            labels, centers, cost, n_iter = _single_run(
                objective, data, weight, centers, self.max_iter, self.tol
            )
        self.cluster_centers_, self.labels_ = centers, labels.astype(np.int32)
        self.inertia_, self.n_iter_ = cost, n_iter
        return self

    def predict(self, X):
        """Nearest centre of each row, ties to the lowest: int32 array of shape (n,)."""
        check_is_fitted(self)
        check_kind(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        objective = self._objective()
        distances = objective.distances(objective.prepare(X), self.cluster_centers_)
        return distances.argmin(axis=1).astype(np.int32)

    def _objective(self):
        return KMeans() if self.objective is None else self.objective

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ByDistances(Objective):
    """What follows from distances and centres, for objectives that have nothing better.

    The free clustering by alternation with `n_init` restarts and its kind of `swaps`, the value as
    a sum of distances, and dissimilarities shown as they are.
    """

    centers_are_means: ClassVar[bool] = False
    swaps: ClassVar[str | None] = None

    def reference(self, n_clusters, random_state):
        """Alternation of assignments and centres, `n_init` restarts, then swaps if there are."""
        return AlternatingClustering(
            n_clusters, self, n_init=self.n_init, swaps=self.swaps, random_state=random_state
        )

    def value(self, data, labels, weight, centers):
        """Weighted sum of each row's dissimilarity to the centre of its own cluster."""
        own = self.distances(data, centers)[np.arange(len(labels)), labels]
        return float(weight @ own)

    def as_distance(self, dissimilarities):
        """The dissimilarity as it is."""
        return dissimilarities


def _single_run(objective, data, weight, centers, max_iter, tol):
    """Alternate from given centres.

    Returns
    -------
    labels, centers, cost, number of iterations
    """
    labels, cost = None, np.inf
    for n_iter in range(max_iter + 1):
        check_interrupted()
        distances = objective.distances(data, centers)
        nearest = distances.argmin(axis=1)
        own = distances[np.arange(len(nearest)), nearest]
        before, cost = cost, float(weight @ own)
        assigned = _fill_empty(nearest, own, weight, len(centers))
        is_settled = labels is not None and np.array_equal(assigned, labels)
        is_small = before - cost <= tol * cost and assigned is nearest
        if is_settled or is_small or n_iter == max_iter:
            break
        labels = assigned
        centers = objective.update_centers(data, labels, weight, centers)
    return nearest, centers, cost, n_iter


def _clustered(objective, X, data, weight):
    """What swaps are looked for in."""

    def settle(centers, n_passes):
        _, centers, cost, _ = _single_run(objective, data, weight, centers, n_passes, _SETTLED)
        return centers, cost

    return Clustered(objective, data, weight, partial(_centers_at, objective, X), settle)


def _fill_empty(labels, own, weight, n_clusters):
    """Labels in which clusters without weight have one of the rows farthest from their centres.

    The same array where no cluster needs or finds such a row.
    """
    empty = np.flatnonzero(np.bincount(labels, weights=weight, minlength=n_clusters) == 0)
    paid = np.where(weight > 0, own, 0.0)
    farthest = np.argsort(-paid, kind="stable")[: len(empty)] if len(empty) else empty
    farthest = farthest[paid[farthest] > 0]
    if len(farthest) == 0:
        return labels
    labels = labels.copy()
    labels[farthest] = empty[: len(farthest)]
    return labels


def _centers_at(objective, X, rows):
    """Centres of clusters of one row each."""
    one_each = objective.prepare(X[rows])
    blank = np.zeros((len(rows), X.shape[1]))
    return objective.update_centers(one_each, np.arange(len(rows)), np.ones(len(rows)), blank)


def _draw(mass, n, order, rng):
    """Rows drawn with probability proportional to their mass, with replacement.

    By the inverse of the mass summed in the given order, which is that of the contents of rows: a
    row of mass 2 is drawn as two equal rows of mass 1 are, wherever they stand.
    """
    summed = np.cumsum(mass[order])
    drawn = np.searchsorted(summed, rng.uniform(size=n) * summed[-1], side="right")
    return order[np.minimum(drawn, np.flatnonzero(mass[order])[-1])]


def spread_seeds(objective, X, data, weight, n_clusters, order, rng):
    """Seeds of k-means++ with trials, for any dissimilarity."""
    n_trials = 2 + int(np.log(n_clusters))
    centers = _centers_at(objective, X, _draw(weight, 1, order, rng))
    nearest = objective.distances(data, centers)[:, 0]
    for _ in range(1, n_clusters):
        mass = weight * nearest
        if not mass.any():  # every row is a seed already
            mass = weight
        candidates = _centers_at(objective, X, _draw(mass, n_trials, order, rng))
        after = np.minimum(objective.distances(data, candidates), nearest[:, None])
        best = (weight @ after).argmin()
        nearest = after[:, best]
        centers = np.vstack([centers, candidates[[best]]])
    return centers


def _random_seeds(objective, X, data, weight, n_clusters, order, rng):
    """Centres at rows drawn without replacement."""
    del data
    mass, rows = weight.copy(), []
    for _ in range(n_clusters):
        rows.append(_draw(mass if mass.any() else weight, 1, order, rng)[0])
        mass[rows[-1]] = 0.0
    return _centers_at(objective, X, np.array(rows))
