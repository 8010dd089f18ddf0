"""Simplification of trees: pruning of weak splits, and trimming of weights that decide no row."""

import itertools
from typing import NamedTuple

import numpy as np

from .._utils.matrices import first_least
from ..solvers import upright
from ..tree import Split, Tree, midpoint
from ..tree.conditions import Bound
from ..tree.margins import widest_gap, with_gaps
from ..tree.routing import ReducedSets, project
from ..tree.split_statistics import stds_and_sides

# Differences of costs of at most this share of the cost of the tree are rounding errors.
_ROUNDING = 1e-12


class Simplified(NamedTuple):
    """A simplified tree, the leaf of each row, and the cost of the rows."""

    tree: Tree
    leaf_of_row: np.ndarray
    inertia: float


def simplified(search, state, is_last=True):
    """Return the tree of a state after the last simplifications, and the leaf of each row.

    Every row of the fit stays in a leaf of its cluster. Splits that do not lower the cost are
    removed. An oblique tree loses its negligible weights: those whose effect is below the share
    `trim` of the largest effect at the node. Tests of one feature move to the feature that divides
    the rows alike with the widest margin, and their thresholds to midpoints between neighbouring
    values of the rows, or to the lower of the two values.

    Parameters
    ----------
    search : Evaluator
    state : State
    is_last : bool
        Whether there is time to look for splits that do not lower the cost.

    Returns
    -------
    Simplified
    """
    settings, step = search.settings, search.step
    if settings.has_direct_passes and is_last:
        state = without_useless_splits(search, state)
    tree, leaf_of_row = step.routed(state.pruned)
    rows = (leaf_of_row, step.view)
    is_oblique = settings.is_oblique
    tree = trim(tree, *rows, settings.trim, step.n_jobs) if is_oblique else upright(tree)
    terms = (search.problem.weight, step.n_jobs)
    tree = at_widest_margins(tree, *rows, *terms, limits=search.problem.limits)
    place = at_midpoints if settings.split_kind.midpoints else at_values
    return Simplified(place(tree, *rows, step.n_jobs), leaf_of_row, state.inertia)


def without_useless_splits(search, state):
    """Return the state without splits whose removal does not raise the cost.

    Centres are updated after each removal. Costs that differ by rounding errors count as equal.

    Parameters
    ----------
    search : Evaluator
    state : State

    Returns
    -------
    State
    """
    while state.pruned.n_leaves > 1:
        tree, limit = state.pruned, _ROUNDING * state.inertia
        saved, goes_left = savings(search.step, tree, search.criterion(state))
        node = first_least(saved, limit)
        if saved[node] > limit:
            break
        other = search.evaluate(without(tree, [node], goes_left))
        if other.inertia > state.inertia + limit:
            break
        state = other
    return state


def without(tree, nodes, goes_left):
    """Return the tree without the splits of some nodes.

    All rows of such a node go left if `goes_left` is True at the node, and right otherwise.
    """
    constants = {}
    for node in nodes:
        constant = Split.constant(goes_left[node])
        constants[node] = ((constant.indices, constant.weights), constant.threshold)
    return tree.with_splits(constants).prune()


def savings(step, tree, criterion):
    """Return the increase in cost if a test is removed and its rows all go to the better child.

    Parameters
    ----------
    step : TreeStep
    tree : Tree
    criterion : Criterion of the tree step

    Returns
    -------
    saved : float array of shape (n_nodes,)
        Infinity at leaves, and at nodes without rows.
    goes_left : bool array of shape (n_nodes,)
        Whether the left child is the better one for all rows.
    """
    leaf_of_row, loss = step.leaves_of(tree), criterion.loss_at(tree)
    rows_of, own = ReducedSets(tree, leaf_of_row), loss(np.arange(len(leaf_of_row)), leaf_of_row)
    saved, goes_left = np.full(tree.n_nodes, np.inf), np.zeros(tree.n_nodes, bool)

    def increase(rows, child):
        """Return the increase in cost if rows are routed from `child`, not from their own child."""
        return (loss(rows, step.leaves_of(tree, rows, child)) - own[rows]).sum()

    for node in itertools.chain.from_iterable(rows_of.levels()):
        rows = rows_of[node]
        is_left = rows_of.goes_left(node, leaf_of_row[rows])
        at_left = increase(rows[~is_left], tree.children_left[node])
        at_right = increase(rows[is_left], tree.children_right[node])
        saved[node], goes_left[node] = min(at_left, at_right), at_left <= at_right
    if step.limits is not None and step.limits.keeps_root(tree):
        saved[0] = np.inf
    return saved, goes_left


# ---------------------------------------------------------------- trimming


def trim(tree, leaf_of_row, view, share, n_jobs=1):
    """Return the tree without small weights whose removal changes the decision path of no row.

    A weight w_j is small if the standard deviation of w_j x_j over the rows of its node is below
    `share` times the largest such standard deviation at that node. The smallest weights of each
    node are removed. Bisection finds how many of them can be removed while every row stays on its
    side. Node solvers leave such weights, because they stop at a tolerance.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    share : float in [0, 1]
        With 0, no weight is removed.
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree
    """
    if share == 0:
        return tree
    stds, _ = stds_and_sides(tree, view, leaf_of_row, n_jobs=n_jobs)
    effects, rows_of = np.abs(tree.split_weights) * stds, ReducedSets(tree, leaf_of_row)
    updates = {}
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split, threshold = tree.split(node), tree.threshold[node]
        own = effects[tree.split_indptr[node] : tree.split_indptr[node + 1]]
        kept = _needed(view, rows_of[node], split, threshold, own, share, n_jobs)
        if not kept.all():
            updates[node] = ((split[0][kept], split[1][kept]), threshold)
    return tree.with_splits(updates)


def _needed(view, rows, split, threshold, std, share, n_jobs):
    """Return a bool mask of the weights of a node that are kept.

    The smallest weights are removed, as many as bisection finds possible while every row stays on
    its side. `std` is the standard deviation of each term w_j x_j over the rows of the node; the
    smallest weight is the one with the smallest `std`. A weight can be removed only if its `std` is
    below `share` times the largest `std`.
    """
    indices, weights = split
    everything = np.ones(len(indices), dtype=bool)
    if len(indices) == 0:
        return everything

    def goes_left(kept):
        return project(view, rows, indices[kept], weights[kept], n_jobs) <= threshold

    sides = goes_left(everything)
    ascending = np.argsort(std, kind="stable")
    least, most = 0, int(np.count_nonzero(std < share * std.max()))
    kept = everything
    while least < most:  # bisection over the number of removed weights
        number = (least + most + 1) // 2
        fewer = everything.copy()
        fewer[ascending[:number]] = False
        if np.array_equal(goes_left(fewer), sides):
            least, kept = number, fewer
        else:
            most = number - 1
    return kept


def at_widest_margins(tree, leaf_of_row, view, weight, n_jobs=1, is_middle=False, limits=None):
    """Return the tree with each test of one feature moved to the feature of the widest margin.

    Only features that divide the rows of a node like its test are compared; see
    :mod:`tao_cluster.tree.margins`.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    weight : float64 array of shape (n,), positive
    n_jobs : int, threads; the result is the same for any number
    is_middle : bool
        Whether the thresholds of the tests that move are midpoints.
    limits : SplitLimits, optional

    Returns
    -------
    Tree
        These rows reach the same leaves as before.
    """
    gaps = {}
    for node, rows, _, goes_left in _sides(tree, leaf_of_row, view, n_jobs):
        feature = tree.split(node)[0][0]
        columns = None if limits is None else limits.columns_alike(node, feature)
        gaps[node] = widest_gap(view, rows, goes_left, feature, weight[rows], columns)
    return with_gaps(tree, gaps, is_middle)


def at_midpoints(tree, leaf_of_row, view, n_jobs=1):
    """Return the tree with weight 1 or -1, and the threshold at a midpoint, in univariate tests.

    The threshold becomes the midpoint between the closest values on the two sides of the test. If
    no row is on one of the sides, only the weight and the threshold are rescaled.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree
        The decision paths of these rows do not change.
    """
    updates = {}
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        if len(indices) == 1:
            value = Bound.from_test(indices[0], weights[0], tree.threshold[node]).value
            updates[node] = ((indices, np.sign(weights)), np.sign(weights[0]) * value + 0.0)
    # Products with weights of 1 and -1 are exact, so every row stays on its side.
    tree = tree.with_splits(updates)
    for node, _, values, goes_left in _sides(tree, leaf_of_row, view, n_jobs):
        if goes_left.any() and not goes_left.all():
            middle = midpoint(values[goes_left].max(), values[~goes_left].min())
            updates[node] = (tree.split(node), middle)
    return tree.with_splits(updates)


def _sides(tree, leaf_of_row, view, n_jobs):
    """Yield, for each test of one feature, the node, its rows, their values, and who goes left.

    The values are weight times feature for each row of the node. Rows go left where the last item,
    a bool array, is True.
    """
    rows_of = ReducedSets(tree, leaf_of_row)
    for node in itertools.chain.from_iterable(rows_of.levels()):
        split = tree.split(node)
        if len(split[0]) == 1:
            rows = rows_of[node]
            values = project(view, rows, *split, n_jobs)
            yield node, rows, values, values <= tree.threshold[node]


def at_values(tree, leaf_of_row, view, n_jobs=1):
    """Return the axis-aligned tree whose thresholds are the largest values of rows that go left.

    Before, thresholds can be between two values of rows, or at the value of a centre.

    Parameters
    ----------
    tree : Tree, each test of weight 1
    leaf_of_row : int array of shape (n,), the leaf of each row
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`, the rows of the fit
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    Tree
        The decision paths of these rows do not change.
    """
    updates = {
        node: (tree.split(node), values[goes_left].max())
        for node, _, values, goes_left in _sides(tree, leaf_of_row, view, n_jobs)
        if goes_left.any()
    }
    return tree.with_splits(updates)
