"""How much of a fit depends on the processor: the same fits with several kernels of OpenBLAS.

    python -m benchmarks.processors
    python -m benchmarks.processors --kernels Nehalem Haswell SkylakeX --seeds 0 1 2

OpenBLAS chooses the code of its products by the processor. OPENBLAS_CORETYPE chooses for it, so
that one machine shows what others would give. Each kernel has a process of its own. The table shows
how many fits have the tree and the clusters of the first kernel, and the largest relative
difference in cost. "given" are fits with a given reference clustering, "own" those that compute it
by scikit-learn.
"""

import argparse
import hashlib
import json

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, in_new_process, parser
from greedy import CART, IMM, ExGreedy, ExKMC, Kauri
from tao_cluster import TAOClustering

DATA = {
    "iris": (lambda: load_iris().data, 3),
    "wine": (lambda: load_wine().data, 3),
    "cancer": (lambda: load_breast_cancer().data, 4),
    "digits": (lambda: load_digits().data / 16, 10),
}
METHODS = {
    "oblique": TAOClustering(),
    "standardized": TAOClustering(standardize=True),
    "spherical": TAOClustering(objective="spherical"),
    "axis": TAOClustering(split="axis"),
    "IMM": IMM(),
    "ExKMC": ExKMC(),
    "ExGreedy": ExGreedy(),
    "CART": CART(),
    "Kauri": Kauri(),
}
KINDS = ("given", "own")


def fits(seeds):
    """Results of each fit by its name: hashes of tree and clusters, and the cost."""
    found = {}
    for data, (load, k) in DATA.items():
        X = load()
        given = free_clustering(X, k, n_init=1).cluster_centers_.round(6)
        for method, model in METHODS.items():
            for seed in seeds:
                for kind, reference in zip(KINDS, (given, None), strict=True):
                    model.set_params(n_clusters=k, reference=reference, random_state=seed).fit(X)
                    tree, labels = model.tree_.to_json().encode(), model.labels_.tobytes()
                    hashes = (hashlib.sha256(each).hexdigest() for each in (tree, labels))
                    found[f"{kind} {method} {data} {seed}"] = (*hashes, model.inertia_)
    return found


def lines(first, found, kernel):
    """Compare the fits of a kernel with those of the first one: a line for each method."""
    for kind in KINDS:
        for method in METHODS:
            names = [name for name in first if name.startswith(f"{kind} {method} ")]
            pairs = [(first[name], found[name]) for name in names]
            yield {
                "kernel": kernel,
                "reference": kind,
                "method": method,
                "fits": len(pairs),
                "trees": sum(a[0] == b[0] for a, b in pairs),
                "clusters": sum(a[1] == b[1] for a, b in pairs),
                "cost": f"{max(abs(b[2] - a[2]) / abs(a[2]) for a, b in pairs):.0e}",
            }


def main():
    """Compare kernels."""
    arguments = parser(__doc__)
    arguments.add_argument("--kernels", nargs="+", default=["SkylakeX", "Haswell", "Nehalem"])
    arguments.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments.add_argument("--measure", type=json.loads, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.measure:
        print(json.dumps(fits(**options.measure)))
        return
    first, *others = (
        in_new_process("benchmarks.processors", {"OPENBLAS_CORETYPE": kernel}, seeds=options.seeds)
        for kernel in options.kernels
    )
    pairs = zip(others, options.kernels[1:], strict=True)
    print(markdown([line for pair in pairs for line in lines(first, *pair)]))


if __name__ == "__main__":
    main()
