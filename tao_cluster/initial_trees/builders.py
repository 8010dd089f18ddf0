"""Builders of initial trees, from which a fit starts, and the values of the parameter `init`."""

import copy
import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from greedy.baselines.kauri import Kauri
from greedy.center_cuts import IMM, ExGreedy
from greedy.exkmc import ExKMC
from greedy.exshallow import ExShallow

from .._utils.matrices import as_array
from .._utils.options import Part
from ..solvers import is_axis_aligned
from ..tree import Split, Tree
from ..tree.growth import grow_breadth_first
from ..tree.routing import kernel_arrays, project
from .cart import Cart, cart_trees


@runtime_checkable
class InitialTree(Protocol):
    """Protocol of a builder of initial trees.

    Attributes
    ----------
    deterministic : bool
        The builder draws no random numbers. It is called at most `n_distinct_trees` times.
    n_distinct_trees : int
        Number of different trees that a deterministic builder returns in successive calls.
    uses_distances : bool
        `build` takes an argument `distances` of shape (n, k), the cost of each row in each cluster.
        It is passed if costs are not the squared Euclidean distances to `centers`.
    in_raw_units : bool
        The tests of the tree apply to the columns as the user gave them, even if the fit
        standardizes them.
    """

    deterministic: ClassVar[bool] = False
    n_distinct_trees: int = 1
    uses_distances: ClassVar[bool] = False
    in_raw_units: ClassVar[bool] = False

    def build(
        self,
        X: Any,
        labels: np.ndarray,
        centers: np.ndarray,
        sample_weight: np.ndarray,
        rng: np.random.RandomState,
    ) -> Tree:
        """Build a tree for the free clustering of the rows of X.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,), clusters of the rows
        centers : array of shape (k, d), their centres in the space of X
        sample_weight : array of shape (n,)
        rng : RandomState
        """


_N_DRAWS = 20  # maximum number of random tests that are drawn until one has rows on both sides

_MOST_ITERATIONS = 100  # maximum number of iterations of 2-means

_MOST_DOUBLINGS = 62  # limit of the depth, so that 2 ** depth is an int64

_LARGE = 64  # Kauri's tree is used as an initial tree if `max_leaves` is at least this
# Largest number of leaves times clusters times rows for Kauri's tree. For each new leaf it compares
# every leaf with every cluster, so that larger trees take too long.
_MOST_KAURI = 2**25


def max_leaves_at(depth):
    """Return the largest number of leaves of a tree of some depth: 2 ** depth, at most 2 ** 62."""
    return 2 ** min(depth, _MOST_DOUBLINGS)


@dataclass(frozen=True)
class Bisecting(Part, InitialTree):
    """Complete tree by recursive 2-means bipartitioning of the rows (KDD'22 paper, section 9).

    The test of a node is the bisector of the two centres of 2-means. A node whose rows are all
    equal is not split, so the tree has at most as many leaves as X has distinct rows. A leaf gets
    the majority label, by weight, of its rows in the free clustering.

    Parameters
    ----------
    depth : int, default=5
        Number of levels of tests, giving 2 ** depth leaves.
    n_init : int, default=1
        Number of restarts of 2-means at a node. The best bipartition of the rows is not the best
        start for a tree. Several trees with one restart each work better.
    max_rows : int, default=2000
        2-means of a node with more rows uses a random sample of this size.
    """

    depth: int = 5
    n_init: int = 1
    max_rows: int = 2_000

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        view = kernel_arrays(X)

        def bisect(rows, remaining):
            if len(rows) < 2:
                return None
            sample = rows
            if len(rows) > self.max_rows:
                sample = np.sort(rng.choice(rows, self.max_rows, replace=False))
            split = _two_means(X[sample], sample_weight[sample], self.n_init, rng)
            return _parted(view, rows, split)

        return _grow_over_rows(self.depth, bisect, labels, sample_weight, len(centers), X.shape[1])


@dataclass(frozen=True)
class Random(Part, InitialTree):
    """Complete tree of random tests, the second kind of start in the KDD'22 paper (section 9).

    The test of a node is the bisector of two of its rows, drawn with probabilities proportional to
    their weights. Draws are repeated up to 20 times until both sides have rows. A leaf gets the
    majority label of its rows in the free clustering.

    Parameters
    ----------
    depth : int, default=5
        Number of levels of tests, giving 2 ** depth leaves.
    """

    depth: int = 5

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        view = kernel_arrays(X)

        def bisect(rows, remaining):
            share = sample_weight[rows] / sample_weight[rows].sum()
            for _ in range(_N_DRAWS if len(rows) > 1 else 0):
                pair = X[rng.choice(rows, 2, p=share)]
                a, b = np.asarray(as_array(pair), np.float64)
                sides = _parted(view, rows, bisector(a, b))
                if sides is not None:
                    return sides
            return None

        return _grow_over_rows(self.depth, bisect, labels, sample_weight, len(centers), X.shape[1])


@dataclass(frozen=True)
class Centroids(Part, InitialTree):
    """Tree with one leaf per cluster, by recursive 2-means over the centres of the clusters.

    A centre has the weight of its cluster. A side gets at most as many clusters as there can be
    leaves below it. So every cluster has a leaf if 2 ** depth is at least their number.

    Parameters
    ----------
    depth : int, default=5
        Largest number of levels of tests.
    """

    depth: int = 5

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        size = np.bincount(labels, sample_weight, len(centers))

        def bisect(clusters, remaining):
            if len(clusters) < 2:
                return None
            split = _two_means(centers[clusters], size[clusters], 1, rng)
            return split and _balanced(split, centers[clusters], max_leaves_at(remaining - 1))

        def label(clusters):
            return clusters[size[clusters].argmax()]

        filled = np.flatnonzero(size)
        return _grow(filled, self.depth, bisect, label, X.shape[1])


def _grow_over_rows(depth, bisect, labels, sample_weight, n_clusters, n_features):
    """Grow a tree whose nodes contain rows; a leaf gets the label with the largest weight.

    Parameters
    ----------
    depth, n_features : int
    bisect : callable(rows, remaining levels) -> (Split, mask of those on its left) or None
    labels, sample_weight : arrays of shape (n,)
    n_clusters : int

    Returns
    -------
    Tree
    """

    def label(rows):
        return np.bincount(labels[rows], sample_weight[rows], n_clusters).argmax()

    return _grow(np.arange(len(labels)), depth, bisect, label, n_features)


def _two_means(points, weight, n_init, rng):
    """Return the bisector of the two centres of 2-means as a Split; None if all points are equal.

    The starts are drawn as in k-means++. With two centres, the nearer one of a point follows from
    the projection of the point on their difference. So an iteration of Lloyd's algorithm is two
    products of the points with a vector, which is faster than the functions for k centres.

    Parameters
    ----------
    points : array or CSR matrix of shape (m, d)
    weight : float64 array of shape (m,), positive
    n_init : int
        Number of restarts, of which the one with the least cost is used.
    rng : RandomState
    """
    mean = np.zeros(points.shape[1])
    if not sp.issparse(points):  # products of points far from zero would lose digits
        mean = points.mean(axis=0, dtype=np.float64)
        points = points - mean
    squares, mass, total = row_norms(points, squared=True), weight.sum(), weight @ points
    centers, least = (mean, mean), np.inf
    for _ in range(n_init):
        first = _drawn(points, weight, rng)
        chances = weight * np.maximum(squares - 2 * (points @ first) + first @ first, 0.0)
        a, b, goes_left = first, _drawn(points, chances, rng), None
        for _ in range(_MOST_ITERATIONS):
            before, goes_left = goes_left, points @ (b - a) <= (b @ b - a @ a) / 2
            left = np.where(goes_left, weight, 0.0)
            own = left.sum()
            if np.array_equal(goes_left, before) or not 0 < own < mass:
                break
            sums = left @ points
            a, b = sums / own, (total - sums) / (mass - own)
        cost = -own * (a @ a) - (mass - own) * (b @ b)  # minus a constant
        if cost < least:
            centers, least = (a + mean, b + mean), cost
    return bisector(*centers)


def _drawn(points, chances, rng):
    """Return a random point as a float64 array; its probability is proportional to its chance."""
    sums = np.cumsum(chances)
    at = np.searchsorted(sums, rng.random_sample() * sums[-1], side="right")
    return np.asarray(as_array(points[[min(at, len(sums) - 1)]])[0], np.float64)


def _parted(view, rows, split):
    """Return a split and the mask of the rows on its left, or None if one side is empty."""
    if split is None:
        return None
    goes_left = project(view, rows, split.indices, split.weights) <= split.threshold
    return None if goes_left.all() or not goes_left.any() else (split, goes_left)


def _grow(items, depth, bisect, label, n_features):
    """Grow a tree with at most `depth` levels of tests.

    Parameters
    ----------
    items : int array
        Numbers of the rows or centres in the root.
    depth : int
    bisect : callable(items, remaining levels) -> (Split, mask of those on its left) or None
    label : callable(items) -> int, of a leaf
    n_features : int

    Returns
    -------
    Tree
    """

    def part(node):
        held, remaining = node
        sides = bisect(held, remaining) if remaining else None
        if sides is None:
            return label(held)
        split, goes_left = sides
        return split, (held[goes_left], remaining - 1), (held[~goes_left], remaining - 1)

    return grow_breadth_first((items, depth), part, n_features)


def bisector(a, b):
    """Return the split halfway between two points, with `a` on its left; None if they are equal."""
    squared_distance = (b - a) @ (b - a)
    if squared_distance == 0:
        return None
    # The two points get margins -1 and +1, as in a logistic model, so that the L1 norm of this test
    # is comparable with that of a test from the solver.
    direction = 2 * (b - a) / squared_distance
    return Split.from_dense(direction, direction @ (a + b) / 2)


def _balanced(split, points, most):
    """Shift a split so that each side has at most `most` points; return it and its left mask."""
    values = points[:, split.indices] @ split.weights
    order = np.argsort(values, kind="stable")
    n_left = int(np.count_nonzero(values <= split.threshold))
    fitting = min(max(n_left, len(points) - most, 1), most, len(points) - 1)
    if fitting != n_left:
        threshold = values[order[fitting - 1 : fitting + 1]].mean()
        split = Split(split.indices, split.weights, float(threshold))
    goes_left = np.zeros(len(points), dtype=bool)
    goes_left[order[:fitting]] = True
    return split, goes_left


@dataclass
class InTurn(InitialTree):
    """Alternate between several builders: each call of `build` uses the next one (round robin).

    Parameters
    ----------
    builders : list of InitialTree
        The attribute `in_raw_units` must be False for all of them.
    """

    builders: list
    _n_built: int = 0

    @property
    def deterministic(self):
        """Whether no builder draws random numbers."""
        return all(builder.deterministic for builder in self.builders)

    @property
    def n_distinct_trees(self):
        """Number of builders."""
        return len(self.builders)

    @property
    def uses_distances(self):
        """Whether some builder uses distances."""
        return any(builder.uses_distances for builder in self.builders)

    def build(self, X, labels, centers, sample_weight, rng, distances=None):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        builder = self.builders[self._n_built % len(self.builders)]
        self._n_built += 1
        options = {"distances": distances} if builder.uses_distances else {}
        return builder.build(X, labels, centers, sample_weight, rng, **options)


@dataclass(frozen=True)
class Given(Part, InitialTree):
    """Builder that returns the tree that the user passes, unchanged.

    Parameters
    ----------
    tree : Tree
    """

    tree: Tree
    deterministic: ClassVar[bool] = True
    in_raw_units: ClassVar[bool] = True

    def build(self, X, labels, centers, sample_weight, rng):
        """Return the given tree.

        Raises
        ------
        ValueError
            If the tree has another number of features than X, or labels beyond the clusters.
        """
        if self.tree.n_features != X.shape[1]:
            raise ValueError(
                f"The initial tree has {self.tree.n_features} features, X has {X.shape[1]}. "
                "To fit a model to new rows and keep its tests or columns, use tao_cluster.refit."
            )
        if self.tree.leaf_label.max() >= len(centers):
            raise ValueError(
                f"The initial tree has cluster {self.tree.leaf_label.max()}, but there are only "
                f"{len(centers)} clusters."
            )
        return self.tree


def in_turn(depth, further=()):
    """Return a builder that alternates between Centroids, Bisecting and further builders."""
    return InTurn([Centroids(depth), Bisecting(depth), *further])


def axis_aligned(max_leaves, max_depth=None):
    """Alternate between axis-aligned builders, each of which is best on some data; ExKMC is first.

    Trees with fewer leaves than `max_leaves`, such as ExShallow's with one leaf per cluster, are
    enlarged by the search. Large trees stay close to their start, and Kauri's is then a better one:
    with 1500 random rows in 100 clusters the cost increase is 21 % with it and 26 to 28 % without.
    With many rows or clusters Kauri would take longer than everything else; see :func:`adapted`.
    """
    builders = [ExKMC(max_leaves=max_leaves), GREEDY["exshallow"], Cart(max_leaves, max_depth)]
    if max_leaves >= _LARGE:
        builders.append(Kauri(max_leaves=max_leaves))
    return InTurn(builders)


def small_trees(problem, builders_of):
    """Build axis-aligned trees with k to 2 k leaves, for k clusters, to compare other trees with.

    Parameters
    ----------
    problem : Problem
    builders_of : callable(problem) -> list of InitialTree
        `greedy_builders` or `exgreedy_builders`.

    Returns
    -------
    list of Tree
    """
    builders = [adapted(builder, problem) for builder in builders_of(problem)]
    return list(built(problem, builders, np.random.RandomState(0)))


def small_cart_trees(problem):
    """Return CART trees with k and 2 k leaves, for k clusters: the fastest of the small trees."""
    k, size = problem.n_clusters, problem.leaf_size
    least = 1 if size is None else size.parameter(problem.weight)
    terms = (problem.X, problem.free.labels, [k, 2 * k], problem.weight)
    return cart_trees(*terms, min_samples_leaf=least)


def greedy_builders(problem):
    """Return ExKMC's and ExShallow's builders; none if the trees explain given labels."""
    k = problem.n_clusters
    if problem.objective.explains_labels:
        return []
    return [ExKMC(max_leaves=k), GREEDY["exshallow"], ExKMC(max_leaves=2 * k)]


def exgreedy_builders(problem):
    """Return ExGreedy's builder, one leaf per cluster; none if the trees explain given labels."""
    return [] if problem.objective.explains_labels else [GREEDY["exgreedy"]]


# Classes of the builders with a parameter `depth`, by name.
WITH_DEPTH = {"bisecting": Bisecting, "centroids": Centroids, "random": Random}
GREEDY = {
    "imm": IMM(),
    "exkmc": ExKMC(),
    "exgreedy": ExGreedy(),
    "exshallow": ExShallow(),
}
NAMES = ("auto", *WITH_DEPTH, *GREEDY)


def resolve_builder(init, depth, max_leaves=None):
    """Return the builder for a value of the parameter `init` other than "auto".

    Parameters
    ----------
    init : str, Tree or InitialTree
    depth : int, for the names in `WITH_DEPTH`
    max_leaves : int, optional, for ExKMC

    Returns
    -------
    InitialTree
    """
    if isinstance(init, Tree):
        return Given(init)
    if isinstance(init, str):
        greedy = {**GREEDY, "exkmc": ExKMC(max_leaves=max_leaves)}
        return greedy[init] if init in greedy else WITH_DEPTH[init](depth)
    return init


def initial_trees(problem, settings, random_state):
    """Yield the initial trees of a fit: `n_init`, or fewer if a builder has fewer different trees.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    random_state : int, RandomState instance or None
    """
    # A copy, because a builder may count its calls.
    builder = adapted(copy.copy(settings.start), problem)
    builders = itertools.repeat(builder, _most_trees(builder, settings))
    is_raw = builder.in_raw_units and problem.scaling is not None
    if isinstance(builder, Given) and problem.limits is not None:
        tree = problem.scaling.scaled_tree(builder.tree) if is_raw else builder.tree
        builders, is_raw = [Given(problem.limits.narrowed_tree(tree))], False
    for tree in built(problem, builders, check_random_state(random_state)):
        if not settings.is_oblique and not is_axis_aligned(tree):
            raise ValueError(
                "split='axis' starts from a tree that tests single features, with weight 1: use "
                "init='auto', 'imm', 'exkmc', 'exgreedy', 'exshallow' or such a Tree."
            )
        yield problem.scaling.scaled_tree(tree) if is_raw else tree


def number_of_starts(problem, settings):
    """Return how many initial trees :func:`initial_trees` yields for a problem."""
    return _most_trees(adapted(settings.start, problem), settings)


def _most_trees(builder, settings):
    return min(settings.n_init, builder.n_distinct_trees if builder.deterministic else np.inf)


def adapted(builder, problem):
    """Return a builder that suits a problem.

    Its leaves have the minimum size of the problem, if it has such a parameter. Of several builders
    in turn, Kauri is left out if it would take too long.
    """
    if isinstance(builder, InTurn):
        fast = [each for each in builder.builders if is_fast(each, problem)]
        return InTurn([adapted(each, problem) for each in fast])
    if problem.leaf_size is None:
        return builder
    if getattr(builder, "min_samples_leaf", None) != 1:
        return builder
    return replace(builder, min_samples_leaf=problem.leaf_size.parameter(problem.weight))


def is_fast(builder, problem):
    """Return whether a builder is no Kauri, or a Kauri that takes about as long as the others."""
    n_tasks = problem.n_rows * problem.n_clusters
    return not isinstance(builder, Kauri) or n_tasks * builder.max_leaves <= _MOST_KAURI


def built(problem, builders, rng):
    """Yield the tree that each builder builds for a problem.

    Parameters
    ----------
    problem : Problem
    builders : iterable of InitialTree
    rng : RandomState
    """
    free, centers, distances = problem.free, problem.positions(), None
    for builder in builders:
        options = {}
        if centers is not free.centers and builder.uses_distances:
            if distances is None:
                distances = problem.objective.distances(problem.data, free.centers)
            options["distances"] = distances
        yield builder.build(problem.X, free.labels, centers, problem.weight, rng, **options)
