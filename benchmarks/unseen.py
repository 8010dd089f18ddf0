"""Cost of trees on new rows, for several ways to choose lambda and the search.

    python -m benchmarks.unseen digits letter mnist
    python -m benchmarks.unseen digits mice anuran avila:1600 --splits 3

Half of the rows are fitted, with their own KMeans(k, n_init=10) as the free clustering. The others
are new, and their cost is `cost_increase(X_new)`. The table has means over the splits and their
standard errors. Seconds are CPU time, with the free clustering.
"""

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import load
from benchmarks.evidence.measures import timed
from benchmarks.evidence.pages.words import averaged, markdown, title
from benchmarks.shared import halves, parser
from tao_cluster import TAOClustering

SETTINGS = {
    "the knee": {},
    "the knee, validation=0.2": {"validation": 0.2},
    "max_cost_increase=1": {"max_cost_increase": 1},
    "max_cost_increase=4": {"max_cost_increase": 4},
    "max_cost_increase=4, validation=0.2": {"max_cost_increase": 4, "validation": 0.2},
}


def main():
    """Print a table with one line per data set and setting."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="+", help="data sets")
    arguments.add_argument("--splits", type=int, default=5, help="number of random halves")
    arguments.add_argument("--settings", choices=SETTINGS, nargs="+", default=list(SETTINGS))
    options = arguments.parse_args()
    lines = []
    for name in options.names:
        X, k, depth = load(name)
        for setting in options.settings:
            runs = []
            for seed, pair in enumerate(halves(X, options.splits)):
                terms = SETTINGS[setting] | {"depth": depth, "random_state": seed}
                runs.append(measured(TAOClustering(k, **terms), *pair))
            lines.append({"lambda chosen by": setting, "data": title(name), **columns(runs)})
    print(markdown(lines))


def measured(model, X, X_new):
    """Fit a tree, and return costs on fitted and new rows, size and seconds."""
    model.set_params(reference=KMeans(model.n_clusters, n_init=10, random_state=0))
    _, seconds = timed(lambda: model.fit(X))
    return model.cost_increase_, model.cost_increase(X_new), model.tree_.n_parameters, seconds


def columns(runs):
    """Return the columns of a data set and setting."""
    fitted, new, sizes, seconds = np.transpose(runs)
    return {
        "fitted rows, %": averaged(fitted),
        "new rows, %": averaged(new),
        "parameters": averaged(sizes, 0),
        "CPU s": averaged(seconds, 1),
    }


if __name__ == "__main__":
    main()
