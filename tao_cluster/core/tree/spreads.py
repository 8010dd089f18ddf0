"""How much the features of a test vary over the rows that meet it."""

import itertools

import numpy as np

from ..routing import gather, project
from ..threads import map_in_threads, n_threads
from .reduced_sets import ReducedSets

_PART_VALUES = 200_000  # worked on at a time
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
    """
    weight = np.ones(len(leaf_of_row)) if weight is None else weight
    spreads = np.full(tree.n_nonzero, np.nan)
    for node, rows in _reached(tree, leaf_of_row, weight):
        first, stop = tree.split_indptr[node : node + 2]
        spreads[first:stop] = deviations(view, rows, tree.split(node)[0], weight[rows], n_jobs)
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


def deviations(view, rows, indices, weight, n_jobs=1):
    """Standard deviation of some features over some rows, exactly 0 for equal values.

    Parameters
    ----------
    view : result of :func:`tao_cluster.core.routing.kernel_view`
    rows : int64 array of shape (m,), at least one
    indices : int32 array of shape (s,)
    weight : float64 array of shape (m,), positive
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    float64 array of shape (s,)
    """
    if len(indices) == 0:
        return np.empty(0)
    first = gather(view, rows[:1], indices)
    step = -(-_PART_VALUES // len(indices))
    parts = [slice(start, start + step) for start in range(0, len(rows), step)]

    def moments(part):
        """Largest value, mean and squares about it, over that value: no square overflows."""
        values, shares = gather(view, rows[part], indices) - first, weight[part] / total
        scale = np.abs(values).max(axis=0)
        values /= np.where(scale > 0, scale, 1.0)
        mean = shares @ values / shares.sum()
        values -= mean
        return scale, mean, shares @ values**2, np.full(len(scale), shares.sum())

    total = weight.sum()
    found = map_in_threads(moments, parts, n_threads(n_jobs, len(rows)))
    scales, means, squares, shares = np.array(found).transpose(1, 0, 2)
    scale = scales.max(axis=0)
    ratio = scales / np.where(scale > 0, scale, 1.0)
    means *= ratio
    variance = (squares * ratio**2 + shares * (means - (shares * means).sum(axis=0)) ** 2).sum(
        axis=0
    )
    return np.array([float(f"{value:.{_DIGITS}g}") for value in scale * np.sqrt(variance)])
