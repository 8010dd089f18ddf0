"""The report behind all exports: standard deviations, effects, row counts, names of clusters."""

import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_tree
from export_cases import every_case, iris, oblique
from matplotlib.text import Text
from sklearn.datasets import load_iris

from greedy import IMM
from tao_cluster import TAOClustering, Tree
from tao_cluster.export import to_dataframe, to_dot, to_rules, to_sql, to_text
from tao_cluster.page import to_html
from tao_cluster.report import cluster_names, report
from tao_cluster.tree.routing import kernel_arrays
from tao_cluster.tree.split_statistics import stds_and_sides


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "weighted", "constant"),  # the large constant sends all rows one way
    [(np.float32, False, 1e6), (np.float64, True, 1e6), (np.float64, True, 0.0)],
)
def test_spreads_are_deviations_over_the_rows_of_the_node(rng, dtype, weighted, constant):
    tree = random_tree(rng, n_features=6, n_nodes=41, density=0.8)
    X = (rng.normal(size=(80, 6)) * 10.0 ** np.arange(-3, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.3] = 0
    X[:, 2] = constant
    weight = rng.integers(0, 4, 80).astype(float) if weighted else np.ones(80)
    on_path = tree.decision_path(X).toarray().astype(bool)
    assert constant or len(set(on_path[:, tree.decision_nodes].sum(axis=0))) > 3
    expected = []
    for node in tree.decision_nodes:
        rows = np.repeat(X, weight.astype(int), axis=0)[
            np.repeat(on_path[:, node], weight.astype(int))
        ]
        rows = rows[:, tree.split(node)[0]].astype(float)
        expected += (rows.std(axis=0) if len(rows) else np.full(rows.shape[1], np.nan)).tolist()
    for rows in (X, np.asfortranarray(X), sp.csr_matrix(X)):
        found, _ = stds_and_sides(tree, kernel_arrays(rows), tree.apply(rows), weight, n_jobs=2)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    of_constant = found[tree.split_indices == 2]
    assert np.all((of_constant == 0) | np.isnan(of_constant))
    assert np.isnan(found).any() == np.isnan(expected).any()


def test_a_fit_keeps_its_spreads():
    X = load_iris().data
    for model in (TAOClustering(3, lambda_=0.3, depth=3, random_state=0), IMM(3, random_state=0)):
        tree = model.fit(X).tree_
        expected = stds_and_sides(tree, X, tree.apply(X))[0]
        np.testing.assert_allclose(model.split_stds_, expected)
        terms = [node["terms"] for node in report(model)["nodes"]]
        assert terms == [node["terms"] for node in report(tree, X)["nodes"]]


def test_terms_are_ranked_by_effect(rng):
    tree = random_tree(rng, n_features=6, n_nodes=21)
    X = rng.normal(size=(200, 6)) * 10.0 ** np.arange(-3, 3)
    for node in report(tree)["nodes"]:
        weights = [abs(term["weight"]) for term in node["terms"]]
        assert weights == sorted(weights, reverse=True)
        assert all(term["spread"] is None for term in node["terms"])
    moved = 0
    for node in report(tree, X, scaled=True)["nodes"]:
        keys = [
            (
                -abs(term["weight"] * (1 if term["spread"] is None else term["spread"])),
                term["feature"],
            )
            for term in node["terms"]
        ]
        assert keys == sorted(keys)
        for term in node["terms"]:
            if term["spread"] is not None:
                assert term["shown"] == term["weight"] * term["spread"]
        moved += [t["feature"] for t in node["terms"]] != [
            t["feature"] for t in report(tree)["nodes"][node["id"]]["terms"]
        ]
    assert moved


def test_weights_times_spread_on_request(rng):
    tree = random_tree(rng, n_features=3, n_nodes=3, density=1)
    X = rng.normal(size=(50, 3)) * [1, 10, 100]
    nodes = report(tree, X)["nodes"]
    names = [f"x{term['feature']}" for term in nodes[0]["terms"]]
    scaled = [
        f"{abs(term['weight'] * term['spread']):.3g}*{name}"
        for term, name in zip(nodes[0]["terms"], names, strict=True)
    ]
    texts = [
        to_rules(tree, X=X, scaled=True)[0],
        to_dot(tree, X=X, scaled=True),
        to_dataframe(tree, X=X, scaled=True)["test"][0],
    ]
    for text in texts:
        places = [text.index(part) for part in scaled]
        assert places == sorted(places)
    model = IMM(2, random_state=0).fit(X)
    model.tree_, model.split_stds_ = tree, stds_and_sides(tree, X, tree.apply(X))[0]
    assert all(part in to_text(model, scaled=True) for part in scaled)
    assert not any(part in to_text(model) for part in scaled)
    for export in (to_text, to_rules, to_dot, to_dataframe, to_html):
        with pytest.raises(ValueError, match="give rows as X, or a fitted estimator"):
            export(tree, scaled=True)


@pytest.mark.parametrize(
    ("classes", "names", "labels"),
    [
        (
            ["setosa", "it's", "virginica"],
            ["setosa", "it's", "virginica"],
            ["setosa", "it's", "virginica"],
        ),
        ([3, 5, 9], ["class 3", "class 5", "class 9"], [3, 5, 9]),
        ([0.5, 1.5, 2.0], ["class 0.5", "class 1.5", "class 2.0"], [0.5, 1.5, 2.0]),
    ],
)
def test_classes_of_a_model_are_its_names(classes, names, labels):
    X = load_iris().data
    model = TAOClustering(3, lambda_=0.3, depth=3, random_state=0).fit(X)
    clusters = model.labels_
    model.classes_ = np.array(classes)
    assert cluster_names(model) == names
    facts = report(model)
    assert [part["name"] for part in facts["clusters"]] == names
    for node in facts["nodes"]:
        assert node["name"] == (names[node["cluster"]] if node["is_leaf"] else None)
    shown = {names[k] for k in model.tree_.leaf_label[model.tree_.leaves]}
    for text in (model.to_text(), " ".join(model.to_rules()), to_dot(model), model.to_html()):
        assert all(name in text.replace("\\u0027", "'") for name in shown)
        assert "cluster 0" not in text
    frame = to_dataframe(model)
    assert set(frame["name"]) == {"", *shown}
    why = model.explain(X[60])
    assert str(why).splitlines()[-1].startswith(names[clusters[60]])
    assert why.to_dict()["name"] == names[clusters[60]]
    assert {*model.describe(X).table["segment"]} == {*names}
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE points (x0, x1, x2, x3)")
    connection.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", X.tolist())
    found = connection.execute(f"SELECT {to_sql(model)} FROM points ORDER BY rowid").fetchall()  # noqa: S608
    connection.close()
    assert [label for (label,) in found] == [labels[k] for k in clusters]


def test_counts_without_noise_say_so():
    X, y = load_iris(return_X_y=True)
    for n_noise, counted in ((20, "labelled rows"), (0, "rows")):
        labels = np.array(["a", "b", "c"], dtype=object)[y]
        labels[:n_noise] = None
        model = TAOClustering(lambda_=0.1, depth=2, objective="labels", random_state=0)
        model.fit(X, labels)
        assert report(model)["summary"]["explains_labels"]
        texts = [" ".join(model.to_rules()), to_dot(model)]
        assert all(f"{50 - n_noise} {counted}, " in text for text in texts)
        assert f"50 rows, {100 / 3:.1f} %" in " ".join(model.to_rules(X=X))


def test_the_page_explains_only_what_it_shows():
    X = load_iris().data
    axis, oblique = IMM(3, random_state=0).fit(X), TAOClustering(3, lambda_=0.3, random_state=0)
    assert "red weights" not in axis.to_html()
    assert "red weights" in oblique.fit(X).to_html()


@pytest.mark.slow
@pytest.mark.parametrize(("first", "scale"), [(0.0, 1.0), (1e6, 1e-170), (1e6, 1e150)])
def test_spreads_do_not_depend_on_the_first_row(rng, first, scale):
    X = scale * rng.normal(size=(9000, 2))
    X[0] = first * scale
    children = ([1, -1, -1], [2, -1, -1])
    tree = Tree.from_splits(*children, [([0], [-2.0]), None, None], [0, 0, 0], [-1, 0, 1], 2)
    weight = rng.integers(1, 4, 9000).astype(float)
    weight[0] = 1e-30  # has no influence
    leaves, values = tree.apply(X), X[1:, 0] / scale
    spreads, sides = stds_and_sides(tree, X, leaves, weight)
    mean = np.average(values, weights=weight[1:])
    expected = np.sqrt(np.average((values - mean) ** 2, weights=weight[1:])) * scale
    np.testing.assert_allclose(spreads, expected, rtol=1e-8)
    below, above = X[X[:, 0] < 0, 0], X[X[:, 0] >= 0, 0]
    expected = [[below.max(), above.min()], [np.nan, np.nan], [np.nan, np.nan]]
    np.testing.assert_array_equal(sides, expected)
    for view in (kernel_arrays(sp.csr_matrix(X)), np.asfortranarray(X)):
        for n_jobs in (1, 2):
            again = stds_and_sides(tree, view, leaves, weight, n_jobs)
            np.testing.assert_array_equal(again[0], spreads)
            np.testing.assert_array_equal(again[1], sides)


@every_case
def test_rows_can_be_routed_by_the_report(case):
    model, X, labels = case()
    facts = json.loads(json.dumps(report(model, X), allow_nan=False))
    nodes = facts["nodes"]
    found = []
    for row in X:
        node = nodes[0]
        while not node["is_leaf"]:
            terms = sorted(node["terms"], key=lambda term: term["feature"])
            total = 0.0
            for term in terms:
                total += term["weight"] * row[term["feature"]]
            node = nodes[node["children"][int(total > node["threshold"])]]
        found.append(node["cluster"])
    np.testing.assert_array_equal(found, labels)
    sizes = [part["size"] for part in facts["clusters"]]
    np.testing.assert_array_equal(sizes, np.bincount(labels, minlength=len(sizes)))


def test_counts_of_a_fitted_estimator_are_those_of_its_rows():
    model, X = iris()
    assert report(model)["nodes"] == report(model, X)["nodes"]
    assert to_rules(model) == to_rules(model, X=X)
    assert all("rows, " in rule for rule in to_rules(model))
    summary = report(model)["summary"]
    assert summary["lambda"] == 0.3
    assert summary["inertia"] == model.inertia_
    assert summary["cost_increase"] == model.cost_increase_
    assert summary["count"] == len(X)


def test_weight_2_is_the_row_twice():
    X = load_iris().data
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = TAOClustering(3, lambda_=1, depth=2, random_state=0).fit(X, sample_weight=weight)
    twice = np.repeat(X, weight.astype(int), axis=0)
    facts = report(model)
    assert report(model, X, sample_weight=weight) == facts
    expected = report(model, twice)
    assert expected["summary"]["weight"] is None
    for one, other in zip(
        [facts["summary"], *facts["nodes"], *facts["clusters"]],
        [expected["summary"], *expected["nodes"], *expected["clusters"]],
        strict=True,
    ):
        assert one.pop("weight") == other.pop("rows")
        del one["rows"], other["weight"]
        assert one == other


@pytest.fixture(scope="module")
def weighted():
    X = load_iris().data
    weight = np.random.default_rng(0).random(len(X)) * 1000
    weight[::7] = 0
    model = TAOClustering(3, lambda_=1, depth=2, random_state=0)
    return model.fit(np.vstack([X, X]), sample_weight=np.r_[weight, weight]), X, weight


def test_real_rows_are_counted_beside_weights(weighted):
    model, X, weight = weighted
    reaches = model.decision_path(X)[weight > 0]
    np.testing.assert_array_equal(model.node_rows_, 2 * reaches.sum(axis=0).A1)
    assert model.node_rows_.dtype == np.int64
    facts = report(model)
    assert [node["rows"] for node in facts["nodes"]] == model.node_rows_.tolist()
    assert [node["weight"] for node in facts["nodes"]] == model.node_counts_.tolist()
    assert sum(part["rows"] for part in facts["clusters"]) == facts["summary"]["rows"]
    assert facts["summary"]["rows"] == 2 * (weight > 0).sum()
    other = report(model, X, sample_weight=weight)
    assert 2 * other["summary"]["rows"] == facts["summary"]["rows"]


def test_no_display_calls_a_weight_rows(weighted):
    """Whatever stands before "rows" is a number of rows; weights are called weights."""
    model, X, weight = weighted
    options = {"X": X, "sample_weight": weight}
    texts = {
        "rules": "\n".join(model.to_rules()),
        "rules of X": "\n".join(model.to_rules(**options)),
        "dot": model.to_dot(),
        "page": model.to_html(),
        "page of X": model.to_html(**options),
        "picture": "\n".join(t.get_text() for t in model.plot(**options).findobj(Text)),
        "describe": str(model.describe(**options)),
    }
    known = {*model.node_rows_.tolist(), *(model.node_rows_ // 2).tolist()}
    for name, text in texts.items():
        counts = re.findall(r"([\d.]+) rows", text)
        assert counts, name
        assert {float(count) for count in counts} <= known, name
        assert re.search(r"weight [\d.]+", text), name
    assert "of the weight" in texts["rules"]


def test_names_of_fit_are_the_default():
    data = pd.DataFrame(load_iris().data, columns=["p q", 'r"s', "t", "u"])
    model = TAOClustering(3, lambda_=5, depth=2, random_state=0).fit(data)
    used = {term["name"] for term in report(model, data)["summary"]["used_features"]}
    assert used <= set(data.columns)
    for export in (to_text, to_dot, to_sql):
        assert "x0" not in export(model)
        assert any(name.replace('"', "") in export(model) for name in used)
    assert (
        report(model, feature_names=list("abcd"))["summary"]["used_features"][0]["name"] in "abcd"
    )


@pytest.mark.parametrize("export", [to_text, to_rules, to_dataframe, to_dot, to_sql, report])
def test_bad_input_raises(export):
    tree, X = oblique()
    with pytest.raises(TypeError, match=r"Expected a Tree.*got list"):
        export([1, 2])
    names = "columns" if export is to_sql else "feature_names"
    with pytest.raises(ValueError, match="1 feature names for 6 features"):
        export(tree, **{names: ["a"]})
    if export in (to_rules, to_dataframe, to_dot, report):
        with pytest.raises(ValueError, match="X has 5 features"):
            export(tree, X=X[:, :5])
        with pytest.raises(ValueError, match="needs the rows X"):
            export(tree, sample_weight=np.ones(len(X)))
        with pytest.raises(ValueError, match="sample_weight has 3 entries"):
            export(tree, X=X, sample_weight=np.ones(3))
