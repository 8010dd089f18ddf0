"""A sample finds the tree, and one pass over all rows makes it exact."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_search, random_tree, rest_in_sweeps
from sklearn.cluster import KMeans

from tao_cluster import PenaltyMethod, TAOClustering, tao_path
from tao_cluster.optimize.descent.polish import Thresholds, polish, polishing_search
from tao_cluster.optimize.state import History
from tao_cluster.reference import cost_increase
from tao_cluster.solvers import NodeProblem
from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_view

N_ROWS, SAMPLE = 900, 300
KINDS = {
    "oblique": {"lambda_": 2.0},
    "axis": {"split": "axis", "lambda_": 1.0},
    "penalty method": {"lambda_": 1.0, "algorithm": PenaltyMethod(n_mu_steps=8)},
    "histograms": {"lambda_": 1.0, "algorithm": PenaltyMethod(n_mu_steps=8), "penalty": "squared"},
    "liblinear": {"algorithm": "penalty", "node_solver": "liblinear", "refine": False},
    "spherical": {"objective": "spherical", "lambda_": 0.5},
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
    return KMeans(10, n_init=10, random_state=0).fit(digits)


def fitted(X, reference, weight=None, **parameters):
    options = {"depth": 4, "n_init": 2, "reference": reference, "random_state": 0} | parameters
    return TAOClustering(10, **options).fit(X, sample_weight=weight)


def assert_exact(model, X, weight=None):
    """Labels, counts, centres and cost are those of the tree over all rows."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    labels = model.predict(X)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.node_counts_[0] == pytest.approx(weight.sum())
    objective = model._method().objective
    data = objective.prepare(X)
    centers = objective.update_centers(data, labels, weight, model.free_centers_)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    cost = objective.value(data, labels, weight, centers)
    assert model.inertia_ == pytest.approx(cost)
    assert model.cost_increase_ == pytest.approx(cost_increase(cost, model.free_inertia_))


def same(a, b):
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert a.tree_ == b.tree_
    assert a.cost_increase_ == b.cost_increase_


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_in_sweeps(KINDS, "oblique", "axis"))
def test_result_is_exact_over_all_rows(digits, digits_reference, kind):
    options = {"max_rows": SAMPLE, **KINDS[kind]}
    reference = None if kind == "spherical" else digits_reference
    model = fitted(digits, reference, **options)
    assert_exact(model, digits)
    stages = [record["stage"] for record in model.history_]
    assert stages[-1] == "polish"
    if "goal" in kind:  # once a lambda, and again what the search makes of the tree that is chosen
        assert 0 <= stages.count("polish") - len(set(lambdas_of(model))) <= 1
    else:
        assert stages.count("polish") == 1
    same(model, fitted(digits, reference, n_jobs=2, **options))


def lambdas_of(model):
    return [record["lambda"] for record in model.history_ if record["stage"] == "polish"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", rest_in_sweeps(["oblique", "axis", "penalty method", "goal in cost"], "oblique")
)
def test_a_sample_of_all_rows_is_no_sample(digits, digits_reference, kind):
    X, options = digits, KINDS[kind]
    whole = fitted(X, digits_reference, **options)
    for max_rows in (N_ROWS, 5000):
        other = fitted(X, digits_reference, max_rows=max_rows, **options)
        same(whole, other)
        assert other.n_iter_ == whole.n_iter_
        assert "polish" not in {record["stage"] for record in other.history_}


@pytest.mark.slow
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_weights_and_absent_rows(digits, digits_reference, split):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(digits)).astype(float)
    model = fitted(digits, digits_reference, weight, split=split, lambda_=2.0, max_rows=SAMPLE)
    assert_exact(model, digits, weight)
    repeated = np.repeat(np.arange(len(digits)), weight.astype(int))
    other = fitted(digits[repeated], digits_reference, split=split, lambda_=2.0, max_rows=SAMPLE)
    assert model.tree_ == other.tree_


@pytest.mark.slow
def test_sparse_rows_give_the_tree_of_dense_ones(digits, digits_reference):
    dense, sparse = (
        fitted(X, digits_reference, lambda_=2.0, max_rows=SAMPLE)
        for X in (digits, sp.csr_matrix(digits))
    )
    assert_exact(sparse, sp.csr_matrix(digits))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)


@pytest.mark.slow
def test_axis_aligned_thresholds_are_midpoints_of_all_rows(digits, digits_reference):
    tree = fitted(digits, digits_reference, split="axis", lambda_=1.0, max_rows=SAMPLE).tree_
    assert np.all(tree.split_weights == 1)
    visits = tree.decision_path(digits).toarray() > 0
    for node in tree.decision_nodes:
        values, threshold = digits[visits[:, node], tree.split(node)[0][0]], tree.threshold[node]
        low, high = values[values <= threshold].max(), values[values > threshold].min()
        assert threshold == low + (high - low) / 2


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
    models = tao_path(digits, 10, lambdas, max_rows=SAMPLE, **options)
    assert [model.lambda_ for model in models] == lambdas
    assert [model.best_lambda_ for model in models] == lambdas
    for model in models:
        assert_exact(model, digits)
    sizes = [model.tree_.n_parameters for model in models]
    assert sizes[0] > sizes[-1]
    assert lambdas_of(models[-1]) == lambdas
    chosen, everything = (
        [m.lambda_ for m in tao_path(digits, 10, max_rows=rows, n_init=1, **options)]
        for rows in (SAMPLE, None)
    )
    assert chosen == everything


def test_lambda_goes_with_the_weight_of_the_sample(digits, digits_reference):
    model = fitted(digits, digits_reference, lambda_=2.0, relax=False, max_rows=SAMPLE)
    *_, last, polished = model.history_
    assert last["lambda"] == pytest.approx(2.0 * SAMPLE / len(digits))
    assert polished["lambda"] == model.best_lambda_ == 2.0


@pytest.mark.parametrize("seed", range(6))
def test_polishing_never_costs_more(digits, seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, len(digits)).astype(float)
    search = make_search(digits, 10, weight=weight)
    tree = random_tree(rng, n_features=64, n_nodes=31, n_clusters=10, density=0.1)
    polishing = polishing_search(search.problem, search.settings, History())
    before = polishing.evaluate(tree.prune(tree.node_counts(tree.apply(digits))))
    after = polish(polishing, before.tree, 1.0)
    assert after.inertia <= before.inertia
    again = polish(polishing, after.tree, 1.0)
    assert again.inertia <= after.inertia
    for node in np.flatnonzero(np.diff(after.tree.split_indptr)):
        indices, weights = after.tree.split(node)
        np.testing.assert_array_equal(indices, before.tree.split(node)[0])
        np.testing.assert_array_equal(weights, before.tree.split(node)[1])


def test_the_threshold_is_the_best_and_the_weights_stay(rng):
    X = rng.normal(size=(80, 3))
    weight, goes_right = rng.uniform(0.5, 2, 80), X[:, 0] + 0.5 * rng.normal(size=80) > 0.4
    old = Split(np.array([0, 2], np.int32), np.array([1.0, 0.2]), -1.0)
    problem = NodeProblem(np.arange(80), goes_right, weight, 0.0, warm_start=old)
    new, status = Thresholds(kernel_view(X)).solve(problem)
    values = X[:, 0] + 0.2 * X[:, 2]
    least = min(problem.loss(values <= t) for t in values)
    assert problem.loss(values <= new.threshold) == pytest.approx(least)
    np.testing.assert_array_equal(new.weights, old.weights)
    assert status.converged


def test_a_sample_may_miss_a_cluster(digits, digits_reference):
    for split in ("oblique", "axis"):
        model = fitted(digits, digits_reference, split=split, lambda_=0.1, max_rows=12)
        assert_exact(model, digits)


def test_a_sample_smaller_than_the_clusters_is_refused(digits):
    with pytest.raises(ValueError, match=r"max_rows=9 should be >= n_clusters=10"):
        TAOClustering(10, max_rows=9).fit(digits)
    with pytest.raises(ValueError, match="max_rows"):
        TAOClustering(10, max_rows=0).fit(digits)


@pytest.mark.slow
def test_auto_is_a_sample_of_many_rows(digits, digits_reference, monkeypatch):
    monkeypatch.setattr("tao_cluster.optimize.settings._MANY_ROWS", SAMPLE)
    monkeypatch.setattr("tao_cluster.optimize.settings._MANY_A_CLUSTER", 10)
    for split, max_rows in (("oblique", SAMPLE), ("axis", None)):
        options = {"split": split, "lambda_": 2.0}
        automatic = fitted(digits, digits_reference, **options)
        same(automatic, fitted(digits, digits_reference, max_rows=max_rows, **options))
    monkeypatch.setattr("tao_cluster.optimize.settings._MANY_A_CLUSTER", 90)
    more = fitted(digits, digits_reference, lambda_=2.0)
    same(more, fitted(digits, digits_reference, lambda_=2.0, max_rows=900))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree costs")
def test_only_the_knee_is_polished(digits, digits_reference):
    model = fitted(digits, digits_reference, max_rows=SAMPLE)
    assert_exact(model, digits)
    polished = [record for record in model.history_ if record["stage"] == "polish"]
    assert [record["lambda"] for record in polished] == [model.best_lambda_]
