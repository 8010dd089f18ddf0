"""One clustering for every number of clusters: cost over k-means, on fitted and on new rows.

    python -m benchmarks nested
    python -m benchmarks nested wine olive --seeds 2 --rows 600 --methods oblique merged bisecting

For each data set and seed, half of the rows are fitted and the others are new. For k = 2 to 10, the
cost of a clustering with centres of the fitted rows is compared with that of KMeans(k, n_init=10)
of the same rows: percent above it, on either half. A line has the mean over k, the largest value of
a k, and the parameters of the largest tree, as means over the seeds. The last lines are means over
the data sets with standard errors, and for how many sets a method costs less than another one.

Methods: "oblique" and "axis" are `fit_nested`; "merged" is `nested` of an oblique tree for 10
clusters with max_cost_increase=2, which is cut to 10 leaves; "separate" is a tree for each k with
at most 10 (k - 1) parameters; "bisecting" and "ward" have no tree (new rows go to the nearest
centre); "divclust" is DIVCLUS-T, with as many leaves as clusters.
"""

import argparse
import sys
import warnings
from collections import defaultdict

import numpy as np
from sklearn.cluster import AgglomerativeClustering, BisectingKMeans, KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import R_TABLES, load
from benchmarks.evidence.pages.words import averaged, markdown
from greedy import DIVCLUST
from tao_cluster import TAOClustering, fit_nested, nested

K = 10
NUMBERS = range(2, K + 1)
PAIRS = (
    ("oblique", "bisecting"),
    ("oblique", "ward"),
    ("oblique", "merged"),
    ("axis", "divclust"),
)


def of_trees(trees, new):
    """Return (labels of fitted rows, labels of new rows) for each k, and the parameters."""
    own = trees.levels[:, trees.model.predict(new)]
    pairs = {k: (trees.labels[k - 1], own[k - 1]) for k in range(2, trees.n_clusters + 1)}
    return pairs, trees.model.tree_.n_parameters


def oblique(seen, new, seed):
    """Train one oblique tree for all k."""
    return of_trees(fit_nested(seen, K, random_state=seed), new)


def axis(seen, new, seed):
    """Train one axis-aligned tree for all k, with 10 leaves."""
    return of_trees(fit_nested(seen, K, split="axis", random_state=seed), new)


def merged(seen, new, seed):
    """Cut back an ordinary oblique tree."""
    model = TAOClustering(K, max_cost_increase=2, random_state=seed).fit(seen)
    return of_trees(nested(model, seen, min(K, model.tree_.n_leaves), form="prunings"), new)


def separate(seen, new, seed):
    """Fit a tree for each k, which are not nested."""
    models = {k: TAOClustering(k, max_parameters=10 * (k - 1), random_state=seed) for k in NUMBERS}
    pairs = {k: (model.fit(seen).labels_, model.predict(new)) for k, model in models.items()}
    return pairs, models[K].tree_.n_parameters


def bisecting(seen, new, seed):
    """Divide clusters in two, without a tree of tests."""
    models = {k: BisectingKMeans(k, n_init=10, random_state=seed).fit(seen) for k in NUMBERS}
    return {k: (model.labels_, model.predict(new)) for k, model in models.items()}, 0


def ward(seen, new, seed):
    """Merge clusters, without a tree of tests."""
    pairs = {}
    for k in NUMBERS:
        labels = AgglomerativeClustering(k).fit_predict(seen)
        centers = [seen[labels == c].mean(axis=0) for c in range(k)]
        pairs[k] = labels, pairwise_distances_argmin(new, centers)
    return pairs, 0


def divclust(seen, new, seed):
    """Divide by the best test of one column."""
    models = {k: DIVCLUST(k, random_state=seed).fit(seen) for k in NUMBERS}
    pairs = {k: (model.labels_, model.predict(new)) for k, model in models.items()}
    return pairs, models[K].tree_.n_parameters


METHODS = {
    each.__name__: each for each in (oblique, axis, merged, separate, bisecting, ward, divclust)
}


def costs(seen, new, labels, of_new, k):
    """Return the costs of fitted and of new rows, at the means of the fitted rows of clusters."""
    means = np.array([seen[labels == c].mean(axis=0) for c in range(k)])
    pairs = (seen, labels), (new, of_new)
    return np.array([((rows - means[own]) ** 2).sum() for rows, own in pairs])


def halves(name, seed, n_rows):
    """Return fitted and new rows, in standard deviations."""
    X = StandardScaler().fit_transform(load(name)[0])
    X = X[np.random.RandomState(seed).permutation(len(X))[:n_rows]]
    return X[::2], X[1::2]


def measured(name, seed, options):
    """Return {method: (mean and maximum over k on fitted and on new rows, parameters)}."""
    seen, new = halves(name, seed, options.rows)
    free = {}
    for k in NUMBERS:
        model = KMeans(k, n_init=options.starts, random_state=seed).fit(seen)
        free[k] = costs(seen, new, model.labels_, model.predict(new), k)
    found = {}
    for method in options.methods:
        pairs, n_parameters = METHODS[method](seen, new, seed)
        above = [100 * (costs(seen, new, *pair, k) / free[k] - 1) for k, pair in pairs.items()]
        found[method] = np.array([*np.mean(above, axis=0), *np.max(above, axis=0), n_parameters])
    return found


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks nested",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", default=list(R_TABLES), help="data sets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1500, help="at most, fitted and new")
    parser.add_argument("--starts", type=int, default=10, help="of k-means")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    lines, means = [], defaultdict(list)
    for name in options.names:
        runs = [measured(name, seed, options) for seed in range(options.seeds)]
        for method in options.methods:
            mean = np.mean([run[method] for run in runs], axis=0)
            means[method].append(mean)
            texts = [f"{value:.2f}" for value in mean[:4]] + [f"{mean[4]:.0f}"]
            lines.append(_line(name, method, texts))
            print(lines[-1], file=sys.stderr, flush=True)
    for method, values in means.items():
        texts = [averaged(column) for column in np.transpose(values)]
        lines.append(_line("mean", method, texts))
    print(markdown(lines))
    pairs = [pair for pair in PAIRS if set(pair) <= set(means)]
    wins = [
        {"method": one, "costs less than": other}
        | {
            f"{rows} rows": f"{np.sum(difference < 0)} of {len(difference)}"
            for rows, difference in zip(
                ("fitted", "new"), np.subtract(means[one], means[other]).T[:2], strict=True
            )
        }
        for one, other in pairs
    ]
    print("\n" + markdown(wins))


def _line(name, method, texts):
    columns = "fitted", "new", "largest k, fitted", "largest k, new", "parameters"
    return {"data": name, "method": method} | dict(zip(columns, texts, strict=True))
