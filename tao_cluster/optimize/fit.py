"""From a problem and settings to a tree: pure functions, which the estimator calls."""

import itertools
from collections import deque
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.threads import check_interrupted
from .._utils.warnings import tell
from ..problem.problem import Result
from .advice import range_of_lambda, tell_choice, tell_unsolved
from .descent.penalty_method import with_histograms
from .descent.polish import polish, polishing_search
from .goals import Knee
from .path import follow_path, lambda_grid, search_path, starting_trees, typical_lambda
from .state import History, Search
from .unseen import Unseen

# After a choice on rows held out, the tree of all rows may be too large for the goal: lambda grows.
_MORE, _MOST_MORE = 1.15, 20
_NO_LIMIT = Knee()


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
    limits = range_of_lambda(problem, settings)  # before anything else takes memory
    rows = _Rows.of(problem, settings, random_state, on_record)
    if settings.goal is None:
        fit = _fit_once
    else:
        fit = _fit_goal if problem.held_out is None else _fit_unseen
    tree, lambda_, costs, attributes = fit(rows, random_state)
    tell_unsolved(rows.search)
    tell_choice(problem, settings, tree, lambda_, costs, limits)
    return _result(rows.search, tree, lambda_, **attributes)


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
    rows, effort = _Rows.of(problem, settings, random_state, on_record), settings.effort.on_path()
    lambdas = np.asarray(lambda_grid(problem) if lambdas is None else lambdas)
    points = follow_path(rows.search, rows.share * lambdas, random_state)
    for lambda_, point in zip(lambdas.tolist(), points, strict=True):
        state = _searched(rows, point.result, point.lambda_, random_state, effort)
        yield lambda_, _result(rows.search, rows.outcome(state, lambda_), lambda_)
    tell_unsolved(rows.search)


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
            check_interrupted()
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
        """The tree of a state as users get it.

        Parameters
        ----------
        state : State, of `search`
        lambda_ : float, for all rows
        """
        return self.priced(state, lambda_)[0]

    def priced(self, state, lambda_):
        """The same, and its cost for all rows in percent."""
        whole = self.whole
        if whole is not self.search:
            state = polish(whole, state.pruned, lambda_)
        return _final(whole, state), whole.problem.cost_increase(state.inertia)

    @property
    def is_rough(self):
        """Whether trees are chosen from before the last passes: a knee is no limit to be met.

        Few rows have copies, for which these passes count: there the choice sees them.
        """
        has_many = self.whole is not self.search or self.search.smoothed is self.search
        return has_many and not self.search.settings.goal.is_limit

    def roughly_priced(self, state):
        """The tree of a state, as the rows that find it have it, and its cost for all rows."""
        tree = _final(self.search, state)
        return tree, self.whole.problem.cost_increase(self.whole.evaluate(tree).inertia)


def _fit_once(rows, random_state):
    """The tree at the lambda of the settings, that lambda, no costs and no more attributes."""
    search, settings = rows.search, rows.search.settings
    lambda_ = typical_lambda(rows.whole.problem) if settings.lambda_ is None else settings.lambda_
    trees = starting_trees(search, random_state)
    states = settings.algorithm.run(search, trees, rows.share * lambda_, random_state)
    state = _last(until_interrupted(states))
    state = _searched(rows, state, rows.share * lambda_, random_state, settings.effort)
    return rows.outcome(state, lambda_), lambda_, [], {}


def _fit_goal(rows, random_state):
    """The tree of a path that suits the goal, its lambda, all costs, and no more attributes."""
    search, goal = rows.search, rows.search.settings.goal

    def measure(point):
        if rows.is_rough:
            return rows.roughly_priced(point.refitted)
        return rows.priced(point.result, point.lambda_ / rows.share)

    found = list(until_interrupted(search_path(search, goal, measure, random_state)))
    lambdas, trees, costs = zip(*found, strict=True)
    position = goal.choose(costs, trees)
    lambda_ = lambdas[position] / rows.share
    chosen = trees[position], costs[position]
    tree, cost = _better(rows, goal, chosen, trees, lambda_, random_state)
    return tree, lambda_, [cost, *costs], {}


def _better(rows, goal, chosen, trees, lambda_, random_state):
    """The tree and cost that were chosen, or those of a search from there that suit the goal more.

    Parameters
    ----------
    rows : _Rows
    goal : Knee, MaxParameters or MaxCostIncrease
    chosen : Tree and float, cost in percent
    trees : sequence of Tree, the others of the path
    lambda_ : float, for all rows
    random_state : int, RandomState instance or None
    """
    effort, (tree, _) = rows.search.settings.effort, chosen
    larger = (other for other in trees if other.n_parameters > tree.n_parameters)
    nearest = min(larger, key=lambda other: other.n_parameters, default=None)
    rivals = [nearest] if goal.is_limit and nearest is not None else []
    before = rows.search.evaluate(tree)
    if rows.is_rough:
        before = _tuned(rows.search, before)
    state = _searched(rows, before, rows.share * lambda_, random_state, effort, goal, rivals)
    if state is before and not rows.is_rough:
        return chosen
    other = rows.priced(state, lambda_)
    return other if rows.is_rough or goal.prefers(other, chosen) else chosen


def _tuned(search, state):
    """The last passes of a tree that was chosen before them."""
    return search.settings.split_kind.tune(search, state) if search.settings.relax else state


def _searched(rows, state, lambda_, random_state, effort, goal=_NO_LIMIT, rivals=()):
    """The last of the states that a search over structure finds from a state, or that state.

    Parameters
    ----------
    rows : _Rows
    state : State
    lambda_ : float, for the rows that are searched
    random_state : int, RandomState instance or None
    effort : Effort
    goal : Knee, MaxParameters or MaxCostIncrease
    rivals : sequence of Tree, where the search may start, too
    """
    search = rows.search
    if not search.settings.searches:
        return state
    improve = search.settings.split_kind.improve
    states = improve(search, state, lambda_, goal, effort, rivals, random_state)
    return _last(until_interrupted(itertools.chain([state], states)))


def _last(results):
    (last,) = deque(results, maxlen=1)  # the others hold a number a row each
    return last


def _fit_unseen(rows, random_state):
    """The tree at the lambda that suits the goal on rows which a path has not seen, and the rest.

    The path is followed twice: for the choice without the rows that are held out, and then over
    all rows up to the lambda that was chosen.
    """
    problem, settings = rows.whole.problem, rows.search.settings
    goal, history = settings.goal, rows.search.history
    seen = problem.seen()
    share = float(seen.weight.sum() / problem.weight.sum())
    part = _Rows.of(seen, settings, random_state, history.on_record)
    unseen = Unseen.of(problem, seen)

    def measure(point):
        tree = part.outcome(point.result, point.lambda_ / part.share)
        return tree, unseen.cost_increase(tree)

    found = list(until_interrupted(search_path(part.search, goal, measure, random_state)))
    lambdas, trees, costs = zip(*found, strict=True)
    position = goal.choose(costs, trees, " on the rows held out")
    chosen = lambdas[position] / part.share / share
    tried = np.array([value / part.share / share for value in lambdas])
    grid = np.unique(np.append(tried[tried <= chosen], chosen))
    grid = np.append(grid, chosen * _MORE ** np.arange(1, _MOST_MORE))
    for lambda_, point in zip(
        grid, follow_path(rows.search, rows.share * grid, random_state), strict=True
    ):
        if lambda_ < chosen:
            continue
        tree, cost = rows.priced(point.result, float(lambda_))
        if goal.has_room_for(tree):
            break
    # What may be spent on these rows is no limit: lambda was chosen by others.
    further = _NO_LIMIT if goal.is_of_cost else goal
    tree, cost = _better(rows, further, (tree, cost), (), float(lambda_), random_state)
    attributes = {"validation_cost_increase_": float(costs[position])}
    return tree, float(lambda_), [cost], attributes


def _final(search, state):
    """The tree of a state as users get it."""
    settings = search.settings
    tree = settings.split_kind.tidy(state.pruned, search.step, settings.trim)
    if not settings.penalty.is_binary and tree.leaf_value is None:
        # Nobody has filled its leaves: it is the initial tree, or was polished.
        return with_histograms(search, tree)
    return tree


def _result(search, tree, lambda_, **further):
    history = [dict(record) for record in search.history.records]
    attributes = {"history_": history, "n_iter_": len(history), "best_lambda_": lambda_}
    return Result(tree, attributes | further)
