"""A test in the making: its columns over the rows of a node, and the moves that change it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.matrices import row_size, spaced_rows
from ...tree import Split
from . import kernels
from .candidates import Slopes

_SWEEPS = 2
_BY_FEATURE = ("features", "weights", "columns", "origin")
_MOST_ADDED = 4  # weights at a time
_MEDIAN_ROWS = 256  # of which a median is taken
_BLOCK_VALUES = 200_000  # stored values of sparse rows that are copied at a time
_NOISE = 1e-9  # of the summed weights of rows: what losses may differ by and be the same


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a node that care where they go.

    Parameters
    ----------
    X : array or CSR matrix, all rows of the fit
    numbers : int64 array of shape (m,), rows of X
    steps : float64 array of shape (m,), what it costs to have a row on the left, not on the right
    """

    X: Any
    numbers: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, X, problem):
        """Those of a NodeProblem."""
        steps = np.where(problem.goes_right, problem.weight, -problem.weight)
        return cls(X, np.asarray(problem.rows, dtype=np.int64), steps)

    def sample(self, n_rows):
        """Some of the rows, evenly over their order, and their share of the weight."""
        at = spaced_rows(len(self.numbers), n_rows)
        some = replace(self, numbers=self.numbers[at], steps=self.steps[at])
        return some, some.size / self.size

    @cached_property
    def size(self):
        """Summed weight of the rows."""
        return float(np.abs(self.steps).sum())

    @property
    def noise(self):
        """What losses may differ by through the rounding of sums."""
        return _NOISE * self.size

    def least(self, losses):
        """Position of the least loss, the first of those that are the same."""
        return int(np.argmax(losses <= losses.min() + self.noise))

    @cached_property
    def slopes(self):
        """Those of the features over some of the rows."""
        return Slopes.of(self.X, self.numbers)

    def constant_loss(self, split):
        """Loss of a test without features."""
        return float(self.steps.sum()) if split.threshold >= 0 else 0.0

    def columns(self, features):
        """Values of some features beyond about their medians (k, m), and these (k,).

        A weight is changed while the threshold stays: far from 0 that would move all rows at once.
        """
        some = spaced_rows(len(self.numbers), _MEDIAN_ROWS)
        columns, origin = np.empty((len(features), len(self.numbers))), np.empty(len(features))
        is_sparse = sp.issparse(self.X)
        if is_sparse:
            self._fill(columns, features)
        for j, feature in enumerate(features):
            values = columns[j] if is_sparse else self.X[self.numbers, feature]
            origin[j] = np.partition(values[some], len(some) // 2)[len(some) // 2]
            np.subtract(values, origin[j], out=columns[j])
        return columns, origin

    def _fill(self, columns, features):
        """Some features of sparse rows, by blocks: a copy of rows has all their other features."""
        numbers, step = self.numbers, max(1, int(_BLOCK_VALUES / max(row_size(self.X), 1)))
        for start in range(0, len(numbers), step):
            part = slice(start, start + step)
            columns[:, part] = self.X[numbers[part]][:, features].toarray().T


@dataclass(frozen=True, eq=False)
class Candidate:
    """A test and its loss.

    Parameters
    ----------
    rows : Rows
    features : int64 array of shape (k,), in any order
    weights : float64 array of shape (k,)
    threshold : float, of columns beyond their origin
    columns : float64 array of shape (k, m)
    origin : float64 array of shape (k,)
    loss : float, summed steps of the rows on the left; infinite if it is not known
    """

    rows: Rows
    features: np.ndarray
    weights: np.ndarray
    threshold: float
    columns: np.ndarray
    origin: np.ndarray
    loss: float = np.inf

    @classmethod
    def of(cls, rows, split):
        """That of a split with features."""
        features = split.indices.astype(np.int64)
        columns, origin = rows.columns(features)
        threshold = split.threshold - split.weights @ origin
        return cls(rows, features, split.weights, threshold, columns, origin)

    @property
    def split(self):
        """The test as others read it."""
        order = np.argsort(self.features)
        indices, weights = self.features[order].astype(np.int32), self.weights[order]
        return Split(indices, weights, float(self.threshold + self.weights @ self.origin))

    def over(self, rows):
        """The same test over other rows."""
        return type(self).of(rows, self.split)

    def improved(self, price, n_sweeps=_SWEEPS):
        """Weights changed and removed while that pays; see :func:`.kernels.improve`."""
        weights = self.weights.copy()
        terms = (self.columns, weights, self.threshold, self.rows.steps, price, n_sweeps)
        threshold, loss = kernels.improve(*terms)
        kept, columns = np.flatnonzero(weights), self.columns
        if len(kept) < len(weights):  # else there is no need of a copy
            columns = columns[kept]
        parts = (self.features[kept], weights[kept], threshold, columns, self.origin[kept], loss)
        return type(self)(self.rows, *parts)

    def descended(self, price, n_candidates):
        """Weights changed, removed, added and exchanged while that pays."""
        found = self.improved(price)
        for _ in range(_MOST_ADDED):
            other = found._added(found.loss - price, n_candidates) or found._exchanged(n_candidates)
            if other is None:
                break
            found = other.improved(price)
        return found

    def _added(self, below, n_candidates):
        """The test with the feature added that helps most, or None if its loss is not `below`."""
        rows, noise = self.rows, self.rows.noise
        if np.minimum(rows.steps, 0.0).sum() >= below - noise:  # the least loss there can be
            return None
        values = self.weights @ self.columns
        most = n_candidates + len(self.features)
        features = rows.slopes.features(values, self.threshold, rows.steps, most)
        features = features[~np.isin(features, self.features)][:n_candidates]
        if len(features) == 0:
            return None
        columns, origin = rows.columns(features)
        losses, weights = kernels.additions(values, columns, self.threshold, rows.steps)
        best = rows.least(losses)
        if not losses[best] < below - noise or weights[best] == 0:
            return None
        return replace(
            self,
            features=np.append(self.features, features[best]),
            weights=np.append(self.weights, weights[best]),
            columns=np.vstack([self.columns, columns[best]]),
            origin=np.append(self.origin, origin[best]),
            loss=losses[best],
        )

    def _exchanged(self, n_candidates):
        """The test with another feature in the place of the one that is missed least, or None."""
        if len(self.weights) < 2:
            return None
        losses = kernels.removals(self.columns, self.weights, self.rows.steps)
        kept = np.arange(len(losses)) != self.rows.least(losses)
        parts = {name: getattr(self, name)[kept] for name in _BY_FEATURE}
        return replace(self, **parts)._added(self.loss, n_candidates)
