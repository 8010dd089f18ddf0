"""The threshold of least loss, and refits of a node that end with it.

Rows are told by their *step*: what it costs to have the row on the left, above having it on the
right. The loss of a test, up to a constant, is the sum of the steps of the rows on its left.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._utils.jit import jit
from ..tree import Split
from ..tree.routing import project
from ..tree.tree import midpoint
from .base import BoundSolver, Status

_FEW = 64  # points that are sorted at once
_N_BUCKETS = 512
_N_PROBES = 33
_ROUNDING = 1e-12  # of the spread of points: what two may differ by without being different
NOISE = 1e-9  # of the summed sizes of steps: what losses may differ by and be the same


@dataclass(frozen=True)
class Refit:
    """Bound solver whose result uses only features of the warm start (the relaxed lasso).

    The threshold is the one with the least weighted 0/1 loss, which is what the tree step
    minimises and what the logistic loss only stands for.

    Parameters
    ----------
    solver : BoundSolver
    view : result of ``tao_cluster.tree.routing.kernel_arrays``, the solver's rows; of sparse ones
        at least the features of warm starts
    reweights : bool
        Whether the strength of a feature is divided by its weight in the warm start, relative
        to the mean weight there (adaptive lasso, Zou 2006): small weights vanish, large
        ones are hardly shrunk.
    """

    solver: BoundSolver
    view: Any
    reweights: bool = False

    def solve(self, problem):
        """See :class:`BoundSolver`; features and factors are those of the warm start."""
        old = problem.warm_start
        if len(old.indices) == 0:
            return constant_side(problem), Status()
        size = np.abs(old.weights)
        factors = size.mean() / size if self.reweights else None
        new, status = self.solver.solve(replace(problem, features=old.indices, factors=factors))
        if len(new.indices) == 0:
            return new, status
        values = project(self.view, problem.rows, new.indices, new.weights)
        return sharpen(new, values, problem.goes_right, problem.weight), status


def constant_side(problem):
    """The test without features that sends all rows to the side of more weight, ties: right."""
    left = problem.weight @ ~problem.goes_right
    return Split.constant(problem.weight @ problem.goes_right < left)


def sharpen(split, values, goes_right, weight):
    """The split with the threshold of least weighted 0/1 loss; see :func:`best_threshold`.

    If no threshold beats sending all rows to one side, the result is the constant split.

    Parameters
    ----------
    split : Split
    values : float64 array of shape (m,), w.x
    goes_right : bool array of shape (m,)
    weight : float64 array of shape (m,), positive

    Returns
    -------
    Split
    """
    steps = np.where(goes_right, weight, -weight)
    threshold, loss = best_threshold(values, steps, split.threshold)
    everything_left = float(steps.sum())
    if loss >= min(0.0, everything_left) - NOISE * weight.sum():
        return Split.constant(goes_left=everything_left < 0.0)
    return split if threshold == split.threshold else replace(split, threshold=threshold)


def best_threshold(values, steps, threshold):
    """The threshold of least loss, and that loss.

    The given threshold is kept if no other one is better by more than rounding errors. Else it is
    the middle between two values; of equally good ones those that are farthest apart.

    Parameters
    ----------
    values : float64 array of shape (m,), finite; rows of at most the threshold are on the left
    steps : float64 array of shape (m,), what it costs to have a row on the left, not on the right
    threshold : float, the one that there is

    Returns
    -------
    threshold : float
    loss : float, summed steps of the rows on the left
    """
    loss = float(steps[values <= threshold].sum())
    least, low, high = least_sum(values, steps)
    if least < loss - NOISE * float(np.abs(steps).sum()):
        return midpoint(low, high), least
    return threshold, loss


@jit
def least_sum(points, steps):
    """The interval between two points below which the steps sum to least.

    Points are put into buckets, and only those buckets are sorted that may hold a sum less than
    the least one found: several times faster than to sort all points.

    Parameters
    ----------
    points : float64 array of shape (m,), finite
    steps : float64 array of shape (m,)

    Returns
    -------
    least : float, the sum of the steps of the points up to `low`; inf if all points are equal
    low, high : float, neighbouring points; of equal sums those farthest apart
    """
    n, noise = points.shape[0], 0.0
    for i in range(n):
        noise += NOISE * abs(steps[i])
    center, scale = _middle(points)
    # The least sum, its interval, and what different points differ by at least.
    best = np.zeros(4)
    best[0], best[3] = np.inf, _ROUNDING * scale
    n_buckets = _N_BUCKETS
    if n <= _FEW or not scale > max(1e-290, _ROUNDING * abs(center)):
        n_buckets, scale = 1, 1.0
    order, first = _in_buckets(points, center, scale, n_buckets)
    # The better the least sum known, the fewer buckets are sorted.
    sums, falls = _between_buckets(points, steps, order, first, best, noise)
    below = 0.0
    for bucket in range(n_buckets):
        members = order[first[bucket] : first[bucket + 1]]
        if members.shape[0] > 1 and below + falls[bucket] <= best[0] + noise:
            _sort(points, members)
            value = below
            for i in range(members.shape[0] - 1):
                value += steps[members[i]]
                _consider(value, points[members[i]], points[members[i + 1]], best, noise)
        below += sums[bucket]
    return best[0], best[1], best[2]


@jit
def _sort(points, order):
    """Sort numbers of points by the points (Shell's method with Ciura's gaps).

    Written out: the sorts that numba has take many times longer to compile.
    """
    gap = 1
    while gap < order.shape[0] // 3:
        gap = int(2.25 * gap) + 1
    while gap > 0:
        for i in range(gap, order.shape[0]):
            number, j = order[i], i
            point = points[number]
            while j >= gap and points[order[j - gap]] > point:
                order[j] = order[j - gap]
                j -= gap
            order[j] = number
        gap = int(gap / 2.25) if gap > 1 else 0


@jit
def _middle(points):
    """Centre and half width of the middle half of some points."""
    probes, order = np.empty(_N_PROBES), np.empty(_N_PROBES, np.int64)
    for i in range(_N_PROBES):
        probes[i] = points[i * (points.shape[0] - 1) // (_N_PROBES - 1)]
        order[i] = i
    _sort(probes, order)
    low, high = probes[order[_N_PROBES // 4]], probes[order[3 * _N_PROBES // 4]]
    return probes[order[_N_PROBES // 2]], 0.5 * (high - low)


@jit(inline="always")
def _in_buckets(points, center, scale, n_buckets):
    """Numbers of points by bucket, and where each bucket's begin."""
    n = points.shape[0]
    of_point = np.empty(n, np.int16)
    first = np.zeros(n_buckets + 1, np.int64)
    for i in range(n):
        # Never a smaller bucket than that of a smaller point.
        place = (points[i] - center) / scale
        share = 1.0 - 1.0 / (1.0 + abs(place))
        share = -share if place < 0 else share
        bucket = min(n_buckets - 1, int((share + 1.0) * (0.5 * n_buckets)))
        of_point[i] = bucket
        first[bucket + 1] += 1
    for bucket in range(n_buckets):
        first[bucket + 1] += first[bucket]
    place_of, order = first.copy(), np.empty(n, np.int64)
    for i in range(n):
        order[place_of[of_point[i]]] = i
        place_of[of_point[i]] += 1
    return order, first


@jit(inline="always")
def _between_buckets(points, steps, order, first, best, noise):
    """Look at the sums between buckets; returns the summed steps and negative steps of each."""
    n_buckets = first.shape[0] - 1
    sums, falls = np.zeros(n_buckets), np.zeros(n_buckets)
    below, largest = 0.0, np.inf  # no interval before the first point
    for bucket in range(n_buckets):
        if first[bucket] == first[bucket + 1]:
            continue
        low, high = np.inf, -np.inf
        for place in range(first[bucket], first[bucket + 1]):
            i = order[place]
            sums[bucket] += steps[i]
            falls[bucket] += min(steps[i], 0.0)
            low, high = min(low, points[i]), max(high, points[i])
        _consider(below, largest, low, best, noise)
        below += sums[bucket]
        largest = high
    return sums, falls


@jit
def _consider(value, low, high, best, noise):
    """Put an interval into `best` if its sum is less, or the same and the interval wider."""
    if not high - low > best[3] + _ROUNDING * abs(low) or value > best[0] + noise:
        return
    if value < best[0] - noise or high - low > best[2] - best[1]:
        best[0], best[1], best[2] = min(value, best[0]), low, high
