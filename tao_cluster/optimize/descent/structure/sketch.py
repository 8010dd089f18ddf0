"""A sketch of a problem, to look at thousands of trees: rows and columns as bytes."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from greedy.cuts import code_dense

from ...._utils.matrices import as_array, variances
from ....objectives import cluster_means
from ....problem.problem import Problem
from ....tree import Tree
from . import kernels
from .kernels import BIN, FEATURE, LABEL, LEFT, RIGHT

# What the structure of a tree shows in; thresholds and labels come of all rows later.
_MOST_ROWS, _MOST_COLUMNS = 5000, 256
_MOST_VALUES = 500_000  # more rows than that where there are few columns
# The work of a search: bytes that passes over the tree may read at each level, and passes.
_MOST_BYTES, _MOST_PASSES = 2 * 10**8, 2000
_MOST_COSTS = 5 * 10**8  # and costs of rows in clusters that follow from new centres
_DEAR = 8  # an objective whose centres are no means makes them in the time of so many passes
_BITS = 30  # of the free cost that costs of rows are rounded to
_CUT_CLUSTERS = 32  # cuts of leaves sum the costs of so many clusters in the time of a pass
_NOISE = 1e-12  # of the free cost: what is saved by the rounding of sums


@dataclass(frozen=True, eq=False)
class Sketched:
    """A tree over a sketch, as :mod:`.kernels` read it.

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
        share = 1.0
        n_rows = n_sketched(problem)
        if problem.n_rows > n_rows:
            rng, everything = check_random_state(random_state), problem.weight.sum()
            problem = problem.of_rows(np.sort(rng.choice(problem.n_rows, n_rows, replace=False)))
            share = float(problem.weight.sum() / everything)
        columns = _telling_columns(problem, trees)
        X = problem.X if len(columns) == problem.X.shape[1] else problem.X[:, columns]
        coded = code_dense(as_array(X))
        codes = np.concatenate(list(coded.codes), axis=1)[:, : len(columns)]
        price = share * lambda_ + _NOISE * problem.free.inertia
        codes = np.ascontiguousarray(codes)
        return cls(problem, codes, coded.first, coded.high, columns, price, most_leaves)

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
        is_dear = not objective.centers_are_means and not objective.explains_labels
        n_costs = len(self.codes) * self.problem.n_clusters
        most = min(_MOST_PASSES, _MOST_BYTES // self.codes.size, _MOST_COSTS // n_costs)
        return most // _DEAR if is_dear else most

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
        labels = kernels.labels_of(nodes, self.codes)
        free = problem.free.centers
        centers = objective.update_centers(problem.data, labels, problem.weight, free)
        cost = objective.distances(problem.data, centers) * problem.weight[:, None]
        if self.unit > 0:
            cost = np.rint(cost / self.unit) * self.unit
        inertia = float(cost[np.arange(len(labels)), labels].sum())
        return Sketched(nodes, cost, inertia + self.price * (len(nodes) // 2))

    def one_pass(self, state):
        """See :func:`.kernels.one_pass`: the new nodes, and whether they are other ones."""
        self.n_passes += 1
        return kernels.one_pass(state.nodes, self.codes, self.first, state.cost, self.price)

    def expand(self, state, most_leaves):
        """See :func:`.kernels.expand`: the new nodes."""
        self.n_passes += max(1, state.cost.shape[1] // _CUT_CLUSTERS)
        terms = (self.codes, self.first, state.cost, most_leaves, self.price)
        return kernels.expand(state.nodes, *terms)

    def shrink(self, state):
        """See :func:`.kernels.shrink`: the new nodes."""
        self.n_passes += 1
        terms = (self.codes, state.cost, self.most_leaves, self.price)
        return kernels.shrink(state.nodes, *terms)


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
    total = variances(X)
    share = np.divide(between, total, out=np.zeros(n_columns), where=total > 0)
    best = np.argsort(-share, kind="stable")[:_MOST_COLUMNS]
    return np.unique(np.concatenate([best, *(tree.used_features for tree in trees)]))
