"""Shared data and random trees."""

import json
import os
import signal
import tempfile
from collections import defaultdict
from inspect import isclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

import greedy
from tao_cluster import TAOClustering, Tree
from tao_cluster.columns import shown
from tao_cluster.solvers import NodeProblem
from tao_cluster.tree import tree_of as fitted_tree_of

os.environ.setdefault("MPLBACKEND", "Agg")


# Every estimator of both packages, by name.
ESTIMATORS = {
    cls.__name__: cls
    for cls in (TAOClustering, *(getattr(greedy, name) for name in greedy.__all__))
    if isclass(cls)
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Divide the parameters of tests with the mark `spaced` among quick, slow and sweep runs.

    The pages of the guide are slow, too. To run one, name it on the command line.
    """
    families = defaultdict(list)
    for item in items:
        if "guide" in item.path.parts and item.path.suffix == ".md":
            item.add_marker("slow")
        marks = {mark.name for mark in item.iter_markers()}
        if "spaced" in marks and not marks & {"slow", "sweep"}:
            families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        sizes = family[0].get_closest_marker("spaced").kwargs
        rest = _without_spaced(family, sizes["quick"])
        for item in rest:
            item.add_marker("slow")
        for item in _without_spaced(rest, sizes.get("slow", len(rest))):
            item.add_marker("sweep")


def _without_spaced(items, n_removed):
    """Return a list without some of its items, which are evenly spaced."""
    removed = {i * len(items) // n_removed for i in range(n_removed)}
    return [item for i, item in enumerate(items) if i not in removed]


def as_json(value):
    """Return a value as the file of a model holds it."""
    model = greedy.IMM(1).fit([[0.0], [1.0]])
    model.value_ = value
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        document = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    return document["attributes"]["value_"]


def rest_in_sweeps(values, *kept):
    """Parameters of a test that is dear: all but those that are kept are tried in sweeps."""
    return [v if v in kept else pytest.param(v, marks=pytest.mark.sweep) for v in values]


def random_tree(rng, n_features=6, n_nodes=15, n_clusters=4, density=0.5):
    """A random tree of random shape; weights and thresholds are small whole numbers: many ties."""
    left, right = [-1], [-1]
    while len(left) < n_nodes:
        leaf = rng.choice(np.flatnonzero(np.array(left) < 0))
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    splits, threshold, label = [], [], []
    for node in range(len(left)):
        if left[node] < 0:
            splits.append(None)
            threshold.append(0.0)
            label.append(int(rng.integers(n_clusters)))
            continue
        used = np.flatnonzero(rng.random(n_features) < density)
        splits.append((used, rng.choice([-2.0, -1.0, 1.0, 2.0], len(used))))
        threshold.append(float(rng.integers(-2, 3)))
        label.append(-1)
    return Tree.from_splits(left, right, splits, threshold, label, n_features)


def chain(n_leaves, n_clusters=None):
    """A tree whose tests have a leaf on their right side, by default of a cluster of its own."""
    children = np.full((2, 2 * n_leaves - 1), -1)
    for i in range(n_leaves - 1):
        children[:, 2 * i] = 2 * i + 2, 2 * i + 1
    inner = children[0] >= 0
    splits = [([i // 2 % 4], [1.0]) if is_test else None for i, is_test in enumerate(inner)]
    labels = np.arange(2 * n_leaves - 1) // 2 % (n_clusters or n_leaves)
    return Tree.from_splits(*children, splits, inner * 0.5, np.where(inner, -1, labels), 4)


def tree_of(model):
    """The tree that exports show of a Tree, an estimator or a pipeline."""
    return fitted_tree_of(shown(model)[0])


def solve(bound, *terms, **options):
    """The split that a bound solver finds for NodeProblem(*terms, **options)."""
    return bound.solve(NodeProblem(*terms, **options))[0]


@pytest.fixture
def python_hears_ctrl_c():
    """Python's own handler: what a shell starts in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def digits():
    return load_digits().data / 16


@pytest.fixture(scope="session")
def digits_reference(digits):
    return KMeans(10, n_init=10, random_state=0).fit(digits)


@pytest.fixture(scope="session")
def blobs():
    """Four clusters so far apart that nothing is lost by a tree with four leaves."""
    return make_blobs(
        240, centers=[[0, 0, 0], [20, 0, 5], [0, 25, 0], [20, 25, -5]], random_state=0
    )[0]


def small(n_clusters=3, **options):
    """An estimator for a few rows."""
    return TAOClustering(n_clusters, **{"lambda_": 1.0, "depth": 3, "random_state": 0, **options})


@pytest.fixture
def X(rng):
    """Rows without clusters."""
    return rng.normal(size=(200, 5))


def assert_same_fit(a, b):
    """Two estimators were fitted to the same bits."""
    assert a.tree_ == b.tree_
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == b.inertia_
