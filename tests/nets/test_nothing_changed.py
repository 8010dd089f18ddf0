"""Nothing changed, nothing reported: reports on draws of one distribution find no difference."""

import re

import numpy as np
import pandas as pd
import pytest

from greedy import ExShallow
from tao_cluster import DirectForm, TAOClustering, describe, refit, table_pipeline

QUICK = {"algorithm": DirectForm(n_init=1, search="none"), "random_state": 0}


def draw(n, seed, kind="groups"):
    """Rows of a distribution: three columns with groups, and three independent of them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    table = pd.DataFrame(3.0 * np.eye(4, 3)[group] + rng.normal(size=(n, 3)), columns=[*"abc"])
    if kind == "cloud":
        table = pd.DataFrame(rng.normal(size=(n, 3)) * [3, 2, 1], columns=[*"abc"])
    return table.assign(noise=rng.normal(size=n) / 4, heavy=rng.lognormal(size=n) / 8)


def raw(table):
    """The same as a raw table: texts with units, a category, and missing values."""
    rng = np.random.default_rng(len(table))
    sizes = [f"{value:.2f} kg" for value in table["a"]]
    level = pd.Series(np.where(table["noise"] > 0, "gold", "free"))
    return table.assign(
        a=sizes, level=level, heavy=table["heavy"].where(rng.random(len(table)) > 0.1)
    )


MODELS = {
    "oblique": lambda table: TAOClustering(4, **QUICK),
    "axis": lambda table: TAOClustering(4, split="axis", max_leaves=6, **QUICK),
    "greedy": lambda table: ExShallow(4, random_state=0),
    "table": lambda table: table_pipeline(table, 4, standardize=False, split="axis", **QUICK),
}
NAMES = ["north", "east", "south", "west"]


@pytest.mark.spaced(quick=2, slow=3)
@pytest.mark.parametrize("kind", ["groups", "cloud"])
@pytest.mark.parametrize("name", MODELS)
def test_a_new_fit_reports_no_new_segment(name, kind):
    for seed in range(3):
        tables = [draw(300, 10 * seed + i, kind) for i in range(2)]
        old, new = map(raw, tables) if name == "table" else tables
        model = MODELS[name](old).fit(old).name_clusters(NAMES)
        found = refit(model, new, "nothing", verbose=0)
        last = found[-1] if name == "table" else found
        assert "new segment" not in last.refit_changes_
        assert "No segment" not in last.refit_changes_
        assert last.cluster_names_ == NAMES


def test_a_segment_of_other_rows_gets_no_old_name():
    """Of four groups, one goes and another comes: its rows were in no group."""
    rng = np.random.default_rng(0)
    places = 20.0 * np.eye(5)
    old, new = (
        places[rng.choice(groups, 400)] + rng.normal(size=(400, 5))
        for groups in ([0, 1, 2, 3], [0, 1, 2, 4])
    )
    model = TAOClustering(4, split="axis", **QUICK).fit(old).name_clusters(NAMES)
    gone = NAMES[int(model.predict(places[[3]])[0])]
    found = refit(model, new, "nothing", verbose=0)
    assert sorted(found.cluster_names_) == sorted(["new segment", *set(NAMES) - {gone}])
    assert found.cluster_names_[int(found.predict(places[[4]])[0])] == "new segment"
    assert f"keep the name {gone!r}" in found.refit_changes_
    for group in range(3):
        names = [m.cluster_names_[int(m.predict(places[[group]])[0])] for m in (model, found)]
        assert names[0] == names[1]
    again = refit(found, old, "nothing", verbose=0)
    assert len(set(again.cluster_names_)) == 4


@pytest.mark.slow
def test_columns_that_do_not_differ_are_not_mentioned():
    """On rows that did not make the segments, of columns that no test uses."""
    mentioned = excluded = total = 0
    for seed in range(10):
        model = TAOClustering(4, split="axis", **QUICK).fit(draw(400, seed))
        assert {*model.tree_.used_features.tolist()} <= {0, 1, 2}
        found = describe(model, draw(400, 200 + seed))
        texts = [segment.sentence + "".join(segment.lines) for segment in found.segments]
        mentioned += sum(len(re.findall("noise|heavy", text)) > 0 for text in texts)
        table = found.contrast(0, 1, X_new=draw(400, 300 + seed)).table
        table = table[table["column"].isin(["noise", "heavy"])]
        excluded += int(((table["low"] > 0) | (table["high"] < 0)).sum())
        total += len(table)
    assert mentioned <= 2  # of 40 segments
    assert total == 20
    assert excluded <= 4
