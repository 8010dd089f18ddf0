"""The tree step: what a node solver is asked, which answers are accepted, and what is reported."""

from dataclasses import replace

import numpy as np
import pytest
from scripted import Scripted, pass_over, split_of
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, Tree
from tao_cluster.solvers import Newton

# Some of these small trees have fewer labels than the rows.
pytestmark = pytest.mark.filterwarnings("ignore:The tree has lost")

# Two equal columns, so that tests have two weights and keep them and their threshold.
LINE = np.repeat(np.arange(8.0)[:, None], 2, axis=1)
HALVES = [0, 0, 0, 0, 1, 1, 1, 1]


def at(threshold, norm=1.0):
    """The test x <= threshold on LINE, whose ||w||_1 is `norm`."""
    return split_of([norm / 2, norm / 2], norm * threshold)


def tree_of(*splits, left=(1, -1, -1), right=(2, -1, -1), labels=(-1, 0, 1)):
    tests = [(split.indices, split.weights) for split in splits]
    tests += [None] * (len(left) - len(splits))
    thresholds = [split.threshold for split in splits] + [0.0] * (len(left) - len(splits))
    return Tree.from_splits(left, right, tests, thresholds, labels, 2)


def two_tests():
    """Root on x0; its left child tests x1 into leaves 0 and 1; its right child is leaf 2."""
    return tree_of(
        split_of([1.0], 0.0),
        split_of([0.0, 1.0], 0.0),
        left=(1, 3, -1, -1, -1),
        right=(2, 4, -1, -1, -1),
        labels=(-1, -1, 2, 0, 1),
    )


def threshold_of(model):
    return model.tree_.threshold[0] / np.abs(model.tree_.split(0)[1]).sum()


# ---------------------------------------------------------------- what the solver is asked


def test_problem_of_a_node():
    weight = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    labels, solver = np.array([0, 1, 0, 0, 1, 1, 0, 1]), Scripted()
    pass_over(LINE, labels, tree_of(at(3.5)), solver, weight=weight, lambda_=0.25)
    (problem,) = solver.problems
    assert problem.strength == 0.25
    np.testing.assert_array_equal(solver.X[problem.rows], LINE)
    np.testing.assert_array_equal(problem.goes_right, labels == 1)
    np.testing.assert_array_equal(problem.weight, weight)
    assert problem.warm_start.same_as(at(3.5))


def test_pseudo_labels_and_rows_that_do_not_care():
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [0.5, 0.5], [-2, 2.0]])
    # The leaves predict    0            1             2           2            2           1
    labels = np.array([0, 2, 0, 2, 1, 0])
    solver = Scripted()
    # Heavy rows keep the labels of the leaves, and are right in both subtrees or only in one.
    fixed = np.array([[-3.0, -3.0], [-3.0, 3.0], [3.0, 3.0]])
    weight = np.r_[np.ones(6), 9.0, 9.0, 9.0]
    pass_over(np.vstack([X, fixed]), np.r_[labels, 0, 1, 2], two_tests(), solver, weight=weight)
    root = solver.problems[-1]
    of_row = {tuple(solver.X[row]): at for at, row in enumerate(root.rows)}
    # Through the left child rows get 0 1 1 0 1 1, through the right one 2. Rows 2 and 5 have the
    # label 0 and get 1 or 2: they cannot be right and are dropped.
    assert set(of_row) == {*map(tuple, X[[0, 1, 3, 4]]), *map(tuple, fixed)}
    sides = [root.goes_right[of_row[tuple(row)]] for row in X[[0, 1, 3, 4]]]
    assert sides == [False, True, True, False]
    assert {root.weight[of_row[tuple(row)]] for row in X[[0, 1, 3, 4]]} == {1.0}


def test_nodes_below_come_first():
    """The rows of the root are labelled by what its children have become."""
    tree = tree_of(
        *(at(threshold) for threshold in (3.5, 1.5, 5.5)),
        left=(1, 3, 5, -1, -1, -1, -1),
        right=(2, 4, 6, -1, -1, -1, -1),
        labels=(-1, -1, -1, 0, 1, 0, 1),
    )
    solver = Scripted(at(0.5), at(4.5), at(3.5))
    model = pass_over(LINE, [0, 0, 1, 1, 0, 0, 1, 1], tree, solver, lambda_=0.0, accept="always")
    rows_of = [solver.X[problem.rows, 0].tolist() for problem in solver.problems]
    # Elsewhere both subtrees of the root agree.
    assert rows_of == [[0, 1, 2, 3], [4, 5, 6, 7], [1, 2, 3, 4]]
    np.testing.assert_array_equal(model.labels_, [0, 1, 1, 1, 0, 1, 1, 1])


def test_problem_of_a_node_above_histograms(rng):
    """Weights are differences of ||e_z - theta||^2, theta being the shares in the leaves."""
    X, labels = rng.normal(size=(80, 2)), rng.integers(0, 3, 80)
    weight, solver = rng.uniform(0.5, 2, 80), Scripted()
    options = {"penalty": "squared", "initial_mu": 0.1}
    pass_over(X, labels, two_tests(), solver, weight=weight, **options)
    order = [np.flatnonzero((row == X).all(axis=1))[0] for row in solver.X]
    X, labels, weight = X[order], labels[order], weight[order]
    is_left, is_low = X[:, 0] <= 0, X[:, 1] <= 0
    loss = {}
    for leaf, rows in {
        "right": ~is_left,
        "low": is_left & is_low,
        "high": is_left & ~is_low,
    }.items():
        theta = [weight[rows & (labels == k)].sum() / weight[rows].sum() for k in range(3)]
        loss[leaf] = weight * ((np.eye(3)[labels] - theta) ** 2).sum(axis=1)
    below, root = solver.problems
    gain = (loss["low"] - loss["high"])[is_left]
    np.testing.assert_array_equal(solver.X[below.rows], X[is_left])
    np.testing.assert_array_equal(below.goes_right, gain > 0)
    np.testing.assert_allclose(below.weight, np.abs(gain))
    gain = np.where(is_low, loss["low"], loss["high"]) - loss["right"]
    np.testing.assert_array_equal(root.goes_right, gain > 0)
    np.testing.assert_allclose(root.weight, np.abs(gain))


@pytest.mark.parametrize("label", [0, 1])
def test_rows_of_one_class_need_no_solver(label):
    """All rows of the left subtree go to the leaf of their label, at no price."""
    X = np.array([[-1.0, 2.0], [-2.0, 1.0], [-1.0, -1.0], [-3.0, -1.0], [1.0, 1.0], [1.0, 2.0]])
    labels, weight, solver = [label] * 4 + [2, 1 - label], np.r_[np.ones(5), 1e-9], Scripted()
    model = pass_over(X, labels, two_tests(), solver, weight=weight)
    assert len(solver.problems) == 1  # only that of the root
    np.testing.assert_array_equal(model.labels_[:5], labels[:5])
    assert model.tree_.n_leaves == 2


def test_a_node_that_no_row_cares_about_needs_no_solver():
    X, solver = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, 2.0]]), Scripted()
    model = pass_over(X, [1, 1, 2, 0], two_tests(), solver, weight=[1.0, 1.0, 1.0, 1e-9])
    assert len(solver.problems) == 1  # only that of the root
    np.testing.assert_array_equal(model.labels_, [1, 1, 2, 2])


def test_leaves_take_the_weighted_majority():
    X = np.array([[-1.0, -1.0], [-1.0, -2.0], [-1.0, -3.0], [1.0, 0.0], [1.0, 1.0]])
    for last, label in ((1.0, 1), (3.0, 0)):
        weight = [1.0, 1.0, last, 1.0, 2.0]
        model = pass_over(X, [1, 1, 0, 0, 2], two_tests(), Scripted(), weight=weight)
        np.testing.assert_array_equal(model.labels_, [label] * 3 + [2] * 2)


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
def test_an_update_must_lower_loss_plus_price(new, is_accepted):
    model = pass_over(LINE, HALVES, tree_of(at(3.5)), Scripted(new), lambda_=0.5)
    kept = new if is_accepted else at(3.5)
    np.testing.assert_array_equal(model.tree_.split(0)[1], kept.weights)
    assert model.tree_.threshold[0] == kept.threshold


@pytest.mark.parametrize(
    ("new", "is_accepted"),
    [
        (at(3.5, 100.0), True),  # one row fewer on the wrong side, at any price
        (at(4.5, 0.5), False),  # the same loss, a lower price
        (at(5.5, 0.5), False),
    ],
)
def test_an_update_that_must_lower_the_loss_has_no_price(new, is_accepted):
    options = {"lambda_": 0.5, "accept": "if loss falls"}
    model = pass_over(LINE, HALVES, tree_of(at(4.5)), Scripted(new), **options)
    assert threshold_of(model) == (new.threshold / new.weights.sum() if is_accepted else 4.5)


def test_an_update_is_accepted_always_if_that_is_asked_for():
    model = pass_over(LINE, HALVES, tree_of(at(3.5)), Scripted(at(4.5)), accept="always")
    assert threshold_of(model) == 4.5


# ---------------------------------------------------------------- passes with a real solver


@pytest.mark.parametrize("lambda_", [0.01, 0.3, 3.0])
def test_passes_lower_the_objective(digits, digits_reference, rng, lambda_):
    """Eq. (8) after 1, 2, ... passes never rises, and 5 passes are better than the first one."""
    X, labels = digits[:400], digits_reference.labels_[:400].copy()
    labels[::7] = rng.integers(0, 10, len(labels[::7]))  # no tree fits these exactly
    weight = rng.integers(1, 4, 400).astype(float)
    algorithm = DirectForm(n_init=1, relax=False)
    start = TAOClustering(10, lambda_=0.3, depth=4, algorithm=algorithm, random_state=0)
    tree, values = start.fit(X).tree_, []
    for n_passes in (1, 2, 3, 5):
        model = pass_over(
            X, labels, tree, Newton(), weight=weight, lambda_=lambda_, n_passes=n_passes
        )
        price = np.abs(model.tree_.split_weights).sum()
        values.append(weight[model.labels_ != labels].sum() + lambda_ * price)
    assert np.all(np.diff(values) <= 1e-9 * values[0])


def test_a_collapsed_tree_returns_when_the_strength_falls(digits, digits_reference):
    """Nodes without rows or weights keep their tests until the end of the path."""
    X, labels = digits[:600], digits_reference.labels_[:600]
    start = TAOClustering(10, lambda_=0.3, depth=4, algorithm=DirectForm(n_init=1, relax=False))
    options = {"strength": "lambda/mu", "initial_mu": 1e-4, "mu_factor": 3.0, "n_mu_steps": 8}
    model = pass_over(X, labels, start.fit(X).tree_, Newton(), lambda_=0.05, n_passes=3, **options)
    leaves = [record["leaves"] for record in model.history_]
    assert min(leaves) <= 2
    assert len(set(model.labels_)) >= 6


class Stuck(Newton):
    """Newton that never reports convergence."""

    def bind(self, X):
        bound, plain = super().bind(X), type(super().bind(X)).solve

        class Bound:
            def solve(self, problem):
                split, status = plain(bound, problem)
                return split, replace(status, converged=False, gap=0.25)

        return Bound()


@pytest.mark.parametrize(
    "algorithm",
    [DirectForm(node_solver=Stuck()), PenaltyMethod(node_solver=Stuck(), refine=False)],
    ids=["direct", "penalty"],
)
def test_one_warning_for_nodes_that_were_not_solved(rng, algorithm):
    model = TAOClustering(3, lambda_=1, depth=2, algorithm=algorithm, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"at \d+ node\(s\).* up to 0\.25\.") as caught:
        model.fit(rng.normal(size=(80, 3)))
    assert len(caught) == 1
