"""Node solvers against the optimality conditions of their problem."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import solve

from tao_cluster.penalties import ZeroOne
from tao_cluster.solvers import Liblinear, WeightedLiblinear, check_supported


def make_problem(rng, n=300, d=8):
    X = rng.normal(size=(n, d)) + 0.5
    w = np.zeros(d)
    w[:3] = [2, -1, 1]
    goes_right = X @ w + rng.normal(size=n) > 0.7
    return X, goes_right


def dense(split, d):
    w = np.zeros(d)
    w[split.indices] = split.weights
    return w


def violation(X, goes_right, weight, strength, split):
    """Largest violation of optimality, relative to that at w = 0, t = 0."""
    w, y = dense(split, X.shape[1]), np.where(goes_right, 1.0, -1.0)

    def gradient(margin):
        g = -weight * y / (1 + np.exp(y * margin))
        return g @ X, g.sum()

    g, g_bias = gradient(X @ w - split.threshold)
    at_zero = np.maximum(np.abs(g) - strength, 0)
    off_zero = np.abs(g + strength * np.sign(w))
    worst = np.where(w == 0, at_zero, off_zero).max()
    start, _ = gradient(np.zeros(len(X)))
    return max(worst, abs(g_bias)) / np.abs(start).max()


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_liblinear_solves_its_problem(rng, strength, form):
    X, goes_right = make_problem(rng)
    solver = Liblinear(tol=1e-6).bind(form(X))
    rows, weight = np.arange(len(X)), np.ones(len(X))
    split = solve(solver, rows, goes_right, weight, strength)
    assert violation(X, goes_right, weight, strength, split) < 1e-4
    sides = X @ dense(split, X.shape[1]) > split.threshold
    assert np.mean(sides == goes_right) > 0.7


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("bias", [1.0, 3.0])
def test_weighted_liblinear_solves_its_problem(rng, form, bias):
    """The threshold is the weight of a constant feature of value `bias`, with its penalty."""
    X, goes_right = make_problem(rng)
    rows, weight = np.flatnonzero(rng.random(300) < 0.8), rng.uniform(0.1, 3, 300)
    solver = WeightedLiblinear(1e-8, bias).bind(form(X))
    split = solve(solver, rows, goes_right[rows], weight[rows], 20.0)
    w = np.append(dense(split, 8), -split.threshold / bias)
    constant = np.column_stack([X, np.full(300, bias)])[rows]
    y = np.where(goes_right[rows], 1.0, -1.0)
    gradient = (-weight[rows] * y / (1 + np.exp(y * (constant @ w)))) @ constant
    assert np.all(np.abs(gradient[w == 0]) <= 20)
    assert 0 < np.count_nonzero(w) < 9
    np.testing.assert_allclose(gradient[w != 0], -20 * np.sign(w[w != 0]), atol=1e-4)


def test_threshold_is_not_penalised(rng):
    X, goes_right = make_problem(rng)
    solver = Liblinear(tol=1e-6).bind(X)
    split = solve(solver, np.arange(len(X)), goes_right, np.ones(len(X)), 1e4)
    assert len(split.indices) == 0
    share = goes_right.mean()
    assert -split.threshold == pytest.approx(np.log(share / (1 - share)), abs=1e-3)


def test_same_call_same_result(rng):
    X, goes_right = make_problem(rng)
    rows, weight = np.arange(len(X)), np.ones(len(X))
    first = solve(Liblinear().bind(X), rows, goes_right, weight, 1.0)
    solver = Liblinear().bind(X)
    solve(
        solver, rows[:50], goes_right[:50], weight[:50], 0.1
    )  # moves the generator of the library
    assert first.same_as(solve(solver, rows, goes_right, weight, 1.0))


def test_whole_weights_are_repeated_rows_and_a_subset_is_a_copy(rng):
    X, goes_right = make_problem(rng)
    rows = np.flatnonzero(rng.random(len(X)) < 0.5)
    repeats = rng.integers(1, 4, len(rows))
    weighted = solve(Liblinear().bind(X), rows, goes_right[rows], repeats.astype(float), 1.0)
    copied = np.repeat(rows, repeats)
    # A bound solver shifts columns by the mean of its own rows: bind both to the same X.
    repeated = solve(Liblinear().bind(X), copied, goes_right[copied], np.ones(len(copied)), 1.0)
    assert weighted.same_as(repeated)


def test_common_weight_scales_the_strength(rng):
    X, goes_right = make_problem(rng)
    solver, rows = Liblinear().bind(X), np.arange(len(X))
    light = solve(solver, rows, goes_right, np.full(len(X), 0.25), 0.5)
    assert light.same_as(solve(solver, rows, goes_right, np.ones(len(X)), 2.0))


@pytest.mark.parametrize("strength", [0.0, 1e-12])
def test_separable_rows_without_penalty_end(rng, strength):
    X = rng.normal(size=(100, 3))
    split = solve(Liblinear().bind(X), np.arange(100), X[:, 0] > 0, np.ones(100), strength)
    assert np.all(np.isfinite(split.weights))
    assert np.array_equal(X @ dense(split, 3) > split.threshold, X[:, 0] > 0)


def test_unsuitable_combinations_fail_at_once(rng):
    X, penalty = rng.normal(size=(4, 2)), ZeroOne()
    check_supported(Liblinear(), X, np.array([1.0, 2.0, 3.0, 1.0]), penalty)
    check_supported(Liblinear(), X, np.full(4, 0.3), penalty)
    check_supported(Liblinear(), X, np.array([0.3, 0.6, 0.3 + 0.3 + 0.3, 0.3]), penalty)
    check_supported(Liblinear(), X, np.array([1e9, 2e9, 3e9, 1e9]), penalty)
    with pytest.raises(ValueError, match="must be integers"):
        check_supported(Liblinear(), X, np.array([1.0, 0.7, 1.0, 1.0]), penalty)
    with pytest.raises(ValueError, match="stands for 1000000004 repeated rows"):
        check_supported(Liblinear(), X, np.array([1.0, 1e9, 2.0, 1.0]), penalty)
    with pytest.raises(ValueError, match="must be integers"):
        solve(Liblinear().bind(X), np.arange(2), np.array([True, False]), np.array([1.0, 0.7]), 1.0)

    class DenseOnly:
        supports_weights, supports_sparse, deterministic = True, False, True

    with pytest.raises(ValueError, match="DenseOnly does not support sparse X; use"):
        check_supported(DenseOnly(), sp.csr_matrix(X), np.ones(4), penalty)

    class Graded:
        is_binary = False

    with pytest.raises(ValueError, match="which Graded needs; use penalty='zero-one'"):
        check_supported(Liblinear(), X, np.ones(4), Graded())
    check_supported(DenseOnly(), X, np.ones(4), Graded())


def test_common_factor_of_weights_is_taken_out(rng):
    X, goes_right = make_problem(rng)
    rows, weight = np.arange(len(X)), rng.integers(1, 4, len(X)).astype(float)
    solver = Liblinear().bind(X)
    small = solve(solver, rows, goes_right, weight, 1.0)
    large = solve(solver, rows, goes_right, weight * 2.0**20, 2.0**20)
    assert small.same_as(large)
