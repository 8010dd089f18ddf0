"""SpEx: trees whose leaves have small conductance in a graph of the rows."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster._utils.matrices import rows_of
from tao_cluster.problem.repeats import distinct_rows
from tao_cluster.problem.scaling import Scaling
from tao_cluster.solvers import Newton, NodeProblem
from tao_cluster.tree import Split
from tao_cluster.tree.margins import TIE
from tao_cluster.tree.routing import kernel_arrays, project

from ..base import POSITIVE, GreedyTree
from ..builder_input import BuilderInput
from ..growth import Cut, RowRule, grown
from .leaf_clusters import matched_labels, merged_groups
from .sorted_columns import SortedColumns

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
            graph = CliqueGraph(points, scales_by_weight=self.graph == "clique")
        else:
            graph = NeighborGraph(points, self.n_neighbors)
        tests = hyperplanes(points.X) if self.split == "oblique" else None
        rule = CutConductance(points, graph, tests, self.price)
        max_leaves = len(points.centers) if self.max_leaves is None else self.max_leaves
        growth, leaves = grown(rule, rule.root(), max_leaves, is_kept=True)
        rows_of = {node: leaves[node].rows for node in sorted(leaves)}
        if is_clique:
            label = _majority(points, rows_of)
        else:
            group = joined(graph, list(rows_of.values()), len(points.centers))
            label = matched_labels(points, rows_of, group, graph.weight)
        for node in rows_of:
            growth.label[node] = int(label[node])
        return growth


def _majority(points, rows_of):
    """Return the label with the largest weight in each leaf; ties go to the lowest label."""
    labels, weight, k = points.labels, points.weight, len(points.centers)
    return {n: np.bincount(labels[r], weight[r], k).argmax() for n, r in rows_of.items()}


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

    def losses(a):
        inner, own = np.diag(edges), per_unit(np.diag(edges), volume)
        kept = per_unit(inner[a] + inner + 2 * edges[a], volume[a] + volume)
        return np.round(own[a] + own - kept, 10)

    def merge(a, b):
        edges[a] += edges[b]
        edges[:, a] += edges[:, b]
        volume[a] += volume[b]

    return merged_groups(len(leaves), n_clusters, losses, merge, first_is_low=True)


def per_unit(sums, sizes):
    """Return sums divided by sizes, and 0 where the size is not positive."""
    return np.divide(sums, sizes, out=np.zeros(np.shape(sums)), where=sizes > 0)


@dataclass(frozen=True)
class SplitCut(Cut):
    """A cut of a weighted sum of several features."""

    test: Split | None = None

    @property
    def split(self):
        """The test of several features (a Split) that makes this cut."""
        return self.test


@dataclass(frozen=True, eq=False)
class SpexLeaf:
    """Rows of a leaf, with the sums of their edges.

    A denotes the weighted adjacency matrix of the graph, of shape (n, n).
    """

    rows: np.ndarray
    order: SortedColumns
    inner: float  # sum of A[i, j] over all rows i, j of the leaf
    volume: float  # sum of the degrees (row sums of A) of the rows
    label: int = 0  # unused; SpEx._grow sets the labels of the tree


@dataclass(frozen=True, eq=False)
class CutConductance(RowRule):
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

    def root(self):
        """Return the leaf of all vertices of the graph."""
        rows = self.graph.rows
        return self._leaf(rows, SortedColumns.from_rows(self.points, np.sort(rows)))

    def _leaf(self, rows, order):
        volume = float(self.graph.degree[rows].sum())
        return SpexLeaf(rows, order, self.graph.inner(rows), volume)

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf if the leaf can be cut, else 0."""
        return np.inf if self.graph.can_be_cut(leaf.rows) else 0.0

    def search(self, leaf):
        """Return the cut with the least sum of conductances; None if all rows are equal."""
        cut = self._best(leaf, leaf.order)
        return cut if cut is None or self.hyperplanes is None else self._oblique(leaf, cut)

    def _best(self, leaf, order):
        """Return the cut between the entries of `order` with the least sum of conductances.

        The conductance of a side is 1 - inner / volume. The gain is minus the increase of the sum
        of conductances, rounded to make ties exact. The result is None if there is no cut.
        """
        inner, lost = self.graph.inner_sums(order, leaf.rows)
        volume = order.cumulated(self.graph.degree)
        kept = per_unit(inner, volume) + per_unit(leaf.inner - lost, leaf.volume - volume)
        found = order.best_cut(kept, TIE)
        if found is None:
            return None
        before = 1 + (leaf.inner / leaf.volume if leaf.volume > 0 else 0.0)
        return Cut(*found[1:], round(found[0] - before, 10))

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
        values = project(kernel_arrays(self.points.X), leaf.rows, test.indices, test.weights)
        at, size = np.argsort(values, kind="stable"), self.points.leaf_size
        limits = (-np.inf, np.inf) if size is None else size.thresholds(values, leaf.rows)
        ends = np.array([0, len(at)])
        terms = (leaf.rows[at].astype(np.int32), values[at], ends, ends[1:], np.zeros(1), len(at))
        order = SortedColumns.from_entries(*terms, *np.array(limits, np.float64)[:, None])
        cut = self._best(leaf, order)
        if cut is None:
            return None
        split = Split(test.indices, test.weights, cut.threshold)
        return SplitCut(-1, cut.threshold, cut.gain, split)

    def _goes_left(self, rows, split):
        return (
            project(kernel_arrays(self.points.X), rows, split.indices, split.weights)
            <= split.threshold
        )

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the rows of a leaf."""
        goes_left = self._goes_left(leaf.rows, cut.split)
        halves = (leaf.rows[goes_left], leaf.rows[~goes_left])
        return tuple(self._leaf(rows, leaf.order.part(self.points, rows)) for rows in halves)


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


class CliqueGraph:
    """Graph in which every cluster is a clique and clusters are not connected.

    An edge has the weight w_i w_j (the product of the weights of its rows) times the scale of its
    cluster, and each row has a loop, an edge to itself. If the scale is 1 / W for a cluster of
    weight W, the degree of a row is its weight. The paper has no loops and the scale 1 / (|C| - 1)
    for a cluster of |C| rows; then the tree would depend on the unit of the weights.

    Parameters
    ----------
    points : BuilderInput
    scales_by_weight : bool
        Whether the scale of a cluster of weight W is 1 / W. Otherwise, all have the same scale.
    """

    def __init__(self, points, scales_by_weight=True):
        self.rows, self.labels, self.weight = points.rows, points.labels, points.weight
        mass = np.bincount(self.labels[self.rows], self.weight[self.rows], len(points.centers))
        self.scale = 1 / np.where(scales_by_weight & (mass > 0), mass, mass.max())
        self.degree = self.weight * (mass * self.scale)[self.labels]  # sums of weights of edges

    def inner(self, rows):
        """Return the sum of the weights of the edges between some rows."""
        inside = np.bincount(self.labels[rows], self.weight[rows], len(self.scale))
        return float((inside * self.scale) @ inside)

    def inner_sums(self, order, rows):
        """Return what each entry of the sorted columns of a node changes, summed up to the entry.

        Returns
        -------
        inner : float64 array, one element per entry
            Sum of A[i, j] over all rows i, j that have moved.
        lost : float64 array
            By how much the sum over the other rows has fallen.
        """
        label, weight, k = self.labels[order.rows], self.weight[order.rows], len(self.scale)
        inside = np.bincount(self.labels[rows], self.weight[rows], k)
        # The weight of the rows of the same label that have moved before, by sums in the order of
        # parts and labels.
        group = np.repeat(np.arange(len(order.ends) - 1), np.diff(order.ends)) * k + label
        group = group.astype(np.min_scalar_type(len(order.ends) * k))  # short ones sort faster
        at = np.argsort(group, kind="stable")
        sums = np.cumsum(weight[at]) - weight[at]
        is_first = np.diff(group[at], prepend=-1) != 0
        before = np.empty(len(at))
        before[at] = sums - sums[is_first][np.cumsum(is_first) - 1]
        share = weight * self.scale[label]
        changes = share * (2 * before + weight), share * (2 * (inside[label] - before) - weight)
        return tuple(order.summed(change) for change in changes)

    def can_be_cut(self, rows):
        """Return whether some rows belong to several clusters."""
        return len(np.unique(self.labels[rows])) > 1

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


class NeighborGraph:
    """Graph in which rows are connected if one is among the nearest neighbours of the other.

    Equal rows are one vertex. An edge has the product of the weights of its rows as weight, and
    `adjacency` is a CSR matrix of shape (n, n).

    Parameters
    ----------
    points : BuilderInput
        Distances are Euclidean, in the clustered space.
    n_neighbors : int
    """

    def __init__(self, points, n_neighbors):
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
        self.rows, self.weight, self.adjacency = rows, heft, adjacency
        self.degree = np.asarray(adjacency.sum(axis=1)).ravel()

    def inner(self, rows):
        """Return the sum of the weights of the edges between some rows."""
        return float(self.adjacency[rows][:, rows].sum())

    def inner_sums(self, order, rows):
        """See :meth:`CliqueGraph.inner_sums`."""
        edges = self.adjacency[rows][:, rows].tocoo()
        a, b, place = rows[edges.row], rows[edges.col], np.empty(len(self.weight), np.int64)
        inner, lost = np.empty((2, len(order.rows)))
        for begin, end in itertools.pairwise(order.ends.tolist()):
            n = end - begin
            place[rows] = n
            place[order.rows[begin:end]] = np.arange(n)
            for out, last in ((inner, np.maximum), (lost, np.minimum)):
                sums = np.bincount(last(place[a], place[b]), edges.data, n + 1)
                np.cumsum(sums[:n], out=out[begin:end])
        return inner, lost

    def can_be_cut(self, rows):
        """Return True: every node may be cut."""
        del rows
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
