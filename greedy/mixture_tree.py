"""Trees of Gaussian mixtures: a leaf a component, in time that does not depend on the rows."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import HasMethods, StrOptions

from tao_cluster._utils.jit import jit
from tao_cluster._utils.matrices import check_sizes, ranges
from tao_cluster.base import TreeClustering
from tao_cluster.objectives import KMeans
from tao_cluster.problem.problem import Result
from tao_cluster.reference import fit_reference
from tao_cluster.tree import Split
from tao_cluster.tree.growth import grow_breadth_first

from .base import CONSTRAINTS, Method
from .leaf_clusters import match_labels, relabeled

_PARAMETERS = ("weights_", "means_", "covariances_")

_GRID = 32  # thresholds between two means that are looked at before the best is refined
_STEPS = 60  # of a refinement; each shrinks an interval by a third or more
_TIE = 1e-9  # relative difference below which two values are equal


@dataclass(eq=False, repr=False)
class MixtureTree(TreeClustering):
    """A tree that explains a Gaussian mixture, with a leaf a component.

    After Fleissner, Zarvandi & Ghoshdastidar (2024), arXiv 2411.01576. The tree is made of the
    mixture's weights, means and variances alone. A cut between the means of a node's components
    sends each to the side of its mean; the mass of a component beyond the cut is lost, by the
    normal distribution of its marginal. Components with the same mean share a leaf, with the
    number of the heaviest.

    Parameters
    ----------
    n_clusters : int, default=8
        Components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Of the mixture that is fitted here; a given one has its own.
    criterion : {"error", "ratio"}, default="error"
        What makes a good cut. "error": a node is cut where its components lose least mass.
        "ratio": where the least distance of a mean from the cut, in standard deviations of its
        component, is largest, which is the worst case's error (the paper's
        explainability-to-noise ratio).
    mixture : None, or mixture, default=None
        What is explained: a fitted or unfitted :class:`sklearn.mixture.GaussianMixture` or
        :class:`sklearn.mixture.BayesianGaussianMixture` of `n_clusters` components. None is a
        GaussianMixture with this `random_state`.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering that costs are compared with, and whose numbers the clusters get,
        each that of the one with which it shares most weight. None is the mixture's: the means
        are its centres, and the components its clusters.
    n_jobs : int, default=None
        Threads that route rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the mixture.

    Attributes
    ----------
    mixture_ : mixture
        The fitted one.
    component_labels_ : int64 array of shape (n_clusters,)
        Cluster of each component; 0, 1, ... unless there is a reference.
    agreement_ : float
        Share of the weight of the rows whose leaf is that of the component which the mixture's
        own `predict` gives them.
    error_bound_ : float
        Upper bound of the probability that a draw from the mixture does not reach the leaf of
        its component: the sum of what is lost at each cut.
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, free_labels_, ...
        As of :class:`IMM`. Costs are those of k-means. Without a reference the free clustering is
        that of the nearest mean.

    Notes
    -----
    A node of c components takes O(d c log c + d c^2) for the bounds of all its gaps between means;
    few gaps are looked into. The time does not depend on the number of rows.

    Mixtures take no sparse rows. Give a dense `embedding` of a sparse X: the mixture is fitted
    to it, and the tree sees each component in X by the mean and the variances of its rows,
    weighted by their responsibilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import MixtureTree
    >>> model = MixtureTree(3, random_state=0).fit(load_iris().data)
    >>> float(round(model.agreement_, 2))
    0.95
    """

    n_clusters: int = 8
    _: KW_ONLY
    covariance_type: str = "full"
    criterion: str = "error"
    mixture: Any = None
    reference: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    standardize = False  # a mixture has the spreads of its components

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "criterion": [StrOptions({"error", "ratio"})],
        "mixture": [None, HasMethods(["fit", "predict_proba"])],
    }

    def _method(self):
        return Method(KMeans(), self._fit_tree)

    def _given(self, reference, objective, inputs, rows, names):
        """The fitted mixture, whose means are centres, unless there is a reference."""
        if self.reference is None:
            return self._fitted(rows.space, rows.weight)
        return super()._given(reference, objective, inputs, rows, names)

    def _fitted(self, space, weight):
        """The mixture, fitted to some rows if it is not yet.

        Raises
        ------
        ValueError
            If the rows are sparse, or it is no Gaussian mixture of their columns and of as many
            components as clusters.
        """
        if sp.issparse(space):
            raise ValueError(
                "MixtureTree takes no sparse X by itself, as mixtures do not; give a dense "
                "embedding of its rows, say of TruncatedSVD."
            )
        check_sizes(space, weight)
        mixture, name = self.mixture, type(self.mixture).__name__
        if mixture is None:
            mixture = GaussianMixture(self.n_clusters, covariance_type=self.covariance_type)
        if not hasattr(mixture, "means_"):
            # Mixtures ask for two rows at least, and as many as components.
            times = -(-max(self.n_clusters, 2) // len(weight))
            if times > 1:
                space, weight = np.tile(space, (times, 1)), np.tile(weight, times)
            mixture = fit_reference(clone(mixture), space, weight, self.random_state)[0]
        if not all(hasattr(mixture, name) for name in _PARAMETERS):
            raise ValueError(
                f"{name} has no weights_, means_ and covariances_: no Gaussian mixture."
            )
        expected = (self.n_clusters, space.shape[1])
        if mixture.means_.shape != expected:
            raise ValueError(
                f"The mixture must have n_clusters={expected[0]} components with {expected[1]} "
                f"features; it has means of shape {mixture.means_.shape}."
            )
        return mixture

    def _fit_tree(self, problem):
        """The tree of the mixture, and how it agrees with it."""
        has_reference = self.reference is not None
        mixture = problem.reference
        if has_reference:
            mixture = self._fitted(problem.space, problem.weight)
        is_of_X = problem.space is problem.X
        weights, means, spreads = components_of(mixture) if is_of_X else _moments(mixture, problem)
        if not (is_of_X and hasattr(self.mixture, "means_")):
            means = np.clip(means, *ranges(problem.X))  # but for rounding they are
        tree, error = grow_mixture(weights, means, spreads, self.criterion)
        found = tree.predict(problem.X)
        agrees = found == mixture.predict(problem.space)
        numbers = np.arange(self.n_clusters)
        if has_reference:
            terms = (found, problem.free.labels, self.n_clusters, problem.weight)
            numbers = match_labels(*terms)
            tree = relabeled(tree, numbers)
        attributes = {
            "mixture_": mixture,
            "component_labels_": numbers,
            "agreement_": float(np.average(agrees, weights=problem.weight)),
            "error_bound_": error,
            "n_iter_": tree.n_leaves - 1,
        }
        return Result(tree, attributes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def components_of(mixture):
    """Weights, means and standard deviations of the components of a mixture."""
    parts = [np.asarray(getattr(mixture, name), np.float64) for name in _PARAMETERS]
    for part, name in zip(parts, _PARAMETERS, strict=True):
        assert_all_finite(part, input_name=name)
    weights, means, variances = parts
    if mixture.covariance_type in {"full", "tied"}:
        variances = np.diagonal(variances, axis1=-2, axis2=-1)
    if mixture.covariance_type == "spherical":
        variances = variances[:, None]
    return weights, means, np.sqrt(np.broadcast_to(variances, means.shape))


def _moments(mixture, problem):
    """The same of the rows of X, by their responsibilities in another space."""
    share = mixture.predict_proba(problem.space) * problem.weight[:, None]
    mass = share.sum(axis=0)
    part = share / np.where(mass > 0, mass, 1.0)
    X = problem.X
    means = np.asarray(X.T @ part, np.float64).T
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).T @ part, np.float64).T
        return mass, means, np.sqrt(np.maximum(squares - means**2, 0.0))
    pairs = zip(part.T, means, strict=True)
    return mass, means, np.sqrt([own @ (X - mean) ** 2 for own, mean in pairs])


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
        feature, threshold, lost = best_parting(*terms, criterion == "ratio")
        if feature < 0:
            return some[weights[some].argmax()]
        errors.append(lost)
        goes_left = means[some, feature] <= threshold
        split = Split.from_feature(feature, threshold)
        return split, some[goes_left], some[~goes_left]

    tree = grow_breadth_first(np.arange(len(weights)), part, means.shape[1])
    return tree, min(sum(errors) / max(weights.sum(), np.finfo(float).tiny), 1.0)


def best_parting(weights, means, spreads, is_ratio):
    """Cut between the means of some components that loses least.

    Parameters
    ----------
    weights : float64 array of shape (c,)
    means, spreads : float64 arrays of shape (c, d)
    is_ratio : bool, the criterion

    Returns
    -------
    feature : int
        -1 if all means are equal. Ties go to the lowest feature, then to the lowest gap between
        means.
    threshold : float
    lost : float, mass of the components beyond the cut
    """
    c = len(weights)
    if c < 2:
        return -1, np.inf, 0.0
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
        low, high = means[f, i], means[f, i + 1]
        looked_at = _looked_at(low, high, spreads[f, i], spreads[f, i + 1])
        terms = (i + 1, weights[f], means[f], spreads[f], is_ratio)
        found, place = _best_between(low, high, *looked_at, *terms)
        if found < best - slack or (found <= best + slack and gap < at):
            best, at, threshold = found, gap, place
    if at < 0:
        return -1, np.inf, 0.0
    f, i = divmod(at, c - 1)
    terms = (i + 1, weights[f], means[f], spreads[f], False)
    return f, threshold, _value(threshold, threshold, *terms)


def _looked_at(low, high, at_low, at_high):
    """Thresholds between two means that are looked at, and how far the next may be.

    A grid, and some that lie some standard deviations from either mean: narrow components may
    have wide gaps beside them.
    """
    step = high / _GRID - low / _GRID
    near = np.arange(1, 6)
    grid = low + step * np.arange(_GRID)
    places = np.concatenate([grid, low + near * at_low, high - near * at_high])
    reach = np.repeat([step, at_low, at_high], [_GRID, len(near), len(near)])
    return places, np.minimum(reach, step)


@jit
def _value(low, high, n_left, weight, mean, spread, is_ratio):
    """What a cut loses; that of a threshold `high` for the left side and `low` for the right.

    With low < high a bound of the cuts between. Components are sorted by their means. A component
    loses its share beyond the threshold on the far end of its side.
    """
    total, least = 0.0, np.inf
    for i in range(mean.shape[0]):
        excess = high - mean[i] if i < n_left else mean[i] - low
        if is_ratio:
            least = min(least, excess / spread[i] if spread[i] > 0.0 else np.inf)
        elif spread[i] > 0.0:
            total += weight[i] * (0.5 * math.erfc(excess / (spread[i] * math.sqrt(2.0))))
        elif excess < 0.0:
            total += weight[i]
    return -least if is_ratio else total


@jit
def _best_between(low, high, places, reaches, n_left, weight, mean, spread, is_ratio):
    """Best threshold between two means that follow each other: (value, threshold).

    The middle, unless another one that is looked at is better.
    """
    top, reach = high, reaches[0]
    place = low / 2.0 + high / 2.0
    if not low <= place < high:
        place = low
    best = _value(place, place, n_left, weight, mean, spread, is_ratio)
    for i in range(places.shape[0]):
        if low <= places[i] < high:
            found = _value(places[i], places[i], n_left, weight, mean, spread, is_ratio)
            if found < best:
                best, place, reach = found, places[i], reaches[i]
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
