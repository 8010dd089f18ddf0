"""Kernels for the cut of a leaf that saves most of its surrogate cost."""

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

from .sums import gather

# Edges a feature, one less than a power of two: more make tighter bounds and larger sums.
N_EDGES = 31

_CHUNK = 256  # rows whose savings are worked out before their features are looked at
_BLOCK = 64  # features whose sums stay in the cache together
# Sums that are kept until the end of a search, and savings, 8 MB of each; else they are made again.
_KEPT = 2**20


@jit
def _price(excess, scale, weight, cap):
    """Weighted excess as a whole number; whole weights multiply it exactly."""
    return min(np.rint(np.rint(excess * scale) * weight), cap)


@jit
def label_costs(rows, nearest, distances, weight, scale, cap):
    """What the rows pay under each label beyond their nearest centre's.

    Parameters
    ----------
    rows : int64 array of shape (m,)
    nearest : float64 array of shape (m,)
    distances : float64 array of shape (n, k)
    weight : float64 array of shape (n,)
    scale : float, power of two
    cap : float, largest price

    Returns
    -------
    float64 array of shape (k,), whole numbers
    """
    costs = np.zeros(distances.shape[1])
    for r in range(rows.shape[0]):
        row, least = rows[r], nearest[r]
        times = weight[row]
        for k in range(costs.shape[0]):
            costs[k] += _price(distances[row, k] - least, scale, times, cap)
    return costs


@jit
def label_savings(rows, nearest, distances, weight, scale, cap, own):
    """What each label saves those rows that it serves better than `own`: float64 array (k,)."""
    savings = np.zeros(distances.shape[1])
    for r in range(rows.shape[0]):
        row, least = rows[r], nearest[r]
        excess, times = distances[row, own] - least, weight[row]
        if excess > 0.0:
            paid = _price(excess, scale, times, cap)
            for k in range(savings.shape[0]):
                other = _price(distances[row, k] - least, scale, times, cap)
                savings[k] += max(paid - other, 0.0)
    return savings


@jit
def _fill_savings(some, leaf, out):
    """What some rows save under each of the other labels, and under the best of all."""
    rows, nearest, others, own = leaf.rows, leaf.nearest, leaf.others, leaf.own
    distances, weight, scale, cap = leaf.distances, leaf.weight, leaf.scale, leaf.cap
    paid, last = np.empty(distances.shape[1]), others.shape[0]
    for i in range(some.shape[0]):
        row, least = rows[some[i]], nearest[some[i]]
        times = weight[row]
        for k in range(paid.shape[0]):  # all labels at once, faster than the others by number
            paid[k] = _price(distances[row, k] - least, scale, times, cap)
        for q in range(last):
            out[i, q] = paid[own] - paid[others[q]]
        out[i, last] = paid[own]


@jit
def _kept_savings(leaf):
    """What all rows save, as stored values ask for them again and again; no rows if it is much."""
    n_rows, n_sums = leaf.rows.shape[0], leaf.totals.shape[0]
    is_kept = n_rows * n_sums <= _KEPT
    kept = np.empty((n_rows if is_kept else 0, n_sums))
    _fill_savings(np.arange(kept.shape[0]), leaf, kept)
    return kept


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
    savings, paid = np.empty((_CHUNK, n_labels + 1)), np.empty(n_sums + 1)
    for start in range(0, rows.shape[0], _CHUNK):
        stop = min(start + _CHUNK, rows.shape[0])
        _fill_savings(np.arange(start, stop), leaf, savings)
        for i in range(stop - start):
            paid[:n_sums] = 0.0
            for q in range(n_labels):
                paid[min(q, n_sums - 1)] = max(paid[min(q, n_sums - 1)], -savings[i, q])
            paid[n_sums] = savings[i, n_labels]
            row = rows[start + i]
            for s in range(indptr[row], indptr[row + 1]):
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
def _bucket(value, edges):
    """2 i + 1 for a value that is edge i, 2 i for one between edges i - 1 and i.

    Binary search of fixed length without branches: `edges` ends in infinities.
    """
    at, step = 0, N_EDGES // 2 + 1
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return 2 * at + (1 if edges[at] == value else 0)


def _bucket_sums_dense(X, slot, leaf, kept, edges, lo, sums):
    rows, n_sums = leaf.rows, sums.shape[2]
    savings, buckets = np.empty((_CHUNK, n_sums)), np.empty(_CHUNK, np.int64)
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


def _bucket_sums_csc(X, slot, leaf, kept, edges, lo, sums):
    data, indices, indptr = X
    n_sums = sums.shape[2]
    some, stored = np.empty(_CHUNK, np.int64), np.empty(_CHUNK)
    savings = np.empty((_CHUNK, n_sums))
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
            if not kept.shape[0]:
                _fill_savings(some[:n], leaf, savings)
            for i in range(n):
                saved = kept[some[i]] if kept.shape[0] else savings[i]
                bucket = _bucket(stored[i], edge)
                for q in range(n_sums):
                    total[zero, q] -= saved[q]
                    total[bucket, q] += saved[q]


# Add the rows' savings to their buckets of each feature.
_bucket_sums = by_layout(_bucket_sums_dense, _bucket_sums_csc)


@jit
def _distinct(values, edges):
    """Enter distinct ones of sorted values, then infinities; how many they are."""
    edges[:] = np.inf
    n = 0
    for value in values:
        if n == 0 or value > edges[n - 1]:
            edges[n] = value
            n += 1
    return n


def _fill_edges_dense(X, slot, sample, lo, edges, n_edges):
    for f in range(edges.shape[0]):
        n_edges[f] = _distinct(sample[:, lo + f], edges[f])


def _fill_edges_csc(X, slot, sample, lo, edges, n_edges):
    data, indices, indptr = X
    values, n = np.zeros(N_EDGES), 0
    for s in range(indptr[lo], indptr[lo + 1]):
        place = slot[indices[s]]
        if place >= 0 and sample[place]:
            values[n] = data[s]
            n += 1
    n += 1 if n < sample.sum() else 0  # some of these rows have zeros
    n_edges[0] = _distinct(np.sort(values[:n]), edges[0])


# Distinct values of each feature in the sample.
_fill_edges = by_layout(_fill_edges_dense, _fill_edges_csc)


@jit
def _saved(left, totals):
    """What the rows of both sides save under the best labels, given sums over the left."""
    at_left = at_right = 0.0
    for q in range(totals.shape[0] - 1):
        at_left = max(at_left, left[q])
        at_right = max(at_right, totals[q] - left[q])
    return at_left + at_right


@jit
def _interval_bound(left, inside, totals):
    """Upper bound of the saving of cuts between two edges; `left` excludes the rows inside."""
    at_left = at_right = 0.0
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
    left, most = np.zeros(totals.shape[0]), 0.0
    for bucket in range(2 * n_edges + 1):
        if bucket % 2 == 0:
            most = max(most, _interval_bound(left, sums[bucket], totals))
        for q in range(totals.shape[0]):
            left[q] += sums[bucket, q]
        if bucket % 2:
            saved, edge = _saved(left, totals), edges[bucket // 2]
            if _is_better(saved, feature, edge, best):
                best = (-saved, feature, edge)
    return best, most


@jit
def _try_intervals(X, slot, feature, edges, n_edges, sums, leaf, best):
    """Best cut between edges of a feature, or `best`."""
    left, values = np.zeros(leaf.totals.shape[0]), np.empty(leaf.rows.shape[0])
    gather(X, feature, leaf.rows, slot, values)
    for bucket in range(2 * n_edges + 1):
        if bucket % 2 == 0 and -_interval_bound(left, sums[bucket], leaf.totals) <= best[0]:
            low = edges[bucket // 2 - 1] if bucket else -np.inf
            high = edges[bucket // 2] if bucket < 2 * n_edges else np.inf
            some = np.flatnonzero((values > low) & (values < high))
            best = _try_sorted(some, values[some], feature, left, leaf, best)
        left += sums[bucket]
    return best


@jit
def _try_sorted(some, values, feature, left, leaf, best):
    """Best cut at one of the values of some rows, or `best`; `left` are the sums below them."""
    order, running = np.argsort(values, kind="mergesort"), left.copy()
    savings = np.empty((some.shape[0], left.shape[0]))
    _fill_savings(some[order], leaf, savings)
    for i in range(order.shape[0]):
        running += savings[i]
        threshold = values[order[i]]
        if i + 1 < order.shape[0] and values[order[i + 1]] == threshold:
            continue
        saved = _saved(running, leaf.totals)
        if _is_better(saved, feature, threshold, best):
            best = (-saved, feature, threshold)
    return best


@jit
def _sum_features(X, slot, leaf, kept, sample, feature, edges, n_edges, sums, at, n):
    """Fill places at..at+n-1 of edges and sums for n features from `feature` on."""
    sums[at : at + n] = 0.0
    _fill_edges(X, slot, sample, feature, edges[at : at + n], n_edges[at : at + n])
    _bucket_sums(X, slot, leaf, kept, edges[at : at + n], feature, sums[at : at + n])


def _search_dense(X, slot, leaf, sample, stored, lo, hi):
    totals, n_features = leaf.totals, hi - lo
    n_buckets = 2 * sample.shape[0] + 1
    keeps = n_features * n_buckets * totals.shape[0] <= _KEPT
    block = min(_BLOCK, n_features)
    room = n_features if keeps else block
    edges, n_edges = np.empty((room, N_EDGES + 1)), np.empty(room, np.int64)
    sums, kept = np.zeros((room, n_buckets, totals.shape[0])), np.empty((0, totals.shape[0]))
    best, bound = (0.0, np.int64(-1), np.inf), np.empty(n_features)
    for start in range(0, n_features, block):
        at, n = start if keeps else 0, min(block, n_features - start)
        _sum_features(X, slot, leaf, kept, sample, lo + start, edges, n_edges, sums, at, n)
        for f in range(at, at + n):
            feature = lo + start + f - at
            best, most = _try_edges(feature, edges[f], n_edges[f], sums[f], totals, best)
            bound[feature - lo] = -most
    for f in np.argsort(bound, kind="mergesort"):
        if bound[f] > best[0]:
            break
        if bound[f] == best[0] and lo + f > best[1]:
            continue
        at = f if keeps else 0
        if not keeps:
            # at is 0 here, and no literal: `_sum_features` would be compiled for it again.
            n = min(1, n_features)
            _sum_features(X, slot, leaf, kept, sample, lo + f, edges, n_edges, sums, at, n)
        best = _try_intervals(X, slot, lo + f, edges[at], n_edges[at], sums[at], leaf, best)
    return best


def _search_csc(X, slot, leaf, sample, stored, lo, hi):
    edges, n_edges = np.empty((1, N_EDGES + 1)), np.empty(1, np.int64)
    sums = np.zeros((1, 2 * N_EDGES + 1, leaf.totals.shape[0]))
    best, kept = (0.0, np.int64(-1), np.inf), _kept_savings(leaf)
    for f in np.argsort(-stored[lo:hi], kind="mergesort"):  # few are tried
        if -stored[lo + f] > best[0]:
            break
        if -stored[lo + f] == best[0] and lo + f > best[1]:
            continue
        _sum_features(X, slot, leaf, kept, sample, lo + f, edges, n_edges, sums, 0, 1)
        best, most = _try_edges(lo + f, edges[0], n_edges[0], sums[0], leaf.totals, best)
        if -most <= best[0]:
            best = _try_intervals(X, slot, lo + f, edges[0], n_edges[0], sums[0], leaf, best)
    return best


# The cut that saves most over features lo..hi-1.
_search = by_layout(_search_dense, _search_csc)


@jit
def surrogate_cut(X, slot, leaf, sample, stored, lo, hi):
    """Cut of a leaf that saves most of its surrogate cost, over features lo..hi-1.

    The surrogate cost is that of the best label a side, with the reference centres (Frost,
    Moshkovitz & Rashtchian 2020, section 3). Edges are the values of some rows, best of those
    that the leaf's label does not serve best: only they can be gained between two edges.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    slot : int64 array of shape (n,), place of a row in `leaf.rows` or -1; empty for dense X
    leaf : greedy.nodes.SurrogateNode
    sample : float64 array of shape (b, d), b <= N_EDGES
        Values of some rows of the leaf, each column sorted. Of sparse X a bool array of shape
        (m,): whether a row of the leaf is one of these.
    stored : float64 array of shape (d,)
        Of sparse X what cuts of each feature save at most; else empty.
    lo, hi : int

    Returns
    -------
    (minus the saving, feature, threshold); feature -1 if no cut saves anything
    """
    return _search(X, slot, leaf, sample, stored, lo, hi)
