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
from .joint_kernels import joint_pass, values_of_rows
from .pruning import without_surplus
from .sketch_kernels import BIN, FEATURE, LABEL, LEFT, RIGHT

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
_LEAST_PROGRESS = 1e-9  # smaller relative decreases of the objective do not count
_MOST_REDRAWN = 3  # maximum number of tests that a random change replaces
_PATIENCE = 30  # the search ends after this many random changes per test without a better tree
_OVERTIME = (
    1.5  # regrowth ends after this multiple of the passes of a search, also if it still helps
)
_JOINT = 8  # a joint pass takes about as long as this many passes
# A search makes joint passes throughout if it allows at most this many leaves per cluster. With
# more leaves they help less than other changes of the tree that take the same time.
_FEW_LEAVES = 1.5
_FIRST_SHARE = 0.25  # share of the passes for all starts together; the best start gets the others

# The sketch.
# The sketch decides the structure of a tree. All rows give thresholds and labels later.
_MOST_ROWS, _MOST_COLUMNS = 5000, 256
_MOST_VALUES = 500_000  # with few columns, more rows are sampled, up to this number of values
# Limits of the time of a search: the number of passes times the bytes of the sketch, and the number
# of passes.
_MOST_BYTES, _MOST_PASSES = 2 * 10**8, 2000
_MOST_COSTS = (
    5 * 10**8
)  # limit of passes times rows times clusters: each pass computes all costs anew
_COSTLY = 8  # an update of centres that are not means takes about as long as this many passes
_BITS = 30  # costs of rows are rounded to multiples of about 2 ** -30 of the free clustering's cost
_CUT_CLUSTERS = 32  # finding the best cuts for this many clusters takes as long as one pass
# Savings below this share of the cost of the free clustering are rounding errors of sums.
_NOISE = 1e-12


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
    """Repeat regrowth in a sketch of all rows; passes with exact thresholds follow."""
    sketch = Sketch.of(search.problem, [state.tree], lambda_, most_leaves, None)
    local, nodes = _LocalSearch(sketch), sketch.from_tree(upright(state.pruned)).nodes
    price = sketch.price
    for share in _APPROACH:
        sketch.price = share * price
        start = local.descend(sketch.evaluate(nodes))
        nodes = rounds(start, local.regrown, _is_better, most_leaves // 2).nodes
    tree = sketch.to_tree(sketch.evaluate(nodes))
    return _passes(search, search.evaluate(tree), lambda_)


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
    last, found = search.regrowths_in_vain
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
    tree = without_surplus(search, state, most_leaves)
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
    equal = (s for s in found if s.objective(lambda_) <= least + _LEAST_PROGRESS * abs(least))
    return min(equal, key=lambda state: state.pruned.n_leaves)


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
    return sketch.to_tree(local.jointly_optimized(best))


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

    sketch: "Sketch"
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
            other = self.disturbed(here)
            waited += 1
            heat = max(0.0, 1.0 - (sketch.n_passes - first) / (until - first))
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
        improves = self.sketch.has_means
        while improves:
            nodes, changed = self.sketch.joint_pass(state)
            other = self.descend(self.sketch.evaluate(nodes)) if changed else state
            improves = _is_better(other, state)
            state = other if improves else state
        return state

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


def _is_better(state, other):
    return state.value < other.value - _LEAST_PROGRESS * abs(other.value)


@dataclass(frozen=True, eq=False)
class Sketched:
    """A tree for the rows of a sketch, with its costs.

    Parameters
    ----------
    nodes : int64 array of shape (n_nodes, 5)
        Left and right child, feature, bin and label of each node; see :mod:`.sketch_kernels`.
    cost : float64 array of shape (n, k)
        Weighted dissimilarity of each row to each centre; the centres are optimal for the tree's
        labels.
    value : float
        Cost of the tree's labels plus the penalty of its tests.
    """

    nodes: np.ndarray
    cost: np.ndarray
    value: float

    @property
    def n_leaves(self):
        """Number of leaves of the tree."""
        return (len(self.nodes) + 1) // 2


@dataclass(eq=False)
class Sketch:
    """A sample of the rows of a problem and of the columns of X, coded as bytes.

    A feature has at most 256 bins. If it has at most 256 distinct values, each value has its own
    bin, and every distinct test of the feature is possible. Otherwise a bin holds several values,
    and a threshold cannot lie between two values of one bin.

    Parameters
    ----------
    problem : Problem, of the sampled rows
    codes : uint8 array of shape (n, d)
        Bin of each value, counted from the first bin of its feature.
    first : int64 array of shape (d + 1,)
        Position in `high` of the first bin of each feature; the last entry is the number of bins.
    high : float64 array of shape (number of bins,), largest value in each bin
    columns : int array of shape (d,), sampled columns of X
    price : float, penalty per test
    most_leaves : int
    """

    problem: Problem
    codes: np.ndarray
    first: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    price: float
    most_leaves: int
    n_passes: int = field(default=0, init=False)  # passes over the rows so far

    @classmethod
    def of(cls, problem, trees, lambda_, most_leaves, random_state):
        """Return a sketch of a sample of rows and of the columns that separate clusters best.

        Parameters
        ----------
        problem : Problem
        trees : list of Tree, whose columns are always included
        lambda_ : float, penalty per test
        most_leaves : int
        random_state : int, RandomState instance or None
        """
        n_rows = n_sketched(problem)
        if problem.n_rows > n_rows:
            problem = sample_of_problem(problem, n_rows, random_state)
        columns = _separating_columns(problem, trees)
        X = problem.X if len(columns) == problem.X.shape[1] else problem.X[:, columns]
        binned = BinnedColumns.from_matrix(as_array(X), X.shape[0])
        codes = np.ascontiguousarray(binned.codes.reshape(len(columns), -1).T)
        price = lambda_ + _NOISE * problem.free.inertia
        return cls(problem, codes, binned.first, binned.highest, columns, price, most_leaves)

    @cached_property
    def unit(self):
        """Power of two to whose multiples costs are rounded, so that equal costs compare as equal.

        Without it, rounding errors, which depend on the units of columns, would choose between
        trees of equal cost.
        """
        free = self.problem.free.inertia
        return float(np.exp2(np.frexp(free)[1] - _BITS)) if free > 0 else 0.0

    @property
    def most_passes(self):
        """Maximum number of passes over the sampled rows in a search."""
        objective = self.problem.objective
        is_costly = not objective.centers_are_means and not objective.explains_labels
        n_costs = len(self.codes) * self.problem.n_clusters
        most = min(_MOST_PASSES, _MOST_BYTES // self.codes.size, _MOST_COSTS // n_costs)
        return most // _COSTLY if is_costly else most

    def from_tree(self, tree):
        """Return a Tree as a :class:`Sketched`; each threshold moves down to the end of a bin."""
        nodes = np.full((tree.n_nodes, 5), -1)
        nodes[:, LEFT], nodes[:, RIGHT] = tree.children_left, tree.children_right
        nodes[:, LABEL] = tree.leaf_label
        for node in tree.decision_nodes:
            indices, threshold = tree.split(node)[0], tree.threshold[node]
            if len(indices) == 0:  # a test without features sends all rows to one child
                nodes[node, FEATURE], nodes[node, BIN] = 0, 255 if threshold >= 0 else -1
                continue
            feature = np.searchsorted(self.columns, indices[0])
            high = self.high[self.first[feature] : self.first[feature + 1]]
            bin_ = np.searchsorted(high, threshold, side="right") - 1
            nodes[node, FEATURE], nodes[node, BIN] = feature, bin_
        return self.evaluate(nodes)

    def to_tree(self, sketched):
        """Return a :class:`Sketched` as a Tree; each threshold is the largest value of a bin."""
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
        """Return a :class:`Sketched` for the array `nodes` of a tree.

        It has the cost of each row in each cluster, at centres that are optimal for the labels
        of the tree. Tests that leave fewer rows on a side than the minimum size of leaves are
        removed first.
        """
        problem, objective = self.problem, self.problem.objective
        if problem.leaf_size is not None:
            nodes = self._without_small_leaves(nodes)
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

    def _without_small_leaves(self, nodes):
        size, found = self.problem.leaf_size, nodes
        while found is not None:
            nodes = kernels.compact(found)
            order, span = kernels.spans(nodes, self.codes, len(nodes))
            below = np.append(0.0, np.cumsum(size.units[order]))
            sizes = below[span[:, 1]] - below[span[:, 0]]
            found = kernels.without_unbalanced(nodes, sizes, size.least)
        return nodes

    @property
    def limit(self):
        """Units of each row and the minimum size of a leaf; no units if there is no minimum."""
        size = self.problem.leaf_size
        return (np.empty(0), 0.0) if size is None else (size.units, size.least)

    def one_pass(self, state):
        """Run one pass over a tree; return the array of its nodes, and whether it changed."""
        self.n_passes += 1
        terms = (self.codes, self.first, state.cost, self.price, *self.limit)
        nodes, changed = kernels.one_pass(state.nodes, *terms)
        return kernels.compact(nodes), changed

    @property
    def has_means(self):
        """Whether the centres are means of rows, which joint passes need."""
        return self.problem.objective.centers_are_means

    @property
    def has_few_leaves(self):
        """Whether trees have so few leaves that each test decides where the centres are."""
        return self.most_leaves <= _FEW_LEAVES * self.problem.n_clusters

    @cached_property
    def _values(self):
        return values_of_rows(self.problem)

    def joint_pass(self, state):
        """Run one joint pass; return the array of nodes, and whether it changed.

        See :mod:`.joint_kernels`.
        """
        self.n_passes += _JOINT
        n_clusters, least_gain = state.cost.shape[1], _LEAST_PROGRESS * abs(state.value)
        terms = (self.codes, self.first, self._values, n_clusters, least_gain, *self.limit)
        nodes, changed = joint_pass(state.nodes, *terms)
        return kernels.compact(nodes), changed

    def expand(self, state, most_leaves):
        """Split leaves, the best split first, and return the array of nodes.

        This ends when the tree has `most_leaves` leaves, or when no split saves more than the
        penalty per test; see :func:`.sketch_kernels.expand`.
        """
        self.n_passes += max(1, state.cost.shape[1] // _CUT_CLUSTERS)
        terms = (self.codes, self.first, state.cost, most_leaves, self.price, *self.limit)
        return kernels.expand(state.nodes, *terms)

    def shrink(self, state):
        """Return the array of nodes of a tree without its weakest tests.

        Tests are removed until at most `most_leaves` leaves are left and each test saves more
        than the penalty per test.
        """
        self.n_passes += 1
        terms = (self.codes, state.cost, self.most_leaves, self.price)
        return kernels.shrink(state.nodes, *terms)


def n_sketched(problem):
    """Return how many rows of a problem are sampled for the search over axis-aligned trees."""
    return min(problem.n_rows, max(_MOST_ROWS, _MOST_VALUES // problem.X.shape[1]))


def is_sketched_whole(problem):
    """Return whether a sketch of a problem has all its rows and columns."""
    return n_sketched(problem) == problem.n_rows and problem.X.shape[1] <= _MOST_COLUMNS


def _separating_columns(problem, trees):
    """Return the numbers of the columns that a sketch contains: an increasing int array.

    Up to 256 columns are all taken. If there are more, it takes those that the trees test, and the
    256 with the largest share of their variance between the free clusters.
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
