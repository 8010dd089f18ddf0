"""Base classes of the greedy estimators: shared parameters, `fit` and use as an initial tree."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster._utils.options import with_plain_numbers
from tao_cluster._utils.warnings import listed
from tao_cluster.base import LEAF_SIZES, TreeClustering
from tao_cluster.constraints import Constraints
from tao_cluster.objectives import KMeans, KMedians, Objective
from tao_cluster.problem.problem import Result
from tao_cluster.tree.leaf_size import LeafSize

from .builder_input import BuilderInput
from .growth import history, with_full_leaves, with_placed_tests

# Cost functions by name; builder_input.DISTANCES has the same keys.
OBJECTIVES = {"kmeans": KMeans(), "kmedians": KMedians()}

POSITIVE = Interval(Integral, 1, None, closed="left")

# Constraints of the parameters that all estimators share, for scikit-learn's validation.
CONSTRAINTS = {
    "n_clusters": [POSITIVE],
    "min_samples_leaf": LEAF_SIZES,
    "constraints": [None, Constraints],
    "reference": [None, "array-like", HasMethods("fit")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Method:
    """The cost function of an estimator and the function that builds its tree.

    `fit` gets this object from the method ``_method()`` of the estimator.

    Parameters
    ----------
    objective : Objective
        Cost function of the free clustering and of the tree.
    fit_tree : callable
        Function that takes a Problem and returns a Result.
    """

    objective: Objective
    fit_tree: Callable
    validation: ClassVar[None] = None
    tests_sets: ClassVar[bool] = False  # no test of a set of categories: each tests x[feature] <= t
    improves: ClassVar[bool] = False  # out-of-core fits keep the labels and cuts of the method

    def check_data(self, X, weight):
        """Accept all data: no method has requirements beyond the general checks."""


# A dataclass stores each parameter under its own name, as scikit-learn requires.
@dataclass(eq=False, repr=False)
class GreedyTree(TreeClustering):
    """Base class of the greedy estimators, by default with the k-means cost.

    A subclass implements ``_grow(points, random_state)``, which returns the tree as a Growth, and
    declares its own parameters as dataclass fields. :class:`IMM` documents the shared parameters.
    """

    n_clusters: int = 8
    _: KW_ONLY
    reference: Any = None
    standardize: bool = False
    midpoints: bool = True
    ties: str = "widest"
    min_samples_leaf: int | float = 1
    constraints: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    objective = "kmeans"  # the subclass CostTree makes this a parameter
    keeps_labels = False  # whether rows keep their labels, which need not be the nearest centres
    sees_centers = True  # a moved threshold keeps every reference centre on its side, too

    # TAOClustering reads these attributes if the estimator is its `init`. They are documented in
    # tao_cluster.initial_trees.InitialTree.
    deterministic = True
    uses_distances = True
    n_distinct_trees = 1
    in_raw_units = False

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "standardize": ["boolean"],
        "midpoints": ["boolean"],
        "ties": [StrOptions({"widest", "first"})],
    }

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Build a tree for given centres without fitting the estimator.

        `TAOClustering` calls this method if the estimator is its `init`. The number of clusters
        is the number of centres; `n_clusters` and `reference` are not used. Unlike `fit`, this
        method keeps sibling leaves with the same label, since TAO can relabel them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,) or None
            Cluster of each row; None assigns each row to its nearest centre.
        centers : float array of shape (k, d)
        sample_weight : float array of shape (n,)
        rng : int, RandomState or Generator, optional
            Seed of methods that draw random numbers.
        distances : float64 array of shape (n, k), optional
            Cost of each row in each cluster. By default the costs are those of `objective`,
            computed from the rows of X and the centres.

        Returns
        -------
        Tree

        Raises
        ------
        ValueError
            If a parameter is invalid, shapes do not match, or X has NaN or infinite values.
        """
        self._validate_params()
        plain = with_plain_numbers(self)
        terms = (plain.n_jobs, distances, plain.objective)
        points = BuilderInput.from_centers(X, centers, sample_weight, None, labels, *terms)
        units = (points.weight, points.weight > 0)  # each row counts once
        size = LeafSize.from_parameter(plain.min_samples_leaf, *units)
        points = replace(points, leaf_size=size, is_initial=True)
        return plain._finish(plain._full_growth(points, rng), points)[0]

    def surrogate_score(self, X, y=None, sample_weight=None, embedding=None):
        """Return minus the surrogate cost: the cost with the reference centres.

        `score` uses `cluster_centers_`, the optimal centres for the tree's clusters. This method
        uses `free_centers_` instead, the centres that the published methods work with.
        The parameters and the return value are those of `score`.
        """
        check_is_fitted(self)
        return -self._cost(X, None, sample_weight, embedding, self.free_centers_)

    def _validate_params(self):
        super()._validate_params()
        names = ("first", "steps", "max_depth", "max_tests_per_column")
        given = [name for name in names if getattr(self.constraints, name, None) is not None]
        if given:
            raise ValueError(
                f"constraints: {type(self).__name__} keeps columns and not_tested, but not "
                f"{listed(given)}; use TAOClustering(split='axis')."
            )

    def _method(self):
        return Method(OBJECTIVES[self.objective], self._fit_tree)

    def _fit_tree(self, problem):
        points = self._points(problem)
        growth = without_redundant_splits(self._full_growth(points, self.random_state))
        return self._result(growth, points)

    def _full_growth(self, points, random_state):
        return with_full_leaves(self._grow(points, random_state), points)

    def _points(self, problem):
        """Return the rows, weights and reference centres of a problem as a BuilderInput."""
        return BuilderInput.from_centers(
            problem.X,
            problem.free.centers,
            problem.weight,
            None if problem.space is problem.X else problem.space,
            labels=problem.free.labels if self.keeps_labels else None,
            n_jobs=self.n_jobs,
            objective=self.objective,
            leaf_size=problem.leaf_size,
        )

    def _result(self, growth, points):
        """Return the tree of a Growth with `history_`, `n_iter_` and the leaf of each row."""
        tree, leaves = self._finish(growth, points)
        cuts = history(growth)
        return Result(tree, {"history_": cuts, "n_iter_": len(cuts)}, leaves)

    def _finish(self, growth, points):
        """Convert a Growth to a Tree; return the tree and the leaf of each row.

        The features and thresholds of tests follow `ties` and `midpoints`; see
        :func:`with_placed_tests`. If neither moves a test, None is returned in place of the leaves.
        """
        tree, is_widest = growth.to_tree(points.n_features), self.ties == "widest"
        if not (self.midpoints or is_widest):
            return tree, None
        if not self.sees_centers:
            points = replace(points, centers=points.centers[:0])
        return with_placed_tests(tree, points, is_widest, self.midpoints)

    def _attributes(self, inputs, rows, problem, result):
        fitted = super()._attributes(inputs, rows, problem, result)
        # Cuts were made in standardised columns, before tests were placed. `tree_` has the features
        # and thresholds in the units of X.
        tree = fitted["tree_"]
        for record in fitted["history_"]:
            if "feature" in record:
                record["feature"] = int(tree.split(record["node"])[0][0])
            if "threshold" in record:
                record["threshold"] = float(tree.threshold[record["node"]])
        return fitted


@dataclass(kw_only=True, eq=False, repr=False)
class CostTree(GreedyTree):
    """Base class of the estimators that minimise the k-means or the k-medians cost."""

    objective: str = "kmeans"

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "objective": [StrOptions(set(OBJECTIVES))],
    }


def without_redundant_splits(growth):
    """Remove the splits below which all leaves have the same label.

    Without such a split, every row keeps its cluster.

    Parameters
    ----------
    growth : Growth
        A decision node gets the label of the leaves below it, if they have the same label.

    Returns
    -------
    Growth; the same object if there is nothing to remove
    """
    label = growth.label.copy()  # -1 marks nodes above leaves with different labels
    for node in reversed(range(growth.n_nodes)):
        if growth.left[node] >= 0:
            left, right = label[growth.left[node]], label[growth.right[node]]
            label[node] = left if left == right else -1
    redundant = {n for n, left in enumerate(growth.left) if left >= 0 and label[n] >= 0}
    for node in redundant:
        growth.label[node] = label[node]
    return growth.without(redundant) if redundant else growth
