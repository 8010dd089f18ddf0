"""How well the start of a fit is chosen: cost at given sizes, for few and many initial trees.

    python -m benchmarks.starts digits --at 55 65 80 100
    python -m benchmarks.starts avila letter --at 60 100 160 --n-init 4

Fits at several lambda for each seed of the initial trees; the cost at a number of parameters is
read off between two of these trees, in the logarithms, and averaged over the seeds. All explain
KMeans(k, n_init=10, random_state=0).
"""

import argparse

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATASETS, load
from tao_cluster import TAOClustering, tao_path

LAMBDAS = 9


def costs_at(sizes, pairs):
    """Cost at each size, between (parameters, cost) pairs in the logarithms."""
    parameters, costs = np.array(sorted(pairs), dtype=float).T
    return np.exp(np.interp(np.log(sizes), np.log(parameters), np.log(np.maximum(costs, 1e-3))))


def grid(X, k, depth, reference, sizes):
    """Lambdas whose trees have about the sizes asked for, and somewhat more and fewer."""
    models = tao_path(X, k, depth=depth, n_init=1, reference=reference, random_state=0)
    found = np.array([model.tree_.n_parameters for model in models])[::-1]
    lambdas = np.array([model.lambda_ for model in models])[::-1]
    ends = np.interp([1.5 * max(sizes), 0.7 * min(sizes)], found, lambdas)
    return np.geomspace(*ends, LAMBDAS)


def main():
    """Print a line a data set and number of initial trees."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=DATASETS)
    parser.add_argument("--at", type=int, nargs="+", default=[55, 65, 80, 100])
    parser.add_argument("--n-init", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = parser.parse_args()
    print("cost %, mean over seeds, at parameters:  " + "".join(f"{n:9d}" for n in options.at))
    for name in options.names:
        X, k, depth = load(name)
        reference = KMeans(k, n_init=10, random_state=0).fit(X)
        lambdas = grid(X, k, depth, reference, options.at)
        for n_init in options.n_init:
            costs = []
            for seed in options.seeds:
                common = {"depth": depth, "n_init": n_init, "reference": reference}
                models = [
                    TAOClustering(k, lambda_=value, random_state=seed, **common).fit(X)
                    for value in lambdas
                ]
                pairs = [(model.tree_.n_parameters, model.cost_increase_) for model in models]
                costs.append(costs_at(options.at, pairs))
            cells = "".join(f"{cost:9.2f}" for cost in np.mean(costs, axis=0))
            print(f"{name:20s} n_init {n_init:3d}          {cells}", flush=True)


if __name__ == "__main__":
    main()
