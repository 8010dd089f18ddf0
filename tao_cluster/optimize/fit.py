"""From a problem and settings to a tree: pure functions, which the estimator calls."""

import itertools
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from tqdm.auto import tqdm

from .._utils.threads import check_interrupted
from .._utils.warnings import warn
from ..outofcore.refinement import refine, relabel_leaves
from ..outofcore.statistics import AllRows, WeightedRows
from ..problem.problem import Result
from ..reference import optimal_centers
from ..tree import Tree
from ..tree.routing import kernel_arrays
from .diagnostics import range_of_lambda, warn_choice, warn_unsolved
from .direct_form import finished
from .path import Knee, follow_path, lambda_grid, search_path, starting_trees, typical_lambda
from .penalty_method import with_histograms
from .settings import Settings, check_path
from .state import History, Search
from .tree_step import Routed, TreeStep

# After a choice on rows held out, the tree of all rows may be too large for the goal: lambda grows.
_MORE, _MOST_MORE = 1.15, 20
_NO_LIMIT = Knee()
# Where a sample finds a tree, passes over all rows that may improve it, and each tree on the way to
# a limit.
_N_PASSES, _N_PASSES_TO_LIMIT = 3, 1
_SHOWN = ("stage", "lambda", "mu", "cost_increase", "leaves", "non_zeros")


@dataclass(frozen=True)
class Method:
    """What fits trees to problems.

    Parameters
    ----------
    settings : Settings
    random_state : int, RandomState instance or None
    verbose : int, above 0 for a progress bar
    """

    settings: Settings
    random_state: Any
    verbose: int

    @property
    def objective(self):
        """Objective of the problems."""
        return self.settings.objective

    @property
    def validation(self):
        """Rows to hold out, as a share or by number, or None."""
        return self.settings.validation

    @property
    def improves(self):
        """Whether nodes of the tree may be changed where that lowers the cost of further rows."""
        return self.settings.relax

    @property
    def midpoints(self):
        """Whether thresholds lie halfway between rows."""
        return self.settings.split_kind.midpoints

    def check_data(self, X, weight):
        """Fail early if the settings do not go with the data; see Settings."""
        self.settings.check_data(X, weight)

    def fit_tree(self, problem):
        """See :func:`fit_tree`."""
        with self._bar() as bar:
            return fit_tree(problem, self.settings, self.random_state, _shown_in(bar))

    def check_path(self):
        """ValueError if the settings ask for what a path along lambda does not do."""
        check_path(self.settings)

    def fit_path(self, problem, lambdas):
        """See :func:`fit_path`."""
        with self._bar() as bar:
            on_record = _shown_in(bar)
            yield from fit_path(problem, self.settings, lambdas, self.random_state, on_record)

    def _bar(self):
        return tqdm(desc="trees", disable=not self.verbose)


def _shown_in(bar):
    """What a progress bar does with a record."""

    def show(record):
        bar.set_postfix({name: record[name] for name in _SHOWN})
        bar.update()

    return show


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
    found = fit(rows, random_state)
    warn_unsolved(rows.search)
    warn_choice(problem, settings, found.chosen.tree, found.lambda_, found.costs, limits)
    return _result(rows.search, found.chosen, found.lambda_, **found.attributes)


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
    points = follow_path(rows.search, lambdas, random_state)
    for lambda_, point in zip(lambdas.tolist(), points, strict=True):
        state = _searched(rows, point.result, point.lambda_, random_state, effort)
        yield lambda_, _result(rows.search, rows.priced(state, lambda_), lambda_)
    warn_unsolved(rows.search)


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
        warn("Interrupted; the best so far is kept.", ConvergenceWarning)


class _Priced(NamedTuple):
    """A tree as users get it, its cost in percent, and the leaf of each row, if that is known."""

    tree: Tree
    cost: float
    leaf_of_row: np.ndarray | None = None


class _Found(NamedTuple):
    """What a fit has found.

    Parameters
    ----------
    chosen : _Priced
    lambda_ : float, for all rows
    costs : list of float
        Of the tree, in percent, and of those of the path that it was chosen from, if any.
    attributes : dict, further fitted attributes
    """

    chosen: _Priced
    lambda_: float
    costs: list
    attributes: dict


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that find the tree of a fit, and all of them.

    Parameters
    ----------
    search : Search, over all rows, or over a sample where there are more than `max_rows`
    whole : Search over all rows, which evaluates what a sample has found; else the same object
    random_state : int, RandomState instance or None
    """

    search: Search
    whole: Search
    random_state: Any

    @classmethod
    def of(cls, problem, settings, random_state, on_record):
        """All rows of a problem, or a sample and all."""
        history = History() if on_record is None else History(on_record)
        if settings.max_rows is None or problem.n_rows <= settings.max_rows:
            search = Search.of(problem, settings, history)
            return cls(search, search, random_state)
        search = Search.of_sample(problem, settings, history, settings.max_rows, random_state)
        settings.check_data(search.problem.X, search.problem.weight)
        step = TreeStep(kernel_arrays(problem.X), None, settings.n_jobs)  # no node is solved here
        return cls(search, Search(problem, settings, step, history), random_state)

    def priced(self, state, lambda_):
        """The tree of a state as users get it, and its cost for all rows in percent.

        Parameters
        ----------
        state : State, of `search`
        lambda_ : float
        """
        whole = self.whole
        if whole is not self.search:
            state = self._refined(whole.evaluate(state.pruned))
            whole.record("polish", state, lambda_)
        tree, leaf_of_row = _final(whole, state)
        return _Priced(tree, whole.problem.cost_increase(state.inertia), leaf_of_row)

    def _refined(self, state):
        """State over all rows after passes that lower their cost, where the settings allow that."""
        whole, settings = self.whole, self.whole.settings
        if not settings.relax:
            return state

        def evaluate(found):
            return whole.evaluate(found.tree)

        source = AllRows.from_problem(whole.problem, settings.n_jobs)
        relabelings = [evaluate(relabel_leaves(source, [state.tree], state.centers))]
        sample, rng = (
            WeightedRows.from_problem(self.search.problem),
            check_random_state(self.random_state),
        )
        has_limit = settings.goal is not None and settings.goal.is_limit
        n_passes = _N_PASSES_TO_LIMIT if has_limit else _N_PASSES
        terms = (evaluate, n_passes, rng, settings.split_kind.midpoints)
        better = refine(source, sample, relabelings[0], *terms)
        return _last(itertools.chain(relabelings, better))

    @property
    def is_rough(self):
        """Whether trees are chosen from before the last passes: a knee is no limit to be met.

        Few rows have copies, for which these passes count: there the choice sees them.
        """
        has_many = self.whole is not self.search or self.search.smoothed is self.search
        return has_many and not self.search.settings.goal.is_limit

    def roughly_priced(self, state):
        """The tree of a state, as the rows that find it have it, and its cost for all rows."""
        tree = _final(self.search, state).tree
        return _Priced(tree, self.whole.problem.cost_increase(self.whole.evaluate(tree).inertia))


def _fit_once(rows, random_state):
    """Find the tree at the lambda of the settings."""
    search, settings = rows.search, rows.search.settings
    lambda_ = typical_lambda(rows.whole.problem) if settings.lambda_ is None else settings.lambda_
    trees = starting_trees(search, random_state)
    states = settings.algorithm.run(search, trees, lambda_, random_state)
    state = _last(until_interrupted(states))
    state = _searched(rows, state, lambda_, random_state, settings.effort)
    return _Found(rows.priced(state, lambda_), lambda_, [], {})


def _fit_goal(rows, random_state):
    """Find the tree of a path that suits the goal."""
    search, goal = rows.search, rows.search.settings.goal

    def measure(point):
        if rows.is_rough:
            return rows.roughly_priced(point.refitted)
        return rows.priced(point.result, point.lambda_)._replace(leaf_of_row=None)

    found = list(until_interrupted(search_path(search, goal, measure, random_state)))
    lambdas, trees, costs = zip(*found, strict=True)
    position = goal.choose(costs, trees)
    lambda_ = lambdas[position]
    chosen = _Priced(trees[position], costs[position])
    chosen = _better(rows, goal, chosen, trees, lambda_, random_state)
    return _Found(chosen, lambda_, [chosen.cost, *costs], {})


def _better(rows, goal, chosen, trees, lambda_, random_state):
    """The tree that was chosen, or one of a search from there that suits the goal more.

    Parameters
    ----------
    rows : _Rows
    goal : Knee, MaxParameters or MaxCostIncrease
    chosen : _Priced
    trees : sequence of Tree, the others of the path
    lambda_ : float
    random_state : int, RandomState instance or None
    """
    effort, tree = rows.search.settings.effort, chosen.tree
    larger = (other for other in trees if other.n_parameters > tree.n_parameters)
    nearest = min(larger, key=lambda other: other.n_parameters, default=None)
    rivals = [nearest] if goal.is_limit and nearest is not None else []
    before = rows.search.evaluate(tree)
    if rows.is_rough:
        before = finished(rows.search, before)  # it was chosen before these passes
    state = _searched(rows, before, lambda_, random_state, effort, goal, rivals)
    if state is before and not rows.is_rough:
        return chosen
    other = rows.priced(state, lambda_)
    return other if rows.is_rough or goal.prefers(other, chosen) else chosen


def _searched(rows, state, lambda_, random_state, effort, goal=_NO_LIMIT, rivals=()):
    """The last of the states that a search over structure finds from a state, or that state.

    Parameters
    ----------
    rows : _Rows
    state : State
    lambda_ : float
    random_state : int, RandomState instance or None
    effort : Effort
    goal : Knee, MaxParameters or MaxCostIncrease
    rivals : sequence of Tree, where the search may start, too
    """
    search = rows.search
    if not search.settings.searches:
        return state
    improve = search.settings.split_kind.local_search
    states = improve(search, state, lambda_, goal, effort, rivals, random_state)
    return _last(until_interrupted(itertools.chain([state], states)))


def _last(results):
    (last,) = deque(results, maxlen=1)  # the others hold a number a row each
    return last


def _fit_unseen(rows, random_state):
    """Find the tree at the lambda that suits the goal on rows which a path has not seen.

    The path is followed twice: for the choice without the rows that are held out, and then over
    all rows up to the lambda that was chosen.
    """
    problem, settings = rows.whole.problem, rows.search.settings
    goal, history = settings.goal, rows.search.history
    seen = problem.seen()
    share = float(seen.weight.sum() / problem.weight.sum())
    part = _Rows.of(seen, settings, random_state, history.on_record)
    unseen = problem.unseen(seen.free.centers)

    def measure(point):
        tree = part.priced(point.result, point.lambda_).tree
        return _Priced(tree, _cost_increase_on(unseen, seen, tree))

    found = list(until_interrupted(search_path(part.search, goal, measure, random_state)))
    lambdas, trees, costs = zip(*found, strict=True)
    position = goal.choose(costs, trees, " on the rows held out")
    chosen = lambdas[position] / share
    tried = np.array([value / share for value in lambdas])
    grid = np.unique(np.append(tried[tried <= chosen], chosen))
    grid = np.append(grid, chosen * _MORE ** np.arange(1, _MOST_MORE))
    for lambda_, point in zip(grid, follow_path(rows.search, grid, random_state), strict=True):
        if lambda_ < chosen:
            continue
        priced = rows.priced(point.result, float(lambda_))
        if goal.has_room_for(priced.tree):
            break
    # What may be spent on these rows is no limit: lambda was chosen by others.
    further = _NO_LIMIT if goal.is_of_cost else goal
    chosen = _better(rows, further, priced, (), float(lambda_), random_state)
    attributes = {"validation_cost_increase_": float(costs[position])}
    return _Found(chosen, float(lambda_), [chosen.cost], attributes)


def _cost_increase_on(unseen, seen, tree):
    """Percent by which a tree, with its centres of the seen rows, costs more on the unseen.

    Parameters
    ----------
    unseen : Problem, of other rows beside the free centres of the seen ones
    seen : Problem, of the rows that found the tree
    tree : Tree
    """
    labels = tree.leaf_label[tree.route(kernel_arrays(seen.X))]
    centers, _ = optimal_centers(seen.objective, seen.data, labels, seen.weight, seen.free)
    labels = tree.leaf_label[tree.route(kernel_arrays(unseen.X))]
    return unseen.cost_increase(unseen.objective.value(unseen.data, labels, unseen.weight, centers))


def _final(search, state):
    """The tree of a state as users get it, and the leaf of each row: a Routed."""
    settings, (tree, leaf_of_row) = search.settings, search.step.routed(state.pruned)
    tree = settings.split_kind.postprocess(tree, leaf_of_row, search.step, settings.trim)
    if not settings.penalty.is_binary and tree.leaf_value is None:
        # Nobody has filled its leaves: it is the initial tree, or was polished.
        tree = with_histograms(search, tree, leaf_of_row)
    return Routed(tree, leaf_of_row)


def _result(search, priced, lambda_, **further):
    history = [dict(record) for record in search.history.records]
    attributes = {"history_": history, "n_iter_": len(history), "best_lambda_": lambda_}
    return Result(priced.tree, attributes | further, priced.leaf_of_row)
