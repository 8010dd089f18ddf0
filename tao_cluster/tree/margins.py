"""Ties between tests of one feature: the widest relative margin wins.

Several features may divide the rows of a node alike. On the fitted rows, these tests cost the same.
On new rows, the one with the widest gap between its two sides is the safest. The *margin* of a test
is this gap divided by the weighted standard deviation of the feature over the rows of the node, so
that it does not depend on units. Ties between margins go to the lowest feature, then to the lowest
threshold. All builders and node solvers of both packages follow this rule.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._utils.jit import by_layout, jit
from .routing import project
from .tree import Split, midpoint

# Costs, gains and margins that differ by at most this share of their scale count as equal, in both
# packages. Sums of the same numbers in another order differ by less.
TIE = 1e-12


class Gap(NamedTuple):
    """The gap of a feature between the two sides of a test.

    Parameters
    ----------
    feature : int
    low, high : float
        Largest value on the side with the smaller values, and smallest value on the other side. A
        threshold in [low, high) divides the rows alike.
    is_flipped : bool
        Whether the rows on the left have the larger values.
    """

    feature: int
    low: float
    high: float
    is_flipped: bool

    @property
    def split(self):
        """The test with the lowest threshold, as a Split; its weight is -1 if it is flipped."""
        if not self.is_flipped:
            return Split.from_feature(self.feature, self.low)
        # Rows with x > t go left: -x <= -(the next number above t).
        threshold = -float(np.nextafter(self.low, np.inf))
        return Split(np.array([self.feature], np.int32), np.array([-1.0]), threshold)


def widest_gap(view, rows, goes_left, feature, weight=None, features=None, centers=None):
    """Return another feature that divides some rows like a given test, if its margin is wider.

    Most features are ruled out by a few rows. Only the others are read for all rows, so that the
    search takes O(d) time plus O(m) for each feature that divides the m rows alike.

    Parameters
    ----------
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`
    rows : int64 array of shape (m,)
    goes_left : bool array of shape (m,)
    feature : int, the feature of the test
    weight : float64 array of shape (m,), positive; by default all weights are 1
    features : int array, increasing; optional
        Features that may be tested; None stands for all.
    centers : pair of float64 arrays of shapes (a, d) and (b, d), optional
        Further points that must lie on the left and on the right. They do not count for the
        standard deviation.

    Returns
    -------
    Gap, or None
        None if no other feature is better, or if one of the sides has no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.tree.margins import widest_gap
    >>> X = np.array([[0.0, 1.0], [1.0, 1.1], [1.1, 9.0]])
    >>> widest_gap(X, np.arange(3), X[:, 0] <= 1.0, 0)
    Gap(feature=1, low=1.1, high=9.0, is_flipped=False)
    """
    n_left = np.count_nonzero(goes_left)
    if n_left in (0, len(rows)):
        return None
    firsts = rows[goes_left.argmax()], rows[goes_left.argmin()]
    active = _candidates(view, *firsts, features)
    low, high = np.full((2, len(active)), np.inf), np.full((2, len(active)), -np.inf)
    for side, points in enumerate(centers or ()):
        if len(points):
            own = points[:, active]
            low[side], high[side] = own.min(axis=0), own.max(axis=0)
    weight = np.ones(len(rows)) if weight is None else weight
    moments, origin = np.zeros((3, len(active))), firsts[0 if 2 * n_left >= len(rows) else 1]
    n, mass = _narrow(view, rows, goes_left, weight, origin, active, low, high, moments)
    if n < 2:
        return None
    active, low, high, (_, mean, square) = (
        active[:n],
        low[:, :n],
        high[:, :n],
        moments[:, :n] / mass,
    )
    is_flipped = low[0] > high[1]
    below = np.where(is_flipped, high[1], high[0])
    above = np.where(is_flipped, low[0], low[1])
    variance = np.maximum(square - mean * mean, np.finfo(np.float64).tiny)
    margin = (above - below) / np.sqrt(variance)
    best = int(np.argmax(margin >= margin.max() * (1 - TIE)))
    if active[best] == feature:
        return None
    return Gap(int(active[best]), float(below[best]), float(above[best]), bool(is_flipped[best]))


def with_widest_gap(view, rows, split, weight, features=None):
    """Return the test of one feature with the widest margin that divides some rows like a test.

    Parameters
    ----------
    view, rows, weight, features
        As for :func:`widest_gap`.
    split : Split
        It is returned unchanged if it has no or several features, or the widest margin already.

    Returns
    -------
    Split
    """
    if len(split.indices) != 1:
        return split
    goes_left = project(view, rows, split.indices, split.weights) <= split.threshold
    gap = widest_gap(view, rows, goes_left, split.indices[0], weight, features)
    return split if gap is None else gap.split


def with_gaps(tree, gaps, at_midpoints=False):
    """Return the tree with the tests of some nodes moved to the features of gaps.

    Parameters
    ----------
    tree : Tree
    gaps : dict of node number to Gap or None
        Nodes whose gap is None stay as they are.
    at_midpoints : bool
        Whether thresholds are the midpoints of the gaps instead of their low ends.

    Returns
    -------
    Tree
        If a gap is flipped, the children of the node are exchanged, so that the same rows reach the
        same leaves.
    """
    updates, is_flipped = {}, np.zeros(tree.n_nodes, bool)
    for node, gap in gaps.items():
        if gap is not None:
            threshold = midpoint(gap.low, gap.high) if at_midpoints else gap.low
            updates[node] = (([gap.feature], [1.0]), threshold)
            is_flipped[node] = gap.is_flipped
    if not updates:
        return tree
    left, right = tree.children_left, tree.children_right
    return replace(
        tree.with_splits(updates),
        children_left=np.where(is_flipped, right, left),
        children_right=np.where(is_flipped, left, right),
    )


def _candidates(view, left, right, features):
    """Return the features that may divide two rows: int64 array, increasing.

    In a sparse X, a feature that neither row stores is 0 in both.
    """
    if not isinstance(view, tuple):
        return np.arange(view.shape[1]) if features is None else np.array(features, np.int64)
    _, columns, indptr = view
    stored = [columns[indptr[row] : indptr[row + 1]] for row in (left, right)]
    found = np.union1d(*stored).astype(np.int64)
    return found if features is None else np.intersect1d(found, features)


def _read_dense(X, row, active, n, out):
    for a in range(n):
        out[a] = X[row, active[a]]


def _read_csr(X, row, active, n, out):
    data, columns, indptr = X
    s, stop = indptr[row], indptr[row + 1]
    for a in range(n):
        while s < stop and columns[s] < active[a]:
            s += 1
        out[a] = data[s] if s < stop and columns[s] == active[a] else 0.0


# Write the values of the first n of the active features for a row to `out`.
_read = by_layout(_read_dense, _read_csr)


@jit
def _narrow(X, rows, goes_left, weight, origin, active, low, high, moments):
    """Keep the features that divide the rows alike at the front of `active`; return their number.

    The second result is the weight of the rows. `low` and `high` (2, d) hold the ranges of the
    active features on both sides. `moments` (3, d) receives the values in the row `origin`, and the
    weighted sums of the differences from them and of their squares. The origin is on the larger
    side, near most rows, so that rounding errors of the variance are small. The rows of both sides
    take turns, so that most features are ruled out early. If fewer than two features are left, the
    other arrays are not complete.
    """
    n, n_rows, mass = active.shape[0], rows.shape[0], 0.0
    values, at = np.empty(n), np.zeros(2, np.int64)
    _read(X, origin, active, n, moments[0])
    while n > 1 and min(at[0], at[1]) < n_rows:
        for side in range(2):
            r = at[side]
            while r < n_rows and goes_left[r] == (side == 1):
                r += 1
            at[side] = r + 1
            if r >= n_rows:
                continue
            _read(X, rows[r], active, n, values)
            own, n_kept = weight[r], 0
            mass += own
            for a in range(n):
                value, away = values[a], values[a] - moments[0, a]
                low[side, a] = min(low[side, a], value)
                high[side, a] = max(high[side, a], value)
                moments[1, a] += own * away
                moments[2, a] += own * away * away
                n_kept += (high[0, a] < low[1, a]) | (high[1, a] < low[0, a])
            if n_kept < n:
                _compress(active, low, high, moments, n)
                n = n_kept
    return n, mass


@jit
def _compress(active, low, high, moments, n):
    """Move the features whose sides do not overlap to the front of all arrays."""
    kept = 0
    for a in range(n):
        if high[0, a] < low[1, a] or high[1, a] < low[0, a]:
            active[kept] = active[a]
            for side in range(2):
                low[side, kept], high[side, kept] = low[side, a], high[side, a]
            for m in range(3):
                moments[m, kept] = moments[m, a]
            kept += 1
