"""Kauri: a tree and its clusters, grown together by the k-means cost."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.jit import jit
from tao_cluster._utils.threads import one_thread
from tao_cluster.reference import match_labels
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.margins import TIE
from tao_cluster.tree.routing import kernel_arrays

from ..base import POSITIVE, GreedyTree
from ..growth import keep_interrupted
from .sorted_columns import SortedColumns, cut_sum_cache, first_within, side_sums


@dataclass(kw_only=True, eq=False, repr=False)
class Kauri(GreedyTree):
    """Kauri: grow a tree and its clusters together by the k-means cost.

    Use it for a tree of low k-means cost that does not depend on a given clustering. It works
    best with `max_leaves` at two or more times the number of clusters.

    All rows start in one cluster. Each step considers all cuts of all leaves and all ways to
    assign the two halves to clusters, and makes the one that lowers the k-means cost with
    optimal centres most (Ohl, Mattei, Leclercq, Droit & Precioso 2024, arXiv 2402.12232):

    - star: one half becomes a new cluster, as long as there are fewer than k clusters;
    - double star: both halves become new clusters;
    - switch: one half moves to another cluster;
    - reallocation: both halves move to two other clusters.

    No cluster is emptied. Growth stops if no cut lowers the cost, so that every cut saves cost.
    With as many leaves as clusters, every step is a star: the tree is that of :class:`DIVCLUST`.

    The free clustering is only compared with. Each cluster gets the number of the free cluster
    with which it agrees best. The kernel is linear; for another kernel, give `fit` its feature
    map as `embedding`, for example that of :class:`sklearn.kernel_approximation.Nystroem`.

    Parameters
    ----------
    n_clusters : int, default=8
        Maximum number of clusters.
    max_leaves : int, default=None
        Maximum number of leaves. None means the number of clusters; most clusters then have
        one leaf each.
    reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The attributes and errors are also those of :class:`IMM`; the cost is
        that of k-means.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt stops the growth. The tree keeps the leaves made until then.

    Notes
    -----
    A step takes O(n d k), or less if features have few distinct values, and O(n d m) for the new
    leaves. Here m is the number of columns of the embedding or of X, at most n. Memory beside X
    (``python -m benchmarks.builders --memory`` measures it):

    ============================= =======================================================
    sorted columns                at most 36 bytes per value of X, except for the most
                                  frequent value of each feature (zeros, in a sparse X)
    products of rows and clusters 8 (k + 1) bytes per row
    a dense embedding             one copy in double precision
    peak while these are built    about 83 bytes per value in all
    ============================= =======================================================

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import Kauri
    >>> model = Kauri(3, max_leaves=6, random_state=0).fit(load_iris().data)
    >>> float(round(model.cost_increase_, 2))
    1.4
    """

    max_leaves: int | None = None

    uses_distances = False  # the costs are computed from the rows of X
    sees_centers = False

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
    }

    def _grow(self, points, random_state):
        return grow_kauri(points, self.max_leaves)


def grow_kauri(points, max_leaves=None):
    """Grow the tree of :class:`Kauri`.

    Parameters
    ----------
    points : BuilderInput
    max_leaves : int, optional
        The default is the number of centres.

    Returns
    -------
    Growth
    """
    n_clusters = len(points.centers)
    max_leaves = n_clusters if max_leaves is None else max_leaves
    growth = Growth()
    with one_thread():  # the last bits of BLAS products depend on the number of threads
        partition = _Partition(points, n_clusters)
        partition.start(growth.add())
        try:
            _cut_leaves(partition, growth, max_leaves)
        except KeyboardInterrupt:
            keep_interrupted(points, growth, max_leaves)
    growth.label = partition.numbers()[growth.label].tolist()
    return growth


def _cut_leaves(partition, growth, max_leaves):
    while growth.n_leaves < max_leaves:
        found = partition.best_cut()
        if found is None:
            return
        node, cut = found
        # This slow part precedes the updates of growth and partition, so that an interrupt in it
        # leaves both consistent.
        halves = partition.halves(node, cut)
        split = Split.from_feature(cut.feature, cut.threshold)
        _replace(partition, growth, node, split, cut, halves)


def _replace(partition, growth, node, split, cut, halves):
    partition.replace(node, growth.split(node, split, (cut.left, cut.right)), halves)


@dataclass(frozen=True)
class _Cut:
    feature: int
    threshold: float
    left: int  # number of the cluster of the left half; `right` is that of the right half
    right: int


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Rows of one leaf, sorted by every feature, with sums over them."""

    rows: np.ndarray  # int64, increasing row numbers
    order: SortedColumns
    # float64, one element per entry of `order`: squared norm of the weighted sum of the rows up to
    # this entry
    norms: np.ndarray
    # (d,) int64, row of `cached_sums` of the first cut of each feature; -1 for features that are
    # not cached
    cache_start: np.ndarray
    cached_sums: np.ndarray  # (n_cached, m) float64, weighted sum of the rows moved before each cut
    cluster: int  # number of the current cluster of the leaf
    mass: float  # sum of the weights of the rows
    total: np.ndarray  # (m,) float64, weighted sum of the rows


class _Partition:
    """Current leaves and clusters, and the sums over rows that the search for cuts needs.

    It keeps the weighted sum of the rows of each cluster, and the dot product of each row with
    each of these sums.

    Parameters
    ----------
    points : BuilderInput
    n_clusters : int
        Maximum number of clusters.
    """

    def __init__(self, points, n_clusters):
        self._points, self._n_clusters = points, n_clusters
        self._space = _shifted(points)
        self._view = kernel_arrays(self._space)
        self._leaves = {}
        self._sums, self._masses = np.zeros((0, self._space.shape[1])), np.zeros(0)
        self._products = np.zeros((len(points.weight), n_clusters + 1))
        self._tolerance = TIE * float(points.weight @ _squares(self._space))

    def start(self, root):
        """Put all rows into one leaf, the node number `root`, and into cluster 0."""
        rows = self._points.rows
        self._leaves[root] = self._leaf(rows, SortedColumns.from_rows(self._points, rows), 0)
        self._update_sums()

    def best_cut(self):
        """Return the node and the cut that lower the cost most, or None if no cut lowers the cost.

        If several nodes have equally good cuts, the one with the lowest number is returned.
        """
        nodes, cuts = sorted(self._leaves), []
        gains = np.full(len(nodes), -np.inf)
        squares = np.einsum("qm,qm->q", self._sums, self._sums)
        for i, node in enumerate(nodes):
            gain, *columns = self._search(self._leaves[node], squares)
            best = first_within(gain, self._tolerance)
            cuts.append((best, columns))
            if best is not None:
                gains[i] = gain[best]
        i = first_within(gains, self._tolerance)
        if i is None or gains[i] <= self._tolerance:
            return None
        feature, columns = cuts[i]
        threshold, left, right = (column[feature] for column in columns)
        return nodes[i], _Cut(feature, float(threshold), int(left), int(right))

    def halves(self, node, cut):
        """Return the two leaves into which a cut divides the leaf `node`, each with its cluster."""
        leaf = self._leaves[node]
        goes_left = self._points.goes_left(leaf.rows, cut.feature, cut.threshold)
        parts = ((leaf.rows[goes_left], cut.left), (leaf.rows[~goes_left], cut.right))
        return [
            self._leaf(rows, leaf.order.part(self._points, rows), cluster)
            for rows, cluster in parts
        ]

    def replace(self, node, children, halves):
        """Replace a leaf by its halves."""
        del self._leaves[node]
        self._leaves.update(zip(children, halves, strict=True))
        self._update_sums()

    def numbers(self):
        """Return the number of the free cluster that matches each cluster: int64, shape (k,)."""
        points, labels = self._points, np.zeros(len(self._products), np.int64)
        for leaf in self._leaves.values():
            labels[leaf.rows] = leaf.cluster
        some = points.rows
        terms = (labels[some], points.labels[some], self._n_clusters, points.weight[some])
        return match_labels(*terms)

    def _leaf(self, rows, order, cluster):
        weight, m = self._points.weight, self._space.shape[1]
        cache_start, n_kept = cut_sum_cache(order, m)
        out = (np.empty(len(order.rows)), cache_start, np.empty((n_kept, m)))
        terms = (self._view, order, weight)
        self._points.over_features(lambda lo, hi: side_sums(*terms, lo, hi, *out))
        some = self._space[rows]
        total = some.T @ weight[rows]
        self._products[rows, 0] = some @ total
        return _Leaf(rows, order, *out, cluster, float(weight[rows].sum()), total)

    def _update_sums(self):
        """Update the sums of all clusters, and the products with the sums that have changed."""
        before, n = self._sums, 1 + max(leaf.cluster for leaf in self._leaves.values())
        self._sums, self._masses = np.zeros((n, before.shape[1])), np.zeros(n)
        for leaf in self._leaves.values():
            self._sums[leaf.cluster] += leaf.total
            self._masses[leaf.cluster] += leaf.mass
        for cluster in range(n):
            if cluster >= len(before) or not np.array_equal(self._sums[cluster], before[cluster]):
                self._products[:, cluster + 1] = self._space @ self._sums[cluster]

    def _search(self, leaf, squares):
        """Return the best cut of each feature: gain, threshold and clusters of both halves."""
        siblings = sum(other.cluster == leaf.cluster for other in self._leaves.values())
        node = KauriNode(
            order=leaf.order,
            norms=leaf.norms,
            cache_start=leaf.cache_start,
            cached_products=leaf.cached_sums @ np.vstack([leaf.total, self._sums]).T,
            weight=self._points.weight,
            products=self._products,
            cluster=leaf.cluster,
            mass=leaf.mass,
            norm=float(leaf.total @ leaf.total),
            inner=self._sums @ leaf.total,
            masses=self._masses,
            squares=squares,
            n_new=self._n_clusters - len(self._masses),
            is_only_leaf=siblings == 1,
            tolerance=self._tolerance,
        )
        d = self._points.n_features
        table = (np.empty(d), np.empty(d), np.zeros(d, np.int64), np.zeros(d, np.int64))
        self._points.over_features(lambda lo, hi: kauri_cuts(node, lo, hi, *table))
        return table


def _shifted(points):
    """Return the rows in the space of the clustering, centred if they are dense.

    Centring keeps costs precise when the data are far from the origin. If there are more columns
    than rows, the centred rows are also rotated, so that they have only as many columns as there
    are rows. This changes no distance. Sparse rows are returned unchanged.
    """
    space, rows, weight = points.space, points.rows, points.weight
    if sp.issparse(space):
        return space
    some = space[rows].astype(np.float64)
    some -= weight[rows] @ some / weight[rows].sum()
    if some.shape[1] > len(rows):
        some = np.linalg.qr(some.T, mode="r").T
    if len(rows) == len(weight):
        return np.ascontiguousarray(some)
    shifted = np.zeros((len(weight), some.shape[1]))
    shifted[rows] = some
    return shifted


def _squares(space):
    """Return the squared Euclidean norm of each row."""
    if sp.issparse(space):
        return np.asarray(space.multiply(space).sum(axis=1), np.float64).ravel()
    return np.einsum("nm,nm->n", space, space)


# ---------------------------------------------------------------- the search for a cut


class KauriNode(NamedTuple):
    """Input of :func:`kauri_cuts`: a leaf and the current clusters.

    S(A) denotes the weighted sum of the rows of a set A, a vector of shape (m,) in the space of the
    clustering. W(A) denotes the sum of their weights. The k-means cost is a constant minus the sum
    of ||S(Q)||^2 / W(Q) over the K current clusters Q. A sweep over a feature moves rows in the
    order of the entries of `order`; the rows that it has moved are the moving side.
    """

    order: SortedColumns
    # float64, one element per entry of `order`: squared norm of the weighted sum of the rows moved
    # so far, including this entry
    norms: np.ndarray
    # (d,) int64, row of `cached_products` of the first cut of each feature; -1 for features
    # that are not cached
    cache_start: np.ndarray
    # (n_cached, K + 1) float64, one row per cut of a cached feature: dot products of S(moving side)
    # with S(leaf) in column 0, and with S of each of the K clusters in the other columns.
    cached_products: np.ndarray
    weight: np.ndarray  # (n,) float64, weight of each row of X
    # (n, K + 1) float64, dot products of each row with S(leaf) in column 0, and with S of each of
    # the K clusters in the other columns
    products: np.ndarray
    cluster: int  # current cluster of the leaf
    mass: float  # W of the leaf
    norm: float  # ||S||^2 of the leaf
    inner: np.ndarray  # (K,) float64, dot product of S(leaf) with S of each cluster
    masses: np.ndarray  # (K,) float64, total weight of the rows of each of the K current clusters
    squares: np.ndarray  # (K,) float64, ||S||^2 of each cluster
    n_new: int  # number of clusters that may still be added
    is_only_leaf: bool  # whether the cluster of the leaf has no other leaf
    tolerance: float  # gains that differ by at most this count as equal


@jit
def kauri_cuts(node, lo, hi, gain, threshold, left, right):
    """Find the best cut of each of the features lo..hi-1 and the clusters of its two sides.

    For K current clusters, the kernel takes O(K) time per entry of `node.order`. For a cached
    feature it takes O(K) only per cut and O(1) per entry.

    Parameters
    ----------
    node : KauriNode
    lo, hi : int
    gain, threshold : float64 arrays of shape (d,)
        Output: the reduction of the k-means cost by the best cut of each feature (-inf if the
        feature has no cut), and its threshold.
    left, right : int64 arrays of shape (d,)
        Output: clusters of the two sides. The numbers K and K + 1 are new clusters.
    """
    order, n = node.order, node.masses.shape[0]
    products, other = np.empty(n + 1), np.empty(n)
    for f in range(lo, hi):
        gain[f], threshold[f] = -np.inf, np.inf
        parts, at = (order.start[f], order.middle[f], order.start[f + 1]), node.cache_start[f]
        for p in range(2):
            mass, products[:] = 0.0, 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                weight = node.weight[row]
                mass += weight
                if at < 0:
                    for q in range(n + 1):
                        products[q] += weight * node.products[row, q]
                candidate = order.thresholds[e]
                if np.isnan(candidate):
                    continue
                if at >= 0:
                    products[:] = node.cached_products[at]
                    at += 1
                found, moving, rest = _assignment(
                    node, mass, node.norms[e], products[1:], products[0], other
                )
                is_lower = candidate < threshold[f] and found > gain[f] - node.tolerance
                if found > gain[f] + node.tolerance or is_lower:
                    gain[f], threshold[f] = found, candidate
                    left[f], right[f] = (moving, rest) if p == 0 else (rest, moving)


@jit
def _best_targets(node, mass, norm, inner):
    """Return the two best clusters for some rows of a leaf: (best, its gain, second, its gain).

    The gain of a cluster Q from rows A is ||S(Q) + S(A)||^2 / (W(Q) + W(A)) - ||S(Q)||^2 / W(Q),
    with S and W as in :class:`KauriNode`. The arguments `mass`, `norm` and `inner` are W(A),
    ||S(A)||^2 and the products of S(A) with each S(Q). The leaf's own cluster is excluded. If there
    is no such cluster, its number is -1 and its gain is -inf.
    """
    first, second = -1, -1
    first_gain, second_gain = -np.inf, -np.inf
    for q in range(node.masses.shape[0]):
        if q == node.cluster:
            continue
        size, square = node.masses[q], node.squares[q]
        gain = (square + 2.0 * inner[q] + norm) / (size + mass) - square / size
        if gain > first_gain:
            second, second_gain = first, first_gain
            first, first_gain = q, gain
        elif gain > second_gain:
            second, second_gain = q, gain
    return first, first_gain, second, second_gain


@jit
def _remaining(node, mass, norm, inner):
    """Return ||S||^2 / W of the leaf's cluster without some rows A of the leaf.

    S and W are defined in :class:`KauriNode`. The arguments `mass`, `norm` and `inner` are W(A),
    ||S(A)||^2 and the products of S(A) with S of each cluster.
    """
    left = node.masses[node.cluster] - mass
    if left <= 0.0:  # no rows remain, or rounding has made their weight 0
        return 0.0
    square = node.squares[node.cluster] - 2.0 * inner[node.cluster] + norm
    return max(square, 0.0) / left


@jit
def _better(best, gain, moving, other, tolerance):
    return (gain, moving, other) if gain > best[0] + tolerance else best


@jit
def _assignment(node, mass, norm, inner, product, other_inner):
    """Return the best assignment of clusters to the two sides of a cut.

    The cases have the names of the Kauri paper. A star makes one side a new cluster, and a double
    star makes both sides new clusters. A switch moves one side to another existing cluster, and a
    reallocation moves both sides. S and W are defined in :class:`KauriNode`.

    Parameters
    ----------
    node : KauriNode
    mass, norm : float, W and ||S||^2 of the moving side
    inner : float64 array of shape (K,), dot product of S(moving side) with S of each cluster
    product : float, dot product of S(moving side) with S(leaf)
    other_inner : float64 array of shape (K,), workspace

    Returns
    -------
    (gain, cluster of the moving side, cluster of the other side)
        The gain is the reduction of the k-means cost. The numbers K and K + 1 are new clusters.
    """
    own, n = node.cluster, node.masses.shape[0]
    other_mass, other_norm = node.mass - mass, max(node.norm - 2.0 * product + norm, 0.0)
    if min(mass, other_mass) <= 0.0:  # rounding has made the weight of one side 0
        return -np.inf, own, own
    for q in range(n):
        other_inner[q] = node.inner[q] - inner[q]
    before, tolerance = node.squares[own] / node.masses[own], node.tolerance
    leaving = _remaining(node, mass, norm, inner) - before
    other_leaving = _remaining(node, other_mass, other_norm, other_inner) - before
    best = (-np.inf, own, own)
    if node.n_new > 0:  # "star" in the paper: one side becomes a new cluster
        best = _better(best, leaving + norm / mass, n, own, tolerance)
        best = _better(best, other_leaving + other_norm / other_mass, own, n, tolerance)
    target, gain, second, second_gain = _best_targets(node, mass, norm, inner)
    other, other_gain, other_second, other_second_gain = _best_targets(
        node, other_mass, other_norm, other_inner
    )
    # "switch" in the paper: one side moves to another existing cluster
    best = _better(best, leaving + gain, target, own, tolerance)
    best = _better(best, other_leaving + other_gain, own, other, tolerance)
    if node.is_only_leaf:  # if both sides left, the cluster would be empty
        return best
    both = _remaining(node, node.mass, node.norm, node.inner) - before
    if node.n_new > 1:  # "double star": both sides become new clusters
        new_gain = both + norm / mass + other_norm / other_mass
        best = _better(best, new_gain, n, n + 1, tolerance)
    if target != other:  # reallocation to two different clusters
        return _better(best, both + gain + other_gain, target, other, tolerance)
    best = _better(best, both + second_gain + other_gain, second, other, tolerance)
    return _better(best, both + gain + other_second_gain, target, other_second, tolerance)
