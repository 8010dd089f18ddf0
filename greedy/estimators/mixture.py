"""Trees of Gaussian mixtures as an estimator."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tao_cluster.base import TreeClustering
from tao_cluster.problem.objectives import KMeans
from tao_cluster.problem.problem import Result
from tao_cluster.problem.reference import fit_reference

from ..methods.mixture import COVARIANCE_TYPES, CRITERIA, deviations, grow_mixture

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
        Of the mixture that is fitted here. A reference has its own.
    criterion : {"error", "ratio"}, default="error"
        What makes a good cut; see :func:`greedy.build_mixture_tree`.
    reference : None, or mixture, default=None
        A fitted or unfitted :class:`sklearn.mixture.GaussianMixture` or
        :class:`sklearn.mixture.BayesianGaussianMixture`. None is a GaussianMixture with this
        `random_state`.
    n_jobs : int, default=None
        Threads that route rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the mixture.

    Attributes
    ----------
    mixture_ : mixture
        The fitted one.
    agreement_ : float
        Share of the weight of the rows whose leaf is that of the component which the mixture's
        own `predict` gives them.
    error_bound_ : float
        Upper bound of the probability that a draw from the mixture does not reach the leaf of
        its component: the sum of what is lost at each cut.
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, free_labels_, ...
        As of :class:`IMM`. The free clustering is that of the nearest mean, with the means as
        its centres; costs are those of k-means.

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
        "reference": [None, HasMethods(["fit", "predict_proba"])],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        covariance_type="full",
        criterion="error",
        reference=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.criterion = criterion
        self.reference = reference
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _method(self):
        return _Method(self.criterion)

    def _given(self, objective, inputs, rows):
        """The fitted mixture."""
        del objective, inputs
        if sp.issparse(rows.space):
            raise ValueError(
                "MixtureTree takes no sparse X by itself, as mixtures do not; give a dense "
                "embedding of its rows, say of TruncatedSVD."
            )
        mixture = self.reference
        if mixture is None:
            mixture = GaussianMixture(self.n_clusters, covariance_type=self.covariance_type)
        if not hasattr(mixture, "means_"):
            mixture = self._fitted(clone(mixture), rows)
        if not all(hasattr(mixture, name) for name in _PARAMETERS):
            name = type(mixture).__name__
            raise ValueError(
                f"{name} has no weights_, means_ and covariances_: no Gaussian mixture."
            )
        return mixture

    def _fitted(self, mixture, rows):
        space, weight = rows.space, rows.weight
        # Mixtures ask for two rows at least, and as many as components.
        times = -(-max(self.n_clusters, 2) // len(weight))
        if times > 1:
            space, weight = np.tile(space, (times, 1)), np.tile(weight, times)
        return fit_reference(mixture, space, weight, self.random_state)[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@dataclass(frozen=True)
class _Method:
    """What makes a tree of the mixture that is the reference of a problem."""

    criterion: str
    objective: ClassVar[KMeans] = KMeans()
    validation: ClassVar[None] = None

    def check_data(self, X, weight):
        """Any data will do."""

    def fit_tree(self, problem):
        """The tree of the mixture, and how it agrees with it."""
        mixture = problem.reference
        components = _components(mixture) if problem.space is problem.X else _moments(problem)
        tree, error = grow_mixture(*components, self.criterion)
        agrees = tree.predict(problem.X) == mixture.predict(problem.space)
        attributes = {
            "mixture_": mixture,
            "agreement_": float(np.average(agrees, weights=problem.weight)),
            "error_bound_": error,
            "n_iter_": tree.n_leaves - 1,
        }
        return Result(tree, attributes)


def _components(mixture):
    """Weights, means and standard deviations of the components of a mixture."""
    weights, means, covariances = (
        np.asarray(getattr(mixture, name), np.float64) for name in _PARAMETERS
    )
    return weights, means, deviations(covariances, mixture.covariance_type, means.shape)


def _moments(problem):
    """The same of the rows of X, by their responsibilities in another space."""
    share = problem.reference.predict_proba(problem.space) * problem.weight[:, None]
    mass = share.sum(axis=0)
    part = share / np.where(mass > 0, mass, 1.0)
    X = problem.X
    means = np.asarray(X.T @ part, np.float64).T
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).T @ part, np.float64).T
        return mass, means, np.sqrt(np.maximum(squares - means**2, 0.0))
    pairs = zip(part.T, means, strict=True)
    return mass, means, np.sqrt([own @ (X - mean) ** 2 for own, mean in pairs])
