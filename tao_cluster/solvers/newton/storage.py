"""X as the Newton solver keeps it: by rows, in single precision, near the origin."""

import threading
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...core.matrices import canonical_csr, power_of_two, variances
from .rows import column_reach, compress, copy_rows, extract

# Data with a smaller share of non-zeros are worked on as sparse.
_DENSE_SHARE = 0.5
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class Storage:
    """Rows of X minus an origin, over a unit.

    Parameters
    ----------
    values : float32 array of shape (n, d), or (data, indices, indptr) of a CSR matrix
    origin : float64 array of shape (d,)
    reach : float64 array of shape (d,), largest absolute value of each column of `values`
    unit : float, a power of two that keeps values of any scale in single precision
    row_size : float, values stored for a row, on average
    """

    values: np.ndarray | tuple
    origin: np.ndarray
    reach: np.ndarray
    unit: float
    row_size: float
    _room: threading.local

    @property
    def density(self):
        """Share of the values that are stored."""
        return self.row_size / len(self.origin)

    @classmethod
    def of(cls, X):
        """Storage of an array or a sparse matrix."""
        if not sp.issparse(X) and np.count_nonzero(X) < _DENSE_SHARE * X.size:
            X = sp.csr_matrix(compress(X), shape=X.shape)
        form = _sparse_form if sp.issparse(X) else _dense_form
        return cls(*form(X), threading.local())

    def block(self, rows, features, scale):
        """Dense storage of some features of some rows, each feature times its scale."""
        values = extract(self.values, rows, features, len(self.origin))
        values *= scale.astype(np.float32)
        return replace(
            self,
            values=values,
            origin=self.origin[features],
            reach=self.reach[features] * scale,
            row_size=len(features),
        )

    def gather(self, rows):
        """Values and row numbers in them, for many passes over some rows.

        Short rows that lie apart take several times longer to read than their neighbours would,
        so sparse rows are copied: into arrays that a thread uses again and again, as the pages
        of new ones cost more than the copy. Until its next call, that is.
        """
        if not isinstance(self.values, tuple) or len(rows) == len(self.values[2]) - 1:
            return self.values, rows
        lengths = np.diff(self.values[2])[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        data, indices = self._arrays(indptr[-1])
        copy_rows(self.values, rows, indptr, data, indices)
        return (data, indices, indptr), np.arange(len(rows))

    def _arrays(self, size):
        arrays = getattr(self._room, "arrays", None)
        if arrays is None or len(arrays[0]) < size:
            arrays = tuple(np.empty(size + size // 4, part.dtype) for part in self.values[:2])
            self._room.arrays = arrays
        return arrays


def _units(mean, spread):
    """Mean of each column in whole units of its spread.

    Data that are near the origin stay where they are, so that they keep all their digits and a
    copy of some rows has the values of the whole.
    """
    least = 1e-15 * np.abs(mean) + 1e-300  # the spread of a constant column is rounding error
    unit = np.exp2(np.ceil(np.log2(np.maximum(spread, least))))
    return np.round(mean / unit) * unit


def _dense_form(X):
    """Values in single precision, origin, reach of each column, unit, size of a row."""
    origin = _units(X.mean(axis=0, dtype=np.float64), np.sqrt(variances(X)))
    reach = np.maximum(X.max(axis=0) - origin, origin - X.min(axis=0)).astype(np.float64)
    values, unit = np.empty(X.shape, np.float32), power_of_two(reach.max())
    for start in range(0, len(X), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        values[part] = (X[part] - origin) / unit
    return values, origin, reach / unit, unit, X.shape[1]


def _sparse_form(X):
    """The same of sparse data; a column without zeros can be shifted."""
    X = canonical_csr(X)
    filled = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin, data = np.zeros(X.shape[1]), X.data
    if filled.any():
        part = X[:, filled].toarray()
        origin[filled] = _units(part.mean(axis=0, dtype=np.float64), part.std(axis=0))
        data = data - origin[X.indices]
    reach = column_reach(data, X.indices, X.shape[1])
    unit = power_of_two(reach.max(initial=0.0))
    single = np.empty(len(data), np.float32)
    np.divide(data, unit, out=single, casting="same_kind")
    # Numba asks of every signed index whether it counts from the end.
    index = np.uint16 if X.shape[1] <= 2**16 else np.uint32
    values = (single, X.indices.astype(index), X.indptr.astype(np.int64))
    return values, origin, reach / unit, unit, X.nnz / X.shape[0]
