"""Storage of X for the Newton solver (by rows, in single precision), and sums over its rows.

The passes over rows take X as a float32 or float64 array of shape (n, d), or as the arrays (data,
indices, indptr) of a CSR matrix. The indices are unsigned, because numba checks signed indices for
negative values, which takes time.
"""

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.jit import jit
from .._utils.matrices import as_array, canonical_csr, ranges, variances
from ..tree.routing import kernel_arrays

# X is stored as a sparse matrix if less than this share of its values is non-zero.
_DENSE_SHARE = 0.5
_DENSE_PART = 0.1  # this limit replaces _DENSE_SHARE for copies of a few columns of a sparse X
NEVER_DENSE = np.inf  # with this limit, copies of a sparse X are always sparse
# The sparse rows of a node are copied, unless they are more than this share of all rows.
_MOST_GATHERED = 0.25
_BLOCK_ROWS = 512
_BLOCK_VALUES = 10**6
# Features of a sparse row are found by binary search if the row has more than this number of
# stored values per requested feature, and by a scan of the row otherwise.
_LONG_ROW = 8
_UNIT_BITS = 960  # units of columns are 2 ** -960 to 2 ** 960, so that quotients are finite


@dataclass(frozen=True)
class Storage:
    """Rows of X minus an origin, each column divided by its unit.

    Parameters
    ----------
    values : float array of shape (n, d), or (data, indices, indptr) of a CSR matrix
    origin : float64 array of shape (d,)
    reach : float64 array of shape (d,), largest absolute value of each column of `values`
    unit : float64 array of shape (d,), powers of two
        Division by a power of two does not round. Columns of any scale then fit into single
        precision.
    row_size : float, mean number of stored values per row
    source : array or CSR matrix of shape (n, d), X itself
    """

    values: np.ndarray | tuple
    origin: np.ndarray
    reach: np.ndarray
    unit: np.ndarray
    row_size: float
    source: Any
    _workspace: threading.local

    @property
    def density(self):
        """Share of the values of the matrix that are stored: 1 if it is dense."""
        return self.row_size / len(self.origin)

    @property
    def dtype(self):
        """Data type of the values."""
        return values_of(self.values).dtype

    @property
    def is_single(self):
        """Whether the values are rounded to single precision."""
        return self.dtype == np.float32

    @classmethod
    def from_matrix(cls, X):
        """Return the storage of an array or a sparse matrix, in single precision."""
        source = X = canonical_csr(X) if sp.issparse(X) else X
        n_filled = np.count_nonzero(X.data if sp.issparse(X) else X)
        if n_filled >= _DENSE_SHARE * X.shape[0] * X.shape[1]:
            form = _dense_form  # sparse X with at least half non-zeros takes less memory as dense
        else:
            form = _sparse_form
            X = X if sp.issparse(X) else sp.csr_matrix(compress(X), shape=X.shape)
        return cls(*form(X), source, threading.local())

    def block(self, rows, features):
        """Return the storage of some features of some rows.

        It is sparse if this storage is sparse and less than a tenth of the values are non-zero.
        """
        values = part_of(self.values, rows, features, len(self.origin), _DENSE_PART)
        size = values_of(values).size / max(len(rows), 1)
        return self._part(features, values, self.reach[features], size)

    def precise(self, rows, features=None):
        """Return the storage of some rows, and of some features if given, in double precision."""
        part = self._of_source(rows, features)
        features = slice(None) if features is None else features
        origin, unit = self.origin[features], self.unit[features]
        if not is_sparse(self.values):
            part = as_array(part)
        if not sp.issparse(part):
            values = np.subtract(part, origin, dtype=np.float64)
            values /= unit
            reach = np.maximum(values.max(axis=0), -values.min(axis=0))
            return self._part(features, values, reach, values.shape[1])
        part = part.tocsr()
        data = (part.data.astype(np.float64) - origin[part.indices]) / unit[part.indices]
        values = (data, part.indices.astype(np.uint32), part.indptr.astype(np.int64))
        reach = column_reach(data, part.indices, part.shape[1])
        return self._part(features, values, reach, len(data) / max(len(rows), 1))

    def _of_source(self, rows, features):
        if features is None:
            return self.source[rows]
        if not sp.issparse(self.source):
            return self.source[rows][:, features]
        # A copy of all columns of the rows could be as large as X.
        terms = kernel_arrays(self.source), rows, features, len(self.origin)
        return sp.csr_matrix(part_of(*terms, NEVER_DENSE), shape=(len(rows), len(features)))

    def _part(self, features, values, reach, row_size):
        return replace(
            self,
            values=values,
            origin=self.origin[features],
            reach=reach,
            unit=self.unit[features],
            row_size=row_size,
        )

    def gather(self, rows):
        """Return the rows of a node in a form that many passes can read fast.

        The result is (values, numbers of the given rows in these values). Sparse rows are copied,
        because rows far apart in memory take several times longer to read than neighbours. Each
        thread uses the same memory for all its copies, so that the result is valid until the next
        call in the thread.
        """
        if not is_sparse(self.values) or len(rows) > _MOST_GATHERED * (len(self.values[2]) - 1):
            return self.values, rows
        lengths = np.diff(self.values[2])[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        data, indices = self._arrays(indptr[-1])
        copy_rows(self.values, rows, indptr, data, indices)
        return (data, indices, indptr), np.arange(len(rows))

    def _arrays(self, size):
        arrays = getattr(self._workspace, "arrays", None)
        if arrays is None or len(arrays[0]) < size:
            arrays = tuple(np.empty(size + size // 4, part.dtype) for part in self.values[:2])
            self._workspace.arrays = arrays
        return arrays


def _whole_spreads(mean, spread):
    """Return the mean of each column, rounded to a multiple of about its standard deviation.

    The unit of rounding is the next power of two. A mean that is small relative to the standard
    deviation becomes 0, so that data near the origin are not shifted and keep all their digits.
    """
    # The computed standard deviation of a constant column can be 0 or a tiny rounding error. It is
    # replaced by this larger number.
    least = 1e-15 * np.abs(mean) + 1e-300
    unit = np.exp2(np.ceil(np.log2(np.maximum(spread, least))))
    return np.round(mean / unit) * unit


def _powers_of_two(reach):
    """Return, per column, a power of two near its largest absolute value `reach`; 1 for 0."""
    bits = np.log2(reach, out=np.zeros_like(reach), where=reach > 0)
    return np.exp2(np.clip(np.round(bits), -_UNIT_BITS, _UNIT_BITS))


def _dense_form(X):
    """Return the fields of a :class:`Storage` for a matrix that is stored as a dense array.

    The fields are `values` in single precision, `origin`, `reach`, `unit` and `row_size`.
    """
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    origin = _whole_spreads(mean, np.sqrt(variances(X)))
    low, high = ranges(X)
    reach = np.maximum(high - origin, origin - low)
    values, unit = np.empty(X.shape, np.float32), _powers_of_two(reach)
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        values[part] = (as_array(X[part]) - origin) / unit
    return values, origin, reach / unit, unit, X.shape[1]


def _sparse_form(X):
    """Return the results of :func:`_dense_form` for a CSR matrix, with values as CSR arrays.

    Only columns without zeros are shifted.
    """
    filled = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin, data = np.zeros(X.shape[1]), X.data
    if filled.any():
        part = X[:, filled].toarray()
        origin[filled] = _whole_spreads(part.mean(axis=0, dtype=np.float64), part.std(axis=0))
        data = data - origin[X.indices]
    reach = column_reach(data, X.indices, X.shape[1])
    unit = _powers_of_two(reach)
    single = np.empty(len(data), np.float32)
    # The division is done in blocks, because an array of the units of all values would be as large
    # as the data.
    for start in range(0, len(data), _BLOCK_VALUES):
        part = slice(start, start + _BLOCK_VALUES)
        np.divide(data[part], unit[X.indices[part]], out=single[part], casting="same_kind")
    # Unsigned indices are faster: numba checks signed indices for negative values.
    index = np.uint16 if X.shape[1] <= 2**16 else np.uint32
    values = (single, X.indices.astype(index), X.indptr.astype(np.int64))
    return values, origin, reach / unit, unit, X.nnz / X.shape[0]


# ---------------------------------------------------------------- passes over rows


def is_sparse(X):
    """Return whether X is given by the arrays of a CSR matrix (a tuple)."""
    return isinstance(X, tuple)


def values_of(X):
    """Return the stored values of X, dense or CSR, as an array."""
    return X[0] if is_sparse(X) else X


@jit
def _products_dense(X, rows, used, some, out):
    k = used.shape[0]
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for f in range(0, k - 3, 4):
            a += some[f] * row[used[f]]
            b += some[f + 1] * row[used[f + 1]]
            c += some[f + 2] * row[used[f + 2]]
            d += some[f + 3] * row[used[f + 3]]
        for f in range(k - k % 4, k):
            a += some[f] * row[used[f]]
        out[r] = (a + b) + (c + d)


@jit
def _products_csr(data, indices, indptr, rows, w, out):
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        pairs = (stop - start) // 2
        a, b = 0.0, 0.0
        for s in range(pairs):
            a += values[2 * s] * w[features[2 * s]]
            b += values[2 * s + 1] * w[features[2 * s + 1]]
        if stop - start > 2 * pairs:
            a += values[2 * pairs] * w[features[2 * pairs]]
        out[r] = a + b


def products(X, rows, w):
    """Return w.x for some rows.

    Parameters
    ----------
    X : float32 or float64 array of shape (n, d), or (data, indices, indptr) of a CSR matrix
    rows : int64 array of shape (m,)
    w : float64 array of shape (d,)

    Returns
    -------
    float64 array of shape (m,)
    """
    out = np.empty(len(rows))
    if is_sparse(X):
        _products_csr(*X, rows, w, out)
    else:
        used = np.flatnonzero(w)
        _products_dense(X, rows, used.astype(np.uint32), w[used], out)
    return out


@jit
def _add_rows_dense(X, rows, factor, out):
    whole = rows.shape[0] - rows.shape[0] % 4
    for r in range(0, whole, 4):
        a, b, c, d = factor[r], factor[r + 1], factor[r + 2], factor[r + 3]
        x, y, z, u = X[rows[r]], X[rows[r + 1]], X[rows[r + 2]], X[rows[r + 3]]
        for f in range(out.shape[0]):
            out[f] += (a * x[f] + b * y[f]) + (c * z[f] + d * u[f])
    for r in range(whole, rows.shape[0]):
        x = X[rows[r]]
        for f in range(out.shape[0]):
            out[f] += factor[r] * x[f]


@jit
def _add_rows_csr(data, indices, indptr, rows, factor, out):
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[start:stop], indices[start:stop]
        times = factor[r]
        for s in range(stop - start):
            out[features[s]] += times * values[s]


def add_rows(X, rows, factor, n_features):
    """Return the sum of factor[r] * X[rows[r]] over r: float64 array of shape (n_features,)."""
    out = np.zeros(n_features)
    if is_sparse(X):
        _add_rows_csr(*X, rows, factor, out)
    else:
        _add_rows_dense(X, rows, factor, out)
    return out


@jit
def _deviations_dense(X, rows, weight, center, out):
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        for f in range(out.shape[0]):
            out[f] += weight[r] * abs(row[f] - center[f])


@jit
def _deviations_csr(data, indices, indptr, rows, weight, center, out):
    for r in range(rows.shape[0]):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            f = indices[s]
            out[f] += weight[r] * (abs(data[s] - center[f]) - abs(center[f]))


def deviations(X, rows, weight, n_features):
    """Return, for each feature, the weighted sum of absolute deviations of rows from their mean."""
    total = weight.sum()
    center = add_rows(X, rows, weight / total, n_features)
    if is_sparse(X):
        out = total * np.abs(center)  # the sum if all values were zero
        _deviations_csr(*X, rows, weight, center, out)
    else:
        out = np.zeros(n_features)
        _deviations_dense(X, rows, weight, center, out)
    return out


def column_reach(data, indices, n_columns):
    """Return the largest absolute value of each column of a CSR matrix, float64."""
    reach = np.zeros(n_columns)
    _reach(data, indices, reach)
    return reach


@jit
def _reach(data, indices, reach):
    for s in range(data.shape[0]):
        reach[indices[s]] = max(reach[indices[s]], abs(data[s]))


@jit
def compress(X):
    """Return the CSR arrays (data, indices, indptr) of a dense X without intermediate copies."""
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    for r in range(X.shape[0]):
        n_filled = 0
        for j in range(X.shape[1]):
            n_filled += X[r, j] != 0
        indptr[r + 1] = indptr[r] + n_filled
    data, indices = np.empty(indptr[-1], X.dtype), np.empty(indptr[-1], np.int32)
    for r in range(X.shape[0]):
        s = indptr[r]
        for j in range(X.shape[1]):
            if X[r, j] != 0:
                data[s], indices[s] = X[r, j], j
                s += 1
    return data, indices, indptr


@jit
def _extract_dense(X, rows, features, out):
    k, at = features.shape[0], 0
    for r in range(rows.shape[0]):
        row = X[rows[r]]
        to = out[at : at + k]
        for f in range(k):
            to[f] = row[features[f]]
        at += k


@jit
def _extract_csr(data, indices, indptr, rows, features, inverse, out):
    k, at = features.shape[0], 0
    for r in range(rows.shape[0]):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        # Values of features that are not requested are written to the place after the row. This is
        # faster than a branch, and the next row sets this place to zero.
        to = out[at : at + k + 1]
        to[:] = 0
        at += k
        if stop - start > _LONG_ROW * k:
            for f in range(k):
                start += np.searchsorted(indices[start:stop], features[f])
                if start < stop and indices[start] == features[f]:
                    to[f] = data[start]
        else:
            values, columns = data[start:stop], indices[start:stop]
            for s in range(stop - start):
                to[inverse[columns[s]]] = values[s]


def extract(X, rows, features, inverse, workspace=None):
    """Return the values of some features of some rows.

    Parameters
    ----------
    X, rows : see :func:`products`
    features : integer array of shape (k,), increasing
    inverse : result of :func:`inverse_index`
    workspace : array of at least m * k + 1 values, optional
        Memory for the result.

    Returns
    -------
    array of shape (m, k) in the precision of X
    """
    size = len(rows) * len(features)
    if workspace is None:
        workspace = np.empty(size + 1, values_of(X).dtype)
    wanted = features.astype(np.uint32)
    if is_sparse(X):
        _extract_csr(*X, rows, wanted, inverse, workspace)
    else:
        _extract_dense(X, rows, wanted, workspace)
    return workspace[:size].reshape(len(rows), len(features))


def inverse_index(X, features, n_columns):
    """Return the position of each column in `features`; None if X is dense.

    Columns that are not in `features` get the number len(features).
    """
    if not is_sparse(X):
        return None
    inverse = np.full(n_columns, len(features), np.uint32)
    inverse[features] = np.arange(len(features))
    return inverse


@jit
def _select(X, rows, inverse, n_wanted, most):
    """Return some features of some rows of a CSR matrix, as the arrays of a CSR matrix.

    If the result has `most` or more stored values, only its row pointers are computed.
    """
    data, indices, indptr = X
    ends = np.zeros(rows.shape[0] + 1, np.int64)
    for r in range(rows.shape[0]):
        n = ends[r]
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            n += inverse[indices[s]] < n_wanted
        ends[r + 1] = n
    n = ends[-1] if ends[-1] < most else 0
    values, features = np.empty(n, data.dtype), np.empty(n, indices.dtype)
    at = 0
    for r in range(rows.shape[0] if n else 0):
        for s in range(indptr[rows[r]], indptr[rows[r] + 1]):
            f = inverse[indices[s]]
            if f < n_wanted:
                values[at], features[at] = data[s], f
                at += 1
    return values, features, ends


def part_of(X, rows, features, n_columns, dense_share):
    """Return some features of some rows, as CSR arrays if X and the result are sparse.

    Parameters
    ----------
    X, rows : see :func:`products`
    features : integer array of shape (k,), increasing
    n_columns : int, d
    dense_share : float
        The result is an array if it has at least this share of non-zeros.

    Returns
    -------
    array of shape (m, k), or (data, indices, indptr), in the precision of X
    """
    inverse, most = inverse_index(X, features, n_columns), dense_share * len(rows) * len(features)
    if not is_sparse(X):
        return extract(X, rows, features, inverse)
    part = _select(X, rows, inverse, len(features), most)
    return part if part[2][-1] < most else extract(X, rows, features, inverse)


@jit
def copy_rows(X, rows, indptr, data, indices):
    """Copy rows of a CSR matrix X into the arrays of another CSR matrix.

    The values and column numbers of rows[r] are written to the elements indptr[r] to
    indptr[r + 1] - 1 of `data` and `indices`.
    """
    for r in range(rows.shape[0]):
        start, stop = X[2][rows[r]], X[2][rows[r] + 1]
        values, features = X[0][start:stop], X[1][start:stop]
        to_values = data[indptr[r] : indptr[r + 1]]
        to_features = indices[indptr[r] : indptr[r + 1]]
        for s in range(stop - start):  # assignment of slices takes twice as long
            to_values[s] = values[s]
        for s in range(stop - start):
            to_features[s] = features[s]
