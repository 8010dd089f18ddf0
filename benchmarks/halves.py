"""Effect of each step of an oblique fit on new rows, at equal numbers of parameters.

    python -m benchmarks.halves digits --lambdas 0.3 0.8 2 4 8 --sizes 60 75 90 --splits 4
    python -m benchmarks.halves letter --depth 7 --lambdas 3 8 20 50 120 --sizes 130 200 300

Half of the rows are fitted, with their own KMeans(k, n_init=10, random_state=0) as the free
clustering. The others are new. Costs at the given sizes are interpolated between the trees of
several values of lambda. They are means over the splits (of which each is the mean over the seeds),
with standard errors; "new, 60" is the cost on new rows with 60 parameters. Each line of the table
adds a step: refits of the nodes with less shrinkage, refits to the true cost, noisy copies of the
rows in all passes, and the search over structures.
"""

import argparse
import time
from contextlib import nullcontext
from unittest import mock

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATASETS, load
from benchmarks.evidence.pages.words import averaged, markdown
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.comparison.splits import half_splits
from tao_cluster.optimize import last_passes


def without_exact_passes():
    """Return a context in which trees are not refitted to the true cost."""
    return mock.patch.object(last_passes, "optimize_exact", lambda search, state, *_, **__: state)


STEPS = {
    "refits with less shrinkage": (DirectForm(search="none", copies=0), without_exact_passes),
    "and refits to the true cost": (DirectForm(search="none", copies=0), nullcontext),
    "and noisy copies of the rows (the default)": (DirectForm(), nullcontext),
    'and the search, search="fast"': (DirectForm(search="fast"), nullcontext),
    'and the search, search="thorough"': (DirectForm(search="thorough"), nullcontext),
}


def costs_at(sizes, triples):
    """Interpolate (parameters, cost on fitted rows, cost on new rows): array (2, n_sizes)."""
    found = np.array(sorted(triples), dtype=float).T
    return np.array([np.interp(sizes, found[0], costs) for costs in found[1:]])


def halves(X, k, n_splits):
    """Yield fitted rows, new rows, and the free clustering of the former, for each split."""
    for seen, new in half_splits(len(X), n_splits):
        yield X[seen], X[new], KMeans(k, n_init=10, random_state=0).fit(X[seen])


def main():
    """Print a table with one line per step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--lambdas", type=float, nargs="+", required=True)
    parser.add_argument("--sizes", type=float, nargs="+", required=True)
    parser.add_argument("--steps", choices=STEPS, nargs="+", default=list(STEPS)[:-1])
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rows", type=int, help="number of rows, fitted and new")
    parser.add_argument("--depth", type=int)
    options = parser.parse_args()
    X, k, depth = load(options.name, np.float32)
    X = X[np.random.RandomState(0).permutation(len(X))[: options.rows]]
    depth, parts = options.depth or depth, list(halves(X, k, options.splits))
    lines = []
    for step in options.steps:
        algorithm, changes = STEPS[step]
        costs, start = [], time.process_time()
        for seen, new, reference in parts:
            found = []
            for seed in options.seeds:
                terms = {
                    "reference": reference,
                    "random_state": seed,
                    "algorithm": algorithm,
                }
                triples = []
                for lambda_ in options.lambdas:
                    model = TAOClustering(k, depth=depth, lambda_=lambda_, **terms)
                    with changes():
                        model.fit(seen)
                    both = (model.cost_increase_, model.cost_increase(new))
                    triples.append((model.tree_.n_parameters, *both))
                found.append(costs_at(options.sizes, triples))
            costs.append(np.mean(found, axis=0))
        n_fits = len(parts) * len(options.seeds) * len(options.lambdas)
        line = {"steps": step}
        for kind, of_kind in zip(("fitted", "new"), np.moveaxis(costs, 1, 0), strict=True):
            for size, of_size in zip(options.sizes, of_kind.T, strict=True):
                line[f"{kind}, {size:g}"] = averaged(of_size)
        line["CPU s per fit"] = f"{(time.process_time() - start) / n_fits:.1f}"
        lines.append(line)
    print(markdown(lines))


if __name__ == "__main__":
    main()
