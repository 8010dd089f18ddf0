"""The command line: `tao-cluster demo` and `tao-cluster fit DATA`."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from .. import __version__
from ..estimator import TAOClustering
from ..inspection.comparison import format_table, measure_tree
from ..problem.reference import FreeClustering
from ..search.settings import OBJECTIVES
from ..search.split_kinds import SPLIT_KINDS
from .demo import run_demo
from .loading import load_data


def main(argv=None):
    """Run the command line; returns the exit code (2 for bad input, after one sentence)."""
    options = _parser().parse_args(argv)
    try:
        options.run(options)
    except KeyboardInterrupt:
        print("tao-cluster: interrupted.", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        sentence = " ".join(str(error).split())
        print(f"tao-cluster: error: {sentence}", file=sys.stderr)
        return 2
    return 0


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
    fit.add_argument("data", metavar="DATA", help=".csv, .npy or .npz file, one row a line")
    fit.add_argument("--n-clusters", type=int, default=8, help="default %(default)s")
    fit.add_argument(
        "--lambda",
        dest="lambda_",
        type=float,
        default=10.0,
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
        "--objective", choices=OBJECTIVES, default="kmeans", help="default %(default)s"
    )
    fit.add_argument(
        "--split",
        choices=SPLIT_KINDS,
        default="oblique",
        help="tests of weighted sums or of single features (default %(default)s)",
    )
    fit.add_argument("--depth", type=int, default=5, help="of the tree (default %(default)s)")
    fit.add_argument("--max-rows", type=int, help="a sample of so many rows finds the tree")
    fit.add_argument("--reference-seed", type=int, default=0, help="default %(default)s")
    fit.add_argument(
        "--out", help="prefix of OUT_labels.csv and OUT_tree.json (default: DATA's name)"
    )
    fit.set_defaults(run=_fit)
    return parser


def _demo(options):
    out = Path(options.out)
    _check_folder(out)
    if out.suffix.lower() not in {".png", ".pdf", ".svg"}:
        raise ValueError(f"{out}: expected a picture file, .png, .pdf or .svg.")
    run_demo(out)


def _fit(options):
    prefix = options.out or Path(options.data).stem
    labels_path, tree_path = Path(f"{prefix}_labels.csv"), Path(f"{prefix}_tree.json")
    _check_folder(labels_path)
    X, feature_names = load_data(options.data)
    start = time.perf_counter()
    model = TAOClustering(
        options.n_clusters,
        lambda_=options.lambda_,
        max_parameters=options.max_parameters,
        max_cost_increase=options.max_cost_increase,
        depth=options.depth,
        objective=options.objective,
        split=options.split,
        max_rows=options.max_rows,
        random_state=options.reference_seed,
        verbose=int(sys.stderr.isatty()),
    ).fit(X)
    tree = model.tree_
    seconds = time.perf_counter() - start
    free = FreeClustering(model.free_labels_, model.free_centers_, model.free_inertia_)
    objective = OBJECTIVES[options.objective]
    row = measure_tree(f"TAO {options.split}", tree, X, objective, free, seconds)
    print(format_table([row]))
    print("\n" + tree.to_text(feature_names, max_terms=8))
    np.savetxt(labels_path, model.labels_, fmt="%d", header="cluster", comments="")
    tree_path.write_text(tree.to_json(indent=1), encoding="utf-8")
    print(f"\nLabels in {labels_path}, tree in {tree_path}")


def _check_folder(path):
    """Fail before the work, not after it."""
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent}: no such folder to write to.")
