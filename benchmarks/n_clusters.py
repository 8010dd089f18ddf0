"""How many clusters: criteria on generated data, 20 sets with clusters and 10 without.

    python -m benchmarks.n_clusters
    python -m benchmarks.n_clusters --draws 5 6 --verbose

A set with clusters has 2 to 10 of them, 2 to 50 columns and 300 to 2000 rows. The nearest centres
are 4 to 6.5 standard deviations apart. The clusters are spherical, or they have unequal sizes,
unequal spreads, correlated columns or heavy tails (Student's t with 5 degrees of freedom). The sets
without clusters are uniform, one Gaussian, one Gaussian with correlated columns, Student's t with 3
degrees of freedom, a table of columns with different distributions, and a ring.

Each criterion chooses from 2 to 12 clusters of k-means, or 1 if it can. Printed is for how many of
the sets with clusters it finds their number, and for how many of the others it finds 1.
"""

import sys
import warnings

import numpy as np
from sklearn.metrics import silhouette_score

from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import free_clustering, parser
from tao_cluster import choose_n_clusters

NUMBERS = range(2, 13)
WITH = ("spherical", "unequal sizes", "unequal spreads", "correlated", "heavy tails")
WITHOUT = ("uniform", "Gaussian", "correlated", "heavy tails") * 2 + ("mixed", "ring")
N_WITH = 20
_N_REFERENCES = 10  # uniform data sets of the gap statistic
_LEAST_SILHOUETTE = 0.25


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


def draw(seed):
    """Yield (kind, rows, number of clusters) of all sets of a draw."""
    for i in range(N_WITH + len(WITHOUT)):
        rng = np.random.default_rng([seed, i])
        if i < N_WITH:
            kind = WITH[i % len(WITH)]
            yield f"clusters, {kind}", *clustered(kind, rng)
        else:
            yield WITHOUT[i - N_WITH], without(WITHOUT[i - N_WITH], rng), 1


def chosen(X, seed):
    """Return the number of clusters that each criterion chooses: dict."""
    fits = [free_clustering(X, k, seed) for k in (1, *NUMBERS)]
    costs = np.array([fit.inertia_ for fit in fits])
    silhouettes = [silhouette_score(X, fit.labels_) for fit in fits[1:]]
    best = int(NUMBERS[np.argmax(silhouettes)])
    ours = choose_n_clusters(X, NUMBERS, trees=False, random_state=seed)
    return {
        "density between clusters (`choose_n_clusters`)": ours.n_clusters,
        "silhouette": best,
        f"silhouette, 1 below {_LEAST_SILHOUETTE}": (
            best if max(silhouettes) >= _LEAST_SILHOUETTE else 1
        ),
        "gap statistic": _gap(X, costs, seed),
        "elbow": _elbow(costs),
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


def _elbow(costs):
    """Return the number whose cost is farthest below the line from the first to the last one."""
    line = np.linspace(costs[0], costs[-1], len(costs))
    return int(np.argmax(line - costs)) + 1


def main(arguments=None):
    """Print the table."""
    command = parser(__doc__)
    command.add_argument("--draws", type=int, nargs="+", default=[11, 12], help="seeds")
    command.add_argument("--verbose", action="store_true", help="print each set")
    options = command.parse_args(arguments)
    counts = {}
    warnings.simplefilter("ignore")
    for place, seed in enumerate(options.draws):
        for kind, X, k in draw(seed):
            found = chosen(X, seed)
            if options.verbose:
                shape = f"{len(X)} x {X.shape[1]}"
                print(f"{seed} {kind}, {shape}, k={k}: {[*found.values()]}", file=sys.stderr)
            for name, number in found.items():
                hits = counts.setdefault(name, np.zeros((len(options.draws), 2), int))
                hits[place, int(k == 1)] += number == k
    lines = [
        {"criterion": name}
        | {
            f"{what}, draw {seed}": str(hits[place, column])
            for place, seed in enumerate(options.draws)
            for column, what in enumerate((f"right k of {N_WITH}", f"1 of {len(WITHOUT)}"))
        }
        for name, hits in counts.items()
    ]
    print(markdown(lines))


if __name__ == "__main__":
    main()
