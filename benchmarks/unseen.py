"""Cost of trees on new rows, for several ways to choose lambda and the search.

    python -m benchmarks.unseen digits letter mnist
    python -m benchmarks.unseen digits mice anuran avila fifa19 --rows 1600 --splits 3

Half of the rows are fitted, with their own KMeans(k, n_init=10, random_state=0) as the free
clustering. The others are new, and their cost is `cost_increase(X_new)`. The table has means over
the splits and their standard errors. Seconds are CPU time, with the free clustering.

With `--effects`, a second table compares settings: a setting with a comma in its name and the one
whose name is the part before the comma. It has means over the data sets, with standard errors, of
log((cost + 1 %) / (cost of the other setting + 1 %)) on new and on fitted rows, and of the
logarithms of the ratios of sizes and times.
"""

import argparse
import sys
import time
import warnings
from collections import defaultdict

import numpy as np
from sklearn.cluster import KMeans
from sklearn.model_selection import train_test_split

from benchmarks.datasets import DATASETS, load
from benchmarks.evidence.pages.words import averaged, markdown, title
from tao_cluster import DirectForm, TAOClustering

_NO_ROUND, _FOUR_ROUNDS = ({"algorithm": DirectForm(search=search)} for search in ("none", "fast"))
SETTINGS = {
    "the knee": {},
    "the knee, four rounds": _FOUR_ROUNDS,
    "the knee, validation=0.2": {"validation": 0.2},
    "max_cost_increase=1": {"max_cost_increase": 1},
    "max_cost_increase=4": {"max_cost_increase": 4},
    "max_cost_increase=4, no round": {"max_cost_increase": 4, **_NO_ROUND},
    "max_cost_increase=4, four rounds": {"max_cost_increase": 4, **_FOUR_ROUNDS},
    "max_cost_increase=4, validation=0.2": {"max_cost_increase": 4, "validation": 0.2},
}


_ADDED = np.array([1.0, 1.0, 0.0, 0.0])  # one percent to costs, before logarithms


def main():
    """Print a table with one line per data set and setting, and the effects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", choices=DATASETS, nargs="+")
    parser.add_argument("--rows", type=int, help="number of rows, fitted and new; default all")
    parser.add_argument("--splits", type=int, default=5, help="number of random splits")
    parser.add_argument("--settings", choices=SETTINGS, nargs="+", default=list(SETTINGS))
    parser.add_argument("--effects", action="store_true", help="compare settings, too")
    options = parser.parse_args()
    found = defaultdict(list)
    for name in options.names:
        X, k, depth = load(name)
        for split in range(options.splits):
            rows = np.random.RandomState(split).permutation(X.shape[0])[: options.rows]
            parts = train_test_split(X[rows], test_size=0.5, random_state=split)
            for setting in options.settings:
                terms = SETTINGS[setting] | {"depth": depth, "random_state": split}
                found[setting, name].append(measured(setting, name, k, *parts, terms))
    print(markdown([line(*key, runs) for key, runs in found.items()]))
    if options.effects:
        pairs = ((setting, setting.partition(",")[0]) for setting in options.settings)
        pairs = [(one, other) for one, other in pairs if other != one and other in options.settings]
        print("\n" + markdown([effects(found, *pair, options.names) for pair in pairs]))


def measured(setting, name, k, fitted, new, parameters):
    """Fit a tree, and return costs on new and fitted rows, size and seconds."""
    reference = KMeans(k, n_init=10, random_state=0)
    model = TAOClustering(k, reference=reference, **parameters)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:  # goals that no tree meets
        warnings.simplefilter("always")
        model.fit(fitted)
    seconds = time.process_time() - start
    for warning in caught:
        print(f"{name}, {setting}: {warning.message}", file=sys.stderr, flush=True)
    return model.cost_increase(new), model.cost_increase_, model.tree_.n_parameters, seconds


def line(setting, name, runs):
    """Return the line of a data set and setting."""
    new, fitted, sizes, seconds = np.array(runs).T
    return {
        "lambda chosen by": setting,
        "data": title(name),
        "fitted rows, %": averaged(fitted),
        "new rows, %": averaged(new),
        "parameters": averaged(sizes, 0),
        "CPU s": averaged(seconds, 1),
    }


def effects(found, setting, other, names):
    """Return the line of the effects of a setting, relative to another one."""
    differences = []
    for name in names:
        ours, theirs = (np.array(found[key, name]) for key in (setting, other))
        ours, theirs = (np.log(np.maximum(part, 0) + _ADDED) for part in (ours, theirs))
        differences.append((ours - theirs).mean(axis=0))
    kinds = ("new rows", "fitted rows", "size", "time")
    cells = dict(zip(kinds, map(averaged, np.transpose(differences)), strict=True))
    return {"setting": setting, "relative to": other, **cells}


if __name__ == "__main__":
    main()
