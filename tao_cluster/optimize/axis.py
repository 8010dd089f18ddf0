"""Fits of axis-aligned trees: paths along the number of leaves, and the choice of a size.

The number of leaves is the natural measure of size for axis-aligned trees: each further leaf costs
one test of one feature. Trees of two kinds are fitted at a number of leaves:

- :func:`_grown` grows one tree by regrowth and descent. This is fast, and shows where the curve of
  cost over size bends.
- :func:`_at` runs the search of ``TAOClustering(max_leaves=...)``, also grows the next smaller tree
  that was found, and keeps the best. Before the last passes on noisy copies, a path is thus never
  worse than single fits.
"""

import numpy as np

from .local_search import better_start, regrow
from .simplify import pruned_to
from .state import Evaluator, approach, best_start, descend, starting_trees

_N_SIZES = 10  # maximum number of trees on a path, each with another number of leaves
# With a size limit, trees are fitted at this many numbers of leaves: the limit and those just below
# it. A single random search can miss the best tree.
_N_NEAR = 3
# With a limit of cost, smaller trees are tried until this many consecutive sizes miss the limit.
_MOST_IN_VAIN = 2
_LAMBDA = 0.0  # penalty per test; 0 because the number of leaves sets the size


def path(fit, goal):
    """Yield trees of several numbers of leaves, from which a goal chooses one: Candidates.

    Parameters
    ----------
    fit : Fit
    goal : Goal
    """
    if fit.unseen is not None:  # the choice of a size needs no complete search
        yield from _rough_path(fit, {})
    elif goal.limits_cost:
        yield from _within_cost(fit, goal)
    elif goal.limits_size:
        found, most = {}, min(_sizes(fit)[1], (goal.max_parameters + 2) // 3)
        for n_leaves in range(max(1, most - _N_NEAR + 1), max(1, most) + 1):
            yield _at(fit, n_leaves, found)
    else:
        found, rough = {}, []
        for candidate in _rough_path(fit, found):
            rough.append(candidate)
            yield candidate
        order = goal.order([one.cost for one in rough], [one.tree for one in rough])
        yield _at(fit, rough[order[0]].size, found)


def at_size(fit, n_leaves):
    """Return the tree of at most `n_leaves` leaves after a complete search, as a Candidate."""
    return _at(fit, n_leaves, {})


def per_size(fit, sizes=None):
    """Yield one tree per number of leaves; None stands for the default numbers: Candidates."""
    found = {}
    for n_leaves in leaf_grid(*_sizes(fit)) if sizes is None else sizes:
        yield _at(fit, n_leaves, found)


def start(search, trees, lambda_, random_state):
    """Return the best of the initial trees, or the result of a search from all of them."""
    trees = list(trees)
    state = best_start(search, trees, lambda_, random_state)
    if not search.settings.searches:
        return state
    return better_start(search, state, trees, lambda_, random_state)


def finish(fit, state, lambda_, size=None):
    """Return the tree of a state after regrowth of leaves and simplification, as a Candidate.

    The last passes also count noisy copies of the rows, so that the tree holds on new rows.
    `max_parameters` promises the least cost of the rows, which copies would raise.
    """
    search, size = fit.search, lambda_ if size is None else size
    settings = search.settings
    can_grow = settings.relax and settings.solver.can_expand
    if can_grow and size == lambda_:
        state = regrow(search, state, lambda_)
    goal, there = settings.goal, search.with_copies
    if there is search or not can_grow or (goal is not None and goal.limits_size):
        return fit.finished(state, size)
    general = descend(there, there.evaluate(state.pruned), lambda_, stage="relax")
    general = regrow(there, general, lambda_, state.n_leaves)
    found = fit.finished(search.take(general, there), size)
    # If the copies raise the cost above its limit, the tree of the rows alone is kept.
    if goal is not None and not goal.allows(found.cost):
        return fit.finished(state, size)
    return found


def better_states(fit, state, lambda_, goal, effort, rivals=()):
    """Yield nothing, because :func:`start` has already searched over the structures."""
    yield from ()


def shrunk(fit, chosen, goal, max_leaves=None):
    """Return a candidate pruned to at most `max_parameters` and `max_leaves`."""
    search = fit.search
    most = [] if max_leaves is None else [max_leaves]
    most += [(goal.max_parameters + 2) // 3] if goal.limits_size else []
    tree = pruned_to(search, search.evaluate(chosen.tree), max(1, min(most)))
    return fit.finished(search.evaluate(tree), chosen.size)


def leaf_grid(fewest, most):
    """Return at most ten numbers of leaves from `fewest` to `most` in geometric steps.

    They are an increasing list of int.
    """
    sizes = np.geomspace(min(fewest, most), most, _N_SIZES)
    return np.unique(sizes.round().astype(int)).tolist()


def _sizes(fit):
    """Return the smallest and largest number of leaves on a path if the user gives no numbers."""
    settings, problem = fit.search.settings, fit.search.problem
    most = settings.size_limit
    if most is None:
        most = max(tree.n_leaves for tree in starting_trees(fit.search, fit.random_state))
    most = min(most, problem.n_rows)
    return min(problem.n_clusters, most), most


def _at(fit, n_leaves, found):
    """Return the tree of at most `n_leaves` leaves after a complete search, as a Candidate.

    Parameters
    ----------
    fit : Fit
    n_leaves : int
    found : dict of int to State
        The trees that were found, by their maximum number of leaves. The new one is added.
    """
    search = _limited(fit.search, n_leaves)
    trees = starting_trees(search, fit.random_state)
    state = approach(search, start(search, trees, _LAMBDA, fit.random_state), _LAMBDA)
    if search.settings.relax and search.settings.solver.can_expand:
        state = regrow(search, state, _LAMBDA)
    state = _best(search, state, n_leaves, found)
    return finish(fit, state, _LAMBDA, n_leaves)


def _grown(fit, n_leaves, found):
    """Return a tree of at most `n_leaves` leaves by regrowth, without the slower search."""
    search = _limited(fit.search, n_leaves)
    trees = starting_trees(search, fit.random_state)
    state = best_start(search, trees, _LAMBDA, fit.random_state)
    return fit.rough(_best(search, state, n_leaves, found), n_leaves)


def _limited(search, n_leaves):
    """Return an evaluator over the same rows for trees of at most `n_leaves` leaves."""
    settings = search.settings.limited(n_leaves)
    return Evaluator(search.problem, settings, search.step, search.history)


def _best(search, state, n_leaves, found):
    """Return and store the best of a state and of the largest smaller tree, regrown."""
    states, smaller = [state], [size for size in found if size <= n_leaves]
    if smaller:
        tree = found[max(smaller)].pruned
        states.append(regrow(search, search.evaluate(tree), _LAMBDA))
    found[n_leaves] = min(states, key=lambda state: (state.inertia, state.n_leaves))
    return found[n_leaves]


def _rough_path(fit, found):
    """Yield one grown tree per number of leaves of the grid: Candidates."""
    for n_leaves in leaf_grid(*_sizes(fit)):
        yield _grown(fit, n_leaves, found)


def _within_cost(fit, goal):
    """Grow larger and larger trees until one meets the limit of cost, then seek a smaller one."""
    low, found, tried = 0, {}, {}
    for rough in _rough_path(fit, found):
        yield rough
        high = rough.size
        if goal.allows(rough.cost):
            break
        low = high

    def candidate(n_leaves):
        tried[n_leaves] = _at(fit, n_leaves, found)
        return tried[n_leaves]

    yield candidate(high)
    while high - low > 1:
        middle = (low + high) // 2
        yield (other := candidate(middle))
        low, high = (low, middle) if goal.allows(other.cost) else (middle, high)
    # Searches are random, so a smaller tree may meet the limit although a larger one missed it.
    in_vain, size = 0, high - 1
    while size > 0 and in_vain < _MOST_IN_VAIN:
        if size in tried:
            in_vain += 1
        else:
            yield (other := candidate(size))
            in_vain = 0 if goal.allows(other.cost) else in_vain + 1
        size -= 1
