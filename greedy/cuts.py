"""What the searches for the best axis-aligned cut of a tree node share: costs, bins, intervals.

Terms
-----
row, weight
    A row is one row of X. Each fit merges equal rows first. The weight of a row is then the number
    (or the total sample weight) of the equal rows that were merged.
rows
    int64 array of shape (m,): the row numbers, in X, of the m rows that reach the node.
n, d, k
    Numbers of rows of X, of features and of reference centres (clusters).
cut
    A test ``x[feature] <= threshold``; rows that satisfy it go left. It is a tuple (value, feature,
    threshold). Lower values are better; ties go to the lowest feature, then to the lowest
    threshold. Therefore the best cut is the smallest tuple.
inverse
    int64 array of shape (n,), the inverse index of `rows`: ``inverse[rows[i]] == i``, and -1 for
    rows that are not in the node. It is empty for a dense X, which does not need it.
excess cost
    Increase in the cost of a row when it is assigned to a centre that is not its nearest one.
quantized
    Multiplied by a power of two (`scale`) and rounded to an integer, such that all sums over a
    node stay below 2 ** 53; see :func:`quantized`. Sums of quantized numbers are exact in float64.
    Therefore a sum does not depend on the order of the rows, two cuts that divide the rows alike
    have exactly the same value, and the result does not depend on the number of threads.
mass
    Quantized weight.
lo, hi
    A search covers the features lo..hi-1. Each thread searches its own range of features.

Branch and bound
----------------
`separating_cuts.py` and `surrogate_cuts.py` evaluate each feature at a few candidate thresholds,
called edges. :func:`bin_sums` adds up terms of the rows between the edges, in one pass. The sums
give the criterion at the edges, and a bound of the criterion for the thresholds between two edges.
:func:`search_intervals` then searches those intervals whose bound is at least as good as the best
cut so far. Only rows inside these intervals are sorted.

The other searches sort all rows of a node: see `sorted_columns.py` and the files of the methods.
"""

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

# Sums of quantized numbers stay below 2 ** 53, so that float64 represents them exactly.
BITS = 52

# The quantization is too coarse if the quantized cost of some row is below this many times its
# rounding error, which is then more than about 0.1 % of the cost.
COARSE = 2**10

_CHUNK = 256  # rows of a dense X per block, few enough to stay in the processor's cache
_MANY = 32  # with more edges per feature, binary search is faster than a linear scan


# ---------------------------------------------------------------- quantized costs


def quantized(excess, scale, weight, cap):
    """Quantize excess costs: express weighted costs as integers, in units of 1 / scale.

    The cost of a row is rounded before it is multiplied by the weight, so that a row with an
    integer weight costs exactly as much as that many rows of weight 1.

    Parameters
    ----------
    excess : float64 array, increase of the cost for weight 1
    scale : float, power of two
    weight : float64 array that broadcasts with `excess`
    cap : float, largest quantized cost; larger ones are replaced by it

    Returns
    -------
    float64 array of integers
    """
    costs = np.rint(excess * scale)
    costs *= weight
    return np.minimum(np.rint(costs, out=costs), cap, out=costs)


def quantization_scale(largest_sum, n_rows, cap=np.inf):
    """Choose a scale for which the quantized costs of a node sum to less than 2 ** 53.

    Parameters
    ----------
    largest_sum : float, largest possible sum of costs
    n_rows : int
    cap : float, optional
        Upper bound of the costs of interest, in the unit of the distances. Larger costs are
        replaced by it.

    Returns
    -------
    scale : float, power of two
    cap : float, the given `cap` in units of 1 / scale, rounded up
    """
    if largest_sum == 0:
        return 1.0, np.inf
    largest_sum = min(largest_sum, cap * n_rows)
    scale = float(np.exp2(min(BITS - np.frexp(largest_sum)[1], 900)))
    return scale, float(np.ceil(cap * scale))


def refined_cap(cost, weight, scale):
    """Return an upper bound of the least cost if its quantization is too coarse, else None.

    A few very distant rows can make the quantization unit so large that the costs of all other
    rows round to 0. The costs are then quantized again, with a finer unit, after costs above the
    bound are replaced by the bound. Such costs cannot be part of the least cost.

    Parameters
    ----------
    cost : float, least quantized cost
    weight : float64 array of shape (m,), weights of the rows
    scale : float, number of quantization units per unit of the distances

    Returns
    -------
    float, in the unit of the distances, or None
    """
    error = (len(weight) + weight.sum()) / 2  # largest error of a sum of costs, each rounded twice
    return (cost + 2 * error) / scale if cost < COARSE * error else None


# ---------------------------------------------------------------- branch and bound


def bin_sums(
    points, rows, inverse, features, edges, terms, *, group=None, n_groups=1, marks_edges=False
):
    """Sum terms of the rows for each feature, group of rows, and bin between edges.

    The bin of a row is the number of edges below its value. If `marks_edges`, rows whose value
    equals an edge have a bin of their own: bin 2 i + 1 for edge i. Bin 2 i then holds the rows
    between the edges i - 1 and i.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array of shape (m,)
    inverse : inverse index of `rows`
    features : int array of shape (F,)
    edges : float64 array of shape (F, number of edges)
        Increasing in each row. If `marks_edges`, the last one must be inf.
    terms : float64 array of shape (m, q), quantized
    group : int array of shape (m,), optional
        Numbers in 0..n_groups-1; by default all rows are in one group.

    Returns
    -------
    float64 array of shape (F, n_groups, number of bins, q)
    """
    group = np.empty(0, np.int64) if group is None else group
    n_bins = 2 * edges.shape[1] - 1 if marks_edges else edges.shape[1] + 1
    sums = np.zeros((len(features), n_groups * n_bins, terms.shape[1]))
    step = max(1, len(rows)) if len(inverse) else _CHUNK  # a sparse column is read as a whole
    args = (features, edges, group, n_bins, terms, step, marks_edges, sums)
    _add_to_bins(points.columns, inverse, rows, *args)
    sums = sums.reshape(len(features), n_groups, n_bins, -1)
    if len(inverse):  # add the rows with a zero, which a sparse X does not store
        totals = terms.sum(axis=0)
        if len(group):
            totals = np.array([np.bincount(group, column, n_groups) for column in terms.T]).T
        at, each = (edges < 0).sum(axis=1), np.arange(len(features))
        if marks_edges:
            at = 2 * at + (edges[each, at] == 0)
        sums[each, :, at] += totals - sums.sum(axis=2)
    return sums


@jit
def _add_to_bins(X, inverse, rows, features, edges, group, n_bins, terms, step, marks_edges, sums):
    """Add terms[r] to sums[feature, group[r] * n_bins + bin of r]; see :func:`bin_sums`.

    `step` is the number of rows that are processed at a time.
    """
    n_edges, n_terms = edges.shape[1], terms.shape[1]
    values, places, bins = np.empty(step), np.empty(step, np.int64), np.empty(step, np.int64)
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        for f in range(features.shape[0]):
            edge, total = edges[f], sums[f]  # before the loops, as views are slow
            n = _entries(X, inverse, rows, features[f], start, stop, values, places)
            for i in range(n):
                bins[i] = _n_below(values[i], edge) if n_edges > _MANY else 0
            for e in range(0, n_edges if n_edges <= _MANY else 0, 2):
                one, two = edge[e], edge[e + 1] if e + 1 < n_edges else np.inf
                for i in range(n):  # the compiler vectorizes this loop, but not a binary search
                    bins[i] += (values[i] > one) + (values[i] > two)
            for i in range(n if marks_edges else 0):
                bins[i] = 2 * bins[i] + (edge[bins[i]] == values[i])
            for i in range(n if group.shape[0] else 0):
                bins[i] += group[start + places[i]] * n_bins
            for i in range(n):  # separate loops are twice as fast as one
                at, row = bins[i], start + places[i]
                for q in range(n_terms):
                    total[at, q] += terms[row, q]


def _entries_dense(X, inverse, rows, feature, first, last, values, places):
    for i in range(last - first):
        values[i], places[i] = X[rows[first + i], feature], i
    return last - first


def _entries_csc(X, inverse, rows, feature, first, last, values, places):
    data, indices, indptr = X
    n = 0
    for s in range(indptr[feature], indptr[feature + 1]):
        place = inverse[indices[s]]
        if place >= 0 and data[s] != 0:
            values[n], places[n] = data[s], place
            n += 1
    return n


# Write the values of a feature for rows[first:last] to `values`, and their positions in that slice
# to `places`. Return their number. For a sparse X, the slice must be all rows; zeros are left out.
_entries = by_layout(_entries_dense, _entries_csc)


@jit
def _n_below(value, edges):
    """Return the number of edges below a value, by a binary search without branches."""
    at, n = 0, edges.shape[0]
    while n > 1:
        half = n // 2
        at += half if edges[at + half - 1] < value else 0
        n -= half
    return at + (edges[at] < value)


def search_intervals(bounds, features, best, search):
    """Return the best cut, given the best one at the edges, by a search inside of intervals.

    Intervals are searched in the order of their bounds, until no bound is better than the best cut.

    Parameters
    ----------
    bounds : float64 array of shape (number of features, number of intervals)
        Lower bound of the values of the cuts in each interval.
    features : int array, the feature of each row of `bounds`
    best : tuple (value, feature, threshold)
    search : callable(position of the feature, interval, value of the best cut so far) -> cut
        It returns the best cut in an interval, or a cut of value inf if none is as good as the
        best one so far.
    """
    chosen = np.flatnonzero((bounds <= best[0]) & (bounds < np.inf))
    for interval in chosen[np.argsort(bounds.ravel()[chosen], kind="stable")].tolist():
        i, j = divmod(interval, bounds.shape[1])
        if bounds[i, j] > best[0]:
            break
        if (bounds[i, j], features[i]) <= best[:2]:
            best = min(best, search(i, j, best[0]))
    return best


def first_best(values, feature, thresholds):
    """Return the cut of a feature with the least value; ties go to the lowest threshold.

    Parameters
    ----------
    values : float64 array of shape (m,), values of the cuts of a feature
    feature : int
    thresholds : float64 array of shape (m,), not decreasing
        If several thresholds are equal, the last one of them counts: all rows of this value
        have then moved to the left.
    """
    is_last = np.append(thresholds[1:] != thresholds[:-1], True)
    values = np.where(is_last, values, np.inf)
    at = int(values.argmin())
    return float(values[at]), feature, float(thresholds[at])
