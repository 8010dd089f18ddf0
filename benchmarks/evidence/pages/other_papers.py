"""The page on the papers of ExGreedy, ExShallow and ExKMC."""

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.words import number, published, title
from benchmarks.evidence.tables import exkmc, laber

AGREES = 0.03
ROUNDING = 0.005
WITHIN = 0.1  # relative difference
SAME = 1e-6  # percent: a smaller deviation is rounding
TIMES = (1, 2, 4)


def numbers(frames):
    """Return the numbers of the page."""
    search = frames[laber.NAME_23_SEARCH]
    search = search.assign(method=search["point"])
    laber23 = beside_paper(frames[laber.NAME_23], laber.NAME_23)
    searched = beside_paper(search, laber.NAME_23_SEARCH)
    figure = {times: _ratios(frames[exkmc.NAME], times) for times in TIMES}
    return {
        "laber21": beside_paper(frames[laber.NAME_21], laber.NAME_21),
        "laber23": laber23,
        "search": searched,
        # KMC is in both tables, with the same runs.
        "shown23": pd.concat([laber23, searched.drop("KMC", level="method")]),
        "missed": _goals_missed(search),
        "exkmc": figure,
        "best": {times: _exkmc_wins(figure[times]) for times in TIMES},
    }


def beside_paper(frame, table):
    """Return cost ratios beside the printed ones: a DataFrame with one row per data and method."""
    groups = frame.groupby(["data", "method"], sort=False)
    printed = published(table).set_index(["data", "method"])
    found = groups[["waes", "wad", "nmi", "seconds"]].mean()
    found["mean"], found["deviation"] = 1 + groups["cost"].mean() / 100, groups["cost"].std()
    found["error"] = groups["cost"].sem() / 100
    found["printed"] = printed["ratio"]
    found[["printed_waes", "printed_wad", "printed_nmi"]] = printed[["waes", "wad", "nmi"]]
    return found


def counts(found, table):
    """Return how many mean costs a paper prints, how many we have, and how many of these agree.

    The last numbers are those within AGREES, and within rounding and two standard errors.
    """
    difference = (found["mean"] - found["printed"]).abs()
    agree = [(difference <= most).sum() for most in (AGREES, ROUNDING + 2 * found["error"])]
    return np.array([len(published(table)), difference.count(), *agree])


def near(found, column):
    """Return how many means of a column are near the printed ones, of how many, and the rest."""
    relative = (found[column] / found[f"printed_{column}"] - 1).abs().dropna()
    far = [f"{method} on {title(data)}" for data, method in relative.index[relative > WITHIN]]
    return len(relative) - len(far), len(relative), far


def missing(found, table):
    """Return the data sets of a printed table that have not been measured, to read."""
    return [title(data) for data in published(table)["data"].unique() if data not in found.index]


def less_dispersed(found):
    """Return on how many data sets ExGreedy varies less than IMM, and on how many both vary."""
    deviations = found["deviation"].unstack()[["IMM", "ExGreedy"]]
    deviations = deviations[(deviations > SAME).all(axis=1)]
    return int((deviations["ExGreedy"] < deviations["IMM"]).sum()), len(deviations)


def cell(row):
    """Return our ratio and the printed one in brackets."""
    return f"{number(row['mean'], 3)} ({number(row['printed'])})"


def _goals_missed(frame):
    """Return the data sets on which ExShallow* is above KMC in mean cost or mean WAES."""
    means = frame.groupby(["method", "data"])[["cost", "waes"]].mean().round(10)
    above = (means.loc["ExShallow*"] > means.loc["KMC"]).any(axis=1)
    return list(map(title, above.index[above]))


def _ratios(frame, times):
    """Return the cost ratio of the cheapest tree of at most so many leaves, as lists over seeds."""
    small = frame[frame["leaves"] <= times * frame["clusters"]]
    best = small.groupby(["data", "method", "seed"], sort=False)["cost"].min()
    found = (1 + best / 100).groupby(level=["data", "method"], sort=False).agg(list).unstack()
    return found.reindex(frame["data"].unique())[list(exkmc.METHODS)]


def claims(table):
    """Return on how many data sets what Frost et al. see in their figure is so: a dict of int.

    CLTree is worst of all (`cltree_worst`) on those on which it ran (`ran`), and ExKMC costs at
    most as much from IMM's tree (`from_imm`). On `kd_high` of `ran`, the k-d tree costs more than
    all others except CLTree and CUBT.
    """
    mean = table.map(np.mean).astype(float).round(3)
    ran = mean[mean["CLTree"].notna()]
    rest = ran.drop(columns=["CLTree", "CUBT", "k-d tree"]).max(axis=1)
    return {
        "ran": len(ran),
        "cltree_worst": (ran.idxmax(axis=1) == "CLTree").sum(),
        "from_imm": (mean["ExKMC, base IMM"] <= mean["ExKMC"]).sum(),
        "kd_high": (ran["k-d tree"] > rest).sum(),
    }


def _exkmc_wins(table):
    """Return on how many data sets ExKMC from IMM's tree costs least, without the other ExKMC.

    Returns
    -------
    alone, tied : int
        The number of data sets on which it costs less than all other methods, and the number on
        which another method costs the same to three digits.
    """
    mean = table.map(np.mean).astype(float).round(3)
    ours = mean["ExKMC, base IMM"]
    others = mean.loc[:, ~mean.columns.str.startswith("ExKMC")].min(axis=1)
    return int((ours < others).sum()), int((ours == others).sum())
