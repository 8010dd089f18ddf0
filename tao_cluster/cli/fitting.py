"""Commands that fit trees to a file: `fit`, `path` and `compare`."""

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
    """Add `fit`, `path` and `compare` to the command line; see :func:`.using.add_parsers`."""
    data, tree = _data_options(), _tree_options()

    fit = commands.add_parser(
        "fit", help="cluster the rows of a file with a decision tree", parents=[data, tree]
    )
    fit.set_defaults(run=_fit)
    fit.add_argument(
        "--lambda",
        dest="lambda_",
        type=_auto_or(float),
        default="auto",
        help="penalty on the weights of the tree: a larger value gives fewer features and leaves, "
        "at a higher cost; auto chooses it from the data (default: %(default)s)",
    )
    fit.add_argument(
        "--max-parameters",
        type=int,
        metavar="N",
        help="instead of --lambda: find the tree of lowest cost with at most N parameters",
    )
    fit.add_argument(
        "--max-cost-increase",
        type=float,
        metavar="PERCENT",
        help="instead of --lambda: find the smallest tree whose cost is at most PERCENT above that "
        "of the clustering without a tree",
    )
    fit.add_argument(
        "--max-rows",
        type=int,
        metavar="N",
        help="search for the tree on a sample of N rows, if there are more",
    )
    fit.add_argument(
        "--out-of-core",
        action="store_true",
        help="read DATA in blocks, because it does not fit into memory; DATA is a .parquet file, a "
        "folder of them, or an .npy file",
    )
    text = "folder to write {} to (default: the name of DATA with _tree)"
    add_out(fit, metavar="FOLDER", help=text.format(", ".join(OF_FIT)))

    path = commands.add_parser(
        "path", help="fit a series of trees, from large to small", parents=[data, tree]
    )
    path.set_defaults(run=_path)
    path.add_argument(
        "--lambdas",
        type=_list_of(float),
        metavar="A,B",
        help="values of lambda, one per oblique tree (default: ten values from the data)",
    )
    files = f"{', '.join(_OF_PATH)} and one model per tree"
    add_out(path, metavar="FOLDER", help=text.format(files))

    study = commands.add_parser(
        "compare", help="fit several methods to a file and compare their trees", parents=[data]
    )
    study.set_defaults(run=_compare)
    study.add_argument(
        "--methods",
        type=_list_of(str.strip),
        metavar="A,B",
        help=f"methods to compare, from {', '.join(METHODS)} (default: all that support the "
        "objective)",
    )
    study.add_argument(
        "--leaves",
        type=_list_of(int),
        metavar="N,M",
        help="numbers of leaves of axis-aligned trees (default: 1, 2 and 4 times the number of "
        "clusters)",
    )
    study.add_argument(
        "--parameters",
        type=_list_of(int),
        metavar="N,M",
        help="maximum numbers of parameters of oblique trees",
    )
    study.add_argument(
        "--validation",
        type=float,
        metavar="SHARE",
        help="share of the rows to hold out of the fits and to measure the cost on, such as 0.2",
    )
    study.add_argument("--depth", type=int, help="maximum depth of oblique trees")
    add_out(study, help="write OUT_compare.csv and OUT_compare.png (default: the name of DATA)")


def _data_options():
    """Return a parser with the options of the data and the clustering, for all three commands."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument(
        "data",
        metavar="DATA",
        help="file to cluster: .csv or .tsv (also .gz), .parquet, .feather, .npy or .npz",
    )
    parser.add_argument(
        "--n-clusters",
        "-k",
        type=int,
        help="number of clusters (default: 8; with --objective labels, the number of labels)",
    )
    parser.add_argument(
        "--classes",
        "--label",
        metavar="COLUMN",
        help="column of known classes, which is not used as a feature: the labels to explain with "
        "--objective labels; otherwise compare measures how well clusters match them",
    )
    parser.add_argument(
        "--objective",
        choices=OBJECTIVES,
        default="kmeans",
        help="clustering cost to minimise; labels = explain the labels of --classes (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--standardize",
        action="store_true",
        help="scale all columns to unit variance; recommended if they have different units",
    )
    parser.add_argument(
        "--reference-seed",
        "--seed",
        type=int,
        default=0,
        help="seed of the random numbers (default: %(default)s)",
    )
    table, names = parser.add_argument_group("columns of a table"), _list_of(str.strip)
    table.add_argument("--columns", type=names, metavar="A,B", help="use only these columns")
    table.add_argument(
        "--drop", type=names, default=(), metavar="A,B", help="do not use these columns"
    )
    table.add_argument(
        "--id",
        dest="id_column",
        metavar="COLUMN",
        help="column that names the rows, which is not used as a feature",
    )
    add_separator(table)
    table.add_argument(
        "--missing",
        choices=MISSING,
        default=MISSING[0],
        help="what to do with missing values: refuse = stop with an error, drop = leave out their "
        "rows, median = replace them by the median of the column, indicator = the same, and add a "
        "feature that is 1 where a value was missing (default: %(default)s)",
    )
    table.add_argument(
        "--categories",
        choices=CATEGORIES,
        default=CATEGORIES[0],
        help="what to do with string columns: one-hot = one feature of 0 and 1 per category, "
        "drop = leave them out (default: %(default)s)",
    )
    return parser


def _tree_options():
    """Return a parser with the options of the tree, for `fit` and `path`."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument(
        "--split",
        choices=SPLIT_KINDS,
        default="oblique",
        help="form of the tests: oblique = weighted sums of features, axis = single features "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--depth",
        type=_auto_or(int),
        default="auto",
        help="maximum depth of the tree (default: %(default)s)",
    )
    add_shape(parser)
    return parser


def _list_of(kind):
    """Return a parser of values that are separated by commas."""
    return lambda text: tuple(kind(part) for part in text.split(","))


def _auto_or(kind):
    """Return a parser of a number or of the word auto."""
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
        raise ValueError(
            "fit uses --classes as the labels to explain: add --objective labels, or use --drop to "
            "leave the column out."
        )
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
    print(f"\nThe labels, model, text, picture and page are in {folder}")


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
    print(f"\nThe table, picture, page and models are in {folder}")


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
    print(f"\nThe table is in {table_path}, the picture in {picture_path}")


def _load(options):
    """Load the data of a file, and print what was done with its columns."""
    if options.objective == "labels":
        if options.classes is None:
            raise ValueError("--objective labels needs --classes COLUMN, the labels to explain.")
        if options.n_clusters is not None:
            raise ValueError(
                "--objective labels has one cluster per label; leave out --n-clusters."
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
