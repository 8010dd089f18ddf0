"""How a descent of axis-aligned trees ends: leaves are regrown where they pay more.

Where passes of Tree Alternating Optimization end, the tree is expanded by cuts as ExKMC would
make them, optimised, and rid of the tests that save least. That moves leaves to where they save
more, which passes over a fixed structure cannot. Regrowth is ours, not the paper's.
"""

import itertools

from ...core.tree import Split
from ...solvers import upright
from ..step.reduced_sets import ReducedSets
from .passes import descend

_MOST_ROUNDS = 50
_APPROACH = (0.1, 1.0)  # of lambda
_REMOVED_SHARE = 0.25  # of the surplus of leaves, at a time


def regrow(search, state, lambda_):
    """Rounds of regrowth until none helps, at a smaller price first: tests must grow to pay.

    Parameters
    ----------
    search : Search, with a solver that can expand trees
    state : State
    lambda_ : float

    Returns
    -------
    State, of at most as many leaves, dead ones included: those of the initial tree
    """
    most_leaves = state.tree.n_leaves
    found = state
    for share in _APPROACH:
        found = _rounds(search, found, share * lambda_, most_leaves)
    return min(state, found, key=lambda state: state.objective(lambda_))


def _rounds(search, state, lambda_, most_leaves):
    """Regrowth by half as many leaves as there may be, by fewer where that does not help."""
    state = _passes(search, state, lambda_)
    n_more = most_leaves // 2
    for _ in range(_MOST_ROUNDS):
        if n_more == 0:
            break
        other = _regrown(search, state, lambda_, most_leaves, n_more)
        if other.objective(lambda_) < state.objective(lambda_):
            state = other
        else:
            n_more //= 2
    return state


def _passes(search, state, lambda_):
    return descend(search, state, lambda_, stage="regrow")


def _regrown(search, state, lambda_, most_leaves, n_more):
    """State after expansion by `n_more` leaves, passes, removal of leaves, and passes."""
    step, tree = search.step, upright(state.pruned)
    tree = step.solver.expand(
        tree,
        step.leaves_of(tree),
        search.distances(state.centers),
        search.problem.weight,
        most_leaves + n_more,
        lambda_,
        step.n_jobs,
    )
    state = _passes(search, search.evaluate(tree), lambda_)
    tree = _without_surplus(search, state, most_leaves)
    return _passes(search, search.evaluate(tree), lambda_)


def _without_surplus(search, state, most_leaves):
    """The tree with no more leaves than allowed; tests go in order of what they save."""
    tree, criterion = state.pruned, search.criterion(state)
    while tree.n_leaves > most_leaves:
        n_tests = max(1, int(_REMOVED_SHARE * (tree.n_leaves - most_leaves)))
        leaf_of_row, loss = search.step.leaves_of(tree), criterion.loss_at(tree)
        useless = least_useful(search.step, tree, leaf_of_row, loss, n_tests)
        tree = tree.with_splits(useless).prune()
    return tree


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
        now = loss(rows, leaf_of_row[rows]).sum()
        left, right = (
            loss(rows, step.leaves_of(tree, rows, child[node])).sum()
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
