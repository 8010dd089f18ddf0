"""Leaves that were cut without the reference: their statistics, joining, and numbers."""

import numpy as np

from tao_cluster.core.tree.growth import Growth
from tao_cluster.problem.objectives import cluster_means

from ...points import squared_distances
from ..matching import matched_numbers


def one_leaf():
    """The growth for a single cluster, which needs no cuts."""
    growth = Growth()
    growth.add()
    return growth


def cut_back(growth, ends, label):
    """The growth without the cuts below some nodes, and with labels.

    Parameters
    ----------
    growth : Growth
    ends : set of nodes that are leaves
    label : dict of node to label, of the leaves that remain

    Returns
    -------
    Growth
    """
    kept = Growth()
    number = {0: kept.add(label.get(0, 0))}
    for node in range(growth.n_nodes):
        if node in number and node not in ends and growth.splits[node] is not None:
            children = growth.left[node], growth.right[node]
            labels = [label.get(child, 0) for child in children]
            numbers = kept.split(number[node], growth.splits[node], labels)
            number.update(zip(children, numbers, strict=True))
    return kept


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


def joined(statistics, n_clusters):
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


def numbered(points, rows_of, group):
    """Labels of leaves, by the free clusters that their groups agree with best.

    Parameters
    ----------
    points : Points
    rows_of : dict of node to rows
    group : dict of node to group, from 0, at most as many as there are centres

    Returns
    -------
    dict of node to label
    """
    rows = np.concatenate(list(rows_of.values()))
    of_row = np.repeat([group[node] for node in rows_of], [len(r) for r in rows_of.values()])
    n_clusters = len(points.positions)
    number = matched_numbers(of_row, points.labels[rows], n_clusters, points.weight[rows])
    return {node: int(number[group[node]]) for node in rows_of}
