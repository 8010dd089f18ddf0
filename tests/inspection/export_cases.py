"""Trees of every kind, with rows and their clusters, for the tests of the exports.

A new export needs one test that takes `case`:

    from export_cases import every_case

    @every_case
    def test_c_code(case):
        model, X, labels = case()
        assert labels_of_my_export(model, X) == labels.tolist()

Tests with the mark `every_format` run the methods `to_...` of the facade, new ones included.
"""

import functools

import numpy as np
import pytest
from conftest import random_tree
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from greedy import ExKMC
from tao_cluster import TAOClustering, Tree
from tao_cluster.cli.using import content
from tao_cluster.facade import FORMATS
from tao_cluster.initial_trees.cart import cart_tree

# Names that break an export that does not quote them correctly.
AWKWARD = ['pet"al', "le ng th", "größe μ", "a\\b", "it's", "line\nbreak", "<x>", "{y}"]


def stump(threshold=0.5, weights=(1.0, -2.0), n_features=2):
    """Return a tree with one test of the first features: cluster 0 on the left, 1 on the right."""
    splits = [(range(len(weights)), weights), None, None]
    return Tree.from_splits(
        [1, -1, -1], [2, -1, -1], splits, [threshold, 0, 0], [-1, 0, 1], n_features
    )


def chain(*tests, n_features=2):
    """Return a chain of tests (feature, weight, threshold, whether the next test is on the left).

    The leaf of test i has label i, the last one's other leaf one more.
    """
    left, right, splits, threshold, label = [], [], [], [], []
    for i, (feature, weight, limit, goes_left) in enumerate(tests):
        beside, below = 2 * i + 1, 2 * i + 2
        left += [below if goes_left else beside, -1]
        right += [beside if goes_left else below, -1]
        splits += [([feature], [weight]), None]
        threshold += [limit, 0.0]
        label += [-1, i]
    return Tree.from_splits(
        [*left, -1],
        [*right, -1],
        [*splits, None],
        [*threshold, 0.0],
        [*label, len(tests)],
        n_features,
    )


def _with_rows(tree):
    """Return rows of small integers: sums are exact in every order, and many lie on a threshold."""
    return tree, np.random.default_rng(1).integers(-3, 4, (60, tree.n_features)).astype(float)


def oblique():
    """Tests of several features, of one feature and of none."""
    return _with_rows(random_tree(np.random.default_rng(3), n_features=6, n_nodes=31))


def weights_free():
    """Some tests have no weights, so that one of their sides is empty."""
    tree = random_tree(np.random.default_rng(4), n_features=3, n_nodes=31, density=0.25)
    assert np.any(np.diff(tree.split_indptr)[tree.decision_nodes] == 0)
    return _with_rows(tree)


def no_weights_at_all():
    """No test has a weight."""
    return _with_rows(random_tree(np.random.default_rng(5), n_features=2, n_nodes=7, density=0))


def with_histograms():
    """Leaves have histograms over the clusters."""
    tree = random_tree(np.random.default_rng(6), n_nodes=21)
    value = np.zeros((tree.n_nodes, 4))
    value[tree.leaves] = np.random.default_rng(7).dirichlet(np.ones(4), tree.n_leaves)
    label = tree.leaf_label.copy()
    label[tree.leaves] = value[tree.leaves].argmax(axis=1)
    return _with_rows(tree.with_leaves(label, value))


def single_leaf():
    """A single leaf whose label is not 0."""
    return _with_rows(Tree.single_leaf(3, n_features=2))


def axis_aligned():
    """Thresholds are values of rows with all digits, so that many rows lie on one."""
    X = np.random.default_rng(8).normal(size=(150, 4))
    model = ExKMC(6, max_leaves=30, midpoints=False, random_state=0).fit(X)
    assert np.isin(model.tree_.threshold[model.tree_.decision_nodes], X).all()
    return model, X


def deep():
    """A chain with more levels than parsers allow for nested expressions."""
    X = np.arange(200.0)[:, None]
    return cart_tree(X, np.arange(200) % 3, 200), X


def iris():
    """A fitted oblique model."""
    X = load_iris().data
    return TAOClustering(3, lambda_=0.3, depth=3, random_state=0).fit(X), X


def scaled_axis_aligned():
    """Thresholds between rows, since scalers round differently in float32 and float64."""
    X = np.random.default_rng(9).normal(1e3, 50, (150, 4))
    model = ExKMC(6, max_leaves=30, midpoints=True, random_state=0)
    return make_pipeline(MinMaxScaler(), StandardScaler(), model).fit(X), X


def scaled_iris():
    """Weighted sums of scaled columns."""
    X = load_iris().data
    model = TAOClustering(3, lambda_=0.1, depth=3, random_state=0)
    return make_pipeline(MaxAbsScaler(), model).fit(X), X


MAKERS = [
    scaled_axis_aligned,
    scaled_iris,
    oblique,
    weights_free,
    no_weights_at_all,
    with_histograms,
    single_leaf,
    axis_aligned,
    deep,
    iris,
]


@functools.cache
def _made(make):
    model, X = make()
    return model, X, model.predict(X)


# A test with this mark runs once per kind of tree. `case()` returns a Tree, estimator or pipeline,
# rows, and their clusters.
every_case = pytest.mark.parametrize(
    "case", [functools.partial(_made, make) for make in MAKERS], ids=[m.__name__ for m in MAKERS]
)

TEXT_FORMATS = [name for name in FORMATS if name != "onnx"]

# A test with this mark runs once per format of text. `write(model)` returns the text.
every_format = pytest.mark.parametrize(
    "write", [functools.partial(content, name=name) for name in TEXT_FORMATS], ids=TEXT_FORMATS
)
