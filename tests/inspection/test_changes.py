"""The nearest change sends a row to a cluster, and no smaller one does."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_tree
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from greedy import IMM, ExKMC
from tao_cluster import DirectForm, TAOClustering, Tree
from tao_cluster.explanations import nearest_change
from tao_cluster.export import Indicator


def cost_of(row, x, spreads=1.0):
    row = row.toarray() if sp.issparse(row) else np.asarray(row)
    return float(np.sum(np.abs(row - x) / spreads))


def stump(weights, threshold):
    """Cluster 0 where the sum is at most the threshold, else 1."""
    split = (range(len(weights)), weights)
    children = [1, -1, -1], [2, -1, -1]
    return Tree.from_splits(
        *children, [split, None, None], [threshold, 0, 0], [-1, 0, 1], len(weights)
    )


def test_one_feature_moves_just_beyond_its_threshold():
    tree = stump([1.0], 2.5)
    assert 2.5 < nearest_change(tree, [1.0], 1).row[0, 0] < 2.5 + 1e-7
    assert nearest_change(tree, [7.0], 0).row.tolist() == [[2.5]]
    turned = stump([-3.0], -1.0)  # 3 x >= 1 goes left
    for x, k in (([0.0], 0), ([5.0], 1)):
        change = nearest_change(turned, x, k)
        value = change.row[0, 0]
        assert turned.predict(change.row) == k
        assert value == pytest.approx(1 / 3, rel=1e-7)


def test_one_sum_moves_the_feature_of_largest_effect():
    tree = stump([0.5, -2.0], 2.0)
    change = nearest_change(tree, [7.0, 0.25], 0)
    assert [c.feature for c in change.changes] == [1]
    assert change.cost == pytest.approx(0.5)
    # In units of spreads the first one is nearer, and where the second is fixed it is the only one.
    for options in ({"spreads": [10.0, 1.0]}, {"fixed": [1]}, {"bounds": {"x1": (0.0, 0.5)}}):
        change = nearest_change(tree, [7.0, 0.25], 0, **options)
        assert tree.predict(change.row) == 0
        assert 0 in [c.feature for c in change.changes]
    assert [c.after for c in change.changes] == pytest.approx([6.0, 0.5])


@pytest.mark.slow
def test_no_point_of_a_grid_is_nearer():
    """Against all points of a fine grid: none in the cluster costs less."""
    sides, spreads, n_seen = np.linspace(-6, 6, 241), np.array([1.0, 2.0]), 0
    grid = np.array(list(itertools.product(sides, sides)))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, n_features=2, n_nodes=9, n_clusters=3)
        found = tree.predict(grid)
        for x, k in itertools.product(rng.normal(size=(6, 2)), np.unique(found).tolist()):
            change = nearest_change(tree, x, k, spreads=spreads)
            assert tree.predict(change.row) == k
            assert change.leaf == tree.apply(change.row)[0]
            assert change.cost == pytest.approx(cost_of(change.row, x, spreads))
            assert change.cost <= np.min(np.abs(grid[found == k] - x) @ (1 / spreads)) + 1e-7
            n_seen += bool(change.changes)
    assert n_seen > 60


def test_the_default_is_the_nearest_other_cluster():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, n_features=3, n_nodes=11, n_clusters=4)
        others = {*tree.predict(3 * rng.normal(size=(500, 3))).tolist()}  # no row reaches the rest
        for x in rng.normal(size=(4, 3)):
            change = nearest_change(tree, x)
            own = int(tree.predict([x])[0])
            costs = {k: nearest_change(tree, x, k).cost for k in others - {own}}
            assert change.cost == min(costs.values()) == costs[change.cluster]
            assert tree.predict(change.row) == change.cluster != own
    with pytest.raises(ValueError, match="No change of the row leads to another cluster"):
        nearest_change(Tree.single_leaf(0, 2), [1.0, 2.0])


@pytest.mark.slow
def test_of_fitted_models_and_every_kind_of_row():
    X = load_digits().data
    model = TAOClustering(
        10, lambda_=30, depth=4, algorithm=DirectForm(n_init=1), random_state=0
    ).fit(X[::3])
    spread = np.zeros(64)
    np.fmax.at(spread, model.tree_.split_indices, model.split_stds_)
    spread[spread == 0] = 1.0
    for i in (1, 2):
        for k in range(10):
            change = model.nearest_change(X[i], k)
            assert model.predict(change.row) == k
            assert change.cost == pytest.approx(cost_of(change.row, X[i], spread))
            other = model.nearest_change(sp.csr_matrix(X[i].astype(np.float32)), k)
            assert sp.issparse(other.row)
            assert model.predict(other.row) == k
            np.testing.assert_array_equal(other.row.toarray(), change.row)
        bounds = dict.fromkeys(range(64), (0.0, 16.0))
        inside = model.nearest_change(X[i], (model.predict(X[[i]])[0] + 1) % 10, bounds=bounds)
        assert inside.row.min() >= 0
        assert inside.row.max() <= 16


@pytest.mark.slow
def test_of_pipelines_in_raw_units(rng):
    n = 120
    table = pd.DataFrame(
        {
            "plan": rng.choice(["gold", "free", "trial"], n),
            "hours": rng.integers(0, 50, n),
            "age": rng.normal(40, 10, n),
        }
    )
    steps = make_column_transformer(
        (StandardScaler(), ["hours", "age"]), (OneHotEncoder(), ["plan"])
    )
    models = (ExKMC(4, max_leaves=8), TAOClustering(4, lambda_=0.5, depth=3))
    n_plans = 0
    for model in models:
        pipeline = make_pipeline(steps, model.set_params(random_state=0)).fit(table)
        for i in range(6):
            for k in range(4):
                change = nearest_change(pipeline, table.iloc[i], k)
                assert list(change.row.columns) == ["plan", "hours", "age"]
                assert pipeline.predict(change.row) == k
                n_plans += change.row["plan"].iloc[0] != table["plan"].iloc[i]
                try:
                    kept = nearest_change(pipeline, table.iloc[i], k, fixed=["plan"])
                except ValueError as error:
                    assert "features fixed" in str(error)  # noqa: PT017 (some have no such row)
                    continue
                assert kept.row["plan"].iloc[0] == table["plan"].iloc[i]
                assert kept.cost >= change.cost - 1e-12
    assert n_plans


def test_categories_change_as_a_whole():
    names = [Indicator("plan", value) for value in ("gold", "free", "trial")]
    tree = stump([1.0, -1.0, 0.5], 0.25)
    change = nearest_change(tree, [1.0, 0.0, 0.0], 0, feature_names=names)
    assert change.row.tolist() == [[0.0, 1.0, 0.0]]
    assert change.cost == 1
    assert str(change).splitlines()[1:] == ["  plan: gold -> free"]
    assert [str(part) for part in change.changes] == ["plan is not gold", "plan is free"]


def test_what_is_there_already_and_what_cannot_be():
    tree = stump([1.0, 1.0], 2.0)
    change = nearest_change(tree, [0.0, 1.0], 0)
    assert (change.changes, change.cost, change.leaf) == ((), 0.0, 1)
    assert str(change) == "cluster 0: nothing has to change"
    with pytest.raises(ValueError, match=r"leads to cluster 1 with these features fixed"):
        nearest_change(tree, [0.0, 1.0], 1, fixed=["x0", 1])
    with pytest.raises(ValueError, match=r"leads to cluster 1 with these features fixed"):
        nearest_change(tree, [0.0, 1.0], 1, bounds={0: (0, 0.4), 1: (None, 1.5)})
    never = Tree.from_splits([1, -1, -1], [2, -1, -1], [None] * 3, [1, 0, 0], [-1, 0, 1], 2)
    with pytest.raises(ValueError, match=r"^No change of the row leads to cluster 1\.$"):
        nearest_change(never, [0.0, 0.0], 1)
    assert nearest_change(Tree.single_leaf(0, 2), [0.0, 1.0], 0).changes == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 2}, r"The clusters are 0\.\.1, got 2"),
        ({"fixed": ["width"]}, "There is no feature 'width'"),
        ({"fixed": [2]}, "There is no feature 2"),
        ({"bounds": {"x0": (2, 1)}}, r"bounds of 'x0' must be two numbers in order"),
        ({"spreads": [1.0, 0.0]}, "spreads must be 2 numbers above 0"),
        ({"x": [[0.0, 1.0], [1.0, 2.0]]}, "Expected one row, got data of shape"),
        ({"x": [np.nan, 1.0]}, "NaN"),
    ],
)
def test_bad_questions(options, message):
    with pytest.raises(ValueError, match=message):
        nearest_change(stump([1.0, 1.0], 2.0), **{"x": [0.0, 1.0], "k": 1, **options})
    with pytest.raises(NotFittedError):
        IMM(2).nearest_change([0.0], 1)


def test_text_json_and_html():
    tree = stump([0.5, -2.0], 2.0)
    change = nearest_change(tree, [7.0, 0.25], 0, feature_names=["<b>wide", "high & low"])
    assert str(change).splitlines() == [
        "cluster 1 -> cluster 0 (leaf 1), cost 0.5",
        "  high & low 0.25 -> 0.75 (+0.5)",
    ]
    data = json.loads(json.dumps(change.to_dict()))
    assert data["changes"][0]["after"] == change.changes[0].after
    assert data["cost"] == change.cost
    assert "high &amp; low" in change._repr_html_()


@pytest.mark.slow
def test_changes_stay_in_the_observed_range_and_integers():
    X = load_digits().data[:300]
    for split in ({"split": "axis", "max_leaves": 10}, {"lambda_": 30, "depth": 4}):
        model = TAOClustering(10, algorithm=DirectForm(n_init=1), random_state=0, **split).fit(X)
        for i, k in itertools.product((1, 2), np.unique(model.labels_).tolist()):
            row = model.nearest_change(X[i], k).row
            assert model.predict(row) == k
            assert np.all((row >= X.min(axis=0)) & (row <= X.max(axis=0)))
            assert np.all(row == np.round(row))
    model.nearest_change(X[1], 0, bounds=None)
    limits = {int(j): (None, None) for j in model.tree_.used_features}
    assert model.nearest_change(X[1], 0, bounds=limits).cost > 0


@pytest.mark.slow
def test_dummy_columns_are_one_variable(rng):
    """Columns of get_dummies, with prefixes that contain the separator, and a count column."""
    n = 150
    raw = pd.DataFrame(
        {
            "home_type": rng.choice(["flat", "house", "boat"], n),
            "home_city": rng.choice(["new_york", "rome"], n),
            "visits": rng.poisson(4, n),
        }
    )
    for options in ({}, {"drop_first": True}, {"dtype": float}):
        table = pd.get_dummies(raw, **options)
        models = (ExKMC(4, max_leaves=8), TAOClustering(4, lambda_=0.01, depth=3))
        for model in models:
            model.set_params(standardize=True, random_state=0).fit(table)
            seen = {tuple(row) for row in table.drop(columns="visits").to_numpy(float).tolist()}
            for i, k in itertools.product(range(5), range(4)):
                row = model.nearest_change(table.iloc[[i]], k).row
                assert model.predict(row) == k
                assert tuple(row.drop(columns="visits").to_numpy(float)[0].tolist()) in seen
                assert row["visits"].iloc[0] == int(row["visits"].iloc[0])


@pytest.mark.filterwarnings("ignore:The clusters are nearly the levels")
@pytest.mark.parametrize("separator", ["_", " - "])
def test_the_prefix_of_dummy_columns_fixes_all_of_them(rng, separator):
    raw = pd.DataFrame({"home": rng.choice(["flat", "house", "boat"], 90), "homes": rng.random(90)})
    table = pd.get_dummies(raw, prefix_sep=separator)
    model = IMM(3, random_state=0).fit(table)
    row, k = table.iloc[[0]], (model.predict(table)[0] + 1) % 3
    for fixed in ("home", ["home"], [name for name in table if name != "homes"]):
        with pytest.raises(ValueError, match="with these features fixed"):
            model.nearest_change(row, k, fixed=fixed)
    assert model.nearest_change(row, k, fixed="homes").changes
    with pytest.raises(ValueError, match="no feature 'hom'"):
        model.nearest_change(row, k, fixed="hom")


@pytest.mark.parametrize(
    "names",
    [
        range(1, 5),
        pd.MultiIndex.from_product([["petal", "sepal"], [1, 2]]),
    ],
    ids=["integers", "levels"],
)
def test_features_are_fixed_by_names_of_any_type(names):
    frame = pd.DataFrame(load_iris().data[:, [2, 3, 0, 1]], columns=names)
    model = IMM(3, random_state=0).fit(frame)
    (used,) = set(model.tree_.used_features.tolist()) & {0}
    name, row = frame.columns[used], frame.iloc[[0]]
    cluster = (model.labels_[0] + 1) % 3
    assert {change.feature for change in model.nearest_change(row, cluster).changes} == {used}
    for fixed in (name, [name]):
        with pytest.raises(ValueError, match="No change of the row"):
            model.nearest_change(row, cluster, fixed=fixed)
    with pytest.raises(ValueError, match="No change of the row"):
        model.nearest_change(row, cluster, bounds={name: (0, 0.1)})
