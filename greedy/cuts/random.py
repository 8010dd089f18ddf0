"""Kernels that grow trees by random cuts from numbers drawn beforehand, and sum up their costs.

Kernels hold no random numbers: a tree is a function of its numbers in [0, 1), one a cut, so that
it does not depend on the threads.
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, jit


class CutDistribution(NamedTuple):
    """Where random cuts fall: between neighbouring centres of each of d features.

    A cut falls into a gap with a probability by its length, and there anywhere alike, or, if the
    lengths are bent, with a density that rises from both ends to the middle.
    """

    order: np.ndarray  # (d, k) int64, centres in the order of each feature
    rank: np.ndarray  # (d, k) int64, places of the centres in it
    edges: np.ndarray  # (d, k) float64, their coordinates
    length: np.ndarray  # (d, k - 1) float64, of the gaps between them
    is_triangular: bool
    cuts_all_leaves: bool  # a cut is made in every leaf whose centres it parts, else in one
    pair_lengths: (
        np.ndarray
    )  # (k, k) float64, length of the cuts that part two centres; empty: not asked
    overlap: float  # width of the band of shared centres; below 0 for rules without one
    max_leaves: int


class DrawnTree(NamedTuple):
    """Arrays of a tree, children after their parent; feature -1 marks a leaf."""

    feature: np.ndarray  # (2 max_leaves - 1,) int64
    threshold: np.ndarray  # float64
    left: np.ndarray  # int64, the right child is the next node
    label: np.ndarray  # int64, lowest centre in the node


def blank_tree(max_leaves):
    """A tree to be drawn."""
    n = 2 * max_leaves - 1
    return DrawnTree(
        np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    )


@jit
def _pick(lengths, target):
    """Place in `lengths` where their running sum exceeds a target, and what is left of it."""
    last = -1
    for j in range(lengths.shape[0]):
        if lengths[j] > 0.0:
            last = j
            if target < lengths[j]:
                return j, target
            target -= lengths[j]
    return last, lengths[last]  # the rounding of sums


@jit
def _near_pairs(apart, leaf, active):
    """Pairs of centres of a leaf so near that no cut may part them (Makarychev & Shan 2021)."""
    n, n_pairs, widest = leaf.shape[0], 0, 0.0
    pairs = np.empty((n * (n - 1) // 2 if apart.shape[0] else 0, 2), np.int64)
    for a in range(apart.shape[0]):
        for b in range(a):
            if leaf[a] == leaf[b] and (active < 0 or leaf[a] == active):
                widest = max(widest, apart[a, b])
    for a in range(apart.shape[0]):
        for b in range(a):
            if leaf[a] == leaf[b] and 0.0 < apart[a, b] <= widest / n**3:
                pairs[n_pairs] = a, b
                n_pairs += 1
    return pairs[:n_pairs]


@jit
def _open_gaps(space, f, leaf, size, active, pairs, seen, out):
    """Fill in the lengths of the gaps of a feature where a cut may fall; returns their sum.

    It must part centres of a leaf that has several: of `active`, or of any if that is negative.
    """
    seen[:] = 0
    n_open = 0
    for j in range(out.shape[0]):
        at = leaf[space.order[f, j]]
        if size[at] > 1 and (active < 0 or at == active):
            seen[at] += 1
            n_open += (seen[at] == 1) - np.int64(seen[at] == size[at])
        out[j] = space.length[f, j] if n_open > 0 else 0.0
    for p in range(pairs.shape[0]):
        a, b = space.rank[f, pairs[p, 0]], space.rank[f, pairs[p, 1]]
        out[min(a, b) : max(a, b)] = 0.0
    return out.sum()


@jit
def _draw_cut(space, number, leaf, size, active, scratch):
    """A random cut: feature (-1 if there is none) and threshold."""
    seen, gaps, lengths = scratch
    pairs = _near_pairs(space.pair_lengths, leaf, active)
    for f in range(lengths.shape[0]):
        lengths[f] = _open_gaps(space, f, leaf, size, active, pairs, seen, gaps)
    total = lengths.sum()
    if total <= 0.0:
        return -1, 0.0
    f, target = _pick(lengths, number * total)
    _open_gaps(space, f, leaf, size, active, pairs, seen, gaps)
    j, rest = _pick(gaps, target)
    low, high, share = space.edges[f, j], space.edges[f, j + 1], min(rest / gaps[j], 1.0)
    if space.is_triangular:
        share = np.sqrt(share / 2.0) if share < 0.5 else 1.0 - np.sqrt((1.0 - share) / 2.0)
    return f, max(low, min(low + share * (high - low), np.nextafter(high, -np.inf)))


@jit
def _part(space, tree, node, n_nodes, f, threshold, leaf, size):
    """Split a leaf if a cut parts its centres; returns the number of nodes."""
    n_below = n_above = 0
    for c in range(leaf.shape[0]):
        if leaf[c] == node:
            is_above = space.edges[f, space.rank[f, c]] > threshold
            n_above += is_above
            n_below += not is_above
    if n_below == 0 or n_above == 0:
        return n_nodes
    tree.feature[node], tree.threshold[node], tree.left[node] = f, threshold, n_nodes
    size[n_nodes], size[n_nodes + 1] = n_below, n_above
    for c in range(leaf.shape[0]):
        if leaf[c] == node:
            leaf[c] = n_nodes + np.int64(space.edges[f, space.rank[f, c]] > threshold)
            tree.label[leaf[c]] = min(tree.label[leaf[c]], c)
    return n_nodes + 2


@jit
def _draw_parting(space, numbers, tree):
    """Draw a tree with a centre a leaf; those that coincide share one."""
    n_features, k = space.order.shape
    leaf, size = np.zeros(k, np.int64), np.zeros(2 * k - 1, np.int64)
    scratch = (np.empty(2 * k - 1, np.int64), np.empty(k - 1), np.empty(n_features))
    size[0], tree.label[0], n_nodes, n_cuts, node = k, 0, 1, 0, 0
    while node < n_nodes and n_cuts < numbers.shape[0]:
        active = -1 if space.cuts_all_leaves else node
        f, threshold = -1, 0.0
        if space.cuts_all_leaves or size[node] > 1:
            f, threshold = _draw_cut(space, numbers[n_cuts], leaf, size, active, scratch)
        if f < 0:
            if space.cuts_all_leaves:
                break
            node += 1
            continue
        n_cuts += 1
        if not space.cuts_all_leaves:
            n_nodes = _part(space, tree, node, n_nodes, f, threshold, leaf, size)
            node += 1
            continue
        for at in range(n_nodes):
            if tree.feature[at] < 0:
                n_nodes = _part(space, tree, at, n_nodes, f, threshold, leaf, size)
    return n_nodes


@jit
def _draw_from_median(space, number, is_in, lengths):
    """A random cut and its distance to the median centre of the node (bi-criteria).

    A cut at distance r has a density by r, as the root of a uniform number has. It is a cut that
    leaves each child at least one centre less, shared ones counted.
    """
    n_features, k = space.order.shape
    ends, n_in = np.empty((n_features, 3)), is_in.sum()
    for f in range(n_features):
        n = 0
        for j in range(k):
            if is_in[space.order[f, j]]:
                value = space.edges[f, j]
                if n == 0:
                    ends[f, 0] = value
                if n == (n_in - 1) // 2:
                    ends[f, 1] = value
                ends[f, 2] = value
                n += 1
        middle = ends[f, 1]
        low, high = (ends[f, 0] - middle, ends[f, 2] - middle)
        low, high = low / (1.0 + space.overlap), high / (1.0 + space.overlap)
        lengths[f] = low * low + high * high
    total = lengths.sum()
    if total <= 0.0:
        return -1, 0.0, 0.0
    f, rest = _pick(lengths, number * total)
    low = (ends[f, 0] - ends[f, 1]) / (1.0 + space.overlap)
    away = np.sqrt(rest - low * low) if rest > low * low else -np.sqrt(low * low - rest)
    last = np.nextafter(ends[f, 2], -np.inf)
    return f, max(ends[f, 0], min(ends[f, 1] + away, last)), abs(away)


@jit
def _share(space, tree, node, n_nodes, f, threshold, band, is_in):
    """Split a node; centres at most `band` from the cut are on both sides."""
    tree.feature[node], tree.threshold[node], tree.left[node] = f, threshold, n_nodes
    for c in np.flatnonzero(is_in[node]):
        value = space.edges[f, space.rank[f, c]]
        for side in range(2):
            if abs(value - threshold) <= band or (value > threshold) == side:
                is_in[n_nodes + side, c] = True
                tree.label[n_nodes + side] = min(tree.label[n_nodes + side], c)


@jit
def _draw_sharing(space, numbers, tree):
    """Draw a tree whose cuts leave the centres that are near them to both sides."""
    n_features, k = space.order.shape
    is_in = np.zeros((2 * space.max_leaves - 1, k), np.bool_)
    is_in[0] = True
    lengths = np.empty(n_features)
    tree.label[0], n_nodes, n_cuts, n_spare, node = 0, 1, 0, space.max_leaves - k, 0
    while node < n_nodes and n_cuts < numbers.shape[0]:
        f, threshold, away = _draw_from_median(space, numbers[n_cuts], is_in[node], lengths)
        if f >= 0:
            n_cuts += 1
            _share(space, tree, node, n_nodes, f, threshold, space.overlap * away, is_in)
            n_more = is_in[n_nodes : n_nodes + 2].sum() - is_in[node].sum()
            if n_more > n_spare:  # the leaves that it needs are spent: no more sharing
                is_in[n_nodes : n_nodes + 2] = False
                tree.label[n_nodes : n_nodes + 2] = k
                _share(space, tree, node, n_nodes, f, threshold, -1.0, is_in)
                n_more = 0
            n_spare -= n_more
            n_nodes += 2
        node += 1
    return n_nodes


@jit
def draw_tree(space, numbers, tree):
    """Draw one tree.

    Parameters
    ----------
    space : CutDistribution
    numbers : float64 array of shape (max_leaves - 1,), in [0, 1)
    tree : DrawnTree, altered

    Returns
    -------
    int, number of its nodes
    """
    tree.feature[:], tree.left[:] = -1, -1
    tree.label[:] = np.iinfo(np.int64).max
    if space.overlap >= 0.0:
        return _draw_sharing(space, numbers, tree)
    return _draw_parting(space, numbers, tree)


def _goes_left_dense(columns, rows, place, lo, feature, threshold, out):
    for i in range(rows.shape[0]):
        out[i] = np.float64(columns[rows[i], feature]) <= threshold


def _goes_left_csc(columns, rows, place, lo, feature, threshold, out):
    data, indices, indptr = columns
    out[: rows.shape[0]] = threshold >= 0.0
    for s in range(indptr[feature], indptr[feature + 1]):
        i = place[indices[s]] - lo
        if 0 <= i < rows.shape[0]:
            out[i] = data[s] <= threshold


# Whether rows, which start at place `lo`, go left.
_goes_left = by_layout(_goes_left_dense, _goes_left_csc)


@jit
def _cost_of(columns, tree, n_nodes, node_rows, terms):
    """What rows pay beyond their nearest centre's, a whole number; rows are looked at once a level.

    `node_rows` are the rows, scratch, and the place of each row of a sparse X.
    """
    rows, other, place, goes_left = node_rows
    distances, nearest, weight, scale, cap = terms
    first, stop = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    stop[0], total = rows.shape[0], 0.0
    for node in range(n_nodes):
        lo, hi, f = first[node], stop[node], tree.feature[node]
        if f < 0:
            for i in range(lo, hi):
                row, label = rows[i], tree.label[node]
                excess = np.rint((distances[row, label] - nearest[row]) * scale)
                total += min(np.rint(excess * weight[row]), cap)
            continue
        _goes_left(columns, rows[lo:hi], place, lo, f, tree.threshold[node], goes_left)
        n_left = n_right = 0
        for i in range(hi - lo):
            if goes_left[i]:
                rows[lo + n_left] = rows[lo + i]
                n_left += 1
            else:
                other[n_right] = rows[lo + i]
                n_right += 1
        rows[lo + n_left : hi] = other[:n_right]
        if place.shape[0]:
            for i in range(lo, hi):
                place[rows[i]] = i
        left = tree.left[node]
        first[left], stop[left] = lo, lo + n_left
        first[left + 1], stop[left + 1] = lo + n_left, hi
    return total


def tree_costs(columns, space, numbers, rows, n_places, terms):
    """Costs of random trees with the reference centres.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    space : CutDistribution
    numbers : float64 array of shape (n_trees, max_leaves - 1), in [0, 1)
    rows : int64 array of shape (m,)
    n_places : int, rows of X, if X is sparse, else 0
    terms : (distances (n, k), nearest (n,), weight (n,), scale, cap)

    Returns
    -------
    float64 array of shape (n_trees,), whole numbers; over ``scale`` what a tree costs more than
    the nearest centres
    """
    costs, place = np.empty(len(numbers)), np.full(n_places, -1)
    scratch = (rows.copy(), np.empty_like(rows), place, np.empty(len(rows), np.bool_))
    _fill_costs(columns, space, numbers, rows, scratch, blank_tree(space.max_leaves), terms, costs)
    return costs


@jit
def _fill_costs(columns, space, numbers, rows, scratch, tree, terms, costs):
    for t in range(costs.shape[0]):
        n_nodes = draw_tree(space, numbers[t], tree)
        for i in range(rows.shape[0]):
            scratch[0][i] = rows[i]
            if scratch[2].shape[0]:
                scratch[2][rows[i]] = i
        costs[t] = _cost_of(columns, tree, n_nodes, scratch, terms)
