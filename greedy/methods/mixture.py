"""Trees of Gaussian mixtures: a leaf a component, in time that does not depend on the rows."""

import math
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_array, column_or_1d

from tao_cluster.core.jit import jit
from tao_cluster.core.tree import Split
from tao_cluster.core.tree.growth import grow_by_levels

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
    weights, means, spreads = _checked(weights, means, covariances, covariance_type)
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


def _checked(weights, means, covariances, covariance_type):
    means = check_array(means, dtype=np.float64, input_name="means")
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
def _refined(low, high, best, place, n_left, weight, mean, spread, is_ratio):
    """Ternary search between two thresholds around a good one: (value, threshold)."""
    for _ in range(_STEPS):
        third = (high - low) / 3.0
        a, b = low + third, high - third
        at_a = _value(a, a, n_left, weight, mean, spread, is_ratio)
        at_b = _value(b, b, n_left, weight, mean, spread, is_ratio)
        if at_a < best:
            best, place = at_a, a
        if at_b < best:
            best, place = at_b, b
        if at_a <= at_b:
            high = b
        else:
            low = a
    return best, place


@jit
def _best_between(low, high, n_left, weight, mean, spread, is_ratio):
    """Best threshold between two means that follow each other: (value, threshold).

    The middle, unless another is better; the ends of the grid are within spreads of the means.
    """
    places = np.empty(_GRID + 11)
    for i in range(_GRID + 1):
        places[i] = low + (high - low) * i / _GRID
    for i in range(5):  # narrow components beside wide gaps
        places[_GRID + 1 + 2 * i] = min(low + (1 + i) * spread[n_left - 1], high)
        places[_GRID + 2 + 2 * i] = max(high - (1 + i) * spread[n_left], low)
    places = np.sort(places)
    place = low + (high - low) / 2.0
    best, at = _value(place, place, n_left, weight, mean, spread, is_ratio), -1
    for i in range(places.shape[0]):
        if places[i] >= high:  # the larger mean would go left
            break
        found = _value(places[i], places[i], n_left, weight, mean, spread, is_ratio)
        if found < best:
            best, place, at = found, places[i], i
    if at >= 0:
        low, high = places[max(at - 1, 0)], places[min(at + 1, places.shape[0] - 1)]
    else:
        low, high = low + (high - low) / _GRID, high - (high - low) / _GRID
    return _refined(low, high, best, place, n_left, weight, mean, spread, is_ratio)


@jit
def best_parting(weights, means, spreads, is_ratio):
    """Cut between the means of some components that loses least.

    Parameters
    ----------
    weights : float64 array of shape (c,)
    means, spreads : float64 arrays of shape (c, d)
    is_ratio : bool, the criterion

    Returns
    -------
    (feature, threshold); feature -1 if all means are equal. Ties go to the lowest feature.
    """
    c, d = means.shape
    bound = np.full((d, max(c - 1, 0)), np.inf)
    orders = np.empty((d, c), np.int64)
    for f in range(d):
        orders[f] = np.argsort(means[:, f], kind="mergesort")
        weight, mean = weights[orders[f]], means[orders[f], f]
        spread = spreads[orders[f], f]
        for i in range(c - 1):
            if mean[i] < mean[i + 1]:
                terms = (i + 1, weight, mean, spread, is_ratio)
                bound[f, i] = _value(mean[i], mean[i + 1], *terms)
    best, feature, threshold = np.inf, -1, np.inf
    flat = bound.ravel()
    for gap in np.argsort(flat, kind="mergesort"):
        slack = _TIE * abs(best) if best < np.inf else 0.0
        if flat[gap] == np.inf or flat[gap] > best + slack:
            break
        f, i = gap // (c - 1), gap % (c - 1)
        order = orders[f]
        mean = means[order, f]
        terms = (i + 1, weights[order], mean, spreads[order, f], is_ratio)
        found, place = _best_between(mean[i], mean[i + 1], *terms)
        is_lower = f < feature or (f == feature and place < threshold)
        if found < best - slack or (found <= best + slack and is_lower):
            best, feature, threshold = found, f, place
    return feature, threshold
