"""Names, literals and functions of SQL dialects, and what cannot be written in them."""

import sqlite3

import pandas as pd
import pytest

from tao_cluster import Tree, table_pipeline
from tao_cluster.columns import Indicator
from tao_cluster.columns.dates import Date
from tao_cluster.columns.names import Numeric
from tao_cluster.columns.readers import WHITE_SPACE, Level, Number, Written
from tao_cluster.export import to_sql
from tao_cluster.export.sql_dialects import TESTED

NAME, TEXT = 'a"b`c]d\\e', "it's a \\ and `\n é"
NAMES = {
    "ansi": '"a""b`c]d\\e"',
    "postgres": '"a""b`c]d\\e"',
    "mysql": '`a"b``c]d\\e`',
    "tsql": '[a"b`c]]d\\e]',
}
TEXTS = {
    "ansi": "'it''s a \\ and `\n é'",
    "postgres": "'it''s a \\ and `\n é'",
    "mysql": "'it''s a \\\\ and ` \\n é'".replace(" \\n", "\\n"),
    "bigquery": "'it\\'s a \\\\ and `\\n é'",
    "tsql": "N'it''s a \\ and `\n é'",
}
DATED = [None, "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d"]


def stump(name, threshold=0.5, weight=1.0):
    """A tree with one test."""
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [weight]), None, None], [threshold, 0, 0], [-1, 0, 1], 1
    )
    return tree, [name]


@pytest.mark.parametrize("dialect", TEXTS)
def test_names_and_strings_are_quoted_by_the_rules_of_the_dialect(dialect):
    text = to_sql(*stump(Indicator(NAME, TEXT)), dialect=dialect)
    assert NAMES.get(dialect, "`a") in text  # names of BigQuery have no such characters
    assert TEXTS[dialect] in text


def test_synonyms_and_unknown_dialects():
    tree, names = stump("a")
    texts = {each: to_sql(tree, names, dialect=each) for each in ("postgresql", "postgres", "ansi")}
    assert texts["postgresql"] == texts["postgres"]
    assert to_sql(tree, names) == texts["ansi"] == to_sql(tree, names, dialect="sqlite")
    with pytest.raises(ValueError, match=r"'dialect' parameter of to_sql must be one of ansi, "):
        tree.to_sql(names, dialect="postgress")


@pytest.mark.parametrize(
    ("name", "threshold", "text"),
    [
        ("income", 2471.5, '"income" <= 2471.5'),
        (Numeric("income", 3000), 2471.5, '"income" <= 2471.5'),
        (Numeric("income", 2000), 2471.5, '("income" <= 2471.5 OR "income" IS NULL)'),
        (
            Numeric("since", None, Date(is_typed=True)),
            0.5,
            "\"since\" < CAST('1970-01-01 12:00:01' AS TIMESTAMP)",
        ),
        (
            Numeric("since", None, Date(is_typed=True, zone="+02:00")),
            0.5,
            "\"since\" < CAST('1970-01-01 12:00:01+00:00' AS TIMESTAMPTZ)",
        ),
        (
            Numeric("at", None, Date(form="%H:%M")),
            14.5,
            " AS TIME) < CAST('14:30:01' AS TIME)",
        ),
        (Indicator("vip", True, reader=Level(("NA",), "truth")), 0.5, '"vip" = TRUE'),
        (Numeric("age", 40.0, Number(("NA",))), 60.0, '("age" <= 60 OR "age" IS NULL)'),
    ],
)
def test_typed_columns_are_compared_as_they_are(name, threshold, text):
    assert text in to_sql(*stump(name, threshold), dialect="postgres")


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (
            Written(("it's", "1 or 2"), suffix="kg"),
            {
                "ansi": ["IN ('1 or 2')", "AS DOUBLE PRECISION", "CHAR(32, 9", "GLOB '*[0-9]*'"],
                "mysql": ["AS DOUBLE)", "REGEXP_REPLACE("],
            },
        ),
        (
            Date(form="%d.%m.%Y", part="weekday"),
            {
                "ansi": ["STRFTIME('%w'", "PRINTF("],
                "postgres": ["TO_DATE(", "EXTRACT(DOW"],
                "mysql": ["STR_TO_DATE(", "WEEKDAY("],
            },
        ),
        (
            Date(zone="+02:00", part="hour"),
            {
                "ansi": [", '+02:00')", "STRFTIME('%H'"],
                "postgres": ["AS TIMESTAMPTZ) AT TIME ZONE '-02:00'"],
                "mysql": ["TIME_TO_SEC("],
            },
        ),
    ],
)
def test_readers_use_the_functions_of_the_dialect(reader, words):
    for dialect, parts in words.items():
        text = to_sql(*stump(Numeric("c", None, reader)), dialect=dialect)
        assert all(part in text for part in parts), text


def test_sqlite_has_no_time_zones_with_names():
    name = Numeric("c", 3.0, Date(("NA",), "2020-01-01", None, "hour", "Europe/Berlin", False))
    with pytest.raises(ValueError, match=r"The hour of column 'c' in the zone 'Europe/Berlin'"):
        to_sql(*stump(name))


@pytest.mark.parametrize("dialect", ["oracle", "bigquery", "snowflake", "tsql"])
def test_other_dialects_compare_typed_dates_and_raise_for_text(dialect):
    typed = Numeric("c", 3.0, Date(is_typed=True))
    assert "1970-01-01" in to_sql(*stump(typed), dialect=dialect)
    for reader in (
        *(Date(form=form) for form in DATED),
        Date(is_typed=True, part="month"),
        Date(form="%H:%M"),
        Written(suffix="kg"),
    ):
        with pytest.raises(ValueError, match="Cast the column to a date or a number"):
            to_sql(*stump(Numeric("c", None, reader)), dialect=dialect)


def test_the_comparison_of_strings_respects_case():
    name = Indicator("plan", "gold", reader=Level(("NA",)))
    assert "CAST(`plan` AS BINARY) = 'gold'" in to_sql(*stump(name), dialect="mysql")
    assert "[plan] COLLATE Latin1_General_BIN2 = 'gold'" in to_sql(*stump(name), dialect="tsql")


def test_white_space_around_words_does_not_count():
    """As in Python; other characters do."""
    reader = Level(("NA",))
    cells = [f"{before}NA{behind}" for before in WHITE_SPACE for behind in ("", *WHITE_SPACE)]
    cells += [f"{before}NA" for before in ".-_\x1b"]
    connection = sqlite3.connect(":memory:")
    table = pd.DataFrame({"plan": cells}, dtype=object)
    table.to_sql("points", connection)
    tree, names = stump(Indicator("plan", None, reader=reader))
    query = f"{to_sql(tree, names, table='points')} ORDER BY rowid"
    found = [row[-1] for row in connection.execute(query)]
    connection.close()
    assert found == reader.read(table["plan"]).isna().astype(int).tolist()


@pytest.mark.slow
def test_to_sql_of_a_pipeline_has_a_dialect():
    cells = {"is vip": [True, False, None] * 20, "day": ["2020-01-05", "2021-02-01"] * 30}
    table = pd.DataFrame({**cells, "unused": range(60)})
    pipeline = table_pipeline(table, 6, split="axis", random_state=0).fit(table)
    texts = {dialect: to_sql(pipeline, dialect=dialect) for dialect in TESTED}
    assert len(set(texts.values())) == len(texts)
    assert "`is vip` = TRUE" in texts["mysql"]
    assert pipeline[-1].to_sql(dialect="tsql") == to_sql(pipeline[-1], dialect="tsql")
