"""Trimming: what decides no row of a fitted tree is removed, and thresholds become values."""

import itertools

import numpy as np

from ...core.routing import project
from .reduced_sets import ReducedSets


def trim(tree, view, share, n_jobs=1):
    """The tree without weights too small to decide any row.

    A weight is small if the spread of its term w_j x_j over the rows of its node is below
    `share` times the largest such spread there. The smallest weights of each node are removed,
    a number found by bisection that leaves every row on its side; so the tree's output for
    these rows stays the same. Such weights are what the tolerance of a solver leaves behind.

    Parameters
    ----------
    tree : Tree
    view : result of :func:`tao_cluster.core.routing.kernel_view`, the rows of the fit
    share : float in [0, 1]; 0 removes nothing
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree
    """
    if share == 0:
        return tree
    rows_of = ReducedSets(tree, tree.route(view, n_jobs=n_jobs))
    updates = {}
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split, threshold = tree.split(node), tree.threshold[node]
        kept = _needed(view, rows_of[node], split, threshold, share, n_jobs)
        if not kept.all():
            updates[node] = ((split[0][kept], split[1][kept]), threshold)
    return tree.with_splits(updates)


def _needed(view, rows, split, threshold, share, n_jobs):
    """Mask of the weights of a node to keep."""
    indices, weights = split
    everything = np.ones(len(indices), dtype=bool)
    if len(indices) == 0:
        return everything

    def goes_left(kept):
        return project(view, rows, indices[kept], weights[kept], n_jobs) <= threshold

    spread = np.array(
        [project(view, rows, indices[[j]], weights[[j]], n_jobs).std() for j in range(len(indices))]
    )
    sides = goes_left(everything)
    ascending = np.argsort(spread, kind="stable")
    least, most = 0, int(np.count_nonzero(spread < share * spread.max()))
    kept = everything
    while least < most:  # bisection over the number of weights removed
        number = (least + most + 1) // 2
        fewer = everything.copy()
        fewer[ascending[:number]] = False
        if np.array_equal(goes_left(fewer), sides):
            least, kept = number, fewer
        else:
            most = number - 1
    return kept


def at_values(tree, view, n_jobs=1):
    """The axis-aligned tree with thresholds at values of rows: the largest that goes left.

    A builder may have put them between two values, or at a centre's.

    Parameters
    ----------
    tree : Tree, each test of weight 1
    view : result of :func:`tao_cluster.core.routing.kernel_view`, the rows of the fit
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree; these rows take the same paths
    """
    rows_of = ReducedSets(tree, tree.route(view, n_jobs=n_jobs))
    updates = {}
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split = tree.split(node)
        values = project(view, rows_of[node], *split, n_jobs)
        goes_left = values <= tree.threshold[node]
        if goes_left.any():
            updates[node] = (split, values[goes_left].max())
    return tree.with_splits(updates)
