"""Numba kernels that route rows through a tree: which leaf does a row reach.

Every decision in this project is made here, in fit, predict and measures alike. The sum
w.x runs over a node's stored features in increasing order and in float64, whatever the
layout or precision of X, so the side a row takes never depends on the batch it came in.
A BLAS product would: its last bits change with the shape of the call.
"""

import itertools

import numpy as np
import scipy.sparse as sp
from numba import types
from numba.extending import overload

from .jit import jit
from .matrices import canonical_csr
from .threads import map_in_threads, n_threads

# A sparse row looks up its entries in a split of so many times their number.
_MANY = 16


@jit
def _merge_dot(data, columns, indices, weights):
    """Dot product of a sparse row with a split: one pass over both sorted lists.

    Zeros that are skipped would add nothing, so the sum has the bits of the dense one.
    """
    total, position = 0.0, 0
    for s in range(indices.shape[0]):
        while position < columns.shape[0] and columns[position] < indices[s]:
            position += 1
        if position == columns.shape[0]:
            break
        if columns[position] == indices[s]:
            total += weights[s] * np.float64(data[position])
    return total


@jit
def _lookup_dot(data, columns, indices, weights):
    """The same sum, by a binary search for each entry of the row."""
    total, low = 0.0, 0
    for position in range(columns.shape[0]):
        low += np.searchsorted(indices[low:], columns[position])
        if low == indices.shape[0]:
            break
        if indices[low] == columns[position]:
            total += weights[low] * np.float64(data[position])
    return total


def _row_dot(X, row, indices, weights, start, stop):
    """Dot product of row `row` of X with the split stored at start:stop (compiled only)."""
    raise NotImplementedError


@overload(_row_dot)
def _overload_row_dot(X, row, indices, weights, start, stop):
    if isinstance(X, types.Array):

        def dense(X, row, indices, weights, start, stop):
            total = 0.0
            for s in range(start, stop):
                total += weights[s] * np.float64(X[row, indices[s]])
            return total

        return dense

    def csr(X, row, indices, weights, start, stop):
        data, columns, indptr = X
        begin, end = indptr[row], indptr[row + 1]
        entries = (data[begin:end], columns[begin:end])
        if stop - start > _MANY * (end - begin):
            return _lookup_dot(*entries, indices[start:stop], weights[start:stop])
        return _merge_dot(*entries, indices[start:stop], weights[start:stop])

    return csr


@jit
def _descend(X, rows, node, left, right, indptr, indices, weights, threshold, out):
    for r in range(rows.shape[0]):
        row = rows[r]
        i = node
        while left[i] >= 0:
            value = _row_dot(X, row, indices, weights, indptr[i], indptr[i + 1])
            i = left[i] if value <= threshold[i] else right[i]
        out[r] = i


@jit
def _descend_knowing(X, rows, node, left, right, indptr, indices, weights, threshold, sides, out):
    n_kept = 4 * sides.shape[1]
    for r in range(rows.shape[0]):
        row = rows[r]
        i = node
        while left[i] >= 0:
            byte, shift, side = i >> 2, 2 * (i & 3), 0
            if i < n_kept:
                side = (sides[row, byte] >> shift) & 3
            if side == 0:
                value = _row_dot(X, row, indices, weights, indptr[i], indptr[i + 1])
                side = 1 if value <= threshold[i] else 2
                if i < n_kept:
                    sides[row, byte] |= side << shift
            i = left[i] if side == 1 else right[i]
        out[r] = i


@jit
def _project(X, rows, indices, weights, out):
    for r in range(rows.shape[0]):
        out[r] = _row_dot(X, rows[r], indices, weights, 0, indices.shape[0])


def kernel_view(X):
    """X as the kernels read it, without a copy of well-formed input.

    Parameters
    ----------
    X : ndarray of shape (n, d), or CSR matrix or array of shape (n, d)

    Returns
    -------
    ndarray, or the tuple (data, indices, indptr) of a CSR matrix with sorted, unique indices
    """
    if not sp.issparse(X):
        return np.asarray(X)
    X = canonical_csr(X)
    return X.data, X.indices, X.indptr


def n_rows(view):
    """Number of rows of a result of :func:`kernel_view`."""
    return len(view[2]) - 1 if isinstance(view, tuple) else len(view)


def _in_threads(kernel, rows, out, n_jobs):
    """Run kernel(rows, out) on contiguous parts of `rows`; parts never share an output."""
    n_parts = n_threads(n_jobs, len(rows))
    bounds = np.linspace(0, len(rows), n_parts + 1).astype(int)
    parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    map_in_threads(lambda part: kernel(rows[part], out[part]), parts, n_parts)
    return out


def find_leaves(view, rows, node, arrays, n_jobs=1, sides=None):
    """Leaf that each row reaches from a given node.

    Parameters
    ----------
    view : result of :func:`kernel_view`
    rows : int64 ndarray of shape (m,), rows of X to route
    node : int, where they start
    arrays : tuple (children_left, children_right, split_indptr, split_indices,
        split_weights, threshold) of a tree
    n_jobs : int, threads; the result is the same for any number
    sides : uint8 ndarray of shape (n, m), optional
        Sides that rows take at the first 4 m nodes: two bits of a row's bytes a node, from the
        lowest on; 1 left, 2 right, 0 not yet known. Known ones are not worked out again, others
        are entered. Threads do not disturb each other, as a byte belongs to one row.

    Returns
    -------
    int32 ndarray of shape (m,), node numbers of leaves
    """
    node = int(node)  # one compiled signature, whatever integer type comes in

    def kernel(rows, out):
        if sides is None:
            _descend(view, rows, node, *arrays, out)
        else:
            _descend_knowing(view, rows, node, *arrays, sides, out)

    return _in_threads(kernel, rows, np.empty(len(rows), dtype=np.int32), n_jobs)


def project(view, rows, indices, weights, n_jobs=1):
    """The value w.x of one split for some rows, by the sum that routing uses.

    Parameters
    ----------
    view : result of :func:`kernel_view`
    rows : int64 ndarray of shape (m,)
    indices, weights : int32 and float64 ndarrays of shape (n_features of the split,),
        indices increasing

    Returns
    -------
    float64 ndarray of shape (m,)
    """

    def kernel(rows, out):
        _project(view, rows, indices, weights, out)

    return _in_threads(kernel, rows, np.empty(len(rows)), n_jobs)
