"""A node of the growing tree as the cut kernels read it: rows, labels and whole-number prices."""

from typing import NamedTuple

import numpy as np

from .builder_input import nearest_two
from .cuts.surrogate import label_terms

# Sums of prices stay below 2 ** 53, where float64 still holds every whole number.
_BITS = 52

# A cost of fewer units a row, or a price of fewer, is too coarse.
_COARSE = 2**10


class SeparationNode(NamedTuple):
    """A node of m rows and c centres, as :func:`greedy.cuts.separating_cut` reads it.

    What a row pays when a cut parts it from its centre is `price`, or, if `distances` has
    columns, what its nearest centre on its own side costs more than `nearest`, at least `price`.
    """

    rows: np.ndarray  # (m,) int64
    label: np.ndarray  # (m,) int64, position of the row's centre
    second: np.ndarray  # (m,) int64, of its second nearest centre; empty without `distances`
    price: np.ndarray  # (m,) int64
    mass: np.ndarray  # (m,) int64, weights as whole numbers; empty without a depth term
    nearest: np.ndarray  # (m,) float64
    positions: np.ndarray  # (c, d) float64, coordinates of the centres
    centers: np.ndarray  # (c,) int64, their columns in `distances`
    distances: np.ndarray  # (n, k) float64, or (n, 0)
    weight: np.ndarray  # (n,) float64
    scale: float
    cap: float  # largest price
    all_left: bool  # a cut may leave no rows on its right, though some belong there


class Depth(NamedTuple):
    """The value of a cut is ``unit * price + factor * DExp``.

    In a ratio the price is divided by the number of centres on the side that has fewer.
    """

    factor: float
    unit: float
    total_mass: int
    used: np.ndarray  # (2, d) bool, features of the left and right edges above the node
    is_ratio: bool


class SurrogateNode(NamedTuple):
    """A leaf of m rows, as :func:`greedy.cuts.surrogate_cut` reads it."""

    rows: np.ndarray  # (m,) int64
    nearest: np.ndarray  # (m,) float64, least distance over all centres
    best_label: int  # label that serves all its rows best
    others: np.ndarray  # (q,) int64, labels that serve some row better
    totals: np.ndarray  # (q + 1,) float64, sums over the rows of what they save
    most: float  # bound of what two labels, one a side of a cut, can save
    distances: np.ndarray  # (n, k) float64
    weight: np.ndarray  # (n,) float64
    scale: float
    cap: float  # largest price


class ImpurityNode(NamedTuple):
    """Rows of several labels, as :func:`greedy.cuts.gini_cut` reads them."""

    rows: np.ndarray  # (m,) int64
    label: np.ndarray  # (m,) int64
    mass: np.ndarray  # (m,) float64, weights as whole numbers
    totals: np.ndarray  # (k,) float64, of each label


def fixed_labels_node(points, rows, centers, all_left, is_ratio, most=np.inf):
    """Node whose rows keep their labels; a parted row pays its weight (IMM, EMN).

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array, rows whose label is among `centers`
    centers : int64 array, increasing
    all_left : bool
        Whether a cut may leave no rows on its right, though some belong there.
    is_ratio : bool
        Whether the price of a cut is divided by the fewer centres of a side (EMN).
    most : float, a cost that the best cut does not exceed

    Returns
    -------
    SeparationNode, Depth
    """
    position = np.zeros(len(points.centers), np.int64)
    position[centers] = np.arange(len(centers))
    weight = points.weight[rows]
    scale, cap = quantization_scale(weight.sum(), len(rows), most)
    node = SeparationNode(
        rows=rows,
        label=position[points.labels[rows]],
        second=np.empty(0, np.int64),
        price=quantized(np.ones(len(rows)), scale, weight, cap),
        mass=np.empty(0, np.int64),
        nearest=np.empty(0),
        positions=points.centers[centers],
        centers=centers,
        distances=np.empty((0, 0)),
        weight=points.weight,
        scale=scale,
        cap=cap,
        all_left=all_left,
    )
    return node, Depth(0.0, 1.0, 0, np.zeros((2, points.n_features), bool), is_ratio)


def nearest_labels_node(points, rows, centers, factor, path, most=np.inf):
    """Node whose rows go to their nearest remaining centre (ExGreedy, ExShallow).

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
    centers : int64 array, increasing
    factor : float, depth factor
    path : sequence of (feature, is_left), edges from the root
    most : float, a cost that the best cut does not exceed

    Returns
    -------
    SeparationNode, Depth
    """
    label, second, nearest, gap, spread = nearest_two(points.distances, rows, centers)
    weight = points.weight[rows]
    scale, cap = quantization_scale(weight @ spread, len(rows), most)
    mass = np.empty(0, np.int64)
    if factor > 0:
        by, _ = quantization_scale(weight.sum(), len(rows), np.inf)
        mass = quantized(np.ones(len(rows)), by, weight, np.inf)
    node = SeparationNode(
        rows=rows,
        label=label,
        second=second,
        price=quantized(gap, scale, weight, cap),
        mass=mass,
        nearest=nearest,
        positions=points.centers[centers],
        centers=centers,
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
    if factor > 0:  # a node whose rows are their centres: the least cost there is
        unit = 1.0 / max(scale * (weight @ nearest), 1.0)
    return node, Depth(float(factor), unit, int(mass.sum()), used, False)


def surrogate_node(points, rows):
    """Leaf whose rows all get the label that serves them best (ExKMC).

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
    """Node whose rows have the labels of their nearest centres, ties to the lowest.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    ImpurityNode
    """
    weight, label = points.weight[rows], points.distances[rows].argmin(axis=1)
    # Half of the bits: squares of sums are whole numbers too.
    mass = np.rint(weight * np.exp2(_BITS // 2 - np.frexp(weight.sum())[1]))
    return ImpurityNode(rows, label, mass, np.bincount(label, mass, len(points.centers)))


def refined_cap(cost, weight, scale):
    """Bound of a least cost whose whole number says too little, None if it says enough.

    A few rows far away can make the unit of the prices so large that the others' vanish. Then
    the prices are made again, those above the bound cut to it: they cannot be part of the
    least cost.

    Parameters
    ----------
    cost : float, least cost as a whole number
    weight : float64 array of shape (m,), of the rows
    scale : float

    Returns
    -------
    float, in the units of the distances, or None
    """
    error = (len(weight) + weight.sum()) / 2  # of a sum of prices, each rounded twice
    return (cost + 2 * error) / scale if cost < _COARSE * error else None


def is_too_coarse(node):
    """Whether some row of a node pays less than a price can tell."""
    unit = np.maximum(node.weight[node.rows], 1.0)
    return bool((node.price < _COARSE * unit).any())


def quantized(excess, scale, weight, cap):
    """What rows pay, as whole numbers; whole weights multiply it exactly.

    Parameters
    ----------
    excess : float64 array of shape (m,), increase of the cost
    scale : float, power of two
    weight : float64 array of shape (m,)
    cap : float, largest price

    Returns
    -------
    int64 array of shape (m,)
    """
    return np.minimum(np.rint(np.rint(excess * scale) * weight), cap).astype(np.int64)


def quantization_scale(largest_sum, n_rows, cap):
    """Power of two by which prices are multiplied before they are rounded, and their cap."""
    if largest_sum == 0:
        return 1.0, np.inf
    largest_sum = min(largest_sum, cap * n_rows)
    scale = float(np.exp2(min(_BITS - np.frexp(largest_sum)[1], 900)))
    return scale, float(np.ceil(cap * scale))
