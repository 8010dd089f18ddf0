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

# The first, rough sample has at most _FIRST_ROWS rows in expectation. k-means++ draws
# _CENTERS_PER_CLUSTER centres per cluster from it.
_FIRST_ROWS, _CENTERS_PER_CLUSTER = 20_000, 4

_UNIT = 2.0**-53  # turns integers from 0 to 2**53 - 1 into floats in [0, 1)
_STREAMS = 0xD1342543DE82EF95  # multiplier of seeds; odd, so that the products differ mod 2**64


def sample_of_problem(problem, n_rows, random_state, *, is_uniform=False):
    """Return a clustering problem with a weighted sample of the rows and the same free centres.

    The free centres are those of the clustering without a tree. Each row has a size s, which
    :class:`Sensitivity` computes from the free clusters, and a uniform random number u. The rows
    with the largest ratios s / u are drawn (priority sampling, Duffield, Lund & Thorup 2007).

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
        cost = problem.objective.distances(problem.data, free.centers)[np.arange(n_all), cluster]
    totals = _totals(cost, weight, cluster, k)
    size = Sensitivity.from_totals(*totals).sizes(cost, weight, cluster)
    seed = int(check_random_state(random_state).randint(2**31))
    priority = size / uniforms(np.arange(n_all), seed)
    order = np.argpartition(priority, n_all - n_rows - 1)
    threshold = priority[order[n_all - n_rows - 1]]
    rows = np.sort(order[n_all - n_rows :])
    drawn = weight[rows] * np.maximum(1.0, threshold / size[rows])
    return problem.subset(rows, _calibrated(drawn, cluster[rows], totals[1]))


def uniforms(numbers, seed):
    """Return a pseudo-random number in (0, 1) for each row (splitmix64, Steele et al. 2014).

    Parameters
    ----------
    numbers : int64 array of shape (m,), numbers of the rows
    seed : int, 0 <= seed < 2 ** 32
        Each seed gives other random numbers.

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
    """Return the total cost (row 0) and total weight (row 1) of each cluster: array (2, k).

    Parameters
    ----------
    cost : float64 array of shape (m,)
        Distance of each row to the centre of its cluster, not multiplied by its weight.
    weight : float64 array of shape (m,)
    cluster : int array of shape (m,)
    n_clusters : int
    """
    return np.array([np.bincount(cluster, w, n_clusters) for w in (weight * cost, weight)])


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sizes of rows: a sample draws each row with a probability proportional to its size.

    The size of a row is ``weight * (slope * distance + base[cluster])``. The sizes of all rows sum
    to 1 if the total cost is positive. The size per unit of weight is the mean of three terms that
    bound the sensitivity of the row: ``d / D``, ``D_i / (W_i D)`` and ``1 / (b W_i)`` (Feldman &
    Langberg 2011; Bachem, Lucic & Krause 2017, "Practical coreset constructions", algorithm 2).
    Here d is the distance of the row to the centre of its cluster, D the total cost, D_i and W_i
    the cost and the weight of this cluster, and b the number of clusters that have rows. The third
    term has the same sum in every cluster, so that small clusters are sampled, too.

    Parameters
    ----------
    slope : float
        Increase of the size per unit of weight and distance.
    base : float64 array of shape (n_clusters,)
        Size per unit of weight of a row at the centre of each cluster.
    """

    slope: float
    base: np.ndarray

    @classmethod
    def from_totals(cls, costs, weights):
        """Return the Sensitivity for a clustering.

        `costs` and `weights` are float64 arrays of shape (n_clusters,): the total cost and the
        total weight of the rows of each cluster.
        """
        cost, is_used = float(costs.sum()), weights > 0
        mass = np.where(is_used, weights, 1.0)
        slope = 1 / cost if cost > 0 else 0.0
        base = 1 / (is_used.sum() * mass)
        base = (base + slope * costs / mass) / 3
        return cls(slope / 3, base)

    def sizes(self, distance, weight, cluster):
        """Return the size of each row, to which its probability of being sampled is proportional.

        The arguments are arrays of shape (m,): the distance of each row to its centre, its weight,
        and the number of its cluster.
        """
        return weight * (self.slope * distance + self.base[cluster])


@dataclass(frozen=True, eq=False)
class Sample(Sums):
    """Sampled rows, as lists with one array per block.

    Parameters
    ----------
    X, embedding : lists of arrays or CSR matrices; None without embedding
    weight : list of float64 arrays, weights in the sample
    cluster : list of int arrays
        Number of the nearest centre of each row, among the centres that were given for the draw.
    """

    X: list
    embedding: Any
    weight: list
    cluster: list

    def joined(self):
        """Return X, embedding or None, weight and cluster of all sampled rows, one array each."""
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
    """Return all rows as a sample: X, embedding or None, weight. `center` has no effect."""
    every_size = Sensitivity(0.0, np.ones(1))
    return source.sum(_drawn, center[None], every_size, 0.0, 0).joined()[:3]


def sensitivity_sample(source, centers, size, seed):
    """Draw each row with a probability proportional to its size, which Sensitivity defines.

    Parameters
    ----------
    source : AllRows
    centers : float64 array of shape (b, m)
        Centres of the clusters for which the sizes are computed.
    size : int, expected number of rows in the sample
    seed : int

    Returns
    -------
    X, embedding or None, weight : arrays or CSR matrices with the sampled rows
    """
    totals = source.sum(_costs, centers)
    sample = source.sum(_drawn, centers, Sensitivity.from_totals(*totals), 1 / size, seed)
    if sample is None:
        raise ValueError(f"The sample has no rows: increase coreset_size={size}.")
    X, embedding, weight, cluster = sample.joined()
    return X, embedding, _calibrated(weight, cluster, totals[1])


def _calibrated(weight, cluster, totals):
    """Scale the weights of the sample, so that they sum in each cluster to `totals`.

    `totals` has the weight of each cluster over all rows. Clusters without sampled rows are
    ignored.
    """
    drawn = np.bincount(cluster, weight, len(totals))
    factor = np.divide(totals, drawn, out=np.ones(len(drawn)), where=drawn > 0)
    return weight * factor[cluster]


def coreset(source, center, n_clusters, size, rng):
    """Draw a coreset with probabilities that depend on centres found in a first, rough sample.

    Parameters
    ----------
    source : AllRows
    center : float64 array of shape (m,), mean of all rows
    n_clusters : int
    size : int, expected number of rows in the coreset
    rng : RandomState

    Returns
    -------
    X, embedding or None, weight : arrays or CSR matrices with the sampled rows
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
