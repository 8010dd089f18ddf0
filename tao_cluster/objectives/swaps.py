"""Swaps: a centre makes way for a row where that lowers the cost of a clustering."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.jit import jit
from ..problem.repeats import content_order, distinct_rows

# Dissimilarities to candidates that are kept at a time.
_BLOCK_VALUES = 4_000_000
# A swap that lowers the cost by no more than this share of it is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Swaps:
    """How swaps are looked for.

    Parameters
    ----------
    n_together : int
        Rows that are compared as candidates before the best of them is tried.
    n_tried : int
        The search ends when so many rows, or all, one after another have been of no use.
    n_passes : int
        Passes of alternation after which a swap is judged; 0: as it is.
    """

    n_together: int
    n_tried: int
    n_passes: int


# FasterPAM's, where a centre is a row; where it is not, a row only stands for the centre of the
# rows about it, and the swap has to settle.
SWAPS = {"eager": Swaps(128, 3200, 0), "settled": Swaps(16, 400, 5)}


@dataclass(frozen=True)
class Clustered:
    """What is clustered, and how.

    `centers_at` gives the centres of clusters of one row each; `settle` (centers, n_passes) the
    centres after some passes of alternation and their cost.
    """

    objective: Any
    data: Any
    weight: np.ndarray
    centers_at: Callable
    settle: Callable


def swapped(clustered, swaps, centers, deck):
    """Swap centres for rows as long as that lowers the cost.

    A block of rows gives the change of cost of all swaps for them in one pass over their
    dissimilarities, as in FasterPAM (Schubert & Rousseeuw 2021, sections 4.2 and 4.3); the best
    swap of the block is made at once, and the block is looked at again.

    Parameters
    ----------
    clustered : Clustered
    swaps : Swaps
    centers : float64 array of shape (k, d)
    deck : int array, the rows that are tried, again and again in this order

    Returns
    -------
    float64 array of shape (k, d). No single swap for a row of a deck of at most `n_tried` rows
    lowers the cost, if `n_passes` is 0.
    """
    move = _Settling(clustered, swaps.n_passes) if swaps.n_passes else _Eager(clustered)
    move.start(centers)
    step = max(1, min(swaps.n_together, _BLOCK_VALUES // max(len(deck), 1)))
    at, n_in_vain = 0, 0
    while n_in_vain < min(swaps.n_tried, len(deck)):
        rows = deck[at : at + step]
        at = at + step if at + step < len(deck) else 0
        n_in_vain = 0 if move.improve(rows) else n_in_vain + len(rows)
    return move.centers


def shuffled_rows(X, weight, rng):
    """Distinct rows of positive weight in a random order that follows from their contents."""
    present = np.flatnonzero(weight > 0)
    some = X[present]
    # Of weight 1, so that rows are told apart by their contents alone.
    rows, _, _ = distinct_rows(some, some, np.ones(len(present)))
    rows = content_order(some) if rows is None else rows
    return present[rng.permutation(rows)]


class _Moves:
    """Centres, the dissimilarities of all rows to them, and the cost."""

    def __init__(self, clustered):
        self.clustered = clustered

    def start(self, centers):
        """Take centres, whatever was before."""
        self.centers = np.array(centers, dtype=np.float64)
        self.distances = self.clustered.objective.distances(self.clustered.data, self.centers)
        self._rank()

    def _rank(self):
        """Nearest centre of each row, its dissimilarity and that of the second nearest."""
        every = np.arange(len(self.distances))
        self.nearest = self.distances.argmin(axis=1)
        self.first = self.distances[every, self.nearest]
        self.distances[every, self.nearest] = np.inf
        self.second = self.distances.min(axis=1)
        self.distances[every, self.nearest] = self.first
        self.cost = float(self.clustered.weight @ self.first)

    def candidates(self, rows):
        """Centres at some rows, and the dissimilarities to them."""
        centers = self.clustered.centers_at(rows)
        distances = self.clustered.objective.distances(self.clustered.data, centers)
        return centers, np.ascontiguousarray(distances)

    def best(self, distances):
        """The swap of least cost: (change of the cost, centre, candidate), ties to the first."""
        weight, k = self.clustered.weight, len(self.centers)
        change = swap_changes(distances, self.nearest, self.first, self.second, weight, k)
        centre, candidate = np.unravel_index(change.argmin(), change.shape)
        return change[centre, candidate], centre, candidate


class _Eager(_Moves):
    """Swaps that are made as they are."""

    def improve(self, rows):
        """Make the best swap for one of some rows until none pays; whether one was made."""
        candidates, distances = self.candidates(rows)
        is_better = False
        while True:
            change, centre, candidate = self.best(distances)
            if not change < -_ROUNDING * self.cost:
                return is_better
            is_better = True
            self.centers[centre] = candidates[candidate]
            self.distances[:, centre] = distances[:, candidate]
            self._rank()


class _Settling(_Moves):
    """Swaps that are judged after some passes of alternation."""

    def __init__(self, clustered, n_passes):
        super().__init__(clustered)
        self.n_passes = n_passes

    def improve(self, rows):
        """Try the best swap for one of some rows; whether the cost is lower."""
        candidates, distances = self.candidates(rows)
        _, centre, candidate = self.best(distances)
        centers = self.centers.copy()
        centers[centre] = candidates[candidate]
        centers, cost = self.clustered.settle(centers, self.n_passes)
        is_better = cost < self.cost - _ROUNDING * self.cost
        if is_better:
            self.start(centers)
        return is_better


@jit
def swap_changes(distances, nearest, first, second, weight, k):
    """Change of the cost if a centre makes way for a candidate: float64 array of shape (k, c).

    A row that is nearer to the candidate goes there, whatever was swapped; one that loses its
    centre goes to the candidate or to its second nearest centre.

    Parameters
    ----------
    distances : C array of shape (n, c), to the candidates
    nearest : int array of shape (n,)
    first, second : float64 arrays of shape (n,), to the nearest and second nearest centre
    weight : float64 array of shape (n,)
    k : int, number of centres
    """
    n_rows, n_candidates = distances.shape
    change, gain = np.zeros((k, n_candidates)), np.zeros(n_candidates)
    for r in range(n_rows):
        lost = change[nearest[r]]
        for c in range(n_candidates):
            d = distances[r, c]
            gain[c] += weight[r] * min(d - first[r], 0.0)
            lost[c] += weight[r] * max(min(d, second[r]) - first[r], 0.0)
    for i in range(k):
        change[i] += gain
    return change
