"""Price of explainability for the four objectives, surrogate cost and accuracy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from greedy import CART, IMM, CLTree
from tao_cluster.measures import (
    accuracy,
    explainability,
    price_of_explainability,
    spacing,
    surrogate_cost,
)


@pytest.fixture
def X(rng):
    return np.round(rng.normal(size=(80, 3)), 2) + 5.0


@pytest.fixture
def model(X):
    return IMM(5, random_state=0).fit(X)


def test_prices_are_ratios_of_costs(model, X):
    assert price_of_explainability(model, X) == pytest.approx(1 + model.cost_increase_ / 100)
    medians = []
    for labels in (model.labels_, model.free_labels_):
        parts = [X[labels == c] for c in np.unique(labels)]
        medians.append(sum(np.abs(part - np.median(part, axis=0)).sum() for part in parts))
    price = price_of_explainability(model, X, "kmedians")
    assert price == pytest.approx(medians[0] / medians[1])
    apart = cdist(X, model.free_centers_)
    far = apart[np.arange(len(X)), model.labels_].max() / apart.min(axis=1).max()
    assert price_of_explainability(model, X, "kcenter") == pytest.approx(far)
    between = cdist(X, X)
    pair = model.free_labels_, model.labels_
    least = [between[each[:, None] != each].min() for each in pair]
    assert price_of_explainability(model, X, "spacing") == pytest.approx(least[0] / least[1])


def test_surrogate_cost(model, X):
    assert surrogate_cost(model, X) == pytest.approx(-model.surrogate_score(X))
    expected = np.abs(X - model.free_centers_[model.labels_]).sum()
    assert surrogate_cost(model, X, "kmedians") == pytest.approx(expected)


def test_weights_are_repeats_and_layouts_agree(X, rng):
    weight = rng.integers(0, 3, len(X))
    weighted = IMM(4, random_state=0).fit(X, sample_weight=weight)
    # Absent rows have labels, but no part in any price.
    rows = np.repeat(np.arange(len(X)), weight)
    again = IMM(4, reference=weighted.free_centers_).fit(X[rows])
    for objective in ("kmeans", "kmedians", "kcenter", "spacing"):
        price = price_of_explainability(weighted, X, objective, sample_weight=weight)
        assert price == pytest.approx(price_of_explainability(again, X[rows], objective))
        sparse = price_of_explainability(weighted, sp.csr_matrix(X), objective, weight)
        assert price == pytest.approx(sparse)


def test_spacing_is_the_least_distance_between_clusters(rng):
    X, labels = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    table = cdist(X, X)
    assert spacing(X, labels) == pytest.approx(table[labels[:, None] != labels].min())
    assert spacing(X, np.zeros(60)) == np.inf
    weight = np.arange(60) % 2
    table = table[np.ix_(weight > 0, weight > 0)]
    kept = labels[weight > 0]
    assert spacing(X, labels, weight) == pytest.approx(table[kept[:, None] != kept].min())


def test_accuracy():
    labels, free = np.array([0, 0, 1, 2, 2]), np.array([1, 1, 0, 2, 0])
    assert accuracy(labels, free) == 0.2
    assert accuracy(labels, free, matched=True) == 0.8
    assert accuracy(labels, free, [1, 1, 1, 1, 0], matched=True) == 1.0
    assert accuracy(["a", "b"], ["b", "a"], matched=True) == 1.0
    assert accuracy([0, 1, 2, 3], [0, 0, 1, 1], matched=True) == 0.5


def test_everything_in_one_place(X):
    model = IMM(5, random_state=0).fit(X)
    found = explainability(model, X)
    assert found["price"] <= found["surrogate_price"] <= found["bound"].value
    assert found["accuracy"] == np.mean(model.labels_ == model.free_labels_)
    assert found["accuracy"] <= found["accuracy_matched"] <= 1
    assert explainability(CLTree(5, random_state=0).fit(X), X)["bound"] is None
    assert "surrogate_price" not in explainability(model, X, "spacing")
    one = IMM(1).fit(X)
    for objective in ("kmeans", "kmedians", "kcenter", "spacing"):
        assert explainability(one, X, objective)["price"] == 1.0


def test_an_embedding_is_where_the_price_is_paid():
    X = load_iris().data
    low = PCA(2, random_state=0).fit_transform(X)
    model = IMM(3, random_state=0).fit(X, embedding=low)
    assert price_of_explainability(model, low) == pytest.approx(1 + model.cost_increase_ / 100)
    with pytest.raises(ValueError, match=r"had the shape \(150, 2\)"):
        price_of_explainability(model, X)
    with pytest.raises(ValueError, match="objective must be one of kmeans, kmedians, kcenter"):
        price_of_explainability(model, low, "radius")
    names = np.array(list("abc"))[load_iris().target]
    given = CART(objective="labels", random_state=0).fit(X, names)
    with pytest.raises(ValueError, match="has no free clustering to compare"):
        price_of_explainability(given, X)
    with pytest.raises(
        ValueError, match="objective must be one of kmeans, kmedians; got 'spacing'"
    ):
        surrogate_cost(model, low, "spacing")
