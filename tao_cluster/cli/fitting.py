"""Commands that fit trees to a file: `fit`, `path` and `compare`."""

import sys
import time
import warnings
from argparse import SUPPRESS
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from ..columns.readers import Level
from ..comparison import METHODS, Comparison, compare
from ..estimator import TAOClustering
from ..export import to_text
from ..optimize.direct_form import DirectForm
from ..page import to_html
from ..plot import plot_path
from ..saving import save
from ..table import table_pipeline
from .folder import (
    LABELS,
    MODEL,
    OF_FIT,
    PAGE,
    Rows,
    check_folder,
    check_free,
    parts_of,
    write_labels,
    write_model,
)
from .large import fit_large
from .loading import cell_errors, note, read_file
from .options import (
    NAMES,
    OF_TABLES,
    add_out,
    auto_or,
    data_options,
    given,
    list_of,
    names_of,
    reading_of,
    tree_options,
)

_OF_PATH = ("path.csv", "path.png", PAGE)
_MOST_SHOWN = 30  # the most columns of which decisions are printed


def add_parsers(commands):
    """Add `fit`, `path` and `compare` to the command line; see :func:`.using.add_parsers`."""

    def add_command(name, text, run, *parents):
        parser = commands.add_parser(name, help=text, parents=parents, argument_default=SUPPRESS)
        parser.set_defaults(run=run)
        return parser, parser.add_argument

    data, tree = data_options(), tree_options()
    text = "cluster the rows of a file with a decision tree"
    fit, add = add_command("fit", text, _fit, data, tree)
    text = "penalty on the weights of the tree: a larger value gives fewer features and leaves, at "
    text += "a higher cost; auto chooses it from the data (default: auto)"
    add("--lambda", dest="lambda_", type=auto_or(float), help=text)
    text = "instead of --lambda: find the tree of lowest cost with at most N parameters"
    add("--max-parameters", type=int, metavar="N", help=text)
    text = (
        "instead of --lambda: find the smallest tree whose cost is at most PERCENT above that of "
    )
    text += "the clustering without a tree"
    add("--max-cost-increase", type=float, metavar="PERCENT", help=text)
    text = "search for the tree on a sample of N rows, if there are more"
    add("--max-rows", type=int, metavar="N", help=text)
    text = "read the numeric columns of a .parquet file, or of a folder of them, in blocks"
    add("--out-of-core", action="store_true", default=False, help=text)
    where = "folder to write {} to (default: the name of DATA with _tree)"
    add_out(fit, metavar="FOLDER", help=where.format(", ".join(OF_FIT)))

    text = "fit a series of trees, from large to small"
    path, add = add_command("path", text, _path, data, tree)
    text = "values of lambda, one per oblique tree (default: ten values from the data)"
    add("--lambdas", type=list_of(float), default=None, metavar="A,B", help=text)
    files = f"{', '.join(_OF_PATH)} and one model per tree"
    add_out(path, metavar="FOLDER", help=where.format(files))

    text = "fit several methods to a file and compare their trees"
    study, add = add_command("compare", text, _compare, data)
    text = f"methods to compare, from {', '.join(METHODS)} (default: all that fit the objective)"
    add("--methods", type=list_of(str.strip), metavar="A,B", help=text)
    text = "numbers of leaves of axis-aligned trees (default: 1, 2 and 4 per cluster)"
    add("--leaves", type=list_of(int), metavar="N,M", help=text)
    text = "maximum numbers of parameters of oblique trees"
    add("--parameters", type=list_of(int), metavar="N,M", help=text)
    text = "share of the rows to hold out of the fits and to measure the cost on, such as 0.2"
    add("--validation", type=float, metavar="SHARE", help=text)
    add_out(study, help="write OUT_compare.csv and OUT_compare.png (default: the name of DATA)")


def _fit(options):
    folder = _folder(options)
    if options.classes and options.objective != "labels":
        raise ValueError(
            "fit uses --classes as the labels to explain: add --objective labels, or use --drop to "
            "leave the column out."
        )
    check_folder(folder, OF_FIT, options.force)
    parameters = given(options, ("lambda_", "max_parameters", "max_cost_increase"))
    done = f"\nThe labels, model, text, picture and page are in {folder}"
    if options.out_of_core:
        fit_large(options, _estimator(options, standardize=True, **parameters), folder)
        print(done)
        return
    if "max_rows" in options:
        parameters["algorithm"] = DirectForm(max_rows=options.max_rows)
    model, rows, classes = _model_and_rows(options, **parameters)
    start = time.perf_counter()
    with cell_errors(options.data):
        model.fit(rows.X, classes)
    seconds = time.perf_counter() - start
    steps, estimator = parts_of(model)
    Z = Pipeline(steps).transform(rows.X) if steps else rows.X
    name = f"TAO {options.split}"
    print(Comparison.from_models({name: estimator}, Z, seconds={name: seconds}))
    print("\n" + to_text(model, max_terms=8))
    write_model(folder, model, reading_of(options), rows.X, options.image_shape)
    write_labels(folder / LABELS, rows, cluster=estimator.labels_)
    print(done)


def _path(options):
    folder = _folder(options)
    check_folder(folder, _OF_PATH, options.force)
    model, rows, classes = _model_and_rows(options)
    steps, estimator, Z = _transformed(model, rows)
    models = estimator.fit_path(Z, options.lambdas, y=classes)
    table = pd.DataFrame(
        {
            "lambda": model.best_lambda_,
            "cost_increase": model.cost_increase_,
            "leaves": model.tree_.n_leaves,
            "parameters": model.tree_.n_parameters,
            "model": f"{place}_{MODEL}",
        }
        for place, model in enumerate(models)
    )
    printed = table.rename(columns={"cost_increase": "cost increase, %"})
    print(printed.to_string(index=False, float_format="{:.4g}".format))
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / "path.csv", index=False)
    plot_path(models).figure.savefig(folder / "path.png")
    if steps:
        models = [Pipeline([*steps, ("cluster", model)]) for model in models]
    for name, model in zip(table["model"], models, strict=True):
        save(model, folder / name)
    to_html(models, folder / PAGE, X=rows.X, image_shape=options.image_shape)
    print(f"\nThe table, picture, page and models are in {folder}")


def _compare(options):
    prefix = options.out or Path(options.data).stem
    table_path, picture_path = Path(f"{prefix}_compare.csv"), Path(f"{prefix}_compare.png")
    check_free([table_path, picture_path], options.force)
    model, rows, classes = _model_and_rows(options)
    _, estimator, Z = _transformed(model, rows)
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
    clusters = f"k={estimator.n_clusters}"
    if options.objective == "labels":
        clusters = f"labels {options.classes}"
    title = f"{Path(options.data).name}, {clusters}"
    found.plot(new="validation" in options, title=title).figure.savefig(picture_path)
    print(f"\nThe table is in {table_path}, the picture in {picture_path}")


def _transformed(model, rows):
    """Fit the steps before the estimator; return them, the estimator, and its rows."""
    steps, estimator = parts_of(model)
    return steps, estimator, Pipeline(steps).fit_transform(rows.X) if steps else rows.X


def _estimator(options, *, standardize=False, **parameters):
    """Return the estimator of an array, or of columns that are all numbers."""
    standardize = standardize if options.standardize is None else options.standardize
    return TAOClustering(standardize=standardize, **_parameters(options), **parameters)


def _parameters(options):
    """Return the parameters of the estimator that `fit`, `path` and `compare` share."""
    return {
        "objective": options.objective,
        "random_state": options.reference_seed,
        "verbose": int(sys.stderr.isatty()),
        **given(options, ("n_clusters", "depth", "split", "max_leaves")),
    }


def _model_and_rows(options, **parameters):
    """Read the file, and print what is done with its columns.

    Returns
    -------
    model : Pipeline for a table, TAOClustering for an array; not fitted
    rows : Rows
    classes : array of shape (n,), or None; None or NaN for rows without a class
    """
    if options.objective == "labels" and options.classes is None:
        raise ValueError("--objective labels needs --classes COLUMN, the labels to explain.")
    if options.objective == "labels" and "n_clusters" in options:
        raise ValueError("--objective labels has one cluster per label; leave out --n-clusters.")
    path, reading = Path(options.data), reading_of(options)
    content = read_file(path, reading)
    if not isinstance(content, pd.DataFrame):
        if given(options, (*NAMES, *OF_TABLES, "id_column")) or options.classes:
            raise ValueError(f"{path}: options for columns apply to tables only.")
        n_rows, n_columns = content.shape
        _print_size(options, n_rows, n_columns)
        return _estimator(options, **parameters), Rows(content, np.arange(n_rows)), None
    with cell_errors(path, content):
        model, kept = _pipeline_and_rows(options, content, reading, parameters)
    rows = Rows.from_table(content, kept, reading.id_column)
    _print_size(options, len(rows.X), len(model[0].readers))
    decisions = model.decisions_.rename(columns={"missing_percent": "missing, %"})
    is_plain = (decisions["done"] == "number") & (decisions["why"] == "")
    shown = decisions[~is_plain & (decisions["why"] != "not chosen")]
    if len(shown):
        print(shown.to_string(index=False, max_rows=_MOST_SHOWN), end="\n\n")
    if options.classes is None:
        return model, rows, None
    return model, rows, Level(reading.na_values).read(rows.X[options.classes]).to_numpy()


def _print_size(options, n_rows, n_columns):
    print(f"{options.data}: {n_rows} rows, {n_columns} columns\n")
    shape = getattr(options, "image_shape", None)
    if shape is not None and shape[0] * shape[1] != n_columns:
        raise ValueError(
            f"--image-shape {shape[0]}x{shape[1]} has {shape[0] * shape[1]} pixels, but the data "
            f"have {n_columns} columns."
        )


def _pipeline_and_rows(options, frame, reading, parameters):
    """Return the pipeline of a table, not fitted, and which rows are kept: bool array."""
    settings, chosen = given(options, OF_TABLES), names_of(frame, options)
    beside = [name for name in (options.classes, reading.id_column) if name is not None]
    pipeline_of = partial(
        table_pipeline,
        **chosen | {"drop": [*chosen.get("drop", ()), *beside], "na_values": reading.na_values},
        standardize=options.standardize is not False,
        **_parameters(options),
        **parameters,
    )
    kept = np.ones(len(frame), dtype=bool)
    if settings.get("missing") == "drop":
        del settings["missing"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing values
            reader = pipeline_of(frame, **settings)[0]
        kept = reader.fit_transform(frame).notna().all(axis=1).to_numpy()
        if not kept.any():
            raise ValueError("every row has a missing value; use --missing median.")
        note(options.data, f"{(~kept).sum()} of {len(kept)} rows have missing values: left out.")
    return pipeline_of(frame[kept], **settings), kept


def _folder(options):
    stem = Path(options.data).name.split(".")[0]
    return options.out or Path(f"{stem}_tree")
