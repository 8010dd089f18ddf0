"""Heavy tails and other shapes that one feature cuts well: oblique trees against axis-aligned ones.

    python -m benchmarks.tails
    python -m benchmarks.tails --cases cauchy circle --rows 5000 --seeds 0 1

Four kinds of data: columns of lognormal values (sigma = 3), columns of Cauchy values, normal
columns in which 5 % of the values are the sentinel -9999, and points on a circle. Trees for k
clusters (8, on the circle 10) of oblique TAOClustering, with its defaults and with at most the
parameters of an axis-aligned tree of k leaves, against such trees. An axis-aligned test is an
oblique one with one weight, so the oblique tree should cost no more than those of IMM, ExShallow
and CART at no more parameters ("met"). Every cell is the cost over the
reference's in percent / parameters; the reference is KMeans(k, n_init=10, random_state=seed). One
thread, kernels compiled first.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from greedy import CART, IMM, ExShallow
from tao_cluster import TAOClustering

# A cost above another by less than this, in percent of the free cost, is rounding.
ROUNDING = 1e-6


def lognormal(n_rows, n_columns, rng):
    """Independent columns, the logarithms normal with a standard deviation of 3."""
    return rng.lognormal(sigma=3, size=(n_rows, n_columns))


def cauchy(n_rows, n_columns, rng):
    """Independent columns without a mean."""
    return rng.standard_cauchy((n_rows, n_columns))


def sentinels(n_rows, n_columns, rng):
    """Normal columns with one value of 20 replaced by -9999."""
    X = rng.normal(size=(n_rows, n_columns))
    X[rng.uniform(size=X.shape) < 0.05] = -9999.0
    return X


def circle(n_rows, n_columns, rng):
    """Points on the unit circle at uniform angles: two columns, whatever is asked for."""
    del n_columns
    angles = rng.uniform(0, 2 * np.pi, n_rows)
    return np.column_stack([np.cos(angles), np.sin(angles)])


# name: (data, number of clusters)
CASES = {
    "lognormal": (lognormal, 8),
    "cauchy": (cauchy, 8),
    "sentinels": (sentinels, 8),
    "circle": (circle, 10),
}


def methods(k, **common):
    """Name to an estimator; the second is judged by the last three."""
    return {
        "oblique TAO": TAOClustering(k, **common),
        "of that size": TAOClustering(k, max_parameters=3 * k - 2, **common),
        "axis TAO": TAOClustering(k, split="axis", max_leaves=k, **common),
        "IMM": IMM(k, **common),
        "ExShallow": ExShallow(k, **common),
        "CART": CART(k, max_leaves=k, **common),
    }


def is_met(oblique, others):
    """Whether (cost, parameters) is at most each of the others in cost, and no larger."""
    cost, size = oblique
    return all(cost <= c + ROUNDING and size <= p for c, p in others)


def measure(X, k, seed):
    """Cost in percent and parameters of every method, and the CPU seconds of the second."""
    reference = KMeans(k, n_init=10, random_state=seed).fit(X)
    found, seconds = [], []
    for model in methods(k, reference=reference, random_state=seed).values():
        start = time.process_time()
        model.fit(X)
        seconds.append(time.process_time() - start)
        found.append((model.cost_increase_, model.tree_.n_parameters))
    return found, seconds[1]


def report(case, n_rows, n_columns, seeds):
    """Print the table of one case."""
    make, k = CASES[case]
    n_columns = make(2, n_columns, np.random.default_rng(0)).shape[1]
    print(f"{case} {(n_rows, n_columns)}, k={k}, axis-aligned trees of {k} leaves")
    print("seed" + "".join(f"{name:>15s}" for name in methods(k)) + "  met  of it CPU s")
    rows = []
    for seed in seeds:
        found, seconds = measure(make(n_rows, n_columns, np.random.default_rng(seed)), k, seed)
        is_good = is_met(found[1], found[3:])
        rows.append([value for pair in found for value in pair] + [is_good, seconds])
        print(line(f"{seed:4d}", *rows[-1][:-2], "yes" if is_good else "no", seconds), flush=True)
    *values, _, seconds = np.mean(rows, axis=0)
    n_met = sum(row[-2] for row in rows)
    print(line("mean", *values, f"{n_met}/{len(rows)}", seconds), flush=True)


def line(name, *values):
    """One line of the table: pairs of cost and parameters, whether it is met, seconds."""
    *pairs, met, seconds = values
    cells = "".join(f"{c:11.3f}/{p:3.0f}" for c, p in zip(pairs[::2], pairs[1::2], strict=True))
    return f"{name}{cells}  {met:>3s}  {seconds:13.2f}"


def main():
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = parser.parse_args()
    # Trees that lose clusters or cost much are what this measures, so their warnings are ignored.
    warnings.simplefilter("ignore", UserWarning)
    with threadpool_limits(1):
        measure(cauchy(200, 2, np.random.default_rng(0)), 3, 0)  # compiles
        for case in options.cases:
            report(case, options.rows, options.columns, options.seeds)


if __name__ == "__main__":
    main()
