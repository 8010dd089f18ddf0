"""Inputs of the cut kernels: a node of the growing tree with quantized costs and weights.

Terms are those of :mod:`greedy.cuts`. Costs are quantized so that their sums are exact: each one is
multiplied by `scale`, a power of two, and rounded to an integer. Costs above `cap` are replaced by
`cap`; see :func:`refined_cap`.
"""

from typing import NamedTuple

import numpy as np

from .builder_input import nearest_two
from .cuts.surrogate import label_terms

# Sums of quantized numbers stay below 2 ** 53, so that float64 represents them exactly.
_BITS = 52

# The quantization is too coarse if the quantized cost of some row is below this many times its
# rounding error, which is then more than about 0.1 % of the cost.
_COARSE = 2**10


class SeparationNode(NamedTuple):
    """Input of :func:`greedy.cuts.separating_cut`: a node of m rows and c reference centres.

    A row costs its excess cost if a cut separates it from its centre. If `distances` is empty, the
    excess cost is `excess`. Otherwise the row moves to the nearest centre on its own side of the
    cut, and `excess`, the excess cost of its second nearest centre, is only a lower bound.
    """

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the node
    label: np.ndarray  # (m,) int64, the centre of each row, as a position in `centers`
    second: np.ndarray  # (m,) int64, second nearest centre of each row; empty without `distances`
    excess: np.ndarray  # (m,) int64, quantized excess costs
    mass: np.ndarray  # (m,) int64, quantized weights; empty without a depth term
    nearest: np.ndarray  # (m,) float64, distance to the nearest centre of the node
    centers: np.ndarray  # (c, d) float64, coordinates of the centres
    center_ids: np.ndarray  # (c,) int64, numbers of the centres (columns of `distances`)
    distances: np.ndarray  # (n, k) float64, cost of each row of X at each centre; or empty
    weight: np.ndarray  # (n,) float64, weight of each row of X
    scale: float  # factor by which costs are multiplied before they are rounded
    cap: float  # largest quantized cost of a row
    all_left: bool  # whether a cut may send all rows left although centres lie on its right


class DepthTerm(NamedTuple):
    """Criterion of a cut: ``unit * cost + factor * expected depth``, to be minimized.

    `cost` is the sum of quantized excess costs. With `is_ratio` it is divided by the number of
    centres on the side that has fewer of them (EMN).
    """

    factor: float
    unit: float
    total_mass: int
    used: np.ndarray  # (2, d) bool, [0, f] ([1, f]): the path takes a left (right) branch of f
    is_ratio: bool


class SurrogateNode(NamedTuple):
    """Input of :func:`greedy.cuts.surrogate_cut`: a leaf of m rows.

    All costs are quantized. A row saves a (possibly negative) amount if it gets another label than
    `best_label`. `totals` sums these savings over all rows: element i is the sum if all rows get
    the label others[i], the last element is the sum if each row gets its cheapest label.
    """

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the leaf
    nearest: np.ndarray  # (m,) float64, least distance of each row over all centres
    best_label: int  # label with the least total cost
    others: np.ndarray  # (q,) int64, labels that cost less than `best_label` for some row
    totals: np.ndarray  # (q + 1,) float64, see above
    most: float  # upper bound of what a cut saves if each of its sides gets one label
    distances: np.ndarray  # (n, k) float64, cost of each row of X, with weight 1, at each centre
    weight: np.ndarray  # (n,) float64, weight of each row of X
    scale: float  # factor by which costs are multiplied before they are rounded
    cap: float  # largest quantized cost of a row


class ImpurityNode(NamedTuple):
    """Input of :func:`greedy.cuts.gini_cut`: m rows with labels."""

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the node
    label: np.ndarray  # (m,) int64, number of the nearest centre of each row
    mass: np.ndarray  # (m,) float64, quantized weights
    totals: np.ndarray  # (k,) float64, mass of each label


def fixed_labels_node(points, rows, centers, all_left, is_ratio, cost_bound=np.inf):
    """Return a node whose rows keep their labels, as in IMM and EMN.

    A row that a cut separates from its centre costs its weight.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array, rows whose label is among `centers`
    centers : int64 array, increasing
    all_left : bool
        Whether a cut may send all rows left although centres lie on its right.
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
    """Return a node whose rows belong to its nearest centre, as in ExGreedy and ExShallow.

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
    if factor > 0:
        # The unit turns costs into shares of the cost of the rows at their nearest centres. That
        # cost counts as at least one quantization unit.
        unit = 1.0 / max(scale * (weight @ nearest), 1.0)
    return node, DepthTerm(float(factor), unit, int(mass.sum()), used, False)


def surrogate_node(points, rows):
    """Return a leaf that gives all its rows the label with the least total cost, as in ExKMC.

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
    """Return a node whose rows have the label of their nearest centre (ties: the lowest).

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    ImpurityNode
    """
    weight, label = points.weight[rows], points.distances[rows].argmin(axis=1)
    # Masses use half of the bits, so that the squares of their sums are exact, too.
    mass = np.rint(weight * np.exp2(_BITS // 2 - np.frexp(weight.sum())[1]))
    return ImpurityNode(rows, label, mass, np.bincount(label, mass, len(points.centers)))


def refined_cap(cost, weight, scale):
    """Return an upper bound of the least cost if its quantization is too coarse, else None.

    A few very distant rows can make the quantization unit so large that the costs of all other
    rows round to 0. The costs are then quantized again, with a finer unit, after costs above the
    bound are replaced by the bound. Such costs cannot be part of the least cost.

    Parameters
    ----------
    cost : float, least quantized cost
    weight : float64 array of shape (m,), weights of the rows
    scale : float, number of quantization units per unit of the distances

    Returns
    -------
    float, in the unit of the distances, or None
    """
    error = (len(weight) + weight.sum()) / 2  # largest error of a sum of costs, each rounded twice
    return (cost + 2 * error) / scale if cost < _COARSE * error else None


def is_too_coarse(node):
    """Return whether the quantized excess cost of some row has too large a rounding error."""
    unit = np.maximum(node.weight[node.rows], 1.0)
    return bool((node.excess < _COARSE * unit).any())


def quantized(excess, scale, weight, cap):
    """Quantize excess costs: express weighted costs as integers, in units of 1 / scale.

    The cost of a row is rounded before it is multiplied by the weight, so that a row with an
    integer weight costs exactly as much as that many rows of weight 1.

    Parameters
    ----------
    excess : float64 array of shape (m,), increase of the cost for weight 1
    scale : float, power of two
    weight : float64 array of shape (m,)
    cap : float, largest quantized cost; larger ones are replaced by it

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
        Upper bound of the costs of interest, in the unit of the distances. Larger costs are
        replaced by it.

    Returns
    -------
    scale : float, power of two
    cap : float, the given `cap` in units of 1 / scale, rounded up
    """
    if largest_sum == 0:
        return 1.0, np.inf
    largest_sum = min(largest_sum, cap * n_rows)
    scale = float(np.exp2(min(_BITS - np.frexp(largest_sum)[1], 900)))
    return scale, float(np.ceil(cap * scale))
