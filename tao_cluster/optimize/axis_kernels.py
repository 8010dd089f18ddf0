"""Kernels of the search over axis-aligned trees: rows as bytes, costs at fixed centres.

A tree is an int64 array with one row per node, parents before children. Its columns are the left
and the right child (-1 for a leaf), the feature and the bin of the test, and the label of a leaf.
A data row goes left if and only if its code of the feature is at most the bin.

- `codes`: uint8 array of shape (n, d), the bin of each value within its feature.
- `first`: int array of shape (d + 1,), where each feature starts in arrays over all bins.
- `cost`: float64 array of shape (n, k), the weighted cost of each row in each cluster.
- `units`, `least`: units of each row, and the minimum sum of units on either side of a new test.
  `units` is empty if there is no minimum.

No kernel draws random numbers, and each runs in one thread over the rows in their order, so that
its sums are reproducible. If tests are equally good, the one of the lowest feature is chosen, and
then that of the lowest bin. Arrays are filled by loops, because numba takes long to compile
assignments to slices.
"""

import numpy as np

from .._utils.jit import jit

LEFT, RIGHT, FEATURE, BIN, LABEL = range(5)
WIDTH = 12  # of the values of joint passes; constant, so that loops become vector instructions
_ABOUT_ZERO = 1e-9  # weights below this share of the total are rounding errors of sums


@jit
def compact(nodes):
    """Return the array of nodes without those that are no longer part of the tree.

    The order is breadth-first from the root, so that parents come before their children.
    """
    source, n = np.zeros(nodes.shape[0], np.int64), 1
    found = np.empty(nodes.shape, np.int64)
    for node in range(nodes.shape[0]):
        if node == n:
            break
        for q in range(5):
            found[node, q] = nodes[source[node], q]
        if found[node, LEFT] >= 0:
            source[n], source[n + 1] = found[node, LEFT], found[node, RIGHT]
            found[node, LEFT], found[node, RIGHT] = n, n + 1
            n += 2
    return found[:n]


@jit
def leaf_of_rows(nodes, codes):
    """Return the leaf that each row reaches: int64 array of shape (n,)."""
    leaves = np.empty(codes.shape[0], np.int64)
    for row in range(codes.shape[0]):
        leaves[row] = _leaf_below(nodes, codes[row], 0)
    return leaves


@jit
def _leaf_below(nodes, code, node):
    """Return the leaf below `node` that a row reaches; `code` has the bins of its values."""
    while nodes[node, LEFT] >= 0:
        goes_left = code[nodes[node, FEATURE]] <= nodes[node, BIN]
        node = nodes[node, LEFT] if goes_left else nodes[node, RIGHT]
    return node


@jit
def rows_of_nodes(nodes, codes, n_nodes):
    """Return the rows of all nodes, as an order of the rows and one range per node.

    The rows of node i are ``order[span[i, 0] : span[i, 1]]``. `span` has shape (n_nodes, 2).
    """
    n = codes.shape[0]
    order, spare, span = (
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros((n_nodes, 2), np.int64),
    )
    for row in range(n):
        order[row] = row
    span[0, 1] = n
    for node in range(nodes.shape[0]):
        if nodes[node, LEFT] >= 0:
            _divide(nodes[node], codes, order, span[node], span, spare)
    return order, span


@jit
def _divide(test, codes, order, here, span, spare):
    """Move the rows of a node that go left before the others, and set the ranges of its children.

    The node has the rows ``order[here[0] : here[1]]``. Their order on each side does not change.
    `spare` is a workspace of one number per row.
    """
    middle, n_right = here[0], 0
    for r in range(here[0], here[1]):
        row = order[r]
        if codes[row, test[FEATURE]] <= test[BIN]:
            order[middle] = row
            middle += 1
        else:
            spare[n_right] = row
            n_right += 1
    for r in range(n_right):
        order[middle + r] = spare[r]
    span[test[LEFT], 0], span[test[LEFT], 1] = here[0], middle
    span[test[RIGHT], 0], span[test[RIGHT], 1] = middle, here[1]


@jit
def one_pass(nodes, codes, first, cost, price, units, least):
    """Run one pass of Tree Alternating Optimization, bottom-up, with the best test per node.

    Leaves get the label of least cost. A test that saves no more than `price` is replaced by one
    of its subtrees.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5)
        The new tree. Nodes of removed subtrees are still in the array; see :func:`compact`.
    changed : bool
    """
    nodes, starts = nodes.copy(), first.astype(np.uint64)  # unsigned: no check for negative indices
    order, span = rows_of_nodes(nodes, codes, nodes.shape[0])
    sums, total, changed = np.empty(first[-1]), np.empty(cost.shape[1]), False
    low, high = np.empty(first.shape[0] - 1, np.int64), np.empty(first.shape[0] - 1, np.int64)
    for node in range(nodes.shape[0] - 1, -1, -1):
        here, rows = nodes[node], order[span[node, 0] : span[node, 1]]
        if here[LEFT] < 0:
            label = _cheapest(rows, cost, total) if rows.shape[0] > 0 else here[LABEL]
            changed |= label != here[LABEL]
            here[LABEL] = label
            continue
        all_left = _sum_differences(nodes, here, rows, codes, cost, starts, sums)
        _allowed_bins(rows, codes, first, units, least, low, high)
        value, feature, bin_, is_flipped = _best_test(all_left, first, sums, low, high)
        if feature < 0 or min(0.0, all_left) - value <= price:
            kept = here[LEFT] if all_left <= 0.0 else here[RIGHT]
            for q in range(5):
                here[q] = nodes[kept, q]
            changed = True
        else:
            changed |= is_flipped or feature != here[FEATURE] or bin_ != here[BIN]
            here[FEATURE], here[BIN] = feature, bin_
            if is_flipped:
                here[LEFT], here[RIGHT] = here[RIGHT], here[LEFT]
    return nodes, changed


@jit
def _sum_differences(nodes, test, rows, codes, cost, starts, sums):
    """Sum the cost differences of the rows of a node over the bins of every feature.

    The difference of a row is its cost in the left subtree minus that in the right subtree. The
    sum over the rows of each bin is written to `sums`, and the sum over all rows is returned.
    """
    total = 0.0
    for b in range(sums.shape[0]):
        sums[b] = 0.0
    for row in rows:
        code, paid = codes[row], cost[row]
        left = nodes[_leaf_below(nodes, code, test[LEFT]), LABEL]
        right = nodes[_leaf_below(nodes, code, test[RIGHT]), LABEL]
        difference = paid[left] - paid[right]
        if difference != 0.0:
            total += difference
            for f in range(code.shape[0]):
                sums[starts[f] + np.uint64(code[f])] += difference
    return total


@jit
def _allowed_bins(rows, codes, first, units, least, low, high):
    """Set the range of bins of each feature after which a cut leaves enough units on both sides.

    The first and the last cut of feature f are made after the bins ``low[f]`` and ``high[f] - 1``.
    """
    total = 0.0
    for f in range(low.shape[0]):
        low[f], high[f] = first[f], first[f + 1] - 1
    if units.shape[0] == 0:
        return
    for row in rows:
        total += units[row]
    for f in range(low.shape[0]):
        sums, below = np.zeros(first[f + 1] - first[f]), 0.0
        for row in rows:
            sums[codes[row, f]] += units[row]
        end = first[f]
        for b in range(sums.shape[0] - 1):
            below += sums[b]
            low[f] += below < least
            end = first[f] + b + 1 if total - below >= least else end
        high[f] = end


@jit
def _best_test(total, first, sums, low, high):
    """Return the test with the least sum over its left rows: (sum, feature, bin, is_flipped).

    `sums` has the summed cost differences (left minus right) of the rows in each bin, and `total`
    is their sum over all rows. A flipped test sends the larger values to the left. The feature is
    -1 if no test is better than sending all rows to one side. `low` and `high` are those of
    :func:`_allowed_bins`.
    """
    best = (min(0.0, total), np.int64(-1), np.int64(0), False)
    for f in range(first.shape[0] - 1):
        below, least, most = 0.0, best[0], total - best[0]
        for b in range(first[f], high[f]):
            below += sums[b]
            if b < low[f]:
                continue
            if below < least:
                least, most = below, total - below
                best = (below, np.int64(f), np.int64(b - first[f]), False)
            elif below > most:
                least, most = total - below, below
                best = (total - below, np.int64(f), np.int64(b - first[f]), True)
    return best


@jit
def _cheapest(rows, cost, total):
    """Fill `total` with the cost of the rows per cluster, and return the cheapest cluster."""
    for c in range(total.shape[0]):
        total[c] = 0.0
    for row in rows:
        for c in range(total.shape[0]):
            total[c] += cost[row, c]
    best = 0
    for c in range(total.shape[0]):
        if total[c] < total[best]:
            best = c
    return best


@jit
def expand(nodes, codes, first, cost, most_leaves, price, units, least):
    """Return the tree after leaves are split, the best split first, up to `most_leaves` leaves.

    It also ends if no cut of a leaf saves more than `price`.
    """
    n, n_nodes = nodes.shape[0], max(2 * most_leaves - 1, nodes.shape[0])
    found, gain = np.empty((n_nodes, 5), np.int64), np.empty(n_nodes)
    for node in range(n_nodes):
        gain[node] = -1.0
        for q in range(5):
            found[node, q] = nodes[node, q] if node < n else -1
    cut, sums = np.zeros((n_nodes, 4), np.int64), np.empty((256, cost.shape[1]))
    low, high = np.empty(first.shape[0] - 1, np.int64), np.empty(first.shape[0] - 1, np.int64)
    order, span = rows_of_nodes(nodes, codes, n_nodes)
    spare, fresh = np.empty(codes.shape[0], np.int64), 0
    while True:
        for leaf in range(fresh, n):
            if found[leaf, LEFT] < 0:
                rows = order[span[leaf, 0] : span[leaf, 1]]
                _allowed_bins(rows, codes, first, units, least, low, high)
                best = _best_cut(rows, codes, first, cost, sums, low, high)
                gain[leaf] = best[0]
                cut[leaf, 0], cut[leaf, 1], cut[leaf, 2], cut[leaf, 3] = best[1:]
        node = 0
        for other in range(n):
            node = other if gain[other] > gain[node] else node
        if n + 2 > n_nodes or not gain[node] > price:
            return found[:n]
        gain[node] = -1.0
        found[node, LEFT], found[node, RIGHT] = n, n + 1
        found[node, FEATURE], found[node, BIN] = cut[node, 0], cut[node, 1]
        found[n, LABEL], found[n + 1, LABEL] = cut[node, 2], cut[node, 3]
        _divide(found[node], codes, order, span[node], span, spare)
        fresh, n = n, n + 2


@jit
def _best_cut(rows, codes, first, cost, sums, low, high):
    """Return the cut of a leaf that saves most if each side gets its best label.

    `rows` are the rows of the leaf, and `sums` is a workspace of shape (256, k). The result is
    (saving, feature, bin, label to the left, label to the right).
    """
    total, below, has_rows = (
        np.empty(cost.shape[1]),
        np.empty(cost.shape[1]),
        np.empty(256, np.bool_),
    )
    own = _cheapest(rows, cost, total)
    best = (0.0, np.int64(-1), np.int64(0), own, own)
    for f in range(first.shape[0] - 1):
        _sum_costs(rows, codes, f, cost, sums, has_rows)
        for c in range(below.shape[0]):
            below[c] = 0.0
        for b in range(high[f] - first[f]):
            if not has_rows[b]:  # without rows in it, the cut is the same as at the bin before
                continue
            left, right = 0, 0
            for c in range(below.shape[0]):
                below[c] += sums[b, c]
                if below[c] < below[left]:
                    left = c
                if total[c] - below[c] < total[right] - below[right]:
                    right = c
            gain = total[own] - below[left] - (total[right] - below[right])
            if gain > best[0] and b >= low[f] - first[f]:
                best = (gain, np.int64(f), np.int64(b), left, right)
    return best


@jit
def _sum_costs(rows, codes, feature, cost, sums, has_rows):
    """Sum the costs of rows per bin of one feature and per cluster: `sums` of shape (256, k).

    `has_rows` is set to whether a bin has rows; the sums of the other bins are not set.
    """
    for b in range(has_rows.shape[0]):
        has_rows[b] = False
    for row in rows:
        bin_, paid = codes[row, feature], cost[row]
        at = sums[bin_]
        if not has_rows[bin_]:
            has_rows[bin_] = True
            for c in range(at.shape[0]):
                at[c] = 0.0
        for c in range(at.shape[0]):
            at[c] += paid[c]


@jit
def shrink(nodes, codes, cost, most_leaves, price):
    """Return the tree without its weakest tests, which save least; the weakest is removed first.

    Tests are removed until at most `most_leaves` leaves are left and each test saves more than
    `price`. A test saves by how much the cost would rise if all its rows went one way. A removal
    changes what the tests above and below it save; they get a lower bound, and what they save is
    computed again as soon as one of them may be the weakest.
    """
    nodes, n = nodes.copy(), nodes.shape[0]
    order, span = rows_of_nodes(nodes, codes, n)
    spare, side = np.empty(codes.shape[0], np.int64), np.zeros(n, np.int64)
    saved, is_exact = np.empty(n), np.zeros(n, np.bool_)
    for node in range(n):
        saved[node] = -np.inf if nodes[node, LEFT] >= 0 else np.inf
    n_tests = n // 2
    while n_tests > 0:
        node = np.argmin(saved)
        if not is_exact[node]:
            saved[node], side[node] = _saving(nodes, node, order, span, codes, cost)
            is_exact[node] = True
            continue
        if n_tests < most_leaves and saved[node] > price:
            break
        above = node
        for other in range(node - 1, -1, -1):  # parents come before their children
            if nodes[other, LEFT] == above or nodes[other, RIGHT] == above:
                saved[other] -= saved[node]
                is_exact[other], above = False, other
        kept, removed = nodes[node, side[node]], nodes[node, LEFT + RIGHT - side[node]]
        n_tests -= 1 + _detach(nodes, removed, saved)
        for q in range(5):
            nodes[node, q] = nodes[kept, q]
        nodes[kept, LEFT], saved[kept], saved[node] = -1, np.inf, np.inf
        is_below = np.zeros(n, np.bool_)
        is_below[node] = True
        for other in range(node, n):
            if is_below[other] and nodes[other, LEFT] >= 0:
                is_below[nodes[other, LEFT]] = is_below[nodes[other, RIGHT]] = True
                saved[other], is_exact[other] = -np.inf, False
                _divide(nodes[other], codes, order, span[other], span, spare)
    return compact(nodes)


@jit
def _detach(nodes, top, saved):
    """Turn all tests below a node into leaves that save infinity; return the number of tests."""
    is_below, n_tests = np.zeros(nodes.shape[0], np.bool_), 0
    is_below[top] = True
    for node in range(top, nodes.shape[0]):
        if is_below[node] and nodes[node, LEFT] >= 0:
            is_below[nodes[node, LEFT]] = is_below[nodes[node, RIGHT]] = True
            nodes[node, LEFT], saved[node], n_tests = -1, np.inf, n_tests + 1
    return n_tests


@jit
def _saving(nodes, node, order, span, codes, cost):
    """Return what a test saves, and the column of its better child."""
    at_left, at_right, middle = 0.0, 0.0, span[nodes[node, LEFT], 1]
    for r in range(span[node, 0], span[node, 1]):
        code, paid = codes[order[r]], cost[order[r]]
        left = _leaf_below(nodes, code, nodes[node, LEFT])
        right = _leaf_below(nodes, code, nodes[node, RIGHT])
        more = paid[nodes[right, LABEL]] - paid[nodes[left, LABEL]]
        if r < middle:
            at_right += more
        else:
            at_left -= more
    return min(at_left, at_right), LEFT if at_left <= at_right else RIGHT


@jit
def joint_pass(nodes, codes, first, values, n_clusters, least_gain, units, least):
    """Run one bottom-up pass that compares tests at the centres that each test leads to.

    A pass of Tree Alternating Optimization compares tests at fixed centres. A test that moves many
    rows from one cluster to another also moves both centres, so that such a pass misses most of its
    benefit and stops in a local optimum. A joint pass corresponds to a regular pass as the
    algorithm of Hartigan & Wong (1979) corresponds to that of Lloyd.

    The cost of k-means is sum_n c_n |x_n|^2 - sum_k |s_k|^2 / t_k, where s_k is the weighted sum of
    the rows of cluster k, and t_k is their weight. Only the second sum, the *between sum*, depends
    on the tree. A test is changed if the between sum rises by more than `least_gain`.

    Parameters
    ----------
    values : float64 array of shape (n, 12)
        c_n x_n in 11 directions of the clustering space, and c_n in the last column.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5)
    changed : bool
    """
    nodes = nodes.copy()
    order, span = rows_of_nodes(nodes, codes, nodes.shape[0])
    sides, sums = np.empty((codes.shape[0], 2), np.int64), np.zeros((n_clusters, WIDTH))
    low, high = np.empty(first.shape[0] - 1, np.int64), np.empty(first.shape[0] - 1, np.int64)
    changed = False
    for row in range(codes.shape[0]):
        _add(sums[nodes[_leaf_below(nodes, codes[row], 0), LABEL]], values[row], 1.0)
    for node in range(nodes.shape[0] - 1, -1, -1):
        test, rows = nodes[node], order[span[node, 0] : span[node, 1]]
        if test[LEFT] < 0 or rows.shape[0] == 0:
            continue
        for row in rows:  # they all go to the right, in `sums`
            sides[row, 0] = nodes[_leaf_below(nodes, codes[row], test[LEFT]), LABEL]
            sides[row, 1] = nodes[_leaf_below(nodes, codes[row], test[RIGHT]), LABEL]
            if codes[row, test[FEATURE]] <= test[BIN]:
                _add(sums[sides[row, 0]], values[row], -1.0)
                _add(sums[sides[row, 1]], values[row], 1.0)
        _allowed_bins(rows, codes, first, units, least, low, high)
        terms = (values, sides, sums, least_gain, low, high)
        feature, bin_, is_flipped = _best_joint_test(test, rows, codes, first, *terms)
        changed |= is_flipped or feature != test[FEATURE] or bin_ != test[BIN]
        test[FEATURE], test[BIN] = feature, bin_
        if is_flipped:
            test[LEFT], test[RIGHT] = test[RIGHT], test[LEFT]
        for row in rows:
            if (codes[row, feature] <= bin_) != is_flipped:
                _add(sums[sides[row, 0]], values[row], 1.0)
                _add(sums[sides[row, 1]], values[row], -1.0)
    return nodes, changed


@jit
def _best_joint_test(test, rows, codes, first, values, sides, start, least_gain, low, high):
    """Return the test with the largest between sum: (feature, bin, is_flipped).

    It is `test` if no test is better by more than `least_gain`. A flipped test sends the larger
    values to the left. `sides` has the labels of each row in the left and in the right subtree, and
    `start` has the sums of the clusters if all rows go to the right.
    """
    found, best, before, weight = (test[FEATURE], test[BIN], False), -np.inf, -np.inf, 0.0
    moved, n_moved, flipped = np.empty(rows.shape[0], np.int64), 0, start.copy()
    for row in rows:
        weight += values[row, -1]
        moved[n_moved] = row
        n_moved += sides[row, 0] != sides[row, 1]
        _add(flipped[sides[row, 0]], values[row], 1.0)
        _add(flipped[sides[row, 1]], values[row], -1.0)
    moves, between = np.empty((256, start.shape[0], WIDTH)), np.empty(256)
    is_new, no_weight = np.empty((256, start.shape[0]), np.bool_), _ABOUT_ZERO * weight
    for f in range(first.shape[0] - 1):
        end = high[f] - first[f]
        _sum_moves(moved[:n_moved], codes, f, values, sides, moves, is_new)
        for sign in (1.0, -1.0):
            terms = (moves[:end], is_new, sign, no_weight)
            _fill_between(start if sign > 0.0 else flipped, *terms, between)
            if sign > 0.0 and f == test[FEATURE] and test[BIN] < end:
                before = between[test[BIN]]
            for b in range(low[f] - first[f], end):
                if between[b] > best + least_gain:
                    best, found = between[b], (np.int64(f), np.int64(b), sign < 0.0)
    return found if best > before + least_gain else (test[FEATURE], test[BIN], False)


@jit
def _sum_moves(rows, codes, feature, values, sides, moves, is_new):
    """Sum per bin of a feature by how much clusters change if its rows go left instead of right.

    `moves` of shape (256, k, 12) is set where `is_new` is False afterwards.
    """
    for b in range(is_new.shape[0]):
        for c in range(is_new.shape[1]):
            is_new[b, c] = True
    for row in rows:
        bin_ = codes[row, feature]
        for side in range(2):
            c = sides[row, side]
            at = moves[bin_, c]
            if is_new[bin_, c]:
                is_new[bin_, c] = False
                for q in range(WIDTH):
                    at[q] = 0.0
            _add(at, values[row], 1.0 - 2.0 * side)


@jit
def _fill_between(start, moves, is_new, sign, no_weight, between):
    """Fill `between` with the between sum after each bin of a feature.

    `start` has the sums of the clusters before the first bin. At each bin, the clusters for which
    `is_new` is False change by `sign` times their `moves`.
    """
    sums, part, value = start.copy(), np.empty(start.shape[0]), 0.0
    for c in range(part.shape[0]):
        part[c] = _between(sums[c], no_weight)
        value += part[c]
    for b in range(moves.shape[0]):
        for c in range(part.shape[0]):
            if not is_new[b, c]:
                _add(sums[c], moves[b, c], sign)
                own = _between(sums[c], no_weight)
                value += own - part[c]
                part[c] = own
        between[b] = value


@jit
def _add(total, value, sign):
    for q in range(WIDTH):
        total[q] += sign * value[q]


@jit
def _between(total, no_weight):
    """Return |s|^2 / t of a cluster, 0 if it has no rows.

    The last of the squares is that of the weight; they add the same to each between sum.
    """
    if total[WIDTH - 1] <= no_weight:
        return 0.0
    one, two, three, four = 0.0, 0.0, 0.0, 0.0  # in four chains of additions
    for q in range(0, WIDTH, 4):
        one += total[q] ** 2
        two += total[q + 1] ** 2
        three += total[q + 2] ** 2
        four += total[q + 3] ** 2
    return ((one + two) + (three + four)) / total[WIDTH - 1]
