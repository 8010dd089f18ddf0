"""A weighted sample finds the tree, and passes over all rows improve it and make it exact."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit, make_search, rest_in_sweeps
from sklearn import cluster

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, tao_path
from tao_cluster.objectives import KMeans, KMedians, SphericalKMeans
from tao_cluster.optimize.algorithms import AxisAligned
from tao_cluster.reference import cost_increase

OBJECTIVES = {"kmeans": KMeans(), "spherical": SphericalKMeans(), "kmedians": KMedians()}
N_ROWS, SAMPLE = 600, 200
KINDS = {
    "oblique": {"lambda_": 2.0},
    "axis": {"split": "axis", "lambda_": 1.0},
    "penalty method": {"lambda_": 1.0, "algorithm": PenaltyMethod(n_mu_steps=4)},
    "histograms": {"lambda_": 1.0, "algorithm": PenaltyMethod(n_mu_steps=4, penalty="squared")},
    "liblinear": {"algorithm": PenaltyMethod(n_mu_steps=4, node_solver="liblinear")},
    "spherical": {"objective": "spherical", "lambda_": 0.5},
    "medians": {"objective": "kmedians", "lambda_": 2.0},
    "goal in cost": {"max_cost_increase": 12.0},
    "goal in size": {"max_parameters": 50},
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


def lambdas_of(model):
    return [record["lambda"] for record in model.history_ if record["stage"] == "polish"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_in_sweeps(KINDS, "oblique", "axis"))
def test_result_is_exact_over_all_rows(digits, digits_reference, kind):
    options = {"max_rows": SAMPLE, **KINDS[kind]}
    reference = None if kind in {"spherical", "medians"} else digits_reference
    model = fitted(digits, reference, **options)
    assert_exact(model, digits)
    stages = [record["stage"] for record in model.history_]
    if "goal" in kind:  # once a lambda, and again what the search makes of the tree that is chosen
        assert 0 <= stages.count("polish") - len(set(lambdas_of(model))) <= 1
    else:
        assert stages.index("polish") == len(stages) - 1
    assert_same_fit(model, fitted(digits, reference, n_jobs=2, **options))


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_in_sweeps(["oblique", "axis", "goal in cost"], "oblique"))
def test_a_sample_of_all_rows_is_no_sample(digits, digits_reference, kind):
    whole = fitted(digits, digits_reference, **KINDS[kind])
    other = fitted(digits, digits_reference, max_rows=N_ROWS, **KINDS[kind])
    assert_same_fit(whole, other)
    assert other.n_iter_ == whole.n_iter_
    assert "polish" not in {record["stage"] for record in other.history_}


@pytest.mark.slow
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_weights_and_absent_rows(digits, digits_reference, split):
    weight = np.random.default_rng(0).integers(0, 4, len(digits)).astype(float)
    options = {"split": split, "lambda_": 2.0, "max_rows": SAMPLE}
    model = fitted(digits, digits_reference, weight, **options)
    assert_exact(model, digits, weight)
    repeated = np.repeat(digits, weight.astype(int), axis=0)
    assert fitted(repeated, digits_reference, **options).tree_ == model.tree_


@pytest.mark.slow
def test_sparse_rows_give_the_tree_of_dense_ones(digits, digits_reference):
    dense, sparse = (
        fitted(X, digits_reference, lambda_=2.0, max_rows=SAMPLE)
        for X in (digits, sp.csr_matrix(digits))
    )
    assert_exact(sparse, sp.csr_matrix(digits))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)


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


@pytest.mark.sweep
def test_a_path(digits, digits_reference):
    options = {"depth": 4, "reference": digits_reference, "random_state": 0}
    lambdas = [0.5, 2.0, 8.0]
    models = tao_path(digits, 10, lambdas, algorithm=DirectForm(max_rows=SAMPLE), **options)
    assert [model.lambda_ for model in models] == lambdas
    assert [model.best_lambda_ for model in models] == lambdas
    for model in models:
        assert_exact(model, digits)
    sizes = [model.tree_.n_parameters for model in models]
    assert sizes[0] > sizes[-1]
    assert lambdas_of(models[-1]) == lambdas


@pytest.mark.slow
def test_labels_embeddings_and_rows_held_out(digits, digits_reference):
    labels = TAOClustering(
        10, objective="labels", lambda_=1.0, algorithm=DirectForm(max_rows=SAMPLE), random_state=0
    )
    labels.fit(digits, digits_reference.labels_)
    assert (labels.labels_ == digits_reference.labels_).mean() > 0.6
    embedding = digits @ np.random.default_rng(0).normal(size=(64, 3))
    few = DirectForm(n_init=1, max_rows=SAMPLE)
    options = {"lambda_": 5.0, "depth": 4, "algorithm": few, "random_state": 0}
    model = TAOClustering(5, **options).fit(digits, embedding=embedding)
    assert model.cost_increase(digits, embedding=embedding) == pytest.approx(model.cost_increase_)
    model = fitted(digits, None, max_parameters=80, validation=0.3, max_rows=SAMPLE, random_state=1)
    assert_exact(model, digits)
    assert model.tree_.n_parameters <= 80


def test_few_heavy_rows_keep_their_clusters(rng):
    """Rows about 0, and four with most of the weight, each the only row of a cluster."""
    corners = 30.0 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    X, weight = np.vstack([rng.normal(size=(1000, 3)), corners]), np.repeat([1, 1e4], [1000, 4])
    few = DirectForm(n_init=1, max_rows=100)
    model = TAOClustering(5, lambda_=5e3, depth=4, algorithm=few, random_state=0)
    model.fit(X, sample_weight=weight)
    assert len(set(model.labels_)) == 5
    assert model.cost_increase_ < 5


@pytest.mark.slow
def test_passes_over_all_rows_lower_the_cost(digits, digits_reference):
    options = {"lambda_": 4.0, "max_rows": 200}
    plain = fitted(digits, digits_reference, relax=False, **options)
    *_, last, polished = plain.history_
    assert last["lambda"] == polished["lambda"] == plain.best_lambda_ == 4.0
    assert_exact(plain, digits)
    model = fitted(digits, digits_reference, **options)
    assert model.inertia_ < plain.inertia_


@pytest.mark.slow
def test_a_sample_may_miss_a_cluster(digits, digits_reference):
    model = fitted(digits, digits_reference, split="axis", lambda_=0.1, max_rows=12)
    assert_exact(model, digits)


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree costs")
def test_only_the_knee_is_improved_by_all_rows(digits, digits_reference):
    model = fitted(digits, digits_reference, max_rows=SAMPLE)
    assert_exact(model, digits)
    assert lambdas_of(model) == [model.best_lambda_]


RECORDED = {
    "lambda": {"lambda_": 2.0},
    "leaves": {"split": "axis", "max_leaves": 12},
    "knee": {"split": "axis"},
    "parameters": {"split": "axis", "max_parameters": 40},
    "values of rows": {"split": AxisAligned(midpoints=False), "max_cost_increase": 60.0},
    "penalty method": KINDS["penalty method"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_in_sweeps(RECORDED, "lambda", "leaves", "knee"))
def test_records_mark_costs_of_the_sample(digits, digits_reference, kind):
    model = fitted(digits, digits_reference, max_rows=SAMPLE, **RECORDED[kind])
    whole = [r for r in model.history_ if r["stage"] == "polish"]
    assert not any(record["sampled"] for record in whole)
    assert whole
    assert all(record["sampled"] for record in model.history_ if record not in whole)
    other = fitted(digits, digits_reference, **RECORDED[kind])
    assert not any(record["sampled"] for record in other.history_)


def test_a_pilot_sample_has_the_number_of_rows_that_it_is_asked_for():
    X = np.random.default_rng(0).normal(size=(300, 2))
    search = make_search(X, 2)
    for n_rows in (100, 20, 100, 151):
        pilot = search.pilot(n_rows, 0)
        assert (pilot is search) if n_rows > 150 else abs(pilot.problem.n_rows - n_rows) <= 20
    assert search.pilot(20, 0) is search.pilot(20, 0) is not search.pilot(100, 0)
