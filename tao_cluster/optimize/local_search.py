"""Regrowth and iterated local search for axis-aligned trees.

*Regrowth* expands a tree by the splits that ExKMC would choose, optimises it, and prunes the tests
that save least. It moves leaves to where they save more. Passes over a fixed structure cannot.

The *search* evaluates thousands of trees on a sketch: a sample of rows and columns, coded as bytes.
A tree descends by passes, with new centres after each pass, and then by regrowth. At a local
optimum some tests are replaced at random, or a subtree is removed, and the descent starts again.
If there are few leaves per cluster, joint passes follow, which compare tests at the centres that
each one leads to. The search stays near the best tree so far. Regrowth, joint passes and search are
ours, not the KDD'22 paper's.
See Lourenco, Martin & Stutzle (2003) for iterated local search.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from greedy.leaf_clusters import match_labels, relabeled

from ..initial_trees.builders import exgreedy_builders, small_trees
from ..solvers import upright
from . import sketch_kernels as kernels
from .optimal_subtrees import with_optimal_subtrees
from .simplify import pruned_to
from .sketch import LEAST_PROGRESS, Sketch, is_sketched_whole, n_sketched
from .sketch_kernels import BIN, FEATURE, LEFT
from .state import descend

# Constants of regrowth.
_MOST_ROUNDS = 50
# Regrowth at one lambda ends after about this many updates of tests (passes times leaves), so that
# its time grows linearly, not quadratically, with the number of leaves.
_MOST_TESTS = 100_000
# Regrowth runs first at 0.1 lambda, where more tests are kept, and then at lambda.
_APPROACH = (0.1, 1.0)

# Constants of the search.
_SHORT_DESCENT = 4  # maximum number of passes between a random change of a tree and its regrowth
# A worse tree is accepted at first if its cost exceeds that of the best tree by at most this share
# of the excess cost of the best tree over the free clustering.
_WIDTH = 0.4
_MOST_REDRAWN = 3  # maximum number of tests that a random change replaces
_PATIENCE = 30  # the search ends after this many random changes per test without a better tree
# Regrowth ends after this multiple of the passes of a search, also if it still helps.
_OVERTIME = 1.5
# With many leaves, this share of the random changes concerns a subtree of few leaves.
# Each one is the best of a few tries, and counts less for the end of the search.
_PARTIAL_SHARE, _PARTIAL_LEAVES, _PARTIAL_TRIES, _PARTIAL_WAIT = 0.8, 10, 4, 0.2
_OVERHEAD = 10_000  # a pass takes about as long as if the sketch had this many bytes more
_FIRST_SHARE = 0.25  # share of the passes for all starts together; the best start gets the others


def regrow(search, state, lambda_, most_leaves=None):
    """Repeat regrowth of a tree while it lowers the objective, first at a lower penalty per test.

    Regrowth adds leaves, optimises the tree by passes, and prunes the weakest tests.

    Parameters
    ----------
    search : Search, with a solver that can expand trees
    state : State
    lambda_ : float
    most_leaves : int, optional
        Maximum number of leaves. By default it is `max_leaves` of the settings, or else the number
        of leaves of the given tree.

    Returns
    -------
    State
    """
    most_leaves = most_leaves or search.settings.max_leaves or state.tree.n_leaves
    found = state
    if is_sketched_whole(search.problem):
        found = _regrown_in_sketch(search, state, lambda_, most_leaves)
    else:
        for share in _APPROACH:
            found = _regrown_at(search, found, share * lambda_, most_leaves)
    return min(state, found, key=lambda state: state.objective(lambda_))


def rounds(state, regrown, is_better, n_more, is_over=lambda: False):
    """Regrow a tree by `n_more` leaves while this improves it, then by half as many, down to one.

    Parameters
    ----------
    state : State or Sketched
    regrown : callable(state, n_more) -> state
    is_better : callable(state, state) -> bool
        Whether the first state is better than the second.
    n_more : int
    is_over : callable() -> bool
        Whether no further round may begin.

    Returns
    -------
    state
    """
    for _ in range(_MOST_ROUNDS):
        if n_more == 0 or is_over():
            break
        other = regrown(state, n_more)
        if is_better(other, state):
            state = other
        else:
            n_more //= 2
    return state


def _regrown_in_sketch(search, state, lambda_, most_leaves):
    """Repeat regrowth in a sketch that has every test; passes over the rows follow."""
    sketch = Sketch.of(search.problem, [state.tree], lambda_, most_leaves, None)
    local, nodes = _LocalSearch(sketch), sketch.from_tree(upright(state.pruned)).nodes
    price = sketch.price
    for share in _APPROACH:
        sketch.price = share * price
        start = local.descend(sketch.evaluate(nodes))
        found = rounds(start, local.regrown, _is_better, most_leaves // 2)
        state, nodes = search.evaluate(sketch.to_tree(found)), found.nodes
        search.record("regrow", state, share * lambda_)
    return _passes(search, state, lambda_)


def _regrown_at(search, state, lambda_, most_leaves):
    """Repeat regrowth at the penalty `lambda_` per test while it lowers the objective.

    The first regrowth adds half of `most_leaves` leaves before it prunes.
    """

    def regrown(state, n_more):
        in_vain, terms = _in_vain(search, state), (lambda_, most_leaves, n_more)
        if terms in in_vain:
            return state
        other = _regrown(search, state, *terms)
        if not is_better(other, state):
            in_vain.add(terms)
        return other

    def is_better(state, other):
        return state.objective(lambda_) < other.objective(lambda_)

    n_before = len(search.history.records)

    def is_over():
        return (len(search.history.records) - n_before) * most_leaves >= _MOST_TESTS

    state = _passes(search, state, lambda_)
    return rounds(state, regrown, is_better, most_leaves // 2, is_over)


def _in_vain(search, state):
    """Return the set of arguments with which regrowth of `state` has failed to improve it.

    The set is forgotten when the function is called for another state.
    """
    last, found = getattr(search, "regrowths_in_vain", (None, None))
    if last is not state:
        found = set()
        search.regrowths_in_vain = state, found
    return found


def _passes(search, state, lambda_):
    return descend(search, state, lambda_, stage="regrow")


def _regrown(search, state, lambda_, most_leaves, n_more):
    """Return the state after `n_more` leaves are added, passes, pruning, and further passes."""
    step, tree = search.step, upright(state.pruned)
    tree = step.solver.expand(
        tree,
        step.leaves_of(tree),
        search.distances(state.centers),
        search.problem.weight,
        most_leaves + n_more,
        lambda_,
        step.n_jobs,
        search.problem.leaf_size,
    )
    state = _passes(search, search.evaluate(tree), lambda_)
    tree = pruned_to(search, state, most_leaves)
    return _passes(search, search.evaluate(tree), lambda_)


def better_start(search, state, trees, lambda_, random_state):
    """Search for a better start and optimise it over all rows; return the best state.

    The result is also compared with the tree of ExGreedy, which can be better with one leaf per
    cluster. The search does not start from that tree, because the starts share a fixed number of
    passes: with one start more, results become worse as often as better.

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
        # The search used a sample of the rows, so passes over all rows can be better than it.
        first = descend(search, search.evaluate(trees[0]), lambda_, stage="search")
        found.append(regrow(search, first, lambda_))
    found += _exgreedy(search, trees)
    least = min(state.objective(lambda_) for state in found)
    equal = (s for s in found if s.objective(lambda_) <= least + LEAST_PROGRESS * abs(least))
    return min(equal, key=lambda state: state.n_leaves)


def _most_leaves(search, trees):
    return search.settings.max_leaves or max(tree.n_leaves for tree in trees)


def _exgreedy(search, trees):
    """Return a list with the state of the tree of ExGreedy; empty if it has too many leaves."""
    most_leaves = _most_leaves(search, trees)
    found = small_trees(search.problem, exgreedy_builders)
    return [search.evaluate(tree) for tree in found if tree.n_leaves <= most_leaves]


def _numbered(search, tree):
    """Return the tree with its clusters numbered like the most similar free clusters.

    The search can swap the numbers of two clusters without a change of the cost. If the objective
    explains given labels, the tree is returned as it is, because these labels have a meaning.
    """
    problem = search.problem
    if problem.objective.explains_labels:
        return tree
    labels = tree.leaf_label[search.step.leaves_of(tree)]
    terms = (labels, problem.free.labels, problem.n_clusters, problem.weight)
    return relabeled(tree, match_labels(*terms))


def search_structure(search, trees, lambda_, random_state):
    """Run an iterated local search on a sample of rows and columns; return the best tree.

    Parameters
    ----------
    search : Search
    trees : list of Tree, axis-aligned
        Starts of the search.
    lambda_ : float, penalty per test
    random_state : int, RandomState instance or None
        Seed of the sample of rows and of the random changes of trees.

    Returns
    -------
    Tree
        With at most `max_leaves` leaves, by default as many as the largest of the trees.
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
    best = local.run(best, most_passes)
    return sketch.to_tree(local.with_optimal_subtrees(local.jointly_optimized(best)))


@dataclass
class _LocalSearch:
    """Iterated local search over trees on a sketch (a sample of rows and columns).

    Parameters
    ----------
    sketch : Sketch
    rng : RandomState
    most_passes : float
        Number of passes over the sketch after which no further regrowth begins.
    """

    sketch: Sketch
    rng: np.random.RandomState | None = None
    most_passes: float = np.inf

    def run(self, state, until):
        """Return the best tree that a search from the tree `state` finds.

        Parameters
        ----------
        state : Sketched
        until : int
            Number of passes over the sketch after which the search ends.

        Returns
        -------
        Sketched
        """
        sketch, waited = self.sketch, 0
        first = sketch.n_passes
        best = here = self.settled(self.regrown(state, 0), sketch.most_leaves // 2)
        while sketch.n_passes < until and waited < _PATIENCE * (best.n_leaves - 1):
            heat = max(0.0, 1.0 - (sketch.n_passes - first) / (until - first))
            is_partial = sketch.has_many_leaves and self.rng.random_sample() < _PARTIAL_SHARE
            other = (self.partly_disturbed if is_partial else self.disturbed)(here)
            waited += _PARTIAL_WAIT if is_partial else 1
            if other.value <= max(best.value + heat * self.width(best), here.value):
                here = other = self.with_joint_passes(other)
            if _is_better(other, best):
                best = here = self.settled(other, sketch.most_leaves // 4)
                waited = 0
        return best

    def width(self, best):
        """Return by how much an accepted tree may at first be worse than the tree `best`.

        The limit is 0.4 times the excess of the value of `best` over the free clustering's cost.
        """
        return _WIDTH * max(0.0, best.value - self.sketch.problem.free.inertia)

    def disturbed(self, state):
        """Return the tree after a random change, a few passes and regrowth.

        The change replaces some tests by random ones or a random subtree by a leaf.
        """
        disturb = (self._redrawn, self._cut_back)[self.rng.randint(2)]
        sketch = self.sketch
        state = self.descend(sketch.evaluate(disturb(state.nodes)), _SHORT_DESCENT)
        most = max(2, sketch.most_leaves // 2 + 1)
        return self.regrown(state, int(self.rng.randint(1, most)))

    def partly_disturbed(self, state):
        """Return the tree after the best of a few changes of a subtree, or as it is if none helps.

        The changes are those of :meth:`disturbed`. They compare costs at fixed centres and only of
        the rows of the subtree, which takes much less time. Passes over all rows follow.
        """
        sketch, n_leaves = self.sketch, kernels.leaf_counts(state.nodes)
        is_able = (n_leaves > 2) & (n_leaves <= _PARTIAL_LEAVES) & (n_leaves < n_leaves[0])
        if not is_able.any():
            return self.disturbed(state)
        node = self.rng.choice(np.flatnonzero(is_able))
        part = sketch.part(state, node, n_leaves[node])
        if not len(part.codes):
            return state
        start = part.evaluate(kernels.subtree(state.nodes, node))
        local = _LocalSearch(part, self.rng)
        others = [local.disturbed(start) for _ in range(_PARTIAL_TRIES)]
        share = (part.codes.size + _OVERHEAD) / (sketch.codes.size + _OVERHEAD)
        sketch.n_passes += part.n_passes * share
        found = min(others, key=lambda other: other.value)
        if not _is_better(found, start):
            return state
        nodes = kernels.with_subtree(state.nodes, node, found.nodes)
        return self.descend(sketch.evaluate(kernels.compact(nodes)), _SHORT_DESCENT)

    def descend(self, state, n_passes=None):
        """Run passes, each followed by an update of centres, while they lower the tree's value."""
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

    def with_joint_passes(self, state):
        """Repeat a joint pass and further passes while they improve a tree of few leaves.

        Trees of more leaves, whose centres depend less on each test, are returned as they are.
        """
        return self.jointly_optimized(state) if self.sketch.has_few_leaves else state

    def jointly_optimized(self, state):
        """Repeat a joint pass and further passes while they improve the tree."""

        def after_joint_pass(state):
            nodes, changed = self.sketch.joint_pass(state)
            return self.descend(self.sketch.evaluate(nodes)) if changed else state

        return _repeated(after_joint_pass, state) if self.sketch.has_means else state

    def with_optimal_subtrees(self, state):
        """Exchange small subtrees for optimal ones and run passes, while this helps."""

        def after_exchange(state):
            return self.descend(self.sketch.evaluate(with_optimal_subtrees(self.sketch, state)))

        return _repeated(after_exchange, state)

    def regrown(self, state, n_more):
        """Return the tree grown by `n_more` leaves beyond the maximum, then pruned to it.

        Passes optimise the tree after each of the two steps.
        """
        sketch = self.sketch
        state = sketch.evaluate(sketch.expand(state, sketch.most_leaves + n_more))
        state = self.descend(state)
        return self.descend(sketch.evaluate(sketch.shrink(state)))

    def settled(self, state, n_more):
        """Repeat joint passes, and then regrowth, while they improve the tree.

        The first regrowth adds `n_more` leaves.
        """

        def is_over():
            return self.sketch.n_passes >= self.most_passes

        state = self.with_joint_passes(state)
        return rounds(state, self.regrown, _is_better, max(1, n_more), is_over)

    def _redrawn(self, nodes):
        """Replace some tests by random features, with thresholds at values of random rows."""
        sketch, rng, nodes = self.sketch, self.rng, nodes.copy()
        tests = np.flatnonzero(nodes[:, LEFT] >= 0)
        varied = np.flatnonzero(np.diff(sketch.first) > 1)
        for _ in range(rng.randint(1, _MOST_REDRAWN + 1) if len(tests) else 0):
            node, feature = tests[rng.randint(len(tests))], varied[rng.randint(len(varied))]
            row = rng.randint(len(sketch.codes))
            nodes[node, FEATURE], nodes[node, BIN] = feature, sketch.codes[row, feature]
        return nodes

    def _cut_back(self, nodes):
        """Replace a random subtree by a leaf of cluster 0; later passes choose a better label."""
        tests = np.flatnonzero(nodes[:, LEFT] >= 0)
        if not len(tests):
            return nodes
        nodes = nodes.copy()
        nodes[tests[self.rng.randint(len(tests))]] = -1, -1, -1, -1, 0
        return kernels.compact(nodes)


def _repeated(step, state):
    """Return the state after a step is repeated for as long as it improves the state."""
    other = step(state)
    while _is_better(other, state):
        state, other = other, step(other)
    return state


def _is_better(state, other):
    return state.value < other.value - LEAST_PROGRESS * abs(other.value)
