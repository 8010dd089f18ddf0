"""Convert a tree on the columns of a pipeline to a tree on their sources, the raw columns."""

import math

import numpy as np

from .._utils.floats import largest_float_where
from ..tree import Tree


def raw_tree(tree, columns, feature_of, n_features):
    """Return the tree that tests the sources of the columns.

    A test of one column is converted exactly: bisection finds the last raw number that the
    arithmetic of the steps sends to the side of small numbers. In a test of several columns the
    weights are multiplied by the slopes of the columns, and the intercepts move into the
    threshold, so that sums differ by rounding.

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

    Raises
    ------
    ValueError
        If a test of several columns has one that is not an affine function of its source.
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
    """Return the weight, 1 or -1, and the threshold of the test on the source."""

    def goes_left(x):
        return weight * column(x) <= threshold

    if column.source.is_category:
        return _of_indicator(goes_left(0.0), goes_left(1.0))
    if weight * column.slope > 0:
        return 1.0, largest_float_where(goes_left)
    # Large numbers go left: the test is on the negative of the number.
    return -1.0, largest_float_where(lambda negative: goes_left(-negative))


def _of_indicator(zero_goes_left, one_goes_left):
    """Return the test of a 0/1 column; its threshold is outside if both values go one way."""
    if zero_goes_left:
        return 1.0, 1.5 if one_goes_left else 0.5
    return -1.0, -0.5 if one_goes_left else -1.5


def _several(columns, features, weights, threshold):
    """Return features, weights and threshold of a sum; weights of one source are added."""
    if not all(column.is_affine for column in columns):
        raise ValueError(
            "A test of the tree adds up several columns, and a step of the pipeline transforms one "
            "of them by a function that is not linear, so the sum cannot be expressed in the raw "
            'columns. Fit axis-aligned tests (split="axis"), or use the last step alone to show '
            "the tree in the columns that it was fitted to: pipeline[-1].to_text()."
        )
    slopes = np.array([column.slope for column in columns])
    shifts = [w * c(0.0) for w, c in zip(weights.tolist(), columns, strict=True)]
    merged, place = np.unique(features, return_inverse=True)
    weights = np.bincount(place, weights * slopes)
    kept = weights != 0
    return merged[kept], weights[kept], threshold - math.fsum(shifts)


def raw_gaps(tree, gaps, columns):
    """Convert the gaps around thresholds to the units of the raw columns.

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
        (j,), (weight,) = tree.split(node)
        if columns[j].source.is_category:
            gaps[node] = 0.5  # the threshold is half way between 0 and 1
        else:
            gaps[node] = min(columns[j].raw_distances(tree.threshold[node] / weight, gaps[node]))
    return gaps


def raw_stds(tree, stds, raw, columns, feature_of):
    """Convert the standard deviations of the columns at each test to the raw units.

    If a column is not affine, its standard deviation is converted at the threshold of the test.

    Parameters
    ----------
    tree, columns, feature_of
        As for :func:`raw_tree`.
    stds : float array of shape (tree.n_nonzero,)
        Standard deviation of each column at each test.
    raw : Tree, of the same nodes

    Returns
    -------
    float array of shape (raw.n_nonzero,)
    """
    nodes = np.repeat(np.arange(tree.n_nodes), np.diff(tree.split_indptr))
    at = tree.threshold[nodes] / tree.split_weights
    used = zip(tree.split_indices, at, stds, strict=True)
    converted = [sum(columns[j].raw_distances(z, std)) / 2 for j, z, std in used]
    features = feature_of[tree.split_indices]
    # Columns of one source differ by rounding only.
    known = dict(zip(zip(nodes, features, strict=True), converted, strict=True))
    raw_nodes = np.repeat(np.arange(raw.n_nodes), np.diff(raw.split_indptr))
    return np.array([known[at] for at in zip(raw_nodes, raw.split_indices, strict=True)])
