"""Speed and memory of the axis-aligned builders against scikit-learn's decision tree.

    python -m benchmarks.greedy
    python -m benchmarks.greedy pix20k_784_10 --repeats 5 --order F
    python -m benchmarks.greedy blob200k_20_20 --fit --repeats 15

CPU seconds of the build alone, one thread, kernels compiled, best of some repeats that take
turns. The yardstick of the same run is DecisionTreeClassifier(max_leaf_nodes=k) on the labels
of the reference, KMeans(k, n_init=1, random_state=0). "limit" is the goal in multiples of it.
Memory is the most that a fresh process grows by during a build, to be seen beside the sizes of
X and of the n x k distances. With --fit: what the fit of an estimator, given the fitted reference,
costs beside the build of the same tree, median of the ratios of builds and fits that take turns.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from greedy import IMM, ExGreedy, ExKMC, ExShallow

# The generator of the data, make_blobs.py, lies in the folder `tools` beside the data sets.
TOOLS_DIR = Path(
    os.environ.get("TAO_CLUSTER_TOOLS", Path(__file__).parents[2] / "shared" / "tools")
)

NAMES = ("X", "centers", "labels")

LIMITS = {
    "blob200k_20_20": {"IMM": 0.12, "ExKMC": 0.20, "ExGreedy": 0.45, "ExShallow": 0.50},
    "pix20k_784_10": {"IMM": 0.35, "ExKMC": 0.90, "ExGreedy": 1.1, "ExShallow": 1.2},
}


def methods(X, centers, labels):
    """Name to the function without arguments that builds."""
    k = len(centers)
    cart = DecisionTreeClassifier(max_leaf_nodes=k, random_state=0)
    found = {"CART": lambda: cart.fit(X, labels)}
    for name, method in ESTIMATORS.items():
        model = method(midpoints=False)
        if name == "ExKMC":
            model.set_params(max_leaves=4 * k)
        found[name] = lambda model=model: model.build(X, None, centers, None)
    return found


def load(name, order, dtype):
    """Data set of the generator and its reference centres and labels."""
    spec = importlib.util.spec_from_file_location("make_blobs", TOOLS_DIR / "make_blobs.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    X, k = generator.make(name)
    reference = KMeans(k, n_init=1, random_state=0).fit(X)
    return np.asarray(X, order=order, dtype=dtype), reference.cluster_centers_, reference.labels_


ESTIMATORS = {"IMM": IMM, "ExKMC": ExKMC, "ExGreedy": ExGreedy, "ExShallow": ExShallow}
MOST_OF_FIT = 1.12  # times what the tree alone costs, both with their defaults


def report_fits(name, X, centers, repeats):
    """Print what fits cost over builds."""
    k = len(centers)
    print(f"{name} {X.shape} {X.dtype}, k={k}, limit {MOST_OF_FIT}")
    print("method     build s    fit s  fit / build")
    with threadpool_limits(limits=1):
        for method, estimator in ESTIMATORS.items():
            model = estimator(k, reference=centers)
            pair = {
                "build": lambda m=model: m.build(X, None, centers, None),
                "fit": lambda m=model: m.fit(X),
            }
            best_times(pair, 1)  # compiles
            runs = [best_times(pair, 1) for _ in range(repeats)]
            ratio = np.median([run["fit"] / run["build"] for run in runs])
            build_s, fit_s = (min(run[part] for run in runs) for part in pair)
            print(f"{method:9s} {build_s:8.3f} {fit_s:8.3f} {ratio:12.3f}", flush=True)


def best_times(builds, repeats):
    """Least CPU seconds of each function; they take turns, so that noise hits all alike."""
    seconds = dict.fromkeys(builds, np.inf)
    for _ in range(repeats):
        for name, build in builds.items():
            start = time.process_time()
            build()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def peak_memory(folder, method):
    """Most bytes that a fresh process grows by during a build (Linux only)."""
    command = [sys.executable, "-m", "benchmarks.greedy", "--measure", str(folder), method]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def measure(folder, method):
    """Print by how much this process grows during a build of the data in a folder."""
    X, centers, labels = (np.load(Path(folder, f"{name}.npy")) for name in NAMES)
    small = 50 * len(centers)
    methods(X[:small], centers, labels[:small])[method]()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    methods(X, centers, labels)[method]()
    print(_status("VmHWM") - before)


def _status(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"no {key} in /proc/self/status")


def main():
    """Print one table a data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(LIMITS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--order", choices=["C", "F"], default="C")
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--fit", action="store_true", help="fits of estimators beside builds")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    for name in options.names:
        X, centers, labels = load(name, options.order, options.dtype)
        if options.fit:
            report_fits(name, X, centers, options.repeats)
        else:
            report(name, X, centers, labels, options.repeats)


def report(name, X, centers, labels, repeats):
    """Print the table of one data set."""
    k = len(centers)
    for build in methods(X[: 50 * k], centers, labels[: 50 * k]).values():
        build()  # compiles
    with threadpool_limits(limits=1):
        seconds = best_times(methods(X, centers, labels), repeats)
    layout = "C" if X.flags.c_contiguous else "F"
    print(f"{name} {X.shape} {X.dtype} {layout}, k={k}: X {X.nbytes / 2**20:.0f} MB, ", end="")
    print(f"distances {len(X) * k * 8 / 2**20:.1f} MB")
    print("method     cpu s  x CART  limit  memory MB")
    with tempfile.TemporaryDirectory() as folder:
        for array, part in zip(NAMES, (X, centers, labels), strict=True):
            np.save(Path(folder, f"{array}.npy"), part)
        for method, spent in seconds.items():
            ratio, limit = spent / seconds["CART"], LIMITS.get(name, {}).get(method, np.nan)
            memory = peak_memory(folder, method) / 2**20
            print(f"{method:9s} {spent:6.2f} {ratio:7.3f} {limit:6.2f} {memory:10.1f}")
    print(flush=True)


if __name__ == "__main__":
    main()
