"""The end of a descent of oblique trees: refits, passes on the clustering cost, and local search.

A refit fits every node on the features that it has, with less shrinkage. Exact passes solve the
nodes for the clustering cost itself plus a penalty per parameter. The search perturbs a tree: it
grows some leaves where rows cost most, and fits all nodes once with perturbed weights of the rows.
Refits and exact passes follow, and the better tree is kept. The search is ours; see Lourenco,
Martin & Stutzle (2003) for iterated local search.
"""

import numpy as np
from sklearn.utils import check_random_state

from .._utils.matrices import row_size
from ..penalties import CostCriterion
from ..solvers import NodeProblem, Refit
from ..tree.growth import Growth
from ..tree.routing import ReducedSets
from .direct_form import descend

# Constants of the refits.
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

# Constants of the local search, which perturbs and refits trees.
_NOISE = 0.3  # row weights are multiplied by exp(_NOISE * z) with a standard normal z per row
_MOST_GROWN = 3  # maximum number of leaves that are split per round
_SHARES = (0.1, 0.3, 1.0)  # the strength of a round is lambda times one of these, at random
# If there are at least 20 000 rows, the search fits its trees to a sample of 10 000 rows. Trees
# that are better there are then compared on all rows.
_PILOT_ROWS = 10_000
_FEW_ROWS = 2000  # size of the sample instead if the search has no random rounds
_LEAST_PROGRESS = 1e-9  # smaller relative decreases of the criterion do not count


def refit(search, state, lambda_, is_rough=False):
    """Refit every node on the features that it has, with less shrinkage of the weights.

    Two rounds with a larger penalty on small weights (adaptive lasso) remove unimportant features.
    The other weights are then fitted with 3 % of the strength (relaxed lasso), and each threshold
    minimises the weighted 0/1 loss of its node. Less shrinkage lowers the cost, and fewer features
    reduce the size.

    Parameters
    ----------
    search : Search
    state : State
    lambda_ : float
    is_rough : bool, default=False
        Make one pass with 3 % of the strength only, which is enough to compare trees.

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

    for _ in range(0 if is_rough else _N_REWEIGHTINGS):
        state = passes(state, lambda_, _REWEIGHTED_PASSES, reweights=True)
    n_passes = 1 if is_rough else _RELAXED_PASSES
    return passes(state, _RELAXED_SHARE * lambda_, n_passes, reweights=False)


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
    if state.pruned.n_leaves > 1:  # a tree of one leaf has no splits to lose
        price = min(price, _MOST_SHARE * max(problem.undivided_cost - cost, least))
    return price / state.pruned.n_parameters


def optimize_exact(search, state, price, n_passes=_MOST_PASSES, keeps_clusters=True):
    """Run passes in which no update of a node raises the cost plus `price` per parameter.

    Parameters
    ----------
    search : Search
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
        is_poorer = keeps_clusters and other.pruned.n_clusters < state.pruned.n_clusters
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
    search : Search
    state : State
    price : float, penalty at the start

    Yields
    ------
    State
    """
    for _ in range(_MOST_STEPS):
        state = optimize_exact(search, state, price, n_passes=1, keeps_clusters=False)
        yield state
        if state.pruned.n_leaves == 1:
            break
        price *= _COSTLIER


def improvements(search, state, lambda_, criterion, effort, rivals, random_state):
    """Yield the state of each tree of a local search that is better than all trees before it.

    Parameters
    ----------
    search : Search
    state : State
    lambda_ : float
    criterion : Criterion
        It compares trees.
    effort : Effort
    rivals : sequence of Tree
        Larger trees, which can be better after they are pruned to the limit of the criterion.
    random_state : int, RandomState instance or None

    Yields
    ------
    State
    """
    rng, X = check_random_state(random_state), search.problem.X
    n_rounds = effort.n_rounds_over(row_size(X) * min(X.shape[0], _PILOT_ROWS))
    pilot = search.pilot(_PILOT_ROWS if n_rounds or rivals else _FEW_ROWS, rng)
    here, limits = pilot.take(state, search), search.limits()

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
        wins = other.pruned.n_leaves <= limits[0] and is_better(criterion, other, here)
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
    search : Search
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
    room = min(limits[0] - state.pruned.n_leaves, rng.randint(_MOST_GROWN + 1))
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
    search : Search
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

    More clusters are allowed, too. Decreases below 1e-9 of the value do not count.
    """
    limit = criterion.value(other)
    limit -= _LEAST_PROGRESS * abs(limit) if limit < np.inf else 0.0
    return criterion.value(state) < limit and state.pruned.n_clusters >= other.pruned.n_clusters
