"""Many clusters: seconds, leaves, parameters and cost of trees as the number of clusters grows.

    python -m benchmarks.clusters
    python -m benchmarks.clusters --clusters 10 50 --data uniform --methods "TAO oblique" CART

The data are overlapping blobs, one per cluster, and uniform data, with 8 columns and 20 rows per
cluster (2000 to 10 000 rows). All methods explain the same reference, KMeans(k, n_init=3), which is
fitted beforehand. TAO axis, ExKMC and CART have at most two leaves per cluster, and TAO oblique has
its default settings. Seconds are CPU seconds of one thread with compiled kernels.
"""

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.evidence.measures import timed
from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, parser
from greedy import CART, IMM, ExGreedy, ExKMC, ExShallow
from tao_cluster import TAOClustering

COLUMNS, ROWS_PER_CLUSTER, FEWEST = 8, 20, 2000
CLUSTERS = (10, 50, 100, 200, 500)


def blobs(n_clusters, n_rows):
    """One blob per cluster; its scale is about a third of the distance to the nearest blob."""
    return make_blobs(n_rows, COLUMNS, centers=n_clusters, cluster_std=2.0, random_state=0)[0]


def uniform(n_clusters, n_rows):
    """Uniform rows, which have no clusters."""
    del n_clusters
    return np.random.default_rng(0).random((n_rows, COLUMNS))


DATA = {"blobs": blobs, "uniform": uniform}
METHODS = {
    "TAO oblique": TAOClustering,
    "TAO axis": lambda k, **terms: TAOClustering(k, split="axis", max_leaves=2 * k, **terms),
    "IMM": IMM,
    "ExKMC": ExKMC,
    "ExGreedy": ExGreedy,
    "ExShallow": ExShallow,
    "CART": CART,
}


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", choices=DATA, default="blobs")
    arguments.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    arguments.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    arguments.add_argument("--rows", type=int, help="default: 20 per cluster, at least 2000")
    options = arguments.parse_args()
    lines = []
    data = DATA[options.data]
    for method in options.methods:
        METHODS[method](5, random_state=0).fit(data(5, 300))  # compiles
    for k in options.clusters:
        X = data(k, options.rows or max(FEWEST, ROWS_PER_CLUSTER * k))
        reference = free_clustering(X, k, n_init=3)
        for method in options.methods:
            unfitted = METHODS[method](k, reference=reference, random_state=0)
            model, seconds = timed(lambda unfitted=unfitted, X=X: unfitted.fit(X))
            tree = model.tree_
            lines.append(
                {
                    "method": method,
                    "k": k,
                    "CPU s": f"{seconds:.2f}",
                    "leaves": tree.n_leaves,
                    "depth": tree.max_depth,
                    "parameters": tree.n_parameters,
                    "cost increase, %": f"{model.cost_increase_:.1f}",
                }
            )
    print(markdown(lines))


if __name__ == "__main__":
    main()
