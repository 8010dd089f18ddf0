"""From a problem and settings to a tree: pure functions, which the estimator calls."""

from collections import deque

from sklearn.exceptions import ConvergenceWarning

from ..core.telling import tell
from ..problem.problem import Result
from ..problem.reference import cost_increase
from .descent.penalty_method import with_histograms
from .path import follow_path, lambda_grid, search_path
from .starts.named import initial_trees
from .state import History, Search


def fit_tree(problem, settings, random_state, on_record=None):
    """The tree that the settings ask for.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    random_state : int, RandomState instance or None
        Each random part starts from it anew if it is an int.
    on_record : callable(dict), optional
        Told of each tree that is looked at.

    Returns
    -------
    Result

    Warns
    -----
    ConvergenceWarning
        After a KeyboardInterrupt; the tree is the best so far.
    """
    search = _search(problem, settings, on_record)
    if settings.goal is not None:
        return _fit_goal(search, random_state)
    trees = initial_trees(problem, settings, random_state)
    states = settings.algorithm.run(search, trees, settings.lambda_, random_state)
    (state,) = deque(until_interrupted(states), maxlen=1)  # the others hold a number a row each
    return _result(search, _final(search, state), settings.lambda_)


def fit_path(problem, settings, lambdas, random_state, on_record=None):
    """Trees along growing lambda, each from the one before.

    Parameters
    ----------
    problem, settings, random_state, on_record
        As for :func:`fit_tree`.
    lambdas : float array, increasing; None for a grid from the data

    Yields
    ------
    lambda : float
    Result
    """
    search = _search(problem, settings, on_record)
    lambdas = lambda_grid(problem) if lambdas is None else lambdas
    for point in follow_path(search, lambdas, random_state):
        yield point.lambda_, _result(search, _final(search, point.result), point.lambda_)


def until_interrupted(results):
    """Yield some results, up to a KeyboardInterrupt after the first.

    Warns
    -----
    ConvergenceWarning
        After a KeyboardInterrupt, which is not raised again.
    """
    has_result = False
    try:
        for result in results:
            has_result = True
            yield result
    except KeyboardInterrupt:
        if not has_result:
            raise
        tell("Interrupted; the best so far is kept.", ConvergenceWarning)


def _search(problem, settings, on_record):
    return Search.of(problem, settings, History() if on_record is None else History(on_record))


def _fit_goal(search, random_state):
    goal, free = search.settings.goal, search.problem.free

    def measure(state):
        return _final(search, state), cost_increase(state.inertia, free.inertia)

    found = list(until_interrupted(search_path(search, goal, measure, random_state)))
    _, trees, costs = zip(*found, strict=True)
    lambda_, tree, _ = found[goal.choose(costs, trees)]
    return _result(search, tree, lambda_)


def _final(search, state):
    """The tree of a state as users get it."""
    settings = search.settings
    tree = settings.split_kind.tidy(state.pruned, search.step, settings.trim)
    if not settings.penalty.is_binary and tree.leaf_value is None:
        # The initial tree is the result: nobody has filled its leaves.
        return with_histograms(search, tree)
    return tree


def _result(search, tree, lambda_):
    history = [dict(record) for record in search.history.records]
    attributes = {"history_": history, "n_iter_": len(history), "best_lambda_": lambda_}
    return Result(tree, attributes)
