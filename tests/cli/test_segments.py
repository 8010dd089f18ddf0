"""The whole job of an analyst on the command line, against three segments that are known."""

import io
import json
import re
import shutil
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from command_line import main
from sklearn.metrics import adjusted_rand_score

from tao_cluster import load

pytestmark = pytest.mark.slow
SPEND, AGE, SHARES = (300, 900, 2500), (70, 40, 25), (0.5, 0.3, 0.2)
ANSWER = """Sure, here are the names:
```json
{"%d": "Older savers", "%d": "Young middle", "%d": "Big spenders"}
```
"""


def month(seed, n=500):
    """Customers of three known segments, of which each has its channel."""
    rng = np.random.default_rng(seed)
    z = rng.choice(3, n, p=SHARES)
    own = np.array(["store", "app", "web"])[z]
    table = pd.DataFrame(
        {
            "customer_id": 10_000 + rng.permutation(n),
            "spend": (np.array(SPEND)[z] * np.exp(0.1 * rng.normal(size=n))).round(2),
            "age": (np.array(AGE)[z] + 3 * rng.normal(size=n)).round(),
            "channel": np.where(rng.random(n) < 0.9, own, rng.choice(["store", "app", "web"], n)),
        }
    )
    return table, z


TABLE, TRUTH = month(0)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with the files of two months and the result of a fit."""
    folder = tmp_path_factory.mktemp("segments")
    TABLE.to_csv(folder / "may.csv", index=False)
    month(1)[0].to_csv(folder / "june.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("fit", "may.csv", "-k", 3, "--split", "axis", "--max-leaves", 3, "--id", "customer_id")
    return folder


@pytest.fixture
def job(fitted, tmp_path, monkeypatch):
    """The current folder is a copy of `fitted`; return the cluster of each hidden segment."""
    monkeypatch.chdir(shutil.copytree(fitted, tmp_path / "job"))
    clusters = load("may_tree/model.json").predict(TABLE)
    assert adjusted_rand_score(TRUTH, clusters) > 0.97
    return [int(np.bincount(clusters[z == TRUTH]).argmax()) for z in range(3)]


def run(*arguments):
    assert main(list(arguments)) == 0, arguments


def printed(capsys, *arguments):
    capsys.readouterr()
    run(*arguments)
    return capsys.readouterr().out


def test_fit_finds_the_column_that_names_the_rows(job, capsys):
    del job
    fast = ["-k", 3, "--split", "axis", "--max-leaves", 3]
    found = printed(capsys, "fit", "may.csv", *fast, "--out", "without")
    assert "The column 'customer_id' could name the rows (--id 'customer_id'): monitor" in found
    found = printed(capsys, "fit", "may.csv", *fast, "--out", "with", "--id", "customer_id")
    assert "The column 'customer_id' names the rows (--id 'customer_id'): monitor needs" in found
    TABLE.drop(columns="customer_id").to_csv("none.csv", index=False)
    assert "--id" not in printed(capsys, "fit", "none.csv", *fast)


def test_descriptions_say_what_is_true(job, capsys):
    text = printed(capsys, "describe", "may_tree", "may.csv", "--rows", "customers")
    prompt = printed(capsys, "describe", "may_tree", "may.csv", "--prompt", "--rows", "customers")
    for z, k in enumerate(job):
        part = re.search(rf"cluster {k}: (\d+) customers", text)
        assert abs(int(part[1]) - np.sum(z == TRUTH)) < 10
        facts = re.search(rf"Segment {k}: .*\n.*age (\d+) ", prompt)
        assert abs(int(facts[1]) - AGE[z]) <= 1
    for name in ("a.txt", "a.md", "a.html", "a.png", "a.svg"):
        run("describe", "may_tree", "may.csv", "--out", name)
    assert Path("a.txt").read_text("utf-8") == text.replace("customers", "rows")
    assert Path("a.md").read_text("utf-8").count("\n## cluster") == 3
    assert Path("a.html").read_text("utf-8").startswith("<!doctype html>")
    assert matplotlib.image.imread("a.png").shape[:2] == (1125, 2000)
    assert main(["describe", "may_tree", "may.csv", "--out", "a.md"]) == 2
    assert "--force" in capsys.readouterr().err


def test_the_nearest_change_leads_to_another_segment(job, capsys):
    model = load("may_tree/model.json")
    for row in (0, 1, 2):
        own = model.predict(TABLE[row : row + 1])[0]
        costs = []
        for options in ([], *(["--to", k] for k in job if k != own)):
            found = printed(capsys, "explain", "may_tree", "may.csv", "--row", row, *options)
            by_id = ["--id", TABLE["customer_id"][row], *options]
            assert printed(capsys, "explain", "may_tree", "may.csv", *by_id) == found
            head, *changes = found.split("The nearest change to ")[1].splitlines()[1:]
            changed = TABLE[row : row + 1].copy()
            for column, value in re.findall(r"^ +(\w+) \S+ -> (\S+)", "\n".join(changes), re.M):
                changed[column] = float(value)
            place, cost = re.search(r"-> cluster (\d) .* cost ([\d.]+)", head).groups()
            assert model.predict(changed)[0] == int(place) != own
            assert options[1:] in ([], [int(place)])
            costs.append(float(cost))
        assert costs[0] == min(costs[1:])
    fixed = ["--row", 0, "--fixed", "spend,age,channel"]
    found = printed(capsys, "explain", "may_tree", "may.csv", *fixed)
    assert "No change of the row leads to another cluster" in found
    assert main(["explain", "may_tree", "may.csv", *map(str, fixed), "--to", str(job[0])]) in (0, 2)
    assert main(["explain", "may_tree", "may.csv", "--row", "0", "--to", "9"]) == 2
    assert "got '9'" in capsys.readouterr().err


def test_names_come_without_a_new_fit(job, capsys):
    Path("answer.txt").write_text(ANSWER % tuple(job), encoding="utf-8")
    before = load("may_tree/model.json")
    assert "show no means" in printed(capsys, "names", "may_tree", "--names", "answer.txt")
    names = json.loads(printed(capsys, "names", "may_tree"))
    assert [names[str(k)] for k in job] == ["Older savers", "Young middle", "Big spenders"]
    labels = pd.read_csv("may_tree/labels.csv")
    assert labels["customer_id"].tolist() == TABLE["customer_id"].tolist()
    assert labels["name"].tolist() == [names[str(k)] for k in labels["cluster"]]
    expected = np.array(["Older savers", "Young middle", "Big spenders"])[TRUTH]
    assert np.mean(labels["name"] == expected) > 0.98
    assert load("may_tree/model.json")[-1].tree_ == before[-1].tree_
    largest = json.dumps({job[2]: "Größte Käufer"})
    assert "show no" not in printed(capsys, "names", "may_tree", "may.csv", "--names", largest)
    for file in ("tree.txt", "page.html", "labels.csv"):
        text = Path("may_tree", file).read_text("utf-8")
        assert "Größte Käufer" in text or r"Gr\u00f6\u00dfte" in text
        assert "Older savers" in text
        assert "Big spenders" not in text
    assert "Größte Käufer: " in printed(capsys, "describe", "may_tree", "may.csv")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("A,B,A", "Two clusters would have the name 'A'"),
        ('{"0": "A", "1": " A"}', "Two clusters would have the name 'A'"),
        ("A,,B", "must be strings that are not empty"),
        ('{"0": " "}', "must be strings that are not empty"),
        ('["A", "B", 3]', "must be strings that are not empty, got 3"),
        ("A,B", "2 names for 3 clusters"),
        ('{"7": "A"}', "no cluster '7' to be named; the clusters are 0, 1, 2"),
        ('{"0": "A",}', "argument --names: no names can be read: Expecting"),
        ("nowhere.json", "no names can be read: [Errno 2]"),
    ],
)
def test_wrong_names_change_no_file(job, capsys, names, message):
    del job
    before = {path.name: path.read_bytes() for path in Path("may_tree").iterdir()}
    assert main(["names", "may_tree", "--names", names]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert {path.name: path.read_bytes() for path in Path("may_tree").iterdir()} == before


def test_the_next_month(job, capsys):
    """A refit keeps numbers, names and the column of ids, and finds the segments of June."""
    run("names", "may_tree", "--names", json.dumps(dict(zip(job, "ABC", strict=True))))
    table, truth = month(1)
    sql = printed(capsys, "export", "may_tree", "--format", "sql")
    for keep in ("tests", "nothing"):
        found = printed(capsys, "refit", "may_tree", "june.csv", "--keep", keep, "--out", keep)
        assert f'keep="{keep}"' in found
        labels = pd.read_csv(f"{keep}/labels.csv")
        assert labels["customer_id"].tolist() == table["customer_id"].tolist()
        assert np.mean(labels["name"] == np.array(list("ABC"))[truth]) > 0.97
        assert (printed(capsys, "export", keep, "--format", "sql") == sql) == (keep == "tests")
        predicted = printed(capsys, "predict", keep, "june.csv")
        pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(predicted)), labels)
        assert main(["refit", "may_tree", "june.csv", "--out", keep]) == 2
    assert "changed segment" in printed(capsys, "monitor", "tests", "june.csv", "june.csv")
    table.assign(customer_id=table["customer_id"] + 10**6).to_csv("others.csv", index=False)
    capsys.readouterr()
    run("monitor", "tests", "june.csv", "others.csv")
    found = capsys.readouterr()
    assert "compared without ids: No id is in both months" in found.err
    assert "the segments still hold" in found.out
