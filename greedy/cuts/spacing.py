"""Kernel for the cut of a node that leaves the largest spacing between its sides.

Cached kernels of another file do not see an edit here, nor this one an edit of `sums.py`.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from .sums import gather


@jit
def _ranks(values, rank):
    """Distinct values, sorted; fills `rank` with the place of each value among them."""
    order = np.argsort(values, kind="mergesort")
    distinct, n = np.empty(values.shape[0]), 0
    for i in order:
        if n == 0 or values[i] != distinct[n - 1]:
            distinct[n] = values[i]
            n += 1
        rank[i] = n - 1
    return distinct[:n]


@jit
def _next_open(after, gap):
    """The first gap from `gap` on that no edge has crossed yet; halves the paths to it."""
    while after[gap] != gap:
        after[gap] = after[after[gap]]
        gap = after[gap]
    return gap


@jit
def _widest_gap(rank, n_distinct, ends, squared):
    """The gap between distinct values whose shortest edge across is longest, and its square.

    Edges come shortest first, so that the first one across a gap is its shortest.
    """
    after = np.arange(n_distinct)  # gap g lies between distinct values g and g + 1
    n_open, best, widest = n_distinct - 1, -np.inf, 0
    for e in range(squared.shape[0]):
        if n_open == 0:
            break
        a, b = rank[ends[e, 0]], rank[ends[e, 1]]
        low, high = min(a, b), max(a, b)
        gap = _next_open(after, low)
        while gap < high:
            if squared[e] > best or gap < widest:
                best, widest = squared[e], gap
            after[gap] = gap + 1
            n_open -= 1
            gap = _next_open(after, gap)
    return best, widest


@jit
def spacing_cut(X, slot, rows, ends, squared, lo, hi):
    """Cut of some rows, over features lo..hi-1, with the largest spacing between its sides.

    The shortest pair of rows across a cut is an edge of their minimum spanning tree, so that the
    edges are all that is looked at: O(m log m) a feature.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `rows` or -1; empty for dense X
    rows : int64 array of shape (m,)
    ends : int64 array of shape (m - 1, 2), edges of their tree, as positions in `rows`
    squared : float64 array of shape (m - 1,), squared lengths, not decreasing
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        Minus the squared spacing; the threshold is the largest value on the left. Feature -1
        where all rows are equal.
    """
    best = (np.inf, np.int64(-1), np.inf)
    values, rank = np.empty(rows.shape[0]), np.empty(rows.shape[0], np.int64)
    for f in range(lo, hi):
        gather(X, f, rows, slot, values)
        distinct = _ranks(values, rank)
        if distinct.shape[0] < 2:
            continue
        widest, gap = _widest_gap(rank, distinct.shape[0], ends, squared)
        if -widest < best[0]:
            best = (-widest, np.int64(f), distinct[gap])
    return best
