"""Inputs of the cut kernels: a node of the growing tree with quantized costs and weights.

Terms are those of :mod:`greedy.cuts`. Costs are quantized so that their sums are exact: each one is
multiplied by `scale`, a power of two, and rounded to an integer. Costs above `cap` are cut off
there; see :func:`refined_cap`.
"""

from typing import NamedTuple

import numpy as np

from .builder_input import nearest_two
from .cuts.surrogate import label_terms

# Sums of quantized numbers stay below 2 ** 53, so that float64 represents them exactly.
_BITS = 52

# Costs of fewer quantization units than this (per row) have too large a relative error.
_COARSE = 2**10


class SeparationNode(NamedTuple):
    """Input of :func:`greedy.cuts.separating_cut`: a node of m rows and c reference centres.

    A row that a cut separates from its centre pays its excess cost. Without `distances` (n, 0) the
    excess cost is `excess`. With `distances` (n, k) the row is assigned to the nearest centre on
    its own side. Then `excess` is the excess cost of the second nearest centre, a lower bound.
    """

    rows: np.ndarray  # (m,) int64
    label: np.ndarray  # (m,) int64, the row's centre, as a position in `centers`
    second: np.ndarray  # (m,) int64, its second nearest centre; empty without `distances`
    excess: np.ndarray  # (m,) int64, quantized excess costs
    mass: np.ndarray  # (m,) int64, quantized weights; empty without a depth term
    nearest: np.ndarray  # (m,) float64, distance to the nearest centre of the node
    centers: np.ndarray  # (c, d) float64, coordinates of the centres
    center_ids: np.ndarray  # (c,) int64, numbers of the centres (columns of `distances`)
    distances: np.ndarray  # (n, k) float64, or empty
    weight: np.ndarray  # (n,) float64
    scale: float
    cap: float  # largest quantized cost of a row
    all_left: bool  # a cut may leave no rows on its right, though some rows have a centre there


class DepthTerm(NamedTuple):
    """Criterion of a cut: ``unit * cost + factor * expected depth``, to be minimized.

    `cost` is the sum of quantized excess costs. With `is_ratio` it is divided by the number of
    centres on the side that has fewer of them (EMN).
    """

    factor: float
    unit: float
    total_mass: int
    used: np.ndarray  # (2, d) bool, features whose left (right) branch is taken above the node
    is_ratio: bool


class SurrogateNode(NamedTuple):
    """Input of :func:`greedy.cuts.surrogate_cut`: a leaf of m rows.

    All costs are quantized. A row saves a (possibly negative) amount if it gets another label than
    `own`. `totals` sums these savings over all rows: element i for the label others[i], the last
    element for the best of all k labels of each row.
    """

    rows: np.ndarray  # (m,) int64
    nearest: np.ndarray  # (m,) float64, least distance over all centres
    best_label: int  # label with the least total cost
    others: np.ndarray  # (q,) int64, labels that cost less than `own` for at least one row
    totals: np.ndarray  # (q + 1,) float64
    most: float  # upper bound of the saving of any cut, with one label per side
    distances: np.ndarray  # (n, k) float64
    weight: np.ndarray  # (n,) float64
    scale: float
    cap: float  # largest quantized cost of a row


class ImpurityNode(NamedTuple):
    """Input of :func:`greedy.cuts.gini_cut`: m rows with labels."""

    rows: np.ndarray  # (m,) int64
    label: np.ndarray  # (m,) int64
    mass: np.ndarray  # (m,) float64, quantized weights
    totals: np.ndarray  # (k,) float64, mass of each label


def fixed_labels_node(points, rows, centers, all_left, is_ratio, cost_bound=np.inf):
    """Node whose rows keep their labels: a separated row pays its weight (IMM, EMN).

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array, rows whose label is among `centers`
    centers : int64 array, increasing
    all_left : bool
        Whether a cut may leave no rows on its right, though some rows have a centre there.
    is_ratio : bool
        Whether the cost of a cut is divided by the number of centres on the smaller side (EMN).
    cost_bound : float, optional
        Upper bound of the cost of the best cut; see :func:`refined_cap`.

    Returns
    -------
    SeparationNode, DepthTerm
    """
    position = np.zeros(len(points.centers), np.int64)
    position[centers] = np.arange(len(centers))
    weight = points.weight[rows]
    scale, cap = quantization_scale(weight.sum(), len(rows), cost_bound)
    node = SeparationNode(
        rows=rows,
        label=position[points.labels[rows]],
        second=np.empty(0, np.int64),
        excess=quantized(np.ones(len(rows)), scale, weight, cap),
        mass=np.empty(0, np.int64),
        nearest=np.empty(0),
        centers=points.centers[centers],
        center_ids=centers,
        distances=np.empty((0, 0)),
        weight=points.weight,
        scale=scale,
        cap=cap,
        all_left=all_left,
    )
    return node, DepthTerm(0.0, 1.0, 0, np.zeros((2, points.n_features), bool), is_ratio)


def nearest_labels_node(points, rows, centers, factor, path, cost_bound=np.inf):
    """Node whose rows are assigned to the nearest centre of the node (ExGreedy, ExShallow).

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
    centers : int64 array, increasing
    factor : float, weight of the expected depth
    path : sequence of (feature, is_left), branches from the root to the node
    cost_bound : float, optional
        Upper bound of the cost of the best cut; see :func:`refined_cap`.

    Returns
    -------
    SeparationNode, DepthTerm
    """
    label, second, nearest, gap, distance_range = nearest_two(points.distances, rows, centers)
    weight = points.weight[rows]
    scale, cap = quantization_scale(weight @ distance_range, len(rows), cost_bound)
    mass = np.empty(0, np.int64)
    if factor > 0:
        weight_scale, _ = quantization_scale(weight.sum(), len(rows), np.inf)
        mass = quantized(np.ones(len(rows)), weight_scale, weight, np.inf)
    node = SeparationNode(
        rows=rows,
        label=label,
        second=second,
        excess=quantized(gap, scale, weight, cap),
        mass=mass,
        nearest=nearest,
        centers=points.centers[centers],
        center_ids=centers,
        distances=points.distances,
        weight=points.weight,
        scale=scale,
        cap=cap,
        all_left=True,
    )
    used = np.zeros((2, points.n_features), bool)
    for feature, is_left in path:
        used[0 if is_left else 1, feature] = True
    unit = 1.0
    if factor > 0:  # relative to the node's current cost; 1 unit if all rows equal their centres
        unit = 1.0 / max(scale * (weight @ nearest), 1.0)
    return node, DepthTerm(float(factor), unit, int(mass.sum()), used, False)


def surrogate_node(points, rows):
    """Leaf that assigns all its rows to the one label with the least total cost (ExKMC).

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    SurrogateNode
    """
    weight = points.weight[rows]
    terms = (points.distances, rows, points.nearest, points.weight)
    largest_sum = weight @ points.distance_range[rows]
    scale, cap = quantization_scale(largest_sum, len(rows), np.inf)
    costs, own, savings = label_terms(*terms, scale, cap)
    most = refined_cap(costs.min(), weight, scale)
    if most is not None:
        scale, cap = quantization_scale(largest_sum, len(rows), 2 * most)
        costs, own, savings = label_terms(*terms, scale, cap)
    others = np.flatnonzero(savings)
    return SurrogateNode(
        rows=rows,
        nearest=points.nearest[rows],
        best_label=own,
        others=others,
        totals=np.append(costs[own] - costs[others], costs[own]),
        most=min(costs[own], np.sort(savings)[-2:].sum()),
        distances=points.distances,
        weight=points.weight,
        scale=scale,
        cap=cap,
    )


def impurity_node(points, rows):
    """Node whose rows have the label of their nearest centre, the lowest one of ties.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    ImpurityNode
    """
    weight, label = points.weight[rows], points.distances[rows].argmin(axis=1)
    # Half of the bits, so that squares of sums are exact, too.
    mass = np.rint(weight * np.exp2(_BITS // 2 - np.frexp(weight.sum())[1]))
    return ImpurityNode(rows, label, mass, np.bincount(label, mass, len(points.centers)))


def refined_cap(cost, weight, scale):
    """Return an upper bound of the least cost if its quantization is too coarse, else None.

    A few very distant rows can make the quantization unit so large that the costs of all other
    rows round to 0. The costs are then quantized again, with a finer unit, after costs above the
    bound are cut off. Such costs cannot be part of the least cost.

    Parameters
    ----------
    cost : float, least quantized cost
    weight : float64 array of shape (m,), of the rows
    scale : float

    Returns
    -------
    float, in the unit of the distances, or None
    """
    error = (len(weight) + weight.sum()) / 2  # largest error of a sum of costs, each rounded twice
    return (cost + 2 * error) / scale if cost < _COARSE * error else None


def is_too_coarse(node):
    """Return whether the excess cost of some row has too few quantization units."""
    unit = np.maximum(node.weight[node.rows], 1.0)
    return bool((node.excess < _COARSE * unit).any())


def quantized(excess, scale, weight, cap):
    """Quantize excess costs: round to multiples of 1 / scale, times the weight, as integers.

    The cost of one row is rounded before it is multiplied by the weight, so that a row with an
    integer weight costs exactly as much as equal rows of weight 1.

    Parameters
    ----------
    excess : float64 array of shape (m,), increase of the cost for weight 1
    scale : float, power of two
    weight : float64 array of shape (m,)
    cap : float, largest quantized cost

    Returns
    -------
    int64 array of shape (m,)
    """
    return np.minimum(np.rint(np.rint(excess * scale) * weight), cap).astype(np.int64)


def quantization_scale(largest_sum, n_rows, cap):
    """Choose a scale for which the quantized costs of a node sum to less than 2 ** 53.

    Parameters
    ----------
    largest_sum : float, largest possible sum of costs
    n_rows : int
    cap : float
        Upper bound of the costs of interest, in the unit of the distances. Larger ones are cut off.

    Returns
    -------
    scale : float, power of two
    cap : float, quantized
    """
    if largest_sum == 0:
        return 1.0, np.inf
    largest_sum = min(largest_sum, cap * n_rows)
    scale = float(np.exp2(min(_BITS - np.frexp(largest_sum)[1], 900)))
    return scale, float(np.ceil(cap * scale))
