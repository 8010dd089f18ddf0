"""Axis-aligned trees along the number of leaves: the path, and the choice of a size on it.

The number of leaves is the natural measure of size for axis-aligned trees: each further leaf costs
one test of one feature. Trees of two kinds are fitted at a number of leaves:

- :meth:`LeafPath.grown` grows one tree by regrowth and descent. This is fast, and shows where the
  curve of cost over size bends.
- :meth:`LeafPath.at` runs the search of ``TAOClustering(max_leaves=...)``, also grows the next
  smaller tree that was found, and keeps the best. A path is thus never worse than single fits.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .direct_form import best_start
from .local_search import regrow
from .path import starting_trees
from .state import Search, State

_N_SIZES = 10  # numbers of leaves on a path
_N_NEAR = 3  # sizes that are searched for a limit of size: one search can be unlucky
_MOST_IN_VAIN = 2  # sizes in a row that miss a limit of cost, below the smallest that meets it
_LAMBDA = 0.0  # penalty per test; 0 because the number of leaves sets the size


def leaf_grid(fewest, most):
    """Return ten numbers of leaves in geometric steps, or fewer: an increasing list of int."""
    sizes = np.geomspace(min(fewest, most), most, _N_SIZES)
    return np.unique(sizes.round().astype(int)).tolist()


@dataclass
class LeafPath:
    """The axis-aligned trees that were found for a set of rows, by their maximum size.

    Parameters
    ----------
    search : Search
    random_state : int, RandomState instance or None
        Each search starts from it anew, as a fit with that many leaves does.
    """

    search: Search
    random_state: Any
    _found: dict[int, State] = field(default_factory=dict, init=False)

    @property
    def sizes(self):
        """Smallest and largest number of leaves of a path for which no numbers were given."""
        settings, problem = self.search.settings, self.search.problem
        most = settings.size_limit
        if most is None:
            most = max(tree.n_leaves for tree in starting_trees(self.search, self.random_state))
        most = min(most, problem.n_rows)
        return min(problem.n_clusters, most), most

    def at(self, n_leaves):
        """Return the best state of at most `n_leaves` leaves after a complete search."""
        search = self._limited(n_leaves)
        trees = starting_trees(search, self.random_state)
        *_, state = search.settings.algorithm.run(search, trees, _LAMBDA, self.random_state)
        return self._keep(n_leaves, [state, *self._from_smaller(search, n_leaves)])

    def grown(self, n_leaves):
        """Return a state of at most `n_leaves` leaves, quickly: without the search."""
        search = self._limited(n_leaves)
        trees = starting_trees(search, self.random_state)
        start = best_start(search, trees, _LAMBDA, self.random_state)
        return self._keep(n_leaves, [start, *self._from_smaller(search, n_leaves)])

    def _limited(self, n_leaves):
        """Return the search over the same rows for trees of at most `n_leaves` leaves."""
        search = self.search
        settings = search.settings.limited(n_leaves)
        return Search(search.problem, settings, search.step, search.history)

    def _from_smaller(self, search, n_leaves):
        """Return the largest tree found so far within the limit, regrown, in a list."""
        smaller = [size for size in self._found if size <= n_leaves]
        if not smaller:
            return []
        tree = self._found[max(smaller)].pruned
        return [regrow(search, search.evaluate(tree), _LAMBDA)]

    def _keep(self, n_leaves, states):
        """Return the state of least cost, and of fewest leaves among equal ones."""
        best = min(states, key=lambda state: (state.inertia, state.pruned.n_leaves))
        self._found[n_leaves] = best
        return best


def trees_for(path, goal, measure, measure_roughly):
    """Search the number of leaves that suits a goal.

    Parameters
    ----------
    path : LeafPath
    goal : Knee, MaxParameters or MaxCostIncrease
    measure, measure_roughly : callable(State) -> object with `tree` and `cost` in percent
        The second one may leave out what only the result needs.

    Yields
    ------
    object, from `measure` or `measure_roughly`
        The choice among the trees so far; the last one is the result.
    """
    if goal.is_of_cost:
        return _within_cost(path, goal, measure, measure_roughly)
    if goal.is_limit:
        return _within_size(path, goal, measure)
    return _at_the_knee(path, goal, measure, measure_roughly)


def _at_the_knee(path, goal, measure, measure_roughly):
    """Grow a tree over all sizes, and run the complete search at the size of the knee."""
    found, sizes = [], leaf_grid(*path.sizes)
    for n_leaves in sizes:
        found.append(measure_roughly(path.grown(n_leaves)))
        position = goal.choose([one.cost for one in found], [one.tree for one in found])
        yield found[position]
    yield measure(path.at(sizes[position]))


def _within_size(path, goal, measure):
    """Run the complete search at the largest size within the limit, and at two smaller sizes."""
    most = max(1, min(path.sizes[1], (goal.limit + 2) // 3))  # L leaves have 3 L - 2 parameters
    best = None
    for n_leaves in range(max(1, most - _N_NEAR + 1), most + 1):
        other = measure(path.at(n_leaves))
        if best is None or other.cost < best.cost:
            best = other
        yield best


def _within_cost(path, goal, measure, measure_roughly):
    """Grow a tree until it meets the limit, then search near its size for a smaller one."""
    low, found = 0, {}
    for high in leaf_grid(*path.sizes):
        best = measure_roughly(path.grown(high))
        yield best
        if not goal.is_small(best.cost, best.tree):
            break
        low = high

    def is_met(n_leaves):
        found[n_leaves] = one = measure(path.at(n_leaves))
        return not goal.is_small(one.cost, one.tree)

    is_met(high)
    yield found[high]
    while high - low > 1:
        middle = (low + high) // 2
        if is_met(middle):
            high = middle
            yield found[high]
        else:
            low = middle
    # A search can be unlucky: smaller trees may meet the limit, too.
    in_vain, size = 0, high - 1
    while size > 0 and in_vain < _MOST_IN_VAIN:
        if size not in found and is_met(size):
            in_vain = 0
            yield found[size]
        else:
            in_vain += 1
        size -= 1
