"""The sketch: a sample of rows and columns, coded as bytes, on which many trees are evaluated."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .._utils.matrices import as_array, variances
from ..objectives import cluster_means
from ..outofcore.coreset import sample_of_problem
from ..problem.problem import Problem
from ..solvers.axis import BinnedColumns
from ..tree import Tree
from . import sketch_kernels as kernels
from .joint_kernels import joint_pass, values_of_rows
from .sketch_kernels import BIN, FEATURE, LABEL, LEFT, RIGHT

# The sketch decides the structure of a tree. All rows give thresholds and labels later.
_MOST_ROWS, _MOST_COLUMNS = 5000, 256
_MOST_VALUES = 500_000  # with few columns, more rows are sampled, up to this number of values
# Limits of the time of a search: the number of passes times the bytes of the sketch, and the number
# of passes.
_MOST_BYTES, _MOST_PASSES = 2 * 10**8, 2000
# Limit of passes times rows times clusters, because each pass computes all costs anew.
_MOST_COSTS = 5 * 10**8
_COSTLY = 8  # an update of centres that are not means takes about as long as this many passes
_BITS = 30  # costs of rows are rounded to multiples of about 2 ** -30 of the free clustering's cost
_CUT_CLUSTERS = 32  # finding the best cuts for this many clusters takes as long as one pass
_JOINT = 8  # a joint pass takes about as long as this many passes
# A search makes joint passes throughout if it allows at most this many leaves per cluster. With
# more leaves they help less than other changes of the tree that take the same time.
_FEW_LEAVES = 1.5
# With more than this many leaves, a search also changes small subtrees at fixed centres, and makes
# this multiple of the passes. In smaller trees, a subtree of the same size is much of the tree, and
# other changes help more.
_MANY_LEAVES, _TIMES_IF_MANY = 30, 2.5
_MOST_BINS = 256  # of a feature
# Savings below this share of the cost of the free clustering are rounding errors of sums.
_NOISE = 1e-12
LEAST_PROGRESS = 1e-9  # smaller relative decreases of the objective do not count


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
    limit : tuple of (float64 array of shape (n,), float)
        Units of each row and the minimum size of a leaf; no units if there is no minimum.
    cost : float64 array of shape (n, k), optional
        Costs of the rows if the centres are fixed; see :meth:`part`.
    """

    problem: Problem
    codes: np.ndarray
    first: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    price: float
    most_leaves: int
    limit: tuple[np.ndarray, float] = (np.empty(0), 0.0)
    cost: np.ndarray | None = None
    n_passes: float = field(default=0, init=False)  # passes over the rows so far

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
        size = problem.leaf_size
        limit = {} if size is None else {"limit": (size.units, size.least)}
        terms = (binned.first, binned.highest, columns, price, most_leaves)
        return cls(problem, codes, *terms, **limit)

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
        most = min(_MOST_PASSES, _MOST_BYTES // self.codes.size)
        if self.has_many_leaves:
            most = int(_TIMES_IF_MANY * most)
        most = min(most, _MOST_COSTS // n_costs)
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
        if len(self.limit[0]):
            nodes = self._without_small_leaves(nodes)
        labels = kernels.labels_of(nodes, self.codes)
        cost = self._cost_of(labels) if self.cost is None else self.cost
        inertia = float(cost[np.arange(len(labels)), labels].sum())
        return Sketched(nodes, cost, inertia + self.price * (len(nodes) // 2))

    def _cost_of(self, labels):
        """Return the cost of each row in each cluster, at optimal centres for the labels."""
        problem, objective = self.problem, self.problem.objective
        free = problem.free.centers
        centers = objective.update_centers(problem.data, labels, problem.weight, free)
        cost = objective.distances(problem.data, centers) * problem.weight[:, None]
        return np.rint(cost / self.unit) * self.unit if self.unit > 0 else cost

    def part(self, state, node, most_leaves):
        """Return a sketch of the rows of a node, in which the centres are those of a tree.

        Parameters
        ----------
        state : Sketched
        node : int
        most_leaves : int
        """
        order, span = kernels.spans(state.nodes, self.codes, len(state.nodes))
        rows, (units, least) = order[span[node, 0] : span[node, 1]], self.limit
        limit = units[rows] if len(units) else units, least
        terms = {"codes": self.codes[rows], "cost": state.cost[rows], "limit": limit}
        return replace(self, most_leaves=most_leaves, **terms)

    def _without_small_leaves(self, nodes):
        (units, least), found = self.limit, nodes
        while found is not None:
            nodes = kernels.compact(found)
            order, span = kernels.spans(nodes, self.codes, len(nodes))
            below = np.append(0.0, np.cumsum(units[order]))
            sizes = below[span[:, 1]] - below[span[:, 0]]
            found = kernels.without_unbalanced(nodes, sizes, least)
        return nodes

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

    @property
    def has_many_leaves(self):
        """Whether trees have so many leaves that changes of small subtrees help."""
        return self.most_leaves > _MANY_LEAVES and not self.has_few_leaves

    @cached_property
    def _values(self):
        return values_of_rows(self.problem)

    def joint_pass(self, state):
        """Run one joint pass; return the array of nodes, and whether it changed.

        See :mod:`.joint_kernels`.
        """
        self.n_passes += _JOINT
        n_clusters, least_gain = state.cost.shape[1], LEAST_PROGRESS * abs(state.value)
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
    """Return whether a sketch of a problem has all its rows and columns, and a bin per value."""
    if n_sketched(problem) < problem.n_rows or problem.X.shape[1] > _MOST_COLUMNS:
        return False
    return all(len(np.unique(column)) <= _MOST_BINS for column in as_array(problem.X).T)


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
