"""The least-cost threshold of each test over all rows: histograms, zoomed where it may lie.

Along the values of a test the cost of its threshold is a sum of steps, one a row: up for rows that
are better off on the right, down for the others. Of a bin only the sums of the two kinds are known;
no threshold inside it costs less than the sum before the bin plus all steps down in it. Bins whose
bound is below the least cost at an edge are cut, until none is left (branch and bound).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..optimize.tree_step import gains
from ..penalties import CostCriterion
from ..tree import Split
from ..tree.routing import ReducedSets, project
from ..tree.tree import midpoint
from .statistics import Sums, table

MOST_EDGES = 512  # of a test at a time
_MOST_PASSES = 6

_NOISE = 1e-12  # of the summed sizes of steps: what sums may differ by and be the same


def best_thresholds(source, tree, centers, brackets, resolution, at_midpoints):
    """Return the least-cost threshold of each test, the rest of the tree as it is.

    Parameters
    ----------
    source : AllRows
    tree : Tree
    centers : float64 array of shape (k, m)
    brackets : list of Bracket
    resolution : float
        It ends when other thresholds might cost less by no more than that, summed over the tests.
    at_midpoints : bool

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
    """Yield (node, its rows, by how much more it costs each to go left), from the deepest up.

    Parameters
    ----------
    rows : WeightedRows
    tree : Tree
    centers : float64 array of shape (k, m)
    nodes : set of int, optional, those that are asked for
    """
    distances = rows.objective.distances(rows.data, centers)
    loss = CostCriterion(distances, rows.weight).loss_at(tree)
    sets = ReducedSets(tree, tree.route(rows.view))
    for level in sets.levels():
        for node in level if nodes is None else [node for node in level if node in nodes]:
            yield node, sets[node], gains(rows.view, tree, node, sets[node], loss)


def _histograms(rows, tree, centers, brackets):
    nothing = np.empty(0)
    found = [Histogram.of(nothing, nothing, test.edges) for test in brackets]
    for node, at, gain in node_gains(rows, tree, centers, {test.node for test in brackets}):
        for i, test in enumerate(brackets):
            if test.node == node:
                values = project(rows.view, at, test.split.indices, test.split.weights)
                found[i] = Histogram.of(values, gain, test.edges)
    return table(found)


@dataclass(frozen=True, eq=False)
class Bracket:
    """A test, and where its least-cost threshold may lie.

    Parameters
    ----------
    node : int
    split : Split, with the threshold that it has now
    edges : float64 array, increasing; the threshold of the split is one of them
    cost : float, of the best threshold found: summed steps of the rows on the left
    cost_now : float, of the threshold that it has
    gap : float, by how much less another threshold might cost
    """

    node: int
    split: Split
    edges: np.ndarray
    best: Split | None = None
    cost: float = np.inf
    cost_now: float = np.inf
    gap: float = np.inf

    @classmethod
    def of(cls, node, split, values):
        """A test with edges at quantiles of the values of some rows."""
        quantiles = np.quantile(values, np.linspace(0, 1, MOST_EDGES)) if len(values) else values
        return cls(node, split, np.unique(np.append(quantiles, split.threshold)))

    @property
    def is_found(self):
        """Whether no threshold can cost less, but for the rounding of sums."""
        return self.gap == 0

    def zoomed(self, found, at_midpoints):
        """The bracket after a pass, with finer edges where the least cost may lie.

        Parameters
        ----------
        found : Histogram over `edges`
        at_midpoints : bool, whether the threshold is put halfway between rows
        """
        least, most = found.least, found.most
        below = np.cumsum(found.down + found.up)
        noise, costs = _NOISE * float((found.up - found.down).sum()), below[:-1].copy()
        last = np.maximum.accumulate(most)[:-1]
        following = np.minimum.accumulate(least[::-1])[::-1][1:]
        parts = np.isfinite(last) & np.isfinite(following)
        costs[~parts] = np.inf  # all on one side
        now = int(np.searchsorted(self.edges, self.split.threshold))
        at, cost_now = int(np.argmax(costs <= costs.min() + noise)), float(below[now])
        if not costs[at] < cost_now - noise:
            at = now
        cost, best = float(below[at]), self.split
        if parts[at]:
            threshold = midpoint(last[at], following[at]) if at_midpoints else last[at]
            best = replace(self.split, threshold=float(threshold))
        bound = below - found.up
        bound[~(least < most)] = np.inf  # nothing lies between its values
        may_be_less = np.flatnonzero(bound < cost - noise)
        gap = cost - float(bound.min()) if len(may_be_less) else 0.0
        told = replace(self, best=best, cost=cost, cost_now=cost_now, gap=gap)
        if told.is_found:
            return told
        # Bins that may hold the lowest costs are cut into parts of equal width.
        lowest = may_be_less[np.argsort(bound[may_be_less], kind="stable")][: MOST_EDGES // 2]
        n_cuts = MOST_EDGES // len(lowest)
        cuts = np.linspace(least[lowest], most[lowest], n_cuts + 1)[:-1]
        return replace(told, edges=np.unique(np.append(self.edges, cuts)))


@dataclass(frozen=True, eq=False)
class Histogram(Sums):
    """Steps of the cost in the bins between edges; bin b holds values in (edge b - 1, edge b].

    Parameters
    ----------
    down, up : float64 arrays of shape (n_edges + 1,), summed steps below 0 and above
    least, most : float64 arrays of shape (n_edges + 1,), values in each bin; infinite in empty ones
    """

    down: np.ndarray
    up: np.ndarray
    least: np.ndarray
    most: np.ndarray
    combine: ClassVar = {"least": np.minimum, "most": np.maximum}

    @classmethod
    def of(cls, values, steps, edges):
        """Return that of some rows."""
        n_bins = len(edges) + 1
        bins, is_down = np.searchsorted(edges, values), steps < 0
        down, up = (np.bincount(bins[some], steps[some], n_bins) for some in (is_down, ~is_down))
        least, most = np.full(n_bins, np.inf), np.full(n_bins, -np.inf)
        np.minimum.at(least, bins, values)
        np.maximum.at(most, bins, values)
        return cls(down, up, least, most)
