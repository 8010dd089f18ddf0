"""Every export of the same trees gives back the same predictions."""

import json
import re
import sqlite3
import sys

import numpy as np
import pytest
from conftest import random_tree, tree_of
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from greedy import ExKMC
from tao_cluster import TAOClustering, Tree
from tao_cluster.export import (
    from_dict,
    to_dataframe,
    to_dict,
    to_dot,
    to_onnx,
    to_rules,
    to_sql,
    to_text,
)
from tao_cluster.export.sql import _literal
from tao_cluster.initial_trees.cart import cart_tree
from tao_cluster.report import report

AWKWARD = ['pet"al', "le ng th", "größe μ", "a\\b", "it's", "line\nbreak", "<x>", "{y}"]


def whole_numbers(tree):
    """Rows with small whole numbers: sums are exact in every order, and many meet a threshold."""
    return np.random.default_rng(1).integers(-3, 4, (60, tree.n_features)).astype(float)


def oblique():
    tree = random_tree(np.random.default_rng(3), n_features=6, n_nodes=31)
    return tree, whole_numbers(tree)


def weights_free():
    tree = random_tree(np.random.default_rng(4), n_features=3, n_nodes=31, density=0.25)
    assert np.any(np.diff(tree.split_indptr)[tree.decision_nodes] == 0)
    return tree, whole_numbers(tree)


def no_weights_at_all():
    tree = random_tree(np.random.default_rng(5), n_features=2, n_nodes=7, density=0)
    return tree, whole_numbers(tree)


def with_histograms():
    tree = random_tree(np.random.default_rng(6), n_nodes=21)
    value = np.zeros((tree.n_nodes, 4))
    value[tree.leaves] = np.random.default_rng(7).dirichlet(np.ones(4), tree.n_leaves)
    label = tree.leaf_label.copy()
    label[tree.leaves] = value[tree.leaves].argmax(axis=1)
    return tree.with_leaves(label, value), whole_numbers(tree)


def single_leaf():
    tree = Tree.single_leaf(3, n_features=2)
    return tree, whole_numbers(tree)


def axis_aligned():
    """Thresholds are values of rows with all their digits, so that many rows meet one."""
    X = np.random.default_rng(8).normal(size=(300, 4))
    model = ExKMC(6, max_leaves=40, midpoints=False, random_state=0).fit(X)
    assert np.isin(model.tree_.threshold[model.tree_.decision_nodes], X).all()
    return model, X


def deep():
    """A staircase of more levels than parsers have room for nested expressions."""
    X = np.arange(200.0)[:, None]
    return cart_tree(X, np.arange(200) % 3, 200), X


def iris():
    X = load_iris().data
    return TAOClustering(3, lambda_=0.3, depth=3, random_state=0).fit(X), X


def scaled_axis_aligned():
    """Thresholds between rows: in float32 the scalers round otherwise than in float64."""
    X = np.random.default_rng(9).normal(1e3, 50, (300, 4))
    model = ExKMC(6, max_leaves=40, midpoints=True, random_state=0)
    return make_pipeline(MinMaxScaler(), StandardScaler(), model).fit(X), X


def scaled_iris():
    X = load_iris().data
    model = TAOClustering(3, lambda_=0.1, depth=3, random_state=0)
    return make_pipeline(MaxAbsScaler(), model).fit(X), X


MAKERS = [
    scaled_axis_aligned,
    scaled_iris,
    oblique,
    weights_free,
    no_weights_at_all,
    with_histograms,
    single_leaf,
    axis_aligned,
    deep,
    iris,
]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def case(request):
    """A tree or fitted estimator, rows, and their clusters."""
    model, X = request.param()
    return model, X, model.predict(X)


def test_dict_and_json(case):
    model, X, labels = case
    for tree in (
        from_dict(json.loads(json.dumps(to_dict(model)))),
        Tree.from_json(tree_of(model).to_json()),
    ):
        np.testing.assert_array_equal(tree.predict(X), labels)


@pytest.mark.slow
def test_report(case):
    model, X, labels = case
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


def test_text(case):
    """Text with all digits is Python code but for its indentation."""
    model, X, labels = case
    if tree_of(model).max_depth > 90:
        pytest.skip("Python allows 100 levels of indentation.")
    code = to_text(model, precision=17).replace("|--- ", "").replace("|    ", "    ")
    code = re.sub(r"^( *if .*|.*else)$", r"\1:", code, flags=re.MULTILINE)
    code = compile(re.sub(r"cluster (\d+)", r"label = \1", code), "text", "exec")
    np.testing.assert_array_equal([_run(code, row)["label"] for row in X], labels)


def test_rules(case):
    model, X, labels = case
    model = tree_of(model).prune()  # a rule of a leaf that no row can reach may hold all the same
    rules = [rule.removeprefix("if ").split(" then cluster ") for rule in to_rules(model, None, 17)]
    assert len(rules) == model.n_leaves
    rules = [
        (compile(f"holds = {premise.replace('always', 'True')}", "rule", "exec"), int(cluster))
        for premise, cluster in rules
    ]
    for row, label in zip(X, labels, strict=True):
        assert [cluster for code, cluster in rules if _run(code, row)["holds"]] == [label]


def _run(code, row):
    names = {f"x{j}": value for j, value in enumerate(row)}
    exec(code, names)  # noqa: S102
    return names


@pytest.mark.slow
def test_dataframe(case):
    pytest.importorskip("pandas", reason="pandas is optional")
    model, X, labels = case
    frame = to_dataframe(model, X=X)
    tree = tree_of(model)
    assert ("histogram" in frame) == (tree.leaf_value is not None)
    found = []
    for row in X:
        node = frame.loc[0]
        while not node["is_leaf"]:
            total = 0.0
            for j, weight in zip(node["features"], node["weights"], strict=True):
                total += weight * row[j]
            node = frame.loc[node["left"] if total <= node["threshold"] else node["right"]]
        found.append(node["cluster"])
    np.testing.assert_array_equal(found, labels)
    np.testing.assert_array_equal(frame["count"], tree.node_counts(tree.apply(X)))


def test_dot(case):
    model, X, _ = case
    names = (AWKWARD * 5)[: X.shape[1]]
    tree, text = tree_of(model), to_dot(model, names, X=X)
    quoted = r'"(?:[^"\\\n]|\\.)*"'
    nodes = re.findall(rf"^  (\d+) \[label={quoted}(?:, style=rounded)?\];$", text, re.MULTILINE)
    edges = re.findall(rf"^  (\d+) -> (\d+) \[label={quoted}\];$", text, re.MULTILINE)
    assert len(nodes) + len(edges) + 4 == len(text.splitlines())
    assert [int(i) for i in nodes] == list(range(tree.n_nodes))
    assert sorted(int(child) for _, child in edges) == list(range(1, tree.n_nodes))
    assert all(tree.parent[int(child)] == int(parent) for parent, child in edges)


def sqlite_labels(model, X, names, table=None):
    connection = sqlite3.connect(":memory:")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    connection.execute(f"CREATE TABLE points ({columns})")
    places = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO points VALUES ({places})", X)  # noqa: S608
    expression = to_sql(model, names, table=table)
    rows = connection.execute(f"SELECT {expression} FROM points ORDER BY rowid").fetchall()  # noqa: S608
    connection.close()
    return [label for (label,) in rows]


@pytest.mark.parametrize("table", [None, "points"])
def test_sql(case, table):
    model, X, labels = case
    names = AWKWARD[: X.shape[1]]
    assert sqlite_labels(model, X.tolist(), names, table) == labels.tolist()


def test_onnx(case):
    pytest.importorskip("onnx", reason="onnx is optional")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the models")
    model, X, _ = case
    tree = tree_of(model)
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        graph = to_onnx(model, dtype=dtype).SerializeToString()
        session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        label, *rest = session.run(None, {"X": rows})
        assert label.dtype == np.int64
        np.testing.assert_array_equal(label, model.predict(rows))
        assert len(rest) == (tree.leaf_value is not None)
        for probabilities in rest:
            np.testing.assert_array_equal(probabilities, tree.leaf_value[tree.apply(rows)])
        np.testing.assert_array_equal(session.run(None, {"X": rows[:1]})[0], label[:1])


def test_iris_has_no_row_on_a_threshold():
    """Where `test_onnx` compares oblique sums that are not exact."""
    model, X = iris()
    tree = model.tree_
    assert tree.n_nonzero > len(tree.decision_nodes)
    for dtype in (np.float32, np.float64):
        for node in tree.decision_nodes:
            indices, weights = tree.split(node)
            values = X.astype(dtype).astype(float)[:, indices] @ weights
            assert np.abs(values - tree.threshold[node]).min() > 1e-9


# ---------------------------------------------------------------------------- details of SQL


def test_sql_reads_every_float_back():
    rng = np.random.default_rng(0)
    numbers = [*rng.uniform(1, 10, 3000) * 10.0 ** rng.integers(-30, 30, 3000), 0.0, 0.1, 2.0**60]
    numbers += [*rng.uniform(0, 10, 3000), *rng.integers(0, 10**7, 3000) / 1e4, 1e-200, 1.7e308]
    # Literals of 17 digits that SQLite 3.40 reads one bit off.
    numbers += [7.993291774060443, 0.002105918464458939, 3934785317.807163, 46.68115508111973]
    connection = sqlite3.connect(":memory:")
    for start in range(0, len(numbers), 500):
        part = [float(number) for number in numbers[start : start + 500]]
        query = "SELECT " + ", ".join(map(_literal, part))
        assert list(connection.execute(query).fetchone()) == part
    connection.close()


def test_sql_null_only_where_a_test_on_the_path_meets_it():
    tree = Tree.from_splits(
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [([0], [1.0]), None, ([0, 1], [1.0, 1.0]), None, None],
        [0.0, 0, 5.0, 0, 0],
        [-1, 0, -1, 1, 2],
        n_features=2,
    )
    rows = [(-1.0, None), (1.0, None), (None, 1.0), (1.0, 1.0), (9.0, 1.0)]
    assert sqlite_labels(tree, rows, ["a", "b"]) == [0, None, None, 1, 2]


def test_sql_takes_whole_numbers_and_texts_for_numbers():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [2.5, 0, 0], [-1, 0, 1], n_features=1
    )
    assert sqlite_labels(tree, [("2",), (2,), ("3",), (3,)], ["a"]) == [0, 0, 1, 1]


def test_sql_of_two_columns_with_one_name():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([1], [1.0]), None, None], [2.5, 0, 0], [-1, 0, 1], n_features=3
    )
    with pytest.raises(ValueError, match="2 columns have the name 'a'"):
        to_sql(tree, ["b", "a", "a"])
    assert '"b"' in to_sql(tree, ["a", "b", "a"])  # not tested: does not matter


# ---------------------------------------------------------------------------- names and counts


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
    assert report(model) == report(model, twice)
    assert report(model, X, sample_weight=weight) == report(model, twice)


def test_names_of_fit_are_the_default():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    data = pandas.DataFrame(load_iris().data, columns=["p q", 'r"s', "t", "u"])
    model = TAOClustering(3, lambda_=5, depth=2, random_state=0).fit(data)
    used = {term["name"] for term in report(model, data)["summary"]["used_features"]}
    assert used <= set(data.columns)
    for export in (to_text, to_dot, to_sql):
        assert "x0" not in export(model)
        assert any(name.replace('"', "") in export(model) for name in used)
    assert (
        report(model, feature_names=list("abcd"))["summary"]["used_features"][0]["name"] in "abcd"
    )


@pytest.mark.parametrize("export", [to_text, to_rules, to_dataframe, to_dot, report])
def test_awkward_and_repeated_names_are_shown_as_they_are(export):
    tree, _ = oblique()
    assert export(tree, feature_names=AWKWARD[: tree.n_features]) is not None
    assert export(tree, feature_names=["a"] * tree.n_features) is not None


@pytest.mark.parametrize("export", [to_text, to_rules, to_dataframe, to_dot, to_sql, report])
def test_bad_input_gets_a_sentence(export):
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
        with pytest.raises(ValueError, match="60 numbers, one a row"):
            export(tree, X=X, sample_weight=np.ones(3))


def test_onnx_input_types():
    pytest.importorskip("onnx", reason="onnx is optional")
    with pytest.raises(ValueError, match="float32 or float64, got int64"):
        to_onnx(oblique()[0], dtype=np.int64)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="to_dataframe needs the package pandas: pip install"):
        to_dataframe(oblique()[0])
    with pytest.raises(ImportError, match=r'pip install "tao-cluster\[onnx\]"'):
        to_onnx(oblique()[0])


def test_long_tests_are_cut_short():
    tree = Tree.from_splits(
        [1, -1, -1],
        [2, -1, -1],
        [(range(4), [1.0, 2.0, 3.0, 4.0]), None, None],
        [0.0, 0, 0],
        [-1, 0, 1],
        n_features=4,
    )
    short = "4*x3 + 3*x2 + 2 more <= 0"
    assert short in to_dot(tree, max_terms=2)
    assert to_rules(tree, max_terms=2)[0] == f"if {short} then cluster 0"
    assert to_dataframe(tree, max_terms=2)["test"][0] == short
    assert to_text(tree, max_terms=2).startswith(f"|--- if {short}")
