"""Kauri: a tree and its clusters, grown together by the k-means cost."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from tao_cluster._utils.jit import jit
from tao_cluster._utils.threads import one_thread
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.margins import TIE
from tao_cluster.tree.routing import kernel_arrays

from ..base import POSITIVE, GreedyTree
from ..growth import Cut, kept_if_interrupted
from .leaf_clusters import matched_labels
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
    (``python -m benchmarks.memory --only Kauri`` measures it):

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
    n_clusters, growth = len(points.centers), Growth()
    max_leaves = n_clusters if max_leaves is None else max_leaves
    with one_thread():  # the last bits of BLAS products depend on the number of threads
        partition = _Partition(points, n_clusters)
        growth.add()
        with kept_if_interrupted(points, growth, max_leaves):
            while growth.n_leaves < max_leaves:
                node, cut = partition.best_cut()
                if cut is None:
                    break
                partition.split(growth, node, cut)
    rows_of = {node: leaf.rows for node, leaf in partition.leaves.items()}
    clusters = [leaf.cluster for leaf in partition.leaves.values()]
    for node, label in matched_labels(points, rows_of, clusters).items():
        growth.label[node] = label
    return growth


@dataclass(frozen=True)
class KauriCut(Cut):
    """A cut, and the numbers of the clusters of its two sides."""

    left: int = 0
    right: int = 0


class KauriLeaf(NamedTuple):
    """Rows of one leaf, sorted by every feature, with sums over them.

    S(A) denotes the weighted sum of the rows of a set A, a vector of shape (m,) in the space of the
    clustering. W(A) denotes the sum of their weights. A sweep over a feature moves rows in the
    order of the entries of `order`; the rows that it has moved are the moving side.
    """

    rows: np.ndarray  # int64, increasing row numbers
    order: SortedColumns
    norms: np.ndarray  # float64, ||S||^2 of the moving side after each entry of `order`
    # (d,) int64, row of `cached_sums` of the first cut of each feature; -1 for features that are
    # not cached
    cache_start: np.ndarray
    cached_sums: np.ndarray  # (n_cached, m) float64, S of the moving side at each cached cut
    cluster: int  # number of the current cluster of the leaf
    mass: float  # W of the leaf
    total: np.ndarray  # (m,) float64, S of the leaf
    norm: float  # ||S||^2 of the leaf


class Clusters(NamedTuple):
    """The current K clusters. The k-means cost is a constant minus the sum of ||S||^2 / W of each.

    S and W are defined in :class:`KauriLeaf`.
    """

    weight: np.ndarray  # (n,) float64, weight of each row of X
    # (n, k + 1) float64, dot products of each row with S of its leaf in column 0, and with S of
    # each cluster in the next K columns
    products: np.ndarray
    masses: np.ndarray  # (K,) float64, W of each cluster
    squares: np.ndarray  # (K,) float64, ||S||^2 of each cluster
    n_new: int  # number of clusters that may still be added
    tolerance: float  # gains that differ by at most this count as equal


class KauriNode(NamedTuple):
    """Input of :func:`kauri_cuts`: a leaf and the current clusters."""

    leaf: KauriLeaf
    clusters: Clusters
    # (n_cached, K + 1) float64, one row per cached cut: dot products of S(moving side) with S(leaf)
    # in column 0, and with S of each cluster in the other columns
    cached_products: np.ndarray
    inner: np.ndarray  # (K,) float64, dot product of S(leaf) with S of each cluster
    is_only_leaf: bool  # whether the cluster of the leaf has no other leaf


class _Partition:
    """Current leaves and clusters, and the sums over rows that the search for cuts needs.

    Parameters
    ----------
    points : BuilderInput
    n_clusters : int
        Maximum number of clusters.
    """

    def __init__(self, points, n_clusters):
        self._points, self._n_clusters, self._space = points, n_clusters, _shifted(points)
        self._view, self._sums = kernel_arrays(self._space), np.zeros((0, self._space.shape[1]))
        self._products = np.zeros((len(points.weight), n_clusters + 1))
        self._tolerance = TIE * float(points.weight @ row_norms(self._space, squared=True))
        order = SortedColumns.from_rows(points, points.rows)
        self.leaves = {0: self._leaf(points.rows, order, 0)}
        self._update()

    def best_cut(self):
        """Return the node and the cut that lower the cost most; no cut is None.

        If several nodes have equally good cuts, the one with the lowest number is returned.
        """
        nodes, cuts = sorted(self.leaves), []
        for node in nodes:
            gain, *columns = self._search(self.leaves[node])
            feature = first_within(gain, self._tolerance)
            if feature is None:
                cuts.append(KauriCut(-1, np.inf, -np.inf))
                continue
            threshold, left, right = (column[feature].item() for column in columns)
            cuts.append(KauriCut(feature, threshold, float(gain[feature]), left, right))
        i = first_within(np.array([cut.gain for cut in cuts]), self._tolerance)
        if i is None or cuts[i].gain <= self._tolerance:
            return None, None
        return nodes[i], cuts[i]

    def split(self, growth, node, cut):
        """Make a cut: replace a leaf by its halves, each with its cluster."""
        leaf, halves = self.leaves[node], []
        goes_left = self._points.goes_left(leaf.rows, cut.feature, cut.threshold)
        for side, cluster in ((goes_left, cut.left), (~goes_left, cut.right)):
            rows = leaf.rows[side]
            halves.append(self._leaf(rows, leaf.order.part(self._points, rows), cluster))
        # The slow part is done. An interrupt in it leaves the growth and the leaves consistent.
        self._replace(node, growth.split(node, cut.split), halves)

    def _replace(self, node, children, halves):
        del self.leaves[node]
        self.leaves.update(zip(children, halves, strict=True))
        self._update()

    def _leaf(self, rows, order, cluster):
        weight, m = self._points.weight, self._space.shape[1]
        cache_start, n_kept = cut_sum_cache(order, m)
        out = (np.empty(len(order.rows)), cache_start, np.empty((n_kept, m)))
        terms = (self._view, order, weight)
        self._points.over_features(lambda lo, hi: side_sums(*terms, lo, hi, *out))
        some = self._space[rows]
        total = some.T @ weight[rows]
        self._products[rows, 0] = some @ total
        sums = (float(weight[rows].sum()), total, float(total @ total))
        return KauriLeaf(rows, order, *out, cluster, *sums)

    def _update(self):
        """Update the sums of all clusters, and the products with the sums that have changed."""
        before, n = self._sums, 1 + max(leaf.cluster for leaf in self.leaves.values())
        self._sums, masses = np.zeros((n, before.shape[1])), np.zeros(n)
        for leaf in self.leaves.values():
            self._sums[leaf.cluster] += leaf.total
            masses[leaf.cluster] += leaf.mass
        for cluster in range(n):
            if cluster >= len(before) or not np.array_equal(self._sums[cluster], before[cluster]):
                self._products[:, cluster + 1] = self._space @ self._sums[cluster]
        squares = np.einsum("qm,qm->q", self._sums, self._sums)
        terms = (masses, squares, self._n_clusters - n, self._tolerance)
        self._clusters = Clusters(self._points.weight, self._products, *terms)

    def _search(self, leaf):
        """Return the best cut of each feature: gain, threshold and clusters of both halves."""
        siblings = sum(other.cluster == leaf.cluster for other in self.leaves.values())
        products = leaf.cached_sums @ np.vstack([leaf.total, self._sums]).T
        node = KauriNode(leaf, self._clusters, products, self._sums @ leaf.total, siblings == 1)
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


# ---------------------------------------------------------------- the search for a cut


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
    leaf, clusters = node.leaf, node.clusters
    order, n = leaf.order, clusters.masses.shape[0]
    products, other = np.empty(n + 1), np.empty(n)
    for f in range(lo, hi):
        gain[f], threshold[f] = -np.inf, np.inf
        parts, at = (order.start[f], order.middle[f], order.start[f + 1]), leaf.cache_start[f]
        for p in range(2):
            mass, products[:] = 0.0, 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                weight = clusters.weight[row]
                mass += weight
                if at < 0:
                    for q in range(n + 1):
                        products[q] += weight * clusters.products[row, q]
                candidate = order.thresholds[e]
                if np.isnan(candidate):
                    continue
                if at >= 0:
                    products[:] = node.cached_products[at]
                    at += 1
                found, moving, rest = _assignment(
                    node, mass, leaf.norms[e], products[1:], products[0], other
                )
                is_lower = candidate < threshold[f] and found > gain[f] - clusters.tolerance
                if found > gain[f] + clusters.tolerance or is_lower:
                    gain[f], threshold[f] = found, candidate
                    left[f], right[f] = (moving, rest) if p == 0 else (rest, moving)


@jit
def _best_targets(node, mass, norm, inner):
    """Return the two best clusters for some rows of a leaf: (best, its gain, second, its gain).

    The gain of a cluster Q from rows A is ||S(Q) + S(A)||^2 / (W(Q) + W(A)) - ||S(Q)||^2 / W(Q),
    with S and W as in :class:`KauriLeaf`. The arguments `mass`, `norm` and `inner` are W(A),
    ||S(A)||^2 and the products of S(A) with each S(Q). The leaf's own cluster is excluded. If there
    is no such cluster, its number is -1 and its gain is -inf.
    """
    first, second = -1, -1
    first_gain, second_gain = -np.inf, -np.inf
    for q in range(node.clusters.masses.shape[0]):
        if q == node.leaf.cluster:
            continue
        size, square = node.clusters.masses[q], node.clusters.squares[q]
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

    S and W are defined in :class:`KauriLeaf`. The arguments `mass`, `norm` and `inner` are W(A),
    ||S(A)||^2 and the products of S(A) with S of each cluster.
    """
    left = node.clusters.masses[node.leaf.cluster] - mass
    if left <= 0.0:  # no rows remain, or rounding has made their weight 0
        return 0.0
    square = node.clusters.squares[node.leaf.cluster] - 2.0 * inner[node.leaf.cluster] + norm
    return max(square, 0.0) / left


@jit
def _better(best, gain, moving, other, tolerance):
    return (gain, moving, other) if gain > best[0] + tolerance else best


@jit
def _assignment(node, mass, norm, inner, product, other_inner):
    """Return the best assignment of clusters to the two sides of a cut.

    The cases have the names of the Kauri paper. A star makes one side a new cluster, and a double
    star makes both sides new clusters. A switch moves one side to another existing cluster, and a
    reallocation moves both sides. S and W are defined in :class:`KauriLeaf`.

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
    own, n = node.leaf.cluster, node.clusters.masses.shape[0]
    other_mass, other_norm = node.leaf.mass - mass, max(node.leaf.norm - 2.0 * product + norm, 0.0)
    if min(mass, other_mass) <= 0.0:  # rounding has made the weight of one side 0
        return -np.inf, own, own
    for q in range(n):
        other_inner[q] = node.inner[q] - inner[q]
    before, tolerance = (
        node.clusters.squares[own] / node.clusters.masses[own],
        node.clusters.tolerance,
    )
    leaving = _remaining(node, mass, norm, inner) - before
    other_leaving = _remaining(node, other_mass, other_norm, other_inner) - before
    best = (-np.inf, own, own)
    if node.clusters.n_new > 0:  # "star" in the paper: one side becomes a new cluster
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
    both = _remaining(node, node.leaf.mass, node.leaf.norm, node.inner) - before
    if node.clusters.n_new > 1:  # "double star": both sides become new clusters
        new_gain = both + norm / mass + other_norm / other_mass
        best = _better(best, new_gain, n, n + 1, tolerance)
    if target != other:  # reallocation to two different clusters
        return _better(best, both + gain + other_gain, target, other, tolerance)
    best = _better(best, both + second_gain + other_gain, second, other, tolerance)
    return _better(best, both + gain + other_second_gain, target, other_second, tolerance)
