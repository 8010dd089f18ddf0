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
)

# Edges a feature, one less than a power of two: more make tighter bounds and larger sums.
N_EDGES = 31

_BLOCK = 64  # features whose sums stay in the cache together
_FEW = 8  # features of sparse X that are looked at together
# Savings of an array's rows that are there at a time, 8 MB; those of sparse X are kept.
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
    search = _Search(X, slot, leaf, edges, len(stored) > 0)
    # Features of sparse X come by what they promise: few of them are looked at.
    turns = np.arange(lo, hi)
    if len(stored):
        turns = lo + np.argsort(-stored[lo:hi], kind="stable")
    best, bounds = (0.0, -1, np.inf), np.full(len(turns), np.inf)
    width = min(_FEW if len(stored) else _BLOCK, len(turns))
    for start in range(0, len(turns), width):
        if len(stored) and -stored[turns[start]] > best[0]:
            break
        some = slice(start, start + width)
        edge, sums = search.sums(turns[some])
        best = _try_edges(turns[some], edge, sums, leaf.totals, bounds[some], best)
    for at in np.argsort(bounds, kind="stable"):
        if bounds[at] > best[0] or bounds[at] == np.inf:
            break
        if bounds[at] < best[0] or turns[at] <= best[1]:
            best = search.between_edges(turns[at : at + 1], best)
    return best


class _Search:
    """What a leaf's rows save under other labels, summed for its features."""

    def __init__(self, X, slot, leaf, edges, is_sparse):
        self._columns, self._leaf, self._edges = (X, slot, leaf.rows), leaf, edges
        self._n_edges = np.minimum(np.diff(edges[1]), N_EDGES)
        n_rows, n_sums = len(leaf.rows), len(leaf.totals)
        self._step = n_rows if is_sparse else max(1, _KEPT // n_sums)
        self._kept = savings_of(leaf, slice(None)) if n_rows <= self._step else None

    def _savings(self, places):
        return savings_of(self._leaf, places) if self._kept is None else self._kept[places]

    def sums(self, features):
        """Edges of some features and the sums of their buckets.

        Bucket 2 i + 1 is of edge i, bucket 2 i of the values between it and edge i - 1.
        """
        (X, slot, rows), totals, (values, start) = self._columns, self._leaf.totals, self._edges
        edges, n_edges = np.full((len(features), N_EDGES + 1), np.inf), self._n_edges[features]
        for i, (first, n) in enumerate(zip(start[features], n_edges, strict=True)):
            edges[i, :n] = values[first : first + n]
        sums = np.zeros((len(features), 2 * n_edges.max() + 1, len(totals)))
        for first in range(0, len(rows), self._step):
            part = slice(first, first + self._step)
            step = rows_at_a_time(slot, rows[part])
            _add_savings(X, slot, rows[part], features, self._savings(part), edges, step, sums)
        if len(slot):  # sparse X does not store the value 0
            at = (edges < 0).sum(axis=1)
            each = np.arange(len(features))
            sums[each, 2 * at + (edges[each, at] == 0)] += totals - sums.sum(axis=1)
        return edges, sums

    def between_edges(self, feature, best):
        """Best cut between edges of a feature (int64 array of one), or `best`."""
        (X, slot, rows), totals = self._columns, self._leaf.totals
        (edges,), (sums,) = self.sums(feature)
        below, values = np.zeros((len(sums) + 1, len(totals))), np.empty(len(rows))
        np.cumsum(sums, axis=0, out=below[1:])
        is_open = np.zeros(len(edges), bool)
        _open_intervals(feature[0], sums, below, totals, best, is_open)
        at = _buckets(X, slot, rows, feature[0], edges, values)
        some = np.flatnonzero(is_open[at] & (edges[at] != values))
        some = some[np.argsort(values[some], kind="stable")]
        terms = (values[some], at[some], self._savings(some), below, totals)
        return _try_values(feature[0], *terms, best)


def savings_of(leaf, places):
    """What rows save under each of the other labels, and at most: float64 array."""
    rows, nearest = leaf.rows[places], leaf.nearest[places]
    paid = label_prices(leaf.distances, rows, nearest, leaf.weight, leaf.scale, leaf.cap)
    own = paid[:, [leaf.own]]
    return np.hstack([own - paid[:, leaf.others], own])


@jit
def label_prices(distances, rows, nearest, weight, scale, cap):
    """What rows pay under each label beyond their nearest centre's, as whole numbers.

    Parameters
    ----------
    distances : float64 array of shape (n, k)
    rows : int64 array of shape (m,)
    nearest : float64 array of shape (m,)
    weight : float64 array of shape (n,)
    scale : float, power of two
    cap : float, largest price

    Returns
    -------
    float64 array of shape (m, k)
    """
    paid = np.empty((rows.shape[0], distances.shape[1]))
    for r in range(rows.shape[0]):
        row, least, times = rows[r], nearest[r], weight[rows[r]]
        for k in range(paid.shape[1]):
            paid[r, k] = min(np.rint(np.rint((distances[row, k] - least) * scale) * times), cap)
    return paid


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
    rows, n_labels, totals = leaf.rows, len(leaf.others), leaf.totals[:-1]
    # Of many labels and features the worst label of each row stands for all.
    is_one = n_features * (n_labels + 1) > _KEPT
    sums = np.zeros((n_features, (1 if is_one else n_labels) + 1))
    step = max(1, _KEPT // (n_labels + 1))
    for start in range(0, len(rows), step):
        savings = savings_of(leaf, slice(start, start + step))
        paid = np.maximum(-savings[:, :-1], 0.0)
        if is_one:
            paid = paid.max(axis=1, initial=0.0, keepdims=True)
        _add_stored(X, rows[start : start + step], np.hstack([paid, savings[:, -1:]]), sums)
    most = totals.max(initial=-np.inf, keepdims=True) if is_one else totals
    return sums[:, -1] + (most + sums[:, :-1]).max(axis=1, initial=0.0)


@jit
def _add_stored(X, rows, paid, sums):
    _, indices, indptr = X
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            for q in range(sums.shape[1]):
                sums[indices[s], q] += paid[r, q]


@jit
def _add_savings(X, slot, rows, features, savings, edges, step, sums):
    """Add the rows' savings to their buckets of each feature."""
    values, places, buckets = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(features.shape[0]):
            edge, total = edges[f], sums[f]  # views cost more than what is done per row
            n = entries(X, slot, rows, features[f], start, stop, values, places)
            for i in range(n):
                at = edges_below(values[i], edge)
                buckets[i] = 2 * at + (1 if edge[at] == values[i] else 0)
            for i in range(n):  # apart from the search: twice as fast
                for q in range(total.shape[1]):
                    total[buckets[i], q] += savings[start + places[i], q]


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
def _try_edges(features, edges, sums, totals, bounds, best):
    """Best cut at an edge of some features, or `best`.

    Fills in bounds of what others of each feature save, negative.
    """
    left, nothing = np.empty(totals.shape[0]), np.zeros(totals.shape[0])
    for f in range(features.shape[0]):
        left[:], bounds[f] = 0.0, 0.0
        for bucket in range(sums.shape[1]):
            if bucket % 2 == 0:
                bounds[f] = min(bounds[f], -_saved(left, sums[f, bucket], totals))
            for q in range(left.shape[0]):
                left[q] += sums[f, bucket, q]
            edge = edges[f, bucket // 2]
            if bucket % 2 == 1 and edge < np.inf:
                value = -_saved(left, nothing, totals)
                if is_better(value, features[f], edge, best):
                    best = (value, features[f], edge)
    return best


@jit
def _open_intervals(feature, sums, below, totals, best, is_open):
    """Mark the intervals between edges where a cut may be better than the best one."""
    for i in range((sums.shape[0] + 1) // 2):
        bound = -_saved(below[2 * i], sums[2 * i], totals)
        is_open[i] = not is_hopeless(bound, feature, best)


@jit
def _buckets(X, slot, rows, feature, edges, values):
    """Number of edges below each value of a feature; fills in the values."""
    gather(X, slot, rows, feature, values)
    below = np.empty(rows.shape[0], np.int64)
    for r in range(rows.shape[0]):
        below[r] = edges_below(values[r], edges)
    return below


@jit
def _try_values(feature, values, at, savings, below, totals, best):
    """Best cut at one of some sorted values, or `best`.

    `at` are the intervals of the values, and `below` the sums below each bucket.
    """
    left, nothing = np.empty(totals.shape[0]), np.zeros(totals.shape[0])
    for i in range(values.shape[0]):
        for q in range(left.shape[0]):
            if i == 0 or at[i] != at[i - 1]:
                left[q] = below[2 * at[i], q]
            left[q] += savings[i, q]
        if i + 1 < values.shape[0] and values[i + 1] == values[i]:
            continue
        value = -_saved(left, nothing, totals)
        if is_better(value, feature, values[i], best):
            best = (value, feature, values[i])
    return best
