"""Kernels for the cut of a leaf that saves most of its surrogate cost.

One pass over the rows sums what they save under other labels, by the bucket of each value: the
values of some rows are edges, and a bucket holds the rows at an edge or those between two. Only
the rows between two edges where most may be saved are sorted.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..sorted_columns import entries, gather, is_better, is_hopeless, rows_at_a_time

# Edges a feature, one less than a power of two: more make tighter bounds and larger sums.
N_EDGES = 31

_BLOCK = 64  # features whose sums stay in the cache together
_FEW = 8  # features of sparse X that are looked at together
# Savings of an array's rows that are there at a time, 8 MB; those of sparse X are kept.
_KEPT = 2**20


def surrogate_cut(X, inverse, leaf, edges, stored, lo, hi):
    """Cut of a leaf that saves most of its surrogate cost, over features lo..hi-1.

    The surrogate cost is that of the best label a side, with the reference centres (Frost,
    Moshkovitz & Rashtchian 2020, section 3). Edges are the values of some rows, best of those
    that the leaf's label does not serve best: only they can be gained between two edges.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), place of a row in `leaf.rows` or -1; empty for dense X
    leaf : greedy.nodes.SurrogateNode
    edges : (values, start), see :meth:`greedy.builder_input.BuilderInput.distinct_values`
        No more than N_EDGES a feature are used.
    stored : float64 array of shape (d,)
        Of sparse X what cuts of each feature save at most; else empty.
    lo, hi : int

    Returns
    -------
    (minus the saving, feature, threshold); feature -1 if no cut saves anything
    """
    search = _Search(X, inverse, leaf, edges, len(stored) > 0)
    # Features of sparse X come by what they promise: few of them are looked at.
    turns = np.arange(lo, hi)
    if len(stored):
        turns = lo + np.argsort(-stored[lo:hi], kind="stable")
    best, bounds, kept = (0.0, -1, np.inf), np.full(len(turns), np.inf), {}
    width = min(_FEW if len(stored) else _BLOCK, len(turns))
    keeps = len(turns) * (2 * N_EDGES + 1) * len(leaf.totals) <= _KEPT
    for start in range(0, len(turns), width):
        if len(stored) and -stored[turns[start]] > best[0]:
            break
        some = slice(start, start + width)
        edge, sums = search.sums(turns[some])
        best = _try_edges(turns[some], edge, sums, leaf.totals, bounds[some], best)
        if keeps:
            kept.update(zip(turns[some].tolist(), zip(edge, sums, strict=True), strict=True))
    for at in np.argsort(bounds, kind="stable"):
        if bounds[at] > best[0] or bounds[at] == np.inf:
            break
        if bounds[at] < best[0] or turns[at] <= best[1]:
            feature = int(turns[at])
            edge, sums = kept.get(feature) or search.sums_of(feature)
            best = search.between_edges(feature, edge, sums, best)
    return best


class _Search:
    """What a leaf's rows save under other labels, summed for its features."""

    def __init__(self, X, inverse, leaf, edges, is_sparse):
        self._columns, self._leaf, self._edges = (X, inverse, leaf.rows), leaf, edges
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
        (X, inverse, rows), totals, (values, start) = self._columns, self._leaf.totals, self._edges
        edges, n_edges = np.full((len(features), N_EDGES + 1), np.inf), self._n_edges[features]
        for i, (first, n) in enumerate(zip(start[features], n_edges, strict=True)):
            edges[i, :n] = values[first : first + n]
        sums = np.zeros((len(features), 2 * n_edges.max() + 1, len(totals)))
        for first in range(0, len(rows), self._step):
            part = slice(first, first + self._step)
            step = rows_at_a_time(inverse, rows[part])
            _add_savings(X, inverse, rows[part], features, self._savings(part), edges, step, sums)
        if len(inverse):  # sparse X does not store the value 0
            at = (edges < 0).sum(axis=1)
            each = np.arange(len(features))
            sums[each, 2 * at + (edges[each, at] == 0)] += totals - sums.sum(axis=1)
        return edges, sums

    def sums_of(self, feature):
        """Edges of a feature and the sums of its buckets."""
        (edges,), (sums,) = self.sums(np.array([feature]))
        return edges, sums

    def between_edges(self, feature, edges, sums, best):
        """Best cut between edges of a feature, or `best`."""
        (X, inverse, rows), totals = self._columns, self._leaf.totals
        below, values = np.zeros((len(sums) + 1, len(totals))), np.empty(len(rows))
        np.cumsum(sums, axis=0, out=below[1:])
        is_open = np.zeros(len(edges), bool)
        _open_intervals(feature, sums, below, totals, best, is_open)
        some, at = np.empty((2, len(rows)), np.int64)
        n = _rows_inside(X, inverse, rows, feature, edges, is_open, values, some, at)
        order = np.argsort(values[:n], kind="stable")
        terms = (values[order], at[order], self._savings(some[order]), below, totals)
        return _try_values(feature, *terms, best)


def savings_of(leaf, places):
    """What rows save under each of the other labels, and at most: float64 array."""
    rows, nearest = leaf.rows[places], leaf.nearest[places]
    saved = np.empty((len(rows), len(leaf.totals)))
    terms = (leaf.weight, leaf.scale, leaf.cap, leaf.best_label, leaf.others, saved)
    _fill_savings(leaf.distances, rows, nearest, *terms)
    return saved


@jit
def _fill_savings(distances, rows, nearest, weight, scale, cap, own, others, saved):
    n_others = others.shape[0]
    for r in range(rows.shape[0]):
        row, least, times = rows[r], nearest[r], weight[rows[r]]
        paid = _price(distances[row, own], least, scale, times, cap)
        for q in range(n_others):
            saved[r, q] = paid - _price(distances[row, others[q]], least, scale, times, cap)
        saved[r, n_others] = paid


@jit
def _price(distance, least, scale, times, cap):
    """What a row pays under a label beyond its nearest centre's, a whole number."""
    paid = np.rint(np.rint((distance - least) * scale) * times)
    return paid if paid < cap else cap


@jit
def label_terms(distances, rows, nearest, weight, scale, cap):
    """What rows pay under each label, which label is best, and what others save rows of it.

    Parameters
    ----------
    distances : float64 array of shape (n, k)
    rows : int64 array of shape (m,)
    nearest, weight : float64 arrays of shape (n,)
    scale : float, power of two
    cap : float, largest price

    Returns
    -------
    costs : float64 array of shape (k,), whole numbers
    own : int, ties to the lowest
    savings : float64 array of shape (k,), whole numbers
    """
    n_labels, own = distances.shape[1], 0
    costs, savings = np.zeros(n_labels), np.zeros(n_labels)
    for row in rows:
        least, times = nearest[row], weight[row]
        for c in range(n_labels):
            costs[c] += _price(distances[row, c], least, scale, times, cap)
    for c in range(n_labels):
        own = c if costs[c] < costs[own] else own
    for row in rows:
        least, times = nearest[row], weight[row]
        paid = _price(distances[row, own], least, scale, times, cap)
        for c in range(n_labels):
            savings[c] += max(paid - _price(distances[row, c], least, scale, times, cap), 0.0)
    return costs, own, savings


def sparse_savings_bounds(X, leaf, n_features):
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
def _below(value, edges):
    """Number of edges below a value, by a search without branches.

    Its number of steps is known when it is compiled: three times as fast as any other number.
    """
    at, step = 0, N_EDGES // 2 + 1
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return at


@jit
def _add_savings(X, inverse, rows, features, savings, edges, step, sums):
    """Add the rows' savings to their buckets of each feature."""
    values, places, buckets = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    n_sums = savings.shape[1]
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(features.shape[0]):
            edge, total = edges[f], sums[f]  # views cost more than what is done per row
            n = entries(X, inverse, rows, features[f], start, stop, values, places)
            for i in range(n):
                at = _below(values[i], edge)
                buckets[i] = 2 * at + (1 if edge[at] == values[i] else 0)
            for i in range(n):  # apart from the search: twice as fast
                bucket, place = buckets[i], start + places[i]
                for q in range(n_sums):
                    total[bucket, q] += savings[place, q]


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
def _rows_inside(X, inverse, rows, feature, edges, is_open, values, some, at):
    """Enter the rows in open intervals between edges, with their values and intervals.

    Returns how many they are.
    """
    gather(X, inverse, rows, feature, values)
    n = 0
    for r in range(rows.shape[0]):
        value, below = values[r], _below(values[r], edges)
        values[n], some[n], at[n] = value, r, below
        n += is_open[below] and edges[below] != value
    return n


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
