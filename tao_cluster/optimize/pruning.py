"""Trees with too many leaves: the tests that save least are removed."""

import itertools

import numpy as np

from ..tree import Split
from ..tree.routing import ReducedSets

_REMOVED_SHARE = 0.25  # of the surplus of leaves, at a time
_ROUNDING = 1e-12  # share of the cost that is the rounding of sums


def fitting(search, trees):
    """Yield trees with as many leaves as the settings allow.

    Parameters
    ----------
    search : Search
    trees : iterable of Tree
    """
    most_leaves = search.settings.max_leaves
    for tree in trees:
        if most_leaves is None or tree.n_leaves <= most_leaves:
            yield tree
        else:
            yield without_surplus(search, search.evaluate(tree), most_leaves)


def without_surplus(search, state, most_leaves):
    """Return the tree of a state without the tests that save least, with at most so many leaves.

    Parameters
    ----------
    search : Search
    state : State
    most_leaves : int

    Returns
    -------
    Tree
    """
    tree, criterion = state.pruned, search.criterion(state)
    while tree.n_leaves > most_leaves:
        saved, goes_left = _savings(search.step, tree, criterion)
        n_tests = removed_at_a_time(tree.n_leaves - most_leaves)
        nodes = weakest_splits(saved, tree.children_left, tree.children_right, n_tests)
        tree = _without(tree, nodes, goes_left)
    return tree


def without_useless_splits(search, state):
    """Return the state without splits whose removal does not raise the cost.

    Centres follow each removal. Costs that differ by the rounding of sums count as equal.

    Parameters
    ----------
    search : Search
    state : State

    Returns
    -------
    State
    """
    while state.pruned.n_leaves > 1:
        tree, limit = state.pruned, _ROUNDING * state.inertia
        saved, goes_left = _savings(search.step, tree, search.criterion(state))
        node = int(saved.argmin())
        if saved[node] > limit:
            break
        other = search.evaluate(_without(tree, [node], goes_left))
        if other.inertia > state.inertia + limit:
            break
        state = other
    return state


def _without(tree, nodes, goes_left):
    """Return the tree without the splits of some nodes, whose rows all go to one child."""
    constants = {}
    for node in nodes:
        constant = Split.constant(goes_left[node])
        constants[node] = ((constant.indices, constant.weights), constant.threshold)
    return tree.with_splits(constants).prune()


def removed_at_a_time(surplus):
    """Return how many tests to remove before the savings of the others are worked out anew."""
    return max(1, int(_REMOVED_SHARE * surplus))


def weakest_splits(saved, left, right, n_tests):
    """Return the tests that save least, at most so many, the weakest first: list of int.

    Of two tests on one path only the weaker one is named: removing one changes what the other
    saves, while tests in different branches do not depend on each other.

    Parameters
    ----------
    saved : float array of shape (n_nodes,)
        What each test saves over sending all its rows one way; infinity at leaves.
    left, right : int arrays of shape (n_nodes,), children, -1 at leaves
    n_tests : int
    """
    parent, chosen, above = [-1] * len(saved), [], set()  # above: with a chosen one below
    for node, children in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        for child in children:
            if child >= 0:
                parent[child] = node
    for node in np.argsort(saved, kind="stable").tolist():
        if len(chosen) == n_tests or saved[node] == np.inf:
            break
        path, up = [], parent[node]
        while up >= 0:
            path.append(up)
            up = parent[up]
        if node not in above and not any(other in chosen for other in path):
            chosen.append(node)
            above.update(path)
    return chosen


def _savings(step, tree, criterion):
    """What each test saves over sending all its rows one way, and whether that is the left one.

    Parameters
    ----------
    step : TreeStep, which routes
    tree : Tree
    criterion : Criterion of the tree step

    Returns
    -------
    saved : float array of shape (n_nodes,); infinity where there is no test, or no row
    goes_left : bool array of shape (n_nodes,)
    """
    leaf_of_row, loss = step.leaves_of(tree), criterion.loss_at(tree)
    rows_of, own = ReducedSets(tree, leaf_of_row), loss(np.arange(len(leaf_of_row)), leaf_of_row)
    saved, goes_left = np.full(tree.n_nodes, np.inf), np.zeros(tree.n_nodes, bool)

    def paid(rows, child):
        """By how much it costs rows more to go down from a node than to be where they are."""
        return (loss(rows, step.leaves_of(tree, rows, child)) - own[rows]).sum()

    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows = rows_of[node]
        is_left = rows_of.goes_left(node, leaf_of_row[rows])
        at_left = paid(rows[~is_left], tree.children_left[node])
        at_right = paid(rows[is_left], tree.children_right[node])
        saved[node], goes_left[node] = min(at_left, at_right), at_left <= at_right
    return saved, goes_left
