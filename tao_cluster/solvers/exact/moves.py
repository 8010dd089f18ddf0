"""A test in the making: its columns over the rows of a node, and the moves that change it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.tree import Split
from . import kernels
from .candidates import Slopes

_SWEEPS = 2
_MOST_ADDED = 4  # weights at a time
_NOISE = 1e-11  # of the summed weights of rows


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
        at = np.linspace(0, len(self.numbers) - 1, n_rows).astype(np.intp)
        some = replace(self, numbers=self.numbers[at], steps=self.steps[at])
        return some, some.size / self.size

    @cached_property
    def size(self):
        """Summed weight of the rows."""
        return float(np.abs(self.steps).sum())

    @cached_property
    def slopes(self):
        """Those of the features over some of the rows."""
        return Slopes.of(self.X, self.numbers)

    def constant_loss(self, split):
        """Loss of a test without features."""
        return float(self.steps.sum()) if split.threshold >= 0 else 0.0

    def columns(self, features):
        """Values of some features: float64 array of shape (k, m)."""
        if sp.issparse(self.X):
            part = self.X[self.numbers][:, features].toarray()
            return np.ascontiguousarray(part.T, dtype=np.float64)
        columns = np.empty((len(features), len(self.numbers)))
        for column, feature in zip(columns, features, strict=True):
            column[:] = self.X[self.numbers, feature]
        return columns


@dataclass(frozen=True, eq=False)
class Candidate:
    """A test and its loss.

    Parameters
    ----------
    rows : Rows
    features : int64 array of shape (k,), in any order
    weights : float64 array of shape (k,)
    threshold : float
    columns : float64 array of shape (k, m)
    loss : float, summed steps of the rows on the left; infinite if it is not known
    """

    rows: Rows
    features: np.ndarray
    weights: np.ndarray
    threshold: float
    columns: np.ndarray
    loss: float = np.inf

    @classmethod
    def of(cls, rows, split):
        """That of a split with features."""
        features = split.indices.astype(np.int64)
        return cls(rows, features, split.weights, split.threshold, rows.columns(features))

    @property
    def split(self):
        """The test as others read it."""
        order = np.argsort(self.features)
        indices, weights = self.features[order].astype(np.int32), self.weights[order]
        return Split(indices, weights, float(self.threshold))

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
        parts = (self.features[kept], weights[kept], threshold, columns, loss)
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
        rows, noise = self.rows, _NOISE * self.rows.size
        if np.minimum(rows.steps, 0.0).sum() >= below - noise:  # the least loss there can be
            return None
        values = self.weights @ self.columns
        features = rows.slopes.features(values, self.threshold, rows.steps)
        features = features[~np.isin(features, self.features)][:n_candidates]
        if len(features) == 0:
            return None
        columns = rows.columns(features)
        losses, weights = kernels.additions(values, columns, self.threshold, rows.steps)
        best = int(losses.argmin())
        if not losses[best] < below - noise or weights[best] == 0:
            return None
        return replace(
            self,
            features=np.append(self.features, features[best]),
            weights=np.append(self.weights, weights[best]),
            columns=np.vstack([self.columns, columns[best]]),
            loss=losses[best],
        )

    def _exchanged(self, n_candidates):
        """The test with another feature in the place of the one that is missed least, or None."""
        if len(self.weights) < 2:
            return None
        losses = kernels.removals(self.columns, self.weights, self.rows.steps)
        kept = np.arange(len(losses)) != losses.argmin()
        parts = {name: getattr(self, name)[kept] for name in ("features", "weights", "columns")}
        return replace(self, **parts)._added(self.loss, n_candidates)
