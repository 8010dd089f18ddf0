"""The node solver on the true cost: exact along each weight, never worse than what it is given."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster.solvers import Exact, NodeProblem
from tao_cluster.solvers.axis import BinnedColumns
from tao_cluster.solvers.exact import Candidate, Rows, best_weight
from tao_cluster.solvers.thresholds import least_sum
from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_arrays, project


def least_by_sorting(points, steps):
    """The least sum of the steps of the points below an interval, by one sort."""
    order = np.argsort(points, kind="stable")
    sums, ascending = np.cumsum(steps[order]), points[order]
    between = np.flatnonzero(ascending[1:] > ascending[:-1])
    return sums[between].min() if len(between) else np.inf


@pytest.mark.parametrize("draw", ["standard_normal", "standard_cauchy", "integers"])
@pytest.mark.parametrize("n", [1, 2, 60, 65, 700, 5000])
def test_least_sum_is_that_of_a_sort(draw, n):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = rng.integers(0, 9, n) * 1.0 if draw == "integers" else getattr(rng, draw)(n)
        noise = rng.normal(size=n)
        steps = noise if seed % 2 else np.where(points + noise < 0.3, -1.0, 1.0) * rng.random(n)
        least, low, high = least_sum(points, steps, np.inf)
        np.testing.assert_allclose(least, least_by_sorting(points, steps), rtol=1e-9, atol=1e-12)
        if np.isfinite(least):
            assert low < high
            assert not np.any((points > low) & (points < high))
            np.testing.assert_allclose(steps[points <= low].sum(), least, atol=1e-9)
            # A bound just above the least sum changes nothing, and one below it is not reached.
            assert least_sum(points, steps, least + 1e-6) == (least, low, high)
            assert least_sum(points, steps, least - 1e-6)[0] > least - 2e-6


def test_of_equal_sums_the_widest_interval_is_taken():
    points, steps = np.array([0.0, 1.0, 5.0, 6.0]), np.array([-1.0, 1.0, -1.0, 3.0])
    # Sums -1, 0, -1: below the second and below the last point.
    assert least_sum(points, steps, np.inf) == (-1.0, 0.0, 1.0)
    assert least_sum(np.array([0.0, 1.0, 5.0, 8.0]), steps, np.inf) == (-1.0, 5.0, 8.0)


def problem_of(rng, n, d, *, ties=False):
    X = rng.integers(0, 4, (n, d)) * 1.0 if ties else rng.normal(size=(n, d))
    goes_right = X @ rng.normal(size=d) + rng.normal(size=n) > 0
    goes_right[:2] = False, True
    return X, goes_right, rng.exponential(size=n)


def loss_of(split, X, problem):
    values = project(kernel_arrays(X), problem.rows, split.indices, split.weights)
    return problem.loss(values <= split.threshold)


def score_of(split, X, problem):
    return loss_of(split, X, problem) + problem.price(split)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=60, deadline=None)
def test_one_weight_is_the_best_there_is(seed, ties):
    """Against all intervals between the breakpoints of a weight."""
    rng = np.random.default_rng(seed)
    X, goes_right, weight = problem_of(rng, 12, 2, ties=ties)
    steps = np.where(goes_right, weight, -weight)
    rest, column, threshold = X[:, 0], X[:, 1].copy(), float(rng.normal())
    loss, found = best_weight(rest.copy(), column, threshold, steps, np.inf)
    moved = column != 0
    breaks = np.unique((threshold - rest[moved]) / column[moved])
    if len(breaks) < 2:
        return
    tried = [steps[rest + u * column <= threshold].sum() for u in (breaks[:-1] + breaks[1:]) / 2]
    np.testing.assert_allclose(loss, min(tried), atol=1e-9)
    np.testing.assert_allclose(steps[rest + found * column <= threshold].sum(), loss, atol=1e-9)


def true_loss(candidate):
    values = candidate.weights @ candidate.columns
    return candidate.rows.steps[values <= candidate.threshold].sum()


@pytest.mark.parametrize("price", [0.0, 0.3, 3.0])
def test_no_move_raises_the_score(price):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, goes_right, weight = problem_of(rng, 150, 5, ties=seed % 2 == 0)
        rows = Rows(X, np.arange(150), np.where(goes_right, weight, -weight))
        start = Candidate.from_split(rows, Split.from_dense(rng.normal(size=5), 0.1))
        for found in (start.improved(price), start.descended(price, 3)):
            assert len(found.weights) >= 1
            assert found.loss == pytest.approx(true_loss(found), abs=1e-9)
            before = true_loss(start) + price * len(start.weights)
            assert found.loss + price * len(found.weights) <= before + 1e-9


@pytest.mark.parametrize("freed", [(1, 1), (7, 1), (1, 30)])
def test_a_node_is_never_worse_than_what_competes_there(freed):
    """Constants, each best single feature and the test that was there, under one score."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, goes_right, weight = problem_of(rng, 120, 4, ties=seed % 2 == 0)
        start = Split.from_dense(rng.normal(size=4), 0.0)
        problem = NodeProblem(
            np.arange(120), goes_right, weight, 0.4, warm_start=start, freed=freed
        )
        found, status = Exact().bind(X).solve(problem)
        rivals = [start, Split.constant(True), Split.constant(False)]
        for j, sign in itertools.product(range(4), (1.0, -1.0)):
            values = np.unique(sign * X[:, j])
            rivals += [
                Split(np.array([j], np.int32), np.array([sign]), float(value)) for value in values
            ]
        assert status.converged
        least = min(score_of(split, X, problem) for split in rivals)
        assert score_of(found, X, problem) <= least + 1e-9


def test_the_price_of_a_constant_is_what_it_frees():
    problem = NodeProblem(np.arange(2), np.array([True, False]), np.ones(2), 0.5, freed=(3, 8))
    assert problem.price(Split.constant(goes_left=True)) == -4.0
    assert problem.price(Split.constant(goes_left=False)) == -1.5
    assert problem.price(Split.from_dense(np.array([2.0, 0.0, 1.0]), 0.0)) == 2.0


def test_dense_sparse_and_single_precision_agree():
    rng = np.random.default_rng(1)
    X, goes_right, weight = problem_of(rng, 300, 6)
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X.astype(np.float32).astype(np.float64))
    start = Split.from_dense(rng.normal(size=6), 0.0)
    problem = NodeProblem(np.arange(300), goes_right, weight, 0.5, warm_start=start, freed=(1, 1))
    dense, single, sparse = (
        Exact().bind(form).solve(problem)[0] for form in (X, X.astype(np.float32), sp.csr_matrix(X))
    )
    assert dense.same_as(sparse)
    assert score_of(single, X, problem) == pytest.approx(score_of(dense, X, problem), rel=0.05)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_of_columns_do_not_matter(scale):
    rng = np.random.default_rng(2)
    X, goes_right, weight = problem_of(rng, 200, 3)
    start = rng.normal(size=3)
    scores = []
    for unit in (1.0, scale):
        problem = NodeProblem(
            np.arange(200),
            goes_right,
            weight,
            0.5,
            warm_start=Split.from_dense(start / unit, 0.0),
            freed=(1, 1),
        )
        found, _ = Exact().bind(unit * X).solve(problem)
        scores.append(score_of(found, unit * X, problem))
    assert scores[1] == pytest.approx(scores[0], rel=0.05)


def test_many_rows_are_proposed_a_test_by_a_sample_and_judge_it():
    rng = np.random.default_rng(3)
    X, goes_right, weight = problem_of(rng, 9000, 5)
    start = Split.from_dense(rng.normal(size=5), 0.0)
    problem = NodeProblem(np.arange(9000), goes_right, weight, 5.0, warm_start=start, freed=(1, 1))
    found, _ = Exact().bind(X).solve(problem)
    assert score_of(found, X, problem) < 0.7 * score_of(start, X, problem)


# ---------------------------------------------------------------- single features


def best_by_trying(X, steps):
    """Least loss of a test of one feature, either way round, at values of rows."""
    losses = [0.0, steps.sum()]
    for column in X.T:
        sums = [steps[column <= value].sum() for value in np.unique(column)]
        losses += sums + [steps.sum() - total for total in sums]
    return min(losses)


@pytest.mark.parametrize("n_values", [3, 50, 10_000])
@pytest.mark.parametrize("form", [np.asarray, np.float32, np.asfortranarray, sp.csr_matrix])
def test_a_cut_between_bins_is_nearly_the_best_and_with_few_values_the_best(form, n_values):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(900, 4)) * n_values / 6) * (rng.random((900, 4)) < 0.7)
        noise = 0.5 * X.std() * rng.normal(size=900)
        goes_right, rows = X[:, 2] + noise > 0.2 * X.std(), np.arange(0, 900, 2)
        steps = np.where(goes_right, 1.0, -1.0)[rows] * rng.integers(1, 5, len(rows))
        least, values = best_by_trying(X[rows], steps), kernel_arrays(X)
        for is_refined, share in ((False, 0.03), (True, 0.01)):
            split = BinnedColumns.from_matrix(form(X)).best_cut(rows, steps, is_refined=is_refined)
            found = project(values, rows, split.indices, split.weights) <= split.threshold
            slack = 0.0 if n_values < 200 else share * np.abs(steps).sum()
            assert least - 1e-9 <= steps[found].sum() <= least + slack + 1e-9


def test_only_some_features_may_get_a_weight():
    rng = np.random.default_rng(5)
    X, goes_right, weight = problem_of(rng, 300, 6)
    start = Split.from_dense(rng.normal(size=6), 0.0)
    terms = (np.arange(300), goes_right, weight, 0.1)
    problem = NodeProblem(*terms, warm_start=start, freed=(1, 1), features=np.array([1, 4]))
    split, _ = Exact().bind(X).solve(problem)
    assert len(split.indices)
    assert np.all(np.isin(split.indices, [1, 4]))


@pytest.mark.parametrize("seed", range(5))
def test_wide_sparse_rows_have_the_cuts_of_dense_ones(seed):
    """Of more than a few features, only those that can be the best are tried; ties included."""
    rng = np.random.default_rng(seed)
    X = np.round(3 * rng.random((80, 150))) * (rng.random((80, 150)) < 0.08)
    X[:, 100:] = X[:, :50]  # equal features: the first of them is taken
    dense, sparse = BinnedColumns.from_matrix(X), BinnedColumns.from_matrix(sp.csr_matrix(X))
    for n in (5, 30, 80):
        rows = np.sort(rng.choice(80, n, replace=False))
        steps = rng.integers(-2, 3, n).astype(float)
        for price in (0.0, 2.0):
            expected = dense.best_cut(rows, steps, price=price)
            found = sparse.best_cut(rows, steps, price=price)
            assert (found is None) == (expected is None)
            assert found is None or found.same_as(expected)
