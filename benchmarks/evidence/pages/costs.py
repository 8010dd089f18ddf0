"""Costs of methods within limits of size, per data set and split, and their statistics.

A cost is that of the tree of least cost on the fitted rows within the limit, of one split. A method
without a tree within the limit has an infinite cost, in all tables alike. The cost of a data set is
the mean over its splits, and so infinite if one split has no tree.
"""

from bisect import bisect
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.evidence.tables import contest

OURS = (contest.OBLIQUE, contest.AXIS)
OTHER_OBLIQUE = (contest.SPEX, "obliquetree", contest.PUBLISHED)
MULTINOMIAL = "L1 multinomial"
OWN = (*OURS, contest.NO_COPIES, contest.AXIS_NO_COPIES)
# What the trees are compared with: no tree, and those that show what copies do.
BESIDE = (MULTINOMIAL, contest.SPEX_COPIES, *contest.AXIS_COPIES)
NO_RIVALS = (*OWN, *BESIDE)
# Methods that one cannot ask for a size: all their trees are needed for one within a limit.
WITHOUT_SIZE = (contest.PUBLISHED, MULTINOMIAL, "obliquetree", "pycontree")
ALL_NEEDED = {"leaves": WITHOUT_SIZE, "parameters": (*WITHOUT_SIZE, *contest.ALL_LEAVES)}
MAIN = ("parameters", 100)  # the limit that stands for all
LIMITS = {("leaves", n): "k leaves" if n == 1 else f"{n}k leaves" for n in contest.TIMES}
LIMITS |= {("parameters", n): f"{n} parameters" for n in contest.PARAMETERS}
SIGNIFICANT = 0.05
OFFSET, OFFSETS = 1.0, (0.1, 5.0)  # percent: ratios are (cost + offset) / (cost + offset)
LEVEL = 0.005  # costs in percent that are closer are equal: what two digits show
_INFINITE = 1e3  # logarithm of the ratio to an infinite cost: only its rank counts


def by_split(frame, limit, column="cost_new"):
    """Return a column of the trees within a limit: a row per data set and split.

    It is infinite if a method has no tree within the limit, and NaN if it was not run. A data set
    is left out if less than half of its methods have a tree: if k leaves alone exceed the limit,
    only trees without some clusters are small enough.
    """
    kind, size = limit
    frame = frame[frame.groupby("method")[kind].transform("count") > 0]  # no tree has no leaves
    small = frame[frame[kind] <= (size * frame["clusters"] if kind == "leaves" else size)]
    cell = ["data", "seed", "method"]
    found = small.sort_values("cost", kind="stable").groupby(cell)[column].first()
    was_run = frame.groupby(cell, sort=False).size()
    table = found.reindex(was_run.index).fillna(np.inf).unstack("method")
    enough = np.isfinite(table).sum(axis=1) >= table.notna().sum(axis=1) / 2
    kept = enough.groupby(level="data").mean() > 0.5
    sets = [data for data in frame["data"].unique() if kept[data]]
    return table[list(frame["method"].unique())].reindex(sets, level="data")


def means(table):
    """Return the mean and the standard error over splits of each data set: two DataFrames."""
    groups = table.groupby(level="data", sort=False)
    with np.errstate(invalid="ignore"):  # infinite costs
        return groups.mean(), groups.sem()


def interval(values):
    """Return the 95 % bootstrap interval of a median: 5000 samples of the data sets."""
    values = np.sort(values.dropna().to_numpy())
    draws = np.random.default_rng(0).integers(len(values), size=(5000, len(values)))
    found = np.sort(np.median(values[draws], axis=1))
    tail = len(found) // 40
    return float(found[tail]), float(found[-tail - 1])


def ratios(mean, name, offset=OFFSET):
    """Return costs of all methods relative to those of a method, per data set.

    Negative costs count as 0. Two infinite costs are equal.
    """
    costs = mean.clip(lower=0) + offset
    with np.errstate(invalid="ignore"):
        found = costs.div(costs[name], axis=0)
    return found.mask(np.isinf(mean).mul(np.isinf(mean[name]), axis=0), 1.0).mask(mean.isna())


def p_values(mean, name):
    """Return the p value of Wilcoxon's signed-rank test with a method, for each other one."""
    with np.errstate(divide="ignore"):
        logs = np.log(ratios(mean, name)).clip(-_INFINITE, _INFINITE)
    return pd.Series({other: _signed_rank(logs[other].dropna()) for other in logs if other != name})


def _signed_rank(differences):
    differences = differences[differences != 0].to_numpy()
    if not len(differences):
        return 1.0
    # To count out the exact distribution with ties takes seconds.
    has_ties = len(np.unique(np.abs(differences))) < len(differences)
    method = "asymptotic" if has_ties else "exact"
    return float(stats.wilcoxon(differences, method=method).pvalue)


def holm(p_values):
    """Return p values, a Series, with Holm's correction for all of them."""
    found = p_values.sort_values(kind="stable")
    found = (found * np.arange(len(found), 0, -1)).cummax().clip(upper=1)
    return found.reindex(p_values.index)


class Duel(NamedTuple):
    """Data sets on which a method costs less than, as much as, or more than another one."""

    wins: int
    ties: int
    losses: int

    def __str__(self):
        return "/".join(map(str, self))


def against_best(mean, name, also=()):
    """Return the Duel of a TAO method with the cheapest other tree of each data set.

    The cheapest tree is known only after all methods have been run, which is in its favour. The
    methods `also` count among the other trees.
    """
    best = mean[[*rivals(mean, name), *also]].min(axis=1)
    with np.errstate(invalid="ignore"):
        ours, theirs = (np.round(costs / (2 * LEVEL)) for costs in (mean[name], best))
    return Duel(int((ours < theirs).sum()), int((ours == theirs).sum()), int((ours > theirs).sum()))


def rivals(table, name):
    """Return the other trees of a TAO method: axis-aligned ones only, for TAO axis."""
    is_axis = name in (contest.AXIS, contest.AXIS_NO_COPIES)
    left_out = NO_RIVALS + (OTHER_OBLIQUE if is_axis else ())
    return [other for other in table if other not in left_out]


def times(frame, limit):
    """Return the mean CPU seconds of each data set and method: of the fit asked for a limit.

    All trees of a method count that cannot be asked for it.
    """
    fits = frame.groupby(["data", "method", "seed"])["seconds"]
    needs_all = frame["method"].isin(ALL_NEEDED[limit[0]])
    asked = [_nth(*row, limit) for row in frame[["method", "clusters"]].itertuples(index=False)]
    kept = fits.cumcount() == np.where(needs_all | (fits.transform("size") == 1), 0, asked)
    frame = frame.assign(seconds=frame["seconds"].where(~needs_all, fits.transform("sum")))[kept]
    return means(frame.set_index(["data", "seed", "method"])["seconds"].unstack("method"))[0]


def _nth(method, k, limit):
    """Return which fit of a method is the one that was asked for a limit."""
    if method in (contest.OBLIQUE, contest.NO_COPIES):
        return list(LIMITS).index(limit)
    leaves = limit[1] * k if limit[0] == "leaves" else contest.leaves_within(limit[1])
    return bisect(contest.numbers_of_leaves(k, method), leaves) - 1


def ranks(mean):
    """Return the ranks of the trees that were run on all data sets; ties have their mean."""
    left_out = [name for name in mean if name in NO_RIVALS and name not in OURS]
    return mean.drop(columns=left_out).dropna(axis=1).round(2).rank(axis=1)
