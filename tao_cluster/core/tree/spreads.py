"""How much the features of a test vary over the rows that meet it."""

import itertools

import numpy as np

from ..routing import project
from .reduced_sets import ReducedSets

_DIGITS = 9  # kept: the last ones depend on the order of the rows, which must not rank features


def split_spreads(tree, view, leaf_of_row, weight=None, n_jobs=1):
    """Standard deviation of every feature of every test over the rows of the node.

    Parameters
    ----------
    tree : Tree
    view : result of :func:`tao_cluster.core.routing.kernel_view`
    leaf_of_row : int array of shape (n,), the leaf that each row reaches
    weight : float64 array of shape (n,), optional
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    float64 array of shape (n_nonzero,), beside `tree.split_weights`; NaN at nodes without rows

    Notes
    -----
    One feature after another: memory beside X is a few numbers a row of the node.
    """
    weight = np.ones(len(leaf_of_row)) if weight is None else weight
    spreads = np.full(tree.n_nonzero, np.nan)
    for node, rows in _reached(tree, leaf_of_row, weight):
        first = tree.split_indptr[node]
        for i, feature in enumerate(tree.split(node)[0]):
            values = project(view, rows, np.array([feature]), np.ones(1), n_jobs)
            spreads[first + i] = _deviation(values, weight[rows])
    return spreads


def split_gaps(tree, view, leaf_of_row, weight, n_jobs=1):
    """How far above the threshold of a test of one feature the nearest row on its right lies.

    By less than that a threshold may be raised without moving a row, so that people can be shown
    a rounder number. Parameters as for :func:`split_spreads`.

    Returns
    -------
    float64 array of shape (n_nodes,), in units of the feature; NaN at other nodes, and where no
    row goes right
    """
    gaps = np.full(tree.n_nodes, np.nan)
    for node, rows in _reached(tree, leaf_of_row, weight):
        indices, weights = tree.split(node)
        if len(indices) == 1:
            sums = project(view, rows, indices, weights, n_jobs)
            above = sums[sums > tree.threshold[node]]
            if len(above):
                gaps[node] = (above.min() - tree.threshold[node]) / abs(weights[0])
    return gaps


def _reached(tree, leaf_of_row, weight):
    """Yield the tests that rows of positive weight reach, with these rows."""
    rows_of = ReducedSets(tree, leaf_of_row)
    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows = rows_of[node]
        rows = rows[weight[rows] > 0]
        if len(rows):
            yield node, rows


def _deviation(values, weight):
    """Weighted standard deviation, exactly 0 for equal values."""
    values = values - values[0]
    scale = np.abs(values).max()
    if scale == 0:
        return 0.0
    values /= scale  # no square overflows
    values -= np.average(values, weights=weight)
    return float(f"{scale * np.sqrt(np.average(values**2, weights=weight)):.{_DIGITS}g}")
