"""Functions that time methods on blobs, and the memory of every builder of axis-aligned trees.

    python -m benchmarks.builders --memory --rows 20000

prints the bytes per row by which the process grows in addition to X (Linux), measured once per
builder with compiled kernels. Trees of mixtures are built from parameters, not from rows.
"""

import ctypes

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import greedy
from benchmarks.evidence.measures import timed
from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, parser, peak, reset_peak
from greedy.baselines.mixture_tree import grow_mixture

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


def builds(X, reference):
    """Return the function without arguments of each method that builds for a k-means of X."""
    centers, labels = reference.cluster_centers_, reference.labels_
    k = len(centers)
    tree = DecisionTreeClassifier(max_leaf_nodes=k, random_state=0)
    scales = np.array([X[labels == c].std(axis=0) for c in range(k)])
    mixture = (np.bincount(labels) / len(X), centers, scales)
    found = {"CART": lambda: tree.fit(X, labels)}
    for name, method in BUILDERS.items():
        found[name] = lambda method=method: method.build(X, None, centers, None, rng=0)
    found["Ex-SingleLink"] = lambda: greedy.ExSingleLink(k).fit(X)
    found["tree of a mixture"] = lambda: grow_mixture(*mixture)
    return found


def best_times(functions):
    """Return the least CPU seconds of up to three calls of each function.

    The functions take turns, so that noise hits all alike. What has taken two seconds is not called
    again.
    """
    seconds = {name: [] for name in functions}
    for _ in range(3):
        for name, function in functions.items():
            if sum(seconds[name]) < 2:
                seconds[name].append(timed(function)[1])
    return {name: min(each) for name, each in seconds.items()}


def memory(found, n_rows):
    """Return a line with the bytes per row for each builder."""
    for name, build in found.items():
        ctypes.CDLL(None).malloc_trim(0)  # otherwise memory that is free already is used first
        reset_peak()
        before = peak()
        build()
        yield {"method": name, "bytes per row": f"{(peak() - before) / n_rows:.0f}"}


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5000)
    arguments.add_argument("--columns", type=int, default=20)
    arguments.add_argument("--clusters", type=int, default=10)
    arguments.add_argument("--memory", action="store_true", required=True)
    options = arguments.parse_args()
    n_rows, *others = options.rows, options.columns, options.clusters
    with threadpool_limits(limits=1):
        for build in builds(*blobs(200, *others)).values():
            build()  # compiles
        print(markdown(list(memory(builds(*blobs(n_rows, *others)), n_rows))))


if __name__ == "__main__":
    main()
