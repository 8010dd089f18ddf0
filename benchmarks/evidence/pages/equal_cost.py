"""Size at equal cost: a setting's trees beside the default's, where their costs overlap."""

from dataclasses import dataclass

import numpy as np

LEAST = 1e-3  # percent: costs below are taken for that, in logarithms
# So many of the default's costs have to lie within a setting's range for a ratio: few that do
# are no fair sample of all.
SHARE = 2 / 3


@dataclass(frozen=True)
class Comparison:
    """A setting and the default at the costs of the default's trees.

    Parameters
    ----------
    ratio : float
        Parameters over the default's, geometric mean over the costs that are reached; NaN where
        too few are.
    error : float
        Standard error of its logarithm, by leaving out one seed at a time; NaN with fewer than
        three seeds.
    reached, above, below : int
        How many of the default's costs lie within the range of the setting's costs, and for how
        many all of its trees cost more, or less.
    """

    ratio: float
    error: float
    reached: int
    above: int
    below: int

    @property
    def total(self):
        """How many costs the default's trees have."""
        return self.reached + self.above + self.below

    @property
    def counts(self):
        """Return how many costs are reached, and for how many the trees cost more, or less."""
        text = f"{self.reached} of {self.total}"
        parts = [(self.above, "above"), (self.below, "below")]
        return ", ".join([text, *(f"{n} {words}" for n, words in parts if n)])


def compared(trees, base, column="cost"):
    """Comparison of a setting's trees with the default's of the same seeds, by a column of costs.

    The trees of all seeds are as many points of a line, of log parameters over log cost.
    """
    low, high = (extreme(_log_costs(trees, column)) for extreme in (np.min, np.max))
    costs = _log_costs(base, column)
    reached = (costs >= low) & (costs <= high)
    counts = int(reached.sum()), int((costs < low).sum()), int((costs > high).sum())
    if not len(costs) or counts[0] < SHARE * len(costs):
        return Comparison(np.nan, np.nan, *counts)
    difference = _difference(trees, base, column, costs[reached])
    seeds = trees["seed"].unique()
    error = np.nan
    if len(seeds) > 2:
        without = [
            _difference(*(part[part["seed"] != seed] for part in (trees, base)), column, costs)
            for seed in seeds
        ]
        error = np.sqrt((len(seeds) - 1) * np.var(without))
    return Comparison(float(np.exp(difference)), float(error), *counts)


def _difference(trees, base, column, costs):
    """Mean distance between the lines of two settings at some costs, in logarithms."""
    ours, theirs = (_line(part, column) for part in (trees, base))
    return np.mean(np.polyval(ours, costs) - np.polyval(theirs, costs))


def _line(trees, column):
    costs = _log_costs(trees, column)
    degree = 1 if np.ptp(costs) > 0 else 0
    return np.polyfit(costs, np.log(trees["parameters"].to_numpy(dtype=float)), degree)


def _log_costs(trees, column):
    return np.log(np.maximum(trees[column].to_numpy(dtype=float), LEAST))
