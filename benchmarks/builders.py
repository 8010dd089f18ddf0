"""CPU time and memory of every builder of axis-aligned trees, and how the time grows.

    python -m benchmarks.builders
    python -m benchmarks.builders --rows 50000 --columns 20 --clusters 10 --repeats 3
    python -m benchmarks.builders --memory --rows 20000

The data are blobs of a given size, then of four times as many rows, columns and clusters. "x CART"
is the CPU time of the build divided by that of DecisionTreeClassifier(max_leaf_nodes=k) on the
labels of the reference in the same run. The last columns are the factors by which the seconds grow.
Builds have one thread and compiled kernels, and the best of some repeats counts. Trees of mixtures
are built from parameters, not from rows. With --memory, the table has the bytes per row by which
the process grows in addition to X (Linux), measured once per builder.
"""

import ctypes
import time

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import greedy
from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, parser, peak, reset_peak
from greedy.baselines.mixture_tree import grow_mixture

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


def blobs(n_rows, n_columns, k):
    """Return blobs that overlap, and a k-means of them."""
    X, _ = make_blobs(n_rows, n_columns, centers=2 * k, cluster_std=4, random_state=0)
    return X, free_clustering(X, k, n_init=1)


def growths(size):
    """Return a size, and those with four times the rows, columns and clusters."""
    return [size] + [
        tuple(FACTOR * n if i == axis else n for i, n in enumerate(size)) for axis in range(3)
    ]


def builds(n_rows, n_columns, k):
    """Name to the function without arguments that builds, for blobs that overlap."""
    X, reference = blobs(n_rows, n_columns, k)
    centers, labels = reference.cluster_centers_, reference.labels_
    tree = DecisionTreeClassifier(max_leaf_nodes=k, random_state=0)
    scales = np.array([X[labels == c].std(axis=0) for c in range(k)])
    mixture = (np.bincount(labels) / n_rows, centers, scales)
    found = {"CART": lambda: tree.fit(X, labels)}
    for name, method in BUILDERS.items():
        found[name] = lambda method=method: method.build(X, None, centers, None, rng=0)
    found["Ex-SingleLink"] = lambda: greedy.ExSingleLink(k).fit(X)
    found["tree of a mixture"] = lambda: grow_mixture(*mixture)
    return found


def best_times(builds, repeats):
    """Least CPU seconds of each function; they take turns, so that noise hits all alike."""
    seconds = dict.fromkeys(builds, np.inf)
    for _ in range(repeats):
        for name, build in builds.items():
            start = time.process_time()
            build()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def memory(found, n_rows):
    """Return a line with the bytes per row for each builder."""
    for name, build in found.items():
        ctypes.CDLL(None).malloc_trim(0)  # otherwise memory that is free already is used first
        reset_peak()
        before = peak()
        build()
        yield {"method": name, "bytes per row": f"{(peak() - before) / n_rows:.0f}"}


def times(size, repeats):
    """Return a line with the seconds and their growth for each builder."""
    base, *others = (best_times(builds(*each), repeats) for each in growths(size))
    for name, spent in base.items():
        factors = (f"{other[name] / max(spent, 1e-9):.1f}" for other in others)
        line = {"method": name, "CPU s": f"{spent:.3f}", "x CART": f"{spent / base['CART']:.2f}"}
        yield line | dict(zip((f"{FACTOR} n", f"{FACTOR} d", f"{FACTOR} k"), factors, strict=True))


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5000)
    arguments.add_argument("--columns", type=int, default=20)
    arguments.add_argument("--clusters", type=int, default=10)
    arguments.add_argument("--repeats", type=int, default=2)
    arguments.add_argument("--memory", action="store_true", help="bytes per row, no seconds")
    options = arguments.parse_args()
    size = (options.rows, options.columns, options.clusters)
    with threadpool_limits(limits=1):
        for build in builds(200, *size[1:]).values():
            build()  # compiles
        rows = memory(builds(*size), size[0]) if options.memory else times(size, options.repeats)
        print(markdown(list(rows)))


if __name__ == "__main__":
    main()
