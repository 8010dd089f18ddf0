"""Paths along lambda: its grid, one tree after another, and the search for a goal."""

import itertools
from dataclasses import dataclass

import numpy as np

from .._utils.matrices import variances
from ..initial_trees.named import initial_trees
from ..reference import optimal_centers
from .descent.passes import descend, finish, starts
from .descent.surplus import fitting
from .state import Search, State

# The ends of the grid of lambda, in its unit, and where knees mostly are.
_GRID = (5e-5, 0.03)
_TYPICAL = 1.7e-3
# Above so many clusters a test parts a smaller share of the rows: the grid starts lower.
_FEW_CLUSTERS = 50
# Rows that are so many times dearer than the median one do not count for the unit.
_FAR_AWAY = 100.0
_MANY_TIMES = 10.0
# To meet a goal: steps beyond the ends of the grid, and between two values.
_STRIDE, _MOST_STRIDES, _MOST_STRIDES_DOWN = 3.0, 12, 3
_N_BISECTIONS = 3


@dataclass(frozen=True, eq=False)
class Point:
    """A lambda of a path and the state after descent, from which the path goes on."""

    search: Search
    lambda_: float
    state: State

    @property
    def refitted(self):
        """State without the passes on the true cost."""
        *_, state = itertools.islice(self._results(), 2)
        return state

    @property
    def result(self):
        """State after all passes."""
        *_, state = self._results()
        return state

    def _results(self):
        return finish(self.search, self.state, self.lambda_)


def lambda_grid(problem, n_lambdas=10):
    """Values of lambda from a nearly free tree to one with a feature or two a node.

    Their unit is what the tree can save at most, the summed prices of mismatches, times the
    spread of a column, the root of the mean variance: it has the units of lambda, so the trees
    do not change with the scale of the data or the number of rows. Of more than 50 clusters the
    least value is smaller by their number, as most tests see so much smaller a share of the rows.

    Parameters
    ----------
    problem : Problem
    n_lambdas : int

    Returns
    -------
    float64 array of shape (n_lambdas,), increasing, a geometric row
    """
    low, high = _GRID
    low *= min(1.0, _FEW_CLUSTERS / problem.n_clusters)
    return np.geomspace(low, high, n_lambdas) * _unit(problem)


def typical_lambda(problem):
    """A middling lambda, for methods that follow no path to choose it from."""
    return _TYPICAL * _unit(problem)


def _unit(problem):
    prices = problem.mismatch_prices()
    X, weight = problem.X, problem.weight
    # A few rows far away would be most of the sum and of the spread.
    is_far = prices > _FAR_AWAY * np.median(prices[prices > 0]) if prices.any() else prices > 0
    if is_far.any():
        X, weight, prices = X[~is_far], weight[~is_far], prices[~is_far]
    most = float(weight @ prices)
    if problem.weight.max() > _FAR_AWAY * np.median(problem.weight):
        # A row of most of the weight is in no wrong cluster: the centre of its leaf is where it is.
        most = min(most, _MANY_TIMES * _saved(problem))
    return most * float(np.sqrt(variances(X).mean())) or 1.0


def _saved(problem):
    """What the free clustering costs less than one cluster."""
    one = np.zeros(len(problem.weight), dtype=np.intp)
    terms = problem.objective, problem.data, one, problem.weight, problem.free
    return optimal_centers(*terms)[1] - problem.free.inertia


def starting_trees(search, random_state):
    """Yield the initial trees of a fit, with no more leaves than its settings allow."""
    trees = initial_trees(search.problem, search.settings, random_state)
    return map(search.start_from, fitting(search, trees))


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
    trees = starting_trees(search, random_state)
    *_, state = starts(search, trees, lambdas[0], random_state)
    for lambda_ in lambdas:
        point = _point(search, state, float(lambda_))
        yield point
        state = point.state


def search_path(search, goal, measure, random_state):
    """Trees of a path about where they cross a goal; of the whole path if it is the knee.

    The path ends where trees become small; where it started too late or ended too early, it
    goes on beyond the grid. Then come some trees between the last two.

    Parameters
    ----------
    search : Search
    goal : Knee, MaxParameters or MaxCostIncrease
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

    lambdas = lambda_grid(search.problem)
    low, high = yield from _along(search, goal, look, lambdas, random_state)
    if not goal.is_limit:
        return
    if low is None:
        low, high = yield from _below(search, look, lambdas[0], high, random_state)
    for _ in range(_N_BISECTIONS if low is not None and high is not None else 0):
        point = _point(search, low.state, float(np.sqrt(low.lambda_ * high)))
        found, is_small = look(point)
        yield found
        if is_small:
            high = point.lambda_
        else:
            low = point


def _along(search, goal, look, lambdas, random_state):
    """Yield trees along a grid and beyond, up to the first that is small after one that is not.

    Returns
    -------
    low : Point of the last tree that is not small, or None
    high : lambda of the next one, or None
    """
    low, high = None, None
    beyond = lambdas[-1] * _STRIDE ** np.arange(1, _MOST_STRIDES + 1 if goal.is_limit else 1)
    for point in follow_path(search, np.concatenate([lambdas, beyond]), random_state):
        found, is_small = look(point)
        yield found
        if not is_small:
            low, high = point, None
            continue
        high = high or point.lambda_
        # Costs need not grow with lambda: where the first tree costs too much, a later one may
        # not.
        is_last = point.lambda_ >= lambdas[-1] or found[1].n_leaves == 1
        if low is not None or not goal.is_of_cost or is_last:
            break
    return low, high


def _below(search, look, first, high, random_state):
    """The same below a grid that starts at `first`, down to the first tree that is not small."""
    for lambda_ in first / _STRIDE ** np.arange(2, 2 * _MOST_STRIDES_DOWN + 1, 2):
        point = next(follow_path(search, [lambda_], random_state))
        found, is_small = look(point)
        yield found
        if not is_small:
            return point, high
        high = point.lambda_
    return None, high


def _point(search, state, lambda_):
    return Point(search, lambda_, descend(search, state, lambda_))
