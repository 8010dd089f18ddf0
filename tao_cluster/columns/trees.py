"""A tree on the columns that a pipeline makes, as a tree on what they are made of."""

import math

import numpy as np

from .._utils.floats import largest_float_where
from ..tree import Tree


def raw_tree(tree, columns, feature_of, n_features):
    """The tree that tests the sources of the columns.

    A test of one column is passed on bit by bit: its threshold is the last number that the
    arithmetic of the steps still sends to the side of small numbers. In a test of several columns
    weights are multiplied by the slopes of the columns, and the intercepts go into the threshold:
    sums then differ by rounding.

    Parameters
    ----------
    tree : Tree
    columns : list of Column, of length tree.n_features
    feature_of : int array of shape (tree.n_features,)
        Position of each column's source among the features of the new tree.
    n_features : int

    Returns
    -------
    Tree, with the same nodes
    """
    splits, thresholds = [None] * tree.n_nodes, tree.threshold.copy()
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        threshold = float(tree.threshold[node])
        if len(indices) == 1:
            column = columns[indices[0]]
            weight, thresholds[node] = _one_column(column, float(weights[0]), threshold)
            splits[node] = feature_of[indices], [weight]
        elif len(indices):
            used = [columns[j] for j in indices]
            *splits[node], thresholds[node] = _several(
                used, feature_of[indices], weights, threshold
            )
    nodes = tree.children_left, tree.children_right, splits, thresholds, tree.leaf_label
    return Tree.from_splits(*nodes, n_features, tree.leaf_value)


def _one_column(column, weight, threshold):
    """Weight 1 or -1 and threshold of the test on the source."""

    def goes_left(x):
        return weight * column(x) <= threshold

    if column.source.is_category:
        return _of_indicator(goes_left(0.0), goes_left(1.0))
    if weight * column.slope > 0:
        return 1.0, largest_float_where(goes_left)
    # Left are the numbers from some one on: those whose negative is at most the threshold.
    return -1.0, largest_float_where(lambda negative: goes_left(-negative))


def _of_indicator(zero_goes_left, one_goes_left):
    """The test between 0 and 1; one that all values pass or fail lies outside."""
    if zero_goes_left:
        return 1.0, 1.5 if one_goes_left else 0.5
    return -1.0, -0.5 if one_goes_left else -1.5


def _several(columns, features, weights, threshold):
    """Features, weights and threshold of a sum; columns of one source are put together."""
    slopes = np.array([column.slope for column in columns])
    shifts = [w * c(0.0) for w, c in zip(weights.tolist(), columns, strict=True)]
    merged, place = np.unique(features, return_inverse=True)
    weights = np.bincount(place, weights * slopes)
    kept = weights != 0
    return merged[kept], weights[kept], threshold - math.fsum(shifts)


def raw_gaps(tree, gaps, columns):
    """Gaps of a raw tree, in units of its features, from those of the tree on the columns.

    Parameters
    ----------
    tree : Tree, on the columns
    gaps : float64 array of shape (n_nodes,), NaN where more or less than one feature is tested
    columns : list of Column

    Returns
    -------
    float64 array of shape (n_nodes,)
    """
    gaps = np.array(gaps, dtype=np.float64)
    for node in np.flatnonzero(~np.isnan(gaps)):
        column = columns[tree.split(node)[0][0]]
        # The test of a category lies half way between 0 and 1.
        gaps[node] = 0.5 if column.source.is_category else gaps[node] / abs(column.slope)
    return gaps


def raw_spreads(tree, spreads, raw, columns, feature_of):
    """Spreads of features at the nodes of a raw tree, from those of columns at the tree's.

    Parameters
    ----------
    tree, columns, feature_of
        As for :func:`raw_tree`.
    spreads : float array of shape (tree.n_nonzero,)
        Spread of each column at each test.
    raw : Tree, of the same nodes

    Returns
    -------
    float array of shape (raw.n_nonzero,)
    """
    nodes = np.repeat(np.arange(tree.n_nodes), np.diff(tree.split_indptr))
    slopes = np.array([abs(columns[j].slope) for j in tree.split_indices])
    features = feature_of[tree.split_indices]
    # Columns of one source differ by rounding only.
    known = dict(zip(zip(nodes, features, strict=True), spreads / slopes, strict=True))
    raw_nodes = np.repeat(np.arange(raw.n_nodes), np.diff(raw.split_indptr))
    return np.array([known[at] for at in zip(raw_nodes, raw.split_indices, strict=True)])
