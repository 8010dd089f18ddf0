"""Names, literals and functions of SQL dialects, and that expressions differ where they must."""

import numpy as np
import pandas as pd
import pytest

from tao_cluster import table_pipeline
from tao_cluster.columns import dialects
from tao_cluster.columns.dates import Date
from tao_cluster.columns.readers import Written
from tao_cluster.export import to_sql

NAME, TEXT = 'a"b`c]d\\e', "it's a \\ and `\n é"
NAMES = {
    "ansi": '"a""b`c]d\\e"',
    "postgresql": '"a""b`c]d\\e"',
    "mysql": '`a"b``c]d\\e`',
    "bigquery": '`a"b\\`c]d\\\\e`',
    "tsql": '[a"b`c]]d\\e]',
}
TEXTS = {
    "ansi": "'it''s a \\ and `\n é'",
    "postgresql": "'it''s a \\ and `\n é'",
    "mysql": "'it''s a \\\\ and `\n é'",
    "bigquery": "'it\\'s a \\\\ and \\`\\n é'",
    "tsql": "N'it''s a \\ and `\n é'",
}


@pytest.mark.parametrize("dialect", dialects.DIALECTS)
def test_names_and_strings_are_quoted_by_the_rules_of_the_dialect(dialect):
    assert dialects.identifier(NAME, dialect) == NAMES[dialect]
    assert dialects.string(TEXT, dialect) == TEXTS[dialect]
    assert dialects.strings(["a", "b"], dialect) == "'a', 'b'"


@pytest.mark.parametrize("dialect", dialects.DIALECTS)
def test_cells_are_literals_of_their_type(dialect):
    truth = {"tsql": ("1", "0")}.get(dialect, ("TRUE", "FALSE"))
    assert tuple(dialects.value(cell, dialect) for cell in (True, np.bool_(False))) == truth
    cells = [3, np.int64(-3), 3.0, 2**60 + 1, 0.25, np.float64(-0.25), "3"]
    expected = ["3", "-3", "3", str(2**60 + 1), "0.25e0", "-0.25e0", "'3'"]
    assert [dialects.value(cell, dialect) for cell in cells] == expected
    date = pd.Timestamp("2020-01-31 12:30")
    assert dialects.value(date, dialect) == "'2020-01-31 12:30:00'"


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (
            Written(("it's",), suffix="kg"),
            {
                "ansi": ["'it''s'", "AS DOUBLE PRECISION"],
                "bigquery": ["'it\\'s'", "AS FLOAT64"],
                "mysql": ["AS DOUBLE)"],
                "tsql": ["AS FLOAT)"],
            },
        ),
        (
            Date(form="%d.%m.%Y", part="weekday"),
            {
                "ansi": ["strftime", "SUBSTR(", " || "],
                "postgresql": ["EXTRACT(EPOCH FROM CAST(", " || "],
                "bigquery": ["UNIX_SECONDS(CAST(", "DIV(", "MOD(", "CONCAT("],
                "mysql": ["TIMESTAMPDIFF(", "CONCAT("],
                "tsql": ["DATEDIFF_BIG(", "SUBSTRING(", "CONCAT("],
            },
        ),
    ],
)
def test_readers_use_the_functions_of_the_dialect(reader, words):
    for dialect, parts in words.items():
        text = reader.sql("c", dialect)
        assert all(part in text for part in parts), text
    assert len({reader.sql("c", dialect) for dialect in words}) == len(words)


def test_to_sql_has_a_dialect():
    cells = {"is vip": [True, False, None] * 20, "day": ["2020-01-05", "2021-02-01"] * 30}
    table = pd.DataFrame(cells)
    pipeline = table_pipeline(table, 6, split="axis", random_state=0).fit(table)
    texts = {dialect: to_sql(pipeline, dialect=dialect) for dialect in dialects.DIALECTS}
    assert to_sql(pipeline) == texts["ansi"]
    assert len(set(texts.values())) == len(texts)
    assert "`is vip` = TRUE" in texts["mysql"]
    assert "[is vip] = 1" in texts["tsql"]
    model = pipeline[-1]
    assert model.tree_.to_sql(dialect="tsql") == to_sql(model.tree_, dialect="tsql")
    assert model.to_sql(dialect="tsql") == to_sql(model, dialect="tsql") != to_sql(model)
    with pytest.raises(ValueError, match="The 'dialect' parameter of to_sql must be"):
        model.to_sql(dialect="oracle")
