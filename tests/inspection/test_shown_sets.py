"""Tests on the levels of one categorical column are shown as sets of levels, everywhere alike."""

import itertools
import re
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import random_tree
from export_cases import chain
from reading import check_rules, holds
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tao_cluster import TAOClustering, Tree, describe
from tao_cluster.columns import Indicator
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_dot, to_rules, to_sql, to_text
from tao_cluster.export.format import condition_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_tree
from tao_cluster.report import report

REGIONS, PLANS = ["north", "east", "south", "west"], ["gold", "free", None]
NAMES = ["x", *(Indicator("region", r) for r in REGIONS), *(Indicator("plan", p) for p in PLANS)]
OF_COLUMN = {"x": [0], "region": [1, 2, 3, 4], "plan": [5, 6, 7]}


def all_rows():
    """Return a raw table of all combinations of levels, also of unknown ones, and its features."""
    cells = itertools.product([-1.0, 0.25, 2.0], [*REGIONS, "unknown"], [*PLANS, "unknown"])
    table = pd.DataFrame(cells, columns=["x", "region", "plan"]).astype({"plan": object})
    parts = [table["x"].to_numpy()]
    for name in NAMES[1:]:
        cell = table[name.column]
        parts.append((cell.isna() if name.value is None else cell == name.value).to_numpy(float))
    return table, np.column_stack(parts)


def tree_of_levels(seed):
    """Return a random tree, in which most tests are about the levels of one column."""
    rng = np.random.default_rng(seed)
    shape = random_tree(rng, n_features=len(NAMES), n_nodes=15, density=0)
    splits, threshold = [None] * shape.n_nodes, np.zeros(shape.n_nodes)
    for node in shape.decision_nodes:
        features = OF_COLUMN[rng.choice(["region", "region", "plan", "x"])]
        if rng.random() < 0.15:
            features = range(len(NAMES))
        some = np.sort(rng.choice(features, rng.integers(1, len(features) + 1), replace=False))
        equal = rng.choice([-1.0, 1.0]) * np.ones(len(some))
        weights = equal if rng.random() < 0.4 else rng.normal(size=len(some))
        splits[node], threshold[node] = (some, weights), rng.choice([-0.5, 0.0, 0.5, 1.0])
    return Tree.from_splits(
        shape.children_left, shape.children_right, splits, threshold, shape.leaf_label, len(NAMES)
    )


OTHER = Indicator("region", "other", True, levels=(*REGIONS, "centre"), is_rest=True)
COMPLETE = [*(Indicator("region", r) for r in (*REGIONS, "centre")), OTHER]


@pytest.mark.parametrize("seed", range(8))
def test_complete_levels_are_listed_on_the_shorter_side(seed):
    """If a feature marks all other levels, of both sides the one with fewer levels is listed."""
    rng = np.random.default_rng(seed)
    shape = random_tree(rng, n_features=6, n_nodes=13, density=1)
    splits = [shape.split(node) for node in range(shape.n_nodes)]
    threshold = np.where(shape.children_left < 0, 0.0, rng.choice([-0.5, 0.5], shape.n_nodes))
    nodes = shape.children_left, shape.children_right, splits, threshold, shape.leaf_label
    tree = Tree.from_splits(*nodes, 6)
    region = [*REGIONS, "centre", "islands", None]
    table = pd.DataFrame({"region": region}, dtype=object)
    X = np.vstack([np.eye(6), np.eye(6)[[5]]])
    labels = tree.predict(X)
    shown = table.assign(region=[*REGIONS, "centre", "other", "other"])
    rules = to_rules(tree, COMPLETE, 17, X=X)
    check_rules(rules, shown, labels)
    assert sql_labels(tree, table, COMPLETE) == labels.tolist()
    assert all(len(found) <= 3 for rule in rules for found in sets_in(rule))
    for node in report(tree, feature_names=COMPLETE)["nodes"]:
        assert node["levels"] is None or len(node["levels"]["features"]) <= 3
    some = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [(range(5), np.ones(5)), None, None], [0.5, 0, 0], [-1, 0, 1], 6
    )
    assert to_text(some, COMPLETE).startswith("|--- if region is other")
    assert to_text(some, [*COMPLETE[:4], *COMPLETE[5:], "x"]).count("in {")  # "centre" has no name


def sets_in(rule):
    """Return the lists of levels in a rule."""
    return [found.split(", ") for found in re.findall(r"{(.*?)}", rule)]


def sql_labels(model, table, *names):
    connection = sqlite3.connect(":memory:")
    table.to_sql("points", connection, index=False)
    query = f"SELECT {to_sql(model, *names)} FROM points ORDER BY rowid"  # noqa: S608
    rows = connection.execute(query).fetchall()
    connection.close()
    return [label for (label,) in rows]


@pytest.mark.spaced(quick=3)
@pytest.mark.parametrize("seed", range(12))
def test_sets_agree_with_the_routes_of_all_levels(seed):
    tree, (table, X) = tree_of_levels(seed), all_rows()
    labels = tree.predict(X)
    check_rules(to_rules(tree, NAMES, 17, X=X), table, labels)
    assert sql_labels(tree, table, NAMES) == labels.tolist()
    reached = tree.path_matrix.toarray()[tree.apply(X)] > 0
    for node in report(tree, feature_names=NAMES)["nodes"]:
        for side, child in enumerate(node["children"]):
            text = condition_text(node, 17, is_left=side == 0)
            columns = {getattr(term["name"], "column", "") for term in node["terms"]}
            assert ("[" in text) <= (len(columns) > 1 or node["levels"] is None)
            here = reached[:, node["id"]]
            shown = [holds(text, row) for _, row in table[here].iterrows()]
            np.testing.assert_array_equal(shown, reached[here, child])


def test_conditions_of_a_path_become_one_set():
    """Most of them are merged by intersection; of a single level only its name is left."""
    north, east, south, west = (Indicator("region", r) for r in REGIONS)
    tests = [([0, 1, 3], [1.0, 2.0, 0.7]), ([1], [1.0]), ([3], [-1.0])]
    tree = Tree.from_splits(
        [3, 2, 5, -1, -1, -1, -1],
        [1, 4, 6, -1, -1, -1, -1],
        [*tests, *[None] * 4],
        [0.5, 0.5, -0.5, 0, 0, 0, 0],
        [-1, -1, -1, 0, 1, 2, 3],
        n_features=4,
    )
    assert to_rules(tree, [north, east, south, west]) == [
        "if region not in {north, east, west} then cluster 0",
        "if region is east then cluster 1",
        "if region is west then cluster 2",
        "if region is north then cluster 3",
    ]
    # Levels outside of a list of levels that do not satisfy the conditions are merged, too.
    outside = chain((0, 1.0, 0.5, True), (2, 1.0, 0.5, True), n_features=4)
    assert to_rules(outside, [north, east, south, west])[2] == (
        "if region not in {north, south} then cluster 2"
    )


def set_tree():
    """Return a tree with one test: rows from the north, the west or with plan "free" go left."""
    weights = [-1.0, 0.3, -2.0]
    splits = [([1, 2, 4], weights), None, None]
    return Tree.from_splits([1, -1, -1], [2, -1, -1], splits, [-0.5, 0, 0], [-1, 0, 1], len(NAMES))


def test_one_set_is_shown_alike_everywhere():
    tree, (_, X) = set_tree(), all_rows()
    inside, outside = "region in {north, west}", "region not in {north, west}"
    assert to_text(tree, NAMES).startswith(f"|--- if {inside}\n")
    assert f'label="{inside}"' in to_dot(tree, NAMES)
    assert to_dataframe(tree, NAMES)["test"][0] == inside
    found = describe(tree, X, feature_names=NAMES)
    assert f"if {outside} then cluster 1" in found.text
    assert {each.rule for each in found.segments} == {
        "region is north or west",
        "region is neither north nor west",
    }
    assert to_sql(tree, NAMES).splitlines()[1:3] == [
        """  WHEN "region" IN ('north', 'west') THEN 0""",
        """  WHEN (NOT "region" IN ('north', 'west') OR "region" IS NULL) THEN 1""",
    ]
    (node, *_) = report(tree, feature_names=NAMES)["nodes"]
    assert node["levels"]["features"] == [1, 4]
    page = to_html(tree, X=X, feature_names=NAMES)
    assert f'"left":"{inside}","right":"{outside}","lines":["region","in {{north, west}}"]' in page
    for kind in ("bars", "words", "projection"):
        ax = plot_tree(tree, X, nodes=kind, feature_names=NAMES, highlight=0)
        texts = {text.get_text() for text in ax.texts}
        assert {inside, "yes", "no", "the row"} <= texts
        plt.close(ax.figure)


def test_explanations_name_the_level_of_the_row():
    tree, (table, X) = set_tree(), all_rows()
    texts = {}
    for i, why in enumerate(explain(tree, X, NAMES)):
        texts.setdefault(table["region"][i], set()).add(str(why.tests[0]))
    assert texts == {
        "north": {"region is north, in {north, west} -> left"},
        "east": {"region is east, not in {north, west} -> right"},
        "south": {"region is south, not in {north, west} -> right"},
        "west": {"region is west, in {north, west} -> left"},
        "unknown": {"region not in {north, west} -> right"},
    }
    why = explain(tree, X[0], NAMES)
    (ax,) = why.plot().axes
    assert ax.get_title(loc="left") == (
        "node 0: region is north, in {north, west} → the row goes left"
    )
    plt.close(ax.figure)
    assert why.to_dict()["tests"][0]["fact"] == "region is north, in {north, west}"
    assert "<table" not in why._repr_html_()
    both = np.where(np.arange(len(NAMES)) < 3, 1.0, 0.0)  # a row cannot be in the north and east
    assert "[region is east]" in str(explain(tree, both, NAMES))


def test_the_nearest_change_is_another_level():
    tree, (table, X) = set_tree(), all_rows()
    for row, region in zip(X, table["region"], strict=True):
        k = 1 - int(tree.predict(row[None])[0])
        if region == "unknown":
            continue
        change = nearest_change(tree, row, k, feature_names=NAMES)
        (line,) = str(change).splitlines()[1:]
        assert line.startswith(f"  region: {region} -> ")
        assert change.row[0, 1:5].sum() == 1
        assert change.cost == 1
    assert "region: " in change._repr_html_()


def test_long_sets_are_wrapped_and_cut():
    names = [Indicator("country of birth", f"Country, number {i}") for i in range(60)]
    splits = [(range(0, 60, 2), np.ones(30)), None, None]
    tree = Tree.from_splits([1, -1, -1], [2, -1, -1], splits, [0.5, 0, 0], [-1, 0, 1], 60)
    text = to_text(tree, names).splitlines()[0]
    assert text.startswith("|--- if country of birth not in {'Country, number 0', 'Country, nu")
    ax = plot_tree(tree, feature_names=names, nodes="bars")
    lines = [text.get_text() for text in ax.texts if "ountry" in text.get_text()]
    assert len(lines) == 5
    assert "…" in lines[-1]
    plt.close(ax.figure)


def table_of_shops(n=300):
    rng = np.random.default_rng(2)
    regions = rng.choice([*REGIONS, "centre", None], n, p=[0.15, 0.15, 0.15, 0.15, 0.3, 0.1])
    table = pd.DataFrame({"region": pd.Series(regions, dtype=object).fillna(np.nan)})
    table["plan"] = rng.choice(["gold", "free", "trial"], n).astype(object)
    table["sales"] = rng.normal(size=n) + 9 * table["region"].isin(["north", "west"])
    return table


@pytest.mark.slow
@pytest.mark.parametrize("fills", [False, True])
def test_sets_of_pipelines(fills):
    """Levels explain clusters of another column; the new rows have gaps and an unknown level."""
    table = table_of_shops()
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = [SimpleImputer(strategy="most_frequent"), encode] if fills else [encode]
    numbers = StandardScaler().fit_transform(table[["sales"]])
    new = table.copy()
    new.loc[::7, "region"] = "abroad"
    n_sets = 0
    for split in ("axis", "oblique"):
        model = TAOClustering(2, split=split, max_leaves=2, random_state=0)
        encoder = make_column_transformer(
            (make_pipeline(*steps, StandardScaler(with_mean=False)), ["region", "plan"])
        ).set_output(transform="pandas")
        pipeline = make_pipeline(encoder, model)
        pipeline.fit(table[["region", "plan"]], taoclustering__embedding=numbers)
        n_sets += to_text(pipeline).count("in {")
        for rows in (table, new):
            found = pipeline.predict(rows)
            assert sql_labels(pipeline, rows) == found.tolist()
            known = rows.fillna({"region": table["region"].mode()[0]}) if fills else rows
            check_rules(to_rules(pipeline, precision=17, X=rows), known, found)
    assert n_sets
