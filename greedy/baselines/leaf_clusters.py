"""Merge, prune and relabel the leaves of trees that were grown without a reference."""

import numpy as np

from tao_cluster.objectives import cluster_means
from tao_cluster.reference import match_labels
from tao_cluster.tree.growth import Growth

from ..builder_input import squared_distances


def matched_labels(points, rows_of, group, weight=None):
    """Label groups of leaves by the free clusters with which they agree best.

    Parameters
    ----------
    points : BuilderInput
    rows_of : dict of leaf node to its rows (int64 array)
    group : int array-like, the number of the group of each of these leaves
        Numbers start at 0; there are at most as many groups as centres.
    weight : float64 array of shape (n,), optional
        Weights of the rows; by default those of `points`.

    Returns
    -------
    dict of node to label
    """
    weight, leaves = points.weight if weight is None else weight, list(rows_of.values())
    rows, of_row = np.concatenate(leaves), np.repeat(group, [len(rows) for rows in leaves])
    number = match_labels(of_row, points.labels[rows], len(points.centers), weight[rows])
    return dict(zip(rows_of, number[group].tolist(), strict=True))


def pruned_growth(growth, label, n_features, idle=()):
    """Prune a growth: nodes with a label become leaves, and cuts without effect are removed.

    A cut has no effect if both children are leaves of the same cluster, or if a child is in `idle`.

    Parameters
    ----------
    growth : Growth
        It is modified.
    label : dict of node to label, with one node on each path from the root to a leaf
    n_features : int
    idle : iterable of int
        Nodes to remove. The other child takes the place of the parent.

    Returns
    -------
    Growth, its nodes numbered breadth-first
    """
    label = dict(label)
    for node, left in enumerate(growth.left):  # parents before children
        if node in label:
            growth.label[node] = label[node]
            label[left] = label[growth.right[node]] = label[node]  # all leaves below: they merge
    counts = np.ones(growth.n_nodes)
    counts[list(idle)] = 0
    return Growth.from_tree(growth.to_tree(n_features).prune(counts))


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
    and a + b is the union.

    Parameters
    ----------
    statistics : list of (weight, mean, deviance)
        One element per group; see :func:`deviance`.
    n_clusters : int

    Returns
    -------
    group : int64 array of shape (g,)
        Number of the merged group of each given group, from 0.
    means : float64 array, the means of the merged groups
    """
    weight, mean = (np.array(column) for column in list(zip(*statistics, strict=True))[:2])

    def losses(a):
        return weight * weight[a] / (weight + weight[a]) * ((mean - mean[a]) ** 2).sum(axis=1)

    def merge(a, b):
        both = weight[a] + weight[b]
        mean[a] = (weight[a] * mean[a] + weight[b] * mean[b]) / both
        weight[a] = both

    group = merged_groups(len(weight), n_clusters, losses, merge)
    return group, mean[np.unique(group, return_index=True)[1]]


def merged_groups(n, n_groups, losses, merge, first_is_low=False):
    """Merge the pair of groups with the least loss until at most `n_groups` of n are left.

    It takes O(n ** 2) memory.

    Parameters
    ----------
    n, n_groups : int
    losses : callable(a) -> float array of shape (n,), the loss if group `a` is merged with each one
    merge : callable(a, b) that adds group b to group a, with a < b
    first_is_low : bool
        Whether ties go to the lowest a first, then to the lowest b; otherwise the other way round.

    Returns
    -------
    int64 array of shape (n,), the number of the merged group of each group, from 0
    """
    group, alive, loss = np.arange(n), np.ones(n, bool), np.full((n, n), np.inf)
    for b in range(1, n):
        loss[b, :b] = losses(b)[:b]
    while alive.sum() > n_groups:
        table = loss.T if first_is_low else loss
        a, b = sorted(np.unravel_index(table.argmin(), loss.shape))
        merge(a, b)
        alive[b], group[group == b] = False, a
        fresh = np.where(alive, losses(a), np.inf)
        loss[a, :a], loss[a + 1 :, a] = fresh[:a], fresh[a + 1 :]
        loss[b], loss[:, b] = np.inf, np.inf
    return np.unique(group, return_inverse=True)[1]
