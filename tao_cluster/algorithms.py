"""How a fit goes from initial trees to its result: the penalty method, the direct form, a path.

Each algorithm is a generator of states, the last of which is its result: an interrupt between
two of them loses only what came after the last.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .alternation import Schedule, alternate, direct_fit, mismatch_prices
from .node_solvers import variances
from .problem import State, evaluate
from .refinement import DirectForm
from .tree import Tree

# A direct fit at one lambda approaches it from below: clusters that a tree loses while lambda
# is large do not come back.
_APPROACH = (0.1, 1.0)

# The ends of the grid of lambda, in its unit.
_GRID = (5e-5, 0.03)
# To meet a goal: steps beyond the ends of the grid, and between two values.
_STRIDE, _MOST_STRIDES, _MOST_STRIDES_DOWN = 3.0, 12, 3
_N_BISECTIONS = 3


@dataclass(frozen=True)
class Plan:
    """What a fit starts from and which of its stages it runs.

    Parameters
    ----------
    form : DirectForm, with the problem, the tree step and the history
    pilot : callable() -> DirectForm, the same for a sample of the rows; None where there are few
    trees : callable() -> iterator of Tree, the same initial trees at each call
    schedule : Schedule, of the penalty method
    refine, relax : bool
        Whether passes of the direct form end the penalty method, and refits end both.
    """

    form: DirectForm
    pilot: Callable[[], DirectForm | None]
    trees: Callable[[], Iterator[Tree]]
    schedule: Schedule
    refine: bool
    relax: bool

    def initial_trees(self):
        """State of the first initial tree, and all of them."""
        trees = self.trees()
        first = next(trees)
        state = evaluate(self.form.problem, self.form.step, first)
        return state, itertools.chain([first], trees)

    def best_start(self, trees, lambda_):
        """State after a few direct passes of the initial tree that fares best in them.

        A sample tells as well as all rows which one that is. Lambda goes with the rows.
        """
        pilot = self.pilot()
        if pilot is None:
            return self.form.start(trees, lambda_)
        problem = self.form.problem
        share = pilot.problem.weight.sum() / problem.weight.sum()
        tree = pilot.start(trees, share * lambda_).tree
        return evaluate(problem, self.form.step, tree)


@dataclass(frozen=True, eq=False)
class Point:
    """A lambda of a path: the state after descent, from which the path goes on, and its result."""

    lambda_: float
    state: State
    result: State


def penalty_method(plan, lambda_):
    """The paper's algorithm (fig. 2); direct passes and refits end it if the plan says so.

    Yields
    ------
    State
    """
    form = plan.form
    state, trees = plan.initial_trees()
    yield state
    if form.is_exact:
        states = (evaluate(form.problem, form.step, tree) for tree in trees)
        state = min(states, key=lambda state: state.objective(lambda_))
    else:
        state = direct_fit(form.problem, form.step, trees, lambda_, plan.schedule)
    yield state
    for better in alternate(form.problem, form.step, state, lambda_, plan.schedule, form.history):
        state = better
        yield state
    if plan.refine:
        yield from _finish(plan, form.descend(state, lambda_), lambda_)


def direct_descent(plan, lambda_):
    """The direct form at growing lambda, from the best initial tree.

    Yields
    ------
    State
    """
    state, trees = plan.initial_trees()
    yield state
    strengths = [share * lambda_ for share in _APPROACH]
    state = plan.best_start(trees, strengths[0])
    yield state
    for strength in strengths:
        state = plan.form.descend(state, strength)
        yield state
    yield from _finish(plan, state, lambda_)


def _finish(plan, state, lambda_):
    yield state
    if plan.relax:
        yield plan.form.relax(state, lambda_)


def follow_path(plan, lambdas):
    """The direct form along growing lambda, each from the tree before.

    Yields
    ------
    Point
    """
    state = plan.best_start(plan.trees(), lambdas[0])
    for lambda_ in lambdas:
        point = _point(plan, state, float(lambda_))
        yield point
        state = point.state


def search_path(plan, lambdas, goal, measure):
    """Trees of a path about where they cross a goal.

    The path ends where trees become small; where it started too late or ended too early, it
    goes on beyond `lambdas`. Then come some trees between the last two.

    Parameters
    ----------
    plan : Plan
    lambdas : float array, increasing
    goal : MaxParameters or MaxCostIncrease
    measure : callable(State) -> (Tree, float), what the tree and its cost in percent would be

    Yields
    ------
    lambda : float
    tree : Tree
    cost : float
    """

    def look(point):
        tree, cost = measure(point.result)
        is_small = goal.is_small(cost, tree) or tree.n_leaves == 1
        return (point.lambda_, tree, cost), is_small

    low, high = None, None
    further = lambdas[-1] * _STRIDE ** np.arange(1, _MOST_STRIDES + 1)
    for point in follow_path(plan, np.concatenate([lambdas, further])):
        found, is_small = look(point)
        yield found
        if is_small:
            high = point.lambda_
            break
        low = point
    if low is None:
        for lambda_ in lambdas[0] / _STRIDE ** np.arange(2, 2 * _MOST_STRIDES_DOWN + 1, 2):
            point = next(follow_path(plan, [lambda_]))
            found, is_small = look(point)
            yield found
            if not is_small:
                low = point
                break
            high = point.lambda_
    for _ in range(_N_BISECTIONS if low is not None and high is not None else 0):
        point = _point(plan, low.state, float(np.sqrt(low.lambda_ * high)))
        found, is_small = look(point)
        yield found
        if is_small:
            high = point.lambda_
        else:
            low = point


def _point(plan, state, lambda_):
    state = plan.form.descend(state, lambda_)
    *_, result = _finish(plan, state, lambda_)
    return Point(lambda_, state, result)


def lambda_grid(problem, X, n_lambdas=10):
    """Values of lambda from a nearly free tree to one with a feature or two a node.

    Their unit is what the tree can save at most, the summed prices of mismatches, times the
    spread of a column, the root of the mean variance: it has the units of lambda, so the trees
    do not change with the scale of the data or the number of rows.

    Parameters
    ----------
    problem : Problem
    X : array or CSR matrix of shape (n, d)
    n_lambdas : int

    Returns
    -------
    float64 array of shape (n_lambdas,), increasing, a geometric row
    """
    distances = problem.objective.distances(problem.data, problem.free.centers)
    unit = float(problem.weight @ mismatch_prices(distances)) * np.sqrt(variances(X).mean())
    return np.geomspace(*_GRID, n_lambdas) * (unit or 1.0)


ALGORITHMS = {"direct": direct_descent, "penalty": penalty_method}


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
        warnings.warn("Interrupted; the best so far is kept.", ConvergenceWarning, stacklevel=5)
