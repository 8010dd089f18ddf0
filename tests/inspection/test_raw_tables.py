"""Raw tables behind pipelines: features, explanations and changes are in the cells of the table."""

import numpy as np
import pandas as pd
import pytest
from raw_tables import MODELS, NUMBERS, OPTIONS, WAYS, random_table
from reading import check_rules
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from greedy import IMM
from tao_cluster import table_pipeline
from tao_cluster.columns import Indicator, raw_view
from tao_cluster.columns.readers import Reader
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_rules, to_text

# scikit-learn warns of unknown levels if an encoder drops a level.
pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories")
INDICATORS = OPTIONS["indicators"]


def by_hand(name, table):
    """Values of a feature, from what its name says about the cells of the table."""
    column = table[getattr(name, "raw", name)]
    reader = getattr(name, "reader", None)
    if isinstance(name, Indicator):
        cells = reader.read(column) if reader else Reader().with_gaps(column)
        found = cells.isin(name.levels) != name.is_rest
        return np.where(cells.isna(), name.has_missing, found).astype(float)
    numbers = column if reader is None else reader.read(column)
    return numbers.fillna(getattr(name, "fill", None) or 0.0).to_numpy(dtype=float)


@pytest.mark.spaced(quick=3)
@pytest.mark.parametrize("way", WAYS)
def test_names_describe_the_features(way):
    table = random_table(1)
    view = raw_view(make_pipeline(WAYS[way](), MODELS["greedy"]).fit(table))
    for rows in (table, random_table(2, levels="axyz")):
        expected = np.column_stack([by_hand(name, rows) for name in view.feature_names_in_])
        numbers = view.numbers(rows)
        numbers = numbers.toarray() if hasattr(numbers, "toarray") else numbers
        np.testing.assert_allclose(numbers, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_names_describe_the_features_of_table_pipelines(options):
    table = random_table(1)
    pipeline = table_pipeline(table, 3, max_leaves=3, random_state=0, **OPTIONS[options])
    view = raw_view(pipeline.fit(table))
    assert 'income ("€")' in view.feature_names_in_
    assert ("born month" in view.feature_names_in_) == (options == "table")
    assert ("weight is missing" in view.feature_names_in_) == (options == "indicators")
    for rows in (table, random_table(2, levels="axyz")):
        expected = [by_hand(name, rows) for name in view.feature_names_in_]
        np.testing.assert_array_equal(view.numbers(rows), np.column_stack(expected))


def test_rare_levels_are_called_other():
    table = pd.DataFrame({"region": ["north"] * 30 + ["other"] * 20 + ["b", "c"]})
    encoder = OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")
    view = raw_view(make_pipeline(encoder, IMM(2, random_state=0)).fit(table))
    assert list(view.feature_names_in_) == [
        *("region is north", "region is other", "region is other (rare levels)"),
    ]
    table = table.replace("other", "south")
    view = raw_view(make_pipeline(encoder, IMM(2, random_state=0)).fit(table))
    assert view.feature_names_in_[-1] == "region is other"
    table["name"] = [f"p{j}" for j in range(len(table))]
    encoder.set_params(drop="first")  # all names are rare, so that the dropped level is "other"
    view = raw_view(make_pipeline(encoder, IMM(2, random_state=0)).fit(table))
    assert list(view.feature_names_in_) == ["region is south", "region is other"]


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_explanations_and_changes_of_raw_rows(split):
    table = random_table(0)
    table.insert(0, "unused", "x")
    options = {"split": split, "max_leaves": 7, "random_state": 0, **INDICATORS}
    pipeline = table_pipeline(table, 4, **options).fit(table)
    view, changed_columns = raw_view(pipeline), set()
    for i in range(3):
        row = table.iloc[[i]]
        why = explain(pipeline, row)
        assert why.cluster == pipeline.predict(row)[0]
        assert str(explain(pipeline, table.iloc[i])) == str(why)
        assert str(explain(pipeline, dict(table.iloc[i]))) == str(why)
        for cluster in range(4):
            change = nearest_change(pipeline, row, cluster)
            assert pipeline.predict(change.row)[0] == cluster
            numbers = view.numbers(change.row)[0]
            assert [c.after for c in change.changes] == [numbers[c.feature] for c in change.changes]
            names = [view.feature_names_in_[c.feature] for c in change.changes]
            raw = {getattr(name, "raw", name) for name in names}
            other = [column for column in table if column not in raw]
            pd.testing.assert_frame_equal(
                change.row[other], row[other], check_dtype=False, check_column_type=False
            )
            for column in raw:
                assert type(change.row[column].iloc[0]) is type(row[column].iloc[0]) or (
                    row[column].isna().all()
                )
            changed_columns |= raw
    assert {"weight", "born", "opened"} & changed_columns


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (make_pipeline(SimpleImputer(), MissingIndicator(features="all")), "add_indicator=True"),
        (MissingIndicator(missing_values=-1, features="all"), "marks the values -1"),
        (
            make_column_transformer((SimpleImputer(), NUMBERS)).set_params(
                transformer_weights={"simpleimputer": 0}
            ),
            'use "drop" in its place',
        ),
    ],
)
def test_steps_without_a_meaning_in_raw_columns_raise(steps, message):
    table = random_table(0)[NUMBERS].fillna(0.0)
    pipeline = make_pipeline(steps, IMM(1, random_state=0)).fit(table)
    with pytest.raises(ValueError, match=message):
        to_text(pipeline)


def test_changes_of_a_row_whose_missing_level_is_filled_and_marked():
    table = random_table(0)[["Plan A"]].replace("-", "a, b")
    encoder = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="?", missing_values=None, add_indicator=True),
        OneHotEncoder(),
    )
    pipeline = make_pipeline(encoder, IMM(4, random_state=0)).fit(table)
    row = table[table["Plan A"].isna()].iloc[[0]]
    for cluster in range(4):
        change = nearest_change(pipeline, row, cluster)
        assert pipeline.predict(change.row)[0] == cluster


@pytest.mark.slow
@pytest.mark.parametrize("split", ["axis", pytest.param("oblique", marks=pytest.mark.slow)])
def test_rules_are_true_of_the_rows_of_the_raw_table(split):
    names = {NUMBERS[1]: "hours", "region`s": "region", "vip": "vip", "code": "code"}
    table = random_table(0)[list(names)].rename(columns=names)
    options = {"split": split, "max_leaves": 8, "categorical": ["code"], "random_state": 0}
    pipeline = table_pipeline(table, 5, **options).fit(table)
    rules = to_rules(pipeline, precision=17)
    assert any("vip" in rule and "hours" in rule for rule in rules)
    check_rules(rules, table, pipeline.predict(table))
