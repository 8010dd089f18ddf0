"""Samples of rows in blocks, and the free clustering of all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from tao_cluster.objectives import KMeans as KMeansCost
from tao_cluster.outofcore import blocks_of
from tao_cluster.outofcore.coreset import coreset, sensitivity_sample
from tao_cluster.outofcore.fit import free_inertia, lloyd
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


def test_lloyd_is_that_of_scikit_learn():
    start, tol = X[:10], 1e-4
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    expected = KMeans(10, init=start, n_init=1, tol=tol).fit(X, sample_weight=weight)
    source = read(in_parts(sp.csr_matrix(X), 250), weight=in_parts(weight, 250))
    centers, n_iter = lloyd(source, start, tol * X.var(axis=0).mean(), max_iter=300)
    assert n_iter == expected.n_iter_
    np.testing.assert_allclose(centers, expected.cluster_centers_, atol=1e-8)
    assert source.sum(free_inertia, centers) == pytest.approx(expected.inertia_)
