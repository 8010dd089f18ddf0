"""Node problems: factors, units, warm starts and exact thresholds, held against definitions."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from conftest import solve

from tao_cluster.solvers import (
    Axis,
    Liblinear,
    Newton,
    NodeProblem,
    Refit,
    Status,
)
from tao_cluster.solvers.thresholds import constant_side, sharpen
from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_arrays

BOTH = [Newton(1e-9), Liblinear(1e-8)]


def make_problem(rng, n=300, d=6):
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.normal(size=n) > 0.3


def objective(split, X, goes_right, weight, price):
    """Eq. 9, with a price for each column."""
    margin = X[:, split.indices] @ split.weights - split.threshold
    loss = weight @ np.logaddexp(0, -np.where(goes_right, 1.0, -1.0) * margin)
    return loss + price[split.indices] @ np.abs(split.weights)


# ---------------------------------------------------------------- problems


def test_loss_is_the_weight_on_the_wrong_side():
    goes_right, weight = np.array([True, True, False, False]), np.array([1.0, 2, 4, 8])
    problem = NodeProblem(np.arange(4), goes_right, weight, 1.0)
    assert problem.loss(~goes_right) == 0
    assert problem.loss(goes_right) == 15
    assert problem.loss(np.array([True, False, False, True])) == 1 + 4


# ---------------------------------------------------------------- oblique solvers


@pytest.mark.parametrize("solver", BOTH)
def test_a_factor_is_the_price_of_its_feature(rng, solver):
    """Factors f are columns divided by f, up to the scale of the weights."""
    X, goes_right = make_problem(rng)
    rows, weight, features = np.arange(300), np.ones(300), np.array([0, 1, 2, 5])
    factors = np.array([0.25, 6.0, 1.0, 3.0])
    found = solve(solver.bind(X), rows, goes_right, weight, 2.0, features=features, factors=factors)
    part = X[:, features] / factors
    other = solve(solver.bind(part), rows, goes_right, weight, 2.0)
    np.testing.assert_array_equal(found.indices, features[other.indices])
    np.testing.assert_allclose(found.weights, other.weights / factors[other.indices], rtol=1e-3)
    price = np.full(6, np.inf)
    price[features] = 2.0 * factors
    value = objective(found, X, goes_right, weight, price)
    for j, step in ((0, 0.02), (0, -0.02), (1, 0.02), (1, -0.02)):
        moved = np.zeros(6)
        moved[found.indices] = found.weights
        moved[features[j]] += step
        split = Split.from_dense(moved, found.threshold)
        assert objective(split, X, goes_right, weight, price) > value


def test_a_warm_start_of_a_bad_threshold_is_mended(rng):
    X, goes_right = make_problem(rng)
    rows, weight, price = np.arange(300), np.ones(300), np.ones(6)
    solver = Newton().bind(X)
    good = solve(solver, rows, goes_right, weight, 1.0)
    least = objective(good, X, goes_right, weight, price)
    for shift in (-3.0, 0.3, 3.0):
        start = Split(good.indices, good.weights, good.threshold + shift)
        found = solve(solver, rows, goes_right, weight, 1.0, start)
        assert objective(found, X, goes_right, weight, price) <= 1.001 * least


def test_the_gap_bounds_what_is_left_to_gain(rng):
    X, goes_right = make_problem(rng)
    rows, weight, price = np.arange(300), rng.uniform(0.5, 2, 300), np.full(6, 3.0)
    best = solve(Newton(1e-10).bind(X), rows, goes_right, weight, 3.0)
    least = objective(best, X, goes_right, weight, price)
    for tol in (0.3, 0.1, 1e-2, 1e-3, 1e-5):
        problem = NodeProblem(rows, goes_right, weight, 3.0)
        split, status = Newton(tol).bind(X).solve(problem)
        value = objective(split, X, goes_right, weight, price)
        assert status.converged
        assert (value - least) / value <= status.gap * (1 + 1e-6) + 1e-9
        assert status.gap <= tol


# ---------------------------------------------------------------- axis-aligned


@pytest.mark.parametrize("right", [0.2, 0.8])
def test_without_a_test_that_pays_rows_go_to_the_side_of_more_weight(right):
    X, goes_right = np.arange(10.0)[:, None], np.arange(10) < 10 * right
    weight = np.ones(10)
    split = solve(Axis().bind(X), np.arange(10), goes_right, weight, 99.0)
    assert len(split.indices) == 0
    assert (split.threshold < 0) == (right > 0.5)


# ---------------------------------------------------------------- refits


@dataclass
class Asked:
    """A bound solver that keeps its problem and returns the warm start."""

    problems: list = field(default_factory=list)

    def solve(self, problem):
        self.problems.append(problem)
        return problem.warm_start, Status()


@pytest.mark.parametrize("reweights", [False, True])
def test_adaptive_strengths_are_divided_by_the_weights(rng, reweights):
    X, goes_right = make_problem(rng)
    old = Split(np.array([0, 2, 5], np.int32), np.array([4.0, -1.0, 0.1]), 0.2)
    asked = Asked()
    solve(
        Refit(asked, kernel_arrays(X), reweights), np.arange(300), goes_right, np.ones(300), 1, old
    )
    (problem,) = asked.problems
    np.testing.assert_array_equal(problem.features, [0, 2, 5])
    if reweights:
        np.testing.assert_allclose(problem.factors, 1.7 / np.array([4, 1, 0.1]))
    else:
        assert problem.factors is None


def given(threshold):
    return Split(np.array([0], np.int32), np.ones(1), threshold)


def test_of_equally_good_thresholds_the_middle_of_the_widest_gap():
    values, goes_right = np.array([0.0, 1, 3, 5]), np.array([False, True, False, True])
    found = sharpen(given(2.0), values, goes_right, np.ones(4))  # 2 rows wrong; 1 at 0.5 and 4
    assert found.threshold == 4.0
    kept = sharpen(given(0.2), values, goes_right, np.ones(4))
    assert kept.threshold == 0.2
    wide = sharpen(given(99.0), np.array([0.0, 1, 8, 9]), np.arange(4) > 1, np.ones(4))
    assert wide.threshold == 4.5


def test_a_threshold_that_only_rounding_makes_worse_is_kept():
    """0.3 right, then 0.1 and 0.2: sums that are equal, but for their last digit."""
    values, weight = np.arange(5.0), np.array([0.3, 0.3, 0.1, 0.2, 9.0])
    goes_right = np.array([False, True, False, False, True])
    assert 0.1 + 0.2 > 0.3
    split = given(0.5)
    assert sharpen(split, values, goes_right, weight) is split
    assert sharpen(given(3.5), values, goes_right, weight).threshold == 3.5


def test_no_threshold_no_test():
    goes_right = np.array([True, True, False, True])
    split = sharpen(given(0.5), np.array([0.0, 0, 1, 1]), goes_right, np.ones(4))
    assert len(split.indices) == 0
    assert split.threshold < 0
    split = sharpen(given(0.5), np.array([0.0, 1, 1, 1]), ~goes_right, np.ones(4))
    assert len(split.indices) == 0
    assert split.threshold > 0


def test_equal_sides_go_right():
    goes_right = np.array([True, False])
    for weight, is_right in (([1.0, 1.0], True), ([1.0, 2.0], False), ([2.0, 1.0], True)):
        problem = NodeProblem(np.arange(2), goes_right, np.array(weight), 1.0)
        assert (constant_side(problem).threshold < 0) == is_right
