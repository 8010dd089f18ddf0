"""Trees made of centres alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from tao_cluster import DirectForm, TAOClustering, Tree, bisector_tree, voronoi_tree


def squared_distances(X, centers):
    return ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)


def nearest(X, centers):
    return squared_distances(X, centers).argmin(axis=1)


def clear_rows(distances, margin=1e-9):
    """Rows whose two nearest centres are not about equally near."""
    first, second = np.sort(distances, axis=1)[:, :2].T
    return second - first > margin * second


def assert_nearest(tree, X, centers, margin=1e-9):
    distances = squared_distances(X, centers)
    clear = clear_rows(distances, margin)
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(tree.predict(X)[clear], distances.argmin(axis=1)[clear])


def n_merged(tree):
    """Decision nodes whose children are leaves with one label."""
    left, right = (c[tree.decision_nodes] for c in (tree.children_left, tree.children_right))
    label = tree.leaf_label
    return np.count_nonzero((label[left] >= 0) & (label[left] == label[right]))


# ------------------------------------------------------------------ the exact tree


@pytest.mark.parametrize("scale", [0.5, 3.0, 100.0])
def test_nearest_centre_everywhere(rng, scale):
    centers = rng.normal(size=(5, 3))
    tree = voronoi_tree(centers)
    assert_nearest(tree, scale * rng.normal(size=(100_000, 3)), centers)
    assert 5 < tree.n_leaves <= 16


@pytest.mark.slow
@pytest.mark.parametrize(("k", "d"), [(10, 2), (8, 20), (15, 2), (7, 4)])
def test_many_regions(rng, k, d):
    centers = rng.normal(size=(k, d))
    tree = voronoi_tree(centers)
    assert_nearest(tree, 2 * rng.normal(size=(20_000, d)), centers)
    assert n_merged(tree) == 0
    # In 2-D most tests are redundant; in 20-D none is.
    assert tree.n_leaves == 128 if d == 20 else tree.n_leaves < 2 ** (k - 1)
    np.testing.assert_array_equal(tree.predict(centers), np.arange(k))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_ties_of_whole_numbers_go_to_the_lowest_index(data):
    d = data.draw(st.integers(1, 3))
    k = data.draw(st.integers(1, 6))
    centers = data.draw(arrays(np.int64, (k, d), elements=st.integers(-3, 3)))
    axis = np.arange(-9, 10)
    halves = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)  # in units of 1/2
    tree = voronoi_tree(centers)
    nearest = squared_distances(halves, 2 * centers).argmin(axis=1)
    np.testing.assert_array_equal(tree.predict(halves / 2), nearest)


def test_one_centre_is_a_leaf():
    assert voronoi_tree([[1.0, 2.0]]) == Tree.single_leaf(0, 2)
    assert bisector_tree([[1.0, 2.0]]) == Tree.single_leaf(0, 2)


@pytest.mark.parametrize("build", [voronoi_tree, bisector_tree])
def test_of_coinciding_centres_the_first_takes_all(build):
    tree = build([[0.0, 1.0], [4.0, 0.0], [-0.0, 1.0], [4.0, 0.0]])
    assert tree.n_leaves == 2
    np.testing.assert_array_equal(tree.predict([[0.0, 1.0], [4.0, 0.0]]), [0, 1])
    assert build(np.ones((3, 2))) == Tree.single_leaf(0, 2)


@pytest.mark.parametrize("direction", [[1.0], [0.3, -2.0, 0.7]])
def test_sorted_centres_on_a_line_have_a_leaf_each(rng, direction):
    centers = np.sort(rng.normal(size=7))[:, None] * direction
    tree = voronoi_tree(centers)
    assert tree.n_leaves == 7
    assert_nearest(tree, rng.normal(size=(10_000, len(direction))), centers)


def test_a_region_may_be_a_single_point():
    tree = voronoi_tree([[2.0], [-2.0], [-1.0], [1.0]])
    X = np.array([[0.0], [1e-300], [-1e-300], [1.5], [-1.5], [1.6], [-1.6]])
    np.testing.assert_array_equal(tree.predict(X), [2, 3, 2, 0, 1, 0, 1])


def test_squares_meet_in_a_point():
    tree = voronoi_tree([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    assert tree.n_leaves == 5
    ties = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, 2.0]]
    np.testing.assert_array_equal(tree.predict(ties), [0, 0, 0, 1, 2])


@pytest.mark.parametrize("shift", [[0, 0], [3, 1], [1000, -300]])
def test_no_side_is_empty_where_all_cells_meet_in_a_point(shift):
    circle = [[5, 0], [3, 4], [-3, 4], [0, 5], [4, 3], [4, -3]]
    tree = voronoi_tree(np.array(circle) + shift)
    axis = np.arange(-60, 61)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    reached = tree.apply(X + np.array(shift, dtype=float))
    np.testing.assert_array_equal(np.unique(reached), tree.leaves)
    np.testing.assert_array_equal(tree.leaf_label[reached], nearest(X, np.array(circle)))


def test_far_from_the_origin(rng):
    centers = rng.normal(size=(6, 3))
    tree = voronoi_tree(centers + 1e6)
    assert tree.n_leaves == voronoi_tree(centers).n_leaves
    X = rng.normal(size=(20_000, 3)) + 1e6
    assert_nearest(tree, X, centers + 1e6, margin=1e-7)


@pytest.mark.parametrize("scale", [1e-150, 1e-9, 1e9, 1e150])
def test_units_do_not_matter(rng, scale):
    centers = rng.normal(size=(6, 3))
    tree, scaled = voronoi_tree(centers), voronoi_tree(centers * scale)
    X = rng.normal(size=(5000, 3))
    assert scaled.n_leaves == tree.n_leaves
    assert np.mean(tree.predict(X) == scaled.predict(X * scale)) > 0.999
    assert bisector_tree(centers * scale).n_leaves == 6


def test_a_close_pair_among_distant_centres():
    centers = np.array([[0.0], [1e-20], [1.0]])
    X = np.array([[-1.0], [0.0], [1e-20], [0.4], [0.6]])
    np.testing.assert_array_equal(voronoi_tree(centers).predict(X), [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(bisector_tree(centers).predict(X), [0, 0, 1, 1, 2])


def test_a_solver_that_gives_up_costs_leaves_only(rng, monkeypatch):
    class GaveUp:
        status, x = 4, None

    centers = rng.normal(size=(6, 2))
    tree = voronoi_tree(centers)
    monkeypatch.setattr("tao_cluster.initial_trees.exact.linprog", lambda *args, **options: GaveUp)
    careful = voronoi_tree(centers)
    assert careful.n_leaves > tree.n_leaves
    assert_nearest(careful, rng.normal(size=(20_000, 2)), centers)


def test_too_many_leaves(rng):
    centers = rng.normal(size=(6, 10))
    assert voronoi_tree(centers, max_leaves=32).n_leaves == 32
    with pytest.raises(ValueError, match=r"more than 31 leaves .* bisector_tree"):
        voronoi_tree(centers, max_leaves=31)
    with pytest.raises(ValueError, match="max_leaves == 0, must be >= 1"):
        voronoi_tree(centers, max_leaves=0)
    with pytest.raises(TypeError, match="max_leaves"):
        voronoi_tree(centers, max_leaves=8.0)


@pytest.mark.parametrize("build", [voronoi_tree, bisector_tree])
@pytest.mark.parametrize(
    ("centers", "message"),
    [([1.0, 2.0], "2D array"), ([[np.nan]], "Input centers contains NaN"), ([[np.inf]], "infin")],
)
def test_centres_are_checked(build, centers, message):
    with pytest.raises(ValueError, match=message):
        build(centers)


def test_margins_are_of_the_scale_of_a_logistic_model(rng):
    for _ in range(20):
        centers = rng.normal(size=(2, 3)) * 10 ** rng.uniform(-3, 3)
        for tree in (voronoi_tree(centers), bisector_tree(centers)):
            features, weights = tree.split(0)
            margins = centers[:, features] @ weights - tree.threshold[0]
            assert margins[1] == pytest.approx(-margins[0])
            assert 0.7 < margins[1] < 1.42


def test_initial_tree_that_costs_nothing():
    X = load_iris().data
    kmeans = KMeans(4, n_init=5, random_state=0).fit(X)
    tree = voronoi_tree(kmeans.cluster_centers_)
    np.testing.assert_array_equal(tree.predict(X), kmeans.predict(X))
    model = TAOClustering(
        4, lambda_=1e-3, init=tree, reference=kmeans, algorithm=DirectForm(trim=0), random_state=0
    )
    assert abs(model.fit(X).cost_increase_) < 0.01  # percent


# ------------------------------------------------------------------ the small tree


@pytest.mark.parametrize(("k", "d"), [(2, 1), (5, 2), (12, 3), (60, 10), (20, 784)])
def test_bisector_tree_has_a_leaf_a_centre(rng, k, d):
    centers = rng.normal(size=(k, d))
    tree = bisector_tree(centers)
    assert tree.n_leaves == k
    np.testing.assert_array_equal(tree.predict(centers), np.arange(k))


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(
    arrays(np.int64, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(0, 3))
)
def test_bisector_tree_with_ties(centers):
    _, first, group = np.unique(centers, axis=0, return_index=True, return_inverse=True)
    tree = bisector_tree(centers)
    assert tree.n_leaves == len(first)
    np.testing.assert_array_equal(tree.predict(centers), first[group.ravel()])


def widest_pair(centers):
    """By the definition, pair by pair."""
    best, widest = -1.0, None
    for i in range(len(centers)):
        for j in range(i + 1, len(centers)):
            normal = (centers[j] - centers[i]) / np.linalg.norm(centers[j] - centers[i])
            least = np.abs((centers - (centers[i] + centers[j]) / 2) @ normal).min()
            if least > best + 1e-9:
                best, widest = least, (i, j)
    return widest


def test_root_is_the_bisector_that_keeps_the_centres_away(rng):
    for k in (3, 4, 7, 15):
        centers = rng.normal(size=(k, 2)) + 50
        i, j = widest_pair(centers)
        tree = bisector_tree(centers)
        features, weights = tree.split(0)
        np.testing.assert_array_equal(features, [0, 1])
        direction = centers[j] - centers[i]
        cosine = weights @ direction / np.linalg.norm(weights) / np.linalg.norm(direction)
        assert cosine == pytest.approx(1.0)
        assert tree.threshold[0] == pytest.approx(weights @ (centers[i] + centers[j]) / 2)


def test_equally_wide_pairs_go_to_the_lowest():
    tree = bisector_tree([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
    np.testing.assert_array_equal(tree.split(0)[0], [0])  # 0 | 1, not 0 | 2
    np.testing.assert_array_equal(tree.predict([[0, 0], [4, 0], [0, 4], [4, 4]]), range(4))
    for angle in np.linspace(0.1, 1.5, 15):  # now rounding makes the widths unequal
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        tree = bisector_tree(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]]) @ turn)
        np.testing.assert_allclose(tree.split(0)[1], turn[0] / 2, atol=1e-12)


def test_centres_that_rounding_cannot_tell_apart_share_a_leaf():
    a = np.nextafter(1e6, 2e6)
    b = np.nextafter(a, 2e6)  # the middle rounds to this one
    assert bisector_tree([[a], [b]]) == Tree.single_leaf(0, 1)
    assert bisector_tree([[a], [b], [0.0]]).n_leaves == 2
