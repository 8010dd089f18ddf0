"""The rows of a node in the order of every feature: sorted once, then parted with the node.

Cached kernels of another file do not see an edit here; touch `cuts/kauri.py` and
`cuts/conductance.py` after one.
"""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.jit import jit

# A gain that exceeds another by less than this share of the scale of gains is a tie: sums of the
# same rows in another order differ in their last bits.
ROUNDING = 1e-12


class Order(NamedTuple):
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
    def of(cls, points, rows):
        """Sort the values of some rows.

        Parameters
        ----------
        points : Points
        rows : int64 array of shape (m,), increasing

        Returns
        -------
        Order
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
        return Order(self.rows[kept], self.values[kept], start, middle, self.rest, len(rows))


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
def left_threshold(order, feature, entry):
    """Threshold of the cut with an ascending entry and those before it on its left; NaN if none.

    Parameters
    ----------
    order : Order
    feature, entry : int, the entry below ``order.middle[feature]``
    """
    value, end = order.values[entry], order.start[feature + 1]
    if entry + 1 < order.middle[feature]:
        return np.float64(value) if order.values[entry + 1] > value else np.nan
    has_others = order.n_rows > order.middle[feature] - order.start[feature]
    return np.float64(value) if has_others or end > order.middle[feature] else np.nan


@jit
def right_threshold(order, feature, entry):
    """The same with a descending entry and those before it on its right."""
    value, end = order.values[entry], order.start[feature + 1]
    if entry + 1 < end:
        after = order.values[entry + 1]
        return np.float64(after) if after < value else np.nan
    return order.rest[feature] if order.n_rows > end - order.start[feature] else np.nan


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
