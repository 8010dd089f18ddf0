"""L1-regularised logistic regression by proximal Newton steps on working sets of features."""

import threading
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import types
from numba.extending import overload
from scipy.special import expit, xlogy

from .._jit import jit
from ..routing import kernel_view
from .base import Split, largest_spread

# Data with a smaller share of non-zeros are worked on as sparse.
_DENSE_SHARE = 0.5

# Least strength, in the spread of the columns: without any, separable rows have no optimum.
_MIN_STRENGTH = 1e-4

_MAX_ROUNDS = 30  # working sets
_MAX_STEPS = 20  # Newton steps a working set
_MAX_SWEEPS = 300  # of coordinate descent a Newton step
_MIN_NEW_FEATURES = 64  # most violators that join a small working set
_ARMIJO = 0.01

# The curvature is summed over a sample of the rows where there are many more than features.
_MIN_SAMPLE = 4096
_SAMPLE_PER_FEATURE = 20


@dataclass(frozen=True)
class Newton:
    """Proximal Newton with working sets, warm starts and instance weights.

    newGLMNET (Yuan, Ho & Lin 2012) on the features that matter: Newton steps on a working
    set, whose quadratic problem is solved by coordinate descent on its Gram matrix, with the
    free threshold eliminated; then all features are priced, and those that violate
    optimality join. The Gram matrix of many rows is that of a sample of them, since steps are
    judged by the objective itself.

    Parameters
    ----------
    tol : float, default=0.001
        Largest duality gap, relative to the objective: the objective of the result exceeds the
        least possible by no more than this share.

    Notes
    -----
    A warm start whose gap is small enough is returned as it is. A strength below about 1e-4
    times the largest standard deviation of a column is raised to that.

    Memory: X by rows and by columns, once a fit (data with more than half zeros as sparse),
    and the working set's columns of the rows at hand, 12 bytes a value. Beyond some hundred
    features a node the Gram matrix takes most of the time, and LIBLINEAR is faster.
    """

    tol: float = 1e-3
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Store X by rows and by columns; see :class:`BoundSolver`."""
        return _BoundNewton(self.tol, X)


class _BoundNewton:
    """X by rows, to price all features, and by columns, to extract some."""

    def __init__(self, tol, X):
        self._tol = tol
        if not sp.issparse(X) and np.count_nonzero(X) < _DENSE_SHARE * X.size:
            X = sp.csr_matrix(X)
        self._n_rows, self._n_features = X.shape
        self._origin = np.zeros(X.shape[1]) if sp.issparse(X) else X.mean(axis=0, dtype=np.float64)
        self._by_row = kernel_view(X)
        columns = X.tocsc() if sp.issparse(X) else np.ascontiguousarray(X.T)
        is_sparse = sp.issparse(columns)
        self._by_column = (columns.data, columns.indices, columns.indptr) if is_sparse else columns
        self._min_strength = _MIN_STRENGTH * largest_spread(X)
        self._workspace = threading.local()

    def fit(self, rows, goes_right, weight, strength, warm_start=None):
        """See :class:`BoundSolver`."""
        strength = max(strength, self._min_strength)
        problem = _Problem(self, rows, goes_right, weight, strength)
        state = problem.start(warm_start)
        for _ in range(_MAX_ROUNDS):
            gradient = problem.price(state)
            if problem.gap(state, gradient) <= self._tol * state.objective:
                break
            if not problem.widen(state, gradient):
                break
            problem.descend(state, gradient)
        return state.split(warm_start)

    def extract(self, features, rows, slot, out, mean):
        """Centred values of some features for some rows into `out`, (features, rows)."""
        _extract(self._by_column, features, rows, slot, out, mean)

    def slot(self, rows):
        """Place of each row in `rows`, or -1."""
        slot = np.full(self._n_rows, -1, np.int64)
        slot[rows] = np.arange(len(rows))
        return slot

    def room(self, size, kept):
        """Array of at least `size` values, one a thread; the first `kept` stay.

        One array for all fits: the pages of a new one cost more than what is done with them.
        """
        old = getattr(self._workspace, "values", None)
        if old is None or len(old) < size:
            new = np.empty(size if old is None else max(size, 2 * len(old)))
            if kept:
                new[:kept] = old[:kept]
            self._workspace.values = new
        return self._workspace.values

    def gradient(self, rows, residual):
        """Sum of residual times row: float64 array of shape (n_features,)."""
        out = np.zeros(self._n_features)
        _add_rows(self._by_row, rows, residual, out)
        # The residuals sum to nearly 0; data far from the origin would show the difference.
        return out - self._origin * residual.sum()


@dataclass
class _State:
    """Iterate: weights of the working features, margins, and what follows from them."""

    features: np.ndarray  # (k,) int64, the working set
    columns: np.ndarray  # (k, m), centred
    center: np.ndarray  # (k,), what was subtracted
    weights: np.ndarray  # (k,)
    margin: np.ndarray  # (m,) w.x + b
    objective: float
    moved: bool = True  # away from the warm start
    sample: int = _SAMPLE_PER_FEATURE  # rows a feature in the next model

    def split(self, warm_start):
        """The test that it stands for; the warm start itself if nothing has moved."""
        if warm_start is not None and not self.moved:
            return warm_start
        used = np.flatnonzero(self.weights)
        used = used[np.argsort(self.features[used])]
        bias = self.margin[0] - self.weights @ self.columns[:, 0]
        threshold = self.weights[used] @ self.center[used] - bias
        return Split(self.features[used].astype(np.int32), self.weights[used], float(threshold))


@dataclass
class _Model:
    """Second-order model of the loss over some of the working features."""

    covers: np.ndarray  # (k,) bool
    some: np.ndarray  # their positions
    gram: np.ndarray
    curvature: np.ndarray  # (m,) of the rows' losses
    total: float
    promised: float = np.inf  # by the last step


class _Problem:
    """The convex problem at one node, over its rows."""

    def __init__(self, solver, rows, goes_right, weight, strength):
        self._solver = solver
        self._rows = rows
        self._target = goes_right.astype(np.float64)
        self._sign = np.where(goes_right, 1.0, -1.0)
        self._weight = np.asarray(weight, dtype=np.float64)
        self._strength = strength
        self._slot = solver.slot(rows)

    def _loss(self, margin):
        return float(self._weight @ np.logaddexp(0.0, -self._sign * margin))

    def _objective(self, margin, weights):
        return self._loss(margin) + self._strength * np.abs(weights).sum()

    def _free_bias(self, margin):
        """Shift of the margins that minimises the loss: safeguarded Newton in one dimension."""
        total, low, high, shift = self._weight.sum(), -np.inf, np.inf, 0.0
        for _ in range(50):
            chance = expit(margin + shift)
            slope = self._weight @ (chance - self._target)
            if abs(slope) <= 1e-12 * total:
                break
            low, high = (shift, high) if slope < 0 else (low, shift)
            curvature = self._weight @ (chance * (1.0 - chance))
            step = -slope / curvature if curvature > 0 else -np.sign(slope)
            step = np.clip(step, -5.0, 5.0)
            shift += step
            if not low < shift < high:
                shift = (low + high) / 2
        return shift

    def start(self, warm_start):
        """State of the warm start, or of the best constant if that is better."""
        m = len(self._rows)
        margin = np.full(m, self._free_bias(np.zeros(m)))
        nothing = np.empty(0)
        state = _State(
            features=np.empty(0, np.int64),
            columns=np.empty((0, m)),
            center=nothing,
            weights=nothing,
            margin=margin,
            objective=self._loss(margin),
        )
        if warm_start is None:
            return state
        self._add(state, warm_start.indices.astype(np.int64))
        weights = np.array(warm_start.weights, dtype=np.float64)
        bias = float(weights @ state.center) - warm_start.threshold
        margin = weights @ state.columns + bias
        shift = self._free_bias(margin)
        objective = self._objective(margin + shift, weights)
        if objective < state.objective:
            state.weights = weights
            state.margin, state.objective = margin + shift, objective
            state.moved = False
        return state

    def _add(self, state, features):
        """Append features with weight 0 to a working set."""
        k, m, more = len(state.features), len(self._rows), len(features)
        room = self._solver.room((k + more) * m, k * m)
        state.columns = room[: (k + more) * m].reshape(k + more, m)
        added = state.columns[k:]
        center = np.empty(more)
        self._solver.extract(features, self._rows, self._slot, added, center)
        state.features = np.concatenate([state.features, features])
        state.center = np.concatenate([state.center, center])
        state.weights = np.concatenate([state.weights, np.zeros(more)])

    def _residual(self, margin):
        return self._weight * (expit(margin) - self._target)

    def price(self, state):
        """Gradient of the loss over all features."""
        return self._solver.gradient(self._rows, self._residual(state.margin))

    def gap(self, state, gradient):
        """Duality gap of a state whose bias is optimal, by scaling the residuals."""
        largest = np.abs(gradient).max(initial=0.0)
        scale = min(1.0, self._strength / largest) if largest > 0 else 1.0
        share = scale * expit(-self._sign * state.margin)
        dual = -(self._weight @ (xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)))
        return state.objective - dual

    def widen(self, state, gradient):
        """Add the worst violators; False if there is nothing to work on."""
        excess = np.abs(gradient) - self._strength
        excess[state.features] = -np.inf
        violators = np.flatnonzero(excess > 0)
        most = max(_MIN_NEW_FEATURES, len(state.features))
        if len(violators) > most:
            worst = np.argsort(-excess[violators], kind="stable")[:most]
            violators = np.sort(violators[worst])
        if len(violators):
            self._add(state, violators)
        return len(state.features) > 0

    def descend(self, state, gradient):
        """Newton steps on the working set until they promise little."""
        slope, model, first = gradient[state.features], None, None
        for _ in range(_MAX_STEPS):
            promised, model = self._newton_step(state, slope, model)
            first = promised if first is None else first
            if promised <= max(0.1 * self._solver._tol * state.objective, 0.03 * first):
                break
            slope = state.columns @ self._residual(state.margin)

    def _newton_step(self, state, slope, model):
        """One step; returns the decrease that its model promised, and the model if it holds."""
        near = (state.weights != 0) | (np.abs(slope) > 0.9 * self._strength)
        if model is None or np.any(near & ~model.covers):
            model = self._model(state, near)
        if model is None:
            return 0.0, None
        some = model.some
        old, change = state.weights[some], np.zeros(len(some))
        _descend_quadratic(model.gram, slope[some], old, self._strength, change, _MAX_SWEEPS)
        penalty = np.abs(old + change).sum() - np.abs(old).sum()
        promised = -(slope[some] @ change + self._strength * penalty)
        if not promised > 0:
            return 0.0, None
        full = np.zeros(len(state.features))
        full[some] = change
        direction = full @ state.columns
        direction -= model.curvature @ direction / model.total
        size = self._search(state, full, direction, promised)
        if size < 1.0:  # the sample is to blame
            state.sample *= 2
        falls_fast = size == 1.0 and promised <= 0.6 * model.promised
        model.promised = promised
        return (promised if size else 0.0), model if falls_fast else None

    def _search(self, state, change, direction, promised):
        """Move as far as the objective follows the model; returns the length of the step."""
        size = 1.0
        for _ in range(30):
            weights = state.weights + size * change
            margin = state.margin + size * direction
            objective = self._objective(margin, weights)
            if objective <= state.objective - _ARMIJO * size * promised:
                shift = self._free_bias(margin)
                state.weights, state.moved = weights, True
                state.margin = margin + shift
                state.objective = self._objective(state.margin, weights)
                return size
            size /= 2
        return 0.0

    def _model(self, state, covers):
        """Quadratic model of the loss at a state over some features, None if there is none."""
        some = np.flatnonzero(covers)
        chance = expit(state.margin)
        curvature = self._weight * chance * (1.0 - chance)
        total = curvature.sum()
        if len(some) == 0 or not total > 0:
            return None
        n_sample = max(_MIN_SAMPLE, state.sample * len(some))
        if n_sample < len(curvature):
            # Rows at equal steps of the summed curvature: each stands for as much of it.
            sums = np.cumsum(curvature)
            at = (np.arange(n_sample) + 0.5) * (sums[-1] / n_sample)
            rows = np.minimum(np.searchsorted(sums, at), len(curvature) - 1)
            share = np.full(n_sample, 1.0 / n_sample)
        else:
            rows, share = np.arange(len(curvature)), curvature / total
        # Single precision is enough for a model: steps are judged by the objective itself.
        part = np.empty((len(some), len(rows)), np.float32)
        _sample_columns(state.columns, some, rows, share, part)
        gram = (part @ part.T).astype(np.float64)
        gram *= total
        diagonal = np.einsum("ii->i", gram)
        diagonal += 1e-6 * diagonal + 1e-12 * max(diagonal.max(), 1e-300)
        return _Model(covers, some, gram, curvature, total)


def _add_rows_dense(X, rows, factor, out):
    for r in range(rows.shape[0]):
        row, times = rows[r], factor[r]
        for f in range(out.shape[0]):
            out[f] += times * X[row, f]


def _add_rows_csr(X, rows, factor, out):
    data, indices, indptr = X
    for r in range(rows.shape[0]):
        times = factor[r]
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out[indices[s]] += times * data[s]


def _sum_rows(X, rows, factor, out):
    """Add factor[r] times row rows[r] (compiled only)."""
    raise NotImplementedError


@overload(_sum_rows)
def _overload_sum_rows(X, rows, factor, out):
    return _add_rows_dense if isinstance(X, types.Array) else _add_rows_csr


@jit
def _add_rows(X, rows, factor, out):
    _sum_rows(X, rows, factor, out)


def _extract_dense(X, features, rows, slot, out, mean):
    for f in range(features.shape[0]):
        column, target, total = X[features[f]], out[f], 0.0
        for r in range(rows.shape[0]):
            target[r] = column[rows[r]]
            total += target[r]
        mean[f] = total / rows.shape[0]
        for r in range(rows.shape[0]):
            target[r] -= mean[f]


def _extract_csc(X, features, rows, slot, out, mean):
    data, indices, indptr = X
    for f in range(features.shape[0]):
        start, stop, target, total = indptr[features[f]], indptr[features[f] + 1], out[f], 0.0
        for s in range(start, stop):
            total += data[s] if slot[indices[s]] >= 0 else 0.0
        mean[f] = total / rows.shape[0]
        target[:] = -mean[f]
        for s in range(start, stop):
            r = slot[indices[s]]
            if r >= 0:
                target[r] = data[s] - mean[f]


def _take_columns(X, features, rows, slot, out, mean):
    """Centred values of some features for some rows, and their means (compiled only)."""
    raise NotImplementedError


@overload(_take_columns)
def _overload_take_columns(X, features, rows, slot, out, mean):
    return _extract_dense if isinstance(X, types.Array) else _extract_csc


@jit
def _extract(X, features, rows, slot, out, mean):
    _take_columns(X, features, rows, slot, out, mean)


@jit
def _sample_columns(columns, some, rows, share, out):
    """Values of some columns at some rows, centred with `share` and times its root, float32."""
    root = np.sqrt(share)
    values = np.empty(rows.shape[0])
    for f in range(some.shape[0]):
        column, mean = columns[some[f]], 0.0
        for r in range(rows.shape[0]):
            values[r] = column[rows[r]]
            mean += share[r] * values[r]
        for r in range(rows.shape[0]):
            out[f, r] = (values[r] - mean) * root[r]


@jit
def _descend_quadratic(gram, slope, weights, strength, change, max_sweeps):
    """Minimise slope.d + d.gram.d / 2 + strength |w + d|_1 over d by coordinate descent.

    Sweeps over all coordinates and over those that moved take turns.
    """
    n = weights.shape[0]
    product = np.zeros(n)  # gram @ change
    active = np.ones(n, np.bool_)
    largest_ever = 0.0
    full = True
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(n):
            if not full and not active[j]:
                continue
            a = gram[j, j]
            if a <= 0.0:
                continue
            at = weights[j] + change[j]
            center = at - (slope[j] + product[j]) / a
            new = np.sign(center) * max(abs(center) - strength / a, 0.0)
            step = new - at
            active[j] = new != 0.0
            if step != 0.0:
                change[j] += step
                row = gram[j]
                for i in range(n):
                    product[i] += step * row[i]
                largest = max(largest, step * step * a)
        largest_ever = max(largest_ever, largest)
        if largest <= 1e-8 * largest_ever:
            if full:
                break
            full = True
        else:
            full = False
