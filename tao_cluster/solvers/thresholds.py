"""The search for the threshold of least loss, and refits of the weights of a node.

The *step* of a row is its cost on the left minus its cost on the right. Up to a constant, the loss
of a test is the sum of the steps of the rows on its left.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._utils.jit import jit
from ..tree import Split
from ..tree.margins import TIE
from ..tree.routing import project
from ..tree.tree import midpoint
from .base import BoundSolver, Status

_FEW = 64  # up to this many points are sorted directly, more points are first put into buckets
_N_BUCKETS = 512
_N_PROBES = 33  # number of points from which their median and spread are estimated
_ROUNDING = 1e-12  # smaller differences of points, relative to their range, are rounding errors


@dataclass(frozen=True)
class Refit:
    """Bound solver whose result only uses features of the warm start (the relaxed lasso).

    The threshold minimises the weighted 0/1 loss, for which the logistic loss is a surrogate.

    Parameters
    ----------
    solver : BoundSolver
    view : result of ``tao_cluster.tree.routing.kernel_arrays``
        Rows of the solver. If they are sparse, they need at least the features of warm starts.
    reweights : bool
        Divide the strength for a feature by its weight in the warm start, relative to the mean
        weight there (adaptive lasso, Zou 2006). Small weights vanish, and large ones are hardly
        shrunk.
    """

    solver: BoundSolver
    view: Any
    reweights: bool = False

    def solve(self, problem):
        """Solve one node with the features of the warm start only; see :class:`BoundSolver`."""
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
    """Return the test without features that sends all rows to the side of more total weight.

    If both sides have the same weight, it sends the rows to the right.
    """
    left = problem.weight @ ~problem.goes_right
    return Split.constant(problem.weight @ problem.goes_right < left)


def sharpen(split, values, goes_right, weight):
    """Return the split with the threshold of least weighted 0/1 loss; see :func:`best_threshold`.

    The result is the constant split if no threshold is better than sending all rows to one side.

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
    if loss >= min(0.0, everything_left) - TIE * weight.sum():
        return Split.constant(goes_left=everything_left < 0.0)
    return split if threshold == split.threshold else replace(split, threshold=threshold)


def best_threshold(values, steps, threshold):
    """Return the threshold of least loss, and that loss.

    The given threshold is kept if no other one is better by more than rounding errors. Otherwise
    the result is the midpoint between two values. Among equally good gaps the widest one is chosen.

    Parameters
    ----------
    values : float64 array of shape (m,), finite
        Rows with values of at most the threshold are on the left.
    steps : float64 array of shape (m,)
        Cost of each row on the left minus its cost on the right.
    threshold : float
        The current threshold.

    Returns
    -------
    threshold : float
    loss : float, summed steps of the rows on the left
    """
    loss = float(steps[values <= threshold].sum())
    least, low, high = least_sum(values, steps, loss)
    if least < loss - TIE * float(np.abs(steps).sum()):
        return midpoint(low, high), least
    return threshold, loss


@jit
def least_sum(points, steps, bound):
    """Return the interval between two points below which the sum of the steps is least.

    Points are distributed to buckets. Only buckets that can contain a sum below the least one so
    far are sorted, which is several times faster than sorting all points.

    Parameters
    ----------
    points : float64 array of shape (m,), finite
    steps : float64 array of shape (m,)
    bound : float
        Only a sum below `bound` is of interest. With inf, the least sum is found in any case.

    Returns
    -------
    least : float
        Sum of the steps of the points up to `low`; at least about `bound` if no sum is less, and
        infinite if all points are equal and `bound` is infinite.
    low, high : float
        Neighbouring points. Among equal sums they are farthest apart.
    """
    n, noise = points.shape[0], 0.0
    for i in range(n):
        noise += TIE * abs(steps[i])
    center, scale = _middle(points)
    # `best` holds the least sum, the two ends of its interval, and the smallest difference at which
    # two points count as distinct.
    best = np.zeros(4)
    best[0], best[3] = bound, _ROUNDING * scale
    n_buckets = _N_BUCKETS
    if n <= _FEW or not scale > max(1e-290, _ROUNDING * abs(center)):
        n_buckets, scale = 1, 1.0
    bucket_of = _in_buckets(points, center, scale, n_buckets)
    # Sums of all steps and of the negative steps in each bucket. A bucket can be left out if no sum
    # inside it, or at its ends, can be less than the bound.
    sums, falls = np.zeros(n_buckets), np.zeros(n_buckets)
    for i in range(n):
        sums[bucket_of[i]] += steps[i]
        falls[bucket_of[i]] += min(steps[i], 0.0)
    order, first = _members(bucket_of, sums, falls, bound + noise)
    # The sums at the boundaries of buckets are computed first, and may rule out further buckets.
    _between_buckets(points, sums, order, first, best, noise)
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
    """Sort indices of points by the points (Shell sort with the gaps of Ciura).

    The sort is written out here, because the sorts of numba take many times longer to compile.
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
    """Return estimates of the median of some points and of half their interquartile range.

    They are computed from `_N_PROBES` of the points.
    """
    probes, order = np.empty(_N_PROBES), np.empty(_N_PROBES, np.int64)
    for i in range(_N_PROBES):
        probes[i] = points[i * (points.shape[0] - 1) // (_N_PROBES - 1)]
        order[i] = i
    _sort(probes, order)
    low, high = probes[order[_N_PROBES // 4]], probes[order[3 * _N_PROBES // 4]]
    return probes[order[_N_PROBES // 2]], 0.5 * (high - low)


@jit(inline="always")
def _in_buckets(points, center, scale, n_buckets):
    """Return the number of the bucket of each point."""
    bucket_of, half, last = np.empty(points.shape[0], np.int16), 0.5 * n_buckets, n_buckets - 1.0
    factor = 1.0 / scale
    for i in range(points.shape[0]):
        # A larger point must never get a lower bucket, in spite of rounding errors.
        place = (points[i] - center) * factor
        share = 1.0 - 1.0 / (1.0 + abs(place))
        share = -share if place < 0 else share
        bucket_of[i] = np.int16(min(last, (share + 1.0) * half))
    return bucket_of


@jit(inline="always")
def _members(bucket_of, sums, falls, most):
    """Return indices of points ordered by bucket, and the start of each bucket.

    Buckets in which all sums are above `most` are empty.
    """
    n_buckets, below, has_any = sums.shape[0], 0.0, False
    first, is_open = np.zeros(n_buckets + 1, np.int64), np.zeros(n_buckets, np.bool_)
    for bucket in range(n_buckets):
        is_open[bucket] = below + falls[bucket] <= most
        has_any |= is_open[bucket]
        below += sums[bucket]
    if not has_any:
        return np.empty(0, np.int64), first
    for bucket in bucket_of:
        first[bucket + 1] += is_open[bucket]
    for bucket in range(n_buckets):
        first[bucket + 1] += first[bucket]
    place_of, order = first.copy(), np.empty(first[n_buckets], np.int64)
    for i in range(bucket_of.shape[0]):
        bucket = bucket_of[i]
        if is_open[bucket]:
            order[place_of[bucket]] = i
            place_of[bucket] += 1
    return order, first


@jit(inline="always")
def _between_buckets(points, sums, order, first, best, noise):
    """Update `best` with the intervals between buckets.

    `best` is (least sum, low, high, smallest difference of points). Empty buckets are left out: a
    sum below the bound is only at a boundary between two buckets that are not.
    """
    # `largest` is the largest point of the buckets so far. Its initial value inf makes `_consider`
    # reject the interval below the first point.
    below, largest = 0.0, np.inf
    for bucket in range(sums.shape[0]):
        if first[bucket] < first[bucket + 1]:
            low, high = np.inf, -np.inf
            for place in range(first[bucket], first[bucket + 1]):
                point = points[order[place]]
                low, high = min(low, point), max(high, point)
            _consider(below, largest, low, best, noise)
            largest = high
        below += sums[bucket]


@jit
def _consider(value, low, high, best, noise):
    """Replace the best interval by (low, high) if its sum `value` is less.

    It is also replaced if the sums are equal and the new interval is wider. `best` is (least sum,
    low, high, smallest difference of points).
    """
    if not high - low > best[3] + _ROUNDING * abs(low) or value > best[0] + noise:
        return
    if value < best[0] - noise or high - low > best[2] - best[1]:
        best[0], best[1], best[2] = min(value, best[0]), low, high
