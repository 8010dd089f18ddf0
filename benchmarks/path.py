"""A path along lambda against the reference clustering: cost, size, time, memory.

    python -m benchmarks.path mnist --lambdas 11 27 68 168 416 1030 2554 6331 --n-jobs 2 --single
    python -m benchmarks.path letter --depth 7 --n-init 10 --lambdas 10 30 100 300

The reference is KMeans(k, n_init=10, random_state=0) with as many threads. Memory is the peak of
the whole process, X included, in multiples of X (Linux). --single also fits TAOClustering with its
defaults and this reference.
"""

import argparse
import re
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.datasets import DATASETS, load
from tao_cluster import DirectForm, TAOClustering, tao_path


def reset_peak():
    """Let the peak of the process's memory start anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """Largest memory of the process since the last reset, bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def describe(model):
    """One line of a fitted model."""
    tree = model.tree_
    return (
        f"{model.best_lambda_:9.4g} {model.cost_increase_:7.2f} {tree.n_nonzero:10d} "
        f"{tree.n_parameters:11d} {tree.n_leaves:7d} {model.history_[-1]['seconds']:9.1f}"
    )


def main():
    """Run the path that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--lambdas", type=float, nargs="+", help="default: chosen from the data")
    parser.add_argument("--depth", type=int)
    parser.add_argument("--init", default=TAOClustering().init)
    parser.add_argument("--n-init", type=int, default=DirectForm().n_init)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()

    X, k, depth = load(options.name, np.float32 if options.float32 else np.float64)
    depth = options.depth or depth
    # Kernels are compiled before the clock starts.
    tao_path(X[:: len(X) // 200], 2, [1.0], depth=2, random_state=0)
    start = time.perf_counter()
    with threadpool_limits(options.n_jobs):
        reference = KMeans(k, n_init=10, random_state=0).fit(X)
    reference_seconds = time.perf_counter() - start
    print(f"{options.name} {X.shape} {X.dtype}, k={k}, depth={depth}, {options.n_jobs} threads; ")
    print(f"reference {reference_seconds:.1f} s, peak {peak() / X.nbytes:.2f} X")
    common = {
        "depth": depth,
        "init": options.init,
        "algorithm": DirectForm(n_init=options.n_init),
        "n_jobs": options.n_jobs,
        "reference": reference,
        "random_state": options.seed,
    }
    reset_peak()
    print("   lambda  cost %  non-zeros  parameters  leaves   seconds")
    start = time.perf_counter()
    for model in tao_path(X, k, options.lambdas, **common):
        print(describe(model))
    seconds = time.perf_counter() - start
    print(f"path {seconds:.1f} s = {seconds / reference_seconds:.2f} of the reference, ", end="")
    print(f"peak {peak() / X.nbytes:.2f} X")
    if options.single:
        start = time.perf_counter()
        print(describe(TAOClustering(k, **common).fit(X)))
        seconds = time.perf_counter() - start
        print(f"one fit {seconds:.1f} s = {seconds / reference_seconds:.2f} of the reference")


if __name__ == "__main__":
    main()
