"""The regularisation path: trees along lambda, goals in cost or size, and the choice of a tree."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._utils.matrices import variances
from .._utils.warnings import warn
from ..initial_trees.builders import initial_trees
from ..reference import optimal_centers
from .direct_form import descend, finished, refitted, starts
from .oblique_search import taken_back
from .pruning import fitting
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
_ROUNDING = 1e-9  # of a cost increase, in percent


def knee(models, *, max_parameters=None, max_cost_increase=None, validation=None, **options):
    """Choose one of some fitted models.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
        Those of infinite cost increase, where the free clustering costs nothing, do not count.
    max_parameters : int, optional
        Least cost with at most so many parameters.
    max_cost_increase : float, optional
        Fewest parameters with at most so many percent of cost increase.
        Without either, the knee of the curve: the model with the least sum of log(1 + cost) and
        log(parameters), each scaled to 0..1 over the models, of those that keep most clusters, or
        98 % as many, and, if there are such, cost at most 3 %.
    validation : array-like or CSR matrix of shape (n, d), optional
        Rows that the models have not seen: costs are those of :meth:`TAOClustering.cost_increase`
        on them. Default: the costs of the rows of the fit.
    **options
        `sample_weight`, `embedding` or `y` of these rows.

    Returns
    -------
    One of the models

    Raises
    ------
    ValueError
        If both limits are given, or there are no models.

    Warns
    -----
    UserWarning
        If no model keeps to the limit; then the nearest one is returned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import knee, tao_path
    >>> models = tao_path(load_iris().data, 3, random_state=0)
    >>> knee(models, max_parameters=9).tree_.n_parameters <= 9
    True
    """
    if validation is None and options:
        raise ValueError(f"{', '.join(options)} belong to rows for validation; give these, too.")
    if validation is not None and np.ndim(validation) == 0:
        raise ValueError(
            f"validation={validation!r} must be rows that the models have not seen; to hold out a "
            "share use TAOClustering(validation=...)."
        )
    models = [model for model in models if np.isfinite(model.cost_increase_)]
    if len(models) == 0:
        raise ValueError("There are no models of finite cost to choose from.")
    if validation is None:
        costs = [model.cost_increase_ for model in models]
    else:
        costs = [model.cost_increase(validation, **options) for model in models]
    trees = [model.tree_ for model in models]
    goal = goal_of(max_parameters, max_cost_increase) or Knee()
    return models[goal.choose(costs, trees)]


@dataclass(frozen=True, eq=False)
class Point:
    """A lambda of a path and the state after descent, from which the path goes on."""

    search: Search
    lambda_: float
    state: State

    @property
    def refitted(self):
        """State without the passes on the true cost."""
        return refitted(self.search, self.state, self.lambda_)

    @property
    def result(self):
        """State after all passes."""
        return finished(self.search, self.refitted)


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
    return most * float(np.sqrt(variances(X, weight).mean())) or 1.0


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
    measure : callable(Point) -> tuple of the Tree and its cost in percent, and perhaps more
    random_state : int, RandomState instance or None

    Yields
    ------
    lambda : float
    tree : Tree
    cost : float
    """

    def look(point):
        tree, cost = measure(point)[:2]
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


def goal_of(max_parameters=None, max_cost_increase=None):
    """The goal that one of two limits stands for; None if there is none.

    Raises
    ------
    ValueError
        If both are given.
    """
    if max_parameters is not None and max_cost_increase is not None:
        raise ValueError("Give max_parameters or max_cost_increase, not both.")
    if max_parameters is not None:
        return MaxParameters(max_parameters)
    return None if max_cost_increase is None else MaxCostIncrease(max_cost_increase)


@dataclass(frozen=True)
class Criterion:
    """The selection criterion of a search: how states are compared, and how one is made to fit.

    The default compares the cost plus a price per parameter. With a limit of parameters it
    compares costs, and with a limit of cost the numbers of parameters; states above a limit are
    worth nothing.

    Parameters
    ----------
    price : float, per parameter; with a limit, the price where the removal of parameters starts
    most_parameters : int, optional
    most_cost : float, optional
    """

    price: float
    most_parameters: int | None = None
    most_cost: float | None = None

    def over(self, share):
        """Return the criterion over a sample that has a share of the weight."""
        most_cost = None if self.most_cost is None else share * self.most_cost
        return replace(self, price=share * self.price, most_cost=most_cost)

    def value(self, state):
        """Return what is to be small; infinity above a limit."""
        size = state.pruned.n_parameters
        if self.most_parameters is not None:
            return state.inertia if size <= self.most_parameters else np.inf
        if self.most_cost is None:
            return state.score(self.price)
        if state.inertia > self.most_cost:
            return np.inf
        # Among states of equal size the cost decides.
        return size + 0.5 * (state.inertia / self.most_cost if self.most_cost > 0 else 0.0)

    def reached(self, search, state):
        """Return the state, or a smaller one that the limit asks for, if there is such a state."""
        if self.most_parameters is not None and self.value(state) == np.inf:
            smaller = taken_back(search, state, self.price)
            return next((other for other in smaller if self.value(other) < np.inf), state)
        if self.most_cost is not None:
            for other in taken_back(search, state, self.price):
                if self.value(other) == np.inf:
                    break
                state = min(state, other, key=self.value)
        return state


class _Goal:
    """What goals share: most set no limit."""

    is_limit: ClassVar[bool] = False
    is_of_cost: ClassVar[bool] = False

    def has_room_for(self, tree):
        """Whether a tree keeps to the limit of size, if the goal sets one."""
        return True

    def is_small(self, cost, tree):
        """Whether smaller trees are of no interest."""
        return False

    def criterion(self, problem, price):
        """Return the criterion of a search from the chosen tree, with a price per parameter."""
        return Criterion(price)


@dataclass(frozen=True)
class Knee(_Goal):
    """The bend of the curve of cost over size.

    That is the tree with the least sum of log(1 + cost) and log(parameters), each scaled to 0..1
    over all trees, among those that keep most clusters, or 98 % as many, and, if there are such,
    cost at most 3 %.
    """

    most: ClassVar[float] = 3.0
    kept: ClassVar[float] = 0.98

    def prefers(self, other, chosen):
        """Whether a tree and its cost suit the goal more than those that were chosen."""
        is_larger = other[0].n_parameters > chosen[0].n_parameters
        is_dearer = other[1] > chosen[1] - _ROUNDING
        return other[0].n_clusters >= chosen[0].n_clusters and not (is_larger and is_dearer)

    def choose(self, costs, trees, where=""):
        """Return the position of the best tree.

        Parameters
        ----------
        costs : sequence of float, in percent
        trees : sequence of Tree
        where : str, for a warning: of which rows the costs are, if not of those of the fit
        """
        costs = np.asarray(costs, dtype=float)
        costs = np.where(np.isfinite(costs), costs, np.finfo(float).max)  # over a free cost of 0
        x = np.log([tree.n_parameters for tree in trees])
        y = np.log1p(np.maximum(costs, 0.0))
        kept = np.array([tree.n_clusters for tree in trees])
        keeps = kept >= self.kept * kept.max()
        is_cheap = keeps & (costs <= self.most)
        candidates = np.flatnonzero(is_cheap if is_cheap.any() else keeps)
        width, height = np.ptp(x), np.ptp(y)
        if width == 0 or height == 0:
            order = np.lexsort((x, y))
            return int(order[np.isin(order, candidates)][0])
        distance = (x - x.min()) / width + (y - y.min()) / height
        return int(candidates[distance[candidates].argmin()])


@dataclass(frozen=True)
class MaxParameters(_Goal):
    """Least cost with at most so many parameters; else the smallest tree."""

    limit: int
    is_limit: ClassVar[bool] = True

    def has_room_for(self, tree):
        """Whether a tree keeps to the limit; a choice on other rows cannot promise that."""
        return tree.n_parameters <= self.limit

    def is_small(self, cost, tree):
        """Whether a tree meets the goal: smaller ones cost more."""
        return self.has_room_for(tree)

    def prefers(self, other, chosen):
        """See :class:`Knee`."""
        return self.has_room_for(other[0]) and other[1] < chosen[1]

    def criterion(self, problem, price):
        """Return the criterion: the least cost within the limit."""
        return Criterion(price, most_parameters=self.limit)

    def choose(self, costs, trees, where=""):
        """See :class:`Knee`."""
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(sizes <= self.limit)
        if len(meets) == 0:
            warn(f"No tree has at most {self.limit} parameters; the smallest has {sizes.min()}.")
            return int(np.lexsort((costs, sizes))[0])
        return int(meets[np.lexsort((sizes[meets], np.asarray(costs)[meets]))[0]])


@dataclass(frozen=True)
class MaxCostIncrease(_Goal):
    """Fewest parameters with at most so many percent of cost increase; else the least cost."""

    limit: float
    is_limit: ClassVar[bool] = True
    is_of_cost: ClassVar[bool] = True

    def is_small(self, cost, tree):
        """Whether a tree no longer meets the goal: smaller ones cost more."""
        return cost > self.limit + _ROUNDING

    def prefers(self, other, chosen):
        """See :class:`Knee`."""
        sizes = other[0].n_parameters, chosen[0].n_parameters
        return not self.is_small(other[1], other[0]) and sizes[0] < sizes[1]

    def criterion(self, problem, price):
        """Return the criterion: the fewest parameters within the limit."""
        return Criterion(price, most_cost=problem.cost_at(self.limit + _ROUNDING))

    def choose(self, costs, trees, where=""):
        """See :class:`Knee`."""
        costs = np.asarray(costs)
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(costs <= self.limit + _ROUNDING)
        if len(meets) == 0:
            warn(
                f"No tree costs at most {self.limit:g} % over the free clustering{where}; the best "
                f"costs {costs.min():.3g} %. A larger depth may do better."
            )
            return int(np.lexsort((sizes, costs))[0])
        return int(meets[np.lexsort((costs[meets], sizes[meets]))[0]])
