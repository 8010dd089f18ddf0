"""Leaves that were cut without the reference: their statistics, joining, and numbers."""

import heapq

import numpy as np

from tao_cluster.objectives import cluster_means
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_view

from ...points import squared_distances
from ..matching import matched_numbers


def one_leaf():
    """The growth for a single cluster, which needs no cuts."""
    growth = Growth()
    growth.add()
    return growth


def cut_back(growth, ends, label, n_features, idle=()):
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
    return Growth.of(kept.to_tree(n_features).prune(counts))


def taken_back(points, growth, max_leaves):
    """The growth without the cuts that matter least, until it has few enough leaves.

    Of two leaves of one node those come first that raise the cost least as one leaf of the best
    cluster: squared distances to the means that the clusters have before, ties to the lowest
    node. Clusters may lose all their rows. A cut between leaves of one cluster is left out.

    Parameters
    ----------
    points : Points
    growth : Growth, all of whose leaves have rows and labels; altered
    max_leaves : int >= 1

    Returns
    -------
    Growth
    """
    costs, clusters = _costs(points, growth)
    paid = costs.min(axis=1)  # as one leaf
    for node, left in enumerate(growth.left):
        if left < 0:
            paid[node] = costs[node, np.searchsorted(clusters, growth.label[node])]
        else:
            growth.label[node] = int(clusters[costs[node].argmin()])
    is_leaf, undone = np.array(growth.left) < 0, set()
    parent = {child: node for node in np.flatnonzero(~is_leaf) for child in _children(growth, node)}
    twins = [node for node in set(parent.values()) if is_leaf[_children(growth, node)].all()]
    queue = [(paid[node] - paid[_children(growth, node)].sum(), node) for node in twins]
    heapq.heapify(queue)
    for _ in range(growth.n_leaves - max_leaves):
        _, node = heapq.heappop(queue)
        undone.add(node)
        is_leaf[node], above = True, parent.get(node)
        if above is not None and is_leaf[_children(growth, above)].all():
            loss = paid[above] - paid[_children(growth, above)].sum()
            heapq.heappush(queue, (loss, above))
    kept = growth.without(undone).to_tree(points.X.shape[1])
    return Growth.of(kept.prune())


def _children(growth, node):
    return [growth.left[node], growth.right[node]]


def _costs(points, growth):
    """What each node pays in each cluster that has rows: (n_nodes, n_clusters); and these."""
    X, weight = points.X[points.rows], points.weight[points.rows]
    leaves = growth.to_tree(X.shape[1]).route(kernel_view(X))
    clusters, of_row = np.unique(np.array(growth.label)[leaves], return_inverse=True)
    distances = squared_distances(X, cluster_means(X, of_row, weight, len(clusters)))
    costs = np.zeros((growth.n_nodes, len(clusters)))
    np.add.at(costs, leaves, weight[:, None] * distances)
    for node in reversed(range(growth.n_nodes)):  # children after their parent
        if growth.left[node] >= 0:
            costs[node] = costs[_children(growth, node)].sum(axis=0)
    return costs, clusters


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
