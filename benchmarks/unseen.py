"""What trees cost on rows that they have not seen, by how lambda and the search were chosen.

    python -m benchmarks.unseen digits letter mnist
    python -m benchmarks.unseen digits mice anuran avila fifa19 --rows 1600 --splits 3

Half of the rows are fitted, with their own KMeans(k, n_init=10, random_state=0) as the free
clustering; "new" is the cost on the other half, of the tree with its centres over that of the
nearest free centre (`cost_increase(X_new)`). Seconds are CPU time, free clustering included.

With several splits, means and their standard errors over the splits follow. The last lines compare
settings with another one: means over the data sets, with standard errors, of
log((cost + 1 %) / (its cost + 1 %)) on new and on fitted rows, and of the logarithms of the
ratios of sizes and times.
"""

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from sklearn.cluster import KMeans
from sklearn.model_selection import train_test_split

from benchmarks.datasets import DATASETS, load
from benchmarks.evidence.pages.words import averaged
from tao_cluster import DirectForm, TAOClustering

_NO_ROUND, _FOUR_ROUNDS = ({"algorithm": DirectForm(search=search)} for search in ("none", "fast"))
SETTINGS = {
    "knee": {},
    "knee, four rounds": _FOUR_ROUNDS,
    "knee, validation=0.2": {"validation": 0.2},
    "max_cost_increase=1": {"max_cost_increase": 1},
    "max_cost_increase=4": {"max_cost_increase": 4},
    "max_cost_increase=4, no round": {"max_cost_increase": 4, **_NO_ROUND},
    "max_cost_increase=4, four rounds": {"max_cost_increase": 4, **_FOUR_ROUNDS},
    "max_cost_increase=4, validation=0.2": {"max_cost_increase": 4, "validation": 0.2},
}


_ADDED = np.array([1.0, 1.0, 0.0, 0.0])  # one percent to costs, before logarithms


def main():
    """Print a line a setting and split, and the comparisons."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", choices=DATASETS, nargs="+")
    parser.add_argument("--rows", type=int, help="of the data, fitted and new; default all")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--settings", choices=SETTINGS, nargs="+", default=list(SETTINGS))
    options = parser.parse_args()
    print(f"{'data':8} {'lambda by':36} seen %   new %  parameters  leaves  seconds")
    found = defaultdict(list)
    for name in options.names:
        X, k, depth = load(name)
        for split in range(options.splits):
            rows = np.random.RandomState(split).permutation(X.shape[0])[: options.rows]
            parts = train_test_split(X[rows], test_size=0.5, random_state=split)
            for setting in options.settings:
                terms = SETTINGS[setting] | {"depth": depth, "random_state": split}
                found[setting, name].append(measured(setting, name, k, *parts, terms))
    if options.splits > 1:
        average(found)
    for setting in options.settings:
        other = setting.partition(",")[0]
        if other != setting and other in options.settings:
            compare(found, setting, other, options.names)


def measured(setting, name, k, seen, new, parameters):
    """Fit a tree, print a line, and return costs on new and seen rows, size and seconds."""
    reference = KMeans(k, n_init=10, random_state=0)
    model = TAOClustering(k, reference=reference, **parameters)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as told:  # goals that no tree meets
        warnings.simplefilter("always")
        model.fit(seen)
    seconds, unseen = time.process_time() - start, model.cost_increase(new)
    size = model.tree_.n_parameters
    print(
        f"{name:8} {setting:36} {model.cost_increase_:6.2f}  {unseen:6.2f}"
        f"  {size:10d}  {model.tree_.n_leaves:6d}  {seconds:7.1f}",
        *(str(warning.message) for warning in told),
        flush=True,
    )
    return unseen, model.cost_increase_, size, seconds


def average(found):
    """Print means over splits and their standard errors for each data set and setting."""
    print(f"{'data':8} {'means over splits':36} seen %        new %         parameters")
    for (setting, name), runs in found.items():
        new, seen, sizes, _ = np.array(runs).T
        cells = f"{averaged(seen):13} {averaged(new):13} {sizes.mean():.0f}"
        print(f"{name:8} {setting:36} {cells}")


def compare(found, setting, other, names):
    """Print the effects of a setting, relative to another one."""
    effects = []
    for name in names:
        ours, theirs = (np.array(found[key, name]) for key in (setting, other))
        ours, theirs = (np.log(np.maximum(part, 0) + _ADDED) for part in (ours, theirs))
        effects.append((ours - theirs).mean(axis=0))
    means, errors = np.mean(effects, axis=0), np.std(effects, axis=0) / len(names) ** 0.5
    kinds = ("new rows", "fitted rows", "size", "time")
    parts = (f"{k} {m:+.3f} +- {e:.3f}" for k, m, e in zip(kinds, means, errors, strict=True))
    print(f"{setting}, against {other}: " + ", ".join(parts))


if __name__ == "__main__":
    main()
