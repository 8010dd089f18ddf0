"""The Newton steps of one node, with few calls of compiled kernels; :mod:`.newton` has formulas."""

from typing import Any, NamedTuple

import numpy as np

from .._utils.jit import jit
from .newton_kernels import (
    add_rows,
    columns,
    extract,
    logistic,
    minimise,
    minimise_by_columns,
    products,
    sums,
)

_MAX_FAILURES = 4  # the solver stops after this many steps in a row without a decrease
_MOST_SHARE = 1e8  # limit of `share` in `_rounding`, which avoids overflow

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
_ARMIJO, _MAX_HALVINGS = 0.01, 30
_ROUNDING = 1e-14  # a step may raise the objective by this share, which is a rounding error


class Outcome(NamedTuple):
    """The result of :func:`descend`, apart from the weights.

    Parameters
    ----------
    bias : float
    has_moved : bool
        Whether the weights or the bias differ from those of the warm start.
    is_converged : bool
    gap : float
        The duality gap, with the bound of rounding errors, divided by the objective.
    n_steps : int
    """

    bias: float
    has_moved: bool
    is_converged: bool
    gap: float
    n_steps: int


class _Model(NamedTuple):
    """Second-order model of the loss over the working set.

    Parameters
    ----------
    features : int64 array of shape (k,), the working set
    matrix : array of shape (k, k), or tuple
        The matrix H of second derivatives; or, for many sparse features, the arrays of their CSC
        matrix and the curvature of each row, from which it can be computed.
    is_careful : bool
        Whether curvature was added to that of the loss, which makes the step shorter.
    """

    features: np.ndarray
    matrix: Any = None
    is_careful: bool = False

    @property
    def can_be_corrected(self):
        """Whether the model has a Gram matrix, without additional curvature."""
        return not (self.is_careful or isinstance(self.matrix, tuple))


class _Step(NamedTuple):
    """The last step that a model led to.

    Parameters
    ----------
    change, slope : float64 arrays of shape (k,)
        The change of the weights that minimises the model, and the derivatives before it.
    size : float, length of the step, relative to `change`; 0 if there was none
    predicted : float, predicted decrease of the objective by a full step, to first order
    is_fast : bool
        Whether the step had its full length, and predicted a much smaller decrease than the one
        before.
    """

    change: Any = None
    slope: Any = None
    size: float = 1.0
    predicted: float = np.inf
    is_fast: bool = False


def descend(rows, row_size, error, labels, price, least, w, bias, tol, most):
    """Take Newton steps until the relative duality gap is at most `tol`; return the Outcome.

    Parameters
    ----------
    rows : tuple (X, rows, origin, scale), the rows of a node, see :mod:`.newton_kernels`
    row_size : float, mean number of stored values per row of X
    error : float
        Bound of the rounding error of a value after scaling; 0 for double precision. The solver
        stops early if only double precision can reach `tol`.
    labels : tuple of two float64 arrays of shape (m,)
        The side of each row, 1.0 for the right and -1.0 for the left, and its positive weight.
    price : float64 array of shape (d,)
        Penalty on the absolute weight of each scaled column.
    least : float, the least penalty of a column that is not constant
    w : float64 array of shape (d,)
        The weights from which the solver starts. The final ones are written to it.
    bias : float or None
        The bias of the start. None stands for a start from zero weights.
    tol : float
    most : int, maximum number of steps
    """
    state, found, bias, has_moved = _start(rows, labels, price, w, bias)
    model, last = _Model(np.empty(0, np.int64)), _Step()
    n_steps, n_failures, sample_factor = 0, 0, 1
    while True:
        terms = (state, found, labels[1], price, w, model.features, tol)
        gradient, is_covered, gap, residual, size, penalty = assess(*rows, *terms)
        objective = found[0] + penalty
        sure = gap + _rounding(residual * error, least, size, penalty, objective)
        is_converged = sure <= tol * objective
        needs_double = 2 * gap <= tol * objective and sure > gap
        is_last = n_failures == _MAX_FAILURES or n_steps == most
        if is_converged or needs_double or is_last:
            gap = max(sure, 0.0) / objective if objective > 0 else 0.0
            return Outcome(bias, has_moved, is_converged, gap, n_steps)
        if n_steps == 0 and _is_too_dense(w, len(labels[0]), gap / objective):
            state, found, bias, has_moved = _start(rows, labels, price, w, None)
            continue
        if is_covered and last.is_fast and model.can_be_corrected:
            correct(model.matrix, last.change, gradient[model.features] - last.slope)
        else:
            # If the last step was shortened, or the predicted decreases fall slowly, the sample of
            # rows over which the second derivatives are summed may be too small.
            if last.size < 1 or (is_covered and n_steps and not last.is_fast):
                sample_factor *= 2
            is_big = last.predicted > _BIG * found[0]
            is_careful = last.size < _SHORT or (model.is_careful and is_big)
            curvature = _secant(state, *labels) if is_careful else state[2]
            features = _working_set(gradient, w, price)
            terms = (features, curvature, is_careful, sample_factor)
            model = _Model(features, _second_derivatives(rows, row_size, *terms), is_careful)
        features, slope = model.features, gradient[model.features]
        change = _minimum(model, slope, w[features], price[features])
        terms = (state, found, *labels, features, change, w, price)
        size, mean, predicted, found = line_search(*rows, *terms)
        is_fast = size == 1 and predicted < _KEEP * last.predicted
        last = _Step(change, slope, size, predicted, is_fast)
        n_steps, n_failures = n_steps + 1, n_failures + 1
        if size > 0:
            bias, has_moved, n_failures = bias - size * mean, True, 0


def _rounding(residual, least, size, penalty, objective):
    """Return a bound of the error of the duality gap that rounding of the data can cause.

    Errors of the margins change the loss. Errors of the slopes can make the dual point
    infeasible. It then has to be scaled down by a share s, which lowers its value by s times the
    penalty and by a second-order term. `residual` is the sum of the absolute residuals times the
    error of a value, and `size` is ||w||_1.
    """
    share = min(residual / least, _MOST_SHARE)
    return size * residual + share * penalty + 0.5 * share**2 * objective


def _is_too_dense(w, n_rows, gap):
    """Return whether the initial weights have too many non-zeros to be useful.

    No optimum needs more non-zero weights than there are rows. If many features have a non-zero
    weight and the relative duality gap is above `_FAR`, a search that starts from zero is faster,
    because models over all these features take long.
    """
    n_used = np.count_nonzero(w)
    return n_used > n_rows or (n_used > _MANY and gap > _FAR)


def _secant(state, sign, weight):
    """Return the curvature of the loss, with larger values for misclassified rows.

    The logistic loss has almost no curvature far on the wrong side, so that a Newton step goes
    much too far. Such a row gets the curvature of the parabola that touches its loss at +-margin
    and lies above it everywhere (Jaakkola & Jordan 2000).
    """
    margin, _, curvature = state
    wrong, size = sign * margin < 0, np.maximum(np.abs(margin), 1e-3)
    return np.where(wrong, weight * np.tanh(0.5 * size) / (2.0 * size), curvature)


def _start(rows, labels, price, w, bias):
    """Start from weights with the best bias, unless zero weights have a lower objective.

    Returns
    -------
    state, sums : the state and its sums
    bias : float, the best bias, approximately
    has_moved : bool, whether it differs from the initial bias, or `w` was set to zero
    """
    sign, weight = labels
    state, is_right = np.empty((3, len(sign))), sign > 0
    # Both sides are summed, because a difference could round to less than 0.
    zero_bias = np.log(weight[is_right].sum() / weight[~is_right].sum())
    state[0] = zero_bias
    found = complete(state, *labels)
    if bias is not None:
        used = np.flatnonzero(w)
        margin = products(*rows, used, w[used])
        margin += bias
        warm, warm_found, shift = _with_best_bias(margin, labels)
        if warm_found[0] + float(price @ np.abs(w)) <= found[0] * (1 + 1e-12):
            return warm, warm_found, bias + shift, shift != 0
    w[:] = 0.0
    return state, found, zero_bias, True


def _with_best_bias(margin, labels):
    """Return a state near the best bias, by a safeguarded Newton method, its sums and its shift."""
    low, high, at, state = -np.inf, np.inf, 0.0, np.empty((3, len(margin)))
    for _ in range(_MAX_SHIFTS):
        np.add(margin, at, out=state[0])
        found = complete(state, *labels)
        if abs(found[2]) < _SMALL_SHIFT:
            break
        low, high = (at, high) if found[2] < 0 else (low, at)
        at -= min(max(found[2], -5.0), 5.0)
        if not low < at < high:
            at = (low + high) / 2
    return state, found, at


def _working_set(gradient, w, price):
    """Return the features with a weight and the worst violators of optimality, in order."""
    if len(w) <= _FEW:
        return np.arange(len(w))
    size, used = np.abs(gradient) / price, w != 0
    size[used] = 0.0
    new = np.flatnonzero(size > _NEARLY)
    most = max(_MOST_NEW, int(_NEW_SHARE * np.count_nonzero(used)))
    if len(new) > most:
        new = new[np.argpartition(size[new], -most)[-most:]]
    used[new] = True
    return np.flatnonzero(used)


def _second_derivatives(rows, row_size, features, curvature, is_careful, sample_factor):
    """Return the `matrix` of a _Model."""
    _, at, _, scale = rows
    m, k = len(at), len(features)
    most = min(m, _GRAM_PER_DENSITY * row_size / len(scale), _MOST_GRAM)
    if k > max(_ALWAYS_GRAM, most):
        return *columns(*rows, features), curvature
    work = min(_SAMPLE_WORK * row_size * m / max(k, 1) ** 2, _MOST_PER_FEATURE * k)
    n_sample = int(max(_MIN_SAMPLE, _SAMPLE_PER_FEATURE * sample_factor * k, work))
    return gram(rows, features, curvature, n_sample, np.float64 if is_careful else np.float32)


def gram(rows, features, curvature, n_sample, dtype):
    """Return the second derivatives of the loss over some features, with the bias eliminated.

    Parameters
    ----------
    rows : tuple (X, rows, origin, scale)
    features : int64 array of shape (k,)
    curvature : float64 array of shape (m,)
    n_sample : int, approximate number of sampled rows
    dtype : np.float32 or np.float64, in which products are computed

    Returns
    -------
    float64 array of shape (k, k), positive definite
    """
    # Rows outside of the sample may have large values.
    unseen = 1.0 / n_sample if n_sample < len(curvature) else _TRACE
    n_sample = min(n_sample, len(curvature))
    part = np.empty((len(features), n_sample), dtype)
    part = part[:, : sample(*rows, features, curvature, n_sample, part)]
    out = (part @ part.T).astype(np.float64)  # NumPy computes half of it, as it is symmetric
    diagonal = out.reshape(-1)[:: len(out) + 1]
    diagonal *= 1.0 + _RIDGE[dtype]
    diagonal += unseen
    out *= curvature.sum()
    return out


def _minimum(model, slope, w, price):
    """Return the change of the weights that minimises a model and the penalty."""
    if isinstance(model.matrix, tuple):
        return minimise_by_columns(*model.matrix, slope, w, price)
    return minimise(model.matrix, slope, w, price)


# ---------------------------------------------------------------- kernels

# A state is the array of the margins, and of the first and second derivatives of the loss of each
# row by its margin (residuals and curvature): float64 array of shape (3, m). Its sums are the loss,
# the sum of the curvature, and the shift, which is the sum of the residuals divided by that of the
# curvature. A step of Newton's method subtracts the shift from the bias.


@jit
def complete(state, sign, weight):
    """Compute the derivatives of a state at its margins, and return its sums."""
    loss, slope, total = logistic(state[0], sign, weight, state[1], state[2])
    return loss, total, slope / total if total > 0.0 else np.copysign(np.inf, slope)


@jit
def assess(X, rows, origin, scale, state, sums_of_state, weight, price, w, features, tol):
    """Return the gradient and what is needed for the duality gap and its rounding errors.

    The bounds of the gap avoid logarithms. Let z_n = y_n m_n, and let v_n be the probability of
    the wrong side. By convexity, the gap is the penalty minus the sum of c_n u_n z_n, plus the sum
    of c_n K(u_n, v_n), where the Kullback-Leibler divergence K lies between 0 and
    (u_n - v_n)^2 / (v_n (1 - v_n)).

    Returns
    -------
    gradient : float64 array of shape (d,)
        The derivatives of the loss by all weights, after a Newton step in the bias.
    is_covered : bool
        Whether only weights of `features` violate the optimality conditions.
    gap : float, the duality gap, or a bound on the same side of the tolerance
    residual, size, penalty : float
        The sums of the absolute residuals, of |w_j| and of price_j |w_j|.
    """
    margin, slopes, curvature = state[0], state[1], state[2]
    loss, total, shift = sums_of_state
    balanced = np.empty(margin.shape[0])  # residuals after a step in the bias; their sum is 0
    for r in range(margin.shape[0]):
        balanced[r] = slopes[r] - (shift * curvature[r] if total > 0.0 else 0.0)
    gradient = sums(X, rows, origin, scale, balanced)
    most, penalty, size, n_covered, is_covered = 1.0, 0.0, 0.0, 0, True
    for j in range(w.shape[0]):
        size += abs(w[j])
        penalty += price[j] * abs(w[j])
        most = max(most, abs(gradient[j]) / price[j])
        if n_covered < features.shape[0] and features[n_covered] == j:
            n_covered += 1
        elif abs(gradient[j]) > price[j]:
            is_covered = False
    # `factor` is the largest q of at most 1 that makes the dual point feasible.
    factor, low, excess, residual = 1.0 / most, penalty, 0.0, 0.0
    for r in range(margin.shape[0]):
        dual = factor * balanced[r]
        change = dual - slopes[r]
        low += dual * margin[r]
        excess += change * change / max(curvature[r], 1e-300)
        residual += abs(slopes[r])
    enough = tol * (loss + penalty)
    gap = low if low > enough else low + excess
    if abs(shift) >= 1.0:
        gap = np.inf
    elif low <= enough < gap:
        gap = loss + penalty
        for r in range(margin.shape[0]):
            u = abs(factor * balanced[r]) / weight[r]
            rest = 1.0 - min(u, 1.0 - 1e-16)
            gap += weight[r] * (u * np.log(max(u, 1e-300)) + rest * np.log(rest))
    return gradient, is_covered, gap, residual, size, penalty


@jit
def sample(X, rows, origin, scale, features, curvature, n_sample, part):
    """Write a sample of the rows to the columns of `part`; return their number.

    Rows are sampled in proportion to their curvature. The mean of the sample is subtracted, and
    each row is multiplied by the square root of its share in the curvature.

    Parameters
    ----------
    X, rows, origin, scale : the rows of a node, see :mod:`.newton_kernels`
    features : int64 array of shape (k,)
    curvature : float64 array of shape (m,)
    n_sample : int, the most rows, at most m
    part : float32 or float64 array of shape (k, n_sample)
    """
    m, n, n_before, total, so_far = rows.shape[0], 0, 0, 0.0, 0.0
    for r in range(m):
        total += curvature[r]
    some, share, root = np.empty(n_sample, np.int64), np.empty(n_sample), np.empty(n_sample)
    for r in range(m):
        so_far += curvature[r]
        n_hits = min(int(so_far * (n_sample / total) + 0.5), n_sample) - n_before
        if n_hits > 0 or n_sample == m:
            some[n] = rows[r]
            share[n] = curvature[r] / total if n_sample == m else n_hits / n_sample
            root[n] = np.sqrt(share[n])
            n, n_before = n + 1, n_before + n_hits
    center = np.zeros(scale.shape[0])
    add_rows(X, some[:n], share[:n], center)
    extract(X, some[:n], features, center, scale, root[:n], part)
    return n


@jit
def correct(matrix, change, slope_change):
    """Update a Gram matrix in place so that ``matrix @ change == slope_change`` (BFGS).

    `change` is the last change of the weights, and `slope_change` that of the slopes of the loss.
    """
    k, before, after = change.shape[0], 0.0, 0.0
    product = np.zeros(k)
    for i in range(k):
        row = matrix[i]
        for j in range(k):
            product[j] += change[i] * row[j]
    for i in range(k):
        before += product[i] * change[i]
        after += slope_change[i] * change[i]
    if after > 1e-2 * before > 0.0:
        for i in range(k):
            row, a, b = matrix[i], slope_change[i] / after, product[i] / before
            for j in range(k):
                row[j] += a * slope_change[j] - b * product[j]


@jit
def line_search(
    X, rows, origin, scale, state, sums_of_state, sign, weight, features, change, w, price
):
    """Search along a change of the weights by backtracking (Armijo condition).

    The bias is eliminated. The weights `w` and the state are changed in place.

    Returns
    -------
    size : float, length of the step; 0 if there is none
    mean : float, decrease of the bias by a full step
    predicted : float, decrease of the objective by a full step, to first order
    sums : the sums of the state after the step
    """
    before, total, shift = sums_of_state
    direction = products(X, rows, origin, scale, features, change)
    mean, predicted, size = 0.0, 0.0, 1.0
    for r in range(direction.shape[0]):
        mean += state[2, r] * direction[r]
    mean = mean / total + shift
    for r in range(direction.shape[0]):
        direction[r] -= mean
        predicted -= state[1, r] * direction[r]
    for f in range(features.shape[0]):
        old, step, p = w[features[f]], change[f], price[features[f]]
        new = old + step
        before += p * abs(old)
        # The rise of |w| is computed without rounding errors of the size of w.
        rise = (step if old > 0.0 else -step) if old * new > 0.0 else abs(new) - abs(old)
        predicted -= p * rise
    if not 0.0 < predicted < np.inf:
        return 0.0, mean, predicted, sums_of_state
    margin = state[0].copy()
    for _ in range(_MAX_HALVINGS):
        _move(state, margin, direction, size)
        found = complete(state, sign, weight)
        objective = found[0]
        for f in range(features.shape[0]):
            objective += price[features[f]] * abs(w[features[f]] + size * change[f])
        if objective <= before * (1.0 + _ROUNDING) - _ARMIJO * size * predicted:
            for f in range(features.shape[0]):
                w[features[f]] += size * change[f]
            return size, mean, predicted, found
        size /= 2.0
    _move(state, margin, direction, 0.0)
    complete(state, sign, weight)
    return 0.0, mean, predicted, sums_of_state


@jit
def _move(state, margin, direction, size):
    # A loop, because the assignment of an array to a slice takes seconds to compile.
    for r in range(margin.shape[0]):
        state[0, r] = margin[r] + size * direction[r]
