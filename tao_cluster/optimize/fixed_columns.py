"""Refit of a tree to other rows: thresholds and weights move, structure and columns stay."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..problem.problem import Result
from ..solvers import Status
from ..solvers.exact import Candidate, Rows
from ..solvers.thresholds import best_threshold
from ..tree.margins import TIE
from ..tree.routing import kernel_arrays, project
from .penalty_method import with_histograms
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
    single, factor = np.diff(tree.split_indptr) == 1, np.ones(tree.n_nodes)
    factor[single] = np.abs(tree.split_weights[tree.split_indptr[:-1][single]])
    weights = tree.split_weights / np.repeat(factor, np.diff(tree.split_indptr))
    tree = replace(tree, split_weights=weights, threshold=tree.threshold / factor)
    problem = problem.with_limited_weights()
    view = kernel_arrays(problem.X)
    solver = _FixedColumns(problem.X, view, settings.is_oblique)
    step = _Step(view, solver, settings.n_jobs, leaf_size=problem.leaf_size)
    # An evaluator removes leaves that are too small. The step only prevents new ones.
    search = Evaluator(replace(problem, leaf_size=None), settings, step, History())
    options = {"stage": "relax", "n_passes": _N_PASSES, "step": step, "price": 0.0}
    state = descend(search, search.evaluate(tree), 0.0, **options)
    has_histograms, records = tree.leaf_value is not None, search.history.records
    found = with_histograms(search, *state.routed) if has_histograms else state.tree
    return Result(found, {"history_": records, "n_iter_": len(records)}, state.leaf_of_row)


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
    is_oblique : bool, whether the weights of tests of several features may change
    """

    X: Any
    view: Any
    is_oblique: bool

    def solve(self, problem):
        """Solve one node with the columns of the warm start; see :class:`BoundSolver`."""
        old, rows = problem.warm_start, Rows.from_problem(self.X, problem)
        values = project(self.view, problem.rows, old.indices, old.weights)
        if len(old.indices) == 1:
            threshold, _ = best_threshold(values, rows.steps, old.threshold)
            new = replace(old, threshold=threshold)
        elif len(old.indices) and self.is_oblique:  # at this price, no weight is removed
            new = Candidate.from_split(rows, old).improved(price=-np.inf).split
        else:
            return old, Status()
        is_left = project(self.view, problem.rows, new.indices, new.weights) <= new.threshold
        saved = rows.steps[values <= old.threshold].sum() - rows.steps[is_left].sum()
        is_better = saved > TIE * problem.weight.sum() and is_left.any() and not is_left.all()
        return (new if is_better else old), Status()
