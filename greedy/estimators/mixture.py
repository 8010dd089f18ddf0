"""Trees of Gaussian mixtures as an estimator."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tao_cluster._utils.matrices import check_sizes, ranges
from tao_cluster.base import TreeClustering
from tao_cluster.objectives import KMeans
from tao_cluster.problem.problem import Result
from tao_cluster.reference import fit_reference

from ..methods.matching import matched_numbers, renumbered
from ..methods.mixture import COVARIANCE_TYPES, CRITERIA, checked, grow_mixture

_PARAMETERS = ("weights_", "means_", "covariances_")


class MixtureTree(TreeClustering):
    """A tree that explains a Gaussian mixture, with a leaf a component.

    After Fleissner, Zarvandi & Ghoshdastidar (2024); see :func:`greedy.build_mixture_tree`. The
    tree is made of the mixture's parameters; its time does not depend on the number of rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Of the mixture that is fitted here; a given one has its own.
    criterion : {"error", "ratio"}, default="error"
        What makes a good cut; see :func:`greedy.build_mixture_tree`.
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

    standardize = False  # a mixture has the spreads of its components

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(COVARIANCE_TYPES)],
        "criterion": [StrOptions(CRITERIA)],
        "mixture": [None, HasMethods(["fit", "predict_proba"])],
        "reference": [None, "array-like", HasMethods("fit")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        covariance_type="full",
        criterion="error",
        mixture=None,
        reference=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.criterion = criterion
        self.mixture = mixture
        self.reference = reference
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _method(self):
        mixture = self.mixture
        if mixture is None:
            mixture = GaussianMixture(self.n_clusters, covariance_type=self.covariance_type)
        terms = (mixture, self.n_clusters, self.criterion, self.random_state)
        return _Method(*terms, has_reference=self.reference is not None)

    def _given(self, objective, inputs, rows):
        """The fitted mixture, whose means are centres, unless there is a reference."""
        if self.reference is None:
            return self._method().fitted(rows.space, rows.weight)
        return super()._given(objective, inputs, rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@dataclass(frozen=True)
class _Method:
    """What makes a tree of a mixture.

    Parameters
    ----------
    mixture : mixture, fitted or not
    n_clusters : int
    criterion : {"error", "ratio"}
    random_state : int, RandomState instance or None
    has_reference : bool
        Whether the reference of a problem is a free clustering; else it is the fitted mixture.
    """

    mixture: Any
    n_clusters: int
    criterion: str
    random_state: Any
    has_reference: bool
    objective: ClassVar[KMeans] = KMeans()
    validation: ClassVar[None] = None
    improves: ClassVar[bool] = False  # a method's cuts are its own

    def check_data(self, X, weight):
        """Any data will do."""

    def fitted(self, space, weight):
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
        expected, (_, means, _) = (self.n_clusters, space.shape[1]), _components(mixture)
        if means.shape != expected:
            raise ValueError(
                f"The mixture must have n_clusters={expected[0]} components with {expected[1]} "
                f"features; it has means of shape {means.shape}."
            )
        return mixture

    def fit_tree(self, problem):
        """The tree of the mixture, and how it agrees with it."""
        mixture = problem.reference
        if self.has_reference:
            mixture = self.fitted(problem.space, problem.weight)
        is_of_X = problem.space is problem.X
        components = list(_components(mixture) if is_of_X else _moments(mixture, problem))
        if not (is_of_X and hasattr(self.mixture, "means_")):
            components[1] = np.clip(components[1], *ranges(problem.X))  # but for rounding they are
        tree, error = grow_mixture(*components, self.criterion)
        found = tree.predict(problem.X)
        agrees = found == mixture.predict(problem.space)
        numbers = np.arange(self.n_clusters)
        if self.has_reference:
            terms = (found, problem.free.labels, self.n_clusters, problem.weight)
            numbers = matched_numbers(*terms)
            tree = renumbered(tree, numbers)
        attributes = {
            "mixture_": mixture,
            "component_labels_": numbers,
            "agreement_": float(np.average(agrees, weights=problem.weight)),
            "error_bound_": error,
            "n_iter_": tree.n_leaves - 1,
        }
        return Result(tree, attributes)


def _components(mixture):
    """Weights, means and standard deviations of the components of a mixture."""
    return checked(*(getattr(mixture, name) for name in _PARAMETERS), mixture.covariance_type)


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
