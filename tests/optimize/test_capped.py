"""Oblique trees with a cap on the features per test: every test of every tree keeps to it."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit
from sklearn.datasets import make_blobs

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, Tree, outofcore, tao_path
from tao_cluster.solvers import Exact

ROWS = make_blobs(160, n_features=7, centers=5, cluster_std=4.0, random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(1, 4, len(ROWS)).astype(float)


def direct(cap, **options):
    return DirectForm(n_init=3, max_features_per_test=cap, **options)


# Parameters of TAOClustering for a cap; each combination has tests of more features without it.
COMBINATIONS = {
    "no refits": lambda cap: {"algorithm": direct(cap, relax=False), "lambda_": 10.0},
    "exact": lambda cap: {
        "algorithm": direct(cap, node_solver=Exact(), search="none"), "lambda_": 100.0,
    },
    "penalty": lambda cap: {
        "algorithm": PenaltyMethod(
            n_init=1, node_solver="liblinear", refine=DirectForm(max_features_per_test=cap)
        ),
        "lambda_": 10.0,
    },
}  # fmt: skip


def widths(tree):
    """Number of features of each test."""
    return np.diff(tree.split_indptr)[tree.decision_nodes]


def fitted(name, cap, X=ROWS, **fit):
    parameters = {"depth": 4, "random_state": 0, **COMBINATIONS[name](cap)}
    return TAOClustering(5, **parameters).fit(X, **fit)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMBINATIONS)
def test_every_test_keeps_to_the_cap(name):
    assert widths(fitted(name, None).tree_).max() > 2
    for cap in (1, 2):
        model = fitted(name, cap)
        assert model.tree_.n_leaves > 2
        assert widths(model.tree_).max() == cap


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_cap_holds_for_sparse_rows_weights_and_threads():
    sparse = sp.csr_matrix(np.where(ROWS > 0, ROWS, 0.0))
    for X in (ROWS, ROWS.astype(np.float32), sparse):
        model = fitted("no refits", 2, X, sample_weight=WEIGHT)
        assert widths(model.tree_).max() == 2
    parameters = {**model.get_params(deep=False), "n_jobs": 2}
    assert_same_fit(model, TAOClustering(**parameters).fit(sparse, sample_weight=WEIGHT))


@pytest.mark.slow
def test_labels_paths_and_fits_out_of_core_keep_to_the_cap():
    labels = (ROWS[:, :3].sum(axis=1) > 0).astype(int) + (ROWS[:, 3] > 2)
    options = {"random_state": 0, "algorithm": direct(2)}
    models = [TAOClustering(objective="labels", lambda_=1.0, **options).fit(ROWS, labels)]
    models += tao_path(ROWS, 5, [3.0, 30.0], depth=4, **options)
    blocks = [ROWS[:80], ROWS[80:]]
    estimator = TAOClustering(5, lambda_=10.0, depth=4, **options)
    models.append(outofcore.fit(estimator, blocks, coreset_size=90, random_state=0))
    assert all(widths(model.tree_).max() == 2 for model in models)


def test_a_cap_that_no_test_exceeds_changes_nothing():
    one, other = (fitted("no refits", cap) for cap in (None, ROWS.shape[1]))
    assert one.tree_ == other.tree_
    assert one.inertia_ == other.inertia_


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_the_most_useful_features_stay(rng, cap):
    X = rng.normal(size=(600, 5)) * [9.0, 1.0, 1.0, 1.0, 1.0]
    labels = X @ [3.0 / 9.0, -2.0, 1.0, 0.5, 0.0] > 0.3
    options = {"objective": "labels", "lambda_": 0.01, "depth": 1, "random_state": 0}
    model = TAOClustering(algorithm=direct(cap), **options).fit(X, labels)
    assert sorted(model.tree_.split(0)[0]) == list(range(cap))
    assert np.mean(model.labels_ != labels) < (0.26, 0.14, 0.07)[cap - 1]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_initial_trees_keep_the_sides_of_most_rows(form):
    """Most rows stay in their leaves, although the test loses its third feature."""
    X = np.random.default_rng(0).normal(size=(500, 3)) * [9.0, 9.0, 0.1]
    weights = np.array([1.0, -1.0, 2.0])
    splits = [(np.arange(3), weights), None, None]
    tree = Tree.from_splits([1, -1, -1], [2, -1, -1], splits, [3.0, 0, 0], [-1, 0, 1], 3)
    labels = tree.predict(X)
    options = {"objective": "labels", "lambda_": 0.01, "init": tree, "random_state": 0}
    model = TAOClustering(algorithm=direct(2, relax=False), **options).fit(form(X), labels)
    assert sorted(model.tree_.split(0)[0]) == [0, 1]
    assert np.mean(model.labels_ == labels) > 0.98
