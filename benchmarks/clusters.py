"""Many clusters: seconds, leaves, parameters and cost of trees as the number of clusters grows.

    python -m benchmarks.clusters
    python -m benchmarks.clusters --clusters 10 50

The data are overlapping blobs, one per cluster, with 8 columns and 20 rows per cluster (at least
2000). All methods explain the same reference, KMeans(k, n_init=3), which is
fitted beforehand. TAO axis, ExKMC and CART have at most two leaves per cluster, and TAO oblique has
its default settings. Seconds are CPU seconds of one thread with compiled kernels.
"""

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
    arguments.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    options = arguments.parse_args()
    lines = []
    for make in METHODS.values():
        make(5, random_state=0).fit(blobs(5, 300))  # compiles
    for k in options.clusters:
        X = blobs(k, max(FEWEST, ROWS_PER_CLUSTER * k))
        reference = free_clustering(X, k, n_init=3)
        for method, make in METHODS.items():
            unfitted = make(k, reference=reference, random_state=0)
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
