"""Axis-aligned TAO, Kauri, SpEx and trees of mixtures: cost and time, beside gemclus' Kauri.

    python -m benchmarks.peers
    python -m benchmarks.peers digits letter --python ~/gemclus/bin/python

CPU seconds of the build alone (of TAO: of the fit to the given centres), kernels compiled, one
thread, and the same in multiples of scikit-learn's DecisionTreeClassifier with as many leaves on
the labels of the reference, KMeans(k, n_init=10, random_state=0). gemclus (GPL; `pip install
gemclus`) is run if the given interpreter, by default this one, has it: on small data, as it keeps
an n x n kernel.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks.datasets import DATASETS
from benchmarks.datasets import load as load_paper
from greedy import Kauri, SpEx
from greedy.mixture_tree import components_of, grow_mixture
from tao_cluster import TAOClustering

# Measured rows: data, clusters and numbers of leaves.
SMALL = {
    "iris": (lambda: load_iris().data, 3, (3, 6)),
    "wine": (lambda: StandardScaler().fit_transform(load_wine().data), 3, (3, 6)),
    "digits": (lambda: load_digits().data, 10, (10, 20, 40)),
}
_MOST_ROWS_OF_PEER = 5000

_PEER = """
import sys, time
import numpy as np
from gemclus.tree import Kauri
X = np.load(sys.argv[1])
k, leaves = int(sys.argv[2]), int(sys.argv[3])
start = time.process_time()
labels = Kauri(max_clusters=k, max_leaves=leaves, kernel="linear").fit_predict(X)
np.save(sys.argv[4], labels)
print(time.process_time() - start)
"""


def load(name):
    """Data, number of clusters and numbers of leaves."""
    if name in SMALL:
        make, k, leaves = SMALL[name]
        return make(), k, leaves
    X, k, _ = load_paper(name)
    return X, k, (k, 2 * k)


def cost(X, labels):
    """Sum of squares around the means of the clusters."""
    return sum(((X[labels == q] - X[labels == q].mean(axis=0)) ** 2).sum() for q in set(labels))


def builds(X, centers, leaves):
    """Name to the function without arguments that builds a tree."""
    terms = {"max_leaves": leaves}

    def axis():
        tao = TAOClustering(
            len(centers), split="axis", reference=centers, random_state=0, max_leaves=leaves
        )
        return tao.fit(X).tree_

    methods = {
        "Kauri": Kauri(**terms),
        "SpEx clique": SpEx(**terms),
        "SpEx unit-clique": SpEx(graph="unit-clique", **terms),
        "SpEx knn": SpEx(graph="knn", **terms),
        "SpEx oblique": SpEx(split="oblique", **terms),
    }
    found = {"TAO axis": axis}
    for name, method in methods.items():
        found[name] = lambda method=method: method.build(X, None, centers, None)
    return found


def peer(python, X, k, leaves):
    """CPU seconds and labels of gemclus' Kauri; None if the interpreter does not have it."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = str(Path(folder, "X.npy")), str(Path(folder, "labels.npy"))
        np.save(data, X)
        command = [python, "-c", _PEER, data, str(k), str(leaves), out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode == 0:
            return float(done.stdout.split()[-1]), np.load(out)
        if "No module named 'gemclus'" in done.stderr:
            return None
        raise RuntimeError(done.stderr)


def timed(build):
    """CPU seconds of a function and its result."""
    start = time.process_time()
    result = build()
    return time.process_time() - start, result


def report(name, python):
    """Print the rows of one data set."""
    X, k, sizes = load(name)
    with threadpool_limits(limits=1):
        reference = KMeans(k, n_init=10, random_state=0).fit(X)
        centers, free = reference.cluster_centers_, reference.inertia_
        for leaves in sizes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # so few rows leave clusters empty
                for build in builds(X[:200], centers, leaves).values():
                    build()  # compiles
            cart = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
            yardstick, _ = timed(lambda cart=cart: cart.fit(X, reference.labels_))

            def show(method, seconds, labels, weights="", leaves=leaves, yardstick=yardstick):
                increase = 100 * (cost(X, labels) / free - 1)
                print(
                    f"{name:8s} {leaves:4d} {method:17s} {increase:8.2f} {seconds:8.3f} "
                    f"{seconds / yardstick:7.1f} {weights}",
                    flush=True,
                )

            show("CART", yardstick, cart.predict(X))
            for method, build in builds(X, centers, leaves).items():
                seconds, tree = timed(build)
                show(method, seconds, tree.predict(X), len(tree.split_indices))
            if len(X) <= _MOST_ROWS_OF_PEER:
                found = peer(python, X, k, leaves)
                if found is not None:
                    show("gemclus Kauri", *found)
        report_mixture(name, X, k)


def report_mixture(name, X, k):
    """Print how the trees of a mixture agree with it, and the time of the trees alone."""
    for kind in ("full", "diag"):
        mixture = GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        terms = components_of(mixture)
        for criterion in ("error", "ratio"):
            grow_mixture(*terms, criterion)  # compiles
            build = partial(grow_mixture, *terms, criterion)
            seconds, (tree, _) = timed(build)
            agreement = 100 * np.mean(tree.predict(X) == mixture.predict(X))
            print(f"{name:8s} mixture {kind} {criterion}: {agreement:.1f} % agree, {seconds:.4f} s")


def main():
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SMALL), help=f"also {list(DATASETS)}")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has gemclus")
    options = parser.parse_args()
    print("data     leaves method           cost + %    cpu s  x CART non-zeros")
    for name in options.names:
        report(name, options.python)


if __name__ == "__main__":
    main()
