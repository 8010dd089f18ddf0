"""X as the Newton solver keeps it: by rows, in single precision, near the origin."""

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.matrices import as_array, canonical_csr, ranges, variances
from ...tree.routing import kernel_view
from ..sparse_parts import FewColumns
from .rows import column_reach, compress, copy_rows, is_sparse, part_of, values_of

# Data with a smaller share of non-zeros are worked on as sparse.
_DENSE_SHARE = 0.5
_DENSE_PART = 0.1  # the same of some columns, whose rows are short
_NEVER_DENSE = np.inf  # nor these
# From this share of all rows on, sparse ones lie close enough to be read where they are.
_MOST_GATHERED = 0.25
_BLOCK_ROWS = 512
_BLOCK_VALUES = 10**6
_UNIT_BITS = 960  # units of at most 2 ** this, so that prices over them are finite


@dataclass(frozen=True)
class Storage:
    """Rows of X minus an origin, each column over its unit.

    Parameters
    ----------
    values : float array of shape (n, d), or (data, indices, indptr) of a CSR matrix
    origin : float64 array of shape (d,)
    reach : float64 array of shape (d,), largest absolute value of each column of `values`
    unit : float64 array of shape (d,), powers of two, by which one divides without rounding:
        columns of any scale fit into single precision, and none is small beside another
    row_size : float, values stored for a row, on average
    source : array or CSR matrix of shape (n, d), X itself
    kept : bool array of shape (d,), columns whose values are there; None for all
    """

    values: np.ndarray | tuple
    origin: np.ndarray
    reach: np.ndarray
    unit: np.ndarray
    row_size: float
    source: Any
    _room: threading.local
    kept: np.ndarray | None = None

    @property
    def density(self):
        """Share of the values that are stored."""
        return self.row_size / len(self.origin)

    @property
    def dtype(self):
        """Of the values."""
        return values_of(self.values).dtype

    @property
    def is_single(self):
        """Whether the values are rounded to single precision."""
        return self.dtype == np.float32

    @classmethod
    def of(cls, X):
        """Storage of an array or a sparse matrix, in single precision."""
        source = X = canonical_csr(X) if sp.issparse(X) else X
        n_filled = np.count_nonzero(X.data if sp.issparse(X) else X)
        if n_filled >= _DENSE_SHARE * X.shape[0] * X.shape[1]:
            form = _dense_form  # of sparse rows, too: they take no more so
        else:
            form = _sparse_form
            X = X if sp.issparse(X) else sp.csr_matrix(compress(X), shape=X.shape)
        return cls(*form(X), source, threading.local())

    def narrowed(self, features):
        """The same with the values of some features alone, where these are few and sparse."""
        if not is_sparse(self.values):
            return self
        is_wanted = np.zeros(len(self.origin), dtype=bool)
        is_wanted[features] = True
        values = self._columns.copied(is_wanted)
        if values is None:
            return self
        row_size = len(values[0]) / max(len(values[2]) - 1, 1)
        return replace(self, values=values, row_size=row_size, kept=is_wanted)

    def check_kept(self, features):
        """ValueError if values of some features (int array, None for all) were left out."""
        if self.kept is None or (features is not None and self.kept[features].all()):
            return
        raise ValueError("The solver was narrowed to some features, and asked for others.")

    @cached_property
    def _columns(self):
        return FewColumns(self.values, len(self.origin))

    def block(self, rows, features):
        """Storage of some features of some rows, as sparse where these are, too."""
        values = part_of(self.values, rows, features, len(self.origin), _DENSE_PART)
        size = values_of(values).size / max(len(rows), 1)
        return self._part(features, values, self.reach[features], size)

    def precise(self, rows, features=None):
        """Storage of some rows, and of some features if given, in double precision."""
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
        # Not by way of all columns of the rows, which may be as large as X.
        terms = kernel_view(self.source), rows, features, len(self.origin)
        return sp.csr_matrix(part_of(*terms, _NEVER_DENSE), shape=(len(rows), len(features)))

    def _part(self, features, values, reach, row_size):
        return replace(
            self,
            values=values,
            origin=self.origin[features],
            reach=reach,
            unit=self.unit[features],
            row_size=row_size,
            kept=None,
        )

    def gather(self, rows):
        """Values and row numbers in them, for many passes over some rows.

        Short rows that lie apart take several times longer to read than their neighbours would,
        so sparse rows are copied: into arrays that a thread uses again and again, as the pages
        of new ones cost more than the copy. Until its next call, that is.
        """
        if not is_sparse(self.values) or len(rows) > _MOST_GATHERED * (len(self.values[2]) - 1):
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


def _whole_spreads(mean, spread):
    """Mean of each column in whole units of its spread.

    Data that are near the origin stay where they are, so that they keep all their digits and a
    copy of some rows has the values of the whole.
    """
    least = 1e-15 * np.abs(mean) + 1e-300  # the spread of a constant column is rounding error
    unit = np.exp2(np.ceil(np.log2(np.maximum(spread, least))))
    return np.round(mean / unit) * unit


def _powers_of_two(reach):
    """Power of two near the reach of each column; 1 for a column without."""
    bits = np.log2(reach, out=np.zeros_like(reach), where=reach > 0)
    return np.exp2(np.clip(np.round(bits), -_UNIT_BITS, _UNIT_BITS))


def _dense_form(X):
    """Values in single precision, origin, reach of each column, its unit, size of a row."""
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
    """The same of sparse data; a column without zeros can be shifted."""
    filled = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin, data = np.zeros(X.shape[1]), X.data
    if filled.any():
        part = X[:, filled].toarray()
        origin[filled] = _whole_spreads(part.mean(axis=0, dtype=np.float64), part.std(axis=0))
        data = data - origin[X.indices]
    reach = column_reach(data, X.indices, X.shape[1])
    unit = _powers_of_two(reach)
    single = np.empty(len(data), np.float32)
    for start in range(0, len(data), _BLOCK_VALUES):  # the units of all would be as large as data
        part = slice(start, start + _BLOCK_VALUES)
        np.divide(data[part], unit[X.indices[part]], out=single[part], casting="same_kind")
    # Numba asks of every signed index whether it counts from the end.
    index = np.uint16 if X.shape[1] <= 2**16 else np.uint32
    values = (single, X.indices.astype(index), X.indptr.astype(np.int64))
    return values, origin, reach / unit, unit, X.nnz / X.shape[0]
