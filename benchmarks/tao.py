"""The penalty method with the 0/1 loss and LIBLINEAR: quality, size, time along lambda.

    python -m benchmarks.tao digits --lambdas 0.03 0.1 0.3
    python -m benchmarks.tao letter --lambdas 0.1 0.3
    python -m benchmarks.tao mnist --lambdas 10 --float32

One reference clustering, KMeans(k, n_init=10, random_state=0), serves all rows.
"""

import argparse
import resource
import time
from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATASETS, load
from benchmarks.evidence.tables.oblique import published
from tao_cluster.solvers import Liblinear

COLUMNS = "lambda  seed  cost %  non-zeros  parameters  leaves  steps  wall s  cpu s"


def main():
    """Run the benchmark that the command line asks for and print one line a fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--lambdas", type=float, nargs="+", required=True)
    parser.add_argument("--depth", type=int)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--liblinear-tol", type=float, default=Liblinear().tol)
    parser.add_argument("--n-init", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    X, k, depth = load(options.name, np.float32 if options.float32 else np.float64)
    depth = options.depth or depth
    start = time.perf_counter()
    reference = KMeans(k, n_init=10, random_state=0).fit(X)
    print(f"{options.name} {X.shape} {X.dtype}, k={k}, depth={depth}; ", end="")
    print(f"reference {time.perf_counter() - start:.1f} s")
    print(COLUMNS)
    for lambda_ in options.lambdas:
        for seed in options.seeds:
            wall, cpu = time.perf_counter(), time.process_time()
            model = published(depth, lambda_, Liblinear(options.liblinear_tol))
            model.set_params(
                n_clusters=k,
                algorithm=replace(model.algorithm, n_mu_steps=options.steps, n_init=options.n_init),
                reference=reference,
                random_state=seed,
                verbose=options.verbose,
            )
            model.fit(X)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            tree = model.tree_
            print(
                f"{lambda_:6g} {seed:5d} {model.cost_increase_:7.2f} "
                f"{tree.n_nonzero:10d} {tree.n_parameters:11d} {tree.n_leaves:7d} "
                f"{model.n_iter_:6d} {wall:7.1f} {cpu:6.1f}",
                flush=True,
            )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
