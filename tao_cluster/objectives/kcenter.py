"""The k-center objective (the largest distance of a row to its centre), and smallest balls."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._utils.matrices import as_array
from .._utils.options import Part
from .._utils.threads import check_interrupted
from ..problem.repeats import content_order
from .base import NearestCenters, Objective, euclidean, members_of, squared_distances

_N_NEW = 16  # maximum number of rows outside of a ball that one step adds
_ROUNDING = 1e-12

# With more than _MOST_COLUMNS columns, nearly every row can lie on the sphere of the smallest ball,
# and an exact search is slow. The squared radius is then approximated to the relative error _SHARE,
# in at most _MOST_STEPS steps.
_MOST_COLUMNS = 1024
_SHARE, _MOST_STEPS = 1e-3, 300


@dataclass(frozen=True)
class KCenter(Part, Objective):
    """k-center: the largest Euclidean distance of a row to its centre (Laber & Murtinho 2021).

    A centre may be anywhere, as in the paper. The best centre of a cluster is the centre of the
    smallest ball that contains it. Weights do not matter, except that rows of weight 0 are absent.
    The value is not a sum over rows, so only methods that are made for it accept it.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering, :class:`FarthestFirst`.
    """

    n_init: int = 10
    is_sum: ClassVar[bool] = False

    def reference(self, n_clusters, random_state):
        """Return the estimator :class:`FarthestFirst` with `n_init` restarts."""
        return FarthestFirst(n_clusters, n_init=self.n_init, random_state=random_state)

    def distances(self, data, centers):
        """Return Euclidean distances, float64 array of shape (n, k)."""
        return euclidean(data, centers)

    def update_centers(self, data, labels, weight, centers):
        """Return the centres of the smallest balls of the clusters: float64 array (k, d)."""
        updated = np.array(centers, dtype=np.float64)
        for k, rows in members_of(labels, weight, len(centers)):
            updated[k] = smallest_ball(data[rows])
        return updated

    def value(self, data, labels, weight, centers):
        """Return the largest distance of a row of positive weight to the centre of its cluster."""
        own = self.distances(data, centers)[np.arange(len(labels)), labels]
        return float(own.max(initial=0.0, where=weight > 0))


class FarthestFirst(NearestCenters):
    """k centres that are close to all rows: farthest-first traversal, then alternation.

    Each centre after the first is the row farthest from the earlier ones. The largest distance of a
    row to its centre is then at most twice the optimum (Gonzalez 1985). Then two steps alternate
    until no row changes its cluster: each centre moves to the centre of the smallest ball around
    its cluster, and each row is assigned to the nearest centre.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Restarts, with first centres drawn among the distinct rows; the best one is kept.
    max_iter : int, default=100
        Maximum number of iterations per restart. 0 runs Gonzalez' traversal alone, whose centres
        are rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : float64 array of shape (n_clusters, d)
    labels_ : int32 array of shape (n,), nearest centres, ties to the lowest
    inertia_ : float, the largest distance of a row to its centre
    n_iter_ : int, iterations of the best restart
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
        X, weight = self._check_input(X, sample_weight)
        present = np.flatnonzero(weight > 0)
        if len(present) < self.n_clusters:
            raise ValueError(f"n_samples={len(present)} should be >= n_clusters={self.n_clusters}.")
        objective, rng = self._objective(), check_random_state(self.random_state)
        rows = objective.prepare(X[present[content_order(X[present])]])
        seeds = _distinct(rows)
        runs = (
            _single_run(objective, rows, self.n_clusters, rng.choice(seeds), self.max_iter)
            for _ in range(self.n_init)
        )
        self.cluster_centers_, self.inertia_, self.n_iter_ = min(runs, key=lambda run: run[1])
        self.labels_ = self.predict(X)
        return self

    def _objective(self):
        return KCenter()


def _distinct(rows):
    """Return the number of the first row of each group of adjacent equal rows: int array."""
    differs = rows[1:] != rows[:-1]
    is_new = np.asarray(differs.sum(axis=1)).ravel() > 0
    return np.flatnonzero(np.append(True, is_new))


def _single_run(objective, rows, n_clusters, first, max_iter):
    """Run one traversal and its alternation.

    Returns
    -------
    centers, largest distance, number of iterations
    """
    centers = _traverse(rows, n_clusters, first)
    weight, n_iter = np.ones(rows.shape[0]), 0
    distances = objective.distances(rows, centers)
    cost, labels = distances.min(axis=1).max(), None
    for _ in range(max_iter):
        check_interrupted()
        before, labels = labels, distances.argmin(axis=1)
        if before is not None and np.array_equal(labels, before):
            break
        n_iter += 1
        moved = objective.update_centers(rows, labels, weight, centers)
        distances = objective.distances(rows, moved)
        after = distances.min(axis=1).max()
        # The cost is that of the largest ball. If it stays equal, the other balls may still shrink.
        if not after <= cost * (1 + _ROUNDING):
            break
        centers, cost = moved, after
    return centers, float(cost), n_iter


def _traverse(rows, n_clusters, first):
    """Return centres at rows, each the farthest from the earlier ones, ties to the first row."""
    chosen, nearest = [first], np.full(rows.shape[0], np.inf)
    while len(chosen) < n_clusters:
        nearest = np.minimum(nearest, euclidean(rows, _as_dense(rows[chosen[-1:]]))[:, 0])
        chosen.append(int(nearest.argmax()))
    return _as_dense(rows[chosen])


def smallest_ball(rows):
    """Return the centre of the smallest ball that contains some rows: float64 array of shape (d,).

    The ball of a few rows is computed first. The rows farthest outside of it are added until no row
    is outside. A pass over the rows takes O(n d) time, and few passes are needed. With more than
    1024 columns the radius is approximate, with a relative error of usually at most 5e-4.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d), n >= 1
    """
    if rows.shape[1] > _MOST_COLUMNS:
        return _closed_in(rows)
    some, radius = np.empty(0, np.intp), -np.inf
    center = _as_dense(rows[:1])[0]
    while True:
        distances = euclidean(rows, center[None])[:, 0]
        farthest = np.argsort(-distances, kind="stable")[:_N_NEW]
        outside = farthest[distances[farthest] > radius * (1 + _ROUNDING)]
        outside = outside[~np.isin(outside, some)]
        if len(outside) == 0:
            return center
        some = np.append(some, outside)
        center, radius = _ball_of_few(_as_dense(rows[some]))


def _ball_of_few(points):
    """Return the centre and radius of the smallest ball of some points.

    Fischer, Gaertner & Kutz (2003), "Fast smallest-enclosing-ball computation in high dimensions".
    The centre of a ball with some points on its sphere (the support) moves towards the nearest
    point of their affine hull, until another point is on the sphere. At the end of the move, a
    point with a negative coefficient leaves the support.
    """
    center = points[0]
    support = [int(cdist(points, center[None])[:, 0].argmax())]
    for _ in range(20 * sum(points.shape)):  # a limit that is never reached in practice
        first, spans = points[support[0]], points[support[1:]] - points[support[0]]
        shares = np.linalg.lstsq(spans.T, center - first)[0] if len(spans) else np.empty(0)
        way = first + shares @ spans - center
        radius = np.linalg.norm(first - center)
        if np.linalg.norm(way) <= _ROUNDING * radius:
            shares = np.append(1 - shares.sum(), shares)
            if shares.min() >= -_ROUNDING:
                break
            support.pop(int(shares.argmin()))
            continue
        step, stop = _first_on_sphere(points, support, center, way)
        center = center + step * way
        if stop is not None:
            support.append(stop)
    return center, cdist(points, center[None]).max()


def _first_on_sphere(points, support, center, way):
    """Return how far a centre can move along the vector `way` before a point reaches the sphere.

    The sphere passes through the points numbered `support`.

    Returns
    -------
    share : float, at most 1, the share of `way`
    stop : int or None, the point that reaches the sphere; None if none does
    """
    first = points[support[0]]
    slack = ((first - center) ** 2).sum() - ((points - center) ** 2).sum(axis=1)
    rate = 2 * (first - points) @ way
    # `slack` does not change for points in the affine hull of the support. Their computed rate is
    # a rounding error.
    least = _ROUNDING * np.linalg.norm(way) * np.linalg.norm(first - center)
    is_near = rate > least
    is_near[support] = False
    steps = np.full(len(points), np.inf)
    steps[is_near] = np.maximum(slack[is_near], 0.0) / rate[is_near]
    stop = int(steps.argmin())
    return (float(steps[stop]), stop) if steps[stop] < 1 else (1.0, None)


def _closed_in(rows):
    """Return approximately the centre of the smallest ball, as a weighted mean of rows.

    Frank-Wolfe with away steps (Yildirim 2008, "Two algorithms for the minimum enclosing ball
    problem", algorithm 4.1): the mean moves towards the farthest row, or away from the nearest row
    that has a weight. The weighted mean of the squared distances is a lower bound of the squared
    radius.
    """
    share = np.zeros(rows.shape[0])
    first = int(euclidean(rows, _as_dense(rows[:1]))[:, 0].argmax())
    share[[0, first]] = 0.5
    if first == 0:
        return _as_dense(rows[:1])[0]
    center, measure = share @ rows, squared_distances(rows)
    for _ in range(_MOST_STEPS):
        squared = measure(center)
        bound = share @ squared
        far, near = int(squared.argmax()), int(np.where(share > 0, squared, np.inf).argmin())
        above, below = squared[far] / bound - 1, 1 - squared[near] / bound
        if above <= _SHARE:
            break
        row, step = far, above / (2 * (1 + above))
        if below > above:
            most = share[near] / (1 - share[near])  # this step size makes the weight of `near` 0
            row, step = near, -min(below / (2 * (1 - below)) if below < 1 else most, most)
            share[near] = 0.0 if step == -most else share[near]
        center = (1 - step) * center + step * _as_dense(rows[[row]])[0]
        share *= 1 - step
        share[row] += step if share[row] > 0 or step > 0 else 0.0
    return center


def _as_dense(rows):
    """Return a dense copy of a few rows: float64 array."""
    return as_array(rows).astype(np.float64)
