"""Names of clusters: they are in every output, survive a file, and wrong ones change nothing."""

import copy
import json
import pickle
import re
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from export_cases import TEXT_FORMATS
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import IMM
from tao_cluster import TAOClustering, describe, load, monitor, refit, save, table_pipeline
from tao_cluster.cli.using import content
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_query, to_sql, to_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_test, plot_tests, plot_tree
from tao_cluster.report import report

NAMES = ["Loyal families", "Quux", "At risk"]
DEFAULT = re.compile(r"\bcluster \d")


def table_of(seed):
    """Three groups: two columns of numbers, and a category."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, 150)
    plan = np.array(["free", "gold", "trial"])[np.where(rng.random(150) < 0.9, z, 0)]
    spend, age = 9.0 * z + rng.normal(size=150), 30 + 5 * (z == 1) + rng.normal(size=150)
    return pd.DataFrame({"spend": spend.round(2), "age": age.round(1), "plan": plan})


def fitted(kind):
    """A fitted model of a kind, with named clusters, and the rows of its fit."""
    table = table_of(0)
    X = table[["spend", "age"]]
    if kind == "table":
        return table_pipeline(table, 3, random_state=0).fit(table).name_clusters(NAMES), table
    if kind == "greedy":
        return IMM(3, random_state=0).fit(X).name_clusters(NAMES), X
    algorithm = {"depth": 2, "lambda_": 0.1} if kind == "oblique" else {"split": "axis"}
    model = TAOClustering(3, random_state=0, **algorithm).fit(X)
    return model.name_clusters(dict(enumerate(NAMES))), X


@pytest.fixture(scope="module", params=["oblique", "axis", "greedy", "table"])
def named(request):
    return fitted(request.param)


def drawn(axes):
    """All texts of a figure; lines of one text are joined."""
    figure = axes if isinstance(axes, Figure) else np.ravel(axes)[0].figure
    texts = [text.get_text().replace("\n", " ") for text in figure.findobj(Text)]
    plt.close(figure)
    return "; ".join(texts)


# Functions of the model and its rows, which return texts with the names of all clusters ...
OF_ALL = {
    **{name: lambda model, X, name=name: content(model, name) for name in TEXT_FORMATS},
    "table of nodes": lambda model, X: to_dataframe(model, X=X).to_string(),
    "report": lambda model, X: json.dumps(report(model)),
    "page with rows": lambda model, X: to_html(model, X=X),
    "tree": lambda model, X: drawn(plot_tree(model)),
    "tree with rows": lambda model, X: drawn(plot_tree(model, X, nodes="projection")),
    "tests": lambda model, X: drawn(plot_tests(model, X)),
    "explanations": lambda model, X: str(explain(model, X)),
    "explanations as a page": lambda model, X: explain(model, X[:150])._repr_html_(),
    "explanations as a table": lambda model, X: explain(model, X).to_frame().to_string(),
    "description": lambda model, X: str(describe(model, X)),
    "description as a table": lambda model, X: describe(model, X).table.to_string(),
    "cards": lambda model, X: drawn(describe(model, X).plot()),
    "comparison of months": lambda model, X: str(monitor(model, X, X)),
    "picture of months": lambda model, X: drawn(monitor(model, X, X).plot()),
    "refit": lambda model, X: to_text(refit(model, X, verbose=0)),
}
# ... and with the name of the cluster of the first row.
OF_ONE = {
    "explanation": lambda model, X: f"{explain(model, X[:1])} {explain(model, X[:1]).to_dict()}",
    "decision path": lambda model, X: drawn(explain(model, X[:1]).plot()),
    "change": lambda model, X: str(nearest_change(model, X[:1], "Quux")),
    "test": lambda model, X: drawn(plot_test(model, 0, X)),
}


def check(outputs, model, X, names):
    for kind, output in outputs.items():
        found = output(model, X).replace("\\n", " ")
        assert not [name for name in names if name not in found], kind
        assert not DEFAULT.search(found), kind


@pytest.mark.spaced(quick=0, slow=2)
def test_every_output_has_the_names(named, tmp_path):
    model, X = named
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    labels = model.predict(X)
    assert {*labels.tolist()} == {0, 1, 2}
    check(OF_ALL, model, X, NAMES)
    check(OF_ONE, model, X, [NAMES[labels[0]]])
    few = {kind: OF_ALL[kind] for kind in ("rules", "sql", "html", "explanations as a table")}
    check(few, loaded, X, NAMES)
    assert to_html(loaded, X=X) == to_html(model, X=X)
    assert to_text(model) == to_text(loaded)


def test_sql_and_queries_give_the_names_of_the_predicted_clusters(named):
    model, X = named
    connection = sqlite3.connect(":memory:")
    X.to_sql("t", connection, index=False)
    for names, values in ((True, np.array(NAMES)), (False, np.arange(3))):
        found = pd.read_sql_query(to_sql(model, table="t", names=names), connection)["cluster"]
        assert found.tolist() == values[model.predict(X)].tolist()
        for key, query in to_query(model, names=names).items():
            assert X.query(query).index.tolist() == np.flatnonzero(found == key).tolist()
    connection.close()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({3: "a"}, "no cluster 3 to be named; the clusters are 0, 1, 2"),
        ({"Quux": "a"}, "no cluster 'Quux'"),
        (["a", "b"], "2 names for 3 clusters"),
        (["a", "b", "a"], "would have the name 'a'"),
        (["a b", "a  b ", "c"], "would have the name 'a b'"),
        ({"3": "a"}, "no cluster '3' to be named"),
        ({0: "Quux"}, "would have the name 'Quux'"),
        ({0: "a\nb", 1: "a\\nb"}, "would have the name"),
        ({0: ""}, "not empty"),
        ({0: 7}, "must be strings that are not empty, got 7"),
        ("abc", "must be a dict"),
    ],
)
def test_wrong_names_raise_and_change_nothing(names, message):
    model, X = fitted("greedy")
    with pytest.raises(ValueError, match=message):
        model.name_clusters(names)
    assert model.cluster_names_ == NAMES
    model.fit(X)
    with pytest.raises(ValueError, match=r"name 'cluster 2'"):  # that of an unnamed cluster
        model.name_clusters({0: "cluster 2"})
    assert not hasattr(model, "cluster_names_")


def test_names_belong_to_one_fit():
    X = table_of(1)[["spend", "age"]]
    model = IMM(3, random_state=0).fit(X)
    before = to_sql(model)
    assert model.name_clusters({1: "Quux"}) is model
    model.name_clusters({"0": "Zorba"})  # as in JSON; a later call keeps the other names
    assert model.cluster_names_ == ["Zorba", "Quux", "cluster 2"]
    model.name_clusters(pd.Series({0: "Zorba"}))
    assert model.cluster_names_ == ["Zorba", "Quux", "cluster 2"]
    for same in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301
        assert to_text(same) == to_text(model)
        same.name_clusters({0: "other"})
    assert model.cluster_names_[0] == "Zorba"
    assert not hasattr(clone(model).fit(X), "cluster_names_")
    pipeline = make_pipeline(StandardScaler(), IMM(3, random_state=0)).fit(X)
    assert pipeline[-1].name_clusters({2: "Quux"}) is pipeline[-1]
    assert "Quux" in to_text(pipeline)
    assert to_sql(model.fit(X)) == before
    assert not hasattr(model, "cluster_names_")


@pytest.mark.parametrize("y", [["b", "a", "b", "a"], [7, 3, 7, 3], [True, False, True, False]])
def test_explained_labels_have_names_for_displays(y):
    X = [[0.0], [9.0], [1.0], [8.0]]
    model = TAOClustering(objective="labels", random_state=0).fit(X, y)
    first, second = model.classes_
    model.name_clusters({y[0]: "Zorba"})
    other = str(first) if isinstance(first, str) else f"class {first}"
    assert model.cluster_names_ == [other, "Zorba"]
    assert {*to_query(model)} == {other, "Zorba"}
    assert {*to_query(model, names=False)} == {first, second}
    assert model.predict(X).tolist() == y
    assert f"THEN '{other}'" in to_sql(model)
    change = nearest_change(model, X[0], y[1], bounds=None)
    assert (change.before, change.name) == ("Zorba", other)
    with pytest.raises(ValueError, match="no cluster 'x'"):
        model.name_clusters({"x": "a"})


def test_a_file_with_wrong_names_is_rejected(tmp_path):
    model, _ = fitted("greedy")
    path = tmp_path / "model.json"
    model.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    saved = document["attributes"]["cluster_names_"]
    assert saved == NAMES
    for wrong in (["a", "b"], ["a", "a", "b"], ["a", "b", 3], "abc", {"0": "a"}, None):
        document["attributes"]["cluster_names_"] = wrong
        path.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(ValueError, match="not a model that can be used"):
            load(path)
