"""The limit of the weight of rows that a tree leaves without a cluster."""

import numpy as np

from ..objectives.base import cluster_sums
from ..reference import optimal_centers
from ..tree.routing import kernel_arrays

_ROUNDING = 1e-9


def within_share(problem, tree):
    """Give clusters to some leaves without one, so that the others have at most the allowed share.

    Parameters
    ----------
    problem : Problem, whose objective is :class:`.Trimmed`
    tree : Tree

    Returns
    -------
    Tree; the same object if it is within the share
    """
    leaves, weight = tree.route(kernel_arrays(problem.X)), problem.weight
    objective, noise = problem.objective, problem.n_clusters - 1
    labels, mass = tree.leaf_label[leaves], np.bincount(leaves, weight, tree.n_nodes)
    left_out = np.flatnonzero(mass * (tree.leaf_label == noise))
    mass, most = mass[left_out], objective.share * float(weight.sum()) * (1 + _ROUNDING)
    if mass.sum() <= most:
        return tree
    centers, _ = optimal_centers(objective, problem.data, labels, weight, problem.free)
    costs = objective.distances(problem.data, centers)[:, :-1]
    sums = cluster_sums(costs, leaves, np.where(labels == noise, weight, 0.0), tree.n_nodes)
    sums = sums[left_out]
    losses = sums.min(axis=1) - objective.price * mass
    # Either the leaves that save most per row stay, as far as there is room, or one leaf changes.
    is_changed, room = np.ones(len(mass), bool), most
    for i in np.argsort(-losses / mass, kind="stable"):
        is_changed[i] = mass[i] > room
        room -= 0.0 if is_changed[i] else mass[i]
    alone = np.where(mass >= mass.sum() - most, losses, np.inf)
    if alone.min() < losses[is_changed].sum():
        is_changed = np.arange(len(mass)) == alone.argmin()
    label = tree.leaf_label.copy()
    label[left_out[is_changed]] = sums[is_changed].argmin(axis=1)
    return tree.with_leaves(label, tree.leaf_value).prune()
