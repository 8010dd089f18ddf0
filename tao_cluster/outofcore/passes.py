"""Passes over all rows: free centres, labels of leaves, and the statistics of a tree."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..objectives.base import cluster_sums
from ..reference import nearest_center
from ..tree.split_statistics import rounded, sides_of, stds_of, value_moments
from .statistics import Sums


def lloyd(source, centers, tol, least_gain=0.0, max_iter=100):
    """Run Lloyd's algorithm over all rows. A cluster without rows keeps its centre.

    Parameters
    ----------
    source : AllRows
    centers : float64 array of shape (k, m), initial centres
    tol : float
        Stop when the summed squared shifts of the centres are at most `tol`.
    least_gain : float
        Stop when the summed squared shifts, weighted by the weights of the clusters, are at most
        `least_gain`. For k-means, this sum is the decrease of the cost.
    max_iter : int, largest number of passes

    Returns
    -------
    centers : float64 array of shape (k, m)
    n_iter : int, number of passes
    """
    objective = source.reader.objective
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        found = source.sum(_assign, centers)
        before, centers = centers, objective.centers_of(found.sums, found.weight, centers)
        shifts = ((centers - before) ** 2).sum(axis=1)
        if shifts.sum() <= tol or found.weight @ shifts <= least_gain:
            break
    return centers, n_iter


@dataclass(frozen=True, eq=False)
class _Assigned(Sums):
    """Sum (k, m) and total weight (k,) of the rows nearest to each centre."""

    sums: np.ndarray
    weight: np.ndarray


def _assign(rows, centers):
    k, objective = len(centers), rows.objective
    labels = nearest_center(objective, rows.data, centers)
    sums = objective.cluster_sums(rows.data, labels, rows.weight, k)
    return _Assigned(sums, np.bincount(labels, rows.weight, k))


def free_inertia(rows, centers):
    """Return the cost of rows at their nearest centres."""
    labels = nearest_center(rows.objective, rows.data, centers)
    return rows.objective.value(rows.data, labels, rows.weight, centers)


def relabel_leaves(source, tree, centers, relabels=True):
    """Label the leaves by least total cost over all rows, and compute the centres of the clusters.

    Parameters
    ----------
    source : AllRows
    tree : Tree
    centers : float64 array of shape (k, m)
    relabels : bool, default=True
        Whether leaves may get other labels.

    Returns
    -------
    tree : Tree, without branches that no row reaches
    centers : float64 array of shape (k, m), optimal centres for the labels
    """
    found = source.sum(_leaf_sums, tree, centers)
    label, has_rows = tree.leaf_label.copy(), np.flatnonzero(found.mass > 0)
    if relabels:
        label[has_rows] = found.costs[has_rows].argmin(axis=1)
    mass = np.bincount(label[has_rows], found.mass[has_rows], len(centers))
    of_clusters = np.zeros(centers.shape)
    np.add.at(of_clusters, label[has_rows], found.rows[has_rows])
    centers = source.reader.objective.centers_of(of_clusters, mass, centers)
    return tree.with_leaves(label, tree.leaf_value).prune(tree.subtree_sums(found.mass)), centers


@dataclass(frozen=True, eq=False)
class _LeafSums(Sums):
    """Sums over the rows of each leaf; 0 for decision nodes.

    Parameters
    ----------
    costs : float64 array of shape (n_nodes, k)
        Cost of assigning all rows of the leaf to each centre.
    mass : float64 array of shape (n_nodes,), sum of the weights of the rows
    rows : float64 array of shape (n_nodes, m), weighted sum of the rows
    """

    costs: np.ndarray
    mass: np.ndarray
    rows: np.ndarray


def _leaf_sums(rows, tree, centers):
    objective, weight, leaves, n = rows.objective, rows.weight, tree.route(rows.view), tree.n_nodes
    costs = cluster_sums(objective.distances(rows.data, centers), leaves, weight, n)
    of_rows = objective.cluster_sums(rows.data, leaves, weight, n)
    return _LeafSums(costs, np.bincount(leaves, weight, n), of_rows)


@dataclass(frozen=True, eq=False)
class TreeStatistics(Sums):
    """Sums over all rows from which the statistics of a tree that users see are computed.

    Arrays with one entry per node are 0 for decision nodes, unless stated otherwise.

    Parameters
    ----------
    cost : float, total cost of the rows at the centres of the clusters of their leaves
    mass : float64 array of shape (n_nodes,), total weight of the rows of each leaf
    n_rows : float64 array of shape (n_nodes,), number of rows of each leaf
    costs : float64 array of shape (n_nodes, k), cost of the rows of each leaf at each centre
    sums, squares, most, below, above
        Moments of the features of the tests over the rows of their nodes; see
        :func:`tao_cluster.tree.split_statistics.value_moments`.
    agreement : float64 array of shape (n_nodes, k), or None for trees without histograms
        Total weight of the rows of each leaf by their nearest free centre.
    """

    cost: float
    mass: np.ndarray
    n_rows: np.ndarray
    costs: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    most: np.ndarray
    below: np.ndarray
    above: np.ndarray
    agreement: np.ndarray | None
    combine: ClassVar = {"most": np.maximum, "below": np.maximum, "above": np.minimum}

    def counts(self, tree):
        """Return the total weight of the rows of each node: float64 array of shape (n_nodes,)."""
        return tree.subtree_sums(self.mass)

    def stds(self, tree):
        """Return the standard deviation of each feature of each test over the rows of its node."""
        counts = self.counts(tree)
        counts = counts / max(counts[0], np.finfo(float).tiny)
        moments = (self.sums, self.squares, self.most)
        return rounded(stds_of(tree, moments, counts, keeps_all=True))

    def sides(self, tree):
        """Return the tested values next to each threshold; see `split_sides_` of an estimator."""
        return sides_of(tree, self.below, self.above)

    def histograms(self):
        """Return the share of each free cluster in the weight of each leaf: array (n_nodes, k)."""
        total = self.agreement.sum(axis=1, keepdims=True)
        return self.agreement / np.where(total > 0, total, 1.0)


def tree_statistics(rows, tree, centers, origin, free_centers, total):
    """Return the statistics of a tree over the rows of a block.

    Parameters
    ----------
    rows : WeightedRows
    tree : Tree
    centers : float64 array of shape (k, m)
    origin : float64 array of shape (n_nonzero,)
        One value per feature of each test, which is subtracted from the feature for numerical
        accuracy.
    free_centers : float64 array of shape (k, m), centres of the clustering without a tree
    total : float, total weight of all rows

    Returns
    -------
    TreeStatistics
    """
    weight, objective, leaves = rows.weight, rows.objective, tree.route(rows.view)
    cost = objective.value(rows.data, tree.leaf_label[leaves], weight, centers)
    mass, agreement = np.bincount(leaves, weight, tree.n_nodes), None
    if tree.leaf_value is not None:
        labels, k = nearest_center(objective, rows.data, free_centers), len(centers)
        agreement = np.bincount(leaves * k + labels, weight, tree.n_nodes * k).reshape(-1, k)
    moments = value_moments(tree, rows.view, leaves, weight / total, origin)
    n_rows = np.bincount(leaves, minlength=tree.n_nodes).astype(np.float64)
    distances = objective.distances(rows.data, centers)
    costs = cluster_sums(distances, leaves, weight, tree.n_nodes)
    return TreeStatistics(cost, mass, n_rows, costs, *moments, agreement)
