"""Leaves that were cut without the reference: joined to clusters, cut back, and numbered."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from tao_cluster.objectives import cluster_means
from tao_cluster.tree.growth import Growth

from .builder_input import squared_distances


def match_labels(labels, free_labels, n_clusters, weight=None):
    """The free cluster's number for each cluster that was found by itself.

    One-to-one, so that as much weight as possible has its free label (Hungarian method).

    Parameters
    ----------
    labels : int array of shape (n,), in 0..n_clusters-1
    free_labels : int array of shape (n,), in 0..n_clusters-1
    n_clusters : int
    weight : array of shape (n,), optional

    Returns
    -------
    int64 array of shape (n_clusters,), a permutation

    Raises
    ------
    ValueError
        If some label is not among 0..n_clusters-1.

    Examples
    --------
    >>> match_labels([0, 0, 1, 2], [2, 2, 0, 1], 3).tolist()
    [2, 0, 1]
    """
    labels, free_labels = np.asarray(labels), np.asarray(free_labels)
    for each in (labels, free_labels):
        if len(each) and not 0 <= each.min() <= each.max() < n_clusters:
            raise ValueError(f"Labels to be matched must lie in 0..{n_clusters - 1}.")
    pairs = labels * np.int64(n_clusters) + free_labels
    overlap = np.bincount(pairs, weight, n_clusters**2).reshape(n_clusters, n_clusters)
    return linear_sum_assignment(overlap, maximize=True)[1].astype(np.int64)


def relabeled(tree, numbers):
    """The tree with other numbers of its clusters.

    Parameters
    ----------
    tree : Tree
    numbers : int array of shape (n_clusters,), the new number of each

    Returns
    -------
    Tree
    """
    return tree.with_leaves(np.where(tree.leaf_label < 0, -1, numbers[tree.leaf_label]))


def matched_leaf_labels(points, rows_of, group):
    """Labels of leaves, by the free clusters that their groups agree with best.

    Parameters
    ----------
    points : BuilderInput
    rows_of : dict of node to rows
    group : dict of node to group, from 0, at most as many as there are centres

    Returns
    -------
    dict of node to label
    """
    rows = np.concatenate(list(rows_of.values()))
    of_row = np.repeat([group[node] for node in rows_of], [len(r) for r in rows_of.values()])
    n_clusters = len(points.centers)
    number = match_labels(of_row, points.labels[rows], n_clusters, points.weight[rows])
    return {node: int(number[group[node]]) for node in rows_of}


def pruned_growth(growth, ends, label, n_features, idle=()):
    """The growth without the cuts below some nodes, with labels, and with no cut too many.

    A cut between two leaves of one cluster is left out, and one with an idle side.

    Parameters
    ----------
    growth : Growth
    ends : set of nodes that are leaves
    label : dict of node to label, of the leaves that remain
    n_features : int
    idle : nodes that are not wanted; the other child of their parent takes its place

    Returns
    -------
    Growth, its nodes numbered breadth-first
    """
    kept = Growth()
    number = {0: kept.add(label.get(0, 0))}
    for node in range(growth.n_nodes):
        if node in number and node not in ends and growth.splits[node] is not None:
            children = growth.left[node], growth.right[node]
            labels = [label.get(child, 0) for child in children]
            numbers = kept.split(number[node], growth.splits[node], labels)
            number.update(zip(children, numbers, strict=True))
    counts = np.ones(kept.n_nodes)
    counts[[number[node] for node in idle if node in number]] = 0
    return Growth.from_tree(kept.to_tree(n_features).prune(counts))


def deviance(points, rows):
    """Weight, mean and deviance (weighted sum of squared distances to the mean) of some rows.

    Returns
    -------
    weight : float
    mean : float64 array of shape (d,)
    deviance : float
    """
    weight, X = points.weight[rows], points.X[rows]
    mean = cluster_means(X, np.zeros(len(rows), int), weight, 1)
    return float(weight.sum()), mean[0], float(weight @ squared_distances(X, mean)[:, 0])


def merge_closest(statistics, n_clusters):
    """Join groups until there are few enough, always the two that lose least by it.

    The loss is R(a and b) - R(a) - R(b), R being the deviance.

    Parameters
    ----------
    statistics : list of (weight, mean, deviance)
    n_clusters : int

    Returns
    -------
    group : int64 array, of each of the given ones, from 0
    statistics : list of those of the groups
    """
    weight, mean, within = (np.array(column) for column in zip(*statistics, strict=True))
    group, alive = np.arange(len(weight)), np.ones(len(weight), bool)
    loss = np.full((len(weight), len(weight)), np.inf)
    for a in range(1, len(weight)):
        loss[a, :a] = _losses(weight, mean, a)[:a]
    while alive.sum() > n_clusters:
        b, a = np.unravel_index(loss.argmin(), loss.shape)
        both = weight[a] + weight[b]
        within[a] += within[b] + loss[b, a]
        mean[a] = (weight[a] * mean[a] + weight[b] * mean[b]) / both
        weight[a], alive[b] = both, False
        group[group == b] = a
        fresh = np.where(alive, _losses(weight, mean, a), np.inf)
        loss[a, :a], loss[a + 1 :, a] = fresh[:a], fresh[a + 1 :]
        loss[b], loss[:, b] = np.inf, np.inf
    kept = np.flatnonzero(alive)
    return np.searchsorted(kept, group), [(weight[g], mean[g], within[g]) for g in kept]


def _losses(weight, mean, a):
    """Deviance that each group loses if it is joined with group a."""
    return weight * weight[a] / (weight + weight[a]) * ((mean - mean[a]) ** 2).sum(axis=1)
