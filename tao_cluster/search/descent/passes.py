"""Passes over a tree at one lambda: the one descent loop of oblique and axis-aligned trees."""

import numpy as np
from sklearn.utils import check_random_state

# Of each initial tree.
_START_PASSES = 3
_PATIENCE = 2  # passes without a better tree

# Initial trees are compared on a sample of so many rows where there are twice as many.
_PILOT_ROWS = 10_000


def descend(
    search, state, lambda_, *, stage="direct", n_passes=None, score=None, step=None, keep=None
):
    """Passes of Tree Alternating Optimization, and new centres after each.

    Where a solver is exact, an update of a node is accepted only if it lowers the node's loss
    plus its price. Others' are all accepted: the cost does not see the scale of w but ||w||_1
    does, so an update cannot be judged by their sum.

    Parameters
    ----------
    search : Search
    state : State, where to start
    lambda_ : float
    stage : str, of the history
    n_passes : int, the most; default as many as suit the kind of tests
    score : callable(State) -> float, default that of the kind of tests
        The state of least score is the result, and patience ends where it does not fall.
    step : TreeStep, default the search's
    keep : State, optional
        A state to beat. Without it, `state` itself is none unless its updates are judged: it
        mostly comes from a smaller lambda.

    Returns
    -------
    State
    """
    kind, is_judged = search.settings.split_kind, search.settings.solver.is_exact
    step, score = step or search.step, score or kind.score(lambda_)
    best, waited = state if is_judged else keep, 0
    for _ in range(n_passes or kind.n_passes):
        tree = step.one_pass(state.tree, search.cost(state), lambda_, is_judged)
        if tree is state.tree:
            break
        state = search.evaluate(tree)
        is_better = best is None or score(state) < score(best)
        search.record(stage, state, lambda_, kept=is_better)
        best, waited = (state, 0) if is_better else (best, waited + 1)
        if waited == _PATIENCE and not is_judged:
            break
    return state if best is None else best


def best_start(search, trees, lambda_, random_state):
    """State after a few passes of the initial tree that fares best in them, by objective (4).

    Where there are many rows, a sample tells as well as all which tree that is.

    Parameters
    ----------
    search : Search
    trees : iterable of Tree
    lambda_ : float
    random_state : int, RandomState instance or None

    Returns
    -------
    State
    """
    pilot = _pilot(search, random_state)
    if pilot is None:
        return _best_start(search, trees, lambda_)
    share = pilot.problem.weight.sum() / search.problem.weight.sum()
    # Lambda goes with the rows.
    return search.evaluate(_best_start(pilot, trees, share * lambda_).tree)


def _best_start(search, trees, lambda_):
    starts = (
        descend(search, search.evaluate(tree), lambda_, stage="start", n_passes=_START_PASSES)
        for tree in trees
    )
    return min(starts, key=search.settings.split_kind.score(lambda_))


def _pilot(search, random_state):
    """The search over a random sample of the rows, None if all can be looked at."""
    n_rows = search.problem.n_rows
    if n_rows < 2 * _PILOT_ROWS or not search.settings.split_kind.samples_rows:
        return None
    rng = check_random_state(random_state)
    rows = np.sort(rng.choice(n_rows, _PILOT_ROWS, replace=False))
    return type(search).of(search.problem.of_rows(rows), search.settings, search.history)


def finish(search, state, lambda_):
    """Yield a state and, where the settings ask for it, what its refit or regrowth makes of it."""
    yield state
    if search.settings.relax:
        yield search.settings.split_kind.finish(search, state, lambda_)
