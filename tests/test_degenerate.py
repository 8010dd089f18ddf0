"""Degenerate data, for every estimator: DESIGN's valid trees and warnings, never a traceback."""

import warnings

import numpy as np
import pytest
from conftest import ESTIMATORS
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from tao_cluster import TAOClustering, Tree

BLOBS = np.random.default_rng(0).normal(size=(24, 2)) + np.repeat(
    [[0, 0], [9, 0], [0, 9]], 8, axis=0
)
VARIANTS = {
    **{name: (cls, {}) for name, cls in ESTIMATORS.items()},
    "axis": (TAOClustering, {"split": "axis"}),
    "standardized": (TAOClustering, {"standardize": True}),
    "penalty": (TAOClustering, {"algorithm": "penalty"}),
    "kmedians": (TAOClustering, {"objective": "kmedians"}),
    "kmedoids": (TAOClustering, {"objective": "kmedoids"}),
}


@pytest.fixture(params=list(VARIANTS))
def fit(request):
    """A fit of an estimator, whose warnings are what a test of them looks for."""
    cls, options = VARIANTS[request.param]

    def fit(X, n_clusters, **arguments):
        model = cls(n_clusters, random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of lambda, of lost clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, **arguments)

    return fit


def assert_usable(model, X):
    """Labels are the tree's and consecutive from 0, costs are numbers, exports work."""
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    used = np.unique(model.labels_)
    np.testing.assert_array_equal(used, np.arange(len(used)))
    assert np.isfinite(model.cluster_centers_).all()
    assert model.inertia_ >= 0
    assert Tree.from_json(model.tree_.to_json()) == model.tree_
    assert model.to_text()


def test_one_cluster(fit):
    model = fit(BLOBS, 1)
    assert_usable(model, BLOBS)
    assert set(model.labels_) == {0}
    assert model.cost_increase_ == 0


def test_one_row(fit):
    model = fit(BLOBS[:1], 1)
    assert_usable(model, BLOBS[:1])
    assert model.tree_.n_leaves == 1
    assert model.inertia_ == model.cost_increase_ == 0


def test_equal_rows(fit):
    X = np.full((6, 2), 0.1)
    model = fit(X, 2)
    assert_usable(model, X)
    assert model.tree_.n_leaves == 1
    assert model.inertia_ == model.cost_increase_ == 0


def test_fewer_distinct_rows_than_clusters(fit):
    X = np.repeat([[0.0, 0], [5, 0], [0, 5]], 4, axis=0)
    model = fit(X, 5)
    assert_usable(model, X)
    assert set(model.labels_) == {0, 1, 2}
    assert model.cost_increase_ == 0
    if not isinstance(model, ESTIMATORS["ExSingleLink"]):  # of which it is the inverse of a spacing
        assert model.inertia_ == 0


def test_fewer_distinct_rows_than_clusters_are_told():
    X = np.repeat([[0.0, 0], [5, 0], [0, 5]], 4, axis=0)
    for cls in ESTIMATORS.values():
        with pytest.warns(ConvergenceWarning, match="Only 3 of 5 clusters have rows"):
            cls(5, random_state=0).fit(X)


@pytest.mark.spaced(quick=5)
def test_constant_columns_are_not_used(fit):
    X = np.c_[np.full(24, 7.0), BLOBS, np.zeros(24)]
    model = fit(X, 3)
    assert_usable(model, X)
    assert set(model.tree_.used_features) <= {1, 2}
    assert adjusted_rand_score(model.labels_, fit(BLOBS, 3).labels_) == 1


@pytest.mark.spaced(quick=6)
def test_rows_of_weight_zero_are_absent(fit):
    weight = np.ones(24)
    weight[::3] = 0
    model, absent = fit(BLOBS, 3, sample_weight=weight), fit(BLOBS[weight > 0], 3)
    assert model.tree_ == absent.tree_
    assert model.inertia_ == absent.inertia_
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    assert model.node_counts_[0] == weight.sum()


@pytest.mark.spaced(quick=5, slow=18)
def test_a_cluster_without_rows(fit):
    """One of the given centres is far from all rows; its leaf, where a tree has one, is empty."""
    centers = np.array([[0.0, 0], [9, 0], [0, 9], [1e6, 1e6]])
    model = fit(BLOBS, 4)
    if "reference" not in model.get_params():
        return  # ExSingleLink has a free clustering of its own
    model.set_params(reference=centers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(BLOBS)
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    assert model.node_counts_[0] == len(BLOBS)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.to_text()


def test_as_many_clusters_as_rows(fit):
    model = fit(BLOBS[:3], 3)
    assert_usable(model, BLOBS[:3])
