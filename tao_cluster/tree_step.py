"""The tree step: passes of Tree Alternating Optimization over one tree (KDD'22 paper, section 8).

A pass visits the nodes in reverse breadth-first order. Nodes of one depth share no rows, so
each is optimised on its own *reduced set*, the rows that reach it. A decision node's
pseudo-label for a row is the child whose subtree gives the row the lower loss; rows to which
both children give the same loss are "don't care" and are dropped.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._threads import map_in_threads, n_threads
from .decisions import Decisions
from .node_solvers import BoundSolver, Split
from .penalties import leaf_histograms
from .routing import project
from .tree import same_array


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """The binary problem at one decision node, without the rows that do not care.

    `rows` of X, `goes_right` their pseudo-labels, `weight` the loss of the wrong child minus
    that of the right one, `strength` of the L1 penalty.
    """

    rows: np.ndarray
    goes_right: np.ndarray
    weight: np.ndarray
    strength: float

    def loss(self, goes_left):
        """Loss above the least possible for a decision per row."""
        return float(self.weight[goes_left == self.goes_right].sum())

    def same_as(self, other):
        """Whether a solver would be given exactly the same problem."""
        return (
            other is not None
            and self.strength == other.strength
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.goes_right, other.goes_right)
            and np.array_equal(self.weight, other.weight)
        )


def reduced_sets(tree, leaf_of_row):
    """Rows that reach each node, increasing: list of int64 arrays, one a node.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    """
    # One stable sort by leaf; a node's rows are those of the leaves below it.
    order = np.argsort(leaf_of_row, kind="stable")
    bounds = np.searchsorted(leaf_of_row[order], np.arange(tree.n_nodes + 1))
    sets = [order[bounds[i] : bounds[i + 1]] for i in range(tree.n_nodes)]
    for node in tree.decision_nodes[::-1]:
        both = np.concatenate([sets[tree.children_left[node]], sets[tree.children_right[node]]])
        both.sort()
        sets[node] = both
    return sets


@dataclass
class TreeStep:
    """Tree Alternating Optimization of one tree structure, reused from pass to pass.

    Nodes keep their parameters when no row reaches them or when their weights are zero: a
    later step, with a smaller strength, may bring them back.

    Parameters
    ----------
    view : result of :func:`tao_cluster.routing.kernel_view`
    solver : BoundSolver
    n_jobs : int
        Threads that route rows and update the nodes of one depth, which share no rows.
    decisions : Decisions, default new ones
        Shared by steps over the same rows.
    """

    view: Any
    solver: BoundSolver
    n_jobs: int = 1
    decisions: Decisions | None = None
    # Last problem tried at each node and the split it left: nothing new can come of the same.
    _settled: dict[int, tuple[ReducedProblem, Split]] = field(default_factory=dict)

    def __post_init__(self):
        if self.decisions is None:
            self.decisions = Decisions(self.view)

    def with_solver(self, solver):
        """A step over the same rows with another solver."""
        return TreeStep(self.view, solver, self.n_jobs, self.decisions)

    def forget(self):
        """Solve again where the same problem was solved before.

        For a solver that has something to add to a result of its own.
        """
        self._settled.clear()

    def route(self, tree, rows=None, node=0):
        """Leaf that rows (default all) reach from a node: int32 array."""
        return self.decisions.route(tree, rows, node, self.n_jobs)

    def run(self, tree, criterion, strength, n_passes):
        """Repeat passes until one changes nothing, at most `n_passes`.

        An update of a node is accepted only if it lowers the node's loss plus
        strength * ||w||_1, so the tree's `objective` never rises (section 8).

        Parameters
        ----------
        tree : Tree
        criterion : Criterion
        strength : float > 0
            Multiplies sum_i ||w_i||_1 (lambda / mu in eq. 8).
        n_passes : int

        Returns
        -------
        Tree, the same object if nothing changed
        """
        for _ in range(n_passes):
            updated = self._one_pass(tree, criterion, strength, accept_all=False)
            if updated is tree:
                break
            tree = updated
        return tree

    def run_freely(self, tree, criterion, strength, n_passes):
        """Accept every update, and return the tree with the least `objective` after a pass.

        For a tree whose weights did not come from a solver: the loss does not see the scale of
        w but ||w||_1 does, so a test against such weights means nothing.

        Parameters as for :meth:`run`.

        Returns
        -------
        Tree; the given one only if `n_passes` is 0
        """
        self.forget()  # what is known of other trees does not count for this one
        best, least = tree, np.inf
        for _ in range(n_passes):
            updated = self.free_pass(tree, criterion, strength)
            value = self.objective(updated, criterion, strength)
            if value < least:
                best, least = updated, value
            if updated is tree:
                break
            tree = updated
        return best

    def free_pass(self, tree, criterion, strength):
        """One pass that accepts every update; the same object if nothing changed.

        Parameters as for :meth:`run`.
        """
        return self._one_pass(tree, criterion, strength, accept_all=True)

    def objective(self, tree, criterion, strength):
        """Loss of the whole tree plus strength * sum_i ||w_i||_1 (eq. 8)."""
        leaves = self.route(tree)
        loss = criterion.loss_at(tree)(np.arange(len(leaves)), leaves)
        return float(loss.sum() + strength * np.abs(tree.split_weights).sum())

    def _one_pass(self, tree, criterion, strength, accept_all):
        rows_of = reduced_sets(tree, self.route(tree))
        tree = _fit_leaves(tree, criterion, rows_of)
        for depth in range(tree.max_depth - 1, -1, -1):
            # The subtrees below this depth are final for this pass, so is each row's loss there.
            loss = criterion.loss_at(tree)
            self.decisions.follow(tree)  # before threads ask
            nodes = tree.decision_nodes[tree.depth[tree.decision_nodes] == depth]
            nodes = [node for node in nodes if len(rows_of[node])]

            def update(node, tree=tree, loss=loss):
                return self._update(tree, node, rows_of[node], loss, strength, accept_all)

            splits = self._map(update, nodes, rows_of)
            tree = tree.with_splits(
                {i: ((s.indices, s.weights), s.threshold) for i, s in splits.items() if s}
            )
        return tree

    def _map(self, update, nodes, rows_of):
        """Result of `update` for each of some nodes, by threads where that pays."""
        n_rows = sum(len(rows_of[node]) for node in nodes)
        largest_first = sorted(nodes, key=lambda node: -len(rows_of[node]))
        found = map_in_threads(update, largest_first, n_threads(self.n_jobs, n_rows))
        return dict(zip(largest_first, found, strict=True))

    def _update(self, tree, node, rows, loss, strength, accept_all):
        """New split of a node, or None to keep the old one."""
        problem = self._reduce(tree, node, rows, loss, strength)
        old = Split(*tree.split(node), tree.threshold[node])
        if len(problem.rows) == 0 or self._is_settled(node, problem, old):
            return None
        new = self._solve(problem, old)
        self._settled[node] = (problem, new)
        if new.same_as(old):
            return None
        if not accept_all and self._cost(problem, new) >= self._cost(problem, old):
            self._settled[node] = (problem, old)
            return None
        return new

    def _reduce(self, tree, node, rows, loss, strength):
        left = self.decisions.route(tree, rows, tree.children_left[node])
        right = self.decisions.route(tree, rows, tree.children_right[node])
        gain = loss(rows, left) - loss(rows, right)
        care = gain != 0
        return ReducedProblem(rows[care], gain[care] > 0, np.abs(gain[care]), strength)

    def _is_settled(self, node, problem, split):
        tried, kept = self._settled.get(node, (None, None))
        return problem.same_as(tried) and split.same_as(kept)

    def _solve(self, problem, warm_start):
        if problem.goes_right.all() or not problem.goes_right.any():
            return Split.constant(goes_left=not problem.goes_right[0])
        return self.solver.fit(
            problem.rows, problem.goes_right, problem.weight, problem.strength, warm_start
        )

    def _cost(self, problem, split):
        values = project(self.view, problem.rows, split.indices, split.weights)
        loss = problem.loss(values <= split.threshold)
        return loss + problem.strength * np.abs(split.weights).sum()


def _fit_leaves(tree, criterion, rows_of):
    """Optimal outputs of the leaves that rows reach; the others keep theirs.

    Whether leaves carry histograms is the criterion's decision: the tree loses those it came
    with, or gets them, a leaf without rows the one that is certain of its label.
    """
    outputs = {
        leaf: criterion.best_output(rows_of[leaf]) for leaf in tree.leaves if len(rows_of[leaf])
    }
    label, value = tree.leaf_label.copy(), None
    for leaf, (best, histogram) in outputs.items():
        label[leaf] = best
        if histogram is not None:
            if value is None:
                value = leaf_histograms(tree, len(histogram)).copy()
            value[leaf] = histogram
    if np.array_equal(label, tree.leaf_label) and same_array(value, tree.leaf_value):
        return tree
    return tree.with_leaves(label, value)
