"""Costs of methods within budgets of size, per data set and split, and their comparison.

A cost is that of the tree of least cost on the fitted rows within the budget, of one run (one
split and one seed). Costs of several seeds are averaged per split.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.ranks import duel, holm, signed_rank
from benchmarks.evidence.tables.field import PARAMETERS, TIMES, split_of
from benchmarks.evidence.tables.new_rows import PUBLISHED

OURS = ("TAO oblique", "TAO axis")
OTHER_OBLIQUE = ("SpEx oblique", "obliquetree", PUBLISHED)
FEWEST_SETS = 5  # for a ranking
SIGNIFICANT = 0.05
# The effect of a method is log((cost + OFFSET) / (cost of the other one + OFFSET)), costs in
# percent. On new rows a cost can be negative, but it counts as at least LEAST.
OFFSET, LEAST = 1.0, -0.9


class Effect(NamedTuple):
    """A method against another one on several data sets.

    Parameters
    ----------
    mean, error : float
        Mean effect over data sets, and its standard error. A negative mean is in favour of the
        first method.
    wins, losses : int
        Pairs of a data set and a split in which the first method costs less, or more.
    p_value : float
        Of Wilcoxon's signed-rank test over the mean effects of the data sets, two-sided.
        The scalings of the same data count as one data set, with their mean effect.
    """

    mean: float
    error: float
    wins: int
    losses: int
    p_value: float


def budgets(name=None):
    """Yield (budget, words) of all comparisons, or of those of one method.

    Numbers are left out for TAO axis, because its trees have as many numbers as parameters.
    """
    for times in TIMES:
        yield ("leaves", times), "k leaves" if times == 1 else f"{times}k leaves"
    for size in PARAMETERS:
        yield ("parameters", size), f"{size} parameters"
    for size in PARAMETERS if name != "TAO axis" else ():
        yield ("numbers", size), f"{size} numbers"


def at(frame, budget):
    """The cheapest tree of each method, data set and run within a budget: rows of the results.

    Parameters
    ----------
    budget : tuple of ("leaves", multiple of k), ("parameters", number) or ("numbers", number)
    """
    kind, size = budget
    limit = size * frame["clusters"] if kind == "leaves" else size
    sizes = numbers(frame) if kind == "numbers" else frame[kind]
    small = frame[sizes <= limit].sort_values("cost", kind="stable")
    keys = [split_of(small).rename("split"), small["seed"], small["data"], small["method"]]
    return small.groupby(keys, sort=False).head(1)


def numbers(frame):
    """Return how many numbers write each tree down: a Series.

    A leaf is one number and a test of one column two: the column and the threshold. If a tree has
    sums of columns, each weight is two numbers, itself and its column, and each threshold a third
    one, even at tests of one column. This is the count that is least in favour of oblique trees.
    """
    has_sums = frame["features"] > 1
    return frame["parameters"] + frame["non_zeros"].where(has_sums, 0)


def by_split(frame, budget, column="cost"):
    """Return a column of the trees within a budget, averaged over seeds.

    It is a DataFrame with one row per data set and split, and one column per method. It is
    infinite if a method was run and has no tree within the budget. A data set is left out if less
    than half of its methods have a tree within the budget: if k leaves alone exceed the budget,
    only trees without some clusters are small enough.
    """
    was_run = _cells(frame).size()
    found = _cells(at(frame, budget))[column].mean().reindex(was_run.index).fillna(np.inf)
    table = found.unstack("method")
    order = [name for name in frame["method"].unique() if name in table]
    enough = np.isfinite(table).sum(axis=1) >= table.notna().sum(axis=1) / 2
    kept = enough.groupby(level="data").mean() > 0.5
    sets = [data for data in frame["data"].unique() if kept.get(data, False)]
    return table[order].reindex(sets, level="data") if sets else table[order].iloc[:0]


def _cells(frame):
    keys = [frame["data"], split_of(frame).rename("split"), frame["method"]]
    return frame.groupby(keys, sort=False)


def means(table):
    """Return the mean and the standard error over splits of each data set: two DataFrames."""
    groups = table.groupby(level="data", sort=False)
    with np.errstate(invalid="ignore"):  # infinite costs
        return groups.mean(), groups.sem()


def effect(ours, theirs):
    """Return the Effect of a method against another one, over the splits that both have.

    Parameters
    ----------
    ours, theirs : Series of costs in percent, as a column of :func:`by_split`
    """
    runs = log_costs(ours) - log_costs(theirs)
    runs = runs.dropna()
    sets = runs.groupby(level="data").mean()
    sets = sets.groupby(sets.index.map(unscaled)).mean()
    wins, losses = int((runs < 0).sum()), int((runs > 0).sum())
    return Effect(sets.mean(), sets.sem(), wins, losses, signed_rank(sets.to_numpy()))


def unscaled(data):
    """Return the name of a data set without the suffix of its scaling."""
    return data.removesuffix("_raw").removesuffix("_01")


def effects_caption(size):
    """Return the caption of a figure of effects on TAO oblique at a limit of size."""
    return (
        f"Costs of the other methods relative to TAO oblique at {size}, on fitted (left) and on "
        "new rows (right). Right of 1, the other method costs more. The ratio is (cost of the "
        f"other method + {OFFSET:g}) / (cost of TAO oblique + {OFFSET:g}), with costs in percent "
        f"above k-means; {OFFSET:g} is added because a cost can be 0. Geometric means over data "
        "sets; whiskers are standard errors."
    )


def log_costs(costs):
    """Return log(cost + OFFSET); NaN where a method has no tree."""
    return np.log(np.maximum(costs.replace(np.inf, np.nan), LEAST) + OFFSET)


def against_all(table, name):
    """Return the Effect of a method against each other one, and p values corrected by Holm."""
    found = {other: effect(table[name], table[other]) for other in table if other != name}
    corrected = holm([each.p_value for each in found.values()])
    return found, dict(zip(found, corrected.tolist(), strict=True))


class Verdict(NamedTuple):
    """The other methods that a TAO method is compared with, without the other TAO method.

    Parameters
    ----------
    others : list of str, all of them
    worse, better : list of str
        Those that are significantly worse or better than the TAO method: p < 0.05 after Holm's
        correction for all methods.
    """

    others: list
    worse: list
    better: list


def verdict(found, p_values):
    """Return the Verdict on a TAO method, from what :func:`against_all` returns."""
    others = [method for method in found if method not in OURS]
    differ = [method for method in others if p_values[method] < SIGNIFICANT]
    return Verdict(
        others,
        [method for method in differ if found[method].mean < 0],
        [method for method in differ if found[method].mean > 0],
    )


def beside(frame, name, budget):
    """Return time and cost on new rows relative to a method, on the data sets that most have.

    Returns
    -------
    DataFrame or None
        One row per method: `time` is the geometric mean over data sets of the CPU time over that of
        the method `name`, with whiskers `time_low` and `time_high` of one standard error; `cost`
        and `cost_error` are mean and standard error of the effect. None if there is nothing.
    """
    # The trees of a path have a share of its time; one needs the whole path to choose a tree.
    whole = frame.groupby(["data", "method", "setting", "seed"])["seconds"].transform("sum")
    is_path = frame["setting"].str.startswith("path")
    frame = frame.assign(seconds=frame["seconds"].where(~is_path, whole))
    seconds, new = (by_split(frame, budget, column) for column in ("seconds", "cost_new"))
    table = next(fields(means(seconds)[0].replace(np.inf, np.nan)), None)
    if table is None or name not in table:
        return None
    times = np.log(table.div(table[name], axis=0))
    mean, error = times.mean(), times.sem()
    found = pd.DataFrame({"time": np.exp(mean)})
    found["time_low"] = found["time"] - np.exp(mean - error)
    found["time_high"] = np.exp(mean + error) - found["time"]
    new = new[new.index.get_level_values("data").isin(table.index)]
    each = {method: effect(new[method], new[name]) for method in table}
    found["cost"] = pd.Series({method: value.mean for method, value in each.items()})
    found["cost_error"] = pd.Series({method: value.error for method, value in each.items()})
    return found.dropna(subset=["cost"])


def rivals(table, name):
    """Return the other methods of a TAO method: axis-aligned ones only, for TAO axis."""
    others = [other for other in table if other not in OURS]
    return [other for other in others if name != "TAO axis" or other not in OTHER_OBLIQUE]


def rival_words(name):
    """Return what the methods of :func:`rivals` are called in a sentence."""
    return "axis-aligned method" if name == "TAO axis" else "method"


def best_rival(table, name):
    """Costs of the cheapest of the other methods that a TAO method is compared with."""
    return table[rivals(table, name)].min(axis=1)


def against_best(frame, budget, name, column="cost"):
    """Return the Duel of a TAO method with the cheapest other method of each data set.

    Which one that is, is known only after all have been run. None if the method was not run.
    """
    mean = means(by_split(frame, budget, column))[0]
    return duel(mean[name], best_rival(mean, name)) if name in mean else None


def losses(frame, budget, name, column="cost_new"):
    """Return the data sets on which some other method costs less, with that method: a dict."""
    mean = means(by_split(frame, budget, column))[0]
    if name not in mean:
        return {}
    others = mean[rivals(mean, name)]
    lost = [data for data in mean.index if duel_lost(mean.loc[data, name], others.loc[data].min())]
    return {data: others.loc[data].idxmin() for data in lost}


def duel_lost(ours, theirs):
    """Whether a cost is larger than another one, and not level with it."""
    return bool(duel(pd.Series([ours]), pd.Series([theirs])).losses)


def fields(table):
    """Yield tables to rank: methods that were run on at least so many data sets.

    The first one has the methods of all data sets; each further one has more methods on fewer
    data sets.
    """
    n_sets = table.notna().sum()
    for n in sorted(set(n_sets), reverse=True):
        whole = table.loc[:, n_sets >= n].dropna()
        if len(whole) >= FEWEST_SETS and whole.shape[1] > 2:
            yield whole


def main_field(frame, budget, column="cost"):
    """The table of mean costs with the most data sets; None if there is nothing to rank."""
    return next(fields(means(by_split(frame, budget, column))[0]), None)
