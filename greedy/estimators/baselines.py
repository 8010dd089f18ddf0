"""The baselines as estimators: CART, KDTree, and CUBT and CLTree, which cluster by themselves."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tao_cluster._utils.options import resolve
from tao_cluster.base import TreeClustering
from tao_cluster.initial_trees.cart import cart_tree
from tao_cluster.objectives import Objective
from tao_cluster.optimize.settings import OBJECTIVES
from tao_cluster.problem.problem import Result

from ..methods.baselines import cltree, cubt, kdtree
from .base import CostTree


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
    improves: ClassVar[bool] = False  # a method's cuts are its own

    def check_data(self, X, weight):
        """Any data will do."""

    def fit_tree(self, problem):
        """The tree of the labels."""
        labels, weight = problem.free.labels, problem.weight
        tree = cart_tree(problem.X, labels, self.max_leaves, weight, self.random_state)
        return Result(tree, {"n_iter_": 1})


class KDTree(CostTree):
    """The baseline: medians of the features of most variance, leaves labelled by their cost.

    Frost, Moshkovitz & Rashtchian (2020), appendix B.1; see :func:`greedy.build_kdtree`.

    Parameters
    ----------
    max_leaves : int, default=None
        None is twice the number of clusters. Powers of two give the paper's balanced trees.
    n_clusters, objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import KDTree
    >>> KDTree(3, max_leaves=4, random_state=0).fit(load_iris().data).tree_.max_depth
    2
    """

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        **kdtree.PARAMETERS,
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        objective="kmeans",
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            objective=objective,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_leaves = max_leaves

    def _grow(self, points, random_state):
        return kdtree.kd_growth(points, self.max_leaves)


class CUBT(CostTree):
    """The baseline: clusters of an unsupervised binary tree, pruned and joined.

    Fraiman, Ghattas & Svarc (2013); see :func:`greedy.build_cubt`. The tree clusters X without
    the reference, which only gives its clusters their numbers, and what they cost is compared to.

    Parameters
    ----------
    max_leaves : int, default=None
        Leaves after the pruning (`nleaves`); None is twice the number of clusters.
    min_size : float, default=2
        Rows (weight) below which a leaf is not cut (`minsize`).
    min_dev : float in [0, 1], default=0.001
        Least share of the deviance of all rows that a cut saves (`mindev`).
    min_dist : float, default=0
        Leaves of one node that are less dissimilar are taken back (`mindist`).
    quantile : float in (0, 1], default=0.2
        Share of the smallest distances that make the dissimilarity (the paper's delta).
    n_clusters : int, default=8
        The authors' `nclass`; fewer clusters have rows if the tree has fewer leaves.
    objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CUBT
    >>> CUBT(3, max_leaves=3, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    _parameter_constraints: ClassVar[dict] = {**CostTree._parameter_constraints, **cubt.PARAMETERS}

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        min_size=2,
        min_dev=0.001,
        min_dist=0.0,
        quantile=0.2,
        objective="kmeans",
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            objective=objective,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_leaves = max_leaves
        self.min_size = min_size
        self.min_dev = min_dev
        self.min_dist = min_dist
        self.quantile = quantile

    def _grow(self, points, random_state):
        options = {name: getattr(self, name) for name in cubt.PARAMETERS}
        return cubt.cubt_growth(points, **options)


class CLTree(CostTree):
    """The baseline: clusters as the dense regions of a tree that parts rows from uniform points.

    Liu, Xia & Yu (2000, 2005); see :func:`greedy.build_cltree`, which says how its dense regions
    become `n_clusters` clusters. The tree sees X alone, as that of :class:`CUBT`.

    Parameters
    ----------
    max_leaves : int, default=None
        Leaves at most; None is four times the number of clusters.
    min_split : float in (0, 1], default=0.02
        Share of the rows (weight) that a region needs to be cut.
    min_y : float in [0, 1], default=0.01
        Share of the rows below which a region is not looked into when the tree is pruned, and
        is no leaf.
    min_rd : float, default=0.1
        Relative density above which a region is joined with its neighbour.
    n_clusters, objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes; fewer clusters have rows if there are fewer
        dense regions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CLTree
    >>> model = CLTree(3, max_leaves=6, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves, len(set(model.labels_))
    (6, 3)
    """

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        **cltree.PARAMETERS,
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        min_split=0.02,
        min_y=0.01,
        min_rd=0.1,
        objective="kmeans",
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            objective=objective,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_leaves = max_leaves
        self.min_split = min_split
        self.min_y = min_y
        self.min_rd = min_rd

    def _grow(self, points, random_state):
        options = {name: getattr(self, name) for name in cltree.PARAMETERS}
        return cltree.cltree_growth(points, **options)
