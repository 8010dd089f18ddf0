"""Cost at equal size on digits and letter: means over seeds with their standard errors.

    python -m benchmarks.quality
    python -m benchmarks.quality digits-16 axis --seeds 0 1 2 3 4 5 6 7

Run it before and after a change that may alter trees, and compare the means: a difference below the
standard error is noise. Oblique digits: fits over a fixed grid of lambda, whose costs are read off
at 70, 90 and 110 parameters by interpolation in the logarithms. Letter: fits with the goal
max_parameters=160, 220 or 300. Axis-aligned digits: 10, 20 and 40 leaves. All explain
KMeans(k, n_init=10, random_state=0).
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import load
from tao_cluster import DirectForm, TAOClustering

LAMBDAS = (0.3, 1.0, 3.0, 8.0, 20.0)
SIZES = (70, 90, 110)


def cost_at(sizes, pairs):
    """Cost at each number of parameters, interpolated between (parameters, cost) pairs."""
    found, costs = np.array(sorted(pairs), dtype=float).T
    costs = np.minimum.accumulate(costs)  # a larger tree is never worse than a smaller one
    return np.exp(np.interp(np.log(sizes), np.log(found), np.log(costs)))


def digits(X, n_init, **terms):
    """Costs of oblique trees of digits at SIZES parameters."""
    pairs = []
    for lambda_ in LAMBDAS:
        model = TAOClustering(
            10, lambda_=lambda_, depth=5, algorithm=DirectForm(n_init=n_init), **terms
        ).fit(X)
        pairs.append((model.tree_.n_parameters, model.cost_increase_))
    return cost_at(SIZES, pairs)


def letter(X, **terms):
    """Costs of oblique trees of letter with at most 160, 220 and 300 parameters."""
    models = (TAOClustering(26, depth=6, max_parameters=n, **terms) for n in (160, 220, 300))
    return [model.fit(X).cost_increase_ for model in models]


def axis(X, **terms):
    """Costs of axis-aligned trees of digits with 10, 20 and 40 leaves."""
    models = (TAOClustering(10, split="axis", max_leaves=n, **terms) for n in (10, 20, 40))
    return [model.fit(X).cost_increase_ for model in models]


# Name to (data set, sizes, function of the rows, a reference and a seed that returns costs).
CASES = {
    "digits-4": ("digits", SIZES, lambda X, **terms: digits(X, 4, **terms)),
    "digits-16": ("digits", SIZES, lambda X, **terms: digits(X, 16, **terms)),
    "letter": ("letter", (160, 220, 300), letter),
    "axis": ("digits", (10, 20, 40), axis),
}


def main():
    """Print a line per case and size: mean, standard error, and CPU seconds per seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = parser.parse_args()
    for name in options.cases:
        data, sizes, costs_of = CASES[name]
        X, k, _ = load(data)
        reference = KMeans(k, n_init=10, random_state=0).fit(X)
        start = time.process_time()
        costs = np.array([costs_of(X, reference=reference, random_state=s) for s in options.seeds])
        seconds = (time.process_time() - start) / len(options.seeds)
        errors = costs.std(axis=0, ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else 0 * costs[0]
        for size, mean, error in zip(sizes, costs.mean(axis=0), errors, strict=True):
            print(f"{name:10s} {size:4d}  {mean:7.3f} +- {error:.3f} %", flush=True)
        print(f"{name:10s} {seconds:.1f} CPU s per seed, {len(options.seeds)} seeds", flush=True)


if __name__ == "__main__":
    main()
