"""From a problem and settings to a tree: pure functions, which the estimator calls."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.telling import tell
from ..problem.problem import Result
from ..problem.reference import cost_increase
from .descent.penalty_method import with_histograms
from .descent.polish import polish, polishing_search
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
        After a KeyboardInterrupt; the tree is the best so far. If the node solver did not reach
        its accuracy at some nodes when it was last asked for them.
    """
    rows = _Rows.of(problem, settings, random_state, on_record)
    if settings.goal is not None:
        return _fit_goal(rows, random_state)
    search, lambda_ = rows.search, settings.lambda_
    trees = initial_trees(search.problem, settings, random_state)
    states = settings.algorithm.run(search, trees, rows.share * lambda_, random_state)
    (state,) = deque(until_interrupted(states), maxlen=1)  # the others hold a number a row each
    tree, _ = rows.outcome(state, lambda_)
    _tell_unsolved(search)
    return _result(search, tree, lambda_)


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
    rows = _Rows.of(problem, settings, random_state, on_record)
    lambdas = np.asarray(lambda_grid(problem) if lambdas is None else lambdas)
    points = follow_path(rows.search, rows.share * lambdas, random_state)
    for lambda_, point in zip(lambdas.tolist(), points, strict=True):
        tree, _ = rows.outcome(point.result, lambda_)
        yield lambda_, _result(rows.search, tree, lambda_)
    _tell_unsolved(rows.search)


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


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that find the tree of a fit, and all of them.

    Parameters
    ----------
    search : Search, over all rows, or over a sample where there are more than `max_rows`
    whole : Search over all rows, which polishes what a sample has found; else the same object
    share : float, of the weight, that the sample has; 1 for all. Lambda goes with the rows
    """

    search: Search
    whole: Search
    share: float

    @classmethod
    def of(cls, problem, settings, random_state, on_record):
        """All rows of a problem, or a sample and all."""
        history = History() if on_record is None else History(on_record)
        if settings.max_rows is None or problem.n_rows <= settings.max_rows:
            search = Search.of(problem, settings, history)
            return cls(search, search, 1)
        search, share = Search.of_sample(
            problem, settings, history, settings.max_rows, random_state
        )
        return cls(search, polishing_search(problem, settings, history), share)

    def outcome(self, state, lambda_):
        """The tree of a state as users get it, and its cost for all rows, in percent.

        Parameters
        ----------
        state : State, of `search`
        lambda_ : float, for all rows
        """
        whole = self.whole
        if whole is not self.search:
            state = polish(whole, state.pruned, lambda_)
        return _final(whole, state), cost_increase(state.inertia, whole.problem.free.inertia)


def _fit_goal(rows, random_state):
    goal = rows.search.settings.goal

    def measure(point):
        return rows.outcome(point.result, point.lambda_ / rows.share)

    found = list(until_interrupted(search_path(rows.search, goal, measure, random_state)))
    _, trees, costs = zip(*found, strict=True)
    _tell_unsolved(rows.search)
    lambda_, tree, _ = found[goal.choose(costs, trees)]
    return _result(rows.search, tree, lambda_ / rows.share)


def _final(search, state):
    """The tree of a state as users get it."""
    settings = search.settings
    tree = settings.split_kind.tidy(state.pruned, search.step, settings.trim)
    if not settings.penalty.is_binary and tree.leaf_value is None:
        # Nobody has filled its leaves: it is the initial tree, or was polished.
        return with_histograms(search, tree)
    return tree


def _tell_unsolved(search):
    """One warning for all nodes at which the solver gave up."""
    unsolved = search.step.unsolved
    if unsolved:
        gap = max(status.gap for status in unsolved.values())
        tell(
            f"The node solver did not reach its accuracy at {len(unsolved)} node(s): its objective "
            f"may be up to {gap:.2g} of itself above the least. Columns on a common scale, or "
            "without extreme values, make it easier.",
            ConvergenceWarning,
        )


def _result(search, tree, lambda_):
    history = [dict(record) for record in search.history.records]
    attributes = {"history_": history, "n_iter_": len(history), "best_lambda_": lambda_}
    return Result(tree, attributes)
