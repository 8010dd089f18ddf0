"""Kernels of the search over axis-aligned trees: rows as bytes, costs at fixed centres.

A tree is an int64 array with a row a node, parents before children; its columns are LEFT, RIGHT
(-1 for a leaf), FEATURE, BIN and LABEL. A row goes left iff its code of the feature is at most the
bin. `codes` (n, d) are bytes, `first` (d + 1,) says where each feature's bins start, and
`cost` (n, k) is what a row pays in each cluster, its weight included.

No kernel draws random numbers, and each runs in one thread over the rows in their order, so that
its sums are always the same. Ties go to the lowest feature, then to the lowest bin.
"""

import numpy as np

from ...._utils.jit import jit

LEFT, RIGHT, FEATURE, BIN, LABEL = range(5)
_ROOT = np.int64(0)  # no literal, for which `_leaf_of` would be compiled again
_REMOVED_SHARE = 0.25  # of the surplus of leaves, at a time


@jit
def _copy(values, out):
    """Fill the first places; assigned as a slice, numba compiles what would print its shapes."""
    for i in range(values.shape[0]):
        out[i] = values[i]


@jit
def _leaf_of(nodes, code, node):
    """Leaf that a row of some codes reaches from a node."""
    while nodes[node, LEFT] >= 0:
        goes_left = code[nodes[node, FEATURE]] <= nodes[node, BIN]
        node = nodes[node, LEFT] if goes_left else nodes[node, RIGHT]
    return node


@jit
def labels_of(nodes, codes):
    """Label of the leaf that each row reaches: int64 array of shape (n,)."""
    labels = np.empty(codes.shape[0], np.int64)
    for row in range(codes.shape[0]):
        labels[row] = nodes[_leaf_of(nodes, codes[row], _ROOT), LABEL]
    return labels


@jit
def _compact(nodes):
    """The same tree without nodes that the root does not reach, parents before children."""
    source, out, n, node = np.zeros(nodes.shape[0], np.int64), np.empty_like(nodes), 1, 0
    while node < n:
        _copy(nodes[source[node]], out[node])
        if out[node, LEFT] >= 0:
            for side in (LEFT, RIGHT):
                source[n], out[node, side] = out[node, side], n
                n += 1
        node += 1
    return out[:n].copy()


@jit
def _part(codes, feature, bin_, rows, spare):
    """Sort rows by their side of a test, else in their order; returns how many go left."""
    n_left, n_right = 0, 0
    for r in range(rows.shape[0]):
        row = rows[r]
        if codes[row, feature] <= bin_:
            rows[n_left] = row
            n_left += 1
        else:
            spare[n_right] = row
            n_right += 1
    _copy(spare[:n_right], rows[n_left:])
    return n_left


@jit
def _spans(nodes, codes, room):
    """Rows in the order of the leaves, and where those of each of `room` nodes begin and stop."""
    n = codes.shape[0]
    order, spare, span = np.arange(n), np.empty(n, np.int64), np.zeros((room, 2), np.int64)
    span[0, 1] = n
    for node in range(nodes.shape[0]):
        if nodes[node, LEFT] >= 0:
            _divide(nodes[node], codes, order, span[node], span, spare)
    return order, span


@jit
def _divide(test, codes, order, here, span, spare):
    """Sort the rows of a node by its test, and fill the spans of its children."""
    n_left = _part(codes, test[FEATURE], test[BIN], order[here[0] : here[1]], spare)
    span[test[LEFT], 0], span[test[LEFT], 1] = here[0], here[0] + n_left
    span[test[RIGHT], 0], span[test[RIGHT], 1] = here[0] + n_left, here[1]


@jit
def _sum_costs(rows, cost, total):
    """Fill what the rows pay in each cluster; returns the cluster where they pay least."""
    total[:] = 0.0
    for r in range(rows.shape[0]):
        paid = cost[rows[r]]
        for c in range(total.shape[0]):
            total[c] += paid[c]
    return np.argmin(total)


@jit
def _sum_bins(rows, gain, codes, base, sums):
    """Fill the summed gain in each bin of every feature; returns the sum of all."""
    total = 0.0
    sums[:] = 0.0
    for r in range(rows.shape[0]):
        saved = gain[r]
        if saved != 0.0:
            total += saved
            code = codes[rows[r]]
            for f in range(base.shape[0]):
                sums[base[f] + code[f]] += saved
    return total


@jit
def _best_test(total, first, sums):
    """Least sum over the rows that a test sends left: (sum, feature, bin, is_flipped).

    Feature -1 if no test does better than to send all rows one way.
    """
    best = (min(0.0, total), np.int64(-1), np.int64(0), False)
    for f in range(first.shape[0] - 1):
        below, low, high = 0.0, best[0], total - best[0]
        for b in range(first[f], first[f + 1] - 1):
            below += sums[b]
            if below < low:
                low, high = below, total - below
                best = (below, np.int64(f), np.int64(b - first[f]), False)
            elif below > high:
                low, high = total - below, below
                best = (total - below, np.int64(f), np.int64(b - first[f]), True)
    return best


@jit
def one_pass(nodes, codes, first, cost, price):
    """One pass of Tree Alternating Optimization, from below: every test is the best for its rows.

    Leaves get the label of least cost. A test that saves no more than its price makes way for
    one of its subtrees.

    Returns
    -------
    nodes : the new tree
    changed : bool
    """
    nodes, base = nodes.copy(), first[:-1].astype(np.uint64)
    order, span = _spans(nodes, codes, nodes.shape[0])
    sums, total = np.empty(first[-1]), np.empty(cost.shape[1])
    gain, changed = np.empty(codes.shape[0]), False
    for node in range(nodes.shape[0] - 1, -1, -1):
        rows = order[span[node, 0] : span[node, 1]]
        if nodes[node, LEFT] < 0:
            label = _sum_costs(rows, cost, total) if rows.shape[0] else nodes[node, LABEL]
            changed |= label != nodes[node, LABEL]
            nodes[node, LABEL] = label
            continue
        _fill_gains(nodes, node, rows, codes, cost, gain)
        all_left = _sum_bins(rows, gain, codes, base, sums)
        changed |= _update(nodes, node, all_left, _best_test(all_left, first, sums), price)
    return _compact(nodes), changed


@jit
def _fill_gains(nodes, node, rows, codes, cost, gain):
    """What each row of a node pays on its left beyond what it pays on its right."""
    left, right = nodes[node, LEFT], nodes[node, RIGHT]
    for r in range(rows.shape[0]):
        code, paid = codes[rows[r]], cost[rows[r]]
        at_left = nodes[_leaf_of(nodes, code, left), LABEL]
        at_right = nodes[_leaf_of(nodes, code, right), LABEL]
        gain[r] = paid[at_left] - paid[at_right]


@jit
def _update(nodes, node, all_left, best, price):
    """Give a node its best test, or one of its subtrees; returns whether that is another one."""
    value, feature, bin_, is_flipped = best
    left, right = nodes[node, LEFT], nodes[node, RIGHT]
    if feature < 0 or min(0.0, all_left) - value <= price:
        _copy(nodes[left if all_left <= 0.0 else right], nodes[node])
        return True
    changed = is_flipped or feature != nodes[node, FEATURE] or bin_ != nodes[node, BIN]
    nodes[node, FEATURE], nodes[node, BIN] = feature, bin_
    if is_flipped:
        nodes[node, LEFT], nodes[node, RIGHT] = right, left
    return changed


@jit
def _sum_bin_costs(rows, codes, feature, cost, sums, has_rows):
    """Fill what the rows in each bin of a feature pay, where there are some: few bins."""
    has_rows[:] = False
    for r in range(rows.shape[0]):
        bin_, paid = codes[rows[r], feature], cost[rows[r]]
        at = sums[bin_]
        if not has_rows[bin_]:
            has_rows[bin_] = True
            at[:] = 0.0
        for c in range(at.shape[0]):
            at[c] += paid[c]


@jit
def _best_cut(rows, codes, first, cost, sums):
    """Cut of a leaf that saves most if each side has its best label.

    Returns (gain, feature, bin, label to the left, label to the right).
    """
    total, below = np.empty(cost.shape[1]), np.empty(cost.shape[1])
    has_rows = np.empty(sums.shape[0], np.bool_)
    own = _sum_costs(rows, cost, total)
    best = (0.0, np.int64(-1), np.int64(0), own, own)
    for f in range(first.shape[0] - 1):
        _sum_bin_costs(rows, codes, f, cost, sums, has_rows)
        below[:] = 0.0
        for b in range(first[f + 1] - first[f] - 1):
            if not has_rows[b]:  # the same cut as at the bin before
                continue
            left, right = _best_pair(below, sums[b], total)
            gain = total[own] - below[left] - (total[right] - below[right])
            if gain > best[0]:
                best = (gain, np.int64(f), np.int64(b), left, right)
    return best


@jit
def _best_pair(below, part, total):
    """Add a bin to the sums below; returns the best labels on both sides of its end."""
    left, right = 0, 0
    for c in range(total.shape[0]):
        below[c] += part[c]
        if below[c] < below[left]:
            left = c
        if total[c] - below[c] < total[right] - below[right]:
            right = c
    return left, right


@jit
def expand(nodes, codes, first, cost, most_leaves, price):
    """The tree with leaves cut where that saves most, while it saves more than its price."""
    n, room = nodes.shape[0], max(2 * most_leaves - 1, nodes.shape[0])
    out = np.full((room, 5), -1)
    for node in range(n):
        _copy(nodes[node], out[node])
    order, span = _spans(nodes, codes, room)
    gain, cut = np.full(room, -1.0), np.zeros((room, 4), np.int64)
    spare = np.empty(codes.shape[0], np.int64)
    sums = np.empty((np.diff(first).max(), cost.shape[1]))
    fresh, node = np.flatnonzero(out[:n, LEFT] < 0), 0
    while True:
        for leaf in fresh:
            rows = order[span[leaf, 0] : span[leaf, 1]]
            best = _best_cut(rows, codes, first, cost, sums)
            gain[leaf] = best[0]
            cut[leaf, 0], cut[leaf, 1], cut[leaf, 2], cut[leaf, 3] = best[1:]
        node = np.argmax(gain)
        if n + 2 > room or not gain[node] > price:
            return out[:n].copy()
        gain[node] = -1.0
        out[node, LEFT], out[node, RIGHT] = n, n + 1
        out[node, FEATURE], out[node, BIN] = cut[node, 0], cut[node, 1]
        out[n, LABEL], out[n + 1, LABEL] = cut[node, 2], cut[node, 3]
        _divide(out[node], codes, order, span[node], span, spare)
        fresh = np.arange(n, n + 2)
        n += 2


@jit
def _savings(nodes, codes, cost):
    """What each test saves over the better of its sides, and that side; leaves save infinity."""
    order, span = _spans(nodes, codes, nodes.shape[0])
    own = np.empty(codes.shape[0])
    for row in range(codes.shape[0]):
        own[row] = cost[row, nodes[_leaf_of(nodes, codes[row], _ROOT), LABEL]]
    saved, side = np.full(nodes.shape[0], np.inf), np.zeros(nodes.shape[0], np.int64)
    for node in np.flatnonzero(nodes[:, LEFT] >= 0):
        test, at_left, at_right = nodes[node], 0.0, 0.0
        for row in order[span[node, 0] : span[node, 1]]:
            code = codes[row]
            goes_left = code[test[FEATURE]] <= test[BIN]
            other = _leaf_of(nodes, code, test[RIGHT] if goes_left else test[LEFT])
            more = cost[row, nodes[other, LABEL]] - own[row]
            if goes_left:
                at_right += more
            else:
                at_left += more
        saved[node], side[node] = min(at_left, at_right), LEFT if at_left <= at_right else RIGHT
    return saved, side


@jit
def shrink(nodes, codes, cost, most_leaves, price):
    """The tree with at most so many leaves and without tests that do not pay.

    Tests go in the order of what they save; some at a time, of different branches, where many
    have to.
    """
    while nodes.shape[0] > 1:
        saved, side = _savings(nodes, codes, cost)
        surplus = (nodes.shape[0] + 1) // 2 - most_leaves
        if surplus <= 0 and saved.min() > price:
            break
        nodes = _without(nodes, saved, side, max(1, int(_REMOVED_SHARE * surplus)))
    return nodes


@jit
def _without(nodes, saved, side, n_tests):
    """The tree without the tests that save least, of two on one path only the first."""
    nodes, parent = nodes.copy(), np.full(nodes.shape[0], -1)
    for node in np.flatnonzero(nodes[:, LEFT] >= 0):
        parent[nodes[node, LEFT]] = parent[nodes[node, RIGHT]] = node
    is_gone, is_above = np.zeros(nodes.shape[0], np.bool_), np.zeros(nodes.shape[0], np.bool_)
    for node in np.argsort(saved, kind="mergesort"):
        up = node
        while up >= 0 and not is_gone[up]:
            up = parent[up]
        if up >= 0 or is_above[node] or saved[node] == np.inf:
            continue
        is_gone[node] = True
        n_tests -= 1
        up = parent[node]
        while up >= 0:
            is_above[up] = True
            up = parent[up]
        if n_tests == 0:
            break
    for node in np.flatnonzero(is_gone):
        _copy(nodes[nodes[node, side[node]]], nodes[node])
    return _compact(nodes)


@jit
def without_subtree(nodes, node, label):
    """The tree with a leaf where a node was."""
    nodes = nodes.copy()
    nodes[node, LEFT] = nodes[node, RIGHT] = nodes[node, FEATURE] = nodes[node, BIN] = -1
    nodes[node, LABEL] = label
    return _compact(nodes)
