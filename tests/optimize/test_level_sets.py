"""Axis-aligned tests on sets of levels of a categorical variable."""

import itertools

import numpy as np
import pandas as pd
import pytest

from tao_cluster import TAOClustering, table_pipeline, tao_path

pytestmark = pytest.mark.filterwarnings("ignore:The clusters are nearly the levels of region")

N = 400


def table_of(seed, n_levels=8, *, weight=1.0, drop_first=False):
    """Dummy columns of one variable, two numbers, and the level of each row."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, n_levels, N)
    names = pd.Series([f"r{j}" for j in level], name="region")
    table = weight * pd.get_dummies(names, prefix="region", drop_first=drop_first).astype(float)
    table["x"], table["y"] = rng.normal(size=(2, N))
    return table, level


def splits_of(tree):
    return [tree.split(node) for node in tree.decision_nodes]


@pytest.mark.spaced(quick=2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options", [{}, {"weight": 0.7}, {"drop_first": True}, {"n_levels": 15}], ids=str
)
def test_a_set_of_levels_is_found_as_one_test(seed, options):
    table, level = table_of(seed, **options)
    chosen = np.random.default_rng(seed).permutation(level.max() + 1)[: level.max() // 2]
    labels = np.where(np.isin(level, chosen), np.where(table["x"] > 0.1, "b", "c"), "a")
    model = TAOClustering(objective="labels", split="axis", random_state=0).fit(table, labels)
    assert model.cost_increase_ == 0
    assert model.tree_.n_leaves == 3
    sizes = sorted(len(indices) for indices, _ in splits_of(model.tree_))
    assert sizes[0] == 1
    # A test lists the levels on the other side than the level that get_dummies has dropped.
    assert sizes[1] <= (level.max() + 1) // 2 or "drop_first" in options
    assert model.tree_.n_parameters == sum(sizes) + 2 + 3
    np.testing.assert_array_equal(model.predict(table), labels)


@pytest.mark.filterwarnings("ignore:A tree of at most 2 leaves")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [1, 110, 0.4])
def test_of_all_sets_with_enough_rows_on_both_sides_the_best_is_found(seed, least):
    """Against all sets. Rows of a label that no leaf has cost the same on both sides."""
    rng = np.random.default_rng(seed)
    table, level = table_of(seed, n_levels=6)
    labels = np.where(rng.random(N) < rng.random(6)[level], "a", "b")
    labels[rng.random(N) < 0.1] = "c"
    model = TAOClustering(objective="labels", split="axis", max_leaves=2, random_state=0)
    model.set_params(min_samples_leaf=least).fit(table[[f"region_r{j}" for j in range(6)]], labels)
    counts = pd.crosstab(level, labels).to_numpy()
    sides = map(np.array, itertools.product([False, True], repeat=6))
    parts = [(counts[is_left], counts[~is_left]) for is_left in sides]
    allowed = least if least >= 1 else least * N
    losses = [
        N - sum(part.sum(axis=0).max() for part in pair)
        for pair in parts
        if min(part.sum() for part in pair) >= allowed
    ]
    assert model.inertia_ == min(losses)


@pytest.mark.filterwarnings("ignore:The tree has lost")
def test_a_penalty_per_level_prefers_short_lists():
    rng = np.random.default_rng(0)
    table, level = table_of(0, n_levels=6)
    labels = rng.random(N) < np.array([0.9, 0.9, 0.52, 0.1, 0.1, 0.1])[level]
    options = {"objective": "labels", "split": "axis", "max_leaves": 2, "random_state": 0}
    sizes = [
        TAOClustering(lambda_=price, **options).fit(table, labels).tree_.n_nonzero
        for price in (0.0, 10.0, 1000.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= 2
    assert sizes[-1] == 0


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize(
    "options",
    [
        {"max_leaves": 4},
        {"max_parameters": 12},
        {"max_cost_increase": 3.0},
        {"standardize": True},
        {"validation": 0.25},
        {},
    ],
    ids=str,
)
def test_goals_hold_and_sets_are_no_worse(options):
    table, level = table_of(3)
    shift = np.isin(level, [1, 2, 6])
    table["x"] += 5 * shift
    table["y"] -= 4 * np.isin(level, [2, 5])
    model = TAOClustering(4, split="axis", random_state=0, **options).fit(table)
    assert model.tree_.n_parameters <= options.get("max_parameters", np.inf)
    assert model.tree_.n_leaves <= options.get("max_leaves", np.inf)
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    if "max_leaves" in options or "max_parameters" in options:
        plain = TAOClustering(4, split="axis", random_state=0, **options).fit(table.to_numpy())
        assert model.inertia_ <= plain.inertia_ * (1 + 1e-9)
    if "max_cost_increase" in options:
        assert model.cost_increase_ <= 3.0


def test_equal_costs_take_the_test_of_one_number():
    table, level = table_of(0)
    table["x"] = np.isin(level, [0, 3, 5]) * 9.0 + table["x"] / 10
    model = TAOClustering(2, split="axis", max_leaves=2, random_state=0).fit(table)
    assert [indices.tolist() for indices, _ in splits_of(model.tree_)] == [[8]]


def test_paths_and_threads_give_sets_too():
    table, level = table_of(1)
    labels = np.isin(level, [0, 2, 5]).astype(int)
    options = {"objective": "labels", "split": "axis", "random_state": 0}
    first, *_ = tao_path(table, y=labels, leaves=[2, 3], **options)
    assert first.cost_increase_ == 0
    assert len(splits_of(first.tree_)[0][0]) == 3
    models = [TAOClustering(n_jobs=n, **options).fit(table, labels) for n in (1, 2)]
    assert models[0].tree_ == models[1].tree_


def test_a_pipeline_of_a_raw_table_tests_sets():
    rng = np.random.default_rng(0)
    region = rng.choice(["north", "south", "west", "east", None], N)
    labels = np.isin(region.astype(str), ["north", "None"])
    table = pd.DataFrame({"region": region, "age": rng.normal(size=N)})
    pipeline = table_pipeline(table, objective="labels", split="axis", random_state=0)
    pipeline.fit(table, labels)
    assert (pipeline.predict(table) == labels).all()
    assert [len(indices) for indices, _ in splits_of(pipeline[-1].tree_)] == [2]


def test_arrays_and_oblique_trees_have_no_sets():
    table, level = table_of(2)
    labels = np.isin(level, [0, 2, 5]).astype(int)
    options = {"objective": "labels", "split": "axis", "random_state": 0}
    model = TAOClustering(**options).fit(table.to_numpy(), labels)
    assert max(len(indices) for indices, _ in splits_of(model.tree_)) == 1
