"""Initial trees."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from sklearn.cluster import KMeans

from tao_cluster import TAOClustering, Tree
from tao_cluster.initial_trees import Bisecting, Given
from tao_cluster.initial_trees.cart import cart_tree


def build(init, X, labels, k=3, seed=0, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return init.build(X, labels, np.zeros((k, X.shape[1])), weight, np.random.RandomState(seed))


@pytest.mark.slow
def test_bisecting_is_complete_and_follows_2_means(digits, digits_reference):
    tree = build(Bisecting(4, n_init=10), digits, digits_reference.labels_, 10)
    assert tree.n_leaves == 16
    assert set(tree.depth[tree.leaves]) == {4}
    two = KMeans(2, n_init=10, random_state=0).fit(digits)
    goes_left = tree.decision_path(digits)[:, [1]].toarray().ravel().astype(bool)
    agreement = np.mean(goes_left == (two.labels_ == two.labels_[np.argmax(goes_left)]))
    assert agreement > 0.99
    leaves = tree.apply(digits)
    for leaf in tree.leaves:
        votes = np.bincount(digits_reference.labels_[leaves == leaf], minlength=10)
        assert votes[tree.leaf_label[leaf]] == votes.max()


def test_equal_rows_are_not_split():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 5, axis=0)
    labels = np.repeat([0, 1, 2], 5)
    tree = build(Bisecting(30), X, labels)
    assert tree.n_leaves == 3
    np.testing.assert_array_equal(tree.predict(X), labels)
    assert build(Bisecting(5), np.ones((4, 2)), np.zeros(4, int)) == Tree.single_leaf(0, 2)
    assert build(Bisecting(0), X, labels).n_leaves == 1


def test_given_tree_must_fit(rng):
    tree = random_tree(rng, n_features=6, n_clusters=4)
    X, labels = rng.normal(size=(10, 6)), np.zeros(10, int)
    assert build(Given(tree), X, labels, 4) is tree
    with pytest.raises(ValueError, match="6 features, X has 5"):
        build(Given(tree), X[:, :5], labels, 4)
    with pytest.raises(ValueError, match="only 1 clusters"):
        build(Given(tree), X, labels, 1)


def test_cart_is_scikit_learns(digits, digits_reference):
    from sklearn.tree import DecisionTreeClassifier

    X, labels = digits.astype(np.float32), digits_reference.labels_
    cart = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, labels)
    tree = cart_tree(X, labels, 20)
    assert tree.n_leaves == 20
    np.testing.assert_array_equal(tree.predict(X), cart.predict(X))


def test_cart_of_values_beyond_single_precision(rng):
    power = np.array([0, 300, 0, 999])
    X = rng.integers(-5, 6, (200, 4)).astype(float)
    labels = (X[:, 1] > 1) + 2 * (X[:, 3] > -2) + 4 * (X[:, 2] > 0)
    expected = cart_tree(X, labels, 12)
    tests = expected.decision_nodes
    assert set(expected.used_features) >= {1, 2, 3}
    for form in (np.asarray, sp.csr_matrix):
        tree = cart_tree(form(X * 2.0**power), labels, 12)
        np.testing.assert_array_equal(tree.predict(X * 2.0**power), expected.predict(X))
        scale = 2.0 ** power[[expected.split(node)[0][0] for node in tests]]
        np.testing.assert_allclose(tree.threshold[tests], expected.threshold[tests] * scale)


@pytest.mark.slow
def test_the_default_start_of_large_values(blobs):
    large = TAOClustering(4, split="axis", random_state=0).fit(blobs * 2.0**300)
    model = TAOClustering(4, split="axis", random_state=0).fit(blobs)
    np.testing.assert_array_equal(large.labels_, model.labels_)
