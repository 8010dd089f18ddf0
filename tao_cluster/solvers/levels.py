"""The node solver for tests of one feature or of a set of levels of one categorical variable."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem.levels import Levels
from ..tree import Split
from ..tree.margins import TIE
from .base import NodeSolver


@dataclass(frozen=True)
class LevelSets(NodeSolver):
    """Axis-aligned solver that also tests sets of levels of categorical variables.

    At a node each row has a cost on either side. A level that costs less on the left goes left, so
    the best set is found exactly, without trying all of them.

    Parameters
    ----------
    levels : Levels
    solver : NodeSolver, exact, for the tests of one feature
    """

    levels: Levels
    solver: NodeSolver

    supports_weights = True
    supports_sparse = False
    deterministic = True
    split = "axis"
    is_exact = True

    def bind(self, X):
        """Find the level of each row; see :class:`BoundSolver`."""
        variables = [
            (variable, variable.level_of_row(X).astype(np.int16))
            for variable in self.levels.variables
        ]
        return _BoundLevelSets(X, self.solver.bind(X), variables)


@dataclass(frozen=True, eq=False)
class _BoundLevelSets:
    """The solver with the data of one fit.

    Parameters
    ----------
    X : array of shape (n, d)
    single : BoundSolver, for the tests of one feature
    variables : list of (Variable, int16 array of shape (n,))
        Each variable with the number of the level of each row.
    """

    X: Any
    single: Any
    variables: list

    def solve(self, problem):
        """Return the test of least loss and the status; see :class:`BoundSolver`.

        If losses are equal, the test of one feature is chosen, and then the set of the first
        variable. A set leaves enough rows on both sides; see `limit` of :class:`NodeProblem`.
        """
        best, status = self.single.solve(problem)
        steps = np.where(problem.goes_right, problem.weight, -problem.weight)
        noise = TIE * float(problem.weight.sum())
        rows = np.asarray(problem.rows)
        least = self._loss(best, rows, steps) + problem.price(best)
        size, every_row = problem.limit or (None, rows)
        features = problem.features
        for variable, level_of_row in self.variables:
            if features is not None and not np.isin(variable.columns, features).all():
                continue
            n_levels = variable.n_levels
            losses = np.bincount(level_of_row[rows], steps, n_levels + 1)
            units = None if size is None else size.units[every_row]
            sizes = np.bincount(level_of_row[every_row], units, n_levels + 1)
            goes_left = _best_sides(losses, sizes, 0.0 if size is None else size.least)
            if goes_left is None:
                continue
            goes_left = variable.shortest(goes_left, bool(sizes[-1] > 0))
            (indices, weights), threshold = variable.split(goes_left)
            split = Split(indices, weights, threshold)
            loss = float(losses[goes_left].sum()) + problem.price(split)
            if len(indices) and loss < least - noise:
                best, least = split, loss
        return best, status

    def _loss(self, split, rows, steps):
        """Return the summed steps of the rows that a test sends to the left.

        The step of a row is its cost on the left minus its cost on the right.
        """
        if len(split.indices) == 0:
            return float(steps.sum()) if split.threshold >= 0 else 0.0
        goes_left = self.X[rows, split.indices[0]] * split.weights[0] <= split.threshold
        return float(steps[goes_left].sum())


def _best_sides(losses, sizes, least):
    """Return which levels go left for the least loss: bool array of shape (n_levels + 1,), or None.

    If the levels of negative loss are too few or too many, levels change sides in the order of loss
    per unit of size, as in the relaxed knapsack problem (Dantzig 1957). The result is None if none
    of these sets leaves enough on both sides.

    Parameters
    ----------
    losses : float64 array of shape (n_levels + 1,)
        The loss of each level on the left minus its loss on the right.
    sizes : array of shape (n_levels + 1,)
        Size of each level at the node. Levels of size 0 go to the side on which all rows together
        cost less.
    least : float
        Minimum size of either side; 0 if there is none.
    """
    has_rows, total = sizes > 0, sizes.sum()
    goes_left = np.where(has_rows, losses < 0, losses.sum() < 0)
    left = sizes[goes_left].sum()
    if min(left, total - left) >= least:
        return goes_left
    order = np.flatnonzero(has_rows)
    order = order[np.argsort(losses[order] / sizes[order], kind="stable")]
    left = np.cumsum(sizes[order])
    is_allowed = np.minimum(left, total - left) >= least
    if not is_allowed.any():
        return None
    n_left = 1 + np.argmin(np.where(is_allowed, np.cumsum(losses[order]), np.inf))
    goes_left[order] = np.arange(len(order)) < n_left
    return goes_left
