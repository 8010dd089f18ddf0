"""Speed and memory of the axis-aligned builders against scikit-learn's decision tree.

    python -m benchmarks.greedy
    python -m benchmarks.greedy pix20k_784_10 --repeats 5 --order F

CPU seconds of the build alone, one thread, kernels compiled, best of some repeats that take
turns. The yardstick of the same run is DecisionTreeClassifier(max_leaf_nodes=k) on the labels
of the reference, KMeans(k, n_init=1, random_state=0). "limit" is the goal in multiples of it.
Memory is the most that a build allocates beyond X, beside the size of X and of the n x k
distances.
"""

import argparse
import importlib.util
import os
import time
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from greedy import build_exgreedy, build_exkmc, build_exshallow, build_imm

# The generator of the data, make_blobs.py, lies in the folder `tools` beside the data sets.
TOOLS_DIR = Path(
    os.environ.get("TAO_CLUSTER_TOOLS", Path(__file__).parents[2] / "shared" / "tools")
)

LIMITS = {
    "blob200k_20_20": {"IMM": 0.12, "ExKMC": 0.20, "ExGreedy": 0.45, "ExShallow": 0.50},
    "pix20k_784_10": {"IMM": 0.35, "ExKMC": 0.90, "ExGreedy": 1.1, "ExShallow": 1.2},
}


def methods(X, centers, labels):
    """Name to the function without arguments that builds."""
    k = len(centers)
    return {
        "CART": lambda: DecisionTreeClassifier(max_leaf_nodes=k, random_state=0).fit(X, labels),
        "IMM": lambda: build_imm(X, centers),
        "ExKMC": lambda: build_exkmc(X, centers, max_leaves=4 * k),
        "ExGreedy": lambda: build_exgreedy(X, centers),
        "ExShallow": lambda: build_exshallow(X, centers),
    }


def load(name, order, dtype):
    """Data set of the generator and its reference centres and labels."""
    spec = importlib.util.spec_from_file_location("make_blobs", TOOLS_DIR / "make_blobs.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    X, k = generator.make(name)
    reference = KMeans(k, n_init=1, random_state=0).fit(X)
    return np.asarray(X, order=order, dtype=dtype), reference.cluster_centers_, reference.labels_


def best_times(builds, repeats):
    """Least CPU seconds of each function; they take turns, so that noise hits all alike."""
    seconds = dict.fromkeys(builds, np.inf)
    for _ in range(repeats):
        for name, build in builds.items():
            start = time.process_time()
            build()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def peak_memory(build):
    """Most bytes allocated at once during a call, beyond what there was before."""
    tracemalloc.start()
    build()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main():
    """Print one table a data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(LIMITS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--order", choices=["C", "F"], default="C")
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    options = parser.parse_args()
    for name in options.names:
        X, centers, labels = load(name, options.order, options.dtype)
        k = len(centers)
        for build in methods(X[: 50 * k], centers, labels[: 50 * k]).values():
            build()  # compiles
        builds = methods(X, centers, labels)
        with threadpool_limits(limits=1):
            seconds = best_times(builds, options.repeats)
            distances = len(X) * k * 8
            print(
                f"{name} {X.shape} {X.dtype} {options.order}, k={k}: X {X.nbytes / 2**20:.0f} MB,"
            )
            print(f"distances {distances / 2**20:.1f} MB")
            print("method     cpu s  x CART  limit  memory MB")
            for method, build in builds.items():
                ratio = seconds[method] / seconds["CART"]
                limit = LIMITS.get(name, {}).get(method, float("nan"))
                memory = peak_memory(build) / 2**20
                print(
                    f"{method:9s} {seconds[method]:6.2f} {ratio:7.3f} {limit:6.2f} {memory:10.1f}"
                )
            print(flush=True)


if __name__ == "__main__":
    main()
