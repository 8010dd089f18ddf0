"""The section of new-rows: costs on rows that were not fitted, with standard errors."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.field import OURS, best_rival, budgets, contest
from benchmarks.evidence.pages.ranks import duel, holm, signed_rank
from benchmarks.evidence.pages.words import counted, listed, markdown, number, title

SIGNIFICANT = 0.05
# The effect of a method is log((cost + _OFFSET) / (cost of the other one + _OFFSET)), costs in
# percent. On new rows a cost can be negative, but it counts as at least _LEAST.
_OFFSET, _LEAST = 1.0, -0.9
_SHOWN = (("leaves", 2), ("parameters", 100))  # the budgets whose costs are shown per data set


class Effect(NamedTuple):
    """A method against another one on several data sets.

    Parameters
    ----------
    mean, error : float
        Mean effect over data sets, and its standard error. A negative mean is in favour of the
        first method.
    wins, losses : int
        Runs (pairs of data set and split) in which the first method costs less, or more.
    p_value : float
        Of Wilcoxon's signed-rank test over the mean effects of the data sets, two-sided.
    """

    mean: float
    error: float
    wins: int
    losses: int
    p_value: float

    def __str__(self):
        if np.isnan(self.mean):
            return "-"
        return f"{self.mean:+.2f} ± {number(self.error)} ({self.wins} : {self.losses})"


def by_split(frame, budget, column):
    """Return the costs of the cheapest tree of each method within a budget.

    It is a DataFrame with one row per data set and split. A cost is infinite if the method has no
    tree within the budget.
    """
    parts = {split: contest(part, budget, column) for split, part in frame.groupby("seed")}
    return pd.concat(parts, names=["split"]).swaplevel().sort_index(level=0, sort_remaining=True)


def means(table):
    """Return the mean and the standard error over splits of each data set: two DataFrames."""
    groups = table.groupby(level="data", sort=False)
    return groups.mean(), groups.sem()


def effect(ours, theirs):
    """Return the Effect of a method against another one, over the runs that both have.

    Parameters
    ----------
    ours, theirs : Series of costs in percent, as a column of :func:`by_split`
    """
    both = pd.concat([ours, theirs], axis=1).replace(np.inf, np.nan).dropna()
    logs = np.log(np.maximum(both, _LEAST) + _OFFSET)
    runs = logs.iloc[:, 0] - logs.iloc[:, 1]
    sets = runs.groupby(level="data").mean()
    wins, losses = int((runs < 0).sum()), int((runs > 0).sum())
    return Effect(sets.mean(), sets.sem(), wins, losses, signed_rank(sets.to_numpy()))


def section(frame):
    """Return the section as Markdown."""
    sets, n_splits = frame["data"].unique(), frame["seed"].nunique()
    parts = [
        f"{counted(len(sets), 'data set')}: {listed(map(title, sets))}; "
        f"{counted(n_splits, 'split')} of each. Half of the rows, at most 800, are fitted, and as "
        "many other rows are new. The free clustering is k-means (best of ten starts) of the "
        "fitted rows. Of each method the tree of least cost on the fitted rows within a budget "
        "counts. Its cost on new rows is that at the centres of the tree, in percent over the cost "
        "of the nearest free centres.",
        "The *effect* of a TAO method against another method is log((cost of TAO + 1 %) / (cost "
        "of the other + 1 %)) on new rows, as the mean over data sets ± its standard error; "
        "negative effects are in favour of TAO. The numbers of runs won and lost follow in "
        "parentheses.",
        "Against all other methods, and against the best of them, which differs from data set to "
        "data set (wins / ties / losses over data sets, of the means over splits; TAO axis is "
        "compared with axis-aligned trees):",
        markdown(_summary(frame)),
    ]
    for budget, words in budgets():
        if budget in _SHOWN:
            parts += [
                f"### New rows at {words}",
                "Cost on new rows in percent, mean over splits ± standard error:",
                markdown(_costs(frame, budget)),
            ]
        parts += [f"Effects at {words}:", markdown(_effects(frame, budget))]
    return "\n\n".join(parts)


def _summary(frame):
    lines = []
    for budget, words in budgets():
        seen, new = (by_split(frame, budget, column) for column in ("cost", "cost_new"))
        cells = {"budget": words}
        for name in OURS:
            if name not in new:
                continue
            cells[f"{name}, fitted / new rows (median)"] = (
                f"{number(_median(seen[name]))} / {number(_median(new[name]))}"
            )
            found, p_values = _against_all(new, name)
            n_better = sum(
                found[other].mean < 0 and p < SIGNIFICANT for other, p in p_values.items()
            )
            cells[f"{name}, better than by more than chance"] = f"{n_better} of {len(found)}"
            for kind, table in (("fitted", seen), ("new", new)):
                mean = means(table)[0]
                against_best = duel(mean[name], best_rival(mean, name))
                cells[f"{name} against the best, {kind} rows"] = str(against_best)
        lines.append(cells)
    return lines


def _median(costs):
    """Return the median over data sets of the mean over splits."""
    return float(costs.groupby(level="data").mean().median())


def _against_all(table, name):
    """Return the Effect of a method against each other one, and p values corrected by Holm."""
    found = {other: effect(table[name], table[other]) for other in table if other != name}
    corrected = holm([each.p_value for each in found.values()])
    return found, dict(zip(found, corrected.tolist(), strict=True))


def _effects(frame, budget):
    table = by_split(frame, budget, "cost_new")
    lines = {other: {"against": other} for other in table}
    for name in OURS:
        if name in table:
            found, p_values = _against_all(table, name)
            for other, each in found.items():
                lines[other] |= {name: str(each), f"p of {name}": f"{p_values[other]:.2g}"}
    return list(lines.values())


def _costs(frame, budget):
    mean, error = means(by_split(frame, budget, "cost_new"))
    return [
        {"method": method}
        | {
            title(data): "-"
            if not np.isfinite(mean.loc[data, method])
            else f"{number(mean.loc[data, method])} ± {number(error.loc[data, method])}"
            for data in mean.index
        }
        for method in mean.columns
    ]
