"""The node solver of axis-aligned trees, and the search for the best test of one feature."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._utils.jit import jit
from .._utils.matrices import canonical_csr, column_arrays, first_least, row_size, spaced_rows
from .._utils.options import Part
from ..tree import Split
from ..tree.margins import TIE, Gap, with_widest_gap
from ..tree.routing import kernel_arrays
from .base import NodeSolver, Status

_N_BINS = 256  # so that the number of a bin fits into one byte
# Quantiles that start bins. Two fewer than bins, because 0 and the value after 0 also start bins.
_N_QUANTILES = _N_BINS - 2
_BLOCK_VALUES = 2**15  # number of values sorted at a time, which takes about 64 bytes per value

# If X is sparse, the best cut of this many promising features is found first. Features whose lower
# bound of the loss exceeds the loss of this cut need no search.
_N_FIRST = 32

# Limits of the sample of rows that is put into bins: number of values, number of rows.
_MOST_CODED, _MOST_ROWS = 5 * 10**6, 20_000


@dataclass(frozen=True)
class Axis(Part, NodeSolver):
    """Solver for axis-aligned nodes: it finds the best test of one feature (KDD'22, section 8).

    The solver minimises the weighted 0/1 loss of the node over all features, thresholds and both
    directions. A test of a feature also costs the penalty `strength`; a test that sends all rows to
    one side does not. Thresholds are values of rows. A test that sends large values to the left
    has weight -1; see :func:`upright`. Among tests that divide the rows alike, the one with the
    widest relative margin wins; see ``tao_cluster.tree.margins``.

    Notes
    -----
    The result is exact if each feature has at most 256 distinct values. Features with more values
    are compared by cuts between at most 256 bins of values. All thresholds inside the two bins next
    to the best cut are then tried.

    Memory: one byte per value of X. For sparse X, a copy by columns and one byte per stored value.
    In addition, about 100 bytes per row of each node that is being solved.
    """

    supports_weights = True
    supports_sparse = True
    deterministic = True
    split = "axis"
    is_exact = True

    def bind(self, X):
        """Put the values of each column of X into bins; see :class:`BoundSolver`."""
        if issparse(X):
            X = canonical_csr(X)
        return _BoundAxis(X, column_arrays(X), BinnedColumns.from_matrix(X, X.shape[0]))


@dataclass(frozen=True)
class _BoundAxis:
    """The axis-aligned solver with the data of one fit.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    columns : result of :func:`tao_cluster._utils.matrices.column_arrays`
        The values of X by columns. They are kept so that X is copied only once.
    binned : BinnedColumns
        The values of X as numbers of bins.
    """

    X: Any
    columns: Any
    binned: "BinnedColumns"

    def solve(self, problem):
        """Solve one node by the 0/1 loss, not by the logistic loss; see :class:`BoundSolver`."""
        weight, goes_right = problem.weight, problem.goes_right
        steps = np.where(goes_right, weight, -weight)
        rows = np.asarray(problem.rows)
        options = {"price": problem.strength, "is_refined": True, "limit": problem.limit}
        cut = self.binned.best_cut(rows, steps, problem.features, **options)
        if cut is None:
            return Split.constant(weight @ ~goes_right >= weight @ goes_right), Status()
        if problem.limit is not None:  # the rows outside of the sum must keep their sides
            return cut, Status()
        return with_widest_gap(self.view, rows, cut, weight, problem.features), Status()

    @property
    def view(self):
        """Values of X for kernels that read rows; see :func:`kernel_arrays`."""
        return self.X if self.binned.view is None else self.binned.view


# ---------------------------------------------------------------- cuts between bins


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """The values of all rows, or of a sample, as numbers of bins. A bin is a range of values.

    A feature with at most 256 distinct values has one bin per value. Bins of other features hold
    about equal numbers of rows (of stored values if X is sparse), and 0 has a bin of its own.

    Parameters
    ----------
    values : float array of shape (n, d), or of shape (stored values,) by columns if X is sparse
        None if only a sample of the rows is in bins.
    indices : int32 array of shape (stored values,), or None if X is dense
        Row of each stored value.
    codes : uint8 array of shape (stored values,)
        Bin of each value within its column, column by column.
    indptr : int64 array of shape (d + 1,), start of each column in `codes`
    zero : uint8 array of shape (d,), bin of the value 0 in each column of a sparse X
    first : int64 array of shape (d + 1,), position in `highest` of the first bin of each feature
    highest : float64 array of shape (bins,), largest value in each bin
    n_rows : int, number of rows in bins
    place : int64 array, or None if all rows are in bins
        Position of each row of the fit in the sample, or -1 for rows outside of the sample.
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays` of a sparse X, or None
    """

    values: np.ndarray | None
    indices: np.ndarray | None
    codes: np.ndarray
    indptr: np.ndarray
    zero: np.ndarray
    first: np.ndarray
    highest: np.ndarray
    n_rows: int
    place: np.ndarray | None
    view: tuple | None

    @classmethod
    def from_matrix(cls, X, n_rows=None):
        """Put the values of `n_rows` rows of X, evenly spaced in their order, into bins.

        The default is all rows, but at most 20 000 rows and about 5e6 values.
        """
        n, place, view = X.shape[0], None, kernel_arrays(X) if issparse(X) else None
        if n_rows is None:
            n_rows = min(_MOST_ROWS, max(1, int(_MOST_CODED // max(1, row_size(X)))))
        if n_rows < n:
            rows = spaced_rows(n, n_rows)
            place = np.full(n, -1)
            place[rows] = np.arange(n_rows)
            X = X[rows]
        n_rows, n_columns = X.shape
        values, indices, indptr = X, None, np.arange(n_columns + 1) * n_rows
        if issparse(X):
            values, indices, indptr = column_arrays(X)
            indices, indptr = indices.astype(np.int32, copy=False), indptr.astype(np.int64)
        codes, zero, bins = np.empty(indptr[-1], np.uint8), np.zeros(n_columns, np.uint8), []
        for block in _blocks(indptr):
            part = slice(indptr[block.start], indptr[block.stop])
            own = indptr[block.start : block.stop + 1] - part.start
            if indices is None:
                codes[part], *found = _bins(X[:, block].T.ravel(), own)
            else:
                codes[part], zero[block], *found = _stored_bins(values[part], own, n_rows)
            bins.append(found)
        sizes, highest = map(np.concatenate, zip(*bins, strict=True))
        first = np.append(0, np.cumsum(sizes))
        values = values if place is None else None
        return cls(values, indices, codes, indptr, zero, first, highest, n_rows, place, view)

    def best_cut(self, rows, steps, features=None, price=0.0, is_refined=False, limit=None):
        """Return the test of one feature with the least loss.

        Parameters
        ----------
        rows : int64 array of shape (m,), rows of the fit
        steps : float64 array of shape (m,)
            Cost of each row on the left minus its cost on the right.
        features : int array, increasing; optional
            Features that may be tested; None stands for all.
        price : float
            A test must lower the loss by more than this.
        is_refined : bool
            Whether thresholds inside the two bins next to the best cut are tried.
        limit : tuple, optional
            As for :class:`NodeProblem`; only if all rows are in bins.

        Returns
        -------
        Split, or None
            None if no test is better, by more than `price`, than sending all rows to one side. Of
            equally good tests, the one of the lowest feature is chosen, and then the one with the
            lowest threshold; see also :func:`tao_cluster.tree.margins.with_widest_gap`. The
            threshold is a value of a row.
        """
        if self.place is not None:
            is_here = self.place[rows] >= 0
            rows, steps = rows[is_here], steps[is_here]
        features = np.arange(len(self.zero)) if features is None else features
        noise, total = TIE * float(np.abs(steps).sum()), float(steps.sum())
        least = min(0.0, total) - price
        if self.view is not None:
            features = self._promising(features, rows, steps, least, total, noise)
        if self.place is not None:
            rows = self.place[rows]
        terms = (least, total, noise, *self._allowed_bins(features, limit))
        _, feature, at, is_flipped = self._best_bin(features, rows, steps, *terms)
        if feature < 0:
            return None
        threshold = self.highest[self.first[feature] + at]
        if is_refined:
            signed = -steps if is_flipped else steps
            threshold = self._refined(feature, at, rows, signed, noise, limit)
        return Gap(int(feature), float(threshold), np.inf, bool(is_flipped)).split

    def _best_bin(self, features, rows, steps, *limits):
        """Return the best cut between bins, as the function :func:`_best_bin` does.

        `rows` are positions among the rows whose values are in bins.
        """
        by_row, indices = np.empty(0), np.empty(0, np.int32)
        if self.indices is not None:
            by_row, indices = np.zeros(self.n_rows), self.indices
            by_row[rows] = steps
        bins = (indices, self.codes, self.indptr, self.zero, self.first)
        return _best_bin(*bins, rows.astype(np.int64), steps, by_row, features, *limits)

    def _allowed_bins(self, features, limit):
        """Return the range [low, high) of bins after which a cut leaves enough rows on both sides.

        The two int64 arrays of shape (d,) are empty without a limit.
        """
        if limit is None:
            return np.empty((2, 0), np.int64)
        size, rows = limit
        low, high = np.zeros((2, len(self.zero)), np.int64)
        by_row, indices = np.empty(0), np.empty(0, np.int32)
        if self.indices is not None:
            by_row, indices = np.zeros(self.n_rows), self.indices
            by_row[rows] = size.units[rows]
        bins = (indices, self.codes, self.indptr, self.zero, self.first)
        terms = (rows.astype(np.int64), size.units[rows], by_row, features, size.least, low, high)
        _fill_allowed(*bins, *terms)
        return low, high

    def _promising(self, features, rows, steps, least, total, noise):
        """Return the features of a sparse X that can have the best cut, or tie with it.

        A step of a row is its cost on the left side minus its cost on the right side. `total` is
        the sum of all steps. The loss of a cut is the sum of the steps of the rows on its left. The
        rows that do not store a value of the feature have the value 0, so they are all on the same
        side. If they are on the right, the loss is at least the sum of the negative steps of the
        rows that store a value. If they are on the left, it is at least `total` minus the sum of
        the positive steps of those rows. A feature is kept if the smaller of these bounds is below
        `least`. If many features remain, the bound must also not exceed the loss of a known cut by
        more than `noise`.
        """
        negative, positive = np.zeros((2, len(self.zero)))
        _add_stored(self.view, rows.astype(np.int64), steps, negative, positive)
        bound = np.minimum(negative, total - positive)[features]
        features, bound = features[bound < least], bound[bound < least]
        if len(features) > _N_FIRST:
            first = np.sort(np.argpartition(bound, _N_FIRST)[:_N_FIRST])
            here = rows if self.place is None else self.place[rows]
            terms = (least, total, noise, *self._allowed_bins(features[first], None))
            loss, *_ = self._best_bin(features[first], here, steps, *terms)
            features = features[bound <= loss + noise]
        return features

    def _column(self, feature):
        """Return the bin and the value of each row: arrays of shape (n,)."""
        own = slice(self.indptr[feature], self.indptr[feature + 1])
        if self.indices is None:
            return self.codes[own], self.values[:, feature]
        codes, values = np.full(self.n_rows, self.zero[feature]), np.zeros(self.n_rows)
        stored = self.indices[own]
        codes[stored], values[stored] = self.codes[own], self.values[own]
        return codes, values

    def _refined(self, feature, at, rows, steps, noise, limit):
        """Return the best threshold in the two bins next to a cut at the end of bin `at`."""
        codes_of_row, value_of_row = self._column(feature)
        codes = codes_of_row[rows]
        near = np.flatnonzero((codes == at) | (codes == at + 1))
        values = value_of_row[rows[near]]
        order = np.argsort(values, kind="stable")
        near, ascending = near[order], values[order].astype(np.float64)
        loss = steps[codes < at].sum() + np.cumsum(steps[near])
        is_last = np.append(ascending[1:] > ascending[:-1], True)
        if (codes > at + 1).sum() == 0:
            is_last[-1] = False  # the largest value as threshold would send all rows to the left
        if limit is not None:
            size, every_row = limit
            low, high = size.thresholds(value_of_row[every_row].astype(np.float64), every_row)
            is_last = is_last[: len(near)] & (low <= ascending) & (ascending < high)
            if not is_last.any():
                return float(self.highest[self.first[feature] + at])
        loss = np.where(is_last, loss, np.inf)
        return float(ascending[first_least(loss, noise)])


def _blocks(indptr):
    """Yield slices of consecutive columns with at most `_BLOCK_VALUES` values together.

    A column with more values is a slice of its own.
    """
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + _BLOCK_VALUES, side="right")) - 1
        stop = min(max(stop, start + 1), start + _BLOCK_VALUES, n)
        yield slice(start, stop)
        start = stop


def _stored_bins(values, indptr, n_rows):
    """Put the values of sparse columns, including 0, into bins.

    Returns
    -------
    codes : uint8 array, bin of each stored value within its column
    zero : uint8 array of shape (d,), bin of the value 0 in each column
    sizes, highest : see :func:`_bins`
    """
    has_zeros = np.diff(indptr) < n_rows
    with_zeros = np.insert(values, indptr[1:][has_zeros], 0.0)
    n_before = np.append(0, np.cumsum(has_zeros))
    codes, sizes, highest = _bins(with_zeros, indptr + n_before)
    at, zero = indptr[1:][has_zeros] + n_before[:-1][has_zeros], np.zeros(len(has_zeros), np.uint8)
    zero[has_zeros] = codes[at]
    return np.delete(codes, at), zero, sizes, highest


def _bins(values, indptr):
    """Put the values of columns into bins.

    Parameters
    ----------
    values : float array, column by column
    indptr : int array of shape (d + 1,), start of each column in `values`; no column is empty

    Returns
    -------
    codes : uint8 array, bin of each value within its column
    sizes : int array of shape (d,), number of bins of each column
    highest : float64 array, largest value in each bin, column by column
    """
    numbers, starts, n_stored = np.arange(len(values)), indptr[:-1], np.diff(indptr)
    column = np.repeat(np.arange(len(starts)), n_stored)
    if np.ptp(n_stored) == 0:  # columns of equal length are sorted as the rows of a table, faster
        table = values.reshape(len(starts), -1)
        order = (np.argsort(table, axis=1) + starts[:, None]).ravel()
    else:
        order = np.lexsort((values, column))
    ascending = values[order].astype(np.float64)
    is_new = np.append(True, ascending[1:] > ascending[:-1])
    is_new[starts] = True
    # Equal values of a column get the position of the first of them, so that they share a bin.
    place = np.maximum.accumulate(np.where(is_new, numbers, 0)) - starts[column]
    quantile = place * _N_QUANTILES // n_stored[column]
    opens = np.append(True, quantile[1:] != quantile[:-1]) | (ascending == 0)
    opens[1:] |= ascending[:-1] == 0
    is_exact = np.add.reduceat(is_new, starts, dtype=np.int64) <= _N_BINS
    opens |= is_exact[column]
    opens &= is_new
    opens[starts] = True
    bin_ = np.cumsum(opens) - 1
    first = bin_[starts]
    codes = np.empty(len(values), np.uint8)
    codes[order] = bin_ - first[column]
    ends = np.append(np.flatnonzero(opens)[1:], len(values)) - 1
    return codes, np.diff(np.append(first, len(ends))), ascending[ends]


@jit
def _sum_in_bins(indices, codes, begin, end, zero, rows, terms, by_row, total, sums):
    """Fill `sums` with the sum of a term of each row per bin of a feature."""
    sums[:] = 0.0
    if by_row.shape[0]:
        rest = total
        for s in range(begin, end):
            term = by_row[indices[s]]
            sums[codes[s]] += term
            rest -= term
        sums[zero] += rest
    else:
        own = codes[begin:end]
        for r in range(rows.shape[0]):
            sums[own[rows[r]]] += terms[r]


@jit
def _fill_allowed(
    indices, codes, indptr, zero, first, rows, units, by_row, features, least, low, high
):
    """Write the range of bins after which a cut leaves enough rows on both sides."""
    sums, total = np.empty(_N_BINS), units.sum()
    for f in features:
        terms = (rows, units, by_row, total)
        _sum_in_bins(indices, codes, indptr[f], indptr[f + 1], zero[f], *terms, sums)
        below, n_below = 0.0, 0
        for b in range(first[f + 1] - first[f] - 1):
            below += sums[b]
            n_below += below < least
            high[f] = b + 1 if total - below >= least else high[f]
        low[f] = n_below


@jit
def _best_bin(
    indices,
    codes,
    indptr,
    zero,
    first,
    rows,
    steps,
    by_row,
    features,
    least,
    total,
    noise,
    low,
    high,
):
    """Return the loss of the best cut, its feature, the bin before it, and whether it is flipped.

    A flipped cut sends the larger values to the left. `steps` is the cost of each row of the node
    on the left minus its cost on the right. If X is sparse, `by_row` has these steps for all rows,
    0 outside of the node. If no cut has a loss below `least`, the feature is -1. Cuts are made
    after the bins in [low, high) of each feature, or after all bins if these arrays are empty.
    """
    feature, at, is_flipped = -1, -1, False
    sums = np.empty(_N_BINS)
    for f in features:
        terms = (rows, steps, by_row, total)
        _sum_in_bins(indices, codes, indptr[f], indptr[f + 1], zero[f], *terms, sums)
        below, n_bins = 0.0, first[f + 1] - first[f]
        for b in range(n_bins - 1):
            below += sums[b]
            if low.shape[0] and not low[f] <= b < high[f]:
                continue
            if min(below, total - below) < least - noise:
                is_flipped = total - below < below - noise
                feature, at, least = f, b, min(below, total - below)
    return least, feature, at, is_flipped


@jit
def _add_stored(X, rows, steps, negative, positive):
    """Add the step of each row to the sums of the features of which the row stores a value.

    A step is the cost of a row on the left minus its cost on the right. Negative steps are added to
    `negative`, and the others to `positive`, in place.
    """
    _, indices, indptr = X
    for r in range(rows.shape[0]):
        sums = negative if steps[r] < 0 else positive
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            sums[np.uint64(indices[s])] += steps[r]  # unsigned: no check for negative indices


# ---------------------------------------------------------------- axis-aligned trees


def upright(tree):
    """Return the tree with tests of negative weights reversed, so that all weights are positive.

    Tests of one feature become x_j <= t. Tests of several features are sets of levels, whose
    weights all have the same sign.

    Parameters
    ----------
    tree : Tree, axis-aligned, or with tests on sets of levels

    Returns
    -------
    Tree
        Every row reaches the same leaf as before.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.solvers import upright
    >>> tree = Tree.from_splits(
    ...     [1, -1, -1], [2, -1, -1], [([0], [-1.0]), None, None], [-0.5, 0, 0], [-1, 0, 1], 1
    ... )
    >>> upright(tree).predict([[0.2], [0.7]]).tolist() == tree.predict([[0.2], [0.7]]).tolist()
    True
    """
    turned = np.zeros(tree.n_nodes, dtype=bool)
    n_weights = np.diff(tree.split_indptr)
    has_test = n_weights > 0
    turned[has_test] = tree.split_weights[tree.split_indptr[:-1][has_test]] < 0
    left, right = tree.children_left, tree.children_right
    # The test -x <= -t sends rows with x < t to the right. Reversed, it sends them to the left.
    # No row is at the threshold of a set of levels, which stays the same.
    below = np.where(n_weights > 1, -tree.threshold, np.nextafter(-tree.threshold, -np.inf))
    return replace(
        tree,
        children_left=np.where(turned, right, left),
        children_right=np.where(turned, left, right),
        split_weights=np.abs(tree.split_weights),
        threshold=np.where(turned, below, tree.threshold),
    )


def is_axis_aligned(tree):
    """Return whether every test of a tree has one feature with weight 1 or -1, or no feature.

    Examples
    --------
    >>> from tao_cluster import bisector_tree
    >>> from tao_cluster.solvers import is_axis_aligned
    >>> is_axis_aligned(bisector_tree([[0.0, 0.0], [1.0, 1.0]]))
    False
    """
    return bool(np.all(np.diff(tree.split_indptr) <= 1) and np.all(np.abs(tree.split_weights) == 1))
