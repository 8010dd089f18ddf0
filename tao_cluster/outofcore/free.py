"""The free clustering of all rows: Lloyd's algorithm by sums over blocks."""

from dataclasses import dataclass

import numpy as np

from ..reference import nearest_center
from .blocks import sum_over_blocks
from .rows import Reader
from .sums import Sums


@dataclass(frozen=True, eq=False)
class _Centers:
    """Centres (k, m), the reader of the rows, and how many far ones are asked for."""

    reader: Reader
    centers: np.ndarray
    n_far: int = 0


@dataclass(frozen=True, eq=False)
class _Assigned(Sums):
    """Sums (k, m) of the rows nearest to each centre, and their weights (k,)."""

    sums: np.ndarray
    weight: np.ndarray


def _assign(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    k, objective = len(state.centers), rows.objective
    labels = nearest_center(objective, rows.data, state.centers)
    sums = objective.cluster_sums(rows.data, labels, rows.weight, k)
    return _Assigned(sums, np.bincount(labels, rows.weight, k))


@dataclass(frozen=True, eq=False)
class _Far:
    """The rows farthest from their centres, ties to the first.

    Parameters
    ----------
    distance, weight : float64 arrays of shape (f,)
    numbers, labels : int arrays of shape (f,)
    sums : float64 array of shape (f, m), each row as a cluster of its own
    n_most : int, rows that are kept
    """

    distance: np.ndarray
    weight: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray
    sums: np.ndarray
    n_most: int

    def __add__(self, other):
        names = ("distance", "weight", "numbers", "labels", "sums")
        parts = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in names]
        kept = np.lexsort([parts[2], -parts[0]])[: self.n_most]
        return type(self)(*(part[kept] for part in parts), self.n_most)


def _farthest(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    objective = rows.objective
    own, labels = rows.nearest(state.centers)
    at = np.lexsort([rows.numbers, -own])[: state.n_far]
    data, weight = objective.prepare(rows.space[at]), rows.weight[at]
    sums = objective.cluster_sums(data, np.arange(len(at)), weight, len(at))
    return _Far(own[at], weight, rows.numbers[at], labels[at], sums, state.n_far)


def lloyd(blocks, reader, centers, tol, least_gain=0.0, max_iter=100):
    """Alternate assignments and centres over all rows.

    A cluster without rows gets one of those that are farthest from their centres, as in
    scikit-learn; from the same start both have the same centres, up to the rounding of sums.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    centers : float64 array of shape (k, m), the start
    tol : float
        It ends when the summed squares of the shifts of the centres are no more than this.
    least_gain : float
        It ends, too, when these squares, times the weights of the clusters, are no more: by so much
        the cost of k-means has fallen.
    max_iter : int, passes over the rows at most, but for those that look for far rows

    Returns
    -------
    centers : float64 array of shape (k, m)
    n_iter : int
    """
    objective = reader.space.objective
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        found = sum_over_blocks(_assign, blocks, _Centers(reader, centers))
        sums, weight = found.sums, found.weight
        empty = np.flatnonzero(weight == 0)
        if len(empty):
            _relocate(sums, weight, empty, blocks, reader, centers)
        before, centers = centers, objective.centers_of(sums, weight, centers)
        shifts = ((centers - before) ** 2).sum(axis=1)
        if shifts.sum() <= tol or weight @ shifts <= least_gain:
            break
    return centers, n_iter


def _relocate(sums, weight, empty, blocks, reader, centers):
    """Give a far row to each cluster without any; changes the sums and the weights."""
    far = sum_over_blocks(_farthest, blocks, _Centers(reader, centers, len(empty)))
    for i, cluster in enumerate(empty[: len(far.distance)]):
        if far.distance[i] == 0:
            return
        sums[cluster], weight[cluster] = far.sums[i], far.weight[i]
        sums[far.labels[i]] -= far.sums[i]
        weight[far.labels[i]] -= far.weight[i]


@dataclass(frozen=True, eq=False)
class _Valued(Sums):
    """The cost of rows at their nearest centres, and the weight (k,) of each cluster."""

    cost: float
    weight: np.ndarray


def _value(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    labels = nearest_center(rows.objective, rows.data, state.centers)
    cost = rows.objective.value(rows.data, labels, rows.weight, state.centers)
    return _Valued(cost, np.bincount(labels, rows.weight, len(state.centers)))


def value(blocks, reader, centers):
    """Cost of all rows at their nearest centres, and the weight of each cluster."""
    found = sum_over_blocks(_value, blocks, _Centers(reader, centers))
    return found.cost, found.weight
