"""What each step of an oblique fit does to rows that it has not seen, at equal parameters.

    python -m benchmarks.halves digits --lambdas 0.3 0.8 2 4 8 --sizes 60 75 90 --splits 4
    python -m benchmarks.halves letter --depth 7 --lambdas 3 8 20 50 120 --sizes 130 200 300

Half of the rows are fitted, with their own KMeans(k, n_init=10, random_state=0) as the free
clustering; "new" is the cost on the other half. Costs are read off at some sizes between the trees
of several lambda, and are means over splits and seeds, with the standard error of the new ones.
The steps: nodes refitted on the features they have, and then tuned to the true cost, all on the
rows alone; the same with all passes on the rows and noisy copies of them; and the search over
structure after it.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATASETS, load
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.optimize.oblique_search import optimize_exact, penalty_per_parameter, refit
from tao_cluster.optimize.split_kinds import Oblique


class Copies(Oblique):
    """No search over structure."""

    def local_search(self, *args):
        """No state."""
        return iter(())


class Refits(Copies):
    """Refits alone, on the rows alone."""

    finds_with_copies = False

    def refit(self, search, state, lambda_, is_rough=False):
        """The refitted state."""
        return refit(search, state, lambda_)

    def optimize_exact(self, search, state):
        """The same state."""
        return state


class RowsAlone(Copies):
    """Passes on the true cost of the rows that are seen."""

    finds_with_copies = False

    def refit(self, search, state, lambda_, is_rough=False):
        """The refitted state."""
        return refit(search, state, lambda_)

    def optimize_exact(self, search, state):
        """The state after passes on the true cost of the rows."""
        return optimize_exact(search, state, penalty_per_parameter(search.problem, state))


STEPS = {
    "refits": (Refits(), "fast"),
    "true cost, rows alone": (RowsAlone(), "fast"),
    "all passes, copies, too": (Copies(), "fast"),
    "default": (Oblique(), "auto"),
    "search, fast": (Oblique(), "fast"),
    "search, thorough": (Oblique(), "thorough"),
}


def costs_at(sizes, triples):
    """Seen and new costs at some sizes, between (parameters, seen, new): array (2, n)."""
    found = np.array(sorted(triples), dtype=float).T
    return np.array([np.interp(sizes, found[0], costs) for costs in found[1:]])


def halves(X, k, n_splits):
    """Rows seen, rows that are new, and the free clustering of the first, for each split."""
    for seed in range(n_splits):
        order = np.random.RandomState(seed).permutation(len(X))
        seen, new = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
        yield seen, new, KMeans(k, n_init=10, random_state=0).fit(seen)


def main():
    """Print a line a step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--lambdas", type=float, nargs="+", required=True)
    parser.add_argument("--sizes", type=float, nargs="+", required=True)
    parser.add_argument("--steps", choices=STEPS, nargs="+", default=list(STEPS)[:-1])
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rows", type=int, help="of the data, seen and new")
    parser.add_argument("--depth", type=int)
    options = parser.parse_args()
    X, k, depth = load(options.name, np.float32)
    X = X[np.random.RandomState(0).permutation(len(X))[: options.rows]]
    depth, parts = options.depth or depth, list(halves(X, k, options.splits))
    print(f"{options.name}: {len(parts[0][0])} rows seen, k={k}, depth={depth}")
    print(f"parameters {options.sizes}: cost on seen rows, on new ones")
    for step in options.steps:
        kind, search = STEPS[step]
        found, start = [], time.process_time()
        for seen, new, reference in parts:
            for seed in options.seeds:
                terms = {
                    "reference": reference,
                    "random_state": seed,
                    "algorithm": DirectForm(search=search),
                }
                triples = []
                for lambda_ in options.lambdas:
                    model = TAOClustering(k, depth=depth, split=kind, lambda_=lambda_, **terms)
                    model.fit(seen)
                    costs = (model.cost_increase_, model.cost_increase(new))
                    triples.append((model.tree_.n_parameters, *costs))
                found.append(costs_at(options.sizes, triples))
        mean, error = np.mean(found, axis=0), np.std(found, axis=0)[1] / np.sqrt(len(found))
        seconds = (time.process_time() - start) / len(found) / len(options.lambdas)
        shown = " ".join(f"{cost:5.2f}" for cost in mean[0])
        others = " ".join(f"{c:5.2f}+-{e:.2f}" for c, e in zip(mean[1], error, strict=True))
        print(f"{step:24} {shown}   {others}   {seconds:.2f} CPU s a fit", flush=True)


if __name__ == "__main__":
    main()
