"""The page on the papers of ExGreedy, ExShallow and ExKMC."""

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.words import averaged, number, published, title
from benchmarks.evidence.tables import exkmc, laber

AGREES = 0.03
TIMES = (1, 2, 4)


def numbers(frames):
    """Return the numbers of the page."""
    search = frames[laber.NAME_23_SEARCH]
    search = search.assign(method=search["point"])
    figure = {times: _ratios(frames[exkmc.NAME], times) for times in TIMES}
    return {
        "laber21": beside_paper(frames[laber.NAME_21], laber.NAME_21),
        "laber23": beside_paper(frames[laber.NAME_23], laber.NAME_23),
        "search": beside_paper(search, laber.NAME_23_SEARCH),
        "missed": _goals_missed(search),
        "exkmc": figure,
        "best": {times: _exkmc_wins(figure[times]) for times in TIMES},
    }


def beside_paper(frame, table):
    """Return cost ratios beside the printed ones: a DataFrame with one row per data and method."""
    groups = frame.groupby(["data", "method"], sort=False)
    printed = published(table).set_index(["data", "method"])
    found = pd.DataFrame({"mean": 1 + groups["cost"].mean() / 100, "waes": groups["waes"].mean()})
    found["ours"] = groups["cost"].apply(lambda costs: averaged(1 + costs / 100, 3))
    found["printed"], found["printed_waes"] = printed["ratio"], printed["waes"]
    found["difference"] = found["mean"] - found["printed"]
    found["agrees"] = found["difference"].abs() <= AGREES
    return found


def cell(row):
    """Return our ratio and the printed one in brackets."""
    return row["ours"] if np.isnan(row["printed"]) else f"{row['ours']} ({number(row['printed'])})"


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


def _exkmc_wins(table):
    """Return on how many data sets ExKMC, with or without a base tree, costs least."""
    mean = table.map(np.mean).astype(float).round(3)
    own = [name for name in mean if name.startswith("ExKMC")]
    return int((mean[own].min(axis=1) <= mean.min(axis=1)).sum())
