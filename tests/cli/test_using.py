"""Commands that use the folder of a fit, from one end to the other."""

import io
import json
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import main
from sklearn.datasets import load_digits

from tao_cluster import Tree, load
from tao_cluster.columns import raw_view
from tao_cluster.export import to_rules
from tao_cluster.facade import FORMATS

pytestmark = pytest.mark.filterwarnings("ignore:Column .* seems to name the rows")


@pytest.fixture
def birds(tmp_path, monkeypatch):
    """A table with names of rows, units, categories, a truth value and missing values."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 240)
    frame = pd.DataFrame(
        {
            "tag": [f"bird {i:03}" for i in range(240)],
            "bill_mm": 38 + 6 * (kind > 0) + rng.normal(0, 1.5, 240).round(1),
            "mass_g": 3700 + 1300 * (kind == 2) + rng.normal(0, 150, 240).round(),
            "wing": [f"{x:.1f} mm" for x in 180 + 20 * (kind == 2) + rng.normal(0, 3, 240)],
            "island": np.array(["Biscoe", "Dream", "Torgersen"])[rng.integers(0, 3, 240)],
            "ringed": rng.random(240) < 0.5,
        }
    )
    frame.loc[[3, 50], "mass_g"] = np.nan
    frame.loc[7, "island"] = np.nan
    frame.to_csv("birds.csv", index=False)
    return frame


FIT = ["fit", "birds.csv", "-k", "3", "--id", "tag", "--missing"]


def run(*arguments):
    assert main(list(arguments)) == 0, arguments


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["drop", "indicator"])
def test_from_a_table_to_the_clusters_of_another(birds, capsys, missing):
    run(*FIT, missing)
    labels = pd.read_csv("birds_tree/labels.csv")
    assert len(labels) == (237 if missing == "drop" else 240)
    assert list(labels) == ["tag", "cluster", "leaf"]
    model = load("birds_tree/model.json")
    names = list(model[-1].feature_names_in_)
    assert ("missingindicator_mass_g" in names) == (missing == "indicator")
    # The same rows have the same clusters, in any order of rows and columns.
    birds.sample(frac=1, random_state=0)[list(birds)[::-1]].to_csv("again.csv", index=False)
    capsys.readouterr()
    run("predict", "birds_tree", "again.csv", "--out", "again_labels.csv")
    again = pd.read_csv("again_labels.csv").set_index("tag").loc[labels["tag"]]
    pd.testing.assert_frame_equal(again.reset_index(), labels)
    assert main(["predict", "birds_tree", "again.csv", "--out", "again_labels.csv"]) == 2
    assert "--force overwrites it" in capsys.readouterr().err


@pytest.mark.slow
def test_names_of_clusters_are_in_all_files_and_later_commands(birds, capsys):
    run(*FIT, "median", "--names", "Adelie, Chinstrap,Gentoo")
    names = ["Adelie", "Chinstrap", "Gentoo"]
    labels = pd.read_csv("birds_tree/labels.csv")
    assert list(labels) == ["tag", "cluster", "leaf", "name"]
    assert labels["name"].tolist() == [names[k] for k in labels["cluster"]]
    shown = [Path("birds_tree", file).read_text("utf-8") for file in ("tree.txt", "page.html")]
    for arguments in (["predict", "birds_tree", "birds.csv"], ["export", "birds_tree"]):
        capsys.readouterr()
        run(*arguments)
        shown.append(capsys.readouterr().out)
    for text in shown:
        assert all(name in text for name in names)
        assert "cluster 1" not in text
    run("export", "birds_tree", "--format", "sql")
    assert "THEN 'Gentoo'" in capsys.readouterr().out
    run("explain", "birds_tree", "birds.csv", "--row", "0")
    assert f"{labels['name'][0]} (leaf" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*FIT, "median", "--names", "a,b"], "2 names for 3 clusters"),
        (["fit", "birds.csv", "--names", "a,,b"], "3 names for 8 clusters"),
        (["fit", "birds.csv", "-k", "2", "--names", "a,"], "not empty"),
        (["plot", "tree", "--sep", ";", "--skip-lines", "2"], "--sep, --skip-lines needs DATA"),
        (["export", "tree", "--dialect", "mysql"], "--dialect is an option of --format sql"),
    ],
)
def test_wrong_names_and_options_that_would_be_ignored(birds, capsys, arguments, message):
    del birds
    Tree.single_leaf(0, 2).save("tree")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("birds_tree").exists()


@pytest.mark.slow
def test_new_files_are_read_as_the_one_of_the_fit(birds, capsys):
    """Words for missing values, separators and the column of names are kept in the folder."""
    table = birds.replace("Dream", "NA").assign(mass_g=birds["mass_g"].fillna(-99))
    table.to_csv("birds.csv", index=False, sep="#")
    run("fit", "birds.csv", "-k", "3", "--sep", "#", "--na", "-99", "lost", "--id", "tag")
    model = load("birds_tree/model.json")
    assert model.decisions_.set_index("column")["missing"].to_dict() == {
        "tag": 0, "bill_mm": 0, "mass_g": 2, "wing": 0, "island": 1, "ringed": 0
    }  # fmt: skip
    labels = pd.read_csv("birds_tree/labels.csv", keep_default_na=False)
    run("predict", "birds_tree", "birds.csv", "--out", "again.csv")
    again = pd.read_csv("again.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(again, labels)
    # Here "lost" stands in columns in which the file of the fit had no such word.
    new = table.head(20).astype(object)
    new.loc[3, ["mass_g", "island"]] = "lost"
    new.to_csv("new.csv", index=False)
    capsys.readouterr()
    run("predict", "birds_tree", "new.csv", "--sep", ",", "--out", "new_labels.csv")
    assert capsys.readouterr().err == ""
    assert len(pd.read_csv("new_labels.csv")) == 20
    new.loc[3, "wing"] = "lost"
    new.to_csv("new.csv", index=False)
    run("predict", "birds_tree", "new.csv", "--sep", ",", "--out", "new_labels.csv", "--force")
    assert "1 of 20 rows have missing values: left out" in capsys.readouterr().err
    assert len(pd.read_csv("new_labels.csv")) == 19


@pytest.mark.slow
def test_a_row_is_explained_by_its_name_or_number(birds, capsys):
    run(*FIT, "drop")
    capsys.readouterr()
    run("explain", "birds_tree", "birds.csv", "--id", "bird 010")
    by_name = capsys.readouterr().out
    run("explain", "birds_tree/model.json", "birds.csv", "--row", "10")
    assert capsys.readouterr().out == by_name
    labels = pd.read_csv("birds_tree/labels.csv").set_index("tag")
    assert f"cluster {labels.loc['bird 010', 'cluster']} (leaf" in by_name
    for which, sentence in (
        (["--row", "3"], "row 3 does not exist, or has missing values"),
        (["--row", "240"], "row 240 does not exist"),
        (["--id", "bird 9"], "row 'bird 9' does not exist"),
    ):
        assert main(["explain", "birds_tree", "birds.csv", *which]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.slow
def test_pictures_pages_and_exports(birds, capsys):
    run(*FIT, "indicator", "--out", "fit")
    run("plot", "fit", "birds.csv")
    assert matplotlib.image.imread("tree.png").std() > 0.05
    run("page", "fit", "birds.csv", "--out", "birds.html")
    assert "bill_mm" in Path("birds.html").read_text(encoding="utf-8")
    run("page", "fit", "--out", "birds.html", "--force")
    model = load("fit/model.json")
    capsys.readouterr()
    for name in {*FORMATS, "json"} - {"onnx", "query"}:  # pandas does not read numbers with units
        run("export", "fit", "--format", name)
        assert len(capsys.readouterr().out) > 20
    run("export", "fit", "--out", "rules.txt")
    assert Path("rules.txt").read_text(encoding="utf-8").splitlines() == to_rules(model)
    assert main(["export", "fit", "--format", "onnx"]) == 2
    assert "needs --out" in capsys.readouterr().err
    assert main(["plot", "fit", "--out", "tree.doc"]) == 2


@pytest.mark.slow
def test_nothing_is_overwritten_unless_asked(birds, capsys):
    run(*FIT, "drop")
    before = Path("birds_tree/model.json").read_bytes()
    assert main([*FIT, "median"]) == 2
    assert "exists already; --force" in capsys.readouterr().err
    assert Path("birds_tree/model.json").read_bytes() == before
    run(*FIT, "median", "--force")
    assert Path("birds_tree/model.json").read_bytes() != before
    Path("file").write_text("", encoding="utf-8")
    assert main([*FIT, "median", "--out", "file"]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err
    assert main([*FIT, "median", "--out", "x" * 300]) == 2  # the name is too long
    assert "x" * 300 in capsys.readouterr().err


def test_names_that_the_output_cannot_show_are_escaped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("greek.csv").write_text("δ\n1\n2\n30\n31\n", encoding="utf-8")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="cp1252"))
    run("fit", "greek.csv", "-k", "2", "--split", "axis")
    sys.stdout.flush()
    assert b"if \\u03b4 <= " in shown.getvalue()
    assert "if δ <= " in Path("greek_tree/tree.txt").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The clusters are nearly the levels")
def test_new_tables_that_do_not_fit(birds, capsys):
    run(*FIT, "drop")
    birds.drop(columns="mass_g").to_csv("less.csv", index=False)
    birds.assign(mass_g="heavy").to_csv("words.csv", index=False)
    birds.assign(mass_g=np.nan).to_csv("none.csv", index=False)
    np.save("two.npy", np.zeros((3, 2)))
    Path("text.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    for arguments, sentence in (
        (["birds_tree", "less.csv"], "less.csv: there is no column 'mass_g', which the model uses"),
        (["birds_tree", "words.csv"], "words.csv: line 2, column mass_g: 'heavy' is not a number"),
        (["birds_tree", "none.csv"], "every row has a missing value"),
        (["birds_tree", "two.npy"], "two.npy: Expected a pandas DataFrame with the columns"),
        (["nowhere", "birds.csv"], "nowhere: no such file"),
        (["text.json", "birds.csv"], "not a model"),
    ):
        assert main(["predict", *arguments]) == 2
        assert sentence in capsys.readouterr().err.splitlines()[-1]
    birds.head(20).assign(island="Anvers").to_csv("new.csv", index=False)
    run(*FIT, "drop", "--columns", "island,wing", "--category-weight", "9", "--force")
    capsys.readouterr()
    run("predict", "birds_tree", "new.csv")
    assert (
        "column 'island' has levels that the fit did not have: 'Anvers'" in capsys.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table.tsv", "table.csv.gz"])
def test_other_texts_hold_the_same_table(birds, name):
    mark = "\t" if name == "table.tsv" else ";"
    birds.to_csv(name, index=False, sep=mark, decimal="," if mark == ";" else ".")
    run(*FIT, "drop", "--out", "one", "--drop", "wing")
    run("fit", name, *FIT[2:], "drop", "--out", "other", "--drop", "wing")
    one, other = load("one/model.json"), load("other/model.json")
    assert one[-1].tree_ == other[-1].tree_
    run("predict", "other", name, "--out", "labels.csv")


@pytest.mark.slow
def test_tables_of_arrow(birds):
    pytest.importorskip("pyarrow")
    birds.to_feather("table.feather")
    run("fit", "table.feather", *FIT[2:], "drop")
    run(*FIT, "drop", "--out", "one")
    assert load("one/model.json")[-1].tree_ == load("table_tree/model.json")[-1].tree_


@pytest.mark.slow
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_a_path_leaves_its_models(birds, capsys, split):
    more = ["--lambdas", "2,50", "--depth", "3"] if split == "oblique" else ["--max-leaves", "5"]
    run("path", *FIT[1:], "median", "--split", split, *more)
    table = pd.read_csv("birds_tree/path.csv")
    if split == "oblique":
        assert list(table["lambda"]) == [2, 50]
    for _, line in table.iterrows():
        model = load(f"birds_tree/{line['model']}")
        assert model[-1].tree_.n_leaves == line["leaves"]
        assert model[-1].cost_increase_ == pytest.approx(line["cost_increase"])
        assert len(model.predict(birds)) == 240
    assert {"path.png", "page.html"} <= {file.name for file in Path("birds_tree").iterdir()}
    assert "cost increase, %" in capsys.readouterr().out
    assert "wing" in Path("birds_tree/page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_images_and_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    digits = load_digits().data[:500]
    np.save("digits.npy", digits)
    run("fit", "digits.npy", "-k", "5", "--lambda", "20", "--image-shape", "8x8")
    np.save("new.npy", digits[:30])
    run("predict", "digits_tree", "new.npy", "--out", "new.csv")
    labels = pd.read_csv("digits_tree/labels.csv")["cluster"][:30]
    np.testing.assert_array_equal(pd.read_csv("new.csv")["cluster"], labels)
    assert main(["fit", "digits.npy", "--image-shape", "8x9", "--force"]) == 2
    assert "do not have 64 columns" in capsys.readouterr().err

    words = sp.random(200, 300, 0.05, "csr", random_state=0)
    sp.save_npz("words.npz", words)
    run("fit", "words.npz", "-k", "3", "--objective", "spherical", "--lambda", "0.01")
    run("predict", "words_tree", "words.npz", "--out", "words.csv")
    labels = pd.read_csv("words_tree/labels.csv")["cluster"]
    np.testing.assert_array_equal(pd.read_csv("words.csv")["cluster"], labels)


@pytest.mark.slow
def test_a_wrong_schema_gets_one_error_message(birds, capsys):
    run(*FIT, "drop")
    stored = json.loads(Path("birds_tree/schema.json").read_text(encoding="utf-8"))
    wing = stored["columns"]["wing"]
    for document in (
        [],
        {**stored, "speed": 1},
        {**stored, "version": 9},
        {**stored, "missing": "NA"},
        {**stored, "file": {"decimals": ","}},
        {**stored, "columns": {"beak": wing}},
        {**stored, "columns": {"wing": {**wing, "kind": "length"}}},
        {**stored, "columns": {"wing": {**wing, "zone": "UTC"}}},
        {**stored, "columns": {"wing": {"kind": "date", "first": "yesterday"}}},
        {**stored, "columns": {"wing": {"kind": "date", "zone": "Mars"}}},
        {**stored, "columns": {"wing": {"kind": "date", "parts": ["year"]}}},
    ):
        Path("own.json").write_text(json.dumps(document), encoding="utf-8")
        capsys.readouterr()
        assert main(["fit", "birds.csv", "--schema", "own.json", "--out", "again"]) == 2, document
        error = capsys.readouterr().err
        assert error.count("\n") == 1, error
    Path("own.json").write_text("{", encoding="utf-8")
    assert main(["fit", "birds.csv", "--schema", "own.json", "--out", "again"]) == 2
    assert "own.json: cannot be read as a schema" in capsys.readouterr().err


@pytest.mark.slow
def test_new_files_need_only_the_columns_that_the_tree_tests(birds):
    run(*FIT, "median", "--max-leaves", "3")
    labels = pd.read_csv("birds_tree/labels.csv")
    tested = sorted(raw_view(load("birds_tree/model.json")).tested_columns)
    others = birds.columns.difference([*tested, "tag"])
    assert len(others) >= 2
    birds[["tag", *tested]].to_csv("fewer.csv", index=False)
    birds.assign(**dict.fromkeys(others, "wrong")).to_csv("wrong.csv", index=False)
    for name in ("fewer", "wrong"):
        run("predict", "birds_tree", f"{name}.csv", "--out", f"{name}_labels.csv")
        pd.testing.assert_frame_equal(pd.read_csv(f"{name}_labels.csv"), labels)


@pytest.mark.slow
def test_two_months_are_compared(birds, capsys):
    run(*FIT, "median")
    now = birds.iloc[:200].assign(bill_mm=birds["bill_mm"] + 9)
    now.to_csv("now.csv", index=False)
    run("monitor", "birds_tree", "birds.csv", "birds.csv")
    assert "0.0 % changed segment; the segments still hold" in capsys.readouterr().out
    run("monitor", "birds_tree", "birds.csv", "now.csv")
    found = capsys.readouterr().out
    assert "Refit: " in found
    assert "(left)" in found
