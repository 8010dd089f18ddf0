"""CART: scikit-learn's decision tree fitted to the labels of the free clustering (a baseline)."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

from joblib import effective_n_jobs
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tao_cluster._utils.options import resolve
from tao_cluster.base import TreeClustering
from tao_cluster.initial_trees.cart import cart_tree
from tao_cluster.objectives import Objective
from tao_cluster.optimize.settings import OBJECTIVES
from tao_cluster.optimize.simplify import at_widest_margins
from tao_cluster.problem.problem import Result
from tao_cluster.tree.leaf_size import with_leaf_size
from tao_cluster.tree.routing import kernel_arrays

from ..base import CONSTRAINTS, Method


@dataclass(eq=False, repr=False)
class CART(TreeClustering):
    """CART: scikit-learn's decision tree, fitted to the labels of the free clustering.

    Use it as a baseline: this is what one gets by training a classifier on cluster labels. CART
    minimises the Gini impurity of the labels and does not use distances. It treats all wrong
    labels alike, even those of far outliers, which are costly (Breiman, Friedman, Olshen & Stone
    1984; scikit-learn's ``DecisionTreeClassifier``).

    CART may split a leaf into two leaves with the same label. Such splits change no cluster, and
    `fit` removes them, so that the tree may have fewer than `max_leaves` leaves.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_leaves : int >= 2, default=None
        Maximum number of leaves. None means twice the number of clusters.
    objective : str or Objective, default="kmeans"
        The cost of the free clustering and of the fitted attributes, as in
        :class:`tao_cluster.TAOClustering`. With "labels", ``fit(X, y)`` explains the labels y.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering; see :class:`tao_cluster.TAOClustering`.
    standardize : bool, default=False
        As in :class:`tao_cluster.TAOClustering`. It changes the free clustering and the costs;
        CART's splits do not depend on the scale of the columns.
    ties : {"widest", "first"}, default="widest"
        As in :class:`greedy.IMM`. "first" takes the features that scikit-learn chooses.
    min_samples_leaf : int >= 1 or float in (0, 0.5], default=1
        Minimum size of each leaf that a split makes. An int is a number of rows of positive weight,
        whatever their weights. A float is a share of the total weight of the rows.
    n_jobs : int, default=None
        Number of threads that route rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering, and of the choice between equally good splits.

    Attributes
    ----------
    n_iter_ : int
        Always 1.
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, free_labels_, ...
        As in :class:`greedy.IMM`, except for `history_`.

    Notes
    -----
    The time is O(n d log n) per level. The memory is that of scikit-learn's tree: a copy of a
    dense X in single precision, and O(n).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CART
    >>> CART(3, max_leaves=5, random_state=0).fit(load_iris().data).tree_.n_leaves
    5
    """

    n_clusters: int = 8
    _: KW_ONLY
    max_leaves: int | None = None
    objective: Any = "kmeans"
    reference: Any = None
    standardize: bool = False
    ties: str = "widest"
    min_samples_leaf: int | float = 1
    n_jobs: int | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "max_leaves": [None, Interval(Integral, 2, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES)), HasMethods("distances")],
        "standardize": ["boolean"],
        "ties": [StrOptions({"widest", "first"})],
    }

    _named_parts: ClassVar[dict] = {"objective": OBJECTIVES}

    def _method(self):
        objective = resolve(self.objective, OBJECTIVES, Objective)
        if objective.trims:
            raise ValueError("Only TAOClustering supports Trimmed; compare and CART do not.")
        return Method(objective, self._fit_tree)

    def _fit_tree(self, problem):
        max_leaves = 2 * self.n_clusters if self.max_leaves is None else self.max_leaves
        terms = (max_leaves, problem.weight, self.random_state)
        size = problem.leaf_size
        least = 1 if size is None else size.parameter(problem.weight)
        tree = cart_tree(problem.X, problem.free.labels, *terms, min_samples_leaf=least).prune()
        view, n_jobs = kernel_arrays(problem.X), effective_n_jobs(self.n_jobs)
        tree, leaf_of_row = with_leaf_size(tree, view, size, n_jobs)
        if self.ties == "widest":
            terms = (leaf_of_row, view, problem.weight, n_jobs)
            tree = at_widest_margins(tree, *terms, is_middle=True)
        return Result(tree, {"n_iter_": 1})
