"""All methods on one free clustering: what their trees of k, 2 k and 4 k leaves cost.

    python -m benchmarks.field digits iris wine mice anuran avila letter fifa19 adult
    python -m benchmarks.field digits --methods tao-axis kauri --seconds

A row is a method, a column a number of leaves; cells are percent over KMeans(n_init=10,
random_state=0), with --seconds the time of the fit beside it. Methods with a leaf a cluster have
the first column alone; where a tree has other leaves than asked for, their number is in brackets.
"""

import argparse

import pandas as pd
from tao_cluster.comparison import METHODS

from benchmarks.datasets import DATASETS, load
from tao_cluster import compare

AXIS = [name for name, method in METHODS.items() if not method.is_path]


def main():
    """Print the table of each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", choices=DATASETS, nargs="+")
    parser.add_argument("--methods", choices=AXIS, nargs="+", default=AXIS)
    parser.add_argument("--seconds", action="store_true")
    options = parser.parse_args()
    for name in options.names:
        X, k, _ = load(name)
        sizes = [k, 2 * k, 4 * k]
        found = compare(X, k, options.methods, budgets=sizes)
        print(f"{name} {X.shape}, k={k}")
        print(table(found, sizes, options.seconds).to_string(na_rep="-"), flush=True)
        for note in found.notes:
            print("  " + note)
        print(flush=True)


def table(found, sizes, with_seconds):
    """Costs of a comparison by method and number of leaves."""
    cells = {}
    for title, models in found.series.items():
        cells[title] = dict.fromkeys(sizes)
        for size, model in zip(sizes, models, strict=False):
            cost, leaves = model.cost_increase_, model.tree_.n_leaves
            cell = f"{cost:.2f}" + (f" [{leaves}]" if leaves != size else "")
            if with_seconds:
                name = next(name for name, other in found.models.items() if other is model)
                cell += f" {found.table.loc[name, 'seconds']:.2f} s"
            cells[title][size] = cell
    return pd.DataFrame(cells).T


if __name__ == "__main__":
    main()
