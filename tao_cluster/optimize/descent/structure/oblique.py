"""Iterated local search over oblique trees: disturb one, descend, refit, tune, keep the better.

A disturbance grows some leaves where rows overpay most and fits all nodes once to rows whose
weights are noisy. What follows is what ends any descent: refits, and passes on the true cost. The
search is ours; Lourenco, Martin & Stutzle (2003) describe its kind.
"""

import numpy as np
from sklearn.utils import check_random_state

from ...._utils.matrices import row_size
from ....penalties import CostCriterion
from ....solvers import NodeProblem
from ....tree.growth import Growth
from ....tree.routing import ReducedSets
from ..refits import refit
from ..true_cost import tuned

_NOISE = 0.3  # standard deviation of the logarithm of a row's weight
_MOST_GROWN = 3  # leaves
_SHARES = (0.1, 0.3, 1.0)  # of lambda
# A sample of so many rows finds trees where there are twice as many; all rows accept them.
_PILOT_ROWS = 10_000
_FEW_ROWS = 2000  # where there are no rounds, only trees that are there already
_LEAST_PROGRESS = 1e-9  # of the score


def improvements(search, state, lambda_, aim, effort, rivals, random_state):
    """Yield better and better trees.

    Parameters
    ----------
    search : Search
    state : State
    lambda_ : float
    aim : Priced, AtMost or Within, which says which trees are better
    effort : Effort
    rivals : sequence of Tree, which may be better when they are brought to the aim
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
            if aim.value(other) < aim.value(here):
                yield other
        for _ in range(n_rounds):
            other = disturbed(pilot, here, lambda_, limits, rng)
            yield refit(pilot, other, lambda_)

    for candidate in candidates():
        other = aim.reached(pilot, tuned(pilot, candidate, aim.price))
        whole = other
        wins = other.pruned.n_leaves <= limits[0] and is_better(aim, other, here)
        if wins and pilot is not search:
            whole = aim.reached(search, search.evaluate(other.pruned))
            wins = is_better(aim, whole, state)
        pilot.record("search", other, lambda_, kept=wins)
        if wins:
            here, state = other, whole
            yield state


def disturbed(search, state, lambda_, limits, rng):
    """State after some leaves are grown and all nodes fitted to rows of noisy weights.

    Parameters
    ----------
    search : Search
    state : State, without dead nodes
    lambda_ : float
    limits : tuple of numbers, most leaves and depth
    rng : RandomState

    Returns
    -------
    State
    """
    strength = lambda_ * _SHARES[rng.randint(len(_SHARES))]
    room = min(limits[0] - state.pruned.n_leaves, rng.randint(_MOST_GROWN + 1))
    state = search.evaluate(grown(search, state, int(room), limits[1], strength, rng))
    noisy = search.problem.weight * np.exp(_NOISE * rng.standard_normal(search.problem.n_rows))
    criterion = CostCriterion(search.distances(state.centers), noisy)
    return search.evaluate(search.step.one_pass(state.tree, criterion, strength, is_judged=False))


def grown(search, state, n_leaves, most_depth, strength, rng):
    """The tree of a state with some leaves split, drawn by what another label would save there.

    Parameters
    ----------
    search : Search
    state : State, without dead nodes
    n_leaves : int, the most
    most_depth : int, of the leaves
    strength : float
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
    growth = Growth.of(tree)
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
    """What the best second label would save the rows of each leaf, and that label."""
    savings, second = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, np.intp)
    for leaf in tree.leaves:
        rows = rows_of[leaf]
        own = distances[rows, tree.leaf_label[leaf]]
        by_label = weight[rows] @ np.maximum(own[:, None] - distances[rows], 0.0)
        second[leaf] = by_label.argmax()
        savings[leaf] = by_label[second[leaf]]
    return savings, second


def is_better(aim, state, other):
    """Whether a state is worth more and has no fewer clusters."""
    limit = aim.value(other)
    limit -= _LEAST_PROGRESS * abs(limit) if limit < np.inf else 0.0
    return aim.value(state) < limit and state.pruned.n_clusters >= other.pruned.n_clusters
