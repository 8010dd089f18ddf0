"""Proximal Newton steps on one node's problem: working sets, models, the stop."""

from dataclasses import dataclass

import numpy as np

from ..base import Status
from . import logistic, quadratic
from .curvature import columns, gram
from .logistic import CURVATURE, MARGIN, RESIDUAL
from .rows import add_rows, deviations, products

# Without a penalty, separable rows have no optimum. The least price is a share of the one
# above which no column has a weight, were all like the median one; and within shares of that
# for columns like its own, as columns may have different units.
_MIN_PRICE = 1e-6
_OWN_SHARES = 1e-7, 1e-3

_MAX_STEPS = 200
_MOST_SHARE = 1e8  # at which a bound says nothing more
_FAR = 0.6  # relative gap of a start that knows nothing of the sides
_MAX_FAILURES = 5  # steps of no length that are tried with more curvature
_PATIENCE = 10  # steps within which there is progress, if single precision suffices
_SHORT = 0.6  # after a shorter step, the next ones are careful
_FORGET = 0.3  # share of the curvature along too long steps that counts a step later
_BIG = 0.1  # as long as they promise more than this share of the loss

# More features than this, and than this times the share of non-zeros, get no Gram matrix.
_ALWAYS_GRAM = 200
_GRAM_PER_DENSITY = 6000

# Most violators that join a working set: so many, or as a share of the weights there are. More
# of them save hardly a step, and a Gram matrix takes the square of their number.
_MIN_NEW_FEATURES, _NEW_SHARE = 64, 0.5
_NEARLY = 0.95  # slopes of this share of the strength may come to matter within a step
_KEEP = 0.3  # a model is kept if a step promises less than this share of the one before

# The curvature is summed over a sample of the rows: at least so many, and so many a feature,
# and more as long as that costs about as much as a pass over the data.
_MIN_SAMPLE = 1000
_SAMPLE_PER_FEATURE = 10
_MOST_PER_FEATURE = 200
_SAMPLE_WORK = 10.0


@dataclass
class _Model:
    """Second-order model of the loss over some features, and the last step by it."""

    features: np.ndarray  # (k,) int64, increasing
    matrix: np.ndarray | tuple  # second derivatives, or the columns that they come from
    slope: np.ndarray  # of the loss where the step starts
    is_exact: bool  # over all rows
    promised: float  # decrease of the objective by the last step, to first order
    careful: bool  # more curvature than the loss has
    curvature: np.ndarray  # (m,), of the rows
    change: np.ndarray | None = None
    size: float = 1.0  # of the step, relative to `change`
    is_fast: bool = False  # whether steps become small fast

    @property
    def by_columns(self):
        """Whether there is no Gram matrix."""
        return isinstance(self.matrix, tuple)

    @property
    def may_stay(self):
        """Whether it is worth to be corrected for another step."""
        return self.is_fast and not (self.careful or self.by_columns)


class Descent:
    """The convex problem at one node and the iterate: weights `w` and the rows' `state`.

    Parameters
    ----------
    storage : Storage
        Weights are those of its columns.
    rows : int64 array of shape (m,), rows of it
    goes_right : bool array of shape (m,)
    weight : float64 array of shape (m,), positive
    price : float64 array of shape (d,), of each column's absolute weight
    """

    def __init__(self, storage, rows, goes_right, weight, price):
        self._storage = storage
        self._X, self._rows = storage.gather(rows)
        self._sign = np.where(goes_right, 1.0, -1.0)
        self._weight = np.asarray(weight, dtype=np.float64)
        # Weight of the rows of each side; a difference could round to less than 0.
        self._right = float(self._weight[goes_right].sum())
        self._left = float(self._weight[~goes_right].sum())
        self._price = self._at_least(price)
        self._per_feature = _SAMPLE_PER_FEATURE
        self._least_curvature, self._n_failures = None, 0
        # Rounding errors: of a value, relative to its column's reach, and of a slope from
        # residuals that sum to 1, relative to its price.
        self._value_error = 0.5 * float(np.finfo(storage.dtype).eps)
        self._slope_error = self._value_error * (storage.reach / self._price).max(initial=0.0)

    def _at_least(self, price):
        """Prices, each raised to a share of the most that its column could need."""
        share = self._right / (self._right + self._left)
        most = 2 * self._right * (1 - share) * self._storage.reach
        if np.all(price >= _MIN_PRICE * most) and price.min(initial=1.0) > 0:
            return price  # what follows is no larger, and takes three passes
        residual = self._weight * np.where(self._sign > 0, 1 - share, share)
        # Not by the largest value: one row far from all others is not to price out the column.
        size = deviations(self._X, self._rows, residual, len(price))
        gradient = np.abs(add_rows(self._X, self._rows, -self._sign * residual, len(price)))
        unit, filled = self._storage.unit, size > 0
        if filled.any():
            size *= np.max(gradient[filled] / size[filled])
            typical = np.median((size * unit)[filled]) / unit  # in units of the user
            lowest, highest = _OWN_SHARES
            least = np.clip(_MIN_PRICE * typical, lowest * size, highest * size)
            price = np.maximum(price, least)
        return np.maximum(price, 1e-300)  # of constant columns

    def start(self, w, bias):
        """Start from given weights, or from none if that is better."""
        self._excess = np.inf
        if bias is not None:
            self._w = w
            margin = self._products(w) + bias
            self._state, excess = logistic.start(margin, self._sign, self._weight)
            right, left = self._right, self._left
            least = right * np.log1p(left / right) + left * np.log1p(right / left)
            if logistic.loss_of(self._state) + self._penalty() <= least * (1 + 1e-12):
                self._excess = excess
                return
        self._start_from_nothing()

    def _start_from_nothing(self):
        self._w = np.zeros(len(self._storage.origin))
        margin = np.full(len(self._rows), np.log(self._right / self._left))
        self._state, _ = logistic.start(margin, self._sign, self._weight)

    def run(self, tol):
        """Newton steps until the gap is small enough, rounding errors included.

        Returns
        -------
        status : Status
        moved : bool, whether the weights are others than at the start, or the bias is better
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
        """Whether there are too many weights to start from.

        No optimum needs more than there are rows. And a hyperplane with weights for most of many
        features, far from the optimum, comes from elsewhere: models over its features take
        longer than to find the few that matter.
        """
        n_used = np.count_nonzero(self._w)
        is_most = n_used > max(_ALWAYS_GRAM, len(self._w) // 2)
        return n_used > len(self._rows) or (is_most and gap > _FAR)

    def _needs_precision(self, past, enough):
        """Whether single precision is at its end: by its errors, or because steps are too short."""
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
        """Weights and bias."""
        return self._w, self._state[MARGIN, 0] - products(self._X, self._rows[:1], self._w)[0]

    def _gap(self, gradient, tol=None):
        """Duality gap, or with a tolerance a bound as good, and the objective."""
        penalty = self._penalty()
        objective = logistic.loss_of(self._state) + penalty
        scale = 1.0 / max(1.0, (np.abs(gradient) / self._price).max(initial=0.0))
        if tol is None:
            return logistic.exact_gap(self._state, self._weight, penalty, scale), objective
        return logistic.gap(self._state, self._weight, penalty, scale, tol * objective), objective

    def _rounding(self, objective):
        """What rounding of the data may have hidden from the gap.

        Errors of the margins change the loss; errors of the slopes make the dual point
        infeasible: scaled back by a share s, its value falls by s times the penalty, and a
        term of second order.
        """
        residual = np.abs(self._state[RESIDUAL]).sum()
        margin = self._value_error * (np.abs(self._w) @ self._storage.reach)
        # Next to no price makes any error of a slope too much: the square must not overflow.
        share = min(self._slope_error * residual, _MOST_SHARE)
        return margin * residual + share * self._penalty() + 0.5 * share**2 * objective

    def _renew(self, model, gradient):
        """Model for the next step: the last one if it serves; None if there is none."""
        if model is None:
            return self._new_model(gradient, before=np.inf, careful=False)
        missing = (self._w != 0) | (np.abs(gradient) > self._price)
        missing[model.features] = False
        covered = not missing.any()
        if covered and model.may_stay:
            slope = gradient[model.features]
            quadratic.correct(model.matrix, model.change, slope - model.slope)
            model.slope, model.is_exact = slope, False
            return model
        if ((covered and not model.is_fast) or model.size < 1) and not model.is_exact:
            self._per_feature *= 2  # the sample may be to blame
        return self._new_model(gradient, model.promised, self._should_be_careful(model))

    def _new_model(self, gradient, before, careful):
        """Model over the working set; `before` is what the last step promised."""
        features = self._working_set(gradient)
        curvature = self._state[CURVATURE]
        if careful:
            curvature = logistic.secant(self._state, self._weight)
        if self._least_curvature is not None:
            curvature = np.maximum(curvature, self._least_curvature)
        if len(features) == 0 or not curvature.max() > 0:
            return None
        n_sample = self._sample_size(len(features))
        by_columns = self._is_too_wide(len(features), n_sample)
        matrix = (columns if by_columns else gram)(
            self._X, self._rows, curvature, features, self._storage.reach, n_sample
        )
        is_exact, slope = n_sample == len(self._rows), gradient[features]
        return _Model(features, matrix, slope, is_exact, before, careful, curvature)

    def _is_too_wide(self, k, n_sample):
        """Whether columns serve better than a Gram matrix, whose rank is at most `n_sample`."""
        most = min(n_sample, _GRAM_PER_DENSITY * self._storage.density)
        return k > (max(_ALWAYS_GRAM, most) if self._storage.is_single else most)

    def _should_be_careful(self, model):
        """Whether the loss is far from its second-order model: after short or big steps."""
        is_big = model.promised > _BIG * logistic.loss_of(self._state)
        return model.size < _SHORT or (model.careful and is_big)

    def _working_set(self, gradient):
        """Features with a weight, and the worst of those that (nearly) should get one."""
        used = self._w != 0
        size = np.where(used, 0.0, np.abs(gradient) / self._price)
        most = max(_MIN_NEW_FEATURES, int(_NEW_SHARE * np.count_nonzero(used)))
        chosen = np.flatnonzero(size > _NEARLY)
        if len(chosen) > most:
            chosen = chosen[np.argpartition(size[chosen], -most)[-most:]]
        used[chosen] = True
        return np.flatnonzero(used)

    def _sample_size(self, k):
        """Rows whose curvature stands for all, in a model over k features."""
        if not self._storage.is_single:
            return len(self._rows)
        work = _SAMPLE_WORK * self._storage.row_size * len(self._rows) / k**2
        size = max(_MIN_SAMPLE, self._per_feature * k, min(work, _MOST_PER_FEATURE * k))
        return int(min(size, len(self._rows)))

    def _advance(self, model):
        """One step; False if there is no way to go on."""
        weights, price = self._w[model.features], self._price[model.features]
        minimise = quadratic.minimise_columns if model.by_columns else quadratic.minimise
        change, promised = minimise(model.matrix, model.slope, weights, price)
        if not 0 < promised < np.inf:
            model.size, model.is_fast = 0.0, False
            self._n_failures += 1
            return self._n_failures < _MAX_FAILURES and not (model.is_exact and model.careful)
        full = np.zeros_like(self._w)
        full[model.features] = change
        direction = logistic.centred(self._products(full), model.curvature)
        before = self._state
        size, self._state = logistic.search(
            before, self._sign, self._weight, direction, promised, weights, change, price
        )
        self._w[model.features] += size * change
        model.is_fast = size == 1 and promised < _KEEP * model.promised
        model.change, model.promised, model.size = change, promised, size
        if not self._storage.is_single:
            self._learn(before, direction, size)
            self._n_failures = 0 if size > 0 else self._n_failures + 1
            return self._n_failures < _MAX_FAILURES
        return size > 0 or not (model.is_exact and model.careful)

    def _learn(self, state, direction, size):
        """Keep the curvature that the loss had along a step that proved too long.

        Where a row lies far from all others, the loss bends within a tiny part of a step, and
        its second derivative tells nothing of that. It is forgotten as steps are good again.
        """
        if self._least_curvature is not None:
            self._least_curvature *= _FORGET
        if size < _SHORT:
            along = logistic.along(state, self._sign, self._weight, direction)
            old = 0.0 if self._least_curvature is None else self._least_curvature
            self._least_curvature = np.maximum(old, along)


def _relative(gap, objective):
    return float(max(gap, 0.0) / objective) if objective > 0 else 0.0
