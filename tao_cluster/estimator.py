"""TAOClustering: parameters, validation and wiring of the parts; no algorithm."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)
from tqdm.auto import tqdm

from ._threads import one_thread
from .alternation import Problem, Schedule, alternate
from .initial_trees import Bisecting, Given, InitialTree
from .measures import cost_increase
from .node_solvers import Liblinear, NodeSolver, check_supported
from .objectives import KMeans, Objective
from .penalties import Penalty, ZeroOne
from .reference import free_clustering, nearest_center
from .routing import canonical_csr, kernel_view
from .schedules import Geometric
from .tree import Tree
from .tree_step import TreeStep
from .trimming import trim

_FLOATS = [np.float64, np.float32]

# What the strings of the constructor stand for.
OBJECTIVES = {"kmeans": KMeans()}
PENALTIES = {"zero-one": ZeroOne()}
NODE_SOLVERS = {"auto": Liblinear(), "liblinear": Liblinear()}


class TAOClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clustering whose assignments are the output of a small sparse oblique tree.

    The optimisation alternates a clustering step, k-means with a penalty that pulls the
    assignments towards the tree's, and a tree step that fits the tree to the assignments,
    along a growing penalty parameter mu (Gabidolla & Carreira-Perpinan, KDD 2022).

    Parameters
    ----------
    n_clusters : int, default=8
    lambda_ : float >= 0, default=10
        Price of sum_i ||w_i||_1 over the tree's nodes, in the units of the objective: larger
        values give fewer features and leaves and a higher cost. It scales with the number of
        rows and with the scale of the data; try powers of ten.
    depth : int >= 0, default=5
        Depth of the initial tree, at most 2 ** depth leaves; pruning shortens it.
    objective : {"kmeans"} or Objective, default="kmeans"
    split : {"oblique"}, default="oblique"
    penalty : {"zero-one"} or Penalty, default="zero-one"
    init : {"bisecting"}, Tree or InitialTree, default="bisecting"
        Initial tree. A Tree is used as it is and replaces `depth`.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering: None is the objective's own (scikit-learn's KMeans with
        ``n_init=10`` and this `random_state`), a fitted or unfitted estimator with
        ``cluster_centers_``, or the centres.
    n_init : int, default=4
        Initial trees. Each is fitted to the free clustering in `tao_iter` passes, and the one
        with the least objective (4) is followed along mu. Results depend much on the initial
        tree; more than one costs little.
    mu_factor : float > 1, default=1.1
        mu grows by this factor a step.
    n_mu_steps : int, default=100
        Most steps along mu.
    tao_iter, init_tao_iter : int, default=5 and 20
        Most passes over the tree at each mu and in the direct fit.
    node_solver : {"auto", "liblinear"} or NodeSolver, default="auto"
        Solver of the logistic regression at a node.
    max_iter : int, default=100
        Most iterations of the clustering step at each mu.
    tol : float, default=0
        The clustering step ends when no assignment changes, or when its objective falls by
        no more than this share.
    trim : float in [0, 1], default=0.05
        At the end, weights whose terms w_j x_j vary less than this share of the largest at
        their node are removed where that moves no row; 0 keeps all. The default removes about
        a twelfth of the weights; few new rows change sides.
    n_jobs : int, default=None
        Threads that route rows; the result is the same for any number. LIBLINEAR is called
        from one thread, since it draws from the generator of the whole process, and so is
        BLAS, whose results depend on the number of its threads.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering and of the initial tree. The same int gives the same tree.
    verbose : int, default=0
        1 shows a progress bar along mu.

    Attributes
    ----------
    tree_ : Tree
    labels_ : int32 array of shape (n,)
        The tree's clusters, numbered as the free clustering's. A cluster may have lost all
        its rows.
    cluster_centers_ : array of shape (n_clusters, m)
        Optimal for `labels_`; a cluster without rows keeps its free centre.
    inertia_ : float
        Cost of `labels_` with `cluster_centers_`.
    cost_increase_ : float
        Percent by which `inertia_` exceeds `free_inertia_`.
    free_labels_, free_centers_, free_inertia_
        The free clustering.
    history_ : list of dict
        One record a value of mu: mu, cost_increase (percent), mismatch (weight of the rows
        whose assignment is not the tree's), leaves, non_zeros, seconds.
    n_iter_ : int
        Number of values of mu.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Where the paper leaves something open:

    - *lambda.* The paper's grid is {100, 10, 5, 1, 0.5, 0.1}, on unscaled sums over rows as
      here; the default 10 suits its largest sets (60 000 rows), 1 000 rows want about 0.1.
    - *Penalty.* It defines the 0/1 penalty and the squared error with histogram leaves, and
      does not say which its tables use. Here: 0/1.
    - *Start of the path.* For lambda > 0 its figure 2 starts from a tree without weights, its
      section 9.1 from a direct fit to the free assignment. Here: the direct fit.
    - *Acceptance.* An update of a node is kept only if 0/1 loss + strength ||w||_1 falls, so
      no tree step raises eq. (8). The first `tao_iter` passes of the direct fit keep every
      update, since the initial weights have a scale of their own, which the 0/1 loss does not
      see, and the best of these trees goes on.
    - *Direct fit.* Its strength is lambda over the mean price of a mismatch: by how much a
      row's second nearest free centre is farther away than its nearest.
    - *Dead nodes.* With lambda > 0 the tree collapses while mu is small. Nodes that no row
      reaches, and those with zero weights, keep their parameters until the end, so that
      they return as mu grows.
    - *Accuracy of LIBLINEAR.* See :class:`tao_cluster.node_solvers.Liblinear`.

    - *Result.* The tree with the least objective (4) on the path; the paper takes the last. The
      two are mostly the same, but mu_0 is a least value over all rows: one row near the border
      of two clusters makes it tiny, and the tree can collapse for good.
    - *Trimming* (`trim`) is ours; 0 turns it off. `history_` is before trimming.

    A KeyboardInterrupt during `fit` ends it early, with a warning and the best tree so far.

    Memory beside X: the rows as LIBLINEAR reads them (16 bytes a non-zero, twice that again
    while it solves the largest node), four arrays of shape (n, n_clusters), and a copy of X
    during the reference and the first split of the initial tree.

    References
    ----------
    M. Gabidolla and M. A. Carreira-Perpinan. Optimal Interpretable Clustering Using Oblique
    Decision Trees. KDD 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> X = load_iris().data
    >>> model = TAOClustering(n_clusters=3, lambda_=0.5, depth=2, random_state=0).fit(X)
    >>> model.tree_.n_leaves
    3
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "lambda_": [Interval(Real, 0, None, closed="left")],
        "depth": [Interval(Integral, 0, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES)), Objective],
        "split": [StrOptions({"oblique"})],
        "penalty": [StrOptions(set(PENALTIES)), Penalty],
        "init": [StrOptions({"bisecting"}), Tree, InitialTree],
        "reference": [None, "array-like", HasMethods("fit")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "mu_factor": [Interval(Real, 1, None, closed="neither")],
        "n_mu_steps": [Interval(Integral, 0, None, closed="left")],
        "tao_iter": [Interval(Integral, 1, None, closed="left")],
        "init_tao_iter": [Interval(Integral, 0, None, closed="left")],
        "node_solver": [StrOptions(set(NODE_SOLVERS)), NodeSolver],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "trim": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        lambda_=10.0,
        depth=5,
        objective="kmeans",
        split="oblique",
        penalty="zero-one",
        init="bisecting",
        reference=None,
        n_init=4,
        mu_factor=1.1,
        n_mu_steps=100,
        tao_iter=5,
        init_tao_iter=20,
        node_solver="auto",
        max_iter=100,
        tol=0.0,
        trim=0.05,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.lambda_ = lambda_
        self.depth = depth
        self.objective = objective
        self.split = split
        self.penalty = penalty
        self.init = init
        self.reference = reference
        self.n_init = n_init
        self.mu_factor = mu_factor
        self.n_mu_steps = n_mu_steps
        self.tao_iter = tao_iter
        self.init_tao_iter = init_tao_iter
        self.node_solver = node_solver
        self.max_iter = max_iter
        self.tol = tol
        self.trim = trim
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, embedding=None):
        """Cluster the rows of X by a tree.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            What the tree tests. Sparse input is not made dense, float32 is not copied.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, at least 0. With LIBLINEAR: whole numbers, or all equal.
        embedding : array-like or CSR matrix of shape (n, m), default X
            Where the rows are clustered: distances and centres live there.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data have NaN or infinite values, fewer rows than clusters, or squared norms
            that overflow; if the weights are negative or all zero; if the reference does not
            fit.
        """
        given = X
        X = _canonical(
            check_array(X, accept_sparse="csr", dtype=_FLOATS, estimator=self, input_name="X")
        )
        rows = X if embedding is None else _check_embedding(embedding, X.shape[0])
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry.")
        present = weight > 0  # a row of weight 0 is an absent row
        if present.sum() < self.n_clusters:
            raise ValueError(
                f"n_samples={present.sum()} should be >= n_clusters={self.n_clusters}"
                f"{'' if present.all() else ' (rows of weight 0 are not counted)'}."
            )
        check_supported(
            _resolve(self.node_solver, NODE_SOLVERS),
            X,
            weight[present],
            _resolve(self.penalty, PENALTIES),
        )
        if present.all():
            problem = self._problem(rows, weight)
            run = self._run(X, problem)
            free_labels = problem.free.labels
        else:
            problem = self._problem(rows[present], weight[present])
            run = self._run(X[present], problem)
            free_labels = nearest_center(
                problem.objective, problem.objective.prepare(rows), problem.free.centers
            )
        # Only now, so that a fit that fails leaves an earlier one as it was.
        validate_data(self, given, skip_check_array=True)
        self._store(X, problem, *run)
        self.free_labels_ = free_labels.astype(np.int32)
        self._has_embedding = embedding is not None
        return self

    def _problem(self, rows, weight):
        objective = _resolve(self.objective, OBJECTIVES)
        data = objective.prepare(rows)
        free = free_clustering(
            self.reference, objective, rows, data, self.n_clusters, weight, self.random_state
        )
        penalty = _resolve(self.penalty, PENALTIES)
        return Problem(objective, penalty, data, weight, free, self.lambda_)

    def _run(self, X, problem):
        """Final tree, state and history of the path from the best initial tree."""
        solver = _resolve(self.node_solver, NODE_SOLVERS).bind(X)
        step = TreeStep(kernel_view(X), solver, effective_n_jobs(self.n_jobs))
        free, rng = problem.free, check_random_state(self.random_state)
        init = self._initial_tree()
        trees = (
            init.build(X, free.labels, free.centers, problem.weight, rng)
            for _ in range(self.n_init)
        )
        schedule = Schedule(
            Geometric(self.mu_factor, self.n_mu_steps),
            self.init_tao_iter,
            self.tao_iter,
            self.max_iter,
            self.tol,
        )
        shown = ("mu", "cost_increase", "leaves", "non_zeros")
        with tqdm(total=self.n_mu_steps + 1, desc="mu", disable=not self.verbose) as bar:

            def show(record):
                bar.set_postfix({name: record[name] for name in shown})
                bar.update()

            with one_thread():
                state, history = alternate(problem, step, trees, schedule, show)
        return trim(state.pruned, step.view, self.trim, step.n_jobs), state, history

    def _initial_tree(self):
        if isinstance(self.init, Tree):
            return Given(self.init)
        return Bisecting(self.depth) if isinstance(self.init, str) else self.init

    def _store(self, X, problem, tree, state, history):
        free = problem.free
        self.tree_ = tree
        self.cluster_centers_ = state.centers
        self.inertia_ = state.inertia
        self.free_centers_ = free.centers
        self.free_inertia_ = free.inertia
        self.cost_increase_ = cost_increase(state.inertia, free.inertia)
        self.history_ = history
        self.n_iter_ = len(history)
        leaf_of_row = tree.route(kernel_view(X), n_jobs=effective_n_jobs(self.n_jobs))
        self.labels_ = tree.leaf_label[leaf_of_row]

    # ------------------------------------------------------------------ after fit

    def predict(self, X):
        """Cluster of each row, by the tree (not by the nearest centre).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        int32 array of shape (n,)
        """
        leaf_of_row = self.apply(X)
        return self.tree_.leaf_label[leaf_of_row]

    def apply(self, X):
        """Leaf of `tree_` that each row reaches: int32 array of shape (n,), node numbers."""
        X = self._check_new(X)
        return self.tree_.route(kernel_view(X), n_jobs=effective_n_jobs(self.n_jobs))

    def decision_path(self, X):
        """CSR indicator of shape (n, n_nodes) of the nodes of `tree_` each row visits."""
        leaf_of_row = self.apply(X)
        return self.tree_.path_matrix[leaf_of_row]

    def transform(self, X):
        """Distances to `cluster_centers_`: Euclidean for k-means.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, m)
            Rows in the space of the centres: the embedding, if `fit` was given one.

        Returns
        -------
        float64 array of shape (n, n_clusters)
        """
        check_is_fitted(self)
        rows = _check_embedding(X) if self._has_embedding else self._check_new(X)
        objective, data = self._clustered(rows)
        return objective.as_distance(objective.distances(data, self.cluster_centers_))

    def fit_transform(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and transform the rows that were clustered. See `fit` and `transform`."""
        self.fit(X, sample_weight=sample_weight, embedding=embedding)
        return self.transform(X if embedding is None else embedding)

    def score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the objective of the tree's assignment of some rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
        embedding : array-like or CSR matrix of shape (n, m)
            The same rows where they are clustered; needed if `fit` was given one.

        Returns
        -------
        float
        """
        labels = self.predict(X)
        if self._has_embedding == (embedding is None):
            raise ValueError(
                "score needs the embedding of the rows, since fit was given one."
                if self._has_embedding
                else "score takes an embedding only if fit was given one."
            )
        rows = self._check_new(X) if embedding is None else _check_embedding(embedding, len(labels))
        objective, data = self._clustered(rows)
        weight = _check_sample_weight(
            sample_weight, labels[:, None], dtype=np.float64, ensure_non_negative=True
        )
        return -objective.value(data, labels, weight, self.cluster_centers_)

    def _check_new(self, X):
        check_is_fitted(self)
        return _canonical(validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False))

    def _clustered(self, rows):
        """The objective, and rows prepared for it."""
        expected = self.cluster_centers_.shape[1]
        if rows.shape[1] != expected:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input: its centres live there."
            )
        objective = _resolve(self.objective, OBJECTIVES)
        return objective, objective.prepare(rows)

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def __sklearn_is_fitted__(self):
        # `lambda_` ends in an underscore, so scikit-learn cannot tell by the names.
        return hasattr(self, "tree_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_embedding(embedding, n_rows=None):
    rows = check_array(embedding, accept_sparse="csr", dtype=_FLOATS, input_name="embedding")
    if n_rows is not None and rows.shape[0] != n_rows:
        raise ValueError(f"embedding has {rows.shape[0]} rows, X has {n_rows}.")
    return _canonical(rows)


def _canonical(X):
    """CSR input with sorted, unique indices, of 32 bits where they suffice; no needless copy.

    Norms, k-means and LIBLINEAR would each read another matrix from repeated entries, and
    scikit-learn's k-means needs 32 bits.
    """
    if not sp.issparse(X):
        return X
    X = canonical_csr(X)
    if X.nnz > np.iinfo(np.int32).max or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)


def _resolve(value, defaults):
    return defaults[value] if isinstance(value, str) else value
