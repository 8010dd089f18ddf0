"""The tree step: passes over a tree, what the solver is asked, what is accepted and reported."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import DirectForm, TAOClustering, Tree
from tao_cluster.initial_trees.builders import Bisecting
from tao_cluster.optimize.tree_step import TreeStep, objective
from tao_cluster.penalties import LabelCriterion, SquaredError, ZeroOne
from tao_cluster.solvers import Liblinear, Newton, Status
from tao_cluster.tree import Split
from tao_cluster.tree.routing import ReducedSets, kernel_arrays


def one_pass(step, tree, *terms, **options):
    return step.one_pass(step.routed(tree), *terms, **options).tree


def run(step, tree, *terms, **options):
    return step.run(step.routed(tree), *terms, **options).tree


def run_freely(step, tree, *terms, **options):
    return step.run_freely(step.routed(tree), *terms, **options).tree


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
    step = TreeStep(kernel_arrays(X), Liblinear(1e-2).bind(X))
    tree = run_freely(step, tree, target, 1.0, 2)
    value = objective(step.routed(tree), target, strength)
    first = value
    for _ in range(6):
        updated = run(step, tree, target, strength, n_passes=1)
        now = objective(step.routed(updated), target, strength)
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
    step, target = TreeStep(kernel_arrays(X), Liblinear(1e-2).bind(X)), criterion(labels, 10)
    passes, values = tree, []
    for _ in range(8):
        passes = one_pass(step, passes, target, 0.5, is_judged=False)
        values.append(objective(step.routed(passes), target, 0.5))
    assert np.any(np.diff(values) > 0)  # otherwise the last would do
    for n_passes in (3, 8):
        best = run_freely(step, tree, target, 0.5, n_passes)
        assert objective(step.routed(best), target, 0.5) == min(values[:n_passes])


def test_objective_is_mismatch_plus_penalty(rng):
    tree = random_tree(rng)
    X, labels = rng.normal(size=(50, tree.n_features)), rng.integers(0, 4, 50)
    step = TreeStep(kernel_arrays(X), solver=None)
    expected = np.sum(tree.predict(X) != labels) + 0.3 * np.abs(tree.split_weights).sum()
    assert objective(step.routed(tree), criterion(labels, 4), 0.3) == pytest.approx(expected)


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


def below_root(step, tree):
    """What a pass knows of the rows below the root."""
    leaves = step.leaves_of(tree)
    rows_of = ReducedSets(tree, leaves)
    list(rows_of.levels())
    rows = rows_of[0]
    return step._below(tree, 0, rows, rows_of.goes_left(0, leaves[rows]), leaves)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("is_judged", [False, True])
def test_a_pass_knows_the_leaves_of_the_tree_that_it_returns(rng, form, is_judged):
    X = rng.normal(size=(200, 6))
    labels, rows = rng.integers(0, 4, 200), form(X)
    step = TreeStep(kernel_arrays(rows), Newton().bind(rows))
    first = state = step.routed(random_tree(rng, n_nodes=15))
    for strength in (0.1, 3.0, 0.3):
        state = step.one_pass(state, criterion(labels, 4), strength, is_judged)
        np.testing.assert_array_equal(state.leaf_of_row, state.tree.apply(rows))
    assert state.tree != first.tree


def test_pseudo_labels_and_rows_that_do_not_care():
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [0.5, 0.5], [-2, 2.0]])
    #  leaf       0            1             2           2            2           1
    labels = np.array([0, 2, 0, 2, 1, 0])
    spy = Spy(X)
    step = TreeStep(kernel_arrays(X), spy)
    root = stump_over_stump()
    # Keep the leaves and the inner node as they are: only the root's problem matters here.
    loss = criterion(labels, 3).loss_at(root)
    problem, care = step._reduce(root, 0, below_root(step, root), loss, strength=0.1)
    # Through the left child rows get 0 1 1 0 1 1, through the right one 2.
    # Row 2 (label 0; gets 1 or 2) and row 5 (label 0; gets 1 or 2) cannot be right: dropped.
    np.testing.assert_array_equal(problem.rows, [0, 1, 3, 4])
    np.testing.assert_array_equal(care, [True, True, False, True, True, False])
    np.testing.assert_array_equal(problem.goes_right, [False, True, True, False])
    np.testing.assert_array_equal(problem.weight, np.ones(4))


def test_a_node_without_rows_is_never_solved_and_keeps_its_parameters():
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(1, 2, 40), rng.normal(size=40)]  # all to the right of the root
    labels = rng.integers(0, 2, 40) * 2
    spy = Spy(X)
    tree = stump_over_stump()
    step = TreeStep(kernel_arrays(X), spy)
    stepped = one_pass(step, tree, criterion(labels, 3), 0.1, is_judged=False)
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
    step = TreeStep(kernel_arrays(X), Spy(X))
    stepped = one_pass(step, tree, criterion(labels, 3), strength, is_judged=False)
    assert len(stepped.split(1)[0]) == (strength == 0)
    np.testing.assert_array_equal(stepped.predict(X), labels)


@pytest.mark.parametrize("label", [0, 2])
def test_one_class_gives_a_constant_side_without_a_solver(label):
    X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-1.0, -3.0]])
    spy = Spy(X)
    tree = stump_over_stump()
    labels = np.full(3, label)
    step = TreeStep(kernel_arrays(X), spy)
    loss = criterion(labels, 3).loss_at(tree)
    problem, _ = step._reduce(tree, 0, below_root(step, tree), loss, 0.1)
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
    step = TreeStep(kernel_arrays(blobs), spy)
    tree = Bisecting(2).build(
        blobs, labels, np.zeros((4, 3)), np.ones(240), np.random.RandomState(0)
    )
    target = criterion(labels, 4)
    done = run(step, tree, target, 0.1, n_passes=50)
    solved = len(spy.calls)
    assert run(step, done, target, 0.1, n_passes=5) is done
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
    step = TreeStep(kernel_arrays(digits), Liblinear(1e-2).bind(digits))
    target = criterion(labels)
    collapsed = run_freely(step, tree, target, 1e6, 5)
    assert len(np.unique(collapsed.predict(digits))) == 1
    back = collapsed
    for strength in np.geomspace(100, 0.1, 10):
        back = run(step, back, target, strength, 5)
    assert len(np.unique(back.predict(digits))) >= 6


def test_leaves_take_the_majority(rng):
    X = np.array([[-1.0, -1.0], [-1.0, -2.0], [-1.0, -3.0], [1.0, 0.0]])
    labels = np.array([1, 1, 0, 0])
    step = TreeStep(kernel_arrays(X), Spy(X))
    stepped = one_pass(step, stump_over_stump(), criterion(labels, 3), 0.1, is_judged=True)
    assert stepped.leaf_label[3] == 1
    assert stepped.leaf_label[2] == 0
    assert stepped.leaf_label[4] == 1  # no rows: as it was


def test_split_of_a_constant_node_routes_everything():
    tree = stump_over_stump().with_splits(
        {0: ((Split.constant(True).indices, Split.constant(True).weights), 1.0)}
    )
    assert set(tree.predict([[5.0, -1.0], [-5.0, 1.0]])) == {0, 1}


LINE = np.arange(8.0)[:, None]


class Answers:
    """A bound solver that gives the splits of a list in turn, the last one for ever."""

    def __init__(self, *splits, converged=True):
        self.splits, self.problems, self.converged = list(splits), [], converged

    def solve(self, problem):
        self.problems.append(problem)
        split = self.splits.pop(0) if len(self.splits) > 1 else self.splits[0]
        return split, Status(self.converged, 0.0 if self.converged else 0.5)


def at(threshold, weight=1.0):
    """The test x <= threshold, whose ||w||_1 is `weight`."""
    return Split(np.array([0], np.int32), np.array([weight]), weight * threshold)


def stump(split):
    splits = [(split.indices, split.weights), None, None]
    return Tree.from_splits(
        [1, -1, -1], [2, -1, -1], splits, [split.threshold, 0, 0], [-1, 0, 1], 1
    )


def binary(labels, weight=None):
    labels = np.asarray(labels)
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, float)
    return LabelCriterion(ZeroOne(), labels, weight, 2)


HALVES = binary([0, 0, 0, 0, 1, 1, 1, 1])


def step_of(*splits, **options):
    return TreeStep(kernel_arrays(LINE), Answers(*splits, **options))


# ---------------------------------------------------------------- what the solver is asked


def test_problem_of_a_node():
    weight = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    labels = [0, 1, 0, 0, 1, 1, 0, 1]
    step = step_of(at(3.5))
    one_pass(step, stump(at(3.5)), binary(labels, weight), 0.25, is_judged=False)
    (problem,) = step.solver.problems
    assert problem.strength == 0.25
    np.testing.assert_array_equal(problem.rows, np.arange(8))
    np.testing.assert_array_equal(problem.goes_right, np.array(labels) == 1)
    np.testing.assert_array_equal(problem.weight, weight)
    assert problem.warm_start.same_as(at(3.5))


def test_problem_of_a_node_above_histograms(rng):
    """Weights are differences of ||e_z - theta||^2, theta being the shares in the leaves."""
    X, labels = rng.normal(size=(80, 2)), rng.integers(0, 3, 80)
    weight = rng.uniform(0.5, 2, 80)
    tree = Tree.from_splits(
        [1, 3, -1, -1, -1],
        [2, 4, -1, -1, -1],
        [([0], [1.0]), ([1], [1.0]), None, None, None],
        [0.2, -0.1, 0, 0, 0],
        [-1, -1, 0, 1, 2],
        2,
    )
    step = TreeStep(kernel_arrays(X), Spy(X))
    step.solver.solver = Newton().bind(X)
    one_pass(step, tree, LabelCriterion(SquaredError(), labels, weight, 3), 1e9, is_judged=True)
    is_left, is_low = X[:, 0] <= 0.2, X[:, 1] <= -0.1
    members = {2: ~is_left, 3: is_left & is_low, 4: is_left & ~is_low}
    loss = np.zeros((5, 80))
    for leaf, rows in members.items():
        theta = [weight[rows & (labels == k)].sum() / weight[rows].sum() for k in range(3)]
        loss[leaf] = weight * ((np.eye(3)[labels] - theta) ** 2).sum(axis=1)
    below, root = step.solver.calls
    gain = (loss[3] - loss[4])[is_left]
    np.testing.assert_array_equal(below.rows, np.flatnonzero(is_left))
    np.testing.assert_array_equal(below.goes_right, gain > 0)
    np.testing.assert_allclose(below.weight, np.abs(gain))
    # The strength of 1e9 leaves no weight below the root, so that its rows are in one leaf.
    assert len(root.rows) == 80


@pytest.mark.parametrize(
    ("other", "strength"),
    [
        (binary([0, 0, 0, 1, 1, 1, 1, 1]), 0.1),
        (binary([0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 2]), 0.1),
        (HALVES, 0.2),
    ],
)
def test_a_node_is_solved_again_if_its_problem_is_another(other, strength):
    step, tree = step_of(at(3.5)), stump(at(3.5))
    for _ in range(2):
        one_pass(step, tree, HALVES, 0.1, is_judged=True)
    assert len(step.solver.problems) == 1
    one_pass(step, tree, other, strength, is_judged=True)
    assert len(step.solver.problems) == 2


def test_nodes_below_come_first():
    """The root's rows are labelled by what its children have become."""
    tree = Tree.from_splits(
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [([0], [1.0]), ([0], [1.0]), ([0], [1.0]), None, None, None, None],
        [3.5, 1.5, 5.5, 0, 0, 0, 0],
        [-1, -1, -1, 0, 1, 0, 1],
        1,
    )
    step = step_of(at(0.5), at(4.5), at(3.5))
    updated = one_pass(step, tree, binary([0, 0, 1, 1, 0, 0, 1, 1]), 0.0, is_judged=False)
    np.testing.assert_array_equal(updated.threshold[:3], [3.5, 0.5, 4.5])
    of_left, of_right, of_root = (problem.rows for problem in step.solver.problems)
    np.testing.assert_array_equal(of_left, [0, 1, 2, 3])
    np.testing.assert_array_equal(of_right, [4, 5, 6, 7])
    np.testing.assert_array_equal(of_root, [1, 2, 3, 4])  # elsewhere both subtrees agree


@pytest.mark.parametrize("label", [0, 1])
def test_rows_of_one_class_go_to_their_side(label):
    """Both leaves keep their labels where rows reach one of them only."""
    tree = stump(at(99.0 if label else -99.0))  # to the other side
    labels = np.full(8, label)
    step = step_of(at(0.0))
    weights = [1e-3] * 7 + [1.0]
    loss = binary(labels, weights).loss_at(tree)
    split = step._update(tree, 0, below_root(step, tree), loss, 0.1, is_judged=False)
    assert step.solver.problems == []
    assert len(split.indices) == 0
    assert (split.threshold >= 0) == (label == 0)


# ---------------------------------------------------------------- what is accepted


@pytest.mark.parametrize(
    ("new", "is_accepted"),
    [
        (at(3.5, 0.5), True),  # the same loss, a lower price
        (at(3.5, 2.0), False),
        (at(3.2), False),  # neither loss nor price is lower
        (at(4.5, 0.999), False),  # a row more on the wrong side
        (at(4.5, 0.5), False),  # a price lower by 0.25 does not pay for it
    ],
)
def test_a_judged_update_lowers_loss_plus_price(new, is_accepted):
    tree, step = stump(at(3.5)), step_of(new)
    updated = run(step, tree, HALVES, 0.5, 1)
    assert (updated is not tree) == is_accepted
    assert len(step.solver.problems) == 1
    if is_accepted:
        np.testing.assert_array_equal(updated.split(0)[1], new.weights)


@pytest.mark.parametrize(
    ("new", "is_accepted"),
    [
        (at(3.5, 100.0), True),  # one row fewer on the wrong side, at any price
        (at(4.5, 0.5), False),  # the same loss, a lower price
        (at(5.5, 0.5), False),
    ],
)
def test_an_update_that_must_lower_the_loss_has_no_price(new, is_accepted):
    tree, step = stump(at(4.5)), step_of(new)
    updated = run(step, tree, HALVES, 0.5, 1, accept="if loss falls")
    assert (updated is not tree) == is_accepted


def test_passes_that_accept_always_return_the_last_tree():
    tree, step = stump(at(3.5)), step_of(at(4.5))
    assert run(step, tree, HALVES, 0.1, 1, accept="always").threshold[0] == 4.5


def test_what_a_judged_pass_refused_a_free_one_accepts():
    tree, step = stump(at(3.5)), step_of(at(4.5))
    assert run(step, tree, HALVES, 0.1, 3) is tree
    assert run_freely(step, tree, HALVES, 0.1, 1).threshold[0] == 4.5


@pytest.mark.parametrize(("strength", "n_kept"), [(0.1, 0), (0.0, 1)])
def test_where_no_row_cares_weights_only_cost(strength, n_kept):
    tree, step = stump(at(3.5)), step_of(at(3.5))
    updated = one_pass(step, tree, binary(np.zeros(8, int)), strength, is_judged=True)
    assert step.solver.problems == []
    assert len(updated.split(0)[0]) == n_kept
    assert set(updated.predict(LINE)) == {0}


# ---------------------------------------------------------------- what is told


def test_unsolved_nodes_are_known_until_they_are_solved():
    step, tree = step_of(at(3.5), converged=False), stump(at(2.5))
    one_pass(step, tree, HALVES, 0.1, is_judged=True)
    assert {node: status.gap for node, status in step.unsolved.items()} == {0: 0.5}
    step.solver.converged = True
    one_pass(step, tree, binary([0, 0, 0, 1, 1, 1, 1, 1]), 0.1, is_judged=True)
    assert step.unsolved == {}


class Stuck(Newton):
    """Newton that never says it has got there."""

    def bind(self, X):
        bound, plain = super().bind(X), type(super().bind(X)).solve

        class Bound:
            def solve(self, problem):
                split, status = plain(bound, problem)
                return split, replace(status, converged=False, gap=0.25)

        return Bound()


def test_one_warning_for_nodes_that_were_not_solved(rng):
    X = rng.normal(size=(80, 3))
    model = TAOClustering(
        3, lambda_=10, depth=2, algorithm=DirectForm(node_solver=Stuck()), random_state=0
    )
    with pytest.warns(ConvergenceWarning, match=r"at \d+ node\(s\).* up to 0\.25\.") as caught:
        model.fit(X)
    assert len(caught) == 1
