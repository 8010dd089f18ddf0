"""Trimming and thresholds at values: no row moves."""

import numpy as np
import pytest

from tao_cluster import Tree
from tao_cluster.core.routing import kernel_view
from tao_cluster.search.step.trimming import at_values, trim


def stump(weights, threshold):
    used = np.arange(len(weights))
    return Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [(used, weights), None, None], [threshold, 0, 0], [-1, 0, 1], 3
    )


@pytest.fixture
def X(rng):
    X = rng.uniform(-1, 1, (100, 3))
    X[:, 0] += 2 * np.sign(X[:, 0])
    return X


def test_small_weights_that_decide_no_row_go(X):
    tree = trim(stump([1.0, 1e-3, 1e-4], 0.0), kernel_view(X), 0.1)
    np.testing.assert_array_equal(tree.split(0)[0], [0])


def test_what_decides_a_row_stays(X):
    X[0] = 0.0, 0.5, 0.0  # only the second weight sends it right
    X[1] = 0.0, -0.5, 0.0
    before = stump([1.0, 1e-3, 1e-4], 0.0)
    tree = trim(before, kernel_view(X), 1.0)
    np.testing.assert_array_equal(tree.split(0)[0], [0, 1])
    np.testing.assert_array_equal(tree.predict(X), before.predict(X))


@pytest.mark.parametrize(("share", "kept"), [(0.0, [0, 1, 2]), (0.02, [0, 1]), (0.5, [0])])
def test_share_is_that_of_the_largest_spread(X, share, kept):
    """The spread of w_j x_j over the rows: about 2.5, 0.1 and 0.001 here."""
    tree = trim(stump([1.0, 0.2, 0.002], 0.0), kernel_view(X), share)
    np.testing.assert_array_equal(tree.split(0)[0], kept)


@pytest.mark.parametrize("threshold", [4.0, 4.7])
def test_thresholds_are_the_largest_values_that_go_left(threshold):
    X = np.array([[1.0], [2.0], [4.0], [5.0], [9.0]])
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [threshold, 0, 0], [-1, 0, 1], 1
    )
    moved = at_values(tree, kernel_view(X))
    assert moved.threshold[0] == 4.0
    np.testing.assert_array_equal(moved.predict(X), tree.predict(X))
