"""How seconds and memory of a path grow with rows, columns, clusters and depth.

    python -m benchmarks.growth
    python -m benchmarks.growth --quick
    python -m benchmarks.growth --axes rows depth --repeats 3

Blobs that overlap, of a middling size; one axis at a time is doubled. A path of ten lambdas stands
beside its reference, KMeans(k, n_init=10, random_state=0), and CART, DecisionTreeClassifier of the
same depth on the labels of the reference. Seconds are CPU seconds of one thread, kernels compiled
first, the best of some repeats; memory is the most that a process grows by, X not included. Every
size has a fresh process (Linux).

Below, the law size ** exponent that fits best, by least squares in the logarithms, and its
residual: the root of the mean squared deviation, in percent. Depth counts as 2 ** depth leaves.
Where a method takes less than 1 MB, its memory is not fitted.
"""

import argparse
import json
import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks.path import peak, reset_peak
from benchmarks.processes import in_new_process
from tao_cluster import tao_path

BASE = {"rows": 4000, "columns": 16, "clusters": 8, "depth": 5}
GRID = {
    "rows": (2000, 4000, 8000, 16000, 32000),
    "columns": (8, 16, 32, 64, 128),
    "clusters": (4, 8, 16, 32),
    "depth": (4, 5, 6, 7),
}
QUICK_BASE = {"rows": 1000, "columns": 8, "clusters": 4, "depth": 4}
QUICK_GRID = {
    "rows": (500, 1000, 2000),
    "columns": (4, 8, 16),
    "clusters": (4, 8, 16),
    "depth": (3, 4, 5),
}
METHODS = ("KMeans", "CART", "path")
# Less memory is that of the allocator, not of the method.
_LEAST_MB = 1.0


def methods(X, reference, clusters, depth):
    """Name to the function without arguments that is measured."""
    common = {"depth": depth, "reference": reference, "random_state": 0}
    return {
        "KMeans": lambda: KMeans(clusters, n_init=10, random_state=0).fit(X),
        "CART": lambda: DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
            X, reference.labels_
        ),
        "path": lambda: tao_path(X, clusters, **common),
    }


def resident():
    """Memory of the process now, bytes (Linux)."""
    reset_peak()
    return peak()


def measure(rows, columns, clusters, depth, repeats):
    """Seconds and megabytes of every method at one size, in this process.

    Returns
    -------
    dict of name to (seconds, megabytes)
    """
    X, _ = make_blobs(rows, columns, centers=2 * clusters, cluster_std=4, random_state=0)
    with threadpool_limits(1):
        small = X[: 20 * clusters]
        few = KMeans(clusters, n_init=1, random_state=0).fit(small)
        for run in methods(small, few, clusters, depth).values():
            run()  # compiles
        reference = KMeans(clusters, n_init=10, random_state=0).fit(X)
        found = {}
        for name, run in methods(X, reference, clusters, depth).items():
            best, before = np.inf, resident()
            for _ in range(repeats):
                start = time.process_time()
                run()
                best = min(best, time.process_time() - start)
            found[name] = (best, (peak() - before) / 2**20)
    return found


def law(sizes, values):
    """Exponent of the power of the size that fits best, and its residual in percent.

    Least squares in the logarithms; nan where there are not two values above 0.
    """
    x, y = np.log(sizes), np.log(np.maximum(values, np.finfo(float).tiny))
    if len(x) < 2 or np.min(values) <= 0:
        return np.nan, np.nan
    slope, offset = np.polyfit(x, y, 1)
    residual = np.sqrt(np.mean((y - offset - slope * x) ** 2))
    return slope, 100 * np.expm1(residual)


def report(axis, sizes, found):
    """Print the table of one axis, and the laws below."""
    head = "".join(f"{name + ' s':>11s}{'MB':>9s}" for name in METHODS)
    print(f"\n{axis:>9s}{head}")
    table = np.array([[one[name] for name in METHODS] for one in found])  # (sizes, methods, 2)
    for size, line in zip(sizes, table, strict=True):
        cells = "".join(f"{seconds:11.3f}{memory:9.1f}" for seconds, memory in line)
        print(f"{size:9d}{cells}")
    scale = 2.0 ** np.array(sizes) if axis == "depth" else np.array(sizes, dtype=float)
    laws = np.array(
        [
            [law(scale, table[:, m, 0]), memory_law(scale, table[:, m, 1])]
            for m in range(len(METHODS))
        ]
    )  # (methods, seconds and memory, exponent and residual)
    for i, (name, digits) in enumerate((("exponent", 2), ("resid. %", 0))):
        cells = "".join(
            f"{time_:11.{digits}f}{space:9.{digits}f}" for time_, space in laws[:, :, i]
        )
        print(f"{name:>9s}{cells}".replace("nan", "  -"), flush=True)


def memory_law(sizes, megabytes):
    """The law of the memory, where there is enough of it."""
    return law(sizes, megabytes) if np.min(megabytes) >= _LEAST_MB else (np.nan, np.nan)


def main():
    """Print a table for each axis."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", choices=GRID, nargs="+", default=list(GRID))
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(**json.loads(options.measure))))
        return
    base, grid = (QUICK_BASE, QUICK_GRID) if options.quick else (BASE, GRID)
    print("blobs, " + ", ".join(f"{axis} {size}" for axis, size in base.items()), end="")
    print(f", one axis at a time; best of {options.repeats}")
    known = {}  # the middling size is on every axis
    for axis in options.axes:
        for size in grid[axis]:
            key = tuple({**base, axis: size}.items())
            if key not in known:
                known[key] = in_new_process(
                    "benchmarks.growth", **dict(key), repeats=options.repeats
                )
        found = [known[tuple({**base, axis: size}.items())] for size in grid[axis]]
        report(axis, grid[axis], found)


if __name__ == "__main__":
    main()
