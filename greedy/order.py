"""The rows of a node in the order of every feature: sorted once, then parted with the node."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

# A gain that exceeds another by less than this share of the scale of gains is a tie: sums of the
# same rows in another order differ in their last bits.
ROUNDING = 1e-12


class Order(NamedTuple):
    """Entries of a node's rows, feature by feature, as kernels sweep over them.

    A feature's entries up to `middle` ascend from its least value, the others descend from its
    largest: a kernel moves rows to the left of a cut in the one part and to its right in the other.
    Of dense X all entries ascend. Of sparse X the negative ones ascend and the positive ones
    descend; rows between them, with the value 0, are never visited.
    """

    rows: np.ndarray  # (s,) int32
    values: np.ndarray  # (s,) of the data type of X
    start: np.ndarray  # (d + 1,) int64, where each feature's entries begin
    middle: np.ndarray  # (d,) int64
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
            12 bytes an entry (8 of float32 X): every value of dense X, the non-zeros of sparse X.
        """
        if sp.issparse(points.X):
            return _of_stored(points, rows)
        n, d = len(rows), points.n_features
        order, values = np.empty((d, n), np.int32), np.empty((d, n), points.X.dtype)
        for feature in range(d):
            column = points.X[rows, feature]
            at = np.argsort(column, kind="stable")
            order[feature], values[feature] = rows[at], column[at]
        start = n * np.arange(d + 1)
        return cls(order.ravel(), values.ravel(), start, start[1:], n)

    def part(self, is_in):
        """The entries of the rows that a mask over all rows of X has."""
        kept = is_in[self.rows]
        before = np.concatenate([[0], np.cumsum(kept)])
        n_rows = int(np.count_nonzero(is_in))
        start, middle = before[self.start], before[self.middle]
        return Order(self.rows[kept], self.values[kept], start, middle, n_rows)


def _of_stored(points, rows):
    data, indices, indptr = points.columns
    feature = np.repeat(np.arange(points.n_features), np.diff(indptr))
    is_in = np.zeros(points.X.shape[0], bool)
    is_in[rows] = True
    kept = np.flatnonzero(is_in[indices] & (data != 0))
    kept = kept[np.lexsort((-np.abs(data[kept]), data[kept] > 0, feature[kept]))]
    values, n_features = data[kept], points.n_features
    size = np.bincount(feature[kept], minlength=n_features)
    start = np.concatenate([[0], np.cumsum(size)])
    middle = start[:-1] + np.bincount(feature[kept][values < 0], minlength=n_features)
    return Order(indices[kept].astype(np.int32), values, start, middle, len(rows))


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
