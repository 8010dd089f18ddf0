"""One schema: what the fit decided about a column holds for every later file and frame."""

import datetime
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from tao_cluster import OpenQuestionsError, Schema, load, read_table, save, table_pipeline
from tao_cluster.columns import raw_view
from tao_cluster.columns.readers import UnreadableCellError
from tao_cluster.columns.schema import SchemaError
from tao_cluster.reading import Reading

N = 120


def numbers(seed=0, n=N):
    """A column with three groups, so that there are clusters."""
    rng = np.random.default_rng(seed)
    return 50 * rng.integers(0, 3, n) + rng.normal(size=n).round(3)


def fitted(column, name="c", **options):
    """A pipeline whose tree tests a column of levels, and its table."""
    table = pd.DataFrame({name: column})
    options = {"category_weight": 9.0, "n_clusters": table[name].nunique(), **options}
    table["x"] = np.random.default_rng(0).normal(size=len(table))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the clusters are the levels
        return table_pipeline(table, random_state=0, **options).fit(table), table


def written(frame, tmp_path, name="new.csv", **options):
    frame.to_csv(tmp_path / name, index=False, **options)
    return tmp_path / name


LEVELS = {
    "truth values and a word": ["TRUE", "FALSE", "unknown"],
    "zeros in front": ["08015", "10115", "00501", "20095"],
    "exponents": ["1E2", "2E5", "3B1"],
    "decimals": ["1.0", "1.50", "x"],
    "dates and words": ["2020-01-05", "2021-03-04", "none yet", "open", "never", "late"],
}


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("has_gaps", [False, True])
def test_levels_of_a_later_table_are_those_of_the_fit(levels, has_gaps, tmp_path):
    """Any part of the rows has its clusters of the fit, and a frame of other types raises."""
    column = np.random.default_rng(1).choice(levels, N)
    if has_gaps:
        column = np.where(np.random.default_rng(2).random(N) < 0.1, "", column)
    pipeline, table = fitted(column, categorical=["c"])
    expected = pipeline.predict(table)
    save(pipeline, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.schema_ == pipeline.schema_
    for level in levels:
        part = table["c"].isin([level, ""]).to_numpy()
        path = written(table[part], tmp_path)
        new = read_table(path, schema=pipeline.schema_, on_note=print)
        np.testing.assert_array_equal(pipeline.predict(new), expected[part])
        np.testing.assert_array_equal(loaded.predict(pd.read_csv(path, dtype=str)), expected[part])
        inferred = pd.read_csv(path)
        kinds = {*inferred["c"].dropna()}
        if {*map(str, kinds)} <= {*levels}:
            np.testing.assert_array_equal(loaded.predict(inferred), expected[part])
        else:
            with pytest.raises(ValueError, match="column 'c' has values of the type"):
                loaded.predict(inferred)


def test_numbers_are_the_same_bits_in_a_file_and_in_a_frame(tmp_path):
    values = np.random.default_rng(0).random(2000) * 10.0 ** np.arange(-10, 10).repeat(100)
    table = pd.DataFrame({"a": values, "b": [f"{v!r} kg" for v in values.tolist()]})
    path = written(table, tmp_path)
    table = read_table(path)
    np.testing.assert_array_equal(table["a"], values)
    reader = table_pipeline(table)[0]
    np.testing.assert_array_equal(reader.fit_transform(table)["b"], values)
    as_text = pd.read_csv(path, dtype=str)
    np.testing.assert_array_equal(reader.transform(as_text)["a"], values)


@pytest.mark.spaced(quick=3)
@pytest.mark.parametrize(
    ("cells", "meanings"),
    [
        (["980", "1.250", "15.300"], {"thousands": 15300.0, "decimal": 15.3}),
        (["980", "1,250", "15,300"], {"thousands": 15300.0, "decimal": 15.3}),
        (["7 EUR", "1.250 EUR", "15.300 EUR"], {"thousands": 15300.0, "decimal": 15.3}),
    ],
)
@pytest.mark.parametrize("separator", [None, ";"])
def test_marks_with_two_meanings_are_asked_about(cells, meanings, separator, tmp_path):
    table = pd.DataFrame({"price": cells * 30, "x": numbers(n=90)})
    if separator:
        path = written(table, tmp_path, sep=separator)
        table = read_table(path, on_note=print)
    with pytest.raises(
        OpenQuestionsError, match=r"column 'price': does the mark in .* separate"
    ) as found:
        table_pipeline(table)
    mark = "," if "," in cells[1] else "."
    for key, meaning in meanings.items():
        answer = {"kind": "number", **({"suffix": "EUR"} if "EUR" in cells[0] else {}), key: mark}
        assert answer in found.value.questions[0].answers
        rows = table_pipeline(table, schema={"price": answer})[0].fit_transform(table)
        assert rows["price"].iloc[2] == meaning
        if separator and "EUR" not in cells[0] and key == "decimal":
            read = read_table(path, Reading(decimal=mark), on_note=print)
            assert read["price"].iloc[2] == meaning


@pytest.mark.parametrize(
    "cells",
    [
        ["0.125", "1.250", "3"],
        ["1.250", "12.5", "3"],
        ["1.250", "1250", "3"],
        ["1.250.000", "15.300"],
        ["$1,250", "$3"],
    ],
)
def test_marks_with_one_meaning_are_not_asked_about(cells, tmp_path):
    path = written(pd.DataFrame({"a": cells * 30, "b": "t"}), tmp_path, sep=";")
    table = read_table(path, on_note=print)
    assert table_pipeline(table).decisions_["kind"][0] == "number"


@pytest.mark.parametrize(
    ("codes", "others"),
    [
        ([-999, -998], "normal"),
        ([9999, 7777], "counts"),
        ([99, 88, 77], "scale"),
        ([999], "counts"),
        ([-(2**63)], "counts"),
    ],
)
def test_codes_for_missing_values_warn_and_the_remedy_works(codes, others):
    rng = np.random.default_rng(0)
    made = {"normal": rng.normal(50, 5, 300), "counts": rng.integers(0, 11, 300)}
    made["scale"] = rng.integers(1, 6, 300)
    is_code = rng.random(300) < 0.15
    column = np.where(is_code, rng.choice(codes, 300), made[others])
    table = pd.DataFrame({"c": column, "x": rng.normal(size=300)})
    with pytest.warns(UserWarning, match=r"^Column 'c' has .*trimmed") as found:
        table_pipeline(table)
    remedy = re.search(r'{"missing": \[.*?\]}|"missing": (\[.*?\])', str(found[0].message))
    given = json.loads(remedy[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = {"c": {"kind": "number", "missing": given}}
        decisions = table_pipeline(table, schema=schema).decisions_
    assert decisions["missing"].tolist() == [is_code.sum(), 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table_pipeline(table[~is_code])


@pytest.mark.parametrize("code", ["9999-12-31", "1900-01-01", "0001-01-01"])
@pytest.mark.parametrize("typed", [False, True])
def test_dates_that_mean_no_date_warn_and_the_remedy_works(code, typed):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D")
    texts = np.where(rng.random(N) < 0.1, code, days.strftime("%Y-%m-%d"))
    column = [datetime.date.fromisoformat(text) for text in texts] if typed else texts
    table = pd.DataFrame({"until": pd.Series(column, dtype=object), "x": numbers()})
    with pytest.warns(
        UserWarning, match=rf"^Column 'until' has \d+ values? far from all others: {code};"
    ):
        table_pipeline(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = {"until": {"kind": "date", "missing": [code]}}
        pipeline = table_pipeline(table, schema=schema)
    assert pipeline.decisions_["missing"][0] == (texts == code).sum()


def test_skewed_numbers_do_not_warn():
    rng, n = np.random.default_rng(0), 5000
    table = pd.DataFrame(
        {
            "lognormal": rng.lognormal(10, 1, n),
            "exponential": rng.exponential(size=n),
            "counts": rng.poisson(3, n) * (rng.random(n) < 0.1),
            "heavy": rng.standard_t(8, n),
            "changes": -rng.lognormal(0, 1, n),
            "rare": (rng.random(n) < 0.01) * 5 + 2,
            "shares": rng.beta(0.5, 5, n),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table_pipeline(table)


@pytest.mark.slow
def test_old_dates_and_dates_of_arrow_are_read():
    pa = pytest.importorskip("pyarrow")
    days = [datetime.date(1500, 1, 1) + datetime.timedelta(days=700 * j) for j in range(N)]
    for column in (
        [str(day) for day in days],
        pd.Series(days, dtype=object),
        pd.Series(days, dtype=pd.ArrowDtype(pa.date32())),
    ):
        table = pd.DataFrame({"day": column, "x": numbers()})
        pipeline = table_pipeline(table, 2, random_state=0).fit(table)
        assert pipeline[0].transform(table)["day"].tolist() == [700 * j for j in range(N)]


def test_one_cell_that_is_no_date_is_asked_about():
    days = pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y").to_numpy(dtype=object)
    days[7] = "soon"
    with pytest.raises(OpenQuestionsError, match=r"column 'day': .*'soon'") as found:
        table_pipeline(pd.DataFrame({"day": days, "x": numbers()}))
    answer = {"kind": "date", "format": "%d.%m.%Y", "missing": ["soon"]}
    assert found.value.questions[0].answers[0] == found.value.questions[0].careful == answer
    mixed = ["2020-01-05T10:00:00+01:00", "2020-01-05T10:00:00"] * 60
    with pytest.raises(OpenQuestionsError) as found:
        table_pipeline(pd.DataFrame({"day": mixed, "x": numbers()}))
    assert found.value.questions[0].careful == {"use": False}


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Asia/Kolkata", "+02:00"])
def test_parts_of_instants_are_those_of_the_clock_in_their_zone(zone):
    instants = pd.Series(pd.date_range("2019-12-29", periods=N, freq="31h", tz=zone))
    table = pd.DataFrame({"at": instants, "x": numbers()})
    pipeline = table_pipeline(table, 3, date_parts=["weekday", "hour", "month"], random_state=0)
    rows = pipeline.fit(table)[0].transform(table)
    np.testing.assert_array_equal(rows["at weekday"], instants.dt.day_of_week)
    np.testing.assert_array_equal(rows["at hour"], instants.dt.hour)
    np.testing.assert_array_equal(rows["at month"], instants.dt.month)
    reader = pipeline.schema_.readers["at"][0]
    for number, instant in zip(rows["at"], instants, strict=True):
        assert pd.Timestamp(reader.text(number)) == instant
    # The same instants in another zone are the same rows; clocks without a zone are others.
    other = table.assign(at=instants.dt.tz_convert("America/New_York"))
    pd.testing.assert_frame_equal(pipeline[0].transform(other), rows)
    with pytest.raises(UnreadableCellError, match="column 'at'"):
        pipeline[0].transform(table.assign(at=instants.dt.tz_localize(None)))


@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_columns_that_the_tree_does_not_test_may_be_absent_or_wrong(split):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: numbers() + rng.normal(size=N) for name in "abcd"})
    table["plan"] = rng.choice(["gold", "free"], N)
    table["day"] = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")
    pipeline = table_pipeline(table, 3, random_state=0, max_leaves=3, split=split).fit(table)
    expected = pipeline.predict(table)
    tested = sorted(raw_view(pipeline).tested_columns)
    others = [name for name in table if name not in tested]
    assert len(others) >= 3
    wrong = {"plan": 7, "day": 0.5}
    for new in (
        table[tested],
        table.assign(**dict.fromkeys(others)),
        table.assign(**{name: wrong.get(name, "x") for name in others}),
    ):
        np.testing.assert_array_equal(pipeline.predict(new), expected)
    with pytest.raises(ValueError, match=f"there is no column '{tested[0]}'"):
        pipeline.predict(table.drop(columns=tested[0]))
    with pytest.raises(ValueError, match=f"column '{tested[0]}' has 1 missing values"):
        pipeline.predict(table.assign(**{tested[0]: table[tested[0]].where(table.index != 3)}))


ODD = {
    "complex": [1 + 2j, 3 + 0j, 2j],
    "lists": [[1], [2, 3], [4]],
    "truth values and numbers": [True, 2, 0],
    "bytes": [b"a", b"b", b"c"],
}


@pytest.mark.parametrize("cells", ODD.values(), ids=ODD)
def test_odd_columns_are_left_out_or_named(cells):
    table = pd.DataFrame({"odd": pd.Series(cells * 40, dtype=object), "x": numbers()})
    if isinstance(cells[0], bool):
        with pytest.raises(OpenQuestionsError, match="column 'odd'"):
            table_pipeline(table)
    else:
        decision = table_pipeline(table).decisions_.iloc[0]
        assert decision["done"] == "left out"
        assert "type" in decision["why"]


def test_durations_are_days():
    took = pd.to_timedelta(np.arange(N) * 3600, unit="s")
    table = pd.DataFrame({"took": took, "x": numbers()})
    pipeline = table_pipeline(table, 2, random_state=0).fit(table)
    assert pipeline.schema_.columns["took"].kind == "duration"
    np.testing.assert_allclose(pipeline[0].transform(table)["took"], np.arange(N) / 24)


@pytest.mark.slow
def test_tables_of_other_libraries_are_read():
    pa = pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": numbers(), "plan": np.random.default_rng(0).choice(["u", "v"], N)})
    expected = table_pipeline(table, 3, random_state=0).fit(table).predict(table)
    frames = [pa.Table.from_pandas(table)]
    with pytest.MonkeyPatch.context():
        duckdb = pytest.importorskip("duckdb")
        frames.append(duckdb.from_arrow(frames[0]))
    for frame in frames:
        pipeline = table_pipeline(frame, 3, random_state=0).fit(frame)
        np.testing.assert_array_equal(pipeline.predict(frame), expected)


@pytest.mark.slow
def test_a_schema_document_gives_the_same_pipeline_and_can_be_edited(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D")
    table = pd.DataFrame(
        {
            "spend": [f"{v:.2f} EUR" for v in numbers()],
            "since": days.strftime("%Y-%m-%d"),
            "at": [f"{h:02d}:30" for h in rng.integers(0, 24, N)],
            "vip": rng.choice([True, False], N),
            "region": rng.choice(["r1", "r2", "n"], N),
            "gap": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
            "id": np.arange(N) + 500,
        }
    )
    pipeline = table_pipeline(table, 3, random_state=0, date_parts=["month"]).fit(table)
    pipeline.schema_.to_json(tmp_path / "schema.json")
    schema = Schema.from_json(tmp_path / "schema.json")
    assert schema == pipeline.schema_
    for given in (schema, tmp_path / "schema.json", schema.to_dict()):
        again = table_pipeline(table, 3, random_state=0, schema=given).fit(table)
        assert again[-1].tree_ == pipeline[-1].tree_
        assert again.schema_ == schema
    document = schema.to_dict()
    document["columns"]["region"]["use"] = False
    document["columns"]["id"] = {"kind": "number"}
    edited = table_pipeline(table, 3, schema=document)
    assert "region" not in edited.schema_.readers
    assert "id" in edited.schema_.readers
    with pytest.raises(SchemaError, match="there is no column 'idd'"):
        table_pipeline(table, schema={"idd": {"kind": "number"}})
    with pytest.raises(UnreadableCellError, match="column 'region'"):
        table_pipeline(table, schema={"region": {"kind": "number"}}).fit(table)
