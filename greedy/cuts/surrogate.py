"""Kernels for the cut of a leaf that reduces its surrogate cost most.

The surrogate cost assigns each leaf to the reference centre that costs its rows least. The saving
of a row under another label is how much less it costs than under the leaf's present label; it may
be negative. All costs are quantized (see :mod:`greedy.cuts`).

The edges of a feature are the values of some rows. They divide the values into buckets: one for
each edge, and one for each open interval between two edges. One pass over the rows sums their
savings, per bucket and label. That gives the exact value of the cuts at edges and upper bounds of
the saving of all other cuts. Only the rows in intervals that may contain a better cut are sorted.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..sorted_columns import entries, gather, is_better, is_hopeless, rows_at_a_time

# Largest number of edges per feature, one less than a power of two. More edges give tighter bounds,
# but take more memory and time for the sums.
N_EDGES = 31

_BLOCK = 64  # features of a dense X per pass: their sums stay in the processor's cache
_FEW = 8  # features of a sparse X per pass: bounds usually end the search after a few
_KEPT = 2**20  # number of savings or sums that are kept in memory at a time, 8 MB


def surrogate_cut(X, inverse, leaf, edges, stored, lo, hi):
    """Find the cut of a leaf that reduces its surrogate cost most, over features lo..hi-1.

    After a cut each side gets its best label (Frost, Moshkovitz & Rashtchian 2020, section 3). The
    pass over the rows takes O(m q) per feature, for q labels in `leaf.others`.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `leaf.rows`; empty for a dense X
    leaf : greedy.nodes.SurrogateNode
    edges : (values, start), result of :meth:`greedy.builder_input.BuilderInput.distinct_values`
        Values of some rows; at most N_EDGES per feature are used. The best choice are rows that
        cost less under a label other than `leaf.best_label`. Only these rows have positive savings,
        so that bounds get tighter with fewer of them between two edges.
    stored : float64 array of shape (d,)
        For a sparse X, upper bounds of the saving of each feature's cuts
        (:func:`sparse_savings_bounds`); empty for a dense X.
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the saving. The feature is -1 if no cut saves anything.
    """
    search = _Search(X, inverse, leaf, edges, len(stored) > 0)
    features = np.arange(lo, hi)
    if len(stored):  # by descending bounds, so that most features are never evaluated
        features = lo + np.argsort(-stored[lo:hi], kind="stable")
    best, bounds, kept = (0.0, -1, np.inf), np.full(len(features), np.inf), {}
    width = min(_FEW if len(stored) else _BLOCK, len(features))
    keeps = len(features) * (2 * N_EDGES + 1) * len(leaf.totals) <= _KEPT
    for start in range(0, len(features), width):
        if len(stored) and -stored[features[start]] > best[0]:
            break
        some = slice(start, start + width)
        edge, sums = search.sums(features[some])
        best = _try_edges(features[some], edge, sums, leaf.totals, bounds[some], best)
        if keeps:
            kept.update(zip(features[some].tolist(), zip(edge, sums, strict=True), strict=True))
    for at in np.argsort(bounds, kind="stable"):
        if bounds[at] > best[0] or bounds[at] == np.inf:
            break
        if bounds[at] < best[0] or features[at] <= best[1]:
            feature = int(features[at])
            edge, sums = kept.get(feature) or search.sums_of(feature)
            best = search.between_edges(feature, edge, sums, best)
    return best


class _Search:
    """Sums of the savings of a leaf's rows, per feature, bucket and label."""

    def __init__(self, X, inverse, leaf, edges, is_sparse):
        self._columns, self._leaf, self._edges = (X, inverse, leaf.rows), leaf, edges
        self._n_edges = np.minimum(np.diff(edges[1]), N_EDGES)
        n_rows, n_sums = len(leaf.rows), len(leaf.totals)
        self._step = n_rows if is_sparse else max(1, _KEPT // n_sums)
        self._kept = savings_of(leaf, slice(None)) if n_rows <= self._step else None

    def _savings_at(self, places):
        return savings_of(self._leaf, places) if self._kept is None else self._kept[places]

    def sums(self, features):
        """Return the edges of some features and the sums of their buckets.

        Bucket 2 i + 1 holds the rows at edge i, bucket 2 i those between edges i - 1 and i.

        Returns
        -------
        edges : float64 array of shape (n_features, N_EDGES + 1), padded with inf
        sums : float64 array of shape (n_features, n_buckets, q + 1)
        """
        (X, inverse, rows), totals, (values, start) = self._columns, self._leaf.totals, self._edges
        edges, n_edges = np.full((len(features), N_EDGES + 1), np.inf), self._n_edges[features]
        for i, (first, n) in enumerate(zip(start[features], n_edges, strict=True)):
            edges[i, :n] = values[first : first + n]
        sums = np.zeros((len(features), 2 * n_edges.max() + 1, len(totals)))
        for first in range(0, len(rows), self._step):
            part = slice(first, first + self._step)
            step = rows_at_a_time(inverse, rows[part])
            savings = self._savings_at(part)
            _add_savings(X, inverse, rows[part], features, savings, edges, step, sums)
        if len(inverse):  # add the zeros, which a sparse X does not store
            at = (edges < 0).sum(axis=1)
            each = np.arange(len(features))
            sums[each, 2 * at + (edges[each, at] == 0)] += totals - sums.sum(axis=1)
        return edges, sums

    def sums_of(self, feature):
        """Return the edges of one feature and the sums of its buckets."""
        (edges,), (sums,) = self.sums(np.array([feature]))
        return edges, sums

    def between_edges(self, feature, edges, sums, best):
        """Return the better one of `best` and the best cut between two edges of a feature."""
        (X, inverse, rows), totals = self._columns, self._leaf.totals
        below, values = np.zeros((len(sums) + 1, len(totals))), np.empty(len(rows))
        np.cumsum(sums, axis=0, out=below[1:])
        is_open = np.zeros(len(edges), bool)
        _open_intervals(feature, sums, below, totals, best, is_open)
        some, at = np.empty((2, len(rows)), np.int64)
        n = _rows_inside(X, inverse, rows, feature, edges, is_open, values, some, at)
        order = np.argsort(values[:n], kind="stable")
        terms = (values[order], at[order], self._savings_at(some[order]), below, totals)
        return _try_values(feature, *terms, best)


def savings_of(leaf, places):
    """Compute the savings of the rows at some positions of a leaf.

    Returns
    -------
    float64 array of shape (len(places), q + 1)
        Columns 0..q-1 belong to the labels in `leaf.others`, column q to each row's best label.
    """
    rows, nearest = leaf.rows[places], leaf.nearest[places]
    saved = np.empty((len(rows), len(leaf.totals)))
    terms = (leaf.weight, leaf.scale, leaf.cap, leaf.best_label, leaf.others, saved)
    _fill_savings(leaf.distances, rows, nearest, *terms)
    return saved


@jit
def _fill_savings(distances, rows, nearest, weight, scale, cap, own, others, saved):
    n_others = others.shape[0]
    for r in range(rows.shape[0]):
        row, least, w = rows[r], nearest[r], weight[rows[r]]
        cost = _excess_cost(distances[row, own], least, scale, w, cap)
        for q in range(n_others):
            saved[r, q] = cost - _excess_cost(distances[row, others[q]], least, scale, w, cap)
        saved[r, n_others] = cost  # the nearest centre has excess cost 0


@jit
def _excess_cost(distance, least, scale, weight, cap):
    """Return the quantized excess cost of a row; see :func:`greedy.nodes.quantized`."""
    cost = np.rint(np.rint((distance - least) * scale) * weight)
    return cost if cost < cap else cap


@jit
def label_terms(distances, rows, nearest, weight, scale, cap):
    """Compute the cost of each label for some rows, the best label, and the positive savings.

    Parameters
    ----------
    distances : float64 array of shape (n, k)
    rows : int64 array of shape (m,)
    nearest, weight : float64 arrays of shape (n,)
    scale : float, power of two
    cap : float, largest quantized cost

    Returns
    -------
    costs : float64 array of shape (k,), quantized excess costs of all rows under each label
    own : int, the label with the least cost, the lowest one of ties
    savings : float64 array of shape (k,)
        Sum, over the rows that cost less under this label than under `own`, of the difference.
    """
    n_labels, own = distances.shape[1], 0
    costs, savings = np.zeros(n_labels), np.zeros(n_labels)
    for row in rows:
        least, w = nearest[row], weight[row]
        for c in range(n_labels):
            costs[c] += _excess_cost(distances[row, c], least, scale, w, cap)
    for c in range(n_labels):
        own = c if costs[c] < costs[own] else own
    for row in rows:
        least, w = nearest[row], weight[row]
        cost = _excess_cost(distances[row, own], least, scale, w, cap)
        for c in range(n_labels):
            savings[c] += max(cost - _excess_cost(distances[row, c], least, scale, w, cap), 0.0)
    return costs, own, savings


def sparse_savings_bounds(X, leaf, n_features):
    """Compute upper bounds of the saving of each feature's cuts, for a sparse X.

    One side of every cut has only rows with a stored (non-zero) value. These rows save at most what
    they save under their individually best labels. The other side consists of all rows of the leaf
    without them. Under a label its saving is at most the saving of all rows of the leaf, plus what
    the stored rows lose under that label.

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
    # If a sum per feature and label takes too much memory, one sum bounds all labels from above.
    is_merged = n_features * (n_labels + 1) > _KEPT
    sums = np.zeros((n_features, (1 if is_merged else n_labels) + 1))
    step = max(1, _KEPT // (n_labels + 1))
    for start in range(0, len(rows), step):
        savings = savings_of(leaf, slice(start, start + step))
        losses = np.maximum(-savings[:, :-1], 0.0)
        if is_merged:
            losses = losses.max(axis=1, initial=0.0, keepdims=True)
        _add_stored(X, rows[start : start + step], np.hstack([losses, savings[:, -1:]]), sums)
    most = totals.max(initial=-np.inf, keepdims=True) if is_merged else totals
    return sums[:, -1] + (most + sums[:, :-1]).max(axis=1, initial=0.0)


@jit
def _add_stored(X, rows, terms, sums):
    """Add terms[r] to the sums of each feature of which row r has a stored value."""
    _, indices, indptr = X
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            for q in range(sums.shape[1]):
                sums[indices[s], q] += terms[r, q]


@jit
def _below(value, edges):
    """Return the number of edges below a value, by a binary search without branches.

    The number of steps is a compile-time constant, which makes it three times as fast as
    :func:`greedy.sorted_columns.edges_below`.
    """
    at, step = 0, N_EDGES // 2 + 1
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return at


@jit
def _add_savings(X, inverse, rows, features, savings, edges, step, sums):
    """Add the savings of the rows to the buckets of each feature."""
    values, places, buckets = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    n_sums = savings.shape[1]
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(features.shape[0]):
            edge, total = edges[f], sums[f]  # outside of the loops: a view costs more than a sum
            n = entries(X, inverse, rows, features[f], start, stop, values, places)
            for i in range(n):
                at = _below(values[i], edge)
                buckets[i] = 2 * at + (1 if edge[at] == values[i] else 0)
            for i in range(n):  # a loop of its own is twice as fast
                bucket, place = buckets[i], start + places[i]
                for q in range(n_sums):
                    total[bucket, q] += savings[place, q]


@jit
def _saved(left, inside, totals):
    """Return an upper bound of the saving of a cut, exact if `inside` is zero.

    `left` are the sums over the rows on the left. `inside` are the sums over rows that may be on
    either side; these save at most what they save under their individually best labels.
    """
    at_left = at_right = 0.0
    last = totals.shape[0] - 1
    for q in range(last):
        at_left = max(at_left, left[q])
        at_right = max(at_right, totals[q] - left[q] - inside[q])
    return at_left + at_right + inside[last]


@jit
def _try_edges(features, edges, sums, totals, bounds, best):
    """Return the better one of `best` and the best cut at an edge of some features.

    Writes to `bounds`, for each feature, a lower bound of the value (minus the saving) of all cuts
    between edges.
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
    """Mark the intervals between edges that may contain a better cut than `best`."""
    for i in range((sums.shape[0] + 1) // 2):
        bound = -_saved(below[2 * i], sums[2 * i], totals)
        is_open[i] = not is_hopeless(bound, feature, best)


@jit
def _rows_inside(X, inverse, rows, feature, edges, is_open, values, some, at):
    """Collect the rows inside open intervals: values, positions in the leaf, and intervals.

    Rows at an edge are left out. Returns the number of rows.
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
    """Return the better one of `best` and the best cut at one of some sorted values.

    `at` holds the interval of each value, `below` the sums over the rows below each bucket.
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
