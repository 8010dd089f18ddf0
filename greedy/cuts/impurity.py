"""Kernels for cuts that part what differs: labels, rows, regions by density, or far groups.

They sort every feature of a node. Sums of labels are whole numbers; other results are rounded
before they are compared, so that equal cuts tie in spite of sums of floats.
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

from ..sorted_columns import entries, gather, is_better, stable_order

_ROUNDED = 2.0**40  # parts of a node's deviance that tell two cuts apart
_LEAST_GAIN = 1e-12  # in bits; less is the rounding of entropies


class DevianceNode(NamedTuple):
    """Rows as :func:`deviance_cut` reads them."""

    rows: np.ndarray  # (m,) int64
    weight: np.ndarray  # (n,) float64
    total: float  # weight of the rows
    mean: np.ndarray  # (d,) float64
    deviance: float  # weighted sum of squared distances to the mean


class Region(NamedTuple):
    """Rows in a box that uniform points fill, as :func:`density_cut` reads them."""

    rows: np.ndarray  # (m,) int64
    mass: np.ndarray  # (n,) int64, weights as whole numbers
    low: np.ndarray  # (d,) float64, the box
    high: np.ndarray
    n_uniform: float  # mass of the uniform points


@jit
def _entered(X, inverse, rows, feature):
    """Values of a feature that are stored for some rows, and the places of these rows."""
    values, places = np.empty(rows.shape[0]), np.empty(rows.shape[0], np.int64)
    n = entries(X, inverse, rows, feature, 0, rows.shape[0], values, places)
    return values[:n], places[:n]


# ---------------------------------------------------------------- Gini impurity (ExKMC)


@jit
def gini_cut(X, inverse, node, lo, hi):
    """Cut that takes most from the Gini impurity of a node's labels, over features lo..hi-1.

    The impurity of a set of mass M with label masses m_c is M - sum_c m_c ** 2 / M.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : greedy.nodes.ImpurityNode
    lo, hi : int

    Returns
    -------
    (minus the share of the impurity that goes, feature, threshold)
        Feature -1 if the rows have no two values of any feature, or one label. Masses and squares
        are whole numbers, so that equal cuts tie: they go to the lowest feature and threshold.
    """
    total = squares = 0.0
    for c in range(node.totals.shape[0]):
        total += node.totals[c]
        squares += node.totals[c] * node.totals[c]
    before = squares / total if total > 0.0 else total
    best, values = (1.0, np.int64(-1), np.inf), np.empty(node.rows.shape[0])
    left, totals, labels, masses = (
        np.empty(node.totals.shape[0]),
        node.totals,
        node.label,
        node.mass,
    )
    for f in range(lo, hi if before < total else lo):
        gather(X, inverse, node.rows, f, values)
        order, at_left, at_right, mass_left = stable_order(values), 0.0, squares, 0.0
        left[:] = 0.0
        for i in range(order.shape[0] - 1):
            label, mass, value = labels[order[i]], masses[order[i]], values[order[i]]
            at_left += mass * (2.0 * left[label] + mass)
            at_right -= mass * (2.0 * (totals[label] - left[label]) - mass)
            left[label] += mass
            mass_left += mass
            if value < values[order[i + 1]] and 0.0 < mass_left < total:
                purity = at_left / mass_left + at_right / (total - mass_left)
                if -purity < best[0]:
                    best = (-purity, np.int64(f), value)
    if best[1] < 0:
        return 0.0, best[1], best[2]
    return (best[0] + before) / (total - before), best[1], best[2]


# ---------------------------------------------------------------- deviance (CUBT)


@jit
def _try_deviance(between, inside, node, feature, threshold, best):
    """The better of `best` and a cut with a squared sum of deviations on its one side."""
    outside = node.total - inside
    if inside <= 0.0 or outside <= 0.0:
        return best
    saved = between * (1.0 / inside + 1.0 / outside)
    value = -np.rint(saved / node.deviance * _ROUNDED)
    return (value, feature, threshold) if is_better(value, feature, threshold, best) else best


def _try_feature_dense(columns, view, values, some, node, feature, scratch, best):
    order = stable_order(values)
    scratch[:] = 0.0
    inside = 0.0
    for i in range(order.shape[0] - 1):
        row = node.rows[some[order[i]]]
        weight, between = node.weight[row], 0.0
        inside += weight
        for j in range(scratch.shape[0]):
            scratch[j] += weight * (np.float64(columns[row, j]) - node.mean[j])
            between += scratch[j] * scratch[j]
        if values[order[i]] < values[order[i + 1]]:
            best = _try_deviance(between, inside, node, feature, values[order[i]], best)
    return best


def _try_feature_csc(columns, view, values, some, node, feature, scratch, best):
    data, indices, indptr = view
    order = stable_order(values)
    n, n_below = order.shape[0], 0
    norm = (node.mean * node.mean).sum()
    while n_below < n and values[order[n_below]] < 0:
        n_below += 1
    has_zeros = n < node.rows.shape[0]
    for step in (1, -1):  # values below 0 from the left, those above from the right
        square = product = inside = 0.0
        begin, end = (0, n_below) if step == 1 else (n - 1, n_below - 1)
        for i in range(begin, end, step):
            row = node.rows[some[order[i]]]
            weight, value = node.weight[row], values[order[i]]
            inside += weight
            for s in range(indptr[row], indptr[row + 1]):  # their square, product with the mean
                j, x = indices[s], weight * np.float64(data[s])
                square += x * (2.0 * scratch[j] + x)
                product += x * node.mean[j]
                scratch[j] += x
            if i + step == end:
                beyond = 0.0 if has_zeros or end < 0 or end >= n else values[order[end]]
            else:
                beyond = values[order[i + step]]
            if beyond != value:
                between = max(square - 2.0 * inside * product + inside * inside * norm, 0.0)
                threshold = value if step == 1 else beyond
                best = _try_deviance(between, inside, node, feature, threshold, best)
        for i in range(begin, end, step):
            row = node.rows[some[order[i]]]
            scratch[indices[indptr[row] : indptr[row + 1]]] = 0.0
    return best


# Best cut of a feature, or `best`.
_try_feature = by_layout(_try_feature_dense, _try_feature_csc)


@jit
def deviance_cut(columns, view, inverse, node, lo, hi):
    """Cut after which the deviance is least, over features lo..hi-1: O(m d) a feature.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    view : the same array, or that of the CSR form
    inverse : int64 array of shape (n,), place of a row in `node.rows` or -1; empty for dense X
    node : DevianceNode, of positive deviance
    lo, hi : int

    Returns
    -------
    (minus the share saved in units of 2 ** -40, feature, threshold); feature -1 if nothing is saved
    """
    best = (0.0, np.int64(-1), np.inf)
    scratch = np.zeros(node.mean.shape[0])
    for f in range(lo, hi):
        values, some = _entered(columns, inverse, node.rows, f)
        if values.shape[0] == 0 or (
            values.shape[0] == node.rows.shape[0] and values.min() == values.max()
        ):
            continue
        best = _try_feature(columns, view, values, some, node, f, scratch, best)
    return best


# ---------------------------------------------------------------- density (CLTree)


@jit
def _distinct(values, some, region):
    """Distinct values of the rows of a region, and the mass of the rows below each of them."""
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
    """Bits of rows and uniform points, times their number."""
    total, bits = y + n, 0.0
    if y > 0.0:
        bits -= y * np.log2(y / total)
    if n > 0.0:
        bits -= n * np.log2(n / total)
    return bits


@jit
def _density(part, below, per_length):
    """Mass of the rows over that of the uniform points, in a part (low, first, high, last)."""
    n = (part[2] - part[0]) * per_length
    return (below[part[3]] - below[part[1]]) / n if n > 0.0 else np.inf


@jit
def _best_gain(values, below, part, per_length):
    """Cut of a part of a feature with the most information gain: (place, values below it).

    Rows at the place itself are on its left or on its right, whatever gains more; at an end of the
    part they are parted from all space. The number of values is -1 if nothing is gained.
    """
    low, first, high, last = part
    y, n = float(below[last] - below[first]), (high - low) * per_length
    whole, best = _entropy(y, n), (_LEAST_GAIN * (y + n), low, -1)
    for i in range(first, last):
        for n_below in (i, i + 1):
            place = values[i]
            if (place == low and n_below == first) or (place == high and n_below == last):
                continue  # nothing at all on one side
            y_left, n_left = float(below[n_below] - below[first]), (place - low) * per_length
            gain = whole - _entropy(y_left, n_left) - _entropy(y - y_left, n - n_left)
            if gain > best[0] * (1.0 + 1e-12):
                best = (gain, place, n_below)
    return best[1], best[2]


@jit
def _look_ahead(values, below, whole, per_length):
    """Cut of a feature at the edge of a sparse part, and the density of that part.

    Steps 2 to 7 of evaluateCuts: up to two further cuts, each in the sparser half of the one
    before, move the cut to where a dense part ends. (density, place, values below it).
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
    """CLTree's cut of a region, over features lo..hi-1: beside the sparsest part.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), place of a row in `region.rows` or -1; empty for dense X
    region : Region
    lo, hi : int

    Returns
    -------
    (density, feature, threshold, place); feature -1 if no cut gains anything. The place is where
    the space is parted, the threshold it or, if rows at it go right, the number before it.
    """
    best, where = (np.inf, np.int64(-1), np.inf), 0.0
    for f in range(lo, hi):
        length = region.high[f] - region.low[f]
        if not length > 0.0:
            continue
        values, below = _distinct(*_entered(columns, inverse, region.rows, f), region)
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
    """Cut of some rows, over features lo..hi-1, with the largest spacing between its sides.

    The shortest pair of rows across a cut is an edge of their minimum spanning tree, so that the
    edges are all that is looked at: O(m log m) a feature.

    Parameters
    ----------
    X : array of shape (n, d), or (data, indices, indptr) of its CSC form
    inverse : int64 array of shape (n,), place of a row in `rows` or -1; empty for dense X
    rows : int64 array of shape (m,)
    ends : int64 array of shape (m - 1, 2), edges of their tree, as positions in `rows`
    squared : float64 array of shape (m - 1,), squared lengths, not decreasing
    lo, hi : int

    Returns
    -------
    (value, feature, threshold)
        Minus the squared spacing; the threshold is the largest value on the left. Feature -1
        where all rows are equal.
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
        widest, gap = _widest_gap(rank, n, ends, squared)
        if -widest < best[0]:
            best = (-widest, np.int64(f), distinct[gap])
    return best


@jit
def _widest_gap(rank, n_distinct, ends, squared):
    """The gap between distinct values whose shortest edge across is longest, and its square.

    Edges come shortest first, so that the first one across a gap is its shortest.
    """
    after = np.arange(n_distinct)  # gap g lies between distinct values g and g + 1
    n_open, best, widest = n_distinct - 1, -np.inf, 0
    for e in range(squared.shape[0]):
        if n_open == 0:
            break
        a, b = rank[ends[e, 0]], rank[ends[e, 1]]
        low, high = min(a, b), max(a, b)
        gap = low
        while gap < high:
            if after[gap] != gap:  # an edge has crossed it: halve the path to the next open one
                after[gap] = after[after[gap]]
                gap = after[gap]
                continue
            if squared[e] > best or gap < widest:
                best, widest = squared[e], gap
            after[gap] = gap + 1
            n_open -= 1
    return best, widest
