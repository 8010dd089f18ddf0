"""Axis-aligned trees of equal size: the setting of table 1 of the KDD'22 paper.

    python -m benchmarks.axis digits fifa19 adult letter

For k, 2k and 4k leaves: CART fitted to the labels of k-means, ExKMC, axis-aligned TAO from it as
the paper describes (penalty method; lambda = 0, since any price prunes most tests while mu is
small), from ExKMC, ExShallow and CART without a search for the structure, and with its defaults
here. Besides, ExShallow and ExGreedy with a leaf a cluster.
"""

import argparse

from benchmarks.datasets import DATASETS, load
from greedy import ExKMC
from tao_cluster import TAOClustering, compare

PUBLISHED = {"algorithm": "penalty", "refine": False, "lambda_": 0.0}


def main():
    """Print the table of each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", choices=DATASETS, nargs="+")
    options = parser.parse_args()
    for name in options.names:
        X, k, _ = load(name)
        sizes = [k, 2 * k, 4 * k]
        as_published = {
            f"TAO, paper, {n} leaves": TAOClustering(
                split="axis", init=ExKMC(max_leaves=n), **PUBLISHED
            )
            for n in sizes
        }
        without_search = {
            f"TAO, no search, {n} leaves": TAOClustering(split="axis", max_leaves=n, relax=False)
            for n in sizes
        }
        methods = {"CART": "cart", "ExKMC": "exkmc", "ExShallow": "exshallow"}
        methods |= {"ExGreedy": "exgreedy", **as_published, **without_search, "TAO": "tao-axis"}
        print(f"{name} {X.shape}, k={k}")
        print(compare(X, k, methods, budgets=sizes), flush=True)


if __name__ == "__main__":
    main()
