"""Convert a tree that tests the transformed columns of a pipeline to one that tests raw columns."""

import math

import numpy as np

from ..tree import Tree
from ..tree.conditions import largest_float_where
from .steps import UnsupportedStepError

_AT_ONCE = 63  # floats of which a step of scikit-learn computes the values in one call
_NARROW = 1e-6  # share of the distance to the next value, below which a range is due to rounding


def raw_tree(tree, columns, feature_of, n_features):
    """Return a tree with the same nodes that tests raw columns instead of transformed ones.

    A test of one column is converted exactly. Its new threshold is the largest raw number that goes
    left, or the smallest one if large raw numbers go left. Bisection finds this number; it applies
    the operations of the pipeline steps with the same rounding as `transform`. In a test of several
    columns, the weights are multiplied by the slopes of the columns, and the intercepts move into
    the threshold. The weighted sums therefore differ by rounding errors.

    Parameters
    ----------
    tree : Tree
    columns : list of Column, of length tree.n_features
        The transformed columns, as functions of their sources (raw columns or categories).
    feature_of : int array of shape (tree.n_features,)
        For each column, the feature of the new tree that is its source.
    n_features : int, number of features of the new tree

    Returns
    -------
    Tree, with the same nodes

    Raises
    ------
    UnsupportedStepError
        If a test of several columns uses one that is not an affine function of its source.
    """
    splits, thresholds = [None] * tree.n_nodes, tree.threshold.copy()
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        convert = _one_column if len(indices) == 1 else _several
        if len(indices):
            used, features = [columns[j] for j in indices], feature_of[indices]
            *splits[node], thresholds[node] = convert(used, features, weights, thresholds[node])
    nodes = tree.children_left, tree.children_right, splits, thresholds, tree.leaf_label
    return Tree.from_splits(*nodes, n_features, tree.leaf_value)


def _one_column(columns, features, weights, threshold):
    """Return raw feature, weight (1 or -1) and threshold of a test of one column, as arrays."""
    (column,), weight = columns, float(weights[0])

    def goes_left(x):
        return weight * column(x) <= threshold

    if column.source.is_category:
        zero, one = goes_left(0.0), goes_left(1.0)  # both may go to the same side
        sign, limit = (1.0, 1.5 if one else 0.5) if zero else (-1.0, -0.5 if one else -1.5)
    else:
        # If large raw numbers go left, the test is -x <= limit.
        sign = 1.0 if weight * column.slope > 0 else -1.0
        limit = largest_float_where(lambda x: goes_left(sign * x), _AT_ONCE)
    return features, [sign], limit


def _several(columns, features, weights, threshold):
    """Return raw features, weights and threshold of a test of several columns.

    The weights of columns with the same source are added.
    """
    if not all(column.is_affine for column in columns):
        raise UnsupportedStepError(
            "A test of the tree adds up several columns, and a step of the pipeline transforms one "
            "of them by a function that is not linear, so the sum cannot be expressed in the raw "
            "columns.",
            'Axis-aligned tests (split="axis") can be expressed in them.',
        )
    slopes = np.array([column.slope for column in columns])
    shifts = [w * c(0.0) for w, c in zip(weights.tolist(), columns, strict=True)]
    merged, place = np.unique(features, return_inverse=True)
    weights = np.bincount(place, weights * slopes)
    kept = weights != 0
    return merged[kept], weights[kept], threshold - math.fsum(shifts)


def raw_sides(tree, sides, raw, columns):
    """Convert the values next to the threshold of each test to raw units.

    Parameters
    ----------
    tree : Tree, which tests the transformed columns
    sides : float64 array of shape (n_nodes, 2), `split_sides_` of its model
    raw : Tree, the result of :func:`raw_tree`
    columns : list of Column

    Returns
    -------
    float64 array of shape (n_nodes, 2)
        Between its two values, no raw value of a fitted row is on the wrong side.
    """
    sides = np.array(sides, dtype=np.float64)
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        if len(indices) == 1:
            column = columns[indices[0]]
            pair = (0.0, 1.0) if column.source.is_category else _raw_pair(column, *sides[node])
            sides[node] = pair
        else:
            shifts = [w * columns[j](0.0) for w, j in zip(weights.tolist(), indices, strict=True)]
            sides[node] -= math.fsum(shifts)
    return sides


def _raw_pair(column, low, high):
    """Return raw values that a column maps to low and to high, in increasing order.

    A step may map a range of raw values to one. The raw value nearest to the other one is then
    taken or, if it differs by rounding only, one with fewer digits.
    """
    if not math.isfinite(high - low):  # no row is on one side, or its value is not defined
        return math.nan, math.nan
    sign = 1.0 if column.slope > 0 else -1.0
    last = largest_float_where(lambda x: column(sign * x) <= low, _AT_ONCE)
    below = largest_float_where(lambda x: column(sign * x) < high, _AT_ONCE)
    first = math.nextafter(below, math.inf)
    near = _NARROW * (first - last)
    return sorted(
        sign * _shortest(x, near, lambda y, z=z: column(sign * y) == z)
        for x, z in ((last, low), (first, high))
    )


def _shortest(number, near, holds):
    """Return the float of fewest digits near a number that satisfies a predicate."""
    shorter = (0.0, *(float(f"{number:.{digits}g}") for digits in range(1, 17)))
    return next((x for x in shorter if abs(x - number) <= near and holds(x)), number)


def raw_stds(tree, stds, raw, columns, feature_of):
    """Convert the standard deviations of the tested columns to raw units.

    If a column is not an affine function of its source, the width of the interval of one standard
    deviation to either side of the threshold is converted, and halved.

    Parameters
    ----------
    tree, columns, feature_of
        As for :func:`raw_tree`.
    stds : float array of shape (tree.n_nonzero,)
        Standard deviation of each tested column over the rows of its node, in the order of
        ``tree.split_weights``.
    raw : Tree, the result of :func:`raw_tree`

    Returns
    -------
    float array of shape (raw.n_nonzero,)
    """
    known = {}
    nodes = np.repeat(np.arange(tree.n_nodes), np.diff(tree.split_indptr))
    at = tree.threshold[nodes] / tree.split_weights
    for node, j, z, std in zip(nodes, tree.split_indices, at, stds, strict=True):
        # The converted values of columns with the same source differ only by rounding: keep one.
        known[node, feature_of[j]] = _raw_std(columns[j], z, std)
    raw_nodes = np.repeat(np.arange(raw.n_nodes), np.diff(raw.split_indptr))
    return np.array([known[at] for at in zip(raw_nodes, raw.split_indices, strict=True)])


def _raw_std(column, z, std):
    if column.is_affine:
        return std / abs(column.slope)
    below, above = column.inverse(np.array([z - std, z + std]))
    return abs(above - below) / 2


def raw_range(known, columns):
    """Convert the smallest and the largest fitted value of columns to raw units.

    A step such as Binarizer maps a whole range to one value. The raw range is then unknown, and the
    result is infinite.

    Parameters
    ----------
    known : float array of shape (2, n), smallest and largest value of each column
    columns : list of Column, of length n

    Returns
    -------
    float64 array of shape (2, n)
    """
    pairs = [
        (0.0, 1.0) if column.source.is_category else sorted(column.inverse(ends))
        for column, ends in zip(columns, known.T, strict=True)
    ]
    limits = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    nearest = np.round(limits)  # the inverse of the steps has rounding errors
    is_near = np.abs(limits - nearest) <= 1e-9 * (1 + np.abs(nearest))
    limits = np.where(is_near, nearest, limits)
    limits[:, (limits[0] == limits[1]) & (known[0] < known[1])] = [[-np.inf], [np.inf]]
    return limits
