"""Memory and time of one fit on narrow data, in bytes a row.

    python -m benchmarks.memory --rows 300000 --columns 20 --clusters 20 --depth 6
    python -m benchmarks.memory --algorithm penalty --holders 12
    python -m benchmarks.memory --max-rows 60000

The data are float32: several round blobs a cluster, of unit spread. The reference is fitted
beforehand and given, and a small fit compiles the kernels; then the peak of the process's memory
(Linux) is that of the fit. --holders lists the lines that hold most when numpy's memory is at its
largest, from a run of its own under tracemalloc.
"""

import argparse
import threading
import time
import tracemalloc

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.path import peak, reset_peak
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering

_BLOBS_PER_CLUSTER = 5
_SCALE = 2.0  # spread of the blobs' centres, where that of a blob is 1
_REFERENCE_ROWS = 50_000
_SMALL = 5_000
_EVERY = 0.05  # seconds between looks at tracemalloc


def blobs(n_rows, n_columns, n_clusters, seed=0):
    """Rows of blobs, several a cluster: float32 array of shape (n_rows, n_columns)."""
    rng = np.random.default_rng(seed)
    centers = _SCALE * rng.normal(size=(_BLOBS_PER_CLUSTER * n_clusters, n_columns))
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    X += centers.astype(np.float32)[rng.integers(len(centers), size=n_rows)]
    return X


def largest_holders(work, n_lines):
    """Do some work; lines that held most of numpy's memory about when it was largest.

    Returns
    -------
    (int, list of str), bytes at the peak, and lines
    """
    done, snapshots = threading.Event(), []
    most = [0]

    def watch():
        while not done.wait(_EVERY):
            now = tracemalloc.get_traced_memory()[0]
            if now > 1.02 * most[0]:
                most[0] = now
                snapshots[:] = [tracemalloc.take_snapshot()]

    watcher = threading.Thread(target=watch)
    tracemalloc.start(3)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    lines = []
    for held in snapshots[0].statistics("traceback")[:n_lines] if snapshots else ():
        where = " < ".join(
            f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno}"
            for frame in reversed(held.traceback)
        )
        lines.append(f"{held.size / 1e6:8.1f} MB  {where}")
    return size, lines


def _algorithm(options, max_rows):
    """Return the algorithm that the command line asks for, with a sample of at most `max_rows`."""
    direct = DirectForm(max_rows=max_rows)
    return direct if options.algorithm == "direct" else PenaltyMethod(refine=direct)


def main():
    """Measure the fit that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--lambda", type=float, dest="lambda_", help="default: rows / 300")
    parser.add_argument("--split", default="oblique", choices=["oblique", "axis"])
    parser.add_argument("--algorithm", default="direct", choices=["direct", "penalty"])
    parser.add_argument("--max-rows", type=int, help="of the sample that finds the tree; all rows")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--holders", type=int, default=0, help="lines of the largest holders")
    options = parser.parse_args()

    X = blobs(options.rows, options.columns, options.clusters)
    reference = KMeans(options.clusters, n_init=3, random_state=0).fit(X[:_REFERENCE_ROWS])
    lambda_ = options.lambda_ or options.rows / 300
    parameters = {
        "depth": options.depth,
        "split": options.split,
        "n_jobs": options.n_jobs,
        "reference": reference.cluster_centers_,
        "random_state": 0,
    }
    share = min(1.0, _SMALL / options.rows)
    small = TAOClustering(options.clusters, lambda_=share * lambda_, **parameters)
    small.set_params(algorithm=_algorithm(options, options.max_rows and _SMALL // 2))
    small.fit(X[:_SMALL])

    parameters["algorithm"] = _algorithm(options, options.max_rows)
    model = TAOClustering(options.clusters, lambda_=lambda_, **parameters)
    print(f"X {X.shape} {X.dtype}, {X.nbytes / 1e6:.0f} MB; lambda {lambda_:g}")
    reset_peak()
    before, start = peak(), time.perf_counter()
    model.fit(X)
    seconds, grown = time.perf_counter() - start, peak() - before
    print(
        f"cost increase {model.cost_increase_:.2f} %, {model.tree_.n_parameters} parameters, "
        f"{model.tree_.n_leaves} leaves\n"
        f"{seconds:.1f} s, peak growth {grown / 1e6:.0f} MB = {grown / len(X):.0f} bytes a row "
        f"= {grown / X.nbytes:.1f} X"
    )
    if options.holders:
        size, lines = largest_holders(lambda: model.fit(X), options.holders)
        print(f"tracemalloc peak {size / 1e6:.0f} MB = {size / len(X):.0f} bytes a row; largest:")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
