"""Trees that leave far rows without a cluster, against removing the farthest rows first.

    python -m benchmarks.trimmed --seeds 10
    python -m benchmarks.trimmed --auto --seeds 20

Each data set has four groups of normal rows in three columns, and 5 % rows that are uniform in a
box ten times as wide. Both ways leave out at most the given share of the rows. "removed first"
takes away the rows farthest from the centres of k-means on all rows, and fits an ordinary tree to
the others. A cell has the mean over the seeds, with its standard error. The cost is the mean
squared distance of the rows of the groups to the centre that the tree assigns them; rows of groups
that are left out count with the distance to their nearest centre. New rows are 600 rows of the same
groups, and 600 far ones, of which the table has the share that the tree leaves out.

With `--auto`, the table has the rows that the free clustering leaves out with share="auto": tables
of 1000 rows, 2 to 12 columns and 3 to 6 normal groups, with several kinds of wrong rows.
"""

import numpy as np

from benchmarks.evidence.pages.words import averaged, markdown
from benchmarks.shared import free_clustering, parser
from tao_cluster import TAOClustering
from tao_cluster.measures import weighted_average_explanation_size
from tao_cluster.objectives import Trimmed

SHARES, N_CLUSTERS = (0.0, 0.05, 0.10), 4


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--seeds", type=int, default=10, help="number of data sets")
    arguments.add_argument("--auto", action="store_true", help="shares that are found")
    options = arguments.parse_args()
    if options.auto:
        found = {kind: [_found(kind, s) for s in range(options.seeds)] for kind in KINDS}
        lines = [
            {"wrong rows": kind} | dict(zip(FOUND, map(averaged, np.transpose(rows)), strict=True))
            for kind, rows in found.items()
        ]
        return print(markdown(lines))
    lines = []
    for split in ("oblique", "axis"):
        for share in SHARES:
            for name, fit in (("trimmed", trimmed), ("removed first", removed_first)):
                if share == 0 and name == "trimmed":
                    continue
                rows = np.array([measured(fit, split, share, s) for s in range(options.seeds)]).T
                line = {
                    "tree": f"{split}, {name if share else 'all rows'}",
                    "share": f"{share:.0%}",
                }
                lines.append(line | dict(zip(HEADS, map(averaged, rows), strict=True)))
    return print(markdown(lines))


FOUND = ("wrong, %", "left out, %", "of the wrong rows, %")
KINDS = {  # share of the wrong rows, and the wrong rows for n rows and d columns
    "none": (0, lambda rng, X: X),
    "none, lognormal columns": (0, lambda rng, X: np.exp(rng.normal(size=X.shape) / 2)),
    "a cell ten times as large": (0.005, lambda rng, X: X + _in_cell(rng, X, lambda x: 9 * x + 60)),
    "the code 999 in a column": (0.01, lambda rng, X: X + _in_column(rng, X)),
    "a far group": (0.02, lambda rng, X: rng.normal(size=X.shape) + 40),
    "Cauchy noise in all columns": (0.03, lambda rng, X: X + 20 * rng.standard_t(1, X.shape)),
    "uniform in a box twice as wide": (0.05, lambda rng, X: rng.uniform(-16, 16, X.shape)),
    "uniform in a box ten times as wide": (0.1, lambda rng, X: rng.uniform(-80, 80, X.shape)),
}


def _in_cell(rng, X, change):
    is_cell = np.arange(X.shape[1]) == rng.integers(X.shape[1], size=len(X))[:, None]
    return np.where(is_cell, change(X), 0.0)


def _in_column(rng, X):
    return np.where(np.arange(X.shape[1]) == rng.integers(X.shape[1]), 999 - X, 0.0)


def _found(kind, seed):
    """Return percentages: of wrong rows, of rows left out, and of the wrong rows left out."""
    rng = np.random.default_rng([seed, 1])
    d, k = rng.integers(2, 13), rng.integers(3, 7)
    X = rng.uniform(-8, 8, (k, d))[rng.integers(k, size=1000)] + rng.normal(size=(1000, d))
    share, wrong = KINDS[kind]
    is_wrong = np.arange(1000) < 1000 * share
    X[is_wrong if share else slice(None)] = wrong(rng, X[is_wrong] if share else X)
    model = TAOClustering(k, objective="trimmed", split="axis", max_leaves=k + 1, random_state=seed)
    is_out = model.fit(X).free_labels_ == -1
    return 100 * share, 100 * is_out.mean(), 100 * is_out[is_wrong].mean() if share else np.nan


HEADS = (
    "cost",
    "cost, new rows",
    "left out, %",
    "of new far rows, %",
    "leaves",
    "parameters",
    "conditions per row",
)


def rows_of(seed):
    """Return 600 rows, whether each is far, 600 new rows of the groups, and 600 new far rows."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-8, 8, (N_CLUSTERS, 3))
    group = rng.integers(N_CLUSTERS, size=1200)
    near = centers[group] + rng.normal(size=(1200, 3))
    is_far, far = np.arange(600) < 30, rng.uniform(-80, 80, (1200, 3))
    return np.where(is_far[:, None], far[:600], near[:600]), is_far, near[600:], far[600:]


def trimmed(X, split, share, seed):
    """Fit a tree that may leave out rows."""
    objective = Trimmed("kmeans", share=share)
    return TAOClustering(N_CLUSTERS, objective=objective, split=split, random_state=seed).fit(X)


def removed_first(X, split, share, seed):
    """Fit an ordinary tree to the rows that are nearest to the centres of k-means."""
    distance = free_clustering(X, N_CLUSTERS, seed).transform(X).min(axis=1)
    kept = np.sort(np.argsort(distance, kind="stable")[: len(X) - round(share * len(X))])
    return TAOClustering(N_CLUSTERS, split=split, random_state=seed).fit(X[kept])


def measured(fit, split, share, seed):
    """Return the numbers of a row of the table for one data set."""
    X, is_far, new, far = rows_of(seed)
    model = fit(X, split, share, seed)
    left_out = 100 * np.mean(model.predict(X) == -1) if fit is trimmed else 100 * share
    tree = model.tree_
    size = weighted_average_explanation_size(model, X)
    costs = [cost(model, rows) for rows in (X[~is_far], new)]
    found = 100 * np.mean(model.predict(far) == -1)
    return (*costs, left_out, found, tree.n_leaves, tree.n_parameters, size)


def cost(model, X):
    """Return the mean squared distance of rows to the centres that a tree assigns them."""
    squares, labels = model.transform(X) ** 2, model.predict(X)
    own = squares[np.arange(len(X)), labels]
    return np.where(labels < 0, squares.min(axis=1), own).mean()


if __name__ == "__main__":
    main()
