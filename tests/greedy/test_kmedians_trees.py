"""IMM, ExGreedy, ExShallow and DPTree for k-medians: fits against plain code, and the bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from greedy import IMM, DPTree, ExGreedy, ExShallow, build_exgreedy, build_exshallow, build_imm
from tao_cluster.objectives import AlternatingClustering, KMedians

METHODS = [IMM, ExGreedy, ExShallow, DPTree]


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    return request.param


def medians(X, labels, weight, centers):
    """Lower weighted medians, from the rows repeated; clusters without rows keep their centres."""
    out = centers.copy()
    for k in range(len(centers)):
        rows = np.repeat(X[labels == k], weight[labels == k], axis=0)
        if len(rows):
            out[k] = np.sort(rows, axis=0)[(len(rows) - 1) // 2]
    return out


def l1_cost(X, labels, weight, centers):
    return weight @ np.abs(X - centers[labels]).sum(axis=1)


def test_a_fit_is_told_in_l1_distances(method, rng):
    X, weight = np.round(rng.normal(size=(300, 4)), 1), rng.integers(0, 3, 300)
    model = method(5, objective="kmedians", random_state=0).fit(X, sample_weight=weight)
    centers = model.cluster_centers_
    present = weight > 0
    np.testing.assert_array_equal(
        centers, medians(X[present], model.labels_[present], weight[present], model.free_centers_)
    )
    assert model.inertia_ == pytest.approx(l1_cost(X, model.labels_, weight, centers))
    nearest = cdist(X, model.free_centers_, "cityblock")
    np.testing.assert_array_equal(model.free_labels_, nearest.argmin(axis=1))
    assert model.free_inertia_ == pytest.approx(weight @ nearest.min(axis=1))
    surrogate = l1_cost(X, model.labels_, weight, model.free_centers_)
    assert model.surrogate_score(X, sample_weight=weight) == pytest.approx(-surrogate)
    assert surrogate >= model.inertia_
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_)
    np.testing.assert_allclose(model.transform(X), cdist(X, centers, "cityblock"))
    increase = 100 * (model.inertia_ / model.free_inertia_ - 1)
    assert model.cost_increase_ == pytest.approx(increase)


def test_the_reference_is_a_clustering_by_medians(method):
    X = load_iris().data
    reference = AlternatingClustering(3, KMedians(), random_state=0).fit(X)
    options = {"objective": "kmedians"}
    ours = method(3, random_state=0, **options).fit(X)
    assert ours.free_inertia_ <= 1.01 * reference.inertia_
    given = method(3, reference=reference, **options).fit(X)
    array = method(3, reference=reference.cluster_centers_, **options).fit(X)
    assert given.tree_ == array.tree_
    assert given.free_inertia_ == pytest.approx(reference.inertia_)


def test_forms_of_the_input_change_nothing(method, digits):
    X = np.round(digits[:500] * 16)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    reference = AlternatingClustering(6, KMedians(), n_init=1, random_state=0).fit(X)
    options = {"objective": "kmedians", "reference": reference.cluster_centers_}
    model = method(6, **options).fit(X, sample_weight=weight)
    for form in (sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        other = method(6, n_jobs=2, **options).fit(form, sample_weight=weight)
        assert other.tree_ == model.tree_
        assert other.inertia_ == pytest.approx(model.inertia_)
    repeated = method(6, **options).fit(np.repeat(X, weight, axis=0))
    assert repeated.tree_ == model.tree_
    assert repeated.inertia_ == pytest.approx(model.inertia_)


def test_an_embedding_is_clustered_by_l1_distances(method, digits):
    X = digits[:300]
    low = PCA(3, random_state=0).fit_transform(X)
    model = method(4, objective="kmedians", random_state=0).fit(X, embedding=low)
    nearest = cdist(low, model.free_centers_, "cityblock")
    np.testing.assert_array_equal(model.free_labels_, nearest.argmin(axis=1))
    own = cdist(low, model.cluster_centers_, "cityblock")[np.arange(300), model.labels_]
    assert model.inertia_ == pytest.approx(own.sum())
    assert model.tree_.n_features == 64


def test_another_row_far_away_moves_medians_little(method):
    """Heavy tails are what medians are for: the tree stays in the bulk of the data."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 12])
    reference = AlternatingClustering(2, KMedians(), random_state=0).fit(X)
    far = np.vstack([X, [[4000.0, -4000.0]]])
    model = method(2, objective="kmedians", reference=reference).fit(far)
    assert model.tree_.n_leaves == 2
    assert 2 < model.tree_.threshold[0] < 10


@pytest.mark.parametrize("build", [build_imm, build_exgreedy, build_exshallow])
def test_the_objective_decides_who_is_nearest(build):
    """(0, 0) is nearer to (3, 3) in Euclidean distance, nearer to (5, 0) in L1 distance."""
    X = np.array([[3.0, 3.0], [5.0, 0.0], [0.0, 0.0]])
    for objective, cluster in (("kmeans", 0), ("kmedians", 1)):
        tree = build(X, X[:2], objective=objective)
        np.testing.assert_array_equal(tree.predict(X), [0, 1, cluster])


def test_imm_keeps_its_bound():
    """Theorem of Moshkovitz et al. (2020) for k-medians: 1 + depth times the reference."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, d, k = rng.integers(20, 100), rng.integers(1, 5), rng.integers(2, 9)
        X = rng.standard_cauchy((n, d))
        centers = X[rng.choice(n, k, replace=False)]
        distances = cdist(X, centers, "cityblock")
        tree = build_imm(X, centers, objective="kmedians")
        cost = distances[np.arange(n), tree.predict(X)].sum()
        assert cost <= (1 + 2 * tree.max_depth) * distances.min(axis=1).sum()
