"""Ex-kCenter and Ex-SingleLink as estimators: objectives that are the distance of one pair."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from tao_cluster.objectives import KCenter, Spacing, SpannedRows
from tao_cluster.problem.problem import Result

from ..methods.kcenter import REST, part_and_divide
from ..methods.single_link import part_spanned
from ..points import Points
from .base import GreedyMethod, GreedyTree


class ExKCenter(GreedyTree):
    """Ex-kCenter: clusters no row of which is far from its centre.

    The method of Laber & Murtinho (2021), algorithm 1; see :func:`greedy.build_exkcenter`.
    Every cost is the largest Euclidean distance of a row to the centre of its cluster, and the
    best centre of a cluster is the middle of the smallest ball that holds it. Weights do not
    matter, but that rows of weight 0 are absent.

    Parameters
    ----------
    rest : {"grid", "halves"}, default="grid"
        What is done where no clean cut is left: the paper's grid, which is the cell itself in
        many dimensions, or cuts in the middle of the longest sides.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering: None is :class:`tao_cluster.objectives.FarthestFirst`, others as
        in :class:`IMM`.
    n_clusters, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Attributes
    ----------
    inertia_, free_inertia_ : float
        Largest distance of a row to the centre of its cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExKCenter
    >>> model = ExKCenter(3, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves, round(model.cost_increase_, 1)
    (2, 85.8)
    >>> halves = ExKCenter(3, rest="halves", random_state=0).fit(load_iris().data)
    >>> halves.tree_.n_leaves, round(halves.cost_increase_, 1)
    (3, 13.4)
    """

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "rest": [StrOptions(set(REST))],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        rest="grid",
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
        self.rest = rest

    def _grow(self, points, random_state):
        return part_and_divide(points, self.rest)

    def _method(self):
        return _KCenterMethod(*self._terms(self.random_state))


@dataclass(frozen=True)
class _KCenterMethod(GreedyMethod):
    """GreedyMethod of the largest distance."""

    @property
    def objective(self):
        """The objective of the free clustering."""
        return KCenter()

    def points(self, problem):
        """The rows and centres of a problem, and its clusters."""
        return super().points(problem, labels=problem.free.labels)


class ExSingleLink(GreedyTree):
    """Ex-SingleLink: clusters that are far from each other.

    The method of Laber & Murtinho (2021), algorithm 3; see :func:`greedy.build_exsinglelink`.
    What counts is the spacing, the least Euclidean distance between rows of different clusters,
    which is largest for single linkage, the free clustering. A cost is one over it. Weights do
    not matter, but that rows of weight 0 are absent.

    Parameters
    ----------
    n_clusters : int, default=8
    standardize, midpoints, n_jobs
        As in :class:`IMM`.
    random_state : ignored
        Nothing is random; all methods have it.

    Attributes
    ----------
    spacing_, free_spacing_ : float
        Spacing of `labels_` and of `free_labels_`, on standardised columns with
        ``standardize=True``; inf for one cluster.
    inertia_, free_inertia_ : float
        One over these.
    cost_increase_ : float
        Percent by which the price of explainability, `free_spacing_` over `spacing_`, exceeds 1.
    cluster_centers_, free_centers_ : arrays of shape (n_clusters, m)
        Means of the clusters, to look at.
    tree_, labels_, free_labels_, ...
        As of :class:`IMM`. In `free_labels_` a row of weight 0 has the cluster of the nearest mean.

    Notes
    -----
    Time for n distinct rows: O(n^2 d), some seconds for 20 000 rows of 16 columns; memory beside
    X: O(n), and a copy of X if it is dense and not contiguous by rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExSingleLink
    >>> model = ExSingleLink(3).fit(load_iris().data)
    >>> round(model.free_spacing_, 3), round(model.spacing_, 3)
    (0.819, 0.819)
    """

    def __init__(
        self, n_clusters=8, *, standardize=False, midpoints=True, n_jobs=None, random_state=None
    ):
        super().__init__(
            n_clusters,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    def _grow(self, points, random_state):
        return part_spanned(points, SpannedRows(points.X))

    def _method(self):
        return _SpacingMethod(*self._terms(self.random_state))


@dataclass(frozen=True)
class _SpacingMethod(GreedyMethod):
    """GreedyMethod of the spacing, which is measured where the rows are clustered."""

    @property
    def objective(self):
        """The objective of the free clustering."""
        return Spacing()

    def points(self, problem):
        """The rows of a problem and their clusters."""
        return Points.without_centers(
            problem.X, problem.free.labels, problem.weight, n_jobs=self.n_jobs
        )

    def fit_tree(self, problem):
        """The tree of the growth, and the spacings."""
        points = self.points(problem)
        found = self.result(part_spanned(points, problem.data), points)
        tree = found.tree
        leaves = found.leaves(problem, points.n_jobs)

        def spacing(labels):
            squared = problem.objective.squared_spacing(problem.data, labels, problem.weight)
            return float(np.sqrt(squared))

        spacings = {
            "spacing_": spacing(tree.leaf_label[leaves]),
            "free_spacing_": spacing(problem.free.labels),
        }
        return Result(tree, found.attributes | spacings, leaves)
