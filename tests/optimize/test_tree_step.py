"""The tree step: reduced sets, what is solved at all, and the objective it may not raise."""

import numpy as np
import pytest
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import Tree
from tao_cluster.initial_trees.initial import Bisecting
from tao_cluster.optimize.tree_step import TreeStep
from tao_cluster.penalties import ZeroOne
from tao_cluster.problem.criteria import LabelCriterion
from tao_cluster.solvers import Liblinear
from tao_cluster.tree import Split
from tao_cluster.tree.reduced_sets import ReducedSets
from tao_cluster.tree.routing import kernel_view


class Spy:
    """A solver that notes the problems it is given."""

    def __init__(self, X):
        self.solver, self.calls = Liblinear().bind(X), []

    def solve(self, problem):
        self.calls.append(problem)
        return self.solver.solve(problem)


def criterion(labels, n_clusters=None, weight=None):
    weight = np.ones(len(labels)) if weight is None else weight
    return LabelCriterion(ZeroOne(), labels, weight, n_clusters or labels.max() + 1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_reduced_sets_partition_the_rows_at_each_depth(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes=21)
    X = rng.normal(size=(80, tree.n_features))
    made = ReducedSets(tree, tree.apply(X))
    sets = [made[node].copy() for node in range(tree.n_nodes)]  # right for leaves
    for nodes in made.levels():
        for node in nodes:
            sets[node] = made[node].copy()
    visited = tree.decision_path(X).toarray().astype(bool)
    for node in range(tree.n_nodes):
        np.testing.assert_array_equal(sets[node], np.flatnonzero(visited[:, node]))
    for depth in range(tree.max_depth + 1):
        # Rows whose leaf lies higher up are no longer there.
        here = np.concatenate([sets[i] for i in np.flatnonzero(tree.depth == depth)])
        deep_enough = tree.depth[tree.apply(X)] >= depth
        np.testing.assert_array_equal(np.sort(here), np.flatnonzero(deep_enough))


@pytest.mark.parametrize("strength", [0.0, 0.01, 0.3, 3.0, 30.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_tree_step_never_raises_its_objective(digits, digits_reference, strength, weighted):
    rng = np.random.default_rng(1)
    X, labels = digits[:600], digits_reference.labels_[:600].copy()
    labels[::7] = rng.integers(0, 10, len(labels[::7]))  # no tree fits these exactly
    weight = rng.integers(1, 4, 600).astype(float) if weighted else np.ones(600)
    tree = Bisecting(4, n_init=1).build(
        X, labels, digits_reference.cluster_centers_, weight, np.random.RandomState(0)
    )
    target = criterion(labels, 10, weight)
    step = TreeStep(kernel_view(X), Liblinear(1e-2).bind(X))
    tree = step.run_freely(tree, target, 1.0, 2)
    value = step.objective(tree, target, strength)
    first = value
    for _ in range(6):
        updated = step.run(tree, target, strength, n_passes=1)
        now = step.objective(updated, target, strength)
        assert now <= value + 1e-9 * abs(value)
        if updated is tree:
            break
        tree, value = updated, now
    assert value < first or strength < 1  # from strength 1 there is a way down to the sparser


def test_free_passes_return_their_best_tree(digits, digits_reference):
    X, labels = digits[:600], digits_reference.labels_[:600]
    tree = Bisecting(4).build(
        X, labels, digits_reference.cluster_centers_, np.ones(600), np.random.RandomState(0)
    )
    step, target = TreeStep(kernel_view(X), Liblinear(1e-2).bind(X)), criterion(labels, 10)
    passes, values = tree, []
    for _ in range(8):
        passes = step.one_pass(passes, target, 0.5, is_judged=False)
        values.append(step.objective(passes, target, 0.5))
    assert np.any(np.diff(values) > 0)  # otherwise the last would do
    for n_passes in (3, 8):
        best = step.run_freely(tree, target, 0.5, n_passes)
        assert step.objective(best, target, 0.5) == min(values[:n_passes])


def test_objective_is_mismatch_plus_penalty(rng):
    tree = random_tree(rng)
    X, labels = rng.normal(size=(50, tree.n_features)), rng.integers(0, 4, 50)
    step = TreeStep(kernel_view(X), solver=None)
    expected = np.sum(tree.predict(X) != labels) + 0.3 * np.abs(tree.split_weights).sum()
    assert step.objective(tree, criterion(labels, 4), 0.3) == pytest.approx(expected)


def stump_over_stump(left_threshold=0.0):
    """Root on x0; its left child tests x1 into leaves 0 and 1; its right child is leaf 2."""
    return Tree.from_splits(
        [1, 3, -1, -1, -1],
        [2, 4, -1, -1, -1],
        [([0], [1.0]), ([1], [1.0]), None, None, None],
        [0.0, left_threshold, 0, 0, 0],
        [-1, -1, 2, 0, 1],
        2,
    )


def test_pseudo_labels_and_rows_that_do_not_care():
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [0.5, 0.5], [-2, 2.0]])
    #  leaf       0            1             2           2            2           1
    labels = np.array([0, 2, 0, 2, 1, 0])
    spy = Spy(X)
    step = TreeStep(kernel_view(X), spy)
    root = stump_over_stump()
    # Keep the leaves and the inner node as they are: only the root's problem matters here.
    problem = step._reduce(root, 0, np.arange(6), criterion(labels, 3).loss_at(root), strength=0.1)
    # Through the left child rows get 0 1 1 0 1 1, through the right one 2.
    # Row 2 (label 0; gets 1 or 2) and row 5 (label 0; gets 1 or 2) cannot be right: dropped.
    np.testing.assert_array_equal(problem.rows, [0, 1, 3, 4])
    np.testing.assert_array_equal(problem.goes_right, [False, True, True, False])
    np.testing.assert_array_equal(problem.weight, np.ones(4))


def test_a_node_without_rows_is_never_solved_and_keeps_its_parameters():
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(1, 2, 40), rng.normal(size=40)]  # all to the right of the root
    labels = rng.integers(0, 2, 40) * 2
    spy = Spy(X)
    tree = stump_over_stump()
    stepped = TreeStep(kernel_view(X), spy).one_pass(
        tree, criterion(labels, 3), 0.1, is_judged=False
    )
    for problem in spy.calls:
        assert len(problem.rows)
    np.testing.assert_array_equal(stepped.split(1)[1], tree.split(1)[1])
    assert stepped.threshold[1] == tree.threshold[1]
    np.testing.assert_array_equal(stepped.leaf_label[3:], tree.leaf_label[3:])


@pytest.mark.parametrize("strength", [0.0, 0.1])
def test_a_node_that_no_row_cares_about_has_no_weights(strength):
    """Then 0 minimises eq. (9), if weights have a price."""
    X, labels = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), np.array([1, 1, 2])
    tree = stump_over_stump().with_leaves([-1, -1, 2, 1, 1])
    step = TreeStep(kernel_view(X), Spy(X))
    stepped = step.one_pass(tree, criterion(labels, 3), strength, is_judged=False)
    assert len(stepped.split(1)[0]) == (strength == 0)
    np.testing.assert_array_equal(stepped.predict(X), labels)


@pytest.mark.parametrize("label", [0, 2])
def test_one_class_gives_a_constant_side_without_a_solver(label):
    X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-1.0, -3.0]])
    spy = Spy(X)
    tree = stump_over_stump()
    labels = np.full(3, label)
    step = TreeStep(kernel_view(X), spy)
    problem = step._reduce(tree, 0, np.arange(3), criterion(labels, 3).loss_at(tree), 0.1)
    split = step._solve(0, problem, None)
    assert spy.calls == []
    assert len(split.indices) == 0
    assert (split.threshold >= 0) == (label == 0)


def test_a_settled_node_is_not_solved_again(blobs):
    labels = np.argmin(
        np.linalg.norm(
            blobs[:, None] - np.array([[0, 0, 0], [20, 0, 5], [0, 25, 0], [20, 25, -5]]), axis=2
        ),
        axis=1,
    )
    spy = Spy(blobs)
    step = TreeStep(kernel_view(blobs), spy)
    tree = Bisecting(2).build(
        blobs, labels, np.zeros((4, 3)), np.ones(240), np.random.RandomState(0)
    )
    target = criterion(labels, 4)
    done = step.run(tree, target, 0.1, n_passes=50)
    solved = len(spy.calls)
    assert step.run(done, target, 0.1, n_passes=5) is done
    assert len(spy.calls) == solved


def test_a_collapsed_tree_returns_when_the_strength_falls(digits, digits_reference):
    labels = digits_reference.labels_
    tree = Bisecting(3).build(
        digits,
        labels,
        digits_reference.cluster_centers_,
        np.ones(len(digits)),
        np.random.RandomState(0),
    )
    step = TreeStep(kernel_view(digits), Liblinear(1e-2).bind(digits))
    target = criterion(labels)
    collapsed = step.run_freely(tree, target, 1e6, 5)
    assert len(np.unique(collapsed.predict(digits))) == 1
    back = collapsed
    for strength in np.geomspace(100, 0.1, 10):
        back = step.run(back, target, strength, 5)
    assert len(np.unique(back.predict(digits))) >= 6


def test_leaves_take_the_majority(rng):
    X = np.array([[-1.0, -1.0], [-1.0, -2.0], [-1.0, -3.0], [1.0, 0.0]])
    labels = np.array([1, 1, 0, 0])
    step = TreeStep(kernel_view(X), Spy(X))
    stepped = step.one_pass(stump_over_stump(), criterion(labels, 3), 0.1, is_judged=True)
    assert stepped.leaf_label[3] == 1
    assert stepped.leaf_label[2] == 0
    assert stepped.leaf_label[4] == 1  # no rows: as it was


def test_split_of_a_constant_node_routes_everything():
    tree = stump_over_stump().with_splits(
        {0: ((Split.constant(True).indices, Split.constant(True).weights), 1.0)}
    )
    assert set(tree.predict([[5.0, -1.0], [-5.0, 1.0]])) == {0, 1}
