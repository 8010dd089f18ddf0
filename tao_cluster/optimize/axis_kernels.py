"""Kernels of the search over axis-aligned trees: rows as bytes, costs at fixed centres.

A tree is an int64 array with one row per node, parents before children. Its columns are the left
and the right child (-1 for a leaf), the feature and the bin of the test, and the label of a leaf.
A data row goes left if and only if its code of the feature is at most the bin.

- `codes`: uint8 array of shape (n, d), the bin of each value within its feature.
- `first`: int array of shape (d + 1,), where each feature starts in arrays over all bins.
- `cost`: float64 array of shape (n, k), the weighted cost of each row in each cluster.
- `units`, `least`: units of each row, and the minimum sum of units on either side of a new test.
  `units` is empty if there is no minimum.
- `rules`: the user's column of each feature (empty if tests are not limited), the column of the
  first test or -1, and the maximum number of tests per column.

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
def fill_costs(cost, clusters, distances, weight, unit):
    """Write the weighted distances of the rows to some clusters to the columns of `cost`.

    They are rounded to multiples of `unit`, unless it is 0. The columns of `distances` belong to
    `clusters`, an increasing array.
    """
    for row in range(cost.shape[0]):
        scale = weight[row] / unit if unit > 0.0 else weight[row]
        for i in range(clusters.shape[0]):
            value = distances[row, i] * scale
            cost[row, clusters[i]] = np.rint(value) * unit if unit > 0.0 else value


@jit
def routed(nodes, codes):
    """Return a tree without nodes that no test leads to, and where each row goes.

    The rows of node i are ``order[span[i, 0] : span[i, 1]]``, in increasing order.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5), breadth-first, so that parents come before children
    order : int64 array of shape (n,)
    span : int64 array of shape (n_nodes, 2)
    labels : int64 array of shape (n,), label of the leaf of each row
    """
    n, n_found = codes.shape[0], 1
    source, found = np.empty(nodes.shape[0], np.int64), np.empty((nodes.shape[0], 5), np.int64)
    order, spare, labels = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    span = np.empty((nodes.shape[0], 2), np.int64)
    for row in range(n):
        order[row] = row
    source[0], span[0, 0], span[0, 1] = 0, 0, n
    for node in range(nodes.shape[0]):
        if node == n_found:
            break
        for q in range(5):
            found[node, q] = nodes[source[node], q]
        start, stop = span[node, 0], span[node, 1]
        if found[node, LEFT] < 0:
            for r in range(start, stop):
                labels[order[r]] = found[node, LABEL]
            continue
        middle = _parted(found[node], order, start, stop, codes, spare)
        left, right = n_found, n_found + 1
        source[left], source[right] = found[node, LEFT], found[node, RIGHT]
        found[node, LEFT], found[node, RIGHT] = left, right
        span[left, 0], span[left, 1], span[right, 0], span[right, 1] = start, middle, middle, stop
        n_found += 2
    return found[:n_found], order, span[:n_found], labels


@jit
def _parted(test, order, start, stop, codes, spare):
    """Move the rows of a node that go to the left to its start; return where the others begin.

    The rows are ``order[start:stop]``. Each side keeps its order. `spare` is a workspace.
    """
    middle, n_right = start, 0
    for r in range(start, stop):
        row = order[r]
        if codes[row, test[FEATURE]] <= test[BIN]:
            order[middle] = row
            middle += 1
        else:
            spare[n_right] = row
            n_right += 1
    for r in range(n_right):
        order[middle + r] = spare[r]
    return middle


@jit
def _leaf_below(nodes, code, node):
    """Return the leaf below `node` that a row reaches; `code` has the bins of its values."""
    here = np.uint64(node)  # unsigned: no check for negative indices
    while nodes[here, LEFT] >= 0:
        goes_right = code[np.uint64(nodes[here, FEATURE])] > nodes[here, BIN]
        here = np.uint64(nodes[here, np.uint64(goes_right)])  # LEFT is 0, and RIGHT is 1
    return np.int64(here)


@jit
def one_pass(nodes, order, span, codes, first, cost, price, units, least, rules):
    """Run one pass of Tree Alternating Optimization, bottom-up, with the best test per node.

    Leaves get the label of least cost. A test that saves no more than `price` is replaced by one
    of its subtrees.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5)
        The new tree. Nodes of removed subtrees are still in the array; see :func:`routed`.
    changed : bool
    """
    nodes, changed, left = nodes.copy(), False, remaining(nodes, rules)
    sums, total = np.empty(first[-1]), np.empty(cost.shape[1])
    # In the order of `order`, so that those of a node are contiguous: the bins of each row, and its
    # cost in the subtree of the current node that it goes to, and in the other one.
    ordered = _taken(codes, order)
    owns, others = np.empty(codes.shape[0]), np.empty(codes.shape[0])
    for node in range(nodes.shape[0] - 1, -1, -1):
        start, stop = span[node, 0], span[node, 1]
        here, rows = nodes[node], order[start:stop]
        own, other = owns[start:stop], others[start:stop]
        if here[LEFT] < 0:
            if rows.shape[0] > 0:
                label = _cheapest(rows, cost, total)
                changed |= label != here[LABEL]
                here[LABEL] = label
                _fill(own, rows, cost, label)
            continue
        n_left, bins = span[here[LEFT], 1] - start, ordered[start:stop]
        all_left = _sum_differences(nodes, here, rows, n_left, bins, cost, first, sums, own, other)
        low, high = _allowed_bins(rows, codes, first, units, least)
        close(node, here, left, rules, first, high)
        value, feature, bin_, is_flipped = _best_test(all_left, first, sums, low, high)
        is_needed = node == 0 and rules[1] >= 0 and nodes.shape[0] > 3
        if is_needed and feature < 0:
            continue
        is_removed = not is_needed and (feature < 0 or min(0.0, all_left) - value <= price)
        if is_removed:  # all rows go to one side
            feature, bin_, is_flipped = 0, 255 if all_left <= 0.0 else -1, False
        _change_sides(n_left, bins, feature, bin_, is_flipped, own, other)
        changed |= is_removed or is_flipped or feature != here[FEATURE] or bin_ != here[BIN]
        count(here[FEATURE], feature, is_removed, left, rules)
        if is_removed:
            kept = here[LEFT] if all_left <= 0.0 else here[RIGHT]
            for q in range(5):
                here[q] = nodes[kept, q]
            continue
        here[FEATURE], here[BIN] = feature, bin_
        if is_flipped:
            here[LEFT], here[RIGHT] = here[RIGHT], here[LEFT]
    return nodes, changed


@jit
def remaining(nodes, rules):
    """Return how many further tests each of the user's columns may have: int64 array."""
    group, _, most = rules
    n_groups = 0
    for feature in range(group.shape[0]):  # group.max() takes long to compile
        n_groups = max(n_groups, group[feature] + 1)
    left = np.full(n_groups, most)
    for node in range(nodes.shape[0]):
        if nodes[node, LEFT] >= 0 and group.shape[0] > 0:
            left[group[nodes[node, FEATURE]]] -= 1
    return left


@jit
def close(node, test, left, rules, first, high):
    """Set `high` so that no cut of a feature is left that a new test of a node may not use.

    `test` is the node in the array of the tree, and `left` is the result of :func:`remaining`.
    """
    group, required, _ = rules
    own = group[test[FEATURE]] if group.shape[0] > 0 and test[LEFT] >= 0 else -1
    for f in range(group.shape[0]):
        is_other = node == 0 and required >= 0 and group[f] != required
        if is_other or (left[group[f]] <= 0 and group[f] != own):
            high[f] = first[f]


@jit
def count(old, new, is_removed, left, rules):
    """Update `left` after the test of one feature was replaced by that of another, or removed."""
    if rules[0].shape[0] > 0:
        left[rules[0][old]] += 1
        left[rules[0][new]] -= not is_removed


@jit
def _change_sides(n_left, codes, feature, bin_, is_flipped, own, other):
    """Set `own` to `other` for the rows that a new test of a node sends to their other side.

    The arrays are of the rows of the node. The first `n_left` of them are those on the left. A
    flipped test sends larger values to the left.
    """
    for r in range(codes.shape[0]):
        if ((codes[r, feature] <= bin_) != is_flipped) != (r < n_left):
            own[r] = other[r]


@jit
def _fill(own, rows, cost, label):
    """Write the cost of some rows in one cluster to `own`."""
    for r in range(rows.shape[0]):
        own[r] = cost[rows[r], label]


@jit
def _taken(codes, rows):
    """Return codes[rows]."""
    taken = np.empty((rows.shape[0], codes.shape[1]), codes.dtype)
    for r in range(rows.shape[0]):
        for f in range(codes.shape[1]):
            taken[r, f] = codes[rows[r], f]
    return taken


@jit
def _sum_differences(nodes, test, rows, n_left, codes, cost, first, sums, own, other):
    """Sum the cost differences of the rows of a node over the bins of every feature.

    The difference of a row is its cost in the left subtree minus that in the right subtree. The
    sum over the rows of each bin is written to `sums`, and the sum over all rows is returned. The
    first `n_left` rows are those on the left. `codes` has the bins of these rows. `own` has the
    cost of each row on its side, and the cost on the other side is written to `other`.
    """
    total, labels = 0.0, np.empty(rows.shape[0], np.int64)
    for b in range(sums.shape[0]):
        sums[b] = 0.0
    # Loops of their own find the leaves, read the costs and sum. Few costs are in the cache, and
    # without branches in between the processor waits for many of them at the same time.
    for r in range(rows.shape[0]):
        child = test[RIGHT] if r < n_left else test[LEFT]
        labels[r] = nodes[_leaf_below(nodes, codes[r], child), LABEL]
    for r in range(rows.shape[0]):
        other[r] = cost[rows[r], labels[r]]
    for r in range(rows.shape[0]):
        code = codes[r]
        difference = own[r] - other[r] if r < n_left else other[r] - own[r]
        if difference != 0.0:
            total += difference
            for f in range(code.shape[0]):  # unsigned: no check for negative indices
                sums[np.uint64(first[f]) + np.uint64(code[f])] += difference
    return total


@jit
def _allowed_bins(rows, codes, first, units, least):
    """Return the range of bins of each feature after which a cut leaves enough units on both sides.

    The first and the last cut of feature f are made after the bins ``low[f]`` and ``high[f] - 1``.
    """
    low, high = np.empty(first.shape[0] - 1, np.int64), np.empty(first.shape[0] - 1, np.int64)
    for f in range(low.shape[0]):
        low[f], high[f] = first[f], first[f + 1] - 1
    if units.shape[0] == 0:
        return low, high
    total, sums = 0.0, np.empty(256)
    for row in rows:
        total += units[row]
    for f in range(low.shape[0]):
        below, end = 0.0, first[f]
        for b in range(sums.shape[0]):
            sums[b] = 0.0
        for row in rows:
            sums[codes[row, f]] += units[row]
        for b in range(high[f] - first[f]):
            below += sums[b]
            low[f] += below < least
            end = first[f] + b + 1 if total - below >= least else end
        high[f] = end
    return low, high


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
        best = c if total[c] < total[best] else best
    return best


@jit
def most_saved(rows, cost):
    """Return how much a leaf would save if each of its rows had its own cheapest label."""
    total = np.empty(cost.shape[1])
    label, saved = _cheapest(rows, cost, total), 0.0
    for row in rows:
        least = cost[row, 0]
        for c in range(cost.shape[1]):
            least = min(least, cost[row, c])
        saved += cost[row, label] - least
    return saved


@jit
def best_cut(rows, codes, first, cost, units, least, node, leaf, left, rules):
    """Return the cut of a leaf that saves most if each side gets its best label.

    `rows` are the rows of the leaf; see :func:`close` for the last arguments. The result is
    (saving, feature, bin, label to the left, label to the right).
    """
    n_clusters = cost.shape[1]
    total, sums = np.empty(n_clusters), np.empty((256, n_clusters))
    low, high = _allowed_bins(rows, codes, first, units, least)
    close(node, leaf, left, rules, first, high)
    own = _cheapest(rows, cost, total)
    best = (0.0, np.int64(-1), np.int64(0), own, own)
    for f in range(first.shape[0] - 1):
        below, has_rows = np.zeros(n_clusters), np.zeros(256, np.bool_)
        for row in rows:
            bin_ = codes[row, f]
            if not has_rows[bin_]:
                has_rows[bin_] = True
                for c in range(n_clusters):
                    sums[bin_, c] = 0.0
            for c in range(n_clusters):
                sums[bin_, c] += cost[row, c]
        for b in range(high[f] - first[f]):
            if not has_rows[b]:  # without rows in it, the cut is the same as at the bin before
                continue
            left, right = 0, 0
            for c in range(n_clusters):
                below[c] += sums[b, c]
                left = c if below[c] < below[left] else left
                right = c if total[c] - below[c] < total[right] - below[right] else right
            gain = total[own] - below[left] - (total[right] - below[right])
            if gain > best[0] and b >= low[f] - first[f]:
                best = (gain, np.int64(f), np.int64(b), left, right)
    return best


@jit
def shrunk(nodes, order, span, codes, cost, most_leaves, price, keeps_root):
    """Return a tree without the tests that save least, the weakest first.

    The tree, `order` and `span` are results of :func:`routed`. Tests are removed until at most
    `most_leaves` leaves are left and each test saves more than `price`. A test saves by how much
    the cost would rise if all its rows went one way. A removal only changes the savings of the
    tests above and below it. At a test above, only those rows are looked at again that would reach
    the removed test after going to their other side. With `keeps_root`, the first test is removed
    last.

    Returns
    -------
    nodes : int64 array of shape (n_nodes, 5)
        Nodes of removed subtrees are still in the array; see :func:`routed`.
    """
    nodes, order, span = nodes.copy(), order.copy(), span.copy()
    n_nodes, n = nodes.shape[0], codes.shape[0]
    own, spare = np.empty(n), np.empty(n, np.int64)
    parent, level, below = np.full(n_nodes, -1), levels(nodes), np.empty(n_nodes, np.int64)
    # By how much the cost rises if all rows of a node go to the left or to the right.
    rises, is_below = np.full((n_nodes, 2), np.inf), np.zeros(n_nodes, np.bool_)
    # At each level, the leaf that a row would reach from the other side of its test there. The last
    # node has the highest level, since the nodes are in the order of :func:`routed`.
    there = np.empty((level[n_nodes - 1], n), np.int32)
    terms = (nodes, order, span, codes, cost, own, level, there)
    _fill_rises(0, terms, spare, parent, below, rises)
    while n_nodes > 1:
        weakest, side = int(keeps_root and n_nodes > 3), 0
        for node in range(weakest, nodes.shape[0]):
            for q in range(2):
                if rises[node, q] < rises[weakest, side]:
                    weakest, side = node, q
        rise = rises[weakest, side]
        if (n_nodes + 1) // 2 <= most_leaves and rise > price:
            break
        is_below[:] = False
        n_below = _nodes_below(weakest, nodes, below)
        for i in range(n_below):
            rises[below[i], 0] = rises[below[i], 1] = np.inf
            is_below[below[i]] = True
        here, kept = nodes[weakest], nodes[nodes[weakest, side]]
        for q in range(5):
            here[q] = kept[q]
        n_nodes -= n_below - _fill_rises(weakest, terms, spare, parent, below, rises)
        child, node = weakest, parent[weakest]
        while node >= 0:
            side = 0 if nodes[node, LEFT] == child else 1
            rises[node, 1 - side] -= rise
            rises[node, side] += _change_of_rise(node, side, weakest, is_below, terms)
            child, node = node, parent[node]
    return nodes


@jit
def levels(nodes):
    """Return the level of each node of a tree whose parents come before children; 0 is the root."""
    level = np.zeros(nodes.shape[0], np.int64)
    for node in range(nodes.shape[0]):
        if nodes[node, LEFT] >= 0:
            level[nodes[node, LEFT]] = level[nodes[node, RIGHT]] = level[node] + 1
    return level


@jit
def _nodes_below(node, nodes, below):
    """Write the nodes of the subtree of `node` to `below`, parents first; return their number."""
    below[0], n_found, i = node, 1, 0
    while i < n_found:
        if nodes[below[i], LEFT] >= 0:
            below[n_found], below[n_found + 1] = nodes[below[i], LEFT], nodes[below[i], RIGHT]
            n_found += 2
        i += 1
    return n_found


@jit
def _fill_rises(root, terms, spare, parent, below, rises):
    """Route the rows of `root` through its subtree and fill `rises` for the nodes there.

    The function also fills `parent`, the levels, and `own` with the cost of each row. It returns
    the number of nodes of the subtree, which are written to `below`; `spare` is a workspace.
    """
    nodes, order, span, codes, cost, own, level, _ = terms
    n_below = _nodes_below(root, nodes, below)
    for i in range(n_below):
        node = below[i]
        start, stop, left, right = (
            span[node, 0],
            span[node, 1],
            nodes[node, LEFT],
            nodes[node, RIGHT],
        )
        if left < 0:
            for r in range(start, stop):
                own[order[r]] = cost[order[r], nodes[node, LABEL]]
            continue
        middle = _parted(nodes[node], order, start, stop, codes, spare)
        span[left, 0], span[left, 1], span[right, 0], span[right, 1] = start, middle, middle, stop
        parent[left] = parent[right] = node
        level[left] = level[right] = level[node] + 1
    for i in range(n_below):
        for side in range(2):
            is_leaf = nodes[below[i], LEFT] < 0
            rises[below[i], side] = np.inf if is_leaf else _rise(below[i], side, terms)
    return n_below


@jit
def _rise(node, side, terms):
    """Return by how much the cost rises if all rows of a test go to its left (0) or right (1).

    The leaf that each of these rows would reach is written to the level of the node in `there`.
    """
    nodes, order, span, codes, cost, own, level, there = terms
    total, child, other = 0.0, nodes[node, side], nodes[node, 1 - side]
    leaves = there[level[node]]
    for r in range(span[other, 0], span[other, 1]):
        leaves[order[r]] = _leaf_below(nodes, codes[order[r]], child)
    for r in range(span[other, 0], span[other, 1]):  # costs are read in a loop without branches
        row = order[r]
        total += cost[row, nodes[leaves[row], LABEL]] - own[row]
    return total


@jit
def _change_of_rise(node, side, changed, is_below, terms):
    """Return the change of what :func:`_rise` returns after a test below that side is removed.

    `changed` is the node of the test, and `is_below` marks the nodes that were below it. The test
    is gone already.
    """
    nodes, order, span, codes, cost, _, level, there = terms
    total, other, leaves = 0.0, nodes[node, 1 - side], there[level[node]]
    for r in range(span[other, 0], span[other, 1]):
        row = order[r]
        leaf = leaves[row]
        if is_below[leaf]:
            new = _leaf_below(nodes, codes[row], changed)
            leaves[row] = new
            total += cost[row, nodes[new, LABEL]] - cost[row, nodes[leaf, LABEL]]
    return total


@jit
def joint_pass(
    nodes, order, span, codes, first, values, n_clusters, least_gain, units, least, rules
):
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
    nodes, changed, left = nodes.copy(), False, remaining(nodes, rules)
    sides, sums = np.empty((codes.shape[0], 2), np.int64), np.zeros((n_clusters, WIDTH))
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
        low, high = _allowed_bins(rows, codes, first, units, least)
        close(node, test, left, rules, first, high)
        terms = (values, sides, sums, least_gain, low, high)
        feature, bin_, is_flipped = _best_joint_test(test, rows, codes, first, *terms)
        changed |= is_flipped or feature != test[FEATURE] or bin_ != test[BIN]
        count(test[FEATURE], feature, False, left, rules)
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
    """Return |s|^2 / t of a cluster, 0 if it has no rows."""
    t = WIDTH - 1  # the place of the weight
    if total[t] <= no_weight:
        return 0.0
    one, two, three, four = total[t - 3] ** 2, total[t - 2] ** 2, total[t - 1] ** 2, 0.0
    for q in range(0, t - 3, 4):  # in four chains of additions
        one += total[q] ** 2
        two += total[q + 1] ** 2
        three += total[q + 2] ** 2
        four += total[q + 3] ** 2
    return ((one + two) + (three + four)) / total[t]
