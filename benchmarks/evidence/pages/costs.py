"""Costs of methods within limits of size, per data set and split, and their comparison.

A cost is that of the tree of least cost on the fitted rows within the limit, of one run (one split
and one seed). Costs of several seeds are averaged per split.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.evidence.tables.field import PARAMETERS, TIMES, split_of
from benchmarks.evidence.tables.new_rows import PUBLISHED

OURS = ("TAO oblique", "TAO axis")
OTHER_OBLIQUE = ("SpEx oblique", "obliquetree", PUBLISHED)
MAIN = ("parameters", 100)  # the limit that stands for all
LIMITS = {("leaves", n): "k leaves" if n == 1 else f"{n}k leaves" for n in TIMES}
LIMITS |= {("parameters", n): f"{n} parameters" for n in PARAMETERS}
SIGNIFICANT = 0.05
# The effect of a method is log((cost + OFFSET) / (cost of the other one + OFFSET)), costs in
# percent. On new rows a cost can be negative, but it counts as at least LEAST.
OFFSET, LEAST = 1.0, -0.9
LEVEL = 0.005  # costs in percent that are closer are equal: what two digits show


def by_split(frame, limit, column="cost"):
    """Return a column of the trees within a limit of size, averaged over seeds.

    It is a DataFrame with one row per data set and split, and one column per method. It is
    infinite if a method was run and has no tree within the limit. A data set is left out if less
    than half of its methods have a tree within the limit: if k leaves alone exceed the limit, only
    trees without some clusters are small enough.
    """
    kind, size = limit
    small = frame[frame[kind] <= (size * frame["clusters"] if kind == "leaves" else size)]
    small = small.sort_values("cost", kind="stable")
    small = small.groupby([*_cell(small), small["seed"]], sort=False).head(1)
    was_run = frame.groupby(_cell(frame), sort=False).size()
    found = small.groupby(_cell(small), sort=False)[column].mean()
    table = found.reindex(was_run.index).fillna(np.inf).unstack("method")
    enough = np.isfinite(table).sum(axis=1) >= table.notna().sum(axis=1) / 2
    kept = enough.groupby(level="data").mean() > 0.5
    sets = [data for data in frame["data"].unique() if kept[data]]
    return table[list(frame["method"].unique())].reindex(sets, level="data")


def _cell(frame):
    return [frame["data"], split_of(frame).rename("split"), frame["method"]]


def means(table):
    """Return the mean and the standard error over splits of each data set: two DataFrames."""
    groups = table.groupby(level="data", sort=False)
    with np.errstate(invalid="ignore"):  # infinite costs
        return groups.mean(), groups.sem()


def medians(table):
    """Return the median over data sets of the mean over splits of each method."""
    return means(table)[0].median()


def effect(ours, theirs):
    """Return mean effect, its standard error, and p value of a method against another one.

    A negative effect is in favour of the first method. The p value is that of Wilcoxon's two-sided
    signed-rank test over data sets. The scalings of the same data count as one data set.
    """
    sets = (_log_costs(ours) - _log_costs(theirs)).dropna().groupby(level="data").mean()
    sets = sets.groupby(sets.index.map(unscaled)).mean()
    return sets.mean(), sets.sem(), _signed_rank(sets.to_numpy())


def unscaled(data):
    """Return the name of a data set without the suffix of its scaling."""
    return data.removesuffix("_raw").removesuffix("_01")


def _log_costs(costs):
    return np.log(np.maximum(costs.replace(np.inf, np.nan), LEAST) + OFFSET)


def _signed_rank(differences):
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    # To count out the exact distribution with ties takes seconds.
    has_ties = len(np.unique(np.abs(differences))) < len(differences)
    method = "asymptotic" if has_ties else "exact"
    return float(stats.wilcoxon(differences, method=method).pvalue)


def effects(table, name):
    """Return the effect of each other method against a method: its `factor`, `error`, `p_value`.

    The factor is exp(effect): how many times as large costs are, above 1 if the other method costs
    more. The p values have Holm's correction for all other methods.
    """
    found = {other: effect(table[other], table[name]) for other in table if other != name}
    found = pd.DataFrame(found, index=["effect", "error", "p_value"]).T
    found["p_value"] = _holm(found["p_value"].to_numpy())
    return found.assign(factor=np.exp(found["effect"]))


def _holm(p_values):
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    found = np.empty_like(p_values)
    found[order] = np.minimum(1, np.maximum.accumulate(factors * p_values[order]))
    return found


class Verdict(NamedTuple):
    """The other methods that a TAO method is compared with: all, worse and better ones.

    The worse and the better ones differ significantly. The other TAO method does not count.
    """

    others: list
    worse: list
    better: list


def verdict(table, name):
    """Return the Verdict on a TAO method."""
    found = effects(table, name).drop(index=list(OURS), errors="ignore")
    differ = found[found["p_value"] < SIGNIFICANT]
    worse, better = (list(differ.index[sign * differ["effect"] > 0]) for sign in (1, -1))
    return Verdict(list(found.index), worse, better)


class Duel(NamedTuple):
    """Data sets on which a method costs less than, as much as, or more than another one."""

    wins: int
    ties: int
    losses: int

    def __str__(self):
        return "/".join(map(str, self))


def against_best(table, name):
    """Return the Duel of a TAO method with the cheapest other method of each data set.

    The cheapest method is known only after all methods have been run, which is in its favour.
    """
    mean = means(table)[0]
    found = mean[rivals(mean, name)].min(axis=1)
    ours, theirs = (np.round(costs / (2 * LEVEL)) for costs in (mean[name], found))
    return Duel(int((ours < theirs).sum()), int((ours == theirs).sum()), int((ours > theirs).sum()))


def rivals(table, name):
    """Return the other methods of a TAO method: axis-aligned ones only, for TAO axis."""
    others = [other for other in table if other not in OURS]
    return [other for other in others if name != "TAO axis" or other not in OTHER_OBLIQUE]


def times(frame, limit):
    """Return the mean CPU seconds of each data set and method, for the trees within a limit.

    The rows of a path have a share of its time; to choose a tree, one needs the whole path.
    """
    whole = frame.groupby(["data", "method", "setting", "seed"])["seconds"].transform("sum")
    is_path = frame["setting"].str.startswith("path")
    frame = frame.assign(seconds=frame["seconds"].where(~is_path, whole))
    return means(by_split(frame, limit, "seconds").replace(np.inf, np.nan))[0]


def beside(frame, name, limit):
    """Return log time and effect on new rows relative to a method that is in all data sets.

    Methods without a tree on some data set are left out: a DataFrame with `time`, `time_error`,
    `effect` and `error`.
    """
    seconds = times(frame, limit).dropna(axis=1)
    ratios = np.log(seconds.div(seconds[name], axis=0))
    new = by_split(frame, limit, "cost_new")
    found = {method: effect(new[method], new[name])[:2] for method in seconds}
    found = pd.DataFrame(found, index=["effect", "error"]).T
    return found.assign(time=ratios.mean(), time_error=ratios.sem())
