"""SpEx: trees whose leaves have small conductance in a graph of the rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster._utils.jit import chosen_by, jit
from tao_cluster._utils.matrices import rows_of
from tao_cluster.problem.repeats import distinct_rows
from tao_cluster.problem.scaling import Scaling
from tao_cluster.reference import match_labels
from tao_cluster.solvers import Newton, NodeProblem
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.margins import TIE
from tao_cluster.tree.routing import kernel_arrays, project

from ..base import POSITIVE, GreedyTree
from ..builder_input import BuilderInput
from ..growth import Cut, grow, keep_interrupted
from .sorted_columns import SortedColumns, first_within

# Maximum number of refits of an oblique test. Before each refit, every row is assigned to the
# side to which most of its edges in the neighbour graph lead.
_MAX_REFITS = 3

# Factors of the L1 penalty of the oblique tests that are tried at a node, as shares of the smallest
# factor that makes all weights 0.
_RELATIVE_STRENGTHS = (0.3, 0.1, 0.03, 0.01)

_WALK_STEPS = 30  # steps of the random walk in NeighborGraph.pull


@dataclass(kw_only=True, eq=False, repr=False)
class SpEx(GreedyTree):
    """SpEx: cuts of small conductance in a graph of the rows, for any clustering or none.

    Use it to explain a clustering that has no centres (``graph="clique"``), or to find clusters
    as dense parts of a neighbour graph (``graph="knn"``). If the k-means cost is what counts,
    other methods cost less.

    The conductance of a set S of rows is cut(S) / vol(S), the share of its edges that leave it.
    The method keeps the sum of the conductances of the leaves small (Argov & Wagner 2025, arXiv
    2511.00885, algorithm 1): each leaf has a best cut, whose halves have the smallest sum of
    conductances, and the next cut is the one that increases the total least.

    Oblique tests are not in the paper. Starting from the best cut, each row of a node is assigned
    to the side to which most of its edges lead, with the difference as its weight. L1-regularised
    logistic regression separates the sides. Its hyperplane, with the threshold of smallest
    conductance, replaces the cut if it lowers the conductance by `price` per further weight.

    After the growth, `fit` removes splits whose leaves all have the same label. This changes no
    cluster, so that the tree may have fewer than `max_leaves` leaves.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    graph : {"clique", "unit-clique", "knn"}, default="clique"
        The graph of the rows:

        - "clique": each cluster of the free clustering is a clique; its centres do not matter. A
          leaf gets the label with the largest weight, and leaves of one label are not cut. The
          weight of an edge is 1 over the size of the cluster, as in the paper.
        - "unit-clique": the same with edges of weight 1, as in the authors' program. Large
          clusters then count more.
        - "knn": a row is connected with its nearest neighbours, and with the rows whose nearest
          neighbour it is. The free clustering is only compared with. If there are more than k
          leaves, those pairs are joined that lower the sum of conductances most, until there are
          k clusters (not in the paper). Each cluster gets the number of the free cluster with
          which it agrees best.
    split : {"axis", "oblique"}, default="axis"
        Whether tests use one feature or a weighted sum of several.
    price : float >= 0, default=0.005
        Decrease in conductance that each further weight of an oblique test must achieve. As
        conductances lie in 0..1, 0.005 is half a percent of the edges of a leaf. Only with
        ``split="oblique"``.
    max_leaves : int, default=None
        Maximum number of leaves. None means the number of clusters.
    n_neighbors : int, default=20
        Number of neighbours (20 in the paper). Only with ``graph="knn"``.
    reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The attributes are also those of :class:`IMM`. A record of `history_`
        has a list "features" instead of "feature" if its test has several features.

    Raises
    ------
    ValueError
        If `price` or `n_neighbors` is set but not used. Others as in :class:`IMM`.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt stops the growth. The tree keeps the leaves made until then.

    Notes
    -----
    Equal rows are one vertex of the "knn" graph, with the sum of their weights.

    ================== ==================================================================
    cliques            O(n d) per level, after one sort of each feature
    neighbours         the same times the number of neighbours
    an oblique test    up to 12 logistic regressions on the columns that its rows use: a
                       fraction of a second each for thousands of rows of sparse text
    memory beside X    about 930 bytes per row of 20 columns with cliques, 2400 with
                       neighbours (measured)
    ================== ==================================================================

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

    uses_distances = False  # the tree depends on neighbours or labels, not on distances to centres
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
        if self.split == "axis" and self.price != SpEx.price:
            raise ValueError(f'price={self.price} applies to split="oblique" only.')
        if is_clique and self.n_neighbors != SpEx.n_neighbors:
            raise ValueError(f'n_neighbors={self.n_neighbors} applies to graph="knn" only.')
        if is_clique:
            graph = CliqueGraph.from_input(points, scales_by_weight=self.graph == "clique")
        else:
            graph = NeighborGraph.from_input(points, self.n_neighbors)
        tests = hyperplanes(points.X) if self.split == "oblique" else None
        rule, growth = CutConductance(points, graph, tests, self.price), Growth()
        leaves = {growth.add(): rule.root()}
        max_leaves = len(points.centers) if self.max_leaves is None else self.max_leaves
        try:
            grow(growth, leaves, rule, max_leaves)
        except KeyboardInterrupt:
            keep_interrupted(points, growth, max_leaves)
        nodes = sorted(leaves)
        rows = [leaves[node].rows for node in nodes]
        labels = _majority(points, rows) if is_clique else _joined(points, graph, rows)
        for node, label in zip(nodes, labels, strict=True):
            growth.label[node] = int(label)
        return growth


def _majority(points, leaves):
    """Return the label with the largest weight in each leaf; ties go to the lowest label."""
    k = len(points.centers)
    return [np.bincount(points.labels[rows], points.weight[rows], k).argmax() for rows in leaves]


def _joined(points, graph, leaves):
    """Join leaves to clusters, numbered as the free clusters with which they agree best."""
    k = len(points.centers)
    cluster = joined(graph, leaves, k)
    rows = np.concatenate(leaves)
    labels = np.repeat(cluster, [len(some) for some in leaves])
    return match_labels(labels, points.labels[rows], k, graph.weight[rows])[cluster]


def joined(graph, leaves, n_clusters):
    """Join leaves to at most `n_clusters` clusters of small conductance.

    Each step joins the pair whose union lowers the sum of conductances most (ties: the first).

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
    """A cut of a weighted sum of several features."""

    test: Split | None = None

    @property
    def split(self):
        """The test of several features (a Split) that makes this cut."""
        return self.test


class GraphNode(NamedTuple):
    """Input of :func:`conductance_cuts`: a node and a graph over the rows of X.

    A denotes the weighted adjacency matrix of the graph, of shape (n, n). `graph` has one of two
    forms. (indptr, indices, data) is A as a sparse matrix. (label, scale) stands for a graph in
    which all rows with the same label c are connected: A[i, j] = weight[i] weight[j] scale[c] for
    two rows i, j of label c, including i = j, and 0 for rows of different labels.
    """

    order: SortedColumns
    graph: tuple
    weight: np.ndarray  # (n,) float64, weight of each row
    degree: np.ndarray  # (n,) float64, row sums of A
    # If `graph` is (label, scale): float64 of shape (k,), weight of the node's rows per label.
    # If `graph` is sparse: int8 of shape (n,), 1 for the rows in the node and 0 for other rows.
    inside: np.ndarray
    inner: float  # sum of A[i, j] over all rows i, j in the node
    volume: float  # sum of the degrees of the rows in the node


@dataclass(frozen=True, eq=False)
class SpexLeaf:
    """Rows of a leaf, and their GraphNode, the input of the kernel `conductance_cuts`."""

    rows: np.ndarray
    node: GraphNode
    label: int = 0  # unused; SpEx._grow sets the labels of the tree


@dataclass(frozen=True, eq=False)
class CutConductance:
    """Rule of growth: split where the sum of the conductances of the leaves rises least.

    The conductance of a leaf S is cut(S) / vol(S) in the whole graph (Argov & Wagner 2025,
    algorithm 1).

    Parameters
    ----------
    points : BuilderInput
    graph : CliqueGraph or NeighborGraph
    hyperplanes : callable, optional
        Function of (rows, goes_right, weight) that yields tests of several features, each of
        which sends most of the weight to the given sides.
    price : float
        Decrease in conductance that each further weight of a test must achieve.
    """

    points: BuilderInput
    graph: Any
    hyperplanes: Callable | None = None
    price: float = 0.0
    view: Any = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "view", kernel_arrays(self.points.X))

    def root(self):
        """Return the leaf of all vertices of the graph."""
        rows = self.graph.rows
        return self._leaf(rows, SortedColumns.from_rows(self.points, np.sort(rows)))

    def _leaf(self, rows, order):
        return SpexLeaf(rows, self.graph.node(order, rows))

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf if the leaf can be cut, else 0."""
        return np.inf if self.graph.can_be_cut(leaf.node) else 0.0

    def search(self, leaf):
        """Return the cut with the least sum of conductances; None if all rows are equal."""
        node, d = leaf.node, self.points.n_features
        kept, threshold = np.empty(d), np.empty(d)
        self.points.over_features(
            lambda lo, hi: conductance_cuts(node, TIE, lo, hi, kept, threshold)
        )
        feature = first_within(kept, TIE)
        if feature is None:
            return None
        cut = Cut(feature, float(threshold[feature]), _rise(node, kept[feature]))
        return cut if self.hyperplanes is None else self._oblique(leaf, cut)

    def _oblique(self, leaf, cut):
        """Return the best of a cut and of the hyperplanes that start from it.

        Each row is assigned to the side to which most of its edges lead, with the difference as
        its weight. Hyperplanes that separate the sides get the threshold of least conductance.
        """
        best, value = cut, cut.gain
        for _ in range(_MAX_REFITS):
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
                if worth > value + TIE:
                    best, value = found, worth
            if best is before:
                break
        return best

    def _placed(self, leaf, test):
        """Return the cut by an oblique test, with the threshold of the least sum of conductances.

        It is None if the test has fewer than two features, or sends all rows to one side.
        """
        if len(test.indices) < 2:
            return None  # the search over single features has found the best cut of this kind
        values = project(self.view, leaf.rows, test.indices, test.weights)
        at = np.argsort(values, kind="stable")
        rows, n = leaf.rows[at].astype(np.int32), len(at)
        ends = np.array([0, n])
        terms = (rows, values[at], ends, ends[1:], np.zeros(1), n)
        order = SortedColumns.from_entries(*terms, *self._limits(leaf.rows, values))
        kept, threshold = np.empty(1), np.empty(1)
        conductance_cuts(leaf.node._replace(order=order), TIE, 0, 1, kept, threshold)
        if kept[0] == -np.inf:
            return None
        split = Split(test.indices, test.weights, float(threshold[0]))
        return SplitCut(-1, split.threshold, _rise(leaf.node, kept[0]), split)

    def _limits(self, rows, values):
        """Return the range of thresholds of a test that leave enough rows, as two arrays (1,)."""
        size = self.points.leaf_size
        limits = (-np.inf, np.inf) if size is None else size.thresholds(values, rows)
        return tuple(np.array([limit], np.float64) for limit in limits)

    def _goes_left(self, rows, split):
        return project(self.view, rows, split.indices, split.weights) <= split.threshold

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the rows of a leaf."""
        goes_left = self._goes_left(leaf.rows, cut.split)
        halves = (leaf.rows[goes_left], leaf.rows[~goes_left])
        order = leaf.node.order
        return tuple(self._leaf(rows, order.part(self.points, rows)) for rows in halves)


def _rise(node, kept):
    """Return minus the increase of the sum of conductances by a cut, rounded to make ties exact.

    `kept` is the sum, over both halves, of 1 minus the conductance.
    """
    own = node.inner / node.volume if node.volume > 0 else 0.0
    return round(float(kept - 1 - own), 10)


def hyperplanes(X):
    """Return a function that yields sparse hyperplanes between rows, from few weights to many.

    The function takes (rows, goes_right, weight). The hyperplanes are those of L1-regularised
    logistic regression (proximal Newton) on features divided by their standard deviation.
    """
    solver = Newton().bind(X)

    def tests(rows, goes_right, weight):
        some, weight = X[rows], weight / weight.sum()
        scale = Scaling.from_rows(some, weight).scale
        residual = weight * (goes_right - weight @ goes_right)
        steepest = float((np.abs(some.T @ residual) / scale).max())
        test = None
        for share in _RELATIVE_STRENGTHS:
            strength = share * steepest
            problem = NodeProblem(rows, goes_right, weight, strength, test, None, scale)
            test, _ = solver.solve(problem)
            yield test

    return tests


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """Graph in which every cluster is a clique and clusters are not connected.

    An edge has the weight w_i w_j (the product of the weights of its rows) times the scale of its
    cluster, and each row has a loop, an edge to itself. If the scale is 1 / W for a cluster of
    weight W, the degree of a row is its weight. The paper has no loops and the scale 1 / (|C| - 1)
    for a cluster of |C| rows; then the tree would depend on the unit of the weights.

    Parameters
    ----------
    rows : int64 array of shape (m,)
        The vertices: numbers of the rows of positive weight.
    weight : float64 array of shape (n,), weight w of each row of X
    labels : int64 array of shape (n,), free cluster of each row
    scale : float64 array of shape (k,), scale of each cluster
    degree : float64 array of shape (n,), sum of the weights of the edges of each row
    """

    rows: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    scale: np.ndarray
    degree: np.ndarray

    @classmethod
    def from_input(cls, points, scales_by_weight=True):
        """Build the graph in which the rows of each free cluster form a clique.

        The scale of a cluster multiplies the weights of its edges. If `scales_by_weight`, it is
        1 / W for a cluster of total weight W. Otherwise, all clusters have the same scale.
        """
        rows, labels, weight = points.rows, points.labels, points.weight
        mass = np.bincount(labels[rows], weight[rows], len(points.centers))
        scale = 1 / np.where(scales_by_weight & (mass > 0), mass, mass.max())
        return cls(rows, weight, labels, scale, weight * (mass * scale)[labels])

    def node(self, order, rows):
        """Return a `GraphNode` with the given rows, the input of the compiled functions."""
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
        """Return whether a node has rows of several clusters."""
        return np.count_nonzero(node.inside) > 1

    def pull(self, rows, goes_right):
        """Return the side to which most edges of each row of a node lead.

        Parameters
        ----------
        rows : int64 array of shape (m,)
            Rows of the node.
        goes_right : bool array of shape (m,)

        Returns
        -------
        float64 array of shape (m,)
            Weight of the edges to the right minus weight of those to the left, within the node.
            If all values have the same sign, the mean over all edges is subtracted.
        """
        labels, weight = self.labels[rows], self.weight[rows]

        def edge_sums(values):
            sums = np.bincount(labels, weight * values, len(self.scale))
            return weight * (sums * self.scale)[labels]

        pull = edge_sums(goes_right - 0.5)
        if (pull > 0).any() and (pull < 0).any():
            return pull
        degree = edge_sums(np.ones(len(rows)))
        return edge_sums(goes_right - degree @ goes_right / degree.sum())


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Graph in which rows are connected if one is among the nearest neighbours of the other.

    Parameters
    ----------
    rows : int64 array of shape (m,)
        The vertices, one for all rows that are equal.
    weight : float64 array of shape (n,)
        Weights of the vertices.
    adjacency : CSR matrix of shape (n, n)
        The entry is the product of the weights of rows i and j if they are connected, else 0.
    degree : float64 array of shape (n,)
    """

    rows: np.ndarray
    weight: np.ndarray
    adjacency: sp.csr_matrix
    degree: np.ndarray

    @classmethod
    def from_input(cls, points, n_neighbors):
        """Build the graph of the distinct rows, by Euclidean distances in the clustered space."""
        rows, weight = points.rows, points.weight[points.rows]
        X, space = rows_of(points.X, points.space, rows)
        if points.space is points.X:
            space = X
        # Sorted by their values, so that ties between equally near neighbours do not depend on the
        # order of the rows.
        some, weight, _ = distinct_rows(X, space, weight)
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
        """Return a `GraphNode` with the given rows, the input of the compiled functions."""
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
        """Return True: every node may be cut."""
        del node
        return True

    def pull(self, rows, goes_right):
        """See :meth:`CliqueGraph.pull`. Here the sides first diffuse along the edges.

        The diffusion is the power method for the second eigenvector of the node's graph, started
        from the given sides. It smooths out sides that only a few rows support.
        """
        A = self.adjacency[rows][:, rows]
        degree = np.asarray(A.sum(axis=1)).ravel()
        total = max(degree.sum(), np.finfo(float).tiny)
        values = goes_right.astype(np.float64)
        # In every step, half of its value stays at each row (a lazy random walk). Otherwise, the
        # values could alternate forever.
        for _ in range(_WALK_STEPS):
            values -= degree @ values / total
            walked = np.divide(A @ values, degree, out=np.zeros_like(values), where=degree > 0)
            values = (values + walked) / 2
        return A @ (values - degree @ values / total)


def _neighbors(space, n_neighbors):
    """Return a CSR indicator of the nearest neighbours of each row, without itself."""
    if n_neighbors < 1:
        return sp.csr_matrix((space.shape[0], space.shape[0]))
    return NearestNeighbors(n_neighbors=n_neighbors).fit(space).kneighbors_graph()


# ---------------------------------------------------------------- the search for a cut


@jit
def conductance_cuts(node, tolerance, lo, hi, kept, threshold):
    """Find the cut of each of the features lo..hi-1 with the least sum of conductances.

    The conductance of a side is 1 - inner / volume. `inner` is the sum of the adjacency matrix over
    pairs of rows in the side, and `volume` the sum of the degrees of its rows in the whole graph.
    The kernel maximizes the sum of inner / volume over both sides, which is 2 minus the sum of the
    two conductances.

    Parameters
    ----------
    node : GraphNode
    tolerance : float
        If the sums of two cuts of a feature differ by less than this, the lower threshold wins.
    lo, hi : int
    kept, threshold : float64 arrays of shape (d,)
        Output: the largest sum of inner / volume of each feature (-inf if the feature has no cut),
        and the threshold of this cut.
    """
    order, moved = node.order, np.zeros_like(node.inside)
    for f in range(lo, hi):
        kept[f], threshold[f] = -np.inf, np.inf
        parts = (order.start[f], order.middle[f], order.start[f + 1])
        for p in range(2):
            inner, volume, other_inner = 0.0, 0.0, node.inner
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                to_moved, to_rest, loop = _move(node.graph, node.weight, row, node.inside, moved)
                inner += 2.0 * to_moved + loop
                other_inner -= 2.0 * to_rest + loop
                volume += node.degree[row]
                candidate = order.thresholds[e]
                if np.isnan(candidate):
                    continue
                other_volume = node.volume - volume
                found = inner / volume if volume > 0.0 else 0.0
                found += other_inner / other_volume if other_volume > 0.0 else 0.0
                is_lower = candidate < threshold[f] and found > kept[f] - tolerance
                if found > kept[f] + tolerance or is_lower:
                    kept[f], threshold[f] = found, candidate
            _reset(node.graph, order.rows[parts[p] : parts[p + 1]], moved)


def _is_clique(graph):
    return len(graph) == 2


def _move_clique(graph, weight, row, inside, moved):
    label, scale = graph
    own, w = label[row], weight[row]
    share = w * scale[own]
    to_moved, to_rest = share * moved[own], share * (inside[own] - moved[own] - w)
    moved[own] += w
    return to_moved, to_rest, share * w


def _move_sparse(graph, weight, row, inside, moved):
    indptr, indices, data = graph
    to_moved = to_rest = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        other, edge = indices[s], data[s]
        if moved[other]:
            to_moved += edge
        elif inside[other] and other != row:
            to_rest += edge
    moved[row] = 1
    return to_moved, to_rest, 0.0


# Mark a row as moved. Return the weight of its edges to rows of the node that moved before, to the
# other rows of the node, and to itself (0 in a sparse graph, which has no edges of this kind).
_move = chosen_by(_is_clique, _move_clique, _move_sparse)


def _reset_clique(graph, rows, moved):
    moved[:] = 0


def _reset_sparse(graph, rows, moved):
    for row in rows:
        moved[row] = 0


# Mark all rows (or, in a sparse graph, the given rows) as not moved.
_reset = chosen_by(_is_clique, _reset_clique, _reset_sparse)
