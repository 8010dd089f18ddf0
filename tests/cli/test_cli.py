"""The command line as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import main
from sklearn.datasets import load_iris

from tao_cluster import DirectForm, TAOClustering, __version__, load, table_pipeline


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


@pytest.mark.slow
def test_other_objectives_and_splits(iris, capsys):
    options = ["--objective", "kmedians", "--split", "axis", "--max-leaves", "4", "--out", "other"]
    assert main(["fit", "plain.csv", *OPTIONS, *options, "--no-standardize"]) == 0
    parameters = {"objective": "kmedians", "split": "axis", "max_leaves": 4, "random_state": 1}
    expected = TAOClustering(3, lambda_=0.5, depth=3, **parameters).fit(iris)
    assert load("other/model.json")[-1].tree_ == expected.tree_
    shown = capsys.readouterr().out
    assert f"{expected.cost_increase_:.2f}" in shown
    assert "TAO axis" in shown


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
        assert "2 clusters: between them, the rows are" in capsys.readouterr().out
    assert load("iris.npy_auto/model.json").n_clusters == 2
    assert main(["fit", "iris.npy", "--n-clusters", "auto", "--out-of-core"]) == 2
    assert "needs a number of clusters" in capsys.readouterr().err


@pytest.mark.slow
def test_fit_by_a_goal(iris, capsys):
    options = ["--n-clusters", "3", "--depth", "3", "--max-cost-increase", "5"]
    assert main(["fit", "iris.npy", *options]) == 0
    expected = TAOClustering(3, depth=3, max_cost_increase=5, random_state=0).fit(iris)
    assert expected.cost_increase_ <= 5
    assert load("iris_tree/model.json").tree_ == expected.tree_
    assert main(["fit", "iris.npy", *options, "--max-parameters", "9", "--force"]) == 2
    assert "not both" in capsys.readouterr().err


@pytest.mark.slow
def test_fit_on_a_sample(iris):
    options = ["--n-clusters", "3", "--lambda", "0.5", "--max-rows", "60"]
    assert main(["fit", "iris.npy", *options]) == 0
    expected = TAOClustering(3, lambda_=0.5, algorithm=DirectForm(max_rows=60), random_state=0).fit(
        iris
    )
    assert load("iris_tree/model.json").tree_ == expected.tree_


@pytest.mark.slow
def test_fit_out(iris, tmp_path):
    assert main(["fit", "iris.npy", *OPTIONS, "--out", "results"]) == 0
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "labels.csv",
        "model.json",
        "page.html",
        "schema.json",
        "tree.png",
        "tree.txt",
    }


BAD_FILES = {
    "gaps.csv": "1,2\n3,\n?,5\n7,8\n",
    "empty_rows.csv": "1,,3\n4,2,?\n?,1,2\n2,?,5\n",
    "ragged.csv": "1,2\n3\n",
    "long.csv": "a,b\n1,2,3\n",
    "late.csv": "a,b\n1,2\n3,4\n5,6,7\n",
    "twice.csv": "a,b,a\n1,2,3\n",
    "names.csv": "name\nAnn\nBob\nEve\n",
    "empty.csv": "",
    "header.csv": "a,b\n",
    "infinite.csv": "1,2\ninf,3\n4,5\n",
    "fake.npz": "not a zip file",
    "fake.npy": "not an array",
    "data.doc": "1 2",
}


def write_damaged_archives(X):
    for right, wrong, save in (("a.npy", "array.npz", np.save), ("b.npz", "archive.npy", np.savez)):
        save(right, X)
        Path(right).rename(wrong)
    np.savez_compressed("damaged.npz", X=X)
    content = bytearray(Path("damaged.npz").read_bytes())
    content[200:260] = bytes(60)
    Path("damaged.npz").write_bytes(content)
    parts = {"format": b"csr", "shape": (2, 3), "indptr": [0, 1, 2], "indices": [0, 1]}
    np.savez("no_data.npz", **parts)
    np.savez("outside.npz", **{**parts, "indices": [0, 9]}, data=[1.0, 2.0])


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
        (["long.csv"], "line 2 has 3 values, expected 2"),
        (["late.csv"], "line 4 has 3 values, expected 2"),
        (["twice.csv"], "Several columns are named 'a'"),
        (["names.csv"], "No column is left to cluster by"),
        (["empty.csv"], "the file is empty"),
        (["header.csv"], "no rows"),
        (["infinite.csv"], "infinite.csv: line 2, column x0: inf is not a number"),
        (["fake.npz"], "fake.npz: cannot be read"),
        (["fake.npy"], "fake.npy: cannot be read"),
        (["data.doc"], "expected a .csv, .tsv or .txt (or one of these .gz)"),
        (["flat.npy"], "expected a table"),
        (["strings.npy"], "expected numbers"),
        (["objects.npy"], "objects.npy: cannot be read"),
        (["many.npz"], "several arrays must have one named X; it has a, b"),
        (["array.npz"], "the content is an .npy array: rename the file to .npy"),
        (["archive.npy"], "the content is an .npz archive: rename the file to .npz"),
        (["damaged.npz"], "damaged.npz: cannot be read"),
        (["no_data.npz"], "no_data.npz: cannot be read"),
        (["outside.npz"], "outside.npz: cannot be read"),
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
    np.save("objects.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    np.savez("many.npz", a=iris, b=iris)
    write_damaged_archives(iris)
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


@pytest.mark.sweep  # `.ci/run` runs it, too
def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[1].lstrip().startswith("cost increase, %")
    assert lines[2].startswith("free clustering")
    assert any(line.startswith("CART, 10 leaves") for line in lines)
    costs = {
        line.split("lambda=")[1].split()[0]: float(line.split("lambda=")[1].split()[1])
        for line in lines
        if line.startswith("TAO oblique")
    }
    # Noisy copies raise the cost of the rows and lower that of new rows.
    assert costs["0.3"] <= 0.7
    assert costs["2"] <= 1.4
    assert "tao_digits.png" in lines[-1]
    picture = matplotlib.image.imread("tao_digits.png")
    assert picture.shape[0] > 800
    assert picture.std() > 0.1
    assert main(["demo", "--out", "nowhere/x.png"]) == 2
    assert main(["demo", "--out", "picture.foo"]) == 2


@pytest.mark.sweep
def test_warm_up_compiles_what_usual_fits_need(tmp_path):
    """After it, fits to other data in a new process add next to nothing to the folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "TAO_CLUSTER_CACHE": "1"}

    def run(*arguments):
        call = [sys.executable, *arguments]
        terms = {"env": environment, "capture_output": True, "text": True}
        shown = subprocess.run(call, check=True, **terms).stdout  # noqa: S603
        assert "warm-up" not in call or int(shown.split(": ")[1].split()[0]) > 60
        return len(list(tmp_path.rglob("*.nbc")))

    n_compiled = run("-m", "tao_cluster", "warm-up")
    assert n_compiled > 50
    fits = """
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from greedy import ExKMC
from tao_cluster import TAOClustering
X = load_digits().data[::3]
for rows in (X, X.astype(np.float32), csr_matrix(X)):
    TAOClustering(10, random_state=0).fit(rows)
    TAOClustering(10, split="axis", max_leaves=12, random_state=0).fit(rows).predict(rows)
    ExKMC(10, random_state=0).fit(rows)
"""
    assert run("-c", fits) <= n_compiled + 3


def test_interrupt(iris, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tao_cluster.cli.fitting.read_table", interrupted)
    assert main(["fit", "iris.npy"]) == 130
    assert capsys.readouterr().err == "tao-cluster: interrupted.\n"
