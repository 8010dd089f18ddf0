"""CART, the baseline: scikit-learn's decision tree fitted to the labels of the free clustering."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tao_cluster._utils.options import resolve
from tao_cluster.base import TreeClustering
from tao_cluster.initial_trees.cart import cart_tree
from tao_cluster.objectives import Objective
from tao_cluster.optimize.settings import OBJECTIVES
from tao_cluster.problem.problem import Result

from .base import CONSTRAINTS, Method


@dataclass(eq=False, repr=False)
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

    n_clusters: int = 8
    _: KW_ONLY
    max_leaves: int | None = None
    objective: Any = "kmeans"
    reference: Any = None
    standardize: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "max_leaves": [None, Interval(Integral, 2, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES)), HasMethods("distances")],
        "standardize": ["boolean"],
    }

    def _method(self):
        return Method(resolve(self.objective, OBJECTIVES, Objective), self._fit_tree)

    def _fit_tree(self, problem):
        max_leaves = 2 * self.n_clusters if self.max_leaves is None else self.max_leaves
        terms = (max_leaves, problem.weight, self.random_state)
        return Result(cart_tree(problem.X, problem.free.labels, *terms), {"n_iter_": 1})
