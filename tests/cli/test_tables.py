"""Tables on the command line: the same pipeline as in Python, and what is done with each column."""

import re
import warnings

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from command_line import main
from sklearn.datasets import load_wine

from tao_cluster import compare, load, table_pipeline


@pytest.fixture
def wine(tmp_path, monkeypatch):
    """A .csv with row numbers, categories, names, a constant and missing values."""
    monkeypatch.chdir(tmp_path)
    frame = load_wine(as_frame=True).data.iloc[:, :4].copy()
    frame["kind"] = np.array(["barbera", "barolo", "grignolino"])[load_wine().target]
    frame["colour"] = np.where(np.arange(178) % 3, "white", "red")
    frame["bottle"] = [f"bottle {i}" for i in range(178)]
    frame["year"] = 1991
    frame["price"] = [f"{price:.2f} EUR" for price in 5 + frame["alcohol"] / 3]
    frame["sold, to"] = np.array(["bar", "shop"])[np.arange(178) % 2]
    frame.loc[[3, 5], "ash"] = np.nan
    frame.loc[4, "colour"] = np.nan
    frame.to_csv("wine.csv")
    return frame


def fit(*options):
    """Fit with few parameters; return the pipeline and the labels that were written."""
    assert main(["fit", "wine.csv", "-k", "3", "--lambda", "5", "--force", *options]) == 0
    return load("wine_tree/model.json"), pd.read_csv("wine_tree/labels.csv")


OPTIONS = {
    "defaults": ([], {}),
    "columns": (["--columns", "alcohol, ash", "--columns", "sold, to"],
                {"columns": ["alcohol", "ash", "sold, to"]}),
    "drop": (["--drop", "sold, to", "--drop", "kind,ash"], {"drop": ["sold, to", "kind", "ash"]}),
    "keep": (["--keep", "bottle", "--max-levels", "4"], {"keep": ["bottle"], "max_levels": 4}),
    "indicator": (["--missing", "indicator"], {"missing": "indicator"}),
    "raw units": (["--no-standardize", "--category-weight", "2"],
                  {"standardize": False, "category_weight": 2.0}),
    "words": (["--na", "red", "bar"], {"na_values": ["", "red", "bar"]}),
    "leaves": (["--split", "axis", "--max-leaves", "4"], {"split": "axis", "max_leaves": 4}),
}  # fmt: skip


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize("name", OPTIONS)
def test_the_tree_is_that_of_python(wine, capsys, name):
    options, parameters = OPTIONS[name]
    model, labels = fit(*options)
    table = pd.read_csv("wine.csv")
    expected = table_pipeline(table, 3, lambda_=5, random_state=0, **parameters).fit(table)
    assert model[-1].tree_ == expected[-1].tree_
    np.testing.assert_array_equal(labels["cluster"], expected.predict(table))
    np.testing.assert_array_equal(labels["row"], np.arange(178))
    decisions = pd.read_csv("wine_tree/columns.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(decisions, expected.decisions_, check_dtype=False)
    # The columns that are not just numbers are printed with the heading of the unit.
    shown = capsys.readouterr().out
    assert "missing, %" in shown
    lines = [line.strip() for line in shown.splitlines()]
    for row in decisions[(decisions["done"] != "number") | (decisions["why"] != "")].itertuples():
        is_shown = any(re.match(rf"{row.column} +{row.kind} ", line) for line in lines)
        assert is_shown == (row.why != "not chosen"), row


@pytest.mark.slow
def test_header_of_years_and_a_missing_header(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 4)).round(3)
    table = pd.DataFrame(X, columns=[2000, 2001, 2002, 2003])
    table.insert(0, "country", [f"land {i}" for i in range(40)])
    table.to_csv("years.csv", index=False)
    command = ["fit", "years.csv", "-k", "2", "--id", "country", "--lambda", "5"]
    assert main(command) == 2
    assert '"header": true' in capsys.readouterr().err
    assert main([*command, "--header"]) == 0
    labels = pd.read_csv("years_tree/labels.csv")
    assert labels["country"].tolist() == table["country"].tolist()
    assert "no header" not in capsys.readouterr().err
    np.savetxt("plain.csv", X, delimiter=",")
    assert main(["fit", "plain.csv", "-k", "2", "--lambda", "5"]) == 0
    assert (
        "no header was found, so columns are x0, x1, ...; see --header" in capsys.readouterr().err
    )
    assert main(["fit", "plain.csv", "-k", "2", "--lambda", "5", "--no-header", "--force"]) == 0
    assert capsys.readouterr().err == ""


def test_options_of_reading_are_kept_for_new_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    table = pd.DataFrame(X, columns=["Größe", "Höhe"])
    text = "Übersicht;2020\n" + table.to_csv(index=False, sep=";", decimal=",")
    for name in ("old.csv", "new.csv"):
        (tmp_path / name).write_text(text, encoding="cp1252")
    options = ["--skip-lines", "1", "--sep", ";", "--decimal", ",", "--encoding", "cp1252"]
    assert main(["fit", "old.csv", "-k", "2", "--lambda", "5", "--header", *options]) == 0
    assert list(load("old_tree/model.json")[0].readers) == ["Größe", "Höhe"]
    assert main(["predict", "old_tree", "new.csv", "--out", "new_labels.csv"]) == 0
    assert capsys.readouterr().err == ""
    labels = (tmp_path / "new_labels.csv").read_bytes()
    assert labels == (tmp_path / "old_tree" / "labels.csv").read_bytes()


@pytest.mark.slow
def test_warnings_are_one_line(wine, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        fit("--columns", "alcohol,malic_acid", "--depth", "1", "--lambda", "0.1", "-k", "5")
    error = capsys.readouterr().err
    assert all(line.startswith("tao-cluster: warning: ") for line in error.splitlines())
    assert "depth" in error


@pytest.mark.slow
def test_compare_writes_its_table_and_picture(wine, capsys):
    options = ["--n-clusters", "3", "--leaves", "3,5", "--parameters", "12", "--classes", "kind"]
    options += ["--methods", "tao,exkmc,imm", "--validation", "0.25"]
    assert main(["compare", "wine.csv", *options]) == 0
    shown = capsys.readouterr().out
    table = pd.read_csv("wine.csv")
    expected = compare(
        table_pipeline(table, drop=["kind"])[:-1].fit_transform(table),
        3,
        ["tao", "exkmc", "imm"],
        budgets={"leaves": [3, 5], "parameters": [12]},
        validation=0.25,
        y=wine["kind"],
    )
    table = pd.read_csv("wine_compare.csv", index_col="model")
    assert list(table.index) == list(expected.table.index)
    for name in ("cost_increase", "cost_increase_new", "leaves", "parameters", "WAES", "ARI"):
        np.testing.assert_allclose(table[name], expected.table[name].astype(float), err_msg=name)
    for name in table.index:
        assert name in shown
    picture = matplotlib.image.imread("wine_compare.png")
    assert picture.shape[1] > 500
    assert picture.std() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--methods", "best"], "Unknown method 'best'"),
        (["--validation", "2"], "validation=2.0 must be a share"),
        (["--leaves", "2"], "max_leaves"),
    ],
)
def test_compare_has_one_error_message(wine, capsys, arguments, sentence):
    options = ["--n-clusters", "3", "--columns", "alcohol,malic_acid"]
    assert main(["compare", "wine.csv", *options, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert sentence in error


@pytest.mark.slow
def test_fit_explains_labels_of_a_column(wine, capsys):
    wine.loc[7, "kind"] = None
    wine.to_csv("wine.csv", index=False)
    options = ["fit", "wine.csv", "--objective", "labels", "--force"]
    assert main([*options, "--classes", "kind", "--lambda", "1", "--drop", "colour"]) == 0
    shown = capsys.readouterr().out
    assert "rows with another label, %" in shown
    written = pd.read_csv("wine_tree/labels.csv")
    assert set(written["cluster"]) == {"barbera", "barolo", "grignolino"}
    assert (written["cluster"] == wine["kind"]).mean() > 0.7
    for more, sentence in (
        ([], "--objective labels needs --classes COLUMN"),
        (["--classes", "kind", "-k", "3"], "--objective labels has one cluster per label"),
        (["--classes", "kind", "--objective", "kmeans"], "add --objective labels"),
    ):
        assert main([*options, *more]) == 2
        assert sentence in capsys.readouterr().err
