"""Initial trees: no cluster is lost, weights count, builders take turns, how many are built."""

import numpy as np
import pytest

from tao_cluster import DirectForm, TAOClustering, Tree
from tao_cluster.initial_trees.builders import (
    Bisecting,
    Centroids,
    Given,
    InTurn,
    Random,
    bisector,
)

PAIRS = np.array([[0.0], [1.0], [100.0], [101.0]])  # the halves are clear


def build(init, X, centers=None, labels=None, weight=None, seed=0):
    """The tree of a builder; by default the rows are the centres."""
    centers = X if centers is None else centers
    labels = np.arange(len(X)) if labels is None else labels
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    return init.build(X, labels, centers, weight, np.random.RandomState(seed))


def root_threshold(tree):
    return tree.threshold[0] / tree.split(0)[1][0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("depth", [3, 4, 7])
def test_centroids_lose_no_cluster(sign, depth):
    """Each bisection of powers splits off one of them: too deep, unless it is moved."""
    centers = sign * 4.0 ** np.arange(8)[:, None]
    for seed in range(5):
        tree = build(Centroids(depth), centers, seed=seed)
        assert tree.n_leaves == 8
        assert tree.max_depth <= depth
        np.testing.assert_array_equal(tree.predict(centers), np.arange(8))


def test_centroids_of_too_few_levels_keep_the_largest_clusters():
    size = np.array([1, 9, 5, 3])
    labels = np.repeat(np.arange(4), size)
    tree = build(Centroids(1), PAIRS[labels], PAIRS, labels)
    leaves = tree.apply(PAIRS)
    for leaf in tree.leaves:
        here = np.flatnonzero(leaves == leaf)
        assert tree.leaf_label[leaf] == here[size[here].argmax()]
    assert build(Centroids(0), PAIRS[labels], PAIRS, labels) == Tree.single_leaf(1, 1)


def test_clusters_without_rows_get_no_leaf(rng):
    centers = rng.normal(size=(9, 2))
    for seed in range(5):
        filled = np.sort(rng.choice(9, 4, replace=False))
        tree = build(Centroids(5), centers[filled], centers, filled, seed=seed)
        assert sorted(tree.leaf_label[tree.leaves]) == list(filled)


def test_centres_weigh_as_much_as_their_clusters():
    """The test is half way between the means of both sides: 0.1 and 100.5."""
    labels = np.repeat(np.arange(4), [9, 1, 1, 1])
    assert root_threshold(build(Centroids(2), PAIRS[labels], PAIRS, labels)) == pytest.approx(50.3)
    weighted = build(Centroids(2), PAIRS, weight=[9, 1, 1, 1])
    assert root_threshold(weighted) == pytest.approx(50.3)


def test_rows_weigh_in_bisections_and_leaves():
    tree = build(Bisecting(1), PAIRS, weight=[9, 1, 1, 1])
    assert root_threshold(tree) == pytest.approx(50.3)
    np.testing.assert_array_equal(tree.predict(PAIRS), [0, 0, 2, 2])  # ties: the lowest
    heavy = build(Bisecting(1), PAIRS, weight=[1, 2, 1, 2])
    np.testing.assert_array_equal(heavy.predict(PAIRS), [1, 1, 3, 3])


def test_random_tests_part_rows_drawn_by_weight():
    X = np.array([[0.0], [10.0], *([x] for x in range(1000, 1100))])
    weight = np.where(X.ravel() < 11, 1.0, 1e-9)
    for seed in range(5):
        assert root_threshold(build(Random(1), X, X[:2], 0 * weight.astype(int), weight, seed)) == 5


def test_trees_are_of_the_depth_asked_for(rng):
    X = rng.normal(size=(400, 3))
    for builder in (Bisecting(3), Random(3)):
        tree = build(builder, X, X[:4], rng.integers(0, 4, 400))
        assert tree.n_leaves == 8
        assert set(tree.depth[tree.leaves]) == {3}


def test_bisector_has_the_scale_of_a_logistic_model(rng):
    for _ in range(10):
        a, b = rng.normal(size=(2, 4)) * 10 ** rng.uniform(-3, 3)
        split = bisector(a, b)
        margins = np.array([a, b])[:, split.indices] @ split.weights - split.threshold
        np.testing.assert_allclose(margins, [-1, 1], rtol=1e-6)
    assert bisector(a, a) is None


def test_builders_take_turns():
    trees = [Tree.single_leaf(label, 1) for label in range(3)]
    in_turn = InTurn([Given(tree) for tree in trees])
    assert [build(in_turn, PAIRS) for _ in range(5)] == [*trees, *trees[:2]]


def test_every_fit_counts_its_trees_anew(rng):
    X = rng.normal(size=(60, 2))
    init = InTurn([Centroids(2), Bisecting(2)])
    model = TAOClustering(3, init=init, lambda_=1.0, algorithm=DirectForm(n_init=1), random_state=0)
    assert model.fit(X).tree_ == model.fit(X).tree_


@pytest.mark.parametrize("depth", [0, 2])
def test_given_trees_must_have_the_features_of_X(depth):
    with pytest.raises(ValueError, match="initial tree has 2 features, X has 1"):
        build(Given(build(Bisecting(depth), np.c_[PAIRS, PAIRS])), PAIRS)
