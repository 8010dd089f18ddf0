"""Many clusters: seconds, leaves, parameters and cost of trees as the number of clusters grows.

    python -m benchmarks.clusters
    python -m benchmarks.clusters --clusters 10 50 --data uniform --methods "TAO oblique" CART

Blobs that overlap, one a cluster, and uniform data; 20 rows a cluster, 2000 to 10 000, of 8
columns. All methods explain the same reference, KMeans(k, n_init=3), fitted beforehand, with their
defaults: CART has a leaf a cluster, ExKMC two, TAO what it takes. Seconds are CPU seconds of one
thread with kernels compiled.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from greedy import CART, IMM, ExGreedy, ExKMC, ExShallow
from tao_cluster import TAOClustering

COLUMNS, ROWS_A_CLUSTER, FEWEST = 8, 20, 2000
CLUSTERS = (10, 50, 100, 200, 500)


def blobs(n_clusters, n_rows):
    """Blobs, one a cluster, whose spread is about a third of the distance of the nearest."""
    return make_blobs(n_rows, COLUMNS, centers=n_clusters, cluster_std=2.0, random_state=0)[0]


def uniform(n_clusters, n_rows):
    """Uniform rows, where no clusters are."""
    del n_clusters
    return np.random.default_rng(0).random((n_rows, COLUMNS))


DATA = {"blobs": blobs, "uniform": uniform}
METHODS = {
    "TAO oblique": TAOClustering,
    "TAO axis": lambda k, **terms: TAOClustering(k, split="axis", **terms),
    "IMM": IMM,
    "ExKMC": ExKMC,
    "ExGreedy": ExGreedy,
    "ExShallow": ExShallow,
    "CART": CART,
}


def main():
    """Print the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--rows", type=int, help="default: 20 a cluster, at least 2000")
    options = parser.parse_args()
    print("| data | k | method | seconds | leaves | depth | parameters | cost increase % |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.data:
        small = DATA[name](5, 300)
        for method in options.methods:
            METHODS[method](5, random_state=0).fit(small)  # compiles
        for k in options.clusters:
            X = DATA[name](k, options.rows or max(FEWEST, ROWS_A_CLUSTER * k))
            reference = KMeans(k, n_init=3, random_state=0).fit(X)
            for method in options.methods:
                start = time.process_time()
                model = METHODS[method](k, reference=reference, random_state=0).fit(X)
                seconds, tree = time.process_time() - start, model.tree_
                print(
                    f"| {name} | {k} | {method} | {seconds:.2f} | {tree.n_leaves} | "
                    f"{tree.max_depth} | {tree.n_parameters} | {model.cost_increase_:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
