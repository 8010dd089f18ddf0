"""The best test of one feature at a node, from as many rows of a fit as are worth coding."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse

from ..._utils.matrices import row_size, spaced_rows
from ..axis import Axis
from ..base import BoundSolver
from ..sparse_parts import columns_of_rows

_MOST_CODED, _MOST_ROWS = 5 * 10**6, 20_000  # values, and rows


@dataclass(frozen=True, eq=False)
class SingleFeatures:
    """Best cuts of single features, of all rows or of a sample.

    Parameters
    ----------
    axis : BoundSolver, result of Axis().bind
    place : int64 array of shape (n,), of each row in the sample, -1 if it is not there; or None
    """

    axis: BoundSolver
    place: np.ndarray | None

    @classmethod
    def of(cls, X):
        """Those of the rows of a fit."""
        most = min(_MOST_ROWS, max(1, int(_MOST_CODED // max(1, row_size(X)))))
        if X.shape[0] <= most:
            return cls(Axis().bind(X), None)
        rows = spaced_rows(X.shape[0], most)
        place = np.full(X.shape[0], -1, np.int64)
        place[rows] = np.arange(most)
        some = columns_of_rows(X, rows) if issparse(X) else X[rows]
        return cls(Axis().bind(some), place)

    def best(self, problem):
        """The test of one feature with the least loss on the rows there are; None without any."""
        rows, goes_right, weight = problem.rows, problem.goes_right, problem.weight
        if self.place is not None:
            rows = self.place[rows]
            is_here = rows >= 0
            rows, goes_right, weight = rows[is_here], goes_right[is_here], weight[is_here]
        if goes_right.all() or not goes_right.any():
            return None
        problem = replace(problem, rows=rows, goes_right=goes_right, weight=weight, strength=0.0)
        split, _ = self.axis.solve(problem)
        return split if len(split.indices) else None
