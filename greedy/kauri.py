"""Kauri: trees grown by the k-means cost itself, whose clusters form as the tree grows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.threads import one_thread
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from .base import POSITIVE, GreedyTree
from .cuts import KauriNode, cut_sum_cache, kauri_cuts, side_sums
from .growth import warn_interrupted
from .leaf_clusters import match_labels
from .sorted_columns import ROUNDING, SortedColumns, first_best


@dataclass(kw_only=True, eq=False, repr=False)
class Kauri(GreedyTree):
    """Kauri: a tree and its clusters grown together by the k-means cost.

    Ohl, Mattei, Leclercq, Droit & Precioso (2024), arXiv 2402.12232. All rows are one cluster
    at first. The cut made next is, of all cuts of all leaves and all assignments of its two
    halves, that by which the k-means cost with optimal centres falls most: one half becomes a
    new cluster (star) or both do (double star) while there are fewer than k; one half goes to
    another cluster (switch), or both go to two others (reallocation). No cluster is emptied.

    It needs no reference: the free clustering is there to compare with, and for the numbers of
    the clusters, each that of the free cluster with which it shares most weight.

    The kernel is the linear one. For another one give its feature map as `embedding`, say of
    :class:`sklearn.kernel_approximation.Nystroem`.

    Parameters
    ----------
    max_leaves : int, default=None
        None is the number of clusters; then most clusters have one leaf each. Where no cut saves
        anything there are fewer.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the growth; the tree has the leaves made until then.

    Notes
    -----
    A step takes O(n d k), less where features have few values, and O(n d m) more for the leaves
    just made (m columns of the embedding or of X; of wide data, no more than there are rows).
    Memory: up to 28 bytes a value of X that is not its feature's most frequent one (of sparse X,
    a non-zero), k + 1 products a row, and a dense embedding's copy in double precision; while
    they are made about 75 bytes a value in all (`python -m benchmarks.builders --memory`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import Kauri
    >>> model = Kauri(3, max_leaves=6, random_state=0).fit(load_iris().data)
    >>> float(round(model.cost_increase_, 2))
    1.4
    """

    max_leaves: int | None = None

    uses_distances = False  # its costs are between the rows of X
    sees_centers = False

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
    }

    def _grow(self, points, random_state):
        return grow_kauri(points, self.max_leaves)


def grow_kauri(points, max_leaves=None):
    """Growth of :class:`Kauri`.

    Parameters
    ----------
    points : BuilderInput
    max_leaves : int, default the number of centres

    Returns
    -------
    Growth
    """
    n_clusters = len(points.centers)
    max_leaves = n_clusters if max_leaves is None else max_leaves
    growth = Growth()
    with one_thread():  # the last bits of products turn ties
        partition = _Partition(points, n_clusters)
        partition.start(growth.add())
        try:
            _cut_leaves(partition, growth, max_leaves)
        except KeyboardInterrupt:
            warn_interrupted(growth, max_leaves)
    growth.label = partition.numbers()[growth.label].tolist()
    return growth


def _cut_leaves(partition, growth, max_leaves):
    while growth.n_leaves < max_leaves:
        found = partition.best_cut()
        if found is None:
            return
        node, cut = found
        halves = partition.halves(node, cut)  # takes long; growth and partition stay together
        split = Split.from_feature(cut.feature, cut.threshold)
        _replace(partition, growth, node, split, cut, halves)


def _replace(partition, growth, node, split, cut, halves):
    partition.replace(node, growth.split(node, split, (cut.left, cut.right)), halves)


@dataclass(frozen=True)
class _Cut:
    feature: int
    threshold: float
    left: int  # clusters of the two halves
    right: int


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Rows of one cluster: their order by every feature, and sums over them."""

    rows: np.ndarray
    order: SortedColumns
    norms: np.ndarray
    cache_start: np.ndarray  # see greedy.cuts.side_sums
    cached_sums: np.ndarray
    cluster: int
    mass: float
    total: np.ndarray  # sum of the weighted rows


class _Partition:
    """The leaves and clusters as they are, with products of all rows and the clusters' sums.

    Parameters
    ----------
    points : BuilderInput
    n_clusters : int, most clusters
    """

    def __init__(self, points, n_clusters):
        self._points, self._n_clusters = points, n_clusters
        self._space = _shifted(points)
        self._view = kernel_arrays(self._space)
        self._leaves = {}
        self._sums, self._masses = np.zeros((0, self._space.shape[1])), np.zeros(0)
        self._products = np.zeros((len(points.weight), n_clusters + 1))
        self._tolerance = ROUNDING * float(points.weight @ _squares(self._space))

    def start(self, root):
        """All rows in one leaf and one cluster."""
        rows = self._points.rows
        self._leaves[root] = self._leaf(rows, SortedColumns.from_rows(self._points, rows), 0)
        self._settle()

    def best_cut(self):
        """Node and cut that save most, ties to the lowest node; None if none saves anything."""
        nodes, cuts = sorted(self._leaves), []
        gains = np.full(len(nodes), -np.inf)
        squares = np.einsum("qm,qm->q", self._sums, self._sums)
        for i, node in enumerate(nodes):
            gain, *columns = self._search(self._leaves[node], squares)
            best = first_best(gain, self._tolerance)
            cuts.append((best, columns))
            if best is not None:
                gains[i] = gain[best]
        i = first_best(gains, self._tolerance)
        if i is None or gains[i] <= self._tolerance:
            return None
        feature, columns = cuts[i]
        threshold, left, right = (column[feature] for column in columns)
        return nodes[i], _Cut(feature, float(threshold), int(left), int(right))

    def halves(self, node, cut):
        """The two leaves that a cut makes of one, each in its cluster."""
        leaf = self._leaves[node]
        goes_left = self._points.goes_left(leaf.rows, cut.feature, cut.threshold)
        parts = ((leaf.rows[goes_left], cut.left), (leaf.rows[~goes_left], cut.right))
        n = len(self._products)
        return [self._leaf(rows, leaf.order.part(rows, n), cluster) for rows, cluster in parts]

    def replace(self, node, children, halves):
        """Put its halves in the place of a leaf."""
        del self._leaves[node]
        self._leaves.update(zip(children, halves, strict=True))
        self._settle()

    def numbers(self):
        """The free cluster's number for each cluster: int64 array of shape (k,)."""
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

    def _settle(self):
        """Sums of the clusters, and of all rows with those that are not as they were."""
        before, n = self._sums, 1 + max(leaf.cluster for leaf in self._leaves.values())
        self._sums, self._masses = np.zeros((n, before.shape[1])), np.zeros(n)
        for leaf in self._leaves.values():
            self._sums[leaf.cluster] += leaf.total
            self._masses[leaf.cluster] += leaf.mass
        for cluster in range(n):
            if cluster >= len(before) or not np.array_equal(self._sums[cluster], before[cluster]):
                self._products[:, cluster + 1] = self._space @ self._sums[cluster]

    def _search(self, leaf, squares):
        """Best cut of every feature: gain, threshold, and clusters of the two halves."""
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
    """The rows as costs are measured between them.

    Dense ones relative to their mean, which keeps the digits of costs far from the origin. Rows
    of more columns than there are rows are turned into a space of so many dimensions.
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
    """Squared norms of rows."""
    if sp.issparse(space):
        return np.asarray(space.multiply(space).sum(axis=1), np.float64).ravel()
    return np.einsum("nm,nm->n", space, space)
