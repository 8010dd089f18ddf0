"""Kernels of the search over axis-aligned trees: rows as bytes, costs at fixed centres.

A tree is an int64 array with one row per node, parents before children. Its columns are the left
and the right child (-1 for a leaf), the feature and the bin of the test, and the label of a leaf.
A data row goes left if and only if its code of the feature is at most the bin.

- `codes`: uint8 array of shape (n, d), the bin of each value within its feature.
- `first`: int array of shape (d + 1,), where each feature starts in arrays over all bins.
- `cost`: float64 array of shape (n, k), the weighted cost of each row in each cluster.

No kernel draws random numbers, and each runs in one thread over the rows in their order, so that
its sums are reproducible. If tests are equally good, the one of the lowest feature is chosen, and
then that of the lowest bin. Arrays are filled by loops, because numba takes time to compile most
NumPy calls.
"""

import numpy as np

from .._utils.jit import jit

LEFT, RIGHT, FEATURE, BIN, LABEL = range(5)


@jit
def compact(nodes):
    """Return the array of nodes without those that are no longer part of the tree.

    The order is breadth-first from the root, so that parents come before their children.
    """
    out, source, n = nodes.copy(), np.zeros(nodes.shape[0], np.int64), 1
    for node in range(nodes.shape[0]):
        if node == n:
            break
        out[node] = nodes[source[node]]
        if out[node, LEFT] >= 0:
            source[n], source[n + 1] = out[node, LEFT], out[node, RIGHT]
            out[node, LEFT], out[node, RIGHT] = n, n + 1
            n += 2
    return out[:n].copy()


def without_unbalanced(nodes, sizes, least):
    """Return the tree without the first test that has a side smaller than `least`, if any.

    The subtree of the larger side takes its place. Other nodes may be unreachable then. The result
    is None if there is no such test.
    """
    children = nodes[:, [LEFT, RIGHT]]
    is_small = (nodes[:, LEFT] >= 0) & (sizes[children].min(axis=1) < least)
    if not is_small.any():
        return None
    found, node = nodes.copy(), int(is_small.argmax())
    left, right = children[node]
    found[node] = nodes[left if sizes[left] >= sizes[right] else right]
    return found


def leaf_counts(nodes):
    """Return the number of leaves below each node: int array of shape (n_nodes,)."""
    counts = np.ones(len(nodes), int)
    for node in range(len(nodes) - 1, -1, -1):  # parents come before their children
        if nodes[node, LEFT] >= 0:
            counts[node] = counts[nodes[node, LEFT]] + counts[nodes[node, RIGHT]]
    return counts


def subtree(nodes, node):
    """Return the array of nodes of the subtree below a node."""
    found = nodes.copy()
    found[0] = nodes[node]
    return compact(found)


def with_subtree(nodes, node, subtree):
    """Return the array of nodes of a tree in which `subtree` takes the place of a node.

    The other nodes keep their numbers. The nodes of the former subtree are still in the array; see
    :func:`compact`.
    """
    added = subtree.copy()
    added[added[:, LEFT] >= 0, : RIGHT + 1] += len(nodes)
    found = np.concatenate([nodes, added])
    found[node] = added[0]
    return found


@jit
def leaf_of(nodes, code, node):
    """Return the leaf below `node` that a row reaches; `code` has the bins of its values."""
    while nodes[node, LEFT] >= 0:
        goes_left = code[nodes[node, FEATURE]] <= nodes[node, BIN]
        node = nodes[node, LEFT] if goes_left else nodes[node, RIGHT]
    return node


@jit
def spans(nodes, codes, n_nodes):
    """Return the rows of all nodes, as an order of the rows and one range per node.

    The rows of node i are ``order[span[i, 0] : span[i, 1]]``. `span` has shape (n_nodes, 2).
    """
    n = codes.shape[0]
    order, spare, span = np.arange(n), np.empty(n, np.int64), np.zeros((n_nodes, 2), np.int64)
    span[0, 1] = n
    for node in range(nodes.shape[0]):
        if nodes[node, LEFT] >= 0:
            _divide(nodes[node], codes, order, span[node], span, spare)
    return order, span


def labels_of(nodes, codes):
    """Return the label of the leaf of each row: int64 array of shape (n,)."""
    order, span = spans(nodes, codes, len(nodes))
    labels = np.empty(len(codes), np.int64)
    for leaf in np.flatnonzero(nodes[:, LEFT] < 0):
        labels[order[span[leaf, 0] : span[leaf, 1]]] = nodes[leaf, LABEL]
    return labels


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
def _sum_costs(rows, cost, total):
    """Fill `total` with the cost of the rows per cluster, and return the cheapest cluster."""
    total[:] = 0.0
    for r in range(rows.shape[0]):
        paid = cost[rows[r]]
        for c in range(total.shape[0]):
            total[c] += paid[c]
    return np.argmin(total)


@jit
def _sum_gains(nodes, node, order, span, codes, cost, first, labels, others, sums):
    """Sum the cost differences of the rows of a node over the bins of every feature.

    The difference of a row is its cost in the left subtree minus that in the right subtree. The
    sum over the rows of each bin is written to `sums`, and the sum over all rows is returned.
    `labels` has the label of each row. `others` is filled with that in the other subtree.
    """
    left, right, total = nodes[node, LEFT], nodes[node, RIGHT], 0.0
    sums[:] = 0.0
    for r in range(span[node, 0], span[node, 1]):
        row, is_left = order[r], r < span[left, 1]
        code = codes[row]
        others[row] = nodes[leaf_of(nodes, code, right if is_left else left), LABEL]
        gain = cost[row, labels[row]] - cost[row, others[row]]
        if gain != 0.0:
            gain = gain if is_left else -gain
            total += gain
            for f in range(code.shape[0]):
                sums[first[f] + np.uint64(code[f])] += gain
    return total


@jit
def sum_units(rows, codes, units, first, sums):
    """Fill `sums`, per bin of every feature, with the units of the rows; return their total."""
    total = 0.0
    sums[:] = 0.0
    for r in range(rows.shape[0]):
        code, unit = codes[rows[r]], units[rows[r]]
        total += unit
        for f in range(code.shape[0]):
            sums[first[f] + np.uint64(code[f])] += unit
    return total


@jit
def _best_test(total, first, sums, sizes, size, least):
    """Return the test with the least sum over its left rows: (sum, feature, bin, is_flipped).

    `sums` has the summed cost differences (left minus right) of the rows in each bin, and `total`
    is their sum over all rows. A flipped test sends the larger values to the left. The feature is
    -1 if no test is better than sending all rows to one side. With `sizes`, the units of the rows
    per bin, of sum `size`, both sides must have at least `least` units.
    """
    best = (min(0.0, total), np.int64(-1), np.int64(0), False)
    for f in range(first.shape[0] - 1):
        below, inside, low, high = 0.0, 0.0, best[0], total - best[0]
        for b in range(first[f], first[f + 1] - 1):
            below += sums[b]
            if sizes.shape[0]:
                inside += sizes[b]
                if inside < least or size - inside < least:
                    continue
            if below < low:
                low, high = below, total - below
                best = (below, np.int64(f), np.int64(b - first[f]), False)
            elif below > high:
                low, high = total - below, below
                best = (total - below, np.int64(f), np.int64(b - first[f]), True)
    return best


@jit
def one_pass(nodes, codes, first, cost, price, units, least):
    """Run one pass of Tree Alternating Optimization, bottom-up, with the best test per node.

    Leaves get the label of least cost. A test that saves no more than `price` is replaced by one
    of its subtrees. With `units` of the rows, each side of a new test has at least `least` units.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5)
        The new tree. Nodes of removed subtrees are still in the array; see :func:`compact`.
    changed : bool
    """
    nodes, starts = nodes.copy(), first.astype(np.uint64)  # unsigned: no check for negative indices
    order, span = spans(nodes, codes, nodes.shape[0])
    labels, others = np.empty(codes.shape[0], np.int64), np.empty(codes.shape[0], np.int64)
    sums, total, changed = np.empty(first[-1]), np.empty(cost.shape[1]), False
    sizes, size = np.empty(first[-1] if units.shape[0] else 0), 0.0
    for node in range(nodes.shape[0] - 1, -1, -1):
        here, rows = nodes[node], order[span[node, 0] : span[node, 1]]
        if here[LEFT] < 0:
            label = _sum_costs(rows, cost, total) if rows.shape[0] else here[LABEL]
            changed |= label != here[LABEL]
            here[LABEL] = label
            for r in range(rows.shape[0]):
                labels[rows[r]] = label
            continue
        left, right = here[LEFT], here[RIGHT]
        terms = (codes, cost, starts, labels, others, sums)
        all_left = _sum_gains(nodes, node, order, span, *terms)
        if units.shape[0]:
            size = sum_units(rows, codes, units, starts, sizes)
        value, feature, bin_, is_flipped = _best_test(all_left, first, sums, sizes, size, least)
        if feature < 0 or min(0.0, all_left) - value <= price:
            kept = nodes[left if all_left <= 0.0 else right]
            for q in range(5):
                here[q] = kept[q]
            changed = True
            feature, bin_, is_flipped = 0, np.int64(256), all_left > 0.0  # all rows go to one side
        else:
            changed |= is_flipped or feature != here[FEATURE] or bin_ != here[BIN]
            here[FEATURE], here[BIN] = feature, bin_
            if is_flipped:
                here[LEFT], here[RIGHT] = right, left
        for r in range(span[node, 0], span[node, 1]):
            row = order[r]
            if (codes[row, feature] <= bin_) == ((r < span[left, 1]) == is_flipped):
                labels[row] = others[row]
    return nodes, changed


@jit
def _sum_bin_costs(rows, codes, feature, cost, sums, has_rows):
    """Sum the costs of rows per bin of one feature and per cluster: `sums` of shape (256, k).

    `has_rows` tells which bins have rows; the sums of the other bins are not set.
    """
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
def _allowed_bins(rows, codes, feature, units, least, n_bins):
    """Return the range [low, high) of bins after which a cut leaves enough units on both sides."""
    if units.shape[0] == 0:
        return 0, n_bins - 1
    sums, total = np.zeros(256), 0.0
    for r in range(rows.shape[0]):
        sums[codes[rows[r], feature]] += units[rows[r]]
        total += units[rows[r]]
    low, high, below = 0, 0, 0.0
    for b in range(n_bins - 1):
        below += sums[b]
        low += below < least
        high = b + 1 if total - below >= least else high
    return low, high


@jit
def _best_cut(rows, codes, first, cost, sums, units, least):
    """Return the cut of a leaf that saves most if each side gets its best label.

    `rows` are the rows of the leaf, and `sums` is a workspace of shape (256, k). With `units` of
    the rows, both sides must have at least `least` units. The result is (saving, feature, bin,
    label to the left, label to the right).
    """
    n_clusters = cost.shape[1]
    total, below, has_rows = np.empty(n_clusters), np.empty(n_clusters), np.empty(256, np.bool_)
    own = _sum_costs(rows, cost, total)
    best = (0.0, np.int64(-1), np.int64(0), own, own)
    for f in range(first.shape[0] - 1):
        _sum_bin_costs(rows, codes, f, cost, sums, has_rows)
        below[:], n_bins = 0.0, first[f + 1] - first[f]
        lowest, end = _allowed_bins(rows, codes, f, units, least, n_bins)
        for b in range(end):
            if not has_rows[b]:  # without rows in it, the cut is the same as at the bin before
                continue
            left, right = 0, 0
            for c in range(n_clusters):
                below[c] += sums[b, c]
                if below[c] < below[left]:
                    left = c
                if total[c] - below[c] < total[right] - below[right]:
                    right = c
            gain = total[own] - below[left] - (total[right] - below[right])
            if gain > best[0] and b >= lowest:
                best = (gain, np.int64(f), np.int64(b), left, right)
    return best


@jit
def expand(nodes, codes, first, cost, most_leaves, price, units, least):
    """Return the tree after leaves are split, the best split first, up to `most_leaves` leaves.

    It also ends if no cut of a leaf saves more than `price`.
    """
    n, n_nodes = nodes.shape[0], max(2 * most_leaves - 1, nodes.shape[0])
    out, gain = np.empty((n_nodes, 5), np.int64), np.empty(n_nodes)
    for node in range(n_nodes):
        gain[node] = -1.0
        for q in range(5):
            out[node, q] = nodes[node, q] if node < n else -1
    cut, sums = np.zeros((n_nodes, 4), np.int64), np.empty((256, cost.shape[1]))
    order, span = spans(nodes, codes, n_nodes)
    spare, fresh = np.empty(codes.shape[0], np.int64), 0
    while True:
        for leaf in range(fresh, n):
            if out[leaf, LEFT] < 0:
                rows = order[span[leaf, 0] : span[leaf, 1]]
                best = _best_cut(rows, codes, first, cost, sums, units, least)
                gain[leaf] = best[0]
                cut[leaf, 0], cut[leaf, 1], cut[leaf, 2], cut[leaf, 3] = best[1:]
        node = 0
        for other in range(n):
            node = other if gain[other] > gain[node] else node
        if n + 2 > n_nodes or not gain[node] > price:
            return out[:n].copy()
        gain[node] = -1.0
        out[node, LEFT], out[node, RIGHT] = n, n + 1
        out[node, FEATURE], out[node, BIN] = cut[node, 0], cut[node, 1]
        out[n, LABEL], out[n + 1, LABEL] = cut[node, 2], cut[node, 3]
        _divide(out[node], codes, order, span[node], span, spare)
        fresh, n = n, n + 2


@jit
def shrink(nodes, codes, cost, most_leaves, price):
    """Return the tree without its weakest tests, which save least; the weakest is removed first.

    Tests are removed until at most `most_leaves` leaves are left and each test saves more than
    `price`. A test saves by how much the cost would rise if all its rows went one way. A removal
    changes what the tests above and below it save. This is computed anew for a test that may be
    the weakest.
    """
    nodes, n = nodes.copy(), nodes.shape[0]
    order, span = spans(nodes, codes, n)
    saved, side, is_old = np.empty(n), np.zeros(n, np.int64), np.ones(n, np.bool_)
    saved[:], n_leaves, spare = -np.inf, (n + 1) // 2, np.empty(codes.shape[0], np.int64)
    while n_leaves > 1:
        node = np.argmin(saved)
        if is_old[node]:
            saved[node], side[node] = _saving(nodes, node, order, span, codes, cost)
            is_old[node] = False
            continue
        if n_leaves <= most_leaves and saved[node] > price:
            break
        kept, loss = nodes[node, side[node]], saved[node]
        nodes[node], saved[node] = nodes[kept], saved[kept]
        nodes[kept, LEFT] = -1
        n_leaves = _divide_again(nodes, node, codes, order, span, spare, loss, saved, is_old)
    return compact(nodes)


@jit
def _divide_again(nodes, changed, codes, order, span, spare, loss, saved, is_old):
    """Divide the rows of a changed node again, and return the number of leaves of the tree.

    The change costs `loss`. `saved` becomes infinity at nodes that are no longer part of the tree.
    At the tests above and below the node, and there, it becomes a low estimate, and `is_old` True.
    """
    is_in, is_below = np.zeros(len(nodes), np.bool_), np.zeros(len(nodes), np.bool_)
    is_in[0], is_below[changed], n_leaves = True, True, 0
    for node in range(len(nodes)):  # parents come before their children
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        if not is_in[node]:
            saved[node] = np.inf
        elif left < 0:
            n_leaves += 1
        else:
            is_in[left] = is_in[right] = True
            if is_below[node]:
                is_below[left] = is_below[right] = is_old[node] = True
                saved[node] = -np.inf
                _divide(nodes[node], codes, order, span[node], span, spare)
    for node in range(changed - 1, -1, -1):
        if is_in[node] and (nodes[node, LEFT] == changed or nodes[node, RIGHT] == changed):
            is_old[node], changed = True, node
            saved[node] -= loss
    return n_leaves


@jit
def _saving(nodes, node, order, span, codes, cost):
    """Return what a test saves, infinity at a leaf, and the column of the better child."""
    if nodes[node, LEFT] < 0:
        return np.inf, LEFT
    at_left, at_right, middle = 0.0, 0.0, span[nodes[node, LEFT], 1]
    for r in range(span[node, 0], span[node, 1]):
        code, paid = codes[order[r]], cost[order[r]]
        left = leaf_of(nodes, code, nodes[node, LEFT])
        right = leaf_of(nodes, code, nodes[node, RIGHT])
        more = paid[nodes[right, LABEL]] - paid[nodes[left, LABEL]]
        if r < middle:
            at_right += more
        else:
            at_left -= more
    return min(at_left, at_right), LEFT if at_left <= at_right else RIGHT
