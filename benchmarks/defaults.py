"""Settings of TAOClustering side by side: parameters at a given cost, and time.

    python -m benchmarks.defaults digits letter anuran avila
    python -m benchmarks.defaults mnist --settings default penalty-short --lambdas 3

Every setting fits trees at several lambda; "parameters at c %" is read off the front of these
trees, between two of them in the logarithms: it is interpolated, no tree may have just that cost.
"paper" is the published algorithm with its own settings: one bisecting initial tree, a = 1.1, 100
steps, 5 TAO iterations, no refinement, no trimming; here with the Newton solver. "penalty" has our
starts and trimming beside it.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATASETS, load
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, tao_path

SHORT = PenaltyMethod(mu_factor=1.5, n_mu_steps=20)
PUBLISHED = {"algorithm": PenaltyMethod(n_init=1, refine=False), "init": "bisecting"}
SETTINGS = {
    "default": {},
    "one-start": {"algorithm": DirectForm(n_init=1)},
    "bisecting": {"init": "bisecting"},
    "centroids": {"init": "centroids"},
    "no-relax": {"algorithm": DirectForm(relax=False)},
    "paper": PUBLISHED,
    "penalty": {"algorithm": PenaltyMethod(refine=False)},
    "penalty-short": {"algorithm": replace(SHORT, refine=False)},
    "penalty-refined": {"algorithm": PenaltyMethod()},
    "penalty-short-refined": {"algorithm": SHORT},
}
COSTS = (0.5, 1.0, 2.0, 4.0, 8.0)
DEPTHS = {"letter": 7, "mnist": 5, "fashion_mnist": 5}


def parameters_at(front, cost):
    """Fewest parameters of (cost, parameters) pairs at a cost; nan if none is as cheap."""
    cheap = [(c, p) for c, p in front if c <= cost]
    if not cheap:
        return np.nan
    c, p = min(cheap, key=lambda pair: pair[1])
    smaller = [pair for pair in front if pair[0] > cost and pair[1] < p]
    if not smaller:
        return p
    higher, few = min(smaller)
    share = np.log(cost / c) / np.log(higher / c)
    return float(p * (few / p) ** share)


def fits(X, k, setting, lambdas, seeds, **common):
    """(cost, parameters) of a tree for each lambda and seed, and seconds a fit."""
    found, start = [], time.process_time()
    for seed in seeds:
        for lambda_ in lambdas:
            model = TAOClustering(
                k, lambda_=lambda_, random_state=seed, **common, **SETTINGS[setting]
            ).fit(X)
            found.append((max(model.cost_increase_, 1e-3), model.tree_.n_parameters))
    return found, (time.process_time() - start) / len(found)


def main():
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=DATASETS)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--lambdas", type=int, default=6, help="how many for each setting")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    for name in options.names:
        X, k, depth = load(name)
        common = {
            "depth": DEPTHS.get(name, depth),
            "reference": KMeans(k, n_init=10, random_state=0).fit(X),
        }
        sample = X[:: max(1, len(X) // 2000)]
        models = tao_path(
            sample, k, depth=3, algorithm=DirectForm(n_init=1), reference=common["reference"]
        )
        lambdas = np.geomspace(models[1].lambda_, models[-2].lambda_, options.lambdas)
        lambdas *= len(X) / len(sample)
        print(f"{name} {X.shape}, k={k}, depth={common['depth']}, lambda {np.round(lambdas, 3)}")
        print(f"{'parameters at cost':24s}" + "".join(f"{c:7g} %" for c in COSTS) + "  CPU s a fit")
        for setting in options.settings:
            # The penalty method is as sparse at a tenth of the lambda.
            algorithm = SETTINGS[setting].get("algorithm")
            share = 0.1 if isinstance(algorithm, PenaltyMethod) else 1.0
            front, seconds = fits(X, k, setting, share * lambdas, options.seeds, **common)
            cells = "".join(f"{parameters_at(front, c):9.0f}" for c in COSTS)
            print(f"{setting:24s}{cells}{seconds:13.2f}", flush=True)


if __name__ == "__main__":
    main()
