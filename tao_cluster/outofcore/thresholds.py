"""The threshold of least cost for each test over all rows, by branch and bound on histograms.

The cost difference of a row is its cost in the left child minus its cost in the right child. The
cost of a threshold is the sum of the cost differences of the rows that it sends to the left: those
whose value is at most the threshold. Passes over the rows sum positive and negative differences
separately in bins of values. A lower bound on the cost of all thresholds inside a bin is the cost
of the lower edge of the bin plus the negative differences in the bin. Bins whose bound is below the
least cost of an edge are subdivided in the next pass. This ends when no such bins are left, when
the possible decrease of the cost is below a limit, or after `_MOST_PASSES` passes.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._utils.matrices import first_least
from ..optimize.tree_step import gains
from ..penalties import CostCriterion
from ..tree import Split
from ..tree.routing import ReducedSets, project
from ..tree.tree import midpoint
from .statistics import Sums, table

MOST_EDGES = 512  # maximum number of new bin edges per test and pass over the rows
_MOST_PASSES = 6

# Costs of thresholds are regarded as equal if they differ by at most this share of the sum of the
# absolute cost differences of the rows.
_NOISE = 1e-12


def best_thresholds(source, tree, centers, brackets, resolution, at_midpoints):
    """Find the threshold of least cost for each test, while the rest of the tree is fixed.

    Parameters
    ----------
    source : AllRows
    tree : Tree
    centers : float64 array of shape (k, m)
    brackets : list of Bracket
    resolution : float
        Stop when other thresholds could lower the cost by at most this amount, summed over the
        tests.
    at_midpoints : bool, whether thresholds are put halfway between rows

    Returns
    -------
    list of Bracket, with `best`, `cost` and `gap`
    """
    done, open_ = {}, dict(enumerate(brackets))
    for _ in range(_MOST_PASSES if brackets else 0):
        found = source.sum(_histograms, tree, centers, list(open_.values()))
        for (i, test), histogram in zip(list(open_.items()), found, strict=True):
            done[i] = test.zoomed(histogram, at_midpoints)
            if done[i].is_found:
                del open_[i]
            else:
                open_[i] = done[i]
        if sum(test.gap for test in done.values()) <= resolution:
            break
    return [done[i] for i in range(len(brackets))]


def node_gains(rows, tree, centers, nodes=None):
    """Yield each decision node, deepest first, with its rows and their cost differences.

    Parameters
    ----------
    rows : WeightedRows
    tree : Tree
    centers : float64 array of shape (k, m)
    nodes : set of int, optional
        The default is all decision nodes.

    Yields
    ------
    node : int
    at : int array of shape (m,)
        Positions of the rows that reach the node.
    gain : float64 array of shape (m,)
        Cost of each row if it is routed to the left child, minus that for the right child.
    """
    distances = rows.objective.distances(rows.data, centers)
    loss = CostCriterion(distances, rows.weight).loss_at(tree)
    sets = ReducedSets(tree, tree.route(rows.view))
    for level in sets.levels():
        for node in level if nodes is None else [node for node in level if node in nodes]:
            yield node, sets[node], gains(rows.view, tree, node, sets[node], loss)


def _histograms(rows, tree, centers, brackets):
    nothing = np.empty(0)
    found = [Histogram.from_values(nothing, nothing, test.edges) for test in brackets]
    for node, at, gain in node_gains(rows, tree, centers, {test.node for test in brackets}):
        for i, test in enumerate(brackets):
            if test.node == node:
                values = project(rows.view, at, test.split.indices, test.split.weights)
                found[i] = Histogram.from_values(values, gain, test.edges)
    return table(found)


@dataclass(frozen=True, eq=False)
class Bracket:
    """A test, and the edges between which its threshold of least cost is searched.

    Costs are sums, over the rows that go left, of the cost of each row in the left child minus its
    cost in the right child.

    Parameters
    ----------
    node : int
    split : Split, the test with its current threshold
    edges : increasing float64 array, which contains the current threshold
    best : Split, the test with the best threshold found; None before the first pass
    cost : float, cost of the best threshold
    cost_now : float, cost of the current threshold
    gap : float, largest amount by which another threshold could lower the cost
    """

    node: int
    split: Split
    edges: np.ndarray
    best: Split | None = None
    cost: float = np.inf
    cost_now: float = np.inf
    gap: float = np.inf

    @classmethod
    def from_values(cls, node, split, values):
        """Make the bracket of a test with edges at quantiles of the values of some rows."""
        quantiles = np.quantile(values, np.linspace(0, 1, MOST_EDGES)) if len(values) else values
        return cls(node, split, np.unique(np.append(quantiles, split.threshold)))

    @property
    def is_found(self):
        """Whether the best threshold is optimal, up to the rounding of sums."""
        return self.gap == 0

    def zoomed(self, found, at_midpoints):
        """Return the bracket for the next pass, with finer edges where a better threshold may lie.

        Parameters
        ----------
        found : Histogram over `edges`
        at_midpoints : bool
        """
        least, most = found.least, found.most
        below = np.cumsum(found.down + found.up)
        noise, costs = _NOISE * float((found.up - found.down).sum()), below[:-1].copy()
        last = np.maximum.accumulate(most)[:-1]
        following = np.minimum.accumulate(least[::-1])[::-1][1:]
        parts = np.isfinite(last) & np.isfinite(following)
        costs[~parts] = np.inf  # all on one side
        now = int(np.searchsorted(self.edges, self.split.threshold))
        at, cost_now = first_least(costs, noise), float(below[now])
        if not costs[at] < cost_now - noise:
            at = now
        cost, best = float(below[at]), self.split
        if parts[at]:
            threshold = midpoint(last[at], following[at]) if at_midpoints else last[at]
            best = replace(self.split, threshold=float(threshold))
        bound = below - found.up
        # If all values of a bin are equal, no threshold inside it divides its rows.
        bound[~(least < most)] = np.inf
        may_be_less = np.flatnonzero(bound < cost - noise)
        gap = cost - float(bound.min()) if len(may_be_less) else 0.0
        updated = replace(self, best=best, cost=cost, cost_now=cost_now, gap=gap)
        if updated.is_found:
            return updated
        # Bins with the lowest bounds are subdivided into parts of equal width.
        lowest = may_be_less[np.argsort(bound[may_be_less], kind="stable")][: MOST_EDGES // 2]
        n_cuts = MOST_EDGES // len(lowest)
        cuts = np.linspace(least[lowest], most[lowest], n_cuts + 1)[:-1]
        return replace(updated, edges=np.unique(np.append(self.edges, cuts)))


@dataclass(frozen=True, eq=False)
class Histogram(Sums):
    """Sums of cost differences in bins; bin b contains the values in (edges[b - 1], edges[b]].

    The cost difference of a row is its cost in the left child minus its cost in the right child.

    Parameters
    ----------
    down, up : float64 arrays of shape (n_edges + 1,)
        Sums of the negative and of the positive differences in each bin.
    least, most : float64 arrays of shape (n_edges + 1,)
        Smallest and largest value in each bin; inf and -inf, respectively, for empty bins.
    """

    down: np.ndarray
    up: np.ndarray
    least: np.ndarray
    most: np.ndarray
    combine: ClassVar = {"least": np.minimum, "most": np.maximum}

    @classmethod
    def from_values(cls, values, differences, edges):
        """Sum the cost differences of rows in bins by the values of the rows."""
        n_bins = len(edges) + 1
        bins, is_down = np.searchsorted(edges, values), differences < 0
        down, up = (
            np.bincount(bins[some], differences[some], n_bins) for some in (is_down, ~is_down)
        )
        least, most = np.full(n_bins, np.inf), np.full(n_bins, -np.inf)
        np.minimum.at(least, bins, values)
        np.maximum.at(most, bins, values)
        return cls(down, up, least, most)
