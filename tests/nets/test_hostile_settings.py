"""Settings of the user change no result: numpy's errors, scikit-learn's checks, how we are loaded.

Each public function has a line in `CALLS`, and each setting one in `SETTINGS`.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from dateutil import tz
from fits import FITS, QUICK, Rows
from matplotlib import pyplot as plt

from greedy import IMM, ExKMC
from tao_cluster import (
    TAOClustering,
    bisector_tree,
    choose_n_clusters,
    compare,
    describe,
    fit_nested,
    load,
    measures,
    monitor,
    nested,
    outofcore,
    read_table,
    refit,
    save,
    stability,
    table_pipeline,
    tao_path,
    voronoi_tree,
)
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_dot, to_onnx, to_query, to_rules, to_sql, to_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_path, plot_regions, plot_tests, plot_tree
from tao_cluster.report import report

ROOT = Path(__file__).parents[2]

# Squares of columns c and d underflow, and e is constant.
RNG = np.random.default_rng(0)
GROUP = RNG.integers(3, size=60)
X = pd.DataFrame(3 * np.eye(3)[GROUP] + RNG.normal(size=(60, 3)), columns=[*"abc"])
X = X.assign(c=1e-170 * X["c"], d=1e-170 * RNG.normal(size=60) ** 3, e=0.0)
NEW = X.iloc[::2].assign(a=X["a"] * 1.5)
TABLE = X[["a", "b"]].assign(kind=np.array(["red", "green", "blue"], dtype=object)[GROUP])
TABLE["b"] = TABLE["b"].where(TABLE["a"] > -1)

AXIS = TAOClustering(3, split="axis", max_leaves=4, **QUICK).fit(X)
OBLIQUE = TAOClustering(3, standardize=True, max_parameters=20, **QUICK).fit(X)
GREEDY = ExKMC(3, max_leaves=4, random_state=0).fit(X)
PLANE = IMM(3, random_state=0).fit(X[["a", "c"]])
MODELS = [AXIS, OBLIQUE, GREEDY]
PIPELINE = table_pipeline(TABLE, 3, split="axis", max_leaves=4, **QUICK).fit(TABLE)


# ---------------------------------------------------------------- calls


def of_saved(model, rows):
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.json")
        text = (Path(folder) / "model.json").read_text(encoding="utf-8")
        return [text, load(Path(folder) / "model.json").predict(rows)]


def drawn(found):
    """The texts of a picture that is drawn to the end."""
    figure = np.ravel(found)[0].figure
    with tempfile.TemporaryDirectory() as folder:
        figure.savefig(Path(folder) / "picture.png", dpi=30)
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    plt.close("all")
    return texts


def changed(model, rows):
    row = rows.iloc[[0]]
    return str(nearest_change(model, row, (model.predict(row)[0] + 1) % 3))


# What a fitted model or pipeline shows of rows.
VIEWS = {
    "predict": lambda model, rows: [model.predict(rows), model.transform(rows), model.score(rows)],
    "describe": lambda model, rows: [
        (found := describe(model, rows)).text,
        *(found.table, found.differences, found.contrast(0, 1).table),
    ],
    "explain": lambda model, rows: str(explain(model, rows.iloc[:5])),
    "nearest_change": changed,
    "report": lambda model, rows: json.dumps(report(model, rows), ensure_ascii=False),
    "monitor": lambda model, rows: str(monitor(model, rows, rows)),
    "refit": lambda model, rows: [
        refit(model, rows, keep, verbose=0).predict(rows) for keep in ("tests", "nothing")
    ],
    "to_html": lambda model, rows: str(to_html(model, X=rows)),
    "to_text": lambda model, rows: to_text(model),
    "to_rules": lambda model, rows: str(to_rules(model)),
    "to_query": lambda model, rows: to_query(model),
    "to_dot": lambda model, rows: to_dot(model),
    "to_dataframe": lambda model, rows: str(to_dataframe(model)),
    "save": of_saved,
    "plot_tree": lambda model, rows: drawn(plot_tree(model, rows)),
    "plot_tests": lambda model, rows: drawn(plot_tests(model, rows)),
}
NUMERIC = {
    "to_sql": lambda model, rows: to_sql(model),
    "to_onnx": lambda model, rows: to_onnx(model).SerializeToString(),
    "measures": lambda model, rows: [
        measures.explainability(model, X),
        measures.price_of_explainability(model, X),
        measures.normalized_mutual_information(model.labels_, GREEDY.labels_),
        measures.spacing(X, model.labels_),
    ],
}


def of_file():
    with tempfile.TemporaryDirectory() as folder:
        TABLE.to_csv(Path(folder) / "table.csv", index=False)
        return read_table(Path(folder) / "table.csv")


ROWS = Rows(X, pd.Series(GROUP), None, X[["a", "b"]], None)
CALLS = {
    **{f"fit {name}": lambda fit=fit: fit(ROWS) for name, fit in FITS.items()},
    **{
        name: lambda view=view: [view(model, NEW) for model in MODELS]
        for name, view in (VIEWS | NUMERIC).items()
    },
    **{f"table {name}": lambda view=view: view(PIPELINE, TABLE) for name, view in VIEWS.items()},
    "path": lambda: drawn(plot_path(tao_path(X, 3, [0.1, 1], **QUICK))),
    "regions": lambda: drawn(plot_regions(PLANE, X[["a", "c"]])),
    "blocks": lambda: outofcore.fit(TAOClustering(3, **QUICK), [X.to_numpy()]).tree_.threshold,
    "initial trees": lambda: [
        make(AXIS.cluster_centers_).threshold for make in (voronoi_tree, bisector_tree)
    ],
    "nested": lambda: nested(GREEDY, X, form="merges").table,
    "fit nested": lambda: fit_nested(X, 3, **QUICK).table,
    "compare": lambda: compare(X, 3, ["imm", "cart"], validation=0.3).to_latex(
        columns=["cost_increase"]
    ),
    "stability": lambda: stability(IMM(3, random_state=0), X, n=2).table,
    "n_clusters": lambda: choose_n_clusters(X, [2, 3], **QUICK).table,
    "table fit": lambda: table_pipeline(TABLE, 3, **QUICK).fit(TABLE).predict(TABLE),
    "file": of_file,
}


# ---------------------------------------------------------------- settings


SETTINGS = {
    "seterr": lambda: np.errstate(all="raise"),
    "assume_finite": lambda: sklearn.config_context(assume_finite=True),
}


def flat(value):
    """A result as a list of strings and numbers."""
    if isinstance(value, pd.DataFrame):
        value = [value.index.tolist(), *(value[name].tolist() for name in value)]
    if isinstance(value, np.ndarray | pd.Series):
        value = value.tolist()
    if isinstance(value, dict):
        value = [*value.items()]
    if isinstance(value, list | tuple):
        return [part for each in value for part in flat(each)]
    return [repr(value)]


@pytest.mark.spaced(quick=8, slow=10)
@pytest.mark.parametrize("name", CALLS)
def test_settings_change_no_result(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = flat(CALLS[name]())
        for setting in SETTINGS.values():
            with setting():
                assert flat(CALLS[name]()) == usual


def test_a_method_sets_back_the_users_settings():
    with np.errstate(all="raise"), sklearn.config_context(assume_finite=True):
        kept = np.geterr(), sklearn.get_config()
        AXIS.describe(X)
        IMM(3, random_state=0).fit(X).predict(X)
        with pytest.raises(ValueError, match="contains NaN"):
            IMM(3).fit(X.assign(a=np.nan))
        assert (np.geterr(), sklearn.get_config()) == kept


# ---------------------------------------------------------------- ways to load the packages


def run(code, folder=ROOT, **environment):
    """What a new process prints that finds our packages in a folder or a zip file."""
    environment = {**os.environ, "PYTHONPATH": str(folder), **environment}
    command = [sys.executable, "-W", "ignore", "-c", code]
    given = {"env": environment, "cwd": tempfile.gettempdir(), "encoding": "utf-8"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **given).stdout  # noqa: S603


@pytest.mark.parametrize("first", ["tao_cluster", "greedy"])
def test_packages_can_be_imported_where_lazy_loading_is_off(first):
    run(f"import {first}, greedy, tao_cluster; greedy.__all__", EAGER_IMPORT="1")


@pytest.mark.slow
def test_a_fit_and_a_page_work_from_a_zip_file(tmp_path):
    path = tmp_path / "packages.zip"
    with zipfile.ZipFile(path, "w") as target:
        for package in ("tao_cluster", "greedy"):
            for file in sorted((ROOT / package).rglob("*.*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    target.write(file, file.relative_to(ROOT))
    code = (
        "import greedy\n"
        "model = greedy.IMM(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])\n"
        "assert '<html' in str(model.to_html())\n"
        "print(greedy.__file__, model.to_text())"
    )
    found = run(code, path, NUMBA_DISABLE_JIT="1")
    usual = IMM(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    assert found.startswith(str(path))
    assert found.endswith(f"{usual.to_text()}\n")


# ---------------------------------------------------------------- cells of tables


HALF = "\ud800"  # half of a surrogate pair: a string of Python that cannot be encoded


@pytest.fixture(scope="module")
def half():
    """A table with levels that cannot be encoded, and its model; the same with letters."""
    found = []
    for letter in (HALF, "x"):
        kinds = np.array([f"red{letter}", f"{letter}", "blue"], dtype=object)[np.arange(60) % 3]
        table = pd.DataFrame({"a": np.round(5 * GROUP + np.arange(60) / 60, 2)})
        table["kind"] = pd.Series(kinds, dtype=object)
        model = table_pipeline(table, 4, category_weight=2.0, split="axis", **QUICK)
        found.append((table, model.fit(table)))
    return found


@pytest.mark.parametrize("name", VIEWS)
def test_levels_that_cannot_be_encoded_are_shown_as_escapes(name, half):
    for table, model in half:
        "".join(flat(VIEWS[name](model, table))).encode()
    (table, model), (other, usual) = half
    assert model.predict(table).tolist() == usual.predict(other).tolist()


def test_sql_names_the_character_that_it_cannot_hold(half):
    _, model = half[0]
    with pytest.raises(ValueError, match="SQL cannot hold"):
        to_sql(model)


ZONES = {
    "Europe/Berlin": [tz.gettz("Europe/Berlin"), "dateutil/Europe/Berlin"],
    "UTC": [tz.tzutc(), UTC, tz.tzoffset(None, 0)],
    "+02:00": [tz.tzoffset(None, 7200), timezone(timedelta(hours=2), "CEST")],
    "-05:00": [tz.tzoffset("EST", -18000)],
    "+00:19:32": [timezone(timedelta(seconds=1172))],
}
INSTANTS = pd.Series(pd.date_range("2024-06-01", periods=60, freq="7h", tz="UTC"))


@pytest.mark.parametrize("is_object", [False, True])
@pytest.mark.parametrize("zone", ZONES)
def test_every_zone_has_a_name_and_keeps_the_instants(zone, is_object):
    for given in ZONES[zone]:
        dates = INSTANTS.dt.tz_convert(given)
        cells = pd.Series([d.to_pydatetime() for d in dates], dtype=object)
        table = pd.DataFrame({"when": cells if is_object else dates})
        parts = {"date_parts": ["hour"]}
        reader = table_pipeline(table, 2, **parts, **QUICK)[0]
        days = reader.fit_transform(table)
        assert reader.schema.to_dict()["columns"]["when"].get("zone") == zone
        np.testing.assert_allclose(days["when"], np.arange(60) * 7 / 24, atol=1e-4)
        assert days["when hour"].tolist() == dates.dt.hour.tolist()


def test_a_zone_without_a_name_is_read_in_utc():
    class Local(tzinfo):
        """A zone with summer time and without a name, such as that of the computer."""

        def utcoffset(self, moment):
            return None if moment is None else timedelta(hours=1 + (moment.month == 6))

        def dst(self, moment):
            return None if moment is None else timedelta(hours=moment.month == 6)

    cells = [datetime(2024, month, 1, 12, tzinfo=Local()) for month in (1, 6)] * 10
    table = pd.DataFrame({"when": pd.Series(cells, dtype=object)})
    reader = table_pipeline(table, 2, date_parts=["hour"], **QUICK)[0]
    assert reader.fit_transform(table)["when hour"].tolist() == [11.0, 10.0] * 10


def test_a_table_of_a_text_file_can_be_written_to_parquet(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n2,5;y\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="separated by"):
        table = read_table(tmp_path / "t.csv")
    table.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(found, table)
    json.dumps(found.attrs)
