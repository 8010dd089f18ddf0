"""How much the features of a test vary over the rows that meet it, and how near these come."""

import numpy as np
from numba import types
from numba.extending import overload

from ..jit import jit
from ..threads import fixed_parts, map_in_threads, n_threads

_DIGITS = 9  # kept: the last ones depend on the order of the rows, which must not rank features
_LEAST_EXPONENT = -1000  # of a scale: its inverse must not overflow

# Squares about the first row are as good as those about the mean where the two lie no farther
# apart than so many variances, and squares neither overflow nor vanish.
_MOST_VARIANCES, _LEAST_SQUARE = 1e4, 1e-200


def split_spreads(tree, view, leaf_of_row, weight=None, n_jobs=1):
    """The spreads of :func:`spreads_and_gaps` alone."""
    return spreads_and_gaps(tree, view, leaf_of_row, weight, n_jobs)[0]


def spreads_and_gaps(tree, view, leaf_of_row, weight=None, n_jobs=1):
    """How features vary over the rows of their tests, and how far thresholds may be raised.

    Rows are read once for all the tests above their leaf; again where the first of a node's lies
    so far from the others that sums about it lose digits.

    Parameters
    ----------
    tree : Tree
    view : result of :func:`tao_cluster.core.routing.kernel_view`
    leaf_of_row : int array of shape (n,), the leaf that each row reaches
    weight : float64 array of shape (n,), optional
        Rows of weight 0 are absent.
    n_jobs : int, threads; the result is the same for any number

    Returns
    -------
    spreads : float64 array of shape (n_nonzero,)
        Standard deviation of every feature of every test over the rows of the node, beside
        `tree.split_weights`: exactly 0 for equal values, NaN at nodes without rows.
    gaps : float64 array of shape (n_nodes,)
        How far above the threshold of a test of one feature the nearest row on its right lies,
        in units of the feature. By less than that a threshold may be raised without moving a
        row, so that people can be shown a rounder number. NaN at other nodes, and where no row
        goes right.
    """
    leaf_of_row = np.asarray(leaf_of_row, np.int32)
    weight = np.ones(len(leaf_of_row)) if weight is None else np.asarray(weight, np.float64)
    share = weight / max(weight.sum(), np.finfo(float).tiny)  # sums of such shares do not overflow
    paths = (tree.parent, tree.children_left, tree.split_indptr, tree.split_indices)
    origin = np.full(tree.n_nonzero, np.nan)
    _read_firsts(view, _first_rows(tree, leaf_of_row, share), *paths[2:], origin)
    parts = list(fixed_parts(len(leaf_of_row)))

    def in_parts(kernel, terms, *out):
        """Run a kernel on each part of the rows, which has entries of its own in what comes out."""

        def run(p):
            some, own = parts[p], tuple(array[p] for array in out)
            kernel(view, some.start, leaf_of_row[some], share[some], paths, terms, own)

        map_in_threads(run, range(len(parts)), n_threads(n_jobs, len(leaf_of_row)))

    sums, squares, most = np.zeros((3, len(parts), tree.n_nonzero))
    above = np.full((len(parts), tree.n_nodes), np.inf)
    in_parts(_add_values, (tree.split_weights, origin), sums, squares, most, above)
    mass = np.repeat(tree.node_counts(leaf_of_row, share), np.diff(tree.split_indptr))
    mass = np.where(mass > 0, mass, 1.0)
    mean, size = sums.sum(axis=0) / mass, most.max(axis=0)
    spreads = _about_first(squares.sum(axis=0) / mass, mean, size)
    if spreads is None:
        exponent = np.maximum(np.frexp(size)[1], _LEAST_EXPONENT)
        squares[:] = 0.0
        in_parts(_add_squares, (origin, mean, np.ldexp(1.0, -exponent)), squares)
        spreads = np.ldexp(np.sqrt(squares.sum(axis=0) / mass), exponent)
    spreads[np.isnan(origin)] = np.nan
    return np.array([float(f"{value:.{_DIGITS}g}") for value in spreads]), _gaps(tree, above)


def _about_first(square, mean, size):
    """Spreads of values over that of the first, from their moments; None if digits are lost."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = square - mean**2
        is_good = (mean**2 <= _MOST_VARIANCES * variance) & (variance > _LEAST_SQUARE)
    is_good &= np.isfinite(variance)
    if not np.all(is_good | (size == 0)):
        return None
    return np.sqrt(np.where(size > 0, variance, 0.0))


def _gaps(tree, above):
    """Gaps of the tests of one feature, from the least products above their thresholds."""
    gaps, first = np.full(tree.n_nodes, np.nan), tree.split_indptr[:-1]
    least = above.min(axis=0, initial=np.inf)
    some = np.flatnonzero(np.isfinite(least))
    gaps[some] = (least[some] - tree.threshold[some]) / np.abs(tree.split_weights[first[some]])
    return gaps


def _first_rows(tree, leaf_of_row, share):
    """The first row of each node: int64 array of shape (n_nodes,), -1 at those without rows."""
    first = np.full(tree.n_nodes, len(leaf_of_row))
    _enter_first(leaf_of_row, share, first)
    for node in tree.decision_nodes[::-1]:  # children come after their parent
        first[node] = min(first[tree.children_left[node]], first[tree.children_right[node]])
    return np.where(first < len(leaf_of_row), first, -1)


@jit
def _enter_first(leaf_of_row, share, first):
    for r in range(leaf_of_row.shape[0] - 1, -1, -1):
        if share[r] > 0:
            first[leaf_of_row[r]] = r


def _value(X, row, feature):
    """Value of a feature of a row (compiled only)."""
    raise NotImplementedError


@overload(_value)
def _overload_value(X, row, feature):
    if isinstance(X, types.Array):
        return lambda X, row, feature: np.float64(X[row, feature])

    def csr(X, row, feature):
        data, columns, indptr = X
        begin, end = indptr[row], indptr[row + 1]
        at = begin + np.searchsorted(columns[begin:end], feature)
        return np.float64(data[at]) if at < end and columns[at] == feature else 0.0

    return csr


@jit
def _read_firsts(X, first, indptr, indices, out):
    for node in range(first.shape[0]):
        if first[node] >= 0:
            for s in range(indptr[node], indptr[node + 1]):
                out[s] = _value(X, first[node], indices[s])


@jit
def _add_values(X, start, leaf, share, paths, terms, out):
    """Moments of the values of rows over that of the first, their sizes, least products above."""
    parent, left, indptr, indices = paths
    weights, origin = terms
    sums, squares, most, above = out
    for r in range(leaf.shape[0]):
        child = leaf[r]
        node = parent[child] if share[r] > 0 else -1
        while node >= 0:
            first, stop = indptr[node], indptr[node + 1]
            for s in range(first, stop):
                value = _value(X, start + r, indices[s])
                apart = value - origin[s]
                sums[s] += share[r] * apart
                squares[s] += share[r] * (apart * apart)
                most[s] = max(most[s], abs(apart))
                if stop == first + 1 and left[node] != child:
                    above[node] = min(above[node], weights[s] * value)
            child, node = node, parent[node]


@jit
def _add_squares(X, start, leaf, share, paths, terms, out):
    """Sums of the squares of the values of rows about their mean, which is one over the first."""
    parent, _, indptr, indices = paths
    origin, mean, inverse = terms
    for r in range(leaf.shape[0]):
        node = parent[leaf[r]] if share[r] > 0 else -1
        while node >= 0:
            for s in range(indptr[node], indptr[node + 1]):
                apart = (_value(X, start + r, indices[s]) - origin[s] - mean[s]) * inverse[s]
                out[0][s] += share[r] * (apart * apart)
            node = parent[node]
