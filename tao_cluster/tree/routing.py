"""Rows on their way through a tree: which leaf a row reaches, and which rows reach a node.

Every decision in this project is made here, in fit, predict and measures alike. The sum
w.x runs over a node's stored features in increasing order and in float64, whatever the
layout or precision of X, so the side a row takes never depends on the batch it came in.
A BLAS product would: its last bits change with the shape of the call.
"""

import itertools

import numpy as np
import scipy.sparse as sp

from .._utils.jit import by_layout, jit
from .._utils.matrices import canonical_csr
from .._utils.threads import map_in_threads, n_threads
from .shape import frozen

# Rows that go down a tree together.
_PART_ROWS = 512

# Of a split of fewer features than this share of a sparse row's entries, each is searched there.
_FEW = 1 / 32
# Sparse rows, as a share of the columns, from which on a table of a split's weights pays.
_TABLE_ROWS = 1 / 64


@jit
def _search_dot(few, few_columns, many, many_columns):
    """Dot product of a sparse row with a split: the entries of the shorter list are searched.

    Zeros that are skipped would add nothing, so the sum has the bits of the dense one.
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
    """The same sum, by a table of the weights of columns: zeros but for the features.

    What is to be added is put aside first: no entry waits for the sum, and none has to be guessed.
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


def _dot_rows_dense(X, rows, indices, weights, room, out):
    # Four sums side by side: the next term of one need not wait for that of another.
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


def _dot_rows_csr(X, rows, indices, weights, room, out):
    data, columns, indptr = X
    table, products = room
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


# Dot products of some rows with a split.
_dot_rows = by_layout(_dot_rows_dense, _dot_rows_csr)


@jit
def _project(X, rows, indices, weights, room, out):
    _dot_rows(X, rows, indices, weights, room, out)


@jit
def _part(at, begin, end, values, threshold, other):
    """Reorder the rows of a node: those on its left first. Where the others begin."""
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
def _descend(X, rows, node, left, right, indptr, indices, weights, threshold, room, out):
    # The rows of a node are asked together, of parts of the rows that the cache holds.
    size, n_rows = min(rows.shape[0], _PART_ROWS), rows.shape[0]
    at, other = np.empty(size, np.int32), np.empty(size, np.int32)
    numbers, values = np.empty(size, np.int64), np.empty(size)
    waiting = np.empty((left.shape[0], 3), np.int64)  # nodes, where their rows begin and end
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
            _project(X, numbers[: end - begin], *terms, room, values)
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
    """Number of rows of a result of :func:`kernel_arrays`."""
    return len(view[2]) - 1 if isinstance(view, tuple) else len(view)


def _room(view, n_rows, indices):
    """Where kernels put the weights of a split by column, and products of a row: two arrays.

    Both are empty for arrays, and for so few sparse rows that a table is not worth its zeros.
    """
    width = int(indices.max()) + 2 if isinstance(view, tuple) and len(indices) else 0  # one beyond
    if width == 0 or n_rows < _TABLE_ROWS * width:
        return np.empty(0), np.empty(0)
    return np.zeros(width), np.empty(min(width, len(indices) + 1))


def _in_threads(kernel, rows, out, n_jobs):
    """Run kernel(rows, out) on contiguous parts of `rows`; parts never share an output."""
    n_parts = n_threads(n_jobs, len(rows))
    if n_parts == 1:
        kernel(rows, out)
        return out
    bounds = np.linspace(0, len(rows), n_parts + 1).astype(int)
    parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    map_in_threads(lambda part: kernel(rows[part], out[part]), parts, n_parts)
    return out


def find_leaves(view, rows, node, arrays, n_jobs=1):
    """Leaf that each row reaches from a given node.

    Parameters
    ----------
    view : result of :func:`kernel_arrays`
    rows : int64 ndarray of shape (m,), rows of X to route
    node : int, where they start
    arrays : tuple (children_left, children_right, split_indptr, split_indices,
        split_weights, threshold) of a tree
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    int32 ndarray of shape (m,), node numbers of leaves
    """
    node = int(node)  # one compiled signature, whatever integer type comes in

    def kernel(rows, out):
        room = _room(view, len(rows), arrays[3])
        _descend(view, rows, node, *arrays, room, out)

    return _in_threads(kernel, rows, np.empty(len(rows), dtype=np.int32), n_jobs)


def project(view, rows, indices, weights, n_jobs=1):
    """The value w.x of one split for some rows, by the sum that routing uses.

    Parameters
    ----------
    view : result of :func:`kernel_arrays`
    rows : int64 ndarray of shape (m,)
    indices, weights : int32 and float64 ndarrays of shape (n_features of the split,),
        indices increasing

    Returns
    -------
    float64 ndarray of shape (m,)
    """
    # Read-only as the arrays of a tree: one compiled kernel serves both.
    indices, weights = frozen(np.array(indices)), frozen(np.array(weights))

    def kernel(rows, out):
        _project(view, rows, indices, weights, _room(view, len(rows), indices), out)

    return _in_threads(kernel, rows, np.empty(len(rows)), n_jobs)


class ReducedSets:
    """Rows that reach each node, increasing, for passes that go from the deepest level up.

    All sets share one array of 8 bytes a row, in which the rows of every subtree lie side by
    side: a level's sets are those of its subtrees, sorted where they lie, and the sets of the
    levels below are then gone.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,), the leaf of each row
    """

    def __init__(self, tree, leaf_of_row):
        self._tree = tree
        self._first, self._stop, rank = _spans(tree, leaf_of_row)
        # Short integers are sorted in one go over their digits.
        rank = rank.astype(np.min_scalar_type(-tree.n_nodes))
        self._rows = np.argsort(rank[leaf_of_row], kind="stable")

    def __getitem__(self, node):
        """Rows of a leaf above which no level was made, or of a node of the last level made."""
        return self._rows[self._first[node] : self._stop[node]]

    def size(self, node):
        """Number of rows of a node, at any time."""
        return self._stop[node] - self._first[node]

    def goes_left(self, node, leaves):
        """Which of some leaves that have rows are on the left of a node above them: bool array."""
        return self._first[leaves] < self._first[self._tree.children_right[node]]

    def levels(self):
        """Yield the decision nodes of each depth that have rows, from the deepest up.

        Their sets are at hand until the next depth is asked for.
        """
        tree = self._tree
        for depth in range(tree.max_depth - 1, -1, -1):
            nodes = tree.decision_nodes[tree.depth[tree.decision_nodes] == depth]
            nodes = [node for node in nodes if self.size(node)]
            for node in nodes:
                self[node].sort(kind="stable")  # two increasing runs: merged
            yield nodes


def _spans(tree, leaf_of_row):
    """Where the rows of each node begin and stop, and the place of each leaf from left to right.

    Returns
    -------
    first, stop : int arrays of shape (n_nodes,)
    rank : int array of shape (n_nodes,); 0 for decision nodes
    """
    left, right = tree.children_left, tree.children_right
    size = np.bincount(leaf_of_row, minlength=tree.n_nodes)
    n_leaves = np.zeros(tree.n_nodes, dtype=np.intp)
    n_leaves[tree.leaves] = 1
    for node in tree.decision_nodes[::-1]:  # children come after their parent
        size[node] = size[left[node]] + size[right[node]]
        n_leaves[node] = n_leaves[left[node]] + n_leaves[right[node]]
    first, rank = np.zeros((2, tree.n_nodes), dtype=np.intp)
    for node in tree.decision_nodes:
        first[left[node]], rank[left[node]] = first[node], rank[node]
        first[right[node]] = first[node] + size[left[node]]
        rank[right[node]] = rank[node] + n_leaves[left[node]]
    return first, first + size, rank
