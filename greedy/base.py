"""What the methods share: the parameters of an estimator, its fit, and its tree as a start."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster._utils.options import with_plain_numbers
from tao_cluster.base import TreeClustering
from tao_cluster.objectives import KMeans, KMedians, Objective
from tao_cluster.problem.problem import Result

from .builder_input import BuilderInput
from .growth import history, with_midpoints

# The objectives by name: those of points.DISTANCES.
OBJECTIVES = {"kmeans": KMeans(), "kmedians": KMedians()}

POSITIVE = Interval(Integral, 1, None, closed="left")

# What scikit-learn checks of the parameters that all estimators have.
CONSTRAINTS = {
    "n_clusters": [POSITIVE],
    "reference": [None, "array-like", HasMethods("fit")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Method:
    """How a fit makes its tree: what ``_method()`` of a TreeClustering returns.

    Parameters
    ----------
    objective : Objective, of the free clustering and of all costs
    fit_tree : callable(Problem) -> Result
    """

    objective: Objective
    fit_tree: Callable
    validation: ClassVar[None] = None
    improves: ClassVar[bool] = False  # a method's cuts are its own

    def check_data(self, X, weight):
        """Any data will do."""


# A data class stores its parameters under their own names, as scikit-learn wants it.
@dataclass(eq=False, repr=False)
class GreedyTree(TreeClustering):
    """Base of the methods. A subclass has ``_grow(points, random_state) -> Growth``.

    Parameters of its own are fields of a data class. See :class:`IMM` for those that all have.
    """

    n_clusters: int = 8
    _: KW_ONLY
    reference: Any = None
    standardize: bool = False
    midpoints: bool = True
    n_jobs: int | None = None
    random_state: Any = None

    objective = "kmeans"  # a parameter of CostTree
    sees_centers = True  # cuts part the reference centres too

    # As an initial tree; see tao_cluster.initial_trees.InitialTree.
    deterministic = True
    uses_distances = True
    n_distinct_trees = 1
    in_raw_units = False

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "standardize": ["boolean"],
        "midpoints": ["boolean"],
    }

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Tree for a free clustering, for as many clusters as there are centres.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
            Cluster of each row; None stands for the nearest centres.
        centers : float array of shape (k, d)
        sample_weight : float array of shape (n,)
        rng : int, RandomState or Generator, of a method that draws random numbers
        distances : float64 array of shape (n, k), default those of the objective
            What a row costs in each cluster, where that is not measured between the rows of X.

        Returns
        -------
        Tree
        """
        self._validate_params()
        plain = with_plain_numbers(self)
        terms = (plain.n_jobs, distances, plain.objective)
        points = BuilderInput.from_centers(X, centers, sample_weight, None, labels, *terms)
        return plain._finished(plain._grow(points, rng), points)[0]

    def surrogate_score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the surrogate cost: that of the reference centres instead of the optimal ones.

        Parameters and return value as in `score`.
        """
        check_is_fitted(self)
        return -self._cost(X, None, sample_weight, embedding, self.free_centers_)

    def _method(self):
        return Method(OBJECTIVES[self.objective], self._fit_tree)

    def _fit_tree(self, problem):
        points = self._points(problem)
        return self._result(self._grow(points, self.random_state), points)

    def _points(self, problem, labels=None):
        """The rows and centres of a problem in the form that the kernels read."""
        return BuilderInput.from_centers(
            problem.X,
            problem.free.centers,
            problem.weight,
            None if problem.space is problem.X else problem.space,
            labels=labels,
            n_jobs=self.n_jobs,
            objective=self.objective,
        )

    def _result(self, growth, points):
        """The tree of a growth and what is told of its cuts."""
        tree, leaves = self._finished(growth, points)
        cuts = history(growth)
        return Result(tree, {"history_": cuts, "n_iter_": len(cuts)}, leaves)

    def _finished(self, growth, points):
        """The tree of a growth, and the leaf of each row where midpoints had to find it."""
        tree = growth.to_tree(points.n_features)
        if not self.midpoints:
            return tree, None
        if not self.sees_centers:
            points = replace(points, centers=points.centers[:0])
        return with_midpoints(tree, points)

    def _attributes(self, inputs, rows, problem, result):
        fitted = super()._attributes(inputs, rows, problem, result)
        for record in fitted["history_"]:  # found on standardised columns, perhaps
            if "threshold" in record:
                record["threshold"] = float(fitted["tree_"].threshold[record["node"]])
        return fitted


@dataclass(kw_only=True, eq=False, repr=False)
class CostTree(GreedyTree):
    """Base of the methods for the costs of k-means and of k-medians alike."""

    objective: str = "kmeans"

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "objective": [StrOptions(set(OBJECTIVES))],
    }
