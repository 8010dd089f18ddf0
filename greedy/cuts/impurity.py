"""Kernels that sort every feature of a node and evaluate a criterion at all cuts.

The criteria are Gini impurity (`gini_cut`, for ExKMC), the sum of squared distances to the mean
(`deviance_cut`, for CUBT), the density of a region (`density_cut`, for CLTree) and the distance
between two groups (`spacing_cut`, for single linkage).

Two cuts with the same value must compare equal, so that ties are decided by feature and threshold
and not by rounding. Gini impurity is computed from quantized weights, whose sums are exact. The
values of the other criteria are rounded before they are compared.
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

from ..sorted_columns import entries, gather, is_better, stable_order

_ROUNDED = 2.0**40  # savings are rounded to this fraction of a node's deviance
_LEAST_GAIN = 1e-12  # bits per unit of mass; a smaller information gain is rounding


class DevianceNode(NamedTuple):
    """Input of :func:`deviance_cut`: a node of m rows."""

    rows: np.ndarray  # (m,) int64
    weight: np.ndarray  # (n,) float64
    total: float  # total weight of the rows
    mean: np.ndarray  # (d,) float64
    deviance: float  # weighted sum of squared distances to the mean


class Region(NamedTuple):
    """Input of :func:`density_cut`: m rows in a box, and uniform points that fill the box.

    CLTree separates the rows from imaginary points, which are distributed uniformly in the box.
    """

    rows: np.ndarray  # (m,) int64
    mass: np.ndarray  # (n,) int64, quantized weights
    low: np.ndarray  # (d,) float64, lower corner of the box
    high: np.ndarray  # (d,) float64, upper corner
    n_uniform: float  # mass of the uniform points


@jit
def _stored_values(X, inverse, rows, feature):
    """Return the stored values of a feature and their positions in `rows` (CSC stores no zeros)."""
    values, places = np.empty(rows.shape[0]), np.empty(rows.shape[0], np.int64)
    n = entries(X, inverse, rows, feature, 0, rows.shape[0], values, places)
    return values[:n], places[:n]


# ---------------------------------------------------------------- Gini impurity (ExKMC)


@jit
def gini_cut(X, inverse, node, lo, hi):
    """Find the cut that reduces the Gini impurity of the labels most, over features lo..hi-1.

    The impurity of a set of mass M with label masses m_c is M - sum_c m_c ** 2 / M. It takes
    O(m log m) per feature.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `node.rows`; empty for a dense X
    node : greedy.nodes.ImpurityNode
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the fraction by which the impurity is reduced. The feature is -1 if all
        rows have the same label or no feature has two values. Masses and their squares are
        integers, so that equal cuts tie exactly.
    """
    total = squares = 0.0
    for c in range(node.totals.shape[0]):
        total += node.totals[c]
        squares += node.totals[c] * node.totals[c]
    before = squares / total if total > 0.0 else total  # the sum of m_c ** 2 / M, to be maximized
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
    """Return the better one of `best` and a cut.

    The cut has weight `inside` on one side, and the deviations of the rows of this side from the
    node's mean sum to a vector of squared norm `squared_sum`. The deviations of the other side sum
    to minus that vector, so that both sides together save
    squared_sum * (1 / inside + 1 / outside).
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
            scratch[j] += weight * (np.float64(columns[row, j]) - node.mean[j])
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
    # The zeros are not stored, so they must not change sides. One sweep moves the negative values
    # to the left side in increasing order. The other moves the positive values to the right side
    # in decreasing order.
    for step in (1, -1):
        square = product = inside = 0.0
        begin, end = (0, n_below) if step == 1 else (n - 1, n_below - 1)
        for i in range(begin, end, step):
            row = node.rows[some[order[i]]]
            weight, value = node.weight[row], values[order[i]]
            inside += weight
            # S, the sum of the rows that moved, is kept in `scratch`: ||S||^2 and S.mean.
            for s in range(indptr[row], indptr[row + 1]):
                j, x = indices[s], weight * np.float64(data[s])
                square += x * (2.0 * scratch[j] + x)
                product += x * node.mean[j]
                scratch[j] += x
            if i + step == end:
                beyond = 0.0 if has_zeros or end < 0 or end >= n else values[order[end]]
            else:
                beyond = values[order[i + step]]
            if beyond != value:
                # ||S - inside * mean||^2
                squared_sum = max(square - 2.0 * inside * product + inside * inside * norm, 0.0)
                threshold = value if step == 1 else beyond
                best = _try_deviance(squared_sum, inside, node, feature, threshold, best)
        for i in range(begin, end, step):
            row = node.rows[some[order[i]]]
            scratch[indices[indptr[row] : indptr[row + 1]]] = 0.0
    return best


# Return the better one of `best` and the best cut of a feature.
_try_feature = by_layout(_try_feature_dense, _try_feature_csc)


@jit
def deviance_cut(columns, view, inverse, node, lo, hi):
    """Find the cut that reduces the deviance most, over features lo..hi-1.

    The deviance is the weighted sum of squared distances to the mean, over all d features. It takes
    O(m d) per feature (m times the number of non-zeros per row if X is sparse).

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    view : the same array, or (data, indices, indptr) of the CSR form
    inverse : int64 array of shape (n,), inverse index of `node.rows`; empty for a dense X
    node : DevianceNode, of positive deviance
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the fraction of the deviance that the cut saves, in units of 2 ** -40.
        The feature is -1 if no cut saves anything.
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
    """Return the distinct values of a region's rows and the mass of the rows below each of them.

    The second array has one element more, the mass of all rows.
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
    """Return the entropy in bits of y rows and n uniform points, times y + n."""
    total, bits = y + n, 0.0
    if y > 0.0:
        bits -= y * np.log2(y / total)
    if n > 0.0:
        bits -= n * np.log2(n / total)
    return bits


@jit
def _density(part, below, per_length):
    """Return the ratio of rows to uniform points in an interval of a feature.

    An interval is a tuple (low, first, high, last): its ends, and the range first..last-1 of the
    distinct values in it. `below` is the second result of :func:`_distinct`, `per_length` the mass
    of the uniform points per unit of length.
    """
    n = (part[2] - part[0]) * per_length
    return (below[part[3]] - below[part[1]]) / n if n > 0.0 else np.inf


@jit
def _best_gain(values, below, part, per_length):
    """Return the cut of an interval with the largest information gain: (position, n_below).

    Rows exactly at the position go left or right, whichever gains more. If the position is an end
    of the interval, one side has these rows but no space. `n_below` is the number of distinct
    values that go left, -1 if no cut gains anything.
    """
    low, first, high, last = part
    y, n = float(below[last] - below[first]), (high - low) * per_length
    whole, best = _entropy(y, n), (_LEAST_GAIN * (y + n), low, -1)
    for i in range(first, last):
        for n_below in (i, i + 1):
            place = values[i]
            if (place == low and n_below == first) or (place == high and n_below == last):
                continue  # one side would have neither rows nor space
            y_left, n_left = float(below[n_below] - below[first]), (place - low) * per_length
            gain = whole - _entropy(y_left, n_left) - _entropy(y - y_left, n - n_left)
            if gain > best[0] * (1.0 + 1e-12):
                best = (gain, place, n_below)
    return best[1], best[2]


@jit
def _look_ahead(values, below, whole, per_length):
    """Return the cut of a feature at the edge of a sparse interval: (density, position, n_below).

    This is CLTree's look-ahead, steps 2 to 7 of its algorithm evaluateCuts. Up to two further cuts,
    each in the sparser part of the previous cut, move the cut to the place where a dense interval
    ends. The density is that of the sparse interval beside the cut.
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

    It takes O(m log m) per feature.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `region.rows`; empty for a dense X
    region : Region
    lo, hi : int

    Returns
    -------
    (density, feature, threshold, position)
        The position divides the box. The threshold equals it, except if rows exactly at the
        position go right: then it is the next smaller float. The feature is -1 if no cut gains
        anything.
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
    the length of an edge of the minimum spanning tree of the rows, so that only these m - 1 edges
    are examined. That takes O(m log m) per feature.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), inverse index of `rows`; empty for a dense X
    rows : int64 array of shape (m,)
    ends : int64 array of shape (m - 1, 2)
        Edges of the minimum spanning tree, as positions in `rows`.
    squared : float64 array of shape (m - 1,), squared lengths of the edges, not decreasing
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        The value is minus the squared spacing, the threshold the largest value on the left. The
        feature is -1 if all rows are equal.
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
    """Return the largest squared spacing over the gaps of a feature, and its gap.

    Gap g lies between the distinct values g and g + 1. Edges come in the order of their length, so
    the first edge that crosses a gap is the spacing of the cut there. A union-find structure skips
    the gaps that an edge has crossed already.
    """
    after = np.arange(n_distinct)  # the next gap, from g on, that no edge has crossed
    n_open, best, widest = n_distinct - 1, -np.inf, 0
    for e in range(squared.shape[0]):
        if n_open == 0:
            break
        a, b = rank[ends[e, 0]], rank[ends[e, 1]]
        low, high = min(a, b), max(a, b)
        gap = low
        while gap < high:
            if after[gap] != gap:  # crossed already: follow and halve the path to the next one
                after[gap] = after[after[gap]]
                gap = after[gap]
                continue
            if squared[e] > best or gap < widest:
                best, widest = squared[e], gap
            after[gap] = gap + 1
            n_open -= 1
    return best, widest
