"""Kernels for the cut of a leaf that reduces its surrogate cost most.

A label is the number of a reference centre. The surrogate cost of a tree assigns all rows of a leaf
to one label, the one with the least total cost. The saving of a row under another label is the cost
of the row under the leaf's present label minus its cost under the other label; it may be negative.
All costs are quantized (see :mod:`greedy.cuts`).

The edges of a feature are candidate thresholds, taken from the values of some rows. The edges
divide the values into buckets: one for each edge, and one for each open interval between two edges.
One pass over the rows sums their savings, per bucket and label. The sums give the exact saving of a
cut at each edge and upper bounds of the saving of all other cuts. Only the rows in intervals that
may contain a better cut are sorted.
"""

import numpy as np

from tao_cluster._utils.jit import jit

from ..sorted_columns import entries, gather, is_better, is_hopeless, rows_at_a_time

# Largest number of edges per feature, one less than a power of two. More edges give tighter bounds,
# but take more memory and time for the sums.
N_EDGES = 31

_BLOCK = 64  # features per pass over a dense X; their sums fit into the processor's cache
_FEW = 8  # features per pass over a sparse X; usually the search ends after a few
_KEPT = 2**20  # maximum number of savings or sums in memory at a time (8 bytes each: 8 MB)


def surrogate_cut(X, inverse, leaf, edges, stored, lo, hi):
    """Find the cut of a leaf that reduces its surrogate cost most, over features lo..hi-1.

    After a cut each side gets its best label (Frost, Moshkovitz & Rashtchian 2020, section 3). The
    pass over the rows takes O(m q) time per feature, for m rows and q labels in `leaf.others`.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `leaf.rows`; empty for a dense X
    leaf : greedy.nodes.SurrogateNode
    edges : (values, start), result of :meth:`greedy.builder_input.BuilderInput.distinct_values`
        Candidate thresholds, taken from the values of some rows; at most N_EDGES per feature are
        used. The values should come from rows that cost less under a label other than
        `leaf.best_label`. Only these rows have positive savings, and the bound of an interval is
        tighter if fewer of these rows lie in it.
    stored : float64 array of shape (d,)
        For a sparse X, upper bounds of the saving of each feature's cuts
        (:func:`sparse_savings_bounds`); empty for a dense X.
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the sum of the savings of both sides, so that lower is better. The
        feature is -1 if no cut reduces the surrogate cost.
    """
    search = _Search(X, inverse, leaf, edges, len(stored) > 0)
    features = np.arange(lo, hi)
    if len(stored):  # the largest bounds first, so that most features are never evaluated
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
    """Search for the best cut of one leaf.

    The search sums the savings of the rows (see :func:`savings_of`) for each feature, label and
    bucket of values of the feature (see :meth:`sums`).
    """

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

        Bucket 2 i + 1 holds the rows whose value equals edge i. Bucket 2 i holds the rows whose
        value lies between the edges i - 1 and i.

        Returns
        -------
        edges : float64 array of shape (n_features, N_EDGES + 1), padded with inf
        sums : float64 array of shape (n_features, n_buckets, q + 1)
            Sums of the columns of :func:`savings_of` over the rows of each bucket.
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
        if len(inverse):  # add the savings of rows with a zero, which a sparse X does not store
            at = (edges < 0).sum(axis=1)
            each = np.arange(len(features))
            sums[each, 2 * at + (edges[each, at] == 0)] += totals - sums.sum(axis=1)
        return edges, sums

    def sums_of(self, feature):
        """Return the edges of one feature and the sums of its buckets."""
        (edges,), (sums,) = self.sums(np.array([feature]))
        return edges, sums

    def between_edges(self, feature, edges, sums, best):
        """Return the best cut of a feature that is not at an edge, or `best` if that is better."""
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
    """Compute the savings of some rows of a leaf, given by their positions in `leaf.rows`.

    Returns
    -------
    float64 array of shape (len(places), q + 1)
        Columns 0..q-1 are the savings under the q labels in `leaf.others`. Column q is the saving
        of each row under the label that is best for this row.
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
        saved[r, n_others] = cost  # under the nearest centre the excess cost is 0


@jit
def _excess_cost(distance, least, scale, weight, cap):
    """Return the quantized excess cost of a row; see :func:`greedy.nodes.quantized`.

    `distance` is the cost of the row in a centre, `least` its cost in the nearest centre, and `cap`
    the largest allowed result.
    """
    cost = np.rint(np.rint((distance - least) * scale) * weight)
    return cost if cost < cap else cap


@jit
def label_terms(distances, rows, nearest, weight, scale, cap):
    """Compute the total cost of some rows under each label, the best label, and positive savings.

    Parameters
    ----------
    distances : float64 array of shape (n, k)
        Cost of each row of X in each centre.
    rows : int64 array of shape (m,)
        Row numbers, in X, of the rows.
    nearest, weight : float64 arrays of shape (n,)
        Cost of each row in its nearest centre, and the weight of each row.
    scale : float, power of two by which costs are multiplied before they are rounded
    cap : float, largest quantized cost

    Returns
    -------
    costs : float64 array of shape (k,), sum of the quantized excess costs of the rows
    own : int, the label with the least cost; if several have this cost, the lowest label
    savings : float64 array of shape (k,)
        For each label, the sum of (cost under `own`) - (cost under the label) over the rows for
        which this difference is positive.
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

    All rows with a zero lie on the same side of a cut. The rows on the other side therefore all
    have a stored (non-zero) value of the feature. Their saving is at most the sum of the savings
    under the label that is best for each row. The saving of the side with the zeros, under some
    label, is at most the saving of all rows of the leaf under this label, plus the sum of the
    losses (minus the negative savings) of the rows with a stored value.

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
    # If one sum of losses per feature and label takes too much memory, one sum per feature is used:
    # that of the largest loss of each row under any label.
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
    """Add terms[r] to sums[feature] for each feature of which rows[r] has a stored value in X."""
    _, indices, indptr = X
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            for q in range(sums.shape[1]):
                sums[indices[s], q] += terms[r, q]


@jit
def _below(value, edges):
    """Return the number of edges less than a value, by a binary search without branches.

    This function is three times as fast as :func:`greedy.sorted_columns.edges_below`, because its
    number of steps is a compile-time constant.
    """
    at, step = 0, N_EDGES // 2 + 1
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return at


@jit
def _add_savings(X, inverse, rows, features, savings, edges, step, sums):
    """Add savings[r] to sums[f, bucket of rows[r]], in place, for each of some features.

    The buckets are explained in `_Search.sums`. `step` is the number of rows that are processed at
    a time.
    """
    values, places, buckets = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    n_sums = savings.shape[1]
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(features.shape[0]):
            edge, total = edges[f], sums[f]  # before the loops, as views are slow
            n = entries(X, inverse, rows, features[f], start, stop, values, places)
            for i in range(n):
                at = _below(values[i], edge)
                buckets[i] = 2 * at + (1 if edge[at] == values[i] else 0)
            for i in range(n):  # two loops are twice as fast as one that also searches the bucket
                bucket, place = buckets[i], start + places[i]
                for q in range(n_sums):
                    total[bucket, q] += savings[place, q]


@jit
def _saved(left, inside, totals):
    """Return an upper bound of the saving of a cut, exact if `inside` is zero.

    `left`, `inside` and `totals` are sums of the columns of :func:`savings_of`: over the rows that
    are surely on the left, over the rows that may be on either side, and over all rows of the leaf.
    A row that may be on either side saves at most what it saves under the label best for this row.
    """
    at_left = at_right = 0.0
    last = totals.shape[0] - 1
    for q in range(last):
        at_left = max(at_left, left[q])
        at_right = max(at_right, totals[q] - left[q] - inside[q])
    return at_left + at_right + inside[last]


@jit
def _try_edges(features, edges, sums, totals, bounds, best):
    """Return the best cut at an edge of some features if it is better than `best`, else `best`.

    The function also writes to `bounds`, for each feature, a lower bound of the value (minus the
    saving) of all cuts that are not at an edge.
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
    """Set is_open[i] if a cut between edges i - 1 and i may be better than the cut `best`.

    `sums` are the sums of the savings in each bucket, and `below` those in all buckets before it.
    """
    for i in range((sums.shape[0] + 1) // 2):
        bound = -_saved(below[2 * i], sums[2 * i], totals)
        is_open[i] = not is_hopeless(bound, feature, best)


@jit
def _rows_inside(X, inverse, rows, feature, edges, is_open, values, some, at):
    """Collect the rows inside the intervals that `is_open` marks, and return their number.

    The function writes their values of the feature to `values`, their positions in `rows` to `some`
    and the numbers of their intervals to `at`. Rows whose value equals an edge are left out.
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
    """Return the best cut at one of some sorted values if it is better than `best`, else `best`.

    Parameters
    ----------
    feature : int
    values : float64 array of shape (m,), increasing values of m rows
    at : int array of shape (m,)
        For each value, the number of the interval between two edges in which it lies.
    savings : float64 array of shape (m, q + 1), what the row of each value saves under each label
    below : float64 array of shape (n_buckets, q + 1)
        Sums of the savings of all rows in the buckets before each bucket; see :meth:`_Search.sums`.
    totals : float64 array of shape (q + 1,), sums of the savings of all rows of the leaf
    best : (value, feature, threshold) of the best cut so far
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
