"""What the estimators share: parameters, the problem as points, the tree as a result."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster._utils.options import with_plain_numbers
from tao_cluster.base import TreeClustering
from tao_cluster.objectives import KMeans, KMedians
from tao_cluster.problem.problem import Result

from ..growth import history
from ..methods.start import GreedyStart, finish_and_route
from ..points import Points

# The objectives by name: those of points.DISTANCES.
OBJECTIVES = {"kmeans": KMeans(), "kmedians": KMedians()}


class GreedyTree(TreeClustering):
    """Base of the methods. A subclass has ``_grow(points, random_state) -> Growth``.

    Methods that know more than k-means have `objective` among the parameters of their own.
    """

    deterministic = True  # as an initial tree: the same every time
    uses_distances = True
    n_different = 1
    in_raw_units = False
    sees_centers = True  # cuts part the reference centres too

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "reference": [None, "array-like", HasMethods("fit")],
        "standardize": ["boolean"],
        "midpoints": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        objective="kmeans",
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.objective = objective
        self.reference = reference
        self.standardize = standardize
        self.midpoints = midpoints
        self.n_jobs = n_jobs
        self.random_state = random_state

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Tree for a free clustering, for as many clusters as there are centres.

        Parameters and return value as for :meth:`tao_cluster.initial_trees.InitialTree.build`.
        """
        self._validate_params()
        start = GreedyStart(*with_plain_numbers(self)._terms(rng))
        return start.build(X, labels, centers, sample_weight, rng, distances)

    def surrogate_score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the surrogate cost: that of the reference centres instead of the optimal ones.

        Parameters and return value as in `score`.
        """
        check_is_fitted(self)
        return -self._cost(X, None, sample_weight, embedding, self.free_centers_)

    def _method(self):
        return GreedyMethod(*self._terms(self.random_state))

    def _terms(self, random_state):
        """What a GreedyMethod and a GreedyStart are made of."""
        grow = partial(self._grow, random_state=random_state)
        return grow, self.midpoints, self.n_jobs, self.objective, self.sees_centers

    def _attributes(self, inputs, rows, problem, result):
        fitted = super()._attributes(inputs, rows, problem, result)
        for record in fitted["history_"]:  # found on standardised columns, perhaps
            if "threshold" in record:
                record["threshold"] = float(fitted["tree_"].threshold[record["node"]])
        return fitted


class CostTree(GreedyTree):
    """Base of the methods for the costs of k-means and of k-medians alike."""

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "objective": [StrOptions(set(OBJECTIVES))],
    }


@dataclass(frozen=True)
class GreedyMethod:
    """What fits axis-aligned trees to problems.

    Parameters
    ----------
    grow : callable(Points) -> Growth
    midpoints : bool
    n_jobs : int, optional
    costs : str, name of the objective
    sees_centers : bool, whether cuts part the reference centres too
    """

    grow: Callable
    midpoints: bool
    n_jobs: int | None
    costs: str = "kmeans"
    sees_centers: bool = True
    validation: ClassVar[None] = None
    improves: ClassVar[bool] = False  # a method's cuts are its own

    @property
    def objective(self):
        """The objective of the free clustering, whose costs the method compares."""
        return OBJECTIVES[self.costs]

    def check_data(self, X, weight):
        """Any data will do."""

    def points(self, problem, labels=None):
        """The rows and centres of a problem in the form that the kernels read."""
        return Points.of(
            problem.X,
            problem.free.centers,
            problem.weight,
            None if problem.space is problem.X else problem.space,
            labels=labels,
            n_jobs=self.n_jobs,
            objective=self.costs,
        )

    def fit_tree(self, problem):
        """The tree of the growth."""
        points = self.points(problem)
        return self.result(self.grow(points), points)

    def result(self, growth, points):
        """The tree of a growth and what is told of its cuts."""
        tree, leaves = finish_and_route(growth, points, self.midpoints, self.sees_centers)
        cuts = history(growth)
        return Result(tree, {"history_": cuts, "n_iter_": len(cuts)}, leaves)
