"""Trimming: removal of weights that move no fitted row, and the final form of tests."""

import itertools

import numpy as np

from ..tree.conditions import Bound
from ..tree.routing import ReducedSets, project
from ..tree.split_statistics import split_stds
from ..tree.tree import midpoint


def trim(tree, leaf_of_row, view, share, n_jobs=1):
    """Return the tree without weights that are too small to move a row.

    A weight is small if the standard deviation of its term w_j x_j over the rows of its node is
    below `share` times the largest one there. The smallest weights of each node are removed. Their
    number is found by bisection, such that every row stays on its side and the output of the tree
    does not change. Solvers with a tolerance leave such weights behind.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    share : float in [0, 1]; 0 removes nothing
    n_jobs : int
        Number of threads. It does not change the result.

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
    """Return a mask of the weights of a node to keep, given the deviations of their terms."""
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
    """Return the tree with weights of 1 or -1 and thresholds between rows in tests of one feature.

    The threshold is halfway between the values on the two sides of the test. If all rows are on one
    side, or there are none, only the scale of the weight changes.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    n_jobs : int
        Number of threads. It does not change the result.

    Returns
    -------
    Tree
        Rows have the same decision paths.
    """
    updates = {}
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        if len(indices) == 1:
            value = Bound.from_test(indices[0], weights[0], tree.threshold[node]).value
            updates[node] = ((indices, np.sign(weights)), np.sign(weights[0]) * value + 0.0)
    # The products with the new weights are exact, so that no row changes its side.
    tree = tree.with_splits(updates)
    for node, values, goes_left in _sides(tree, leaf_of_row, view, n_jobs):
        if goes_left.any() and not goes_left.all():
            middle = midpoint(values[goes_left].max(), values[~goes_left].min())
            updates[node] = (tree.split(node), middle)
    return tree.with_splits(updates)


def _sides(tree, leaf_of_row, view, n_jobs):
    """Yield, per test of one feature, the node, the products of its rows, and which go left."""
    rows_of = ReducedSets(tree, leaf_of_row)
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split = tree.split(node)
        if len(split[0]) == 1:
            values = project(view, rows_of[node], *split, n_jobs)
            yield node, values, values <= tree.threshold[node]


def at_values(tree, leaf_of_row, view, n_jobs=1):
    """Return the axis-aligned tree with thresholds at values of rows: the largest that goes left.

    A builder can have put them between two values, or at the value of a centre.

    Parameters
    ----------
    tree : Tree, each test of weight 1
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    n_jobs : int
        Number of threads. It does not change the result.

    Returns
    -------
    Tree
        Rows have the same decision paths.
    """
    updates = {
        node: (tree.split(node), values[goes_left].max())
        for node, values, goes_left in _sides(tree, leaf_of_row, view, n_jobs)
        if goes_left.any()
    }
    return tree.with_splits(updates)
