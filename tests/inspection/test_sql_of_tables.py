"""SQL gives the clusters of `predict` for pipelines of random raw tables, and for new rows."""

import sqlite3

import numpy as np
import pytest
from raw_tables import MODELS, WAYS, random_table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from greedy import IMM
from tao_cluster.columns import raw_view
from tao_cluster.export import to_sql

# scikit-learn warns of unknown levels if an encoder drops a level.
pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories")


def sql_labels(model, rows):
    connection = sqlite3.connect(":memory:")
    rows.to_sql("some points", connection, index=False)
    query = f"{to_sql(model, table='some points')} ORDER BY rowid"
    found = [row[-1] for row in connection.execute(query)]
    connection.close()
    return found


def check(pipeline, rows):
    """SQL and the tree in raw columns agree with `predict` on every row."""
    expected, view = pipeline.predict(rows), raw_view(pipeline)
    np.testing.assert_array_equal(view.tree_.predict(view.numbers(rows)), expected)
    assert sql_labels(pipeline, rows) == expected.tolist()


@pytest.mark.spaced(quick=2)
@pytest.mark.parametrize("way", WAYS)
def test_each_encoder_on_one_table(way):
    table = random_table(5)
    pipeline = make_pipeline(WAYS[way](), MODELS["greedy"]).fit(table)
    check(pipeline, table)
    check(pipeline, random_table(6, levels="axyz"))


@pytest.mark.spaced(quick=0, slow=6)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(2))
def test_pipelines_of_scikit_learn(way, model, seed):
    table = random_table(seed)
    pipeline = make_pipeline(WAYS[way](), MODELS[model]).fit(table)
    check(pipeline, table)
    check(pipeline, random_table(seed + 10, levels="axyz"))


def test_none_and_nan_in_one_column_raise():
    table = random_table(0)[["Plan A", "region`s"]].fillna("a")
    table.iloc[:60, 0], table.iloc[60:120, 0] = None, np.nan
    pipeline = make_pipeline(OneHotEncoder(), IMM(7, random_state=0)).fit(table)
    with pytest.raises(ValueError, match="'Plan A' has both None and NaN"):
        to_sql(pipeline)
