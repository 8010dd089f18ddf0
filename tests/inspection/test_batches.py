"""Explanations of several rows, their pictures and their HTML; models that are not fitted."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import IMM, ExKMC
from tao_cluster import TAOClustering, Tree, describe, export, measures, plot
from tao_cluster.explanations import (
    Explanation,
    Explanations,
    explain,
    nearest_change,
)
from tao_cluster.page import to_html
from tao_cluster.report import report

SCRIPT = "<script>alert('a')</script> & $x^2$"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return TAOClustering(3, lambda_=0.3, depth=3, random_state=0).fit(load_iris().data)


@pytest.fixture
def tree():
    """Cluster 0: a <= 3; else 1 where 2 a - 3 b <= 5, else 2."""
    return Tree.from_splits(
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [([0], [1.0]), None, ([0, 1], [2.0, -3.0]), None, None],
        [3.0, 0, 5.0, 0, 0],
        [-1, 0, -1, 1, 2],
        2,
    )


def test_several_rows_are_several_explanations(model):
    X = load_iris().data[::10]
    whys = model.explain(X)
    assert len(whys) == len(X)
    assert list(whys) == [model.explain(x) for x in X]
    for rows in (X.tolist(), sp.csr_matrix(X), sp.coo_array(X), np.asarray(X, dtype=object)):
        assert explain(model, rows) == whys
    assert isinstance(whys[2:4], Explanations)
    assert whys[2:4].index == [2, 3]
    assert isinstance(model.explain(X[:1]), Explanation)
    assert str(whys).startswith(f"row 0\n{whys[0]}\n\nrow 1\n")
    with pytest.raises(ValueError, match="NaN"):
        model.explain(np.full((2, 4), np.nan))


def test_frame_has_a_row_a_test(model):
    X = load_iris().data[::25]
    whys = model.explain(X)
    frame = whys.to_frame()
    assert len(frame) == sum(len(why.tests) for why in whys)
    assert frame.groupby("row")["leaf"].first().tolist() == model.apply(X).tolist()
    assert ((frame["sum"] > frame["threshold"]) == (frame["side"] == "right")).all()
    assert frame["test"][0] == str(whys[0].tests[0])
    empty = explain(Tree.single_leaf(0, 2), np.zeros((3, 2))).to_frame()
    assert isinstance(empty, pd.DataFrame)
    assert len(empty) == 0


def test_html_is_escaped(tree):
    names = [SCRIPT, "b"]
    X = [[4.0, 0.5], [0.0, 1.0], [9.0, 0.0]]
    parts = [
        explain(tree, X[0], names),
        explain(tree, X, names),
        describe(tree, X, feature_names=names),
        nearest_change(tree, X[0], 0, feature_names=names),
    ]
    for part in parts:
        page = part._repr_html_()
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "cluster" in page
    table = explain(tree, np.tile(X, (20, 1)))._repr_html_()
    assert table.count("<tr>") == 21
    assert "40 more rows" in table


@pytest.mark.slow
def test_bars_of_a_path_add_up(tree):
    why = explain(tree, [4.0, 2.0], [SCRIPT, "b"])
    of_value, of_sum = why.plot().axes
    of_value.figure.canvas.draw()  # names are no formulas
    bars = [(bar.get_x(), bar.get_width()) for bar in of_sum.patches]
    assert bars == [(0.0, 8.0), (8.0, -6.0), (0.0, 2.0)]
    (red, _, blue, _), (other_red, _, other_blue, _) = (
        bar.get_facecolor() for bar in of_sum.patches[:2]
    )
    assert red > blue
    assert other_blue > other_red
    assert 5.0 in [line.get_xdata()[0] for line in of_sum.lines]
    assert of_sum.get_title("left") == "node 2: sum = 2 ≤ 5 → the row goes left"
    assert 3.0 in [line.get_xdata()[0] for line in of_value.lines]
    low, high = of_sum.get_xlim()
    assert low < 0
    assert high > 8
    minus = "\N{MINUS SIGN}"
    labels = [label.get_text() for label in of_sum.get_yticklabels()]
    assert labels[1:] == [f"{minus}3*b = {minus}6", "sum"]
    note = of_sum.figure.get_supxlabel()
    assert "begins where the bar above it ends" in note
    assert "The point is the value of the row" in of_sum.figure.caption
    assert of_sum.figure.get_suptitle() == f"Why this row is in {why.name} (leaf {why.leaf})"
    assert why.plot("mine").get_suptitle() == "mine"
    assert len(explain(Tree.single_leaf(0, 2), [0.0, 1.0]).plot().axes) == 1


def test_a_row_is_its_position(tree):
    frame = pd.DataFrame([[4.0, 2.0], [0.0, 1.0]], columns=["a", "b"], index=["first", 7])
    whys = explain(tree, frame, ["a", "b"])
    titles = [why.plot().get_suptitle() for why in whys]
    assert [title[: title.index(" is in")] for title in titles] == ["Why row 0", "Why row 1"]
    assert str(whys).startswith("row 0\n")
    assert whys.to_frame()["row"].unique().tolist() == [0, 1]
    assert whys[1:].to_frame()["row"].unique().tolist() == [1]
    for one in (frame[:1], frame.iloc[0], {"a": 4.0, "b": 2.0}):
        assert explain(tree, one, ["a", "b"]).row is None
        assert explain(tree, one, ["a", "b"]).to_frame()["row"].unique().tolist() == [0]
    change = nearest_change(tree, frame[:1], 0, feature_names=["a", "b"])
    assert list(change.to_frame()) == [
        *("row", "column", "before", "after", "cost", "leaf", "cluster", "name")
    ]
    assert (change.to_frame()[["row", "leaf"]] == [0, change.leaf]).all().all()


X = np.random.default_rng(0).normal(size=(20, 2))
READERS = {
    "explain": lambda model: explain(model, X[0]),
    "explain rows": lambda model: explain(model, X),
    "nearest_change": lambda model: nearest_change(model, X[0], 0),
    "describe": lambda model: describe(model, X),
    "report": report,
    "to_html": to_html,
    **{name: getattr(plot, name) for name in ("plot_tree", "plot_history")},
    "plot_regions": lambda model: plot.plot_regions(model, X),
    "plot_path": lambda model: plot.plot_path([model, model]),
    "plot_tradeoff": lambda model: plot.plot_tradeoff([model]),
    **{
        name: getattr(export, name)
        for name in export.__all__
        if inspect.isfunction(getattr(export, name)) and name != "from_dict"
    },
    **{
        name: lambda model, name=name: getattr(measures, name)(model, X)
        for name in (
            "explainability",
            "feature_usage",
            "price_of_explainability",
            "surrogate_cost",
            "weighted_average_depth",
            "weighted_average_explanation_size",
        )
    },
}


@pytest.mark.parametrize("name", READERS)
def test_models_that_are_not_fitted_say_so(name):
    for unfitted in (TAOClustering(3), ExKMC(3), make_pipeline(StandardScaler(), IMM(3))):
        with pytest.raises(NotFittedError):
            READERS[name](unfitted)
