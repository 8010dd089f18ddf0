"""Standardised columns: what a fit sees of them, and trees and centres in the user's units."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import small
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from greedy import IMM, ExGreedy, ExKMC, ExShallow, ExShallowSearch
from tao_cluster import DirectForm, TAOClustering, tao_path
from tao_cluster.problem.scaling import Scaling

WINE = load_wine().data


def test_columns_come_back(rng):
    X = rng.normal(size=(50, 4)) * [1e-6, 1, 1e6, 0] + [1, -5, 1e9, 3]
    weight = rng.random(50)
    scaling = Scaling.from_rows(X, weight)
    Z = scaling.apply(X)
    np.testing.assert_allclose(np.average(Z, axis=0, weights=weight), 0, atol=1e-6)
    np.testing.assert_allclose(np.average(Z**2, axis=0, weights=weight)[:3], 1, rtol=1e-6)
    assert np.ptp(Z[:, 3]) == 0  # a constant column
    np.testing.assert_allclose(scaling.undo(Z), X, rtol=1e-12)
    np.testing.assert_allclose(scaling.apply_to_points(X), Z)
    assert scaling.apply(X.astype(np.float32)).dtype == np.float32


def test_sparse_columns_keep_their_zeros(rng):
    X = sp.random(60, 8, 0.3, format="csr", random_state=0)
    scaling = Scaling.from_rows(X, np.ones(60))
    Z = scaling.apply(X)
    assert Z.nnz == X.nnz
    np.testing.assert_allclose(Z.toarray().std(axis=0), 1)
    assert not scaling.offset.any()


def test_a_spread_that_overflows_gets_a_sentence():
    X = np.array([[1e300, 1.0], [-1e300, 2.0], [0.0, 3.0]])
    with pytest.raises(ValueError, match="column 0 of X overflows"):
        small(2, standardize=True).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_same_clusters_as_of_standardised_columns_and_the_tree_in_raw_units(split):
    scaler = StandardScaler().fit(WINE)
    Z = scaler.transform(WINE)
    centers = KMeans(3, n_init=10, random_state=0).fit(Z).cluster_centers_
    # Other starts and noisy copies draw rows by position, which depends on the units.
    init = {"oblique": "centroids", "axis": "auto"}[split]
    algorithm = DirectForm(copies=0)
    options = {"split": split, "lambda_": "auto", "init": init, "algorithm": algorithm}
    in_raw_units = scaler.inverse_transform(centers)
    raw = small(**options, standardize=True, reference=in_raw_units).fit(WINE)
    scaled = small(**options, reference=centers).fit(Z)
    np.testing.assert_array_equal(raw.labels_, scaled.labels_)
    np.testing.assert_array_equal(raw.labels_, raw.predict(WINE))
    np.testing.assert_array_equal(raw.labels_, raw.tree_.predict(WINE))
    assert raw.inertia_ == pytest.approx(scaled.inertia_)
    assert raw.tree_.n_parameters == scaled.tree_.n_parameters
    np.testing.assert_allclose(
        raw.cluster_centers_, [WINE[raw.labels_ == k].mean(axis=0) for k in range(3)]
    )
    np.testing.assert_allclose(raw.transform(WINE), scaled.transform(Z))
    assert raw.score(WINE) == pytest.approx(scaled.score(Z))
    assert raw.cost_increase(WINE) == pytest.approx(raw.cost_increase_)


@pytest.mark.spaced(quick=4)
@pytest.mark.parametrize(
    "method",
    [
        IMM(3, random_state=0),
        ExGreedy(3, random_state=0),
        ExShallow(3, random_state=0),
        ExShallowSearch(3, random_state=0, max_cost_increase=10),
        ExKMC(3, random_state=0, max_leaves=8),
    ],
    ids=lambda method: type(method).__name__,
)
@pytest.mark.parametrize("midpoints", [False, True])
def test_builders_cut_in_raw_units(method, midpoints):
    scaler = StandardScaler().fit(WINE)
    Z = scaler.transform(WINE)
    centers = KMeans(3, random_state=0).fit(Z).cluster_centers_
    method.set_params(midpoints=midpoints, reference=centers, standardize=False)
    scaled = clone(method).fit(Z)
    raw = method.set_params(reference=scaler.inverse_transform(centers), standardize=True).fit(WINE)
    np.testing.assert_array_equal(raw.labels_, scaled.labels_)
    np.testing.assert_array_equal(raw.tree_.apply(WINE), scaled.tree_.apply(Z))
    assert raw.cost_increase_ == pytest.approx(scaled.cost_increase_)
    thresholds = {
        record["node"]: record.get("threshold") for record in raw.history_ if "node" in record
    }
    for node, threshold in thresholds.items():
        assert threshold == raw.tree_.threshold[node]
    if isinstance(method, ExKMC):
        part = raw.tree_at(5)
        np.testing.assert_array_equal(part.apply(WINE), scaled.tree_at(5).apply(Z))


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    exponents=st.lists(st.floats(-6, 6), min_size=13, max_size=13),
    split=st.sampled_from(["oblique", "axis"]),
)
def test_units_do_not_matter(exponents, split):
    factors = 10.0 ** np.array(exponents)
    options = {
        "split": split,
        "lambda_": 5.0 if split == "oblique" else 0.0,
        "algorithm": DirectForm(n_init=1),
    }
    one = small(standardize=True, **options).fit(WINE)
    other = small(standardize=True, **options).fit(WINE * factors)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(WINE * factors), other.labels_)
    for node in one.tree_.decision_nodes:
        (features, weights), (same, changed) = one.tree_.split(node), other.tree_.split(node)
        np.testing.assert_array_equal(features, same)
        if len(features) > 1:
            np.testing.assert_allclose(changed * factors[features], weights, rtol=1e-6)
            assert other.tree_.threshold[node] == pytest.approx(one.tree_.threshold[node])
        else:
            assert other.tree_.threshold[node] / changed[0] == pytest.approx(
                one.tree_.threshold[node] / weights[0] * factors[features[0]]
            )


@pytest.mark.slow
@pytest.mark.parametrize("method", [IMM(3, random_state=0), TAOClustering(3, random_state=0)])
def test_units_do_not_matter_where_rows_repeat_or_have_weights(method, rng):
    """Merged rows stand in one order in all units: iris has a row twice."""
    X, weight = load_iris().data, rng.integers(1, 4, 150).astype(float)
    method.set_params(standardize=True)
    for options in ({}, {"sample_weight": weight}):
        labels = method.fit(X, **options).labels_
        for factors in 10.0 ** rng.integers(-6, 7, (1, 4)):
            np.testing.assert_array_equal(method.fit(X * factors, **options).labels_, labels)
            sparse = sp.csr_matrix(X * factors)
            np.testing.assert_array_equal(
                method.fit(sparse, **options).labels_,
                method.fit(sp.csr_matrix(X), **options).labels_,
            )


@pytest.mark.slow
def test_constant_columns_have_no_spread_however_large(rng):
    X = np.column_stack([WINE, np.full(len(WINE), 1e300)])
    model = small(standardize=True).fit(X)
    np.testing.assert_array_equal(model.labels_, small(standardize=True).fit(WINE).labels_)


@pytest.mark.slow
def test_references_and_initial_trees_are_in_raw_units():
    fitted = KMeans(3, n_init=10, random_state=0).fit(WINE)
    with pytest.warns(UserWarning, match=r"% less than the reference.*Give it unfitted"):
        of_centers = small(standardize=True, reference=fitted.cluster_centers_).fit(WINE)
    assert of_centers.cost_increase_ < -5
    with pytest.warns(UserWarning, match=r"less than the reference"):
        of_estimator = small(standardize=True, reference=fitted).fit(WINE)
    # The remedies give no warning, which would be an error here.
    assert small(standardize=True, reference=clone(fitted)).fit(WINE).cost_increase_ > -1
    assert small(reference=fitted, lambda_=1e5).fit(WINE).cost_increase_ > -1
    np.testing.assert_allclose(of_centers.free_centers_, fitted.cluster_centers_)
    assert of_centers.tree_ == of_estimator.tree_
    free = small(standardize=True).fit(WINE)
    again = small(standardize=True, init=free.tree_, reference=free.free_centers_, lambda_=0.01)
    assert again.fit(WINE).cost_increase_ <= free.cost_increase_ + 1e-9
    with pytest.raises(ValueError, match="must have n_clusters=3 centres"):
        small(standardize=True, reference=np.zeros((3, 2))).fit(WINE)


@pytest.mark.slow
def test_an_embedding_is_left_alone():
    X = load_breast_cancer().data
    Z = StandardScaler().fit_transform(X)
    options = {"max_cost_increase": 1, "lambda_": "auto", "depth": 5}
    model = small(4, standardize=True, **options).fit(X, embedding=Z)
    assert model.cost_increase_ <= 1
    assert model.tree_.n_parameters <= 18
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_allclose(
        model.cluster_centers_, [Z[model.labels_ == k].mean(axis=0) for k in range(4)]
    )


@pytest.mark.slow
def test_weights_sparse_rows_single_precision_and_paths(rng):
    repeats = rng.integers(0, 3, len(WINE))
    weighted = small(standardize=True).fit(WINE, sample_weight=repeats.astype(float))
    repeated = small(standardize=True).fit(np.repeat(WINE, repeats, axis=0))
    assert weighted.tree_ == repeated.tree_
    for X in (sp.csr_matrix(WINE), WINE.astype(np.float32)):
        model = small(standardize=True).fit(X)
        np.testing.assert_array_equal(model.labels_, model.predict(X))
        assert model.cost_increase_ < 3
    for model in tao_path(WINE, 3, depth=3, standardize=True, random_state=0, lambdas=[0.5, 5]):
        np.testing.assert_array_equal(model.labels_, model.predict(WINE))


def test_far_from_zero(rng):
    """Times in milliseconds, of a spread of seconds."""
    X = np.column_stack([rng.normal(size=200) * 1e3 + 1.7e12, rng.normal(size=200)])
    X[:100] += [5e4, 9]
    model = small(2, standardize=True).fit(X)
    assert model.cost_increase_ == 0
    np.testing.assert_array_equal(model.labels_, model.predict(X))
