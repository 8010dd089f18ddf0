"""Trimming: what decides no row of a fitted tree is removed; tests get the form people read."""

import itertools

import numpy as np

from ..tree.conditions import Bound
from ..tree.routing import ReducedSets, project
from ..tree.split_statistics import split_stds
from ..tree.tree import midpoint


def trim(tree, leaf_of_row, view, share, n_jobs=1):
    """The tree without weights too small to decide any row.

    A weight is small if the spread of its term w_j x_j over the rows of its node is below
    `share` times the largest such spread there. The smallest weights of each node are removed,
    a number found by bisection that leaves every row on its side; so the tree's output for
    these rows stays the same. Such weights are what the tolerance of a solver leaves behind.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    share : float in [0, 1]; 0 removes nothing
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree
    """
    if share == 0:
        return tree
    spreads = split_stds(tree, view, leaf_of_row, n_jobs=n_jobs)
    effects, rows_of = np.abs(tree.split_weights) * spreads, ReducedSets(tree, leaf_of_row)
    updates = {}
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split, threshold = tree.split(node), tree.threshold[node]
        own = effects[tree.split_indptr[node] : tree.split_indptr[node + 1]]
        kept = _needed(view, rows_of[node], split, threshold, own, share, n_jobs)
        if not kept.all():
            updates[node] = ((split[0][kept], split[1][kept]), threshold)
    return tree.with_splits(updates)


def _needed(view, rows, split, threshold, spread, share, n_jobs):
    """Mask of the weights of a node to keep, whose terms have such spreads."""
    indices, weights = split
    everything = np.ones(len(indices), dtype=bool)
    if len(indices) == 0:
        return everything

    def goes_left(kept):
        return project(view, rows, indices[kept], weights[kept], n_jobs) <= threshold

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


def at_midpoints(tree, leaf_of_row, view, n_jobs=1):
    """The tree whose tests of one feature have weight 1 or -1 and thresholds between the rows.

    Such a threshold lies halfway between the values on the two sides of the test. Where all rows
    are on one side, or there are none, the test stays what it is but for the scale of its weight.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree; these rows take the same paths
    """
    updates = {}
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        if len(indices) == 1:
            value = Bound.from_test(indices[0], weights[0], tree.threshold[node]).value
            updates[node] = ((indices, np.sign(weights)), np.sign(weights[0]) * value + 0.0)
    # The products of the new weights are exact, so that rows go where they went.
    tree = tree.with_splits(updates)
    for node, values, goes_left in _sides(tree, leaf_of_row, view, n_jobs):
        if goes_left.any() and not goes_left.all():
            middle = midpoint(values[goes_left].max(), values[~goes_left].min())
            updates[node] = (tree.split(node), middle)
    return tree.with_splits(updates)


def _sides(tree, leaf_of_row, view, n_jobs):
    """Yield of each test of one feature the node, its rows' products, and which go left."""
    rows_of = ReducedSets(tree, leaf_of_row)
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split = tree.split(node)
        if len(split[0]) == 1:
            values = project(view, rows_of[node], *split, n_jobs)
            yield node, values, values <= tree.threshold[node]


def at_values(tree, leaf_of_row, view, n_jobs=1):
    """The axis-aligned tree with thresholds at values of rows: the largest that goes left.

    A builder may have put them between two values, or at a centre's.

    Parameters
    ----------
    tree : Tree, each test of weight 1
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree; these rows take the same paths
    """
    updates = {
        node: (tree.split(node), values[goes_left].max())
        for node, values, goes_left in _sides(tree, leaf_of_row, view, n_jobs)
        if goes_left.any()
    }
    return tree.with_splits(updates)
