"""The direct form: descent on the clustering cost itself, without assignments Z (mu = infinity).

The rows at a node are labelled by the child whose leaf costs them less and weigh by how much;
a node is fitted to that with strength lambda, a leaf takes the label of least summed cost, and
the centres follow. The form is ours; in the notation of the KDD'22 paper it is what its
penalty method tends to, with the true costs in place of 0/1 mismatches.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .history import History
from .node_solvers import Refit
from .problem import Problem, evaluate
from .tree_step import TreeStep

# Passes over the tree: for each initial tree, at each lambda, and in the stages of `relax`.
_START_PASSES = 3
_PASSES = 3
_REWEIGHTED_PASSES = 1
_RELAXED_PASSES = 4
_PATIENCE = 2  # passes without a better tree

_N_REWEIGHTINGS = 2
_RELAXED_SHARE = 0.03  # of lambda, in the last refit


@dataclass
class DirectForm:
    """Descent on the cost of a tree for given lambda.

    Parameters
    ----------
    problem : Problem
    step : TreeStep
    history : History
    """

    problem: Problem
    step: TreeStep
    history: History
    is_exact: ClassVar[bool] = False
    _reweighted: TreeStep = field(init=False)
    _relaxed: TreeStep = field(init=False)

    def __post_init__(self):
        solver, view = self.step.solver, self.step.view
        self._reweighted = self.step.with_solver(Refit(solver, view, reweights=True))
        self._relaxed = self.step.with_solver(Refit(solver, view))

    def start(self, trees, lambda_):
        """The best of some initial trees, by their cost after a few passes.

        Parameters
        ----------
        trees : iterable of Tree
        lambda_ : float

        Returns
        -------
        State
        """
        starts = (
            self._passes(
                self.step, evaluate(self.problem, self.step, tree), lambda_, _START_PASSES, "start"
            )
            for tree in trees
        )
        return min(starts, key=lambda state: state.inertia)

    def descend(self, state, lambda_):
        """Passes at one lambda: the tree of least cost among those they lead to.

        Every update of a node is accepted: the cost does not see the scale of w but ||w||_1
        does, so an update cannot be judged by their sum; and the tree that it starts from, of a
        smaller lambda mostly, is not among the results.
        """
        return self._passes(self.step, state, lambda_, _PASSES, "direct")

    def relax(self, state, lambda_):
        """Refit every node on the features it has, with less shrinkage.

        Two rounds with strengths relative to the weights (adaptive lasso) drop features that
        matter little; then a small part of the strength is left (relaxed lasso), and
        thresholds are exact. The cost falls with the shrinkage, the size with the features.
        """
        for _ in range(_N_REWEIGHTINGS):
            self._reweighted.forget()
            state = self._passes(self._reweighted, state, lambda_, _REWEIGHTED_PASSES, "relax")
        strength = _RELAXED_SHARE * lambda_
        return self._passes(self._relaxed, state, strength, _RELAXED_PASSES, "relax", state)

    def _passes(self, step, state, strength, n_passes, stage, best=None):
        waited = 0
        for _ in range(n_passes):
            tree = step.free_pass(state.tree, self.problem.cost(state.distances), strength)
            if tree is state.tree:
                break
            state = evaluate(self.problem, step, tree)
            is_better = best is None or state.inertia < best.inertia
            self.history.add(stage, self.problem, state, strength, np.inf, kept=is_better)
            best, waited = (state, 0) if is_better else (best, waited + 1)
            if waited == _PATIENCE:
                break
        return state if best is None else best
