"""Tables as people have them: what is done with each column is said, or refused in a sentence."""

import warnings

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from tao_cluster import TAOClustering, compare, load
from tao_cluster.__main__ import main
from tao_cluster.cli.columns import Choices
from tao_cluster.cli.loading import load_data


@pytest.fixture
def wine(tmp_path, monkeypatch):
    """A .csv with row numbers, categories, names, a constant and missing values."""
    monkeypatch.chdir(tmp_path)
    frame = load_wine(as_frame=True).data.iloc[:, :4].copy()
    kinds = np.array(["barbera", "barolo", "grignolino"])
    frame["kind"] = kinds[load_wine().target]
    frame["colour"] = np.where(np.arange(178) % 3, "white", "red")
    frame["bottle"] = [f"bottle {i}" for i in range(178)]
    frame["year"] = 1991
    frame.loc[[3, 5], "ash"] = np.nan
    frame.loc[4, "colour"] = np.nan
    frame.to_csv("wine.csv")
    return frame


def test_every_column_is_accounted_for(wine):
    data = load_data("wine.csv", Choices(missing="drop"))
    complete = wine.dropna()
    assert data.feature_names == [
        *wine.columns[:4],
        "kind is barbera",
        "kind is barolo",
        "kind is grignolino",
        "colour is white",
    ]
    expected = np.column_stack(
        [
            complete.iloc[:, :4],
            pd.get_dummies(complete["kind"]),
            complete["colour"] == "white",
        ]
    ).astype(float)
    np.testing.assert_array_equal(data.X, expected)
    np.testing.assert_array_equal(data.rows, complete.index)
    notes = "\n".join(data.notes)
    for sentence in (
        "the column without a name numbers or names the rows, so it is left out.",
        "constant or empty columns, left out: 'year'.",
        "column 'bottle' has 178 different strings, too many for categories, so it is left out.",
        "3 of 178 rows have missing values, ash (2), colour (1): left out.",
        "column 'kind' has 3 categories: one feature of 0 and 1 each.",
        "column 'colour' is 'white' (1) or 'red' (0).",
    ):
        assert sentence in notes
    assert len(data.notes) == 6


def test_medians_and_most_frequent_texts(wine):
    data = load_data("wine.csv", Choices(missing="median"))
    assert data.rows is None
    assert data.X.shape == (178, 8)
    assert data.X[3, 2] == data.X[5, 2] == wine["ash"].median()
    assert data.X[4, -1] == 1  # most are white
    assert any(
        f"ash ({wine['ash'].median()}), colour (white)" in note and "median" in note
        for note in data.notes
    )


def test_missing_values_raise_by_default(wine):
    with pytest.raises(
        ValueError,
        match=r"missing values in ash \(2\), colour \(1\); choose --missing drop "
        r"\(leaves 175 of 178 rows\), --missing median, --missing indicator, or leave out",
    ):
        load_data("wine.csv")


def test_columns_are_chosen(wine):
    data = load_data("wine.csv", Choices(columns=("ash", "alcohol"), missing="median"))
    assert data.feature_names == ["ash", "alcohol"]
    data = load_data("wine.csv", Choices(drop=("ash", "colour", "kind"), classes="year"))
    assert data.feature_names == ["alcohol", "malic_acid", "alcalinity_of_ash"]
    assert set(data.classes) == {1991}
    data = load_data("wine.csv", Choices(columns=("alcohol",), classes="kind"))
    np.testing.assert_array_equal(data.classes, wine["kind"])
    with pytest.raises(ValueError, match="no column 'proline'; the columns are '', 'alcohol'"):
        load_data("wine.csv", Choices(drop=("proline",)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n5,7\n", ["x0", "x1"]),
        ("a,b\n1,2\n3,4\n", ["a", "b"]),
        ("a,2020\n1,2\n3,4\n", ["a", "2020"]),  # a word above a number
        ("red,1\nred,2\nblue,3\nblue,5\n", ["x0 is red", "x1"]),  # no word above a number
        ("5.5,,2\n1,2,3\n2,3,3\n", ["x0", "x1", "x2"]),
        (" a , b\n1,2\n3,4\n", ["a", "b"]),
        ("\ufeffa,b\n1,2\n3,4\n", ["a", "b"]),
        ('"a,b",c\n1,2\n3,4\n', ["a,b", "c"]),
        ("\na,b\n\n1,2\n3,4\n", ["a", "b"]),
        ("a,b\nTrue,1\nFalse,2\n", ["a is True", "b"]),
        ("a,b\n1,True\n2,False\n3,\n9,True\n", ["a", "b is True"]),
        ("id,b\nu,1\nv,2\n", ["b"]),
        ("n,b\n0,1\n1,5\n2,2\n", ["b"]),
        ("n,b\n1001,1\n1002,5\n1003,2\n", ["b"]),
        ("n,b\n1.0,1\n2.0,5\n3.0,2\n", ["n", "b"]),  # measured, not counted
        ("b,id\n1,0.5\n5,1.5\n2,2.25\n", ["b", "id"]),
        ("b,id\n1,7\n5,3\n2,9\n", ["b"]),
        ("b,n\n1,0\n5,1\n2,2\n", ["b", "n"]),  # only the first column counts rows
        ("n,b\n1,1\n3,5\n2,2\n", ["n", "b"]),
        ("a,b\n1,1\n1,1\n", ["a", "b"]),  # all rows equal
    ],
)
def test_names_and_kinds(tmp_path, text, names):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    data = load_data(path, Choices(missing="median"))
    assert data.feature_names == names
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()


def test_numbers_are_read_bit_by_bit(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3)) * 10.0 ** np.arange(-150, 151, 150)
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", fmt="%.17g")
    np.testing.assert_array_equal(load_data(tmp_path / "a.csv").X, X)


@pytest.mark.slow
def test_fit_says_what_it_did_and_numbers_the_rows(wine, capsys):
    arguments = ["--n-clusters", "3", "--missing", "drop", "--standardize", "--drop", "kind"]
    assert main(["fit", "wine.csv", *arguments]) == 0
    shown = capsys.readouterr()
    assert all(line.startswith("tao-cluster: wine.csv: ") for line in shown.err.splitlines())
    assert "3 of 178 rows have missing values" in shown.err
    data = load_data("wine.csv", Choices(drop=("kind",), missing="drop"))
    model = TAOClustering(3, standardize=True, random_state=0).fit(data.X)
    assert load("wine_tree/model.json").tree_ == model.tree_
    written = pd.read_csv("wine_tree/labels.csv")
    np.testing.assert_array_equal(written["row"], wine.dropna().index)
    np.testing.assert_array_equal(written["cluster"], model.labels_)


def test_warnings_are_one_line(wine, capsys):
    with pytest.warns(UserWarning, match="depth"):
        TAOClustering(5, depth=1, lambda_=0.1, random_state=0).fit(wine[["alcohol", "malic_acid"]])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        options = ["--columns", "alcohol,malic_acid", "--depth", "1", "--lambda", "0.1"]
        assert main(["fit", "wine.csv", "--n-clusters", "5", *options]) == 0
    error = capsys.readouterr().err
    assert all(line.startswith("tao-cluster: warning: ") for line in error.splitlines())
    assert "depth" in error


@pytest.mark.slow
def test_compare_writes_its_table_and_picture(wine, capsys):
    options = ["--n-clusters", "3", "--leaves", "3,5", "--parameters", "12", "--missing", "median"]
    options += ["--methods", "tao,exkmc,imm", "--validation", "0.25", "--classes", "kind"]
    assert main(["compare", "wine.csv", "--standardize", *options]) == 0
    shown = capsys.readouterr().out
    data = load_data("wine.csv", Choices(missing="median", classes="kind"))
    expected = compare(
        data.X,
        3,
        ["tao", "exkmc", "imm"],
        budgets={"leaves": [3, 5], "parameters": [12]},
        validation=0.25,
        y=wine["kind"],
        standardize=True,
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
        (["--classes", "species"], "no column 'species'"),
        (["--out", "nowhere/run"], "nowhere: no such folder"),
        (["--leaves", "2"], "max_leaves"),
    ],
)
def test_compare_has_one_error_message(wine, capsys, arguments, sentence):
    options = ["--n-clusters", "3", "--columns", "alcohol,malic_acid"]
    assert main(["compare", "wine.csv", *options, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert sentence in error


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('a,pay\n1,"12,345"\n2,"900"\n5,"1,200"\n', r"line 2, column pay: '12,345' .* thousands"),
        ("a,share\n1,45%\n2,50 %\n5,3.5%\n", r"line 2, column share: '45%' .* and %"),
        ('a,pay\n1,"0,5"\n2,"1,5"\n5,"2,5"\n', r"line 2, column pay: '0,5' .* decimal commas"),
        ("a;b\n1,5;2\n2,5;3\n", "separated by semicolons; use --sep"),
        ("a\tb\n1\t2\n3\t4\n", "separated by tabs; use --sep TAB"),
        ("a,b\n1,2\n3,inf\n2,5\n", "line 3, column b: inf is not a number"),
        ("plan,plan is gold\ngold,5\nfree,6\n", "'plan is gold', which is also a category"),
    ],
)
def test_other_formats_of_tables_are_named(tmp_path, text, sentence):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"table\.csv: .*{sentence}"):
        load_data(path)


def test_classes_that_are_missing_are_not_a_class(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,kind\n1,u\n2,\n5,v\n", encoding="utf-8")
    data = load_data(path, Choices(classes="kind"))
    assert data.classes[[0, 2]].tolist() == ["u", "v"]
    assert pd.isna(data.classes[1])


def test_fit_explains_labels_of_a_column(wine, capsys):
    options = ["fit", "wine.csv", "--objective", "labels", "--missing", "drop"]
    assert main([*options, "--classes", "kind", "--lambda", "1", "--drop", "colour"]) == 0
    shown = capsys.readouterr().out
    assert "rows with another label, %" in shown
    written = pd.read_csv("wine_tree/labels.csv")
    assert (written["cluster"] == wine["kind"].to_numpy()[written["row"]]).mean() > 0.7
    for more, sentence in (
        ([], "--objective labels needs --classes COLUMN"),
        (
            ["--classes", "kind", "--n-clusters", "3"],
            "--objective labels has one cluster per label",
        ),
        (["--classes", "kind", "--objective", "kmeans"], "add --objective labels"),
    ):
        assert main([*options, *more, "--force"]) == 2
        assert sentence in capsys.readouterr().err
