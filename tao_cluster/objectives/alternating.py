"""Clustering without a tree for any objective: Lloyd's algorithm, and swaps of centres and rows."""

from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._utils.jit import jit
from .._utils.threads import check_interrupted
from ..problem.repeats import content_order, distinct_rows
from .base import NearestCenters, Objective
from .kmeans import KMeans


class Swaps(NamedTuple):
    """Settings of the search that replaces centres by rows while this lowers the cost.

    Parameters
    ----------
    n_together : int
        Number of rows that are compared as new centres before the best one is tried.
    n_tried : int
        The search ends after this many consecutive rows (or all rows) without success.
    n_passes : int
        Iterations of Lloyd's algorithm after a swap, before its cost is compared with the old one.
    """

    n_together: int
    n_tried: int
    n_passes: int


# "eager" is FasterPAM, for objectives whose centres are rows. "settled" is for other objectives: a
# new centre starts at a row, and five iterations move it before the swap is judged.
_SWAPS = {"eager": Swaps(128, 3200, 0), "settled": Swaps(16, 400, 5)}

# After a swap, iterations end when one lowers the cost by at most the share _SETTLED. A decrease of
# the cost by at most the share _ROUNDING is regarded as a rounding error.
_SETTLED, _ROUNDING = 1e-4, 1e-9

_BLOCK_VALUES = 4_000_000  # maximum number of dissimilarities to candidate rows in memory


class AlternatingClustering(NearestCenters):
    """k clusters of least cost for an objective, by alternating assignments and centres.

    Lloyd's algorithm for any :class:`tao_cluster.objectives.Objective`; with
    ``objective=SphericalKMeans()`` it is spherical k-means.

    Parameters
    ----------
    n_clusters : int, default=8
    objective : Objective, default KMeans()
    init : {"k-means++", "random"}, default="k-means++"
        "k-means++" draws each seed with probability proportional to its weighted dissimilarity to
        the nearest earlier seed, and keeps the best of 2 + log k draws (Arthur & Vassilvitskii
        2007). "random" draws rows with probability proportional to their weight.
    n_init : int, default=10
        Number of restarts. The result with the lowest cost is kept.
    max_iter : int, default=300
        Maximum number of iterations per restart.
    tol : float, default=1e-6
        A restart also ends when the relative decrease of the cost is at most this.
    swaps : {None, "eager", "settled"}, default=None
        Whether centres are replaced by rows while this lowers the cost, which finds better
        clusterings than restarts. "eager" is for centres that are rows. It starts from the best
        seeds and makes each swap that lowers the cost (FasterPAM, Schubert & Rousseeuw 2021).
        "settled" starts from the best restart and judges a swap after some iterations. The search
        ends after 3200 rows ("settled": 400 rows), or all rows, without success. Alternation
        follows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
    labels_ : int32 array of shape (n,)
        Number of the nearest centre of each row; the lowest one among equally near centres.
    inertia_ : float
        Cost of the clustering.
    n_iter_ : int
        Iterations of the best restart, or with `swaps` of the last alternation.
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
        "swaps": [None, StrOptions(set(_SWAPS))],
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
            If there are fewer rows than clusters, or the objective rejects X.
        """
        X, weight = self._check_input(X, sample_weight)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        objective, rng = self._objective(), check_random_state(self.random_state)
        data, order = objective.prepare(X), content_order(X)
        seed = spread_seeds if self.init == "k-means++" else _random_seeds
        # Swaps from seeds lead to better results than swaps from a local optimum.
        max_iter = 0 if self.swaps == "eager" else self.max_iter
        seeds = (
            seed(objective, X, data, weight, self.n_clusters, order, rng)
            for _ in range(self.n_init)
        )
        runs = (lloyd(objective, data, weight, start, max_iter, self.tol) for start in seeds)
        best = min(runs, key=lambda run: run.cost)
        if self.swaps is not None:
            deck = shuffled_rows(X, weight, rng)
            moves = _Moves(objective, X, data, weight, _SWAPS[self.swaps], best.centers)
            centers = moves.run(deck)
            best = lloyd(objective, data, weight, centers, self.max_iter, self.tol)
        self.cluster_centers_, self.labels_ = best.centers, best.labels.astype(np.int32)
        self.inertia_, self.n_iter_ = best.cost, best.n_iter
        return self

    def _objective(self):
        return KMeans() if self.objective is None else self.objective


class ByDistances(Objective):
    """Base class of objectives that only define distances and centres.

    The cost of a clustering is the weighted sum of the distances of rows to their centres. The
    clustering without a tree is found by :class:`AlternatingClustering`, with the `init`,
    `n_init` and `swaps` of the objective.
    """

    init: str = "k-means++"
    swaps: ClassVar[str | None] = None

    def reference(self, n_clusters, random_state):
        """Return an AlternatingClustering with the settings of the objective."""
        options = {"init": self.init, "n_init": self.n_init, "swaps": self.swaps}
        return AlternatingClustering(n_clusters, self, **options, random_state=random_state)

    def value(self, data, labels, weight, centers):
        """Return the weighted sum of dissimilarities of rows to the centres of their clusters."""
        own = self.distances(data, centers)[np.arange(len(labels)), labels]
        return float(weight @ own)


class Run(NamedTuple):
    """The result of Lloyd's algorithm: centres, the nearest centre of each row, and the cost."""

    labels: np.ndarray
    centers: np.ndarray
    cost: float
    n_iter: int


def lloyd(objective, data, weight, centers, max_iter=300, tol=1e-12):
    """Run Lloyd's algorithm from given centres: alternate assignments and centres.

    A cluster without weight gets one of the rows that are farthest from their centres.

    Parameters
    ----------
    objective : Objective
    data : result of ``objective.prepare``
    weight : float64 array of shape (n,)
    centers : float64 array of shape (k, m)
    max_iter : int
        Maximum number of updates of the centres.
    tol : float
        The algorithm ends when no label changes, or when the relative decrease of the cost is at
        most this.

    Returns
    -------
    Run
    """
    labels, cost = None, np.inf
    for n_iter in range(max_iter + 1):
        check_interrupted()
        own, nearest = nearest_costs(objective, data, centers)
        before, cost = cost, float(weight @ own)
        assigned = _fill_empty(nearest, own, weight, len(centers))
        is_settled = labels is not None and np.array_equal(assigned, labels)
        is_small = before - cost <= tol * cost and assigned is nearest
        if is_settled or is_small or n_iter == max_iter:
            break
        labels = assigned
        centers = objective.update_centers(data, labels, weight, centers)
    return Run(nearest, centers, cost, n_iter)


def nearest_costs(objective, data, centers):
    """Return the distance of each row to its nearest centre, and the lowest number of such a one.

    The result does not keep the distances to all centres in memory.
    """
    distances = objective.distances(data, centers)
    labels = distances.argmin(axis=1)
    return distances[np.arange(len(labels)), labels], labels


def _fill_empty(labels, own, weight, n_clusters):
    """Return labels in which each cluster without weight gets one of the rows farthest away.

    `own` is the distance of each row to its centre. The array `labels` itself is returned if no
    cluster is empty, or if all these distances are 0.
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
    """Return one centre per row: that of a cluster which consists of this row alone."""
    one_each = objective.prepare(X[rows])
    blank = np.zeros((len(rows), X.shape[1]))
    return objective.update_centers(one_each, np.arange(len(rows)), np.ones(len(rows)), blank)


def _draw(mass, n, order, rng):
    """Draw `n` rows with replacement, with probability proportional to their mass.

    The result does not depend on the positions of rows in X, because `order` sorts them by their
    contents. A row of mass 2 is drawn like two equal rows of mass 1.
    """
    summed = np.cumsum(mass[order])
    drawn = np.searchsorted(summed, rng.uniform(size=n) * summed[-1], side="right")
    return order[np.minimum(drawn, np.flatnonzero(mass[order])[-1])]


def spread_seeds(objective, X, data, weight, n_clusters, order, rng):
    """Return initial centres by k-means++ with several trials per centre, for any dissimilarity."""
    n_trials = 2 + int(np.log(n_clusters))
    centers = _centers_at(objective, X, _draw(weight, 1, order, rng))
    nearest = objective.distances(data, centers)[:, 0]
    for _ in range(1, n_clusters):
        mass = weight * nearest
        if not mass.any():  # every row is equal to a seed
            mass = weight
        candidates = _centers_at(objective, X, _draw(mass, n_trials, order, rng))
        after = np.minimum(objective.distances(data, candidates), nearest[:, None])
        best = (weight @ after).argmin()
        nearest = after[:, best]
        centers = np.vstack([centers, candidates[[best]]])
    return centers


def _random_seeds(objective, X, data, weight, n_clusters, order, rng):
    """Return centres at different rows, drawn with probability proportional to their weight."""
    del data
    mass, rows = weight.copy(), []
    for _ in range(n_clusters):
        rows.append(_draw(mass if mass.any() else weight, 1, order, rng)[0])
        mass[rows[-1]] = 0.0
    return _centers_at(objective, X, np.array(rows))


def shuffled_rows(X, weight, rng):
    """Return the numbers of the distinct rows of positive weight in a random order.

    The order depends on the values of the rows, not on their positions in X.
    """
    present = np.flatnonzero(weight > 0)
    some = X[present]
    # Equal rows are merged whatever their weights, so rows are compared with weight 1.
    return present[rng.permutation(distinct_rows(some, some, np.ones(len(present)))[0])]


class _Moves:
    """Search that replaces a centre by a row (a swap) as long as this lowers the cost.

    Rows are tried in blocks. The changes of the cost for all swaps of a block are computed in one
    pass over its dissimilarities, as in FasterPAM (Schubert & Rousseeuw 2021, sections 4.2 and
    4.3). The best swap of the block is made at once, and the block is tried again.
    """

    def __init__(self, objective, X, data, weight, swaps, centers):
        self.objective, self.X, self.data, self.weight = objective, X, data, weight
        self.swaps = swaps
        self._start(centers)

    def run(self, deck):
        """Try the rows numbered by `deck` as centres in turn, and return the final centres.

        If `n_passes` is 0 and the deck has at most `n_tried` rows, the result is a local optimum:
        its cost is not lowered if any one centre is replaced by a row of the deck.
        """
        step = max(1, min(self.swaps.n_together, _BLOCK_VALUES // max(len(deck), 1)))
        improve = self._settle if self.swaps.n_passes else self._make_all
        at, n_in_vain = 0, 0
        while n_in_vain < min(self.swaps.n_tried, len(deck)):
            rows = deck[at : at + step]
            at = at + step if at + step < len(deck) else 0
            candidates = _centers_at(self.objective, self.X, rows)
            distances = np.ascontiguousarray(self.objective.distances(self.data, candidates))
            n_in_vain = 0 if improve(candidates, distances) else n_in_vain + len(rows)
        return self.centers

    def _make_all(self, candidates, distances):
        """Make the best swap of a block again and again while this lowers the cost.

        Return whether at least one swap was made.
        """
        is_better = False
        while True:
            change, center, candidate = self._best(distances)
            if not change < -_ROUNDING * self.cost:
                return is_better
            is_better = True
            self.centers[center] = candidates[candidate]
            self.distances[:, center] = distances[:, candidate]
            self._rank()

    def _settle(self, candidates, distances):
        """Make the best swap if it lowers the cost after some iterations of Lloyd's algorithm."""
        _, center, candidate = self._best(distances)
        centers = self.centers.copy()
        centers[center] = candidates[candidate]
        terms = (self.objective, self.data, self.weight)
        run = lloyd(*terms, centers, self.swaps.n_passes, _SETTLED)
        is_better = run.cost < self.cost - _ROUNDING * self.cost
        if is_better:
            self._start(run.centers)
        return is_better

    def _best(self, distances):
        """Return the best swap as (change of the cost, centre, candidate); the first if equal."""
        terms = (self.nearest, self.first, self.second, self.weight, len(self.centers))
        change = swap_changes(distances, *terms)
        center, candidate = np.unravel_index(change.argmin(), change.shape)
        return change[center, candidate], center, candidate

    def _start(self, centers):
        """Set the centres, and compute the distances to them and the cost."""
        self.centers = np.array(centers, dtype=np.float64)
        self.distances = self.objective.distances(self.data, self.centers)
        self._rank()

    def _rank(self):
        """Compute the nearest centre and two smallest dissimilarities of each row, and the cost."""
        every = np.arange(len(self.distances))
        self.nearest = self.distances.argmin(axis=1)
        self.first = self.distances[every, self.nearest]
        self.distances[every, self.nearest] = np.inf
        self.second = self.distances.min(axis=1)
        self.distances[every, self.nearest] = self.first
        self.cost = float(self.weight @ self.first)


@jit
def swap_changes(distances, nearest, first, second, weight, k):
    """Return the change of the cost for each replacement of one of k centres by one of c rows.

    The result is a float64 array of shape (k, c); the c rows are called candidates. A row that is
    closer to the candidate than to its centre joins the candidate, whichever centre is removed. A
    row that loses its centre joins the candidate or its second nearest centre.

    Parameters
    ----------
    distances : C-contiguous array of shape (n, c), dissimilarities to the candidates
    nearest : int array of shape (n,)
    first, second : float64 arrays of shape (n,), to the nearest and second nearest centre
    weight : float64 array of shape (n,)
    k : int, number of centres
    """
    n_rows, n_candidates = distances.shape
    change, gain = np.zeros((k, n_candidates)), np.zeros(n_candidates)
    for r in range(n_rows):
        lost = change[nearest[r]]
        for c in range(n_candidates):
            d = distances[r, c]
            gain[c] += weight[r] * min(d - first[r], 0.0)
            lost[c] += weight[r] * max(min(d, second[r]) - first[r], 0.0)
    for i in range(k):
        change[i] += gain
    return change
