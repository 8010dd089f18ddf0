"""ExShallow, which prefers short explanations, and ExShallow*, the search for its depth factor."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from tao_cluster._utils.options import with_plain_numbers
from tao_cluster._utils.warnings import InterruptedWarning, warn
from tao_cluster.problem.problem import Problem, Result
from tao_cluster.reference import FreeClustering, cost_increase, optimal_centers
from tao_cluster.tree.conditions import explanation_sizes
from tao_cluster.tree.leaf_size import LeafSize

from .base import OBJECTIVES, POSITIVE, CostTree, GreedyTree
from .center_cuts import separate_centers

_AT_LEAST_0 = Interval(Real, 0, None, closed="left")


@dataclass(kw_only=True, eq=False, repr=False)
class ExShallow(CostTree):
    """ExShallow: one leaf per cluster, with low cost and short explanations.

    Use it instead of :class:`ExGreedy` if decision paths should be short: it trades a little cost
    for a smaller depth.

    The cut of a node minimises ExGreedy's cost divided by the cost of the node, plus
    `depth_factor` times the expected depth (Laber, Murtinho & Oliveira 2023, algorithms 1 to 3).
    The paper's EvalWAD estimates this depth as if all further cuts divided rows and centres in the
    proportions of this cut. If the share r of the centres is on its left, a node of K centres
    passes ceil(K r) of them to the left, at least 1 and at most K - 1. Rows count by weight.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, which is also the number of leaves.
    depth_factor : float >= 0, default=0.03
        Penalty per level of expected depth (the paper's lambda), relative to the cost of the
        node. Larger values give shallower trees; 0 gives :class:`ExGreedy`.
    objective, reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The attributes, errors and memory are also those of :class:`IMM`.
        With ``ties="widest"``, a test can move to another feature after the tree is built, which
        can make explanations longer; ``ties="first"`` keeps the features that the penalty chose.

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
        return separate_centers(points, depth_factor=self.depth_factor)


@dataclass(kw_only=True, eq=False, repr=False)
class ExShallowSearch(GreedyTree):
    """ExShallow*: ExShallow with a depth factor that meets goals for cost and explanations.

    Use it if you know the acceptable cost increase or the acceptable length of an explanation,
    but not the value of ``ExShallow(depth_factor=...)`` that achieves it.

    The search doubles and bisects the factor, starting from 0.03 (Laber, Murtinho & Oliveira
    2023, section 4.4). If no tree meets both goals, the result is the tree with the shortest
    explanations among those that meet the goal for the cost. If no tree meets that goal either,
    the result is the tree of smallest cost, and `fit` warns.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, which is also the number of leaves.
    max_cost_increase : float, default=None
        Goal for the cost, in percent above the free clustering. None means no limit.
    max_explanation_size : float, default=None
        Goal for the mean number of conditions that explain a row (the paper's WAES). None means
        as few as the goal for the cost allows. Without any goal this is ExShallow.
    max_iter : int, default=12
        Maximum number of trees that are built.
    reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The cost is that of k-means.

    Attributes
    ----------
    depth_factor_ : float
        Depth factor of `tree_`.
    history_ : list of dict
        One record per tree (not per cut): depth_factor, cost_increase, explanation_size.
    n_iter_ : int
        Number of trees that were built.
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, ...
        As in :class:`IMM`.

    Warns
    -----
    ConvergenceWarning
        If no tree meets `max_cost_increase`, or if a KeyboardInterrupt stops the search. The
        estimator then keeps the best tree that was found.

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

    uses_distances = False  # `build` computes the costs from the rows of X

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_cost_increase": [None, _AT_LEAST_0],
        "max_explanation_size": [None, _AT_LEAST_0],
        "max_iter": [POSITIVE],
    }

    def build(self, X, labels, centers, sample_weight, rng=None):
        """Build a tree for given centres, as :meth:`IMM.build` does, by the k-means cost."""
        del rng
        self._validate_params()
        objective = OBJECTIVES["kmeans"]
        data = objective.prepare(X)
        inertia = objective.value(data, labels, sample_weight, centers)
        free = FreeClustering(labels, centers, inertia)
        size = LeafSize.from_parameter(self.min_samples_leaf, sample_weight, np.ones(len(labels)))
        problem = Problem(X, X, objective, data, sample_weight, free, leaf_size=size)
        return with_plain_numbers(self)._fit_tree(problem).tree

    def _fit_tree(self, problem):
        """Return the tree that meets the goals best."""
        points, free = self._points(problem), problem.free

        def attempt(factor):
            growth = separate_centers(points, depth_factor=factor)
            tree, _ = self._finish(growth, points)
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
                f"{record['cost_increase']:.2f} % more. Increase max_cost_increase, or use ExKMC, "
                "which reduces the cost with further leaves.",
                ConvergenceWarning,
            )
        factor = record["depth_factor"]
        return Result(tree, {"depth_factor_": factor, "history_": tried, "n_iter_": len(tried)})

    def _limits(self):
        """Return the goals for cost and size; inf is no limit, -inf asks for the smallest size."""
        cost, size = self.max_cost_increase, self.max_explanation_size
        if size is None:
            size = np.inf if cost is None else -np.inf
        return np.inf if cost is None else cost, size


def search_depth_factor(attempt, max_cost_increase, max_explanation_size, max_iter, start=0.03):
    """Search a depth factor that meets goals for the cost and for the size of explanations.

    Starting from `start`, lower the factor while the cost exceeds its goal, and raise it while
    only the explanations are too long, by doubling and bisection (Laber, Murtinho & Oliveira
    2023, section 4.4). If all trees so far cost too much, the last attempt is the factor 0.

    Parameters
    ----------
    attempt : callable
        Function of the depth factor that returns (cost increase, mean explanation size, result).
    max_cost_increase, max_explanation_size : float
    max_iter : int
    start : float > 0

    Returns
    -------
    best : (record, result)
        The attempt that meets both goals. If there is none: the one with the shortest
        explanations among those that meet the goal for the cost. If there is none either: the
        one of smallest cost.
    records : list of dict
        All attempts: depth_factor, cost_increase, explanation_size.
    """
    low, high, factor, tried = 0.0, np.inf, start, []
    try:
        for i in range(max_iter):
            if low == 0.0 and i > 0 and i == max_iter - 1:
                factor = 0.0  # no tree met the goal for the cost; 0 costs least
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
        warn(f"Interrupted: the best of {len(tried)} trees is kept.", InterruptedWarning)

    def rank(entry):
        cost, size = entry[0]["cost_increase"], entry[0]["explanation_size"]
        if cost > max_cost_increase:
            return 2, cost, size
        return (0, 0.0, cost) if size <= max_explanation_size else (1, size, cost)

    return min(tried, key=rank), [record for record, _ in tried]
