"""TAOClustering: the parameters, their validation, and the fit of one tree or of a path."""

import copy
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metaestimators import available_if

from ._utils.matrices import checked_array
from ._utils.options import with_plain_numbers
from ._utils.threads import one_thread
from .base import LEAF_SIZES, TreeClustering, on_snapshot
from .constraints import Constraints
from .initial_trees.builders import NAMES
from .optimize.algorithms import SPLIT_KINDS, AxisAligned, DirectForm, Oblique, PenaltyMethod
from .optimize.fit import Method
from .optimize.settings import ALGORITHMS, OBJECTIVES, PENALTIES, Settings
from .problem.split_limits import narrowed
from .tree import Tree

_OBJECTIVE_METHODS = ["reference", "prepare", "distances", "update_centers", "value", "as_distance"]

# A class in place of an object passes here: `resolve` then raises an error that names the remedy.
_CONSTRAINTS = {
    "n_clusters": [Interval(Integral, 1, None, closed="left")],
    "lambda_": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "depth": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
    "objective": [StrOptions(set(OBJECTIVES)), HasMethods(_OBJECTIVE_METHODS)],
    "split": [StrOptions(set(SPLIT_KINDS)), Oblique, AxisAligned, type],
    "standardize": ["boolean"],
    "init": [StrOptions(set(NAMES)), Tree, HasMethods("build")],
    "reference": [None, "array-like", HasMethods("fit")],
    "max_parameters": [None, Interval(Integral, 1, None, closed="left")],
    "max_cost_increase": [None, Interval(Real, 0, None, closed="left")],
    "validation": [None, Interval(RealNotInt, 0, 1, closed="neither"), "array-like"],
    "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
    "min_samples_leaf": LEAF_SIZES,
    "constraints": [None, Constraints],
    "algorithm": [StrOptions(set(ALGORITHMS)), DirectForm, PenaltyMethod, type],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# Strings that stand for objects whose settings can be set as nested parameters. "published" is left
# out, because it also sets the initial trees.
_NAMED_PARTS = {
    "algorithm": {name: ALGORITHMS[name] for name in ("direct", "penalty")},
    "objective": OBJECTIVES,
    "split": SPLIT_KINDS,
}


def _has_histograms(estimator):
    """Return whether leaves store a histogram over the clusters, or will store one after `fit`."""
    if hasattr(estimator, "tree_"):
        return estimator.tree_.leaf_value is not None
    algorithm = estimator.algorithm
    algorithm = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else algorithm
    penalty = getattr(algorithm, "penalty", None)
    penalty = PENALTIES.get(penalty) if isinstance(penalty, str) else penalty
    return penalty is not None and not penalty.is_binary


def _checked_leaves(leaves):
    """Return the numbers of leaves of a path as an increasing list of int."""
    options = {"ensure_2d": False, "dtype": None, "input_name": "leaves"}
    if not np.size(leaves):
        raise ValueError("leaves is empty; give numbers of leaves, or leave it out.")
    leaves = checked_array(np.atleast_1d(leaves), **options).ravel()
    if leaves.dtype.kind not in "iu" or not leaves.min() > 0:
        raise ValueError(f"leaves must be positive integers; got {leaves.tolist()}.")
    return np.unique(leaves).tolist()


def _checked_lambdas(lambdas):
    """Return the lambdas of a path as a sorted float64 array of positive numbers."""
    options = {"ensure_2d": False, "dtype": float, "input_name": "lambdas"}
    if not np.size(lambdas):
        raise ValueError("lambdas is empty; give values of lambda, or leave it out.")
    if np.asarray(lambdas).dtype.kind in "SU":
        raise ValueError(f"lambdas must be positive numbers; got {lambdas!r:.80}.")
    lambdas = np.sort(checked_array(np.atleast_1d(lambdas), **options).ravel())
    if not lambdas[0] > 0:
        raise ValueError("lambdas must be positive.")
    return lambdas


class TAOClustering(TreeClustering):
    """Explainable clustering by a small decision tree, with sparse oblique or axis-aligned splits.

    The tree assigns each row to a cluster. Tree and centres minimise the cost of the clustering
    plus a penalty on the weights of the tests (Gabidolla & Carreira-Perpinan, KDD 2022, eq. 4)::

        E(T(X), C) + lambda * sum_i ||w_i||_1

    E is the cost of assigning the rows X by the tree T to the centres C, and w_i are the weights of
    the test at node i. The *free clustering* solves the same problem without a tree. A fit starts
    from it, and the cost of the tree is compared with its cost. By default, passes of Tree
    Alternating Optimization fit the tree (see Notes). ``algorithm="published"`` follows the paper.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters. With ``objective="labels"`` it is not used: each label is a cluster.
    lambda_ : "auto" or float >= 0, default="auto"
        Penalty on sum_i ||w_i||_1, in the units of the objective. Larger values give smaller trees
        of higher cost. "auto" fits trees along growing lambda and returns the one with the least
        ``cost_increase_ + (parameters / (6 * n_clusters - 4)) ** 2`` (:func:`knee`), in the time
        of several single fits. A number is the lambda of the paper; it scales with the number
        of rows and with the scale of the data.
        For ``split="axis"`` a number is the penalty per test, and "auto" compares numbers of leaves
        in the same way, unless `max_leaves` or a tree in `init` sets the size.
    depth : "auto" or int >= 0, default="auto"
        Depth of the initial tree, which has at most 2 ** depth leaves. "auto" is 5, or one more
        than a tree with one leaf per cluster needs (8 for 100 clusters). A number is also the
        largest depth of oblique trees, and axis-aligned trees have at most 2 ** depth leaves, or
        `n_clusters` if that is more. "auto" does not limit the result.
    max_leaves : int, optional
        Maximum number of leaves. Axis-aligned trees get that many leaves if each reduces the cost.
    max_parameters : int, optional
        Return the tree of least cost with at most this many parameters (non-zero weights,
        thresholds and leaves; an axis-aligned tree of L leaves has 3 L - 2). `lambda_` must then
        stay "auto".
    max_cost_increase : float, optional
        Return the tree with the fewest parameters whose cost is at most this percentage above that
        of the free clustering. `lambda_` must then stay "auto".
    validation : float in (0, 1) or array of rows, optional
        Choose the size of the tree by its cost on rows that it was not fitted to: a random share
        of the rows, or the indices or a boolean mask of these rows. The tree is then fitted to all
        rows. It applies to the knee, `max_parameters` and `max_cost_increase`.
    min_samples_leaf : int >= 1 or float in (0, 0.5], default=1
        Minimum size of each leaf: a number of rows of positive weight (int), or a share of their
        total weight (float). If a sample finds the tree, all rows still count.
    constraints : Constraints, optional
        Which columns tests may use, and how often and where; see :class:`Constraints`.
    objective : {"kmeans", "spherical", "kmedians", "kmedoids", "trimmed", "labels"} or Objective, \
            default="kmeans"
        Dissimilarity of a row and a centre: squared Euclidean, cosine, L1, or Euclidean distance
        to a row (other metrics: :class:`.KMedoids`). "trimmed" (:class:`.Trimmed`) leaves out far
        rows. "labels" explains labels, ``fit(X, y)``; the cost is the weight of misassigned rows.
    split : {"oblique", "axis"}, Oblique or AxisAligned, default="oblique"
        "oblique" tests weighted sums of a few features, "axis" single features. Thresholds are
        halfway between the closest rows on both sides; :class:`AxisAligned(midpoints=False)
        <tao_cluster.optimize.algorithms.AxisAligned>` uses values of rows.
    standardize : bool, default=False
        Scale the columns of X to unit standard deviation, and centre them if X is dense, before
        distances and lambda are computed. Recommended if columns have different units. The tree,
        its centres and all displays keep the units of X, and so do `reference` and `init`. Costs
        and lambda are those of the scaled columns. X is copied once.
    init : {"auto", "bisecting", "centroids", "random", "imm", "exkmc", "exgreedy", "exshallow"}, \
            Tree or InitialTree, default="auto"
        Initial tree. "bisecting": recursive 2-means of the rows. "centroids": recursive 2-means of
        the free centres, one leaf per cluster. "random": bisectors of random pairs of rows. The
        other names are axis-aligned trees of :mod:`greedy`. "auto" compares "bisecting" and
        "centroids", and for ``split="axis"`` ExKMC, CART on the free labels, and ExShallow. A Tree
        or an object such as ``ExKMC(max_leaves=40)`` also sets the maximum number of leaves of an
        axis-aligned tree.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering. None runs the estimator of the objective (scikit-learn's KMeans with
        ``n_init=10`` and this `random_state`). An estimator, fitted or not, must have
        ``cluster_centers_``, ``means_`` or ``labels_`` after fit (-1 marks noise). For a pipeline
        that ends in such an estimator, rows are clustered in the space of its transformed columns,
        and the tree tests the columns of X. An array gives the centres, in the units of X. A fitted
        estimator of other columns or rows raises an error. If it has only ``labels_``, they must be
        those of the rows of X. With ``standardize=True``, give it unfitted, or a pipeline.
    algorithm : {"direct", "penalty", "published"}, DirectForm or PenaltyMethod, default="direct"
        "direct" is :class:`DirectForm` with its defaults, "penalty" is :class:`PenaltyMethod` with
        its defaults: pass an object for other settings, such as ``DirectForm(n_init=16)``.
        "published" follows the paper: the penalty method with the squared error, the constant
        strength lambda and all updates accepted, eight initial trees ("bisecting"; one of "exkmc"
        for axis-aligned trees), and no refinement. Of the choices that the paper leaves open, these
        come nearest to its table 2.
    n_jobs : int, default=None
        Number of threads; None is 1 (or the number of a joblib backend) and -1 is one per core.
        The result is the same for any number. Threads save time for about 10 000 rows or more.
        While a fit runs in threads, start other processes with "spawn": a forked process can hang.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering, the initial trees and samples of rows. The same int gives the
        same tree, bit by bit.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    labels_ : int32 array of shape (n,)
        Cluster of each row, by the tree, numbered as in the free clustering. If a cluster is lost,
        no leaf has its number.
    cluster_centers_ : array of shape (n_clusters, m)
        Optimal centres of `labels_`. A cluster without rows keeps its free centre.
    inertia_ : float
        Cost of `labels_` with `cluster_centers_`.
    cost_increase_ : float
        Percentage by which `inertia_` exceeds `free_inertia_`. It is negative if the tree found
        better clusters than the free clustering, which is a local optimum, or than a `reference`
        that minimises another cost.
    node_counts_ : float64 array of shape (n_nodes,)
        Weight of the rows that reach each node; without sample weights the number of rows.
    node_rows_ : int64 array of shape (n_nodes,)
        Number of rows that reach each node, whatever their weights.
    split_stds_ : float64 array of shape (n_nonzero,)
        Standard deviation of each feature of each test over the rows of its node, in the order of
        ``tree_.split_weights``. Displays rank features by |weight| times this value.
    split_sides_ : float64 array of shape (n_nodes, 2)
        The largest fitted value below the threshold of each test, and the smallest one above it:
        values of the feature, or of the weighted sum of several features. NaN at leaves, and on a
        side without rows. Displays choose the digits of a test by them.
    split_densities_ : float64 array of shape (n_nodes,)
        Kernel density of w.x over the rows of a node at the threshold, divided by the lower of
        the peaks on both sides: 0 in an empty gap, near 1 in a crowd. NaN at leaves.
    feature_importances_ : float64 array of shape (n_features,)
        Share of the cost that the tests of each feature save: the mean decrease in impurity of
        scikit-learn's trees, with the cost as impurity. It sums to 1, or is 0 throughout for a
        single leaf. The features of an oblique test share its saving in proportion to |weight|
        times standard deviation over the rows of the node.
    free_labels_, free_centers_, free_inertia_
        Labels, centres and cost of the free clustering.
    history_ : list of dict
        One record per evaluated tree: stage ("start", "search", "direct", "relax",
        "regrow", "exact", "direct fit", "penalty" or "sets"), lambda (in the stage "exact" the
        penalty per parameter), mu (0 in the stage "direct fit", infinite in the direct form),
        cost_increase (percent, of the rows without noisy copies), leaves, non_zeros, mismatch
        (weight of the rows whose assignment differs from the tree's), kept (whether it is the best
        of its stage so far), sampled (whether costs are those of a sample of rows) and seconds.
    n_iter_ : int
        Length of `history_`.
    best_lambda_ : float
        Lambda of `tree_`: `lambda_`, or the value that `fit` chose; 0 if it chose leaves instead.
    validation_cost_increase_ : float
        Only with `validation`: percentage on the held-out rows of the tree that set the size.
    cluster_names_ : list of str, only after `name_clusters`
    classes_ : array of shape (n_clusters,)
        Only with ``objective="labels"``: the sorted labels. `cluster_centers_` and `free_centers_`
        are then means of rows of X.
    n_features_in_, feature_names_in_ : as in scikit-learn

    See Also
    --------
    tao_path : Trees along growing lambda, or along the number of leaves.
    DirectForm, PenaltyMethod : Settings of the algorithms.
    greedy.ExKMC, greedy.IMM : Fast axis-aligned trees.

    Notes
    -----
    *Direct form.* Each initial tree gets three passes at lambda/10 (on a sample of 5000 rows if
    there are at least 10 000). The best tree then gets up to three passes at lambda/10 and three
    at lambda, because clusters that are lost at a large lambda do not return. All updates of nodes
    are accepted, since the cost does not depend on the scale of w but ||w||_1 does. The tree with
    the least objective (4) is kept.

    *Refits.* Nodes are refitted on the features that they kept, with less shrinkage. Passes of
    :class:`.Exact` then solve each node for the clustering cost itself plus a penalty per
    parameter, the slope of cost over size. If there are at most 10 000 rows, noisy copies of them
    (a smoothed bootstrap) count in all passes of oblique trees and in the last ones of axis-aligned
    trees (not with `max_parameters`), so that the tree holds on new rows. Attributes and goals have
    costs of the rows alone.

    *Search.* Rounds of a local search grow up to three leaves where rows cost most, fit the nodes
    with perturbed weights, refit, and keep the tree if it is better.

    *Axis-aligned trees.* An iterated local search improves the initial trees on a sample of the
    rows and columns (5000 rows or more, 256 columns). Nodes are then solved exactly on all rows,
    and leaves are regrown where they reduce the cost most. A split that does not reduce the cost is
    removed. The search is ours; the paper's is ``algorithm="published"``.

    *Equal rows* are merged into one row: weight 2 equals a repeated row bit by bit. A
    KeyboardInterrupt ends `fit` with a warning and keeps the best tree so far.

    *Memory* besides X: a copy of its rows in an order that depends only on their values, the rows
    in the form of the node solver (4 bytes per value, 8 per non-zero value of sparse X), as much
    again for the rows of the largest node (for sparse X a quarter per thread), 8 bytes per row and
    cluster for distances, and about 150 bytes per row. For 200 000 x 50 values, and for sparse X of
    50 000 x 20 000, this is less than four times X; of a sample (``DirectForm.max_rows``), less.

    References
    ----------
    M. Gabidolla and M. A. Carreira-Perpinan. Optimal Interpretable Clustering Using Oblique
    Decision Trees. KDD 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> X = load_iris().data
    >>> model = TAOClustering(n_clusters=3, depth=2, random_state=0).fit(X)
    >>> model.tree_.n_leaves
    3
    """

    _parameter_constraints: ClassVar[dict] = _CONSTRAINTS
    _named_parts: ClassVar[dict] = _NAMED_PARTS

    def __init__(
        self,
        n_clusters=8,
        *,
        lambda_="auto",
        depth="auto",
        max_leaves=None,
        max_parameters=None,
        max_cost_increase=None,
        validation=None,
        min_samples_leaf=1,
        constraints=None,
        objective="kmeans",
        split="oblique",
        standardize=False,
        init="auto",
        reference=None,
        algorithm="direct",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.lambda_ = lambda_
        self.depth = depth
        self.max_leaves = max_leaves
        self.max_parameters = max_parameters
        self.max_cost_increase = max_cost_increase
        self.validation = validation
        self.min_samples_leaf = min_samples_leaf
        self.constraints = constraints
        self.objective = objective
        self.split = split
        self.standardize = standardize
        self.init = init
        self.reference = reference
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @one_thread()
    def fit_path(self, X, lambdas=None, sample_weight=None, embedding=None, y=None, leaves=None):
        """Return one fitted copy of this estimator per tree of a path; see :func:`tao_path`."""
        if self.lambda_ != "auto":
            raise ValueError(
                f"lambda_={self.lambda_!r} would not be used: a path has values of its own. Give "
                "them as lambdas=[...], or for split='axis' numbers of leaves as leaves=[...]."
            )
        if leaves is not None and (self.max_leaves is not None or self.depth != "auto"):
            raise ValueError(
                "leaves sets the sizes of the trees, so max_leaves and depth would not be used: "
                "leave them out."
            )
        plain = with_plain_numbers(self)
        method = plain._method()
        method.check_path(lambdas, leaves)
        lambdas = None if lambdas is None else _checked_lambdas(lambdas)
        leaves = None if leaves is None else _checked_leaves(leaves)
        inputs, rows, problem = plain._freeze(method, X, y, sample_weight, embedding)
        narrow, restored = narrowed(problem)
        models = []
        for parameter, result in method.fit_path(narrow, leaves if lambdas is None else lambdas):
            model = copy.copy(plain).set_params(**parameter)
            model._store(X, inputs, rows, problem, restored(result))
            models.append(model)
        return models

    def _method(self):
        """Check the parameters, and return the :class:`Method` that fits trees with them."""
        settings = Settings.of(self.get_params(deep=False), effective_n_jobs(self.n_jobs))
        return Method(settings, self.random_state, self.verbose)

    @available_if(_has_histograms)
    @on_snapshot
    def predict_proba(self, X):
        """Return the histogram over the clusters of the leaf that each row reaches.

        The method exists if leaves have histograms: ``PenaltyMethod(penalty="squared")``. A
        histogram has one entry per cluster: the share of the rows of the leaf that the penalty
        method assigned to this cluster at its end. If passes of the direct form refined the tree,
        it is the share of the rows of this free cluster.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        float64 array of shape (n, n_clusters); rows sum to 1
        """
        leaves = self.apply(X)
        return self.tree_.leaf_value[leaves]


def tao_path(
    X,
    n_clusters=8,
    lambdas=None,
    depth="auto",
    *,
    leaves=None,
    sample_weight=None,
    embedding=None,
    y=None,
    **parameters,
):
    """Fit trees of decreasing size along lambda, or of increasing size along the number of leaves.

    Oblique trees are fitted in order of increasing lambda; each fit starts from the previous tree.
    The initial trees, the conversion of X and the free clustering are shared, so that ten trees
    take about as long as several fits. Axis-aligned trees (``split="axis"``) follow the number
    of leaves. Each of them costs at most as much as a single fit with the same `max_leaves`, and at
    most as much as the smaller trees.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    n_clusters : int, default=8
    lambdas : array-like of positive floats, optional
        Values of lambda for oblique trees; they are sorted. By default ten values follow from the
        data. The smallest value hardly restricts the tree. The largest one gives about one leaf per
        cluster and one or two features per node.
    depth : "auto" or int, default="auto"
        As in :class:`TAOClustering`.
    leaves : array-like of positive ints, optional
        Maximum numbers of leaves for axis-aligned trees; they are sorted. By default up to ten
        numbers in geometric steps, from one leaf per cluster to `max_leaves` or 2 ** depth.
    sample_weight, embedding, y
        As in :meth:`TAOClustering.fit`.
    **parameters
        Further parameters of :class:`TAOClustering`: `split`, `reference`, `random_state`, ...
        `algorithm` must be "direct" or a :class:`DirectForm`.

    Returns
    -------
    list of TAOClustering
        Fitted models in order of `lambda_` or `max_leaves`. The `history_` of a model has the
        records of the whole path up to this model.

    Raises
    ------
    ValueError
        If `lambdas` are not positive and finite, or `leaves` not positive integers. If a parameter
        would not be used: `lambda_`, `max_parameters` or `max_cost_increase` (use :func:`knee`),
        `validation`, `lambdas` for axis-aligned trees, or `leaves` for oblique trees. If
        `TAOClustering.fit` would raise a ValueError.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tao_cluster import tao_path
    >>> X = load_breast_cancer().data
    >>> models = tao_path(X, 5, depth=3, standardize=True, random_state=0)
    >>> sizes = [model.tree_.n_parameters for model in models]
    >>> sizes[0] > sizes[-1]
    True
    """
    return TAOClustering(n_clusters, depth=depth, **parameters).fit_path(
        X, lambdas, sample_weight, embedding, y, leaves
    )
