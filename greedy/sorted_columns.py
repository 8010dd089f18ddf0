"""The values of a node's rows, feature by feature: as they are stored, or sorted once for all cuts.

Kernels of `cuts` read values through :func:`entries` and :func:`gather`, which know the layouts of
X: an array, or (data, indices, indptr) of the CSC form of a sparse X. Where `inverse` is asked for,
it is an int64 array of shape (n,), the place of each row of X in the node's `rows` or -1; it is
empty for an array, which needs none.

Cached kernels of another file do not see an edit here: touch the files of `cuts` after one.
"""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.jit import by_layout, jit

# A gain that exceeds another by less than this share of the scale of gains is a tie: sums of the
# same rows in another order differ in their last bits.
ROUNDING = 1e-12

_CHUNK = 256  # rows of an array whose values are read together, all features after each other


class SortedColumns(NamedTuple):
    """Entries of a node's rows, feature by feature, as kernels sweep over them.

    The rows with a feature's most frequent value, `rest` (0 for sparse X), have no entry. Those
    below it ascend from the least value, up to `middle`; the others descend from the largest: a
    kernel moves rows to the left of a cut in the one part and to its right in the other.
    """

    rows: np.ndarray  # (s,) int32
    values: np.ndarray  # (s,) of the data type of X
    start: np.ndarray  # (d + 1,) int64, where each feature's entries begin
    middle: np.ndarray  # (d,) int64
    rest: np.ndarray  # (d,) float64
    n_rows: int  # of the node

    @classmethod
    def from_rows(cls, points, rows):
        """Sort the values of some rows.

        Parameters
        ----------
        points : BuilderInput
        rows : int64 array of shape (m,), increasing

        Returns
        -------
        SortedColumns
            12 bytes an entry (8 of float32 X).
        """
        columns = _stored if sp.issparse(points.X) else _dense
        parts = [_sorted(*column) for column in columns(points, rows)]
        below, above, rest = zip(*parts, strict=True)
        size = np.array([len(values) for _, values in below])
        start = np.concatenate([[0], np.cumsum(size + [len(values) for _, values in above])])
        both = [part for pair in zip(below, above, strict=True) for part in pair]
        entries, values = (np.concatenate(arrays) for arrays in zip(*both, strict=True))
        middle = start[:-1] + size
        return cls(entries.astype(np.int32), values, start, middle, np.array(rest), len(rows))

    def part(self, rows, n_rows):
        """The order of some rows of the node; X has `n_rows` rows."""
        is_in = np.zeros(n_rows, bool)
        is_in[rows] = True
        kept = is_in[self.rows]
        before = np.concatenate([[0], np.cumsum(kept)])
        start, middle = before[self.start], before[self.middle]
        return SortedColumns(
            self.rows[kept], self.values[kept], start, middle, self.rest, len(rows)
        )


def _dense(points, rows):
    """Rows, their values, and the most frequent value of each feature."""
    for feature in range(points.n_features):
        values = points.X[rows, feature]
        ordered = np.sort(values)
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1]]))
        longest = np.diff(np.append(first, len(ordered))).argmax()
        yield rows, values, ordered[first[longest]]


def _stored(points, rows):
    """The same for the stored values of sparse X."""
    data, indices, indptr = points.columns
    is_in = np.zeros(points.X.shape[0], bool)
    is_in[rows] = True
    for begin, end in itertools.pairwise(indptr.tolist()):
        kept = is_in[indices[begin:end]]
        yield indices[begin:end][kept], data[begin:end][kept], 0.0


def _sorted(rows, values, rest):
    """Rows and values below the rest, ascending, and above it, descending; and the rest."""
    halves = []
    for side, sign in ((values < rest, 1), (values > rest, -1)):
        some = values[side]
        order = np.argsort(sign * some, kind="stable")
        halves.append((rows[side][order], some[order]))
    return *halves, float(rest)


@jit
def threshold_at(order, feature, is_above, entry):
    """Threshold of the cut that moves an entry and those before it in its part; NaN if none.

    Parameters
    ----------
    order : SortedColumns
    feature : int
    is_above : bool or int
        Whether the entry is in the descending part: it goes right, else left.
    entry : int
    """
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
    """Position of the first gain that no other exceeds by more than a tolerance.

    Parameters
    ----------
    gain : float array, -inf where there is none
    tolerance : float

    Returns
    -------
    int, or None if there is no gain
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


# Enter the values of rows[first:last] and their places in it; how many there are. Of a sparse X
# these are all rows of a node, and only values other than 0 are entered.
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


# Enter the values of all rows of a node.
gather = by_layout(_gather_array, _gather_csc)


def rows_at_a_time(inverse, rows):
    """How many rows :func:`entries` reads in one call, at least 1."""
    return max(1, len(rows)) if len(inverse) else _CHUNK


@jit
def stable_order(values):
    """What a stable argsort gives. Numpy's takes 2 s to compile; this is a plain merge sort."""
    n, width, last = values.shape[0], 1, 1
    while last < n and values[last - 1] <= values[last]:
        last += 1
    order, other = np.arange(n), np.empty(n, np.int64)
    while width < n and last < n:  # else they are sorted
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
    """Number of edges below a value: a binary search of fixed length, without branches.

    The edges increase; there are 2 ** i - 1 of them, the last ones infinite, or one more.
    """
    at, step = 0, (edges.shape[0] + 1) // 2
    while step > 0:
        at += step if edges[at + step - 1] < value else 0
        step //= 2
    return at


@jit
def is_better(value, feature, threshold, best):
    """Whether a cut comes before the best one (value, feature, threshold, ...): less is better."""
    if value != best[0]:
        return value < best[0]
    return feature < best[1] or (feature == best[1] and threshold < best[2])


@jit
def is_hopeless(bound, feature, best):
    """Whether no cut of a feature, of values from `bound` on, can come before the best one."""
    return bound > best[0] or (bound == best[0] and feature > best[1])
