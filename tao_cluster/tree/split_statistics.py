"""How much the features of a test vary over the rows that meet it, and how near these come."""

import numpy as np
import scipy.sparse as sp

from .._utils.jit import by_layout, jit
from .._utils.threads import fixed_parts, map_in_threads, n_threads

_DIGITS = 9  # kept: the last ones depend on the order of the rows, which must not rank features
_LEAST_EXPONENT = -1000  # of a scale: its inverse must not overflow

# Squares about the first row are as good as those about the mean where the two lie no farther
# apart than so many variances, and squares neither overflow nor vanish.
_MOST_VARIANCES, _LEAST_SQUARE = 1e4, 1e-200

_ROUNDING = 1e-12  # a test that saves no more than this share of the cost saves nothing


def split_stds(tree, view, leaf_of_row, weight=None, n_jobs=1):
    """The spreads of :func:`stds_and_gaps` alone."""
    return stds_and_gaps(tree, view, leaf_of_row, weight, n_jobs)[0]


def stds_and_gaps(tree, view, leaf_of_row, weight=None, n_jobs=1):
    """How features vary over the rows of their tests, and how far thresholds may be raised.

    Rows are read once for all the tests above their leaf; again where the first of a node's lies
    so far from the others that sums about it lose digits.

    Parameters
    ----------
    tree : Tree
    view : result of :func:`tao_cluster.tree.routing.kernel_arrays`
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
    spreads = stds_of(tree, moments, mass)
    if spreads is None:  # a second pass, about the mean, with squares of numbers of about 1
        exponent = np.maximum(np.frexp(moments[2])[1], _LEAST_EXPONENT)
        mass = _of_values(tree, mass)
        about = (moments[0] / mass, np.ldexp(1.0, -exponent))
        _, squares, *_ = value_moments(tree, view, leaf_of_row, share, origin, n_jobs, about)
        spreads = np.ldexp(np.sqrt(squares / mass), exponent)
    spreads[np.isnan(origin)] = np.nan
    return rounded(spreads), threshold_gaps(tree, moments[3])


def first_values(tree, view, leaf_of_row, share):
    """Values of the features of tests in the first row of their nodes: float64 array (n_nonzero,).

    NaN at nodes without rows.
    """
    first = np.full(tree.n_nodes, len(leaf_of_row))
    present = np.flatnonzero(share > 0)[::-1]
    first[leaf_of_row[present]] = present  # of a leaf's rows the first is written last
    for node in tree.decision_nodes[::-1]:  # children come after their parent
        first[node] = min(first[tree.children_left[node]], first[tree.children_right[node]])
    rows = np.repeat(first, np.diff(tree.split_indptr))
    origin, known = np.full(tree.n_nonzero, np.nan), rows < len(leaf_of_row)
    if isinstance(view, tuple):
        view = sp.csr_matrix(view, shape=(len(leaf_of_row), tree.n_features))
    if known.any():
        origin[known] = np.asarray(view[rows[known], tree.split_indices[known]]).ravel()
    return origin


def value_moments(tree, view, leaf_of_row, share, origin, n_jobs=1, about=None):
    """What spreads and gaps are made of; of parts of the rows, they can be added.

    Parameters
    ----------
    tree, view, leaf_of_row, n_jobs
        As for :func:`stds_and_gaps`.
    share : float64 array of shape (n,), weights
    origin : float64 array of shape (n_nonzero,)
    about : two float64 arrays of shape (n_nonzero,), optional
        What is subtracted from the values over their origins, and what the rest is multiplied by.

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
    mean, inverse = (np.zeros(tree.n_nonzero), np.ones(tree.n_nonzero)) if about is None else about
    nodes = (tree.parent, tree.children_left, tree.split_indptr, tree.split_indices)
    terms = (tree.split_weights, origin, mean, inverse)
    n_columns = int(tree.split_indices.max(initial=-1)) + 1 if isinstance(view, tuple) else 0

    def add(p):
        rows, out = parts[p], (sums[p], squares[p], most[p], above[p])
        given = leaf_of_row[rows], share[rows]
        _add_values(view, rows.start, *given, nodes, terms, np.zeros(n_columns), out)

    map_in_threads(add, range(len(parts)), n_threads(n_jobs, len(leaf_of_row)))
    return sums.sum(axis=0), squares.sum(axis=0), most.max(axis=0), above.min(axis=0)


def stds_of(tree, moments, mass, keeps_all=False):
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
    square, mean = squares / mass, sums / mass
    with np.errstate(over="ignore", invalid="ignore"):
        variance = square - mean**2
        is_good = (mean**2 <= _MOST_VARIANCES * variance) & (variance > _LEAST_SQUARE)
    is_good &= np.isfinite(variance)
    if not keeps_all and not np.all(is_good | (size == 0)):
        return None
    return np.sqrt(np.where(size > 0, np.maximum(variance, 0.0), 0.0))


def feature_importances(tree, leaf_costs, stds):
    """Return the share of the cost that the tests of each feature save.

    The saving of a test is the cost of its rows in the best single cluster, minus that cost on its
    left and on its right. The features of a test share the saving in proportion to |weight| times
    standard deviation over the rows of the node. This is the mean decrease in impurity of
    Breiman et al. (1984), with the clustering cost as the impurity.

    Parameters
    ----------
    tree : Tree
    leaf_costs : float64 array of shape (n_nodes, n_clusters)
        Summed cost of the rows of each leaf in each cluster; 0 at decision nodes.
    stds : float64 array of shape (n_nonzero,)
        Standard deviations that :func:`stds_and_gaps` returns.

    Returns
    -------
    float64 array of shape (n_features,)
        It sums to 1; all entries are 0 if no test saves anything.
    """
    costs = np.stack([tree.subtree_sums(column) for column in leaf_costs.T], axis=1).min(axis=1)
    left, right = np.maximum(tree.children_left, 0), np.maximum(tree.children_right, 0)
    saved = np.where(tree.children_left < 0, 0.0, costs - costs[left] - costs[right])
    saved[saved <= _ROUNDING * costs[0]] = 0.0
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.split_indptr))
    size = np.abs(tree.split_weights)
    effect = size * np.nan_to_num(stds)
    is_constant = np.bincount(node, effect, tree.n_nodes) == 0
    effect = np.where(is_constant[node], size, effect)
    share = effect / np.bincount(node, effect, tree.n_nodes)[node]
    credit = np.zeros(tree.n_features)
    np.add.at(credit, tree.split_indices, share * saved[node])
    total = credit.sum()
    return credit / total if total > 0 else credit


def _of_values(tree, mass):
    """What reaches the node of each value, 1 for nothing."""
    mass = np.repeat(mass, np.diff(tree.split_indptr))
    return np.where(mass > 0, mass, 1.0)


def rounded(spreads):
    """Spreads without their last digits."""
    return np.array([float(f"{value:.{_DIGITS}g}") for value in spreads])


def threshold_gaps(tree, least):
    """Gaps of the tests of one feature, from the least products above their thresholds."""
    gaps, first = np.full(tree.n_nodes, np.nan), tree.split_indptr[:-1]
    some = np.flatnonzero(np.isfinite(least))
    gaps[some] = (least[some] - tree.threshold[some]) / np.abs(tree.split_weights[first[some]])
    return gaps


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
def _add_values(X, start, leaf, share, nodes, terms, table, out):
    """Moments of the values of rows over that of the first, their sizes, least products above."""
    parent, left, indptr, indices = nodes
    weights, origin, mean, inverse = terms
    sums, squares, most, above = out
    for r in range(leaf.shape[0]):
        child = leaf[r]
        node = parent[child] if share[r] > 0 else -1
        row = _row(X, start + r, table)
        while node >= 0:
            first, stop = indptr[node], indptr[node + 1]
            for s in range(first, stop):
                value = np.float64(row[indices[s]])
                apart = (value - origin[s] - mean[s]) * inverse[s]
                sums[s] += share[r] * apart
                squares[s] += share[r] * (apart * apart)
                most[s] = max(most[s], abs(apart))
                if stop == first + 1 and left[node] != child:
                    above[node] = min(above[node], weights[s] * value)
            child, node = node, parent[node]
        _clear(X, start + r, table)
