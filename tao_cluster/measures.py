"""Measures of a clustering tree: what it costs and how much there is to read."""

import numpy as np

from .export.rules import path_conditions


def cost_increase(cost, free_cost):
    """Percent by which a clustering costs more than the free clustering.

    Parameters
    ----------
    cost, free_cost : float
        Values of the clustering objective, with optimal centres.

    Returns
    -------
    float; 0 if both are 0, inf if only the free cost is 0

    Examples
    --------
    >>> cost_increase(103.0, 100.0)
    3.0
    """
    if free_cost == 0:
        return 0.0 if cost == 0 else float("inf")
    return float(100 * (cost - free_cost) / free_cost)


def weighted_average_depth(tree, X, sample_weight=None):
    """Mean number of tests on a row's path (WAD; Laber, Murtinho & Oliveira 2023, eq. 2).

    Parameters
    ----------
    tree : Tree
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float
    """
    return float(np.average(tree.depth[tree.apply(X)], weights=sample_weight))


def weighted_average_explanation_size(tree, X, sample_weight=None):
    """Mean number of non-redundant conditions on a row's path (WAES; same paper, eq. 3).

    A condition is redundant if a deeper one on the same path bounds the same weighted sum in
    the same direction; for axis-aligned trees that leaves distinct (feature, direction) pairs.

    Parameters and return value as in :func:`weighted_average_depth`.
    """
    size = np.zeros(tree.n_nodes)
    for leaf in tree.leaves:
        size[leaf] = len(path_conditions(tree, leaf))
    return float(np.average(size[tree.apply(X)], weights=sample_weight))
