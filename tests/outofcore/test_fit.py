"""Fits to rows in blocks: what is exact, what is refused, strange data."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from greedy import CART, IMM, ExGreedy, ExKMC, ExShallow, Kauri
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, outofcore
from tao_cluster.objectives import KMeans, SphericalKMeans
from tao_cluster.optimize.algorithms import AxisAligned
from tao_cluster.outofcore import passes

DIGITS, IRIS, WINE = load_digits().data[:900], load_iris().data, load_wine().data
FAST = {"lambda_": 3.0, "algorithm": DirectForm(n_init=1), "random_state": 0}


def in_parts(X, size):
    return [X[start : start + size] for start in range(0, X.shape[0], size)]


def fit(estimator, X, size=250, weight=None, embedding=None, **options):
    """A fit to parts of the rows, by a sample of a third of them."""
    parts = [None if part is None else in_parts(part, size) for part in (X, weight, embedding)]
    options = {"coreset_size": X.shape[0] // 3, "random_state": 0} | options
    return outofcore.fit(estimator, parts[0], sample_weight=parts[1], embedding=parts[2], **options)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_limits_of_a_change_are_those_of_all_rows(form):
    """The sample has neither the largest value nor the only fraction."""
    X = np.tile(np.column_stack([[0.0, 1, 10, 11], [5, 6, 5, 6], [1, 2, 3, 4]]), (200, 1))
    rare = {"range": (100, 0, 90.0), "fraction": (333, 1, 5.5)}
    for row, column, value in rare.values():
        X[row, column] = value
    weight = np.ones(len(X))
    weight[[100, 333]] = 1e-9  # they are hardly ever drawn
    model = fit(IMM(2, random_state=0), form(X), weight=weight, coreset_size=100)
    np.testing.assert_array_equal(model._column_range, [X.min(axis=0), X.max(axis=0)])
    np.testing.assert_array_equal(model._column_is_integer, [True, False, True])
    assert fit(IMM(2, random_state=0), form(X), coreset_size=800)._column_range[1, 0] == 90


@functools.cache
def usual():
    """The fit that several tests look at."""
    return fit(TAOClustering(10, **FAST), DIGITS)


def spreads_and_sides(tree, X, weight):
    """Standard deviation of each feature of each test, and values next to thresholds, by NumPy."""
    X, visits = X.toarray() if sp.issparse(X) else X, tree.paths(tree.apply(X)).toarray() > 0
    spreads, sides = [], np.full((tree.n_nodes, 2), np.nan)
    for node in range(tree.n_nodes):
        rows = visits[:, node] & (weight > 0)
        features, weights = tree.split(node)
        for values in X[rows][:, features].T.astype(float):
            mean = np.average(values, weights=weight[rows])
            spreads.append(np.sqrt(np.average((values - mean) ** 2, weights=weight[rows])))
        if len(features):
            values, limit = X[rows][:, features] @ weights, tree.threshold[node]
            below, above = values[values <= limit], values[values > limit]
            ends = [below.max(initial=-np.inf), above.min(initial=np.inf)]
            sides[node] = [-ends[1], -ends[0]] if len(features) == 1 and weights[0] < 0 else ends
    return np.array(spreads), np.where(np.isinf(sides), np.nan, sides)


def check_exact(model, X, space=None, weight=None, objective=None):
    """All that is told of rows is what all rows say."""
    objective, space = objective or KMeans(), X if space is None else space
    weight = np.ones(X.shape[0]) if weight is None else weight
    tree, data = model.tree_, objective.prepare(space)
    leaves = tree.apply(X)
    labels = tree.leaf_label[leaves]
    centers = objective.update_centers(data, labels, weight, model.cluster_centers_)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-7, atol=1e-9)
    cost = objective.value(data, labels, weight, centers)
    assert model.inertia_ == pytest.approx(cost)
    free = (weight * objective.distances(data, model.free_centers_).min(axis=1)).sum()
    assert model.free_inertia_ == pytest.approx(free)
    assert model.cost_increase_ == pytest.approx(100 * (cost / free - 1), abs=1e-6)
    np.testing.assert_allclose(model.node_counts_, tree.node_counts(leaves, weight))
    spreads, sides = spreads_and_sides(tree, X, weight)
    np.testing.assert_allclose(model.split_stds_, spreads, rtol=1e-5)
    np.testing.assert_allclose(model.split_sides_, sides, rtol=1e-9)
    if model.free_centers_.shape[0] == len(centers):
        cheapest = np.array(
            [
                (weight[leaves == leaf] @ objective.distances(data, centers)[leaves == leaf]).min()
                for leaf in tree.leaves
            ]
        )
        assert cheapest.sum() <= cost * (1 + 1e-9)


@pytest.mark.slow
def test_fitted_attributes_are_exact():
    model = usual()
    check_exact(model, DIGITS)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "free_labels_")
    assert model.n_features_in_ == 64


@pytest.mark.slow
def test_weights_count_and_rows_without_weight_do_not():
    weight = np.random.default_rng(0).integers(0, 3, len(DIGITS)) * 1.5
    model = fit(TAOClustering(10, **FAST), DIGITS, weight=weight)
    check_exact(model, DIGITS, weight=weight)
    odd = DIGITS.copy()
    odd[weight == 0] = 1e3
    other = fit(TAOClustering(10, **FAST), odd, weight=weight)
    assert other.tree_ == model.tree_


@pytest.mark.slow
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_give_the_tree_of_dense_ones(kind):
    model = fit(TAOClustering(10, **FAST), kind(DIGITS))
    check_exact(model, DIGITS)
    assert abs(model.cost_increase_ - usual().cost_increase_) < 1.0


@pytest.mark.slow
def test_float32_is_not_converted():
    model = fit(TAOClustering(10, **FAST), DIGITS.astype(np.float32))
    check_exact(model, DIGITS.astype(np.float32))


@pytest.mark.slow
def test_spherical_clusters():
    X = DIGITS / np.linalg.norm(DIGITS, axis=1, keepdims=True)
    model = fit(TAOClustering(10, objective="spherical", **FAST | {"lambda_": 0.01}), X)
    check_exact(model, X, objective=SphericalKMeans())


@pytest.mark.slow
def test_standardised_tests_of_rows_clustered_elsewhere():
    embedding = DIGITS @ np.random.default_rng(0).normal(size=(64, 2))
    estimator = TAOClustering(5, standardize=True, **FAST)
    check_exact(fit(estimator, DIGITS, embedding=embedding), DIGITS, embedding)


@pytest.mark.slow
def test_rows_clustered_elsewhere():
    embedding = DIGITS @ np.random.default_rng(0).normal(size=(64, 5))
    model = fit(TAOClustering(10, **FAST), DIGITS, embedding=embedding)
    check_exact(model, DIGITS, embedding)
    assert model.cluster_centers_.shape == (10, 5)


@pytest.mark.parametrize("kind", [np.asarray, pytest.param(sp.csr_matrix, marks=pytest.mark.slow)])
def test_standardised_columns(kind):
    estimator = TAOClustering(3, standardize=True, lambda_=0.5, random_state=0)
    model = fit(estimator, kind(WINE), 50)
    scale = WINE.std(axis=0)
    Z = WINE / scale if kind is sp.csr_matrix else (WINE - WINE.mean(axis=0)) / scale
    labels, objective = model.predict(kind(WINE)), KMeans()
    data = objective.prepare(Z)
    centers = objective.update_centers(data, labels, np.ones(len(Z)), np.zeros((3, 13)))
    assert model.inertia_ == pytest.approx(
        objective.value(data, labels, np.ones(len(Z)), centers), rel=1e-9
    )
    means = np.array([WINE[labels == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9)
    assert model.cost_increase(kind(WINE)) == pytest.approx(model.cost_increase_, abs=1e-6)
    assert model.standardize


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        IMM(10, random_state=0),
        ExKMC(10, max_leaves=20, random_state=0),
        ExGreedy(10, random_state=0),
        ExShallow(10, random_state=0),
        CART(10, random_state=0),
        Kauri(10, random_state=0),
        TAOClustering(10, split="axis", depth=5, random_state=0),
        TAOClustering(10, split=AxisAligned(midpoints=False), depth=5, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_axis_aligned_trees(estimator):
    model = fit(estimator, DIGITS)
    check_exact(model, DIGITS)
    assert (np.diff(model.tree_.split_indptr)[model.tree_.decision_nodes] == 1).all()
    assert model.cost_increase_ < 60
    if estimator.get_params().get("split", "axis") != "axis":  # thresholds are values of rows
        for node in model.tree_.decision_nodes:
            (feature,), _ = model.tree_.split(node)
            assert model.tree_.threshold[node] in DIGITS[:, feature]


@pytest.mark.slow
def test_thresholds_lie_halfway_between_rows():
    model = fit(TAOClustering(10, split="axis", depth=4, random_state=0), DIGITS)
    tree = model.tree_
    for node in tree.decision_nodes:
        (feature,), _ = tree.split(node)
        rows = DIGITS[(tree.decision_path(DIGITS)[:, [node]].toarray() > 0).ravel()][:, feature]
        t = tree.threshold[node]
        assert t == pytest.approx((rows[rows <= t].max() + rows[rows > t].min()) / 2)


def test_histograms_of_leaves_are_of_all_rows():
    estimator = TAOClustering(
        10,
        algorithm=PenaltyMethod(penalty="squared", n_init=1, refine=False),
        lambda_=3.0,
        random_state=0,
    )
    model = fit(estimator, DIGITS)
    free = ((DIGITS[:, None] - model.free_centers_) ** 2).sum(axis=2).argmin(axis=1)
    leaves = model.apply(DIGITS)
    for leaf in model.tree_.leaves:
        share = np.bincount(free[leaves == leaf], minlength=10) / (leaves == leaf).sum()
        np.testing.assert_allclose(model.tree_.leaf_value[leaf], share)


@pytest.mark.slow
def test_the_partition_changes_rounding_alone():
    for size in (77, len(DIGITS)):
        model = fit(TAOClustering(10, **FAST), DIGITS, size)
        np.testing.assert_array_equal(model.tree_.split_indices, usual().tree_.split_indices)
        np.testing.assert_allclose(model.tree_.threshold, usual().tree_.threshold, rtol=1e-9)
        assert model.inertia_ == pytest.approx(usual().inertia_, rel=1e-12)


@pytest.mark.slow
def test_threads_change_nothing():
    model = fit(TAOClustering(10, n_jobs=2, **FAST), DIGITS)
    assert model.tree_ == usual().tree_
    assert model.inertia_ == usual().inertia_
    np.testing.assert_array_equal(model.cluster_centers_, usual().cluster_centers_)


@pytest.mark.slow
def test_a_sample_of_all_rows_is_no_worse_than_memory():
    estimator = TAOClustering(10, **FAST)
    model = fit(estimator, DIGITS, coreset_size="auto")
    memory = clone(estimator).set_params(reference=model.free_centers_).fit(DIGITS)
    assert model.tree_.n_parameters <= memory.tree_.n_parameters
    assert model.cost_increase_ <= memory.cost_increase_ + 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree has lost")
def test_given_centres_stay_as_they_are():
    centers = DIGITS[:10] * 1.0
    model = fit(TAOClustering(10, reference=centers, **FAST), DIGITS)
    np.testing.assert_allclose(model.free_centers_, centers)
    assert model.reference is centers
    with pytest.raises(ValueError, match="n_clusters=10 centres with 64 features"):
        fit(TAOClustering(10, reference=centers[:9], **FAST), DIGITS)


@pytest.mark.slow
def test_a_fitted_model_is_used_like_any_other():
    model = usual()
    assert "cluster" in model.to_text()
    assert model.score(DIGITS) == pytest.approx(-model.inertia_)
    assert model.cost_increase(DIGITS) == pytest.approx(model.cost_increase_, abs=1e-6)
    assert model.transform(DIGITS[:3]).shape == (3, 10)
    assert len(model.explain(DIGITS[:2])) == 2
    assert model.n_iter_ == len(model.history_)
    model.plot()


@pytest.mark.slow
def test_the_estimator_stays_as_it_was():
    estimator = TAOClustering(10, **FAST)
    before = estimator.get_params()
    model = fit(estimator, DIGITS)
    assert not hasattr(estimator, "tree_")
    assert estimator.get_params() == before == model.get_params()


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize(
    ("X", "k"),
    [
        (IRIS, 1),
        (np.ones((1, 3)), 1),
        (np.arange(12.0).reshape(6, 2), 6),
        (np.hstack([IRIS, np.ones((150, 2))]), 3),
        (IRIS * 1e-30, 3),
        (IRIS * 1e30, 3),
        (IRIS + 1e8, 3),
        (np.hstack([np.eye(40), np.zeros((40, 200))]), 4),
        (DIGITS[:600], 100),
    ],
    ids=["k=1", "one row", "n=k", "constant", "tiny", "huge", "far", "wide", "k=100"],
)
@pytest.mark.parametrize("kind", [TAOClustering, ExKMC])
@pytest.mark.filterwarnings("ignore:The tree has lost")
def test_degenerate_rows(X, k, kind):
    estimator = kind(k, random_state=0)
    if k == 100 and kind is TAOClustering:
        estimator.set_params(depth=7, lambda_=1.0, algorithm=DirectForm(n_init=1))
    model = outofcore.fit(estimator, in_parts(X, 37), random_state=0)
    labels = model.predict(X)
    assert labels.max() < k
    cost = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in set(labels))
    assert model.inertia_ == pytest.approx(cost, rel=1e-6, abs=1e-9 * (X**2).sum())


def test_equal_rows_are_one_leaf():
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters"):
        model = outofcore.fit(TAOClustering(3), [np.ones((5, 2))] * 3, random_state=0)
    assert model.tree_.n_leaves == 1
    assert model.inertia_ == model.cost_increase_ == 0


@pytest.mark.slow
def test_empty_blocks_are_no_rows():
    parts = [DIGITS[:0], *in_parts(DIGITS, 250), DIGITS[:0]]
    options = {"coreset_size": len(DIGITS) // 3, "random_state": 0}
    model = outofcore.fit(TAOClustering(10, **FAST), parts, **options)
    assert model.tree_ == usual().tree_


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (
            TAOClustering(3, objective="kmedoids"),
            "KMedoids.* has none: fit the estimator itself to a sample",
        ),
        (TAOClustering(3, objective="kmedians"), "centres are sums over rows"),
        (TAOClustering(3, objective="labels"), "centres are sums over rows"),
        (TAOClustering(3, validation=[1, 2, 3]), "validation by positions or a mask of rows"),
        (TAOClustering(0), "n_clusters"),
        (TAOClustering(3, reference=np.ones((2, 4))), "n_clusters=3 centres"),
        (TAOClustering(200), "n_samples=150 should be >= n_clusters=200"),
    ],
)
def test_unsupported_estimators_raise(estimator, match):
    with pytest.raises(ValueError, match=match):
        outofcore.fit(estimator, in_parts(IRIS, 50))


def test_other_objects_raise():
    with pytest.raises(TypeError, match="must be an estimator of tao_cluster or greedy"):
        outofcore.fit("TAOClustering", in_parts(IRIS, 50))
    for options in ({"coreset_size": 0}, {"coreset_size": 1.5}):
        with pytest.raises(ValueError, match=next(iter(options))):
            outofcore.fit(TAOClustering(3), in_parts(IRIS, 50), **options)


def test_a_block_with_missing_values_is_named():
    parts = in_parts(IRIS.copy(), 50)
    parts[2][3, 1] = np.nan
    with pytest.raises(outofcore.BlockError, match=r"Block 2: .*NaN") as error:
        outofcore.fit(TAOClustering(3), parts)
    assert error.value.number == 2


def test_blocks_that_change_are_named():
    class Changing:
        n_read = 0

        def __iter__(self):
            self.n_read += 1
            yield IRIS[:100]
            yield IRIS[100 : 150 if self.n_read < 4 else 140]

    with pytest.raises(
        outofcore.BlockError, match=r"Block 1: its shape was \(50, 4\) .* same in every pass"
    ):
        outofcore.fit(TAOClustering(3, random_state=0), Changing())


def test_an_end_before_the_first_tree_is_raised(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(passes, "value_moments", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(TAOClustering(3, random_state=0), IRIS, 50)


def test_a_sample_must_have_rows_for_all_clusters():
    for size in (1, 4):
        with pytest.raises(ValueError, match=r"increase coreset_size=\d"):
            outofcore.fit(TAOClustering(20), in_parts(IRIS, 50), coreset_size=size, random_state=0)


def test_progress_bars_name_the_passes(capsys):
    outofcore.fit(TAOClustering(3, verbose=1, random_state=0), in_parts(IRIS, 50), random_state=0)
    told = capsys.readouterr().err
    assert "pass: column_statistics" in told
    assert "pass: tree_statistics" in told


def test_names_that_are_not_strings_are_displayed():
    months = pd.DataFrame(IRIS, columns=range(1, 5))
    model = outofcore.fit(IMM(3, random_state=0), [months[:100], months[100:]])
    assert not hasattr(model, "feature_names_in_")
    assert f"if {model.tree_.used_features[0] + 1} <=" in model.to_text()
    with pytest.raises(ValueError, match="their order differs"):
        model.predict(months[months.columns[::-1]])
