"""A tree found on standardised columns, in the units of the user's columns."""

import itertools

import numpy as np

from ..tree.reduced_sets import ReducedSets
from ..tree.routing import kernel_view, project
from ..tree.split import halfway

_ROUNDING = 16 * np.finfo(np.float64).eps  # of the terms of a sum


def in_units_of(tree, scaling, scaled, X, n_jobs=1):
    """The tree whose tests read columns as they are, by which rows take the same paths.

    Thresholds are set between the sums of the rows on their two sides, so that the rounding of
    either scale moves no row; where they were a row's value or halfway between two, they are so
    again.

    Parameters
    ----------
    tree : Tree, over `scaled`
    scaling : Scaling, which has made `scaled` of X
    scaled, X : arrays or CSR matrices of shape (n, d)
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree, over X
    """
    before, after = kernel_view(scaled), kernel_view(X)
    restored = scaling.unscaled_tree(tree)
    rows_of, updates = ReducedSets(tree, tree.route(before, n_jobs=n_jobs)), {}
    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows, split = rows_of[node], restored.split(node)
        goes_left = project(before, rows, *tree.split(node), n_jobs) <= tree.threshold[node]
        values = project(after, rows, *split, n_jobs)
        updates[node] = split, _between(restored.threshold[node], values, goes_left)
    return restored.with_splits(updates)


def _between(threshold, values, goes_left):
    """The threshold, moved by no more than rounding to part the values as they are to be."""
    low = values[goes_left].max() if goes_left.any() else -np.inf
    high = values[~goes_left].min() if not goes_left.all() else np.inf
    if not low < high:  # sums that are equal but for rounding
        return threshold
    if np.isfinite(low) and np.isfinite(high):
        noise = _ROUNDING * max(abs(low), abs(high))
        for exact in (low, halfway(low, high)):
            if abs(threshold - exact) <= noise:
                return exact
    return float(min(max(threshold, low), np.nextafter(high, -np.inf)))
