"""Joint passes over a sketched tree: each test is the best one if the centres follow it.

A pass of Tree Alternating Optimization compares tests at fixed centres. A test that moves many rows
from one cluster to another also moves both centres, so that such a pass misses most of its benefit
and stops in a local optimum. A joint pass compares the costs at the means that each test leads to.
It corresponds to a regular pass as the algorithm of Hartigan & Wong (1979) to that of Lloyd.

The cost of k-means is sum_n c_n |x_n|^2 - sum_k |s_k|^2 / t_k, where s_k is the weighted sum of the
rows of cluster k, and t_k is their weight. Only the second sum depends on the tree; we call it the
*between sum*. A cut changes the sums of a few clusters, so each one is evaluated exactly, in a few
directions of the clustering space. Few directions are enough to find good tests: the tree that
results is then evaluated in all of them.

Arrays are those of :mod:`.sketch_kernels`. `values` of shape (n, 12) has c_n x_n in 11 directions,
and c_n in the last column. `sums` of shape (k, 12) has the sums of these values per cluster.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import randomized_svd

from .._utils.jit import jit
from .sketch_kernels import BIN, FEATURE, LABEL, LEFT, RIGHT, leaf_of, spans, sum_units

_WIDTH = 12  # a multiple of 4, so that the loops over it become vector instructions
_LAST = _WIDTH - 1
_MOST_BINS = 256
_MOST_VALUES = 4 * 10**6  # directions are computed from at most about this many values
_ABOUT_ZERO = 1e-9  # weights below this share of the total are rounding errors of sums


def values_of_rows(problem):
    """Return the rows of a problem in 11 directions of the clustering space, with their weights.

    The directions are those of the largest variance if the space has more than 11 dimensions.

    Parameters
    ----------
    problem : Problem, whose centres are means

    Returns
    -------
    float64 array of shape (n, 12)
        The rows, minus their mean and multiplied by their weights, and the weights.
    """
    space, weight = problem.space, problem.weight
    if space.shape[1] > _LAST:
        space = space @ _directions(space, weight).T
    elif issparse(space):
        space = space.toarray()
    values = np.zeros((len(weight), _WIDTH))
    values[:, : space.shape[1]] = space - np.average(space, axis=0, weights=weight)
    values *= weight[:, None]
    values[:, _LAST] = weight
    return values


def _directions(space, weight):
    """Return at most 11 orthogonal directions of large variance: array of shape (11, m).

    They are those of some of the rows if there are very many values. The mean of sparse rows is
    not subtracted, because that would make them dense; it is then close to the first direction.
    """
    step = max(1, space.shape[0] * space.shape[1] // _MOST_VALUES)
    part, scale = space[::step], np.sqrt(weight[::step])[:, None]
    if issparse(part):
        scaled = part.multiply(scale).tocsr()
    else:
        scaled = (part - np.average(part, axis=0, weights=weight[::step])) * scale
    return randomized_svd(scaled, _LAST, random_state=0)[2]


@jit
def joint_pass(nodes, codes, first, values, n_clusters, least_gain, units, least):
    """Run one joint pass over a tree, bottom-up.

    Each test and each label of a leaf becomes the one with the largest between sum, if this sum
    rises by more than `least_gain`. With `units` of the rows, each side of a new test has at least
    `least` units.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5)
    changed : bool
    """
    nodes, starts = nodes.copy(), first.astype(np.uint64)
    order, span = spans(nodes, codes, nodes.shape[0])
    labels, sums = _labels(nodes, order, span), np.zeros((n_clusters, _WIDTH))
    workspace = np.empty((_MOST_BINS, n_clusters, _WIDTH))
    sizes = np.empty(first[-1] if units.shape[0] else 0)
    _add(order, labels, values, 1.0, sums)
    changed = False
    for node in range(nodes.shape[0] - 1, -1, -1):
        rows = order[span[node, 0] : span[node, 1]]
        if rows.shape[0] == 0:
            continue
        _add(rows, labels, values, -1.0, sums)  # then `sums` has the rows outside of the node
        if nodes[node, LEFT] < 0:
            changed |= _relabel(nodes[node], rows, values, sums, least_gain)
            for r in range(rows.shape[0]):
                labels[rows[r]] = nodes[node, LABEL]
        else:
            size = sum_units(rows, codes, units, starts, sizes) if units.shape[0] else 0.0
            sides = _side_labels(nodes, nodes[node], rows, codes)
            terms = (first, values, sums, least_gain, sizes, size, least, workspace)
            left = nodes[node, LEFT]
            changed |= _retest(nodes[node], rows, codes, sides, *terms)
            is_straight = nodes[node, LEFT] == left
            for r in range(rows.shape[0]):
                goes_left = codes[rows[r], nodes[node, FEATURE]] <= nodes[node, BIN]
                labels[rows[r]] = sides[0 if goes_left == is_straight else 1, r]
        _add(rows, labels, values, 1.0, sums)
    return nodes, changed


@jit
def _labels(nodes, order, span):
    """Return the label of each row: int64 array of shape (n,)."""
    labels = np.empty(order.shape[0], np.int64)
    for node in range(nodes.shape[0]):
        if nodes[node, LEFT] < 0:
            for r in range(span[node, 0], span[node, 1]):
                labels[order[r]] = nodes[node, LABEL]
    return labels


@jit
def _add(rows, labels, values, sign, sums):
    """Add the values of rows, multiplied by `sign`, to the sums of their clusters."""
    for r in range(rows.shape[0]):
        _add_to(sums[labels[rows[r]]], values[rows[r]], sign)


@jit
def _add_to(total, value, sign):
    for q in range(_WIDTH):
        total[q] += sign * value[q]


@jit
def _between(total, no_weight):
    """Return |s|^2 / t of a cluster, 0 if it has no rows."""
    if total[_LAST] <= no_weight:
        return 0.0
    one, two, three = total[8] ** 2, total[9] ** 2, total[10] ** 2  # in four chains of additions
    four = 0.0
    for q in range(0, 8, 4):
        one += total[q] ** 2
        two += total[q + 1] ** 2
        three += total[q + 2] ** 2
        four += total[q + 3] ** 2
    return ((one + two) + (three + four)) / total[_LAST]


@jit
def _side_labels(nodes, test, rows, codes):
    """Return the label of each row in the left and in the right subtree: array of shape (2, m)."""
    sides = np.empty((2, rows.shape[0]), np.int64)
    for r in range(rows.shape[0]):
        code = codes[rows[r]]
        sides[0, r] = nodes[leaf_of(nodes, code, test[LEFT]), LABEL]
        sides[1, r] = nodes[leaf_of(nodes, code, test[RIGHT]), LABEL]
    return sides


@jit
def _relabel(leaf, rows, values, sums, least_gain):
    """Give a leaf the label with the largest between sum; return whether it is another one."""
    own, both = np.zeros(_WIDTH), np.empty(_WIDTH)
    for r in range(rows.shape[0]):
        _add_to(own, values[rows[r]], 1.0)
    no_weight = _ABOUT_ZERO * own[_LAST]
    best, label, before = -np.inf, leaf[LABEL], 0.0
    for c in range(sums.shape[0]):
        both[:] = sums[c]
        _add_to(both, own, 1.0)
        gain = _between(both, no_weight) - _between(sums[c], no_weight)
        if c == leaf[LABEL]:
            before = gain
        if gain > best + least_gain:
            best, label = gain, c
    is_better = best > before + least_gain
    if is_better:
        leaf[LABEL] = label
    return is_better


@jit
def _retest(
    test, rows, codes, sides, first, values, sums, least_gain, sizes, size, least, workspace
):
    """Give a node the test with the largest between sum; return whether it is another one.

    `sides` has the labels of the rows of the node in its two subtrees, and `sums` has the rows of
    other nodes. `workspace` has shape (256, k, 12).
    """
    # Before the first bin all rows go to the right, or to the left if the cut is flipped.
    start, flipped, own = sums.copy(), sums.copy(), 0.0
    for r in range(rows.shape[0]):
        _add_to(start[sides[1, r]], values[rows[r]], 1.0)
        _add_to(flipped[sides[0, r]], values[rows[r]], 1.0)
        own += values[rows[r], _LAST]
    no_weight = _ABOUT_ZERO * own
    seen = np.zeros((_MOST_BINS, sums.shape[0]), np.int64)
    between = np.empty(_MOST_BINS + 1)
    best, feature, bin_, is_flipped, before = -np.inf, -1, -1, False, -np.inf
    own_values, own_sides, own_codes = _movable(rows, codes, sides, values)
    for f in range(first.shape[0] - 1):
        n_bins, own_sizes = first[f + 1] - first[f], sizes[first[f] : first[f + 1]]
        _sum_moves(own_codes[f], own_sides, own_values, f + 1, workspace, seen)
        for sign in (1.0, -1.0):
            terms = (sign, f + 1, seen, workspace, no_weight)
            _scan(start if sign > 0 else flipped, between[: n_bins + 1], *terms)
            if sign > 0 and f == test[FEATURE]:
                before = between[min(test[BIN], n_bins - 1) + 1]
            b = _best_bin(between[1:n_bins], least_gain, own_sizes, size, least)
            if b >= 0 and between[b + 1] > best + least_gain:
                best, feature, bin_, is_flipped = between[b + 1], f, b, sign < 0
    if not best > before + least_gain:
        return False
    test[FEATURE], test[BIN] = feature, bin_
    if is_flipped:
        test[LEFT], test[RIGHT] = test[RIGHT], test[LEFT]
    return True


@jit
def _movable(rows, codes, sides, values):
    """Return values, side labels and codes of the rows whose cluster depends on the test.

    They are arrays of shape (m, 12), (m, 2) and (d, m).
    """
    m = 0
    for r in range(rows.shape[0]):
        m += sides[0, r] != sides[1, r]
    own_values, own_sides = np.empty((m, _WIDTH)), np.empty((m, 2), np.int64)
    own_codes, m = np.empty((codes.shape[1], m), np.uint8), 0
    for r in range(rows.shape[0]):
        if sides[0, r] == sides[1, r]:
            continue
        own_sides[m, 0], own_sides[m, 1] = sides[0, r], sides[1, r]
        for q in range(_WIDTH):
            own_values[m, q] = values[rows[r], q]
        for f in range(codes.shape[1]):
            own_codes[f, m] = codes[rows[r], f]
        m += 1
    return own_values, own_sides, own_codes


@jit
def _sum_moves(codes, sides, values, number, moves, seen):
    """Sum per bin of a feature by how much clusters change if its rows go left instead of right.

    `moves` of shape (256, k, 12) is set for the clusters and bins for which `seen` is `number`. The
    other values are not used.
    """
    for r in range(codes.shape[0]):
        bin_, left, right = codes[r], sides[r, 0], sides[r, 1]
        gets, loses = moves[bin_, left], moves[bin_, right]
        if seen[bin_, left] != number:
            seen[bin_, left] = number
            for q in range(_WIDTH):
                gets[q] = 0.0
        if seen[bin_, right] != number:
            seen[bin_, right] = number
            for q in range(_WIDTH):
                loses[q] = 0.0
        for q in range(_WIDTH):
            gets[q] += values[r, q]
        for q in range(_WIDTH):
            loses[q] -= values[r, q]


@jit
def _scan(start, between, sign, number, seen, moves, no_weight):
    """Fill `between` with the between sum before the first bin of a feature and after each bin.

    `start` has the sums of the clusters before the first bin. At each bin, the clusters for which
    `seen` is `number` change by `sign` times their `moves`.
    """
    total, part, value = start.copy(), np.empty(start.shape[0]), 0.0
    for c in range(part.shape[0]):
        part[c] = _between(total[c], no_weight)
        value += part[c]
    between[0] = value
    for b in range(between.shape[0] - 1):
        for c in range(part.shape[0]):
            if seen[b, c] == number:
                for q in range(_WIDTH):
                    total[c, q] += sign * moves[b, c, q]
                changed = _between(total[c], no_weight)
                value += changed - part[c]
                part[c] = changed
        between[b + 1] = value


@jit
def _best_bin(between, least_gain, sizes, size, least):
    """Return the first bin with the largest between sum after it, -1 if no cut is allowed.

    With `sizes`, the units of the rows per bin, of sum `size`, both sides of a cut must have at
    least `least` units.
    """
    best, bin_, inside = -np.inf, -1, 0.0
    for b in range(between.shape[0]):
        if sizes.shape[0]:
            inside += sizes[b]
            if inside < least or size - inside < least:
                continue
        if between[b] > best + least_gain:
            best, bin_ = between[b], b
    return bin_
