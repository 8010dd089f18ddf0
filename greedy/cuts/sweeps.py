"""Kernels that sweep over all cuts of a feature in the order of its values.

A sweep moves the rows of a node one after the other to one side of the cut (the moving side) and
updates a few running sums. `KauriNode` and :func:`kauri_cuts` find the cuts that reduce the k-means
cost most when both sides may get any cluster (Kauri). `GraphNode` and :func:`conductance_cuts` find
the cuts of least conductance in a graph of the rows (SpEx).
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, chosen_by, jit

from ..sorted_columns import SortedColumns, threshold_at


class KauriNode(NamedTuple):
    """Input of :func:`kauri_cuts`: a leaf and the current clusters.

    S(A) denotes the sum of the weighted rows of a set A, a vector of shape (m,) in the space of the
    clustering, and W(A) the sum of their weights. The k-means cost is a constant minus the sum of
    ||S||^2 / W over the clusters.
    """

    order: SortedColumns
    norms: np.ndarray  # (s,) float64, ||S||^2 of the moving side after each entry of `order`
    cache_start: np.ndarray  # (d,) int64, first cached cut of a feature, -1 if it is not cached
    # (n_cached, K + 1) float64: products of S(moving side) at cached cuts with S of the leaf, then
    # with S of each cluster
    cached_products: np.ndarray
    weight: np.ndarray  # (n,) float64
    products: np.ndarray  # (n, K + 1) float64, the same products for single rows
    cluster: int  # cluster of the leaf
    mass: float  # W of the leaf
    norm: float  # ||S||^2 of the leaf
    inner: np.ndarray  # (K,) float64, S(leaf).S of each cluster
    masses: np.ndarray  # (K,) float64, W of each of the K current clusters
    squares: np.ndarray  # (K,) float64, ||S||^2 of each cluster
    n_new: int  # number of clusters that may still be added
    is_only_leaf: bool  # the leaf is the only leaf of its cluster
    tolerance: float  # gains that differ by no more than this are equal


def _add_row_dense(space, row, weight, total):
    a = b = c = d = square = 0.0
    m = total.shape[0]
    for f in range(0, m - 3, 4):  # four independent sums, which the processor adds in parallel
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


# Add a weighted row to the sum `total` (in place) and return the increase of ||total||^2.
_add_row = by_layout(_add_row_dense, _add_row_csr)


def _clear_dense(space, rows, total):
    total[:] = 0.0


def _clear_csr(space, rows, total):
    _, indices, indptr = space
    for row in rows:
        for s in range(indptr[row], indptr[row + 1]):
            total[indices[s]] = 0.0


# Set the sum of some rows to zero; of a sparse space only the entries that these rows touched.
_clear = by_layout(_clear_dense, _clear_csr)


def cut_sum_cache(order, n_columns):
    """Plan which features cache the sums of the moving side at every cut.

    A feature with few distinct values has few cuts but many rows. Its sums are computed once and
    kept. A feature is cached if that takes no more numbers than it has entries.

    Parameters
    ----------
    order : greedy.sorted_columns.SortedColumns
    n_columns : int, length of a sum

    Returns
    -------
    start : int64 array of shape (d,)
        Row of the first cut of each feature in the cache, -1 for features that are not cached.
    n_cached : int, number of rows of the cache
    """
    values, start, middle, end = order.values, order.start[:-1], order.middle, order.start[1:]
    is_cut = np.ones(len(values) + 1, bool)
    is_cut[:-2] = values[1:] != values[:-1]
    # The last entry of a part is a cut only if there are rows outside of the part.
    is_cut[middle[middle > start] - 1] = ((order.n_rows > middle - start) | (end > middle))[
        middle > start
    ]
    is_cut[end[end > middle] - 1] = (order.n_rows > end - start)[end > middle]
    before = np.concatenate([[0], np.cumsum(is_cut[:-1])])
    n_cuts = before[end] - before[start]
    is_cached = n_cuts * n_columns <= end - start
    n_cached = np.where(is_cached, n_cuts, 0)
    return np.where(is_cached, np.cumsum(n_cached) - n_cached, -1), int(n_cached.sum())


@jit
def side_sums(space, order, weight, lo, hi, norms, cache_start, cache):
    """Compute S of the moving side for every cut of features lo..hi-1.

    It takes O(m) per entry of `order`, for m columns of `space` (their non-zeros if sparse). A leaf
    needs it once; searches after that, for other clusters, reuse the result.

    Parameters
    ----------
    space : float64 array of shape (n, m), or (data, indices, indptr) of a CSR matrix
        The rows in the space in which the cost is measured.
    order : greedy.sorted_columns.SortedColumns
    weight : float64 array of shape (n,)
    lo, hi : int
    norms : float64 array, one element per entry of `order`
        Output: ||S||^2 after each entry.
    cache_start : int64 array of shape (d,), result of :func:`cut_sum_cache`
    cache : float64 array of shape (n_cached, m)
        Output: S at the cuts of the cached features.
    """
    total = np.zeros(cache.shape[1])
    for f in range(lo, hi):
        parts, at = (order.start[f], order.middle[f], order.start[f + 1]), cache_start[f]
        for p in range(2):
            norm = 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                norm += _add_row(space, row, weight[row], total)
                norms[e] = norm
                if at >= 0 and not np.isnan(threshold_at(order, f, p, e)):
                    cache[at] = total
                    at += 1
            _clear(space, order.rows[parts[p] : parts[p + 1]], total)


@jit
def _best_targets(node, mass, norm, inner):
    """Return the two clusters that gain most from some rows: (cluster, gain, cluster, gain).

    The gain of a cluster Q from rows A is ||S(Q) + S(A)||^2 / (W(Q) + W(A)) - ||S(Q)||^2 / W(Q).
    The leaf's own cluster is excluded. A missing cluster is -1, with gain -inf.
    """
    first, second = -1, -1
    first_gain, second_gain = -np.inf, -np.inf
    for q in range(node.masses.shape[0]):
        if q == node.cluster:
            continue
        size, square = node.masses[q], node.squares[q]
        gain = (square + 2.0 * inner[q] + norm) / (size + mass) - square / size
        if gain > first_gain:
            second, second_gain = first, first_gain
            first, first_gain = q, gain
        elif gain > second_gain:
            second, second_gain = q, gain
    return first, first_gain, second, second_gain


@jit
def _remaining(node, mass, norm, inner):
    """Return ||S||^2 / W of the leaf's cluster after some of its rows are removed."""
    left = node.masses[node.cluster] - mass
    if left <= 0.0:  # the weight that remains is lost to rounding
        return 0.0
    square = node.squares[node.cluster] - 2.0 * inner[node.cluster] + norm
    return max(square, 0.0) / left


@jit
def _better(best, gain, moving, other, tolerance):
    return (gain, moving, other) if gain > best[0] + tolerance else best


@jit
def _assignment(node, mass, norm, inner, product, other_inner):
    """Return the best assignment of clusters to the two sides of a cut.

    The cases are those of the Kauri paper: a star makes a new cluster of one side, a double star of
    both; a switch moves one side to another cluster, a reallocation both.

    Parameters
    ----------
    node : KauriNode
    mass, norm : float, W and ||S||^2 of the moving side
    inner : float64 array of shape (K,), S(moving side).S of each cluster
    product : float, S(moving side).S(leaf)
    other_inner : float64 array of shape (K,), workspace

    Returns
    -------
    (gain, cluster of the moving side, cluster of the other side)
        The gain is the reduction of the k-means cost. Numbers from K on are new clusters.
    """
    own, n = node.cluster, node.masses.shape[0]
    other_mass, other_norm = node.mass - mass, max(node.norm - 2.0 * product + norm, 0.0)
    if min(mass, other_mass) <= 0.0:  # the weight of one side is lost to rounding
        return -np.inf, own, own
    for q in range(n):
        other_inner[q] = node.inner[q] - inner[q]
    before, tolerance = node.squares[own] / node.masses[own], node.tolerance
    leaving = _remaining(node, mass, norm, inner) - before
    other_leaving = _remaining(node, other_mass, other_norm, other_inner) - before
    best = (-np.inf, own, own)
    if node.n_new > 0:  # star
        best = _better(best, leaving + norm / mass, n, own, tolerance)
        best = _better(best, other_leaving + other_norm / other_mass, own, n, tolerance)
    target, gain, second, second_gain = _best_targets(node, mass, norm, inner)
    other, other_gain, other_second, other_second_gain = _best_targets(
        node, other_mass, other_norm, other_inner
    )
    best = _better(best, leaving + gain, target, own, tolerance)  # switch
    best = _better(best, other_leaving + other_gain, own, other, tolerance)
    if node.is_only_leaf:  # the cluster must keep some rows
        return best
    both = _remaining(node, node.mass, node.norm, node.inner) - before
    if node.n_new > 1:  # double star
        new_gain = both + norm / mass + other_norm / other_mass
        best = _better(best, new_gain, n, n + 1, tolerance)
    if target != other:  # reallocation to two different clusters
        return _better(best, both + gain + other_gain, target, other, tolerance)
    best = _better(best, both + second_gain + other_gain, second, other, tolerance)
    return _better(best, both + gain + other_second_gain, target, other_second, tolerance)


@jit
def kauri_cuts(node, lo, hi, gain, threshold, left, right):
    """Find the best cut of each of the features lo..hi-1 and the clusters of its two sides.

    It takes O(K) per entry, or per cut of a cached feature.

    Parameters
    ----------
    node : KauriNode
    lo, hi : int
    gain, threshold : float64 arrays of shape (d,)
        Output: reduction of the k-means cost, -inf if the feature has no cut; and the threshold.
    left, right : int64 arrays of shape (d,)
        Output: clusters of the two sides. Numbers from K on are new clusters.
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
                weight = node.weight[row]
                mass += weight
                if at < 0:
                    for q in range(n + 1):
                        products[q] += weight * node.products[row, q]
                candidate = threshold_at(order, f, p, e)
                if np.isnan(candidate):
                    continue
                if at >= 0:
                    products[:] = node.cached_products[at]
                    at += 1
                found, moving, rest = _assignment(
                    node, mass, node.norms[e], products[1:], products[0], other
                )
                is_lower = candidate < threshold[f] and found > gain[f] - node.tolerance
                if found > gain[f] + node.tolerance or is_lower:
                    gain[f], threshold[f] = found, candidate
                    left[f], right[f] = (moving, rest) if p == 0 else (rest, moving)


class GraphNode(NamedTuple):
    """Input of :func:`conductance_cuts`: a node and a graph over the rows of X.

    `graph` takes one of two forms. (label, scale) stands for a graph in which the rows of each
    label are a clique: A_ij = w_i w_j scale[label] for rows i, j of one label, including i = j.
    (indptr, indices, data) is the sparse adjacency matrix A.
    """

    order: SortedColumns
    graph: tuple
    weight: np.ndarray  # (n,) float64
    degree: np.ndarray  # (n,) float64, row sums of A
    # For cliques (k,) float64, weight of each label in the node; for a sparse graph (n,) int8, 1
    # for the rows in the node and 0 elsewhere.
    inside: np.ndarray
    inner: float  # sum of A over pairs of rows in the node
    volume: float  # sum of the degrees in the node


def _is_clique(graph):
    return len(graph) == 2


def _move_clique(graph, weight, row, inside, moved):
    label, scale = graph
    own, w = label[row], weight[row]
    share = w * scale[own]
    to_moved, to_rest = share * moved[own], share * (inside[own] - moved[own] - w)
    moved[own] += w
    return to_moved, to_rest, share * w


def _move_sparse(graph, weight, row, inside, moved):
    indptr, indices, data = graph
    to_moved = to_rest = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        other, edge = indices[s], data[s]
        if moved[other]:
            to_moved += edge
        elif inside[other] and other != row:
            to_rest += edge
    moved[row] = 1
    return to_moved, to_rest, 0.0


# Move a row; return the weight of its edges to moved rows, to rows not moved, and to itself (0 in a
# sparse graph, which has no loops).
_move = chosen_by(_is_clique, _move_clique, _move_sparse)


def _reset_clique(graph, rows, moved):
    moved[:] = 0


def _reset_sparse(graph, rows, moved):
    for row in rows:
        moved[row] = 0


# Undo the moves of some rows.
_reset = chosen_by(_is_clique, _reset_clique, _reset_sparse)


@jit
def conductance_cuts(node, tolerance, lo, hi, kept, threshold):
    """Find the cut of each of the features lo..hi-1 with the least sum of conductances.

    The conductance of a side is 1 - (weight of the edges inside the side) / (its volume), with the
    volume measured in the whole graph. The kernel maximizes the sum over both sides of inner
    weight over volume, which is 2 minus the sum of the two conductances.

    Parameters
    ----------
    node : GraphNode
    tolerance : float
        A cut replaces one of a lower threshold only if it is better by more than this.
    lo, hi : int
    kept, threshold : float64 arrays of shape (d,)
        Output: the maximum, -inf if the feature has no cut; and the threshold.
    """
    order, moved = node.order, np.zeros_like(node.inside)
    for f in range(lo, hi):
        kept[f], threshold[f] = -np.inf, np.inf
        parts = (order.start[f], order.middle[f], order.start[f + 1])
        for p in range(2):
            inner, volume, other_inner = 0.0, 0.0, node.inner
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                to_moved, to_rest, loop = _move(node.graph, node.weight, row, node.inside, moved)
                inner += 2.0 * to_moved + loop
                other_inner -= 2.0 * to_rest + loop
                volume += node.degree[row]
                candidate = threshold_at(order, f, p, e)
                if np.isnan(candidate):
                    continue
                other_volume = node.volume - volume
                found = inner / volume if volume > 0.0 else 0.0
                found += other_inner / other_volume if other_volume > 0.0 else 0.0
                is_lower = candidate < threshold[f] and found > kept[f] - tolerance
                if found > kept[f] + tolerance or is_lower:
                    kept[f], threshold[f] = found, candidate
            _reset(node.graph, order.rows[parts[p] : parts[p + 1]], moved)
