"""`monitor`: a verdict by stated rules, counts that add up, and what changed where."""

import html

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_refitting import QUICK, customers, slow

from greedy import IMM, ExKMC
from tao_cluster import Schema, TAOClustering, load, monitor, save, table_pipeline
from tao_cluster.objectives import KMedoids, Trimmed


@pytest.fixture(scope="module")
def fitted():
    then = customers(1200, 0)
    return table_pipeline(then, 3, split="axis", **QUICK).fit(then), then


@pytest.mark.parametrize("seed", [0, slow(1)])
@pytest.mark.parametrize("n", [60, 1200])
def test_two_halves_hold(seed, n, fitted):
    found = monitor(fitted[0], customers(n, 100 + seed), customers(n, 200 + seed))
    assert found.reasons == found.groups == [], found
    assert "; the segments still hold." in found.verdict
    assert (found.columns["status"] != "moved").all()


@pytest.mark.parametrize(("old", "new"), [(1200, 1), (1, 1200), (3, 3), (10, 3), (1200, 50)])
def test_few_rows_have_a_stated_result(old, new, fitted):
    found = monitor(fitted[0], customers(old, 3), customers(new, 4))
    assert found.segments[["rows_then", "rows_now"]].sum().tolist() == [old, new]
    assert found.reasons == []


@pytest.mark.slow
def test_few_months_without_a_change_alarm(fitted):
    sizes = [(1200, 10), (50, 50), (20, 1200), (1200, 300)]
    alarms = [
        monitor(fitted[0], customers(a, 2 * seed), customers(b, 2 * seed + 1)).reasons
        for seed in range(20, 35)
        for a, b in sizes
    ]
    assert sum(map(bool, alarms)) <= 6, alarms  # 3 are expected at most


@pytest.mark.slow
def test_rows_that_a_stand_in_has_seen_are_no_measure_of_its_costs():
    alarms = 0
    for seed in range(8):
        then, now = np.random.default_rng(seed).normal(size=(2, 60, 4))
        found = monitor(ExKMC(8, max_leaves=8, random_state=0).fit(then), then, now)
        alarms += len(found.reasons) > 0
    assert alarms <= 1


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
    if how == "levels":
        return table.assign(plan=table["plan"].where(rng.random(len(table)) > 0.1, "student"))
    return table.assign(age=table["age"] + 2 * table["age"].std())  # a column without a test


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("shift", r"a column has moved: spend \(PSI \d.\d\d\)"),
        slow("vanished", "cluster . has .* % of the rows, .* % then"),
        slow("appeared", "300 rows, most of cluster ., are new: spend 9000 against 2000"),
        slow("appeared", "the cost per row grew"),
        slow("gaps", "a column has moved: spend .* % more gaps"),
        slow("gaps", "no segment has .* % of the rows, 0.0 % then"),
        slow("levels", "a column has moved: plan .* % unknown levels"),
        slow("age", r"a column has moved: age \(PSI"),
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


def planted(n, seed, share):
    """Rows of three round groups and, for a share of them, of one more between all others."""
    rng = np.random.default_rng(seed)
    X = 8.0 * np.eye(3)[rng.integers(0, 3, n)] + rng.normal(size=(n, 3))
    is_new = rng.random(n) < share
    X[is_new] = [6.0, 6.0, -3.0] + 0.5 * rng.normal(size=(is_new.sum(), 3))
    return pd.DataFrame(X, columns=["spend", "orders", "age"]), is_new


@pytest.mark.parametrize("share", [0.02, slow(0.0)])
@pytest.mark.parametrize("seed", [0, *map(slow, range(1, 6))])
def test_a_new_segment_is_found_and_described(seed, share):
    (then, _), (now, is_new) = planted(600, 10 + seed, share), planted(500, 20 + seed, 0.15)
    found = monitor(TAOClustering(3, **QUICK).fit(then), then, now)
    rows = np.concatenate(found.groups)
    assert is_new[rows].mean() >= 0.9
    assert is_new[rows].sum() >= 0.8 * is_new.sum()
    assert found.segments["new_rows"].sum() == len(rows) == len(np.unique(rows))
    large = [sentence for sentence in found.new_segments if sentence in found.reasons]
    assert large
    assert "age -3" in "".join(large) or "orders 6" in "".join(large)
    assert all(sentence in found.text for sentence in found.new_segments)


@pytest.mark.slow
def test_medians_that_moved_are_reported_in_raw_units(fitted):
    model, then = fitted
    now = customers(1200, 5)
    group = model.predict(now)
    moved = now.assign(age=now["age"].where(group != 1, now["age"] + 9))
    found = monitor(model, then, moved).segments["moved"]
    medians = [table["age"][model.predict(table) == 1].median() for table in (then, moved)]
    assert found.iloc[1] == "age {:.1f} -> {:.1f}".format(*medians)
    assert found.iloc[[0, 2]].tolist() == ["", ""]


def test_a_median_between_two_modes_is_not_said_to_move():
    def draw(seed):
        rng = np.random.default_rng(seed)
        group, mode = rng.integers(0, 2, (2, 150))
        return np.column_stack([100 * group, mode]) + rng.normal(0, 0.1, (150, 2))

    model = ExKMC(2, max_leaves=2, random_state=0).fit(draw(0))
    moved = pd.concat([monitor(model, draw(0), draw(seed)).segments["moved"] for seed in (1, 2, 3)])
    assert moved.tolist() == [""] * 6


def models():
    rng = np.random.default_rng(3)
    labels = np.array(["a", "b", "c"])
    return {
        "oblique": (TAOClustering(3, **QUICK), {}),
        "axis": (TAOClustering(3, split="axis", standardize=True, max_leaves=5, **QUICK), {}),
        "kmedians": (TAOClustering(3, objective="kmedians", **QUICK), {}),
        "spherical": (TAOClustering(3, objective="spherical", **QUICK), {}),
        "kmedoids": (TAOClustering(3, objective=KMedoids("cityblock"), **QUICK), {}),
        "trimmed": (TAOClustering(3, objective=Trimmed(share=0.05), **QUICK), {}),
        "embedded": (TAOClustering(3, **QUICK), {"embedding": lambda X: X.to_numpy()[:, :2] / 2}),
        "labels": (
            TAOClustering(3, objective="labels", **QUICK),
            {
                "y": lambda X: np.where(
                    rng.random(len(X)) < 0.1, "c", labels[X.to_numpy().argmax(1)]
                )
            },
        ),
        "greedy": (ExKMC(3, max_leaves=5, random_state=0), {}),
        "pipeline": (make_pipeline(StandardScaler(), IMM(3, random_state=0)), {}),
    }


@pytest.mark.parametrize("name", ["labels", *map(slow, sorted(models().keys() - {"labels"}))])
def test_other_objectives_models_and_files(name, tmp_path):
    model, given = models()[name]
    tables = [planted(400, 1, 0.0)[0], planted(500, 2, 0.0)[0], planted(500, 3, 0.15)[0]]
    arrays = [{key: make(X) for key, make in given.items()} for X in tables]
    model.fit(tables[0], **arrays[0])
    loaded = model
    if name != "pipeline":
        save(model, tmp_path / "model.json")
        loaded = load(tmp_path / "model.json")

    def compared(model, i, j=0):
        pairs = {key: (arrays[j][key], arrays[i][key]) for key in given}
        return monitor(model, tables[j], tables[i], **pairs)

    assert compared(model, 1).reasons == []
    assert compared(model, 0).reasons == compared(model, 0).groups == []
    found = compared(model, 2)
    assert found.verdict.startswith("Refit: ")
    assert any("are new" in reason for reason in found.reasons), found.reasons
    assert compared(loaded, 2).text == found.text
    assert found.segments[["cost_then", "cost_now"]].iloc[:3].notna().all(axis=None)


def test_more_rows_with_another_label_are_a_reason():
    X, y = planted(900, 1, 0.0)[0].to_numpy(), None
    y = X.argmax(axis=1)
    model = TAOClustering(3, objective="labels", **QUICK).fit(X[:300], y[:300])
    worse = np.where(np.arange(300) % 5 == 0, 0, y[600:])
    assert monitor(model, X[:300], X[300:600], y=(y[:300], y[300:600])).reasons == []
    found = monitor(model, X[:300], X[600:], y=(y[:300], worse))
    assert [r.split(" by ")[0] for r in found.reasons] == ["rows with another label grew"]
    assert float(found.reasons[0].split()[-2]) == pytest.approx(found.costs["now"].iloc[0], abs=2)


def test_order_and_form_of_the_rows_do_not_matter(fitted):
    model, then = fitted
    now = changed(customers(900, 5), "appeared")
    plain = monitor(model, then, now)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(table)) for table in (then, now)]
    mixed = [table.iloc[i] for table, i in zip((then, now), orders, strict=True)]
    text = now.astype({"spend": str, "orders": str}).iloc[orders[1]].reset_index(drop=True)
    for pair in (mixed, (mixed[0], text)):
        found = monitor(model, *pair)
        assert (found.text, found.reasons) == (plain.text, plain.reasons)
        for group, same in zip(plain.groups, found.groups, strict=True):
            assert np.array_equal(group, np.sort(orders[1][same]))


@pytest.mark.slow
def test_the_same_rows_never_alarm(fitted):
    model, then = fitted
    few, equal, other = (
        then.iloc[::40],
        pd.concat([then.iloc[:100]] * 5),
        changed(then.iloc[:900], "appeared"),
    )
    for table in (then, few, equal, other):
        found = monitor(model, table, table.iloc[::-1])
        assert found.reasons == found.groups == []


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
    now.iloc[rows] = then.iloc[np.flatnonzero(cluster == 1)[:60]].to_numpy()
    found = monitor(model, then, now, ids=(then.index, now.index))
    assert found.transitions.iloc[0, 1] == 60
    assert found.verdict == "5.0 % changed segment; the segments still hold."


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
    assert line.loc[["age", "plan"], "status"].tolist() == ["moved", "moved"]


@pytest.mark.slow
def test_rare_levels_that_are_always_unknown_are_no_reason():
    def towns(n, seed, of=3000):
        found = np.random.default_rng(seed).zipf(1.2, n) % of
        return customers(n, seed).assign(town=[f"town {i}" for i in found])

    then, now = towns(600, 1), towns(600, 2)
    model = table_pipeline(then, 3, keep=["town"], split="axis", **QUICK).fit(then)
    found = monitor(model, then, now)
    assert found.columns.loc["town", "unknown_share"] > 0.2
    assert found.reasons == []
    now.loc[:199, "town"] = [f"village {i}" for i in range(200)]
    assert "town" in str(monitor(model, then, now).reasons)


@pytest.mark.slow
def test_the_index_is_its_formula_over_deciles():
    rng = np.random.default_rng(0)
    then, now = rng.normal(size=(4000, 2)), rng.normal([0.4, 0.0], size=(5000, 2))
    found = monitor(TAOClustering(2, **QUICK).fit(then), then, now).columns
    edges = np.quantile(np.concatenate([then, now])[:, 0], np.arange(1, 10) / 10)
    p, q = (
        np.bincount(np.searchsorted(edges, X[:, 0]), minlength=10) / len(X) for X in (then, now)
    )
    assert found.loc["x0", "psi"] == pytest.approx(((q - p) * np.log(q / p)).sum(), rel=0.02)
    assert found.loc["x1", "psi"] < 0.02
    assert found["status"].tolist() == ["moved", "stable"]


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
    other = now.copy()
    other[:60] = [0, 0, 0, 3, 3, 0, 0, 0]
    alarm = monitor(model, sp.csr_matrix(then), sp.csr_matrix(other))
    monkeypatch.undo()
    pd.testing.assert_frame_equal(found.columns, dense.columns)
    pd.testing.assert_frame_equal(found.tests, dense.tests)
    assert found.reasons == []
    assert sorted(np.concatenate(alarm.groups)) == list(range(60))
    assert any("rows of cluster" in reason and "x3" in reason for reason in alarm.reasons)
    shifted = now + [0.8] * 8
    pipeline = make_pipeline(StandardScaler(), IMM(2, random_state=0)).fit(then)
    assert monitor(pipeline, then, now).reasons == []
    assert monitor(pipeline, then, shifted).reasons != []
    y = np.where(X[:, 0] > 0, "b", "a")
    model = TAOClustering(2, objective="labels", **QUICK).fit(then, y[:300])
    found = monitor(model, then, now, y=(y[:300], y[300:]))
    assert found.costs.to_numpy().tolist() == [[0.0, 0.0]]
    assert found.segments.index.tolist() == ["a", "b"]


@pytest.mark.parametrize("days", [0, 30, 400])
def test_dates_of_another_month_are_no_reason_by_themselves(days):
    """Clusters are made of a date, too, but no new group, cost or column is reported."""

    def draw(seed, days=0):
        rng = np.random.default_rng(seed)
        first = pd.Timestamp("2024-09-01") + pd.Timedelta(days=days)
        z = rng.integers(0, 2, 400)
        return pd.DataFrame(
            {
                "spend": 100.0 * z + rng.normal(0, 9, 400),
                "visits": 20.0 * z + rng.normal(9, 3, 400),
                "ordered": first + pd.to_timedelta(rng.integers(0, 30, 400), unit="D"),
            }
        )

    schema = Schema.from_dict({"columns": {"ordered": {"kind": "date"}}})
    pipeline = table_pipeline(draw(0), 2, split="axis", max_leaves=2, schema=schema, random_state=0)
    found = monitor(pipeline.fit(draw(0)), draw(0), draw(1, days))
    assert found.reasons == []
    assert found.columns.loc["ordered", "status"] == "not compared"
