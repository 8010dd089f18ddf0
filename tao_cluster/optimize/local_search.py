"""Regrowth and iterated local search of axis-aligned trees.

Regrowth expands a tree by cuts as ExKMC would make them, optimises it and removes the tests that
save least. That moves leaves to where they save more, which passes over a fixed structure cannot.

The search looks at thousands of trees on a *sketch*: some rows and columns, coded as bytes. Its
trees descend by passes with new centres after each, then by regrowth. Where that ends, some tests
are drawn anew or a subtree is taken out, and the search goes on from there; it stays near the best
tree that it has seen. Both are ours, not the paper's; Lourenco, Martin & Stutzle (2003) describe
searches of this kind.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from greedy.leaf_clusters import match_labels, relabeled

from .._utils.matrices import as_array, variances
from ..initial_trees.builders import exgreedy_builders, small_trees
from ..objectives import cluster_means
from ..outofcore.coreset import sample_of_problem
from ..problem.problem import Problem
from ..solvers import upright
from ..solvers.axis import BinnedColumns
from ..tree import Tree
from . import sketch_kernels as kernels
from .direct_form import descend
from .pruning import removed_at_a_time, weakest_splits, without_surplus
from .sketch_kernels import BIN, FEATURE, LABEL, LEFT, RIGHT

# Regrowth.
_MOST_ROUNDS = 50
_MOST_TESTS = 100_000  # of all passes at a price: so that time goes with the leaves of large trees
_APPROACH = (0.1, 1.0)  # of lambda

# The search.
_SHORT_DESCENT = 4  # passes after which a disturbed tree is regrown
_WIDTH = 0.4  # of what the best tree costs beyond the free clustering: see _LocalSearch.width
_LEAST_PROGRESS = 1e-9  # of the value
_MOST_REDRAWN = 3  # tests
_PATIENCE = 30  # disturbances a test without a better tree
_OVERTIME = 1.5  # times the passes: trees of many leaves would settle for much longer
_FIRST_SHARE = 0.25  # of the passes, for the starts one by one; the best one gets the others

# The sketch.
# What the structure of a tree shows in; thresholds and labels come of all rows later.
_MOST_ROWS, _MOST_COLUMNS = 5000, 256
_MOST_VALUES = 500_000  # more rows than that where there are few columns
# The work of a search: bytes that passes over the tree may read at each level, and passes.
_MOST_BYTES, _MOST_PASSES = 2 * 10**8, 2000
_MOST_COSTS = 5 * 10**8  # and costs of rows in clusters that follow from new centres
_COSTLY = 8  # an objective whose centres are no means makes them in the time of so many passes
_BITS = 30  # of the free cost that costs of rows are rounded to
_CUT_CLUSTERS = 32  # cuts of leaves sum the costs of so many clusters in the time of a pass
_NOISE = 1e-12  # of the free cost: what is saved by the rounding of sums


def regrow(search, state, lambda_):
    """Rounds of regrowth until none helps, at a smaller price first: tests must grow to pay.

    Parameters
    ----------
    search : Search, with a solver that can expand trees
    state : State
    lambda_ : float

    Returns
    -------
    State, of at most `max_leaves`, by default as many as the initial tree, dead ones included
    """
    most_leaves = search.settings.max_leaves or state.tree.n_leaves
    found = state
    for share in _APPROACH:
        found = _regrown_at(search, found, share * lambda_, most_leaves)
    return min(state, found, key=lambda state: state.objective(lambda_))


def rounds(state, regrown, is_better, n_more, is_over=lambda: False):
    """Regrowth by some leaves while it helps, then by half as many, down to one.

    Parameters
    ----------
    state : what is regrown
    regrown : callable(state, n_more) -> state
    is_better : callable(state, state) -> bool, whether the first is
    n_more : int
    is_over : callable() -> bool, whether no further round may begin

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


def _regrown_at(search, state, lambda_, most_leaves):
    """Rounds of regrowth at one price, by half as many leaves as there may be at first."""

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
    """Regrowths that are known not to help a state, which is the last one that was asked for."""
    last, found = search.regrowths_in_vain
    if last is not state:
        found = set()
        search.regrowths_in_vain = state, found
    return found


def _passes(search, state, lambda_):
    return descend(search, state, lambda_, stage="regrow")


def _regrown(search, state, lambda_, most_leaves, n_more):
    """State after expansion by `n_more` leaves, passes, removal of leaves, and passes."""
    step, tree = search.step, upright(state.pruned)
    tree = step.solver.expand(
        tree,
        step.leaves_of(tree),
        search.distances(state.centers),
        search.problem.weight,
        most_leaves + n_more,
        lambda_,
        step.n_jobs,
    )
    state = _passes(search, search.evaluate(tree), lambda_)
    tree = without_surplus(search, state, most_leaves)
    return _passes(search, search.evaluate(tree), lambda_)


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
    return relabeled(tree, match_labels(*terms))


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

    sketch: "Sketch"
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
        nodes = nodes.copy()
        nodes[tests[self.rng.randint(len(tests))]] = -1, -1, -1, -1, 0
        return kernels.compact(nodes)


def _is_better(state, other):
    return state.value < other.value - _LEAST_PROGRESS * abs(other.value)


@dataclass(frozen=True, eq=False)
class Sketched:
    """A tree over a sketch, as :mod:`.sketch_kernels` read it.

    Parameters
    ----------
    nodes : int64 array of shape (n_nodes, 5)
    cost : float64 array of shape (n, k), weighted distances to the centres of its labels
    value : float, the cost of its labels and the price of its tests
    """

    nodes: np.ndarray
    cost: np.ndarray
    value: float

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (len(self.nodes) + 1) // 2


@dataclass(eq=False)
class Sketch:
    """Some rows of a problem and some columns of X, coded.

    A feature has at most 256 bins, one a value where there are no more values: then a test of the
    sketch is any test of its rows, else one between two bins.

    Parameters
    ----------
    problem : Problem, of the rows
    codes : uint8 array of shape (n, d)
    first : int64 array of shape (d + 1,), where each feature's bins start
    high : float64 array, largest value in each bin
    columns : int array of shape (d,), of X
    price : float, of a test
    most_leaves : int
    """

    problem: Problem
    codes: np.ndarray
    first: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    price: float
    most_leaves: int
    n_passes: int = field(default=0, init=False)  # over the rows, so far

    @classmethod
    def of(cls, problem, trees, lambda_, most_leaves, random_state):
        """The sketch of a problem: a sample of many rows, and the columns that tell most.

        Parameters
        ----------
        problem : Problem
        trees : list of Tree, whose columns are there in any case
        lambda_ : float
        most_leaves : int
        random_state : int, RandomState instance or None
        """
        n_rows = n_sketched(problem)
        if problem.n_rows > n_rows:
            problem = sample_of_problem(problem, n_rows, random_state)
        columns = _telling_columns(problem, trees)
        X = problem.X if len(columns) == problem.X.shape[1] else problem.X[:, columns]
        binned = BinnedColumns.of(as_array(X), X.shape[0])
        codes = np.ascontiguousarray(binned.codes.reshape(len(columns), -1).T)
        price = lambda_ + _NOISE * problem.free.inertia
        return cls(problem, codes, binned.first, binned.highest, columns, price, most_leaves)

    @cached_property
    def unit(self):
        """What costs are multiples of: a power of two, so that equal ones are equal numbers.

        Else the last bits would choose between trees, and with them the units of the columns.
        """
        free = self.problem.free.inertia
        return float(np.exp2(np.frexp(free)[1] - _BITS)) if free > 0 else 0.0

    @property
    def most_passes(self):
        """How many passes over the rows a search may take."""
        objective = self.problem.objective
        is_costly = not objective.centers_are_means and not objective.explains_labels
        n_costs = len(self.codes) * self.problem.n_clusters
        most = min(_MOST_PASSES, _MOST_BYTES // self.codes.size, _MOST_COSTS // n_costs)
        return most // _COSTLY if is_costly else most

    def from_tree(self, tree):
        """A tree whose tests are those of another, as far as the bins allow."""
        nodes = np.full((tree.n_nodes, 5), -1)
        nodes[:, LEFT], nodes[:, RIGHT] = tree.children_left, tree.children_right
        nodes[:, LABEL] = tree.leaf_label
        for node in tree.decision_nodes:
            indices, threshold = tree.split(node)[0], tree.threshold[node]
            if len(indices) == 0:  # all rows go one way
                nodes[node, FEATURE], nodes[node, BIN] = 0, 255 if threshold >= 0 else -1
                continue
            feature = np.searchsorted(self.columns, indices[0])
            high = self.high[self.first[feature] : self.first[feature + 1]]
            bin_ = np.searchsorted(high, threshold, side="right") - 1
            nodes[node, FEATURE], nodes[node, BIN] = feature, bin_
        return self.evaluate(nodes)

    def to_tree(self, sketched):
        """The tree, with values of rows as thresholds."""
        nodes = sketched.nodes
        is_leaf, feature = nodes[:, LEFT] < 0, nodes[:, FEATURE]
        places = np.where(is_leaf, 0, self.first[feature] + nodes[:, BIN])
        columns = self.columns[feature].tolist()
        return Tree.from_splits(
            nodes[:, LEFT],
            nodes[:, RIGHT],
            [None if leaf else ([j], [1.0]) for leaf, j in zip(is_leaf, columns, strict=True)],
            np.where(is_leaf, 0.0, self.high[places]),
            np.where(is_leaf, nodes[:, LABEL], -1),
            self.problem.X.shape[1],
        )

    def evaluate(self, nodes):
        """The tree with what rows cost at the centres of its labels."""
        problem, objective = self.problem, self.problem.objective
        order, span = kernels.spans(nodes, self.codes, len(nodes))
        labels = np.empty(len(self.codes), np.int64)
        for leaf in np.flatnonzero(nodes[:, LEFT] < 0):
            labels[order[span[leaf, 0] : span[leaf, 1]]] = nodes[leaf, LABEL]
        free = problem.free.centers
        centers = objective.update_centers(problem.data, labels, problem.weight, free)
        cost = objective.distances(problem.data, centers) * problem.weight[:, None]
        if self.unit > 0:
            cost = np.rint(cost / self.unit) * self.unit
        inertia = float(cost[np.arange(len(labels)), labels].sum())
        return Sketched(nodes, cost, inertia + self.price * (len(nodes) // 2))

    def one_pass(self, state):
        """See :func:`.sketch_kernels.one_pass`: the new nodes, and whether they are other ones."""
        self.n_passes += 1
        terms = (self.codes, self.first, state.cost, self.price)
        nodes, changed = kernels.one_pass(state.nodes, *terms)
        return kernels.compact(nodes), changed

    def expand(self, state, most_leaves):
        """See :func:`.sketch_kernels.expand`: the new nodes."""
        self.n_passes += max(1, state.cost.shape[1] // _CUT_CLUSTERS)
        terms = (self.codes, self.first, state.cost, most_leaves, self.price)
        return kernels.expand(state.nodes, *terms)

    def shrink(self, state):
        """The nodes of a tree with at most `most_leaves` leaves and of tests that pay."""
        self.n_passes += 1
        nodes = state.nodes
        while len(nodes) > 1:
            saved, side = kernels.savings(nodes, self.codes, state.cost)
            surplus = (len(nodes) + 1) // 2 - self.most_leaves
            if surplus <= 0 and saved.min() > self.price:
                break
            children, nodes = (nodes[:, LEFT], nodes[:, RIGHT]), nodes.copy()
            for node in weakest_splits(saved, *children, removed_at_a_time(surplus)):
                nodes[node] = nodes[nodes[node, side[node]]]
            nodes = kernels.compact(nodes)
        return nodes


def n_sketched(problem):
    """Number of rows of a problem that its sketch has."""
    return min(problem.n_rows, max(_MOST_ROWS, _MOST_VALUES // problem.X.shape[1]))


def _telling_columns(problem, trees):
    """Columns of X, increasing: all, or those of trees and those that tell clusters apart best.

    That is by the share of their variance that lies between the free clusters.
    """
    X, free, weight = problem.X, problem.free, problem.weight
    n_columns = X.shape[1]
    if n_columns <= _MOST_COLUMNS:
        return np.arange(n_columns)
    size = np.bincount(free.labels, weight, problem.n_clusters)
    means = cluster_means(X, free.labels, weight, problem.n_clusters)
    between = size @ (means - size @ means / size.sum()) ** 2
    total = variances(X, weight)
    share = np.divide(between, total, out=np.zeros(n_columns), where=total > 0)
    best = np.argsort(-share, kind="stable")[:_MOST_COLUMNS]
    return np.unique(np.concatenate([best, *(tree.used_features for tree in trees)]))
