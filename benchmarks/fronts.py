r"""Parameters that a cost takes, by how long there is a search: a front a seed, and their mean.

    python -m benchmarks.fronts digits --search fast thorough --at 0.5 1 2 --seeds 0 1 2 3 4
    python -m benchmarks.fronts mnist --depth 5 --search thorough --path --at 7.9 1.5 0.94 \
        --lambdas 90 180 360 800 2300 6800

Fits at several lambda, each on its own or along one path; the parameters at a cost are read off
between two of these trees, in the logarithms, where no smaller tree costs less. With --unseen, half
of the rows are held out and costs are those of the other half. All explain
KMeans(k, n_init=10, random_state=0) of the rows that they see. Table 2 of the KDD'22 paper has 199,
753 and 1372 parameters at 7.90, 1.50 and 0.94 % on MNIST, 452, 825 and 2081 at 5.22, 1.74 and
0.44 % on Fashion-MNIST, and 523, 516 and 858 at 9.94, 4.06 and 2.75 % on letter.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATASETS, load
from tao_cluster import DirectForm, TAOClustering, tao_path


def sizes_at(costs, pairs):
    """Parameters at each cost, between (parameters, cost) pairs in the logarithms."""
    sizes, found = np.array(sorted(pairs, key=lambda pair: pair[1]), dtype=float).T
    sizes = np.minimum.accumulate(sizes)
    terms = np.log(costs), np.log(np.maximum(found, 1e-3)), np.log(sizes)
    return np.exp(np.interp(*terms))


def grid(X, k, depth, reference, n_lambdas):
    """Lambdas from trees that cost next to nothing to those of a feature or two a node."""
    models = tao_path(
        X, k, depth=depth, algorithm=DirectForm(n_init=1), reference=reference, random_state=0
    )
    return np.geomspace(models[1].lambda_, models[-2].lambda_, n_lambdas)


def models(X, k, lambdas, on_path, terms):
    """Yield a fitted model for each lambda."""
    if on_path:
        yield from tao_path(X, k, lambdas, **terms)
        return
    for lambda_ in lambdas:
        yield TAOClustering(k, lambda_=lambda_, **terms).fit(X)


def main():
    """Print a line a data set, search and seed, and the mean of each search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--search", nargs="+", default=["fast"])
    parser.add_argument("--at", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--lambdas", type=float, nargs="+", help="default: nine from the data")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--depth", type=int)
    parser.add_argument("--n-init", type=int, default=DirectForm().n_init)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--path", action="store_true", help="each from the tree before")
    parser.add_argument("--no-relax", action="store_true", help="L1 fits alone")
    parser.add_argument("--unseen", action="store_true")
    options = parser.parse_args()
    X, k, depth = load(options.name, np.float32)
    depth = options.depth or depth
    others = None
    if options.unseen:
        is_seen = np.random.RandomState(0).permutation(len(X)) < len(X) // 2
        X, others = X[is_seen], X[~is_seen]
    reference = KMeans(k, n_init=10, random_state=0).fit(X)
    lambdas = options.lambdas or grid(X, k, depth, reference, 9)
    print(f"{options.name} {X.shape}, k={k}, depth={depth}, n_init={options.n_init}: cost %/size")
    common = {"depth": depth, "n_jobs": options.n_jobs}
    direct = DirectForm(n_init=options.n_init, relax=not options.no_relax)
    for search in ["none"] if options.no_relax else options.search:
        fronts, start = [], time.process_time()
        for seed in options.seeds:
            terms = {
                "reference": reference,
                "algorithm": replace(direct, search=search),
                "random_state": seed,
                **common,
            }
            pairs = []
            for model in models(X, k, lambdas, options.path, terms):
                cost = model.cost_increase_ if others is None else model.cost_increase(others)
                pairs.append((model.tree_.n_parameters, cost))
            fronts.append(sizes_at(options.at, pairs))
            shown = "  ".join(f"{cost:.2f}/{size}" for size, cost in pairs)
            print(f"{search} seed {seed}: {shown}", flush=True)
        seconds = (time.process_time() - start) / len(options.seeds) / len(lambdas)
        means = "  ".join(
            f"{size:.1f} at {cost:g} %"
            for cost, size in zip(options.at, np.mean(fronts, axis=0), strict=True)
        )
        print(
            f"{search} mean of {len(fronts)} seeds: {means}; {seconds:.2f} CPU s a fit", flush=True
        )


if __name__ == "__main__":
    main()
