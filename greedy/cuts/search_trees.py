"""Optimal search trees over the centres of one feature: what DPTree picks its cuts from.

Cached kernels of another file do not see an edit here, nor this one an edit of `sums.py`.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from .sums import parting_sums


@jit
def parted_at_edges(X, slot, node, edges, rank, feature):
    """Price of the rows that each edge of a feature parts from their centres.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : greedy.nodes.PartingNode
    edges : float64 array of shape (c,), increasing; the last one is no cut
    rank : int64 array of shape (c,), place of each centre in the order of the feature
    feature : int

    Returns
    -------
    int64 array of shape (c - 1,)
    """
    shape = (1, edges.shape[0])
    cost, gain = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    right = np.zeros((1, 0), np.int64)
    two_edges, two_ranks = edges.reshape(shape), rank.reshape(shape)
    parting_sums(X, slot, node, two_edges, two_ranks, feature, cost, gain, right)
    return cost[0, : edges.shape[0] - 1]


@jit
def search_tree(places, parted, power):
    """Least sum of parted[j] * diam(j) ** power over all search trees of some centres.

    Equation 4 of Laber & Murtinho (2021). Node j parts centre j from centre j + 1, and diam(j)
    is the extent of the centres that reach it.

    O(c^3). Knuth's speed-up to O(c^2) looks for the root of a range of centres between the roots
    of the two ranges that are shorter by one. That needs a price of the range that does not depend
    on its root; here it is the root's own parted[j]. With places 0, 1, 4, 7, 8, prices 1, 5, 5, 4
    and power 1 the shorter ranges have roots 1 and 2, the whole one 0: 62 instead of 63.

    Parameters
    ----------
    places : float64 array of shape (c,), not decreasing
        Centres in the same place are not parted.
    parted : array of shape (c - 1,), at least 0
    power : int

    Returns
    -------
    cost : float64 array of shape (c, c), of the centres a..b at [a, b]
    root : int64 array of shape (c, c), ties to the lowest; -1 where there is nothing to part
    """
    n = places.shape[0]
    cost, root = np.zeros((n, n)), np.full((n, n), -1, np.int64)
    mirrored = np.zeros((n, n))  # cost[j, b] at [b, j]: both sums run along rows
    for length in range(1, n):
        for a in range(n - length):
            b = a + length
            if places[a] == places[b]:
                continue
            extent, least, best = (places[b] - places[a]) ** power, np.inf, -1
            for j in range(a, b):
                value = parted[j] * extent + (cost[a, j] + mirrored[b, j + 1])
                if value < least and places[j] < places[j + 1]:
                    least, best = value, j
            cost[a, b] = mirrored[b, a] = least
            root[a, b] = best
    return cost, root
