"""The tree: routing against a plain walk, pruning, round trips, validation."""

import copy
import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import Tree


def walk(tree, x):
    """Path of one row, node by node, in plain Python."""
    node, path = 0, [0]
    while tree.children_left[node] >= 0:
        value = 0.0
        for j, weight in zip(*tree.split(node), strict=True):
            value += float(weight) * float(x[j])
        goes_left = value <= tree.threshold[node]
        node = int(tree.children_left[node] if goes_left else tree.children_right[node])
        path.append(node)
    return path


def layouts(X):
    """The same numbers in every layout a user may bring."""
    padded = np.zeros((len(X), 2 * X.shape[1]), dtype=X.dtype)
    padded[:, ::2] = X
    frozen = X.copy()
    frozen.setflags(write=False)
    csr = sp.csr_matrix(X)
    long_indices = csr.copy()
    long_indices.indices = csr.indices.astype(np.int64)
    long_indices.indptr = csr.indptr.astype(np.int64)
    unsorted = csr.copy()
    for row in range(len(X)):
        part = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1]
        unsorted.data[part] = unsorted.data[part][::-1]
    unsorted.has_sorted_indices = False
    return {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": padded[:, ::2],
        "read-only": frozen,
        "csr_matrix": csr,
        "csr_array": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "int64 indices": long_indices,
        "unsorted": unsorted,
    }


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_nodes=st.sampled_from([1, 3, 9, 31]))
def test_routing_is_a_plain_walk(seed, n_nodes):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes=n_nodes)
    # Whole numbers: rows that lie exactly on a threshold are common.
    X = rng.integers(-2, 3, (40, tree.n_features)).astype(float)
    paths = [walk(tree, x) for x in X]
    np.testing.assert_array_equal(tree.apply(X), [path[-1] for path in paths])
    np.testing.assert_array_equal(tree.predict(X), tree.leaf_label[[p[-1] for p in paths]])
    visited = tree.decision_path(X)
    assert sp.issparse(visited)
    for row, path in enumerate(paths):
        np.testing.assert_array_equal(np.flatnonzero(visited[[row]].toarray()), path)


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_layout_takes_the_same_path(rng, dtype):
    tree = random_tree(rng, n_nodes=31)
    X = rng.normal(size=(200, tree.n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.4] = 0
    expected = [walk(tree, x)[-1] for x in X]
    for name, same in layouts(X).items():
        np.testing.assert_array_equal(tree.apply(same), expected, err_msg=name)


def test_a_row_on_the_threshold_goes_left():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.1, 0, 0], [-1, 0, 1], 1
    )
    above = np.nextafter(0.1, 1)
    np.testing.assert_array_equal(tree.predict([[0.1], [above]]), [0, 1])
    # 0.1 as float32 is larger than 0.1: the comparison is in float64.
    assert tree.predict(np.array([[0.1]], dtype=np.float32))[0] == 1


def check_bits_of_sums(X, used, weights):
    """Check the sums of a test at thresholds that equal the sum of a row, and just below it.

    The sums are added in the order of the features, for dense and sparse rows, one or many.
    """
    sums = np.zeros(len(X))
    for feature, weight in zip(used, weights, strict=True):
        sums += weight * X[:, feature]
    for i in range(0, len(X), 11):
        for threshold in (sums[i], np.nextafter(sums[i], -np.inf)):
            tree = Tree.from_splits(
                *([1, -1, -1], [2, -1, -1], [(used, weights), None, None]),
                *([threshold, 0, 0], [-1, 0, 1], X.shape[1]),
            )
            for rows in (X, np.asfortranarray(X), sp.csr_matrix(X)):
                np.testing.assert_array_equal(tree.predict(rows), sums > threshold)
                assert tree.predict(rows[i : i + 1])[0] == (sums[i] > threshold)


@pytest.mark.parametrize("n_features", [0, 1, 2, 3, 4, 30])
def test_sums_run_over_the_features_in_order_alone_and_in_a_batch(rng, n_features):
    """Sums have the same bits for dense and sparse rows, for one row and for many."""
    X, weights = rng.normal(size=(300, 30)), rng.normal(size=n_features)
    used = np.sort(rng.permutation(30)[:n_features])
    check_bits_of_sums(X, used, weights)


@pytest.mark.spaced(quick=3)
@pytest.mark.parametrize("density", [0.002, 0.02, 0.2])
@pytest.mark.parametrize("n_used", [1, 30, 900, 1000])
def test_short_rows_and_wide_splits(rng, density, n_used):
    """All ways to multiply sparse lists give the bits of the dense sum."""
    X = sp.random(200, 1000, density=density, random_state=0).toarray()
    used, weights = np.sort(rng.choice(1000, n_used, replace=False)), rng.normal(size=n_used)
    check_bits_of_sums(X, used, weights)


def test_threads_do_not_change_the_result(rng):
    tree = random_tree(rng, n_nodes=31)
    X = rng.normal(size=(20_000, tree.n_features))
    np.testing.assert_array_equal(tree.route(X, n_jobs=2), tree.route(X, n_jobs=1))
    np.testing.assert_array_equal(tree.route(X, n_jobs=2), tree.apply(X))


def test_counts_of_a_known_tree():
    tree = Tree.from_splits(
        [1, 3, -1, -1, -1],
        [2, 4, -1, -1, -1],
        [([0, 3], [1.0, -1.0]), ([3], [1.0]), None, None, None],
        [0.0, 1.0, 0, 0, 0],
        [-1, -1, 0, 1, 2],
        5,
    )
    assert (tree.n_nodes, tree.n_leaves, tree.max_depth, tree.n_nonzero) == (5, 3, 2, 3)
    assert tree.n_parameters == 3 + 2 + 3
    assert tree.features_per_split == 1.5
    np.testing.assert_array_equal(tree.used_features, [0, 3])
    np.testing.assert_array_equal(tree.depth, [0, 1, 1, 2, 2])
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 1, 1])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_json_keeps_every_bit(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    tree = tree.with_splits(
        {
            node: ((tree.split(node)[0], rng.normal(size=len(tree.split(node)[0]))), rng.normal())
            for node in tree.decision_nodes
        }
    )
    again = Tree.from_json(tree.to_json())
    assert again == tree
    assert Tree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
    assert tree != tree.with_leaves(np.where(tree.leaf_label < 0, -1, tree.leaf_label + 1))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "format"),
        ([], "format"),
        ({"format": "tao-cluster tree", "version": 99}, "version 99"),
        ({"format": "tao-cluster tree", "version": 1}, "missing children_left"),
    ],
)
def test_foreign_dicts_are_refused(data, sentence):
    with pytest.raises(ValueError, match=sentence):
        Tree.from_dict(data)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), density=st.sampled_from([0.05, 0.3, 0.8]))
def test_pruning_keeps_the_output_and_leaves_nothing_to_prune(seed, density):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes=31, n_clusters=2, density=density)
    X = rng.integers(-3, 4, (60, tree.n_features)).astype(float)
    pruned = tree.prune()
    np.testing.assert_array_equal(pruned.predict(X), tree.predict(X))
    assert pruned.n_parameters <= tree.n_parameters
    assert pruned.prune() == pruned
    assert np.all(np.diff(pruned.split_indptr)[pruned.decision_nodes] > 0)
    for node in pruned.decision_nodes:
        a, b = pruned.children_left[node], pruned.children_right[node]
        assert not (pruned.leaf_label[a] >= 0 and pruned.leaf_label[a] == pruned.leaf_label[b])

    alive = tree.prune(tree.node_counts(tree.apply(X)))
    np.testing.assert_array_equal(alive.predict(X), tree.predict(X))
    assert np.all(alive.node_counts(alive.apply(X)) > 0)
    assert alive.n_nodes <= pruned.n_nodes


def test_arrays_are_read_only_and_not_shared():
    label = np.array([-1, 0, 1])
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.0, 0, 0], label, 1
    )
    label[1] = 7
    assert tree.leaf_label[1] == 0
    for same in (tree, pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):  # noqa: S301
        assert same == tree
        for name in ("threshold", "leaf_label", "depth", "leaves", "parent", "decision_nodes"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(same, name)[0] = 1
    assert repr(tree) == "Tree(n_leaves=2, max_depth=1, n_parameters=4, n_features=1)"


@pytest.mark.parametrize(
    "change",
    [
        {"children_left": [1, -1]},
        {"children_left": [2, -1, -1]},
        {"children_right": [-1, -1, -1]},
        {"leaf_label": [-1, -1, 1]},
        {"threshold": [np.nan, 0, 0]},
        {"splits": [([0], [np.inf]), None, None]},
        {"splits": [([2], [1.0]), None, None]},
        {"splits": [([1, 0], [1.0, 1.0]), None, None]},
        {"splits": [None, ([0], [1.0]), None]},
        {"leaf_value": [[0.5, 0.5]]},
        {"threshold": [0.0, 2.0, 0]},
        {"splits": [([0, 1], [1.0, 0.0]), None, None]},
    ],
)
def test_arrays_that_are_no_tree_are_refused(change):
    good = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "splits": [([0], [1.0]), None, None],
        "threshold": [0.0, 0, 0],
        "leaf_label": [-1, 0, 1],
        "n_features": 2,
    }
    Tree.from_splits(**good)
    with pytest.raises(ValueError, match=r"\.$"):
        Tree.from_splits(**{**good, **change})


def test_bad_rows_are_refused(rng):
    tree = random_tree(rng)
    with pytest.raises(ValueError, match="expects 6 features"):
        tree.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="NaN"):
        tree.predict(np.full((2, 6), np.nan))


def test_single_leaf():
    tree = Tree.single_leaf(3, n_features=2)
    assert (tree.n_leaves, tree.max_depth, tree.n_parameters) == (1, 0, 1)
    np.testing.assert_array_equal(tree.predict(np.zeros((4, 2))), [3, 3, 3, 3])
    assert tree.prune() == tree
    assert tree.to_text() == "|--- cluster 3"
    assert tree.to_rules() == ["always then cluster 3"]


def test_more_rows_than_go_down_together(rng):
    X = rng.normal(size=(1500, 4))
    tree = random_tree(rng, 4, 15)
    together = tree.apply(X)
    np.testing.assert_array_equal(together, [tree.apply(X[[i]])[0] for i in range(len(X))])
    assert len(np.unique(together)) > 2
