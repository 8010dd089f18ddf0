"""Our node solver against LIBLINEAR, the definition of its problem, and awkward data."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import solve

from tao_cluster import PenaltyMethod, TAOClustering
from tao_cluster.solvers import Liblinear, Newton
from tao_cluster.tree import Split


def objective(split, X, goes_right, weight, strength):
    margin = X[:, split.indices] @ split.weights - split.threshold
    loss = weight @ np.logaddexp(0, -np.where(goes_right, 1.0, -1.0) * margin)
    return loss + strength * np.abs(split.weights).sum()


def make_problem(rng, n=400, d=30, share=1.0):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    goes_right = X[:, :4] @ [2.0, -1, 1, 0.5] + 0.7 * rng.normal(size=n) > 0.3
    return X, goes_right


def solve_all(X, goes_right, weight, strength, warm_start=None, tol=1e-3):
    rows = np.arange(X.shape[0])
    return solve(Newton(tol).bind(X), rows, goes_right, weight, strength, warm_start)


def check_near_optimal(X, goes_right, weight, strength, warm_start=None):
    """Within the promised gap of LIBLINEAR's accurate solution; weights by repeated rows."""
    own = solve_all(X, goes_right, weight, strength, warm_start)
    rows = np.arange(len(X))
    best = solve(Liblinear(1e-7).bind(X), rows, goes_right, weight, strength)
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
    dense = solve_all(X, goes_right, weight, 1.0)
    for form in (sp.csr_matrix(X), sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        other = solve_all(form, goes_right, weight, 1.0)
        np.testing.assert_array_equal(other.indices, dense.indices)
        np.testing.assert_allclose(other.weights, dense.weights, rtol=1e-9)


@pytest.mark.slow
def test_many_rows_and_a_sample_of_their_curvature(rng):
    X, goes_right = make_problem(rng, n=30_000, d=40)
    check_near_optimal(X, goes_right, np.ones(len(X)), 3.0)


def test_a_warm_start_that_is_good_enough_is_kept(rng):
    X, goes_right = make_problem(rng)
    weight = np.ones(len(X))
    first = solve_all(X, goes_right, weight, 1.0)
    assert solve_all(X, goes_right, weight, 1.0, first) is first
    near = solve_all(X, goes_right, weight, 1.1, first)
    assert objective(near, X, goes_right, weight, 1.1) <= 1.001 * objective(
        solve_all(X, goes_right, weight, 1.1), X, goes_right, weight, 1.1
    )
    bad = Split.from_dense(1e3 * rng.normal(size=30), 5.0)
    check_near_optimal(X, goes_right, weight, 1.0, bad)


def test_symmetries(rng):
    X, goes_right = make_problem(rng)
    weight = rng.uniform(0.1, 2.0, len(X))
    split = solve_all(X, goes_right, weight, 1.0, tol=1e-9)
    flipped = solve_all(X, ~goes_right, weight, 1.0, tol=1e-9)
    np.testing.assert_allclose(flipped.weights, -split.weights, rtol=1e-5)
    order = rng.permutation(len(X))
    permuted = solve_all(X[order], goes_right[order], weight[order], 1.0, tol=1e-9)
    np.testing.assert_allclose(permuted.weights, split.weights, rtol=1e-5)
    scaled = solve_all(X, goes_right, 1e9 * weight, 1e9, tol=1e-9)
    np.testing.assert_allclose(scaled.weights, split.weights, rtol=1e-5)
    far = solve_all(X + 1e6, goes_right, weight, 1.0, tol=1e-9)
    np.testing.assert_allclose(far.weights, split.weights, rtol=1e-4)


# ---------------------------------------------------------------- some features only


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("solver", [Newton(1e-9), Liblinear(1e-8)])
def test_only_some_features_may_get_a_weight(rng, solver, form):
    X, goes_right = make_problem(rng, share=0.3)
    X = X + np.arange(30) % 3 * (1e3 if form is np.asarray else 0)
    rows = np.flatnonzero(rng.random(len(X)) < 0.7)
    features = np.array([0, 2, 3, 7, 19, 29])
    weight = np.ones(len(rows))
    bound = solver.bind(form(X))
    split = solve(bound, rows, goes_right[rows], weight, 1.0, features=features)
    part = X[np.ix_(rows, features)]
    copied = solve(solver.bind(part), np.arange(len(rows)), goes_right[rows], weight, 1.0)
    np.testing.assert_array_equal(split.indices, features[copied.indices])
    assert split.indices.dtype == np.int32
    np.testing.assert_allclose(split.weights, copied.weights, rtol=1e-3)
    values = [
        objective(s, data, goes_right[rows], weight, 1.0)
        for s, data in ((split, X[rows]), (copied, part))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_warm_start_loses_its_weights_on_other_features(rng):
    X, goes_right = make_problem(rng)
    solver, rows, weight = Newton().bind(X), np.arange(len(X)), np.ones(len(X))
    everything = solve(solver, rows, goes_right, weight, 1.0)
    some = everything.indices[:3]
    split = solve(solver, rows, goes_right, weight, 1.0, everything, some)
    assert np.all(np.isin(split.indices, some))
    assert solve(solver, rows, goes_right, weight, 1.0, split, some) is split
    cold = solve(solver, rows, goes_right, weight, 1.0, None, some)
    values = [objective(s, X, goes_right, weight, 1.0) for s in (split, cold)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)
    none = solve(solver, rows, goes_right, weight, 1.0, everything, some[:0])
    assert len(none.indices) == 0


# ---------------------------------------------------------------- traps


@pytest.mark.parametrize("strength", [0.0, 1e-12, 1e-3])
def test_separable_rows_end(rng, strength):
    X = rng.normal(size=(500, 20))
    goes_right = X[:, 0] + 0.5 * X[:, 1] > 0
    start = time.perf_counter()
    split = solve_all(X, goes_right, np.ones(500), strength)
    assert time.perf_counter() - start < 20
    assert np.all(np.isfinite(split.weights))
    sides = X[:, split.indices] @ split.weights > split.threshold
    assert np.array_equal(sides, goes_right)


def test_two_rows_and_one_column():
    split = solve_all(np.array([[0.0], [1.0]]), np.array([False, True]), np.ones(2), 1e-2)
    assert 0 < split.threshold / split.weights[0] < 1
    useless = solve_all(np.zeros((4, 2)), np.array([True, True, True, False]), np.ones(4), 1.0)
    assert len(useless.indices) == 0
    assert useless.threshold == pytest.approx(-np.log(3))


@pytest.mark.slow
def test_more_sparse_features_than_a_gram_matrix_pays_for(rng):
    X = sp.random(1500, 3000, 0.01, format="csr", random_state=0)
    truth = np.where(rng.random(3000) < 0.3, rng.normal(size=3000), 0.0)
    goes_right = (X @ truth > 0) ^ (rng.random(1500) < 0.05)
    weight = np.ones(1500)
    split = solve_all(X, goes_right, weight, 0.05)
    assert len(split.indices) > 200
    accurate = solve(Liblinear(1e-6).bind(X), np.arange(1500), goes_right, weight, 0.05)
    values = [objective(s, X, goes_right, weight, 0.05) for s in (split, accurate)]
    assert values[0] <= 1.001 * values[1]


# ---------------------------------------------------------------- in a fit


@pytest.mark.slow
def test_weights_of_rows_may_be_fractions(digits, digits_reference, rng):
    weight = rng.uniform(0.5, 2, len(digits))
    options = {"lambda_": 1, "reference": digits_reference, "random_state": 0}
    with pytest.raises(ValueError, match="node_solver='newton' takes any"):
        TAOClustering(
            10, algorithm=PenaltyMethod(node_solver="liblinear", refine=False), **options
        ).fit(digits, sample_weight=weight)
    model = TAOClustering(10, **options).fit(digits, sample_weight=weight)
    assert model.tree_.n_leaves > 5
