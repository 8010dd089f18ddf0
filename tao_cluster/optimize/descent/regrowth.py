"""How a descent of axis-aligned trees ends: leaves are regrown where they pay more.

Where passes of Tree Alternating Optimization end, the tree is expanded by cuts as ExKMC would
make them, optimised, and rid of the tests that save least. That moves leaves to where they save
more, which passes over a fixed structure cannot. Regrowth is ours, not the paper's.
"""

from ...solvers import upright
from .passes import descend
from .surplus import without_surplus

_MOST_ROUNDS = 50
_MOST_TESTS = 100_000  # of all passes at a price: so that time goes with the leaves of large trees
_APPROACH = (0.1, 1.0)  # of lambda


def regrow(search, state, lambda_):
    """Rounds of regrowth until none helps, at a smaller price first: tests must grow to pay.

    Parameters
    ----------
    search : Search, with a solver that can expand trees
    state : State
    lambda_ : float

    Returns
    -------
    State, of at most `max_leaves`, by default as many as the initial tree, dead ones included
    """
    most_leaves = search.settings.max_leaves or state.tree.n_leaves
    found = state
    for share in _APPROACH:
        found = _regrown_at(search, found, share * lambda_, most_leaves)
    return min(state, found, key=lambda state: state.objective(lambda_))


def rounds(state, regrown, is_better, n_more, is_over=lambda: False):
    """Regrowth by some leaves while it helps, then by half as many, down to one.

    Parameters
    ----------
    state : what is regrown
    regrown : callable(state, n_more) -> state
    is_better : callable(state, state) -> bool, whether the first is
    n_more : int
    is_over : callable() -> bool, whether no further round may begin

    Returns
    -------
    state
    """
    for _ in range(_MOST_ROUNDS):
        if n_more == 0 or is_over():
            break
        other = regrown(state, n_more)
        if is_better(other, state):
            state = other
        else:
            n_more //= 2
    return state


def _regrown_at(search, state, lambda_, most_leaves):
    """Rounds of regrowth at one price, by half as many leaves as there may be at first."""

    def regrown(state, n_more):
        in_vain, terms = _in_vain(search, state), (lambda_, most_leaves, n_more)
        if terms in in_vain:
            return state
        other = _regrown(search, state, *terms)
        if not is_better(other, state):
            in_vain.add(terms)
        return other

    def is_better(state, other):
        return state.objective(lambda_) < other.objective(lambda_)

    n_before = len(search.history.records)

    def is_over():
        return (len(search.history.records) - n_before) * most_leaves >= _MOST_TESTS

    state = _passes(search, state, lambda_)
    return rounds(state, regrown, is_better, most_leaves // 2, is_over)


def _in_vain(search, state):
    """Regrowths that are known not to help a state, which is the last one that was asked for."""
    last, found = search.regrowths_in_vain
    if last is not state:
        found = set()
        search.regrowths_in_vain = state, found
    return found


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
    tree = without_surplus(search, state, most_leaves)
    return _passes(search, search.evaluate(tree), lambda_)
