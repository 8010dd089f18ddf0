"""The limits of a tree, and how a tree that breaks them is changed so that it keeps them.

A tree is pruned to a number of leaves, changed for the :class:`.SplitLimits` of the user, and
relabelled so that it leaves out at most a share of the rows.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils.matrices import as_array
from ..initial_trees.cart import cart_tree
from ..objectives.base import cluster_sums
from ..reference import optimal_centers
from ..tree import Split, Tree
from ..tree.growth import grow_breadth_first
from ..tree.routing import kernel_arrays, project
from .simplify import savings, without

# If a tree has more leaves than the limit, each round of pruning removes this share of the excess.
_REMOVED_SHARE = 0.25
_ROUNDING = 1e-9  # of the weight of the rows that may be left out


def pruned_to(search, state, most_leaves):
    """Return the tree of a state, pruned to at most `most_leaves` leaves.

    The splits that reduce the cost least are removed first.

    Parameters
    ----------
    search : Evaluator
    state : State
    most_leaves : int

    Returns
    -------
    Tree
    """
    tree, criterion = state.pruned, search.criterion(state)
    while tree.n_leaves > most_leaves:
        saved, goes_left = savings(search.step, tree, criterion)
        # The savings of the other splits are computed anew after each round.
        n_tests = max(1, int(_REMOVED_SHARE * (tree.n_leaves - most_leaves)))
        nodes = _weakest_splits(tree, saved, n_tests)
        tree = without(tree, nodes, goes_left)
    return tree


def _weakest_splits(tree, saved, most):
    """Return at most `most` nodes whose tests save least, the weakest first: list of int.

    If two of these nodes are on the same path from the root, only the weaker one is returned. Its
    removal changes what the other test saves. Tests in different branches do not affect each other.

    Parameters
    ----------
    tree : Tree
    saved : float array of shape (n_nodes,), result of :func:`.simplify.savings`
    most : int
    """
    chosen, above = [], set()  # `above` holds the ancestors of the chosen nodes
    for node in np.argsort(saved, kind="stable").tolist():
        if len(chosen) == most or saved[node] == np.inf:
            break
        path = tree.path(node).tolist()
        if node not in above and not set(path) & set(chosen):
            chosen.append(node)
            above.update(path)
    return chosen


def within_limits(search, tree, leaf_of_row):
    """Return a tree within the limits of the problem of `search`, and the leaf of each row.

    A first test of the required column is put above the tree if it lacks one. From the root down,
    columns are removed from tests beyond their number, subtrees beyond the depth become leaves, and
    tests without columns or with too few rows on a side give way to one of their subtrees.
    """
    limits = search.problem.limits
    if limits is None or not limits.are_structural:
        return tree, leaf_of_row
    counts = tree.node_counts(leaf_of_row)
    if limits.are_met(tree, counts):
        return tree, leaf_of_row
    root = 0 if limits.has_first(tree, counts) else None
    rows = np.arange(search.problem.n_rows)
    tree = grow_breadth_first((root, 0, rows), _Cut(search, tree).part, tree.n_features)
    most = search.settings.max_leaves
    if most is not None and tree.n_leaves > most:  # a first test doubles the leaves at most
        tree = pruned_to(search, search.evaluate(tree), most)
    return tree, search.step.leaves_of(tree)


@dataclass
class _Cut:
    """The nodes of the new tree, from the root down.

    Parameters
    ----------
    search : Evaluator
    tree : Tree
    """

    search: Any
    tree: Tree
    _uses: Counter = field(default_factory=Counter)  # tests so far of each of the user's columns

    def __post_init__(self):
        self._distances = self.search.distances(self.search.problem.free.centers)

    def part(self, item):
        """Return the label or the test of a node, as :func:`grow_breadth_first` needs it.

        Its place in the old tree is None for a new first test above that tree.
        """
        node, depth, rows = item
        tree, limits = self.tree, self.search.problem.limits
        while node is None or tree.children_left[node] >= 0:
            if depth == limits.max_depth:
                break
            split = self._first_test() if node is None else self._reduced(node, rows)
            sides = split and self._sides(split, rows)
            if sides:
                self._uses.update(limits.users(split.indices))
                pair = (0, 0) if node is None else self._children(node)
                return split, *(
                    (child, depth + 1, side) for child, side in zip(pair, sides, strict=True)
                )
            if depth == 0 and limits.first is not None:
                break
            costs = [self._cost_below(child, rows) for child in self._children(node)]
            node = self._children(node)[int(costs[1] < costs[0])]
        else:
            return tree.leaf_label[node]
        return (self.search.problem.weight[rows] @ self._distances[rows]).argmin()

    def _children(self, node):
        return self.tree.children_left[node], self.tree.children_right[node]

    def _sides(self, split, rows):
        """Return the rows on both sides of a test, or None if one has too few of them."""
        step, size = self.search.step, self.search.problem.leaf_size
        values = project(step.view, rows, split.indices, split.weights, step.n_jobs)
        goes_left = values <= split.threshold
        is_even = goes_left.any() and not goes_left.all()
        is_even = is_even and (size is None or size.is_met(rows, goes_left))
        return (rows[goes_left], rows[~goes_left]) if is_even else None

    def _cost_below(self, child, rows):
        labels = self.tree.leaf_label[self.search.step.leaves_of(self.tree, rows, child)]
        return self.search.problem.weight[rows] @ self._distances[rows, labels]

    def _reduced(self, node, rows):
        """Return the test of a node without columns that enough tests use already."""
        problem, split = self.search.problem, Split.from_tree(self.tree, node)
        most, users = problem.limits.max_tests or np.inf, problem.limits.group[split.indices]
        kept = np.array([self._uses[user] < most for user in users], dtype=bool)
        if kept.all():
            return split
        X = as_array(problem.X[rows][:, split.indices[~kept]])
        moved = np.average(X @ split.weights[~kept], weights=problem.weight[rows])
        return Split(split.indices[kept], split.weights[kept], float(split.threshold - moved))

    def _first_test(self):
        """Return the test of the first column that divides the free clusters best, or None."""
        problem = self.search.problem
        columns, size = problem.limits.first_columns, problem.leaf_size
        least = 1 if size is None else size.parameter(problem.weight)
        terms = (problem.free.labels, 2, problem.weight)
        stump = cart_tree(problem.X[:, columns], *terms, min_samples_leaf=least)
        if stump.n_leaves == 1:
            return None
        return Split.from_feature(columns[stump.split_indices[0]], stump.threshold[0])


def within_share(problem, tree):
    """Give clusters to some leaves without one, so that the others have at most the allowed share.

    Parameters
    ----------
    problem : Problem, whose objective is :class:`.Trimmed`
    tree : Tree

    Returns
    -------
    Tree; the same object if it is within the share
    """
    leaves, weight = tree.route(kernel_arrays(problem.X)), problem.weight
    objective, noise = problem.objective, problem.n_clusters - 1
    labels, mass = tree.leaf_label[leaves], np.bincount(leaves, weight, tree.n_nodes)
    left_out = np.flatnonzero(mass * (tree.leaf_label == noise))
    mass, most = mass[left_out], objective.share * float(weight.sum()) * (1 + _ROUNDING)
    if mass.sum() <= most:
        return tree
    centers, _ = optimal_centers(objective, problem.data, labels, weight, problem.free)
    costs = objective.distances(problem.data, centers)[:, :-1]
    sums = cluster_sums(costs, leaves, np.where(labels == noise, weight, 0.0), tree.n_nodes)
    sums = sums[left_out]
    losses = sums.min(axis=1) - objective.price * mass
    # Either the leaves that save most per row stay, as far as there is room, or one leaf changes.
    is_changed, room = np.ones(len(mass), bool), most
    for i in np.argsort(-losses / mass, kind="stable"):
        is_changed[i] = mass[i] > room
        room -= 0.0 if is_changed[i] else mass[i]
    alone = np.where(mass >= mass.sum() - most, losses, np.inf)
    if alone.min() < losses[is_changed].sum():
        is_changed = np.arange(len(mass)) == alone.argmin()
    label = tree.leaf_label.copy()
    label[left_out[is_changed]] = sums[is_changed].argmin(axis=1)
    return tree.with_leaves(label, tree.leaf_value).prune()
