"""CPU time of every builder as a multiple of that of scikit-learn's tree, and how it grows.

    python -m benchmarks.builders
    python -m benchmarks.builders --rows 50000 --columns 20 --clusters 10 --repeats 3
    python -m benchmarks.builders --memory --rows 20000

The data are blobs of a given size, then of four times as many rows, columns and clusters. "x CART"
is the CPU time of the build over that of DecisionTreeClassifier(max_leaf_nodes=k) on the labels of
the reference in the same run. The last columns are the factors by which the seconds grow. One
thread, compiled kernels, best of some repeats that take turns. Trees of mixtures are built from
parameters, not from rows. With --memory, the table has the bytes per row by which the process grows
in addition to X (Linux), measured once per builder.
"""

import argparse
import ctypes

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import greedy
from benchmarks.evidence.pages.words import markdown
from benchmarks.greedy import best_times
from benchmarks.path import peak, reset_peak
from greedy.mixture_tree import grow_mixture

FACTOR = 4
BUILDERS = {
    "IMM": greedy.IMM(),
    "EMN": greedy.EMN(),
    "ExGreedy": greedy.ExGreedy(),
    "ExShallow": greedy.ExShallow(),
    "ExKMC, 2 k leaves": greedy.ExKMC(),
    "DP tree": greedy.DPTree(),
    "100 random trees": greedy.RandomCuts(),
    "Ex-kCenter": greedy.ExKCenter(),
    "Kauri": greedy.Kauri(),
    "SpEx, clique": greedy.SpEx(),
    "SpEx, 20 neighbours": greedy.SpEx(graph="knn"),
    "k-d tree": greedy.KDTree(),
    "CUBT": greedy.CUBT(),
    "CLTree": greedy.CLTree(),
}


def blobs(n_rows, n_columns, n_clusters):
    """Blobs that overlap, and a k-means of them."""
    X, _ = make_blobs(n_rows, n_columns, centers=2 * n_clusters, cluster_std=4, random_state=0)
    return X, KMeans(n_clusters, n_init=1, random_state=0).fit(X)


def builds(n_rows, n_columns, n_clusters):
    """Name to the function without arguments that builds, for blobs that overlap."""
    X, reference = blobs(n_rows, n_columns, n_clusters)
    centers, labels = reference.cluster_centers_, reference.labels_
    tree = DecisionTreeClassifier(max_leaf_nodes=n_clusters, random_state=0)
    spreads = np.array([X[labels == c].std(axis=0) for c in range(n_clusters)])
    mixture = (np.bincount(labels) / n_rows, centers, spreads)
    found = {"CART": lambda: tree.fit(X, labels)}
    for name, method in BUILDERS.items():
        found[name] = lambda method=method: method.build(X, None, centers, None, rng=0)
    found["Ex-SingleLink"] = lambda: greedy.ExSingleLink(n_clusters).fit(X)
    found["tree of a mixture"] = lambda: grow_mixture(*mixture)
    return found


def growths(size):
    """A size, and those with four times the rows, columns and clusters."""
    yield size
    for axis in range(3):
        yield tuple(value * FACTOR if i == axis else value for i, value in enumerate(size))


def print_memory(rows, columns, clusters):
    """Print a table with one line per builder."""
    found, lines = builds(rows, columns, clusters), []
    for name, build in found.items():
        ctypes.CDLL(None).malloc_trim(0)  # otherwise memory that is free already is used first
        reset_peak()
        before = peak()
        build()
        lines.append({"method": name, "bytes per row": f"{(peak() - before) / rows:.0f}"})
    print(markdown(lines))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--memory", action="store_true", help="bytes per row in place of seconds")
    options = parser.parse_args()
    size = (options.rows, options.columns, options.clusters)
    for build in builds(200, options.columns, options.clusters).values():
        build()  # compiles
    if options.memory:
        with threadpool_limits(limits=1):
            print_memory(*size)
        return
    sizes = list(growths(size))
    with threadpool_limits(limits=1):
        seconds = [best_times(builds(*size), options.repeats) for size in sizes]
    base = seconds[0]
    print(f"{size[0]} x {size[1]}, k={size[2]}; CART {base['CART']:.3f} s")
    print(f"{'method':20s}   CPU s  x CART | {FACTOR} n   {FACTOR} d   {FACTOR} k")
    for name, spent in base.items():
        growth = "  ".join(f"{grown[name] / max(spent, 1e-9):4.1f}" for grown in seconds[1:])
        print(f"{name:20s} {spent:7.3f} {spent / base['CART']:7.2f} | {growth}", flush=True)


if __name__ == "__main__":
    main()
