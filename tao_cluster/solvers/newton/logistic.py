"""The logistic loss of weighted rows: derivatives, best bias, line search, duality gap."""

import numpy as np

from ...core.jit import jit

# Rows of a state: the margins w.x + b, then of each row's loss the value and the derivatives.
MARGIN, LOSS, RESIDUAL, CURVATURE = 0, 1, 2, 3

_ARMIJO = 0.01
_ROUNDING = 1e-14  # of the objective: steps that promise less still improve the slopes
_FLAT = 1e-10  # slope by the bias, as a share of the residuals' sizes
_TINY_SHIFT = 1e-5  # of the margins: what a series of two terms leaves out is 1e-10 of that
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


@jit
def _sum(values):
    """Sum in eight strands, which do not wait for each other."""
    n = values.shape[0]
    parts = np.zeros(8)
    whole = n - n % 8
    for r in range(0, whole, 8):
        for i in range(8):
            parts[i] += values[r + i]
    for r in range(whole, n):
        parts[0] += values[r]
    return parts.sum()


@jit(error_model="numpy")  # a test for division by zero would keep it from vector instructions
def _evaluate(state, sign, weight):
    """Fill the rows LOSS, RESIDUAL and CURVATURE of a state from its row MARGIN.

    Loops without branches or calls, which compile to vector instructions: exp(-a) and
    log(1 + e) by their series, to full relative precision.
    """
    margin, loss = state[MARGIN], state[LOSS]
    residual, curvature = state[RESIDUAL], state[CURVATURE]
    n = margin.shape[0]
    bits = np.empty(n, np.int64)
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
        bits[r] = (1023 - bits[r]) << 52  # those of 2 ** -whole
    power = bits.view(np.float64)
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


@jit
def _settle(state, sign, weight):
    """Shift the margins to the best bias: safeguarded Newton in one dimension."""
    low, high, at = -np.inf, np.inf, 0.0
    for _ in range(50):
        slope = _sum(state[RESIDUAL])
        # Relative to the residuals, not to the weights: separable rows have small ones.
        if abs(slope) <= _FLAT * np.sum(np.abs(state[RESIDUAL])):
            break
        if slope < 0:
            low = at
        else:
            high = at
        total = _sum(state[CURVATURE])
        step = -np.sign(slope)
        if total > 0:
            step = min(max(-slope / total, -5.0), 5.0)
        if abs(step) < _TINY_SHIFT:
            _nudge(state, step)
            break
        if not low < at + step < high:
            step = (low + high) / 2 - at
        at += step
        state[MARGIN] += step
        _evaluate(state, sign, weight)


@jit
def _nudge(state, step):
    """Shift the margins by so little that a series does for what follows from them."""
    for r in range(state.shape[1]):
        change = step * state[CURVATURE, r]
        state[LOSS, r] += step * state[RESIDUAL, r] + 0.5 * step * change
        state[MARGIN, r] += step
        state[RESIDUAL, r] += change


@jit
def start(margin, sign, weight):
    """State of some margins, shifted to the best bias.

    Parameters
    ----------
    margin, sign, weight : float64 arrays of shape (m,); signs are +-1, both are present

    Returns
    -------
    state : float64 array of shape (4, m)
    excess : float, loss of the margins given minus that of the state
    """
    state = np.empty((4, margin.shape[0]))
    state[MARGIN] = margin
    _evaluate(state, sign, weight)
    loss = _sum(state[LOSS])
    _settle(state, sign, weight)
    return state, loss - _sum(state[LOSS])


@jit
def loss_of(state):
    """Loss of a state."""
    return _sum(state[LOSS])


@jit
def secant(state, weight):
    """Curvature that tells rows on the wrong side how the loss goes on to their border.

    Far on the wrong side a row's loss has hardly any curvature, and a step that trusts that goes
    much too far. Here, such a row has that of the parabola that touches its loss at +-margin
    and lies above it everywhere (Jaakkola & Jordan 2000).
    """
    out = state[CURVATURE].copy()
    for r in range(weight.shape[0]):
        if abs(state[RESIDUAL, r]) > 0.5 * weight[r]:
            a = max(abs(state[MARGIN, r]), 1e-3)
            out[r] = weight[r] * np.tanh(0.5 * a) / (2.0 * a)
    return out


@jit
def along(state, sign, weight, direction):
    """Curvature of the parabola that touches each row's loss and meets it again after a step.

    Parameters
    ----------
    state, sign, weight : see :func:`start`
    direction : float64 array of shape (m,), change of the margins

    Returns
    -------
    float64 array of shape (m,)
    """
    trial = np.empty_like(state)
    trial[MARGIN] = state[MARGIN] + direction
    _evaluate(trial, sign, weight)
    out = state[CURVATURE].copy()
    for r in range(weight.shape[0]):
        step = direction[r]
        if abs(step) > 1e-2:
            rise = trial[LOSS, r] - state[LOSS, r] - step * state[RESIDUAL, r]
            out[r] = max(out[r], 2.0 * rise / (step * step))
    return out


@jit
def centred(direction, curvature):
    """Change of the margins, the bias included, if their curvature is given."""
    return direction - np.dot(curvature, direction) / _sum(curvature)


@jit
def search(state, sign, weight, direction, promised, weights, change, price):
    """Go along a direction as far as the objective decreases about as promised.

    Parameters
    ----------
    state, sign, weight : see :func:`start`
    direction : float64 array of shape (m,), change of the margins
    promised : float, decrease of the objective to first order
    weights, change : float64 arrays of shape (k,), what the direction comes from
    price : float64 array of shape (k,), of the weights' absolute values

    Returns
    -------
    size : float, length of the step; 0 if there is none
    state : float64 array of shape (4, m), the state there
    """
    trial = np.empty_like(state)
    objective = _sum(state[LOSS]) + np.dot(price, np.abs(weights))
    limit = objective * (1.0 + _ROUNDING)
    size = 1.0
    for _ in range(30):
        for r in range(direction.shape[0]):
            trial[MARGIN, r] = state[MARGIN, r] + size * direction[r]
        _evaluate(trial, sign, weight)
        reached = _sum(trial[LOSS]) + np.dot(price, np.abs(weights + size * change))
        if reached <= limit - _ARMIJO * size * promised:
            _settle(trial, sign, weight)
            return size, trial
        size /= 2
    return 0.0, state


@jit
def gap(state, weight, penalty, scale, enough):
    """Duality gap of a state with the best bias, or a bound that is as good.

    Parameters
    ----------
    state, weight : see :func:`start`
    penalty : float, of the weights behind the state
    scale : float, at most 1: makes the residuals a dual point, no gradient of which exceeds the
        price
    enough : float

    Returns
    -------
    float, a bound of the gap where that tells whether it exceeds `enough`: a lower one if it
    does, an upper one if not. Exact values take two logarithms a row.
    """
    product, first, second = _expansion(state)
    least, less = penalty + product, 1.0 - scale  # `least`: if the residuals were a dual point
    low = least - less * product + first * (less + scale * np.log(scale))
    high = least - less * product + 0.5 * second * less * less / scale
    if low > enough or high <= enough:
        return low if low > enough else high
    return exact_gap(state, weight, penalty, scale)


@jit
def exact_gap(state, weight, penalty, scale):
    """Duality gap of a state with the best bias; see :func:`gap`."""
    margin, residual = state[MARGIN], state[RESIDUAL]
    out = penalty + np.dot(residual, margin)
    for r in range(margin.shape[0]):
        share = min(abs(residual[r]) / weight[r], 1.0)
        out += weight[r] * (_entropy(share) - _entropy(scale * share))
    return out


@jit(error_model="numpy")
def _expansion(state):
    """What bounds the change of the entropy when the residuals are scaled.

    With shares a = |residual| / weight: its derivative at scale 1 is the first; its second
    derivative at scale s is between -second / s, for s < 1, and -first / s.
    """
    n = state.shape[1]
    first, second = np.empty(n), np.empty(n)
    for r in range(n):
        first[r] = abs(state[RESIDUAL, r])
        second[r] = first[r] * first[r] / max(state[CURVATURE, r], 1e-300)
    return np.dot(state[RESIDUAL], state[MARGIN]), _sum(first), _sum(second)


@jit
def _entropy(share):
    if share <= 0.0 or share >= 1.0:
        return 0.0
    return -share * np.log(share) - (1.0 - share) * np.log1p(-share)
