"""How many clusters: criteria on generated and real tables.

    python -m benchmarks.n_clusters
    python -m benchmarks.n_clusters --draw 5

Each table is standardised, and each criterion chooses from 2 to 12 clusters of k-means, or 1 if it
can. Printed is for how many tables

- with groups it finds their number: 2 to 10 groups, 2 to 50 columns and 300 to 2000 rows. The
  nearest centres are 4 to 6.5 standard deviations apart. Sizes or spreads may be unequal, columns
  correlated, or tails heavy;
- without groups it finds 1: uniform, Gaussian, correlated, heavy tails, mixed columns, a ring;
- with groups (others) it finds the same number beside one or two independent categories;
- of packages of R, with at most 1000 rows, it finds 2 or more, and the same for each of five seeds.
"""

import warnings

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import scale

from benchmarks.datasets import R_TABLES, load
from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, parser
from tao_cluster import choose_n_clusters
from tao_cluster.comparison.study import half_splits

NUMBERS = range(2, 13)
WITH = ("spherical", "unequal sizes", "unequal spreads", "correlated", "heavy tails") * 4
WITHOUT = ("uniform", "Gaussian", "correlated", "heavy tails") * 2 + ("mixed", "ring")
_N_BESIDE, _N_SEEDS = 10, 5
_N_REPEATS = 5  # uniform tables of the gap statistic, and halvings of the prediction strength
GROUPS, NONE, BESIDE = "right number", "1 without groups", "same beside categories"
REAL, SAME = "2 or more in real tables", "same for five seeds"
CRITERIA = [
    "groups that are apart (`n_apart`)",
    "these or, without any, segments that are found again (`n_clusters`)",
    "silhouette, 1 below 0.25",
    "gap statistic",
    "prediction strength of at least 0.8",
]


def clustered(kind, rng):
    """Return rows with groups, and the number of these."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 3, 5, 10, 20, 50]))
    n = int(rng.integers(max(300, 50 * k), 2001))
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
    for side in 1.01 ** np.arange(2000):
        centers = rng.uniform(-side, side, (k, d))
        apart = pdist(centers) / pdist(spreads[:, None], lambda a, b: (a[0] + b[0]) / 2)
        if apart.min() >= distance:
            break
    return centers * (distance / apart.min())


def without(kind, rng):
    """Return rows without groups."""
    d, n = int(rng.choice([2, 3, 5, 10, 20])), int(rng.integers(300, 2001))
    normal, angle = rng.standard_normal((n, d)), rng.uniform(0, 2 * np.pi, n)
    if kind == "correlated":
        return normal @ (rng.standard_normal((d, d)) / np.sqrt(d) + 0.5 * np.eye(d))
    if kind == "mixed":
        return np.c_[rng.random(n), normal[:, 0], rng.exponential(size=n), rng.lognormal(0, 0.5, n)]
    if kind == "ring":
        normal *= 0.3
        normal[:, :2] += 2 * np.c_[np.cos(angle), np.sin(angle)]
    others = {"uniform": rng.random((n, d)), "heavy tails": rng.standard_t(3, (n, d))}
    return others.get(kind, normal)


def beside(X, n, rng):
    """Return rows beside n independent categories, encoded as `table_pipeline` does."""
    levels = rng.integers(2, 5, n)
    drawn = [rng.choice(m, len(X), p=rng.dirichlet(np.full(m, 8.0))) for m in levels]
    return np.hstack([X, *(np.eye(m)[of] / 2**0.5 for m, of in zip(levels, drawn, strict=True))])


def chosen(X, seed):
    """Return the number of clusters that each of the criteria chooses: int array."""
    fits = [free_clustering(X, k, seed) for k in (1, *NUMBERS)]
    silhouettes = [silhouette_score(X, fit.labels_) for fit in fits[1:]]
    ours = choose_n_clusters(X, NUMBERS, trees=False, random_state=seed)
    by_silhouette = NUMBERS[int(np.argmax(silhouettes))] if max(silhouettes) >= 0.25 else 1
    by_gap = _gap(X, np.array([fit.inertia_ for fit in fits]), seed)
    strong = [k for k in NUMBERS if _strength(X, k, seed) >= 0.8]
    return np.array([ours.n_apart, ours.n_clusters, by_silhouette, by_gap, max(strong, default=1)])


def _gap(X, costs, seed):
    """Tibshirani, Walther and Hastie (2001), with references in the box of the components."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    rotated = X @ axes.T
    low, high = rotated.min(axis=0), rotated.max(axis=0)
    logs = [
        [np.log(free_clustering(reference, k, seed, 1).inertia_) for k in (1, *NUMBERS)]
        for reference in (rng.uniform(low, high, X.shape) for _ in range(_N_REPEATS))
    ]
    gap = np.mean(logs, axis=0) - np.log(costs)
    error = np.std(logs, axis=0) * np.sqrt(1 + 1 / _N_REPEATS)
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return int(enough[0]) + 1 if len(enough) else len(gap)


def _strength(X, k, seed):
    """Tibshirani and Walther (2005): pairs of new rows that stay together, least of a cluster."""
    found = []
    for fitted, new in half_splits(len(X), _N_REPEATS, seed):
        fit, own = (free_clustering(X[rows], k, seed) for rows in (fitted, new))
        joint = pd.crosstab(own.labels_, fit.predict(X[new])).to_numpy()
        n = joint.sum(axis=1)
        found.append(((joint * (joint - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)).min())
    return np.mean(found)


def study(seed):
    """Yield a column, and for each criterion whether it is right, for each table."""
    for i, kind in enumerate(WITH + WITHOUT):
        rng = np.random.default_rng([seed, i])
        X, k = clustered(kind, rng) if i < len(WITH) else (without(kind, rng), 1)
        yield (NONE if k == 1 else GROUPS), chosen(scale(X), seed) == k
    for i in range(_N_BESIDE):
        rng = np.random.default_rng([seed, 100 + i])
        X = scale(clustered(WITH[i], rng)[0])
        yield BESIDE, chosen(X, seed) == chosen(beside(X, 1 + i % 2, rng), seed)
    for table in R_TABLES:
        X = load(f"{table}:1000")[0]
        found = np.array([chosen(X, each) for each in range(seed, seed + _N_SEEDS)])
        yield REAL, found[0] > 1
        yield SAME, np.ptp(found, axis=0) == 0


def main(arguments=None):
    """Print the table."""
    command = parser(__doc__)
    command.add_argument("--draw", type=int, default=47, help="seed")
    options = command.parse_args(arguments)
    warnings.simplefilter("ignore")
    lines = [{"criterion": name} for name in CRITERIA]
    for column, group in pd.DataFrame(study(options.draw)).groupby(0, sort=False)[1]:
        for line, n_right in zip(lines, np.sum(list(group), axis=0), strict=True):
            line[column] = f"{n_right} of {len(group)}"
    print(markdown(lines))


if __name__ == "__main__":
    main()
