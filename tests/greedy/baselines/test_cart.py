"""CART as an estimator: scikit-learn's conventions, weights, units, and its own tree."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from greedy import CART


def test_it_is_the_tree_of_the_free_labels(digits, digits_reference):
    model = CART(10, max_leaves=20, reference=digits_reference, random_state=3).fit(digits)
    theirs = DecisionTreeClassifier(max_leaf_nodes=20, random_state=3)
    theirs.fit(digits, digits_reference.labels_)
    np.testing.assert_array_equal(model.predict(digits), theirs.predict(digits))
    assert model.tree_.n_leaves == 20
    np.testing.assert_array_equal(model.free_labels_, digits_reference.labels_)
    assert model.cost_increase_ > 0


@pytest.mark.parametrize("objective", ["kmeans", "spherical", "kmedians"])
def test_objectives_sparse_rows_and_weights(objective):
    X = load_iris().data
    centers = KMeans(3, n_init=1, random_state=0).fit(X).cluster_centers_
    options = {"max_leaves": 5, "objective": objective, "reference": centers, "random_state": 0}
    weight = np.arange(len(X)) % 3
    weighted = CART(3, **options).fit(X, sample_weight=weight)
    repeated = CART(3, **options).fit(np.repeat(X, weight, axis=0))
    assert weighted.tree_ == repeated.tree_
    assert weighted.cost_increase_ == pytest.approx(repeated.cost_increase_)
    sparse = CART(3, **options).fit(sp.csr_matrix(X), sample_weight=weight)
    assert sparse.tree_ == weighted.tree_


def test_labels_and_units():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = CART(max_leaves=3, objective="labels", random_state=0).fit(X, names)
    assert set(model.labels_) == set(names)
    assert model.cost_increase_ == pytest.approx(100 * np.mean(model.labels_ != names))
    raw = CART(3, standardize=True, random_state=0).fit(X * 2.0 ** np.array([0, -10, 10, 3]))
    scaled = CART(3, standardize=True, random_state=0).fit(X)
    np.testing.assert_array_equal(raw.labels_, scaled.labels_)
