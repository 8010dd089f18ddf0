"""How much the features of a test vary over the rows that meet it, and how near these come."""

import numpy as np

from .._utils.jit import by_layout, jit
from .._utils.threads import fixed_parts, map_in_threads, n_threads

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
    view : result of :func:`tao_cluster.tree.routing.kernel_view`
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
    origin = first_values(tree, view, leaf_of_row, share)
    moments = value_moments(tree, view, leaf_of_row, share, origin, n_jobs)
    mass = tree.node_counts(leaf_of_row, share)
    spreads = spreads_of(tree, moments, mass)
    if spreads is None:
        spreads = _two_passes(tree, view, leaf_of_row, share, origin, moments, mass, n_jobs)
    spreads[np.isnan(origin)] = np.nan
    return rounded(spreads), gaps_of(tree, moments[3])


def first_values(tree, view, leaf_of_row, share):
    """Values of the features of tests in the first row of their nodes: float64 array (n_nonzero,).

    NaN at nodes without rows.
    """
    origin, first = np.full(tree.n_nonzero, np.nan), _first_rows(tree, leaf_of_row, share)
    _read_firsts(view, first, tree.split_indptr, tree.split_indices, origin)
    return origin


def value_moments(tree, view, leaf_of_row, share, origin, n_jobs=1):
    """What spreads and gaps are made of; of parts of the rows, they can be added.

    Parameters
    ----------
    tree, view, leaf_of_row, n_jobs
        As for :func:`spreads_and_gaps`.
    share : float64 array of shape (n,), weights
    origin : float64 array of shape (n_nonzero,)

    Returns
    -------
    sums, squares : float64 arrays of shape (n_nonzero,), of the values over their origins
    most : float64 array of shape (n_nonzero,), the largest size of these; the most of parts
    above : float64 array of shape (n_nodes,), the least product above the threshold of a test of
        one feature, infinite if there is none; the least of parts
    """
    parts = list(fixed_parts(len(leaf_of_row)))
    sums, squares, most = np.zeros((3, len(parts), tree.n_nonzero))
    above = np.full((len(parts), tree.n_nodes), np.inf)
    given = (tree, view, leaf_of_row, share, parts, n_jobs)
    _in_parts(_add_values, (tree.split_weights, origin), given, sums, squares, most, above)
    return sums.sum(axis=0), squares.sum(axis=0), most.max(axis=0), above.min(axis=0)


def _in_parts(kernel, terms, given, *out):
    """Run a kernel on each part of the rows, which has entries of its own in what comes out."""
    tree, view, leaf_of_row, share, parts, n_jobs = given
    paths = (tree.parent, tree.children_left, tree.split_indptr, tree.split_indices)
    n_columns = int(tree.split_indices.max(initial=-1)) + 1 if isinstance(view, tuple) else 0

    def run(p):
        some, own = parts[p], tuple(array[p] for array in out)
        table = np.zeros(n_columns)
        kernel(view, some.start, leaf_of_row[some], share[some], paths, terms, table, own)

    map_in_threads(run, range(len(parts)), n_threads(n_jobs, len(leaf_of_row)))


def spreads_of(tree, moments, mass, keeps_all=False):
    """Spreads of the features of tests, from moments of their values; None if digits are lost.

    Parameters
    ----------
    tree : Tree
    moments : result of :func:`value_moments`
    mass : float64 array of shape (n_nodes,), the shares that reach each node
    keeps_all : bool, whether those that lose digits are kept: there is no second pass
    """
    sums, squares, size, _ = moments
    mass = _of_values(tree, mass)
    return _about_first(squares / mass, sums / mass, size, keeps_all)


def _of_values(tree, mass):
    """What reaches the node of each value, 1 for nothing."""
    mass = np.repeat(mass, np.diff(tree.split_indptr))
    return np.where(mass > 0, mass, 1.0)


def _two_passes(tree, view, leaf_of_row, share, origin, moments, mass, n_jobs):
    """Spreads about the mean, on a scale on which squares neither overflow nor vanish."""
    mass, parts = _of_values(tree, mass), list(fixed_parts(len(leaf_of_row)))
    exponent = np.maximum(np.frexp(moments[2])[1], _LEAST_EXPONENT)
    squares, given = np.zeros((len(parts), tree.n_nonzero)), (tree, view, leaf_of_row, share)
    terms = (origin, moments[0] / mass, np.ldexp(1.0, -exponent))
    _in_parts(_add_squares, terms, (*given, parts, n_jobs), squares)
    return np.ldexp(np.sqrt(squares.sum(axis=0) / mass), exponent)


def rounded(spreads):
    """Spreads without their last digits."""
    return np.array([float(f"{value:.{_DIGITS}g}") for value in spreads])


def _about_first(square, mean, size, keeps_all):
    """Spreads of values over that of the first, from their moments; None if digits are lost."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = square - mean**2
        is_good = (mean**2 <= _MOST_VARIANCES * variance) & (variance > _LEAST_SQUARE)
    is_good &= np.isfinite(variance)
    if not keeps_all and not np.all(is_good | (size == 0)):
        return None
    return np.sqrt(np.where(size > 0, np.maximum(variance, 0.0), 0.0))


def gaps_of(tree, least):
    """Gaps of the tests of one feature, from the least products above their thresholds."""
    gaps, first = np.full(tree.n_nodes, np.nan), tree.split_indptr[:-1]
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


def _value_dense(X, row, feature):
    return np.float64(X[row, feature])


def _value_csr(X, row, feature):
    data, columns, indptr = X
    begin, end = indptr[row], indptr[row + 1]
    at = begin + np.searchsorted(columns[begin:end], feature)
    return np.float64(data[at]) if at < end and columns[at] == feature else 0.0


# Value of a feature of a row.
_value = by_layout(_value_dense, _value_csr)


@jit
def _read_firsts(X, first, indptr, indices, out):
    for node in range(first.shape[0]):
        if first[node] >= 0:
            for s in range(indptr[node], indptr[node + 1]):
                out[s] = _value(X, first[node], indices[s])


def _row_dense(X, row, table):
    return X[row]


def _row_csr(X, row, table):
    data, columns, indptr = X
    for s in range(indptr[row], indptr[row + 1]):
        if columns[s] < table.shape[0]:
            table[columns[s]] = data[s]
    return table


# Values of a row by feature: of a sparse one in a table of zeros.
_row = by_layout(_row_dense, _row_csr)


def _clear_dense(X, row, table):
    pass


def _clear_csr(X, row, table):
    _, columns, indptr = X
    for s in range(indptr[row], indptr[row + 1]):
        if columns[s] < table.shape[0]:
            table[columns[s]] = 0.0


# Take them out of the table.
_clear = by_layout(_clear_dense, _clear_csr)


@jit
def _add_values(X, start, leaf, share, paths, terms, table, out):
    """Moments of the values of rows over that of the first, their sizes, least products above."""
    parent, left, indptr, indices = paths
    weights, origin = terms
    sums, squares, most, above = out
    for r in range(leaf.shape[0]):
        child = leaf[r]
        node = parent[child] if share[r] > 0 else -1
        row = _row(X, start + r, table)
        while node >= 0:
            first, stop = indptr[node], indptr[node + 1]
            for s in range(first, stop):
                value = np.float64(row[indices[s]])
                apart = value - origin[s]
                sums[s] += share[r] * apart
                squares[s] += share[r] * (apart * apart)
                most[s] = max(most[s], abs(apart))
                if stop == first + 1 and left[node] != child:
                    above[node] = min(above[node], weights[s] * value)
            child, node = node, parent[node]
        _clear(X, start + r, table)


@jit
def _add_squares(X, start, leaf, share, paths, terms, table, out):
    """Sums of the squares of the values of rows about their mean, which is one over the first."""
    parent, _, indptr, indices = paths
    origin, mean, inverse = terms
    for r in range(leaf.shape[0]):
        node = parent[leaf[r]] if share[r] > 0 else -1
        row = _row(X, start + r, table)
        while node >= 0:
            for s in range(indptr[node], indptr[node + 1]):
                value = np.float64(row[indices[s]])
                apart = (value - origin[s] - mean[s]) * inverse[s]
                out[0][s] += share[r] * (apart * apart)
            node = parent[node]
        _clear(X, start + r, table)
