"""Pruning: the splits that reduce the cost least are removed."""

import itertools

import numpy as np

from ..tree import Split
from ..tree.routing import ReducedSets

# If a tree has more leaves than the limit, each round of pruning removes this share of the excess.
_REMOVED_SHARE = 0.25
# Differences of costs of at most this share of the cost of the tree are rounding errors.
_ROUNDING = 1e-12


def fitting(search, trees):
    """Yield trees, each pruned to the maximum number of leaves of ``search.settings``.

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
    """Return the tree of a state, pruned to at most `most_leaves` leaves.

    The splits that reduce the cost least are removed first.

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

    Centres are updated after each removal. Costs that differ by rounding errors count as equal.

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
    """Return the tree without the splits of some nodes.

    All rows of such a node go left if `goes_left` is True at the node, and right otherwise.
    """
    constants = {}
    for node in nodes:
        constant = Split.constant(goes_left[node])
        constants[node] = ((constant.indices, constant.weights), constant.threshold)
    return tree.with_splits(constants).prune()


def removed_at_a_time(surplus):
    """Return how many splits one round of pruning removes from a tree with `surplus` extra leaves.

    The savings of the other splits are computed anew after each round.
    """
    return max(1, int(_REMOVED_SHARE * surplus))


def weakest_splits(saved, left, right, n_tests):
    """Return at most `n_tests` nodes whose tests save least, the weakest first: list of int.

    If two of these nodes are on the same path from the root, only the weaker one is returned. Its
    removal changes what the other test saves. Tests in different branches do not affect each other.

    Parameters
    ----------
    saved : float array of shape (n_nodes,)
        By how much the cost would rise if all rows of the node went to one child; infinity at
        leaves.
    left, right : int arrays of shape (n_nodes,)
        Children; -1 at leaves.
    n_tests : int
    """
    # `above` holds the ancestors of the chosen nodes.
    parent, chosen, above = [-1] * len(saved), [], set()
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
    """Return the increase in cost if a test is removed and its rows all go to the better child.

    Parameters
    ----------
    step : TreeStep
    tree : Tree
    criterion : Criterion of the tree step

    Returns
    -------
    saved : float array of shape (n_nodes,)
        Infinity at leaves, and at nodes without rows.
    goes_left : bool array of shape (n_nodes,)
        Whether the left child is the better one for all rows.
    """
    leaf_of_row, loss = step.leaves_of(tree), criterion.loss_at(tree)
    rows_of, own = ReducedSets(tree, leaf_of_row), loss(np.arange(len(leaf_of_row)), leaf_of_row)
    saved, goes_left = np.full(tree.n_nodes, np.inf), np.zeros(tree.n_nodes, bool)

    def increase(rows, child):
        """Return the increase in cost if rows are routed from `child`, not from their own child."""
        return (loss(rows, step.leaves_of(tree, rows, child)) - own[rows]).sum()

    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows = rows_of[node]
        is_left = rows_of.goes_left(node, leaf_of_row[rows])
        at_left = increase(rows[~is_left], tree.children_left[node])
        at_right = increase(rows[is_left], tree.children_right[node])
        saved[node], goes_left[node] = min(at_left, at_right), at_left <= at_right
    return saved, goes_left
