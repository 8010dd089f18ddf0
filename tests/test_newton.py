"""Our node solver against LIBLINEAR, the definition of its problem, and awkward data."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from tao_cluster import TAOClustering
from tao_cluster.node_solvers import Liblinear, Newton, NodeSolver, Split


def objective(split, X, goes_right, weight, strength):
    margin = X[:, split.indices] @ split.weights - split.threshold
    loss = weight @ np.logaddexp(0, -np.where(goes_right, 1.0, -1.0) * margin)
    return loss + strength * np.abs(split.weights).sum()


def make_problem(rng, n=400, d=30, share=1.0):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    goes_right = X[:, :4] @ [2.0, -1, 1, 0.5] + 0.7 * rng.normal(size=n) > 0.3
    return X, goes_right


def solve(X, goes_right, weight, strength, warm_start=None, tol=1e-3):
    rows = np.arange(X.shape[0])
    return Newton(tol).bind(X).fit(rows, goes_right, weight, strength, warm_start)


def check_near_optimal(X, goes_right, weight, strength, warm_start=None):
    """Within the promised gap of LIBLINEAR's accurate solution; weights by repeated rows."""
    own = solve(X, goes_right, weight, strength, warm_start)
    rows = np.arange(len(X))
    best = Liblinear(1e-7).bind(X).fit(rows, goes_right, weight, strength)
    values = [objective(s, X, goes_right, weight, strength) for s in (own, best)]
    assert values[0] <= values[1] * 1.001
    return own


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("share", [1.0, 0.2])
def test_optimal_within_the_gap(rng, strength, share):
    X, goes_right = make_problem(rng, share=share)
    check_near_optimal(X, goes_right, np.ones(len(X)), strength)
    check_near_optimal(X, goes_right, rng.integers(1, 4, len(X)).astype(float), strength)


def test_form_and_precision_give_the_same_solution(rng):
    X, goes_right = make_problem(rng, share=0.3)
    X = X.astype(np.float32).astype(np.float64)
    weight = np.ones(len(X))
    dense = solve(X, goes_right, weight, 1.0)
    for form in (sp.csr_matrix(X), sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        other = solve(form, goes_right, weight, 1.0)
        np.testing.assert_array_equal(other.indices, dense.indices)
        np.testing.assert_allclose(other.weights, dense.weights, rtol=1e-9)


def test_many_rows_and_a_sample_of_their_curvature(rng):
    X, goes_right = make_problem(rng, n=30_000, d=40)
    check_near_optimal(X, goes_right, np.ones(len(X)), 3.0)


def test_a_warm_start_that_is_good_enough_is_kept(rng):
    X, goes_right = make_problem(rng)
    weight = np.ones(len(X))
    first = solve(X, goes_right, weight, 1.0)
    assert solve(X, goes_right, weight, 1.0, first) is first
    near = solve(X, goes_right, weight, 1.1, first)
    assert objective(near, X, goes_right, weight, 1.1) <= 1.001 * objective(
        solve(X, goes_right, weight, 1.1), X, goes_right, weight, 1.1
    )
    bad = Split.from_dense(1e3 * rng.normal(size=30), 5.0)
    check_near_optimal(X, goes_right, weight, 1.0, bad)


def test_symmetries(rng):
    X, goes_right = make_problem(rng)
    weight = rng.uniform(0.1, 2.0, len(X))
    split = solve(X, goes_right, weight, 1.0, tol=1e-9)
    flipped = solve(X, ~goes_right, weight, 1.0, tol=1e-9)
    np.testing.assert_allclose(flipped.weights, -split.weights, rtol=1e-5)
    order = rng.permutation(len(X))
    permuted = solve(X[order], goes_right[order], weight[order], 1.0, tol=1e-9)
    np.testing.assert_allclose(permuted.weights, split.weights, rtol=1e-5)
    scaled = solve(X, goes_right, 1e9 * weight, 1e9, tol=1e-9)
    np.testing.assert_allclose(scaled.weights, split.weights, rtol=1e-5)
    far = solve(X + 1e6, goes_right, weight, 1.0, tol=1e-9)
    np.testing.assert_allclose(far.weights, split.weights, rtol=1e-4)


def test_a_subset_of_rows_is_a_copy_of_them(rng):
    X, goes_right = make_problem(rng)
    rows = np.flatnonzero(rng.random(len(X)) < 0.4)
    weight = rng.uniform(0.1, 1, len(rows))
    subset = Newton().bind(X).fit(rows, goes_right[rows], weight, 0.5)
    copied = solve(X[rows], goes_right[rows], weight, 0.5)
    np.testing.assert_array_equal(subset.indices, copied.indices)
    np.testing.assert_allclose(subset.weights, copied.weights, rtol=1e-9)


def test_one_solver_for_many_nodes_gives_what_new_ones_give(rng):
    X, goes_right = make_problem(rng, n=3000, d=200)
    solver = Newton().bind(X)
    for n in (3000, 50, 1000, 2):
        rows = np.sort(rng.choice(3000, n, replace=False))
        target = goes_right[rows].copy()
        target[:2] = [True, False]
        again = Newton().bind(X).fit(rows, target, np.ones(n), 0.3)
        assert solver.fit(rows, target, np.ones(n), 0.3).same_as(again)


# ---------------------------------------------------------------- traps


@pytest.mark.parametrize("strength", [0.0, 1e-12, 1e-3])
def test_separable_rows_end(rng, strength):
    X = rng.normal(size=(500, 20))
    goes_right = X[:, 0] + 0.5 * X[:, 1] > 0
    start = time.perf_counter()
    split = solve(X, goes_right, np.ones(500), strength)
    assert time.perf_counter() - start < 20
    assert np.all(np.isfinite(split.weights))
    sides = X[:, split.indices] @ split.weights > split.threshold
    assert np.array_equal(sides, goes_right)


def test_awkward_columns(rng):
    X, goes_right = make_problem(rng, d=10)
    X[:, 4] = 0  # nothing
    X[:, 5] = 7.0  # constant
    X[:, 6] = X[:, 0]  # duplicates
    X[:, 7] = -X[:, 1]
    check_near_optimal(X, goes_right, np.ones(len(X)), 1.0)
    scales = 10.0 ** np.linspace(-3, 3, 10)
    check_near_optimal(X * scales, goes_right, np.ones(len(X)), 1.0)


def test_weights_over_many_decades(rng):
    X, goes_right = make_problem(rng)
    weight = 10.0 ** rng.uniform(-12, 6, len(X))
    strength = 1e-3 * weight.sum()
    split = solve(X, goes_right, weight, strength)
    assert np.all(np.isfinite(split.weights))
    accurate = solve(X, goes_right, weight, strength, tol=1e-8)
    values = [objective(s, X, goes_right, weight, strength) for s in (split, accurate)]
    assert values[0] <= 1.001 * values[1]


def test_two_rows_and_one_column():
    split = solve(np.array([[0.0], [1.0]]), np.array([False, True]), np.ones(2), 1e-2)
    assert 0 < split.threshold / split.weights[0] < 1
    useless = solve(np.zeros((4, 2)), np.array([True, True, True, False]), np.ones(4), 1.0)
    assert len(useless.indices) == 0
    assert useless.threshold == pytest.approx(-np.log(3))


def test_a_strong_penalty_leaves_the_best_constant(rng):
    X, goes_right = make_problem(rng)
    split = solve(X, goes_right, np.ones(len(X)), 1e5)
    share = goes_right.mean()
    assert len(split.indices) == 0
    assert -split.threshold == pytest.approx(np.log(share / (1 - share)))


# ---------------------------------------------------------------- in a fit


def test_it_serves_a_whole_fit(digits, digits_reference):
    assert isinstance(Newton(), NodeSolver)
    options = {"lambda_": 0.1, "reference": digits_reference, "random_state": 0}
    model = TAOClustering(10, node_solver="newton", **options).fit(digits)
    assert model.cost_increase_ < 2
    assert model.tree_.n_nonzero < 220
    again = TAOClustering(10, node_solver=Newton(), n_jobs=2, **options).fit(digits)
    assert again.tree_ == model.tree_


def test_weights_of_rows_may_be_fractions(digits, digits_reference, rng):
    weight = rng.uniform(0.5, 2, len(digits))
    options = {"lambda_": 1, "reference": digits_reference, "n_mu_steps": 3, "random_state": 0}
    with pytest.raises(ValueError, match="node_solver='newton' takes any"):
        TAOClustering(10, **options).fit(digits, sample_weight=weight)
    model = TAOClustering(10, node_solver="newton", **options).fit(digits, sample_weight=weight)
    assert model.tree_.n_leaves > 5
