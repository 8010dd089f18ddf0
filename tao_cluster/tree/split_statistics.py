"""Statistics of tests: spreads, values next to thresholds, importances, densities at cuts."""

import math

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import gaussian_filter1d

from .._utils.jit import by_layout, jit
from .._utils.threads import fixed_parts, map_in_threads, n_threads
from .routing import ReducedSets, project

_DIGITS = 9  # significant digits: later ones depend on the row order and must not rank features
# Values are divided by a power of two with an exponent of at least -1000, because its inverse,
# 2 ** 1000, is still a finite float64.
_LEAST_EXPONENT = -1000

# A variance from sums about the first row is accurate enough if the squared distance of that row
# from the mean is at most this many variances, and the variance is large enough not to underflow.
_MOST_VARIANCES, _LEAST_SQUARE = 1e4, 1e-200

_ROUNDING = 1e-12  # a smaller saving, as a fraction of the cost, counts as zero


def stds_and_sides(tree, X, leaf_of_row, weight=None, n_jobs=1):
    """Compute the standard deviations of the features of tests, and values next to thresholds.

    One pass over the rows updates the sums of all tests on the path to each row's leaf. Sums are
    taken relative to the first row of each node. If that row is so far from the others that digits
    are lost, a second pass uses the mean instead.

    Parameters
    ----------
    tree : Tree
    X : result of :func:`tao_cluster.tree.routing.kernel_arrays`
    leaf_of_row : int array of shape (n,), the leaf that each row reaches
    weight : float64 array of shape (n,), optional
        Rows of weight 0 are ignored.
    n_jobs : int
        Number of threads; the result is the same for any number.

    Returns
    -------
    stds : float64 array of shape (n_nonzero,)
        Standard deviation of every feature of every test over the rows of the node, aligned with
        `tree.split_weights`. Exactly 0 if all values are equal, NaN at nodes without rows.
    sides : float64 array of shape (n_nodes, 2)
        The tested values next to the threshold: the largest one below it and the smallest one above
        it. They are values of the feature for a test of one feature, and of w.x for other tests. A
        threshold between them separates the rows alike, so that a rounder number can be shown. NaN
        at leaves, and on a side without rows.
    """
    leaf_of_row = np.asarray(leaf_of_row, np.int32)
    weight = np.ones(len(leaf_of_row)) if weight is None else np.asarray(weight, np.float64)
    share = weight / max(weight.sum(), np.finfo(float).tiny)  # so that sums do not overflow
    origin = first_values(tree, X, leaf_of_row, share)
    moments = value_moments(tree, X, leaf_of_row, share, origin, n_jobs)
    mass = tree.node_counts(leaf_of_row, share)
    stds = stds_of(tree, moments, mass)
    if stds is None:
        # The sums about the first row are not accurate enough. A second pass sums the squares of
        # the differences from the mean, divided by a power of two so that they are about 1.
        exponent = np.maximum(np.frexp(moments[2])[1], _LEAST_EXPONENT)
        mass = _of_values(tree, mass)
        about = (moments[0] / mass, np.ldexp(1.0, -exponent))
        _, squares, *_ = value_moments(tree, X, leaf_of_row, share, origin, n_jobs, about)
        stds = np.ldexp(np.sqrt(squares / mass), exponent)
    stds[np.isnan(origin)] = np.nan
    return rounded(stds), sides_of(tree, *moments[3:])


def first_values(tree, X, leaf_of_row, share):
    """Return the values of each test's features in the first row of its node.

    Returns
    -------
    float64 array of shape (n_nonzero,), NaN at nodes without rows
    """
    first = np.full(tree.n_nodes, len(leaf_of_row))
    present = np.flatnonzero(share > 0)[::-1]
    first[leaf_of_row[present]] = present  # in descending order, so that the first row remains
    for node in tree.decision_nodes[::-1]:  # children come after their parent
        first[node] = min(first[tree.children_left[node]], first[tree.children_right[node]])
    rows = np.repeat(first, np.diff(tree.split_indptr))
    origin, known = np.full(tree.n_nonzero, np.nan), rows < len(leaf_of_row)
    if isinstance(X, tuple):
        X = sp.csr_matrix(X, shape=(len(leaf_of_row), tree.n_features))
    if known.any():
        origin[known] = np.asarray(X[rows[known], tree.split_indices[known]]).ravel()
    return origin


def value_moments(tree, X, leaf_of_row, share, origin, n_jobs=1, about=None):
    """Compute sums from which :func:`stds_of` and :func:`sides_of` are derived.

    Let z = (value - origin - shift) * scale, where value is that of a tested feature in a row. The
    results are sums, maxima and minima over the rows of the node. Results of disjoint sets of rows
    can be combined.

    Parameters
    ----------
    tree, X, leaf_of_row, n_jobs
        As for :func:`stds_and_sides`.
    share : float64 array of shape (n,)
        Weights as fractions of the total.
    origin : float64 array of shape (n_nonzero,)
    about : (shift, scale), float64 arrays of shape (n_nonzero,), optional
        By default 0 and 1.

    Returns
    -------
    sums, squares : float64 arrays of shape (n_nonzero,)
        Weighted sums of z and of z ** 2. Combine by adding.
    most : float64 array of shape (n_nonzero,)
        Maximum of abs(z). Combine by the maximum.
    below, above : float64 arrays of shape (n_nodes,)
        Largest tested value on the left and smallest one on the right, infinite without rows. The
        tested value is w.x or, for a test of one feature, the value of the feature with the sign of
        its weight. Combine by the maximum and by the minimum.
    """
    parts = list(fixed_parts(len(leaf_of_row)))
    sums, squares, most = np.zeros((3, len(parts), tree.n_nonzero))
    above = np.full((len(parts), tree.n_nodes), np.inf)
    below = -above
    mean, inverse = (np.zeros(tree.n_nonzero), np.ones(tree.n_nonzero)) if about is None else about
    nodes = (tree.parent, tree.children_left, tree.split_indptr, tree.split_indices)
    terms = (tree.split_weights, origin, mean, inverse)
    n_columns = int(tree.split_indices.max(initial=-1)) + 1 if isinstance(X, tuple) else 0

    def add(p):
        rows, out = parts[p], (sums[p], squares[p], most[p], below[p], above[p])
        given = leaf_of_row[rows], share[rows]
        _add_values(X, rows.start, *given, nodes, terms, np.zeros(n_columns), out)

    map_in_threads(add, range(len(parts)), n_threads(n_jobs, len(leaf_of_row)))
    ends = below.max(axis=0), above.min(axis=0)
    return sums.sum(axis=0), squares.sum(axis=0), most.max(axis=0), *ends


def stds_of(tree, moments, mass, keeps_all=False):
    """Compute standard deviations from the result of :func:`value_moments`.

    Parameters
    ----------
    tree : Tree
    moments : result of :func:`value_moments`
    mass : float64 array of shape (n_nodes,)
        Sum of the shares of the rows that reach each node.
    keeps_all : bool
        Return all values, although some may have lost digits (for data that are read only once).

    Returns
    -------
    float64 array of shape (n_nonzero,), or None if some value has lost digits
    """
    sums, squares, size, *_ = moments
    mass = _of_values(tree, mass)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        square, mean = squares / mass, sums / mass
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
        Standard deviations that :func:`stds_and_sides` returns.

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
    """Return the mass of the rows of the node of each weight: float64 array of shape (n_nonzero,).

    The mass is replaced by 1 at nodes without rows.
    """
    mass = np.repeat(mass, np.diff(tree.split_indptr))
    return np.where(mass > 0, mass, 1.0)


def rounded(stds):
    """Round standard deviations to `_DIGITS` significant digits."""
    return np.array([float(f"{value:.{_DIGITS}g}") for value in stds])


def sides_of(tree, below, above):
    """Compute the sides of :func:`stds_and_sides` from two results of :func:`value_moments`."""
    sides = np.column_stack([below, above])
    sides[np.isinf(sides)] = np.nan
    single = np.flatnonzero(np.diff(tree.split_indptr) == 1)
    turned = single[tree.split_weights[tree.split_indptr[single]] < 0]
    sides[turned] = -sides[turned, ::-1]
    return sides + 0.0  # adding 0.0 turns -0.0 into 0.0


def _row_dense(X, row, table):
    return X[row]


def _row_csr(X, row, table):
    data, columns, indptr = X
    for s in range(indptr[row], indptr[row + 1]):
        if columns[s] < table.shape[0]:
            table[columns[s]] = data[s]
    return table


# Return an array of the values of a row, one per feature. A sparse row is written into `table`.
_row = by_layout(_row_dense, _row_csr)


def _clear_dense(X, row, table):
    pass


def _clear_csr(X, row, table):
    _, columns, indptr = X
    for s in range(indptr[row], indptr[row + 1]):
        if columns[s] < table.shape[0]:
            table[columns[s]] = 0.0


# Set to zero again the entries of `table` into which a sparse row was written.
_clear = by_layout(_clear_dense, _clear_csr)


@jit
def _add_values(X, start, leaf, share, nodes, terms, table, out):
    """Add the rows from `start` on to the sums of :func:`value_moments` at all nodes above them."""
    parent, left, indptr, indices = nodes
    weights, origin, mean, inverse = terms
    sums, squares, most, below, above = out
    for r in range(leaf.shape[0]):
        child = leaf[r]
        node = parent[child] if share[r] > 0 else -1
        row = _row(X, start + r, table)
        while node >= 0:
            first, stop, total = indptr[node], indptr[node + 1], 0.0
            for s in range(first, stop):
                value = np.float64(row[indices[s]])
                apart = (value - origin[s] - mean[s]) * inverse[s]
                sums[s] += share[r] * apart
                squares[s] += share[r] * (apart * apart)
                most[s] = max(most[s], abs(apart))
                total += weights[s] * value  # in the order of routing
            if stop == first + 1:
                total = math.copysign(1.0, weights[first]) * np.float64(row[indices[first]])
            if left[node] == child:
                below[node] = max(below[node], total)
            else:
                above[node] = min(above[node], total)
            child, node = node, parent[node]
        _clear(X, start + r, table)


# ---------------------------------------------------------------- densities at cuts

# A cut is real if the rows are at most `GAP` times as dense there as at the lower of the peaks on
# its sides. Above `CROWD`, displays say that the cut runs through a crowd.
GAP, CROWD = 0.5, 0.8

_PER_BANDWIDTH = 8  # bins of the density per bandwidth
_MOST_BINS = 1 << 15  # on each side; rows that are farther away are left out
_SAME = 1e-9  # a standard deviation below this share of the largest distance is rounding
_DIGITS_OF_RATIO = 4  # significant digits: later ones depend on the row order


def density_ratio(distance, weight=None, *, blur=0.0):
    """Return how dense rows are at a cut, relative to the lower of the peaks on its sides.

    Let f be the kernel density of the distances with the bandwidth h = 1.06 s n^(-1/5), where s is
    the smaller of the standard deviations on the two sides, and n the number of distinct distances.
    The result is the minimum of f over the distances from -h to h, divided by the smaller of the
    maxima of f on the two sides.

    Parameters
    ----------
    distance : float64 array of shape (n,)
        Signed distances of the rows from the cut; rows with a distance of at most 0 are on its
        left.
    weight : float64 array of shape (n,), optional
    blur : float, default=0.0
        Bandwidth that is added to h (as the root of the sum of squares), because distances come
        from columns with discrete values.

    Returns
    -------
    float in [0, 1]
        It is 1 if a side has no rows, and 0 if all rows of a side are equal on both sides. It is
        NaN if a distance is infinite.
    """
    weight = np.ones(len(distance)) if weight is None else weight
    if not weight.all():
        distance, weight = distance[weight > 0], weight[weight > 0]
    is_left = distance <= 0
    if not 0 < np.count_nonzero(is_left) < len(distance):
        return 1.0
    largest = np.abs(distance).max()
    if not np.isfinite(largest):
        return np.nan
    distance, blur = distance / largest, blur / largest
    stds = [_std(distance[side], weight[side]) for side in (is_left, ~is_left)]
    known = [std for std in stds if std > _SAME]
    if not known:
        return 0.0
    n_distinct = len(np.unique(distance))
    step = _rounded(np.hypot(1.06 * min(known) * n_distinct**-0.2, blur) / _PER_BANDWIDTH)
    places = np.ceil(distance / step) - 1  # so that a distance of 0 is on the left
    is_near = np.abs(places) < _MOST_BINS
    if not is_near.all():
        places, weight = places[is_near], weight[is_near]
    places = places.astype(np.int64)
    reach = 5 * _PER_BANDWIDTH  # the kernel ends after four bandwidths
    zero = reach - min(places.min(initial=0), 0)
    size = zero + max(places.max(initial=0), 0) + reach
    f = gaussian_filter1d(np.bincount(places + zero, weight, size), _PER_BANDWIDTH, mode="constant")
    lowest = f[zero - _PER_BANDWIDTH : zero + _PER_BANDWIDTH].min()
    peak = min(f[:zero].max(), f[zero:].max())
    return _rounded(lowest / peak) if lowest > 0 else 0.0


def split_densities(tree, X, leaf_of_row, weight=None, n_jobs=1):
    """Return :func:`density_ratio` at the threshold of each test, over the rows of its node.

    Parameters
    ----------
    tree : Tree
    X : result of :func:`tao_cluster.tree.routing.kernel_arrays`
    leaf_of_row : int array of shape (n,), the leaf that each row reaches
    weight : float64 array of shape (n,), optional
        Rows of weight 0 are ignored.
    n_jobs : int
        Number of threads; the result is the same for any number.

    Returns
    -------
    float64 array of shape (n_nodes,), NaN at leaves and at nodes without rows
    """
    sets, found = ReducedSets(tree, leaf_of_row), np.full(tree.n_nodes, np.nan)
    weight = np.ones(len(leaf_of_row)) if weight is None else np.asarray(weight, np.float64)
    weight = weight / max(weight.max(initial=0.0), np.finfo(float).tiny)  # so that sums are finite

    def measure(node):
        rows = sets[node]
        if weight[rows].any():
            distance = project(X, rows, *tree.split(node)) - tree.threshold[node]
            found[node] = density_ratio(distance, weight[rows])

    for nodes in sets.levels():
        map_in_threads(measure, nodes, n_threads(n_jobs, len(leaf_of_row)))
    return found


def _std(values, weight):
    share = weight / weight.sum()
    return float(np.sqrt(((values - (values * share).sum()) ** 2 * share).sum()))


def _rounded(value):
    return float(f"{value:.{_DIGITS_OF_RATIO}g}")
