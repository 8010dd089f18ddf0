"""Iterated local search over axis-aligned trees: descend, regrow, disturb, and again.

A sketch's trees descend by passes with new centres after each, then by regrowth: more leaves than
allowed where they save most, passes, and fewer where they save least. Where that ends, some tests
are drawn anew or a subtree is taken out, and the search goes on from there; it stays near the best
tree that it has seen. The search is ours; Lourenco, Martin & Stutzle (2003) describe its kind.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from greedy.leaf_clusters import matched_numbers, renumbered

from ....initial_trees.named import exgreedy_builders, small_trees
from ....solvers import upright
from ..passes import descend
from ..regrowth import regrow, rounds
from .kernels import BIN, FEATURE, LEFT, without_subtree
from .sketch import Sketch, n_sketched

_SHORT_DESCENT = 4  # passes after which a disturbed tree is regrown
_WIDTH = 0.4  # of what the best tree costs beyond the free clustering: see _LocalSearch.width
_LEAST_PROGRESS = 1e-9  # of the value
_MOST_REDRAWN = 3  # tests
_PATIENCE = 30  # disturbances a test without a better tree
_OVERTIME = 1.5  # times the passes: trees of many leaves would settle for much longer
_FIRST_SHARE = 0.25  # of the passes, for the starts one by one; the best one gets the others


def better_start(search, state, trees, lambda_, random_state):
    """What passes over all rows make of the tree that the search finds, if that is better.

    ExGreedy's tree is held against it: of a leaf a cluster it can be better. As one more start it
    would take passes from the others, which is as often worse as better.

    Parameters
    ----------
    search : Search
    state : State, the best of the initial trees
    trees, lambda_, random_state
        As for :func:`search_structure`.

    Returns
    -------
    State
    """
    tree = search_structure(search, trees, lambda_, random_state)
    found = search.evaluate(_numbered(search, tree))
    is_better = found.objective(lambda_) < state.objective(lambda_)
    search.record("search", found, lambda_, kept=is_better)
    found = [state, descend(search, found, lambda_, stage="search")]
    if n_sketched(search.problem) < search.problem.n_rows:
        # What a sample leads to can be worse than what all rows make of the first start.
        first = descend(search, search.evaluate(trees[0]), lambda_, stage="search")
        found.append(regrow(search, first, lambda_))
    found += _exgreedy(search, trees)
    least = min(state.objective(lambda_) for state in found)
    equal = (s for s in found if s.objective(lambda_) <= least + _LEAST_PROGRESS * abs(least))
    return min(equal, key=lambda state: state.pruned.n_leaves)


def _most_leaves(search, trees):
    return search.settings.max_leaves or max(tree.n_leaves for tree in trees)


def _exgreedy(search, trees):
    """State of ExGreedy's tree in a list; an empty one if it has too many leaves."""
    most_leaves = _most_leaves(search, trees)
    found = small_trees(search.problem, exgreedy_builders)
    return [search.evaluate(tree) for tree in found if tree.n_leaves <= most_leaves]


def _numbered(search, tree):
    """The tree with the free clusters' numbers, which moves of whole clusters have exchanged.

    Given labels have prices of their own, so that theirs are never exchanged for nothing.
    """
    problem = search.problem
    if problem.objective.explains_labels:
        return tree
    labels = tree.leaf_label[search.step.leaves_of(tree)]
    terms = (labels, problem.free.labels, problem.n_clusters, problem.weight)
    return renumbered(tree, matched_numbers(*terms))


def search_structure(search, trees, lambda_, random_state):
    """The best tree that an iterated local search from some trees finds on a sketch of the rows.

    Parameters
    ----------
    search : Search
    trees : list of Tree, axis-aligned
    lambda_ : float, the price of a test
    random_state : int, RandomState instance or None
        Of the sample of rows, where there are many, and of the disturbances.

    Returns
    -------
    Tree
        Of at most `max_leaves` leaves, by default those of the largest of the trees.
    """
    most_leaves = min(_most_leaves(search, trees), search.problem.n_rows)
    rng = check_random_state(random_state)
    sketch = Sketch.of(search.problem, trees, lambda_, most_leaves, rng)
    most_passes = search.settings.effort.n_times * sketch.most_passes
    share = int(_FIRST_SHARE * most_passes / len(trees))
    local = _LocalSearch(sketch, rng, _OVERTIME * most_passes)
    starts = (sketch.from_tree(upright(tree)) for tree in trees)
    found = [local.run(start, sketch.n_passes + share) for start in starts]
    best = min(found, key=lambda state: state.value)
    return sketch.to_tree(local.run(best, most_passes))


@dataclass
class _LocalSearch:
    """Moves over a sketch.

    Parameters
    ----------
    sketch : Sketch
    rng : RandomState
    most_passes : float, of the sketch, after which nothing is regrown but what has begun
    """

    sketch: Sketch
    rng: np.random.RandomState
    most_passes: float

    def run(self, state, until):
        """The best tree found from a state on.

        Parameters
        ----------
        state : Sketched
        until : int, passes of the sketch after which the search ends

        Returns
        -------
        Sketched, of no more leaves than allowed
        """
        sketch, waited = self.sketch, 0
        first = sketch.n_passes
        best = here = self.settled(self.regrown(state, 0), sketch.most_leaves // 2)
        while sketch.n_passes < until and waited < _PATIENCE * (best.n_leaves - 1):
            other = self.disturbed(here)
            waited += 1
            if _is_better(other, best):
                best = other = self.settled(other, sketch.most_leaves // 4)
                waited = 0
            heat = max(0.0, 1.0 - (sketch.n_passes - first) / (until - first))
            if other.value <= max(best.value + heat * self.width(best), here.value):
                here = other
        return best

    def width(self, best):
        """By how much a tree may be worse than the best one, at first, for the search to go on."""
        return _WIDTH * max(0.0, best.value - self.sketch.problem.free.inertia)

    def disturbed(self, state):
        """A tree with some tests drawn anew, or without a subtree, regrown."""
        disturb = (self._redrawn, self._cut_back)[self.rng.randint(2)]
        sketch = self.sketch
        state = self.descend(sketch.evaluate(disturb(state.nodes)), _SHORT_DESCENT)
        most = max(2, sketch.most_leaves // 2 + 1)
        return self.regrown(state, int(self.rng.randint(1, most)))

    def descend(self, state, n_passes=None):
        """Passes with new centres after each, while the value falls."""
        best = state
        while n_passes is None or n_passes > 0:
            nodes, changed = self.sketch.one_pass(state)
            if not changed:
                break
            state = self.sketch.evaluate(nodes)
            if not _is_better(state, best):
                break
            best, n_passes = state, n_passes and n_passes - 1
        return best

    def regrown(self, state, n_more):
        """The tree with `n_more` leaves beyond those allowed, passes, without surplus, passes."""
        sketch = self.sketch
        state = sketch.evaluate(sketch.expand(state, sketch.most_leaves + n_more))
        state = self.descend(state)
        return self.descend(sketch.evaluate(sketch.shrink(state)))

    def settled(self, state, n_more):
        """Rounds of regrowth until none helps."""

        def is_over():
            return self.sketch.n_passes >= self.most_passes

        return rounds(state, self.regrown, _is_better, max(1, n_more), is_over)

    def _redrawn(self, nodes):
        """Some tests are others: any feature that varies, at a value of any row."""
        sketch, rng, nodes = self.sketch, self.rng, nodes.copy()
        tests = np.flatnonzero(nodes[:, LEFT] >= 0)
        varied = np.flatnonzero(np.diff(sketch.first) > 1)
        for _ in range(rng.randint(1, _MOST_REDRAWN + 1) if len(tests) else 0):
            node, feature = tests[rng.randint(len(tests))], varied[rng.randint(len(varied))]
            row = rng.randint(len(sketch.codes))
            nodes[node, FEATURE], nodes[node, BIN] = feature, sketch.codes[row, feature]
        return nodes

    def _cut_back(self, nodes):
        """A subtree is a leaf; passes give it its label."""
        tests = np.flatnonzero(nodes[:, LEFT] >= 0)
        if not len(tests):
            return nodes
        return without_subtree(nodes, tests[self.rng.randint(len(tests))], 0)


def _is_better(state, other):
    return state.value < other.value - _LEAST_PROGRESS * abs(other.value)
