"""The weighted logistic loss of rows: derivatives, the best bias, line search and duality gap."""

import numpy as np
from scipy.special import xlog1py, xlogy

from .._utils.jit import jit

# A state is an array of shape (4, m) for m rows of X. Its rows are the margin w.x + b of each row,
# the loss of the row, and the first and the second derivative of the loss by the margin.
MARGIN, LOSS, RESIDUAL, CURVATURE = 0, 1, 2, 3

_ARMIJO = 0.01
_ROUNDING = 1e-14  # a step may raise the objective by this share, which is a rounding error
_MAX_SHIFTS = 51  # maximum number of Newton iterations towards the best bias
# The bias is optimal if the absolute value of the sum of residuals is at most this share of the sum
# of their absolute values.
_FLAT = 1e-10
# If all margins shift by less than this, two terms of the Taylor series give the changed losses
# with an error of about 1e-10.
_TINY_SHIFT = 1e-5
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


@jit(inline="always")
def _fill(state, sign, weight, bits):
    """Compute the loss and its two derivatives from the margin in each column of a state.

    With a = |margin|, e = exp(-a) and log(1 + e) are computed by their series, to full relative
    precision. Such loops without branches or calls compile to vector instructions. `bits` is a
    workspace of one int64 per row.
    """
    margin, loss = state[MARGIN], state[LOSS]
    residual, curvature = state[RESIDUAL], state[CURVATURE]
    n, power = bits.shape[0], bits.view(np.float64)
    for r in range(n):
        bits[r] = np.int64(min(abs(margin[r]), 700.0) * _LOG2_E + 0.5)
    for r in range(n):
        whole = np.float64(bits[r])
        x = whole * _LN2_HIGH - min(abs(margin[r]), 700.0) + whole * _LN2_LOW
        series = 1 / 6227020800
        series = (series * x + 1 / 479001600) * x + 1 / 39916800
        series = (series * x + 1 / 3628800) * x + 1 / 362880
        series = (series * x + 1 / 40320) * x + 1 / 5040
        series = (series * x + 1 / 720) * x + 1 / 120
        series = (series * x + 1 / 24) * x + 1 / 6
        series = (series * x + 0.5) * x + 1.0
        loss[r] = series * x + 1.0
        bits[r] = (1023 - bits[r]) << 52  # the bits of the float64 number 2 ** -whole
    for r in range(n):
        e = loss[r] * power[r]
        inverse = 1.0 / (1.0 + e)
        signed = sign[r] * margin[r]
        residual[r] = -sign[r] * weight[r] * (e if signed > 0 else 1.0) * inverse
        curvature[r] = weight[r] * e * inverse * inverse
        s = e / (2.0 + e)
        q = s * s
        series = 1 / 33
        series = (series * q + 1 / 31) * q + 1 / 29
        series = (series * q + 1 / 27) * q + 1 / 25
        series = (series * q + 1 / 23) * q + 1 / 21
        series = (series * q + 1 / 19) * q + 1 / 17
        series = (series * q + 1 / 15) * q + 1 / 13
        series = (series * q + 1 / 11) * q + 1 / 9
        series = (series * q + 1 / 7) * q + 1 / 5
        series = (series * q + 1 / 3) * q + 1.0
        loss[r] = weight[r] * (max(-signed, 0.0) + 2.0 * s * series)


@jit(inline="always")
def _add_up(state, sums):
    """Write four sums over the rows of X in a state to `sums[:, 0]`.

    They are the sums of the losses, of their first derivatives (residuals), of the absolute values
    of these, and of the second derivatives (curvatures). `sums` is a float64 array of shape (4, 8):
    eight independent partial sums let the processor overlap additions.
    """
    loss, residual, curvature = state[LOSS], state[RESIDUAL], state[CURVATURE]
    losses, slopes, sizes, totals = sums[0], sums[1], sums[2], sums[3]
    n, in_eights = loss.shape[0], loss.shape[0] - loss.shape[0] % 8
    for j in range(4):
        for i in range(8):
            sums[j, i] = 0.0
    for r in range(0, in_eights, 8):
        for i in range(8):
            losses[i] += loss[r + i]
            slopes[i] += residual[r + i]
            sizes[i] += abs(residual[r + i])
            totals[i] += curvature[r + i]
    for r in range(in_eights, n):
        losses[0] += loss[r]
        slopes[0] += residual[r]
        sizes[0] += abs(residual[r])
        totals[0] += curvature[r]
    for i in range(1, 8):
        for j in range(4):
            sums[j, 0] += sums[j, i]


@jit(inline="always")
def _nudge(state, step):
    """Add a small number to all margins, and update the loss by two terms of its Taylor series."""
    for r in range(state.shape[1]):
        change = step * state[CURVATURE, r]
        state[LOSS, r] += step * (state[RESIDUAL, r] + 0.5 * change)
        state[MARGIN, r] += step
        state[RESIDUAL, r] += change


@jit(error_model="numpy")
def _evaluate(state, sign, weight, enough):
    """Compute the loss and its two derivatives from the margin in each column of a state.

    If the total loss is at most `enough`, also add the best bias to all margins. A safeguarded
    Newton method in one dimension finds it.

    Returns
    -------
    float, loss of the given margins
    """
    bits, sums = np.empty(state.shape[1], np.int64), np.empty((4, 8))
    low, high, at, given = -np.inf, np.inf, 0.0, 0.0
    for shift in range(_MAX_SHIFTS):
        _fill(state, sign, weight, bits)
        _add_up(state, sums)
        loss, slope, size, total = sums[0, 0], sums[1, 0], sums[2, 0], sums[3, 0]
        given = loss if shift == 0 else given
        # The tolerance is relative to the residuals, which are small if a test separates the rows
        # well. A tolerance relative to the weights would then be too large.
        if given > enough or abs(slope) <= _FLAT * size:
            break
        if slope < 0:
            low, step = at, 1.0
        else:
            high, step = at, -1.0
        if total > 0:
            step = min(max(-slope / total, -5.0), 5.0)
        if abs(step) < _TINY_SHIFT:
            _nudge(state, step)
            break
        if not low < at + step < high:
            step = (low + high) / 2 - at
        at += step
        for r in range(state.shape[1]):
            state[MARGIN, r] += step
    return given


def start(margin, sign, weight):
    """Return the state for given margins after the best bias is added to them.

    Parameters
    ----------
    margin, sign, weight : float64 arrays of shape (m,); signs are +-1, both are present

    Returns
    -------
    state : float64 array of shape (4, m)
    excess : float, loss of the given margins minus that of the state
    """
    state = np.empty((4, len(margin)))
    state[MARGIN] = margin
    loss = _evaluate(state, sign, weight, np.inf)
    return state, loss - loss_of(state)


def loss_of(state):
    """Return the total loss of the rows of a state."""
    return float(state[LOSS].sum())


def secant(state, weight):
    """Return second derivatives of the loss per row, with larger ones for misclassified rows.

    The logistic loss has almost no curvature far on the wrong side, so that a Newton step goes much
    too far. Such a row gets the curvature of the parabola that touches its loss at +-margin and
    lies above it everywhere (Jaakkola & Jordan 2000).
    """
    out, wrong = state[CURVATURE].copy(), np.abs(state[RESIDUAL]) > 0.5 * weight
    size = np.maximum(np.abs(state[MARGIN, wrong]), 1e-3)
    out[wrong] = weight[wrong] * np.tanh(0.5 * size) / (2.0 * size)
    return out


def along(state, sign, weight, direction):
    """Return, per row, the curvature of the parabola that equals the loss before and after a step.

    Before the step, the parabola has the slope of the loss, too.

    Parameters
    ----------
    state, sign, weight : see :func:`start`
    direction : float64 array of shape (m,), change of the margins

    Returns
    -------
    float64 array of shape (m,)
    """
    trial, out = np.empty_like(state), state[CURVATURE].copy()
    trial[MARGIN] = state[MARGIN] + direction
    _evaluate(trial, sign, weight, -np.inf)
    far = np.abs(direction) > 1e-2
    step = direction[far]
    rise = trial[LOSS, far] - state[LOSS, far] - step * state[RESIDUAL, far]
    out[far] = np.maximum(out[far], 2.0 * (rise / step) / step)  # rise / step ** 2 could overflow
    return out


def centred(direction, curvature):
    """Return a change of the margins without its mean, weighted by the curvature of each row.

    This adds the change of the bias that is best for the second-order model.
    """
    return direction - (curvature @ direction) / curvature.sum()


def search(state, sign, weight, direction, predicted, weights, change, price):
    """Search for a step along a direction by backtracking (Armijo condition).

    Parameters
    ----------
    state, sign, weight : see :func:`start`
    direction : float64 array of shape (m,), change of the margins
    predicted : float, first-order decrease of the objective
    weights, change : float64 arrays of shape (k,)
        Weights and their change, which gave the direction.
    price : float64 array of shape (k,), penalties on the absolute weights

    Returns
    -------
    size : float, length of the step; 0 if there is none
    state : float64 array of shape (4, m), the state after the step
    """
    trial = np.empty_like(state)
    loss, penalty = loss_of(state), price @ np.abs(weights)
    limit = loss + penalty + _ROUNDING * (loss + penalty)
    size = 1.0
    for _ in range(30):
        np.multiply(direction, size, out=trial[MARGIN])
        trial[MARGIN] += state[MARGIN]
        enough = limit - _ARMIJO * size * predicted - price @ np.abs(weights + size * change)
        if _evaluate(trial, sign, weight, enough) <= enough:
            return size, trial
        size /= 2
    return 0.0, state


def gap(state, weight, penalty, scale, enough):
    """Return the duality gap of a state with the best bias, or a bound of the gap.

    A bound is enough if it shows on which side of `enough` the gap is.

    Parameters
    ----------
    state, weight : see :func:`start`
    penalty : float, penalty of the weights that gave the state
    scale : float, at most 1
        The residuals times this number are a feasible point of the dual problem: no component of
        the scaled gradient exceeds its penalty.
    enough : float, the value with which the caller compares the gap

    Returns
    -------
    float
        A lower bound of the gap if it exceeds `enough`, an upper bound if it does not. The bounds
        avoid two logarithms per row.
    """
    product, first, second = _expansion(state)
    less = 1.0 - scale
    least = penalty + product  # this would be the gap if the residuals were dual feasible
    low = least - less * product + first * (less + scale * np.log(scale))
    high = least - less * product + 0.5 * second * less * less / scale
    if low > enough or high <= enough:
        return low if low > enough else high
    return exact_gap(state, weight, penalty, scale)


def exact_gap(state, weight, penalty, scale):
    """Return the duality gap of a state with the best bias; see :func:`gap`."""
    share = np.minimum(np.abs(state[RESIDUAL]) / weight, 1.0)
    entropies = _entropy(share) - _entropy(scale * share)
    return penalty + state[RESIDUAL] @ state[MARGIN] + weight @ entropies


@jit(error_model="numpy")
def _expansion(state):
    """Return (product, first, second): a derivative of an entropy, and bounds of its curvature.

    Let E(s) be the weighted sum of the entropies of s * |residual| / weight. Then E'(1) is
    -product, and E''(s) lies between -second / s and -first / s for 0 < s <= 1.
    """
    product, first, second = 0.0, 0.0, 0.0
    for r in range(state.shape[1]):
        residual = state[RESIDUAL, r]
        product += residual * state[MARGIN, r]
        first += abs(residual)
        second += residual * residual / max(state[CURVATURE, r], 1e-300)
    return product, first, second


def _entropy(share):
    return -xlogy(share, share) - xlog1py(1.0 - share, -share)
