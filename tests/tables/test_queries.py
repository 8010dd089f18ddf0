"""Expressions of `to_query` select the rows that `predict` puts into each cluster."""

import numpy as np
import pandas as pd
import pytest
from numeric_tables import MODELS, random_table, seeds

from tao_cluster import TAOClustering, Tree, table_pipeline
from tao_cluster.export import to_query


def check_queries(model, table):
    """Every cluster has the rows that its expression selects, and no others."""
    labels, queries = model.predict(table), to_query(model)
    assert {*queries} >= {*labels}
    for k, query in queries.items():
        found = table.reset_index(drop=True).query(query).index
        np.testing.assert_array_equal(found, np.flatnonzero(labels == k))


@pytest.mark.spaced(quick=2, slow=8)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", seeds(2, 40))
def test_numbers(seed, kind):
    table = random_table(seed, n_columns=1 + seed % 5)
    table.columns = [f"{name} of a row (%)" if seed % 2 else name for name in table]
    check_queries(MODELS[kind](seed).fit(table), table)


def mixed_table(seed, n_rows=240):
    """A table with dates, categories, truth values, gaps and names that are no identifiers."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n_rows)
    days = 200 * group + rng.integers(0, 300, n_rows)
    seconds = rng.integers(0, 86_400, n_rows) * (seed % 2)
    levels = np.array(["it's", 'say "x"', "a, b", "-", "north"])
    numbers = np.round(20 + 9 * group + rng.normal(size=n_rows), 2)
    table = pd.DataFrame(
        {
            "first visit": pd.Timestamp("2019-12-30")
            + pd.to_timedelta(days, unit="D")
            + pd.to_timedelta(seconds, unit="s"),
            "amount in €": np.where(rng.random(n_rows) < 0.1, np.nan, numbers),
            "region": levels[
                (group + (rng.random(n_rows) < 0.3) * rng.integers(5, size=n_rows)) % 5
            ],
            "is member?": (group > 0) ^ (rng.random(n_rows) < 0.2),
            "class": rng.integers(0, 6, n_rows) + group,
        }
    )
    table.loc[rng.random(n_rows) < 0.1, "first visit"] = pd.NaT
    table["region"] = table["region"].mask(rng.random(n_rows) < 0.1, None)
    return table


@pytest.mark.spaced(quick=1, slow=3)
@pytest.mark.filterwarnings("ignore:The clusters are nearly the levels")
@pytest.mark.parametrize("seed", seeds(3, 60))
@pytest.mark.parametrize("split", ["axis", "oblique"])
def test_pipelines_of_mixed_tables(seed, split):
    table = mixed_table(seed)
    columns = [*table] if split == "axis" else [*table][1:]  # dates are not supported in sums
    columns = [name for name in columns if seed % 3 or name != "class"]
    pipeline = table_pipeline(table[columns], 3, split=split, random_state=0).fit(table[columns])
    check_queries(pipeline, table)
    fresh = mixed_table(seed + 1000)
    check_queries(pipeline, fresh[fresh["region"].isin(table["region"])])


def test_labels_single_leaves_and_names():
    X = pd.DataFrame({"class": [1.0, 2.0, 8.0, 9.0], "index": [1, 2, 3, 4]})
    model = TAOClustering(2, objective="labels", random_state=0).fit(X, ["a", "a", "b", "b"])
    assert {k: X.query(query)["class"].tolist() for k, query in to_query(model).items()} == {
        "a": [1.0, 2.0],
        "b": [8.0, 9.0],
    }
    assert len(X.query(Tree.single_leaf(3, 2).to_query()[3])) == 4
    with pytest.raises(ValueError, match="backtick"):
        to_query(model, ["a`b", "c`d"])


def test_strings_that_are_read_as_numbers_are_not_supported():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"weight": [f"{w:.1f} kg" for w in rng.normal(60, 9, 90)]})
    pipeline = table_pipeline(table, 2, random_state=0).fit(table)
    with pytest.raises(ValueError, match="Use to_sql"):
        to_query(pipeline)
