"""Routing: which leaf each row reaches, and which rows reach each node.

All tests of all trees are evaluated here, in `fit`, `predict` and measures alike. The sum w.x runs
over the features of a test in increasing order and in float64, for every layout and precision of X.
So the side of a row never depends on the other rows of a call. A BLAS product would not guarantee
that, since its last bits change with the shape of the call.

A row is one row of X, dense or sparse. `rows` are int64 arrays of row numbers.
"""

import itertools

import numpy as np
import scipy.sparse as sp

from .._utils.jit import by_layout, jit
from .._utils.matrices import canonical_csr
from .._utils.threads import map_in_threads, n_threads
from .shape import frozen

# Number of rows that descend a tree together; their values stay in the processor's cache.
_PART_ROWS = 512

# If a split has fewer features than this fraction of a sparse row's entries, each feature is found
# by binary search in the row; otherwise the entries of the row are looked up in a table.
_FEW = 1 / 32
# The table of a split's weights is built if there are at least this many rows per column.
_TABLE_ROWS = 1 / 64


@jit
def _search_dot(few, few_columns, many, many_columns):
    """Return the dot product of two sparse vectors, by binary search in the longer one.

    Terms that are left out are zero, so the result has the same bits as the sum over all features.
    """
    total, low, size = 0.0, 0, many_columns.shape[0]
    for position in range(few.shape[0]):
        wanted, high = few_columns[position], size
        while low < high:
            middle = (low + high) >> 1
            if many_columns[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low == size:
            break
        if many_columns[low] == wanted:
            total += np.float64(few[position]) * np.float64(many[low])
    return total


@jit
def _table_dot(data, columns, table, products):
    """Return the dot product of a sparse row and the weights of a split.

    `table` holds the weight of each column. The non-zero products are collected first and
    added afterwards. Both loops are then free of branches that the processor would have to predict.
    """
    last, n_products = np.uint64(table.shape[0] - 1), 0
    for position in range(columns.shape[0]):
        w = table[min(np.uint64(columns[position]), last)]
        products[n_products] = w * np.float64(data[position])
        n_products += w != 0
    total = 0.0
    for s in range(n_products):
        total += products[s]
    return total


def _dot_rows_dense(X, rows, indices, weights, workspace, out):
    # The dot products of four rows are independent, so the processor computes them in parallel.
    n_rows, n_terms = rows.shape[0], indices.shape[0]
    n_fours = n_rows - n_rows % 4
    for r in range(0, n_fours, 4):
        a, b, c, d = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        sum_a, sum_b, sum_c, sum_d = 0.0, 0.0, 0.0, 0.0
        for s in range(n_terms):
            j, w = indices[s], weights[s]
            sum_a += w * np.float64(X[a, j])
            sum_b += w * np.float64(X[b, j])
            sum_c += w * np.float64(X[c, j])
            sum_d += w * np.float64(X[d, j])
        out[r], out[r + 1], out[r + 2], out[r + 3] = sum_a, sum_b, sum_c, sum_d
    for r in range(n_fours, n_rows):
        total = 0.0
        for s in range(n_terms):
            total += weights[s] * np.float64(X[rows[r], indices[s]])
        out[r] = total


def _dot_rows_csr(X, rows, indices, weights, workspace, out):
    data, columns, indptr = X
    table, products = workspace
    n_terms = indices.shape[0]
    if table.shape[0]:
        for s in range(n_terms):
            table[indices[s]] = weights[s]
    for r in range(rows.shape[0]):
        begin, end = indptr[rows[r]], indptr[rows[r] + 1]
        values, features = data[begin:end], columns[begin:end]
        if table.shape[0] and n_terms >= _FEW * (end - begin):
            out[r] = _table_dot(values, features, table, products)
        elif n_terms <= end - begin:
            out[r] = _search_dot(weights, indices, values, features)
        else:
            out[r] = _search_dot(values, features, weights, indices)
    if table.shape[0]:
        for s in range(n_terms):
            table[indices[s]] = 0.0


# Write the dot products of some rows with a split to `out`.
_dot_rows = by_layout(_dot_rows_dense, _dot_rows_csr)


@jit
def _project(X, rows, indices, weights, workspace, out):
    _dot_rows(X, rows, indices, weights, workspace, out)


@jit
def _part(at, begin, end, values, threshold, other):
    """Move the rows that go left to the front of at[begin:end]; return where the others begin."""
    middle, n_right = begin, 0
    for p in range(begin, end):
        row, goes_left = at[p], values[p - begin] <= threshold
        at[middle] = row
        other[n_right] = row
        middle += goes_left
        n_right += not goes_left
    for p in range(n_right):
        at[middle + p] = other[p]
    return middle


@jit
def _descend(X, rows, node, left, right, indptr, indices, weights, threshold, workspace, out):
    # Blocks of rows descend together, node by node, with an explicit stack of nodes.
    size, n_rows = min(rows.shape[0], _PART_ROWS), rows.shape[0]
    at, other = np.empty(size, np.int32), np.empty(size, np.int32)
    numbers, values = np.empty(size, np.int64), np.empty(size)
    # A stack of (node, begin, end): the rows that wait at the node are at[begin:end].
    waiting = np.empty((left.shape[0], 3), np.int64)
    for first in range(0, n_rows, _PART_ROWS):
        part = min(size, n_rows - first)
        for p in range(part):
            at[p] = first + p
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = node, 0, part
        n_waiting = 1
        while n_waiting:
            n_waiting -= 1
            i, begin, end = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
            if left[i] < 0:
                for p in range(begin, end):
                    out[at[p]] = i
                continue
            for p in range(begin, end):
                numbers[p - begin] = rows[at[p]]
            start, stop = indptr[i], indptr[i + 1]
            terms = indices[start:stop], weights[start:stop]
            _project(X, numbers[: end - begin], *terms, workspace, values)
            middle = _part(at, begin, end, values, threshold[i], other)
            if middle < end:
                entry = waiting[n_waiting]
                entry[0], entry[1], entry[2] = right[i], middle, end
                n_waiting += 1
            if begin < middle:
                entry = waiting[n_waiting]
                entry[0], entry[1], entry[2] = left[i], begin, middle
                n_waiting += 1


def kernel_arrays(X):
    """Return X as an array, or the three arrays of its CSR form, for compiled kernels.

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


def n_rows(X):
    """Return the number of rows of a result of :func:`kernel_arrays`."""
    return len(X[2]) - 1 if isinstance(X, tuple) else len(X)


def row_size(X):
    """Return the mean number of stored values per row of a result of :func:`kernel_arrays`."""
    return len(X[0]) / max(n_rows(X), 1) if isinstance(X, tuple) else X.shape[1]


def _workspace(X, n_rows, indices):
    """Allocate the table of a split's weights by column, and an array for the products of a row.

    The last element of the table stays 0; it stands for all columns after the last tested one.
    Both arrays are empty for a dense X, and for so few sparse rows that filling the table would
    take longer than it saves.
    """
    width = int(indices.max()) + 2 if isinstance(X, tuple) and len(indices) else 0
    if width == 0 or n_rows < _TABLE_ROWS * width:
        return np.empty(0), np.empty(0)
    return np.zeros(width), np.empty(min(width, len(indices) + 1))


def _in_threads(kernel, rows, out, n_jobs):
    """Run kernel(rows, out) on one contiguous part of `rows` per thread; return `out`."""
    n_parts = n_threads(n_jobs, len(rows))
    if n_parts == 1:
        kernel(rows, out)
        return out
    bounds = np.linspace(0, len(rows), n_parts + 1).astype(int)
    parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    map_in_threads(lambda part: kernel(rows[part], out[part]), parts, n_parts)
    return out


def find_leaves(X, rows, node, arrays, n_jobs=1):
    """Return the leaf that each row reaches from a given node.

    Parameters
    ----------
    X : result of :func:`kernel_arrays`
    rows : int64 ndarray of shape (m,), rows of X to route
    node : int, where all rows start
    arrays : tuple (children_left, children_right, split_indptr, split_indices,
        split_weights, threshold) of a tree
    n_jobs : int
        Number of threads; the result is the same for any number.

    Returns
    -------
    int32 ndarray of shape (m,), node numbers of leaves
    """
    node = int(node)  # so that the kernel is compiled for one integer type only

    def kernel(rows, out):
        workspace = _workspace(X, len(rows), arrays[3])
        _descend(X, rows, node, *arrays, workspace, out)

    return _in_threads(kernel, rows, np.empty(len(rows), dtype=np.int32), n_jobs)


def project(X, rows, indices, weights, n_jobs=1):
    """Return w.x of one split for some rows, computed exactly as in routing.

    Parameters
    ----------
    X : result of :func:`kernel_arrays`
    rows : int64 ndarray of shape (m,)
    indices, weights : int32 and float64 ndarrays of shape (n_features of the split,),
        indices increasing

    Returns
    -------
    float64 ndarray of shape (m,)
    """
    # Read-only like the arrays of a tree, so that one compiled kernel serves both.
    indices, weights = frozen(np.array(indices)), frozen(np.array(weights))

    def kernel(rows, out):
        _project(X, rows, indices, weights, _workspace(X, len(rows), indices), out)

    return _in_threads(kernel, rows, np.empty(len(rows)), n_jobs)


class ReducedSets:
    """The reduced set of each node: the numbers of the rows that reach it, in increasing order.

    :meth:`levels` visits the nodes level by level, from the deepest one up.

    All sets share one array of 8 bytes per row, in which the rows of every subtree are contiguous.
    Moving up one level sorts the rows of each subtree in place, which destroys the sets of the
    levels below.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    """

    def __init__(self, tree, leaf_of_row):
        self._tree = tree
        self._first, self._stop, rank = _spans(tree, leaf_of_row)
        # For 8- or 16-bit integers, a stable argsort is a radix sort, which takes linear time.
        rank = rank.astype(np.min_scalar_type(-tree.n_nodes))
        self._rows = np.argsort(rank[leaf_of_row], kind="stable")

    def __getitem__(self, node):
        """Row numbers of a node of the current level, or of a leaf below a node not visited yet."""
        return self._rows[self._first[node] : self._stop[node]]

    def size(self, node):
        """Number of rows of a node; unlike the row numbers it is always available."""
        return self._stop[node] - self._first[node]

    def goes_left(self, node, leaves):
        """Return which of some leaves below `node` are below its left child: bool array.

        At least one row must reach each of these leaves.
        """
        return self._first[leaves] < self._first[self._tree.children_right[node]]

    def levels(self):
        """Yield the decision nodes with rows of each depth, from the deepest one up.

        The sets of these nodes are valid until the next depth is requested.
        """
        tree = self._tree
        for depth in range(tree.max_depth - 1, -1, -1):
            nodes = tree.decision_nodes[tree.depth[tree.decision_nodes] == depth]
            nodes = [node for node in nodes if self.size(node)]
            for node in nodes:
                self[node].sort(kind="stable")  # merges the increasing row numbers of both children
            yield nodes


def _spans(tree, leaf_of_row):
    """Return the range of rows of each node, and the rank of each leaf from left to right.

    Returns
    -------
    first, stop : int arrays of shape (n_nodes,)
    rank : int array of shape (n_nodes,); 0 for decision nodes
    """
    left, right = tree.children_left, tree.children_right
    size = np.bincount(leaf_of_row, minlength=tree.n_nodes)
    n_leaves = np.zeros(tree.n_nodes, dtype=np.intp)
    n_leaves[tree.leaves] = 1
    for node in tree.decision_nodes[::-1]:  # children first: their numbers exceed their parent's
        size[node] = size[left[node]] + size[right[node]]
        n_leaves[node] = n_leaves[left[node]] + n_leaves[right[node]]
    first, rank = np.zeros((2, tree.n_nodes), dtype=np.intp)
    for node in tree.decision_nodes:
        first[left[node]], rank[left[node]] = first[node], rank[node]
        first[right[node]] = first[node] + size[left[node]]
        rank[right[node]] = rank[node] + n_leaves[left[node]]
    return first, first + size, rank
