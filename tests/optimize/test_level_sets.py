"""Axis-aligned tests on sets of levels of a categorical variable."""

import itertools

import numpy as np
import pandas as pd
import pytest

from tao_cluster import TAOClustering, table_pipeline, tao_path
from tao_cluster.optimize import state
from tao_cluster.problem.copies import with_noisy_copies
from tao_cluster.problem.levels import Levels, Variable
from tao_cluster.solvers import Axis, NodeProblem
from tao_cluster.solvers.levels import LevelSets
from tao_cluster.tree.leaf_size import LeafSize

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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lacks_level", [False, True])
def test_the_set_at_a_node_is_the_best_of_all(seed, lacks_level):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 5 + lacks_level, N)
    X = np.column_stack([level[:, None] == np.arange(5), rng.random(N) < 0.5]).astype(float)
    variable = Variable(np.arange(5), np.zeros(5), np.ones(5))
    goes_right = rng.random(N) < rng.random(6)[level]
    terms = (np.arange(N), goes_right, rng.random(N), 0.0)
    solver = LevelSets(Levels((variable,)), Axis()).bind(X)
    split, _ = solver.solve(NodeProblem(*terms))
    problem = NodeProblem(*terms)
    loss = problem.loss(X[:, split.indices] @ split.weights <= split.threshold)
    losses = [
        problem.loss(np.array(goes_left)[level])
        for goes_left in itertools.product([False, True], repeat=5 + lacks_level)
    ]
    assert loss == pytest.approx(min(losses))
    if not lacks_level:
        assert len(split.indices) <= 3


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("least", [60, 0.15])
def test_a_set_leaves_enough_rows_on_both_sides(seed, least):
    """The limit counts all rows at the node, also those that cost the same on both sides."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 6, N)
    X = (level[:, None] == np.arange(5)).astype(float)
    units = np.ones(N) if isinstance(least, int) else rng.random(N)
    size, here = LeafSize(units, least), np.sort(rng.permutation(N)[:250])
    rows = here[rng.random(len(here)) < np.array([0.9, 0.2, 0.6, 0.9, 0.5, 0.7])[level[here]]]
    goes_right = rng.random(len(rows)) < np.array([0.1, 0.6, 0.7, 0.8, 0.9, 0.9])[level[rows]]
    terms = (rows, goes_right, np.ones(len(rows)), 0.0)
    problem = NodeProblem(*terms, limit=(size, here))
    variable = Variable(np.arange(5), np.zeros(5), np.ones(5))
    split, _ = LevelSets(Levels((variable,)), Axis()).bind(X).solve(problem)
    found = X[:, split.indices] @ split.weights <= split.threshold
    assert size.is_met(here, found[here])
    allowed = [
        problem.loss(sides[level[rows]])
        for sides in map(np.array, itertools.product([False, True], repeat=6))
        if size.is_met(here, sides[level[here]])
    ]
    # The order of loss per row finds the best set in these cases, though not in all.
    assert problem.loss(found[rows]) == min(allowed)


def test_leaves_of_sets_have_enough_rows():
    table, level = table_of(0)
    labels = np.isin(level, [1, 4]).astype(int)  # about 100 rows
    for least, sizes in ((80, 2), (130, 3), (0.3, 3)):
        options = {"objective": "labels", "split": "axis", "random_state": 0}
        model = TAOClustering(min_samples_leaf=least, max_leaves=2, **options).fit(table, labels)
        counts = np.bincount(model.apply(table))[model.tree_.leaves]
        assert counts.min() >= (least if least > 1 else least * N)
        assert [len(indices) for indices, _ in splits_of(model.tree_)] == [sizes]


@pytest.mark.slow
def test_noisy_copies_keep_levels_and_ranks(monkeypatch):
    found = []

    def watched(problem, *args):
        found.append((problem, with_noisy_copies(problem, *args)))
        return found[-1][1]

    monkeypatch.setattr(state, "with_noisy_copies", watched)
    table, _ = table_of(0)
    TAOClustering(4, split="axis", max_leaves=6, random_state=0).fit(table)
    problem, many = max(found, key=lambda pair: pair[0].X.shape[1])
    assert problem.X.shape[1] > table.shape[1] == 10  # there are columns of ranks
    is_kept = np.tile(problem.X, (many.n_rows // N, 1)) == many.X
    is_number = np.isin(np.arange(problem.X.shape[1]), [8, 9])
    assert is_kept[:, ~is_number].all()
    assert is_kept[N:, is_number].mean() < 0.1
    np.testing.assert_array_equal(many.space, many.X[:, :10])


def test_a_penalty_per_level_prefers_short_lists():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 6, N)
    X = (level[:, None] == np.arange(6)).astype(float)
    goes_right = rng.random(N) < np.array([0.9, 0.9, 0.52, 0.1, 0.1, 0.1])[level]
    solver = LevelSets(Levels((Variable(np.arange(6), np.zeros(6), np.ones(6)),)), Axis()).bind(X)
    sizes = []
    for strength in (0.0, 10.0, 1000.0):
        split, _ = solver.solve(NodeProblem(np.arange(N), goes_right, np.ones(N), strength))
        sizes.append(len(split.indices))
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
