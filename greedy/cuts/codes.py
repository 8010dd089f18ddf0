"""Values of the features as bytes: what the search for cuts of two classes reads."""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import jit
from tao_cluster._utils.matrices import spaced_rows

N_BINS = 256  # as many as a byte can tell
_BLOCK = 32  # features whose sums over their bins stay in the cache together
_SAMPLE = 4096  # values from which the bins of a feature are made


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
def _copy(values, out):
    """Fill the first places; assigned as a slice, numba compiles what would print its shapes."""
    for i in range(values.shape[0]):
        out[i] = values[i]


@jit
def _sorted(values):
    return values[np.argsort(values, kind="mergesort")]  # the sort that other kernels have


@jit
def _distinct(values):
    """Distinct ones of some sorted values."""
    out, n = np.empty(values.shape[0]), 0
    for value in values:
        if n == 0 or value > out[n - 1]:
            out[n] = value
            n += 1
    return out[:n]


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


@jit
def _quantiles(values):
    """Ends of all bins but the last, for more distinct values than bins."""
    edges, share = np.empty(N_BINS + 1), values.shape[0] / (N_BINS - 1)
    n = _mark_edges(values, share, edges)
    while n > N_BINS - 1:
        share *= 1.1
        n = _mark_edges(values, share, edges)
    return edges[:n]


@jit
def _padded(edges):
    """Edges as `_encode` reads them, one less than a power of two."""
    size = 1
    while size <= edges.shape[0]:
        size *= 2
    out = np.full(size - 1, np.inf)
    _copy(edges, out)
    return out


@jit
def _encode(value, edges):
    """Number of edges below a value: a binary search of fixed length, without branches."""
    at, step = 0, (edges.shape[0] + 1) // 2
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return at


@jit
def _code_feature(values, sample, codes, low, high):
    """Code some values of a feature, given a sorted sample of them; returns how many bins.

    Fills `codes`, `low` and `high`. A value of the sample need not be among the values.
    """
    ends = _distinct(sample)
    if ends.shape[0] <= N_BINS:  # perhaps these are all the values that there are
        edges, n = _padded(ends[:-1]), ends.shape[0]
        found = np.empty(n + values.shape[0])
        _copy(ends, found)
        for r in range(values.shape[0]):
            at = _encode(values[r], edges)
            codes[r] = at
            if ends[at] != values[r]:
                found[n] = values[r]
                n += 1
        is_done = n == ends.shape[0]
        if not is_done:
            sample = _sorted(found[:n])
            ends = _distinct(sample)
        if ends.shape[0] <= N_BINS:
            edges = _padded(ends[:-1])
            for r in range(0 if is_done else values.shape[0]):
                codes[r] = _encode(values[r], edges)
            _copy(ends, low)
            _copy(ends, high)
            return ends.shape[0]
    quantiles = _quantiles(sample)
    edges = _padded(quantiles)
    low[:N_BINS], high[:N_BINS] = np.inf, -np.inf
    for r in range(values.shape[0]):
        at, value = _encode(values[r], edges), values[r]
        codes[r] = at
        low[at], high[at] = min(low[at], value), max(high[at], value)
    return quantiles.shape[0] + 1


@jit
def _code_block(values, sample, codes, low, high, sizes):
    for f in range(values.shape[0]):
        sizes[f] = _code_feature(values[f], sample[f], codes[:, f], low[f], high[f])


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
    sizes, low, high = np.zeros(d, np.int64), [], []
    some = spaced_rows(n, _SAMPLE)
    for block, start in zip(codes, range(0, d, width), strict=False):
        values = np.array(X[:, start : start + width].T, dtype=np.float64, order="C")
        size, ends = sizes[start : start + width], np.empty((2, len(values), N_BINS))
        sample = np.sort(values.take(some, axis=1), axis=1)  # row by row in memory
        _code_block(values, sample, block, *ends, size)
        is_bin = np.arange(N_BINS) < size[:, None]
        low.append(ends[0][is_bin])
        high.append(ends[1][is_bin])
    first = np.concatenate([[0], np.cumsum(sizes)])
    bins = (first, np.concatenate(low), np.concatenate(high))
    return Codes(codes, width, np.empty(0, np.uint8), *bins, _exact(*bins))


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
        first[f + 1] = at + _code_feature(values, _sorted(sample), code, low[at:], high[at:])
        codes[begin:end] = code[:n]
        if n_zeros:
            zero[f] = code[n]


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
