"""Density of the rows at a cut: whether a test runs through a gap or through a crowd of rows."""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from .._utils.threads import map_in_threads, n_threads
from .routing import ReducedSets, project

# A cut is real if the rows are at most `GAP` times as dense there as at the lower of the peaks on
# its sides. Above `CROWD`, displays say that the cut runs through a crowd.
GAP, CROWD = 0.5, 0.8

_PER_BANDWIDTH = 8  # bins of the density per bandwidth
_MOST_BINS = 1 << 15  # on each side; rows that are farther away are left out
_SAME = 1e-9  # a standard deviation below this share of the largest distance is rounding
_DIGITS = 4  # significant digits: later ones depend on the row order


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
    return float(f"{value:.{_DIGITS}g}")
