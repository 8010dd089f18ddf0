"""Explanations say what the tree did with a row, and what leads to a cluster."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from greedy import IMM
from tao_cluster import TAOClustering, Tree
from tao_cluster.inspection.explanations import cluster_profile, explain


@pytest.fixture(scope="module")
def model():
    return TAOClustering(3, lambda_=0.3, depth=3, random_state=0).fit(load_iris().data)


@pytest.fixture
def stairs():
    """Cluster 0: a <= 1; cluster 1: 1 < a <= 3; cluster 2: a > 3, or never by -b > 0."""
    return Tree.from_splits(
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [([0], [1.0]), ([0], [2.0]), ([0, 1], [1.0, -3.0]), None, None, None, None],
        [3.0, 2.0, 5.0, 0, 0, 0, 0],
        [-1, -1, -1, 0, 1, 2, 2],
        n_features=2,
    )


def test_path_of_every_row(model):
    X = load_iris().data
    tree = model.tree_
    leaves = model.apply(X)
    visited = model.decision_path(X)
    for i in range(0, len(X), 7):
        why = model.explain(X[i])
        assert why.leaf == leaves[i]
        assert why.cluster == model.labels_[i]
        assert [*(test.node for test in why.tests), why.leaf] == visited[[i]].indices.tolist()
        for test, child in zip(why.tests, visited[[i]].indices[1:], strict=True):
            children = tree.children_left if test.side == "left" else tree.children_right
            assert children[test.node] == child
            assert (test.margin > 0) == (test.side == "right")
            products = [term.product for term in test.contributions]
            np.testing.assert_allclose(sum(products), test.total)
            assert products == sorted(products, key=abs, reverse=True)


@pytest.mark.parametrize("density", [0, 0.5, 1])
def test_rows_of_every_kind(density):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, density=density)
    x = rng.integers(-2, 3, tree.n_features)
    expected = explain(tree, x.astype(float))
    for row in (
        x,
        x.tolist(),
        [x.tolist()],
        x.astype(np.float32),
        sp.csr_matrix(x),
        sp.csc_array(x[None].astype(float)),
        sp.coo_array(x.astype(float)),
    ):
        assert explain(tree, row) == expected


def test_rows_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    data = load_iris(as_frame=True).data
    model = IMM(3, random_state=0).fit(data)
    why = model.explain(data.iloc[[60]])
    assert isinstance(data, pandas.DataFrame)
    assert why == model.explain(data.iloc[60]) == model.explain(data.to_numpy()[60])
    assert why.tests[0].contributions[0].name in data.columns
    with pytest.raises(ValueError, match="feature names"):
        model.explain(data.iloc[[60]].rename(columns=str.upper))


def test_text_of_a_path(stairs):
    assert str(explain(stairs, [4.0, 0.5], ["a", "b"])).splitlines() == [
        "a (4) = 4 > 3 -> right",
        "a (4) + -3*b (-1.5) = 2.5 <= 5 -> left",
        "cluster 2 (leaf 5)",
    ]
    assert str(explain(stairs, [0.0, 0.5])).splitlines()[0] == "0 <= 3 -> left"
    wide = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [(range(12), np.ones(12)), None, None], [0, 0, 0], [-1, 0, 1], 12
    )
    assert "x7 (1) + 3 more = 11 > 0" in str(explain(wide, [1.0] * 8 + [0.0] + [1.0] * 3))


def test_of_a_single_leaf():
    why = explain(Tree.single_leaf(2, 3), [0, 0, 0])
    assert str(why) == "cluster 2 (leaf 0)"
    assert why.tests == ()


def test_dicts_are_json(model, stairs):
    why = explain(stairs, [4.0, 0.5], ["a", "b"])
    data = json.loads(json.dumps(why.to_dict()))
    assert data["cluster"] == 2
    assert data["tests"][1]["margin"] == -2.5
    assert data["tests"][1]["side"] == "left"
    assert data["tests"][1]["contributions"][1] == {
        "feature": 1,
        "name": "b",
        "weight": -3.0,
        "value": 0.5,
        "product": -1.5,
    }
    profile = model.cluster_profile(0)
    data = json.loads(json.dumps(profile.to_dict()))
    assert data["rules"] == list(profile.rules)
    assert data["features"][0]["strength"] == profile.features[0].strength


def test_bad_rows(model, stairs):
    for rows in ([[1.0, 2.0], [3.0, 4.0]], 3.0, np.ones((1, 1, 2))):
        with pytest.raises(ValueError, match="one row, got data of shape"):
            explain(stairs, rows)
    for x in ([1.0], sp.csr_matrix([[1.0, 0, 0]])):
        with pytest.raises(ValueError, match=r"X has \d features, but this tree expects 2"):
            explain(stairs, x)
    with pytest.raises(ValueError, match="NaN"):
        explain(stairs, [np.nan, 1.0])
    with pytest.raises(ValueError, match="1 feature names for 4 features"):
        model.explain([1.0, 2, 3, 4], ["a"])
    with pytest.raises(NotFittedError):
        TAOClustering(3).explain([1.0])


# ---------------------------------------------------------------------------- clusters


def test_profile_follows_its_formula(stairs):
    profile = cluster_profile(stairs, 2, feature_names=["a", "b"])
    assert profile.leaves == (5, 6)
    assert (profile.count, profile.share) == (None, None)
    a, b = profile.features
    # Both leaves are right of the root; at node 2 one is left, one right, of half a share each.
    assert (a.name, a.direction, a.strength) == ("a", 1.0, 1.25)
    assert (b.name, b.direction, b.strength) == ("b", 0.0, 0.75)
    between = cluster_profile(stairs, 1).features[0]
    assert (between.direction, between.strength) == (0.0, 2.0)


def test_profile_weighs_leaves_by_rows(stairs):
    X = np.array([[9.0, 0.0]] * 3 + [[4.0, 0.0]] + [[0.0, 0.0]] * 4)
    profile = cluster_profile(stairs, 2, X, feature_names=["a", "b"])
    assert (profile.count, profile.share) == (4, 0.5)
    a, b = profile.features
    assert a.direction == pytest.approx(1 + 0.25 * (0.75 - 0.25))
    assert b.direction == pytest.approx(-0.75 * (0.75 - 0.25))
    assert str(profile).splitlines() == [
        "cluster 2 (4 rows, 50.0 %)",
        "  if a > 3 and -3*b + a <= 5 then cluster 2 (1 row, 12.5 %)",
        "  if a > 3 and -3*b + a > 5 then cluster 2 (3 rows, 37.5 %)",
        "  features: a +1.12, b -0.38",
    ]
    weighted = cluster_profile(stairs, 2, X, sample_weight=[2.0] * 8)
    assert weighted.count == 8
    assert [role.direction for role in weighted.features] == [a.direction, b.direction]
    empty = cluster_profile(stairs, 1, X)
    assert (empty.count, empty.share) == (0, 0)


def test_profiles_of_a_fitted_estimator(model):
    profiles = [model.cluster_profile(k) for k in range(3)]
    assert sum(profile.share for profile in profiles) == pytest.approx(1)
    assert [profile.count for profile in profiles] == np.bincount(model.labels_).tolist()
    assert sum(len(profile.rules) for profile in profiles) == model.tree_.n_leaves
    assert model.cluster_profile(1, load_iris().data) == profiles[1]


def test_cluster_without_leaves_and_without_tests():
    tree = Tree.single_leaf(2, 3)
    assert str(cluster_profile(tree, 2)).splitlines() == [
        "cluster 2",
        "  always then cluster 2",
        "  features: none",
    ]
    assert cluster_profile(tree, 0).leaves == ()
    assert cluster_profile(tree, 0, np.ones((2, 3))).share == 0


@pytest.mark.parametrize("k", [3, -1, 0.5, "a", None])
def test_unknown_clusters(model, k):
    with pytest.raises(ValueError, match=r"The clusters are 0\.\.2, got"):
        model.cluster_profile(k)
