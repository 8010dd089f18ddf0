"""The minimum size of leaves (`min_samples_leaf`), and the removal of leaves that are smaller."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from .margins import TIE
from .tree import Split


@dataclass(frozen=True, eq=False)
class LeafSize:
    """The minimum size of the leaves of a tree: a number of rows, or a share of their weight.

    Parameters
    ----------
    units : float64 array of shape (n,)
        What each distinct row adds to the size of its leaf: the number of equal rows that it stands
        for or, if the minimum is a share, its weight.
    minimum : int or float
        The parameter `min_samples_leaf`: a number of rows if it is an int, else a share.
    """

    units: np.ndarray
    minimum: Any

    @classmethod
    def from_parameter(cls, min_samples_leaf, weight, counts):
        """Return the size for a value of `min_samples_leaf`, None if it allows all leaves.

        Parameters
        ----------
        min_samples_leaf : int or float
        weight, counts : float64 arrays of shape (n,)
            Weight of each distinct row, and the number of equal rows that it stands for.
        """
        if isinstance(min_samples_leaf, Integral):
            is_limited = min_samples_leaf > 1
            return cls(np.asarray(counts, np.float64), min_samples_leaf) if is_limited else None
        return cls(np.asarray(weight, np.float64), min_samples_leaf)

    @cached_property
    def least(self):
        """Minimum sum of `units` over the rows of a leaf, reduced by rounding errors of sums."""
        is_share = not isinstance(self.minimum, Integral)
        return (self.minimum * self.units.sum() if is_share else self.minimum) * (1 - TIE)

    def parameter(self, weight):
        """Return a value of `min_samples_leaf` for a builder that only knows the weights of rows.

        The builder counts each distinct row once, so that a number of rows is turned into a share
        if the weights are in proportion to the numbers of equal rows. Otherwise its trees may be
        smaller.
        """
        if np.allclose(self.units * weight.sum(), weight * self.units.sum(), rtol=TIE, atol=0.0):
            return float(min(self.least / self.units.sum(), 0.5))
        return self.minimum

    def part(self, rows, factors=1.0):
        """Return the size for some rows, whose units are multiplied by factors."""
        return LeafSize(self.units[rows] * factors, self.minimum)

    def with_copies(self, n_rows):
        """Return the size for `n_rows` rows, of which the further ones do not count."""
        units = np.zeros(n_rows)
        units[: len(self.units)] = self.units
        return LeafSize(units, self.minimum)

    def can_divide(self, rows):
        """Return whether some rows are enough for two leaves."""
        return self.units[rows].sum() >= 2 * self.least

    def is_met(self, rows, goes_left):
        """Return whether a test leaves enough of some rows on either side."""
        units = self.units[rows]
        return min(units[goes_left].sum(), units[~goes_left].sum()) >= self.least

    def thresholds(self, values, rows):
        """Return the range [low, high) of thresholds that leave enough rows on either side.

        The range is empty (low >= high) if there is no such threshold.

        Parameters
        ----------
        values : array of shape (m,), values of a feature
        rows : int64 array of shape (m,)
        """
        order = np.argsort(values, kind="stable")
        units = self.units[rows][order]
        n_low = np.searchsorted(np.cumsum(units), self.least)
        n_high = np.searchsorted(np.cumsum(units[::-1]), self.least)
        if max(n_low, n_high) >= len(order):
            return np.inf, -np.inf
        return values[order[n_low]], values[order[len(order) - 1 - n_high]]


def without_small_leaves(tree, rows, leaf_of_row, view, size, n_jobs=1):
    """Return the tree without the tests that leave too few rows on a side.

    Such a test sends all its rows to the side with more of them, and loses its features.

    Parameters
    ----------
    tree : Tree
    rows : int64 array of shape (m,)
    leaf_of_row : int array of shape (m,), the leaf of each of these rows
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`
    size : LeafSize or None
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    tree : Tree, with the same nodes
    leaf_of_row : int array of shape (m,)
        Both are the arguments themselves if no leaf is too small.
    """
    while size is not None:
        sizes = tree.node_counts(leaf_of_row, size.units[rows])
        updates = _unbalanced(tree, sizes, size.least)
        if not updates:
            break
        tree = tree.with_splits(updates)
        leaf_of_row = tree.route(view, rows, n_jobs=n_jobs)
    return tree, leaf_of_row


def with_leaf_size(tree, view, size, n_jobs=1):
    """Return the tree without leaves that are too small and without rows, and the leaf of each row.

    Parameters
    ----------
    tree, view, size, n_jobs
        As for :func:`without_small_leaves`, with all rows.
    """
    leaf_of_row = tree.route(view, n_jobs=n_jobs)
    rows = np.arange(len(leaf_of_row))
    full, leaf_of_row = without_small_leaves(tree, rows, leaf_of_row, view, size, n_jobs)
    if full is not tree:
        tree = full.prune(full.node_counts(leaf_of_row))
        leaf_of_row = tree.route(view, n_jobs=n_jobs)
    return tree, leaf_of_row


def _unbalanced(tree, sizes, least):
    """Return constant tests for the topmost nodes with a side that is too small.

    Parameters
    ----------
    tree : Tree
    sizes : float64 array of shape (n_nodes,)
    least : float

    Returns
    -------
    dict of node number to ((indices, weights), threshold)
    """
    updates, is_done = {}, sizes == 0
    for node in tree.decision_nodes:  # parents before children
        children = tree.children_left[node], tree.children_right[node]
        left, right = sizes[list(children)]
        if not is_done[node] and len(tree.split(node)[0]) and min(left, right) < least:
            constant = Split.constant(goes_left=left >= right)
            updates[node] = ((constant.indices, constant.weights), constant.threshold)
            is_done[node] = True
        is_done[list(children)] |= is_done[node]
    return updates
