"""A weighted sample finds the tree; labels, centres and costs are those of all rows."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import assert_same_fit, rest_in_sweeps
from sklearn import cluster

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.objectives import KMeans, SphericalKMeans
from tao_cluster.optimize.algorithms import AxisAligned
from tao_cluster.reference import cost_increase

OBJECTIVES = {"kmeans": KMeans(), "spherical": SphericalKMeans()}
N_ROWS, SAMPLE = 600, 200
KINDS = {
    "oblique": {"lambda_": 2.0},
    "axis": {"split": "axis", "lambda_": 1.0},
    "penalty method": {"lambda_": 1.0, "algorithm": PenaltyMethod(n_mu_steps=4)},
    "spherical": {"objective": "spherical", "lambda_": 0.5},
}

# Some trees here are so small, or tests so dear, that clusters are lost.
pytestmark = pytest.mark.filterwarnings("ignore:The tree has lost")


@pytest.fixture(scope="module")
def digits(digits):
    return digits[:N_ROWS]


@pytest.fixture(scope="module")
def digits_reference(digits):
    return cluster.KMeans(10, n_init=10, random_state=0).fit(digits)


def fitted(X, reference, weight=None, *, max_rows="auto", relax=True, **parameters):
    """A fit whose sample has `max_rows` rows, by the direct form or what refines the algorithm."""
    algorithm = parameters.pop("algorithm", None)
    direct = DirectForm(max_rows=max_rows, relax=relax)
    if algorithm is None:
        algorithm = replace(direct, n_init=1)
    else:
        algorithm = replace(algorithm, n_init=1, refine=direct)
    options = {"depth": 4, "algorithm": algorithm, "reference": reference, "random_state": 0}
    options |= parameters
    return TAOClustering(10, **options).fit(X, sample_weight=weight)


def assert_exact(model, X, weight=None):
    """Labels, counts, centres and cost are those of the tree over all rows."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    labels = model.predict(X)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.node_counts_[0] == pytest.approx(weight.sum())
    objective = OBJECTIVES[model.objective]
    data = objective.prepare(X)
    centers = objective.update_centers(data, labels, weight, model.free_centers_)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    cost = objective.value(data, labels, weight, centers)
    assert model.inertia_ == pytest.approx(cost)
    assert model.cost_increase_ == pytest.approx(cost_increase(cost, model.free_inertia_))


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_in_sweeps(KINDS, "oblique", "axis"))
def test_result_is_exact_over_all_rows(digits, digits_reference, kind):
    options = {"max_rows": SAMPLE, **KINDS[kind]}
    reference = None if kind == "spherical" else digits_reference
    model = fitted(digits, reference, **options)
    assert_exact(model, digits)
    assert_same_fit(model, fitted(digits, reference, n_jobs=2, **options))


@pytest.mark.slow
def test_a_sample_of_all_rows_is_no_sample(digits, digits_reference):
    whole = fitted(digits, digits_reference, lambda_=2.0)
    other = fitted(digits, digits_reference, max_rows=N_ROWS, lambda_=2.0)
    assert_same_fit(whole, other)
    assert other.n_iter_ == whole.n_iter_


@pytest.mark.slow
def test_weights_and_absent_rows(digits, digits_reference):
    weight = np.random.default_rng(0).integers(0, 4, len(digits)).astype(float)
    options = {"split": "axis", "lambda_": 2.0, "max_rows": SAMPLE}
    model = fitted(digits, digits_reference, weight, **options)
    assert_exact(model, digits, weight)
    repeated = np.repeat(digits, weight.astype(int), axis=0)
    assert fitted(repeated, digits_reference, **options).tree_ == model.tree_


@pytest.mark.slow
def test_a_goal_is_met_by_all_rows(digits, digits_reference):
    options = {"split": "axis", "max_leaves": 20, "max_rows": SAMPLE}
    axis = fitted(digits, digits_reference, max_cost_increase=20.0, **options)
    assert axis.cost_increase_ <= 20
    sampled, whole = (
        fitted(digits, digits_reference, max_cost_increase=8.0, max_rows=rows)
        for rows in (SAMPLE, None)
    )
    assert sampled.cost_increase_ <= 8
    # In the user's units: what meets the goal on all rows is of the size of this lambda.
    assert 0.1 < sampled.best_lambda_ / whole.best_lambda_ < 10


def test_few_heavy_rows_keep_their_clusters(rng):
    """Rows about 0, and four with most of the weight, each the only row of a cluster."""
    corners = 30.0 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    X, weight = np.vstack([rng.normal(size=(1000, 3)), corners]), np.repeat([1, 1e4], [1000, 4])
    few = DirectForm(n_init=1, max_rows=100)
    model = TAOClustering(5, lambda_=5e3, depth=4, algorithm=few, random_state=0)
    model.fit(X, sample_weight=weight)
    assert len(set(model.labels_)) == 5
    assert model.cost_increase_ < 5


def test_a_sample_smaller_than_the_clusters_is_refused(digits):
    with pytest.raises(ValueError, match=r"max_rows=9 should be >= n_clusters=10"):
        TAOClustering(10, algorithm=DirectForm(max_rows=9)).fit(digits)
    with pytest.raises(ValueError, match="max_rows"):
        TAOClustering(10, algorithm=DirectForm(max_rows=0)).fit(digits)


@pytest.mark.slow
def test_auto_is_a_sample_of_many_rows(digits, digits_reference, monkeypatch):
    monkeypatch.setattr("tao_cluster.optimize.settings._MANY_ROWS", SAMPLE)
    monkeypatch.setattr("tao_cluster.optimize.settings._MANY_A_CLUSTER", 10)
    for split, max_rows in (("oblique", SAMPLE), ("axis", None)):
        options = {"split": split, "lambda_": 2.0}
        other = fitted(digits, digits_reference, max_rows=max_rows, **options)
        assert_same_fit(fitted(digits, digits_reference, **options), other)


RECORDED = {
    "lambda": {"lambda_": 2.0},
    "leaves": {"split": "axis", "max_leaves": 12},
    "values of rows": {"split": AxisAligned(midpoints=False), "max_cost_increase": 60.0},
    "penalty method": KINDS["penalty method"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_in_sweeps(RECORDED, "lambda", "leaves"))
def test_records_mark_costs_of_the_sample(digits, digits_reference, kind):
    model = fitted(digits, digits_reference, max_rows=SAMPLE, **RECORDED[kind])
    assert all(record["sampled"] for record in model.history_)
    other = fitted(digits, digits_reference, **RECORDED[kind])
    assert not any(record["sampled"] for record in other.history_)
