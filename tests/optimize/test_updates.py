"""Updates of nodes: what the solver is asked, what is accepted, what is told when it gave up."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import TAOClustering, Tree
from tao_cluster.optimize.tree_step import TreeStep
from tao_cluster.penalties import ZeroOne
from tao_cluster.problem.criteria import LabelCriterion
from tao_cluster.solvers import Newton, Status
from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_view

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


def criterion(labels, weight=None):
    labels = np.asarray(labels)
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, float)
    return LabelCriterion(ZeroOne(), labels, weight, 2)


HALVES = criterion([0, 0, 0, 0, 1, 1, 1, 1])


def step_of(*splits, **options):
    return TreeStep(kernel_view(LINE), Answers(*splits, **options))


# ---------------------------------------------------------------- what the solver is asked


def test_problem_of_a_node():
    weight = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    labels = [0, 1, 0, 0, 1, 1, 0, 1]
    step = step_of(at(3.5))
    step.one_pass(stump(at(3.5)), criterion(labels, weight), 0.25, is_judged=False)
    (problem,) = step.solver.problems
    assert problem.strength == 0.25
    np.testing.assert_array_equal(problem.rows, np.arange(8))
    np.testing.assert_array_equal(problem.goes_right, np.array(labels) == 1)
    np.testing.assert_array_equal(problem.weight, weight)
    assert problem.warm_start.same_as(at(3.5))


@pytest.mark.parametrize(
    ("other", "strength"),
    [
        (criterion([0, 0, 0, 1, 1, 1, 1, 1]), 0.1),
        (criterion([0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 2]), 0.1),
        (HALVES, 0.2),
    ],
)
def test_a_node_is_solved_again_if_its_problem_is_another(other, strength):
    step, tree = step_of(at(3.5)), stump(at(3.5))
    for _ in range(2):
        step.one_pass(tree, HALVES, 0.1, is_judged=True)
    assert len(step.solver.problems) == 1
    step.one_pass(tree, other, strength, is_judged=True)
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
    updated = step.one_pass(tree, criterion([0, 0, 1, 1, 0, 0, 1, 1]), 0.0, is_judged=False)
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
    loss = criterion(labels, weights).loss_at(tree)
    split = step._update(tree, 0, np.arange(8), loss, 0.1, is_judged=False)
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
    updated = step.run(tree, HALVES, 0.5, 1)
    assert (updated is not tree) == is_accepted
    assert len(step.solver.problems) == 1
    if is_accepted:
        np.testing.assert_array_equal(updated.split(0)[1], new.weights)


def test_what_a_judged_pass_refused_a_free_one_accepts():
    tree, step = stump(at(3.5)), step_of(at(4.5))
    assert step.run(tree, HALVES, 0.1, 3) is tree
    assert step.run_freely(tree, HALVES, 0.1, 1).threshold[0] == 4.5


@pytest.mark.parametrize(("strength", "n_kept"), [(0.1, 0), (0.0, 1)])
def test_where_no_row_cares_weights_only_cost(strength, n_kept):
    tree, step = stump(at(3.5)), step_of(at(3.5))
    updated = step.one_pass(tree, criterion(np.zeros(8, int)), strength, is_judged=True)
    assert step.solver.problems == []
    assert len(updated.split(0)[0]) == n_kept
    assert set(updated.predict(LINE)) == {0}


# ---------------------------------------------------------------- what is told


def test_unsolved_nodes_are_known_until_they_are_solved():
    step, tree = step_of(at(3.5), converged=False), stump(at(2.5))
    step.one_pass(tree, HALVES, 0.1, is_judged=True)
    assert {node: status.gap for node, status in step.unsolved.items()} == {0: 0.5}
    step.solver.converged = True
    step.one_pass(tree, criterion([0, 0, 0, 1, 1, 1, 1, 1]), 0.1, is_judged=True)
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
    model = TAOClustering(3, lambda_=10, depth=2, node_solver=Stuck(), random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"at \d+ node\(s\).* up to 0\.25 of") as caught:
        model.fit(X)
    assert len(caught) == 1
