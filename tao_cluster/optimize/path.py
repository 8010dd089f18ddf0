"""The regularisation path of oblique trees along lambda, goals, and the choice of a tree."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._utils.matrices import variances
from .._utils.warnings import warn
from ..initial_trees.builders import initial_trees
from ..reference import optimal_centers
from .direct_form import descend, finished, refitted, starts
from .oblique_search import prune_stepwise
from .pruning import fitting
from .state import Search, State

# Smallest and largest lambda of the grid, and the lambda at which the knee of most data sets lies.
# They are multiples of a unit that is computed from the data; see `lambda_grid`.
_GRID = (5e-5, 0.03)
_TYPICAL = 1.7e-3
# With more clusters than this, a test sees a smaller share of the rows, so the grid starts lower.
_FEW_CLUSTERS = 50
# The unit of lambda ignores rows far from all centres: those whose cost difference between the
# two nearest centres exceeds this multiple of the median.
_FAR_AWAY = 100.0
# If one row has much more weight than the others, the sum of costs in the unit of lambda is limited
# to this multiple of the cost that the free clustering saves compared with a single cluster.
_MANY_TIMES = 10.0
# If no tree of the grid meets a limit, lambda leaves the grid: up to 12 steps by a factor of 3
# upwards, or 3 steps by a factor of 9 downwards. Between a lambda that meets the limit and one that
# does not, 2 bisections follow.
_STRIDE, _MOST_STRIDES, _MOST_STRIDES_DOWN = 3.0, 12, 3
_N_BISECTIONS = 2
# Before its last passes, a tree is far from a limit if it has more than this multiple of the
# parameters, or costs less than this share of the cost.
_MOST_SHRINKAGE, _FAR_FROM_COST = 2.0, 0.5
_ROUNDING = 1e-9  # smaller differences of cost increases (in percent) are rounding errors


def knee(models, *, max_parameters=None, max_cost_increase=None, validation=None, **options):
    """Choose a model by cost and size.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
        Models of infinite cost increase (the free clustering costs nothing) are left out.
    max_parameters : int, optional
        Return the model of least cost with at most this many parameters.
    max_cost_increase : float, optional
        Return the model with the fewest parameters and at most this cost increase in percent.
    validation : array-like or CSR matrix of shape (n, d), optional
        Rows that the models were not fitted to. Costs are then those of
        :meth:`TAOClustering.cost_increase` on these rows, by default those of the fitted rows.
    **options
        `sample_weight`, `embedding` or `y` of the rows for validation.

    Returns
    -------
    One of the models

    Notes
    -----
    Without a limit the knee is returned: the model with the least sum of log(1 + cost increase) and
    log(parameters), each scaled to 0..1 over the models. Candidates have at least 98 % of the
    largest number of clusters. If some of them cost at most 3 % more than the free clustering, only
    these count.

    Raises
    ------
    ValueError
        If both limits are given, or there are no models.

    Warns
    -----
    UserWarning
        If no model is within the limit. The nearest one is then returned.

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
    """A lambda of a path, and the state after passes at this lambda.

    The passes at the next lambda of the path start from this state.
    """

    search: Search
    lambda_: float
    state: State

    @property
    def estimate(self):
        """State after one pass of refits: its cost and size are near those of the result."""
        return refitted(self.search, self.state, self.lambda_, is_rough=True)

    @property
    def result(self):
        """State after refits of the nodes and after passes on the clustering cost itself."""
        return finished(self.search, refitted(self.search, self.state, self.lambda_))


def lambda_grid(problem, n_lambdas=10):
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
    n_lambdas : int

    Returns
    -------
    float64 array of shape (n_lambdas,), increasing in geometric steps
    """
    low, high = _GRID
    low *= min(1.0, _FEW_CLUSTERS / problem.n_clusters)
    return np.geomspace(low, high, n_lambdas) * _unit(problem)


def typical_lambda(problem):
    """Return the default lambda of methods that fit only one tree, near the knee of most data."""
    return _TYPICAL * _unit(problem)


def _unit(problem):
    prices = problem.mismatch_prices()
    X, weight = problem.X, problem.weight
    # A few distant rows would dominate the sum of the prices and the variance of the columns.
    is_far = prices > _FAR_AWAY * np.median(prices[prices > 0]) if prices.any() else prices > 0
    if is_far.any():
        X, weight, prices = X[~is_far], weight[~is_far], prices[~is_far]
    most = float(weight @ prices)
    if problem.weight.max() > _FAR_AWAY * np.median(problem.weight):
        # `most` sums, over the rows, the cost of moving each row to its second nearest centre. A
        # row with most of the weight would dominate this sum, although it never ends up in a wrong
        # cluster: it attracts the centre of its leaf. The sum is therefore limited by a multiple of
        # the cost that the free clustering saves compared with a single cluster.
        most = min(most, _MANY_TIMES * _saved(problem))
    return most * float(np.sqrt(variances(X, weight).mean())) or 1.0


def _saved(problem):
    """Return the cost of a single cluster minus that of the free clustering."""
    one = np.zeros(len(problem.weight), dtype=np.intp)
    terms = problem.objective, problem.data, one, problem.weight, problem.free
    return optimal_centers(*terms)[1] - problem.free.inertia


def starting_trees(search, random_state):
    """Yield the initial trees of a fit, pruned to the maximum number of leaves of the settings."""
    trees = initial_trees(search.problem, search.settings, random_state)
    return map(search.start_from, fitting(search, trees))


def follow_path(search, lambdas, random_state):
    """Fit a tree at each of several increasing values of lambda, starting from the previous tree.

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


def search_path(search, goal, estimate, measure, random_state):
    """Yield the trees of a path near a limit.

    The path ends at the first tree that is small enough for a limit of parameters, or too costly
    for a limit of cost. If the trees of the grid are all on the same side of the limit, the path
    continues outside the grid. Trees at some lambdas between the last ones on both sides follow.

    Parameters
    ----------
    search : Search
    goal : MaxParameters or MaxCostIncrease
    estimate : callable(Point) -> tuple
        Its first two items are the Tree before its last passes and its cost increase in percent.
        Trees that it shows to be far from the limit are not measured.
    measure : callable(Point) -> tuple
        Its first two items are the finished Tree and its cost increase in percent.
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

    def is_far(point):
        tree, cost = estimate(point)[:2]
        return tree.n_leaves > 1 and goal.is_far(cost, tree)

    lambdas = lambda_grid(search.original.problem)
    low, high = yield from _along(search, goal, look, is_far, lambdas, random_state)
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


def _along(search, goal, look, is_far, lambdas, random_state):
    """Yield trees along a grid and beyond, up to the first small one that follows a larger one.

    A tree is small if smaller trees cannot suit the goal better; see ``goal.is_small``.

    Returns
    -------
    low : Point, or None
        The last tree that is not small.
    high : float, or None
        The first lambda after that of `low` at which the tree is small.
    """
    low, high, skipped = None, None, []
    beyond = lambdas[-1] * _STRIDE ** np.arange(1, _MOST_STRIDES + 1)
    for point in follow_path(search, np.concatenate([lambdas, beyond]), random_state):
        if is_far(point):
            skipped.append(point)
            continue
        found, is_small = look(point)
        yield found
        if not is_small:
            low, high = point, None
            skipped.clear()
            continue
        high = high or point.lambda_
        # The estimates can be wrong: the largest skipped lambda is looked at, too.
        while low is None and skipped:
            other = skipped.pop()
            found, is_small = look(other)
            yield found
            low, high = (None, other.lambda_) if is_small else (other, high)
        # Costs need not grow with lambda: if the first tree costs too much, a later one may not.
        is_last = point.lambda_ >= lambdas[-1] or found[1].n_leaves == 1
        if low is not None or not goal.is_of_cost or is_last:
            break
    return low, high


def _below(search, look, first, high, random_state):
    """Yield trees at lambdas below `first`, the start of the grid, until one is not small.

    A tree is small if smaller trees cannot suit the goal better; see ``goal.is_small``.

    Returns
    -------
    low : Point, or None
        The tree that is not small.
    high : float
        The smallest lambda so far at which the tree is small; `high` if no lambda below `first`.
    """
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
    """Return the goal for one of two limits, or None without limits.

    Raises
    ------
    ValueError
        If both are given.
    """
    if max_parameters is not None and max_cost_increase is not None:
        raise ValueError(
            "Give max_parameters or max_cost_increase, not both: one limits the other."
        )
    if max_parameters is not None:
        return MaxParameters(max_parameters)
    return None if max_cost_increase is None else MaxCostIncrease(max_cost_increase)


@dataclass(frozen=True)
class Criterion:
    """Selection criterion of a search: compares states, and prunes a state to a limit.

    Without a limit, states are compared by cost plus a penalty per parameter. With a limit of
    parameters they are compared by cost, and with a limit of cost by the number of parameters. A
    state beyond the limit has an infinite value.

    Parameters
    ----------
    price : float
        Penalty per parameter. With a limit it is the penalty at which pruning starts.
    most_parameters : int, optional
    most_cost : float, optional
    """

    price: float
    most_parameters: int | None = None
    most_cost: float | None = None

    def over(self, share):
        """Return the criterion for other rows, whose cost is `share` times that of these rows."""
        most_cost = None if self.most_cost is None else share * self.most_cost
        return replace(self, price=share * self.price, most_cost=most_cost)

    def value(self, state):
        """Return the number by which the search compares states: less is better.

        It is infinite if the tree of the state is beyond a limit.
        """
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
        """Return the state, pruned until it is within the limit if that is possible."""
        if self.most_parameters is not None and self.value(state) == np.inf:
            smaller = prune_stepwise(search, state, self.price)
            return next((other for other in smaller if self.value(other) < np.inf), state)
        if self.most_cost is not None:
            for other in prune_stepwise(search, state, self.price):
                if self.value(other) == np.inf:
                    break
                state = min(state, other, key=self.value)
        return state


class _Goal:
    """Base class of the goals for the size of a tree; by default there is no limit."""

    is_limit: ClassVar[bool] = False
    is_of_cost: ClassVar[bool] = False

    def has_room_for(self, tree):
        """Return whether a tree is within the limit of size; True if the goal has no such limit."""
        return True

    def is_small(self, cost, tree):
        """Return whether smaller trees cannot suit the goal better."""
        return False

    def is_far(self, cost, tree):
        """Return whether a tree will not be small after its last passes either."""
        return False

    def criterion(self, problem, price):
        """Return the criterion by which a local search compares trees; `price` is per parameter."""
        return Criterion(price)


@dataclass(frozen=True)
class Knee(_Goal):
    """The bend of the curve of cost over size; see the notes of :func:`knee`."""

    most: ClassVar[float] = 3.0
    kept: ClassVar[float] = 0.98

    def prefers(self, other, chosen):
        """Return whether a tree suits the goal better than the chosen tree.

        Both arguments are tuples of a Tree and its cost increase in percent. Here the tree must
        have no fewer clusters, and must not be both larger and more costly.
        """
        is_larger = other[0].n_parameters > chosen[0].n_parameters
        is_dearer = other[1] > chosen[1] - _ROUNDING
        return other[0].n_clusters >= chosen[0].n_clusters and not (is_larger and is_dearer)

    def choose(self, costs, trees, where=""):
        """Return the position of the tree at the knee of cost over size; see :func:`knee`.

        Parameters
        ----------
        costs : sequence of float
            Cost increases in percent.
        trees : sequence of Tree
        where : str
            The knee ignores it. Other goals use it in a warning to name the rows on which costs
            were measured.
        """
        return int(self.ranked(costs, trees)[0])

    def ranked(self, costs, trees):
        """Return the positions of the candidates for the knee, the best one first: int array."""
        costs = np.asarray(costs, dtype=float)
        costs = np.where(
            np.isfinite(costs), costs, np.finfo(float).max
        )  # increases are infinite if the free clustering costs nothing
        x = np.log([tree.n_parameters for tree in trees])
        y = np.log1p(np.maximum(costs, 0.0))
        kept = np.array([tree.n_clusters for tree in trees])
        keeps = kept >= self.kept * kept.max()
        is_cheap = keeps & (costs <= self.most)
        is_candidate = is_cheap if is_cheap.any() else keeps
        width, height = np.ptp(x), np.ptp(y)
        if width == 0 or height == 0:
            order = np.lexsort((x, y))
        else:
            order = np.argsort((x - x.min()) / width + (y - y.min()) / height, kind="stable")
        return order[is_candidate[order]]


@dataclass(frozen=True)
class MaxParameters(_Goal):
    """Goal of least cost within a limit of parameters.

    If no tree is within the limit, the smallest tree is chosen.
    """

    limit: int
    is_limit: ClassVar[bool] = True

    def has_room_for(self, tree):
        """Return whether a tree is within the limit of parameters."""
        return tree.n_parameters <= self.limit

    def is_small(self, cost, tree):
        """Return whether a tree is within the limit. If it is, smaller trees are rarely better."""
        return self.has_room_for(tree)

    def is_far(self, cost, tree):
        """Return whether a tree has many more parameters than its last passes can remove."""
        return tree.n_parameters > _MOST_SHRINKAGE * self.limit

    def prefers(self, other, chosen):
        """Return whether a tree is within the limit and costs less than the chosen tree.

        Both arguments are tuples of a Tree and its cost increase in percent.
        """
        return self.has_room_for(other[0]) and other[1] < chosen[1]

    def criterion(self, problem, price):
        """Return the criterion of a local search: the least cost within the limit of parameters."""
        return Criterion(price, most_parameters=self.limit)

    def choose(self, costs, trees, where=""):
        """Return the position of the tree of least cost within the limit of parameters.

        If no tree is within the limit, it warns and returns the position of the smallest tree.
        """
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(sizes <= self.limit)
        if len(meets) == 0:
            warn(
                f"No tree with at most max_parameters={self.limit} was found; the smallest has "
                f"{sizes.min()} parameters and is returned."
            )
            return int(np.lexsort((costs, sizes))[0])
        return int(meets[np.lexsort((sizes[meets], np.asarray(costs)[meets]))[0]])


@dataclass(frozen=True)
class MaxCostIncrease(_Goal):
    """Goal of fewest parameters within a limit of the cost increase in percent.

    If no tree is within the limit, the tree of least cost is chosen.
    """

    limit: float
    is_limit: ClassVar[bool] = True
    is_of_cost: ClassVar[bool] = True

    def is_small(self, cost, tree):
        """Return whether a tree exceeds the limit of cost; smaller trees then usually do, too."""
        return cost > self.limit + _ROUNDING

    def is_far(self, cost, tree):
        """Return whether the last passes will hardly raise the cost of a tree to the limit."""
        return cost <= _FAR_FROM_COST * self.limit

    def prefers(self, other, chosen):
        """Return whether a tree is within the limit and smaller than the chosen tree.

        Both arguments are tuples of a Tree and its cost increase in percent.
        """
        sizes = other[0].n_parameters, chosen[0].n_parameters
        return not self.is_small(other[1], other[0]) and sizes[0] < sizes[1]

    def criterion(self, problem, price):
        """Return the criterion of a local search: fewest parameters within the limit of cost."""
        return Criterion(price, most_cost=problem.cost_at(self.limit + _ROUNDING))

    def choose(self, costs, trees, where=""):
        """Return the position of the tree with the fewest parameters within the limit of cost.

        If no tree is within the limit, it warns and returns the position of the tree of least
        cost. The warning contains `where`, the rows on which the costs were measured.
        """
        costs = np.asarray(costs)
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(costs <= self.limit + _ROUNDING)
        if len(meets) == 0:
            warn(
                f"No tree within max_cost_increase={self.limit:g} was found: the best one costs "
                f"{costs.min():.3g} % more than the free clustering{where}, and is returned. A "
                "larger depth or max_leaves may help."
            )
            return int(np.lexsort((sizes, costs))[0])
        return int(meets[np.lexsort((costs[meets], sizes[meets]))[0]])
