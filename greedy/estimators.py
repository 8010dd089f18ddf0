"""The builders as scikit-learn estimators, which also serve as initial trees of TAOClustering."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from tao_cluster.base import TreeClustering
from tao_cluster.problem.objectives import KMeans
from tao_cluster.problem.problem import Result

from .builders import GreedyStart, finish, part_centers
from .growth import history
from .points import Points


class GreedyTree(TreeClustering):
    """Base of the axis-aligned methods. A subclass has ``_grow(points) -> Growth``."""

    deterministic = True  # as an initial tree: the same every time
    uses_distances = True
    in_raw_units = False

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "reference": [None, "array-like", HasMethods("fit")],
        "standardize": ["boolean"],
        "midpoints": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.reference = reference
        self.standardize = standardize
        self.midpoints = midpoints
        self.n_jobs = n_jobs
        self.random_state = random_state

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Tree for a free clustering, for as many clusters as there are centres.

        Parameters and return value as for :meth:`greedy.builders.GreedyStart.build`.
        """
        self._validate_params()
        start = GreedyStart(self._grow, self.midpoints, self.n_jobs)
        return start.build(X, labels, centers, sample_weight, rng, distances)

    def surrogate_score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the surrogate cost: that of the reference centres instead of the optimal ones.

        Parameters and return value as in `score`.
        """
        check_is_fitted(self)
        return -self._cost(X, None, sample_weight, embedding, self.free_centers_)

    def _method(self):
        return GreedyMethod(self._grow, self.midpoints, self.n_jobs)

    def _store(self, given, inputs, rows, problem, result):
        super()._store(given, inputs, rows, problem, result)
        for record in self.history_:  # found on standardised columns, perhaps
            if "threshold" in record:
                record["threshold"] = float(self.tree_.threshold[record["node"]])


@dataclass(frozen=True)
class GreedyMethod:
    """What fits axis-aligned trees to problems of k-means.

    Parameters
    ----------
    grow : callable(Points) -> Growth
    midpoints : bool
    n_jobs : int, optional
    """

    grow: Callable
    midpoints: bool
    n_jobs: int | None
    objective: ClassVar[KMeans] = KMeans()
    validation: ClassVar[None] = None

    def check_data(self, X, weight):
        """Any data will do."""

    def points(self, problem):
        """The rows and centres of a problem in the form that the kernels read."""
        embedding = None if problem.space is problem.X else problem.space
        return Points.of(
            problem.X, problem.free.centers, problem.weight, embedding, n_jobs=self.n_jobs
        )

    def fit_tree(self, problem):
        """The tree of the growth."""
        points = self.points(problem)
        growth = self.grow(points)
        tree, cuts = finish(growth, points, self.midpoints), history(growth)
        return Result(tree, {"history_": cuts, "n_iter_": len(cuts)})


class IMM(GreedyTree):
    """Iterative Mistake Minimization: one leaf a cluster, few mistakes.

    The method of Dasgupta, Frost, Moshkovitz & Rashtchian (2020); see :func:`greedy.build_imm`.

    Parameters
    ----------
    n_clusters : int, default=8
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering that the tree explains: None is scikit-learn's KMeans with
        ``n_init=10`` and this `random_state`, a fitted or unfitted estimator with
        ``cluster_centers_`` or ``means_``, or the centres. Of an estimator with ``labels_`` alone
        (-1 for noise) the means of their rows are the centres.
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
        Percent by which `inertia_` exceeds `free_inertia_`.
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

    def _grow(self, points):
        return part_centers(points, keep_labels=True)


class ExGreedy(GreedyTree):
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

    def _grow(self, points):
        return part_centers(points)


class ExShallow(GreedyTree):
    """ExShallow: one leaf a cluster, low cost with short explanations.

    The method of Laber, Murtinho & Oliveira (2023); see :func:`greedy.build_exshallow`.

    Parameters
    ----------
    depth_factor : float >= 0, default=0.03
        Price of the expected depth, the paper's lambda: larger values give shallower trees.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExShallow
    >>> ExShallow(10, random_state=0).fit(load_digits().data).tree_.n_leaves
    10
    """

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "depth_factor": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        depth_factor=0.03,
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.depth_factor = depth_factor

    def _grow(self, points):
        return part_centers(points, depth_factor=self.depth_factor)
