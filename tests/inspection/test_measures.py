"""Measures on trees small enough to count by hand."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tao_cluster import Tree
from tao_cluster.measures import (
    adjusted_rand_index,
    cost_increase,
    feature_usage,
    normalized_mutual_information,
    weighted_average_depth,
    weighted_average_explanation_size,
)


@pytest.fixture
def staircase():
    """Leaves at depth 1, 2, 3, 3; feature 0 is cut three times, always from above."""
    return Tree.from_splits(
        [1, 3, -1, 5, -1, -1, -1],
        [2, 4, -1, 6, -1, -1, -1],
        [([0], [1.0])] * 2 + [None, ([0], [1.0]), None, None, None],
        [3.0, 2.0, 0, 1.0, 0, 0, 0],
        [-1, -1, 3, -1, 2, 0, 1],
        n_features=1,
    )


def test_depth_and_explanation_size(staircase):
    X = np.array([[3.5], [2.5], [1.5], [0.5]])
    assert weighted_average_depth(staircase, X) == (1 + 2 + 3 + 3) / 4
    # x > 3 | 2 < x <= 3 | 1 < x <= 2 | x <= 1
    assert weighted_average_explanation_size(staircase, X) == (1 + 2 + 2 + 1) / 4
    weight = np.array([3.0, 0, 0, 1])
    assert weighted_average_depth(staircase, X, weight) == (3 * 1 + 3) / 4
    assert weighted_average_explanation_size(staircase, X, weight) == 1


def test_single_leaf_needs_no_explanation():
    tree = Tree.single_leaf(0, 2)
    assert weighted_average_depth(tree, np.zeros((3, 2))) == 0
    assert weighted_average_explanation_size(tree, np.zeros((3, 2))) == 0


@pytest.mark.parametrize(
    ("cost", "free", "percent"), [(110, 100, 10), (90, 100, -10), (0, 0, 0), (1, 0, np.inf)]
)
def test_cost_increase(cost, free, percent):
    assert cost_increase(cost, free) == pytest.approx(percent)


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_rand_index_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(4, size=60), rng.integers(3, size=60)
    others[:30] = labels[:30] // 2
    names = np.array(["a", "b", None], dtype=object)[others]
    assert adjusted_rand_index(labels, names) == pytest.approx(adjusted_rand_score(labels, others))
    weight = rng.integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), weight)
    assert adjusted_rand_index(labels, others, weight) == pytest.approx(
        adjusted_rand_score(labels[rows], others[rows])
    )


def test_adjusted_rand_index_at_its_ends():
    assert adjusted_rand_index([0, 1, 2], [5, 4, 3]) == 1  # each row alone
    assert adjusted_rand_index([0, 0, 0], [1, 1, 1]) == 1
    assert adjusted_rand_index([0, 0, 0], [0, 1, 2]) == 0
    assert adjusted_rand_index([0], [1]) == 1


def test_measures_refuse_weights_that_weigh_nothing(staircase):
    X = np.array([[3.5], [2.5]])
    for measure in (weighted_average_depth, weighted_average_explanation_size, feature_usage):
        for weight in ([0.0, 0.0], [1.0], [1.0, -1.0], [1.0, np.nan]):
            with pytest.raises(ValueError, match="sample_weight must be 2 numbers"):
                measure(staircase, X, weight)
    with pytest.raises(ValueError, match="sample_weight must be 2 numbers"):
        normalized_mutual_information([0, 1], [0, 1], [0, 0])
    many = np.arange(30_000)  # as many clusters as rows: nothing of size rows x rows
    assert normalized_mutual_information(many, many[::-1]) == pytest.approx(1)
