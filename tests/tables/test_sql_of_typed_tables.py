"""SQL gives the clusters of `predict` in every row of every database, for all kinds of columns."""

import numpy as np
import pandas as pd
import pytest
from databases import ZONES, duckdb, each_database, sqlite  # noqa: F401
from typed_tables import (
    COMPACT,
    KINDS,
    codes,
    compact_dates,
    decimals,
    floats,
    integers,
    numbers_of_levels,
    random_columns,
    random_tree,
    rows_of,
    small_floats,
    truth,
    types_of,
)

from tao_cluster import DirectForm, TAOClustering, Tree
from tao_cluster.export.sql_dialects import float_literal, sql_text

STRINGS = (floats, small_floats, integers, decimals, codes, numbers_of_levels, truth)
SLOW = (pytest.mark.slow, pytest.mark.sweep)


def is_possible(feature, dialect):
    """Whether a dialect has what the feature needs: SQLite knows no time zones by name."""
    name, _ = feature
    reader = getattr(name, "reader", None)
    zone = getattr(reader, "zone", "")
    return not (dialect == "sqlite" and "/" in zone and reader.part is not None)


def check(database, columns, seed, n_trees):
    """Compare SQL and `predict` for random trees, in sessions of several time zones."""
    database.fill(types_of(columns, database.dialect), rows_of(columns, database.dialect))
    rng = np.random.default_rng(seed)
    features = [feature for column in columns.values() for feature in column.features]
    features = [feature for feature in features if is_possible(feature, database.dialect)]
    for i in range(n_trees):
        tree, names, X = random_tree(rng, features, depth=3, is_oblique=i % 2 == 1)
        database.set_zone(ZONES[i % len(ZONES)])
        assert database.labels(tree, names) == tree.predict(X).tolist()


@pytest.mark.spaced(quick=3, slow=8)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SLOW), pytest.param(2, marks=SLOW)])
def test_columns_of_one_kind(database, kind, seed):
    check(database, random_columns(seed, kinds=(kind, kind)), seed, n_trees=4)


@pytest.mark.spaced(quick=6)
@pytest.mark.parametrize("form", COMPACT)
def test_dates_without_separators_or_without_a_day(database, form):
    columns = {"since": compact_dates(np.random.default_rng(0), 80, "since", form)}
    check(database, columns, 0, n_trees=4)


@pytest.mark.spaced(quick=3)
@pytest.mark.parametrize("kind", STRINGS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("gap", [None, "", "NA"])
@pytest.mark.parametrize("start", [sqlite, duckdb], ids=["sqlite", "duckdb"])
def test_columns_that_the_import_of_a_csv_file_leaves_as_strings(kind, gap, start):
    columns = random_columns(3, kinds=(kind, kind))
    for column in columns.values():
        column.kind = "TEXT"
        is_truth = any(isinstance(cell, bool) for cell in column.cells)
        is_null = is_truth and (start is duckdb or gap == "")  # which are no truth values
        word = None if is_null else gap
        column.cells = [word if cell is None else str(cell) for cell in column.cells]
    with start() as database:
        check(database, columns, 3, n_trees=8)


@pytest.mark.parametrize("split", ["axis", "oblique"])
@pytest.mark.parametrize("start", [sqlite, duckdb], ids=["sqlite", "duckdb"])
def test_a_fitted_model_of_a_table_of_strings(start, split):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(240, 2)) * [90, 2000] + 1000 * rng.integers(3, size=(240, 1))
    X = pd.DataFrame(values, columns=["a", "b"]).round({"a": 1, "b": 0})
    quick = DirectForm(n_init=1, search="none", copies=0)
    model = TAOClustering(3, split=split, algorithm=quick, random_state=0).fit(X)
    with start() as database:
        database.fill({"a": "TEXT", "b": "TEXT"}, [*X.astype(str).itertuples(index=False)])
        assert database.labels(model) == model.labels_.tolist()


def test_every_float_is_read_back(database):
    rng = np.random.default_rng(0)
    numbers = [*rng.uniform(1, 10, 600) * 10.0 ** rng.integers(-30, 30, 600), 0.0, 0.1, 2.0**60]
    numbers += [*rng.uniform(0, 10, 600), *rng.integers(0, 10**7, 600) / 1e4, 1e-200, 1.7e300]
    # Literals of 17 digits that SQLite 3.40 reads one bit off.
    numbers += [7.993291774060443, 0.002105918464458939, 3934785317.807163, 46.68115508111973]
    numbers = [float(number) for number in (*numbers, *(-each for each in numbers[::9]))]
    kind = "DOUBLE PRECISION" if database.dialect == "postgres" else "DOUBLE"
    database.fill({"x": kind}, [(number,) for number in numbers])
    order, table = database.quoted("row number"), database.quoted("some points")
    for start in range(0, len(numbers), 300):
        texts = [
            sql_text(float_literal(number, database.dialect), database.dialect)
            for number in numbers[start : start + 300]
        ]
        tests = " ".join(f"WHEN {start + i} THEN x = {text}" for i, text in enumerate(texts))
        query = f"SELECT CASE {order} {tests} END FROM {table}"  # noqa: S608
        found = database.run(f"{query} WHERE {order} BETWEEN {start} AND {start + len(texts) - 1}")
        assert [bool(is_equal) for (is_equal,) in found] == [True] * len(texts)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 2.5, 1e-3])
def test_a_short_threshold_of_a_float32_column(database, threshold):
    kind = {"postgres": "REAL", "sqlite": "REAL"}.get(database.dialect, "FLOAT")
    x = np.float32([threshold, -threshold, 5 * threshold]).astype(float)
    database.fill({"x": kind}, [(number,) for number in x.tolist()])
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [threshold, 0, 0], [-1, 0, 1], 1
    )
    assert database.labels(tree, ["x"]) == tree.predict(x[:, None]).tolist()
