"""Estimators with a leaf a cluster, whose cuts part the centres: IMM, EMN, DPTree, Ex..."""

from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ..methods.dynamic import POWERS, part_by_search_trees
from ..methods.parting import part_centers
from .base import CostTree


class IMM(CostTree):
    """Iterative Mistake Minimization: one leaf a cluster, few mistakes.

    The method of Dasgupta, Frost, Moshkovitz & Rashtchian (2020); see :func:`greedy.build_imm`.

    Parameters
    ----------
    n_clusters : int, default=8
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Costs: squared Euclidean distances to means, or L1 distances to medians.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering that the tree explains: None is scikit-learn's KMeans with
        ``n_init=10`` and this `random_state` (for k-medians, alternation of medians and nearest
        centres), a fitted or unfitted estimator with ``cluster_centers_`` or ``means_``, or the
        centres. Of an estimator with ``labels_`` alone (-1 for noise) the means (medians) of
        their rows are the centres.
    standardize : bool, default=False
        Whether distances are measured between columns that are centred and of unit spread (sparse
        ones of unit spread alone). Cuts are in the units of X anyway, like all that is shown.
        With an embedding it changes nothing.
    midpoints : bool, default=True
        Put thresholds halfway between the values on their two sides. Else they are values of
        the data or of the centres, as in the published programs.
    n_jobs : int, default=None
        Threads that share the features; the tree is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering; nothing else is random.

    Attributes
    ----------
    tree_ : Tree
    labels_ : int32 array of shape (n,)
        The tree's clusters, numbered as the free clustering's.
    cluster_centers_ : array of shape (n_clusters, m)
        Optimal for `labels_`; a cluster without rows keeps its free centre.
    inertia_ : float
        Cost of `labels_` with `cluster_centers_`.
    cost_increase_ : float
        Percent by which `inertia_` exceeds `free_inertia_`; below 0 where the tree has found
        better clusters than the free clustering.
    node_counts_ : float64 array of shape (n_nodes,)
        Rows, or their weight, that reach each node of `tree_`.
    split_spreads_ : float64 array of shape (n_nonzero,)
        Standard deviation of each feature of each test over the rows of its node, beside
        ``tree_.split_weights``: |weight| times spread ranks features wherever trees are shown.
    free_labels_, free_centers_, free_inertia_
        The free clustering.
    history_ : list of dict
        One record a cut, in their order: node, feature, threshold, leaves after it.
    n_iter_ : int
        Number of cuts.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Memory beside X: the (n, n_clusters) distances and O(n); a sparse X is copied once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import IMM
    >>> model = IMM(3, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves
    3
    """

    def _grow(self, points, random_state):
        return part_centers(points, keep_labels=True)


class EMN(CostTree):
    """EMN: one leaf a cluster, few mistakes for each centre that a cut parts.

    The deterministic algorithm of Esfandiari, Mirrokni & Narayanan (2022); see
    :func:`greedy.build_emn`. Parameters and attributes as in :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import EMN
    >>> EMN(3, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    def _grow(self, points, random_state):
        return part_centers(points, keep_labels=True, is_ratio=True)


class ExGreedy(CostTree):
    """ExGreedy: one leaf a cluster, each cut with the least induced cost.

    The method of Laber & Murtinho (2021); see :func:`greedy.build_exgreedy`. Parameters and
    attributes as in :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExGreedy
    >>> float(round(ExGreedy(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    3.65
    """

    def _grow(self, points, random_state):
        return part_centers(points)


class ExShallow(CostTree):
    """ExShallow: one leaf a cluster, low cost with short explanations.

    The method of Laber, Murtinho & Oliveira (2023); see :func:`greedy.build_exshallow`.

    Parameters
    ----------
    depth_factor : float >= 0, default=0.03
        Price of the expected depth, the paper's lambda: larger values give shallower trees.
    n_clusters, objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExShallow
    >>> ExShallow(10, random_state=0).fit(load_digits().data).tree_.n_leaves
    10
    """

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "depth_factor": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        depth_factor=0.03,
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
        self.depth_factor = depth_factor

    def _grow(self, points, random_state):
        return part_centers(points, depth_factor=self.depth_factor)


class DPTree(CostTree):
    """DPTree: one leaf a cluster, cut by the optimal search trees of single features.

    The method of Laber & Murtinho (2021), algorithm 2; see :func:`greedy.build_dptree`.
    With d features it costs at most 1 + 4 d log2 k times the reference for k-medians, and
    1 + 4 d k log2 k times for k-means.

    Parameters
    ----------
    n_clusters, objective, reference, standardize, n_jobs, random_state
        As in :class:`IMM`, like the attributes.
    midpoints : bool, default=True
        Put thresholds halfway between the values of rows and centres on their two sides. Else
        they lie halfway between two centres, as in the paper.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import DPTree
    >>> float(round(DPTree(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    4.88
    """

    def _grow(self, points, random_state):
        return part_by_search_trees(points, POWERS[self.objective])
