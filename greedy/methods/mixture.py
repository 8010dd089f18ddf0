"""Trees of Gaussian mixtures: a leaf a component, in time that does not depend on the rows."""

import math
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_array, column_or_1d

from tao_cluster._utils.jit import jit
from tao_cluster._utils.matrices import check_centers, check_kind
from tao_cluster._utils.threads import one_thread
from tao_cluster.tree import Split
from tao_cluster.tree.growth import grow_by_levels

COVARIANCE_TYPES = {"full", "tied", "diag", "spherical"}
CRITERIA = {"error", "ratio"}

_GRID = 32  # thresholds between two means that are looked at before the best is refined
_STEPS = 60  # of a refinement; each shrinks an interval by a third or more
_TIE = 1e-9  # relative difference below which two values are equal


@validate_params(
    {
        "weights": ["array-like"],
        "means": ["array-like"],
        "covariances": ["array-like", Real],
        "covariance_type": [StrOptions(COVARIANCE_TYPES)],
        "criterion": [StrOptions(CRITERIA)],
    },
    prefer_skip_nested_validation=True,
)
@one_thread()
def build_mixture_tree(weights, means, covariances, *, covariance_type="full", criterion="error"):
    """Tree with a leaf a component of a Gaussian mixture, from its parameters alone.

    After Fleissner, Zarvandi & Ghoshdastidar (2024), arXiv 2411.01576. A cut between the means
    of a node's components sends each to the side of its mean; the mass of a component beyond
    the cut is lost, by the normal distribution of its marginal. Components with the same mean
    share a leaf, with the number of the heaviest.

    Parameters
    ----------
    weights : array-like of shape (k,), positive or 0
    means : array-like of shape (k, d)
    covariances : array-like
        Of shape (k, d, d), (d, d), (k, d) or (k,), as the type says.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        As of :class:`sklearn.mixture.GaussianMixture`. Only variances matter.
    criterion : {"error", "ratio"}, default="error"
        "error": a node is cut where its components lose least mass. "ratio": where the least
        distance of a mean from the cut, in standard deviations of its component, is largest,
        which is the worst case's error (the paper's explainability-to-noise ratio).

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        If shapes do not fit, values are not finite, or weights or variances are negative.

    Notes
    -----
    A node of c components takes O(d c log c + d c^2) for the bounds of all its gaps; few gaps are
    looked into. The tree for any number of rows takes the same time.

    Examples
    --------
    >>> from greedy import build_mixture_tree
    >>> tree = build_mixture_tree([0.5, 0.5], [[0.0], [4.0]], [1.0, 1.0],
    ...                           covariance_type="spherical")
    >>> tree.to_rules()
    ['if x0 <= 2 then cluster 0', 'if x0 > 2 then cluster 1']
    """
    weights, means, spreads = checked(weights, means, covariances, covariance_type)
    return grow_mixture(weights, means, spreads, criterion)[0]


def grow_mixture(weights, means, spreads, criterion="error"):
    """The tree of a mixture and a bound of its error.

    Parameters
    ----------
    weights : float64 array of shape (k,)
    means, spreads : float64 arrays of shape (k, d), the standard deviations of the marginals
    criterion : {"error", "ratio"}

    Returns
    -------
    tree : Tree
    error : float
        Sum over the cuts of the mass that is lost at them: an upper bound of the probability that
        a draw from the mixture does not reach the leaf of its component.
    """
    errors = []

    def part(some):
        terms = (weights[some], means[some], spreads[some])
        feature, threshold = best_parting(*terms, criterion == "ratio")
        if feature < 0:
            return some[weights[some].argmax()]
        goes_left = means[some, feature] <= threshold
        columns = (goes_left, terms[1][:, feature], terms[2][:, feature])
        errors.append(float(terms[0] @ lost(threshold, *columns)))
        split = Split.of_feature(feature, threshold)
        return split, some[goes_left], some[~goes_left]

    tree = grow_by_levels(np.arange(len(weights)), part, means.shape[1])
    return tree, min(sum(errors) / max(weights.sum(), np.finfo(float).tiny), 1.0)


def deviations(covariances, covariance_type, shape):
    """Standard deviations of the marginals: float64 array of shape (k, d).

    Parameters
    ----------
    covariances : float64 array, as of :class:`sklearn.mixture.GaussianMixture`
    covariance_type : {"full", "tied", "diag", "spherical"}
    shape : (k, d)
    """
    k, d = shape
    expected = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    if covariances.shape != expected[covariance_type]:
        raise ValueError(
            f"covariances of type {covariance_type!r} must have shape "
            f"{expected[covariance_type]}, not {covariances.shape}."
        )
    if covariance_type in {"full", "tied"}:
        covariances = np.diagonal(covariances, axis1=-2, axis2=-1)
    if covariance_type == "spherical":
        covariances = covariances[:, None]
    if covariances.min() < 0:
        raise ValueError("Variances must be at least 0.")
    return np.sqrt(np.broadcast_to(covariances, shape))


def checked(weights, means, covariances, covariance_type):
    """Weights, means and standard deviations of the components of a mixture, or a ValueError."""
    means = check_centers(means, "means")
    for values, name in ((weights, "weights"), (covariances, "covariances")):
        check_kind(values, name)
    weights = column_or_1d(weights, dtype=np.float64)
    terms = {"ensure_2d": False, "allow_nd": True, "dtype": np.float64}
    covariances = check_array(covariances, input_name="covariances", **terms)
    if len(weights) != len(means):
        raise ValueError(f"There are {len(weights)} weights and {len(means)} means.")
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise ValueError("weights must be finite, at least 0 and not all 0.")
    return weights, means, deviations(covariances, covariance_type, means.shape)


@jit
def _lost(threshold, goes_left, mean, spread):
    """Share of a component beyond a threshold on its side's far end."""
    excess = threshold - mean if goes_left else mean - threshold
    if spread == 0.0:
        return 0.0 if excess >= 0.0 else 1.0
    return 0.5 * math.erfc(excess / (spread * math.sqrt(2.0)))


@jit
def lost(threshold, goes_left, mean, spread):
    """Share of each component that a cut sends to the other side: float64 array of shape (c,).

    Parameters
    ----------
    threshold : float
    goes_left : bool array of shape (c,), where the components belong
    mean, spread : float64 arrays of shape (c,), of their marginals
    """
    out = np.empty(len(mean))
    for i in range(len(mean)):
        out[i] = _lost(threshold, goes_left[i], mean[i], spread[i])
    return out


@jit
def _value(low, high, n_left, weight, mean, spread, is_ratio):
    """What a cut loses; that of a threshold `high` for the left side and `low` for the right.

    With low < high a bound of the cuts between. Components are sorted by their means.
    """
    total, least = 0.0, np.inf
    for i in range(mean.shape[0]):
        place = high if i < n_left else low
        if is_ratio:
            excess = place - mean[i] if i < n_left else mean[i] - place
            least = min(least, excess / spread[i] if spread[i] > 0.0 else np.inf)
        else:
            total += weight[i] * _lost(place, i < n_left, mean[i], spread[i])
    return -least if is_ratio else total


@jit
def _place(i, low, high, step, at_low, at_high):
    """A threshold that is looked at, and how far it is from the next."""
    if i < _GRID:
        return low + step * i, step
    if i < _GRID + 5:
        return low + (i - _GRID + 1) * at_low, at_low
    return high - (i - _GRID - 4) * at_high, at_high


@jit
def _best_between(low, high, n_left, weight, mean, spread, is_ratio):
    """Best threshold between two means that follow each other: (value, threshold).

    The middle, unless another one of a grid is better, or one that lies some standard deviations
    from either mean: narrow components may have wide gaps beside them.
    """
    top, step = high, high / _GRID - low / _GRID
    place, reach = low / 2.0 + high / 2.0, step
    if not low <= place < high:
        place = low
    best = _value(place, place, n_left, weight, mean, spread, is_ratio)
    for i in range(_GRID + 10):
        other, width = _place(i, low, high, step, spread[n_left - 1], spread[n_left])
        if low <= other < high:
            found = _value(other, other, n_left, weight, mean, spread, is_ratio)
            if found < best:
                best, place, reach = found, other, min(width, step)
    low, high = max(place - reach, low), min(place + reach, high)
    for _ in range(_STEPS):  # ternary search around the best
        third = high / 3.0 - low / 3.0
        a, b = low + third, high - third
        at_a = _value(a, a, n_left, weight, mean, spread, is_ratio)
        at_b = _value(b, b, n_left, weight, mean, spread, is_ratio)
        if at_a < best and a < top:
            best, place = at_a, a
        if at_b < best and b < top:
            best, place = at_b, b
        if at_a <= at_b:
            high = b
        else:
            low = a
    return best, place


@jit
def _bounds(weights, means, spreads, is_ratio):
    """Bounds of the values of the cuts in every gap, by features of sorted components."""
    d, c = means.shape
    out = np.full((d, c - 1), np.inf)
    for f in range(d):
        for i in range(c - 1):
            low, high = means[f, i], means[f, i + 1]
            if low < high:
                out[f, i] = _value(low, high, i + 1, weights[f], means[f], spreads[f], is_ratio)
    return out


def best_parting(weights, means, spreads, is_ratio):
    """Cut between the means of some components that loses least.

    Parameters
    ----------
    weights : float64 array of shape (c,)
    means, spreads : float64 arrays of shape (c, d)
    is_ratio : bool, the criterion

    Returns
    -------
    (feature, threshold); feature -1 if all means are equal. Ties go to the lowest feature, then to
    the lowest gap between means.
    """
    c = len(weights)
    if c < 2:
        return -1, np.inf
    order = np.argsort(means, axis=0, kind="stable")
    means, spreads = (
        np.ascontiguousarray(np.take_along_axis(columns, order, axis=0).T)
        for columns in (means, spreads)
    )
    weights = np.ascontiguousarray(weights[order.T])
    bound = _bounds(weights, means, spreads, is_ratio)
    best, at, threshold = np.inf, -1, np.inf
    for gap in np.argsort(bound, axis=None, kind="stable").tolist():
        f, i = divmod(gap, c - 1)
        slack = _TIE * abs(best) if best < np.inf else 0.0
        if bound[f, i] == np.inf or bound[f, i] > best + slack:
            break
        terms = (i + 1, weights[f], means[f], spreads[f], is_ratio)
        found, place = _best_between(means[f, i], means[f, i + 1], *terms)
        if found < best - slack or (found <= best + slack and gap < at):
            best, at, threshold = found, gap, place
    return (at // (c - 1) if at >= 0 else -1), threshold
