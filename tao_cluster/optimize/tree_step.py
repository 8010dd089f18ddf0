"""The tree step: passes of Tree Alternating Optimization over one tree (KDD'22 paper, section 8).

A pass visits the nodes in reverse breadth-first order. Nodes of one depth share no rows, so each
one is optimised on its own *reduced set*, the rows that reach it. At a decision node, the
pseudo-label of a row is the child whose subtree has the lower loss for the row. Rows with equal
losses in both children are "don't care" rows and are dropped.
"""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .._utils.threads import map_in_threads, n_threads
from ..penalties import leaf_histograms
from ..solvers import BoundSolver, NodeProblem, Status
from ..tree import Split, Tree, same_array
from ..tree.leaf_size import LeafSize
from ..tree.routing import ReducedSets, find_leaves, project, row_size
from ..tree.shape import frozen


class Routed(NamedTuple):
    """A tree and the leaf that each row reaches in it: int32 array of shape (n,)."""

    tree: Tree
    leaf_of_row: np.ndarray


@dataclass
class TreeStep:
    """Tree Alternating Optimization of one tree structure, reused from pass to pass.

    Nodes keep their parameters if no row reaches them or if their weights are zero. A later step
    with a smaller strength can activate them again.

    Parameters
    ----------
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`
    solver : BoundSolver
    n_jobs : int
        Number of threads that route rows and update the nodes of one depth.
    prices_parameters : bool, default=False
        Whether the strength is a penalty per parameter instead of a penalty on ||w||_1.
    leaf_size : LeafSize, optional
        The minimum size of leaves. A test that leaves fewer rows on a side is not accepted.
    limits : SplitLimits, optional
        Which columns tests may use.
    """

    view: Any
    solver: BoundSolver
    n_jobs: int = 1
    prices_parameters: bool = False
    # The status of the solver at each node where it did not converge when it was last called; None
    # at the other nodes.
    unsolved: dict[int, Status | None] = field(default_factory=dict)
    leaf_size: LeafSize | None = None
    limits: Any = None
    # Hash of the last problem at each node and the resulting split: the same problem has the same
    # result. Hashes are stored, because the problems would take 17 bytes per row and tree level.
    _settled: dict[int, tuple[bytes, Split]] = field(default_factory=dict, init=False)

    def with_solver(self, solver, prices_parameters=False):
        """Return a tree step over the same rows with another node solver.

        The new step shares the record of unsolved nodes, except with a penalty per parameter.
        """
        unsolved = {} if prices_parameters else self.unsolved
        terms = {"prices_parameters": prices_parameters, "unsolved": unsolved}
        return replace(self, solver=solver, **terms)

    def fork(self, n_jobs):
        """Return a tree step over the same rows, for another thread: it has no results yet."""
        return replace(self, n_jobs=n_jobs, unsolved={})

    def routed(self, tree):
        """Return the tree and the leaf that each row reaches, as a Routed."""
        return Routed(tree, self.leaves_of(tree))

    def leaves_of(self, tree, rows=None, node=0):
        """Return the leaf that each row reaches from `node`: int32 array, one element per row.

        `rows` are row numbers; None means all rows.
        """
        return tree.route(self.view, rows, node, self.n_jobs)

    def forget(self):
        """Forget the results of earlier passes, which may belong to other trees."""
        self._settled.clear()

    def one_pass(self, start, criterion, strength, is_judged, has_price=True):
        """Run one pass over a tree.

        Parameters
        ----------
        start : Routed
        criterion : Criterion
        strength : float > 0
            Factor of sum_i ||w_i||_1 (lambda / mu in eq. 8).
        is_judged : bool
            Whether an update of a node is accepted only if it lowers the loss of the node plus
            strength * ||w||_1. Otherwise all updates are accepted.
        has_price : bool, default=True
            Whether strength * ||w||_1 counts in this comparison.

        Returns
        -------
        Routed
            It has the same tree if nothing changed.
        """
        rows_of = ReducedSets(*start)
        tree = _fit_leaves(start.tree, criterion, rows_of)
        loss, draft = criterion.loss_at(tree), _Draft(tree)
        leaf_of_row = start.leaf_of_row.copy()  # updated after each level of the tree, bottom-up
        for nodes in rows_of.levels():
            # The nodes below this depth do not change any more in this pass, so the leaves that
            # rows reach below them are final.
            columns = {}
            if self.limits is not None:
                columns = self.limits.columns_at(draft.splits, _largest_first(nodes, rows_of))

            def update(node, columns=columns):
                rows = rows_of[node]
                goes_left = rows_of.goes_left(node, start.leaf_of_row[rows])
                below = self._below(draft, node, rows, goes_left, leaf_of_row)
                terms = (loss, strength, is_judged, has_price, columns.get(node))
                split = self._update(draft, node, below, *terms)
                if split is not None:
                    leaf_of_row[rows] = below.leaves(self._goes_left(node, rows, split))
                return split

            draft.replace(self._map(update, nodes, rows_of))
        return Routed(draft.to_tree(), leaf_of_row)

    def _map(self, update, nodes, rows_of):
        """Return {node: update(node)} for some nodes; threads compute it if that is faster."""
        n_rows = sum(len(rows_of[node]) for node in nodes)
        largest_first = _largest_first(nodes, rows_of)
        found = map_in_threads(
            update, largest_first, n_threads(self.n_jobs, n_rows, row_size(self.view))
        )
        return dict(zip(largest_first, found, strict=True))

    def _below(self, draft, node, rows, goes_left, leaf_of_row):
        """Return the leaf that each row of a node reaches in each of its two subtrees."""
        left, right = leaf_of_row[rows], leaf_of_row[rows]
        for leaves, child, others in zip(
            (left, right), draft.children(node), (~goes_left, goes_left), strict=True
        ):
            if child in draft.splits:
                terms = (rows[others], child, draft.arrays, self._helpers(node))
                leaves[others] = find_leaves(self.view, *terms)
            else:
                leaves[others] = child
        return _Below(rows, goes_left, left, right)

    def _update(self, draft, node, below, loss, strength, is_judged, has_price, columns):
        """Return the new split of a node, or None to keep the old one."""
        old = draft.splits[node]
        problem, care = self._reduce(draft, node, below, loss, strength, columns)
        # Without the first test, the tree would begin with a test that may not be the first one.
        is_needed = node == 0 and self.limits is not None and self.limits.keeps_root(draft)
        if len(problem.rows) == 0 or (columns is not None and len(columns) == 0):
            return None if is_needed or len(problem.rows) else _indifferent(old, strength)
        asked = _digest(problem)
        if self._is_settled(node, asked, old):
            return None
        new = self._solve(node, problem, old)
        self._settled[node] = (asked, new)
        if new.same_as(old):
            return None
        is_kept = not self._is_allowed(node, below.rows, new, is_needed)
        if is_judged and not is_kept:
            goes_left = self._goes_left(node, problem.rows, new)
            before = problem.loss(below.goes_left[care]) + has_price * problem.price(old)
            is_kept = problem.loss(goes_left) + has_price * problem.price(new) >= before
        if is_kept:
            self._settled[node] = (asked, old)
        return None if is_kept else new

    def _is_allowed(self, node, rows, split, is_needed):
        """Return whether a test leaves enough rows on both sides, or may have no features."""
        if len(split.indices) == 0 or not (is_needed or self.leaf_size):
            return not is_needed
        goes_left = self._goes_left(node, rows, split)
        if is_needed and (goes_left.all() or not goes_left.any()):
            return False
        return self.leaf_size is None or self.leaf_size.is_met(rows, goes_left)

    def _reduce(self, draft, node, below, loss, strength, columns):
        """Return the binary classification problem at a node, and a mask of its rows.

        The mask is over ``below.rows``. Rows with the same loss in both children are left out. The
        weight of each other row is its loss in the worse child minus that in the better child.
        """
        gain = loss(below.rows, below.left)
        gain -= loss(below.rows, below.right)
        care = gain != 0
        rows, gain = below.rows[care], gain[care]
        freed = None
        if self.prices_parameters:
            freed = tuple(map(draft.subtree_parameters, draft.children(node)))
        limit = None if self.leaf_size is None else (self.leaf_size, below.rows)
        terms = (rows, gain > 0, np.abs(gain, out=gain), strength)
        return NodeProblem(*terms, features=columns, freed=freed, limit=limit), care

    def _helpers(self, node):
        """Return the number of threads that route the rows of a node.

        It is `n_jobs` at the root and 1 elsewhere, where threads already work on several nodes.
        """
        return self.n_jobs if node == 0 else 1

    def _is_settled(self, node, asked, split):
        tried, kept = self._settled.get(node, (None, None))
        return asked == tried and split.same_as(kept)

    def _solve(self, node, problem, warm_start):
        if problem.goes_right.all() or not problem.goes_right.any():
            return Split.constant(goes_left=not problem.goes_right[0])
        split, status = self.solver.solve(replace(problem, warm_start=warm_start))
        self.unsolved[node] = None if status.converged else status
        return split

    def _goes_left(self, node, rows, split):
        """Return which rows of a node a split sends left: bool array."""
        terms = (split.indices, split.weights, self._helpers(node))
        return project(self.view, rows, *terms) <= split.threshold


class _Draft:
    """A tree whose splits change during a pass; a Tree is made once, at the end of the pass."""

    def __init__(self, tree):
        self._tree, self._has_changed = tree, False
        self.splits = {node: Split.from_tree(tree, node) for node in tree.decision_nodes.tolist()}
        self._set_arrays()

    @property
    def n_leaves(self):
        """Number of leaves of the tree, with those that no row reaches."""
        return self._tree.n_leaves

    def children(self, node):
        """Return the numbers of the two children of a node."""
        return self._tree.children_left[node], self._tree.children_right[node]

    def replace(self, splits):
        """Replace the splits of some nodes: dict of node number to Split, or None for no change."""
        changed = {int(node): split for node, split in splits.items() if split is not None}
        if changed:
            self._has_changed = True
            self.splits |= changed
            self._set_arrays()

    def _set_arrays(self):
        """Set `arrays`, those of the current tree that :func:`.routing.find_leaves` takes."""
        tree, splits = self._tree, [*self.splits.values(), Split.constant(goes_left=True)]
        indptr, threshold = np.zeros(tree.n_nodes + 1, np.int32), tree.threshold.copy()
        nodes = tree.decision_nodes
        indptr[nodes + 1] = [len(split.indices) for split in splits[:-1]]
        threshold[nodes] = [split.threshold for split in splits[:-1]]
        indices = np.concatenate([split.indices for split in splits])
        weights = np.concatenate([split.weights for split in splits])
        csr = (np.cumsum(indptr, dtype=np.int32), indices, weights, threshold)
        self.arrays = (tree.children_left, tree.children_right, *map(frozen, csr))

    def subtree_parameters(self, node):
        """Return the number of parameters of the subtree of a node: int."""
        if node not in self.splits:
            return 1  # the label of a leaf
        n_below = sum(map(self.subtree_parameters, map(int, self.children(node))))
        return len(self.splits[node].indices) + 1 + n_below

    def to_tree(self):
        """Return the current tree; the same object if no split has changed."""
        if not self._has_changed:
            return self._tree
        names = ("split_indptr", "split_indices", "split_weights", "threshold")
        return replace(self._tree, **dict(zip(names, self.arrays[2:], strict=True)))


class _Below(NamedTuple):
    """The rows of a node, which of them go left, and the leaf of each in both subtrees."""

    rows: np.ndarray
    goes_left: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def leaves(self, goes_left):
        """Return the leaf of each row if the test of the node sends the rows of a mask left."""
        return np.where(goes_left, self.left, self.right)


def _largest_first(nodes, rows_of):
    return sorted(nodes, key=lambda node: -len(rows_of[node]))


def _indifferent(split, strength):
    """Return the new split of a node whose rows all have equal losses on both sides.

    `split` is the current split. If it has weights and `strength`, the factor of their penalty, is
    positive, the new split has no weights and sends all rows to the left, which saves the penalty.
    Otherwise, the function returns None: the split does not change.
    """
    has_price = strength > 0 and len(split.indices)
    return Split.constant(goes_left=True) if has_price else None


def _digest(problem):
    """Return a hash of the rows, sides, weights and strength of the problem at a node: bytes."""
    terms = np.array([problem.strength, *(problem.freed or ())])
    digest = hashlib.blake2b(terms.tobytes(), digest_size=16)
    further = () if problem.limit is None else problem.limit[1:]
    further += () if problem.features is None else (problem.features,)
    for part in (problem.rows, problem.goes_right, problem.weight, *further):
        digest.update(part)
    return digest.digest()


def _fit_leaves(tree, criterion, rows_of):
    """Return the tree with the best label, or histogram over labels, in each leaf that has rows.

    Leaves without rows keep their labels. The criterion decides whether leaves have histograms. If
    they get new ones, that of a leaf without rows gives its label the probability 1.
    """
    outputs = {
        leaf: criterion.best_output(rows_of[leaf]) for leaf in tree.leaves if rows_of.size(leaf)
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
