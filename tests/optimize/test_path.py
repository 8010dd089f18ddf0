"""Paths of trees: their lambdas, warm starts, and what a limit finds along them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, tao_path
from tao_cluster.objectives import KMeans

QUICK = DirectForm(n_init=1, relax=False)


def lambdas_of(X, weight=None):
    models = tao_path(
        X, 4, reference=X[:4], depth=2, algorithm=QUICK, sample_weight=weight, random_state=0
    )
    return np.array([model.lambda_ for model in models])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree")
def test_lambdas_have_the_units_of_cost_over_weight(rng):
    X, weight = rng.normal(size=(80, 3)), rng.integers(1, 4, 80).astype(float)
    plain = lambdas_of(X, weight)
    assert len(plain) == 10
    np.testing.assert_allclose(plain[1:] / plain[:-1], (plain[-1] / plain[0]) ** (1 / 9))
    np.testing.assert_allclose(lambdas_of(4 * X, weight), 64 * plain)
    np.testing.assert_allclose(lambdas_of(X, 3 * weight), 3 * plain)
    repeated = np.repeat(np.arange(80), weight.astype(int))
    repeated = np.r_[
        :4, np.sort(np.delete(repeated, [np.flatnonzero(repeated == i)[0] for i in range(4)]))
    ]
    np.testing.assert_allclose(lambdas_of(X[repeated]), plain)
    uneven = np.where(np.arange(80) < 40, weight, 1e-9)
    np.testing.assert_allclose(lambdas_of(X, uneven), lambdas_of(X[:40], weight[:40]), rtol=1e-6)


@pytest.mark.parametrize("lambdas", [[], [1.0, -1.0], [0.0], [np.nan], "abc", 0.0])
def test_bad_lambdas(digits, lambdas):
    with pytest.raises(ValueError):  # noqa: PT011
        tao_path(digits, 10, lambdas)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "penalty"}, "A path needs the direct form"),
        ({"algorithm": PenaltyMethod(refine=False)}, "A path needs the direct form"),
        ({"max_parameters": 60}, "A path has no goal"),
        ({"validation": 0.2}, "path chooses no tree"),
    ],
)
def test_what_a_path_does_not_support(digits, options, message):
    with pytest.raises(ValueError, match=message):
        tao_path(digits, 10, **options)


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.arange(6.0)[:, None], np.ones((1, 2))])
def test_degenerate_paths(X):
    with np.errstate(all="raise"):
        models = tao_path(X, 1, depth=2)
    assert len(models) == 10
    assert all(model.tree_.n_leaves == 1 for model in models)
    assert TAOClustering(1, max_parameters=1).fit(X).tree_.n_leaves == 1


def test_a_path_starts_each_tree_from_the_descent_before(rng):
    """A tree depends on the lambdas before it, and not on the refits of their trees."""
    X = rng.normal(size=(150, 4))

    def second(*lambdas, **options):
        algorithm = DirectForm(n_init=1, search="none", copies=0, **options)
        return tao_path(X, 5, lambdas, depth=3, algorithm=algorithm, random_state=0)[-1]

    assert second(0.3, 3.0).tree_ != second(3.0).tree_
    passes = [
        [(r["cost_increase"], r["non_zeros"]) for r in model.history_ if r["stage"] == "direct"]
        for model in (second(0.3, 3.0), second(0.3, 3.0, relax=False))
    ]
    assert passes[0] == passes[1]


@pytest.fixture(scope="module")
def models_along(digits, digits_reference):
    return tao_path(digits, 10, depth=5, reference=digits_reference, random_state=0)


@pytest.mark.slow
def test_a_path_goes_from_free_to_small(models_along, digits):
    costs = [model.cost_increase_ for model in models_along]
    sizes = [model.tree_.n_parameters for model in models_along]
    assert len(models_along) == 10
    assert costs[0] < 0.5
    assert sizes[-1] < 60
    assert np.corrcoef(np.log(sizes), np.arange(10))[0, 1] < -0.95
    for model in models_along[::4]:
        np.testing.assert_array_equal(model.predict(digits), model.labels_)
        assert model.best_lambda_ == model.lambda_
        assert model.free_inertia_ == models_along[0].free_inertia_
        assert len(model.history_) == model.n_iter_
    assert np.all(np.diff([model.n_iter_ for model in models_along]) > 0)


def test_no_cost_at_all_can_be_asked_for(blobs):
    model = TAOClustering(4, max_cost_increase=0, depth=3, random_state=0).fit(blobs)
    assert model.cost_increase_ <= 1e-9
    assert model.tree_.n_parameters <= 13


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


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_weights_and_embeddings(digits, rng, form):
    weight = rng.uniform(0.5, 2, len(digits))
    weight[::5] = 0
    options = {"sample_weight": weight, "embedding": digits @ rng.normal(size=(64, 6))}
    algorithm = DirectForm(n_init=2)
    models = tao_path(form(digits), 5, [1.0, 10.0], algorithm=algorithm, random_state=0, **options)
    for model in models:
        assert model.cluster_centers_.shape == (5, 6)
        assert len(model.labels_) == len(digits)
