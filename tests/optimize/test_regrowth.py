"""Regrowth of axis-aligned trees: no worse than its start, no larger than the initial tree."""

import operator

import numpy as np
import pytest
from conftest import make_search

from greedy import build_exkmc
from tao_cluster.optimize.local_search import regrow, rounds
from tao_cluster.optimize.pruning import least_useful


def start_of(seed, max_leaves=14):
    """A search for an axis-aligned tree of noise, and the state of ExKMC's tree."""
    X = np.random.default_rng(seed).normal(size=(150, 4))
    search = make_search(X, 5, split="axis")
    tree = build_exkmc(X, search.problem.free.centers, max_leaves=max_leaves)
    return search, search.evaluate(tree)


@pytest.mark.parametrize("seed", range(6))
def test_regrowth_never_ends_above_its_start(seed):
    """Also where it starts from what it has found before, and a tenth of lambda leads astray."""
    for lambda_ in (5.0, 8.0):
        search, state = start_of(seed)
        for _ in range(3):
            found = regrow(search, state, lambda_)
            assert found.objective(lambda_) <= state.objective(lambda_)
            state = found


def test_a_round_counts_if_it_helps_else_it_is_tried_with_fewer_leaves():
    values, asked = iter([8.0, 9.0, 7.0, 7.0, 8.0, 8.0]), []

    def regrown(state, n_more):
        asked.append(n_more)
        return next(values)

    assert rounds(10.0, regrown, operator.lt, 8) == 7.0
    assert asked == [8, 8, 4, 4, 2, 1]


@pytest.mark.parametrize("lambda_", [0.0, 0.5])
def test_no_more_leaves_than_the_initial_tree_had(lambda_):
    for seed in range(3):
        search, state = start_of(seed, 9)
        assert regrow(search, state, lambda_).pruned.n_leaves <= 9


def test_dead_leaves_of_the_initial_tree_are_room_to_grow():
    search, state = start_of(0)
    tree = state.tree
    child = tree.children_left[0]
    assert tree.children_left[child] >= 0
    dead = search.evaluate(tree.with_splits({child: (((), ()), 1.0)}))  # all rows go left
    assert dead.pruned.n_leaves < 14
    found = regrow(search, dead, 0.0)
    assert found.pruned.n_leaves == 14
    assert found.inertia < dead.inertia


def test_a_smaller_price_comes_first():
    seen = set()
    for seed in range(4):
        search, state = start_of(seed)
        regrow(search, state, 4.0)
        strengths = [r["lambda"] for r in search.history.records if r["stage"] == "regrow"]
        assert strengths == sorted(strengths)
        seen |= set(strengths)
    assert sorted(seen) == pytest.approx([0.4, 4.0])


def test_least_useful_tests_save_least_and_are_not_related():
    search, state = start_of(2)
    tree, criterion = state.pruned, search.criterion(state)
    everything = np.arange(search.problem.n_rows)

    def cost(tree):
        return criterion.loss_at(tree)(everything, tree.apply(search.problem.X)).sum()

    def without(node):
        one_sided = (tree.with_splits({node: (((), ()), side)}) for side in (1.0, -1.0))
        return min(cost(changed) for changed in one_sided)

    costs = {node: without(node) for node in tree.decision_nodes}
    leaf_of_row = tree.apply(search.problem.X)
    found = least_useful(search.step, tree, leaf_of_row, criterion.loss_at(tree), 9)
    related = (tree.path_matrix + tree.path_matrix.T).toarray() > 0
    expected = []
    for node in sorted(costs, key=lambda node: (round(costs[node], 9), node)):
        if len(expected) < 9 and not related[node, expected].any():
            expected.append(node)
    assert list(found) == expected
    assert len(found) > 1
    for node, split in found.items():
        assert cost(tree.with_splits({node: split})) == pytest.approx(costs[node])


def test_rounds_end_where_they_are_over():
    asked = []

    def regrown(state, n_more):
        asked.append(n_more)
        return state + 1

    assert rounds(0, regrown, lambda state, other: False, 8) == 0
    assert asked == [8, 4, 2, 1]
    asked.clear()
    assert rounds(0, regrown, lambda state, other: True, 8, lambda: len(asked) == 3) == 3
    assert asked == [8, 8, 8]
