"""Fits of oblique trees: the path along lambda, the last passes, and the local search.

A *path* fits a tree at each of several increasing lambdas, starting from the tree before. The trees
near the goal get last passes, and a local search starts from the best one.

The last passes are *refits*, which fit every node on the features that it has, with less shrinkage,
and *exact passes*, which solve the nodes for the clustering cost itself plus a penalty per
parameter. The penalty comes from the :class:`Selection` criterion by which trees are compared.

Each round of the *local search* grows some leaves where rows cost most, and fits all nodes once
with perturbed weights of the rows. Last passes follow, and the better tree is kept. The search is
ours; see Lourenco, Martin & Stutzle (2003) for iterated local search.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._utils.matrices import row_size, variances
from ..penalties import CostCriterion
from ..solvers import NodeProblem, Refit
from ..tree.growth import Growth
from ..tree.routing import ReducedSets
from .choose import ROUNDING, Goal, knee_value
from .state import State, best_start, descend, is_less, starting_trees

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

# Passes of the refits.
_REWEIGHTED_PASSES = 1
_RELAXED_PASSES = 4
_N_REWEIGHTINGS = 2
_RELAXED_SHARE = 0.03  # the last refit uses this share of lambda as its strength

# Passes on the clustering cost itself.
_MOST_EXACT_PASSES = 4
# Passes end when one saves at most this share of the excess cost over the free clustering.
_LEAST_SAVING = 1e-3
# The penalty per parameter is _SLOPE times the excess cost of the tree over the free clustering,
# divided by its number of parameters. This suits trees whose excess is in proportion to 1 / (number
# of parameters) ** 2. The penalty is at most _MOST_SHARE of the mean saving per parameter against
# a single cluster, because otherwise trees that save little would lose all their splits.
_SLOPE, _MOST_SHARE = 2.0, 0.5
_FLOOR = 1e-6  # least excess cost in this formula, as a share of the summed costs of mismatches
_CHEAPER = 0.25  # factor of the penalty after a pass that would lose clusters
# `prune_stepwise` multiplies the penalty by this factor after each pass, for at most this many
# passes.
_COSTLIER, _MOST_STEPS = 1.15, 60

# Local search.
_NOISE = 0.3  # row weights are multiplied by exp(_NOISE * z) with a standard normal z per row
_MOST_GROWN = 3  # maximum number of leaves that are split per round
_SHARES = (0.1, 0.3, 1.0)  # the strength of a round is lambda times one of these, at random
# If there are at least 20 000 rows, the search fits trees to a sample of this many rows, and
# compares them on all rows; without random rounds, to a sample of the second number.
PILOT_ROWS, _FEW_ROWS = 10_000, 2000


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
    return finish(fit, point.state, point.lambda_)


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


def finish(fit, state, lambda_):
    """Return the tree of a state after refits, exact passes and simplification, as a Candidate."""
    return fit.finished(_refined(fit, fit.search, Point(lambda_, state)), lambda_)


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
    return search.pilot(PILOT_ROWS, fit.random_state)


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
    state = refit(search, state, point.lambda_)
    criterion = Selection.from_goal(goal or Goal(), search.problem, state)
    return optimize_exact(search, state, criterion.price)


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
    for _ in range(0 if None in (low, high) or fit.is_beaten else _N_BISECTIONS):
        lambda_ = float(np.sqrt(low.lambda_ * high))
        point = Point(lambda_, descend(sampled(fit), low.state, lambda_))
        yield (found := finish(fit, point.state, point.lambda_))
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
        yield (found := finish(fit, point.state, point.lambda_))
        if not _is_small(goal, found):
            low, high = point, None
            skipped.clear()
            continue
        high = high or point.lambda_
        # The estimates can be wrong: the largest skipped lambda is looked at, too.
        while low is None and skipped:
            other = skipped.pop()
            yield (between := finish(fit, other.state, other.lambda_))
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
        yield (found := finish(fit, point.state, point.lambda_))
        if not _is_small(goal, found):
            return point, high
        high = point.lambda_
    return None, high


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


# ---------------------------------------------------------------- last passes


def refit(search, state, lambda_):
    """Refit every node on the features that it has, with less shrinkage of the weights.

    Two rounds with a larger penalty on small weights (adaptive lasso) remove unimportant features.
    The other weights are then fitted with 3 % of the strength (relaxed lasso), and each threshold
    minimises the weighted 0/1 loss of its node. Less shrinkage lowers the cost, and fewer features
    reduce the size.

    Parameters
    ----------
    search : Evaluator
    state : State
    lambda_ : float

    Returns
    -------
    State
    """
    step = search.step

    def passes(state, strength, n_passes, reweights):
        refitting = step.with_solver(Refit(step.solver, step.view, reweights))
        # States are compared by cost, because a refit reduces the shrinkage.
        options = {"stage": "relax", "n_passes": n_passes, "step": refitting, "price": 0.0}
        return descend(search, state, strength, keeps_start=not reweights, **options)

    for _ in range(_N_REWEIGHTINGS):
        state = passes(state, lambda_, _REWEIGHTED_PASSES, reweights=True)
    return passes(state, _RELAXED_SHARE * lambda_, _RELAXED_PASSES, reweights=False)


def penalty_per_parameter(problem, state):
    """Return a penalty per parameter at which a tree of about this size is optimal: float > 0.

    It is in proportion to the excess cost of the tree per parameter.

    Parameters
    ----------
    problem : Problem
    state : State
    """
    cost, least = state.inertia, _FLOOR * problem.mismatch_cost
    price = _SLOPE * max(cost - problem.free.inertia, least)
    if state.n_leaves > 1:  # a tree of one leaf has no splits to lose
        price = min(price, _MOST_SHARE * max(problem.undivided_cost - cost, least))
    return price / state.n_parameters


def optimize_exact(search, state, price, n_passes=_MOST_EXACT_PASSES, keeps_clusters=True):
    """Run passes in which no update of a node raises the cost plus `price` per parameter.

    Parameters
    ----------
    search : Evaluator
    state : State
    price : float, penalty per parameter
    n_passes : int, maximum number of passes
    keeps_clusters : bool, default=True
        If a pass leaves fewer clusters with a leaf, its tree is discarded, and the penalty of the
        next pass is lower.

    Returns
    -------
    State after the last pass that lowered the sum of the cost and the penalties
    """
    enough = _LEAST_SAVING * max(0.0, state.inertia - search.problem.free.inertia)
    for _ in range(n_passes):
        start, step = search.step.routed(state.pruned), search.exact_step
        found = step.one_pass(start, search.criterion(state), price, is_judged=True)
        if found.tree is start.tree:
            break
        other = search.evaluate(*found)
        is_poorer = keeps_clusters and other.n_clusters < state.n_clusters
        saving = state.score(price) - other.score(price)
        is_better = saving > 0 and not is_poorer
        search.record("exact", other, price, kept=is_better)
        state = other if is_better else state
        price *= _CHEAPER if is_poorer else 1.0
        if saving <= enough and not is_poorer:
            break
    return state


def prune_stepwise(search, state, price):
    """Yield smaller and smaller trees by passes with a growing penalty per parameter.

    Parameters
    ----------
    search : Evaluator
    state : State
    price : float, penalty at the start

    Yields
    ------
    State
    """
    for _ in range(_MOST_STEPS):
        state = optimize_exact(search, state, price, n_passes=1, keeps_clusters=False)
        yield state
        if state.n_leaves == 1:
            break
        price *= _COSTLIER


@dataclass(frozen=True)
class Selection:
    """Selection criterion of a search: compares states, and prunes a state to a limit.

    If the goal is the knee, states are compared by its value. With a limit of parameters they are
    compared by cost, and with a limit of cost by the number of parameters. A state beyond the limit
    has an infinite value. Without a goal, states are compared by cost plus a penalty per parameter.

    Parameters
    ----------
    price : float
        Penalty per parameter. At the knee it is the change of its value by one parameter, and with
        a limit it is the penalty at which pruning starts.
    percent : float
        One percent of the cost of the free clustering.
    n_clusters : int, optional
        It is given if the goal is the knee.
    most_parameters : int, optional
    most_cost : float, optional
    """

    price: float
    percent: float
    n_clusters: int | None = None
    most_parameters: int | None = None
    most_cost: float | None = None

    @classmethod
    def from_goal(cls, goal, problem, state):
        """Return the criterion of a goal for the rows of a problem, near a state of these rows."""
        most_cost, n_clusters = None, None if goal.is_limit else goal.n_clusters
        if goal.limits_cost:
            most_cost = problem.cost_at(goal.max_cost_increase + ROUNDING)
        price, least = penalty_per_parameter(problem, state), _FLOOR * problem.mismatch_cost
        percent = max(problem.cost_at(1) - problem.cost_at(0), least)
        if n_clusters is not None and state.n_leaves > 1:
            size = state.n_parameters
            slope = knee_value(0, size, n_clusters) - knee_value(0, size - 1, n_clusters)
            most = max(problem.undivided_cost - state.inertia, least) / size
            price = min(percent * slope, _MOST_SHARE * most)
        return cls(price, percent, n_clusters, goal.max_parameters, most_cost)

    def over(self, share):
        """Return the criterion for other rows, whose cost is `share` times that of these rows."""
        most_cost = None if self.most_cost is None else share * self.most_cost
        terms = {"price": share * self.price, "percent": share * self.percent}
        return replace(self, **terms, most_cost=most_cost)

    def value(self, state):
        """Return the number by which the search compares states: less is better.

        It is infinite if the tree of the state is beyond a limit.
        """
        size = state.n_parameters
        if self.most_parameters is not None:
            return state.inertia if size <= self.most_parameters else np.inf
        if self.most_cost is None:
            if self.n_clusters is None:
                return state.score(self.price)
            return state.inertia + self.percent * knee_value(0, size, self.n_clusters)
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
    criterion = Selection.from_goal(goal, rows.problem, own)
    share = state.inertia / own.inertia if own.inertia > 0 else 1.0
    terms = (criterion.over(share), effort, rivals, fit.random_state)
    found = improvements(search, state, lambda_, *terms)
    for other in found:
        if criterion.value(candidate := rows.take(other, search)) < np.inf:
            own = candidate
            yield own
    # The search may have used noisy copies of the rows. On the original rows, the result must
    # be at least as good as axis-aligned trees.
    others = [] if rows is search else rows.single_features(own)
    others = [other for other in others if other.n_parameters <= own.n_parameters]
    most_leaves, _ = search.settings.limits.of_leaves_and_depth(search)
    for other in [*map(rows.evaluate, rivals), *others]:
        if other.n_leaves <= most_leaves and is_better(criterion, other, own):
            own = other
            yield own


def improvements(search, state, lambda_, criterion, effort, rivals, random_state):
    """Yield the state of each tree of a local search that is better than all trees before it.

    Parameters
    ----------
    search : Evaluator
    state : State
    lambda_ : float
    criterion : Selection
        It compares trees.
    effort : Effort
    rivals : sequence of Tree
        Further trees. Larger ones can be better after they are pruned to the limit of the
        criterion.
    random_state : int, RandomState instance or None

    Yields
    ------
    State
    """
    rng, X = check_random_state(random_state), search.problem.X
    n_rounds = effort.n_rounds_over(row_size(X) * min(X.shape[0], PILOT_ROWS))
    pilot = search.pilot(PILOT_ROWS if n_rounds or rivals else _FEW_ROWS, rng)
    here, limits = pilot.take(state, search), search.settings.limits.of_leaves_and_depth(search)

    def candidates():
        yield from map(pilot.evaluate, rivals)
        for other in pilot.single_features(here):
            if criterion.value(other) < criterion.value(here):
                yield other
        for _ in range(n_rounds):
            other = disturbed(pilot, here, lambda_, limits, rng)
            yield refit(pilot, other, lambda_)

    for candidate in candidates():
        other = criterion.reached(pilot, optimize_exact(pilot, candidate, criterion.price))
        whole = other
        wins = other.n_leaves <= limits[0] and is_better(criterion, other, here)
        if wins and pilot is not search:
            whole = criterion.reached(search, search.evaluate(other.pruned))
            wins = is_better(criterion, whole, state)
        pilot.record("search", other, lambda_, kept=wins)
        if wins:
            here, state = other, whole
            yield state


def disturbed(search, state, lambda_, limits, rng):
    """Return a randomly changed tree: some leaves are split, then all nodes are fitted once.

    For these fits, each row weight is multiplied by a random factor.

    Parameters
    ----------
    search : Evaluator
    state : State
        The tree to change. Every node is reached by rows.
    lambda_ : float
        The penalty of the L1 norm of the weights is `lambda_` times a random element of `_SHARES`.
    limits : tuple of (maximum number of leaves, maximum depth)
    rng : RandomState

    Returns
    -------
    State of the changed tree, with the actual row weights
    """
    strength = lambda_ * _SHARES[rng.randint(len(_SHARES))]
    room = min(limits[0] - state.n_leaves, rng.randint(_MOST_GROWN + 1))
    state = search.evaluate(grown(search, state, int(room), limits[1], strength, rng))
    noisy = search.problem.weight * np.exp(_NOISE * rng.standard_normal(search.problem.n_rows))
    criterion = CostCriterion(search.distances(state.centers), noisy)
    return search.evaluate(
        *search.step.one_pass(state.routed, criterion, strength, is_judged=False)
    )


def grown(search, state, n_leaves, most_depth, strength, rng):
    """Return the tree of a state with some random leaves split.

    Leaves are drawn at random. The probability of a leaf is in proportion to the cost that it would
    save if each of its rows could have the better one of two labels: the label of the leaf and the
    best second label.

    Parameters
    ----------
    search : Evaluator
    state : State
        Every node of its tree is reached by rows.
    n_leaves : int, maximum number of new leaves
    most_depth : int, maximum depth of leaves
    strength : float, penalty on ||w||_1 of the new tests
    rng : RandomState

    Returns
    -------
    Tree
    """
    tree, weight = state.pruned, search.problem.weight
    distances = search.distances(state.centers)
    rows_of = ReducedSets(tree, search.step.leaves_of(tree))
    savings, second = _savings(tree, rows_of, distances, weight)
    found = np.flatnonzero((savings > 0) & (tree.depth < most_depth))
    if n_leaves <= 0 or len(found) == 0:
        return tree
    chances = savings[found] / savings[found].sum()
    growth = Growth.from_tree(tree)
    for leaf in rng.choice(found, min(n_leaves, len(found)), replace=False, p=chances):
        rows, labels = rows_of[leaf], (tree.leaf_label[leaf], second[leaf])
        gain = weight[rows] * (distances[rows, labels[0]] - distances[rows, labels[1]])
        care = gain != 0
        problem = NodeProblem(rows[care], gain[care] > 0, np.abs(gain[care]), strength)
        if not problem.goes_right.all():
            split, _ = search.step.solver.solve(problem)
            growth.split(leaf, split, labels)
    return growth.to_tree(tree.n_features)


def _savings(tree, rows_of, distances, weight):
    """Return the cost that a second label could save in each leaf, and the best such label.

    The saving assumes that each row of the leaf gets the cheaper one of the two labels.
    """
    savings, second = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, np.intp)
    for leaf in tree.leaves:
        rows = rows_of[leaf]
        own = distances[rows, tree.leaf_label[leaf]]
        by_label = weight[rows] @ np.maximum(own[:, None] - distances[rows], 0.0)
        second[leaf] = by_label.argmax()
        savings[leaf] = by_label[second[leaf]]
    return savings, second


def is_better(criterion, state, other):
    """Return whether `state` has a lower value of the criterion than `other`, and as many clusters.

    More clusters are allowed, too.
    """
    is_lower = is_less(criterion.value(state), criterion.value(other))
    return is_lower and state.n_clusters >= other.n_clusters
