"""Kernels that sweep over all cuts of a feature in the order of its values.

A sweep moves the rows of a node one after the other to one side of the cut and updates a few
running sums. The side that receives the rows is called the moving side. :func:`kauri_cuts` finds
the cuts that reduce the k-means cost most when both sides may get any cluster (Kauri).
:func:`conductance_cuts` finds the cuts of least conductance in a graph of the rows (SpEx).
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, chosen_by, jit

from ..sorted_columns import SortedColumns, threshold_at


class KauriNode(NamedTuple):
    """Input of :func:`kauri_cuts`: a leaf and the current clusters.

    S(A) denotes the weighted sum of the rows of a set A, a vector of shape (m,) in the space of the
    clustering. W(A) denotes the sum of their weights. The k-means cost is a constant minus the sum
    of ||S(Q)||^2 / W(Q) over the K current clusters Q. A sweep over a feature moves rows in the
    order of the entries of `order`; the rows that it has moved are the moving side.
    """

    order: SortedColumns
    # float64, one element per entry of `order`: squared norm of the weighted sum of the rows moved
    # so far, including this entry
    norms: np.ndarray
    # (d,) int64, row of `cached_products` of the first cut of each feature; -1 for features
    # that are not cached
    cache_start: np.ndarray
    # (n_cached, K + 1) float64, one row per cut of a cached feature: dot products of S(moving side)
    # with S(leaf) in column 0, and with S of each of the K clusters in the other columns.
    cached_products: np.ndarray
    weight: np.ndarray  # (n,) float64, weight of each row of X
    # (n, K + 1) float64, dot products of each row with S(leaf) in column 0, and with S of each of
    # the K clusters in the other columns
    products: np.ndarray
    cluster: int  # current cluster of the leaf
    mass: float  # W of the leaf
    norm: float  # ||S||^2 of the leaf
    inner: np.ndarray  # (K,) float64, dot product of S(leaf) with S of each cluster
    masses: np.ndarray  # (K,) float64, total weight of the rows of each of the K current clusters
    squares: np.ndarray  # (K,) float64, ||S||^2 of each cluster
    n_new: int  # number of clusters that may still be added
    is_only_leaf: bool  # whether the cluster of the leaf has no other leaf
    tolerance: float  # gains that differ by at most this count as equal


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


# Set the vector `total`, the sum of some rows, to zero. For sparse rows only the columns in which
# these rows have stored values are reset.
_clear = by_layout(_clear_dense, _clear_csr)


def cut_sum_cache(order, n_columns):
    """Plan which features cache the sums of the moving side at every cut.

    A feature with few distinct values has few cuts, although its sweep moves many rows. For such a
    feature the sums are computed once and kept. A feature is cached if the sums of all its cuts
    together have at most as many elements as the feature has entries in `order`.

    Parameters
    ----------
    order : greedy.sorted_columns.SortedColumns
    n_columns : int, number of elements of one sum

    Returns
    -------
    start : int64 array of shape (d,)
        Row of the first cut of each feature in the cache, -1 for features that are not cached.
    n_cached : int, number of rows of the cache
    """
    values, start, middle, end = order.values, order.start[:-1], order.middle, order.start[1:]
    is_cut = np.ones(len(values) + 1, bool)
    is_cut[:-2] = values[1:] != values[:-1]
    # A feature has two parts of sorted entries (see SortedColumns). After the last entry of a part
    # there is a cut only if the node has rows outside of this part.
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

    S is the weighted sum of the rows of the moving side, a vector with m elements. The kernel takes
    O(m) time per entry of `order`, or O(number of non-zeros of the row) if `space` is sparse. It is
    called once per leaf. Later searches of the leaf, after clusters have changed, reuse the result.

    Parameters
    ----------
    space : float64 array of shape (n, m), or (data, indices, indptr) of a CSR matrix
        The rows in the space in which the k-means cost is measured.
    order : greedy.sorted_columns.SortedColumns
    weight : float64 array of shape (n,)
    lo, hi : int
    norms : float64 array, one element per entry of `order`
        Output: ||S||^2 after the row of each entry of `order` has moved.
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
    """Return the two best clusters for some rows of a leaf: (best, its gain, second, its gain).

    The gain of a cluster Q from rows A is ||S(Q) + S(A)||^2 / (W(Q) + W(A)) - ||S(Q)||^2 / W(Q),
    with S and W as in :class:`KauriNode`. The arguments `mass`, `norm` and `inner` are W(A),
    ||S(A)||^2 and the products of S(A) with each S(Q). The leaf's own cluster is excluded. If there
    is no such cluster, its number is -1 and its gain is -inf.
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
    """Return ||S||^2 / W of the leaf's cluster without some rows A of the leaf.

    S and W are defined in :class:`KauriNode`. The arguments `mass`, `norm` and `inner` are W(A),
    ||S(A)||^2 and the products of S(A) with S of each cluster.
    """
    left = node.masses[node.cluster] - mass
    if left <= 0.0:  # no rows remain, or rounding has made their weight 0
        return 0.0
    square = node.squares[node.cluster] - 2.0 * inner[node.cluster] + norm
    return max(square, 0.0) / left


@jit
def _better(best, gain, moving, other, tolerance):
    return (gain, moving, other) if gain > best[0] + tolerance else best


@jit
def _assignment(node, mass, norm, inner, product, other_inner):
    """Return the best assignment of clusters to the two sides of a cut.

    The cases have the names of the Kauri paper. A star makes one side a new cluster, and a double
    star makes both sides new clusters. A switch moves one side to another existing cluster, and a
    reallocation moves both sides. S and W are defined in :class:`KauriNode`.

    Parameters
    ----------
    node : KauriNode
    mass, norm : float, W and ||S||^2 of the moving side
    inner : float64 array of shape (K,), dot product of S(moving side) with S of each cluster
    product : float, dot product of S(moving side) with S(leaf)
    other_inner : float64 array of shape (K,), workspace

    Returns
    -------
    (gain, cluster of the moving side, cluster of the other side)
        The gain is the reduction of the k-means cost. The numbers K and K + 1 are new clusters.
    """
    own, n = node.cluster, node.masses.shape[0]
    other_mass, other_norm = node.mass - mass, max(node.norm - 2.0 * product + norm, 0.0)
    if min(mass, other_mass) <= 0.0:  # rounding has made the weight of one side 0
        return -np.inf, own, own
    for q in range(n):
        other_inner[q] = node.inner[q] - inner[q]
    before, tolerance = node.squares[own] / node.masses[own], node.tolerance
    leaving = _remaining(node, mass, norm, inner) - before
    other_leaving = _remaining(node, other_mass, other_norm, other_inner) - before
    best = (-np.inf, own, own)
    if node.n_new > 0:  # "star" in the paper: one side becomes a new cluster
        best = _better(best, leaving + norm / mass, n, own, tolerance)
        best = _better(best, other_leaving + other_norm / other_mass, own, n, tolerance)
    target, gain, second, second_gain = _best_targets(node, mass, norm, inner)
    other, other_gain, other_second, other_second_gain = _best_targets(
        node, other_mass, other_norm, other_inner
    )
    # "switch" in the paper: one side moves to another existing cluster
    best = _better(best, leaving + gain, target, own, tolerance)
    best = _better(best, other_leaving + other_gain, own, other, tolerance)
    if node.is_only_leaf:  # if both sides left, the cluster would be empty
        return best
    both = _remaining(node, node.mass, node.norm, node.inner) - before
    if node.n_new > 1:  # "double star": both sides become new clusters
        new_gain = both + norm / mass + other_norm / other_mass
        best = _better(best, new_gain, n, n + 1, tolerance)
    if target != other:  # reallocation to two different clusters
        return _better(best, both + gain + other_gain, target, other, tolerance)
    best = _better(best, both + second_gain + other_gain, second, other, tolerance)
    return _better(best, both + gain + other_second_gain, target, other_second, tolerance)


@jit
def kauri_cuts(node, lo, hi, gain, threshold, left, right):
    """Find the best cut of each of the features lo..hi-1 and the clusters of its two sides.

    For K current clusters, the kernel takes O(K) time per entry of `node.order`. For a cached
    feature it takes O(K) only per cut and O(1) per entry.

    Parameters
    ----------
    node : KauriNode
    lo, hi : int
    gain, threshold : float64 arrays of shape (d,)
        Output: the reduction of the k-means cost by the best cut of each feature (-inf if the
        feature has no cut), and its threshold.
    left, right : int64 arrays of shape (d,)
        Output: clusters of the two sides. The numbers K and K + 1 are new clusters.
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

    A denotes the weighted adjacency matrix of the graph, of shape (n, n). `graph` has one of two
    forms. (indptr, indices, data) is A as a sparse matrix. (label, scale) stands for a graph in
    which all rows with the same label c are connected: A[i, j] = weight[i] weight[j] scale[c] for
    two rows i, j of label c, including i = j, and 0 for rows of different labels.
    """

    order: SortedColumns
    graph: tuple
    weight: np.ndarray  # (n,) float64, weight of each row
    degree: np.ndarray  # (n,) float64, row sums of A
    # If `graph` is (label, scale): float64 of shape (k,), weight of the node's rows per label.
    # If `graph` is sparse: int8 of shape (n,), 1 for the rows in the node and 0 for other rows.
    inside: np.ndarray
    inner: float  # sum of A[i, j] over all rows i, j in the node
    volume: float  # sum of the degrees of the rows in the node


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


# Mark a row as moved. Return the weight of its edges to rows of the node that moved before, to the
# other rows of the node, and to itself (0 in a sparse graph, which has no edges of this kind).
_move = chosen_by(_is_clique, _move_clique, _move_sparse)


def _reset_clique(graph, rows, moved):
    moved[:] = 0


def _reset_sparse(graph, rows, moved):
    for row in rows:
        moved[row] = 0


# Mark all rows (or, in a sparse graph, the given rows) as not moved.
_reset = chosen_by(_is_clique, _reset_clique, _reset_sparse)


@jit
def conductance_cuts(node, tolerance, lo, hi, kept, threshold):
    """Find the cut of each of the features lo..hi-1 with the least sum of conductances.

    The conductance of a side is 1 - inner / volume. `inner` is the sum of the adjacency matrix over
    pairs of rows in the side, and `volume` the sum of the degrees of its rows in the whole graph.
    The kernel maximizes the sum of inner / volume over both sides, which is 2 minus the sum of the
    two conductances.

    Parameters
    ----------
    node : GraphNode
    tolerance : float
        If the sums of two cuts of a feature differ by less than this, the lower threshold wins.
    lo, hi : int
    kept, threshold : float64 arrays of shape (d,)
        Output: the largest sum of inner / volume of each feature (-inf if the feature has no cut),
        and the threshold of this cut.
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
