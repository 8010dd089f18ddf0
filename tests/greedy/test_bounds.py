"""Proven bounds: their numbers, and that trees on random rows respect them."""

import numpy as np
import pytest
from building import built
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from greedy import CART, IMM, ExKMC, RandomCuts
from greedy.bounds import bound, bound_of


@pytest.mark.parametrize(
    ("method", "options", "value"),
    [
        ("IMM", {"depth": 3}, 8 * 3 * 4 + 2),
        ("imm", {}, 8 * 3 * 4 + 2),
        ("IMM", {"objective": "kmedians", "depth": 2}, 5.0),
        ("ExKMC", {}, 8 * 3 * 4 + 2),
        ("RandomCuts", {"objective": "kmedians"}, 1 + 1 + 1 / 2 + 1 / 3),
        ("esfandiari", {"objective": "kmedians"}, 1 + 1 + 1 / 2 + 1 / 3),
        ("DPTree", {"objective": "kmedians"}, 1 + 4 * 5 * 2),
        ("ExSingleLink", {"objective": "spacing", "n": 30}, 26.0),
    ],
)
def test_numbers(method, options, value):
    found = bound(method, 4, 5, **options)
    assert found.value == pytest.approx(value)
    assert found.is_exact
    assert f"{found.value:.4g} = {found.formula}" in str(found)


def test_orders_have_no_number():
    for method, objective in (("EMN", "kmeans"), ("DPTree", "kmeans"), ("ExKCenter", "kcenter")):
        found = bound(method, 4, 5, objective=objective)
        assert found.value is None
        assert not found.is_exact
        assert str(found).startswith("O(")
    assert bound("RandomCuts", 4, 5).is_mean


def test_nothing_is_claimed_of_the_others():
    assert bound("ExGreedy", 4, 5) is None
    assert bound("IMM", 4, 5, objective="spacing") is None
    with pytest.raises(ValueError, match="needs n, the number of rows"):
        bound("ExSingleLink", 4, 5, objective="spacing")
    with pytest.raises(ValueError, match="k=0 and d=5 must be at least 1"):
        bound("IMM", 0, 5)


def test_bounds_of_fitted_models():
    X = load_iris().data
    model = IMM(3, random_state=0).fit(X)
    assert bound_of(model) == bound("IMM", 3, 4, depth=model.tree_.max_depth)
    assert bound_of(model, "kmedians") is None  # it was fitted for k-means
    assert bound_of(CART(3, random_state=0).fit(X)) is None
    assert bound_of(ExKMC(3, base="none", random_state=0).fit(X)) is None
    assert bound_of(IMM(3, standardize=True, random_state=0).fit(X)) is None
    assert bound_of(IMM(3, random_state=0).fit(X, embedding=X[:, :2])) is None
    cuts = RandomCuts(3, rule="bicriteria", random_state=0).fit(X)
    assert bound_of(cuts) == bound("bicriteria", 3, 4)
    assert bound_of(RandomCuts(3, random_state=0).fit(X)).formula == "O(k log^2 k)"


def cost(X, centers, labels, power):
    return (np.abs(X - centers[labels]) ** power).sum()


@pytest.mark.parametrize("seed", range(6))
def test_trees_on_random_rows_respect_the_theorems(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(20, 200), rng.integers(1, 6), rng.integers(2, 9)
    X = [rng.normal(size=(n, d)), rng.standard_cauchy((n, d)), rng.integers(0, 4, (n, d)) * 1.0]
    X = X[seed % 3]
    centers = KMeans(k, n_init=1, random_state=0).fit(X + rng.normal(size=X.shape) * 1e-3)
    centers = centers.cluster_centers_
    for objective, power in (("kmeans", 2), ("kmedians", 1)):
        table = (np.abs(X[:, None] - centers) ** power).sum(axis=2)
        tree = built(IMM, X, centers, objective=objective, midpoints=False)
        most = bound("IMM", k, d, objective=objective, depth=tree.max_depth).value
        assert cost(X, centers, tree.predict(X), power) <= most * table.min(axis=1).sum()
    grown = built(ExKMC, X, centers, max_leaves=2 * k, midpoints=False)
    before = cost(X, centers, built(IMM, X, centers, midpoints=False).predict(X), 2)
    assert cost(X, centers, grown.predict(X), 2) <= before * (1 + 1e-9)
