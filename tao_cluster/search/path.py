"""Paths along lambda: its grid, one tree after another, and the search for a goal."""

from dataclasses import dataclass

import numpy as np

from ..core.matrices import variances
from .descent.passes import best_start, descend, finish
from .starts.named import initial_trees
from .state import State

# The ends of the grid of lambda, in its unit.
_GRID = (5e-5, 0.03)
# To meet a goal: steps beyond the ends of the grid, and between two values.
_STRIDE, _MOST_STRIDES, _MOST_STRIDES_DOWN = 3.0, 12, 3
_N_BISECTIONS = 3


@dataclass(frozen=True, eq=False)
class Point:
    """A lambda of a path: the state after descent, from which the path goes on, and its result."""

    lambda_: float
    state: State
    result: State


def lambda_grid(problem, n_lambdas=10):
    """Values of lambda from a nearly free tree to one with a feature or two a node.

    Their unit is what the tree can save at most, the summed prices of mismatches, times the
    spread of a column, the root of the mean variance: it has the units of lambda, so the trees
    do not change with the scale of the data or the number of rows.

    Parameters
    ----------
    problem : Problem
    n_lambdas : int

    Returns
    -------
    float64 array of shape (n_lambdas,), increasing, a geometric row
    """
    prices = float(problem.weight @ problem.mismatch_prices())
    unit = prices * np.sqrt(variances(problem.X).mean())
    return np.geomspace(*_GRID, n_lambdas) * (unit or 1.0)


def follow_path(search, lambdas, random_state):
    """The direct form along growing lambda, each from the tree before.

    Parameters
    ----------
    search : Search
    lambdas : float array, increasing
    random_state : int, RandomState instance or None

    Yields
    ------
    Point
    """
    trees = initial_trees(search.problem, search.settings, random_state)
    state = best_start(search, trees, lambdas[0], random_state)
    for lambda_ in lambdas:
        point = _point(search, state, float(lambda_))
        yield point
        state = point.state


def search_path(search, goal, measure, random_state):
    """Trees of a path about where they cross a goal.

    The path ends where trees become small; where it started too late or ended too early, it
    goes on beyond the grid. Then come some trees between the last two.

    Parameters
    ----------
    search : Search
    goal : MaxParameters or MaxCostIncrease
    measure : callable(Point) -> (Tree, float), what the tree and its cost in percent would be
    random_state : int, RandomState instance or None

    Yields
    ------
    lambda : float
    tree : Tree
    cost : float
    """

    def look(point):
        tree, cost = measure(point)
        is_small = goal.is_small(cost, tree) or tree.n_leaves == 1
        return (point.lambda_, tree, cost), is_small

    low, high = None, None
    lambdas = lambda_grid(search.problem)
    further = lambdas[-1] * _STRIDE ** np.arange(1, _MOST_STRIDES + 1)
    for point in follow_path(search, np.concatenate([lambdas, further]), random_state):
        found, is_small = look(point)
        yield found
        if is_small:
            high = point.lambda_
            break
        low = point
    if low is None:
        for lambda_ in lambdas[0] / _STRIDE ** np.arange(2, 2 * _MOST_STRIDES_DOWN + 1, 2):
            point = next(follow_path(search, [lambda_], random_state))
            found, is_small = look(point)
            yield found
            if not is_small:
                low = point
                break
            high = point.lambda_
    for _ in range(_N_BISECTIONS if low is not None and high is not None else 0):
        point = _point(search, low.state, float(np.sqrt(low.lambda_ * high)))
        found, is_small = look(point)
        yield found
        if is_small:
            high = point.lambda_
        else:
            low = point


def _point(search, state, lambda_):
    state = descend(search, state, lambda_)
    *_, result = finish(search, state, lambda_)
    return Point(lambda_, state, result)
