"""L1-regularised logistic regression by proximal Newton steps on working sets of features."""

from dataclasses import dataclass

import numpy as np

from ...core.tree import Split
from ..base import Status
from . import logistic, quadratic
from .logistic import CURVATURE, MARGIN, RESIDUAL
from .rows import add_rows, columns, gram, products
from .storage import Storage

# Least strength, as a share of the one above which no feature has a weight: without any,
# separable rows have no optimum.
_MIN_STRENGTH = 1e-6

_MAX_STEPS = 200
_SHORT = 0.6  # after a shorter step, the next ones are careful
_BIG = 0.1  # as long as they promise more than this share of the loss

# More features than this, and than this times the share of non-zeros, get no Gram matrix.
_ALWAYS_GRAM = 200
_GRAM_PER_DENSITY = 6000

_MIN_NEW_FEATURES = 64  # most violators that join a small working set
_NEARLY = 0.95  # slopes of this share of the strength may come to matter within a step
_KEEP = 0.3  # a model is kept if a step promises less than this share of the one before

# The curvature is summed over a sample of the rows: at least so many, and so many a feature,
# and more as long as that costs about as much as a pass over the data.
_MIN_SAMPLE = 1000
_SAMPLE_PER_FEATURE = 10
_MOST_PER_FEATURE = 200
_SAMPLE_WORK = 10.0


@dataclass(frozen=True)
class Newton:
    """Proximal Newton with working sets, warm starts and instance weights.

    newGLMNET (Yuan, Ho & Lin 2012) on the features that matter. At every step all features are
    priced; those with a weight and those that violate optimality form the working set, and
    coordinate descent minimises the second-order model of the loss over it, with the free
    threshold eliminated: on a Gram matrix, or on columns where there are many sparse features.
    Three things keep a step as cheap as a pass over the rows or two, since steps are judged by
    the objective itself: the model sums a sample of the rows, it is corrected (BFGS) instead of
    built anew while it serves, and it is minimised roughly. Where steps prove too long, rows
    on the wrong side count with a secant of their loss (Jaakkola & Jordan 2000).

    Parameters
    ----------
    tol : float, default=0.001
        Largest duality gap, relative to the objective: the objective of the result exceeds the
        least possible by no more than this share, unless 200 steps do not get there, as when
        the values of a column at a node differ by a millionth of their size.

    Notes
    -----
    A warm start whose gap is small enough is returned as it is. A strength below a
    millionth of that above which no feature of the node would have a weight is raised to that.

    Memory: X by rows in single precision, shifted by about the mean of each column, once a
    fit (data with more than half zeros as sparse, 6 or 8 bytes a non-zero); of sparse data, a
    copy of the node's rows a thread; about 100 bytes a row. Sums are in double precision.
    """

    tol: float = 1e-3
    supports_weights = True
    supports_sparse = True
    deterministic = True
    split = "oblique"
    is_exact = False
    can_expand = False

    def bind(self, X):
        """Store X by rows; see :class:`BoundSolver`."""
        return _BoundNewton(self.tol, X)


class _BoundNewton:
    """X by rows in single precision, and what was subtracted from each column."""

    def __init__(self, tol, X):
        self._tol = tol
        self._storage = Storage.of(X)

    def solve(self, problem):
        """See :class:`BoundSolver`."""
        storage, rows = self._storage, np.asarray(problem.rows, dtype=np.int64)
        warm_start, features = problem.warm_start, problem.features
        w, bias = np.zeros(len(storage.origin)), None
        if warm_start is not None:
            w[warm_start.indices] = warm_start.weights
        is_complete, scale = True, 1.0
        if features is not None:
            features = np.asarray(features, dtype=np.int64)
            factors = problem.factors
            # A dearer feature is one whose column is shorter.
            scale = 1.0 / factors if factors is not None else np.ones(len(features))
            storage, rows = storage.block(rows, features, scale), np.arange(len(rows))
            is_complete = np.count_nonzero(w) == np.count_nonzero(w[features])
            w = w[features]
        if warm_start is not None:
            bias = w @ storage.origin - warm_start.threshold
        unit = self._storage.unit
        descent = _Descent(
            storage, rows, problem.goes_right, problem.weight, problem.strength / unit
        )
        descent.start(w * unit / scale, bias)
        status, moved = descent.run(self._tol)
        if warm_start is not None and not moved and is_complete:
            return warm_start, status
        w, bias = descent.solution()
        w = w * scale / unit
        used = np.flatnonzero(w)
        indices = used if features is None else features[used]
        threshold = float(w @ storage.origin - bias)
        return Split(indices.astype(np.int32), w[used], threshold), status


@dataclass
class _Model:
    """Second-order model of the loss over some features, and the last step by it."""

    features: np.ndarray  # (k,) int64, increasing
    matrix: np.ndarray | tuple  # second derivatives, or the columns that they come from
    slope: np.ndarray  # of the loss where the step starts
    is_exact: bool  # over all rows
    promised: float  # decrease of the objective by the last step, to first order
    careful: bool  # more curvature than the loss has
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


class _Descent:
    """The convex problem at one node and the iterate: weights `w` and the rows' `state`."""

    def __init__(self, storage, rows, goes_right, weight, strength):
        self._storage = storage
        self._X, self._rows = storage.gather(rows)
        self._sign = np.where(goes_right, 1.0, -1.0)
        self._weight = np.asarray(weight, dtype=np.float64)
        self._strength = self._at_least(float(strength))
        self._per_feature = _SAMPLE_PER_FEATURE

    def _at_least(self, strength):
        """The strength, raised to a share of the one above which no feature has a weight."""
        right = float(self._weight[self._sign > 0].sum())
        share = right / float(self._weight.sum())
        most = 2 * right * (1 - share) * self._storage.reach.max(initial=0.0)
        if strength >= _MIN_STRENGTH * most:  # what follows is no larger, and takes a pass
            return strength
        residual = self._weight * (share - (self._sign > 0))
        gradient = add_rows(self._X, self._rows, residual, len(self._storage.origin))
        return max(strength, _MIN_STRENGTH * float(np.abs(gradient).max(initial=0.0)))

    def start(self, w, bias):
        """Start from given weights, or from none if that is better."""
        self._w, self._state, self._excess = w, None, np.inf
        right = float(self._weight[self._sign > 0].sum())
        left = float(self._weight[self._sign < 0].sum())
        least = right * np.log1p(left / right) + left * np.log1p(right / left)
        if bias is not None:
            margin = self._products(w) + bias
            state, excess = logistic.start(margin, self._sign, self._weight)
            if logistic.loss_of(state) + self._strength * np.abs(w).sum() <= least * (1 + 1e-12):
                self._state, self._excess = state, excess
                return
        self._w = np.zeros_like(w)
        margin = np.full(len(self._rows), np.log(right / left))
        self._state, _ = logistic.start(margin, self._sign, self._weight)

    def run(self, tol):
        """Newton steps until the gap is small enough: Status, and whether w or b changed."""
        model, gap, enough = None, np.inf, 0.0
        for step in range(_MAX_STEPS):
            gradient = add_rows(self._X, self._rows, self._state[RESIDUAL], len(self._w))
            gap, enough = self._gap(gradient, tol)
            if gap <= enough:
                moved = step > 0 or gap + self._excess > enough
                return Status(True, tol * gap / enough if enough else 0.0, step), moved
            model = self._renew(model, gradient)
            if model is None or not self._advance(model):
                break
        return Status(False, tol * gap / enough if enough else np.inf, step + 1), True

    def _products(self, w):
        return products(self._X, self._rows, w) if w.any() else np.zeros(len(self._rows))

    def solution(self):
        """Weights and bias."""
        return self._w, self._state[MARGIN, 0] - products(self._X, self._rows[:1], self._w)[0]

    def _gap(self, gradient, tol):
        """Duality gap and the one that is small enough."""
        penalty = self._strength * np.abs(self._w).sum()
        enough = tol * (logistic.loss_of(self._state) + penalty)
        largest = max(np.abs(gradient).max(initial=0.0), 1e-300)
        scale = min(1.0, self._strength / largest)
        return logistic.gap(self._state, self._weight, penalty, scale, enough), enough

    def _renew(self, model, gradient):
        """Model for the next step: the last one if it serves; None if there is none."""
        if model is None:
            return self._new_model(gradient, before=np.inf, careful=False)
        missing = (self._w != 0) | (np.abs(gradient) > self._strength)
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
        if len(features) == 0 or not curvature.max() > 0:
            return None
        by_columns = len(features) > max(_ALWAYS_GRAM, _GRAM_PER_DENSITY * self._storage.density)
        n_sample = self._sample_size(len(features))
        matrix = (columns if by_columns else gram)(
            self._X, self._rows, curvature, features, self._storage.reach, n_sample
        )
        is_exact = n_sample == len(self._rows)
        return _Model(features, matrix, gradient[features], is_exact, before, careful)

    def _should_be_careful(self, model):
        """Whether the loss is far from its second-order model: after short or big steps."""
        is_big = model.promised > _BIG * logistic.loss_of(self._state)
        return model.size < _SHORT or (model.careful and is_big)

    def _working_set(self, gradient):
        """Features with a weight, and the worst of those that (nearly) should get one."""
        used = self._w != 0
        size = np.where(used, 0.0, np.abs(gradient))
        most = max(_MIN_NEW_FEATURES, np.count_nonzero(used))
        least = _NEARLY * self._strength
        if np.count_nonzero(size > least) > most:
            least = np.partition(size, -most - 1)[-most - 1]
        return np.flatnonzero(used | (size > least))

    def _sample_size(self, k):
        """Rows whose curvature stands for all, in a model over k features."""
        work = _SAMPLE_WORK * self._storage.row_size * len(self._rows) / k**2
        size = max(_MIN_SAMPLE, self._per_feature * k, min(work, _MOST_PER_FEATURE * k))
        return int(min(size, len(self._rows)))

    def _advance(self, model):
        """One step; False if there is no way to go on."""
        weights = self._w[model.features]
        minimise = quadratic.minimise_columns if model.by_columns else quadratic.minimise
        change, promised = minimise(model.matrix, model.slope, weights, self._strength)
        if not 0 < promised < np.inf:
            model.size, model.is_fast = 0.0, False
            return not (model.is_exact and model.careful)
        full = np.zeros_like(self._w)
        full[model.features] = change
        direction = self._products(full)
        size, self._state = logistic.search(
            self._state,
            self._sign,
            self._weight,
            direction,
            promised,
            weights,
            change,
            self._strength,
        )
        self._w[model.features] += size * change
        model.is_fast = size == 1 and promised < _KEEP * model.promised
        model.change, model.promised, model.size = change, promised, size
        return size > 0 or not (model.is_exact and model.careful)
