"""Tables of numbers and categories behind a pipeline: what every export says of them."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from export_cases import every_format
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from greedy import IMM, ExKMC
from tao_cluster import TAOClustering
from tao_cluster.columns import Indicator, raw_view
from tao_cluster.export import (
    from_dict,
    to_dict,
    to_onnx,
    to_sql,
    to_text,
)
from tao_cluster.inspection.rows import Rows
from tao_cluster.page import to_html
from tao_cluster.plot import plot_tree


def axis_model(midpoints=False):
    return ExKMC(4, max_leaves=9, midpoints=midpoints, random_state=0)


def oblique_model():
    return TAOClustering(4, lambda_=0.3, depth=3, random_state=0)


def routed(pipeline, X):
    """Leaves, by the steps of the pipeline themselves."""
    return pipeline[-1].apply(pipeline[:-1].transform(X))


def mixed_table(n=240):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"id": [f"u{i}" for i in range(n)]})
    table["plan"] = rng.choice(["gold", "free", "it's"], n).astype(object)
    table["income (€)"] = rng.normal(4e4, 1e4, n).round(2)
    table["smoker"] = rng.random(n) < 0.3
    table["rooms"] = rng.integers(1, 4, n)
    table["hours"] = rng.gamma(2.0, 10.0, n) + 50 * (table["plan"] == "gold")
    table.loc[rng.random(n) < 0.1, "plan"] = None
    return table


NUMBERS, CATEGORIES = ["income (€)", "hours"], ["plan", "smoker", "rooms"]
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
WAYS = {
    "names": [(ONE_HOT, CATEGORIES), (MinMaxScaler((0, 3)), NUMBERS)],
    "positions": [(ONE_HOT, [1, 3, 4]), (MinMaxScaler(), [2, 5])],
    "mask": [(ONE_HOT, np.arange(6) % 5 == 1), (RobustScaler(), slice(2, 3))],
    "slice": [(ONE_HOT, slice("smoker", "rooms")), (StandardScaler(), ["hours"])],
    "callable": [(ONE_HOT, lambda X: list(X.columns[3:5])), (MaxAbsScaler(), ["hours"])],
    "selector": [
        (ONE_HOT, ["plan"]),
        (StandardScaler(), make_column_selector("hours|income")),
    ],
    "dense": [
        (OneHotEncoder(sparse_output=False), CATEGORIES),
        (make_pipeline(MinMaxScaler(), StandardScaler()), NUMBERS),
    ],
    "dropped": [(OneHotEncoder(drop="if_binary"), CATEGORIES), (MinMaxScaler(), ["hours"])],
    "first dropped": [(OneHotEncoder(drop="first"), CATEGORIES), (StandardScaler(), NUMBERS)],
    "scaled": [
        (make_pipeline(ONE_HOT, MaxAbsScaler(), StandardScaler(with_mean=False)), CATEGORIES),
        (StandardScaler(), NUMBERS),
    ],
    "centred": [
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()), CATEGORIES),
        (StandardScaler(), NUMBERS),
    ],
    "nothing chosen": [(ONE_HOT, ["plan"]), (StandardScaler(), []), ("drop", ["rooms"])],
}


def mixed_pipeline(way, model, **options):
    return make_pipeline(make_column_transformer(*WAYS[way], **options), model)


def values_by_hand(table, names):
    """What the features of a view should hold."""
    columns = []
    for name in names:
        if not isinstance(name, Indicator):
            columns.append(table[name].to_numpy(dtype=float))
        elif name.value is None:
            columns.append(table[name.column].isna().to_numpy(dtype=float))
        else:
            columns.append((table[name.column] == name.value).to_numpy(dtype=float))
    return np.column_stack(columns)


@pytest.mark.spaced(quick=0, slow=5)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threshold", [0.0, 1.0], ids=["dense", "sparse"])
def test_mixed_tables(way, threshold):
    table = mixed_table()
    for model in (axis_model(), oblique_model()):
        pipeline = mixed_pipeline(way, model, sparse_threshold=threshold).fit(table)
        view = raw_view(pipeline)
        numbers = view.numbers(table)
        assert sp.issparse(numbers) == sp.issparse(pipeline[:-1].transform(table))
        by_hand = values_by_hand(table, view.feature_names_in_)
        np.testing.assert_array_equal(
            numbers.toarray() if sp.issparse(numbers) else numbers, by_hand
        )
        np.testing.assert_array_equal(view.tree_.apply(numbers), routed(pipeline, table))


def test_names_of_a_mixed_table():
    view = raw_view(mixed_pipeline("names", axis_model()).fit(mixed_table()))
    assert list(view.feature_names_in_) == [
        *("plan is free", "plan is gold", "plan is it's", "plan is missing", "income (€)"),
        *("smoker is False", "smoker is True", "rooms is 1", "rooms is 2", "rooms is 3", "hours"),
    ]
    dropped = raw_view(mixed_pipeline("dropped", axis_model()).fit(mixed_table()))
    assert "smoker is True" in dropped.feature_names_in_
    assert "smoker is False" not in dropped.feature_names_in_


def test_the_rest_of_the_columns():
    table = mixed_table().drop(columns="id")
    for remainder in ("passthrough", StandardScaler()):
        encode = make_column_transformer((ONE_HOT, ["plan"]), remainder=remainder)
        pipeline = make_pipeline(encode, axis_model()).fit(table)
        view = raw_view(pipeline)
        assert {"smoker", "rooms", *NUMBERS} <= set(view.feature_names_in_)
        np.testing.assert_array_equal(
            view.tree_.apply(view.numbers(table)), routed(pipeline, table)
        )


def test_nested_and_named_outputs():
    table = mixed_table()
    inner = make_column_transformer((StandardScaler(), ["hours"]), remainder="passthrough")
    outer = make_column_transformer(
        (inner, NUMBERS), (OneHotEncoder(sparse_output=False), ["plan"])
    ).set_output(transform="pandas")
    pipeline = make_pipeline(outer, make_pipeline(StandardScaler(), axis_model())).fit(table)
    view = raw_view(pipeline)
    assert {*NUMBERS, "plan is gold"} <= set(view.feature_names_in_)
    np.testing.assert_array_equal(view.tree_.predict(view.numbers(table)), pipeline.predict(table))


def test_columns_in_another_order_and_new_categories():
    table = mixed_table()
    pipeline = mixed_pipeline("names", axis_model()).fit(table)
    new = table[table.columns[::-1]].assign(plan="new", extra=1.0)
    view = raw_view(pipeline)
    np.testing.assert_array_equal(view.predict(new), pipeline.predict(new))
    np.testing.assert_array_equal(view.tree_.predict(view.numbers(new)), pipeline.predict(new))
    np.testing.assert_array_equal(view.numbers(new)[:, :4], 0)


def test_many_categories_stay_sparse():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": rng.integers(0, 800, 2000).astype(str), "age": rng.random(2000)})
    encode = make_column_transformer((ONE_HOT, ["town"]), (StandardScaler(), ["age"]))
    pipeline = make_pipeline(encode, IMM(4, random_state=0)).fit(table)
    numbers = raw_view(pipeline).numbers(table)
    assert sp.issparse(numbers)
    assert numbers.nnz == 2 * len(table)


@pytest.mark.slow
def test_gaps_are_filled_as_the_pipeline_does():
    table = mixed_table()
    rng = np.random.default_rng(1)
    for name in NUMBERS:
        table.loc[rng.random(len(table)) < 0.1, name] = np.nan
    table["plan"] = table["plan"].astype(object).where(table["plan"].notna(), np.nan)
    encode = make_column_transformer(
        (make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["plan"]),
    )
    for model in (axis_model(), oblique_model()):
        pipeline = make_pipeline(encode, model).fit(table)
        view = raw_view(pipeline)
        assert "hours is missing" in view.feature_names_in_
        filled = table.fillna({name: table[name].mean() for name in NUMBERS})
        filled = filled.fillna({"plan": table["plan"].mode()[0]})
        by_hand = values_by_hand(filled, view.feature_names_in_)
        for f, name in enumerate(view.feature_names_in_):
            if str(name).endswith("missing"):
                by_hand[:, f] = table[name.column].isna()
        np.testing.assert_allclose(view.numbers(table), by_hand, rtol=1e-12)
        np.testing.assert_array_equal(
            view.tree_.apply(view.numbers(table)), routed(pipeline, table)
        )
        assert sql_labels(pipeline, table) == pipeline.predict(table).tolist()


# ---------------------------------------------------------------------------- what people see


def sql_labels(model, rows, **options):
    connection = sqlite3.connect(":memory:")
    rows.to_sql("points", connection, index=False)
    found = to_sql(model, **options)
    query = found if options.get("table") else f"SELECT {found} FROM points"  # noqa: S608
    rows = connection.execute(f"{query} ORDER BY rowid").fetchall()
    connection.close()
    return [row[-1] for row in rows]


@every_format
def test_every_export_shows_the_raw_columns(write):
    text = write(mixed_pipeline("names", axis_model()).fit(mixed_table()))
    for name in ("plan", "gold", "hours"):
        assert name in text
    for foreign in ("__", "standardscaler", "onehot"):
        assert foreign not in text.lower().replace("<!doctype", "")


def test_dict_gives_the_raw_tree_back():
    table = mixed_table()
    pipeline = mixed_pipeline("names", axis_model()).fit(table)
    tree, view = from_dict(to_dict(pipeline)), raw_view(pipeline)
    np.testing.assert_array_equal(tree.predict(view.numbers(table)), pipeline.predict(table))


def test_names_for_all_raw_columns():
    table = mixed_table()
    pipeline = mixed_pipeline("names", axis_model()).fit(table)
    names = ["id", "tariff", "pay", "smokes", "flats", "time"]
    text = to_text(pipeline, feature_names=names)
    assert "tariff is" in text
    assert "plan" not in text
    renamed = table.rename(columns=dict(zip(table.columns, names, strict=True)))
    expected = pipeline.predict(table).tolist()
    assert sql_labels(pipeline, renamed, columns=names) == expected
    unnamed = mixed_pipeline("positions", axis_model()).fit(table.to_numpy())
    assert "x1 is " in to_text(unnamed)


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_leaves_show_categories_as_shares(is_sparse):
    """Pages show "plan: gold 84 % (overall 15 %)", pictures the same without the word."""
    table = mixed_table()
    weight = np.random.default_rng(0).integers(1, 4, len(table)).astype(float)
    pipeline = mixed_pipeline("names", axis_model(), sparse_threshold=float(is_sparse)).fit(table)
    view, leaves = raw_view(pipeline), routed(pipeline, table)
    names = list(view.feature_names_in_)
    values = values_by_hand(table, names)
    rows = Rows.from_data(view, table, weight=weight)
    ax = plot_tree(pipeline, table, sample_weight=weight)
    drawn = {text.get_text() for text in ax.texts}
    page = to_html(pipeline, X=table, sample_weight=weight)
    for leaf in view.tree_.leaves:
        here = leaves == leaf
        found = rows.differences(leaf, len(names), names)
        assert sorted(each.feature for each in found) == list(range(len(names)))
        for each in found:
            name, column = names[each.feature], values[:, each.feature]
            if not isinstance(name, Indicator):
                assert (each.name, each.share) == (name, None)
                continue
            share, overall = (
                np.average(column[part], weights=weight[part]) for part in (here, here | True)
            )
            assert each.name == f"{name.column}: {name.level}"
            shown = [f"{100 * part:.0f} %" for part in (share, overall)]
            if all(part in (0, 1) or 0.01 < part < 0.99 for part in (share, overall)):
                assert each.share == f"{shown[0]} (overall {shown[1]})"
        for each in (one for one in found[:3] if one.share is not None):
            assert {each.name, each.text} <= drawn
            assert each.text == each.share.replace("overall ", "")
            assert each.text in page


def test_a_number_of_zeros_and_ones_is_a_share():
    X = np.column_stack([np.arange(8.0), np.arange(8) % 2, np.arange(8) % 3])
    model = IMM(2, random_state=0).fit(X)
    rows = Rows.from_data(model, X)
    (leaf, *_) = model.tree_.leaves
    shares = {each.name: each.share for each in rows.differences(leaf, 3, ["a", "b", "c"])}
    assert shares == {"a": None, "b": "50 % (overall 50 %)", "c": None}


def test_onnx_of_scaled_numbers_and_of_categories():
    wine = load_wine(as_frame=True).data
    pytest.importorskip("onnx", reason="onnx is optional")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the models")
    pipeline = make_pipeline(RobustScaler(), axis_model()).fit(wine)
    graph = to_onnx(pipeline, dtype=np.float64).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (labels,) = session.run(None, {"X": wine.to_numpy()})
    np.testing.assert_array_equal(labels, pipeline.predict(wine))
    with pytest.raises(ValueError, match=r"encodes categories \(plan is free\)\. Use to_sql"):
        to_onnx(mixed_pipeline("names", axis_model()).fit(mixed_table()))
    gaps = make_pipeline(SimpleImputer(), StandardScaler(), axis_model()).fit(wine)
    with pytest.raises(ValueError, match=r"imputes values \(alcohol\)"):
        to_onnx(gaps)
