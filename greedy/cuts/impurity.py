"""Kernels that sort every feature of a node and evaluate a criterion at all cuts.

The criteria are Gini impurity (`gini_cut`, for ExKMC), the sum of squared distances to the mean
(`deviance_cut`, for CUBT), the density of a region (`density_cut`, for CLTree) and the distance
between two groups (`spacing_cut`, for single linkage).

Two cuts that are equally good must have exactly the same value. Otherwise rounding errors would
choose between them, and not the rule that the lowest feature and threshold win. Gini impurity is
computed from quantized weights (rounded to integers), whose sums are exact. The deviance and the
density of a cut are rounded before they are compared, and the spacing is the given length of an
edge.
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

from ..sorted_columns import entries, gather, is_better, stable_order

_ROUNDED = 2.0**40  # savings are rounded to multiples of (deviance of the node) / _ROUNDED
_LEAST_GAIN = 1e-12  # in bits per unit of mass; smaller information gains are rounding errors


class DevianceNode(NamedTuple):
    """Input of :func:`deviance_cut`: one tree node with m of the n rows of X."""

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the node
    weight: np.ndarray  # (n,) float64, weight of each row of X
    total: float  # total weight of the m rows
    mean: np.ndarray  # (d,) float64, weighted mean of the m rows
    deviance: float  # weighted sum of the squared distances of the m rows to `mean`


class Region(NamedTuple):
    """Input of :func:`density_cut`: m rows of X in a box, and uniform points in the same box.

    CLTree looks for cuts that separate the rows from imaginary points, which are distributed
    uniformly in the box.
    """

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows in the box
    mass: np.ndarray  # (n,) int64, quantized weight of each row of X
    low: np.ndarray  # (d,) float64, lower corner of the box
    high: np.ndarray  # (d,) float64, upper corner of the box
    n_uniform: float  # total mass of the imaginary uniform points


@jit
def _stored_values(X, inverse, rows, feature):
    """Return the values of a feature for some rows, and the position of each value in `rows`.

    If X is sparse, only the stored (non-zero) values are returned.
    """
    values, places = np.empty(rows.shape[0]), np.empty(rows.shape[0], np.int64)
    n = entries(X, inverse, rows, feature, 0, rows.shape[0], values, places)
    return values[:n], places[:n]


# ---------------------------------------------------------------- Gini impurity (ExKMC)


@jit
def gini_cut(X, inverse, node, lo, hi):
    """Find the cut that reduces the Gini impurity of the labels most, over features lo..hi-1.

    The impurity of a set of rows of total mass M, of which the mass m_c has the label c, is
    M - sum_c m_c ** 2 / M. The kernel takes O(m log m) time per feature, for m rows in the node.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `node.rows`; empty for a dense X
    node : greedy.nodes.ImpurityNode
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the fraction by which the impurity is reduced, so that lower is better.
        The feature is -1 if all rows have the same label or no feature has two values. Masses and
        their squares are integers, so that equally good cuts have exactly the same value.
    """
    total = squares = 0.0
    for c in range(node.totals.shape[0]):
        total += node.totals[c]
        squares += node.totals[c] * node.totals[c]
    before = squares / total if total > 0.0 else total  # impurity = M - before
    best, values = (1.0, np.int64(-1), np.inf), np.empty(node.rows.shape[0])
    left, totals, labels, masses = (
        np.empty(node.totals.shape[0]),
        node.totals,
        node.label,
        node.mass,
    )
    for f in range(lo, hi if before < total else lo):
        gather(X, inverse, node.rows, f, values)
        order, squares_left, squares_right, mass_left = stable_order(values), 0.0, squares, 0.0
        left[:] = 0.0
        for i in range(order.shape[0] - 1):
            label, mass, value = labels[order[i]], masses[order[i]], values[order[i]]
            squares_left += mass * (2.0 * left[label] + mass)
            squares_right -= mass * (2.0 * (totals[label] - left[label]) - mass)
            left[label] += mass
            mass_left += mass
            if value < values[order[i + 1]] and 0.0 < mass_left < total:
                purity = squares_left / mass_left + squares_right / (total - mass_left)
                if -purity < best[0]:
                    best = (-purity, np.int64(f), value)
    if best[1] < 0:
        return 0.0, best[1], best[2]
    return (best[0] + before) / (total - before), best[1], best[2]


# ---------------------------------------------------------------- deviance (CUBT)


@jit
def _try_deviance(squared_sum, inside, node, feature, threshold, best):
    """Evaluate one cut and return it if it is better than the cut `best`, else return `best`.

    One side of the cut has the total weight `inside`, the other side the rest of the node's weight,
    `outside`. `squared_sum` is the squared norm of D, the weighted sum of (x - mean of the node)
    over the rows x of the first side. The same sum over the other side is -D. The cut therefore
    reduces the deviance by squared_sum * (1 / inside + 1 / outside).
    """
    outside = node.total - inside
    if inside <= 0.0 or outside <= 0.0:
        return best
    saved = squared_sum * (1.0 / inside + 1.0 / outside)
    value = -np.rint(saved / node.deviance * _ROUNDED)
    return (value, feature, threshold) if is_better(value, feature, threshold, best) else best


def _try_feature_dense(columns, view, values, some, node, feature, scratch, best):
    order = stable_order(values)
    scratch[:] = 0.0
    inside = 0.0
    for i in range(order.shape[0] - 1):
        row = node.rows[some[order[i]]]
        weight, squared_sum = node.weight[row], 0.0
        inside += weight
        for j in range(scratch.shape[0]):
            scratch[j] += weight * (np.float64(view[row, j]) - node.mean[j])
            squared_sum += scratch[j] * scratch[j]
        if values[order[i]] < values[order[i + 1]]:
            best = _try_deviance(squared_sum, inside, node, feature, values[order[i]], best)
    return best


def _try_feature_csc(columns, view, values, some, node, feature, scratch, best):
    data, indices, indptr = view
    order = stable_order(values)
    n, n_below = order.shape[0], 0
    norm = (node.mean * node.mean).sum()
    while n_below < n and values[order[n_below]] < 0:
        n_below += 1
    has_zeros = n < node.rows.shape[0]
    # CSC stores no zeros, so the loops below cannot move rows with a zero from side to side. One
    # sweep moves the rows with negative values to the left side, in increasing order. The other
    # sweep moves the rows with positive values to the right side, in decreasing order.
    for step in (1, -1):
        square = product = inside = 0.0
        begin, end = (0, n_below) if step == 1 else (n - 1, n_below - 1)
        for i in range(begin, end, step):
            row = node.rows[some[order[i]]]
            weight, value = node.weight[row], values[order[i]]
            inside += weight
            # `scratch` is S, the weighted sum of the rows that moved. `square` is ||S||^2 and
            # `product` is the dot product of S with the mean of the node.
            for s in range(indptr[row], indptr[row + 1]):
                j, x = indices[s], weight * np.float64(data[s])
                square += x * (2.0 * scratch[j] + x)
                product += x * node.mean[j]
                scratch[j] += x
            if i + step == end and not has_zeros and not 0 <= end < n:
                continue  # no rows remain on the other side
            if i + step == end:
                beyond = 0.0 if has_zeros else values[order[end]]
            else:
                beyond = values[order[i + step]]
            if beyond != value:
                # ||S - inside * mean||^2, computed from the three terms of the square
                squared_sum = max(square - 2.0 * inside * product + inside * inside * norm, 0.0)
                threshold = value if step == 1 else beyond
                best = _try_deviance(squared_sum, inside, node, feature, threshold, best)
        for i in range(begin, end, step):
            row = node.rows[some[order[i]]]
            scratch[indices[indptr[row] : indptr[row + 1]]] = 0.0
    return best


# Return the best cut of one feature if it is better than the cut `best`, else return `best`.
_try_feature = by_layout(_try_feature_dense, _try_feature_csc)


@jit
def deviance_cut(columns, view, inverse, node, lo, hi):
    """Find the cut that reduces the deviance most, over features lo..hi-1.

    The deviance of a set of rows is the weighted sum of their squared distances to their mean,
    measured over all d features. The kernel takes O(m (d + log m)) time per feature, for m rows in
    the node. If X is sparse, d is replaced by the number of non-zeros per row.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    view : X itself if it is dense, else (data, indices, indptr) of its CSR form
        The deviance is that of these values; `columns` may be clipped, see
        :mod:`greedy.leaf_limits`.
    inverse : int64 array of shape (n,), inverse index of `node.rows`; empty for a dense X
    node : DevianceNode, of positive deviance
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the fraction of the deviance that the cut saves, in units of 2 ** -40.
        The saving is the deviance of the node minus the deviances of the two sides. The feature is
        -1 if no cut saves anything.
    """
    best = (0.0, np.int64(-1), np.inf)
    scratch = np.zeros(node.mean.shape[0])
    for f in range(lo, hi):
        values, some = _stored_values(columns, inverse, node.rows, f)
        if values.shape[0] == 0 or (
            values.shape[0] == node.rows.shape[0] and values.min() == values.max()
        ):
            continue
        best = _try_feature(columns, view, values, some, node, f, scratch, best)
    return best


# ---------------------------------------------------------------- density (CLTree)


@jit
def _distinct(values, some, region):
    """Return the sorted distinct values of a feature and the mass of the rows below each value.

    `values` are the stored values of the feature, and `some` their positions in `region.rows`. The
    other rows of the region have the value 0. The array of masses has one element more than the
    array of values: the last element is the mass of all rows.
    """
    order = stable_order(values)
    distinct, below = np.empty(order.shape[0] + 1), np.zeros(order.shape[0] + 2, np.int64)
    zeros = np.int64(0)
    for row in region.rows:
        zeros += region.mass[row]
    for i in some:
        zeros -= region.mass[region.rows[i]]
    has_zeros, n = values.shape[0] < region.rows.shape[0], 0
    for i in range(order.shape[0] + 1):
        value = values[order[i]] if i < order.shape[0] else np.inf
        if has_zeros and value > 0.0:
            distinct[n], below[n + 1] = 0.0, below[n] + zeros
            n, has_zeros = n + 1, False
        if i == order.shape[0]:
            break
        if n == 0 or value > distinct[n - 1]:
            distinct[n], below[n + 1] = value, below[n]
            n += 1
        below[n] += region.mass[region.rows[some[order[i]]]]
    return distinct[:n], below[: n + 1]


@jit
def _entropy(y, n):
    """Return y + n times the entropy, in bits, of the fractions y / (y + n) and n / (y + n).

    y is the mass of some rows, n the mass of the imaginary uniform points.
    """
    total, bits = y + n, 0.0
    if y > 0.0:
        bits -= y * np.log2(y / total)
    if n > 0.0:
        bits -= n * np.log2(n / total)
    return bits


@jit
def _density(part, below, per_length):
    """Return the mass of the rows divided by that of the uniform points in an interval `part`.

    The interval is a tuple (low, first, high, last). It reaches from low to high on the axis of one
    feature, and it contains the distinct values first..last-1 of the feature. `below` is the second
    result of :func:`_distinct`. `per_length` is the mass of the imaginary uniform points per unit
    of length.
    """
    n = (part[2] - part[0]) * per_length
    return (below[part[3]] - below[part[1]]) / n if n > 0.0 else np.inf


@jit
def _best_gain(values, below, part, per_length):
    """Return the cut of an interval with the largest information gain: (position, n_below).

    The rows whose value equals the position may go left or right; the function takes the choice
    with the larger gain. If the position is an end of the interval, one side contains only these
    rows and has length 0. The distinct values 0..n_below-1 of the feature go left. `n_below` is -1
    if no cut has a positive gain. `part` and `per_length` are explained in :func:`_density`.
    """
    low, first, high, last = part
    y, n = float(below[last] - below[first]), (high - low) * per_length
    whole, best = _entropy(y, n), (_LEAST_GAIN * (y + n), low, -1)
    for i in range(first, last):
        for n_below in (i, i + 1):
            place = values[i]
            if (place == low and n_below == first) or (place == high and n_below == last):
                continue  # one side would have no rows and length 0
            y_left, n_left = float(below[n_below] - below[first]), (place - low) * per_length
            gain = whole - _entropy(y_left, n_left) - _entropy(y - y_left, n - n_left)
            if gain > best[0] * (1.0 + 1e-12):
                best = (gain, place, n_below)
    return best[1], best[2]


@jit
def _look_ahead(values, below, whole, per_length):
    """Return the cut of a feature at the edge of a sparse interval: (density, position, n_below).

    This is CLTree's look-ahead, steps 2 to 7 of its algorithm evaluateCuts. The first cut is the
    one with the largest information gain. Up to two further cuts, each inside a sparse part next to
    the previous cut, move it to the place where a dense interval ends. The density is that of the
    sparse interval beside the returned cut. `n_below` is -1 if no cut has a positive gain.
    """
    first = _best_gain(values, below, whole, per_length)
    if first[1] < 0:
        return np.inf, 0.0, -1
    left = (whole[0], whole[1], first[0], first[1])
    right = (first[0], first[1], whole[2], whole[3])
    is_left = _density(left, below, per_length) <= _density(right, below, per_length)
    sparse = left if is_left else right
    second = _best_gain(values, below, sparse, per_length)
    if second[1] < 0:
        return _density(sparse, below, per_length), first[0], first[1]
    left = (sparse[0], sparse[1], second[0], second[1])
    right = (second[0], second[1], sparse[2], sparse[3])
    outer, between = (left, right) if is_left else (right, left)
    density = _density(between, below, per_length)
    if density > _density(outer, below, per_length):
        return _density(outer, below, per_length), second[0], second[1]
    third = _best_gain(values, below, between, per_length)
    if third[1] < 0:
        return density, second[0], second[1]
    left = (between[0], between[1], third[0], third[1])
    right = (third[0], third[1], between[2], between[3])
    density = min(_density(left, below, per_length), _density(right, below, per_length))
    return density, third[0], third[1]


@jit
def density_cut(columns, inverse, region, lo, hi):
    """Find CLTree's cut of a region, over features lo..hi-1: the one beside the sparsest interval.

    The kernel takes O(m log m) time per feature, for m rows in the region.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `region.rows`; empty for a dense X
    region : Region
    lo, hi : int

    Returns
    -------
    (density, feature, threshold, position)
        The density is the ratio of rows to uniform points in the interval beside the cut. The box
        is divided at `position`, and rows go left if their value is at most `threshold`. The
        threshold is the position or, if the rows exactly at the position go right, the next smaller
        float. The feature is -1 if no cut has a positive information gain.
    """
    best, where = (np.inf, np.int64(-1), np.inf), 0.0
    for f in range(lo, hi):
        length = region.high[f] - region.low[f]
        if not length > 0.0:
            continue
        values, below = _distinct(*_stored_values(columns, inverse, region.rows, f), region)
        whole = (region.low[f], 0, region.high[f], values.shape[0])
        density, place, n_below = _look_ahead(values, below, whole, region.n_uniform / length)
        if n_below < 0:
            continue
        is_right = n_below < values.shape[0] and values[n_below] == place
        threshold = np.nextafter(place, -np.inf) if is_right else place
        value = np.float64(np.float32(density))
        if best[1] < 0 or is_better(value, f, threshold, best):
            best, where = (value, f, threshold), place
    return best[0], best[1], best[2], where


# ---------------------------------------------------------------- spacing (single linkage)


@jit
def spacing_cut(X, inverse, rows, ends, squared, lo, hi):
    """Find the cut with the largest spacing between its sides, over features lo..hi-1.

    The spacing is the least distance between a row on the left and a row on the right. It is always
    the length of an edge of the minimum spanning tree of the m rows. Therefore the kernel examines
    only the m - 1 edges of that tree, which takes O(m log m) time per feature.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `rows`; empty for a dense X
    rows : int64 array of shape (m,)
    ends : int64 array of shape (m - 1, 2)
        Edges of the minimum spanning tree, as positions in `rows`.
    squared : float64 array of shape (m - 1,), squared lengths of the edges, in increasing order
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the squared spacing. The threshold is the largest value of the feature on
        the left side. The feature is -1 if no feature has two values.
    """
    best = (np.inf, np.int64(-1), np.inf)
    values, distinct = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    rank = np.empty(rows.shape[0], np.int64)
    for f in range(lo, hi):
        gather(X, inverse, rows, f, values)
        n = 0
        for i in stable_order(values):
            if n == 0 or values[i] != distinct[n - 1]:
                distinct[n] = values[i]
                n += 1
            rank[i] = n - 1
        if n < 2:
            continue
        spacing, gap = _widest_gap(rank, n, ends, squared)
        if -spacing < best[0]:
            best = (-spacing, np.int64(f), distinct[gap])
    return best


@jit
def _widest_gap(rank, n_distinct, ends, squared):
    """Return the largest squared spacing of all cuts of one feature, and the gap of this cut.

    Gap g lies between the distinct values g and g + 1 of the feature; rank[i] is the number of the
    distinct value of row i. The edges of the minimum spanning tree are sorted by length, so the
    length of the first edge that crosses a gap is the spacing of a cut in this gap. A union-find
    structure skips the gaps that a shorter edge crosses.
    """
    after = np.arange(n_distinct)  # leads from each gap to the next one that no edge has crossed
    n_open, best, widest = n_distinct - 1, -np.inf, 0
    for e in range(squared.shape[0]):
        if n_open == 0:
            break
        a, b = rank[ends[e, 0]], rank[ends[e, 1]]
        low, high = min(a, b), max(a, b)
        gap = low
        while gap < high:
            if after[gap] != gap:  # an edge has crossed this gap: follow and shorten the path
                after[gap] = after[after[gap]]
                gap = after[gap]
                continue
            if squared[e] > best or gap < widest:
                best, widest = squared[e], gap
            after[gap] = gap + 1
            n_open -= 1
    return best, widest
