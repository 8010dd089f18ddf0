"""SpEx: trees whose cuts have the least conductance in a graph of the rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster._utils.matrices import rows_of
from tao_cluster.problem.repeats import content_order, distinct_rows
from tao_cluster.problem.scaling import Scaling
from tao_cluster.solvers import Newton, NodeProblem
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays, project

from .base import POSITIVE, GreedyTree
from .builder_input import BuilderInput
from .cuts import GraphNode, conductance_cuts
from .growth import Cut, grow, warn_interrupted
from .leaf_clusters import match_labels
from .sorted_columns import SortedColumns, first_best

# Conductances that differ by less are equal: sums in another order differ in their last bits.
_TOLERANCE = 1e-10

# Times that the sides of a node are drawn towards their neighbours and parted anew.
_ROUNDS = 3

# Strengths of the penalty that are tried at a node, as shares of the least without weights.
_STRENGTHS = (0.3, 0.1, 0.03, 0.01)

_STEPS = 30  # of a random walk


@dataclass(kw_only=True, eq=False, repr=False)
class SpEx(GreedyTree):
    """SpEx: cuts of least conductance in a graph of the rows, for any clustering or none.

    Argov & Wagner (2025), arXiv 2511.00885, algorithm 1. A set S of rows has the conductance
    cut(S) / vol(S), the share of its edges that leave it. The sum over the leaves is to be
    small: a leaf is cut where the sum of its halves' conductances is least, and of all leaves
    the one is cut where that adds least.

    Oblique trees are not in the paper: a node's rows are drawn to the side of the best cut that
    most of their edges lead to, with the difference as their weight, and parted by L1-regularised
    logistic regression; the hyperplane with the threshold of least conductance replaces the cut if
    that pays for its weights.

    Parameters
    ----------
    graph : {"clique", "unit-clique", "knn"}, default="clique"
        "clique": every cluster of the free clustering is a clique; its centres do not matter. A
        leaf has the label of most of its weight, leaves of one label are not cut. Edges are 1 over
        the size of the cluster, as in the paper; with "unit-clique" they are 1, as in the authors'
        program, where large clusters count more.
        "knn": a row is connected with its nearest neighbours and those whose neighbour it is; no
        clustering is needed, the free clustering is there to compare with. More than k leaves are
        joined to k clusters where that lowers the sum of conductances most (not in the paper);
        clusters are numbered as the free ones that they share most weight with.
    split : {"axis", "oblique"}, default="axis"
    price : float >= 0, default=0.005
        What the sum of conductances must fall by for each further weight of an oblique test.
        Conductances lie in 0..1, so that 0.005 is half a percent of a leaf's edges.
    max_leaves : int, default=None
        None is the number of clusters.
    n_neighbors : int, default=20
        Of ``graph="knn"``; the paper's number.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes. A record of `history_` has a list of `features`
        where a test has several.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the growth; the tree has the leaves made until then.

    Notes
    -----
    A level takes O(n d), with "knn" times the number of neighbours, after one sort of every
    feature. Equal rows are one vertex of "knn", with their weight together. An oblique test takes
    up to 12 logistic regressions over the columns that its rows have: a fraction of a second each
    for thousands of rows of sparse text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import SpEx
    >>> model = SpEx(3, random_state=0).fit(load_iris().data)
    >>> float(round(model.cost_increase_, 2))
    3.65
    """

    graph: str = "clique"
    split: str = "axis"
    price: float = 0.005
    max_leaves: int | None = None
    n_neighbors: int = 20

    uses_distances = False  # it asks for neighbours, or for labels alone
    sees_centers = False

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "graph": [StrOptions({"clique", "unit-clique", "knn"})],
        "split": [StrOptions({"axis", "oblique"})],
        "price": [Interval(Real, 0, None, closed="left")],
        "max_leaves": [None, POSITIVE],
        "n_neighbors": [POSITIVE],
    }

    def _grow(self, points, random_state):
        is_clique = self.graph != "knn"
        if is_clique:
            graph = CliqueGraph.of(points, is_even=self.graph == "clique")
        else:
            graph = NeighborGraph.of(points, self.n_neighbors)
        tests = hyperplanes(points.X) if self.split == "oblique" else None
        rule, growth = CutConductance(points, graph, tests, self.price), Growth()
        leaves = {growth.add(): rule.root()}
        max_leaves = len(points.centers) if self.max_leaves is None else self.max_leaves
        try:
            grow(growth, leaves, rule, max_leaves)
        except KeyboardInterrupt:
            warn_interrupted(growth, max_leaves)
        nodes = sorted(leaves)
        rows = [leaves[node].rows for node in nodes]
        labels = _majority(points, rows) if is_clique else _joined(points, graph, rows)
        for node, label in zip(nodes, labels, strict=True):
            growth.label[node] = int(label)
        return growth


def _majority(points, leaves):
    """The label of most weight of each leaf, ties to the lowest."""
    k = len(points.centers)
    return [np.bincount(points.labels[rows], points.weight[rows], k).argmax() for rows in leaves]


def _joined(points, graph, leaves):
    """Clusters of leaves, numbered as the free ones that they agree with best."""
    k = len(points.centers)
    cluster = joined(graph, leaves, k)
    rows = np.concatenate(leaves)
    labels = np.repeat(cluster, [len(some) for some in leaves])
    return match_labels(labels, points.labels[rows], k, graph.weight[rows])[cluster]


def joined(graph, leaves, n_clusters):
    """Clusters of leaves: pairs of least conductance are joined until there are few enough.

    The pair is joined whose union lowers the sum of conductances most, ties to the first.

    Parameters
    ----------
    graph : NeighborGraph
    leaves : list of int64 arrays, the rows of each leaf
    n_clusters : int

    Returns
    -------
    int64 array of shape (number of leaves,), in 0..n_clusters-1
    """
    sizes = [len(rows) for rows in leaves]
    group = np.repeat(np.arange(len(leaves)), sizes)
    member = sp.csr_matrix(
        (np.ones(len(group)), (group, np.concatenate(leaves))), (len(leaves), len(graph.weight))
    )
    edges = (member @ graph.adjacency @ member.T).toarray()
    volume = member @ graph.degree
    cluster, alive = np.arange(len(leaves)), list(range(len(leaves)))
    while len(alive) > n_clusters:
        some = np.array(alive)
        inner, size = edges[np.ix_(some, some)], volume[some]
        own = np.divide(np.diag(inner), size, out=np.zeros(len(some)), where=size > 0)
        union = np.diag(inner)[:, None] + np.diag(inner) + 2 * inner
        both = size[:, None] + size
        kept = np.divide(union, both, out=np.zeros_like(union), where=both > 0)
        saved = np.round(kept - own[:, None] - own, 10)
        saved[np.tril_indices(len(some))] = -np.inf
        i, j = np.unravel_index(saved.argmax(), saved.shape)
        a, b = some[i], some[j]
        cluster[cluster == b] = a
        edges[a] += edges[b]
        edges[:, a] += edges[:, b]
        volume[a] += volume[b]
        alive.remove(b)
    return np.unique(cluster, return_inverse=True)[1]


@dataclass(frozen=True)
class SplitCut(Cut):
    """A cut by a weighted sum of several features."""

    test: Split | None = None

    @property
    def split(self):
        """See :class:`greedy.growth.Cut`."""
        return self.test


@dataclass(frozen=True, eq=False)
class SpexLeaf:
    """Rows, and the node that they make."""

    rows: np.ndarray
    node: GraphNode
    label: int = 0  # given when all leaves are known


@dataclass(frozen=True, eq=False)
class CutConductance:
    """Split the leaf where the sum of the leaves' conductances rises least.

    Argov & Wagner (2025), algorithm 1: a leaf S has conductance cut(S) / vol(S) in the whole
    graph, and the tree is to make the sum over its leaves small.

    Parameters
    ----------
    points : BuilderInput
    graph : CliqueGraph or NeighborGraph
    hyperplanes : callable(rows, goes_right, weight) -> iterable of Split, optional
        Tests of several features that send rows to their sides, but for little weight.
    price : float
        What conductance must fall by for every further weight of a test.
    """

    points: BuilderInput
    graph: Any
    hyperplanes: Callable | None = None
    price: float = 0.0
    view: Any = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "view", kernel_arrays(self.points.X))

    def root(self):
        """Leaf of all vertices."""
        rows = self.graph.rows
        return self._leaf(rows, SortedColumns.from_rows(self.points, np.sort(rows)))

    def _leaf(self, rows, order):
        return SpexLeaf(rows, self.graph.node(order, rows))

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`: only the search can tell."""
        return np.inf if self.graph.can_be_cut(leaf.node) else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if all rows are equal."""
        node, d = leaf.node, self.points.n_features
        kept, threshold = np.empty(d), np.empty(d)
        self.points.over_features(
            lambda lo, hi: conductance_cuts(node, _TOLERANCE, lo, hi, kept, threshold)
        )
        feature = first_best(kept, _TOLERANCE)
        if feature is None:
            return None
        cut = Cut(feature, float(threshold[feature]), _rise(node, kept[feature]))
        return cut if self.hyperplanes is None else self._oblique(leaf, cut)

    def _oblique(self, leaf, cut):
        """The best of a cut and those by hyperplanes that grow out of it.

        Each row is drawn to the side that most of its edges lead to, with the difference as its
        weight; a hyperplane that parts these sides is moved to where its conductance is least.
        """
        best, value = cut, cut.gain
        for _ in range(_ROUNDS):
            goes_left = self._goes_left(leaf.rows, best.split)
            pull = self.graph.pull(leaf.rows, ~goes_left)
            drawn = pull != 0
            goes_right = pull[drawn] > 0
            if goes_right.all() or not goes_right.any():
                break
            tests = self.hyperplanes(leaf.rows[drawn], goes_right, np.abs(pull[drawn]))
            before = best
            for found in (self._placed(leaf, test) for test in tests):
                if found is None:
                    continue
                worth = found.gain - self.price * (len(found.test.indices) - 1)
                if worth > value + _TOLERANCE:
                    best, value = found, worth
            if best is before:
                break
        return best

    def _placed(self, leaf, test):
        """A hyperplane with the threshold of least conductance, as a cut."""
        if len(test.indices) < 2:
            return None  # no better than the best cut of a feature
        values = project(self.view, leaf.rows, test.indices, test.weights)
        at = np.argsort(values, kind="stable")
        rows, n = leaf.rows[at].astype(np.int32), len(at)
        ends = np.array([0, n])
        order = SortedColumns(rows, values[at], ends, ends[1:], np.zeros(1), n)
        kept, threshold = np.empty(1), np.empty(1)
        conductance_cuts(leaf.node._replace(order=order), _TOLERANCE, 0, 1, kept, threshold)
        if kept[0] == -np.inf:
            return None
        split = Split(test.indices, test.weights, float(threshold[0]))
        return SplitCut(-1, split.threshold, _rise(leaf.node, kept[0]), split)

    def _goes_left(self, rows, split):
        return project(self.view, rows, split.indices, split.weights) <= split.threshold

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        goes_left = self._goes_left(leaf.rows, cut.split)
        halves = (leaf.rows[goes_left], leaf.rows[~goes_left])
        n = len(self.graph.weight)
        return tuple(self._leaf(rows, leaf.node.order.part(rows, n)) for rows in halves)


def _rise(node, kept):
    """Minus what a cut adds to the sum of conductances, so that equal ones are equal."""
    own = node.inner / node.volume if node.volume > 0 else 0.0
    return round(float(kept - 1 - own), 10)


def hyperplanes(X):
    """Function that yields sparse hyperplanes which part rows as told, from few weights to many.

    They are those of L1-regularised logistic regression (proximal Newton), whose weights are priced
    in spreads of the features.
    """
    solver = Newton().bind(X)

    def tests(rows, goes_right, weight):
        some, weight = X[rows], weight / weight.sum()
        spread = Scaling.from_rows(some, weight).scale
        residual = weight * (goes_right - weight @ goes_right)
        steepest = float((np.abs(some.T @ residual) / spread).max())
        test = None
        for share in _STRENGTHS:
            strength = share * steepest
            problem = NodeProblem(rows, goes_right, weight, strength, test, None, spread)
            test, _ = solver.solve(problem)
            yield test

    return tests


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """Every cluster is a clique, and clusters are not connected.

    Edges are w_i w_j times a scale of the cluster, and rows have loops. With the scale 1 / W,
    where W is the weight of the cluster, a row's degree is its weight, as nearly in the paper
    (1 / (|C| - 1) without loops, with which the tree would change with the unit of weights).

    Parameters
    ----------
    rows : int64 array of shape (m,), its vertices
    weight : float64 array of shape (n,)
    labels : int64 array of shape (n,)
    scale : float64 array of shape (k,)
    degree : float64 array of shape (n,)
    """

    rows: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    scale: np.ndarray
    degree: np.ndarray

    @classmethod
    def of(cls, points, is_even=True):
        """The graph of the free clustering: all rows of weight 1 have equal degrees, or edges."""
        rows, labels, weight = points.rows, points.labels, points.weight
        mass = np.bincount(labels[rows], weight[rows], len(points.centers))
        scale = 1 / np.where(is_even & (mass > 0), mass, mass.max())
        return cls(rows, weight, labels, scale, weight * (mass * scale)[labels])

    def node(self, order, rows):
        """The node of some rows."""
        inside = np.bincount(self.labels[rows], self.weight[rows], len(self.scale))
        return GraphNode(
            order=order,
            graph=(self.labels, self.scale),
            weight=self.weight,
            degree=self.degree,
            inside=inside,
            inner=float((inside * self.scale) @ inside),
            volume=float(self.degree[rows].sum()),
        )

    def can_be_cut(self, node):
        """Whether cuts of a node may matter: those of one cluster do not."""
        return np.count_nonzero(node.inside) > 1

    def pull(self, rows, goes_right):
        """Where the edges of rows in a node lead to.

        Parameters
        ----------
        rows : int64 array of shape (m,), of the node
        goes_right : bool array of shape (m,)

        Returns
        -------
        float64 array of shape (m,)
            By how much more of its edges within the node lead to the right. If that is so for
            all rows or none, by how much more than of all edges.
        """
        labels, weight = self.labels[rows], self.weight[rows]

        def spread(values):
            sums = np.bincount(labels, weight * values, len(self.scale))
            return weight * (sums * self.scale)[labels]

        pull = spread(goes_right - 0.5)
        if (pull > 0).any() and (pull < 0).any():
            return pull
        degree = spread(np.ones(len(rows)))
        return spread(goes_right - degree @ goes_right / degree.sum())


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Rows are connected if one is among the nearest neighbours of the other.

    Parameters
    ----------
    rows : int64 array of shape (m,), its vertices, one for all rows that are equal
    weight : float64 array of shape (n,), that of these
    adjacency : CSR matrix of shape (n, n), w_i w_j for connected rows
    degree : float64 array of shape (n,)
    """

    rows: np.ndarray
    weight: np.ndarray
    adjacency: sp.csr_matrix
    degree: np.ndarray

    @classmethod
    def of(cls, points, n_neighbors):
        """The graph of the distinct rows, by Euclidean distances where they are clustered."""
        rows, weight = points.rows, points.weight[points.rows]
        X, space = rows_of(points.X, points.space, rows)
        if points.space is points.X:
            space = X
        some, weight, _ = distinct_rows(X, space, weight, points.n_jobs)
        if some is None:  # in one order, by which ties between neighbours are broken
            some = content_order(X, points.n_jobs)
        rows, space = rows[some], space[some]
        n = len(points.weight)
        heft = np.zeros(n)
        heft[rows] = weight
        pairs = _neighbors(space, min(n_neighbors, len(rows) - 1)).tocoo()
        a, b = rows[pairs.row], rows[pairs.col]
        directed = sp.csr_matrix((np.ones(len(a)), (a, b)), (n, n))
        adjacency = directed.maximum(directed.T).tocsr()
        adjacency.sort_indices()
        adjacency.data = heft[adjacency.indices] * np.repeat(heft, np.diff(adjacency.indptr))
        return cls(rows, heft, adjacency, np.asarray(adjacency.sum(axis=1)).ravel())

    def node(self, order, rows):
        """The node of some rows."""
        inside = np.zeros(len(self.weight), np.int8)
        inside[rows] = 1
        A = self.adjacency
        return GraphNode(
            order=order,
            graph=(A.indptr, A.indices, A.data),
            weight=self.weight,
            degree=self.degree,
            inside=inside,
            inner=float((A[rows] @ inside.astype(np.float64)).sum()),
            volume=float(self.degree[rows].sum()),
        )

    def can_be_cut(self, node):
        """Every node may be cut."""
        del node
        return True

    def pull(self, rows, goes_right):
        """See :meth:`CliqueGraph.pull`; here after a random walk along the edges.

        It is the power method for the second eigenvector of the node's graph, from the sides on:
        sides that follow a few rows wear off.
        """
        A = self.adjacency[rows][:, rows]
        degree = np.asarray(A.sum(axis=1)).ravel()
        total = max(degree.sum(), np.finfo(float).tiny)
        values = goes_right.astype(np.float64)
        for _ in range(_STEPS):  # lazy ones, or sides that alternate would never settle
            values -= degree @ values / total
            walked = np.divide(A @ values, degree, out=np.zeros_like(values), where=degree > 0)
            values = (values + walked) / 2
        return A @ (values - degree @ values / total)


def _neighbors(space, n_neighbors):
    """CSR indicator of the neighbours of each row, none of them itself."""
    if n_neighbors < 1:
        return sp.csr_matrix((space.shape[0], space.shape[0]))
    return NearestNeighbors(n_neighbors=n_neighbors).fit(space).kneighbors_graph()
