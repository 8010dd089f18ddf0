"""Settings of the user change no result: numpy's errors, scikit-learn's checks, how we are loaded.

Each public function has a line in `CALLS`, and each setting one in `SETTINGS`.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import ESTIMATORS
from dateutil import tz
from matplotlib import pyplot as plt

from greedy import IMM, ExKMC
from tao_cluster import (
    DirectForm,
    TAOClustering,
    Tree,
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
from tao_cluster.plot import plot_path, plot_regions, plot_tests, plot_tradeoff, plot_tree
from tao_cluster.report import report

ROOT = Path(__file__).parents[2]
QUICK = {"algorithm": DirectForm(n_init=1, search="none", copies=0), "random_state": 0}

# Column d has differences whose squares underflow; e is constant.
RNG = np.random.default_rng(0)
GROUP = RNG.integers(3, size=60)
X = pd.DataFrame(3 * np.eye(3)[GROUP] + RNG.normal(size=(60, 3)), columns=[*"abc"])
X = X.assign(d=1e-170 * RNG.normal(size=60), e=0.0)
X["b"] = np.exp(-300 * X["b"].clip(0, 2))
NEW = X.iloc[::2] + [0.5, 0, 0, 0, 0]
TABLE = X[["a", "b"]].assign(kind=np.array(["red", "green", "blue"], dtype=object)[GROUP])
TABLE["b"] = TABLE["b"].where(TABLE["a"] > -1)

AXIS = TAOClustering(3, split="axis", max_leaves=4, **QUICK).fit(X)
OBLIQUE = TAOClustering(3, standardize=True, max_parameters=20, **QUICK).fit(X)
GREEDY = ExKMC(3, max_leaves=4, random_state=0).fit(X)
MODELS = [AXIS, OBLIQUE, GREEDY]
PIPELINE = table_pipeline(TABLE, 3, split="axis", max_leaves=4, **QUICK).fit(TABLE)


# ---------------------------------------------------------------- calls


def of_each(function, models=MODELS):
    return lambda: [function(model) for model in models]


def facts(model, rows=X):
    tree = model.tree_
    shape = [tree.children_left, tree.split_indices, tree.split_weights, tree.threshold]
    return [*shape, model.labels_, model.cluster_centers_, model.inertia_, model.predict(rows)]


def of_fit(make, **given):
    return lambda: facts(make().fit(X, **given))


def of_rows():
    methods = ("predict", "apply", "transform", "score", "cost_increase")
    return [getattr(model, method)(NEW) for model in MODELS for method in methods]


def of_measures():
    labels, free = AXIS.labels_, GREEDY.labels_
    of_trees = ("weighted_average_depth", "weighted_average_explanation_size", "feature_usage")
    of_labels = ("normalized_mutual_information", "adjusted_rand_index", "accuracy")
    of_models = ("surrogate_cost", "price_of_explainability", "explainability")
    return [
        [getattr(measures, name)(AXIS, X) for name in (*of_trees, *of_models)],
        [getattr(measures, name)(labels, free) for name in of_labels],
        measures.spacing(X, labels),
    ]


def of_saved(model, rows):
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.json")
        text = (Path(folder) / "model.json").read_text(encoding="utf-8")
        return [text, load(Path(folder) / "model.json").predict(rows)]


def of_pictures(draw):
    def call():
        found = draw()
        figure = np.ravel(found)[0].figure
        with tempfile.TemporaryDirectory() as folder:
            figure.savefig(Path(folder) / "picture.png", dpi=30)
        texts = [text.get_text() for ax in figure.axes for text in ax.texts]
        plt.close("all")
        return texts

    return call


def of_table():
    pipeline = table_pipeline(TABLE, 3, split="axis", max_leaves=4, **QUICK).fit(TABLE)
    row = TABLE.iloc[[0]]
    change = nearest_change(pipeline, row, (pipeline.predict(row)[0] + 1) % 3)
    return [pipeline.predict(TABLE), to_query(pipeline), pipeline.decisions_, str(change)]


def of_file():
    with tempfile.TemporaryDirectory() as folder:
        TABLE.to_csv(Path(folder) / "table.csv", index=False)
        return read_table(Path(folder) / "table.csv")


def of_blocks():
    model = outofcore.fit(TAOClustering(3, **QUICK), [X.to_numpy()])
    return [model.tree_.threshold, model.inertia_, model.predict(X.to_numpy())]


def of_path():
    fits = tao_path(X, 3, leaves=[3, 4], split="axis", **QUICK)
    return [facts(model) for model in fits]


KINDS = {
    "oblique": {},
    "axis": {"split": "axis", "max_leaves": 4},
    "standardized": {"standardize": True, "max_parameters": 12},
    "validation": {"validation": 0.3},
    "kmedians": {"objective": "kmedians"},
    "kmedoids": {"objective": "kmedoids"},
    "spherical": {"objective": "spherical"},
    "penalty": {"algorithm": "penalty", "depth": 2},
    "search": {"algorithm": DirectForm(n_init=2), "depth": 3},
}
CALLS = {
    **{
        f"fit {name}": of_fit(lambda options=options: TAOClustering(3, **QUICK | options))
        for name, options in KINDS.items()
    },
    "fit labels": of_fit(lambda: TAOClustering(objective="labels", **QUICK), y=GROUP),
    **{
        f"fit {name}": of_fit(lambda cls=cls: cls(3, random_state=0))
        for name, cls in ESTIMATORS.items()
        if cls is not TAOClustering
    },
    "rows": of_rows,
    "path": of_path,
    "blocks": of_blocks,
    "initial trees": lambda: [
        [tree.split_weights, tree.threshold]
        for tree in (voronoi_tree(AXIS.cluster_centers_), bisector_tree(AXIS.cluster_centers_))
    ],
    "describe": lambda: [
        [found.text, found.table, found.differences, found.contrast(0, 1).table]
        for found in (describe(model, X) for model in MODELS)
    ],
    "describe table": lambda: describe(PIPELINE, TABLE).text,
    "explain": of_each(lambda model: str(explain(model, NEW.iloc[:5]))),
    "nearest change": of_each(
        lambda model: [str(nearest_change(model, NEW.iloc[[i]], 1)) for i in range(6)]
    ),
    "report": of_each(lambda model: json.dumps(report(model, X))),
    "refit": lambda: [
        facts(refit(model, NEW, keep, verbose=0), NEW)
        for keep in ("nothing", "tests")
        for model in (AXIS, GREEDY)
    ],
    "monitor": lambda: [
        [found.verdict, found.segments, found.costs, found.columns, found.tests]
        for found in (monitor(model, X, NEW) for model in MODELS)
    ],
    "nested": lambda: nested(GREEDY, X, form="merges").table,
    "fit nested": lambda: fit_nested(X, 3, **QUICK).table,
    "compare": lambda: compare(X, 3, ["imm", "cart"], validation=0.3).table.drop(
        columns="seconds", errors="ignore"
    ),
    "stability": lambda: stability(IMM(3, random_state=0), X, n=2).table,
    "n_clusters": lambda: choose_n_clusters(X, [2, 3], **QUICK).table,
    "measures": of_measures,
    "to_html": of_each(lambda model: str(to_html(model, X=X))),
    "to_sql": of_each(to_sql),
    "to_text": of_each(to_text),
    "to_rules": of_each(lambda model: to_rules(model)),
    "to_query": of_each(to_query),
    "to_dot": of_each(to_dot),
    "to_dataframe": of_each(to_dataframe),
    "to_onnx": of_each(lambda model: to_onnx(model).SerializeToString()),
    "to_json": of_each(lambda model: Tree.from_json(model.tree_.to_json()).threshold),
    "to_latex": lambda: compare(X, 3, ["imm"], validation=0.3).to_latex(columns=["cost_increase"]),
    "save": of_each(lambda model: of_saved(model, X)),
    "save table": lambda: of_saved(PIPELINE, TABLE),
    "plot_tree": of_pictures(lambda: plot_tree(OBLIQUE, X)),
    "plot_tree of bars": of_pictures(lambda: plot_tree(AXIS, X, y=GROUP)),
    "plot_tests": of_pictures(lambda: plot_tests(AXIS, X)),
    "plot_regions": of_pictures(lambda: plot_regions(IMM(3, random_state=0).fit(X[["a", "c"]]), X[["a", "c"]])),
    "plot_path": of_pictures(lambda: plot_path(tao_path(X, 3, [0.1, 1], **QUICK))),
    "table": of_table,
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


@pytest.mark.parametrize("name", CALLS)
def test_settings_change_no_result(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = flat(CALLS[name]())
        for setting in SETTINGS.values():
            with setting():
                assert flat(CALLS[name]()) == usual
