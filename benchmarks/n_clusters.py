"""How many clusters: criteria on generated and real tables.

    python -m benchmarks.n_clusters
    python -m benchmarks.n_clusters --draw 5 --verbose

Each table is standardised, and each criterion chooses from 2 to 12 clusters of k-means, or 1 if it
can. Printed is for how many tables

- with groups (20) it finds their number. There are 2 to 10 groups, 2 to 50 columns and 300 to 2000
  rows. The nearest centres are 4 to 6.5 standard deviations apart. Groups are spherical, or they
  have unequal sizes, unequal spreads, correlated columns or heavy tails;
- without groups (10) it finds 1: uniform, Gaussian, correlated or with heavy tails, columns of
  different distributions, a ring;
- with groups (10 others) it finds the same number beside one or two independent categories;
- of packages of R (20, at most 1000 rows) it finds 2 or more, and the same with each of five seeds.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import silhouette_score

from benchmarks.datasets import R_TABLES, load
from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, parser
from tao_cluster import choose_n_clusters

NUMBERS = range(2, 13)
WITH = ("spherical", "unequal sizes", "unequal spreads", "correlated", "heavy tails")
WITHOUT = ("uniform", "Gaussian", "correlated", "heavy tails") * 2 + ("mixed", "ring")
N_WITH, N_BESIDE, N_SEEDS = 20, 10, 5
_N_REFERENCES = 5  # uniform tables of the gap statistic, and halvings of the prediction strength
_LEAST_SILHOUETTE, _LEAST_STRENGTH = 0.25, 0.8


def clustered(kind, rng, most_rows=2000, most_clusters=10):
    """Return rows with clusters, and their number."""
    k, d = int(rng.integers(2, most_clusters + 1)), int(rng.choice([2, 3, 5, 10, 20, 50]))
    n = int(rng.integers(max(300, 50 * k), most_rows + 1))
    shares = np.maximum(rng.dirichlet(np.full(k, 4.0 if kind == WITH[1] else 20.0)), 0.3 / k)
    spreads = rng.uniform(0.5, 1.5, k) if kind == WITH[2] else np.ones(k)
    labels = rng.choice(k, n, p=shares / shares.sum())
    noise = rng.standard_normal((n, d))
    if kind == "heavy tails":
        noise = rng.standard_t(5, (n, d)) * np.sqrt(3 / 5)
    elif kind == "correlated":
        mixing = rng.standard_normal((d, d))
        mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
        noise = noise @ (0.75 * np.eye(d) + 0.5 * mixing).T
    centers = _centers(k, d, rng.uniform(4, 6.5), spreads, rng)
    return centers[labels] + noise * spreads[labels, None], k


def _centers(k, d, distance, spreads, rng):
    """Return centres of which the nearest two have a given distance in mean spreads."""
    side = 1.0
    while True:
        for _ in range(200):
            centers = rng.uniform(-side, side, (k, d))
            apart = np.linalg.norm(centers[:, None] - centers[None], axis=2)
            apart /= (spreads[:, None] + spreads) / 2
            np.fill_diagonal(apart, np.inf)
            if apart.min() >= distance:
                return centers * (distance / apart.min())
        side *= 1.1


def without(kind, rng, most_rows=2000):
    """Return rows without clusters."""
    d, n = int(rng.choice([2, 3, 5, 10, 20])), int(rng.integers(300, most_rows + 1))
    normal = rng.standard_normal((n, d))
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "correlated":
        return normal @ (rng.standard_normal((d, d)) / np.sqrt(d) + 0.5 * np.eye(d))
    if kind == "heavy tails":
        return rng.standard_t(3, (n, d))
    if kind == "mixed":
        columns = (rng.random(n), rng.standard_normal(n), rng.exponential(size=n))
        X = np.column_stack([*columns, rng.lognormal(0, 0.5, n)])
        return X / X.std(axis=0)
    if kind == "ring":
        angle = rng.uniform(0, 2 * np.pi, n)
        normal *= 0.3
        normal[:, :2] += 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return normal


def beside_categories(X, n, rng):
    """Return standardised rows beside n independent categories, as `table_pipeline` has them."""
    dummies = []
    for _ in range(n):
        levels = rng.integers(2, 5)
        drawn = rng.choice(levels, len(X), p=rng.dirichlet(np.full(levels, 8.0)))
        dummies.append(np.eye(levels)[drawn] / np.sqrt(2))
    return np.hstack([X, *dummies])


def chosen(X, seed):
    """Return the number of clusters that each criterion chooses: dict."""
    fits = [free_clustering(X, k, seed) for k in (1, *NUMBERS)]
    silhouettes = [silhouette_score(X, fit.labels_) for fit in fits[1:]]
    ours = choose_n_clusters(X, NUMBERS, trees=False, random_state=seed)
    return {
        "groups that are apart (`n_apart`)": ours.n_apart,
        "the same, else segments that are found again (`n_clusters`)": ours.n_clusters,
        f"silhouette, 1 below {_LEAST_SILHOUETTE}": (
            NUMBERS[int(np.argmax(silhouettes))] if max(silhouettes) >= _LEAST_SILHOUETTE else 1
        ),
        "gap statistic": _gap(X, np.array([fit.inertia_ for fit in fits]), seed),
        f"prediction strength, at least {_LEAST_STRENGTH}": _by_strength(X, seed),
    }


def _gap(X, costs, seed):
    """Tibshirani, Walther and Hastie (2001), with references in the box of the components."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    rotated = X @ axes.T
    low, high = rotated.min(axis=0), rotated.max(axis=0)
    logs = [
        [np.log(free_clustering(reference, k, seed, 1).inertia_) for k in (1, *NUMBERS)]
        for reference in (rng.uniform(low, high, X.shape) for _ in range(_N_REFERENCES))
    ]
    gap = np.mean(logs, axis=0) - np.log(costs)
    error = np.std(logs, axis=0) * np.sqrt(1 + 1 / _N_REFERENCES)
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return int(enough[0]) + 1 if len(enough) else len(gap)


def _by_strength(X, seed):
    """Tibshirani and Walther (2005): the largest k whose mean strength is at least 0.8."""
    rng, strong = np.random.default_rng(seed), [1]
    halves = [np.array_split(rng.permutation(len(X)), 2) for _ in range(_N_REFERENCES)]
    for k in NUMBERS:
        strengths = []
        for a, b in halves:
            fit, own = (free_clustering(X[half], k, seed) for half in (a, b))
            joint = pd.crosstab(own.labels_, fit.predict(X[b])).to_numpy()
            n = joint.sum(axis=1)
            strengths.append(((joint * (joint - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)).min())
        strong += [k] if np.mean(strengths) >= _LEAST_STRENGTH else []
    return max(strong)


def study(seed, tell):
    """Yield (criterion, column, whether it is right), one for each table and criterion."""
    for i in range(N_WITH):
        X, k = clustered(WITH[i % len(WITH)], np.random.default_rng([seed, i]))
        for name, number in tell(WITH[i % len(WITH)], k, chosen(_scaled(X), seed)):
            yield name, f"right, of {N_WITH}", number == k
    for i, kind in enumerate(WITHOUT):
        X = _scaled(without(kind, np.random.default_rng([seed, N_WITH + i])))
        for name, number in tell(kind, 1, chosen(X, seed)):
            yield name, f"1 without groups, of {len(WITHOUT)}", number == 1
    for i in range(N_BESIDE):
        rng = np.random.default_rng([seed, 100 + i])
        X, k = clustered(WITH[i % len(WITH)], rng)
        X = _scaled(X)
        alone = chosen(X, seed)
        both = chosen(beside_categories(X, 1 + i % 2, rng), seed)
        for name, number in tell("beside categories", alone, both):
            yield name, f"same beside categories, of {N_BESIDE}", number == alone[name]
    for table in R_TABLES:
        X = load(f"{table}:1000")[0]
        found = [chosen(X, s) for s in range(seed, seed + N_SEEDS)]
        for name, number in tell(table, found, found[0]):
            yield name, f"2 or more in real tables, of {len(R_TABLES)}", number > 1
            is_same = len({each[name] for each in found}) == 1
            yield name, f"same with {N_SEEDS} seeds, of {len(R_TABLES)}", is_same


def _scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def main(arguments=None):
    """Print the table."""
    command = parser(__doc__)
    command.add_argument("--draw", type=int, default=31, help="seed")
    command.add_argument("--verbose", action="store_true", help="print each table")
    options = command.parse_args(arguments)
    warnings.simplefilter("ignore")

    def tell(kind, k, found):
        if options.verbose:
            print(kind, k, [*found.values()], file=sys.stderr)
        return found.items()

    lines = {}
    for name, column, is_right in study(options.draw, tell):
        line = lines.setdefault(name, {"criterion": name})
        line[column] = line.get(column, 0) + int(is_right)
    print(markdown([{key: str(value) for key, value in line.items()} for line in lines.values()]))


if __name__ == "__main__":
    main()
