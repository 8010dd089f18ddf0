"""`monitor`: a verdict by stated rules, and counts that add up."""

import html

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_refitting import QUICK, customers, slow

from greedy import IMM
from tao_cluster import TAOClustering, monitor, table_pipeline


@pytest.fixture(scope="module")
def fitted():
    then = customers(1200, 0)
    return table_pipeline(then, 3, split="axis", **QUICK).fit(then), then


@pytest.mark.parametrize("seed", [0, slow(1)])
@pytest.mark.parametrize("n", [60, 1200])
def test_two_halves_hold(seed, n, fitted):
    found = monitor(fitted[0], customers(n, 100 + seed), customers(n, 200 + seed))
    assert found.reasons == [], found
    assert "the segments still hold: cost increase" in found.verdict
    assert (found.columns["status"] != "moved").all()


def changed(table, how):
    rng = np.random.default_rng(1)
    if how == "shift":
        return table.assign(spend=table["spend"] + table["spend"].std())
    if how == "vanished":
        return table[table["orders"] < 12]
    if how == "appeared":
        far = customers(300, 9).assign(spend=9000 + rng.normal(0, 50, 300))
        return pd.concat([table, far], ignore_index=True)
    if how == "gaps":
        return table.assign(spend=table["spend"].where(rng.random(len(table)) > 0.2))
    return table.assign(age=table["age"] + 2 * table["age"].std())  # a column without a test


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("shift", "the test .*spend"),
        slow("vanished", "moved"),
        slow("appeared", "cost increase grew"),
        slow("gaps", "more gaps .*spend"),
    ],
)
def test_changes_need_a_refit(how, reason, fitted):
    model, then = fitted
    found = monitor(model, then, changed(customers(1200, 5), how))
    assert found.verdict.startswith("Refit: ")
    assert pd.Series(found.reasons).str.contains(reason).any(), found.reasons
    assert found.reasons[0] in found.verdict
    assert html.escape(found.verdict) in found._repr_html_()
    assert found.segments[["rows_then", "rows_now"]].sum().tolist()[0] == len(then)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *map(slow, range(1, 3))])
def test_transitions_sum_to_the_rows(seed, fitted):
    rng = np.random.default_rng(seed)
    model, then = fitted[0], customers(200, seed).assign(id=np.arange(200))
    now = changed(customers(180, seed + 1), "gaps").assign(id=rng.permutation(300)[:180])
    found = monitor(model, then, now, ids="id")
    table, sizes = found.transitions, found.segments
    assert table.to_numpy().sum() == len(set(then["id"]) | set(now["id"]))
    assert table.drop(index="(new)").sum(axis=1).tolist() == sizes["rows_then"].tolist()
    assert table.drop(columns="(left)").sum().tolist() == sizes["rows_now"].tolist()
    assert sizes["rows_now"].sum() == 180
    both = monitor(model, then, now, ids=(then["id"], now["id"].to_numpy()))
    pd.testing.assert_frame_equal(both.transitions, table)


@pytest.mark.slow
def test_who_moved_where(fitted):
    model, then = fitted
    now = then.copy()
    cluster = model.predict(then)
    rows = np.flatnonzero(cluster == 0)[:60]
    now.iloc[rows] = then.iloc[np.flatnonzero(cluster == 1)[0]].to_numpy()
    found = monitor(model, then, now, ids=(then.index, now.index))
    assert found.transitions.iloc[0, 1] == 60
    assert found.verdict.startswith("5.0 % changed segment; the segments still hold")


@pytest.mark.parametrize(
    ("ids", "message"),
    [("who", "column of both"), ("plan", "distinct"), (([1], [2]), "one id per row")],
)
def test_ids_that_do_not_fit_raise(ids, message, fitted):
    with pytest.raises(ValueError, match=message):
        monitor(*fitted, fitted[1], ids=ids)


def test_unknown_levels_and_gaps_are_reported(fitted):
    model, then = fitted
    now = customers(500, 4)
    now.loc[:49, "plan"] = "student"
    now.loc[100:349, "age"] = np.nan
    line = monitor(model, then, now).columns
    assert line.loc["plan", "unknown"] == "student"
    assert line.loc["plan", "unknown_share"] == 0.1
    assert line.loc["age", "gaps_now"] == now["age"].isna().mean()
    assert line.loc["age", "gaps_then"] == then["age"].isna().mean()
    assert line.loc["age", "status"] == "moved"


@pytest.mark.slow
def test_the_index_is_its_formula_over_deciles():
    rng = np.random.default_rng(0)
    then, now = rng.normal(size=(4000, 2)), rng.normal([0.3, 0.0], size=(5000, 2))
    found = monitor(TAOClustering(2, **QUICK).fit(then), then, now).columns
    edges = np.quantile(then[:, 0], np.arange(1, 10) / 10)
    p, q = (
        np.bincount(np.searchsorted(edges, X[:, 0]), minlength=10) / len(X) for X in (then, now)
    )
    assert found.loc["x0", "psi"] == pytest.approx(((q - p) * np.log(q / p)).sum(), rel=0.02)
    assert found.loc["x1", "psi"] < 0.02


@pytest.mark.slow
def test_arrays_sparse_rows_greedy_models_and_labels(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((600, 8)) < 0.3) * rng.random((600, 8))
    X[:, 0] = np.arange(600) % 2
    then, now = X[:300], X[300:]
    model = TAOClustering(2, **QUICK).fit(sp.csr_matrix(then))
    dense = monitor(model, then, now)
    dense_of = sp.csr_matrix.toarray

    def few_rows(self, *options):
        assert self.shape[0] < 20
        return dense_of(self, *options)

    monkeypatch.setattr(sp.csr_matrix, "toarray", few_rows)
    found = monitor(model, sp.csr_matrix(then), sp.csr_matrix(now))
    monkeypatch.undo()
    pd.testing.assert_frame_equal(found.columns, dense.columns)
    pd.testing.assert_frame_equal(found.tests, dense.tests)
    assert found.reasons == []
    shifted = now + [0.8] * 8
    pipeline = make_pipeline(StandardScaler(), IMM(2, random_state=0)).fit(then)
    assert monitor(pipeline, then, now).reasons == []
    assert monitor(pipeline, then, shifted).reasons != []
    y = np.where(X[:, 0] > 0, "b", "a")
    model = TAOClustering(2, objective="labels", **QUICK).fit(then, y[:300])
    found = monitor(model, then, now, y=(y[:300], y[300:]))
    assert found.costs.to_numpy().tolist() == [[0.0, 0.0]]
    assert found.segments.index.tolist() == ["a", "b"]
