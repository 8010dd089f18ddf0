"""RandomCuts, EMN, KDTree, CUBT and CLTree as estimators: conventions and strange rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from greedy import CUBT, EMN, CLTree, KDTree, RandomCuts
from tao_cluster import TAOClustering

METHODS = [RandomCuts, EMN, KDTree, CUBT, CLTree]


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    return request.param


def strange():
    rng = np.random.default_rng(0)
    dummies = np.eye(7)[rng.integers(0, 7, (300, 4))].reshape(300, 28)
    return {
        "units": load_wine().data,
        "dummies": dummies,
        "wide": rng.normal(size=(60, 500)),
        "heavy": rng.standard_cauchy((200, 3)),
        "far": rng.normal(size=(100, 2)) + 1e6,
        "counts": np.floor(rng.exponential(size=(200, 30)) ** 3),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", list(strange()))
@pytest.mark.parametrize("objective", ["kmeans", "kmedians"])
def test_strange_rows(method, name, objective):
    X = strange()[name]
    model = method(4, objective=objective, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.inertia_)
    assert set(model.labels_) <= set(range(4))
    assert model.tree_.to_text()
    centers = model.free_centers_
    if name == "far":
        return  # sparse distances lose digits where columns lie far from zero
    options = {"objective": objective, "reference": centers, "random_state": 0}
    dense, sparse = (method(4, **options).fit(form) for form in (X, sp.csr_matrix(X)))
    assert (dense.labels_ == sparse.labels_).mean() > 0.99


def test_embedding_scaling_and_threads(method):
    X = load_iris().data
    low = PCA(2, random_state=0).fit_transform(X)
    model = method(3, random_state=0).fit(X, embedding=low)
    assert model.cluster_centers_.shape == (3, 2)
    assert model.tree_.n_features == 4
    scaled = method(3, standardize=True, random_state=0).fit(X * [1, 1024, 1, 1])
    plain = method(3, standardize=True, random_state=0).fit(X)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    threads = [method(3, random_state=0, n_jobs=n).fit(X) for n in (1, 2, -1)]
    assert threads[0].tree_ == threads[1].tree_ == threads[2].tree_


def test_degenerate_rows(method):
    assert method(1).fit([[1.0, 2.0]]).tree_.n_leaves == 1
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters"):
        equal = method(3, random_state=0).fit(np.ones((5, 2)))
    assert equal.tree_.n_leaves == 1
    with pytest.warns(ConvergenceWarning, match="2 of 3 clusters"):
        few = method(3, random_state=0).fit(np.repeat([[0.0, 0], [0, 1]], 10, axis=0))
    assert set(few.labels_) == {0, 1}


def test_they_start_other_trees(method):
    X = load_iris().data
    start = TAOClustering(3, init=method(3), lambda_=1.0, split="axis", random_state=0).fit(X)
    assert start.tree_.n_leaves >= 2


def test_a_hundred_clusters(method):
    X = np.random.default_rng(0).normal(size=(1500, 5))
    finer = {"min_split": 0.002, "min_y": 0.001} if method is CLTree else {}
    model = method(100, reference=X[:100], **finer).fit(X)
    assert len(set(model.labels_)) > 50
    assert model.tree_.n_leaves >= 51


def test_emn_is_the_figure_of_the_literature(digits, digits_reference):
    found = EMN(10, reference=digits_reference).fit(digits).cost_increase_
    assert found == pytest.approx(24.3, abs=0.5)
