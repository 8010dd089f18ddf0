"""The k-center objective: the largest distance of a row to its centre."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._utils.matrices import FLOATS, check_kind
from ..problem.repeats import content_order
from .balls import ROUNDING, as_dense, check_norms, euclidean, smallest_ball
from .base import Objective, members_of


@dataclass(frozen=True)
class KCenter(Objective):
    """k-center: the largest Euclidean distance of a row to its centre (Laber & Murtinho 2021).

    A centre may be anywhere, as in the paper, so that the best one of a cluster is the middle of
    the smallest ball that holds it. Weights do not matter: a row of positive weight is there.
    The value is no sum over rows, so that only methods made for it take it.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering, :class:`FarthestFirst`.
    """

    n_init: int = 10
    centers_are_means: ClassVar[bool] = False
    is_sum: ClassVar[bool] = False

    def reference(self, n_clusters, random_state):
        """Farthest-first traversal and alternation, `n_init` restarts."""
        return FarthestFirst(n_clusters, n_init=self.n_init, random_state=random_state)

    def prepare(self, X):
        """X itself.

        Raises
        ------
        ValueError
            If squared norms overflow.
        """
        check_norms(X)
        return X

    def distances(self, data, centers):
        """Euclidean distances, float64 array of shape (n, k)."""
        return euclidean(data, centers)

    def update_centers(self, data, labels, weight, centers):
        """Middles of the smallest balls that hold the clusters: float64 array of shape (k, d)."""
        updated = np.array(centers, dtype=np.float64)
        for k, rows in members_of(labels, weight, len(centers)):
            updated[k] = smallest_ball(data[rows])
        return updated

    def value(self, data, labels, weight, centers):
        """Largest distance of a row of positive weight to the centre of its cluster."""
        own = self.distances(data, centers)[np.arange(len(labels)), labels]
        return float(own.max(initial=0.0, where=weight > 0))

    def as_distance(self, dissimilarities):
        """The distance as it is."""
        return dissimilarities


class FarthestFirst(ClusterMixin, BaseEstimator):
    """k centres that every row is near to: farthest-first traversal, then alternation.

    Every centre after the first is the row farthest from those before it, which is at most twice
    the optimal largest distance (Gonzalez 1985). Then clusters get the middles of their smallest
    balls for centres, and rows the nearest of these, until no row moves to another cluster.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Restarts, from first centres drawn among the distinct rows; the best one is kept.
    max_iter : int, default=100
        Most rounds of the alternation of a restart; 0 is Gonzalez' traversal alone, whose centres
        are rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : float64 array of shape (n_clusters, d)
    labels_ : int32 array of shape (n,), nearest centres, ties to the lowest
    inertia_ : float, the largest distance of a row to its centre
    n_iter_ : int, rounds of the restart that is kept
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from tao_cluster.objectives import FarthestFirst
    >>> FarthestFirst(2, random_state=0).fit([[0.0], [1.0], [8.0], [10.0]]).inertia_
    1.0
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_clusters=8, *, n_init=10, max_iter=100, random_state=None):
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the centres of the rows of X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
            At least 0; a row of weight 0 is an absent row, other weights do not matter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer rows than clusters, or squared norms overflow.
        """
        check_kind(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        check_kind(sample_weight, "sample_weight")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        present = np.flatnonzero(weight > 0)
        if len(present) < self.n_clusters:
            raise ValueError(f"n_samples={len(present)} should be >= n_clusters={self.n_clusters}.")
        objective, rng = KCenter(), check_random_state(self.random_state)
        rows = objective.prepare(X[present[content_order(X[present])]])
        seeds = _distinct(rows)
        runs = (
            _single_run(objective, rows, self.n_clusters, rng.choice(seeds), self.max_iter)
            for _ in range(self.n_init)
        )
        self.cluster_centers_, self.inertia_, self.n_iter_ = min(runs, key=lambda run: run[1])
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        """Nearest centre of each row, ties to the lowest: int32 array of shape (n,)."""
        check_is_fitted(self)
        check_kind(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return euclidean(X, self.cluster_centers_).argmin(axis=1).astype(np.int32)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _distinct(rows):
    """The first of the rows that are equal and stand side by side: int array."""
    differs = rows[1:] != rows[:-1]
    is_new = np.asarray(differs.sum(axis=1)).ravel() > 0
    return np.flatnonzero(np.append(True, is_new))


def _single_run(objective, rows, n_clusters, first, max_iter):
    """One traversal and its alternation.

    Returns
    -------
    centers, largest distance, number of rounds
    """
    centers = _traverse(rows, n_clusters, first)
    weight, n_iter = np.ones(rows.shape[0]), 0
    distances = objective.distances(rows, centers)
    cost, labels = distances.min(axis=1).max(), None
    for _ in range(max_iter):
        before, labels = labels, distances.argmin(axis=1)
        if before is not None and np.array_equal(labels, before):
            break
        n_iter += 1
        moved = objective.update_centers(rows, labels, weight, centers)
        distances = objective.distances(rows, moved)
        after = distances.min(axis=1).max()
        if not after <= cost * (1 + ROUNDING):  # where it stays, smaller balls may still move
            break
        centers, cost = moved, after
    return centers, float(cost), n_iter


def _traverse(rows, n_clusters, first):
    """Centres at rows, each the farthest from those before it, ties to the first row."""
    chosen, nearest = [first], np.full(rows.shape[0], np.inf)
    while len(chosen) < n_clusters:
        nearest = np.minimum(nearest, euclidean(rows, as_dense(rows[chosen[-1:]]))[:, 0])
        chosen.append(int(nearest.argmax()))
    return as_dense(rows[chosen])
