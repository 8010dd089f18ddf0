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
_APPROACH = (0.1, 1.0)  # of lambda
_REMOVED_SHARE = 0.25  # of the surplus of leaves, at a time


@dataclass(frozen=True)
class ExactForm:
    """Descent on the cost of a tree plus lambda a test, where nodes are solved exactly.

    An update of a node can be judged by the cost plus its price, so their sum never rises. Where
    passes of Tree Alternating Optimization end, leaves are *regrown*: the tree is expanded by
    cuts as ExKMC would make them, optimised, and rid of the tests that save least. That moves
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

    def start(self, trees, lambda_):
        """The best of some initial trees after a few passes; see :class:`DirectForm`."""
        starts = (
            self._passes(evaluate(self.problem, self.step, tree), lambda_, _START_PASSES, "start")
            for tree in trees
        )
        return min(starts, key=lambda state: state.objective(lambda_))

    def descend(self, state, lambda_):
        """Passes until nothing changes."""
        return self._passes(state, lambda_, _MOST_PASSES, "direct")

    def relax(self, state, lambda_):
        """Rounds of regrowth until none helps, at a smaller price first: tests must grow to pay.

        A solver that cannot expand a tree leaves the state as it is.
        """
        if not hasattr(self.step.solver, "expand"):
            return state
        most_leaves = state.tree.n_leaves  # dead ones included: those of the initial tree
        found = state
        for share in _APPROACH:
            found = self._rounds(found, share * lambda_, most_leaves)
        return min(state, found, key=lambda state: state.objective(lambda_))

    def _rounds(self, state, lambda_, most_leaves):
        """Regrowth by half as many leaves as there may be, by fewer where that does not help."""
        state = self._passes(state, lambda_, _MOST_PASSES, "regrow")
        n_more = most_leaves // 2
        for _ in range(_MOST_ROUNDS):
            if n_more == 0:
                break
            other = self._regrown(state, lambda_, most_leaves, n_more)
            if other.objective(lambda_) < state.objective(lambda_):
                state = other
            else:
                n_more //= 2
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

    def _regrown(self, state, lambda_, most_leaves, n_more):
        """State after expansion by `n_more` leaves, passes, removal of leaves, and passes."""
        tree = upright(state.pruned)
        tree = self.step.solver.expand(
            tree,
            self.step.route(tree),
            state.distances,
            self.problem.weight,
            most_leaves + n_more,
            lambda_,
            self.step.n_jobs,
        )
        state = evaluate(self.problem, self.step, tree)
        state = self._passes(state, lambda_, _MOST_PASSES, "regrow")
        tree = self._without_surplus(state, most_leaves)
        return self._passes(
            evaluate(self.problem, self.step, tree), lambda_, _MOST_PASSES, "regrow"
        )

    def _without_surplus(self, state, most_leaves):
        """The tree with no more leaves than allowed; tests go in order of what they save."""
        tree, criterion = state.pruned, self.problem.cost(state.distances)
        while tree.n_leaves > most_leaves:
            n_tests = max(1, int(_REMOVED_SHARE * (tree.n_leaves - most_leaves)))
            leaf_of_row, loss = self.step.route(tree), criterion.loss_at(tree)
            tree = tree.with_splits(self.least_useful(tree, leaf_of_row, loss, n_tests)).prune()
        return tree

    def least_useful(self, tree, leaf_of_row, loss, n_tests):
        """Constant splits for the tests that save least over sending all their rows one way.

        Of two tests on one path only the less useful one is named: removing one changes what the
        other saves, while tests in different branches know nothing of each other.

        Parameters
        ----------
        tree : Tree
        leaf_of_row : int array of shape (n,)
        loss : LeafLoss
        n_tests : int, how many at most

        Returns
        -------
        dict of node to ((indices, weights), threshold)
        """
        rows_of = reduced_sets(tree, leaf_of_row)
        savings = []
        for node in tree.decision_nodes:
            rows = rows_of[node]
            now = loss(rows, leaf_of_row[rows]).sum()
            left, right = (
                loss(rows, self.step.route(tree, rows, child[node])).sum()
                for child in (tree.children_left, tree.children_right)
            )
            savings.append((min(left, right) - now, int(node), bool(left <= right)))
        is_related = (tree.path_matrix + tree.path_matrix.T).toarray() > 0
        chosen = {}
        for _, node, goes_left in sorted(savings):
            if not is_related[node, list(chosen)].any():
                constant = Split.constant(goes_left)
                chosen[node] = ((constant.indices, constant.weights), constant.threshold)
            if len(chosen) == n_tests:
                break
        return chosen
