"""The columns of a node, sorted once for all cuts, and sums over the rows on one side of a cut.

A sweep moves the rows of a node one after the other to one side of the cut and updates a few
running sums. The side that receives the rows is called the moving side.
"""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.jit import by_layout, jit

from ..builder_input import threshold_ranges


class SortedColumns(NamedTuple):
    """The rows of a node sorted by every feature, for searches that sweep over all cuts.

    Rows with the most frequent value of a feature (0 for a sparse X) have no entry. The entries of
    a feature form two parts. The lower part holds the rows below that value, ascending from the
    least one; a sweep moves them to the left of the cut. The upper part holds the rows above it,
    descending from the largest one; a sweep moves them to the right. So rows with the most frequent
    value never move, and the work is proportional to the number of the other rows.
    """

    rows: np.ndarray  # (s,) int32, row number in X of each of the s entries
    values: np.ndarray  # (s,) of the data type of X, value of each entry
    # (s,) float64, threshold of the cut that separates an entry from the next one in its part, or
    # NaN if there is no such cut: the next entry has the same value, or a side has too few rows
    thresholds: np.ndarray
    start: np.ndarray  # (d + 1,) int64, where the entries of each feature begin
    middle: np.ndarray  # (d,) int64, where the upper part of each feature begins
    rest: np.ndarray  # (d,) float64, most frequent value of each feature

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
            It takes 20 bytes per entry (16 bytes for float32 X).
        """
        entries, sorted_values, rests, sizes = [], [], [], [0]
        columns = _stored if sp.issparse(points.X) else _dense
        for some, values, rest in columns(points, rows):
            rests.append(rest)
            for side, sign in ((values < rest, 1), (values > rest, -1)):
                order = np.argsort(sign * values[side], kind="stable")
                entries.append(some[side][order].astype(np.int32))
                sorted_values.append(values[side][order])
                sizes.append(len(order))
        ends, values = np.cumsum(sizes), np.concatenate(sorted_values)
        start, middle = ends[::2].copy(), ends[1::2].copy()
        terms = (np.concatenate(entries), values, start, middle, np.array(rests, float), len(rows))
        return cls.from_entries(*terms, *threshold_ranges(points, rows))

    @classmethod
    def from_entries(cls, rows, values, start, middle, rest, n_rows, low, high):
        """Return sorted columns with the thresholds in [low, high) of each feature.

        Parameters
        ----------
        rows, values, start, middle, rest
            The fields of the result.
        n_rows : int, number of rows of the node
        low, high : float64 arrays of shape (d,)
        """
        begin, end = start[:-1], start[1:]
        ends_lower, ends_upper = middle > begin, end > middle  # features with such a part
        after = np.empty(len(values))  # the next value in the direction of the sweep
        after[:-1] = values[1:]
        after[middle[ends_lower] - 1] = rest[ends_lower]
        after[end[ends_upper] - 1] = rest[ends_upper]
        is_cut = after != values
        # After the last entry of a part there is a cut only if rows are outside of the part. If
        # only rows of the lower part are, the last cut of the lower part is the same cut.
        is_cut[middle[ends_lower] - 1] = (n_rows > middle - begin)[ends_lower]
        is_cut[end[ends_upper] - 1] = (n_rows > end - begin)[ends_upper]
        feature = np.repeat(np.arange(len(middle)), end - begin)
        thresholds = np.where(np.arange(len(values)) < middle[feature], values, after)
        is_cut &= (low[feature] <= thresholds) & (thresholds < high[feature])
        thresholds[~is_cut] = np.nan
        return cls(rows, values, thresholds, start, middle, rest)

    @property
    def ends(self):
        """Where the parts of all features begin, and the end of the last one."""
        return np.sort(np.concatenate([self.start, self.middle]))

    def cumulated(self, terms):
        """Return, for each entry, the sum of terms over the rows of its part up to the entry.

        `terms` has one element per row of X.
        """
        return self.summed(terms[self.rows])

    def summed(self, changes):
        """Return, for each entry, the sum of the changes in its part up to the entry."""
        sums = np.empty(len(changes))
        for begin, end in itertools.pairwise(self.ends.tolist()):
            np.cumsum(changes[begin:end], out=sums[begin:end])
        return sums

    def best_cut(self, gain, tolerance=0.0):
        """Return the gain, feature and threshold of the best cut; None if there is no cut.

        Of the cuts that no other one exceeds by more than a tolerance, it is the one of the lowest
        feature, and then the one with the lowest threshold. `gain` has one element per entry.
        """
        gain = np.where(np.isnan(self.thresholds), -np.inf, gain)
        most = gain.max(initial=-np.inf)
        if most == -np.inf:
            return None
        best = np.flatnonzero(gain >= most - tolerance)
        features = np.searchsorted(self.start, best, side="right") - 1
        thresholds = self.thresholds[best]
        first = np.lexsort([thresholds, features])[0]
        return float(gain[best[first]]), int(features[first]), float(thresholds[first])

    def part(self, points, rows):
        """Return the sorted columns of some of the rows, in time proportional to the entries."""
        is_in = np.zeros(len(points.weight), bool)
        is_in[rows] = True
        kept = is_in[self.rows]
        before = np.concatenate([[0], np.cumsum(kept)])
        start, middle = before[self.start], before[self.middle]
        terms = (self.rows[kept], self.values[kept], start, middle, self.rest, len(rows))
        return SortedColumns.from_entries(*terms, *threshold_ranges(points, rows))


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


def first_within(gain, tolerance):
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


def cut_sum_cache(order, n_columns):
    """Plan which features cache the sums of the moving side at every cut.

    A feature with few distinct values has few cuts, although its sweep moves many rows. For such a
    feature the sums are computed once and kept. A feature is cached if the sums of all its cuts
    together have at most as many elements as the feature has entries in `order`.

    Parameters
    ----------
    order : greedy.baselines.sorted_columns.SortedColumns
    n_columns : int, number of elements of one sum

    Returns
    -------
    start : int64 array of shape (d,)
        Row of the first cut of each feature in the cache, -1 for features that are not cached.
    n_cached : int, number of rows of the cache
    """
    begin, end = order.start[:-1], order.start[1:]
    before = np.concatenate([[0], np.cumsum(~np.isnan(order.thresholds))])
    n_cuts = before[end] - before[begin]
    is_cached = n_cuts * n_columns <= end - begin
    n_cached = np.where(is_cached, n_cuts, 0)
    return np.where(is_cached, np.cumsum(n_cached) - n_cached, -1), int(n_cached.sum())


@jit
def side_sums(space, order, weight, lo, hi, norms, cache_start, cache):
    """Compute S of the moving side for every cut of features lo..hi-1.

    S is the weighted sum of the rows of the moving side, a vector with m elements. The kernel takes
    O(m) time per entry of `order`, or O(number of non-zeros of the row) if `space` is sparse. It is
    called once per leaf. Later searches of the leaf, after clusters have changed, reuse the result.

    Parameters
    ----------
    space : float64 array of shape (n, m), or (data, indices, indptr) of a CSR matrix
        The rows in the space in which the k-means cost is measured.
    order : greedy.baselines.sorted_columns.SortedColumns
    weight : float64 array of shape (n,)
    lo, hi : int
    norms : float64 array, one element per entry of `order`
        Output: ||S||^2 after the row of each entry of `order` has moved.
    cache_start : int64 array of shape (d,), result of :func:`cut_sum_cache`
    cache : float64 array of shape (n_cached, m)
        Output: S at the cuts of the cached features.
    """
    total = np.zeros(cache.shape[1])
    for f in range(lo, hi):
        parts, at = (order.start[f], order.middle[f], order.start[f + 1]), cache_start[f]
        for p in range(2):
            norm = 0.0
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                norm += _add_row(space, row, weight[row], total)
                norms[e] = norm
                if at >= 0 and not np.isnan(order.thresholds[e]):
                    cache[at] = total
                    at += 1
            _clear(space, order.rows[parts[p] : parts[p + 1]], total)


def _add_row_dense(space, row, weight, total):
    a = b = c = d = square = 0.0
    m = total.shape[0]
    for f in range(0, m - 3, 4):  # four independent sums, which the processor adds in parallel
        x0, x1, x2, x3 = space[row, f], space[row, f + 1], space[row, f + 2], space[row, f + 3]
        a += x0 * (2.0 * total[f] + weight * x0)
        b += x1 * (2.0 * total[f + 1] + weight * x1)
        c += x2 * (2.0 * total[f + 2] + weight * x2)
        d += x3 * (2.0 * total[f + 3] + weight * x3)
        total[f] += weight * x0
        total[f + 1] += weight * x1
        total[f + 2] += weight * x2
        total[f + 3] += weight * x3
    for f in range(m - m % 4, m):
        x0 = space[row, f]
        square += x0 * (2.0 * total[f] + weight * x0)
        total[f] += weight * x0
    return weight * ((a + b) + (c + d) + square)


def _add_row_csr(space, row, weight, total):
    data, indices, indptr = space
    change = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        x, f = np.float64(data[s]), indices[s]
        change += x * (2.0 * total[f] + weight * x)
        total[f] += weight * x
    return weight * change


# Add a weighted row to the sum `total` (in place) and return the increase of ||total||^2.
_add_row = by_layout(_add_row_dense, _add_row_csr)


def _clear_dense(space, rows, total):
    total[:] = 0.0


def _clear_csr(space, rows, total):
    _, indices, indptr = space
    for row in rows:
        for s in range(indptr[row], indptr[row + 1]):
            total[indices[s]] = 0.0


# Set the vector `total`, the sum of some rows, to zero. For sparse rows only the columns in which
# these rows have stored values are reset.
_clear = by_layout(_clear_dense, _clear_csr)
