"""Files that memory does not hold, from the command line: the same folder, block by block."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import main

from tao_cluster import TAOClustering, load, outofcore

pytestmark = pytest.mark.filterwarnings("ignore:Column .* seems to name the rows")

pytest.importorskip("pyarrow")

OPTIONS = ["--out-of-core", "-k", "3", "--lambda", "2", "--depth", "3", "--seed", "4"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A table of numbers with names of rows and texts, as a file, a folder, and an array."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tao_cluster.cli.folder._MOST_ROWS", 130)
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 900)
    frame = pd.DataFrame(
        {
            "number": np.arange(1, 901),
            "tag": [f"bird {i:03}" for i in range(900)],
            "bill": (38 + 6 * (kind > 0) + rng.normal(0, 1.5, 900)).astype(np.float32),
            "mass": (3.7 + 1.3 * (kind == 2) + rng.normal(0, 0.2, 900)).astype(np.float32),
            "ringed": rng.random(900) < 0.5,
        }
    )
    frame.to_parquet("birds.parquet", row_group_size=200)
    Path("birds").mkdir()
    frame[:400].to_parquet("birds/part-0.parquet")
    frame[400:].to_parquet("birds/part-1.parquet")
    return frame


def run(*arguments):
    assert main(list(arguments)) == 0, arguments


def expected_of(frame, columns, **parameters):
    estimator = TAOClustering(3, lambda_=2, depth=3, random_state=4, **parameters)
    return outofcore.fit(estimator, frame[columns].astype(np.float32), random_state=4)


@pytest.mark.slow
def test_a_table(rows, capsys):
    run("fit", "birds", *OPTIONS, "--id", "tag")
    shown = capsys.readouterr()
    model = load("birds_tree/model.json")
    expected = expected_of(rows, ["bill", "mass", "ringed"], standardize=True)
    assert model.feature_names_in_.tolist() == ["bill", "mass", "ringed"]
    assert model.tree_.n_parameters == expected.tree_.n_parameters
    assert model.cost_increase_ == pytest.approx(expected.cost_increase_, abs=1e-9)
    assert "900 rows, 3 columns" in shown.out
    assert f"{expected.cost_increase_:.2f}" in shown.out
    assert "not numeric, not chosen or names of rows: 'number', 'tag'" in shown.err
    labels = pd.read_csv("birds_tree/labels.csv")
    assert list(labels) == ["tag", "cluster", "leaf"]
    assert labels["tag"].tolist() == rows["tag"].tolist()
    assert np.array_equal(labels["cluster"], expected.predict(rows[expected.feature_names_in_]))
    assert {path.name for path in Path("birds_tree").iterdir()} == {
        *("schema.json", "labels.csv", "model.json", "page.html", "tree.png", "tree.txt")
    }


@pytest.mark.slow
def test_choices_of_columns_and_rows(rows):
    more = ["--columns", "mass,bill", "--max-rows", "300", "--split", "axis", "--no-standardize"]
    run("fit", "birds", *OPTIONS, *more)
    model = load("birds_tree/model.json")
    assert not model.standardize
    assert model.feature_names_in_.tolist() == ["bill", "mass"]
    assert model.tree_.features_per_split == 1
    assert model.node_counts_[0] == len(rows)
    labels = pd.read_csv("birds_tree/labels.csv")
    assert labels["row"].tolist() == list(range(900))
    run("fit", "birds", *OPTIONS, "--drop", "ringed", "--keep", "number", "--force")
    assert load("birds_tree/model.json").feature_names_in_.tolist() == ["number", "bill", "mass"]


@pytest.mark.slow
def test_what_was_fitted_is_used_as_ever(rows, capsys):
    run("fit", "birds.parquet", *OPTIONS, "--id", "tag")
    labels = Path("birds_tree/labels.csv").read_text(encoding="utf-8")
    run("predict", "birds_tree", "birds.parquet", "--out", "a.csv")
    run("predict", "birds_tree", "birds", "--out", "b.csv", "--out-of-core")
    assert Path("a.csv").read_text(encoding="utf-8") == labels
    assert Path("b.csv").read_bytes() == Path("a.csv").read_bytes()
    capsys.readouterr()
    run("predict", "birds_tree", "birds.parquet", "--out-of-core")
    assert capsys.readouterr().out == labels
    rows.to_csv("birds.csv", index=False)
    run("predict", "birds_tree", "birds.csv", "--out", "c.csv")
    assert pd.read_csv("c.csv").equals(pd.read_csv("b.csv"))
    run("explain", "birds_tree", "birds.parquet", "--id", "bird 007")
    run("plot", "birds_tree", "--out", "tree.png")
    run("page", "birds_tree", "birds.parquet", "--out", "page.html")
    run("export", "birds_tree", "--format", "sql")


@pytest.mark.slow
def test_progress_is_printed_in_a_terminal(rows, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run("fit", "birds.parquet", *OPTIONS)
    assert "pass: column_statistics" in capsys.readouterr().err


BAD = {
    "missing": (["birds", "--missing", "median"], "birds: --missing needs the rows in memory"),
    "no column": (["birds", "--drop", "tail"], "birds: drop: there is no column 'tail'"),
    "no column left": (["birds", "--columns", "tag"], "no numeric column is left"),
    "medians": (
        ["birds.parquet", "--objective", "kmedians"],
        "needs an objective whose centres are sums over rows",
    ),
    "no file": (["bees"], "bees: no such file or folder"),
    "another file": (["birds.csv"], "birds.csv: --out-of-core reads a .parquet file"),
    "no Parquet": (["damaged.parquet"], "damaged.parquet: "),
    "gaps": (["gaps.parquet"], "gaps.parquet: row 1 has a missing or infinite value"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_error_message(rows, capsys, name):
    for file in ("birds.csv", "damaged.parquet"):
        Path(file).write_text("1,2\n", encoding="utf-8")
    pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": [2.0, 5, 3, 9]}).to_parquet("gaps.parquet")
    arguments, sentence = BAD[name]
    assert main(["fit", "--out-of-core", "-k", "3", *arguments]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("error: ") == 1
    assert "Traceback" not in told
    assert not list(Path().glob("*_tree"))


@pytest.mark.slow
def test_predict_by_a_pipeline_and_by_the_same_columns(rows, capsys):
    run("fit", "birds", *OPTIONS, "--drop", "tag")
    rows.drop(columns="mass").to_parquet("light.parquet")
    assert main(["predict", "birds_tree", "light.parquet", "--out-of-core"]) == 2
    assert "no column 'mass'" in capsys.readouterr().err
    rows.to_csv("birds.csv", index=False)
    run("fit", "birds.csv", "-k", "3", "--force", "--columns", "mass,ringed")
    run("predict", "birds_tree", "birds", "--out-of-core", "--out", "a.csv")
    assert Path("a.csv").read_bytes() == Path("birds_tree/labels.csv").read_bytes()
