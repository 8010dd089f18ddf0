"""Paths along lambda, goals, and the choice of a tree."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import TAOClustering, knee, tao_path
from tao_cluster.objectives import KMeans
from tao_cluster.optimize.path import lambda_grid
from tao_cluster.problem.problem import Problem


@pytest.fixture(scope="module")
def path(digits, digits_reference):
    return tao_path(digits, 10, depth=5, reference=digits_reference, random_state=0)


@pytest.mark.slow
def test_a_path_goes_from_free_to_small(path, digits):
    costs = [model.cost_increase_ for model in path]
    sizes = [model.tree_.n_parameters for model in path]
    assert len(path) == 10
    assert costs[0] < 0.5
    assert sizes[-1] < 60
    assert np.all(np.diff([model.lambda_ for model in path]) > 0)
    assert np.corrcoef(np.log(sizes), np.arange(10))[0, 1] < -0.95
    for model in path[::4]:
        np.testing.assert_array_equal(model.predict(digits), model.labels_)
        assert model.best_lambda_ == model.lambda_
        assert model.free_inertia_ == path[0].free_inertia_
        assert len(model.history_) == model.n_iter_
    lengths = [model.n_iter_ for model in path]
    assert np.all(np.diff(lengths) > 0)


@pytest.mark.slow
def test_a_path_is_as_good_as_single_fits(path, digits, digits_reference):
    """At the same lambda, in cost times size, on average over the path."""
    ratios = []
    for model in path[2:8:3]:
        alone = TAOClustering(
            10, lambda_=model.lambda_, reference=digits_reference, random_state=0
        ).fit(digits)
        ratios.append(
            (1 + model.cost_increase_)
            * model.tree_.n_parameters
            / ((1 + alone.cost_increase_) * alone.tree_.n_parameters)
        )
    assert np.mean(ratios) < 1.25


@pytest.mark.slow
def test_same_path_for_any_number_of_threads(digits):
    options = {"lambdas": [3.0, 0.5], "n_init": 2, "random_state": 0}
    one, two = (tao_path(digits, 10, n_jobs=j, **options) for j in (1, 2))
    assert [model.lambda_ for model in one] == [0.5, 3.0]
    for a, b in zip(one, two, strict=True):
        assert a.tree_ == b.tree_
        assert a.inertia_ == b.inertia_


def test_grid_goes_with_rows_and_scale(digits):
    def grid(X, each=1.0):
        weight = np.full(len(X), each)
        return lambda_grid(Problem.of(X, X, weight, KMeans(), X[:10], 10, 0))

    plain = grid(digits)
    np.testing.assert_allclose(grid(digits, 2.0), 2 * plain)
    np.testing.assert_allclose(grid(np.vstack([digits, digits])), 2 * plain)
    np.testing.assert_allclose(grid(3 * digits), 27 * plain)
    np.testing.assert_allclose(plain[1:] / plain[:-1], (plain[-1] / plain[0]) ** (1 / 9))


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:A tree of at most 2 leaves")
def test_goals(digits, digits_reference):
    options = {"reference": digits_reference, "random_state": 0, "n_init": 2}
    small = TAOClustering(10, max_parameters=60, **options).fit(digits)
    assert 45 <= small.tree_.n_parameters <= 60
    cheap = TAOClustering(10, max_cost_increase=1.0, **options).fit(digits)
    assert 0.5 < cheap.cost_increase_ <= 1.0
    assert small.best_lambda_ > cheap.best_lambda_ > 0
    assert small.lambda_ == "auto"  # as given
    for size in (30, 4, 1):  # beyond the grid
        with pytest.warns(UserWarning, match="lost"):
            tiny = TAOClustering(10, max_parameters=size, **options).fit(digits)
        assert size / 2 <= tiny.tree_.n_parameters <= size
    with pytest.warns(UserWarning, match="No tree costs at most 0 %"):
        TAOClustering(3, max_cost_increase=0.0, depth=1, random_state=0).fit(digits)
    with pytest.raises(ValueError, match="A path has no goal"):
        tao_path(digits, 10, max_parameters=60)
    with pytest.raises(ValueError, match="not both"):
        TAOClustering(10, max_parameters=60, max_cost_increase=1, **options).fit(digits)


def fake(cost, size):
    tree = SimpleNamespace(n_parameters=size, n_clusters=3)
    return SimpleNamespace(cost_increase_=cost, tree_=tree)


def test_knee_chooses():
    models = [fake(0.1, 400), fake(0.2, 100), fake(2.0, 80), fake(8.0, 20)]
    assert knee(models) is models[1]
    assert knee(models, max_parameters=90) is models[2]
    assert knee(models, max_cost_increase=3) is models[2]
    assert knee(models, max_cost_increase=0.15) is models[0]
    with pytest.warns(UserWarning, match="smallest has 20"):
        assert knee(models, max_parameters=10) is models[3]
    with pytest.warns(UserWarning, match="best costs 0.1 %"):
        assert knee(models, max_cost_increase=0.01) is models[0]
    assert knee(models[:1]) is models[0]
    with pytest.raises(ValueError, match="no models"):
        knee([])
    assert knee([fake(0.0, 100), fake(np.inf, 50)]).cost_increase_ == 0


def test_no_cost_at_all_can_be_asked_for(blobs):
    model = TAOClustering(4, max_cost_increase=0, depth=3, random_state=0).fit(blobs)
    assert model.cost_increase_ <= 1e-9
    assert model.tree_.n_parameters <= 13


def test_models_share_nothing_that_can_be_changed(digits, digits_reference):
    a, b = tao_path(digits, 10, [1.0, 10.0], n_init=1, reference=digits_reference)
    before = digits_reference.cluster_centers_.copy()
    a.free_centers_ *= 0
    a.history_[0]["stage"] = "changed"
    np.testing.assert_array_equal(b.free_centers_, before)
    np.testing.assert_array_equal(digits_reference.cluster_centers_, before)
    assert b.history_[0]["stage"] == "start"


@pytest.mark.parametrize("lambdas", [[], [1.0, -1.0], [0.0], [np.nan], "abc", 0.0])
def test_bad_lambdas(digits, lambdas):
    with pytest.raises(ValueError):  # noqa: PT011
        tao_path(digits, 10, lambdas)


def test_a_path_needs_weights(digits):
    with pytest.raises(ValueError, match="A path needs"):
        tao_path(digits, 10, node_solver="liblinear")


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.arange(6.0)[:, None], np.ones((1, 2))])
def test_degenerate_paths(X):
    with np.errstate(all="raise"):
        models = tao_path(X, 1, depth=2)
    assert len(models) == 10
    assert all(model.tree_.n_leaves == 1 for model in models)
    assert TAOClustering(1, max_parameters=1).fit(X).tree_.n_leaves == 1


@pytest.mark.slow
def test_an_interrupted_path_keeps_its_models(digits, monkeypatch):
    plain, calls = KMeans.update_centers, []

    def update_centers(self, *args):
        calls.append(1)
        if len(calls) == 60:
            raise KeyboardInterrupt
        return plain(self, *args)

    monkeypatch.setattr(KMeans, "update_centers", update_centers)
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        models = tao_path(digits, 10, random_state=0)
    assert 0 < len(models) < 10
    np.testing.assert_array_equal(models[-1].predict(digits), models[-1].labels_)


def test_weights_and_embeddings(digits, rng):
    weight = rng.uniform(0.5, 2, len(digits))
    weight[::5] = 0
    embedding = digits @ rng.normal(size=(64, 6))
    models = tao_path(
        digits, 5, [1.0, 10.0], n_init=2, sample_weight=weight, embedding=embedding, random_state=0
    )
    for model in models:
        assert model.cluster_centers_.shape == (5, 6)
        assert len(model.labels_) == len(digits)
