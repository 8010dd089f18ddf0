"""Fits of oblique trees: the path along lambda, and the choice of the trees that are improved.

A *path* fits a tree at each of several increasing lambdas, starting from the tree before. The trees
near the goal get last passes (:mod:`.last_passes`), and a local search (:mod:`.local_search`)
starts from the best one.
"""

from typing import NamedTuple

import numpy as np

from .._utils.matrices import row_size, variances
from . import last_passes, local_search
from .choose import Goal
from .state import State, best_start, descend, starting_trees

# Smallest and largest lambda of the grid, and the lambda at which the knee of most data sets lies.
# They are multiples of a unit that is computed from the data; see `lambda_grid`.
_GRID = (5e-5, 0.03)
_N_LAMBDAS = 10
# A path that chooses one tree takes every second value of the grid if X has at least this many
# values. On average, trees of the same size then cost no more on new rows, and fits take less time.
_MANY_VALUES = 2**16
_TYPICAL = 1.7e-3
# With more clusters than this, a test sees a smaller share of the rows, so the grid starts lower.
_FEW_CLUSTERS = 50
# The unit of lambda ignores rows far from all centres: those whose cost difference between the
# two nearest centres exceeds this multiple of the median.
_FAR_AWAY = 100.0
# If no tree of the grid meets a limit, lambda leaves the grid: up to 12 steps by a factor of 3
# upwards, or 3 steps by a factor of 9 downwards. Between a lambda that meets the limit and one that
# does not, 2 bisections follow.
_STRIDE, _MOST_STRIDES, _MOST_STRIDES_DOWN = 3.0, 12, 3
_N_BISECTIONS = 2
# This number of trees near the knee get their last passes before one of them is chosen. With many
# rows it is one, to save time. With few rows, the last passes also use noisy copies of the rows and
# can change the choice.
_N_CONTENDERS = 2
# If there are at least 20 000 rows, a path fits trees to a sample of as many rows as the search.
# They then get this many passes over all rows.
_PASSES_AFTER_SAMPLE = 2


# ---------------------------------------------------------------- trees along lambda


class Point(NamedTuple):
    """A lambda of a path, and the state after passes at this lambda."""

    lambda_: float
    state: State


def path(fit, goal):
    """Yield trees along a path of lambda, from which a goal chooses one.

    Without a limit, all trees of the path are compared before their last passes, which take most of
    the time. The trees nearest to the knee then get their last passes.

    Parameters
    ----------
    fit : Fit
    goal : Goal

    Yields
    ------
    Candidate
    """
    if goal.is_limit:
        yield from _near_limit(fit, goal)
        return
    search, rough, points = fit.search, [], []
    for point in follow_path(fit, _grid_of_choice(search.original.problem)):
        rough.append(fit.rough(point.state, point.lambda_, sampled(fit)))
        points.append(point)
        yield rough[-1]
    order = goal.order([one.cost for one in rough], [one.tree for one in rough], is_rough=True)
    chosen = order[: 1 if fit.has_many_rows else _N_CONTENDERS]

    def refined(search, at):
        return _refined(fit, search, points[at], goal)

    for at, state in zip(chosen, search.in_threads(refined, chosen, is_exact=True), strict=True):
        yield fit.finished(state, rough[at].size)


def at_size(fit, lambda_):
    """Return the tree of a path at a value of lambda, as a Candidate."""
    lambdas = _grid_of_choice(fit.search.original.problem)
    *_, point = follow_path(fit, [*lambdas[lambdas < lambda_], lambda_])
    return _finished(fit, point)


def per_size(fit, lambdas=None):
    """Yield one tree per lambda after a search; None stands for the default lambdas.

    Yields
    ------
    Candidate
    """
    effort, problem = fit.search.settings.effort.on_path(), fit.search.original.problem
    lambdas = lambda_grid(problem) if lambdas is None else lambdas
    for point in follow_path(fit, lambdas):
        state = _refined(fit, fit.search, point)
        for better in better_states(fit, state, point.lambda_, Goal(), effort):
            state = better
        yield fit.finished(state, point.lambda_)


def start(search, trees, lambda_, random_state):
    """Return the best of the initial trees after a few passes."""
    return best_start(search, trees, lambda_, random_state)


def finish(fit, state, lambda_):
    """Return the tree of a state after refits, exact passes and simplification, as a Candidate."""
    return _finished(fit, Point(lambda_, state))


def follow_path(fit, lambdas):
    """Fit a tree at each of several increasing values of lambda, starting from the previous tree.

    Parameters
    ----------
    fit : Fit
    lambdas : sequence of float, increasing

    Yields
    ------
    Point
    """
    search = sampled(fit)
    trees = starting_trees(search, fit.random_state)
    state = best_start(search, trees, lambdas[0], fit.random_state)
    for lambda_ in map(float, lambdas):
        state = descend(search, state, lambda_)
        yield Point(lambda_, state)


def sampled(fit):
    """Return the evaluator over the rows of the first passes: a sample if there are many rows."""
    search = fit.search
    if search.original is not search or not search.settings.algorithm.is_direct:
        return search
    return search.pilot(local_search.PILOT_ROWS, fit.random_state)


def _refined(fit, search, point, goal=None):
    """Return the state of a point after refits of its nodes and exact passes over all rows.

    `search` is an evaluator over the rows of ``fit.search``, perhaps with caches of its own. With a
    goal, the exact passes lower the value by which it chooses; otherwise they keep about the size.
    """
    state = point.state
    if sampled(fit) is not fit.search:
        terms = {"n_passes": _PASSES_AFTER_SAMPLE, "keeps_start": False}
        state = descend(search, search.evaluate(state.pruned), point.lambda_, **terms)
    if not search.settings.relax:
        return state
    state = last_passes.refit(search, state, point.lambda_)
    criterion = last_passes.Criterion.from_goal(goal or Goal(), search.problem, state)
    return last_passes.optimize_exact(search, state, criterion.price)


def _finished(fit, point):
    return fit.finished(_refined(fit, fit.search, point), point.lambda_)


def _near_limit(fit, goal):
    """Yield the finished trees of a path near a limit.

    The path ends at the first tree that is small enough for a limit of parameters, or too costly
    for a limit of cost. If the trees of the grid are all on the same side of the limit, the path
    continues outside the grid. Trees at some lambdas between the last ones on both sides follow.
    """
    lambdas = _grid_of_choice(fit.search.original.problem)
    low, high = yield from _along(fit, goal, lambdas)
    if low is None:
        low, high = yield from _below(fit, goal, lambdas[0], high)
    for _ in range(_N_BISECTIONS if low is not None and high is not None else 0):
        lambda_ = float(np.sqrt(low.lambda_ * high))
        point = Point(lambda_, descend(sampled(fit), low.state, lambda_))
        yield (found := _finished(fit, point))
        if _is_small(goal, found):
            high = lambda_
        else:
            low = point


def _is_small(goal, found):
    """Return whether smaller trees than a candidate cannot suit the goal better."""
    return goal.is_small(found.cost, found.tree) or found.tree.n_leaves == 1


def _along(fit, goal, lambdas):
    """Yield trees along a grid and beyond, up to the first small one that follows a larger one.

    Trees that are far from the limit by their rough estimates are skipped.

    Returns
    -------
    low : Point, or None
        The last tree that is not small.
    high : float, or None
        The first lambda after that of `low` at which the tree is small.
    """
    low, high, skipped = None, None, []
    beyond = lambdas[-1] * _STRIDE ** np.arange(1, _MOST_STRIDES + 1)
    for point in follow_path(fit, np.concatenate([lambdas, beyond])):
        rough = fit.rough(point.state, point.lambda_, sampled(fit))
        if rough.tree.n_leaves > 1 and goal.is_far(rough.cost, rough.tree):
            skipped.append(point)
            continue
        yield (found := _finished(fit, point))
        if not _is_small(goal, found):
            low, high = point, None
            skipped.clear()
            continue
        high = high or point.lambda_
        # The estimates can be wrong: the largest skipped lambda is looked at, too.
        while low is None and skipped:
            other = skipped.pop()
            yield (between := _finished(fit, other))
            low, high = (None, other.lambda_) if _is_small(goal, between) else (other, high)
        # Costs need not grow with lambda: if the first tree costs too much, a later one may not.
        is_last = point.lambda_ >= lambdas[-1] or found.tree.n_leaves == 1
        if low is not None or not goal.limits_cost or is_last:
            break
    return low, high


def _below(fit, goal, first, high):
    """Yield trees at lambdas below `first`, the start of the grid, until one is not small.

    Returns
    -------
    low : Point, or None
        The tree that is not small.
    high : float
        The smallest lambda so far at which the tree is small; `high` if no lambda below `first`.
    """
    for lambda_ in first / _STRIDE ** np.arange(2, 2 * _MOST_STRIDES_DOWN + 1, 2):
        point = next(follow_path(fit, [lambda_]))
        yield (found := _finished(fit, point))
        if not _is_small(goal, found):
            return point, high
        high = point.lambda_
    return None, high


def shrunk(fit, chosen, goal, max_leaves=None):
    """Return a candidate pruned to the limits of size, if that is possible."""
    search = fit.search
    state = search.evaluate(chosen.tree)
    price = last_passes.penalty_per_parameter(search.problem, state)
    for other in last_passes.prune_stepwise(search, state, price):
        has_leaves = max_leaves is None or other.n_leaves <= max_leaves
        if has_leaves and goal.has_room_for(other):
            return fit.finished(other, chosen.size)
    return chosen


def lambda_grid(problem):
    """Return values of lambda for a path of oblique trees.

    At the smallest value, the penalty on the weights hardly matters. At the largest one, tests have
    one or two features. The values are multiples of a unit: the sum over rows of the cost
    difference between the second nearest and the nearest free centre, times the root mean variance
    of the columns. This makes trees independent of the scale of the data and the number of rows.
    With more than 50 clusters the smallest value decreases in proportion to their number, because
    most tests then see a smaller share of the rows.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float64 array of ten values, increasing in geometric steps
    """
    low, high = _GRID
    low *= min(1.0, _FEW_CLUSTERS / problem.n_clusters)
    return np.geomspace(low, high, _N_LAMBDAS) * _unit(problem)


def _grid_of_choice(problem):
    """Return the values of lambda of a path that chooses one tree: some of :func:`lambda_grid`."""
    lambdas = lambda_grid(problem)
    return lambdas[1::2] if problem.n_rows * row_size(problem.X) >= _MANY_VALUES else lambdas


def typical_lambda(problem):
    """Return the default lambda of methods that fit only one tree, near the knee of most data."""
    return _TYPICAL * _unit(problem)


def _unit(problem):
    prices = problem.mismatch_prices
    X, weight = problem.X, problem.weight
    # A few distant rows would dominate the sum of the prices and the variance of the columns.
    is_far = prices > _FAR_AWAY * np.median(prices[prices > 0]) if prices.any() else prices > 0
    if is_far.any():
        X, weight, prices = X[~is_far], weight[~is_far], prices[~is_far]
    most = float(weight @ prices)
    if problem.weight.max() > _FAR_AWAY * np.median(problem.weight):
        # A row with most of the weight would dominate the sum, although it never ends up in a wrong
        # cluster, and would make the variance nearly 0. It counts as much as all other rows.
        most = min(most, problem.mismatch_cost)
        weight = np.minimum(weight, weight.sum() - weight.max() or 1.0)
    return most * float(np.sqrt(variances(X, weight).mean())) or 1.0


# ---------------------------------------------------------------- local search


def better_states(fit, state, lambda_, goal, effort, rivals=()):
    """Yield better and better states from a search that grows, perturbs and prunes the tree.

    Parameters
    ----------
    fit : Fit
    state : State
    lambda_ : float
    goal : Goal
    effort : Effort
    rivals : sequence of Tree
        Further trees. Larger ones can be better after they are pruned to the limit of the goal.

    Yields
    ------
    State, over the rows of ``fit.search`` without noisy copies
    """
    search = fit.search
    if not search.settings.searches:
        return
    rows = search.original
    own = rows.take(state, search)  # without noisy copies
    criterion = last_passes.Criterion.from_goal(goal, rows.problem, own)
    share = state.inertia / own.inertia if own.inertia > 0 else 1.0
    terms = (criterion.over(share), effort, rivals, fit.random_state)
    found = local_search.improvements(search, state, lambda_, *terms)
    for other in found:
        if criterion.value(candidate := rows.take(other, search)) < np.inf:
            own = candidate
            yield own
    # The search may have used noisy copies of the rows. On the original rows, the result must
    # be at least as good as axis-aligned trees.
    others = [] if rows is search else rows.single_features(own)
    others = [other for other in others if other.n_parameters <= own.n_parameters]
    for other in [*map(rows.evaluate, rivals), *others]:
        if other.n_leaves <= search.limits()[0] and local_search.is_better(criterion, other, own):
            own = other
            yield own
