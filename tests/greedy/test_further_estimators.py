"""DPTree, Ex-kCenter and Ex-SingleLink as estimators: conventions, invariances, strange data."""

import pickle
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from greedy import DPTree, ExKCenter, ExSingleLink, build_dptree, build_exkcenter
from tao_cluster import TAOClustering
from tao_cluster.plot import plot_tree

METHODS = {
    "DPTree": DPTree,
    "DPTree for medians": partial(DPTree, objective="kmedians"),
    "ExKCenter": ExKCenter,
    "ExKCenter by halves": partial(ExKCenter, rest="halves"),
    "ExSingleLink": ExSingleLink,
}


@pytest.fixture(params=list(METHODS))
def method(request):
    return METHODS[request.param]


def test_attributes_agree(method, digits):
    X = digits[:400]
    model = method(6, random_state=0).fit(X)
    assert model.labels_.dtype == np.int32
    for again in (model.predict(X), model.tree_.predict(X), model.tree_.leaf_label[model.apply(X)]):
        np.testing.assert_array_equal(again, model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_)
    increase = 100 * (model.inertia_ / model.free_inertia_ - 1)
    assert model.cost_increase_ == pytest.approx(increase)
    assert model.cost_increase(X) >= -1e-9 or "ExKCenter" in type(model).__name__
    assert model.n_iter_ == len(model.history_) == model.tree_.n_leaves - 1
    for record in model.history_:
        assert model.tree_.threshold[record["node"]] == record["threshold"]
    assert model.cluster_centers_.shape == model.free_centers_.shape == (6, 64)
    assert model.transform(X).shape == (400, 6)
    assert set(model.labels_) <= set(range(6))


def test_fits_are_equal_for_any_n_jobs_and_after_pickling(method, digits):
    X = digits[:120]
    models = [method(5, random_state=0, n_jobs=n).fit(X) for n in (None, 2)]
    for other in (models[1], pickle.loads(pickle.dumps(models[0]))):  # noqa: S301
        assert other.tree_ == models[0].tree_
        assert other.inertia_ == models[0].inertia_
    assert clone(models[0]).get_params() == models[0].get_params()


@pytest.mark.slow
def test_forms_of_the_input_change_nothing(method, digits):
    X = np.round(digits[:120] * 16)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    model = method(5, random_state=0).fit(X, sample_weight=weight)
    repeated = method(5, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert repeated.tree_ == model.tree_
    assert repeated.inertia_ == pytest.approx(model.inertia_)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = method(5, random_state=0).fit(X[order], sample_weight=weight[order])
    assert shuffled.tree_ == model.tree_
    np.testing.assert_array_equal(shuffled.labels_, model.labels_[order])
    single = method(5, random_state=0).fit(X.astype(np.float32), sample_weight=weight)
    np.testing.assert_array_equal(single.labels_, model.labels_)


def test_sparse_rows_give_the_same_tree(method, digits):
    X = np.round(digits[:300] * 16)
    options = {"random_state": 0}
    if method is not ExSingleLink:
        options["reference"] = X[:5]
    model = method(5, **options).fit(X)
    sparse = method(5, **options).fit(sp.csr_matrix(X))
    assert sparse.tree_ == model.tree_
    assert sparse.inertia_ == pytest.approx(model.inertia_)


@pytest.mark.slow
def test_an_embedding_is_clustered_and_X_is_cut(method, digits):
    X = digits[:300]
    low = PCA(3, random_state=0).fit_transform(X)
    model = method(5, random_state=0).fit(X, embedding=low)
    assert model.cluster_centers_.shape == (5, 3)
    assert model.tree_.n_features == 64
    assert model.score(X, embedding=low) == pytest.approx(-model.inertia_)
    assert model.cost_increase(X[::3], embedding=low[::3]) > -60
    with pytest.raises(ValueError, match="needs the embedding"):
        model.score(X)


def test_standardised_columns_decide_and_users_units_are_shown(method):
    X = load_wine().data
    model = method(3, random_state=0, standardize=True).fit(X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    same = method(3, random_state=0).fit(scaled)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.inertia_ == pytest.approx(same.inertia_)
    back = same.cluster_centers_ * X.std(axis=0) + X.mean(axis=0)
    np.testing.assert_allclose(model.cluster_centers_, back)
    for node in model.tree_.decision_nodes:
        feature = model.tree_.split(node)[0][0]
        assert X[:, feature].min() < model.tree_.threshold[node] < X[:, feature].max()


def test_degenerate_data_fit_draw_and_export(method):
    one_row = method(1).fit([[1.0, 2.0]])
    one_cluster = method(1, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters"):
        equal = method(3, random_state=0).fit(np.ones((5, 2)))
    with pytest.warns(ConvergenceWarning, match="2 of 3 clusters"):
        few = method(3, random_state=0).fit([[0.0, 0], [0, 0], [0, 1], [0, 1]])
    every = method(4, random_state=0).fit(np.arange(4.0)[:, None])
    assert set(few.labels_) == {0, 1}
    assert set(every.labels_) == {0, 1, 2, 3}
    for model in (one_row, one_cluster, equal):
        assert model.tree_.n_leaves == 1
        assert set(model.labels_) == {0}
    for model in (one_row, one_cluster, equal, few, every):
        assert model.tree_.to_text()
        assert model.to_text()
        assert model.inertia_ >= 0
        plt.close(plot_tree(model).figure)


@pytest.mark.slow
def test_strange_data(method, rng):
    wide = rng.normal(size=(40, 1000))
    tails = rng.standard_cauchy((100, 3))
    dummies = (rng.random((100, 30)) < 0.1).astype(float)
    constant = np.c_[np.ones(80), rng.normal(size=80), np.zeros(80)]
    text = sp.random(60, 400, 0.02, format="csr", random_state=0)
    for X in (wide, tails, dummies, constant, text):
        model = method(5, random_state=0).fit(X)
        assert model.tree_.n_leaves <= 5
        assert np.isfinite(model.inertia_)
    many = method(60, random_state=0).fit(rng.normal(size=(150, 2)))
    assert many.tree_.n_leaves <= 60


def test_bad_fits_keep_the_earlier_one(method, digits):
    X = digits[:100]
    model = method(4, random_state=0).fit(X)
    tree = model.tree_
    for bad in (np.full((9, 2), np.nan), X[:3], np.eye(9) * 1e200):
        if "kmedians" in repr(method) and bad.shape == (9, 9):
            continue  # L1 norms do not overflow
        with pytest.raises(ValueError, match=r"NaN|n_samples=3 should be|overflow"):
            model.fit(bad)
    assert model.tree_ is tree


@pytest.mark.parametrize("init", [DPTree(), ExKCenter(rest="halves"), ExSingleLink()])
def test_they_are_initial_trees(init, digits):
    X = digits[:200]
    model = TAOClustering(4, init=init, lambda_=0.1, random_state=0).fit(X)
    start = init.build(X, model.free_labels_, model.free_centers_, np.ones(len(X)))
    labels = start.predict(X)
    parts = [X[labels == k] for k in np.unique(labels)]
    assert model.inertia_ < sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)


def test_names_and_builders_agree(digits):
    X, centers = digits[:300], digits[:5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for objective in ("kmeans", "kmedians"):
            model = DPTree(5, objective=objective, reference=centers).fit(X)
            assert model.tree_ == build_dptree(X, centers, objective=objective)
        for rest in ("grid", "halves"):
            model = ExKCenter(5, rest=rest, reference=centers).fit(X)
            assert model.tree_ == build_exkcenter(X, centers, rest=rest)
