"""MixtureTree: trees that explain Gaussian mixtures, with one leaf per component."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import HasMethods, StrOptions

from tao_cluster._utils.matrices import check_sizes, ranges
from tao_cluster.base import TreeClustering
from tao_cluster.objectives import KMeans
from tao_cluster.problem.problem import Result
from tao_cluster.reference import fit_reference, match_labels, relabeled
from tao_cluster.tree import Split
from tao_cluster.tree.growth import grow_breadth_first
from tao_cluster.tree.leaf_size import with_leaf_size
from tao_cluster.tree.margins import TIE
from tao_cluster.tree.routing import kernel_arrays

from ..base import CONSTRAINTS, Method

_PARAMETERS = ("weights_", "means_", "covariances_")

_GRID = 32  # thresholds between two means that are tried before the best one is refined
_erfc = np.vectorize(math.erfc, otypes=[float])  # scipy.special.erfc rounds differently
_STEPS = 60  # steps of the refinement; each one shrinks an interval by at least a third


@dataclass(eq=False, repr=False)
class MixtureTree(TreeClustering):
    """MixtureTree: a tree that explains a Gaussian mixture, with one leaf per component.

    Use it if the clusters are the components of a Gaussian mixture: clusters of different widths
    that k-means does not find. The time to build the tree does not depend on the number of rows.

    The tree uses only the weights, means and variances of the mixture (Fleissner, Zarvandi &
    Ghoshdastidar 2024, arXiv 2411.01576). A cut between the means of a node sends each component
    to the side of its mean. The mass of a component beyond the cut, according to its marginal
    normal distribution, is the error of the cut. Each component gets one leaf, as the algorithm
    prescribes. Components with the same mean share a leaf, with the number of the heaviest one.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components, which is also the number of leaves.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Type of the covariances of the mixture that is fitted if `mixture` is None.
    criterion : {"error", "ratio"}, default="error"
        How to choose the cut of a node. "error" minimises the total mass of the components beyond
        the cut. "ratio" maximises the smallest distance of a mean from the cut, in standard
        deviations of its component, and so limits the worst case (the paper's
        explainability-to-noise ratio).
    mixture : None, GaussianMixture or BayesianGaussianMixture, default=None
        The mixture to explain, fitted or unfitted, with `n_clusters` components. None fits a
        :class:`sklearn.mixture.GaussianMixture` with this `random_state`.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering for the comparison of costs. Each cluster gets the number of the
        reference cluster with which it agrees best. None uses the mixture: its means are the
        centres, and its components give the numbers.
    min_samples_leaf : int >= 1 or float in (0, 0.5], default=1
        As in :class:`IMM`. Cuts with a smaller side are removed after the growth.
    n_jobs : int, default=None
        Number of threads that route rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the mixture.

    Attributes
    ----------
    mixture_ : GaussianMixture or BayesianGaussianMixture
        The fitted mixture.
    component_labels_ : int64 array of shape (n_clusters,)
        Cluster of each component; 0, 1, ... without a reference.
    agreement_ : float
        Share of the rows (by weight) whose leaf belongs to the component that the mixture's
        `predict` gives them.
    error_bound_ : float
        Upper bound of the probability that a draw from the mixture does not reach the leaf of
        its component: the sum of the errors of all cuts.
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, free_labels_, ...
        As in :class:`IMM`, except for `history_`. The cost is that of k-means. Without a
        reference, the free clustering assigns each row to the nearest mean.

    Raises
    ------
    ValueError
        If X is sparse and there is no embedding. If the mixture is not Gaussian, is not of the
        columns of X, or does not have `n_clusters` components. If `mixture` and `covariance_type`
        are both set.

    Notes
    -----
    A node of c components takes O(d c log c + d c^2) for bounds on all gaps between means; only a
    few gaps are then searched.

    Mixtures do not support sparse rows. Fit a sparse X with a dense `embedding`: the mixture is
    fitted to the embedding, and the tree describes each component by the mean and the variances
    of its rows in X, weighted by their responsibilities.

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
    min_samples_leaf: int | float = 1
    n_jobs: int | None = None
    random_state: Any = None

    standardize = False  # not needed: a mixture has its own scales per component

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "criterion": [StrOptions({"error", "ratio"})],
        "mixture": [None, HasMethods(["fit", "predict_proba"])],
    }

    def _method(self):
        return Method(KMeans(), self._fit_tree)

    def _given(self, reference, objective, inputs, rows, names):
        """Return the fitted mixture if `reference` is None, else the given reference.

        The means of the mixture are then the centres of the free clustering.
        """
        if self.reference is None:
            return self._fitted(rows.space, rows.weight)
        return super()._given(reference, objective, inputs, rows, names)

    def _fitted(self, space, weight):
        """Return the mixture, after fitting it to some rows if it is not fitted yet.

        Raises
        ------
        ValueError
            If the rows are sparse, or the mixture is not Gaussian, has other columns, or does
            not have `n_clusters` components.
        """
        if sp.issparse(space):
            raise ValueError(
                "MixtureTree needs dense rows, since Gaussian mixtures do not support a sparse X. "
                "Pass a dense embedding of the rows: "
                "fit(X, embedding=TruncatedSVD(2).fit_transform(X))."
            )
        check_sizes(space, weight)
        if self.mixture is not None and self.covariance_type != MixtureTree.covariance_type:
            raise ValueError(
                f"covariance_type={self.covariance_type!r} applies only if mixture is None; set "
                "the covariance_type of the mixture instead."
            )
        mixture, name = self.mixture, type(self.mixture).__name__
        if mixture is None:
            mixture = GaussianMixture(self.n_clusters, covariance_type=self.covariance_type)
        if not hasattr(mixture, "means_"):
            # Mixtures require at least two rows, and as many rows as components.
            times = -(-max(self.n_clusters, 2) // len(weight))
            if times > 1:
                space, weight = np.tile(space, (times, 1)), np.tile(weight, times)
            mixture = fit_reference(clone(mixture), space, weight, self.random_state)[0]
        if not all(hasattr(mixture, name) for name in _PARAMETERS):
            raise ValueError(
                f"mixture={name} has no weights_, means_ and covariances_ after its fit; give a "
                "GaussianMixture or BayesianGaussianMixture."
            )
        expected = (self.n_clusters, space.shape[1])
        if mixture.means_.shape != expected:
            raise ValueError(
                f"The mixture must have n_clusters={expected[0]} components with {expected[1]} "
                f"features; it has means of shape {mixture.means_.shape}. Set n_clusters to its "
                "number of components, and fit it to the columns of X (or of the embedding)."
            )
        return mixture

    def _fit_tree(self, problem):
        """Return the tree of the mixture, with its agreement and error bound."""
        has_reference = self.reference is not None
        mixture = problem.reference
        if has_reference:
            mixture = self._fitted(problem.space, problem.weight)
        is_of_X = problem.space is problem.X
        weights, means, stds = components_of(mixture) if is_of_X else _moments(mixture, problem)
        if not (is_of_X and hasattr(self.mixture, "means_")):
            means = np.clip(means, *ranges(problem.X))  # rounding may move a mean out of range
        tree, error = grow_mixture(weights, means, stds, self.criterion)
        view = kernel_arrays(problem.X)
        tree, leaf_of_row = with_leaf_size(tree, view, problem.leaf_size)
        found = tree.leaf_label[leaf_of_row]
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
    """Return the weights, means and standard deviations of the components of a mixture.

    Parameters
    ----------
    mixture : fitted GaussianMixture or BayesianGaussianMixture

    Returns
    -------
    weights : float64 array of shape (k,)
    means, stds : float64 arrays of shape (k, d)
    """
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
    """Return the weight of each component of a mixture, and its means and stds in the columns of X.

    The mixture was fitted to an embedding. The means and standard deviations (stds) are those of
    the rows of X, weighted by the probabilities with which they belong to a component.
    """
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


def grow_mixture(weights, means, stds, criterion="error"):
    """Build the tree that explains a mixture, given its weights, means and standard deviations.

    Parameters
    ----------
    weights : float64 array of shape (k,)
    means, stds : float64 arrays of shape (k, d)
        Means and standard deviations of the marginals of each component.
    criterion : {"error", "ratio"}

    Returns
    -------
    tree : Tree
    error : float
        Upper bound of the probability that a draw from the mixture does not reach the leaf of
        its component: the sum of the errors of all cuts.
    """
    errors = []

    def split(some):
        terms = (weights[some], means[some], stds[some])
        feature, threshold, lost = best_separating_cut(*terms, criterion == "ratio")
        if feature < 0:
            return some[weights[some].argmax()]
        errors.append(lost)
        goes_left = means[some, feature] <= threshold
        test = Split.from_feature(feature, threshold)
        return test, some[goes_left], some[~goes_left]

    tree = grow_breadth_first(np.arange(len(weights)), split, means.shape[1])
    return tree, min(sum(errors) / max(weights.sum(), np.finfo(float).tiny), 1.0)


def best_separating_cut(weights, means, stds, is_ratio):
    """Return the best cut between the means of some components.

    Parameters
    ----------
    weights : float64 array of shape (c,), mass of each component
    means, stds : float64 arrays of shape (c, d)
        Mean and standard deviation of each component in each feature.
    is_ratio : bool
        Whether the criterion is "ratio" instead of "error".

    Returns
    -------
    feature : int
        Number of the feature; -1 if all means are equal. Ties go to the lowest feature, then to the
        lowest gap between means.
    threshold : float
    lost : float
        Mass of the components on the other side of the cut than their means.
    """
    c = len(weights)
    if c < 2:
        return -1, np.inf, 0.0
    order = np.argsort(means, axis=0, kind="stable")
    means, stds = (np.take_along_axis(columns, order, axis=0).T for columns in (means, stds))
    weights, n_left = weights[order.T], np.arange(1, c)[:, None]
    bound = np.full((len(means), c - 1), np.inf)
    for f, (*terms, mean) in enumerate(zip(weights, stds, means, strict=True)):
        values = _values(mean[:-1, None], mean[1:, None], n_left, *terms, mean, is_ratio)
        bound[f] = np.where(mean[:-1] < mean[1:], values, np.inf)
    best, at, threshold = np.inf, -1, np.inf
    for gap in np.argsort(bound, axis=None, kind="stable").tolist():
        f, i = divmod(gap, c - 1)
        slack = TIE * abs(best) if best < np.inf else 0.0
        if bound[f, i] == np.inf or bound[f, i] > best + slack:
            break
        terms = (i + 1, weights[f], stds[f], means[f], is_ratio)
        edges = np.append(_grid(*means[f, i : i + 2]), means[f, i + 1])[:, None]
        if _values(edges[:-1], edges[1:], *terms).min() > best + slack:
            continue  # no threshold between two places of the grid can be as good
        found, place = _best_threshold(*means[f, i : i + 2], *stds[f, i : i + 2], *terms)
        if found < best - slack or (found <= best + slack and gap < at):
            best, at, threshold = found, gap, place
    if at < 0:
        return -1, np.inf, 0.0
    f, i = divmod(at, c - 1)
    lost = _values(threshold, threshold, i + 1, weights[f], stds[f], means[f], is_ratio=False)
    return f, float(threshold), float(lost)


def _best_threshold(low, high, at_low, at_high, *terms):
    """Return (value, threshold) of the best threshold between two neighbouring means.

    `low` and `high` are the means, `at_low` and `at_high` the standard deviations there. The
    result is the midpoint of the two means, unless another candidate has a smaller value. Besides
    a grid, there are candidates at 1 to 5 standard deviations from either mean, since
    narrow components may have wide gaps beside them. The best one is refined by ternary search.
    """
    step, near, top = high / _GRID - low / _GRID, np.arange(1, 6), high
    middle = low / 2.0 + high / 2.0
    middle = middle if low <= middle < high else low
    places = np.concatenate(
        [[middle], _grid(low, high), low + near * at_low, high - near * at_high]
    )
    reach = np.repeat([step, at_low, at_high], [_GRID + 1, len(near), len(near)])
    is_inside = (low <= places) & (places < high)
    places, reach = places[is_inside], np.minimum(reach, step)[is_inside]
    values = _values(places[:, None], places[:, None], *terms)
    best, place, reach = min(zip(values, places, reach, strict=True), key=lambda each: each[0])
    low, high = max(place - reach, low), min(place + reach, high)
    for _ in range(_STEPS):
        third = high / 3.0 - low / 3.0
        pair = np.array([low + third, high - third])
        values = _values(pair[:, None], pair[:, None], *terms)
        for value, candidate in zip(values, pair, strict=True):
            if value < best and candidate < top:
                best, place = value, candidate
        low, high = (low, pair[1]) if values[0] <= values[1] else (pair[0], high)
    return float(best), float(place)


def _grid(low, high):
    """Return evenly spaced thresholds from `low` up to, but without, `high`."""
    return low + (high / _GRID - low / _GRID) * np.arange(_GRID)


def _values(low, high, n_left, weight, std, mean, is_ratio):
    """Return the criterion of cuts (smaller is better), or lower bounds for intervals.

    The components on the last axis are sorted by their means, and the first `n_left` go left. Left
    components use the threshold `high` and right ones `low`. With low == high this is the value of
    the cut, with low < high a lower bound for all cuts between.
    """
    excess = np.where(np.arange(len(mean)) < n_left, high - mean, mean - low)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if is_ratio:
            return -np.where(std > 0, excess / std, np.inf).min(axis=-1)
        beyond = 0.5 * _erfc(excess / (std * math.sqrt(2.0)))
    lost = weight * np.where(std > 0, beyond, excess < 0)
    return np.add.accumulate(lost, axis=-1)[..., -1]
