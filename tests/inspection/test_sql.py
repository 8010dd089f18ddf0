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
    expression = to_sql(model, names, table=table)
    rows = connection.execute(f"SELECT {expression} FROM points ORDER BY rowid").fetchall()  # noqa: S608
    connection.close()
    return [label for (label,) in rows]


@every_case
def test_labels_are_those_of_predict(case):
    model, X, labels = case()
    names = AWKWARD[: X.shape[1]]
    for table in (None, "points"):
        assert sqlite_labels(model, X.tolist(), names, table) == labels.tolist()


def test_every_float_is_read_back():
    rng = np.random.default_rng(0)
    numbers = [*rng.uniform(1, 10, 3000) * 10.0 ** rng.integers(-30, 30, 3000), 0.0, 0.1, 2.0**60]
    numbers += [*rng.uniform(0, 10, 3000), *rng.integers(0, 10**7, 3000) / 1e4, 1e-200, 1.7e308]
    # Literals of 17 digits that SQLite 3.40 reads one bit off.
    numbers += [7.993291774060443, 0.002105918464458939, 3934785317.807163, 46.68115508111973]
    for start in range(0, len(numbers), 50):
        thresholds = np.unique(numbers[start : start + 50])
        n = len(thresholds)
        # Node 2 j tests x <= thresholds[j] and has the leaf 2 j + 1 on its left.
        left, right, label, threshold = np.full((4, 2 * n + 1), -1.0)
        left[:-1:2], right[:-1:2] = range(1, 2 * n, 2), range(2, 2 * n + 1, 2)
        label[1::2], label[-1] = range(n), n
        threshold[:-1:2], threshold[1::2], threshold[-1] = thresholds, 0, 0
        nodes = (each.astype(int) for each in (left, right))
        tests = [([0], [1.0]), None] * n + [None]
        steps = Tree.from_splits(*nodes, tests, threshold, label.astype(int), n_features=1)
        x = np.concatenate([thresholds, np.nextafter(thresholds, np.inf)])
        found = sqlite_labels(steps, x[:, None].tolist(), ["x"], None)
        np.testing.assert_array_equal(found, np.searchsorted(thresholds, x))


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


def test_whole_numbers_and_texts_are_taken_for_numbers():
    tree = stump(2.5, [1.0], 1)
    assert sqlite_labels(tree, [("2",), (2,), ("3",), (3,)], ["a"]) == [0, 0, 1, 1]


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
