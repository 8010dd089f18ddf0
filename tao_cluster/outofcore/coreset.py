"""Coresets: small weighted samples on which any centres have about the same cost as on all rows.

Each row is drawn independently (Poisson sampling), by a pseudo-random number that depends only on
the seed and on the number of the row. The sample is therefore the same for any partition into
blocks and any number of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ..objectives.alternating import spread_seeds
from ..reference import nearest_center
from .statistics import Sums

# Largest number of rows of the first, rough sample, and of centres per cluster found in it.
_FIRST_ROWS, _CENTERS_PER_CLUSTER = 20_000, 4

_UNIT = 2.0**-53  # spacing of 53-bit numbers in [0, 1)
_STREAMS = 0xD1342543DE82EF95  # odd multiplier of the seed, so that seeds have distinct streams


def sample_of_problem(problem, n_rows, random_state, *, is_uniform=False):
    """Return the problem of a weighted sample of the rows, with the same free centres.

    The rows with the largest ratios of size to a uniform random number are drawn (priority
    sampling, Duffield, Lund & Thorup 2007). Sizes are those of :class:`Sensitivity` for the free
    clusters.

    Parameters
    ----------
    problem : Problem
    n_rows : int, less than the number of rows of the problem
    random_state : int, RandomState instance or None
    is_uniform : bool, default=False
        Draw rows in proportion to their weights alone. Rows of equal weight then have equal weights
        in the sample, too.
    """
    free, weight, n_all = problem.free, problem.weight, problem.n_rows
    if is_uniform:
        cluster, cost, k = np.zeros(n_all, dtype=np.intp), np.zeros(n_all), 1
    else:
        cluster, k = free.labels, problem.n_clusters
        distances = problem.objective.distances(problem.data, free.centers)
        cost = distances[np.arange(n_all), cluster]
    totals = _totals(cost, weight, cluster, k)
    size = Sensitivity.from_totals(*totals).sizes(cost, weight, cluster)
    seed = int(check_random_state(random_state).randint(2**31))
    priority = size / uniforms(np.arange(n_all), seed)
    order = np.argpartition(priority, n_all - n_rows - 1)
    threshold = priority[order[n_all - n_rows - 1]]
    rows = np.sort(order[n_all - n_rows :])
    drawn = weight[rows] * np.maximum(1.0, threshold / size[rows])
    return problem.of_rows(rows, _calibrated(drawn, cluster[rows], totals[1]))


def uniforms(numbers, seed):
    """Return a pseudo-random number in (0, 1) for each row (splitmix64, Steele et al. 2014).

    Parameters
    ----------
    numbers : int64 array of shape (m,), numbers of the rows
    seed : int, 0 <= seed < 2 ** 32

    Returns
    -------
    float64 array of shape (m,)
    """
    with np.errstate(over="ignore"):
        x = numbers.astype(np.uint64) + np.uint64(seed) * np.uint64(_STREAMS)
        x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return ((x >> np.uint64(11)).astype(np.float64) + 0.5) * _UNIT


def _totals(cost, weight, cluster, n_clusters):
    """Return the total cost and the total weight of each cluster: float64 array of shape (2, k).

    Parameters
    ----------
    cost : float64 array of shape (m,), distances of the rows without their weights
    weight : float64 array of shape (m,)
    cluster : int array of shape (m,)
    n_clusters : int
    """
    return np.array([np.bincount(cluster, w, n_clusters) for w in (weight * cost, weight)])


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sizes of rows, to which the probabilities of drawing them are proportional.

    The size of a row is ``weight * (slope * distance + base[cluster])``; all sizes sum to 1. It is
    the mean of the three terms of a bound on the sensitivity of the row: ``d / D``,
    ``D_i / (W_i D)`` and ``1 / (b W_i)`` (Feldman & Langberg 2011; Bachem, Lucic & Krause 2017,
    "Practical coreset constructions", algorithm 2). Here d is the distance of the row, D the total
    cost, D_i and W_i the cost and the weight of its cluster, and b the number of clusters. The last
    term gives each cluster the same expected number of rows, even a small one.

    Parameters
    ----------
    slope : float
    base : float64 array of shape (b,)
    """

    slope: float
    base: np.ndarray

    @classmethod
    def from_totals(cls, costs, weights):
        """Compute the sizes from the total cost and weight of each cluster of a clustering."""
        cost, is_used = float(costs.sum()), weights > 0
        mass = np.where(is_used, weights, 1.0)
        slope = 1 / cost if cost > 0 else 0.0
        base = 1 / (is_used.sum() * mass)
        base = (base + slope * costs / mass) / 3
        return cls(slope / 3, base)

    def sizes(self, distance, weight, cluster):
        """Return the size of each row."""
        return weight * (self.slope * distance + self.base[cluster])


@dataclass(frozen=True, eq=False)
class Sample(Sums):
    """Sampled rows, as lists of one array per block.

    Parameters
    ----------
    X, embedding : lists of arrays or CSR matrices; None without embedding
    weight : list of float64 arrays, weights in the sample
    cluster : list of int arrays, nearest of the centres that define the sizes
    """

    X: list
    embedding: Any
    weight: list
    cluster: list

    def joined(self):
        """Return X, embedding or None, weight and cluster of all rows."""
        parts = (self.X, self.embedding, self.weight, self.cluster)
        return tuple(None if part is None else _stacked(part) for part in parts)


def _stacked(parts):
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _costs(rows, centers):
    distance, nearest = rows.nearest(centers)
    return _totals(distance, rows.weight, nearest, len(centers))


def _drawn(rows, centers, sensitivity, threshold, seed):
    distance, nearest = rows.nearest(centers)
    size = sensitivity.sizes(distance, rows.weight, nearest)
    is_drawn = uniforms(rows.numbers, seed) * threshold < size
    if not is_drawn.any():
        return None
    weight = rows.weight[is_drawn] * np.maximum(1.0, threshold / size[is_drawn])
    embedding = None if rows.embedding is None else [rows.embedding[is_drawn]]
    return Sample([rows.X[is_drawn]], embedding, [weight], [nearest[is_drawn]])


def all_rows(source, center):
    """Return all rows as a sample: X, embedding or None, weight. The centre is not relevant."""
    every_size = Sensitivity(0.0, np.ones(1))
    return source.sum(_drawn, center[None], every_size, 0.0, 0).joined()[:3]


def sensitivity_sample(source, centers, size, seed):
    """Draw a coreset with the sizes of :class:`Sensitivity`.

    Parameters
    ----------
    source : AllRows
    centers : float64 array of shape (b, m)
    size : int, expected number of rows
    seed : int

    Returns
    -------
    X, embedding or None, weight
    """
    totals = source.sum(_costs, centers)
    sample = source.sum(_drawn, centers, Sensitivity.from_totals(*totals), 1 / size, seed)
    if sample is None:
        raise ValueError(f"The sample has no rows: increase coreset_size={size}.")
    X, embedding, weight, cluster = sample.joined()
    return X, embedding, _calibrated(weight, cluster, totals[1])


def _calibrated(weight, cluster, totals):
    """Scale the weights of the sample so that each cluster has its total weight in all rows."""
    drawn = np.bincount(cluster, weight, len(totals))
    factor = np.divide(totals, drawn, out=np.ones(len(drawn)), where=drawn > 0)
    return weight * factor[cluster]


def coreset(source, center, n_clusters, size, rng):
    """Draw a coreset for centres that are found in a first, rough sample.

    Parameters
    ----------
    source : AllRows
    center : float64 array of shape (m,), mean of all rows
    n_clusters : int
    size : int, expected number of rows
    rng : RandomState

    Returns
    -------
    X, embedding or None, weight
    """
    first, second = (int(seed) for seed in rng.randint(2**31, size=2))
    X, space, weight = sensitivity_sample(source, center[None], min(size, _FIRST_ROWS), first)
    objective = source.reader.objective
    space = source.reader.space.scaled(X) if space is None else space
    data, n_centers = objective.prepare(space), min(_CENTERS_PER_CLUSTER * n_clusters, len(weight))
    order = np.arange(len(weight))
    centers = spread_seeds(objective, space, data, weight, n_centers, order, rng)
    used = np.unique(nearest_center(objective, data, centers))
    return sensitivity_sample(source, centers[used], size, second)
