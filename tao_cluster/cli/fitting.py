"""Fits of a file: one tree, a path of them, or a comparison of methods."""

import sys
import time
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

import pandas as pd

from ..comparison import METHODS, compare
from ..estimator import TAOClustering
from ..optimize.direct_form import DirectForm
from ..optimize.settings import OBJECTIVES
from ..optimize.split_kinds import SPLIT_KINDS
from ..page import to_html
from ..plot import plot_tradeoff
from .columns import CATEGORIES, MISSING, Choices
from .folder import (
    MODEL,
    OF_FIT,
    PAGE,
    check_folder,
    check_free,
    check_shape,
    named,
    report_fit,
    write_fit,
)
from .large import fit_large
from .loading import load_data, warn
from .using import add_out, add_separator, add_shape

_OF_PATH = ("path.csv", "path.png", PAGE)


def add_parsers(commands):
    """Add the commands that fit to the command line; see :func:`.using.add_parsers`."""
    data, tree = _data_options(), _tree_options()

    fit = commands.add_parser("fit", help="cluster a file by a tree", parents=[data, tree])
    fit.set_defaults(run=_fit)
    fit.add_argument(
        "--lambda",
        dest="lambda_",
        type=_auto_or(float),
        default="auto",
        help="larger: fewer features and leaves, higher cost (default %(default)s)",
    )
    fit.add_argument(
        "--max-parameters", type=int, help="instead of --lambda: least cost of so small a tree"
    )
    fit.add_argument(
        "--max-cost-increase",
        type=float,
        metavar="PERCENT",
        help="instead of --lambda: smallest tree of so little cost",
    )
    fit.add_argument("--max-rows", type=int, help="a sample of so many rows finds the tree")
    fit.add_argument(
        "--out-of-core",
        action="store_true",
        help="DATA is larger than memory: .parquet, a folder of such, or .npy, read in passes",
    )
    text = "for {} (default: DATA's name with _tree)"
    add_out(fit, metavar="FOLDER", help=text.format(", ".join(OF_FIT)))

    path = commands.add_parser(
        "path", help="trees from large to small, one after the other", parents=[data, tree]
    )
    path.set_defaults(run=_path)
    path.add_argument(
        "--lambdas", type=_list_of(float), metavar="A,B", help="default: ten, by the data"
    )
    files = f"{', '.join(_OF_PATH)} and a model a tree"
    add_out(path, metavar="FOLDER", help=text.format(files))

    study = commands.add_parser(
        "compare", help="fit methods to a file and compare their trees", parents=[data]
    )
    study.set_defaults(run=_compare)
    study.add_argument(
        "--methods",
        type=_list_of(str.strip),
        metavar="A,B",
        help=f"of {', '.join(METHODS)} (default: all that know the objective)",
    )
    study.add_argument(
        "--leaves",
        type=_list_of(int),
        metavar="N,M",
        help="of axis-aligned trees (default: 1, 2 and 4 times the number of clusters)",
    )
    study.add_argument(
        "--parameters", type=_list_of(int), metavar="N,M", help="of oblique trees, at most"
    )
    study.add_argument(
        "--validation", type=float, metavar="SHARE", help="of the rows, held out of the fits"
    )
    study.add_argument("--depth", type=int, help="of oblique trees")
    add_out(study, help="prefix of OUT_compare.csv and OUT_compare.png (default: DATA's name)")


def _data_options():
    """What fits and comparisons ask about the data and their clustering."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument(
        "data", metavar="DATA", help=".csv, .tsv (.gz), .parquet, .feather, .npy or .npz"
    )
    parser.add_argument("--n-clusters", "-k", type=int, help="default 8; of labels their number")
    parser.add_argument(
        "--classes",
        "--label",
        metavar="COLUMN",
        help="of a table: labels to explain by --objective labels; of compare else to compare with",
    )
    parser.add_argument(
        "--objective", choices=OBJECTIVES, default="kmeans", help="default %(default)s"
    )
    parser.add_argument(
        "--standardize", action="store_true", help="columns to unit spread; best for tables"
    )
    parser.add_argument(
        "--reference-seed", "--seed", type=int, default=0, help="default %(default)s"
    )
    table, names = parser.add_argument_group("of a table"), _list_of(str.strip)
    table.add_argument("--columns", type=names, metavar="A,B", help="use only these")
    table.add_argument("--drop", type=names, default=(), metavar="A,B", help="do not use these")
    table.add_argument(
        "--id", dest="id_column", metavar="COLUMN", help="names the rows, and is no feature"
    )
    add_separator(table)
    table.add_argument(
        "--missing",
        choices=MISSING,
        default=MISSING[0],
        help="drop the rows of missing values, put the median, or also say where they are by a "
        "feature of its own (default %(default)s)",
    )
    table.add_argument(
        "--categories",
        choices=CATEGORIES,
        default=CATEGORIES[0],
        help="what texts of few kinds become (default %(default)s)",
    )
    return parser


def _tree_options():
    """What fits and paths ask about the tree."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument(
        "--split",
        choices=SPLIT_KINDS,
        default="oblique",
        help="tests of weighted sums or of single features (default %(default)s)",
    )
    parser.add_argument(
        "--depth", type=_auto_or(int), default="auto", help="of the tree (default %(default)s)"
    )
    add_shape(parser)
    return parser


def _list_of(kind):
    """Reader of values with commas between them."""
    return lambda text: tuple(kind(part) for part in text.split(","))


def _auto_or(kind):
    """Reader of a number, or of the word auto."""
    return lambda text: text if text == "auto" else kind(text)


def _estimator(options, **parameters):
    return TAOClustering(
        8 if options.n_clusters is None else options.n_clusters,
        depth=options.depth,
        objective=options.objective,
        split=options.split,
        standardize=options.standardize,
        random_state=options.reference_seed,
        verbose=int(sys.stderr.isatty()),
        **parameters,
    )


def _fit(options):
    folder = _folder(options)
    if options.classes and options.objective != "labels":
        raise ValueError("--classes of fit are labels to explain: add --objective labels.")
    check_folder(folder, OF_FIT, options.force)
    goals = ("lambda_", "max_parameters", "max_cost_increase")
    estimator = _estimator(options, **{goal: getattr(options, goal) for goal in goals})
    if options.out_of_core:
        fit_large(options, estimator, _choices(options), folder)
        return
    data = _load(options)
    check_shape(options.image_shape, data.X.shape[1])
    rows = named(data.X, data.feature_names)
    start = time.perf_counter()
    max_rows = "auto" if options.max_rows is None else options.max_rows
    algorithm = DirectForm(max_rows=max_rows)
    model = estimator.set_params(algorithm=algorithm).fit(rows, data.classes)
    seconds = time.perf_counter() - start
    report_fit(model, seconds, rows, names=data.feature_names)
    write_fit(folder, model, data, options.image_shape)
    print(f"\nLabels, model, text, picture and page in {folder}")


def _path(options):
    folder = _folder(options)
    check_folder(folder, _OF_PATH, options.force)
    data = _load(options)
    check_shape(options.image_shape, data.X.shape[1])
    X = named(data.X, data.feature_names)
    models = _estimator(options).fit_path(X, options.lambdas, y=data.classes)
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
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / "path.csv", index=False)
    for name, model in zip(table["model"], models, strict=True):
        model.save(folder / name)
    plot_tradeoff(models).figure.savefig(folder / "path.png")
    to_html(models, folder / PAGE, X=X, image_shape=options.image_shape)
    print(f"\nTable, picture, page and models in {folder}")


def _compare(options):
    prefix = options.out or Path(options.data).stem
    table_path, picture_path = Path(f"{prefix}_compare.csv"), Path(f"{prefix}_compare.png")
    check_free([table_path, picture_path], options.force)
    data = _load(options)
    budgets = {"leaves": options.leaves, "parameters": options.parameters}
    found = compare(
        data.X,
        options.n_clusters,
        options.methods,
        budgets={name: sizes for name, sizes in budgets.items() if sizes},
        validation=options.validation,
        y=data.classes,
        standardize=options.standardize,
        objective=options.objective,
        depth=options.depth,
        random_state=options.reference_seed,
    )
    print(found)
    found.table.to_csv(table_path, index_label="model")
    is_held = options.validation is not None
    clusters = f"k={options.n_clusters or 8}"
    if options.objective == "labels":
        clusters = f"labels {options.classes}"
    axes = found.plot(new=is_held, title=f"{Path(options.data).name}, {clusters}")
    axes.figure.savefig(picture_path)
    print(f"\nTable in {table_path}, picture in {picture_path}")


def _load(options):
    """The data of a file; what was done with its columns is said."""
    if options.objective == "labels":
        if options.classes is None:
            raise ValueError("--objective labels needs --classes COLUMN, the labels to explain.")
        if options.n_clusters is not None:
            raise ValueError(
                "--n-clusters: --objective labels has a cluster a label; leave it out."
            )
    data = load_data(options.data, _choices(options))
    n_rows, n_columns = data.X.shape
    print(f"{options.data}: {n_rows} rows, {n_columns} features\n")
    for note in data.notes:
        warn(f"{options.data}: {note}")
    return data


def _choices(options):
    return Choices(**{field.name: getattr(options, field.name) for field in fields(Choices)})


def _folder(options):
    stem = Path(options.data).name.split(".")[0]
    return options.out or Path(f"{stem}_tree")
