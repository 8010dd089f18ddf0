"""The sketch: a sample of rows and columns, coded as bytes, on which many trees are evaluated."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import randomized_svd

from .._utils.matrices import as_array, variances
from .._utils.threads import check_interrupted
from ..objectives import cluster_means
from ..outofcore.coreset import sample_of_problem
from ..problem.problem import Problem
from ..problem.split_limits import depth_limit
from ..solvers.axis import BinnedColumns
from ..tree import Tree
from . import axis_kernels as kernels
from .axis_kernels import BIN, FEATURE, LABEL, LEFT, RIGHT
from .state import LEAST_PROGRESS, is_less

# Constants of the sketch, which decides the structure of a tree. All rows give thresholds and
# labels later.
_MOST_ROWS, MOST_COLUMNS = 5000, 256
_MOST_VALUES = 500_000  # with few columns, more rows are sampled, up to this number of values
# Limits of the time of a search: the number of passes times the bytes of the sketch, and the number
# of passes.
_MOST_BYTES, _MOST_PASSES = 2 * 10**8, 2000
# Limit of passes times rows times clusters, because each pass computes all costs anew.
_MOST_COSTS = 2 * 10**8
_COSTLY = 8  # an update of centres that are not means takes about as long as this many passes
_BITS = 30  # costs of rows are rounded to multiples of about 2 ** -30 of the free clustering's cost
_CUT_CLUSTERS = 32  # finding the best cuts for this many clusters takes as long as one pass
# A joint pass takes about as long as _JOINT passes, with many clusters as _JOINT passes for each
# _JOINT_CLUSTERS clusters.
_JOINT, _JOINT_CLUSTERS = 8, 20
# A search makes joint passes if it allows at most this many leaves per cluster. With more leaves,
# such passes lower the cost of the fitted rows, but raise that of new rows.
_FEW_LEAVES = 1.5
_MOST_DECOMPOSED = 4 * 10**6  # directions are computed from at most about this many values
# Savings below this share of the cost of the free clustering are rounding errors of sums.
_NOISE = 1e-12
_SHORT_DESCENT = 4  # maximum number of passes between a random change of a tree and its regrowth
_MOST_REDRAWN = 3  # maximum number of tests that a random change replaces
_MOST_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Sketched:
    """A tree for the rows of a sketch, with its costs.

    Parameters
    ----------
    nodes : int64 array of shape (n_nodes, 5)
        Left and right child, feature, bin and label of each node; see :mod:`.axis_kernels`.
    order, span : int64 arrays of shape (n,) and (n_nodes, 2)
        The rows of each node; see :func:`.axis_kernels.routed`.
    centers : float64 array of shape (k, m), optimal for the tree's labels
    cost : float64 array of shape (n, k)
        Weighted dissimilarity of each row to each centre.
    value : float
        Cost of the tree's labels plus the penalty of its tests.
    """

    nodes: np.ndarray
    order: np.ndarray
    span: np.ndarray
    centers: np.ndarray
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
    units, least, rules : limits of leaves and tests; see :mod:`.axis_kernels`
    most_depth : float, maximum depth of leaves
    most_passes : float
        Number of passes over the sketch after which no further regrowth begins.
    """

    problem: Problem
    codes: np.ndarray
    first: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    price: float
    most_leaves: int
    units: np.ndarray
    least: float
    rules: tuple
    most_depth: float
    most_passes: float = np.inf
    n_passes: float = field(default=0, init=False)  # passes over the rows so far

    @classmethod
    def from_problem(cls, problem, trees, lambda_, most_leaves, n_rows, random_state):
        """Return a sketch of a sample of rows and of the columns that separate clusters best.

        Parameters
        ----------
        problem : Problem
        trees : list of Tree, whose columns are always included
        lambda_ : float, penalty per test
        most_leaves : int
        n_rows : int, at most the number of rows of the problem
        random_state : int, RandomState instance or None
        """
        if n_rows < problem.n_rows:
            problem = sample_of_problem(problem, n_rows, random_state)
        columns = _separating_columns(problem, trees)
        X = problem.X if len(columns) == problem.X.shape[1] else problem.X[:, columns]
        binned = BinnedColumns.from_matrix(as_array(X), X.shape[0])
        codes = np.ascontiguousarray(binned.codes.reshape(len(columns), -1).T)
        price = lambda_ + _NOISE * problem.free.inertia
        size = problem.leaf_size
        units, least = (np.empty(0), 0.0) if size is None else (size.units, size.least)
        rules = (np.empty(0, np.int64), -1, 0) if problem.limits is None else problem.limits.rules
        rules = (rules[0][columns] if len(rules[0]) else rules[0], *rules[1:])
        terms = (binned.first, binned.highest, columns, price, most_leaves, units, least, rules)
        return cls(problem, codes, *terms, depth_limit(problem.limits))

    @cached_property
    def unit(self):
        """Power of two to whose multiples costs are rounded, so that equal costs compare as equal.

        Without it, rounding errors, which depend on the units of columns, would choose between
        trees of equal cost.
        """
        free = self.problem.free.inertia
        return float(np.exp2(np.frexp(free)[1] - _BITS)) if free > 0 else 0.0

    @property
    def default_passes(self):
        """Default number of passes over the sampled rows in a search."""
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

    def evaluate(self, nodes, near=None):
        """Return a :class:`Sketched` for the array `nodes` of a tree.

        It has the cost of each row in each cluster, at optimal centres. Tests that leave fewer rows
        on a side than the minimum size of leaves are removed first. `near` is a :class:`Sketched`
        that may have some of the same centres, whose costs are then not computed again.
        """
        nodes, order, span, labels = self._routed(nodes)
        problem, free = self.problem, self.problem.free.centers
        centers = problem.objective.update_centers(problem.data, labels, problem.weight, free)
        cost = self._costs(centers, near)
        inertia = float(cost[np.arange(len(labels)), labels].sum())
        value = inertia + self.price * (len(nodes) // 2)
        return Sketched(nodes, order, span, centers, cost, value)

    def _costs(self, centers, near):
        """Return the weighted cost of each row at each centre: float64 array of shape (n, k)."""
        problem, moved = self.problem, np.ones(len(centers), bool)
        if near is not None:
            moved = (centers != near.centers).any(axis=1)
        if not moved.any():
            return near.cost
        if moved.all() or not problem.objective.centers_are_means:
            moved[:], cost = True, np.empty((problem.n_rows, len(centers)))
        else:
            cost = near.cost.copy()
        distances = problem.objective.distances(problem.data, centers[moved])
        terms = (np.flatnonzero(moved), distances, problem.weight, self.unit)
        kernels.fill_costs(cost, *terms)
        return cost

    def _routed(self, nodes):
        """Return the result of :func:`.axis_kernels.routed` without tests that leave few rows."""
        while True:
            nodes, order, span, labels = kernels.routed(nodes, self.codes)
            if len(self.units) == 0:
                return nodes, order, span, labels
            below = np.append(0.0, np.cumsum(self.units[order]))
            sizes = below[span[:, 1]] - below[span[:, 0]]
            tests = np.flatnonzero(nodes[:, LEFT] >= 0)
            is_small = sizes[nodes[tests][:, [LEFT, RIGHT]]].min(axis=1) < self.least
            if not is_small.any():
                return nodes, order, span, labels
            left, right = nodes[tests[is_small][0], [LEFT, RIGHT]]
            nodes[tests[is_small][0]] = nodes[left if sizes[left] >= sizes[right] else right]

    def descended(self, state, n_passes=None):
        """Run passes, each followed by an update of centres, while they lower the tree's value."""
        best = state
        while n_passes is None or n_passes > 0:
            self.n_passes += 1
            terms = (self.codes, self.first, state.cost, self.price, self.units, self.least)
            terms = (state.order, state.span, *terms, self.rules)
            nodes, changed = kernels.one_pass(state.nodes, *terms)
            if not changed:
                break
            state = self.evaluate(nodes, state)
            if not is_less(state.value, best.value):
                break
            best, n_passes = state, n_passes and n_passes - 1
        return best

    def regrown(self, state, n_more):
        """Return the tree grown by `n_more` leaves beyond the maximum, then pruned to it.

        One pass follows the first step: more of them cost more time than they help. Passes optimise
        the tree after the second step.
        """
        self.n_passes += 1 + max(1, state.cost.shape[1] // _CUT_CLUSTERS)
        nodes = self._expanded(state, self.most_leaves + n_more)
        state = self.descended(self.evaluate(nodes, state), 1)
        terms = (self.codes, state.cost, self.most_leaves, self.price, self.rules[1] >= 0)
        nodes = kernels.shrunk(state.nodes, state.order, state.span, *terms)
        return self.descended(self.evaluate(nodes, state))

    def _expanded(self, state, most_leaves):
        """Return the array of nodes after leaves are split, the best split first.

        This ends at `most_leaves` leaves, or if no split saves more than the penalty per test.
        """
        terms = (self.codes, self.first, state.cost, self.units, self.least)
        n, cuts, fresh = len(state.nodes), {}, np.flatnonzero(state.nodes[:, LEFT] < 0).tolist()
        nodes = np.full((max(n, 2 * most_leaves - 1), 5), -1)
        nodes[:n] = state.nodes
        rows = {leaf: state.order[slice(*state.span[leaf])] for leaf in fresh}
        group, left = self.rules[0], kernels.remaining(nodes, self.rules)
        level = dict(enumerate(kernels.levels(state.nodes).tolist()))
        # What a split can save: a bound, or the saving itself once the best cut has been found.
        savings = {}
        while n < len(nodes):
            fresh = [leaf for leaf in fresh if level[leaf] < self.most_depth]
            savings |= {leaf: kernels.most_saved(rows[leaf], state.cost) for leaf in fresh}
            fresh = []
            if not savings:
                break
            node = max(savings, key=savings.get)
            feature = cuts[node][1] if node in cuts else -1
            is_used_up = feature >= 0 and len(group) and left[group[feature]] <= 0
            if node not in cuts or is_used_up:
                limits = (node, nodes[node], left, self.rules)
                cuts[node] = kernels.best_cut(rows[node], *terms, *limits)
                savings[node] = cuts[node][0]
                continue
            _, feature, bin_, *labels = cuts.pop(node)
            if savings.pop(node) <= self.price:
                break
            fresh, own = [n, n + 1], rows.pop(node)
            nodes[node, :LABEL] = n, n + 1, feature, bin_
            nodes[fresh, LABEL] = labels
            level[n] = level[n + 1] = level[node] + 1
            if len(group):
                left[group[feature]] -= 1
            goes_left = self.codes[own, feature] <= bin_
            rows[n], rows[n + 1] = own[goes_left], own[~goes_left]
            n += 2
        return nodes[:n]

    def settled(self, state, n_more, n_rounds=None):
        """Repeat joint passes, and then regrowth, while they improve the tree.

        The first regrowth adds `n_more` leaves, and later ones half as many after each failure.
        """
        state, n_more = self.with_joint_passes(state), max(1, n_more)
        for _ in range(n_rounds or _MOST_ROUNDS):
            if n_more == 0 or self.n_passes >= self.most_passes:
                break
            check_interrupted()
            other = self.regrown(state, n_more)
            if is_less(other.value, state.value):
                state = other
            else:
                n_more //= 2
        return state

    def disturbed(self, state, rng):
        """Return the tree after a random change, a few passes and regrowth.

        The change replaces some tests by random ones or a random subtree by a leaf.
        """
        change = (self._redrawn, self._cut_back)[rng.randint(2)]
        tests = np.flatnonzero(state.nodes[:, LEFT] >= 0)
        nodes = change(state.nodes.copy(), tests, rng) if len(tests) else state.nodes
        state = self.descended(self.evaluate(nodes, state), _SHORT_DESCENT)
        return self.regrown(state, int(rng.randint(1, max(2, self.most_leaves // 2 + 1))))

    def _redrawn(self, nodes, tests, rng):
        """Replace some tests by random features, with thresholds at values of random rows."""
        varied, left = np.flatnonzero(np.diff(self.first) > 1), kernels.remaining(nodes, self.rules)
        for _ in range(rng.randint(1, _MOST_REDRAWN + 1)):
            node, feature = tests[rng.randint(len(tests))], varied[rng.randint(len(varied))]
            row, high = rng.randint(len(self.codes)), self.first[1:].copy()
            kernels.close(node, nodes[node], left, self.rules, self.first, high)
            if high[feature] == self.first[feature]:  # the test may not use this feature
                continue
            kernels.count(nodes[node, FEATURE], feature, False, left, self.rules)
            nodes[node, FEATURE], nodes[node, BIN] = feature, self.codes[row, feature]
        return nodes

    def _cut_back(self, nodes, tests, rng):
        """Replace a random subtree by a leaf of cluster 0; later passes choose a better label."""
        nodes[tests[rng.randint(len(tests))]] = -1, -1, -1, -1, 0
        return nodes

    def with_joint_passes(self, state):
        """Repeat a joint pass and further passes while they improve a tree of few leaves.

        Trees of more leaves are returned as they are, and so are trees whose centres are not means.
        """
        problem = self.problem
        is_able = problem.objective.centers_are_means
        if not is_able or self.most_leaves > _FEW_LEAVES * problem.n_clusters:
            return state
        while True:
            self.n_passes += _JOINT * max(1, problem.n_clusters // _JOINT_CLUSTERS)
            terms = (self._values, problem.n_clusters, LEAST_PROGRESS * abs(state.value))
            terms = (self.codes, self.first, *terms, self.units, self.least, self.rules)
            nodes, changed = kernels.joint_pass(state.nodes, state.order, state.span, *terms)
            other = self.descended(self.evaluate(nodes, state)) if changed else state
            if not is_less(other.value, state.value):
                return state
            state = other

    @cached_property
    def _values(self):
        return _values_of(self.problem)


def _values_of(problem):
    """Return the rows in a few directions of the clustering space, with their weights.

    The array of shape (n, 12) has the rows, minus their mean and multiplied by their weights, and
    the weights. With more than 11 dimensions, the directions are those of the largest variance.
    """
    space, weight = problem.space, problem.weight
    if space.shape[1] > kernels.WIDTH - 1:
        space = space @ _directions(space, weight).T
    elif issparse(space):
        space = space.toarray()
    values = np.zeros((len(weight), kernels.WIDTH))
    values[:, : space.shape[1]] = space - np.average(space, axis=0, weights=weight)
    values *= weight[:, None]
    values[:, -1] = weight
    return values


def _directions(space, weight):
    """Return 11 orthogonal directions of large variance: array of shape (11, m).

    They are those of some of the rows if there are very many values. The mean of sparse rows is
    not subtracted, because that would make them dense; it is then close to the first direction.
    """
    step = max(1, space.shape[0] * space.shape[1] // _MOST_DECOMPOSED)
    part, scale = space[::step], np.sqrt(weight[::step])[:, None]
    if issparse(part):
        scaled = part.multiply(scale).tocsr()
    else:
        scaled = (part - np.average(part, axis=0, weights=weight[::step])) * scale
    return randomized_svd(scaled, kernels.WIDTH - 1, random_state=0)[2]


def n_sketched(problem):
    """Return how many rows of a problem are sampled for the search over axis-aligned trees."""
    return min(problem.n_rows, max(_MOST_ROWS, _MOST_VALUES // problem.X.shape[1]))


def _separating_columns(problem, trees):
    """Return the numbers of the columns that a sketch contains: an increasing int array.

    Up to 256 columns are all taken. If there are more, it takes those that the trees test, and the
    256 with the largest share of their variance between the free clusters.
    """
    X, free, weight = problem.X, problem.free, problem.weight
    n_columns = X.shape[1]
    if n_columns <= MOST_COLUMNS:
        return np.arange(n_columns)
    size = np.bincount(free.labels, weight, problem.n_clusters)
    means = cluster_means(X, free.labels, weight, problem.n_clusters)
    between = size @ (means - size @ means / size.sum()) ** 2
    total = variances(X, weight)
    share = np.divide(between, total, out=np.zeros(n_columns), where=total > 0)
    best = np.argsort(-share, kind="stable")[:MOST_COLUMNS]
    return np.unique(np.concatenate([best, *(tree.used_features for tree in trees)]))
