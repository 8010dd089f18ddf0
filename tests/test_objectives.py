"""Objectives and penalties against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from tao_cluster import Tree
from tao_cluster.objectives import KMeans, Objective
from tao_cluster.penalties import Penalty, ZeroOne


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(5000, 7))  # more than one block of rows
    return X, rng.normal(size=(4, 7)), rng.integers(0, 3, 5000), rng.random(5000)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array, np.float32])
def test_kmeans_is_what_it_says(problem, form):
    X, centers, labels, weight = problem
    objective, rtol = KMeans(), 1e-5 if form is np.float32 else 1e-10
    data = objective.prepare(form(X))
    expected = cdist(X, centers, "sqeuclidean")
    np.testing.assert_allclose(objective.distances(data, centers), expected, rtol=rtol, atol=1e-5)
    np.testing.assert_allclose(
        objective.value(data, labels, weight, centers),
        weight @ expected[np.arange(len(X)), labels],
        rtol=rtol,
    )
    updated = objective.update_centers(data, labels, weight, centers)
    for k in range(3):
        mean = np.average(X[labels == k], axis=0, weights=weight[labels == k])
        np.testing.assert_allclose(updated[k], mean, rtol=rtol, atol=1e-7)
    np.testing.assert_array_equal(updated[3], centers[3])  # no rows: kept


def test_kmeans_keeps_its_digits_far_from_the_origin(problem):
    X, centers, labels, weight = problem
    objective, shift = KMeans(), 1e6
    near, far = objective.prepare(X), objective.prepare(X + shift)
    np.testing.assert_allclose(
        objective.distances(far, centers + shift), objective.distances(near, centers), rtol=1e-6
    )
    np.testing.assert_allclose(
        objective.update_centers(far, labels, weight, centers + shift) - shift,
        objective.update_centers(near, labels, weight, centers),
        atol=1e-8,
    )


def test_rows_on_their_centres_cost_nothing(rng):
    X = rng.normal(size=(5, 3)) * 1e3
    objective = KMeans()
    data, labels, weight = objective.prepare(X), np.arange(5), np.ones(5)
    centers = objective.update_centers(data, labels, weight, X)
    assert objective.value(data, labels, weight, centers) == 0


def test_value_keeps_its_digits_on_tight_clusters_far_apart(rng):
    centers = rng.choice([-1e4, 1e4], (4, 3)) + rng.normal(size=(4, 3))
    labels = np.repeat(np.arange(4), 50)
    X = centers[labels] + 1e-4 * rng.normal(size=(200, 3))
    objective = KMeans()
    data, weight = objective.prepare(X), np.ones(200)
    found = objective.update_centers(data, labels, weight, centers)
    expected = ((X - found[labels]) ** 2).sum()
    assert objective.value(data, labels, weight, found) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overflow_is_told(dtype):
    X = np.eye(3, dtype=dtype) * np.sqrt(np.finfo(dtype).max) * 2
    with pytest.raises(ValueError, match=r"overflow float\d\d; rescale the data\."):
        KMeans().prepare(X)


def test_input_is_not_altered(problem):
    X, centers, labels, weight = problem
    before = [a.copy() for a in problem]
    objective = KMeans()
    data = objective.prepare(X)
    objective.distances(data, centers)
    objective.update_centers(data, labels, weight, centers)
    for a, b in zip(problem, before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_zero_one():
    penalty = ZeroOne()
    assert penalty.leaf(np.array([2, 0, 2]), np.array([1.0, 1.5, 1.0]), 4) == (2, None)
    assert penalty.leaf(np.array([2, 0]), np.ones(2), 4) == (0, None)  # tie: lowest cluster
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0, 0, 0], [-1, 2, 0], 1
    )
    table = penalty.table(tree, 3)
    np.testing.assert_array_equal(table[1:], [[1, 1, 0], [0, 1, 1]])


def test_protocols():
    assert isinstance(KMeans(), Objective)
    assert isinstance(ZeroOne(), Penalty)
