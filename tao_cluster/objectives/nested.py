"""Hierarchies of clusters: their k-means cost over all levels at once, and how they are found."""

import heapq
import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans as _SklearnKMeans
from sklearn.utils import check_random_state

from .._utils.options import Part
from .._utils.threads import check_interrupted
from .base import Objective
from .kmeans import KMeans
from .labels import Labels

_KMEANS = KMeans()
_MOST_STARTS, _MOST_PASSES = 9, 50  # numbers of clusters to start from; iterations of Lloyd
_ROUNDING = 1e-7  # smaller relative decreases of the cost end the iterations


@dataclass(frozen=True, eq=False)
class NestedMeans(Part, Objective):
    """The mean k-means cost of nested clusterings, over their numbers of clusters.

    The clusters are those of the last level. At the level of k clusters, cluster l belongs to a
    union of clusters with the mean c_k(l). With the share s_k of each level, the cost of a row x is
    sum_k s_k |x - c_k(l)|^2 = |x - a_l|^2 + b_l, where a_l = sum_k s_k c_k(l) and b_l = sum_k s_k
    |c_k(l)|^2 - |a_l|^2 >= 0. So a centre is a row of the m values of a_l and the root of b_l.

    Parameters
    ----------
    levels : int array of shape (K, K)
        Entry (k - 1, l) is the cluster of the level of k clusters to which cluster l belongs.
    shares : float64 array of shape (K,)
        The weights of the levels, at least 0, with sum 1.
    """

    levels: Any = None
    shares: Any = None
    can_perturb_rows: ClassVar[bool] = True

    # The rows are those of k-means, and dissimilarities are squares.
    prepare, in_threads, as_distance = KMeans.prepare, KMeans.in_threads, KMeans.as_distance

    def distances(self, data, centers):
        """Return the cost of each row in each cluster, over all levels: array of shape (n, K)."""
        found = _KMEANS.distances(data, centers[:, :-1])
        found += centers[:, -1] ** 2
        return found

    def nearest(self, data, centers):
        """Return the cluster of least cost of each row: int array of shape (n,)."""
        found = np.empty(len(data.squared_norms), np.intp)

        def use(part, own):
            found[part] = (own + centers[:, -1] ** 2).argmin(axis=1)

        data.for_distances(centers[:, :-1], use)
        return found

    def update_centers(self, data, labels, weight, centers):
        """Return the centres of the unions of clusters, as one row per cluster."""
        k = len(centers)
        total = np.bincount(labels, weight, k)
        found = self.centers_from(data.sums(labels, weight, k), total)
        found[:, :-1] += data.origin
        return np.where(total[:, None] > 0, found, centers)

    def centers_from(self, sums, total):
        """Return centres from sums of rows and of weights of the clusters of the last level."""
        k = len(total)
        found, square = np.zeros((k, sums.shape[1] + 1)), np.zeros(k)
        for share, level in zip(self.shares, self.levels, strict=True):
            of_level = np.zeros_like(sums)
            np.add.at(of_level, level, sums)
            mass = np.bincount(level, total, k)
            mean = (of_level / np.where(mass > 0, mass, 1.0)[:, None])[level]
            found[:, :-1] += share * mean
            square += share * (mean**2).sum(axis=1)
        rest = square - (found[:, :-1] ** 2).sum(axis=1)
        found[:, -1] = np.sqrt(np.maximum(rest, 0.0))
        return found

    def value(self, data, labels, weight, centers):
        """Return the weighted cost of the rows in their clusters, over all levels."""
        own = float(weight @ (centers[:, -1] ** 2)[labels])
        return _KMEANS.value(data, labels, weight, centers[:, :-1]) + own


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The clusters of each level of a binary tree, and the divisions that make them.

    Parameters
    ----------
    leaves : int array of shape (K,)
        The node of each cluster of the last level.
    divisions : list of int
        The nodes that are divided, K - 1 of them; the first is the root.
    levels : int32 array of shape (K, K)
        Entry (k - 1, c) is the cluster of the level of k clusters to which cluster c of the last
        level belongs.
    """

    leaves: np.ndarray
    divisions: list
    levels: np.ndarray

    @classmethod
    def by_gain(cls, children, cost, mass, root, n_clusters):
        """Order the divisions by how much they save, and number the clusters of each level.

        If all nodes are divided, no other order has a lower sum of the costs of the levels (Horn,
        1972, Single-machine job sequencing with treelike precedence ordering): first come the
        nodes that save most per division, where descendants can count together with a node. If
        there are more leaves than clusters, this order is compared with the best order of the
        divisions of the best pruning with K leaves, and the better one is taken. When a cluster is
        divided, the heavier part keeps its number.

        Parameters
        ----------
        children : int array of shape (n_nodes, 2), -1 at leaves
        cost : float64 array of shape (n_nodes,)
            Cost of the rows of each node as one cluster.
        mass : float64 array of shape (n_nodes,)
        root : int
        n_clusters : int, number of clusters K of the last level
        """
        orders = [_order(children, cost, root)[: n_clusters - 1]]
        if n_clusters <= (children[:, 0] < 0).sum():
            inner = _best_pruning(children, cost, root, n_clusters)
            kept = np.where(np.isin(np.arange(len(children)), list(inner))[:, None], children, -1)
            orders.append(_order(kept, cost, root))
        gain = cost - np.where(children[:, 0] < 0, cost, cost[children].sum(axis=1))
        order = max(orders, key=lambda order: np.cumsum(gain[order]).sum())
        number, parents = {root: 0}, [0]
        for k, node in enumerate(order, 1):
            heavy, light = sorted(children[node], key=lambda child: -mass[child])
            number[heavy] = number.pop(node)
            number[light] = k
            parents.append(number[heavy])
        leaves = np.array(sorted(number, key=number.get))
        levels = np.tile(np.arange(n_clusters, dtype=np.int32), (n_clusters, 1))
        for k in range(n_clusters - 1, 0, -1):
            levels[k - 1] = np.where(levels[k] == k, parents[k], levels[k])
        return cls(leaves, order, levels)


def nodes_below(children, node):
    """Return a node and all nodes of its subtree, parents before their children: list of int."""
    found = [node]
    for i in found:
        found += [child for child in children[i] if child >= 0]
    return found


def _order(children, cost, root):
    """Return the nodes with children, parents first, in the order of :meth:`Hierarchy.by_gain`."""
    chains = {}  # per node: blocks (mean gain, nodes) of its subtree, of decreasing gain
    for node in reversed(nodes_below(children, root)):
        left, right = children[node]
        if left < 0:
            chains[node] = []
            continue
        parts = chains.pop(left), chains.pop(right)
        rest = list(heapq.merge(*parts, key=lambda block: -block[0]))
        gain, block = cost[node] - cost[left] - cost[right], [node]
        while rest and rest[0][0] > gain:
            more = len(rest[0][1])
            gain = (gain * len(block) + rest[0][0] * more) / (len(block) + more)
            block += rest.pop(0)[1]
        chains[node] = [(gain, block), *rest]
    return [node for _, block in chains[root] for node in block]


def _best_pruning(children, cost, root, n_leaves):
    """Return the inner nodes of the pruning with `n_leaves` leaves of least cost, as a set.

    The best k leaves below a node are the best division of k between its children.
    """
    best = {}  # per node and number of leaves below it: the cost, and the inner nodes
    for node in reversed(nodes_below(children, root)):
        found = {1: (cost[node], frozenset())}
        left, right = children[node]
        if left >= 0:
            pairs = itertools.product(best.pop(left).items(), best.pop(right).items())
            for (a, (one, inner)), (b, (other, further)) in pairs:
                if a + b <= n_leaves and one + other < found.get(a + b, (np.inf,))[0]:
                    found[a + b] = one + other, inner | further | {node}
        best[node] = found
    return best[root][n_leaves][1]


@dataclass(frozen=True)
class NestedLabels(Labels):
    """The mean disagreement with given nested clusterings, over their numbers of clusters.

    The cost of a row in another cluster than its own is the share of the levels at which the two
    clusters are not in one union.

    Parameters
    ----------
    noise : {"leave", "explain"}
    levels : int array of shape (K, K), as of :class:`NestedMeans`
    """

    levels: Any = field(default=None, compare=False)

    @cached_property
    def prices(self):
        """Cost of a row of each cluster in each cluster: float64 array of shape (K, K)."""
        return (self.levels[1:, :, None] != self.levels[1:, None, :]).mean(axis=0)

    def distances(self, data, centers):
        """Return the price of each row in each cluster, 0 without a label: array (n, K)."""
        return np.where(data[:, None] < 0, 0.0, self.prices[data])

    def value(self, data, labels, weight, centers):
        """Return the weighted prices of the rows in their clusters."""
        return float(weight @ np.where(data < 0, 0.0, self.prices[data, labels]))


# ---------------------------------------------------------------- hierarchies without a tree


def free_hierarchy(X, data, weight, starts, shares, random_state):
    """Return a hierarchy with a low mean cost over its levels, its clusters, and its objective.

    Each partition of `starts` is divided by 2-means where that saves most, and merged by Ward's
    criterion. Lloyd's algorithm over all levels together follows. The best result is returned.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, m)
    data : result of ``KMeans().prepare(X)``
    weight : float64 array of shape (n,)
    starts : list of int arrays of shape (n,)
        Partitions into at least two clusters.
    shares : float64 array of shape (K,)
        Weights of the levels of 1 to K clusters.
    random_state : int, RandomState instance or None

    Returns
    -------
    merges : int array of shape (K - 1, 2)
        Nodes that are merged: clusters from 0, and results of merges from K.
    objective : NestedMeans
    labels : int array of shape (n,)
    centers : float64 array of shape (K, m + 1), of the objective
    """
    rng, k = check_random_state(random_state), len(shares)
    chosen = np.unique(np.linspace(0, len(starts) - 1, _MOST_STARTS).round().astype(int))
    runs = []
    for start in (starts[i] for i in chosen):
        check_interrupted()
        labels = _divided(X, weight, start, k, rng)
        n_parts = labels.max() + 1
        if n_parts < k:
            raise ValueError(
                f"X has only {n_parts} distinct rows; use at most n_clusters={n_parts}."
            )
        parts = Statistics.of(data, labels, weight, n_parts)
        merges = _merged(parts)
        if n_parts > k:  # the last of the merges stay, and the first ones make the clusters
            labels, merges = _coarser(labels, merges, n_parts, k)
        runs.append(_descended(data, weight, labels, merges, shares))
    return min(runs, key=lambda run: run[0])[1:]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Weights, sums and sums of squares of the rows of the nodes of a hierarchy."""

    total: np.ndarray
    sums: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, data, labels, weight, n_clusters):
        """Return the statistics of clusters, of rows prepared by :class:`KMeans`."""
        total = np.bincount(labels, weight, n_clusters)
        squares = np.bincount(labels, weight * data.squared_norms, n_clusters)
        return cls(total, data.sums(labels, weight, n_clusters), squares)

    def with_merges(self, merges):
        """Return the statistics of all nodes: the clusters, and then the merges."""
        found = [list(self.total), list(self.sums), list(self.squares)]
        for values in found:
            for left, right in merges:
                values.append(values[left] + values[right])
        return Statistics(*map(np.array, found))

    @property
    def costs(self):
        """Cost of each node as one cluster."""
        mass = np.where(self.total > 0, self.total, 1.0)
        return np.maximum(self.squares - (self.sums**2).sum(axis=1) / mass, 0.0)


def _merged(parts):
    """Merge clusters in the order of Ward's criterion: int array of shape (n_parts - 1, 2)."""
    n = len(parts.total)
    total, sums = np.zeros(2 * n - 1), np.zeros((2 * n - 1, parts.sums.shape[1]))
    total[:n], sums[:n] = parts.total, parts.sums
    active, merges = list(range(n)), []
    for new in range(n, 2 * n - 1):
        mass = np.where(total[active] > 0, total[active], 1e-300)
        mean = sums[active] / mass[:, None]
        squares = (mean**2).sum(axis=1)
        apart = np.maximum(squares[:, None] + squares - 2 * mean @ mean.T, 0.0)
        price = apart * (mass[:, None] * mass / (mass[:, None] + mass))
        np.fill_diagonal(price, np.inf)
        i, j = np.unravel_index(price.argmin(), price.shape)
        pair = active[min(i, j)], active[max(i, j)]
        merges.append(pair)
        total[new], sums[new] = total[list(pair)].sum(), sums[list(pair)].sum(axis=0)
        active = [node for node in active if node not in pair] + [new]
    return np.array(merges, dtype=np.intp).reshape(-1, 2)


def _coarser(labels, merges, n_parts, n_clusters):
    """Return the labels after the first merges, and the other merges with the numbers of these."""
    n_first = n_parts - n_clusters
    stands_for = np.arange(n_parts + len(merges))
    for new, pair in enumerate(merges[:n_first], n_parts):
        stands_for[np.isin(stands_for, pair)] = new
    left = np.unique(stands_for[: n_parts + n_first])
    number = np.full(n_parts + len(merges), -1)
    number[left] = np.arange(n_clusters)
    number[n_parts + n_first :] = np.arange(n_clusters, 2 * n_clusters - 1)
    return number[stands_for[labels]], number[merges[n_first:]]


def _divided(X, weight, labels, n_clusters, rng):
    """Divide clusters by 2-means until there are `n_clusters`, the largest saving first."""
    labels = np.unique(labels, return_inverse=True)[1]
    n_parts, seed = labels.max() + 1, rng.randint(np.iinfo(np.int32).max)
    found = {}
    while n_parts < n_clusters:
        for part in set(range(n_parts)) - set(found):
            found[part] = _halved(X, weight, np.flatnonzero(labels == part), seed)
        part = max(found, key=lambda part: found[part][0])
        if found[part][1] is None:  # fewer distinct rows than clusters
            break
        labels[found[part][1]] = n_parts
        del found[part]
        n_parts += 1
    return labels


def _halved(X, weight, rows, seed):
    """Return how much 2-means saves, and the rows of one half; None if the rows are equal."""
    if len(rows) < 2:
        return 0.0, None
    data, own = _KMEANS.prepare(X[rows]), weight[rows]
    model = _SklearnKMeans(2, n_init=2, random_state=seed).fit(X[rows], sample_weight=own)
    labels = model.labels_.astype(np.intp)
    if labels.min() == labels.max():
        return 0.0, None
    before = Statistics.of(data, np.zeros(len(rows), np.intp), own, 1).costs.sum()
    saved = before - Statistics.of(data, labels, own, 2).costs.sum()
    return saved, rows[labels == 1]


def _descended(data, weight, labels, merges, shares):
    """Alternate between the clusters of rows and the means and order of a hierarchy.

    Returns
    -------
    cost : float
    merges, objective, labels, centers : as :func:`free_hierarchy`
    """
    best = None
    for _ in range(_MOST_PASSES):
        parts = Statistics.of(data, labels, weight, len(shares))
        levels, costs = ordered(merges, parts)
        value = float(shares @ costs)
        if best is not None and not value < best[0] * (1 - _ROUNDING):
            break
        objective = NestedMeans(levels, shares)
        centers = objective.centers_from(parts.sums, parts.total)
        centers[:, :-1] += data.origin
        best = value, merges, objective, labels, centers
        labels = objective.nearest(data, centers)
    return best


def ordered(merges, parts):
    """Return the levels of merged clusters in the best order, and the cost of each level.

    Parameters
    ----------
    merges : int array of shape (K - 1, 2)
    parts : Statistics, of the K clusters

    Returns
    -------
    levels : int32 array of shape (K, K)
    costs : float64 array of shape (K,)
    """
    k = len(parts.total)
    children, nodes = np.vstack([np.full((k, 2), -1), merges]), parts.with_merges(merges)
    cost = nodes.costs
    found = Hierarchy.by_gain(children, cost, nodes.total, len(children) - 1, k)
    levels = np.empty((k, k), np.int32)
    levels[:, found.leaves] = found.levels
    saved = [cost[i] - cost[children[i]].sum() for i in found.divisions]
    return levels, cost[-1] - np.cumsum([0.0, *saved])
