"""From a messy file to SQL: everything that reads a row gives it the same cluster."""

import contextlib
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from databases import databases  # noqa: F401
from messy_files import file_of, random_cells
from numeric_tables import COMPARISONS, read_rules, seeds

from tao_cluster import Schema, load, read_table, save, table_pipeline
from tao_cluster.cli import main
from tao_cluster.columns import raw_view
from tao_cluster.columns.dates import Date
from tao_cluster.columns.readers import Level, Number
from tao_cluster.export import to_onnx, to_query, to_rules

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TYPES = {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN"}


def fitted(seed, folder):
    """The tables of the files "old.csv" and "new.csv" in a folder, and the pipeline."""
    file_of(random_cells(seed), folder / "old.csv", seed)
    file_of(random_cells(seed + 1000), folder / "new.csv", seed)
    options = {"date_parts": [["month"], ["weekday", "hour"], []][seed % 3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = read_table(folder / "old.csv")
        pipeline = table_pipeline(
            old,
            3,
            split=["axis", "oblique"][seed % 2],
            max_leaves=7,
            random_state=0,
            doubts="warn",
            **options,
        ).fit(old)
        new = read_table(folder / "new.csv", schema=pipeline.schema_)
    kept = pipeline[0].usable_rows(new)
    return old, new[kept].reset_index(drop=True), kept, pipeline


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize("seed", seeds(10, 500))
def test_a_row_has_one_cluster(seed, databases, tmp_path):  # noqa: F811
    old, new, kept, pipeline = fitted(seed, tmp_path)
    check_files(seed, new, kept, pipeline, tmp_path)
    check_rules(old, new, pipeline)
    for database in databases:
        check_database(database, old, new, pipeline)
    check_onnx(old, pipeline)


def check_files(seed, new, kept, pipeline, folder):
    """Saved models, frames of strings, files of one row, and the command line agree."""
    schema = pipeline.schema_
    expected = pipeline.predict(new)
    save(pipeline, folder / "model.json")
    loaded = load(folder / "model.json")
    assert loaded.schema_ == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    np.testing.assert_array_equal(loaded.predict(new), expected)
    # A frame of strings, and one row at a time, as the fit has never seen them.
    texts = pd.DataFrame(random_cells(seed + 1000))[kept].reset_index(drop=True)
    np.testing.assert_array_equal(pipeline.predict(texts), expected)
    for row in (0, len(new) - 1):
        path = folder / "row.csv"
        pd.DataFrame(random_cells(seed + 1000))[kept].iloc[[row]].to_csv(path, index=False)
        one = read_table(path, schema=schema, on_note=print)
        assert pipeline.predict(one).tolist() == [expected[row]]
    if seed % 5 == 0:
        path = folder / "labels.csv"
        command = ["predict", str(folder / "model.json"), str(folder / "new.csv")]
        assert main([*command, "--out", str(path)]) == 0
        labels = pd.read_csv(path).set_index("row")["cluster"]
        rows = np.flatnonzero(kept)
        np.testing.assert_array_equal(labels[rows], expected)


def check_rules(old, new, pipeline):
    """Printed rules and queries of pandas select the rows of each cluster."""
    np.testing.assert_array_equal(pipeline[-1].labels_, pipeline.predict(old))
    assert len(to_rules(pipeline)) == pipeline[-1].tree_.n_leaves
    np.testing.assert_array_equal(labels_by_rules(old, pipeline), pipeline.predict(old))
    readers = pipeline.schema_.readers
    tested = raw_view(pipeline).tested_columns
    if any(not isinstance(readers[name], Level | Number) for name in tested):
        with contextlib.suppress(ValueError):  # strings that are read as numbers or dates
            assert to_query(pipeline)
        return
    queries = to_query(pipeline)
    for table in (old, new):
        labels = pipeline.predict(table)
        for k, query in queries.items():
            np.testing.assert_array_equal(table.query(query).index, np.flatnonzero(labels == k))


def labels_by_rules(table, pipeline):
    """Return the cluster of each row by the rules that are printed in raw columns."""
    view, features = raw_view(pipeline), {}
    for name, values in zip(view.feature_names_in_, view.numbers(table).T, strict=True):
        reader = getattr(name, "reader", None)
        unit, part = getattr(reader, "unit", ""), getattr(reader, "part", None) or " "
        texts = [name, f"{name} ({unit})", name.removesuffix(part) + unit]
        features |= dict.fromkeys([*texts, f"[{name}]"], (name, values))  # a level in a sum
    return read_rules(to_rules(pipeline), table, lambda condition, _: holds(condition, features))


def holds(condition, features):
    """Return for which rows a printed condition holds."""
    name = condition.replace(" is not ", " is ", 1)
    if name in features:  # a level
        return (features[name][1] == 1) == (name == condition)
    levels = re.fullmatch(r"(.*?) (not )?in \{(.*)\}", condition)
    if levels:
        column, is_not, listed = levels.groups()
        of_levels = [features[f"{column} is {level}"][1] for level in listed.split(", ")]
        return np.any(np.array(of_levels) == 1, axis=0) != bool(is_not)
    low, low_sign, total, sign, limit = re.fullmatch(
        r"(?:(-?\d\S*(?: \d\S+)?) (<=?) )?(.*) ([<>]=?) (.*)", condition
    ).groups()
    name, values = features.get(total) or (total, weighted_sum(total, features))
    reader = getattr(name, "reader", None)
    found = COMPARISONS[sign](values, number_of(limit, reader))
    return found & COMPARISONS[low_sign](number_of(low, reader), values) if low else found


def weighted_sum(text, features):
    """Return the values of a printed sum such as -0.5*age + income."""
    values = 0.0
    for term in re.split(r" (?=[+-] )", text):
        sign, weight, name = re.fullmatch(r"([+-]? ?)(?:([\d.e+-]+)\*)?(.*)", term).groups()
        values = values + float(weight or 1) * (-1 if "-" in sign else 1) * features[name][1]
    return values


def number_of(text, reader):
    """Return a printed number; for a date, in the unit of its column, and for a time in hours."""
    if not isinstance(reader, Date) or reader.part is not None:
        return float(text)
    if reader.is_time:
        return pd.Timedelta(text if text.count(":") == 2 else f"{text}:00") / pd.Timedelta("1h")
    return (pd.Timestamp(text) - pd.Timestamp(reader.first)) / pd.Timedelta("1D")


def check_onnx(old, pipeline):
    """An ONNX model of the last step gives every fitted row its cluster."""
    onnx = pytest.importorskip("test_onnx_of_tables", reason="onnxruntime runs the models")
    _, labels = onnx.labels_of(to_onnx(pipeline[-1]), pipeline[:-1].transform(old))
    np.testing.assert_array_equal(labels, pipeline.predict(old))


def check_database(database, old, new, pipeline):
    """SQL gives the clusters of `predict` to the rows of a database."""
    names = [name for name in old if name != "customer_id"]
    text = {"mysql": "VARCHAR(80)"}.get(database.dialect, "TEXT")
    double = {"mysql": "DOUBLE"}.get(database.dialect, "DOUBLE PRECISION")
    kinds = TYPES | {"f": double}
    types = {name: kinds.get(old[name].dtype.kind, text) for name in names}
    is_truth = {name: all(isinstance(cell, bool) for cell in old[name].dropna()) for name in names}
    types |= {name: "BOOLEAN" for name in names if is_truth[name]}
    for table in (old, new):
        cells = table[names].astype(object).where(table[names].notna(), None)
        database.fill(types, list(cells.itertuples(index=False, name=None)))
        assert database.labels(pipeline) == pipeline.predict(table).tolist()
