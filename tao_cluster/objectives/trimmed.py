"""Trimmed clustering: some rows may stay without a cluster, at a constant cost per row."""

from dataclasses import dataclass, replace
from numbers import Real
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._utils.options import Part, name_of, resolve
from .._utils.threads import check_interrupted
from ..problem.repeats import content_order
from .alternating import _fill_empty, nearest_costs, spread_seeds
from .base import Objective
from .kmeans import KMeans
from .kmedians import KMedians
from .kmedoids import KMedoids
from .spherical import SphericalKMeans

WITH_CENTERS = {
    "kmeans": KMeans(),
    "spherical": SphericalKMeans(),
    "kmedians": KMedians(),
    "kmedoids": KMedoids(),
}
_N_STARTS, _FIRST, _MOST = 10, 10, 300  # starts, and updates of centres: of each, and of the best
_MOST_SHARE = 0.1  # of the rows, which "auto" leaves without a cluster
_ROUNDING = 1e-9


def far_cost(own, weight):
    """Return the cost beyond which rows are far from their centres.

    It is Q3 (Q3 / Q1)^2 for the quartiles Q1 and Q3 of the costs: on a logarithmic scale, two
    ranges of quartiles above the third one, between the inner and the outer fence of Tukey (1977).
    Distances and their squares therefore have the same far rows.

    Parameters
    ----------
    own : float64 array of shape (n,), cost of each row at its centre
    weight : float64 array of shape (n,)
    """
    order = np.argsort(own, kind="stable")
    mass = np.cumsum(weight[order])
    low, high = own[order[np.searchsorted(mass, np.array([0.25, 0.75]) * mass[-1])]]
    return high * (high / low) ** 2 if low > 0 else np.inf


@dataclass(frozen=True)
class Trimmed(Part, Objective):
    """Another objective, with a share of the rows left without a cluster where that saves most.

    A leaf can have the label -1, "no segment". Each of its rows costs a constant price, whatever
    its distances. The free clustering is trimmed k-means (Cuesta-Albertos, Gordaliza & Matran,
    1997): it leaves out the rows that are farthest from their centres, at most the given share of
    the weight. The price is the largest distance of the other rows to their centres.

    The share limits the tree, too. If a tree leaves out more, `fit` repeats the search with a
    higher price, up to five times. If that is not enough, the leaves whose rows cost least in a
    cluster get that cluster. The reported costs have the original price, for the tree and for the
    free clustering. Percentages therefore compare both at the same price per row left out.

    Only :class:`tao_cluster.TAOClustering` in memory supports it. The number of clusters and
    `cluster_centers_` do not include "no segment". `tree_` itself numbers the labels of its leaves
    from 0; there, the number `n_clusters` stands for -1. After `fit`, `trimmed_share_` is the share
    of the weight of the rows without a cluster, and `trimming_price_` is the price.

    Parameters
    ----------
    objective : {"kmeans", "spherical", "kmedians", "kmedoids"} or Objective, default="kmeans"
        The cost of the rows in clusters. It must be a sum over rows with centres.
    share : float in [0, 0.5) or "auto", default=0.05
        Largest share of the weight of the rows that the tree leaves without a cluster. "auto" is
        the share of rows whose cost in a trimmed clustering is above Q3 (Q3 / Q1)^2, for the
        quartiles Q1 and Q3 of the costs, but at most 0.1. It is 0 if no row is so far.
        ``objective="trimmed"`` stands for ``Trimmed(share="auto")``.
    price : float > 0, optional
        Cost of a row of weight 1 without a cluster. By default, it follows from the share.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.objectives import Trimmed
    >>> X = np.array([[0.0], [1.0], [2.0], [20.0], [21.0], [22.0], [23.0], [24.0], [25.0], [900.0]])
    >>> TAOClustering(2, objective=Trimmed(share=0.1), random_state=0).fit(X).labels_.tolist()
    [1, 1, 1, 0, 0, 0, 0, 0, 0, -1]
    """

    objective: Any = "kmeans"
    share: Any = 0.05
    price: float | None = None
    trims: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        "objective": [StrOptions(set(WITH_CENTERS)), HasMethods(["prepare", "distances"]), type],
        "share": [Interval(Real, 0, 0.5, closed="left"), StrOptions({"auto"})],
        "price": [None, Interval(Real, 0, None, closed="neither")],
    }
    _named_parts: ClassVar[dict] = {"objective": WITH_CENTERS}

    def __post_init__(self):
        super().__post_init__()
        base = self.geometry
        if base.explains_labels or base.trims or not base.is_sum or base.free_labels is not None:
            raise ValueError(
                f"Trimmed needs an objective with centres whose cost is a sum over rows, such as "
                f"'kmeans'; {name_of(base)} is not."
            )

    @property
    def geometry(self):  # type: ignore[override]
        """The objective that rows in clusters have."""
        return resolve(self.objective, WITH_CENTERS, Objective)

    @property
    def can_perturb_rows(self):  # type: ignore[override]
        """Whether a row plus a little noise is a valid row."""
        return self.geometry.can_perturb_rows

    @property
    def in_threads(self):  # type: ignore[override]
        """The method `in_threads` of the other objective."""
        return self.geometry.in_threads

    def reference(self, n_clusters, random_state):
        """Return the estimator of the other objective."""
        return self.geometry.reference(n_clusters, random_state)

    def prepare(self, X):
        """Check X as the other objective does."""
        return self.geometry.prepare(X)

    # After `settled`, the last of the centres stands for "no cluster". It has no place in space.

    def distances(self, data, centers):
        """Return the distances to all centres but the last, and the price: array (n, k + 1)."""
        own = self.geometry.distances(data, centers[:-1])
        return np.column_stack([own, np.full(len(own), self.price)])

    def update_centers(self, data, labels, weight, centers):
        """Return optimal centres of the rows in clusters; the last row stays."""
        is_kept, k = labels < len(centers) - 1, len(centers) - 1
        terms = (np.where(is_kept, labels, 0), np.where(is_kept, weight, 0.0), centers[:k])
        return np.vstack([self.geometry.update_centers(data, *terms), centers[k:]])

    def value(self, data, labels, weight, centers):
        """Return the cost of the rows in clusters, plus the price of the others."""
        is_kept = labels < len(centers) - 1
        terms = (np.where(is_kept, labels, 0), np.where(is_kept, weight, 0.0), centers[:-1])
        return self.geometry.value(data, *terms) + self.price * float(weight[~is_kept].sum())

    def settled(self, data, weight, centers):
        """Return the objective with its price at some centres, and the centres with one more row.

        Parameters
        ----------
        data : result of `prepare`
        weight : float64 array of shape (n,)
        centers : float64 array of shape (k, m)
        """
        own, _ = nearest_costs(self.geometry, data, centers)
        found = self._with_known_share(own, weight)
        # A price of 0 would leave out rows at their centres: take the least positive distance.
        price = found._limit(own, weight) or min(own[own > 0], default=1.0)
        far = np.where(own >= min(np.nextafter(price, np.inf), own.max()), weight, 0.0)
        terms = np.zeros(len(own), np.intp), far, np.zeros((1, centers.shape[1]))
        place = self.geometry.update_centers(data, *terms)
        return replace(found, price=float(price)), np.vstack([centers, place])

    def concentrated(self, X, data, weight, centers, random_state):
        """Return the centres of the best trimmed clustering, from several starts.

        One start is the given centres. The seeds of the others are spread as those of k-means++,
        with distances limited, so that far rows do not attract seeds.
        """
        if self.share == "auto":  # far rows would move the centres, so at first many are left out
            most = replace(self, share=_MOST_SHARE)
            centers = most.concentrated(X, data, weight, centers, random_state)
            own, _ = nearest_costs(self.geometry, data, centers)
            return self._with_known_share(own, weight)._concentrate(data, weight, centers, _MOST)[1]
        base, k = self.geometry, len(centers)
        most = self._limit(nearest_costs(base, data, centers)[0], weight)
        capped = SimpleNamespace(
            prepare=base.prepare,
            update_centers=base.update_centers,
            distances=lambda *terms: np.minimum(base.distances(*terms), most),
        )
        order, rng = content_order(X), check_random_state(random_state)
        starts = [spread_seeds(capped, X, data, weight, k, order, rng) for _ in range(_N_STARTS)]
        runs = [self._concentrate(data, weight, each, _FIRST) for each in (centers, *starts)]
        best = min(runs, key=lambda run: run[0])
        return self._concentrate(data, weight, best[1], _MOST)[1]

    def _concentrate(self, data, weight, centers, max_iter):
        """Alternate between the rows to keep, their clusters, and the centres.

        Returns the cost and the centres.
        """
        best = np.inf, centers
        for _ in range(max_iter):
            check_interrupted()
            own, labels = nearest_costs(self.geometry, data, centers)
            kept = np.where(own <= self._limit(own, weight), weight, 0.0)
            cost = float(kept @ own) + (self.price or 0.0) * float((weight - kept).sum())
            if not cost < best[0] * (1 - _ROUNDING):
                break
            best = cost, centers
            labels = _fill_empty(labels, own, kept, len(centers))
            centers = self.geometry.update_centers(data, labels, kept, centers)
        return best

    def _with_known_share(self, own, weight):
        """Return the objective with the share that "auto" finds for costs of rows."""
        if self.share != "auto":
            return self
        share = float(weight[own > far_cost(own, weight)].sum() / weight.sum())
        return replace(self, share=min(share, _MOST_SHARE))

    def _limit(self, own, weight):
        """Return the least distance beyond which rows have at most the share of the weight."""
        if self.price is not None:
            return self.price
        order = np.argsort(own, kind="stable")
        beyond = np.append(np.cumsum(weight[order][::-1])[::-1][1:], 0.0)
        return own[order[np.argmax(beyond <= self.share * weight.sum() * (1 + _ROUNDING))]]
