"""The limits of a tree, and how a tree that breaks them is changed so that it keeps them.

The :class:`Limits` of size come from the parameters of the estimator. A limit of cost or of
parameters is the :class:`.Goal` of a fit. The minimum size of leaves and the :class:`.SplitLimits`
of the user belong to the problem, because they depend on the data.

A tree is pruned to a number of leaves, changed for the :class:`.SplitLimits` of the user, and
relabelled so that it leaves out at most a share of the rows.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils.matrices import as_array
from ..initial_trees.builders import WITH_DEPTH, max_leaves_at
from ..initial_trees.cart import cart_tree
from ..objectives.base import cluster_sums
from ..problem.split_limits import depth_limit
from ..reference import optimal_centers
from ..tree import Split, Tree
from ..tree.growth import grow_breadth_first
from ..tree.routing import kernel_arrays, project
from .simplify import savings, without

# If a tree has more leaves than the limit, each round of pruning removes this share of the excess.
_REMOVED_SHARE = 0.25
_ROUNDING = 1e-9  # of the weight of the rows that may be left out
# With these values of `init`, axis-aligned initial trees can have any number of leaves.
_ANY_SIZE = ("auto", "exkmc")
# With a limit of cost or size and depth="auto", axis-aligned trees may have this multiple of
# the 2 ** depth leaves that are allowed otherwise.
_TIMES_TO_LIMIT = 8


@dataclass(frozen=True)
class Limits:
    """Limits of the size of the trees of a fit, from the parameters of the estimator.

    Parameters
    ----------
    max_leaves : int or None, the parameter
    most_leaves : int or None
        The maximum number of leaves by all parameters; None if they set none.
    most_depth : int or None
        The maximum depth of initial trees; None if the parameters set none.
    is_given : bool
        Whether `depth` or `init` limits the size of initial trees.
    most_on_path : int or None
        The largest number of leaves on a path of axis-aligned trees; None if it is that of the
        initial trees.
    max_features : int or None
        The largest number of features of an oblique test.
    """

    max_leaves: int | None
    most_leaves: int | None
    most_depth: int | None
    is_given: bool
    most_on_path: int | None
    max_features: int | None

    @classmethod
    def from_parameters(cls, parameters, kind, objective, goal, depth_is_given, max_features):
        """Return the limits for parameters of TAOClustering, with a number as `depth`."""
        max_leaves, init = parameters["max_leaves"], parameters["init"]
        # The depth limits the leaves of oblique trees, and of CART for given labels. It does not
        # limit those of ExKMC, which has at least one leaf per cluster.
        is_limited = kind.name == "oblique" or (objective.explains_labels and max_leaves is None)
        depth = _depth(parameters, is_limited)
        limits = [] if depth is None else [max_leaves_at(depth)]
        limits += [] if max_leaves is None else [max_leaves]
        on_path = max_leaves
        if max_leaves is None and starts_at_any_size(init):
            has_goal = goal is not None and goal.is_limit
            times = _TIMES_TO_LIMIT if has_goal and not depth_is_given else 1
            on_path = max(parameters["n_clusters"], times * max_leaves_at(parameters["depth"]))
        return cls(
            max_leaves,
            most_leaves=min(limits, default=None),
            most_depth=_depth(parameters, True),
            is_given=depth_is_given or not starts_at_any_size(init),
            most_on_path=on_path,
            max_features=max_features,
        )

    def forbids_depth_of(self, tree):
        """Return whether a tree is deeper than `depth`; depth="auto" is no limit."""
        return self.is_given and self.most_depth is not None and tree.max_depth > self.most_depth

    def of_leaves_and_depth(self, search):
        """Return the maximum number of leaves and the maximum depth of later trees of a fit.

        Without such a limit, it is the maximum over the initial trees of `search`, an Evaluator.
        """
        leaves, depth = np.max(search.start_sizes or [(np.inf, np.inf)], axis=0)
        leaves = leaves if self.most_leaves is None else self.most_leaves
        depth = depth if self.most_depth is None else self.most_depth
        return leaves, min(depth, depth_limit(search.problem.limits))


def starts_at_any_size(init):
    """Return whether the parameter `init` can build axis-aligned trees of any number of leaves."""
    return isinstance(init, str) and init in _ANY_SIZE


def _depth(parameters, is_limited):
    """Return the maximum depth of initial trees, or None if parameters set none."""
    init = parameters["init"]
    if isinstance(init, str):
        has_depth = init in WITH_DEPTH or (init == "auto" and is_limited)
        return parameters["depth"] if has_depth else None
    return init.depth if type(init) in WITH_DEPTH.values() else None


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
    most = search.settings.limits.max_leaves
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
    # Either the leaves that save most per row stay, as far as there is space, or one leaf changes.
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
