"""The SQL expression gives the labels of `predict`."""

import itertools
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest
from export_cases import AWKWARD, every_case, stump

from tao_cluster import Constraints, DirectForm, TAOClustering, Tree, table_pipeline
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


@pytest.mark.parametrize("names", [["a", "cluster"], ["Cluster", "cluster_2"], ["x", "y"]])
def test_the_new_column_has_a_name_of_its_own(names):
    connection = sqlite3.connect(":memory:")
    pd.DataFrame([[1.0, 2.0], [9.0, 3.0]], columns=names).to_sql("points", connection, index=False)
    found = pd.read_sql(to_sql(stump(2.5, [1.0], 2), names, table="points"), connection)
    assert len({name.lower() for name in found.columns}) == 3
    assert found.iloc[:, 2].tolist() == [0, 1]


@pytest.mark.spaced(quick=4, slow=4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["plain", "standardised", "pipeline", "grid"])
def test_thresholds_are_short_and_rows_at_them_have_their_cluster(kind, seed):
    """Values with a decimal have thresholds of two decimals: rows of all these values are tried."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(40, 9, 150), "b": rng.normal(0, 1, 150)}).round(1)
    quick = DirectForm(n_init=1, search="none", copies=0)
    options = {"split": "axis", "max_leaves": 8, "algorithm": quick, "random_state": 0}
    if kind == "grid":
        options["constraints"] = Constraints(steps={"a": 0.3, "b": 0.1})
    make = table_pipeline if kind == "pipeline" else lambda X, k, **rest: TAOClustering(k, **rest)
    model = make(table, 4, **options)
    model = model.set_params(standardize=True) if kind == "standardised" else model
    model.fit(table)
    tried = pd.DataFrame(itertools.product(range(150, 700, 5), range(-30, 31)), columns=["a", "b"])
    tried = tried.div(10).round(2).assign(b=lambda t: (t["b"] / 2).round(2))
    connection = sqlite3.connect(":memory:")
    tried.to_sql("points", connection, index=False)
    text = to_sql(model)
    found = [label for (label,) in connection.execute(f"SELECT {text} FROM points")]  # noqa: S608
    assert found == model.predict(tried).tolist()
    numbers = re.findall(r"[<>]=? (\S+)", text)
    assert numbers
    assert all(re.fullmatch(r"-?\d+(\.\d\d?)?", number) for number in numbers)


def test_two_columns_with_one_name():
    tree = stump(2.5, [1.0], 3)
    with pytest.raises(ValueError, match="2 columns have the name 'a'"):
        to_sql(tree, ["a", "b", "a"])
    assert '"b"' in to_sql(tree, ["b", "a", "a"])  # not tested: does not matter


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
