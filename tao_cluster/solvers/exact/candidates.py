"""Features by the slope of a smoothed loss: which ones a test may want."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from ..._utils.matrices import spaced_rows

_MOST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Slopes:
    """Some rows of a node, with all columns.

    Parameters
    ----------
    X : array of shape (m, d), of columns of mean 0, or CSR matrix
    squares : X * X
    at : int array of shape (m,), places of the rows in their node
    """

    X: Any
    squares: Any
    at: np.ndarray

    @classmethod
    def of(cls, X, numbers):
        """A sample of rows of X, evenly over their order."""
        at = spaced_rows(len(numbers), _MOST_ROWS)
        some = X[numbers[at]]
        if not sp.issparse(some):
            some -= some.mean(axis=0)  # the threshold is free
        with np.errstate(over="ignore"):  # such a column is not told apart: it has no slope
            return cls(some, some.multiply(some) if sp.issparse(some) else some * some, at)

    def features(self, values, threshold, steps, most):
        """Features by how fast a small weight would lower a smoothed loss, the first `most`.

        The logistic loss with the scale of the rows on the wrong side: its slope along a feature
        over the root of its curvature, with the threshold free (a score test).

        Parameters
        ----------
        values : float64 array, w.x of all rows of the node
        threshold : float
        steps : float64 array, what it costs to have a row on the left
        most : int

        Returns
        -------
        int array of features; none if no row is on the wrong side
        """
        steps, room = steps[self.at], values[self.at] - threshold
        weight, margin = np.abs(steps), np.where(steps > 0, room, -room)
        is_wrong = (margin < 0) | ((margin == 0) & (steps > 0))
        if not is_wrong.any():
            return np.empty(0, np.intp)
        scale = weight[is_wrong] @ np.abs(margin[is_wrong]) / weight[is_wrong].sum()
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            share = expit(-margin / scale) if scale > 0 else np.full(len(steps), 0.5)
            curvature = weight * share * (1.0 - share)
            slope = np.sign(steps) * weight * share
            slope -= curvature * (slope.sum() / curvature.sum())
            gain = self._score(slope / weight.sum(), curvature / curvature.sum())
        found = np.flatnonzero(gain > 0)
        if len(found) > most:  # wide data have many, of which few are asked for
            found = found[gain[found] >= np.partition(gain[found], -most)[-most]]
        return found[np.argsort(-gain[found], kind="stable")][:most]

    def _score(self, slope, curvature):
        """Squared slopes over curvatures, in the precision of X: they only make an order."""
        terms = np.column_stack([slope, curvature]).astype(self.X.dtype)
        slopes, means = (self.X.T @ terms).T
        spread = self.squares.T @ terms[:, 1] - means * means
        gain = slopes * slopes
        return np.divide(gain, spread, out=np.zeros_like(gain), where=spread > 0)
