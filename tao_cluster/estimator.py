"""TAOClustering: parameters, validation and wiring of the parts; no algorithm."""

import copy
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metaestimators import available_if

from ._utils.options import with_plain_numbers
from ._utils.threads import one_thread
from .base import TreeClustering, of_one_fit
from .initial_trees.initial import NAMES
from .optimize.fit import Method, until_interrupted
from .optimize.settings import ALGORITHMS, EFFORTS, NODE_SOLVERS, OBJECTIVES, PENALTIES, Settings
from .optimize.split_kinds import SPLIT_KINDS
from .tree import Tree

_OBJECTIVE_METHODS = ["reference", "prepare", "distances", "update_centers", "value", "as_distance"]

_CONSTRAINTS = {
    "n_clusters": [Interval(Integral, 1, None, closed="left")],
    "lambda_": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "depth": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
    "objective": [StrOptions(set(OBJECTIVES)), HasMethods(_OBJECTIVE_METHODS)],
    "split": [StrOptions(set(SPLIT_KINDS)), HasMethods("tidy")],
    "standardize": ["boolean"],
    "penalty": [StrOptions(set(PENALTIES)), HasMethods(["leaf", "table"])],
    "init": [StrOptions(set(NAMES)), Tree, HasMethods("build")],
    "reference": [None, "array-like", HasMethods("fit")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "max_parameters": [None, Interval(Integral, 1, None, closed="left")],
    "max_cost_increase": [None, Interval(Real, 0, None, closed="left")],
    "validation": [None, Interval(RealNotInt, 0, 1, closed="neither"), "array-like"],
    "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
    "algorithm": [StrOptions({"auto", *ALGORITHMS}), HasMethods("run")],
    "refine": ["boolean"],
    "relax": ["boolean"],
    "node_solver": [StrOptions({"auto", *NODE_SOLVERS}), HasMethods("bind")],
    "search": [StrOptions(set(EFFORTS))],
    "trim": [Interval(Real, 0, 1, closed="both")],
    "max_rows": [StrOptions({"auto"}), None, Interval(Integral, 1, None, closed="left")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def _has_histograms(estimator):
    """Whether the leaves of an estimator's tree have histograms, or will have."""
    if hasattr(estimator, "tree_"):
        return estimator.tree_.leaf_value is not None
    penalty = estimator.penalty
    penalty = PENALTIES.get(penalty) if isinstance(penalty, str) else penalty
    return penalty is not None and not penalty.is_binary


def _checked(lambdas):
    """The lambdas of a path: sorted float64 array of positive numbers."""
    options = {"ensure_2d": False, "dtype": float, "input_name": "lambdas"}
    lambdas = np.sort(check_array(np.atleast_1d(lambdas), **options).ravel())
    if not lambdas[0] > 0:
        raise ValueError("lambdas must be positive.")
    return lambdas


class TAOClustering(TreeClustering):
    """Clustering whose assignments are the output of a small decision tree, mostly sparse oblique.

    The tree and the centres minimise E(T(X), centres) + lambda sum_i ||w_i||_1 (Gabidolla &
    Carreira-Perpinan, KDD 2022). By default in its *direct form*: passes of Tree Alternating
    Optimization fit every node, by L1 logistic regression, to the side on which its rows cost
    less, weighted by how much; then the nodes are refitted, and tuned to the cost itself. The
    paper's algorithm, a clustering and a tree step along a growing mu, is ``algorithm="penalty"``.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters; not used with ``objective="labels"``, which has as many as there are labels.
    lambda_ : "auto" or float >= 0, default="auto"
        Price of sum_i ||w_i||_1 over the tree's nodes, in the units of the objective: larger
        values give fewer features and leaves and a higher cost. "auto" follows a path of ten
        values and takes the knee of cost and size, as ``knee(tao_path(X))`` does, in the time of
        two or three single fits. A number is the paper's lambda, which scales with the number of
        rows and with the scale of the data. With ``split="axis"`` it is the price of a test, and
        "auto" is none; in the penalty method "auto" is where knees mostly are.
    depth : "auto" or int >= 0, default="auto"
        Of the initial tree: at most 2 ** depth leaves, or as many as rows; trees of single features
        may be deeper. "auto" is 5, or one level more than a leaf a cluster needs: 8 for 100.
    objective : {"kmeans", "spherical", "kmedians", "kmedoids", "labels"} or Objective, \
            default="kmeans"
        Cost of a clustering: squared Euclidean, cosine or L1 distance to the centre, or Euclidean
        distance to a row (:class:`tao_cluster.objectives.KMedoids` takes other metrics).
        "labels": ``fit(X, y)`` explains labels y of any kind; the cost is the weight of the rows
        that the tree puts elsewhere.
    split : {"oblique", "axis"} or SplitKind, default="oblique"
        Tests of weighted sums, or of single features (see Notes), whose thresholds lie halfway
        between the rows on their two sides; :class:`AxisAligned(midpoints=False)
        <tao_cluster.optimize.split_kinds.AxisAligned>` has values of rows instead.
    standardize : bool, default=False
        Whether columns of X are centred and brought to unit spread (sparse ones to unit spread
        alone) first, for distances between rows, unless there is an embedding, and for lambda.
        Recommended where columns have units. The tree, its centres and all that is shown stay in
        the units of X, as does a `reference` or `init`; costs and lambda are those of the
        standardised columns. X is copied once.
    penalty : {"zero-one", "squared"} or Penalty, default="zero-one"
        What disagreement of a row with the tree costs. "squared" gives leaves with a histogram
        over the clusters, shown by `predict_proba`, and is for the penalty method.
    init : {"auto", "bisecting", "centroids", "random", "imm", "exkmc", "exgreedy", "exshallow"}, \
            Tree or InitialTree, default="auto"
        Initial tree. "bisecting": 2-means of the rows at each node, up to 2 ** depth leaves.
        "centroids": 2-means of the free centres, one leaf a cluster, the smallest trees. "auto":
        these two in turn; if ``split="axis"``, ExKMC and CART on the free labels, with 2 ** depth
        leaves, and ExShallow. "random": bisectors of random rows. A Tree, as it is, and the
        axis-aligned trees of :mod:`greedy`, by name or as an object (``ExKMC(max_leaves=40)``),
        replace `depth`; an axis-aligned result has no more leaves.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering: None is the objective's own (scikit-learn's KMeans with
        ``n_init=10`` and this `random_state`), a fitted or unfitted estimator with
        ``cluster_centers_`` or ``means_``, or the centres. Of an estimator with ``labels_`` alone
        (-1 for noise) the objective makes centres.
    n_init : int, default=4
        Initial trees. Each gets a few passes, and the one of least objective (4), the cost plus
        lambda sum_i ||w_i||_1, is followed. Results depend much on them. Builders without random
        numbers build one, the three of ``split="axis"`` one each.
    max_parameters : int, optional
        Instead of `lambda_`: the least cost with at most so many parameters (non-zero weights,
        thresholds and leaves), searched along lambda.
    max_cost_increase : float, optional
        Instead of `lambda_`: the fewest parameters with at most so many percent above the cost
        of the free clustering.
    validation : float in (0, 1) or array of rows, optional
        Rows on which a goal, or the knee, is judged: a share of the rows drawn at random, or
        numbers or a mask of rows of X. A path over the others is followed to choose lambda, then
        one over all rows. Default: the rows that trees were fitted to.
    max_leaves : int, optional
        Most leaves. Oblique trees start with no more; axis-aligned ones grow to so many where that
        pays. Default: 2 ** depth, at least n_clusters of axis-aligned ones, or those of `init`.
    algorithm : {"auto", "direct", "penalty"}, DirectForm or PenaltyMethod, default="auto"
        "auto" is "direct", or "penalty" where the node solver takes no instance weights or
        the penalty asks for histogram leaves, which the direct form cannot do with. The mu
        schedule and its iterations are settings of :class:`tao_cluster.PenaltyMethod`. Goals and
        paths are for the direct form.
    refine : bool, default=True
        Whether direct passes, and refits as `relax` says, end the penalty method, where "auto"
        would not exclude them. The paper's setting is ``algorithm="penalty", refine=False,
        init="bisecting", n_init=1, trim=0``.
    relax : bool, default=True
        Whether nodes are refitted on the features they have, with less shrinkage and exact
        thresholds: features that matter little go first (adaptive lasso), then 3 % of lambda is
        left (relaxed lasso); whether nodes are tuned to the true cost and there is a `search`. Of
        axis-aligned trees, whether there is a search, and leaves are regrown.
    node_solver : {"auto", "newton", "liblinear"} or NodeSolver, default="auto"
        Solver of the logistic regression at an oblique node. "auto" is "newton", ours: warm
        starts, instance weights, a certified gap. "liblinear", the paper's, takes sample weights
        that are multiples of one number, and does not do the direct form. For axis-aligned nodes
        "auto" is exact enumeration, the only one.
    trim : float in [0, 1], default=0.05
        At the end, weights whose terms w_j x_j vary less than this share of the largest at their
        node are removed where that moves no row; 0 keeps all. Few new rows change sides.
    search : {"fast", "thorough"}, default="fast"
        How long a better structure of the tree is searched for. "fast": a few rounds for the tree
        that `fit` returns, fewer where data are large, none for trees of a path. "thorough": 30 for
        each, on digits 7 % fewer parameters at the same cost in about nine times the time;
        axis-aligned trees get three times as many passes.
    max_rows : "auto", int or None, default="auto"
        If X has more distinct rows, a weighted sample of so many finds the tree, with the free
        centres of all rows. Rows are drawn by their share of the cost and of their cluster. Then
        the passes over all rows of :func:`tao_cluster.outofcore.fit` improve weights, thresholds
        and labels (with ``relax=True``); centres and cost are exact. A goal is met by all rows; of
        a path, only the knee has these passes. "auto": 100 000, or 1000 per cluster if these are
        more, and all rows with ``split="axis"``. None: all rows find the tree.
    n_jobs : int, default=None
        Threads that route rows and fit nodes; the result is the same for any number, and for fits
        in several threads. While one runs, start processes by spawning: a forked one can hang.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering, of initial trees and of samples of the rows. The same int
        gives the same tree.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    tree_ : Tree
    labels_ : int32 array of shape (n,)
        The tree's clusters, numbered as the free clustering's; some may have lost all rows.
    cluster_centers_ : array of shape (n_clusters, m)
        Optimal for `labels_`; a cluster without rows keeps its free centre.
    inertia_ : float
        Cost of `labels_` with `cluster_centers_`.
    cost_increase_ : float
        Percent by which `inertia_` exceeds `free_inertia_`; below 0 where the tree has found
        better clusters than the free clustering, which is a local optimum, or a `reference`.
    node_counts_ : float64 array of shape (n_nodes,)
        Rows, or their weight, that reach each node of `tree_`.
    split_spreads_ : float64 array of shape (n_nonzero,)
        Standard deviation of each feature of each test over the rows of its node, beside
        ``tree_.split_weights``: |weight| times spread ranks features wherever trees are shown.
    split_gaps_ : float64 array of shape (n_nodes,)
        How far above the threshold of a test of one feature the next row lies, NaN elsewhere.
    free_labels_, free_centers_, free_inertia_
        The free clustering.
    history_ : list of dict
        One record a tree that was looked at: stage ("start", "search", "direct", "relax",
        "regrow", "exact", "penalty" or "polish"), lambda (of "exact", the price of a parameter),
        mu (inf in the direct form), cost_increase (percent), leaves, non_zeros, mismatch (weight
        of the rows whose assignment is not the tree's), kept (the best of its stage so far),
        seconds. Where a sample or copies were looked at, lambda and cost_increase are theirs.
    n_iter_ : int
        Number of records.
    best_lambda_ : float
        The lambda of `tree_`: `lambda_`, or what was chosen.
    validation_cost_increase_ : float
        With `validation` alone: percent on the rows held out, of the tree by which lambda was
        chosen, which had not seen them.
    classes_ : array of shape (n_clusters,)
        With ``objective="labels"`` alone: the labels that there are, sorted, which `labels_` and
        `predict` give and the leaves of `tree_` number. `cluster_centers_` and `free_centers_`
        are then means of the rows of X.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    *Direct form.* It descends on the cost itself. Each initial tree gets 3 passes at lambda/10
    (from 20 000 rows on, over a sample of 10 000), the best goes on at lambda/10 and then at
    lambda, up to 3 passes each: clusters that are lost at a large lambda do not come back. Updates
    of nodes are all accepted, since the cost does not see the scale of w but ||w||_1 does; the tree
    of least objective (4) is kept, which may cost more alone. Refits are compared by cost.

    *The true cost.* After the refits, passes solve each node for the 0/1 loss of its rows, weighted
    by what the wrong side costs, plus a price a parameter: the slope of the curve of cost over size
    (:class:`.Exact`). Below 10 000 rows that of noisy copies counts, too (a smoothed
    bootstrap), lest new rows pay for it. Trees of single features take part. A round of `search`
    grows up to three leaves where rows overpay most, fits nodes once to rows of noisy weights,
    refits and tunes; from 20 000 rows on over 10 000. Limits are met by passes at a growing price.

    *Axis-aligned trees* (``split="axis"``). From all initial trees, an iterated local search looks
    for a better one, than ExGreedy's, too, on a sketch of the rows (5000, more of few columns; 256
    columns), for up to 2000 passes. By all rows, nodes are solved exactly, and leaves regrown where
    they save more. Both are ours; ``algorithm="penalty", refine=False, lambda_=0`` is the paper's.

    *Penalty method.* :class:`tao_cluster.PenaltyMethod` says what the paper leaves open. *Trimming*
    (`trim`) is ours; `history_` is before it. A KeyboardInterrupt during `fit` ends it early, with
    a warning and the best tree so far. Equal rows are merged before anything else, so weight 2 is
    the row twice, bit by bit, in any order of the rows; X is copied for that.

    Memory beside X: its rows in single precision (8 bytes a non-zero if less than half of the
    values are non-zero), again for the largest node, of sparse X a quarter of them a thread; a
    sparse X by columns, and an eighth of it, the columns that refits read; (n, n_clusters) values
    of 8 bytes; copies of at most 2e7 values; about 150 bytes a row; of a sample, the first three
    are the sample's. For 200 000 x 50, and sparse X of 50 000 x 20 000, all that is less than 3
    times X.

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

    def __init__(
        self,
        n_clusters=8,
        *,
        lambda_="auto",
        depth="auto",
        objective="kmeans",
        split="oblique",
        standardize=False,
        penalty="zero-one",
        init="auto",
        reference=None,
        n_init=4,
        max_parameters=None,
        max_cost_increase=None,
        validation=None,
        max_leaves=None,
        algorithm="auto",
        refine=True,
        relax=True,
        node_solver="auto",
        trim=0.05,
        search="fast",
        max_rows="auto",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.lambda_ = lambda_
        self.depth = depth
        self.objective = objective
        self.split = split
        self.standardize = standardize
        self.penalty = penalty
        self.init = init
        self.reference = reference
        self.n_init = n_init
        self.max_parameters = max_parameters
        self.max_cost_increase = max_cost_increase
        self.validation = validation
        self.max_leaves = max_leaves
        self.algorithm = algorithm
        self.refine = refine
        self.relax = relax
        self.node_solver = node_solver
        self.trim = trim
        self.search = search
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @one_thread()
    def fit_path(self, X, lambdas=None, sample_weight=None, embedding=None, y=None):
        """Fitted copies of this estimator along growing lambda; see :func:`tao_path`."""
        plain = with_plain_numbers(self)
        method = plain._method()
        method.check_path()
        lambdas = None if lambdas is None else _checked(lambdas)
        return list(until_interrupted(plain._path(method, lambdas, X, y, sample_weight, embedding)))

    def _path(self, method, lambdas, X, y, sample_weight, embedding):
        """Yield the fitted copies of a path."""
        inputs, rows, problem = self._freeze(method, X, y, sample_weight, embedding)
        for lambda_, result in method.fit_path(problem, lambdas):
            model = copy.copy(self).set_params(lambda_=lambda_)
            model._store(X, inputs, rows, problem, result)
            yield model

    def _method(self):
        """The parameters as the method that they stand for, resolved and checked once."""
        settings = Settings.of(self.get_params(deep=False), effective_n_jobs(self.n_jobs))
        return Method(settings, self.random_state, self.verbose)

    @available_if(_has_histograms)
    @of_one_fit
    def predict_proba(self, X):
        """Histogram over the clusters of the leaf that each row reaches.

        There is one for penalties with histogram leaves, ``penalty="squared"``: the assignments of
        the rows of a leaf when the fit ended, by when most have become the tree's own.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        float64 array of shape (n, n_clusters); rows sum to 1
        """
        leaves = self.apply(X)
        return self.tree_.leaf_value[leaves]
