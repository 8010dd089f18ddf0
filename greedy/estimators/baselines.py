"""CART as an estimator: the baseline that sees labels and no distances."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tao_cluster.base import TreeClustering
from tao_cluster.core.options import resolve
from tao_cluster.problem.objectives import Objective
from tao_cluster.problem.problem import Result
from tao_cluster.search.settings import OBJECTIVES
from tao_cluster.search.starts.cart import cart_tree


class CART(TreeClustering):
    """The baseline: scikit-learn's decision tree fitted to the labels of the free clustering.

    It sees labels and no distances: all wrong labels are equally bad to it. Costs, centres and
    everything else after the fit are those of the other estimators.

    Parameters
    ----------
    n_clusters : int, default=8
    max_leaves : int >= 2, default=None
        None is twice the number of clusters.
    objective : str or Objective, default="kmeans"
        As in :class:`tao_cluster.TAOClustering`.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering; see :class:`tao_cluster.TAOClustering`.
    standardize : bool, default=False
        As in :class:`tao_cluster.TAOClustering`.
    n_jobs : int, default=None
        Threads that route rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering, and of ties between equally good splits.

    Attributes
    ----------
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, free_labels_, ...
        As of :class:`greedy.IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CART
    >>> CART(3, max_leaves=4, random_state=0).fit(load_iris().data).tree_.n_leaves
    4
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "max_leaves": [None, Interval(Integral, 2, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES)), HasMethods("distances")],
        "reference": [None, "array-like", HasMethods("fit")],
        "standardize": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        objective="kmeans",
        reference=None,
        standardize=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.max_leaves = max_leaves
        self.objective = objective
        self.reference = reference
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _method(self):
        objective = resolve(self.objective, OBJECTIVES, Objective)
        max_leaves = 2 * self.n_clusters if self.max_leaves is None else self.max_leaves
        return _Method(objective, max_leaves, self.random_state)


@dataclass(frozen=True)
class _Method:
    """What fits CART to the free labels of a problem."""

    objective: Objective
    max_leaves: int
    random_state: Any
    validation: ClassVar[None] = None

    def check_data(self, X, weight):
        """Any data will do."""

    def fit_tree(self, problem):
        """The tree of the labels."""
        labels, weight = problem.free.labels, problem.weight
        tree = cart_tree(problem.X, labels, self.max_leaves, weight, self.random_state)
        return Result(tree, {"n_iter_": 1})
