"""Limits of the tests of a tree: columns, grids of thresholds, the first test, depth and counts."""

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import stored_by_rows
from .levels import Levels

_NEAR = 1e-3  # of a step: a threshold so close to a line of the grid is on it, up to rounding
_MOST_DECIMALS = 12


def fit_narrowed(method, problem):
    """Return the Result of a fit whose tests use only the columns that they may use."""
    narrow, restored = narrowed(problem)
    return restored(method.fit_tree(narrow))


def narrowed(problem):
    """Return a problem without the columns that no test may use, and how to undo that.

    Returns
    -------
    narrow : Problem
    restored : callable that turns a Result for `narrow` into one for `problem`
    """
    if problem.limits is None:
        return problem, lambda result: result
    narrow = problem.limits.narrowed(problem)
    return narrow, narrow.limits.restored


def depth_limit(limits):
    """Return the maximum depth of SplitLimits as a number; infinity for None or without one."""
    return np.inf if limits is None or limits.max_depth is None else limits.max_depth


class Grid(NamedTuple):
    """Multiples of a step in raw units, for a column of X.

    Parameters
    ----------
    step : float
    column : Column, optional
        How a pipeline computes the column from raw numbers; None if it is in raw units itself.
    """

    step: float
    column: Any = None

    def value(self, k):
        """Return the k-th multiple in the units of X; in raw units it is the shortest decimal."""
        decimals = -min(0, Decimal(repr(self.step)).as_tuple().exponent)
        raw = k * self.step
        raw = np.round(raw, decimals) if decimals <= _MOST_DECIMALS else raw
        return raw if self.column is None else self.column(raw)

    def raw(self, values):
        """Return values of X in raw units, up to rounding."""
        return values if self.column is None else self.column.inverse(values)

    def cell(self, values):
        """Return the number of the largest multiple that is at most each value: float array."""
        values = np.asarray(values, dtype=np.float64)
        k = np.floor(self.raw(values) / self.step)
        k -= self.value(k) > values
        return k + (self.value(k + 1) <= values)


@dataclass(frozen=True, eq=False)
class SplitLimits:
    """The :class:`.Constraints` of a fit for the columns of X.

    Parameters
    ----------
    group : int array of shape (d,), number of the user's column that each column of X belongs to
    tested : bool array of shape (d,), whether tests may use each column
    grids : dict of Grid by column of X
    first : int, optional; the user's column that the first test uses alone
    max_depth : int, optional
    max_tests : int, optional; maximum number of tests that use the same user's column
    places : int array, optional
        After :meth:`narrowed`, the columns of the user's X; `n_features` is their number before.
    """

    group: np.ndarray
    tested: np.ndarray
    grids: dict
    first: int | None = None
    max_depth: int | None = None
    max_tests: int | None = None
    places: np.ndarray | None = None
    n_features: int = 0

    # ------------------------------------------------------------------ columns

    def narrowed(self, problem):
        """Return the problem whose X has only the columns that may be tested."""
        if self.tested.all():
            return problem
        places = np.flatnonzero(self.tested)
        terms = {"places": places, "n_features": len(self.group)}
        limits = replace(self, group=self.group[places], tested=self.tested[places], **terms)
        levels, at = problem.levels, np.cumsum(self.tested) - 1
        if levels is not None:
            kept = [each for each in levels.variables if self.tested[each.columns].all()]
            kept = tuple(replace(each, columns=at[each.columns]) for each in kept)
            levels = Levels(kept) if kept else None
        X = stored_by_rows(problem.X[:, places])
        return replace(problem, X=X, limits=limits, levels=levels)

    def narrowed_tree(self, tree):
        """Return an initial tree over the user's columns as a tree over the columns of X."""
        if self.places is None or tree.n_features != self.n_features:
            return tree
        at = np.full(self.n_features, -1)
        at[self.places] = np.arange(len(self.places))
        if (at[tree.used_features] < 0).any():
            raise ValueError("The initial tree tests columns that the constraints do not allow.")
        return replace(tree, split_indices=at[tree.split_indices], n_features=len(self.places))

    def restored(self, result):
        """Return the Result of a fit to a narrowed problem with a tree over the user's columns."""
        if self.places is None:
            return result
        indices = self.places[result.tree.split_indices]
        tree = replace(result.tree, split_indices=indices, n_features=self.n_features)
        return replace(result, tree=tree)

    def widened(self, columns):
        """Return the limits for X with further columns, which belong to the given columns."""
        group, tested = (np.append(part, part[columns]) for part in (self.group, self.tested))
        return replace(self, group=group, tested=tested)

    # ------------------------------------------------------------------ grids

    def on_lines(self, X):
        """Return X with the values of columns with a grid rounded down to its lines.

        A tree over this matrix can have thresholds between two lines, but divides the rows as one
        whose thresholds are lines; see :meth:`on_grid`.
        """
        if not self.grids:
            return X
        X = X.copy()
        for j, grid in self.grids.items():
            at = np.flatnonzero(X.indices == j) if sp.issparse(X) else (slice(None), j)
            values = X.data if sp.issparse(X) else X
            values[at] = grid.value(grid.cell(values[at]))
        if sp.issparse(X):
            X.eliminate_zeros()
        return X

    def on_grid(self, tree):
        """Return the tree with thresholds on the grids, as tests ``-x <= -line``: x >= line."""
        updates, swapped = {}, np.zeros(tree.n_nodes, dtype=bool)
        for node in tree.decision_nodes:
            (indices, weights), threshold = tree.split(node), tree.threshold[node]
            grid = self.grids.get(indices[0]) if len(indices) == 1 else None
            if grid is not None:
                bound = grid.raw(threshold / weights[0]) / grid.step
                swapped[node] = weights[0] > 0
                # The rows at a threshold are below it for x <= t, and above it for -x <= -t.
                k = np.floor(bound + _NEAR) + 1 if swapped[node] else np.ceil(bound - _NEAR)
                updates[node] = (indices, [-1.0]), -float(grid.value(k)) + 0.0
        left, right = tree.children_left, tree.children_right
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        return replace(tree.with_splits(updates), children_left=left, children_right=right)

    # ------------------------------------------------------------------ structure

    @property
    def are_structural(self):
        """Whether the first test, the depth or numbers of tests are limited."""
        return not self.first is self.max_depth is self.max_tests is None

    @property
    def rules(self):
        """The limits as :mod:`tao_cluster.optimize.axis_kernels` takes them."""
        most = np.iinfo(np.int32).max if self.max_tests is None else self.max_tests
        required = -1 if self.first is None else self.first
        return self.group if self.are_structural else self.group[:0], required, most

    @property
    def first_columns(self):
        """The columns of X that the first test may use: int array."""
        return np.flatnonzero(self.group == self.first)

    def users(self, indices):
        """Return the numbers of the user's columns behind the columns of a test: set of int."""
        return set(self.group[indices].tolist())

    def keeps_root(self, tree):
        """Return whether the first test of a tree cannot be removed alone."""
        return self.first is not None and tree.n_leaves > 2

    def has_first(self, tree, counts):
        """Return whether the first test uses its column alone, with rows on both sides."""
        if self.first is None or tree.n_leaves == 1:
            return True
        sides = counts[[tree.children_left[0], tree.children_right[0]]]
        return bool(self.users(tree.split(0)[0]) == {self.first} and sides.all())

    def are_met(self, tree, counts):
        """Return whether a tree keeps the limits; `counts` is the size of each node."""
        if self.max_depth is not None and tree.max_depth > self.max_depth:
            return False
        if not self.has_first(tree, counts):
            return False
        tests = (self.users(tree.split(node)[0]) for node in tree.decision_nodes)
        uses = Counter(user for test in tests for user in test)
        return self.max_tests is None or max(uses.values(), default=0) <= self.max_tests

    def columns_at(self, splits, nodes):
        """Return the columns that new tests of nodes may use: dict of int array by node.

        Nodes that may use all columns are left out. A node may use the columns of its test again;
        the tests of a column that are left go to the first nodes.

        Parameters
        ----------
        splits : dict of Split, by decision node
        nodes : list of int, nodes of one depth
        """
        found = {}
        if self.max_tests is not None:
            own = {node: self.users(split.indices) for node, split in splits.items()}
            uses = Counter(user for test in own.values() for user in test)
            for node in nodes:
                free = {user for user in set(self.group) if uses[user] < self.max_tests}
                uses.update(free - own[node])
                found[node] = np.flatnonzero(np.isin(self.group, list(free | own[node])))
        if self.first is not None and 0 in nodes:
            found[0] = self.first_columns
        return {node: each for node, each in found.items() if len(each) < len(self.group)}

    def columns_alike(self, node, feature):
        """Return the columns to which a test of one feature may move; None stands for all."""
        is_free = self.max_tests is None and (node > 0 or self.first is None)
        return None if is_free else np.flatnonzero(self.group == self.group[feature])
