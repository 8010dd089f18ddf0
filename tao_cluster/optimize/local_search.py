"""Local search for better oblique trees: grow, perturb, refit and prune.

Each round grows some leaves where rows cost most, and fits all nodes once with perturbed weights of
the rows. Refits and exact passes follow, and the better tree is kept. The search is ours; see
Lourenco, Martin & Stutzle (2003) for iterated local search.
"""

import numpy as np
from sklearn.utils import check_random_state

from .._utils.matrices import row_size
from ..penalties import CostCriterion
from ..solvers import NodeProblem
from ..tree.growth import Growth
from ..tree.routing import ReducedSets
from . import last_passes
from .state import is_less

_NOISE = 0.3  # row weights are multiplied by exp(_NOISE * z) with a standard normal z per row
_MOST_GROWN = 3  # maximum number of leaves that are split per round
_SHARES = (0.1, 0.3, 1.0)  # the strength of a round is lambda times one of these, at random
# If there are at least 20 000 rows, the search fits trees to a sample of this many rows, and
# compares them on all rows; without random rounds, to a sample of the second number.
PILOT_ROWS, _FEW_ROWS = 10_000, 2000


def improvements(search, state, lambda_, criterion, effort, rivals, random_state):
    """Yield the state of each tree of a local search that is better than all trees before it.

    Parameters
    ----------
    search : Evaluator
    state : State
    lambda_ : float
    criterion : Criterion
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
    here, limits = pilot.take(state, search), search.limits()

    def candidates():
        yield from map(pilot.evaluate, rivals)
        for other in pilot.single_features(here):
            if criterion.value(other) < criterion.value(here):
                yield other
        for _ in range(n_rounds):
            other = disturbed(pilot, here, lambda_, limits, rng)
            yield last_passes.refit(pilot, other, lambda_)

    for candidate in candidates():
        other = criterion.reached(
            pilot, last_passes.optimize_exact(pilot, candidate, criterion.price)
        )
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
