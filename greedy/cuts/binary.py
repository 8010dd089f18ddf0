"""Kernel for the cut that parts two classes of rows with the least weight on the wrong sides.

Each value is one byte, the number of its bin (:class:`Codes`). A pass over the bytes of a node's
rows sums the weights of both classes in every bin, which tells what every cut between two bins
saves and bounds what others do. Only rows of bins whose bound is good enough are sorted.
"""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import by_layout, jit
from tao_cluster._utils.matrices import spaced_rows

from ..order import edges_below, gather, is_better, is_hopeless, stable_order

N_BINS = 256  # as many as a byte can tell
_BLOCK = 32  # features whose sums over their bins stay in the cache together
_SAMPLE = 4096  # values from which the bins of a feature are made

# Features of sparse X that are looked at by what they promise, the others as they come.
_LEADING = 32
_LOOKED_AT = -(2**62)  # in the place of a promise: less than any that could pay
_NO_OTHER, _HOPELESS = -1, -2  # in the place of a block: nothing more promises enough; not this one

_CHUNK = 128  # rows whose codes of a block are fetched before they are used


class Codes(NamedTuple):
    """The bin of every value; a bin is a range of values of a feature, from below to above.

    A feature with at most 256 values has a bin for each. Bins of others hold about as many
    rows as one another, but a value of many rows has its own.
    """

    codes: np.ndarray  # uint8, (blocks, n, width); of sparse X (stored,), by columns
    width: int  # features a block
    zero: np.ndarray  # (d,) uint8, the bin of 0; empty for dense X
    first: np.ndarray  # (d + 1,) int64, where each feature's bins start
    low: np.ndarray  # (bins,) float64, least value of a row in each bin
    high: np.ndarray  # (bins,) float64, largest value; bins without rows have high < low
    is_exact: np.ndarray  # (d,) bool, no bin has several values


@jit
def binary_cut(columns, codes, node, stored, least):
    """Cut that parts two classes with the least price on the wrong sides.

    Parameters
    ----------
    columns : array of shape (n, d), or (data, indices, indptr) of its CSC form
    codes : Codes, of the same
    node : greedy.nodes.BinaryNode
    stored : int64 array of shape (d,), altered
        Of sparse X what cuts of each feature save at most; empty for others.
    least : int, what a cut must save more than, at least 0

    Returns
    -------
    (minus the gain, feature, threshold, is_flipped); feature -1 if no cut saves more than `least`
    over the better constant test. Ties go to the lowest feature, then to the lowest threshold.
    """
    n_features = codes.first.shape[0] - 1
    sums = np.empty((2, codes.width * N_BINS), np.int64)
    below, bound = np.empty(N_BINS, np.int64), np.empty(N_BINS, np.int64)
    is_flipped = least < 0  # False, but no literal, which all kernels would be compiled for anew
    best = (-np.int64(least), np.int64(-1), -np.inf, is_flipped)
    bounds = np.ones(n_features, np.int64)
    # The features that promise most come first: few of the others are then worth a look.
    n_leading = _LEADING if stored.shape[0] else 0
    for turn in range(-n_leading, (n_features - 1) // codes.width + 1):
        block = _next_block(turn, stored, best)
        if block == _NO_OTHER:
            break
        if block == _HOPELESS:
            continue
        lo = codes.width * block
        hi = min(lo + codes.width, n_features)
        _bin_sums(columns, codes, node, lo, hi, sums[0], sums[1])
        for f in range(lo, hi):
            bins = slice(codes.first[f] - codes.first[lo], codes.first[f + 1] - codes.first[lo])
            left, right = sums[0, bins], sums[1, bins]
            if codes.is_exact[f] and is_hopeless(_least_of(left, right, node), f, best):
                continue
            best, bounds[f] = _try_ends(codes, f, left, right, node, below, bound, best)
    order = stable_order(bounds)
    for i in range(n_features):
        f = order[i]
        if bounds[f] > best[0]:
            break
        if not is_hopeless(bounds[f], f, best):
            best = _try_bins(columns, codes, node, f, sums, below, bound, best)
    return best


@jit
def _next_block(turn, stored, best):
    """Block to be looked at next; in turns before 0 the feature of sparse X that promises most.

    The promise of a feature is struck out once it was looked at.
    """
    if not stored.shape[0]:
        return turn
    f = np.argmax(stored) if turn < 0 else turn
    if is_hopeless(-stored[f], f, best):
        return _NO_OTHER if turn < 0 else _HOPELESS
    stored[f] = _LOOKED_AT
    return f


def _bin_sums_dense(columns, codes, node, lo, hi, left, right):
    first, n_left = codes.first, node.n_left
    n_bins = first[hi] - first[lo]
    left[:n_bins] = right[:n_bins] = 0
    # Numba asks of every signed index whether it counts from the end.
    base = (first[lo:hi] - first[lo]).astype(np.uint64)
    block = codes.codes[lo // codes.width]
    # Class by class, as the sums of one class fit in the fastest cache.
    touched = _add(block, node.rows[:n_left], node.price[:n_left], base, left)
    touched += _add(block, node.rows[n_left:], node.price[n_left:], base, right)
    return touched


def _bin_sums_csc(columns, codes, node, lo, hi, left, right):
    _, indices, indptr = columns
    n_bins = codes.first[hi] - codes.first[lo]
    left[:n_bins] = right[:n_bins] = 0
    at_left = at_right = 0
    for s in range(indptr[lo], indptr[hi]):
        price = node.signed[np.uint64(indices[s])]
        left[codes.codes[s]] += max(price, 0)
        right[codes.codes[s]] += max(-price, 0)
        at_left += max(price, 0)
        at_right += max(-price, 0)
    left[codes.zero[lo]] += node.total_left - at_left
    right[codes.zero[lo]] += node.total_right - at_right
    return hi - lo


# Fill the sums of both classes in the bins of some features. A number is returned so that the
# compiler leaves no reading ahead out.
_bin_sums = by_layout(_bin_sums_dense, _bin_sums_csc)


@jit
def _add(codes, rows, price, base, sums):
    touched = 0
    for start in range(0, rows.shape[0], _CHUNK):
        stop = min(start + _CHUNK, rows.shape[0])
        # Rows that lie apart come slowly, but many at a time if nothing waits for them.
        for r in range(start, stop):
            touched += codes[rows[r], 0] + codes[rows[r], base.shape[0] - 1]
        for r in range(start, stop):
            code, paid = codes[rows[r]], price[r]
            for f in range(base.shape[0]):
                sums[base[f] + code[f]] += paid
    return touched  # or the compiler would leave it out


@jit
def _value(excess, node):
    """Minus what a cut saves over the better constant test, and whether its left is the right.

    `excess` is by how much the rows of the left class outweigh the others below the cut.
    """
    least = min(node.total_left, node.total_right)
    upright = node.total_left - least - excess
    flipped = node.total_right - least + excess
    return min(upright, flipped), flipped < upright


@jit
def _least_of(left, right, node):
    """Value of the best cut between two bins: without branches, far faster than to find it."""
    excess = top = bottom = 0
    for b in range(left.shape[0]):
        excess += left[b] - right[b]
        top, bottom = max(top, excess), min(bottom, excess)
    return min(_value(top, node)[0], _value(bottom, node)[0])


@jit
def _try_ends(codes, feature, left, right, node, below, bound, best):
    """Best cut at the end of a bin of a feature, or `best`, and a bound of cuts inside bins.

    A bin of several values gives its largest one as threshold, though the node may have no such
    row. The bound makes sure that the bin is looked into, unless a better cut is found.

    Fills `below`, the excess of the rows below each bin, and `bound`, that of cuts inside it.
    """
    excess, least, first = 0, 1, codes.first[feature]
    for b in range(left.shape[0]):
        below[b], bound[b], end = excess, 1, codes.high[first + b]
        if codes.low[first + b] < end:
            bound[b] = _value(excess + left[b], node)[0]
            bound[b] = min(bound[b], _value(excess - right[b], node)[0])
            least = min(least, bound[b])
        excess += left[b] - right[b]
        value, is_flipped = _value(excess, node)
        if left[b] != right[b] and is_better(value, feature, end, best):
            best = (value, feature, end, is_flipped)
    return best, least


@jit
def _try_bins(columns, codes, node, feature, sums, below, bound, best):
    """Best cut inside the bins of a feature, or `best`."""
    n_bins, n_rows = codes.first[feature + 1] - codes.first[feature], node.rows.shape[0]
    left, right, code = sums[0, :n_bins], sums[1, :n_bins], np.empty(n_rows, np.uint8)
    left[:] = right[:] = 0
    _codes(columns, codes, node, feature, code)
    n_left, price = node.n_left, node.price
    for r in range(n_rows):
        if r < n_left:
            left[code[r]] += price[r]
        else:
            right[code[r]] += price[r]
    best, _ = _try_ends(codes, feature, left, right, node, below, bound, best)
    values, some, n = np.empty(n_rows), np.empty(n_rows, np.int64), 0
    gather(columns, node.slot, node.rows, feature, values)
    for r in range(n_rows):
        some[n] = r
        n += not is_hopeless(bound[code[r]], feature, best)
    inside = values[some[:n]]
    order, excess = stable_order(inside), 0
    for i in range(n):
        r, value = some[order[i]], inside[order[i]]
        if i == 0 or code[r] != code[some[order[i - 1]]]:
            excess = below[code[r]]
        excess += price[r] if r < n_left else -price[r]
        if i + 1 < n and inside[order[i + 1]] == value:
            continue
        found, is_flipped = _value(excess, node)
        if is_better(found, feature, value, best):
            best = (found, feature, value, is_flipped)
    return best


def _codes_dense(columns, codes, node, feature, out):
    block, f = codes.codes[feature // codes.width], feature % codes.width
    for r in range(out.shape[0]):
        out[r] = block[node.rows[r], f]


def _codes_csc(columns, codes, node, feature, out):
    _, indices, indptr = columns
    out[:] = codes.zero[feature]
    for s in range(indptr[feature], indptr[feature + 1]):
        if node.slot[indices[s]] >= 0:
            out[node.slot[indices[s]]] = codes.codes[s]


# Codes of a feature for the rows of a node.
_codes = by_layout(_codes_dense, _codes_csc)


# ---------------------------------------------------------------- what sparse features promise


def saved_by_rows(X, node, n_features):
    """What cuts of each feature save at most, from the stored values of the node's rows.

    Parameters
    ----------
    X : (data, indices, indptr) of a CSR matrix of shape (n, d)
    node : greedy.nodes.BinaryNode
    n_features : int, d

    Returns
    -------
    int64 array of shape (d,)
    """
    sums = np.zeros((2, n_features), np.int64)
    _sum_rows(X, node.rows, node.price, node.n_left, sums)
    return _saved_by_stored(*sums, node)


def saved_by_columns(columns, node, n_features):
    """The same from all rows: `columns` are (data, indices, indptr) of the CSC form."""
    sums = np.empty((2, n_features), np.int64)
    _sum_columns(columns, node.signed, sums)
    return _saved_by_stored(*sums, node)


def _saved_by_stored(left, right, node):
    """What cuts of a feature save at most, `left` and `right` being what its stored rows weigh.

    On one side of a cut are stored values alone. They can be right where the better constant test
    is wrong; or that test can be turned round for all others, which costs what it was better by.
    """
    ahead = node.total_left - node.total_right
    return np.maximum(right - max(-ahead, 0), left - max(ahead, 0))


@jit
def _sum_rows(X, rows, price, n_left, sums):
    _, indices, indptr = X
    for r in range(rows.shape[0]):
        own = sums[0 if r < n_left else 1]
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            own[np.uint64(indices[s])] += price[r]  # numba asks whether a signed one counts back


@jit
def _sum_columns(columns, signed, sums):
    _, indices, indptr = columns
    for f in range(sums.shape[1]):
        own = indices[indptr[f] : indptr[f + 1]]
        difference = total = 0  # of left and right: half the time of sums of their own
        for s in range(own.shape[0]):
            price = signed[np.uint64(own[s])]
            difference += price
            total += abs(price)
        sums[0, f], sums[1, f] = (total + difference) // 2, (total - difference) // 2


# ---------------------------------------------------------------- codes


def _exact(first, low, high):
    """Whether no bin of a feature has several values; every feature has a bin."""
    return ~np.logical_or.reduceat(low < high, first[:-1])


def code_dense(X):
    """Code an array.

    Parameters
    ----------
    X : array of shape (n, d), finite

    Returns
    -------
    Codes
        n d bytes, up to 4096 more a feature for the bins.
    """
    n, d = X.shape
    n_blocks = max(1, -(-d // _BLOCK))
    width = max(1, -(-d // n_blocks))
    codes = np.zeros((n_blocks, n, width), np.uint8)
    sizes, ends, some = np.zeros(d, np.int64), np.empty((2, d, N_BINS)), spaced_rows(n, _SAMPLE)
    for block, start in zip(codes, range(0, d, width), strict=False):
        values = np.array(X[:, start : start + width].T, dtype=np.float64, order="C")
        sample = np.sort(values.take(some, axis=1), axis=1)  # row by row in memory
        code = np.empty(n, np.uint8)
        for f in range(len(values)):
            sizes[start + f] = _code_feature(values[f], sample[f], code, *ends[:, start + f])
            block[:, f] = code
    is_bin = np.arange(N_BINS) < sizes[:, None]
    bins = (np.concatenate([[0], np.cumsum(sizes)]), ends[0][is_bin], ends[1][is_bin])
    return Codes(codes, width, np.empty(0, np.uint8), *bins, _exact(*bins))


def code_stored(columns, shape):
    """Code the stored values of a sparse matrix.

    Parameters
    ----------
    columns : (data, indices, indptr) of the CSC form of a matrix
    shape : (n, d)

    Returns
    -------
    Codes
        A byte a stored value, and at most 16 a value and column more for the bins.
    """
    data, _, indptr = columns
    room = int(np.minimum(np.diff(indptr) + 1, N_BINS).sum()) + N_BINS
    codes, zero = np.empty(len(data), np.uint8), np.zeros(shape[1], np.uint8)
    first = np.zeros(shape[1] + 1, np.int64)
    low, high = np.empty(room), np.empty(room)
    _code_stored(data, indptr, shape[0], codes, zero, first, low, high)
    bins = (first, low[: first[-1]].copy(), high[: first[-1]].copy())
    return Codes(codes, 1, zero, *bins, _exact(*bins))


@jit
def _code_stored(data, indptr, n_rows, codes, zero, first, low, high):
    for f in range(zero.shape[0]):
        begin, end = indptr[f], indptr[f + 1]
        n = end - begin
        n_zeros = 1 if n < n_rows else 0
        values = np.zeros(n + n_zeros)
        values[:n] = data[begin:end]
        step = 1 + n // _SAMPLE
        # Zeros enough for a bin of their own, and no more: they are not looked into.
        some = values[:n:step]
        sample = np.zeros(some.shape[0] + n_zeros * (2 + 2 * some.shape[0] // N_BINS))
        sample[: some.shape[0]] = some
        code, at = np.empty(n + n_zeros, np.uint8), first[f]
        first[f + 1] = at + _code_feature(
            values, sample[stable_order(sample)], code, low[at:], high[at:]
        )
        codes[begin:end] = code[:n]
        if n_zeros:
            zero[f] = code[n]


@jit
def _code_feature(values, sample, codes, low, high):
    """Code some values of a feature, given a sorted sample of them; returns how many bins.

    Fills `codes`, `low` and `high`. A value of the sample need not be among the values.
    """
    ends = np.empty(2 * N_BINS)
    n = _find_ends(values, sample, ends)
    for b in range(n):
        low[b], high[b] = np.inf, -np.inf
    for r in range(values.shape[0]):
        at, value = edges_below(values[r], ends), values[r]
        codes[r] = at
        low[at], high[at] = min(low[at], value), max(high[at], value)
    return n


@jit
def _find_ends(values, sample, ends):
    """Enter the upper ends of the bins of a feature, then infinities; returns how many they are."""
    n = _distinct(sample, ends)
    if n <= N_BINS:  # perhaps these are all the values that there are
        found, n_found = np.empty(n + values.shape[0]), n
        for b in range(n):
            found[b] = ends[b]
        for value in values:
            if ends[edges_below(value, ends)] != value:
                found[n_found] = value
                n_found += 1
        if n_found > n:
            found = found[:n_found]
            sample = found[stable_order(found)]
            n = _distinct(sample, ends)
        if n <= N_BINS:
            return n
    share = sample.shape[0] / (N_BINS - 1)
    n = _mark_edges(sample, share, ends[: N_BINS + 1])
    while n > N_BINS - 1:
        share *= 1.1
        n = _mark_edges(sample, share, ends[: N_BINS + 1])
    ends[n:] = np.inf
    return n + 1


@jit
def _distinct(values, ends):
    """Enter distinct ones of some sorted values, then infinities; how many there are."""
    n, last = 0, -np.inf
    for value in values:
        if n == 0 or value > last:
            ends[min(n, N_BINS)] = last = value
            n += 1
    ends[min(n, N_BINS) :] = np.inf
    return n


@jit
def _mark_edges(values, share, edges):
    """Ends of bins of about `share` of some sorted values; how many there are, or too many."""
    n, pending, i = 0, 0, 0
    while i < values.shape[0] and n + 2 <= edges.shape[0]:
        value, start = values[i], i
        while i < values.shape[0] and values[i] == value:
            i += 1
        pending += i - start
        is_heavy = i - start > max(share, 1.0)
        before = np.nextafter(value, -np.inf)
        if is_heavy and (n == 0 or edges[n - 1] < before):
            edges[n] = before
            n += 1
        if is_heavy or pending >= share:
            edges[n] = value
            n, pending = n + 1, 0
    return n if i == values.shape[0] else edges.shape[0]
