"""Last passes over an oblique tree: refits of its nodes, exact passes, and pruning.

A *refit* fits every node on the features that it has, with less shrinkage. *Exact passes* solve the
nodes for the clustering cost itself plus a penalty per parameter. The penalty comes from the
:class:`Criterion` by which trees are compared.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..solvers import Refit
from .choose import ROUNDING, knee_value
from .state import descend

# Passes of the refits.
_REWEIGHTED_PASSES = 1
_RELAXED_PASSES = 4
_N_REWEIGHTINGS = 2
_RELAXED_SHARE = 0.03  # the last refit uses this share of lambda as its strength

# Passes on the clustering cost itself.
_MOST_PASSES = 4
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


def optimize_exact(search, state, price, n_passes=_MOST_PASSES, keeps_clusters=True):
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
class Criterion:
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
