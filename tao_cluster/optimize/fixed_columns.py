"""Refit of a tree to other rows: thresholds and weights move, structure and columns stay."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..problem.problem import Result
from ..solvers import BoundSolver, Newton, Status
from ..solvers.exact import Candidate, Rows
from ..solvers.thresholds import best_threshold
from ..tree import Split
from ..tree.margins import TIE
from ..tree.routing import kernel_arrays, project
from .last_passes import RELAXED_SHARE
from .oblique import typical_lambda
from .penalty_method import with_histograms
from .simplify import at_midpoints, at_values
from .state import Evaluator, History, descend
from .tree_step import TreeStep

_N_PASSES = 10


def refit_columns(problem, settings, tree):
    """Return a Result: the tree after passes that keep its structure and the columns of its tests.

    Each pass moves the thresholds and weights so that the cost falls. Leaves get the cluster in
    which their rows cost least. Tests on sets of levels, and tests that would send all rows to one
    side, stay as they are.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    tree : Tree, over the columns of the problem
    """
    problem, tree = problem.with_limited_weights(), _with_unit_weights(tree)
    view, strength = kernel_arrays(problem.X), RELAXED_SHARE * typical_lambda(problem)
    smooth = Newton().bind(problem.X) if settings.is_oblique else None
    solver = _FixedColumns(problem.X, view, smooth, strength)
    step = _Step(view, solver, settings.n_jobs, leaf_size=problem.leaf_size)
    # An evaluator removes leaves that are too small. The step only prevents new ones.
    search = Evaluator(replace(problem, leaf_size=None), settings, step, History())
    state = descend(
        search, search.evaluate(tree), 0.0, stage="relax", n_passes=_N_PASSES, step=step, price=0.0
    )
    place = at_midpoints if settings.split_kind.midpoints else at_values
    found = place(state.tree, state.leaf_of_row, view, settings.n_jobs)
    found = found.with_splits(  # a test that no pass has moved keeps its threshold
        {
            node: (tree.split(node), tree.threshold[node])
            for node in tree.decision_nodes
            if Split.from_tree(tree, node).same_as(Split.from_tree(state.tree, node))
        }
    )
    if tree.leaf_value is not None:
        found = with_histograms(search, found, state.leaf_of_row)
    records = search.history.records
    return Result(found, {"history_": records, "n_iter_": len(records)}, state.leaf_of_row)


def _with_unit_weights(tree):
    """Return the tree with weight 1 or -1 in tests of one feature, as after a conversion of units."""
    single, factor = np.flatnonzero(np.diff(tree.split_indptr) == 1), np.ones(tree.n_nodes)
    factor[single] = np.abs(tree.split_weights[tree.split_indptr[single]])
    weights = tree.split_weights / np.repeat(factor, np.diff(tree.split_indptr))
    return replace(tree, split_weights=weights, threshold=tree.threshold / factor)


class _Step(TreeStep):
    """Tree step that never replaces a test by one that sends all rows to one side."""

    def _solve(self, node, problem, warm_start):
        return self.solver.solve(replace(problem, warm_start=warm_start))[0]


@dataclass(frozen=True)
class _FixedColumns:
    """Bound solver that lowers the 0/1 loss of a test by moving its threshold and weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    view : result of ``tao_cluster.tree.routing.kernel_arrays`` for X
    smooth : BoundSolver of the logistic loss, the second start for oblique tests; None for
        axis-aligned trees
    strength : float, its regularization strength
    """

    X: Any
    view: Any
    smooth: BoundSolver | None
    strength: float

    def solve(self, problem):
        """Solve one node with the columns of the warm start; see :class:`BoundSolver`."""
        old, n = problem.warm_start, len(problem.warm_start.indices)
        steps = np.where(problem.goes_right, problem.weight, -problem.weight)

        def goes_left(split):
            return project(self.view, problem.rows, split.indices, split.weights) <= split.threshold

        best, least = old, float(steps[goes_left(old)].sum()) - TIE * float(problem.weight.sum())
        for split in self._candidates(problem, old, steps) if n else ():
            is_left = goes_left(split)
            loss = float(steps[is_left].sum())
            if len(split.indices) == n and is_left.any() and not is_left.all() and loss < least:
                best, least = split, loss
        return best, Status()

    def _candidates(self, problem, old, steps):
        """Yield tests with other thresholds and weights."""
        if len(old.indices) == 1:
            values = project(self.view, problem.rows, old.indices, old.weights)
            yield replace(old, threshold=best_threshold(values, steps, old.threshold)[0])
        elif self.smooth is not None:
            rows, starts = Rows.from_problem(self.X, problem), [old]
            if problem.goes_right.any() and not problem.goes_right.all():
                terms = {"features": old.indices, "strength": self.strength}
                starts.append(self.smooth.solve(replace(problem, **terms))[0])
            for start in starts:
                if len(start.indices) == len(old.indices):  # no weight may be removed
                    yield _improved(rows, start)


def _improved(rows, split) -> Split:
    return Candidate.from_split(rows, split).improved(price=-np.inf).split
