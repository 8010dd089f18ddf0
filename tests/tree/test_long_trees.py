"""Paths, counts and rules of trees whose paths are long: the size of what is asked for, no more."""

import itertools
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree

from tao_cluster import Tree
from tao_cluster.explanations import nearest_change
from tao_cluster.export import to_rules, to_sql, to_text


def chain(n_tests):
    """Tests that send every row on but those of one leaf each, over five features in turn."""
    n_nodes = 2 * n_tests + 1
    tests = np.arange(0, 2 * n_tests, 2)
    left, right, label = (np.full(n_nodes, -1) for _ in range(3))
    left[tests], right[tests] = tests + 1, tests + 2
    leaves = np.flatnonzero(left < 0)
    label[leaves] = leaves % 3
    splits = [([i // 2 % 5], [1.0]) if left[i] >= 0 else None for i in range(n_nodes)]
    threshold = np.where(left >= 0, np.arange(n_nodes), 0.0)
    return Tree.from_splits(left, right, splits, threshold, label, 5)


@pytest.fixture(params=[0, 1, 2, "one_feature", "chain", "leaf"])
def tree(request):
    if request.param == "chain":
        return chain(40)
    if request.param == "one_feature":  # many bounds replace others
        return random_tree(np.random.default_rng(3), n_features=1, n_nodes=61, density=1.0)
    if request.param == "leaf":
        return Tree.single_leaf(0, 5)
    rng = np.random.default_rng(request.param)
    return random_tree(rng, n_features=5, n_nodes=61, density=0.3)


def slow_path(tree, node):
    """By definition: the nodes whose subtree has the node."""
    path = [node]
    while path[0] > 0:
        path.insert(0, int(tree.parent[path[0]]))
    return path


def test_paths(tree):
    nodes = np.random.default_rng(0).integers(0, tree.n_nodes, 50)
    for some in (nodes, np.arange(tree.n_nodes), nodes[:0]):
        found = tree.paths(some)
        assert sp.issparse(found)
        assert found.shape == (len(some), tree.n_nodes)
        assert found.has_canonical_format
        assert found.dtype == np.int8
        for i, node in enumerate(some):
            assert found[[i]].indices.tolist() == slow_path(tree, int(node))
            assert tree.path(node).tolist() == slow_path(tree, int(node))
    np.testing.assert_array_equal(
        tree.path_matrix.toarray(), tree.paths(range(tree.n_nodes)).todense()
    )


def test_counts_are_sums_in_the_order_of_the_nodes(tree):
    """Bit by bit: weights are added in one order, whatever the tree is like."""
    rng = np.random.default_rng(1)
    leaves = rng.choice(tree.leaves, 300)
    weight = rng.random(300) * 10.0 ** rng.integers(-9, 9, 300)
    at_leaves = np.bincount(leaves, weight, tree.n_nodes)
    expected = [0.0] * tree.n_nodes
    for node in range(tree.n_nodes):
        for above in slow_path(tree, node):
            expected[above] += at_leaves[node]
    assert tree.node_counts(leaves, weight).tolist() == expected
    assert tree.node_counts(leaves)[0] == 300


def peak(function):
    """Bytes that a call asks for, at most."""
    tracemalloc.start()
    function()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_a_chain_of_20001_nodes_takes_what_its_rows_do():
    """All paths together have 10^8 nodes."""
    tree = chain(10_000)
    X = np.random.default_rng(0).uniform(0, 60, (200, 5))
    leaves = tree.apply(X)
    tree.decision_path(X[:1]), tree.node_counts(leaves)  # compiled, parents and depths known
    assert peak(lambda: tree.decision_path(X)) < 2**20
    assert peak(lambda: tree.node_counts(leaves)) < 2**20
    assert tree.decision_path(X).sum() == tree.depth[leaves].sum() + 200


def n_calls(function):
    """Number of Python functions that a call enters."""
    entered = itertools.count()
    sys.setprofile(lambda frame, event, arg: next(entered) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return next(entered)


@pytest.mark.slow
@pytest.mark.parametrize(
    "use", [to_rules, to_sql, lambda tree: nearest_change(tree, np.zeros(5), 0)]
)
def test_work_is_in_proportion_to_the_tests_of_a_chain(use):
    """Not to the tests above all leaves, of which a chain of 500 tests has 125 000."""
    use(chain(5))  # kernels are compiled, modules imported
    short, long = (n_calls(lambda n=n: use(chain(n))) for n in (200, 400))
    assert long < 2.5 * short


@pytest.mark.slow
def test_text_of_a_chain_is_in_proportion_to_its_tests():
    """Bars end at 30 levels, below which lines tell theirs."""
    lines = chain(10_000).to_text().split("\n")
    assert len(lines) == 3 * 10_000 + 1
    assert max(map(len, lines)) < 200
    assert lines[90].startswith("|    " * 30 + "|--- ")
    assert lines[-1] == "|    " * 30 + "(level 10000) |--- cluster 2"


def test_features_that_no_test_has_cost_nothing():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([9], [1.0]), None, None], [1, 0, 0], [-1, 0, 1], 2**24
    )
    for write in (to_sql, to_rules, to_text, Tree.to_html):
        assert peak(lambda write=write: write(tree)) < 2**20
