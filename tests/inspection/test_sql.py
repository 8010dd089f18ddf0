"""The SQL expression gives the labels of `predict`."""

import itertools
import sqlite3

import numpy as np
import pandas as pd
import pytest
from export_cases import AWKWARD, every_case, stump

from tao_cluster import Tree
from tao_cluster.columns import Indicator
from tao_cluster.columns.readers import Level
from tao_cluster.export import to_sql


def sqlite_labels(model, X, names, table=None):
    connection = sqlite3.connect(":memory:")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    connection.execute(f"CREATE TABLE points ({columns})")
    places = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO points VALUES ({places})", X)  # noqa: S608
    found = to_sql(model, names, table=table)
    query = f"SELECT {found} FROM points" if table is None else found  # noqa: S608
    rows = connection.execute(f"{query} ORDER BY rowid").fetchall()
    connection.close()
    return [row[-1] for row in rows]


@every_case
def test_labels_are_those_of_predict(case):
    model, X, labels = case()
    names = AWKWARD[: X.shape[1]]
    for table in (None, "points"):
        assert sqlite_labels(model, X.tolist(), names, table) == labels.tolist()


def test_null_only_where_a_test_on_the_path_meets_it():
    tree = Tree.from_splits(
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [([0], [1.0]), None, ([0, 1], [1.0, 1.0]), None, None],
        [0.0, 0, 5.0, 0, 0],
        [-1, 0, -1, 1, 2],
        n_features=2,
    )
    rows = [(-1.0, None), (1.0, None), (None, 1.0), (1.0, 1.0), (9.0, 1.0)]
    assert sqlite_labels(tree, rows, ["a", "b"]) == [0, None, None, 1, 2]


def test_a_select_reports_a_missing_column():
    with pytest.raises(sqlite3.OperationalError, match=r"no such column: points\.a"):
        sqlite3.connect(":memory:").executescript(
            f"CREATE TABLE points (b); {to_sql(stump(2.5, [1.0], 1), ['a'], table='points')}"
        )


def test_two_columns_with_one_name():
    tree = stump(2.5, [1.0], 3)
    with pytest.raises(ValueError, match="2 columns have the name 'a'"):
        to_sql(tree, ["a", "b", "a"])
    assert '"b"' in to_sql(tree, ["b", "a", "a"])  # not tested: does not matter


def test_a_table_has_a_name():
    with pytest.raises(ValueError, match="The 'table' parameter of to_sql must be"):
        to_sql(stump(), table=3)


LEVELS = {
    "missing is a level": ["a", "b", None, ("other", False, ("a", "b"), True)],
    "missing is rare": ["a", "b", ("other", True, ("a", "b"), True)],
    "missing fills in a": [("a", True, ("a",), False), "b", ("other", False, ("a", "b"), True)],
    "rare levels are listed": ["a", ("other", True, ("b", "rare"), False)],
    "missing is no level": ["a", "b"],
    "missing fills in a and is marked": [("a", True, ("a",), False), "b", None],
}
CELLS = ["a", "b", "rare", "new", "it's", "?", None]


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("words", [(), ("?", "it's")])
def test_all_tests_of_the_levels_of_a_column(levels, words):
    reader = Level(words)
    names = [
        Indicator(
            "plan", *(level if isinstance(level, tuple) else (level, False, None, False)), reader
        )
        for level in LEVELS[levels]
    ]
    cells = reader.read(pd.Series(CELLS, dtype=object))
    columns = [
        np.where(cells.isna(), name.has_missing, cells.isin(name.levels) != name.is_rest)
        for name in names
    ]
    X = np.column_stack(columns).astype(float)
    connection = sqlite3.connect(":memory:")
    pd.DataFrame({"plan": CELLS}, dtype=object).to_sql("points", connection)
    for weights in itertools.product((-1.0, 0.0, 1.0), repeat=len(names)):
        used = np.flatnonzero(weights)
        for threshold in (-0.5, 0.5) if len(used) else ():
            split = used, np.array(weights)[used]
            tree = Tree.from_splits(
                [1, -1, -1],
                [2, -1, -1],
                [split, None, None],
                [threshold, 0, 0],
                [-1, 0, 1],
                len(names),
            )
            query = f"SELECT {to_sql(tree, names)} FROM points ORDER BY rowid"  # noqa: S608
            found = [label for (label,) in connection.execute(query)]
            assert found == tree.predict(X).tolist(), query
    connection.close()
