"""The limit of the weight of rows that a tree leaves without a cluster."""

import numpy as np

from ..objectives.base import cluster_sums
from ..reference import optimal_centers
from ..tree.routing import kernel_arrays

_ROUNDING = 1e-9


def within_share(problem, tree):
    """Give clusters to leaves without one until the others have at most the allowed share.

    Leaves change first if their rows cost least in a cluster.

    Parameters
    ----------
    problem : Problem, whose objective is :class:`.Trimmed`
    tree : Tree

    Returns
    -------
    tree : Tree
        The same object if it is within the share.
    price : float or None
        The least price of rows without a cluster at which all changes lower the cost; None if there
        are none.
    """
    leaves, weight = tree.route(kernel_arrays(problem.X)), problem.weight
    objective, noise = problem.objective, problem.n_clusters - 1
    labels, mass = tree.leaf_label[leaves], np.bincount(leaves, weight, tree.n_nodes)
    left_out = np.flatnonzero(tree.leaf_label == noise)
    most = objective.share * float(weight.sum()) * (1 + _ROUNDING)
    if mass[left_out].sum() <= most:
        return tree, None
    centers, _ = optimal_centers(objective, problem.data, labels, weight, problem.free)
    costs = objective.distances(problem.data, centers)[:, :-1]
    sums = cluster_sums(costs, leaves, np.where(labels == noise, weight, 0.0), tree.n_nodes)
    means = sums[left_out].min(axis=1) / np.maximum(mass[left_out], np.finfo(float).tiny)
    order = np.argsort(-means, kind="stable")
    changed = order[np.cumsum(mass[left_out[order]]) > most]
    label = tree.leaf_label.copy()
    label[left_out[changed]] = sums[left_out[changed]].argmin(axis=1)
    return tree.with_leaves(label, tree.leaf_value).prune(), float(means[changed].max())
