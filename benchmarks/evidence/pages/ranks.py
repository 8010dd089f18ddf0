"""Statistics over data sets: wins and losses of each pair, average ranks, critical difference."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

# Costs in percent closer than that are level: what two digits show.
LEVEL = 0.005
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods over the data sets that have all of them.

    Parameters
    ----------
    ranks : Series, method to average rank, best first
    n_sets : int
    p_value : float, of Friedman's test: NaN of fewer than three methods or sets
    difference : float, critical for two methods (Nemenyi)
    """

    ranks: pd.Series
    n_sets: int
    p_value: float
    difference: float


def levelled(costs):
    """Costs as they are compared: rounded, so that level ones tie."""
    return (costs / (2 * LEVEL)).round() * (2 * LEVEL)


def ranking(costs):
    """Ranking of the columns of a DataFrame, a row a data set."""
    whole = levelled(costs).dropna()
    ranks = whole.rank(axis=1).mean().sort_values()
    n_sets, n_methods = whole.shape
    p_value = np.nan
    if n_sets > 2 and n_methods > 2:
        p_value = float(stats.friedmanchisquare(*whole.T.to_numpy()).pvalue)
    if n_methods < 2:
        return Ranking(ranks, n_sets, p_value, 0.0)
    quantile = stats.studentized_range.ppf(CONFIDENCE, n_methods, np.inf) / np.sqrt(2)
    difference = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * max(1, n_sets)))
    return Ranking(ranks, n_sets, p_value, float(difference))


def duels(costs):
    """Wins / ties / losses of the row against the column: DataFrame of texts.

    A pair is compared on all data sets that have both.
    """
    costs = levelled(costs)
    found = pd.DataFrame("", index=costs.columns, columns=costs.columns)
    for a, b in itertools.permutations(costs.columns, 2):
        both = costs[[a, b]].dropna()
        less, more = (both[a] < both[b]).sum(), (both[a] > both[b]).sum()
        found.loc[a, b] = f"{less}/{len(both) - less - more}/{more}"
    return found
