"""Refits of a node on the features it has: lighter penalty, fewer features, exact threshold."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..tree import Split
from ..tree.routing import project
from .base import BoundSolver, Status


@dataclass(frozen=True)
class Refit:
    """Bound solver whose result uses only features of the warm start (the relaxed lasso).

    The threshold is the one with the least weighted 0/1 loss, which is what the tree step
    minimises and what the logistic loss only stands for.

    Parameters
    ----------
    solver : BoundSolver
    view : result of ``tao_cluster.tree.routing.kernel_view``, the solver's rows; of sparse ones
        at least the features of warm starts
    reweights : bool
        Whether the strength of a feature is divided by its weight in the warm start, relative
        to the mean weight there (adaptive lasso, Zou 2006): small weights vanish, large
        ones are hardly shrunk.
    """

    solver: BoundSolver
    view: Any
    reweights: bool = False

    def solve(self, problem):
        """See :class:`BoundSolver`; features and factors are those of the warm start."""
        old = problem.warm_start
        if len(old.indices) == 0:
            return constant_side(problem), Status()
        size = np.abs(old.weights)
        factors = size.mean() / size if self.reweights else None
        new, status = self.solver.solve(replace(problem, features=old.indices, factors=factors))
        if len(new.indices) == 0:
            return new, status
        values = project(self.view, problem.rows, new.indices, new.weights)
        return sharpen(new, values, problem.goes_right, problem.weight), status


def constant_side(problem):
    """The test without features that sends all rows to the side of more weight, ties: right."""
    left = problem.weight @ ~problem.goes_right
    return Split.constant(problem.weight @ problem.goes_right < left)


def sharpen(split, values, goes_right, weight):
    """The split with the threshold of least weighted 0/1 loss.

    Among equally good thresholds the given one is kept if it is one of them; else it is the
    lowest, half way between two values. If no threshold beats sending all rows to one side, the
    result is the constant split.

    Parameters
    ----------
    split : Split
    values : float64 array of shape (m,), w.x
    goes_right : bool array of shape (m,)
    weight : float64 array of shape (m,), positive

    Returns
    -------
    Split
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    # Loss of the threshold after each row, above that of sending all rows to the right.
    loss = np.cumsum(np.where(goes_right, weight, -weight)[order])
    everything_left = loss[-1]
    last_of_equals = np.flatnonzero(ascending[1:] > ascending[:-1])
    noise = 1e-12 * weight.sum()
    if len(last_of_equals) == 0 or loss[last_of_equals].min() >= min(0.0, everything_left) - noise:
        return Split.constant(goes_left=everything_left < 0.0)
    least = loss[last_of_equals].min()
    below = np.searchsorted(ascending, split.threshold, side="right")
    if below and loss[below - 1] <= least + noise:
        return split
    i = last_of_equals[loss[last_of_equals].argmin()]
    middle = ascending[i] + (ascending[i + 1] - ascending[i]) / 2
    threshold = middle if middle < ascending[i + 1] else ascending[i]
    return Split(split.indices, split.weights, float(threshold))
