"""Merge, prune and relabel the leaves of trees that were grown without a reference."""

import numpy as np

from tao_cluster.objectives import cluster_means
from tao_cluster.reference import match_labels
from tao_cluster.tree.growth import Growth

from ..builder_input import squared_distances


def matched_leaf_labels(points, rows_of, group):
    """Label groups of leaves by the free clusters with which they agree best.

    Parameters
    ----------
    points : BuilderInput
    rows_of : dict of leaf node to its rows (int64 array)
    group : dict of leaf node to the number of its group
        Numbers start at 0; there are at most as many groups as centres.

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
    """Prune a growth: some nodes become leaves, and cuts without effect are removed.

    A cut has no effect if both children are leaves of the same cluster, or if a child is in `idle`.

    Parameters
    ----------
    growth : Growth
    ends : set of int
        Nodes that become (or stay) leaves.
    label : dict of leaf node to its label
    n_features : int
    idle : iterable of int
        Nodes to remove. The other child takes the place of the parent.

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
    """Compute the weight, mean and deviance of some rows.

    The deviance is the weighted sum of squared distances to the mean.

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
    """Merge groups of rows until `n_clusters` are left: agglomerative clustering, Ward's criterion.

    Each step merges the pair a, b with the least loss R(a + b) - R(a) - R(b). R is the deviance,
    and a + b is the union. It takes O(g ** 2) memory for g groups.

    Parameters
    ----------
    statistics : list of (weight, mean, deviance)
        One element per group; see :func:`deviance`.
    n_clusters : int

    Returns
    -------
    group : int64 array of shape (g,)
        Number of the merged group of each given group, from 0.
    statistics : list of (weight, mean, deviance) of the merged groups
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
    """Return, for each group, the increase in deviance if group `a` is merged with it."""
    return weight * weight[a] / (weight + weight[a]) * ((mean - mean[a]) ** 2).sum(axis=1)
