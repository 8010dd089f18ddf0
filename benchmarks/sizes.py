"""Sizes of trees: how far the default moves with the seed, and oblique against axis-aligned trees.

    python -m benchmarks.sizes seeds
    python -m benchmarks.sizes small --seeds 2 --sets wine digits --data DIR

*seeds* fits the default with several seeds. Printed are the numbers of parameters, the ratio of the
largest one to the smallest one, and mean costs on fitted and new rows. The last lines are the
geometric mean and the largest of these ratios.

*small* fits trees of at most 3 k - 2, 4 k and 6 k parameters with the same free clustering. Printed
are mean costs, and in how many fits the oblique tree costs over 0.02 points more on fitted rows.

Up to 60 % of the rows, at most 2000, are fitted, and at most 2000 of the others are new. Costs are
in percent above the free clustering.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import DATA_DIR, load
from tao_cluster import TAOClustering

_SETS = [
    *("iris", "wine", "breast_cancer", "digits", "anuran", "mice", "fifa19", "avila", "letter"),
    *("bodies", "concrete", "olive", "cells", "college"),
    *("ames", "boston", "biopsy", "hawks", "houses", "leaves"),
]
# Numbers of clusters of data sets for which that of `benchmarks.datasets` is 2 or 3, or missing.
_N_CLUSTERS = {"wine": 4, "breast_cancer": 5, "bodies": 5, "concrete": 6, "olive": 5, "cells": 6}
_N_CLUSTERS["college"] = 5
_MOST_ROWS, _SHARE, _TOLERANCE = 2000, 0.6, 0.02


def main(arguments=None):
    """Print a line for each data set and kind of split, or for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("seeds", "small"))
    parser.add_argument("--sets", nargs="+", metavar="NAME", default=_SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the .npz files")
    options = parser.parse_args(arguments)
    (_seeds if options.what == "seeds" else _small)(options)


def _halves(options, name, seed):
    """Return fitted rows, new rows and the number of clusters of a data set."""
    X, k, _ = load(name, folder=options.data, may_fetch=True)
    order = np.random.RandomState(seed).permutation(len(X))
    n_fitted = min(_MOST_ROWS, int(_SHARE * len(X)))
    new = X[order[n_fitted : n_fitted + _MOST_ROWS]]
    return X[order[:n_fitted]], new, _N_CLUSTERS.get(name, k)


def _seeds(options):
    for split in ("oblique", "axis"):
        ratios = []
        for name in options.sets:
            X, new, k = _halves(options, name, 0)
            models = [
                TAOClustering(k, split=split, random_state=seed).fit(X)
                for seed in range(options.seeds)
            ]
            sizes = [model.tree_.n_parameters for model in models]
            ratios.append(max(sizes) / min(sizes))
            fitted = np.mean([model.cost_increase_ for model in models])
            unseen = np.mean([model.cost_increase(new) for model in models])
            text = " ".join(f"{size:4d}" for size in sizes)
            print(
                f"{name:15s} {split:8s} k={k:<3d} {text}  ratio {ratios[-1]:.2f}  "
                f"fitted {fitted:.2f} %  new {unseen:.2f} %",
                flush=True,
            )
        mean = np.exp(np.mean(np.log(ratios)))
        print(f"{split}: geometric mean of the ratios {mean:.3f}, largest {max(ratios):.2f}")


def _small(options):
    n_worse, means = np.zeros(3, int), []
    for name in options.sets:
        found = np.array([_at_sizes(options, name, seed) for seed in range(options.seeds)])
        worse = (found[..., 0] > found[..., 2] + _TOLERANCE).sum(axis=0)
        n_worse += worse
        means.append(found.mean(axis=0))
        print(f"{name:15s} {_text(means[-1])}  worse {worse}", flush=True)
    print(f"{'all':15s} {_text(np.mean(means, axis=0))}  worse {n_worse}")


def _at_sizes(options, name, seed):
    """Return costs, for each size: oblique fitted and new rows, axis-aligned fitted and new."""
    X, new, k = _halves(options, name, seed)
    terms = {"reference": KMeans(k, n_init=10, random_state=seed).fit(X), "random_state": seed}
    found = []
    for size in (3 * k - 2, 4 * k, 6 * k):
        models = [
            TAOClustering(k, split=split, max_parameters=size, **terms).fit(X)
            for split in ("oblique", "axis")
        ]
        found.append([cost for m in models for cost in (m.cost_increase_, m.cost_increase(new))])
    return found


def _text(costs):
    parts = zip(("3k-2", "4k", "6k"), costs, strict=True)
    return "   ".join(
        f"{size}: {a:5.2f} ({b:5.2f}) against {c:5.2f} ({d:5.2f})" for size, (a, b, c, d) in parts
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
