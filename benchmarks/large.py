"""A default fit of very many rows beside the free clustering: seconds, bytes a row.

    python -m benchmarks.large --rows 10000000 --columns 20 --clusters 20

The data are float32 blobs (see benchmarks.memory). KMeans(n_init=1, random_state=0) is what a user
would run without a tree; its centres are given as the reference, so that the fit is what the tree
costs beyond it, unless --own-reference leaves the free clustering, ten restarts, to the fit. A
small fit compiles the kernels. Peaks are of the process beyond what it had before (Linux).
"""

import argparse
import time

from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.memory import blobs
from benchmarks.path import peak, reset_peak
from tao_cluster import DirectForm, TAOClustering

_SMALL = 5_000


def measured(work):
    """Result of some work, and the CPU and wall seconds and the memory that it took."""
    reset_peak()
    before, cpu, wall = peak(), time.process_time(), time.perf_counter()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall, peak() - before


def main():
    """Print a line for the free clustering and one for the fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--max-rows", type=int, help="default: that of TAOClustering")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--own-reference", action="store_true")
    options = parser.parse_args()

    X, k = blobs(options.rows, options.columns, options.clusters), options.clusters
    parameters = {"n_jobs": options.n_jobs, "random_state": 0}
    if options.max_rows is not None:
        parameters["algorithm"] = DirectForm(max_rows=options.max_rows)
    TAOClustering(k, **parameters).fit(X[:_SMALL])
    print(f"X {X.shape} {X.dtype}, {X.nbytes / 1e6:.0f} MB, k={k}, {options.n_jobs} threads")

    def told(name, cpu, wall, grown):
        print(f"{name:20s} {cpu:9.1f} {wall:9.1f} {grown / len(X):13.0f}", flush=True)

    print(f"{'':20s} {'CPU s':>9s} {'wall s':>9s} {'bytes a row':>13s}")
    with threadpool_limits(options.n_jobs):
        found, *cost = measured(lambda: KMeans(k, n_init=1, random_state=0).fit(X))
    told("KMeans(n_init=1)", *cost)
    if not options.own_reference:
        parameters["reference"] = found.cluster_centers_
    model, *cost = measured(lambda: TAOClustering(k, **parameters).fit(X))
    told("TAOClustering", *cost)
    print(
        f"cost increase {model.cost_increase_:.2f} %, {model.tree_.n_parameters} parameters, "
        f"{model.tree_.n_leaves} leaves"
    )


if __name__ == "__main__":
    main()
