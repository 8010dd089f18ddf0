"""How much of a fit depends on the processor: the same fits with several kernels of OpenBLAS.

    python -m benchmarks.processors
    python -m benchmarks.processors --kernels Nehalem Haswell SkylakeX --seeds 0 1 2

OpenBLAS chooses the code of its products by the processor; OPENBLAS_CORETYPE chooses for it, so
that one machine shows what others would give. Each kernel has a process of its own. Printed is
how many fits have the tree, the clusters of the rows and the cost of the first kernel; "given" are
fits whose reference clustering is given, "own" those that look for it, by scikit-learn.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from greedy import CART, IMM, ExGreedy, ExKMC, Kauri
from tao_cluster import TAOClustering

DATA = {
    "iris": (lambda: load_iris().data, 3),
    "wine": (lambda: load_wine().data, 3),
    "cancer": (lambda: load_breast_cancer().data, 4),
    "digits": (lambda: load_digits().data / 16, 10),
}
METHODS = {
    "oblique": TAOClustering,
    "standardized": lambda k, **rest: TAOClustering(k, standardize=True, **rest),
    "spherical": lambda k, **rest: TAOClustering(k, objective="spherical", **rest),
    "axis": lambda k, **rest: TAOClustering(k, split="axis", **rest),
    "IMM": IMM,
    "ExKMC": ExKMC,
    "ExGreedy": ExGreedy,
    "CART": CART,
    "Kauri": Kauri,
}


def fits(seeds):
    """What each fit gave, by its name: hashes of tree and clusters, and the cost."""
    found = {}
    for data, (load, k) in DATA.items():
        X = load()
        given = KMeans(k, n_init=1, random_state=0).fit(X).cluster_centers_.round(6)
        for method, make in METHODS.items():
            for seed in seeds:
                for kind, reference in (("given", given), ("own", None)):
                    model = make(k, reference=reference, random_state=seed).fit(X)
                    found[f"{kind} {method} {data} {seed}"] = (
                        _hash(model.tree_.to_json().encode()),
                        _hash(np.ascontiguousarray(model.labels_).tobytes()),
                        model.inertia_,
                    )
    return found


def _hash(data):
    return hashlib.sha256(data).hexdigest()[:16]


def by_kernels(kernels, seeds):
    """`fits` of a process for each kernel."""
    for kernel in kernels:
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "benchmarks.processors",
            "--here",
            "--seeds",
        ]
        done = subprocess.run(  # noqa: S603
            [*command, *map(str, seeds)],
            env={**os.environ, "OPENBLAS_CORETYPE": kernel},
            stdout=subprocess.PIPE,
            check=True,
        )
        yield kernel, json.loads(done.stdout)


def report(kernels, seeds):
    """A line for each method and kernel other than the first."""
    (first, expected), *others = by_kernels(kernels, seeds)
    print(f"compared with {first}\nkernel     reference method        fits trees clusters    cost")
    for kernel, found in others:
        for kind in ("given", "own"):
            for method in METHODS:
                names = [name for name in expected if name.startswith(f"{kind} {method} ")]
                pairs = [(expected[name], found[name]) for name in names]
                trees, clusters = (sum(a[i] == b[i] for a, b in pairs) for i in (0, 1))
                far = max(abs(b[2] - a[2]) / abs(a[2]) for a, b in pairs)
                print(
                    f"{kernel:10} {kind:9} {method:13} {len(pairs):4} {trees:5} {clusters:8} "
                    f"{far:7.0e}"
                )


def main():
    """Compare kernels."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernels", nargs="+", default=["SkylakeX", "Haswell", "Nehalem"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--here", action="store_true", help="fits of this process, as JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(fits(options.seeds)))
        return
    report(options.kernels, options.seeds)


if __name__ == "__main__":
    main()
