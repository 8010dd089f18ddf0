"""Commands that fit trees to a file: `fit`, `path` and `compare`."""

import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from ..columns.readers import Reader
from ..columns.schema import Schema
from ..columns.table_reader import reading_once
from ..comparison import METHODS, Comparison, compare
from ..estimator import TAOClustering
from ..export import to_text
from ..optimize.algorithms import DirectForm
from ..page import to_html
from ..plot import plot_path
from ..reading import cell_errors, read_table
from ..report import checked_names
from ..saving import save
from ..separation import suggest
from ..table import table_pipeline
from . import arguments, folder
from .arguments import given, note

_OF_PATH = ("path.csv", "path.png", folder.PAGE)
_MOST_SHOWN = 30  # the most columns of which decisions are printed


def add_parsers(commands):
    """Add `fit`, `path` and `compare` to the command line; see :func:`.using.add_parsers`."""
    add_command = partial(arguments.add_command, commands)
    data, tree = arguments.data_options(), arguments.tree_options()
    text = "cluster the rows of a file with a decision tree"
    fit = add_command("fit", text, _fit, data, tree)
    add = fit.add_argument
    text = "penalty on the weights of the tree: a larger value gives fewer features and leaves, at "
    text += "a higher cost; auto chooses it from the data (default: auto)"
    add("--lambda", dest="lambda_", type=arguments.auto_or(float), help=text)
    text = "instead of --lambda: find the tree of lowest cost with at most N parameters"
    add("--max-parameters", type=int, metavar="N", help=text)
    text = "instead of --lambda: find the smallest tree whose cost is at most PERCENT above that "
    text += "of the clustering without a tree"
    add("--max-cost-increase", type=float, metavar="PERCENT", help=text)
    text = "search for the tree on a sample of N rows, if there are more"
    add("--max-rows", type=int, metavar="N", help=text)
    text = "read the numeric columns of a .parquet file, or of a folder of them, in blocks"
    add("--out-of-core", action="store_true", default=False, help=text)
    arguments.add_names(fit)
    where = "folder to write {} to (default: the name of DATA with _tree)"
    arguments.add_out(fit, metavar="FOLDER", help=where.format(", ".join(folder.OF_FIT)))

    text = "fit a series of trees, from large to small"
    path = add_command("path", text, _path, data, tree)
    add = path.add_argument
    text = "values of lambda, one per oblique tree (default: ten values from the data)"
    add("--lambdas", type=arguments.list_of(float), default=None, metavar="A,B", help=text)
    files = f"{', '.join(_OF_PATH)} and one model per tree"
    arguments.add_out(path, metavar="FOLDER", help=where.format(files))

    text = "fit several methods to a file and compare their trees"
    study = add_command("compare", text, _compare, data)
    add = study.add_argument
    text = f"methods to compare, from {', '.join(METHODS)} (default: all for the objective)"
    add("--methods", type=arguments.list_of(str.strip), metavar="A,B", help=text)
    text = "numbers of leaves of axis-aligned trees (default: 1, 2 and 4 per cluster)"
    add("--leaves", type=arguments.list_of(int), metavar="N,M", help=text)
    text = "maximum numbers of parameters of oblique trees"
    add("--parameters", type=arguments.list_of(int), metavar="N,M", help=text)
    text = "share of the rows to hold out of the fits and to measure the cost on, such as 0.2"
    add("--validation", type=float, metavar="SHARE", help=text)
    text = "write OUT_compare.csv and OUT_compare.png (default: the name of DATA)"
    arguments.add_out(study, help=text)


def _fit(options):
    out = folder.default_folder(options)
    if options.classes and options.objective != "labels":
        remedy = "add --objective labels, or use --drop to leave the column out."
        raise ValueError(f"fit uses --classes as the labels to explain: {remedy}")
    folder.check_folder(out, folder.OF_FIT, options.force)
    n_clusters = given(options, ("n_clusters",)).get("n_clusters", TAOClustering().n_clusters)
    if "names" in options and options.objective != "labels" and n_clusters != "auto":
        numbers = range(n_clusters)  # the names are checked before a long fit
        checked_names(options.names, numbers, list(map(str, numbers)))
    parameters = given(options, ("lambda_", "max_parameters", "max_cost_increase"))
    done = f"\nThe labels, model, text, picture and page are in {out}"
    if options.out_of_core:
        if getattr(options, "n_clusters", None) == "auto":
            raise ValueError("--out-of-core needs a number of clusters: --n-clusters 5, not auto.")
        folder.fit_large(options, _estimator(options, standardize=True, **parameters), out)
        print(done)
        return
    if "max_rows" in options:
        parameters["algorithm"] = DirectForm(max_rows=options.max_rows)
    model, rows, classes = _model_and_rows(options, **parameters)
    start = time.perf_counter()
    with cell_errors(options.data):
        model.fit(rows.X, classes)
    seconds = time.perf_counter() - start
    arguments.name_clusters(model, options)
    with reading_once(model, rows.X):
        estimator, Z = folder.transformed(model, rows.X)
        name = f"TAO {options.split}"
        print(Comparison.from_models({name: estimator}, Z, seconds={name: seconds}))
        print("\n" + to_text(model, max_terms=8))
        folder.write_fit(out, model, folder.schema_of(model, options), rows, options)
    print(done + _about_ids(model, rows))


def _about_ids(model, rows):
    """Return a line about the column that names the rows, or that could name them."""
    name, verb = getattr(rows.ids, "name", None), "names"
    if name is None and isinstance(model, Pipeline):
        kinds, verb = model.decisions_.set_index("column")["kind"], "could name"
        name = next((each for each in kinds.index[kinds == "name"] if rows.X[each].is_unique), None)
    why = "monitor needs it to find rows that changed segment, and explain --id to find a row."
    return "" if name is None else f"\nThe column {name!r} {verb} the rows (--id {name!r}): {why}"


def _path(options):
    out = folder.default_folder(options)
    folder.check_folder(out, _OF_PATH, options.force)
    model, rows, classes = _model_and_rows(options)
    estimator, Z = folder.transformed(model, rows.X, fits=True)
    fitted = estimator.fit_path(Z, options.lambdas, y=classes)
    models = {f"{place}_{folder.MODEL}": each for place, each in enumerate(fitted)}
    found = Comparison.from_models(models, Z, y=classes)
    found.table.insert(1, "lambda", [each.best_lambda_ for each in fitted])
    print(found)
    out.mkdir(exist_ok=True)
    found.table.drop(columns="method").to_csv(out / "path.csv", index_label="model")
    plot_path(fitted).figure.savefig(out / "path.png")
    if isinstance(model, Pipeline):
        fitted = [Pipeline([*model.steps[:-1], ("cluster", each)]) for each in fitted]
    for name, each in zip(models, fitted, strict=True):
        save(each, out / name)
    title = options.data.name
    to_html(fitted, out / folder.PAGE, X=rows.X, image_shape=options.image_shape, title=title)
    print(f"\nThe table, picture, page and models are in {out}")


def _compare(options):
    prefix = options.out or options.data.stem
    table_path, picture_path = Path(f"{prefix}_compare.csv"), Path(f"{prefix}_compare.png")
    folder.check_free([table_path, picture_path], options.force)
    model, rows, classes = _model_and_rows(options)
    estimator, Z = folder.transformed(model, rows.X, fits=True)
    found = compare(
        Z,
        budgets=given(options, ("leaves", "parameters")),
        y=classes,
        standardize=estimator.standardize,
        objective=options.objective,
        random_state=options.reference_seed,
        **given(options, ("n_clusters", "methods", "validation", "depth")),
    )
    print(found)
    found.table.to_csv(table_path, index_label="model")
    explains_labels = options.objective == "labels"
    clusters = f"labels {options.classes}" if explains_labels else f"k={estimator.n_clusters}"
    title = f"{options.data.name}, {clusters}"
    found.plot(title=title).figure.savefig(picture_path)
    print(f"\nThe table is in {table_path}, the picture in {picture_path}")


def _estimator(options, *, standardize=False, **parameters):
    """Return the TAOClustering for an array, or for numeric columns that are read out of core.

    `standardize` is used if the command line does not set it.
    """
    standardize = standardize if options.standardize is None else options.standardize
    return TAOClustering(standardize=standardize, **_parameters(options), **parameters)


def _parameters(options, columns=()):
    """Return the parameters of the estimator that `fit`, `path` and `compare` share."""
    return {
        "objective": options.objective,
        "random_state": options.reference_seed,
        "verbose": int(sys.stderr.isatty()),
        **given(options, ("n_clusters", "depth", "split", "max_leaves")),
        **arguments.constraints_of(options, columns),
    }


def _model_and_rows(options, **parameters):
    """Read the file, and print what is done with its columns.

    Returns
    -------
    model : Pipeline for a table, TAOClustering for an array; not fitted
    rows : folder.FileRows
    classes : array of shape (n,), or None; None or NaN for rows without a class
    """
    if options.objective == "labels" and options.classes is None:
        raise ValueError("--objective labels needs --classes COLUMN, the labels to explain.")
    if options.objective == "labels" and "n_clusters" in options:
        raise ValueError("--objective labels has one cluster per label; leave out --n-clusters.")
    path, schema = options.data, Schema.from_any(options.schema)
    reading = arguments.reading_of(options, schema)
    content = read_table(path, reading, partial(note, path), schema, options.doubts)
    if not isinstance(content, pd.DataFrame):
        names = (*arguments.NAMES, *arguments.OF_TABLES, "id_column")
        if given(options, names) or options.classes or options.schema:
            raise ValueError(f"{path}: options for columns apply to tables only.")
        n_rows, n_columns = content.shape
        _print_size(options, n_rows, n_columns)
        model = _estimator(options, **parameters)
        if model.n_clusters == "auto":
            model.n_clusters = 2
            model.n_clusters = _suggested(options, suggest(content, model, trees=False))
        return model, folder.FileRows(content, np.arange(n_rows)), None
    with cell_errors(path, content):
        parameters["schema"] = schema
        model, kept = _pipeline_and_rows(options, content, reading, parameters)
    rows = folder.FileRows.from_table(content, kept, reading.id_column)
    _print_size(options, len(rows.X), len(model[0].readers))
    decisions = model.decisions_.rename(columns={"missing_percent": "missing, %"})
    is_plain = (decisions["done"] == "number") & (decisions["why"] == "")
    shown = decisions[~is_plain & (decisions["why"] != "not chosen")]
    if len(shown):
        print(shown.to_string(index=False, max_rows=_MOST_SHOWN), end="\n\n")
    if hasattr(model, "suggestion_"):
        _suggested(options, model.suggestion_)
    if options.classes is None:
        return model, rows, None
    return model, rows, Reader(reading.na_values).with_gaps(rows.X[options.classes]).to_numpy()


def _suggested(options, suggestion):
    """Print why a number of clusters is suggested, and use it in place of "auto"."""
    print(f"{suggestion.reason}\n")
    options.n_clusters = suggestion.n_clusters
    return options.n_clusters


def _print_size(options, n_rows, n_columns):
    print(f"{options.data}: {n_rows} rows, {n_columns} columns\n")
    shape = getattr(options, "image_shape", None)
    if shape is not None and shape[0] * shape[1] != n_columns:
        raise ValueError(f"images of {shape} pixels do not have {n_columns} columns.")


def _pipeline_and_rows(options, frame, reading, parameters):
    """Return the pipeline of a table, not fitted, and which rows are kept: bool array."""
    settings = given(options, arguments.OF_TABLES)
    pipeline_of = partial(
        table_pipeline,
        **arguments.names_of(frame, options),
        na_values=reading.na_values,
        doubts=options.doubts,
        standardize=options.standardize is not False,
        **_parameters(options, list(frame.columns)),
        **parameters,
    )
    kept = np.ones(len(frame), dtype=bool)
    if settings.get("missing") == "drop":
        del settings["missing"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing values
            reader = pipeline_of(frame, n_clusters=2, **settings)[0]
        kept = reader.fit_transform(frame).notna().all(axis=1).to_numpy()
        if not kept.any():
            raise ValueError("every row has a missing value; use --missing median.")
        note(options.data, f"{(~kept).sum()} of {len(kept)} rows have missing values: left out.")
    return pipeline_of(frame[kept], **settings), kept
