"""L1-regularised logistic regression by proximal Newton steps on working sets of features.

The solver minimises, over weights w and a bias b,

    F = sum_n c_n log(1 + exp(-y_n m_n)) + sum_j p_j |w_j|,    m_n = w.x_n + b,

with signs y_n, weights c_n of rows and penalties p_j. Let r_n and h_n be the first and the second
derivative of the loss of row n by its margin m_n. A step of Newton's method in b alone would be
-s = -sum r / sum h. The bias is eliminated from the second-order model of F at (w, b):

    g_j = sum_n (r_n - s h_n) x_nj,    H = sum_n h_n (x_n - a)(x_n - a)',    a = sum h x / sum h,
    d = argmin g.d + d.H d / 2 + sum_j p_j |w_j + d_j|,

and the margins change by d.(x_n - a) - s times the length of the step. The numbers
u_n = q |r_n - s h_n| / c_n are a feasible point of the dual problem if |s| < 1, for any q <= 1 with
q |g_j| <= p_j. The duality gap is F minus the sum of c_n times the entropy of u_n.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import as_array, canonical_csr, ranges
from .._utils.options import Part
from ..tree import Split
from .base import NodeSolver, Status
from .newton_kernels import (
    BLOCK_ROWS,
    NodeRows,
    gap_terms,
    line_search,
    logistic,
    minimise,
    minimise_by_columns,
)

# Without a penalty, the loss has no minimum if a test separates the rows without errors. Each
# column therefore has a least penalty. It is the share `_MIN_PRICE` of the penalty above which all
# weights are zero, computed for the median column. Columns can have different units, so it is
# clipped to between the shares `_OWN_SHARES` of the same penalty computed for the column itself.
_MIN_PRICE = 1e-6
_OWN_SHARES = 1e-7, 1e-3

_MAX_STEPS = 400
_MAX_FAILURES = 4  # the solver stops after this many steps in a row without a decrease
_UNIT_BITS = 960  # units of columns are 2 ** -960 to 2 ** 960, so that quotients are finite
_CONSTANT = 1e-12  # columns that vary less than this share of their mean are constant
# Bound of the rounding error of a value of at most 1.5, in single precision.
_ERROR = 1.5 * 2.0**-24
_MOST_SHARE = 1e8  # limit of `share` in `_rounding`, which avoids overflow
_MAX_SINGLE = 40  # after this many steps in single precision, double precision is used
_SPARSE_SHARE = 0.5  # an array with a smaller share of non-zeros is stored as a sparse matrix

# Features join the working set if the absolute derivative of the loss by their weight exceeds the
# share `_NEARLY` of their penalty: at most 64 at a time, or half as many as have a weight.
_NEARLY, _MOST_NEW, _NEW_SHARE = 0.95, 64, 0.5
_FEW = 20  # up to this many features are all in the working set
# A start with more weights than this and a larger relative gap than `_FAR` is replaced by zero.
_MANY, _FAR = 200, 0.6
# Columns replace the Gram matrix if a model has more features than the first number, and also more
# than rows, the second number times the share of non-zeros, or the third number.
_ALWAYS_GRAM, _GRAM_PER_DENSITY, _MOST_GRAM = 200, 6000, 4000

# The second derivatives are summed over a sample of the rows: at least 1000 rows and 10 per
# feature of the model. Up to 200 rows per feature are used if that takes about as long as a pass
# over the data.
_MIN_SAMPLE, _SAMPLE_PER_FEATURE, _MOST_PER_FEATURE, _SAMPLE_WORK = 1000, 10, 200, 10.0
# This share is added to the second derivatives, so that rounding errors of products in single or
# double precision cannot make them indefinite.
_RIDGE = {np.float32: 1e-5, np.float64: 1e-12}
# This share of the total curvature is added to each second derivative. Otherwise it would be 0 if a
# single row had all the curvature, because the bias is eliminated.
_TRACE = 1e-18
# A model is corrected (BFGS) and used again if the decrease that it predicted for its step was less
# than this share of the decrease predicted for the step before.
_KEEP = 0.3

# A warm start gets the bias at which a Newton step in the bias is smaller than `_SMALL_SHIFT`.
_MAX_SHIFTS, _SMALL_SHIFT = 50, 0.01
# After a step shorter than `_SHORT` (the full step is 1), models get more curvature than the loss,
# while the predicted decrease exceeds the share `_BIG` of the loss.
_SHORT, _BIG = 0.6, 0.1


@dataclass(frozen=True)
class Newton(Part, NodeSolver):
    """Proximal Newton solver with working sets, warm starts and instance weights.

    The method is newGLMNET (Yuan, Ho & Lin 2012) on a working set of features: those with a weight
    and the worst violators of the optimality conditions. Coordinate descent minimises the
    second-order model of the loss over it, with the free threshold eliminated. It uses a Gram
    matrix, or columns of X if there are many sparse features. When the working set is solved, the
    gradient of all features is computed, and further features join.

    Two approximations save time. They are safe because each step is judged by the exact objective.
    First, the curvature is summed over a sample of the rows. Second, a model that predicts well is
    corrected (BFGS) instead of rebuilt. If steps are too long, the next model has a larger
    curvature for misclassified rows (Jaakkola & Jordan 2000).

    Parameters
    ----------
    tol : float, default=0.001
        Relative duality gap: the objective exceeds its minimum by at most this share. If 400 steps
        are not enough, the status reports the gap that was reached.

    Notes
    -----
    *Warm starts.* A warm start with a small enough gap is returned unchanged. It is replaced by
    zero if its objective is larger than that of zero weights, if it has more weights than rows, or
    if it has more than 200 weights far from the optimum.

    *Tiny strengths.* The loss of separable rows has no minimum without a penalty. The strength for
    a column is therefore at least about a millionth of the strength above which all weights are
    zero, computed for the median column. This lower bound is clipped to 1e-7 to 1e-3 times the
    strength computed for the column itself. The duality gap is that of the problem with the raised
    strengths.

    *Precision.* X is stored in single precision, shifted and scaled. Sums use double precision. If
    rounding of X could hide an error of the size of the gap, or if 40 steps are not enough, the
    node is solved with X itself. The duality gap includes a bound of the rounding errors.

    *Memory.* X is stored by its non-zeros if more than half of its values are zero, and otherwise
    as an array: 4 or 8 bytes per stored value. The rows of a node are copied if X is sparse and
    they are at most a quarter of all rows, or if only some features are allowed.
    """

    tol: float = 1e-3
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Compute the mean and the scale of each column; see :class:`BoundSolver`."""
        X = sp.csr_matrix(canonical_csr(X)) if sp.issparse(X) else X
        n_filled = np.count_nonzero(X.data if sp.issparse(X) else X)
        if n_filled >= _SPARSE_SHARE * X.shape[0] * X.shape[1]:
            X = as_array(X)
        elif not sp.issparse(X):
            X = sp.csr_matrix(X)
        low, high = ranges(X)
        origin = np.zeros(X.shape[1])
        if not sp.issparse(X):
            # Means are rounded, so that data near the origin are not shifted and keep their digits.
            mean = X.mean(axis=0, dtype=np.float64)
            step = np.exp2(np.ceil(np.log2(np.maximum(high - low, 1e-15 * np.abs(mean) + 1e-300))))
            origin = np.round(4 * mean / step) * (step / 4)
        reach = np.maximum(high - origin, origin - low)
        varies = reach > _CONSTANT * np.abs(origin)
        bits = np.log2(reach, out=np.zeros_like(reach), where=varies)
        unit = np.exp2(np.clip(np.round(bits), -_UNIT_BITS, _UNIT_BITS))
        scale = np.where(varies, 1.0 / unit, 0.0)
        return _BoundNewton(self.tol, X, _single(X, origin, scale), origin, scale)


def _single(X, origin, scale):
    """Return X minus `origin`, times `scale`, in single precision; `origin` is 0 if X is sparse."""
    if sp.issparse(X):
        data = (X.data * scale[X.indices]).astype(np.float32)
        return sp.csr_matrix((data, X.indices, X.indptr), X.shape)
    values = np.empty(X.shape, np.float32)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        values[part] = (X[part] - origin) * scale
    return values


@dataclass(frozen=True, eq=False)
class _BoundNewton:
    """The solver with the data of one fit.

    Parameters
    ----------
    tol : float
    X : array or CSR matrix of shape (n, d)
    single : float32 array or CSR matrix of shape (n, d)
        X minus `origin`, times `scale`.
    origin : float64 array of shape (d,)
        The mean of each column; 0 if X is sparse.
    scale : float64 array of shape (d,)
        Factor of each column, after the subtraction of its origin: 1 over a power of two near its
        largest absolute value, and 0 for a constant column.
    """

    tol: float
    X: Any
    single: Any
    origin: np.ndarray
    scale: np.ndarray

    def solve(self, problem):
        """Solve one node to the relative duality gap `tol`; see :class:`BoundSolver`."""
        features, at = problem.features, np.asarray(problem.rows, np.int64)
        every = slice(None) if features is None else np.asarray(features, np.int64)
        origin, scale = self.origin[every], self.scale[every]
        start, is_complete = None, False
        if problem.warm_start is not None:
            full = np.zeros(len(self.origin))
            full[problem.warm_start.indices] = problem.warm_start.weights
            w = full[every]
            is_complete = np.count_nonzero(full) == np.count_nonzero(w)
            unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
            start = w * unit, w @ origin - problem.warm_start.threshold
        one, zero = np.ones(len(self.scale)), np.zeros(len(self.scale))
        n_steps, has_moved = 0, False
        for form in (
            NodeRows(self.single, at, zero, one, _ERROR),
            NodeRows(self.X, at, self.origin, self.scale, 0.0),
        ):
            factors = 1.0 if problem.factors is None else problem.factors
            price = problem.strength * factors * scale
            rows = form.gathered(None if features is None else every)
            descent = _Descent(rows, problem.goes_right, problem.weight, price, scale)
            if start is not None:
                descent.start(*start)
            status = descent.run(self.tol)
            n_steps, has_moved = n_steps + status.steps, has_moved or descent.has_moved
            if status.converged:
                break
            start = descent.w, descent.bias
        status = replace(status, steps=n_steps)
        if is_complete and not has_moved:
            return problem.warm_start, status
        w = descent.w * scale
        used = np.flatnonzero(w)
        threshold = float(w @ origin - descent.bias)
        indices = used if features is None else every[used]
        return Split(indices.astype(np.int32), w[used], threshold), status


# ---------------------------------------------------------------- the loss


class _State(NamedTuple):
    """The loss and its derivatives at some margins.

    Parameters
    ----------
    margin : float64 array of shape (m,)
    loss : float, total loss
    residual, curvature : float64 arrays of shape (m,)
        First and second derivative of the loss of each row by its margin.
    total : float, sum of the curvature
    shift : float
        Sum of the residuals divided by the sum of the curvature. Newton's method subtracts it from
        the bias.
    """

    margin: np.ndarray
    loss: float
    residual: np.ndarray
    curvature: np.ndarray
    total: float
    shift: float

    @classmethod
    def at(cls, margin, sign, weight):
        """Return the state at some margins."""
        residual, curvature = np.empty((2, len(margin)))
        sums = logistic(margin, sign, weight, residual, curvature)
        return cls.from_sums(margin, residual, curvature, *sums)

    @classmethod
    def from_sums(cls, margin, residual, curvature, loss, slope, total):
        """Return the state with the sums of the losses and of their two derivatives."""
        shift = slope / total if total > 0 else np.copysign(np.inf, slope)
        return cls(margin, loss, residual, curvature, total, shift)

    @property
    def balanced(self):
        """Residuals after a Newton step in the bias, to first order: their sum is 0."""
        return self.residual - self.shift * self.curvature if self.total > 0 else self.residual


def _entropies(share):
    low, high = np.maximum(share, 1e-300), np.minimum(share, 1.0 - 1e-16)
    return -share * np.log(low) - (1.0 - high) * np.log1p(-high)


# ---------------------------------------------------------------- steps


class _Descent:
    """The convex problem at one node, and the current weights in its minimisation.

    Parameters
    ----------
    rows : NodeRows
    goes_right : bool array of shape (m,)
    weight : float64 array of shape (m,), positive
    price : float64 array of shape (k,)
        Penalty on the absolute weight of each scaled column.
    scale : float64 array of shape (k,)
        The factor by which each column of X was multiplied.

    Attributes
    ----------
    w : float64 array of shape (k,), weights of the scaled columns
    bias : float
    has_moved : bool
        Whether the weights or the bias differ from those of the warm start.
    """

    def __init__(self, rows, goes_right, weight, price, scale):
        self._rows, self._scale = rows, scale
        self._sign = np.where(goes_right, 1.0, -1.0)
        self._weight = np.asarray(weight, dtype=np.float64)
        # Total weight of the rows of each side. Both are sums, because a difference could round to
        # less than 0.
        self._right = float(self._weight[goes_right].sum())
        self._left = float(self._weight[~goes_right].sum())
        self._price = np.maximum(self._at_least(price), 1e-300)
        self._least_price = self._price[scale > 0].min(initial=np.inf)
        self._sample_factor = 1
        X = rows.X
        self._row_size = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
        self._start_from_nothing()

    def _at_least(self, price):
        """Return the penalties, each at least a small share of the one that makes all weights 0."""
        scale, varies = self._scale, self._scale > 0
        share = self._right / (self._right + self._left)
        if np.all(price[varies] >= 3 * _MIN_PRICE * self._right * (1 - share)):
            return price  # the bounds below would raise no penalty, and need three passes over X
        residual = self._weight * np.where(self._sign > 0, 1 - share, share)
        # Mean deviations are used, because a single distant row would dominate the largest value.
        size = self._rows.deviations(residual)
        gradient = np.abs(self._rows.sums(-self._sign * residual))
        filled = varies & (size > 0)
        if not filled.any():
            return price
        size *= np.max(gradient[filled] / size[filled])
        # The median of the penalties is taken in the units of X, not in those of scaled columns.
        typical = np.median(size[filled] / scale[filled]) * scale
        lowest, highest = _OWN_SHARES
        return np.maximum(price, np.clip(_MIN_PRICE * typical, lowest * size, highest * size))

    def _start_from_nothing(self):
        self.w, self.bias = np.zeros(len(self._price)), np.log(self._right / self._left)
        self.has_moved, margin = True, np.full(len(self._sign), self.bias)
        self._state = _State.at(margin, self._sign, self._weight)
        self._set = np.empty(0, np.int64)

    def start(self, w, bias):
        """Start from weights with the best bias, unless zero weights have a lower objective."""
        least = self._state.loss
        self.w = w
        self._state, shift = self._with_best_bias(self._rows.products(w) + bias)
        self.bias, self.has_moved = bias + shift, shift != 0
        if self._state.loss + self._penalty() > least * (1 + 1e-12):
            self._start_from_nothing()

    def _with_best_bias(self, margin):
        """Return a state near the best bias, by a safeguarded Newton method, and its shift."""
        low, high, at = -np.inf, np.inf, 0.0
        for _ in range(_MAX_SHIFTS):
            state = _State.at(margin + at, self._sign, self._weight)
            if abs(state.shift) < _SMALL_SHIFT:
                break
            low, high = (at, high) if state.shift < 0 else (low, at)
            at -= min(max(state.shift, -5.0), 5.0)
            if not low < at < high:
                at = (low + high) / 2
        return state, at

    def _penalty(self):
        return float(self._price @ np.abs(self.w))

    def run(self, tol):
        """Take Newton steps until the relative duality gap is at most `tol`; return the Status."""
        model, n_failures = None, 0
        for step in range(min(_MAX_SINGLE, _MAX_STEPS) if self._rows.error else _MAX_STEPS):
            gradient = self._gradient()
            gap, rounding, objective = self._gap(gradient, tol)
            sure, enough = gap + rounding, tol * objective
            if sure <= enough:
                return Status(True, _relative(sure, objective), step)
            if 2 * gap <= enough and sure > gap:  # double precision is needed
                return Status(False, _relative(sure, objective), step)
            if step == 0 and self._is_too_dense(gap / objective):
                self._start_from_nothing()
                gradient = self._gradient()
            model = self._renewed(model, gradient)
            n_failures = 0 if self._advance(model, gradient[self._set]) else n_failures + 1
            if n_failures == _MAX_FAILURES:
                break
        gap, rounding, objective = self._gap(self._gradient(), tol)
        gap = _relative(gap + rounding, objective)
        return Status(gap <= tol, gap, step + 1)

    def _gradient(self):
        """Return the derivatives of the loss by all weights, after a Newton step in the bias."""
        return self._rows.sums(self._state.balanced)

    def _gap(self, gradient, tol):
        """Return the duality gap, a bound of its rounding errors, and the objective.

        The gap can be replaced by a bound on the same side of the tolerance.

        The bounds avoid logarithms. Let z_n = y_n m_n, and let v_n be the probability of the wrong
        side. By convexity, the gap is the penalty minus the sum of c_n u_n z_n, plus the sum of
        c_n K(u_n, v_n), where the Kullback-Leibler divergence K lies between 0 and
        (u_n - v_n)^2 / (v_n (1 - v_n)).
        """
        state = self._state
        shift = state.shift if state.total > 0 else 0.0
        terms = (
            state.margin,
            state.residual,
            state.curvature,
            shift,
            gradient,
            self.w,
            self._price,
        )
        scale, penalty, size, product, excess, total = gap_terms(*terms)
        objective = state.loss + penalty
        rounding = self._rounding(total * self._rows.error, size, penalty, objective)
        if abs(state.shift) >= 1:
            return np.inf, rounding, objective
        low = penalty + product
        high = low + excess
        if low > tol * objective or high <= tol * objective:
            return (low if low > tol * objective else high), rounding, objective
        entropies = _entropies(np.abs(scale * state.balanced) / self._weight)
        return objective - float(self._weight @ entropies), rounding, objective

    def _rounding(self, residual, size, penalty, objective):
        """Return a bound of the error of the duality gap that rounding of the data can cause.

        Errors of the margins change the loss. Errors of the slopes can make the dual point
        infeasible. It then has to be scaled down by a share s, which lowers its value by s times
        the penalty and by a second-order term. `residual` is the sum of the absolute residuals
        times the error of a value, and `size` is ||w||_1.
        """
        share = min(residual / self._least_price, _MOST_SHARE)
        return size * residual + share * penalty + 0.5 * share**2 * objective

    def _is_too_dense(self, gap):
        """Return whether the initial weights have too many non-zeros to be useful.

        No optimum needs more non-zero weights than there are rows. If many features have a
        non-zero weight and the relative duality gap is above `_FAR`, a search that starts from zero
        is faster, because models over all these features take long.
        """
        n_used = np.count_nonzero(self.w)
        return n_used > len(self._sign) or (n_used > _MANY and gap > _FAR)

    def _choose(self, gradient):
        """Set the working set: features with a weight, and the worst violators of optimality."""
        size = np.abs(gradient) / self._price
        used = self.w != 0
        if len(size) <= _FEW:
            used[:] = True
        size[used] = 0.0
        new = np.flatnonzero(size > _NEARLY)
        most = max(_MOST_NEW, int(_NEW_SHARE * np.count_nonzero(self.w)))
        if len(new) > most:
            new = new[np.argpartition(size[new], -most)[-most:]]
        used[new] = True
        self._set = np.flatnonzero(used)

    def _renewed(self, model, gradient):
        """Return the model for the next step: `model` with a correction, or a new one."""
        is_careful, predicted = False, np.inf
        if model is not None:
            missing = np.abs(gradient) > self._price
            missing[self._set] = False
            is_covered = not missing.any()
            if is_covered and model.is_fast and not (model.is_careful or model.by_columns):
                correct(model.matrix, model.change, gradient[self._set] - model.slope)
                return model
            # If the last step was shortened, or the predicted decreases fall slowly, the sample of
            # rows over which the second derivatives are summed may be too small.
            if model.size < 1 or (is_covered and not model.is_fast):
                self._sample_factor *= 2
            predicted = model.predicted
            is_big = predicted > _BIG * self._state.loss
            is_careful = model.size < _SHORT or (model.is_careful and is_big)
        self._choose(gradient)
        return _Model(self._second_derivatives(is_careful), is_careful, predicted)

    def _n_sample(self):
        """Return the number of rows over which a model of the working set sums the curvature."""
        m, k = len(self._sign), len(self._set)
        work = min(_SAMPLE_WORK * self._row_size * m / max(k, 1) ** 2, _MOST_PER_FEATURE * k)
        return int(max(_MIN_SAMPLE, _SAMPLE_PER_FEATURE * self._sample_factor * k, work))

    def _second_derivatives(self, is_careful):
        """Return the Gram matrix of the working set, or its columns; see :class:`_Model`."""
        curvature, k = self._secant() if is_careful else self._state.curvature, len(self._set)
        density = self._row_size / len(self._price)
        most = min(len(self._sign), _GRAM_PER_DENSITY * density, _MOST_GRAM)
        if k > max(_ALWAYS_GRAM, most):
            return *self._rows.columns(self._set), curvature
        dtype = np.float64 if is_careful else np.float32
        return gram(self._rows, self._set, curvature, self._n_sample(), dtype)

    def _secant(self):
        """Return the curvature of the loss, with larger values for misclassified rows.

        The logistic loss has almost no curvature far on the wrong side, so that a Newton step goes
        much too far. Such a row gets the curvature of the parabola that touches its loss at
        +-margin and lies above it everywhere (Jaakkola & Jordan 2000).
        """
        out, wrong = self._state.curvature.copy(), self._sign * self._state.margin < 0
        size = np.maximum(np.abs(self._state.margin[wrong]), 1e-3)
        out[wrong] = self._weight[wrong] * np.tanh(0.5 * size) / (2.0 * size)
        return out

    def _advance(self, model, slope):
        """Take one step with backtracking (Armijo condition); return whether there is one."""
        state, w, price = self._state, self.w[self._set], self._price[self._set]
        minimiser = minimise_by_columns if model.by_columns else minimise
        change = minimiser(model.matrix, slope, w, price)
        full = np.zeros_like(self.w)
        full[self._set] = change
        rows = (state.margin, state.residual, state.curvature)
        sums = (state.loss, state.total, state.shift)
        terms = (self._sign, self._weight, self._rows.products(full), w, change, price)
        size, mean, predicted, trial, found = line_search(*rows, sums, *terms)
        model.change, model.slope, model.size = change, slope, size
        model.is_fast = size == 1 and predicted < _KEEP * model.predicted
        model.predicted = predicted
        if size == 0:
            return False
        self._state = _State.from_sums(*trial, *found)
        self.w[self._set], self.bias, self.has_moved = (
            w + size * change,
            self.bias - size * mean,
            True,
        )
        return True


def _relative(gap, objective):
    return float(max(gap, 0.0) / objective) if objective > 0 else 0.0


# ---------------------------------------------------------------- second-order models


@dataclass
class _Model:
    """Second-order model of the loss over the working set, and the last step that it led to.

    Parameters
    ----------
    matrix : array of shape (k, k), or tuple
        The matrix H of second derivatives; or, for many sparse features, the arrays of their CSC
        matrix and the curvature of each row, from which it can be computed.
    is_careful : bool
        Whether curvature was added to that of the loss, which makes the step shorter.
    predicted : float
        Predicted decrease of the objective by the last step, to first order.
    change, slope : float64 arrays of shape (k,)
        The change of the weights that minimises the model, and the derivatives before it.
    size : float, length of the last step, relative to `change`; 0 if there was none
    is_fast : bool
        Whether the last step had its full length, and predicted a much smaller decrease than the
        one before.
    """

    matrix: Any
    is_careful: bool = False
    predicted: float = np.inf
    change: np.ndarray | None = None
    slope: np.ndarray | None = None
    size: float = 1.0
    is_fast: bool = False

    @property
    def by_columns(self):
        """Whether the model uses columns of X instead of a Gram matrix."""
        return isinstance(self.matrix, tuple)


def gram(rows, features, curvature, n_sample, dtype):
    """Return the second derivatives of the loss over some features, with the bias eliminated.

    Rows are sampled in proportion to their curvature.

    Parameters
    ----------
    rows : NodeRows
    features : int64 array of shape (k,)
    curvature : float64 array of shape (m,)
    n_sample : int, approximate number of sampled rows
    dtype : np.float32 or np.float64, in which products are computed

    Returns
    -------
    float64 array of shape (k, k), positive definite
    """
    total, unseen, picked = curvature.sum(), _TRACE, np.arange(len(curvature))
    if n_sample < len(curvature):
        hits = np.minimum((np.cumsum(curvature) * (n_sample / total) + 0.5).astype(int), n_sample)
        hits[1:] -= hits[:-1].copy()
        picked = np.flatnonzero(hits)
        # Rows outside of the sample may have large values.
        curvature, unseen = hits * (total / n_sample), 1.0 / n_sample
    share, part = curvature[picked] / total, rows.values(picked, features)
    part -= (part @ share.astype(part.dtype))[:, None]
    part *= rows.scale[features, None].astype(part.dtype)
    root, out = np.sqrt(share).astype(part.dtype), np.empty(part.shape, dtype)
    part = np.multiply(part, root, out=out, casting="same_kind")
    out = (part @ part.T).astype(np.float64)  # NumPy computes half of it, as it is symmetric
    diagonal = np.einsum("ii->i", out)
    diagonal *= 1.0 + _RIDGE[dtype]
    diagonal += unseen
    out *= total
    return out


def correct(matrix, change, slope_change):
    """Update a Gram matrix in place so that ``matrix @ change == slope_change`` (BFGS).

    `change` is the last change of the weights, and `slope_change` that of the slopes of the loss.
    """
    product = matrix @ change
    before, after = product @ change, slope_change @ change
    if after > 1e-2 * before > 0:
        matrix += (slope_change / after)[:, None] * slope_change
        matrix -= (product / before)[:, None] * product
