"""Column-wise access to the rows of a node: unsorted values, or columns sorted once for all cuts.

The kernels in `cuts` read values through :func:`entries` and :func:`gather`, which support both
layouts of X: an array, or the arrays (data, indices, indptr) of a sparse X in CSC form. `inverse`
is the inverse index of the node's rows, see :mod:`greedy.cuts`.

Numba does not notice an edit of this file when it loads cached kernels of other files. Touch the
files in `cuts` after an edit.
"""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.jit import by_layout, jit

from .leaf_limits import threshold_ranges

_CHUNK = 256  # rows of a dense X per block, few enough to stay in the processor's cache


class SortedColumns(NamedTuple):
    """The rows of a node sorted by every feature, for kernels that sweep over all cuts.

    Rows with the most frequent value of a feature (0 for a sparse X) have no entry. The entries of
    a feature form two parts. The lower part holds the rows below that value, ascending from the
    least one; a sweep moves them to the left of the cut. The upper part holds the rows above it,
    descending from the largest one; a sweep moves them to the right. So rows with the most frequent
    value never move, and the work is proportional to the number of the other rows.
    """

    rows: np.ndarray  # (s,) int32, row number in X of each of the s entries
    values: np.ndarray  # (s,) of the data type of X, value of each entry
    start: np.ndarray  # (d + 1,) int64, where the entries of each feature begin
    middle: np.ndarray  # (d,) int64, where the upper part of each feature begins
    rest: np.ndarray  # (d,) float64, most frequent value of each feature
    n_rows: int  # number of rows of the node
    # (d,) float64, range [low, high) of the thresholds that leave enough rows on both sides
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def from_rows(cls, points, rows):
        """Sort the values of some rows, in O(m log m) per feature.

        Parameters
        ----------
        points : BuilderInput
        rows : int64 array of shape (m,), increasing

        Returns
        -------
        SortedColumns
            It takes 12 bytes per entry (8 bytes for float32 X).
        """
        columns = _stored if sp.issparse(points.X) else _dense
        parts = [_sorted(*column) for column in columns(points, rows)]
        below, above, rest = zip(*parts, strict=True)
        size = np.array([len(values) for _, values in below])
        start = np.concatenate([[0], np.cumsum(size + [len(values) for _, values in above])])
        both = [part for pair in zip(below, above, strict=True) for part in pair]
        entries, values = (np.concatenate(arrays) for arrays in zip(*both, strict=True))
        middle = start[:-1] + size
        terms = (entries.astype(np.int32), values, start, middle, np.array(rest), len(rows))
        return cls(*terms, *threshold_ranges(points, rows))

    def part(self, points, rows):
        """Return the sorted columns of some of the rows, in time proportional to the entries."""
        is_in = np.zeros(len(points.weight), bool)
        is_in[rows] = True
        kept = is_in[self.rows]
        before = np.concatenate([[0], np.cumsum(kept)])
        start, middle = before[self.start], before[self.middle]
        terms = (self.rows[kept], self.values[kept], start, middle, self.rest, len(rows))
        return SortedColumns(*terms, *threshold_ranges(points, rows))


def _dense(points, rows):
    """Yield the rows, their values and the most frequent value, for each feature of a dense X."""
    for feature in range(points.n_features):
        values = points.X[rows, feature]
        ordered = np.sort(values)
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1]]))
        longest = np.diff(np.append(first, len(ordered))).argmax()
        yield rows, values, ordered[first[longest]]


def _stored(points, rows):
    """Yield the rows with a stored value, their values and 0, for each feature of a sparse X."""
    data, indices, indptr = points.columns
    is_in = np.zeros(points.X.shape[0], bool)
    is_in[rows] = True
    for begin, end in itertools.pairwise(indptr.tolist()):
        kept = is_in[indices[begin:end]]
        yield indices[begin:end][kept], data[begin:end][kept], 0.0


def _sorted(rows, values, rest):
    """Return the lower part, the upper part and `rest`, the most frequent value, of a feature.

    A part is (rows, values), sorted as :class:`SortedColumns` describes.
    """
    parts = []
    for side, sign in ((values < rest, 1), (values > rest, -1)):
        some = values[side]
        order = np.argsort(sign * some, kind="stable")
        parts.append((rows[side][order], some[order]))
    return *parts, float(rest)


@jit
def threshold_at(order, feature, is_above, entry):
    """Return the threshold of the cut that separates an entry from the next one in its part.

    The cut moves the entry and all entries before it in its part, the lower or the upper one; see
    :class:`SortedColumns`. The result is NaN if there is no such cut: the next entry has the same
    value, or too few rows would be on a side.

    Parameters
    ----------
    order : SortedColumns
    feature : int
    is_above : bool or int
        Whether the entry is in the upper part, whose rows go right.
    entry : int, index of the entry
    """
    threshold = _threshold_between(order, feature, is_above, entry)
    is_allowed = order.low[feature] <= threshold < order.high[feature]  # False for NaN
    return threshold if is_allowed else np.nan


@jit
def _threshold_between(order, feature, is_above, entry):
    """Return the result of :func:`threshold_at` without the limits of the thresholds."""
    value, middle, end = order.values[entry], order.middle[feature], order.start[feature + 1]
    if is_above:
        if entry + 1 < end:
            after = order.values[entry + 1]
            return np.float64(after) if after < value else np.nan
        return order.rest[feature] if order.n_rows > end - order.start[feature] else np.nan
    if entry + 1 < middle:
        return np.float64(value) if order.values[entry + 1] > value else np.nan
    has_others = order.n_rows > middle - order.start[feature] or end > middle
    return np.float64(value) if has_others else np.nan


def first_best(gain, tolerance):
    """Return the position of the first gain that no other one exceeds by more than a tolerance.

    Parameters
    ----------
    gain : float array, -inf where there is no candidate
    tolerance : float

    Returns
    -------
    int, or None if there is no candidate
    """
    most = gain.max(initial=-np.inf)
    return None if most == -np.inf else int(np.argmax(gain >= most - tolerance))


def _entries_array(X, inverse, rows, feature, first, last, values, places):
    for i in range(last - first):
        values[i], places[i] = X[rows[first + i], feature], i
    return last - first


def _entries_csc(X, inverse, rows, feature, first, last, values, places):
    data, indices, indptr = X
    n = 0
    for s in range(indptr[feature], indptr[feature + 1]):
        place = inverse[indices[s]]
        if place >= 0 and data[s] != 0:
            values[n], places[n] = data[s], place
            n += 1
    return n


# Write the values of a feature for rows[first:last] to `values`, and their positions in that slice
# to `places`. Return their number. For a sparse X, the slice must be all rows; zeros are left out.
entries = by_layout(_entries_array, _entries_csc)


def _gather_array(X, inverse, rows, feature, values):
    for r in range(rows.shape[0]):
        values[r] = X[rows[r], feature]


def _gather_csc(X, inverse, rows, feature, values):
    data, indices, indptr = X
    values[:] = 0.0
    for s in range(indptr[feature], indptr[feature + 1]):
        if inverse[indices[s]] >= 0:
            values[inverse[indices[s]]] = data[s]


# Write the values of a feature for all rows of a node to `values`.
gather = by_layout(_gather_array, _gather_csc)


def rows_at_a_time(inverse, rows):
    """Return the number of rows that :func:`entries` reads per call: all of them if X is sparse."""
    return max(1, len(rows)) if len(inverse) else _CHUNK


@jit
def stable_order(values):
    """Return the stable argsort of some values, by merge sort.

    Kernels use it in place of ``np.argsort``, which takes numba 2 s to compile.
    """
    n, width, last = values.shape[0], 1, 1
    while last < n and values[last - 1] <= values[last]:
        last += 1
    order, other = np.arange(n), np.empty(n, np.int64)
    while width < n and last < n:  # last == n: the values are sorted already
        for start in range(0, n, 2 * width):
            a, middle, stop = start, min(start + width, n), min(start + 2 * width, n)
            b = middle
            for i in range(start, stop):
                if b == stop or (a < middle and values[order[a]] <= values[order[b]]):
                    other[i] = order[a]
                    a += 1
                else:
                    other[i] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order


@jit
def edges_below(value, edges):
    """Return the number of edges below a value, by a binary search without branches.

    The edges increase. Their number must be 2 ** i - 1 or 2 ** i; pad them with inf.
    """
    at, step = 0, (edges.shape[0] + 1) // 2
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return at


@jit
def is_better(value, feature, threshold, best):
    """Return whether a cut beats the best one, a tuple (value, feature, threshold, ...).

    Lower values are better; ties go to the lowest feature, then to the lowest threshold.
    """
    if value != best[0]:
        return value < best[0]
    return feature < best[1] or (feature == best[1] and threshold < best[2])


@jit
def is_hopeless(bound, feature, best):
    """Return whether no cut of a feature can beat the best one, with values >= bound."""
    return bound > best[0] or (bound == best[0] and feature > best[1])
