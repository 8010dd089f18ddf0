"""Initial trees: the structure and first parameters of a fit, and what `init` stands for."""

import copy
import itertools
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from greedy.center_cuts import IMM, ExGreedy
from greedy.exkmc import ExKMC
from greedy.exshallow import ExShallow
from greedy.kauri import Kauri

from .._utils.matrices import as_array
from ..tree import Split, Tree
from ..tree.growth import grow_breadth_first
from ..tree.routing import kernel_arrays, project
from .cart import Cart


@runtime_checkable
class InitialTree(Protocol):
    """What builds the first tree of a fit.

    `deterministic`: it draws no random numbers, and is asked once; or as many times as it has
    different trees, where `n_distinct_trees` says how many. `uses_distances`: `build` also
    takes `distances` (n, k), what rows cost in each cluster, where these are not the squared
    Euclidean distances to `centers`. `in_raw_units`: its tests read columns as the user gave them,
    where the fit standardises them.
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
        """Tree over the rows of X for the free clustering (labels, centers).

        `centers` (k, d) are in the space of X.
        """


_N_DRAWS = 20

# No tree has more leaves than 2 to this power; a larger depth would make numbers of many digits.
_MOST_DOUBLINGS = 62

_LARGE = 64  # leaves
# Leaves times clusters up to which Kauri's tree is built: each of its leaves is held against every
# cluster again for each further leaf.
_MOST_KAURI = 2**15


def max_leaves_at(depth):
    """Most leaves of a tree of so many levels of tests that are of use: 2 ** depth, or 2 ** 62."""
    return 2 ** min(depth, _MOST_DOUBLINGS)


@dataclass(frozen=True)
class Bisecting(InitialTree):
    """Complete tree by recursive 2-means bipartitioning of the rows (KDD'22 paper, section 9).

    A node's test is the bisector of the two centres. A node whose rows are all equal is not
    split, so a tree has at most as many leaves as X has distinct rows. Leaves get the
    majority label of the free clustering.

    Parameters
    ----------
    depth : int, default=5
        Number of levels of tests; 2 ** depth leaves.
    n_init : int, default=1
        Restarts of 2-means at a node. The best bipartition of the rows is not the best start
        for a tree: several trees of one restart each do better (`n_init` of TAOClustering).
    max_rows : int, default=2000
        2-means of a node with more rows runs on a random sample of that many.
    """

    depth: int = 5
    n_init: int = 1
    max_rows: int = 2_000

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        view = kernel_arrays(X)

        def bisect(rows, remaining):
            return self._bisect(X, view, rows, sample_weight, rng)

        return _grow_over_rows(self.depth, bisect, labels, sample_weight, len(centers), X.shape[1])

    def _bisect(self, X, view, rows, sample_weight, rng):
        """Bisector of 2-means on some rows and the mask of those on its left, or None."""
        if len(rows) < 2:
            return None
        sample = rows
        if len(rows) > self.max_rows:
            sample = np.sort(rng.choice(rows, self.max_rows, replace=False))
        pair = _two_means(X[sample], sample_weight[sample], self.n_init, rng)
        return _parted(view, rows, bisector(*pair.astype(np.float64)))


@dataclass(frozen=True)
class Random(InitialTree):
    """Complete tree of random tests, the other start that the KDD'22 paper uses (section 9).

    A node's test is the bisector of two of its rows, drawn by weight; of several draws, the first
    that leaves rows on both sides. Leaves get the majority label of the free clustering.

    Parameters
    ----------
    depth : int, default=5
        Number of levels of tests; 2 ** depth leaves.
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
class Centroids(InitialTree):
    """Tree with one leaf a cluster, by recursive 2-means over the centres of the clusters.

    Centres weigh as much as their clusters. A side gets no more clusters than leaves fit below
    it, so that none is lost while 2 ** depth reaches their number.

    Parameters
    ----------
    depth : int, default=5
        Most levels of tests.
    """

    depth: int = 5

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        size = np.bincount(labels, sample_weight, len(centers))

        def bisect(clusters, remaining):
            if len(clusters) < 2:
                return None
            split = bisector(*_two_means(centers[clusters], size[clusters], 1, rng))
            return split and _balanced(split, centers[clusters], max_leaves_at(remaining - 1))

        def label(clusters):
            return clusters[size[clusters].argmax()]

        filled = np.flatnonzero(size)
        return _grow(filled, self.depth, bisect, label, X.shape[1])


def _grow_over_rows(depth, bisect, labels, sample_weight, n_clusters, n_features):
    """Tree whose nodes hold rows; leaves get the label of most weight.

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
    """Centres of 2-means of some points, which may be altered; equal ones where these are."""
    kmeans = KMeans(2, n_init=n_init, random_state=rng, copy_x=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(points, sample_weight=weight).cluster_centers_


def _parted(view, rows, split):
    """A split and the mask of the rows on its left; None if one side is empty."""
    if split is None:
        return None
    goes_left = project(view, rows, split.indices, split.weights) <= split.threshold
    return None if goes_left.all() or not goes_left.any() else (split, goes_left)


def _grow(items, depth, bisect, label, n_features):
    """Tree of at most `depth` levels of tests.

    Parameters
    ----------
    items : int array, what the root holds
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
    """Split half way between two points, `a` on its left; None if they are the same."""
    squared_distance = (b - a) @ (b - a)
    if squared_distance == 0:
        return None
    # The points get margins -1 and +1, the scale of a logistic model: ||w||_1 of a node
    # that is revived late must compare with what the solver offers.
    direction = 2 * (b - a) / squared_distance
    return Split.from_dense(direction, direction @ (a + b) / 2)


def _balanced(split, points, most):
    """The split moved so that at most `most` points lie on a side, and who lies on its left."""
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
    """Trees of several builders in turn.

    Parameters
    ----------
    builders : list of InitialTree, none of them in raw units
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
        """Whether some builder does."""
        return any(builder.uses_distances for builder in self.builders)

    def build(self, X, labels, centers, sample_weight, rng, distances=None):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        builder = self.builders[self._n_built % len(self.builders)]
        self._n_built += 1
        options = {"distances": distances} if builder.uses_distances else {}
        return builder.build(X, labels, centers, sample_weight, rng, **options)


@dataclass(frozen=True)
class Given(InitialTree):
    """A tree of the user's, as it is.

    Parameters
    ----------
    tree : Tree
    """

    tree: Tree
    deterministic: ClassVar[bool] = True
    in_raw_units: ClassVar[bool] = True

    def build(self, X, labels, centers, sample_weight, rng):
        """The given tree.

        Raises
        ------
        ValueError
            If it was built on another number of features or has labels beyond the clusters.
        """
        if self.tree.n_features != X.shape[1]:
            raise ValueError(
                f"The initial tree has {self.tree.n_features} features, X has {X.shape[1]}."
            )
        if self.tree.leaf_label.max() >= len(centers):
            raise ValueError(
                f"The initial tree has cluster {self.tree.leaf_label.max()}, but there are only "
                f"{len(centers)} clusters."
            )
        return self.tree


def in_turn(depth, further=()):
    """Trees of the centres and of the rows, and of further builders, in turn."""
    return InTurn([Centroids(depth), Bisecting(depth), *further])


def axis_aligned(max_leaves, n_clusters):
    """Axis-aligned trees that fare differently from data to data, in turn; ExKMC's comes first.

    The search makes them as large as they may be: ExShallow's has a leaf a cluster. Where trees
    are so large that it does not get far from its starts, Kauri's takes part: 1500 random rows in
    100 clusters cost 21 % with it, 26 to 28 % without. Of several hundred clusters it would take
    longer than all the rest.
    """
    builders = [ExKMC(max_leaves=max_leaves), GREEDY["exshallow"], Cart(max_leaves)]
    if max_leaves >= _LARGE and max_leaves * n_clusters <= _MOST_KAURI:
        builders.append(Kauri(max_leaves=max_leaves))
    return InTurn(builders)


def small_trees(problem, builders_of):
    """Axis-aligned trees of about a leaf a cluster, which others are measured by.

    Parameters
    ----------
    problem : Problem
    builders_of : callable(problem) -> list of InitialTree
        `cart_builders`, whose trees are built at once, `greedy_builders` or `exgreedy_builders`.

    Returns
    -------
    list of Tree
    """
    return list(built(problem, builders_of(problem), np.random.RandomState(0)))


def cart_builders(problem):
    """CART's builders."""
    k = problem.n_clusters
    return [Cart(k), Cart(2 * k)]


def greedy_builders(problem):
    """Further builders; none where it is labels that trees explain."""
    k = problem.n_clusters
    if problem.objective.explains_labels:
        return []
    return [ExKMC(max_leaves=k), GREEDY["exshallow"], ExKMC(max_leaves=2 * k)]


def exgreedy_builders(problem):
    """ExGreedy's, of a leaf a cluster; none where it is labels that trees explain."""
    return [] if problem.objective.explains_labels else [GREEDY["exgreedy"]]


# Builders that a name stands for, called with the depth.
WITH_DEPTH = {"bisecting": Bisecting, "centroids": Centroids, "random": Random}
GREEDY = {
    "imm": IMM(),
    "exkmc": ExKMC(),
    "exgreedy": ExGreedy(),
    "exshallow": ExShallow(),
}
NAMES = ("auto", *WITH_DEPTH, *GREEDY)


def resolve_builder(init, depth, max_leaves=None):
    """The builder that an `init` parameter other than "auto" stands for.

    Parameters
    ----------
    init : str, Tree or InitialTree
    depth : int, of the names in `WITH_DEPTH`
    max_leaves : int, optional, of ExKMC

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
    """Yield the initial trees of a fit: `n_init`, or the different ones if these are fewer.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    random_state : int, RandomState instance or None
    """
    builder = copy.copy(settings.start)  # it may count the trees that it has built
    most = builder.n_distinct_trees if builder.deterministic else settings.n_init
    builders = itertools.repeat(builder, min(most, settings.n_init))
    is_raw = builder.in_raw_units and problem.scaling is not None
    for tree in built(problem, builders, check_random_state(random_state)):
        settings.split_kind.check_start(tree)
        yield problem.scaling.scaled_tree(tree) if is_raw else tree


def built(problem, builders, rng):
    """Yield the tree of each builder for a problem.

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
