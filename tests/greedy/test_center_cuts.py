"""IMM, ExGreedy, ExShallow and ExKMC: invariances, weights, midpoints, degenerate and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from greedy import IMM, DPTree, ExGreedy, ExKMC, ExShallow
from tao_cluster.objectives import AlternatingClustering, KMedians

BUILDERS = {
    "imm": (IMM, {}),
    "exgreedy": (ExGreedy, {}),
    "exshallow": (ExShallow, {}),
    "exkmc": (ExKMC, {"max_leaves": 30}),
    "exkmc from nothing": (ExKMC, {"max_leaves": 30, "base": "none"}),
}


@pytest.fixture(params=list(BUILDERS))
def build(request):
    method, options = BUILDERS[request.param]

    def call(X, centers, **more):
        return built(method, X, centers, **options, **more)

    return call


@pytest.fixture(scope="module")
def data():
    """Overlapping clusters with distinct values, and the centres of k-means."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 6)) + 2.0 * rng.integers(-1, 2, size=(700, 6))
    return X, KMeans(7, n_init=1, random_state=0).fit(X).cluster_centers_


@pytest.mark.slow
def test_strides_and_wide_indices_change_nothing(build, digits, digits_reference):
    pixels, centers = np.round(digits * 16), digits_reference.cluster_centers_ * 16
    tree = build(pixels, centers)
    assert build(np.repeat(pixels, 2, axis=0)[::2], centers) == tree
    indices_64 = sp.csr_array(pixels)
    indices_64.indices, indices_64.indptr = (
        part.astype(np.int64) for part in (indices_64.indices, indices_64.indptr)
    )
    assert build(indices_64, centers, n_jobs=2) == tree


def test_permuting_features_permutes_the_tree(build, data):
    X, centers = data
    order = np.array([3, 0, 5, 1, 4, 2])
    tree, permuted = build(X, centers), build(X[:, order], centers[:, order])
    np.testing.assert_array_equal(permuted.predict(X[:, order]), tree.predict(X))
    if tree.n_leaves == len(centers):  # small leaves are cut equally well by several features
        np.testing.assert_array_equal(permuted.leaf_label, tree.leaf_label)
        np.testing.assert_array_equal(permuted.threshold, tree.threshold)
        np.testing.assert_array_equal(order[permuted.split_indices], tree.split_indices)


@pytest.mark.parametrize("shift", [1e6])
def test_data_far_from_the_origin_give_the_same_tree(build, data, shift):
    X, centers = (np.round(part * 2**10) / 2**10 for part in data)  # so that a shift is exact
    tree, moved = build(X, centers), build(X + shift, centers + shift)
    np.testing.assert_array_equal(moved.split_indices, tree.split_indices)
    np.testing.assert_array_equal(moved.predict(X + shift), tree.predict(X))
    cuts = tree.decision_nodes
    np.testing.assert_array_equal(moved.threshold[cuts], tree.threshold[cuts] + shift)


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**100])
def test_scale_of_the_data_does_not_matter(build, data, scale):
    X, centers = data
    tree, scaled = build(X, centers), build(X * scale, centers * scale)
    np.testing.assert_array_equal(scaled.threshold, tree.threshold * scale)
    np.testing.assert_array_equal(scaled.leaf_label, tree.leaf_label)


def test_thresholds_are_values_or_midpoints(build, data):
    X, centers = data
    tree, middle = build(X, centers, midpoints=False), build(X, centers)
    np.testing.assert_array_equal(tree.predict(X), middle.predict(X))
    np.testing.assert_array_equal(tree.split_indices, middle.split_indices)
    on_path = tree.decision_path(X).toarray().astype(bool)
    for node in tree.decision_nodes:
        (feature,) = tree.split(node)[0]
        threshold = tree.threshold[node]
        assert threshold in X[:, feature] or threshold in centers[:, feature]
        values = X[on_path[:, node], feature]
        assert middle.threshold[node] >= threshold
        if len(values) and values.max() > threshold:
            assert middle.threshold[node] < values[values > threshold].min()
    assert not np.array_equal(tree.threshold, middle.threshold)


@pytest.mark.slow
def test_an_embedding_measures_and_X_is_cut(build, digits):
    low = PCA(5, random_state=0).fit_transform(digits)
    reference = KMeans(6, n_init=2, random_state=0).fit(low)
    tree = build(digits, reference.cluster_centers_, embedding=low)
    assert tree.n_features == 64
    agreement = (tree.predict(digits) == reference.labels_).mean()
    assert agreement > 0.6
    same = build(digits, digits[:3], embedding=digits)
    assert same.n_leaves >= 3


def test_given_labels_are_kept(data):
    X, centers = data
    labels = np.random.default_rng(0).integers(7, size=len(X))
    tree = built(IMM, X, centers, labels=labels)
    assert tree != built(IMM, X, centers)
    assert tree.n_leaves == 7


# ---------------------------------------------------------------- degenerate data


def check_usable(tree, X):
    np.testing.assert_array_equal(np.isin(tree.predict(X), tree.leaf_label[tree.leaves]), True)
    assert tree.to_text()
    assert len(tree.to_rules()) == tree.n_leaves
    assert type(tree).from_json(tree.to_json()) == tree


@pytest.mark.parametrize("sparse", [False, True])
def test_degenerate_data_have_a_stated_tree(build, sparse):
    form = sp.csr_matrix if sparse else np.asarray
    line = np.arange(6.0)[:, None]
    one = build(form(line), [[2.0]])  # one cluster
    assert (one.n_leaves, one.leaf_label[0]) == (1, 0)
    row = build(form([[1.0, 2.0]]), [[1.0, 2.0]])  # one row
    assert row.n_leaves == 1
    equal = build(form(np.ones((5, 2))), np.ones((3, 2)))  # rows and centres all equal
    assert (equal.n_leaves, equal.leaf_label[0]) == (1, 0)
    constant = build(form(np.c_[np.ones(6), line, np.zeros(6)]), [[1, 1, 0], [1, 4.0, 0]])
    assert list(constant.used_features) == [1]
    for tree, X in ((one, line), (row, [[1.0, 2.0]]), (equal, np.ones((5, 2)))):
        check_usable(tree, X)


def test_centers_without_rows_keep_their_leaves():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    centers = [[0.5], [10.5], [100.0], [-100.0]]
    for method in (IMM, ExGreedy, ExShallow):
        tree = built(method, X, centers)
        assert sorted(tree.leaf_label[tree.leaves]) == [0, 1, 2, 3]
        np.testing.assert_array_equal(tree.predict(X), [0, 0, 1, 1])
        np.testing.assert_array_equal(tree.predict(centers), [0, 1, 2, 3])
        check_usable(tree, X)
    assert built(ExKMC, X, centers, max_leaves=9).n_leaves == 4
    assert built(ExKMC, X, centers, max_leaves=9, base="none").n_leaves == 2


def test_centers_that_coincide_share_a_leaf():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    for method in (IMM, ExGreedy, ExShallow):
        tree = built(method, X, [[5.5], [0.5], [0.5]])
        assert sorted(tree.leaf_label[tree.leaves]) == [0, 1]


def test_leaves_that_no_cut_improves_stay(data):
    far = np.array([[0.0, 0], [100, 0], [0, 100]])
    X = np.repeat(far, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 2))
    assert built(ExKMC, X, far, max_leaves=50).n_leaves == 3
    # Two points inside the other cluster: no single cut saves anything, so none is made.
    X = np.array([[0.0], [1], [2], [3], [4], [9]])
    assert built(ExKMC, X, [[2.0], [9.0]], max_leaves=6).n_leaves == 2


def test_outliers_do_not_blur_the_rest(build, data):
    """Whole-number sums keep the digits that decide among the ordinary rows."""
    X, centers = data
    far = np.vstack([X, np.full((1, 6), 1e9)])
    tree = build(far, np.vstack([centers, np.full((1, 6), 1e9)]))
    assert tree.predict([np.full(6, 1e9)])[0] == 7
    assert (tree.predict(X) == build(X, centers).predict(X)).mean() > 0.99


@pytest.mark.spaced(quick=5)
@pytest.mark.parametrize("scale", [1e-300, 3e4, 1e90])
def test_the_unit_of_the_weights_does_not_matter(build, data, scale):
    X, centers = data
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    tree, scaled = (build(X, centers, sample_weight=unit * weight) for unit in (1.0, scale))
    assert scaled == tree
    weight = np.random.default_rng(2).uniform(0.1, 1, len(X))
    tree, scaled = (build(X, centers, sample_weight=unit * weight) for unit in (1.0, scale))
    assert scaled == tree


@pytest.mark.parametrize("method", [IMM, ExGreedy])
def test_a_heavy_row_on_its_center_leaves_the_cuts_to_the_others(method, data):
    X, centers = data
    weight = np.append(np.ones(len(X)), 1e18)
    heavy = built(method, np.vstack([X, centers[:1]]), centers, sample_weight=weight)
    assert (heavy.predict(X) == built(method, X, centers).predict(X)).mean() > 0.9


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan, 1.0], [0, 0]]}, "X contains NaN"),
        ({"X": [[np.inf, 1.0], [0, 0]]}, "X contains infinity"),
        ({"X": [1.0, 2.0]}, "Expected 2D array"),
        ({"X": np.empty((0, 2))}, "0 sample"),
        ({"centers": [[0.0, np.nan]]}, "centers contains NaN"),
        ({"centers": [[0.0]]}, "The centres have 1 features, but the rows have 2"),
        ({"embedding": [[0.0, 1.0]]}, "embedding has 1 entries, but X has 2 rows"),
        ({"sample_weight": [1.0, -1.0]}, "Negative values in data passed to `sample_weight`"),
        ({"sample_weight": [0.0, 0.0]}, "at least one (positive|non-zero)"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries"),
        ({"centers": [[1e300, 1.0], [0.0, 0]]}, "overflow"),
    ],
)
def test_bad_input_gets_one_message(build, change, message):
    good = {"X": [[0.0, 1.0], [2.0, 3.0]], "centers": [[0.0, 1.0], [2.0, 3.0]]}
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message) as error:
        build(**{**good, **change})
    assert "\n" not in str(error.value).strip() or "Expected 2D" in message or "NaN" in message


def test_bad_parameters_get_one_message():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="max_leaves=1 must be at least n_clusters=2"):
        built(ExKMC, X, X[:2], max_leaves=1)
    with pytest.raises(ValueError, match="'base' parameter of ExKMC must be a str among"):
        built(ExKMC, X, X[:2], base="cart")
    for leaves in (7.5, np.nan, "x"):
        with pytest.raises(ValueError, match="'max_leaves' parameter of ExKMC must be"):
            built(ExKMC, X, X[:2], max_leaves=leaves)
    for factor in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="'depth_factor' parameter of ExShallow"):
            built(ExShallow, X, X[:2], depth_factor=factor)
    for labels in ([0, 1, 2, 0], [0, 1, -1, 0], [0, 1], [0.5, 1, 0, 0], [np.nan] * 4):
        with pytest.raises(ValueError, match=r"labels must be 4 integers in 0\.\.1, one per row"):
            built(IMM, X, X[:2], labels=labels)


# ---------------------------------------------------------------- k-medians

MEDIAN_METHODS = [IMM, ExShallow, DPTree]


def medians(X, labels, weight, centers):
    """Lower weighted medians, from the rows repeated; clusters without rows keep their centres."""
    out = centers.copy()
    for k in range(len(centers)):
        rows = np.repeat(X[labels == k], weight[labels == k], axis=0)
        if len(rows):
            out[k] = np.sort(rows, axis=0)[(len(rows) - 1) // 2]
    return out


def l1_cost(X, labels, weight, centers):
    return weight @ np.abs(X - centers[labels]).sum(axis=1)


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_costs_of_a_fit_are_l1_distances(method, rng):
    X, weight = np.round(rng.normal(size=(300, 4)), 1), rng.integers(0, 3, 300)
    model = method(5, objective="kmedians", random_state=0).fit(X, sample_weight=weight)
    centers = model.cluster_centers_
    present = weight > 0
    np.testing.assert_array_equal(
        centers, medians(X[present], model.labels_[present], weight[present], model.free_centers_)
    )
    assert model.inertia_ == pytest.approx(l1_cost(X, model.labels_, weight, centers))
    nearest = cdist(X, model.free_centers_, "cityblock")
    np.testing.assert_array_equal(model.free_labels_, nearest.argmin(axis=1))
    assert model.free_inertia_ == pytest.approx(weight @ nearest.min(axis=1))
    surrogate = l1_cost(X, model.labels_, weight, model.free_centers_)
    assert model.surrogate_score(X, sample_weight=weight) == pytest.approx(-surrogate)
    assert surrogate >= model.inertia_
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_)
    np.testing.assert_allclose(model.transform(X), cdist(X, centers, "cityblock"))
    increase = 100 * (model.inertia_ / model.free_inertia_ - 1)
    assert model.cost_increase_ == pytest.approx(increase)


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_the_reference_is_a_clustering_by_medians(method):
    X = load_iris().data
    reference = AlternatingClustering(3, KMedians(), random_state=0).fit(X)
    options = {"objective": "kmedians"}
    ours = method(3, random_state=0, **options).fit(X)
    assert ours.free_inertia_ <= 1.01 * reference.inertia_
    given = method(3, reference=reference, **options).fit(X)
    array = method(3, reference=reference.cluster_centers_, **options).fit(X)
    assert given.tree_ == array.tree_
    assert given.free_inertia_ == pytest.approx(reference.inertia_)


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_another_row_far_away_moves_medians_little(method):
    """Heavy tails are what medians are for: the tree stays in the bulk of the data."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 12])
    reference = AlternatingClustering(2, KMedians(), random_state=0).fit(X)
    far = np.vstack([X, [[4000.0, -4000.0]]])
    model = method(2, objective="kmedians", reference=reference).fit(far)
    assert model.tree_.n_leaves == 2
    assert 2 < model.tree_.threshold[0] < 10


@pytest.mark.parametrize("method", [IMM, ExGreedy, ExShallow])
def test_the_objective_decides_who_is_nearest(method):
    """(0, 0) is nearer to (3, 3) in Euclidean distance, nearer to (5, 0) in L1 distance."""
    X = np.array([[3.0, 3.0], [5.0, 0.0], [0.0, 0.0]])
    for objective, cluster in (("kmeans", 0), ("kmedians", 1)):
        tree = built(method, X, X[:2], objective=objective)
        np.testing.assert_array_equal(tree.predict(X), [0, 1, cluster])
