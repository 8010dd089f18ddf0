"""What an `init` parameter stands for, and the initial trees of a fit."""

import copy
import itertools

import numpy as np
from sklearn.utils import check_random_state

from greedy.center_cuts import IMM, ExGreedy
from greedy.exkmc import ExKMC
from greedy.exshallow import ExShallow
from greedy.kauri import Kauri

from ..tree import Tree
from .cart import Cart
from .initial import Bisecting, Centroids, Given, InTurn, Random

_LARGE = 64  # leaves
# Leaves times clusters up to which Kauri's tree is built: each of its leaves is held against every
# cluster again for each further leaf.
_MOST_KAURI = 2**15


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


def builder_of(init, depth, max_leaves=None):
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
    most = builder.n_different if builder.deterministic else settings.n_init
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
