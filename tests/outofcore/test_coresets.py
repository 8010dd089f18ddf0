"""Samples of rows in blocks, and the free clustering of all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from tao_cluster.objectives import KMeans as KMeansCost
from tao_cluster.objectives import SphericalKMeans
from tao_cluster.outofcore import blocks_of
from tao_cluster.outofcore.coreset import all_rows, coreset, sensitivity_sample, uniforms
from tao_cluster.outofcore.passes import free_inertia, lloyd
from tao_cluster.outofcore.statistics import AllRows, ColumnStatistics
from tao_cluster.problem.scaling import ClusteringSpace
from tao_cluster.reference import nearest_center

X = load_digits().data


def in_parts(X, size):
    return [X[start : start + size] for start in range(0, X.shape[0], size)]


def read(parts, objective=None, n_clusters=10, weight=None):
    """All rows of some parts."""
    blocks = blocks_of(parts, weight)
    space = ClusteringSpace(objective or KMeansCost(), False, None, None)
    return AllRows(blocks, ColumnStatistics.from_blocks(blocks, n_clusters).reader(space))


def cost(X, weight, centers):
    objective = KMeansCost()
    data = objective.prepare(X)
    labels = nearest_center(objective, data, centers)
    return objective.value(data, labels, weight, centers)


def test_numbers_of_rows_are_uniform_and_their_own():
    first, other = uniforms(np.arange(100_000), 0), uniforms(np.arange(100_000), 1)
    for some in (first, other):
        assert 0 < some.min() < some.max() < 1
        assert np.histogram(some, 20, (0, 1))[0].std() < 4 * np.sqrt(5000 / 20 * 19)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.02
    np.testing.assert_array_equal(uniforms(np.arange(50, 60), 0), first[50:60])


def test_a_sample_stands_for_all_rows():
    rng = np.random.default_rng(0)
    source = read(in_parts(X, 300))
    seen = []
    for seed in range(20):
        rows, _, weight = sensitivity_sample(source, X[::90], 400, seed)
        assert 300 < len(weight) < 500
        assert weight.sum() == pytest.approx(len(X))
        centers = X[rng.choice(len(X), 10)]
        seen.append(cost(rows, weight, centers) / cost(X, np.ones(len(X)), centers))
    assert np.abs(np.array(seen) - 1).max() < 0.15
    assert abs(np.mean(seen) - 1) < 0.02


def test_clusters_of_a_sample_weigh_what_they_do():
    source = read(in_parts(X, 300))
    centers = X[::90]
    rows, _, weight = sensitivity_sample(source, centers, 400, 0)
    objective = KMeansCost()
    of_all = np.bincount(nearest_center(objective, objective.prepare(X), centers))
    of_some = nearest_center(objective, objective.prepare(rows), centers)
    np.testing.assert_allclose(np.bincount(of_some, weight), of_all)


def test_small_clusters_have_many_rows_in_a_sample():
    rng = np.random.default_rng(0)
    many, few = rng.normal(size=(50_000, 3)), 30 + rng.normal(size=(10, 3))
    rows = rng.permutation(np.vstack([many, few]))
    source = read(in_parts(rows, 7000), n_clusters=3)
    for seed in range(5):
        some, _, weight = coreset(source, rows.mean(axis=0), 3, 600, np.random.RandomState(seed))
        is_few = some[:, 0] > 15
        assert is_few.sum() == 10
        assert weight[is_few].sum() == pytest.approx(10)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_samples_do_not_depend_on_blocks(kind):
    rows = kind(X)
    found = []
    for size in (100, 450, len(X)):
        source = read(in_parts(rows, size))
        found.append(coreset(source, X.mean(axis=0), 10, 400, np.random.RandomState(0)))
    for some, _, weight in found[1:]:
        assert abs(some - found[0][0]).max() == 0
        np.testing.assert_allclose(weight, found[0][2], rtol=1e-9)


def test_all_rows_are_a_sample_too():
    source = read(in_parts(X, 100))
    rows, space, weight = all_rows(source, X.mean(axis=0))
    np.testing.assert_array_equal(rows, X)
    assert space is None
    assert (weight == 1).all()


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_lloyd_is_that_of_scikit_learn(kind, weighted):
    start, tol = X[:10], 1e-4
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float) if weighted else None
    expected = KMeans(10, init=start, n_init=1, tol=tol).fit(kind(X), sample_weight=weight)
    parts = None if weight is None else in_parts(weight, 250)
    source = read(in_parts(kind(X), 250), weight=parts)
    centers, n_iter = lloyd(source, start, tol * X.var(axis=0).mean(), max_iter=300)
    assert n_iter == expected.n_iter_
    np.testing.assert_allclose(centers, expected.cluster_centers_, atol=1e-8)
    assert source.sum(free_inertia, centers) == pytest.approx(expected.inertia_)


def test_lloyd_of_directions_lowers_their_cost():
    objective = SphericalKMeans()
    source = read(in_parts(X, 250), objective)
    start = objective.update_centers(objective.prepare(X[:10]), np.arange(10), np.ones(10), X[:10])
    costs = []
    for n in (1, 3, 300):
        centers, _ = lloyd(source, start, 0.0, max_iter=n)
        costs.append(source.sum(free_inertia, centers))
        np.testing.assert_allclose((centers**2).sum(axis=1), 1)
    assert costs[0] > costs[1] > costs[2]
    data = objective.prepare(X)
    labels = nearest_center(objective, data, centers)
    fixed = objective.update_centers(data, labels, np.ones(len(X)), centers)
    np.testing.assert_allclose(fixed, centers, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_moments_are_those_of_all_rows(kind):
    rng = np.random.default_rng(0)
    rows, weight = X * rng.uniform(1, 100, X.shape[1]), rng.uniform(0, 2, len(X))
    weight[::7] = 0
    look = ColumnStatistics.from_blocks(
        blocks_of(in_parts(kind(rows), 77), in_parts(weight, 77)), 2
    )
    mean = np.average(rows, axis=0, weights=weight)
    np.testing.assert_allclose(look.moments.mean, mean, rtol=1e-12)
    variance = np.average((rows - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(look.moments.squares / look.moments.weight, variance, rtol=1e-9)
    assert sum(look.counts) == len(X)
    assert look.n_present == (weight > 0).sum()
