"""Coresets: few weighted rows that stand for all, drawn so that any centres cost about the same.

A row is drawn by a number of its own, which follows from the seed and from its place among all rows
(Poisson sampling): not from the block it is in, nor from who reads it, nor when.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..objectives.alternating import spread_seeds
from ..reference import nearest_center
from .blocks import sum_over_blocks
from .rows import Reader
from .sums import Sums

# Of the first, rough sample: rows at most, and the centres that are found in it for each cluster.
_FIRST_ROWS, _CENTERS_A_CLUSTER = 20_000, 4

_WHOLE = 2.0**-53
_STREAMS = 0xD1342543DE82EF95  # odd: parts the numbers of one seed from those of the next


def uniforms(numbers, seed):
    """A number in (0, 1) for each row, by its number alone (splitmix64, Steele et al. 2014).

    Parameters
    ----------
    numbers : int64 array of shape (m,)
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
    return ((x >> np.uint64(11)).astype(np.float64) + 0.5) * _WHOLE


@dataclass(frozen=True, eq=False)
class Sample(Sums):
    """Rows that were drawn, in lists of parts.

    Parameters
    ----------
    X, space : lists of arrays or CSR matrices, rows; `space` is None if it is made of X
    weight : list of float64 arrays, what each row stands for
    cluster : list of int arrays, nearest of the centres they were drawn by
    """

    X: list
    space: Any
    weight: list
    cluster: list

    def joined(self):
        """X, space or None, weight and cluster of all rows."""
        space = None if self.space is None else _stacked(self.space)
        return _stacked(self.X), space, np.concatenate(self.weight), np.concatenate(self.cluster)


def _stacked(parts):
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Costs(Sums):
    """What rows cost at their nearest centres, and their weight: float64 arrays of shape (k,)."""

    cost: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class _Draw:
    """How rows are drawn: with probability min(1, s / t), s = w (slope d + base of the cluster).

    Parameters
    ----------
    reader : Reader
    centers : float64 array of shape (b, m)
    slope : float
    base : float64 array of shape (b,)
    threshold : float, t; 0 for all rows
    seed : int
    """

    reader: Reader
    centers: np.ndarray
    slope: float = 0.0
    base: Any = None
    threshold: float = 0.0
    seed: int = 0


def _costs(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    distance, nearest = rows.nearest(state.centers)
    sums = (
        np.bincount(nearest, w, len(state.centers)) for w in (rows.weight * distance, rows.weight)
    )
    return _Costs(*sums)


def _drawn(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    distance, nearest = rows.nearest(state.centers)
    size = rows.weight * (state.slope * distance + state.base[nearest])
    is_drawn = uniforms(rows.numbers, state.seed) * state.threshold < size
    if not is_drawn.any():
        return None
    size = size[is_drawn]
    weight = rows.weight[is_drawn] * np.maximum(1.0, state.threshold / size)
    space = None if block.embedding is None else [rows.space[is_drawn]]
    return Sample([rows.X[is_drawn]], space, [weight], [nearest[is_drawn]])


def _all_rows(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    space = None if block.embedding is None else [rows.space]
    return Sample([rows.X], space, [rows.weight], [np.zeros(len(rows), np.intp)])


def all_rows(blocks, reader):
    """All rows as a sample: (X, space or None, weight)."""
    return sum_over_blocks(_all_rows, blocks, _Draw(reader, np.empty((0, 0)))).joined()[:3]


def lightweight(blocks, reader, center, size, seed):
    """A lightweight coreset: half by weight, half by distance to one centre.

    After Bachem, Lucic & Krause (2018), with the rows drawn one by one instead of with replacement.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    center : float64 array of shape (m,), about the mean
    size : int, rows that are expected
    seed : int

    Returns
    -------
    X, space or None, weight
    """
    draw = _Draw(reader, center[None], seed=seed)
    found = sum_over_blocks(_costs, blocks, draw)
    cost, weight = float(found.cost[0]), float(found.weight[0])
    slope = 0.5 / cost if cost > 0 else 0.0
    draw = replace(draw, slope=slope, base=np.array([0.5 / weight]), threshold=1 / size)
    return _calibrated(_sample(blocks, draw), found)


def sensitive(blocks, reader, centers, size, seed):
    """A coreset by sensitivity: rows count by their share of the cost and of their cluster.

    The three terms of the bound on the sensitivity of a row beside a clustering of about the least
    cost, d / D + D_i / (W_i D) + 1 / (b W_i) (Feldman & Langberg 2011; Bachem, Lucic & Krause 2017,
    "Practical coreset constructions", algorithm 2), in equal parts. By the last one every cluster
    of that clustering has as many rows as any other, however small it is.

    Parameters and return value as for :func:`lightweight`, with `centers` of shape (b, m).
    """
    draw = _Draw(reader, centers, seed=seed)
    found = sum_over_blocks(_costs, blocks, draw)
    cost, used = float(found.cost.sum()), found.weight > 0
    mass = np.where(used, found.weight, 1.0)
    base = 1 / (used.sum() * mass)
    slope = 1 / cost if cost > 0 else 0.0
    base = (base + slope * found.cost / mass) / 3
    draw = replace(draw, slope=slope / 3, base=base, threshold=1 / size)
    return _calibrated(_sample(blocks, draw), found)


def _sample(blocks, draw):
    """The rows that are drawn; ValueError if there is none."""
    sample = sum_over_blocks(_drawn, blocks, draw)
    if sample is None:
        raise ValueError("The sample has no rows; coreset_size must be larger.")
    return sample


def _calibrated(sample, found):
    """Rows drawn, with weights that sum to those of their clusters."""
    X, space, weight, cluster = sample.joined()
    drawn = np.bincount(cluster, weight, len(found.weight))
    factor = np.divide(found.weight, drawn, out=np.ones(len(drawn)), where=drawn > 0)
    return X, space, weight * factor[cluster]


def coreset(blocks, reader, center, n_clusters, size, rng):
    """A coreset by sensitivity, from centres that a first, rough sample has.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    center : float64 array of shape (m,)
    n_clusters : int
    size : int, rows that are expected
    rng : RandomState

    Returns
    -------
    X, space or None, weight
    """
    first, second = (int(seed) for seed in rng.randint(2**31, size=2))
    X, space, weight = lightweight(blocks, reader, center, min(size, _FIRST_ROWS), first)
    objective = reader.space.objective
    space = reader.space.scaled(X) if space is None else space
    data, n_centers = objective.prepare(space), min(_CENTERS_A_CLUSTER * n_clusters, len(weight))
    order = np.arange(len(weight))
    centers = spread_seeds(objective, space, data, weight, n_centers, order, rng)
    used = np.unique(nearest_center(objective, data, centers))
    return sensitive(blocks, reader, centers[used], size, second)
