"""Pipelines of table_pipeline as JSON: the loaded one transforms and predicts alike."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tao_cluster import TAOClustering, load, save, table_pipeline

N = 200


def table_of(seed):
    """A table with columns of all kinds, gaps and rare levels."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, N)
    level = rng.choice(
        ["a", "b", "c", "d", "rare", "seldom"], N, p=[0.4, 0.3, 0.15, 0.11, 0.02, 0.02]
    )
    return pd.DataFrame(
        {
            "weight": [f"{w:.2f} kg" for w in 60 + 9 * z + rng.normal(size=N)],
            "income": np.where(rng.random(N) < 0.2, np.nan, rng.lognormal(9 + z, 0.2)),
            "age": rng.integers(20, 30, N) + 15 * z,
            "level": np.where(rng.random(N) < 0.1, None, level),
            "vip": pd.Series(rng.choice([True, False, None], N), dtype=object),
            "code": rng.choice([3, 7, 11], N),
            "day": (pd.Timestamp("2020-02-29") + pd.to_timedelta(90 * z, unit="D")).strftime(
                "%Y-%m-%d"
            ),
            "time": [f"{8 + 4 * h:02d}:30" for h in z],
        }
    )


@pytest.mark.spaced(quick=1)
@pytest.mark.filterwarnings("ignore:The clusters are nearly the levels")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing": "indicator", "max_levels": 4, "categorical": ["code"]},
        {"standardize": False, "date_parts": ["month", "weekday"], "split": "axis"},
        {"columns": ["level", "vip", "code"], "categorical": ["code"]},
        {"columns": ["age", "weight"]},
    ],
    ids=str,
)
def test_a_loaded_pipeline_is_the_saved_one(options, tmp_path):
    table, new = table_of(0), table_of(1)
    new.loc[:9, "level"] = "a level that fit has not seen"
    pipeline = table_pipeline(table, 3, random_state=0, **options).fit(table)
    save(pipeline, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    for rows in (table, new):
        pd.testing.assert_frame_equal(
            loaded[:-1].transform(rows), pipeline[:-1].transform(rows), check_exact=True
        )
        np.testing.assert_array_equal(loaded.predict(rows), pipeline.predict(rows))
    assert loaded[-1].tree_ == pipeline[-1].tree_
    assert loaded[0].readers == pipeline[0].readers
    pd.testing.assert_frame_equal(loaded.decisions_, pipeline.decisions_)
    save(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_other_pipelines_cannot_be_saved(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    pipeline = make_pipeline(StandardScaler(), TAOClustering(2, random_state=0)).fit(X)
    with pytest.raises(ValueError, match="can be saved"):
        save(pipeline, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("missing",), {}),
        (("weights",), None),
        (("schema", "columns"), 3),
        (("transformers", 0, "step"), {"class": "Popen", "parameters": {}}),
        (("transformers", 0, "columns"), []),
        (("learned",), {"dict": {}}),
    ],
)
def test_changed_files_raise_a_value_error(place, value, tmp_path):
    table, file = table_of(0), tmp_path / "model.json"
    save(table_pipeline(table, 3, lambda_=1, random_state=0).fit(table), file)
    document = json.loads(file.read_text(encoding="utf-8"))
    inner = document["pipeline"]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ValueError, match="not a model that can be used"):
        load(file)
