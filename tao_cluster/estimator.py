"""TAOClustering: parameters, validation and wiring of the parts; no algorithm."""

from numbers import Integral, Real
from typing import ClassVar

from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from tqdm.auto import tqdm

from ._threads import one_thread
from .alternation import Problem, Schedule, alternate
from .base import TreeClustering
from .initial_trees import BUILDERS, InitialTree, initial_tree
from .node_solvers import Liblinear, Newton, NodeSolver, check_supported
from .objectives import KMeans, Objective, cluster_means
from .penalties import Penalty, ZeroOne
from .routing import kernel_view
from .schedules import Geometric
from .tree import Tree
from .tree_step import TreeStep
from .trimming import trim

# What the strings of the constructor stand for.
OBJECTIVES = {"kmeans": KMeans()}
PENALTIES = {"zero-one": ZeroOne()}
NODE_SOLVERS = {"auto": Liblinear(), "liblinear": Liblinear(), "newton": Newton()}


class TAOClustering(TreeClustering):
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
    init : {"bisecting", "imm", "exkmc", "exgreedy", "exshallow"}, Tree or InitialTree, \
            default="bisecting"
        Initial tree. A Tree is used as it is; it and the axis-aligned trees of
        :mod:`greedy`, by name or as an object, replace `depth`.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering: None is the objective's own (scikit-learn's KMeans with
        ``n_init=10`` and this `random_state`), a fitted or unfitted estimator with
        ``cluster_centers_``, or the centres.
    n_init : int, default=4
        Initial trees. Each is fitted to the free clustering in `tao_iter` passes, and the one
        with the least objective (4) is followed along mu. Results depend much on the initial
        tree; more than one costs little. Builders without random numbers build one.
    mu_factor : float > 1, default=1.1
        mu grows by this factor a step.
    n_mu_steps : int, default=100
        Most steps along mu.
    tao_iter, init_tao_iter : int, default=5 and 20
        Most passes over the tree at each mu and in the direct fit.
    node_solver : {"auto", "liblinear", "newton"} or NodeSolver, default="auto"
        Solver of the logistic regression at a node; "auto" is "liblinear", which takes sample
        weights that are whole numbers, or all equal. "newton" takes any, starts warm and is
        faster the more nodes, rows and features there are.
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
        "init": [StrOptions({"bisecting", *BUILDERS}), Tree, InitialTree],
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

    def _objective(self):
        return _resolve(self.objective, OBJECTIVES)

    def _check_parts(self, X, weight):
        solver = _resolve(self.node_solver, NODE_SOLVERS)
        check_supported(solver, X, weight, _resolve(self.penalty, PENALTIES))

    def _explain(self, task):
        """Final tree and history of the path from the best initial tree."""
        solver = _resolve(self.node_solver, NODE_SOLVERS).bind(task.X)
        step = TreeStep(kernel_view(task.X), solver, effective_n_jobs(self.n_jobs))
        penalty = _resolve(self.penalty, PENALTIES)
        problem = Problem(task.objective, penalty, task.data, task.weight, task.free, self.lambda_)
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
                trees = self._initial_trees(task)
                state, history = alternate(problem, step, trees, schedule, show)
        tree = trim(state.pruned, step.view, self.trim, step.n_jobs)
        return tree, {"history_": history, "n_iter_": len(history)}

    def _initial_trees(self, task):
        """Yield the initial trees; one only if its builder draws no random numbers."""
        init, rng = initial_tree(self.init, self.depth), check_random_state(self.random_state)
        free, centers = task.free, task.free.centers
        if task.space is not task.X:
            centers = cluster_means(task.X, free.labels, task.weight, len(centers))
        for _ in range(1 if getattr(init, "deterministic", False) else self.n_init):
            yield init.build(task.X, free.labels, centers, task.weight, rng)


def _resolve(value, defaults):
    return defaults[value] if isinstance(value, str) else value
