"""Statistics over data sets: wins and losses of a pair, average ranks, what is significant."""

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
    return np.round(costs / (2 * LEVEL)) * (2 * LEVEL)


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


@dataclass(frozen=True)
class Duel:
    """A method against another on the data sets that have both.

    Parameters
    ----------
    wins, ties, losses : int
    p_value : float, of Wilcoxon's signed-rank test, two-sided
    """

    wins: int
    ties: int
    losses: int
    p_value: float

    @property
    def total(self):
        """Number of the data sets."""
        return self.wins + self.ties + self.losses

    def __str__(self):
        return f"{self.wins}/{self.ties}/{self.losses}"


def duel(ours, theirs):
    """Duel of two Series of costs; infinite where a method has no tree that is small enough."""
    both = pd.concat([levelled(ours), levelled(theirs)], axis=1).dropna().to_numpy()
    both = np.where(np.isinf(both), np.finfo(float).max / 4, both)
    difference = both[:, 0] - both[:, 1]
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    return Duel(wins, len(both) - wins - losses, losses, signed_rank(difference))


def signed_rank(differences):
    """Two-sided p value of Wilcoxon's signed-rank test; level pairs are left out."""
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    # The exact distribution has no ties; to count it out with ties takes seconds.
    has_ties = len(np.unique(np.abs(differences))) < len(differences)
    method = "asymptotic" if has_ties else "exact"
    return float(stats.wilcoxon(differences, method=method).pvalue)


def holm(p_values):
    """p values of several tests, corrected by Holm's steps down."""
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    found = np.empty_like(p_values)
    found[order] = np.minimum(1, np.maximum.accumulate(factors * p_values[order]))
    return found
