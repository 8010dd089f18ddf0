"""The builders as scikit-learn estimators, which also serve as initial trees of TAOClustering."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster.base import Task, TreeClustering
from tao_cluster.measures import cost_increase, weighted_average_explanation_size
from tao_cluster.objectives import KMeans
from tao_cluster.reference import FreeClustering, optimal_centers

from .builders import expand, finish, leaf_budget, part_centers
from .points import Points
from .tradeoff import search_depth_factor, trace


class GreedyTree(TreeClustering):
    """Base of the axis-aligned methods. A subclass has ``_grow(points) -> Growth``."""

    deterministic = True  # as an initial tree: the same every time
    uses_distances = True

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "reference": [None, "array-like", HasMethods("fit")],
        "midpoints": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_clusters=8, *, reference=None, midpoints=False, n_jobs=None, random_state=None
    ):
        self.n_clusters = n_clusters
        self.reference = reference
        self.midpoints = midpoints
        self.n_jobs = n_jobs
        self.random_state = random_state

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Tree for a free clustering: an initial tree of :class:`tao_cluster.TAOClustering`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
        centers : float array of shape (k, d)
        sample_weight : float array of shape (n,)
        rng : ignored
        distances : float64 array of shape (n, k), default squared Euclidean ones
            What a row costs in each cluster, where that is not measured between the rows of X.

        Returns
        -------
        Tree, for as many clusters as there are centres, whatever `n_clusters` is
        """
        self._validate_params()
        points = Points.of(X, centers, sample_weight, None, labels, self.n_jobs, distances)
        return finish(self._grow(points), points, self.midpoints)

    def surrogate_score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the surrogate cost: that of the reference centres instead of the optimal ones.

        Parameters and return value as in `score`.
        """
        return -self._cost(X, sample_weight, embedding, "free_centers_")

    def _objective(self):
        return KMeans()

    def _points(self, task):
        embedding = None if task.space is task.X else task.space
        return Points.of(task.X, task.free.centers, task.weight, embedding, n_jobs=self.n_jobs)

    def _explain(self, task):
        points = self._points(task)
        growth = self._grow(points)
        tree = finish(growth, points, self.midpoints)
        history = growth.history()
        return tree, {"history_": history, "n_iter_": len(history)}


class IMM(GreedyTree):
    """Iterative Mistake Minimization: one leaf a cluster, few mistakes.

    The method of Dasgupta, Frost, Moshkovitz & Rashtchian (2020); see :func:`greedy.build_imm`.

    Parameters
    ----------
    n_clusters : int, default=8
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering that the tree explains: None is scikit-learn's KMeans with
        ``n_init=10`` and this `random_state`, a fitted or unfitted estimator with
        ``cluster_centers_``, or the centres.
    midpoints : bool, default=False
        Put thresholds halfway between the values on their two sides. By default they are
        values of the data or of the centres.
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
    n_clusters, reference, midpoints, n_jobs, random_state
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
        midpoints=False,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            reference=reference,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.depth_factor = depth_factor

    def _grow(self, points):
        return part_centers(points, depth_factor=self.depth_factor)


class ExShallowSearch(GreedyTree):
    """ExShallow with the depth factor that meets goals for cost and explanations (ExShallow*).

    Laber, Murtinho & Oliveira (2023), section 4.4: doubling and bisection from a factor of 0.03.
    If no tree meets both goals, the one with the shortest explanations among those that meet
    the goal for the cost is kept; if none meets that, the cheapest, with a warning.

    Parameters
    ----------
    max_cost_increase : float, default=None
        Goal: percent over the free clustering. None is no limit.
    max_explanation_size : float, default=None
        Goal: mean number of conditions that explain a row (WAES). None is as short as the goal
        for the cost lets it be; without any goal this is ExShallow.
    max_iter : int, default=12
        Most trees that are built. A KeyboardInterrupt ends the search with the best so far.
    n_clusters, reference, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes but for those below.

    Attributes
    ----------
    depth_factor_ : float
        That of `tree_`.
    history_ : list of dict
        One record a tree (not a cut): depth_factor, cost_increase, explanation_size.
    n_iter_ : int
        Number of trees.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExShallowSearch
    >>> model = ExShallowSearch(10, max_cost_increase=20, random_state=0).fit(load_digits().data)
    >>> model.cost_increase_ <= 20
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_cost_increase": [None, Interval(Real, 0, None, closed="left")],
        "max_explanation_size": [None, Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_cost_increase=None,
        max_explanation_size=None,
        max_iter=12,
        reference=None,
        midpoints=False,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            reference=reference,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_cost_increase = max_cost_increase
        self.max_explanation_size = max_explanation_size
        self.max_iter = max_iter

    uses_distances = False  # its goals are in costs between the rows of X

    def build(self, X, labels, centers, sample_weight, rng=None):
        """See :meth:`GreedyTree.build`."""
        self._validate_params()
        objective = self._objective()
        data = objective.prepare(X)
        inertia = objective.value(data, labels, sample_weight, centers)
        free = FreeClustering(labels, centers, inertia)
        return self._explain(Task(X, X, objective, data, sample_weight, free))[0]

    def _explain(self, task):
        points = self._points(task)

        def attempt(factor):
            growth = part_centers(points, depth_factor=factor)
            tree = finish(growth, points, self.midpoints)
            _, inertia = optimal_centers(
                task.objective, task.data, tree.predict(task.X), task.weight, task.free
            )
            cost = cost_increase(inertia, task.free.inertia)
            return cost, weighted_average_explanation_size(tree, task.X, task.weight), tree

        has_goal = not (self.max_cost_increase is None and self.max_explanation_size is None)
        size = self.max_explanation_size
        if size is None:
            size = -np.inf if has_goal else np.inf
        cost = np.inf if self.max_cost_increase is None else self.max_cost_increase
        (record, tree), history = search_depth_factor(attempt, cost, size, self.max_iter)
        if record["cost_increase"] > cost:
            warnings.warn(
                f"No tree with {len(points.positions)} leaves was found that costs at most "
                f"{cost:g} % more than the free clustering; the best costs "
                f"{record['cost_increase']:.2f} % more.",
                ConvergenceWarning,
                stacklevel=4,
            )
        factor = record["depth_factor"]
        return tree, {"depth_factor_": factor, "history_": history, "n_iter_": len(history)}


class ExKMC(GreedyTree):
    """ExKMC: a tree with any number of leaves, several of which may share a cluster.

    The method of Frost, Moshkovitz & Rashtchian (2020); see :func:`greedy.build_exkmc`.

    Parameters
    ----------
    max_leaves : int >= n_clusters, default=None
        None is twice the number of clusters. Leaves that no cut improves stay as they are, so
        that there may be fewer.
    base : {"imm", "none"}, default="imm"
        Tree to start from; "none" is a single leaf.
    n_clusters, reference, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Attributes
    ----------
    trace_ : list of dict
        One record a number of leaves, from the base to `tree_`: leaves, surrogate (cost with
        the reference centres), cost (with optimal centres), cost_increase (percent). One fit
        with many leaves gives the whole curve; `tree_at` gives its trees.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExKMC
    >>> model = ExKMC(10, max_leaves=40, random_state=0).fit(load_digits().data)
    >>> model.tree_at(20).n_leaves
    20
    """

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"imm", "none"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        base="imm",
        reference=None,
        midpoints=False,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            reference=reference,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_leaves = max_leaves
        self.base = base

    def tree_at(self, n_leaves):
        """The tree of `trace_` with a number of leaves, a smaller tree on the way to `tree_`.

        Parameters
        ----------
        n_leaves : int, at least that of the base

        Returns
        -------
        Tree; `tree_` where it has no more leaves than that

        Raises
        ------
        ValueError
            If the base has more leaves, or more were asked for than `max_leaves`.
        """
        check_is_fitted(self)
        if not isinstance(n_leaves, Integral):
            raise ValueError(f"n_leaves={n_leaves!r} must be a whole number.")
        first, last = self.trace_[0]["leaves"], self.trace_[-1]["leaves"]
        most = max(last, self._max_leaves)
        if not first <= n_leaves <= most:
            raise ValueError(f"n_leaves={n_leaves} must lie in {first}..{most}.")
        return self._growth.to_tree(self.n_features_in_, 2 * min(n_leaves, last) - 1)

    def _grow(self, points):
        return expand(points, self.max_leaves, self.base)[0]

    def _explain(self, task):
        points = self._points(task)
        growth, n_base = expand(points, self.max_leaves, self.base)
        tree = finish(growth, points, self.midpoints)
        history = growth.history()
        return tree, {
            "history_": history,
            "n_iter_": len(history),
            "trace_": trace(task, points, growth, tree, n_base),
            "_growth": growth,
            "_max_leaves": leaf_budget(self.max_leaves, len(points.positions)),
        }
