"""Trees with too many leaves: the tests that save least are removed."""

import itertools

import numpy as np

from ...tree import Split
from ...tree.routing import ReducedSets

_REMOVED_SHARE = 0.25  # of the surplus of leaves, at a time


def without_surplus(search, state, most_leaves):
    """The tree of a state with no more leaves than allowed; tests go in order of what they save.

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
        n_tests = max(1, int(_REMOVED_SHARE * (tree.n_leaves - most_leaves)))
        leaf_of_row, loss = search.step.leaves_of(tree), criterion.loss_at(tree)
        useless = least_useful(search.step, tree, leaf_of_row, loss, n_tests)
        tree = tree.with_splits(useless).prune()
    return tree


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


def least_useful(step, tree, leaf_of_row, loss, n_tests):
    """Constant splits for the tests that save least over sending all their rows one way.

    Of two tests on one path only the less useful one is named: removing one changes what the
    other saves, while tests in different branches know nothing of each other.

    Parameters
    ----------
    step : TreeStep, which routes
    tree : Tree
    leaf_of_row : int array of shape (n,)
    loss : LeafLoss
    n_tests : int, how many at most

    Returns
    -------
    dict of node to ((indices, weights), threshold)
    """
    rows_of = ReducedSets(tree, leaf_of_row)
    savings = []
    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows = rows_of[node]
        goes_left = rows_of.goes_left(node, leaf_of_row[rows])
        left, right = (
            _paid(step, tree, moved, child[node], leaf_of_row, loss)
            for moved, child in (
                (rows[~goes_left], tree.children_left),
                (rows[goes_left], tree.children_right),
            )
        )
        savings.append((min(left, right), int(node), bool(left <= right)))
    parent, chosen, above = _parents(tree), {}, set()  # above: nodes with one below
    for _, node, goes_left in sorted(savings):
        path = list(_path(parent, node))
        if node not in above and not any(other in chosen for other in path):
            constant = Split.constant(goes_left)
            chosen[node] = ((constant.indices, constant.weights), constant.threshold)
            above.update(path)
        if len(chosen) == n_tests:
            break
    return chosen


def _paid(step, tree, rows, node, leaf_of_row, loss):
    """By how much it costs rows more to go down from a node than to be where they are."""
    return (loss(rows, step.leaves_of(tree, rows, node)) - loss(rows, leaf_of_row[rows])).sum()


def _parents(tree):
    """Parent of each node, -1 for the root: list of int."""
    parent = np.full(tree.n_nodes, -1)
    for children in (tree.children_left, tree.children_right):
        parent[children[tree.decision_nodes]] = tree.decision_nodes
    return parent.tolist()


def _path(parent, node):
    """Yield the nodes above a node, from below."""
    while parent[node] >= 0:
        node = parent[node]
        yield node
