"""Kernels for the cut of a leaf that saves most of its surrogate cost.

One pass over the rows sums what they save under other labels, by the bucket of each value: the
values of some rows are edges, and a bucket holds the rows at an edge or those between two. Only
the rows between two edges where most may be saved are sorted.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..order import (
    edges_below,
    entries,
    gather,
    is_better,
    is_hopeless,
    rows_at_a_time,
    stable_order,
)

# Edges a feature, one less than a power of two: more make tighter bounds and larger sums.
N_EDGES = 31

_CHUNK = 256  # rows whose savings are worked out before their features are looked at
_BLOCK = 64  # features whose sums stay in the cache together
# Savings of an array's rows that are kept, 8 MB; more are worked out when they are asked for.
_KEPT = 2**20


def surrogate_cut(X, slot, leaf, edges, stored, lo, hi):
    """Cut of a leaf that saves most of its surrogate cost, over features lo..hi-1.

    The surrogate cost is that of the best label a side, with the reference centres (Frost,
    Moshkovitz & Rashtchian 2020, section 3). Edges are the values of some rows, best of those
    that the leaf's label does not serve best: only they can be gained between two edges.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `leaf.rows` or -1; empty for dense X
    leaf : greedy.nodes.SurrogateNode
    edges : (values, start), see :meth:`greedy.points.Points.edges_from`
        No more than N_EDGES a feature are used.
    stored : float64 array of shape (d,)
        Of sparse X what cuts of each feature save at most; else empty.
    lo, hi : int

    Returns
    -------
    (minus the saving, feature, threshold); feature -1 if no cut saves anything
    """
    is_sparse = len(stored) > 0
    # Features of sparse X come by what they promise, one by one: few of them are looked at.
    turns = lo + np.argsort(-stored[lo:hi], kind="stable") if is_sparse else np.arange(lo, hi)
    n_rows, n_sums = len(leaf.rows), len(leaf.totals)
    kept = np.empty((n_rows if is_sparse or n_rows * n_sums <= _KEPT else 0, n_sums))
    _fill_savings(leaf, 0, kept)
    width = 1 if is_sparse else min(_BLOCK, hi - lo)
    n_edges = min(int(np.diff(edges[1][lo : hi + 1]).max()), N_EDGES)
    sums = np.empty((width, 2 * n_edges + 1, n_sums))
    return _search(X, slot, leaf, kept, edges, stored, turns, sums)


@jit
def _search(X, slot, leaf, kept, ends, stored, turns, sums):
    """Best cut over features, which are looked at in turns, some at a time."""
    best, n, width = (0.0, np.int64(-1), np.inf), 0, sums.shape[0]
    edges, bound = np.empty((width, N_EDGES + 1)), np.empty(turns.shape[0])
    while n < turns.shape[0]:
        if stored.shape[0] and -stored[turns[n]] > best[0]:
            break
        features = turns[n : n + width]
        _sum_features(X, slot, leaf, kept, ends, features, edges, sums)
        for i in range(features.shape[0]):
            best, bound[n + i] = _try_edges(features[i], edges[i], sums[i], leaf, best)
        n += features.shape[0]
    order = stable_order(bound[:n])
    for i in range(n):
        at = order[i]
        if bound[at] > best[0]:
            break
        if not is_hopeless(bound[at], turns[at], best):
            _sum_features(X, slot, leaf, kept, ends, turns[at : at + 1], edges, sums)
            best = _try_intervals(X, slot, leaf, kept, turns[at], edges[0], sums[0], best)
    return best


@jit
def _fill_savings(leaf, first, out):
    """What rows from place `first` on save under each of the other labels, and at most."""
    distances, others, scale, cap = leaf.distances, leaf.others, leaf.scale, leaf.cap
    paid, last = np.empty(distances.shape[1]), others.shape[0]
    for i in range(out.shape[0]):
        row, least = leaf.rows[first + i], leaf.nearest[first + i]
        times = leaf.weight[row]
        for k in range(paid.shape[0]):  # all labels at once, faster than the others by number
            paid[k] = min(np.rint(np.rint((distances[row, k] - least) * scale) * times), cap)
        for q in range(last):
            out[i, q] = paid[leaf.own] - paid[others[q]]
        out[i, last] = paid[leaf.own]


@jit
def savings_of_stored(X, leaf, n_features):
    """What cuts of each feature save at most, from the stored values of the leaf's rows.

    On one side of a cut are stored values alone. They save no more than under the best of all
    labels; the others save what all rows do, which is mostly a loss, but for what these lose.

    Parameters
    ----------
    X : (data, indices, indptr) of a CSR matrix of shape (n, d)
    leaf : greedy.nodes.SurrogateNode
    n_features : int, d

    Returns
    -------
    float64 array of shape (d,)
    """
    _, indices, indptr = X
    rows, n_labels = leaf.rows, leaf.totals.shape[0] - 1
    # Of many labels and features the worst label of each row stands for all.
    n_sums = n_labels if n_features * (n_labels + 1) <= _KEPT else 1
    sums, most = np.zeros((n_features, n_sums + 1)), np.zeros(n_sums)
    savings, paid = np.empty((1, n_labels + 1)), np.empty(n_sums + 1)
    for r in range(rows.shape[0]):
        _fill_savings(leaf, r, savings)
        paid[:n_sums] = 0.0
        for q in range(n_labels):
            paid[min(q, n_sums - 1)] = max(paid[min(q, n_sums - 1)], -savings[0, q])
        paid[n_sums] = savings[0, n_labels]
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            for q in range(n_sums + 1):
                sums[indices[s], q] += paid[q]
    most[:] = -np.inf
    for q in range(n_labels):
        most[min(q, n_sums - 1)] = max(most[min(q, n_sums - 1)], leaf.totals[q])
    saved = np.empty(n_features)
    for f in range(n_features):
        others = 0.0
        for q in range(n_sums):
            others = max(others, most[q] + sums[f, q])
        saved[f] = sums[f, n_sums] + others
    return saved


@jit
def _sum_features(X, slot, leaf, kept, ends, features, edges, sums):
    """Fill in the edges of some features and the sums of their buckets.

    Bucket 2 i + 1 is of edge i, bucket 2 i of the values between it and edge i - 1.
    """
    rows, n_sums, step = leaf.rows, leaf.totals.shape[0], rows_at_a_time(slot, leaf.rows)
    values, places, buckets = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    made = np.empty((0 if kept.shape[0] else step, n_sums))
    for f in range(features.shape[0]):
        first, n = ends[1][features[f]], ends[1][features[f] + 1] - ends[1][features[f]]
        for i in range(edges.shape[1]):
            edges[f, i] = ends[0][first + i] if i < min(n, N_EDGES) else np.inf
    sums[: features.shape[0]] = 0.0
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        savings = kept[start:stop] if kept.shape[0] else made[: stop - start]
        if not kept.shape[0]:
            _fill_savings(leaf, start, savings)
        for f in range(features.shape[0]):
            edge, total = edges[f], sums[f]  # views cost more than what is done per row
            n = entries(X, slot, rows, features[f], start, stop, values, places)
            for i in range(n):
                at = edges_below(values[i], edge)
                buckets[i] = 2 * at + (1 if edge[at] == values[i] else 0)
            for i in range(n):  # apart from the search: twice as fast
                for q in range(n_sums):
                    total[buckets[i], q] += savings[places[i], q]
    if slot.shape[0]:
        _add_zeros(leaf.totals, edges[: features.shape[0]], sums)


@jit
def _add_zeros(totals, edges, sums):
    """Add what the rows with the value 0 save, which sparse X does not store."""
    for f in range(edges.shape[0]):
        at = edges_below(0.0, edges[f])
        zero = 2 * at + (1 if edges[f, at] == 0.0 else 0)
        for q in range(totals.shape[0]):
            rest = totals[q]
            for bucket in range(sums.shape[1]):
                rest -= sums[f, bucket, q]
            sums[f, zero, q] += rest


@jit
def _saved(left, inside, totals):
    """What the rows of both sides save at most under the best labels.

    `left` are the sums over the left side, `inside` those over rows that may be on either side.
    """
    at_left = at_right = 0.0
    last = totals.shape[0] - 1
    for q in range(last):
        at_left = max(at_left, left[q])
        at_right = max(at_right, totals[q] - left[q] - inside[q])
    return at_left + at_right + inside[last]


@jit
def _try_edges(feature, edges, sums, leaf, best):
    """Best cut at an edge of a feature, or `best`, and a bound of what others save, negative."""
    left, nothing, bound, bucket = np.zeros(sums.shape[1]), np.zeros(sums.shape[1]), 0.0, 0
    while True:
        bound = min(bound, -_saved(left, sums[bucket], leaf.totals))
        if edges[bucket // 2] == np.inf:
            return best, bound
        for q in range(left.shape[0]):
            left[q] += sums[bucket, q] + sums[bucket + 1, q]
        value, edge = -_saved(left, nothing, leaf.totals), edges[bucket // 2]
        if is_better(value, feature, edge, best):
            best = (value, feature, edge)
        bucket += 2


@jit
def _try_intervals(X, slot, leaf, kept, feature, edges, sums, best):
    """Best cut between edges of a feature, or `best`."""
    n_sums, n = sums.shape[1], 0
    below, is_open = np.zeros((sums.shape[0] + 1, n_sums)), np.zeros(sums.shape[0], np.bool_)
    for bucket in range(sums.shape[0]):
        bound = -_saved(below[bucket], sums[bucket], leaf.totals)
        is_open[bucket] = bucket % 2 == 0 and not is_hopeless(bound, feature, best)
        for q in range(n_sums):
            below[bucket + 1, q] = below[bucket, q] + sums[bucket, q]
    values, some = np.empty(leaf.rows.shape[0]), np.empty(leaf.rows.shape[0], np.int64)
    gather(X, slot, leaf.rows, feature, values)
    for r in range(values.shape[0]):
        at = edges_below(values[r], edges)
        if is_open[2 * at] and edges[at] != values[r]:
            some[n] = r
            n += 1
    return _try_values(some[:n], values[some[:n]], edges, below, leaf, kept, feature, best)


@jit
def _try_values(some, values, edges, below, leaf, kept, feature, best):
    """Best cut at a value of some rows, or `best`; `below` are the sums below each bucket."""
    made, n_sums, last = np.empty((1, below.shape[1])), below.shape[1], -1
    left, nothing, order = np.empty(n_sums), np.zeros(n_sums), stable_order(values)
    for i in range(order.shape[0]):
        place, value = some[order[i]], values[order[i]]
        at = edges_below(value, edges)
        if not kept.shape[0]:
            _fill_savings(leaf, place, made)
        savings = kept[place] if kept.shape[0] else made[0]
        for q in range(n_sums):
            left[q] = savings[q] + (left[q] if at == last else below[2 * at, q])
        last = at
        if i + 1 < order.shape[0] and values[order[i + 1]] == value:
            continue
        found = -_saved(left, nothing, leaf.totals)
        if is_better(found, feature, value, best):
            best = (found, feature, value)
    return best
