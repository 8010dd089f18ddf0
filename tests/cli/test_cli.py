"""The command line as a user runs it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import main
from sklearn.datasets import load_iris

from tao_cluster import TAOClustering, __version__, load, table_pipeline


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = load_iris().data
    np.savetxt("plain.csv", X, delimiter=",")
    np.savetxt("named.csv", X, delimiter=",", header="sl,sw,pl,pw", comments="")
    np.save("iris.npy", X)
    np.savez("iris.npz", X=X, y=np.zeros(len(X)))
    np.savez("single.npz", table=X)
    sp.save_npz("sparse.npz", sp.csr_matrix(X))
    return X


OPTIONS = ["--n-clusters", "3", "--lambda", "0.5", "--depth", "3", "--reference-seed", "1"]


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize(
    "name", ["plain.csv", "named.csv", "iris.npy", "iris.npz", "single.npz", "sparse.npz"]
)
def test_fit(iris, capsys, name):
    assert main(["fit", name, *OPTIONS]) == 0
    X, stem = sp.csr_matrix(iris) if name == "sparse.npz" else iris, name.split(".")[0]
    estimator = TAOClustering(3, lambda_=0.5, depth=3, random_state=1)
    names = ["sl", "sw", "pl", "pw"] if stem == "named" else ["x0", "x1", "x2", "x3"]
    if name.endswith("csv"):
        X = pd.DataFrame(iris, columns=names)
        expected = table_pipeline(X, 3, lambda_=0.5, depth=3, random_state=1).fit(X)[-1]
        model = load(f"{stem}_tree/model.json")[-1]
    else:
        expected, model = estimator.fit(X), load(f"{stem}_tree/model.json")
    assert model.tree_ == expected.tree_
    labels = pd.read_csv(f"{stem}_tree/labels.csv")
    assert list(labels) == ["row", "cluster", "leaf"]
    np.testing.assert_array_equal(labels["row"], np.arange(len(iris)))
    np.testing.assert_array_equal(labels["cluster"], expected.labels_)
    shown = capsys.readouterr().out
    assert f"{expected.cost_increase_:.2f}" in shown
    assert f"in {stem}_tree" in shown
    assert names[expected.tree_.used_features[0]] in shown


@pytest.mark.slow
def test_number_of_clusters_that_data_suggest(iris, capsys):
    for name in ("plain.csv", "iris.npy"):
        options = ["--n-clusters", "auto", "--split", "axis", "--max-leaves", "2"]
        assert main(["fit", name, *options, "--out", f"{name}_auto"]) == 0
        assert "2 groups are apart: there is a gap between" in capsys.readouterr().out
    assert load("iris.npy_auto/model.json").n_clusters == 2
    assert main(["fit", "iris.npy", "--n-clusters", "auto", "--out-of-core"]) == 2
    assert "needs a number of clusters" in capsys.readouterr().err


BAD_FILES = {
    "gaps.csv": "1,2\n3,\n?,5\n7,8\n",
    "empty_rows.csv": "1,,3\n4,2,?\n?,1,2\n2,?,5\n",
    "ragged.csv": "1,2\n3\n",
    "names.csv": "name\nAnn\nBob\nEve\n",
    "infinite.csv": "1,2\ninf,3\n4,5\n",
    "data.doc": "1 2",
}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.csv"], "missing.csv: no such file"),
        (["gaps.csv", "--missing", "refuse"], "gaps.csv: column 'x0' has 1 missing values"),
        (["gaps.csv", "--columns", "x1,b"], "gaps.csv: columns: there is no column 'b'"),
        (["gaps.csv", "--id", "b"], "gaps.csv: there is no column 'b'; the columns are 'x0', 'x1'"),
        (["empty_rows.csv", "--missing", "drop"], "every row has a missing value"),
        (["gaps.csv", "--missing", "drop", "--n-clusters", "3"], "n_samples=2 should be >="),
        (["iris.npy", "--drop", "x1"], "apply to tables only"),
        (["ragged.csv"], "line 2 has 1 values, expected 2"),
        (["names.csv"], "No column is left to cluster by"),
        (["infinite.csv"], "infinite.csv: line 2, column x0: inf is not a number"),
        (["data.doc"], "expected a .csv, .tsv or .txt (or one of these .gz)"),
        (["flat.npy"], "expected a table"),
        (["strings.npy"], "expected numbers"),
        (["many.npz"], "several arrays must have one named X; it has a, b"),
        (["array.npz"], "the content is an .npy array: rename the file to .npy"),
        (["iris.npy", "--n-clusters", "151"], "n_samples=150 should be >= n_clusters=151"),
        (["iris.npy", "--n-clusters", "0"], "n_clusters"),
        (["iris.npy", "--lambda", "-1"], "lambda_"),
        (["iris.npy", "--out", "nowhere/run"], "nowhere: no such folder"),
    ],
)
def test_bad_input_gets_one_error_message(iris, capsys, tmp_path, arguments, sentence):
    for name, text in BAD_FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    np.save("flat.npy", np.zeros(5))
    np.save("strings.npy", np.array([["a", "b"]]))
    np.savez("many.npz", a=iris, b=iris)
    Path("array.npz").write_bytes(Path("iris.npy").read_bytes())
    before = set(tmp_path.iterdir())
    assert main(["fit", *arguments]) == 2
    error = capsys.readouterr().err
    *notes, error = error.splitlines()
    assert error.startswith("tao-cluster: error: ")
    assert sentence in error
    usual = ("rows have missing values", "no header was found")
    assert all(any(words in note for words in usual) for note in notes)
    assert set(tmp_path.iterdir()) == before


def test_usage():
    for arguments in ([], ["fly"], ["fit"], ["fit", "x.csv", "--depth", "two"]):
        assert main(arguments) == 2


@pytest.mark.slow
def test_module_and_version():
    result = subprocess.run(
        [sys.executable, "-m", "tao_cluster", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == __version__


def test_interrupt(iris, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tao_cluster.cli.fitting.read_table", interrupted)
    assert main(["fit", "iris.npy"]) == 130
    assert capsys.readouterr().err == "tao-cluster: interrupted.\n"
