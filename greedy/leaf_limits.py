"""Cuts that leave enough rows on both sides (`min_samples_leaf`), for kernels without such a limit.

A cut of a feature leaves enough rows on both sides if its threshold lies in a range [low, high) of
values. If the values are clipped to [low, high], exactly these cuts remain, with the same
thresholds. So kernels that know no limit find the best cut within the limit.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.matrices import canonical

from .builder_input import column_arrays


def clipped(points, rows):
    """Return an input in which all cuts of some rows leave enough of them on both sides.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
        The values of other rows are undefined in the result.

    Returns
    -------
    BuilderInput, or None if the rows are too few for two leaves
        The argument itself if there is no limit.
    """
    if points.leaf_size is None:
        return points
    if not points.leaf_size.can_divide(rows):
        return None
    low, high = threshold_ranges(points, rows)
    high = np.maximum(low, high)  # equal: no cut of this feature remains
    clip = _clipped_sparse if sp.issparse(points.X) else _clipped_dense
    X = clip(points.X, rows, low, high)
    centers = np.clip(points.centers, low, high) if points.centers.size else points.centers
    return replace(points, X=X, columns=column_arrays(X), centers=centers)


def threshold_ranges(points, rows):
    """Return the ranges [low, high) of thresholds that leave enough rows on both sides.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    low, high : float64 arrays of shape (d,)
        A range is empty (low >= high) if no cut of the feature leaves enough rows.
    """
    size, d = points.leaf_size, points.n_features
    if size is None:
        return np.full(d, -np.inf), np.full(d, np.inf)
    if not size.can_divide(rows):
        return np.full(d, np.inf), np.full(d, -np.inf)
    low, high, features = np.zeros(d), np.zeros(d), np.arange(d)
    if sp.issparse(points.X):  # if fewer rows store a feature, 0 is on the larger side of all cuts
        stored = points.X[rows]
        units = np.repeat(size.units[rows], np.diff(stored.indptr))
        features = np.flatnonzero(np.bincount(stored.indices, units, d) >= size.least)
    for feature in features:
        low[feature], high[feature] = size.thresholds(points.column(rows, feature), rows)
    return low, high


def _clipped_dense(X, rows, low, high):
    out = np.empty_like(X)
    out[rows] = np.clip(X[rows], low.astype(X.dtype), high.astype(X.dtype))
    return out


def _clipped_sparse(X, rows, low, high):
    part = X[rows].tocoo()
    data = np.clip(part.data, low[part.col], high[part.col]).astype(X.dtype)
    entries = [(data, rows[part.row], part.col)]
    for feature in np.flatnonzero((low > 0) | (high < 0)):  # fewer zeros than rows of a leaf
        is_zero = np.ones(len(rows), bool)
        is_zero[part.row[part.col == feature]] = False
        value = X.dtype.type(low[feature] if low[feature] > 0 else high[feature])
        n = np.count_nonzero(is_zero)
        entries.append((np.full(n, value), rows[is_zero], np.full(n, feature)))
    data, row, col = map(np.concatenate, zip(*entries, strict=True))
    out = canonical(sp.csr_matrix((data, (row, col)), X.shape, dtype=X.dtype))
    out.eliminate_zeros()
    return out
