"""L1-regularised logistic regression by proximal Newton steps on working sets of features."""

from dataclasses import dataclass, replace

import numpy as np

from .._utils.options import Part
from ..tree import Split
from . import newton_loss, newton_model
from .base import NodeSolver, Status
from .newton_data import Storage, add_rows, deviations, products
from .newton_loss import CURVATURE, MARGIN, RESIDUAL

# Without a penalty, the loss has no minimum if a test separates the rows without errors. Each
# column therefore has a least penalty. It is the share `_MIN_PRICE` of the penalty above which all
# weights are zero, computed for the median column. Columns can have different units, so it is
# clipped to between the shares `_OWN_SHARES` of the same penalty computed for the column itself.
_MIN_PRICE = 1e-6
_OWN_SHARES = 1e-7, 1e-3

_MAX_STEPS = 200
_MOST_SHARE = 1e8  # limit of `share` in `_rounding`, which avoids overflow
_FAR = 0.6  # relative duality gap above which a start with many weights is replaced by zero
_MAX_FAILURES = 5  # the solver stops after this many steps in a row without a decrease
_PATIENCE = 10  # number of steps without progress after which double precision is used
# After a step shorter than this (the full step is 1), the next model gets more curvature than the
# loss, so that its step is shorter from the start.
_SHORT = 0.6
_FORGET = 0.3  # factor by which each step reduces the curvature that `_learn` stored
_BIG = 0.1  # extra curvature stays while the predicted decrease exceeds this share of the loss

# Columns of X replace the Gram matrix if a model has more features than the first number, and also
# more than the second number times the share of non-zero values in X.
_ALWAYS_GRAM = 200
_GRAM_PER_DENSITY = 6000

# Features that violate the optimality conditions join a working set in each step: at most 64, or
# half as many as have a weight if that is more. More of them hardly save a step, and a Gram matrix
# grows with the square of their number.
_MIN_NEW_FEATURES, _NEW_SHARE = 64, 0.5
# A feature of weight 0 joins the working set if the absolute derivative of the loss by its weight
# exceeds this share of its penalty. If the derivative exceeds the whole penalty, the optimality
# conditions are violated, and that may be so after the next step.
_NEARLY = 0.95
# A model is corrected and used again if the decrease that it predicted for its step was less than
# this share of the decrease predicted for the step before.
_KEEP = 0.3

# The second derivatives are summed over a sample of the rows: at least 1000 rows and 10 per
# feature of the model. Up to 200 rows per feature are used if that takes about as long as a pass
# over the data.
_MIN_SAMPLE = 1000
_SAMPLE_PER_FEATURE = 10
_MOST_PER_FEATURE = 200
_SAMPLE_WORK = 10.0


@dataclass(frozen=True)
class Newton(Part, NodeSolver):
    """Proximal Newton solver with working sets, warm starts and instance weights.

    The method is newGLMNET (Yuan, Ho & Lin 2012) on a working set of features. Each step computes
    the gradient of all features. Features with a weight and the worst violators of the optimality
    conditions form the working set. Coordinate descent minimises the second-order model of the loss
    over it, with the free threshold eliminated. It uses a Gram matrix, or columns of X if there are
    many sparse features.

    Three approximations make a step about as cheap as one or two passes over the rows. They are
    safe because each step is judged by the exact objective. First, the curvature is summed over a
    sample of the rows. Second, a model that predicts well is corrected (BFGS) instead of rebuilt.
    Third, the model is minimised only approximately. If steps are too long, the next model has a
    larger curvature for misclassified rows (Jaakkola & Jordan 2000).

    Parameters
    ----------
    tol : float, default=0.001
        Relative duality gap: the objective exceeds its minimum by at most this share. If 400 steps
        are not enough, the status reports the gap that was reached.

    Notes
    -----
    *Warm starts.* A warm start with a small enough gap is returned unchanged. It is replaced by
    zero if it has more weights than rows, or weights for most of many features far from the
    optimum.

    *Tiny strengths.* The loss of separable rows has no minimum without a penalty. The strength for
    a column is therefore at least about a millionth of the strength above which all weights are
    zero, computed for the median column. This lower bound is clipped to 1e-7 to 1e-3 times the
    strength computed for the column itself. The duality gap is that of the problem with the raised
    strengths.

    *Precision.* X is stored in single precision, shifted by about the mean of each column and
    scaled by a power of two. Sums use double precision. If single precision could hide an error of
    the size of the gap, or makes no progress (nearly equal columns, distant rows), the rows of the
    node are copied in double precision.

    *Memory:*

    ====================================  ==========================================================
    X, once per fit                       4 bytes per value; 6 or 8 bytes per non-zero value of data
                                          that are more than half zeros
    rows of a node, if X is sparse        a copy per thread, for nodes of at most a quarter of all
    rows of a node in a refit             a copy of the features of the node, dense if more than a
                                          tenth of their values are non-zero
    per row                               about 100 bytes
    ====================================  ==========================================================
    """

    tol: float = 1e-3
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Store X by rows; see :class:`BoundSolver`."""
        return _BoundNewton(self.tol, Storage.from_matrix(X))


@dataclass(frozen=True, eq=False)
class _BoundNewton:
    """Solver for the rows of X in single precision, or in double precision if a node needs it."""

    tol: float
    storage: Storage

    def solve(self, problem):
        """Solve one node to the relative duality gap `tol`; see :class:`BoundSolver`."""
        rows = np.asarray(problem.rows, dtype=np.int64)
        features, warm_start = problem.features, problem.warm_start
        if features is not None:
            features = np.asarray(features, dtype=np.int64)
        start, is_complete = self._start(warm_start, features)
        if features is None:
            storage, at = self.storage, rows
        else:
            storage, at = self.storage.block(rows, features), np.arange(len(rows))
        descent = _descent(storage, at, problem)
        descent.start(*start)
        status, moved = descent.run(self.tol)
        if not status.converged:
            if moved:
                start = descent.solution()
            n_steps, storage = status.steps, self.storage.precise(rows, features)
            descent = _descent(storage, np.arange(len(rows)), problem)
            descent.start(*start)
            status, moved_again = descent.run(self.tol)
            status, moved = replace(status, steps=status.steps + n_steps), moved or moved_again
        if warm_start is not None and not moved and is_complete:
            return warm_start, status
        w, bias = descent.solution()
        w = w / storage.unit
        used = np.flatnonzero(w)
        indices = used if features is None else features[used]
        threshold = float(w @ storage.origin - bias)
        return Split(indices.astype(np.int32), w[used], threshold), status

    def _start(self, warm_start, features):
        """Return the weights and bias of a warm start, and whether all its weights are allowed.

        The result is ((weights, bias), is_allowed); allowed weights are those on `features`.

        The weights are in the units of the storage. The bias is None if there is no warm start.
        """
        storage = self.storage
        w, bias = np.zeros(len(storage.origin)), None
        if warm_start is None:
            return (w if features is None else w[features], bias), True
        w[warm_start.indices] = warm_start.weights
        kept = slice(None) if features is None else features
        is_complete = np.count_nonzero(w) == np.count_nonzero(w[kept])
        w = w[kept]
        bias = w @ storage.origin[kept] - warm_start.threshold
        return (w * storage.unit[kept], bias), is_complete


def _descent(storage, rows, problem):
    factors = 1.0 if problem.factors is None else problem.factors
    price = problem.strength * factors / storage.unit
    return _Descent(storage, rows, problem.goes_right, problem.weight, price)


# ---------------------------------------------------------------- steps


@dataclass
class _Model:
    """Second-order model of the loss over some features, and the last step that it led to."""

    features: np.ndarray  # (k,) int64, increasing numbers of the columns in the model
    # (k, k) array of second derivatives of the loss by the weights; or, if many features would make
    # this array large, a tuple with the values of the features from which they can be computed
    matrix: np.ndarray | tuple
    slope: np.ndarray  # (k,), derivatives of the loss by the weights at the start of the step
    is_exact: bool  # whether the second derivatives are summed over all rows, not over a sample
    predicted: float  # predicted decrease of the objective by the last step, to first order
    careful: bool  # whether curvature was added to that of the loss, which makes the step shorter
    # (m,) float64, for each row of the node: second derivative of its loss by its margin, or a
    # larger value
    curvature: np.ndarray
    change: np.ndarray | None = None  # (k,), change of the weights that minimises the model
    size: float = 1.0  # length of the last step, relative to `change`
    # Whether the last step had its full length and predicted less than the share `_KEEP` of the
    # decrease that was predicted for the step before.
    is_fast: bool = False

    @property
    def by_columns(self):
        """Whether the model uses columns of X instead of a Gram matrix."""
        return isinstance(self.matrix, tuple)

    @property
    def may_stay(self):
        """Whether a corrected copy of the model is likely to predict the next step well."""
        return self.is_fast and not (self.careful or self.by_columns)


class _Descent:
    """The convex problem at one node, and the current weights in its minimisation.

    Parameters
    ----------
    storage : Storage
        Weights are in the units of its columns.
    rows : int64 array of shape (m,), rows of the storage
    goes_right : bool array of shape (m,)
    weight : float64 array of shape (m,), positive
    price : float64 array of shape (d,)
        Penalty on the absolute weight of each column.
    """

    def __init__(self, storage, rows, goes_right, weight, price):
        self._storage = storage
        self._X, self._rows = storage.gather(rows)
        self._sign = np.where(goes_right, 1.0, -1.0)
        self._weight = np.asarray(weight, dtype=np.float64)
        # Total weight of the rows of each side. Both are sums, because a difference could round to
        # less than 0.
        self._right = float(self._weight[goes_right].sum())
        self._left = float(self._weight[~goes_right].sum())
        self._price = self._at_least(price)
        self._per_feature = _SAMPLE_PER_FEATURE
        self._least_curvature, self._n_failures = None, 0
        # Bounds of rounding errors. `_value_error` bounds the error of a value of X, relative to
        # the largest absolute value of its column. `_slope_error` bounds the error of the
        # derivative of the loss by a weight, relative to the penalty of this weight. It is per unit
        # of the sum of absolute residuals: multiply it by this sum.
        self._value_error = 0.5 * float(np.finfo(storage.dtype).eps)
        self._slope_error = self._value_error * (storage.reach / self._price).max(initial=0.0)

    def _at_least(self, price):
        """Return the penalties, each at least a small share of the one that makes all weights 0."""
        share = self._right / (self._right + self._left)
        most = 2 * self._right * (1 - share) * self._storage.reach
        if np.all(price >= _MIN_PRICE * most) and price.min(initial=1.0) > 0:
            # The bounds that are computed below would raise no penalty, and their computation takes
            # three passes over X.
            return price
        residual = self._weight * np.where(self._sign > 0, 1 - share, share)
        # Mean deviations are used, because a single distant row would dominate the largest value.
        size = deviations(self._X, self._rows, residual, len(price))
        gradient = np.abs(add_rows(self._X, self._rows, -self._sign * residual, len(price)))
        unit, filled = self._storage.unit, size > 0
        if filled.any():
            size *= np.max(gradient[filled] / size[filled])
            # The median of the penalties is taken in the units of X, not in those of the storage.
            typical = np.median((size * unit)[filled]) / unit
            lowest, highest = _OWN_SHARES
            least = np.clip(_MIN_PRICE * typical, lowest * size, highest * size)
            price = np.maximum(price, least)
        return np.maximum(price, 1e-300)  # the penalty of a constant column could be 0 otherwise

    def start(self, w, bias):
        """Set the first iterate: the given weights, or zeros if those have a lower objective.

        A bias of None means that there is no warm start.
        """
        self._excess = np.inf
        if bias is not None:
            self._w = w
            margin = self._products(w) + bias
            self._state, excess = newton_loss.start(margin, self._sign, self._weight)
            right, left = self._right, self._left
            least = right * np.log1p(left / right) + left * np.log1p(right / left)
            if newton_loss.loss_of(self._state) + self._penalty() <= least * (1 + 1e-12):
                self._excess = excess
                return
        self._start_from_nothing()

    def _start_from_nothing(self):
        self._w = np.zeros(len(self._storage.origin))
        margin = np.full(len(self._rows), np.log(self._right / self._left))
        self._state, _ = newton_loss.start(margin, self._sign, self._weight)

    def run(self, tol):
        """Take Newton steps until the relative duality gap is at most `tol`.

        The gap includes a bound of the rounding errors.

        Returns
        -------
        status : Status
        moved : bool
            Whether the weights changed, or the bias improved.
        """
        model, past = None, []
        for step in range(_MAX_STEPS):
            gradient = self._gradient()
            gap, objective = self._gap(gradient, tol)
            enough = tol * objective
            sure = gap + self._rounding(objective)
            if sure <= enough:
                moved = step > 0 or sure + self._excess > enough
                return Status(True, _relative(sure, objective), step), moved
            past.append((gap, objective))
            if self._needs_precision(past, enough):
                return Status(False, np.inf, step), step > 0
            if step == 0 and self._is_too_dense(gap / objective):
                self._start_from_nothing()
                gradient = self._gradient()
            model = self._renew(model, gradient)
            if model is None or not self._advance(model):
                break
        gap, objective = self._gap(self._gradient())
        gap = _relative(gap + self._rounding(objective), objective)
        return Status(bool(gap <= tol), gap, step + 1), True

    def _is_too_dense(self, gap):
        """Return whether the initial weights have too many non-zeros to be useful.

        No optimum needs more non-zero weights than there are rows. If most of many features have a
        non-zero weight and the relative duality gap `gap` is above `_FAR`, a search that starts
        from zero is faster, because models over all these features take long.
        """
        n_used = np.count_nonzero(self._w)
        is_most = n_used > max(_ALWAYS_GRAM, len(self._w) // 2)
        return n_used > len(self._rows) or (is_most and gap > _FAR)

    def _needs_precision(self, past, enough):
        """Return whether the node needs double precision.

        This is so if only rounding errors keep the gap above `enough`, or if the last steps made
        little progress. `past` has the pair (gap, objective) of each step so far.
        """
        if not self._storage.is_single:
            return False
        gap, objective = past[-1]
        if 2 * gap <= enough:
            return True
        if len(past) <= _PATIENCE:
            return False
        old_gap, old_objective = past[-1 - _PATIENCE]
        return gap > 0.5 * old_gap and objective > 0.9 * old_objective

    def _gradient(self):
        return add_rows(self._X, self._rows, self._state[RESIDUAL], len(self._w))

    def _products(self, w):
        return products(self._X, self._rows, w) if w.any() else np.zeros(len(self._rows))

    def _penalty(self):
        return float(self._price @ np.abs(self._w))

    def solution(self):
        """Return the current weights and the bias.

        The weights apply to columns in the units of `self._storage`, not in those of X.
        """
        return self._w, self._state[MARGIN, 0] - products(self._X, self._rows[:1], self._w)[0]

    def _gap(self, gradient, tol=None):
        """Return the duality gap and the objective.

        If `tol` is given, the gap can be replaced by a bound that is cheaper to compute and is on
        the same side of ``tol * objective``.
        """
        penalty = self._penalty()
        objective = newton_loss.loss_of(self._state) + penalty
        scale = 1.0 / max(1.0, (np.abs(gradient) / self._price).max(initial=0.0))
        if tol is None:
            return newton_loss.exact_gap(self._state, self._weight, penalty, scale), objective
        return newton_loss.gap(
            self._state, self._weight, penalty, scale, tol * objective
        ), objective

    def _rounding(self, objective):
        """Return a bound of the error of the duality gap that rounding of the data can cause.

        Errors of the margins change the loss. Errors of the slopes can make the dual point
        infeasible. It then has to be scaled down by a share s, which lowers its value by s times
        the penalty and by a second-order term.
        """
        residual = np.abs(self._state[RESIDUAL]).sum()
        margin = self._value_error * (np.abs(self._w) @ self._storage.reach)
        # The share s is huge if the penalty is nearly 0. A limit avoids overflow of its square.
        share = min(self._slope_error * residual, _MOST_SHARE)
        return margin * residual + share * self._penalty() + 0.5 * share**2 * objective

    def _renew(self, model, gradient):
        """Return the model for the next step: `model` with a correction, or a new one.

        It is None if no step is possible.
        """
        if model is None:
            return self._new_model(gradient, before=np.inf, careful=False)
        missing = (self._w != 0) | (np.abs(gradient) > self._price)
        missing[model.features] = False
        covered = not missing.any()
        if covered and model.may_stay:
            slope = gradient[model.features]
            newton_model.correct(model.matrix, model.change, slope - model.slope)
            model.slope, model.is_exact = slope, False
            return model
        if ((covered and not model.is_fast) or model.size < 1) and not model.is_exact:
            # The last step was shortened, or the predicted decreases fall slowly. The sample of
            # rows over which the second derivatives are summed may be too small.
            self._per_feature *= 2
        return self._new_model(gradient, model.predicted, self._should_be_careful(model))

    def _new_model(self, gradient, before, careful):
        """Return a second-order model of the loss over the features of the working set, or None.

        It is None if the working set is empty or the loss has no curvature, so that no step is
        possible.

        `before` is the decrease of the objective that was predicted for the last step. A `careful`
        model has more curvature than the loss, so that its step is shorter.
        """
        features = self._working_set(gradient)
        curvature = self._state[CURVATURE]
        if careful:
            curvature = newton_loss.secant(self._state, self._weight)
        if self._least_curvature is not None:
            curvature = np.maximum(curvature, self._least_curvature)
        if len(features) == 0 or not curvature.max() > 0:
            return None
        n_sample = self._sample_size(len(features))
        by_columns = self._is_too_wide(len(features), n_sample)
        matrix = (newton_model.columns if by_columns else newton_model.gram)(
            self._X, self._rows, curvature, features, self._storage.reach, n_sample
        )
        is_exact, slope = n_sample == len(self._rows), gradient[features]
        return _Model(features, matrix, slope, is_exact, before, careful, curvature)

    def _is_too_wide(self, k, n_sample):
        """Return whether a model over k features is cheaper with columns than a Gram matrix."""
        most = min(n_sample, _GRAM_PER_DENSITY * self._storage.density)
        return k > (max(_ALWAYS_GRAM, most) if self._storage.is_single else most)

    def _should_be_careful(self, model):
        """Return whether the next model needs more curvature than the loss, for shorter steps.

        `model` is the model of the last step, which was too long or had extra curvature itself.
        """
        is_big = model.predicted > _BIG * newton_loss.loss_of(self._state)
        return model.size < _SHORT or (model.careful and is_big)

    def _working_set(self, gradient):
        """Return the features with a weight, and those that violate the optimality conditions most.

        The result is an increasing int array.
        """
        used = self._w != 0
        size = np.where(used, 0.0, np.abs(gradient) / self._price)
        most = max(_MIN_NEW_FEATURES, int(_NEW_SHARE * np.count_nonzero(used)))
        chosen = np.flatnonzero(size > _NEARLY)
        if len(chosen) > most:
            chosen = chosen[np.argpartition(size[chosen], -most)[-most:]]
        used[chosen] = True
        return np.flatnonzero(used)

    def _sample_size(self, k):
        """Return the number of rows over which a model of k features sums the curvature."""
        if not self._storage.is_single:
            return len(self._rows)
        work = _SAMPLE_WORK * self._storage.row_size * len(self._rows) / k**2
        size = max(_MIN_SAMPLE, self._per_feature * k, min(work, _MOST_PER_FEATURE * k))
        return int(min(size, len(self._rows)))

    def _advance(self, model):
        """Take one step; return False if no step decreases the objective."""
        weights, price = self._w[model.features], self._price[model.features]
        minimise = newton_model.minimise_columns if model.by_columns else newton_model.minimise
        change, predicted = minimise(model.matrix, model.slope, weights, price)
        if not 0 < predicted < np.inf:
            model.size, model.is_fast = 0.0, False
            self._n_failures += 1
            return self._n_failures < _MAX_FAILURES and not (model.is_exact and model.careful)
        full = np.zeros_like(self._w)
        full[model.features] = change
        direction = newton_loss.centred(self._products(full), model.curvature)
        before = self._state
        size, self._state = newton_loss.search(
            before, self._sign, self._weight, direction, predicted, weights, change, price
        )
        self._w[model.features] += size * change
        model.is_fast = size == 1 and predicted < _KEEP * model.predicted
        model.change, model.predicted, model.size = change, predicted, size
        if not self._storage.is_single:
            self._learn(before, direction, size)
            self._n_failures = 0 if size > 0 else self._n_failures + 1
            return self._n_failures < _MAX_FAILURES
        return size > 0 or not (model.is_exact and model.careful)

    def _learn(self, state, direction, size):
        """Store the curvature of the loss along a step that was too long.

        `size` is the length of the step that reduced the objective; the full step has size 1. If a
        row is far from all others, its loss bends within a tiny part of a step, and the second
        derivative at the start does not show it. Each later step reduces the stored curvature.
        """
        if self._least_curvature is not None:
            self._least_curvature *= _FORGET
        if size < _SHORT:
            along = newton_loss.along(state, self._sign, self._weight, direction)
            old = 0.0 if self._least_curvature is None else self._least_curvature
            self._least_curvature = np.maximum(old, along)


def _relative(gap, objective):
    return float(max(gap, 0.0) / objective) if objective > 0 else 0.0
