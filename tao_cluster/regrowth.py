"""The direct form for axis-aligned trees: exact descent, and regrowth of leaves where they pay."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .history import History
from .node_solvers import Split, upright
from .problem import Problem, evaluate
from .tree_step import TreeStep, reduced_sets

_START_PASSES = 3
_MOST_PASSES = 100
_MOST_ROUNDS = 50


@dataclass
class ExactForm:
    """Descent on the cost of a tree plus lambda a test, where nodes are solved exactly.

    An update of a node can be judged by the cost plus its price, so their sum never rises. Where
    passes of Tree Alternating Optimization end, leaves are *regrown*: the tree is expanded by as
    many cuts as ExKMC would make, optimised, and rid of the tests that save least. That moves
    leaves to where they save more, which passes over a fixed structure cannot. A tree never
    has more leaves than the one it started from. Regrowth is ours, not the paper's.

    Parameters
    ----------
    problem : Problem
    step : TreeStep, with an exact solver
    history : History
    """

    problem: Problem
    step: TreeStep
    history: History
    is_exact: ClassVar[bool] = True
    _most_leaves: int = 1

    def start(self, trees, lambda_):
        """The best of some initial trees after a few passes; see :class:`DirectForm`."""
        starts = (
            self._passes(evaluate(self.problem, self.step, tree), lambda_, _START_PASSES, "start")
            for tree in trees
        )
        return min(starts, key=lambda state: state.objective(lambda_))

    def descend(self, state, lambda_):
        """Passes until nothing changes, then rounds of regrowth until none helps."""
        self._most_leaves = max(self._most_leaves, state.tree.n_leaves)
        state = self._passes(state, lambda_, _MOST_PASSES, "direct")
        n_more = self._most_leaves // 2
        for _ in range(_MOST_ROUNDS):
            if n_more == 0:
                break
            other = self._regrown(state, lambda_, n_more)
            if other.objective(lambda_) < state.objective(lambda_):
                state = other
            else:
                n_more //= 2
        return state

    def relax(self, state, lambda_):
        """The state as it is: exact tests are not shrunk."""
        del lambda_
        return state

    def _passes(self, state, lambda_, n_passes, stage):
        best = state
        for _ in range(n_passes):
            tree = self.step.run(state.tree, self.problem.cost(state.distances), lambda_, 1)
            if tree is state.tree:
                break
            state = evaluate(self.problem, self.step, tree)
            # The price counts the tests of dead branches, too; without them it may have risen.
            is_better = state.objective(lambda_) < best.objective(lambda_)
            self.history.add(stage, self.problem, state, lambda_, np.inf, kept=is_better)
            best = state if is_better else best
        return best

    def _regrown(self, state, lambda_, n_more):
        """State after expansion by `n_more` leaves, passes, removal of leaves, and passes."""
        tree = upright(state.pruned)
        tree = self.step.solver.cutter.expand(
            tree,
            self.step.route(tree),
            state.distances,
            self.problem.weight,
            self._most_leaves + n_more,
            lambda_,
            self.step.n_jobs,
        )
        state = evaluate(self.problem, self.step, tree)
        state = self._passes(state, lambda_, _MOST_PASSES, "regrow")
        tree = self._without_surplus(state)
        return self._passes(
            evaluate(self.problem, self.step, tree), lambda_, _MOST_PASSES, "regrow"
        )

    def _without_surplus(self, state):
        """The tree with no more leaves than allowed; tests go in order of what they save."""
        tree, criterion = state.pruned, self.problem.cost(state.distances)
        while tree.n_leaves > self._most_leaves:
            node, goes_left = self._least_useful(tree, criterion)
            constant = Split.constant(goes_left)
            tree = tree.with_splits(
                {node: ((constant.indices, constant.weights), constant.threshold)}
            ).prune()
        return tree

    def _least_useful(self, tree, criterion):
        """Decision node that saves least over sending all its rows one way, and which way."""
        leaf_of_row, loss = self.step.route(tree), criterion.loss_at(tree)
        rows_of = reduced_sets(tree, leaf_of_row)
        prices = []
        for node in tree.decision_nodes:
            rows = rows_of[node]
            now = loss(rows, leaf_of_row[rows]).sum()
            left, right = (
                loss(rows, self.step.route(tree, rows, child[node])).sum()
                for child in (tree.children_left, tree.children_right)
            )
            prices.append((min(left, right) - now, int(node), bool(left <= right)))
        _, node, goes_left = min(prices)
        return node, goes_left
