"""Kernel for the cut that parts two classes of rows with the least weight on the wrong sides.

Each value is one byte, the number of its bin (`codes.py`). A pass over the bytes of a node's rows
sums the weights of both classes in every bin, which tells what every cut between two bins saves
and bounds what others do. Only rows of bins whose bound is good enough are sorted.
"""

import numpy as np

from tao_cluster._utils.jit import by_layout, jit

from .codes import N_BINS

# Features of sparse X that are looked at by what they promise, the others as they come.
_LEADING = 32
_LOOKED_AT = -(2**62)  # in the place of a promise: less than any that could pay
_NO_OTHER, _HOPELESS = -1, -2  # in the place of a block: nothing more promises enough; not this one

_CHUNK = 128  # rows whose codes of a block are fetched before they are used


@jit
def _is_better(gain, feature, threshold, best):
    """Whether a cut comes before the best one (gain, feature, threshold, is_flipped)."""
    if gain != best[0]:
        return gain > best[0]
    return feature < best[1] or (feature == best[1] and threshold < best[2])


@jit
def _is_hopeless(bound, feature, best):
    return bound < best[0] or (bound == best[0] and feature > best[1])


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
def _saved_by_stored(left, right, node):
    """What cuts of a feature save at most, `left` and `right` being what its stored rows weigh.

    On one side of a cut are stored values alone. They can be right where the better constant test
    is wrong; or that test can be turned round for all others, which costs what it was better by.
    """
    ahead = node.total_left - node.total_right
    return max(right - max(-ahead, 0), left - max(ahead, 0))


@jit
def stored_by_rows(X, node, n_features):
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
    _, indices, indptr = X
    left, right = np.zeros(n_features, np.int64), np.zeros(n_features, np.int64)
    for r in range(node.rows.shape[0]):
        sums, price = left if r < node.n_left else right, node.price[r]
        for s in range(indptr[node.rows[r]], indptr[node.rows[r] + 1]):
            sums[np.uint64(indices[s])] += price  # numba asks whether a signed one counts back
    for f in range(n_features):
        left[f] = _saved_by_stored(left[f], right[f], node)
    return left


@jit
def stored_by_columns(columns, node, n_features):
    """The same from all rows: `columns` are (data, indices, indptr) of the CSC form."""
    _, indices, indptr = columns
    most, signed = np.zeros(n_features, np.int64), node.signed
    for f in range(n_features):
        own = indices[indptr[f] : indptr[f + 1]]
        difference = total = 0  # of left and right: half the time of sums of their own
        for s in range(own.shape[0]):
            price = signed[np.uint64(own[s])]
            difference += price
            total += abs(price)
        most[f] = _saved_by_stored((total + difference) // 2, (total - difference) // 2, node)
    return most


def _bin_sums_dense(columns, codes, node, lo, hi, left, right):
    first, n_left = codes.first, node.n_left
    n_bins = first[hi] - first[lo]
    left[:n_bins] = 0
    right[:n_bins] = 0
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
    left[:n_bins] = 0
    right[:n_bins] = 0
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


def _values_dense(columns, node, feature, some):
    values = np.empty(some.shape[0])
    for i in range(some.shape[0]):
        values[i] = columns[node.rows[some[i]], feature]
    return values


def _values_csc(columns, node, feature, some):
    data, indices, indptr = columns
    values = np.zeros(node.rows.shape[0])
    for s in range(indptr[feature], indptr[feature + 1]):
        if node.slot[indices[s]] >= 0:
            values[node.slot[indices[s]]] = data[s]
    return values[some]


# Values of a feature for some rows of a node.
_values = by_layout(_values_dense, _values_csc)


@jit
def _gain(excess, node):
    """What a cut saves over the better constant test, and whether its left is the right.

    `excess` is by how much the rows of the left class outweigh the others below the cut.
    """
    least = min(node.total_left, node.total_right)
    upright = excess - node.total_left + least
    flipped = -excess - node.total_right + least
    return max(upright, flipped), flipped > upright


@jit
def _bound(excess, left, right, node):
    """What cuts save at most in a bin, `excess` being that of the rows below it."""
    return max(_gain(excess + left, node)[0], _gain(excess - right, node)[0])


@jit
def _try_ends(feature, low, high, left, right, node, best):
    """Best cut at the end of a bin of a feature, or `best`, and a bound of cuts inside bins.

    A bin of several values gives its largest one as threshold, though the node may have no such
    row. The bound makes sure that the bin is looked into, unless a better cut is found.
    """
    excess, most = 0, -1
    for b in range(low.shape[0]):
        below = excess
        excess += left[b] - right[b]
        if low[b] < high[b]:
            most = max(most, _bound(below, left[b], right[b], node))
        gain, is_flipped = _gain(excess, node)
        if left[b] != right[b] and _is_better(gain, feature, high[b], best):
            best = (gain, feature, high[b], is_flipped)
    return best, most


@jit
def _try_bins(columns, codes, node, feature, code, best):
    """Best cut inside the bins of a feature, or `best`."""
    low = codes.low[codes.first[feature] : codes.first[feature + 1]]
    high = codes.high[codes.first[feature] : codes.first[feature + 1]]
    left, right = np.zeros(low.shape[0], np.int64), np.zeros(low.shape[0], np.int64)
    _codes(columns, codes, node, feature, code)
    for r in range(node.n_left):
        left[code[r]] += node.price[r]
    for r in range(node.n_left, code.shape[0]):
        right[code[r]] += node.price[r]
    below, bound = np.zeros(low.shape[0] + 1, np.int64), np.full(low.shape[0], -1)
    is_open = np.zeros(low.shape[0], np.bool_)
    for b in range(low.shape[0]):
        below[b + 1] = below[b] + left[b] - right[b]
        if low[b] < high[b]:
            bound[b] = _bound(below[b], left[b], right[b], node)
        is_open[b] = not _is_hopeless(bound[b], feature, best)
    some, start = _rows_by_bin(code, is_open)
    values = _values(columns, node, feature, some)
    # Bounds are below 2 ** 53; of floats the sort is compiled anyway.
    for b in np.argsort(-1.0 * bound, kind="mergesort"):
        if _is_hopeless(bound[b], feature, best):
            break
        inside = slice(start[b], start[b + 1])
        best = _try_values(feature, some[inside], values[inside], below[b], node, best)
    return best


@jit
def _rows_by_bin(code, is_open):
    """Rows in the open bins, bin by bin, and where each bin's start."""
    start = np.zeros(is_open.shape[0] + 2, np.int64)
    for r in range(code.shape[0]):
        start[code[r] + 2] += is_open[code[r]]
    for b in range(2, start.shape[0]):
        start[b] += start[b - 1]
    some = np.empty(start[-1], np.int64)
    for r in range(code.shape[0]):
        if is_open[code[r]]:
            some[start[code[r] + 1]] = r
            start[code[r] + 1] += 1
    return some, start[:-1]


@jit
def _try_values(feature, some, values, excess, node, best):
    """Best cut at a value of some rows, or `best`; `excess` is that of the rows below them."""
    order = np.argsort(values, kind="mergesort")
    for i in range(order.shape[0]):
        r, value = some[order[i]], values[order[i]]
        excess += node.price[r] if r < node.n_left else -node.price[r]
        if i + 1 < order.shape[0] and values[order[i + 1]] == value:
            continue
        gain, is_flipped = _gain(excess, node)
        if _is_better(gain, feature, value, best):
            best = (gain, feature, value, is_flipped)
    return best


@jit
def _most_of(left, right, node):
    """What the best cut between two bins saves: without branches, far faster than to find it."""
    excess = top = bottom = 0
    for b in range(left.shape[0]):
        excess += left[b] - right[b]
        top, bottom = max(top, excess), min(bottom, excess)
    return max(_gain(top, node)[0], _gain(bottom, node)[0])


@jit
def _next_block(turn, stored, best):
    """Block to be looked at next; in turns before 0 the feature of sparse X that promises most.

    The promise of a feature is struck out once it was looked at.
    """
    if not stored.shape[0]:
        return turn
    f = np.argmax(stored) if turn < 0 else turn
    if _is_hopeless(stored[f], f, best):
        return _NO_OTHER if turn < 0 else _HOPELESS
    stored[f] = _LOOKED_AT
    return f


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
    (gain, feature, threshold, is_flipped); feature -1 if no cut saves more than `least` over
    the better constant test. Ties go to the lowest feature, then to the lowest threshold.
    """
    n_features = codes.first.shape[0] - 1
    left = np.empty(codes.width * N_BINS, np.int64)
    right = np.empty(codes.width * N_BINS, np.int64)
    is_flipped = least < 0  # False, but no literal, which all kernels would be compiled for anew
    best = (np.int64(least), np.int64(-1), -np.inf, is_flipped)
    bound = np.full(n_features, -1)
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
        _bin_sums(columns, codes, node, lo, hi, left, right)
        for f in range(lo, hi):
            bins = slice(codes.first[f], codes.first[f + 1])
            here = slice(bins.start - codes.first[lo], bins.stop - codes.first[lo])
            if codes.is_exact[f] and _is_hopeless(_most_of(left[here], right[here], node), f, best):
                continue
            ends = (codes.low[bins], codes.high[bins], left[here], right[here])
            best, bound[f] = _try_ends(f, *ends, node, best)
    promising = np.flatnonzero(bound >= best[0])
    code = np.empty(node.rows.shape[0], np.uint8)
    for i in np.argsort(-1.0 * bound[promising], kind="mergesort"):
        f = promising[i]
        if bound[f] < best[0]:
            break
        if not _is_hopeless(bound[f], f, best):
            best = _try_bins(columns, codes, node, f, code, best)
    return best
