"""Swaps of centres for rows: the change of the cost, and where they end."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from tao_cluster.objectives import AlternatingClustering, KMedians, KMedoids
from tao_cluster.objectives.alternating import swap_changes

METRICS = {KMedoids(): "euclidean", KMedians(): "cityblock"}


def cost_of(X, centers, weight, metric):
    return weight @ cdist(X, centers, metric).min(axis=1)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_changes_are_those_of_the_cost(rng, k):
    X, weight = rng.normal(size=(60, 3)), rng.integers(0, 4, 60).astype(float)
    centers, candidates = rng.normal(size=(k, 3)), X[:7]
    ranked = np.sort(np.column_stack([cdist(X, centers), np.full(60, np.inf)]), axis=1)
    nearest = cdist(X, centers).argmin(axis=1)
    args = (nearest, ranked[:, 0].copy(), ranked[:, 1].copy(), weight, k)
    found = swap_changes(cdist(X, candidates), *args)
    before = cost_of(X, centers, weight, "euclidean")
    for i in range(k):
        for c in range(7):
            swapped = centers.copy()
            swapped[i] = candidates[c]
            after = cost_of(X, swapped, weight, "euclidean")
            assert found[i, c] == pytest.approx(after - before, abs=1e-9)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
def test_no_swap_of_a_medoid_lowers_the_cost(rng, form):
    X, weight = rng.normal(size=(150, 4)), rng.integers(0, 4, 150).astype(float)
    model = KMedoids(n_init=2).reference(5, 0).fit(form(X), sample_weight=weight)
    X = X.astype(np.float32).astype(float) if form is np.float32 else X
    cost = cost_of(X, model.cluster_centers_, weight, "euclidean")
    assert model.inertia_ == pytest.approx(cost, rel=1e-5)
    for i in range(5):
        for row in np.flatnonzero(weight):
            swapped = model.cluster_centers_.copy()
            swapped[i] = X[row]
            assert cost_of(X, swapped, weight, "euclidean") >= cost * (1 - 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("objective", METRICS, ids=lambda objective: type(objective).__name__)
def test_swaps_find_more_than_restarts(digits, objective):
    plain = AlternatingClustering(10, objective, n_init=objective.n_init, random_state=0)
    assert objective.reference(10, 0).fit(digits).inertia_ < plain.fit(digits).inertia_


@pytest.mark.parametrize("objective", METRICS, ids=lambda objective: type(objective).__name__)
def test_weights_are_repeated_rows(rng, objective):
    X, weight = rng.normal(size=(80, 3)).round(1), rng.integers(0, 4, 80)
    weighted = objective.reference(4, 0).fit(X, sample_weight=weight)
    repeated = objective.reference(4, 0).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


def test_no_swap_lowers_the_cost_of_precomputed_dissimilarities(rng):
    X = rng.normal(size=(70, 3))
    full = cdist(X, X)
    marked = KMedoids("precomputed").reference(4, 0).fit(full)
    medoids = marked.cluster_centers_.argmax(axis=1)
    assert marked.inertia_ == pytest.approx(full[:, medoids].min(axis=1).sum())
    others = [np.where(np.arange(4) == i, row, medoids) for i in range(4) for row in range(70)]
    costs = [full[:, columns].min(axis=1).sum() for columns in others]
    assert min(costs) >= marked.inertia_ * (1 - 1e-9)


@pytest.mark.parametrize("objective", METRICS, ids=lambda objective: type(objective).__name__)
def test_what_is_degenerate_has_its_clusters(objective):
    for X, k, cost in (
        (np.ones((6, 2)), 2, 0.0),
        (np.ones((1, 2)), 1, 0.0),
        (np.arange(4.0)[:, None], 4, 0.0),
        (np.arange(3.0)[:, None], 1, 2.0),
    ):
        assert objective.reference(k, 0).fit(X).inertia_ == cost


def test_the_search_goes_on_until_all_blocks_are_of_no_use(rng):
    X = rng.normal(size=(900, 3))  # many blocks, and swaps in the last open ways in the first
    centers = KMedoids(n_init=1).reference(40, 0).fit(X).cluster_centers_
    ranked = np.sort(cdist(X, centers), axis=1)
    nearest = cdist(X, centers).argmin(axis=1)
    args = (nearest, ranked[:, 0].copy(), ranked[:, 1].copy(), np.ones(900), 40)
    assert swap_changes(cdist(X, X), *args).min() >= -1e-6 * ranked[:, 0].sum()
