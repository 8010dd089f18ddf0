"""A reader of rules who knows the raw table: checks every number against the rows."""

import re

import numpy as np
import pandas as pd


def holds(condition, row):
    """Whether a condition of a rule, as it is printed, holds of a raw row."""
    match = re.fullmatch(r"([^\[\]<>]*?) (not )?in \{(.*)\}", condition)
    if match:
        column, contrary, values = match.groups()
        return any(_is(row[column], value) for value in values.split(", ")) != bool(contrary)
    match = re.fullmatch(r"([^\[\]<>]*) is (not )?([^\[\]<>]*)", condition)
    if match:
        column, contrary, value = match.groups()
        return _is(row[column], value) != bool(contrary)
    code = re.sub(
        r"\[(.*?) is (.*?)\]", lambda part: str(int(_is(row[part[1]], part[2]))), condition
    )
    for name in sorted(row.index, key=len, reverse=True):  # a name may be a part of another
        code = code.replace(name, f"values[{list(row.index).index(name)}]")
    return bool(eval(code, {"values": row.tolist()}))  # noqa: S307


def _is(found, value):
    return value == "missing" if pd.isna(found) else str(found) == value


def check_rules(rules, table, labels):
    """Every row meets one rule, that of its cluster; counts and shares are those of the rows."""
    parts = [re.fullmatch(r"if (.*) then cluster (\d+) \((\d+) rows?, (.*) %\)", r) for r in rules]
    counts = np.zeros(len(rules), dtype=int)
    for (_, row), label in zip(table.iterrows(), labels, strict=True):
        met = [
            r for r, part in enumerate(parts) if all(holds(c, row) for c in part[1].split(" and "))
        ]
        assert [int(parts[r][2]) for r in met] == [label]
        counts[met] += 1
    assert [int(part[3]) for part in parts] == counts.tolist()
    shares = [float(part[4]) for part in parts]
    np.testing.assert_allclose(shares, 100 * counts / len(table), atol=0.05001)
