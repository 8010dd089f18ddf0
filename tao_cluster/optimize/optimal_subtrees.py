"""Optimal subtrees of depth two in a sketch, and how leaves are shared among them.

A *branch* is a maximal subtree of at most four leaves. At fixed centres, its best trees of depth
two with one to four leaves are found exactly: for each test of the root, the sums of costs on its
two sides give the best test of each child. Dynamic programming then shares the leaves of the whole
tree among its branches, so that a branch can give a leaf to another branch that needs it more.
"""

import math

import numpy as np

from .._utils.jit import jit
from . import sketch_kernels as kernels
from .sketch_kernels import LABEL, LEFT, RIGHT

_MOST_LEAVES = 4  # of a tree of depth two
_MOST_WORK = 10**9  # limit of the additions for all branches of a tree, which take about a second
_ROOT, _AT_LEFT, _AT_RIGHT = range(3)  # tests of a tree of depth two


def with_optimal_subtrees(sketch, state):
    """Return the array of nodes of a tree whose branches are exchanged for optimal ones.

    At the centres of the given tree, the new tree costs at most as much. It has at most as many
    leaves as the sketch allows.

    Parameters
    ----------
    sketch : Sketch
    state : Sketched, with at most as many leaves as the sketch allows

    Returns
    -------
    int64 array of shape (n_nodes, 5)
    """
    nodes, codes = state.nodes, sketch.codes
    excess = state.cost - state.cost.min(axis=1, keepdims=True)
    order, span = kernels.spans(nodes, codes, len(nodes))
    n_leaves = kernels.leaf_counts(nodes)
    branches = _branches(nodes, n_leaves)
    options = []
    for node in branches:
        rows, own = order[span[node, 0] : span[node, 1]], kernels.subtree(nodes, node)
        found = _small_trees(sketch, rows, excess, _MOST_WORK / len(branches))
        value = float(excess[rows, kernels.labels_of(own, codes[rows])].sum())
        if value <= found[n_leaves[node] - 1][0]:  # four leaves in a chain can be better
            found[n_leaves[node] - 1] = value, own
        options.append(found)
    values = np.array([[value for value, _ in found] for found in options])
    sizes = shared_leaves(values, sketch.price, sketch.most_leaves)
    for node, found, size in zip(branches, options, sizes, strict=True):
        nodes = kernels.with_subtree(nodes, node, found[size - 1][1])
    return _labelled(kernels.compact(nodes), codes, excess)


def shared_leaves(values, price, most_leaves):
    """Return the numbers of leaves of all branches for which the tree costs least.

    Parameters
    ----------
    values : float64 array of shape (n_branches, 4)
        Cost of each branch with one to four leaves.
    price : float, penalty per leaf
    most_leaves : int, maximum sum of the numbers; at least the number of branches

    Returns
    -------
    list of int
    """
    least, chosen = np.zeros(1), []  # least cost of the branches so far for each sum of leaves
    for value in values:
        n = len(least)
        found, best = np.full(n + len(value), np.inf), np.zeros(n + len(value), int)
        for n_leaves, cost in enumerate(value, start=1):
            other = least + cost + price * n_leaves
            is_less = other < found[n_leaves : n_leaves + n]
            found[n_leaves : n_leaves + n][is_less] = other[is_less]
            best[n_leaves : n_leaves + n][is_less] = n_leaves
        least = found
        chosen.append(best)
    left, sizes = int(np.argmin(least[: most_leaves + 1])), []
    for best in reversed(chosen):
        sizes.append(int(best[left]))
        left -= sizes[-1]
    return sizes[::-1]


def _branches(nodes, n_leaves):
    """Return the roots of the maximal subtrees of at most four leaves."""
    found, front = [], [0]
    while front:
        node = front.pop()
        if n_leaves[node] <= _MOST_LEAVES:
            found.append(node)
        else:
            front += nodes[node, [RIGHT, LEFT]].tolist()
    return found


def _small_trees(sketch, rows, excess, most_work):
    """Return (cost, array of nodes) of the best tree for some rows with 1, 2, 3 and 4 leaves.

    If the exact solution takes too long, only the columns whose single tests save most are used.
    """
    units, least = sketch.limit
    paid = np.zeros((len(rows), excess.shape[1] + 1))  # the last column has units of the rows
    paid[:, :-1] = excess[rows]
    if len(units):
        paid[:, -1] = units[rows]
    codes = sketch.codes[rows]
    n_bins = np.minimum(np.diff(sketch.first), len(rows))
    columns = np.flatnonzero(n_bins > 1)
    work = paid.shape[1] * (len(rows) * len(columns) ** 2 + float(n_bins[columns].sum()) ** 2)
    if work > most_work:
        n_columns = max(2, math.floor(len(columns) * math.sqrt(most_work / work)))
        value = values_of_cuts(codes[:, columns], paid, least)
        columns = np.sort(columns[np.argsort(value, kind="stable")[:n_columns]])
    values, tests = best_trees(codes[:, columns], paid, least)
    return [
        (float(value), _tree([(columns[j], b) if j >= 0 else None for j, b in own.tolist()]))
        for value, own in zip(values, tests, strict=True)
    ]


def _tree(tests):
    """Return the array of nodes of a tree of depth two, without labels.

    `tests` has the feature and the bin of the root, and of its left and right child; None is a
    leaf.
    """
    leaf = (-1, -1, -1, -1, 0)
    nodes = [leaf]
    for place, test in enumerate(tests):  # the children of the root are the nodes 1 and 2
        if test is not None:
            nodes[place] = (len(nodes), len(nodes) + 1, *test, -1)
            nodes += [leaf, leaf]
    return np.array(nodes, np.int64)


def _labelled(nodes, codes, cost):
    """Give each leaf that has rows the label of least cost; change and return the array."""
    order, span = kernels.spans(nodes, codes, len(nodes))
    for leaf in np.flatnonzero(nodes[:, LEFT] < 0):
        rows = order[span[leaf, 0] : span[leaf, 1]]
        if len(rows):
            nodes[leaf, LABEL] = np.argmin(cost[rows].sum(axis=0))
    return nodes


@jit
def _local_bins(codes):
    """Number the bins that have rows, one feature after the other.

    Returns
    -------
    places : int64 array of shape (n, d), number of the bin of each value
    first : int64 array of shape (d + 1,), first number of each feature
    bins : int64 array, the bin with each number
    """
    n, d = codes.shape
    places, first = np.empty((n, d), np.int64), np.zeros(d + 1, np.int64)
    bins = np.empty(256 * d, np.int64)
    number, count = np.empty(256, np.int64), 0
    for j in range(d):
        number[:] = -1
        for r in range(n):
            number[codes[r, j]] = 0
        for b in range(256):
            if number[b] == 0:
                number[b] = count
                bins[count] = b
                count += 1
        for r in range(n):
            places[r, j] = number[codes[r, j]]
        first[j + 1] = count
    return places, first, bins[:count]


@jit
def _least(total):
    """Return the least cost of a leaf; the last entry of `total` is not a cost."""
    best = total[0]
    for c in range(1, total.shape[0] - 1):
        best = min(best, total[c])
    return best


@jit
def _best_cut_of(sums, low, high, total, below, least, best):
    """Return (cost, number of the bin) of the best cut after the bins low, ..., high - 2.

    The number is -1 if no cut costs less than `best`. `sums` has the costs per bin and cluster,
    and last the units of the rows; `total` has their sums. `below` is a workspace.
    """
    found, n = -1, total.shape[0]
    below[:] = 0.0
    for b in range(low, high - 1):
        left, right = np.inf, np.inf
        for c in range(n - 1):
            below[c] += sums[b, c]
            left, right = min(left, below[c]), min(right, total[c] - below[c])
        below[n - 1] += sums[b, n - 1]
        is_allowed = below[n - 1] >= least and total[n - 1] - below[n - 1] >= least
        if is_allowed and left + right < best:
            best, found = left + right, b
    return best, found


@jit
def _best_cut(sums, first, total, below, least):
    """Return (cost, feature, number of the bin) of the best cut over all features.

    The feature is -1, and the cost that of one leaf, if no cut costs less.
    """
    best, feature, place = _least(total), -1, -1
    for j in range(first.shape[0] - 1):
        value, found = _best_cut_of(sums, first[j], first[j + 1], total, below, least, best)
        if found >= 0:
            best, feature, place = value, j, found
    return best, feature, place


@jit
def _add(sums, total, places, paid, sign):
    """Add the costs and units of a row to the sums of its bins, or subtract them."""
    for j in range(places.shape[0]):
        at = sums[places[j]]
        for c in range(paid.shape[0]):
            at[c] += sign * paid[c]
    for c in range(paid.shape[0]):
        total[c] += sign * paid[c]


@jit
def values_of_cuts(codes, paid, least):
    """Return the cost of the best cut of each feature: float64 array of shape (d,).

    Only the sums of one feature are in memory at a time.
    """
    n, d = codes.shape
    total, below, values = np.zeros(paid.shape[1]), np.empty(paid.shape[1]), np.empty(d)
    for j in range(d):
        places, first, bins = _local_bins(codes[:, j : j + 1])
        sums = np.zeros((bins.shape[0], paid.shape[1]))
        total[:] = 0.0
        for r in range(n):
            _add(sums, total, places[r], paid[r], 1.0)
        values[j] = _best_cut(sums, first, total, below, least)[0]
    return values


@jit
def best_trees(codes, paid, least):
    """Find the cheapest trees of depth two at most with at most one, two, three and four leaves.

    Parameters
    ----------
    codes : uint8 array of shape (n, d)
    paid : float64 array of shape (n, k + 1)
        Costs, at least zero, of each row in each cluster, and last the units of the row.
    least : float
        Minimum sum of the units of a leaf.

    Returns
    -------
    values : float64 array of shape (4,)
    tests : int64 array of shape (4, 3, 2)
        Feature and bin of the tests of the root, its left and its right child; the feature is -1
        if there is no test.
    """
    n, d = codes.shape
    places, first, bins = _local_bins(codes)
    sums, totals = np.zeros((3, bins.shape[0], paid.shape[1])), np.zeros((3, paid.shape[1]))
    for r in range(n):
        _add(sums[_ROOT], totals[_ROOT], places[r], paid[r], 1.0)
    below, none = np.empty(paid.shape[1]), (np.int64(-1), np.int64(-1))
    values, tests = np.full(4, _least(totals[_ROOT])), np.full((4, 3, 2), -1, np.int64)
    best = _best_cut(sums[_ROOT], first, totals[_ROOT], below, least)
    for size in range(1, 4):
        _keep(values, tests, size, best[0], best[1:], none, none)
    largest = np.empty(n)
    for r in range(n):
        largest[r] = paid[r, :-1].max()
    for j in range(d):
        _try_root(j, places, first, paid, largest, sums, totals, least, values, tests)
    if values[2] < values[3]:
        values[3], tests[3] = values[2], tests[2]
    for size in range(4):
        for node in range(3):
            if tests[size, node, 0] >= 0:
                tests[size, node, 1] = bins[tests[size, node, 1]]
    return values, tests


@jit
def _try_root(j, places, first, paid, largest, sums, totals, least, values, tests):
    """Try the cuts of a feature as tests of the root, and keep the best trees.

    `largest` has the largest cost of each row. The sums of the root are given; those of its
    children are workspaces.
    """
    start, order = _sorted_rows(places[:, j], first[j], first[j + 1])
    below, none = np.empty(paid.shape[1]), (np.int64(-1), np.int64(-1))
    for side, share in ((_AT_LEFT, 0.0), (_AT_RIGHT, 1.0)):
        _copy_multiple(sums[_ROOT], totals[_ROOT], share, sums[side], totals[side])
    left, right = (0.0, none[0], none[1]), (0.0, none[0], none[1])  # best cuts of the children
    moved = 0.0
    for place in range(first[j], first[j + 1] - 1):
        for r in range(start[place - first[j]], start[place - first[j] + 1]):
            row = order[r]
            moved += largest[row]
            _add(sums[_AT_LEFT], totals[_AT_LEFT], places[row], paid[row], 1.0)
            _add(sums[_AT_RIGHT], totals[_AT_RIGHT], places[row], paid[row], -1.0)
        if min(totals[_AT_LEFT, -1], totals[_AT_RIGHT, -1]) < least:
            continue
        one_left, one_right = _least(totals[_AT_LEFT]), _least(totals[_AT_RIGHT])
        # Lower bounds of the costs of cut children: the cost at the left only grows, and that at
        # the right falls by what the moved rows cost at most. With a minimum size of leaves, a
        # larger side can have better cuts, so that these are no bounds.
        two_left, two_right = left[0], max(0.0, right[0] - moved)
        if least > 0.0:
            two_left, two_right = 0.0, 0.0
        if not _can_improve(values, one_left, one_right, two_left, two_right):
            continue
        left = _best_cut(sums[_AT_LEFT], first, totals[_AT_LEFT], below, least)
        if not _can_improve(values, one_left, one_right, left[0], two_right):
            continue
        right, moved = _best_cut(sums[_AT_RIGHT], first, totals[_AT_RIGHT], below, least), 0.0
        root = (np.int64(j), np.int64(place))
        _keep(values, tests, 2, one_left + right[0], root, none, right[1:])
        _keep(values, tests, 2, left[0] + one_right, root, left[1:], none)
        _keep(values, tests, 3, left[0] + right[0], root, left[1:], right[1:])


@jit
def _can_improve(values, one_left, one_right, two_left, two_right):
    """Return whether children with these costs as one leaf or two can be better than `values`."""
    three = min(one_left + two_right, two_left + one_right)
    return three < values[2] or two_left + two_right < values[3]


@jit
def _keep(values, tests, size, value, root, left, right):
    """Keep the tests of a tree if it costs less than the best one of `size` + 1 leaves."""
    if value < values[size]:
        values[size] = value
        for q in range(2):
            tests[size, _ROOT, q], tests[size, _AT_LEFT, q] = root[q], left[q]
            tests[size, _AT_RIGHT, q] = right[q]


@jit
def _copy_multiple(sums, total, share, out_sums, out_total):
    for c in range(total.shape[0]):
        out_total[c] = share * total[c]
        for b in range(sums.shape[0]):
            out_sums[b, c] = share * sums[b, c]


@jit
def _sorted_rows(places, low, high):
    """Return the rows by their places low, ..., high - 1: ranges `start`, and an order.

    The rows of a place are ``order[start[place - low] : start[place - low + 1]]``.
    """
    start, order = np.zeros(high - low + 1, np.int64), np.empty(places.shape[0], np.int64)
    for r in range(places.shape[0]):
        start[places[r] - low] += 1
    for b in range(high - low):
        start[b + 1] += start[b]
    for r in range(places.shape[0] - 1, -1, -1):
        start[places[r] - low] -= 1
        order[start[places[r] - low]] = r
    return start, order
