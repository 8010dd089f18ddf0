"""How often `monitor` alarms on months without a change, and on months with one.

    python -m benchmarks.monitoring
    python -m benchmarks.monitoring --unchanged 600 --changed 200 --seed 7

A fit has 100 to 5000 rows of four normal, lognormal or uniform columns, or a table of customers
with a rare level and 400 towns. The tree is axis-aligned, with 3 to 6 clusters. An unchanged month
has half to twice as many rows of the same distribution. Changed months have 1000 rows, as their
fit: a new segment of 10 % three standard deviations away in two columns, a segment twice as large,
or a column shifted by half a standard deviation. Two further changes are hard: a new segment 1.5
standard deviations from an old one, and numbers that rise by 10 %.

Printed is the share of months with an alarm, how many of the rows of new groups are of the new
segment, and how many rows of the new segment are in new groups (medians).
"""

import warnings

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import parser
from tao_cluster import DirectForm, TAOClustering, monitor, table_pipeline

KINDS = ("normal", "lognormal", "uniform", "table")
SIZES = (100, 300, 1000, 5000)
CHANGES = ("new segment of 10 %", "segment twice as large", "shift by half a deviation")
HARD = ("new segment next to an old one", "numbers rise by 10 %")
MEANS = {"orders": [10, 24, 4], "basket": [60, 30, 90], "days": [30, 15, 200], "age": [45, 33, 55]}
QUICK = {"algorithm": DirectForm(n_init=1, search="none"), "split": "axis", "random_state": 0}


def draw(kind, n, rng):
    """Return n rows of a distribution as a DataFrame whose first four columns are numbers."""
    if kind != "table":
        z = rng.standard_normal((n, 4))
        X = {"normal": z, "lognormal": np.exp(z), "uniform": rng.random((n, 4))}[kind]
        return pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    group, zipf = rng.choice(3, n, p=[0.5, 0.3, 0.2]), 1 / np.arange(1, 401)
    X = pd.DataFrame({
        name: np.array(means)[group] * np.exp(0.3 * rng.standard_normal(n))
        for name, means in MEANS.items()
    })  # fmt: skip
    X["channel"] = np.where(rng.random(n) < 0.6, np.array(["web", "app", "store"])[group], "web")
    X.loc[rng.random(n) < 0.01, "channel"] = "phone"
    return X.assign(town=[f"town {j}" for j in rng.choice(400, n, p=zipf / zipf.sum())])


def fitted(kind, X, rng):
    """Return a model of the rows."""
    k = int(rng.integers(3, 7))
    size = {**QUICK, "max_leaves": int(rng.integers(k, 2 * k + 1))}
    if kind == "table":
        return table_pipeline(X, k, keep=["town"], **size).fit(X)
    return TAOClustering(k, standardize=True, **size).fit(X)


def changed(change, kind, model, X, rng):
    """Return as many rows as X of a changed month, and which of them are of a new segment."""
    n, big = len(X), draw(kind, 20_000, rng)
    Y, is_new, columns = draw(kind, n, rng), np.zeros(n, bool), list(X.columns[:4])
    mean, std, c = big[columns].mean().to_numpy(), big[columns].std().to_numpy(), rng.choice(4)
    labels, of_big = np.asarray(model.predict(X)), np.asarray(model.predict(big))
    if change.startswith("new"):
        is_new[: n // 10], step = True, rng.normal(size=4)
        center = mean + 3 * std * np.isin(np.arange(4), rng.choice(4, 2, replace=False))
        if change == HARD[0]:
            center = X.loc[labels == rng.choice(labels), columns].mean().to_numpy()
            center = center + 1.5 * std * step / np.linalg.norm(step)
        Y.loc[is_new, columns] = center + 0.3 * std * rng.normal(size=(is_new.sum(), 4))
    elif change == CHANGES[1]:
        j = rng.choice(np.flatnonzero(np.bincount(labels) < 0.4 * n))
        share = (of_big == j).mean()
        weight = np.where(of_big == j, 2.0, (1 - 2 * share) / (1 - share))
        Y = big.sample(n, weights=weight, random_state=rng)
    elif change == CHANGES[2]:
        Y[columns[c]] += std[c] / 2
    else:
        Y[columns[c]] *= 1.1
    return Y.reset_index(drop=True), is_new


def unchanged_lines(n_months, seed):
    """Yield the results of unchanged months, four per fit."""
    for i in range(n_months // 4):
        rng = np.random.default_rng([seed, 0, i])
        kind, n = KINDS[i % 4], SIZES[i // 4 % 4]
        X = draw(kind, n, rng)
        model = fitted(kind, X, rng)
        for _ in range(4):
            found = monitor(model, X, draw(kind, int(rng.integers(n // 2, 2 * n)), rng))
            yield {"month": f"unchanged, {n} rows", "kind": kind, "reasons": found.reasons}


def changed_lines(changes, n_months, seed):
    """Yield the results of months with each of some changes in turn."""
    for i in range(n_months):
        rng = np.random.default_rng([seed, 1, i])
        kind, change = KINDS[i % 4], changes[i // 4 % len(changes)]
        X = draw(kind, 1000, rng)
        model = fitted(kind, X, rng)
        Y, is_new = changed(change, kind, model, X, rng)
        found, line = monitor(model, X, Y), {"month": change, "kind": kind}
        rows = np.concatenate([*found.groups, np.empty(0, int)])
        if is_new.any():
            line["precision"] = is_new[rows].mean() if len(rows) else 0.0
            line["recall"] = is_new[rows].sum() / is_new.sum()
        yield {**line, "reasons": found.reasons}


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--unchanged", type=int, default=600, help="number of months")
    arguments.add_argument("--changed", type=int, default=200, help="number of months")
    arguments.add_argument("--seed", type=int, default=7)
    options = arguments.parse_args()
    warnings.simplefilter("ignore")  # of fits with few rows per cluster
    lines = list(unchanged_lines(options.unchanged, options.seed))
    lines += changed_lines(CHANGES, options.changed, options.seed)
    lines += changed_lines(HARD, options.changed // 5, options.seed + 1)
    table = pd.DataFrame(lines).assign(alarms=lambda t: t["reasons"].map(len) > 0)
    found = []
    for month, part in table.groupby("month", sort=False):
        line = {"month": month, "months": len(part), "alarms": int(part["alarms"].sum())}
        shares = part.reindex(columns=["precision", "recall"])
        found.append(line | shares.median().map("{:.2f}".format).to_dict())
        found[-1]["described"] = f"{(shares['precision'] >= 0.7).sum()} of {len(part)}"
        if shares.isna().all(axis=None):
            found[-1] |= dict.fromkeys(("precision", "recall", "described"), "")
    print(markdown(found))


if __name__ == "__main__":
    main()
