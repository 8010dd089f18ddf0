"""Objectives and penalties against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from tao_cluster.objectives import (
    AlternatingClustering,
    ByDistances,
    KMeans,
    KMedians,
    KMedoids,
    SphericalKMeans,
)
from tao_cluster.saving.values import PARTS

# Also those that are added later: every objective of the library that a file can hold.
OBJECTIVES = [part() for part in PARTS.values() if ByDistances in part.__mro__]


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overflow_is_told(dtype):
    X = np.eye(3, dtype=dtype) * np.sqrt(np.finfo(dtype).max) * 2
    with pytest.raises(ValueError, match=r"overflow float\d\d; rescale the data\."):
        KMeans().prepare(X)


# ---------------------------------------------------------------- other objectives

FORMS = [np.asarray, np.float32, sp.csr_matrix, sp.csr_array]


@pytest.mark.parametrize("form", FORMS)
def test_spherical_is_what_it_says(problem, form):
    X, centers, labels, weight = problem
    objective, rtol = SphericalKMeans(), 1e-5 if form is np.float32 else 1e-10
    data = objective.prepare(form(X))
    expected = cdist(X, centers, "cosine")
    np.testing.assert_allclose(objective.distances(data, centers), expected, rtol=rtol, atol=1e-6)
    assert objective.value(data, labels, weight, centers) == pytest.approx(
        weight @ expected[np.arange(len(X)), labels], rel=rtol
    )
    updated = objective.update_centers(data, labels, weight, centers)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for k in range(3):
        total = weight[labels == k] @ unit[labels == k]
        np.testing.assert_allclose(updated[k], total / np.linalg.norm(total), atol=1e-6)
    np.testing.assert_array_equal(updated[3], centers[3])  # no rows: kept


def test_spherical_needs_directions(rng):
    X = rng.normal(size=(6, 3))
    X[[2, 4]] = 0
    for form in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match=r"2 of 6 rows .*the first is row 2"):
            SphericalKMeans().prepare(form(X))
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    objective = SphericalKMeans()
    kept = objective.update_centers(
        objective.prepare(opposite), np.zeros(2, int), np.ones(2), np.array([[0.0, 1.0]])
    )
    np.testing.assert_array_equal(kept, [[0.0, 1.0]])  # directions that cancel
    nearly = np.array([[0.1, 0.3], [-0.3, -0.9]])  # up to rounding
    kept = objective.update_centers(
        objective.prepare(nearly), np.zeros(2, int), np.ones(2), np.array([[0.0, 1.0]])
    )
    np.testing.assert_array_equal(kept, [[0.0, 1.0]])


def weighted_median(values, weight):
    """Least value with half of the weight at or below it."""
    order = np.argsort(values)
    return values[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2 - 1e-9)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("density", [1.0, 0.6, 0.1])
def test_kmedians_is_what_it_says(rng, form, density):
    X = rng.integers(-3, 4, (800, 6)) * (rng.random((800, 6)) < density)
    X, centers = X.astype(float), rng.normal(size=(4, 6))
    labels, weight = rng.integers(0, 3, 800), rng.integers(0, 4, 800).astype(float)
    objective = KMedians()
    data = objective.prepare(form(X))
    expected = cdist(X, centers, "cityblock")
    np.testing.assert_allclose(objective.distances(data, centers), expected, rtol=1e-6)
    updated = objective.update_centers(data, labels, weight, centers)
    for k in range(3):
        rows = labels == k
        medians = [weighted_median(column, weight[rows]) for column in X[rows].T]
        np.testing.assert_array_equal(updated[k], medians)
    np.testing.assert_array_equal(updated[3], centers[3])
    assert objective.value(data, labels, weight, centers) == pytest.approx(
        weight @ expected[np.arange(len(X)), labels]
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "callable"])
def test_medoids_are_the_best_rows(rng, metric):
    X, weight = rng.normal(size=(90, 4)), rng.integers(0, 3, 90).astype(float)
    labels, centers = rng.integers(0, 3, 90), rng.normal(size=(4, 4))

    def chebyshev(a, b):
        return np.abs(a - b).max()

    name = "chebyshev" if metric == "callable" else metric.replace("manhattan", "cityblock")
    full = cdist(X, X, name)
    objective = KMedoids(chebyshev if metric == "callable" else metric)
    for form in (np.asarray,) if metric == "callable" else (np.asarray, sp.csr_matrix):
        data = objective.prepare(form(X))
        updated = objective.update_centers(data, labels, weight, centers)
        for k in range(3):
            rows = np.flatnonzero((labels == k) & (weight > 0))
            sums = full[np.ix_(rows, rows)] @ weight[rows]
            np.testing.assert_array_equal(updated[k], X[rows[sums.argmin()]])
        np.testing.assert_array_equal(updated[3], centers[3])
        np.testing.assert_allclose(
            objective.distances(data, updated), cdist(X, updated, name), atol=1e-7
        )


def test_precomputed_dissimilarities_are_those_of_the_metric(rng):
    X = rng.normal(size=(60, 3))
    full = cdist(X, X, "cityblock")
    labels, weight = rng.integers(0, 3, 60), rng.random(60)
    plain, precomputed = KMedoids("manhattan"), KMedoids("precomputed")
    medoids = plain.update_centers(X, labels, weight, np.zeros((3, 3)))
    marks = precomputed.update_centers(full, labels, weight, np.zeros((3, 60)))
    np.testing.assert_array_equal(marks.sum(axis=1), 1)
    np.testing.assert_array_equal(X[marks.argmax(axis=1)], medoids)
    some = full[:7]  # rows against all columns
    np.testing.assert_allclose(precomputed.distances(some, marks), plain.distances(X[:7], medoids))
    model = AlternatingClustering(3, precomputed, random_state=0).fit(full)
    np.testing.assert_array_equal(model.predict(some), model.labels_[:7])


def test_medoids_refuse_what_is_no_dissimilarity(rng):
    X = rng.normal(size=(50, 7))

    def fit(metric, rows):
        return AlternatingClustering(3, KMedoids(metric), random_state=0).fit(rows)

    for rows in (X, np.abs(X), np.abs(X[:5])):
        with pytest.raises(ValueError, match=r"all rows to all rows|at least 0"):
            fit("precomputed", rows)
    with pytest.raises(ValueError, match="at least 0"):
        fit(lambda a, b: -1.0, X)
    with pytest.raises(ValueError, match="must be dense"):
        fit("precomputed", sp.csr_matrix(np.abs(X)))
    with pytest.raises(ValueError, match="parameters from the data"):
        fit("seuclidean", X)


@pytest.mark.parametrize("objective", [KMeans(), KMedians(), KMedoids(), KMedoids("sqeuclidean")])
def test_distances_keep_their_digits_far_from_the_origin(rng, objective):
    X = rng.normal(size=(200, 4))
    labels, weight = rng.integers(0, 3, 200), np.ones(200)
    values = []
    for shift in (0, 2.0**30):
        data = objective.prepare(X + shift)
        centers = objective.update_centers(data, labels, weight, X[:3] + shift)
        values.append(objective.value(data, labels, weight, centers))
    assert values[1] == pytest.approx(values[0], rel=1e-5)


@pytest.mark.parametrize("objective", [KMeans(), *OBJECTIVES], ids=repr)
def test_distinct_rows_as_centres_cost_nothing(rng, objective):
    points = rng.normal(size=(3, 5)) * 10
    X = np.repeat(points, 30, axis=0) * (rng.uniform(1, 2, (90, 1)) ** 0)
    model = AlternatingClustering(3, objective, random_state=0).fit(X)
    assert model.inertia_ == 0


# ---------------------------------------------------------------- the free clustering


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_no_single_change_of_centres_lowers_the_cost(digits, objective, init):
    X = digits[:300]
    model = AlternatingClustering(5, objective, init=init, n_init=3, random_state=0).fit(X)
    data, weight = objective.prepare(X), np.ones(300)
    assert model.inertia_ == pytest.approx(
        objective.value(data, model.labels_, weight, model.cluster_centers_)
    )
    centers = objective.update_centers(data, model.labels_, weight, model.cluster_centers_)
    again = objective.value(data, model.labels_, weight, centers)
    assert again == pytest.approx(model.inertia_, rel=1e-5)
    one = AlternatingClustering(5, objective, init=init, n_init=1, random_state=0).fit(X)
    assert model.inertia_ <= one.inertia_
    assert (np.bincount(model.labels_, minlength=5) > 0).all()


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_seeds_are_drawn_by_weight(rng, init):
    """Weight 2 draws as the row twice; rows without weight are never seeds."""
    X = rng.normal(size=(40, 3))
    weight = rng.integers(0, 4, 40)
    options = {"objective": KMeans(), "init": "k-means++", "n_init": 2, "random_state": 0}
    weighted = AlternatingClustering(4, **options).fit(X, sample_weight=weight)
    repeated = AlternatingClustering(4, **options).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    alone = np.zeros(40)
    alone[7] = 1
    only = AlternatingClustering(3, init=init, n_init=1, random_state=0).fit(X, None, alone)
    np.testing.assert_allclose(only.cluster_centers_[only.labels_[7]], X[7])
    assert only.inertia_ == 0


@pytest.mark.spaced(quick=5, slow=0)
@parametrize_with_checks([AlternatingClustering(3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix])
def test_kmeans_is_the_same_in_any_number_of_threads(rng, form):
    X, centers = rng.normal(size=(30_000, 7)), rng.normal(size=(4, 7))
    labels, weight = rng.integers(0, 4, len(X)), rng.random(len(X))
    objective = KMeans()
    data = objective.prepare(form(X))
    for n_jobs in (2, 3):
        threaded = objective.in_threads(data, n_jobs)
        np.testing.assert_array_equal(
            objective.distances(threaded, centers), objective.distances(data, centers)
        )
        np.testing.assert_array_equal(
            objective.update_centers(threaded, labels, weight, centers),
            objective.update_centers(data, labels, weight, centers),
        )


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sp.csr_matrix])
def test_the_nearest_of_k_means_is_the_first_of_its_least_distances(rng, form):
    X = rng.integers(0, 3, (9000, 4)).astype(float)
    objective, centers = KMeans(), X[:7]
    for n_jobs in (1, 2):
        data = objective.in_threads(objective.prepare(form(X)), n_jobs)
        expected = objective.distances(data, centers).argmin(axis=1)
        np.testing.assert_array_equal(objective.nearest(data, centers), expected)
