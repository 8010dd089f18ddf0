"""Kernels for cuts that save most of the k-means cost when clusters follow their rows (Kauri)."""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from tao_cluster.core.jit import jit

from ..order import Order


class KauriNode(NamedTuple):
    """A leaf, as :func:`kauri_cuts` reads it. S are sums of weighted rows, W of weights."""

    order: Order
    norms: np.ndarray  # (s,) float64, ||S||^2 of the rows on the moving side of a cut
    weight: np.ndarray  # (n,) float64
    products: np.ndarray  # (n, K + 1) float64, rows times S of their leaf, then of each cluster
    own: int  # cluster of the leaf
    mass: float  # W and ||S||^2 of the leaf, and its S times that of each cluster
    norm: float
    inner: np.ndarray  # (K,) float64
    masses: np.ndarray  # (K,) float64, W of the clusters there are
    squares: np.ndarray  # (K,) float64, their ||S||^2
    n_new: int  # clusters that may still be made
    is_whole: bool  # the leaf is its whole cluster
    tolerance: float


def _add_row_dense(space, row, weight, total):
    a = b = c = d = square = 0.0
    m = total.shape[0]
    for f in range(0, m - 3, 4):  # sums in four parts, which do not wait for each other
        x0, x1, x2, x3 = space[row, f], space[row, f + 1], space[row, f + 2], space[row, f + 3]
        a += x0 * (2.0 * total[f] + weight * x0)
        b += x1 * (2.0 * total[f + 1] + weight * x1)
        c += x2 * (2.0 * total[f + 2] + weight * x2)
        d += x3 * (2.0 * total[f + 3] + weight * x3)
        total[f] += weight * x0
        total[f + 1] += weight * x1
        total[f + 2] += weight * x2
        total[f + 3] += weight * x3
    for f in range(m - m % 4, m):
        x0 = space[row, f]
        square += x0 * (2.0 * total[f] + weight * x0)
        total[f] += weight * x0
    return weight * ((a + b) + (c + d) + square)


def _add_row_csr(space, row, weight, total):
    data, indices, indptr = space
    change = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        x, f = np.float64(data[s]), indices[s]
        change += x * (2.0 * total[f] + weight * x)
        total[f] += weight * x
    return weight * change


def _add_row(space, row, weight, total):
    """Add a weighted row to a sum; returns by how much that raises ||sum||^2 (compiled only)."""
    raise NotImplementedError


@overload(_add_row)
def _overload_add_row(space, row, weight, total):
    return _add_row_dense if isinstance(space, types.Array) else _add_row_csr


def _clear_dense(space, rows, total):
    total[:] = 0.0


def _clear_csr(space, rows, total):
    _, indices, indptr = space
    for row in rows:
        for s in range(indptr[row], indptr[row + 1]):
            total[indices[s]] = 0.0


def _clear(space, rows, total):
    """Set a sum of some rows to zero (compiled only)."""
    raise NotImplementedError


@overload(_clear)
def _overload_clear(space, rows, total):
    return _clear_dense if isinstance(space, types.Array) else _clear_csr


@jit
def side_norms(space, n_columns, order, weight, lo, hi, out):
    """Squared norms of the sums of the rows on the moving side of every cut of features lo..hi-1.

    Parameters
    ----------
    space : float64 array of shape (n, m), or (data, indices, indptr) of a CSR matrix
    n_columns : int, m
    order : greedy.order.Order
    weight : float64 array of shape (n,)
    lo, hi : int
    out : float64 array, one an entry of `order`; those of these features are filled
    """
    total = np.zeros(n_columns)
    for f in range(lo, hi):
        parts = (order.start[f], order.middle[f], order.start[f + 1])
        for p in range(2):
            norm = 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                norm += _add_row(space, row, weight[row], total)
                out[e] = norm
            _clear(space, order.rows[parts[p] : parts[p + 1]], total)


@jit
def _threshold_left(order, f, e):
    """Threshold of the cut with an ascending entry and all before it on its left; NaN if none."""
    value, end = order.values[e], order.start[f + 1]
    if e + 1 < order.middle[f]:
        return np.float64(value) if order.values[e + 1] > value else np.nan
    has_others = order.n_rows > order.middle[f] - order.start[f]
    return np.float64(value) if has_others or end > order.middle[f] else np.nan


@jit
def _threshold_right(order, f, e):
    """The same with a descending entry and all before it on its right."""
    value, end = order.values[e], order.start[f + 1]
    if e + 1 < end:
        return np.float64(order.values[e + 1]) if order.values[e + 1] < value else np.nan
    return 0.0 if order.n_rows > end - order.start[f] else np.nan


@jit
def _best_targets(node, mass, norm, inner):
    """What the two best other clusters gain by some rows: (cluster, gain, cluster, gain)."""
    first, second = -1, -1
    most, next_ = -np.inf, -np.inf
    for q in range(node.masses.shape[0]):
        if q == node.own:
            continue
        size, square = node.masses[q], node.squares[q]
        gain = (square + 2.0 * inner[q] + norm) / (size + mass) - square / size
        if gain > most:
            second, next_ = first, most
            first, most = q, gain
        elif gain > next_:
            second, next_ = q, gain
    return first, most, second, next_


@jit
def _kept(node, mass, norm, inner):
    """||S||^2 / W of the leaf's cluster without some rows of it."""
    left = node.masses[node.own] - mass
    if left <= 0.0:  # weights too small beside the others to be told
        return 0.0
    square = node.squares[node.own] - 2.0 * inner[node.own] + norm
    return max(square, 0.0) / left


@jit
def _better(best, gain, here, there, tolerance):
    return (gain, here, there) if gain > best[0] + tolerance else best


@jit
def _assignment(node, mass, norm, inner, product, other_inner):
    """Best of the assignments that a cut allows: (gain, cluster of its rows, of the others).

    `mass`, `norm`, `inner` and `product` are W, ||S||^2, and S times that of each cluster and of
    the leaf, for the rows on the moving side.
    """
    own, n = node.own, node.masses.shape[0]
    other_mass, other_norm = node.mass - mass, max(node.norm - 2.0 * product + norm, 0.0)
    for q in range(n):
        other_inner[q] = node.inner[q] - inner[q]
    before, tolerance = node.squares[own] / node.masses[own], node.tolerance
    leaving = _kept(node, mass, norm, inner) - before
    other_leaving = _kept(node, other_mass, other_norm, other_inner) - before
    best = (-np.inf, own, own)
    if node.n_new > 0:  # star
        best = _better(best, leaving + norm / mass, n, own, tolerance)
        best = _better(best, other_leaving + other_norm / other_mass, own, n, tolerance)
    target, most, second, next_ = _best_targets(node, mass, norm, inner)
    other, other_most, other_second, other_next = _best_targets(
        node, other_mass, other_norm, other_inner
    )
    best = _better(best, leaving + most, target, own, tolerance)  # switch
    best = _better(best, other_leaving + other_most, own, other, tolerance)
    if node.is_whole:
        return best
    both = _kept(node, node.mass, node.norm, node.inner) - before
    if node.n_new > 1:  # double star
        gain = both + norm / mass + other_norm / other_mass
        best = _better(best, gain, n, n + 1, tolerance)
    if target != other:  # reallocation
        return _better(best, both + most + other_most, target, other, tolerance)
    best = _better(best, both + next_ + other_most, second, other, tolerance)
    return _better(best, both + most + other_next, target, other_second, tolerance)


@jit
def kauri_cuts(node, lo, hi, gain, threshold, left, right):
    """Best cut of each of the features lo..hi-1 and the clusters of its two sides.

    Parameters
    ----------
    node : KauriNode
    lo, hi : int
    gain, threshold : float64 arrays of shape (d,)
        Filled: what the k-means cost falls by, -inf if there is no cut.
    left, right : int64 arrays of shape (d,)
        Filled: cluster of the rows on each side. Numbers from K on are new clusters.
    """
    order, n = node.order, node.masses.shape[0]
    inner, other_inner = np.empty(n), np.empty(n)
    for f in range(lo, hi):
        gain[f], threshold[f] = -np.inf, np.inf
        parts = (order.start[f], order.middle[f], order.start[f + 1])
        for p in range(2):
            mass = product = 0.0
            inner[:] = 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                heft, products = node.weight[row], node.products[row]
                mass += heft
                product += heft * products[0]
                for q in range(n):
                    inner[q] += heft * products[q + 1]
                place = _threshold_left(order, f, e) if p == 0 else _threshold_right(order, f, e)
                if np.isnan(place):
                    continue
                found, here, there = _assignment(
                    node, mass, node.norms[e], inner, product, other_inner
                )
                is_lower = place < threshold[f] and found > gain[f] - node.tolerance
                if found > gain[f] + node.tolerance or is_lower:
                    gain[f], threshold[f] = found, place
                    left[f], right[f] = (here, there) if p == 0 else (there, here)
