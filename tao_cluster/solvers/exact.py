"""Node solver that minimises the weighted 0/1 loss plus a penalty per parameter directly."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from .._utils.jit import jit
from .._utils.matrices import first_least, spaced_rows
from .._utils.options import Part
from ..tree import Split
from ..tree.margins import TIE, with_widest_gap
from ..tree.routing import kernel_arrays, project
from ..tree.tree import midpoint
from .axis import BinnedColumns
from .base import NodeSolver, Status
from .thresholds import best_threshold, least_sum

# Numbers of rows in two samples of the rows of a large node. A test is found on the first sample,
# and its weights are improved on the second one. All rows of the node then give its threshold and
# its loss.
_FEW_ROWS, _MANY_ROWS = 4000, 16_000

_SWEEPS = 2
_MOST_ADDED = 4  # maximum number of weights that are added or exchanged, one after the other
_SLOPE_ROWS = 1000  # number of sampled rows on which features are ranked by slopes of the loss
_MEDIAN_ROWS = 256  # number of sampled rows from which medians of columns are computed


@dataclass(frozen=True)
class Exact(Part, NodeSolver):
    """Coordinate descent on the weighted 0/1 loss plus a penalty per parameter.

    The logistic loss is only a surrogate for the loss that a tree minimises. As a function of one
    weight, with the others fixed, the true loss is piecewise constant with one breakpoint per row.
    Its minimum is found by sorting the breakpoints. At a node, three kinds of tests compete: the
    current test after weights were changed, removed, added and exchanged one at a time; a good cut
    of one feature, improved in the same way; and the constant tests, which also save the parameters
    of a subtree. The method is ours.

    Parameters
    ----------
    n_candidates : int, default=16
        Number of features that are tried when one is added: those along which a smoothed loss falls
        fastest.

    Notes
    -----
    The cut of one feature is the best one between at most 256 bins of its values. In a node of more
    than 8000 rows, tests are found on a sample of 4000 rows and improved on a sample of 16 000. All
    rows then determine the threshold, and decide between the tests.

    Memory: one byte for each of at most 5e6 values of X (three bytes if X is sparse). In addition,
    8 bytes per row of a node for each weight of its test.
    """

    n_candidates: int = 16
    supports_weights = True
    supports_sparse = True
    deterministic = True
    is_exact = True

    def bind(self, X):
        """Put the values of a sample of the rows of X into bins; see :class:`BoundSolver`."""
        return BoundExact(self.n_candidates, X, kernel_arrays(X), BinnedColumns.from_matrix(X))


@dataclass(frozen=True)
class BoundExact:
    """The solver :class:`Exact` with the data of one fit.

    Parameters
    ----------
    n_candidates : int
        Number of features that are tried when one is added.
    X : array or CSR matrix
    view : result of ``tao_cluster.tree.routing.kernel_arrays`` for X
    columns : BinnedColumns
        Values of X in bins, for cuts of one feature.
    """

    n_candidates: int
    X: Any
    view: Any
    columns: BinnedColumns

    def solve(self, problem):
        """Return the test of least 0/1 loss plus penalty; see :class:`BoundSolver`.

        `problem.strength` is the penalty per parameter. Among equally good tests, one that sends
        all rows to one side is preferred, then the one that was improved from the warm start. A
        test of one feature is the one with the widest margin; see :mod:`tao_cluster.tree.margins`.
        """
        rows = Rows.from_problem(self.X, problem)
        found = [(rows.constant_loss(side) + problem.price(side), side) for side in _SIDES]
        old = _on_features(problem.warm_start, problem.features)
        if len(old.indices):
            found.append(self._descended(rows, problem, old))
        least = min(score for score, _ in found)
        cut = self.columns.best_cut(rows.numbers, rows.steps, problem.features)
        if cut is not None and self._loss(rows, cut) + problem.price(cut) < least - rows.noise:
            found.append(self._descended(rows, problem, cut))
        scores, tests = zip(*found, strict=True)
        best = tests[rows.least(np.array(scores))]
        terms = (np.abs(rows.steps), problem.features)
        return with_widest_gap(self.view, rows.numbers, best, *terms), Status()

    def _loss(self, rows, split):
        values = project(self.view, rows.numbers, split.indices, split.weights)
        return rows.steps[values <= split.threshold].sum()

    def _descended(self, rows, problem, split):
        """Improve a test by coordinate descent; return its score (loss plus penalty) and the test.

        Large nodes are represented by samples of their rows.
        """
        found, price, n_rows = split, problem.strength, len(rows.numbers)
        if n_rows > 2 * _FEW_ROWS:
            some, share = rows.sample(_FEW_ROWS)
            found = (
                Candidate.from_split(some, found).descended(price * share, self.n_candidates).split
            )
            many, share = rows.sample(min(n_rows, _MANY_ROWS))
            found = Candidate.from_split(many, found).improved(price * share, n_sweeps=1).split
        else:
            found = Candidate.from_split(rows, found).descended(price, self.n_candidates).split
        if n_rows > _MANY_ROWS:
            values = project(self.view, rows.numbers, found.indices, found.weights)
            threshold, _ = best_threshold(values, rows.steps, found.threshold)
            found = replace(found, threshold=threshold)
        # The values w.x are computed as for routing, so that the loss counts the sides correctly.
        return self._loss(rows, found) + problem.price(found), found


_SIDES = (Split.constant(goes_left=False), Split.constant(goes_left=True))


def _on_features(split, features):
    """Return a split without weights on features outside of `features`; None stands for all."""
    if features is None:
        return split
    kept = np.isin(split.indices, features)
    return replace(split, indices=split.indices[kept], weights=split.weights[kept])


# ---------------------------------------------------------------- a test and its rows


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a node, with the difference in cost between the two sides for each row.

    Parameters
    ----------
    X : array or CSR matrix, all rows of the fit
    numbers : int64 array of shape (m,), rows of X
    steps : float64 array of shape (m,)
        Cost of each row on the left minus its cost on the right.
    features : int array, optional
        Features that may get a weight; None stands for all.
    max_features : int, optional
        No feature is added to a test that has this number.
    """

    X: Any
    numbers: np.ndarray
    steps: np.ndarray
    features: np.ndarray | None = None
    max_features: int | None = None

    @classmethod
    def from_problem(cls, X, problem):
        """Return the rows of a NodeProblem."""
        steps = np.where(problem.goes_right, problem.weight, -problem.weight)
        limits = (problem.features, problem.max_features)
        return cls(X, np.asarray(problem.rows, dtype=np.int64), steps, *limits)

    def sample(self, n_rows):
        """Return `n_rows` of the rows, evenly spaced in their order, and their share of the total.

        The total is the sum of the absolute cost differences of all rows.
        """
        at = spaced_rows(len(self.numbers), n_rows)
        some = replace(self, numbers=self.numbers[at], steps=self.steps[at])
        return some, some.size / self.size

    @cached_property
    def size(self):
        """Sum of the absolute cost differences of the rows."""
        return float(np.abs(self.steps).sum())

    @property
    def noise(self):
        """Largest difference of two losses that rounding errors of sums can cause."""
        return TIE * self.size

    def least(self, losses):
        """Return the position of the least loss.

        If several losses are equal up to rounding errors, it is the position of the first one.
        """
        return first_least(losses, self.noise)

    def constant_loss(self, split):
        """Return the loss of a test without features: 0 if it sends all rows to the right."""
        return float(self.steps.sum()) if split.threshold >= 0 else 0.0

    @cached_property
    def slopes(self):
        """Sample of the rows that ranks features by the slopes of a smoothed loss."""
        return Slopes.from_rows(self)

    def columns(self, features):
        """Return k features of all m rows minus approximate medians, and these medians.

        The shapes are (k, m) and (k,). The medians are subtracted because a weight is optimised for
        a fixed threshold. If all values of a column were far from 0, a change of its weight would
        send all rows to the same side.
        """
        columns = np.empty((len(features), len(self.numbers)))
        if sp.issparse(self.X):
            columns[:] = self.X[self.numbers][:, features].toarray().T
        else:
            for column, feature in zip(columns, features, strict=True):
                column[:] = self.X[self.numbers, feature]
        some = columns[:, spaced_rows(len(self.numbers), _MEDIAN_ROWS)]
        middle = some.shape[1] // 2
        origin = np.partition(some, middle, axis=1)[:, middle].copy()
        columns -= origin[:, None]
        return columns, origin


@dataclass(frozen=True, eq=False)
class Candidate:
    """A test, the values of its features in the rows of a node, and its loss.

    Parameters
    ----------
    rows : Rows
    features : int64 array of shape (k,), in any order
    weights : float64 array of shape (k,)
    threshold : float, threshold for the weighted sum of `columns`
    columns : float64 array of shape (k, m), values of the features minus `origin`
    origin : float64 array of shape (k,), approximate median of each feature
    loss : float
        Summed cost differences of the rows on the left; infinite if it is not known.
    """

    rows: Rows
    features: np.ndarray
    weights: np.ndarray
    threshold: float
    columns: np.ndarray
    origin: np.ndarray
    loss: float = np.inf

    @classmethod
    def from_split(cls, rows, split):
        """Return the candidate for a split with features."""
        features = split.indices.astype(np.int64)
        columns, origin = rows.columns(features)
        threshold = split.threshold - split.weights @ origin
        return cls(rows, features, split.weights, threshold, columns, origin)

    @property
    def split(self):
        """Return the test as a Split."""
        order = np.argsort(self.features)
        indices, weights = self.features[order].astype(np.int32), self.weights[order]
        return Split(indices, weights, float(self.threshold + self.weights @ self.origin))

    def descended(self, price, n_candidates):
        """Return the test after weights were changed, removed, added and exchanged.

        Each change lowers the score, which is the loss plus `price` per weight. When a feature is
        added, `n_candidates` features are tried.
        """
        found = self.improved(price)
        for _ in range(_MOST_ADDED):
            other = found._added(found.loss - price, n_candidates) or found._exchanged(n_candidates)
            if other is None:
                break
            found = other.improved(price)
        return found

    def improved(self, price, n_sweeps=_SWEEPS):
        """Change weights one at a time while loss + price * (number of weights) falls.

        Each weight is removed, with the best threshold afterwards, or set to its best value. The
        threshold is then optimised. This is exact along each coordinate (a step of coordinate
        descent), so that the score never rises. The last remaining weight is not removed.
        """
        weights, values = self.weights.copy(), self.weights @ self.columns
        threshold, loss = best_threshold(values, self.rows.steps, self.threshold)
        # The weight whose product with its column varies least is changed first.
        order = np.argsort(np.abs(weights) * self.columns.std(axis=1), kind="stable")
        for _ in range(n_sweeps):
            before, n_before = loss, np.count_nonzero(weights)
            for j in order[weights[order] != 0]:
                to_pay = price if np.count_nonzero(weights) > 1 else -np.inf
                terms = (values, weights[j], self.columns[j], threshold, loss)
                weights[j], values, threshold, loss = self._improved_weight(*terms, to_pay)
            if loss == before and np.count_nonzero(weights) == n_before:
                break
        kept, columns = np.flatnonzero(weights), self.columns
        if len(kept) < len(weights):  # if no weight was removed, the array need not be copied
            columns = columns[kept]
        parts = (self.features[kept], weights[kept], threshold, columns, self.origin[kept], loss)
        return type(self)(self.rows, *parts)

    def _improved_weight(self, values, weight, column, threshold, loss, price):
        """Remove or change a weight if this reduces the loss plus `price` per weight.

        Returns
        -------
        weight, values, threshold, loss
            The state after the change; `values` is w.x of each row.
        """
        steps, noise = self.rows.steps, self.rows.noise
        rest = values - weight * column
        least, low, high = least_sum(rest, steps, loss + price)
        if least < loss + price - noise:
            return 0.0, rest, midpoint(low, high), least
        least, new = best_weight(rest, column, threshold, steps, loss)
        if new == 0 or not least < loss - noise:
            return weight, values, threshold, loss
        values = rest + new * column
        return new, values, *best_threshold(values, steps, threshold)

    def _added(self, below, n_candidates):
        """Return the test with the feature added that lowers its loss most.

        It is None if no added feature makes the loss lower than `below`, or if the test has as many
        features as it may have. `n_candidates` features are tried.
        """
        rows, noise = self.rows, self.rows.noise
        if rows.max_features is not None and len(self.features) >= rows.max_features:
            return None
        if np.minimum(rows.steps, 0.0).sum() >= below - noise:  # no test has a smaller loss
            return None
        values = self.weights @ self.columns
        most = n_candidates + len(self.features)
        features = rows.slopes.features(values, self.threshold, rows.steps, most)
        features = features[~np.isin(features, self.features)][:n_candidates]
        if len(features) == 0:
            return None
        columns, origin = rows.columns(features)
        best, weight, least = -1, 0.0, below
        for j, column in enumerate(columns):
            loss, new = best_weight(values, column, self.threshold, rows.steps, least)
            if loss < least - noise:
                best, weight, least = j, new, loss
        if weight == 0:
            return None
        return replace(
            self,
            features=np.append(self.features, features[best]),
            weights=np.append(self.weights, weight),
            columns=np.vstack([self.columns, columns[best]]),
            origin=np.append(self.origin, origin[best]),
            loss=least,
        )

    def _exchanged(self, n_candidates):
        """Return the test with its least useful feature replaced by another feature.

        It is None if no replacement lowers the loss. `n_candidates` features are tried.
        """
        if len(self.weights) < 2:
            return None
        kept = np.arange(len(self.weights)) != self.rows.least(self.losses_without())
        by_feature = ("features", "weights", "columns", "origin")
        parts = {name: getattr(self, name)[kept] for name in by_feature}
        return replace(self, **parts)._added(self.loss, n_candidates)

    def losses_without(self):
        """Return the least loss of the test after each weight is removed: array of shape (k,).

        Item j is the loss without weight j, at the best threshold.
        """
        values, terms = self.weights @ self.columns, zip(self.weights, self.columns, strict=True)
        rests = (values - weight * column for weight, column in terms)
        return np.array([least_sum(rest, self.rows.steps, np.inf)[0] for rest in rests])


def best_weight(rest, column, threshold, steps, bound):
    """Return the weight u of a column that minimises the loss of rest + u column <= threshold.

    Parameters
    ----------
    rest : float64 array of shape (m,), w.x without the column
    column : float64 array of shape (m,), values of the column
    threshold : float
    steps : float64 array of shape (m,)
        Cost of each row on the left minus its cost on the right.
    bound : float
        Only a loss below `bound` is of interest; see :func:`.thresholds.least_sum`.

    Returns
    -------
    loss : float; infinite if no row depends on the weight
    weight : float
    """
    points, changes = np.empty((2, len(rest)))
    n, loss = _turning_points(rest, column, threshold, steps, points, changes)
    if n < 2:
        return np.inf, 0.0
    least, low, high = least_sum(points[:n], changes[:n], bound - loss)
    return loss + least, midpoint(low, high)


@jit
def _turning_points(rest, column, threshold, steps, points, changes):
    """Compute the weights at which rows change sides and the change of the loss at each.

    They are written to `points` and `changes`. Return their number, and the loss for a weight below
    all of them.
    """
    n, loss = 0, 0.0
    for i in range(rest.shape[0]):
        x, slack = column[i], threshold - rest[i]
        point = slack / x if x != 0.0 else np.inf
        if not abs(point) < 1e300:  # no weight of this column changes the side of the row
            loss += steps[i] if slack >= 0.0 else 0.0
            continue
        # As the weight grows, rows with positive values leave the left side, and rows with negative
        # values join it.
        points[n] = point
        changes[n] = -steps[i] if x > 0.0 else steps[i]
        loss += steps[i] if x > 0.0 else 0.0
        n += 1
    return n, loss


# ---------------------------------------------------------------- features worth adding


@dataclass(frozen=True, eq=False)
class Slopes:
    """A sample of the rows of a node, which ranks the features that could be added to a test.

    Parameters
    ----------
    X : array of shape (m, d) whose columns have mean 0, or CSR matrix that is not shifted
    squares : the squares of the values of X
    at : int array of shape (m,), positions of the sampled rows among the rows of the node
    allowed : int array of features that may be added, or None for all
    """

    X: Any
    squares: Any
    at: np.ndarray
    allowed: np.ndarray | None

    @classmethod
    def from_rows(cls, rows):
        """Sample at most 1000 of the rows of a node, evenly spaced in their order."""
        at = spaced_rows(len(rows.numbers), _SLOPE_ROWS)
        some = rows.X[rows.numbers[at]]
        if not sp.issparse(some):
            some -= some.mean(axis=0)  # a shift of columns only changes the threshold of a test
        with np.errstate(over="ignore"):  # a column whose squares overflow is never added
            squares = some.multiply(some) if sp.issparse(some) else some * some
        return cls(some, squares, at, rows.features)

    def features(self, values, threshold, steps, most):
        """Return the features whose small additional weight would lower a smoothed loss fastest.

        The smoothed loss is the logistic loss of the margins divided by a scale: the mean absolute
        margin of the rows on the wrong side. Its slope along a feature is divided by the square
        root of its curvature. Both take the best change of the threshold into account (a score
        test).

        Parameters
        ----------
        values : float64 array, w.x of all rows of the node
        threshold : float
        steps : float64 array
            Cost of each row on the left minus its cost on the right.
        most : int
            Maximum number of features.

        Returns
        -------
        int array of features; none if no row is on the wrong side
        """
        steps, slack = steps[self.at], values[self.at] - threshold
        weight, margin = np.abs(steps), np.where(steps > 0, slack, -slack)
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
        if self.allowed is not None:
            found = found[np.isin(found, self.allowed)]
        if len(found) > most:  # a partition is faster than sorting all features
            found = found[gain[found] >= np.partition(gain[found], -most)[-most]]
        return found[np.argsort(-gain[found], kind="stable")][:most]

    def _score(self, slope, curvature):
        """Return the squared slope of each feature divided by its curvature: array of shape (d,).

        It is computed in the data type of X, because the result only ranks features.
        """
        terms = np.column_stack([slope, curvature]).astype(self.X.dtype)
        slopes, means = (self.X.T @ terms).T
        spread = self.squares.T @ terms[:, 1] - means * means
        gain = slopes * slopes
        return np.divide(gain, spread, out=np.zeros_like(gain), where=spread > 0)
