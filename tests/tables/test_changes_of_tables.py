"""`nearest_change` prints values of the column's resolution that really lead to the cluster."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from numeric_tables import MODELS, RESOLUTIONS, random_table, seeds

from tao_cluster import TAOClustering, table_pipeline
from tao_cluster.explanations import explain, nearest_change

DECIMALS = {1.0: 0, 0.5: 1, 0.01: 2}


@pytest.mark.spaced(quick=0, slow=5)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_printed_values_lead_to_the_cluster(seed, kind, capfd):
    table = random_table(seed, n_columns=1 + (seed + 2) % 4)
    model = MODELS[kind](seed).fit(table)
    labels, rng = model.predict(table), np.random.default_rng(seed)
    for i, k in itertools.product(rng.choice(len(table), 3), np.unique(labels)):
        if labels[i] == k:
            continue
        try:
            change = nearest_change(model, table.iloc[[i]], k)
        except ValueError:  # a cluster may be out of reach within the observed values
            continue
        copied = table.iloc[[i]].copy()
        for line in str(change).splitlines()[1:]:
            name, _, after = re.fullmatch(r" *(\S+) (\S+) -> (\S+) \(.*\)", line).groups()
            copied[name] = float(after)
            if name in RESOLUTIONS and len(change.changes) == 1:
                assert len(after.partition(".")[2]) <= DECIMALS[RESOLUTIONS[name][0]], line
        assert model.predict(copied)[0] == k, str(change)
        assert len(explain(model, copied).to_frame()) == len(explain(model, copied).tests)
        frame = change.to_frame()
        assert frame["after"].tolist() == copied[frame["column"]].iloc[0].tolist()
        assert frame["cost"].sum() == pytest.approx(change.cost)
    assert capfd.readouterr().out == ""


@pytest.mark.spaced(quick=1, slow=2)
@pytest.mark.filterwarnings("ignore:The clusters are nearly the levels")
@pytest.mark.parametrize("seed", seeds(2, 30))
@pytest.mark.parametrize("form", ["levels", "numbers", "truth values", "indicators"])
@pytest.mark.parametrize("split", ["axis", "oblique"])
def test_a_cluster_that_one_level_reaches_is_found(seed, form, split, capfd):
    """Against all changes of one column of 0/1 values or levels: none is cheaper or missed."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=160)
    table = pd.DataFrame(
        {
            name: (group + j + (rng.random(160) < 0.25) * rng.integers(1, 4, 160)) % 4
            for j, name in enumerate("abc")
        }
    )
    if form == "levels":
        table = table.apply(lambda column: column.map(dict(enumerate("pqrs"))))
        model = table_pipeline(table, 4, split=split, random_state=0)
    else:
        kind = {"numbers": int, "truth values": bool, "indicators": float}[form]
        if form == "indicators":
            table = pd.get_dummies(table, columns=list(table), dtype=kind)
        else:
            table = (table > 1).astype(kind)
        model = TAOClustering(4, split=split, standardize=bool(seed % 2), random_state=0)
    labels = model.fit(table).predict(table)
    for i, k in itertools.product(range(3), np.unique(labels)):
        row = table.iloc[[i]]
        is_near = any(
            model.predict(other)[0] == k
            for name in ("abc" if form != "indicators" else [])
            for other in (row.assign(**{name: value}) for value in table[name].unique())
        )
        if form == "indicators":  # one level takes the place of another
            others = row.to_numpy().reshape(1, 3, 4).repeat(12, axis=0)
            for at, (column, level) in enumerate(itertools.product(range(3), range(4))):
                others[at, column] = np.eye(4)[level]
            others = pd.DataFrame(others.reshape(12, 12), columns=list(table))
            is_near = bool((model.predict(others) == k).any())
        if labels[i] != k and is_near:
            change = nearest_change(model, row, k)
            assert model.predict(change.row)[0] == k
            assert change.cost <= 1 + 1e-9 or form in {"numbers", "truth values"}
    assert capfd.readouterr().out == ""
