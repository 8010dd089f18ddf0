"""Trees that break limits of their tests are changed so that they keep them; see SplitLimits."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils.matrices import as_array
from ..initial_trees.cart import cart_tree
from ..tree import Split, Tree
from ..tree.growth import grow_breadth_first
from ..tree.routing import project
from .simplify import pruned_to


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
