"""Polishing: a tree that some rows have found, adapted to all: thresholds, labels, centres."""

from dataclasses import dataclass
from typing import Any

from ...solvers import Status
from ...solvers.thresholds import constant_side, sharpen
from ...tree.routing import kernel_view, project
from ..state import Search
from ..step.tree_step import TreeStep


@dataclass(frozen=True)
class Thresholds:
    """Bound solver that keeps the weights of the warm start and makes its threshold exact.

    It needs the rows as routing reads them, and no storage of its own.

    Parameters
    ----------
    view : result of :func:`tao_cluster.tree.routing.kernel_view`
    """

    view: Any

    def solve(self, problem):
        """See :class:`BoundSolver`; the least weighted 0/1 loss, whatever the strength."""
        old = problem.warm_start
        if len(old.indices) == 0:
            return constant_side(problem), Status()
        values = project(self.view, problem.rows, old.indices, old.weights)
        return sharpen(old, values, problem.goes_right, problem.weight), Status()


def polishing_search(problem, settings, history):
    """The search that polishes trees over all rows of a problem."""
    view = kernel_view(problem.X)
    return Search(problem, settings, TreeStep(view, Thresholds(view), settings.n_jobs), history)


def polish(search, tree, lambda_):
    """One pass over a tree whose weights stay: no node's loss rises, nor does the cost.

    Parameters
    ----------
    search : Search, result of :func:`polishing_search`
    tree : Tree
    lambda_ : float, of the record

    Returns
    -------
    State
    """
    before = search.evaluate(tree)
    tree = search.step.one_pass(before.tree, search.criterion(before), 0.0, is_judged=True)
    after = before if tree is before.tree else search.evaluate(tree)
    is_better = after.inertia <= before.inertia  # but for the rounding of sums it always is
    search.record("polish", after, lambda_, kept=is_better)
    return after if is_better else before
