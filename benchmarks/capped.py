"""Cost of oblique trees whose tests have at most 1, 2 or 3 features, at equal parameters.

    python -m benchmarks.capped digits:40,60,100 wine:10,20 breast_cancer:10,20 avila:10,20

prints a table row per data set and limit of parameters. A cell has the cost increase in percent,
and in brackets the parameters and leaves of the tree.
"""

import argparse

from benchmarks.datasets import load
from tao_cluster import DirectForm, TAOClustering

CAPS = (1, 2, 3, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="+", metavar="NAME:SIZES", help="such as digits:40,60,100")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| data, parameters | 1 feature | 2 features | 3 features | no cap |")
    print("|---|---|---|---|---|", flush=True)
    for given in options.names:
        name, _, sizes = given.partition(":")
        X, k, _ = load(name)
        for size in map(int, sizes.split(",")):
            cells = [cell(X, k, size, cap, options.seed) for cap in CAPS]
            print(f"| {name}, {size} | {' | '.join(cells)} |", flush=True)


def cell(X, k, size, cap, seed):
    """Cost increase, parameters and leaves of the tree with a cap on features per test."""
    algorithm = DirectForm(max_features_per_test=cap)
    model = TAOClustering(k, max_parameters=size, algorithm=algorithm, random_state=seed).fit(X)
    tree = model.tree_
    return f"{model.cost_increase_:.2f} ({tree.n_parameters}, {tree.n_leaves})"


if __name__ == "__main__":
    main()
