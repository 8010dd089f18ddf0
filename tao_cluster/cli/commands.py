"""The command line: `tao-cluster demo`, `tao-cluster fit DATA` and `tao-cluster compare DATA`."""

import argparse
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

from .. import __version__
from ..estimator import TAOClustering
from ..inspection.comparison import METHODS, Comparison, compare
from ..search.settings import OBJECTIVES
from ..search.split_kinds import SPLIT_KINDS
from .columns import MISSING, Choices
from .demo import run_demo
from .loading import load_data


def main(argv=None):
    """Run the command line; returns the exit code (2 for bad input, after one sentence)."""
    options = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            options.run(options)
    except KeyboardInterrupt:
        _tell("interrupted.")
        return 130
    except (ValueError, OSError) as error:
        _tell(f"error: {error}")
        return 2
    return 0


def _tell(sentence):
    print("tao-cluster:", " ".join(sentence.split()), file=sys.stderr)


def _show_warning(message, *_, **__):
    _tell(f"warning: {message}")


def _parser():
    parser = argparse.ArgumentParser(
        prog="tao-cluster", description="Explainable clustering by decision trees."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo", help="compare methods on scikit-learn's digits and draw a tree"
    )
    demo.add_argument("--out", default="tao_digits.png", help="picture (default %(default)s)")
    demo.set_defaults(run=_demo)

    fit = commands.add_parser("fit", help="cluster a file by a tree")
    _add_data(fit)
    fit.add_argument(
        "--lambda",
        dest="lambda_",
        type=_lambda,
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
    fit.add_argument(
        "--split",
        choices=SPLIT_KINDS,
        default="oblique",
        help="tests of weighted sums or of single features (default %(default)s)",
    )
    fit.add_argument("--depth", type=int, default=5, help="of the tree (default %(default)s)")
    fit.add_argument("--max-rows", type=int, help="a sample of so many rows finds the tree")
    fit.add_argument(
        "--out", help="prefix of OUT_labels.csv and OUT_tree.json (default: DATA's name)"
    )
    fit.set_defaults(run=_fit)

    study = commands.add_parser("compare", help="fit methods to a file and compare their trees")
    _add_data(study)
    study.add_argument(
        "--methods",
        type=_names,
        metavar="A,B",
        help=f"of {', '.join(METHODS)} (default: all that know the objective)",
    )
    study.add_argument(
        "--leaves",
        type=_whole,
        metavar="N,M",
        help="of axis-aligned trees (default: 1, 2 and 4 times the number of clusters)",
    )
    study.add_argument("--parameters", type=_whole, metavar="N,M", help="of oblique trees, at most")
    study.add_argument(
        "--validation", type=float, metavar="SHARE", help="of the rows, held out of the fits"
    )
    study.add_argument("--depth", type=int, help="of oblique trees")
    study.add_argument(
        "--out", help="prefix of OUT_compare.csv and OUT_compare.png (default: DATA's name)"
    )
    study.set_defaults(run=_compare)
    return parser


def _add_data(parser):
    """What fits and comparisons ask about the data and their clustering."""
    parser.add_argument("data", metavar="DATA", help=".csv, .npy or .npz file, one row a line")
    parser.add_argument("--n-clusters", type=int, help="default 8; of labels their number")
    parser.add_argument(
        "--classes",
        metavar="COLUMN",
        help="of a .csv: labels to explain by --objective labels; of compare else to compare with",
    )
    parser.add_argument(
        "--objective", choices=OBJECTIVES, default="kmeans", help="default %(default)s"
    )
    parser.add_argument(
        "--standardize", action="store_true", help="columns to unit spread; best for tables"
    )
    parser.add_argument("--reference-seed", type=int, default=0, help="default %(default)s")
    parser.add_argument("--columns", type=_names, metavar="A,B", help="of a .csv: use only these")
    parser.add_argument(
        "--drop", type=_names, default=(), metavar="A,B", help="of a .csv: do not use these"
    )
    parser.add_argument(
        "--missing",
        choices=MISSING,
        default=MISSING[0],
        help="values of a .csv: drop their rows, or put the median (default %(default)s)",
    )


def _names(text):
    return tuple(name.strip() for name in text.split(","))


def _whole(text):
    return [int(number) for number in text.split(",")]


def _lambda(text):
    return text if text == "auto" else float(text)


def _demo(options):
    out = Path(options.out)
    _check_folder(out)
    if out.suffix.lower() not in {".png", ".pdf", ".svg"}:
        raise ValueError(f"{out}: expected a picture file, .png, .pdf or .svg.")
    run_demo(out)


def _fit(options):
    prefix = _prefix(options)
    labels_path, tree_path = Path(f"{prefix}_labels.csv"), Path(f"{prefix}_tree.json")
    _check_folder(labels_path)
    if options.classes and options.objective != "labels":
        raise ValueError("--classes of fit are labels to explain: add --objective labels.")
    data = _load(options)
    start = time.perf_counter()
    model = TAOClustering(
        8 if options.n_clusters is None else options.n_clusters,
        lambda_=options.lambda_,
        max_parameters=options.max_parameters,
        max_cost_increase=options.max_cost_increase,
        depth=options.depth,
        objective=options.objective,
        split=options.split,
        standardize=options.standardize,
        max_rows="auto" if options.max_rows is None else options.max_rows,
        random_state=options.reference_seed,
        verbose=int(sys.stderr.isatty()),
    ).fit(data.X, data.classes)
    name = f"TAO {options.split}"
    seconds = {name: time.perf_counter() - start}
    print(Comparison.of({name: model}, data.X, seconds=seconds))
    print("\n" + model.to_text(data.feature_names, max_terms=8))
    _write_labels(labels_path, model.labels_, data.rows)
    tree_path.write_text(model.tree_.to_json(indent=1), encoding="utf-8")
    print(f"\nLabels in {labels_path}, tree in {tree_path}")


def _compare(options):
    prefix = _prefix(options)
    table_path, picture_path = Path(f"{prefix}_compare.csv"), Path(f"{prefix}_compare.png")
    _check_folder(table_path)
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
    axes = found.plot(new=is_held, title=f"{Path(options.data).name}, {_clusters(options)}")
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
    choices = Choices(options.columns, options.drop, options.missing, options.classes)
    data = load_data(options.data, choices)
    for note in data.notes:
        _tell(f"{options.data}: {note}")
    return data


def _clusters(options):
    if options.objective == "labels":
        return f"labels {options.classes}"
    return f"k={8 if options.n_clusters is None else options.n_clusters}"


def _prefix(options):
    return options.out or Path(options.data).stem


def _write_labels(path, labels, rows):
    """A cluster a line; with the numbers of the rows of the file, from 0, if some are left out."""
    columns = {"cluster": labels} if rows is None else {"row": rows, "cluster": labels}
    pd.DataFrame(columns).to_csv(path, index=False)


def _check_folder(path):
    """Fail before the work, not after it."""
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent}: no such folder to write to.")
