"""One clustering for every number of clusters: cost over k-means, on fitted and on new rows.

    python -m benchmarks.nested
    python -m benchmarks.nested wine olive --seeds 2 --rows 600 --methods oblique merged bisecting

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

import warnings

import numpy as np
from sklearn.cluster import AgglomerativeClustering, BisectingKMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import scale

from benchmarks.datasets import R_TABLES, load
from benchmarks.evidence.pages.words import averaged, markdown
from benchmarks.shared import free_clustering, halves, parser
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
COLUMNS = ("fitted", "new", "largest k, fitted", "largest k, new", "parameters")


def of_trees(trees, new):
    """Return (labels of fitted rows, labels of new rows) for each k, and the parameters."""
    own = trees.levels[:, trees.model.predict(new)]
    pairs = {k: (trees.labels[k - 1], own[k - 1]) for k in range(2, trees.n_clusters + 1)}
    return pairs, trees.model.tree_.n_parameters


def of_models(make, seen, new):
    """Return the same for a model of each k, fitted to the rows."""
    models = {k: make(k).fit(seen) for k in NUMBERS}
    tree = getattr(models[K], "tree_", None)
    pairs = {k: (model.labels_, model.predict(new)) for k, model in models.items()}
    return pairs, tree.n_parameters if tree else 0


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
    options = {"random_state": seed}
    return of_models(lambda k: TAOClustering(k, max_parameters=10 * (k - 1), **options), seen, new)


def bisecting(seen, new, seed):
    """Divide clusters in two, without a tree of tests."""
    return of_models(lambda k: BisectingKMeans(k, n_init=10, random_state=seed), seen, new)


def ward(seen, new, seed):
    """Merge clusters, without a tree of tests."""
    del seed
    pairs = {}
    for k in NUMBERS:
        labels = AgglomerativeClustering(k).fit_predict(seen)
        centers = [seen[labels == c].mean(axis=0) for c in range(k)]
        pairs[k] = labels, pairwise_distances_argmin(new, centers)
    return pairs, 0


def divclust(seen, new, seed):
    """Divide by the best test of one column."""
    return of_models(lambda k: DIVCLUST(k, random_state=seed), seen, new)


METHODS = {
    each.__name__: each for each in (oblique, axis, merged, separate, bisecting, ward, divclust)
}


def costs(seen, new, labels, of_new, k):
    """Return the costs of fitted and of new rows, at the means of the fitted rows of clusters."""
    means = np.array([seen[labels == c].mean(axis=0) for c in range(k)])
    pairs = (seen, labels), (new, of_new)
    return np.array([((rows - means[own]) ** 2).sum() for rows, own in pairs])


def measured(methods, seen, new, seed):
    """Return an array (methods, columns): means and maxima over k, and parameters."""
    free = {}
    for k in NUMBERS:
        model = free_clustering(seen, k, seed)
        free[k] = costs(seen, new, model.labels_, model.predict(new), k)
    found = []
    for method in methods:
        pairs, n_parameters = METHODS[method](seen, new, seed)
        above = [100 * (costs(seen, new, *pair, k) / free[k] - 1) for k, pair in pairs.items()]
        found.append([*np.mean(above, axis=0), *np.max(above, axis=0), n_parameters])
    return np.array(found)


def main(arguments=None):
    """Print the table, and how often methods cost less than others."""
    command = parser(__doc__)
    command.add_argument("names", nargs="*", default=list(R_TABLES), help="data sets")
    command.add_argument("--seeds", type=int, default=5)
    command.add_argument("--rows", type=int, default=750, help="at most, fitted and new")
    command.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = command.parse_args(arguments)
    warnings.simplefilter("ignore")
    lines, means = [], []
    for name in options.names:
        pairs = halves(scale(load(name)[0]), options.seeds, options.rows)
        runs = [measured(options.methods, *pair, seed) for seed, pair in enumerate(pairs)]
        means.append(np.mean(runs, axis=0))
        for method, row in zip(options.methods, means[-1], strict=True):
            lines.append(_line(name, method, (f"{value:.2f}" for value in row)))
    means = dict(zip(options.methods, np.moveaxis(means, 1, 0), strict=True))
    for method, rows in means.items():
        lines.append(_line("mean", method, map(averaged, rows.T)))
    print(markdown(lines))
    wins = []
    for one, other in PAIRS:
        if {one, other} <= set(means):
            lower = (means[one] < means[other]).sum(axis=0)
            counts = {f"{COLUMNS[i]} rows": f"{lower[i]} of {len(options.names)}" for i in (0, 1)}
            wins.append({"method": one, "costs less than": other, **counts})
    print("\n" + markdown(wins) if wins else "")


def _line(name, method, texts):
    return {"data": name, "method": method} | dict(zip(COLUMNS, texts, strict=True))


if __name__ == "__main__":
    main()
