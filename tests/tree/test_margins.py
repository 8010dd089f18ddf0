"""The feature of the widest margin among those that divide rows alike: against enumeration."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import Tree
from tao_cluster.tree.margins import Gap, widest_gap, with_gaps
from tao_cluster.tree.routing import kernel_arrays


def by_enumeration(X, rows, goes_left, weight, features, centers):
    """The definition, feature by feature, with NumPy alone."""
    found = []
    for f in features:
        sides = [
            np.append(X[some, f], points[:, f])
            for some, points in zip((rows[goes_left], rows[~goes_left]), centers, strict=True)
        ]
        for is_flipped in (False, True):
            low, high = sides[::-1] if is_flipped else sides
            if low.max() < high.min():
                mean = np.average(X[rows, f], weights=weight)
                std = np.sqrt(np.average((X[rows, f] - mean) ** 2, weights=weight))
                gap = Gap(f, low.max(), high.min(), is_flipped)
                found.append(((high.min() - low.max()) / std, gap))
    best = max((margin for margin, _ in found), default=0.0)
    if len(found) < 2:  # the feature of the test alone
        return None
    return next(gap for margin, gap in found if margin >= best * (1 - 1e-9))


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    goes_left = rng.permutation(np.arange(n) < draw(st.integers(1, n - 1)))
    X = rng.integers(0, 4, (n, d)).astype(float)
    for f in np.flatnonzero(rng.random(d) < 0.7):  # these features divide the rows alike
        X[:, f] += rng.choice([-6.0, 5.0]) * goes_left
    centers = [X[side][:1] for side in (goes_left, ~goes_left)] if draw(st.booleans()) else None
    features = np.flatnonzero(rng.random(d) < 0.8) if draw(st.booleans()) else None
    return X, goes_left, rng.integers(1, 4, n).astype(float), features, centers


@settings(max_examples=200, deadline=None, derandomize=True)
@given(problems())
def test_it_is_the_feature_of_the_definition(problem):
    X, goes_left, weight, features, centers = problem
    rows = np.arange(len(X))
    every = range(X.shape[1]) if features is None else features.tolist()
    none = np.empty((0, X.shape[1]))
    expected = by_enumeration(X, rows, goes_left, weight, every, centers or (none, none))
    for form in (X, X.astype(np.float32), sp.csr_matrix(X)):
        found = widest_gap(kernel_arrays(form), rows, goes_left, -1, weight, features, centers)
        assert found == expected
    repeated = np.repeat(rows, weight.astype(int))
    terms = (None, features, centers)
    assert widest_gap(X, repeated, goes_left[repeated], -1, *terms) == expected
    if expected is not None:
        assert widest_gap(X, rows, goes_left, expected.feature, weight, features, centers) is None


@pytest.mark.parametrize("scale", [1e-140, 0.1, 3.0, 1e140])
def test_units_do_not_matter_and_ties_go_to_the_lowest_feature(scale):
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=3000), 7.3)
    X, goes_left = np.column_stack([x * scale, x, -x / 7]), x < 7
    assert widest_gap(X, np.arange(len(X)), goes_left, 1).feature == 0
    wider = np.column_stack([X, np.where(goes_left, x, 9.0)])
    assert widest_gap(wider, np.arange(len(X)), goes_left, 1).feature == 3


def test_a_flipped_gap_exchanges_the_children():
    X = np.array([[0.0, 9.0], [1.0, 8.5], [1.2, 1.0]])
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [1, 0, 0], [-1, 0, 1], 2
    )
    gap = widest_gap(X, np.arange(3), tree.predict(X) == 0, 0)
    assert gap == Gap(1, 1.0, 8.5, True)
    assert gap.split.indices.tolist() == [1]
    np.testing.assert_array_equal(X[:, 1] * gap.split.weights[0] <= gap.split.threshold, [1, 1, 0])
    found = with_gaps(tree, {0: gap}, at_midpoints=True)
    assert (found.split(0)[0].tolist(), found.threshold[0]) == ([1], 4.75)
    np.testing.assert_array_equal(found.predict(X), tree.predict(X))
    assert with_gaps(tree, {0: None}) is tree
    assert widest_gap(X, np.arange(3), np.ones(3, bool), 0) is None
