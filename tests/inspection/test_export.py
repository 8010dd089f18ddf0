"""Text and rules say what the tree does."""

import numpy as np
import pytest
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import Tree
from tao_cluster.core.tree.conditions import path_conditions
from tao_cluster.inspection.export.names import weighted_sum


@pytest.fixture
def stairs():
    """Two tests of the same feature on one path, then an oblique one."""
    return Tree.from_splits(
        [1, 3, -1, 5, -1, -1, -1],
        [2, 4, -1, 6, -1, -1, -1],
        [([0], [1.0]), ([0], [1.0]), None, ([0, 1], [0.5, -2.0]), None, None, None],
        [3.0, 1.0, 0, 0.25, 0, 0, 0],
        [-1, -1, 2, -1, 1, 0, 2],
        n_features=2,
    )


def test_text(stairs):
    assert stairs.to_text(["a", "b"]).splitlines() == [
        "|--- if a <= 3",
        "|    |--- if a <= 1",
        "|    |    |--- if -2*b + 0.5*a <= 0.25",
        "|    |    |    |--- cluster 0",
        "|    |    |--- else",
        "|    |    |    |--- cluster 2",
        "|    |--- else",
        "|    |    |--- cluster 1",
        "|--- else",
        "|    |--- cluster 2",
    ]


def test_rules_merge_conditions_of_one_direction(stairs):
    assert stairs.to_rules() == [
        "if x0 > 3 then cluster 2",
        "if 1 < x0 <= 3 then cluster 1",
        "if x0 <= 1 and -2*x1 + 0.5*x0 <= 0.25 then cluster 0",
        "if x0 <= 1 and -2*x1 + 0.5*x0 > 0.25 then cluster 2",
    ]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_conditions_hold_for_exactly_the_rows_of_their_leaf(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_features=2, n_nodes=21, density=0.4)  # few features: many merges
    X = rng.integers(-3, 4, (80, 2)).astype(float)
    leaves = tree.apply(X)
    empty_tests_hold = tree.prune()  # rules leave tests without weights out: compare reachable
    for leaf in np.unique(leaves):
        holds = np.ones(len(X), dtype=bool)
        for condition in path_conditions(tree, leaf):
            below = X[:, condition.indices] @ condition.weights <= condition.threshold
            holds &= below == condition.is_upper
        assert np.all(holds[leaves == leaf])
    for leaf in empty_tests_hold.leaves:
        holds = np.ones(len(X), dtype=bool)
        for condition in path_conditions(empty_tests_hold, leaf):
            below = X[:, condition.indices] @ condition.weights <= condition.threshold
            holds &= below == condition.is_upper
        np.testing.assert_array_equal(holds, empty_tests_hold.apply(X) == leaf)


def test_weighted_sum():
    names = ["a", "b", "c"]
    assert weighted_sum([], [], names, 3) == "0"
    assert weighted_sum([0, 2], [-1.0, 1.0], names, 3) == "-a + c"
    assert weighted_sum([0, 1, 2], [0.12345, -7.0, 1.0], names, 2) == "-7*b + c + 0.12*a"
    assert weighted_sum([0, 1, 2], [0.1, -7.0, 1.0], names, 2, max_terms=1) == "-7*b + 2 more"


def test_names_must_fit(stairs):
    with pytest.raises(ValueError, match="3 feature names for 2 features"):
        stairs.to_text(["a", "b", "c"])
