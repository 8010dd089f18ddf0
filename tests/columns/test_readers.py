"""Readers of raw columns: what they accept, and that SQL computes the same numbers."""

import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

from tao_cluster import Schema
from tao_cluster.columns import TableReader
from tao_cluster.columns.dates import Date, possible_forms
from tao_cluster.columns.readers import (
    Number,
    UnreadableCellError,
    Written,
)
from tao_cluster.columns.schema import Decision, SchemaError
from tao_cluster.export.sql_cells import number_of


def cells(*values):
    return pd.Series(values, dtype=object, name="c")


def in_sql(reader, column):
    """Numbers that SQLite computes for a column that pandas has written."""
    database = sqlite3.connect(":memory:")
    pd.DataFrame({"c": column}).to_sql("t", database)
    number = number_of(reader, exp.column("c"), "sqlite").sql("sqlite")
    query = f"SELECT {number} AS v FROM t"  # noqa: S608
    found = pd.read_sql(query, database)["v"]
    return found.astype(float).to_numpy()


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (("70 kg", "80.5 kg", "1e2 kg"), (70, 80.5, 100), "kg"),
        (("70kg", " 80.5 kg "), (70, 80.5), "kg"),
        (("$1,234.5", "$12"), (1234.5, 12), "$"),
        (("EUR 3", "EUR 4.5"), (3, 4.5), "EUR"),
        (("1.234,5 EUR", "12 EUR"), (1234.5, 12), "EUR"),
        (("12,5", "3"), (12.5, 3), ""),
        (("5%", "-7.5 %"), (5, -7.5), "%"),
        (("$177 B", "$3.25 B"), (177, 3.25), "$ B"),
        (("1 234,5", "12"), (1234.5, 12), ""),
        (("1'234.5", "2"), (1234.5, 2), ""),
        (("10.000 km²", "1.500.000 km²", "3,5 km²"), (10000, 1500000, 3.5), "km²"),
    ],
)
def test_numbers_with_one_unit_are_read_alike_in_python_and_sql(texts, numbers, unit):
    reader = Written.from_cells(cells(*texts), missing=("n/a",))
    assert reader.unit == unit
    column = cells(*texts, None, "n/a")
    np.testing.assert_array_equal(reader.read(column), [*numbers, np.nan, np.nan])
    np.testing.assert_array_equal(in_sql(reader, column), [*numbers, np.nan, np.nan])


@pytest.mark.parametrize(
    "texts",
    [
        ("70 kg", "80 g"),
        ("a", "b"),
        ("A1", "A2"),
        ("1,2,3", "12"),
        ("$3", "3"),
        ("3 - 4",),
        ("Person 1",),
        ("job 1", "job 2"),
    ],
)
def test_other_strings_are_no_numbers(texts):
    assert Written.from_cells(cells(*texts)) is None


DATES = pd.Series(
    pd.to_datetime(np.random.default_rng(0).integers(-(10**9), 2 * 10**9, 60), unit="s"), name="c"
)


@pytest.mark.parametrize(
    "form", [None, "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"]
)
def test_dates_are_read_alike_in_python_and_sql(form):
    column = DATES if form is None else DATES.dt.strftime(form)
    days = DATES if form is None else pd.to_datetime(column, format=form)
    reader = Date.from_cells(column) or Date(form=form).starting_at(column)
    expected = (days - pd.Timestamp(reader.first)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(reader.read(column), expected, rtol=1e-14)
    assert reader.read(column).min() == 0
    assert reader.text(reader.read(column)[3]) == str(days[3]).removesuffix(" 00:00:00")
    parts = {"month": days.dt.month, "weekday": days.dt.day_of_week, "hour": days.dt.hour}
    for part, numbers in parts.items():
        np.testing.assert_array_equal(replace(reader, part=part).read(column), numbers)
    for part in (None, *parts):
        own = replace(reader, part=part)
        np.testing.assert_array_equal(in_sql(own, column), own.read(column))


def test_cells_that_are_numbers_keep_their_value():
    reader = Written(thousands=".", decimal=",")
    assert reader.read(cells("1.250,5", "3")).tolist() == [1250.5, 3.0]
    assert reader.read(pd.Series([1250.5, 3.0])).tolist() == [1250.5, 3.0]


def test_time_zones_count_in_utc():
    column = cells("2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00Z")
    assert Date.from_cells(column).read(column).tolist() == [0, 2 / 24]
    aware = pd.Series(
        pd.to_datetime(column, format="ISO8601", utc=True).dt.tz_convert("Asia/Tokyo")
    )
    assert Date.from_cells(aware).read(aware).tolist() == [0, 2 / 24]


@pytest.mark.parametrize(
    ("texts", "forms"),
    [
        (("01/02/2020", "03/04/2020"), ["%d/%m/%Y", "%m/%d/%Y"]),
        (("01/02/2020", "13/04/2020"), ["%d/%m/%Y"]),
        (("6/3/84", "12/30/01"), ["%m/%d/%y"]),
        (("Jan 5, 2020 9:05 PM", "Dec 31, 2021 12:00 AM"), ["%b %d, %Y %I:%M %p"]),
        (("May 5, 2020", "June 6, 2021"), ["%B %d, %Y"]),
        (("2020-01", "2021-12"), ["%Y-%m"]),
        (("9:05 pm", "12:00 am"), ["%I:%M %p"]),
        (("3 mars 2024", "4 mai 2024"), []),
        (("Mon 05 Jan 2020",), []),
    ],
)
def test_forms_of_dates(texts, forms):
    assert possible_forms(cells(*texts)) == forms
    if len({*forms} - {None}) == len(forms) == 1:
        column = cells(*texts)
        reader = Date(form=forms[0]).starting_at(column)
        numbers = reader.read(column)
        expected = pd.to_datetime(column, format=forms[0])
        assert (numbers.diff().dropna() * reader.seconds_per_unit).round().tolist() == (
            expected.diff().dropna().dt.total_seconds().tolist()
        )


ALLOWED = ("%d.%m.%Y", "%m/%d/%y", "%I:%M %p", "%H:%M", "%Y%m", "%d %B %Y %I%p", "unix", "excel")


@pytest.mark.parametrize("form", ALLOWED)
def test_every_allowed_format_is_read_written_and_computed_by_sql(form):
    rng = np.random.default_rng(0)
    moments = pd.Series(pd.to_datetime(rng.integers(0, 2 * 10**9, 60), unit="s"), name="c")
    texts = moments.dt.strftime(form)
    if form == "unix":
        texts = (moments.astype("datetime64[s]").astype("int64")).astype(str)
    elif form == "excel":
        texts = (moments.dt.floor("D") - pd.Timestamp("1899-12-30")).dt.days.astype(str)
    reader = Date(form=form).starting_at(texts)
    numbers = reader.read(texts)
    np.testing.assert_array_equal(in_sql(reader, texts), numbers)
    for i, number in enumerate(numbers):
        for old in range(3):  # the cell of a number that a cell has is this cell
            cell = reader.cell(number, texts.iloc[[old]])
            assert reader.read(pd.Series([cell]))[0] == number, (cell, texts[i])
        if not reader.is_time or number < 23:
            changed = reader.cell(number + 0.3, texts.iloc[[i]])
            assert reader.read(pd.Series([changed]))[0] >= number + 0.3
    if not reader.is_time:
        for part in ("month", "weekday", "hour"):
            own = replace(reader, part=part)
            np.testing.assert_array_equal(in_sql(own, texts), own.read(texts))


@pytest.mark.parametrize(
    "form",
    [
        "%Y",
        "%I:%M",
        "%H:%M %p",
        "%a %d %m %Y",
        "%f %H",
        "%W %Y",
        "%-d.%m.%Y",
        "%d %Y",
        "%p %I",
        "x",
    ],
)
def test_other_formats_are_not_allowed(form):
    with pytest.raises(ValueError, match="the format"):
        Date(form=form)
    with pytest.raises(SchemaError, match="column 'c': the format"):
        Schema.from_dict({"columns": {"c": {"kind": "date", "format": form}}})


@pytest.mark.parametrize(
    ("reader", "cell"),
    [
        (Number(), "many"),
        (Number(), np.inf),
        (Written(suffix="kg"), "80 g"),
        (Date(), "yesterday"),
        (Date(form="%H:%M"), "9:30 pm"),
    ],
)
def test_an_unreadable_cell_is_named_with_its_row_and_column(reader, cell):
    with pytest.raises(UnreadableCellError, match=r"column 'c', row 1: .* is not a") as found:
        reader.read(cells(None, cell))
    assert found.value.row == 1


def test_the_table_reader_takes_columns_by_name_and_counts_gaps():
    table = pd.DataFrame({"a": [1, 2, np.nan], 2020: [1, 2, 3], "id": ["x", "y", "z"]})
    reader = TableReader(
        Schema(tuple(Decision(c, "number", readers=(Number(),)) for c in ("2020", "a")))
    ).fit(table)
    assert reader.n_missing_ == {"2020": 0, "a": 1}
    new = pd.DataFrame({"a": [5, None], 2020: [None, 7]})
    assert reader.transform(new[1:]).columns.tolist() == ["2020", "a"]
    assert reader.usable_rows(new).tolist() == [False, True]
    with pytest.raises(ValueError, match="column '2020' has 1 missing values, but had none"):
        reader.transform(new)
    with pytest.raises(ValueError, match="no column '2020'"):
        reader.transform(new[["a"]])
    with pytest.raises(ValueError, match="pandas DataFrame"):
        reader.transform(new.to_numpy())


def test_parts_of_a_date_become_columns_of_their_own():
    table = pd.DataFrame({"day": ["2020-01-31", "2020-02-01"]})
    date = Date.from_cells(table["day"])
    decision = Decision("day", "date", readers=(date, replace(date, part="month")))
    reader = TableReader(Schema((decision,)))
    assert reader.fit_transform(table).to_dict("list") == {"day": [0, 1], "day month": [1, 2]}
