"""Kauri as an estimator."""

from numbers import Integral
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ..methods.kauri import grow_kauri
from .base import GreedyTree


class Kauri(GreedyTree):
    """Kauri: a tree and its clusters grown together by the k-means cost.

    The method of Ohl, Mattei, Leclercq, Droit & Precioso (2024); see :func:`greedy.build_kauri`.
    It needs no reference: the free clustering is there to compare with, and for the numbers of
    the clusters.

    Parameters
    ----------
    max_leaves : int, default=None
        None is the number of clusters. Where no cut saves anything there are fewer.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import Kauri
    >>> model = Kauri(3, max_leaves=6, random_state=0).fit(load_iris().data)
    >>> float(round(model.cost_increase_, 2))
    1.4
    """

    uses_distances = False  # its costs are between the rows of X
    sees_centers = False

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_leaves = max_leaves

    def _grow(self, points, random_state):
        return grow_kauri(points, self.max_leaves)
