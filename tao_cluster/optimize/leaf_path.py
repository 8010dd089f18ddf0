"""Paths of axis-aligned trees with increasing numbers of leaves, and the choice of a size.

The number of leaves is the natural measure of size for axis-aligned trees: each further leaf costs
one test of one feature. Trees of two kinds are fitted at a number of leaves:

- :meth:`LeafPath.grown` grows one tree by regrowth and descent. This is fast, and shows where the
  curve of cost over size bends.
- :meth:`LeafPath.at` runs the search of ``TAOClustering(max_leaves=...)``, also grows the next
  smaller tree that was found, and keeps the best. Before the last passes on noisy copies, a path
  is thus never worse than single fits.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .direct_form import best_start
from .local_search import regrow
from .path import starting_trees
from .state import Search, State

_N_SIZES = 10  # maximum number of trees on a path, each with another number of leaves
# With a size limit, trees are fitted at this many numbers of leaves: the limit and those just below
# it. A single random search can miss the best tree.
_N_NEAR = 3
# With a limit of cost, smaller trees are tried until this many consecutive sizes miss the limit.
_MOST_IN_VAIN = 2
_LAMBDA = 0.0  # penalty per test; 0 because the number of leaves sets the size


def leaf_grid(fewest, most):
    """Return at most ten numbers of leaves from `fewest` to `most` in geometric steps.

    They are an increasing list of int.
    """
    sizes = np.geomspace(min(fewest, most), most, _N_SIZES)
    return np.unique(sizes.round().astype(int)).tolist()


@dataclass
class LeafPath:
    """The axis-aligned trees that were found for a set of rows, by their maximum size.

    Parameters
    ----------
    search : Search
    random_state : int, RandomState instance or None
        An int seeds each search anew, so that the tree of a size does not depend on other sizes.

    Attributes
    ----------
    starts : list of State
        An initial tree, and the best one after a few passes, of the last complete search.
    """

    search: Search
    random_state: Any
    starts: list[State] = field(default_factory=list, init=False)
    _found: dict[int, State] = field(default_factory=dict, init=False)

    @property
    def sizes(self):
        """Smallest and largest number of leaves on a path if the user gives no numbers."""
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
        states = search.settings.algorithm.run(search, trees, _LAMBDA, self.random_state)
        self.starts = list(itertools.islice(states, 2))
        *_, state = itertools.chain(self.starts, states)
        return self._keep(n_leaves, [state, *self._from_smaller(search, n_leaves)])

    def grown(self, n_leaves):
        """Return a state of at most `n_leaves` leaves by regrowth, without the slower search."""
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
        """Return a list with the state of the largest earlier tree within `n_leaves`, regrown.

        The list is empty if there is no such tree.
        """
        smaller = [size for size in self._found if size <= n_leaves]
        if not smaller:
            return []
        tree = self._found[max(smaller)].pruned
        return [regrow(search, search.evaluate(tree), _LAMBDA)]

    def _keep(self, n_leaves, states):
        """Return and store the state of least cost; among equal costs, that of fewest leaves."""
        best = min(states, key=lambda state: (state.inertia, state.pruned.n_leaves))
        self._found[n_leaves] = best
        return best


def trees_for(path, goal, measure, measure_roughly):
    """Fit axis-aligned trees of several numbers of leaves, and yield the best one for a goal.

    Parameters
    ----------
    path : LeafPath
    goal : Knee, MaxParameters or MaxCostIncrease
    measure, measure_roughly : callable(State) -> object with `tree` and `cost` in percent
        `measure_roughly` may skip slow steps that only the final tree needs.

    Yields
    ------
    object, from `measure` or `measure_roughly`
        The best tree so far; the last object that is yielded is the result.
    """
    if goal.is_of_cost:
        return _within_cost(path, goal, measure, measure_roughly)
    if goal.is_limit:
        return _within_size(path, goal, measure)
    return _at_the_knee(path, goal, measure, measure_roughly)


def _at_the_knee(path, goal, measure, measure_roughly):
    """Grow one tree for each number of leaves of a grid, and find the knee of their costs.

    The function yields the tree at the knee of the trees grown so far. Then it runs the complete
    search for the number of leaves at the knee of all of them, and yields that tree.
    """
    found, sizes = [], leaf_grid(*path.sizes)
    for n_leaves in sizes:
        found.append(measure_roughly(path.grown(n_leaves)))
        position = goal.choose([one.cost for one in found], [one.tree for one in found])
        yield found[position]
    yield measure(path.at(sizes[position]))


def _within_size(path, goal, measure):
    """Run the complete search for the largest number of leaves within the limit of parameters.

    The search also runs for the two next smaller numbers of leaves, in increasing order. After each
    search, the tree of the least cost so far is yielded.
    """
    most = max(1, min(path.sizes[1], (goal.limit + 2) // 3))  # L leaves have 3 L - 2 parameters
    best = None
    for n_leaves in range(max(1, most - _N_NEAR + 1), most + 1):
        other = measure(path.at(n_leaves))
        if best is None or other.cost < best.cost:
            best = other
        yield best


def _within_cost(path, goal, measure, measure_roughly):
    """Grow larger and larger trees until one meets the limit of cost, then seek a smaller one."""
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
    # Searches are random, so a smaller tree may meet the limit although a larger one missed it.
    in_vain, size = 0, high - 1
    while size > 0 and in_vain < _MOST_IN_VAIN:
        if size not in found and is_met(size):
            in_vain = 0
            yield found[size]
        else:
            in_vain += 1
        size -= 1
