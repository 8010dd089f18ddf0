"""Trimming and thresholds at values: no row moves."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tao_cluster.optimize.trimming import at_midpoints, at_values, trim

from tao_cluster import Tree
from tao_cluster.tree.routing import kernel_arrays
from tao_cluster.tree.tree import midpoint


def moved(change, tree, X, *terms):
    """The changed tree: trim, at_midpoints or at_values over the rows of X."""
    return change(tree, tree.apply(X), kernel_arrays(X), *terms)


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
    tree = moved(trim, stump([1.0, 1e-3, 1e-4], 0.0), X, 0.1)
    np.testing.assert_array_equal(tree.split(0)[0], [0])


def test_what_decides_a_row_stays(X):
    X[0] = 0.0, 0.5, 0.0  # only the second weight sends it right
    X[1] = 0.0, -0.5, 0.0
    before = stump([1.0, 1e-3, 1e-4], 0.0)
    tree = moved(trim, before, X, 1.0)
    np.testing.assert_array_equal(tree.split(0)[0], [0, 1])
    np.testing.assert_array_equal(tree.predict(X), before.predict(X))


@pytest.mark.parametrize(("share", "kept"), [(0.0, [0, 1, 2]), (0.02, [0, 1]), (0.5, [0])])
def test_share_is_that_of_the_largest_spread(X, share, kept):
    """The spread of w_j x_j over the rows: about 2.5, 0.1 and 0.001 here."""
    tree = moved(trim, stump([1.0, 0.2, 0.002], 0.0), X, share)
    np.testing.assert_array_equal(tree.split(0)[0], kept)


@pytest.mark.parametrize("threshold", [4.0, 4.7])
def test_thresholds_are_the_largest_values_that_go_left(threshold):
    X = np.array([[1.0], [2.0], [4.0], [5.0], [9.0]])
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [threshold, 0, 0], [-1, 0, 1], 1
    )
    found = moved(at_values, tree, X)
    assert found.threshold[0] == 4.0
    np.testing.assert_array_equal(found.predict(X), tree.predict(X))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    weight=st.sampled_from([-7.3, -1.0, -0.256, 1e-8, 1.0, 3.0]),
    threshold=st.floats(-4, 4),
    values=st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=8),
    dtype=st.sampled_from([np.float32, np.float64]),
    is_sparse=st.booleans(),
)
def test_one_feature_has_weight_1_and_a_threshold_between_the_rows(
    weight, threshold, values, dtype, is_sparse
):
    X = np.zeros((len(values), 3))
    X[:, 0] = values
    X = X.astype(dtype)
    rows = sp.csr_matrix(X) if is_sparse else X
    before = stump([weight], threshold)
    tree = moved(at_midpoints, before, rows)
    np.testing.assert_array_equal(tree.split(0)[1], [np.sign(weight)])
    np.testing.assert_array_equal(tree.predict(rows), before.predict(rows))
    x = np.sort(np.sign(weight) * X[:, 0].astype(float))
    n_left = np.count_nonzero(before.predict(rows) == 0)
    if 0 < n_left < len(x):
        low, high = x[n_left - 1], x[n_left]
        assert low <= tree.threshold[0] < high
        assert tree.threshold[0] == pytest.approx((low + high) / 2, abs=np.spacing(5.0))
    else:
        assert tree.threshold[0] == pytest.approx(threshold / abs(weight))


def test_sums_keep_their_weights_and_thresholds(X):
    before = stump([1.0, -0.5], 0.25)
    assert moved(at_midpoints, before, X) == before


def test_halfway():
    most = np.finfo(float).max
    assert midpoint(1.9, 3.0) == 2.45
    assert midpoint(-most, most) == 0
    odd = 1 + 2.0**-52  # the middle to the next float is rounded up
    assert midpoint(odd, math.nextafter(odd, 2)) == odd
    assert math.copysign(1, midpoint(-1.0, 1.0)) == 1
