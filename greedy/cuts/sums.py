"""One pass over a node's rows: what the cuts at the edges of its features cost and may save.

Cached kernels of another file do not see an edit here; touch those that import it after one.
"""

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

_CHUNK = 256  # rows whose values of a feature are copied side by side before they are compared


def _gather_dense(X, feature, rows, slot, out):
    for r in range(rows.shape[0]):
        out[r] = X[rows[r], feature]


def _gather_csc(X, feature, rows, slot, out):
    data, indices, indptr = X
    out[: rows.shape[0]] = 0.0
    for s in range(indptr[feature], indptr[feature + 1]):
        r = slot[indices[s]]
        if r >= 0:
            out[r] = data[s]


# Values of a feature for some rows.
gather = by_layout(_gather_dense, _gather_csc)


@jit
def _fold(above, total, rank, cost, gain):
    """Add rows of one label to the price of each segment and to what can be saved inside it.

    above[j] is the price of those of the rows that lie above edge j, `total` of all of them.
    """
    for j in range(above.shape[0] - 1):
        if rank <= j:  # their centre is on the left: parted if above the edge
            cost[j] += above[j]
            gain[j] += above[j] - above[j + 1]
        else:
            cost[j] += total - above[j]


@jit
def _sums_above(values, price, edges, above):
    n = edges.shape[0]
    for j in range(0, n, 4):  # four edges a pass over the values, which then stay in registers
        a, b, c, d = (
            edges[j],
            edges[min(j + 1, n - 1)],
            edges[min(j + 2, n - 1)],
            edges[min(j + 3, n - 1)],
        )
        at_a = at_b = at_c = at_d = 0
        for r in range(values.shape[0]):
            value, paid = values[r], price[r]
            at_a += paid if value > a else 0
            at_b += paid if value > b else 0
            at_c += paid if value > c else 0
            at_d += paid if value > d else 0
        above[min(j + 3, n - 1)] = at_d
        above[min(j + 2, n - 1)] = at_c
        above[min(j + 1, n - 1)] = at_b
        above[j] = at_a


def _parting_sums_dense(X, slot, node, edges, rank, lo, cost, gain, right):
    values, above = np.empty(_CHUNK), np.empty(edges.shape[1], np.int64)
    first, n_features = node.first, edges.shape[0]
    # Where rows are contiguous, all features of some rows; else all rows of a feature.
    step = n_features if X.strides[0] > X.strides[1] else 1
    for begin in range(0, n_features, step):
        for label in range(first.shape[0] - 1):
            for start in range(first[label], first[label + 1], _CHUNK):
                stop = min(start + _CHUNK, first[label + 1])
                rows, price = node.rows[start:stop], node.price[start:stop]
                chunk, total = values[: stop - start], price.sum()
                for f in range(begin, begin + step):
                    gather(X, lo + f, rows, slot, chunk)
                    _sums_above(chunk, price, edges[f], above)
                    _fold(above, total, rank[f, label], cost[f], gain[f])
                    if right.shape[1]:
                        _sums_above(chunk, node.mass[start:stop], edges[f], above)
                        for j in range(above.shape[0]):  # as arrays they compile for long
                            right[f, j] += above[j]


@jit
def _add_above(amount, value, edges, above):
    for j in range(edges.shape[0]):
        above[j] += amount if value > edges[j] else 0


def _parting_sums_csc(X, slot, node, edges, rank, lo, cost, gain, right):
    data, indices, indptr = X
    first, label, price, mass = node.first, node.label, node.price, node.mass
    totals = np.array([price[first[g] : first[g + 1]].sum() for g in range(first.shape[0] - 1)])
    above = np.empty((totals.shape[0], edges.shape[1]), np.int64)
    for f in range(edges.shape[0]):
        above[:] = 0
        edge, zeros, zero_mass = edges[f], totals.copy(), mass.sum()
        for s in range(indptr[lo + f], indptr[lo + f + 1]):
            r = slot[indices[s]]
            if r < 0:
                continue
            _add_above(price[r], data[s], edge, above[label[r]])
            zeros[label[r]] -= price[r]
            if right.shape[1]:
                _add_above(mass[r], data[s], edge, right[f])
                zero_mass -= mass[r]
        if right.shape[1]:
            _add_above(zero_mass, 0.0, edge, right[f])
        for g in range(totals.shape[0]):
            _add_above(zeros[g], 0.0, edge, above[g])
            _fold(above[g], totals[g], rank[f, g], cost[f], gain[f])


# Price, possible saving and mass to the right of each segment.
#
# Adds to arrays of shape (features, centres), int64: `cost`, what the rows parted at edge j
# pay; `gain`, the part of it that larger thresholds in segment j can save; `right`, the mass
# above edge j (no columns without masses).
parting_sums = by_layout(_parting_sums_dense, _parting_sums_csc)
