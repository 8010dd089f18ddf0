"""The cases of `benchmarks.snapshot`: fits, and what is written and drawn about fitted models.

A case is a function without arguments. Its result is a fitted model, a table, a text, axes, or a
list or dict of these. Cases use public names only, so that a refactoring changes no case. They
share fitted models and never change one, so that their order has no influence.
"""

import contextlib
import io
import json
import re
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greedy
import tao_cluster as tao
from tao_cluster import Constraints, DirectForm, PenaltyMethod, TAOClustering, export, measures
from tao_cluster import plot as pictures
from tao_cluster.cli import main as command_line
from tao_cluster.columns import raw_view
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.objectives import KMedoids, Labels, Trimmed
from tao_cluster.optimize.algorithms import AxisAligned
from tao_cluster.page import to_html
from tao_cluster.report import report
from tao_cluster.solvers import Newton

CUSTOMERS = Path(__file__).parents[1] / "docs" / "customers.csv"
SPLITS = ("oblique", "axis")
DIALECTS = ("ansi", "postgres", "mysql", "duckdb")

# ---------------------------------------------------------------------- rows


def _blobs(n=150, n_centers=9):
    """Return rows around centres; nine of them are hard to explain with four clusters."""
    return make_blobs(n, 4, centers=n_centers, cluster_std=3.0, random_state=0)[0].round(3)


def _words():
    """Return counts of 30 words in 200 documents of three subjects, as a sparse matrix."""
    rng = np.random.default_rng(0)
    rates = 0.2 + 2.0 * (rng.random((3, 30)) < 0.2)
    return sparse.csr_matrix(rng.poisson(rates[rng.integers(3, size=200)]).astype(float))


def _table(n=240):
    """Return a raw table with units, dates, times, gaps and categories."""
    rng = np.random.default_rng(0)
    group, in_kg, in_dollars = rng.integers(3, size=n), rng.normal(0, 3, n), rng.normal(0, 90, n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * group + rng.integers(200, size=n), "D")
    seen = pd.Series(day + pd.to_timedelta(rng.integers(86_400, size=n), "s"))
    plan = np.array(["basic", "gold", 'it\'s "new"'])[(group + (rng.random(n) < 0.2)) % 3]
    columns = {
        "customer_id": 1000 + rng.permutation(n),
        "weight": [f"{x:.1f} kg" for x in 60 + 8 * group + in_kg],
        "price": [f"${x:,.2f}" for x in 900 * (1 + group) + in_dollars],
        "score": np.where(rng.random(n) < 0.1, np.nan, rng.normal(group, 1).round(2)),
        "joined": day.strftime("%d.%m.%Y"),
        "seen": seen.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
        "opened": [f"{m // 60:02d}:{m % 60:02d}" for m in rng.integers(480, 960, n)],
        "plan": np.where(rng.random(n) < 0.1, "n/a", plan),
        "region": rng.choice(["north", "south", "east", "west"], n),
        "vip": rng.random(n) < 0.3 + 0.2 * group,
    }
    return pd.DataFrame(columns)


def _far_rows():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(c, 1, (60, 2)) for c in (0, 10)] + [rng.uniform(-60, 60, (8, 2))])


# Arguments of `fit`, by name.
ROWS = {
    "iris": lambda: {"X": load_iris(as_frame=True).data},
    "wine": lambda: {"X": load_wine(as_frame=True).data},
    "cancer": lambda: {"X": load_breast_cancer(as_frame=True).data},
    "digits": lambda: {"X": load_digits().data[:300] / 16},
    "blobs": lambda: {"X": _blobs()},
    "float32": lambda: {"X": _blobs().astype(np.float32)},
    "sparse": lambda: {"X": sparse.csr_matrix(np.maximum(_blobs(), 0))},
    "words": lambda: {"X": _words()},
    "far rows": lambda: {"X": _far_rows()},
    "weights": lambda: {"X": _blobs(), "sample_weight": np.arange(150) % 4 / 2},
    "repeats": lambda: {"X": np.repeat(_blobs()[:50], 3, axis=0).round()},
    "embedding": lambda: {"X": _blobs(), "embedding": _blobs()[:, :3] @ np.eye(3, 2)},
    "species": lambda: rows("iris") | {"y": np.array(["a", "b", "c"])[load_iris().target]},
    "noise": lambda: rows("iris") | {"y": DBSCAN(0.5).fit_predict(rows("iris")["X"])},
    "customers": lambda: {"X": pd.read_csv(CUSTOMERS)},
    "table": lambda: {"X": _table()},
}
# Settings that go with some rows.
SETTINGS = {
    "digits": {"n_clusters": 10},
    "wine": {"standardize": True},
    "cancer": {"standardize": True},
    "words": {"objective": "spherical"},
    "far rows": {"n_clusters": 2, "objective": Trimmed(share=0.08)},
    "species": {"objective": "labels"},
    "noise": {"objective": Labels(noise="explain")},
}


@cache
def rows(name):
    """Return the arguments of `fit`; no case may change them."""
    return ROWS[name]()


# ---------------------------------------------------------------------- fits


def _fit(name, estimator, **options):
    """Fit a copy of an estimator, with four clusters unless the rows have other settings."""
    options = {"n_clusters": 4} | SETTINGS.get(name, {}) | options
    known = clone(estimator).get_params()
    options = {n: value for n, value in ({"random_state": 0} | options).items() if n in known}
    return clone(estimator).set_params(**options).fit(**rows(name))


# Settings of TAOClustering that are fitted with both kinds of splits.
OPTIONS = {
    "lambda 0": {"lambda_": 0, "depth": 3},
    "lambda 10, depth 4": {"lambda_": 10, "depth": 4},
    "depth 2": {"depth": 2},
    "max_leaves": {"max_leaves": 7},
    "max_parameters": {"max_parameters": 14},
    "max_cost_increase": {"max_cost_increase": 4.0},
    "validation": {"validation": 0.3},
    "held-out rows": {"validation": np.arange(0, 150, 4), "max_parameters": 16},
    "min_samples_leaf": {"min_samples_leaf": 15, "max_leaves": 7},
    "share of rows in a leaf": {"min_samples_leaf": 0.1},
    "columns": {"constraints": Constraints(columns=[0, 3])},
    "not tested": {"constraints": Constraints(not_tested=[1])},
    "first": {"constraints": Constraints(first=3)},
    "max_depth": {"constraints": Constraints(max_depth=2)},
    "once": {"constraints": Constraints(max_tests_per_column=1)},
    "kmedians": {"objective": "kmedians"},
    "kmedoids": {"objective": "kmedoids"},
    "metric": {"objective": KMedoids("manhattan"), "lambda_": 1},
    "init, imm": {"init": "imm"},
    "init, exgreedy": {"init": "exgreedy"},
    "init, exshallow": {"init": "exshallow"},
    "init, builder": {"init": greedy.ExKMC(max_leaves=8)},
    "reference, centres": {"reference": _blobs()[:4]},
    "reference, estimator": {"reference": KMeans(4, random_state=1)},
    "reference, fitted": {"reference": KMeans(4, random_state=2).fit(_blobs())},
    "reference, mixture": {"reference": GaussianMixture(4, random_state=0)},
    "reference, labels": {"reference": AgglomerativeClustering(4)},
    "reference, pipeline": {
        "reference": make_pipeline(StandardScaler(), KMeans(4, random_state=0))
    },
    "published": {"algorithm": "published", "lambda_": 5, "depth": 3},
    "two threads": {"n_jobs": 2},
}


def _penalty(**options):
    settings = {"mu_factor": 1.5, "n_mu_steps": 15, **options}
    return {"algorithm": PenaltyMethod(**settings), "lambda_": 4}


# Further settings of TAOClustering.
FURTHER = {
    "price of noise": {"objective": Trimmed("kmedians", price=9.0)},
    "steps": {"split": "axis", "constraints": Constraints(steps={0: 1, 1: 2.5}), "max_leaves": 8},
    "values of rows": {"split": AxisAligned(midpoints=False), "max_leaves": 7},
    "thorough": {"split": "axis", "max_leaves": 9, "algorithm": DirectForm(search="thorough")},
    "random start": {"init": "random"},
    "bisecting start": {"init": "bisecting"},
    "centroids as start": {"init": "centroids"},
    "8 starts": {"algorithm": DirectForm(n_init=8)},
    "plain": {"algorithm": DirectForm(relax=False, search="none")},
    "fast": {"algorithm": DirectForm(search="fast")},
    "no copies": {"algorithm": DirectForm(copies=0)},
    "trimmed": {"algorithm": DirectForm(trim=0.5)},
    "sample": {"algorithm": DirectForm(max_rows=120)},
    "two features": {"algorithm": DirectForm(max_features_per_test=2)},
    "tolerance": {"algorithm": DirectForm(node_solver=Newton(tol=0.1))},
    "penalty": _penalty(),
    "penalty, squared": _penalty(penalty="squared", refine=False),
    "penalty, constant": _penalty(strength="constant", tol=1e-3),
    "penalty, last": _penalty(result="last", initial_mu="median"),
    "penalty, all accepted": _penalty(accept="always", refine=False),
    "penalty, refined": _penalty(refine=DirectForm(relax=False)),
    "penalty, liblinear": _penalty(node_solver="liblinear", refine=False),
    "penalty, weighted": _penalty(node_solver="liblinear-weighted"),
}
GREEDY = {
    **{name: {} for name in greedy.__all__ if hasattr(getattr(greedy, name), "fit")},
    "IMM, kmedians": {"objective": "kmedians"},
    "ExGreedy, values of rows": {"midpoints": False, "ties": "first", "min_samples_leaf": 8},
    "RandomCuts, kmedians": {"objective": "kmedians"},
    "ExKMC, no base": {"max_leaves": 9, "base": "none"},
    "ExKMC, constraints": {"constraints": Constraints(not_tested=[0])},
    "Kauri, 9 leaves": {"max_leaves": 9},
    "SpEx, oblique": {"split": "oblique"},
    "SpEx, neighbours": {"graph": "knn"},
    "ExKCenter, halves": {"rest": "halves"},
    "ExShallowSearch, limit": {"max_cost_increase": 25.0},
}
_TAO = {split: TAOClustering(split=split) for split in SPLITS}
_NUMERIC = [name for name in ROWS if name not in ("customers", "table")]
FITS = {f"{s}, {name}": partial(_fit, name, _TAO[s]) for name in _NUMERIC for s in SPLITS}
for _name, _options in OPTIONS.items():
    FITS |= {f"{s}, {_name}": partial(_fit, "blobs", _TAO[s], **_options) for s in SPLITS}
for _name, _options in FURTHER.items():
    FITS[_name] = partial(_fit, "blobs", TAOClustering(), **_options)
for _name, _options in GREEDY.items():
    FITS[_name] = partial(_fit, "blobs", getattr(greedy, _name.split(",")[0])(), **_options)
for _name in ("digits", "weights", "sparse", "embedding"):
    methods = (greedy.IMM(), greedy.ExGreedy(), greedy.ExShallow(), greedy.ExKMC(), greedy.CART())
    FITS |= {f"{type(m).__name__}, {_name}": partial(_fit, _name, m) for m in methods}


# ---------------------------------------------------------------------- outputs of fitted models


def _pipeline(name, n_clusters, **options):
    X = rows(name)["X"]
    return tao.table_pipeline(X, n_clusters, random_state=0, doubts="warn", **options).fit(X)


# A model by its name: the name of its rows, and a function that fits it.
MODELS = {
    "oblique": ("wine", partial(_fit, "wine", TAOClustering(max_parameters=14))),
    "axis": ("iris", partial(_fit, "iris", TAOClustering(split="axis", max_leaves=4))),
    "table": ("table", partial(_pipeline, "table", 3, split="axis", max_leaves=5)),
    "oblique table": ("table", partial(_pipeline, "table", 3, max_parameters=16)),
    "customers": ("customers", partial(_pipeline, "customers", 4, split="axis", max_leaves=4)),
    "labels": ("species", partial(_fit, "species", TAOClustering())),
    "words": ("words", partial(_fit, "words", TAOClustering(max_parameters=20))),
    "far rows": ("far rows", partial(_fit, "far rows", TAOClustering())),
    "images": ("digits", partial(_fit, "digits", TAOClustering(lambda_=8, depth=4))),
}


@cache
def model(name):
    """Return a fitted model or pipeline; no case may change it."""
    found = MODELS[name][1]()
    return found.name_clusters({0: "Regular", 3: "Lapsed"}) if name == "customers" else found


def rows_of(name):
    """Return the rows to which a model was fitted."""
    return rows(MODELS[name][0])["X"]


def _head(name, n=6):
    X = rows_of(name)
    return X.iloc[:n] if hasattr(X, "iloc") else X[:n]


def _described(name):
    return tao.describe(model(name), **rows(MODELS[name][0]), rows="customers")


def _page_data(models, X):
    """Return the data of the page, and the text that explains it."""
    page = to_html(models, X=X)
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return {"data": json.loads(found[1]), "text": re.findall(r'<p class="reads.*?</p>', page)}


def _saved(name):
    """Return the file of a model, without the history and the versions of packages."""

    def kept(facts):
        return {k: v for k, v in facts.items() if k not in ("history_", "n_iter_", "written_by")}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        tao.save(model(name), path)
        labels = tao.load(path).predict(_head(name))
        file = json.loads(path.read_text(encoding="utf-8"), object_hook=kept)
    return {"labels": labels, "file": file}


def _changes(name):
    """Return the nearest changes of the first row to each cluster of the first rows."""
    clusters = np.unique(model(name).predict(_head(name, 30)))
    return [str(nearest_change(model(name), _head(name, 1), cluster)) for cluster in clusters]


def _sql(dialect, name):
    return export.to_sql(model(name), dialect=dialect)


def _onnx(name):
    import onnx

    return onnx.printer.to_text(export.to_onnx(model(name)))


# What is written and drawn about each model: a function of the name of the model.
OUTPUTS = {
    "text": lambda name: [export.to_text(model(name)), *export.to_rules(model(name))],
    **{f"SQL, {dialect}": partial(_sql, dialect) for dialect in DIALECTS},
    "query": lambda name: export.to_query(model(name)),
    "ONNX": _onnx,
    "graph": lambda name: export.to_dot(model(name), X=rows_of(name)),
    "frame": lambda name: export.to_dataframe(model(name), X=rows_of(name)),
    "report": lambda name: report(model(name), rows_of(name)),
    "page": lambda name: _page_data(model(name), rows_of(name)),
    "saved": _saved,
    "description": lambda name: [_described(name).text, _described(name).to_html()],
    "explanation": lambda name: str(explain(model(name), _head(name))),
    "changes": _changes,
    "picture, tree": lambda name: pictures.plot_tree(model(name), rows_of(name)),
    "picture, tests": lambda name: pictures.plot_tests(model(name), rows_of(name)),
    "picture, cards": lambda name: _described(name).plot(),
    "picture, explanation": lambda name: explain(model(name), _head(name, 1)).plot(),
}


# ---------------------------------------------------------------------- several models and months


@cache
def _later():
    """Return the customers of the next month: some have left, and their numbers have changed."""
    later = rows("customers")["X"].iloc[50:].copy()
    columns = ["annual_spend", "discount_share", "days_since_order"]
    later[columns] *= np.exp(0.1 * np.random.default_rng(0).normal(size=(len(later), 3))).round(3)
    return later


@cache
def _monitor():
    return tao.monitor(model("customers"), rows("customers")["X"], _later(), ids="customer_id")


@cache
def _path(split):
    sizes = {"leaves": [3, 5, 8]} if split == "axis" else {"lambdas": [1, 10, 50]}
    return tao.tao_path(_blobs(), 4, **sizes, split=split, random_state=0)


FORMS = ("prunings", "merges")  # nested clusters of a model


@cache
def _nested(kind):
    """Return nested clusters of wine: of a model, or fitted to all levels."""
    X, options = rows("wine")["X"], {"standardize": True, "random_state": 0}
    if kind in FORMS:
        found = TAOClustering(4, split="axis", max_leaves=6, **options).fit(X)
        return tao.nested(found, X, form=kind)
    reference = linkage((X - X.mean()) / X.std(), "ward") if kind == "reference" else None
    split = "axis" if kind == "axis" else "oblique"
    return tao.fit_nested(X, 4, reference=reference, split=split, **options)


def _levels(kind):
    names = ("levels", "table", "nodes", "agreement", "model")
    return {name: getattr(_nested(kind), name) for name in names} | {"two": _nested(kind).cut(2)}


@cache
def _comparison():
    budgets = {"parameters": [13]}
    return tao.compare(_blobs(), 4, ["imm", "exkmc", "cart", "tao"], budgets=budgets, splits=2)


@cache
def _stability():
    found = greedy.ExShallow(3, standardize=True)
    return tao.stability(found, rows("wine")["X"], n=4, random_state=0)


@cache
def _number():
    return tao.choose_n_clusters(_blobs(), range(2, 6), random_state=0)


def _refitted(keep):
    found = tao.refit(model("customers"), _later(), keep=keep, verbose=0)
    return {"model": found, "changes": found[-1].refit_changes_}


def _measured():
    X, found, facts = _blobs(), FITS["axis, max_leaves"](), {}
    for name in ("weighted_average_depth", "weighted_average_explanation_size", "feature_usage"):
        facts[name] = getattr(measures, name)(found.tree_, X, np.arange(150) % 3)
    for name in ("accuracy", "adjusted_rand_index", "normalized_mutual_information"):
        facts[name] = getattr(measures, name)(found.labels_, found.free_labels_)
    for name in ("surrogate_cost", "price_of_explainability", "explainability"):
        facts[name] = getattr(measures, name)(found, X)
    return facts | {"spacing": measures.spacing(X, found.labels_)}


def _methods(name):
    """Return what the methods of an estimator say about new rows."""
    found, new = FITS[name](), _blobs(50) + 0.25
    names = ("predict", "apply", "transform", "decision_path", "score", "cost_increase")
    return {name: getattr(found, name)(new) for name in names}


def _history(name):
    records = FITS[name]().history_
    return [{key: value for key, value in each.items() if key != "seconds"} for each in records]


def _out_of_core(estimator, **options):
    blocks = np.array_split(_blobs(4000, 4), 5)
    model = estimator.set_params(n_clusters=4, random_state=0)
    return tao.outofcore.fit(model, blocks, coreset_size=500, random_state=0, **options)


def _dask():
    import dask.array as da

    from tao_cluster.dask import DaskTreeClustering

    found = DaskTreeClustering(TAOClustering(4, depth=3, random_state=0), random_state=0)
    found.fit(da.from_array(_blobs(3000, 4), chunks=(700, 4)))
    return {"model": found.to_local(), "labels": found.labels_.compute()}


def _schema():
    """Return the decisions about a table, its features, and the labels of its file."""
    pipeline = model("table")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        rows_of("table").to_csv(path, index=False, sep=";")
        read = tao.read_table(path, schema=pipeline.schema_, on_note=str)
    facts = {"decisions": pipeline.decisions_, "schema": pipeline.schema_.to_json()}
    facts["features"] = raw_view(pipeline).encoded(pipeline[0].checked(rows_of("table")))
    return facts | {"labels": pipeline.predict(read)}


def _commands():
    """Return what the command line prints, and the labels that it writes."""
    printed, data, options = io.StringIO(), str(CUSTOMERS), "--split axis --max-leaves 4 --out tree"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            command_line(["fit", data, "--n-clusters", "3", *options.split()])
            command_line(["predict", "tree", data, "--out", "labels.csv"])
            command_line(["explain", "tree", data, "--row", "3"])
            command_line(["export", "tree", "--format", "sql", "--dialect", "postgres"])
            command_line(["predict", "tree", "missing.csv"])
        labels = Path("labels.csv").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^(TAO .*) \S+$", r"\1", printed.getvalue())  # without the time of the fit
    return {"printed": text.replace(data, "DATA"), "labels": labels}


def _drawn(name, **options):
    return pictures.plot_tree(model(name), rows_of(name), **options)


def _panels():
    options = {"panels": ("mask", "centers", "history"), "y": load_digits().target[:300]}
    return _drawn("images", image_shape=(8, 8), **options)


OTHERS = {
    **{f"refit: {keep}": partial(_refitted, keep) for keep in ("tests", "columns", "nothing")},
    **{f"path: {split}": partial(_path, split) for split in SPLITS},
    "path: knee": lambda: [tao.knee(_path("oblique")), tao.knee(_path("axis"), max_parameters=16)],
    **{f"nested: {kind}": partial(_levels, kind) for kind in (*SPLITS, "reference", *FORMS)},
    **{f"methods: {name}": partial(_methods, name) for name in ("oblique, blobs", "ExKMC", "CART")},
    **{
        f"history: {name}": partial(_history, name)
        for name in ("oblique, blobs", "axis, max_leaves", "penalty")
    },
    "out of core: oblique": partial(_out_of_core, TAOClustering(depth=3)),
    "out of core: axis": partial(_out_of_core, TAOClustering(split="axis", standardize=True)),
    "out of core: ExKMC": partial(_out_of_core, greedy.ExKMC(max_leaves=6)),
    "out of core: dask": _dask,
    "monitor": lambda: _monitor().text,
    "compare: table": lambda: _comparison().table.filter(regex="^(?!seconds)"),
    "compare: LaTeX": lambda: _comparison().to_latex(),
    "stability": lambda: {"table": _stability().table, "features": _stability().features},
    "number of clusters": lambda: str(_number()),
    "measures": _measured,
    "schema": _schema,
    "command line": _commands,
    "contrast": lambda: _described("customers").contrast("Regular", "Lapsed").text,
    "page: several models": lambda: _page_data(_path("axis"), _blobs()),
    "trees of centres": lambda: [f(_blobs()[:4]) for f in (tao.voronoi_tree, tao.bisector_tree)],
    "bounds": lambda: [str(greedy.bounds.bound(n, 8, 5)) for n in ("IMM", "EMN", "DPTree")],
    "picture: paper": partial(_drawn, "customers", style="paper", width=3.3, font_size=8),
    "picture: slide": partial(_drawn, "axis", style="slide"),
    "picture: projection": partial(_drawn, "oblique", nodes="projection"),
    "picture: panels": _panels,
    "picture: one test": lambda: pictures.plot_test(model("oblique"), 0, rows_of("oblique")),
    "picture: image": lambda: explain(model("images"), _head("images", 1)).plot(image_shape=(8, 8)),
    "picture: path": lambda: pictures.plot_path(_path("oblique")),
    "picture: tradeoff": lambda: pictures.plot_tradeoff(_path("oblique") + _path("axis")),
    "picture: history": lambda: pictures.plot_history(_path("oblique")[-1]),
    "picture: regions": lambda: pictures.plot_regions(model("far rows"), _far_rows()),
    "picture: comparison": lambda: _comparison().plot(),
    "picture: stability": lambda: _stability().plot(),
    "picture: number of clusters": lambda: _number().plot(),
    "picture: monitor": lambda: _monitor().plot(),
    "picture: nested": lambda: _nested("oblique").plot(),
    "picture: nested, axis": lambda: _nested("axis").plot(levels=[2, 4], width=5),
}

CASES = {
    **{f"fit: {name}": case for name, case in FITS.items()},
    **{f"{output}: {name}": partial(f, name) for output, f in OUTPUTS.items() for name in MODELS},
    **OTHERS,
}
