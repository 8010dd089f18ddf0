"""Kernels for the cut of a leaf that saves most of its surrogate cost (ExKMC)."""

import numpy as np
from numba import types
from numba.extending import overload

from tao_cluster._jit import jit

# Edges a feature, one less than a power of two: more make tighter bounds and larger sums.
N_EDGES = 31

_CHUNK = 256  # rows whose savings are worked out before their features are looked at
_BLOCK = 64  # features whose sums stay in the cache together


@jit
def _price(excess, scale, weight):
    """Weighted excess as a whole number; whole weights multiply it exactly."""
    return np.int64(np.rint(np.rint(excess * scale) * weight))


@jit
def label_costs(rows, nearest, distances, weight, scale):
    """What the rows pay under each label beyond their nearest centre's.

    Parameters
    ----------
    rows : int64 array of shape (m,)
    nearest : float64 array of shape (m,)
    distances : float64 array of shape (n, k)
    weight : float64 array of shape (n,)
    scale : float

    Returns
    -------
    int64 array of shape (k,)
    """
    costs = np.zeros(distances.shape[1], np.int64)
    for r in range(rows.shape[0]):
        row = rows[r]
        for k in range(costs.shape[0]):
            costs[k] += _price(distances[row, k] - nearest[r], scale, weight[row])
    return costs


@jit
def helped_labels(rows, nearest, distances, weight, scale, own):
    """Mask of the labels that serve some row better than `own`: bool array of shape (k,)."""
    helped = np.zeros(distances.shape[1], np.bool_)
    for r in range(rows.shape[0]):
        row = rows[r]
        paid = _price(distances[row, own] - nearest[r], scale, weight[row])
        if paid > 0:
            for k in range(helped.shape[0]):
                if _price(distances[row, k] - nearest[r], scale, weight[row]) < paid:
                    helped[k] = True
    return helped


@jit
def _fill_savings(some, leaf, out):
    """What some rows save under each of the other labels, and under the best of all."""
    rows, nearest, others, own = leaf.rows, leaf.nearest, leaf.others, leaf.own
    distances, weights, scale = leaf.distances, leaf.weight, leaf.scale
    last = others.shape[0]
    for i in range(some.shape[0]):
        row, least = rows[some[i]], nearest[some[i]]
        weight = weights[row]
        paid = _price(distances[row, own] - least, scale, weight)
        for q in range(last):
            out[i, q] = paid - _price(distances[row, others[q]] - least, scale, weight)
        out[i, last] = paid


@jit
def _bucket(value, edges):
    """2 i + 1 for a value that is edge i, 2 i for one between edges i - 1 and i.

    Binary search of fixed length without branches: `edges` ends in infinities.
    """
    at, step = 0, N_EDGES // 2 + 1
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return 2 * at + (1 if edges[at] == value else 0)


def _bucket_sums_dense(X, slot, leaf, edges, lo, sums, values):
    rows, n_sums = leaf.rows, sums.shape[2]
    savings, buckets = np.empty((_CHUNK, n_sums), np.int64), np.empty(_CHUNK, np.int64)
    for start in range(0, rows.shape[0], _CHUNK):
        part = rows[start : start + _CHUNK]
        _fill_savings(np.arange(start, start + part.shape[0]), leaf, savings)
        for f in range(edges.shape[0]):
            edge, total = edges[f], sums[f]  # views cost more than what is done per row
            for r in range(part.shape[0]):
                buckets[r] = _bucket(np.float64(X[part[r], lo + f]), edge)
            for r in range(part.shape[0]):  # apart from the search: twice as fast
                bucket = buckets[r]
                for q in range(n_sums):
                    total[bucket, q] += savings[r, q]
        if values.shape[0]:
            for r in range(part.shape[0]):
                values[start + r] = X[part[r], lo]


def _bucket_sums_csc(X, slot, leaf, edges, lo, sums, values):
    data, indices, indptr = X
    n_sums = sums.shape[2]
    some, stored = np.empty(_CHUNK, np.int64), np.empty(_CHUNK)
    savings = np.empty((_CHUNK, n_sums), np.int64)
    values[:] = 0.0
    for f in range(edges.shape[0]):
        edge, total = edges[f], sums[f]
        zero = _bucket(0.0, edge)
        total[zero] += leaf.totals
        at, end = indptr[lo + f], indptr[lo + f + 1]
        while at < end:
            n = 0
            while at < end and n < _CHUNK:
                some[n], stored[n] = slot[indices[at]], data[at]
                n += 1 if some[n] >= 0 else 0
                at += 1
            _fill_savings(some[:n], leaf, savings)
            for i in range(n):
                bucket = _bucket(stored[i], edge)
                for q in range(n_sums):
                    total[zero, q] -= savings[i, q]
                    total[bucket, q] += savings[i, q]
                if values.shape[0]:
                    values[some[i]] = stored[i]


def _bucket_sums(X, slot, leaf, edges, lo, sums, values):
    """Add the rows' savings to their buckets of each feature (compiled only).

    `values`, if not empty, receives the rows' values of the only feature.
    """
    raise NotImplementedError


@overload(_bucket_sums)
def _overload_bucket_sums(X, slot, leaf, edges, lo, sums, values):
    return _bucket_sums_dense if isinstance(X, types.Array) else _bucket_sums_csc


@jit
def _sort_edges(sample, lo, edges, n_edges):
    """Sorted distinct values of each feature in the sample, then infinities."""
    edges[:] = np.inf
    for f in range(edges.shape[0]):
        n = 0
        for value in np.sort(sample[:, lo + f]):
            if n == 0 or value > edges[f, n - 1]:
                edges[f, n] = value
                n += 1
        n_edges[f] = n


@jit
def _saved(left, totals):
    """What the rows of both sides save under the best labels, given sums over the left."""
    at_left = at_right = 0
    for q in range(totals.shape[0] - 1):
        at_left = max(at_left, left[q])
        at_right = max(at_right, totals[q] - left[q])
    return at_left + at_right


@jit
def _interval_bound(left, inside, totals):
    """Upper bound of the saving of cuts between two edges; `left` excludes the rows inside."""
    at_left = at_right = 0
    last = totals.shape[0] - 1
    for q in range(last):
        at_left = max(at_left, left[q])
        at_right = max(at_right, totals[q] - left[q] - inside[q])
    return at_left + at_right + inside[last]


@jit
def _is_better(saved, feature, threshold, best):
    """Whether a cut comes before the best one (minus the saving, feature, threshold)."""
    if -saved != best[0]:
        return -saved < best[0]
    return feature < best[1] or (feature == best[1] and threshold < best[2])


@jit
def _try_edges(feature, edges, n_edges, sums, totals, best):
    """Best cut at an edge of a feature, or `best`, and a bound of what others save."""
    left, most = np.zeros(totals.shape[0], np.int64), 0
    for bucket in range(2 * n_edges + 1):
        if bucket % 2 == 0:
            most = max(most, _interval_bound(left, sums[bucket], totals))
        for q in range(totals.shape[0]):
            left[q] += sums[bucket, q]
        if bucket % 2:
            saved, edge = _saved(left, totals), edges[bucket // 2]
            if _is_better(saved, feature, edge, best):
                best = (-np.float64(saved), feature, edge)
    return best, most


@jit
def _try_intervals(values, feature, edges, n_edges, sums, leaf, best):
    """Best cut between edges of a feature, or `best`; `values` of the leaf's rows."""
    totals = leaf.totals
    left = np.zeros(totals.shape[0], np.int64)
    for bucket in range(2 * n_edges + 1):
        if bucket % 2 == 0 and -_interval_bound(left, sums[bucket], totals) <= best[0]:
            low = edges[bucket // 2 - 1] if bucket else -np.inf
            high = edges[bucket // 2] if bucket < 2 * n_edges else np.inf
            inside = np.flatnonzero((values > low) & (values < high))
            inside = inside[np.argsort(values[inside])]
            savings = np.empty((inside.shape[0], totals.shape[0]), np.int64)
            _fill_savings(inside, leaf, savings)
            running = left.copy()
            for i in range(inside.shape[0]):
                running += savings[i]
                threshold = values[inside[i]]
                if i + 1 < inside.shape[0] and values[inside[i + 1]] == threshold:
                    continue
                saved = _saved(running, totals)
                if _is_better(saved, feature, threshold, best):
                    best = (-np.float64(saved), feature, threshold)
        left += sums[bucket]
    return best


@jit
def surrogate_cut(X, slot, leaf, sample, lo, hi):
    """Cut of a leaf that saves most of its surrogate cost, over features lo..hi-1.

    The surrogate cost is that of the best label a side, with the reference centres (Frost,
    Moshkovitz & Rashtchian 2020, section 3). Edges are the values of some rows, best of those
    that the leaf's label does not serve best: only they can be gained between two edges.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `leaf.rows` or -1; empty for dense X
    leaf : greedy.nodes.SurrogateNode
    sample : float64 array of shape (b, d), b <= N_EDGES, some rows of the leaf
    lo, hi : int

    Returns
    -------
    (minus the saving, feature, threshold); feature -1 if no cut saves anything
    """
    totals, size = leaf.totals, min(_BLOCK, hi - lo)
    edges, n_edges = np.empty((size, N_EDGES + 1)), np.empty(size, np.int64)
    shape = (2 * sample.shape[0] + 1, totals.shape[0])
    sums, values = np.empty((size, *shape), np.int64), np.empty(0)
    best, bound = (0.0, -1, np.inf), np.empty(hi - lo)
    for start in range(lo, hi, size):
        n = min(size, hi - start)
        sums[:n] = 0
        _sort_edges(sample, start, edges[:n], n_edges)
        _bucket_sums(X, slot, leaf, edges[:n], start, sums, values)
        for f in range(n):
            best, most = _try_edges(start + f, edges[f], n_edges[f], sums[f], totals, best)
            bound[start - lo + f] = -most
    values = np.empty(leaf.rows.shape[0])
    for f in np.argsort(bound, kind="mergesort"):
        if bound[f] > best[0]:
            break
        if bound[f] == best[0] and lo + f > best[1]:
            continue
        sums[:1] = 0
        _sort_edges(sample, lo + f, edges[:1], n_edges)
        _bucket_sums(X, slot, leaf, edges[:1], lo + f, sums, values)
        best = _try_intervals(values, lo + f, edges[0], n_edges[0], sums[0], leaf, best)
    return best
