"""Kernels that move the rows of a node over every cut of a feature, in the order of its values.

`KauriNode` and :func:`kauri_cuts` are for cuts that save most of the k-means cost when clusters
follow their rows (Kauri), `GraphNode` and :func:`conductance_cuts` for cuts of least conductance in
a graph of the rows (SpEx).
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, chosen_by, jit

from ..sorted_columns import SortedColumns, threshold_at


class KauriNode(NamedTuple):
    """A leaf, as :func:`kauri_cuts` reads it. S are sums of weighted rows, W of weights."""

    order: SortedColumns
    norms: np.ndarray  # (s,) float64, ||S||^2 of the rows on the moving side of a cut
    cache_start: np.ndarray  # (d,) int64, where `kept` has a feature's cuts, or -1
    cached_products: (
        np.ndarray
    )  # (cuts, K + 1) float64, S of the moving side times that of leaf and clusters
    weight: np.ndarray  # (n,) float64
    products: np.ndarray  # (n, K + 1) float64, rows times S of their leaf, then of each cluster
    cluster: int  # cluster of the leaf
    mass: float  # W and ||S||^2 of the leaf, and its S times that of each cluster
    norm: float
    inner: np.ndarray  # (K,) float64
    masses: np.ndarray  # (K,) float64, W of the clusters there are
    squares: np.ndarray  # (K,) float64, their ||S||^2
    n_new: int  # clusters that may still be made
    is_only_leaf: bool  # the leaf is its whole cluster
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


# Add a weighted row to a sum; returns by how much that raises ||sum||^2.
_add_row = by_layout(_add_row_dense, _add_row_csr)


def _clear_dense(space, rows, total):
    total[:] = 0.0


def _clear_csr(space, rows, total):
    _, indices, indptr = space
    for row in rows:
        for s in range(indptr[row], indptr[row + 1]):
            total[indices[s]] = 0.0


# Set a sum of some rows to zero.
_clear = by_layout(_clear_dense, _clear_csr)


def cut_sum_cache(order, n_columns):
    """Where the sums of the cuts of each feature are kept, and how many are: int64 (d,), int.

    -1 for features with so many cuts that to keep their sums takes more than to make them anew.
    """
    values, start, middle, end = order.values, order.start[:-1], order.middle, order.start[1:]
    is_cut = np.ones(len(values) + 1, bool)
    is_cut[:-2] = values[1:] != values[:-1]
    # The last ones of both parts, where there are any, are cut from the rest or the other part.
    is_cut[middle[middle > start] - 1] = ((order.n_rows > middle - start) | (end > middle))[
        middle > start
    ]
    is_cut[end[end > middle] - 1] = (order.n_rows > end - start)[end > middle]
    before = np.concatenate([[0], np.cumsum(is_cut[:-1])])
    n_cuts = before[end] - before[start]
    is_few = n_cuts * n_columns <= end - start
    kept = np.where(is_few, n_cuts, 0)
    return np.where(is_few, np.cumsum(kept) - kept, -1), int(kept.sum())


@jit
def side_sums(space, order, weight, lo, hi, norms, cache_start, kept):
    """Sums of the rows on the moving side of every cut of features lo..hi-1.

    Parameters
    ----------
    space : float64 array of shape (n, m), or (data, indices, indptr) of a CSR matrix
    order : greedy.sorted_columns.SortedColumns
    weight : float64 array of shape (n,)
    lo, hi : int
    norms : float64 array, one an entry of `order`
        Filled: squared norms of the sums.
    cache_start : int64 array of shape (d,), of :func:`cut_sum_cache`
    kept : float64 array of shape (number of kept sums, m)
        Filled: the sums of features that are in `cache_start`, in the order of their entries.
    """
    total = np.zeros(kept.shape[1])
    for f in range(lo, hi):
        parts, at = (order.start[f], order.middle[f], order.start[f + 1]), cache_start[f]
        for p in range(2):
            norm = 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                norm += _add_row(space, row, weight[row], total)
                norms[e] = norm
                if at >= 0 and not np.isnan(threshold_at(order, f, p, e)):
                    kept[at] = total
                    at += 1
            _clear(space, order.rows[parts[p] : parts[p + 1]], total)


@jit
def _best_targets(node, mass, norm, inner):
    """What the two best other clusters gain by some rows: (cluster, gain, cluster, gain)."""
    first, second = -1, -1
    most, next_ = -np.inf, -np.inf
    for q in range(node.masses.shape[0]):
        if q == node.cluster:
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
    left = node.masses[node.cluster] - mass
    if left <= 0.0:  # weights too small beside the others to be told
        return 0.0
    square = node.squares[node.cluster] - 2.0 * inner[node.cluster] + norm
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
    own, n = node.cluster, node.masses.shape[0]
    other_mass, other_norm = node.mass - mass, max(node.norm - 2.0 * product + norm, 0.0)
    if min(mass, other_mass) <= 0.0:  # weights too small beside the others to be told
        return -np.inf, own, own
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
    if node.is_only_leaf:
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
    products, other = np.empty(n + 1), np.empty(n)
    for f in range(lo, hi):
        gain[f], threshold[f] = -np.inf, np.inf
        parts, at = (order.start[f], order.middle[f], order.start[f + 1]), node.cache_start[f]
        for p in range(2):
            mass, products[:] = 0.0, 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                heft = node.weight[row]
                mass += heft
                if at < 0:
                    for q in range(n + 1):
                        products[q] += heft * node.products[row, q]
                place = threshold_at(order, f, p, e)
                if np.isnan(place):
                    continue
                if at >= 0:
                    products[:] = node.cached_products[at]
                    at += 1
                found, here, there = _assignment(
                    node, mass, node.norms[e], products[1:], products[0], other
                )
                is_lower = place < threshold[f] and found > gain[f] - node.tolerance
                if found > gain[f] + node.tolerance or is_lower:
                    gain[f], threshold[f] = found, place
                    left[f], right[f] = (here, there) if p == 0 else (there, here)


class GraphNode(NamedTuple):
    """A node as :func:`conductance_cuts` reads it.

    `graph` is (label, scale), where rows of one label are a clique, a_ij = w_i w_j times the scale
    of the label, loops included; or (indptr, indices, data) of the adjacency matrix A.
    """

    order: SortedColumns
    graph: tuple
    weight: np.ndarray  # (n,) float64
    degree: np.ndarray  # (n,) float64, row sums of A
    inside: np.ndarray  # (k,) float64, weight of each label in the node; of other graphs (n,) int8:
    # 1 for rows in the node, 0 elsewhere
    inner: float  # sum of A over pairs in the node
    volume: float  # sum of the degrees in the node


def _is_clique(graph):
    return len(graph) == 2


def _move_clique(graph, weight, row, inside, moved):
    label, scale = graph
    own, heft = label[row], weight[row]
    share = heft * scale[own]
    here, there = share * moved[own], share * (inside[own] - moved[own] - heft)
    moved[own] += heft
    return here, there, share * heft


def _move_sparse(graph, weight, row, inside, moved):
    indptr, indices, data = graph
    here = there = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        other, edge = indices[s], data[s]
        if moved[other]:
            here += edge
        elif inside[other] and other != row:
            there += edge
    moved[row] = 1
    return here, there, 0.0


# Move a row; its edges to moved rows, to rows not moved, to itself.
_move = chosen_by(_is_clique, _move_clique, _move_sparse)


def _reset_clique(graph, rows, moved):
    moved[:] = 0


def _reset_sparse(graph, rows, moved):
    for row in rows:
        moved[row] = 0


# Move some rows back.
_reset = chosen_by(_is_clique, _reset_clique, _reset_sparse)


@jit
def conductance_cuts(node, tolerance, lo, hi, kept, threshold):
    """Cut of each of the features lo..hi-1 whose sides keep the largest shares of their edges.

    The sum over both sides of inner edges over volume is 2 minus the sum of their conductances
    in the whole graph.

    Parameters
    ----------
    node : GraphNode
    tolerance : float, by which a cut must be better than one of a lower threshold
    lo, hi : int
    kept, threshold : float64 arrays of shape (d,)
        Filled: that sum, -inf if there is no cut; and the threshold.
    """
    order, moved = node.order, np.zeros_like(node.inside)
    for f in range(lo, hi):
        kept[f], threshold[f] = -np.inf, np.inf
        parts = (order.start[f], order.middle[f], order.start[f + 1])
        for p in range(2):
            inner, volume, rest = 0.0, 0.0, node.inner
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                here, there, loop = _move(node.graph, node.weight, row, node.inside, moved)
                inner += 2.0 * here + loop
                rest -= 2.0 * there + loop
                volume += node.degree[row]
                place = threshold_at(order, f, p, e)
                if np.isnan(place):
                    continue
                others = node.volume - volume
                found = inner / volume if volume > 0.0 else 0.0
                found += rest / others if others > 0.0 else 0.0
                is_lower = place < threshold[f] and found > kept[f] - tolerance
                if found > kept[f] + tolerance or is_lower:
                    kept[f], threshold[f] = found, place
            _reset(node.graph, order.rows[parts[p] : parts[p + 1]], moved)
