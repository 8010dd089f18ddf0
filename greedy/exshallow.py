"""ExShallow, with short explanations, and ExShallow*, the search for its depth factor."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from tao_cluster._utils.options import with_plain_numbers
from tao_cluster._utils.warnings import warn
from tao_cluster.problem.problem import Problem, Result
from tao_cluster.reference import FreeClustering, cost_increase, optimal_centers
from tao_cluster.tree.conditions import explanation_sizes

from .base import OBJECTIVES, POSITIVE, CostTree, GreedyTree
from .center_cuts import part_centers

_AT_LEAST_0 = Interval(Real, 0, None, closed="left")


@dataclass(kw_only=True, eq=False, repr=False)
class ExShallow(CostTree):
    """ExShallow: one leaf a cluster, low cost with short explanations.

    A cut has the least sum of ExGreedy's cost over the node's cost and of a price of the expected
    depth (Laber, Murtinho & Oliveira 2023, algorithms 1 to 3). Where the paper's EvalWAD divides
    centres, the left side gets ceil(K r_c) of them, at least 1 and at most K - 1; rows stay
    divisible and count by their weight.

    Parameters
    ----------
    depth_factor : float >= 0, default=0.03
        Price of the expected depth, the paper's lambda: larger values give shallower trees; 0 is
        :class:`ExGreedy`.
    n_clusters, objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExShallow
    >>> ExShallow(10, random_state=0).fit(load_digits().data).tree_.n_leaves
    10
    """

    depth_factor: float = 0.03

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "depth_factor": [_AT_LEAST_0],
    }

    def _grow(self, points, random_state):
        return part_centers(points, depth_factor=self.depth_factor)


@dataclass(kw_only=True, eq=False, repr=False)
class ExShallowSearch(GreedyTree):
    """ExShallow with the depth factor that meets goals for cost and explanations (ExShallow*).

    Laber, Murtinho & Oliveira (2023), section 4.4: doubling and bisection from a factor of 0.03.
    If no tree meets both goals, the one with the shortest explanations among those that meet
    the goal for the cost is kept; if none meets that, the cheapest, with a warning.

    Parameters
    ----------
    max_cost_increase : float, default=None
        Goal: percent over the free clustering. None is no limit.
    max_explanation_size : float, default=None
        Goal: mean number of conditions that explain a row (WAES). None is as short as the goal
        for the cost lets it be; without any goal this is ExShallow.
    max_iter : int, default=12
        Most trees that are built. A KeyboardInterrupt ends the search with the best so far.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes but for those below.

    Attributes
    ----------
    depth_factor_ : float
        That of `tree_`.
    history_ : list of dict
        One record a tree (not a cut): depth_factor, cost_increase, explanation_size.
    n_iter_ : int
        Number of trees.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExShallowSearch
    >>> model = ExShallowSearch(10, max_cost_increase=20, random_state=0).fit(load_digits().data)
    >>> model.cost_increase_ <= 20
    True
    """

    max_cost_increase: float | None = None
    max_explanation_size: float | None = None
    max_iter: int = 12

    uses_distances = False  # its goals are in costs between the rows of X

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_cost_increase": [None, _AT_LEAST_0],
        "max_explanation_size": [None, _AT_LEAST_0],
        "max_iter": [POSITIVE],
    }

    def build(self, X, labels, centers, sample_weight, rng=None):
        """Return the tree for given centres; costs are squared distances between rows of X."""
        del rng
        self._validate_params()
        objective = OBJECTIVES["kmeans"]
        data = objective.prepare(X)
        inertia = objective.value(data, labels, sample_weight, centers)
        free = FreeClustering(labels, centers, inertia)
        problem = Problem(X, X, objective, data, sample_weight, free)
        return with_plain_numbers(self)._fit_tree(problem).tree

    def _fit_tree(self, problem):
        """The tree that meets the goals best."""
        points, free = self._points(problem), problem.free

        def attempt(factor):
            growth = part_centers(points, depth_factor=factor)
            tree, _ = self._finished(growth, points)
            leaves = tree.apply(problem.X)
            terms = (problem.data, tree.leaf_label[leaves], problem.weight, free)
            _, inertia = optimal_centers(problem.objective, *terms)
            size = np.average(explanation_sizes(tree)[leaves], weights=problem.weight)
            return cost_increase(inertia, free.inertia), float(size), tree

        cost, size = self._limits()
        (record, tree), tried = search_depth_factor(attempt, cost, size, self.max_iter)
        if record["cost_increase"] > cost:
            warn(
                f"No tree with {len(points.centers)} leaves was found that costs at most "
                f"{cost:g} % more than the free clustering; the best costs "
                f"{record['cost_increase']:.2f} % more.",
                ConvergenceWarning,
            )
        factor = record["depth_factor"]
        return Result(tree, {"depth_factor_": factor, "history_": tried, "n_iter_": len(tried)})

    def _limits(self):
        """Goals for cost and size; infinite ones where they were not given."""
        cost, size = self.max_cost_increase, self.max_explanation_size
        if size is None:
            size = np.inf if cost is None else -np.inf
        return np.inf if cost is None else cost, size


def search_depth_factor(attempt, max_cost_increase, max_explanation_size, max_iter, start=0.03):
    """Depth factor that meets a goal for the cost and one for the size of explanations.

    Laber, Murtinho & Oliveira (2023), section 4.4: from `start`, lower the factor while the
    cost is above its goal, raise it while only the explanations are too long, by doubling and
    bisection. Where every tree so far costs too much, the last attempt is the factor 0.

    Parameters
    ----------
    attempt : callable, depth factor -> (cost increase, mean explanation size, result)
    max_cost_increase, max_explanation_size : float
    max_iter : int
    start : float > 0

    Returns
    -------
    (record, result) of the attempt that meets both goals; if there is none, of the one with the
    shortest explanations among those that meet the goal for the cost; if there is none, of the
    cheapest. And the list of all records: depth_factor, cost_increase, explanation_size.
    """
    low, high, factor, tried = 0.0, np.inf, start, []
    try:
        for i in range(max_iter):
            if low == 0.0 and i > 0 and i == max_iter - 1:
                factor = 0.0  # nothing met the goal for the cost: the last chance
            cost, size, result = attempt(factor)
            record = {"depth_factor": factor, "cost_increase": cost, "explanation_size": size}
            tried.append((record, result))
            if cost > max_cost_increase:
                high = factor
            elif size > max_explanation_size:
                low = factor
            else:
                break
            factor = 2 * low if high == np.inf else (low + high) / 2
    except KeyboardInterrupt:
        if not tried:
            raise
        warn(f"Interrupted: the best of {len(tried)} trees is kept.", ConvergenceWarning)

    def rank(entry):
        cost, size = entry[0]["cost_increase"], entry[0]["explanation_size"]
        if cost > max_cost_increase:
            return 2, cost, size
        return (0, 0.0, cost) if size <= max_explanation_size else (1, size, cost)

    return min(tried, key=rank), [record for record, _ in tried]
