"""CLTree: dense regions found by a decision tree between rows and uniform points (a baseline)."""

from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import xlogy
from sklearn.utils._param_validation import Interval

from tao_cluster._utils.matrices import ranges
from tao_cluster.objectives import cluster_means
from tao_cluster.objectives.base import cluster_sums
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from ..base import POSITIVE, CostTree
from ..builder_input import squared_distances
from ..cuts import quantization_scale, quantized
from ..growth import Cut, grown
from .leaf_clusters import deviance, matched_labels, merge_closest, pruned_growth

_LEAST_GAIN = 1e-12  # in bits per unit of mass; smaller information gains are rounding errors


@dataclass(kw_only=True, eq=False, repr=False)
class CLTree(CostTree):
    """CLTree: clusters as dense regions, found by a tree between rows and uniform points.

    Use it as a baseline: a tree that looks for dense regions in sparse surroundings, without the
    free clustering. The reference only gives the cluster numbers and the cost to compare with.

    Growth (Liu, Xia & Yu 2000, 2005). The method imagines uniform points in every region. They are
    counted, never created. A region gets the share of its parent's points that equals its share of
    the parent's volume. Before a region is cut, it gets at least as many points as rows. For each
    feature, the first cut maximises the information gain between rows and uniform points. Up to two
    further cuts in the sparser side of the previous cut (the paper's evaluateCuts) then move it to
    the edge of a dense region. The chosen feature is the one with the sparsest region beside its
    cut. Boundaries are closed: a row on a boundary belongs to the side that gives the larger
    information gain.

    Pruning goes from the leaves to the root (evaluatePrune). Regions of few rows are not examined.
    Two siblings are merged if the sparser one has a relative density (rows divided by uniform
    points) above `min_rd`, or if the denser one has fewer rows than uniform points.

    Three further steps are not in the paper, which returns all regions with more rows than
    uniform points:

    1. These dense regions are joined to `n_clusters` clusters, as :class:`CUBT` joins leaves. A
       sparse region belongs to the cluster whose mean is nearest to the mean of its rows (or to
       its centre, if it has no rows). Each cluster gets the number of the reference cluster with
       which it agrees best. With fewer dense regions, some clusters have no rows.
    2. A cut is removed if one of its sides has less than the share `min_y` of the rows, or if all
       leaves below it belong to one cluster.
    3. Further cuts are removed until there are at most `max_leaves` leaves. The first ones to go
       are those that save least of the squared distances to the cluster means.

    If `fit` gets an embedding, the tree still clusters X.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_leaves : int, default=None
        Maximum number of leaves. None means four times the number of clusters.
    min_split : float in (0, 1], default=0.02
        Minimum weight of a region that is cut, as a share of the weight of all rows.
    min_y : float in [0, 1], default=0.01
        Minimum weight, as a share of all rows, of a region that is examined in pruning and of a
        leaf.
    min_rd : float, default=0.1
        Relative density above which a region is merged with its sibling.
    objective, reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The attributes and errors are also those of :class:`IMM`.

    Notes
    -----
    The papers search the best parameters on a grid; the default values are our choice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CLTree
    >>> model = CLTree(3, max_leaves=6, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves, len(set(model.labels_))
    (6, 3)
    """

    max_leaves: int | None = None
    min_split: float = 0.02
    min_y: float = 0.01
    min_rd: float = 0.1

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
        "min_split": [Interval(Real, 0, 1, closed="right")],
        "min_y": [Interval(Real, 0, 1, closed="both")],
        "min_rd": [Interval(Real, 0, None, closed="left")],
    }

    def _grow(self, points, random_state):
        n_clusters = len(points.centers)
        rule = CutDensity(points, self.min_split)
        boxes = {0: rule.root()}
        growth, _ = grown(rule, boxes[0], 1 if n_clusters == 1 else None)
        for node, left in enumerate(growth.left):
            if left >= 0:
                boxes[left], boxes[growth.right[node]] = boxes[node].parts
        least = self.min_y * rule.mass[points.rows].sum()
        ends = _pruned(growth, boxes, least, self.min_rd)
        idle = [node for node, box in boxes.items() if box.n_rows < max(least, 1)]
        labels = _labels(points, {node: boxes[node] for node in ends})
        growth = pruned_growth(growth, labels, points.n_features, idle)
        max_leaves = 4 * n_clusters if self.max_leaves is None else self.max_leaves
        return prune_stepwise(points, growth, max_leaves)


@dataclass(frozen=True, eq=False)
class Box:
    """A region: its rows, its bounds, and its amounts of rows (by weight) and uniform points."""

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_rows: int
    n_uniform: float
    parts: list = field(default_factory=list)  # the two regions into which it has been cut
    label = 0

    @property
    def density(self):
        """Amount of rows (by weight) divided by the amount of uniform points."""
        return self.n_rows / self.n_uniform if self.n_uniform > 0 else np.inf


@dataclass(frozen=True)
class BoxCut(Cut):
    """A cut, and the coordinate at which it divides the box."""

    place: float = 0.0


class CutDensity:
    """Rule of growth: cut regions beside their sparsest part.

    Parameters
    ----------
    points : BuilderInput
    min_split : float
        Minimum mass of a region that is cut, as a share of the mass of all rows.

    Attributes
    ----------
    mass : float64 array of shape (n,)
        Quantized weights.
    """

    def __init__(self, points, min_split):
        self.points, weight = points, points.weight
        scale, _ = quantization_scale(weight.sum(), len(weight))
        self.mass = quantized(np.ones(len(weight)), scale, weight, np.inf)
        self.least = min_split * self.mass[points.rows].sum()

    def root(self):
        """Return the region of all rows."""
        rows = self.points.rows
        n_rows = int(self.mass[rows].sum())
        return Box(rows, *ranges(self.points.X[rows]), n_rows, float(n_rows))

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: the mass of the rows of the region.

        If the mass is below `least`, the bound is 0, so that the region is not cut.
        """
        return float(leaf.n_rows) if leaf.n_rows >= self.least else 0.0

    def search(self, leaf):
        """Return the best cut of a region, or None if no cut gains information."""
        best = self.points.best_cut(partial(self._best_cut, leaf))
        return best and BoxCut(best[1], best[2], float(leaf.n_rows), best[3])

    def _best_cut(self, leaf, lo, hi):
        """Return the cut beside the sparsest interval: (density, feature, threshold, place).

        The box is divided at `place`, and rows go left if their value is at most the threshold. The
        threshold is the place or, if the rows exactly at the place go right, the next smaller
        float. The feature is -1 if no cut of the features lo..hi-1 gains information.
        """
        n_uniform, cuts = max(leaf.n_uniform, float(leaf.n_rows)), []
        for feature in range(lo, hi):
            low, high = leaf.low[feature], leaf.high[feature]
            if not low < high:
                continue
            values = self.points.column(leaf.rows, feature)
            axis = Axis(values, self.mass[leaf.rows], n_uniform / (high - low))
            density, place, n_below = axis.look_ahead((low, 0, high, len(axis.values)))
            if n_below < 0:
                continue
            is_right = n_below < len(axis.values) and axis.values[n_below] == place
            threshold = np.nextafter(place, -np.inf) if is_right else place
            cuts.append((float(np.float32(density)), feature, float(threshold), float(place)))
        return min(cuts, default=(np.inf, -1, np.inf, 0.0))

    def split(self, leaf, cut):
        """Return the two regions into which a cut divides a region."""
        goes_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        length = leaf.high[cut.feature] - leaf.low[cut.feature]
        share = (cut.place - leaf.low[cut.feature]) / length
        n_uniform = max(leaf.n_uniform, float(leaf.n_rows))
        leaf.parts.clear()
        for is_left in (True, False):
            rows = leaf.rows[goes_left == is_left]
            low, high = leaf.low.copy(), leaf.high.copy()
            (high if is_left else low)[cut.feature] = cut.place
            part = (share if is_left else 1.0 - share) * n_uniform
            leaf.parts.append(Box(rows, low, high, int(self.mass[rows].sum()), part))
        return leaf.parts


class Axis:
    """Rows and uniform points of a region, projected to the axis of one feature.

    An interval of the axis is a tuple (low, first, high, last). It reaches from low to high, and it
    contains the distinct values first..last-1 of the rows.

    Parameters
    ----------
    values, mass : float64 arrays of shape (m,), of the rows
    per_length : float
        Mass of the uniform points per unit of length.

    Attributes
    ----------
    values : float64 array of shape (u,)
        Distinct values of the rows, increasing.
    below : float64 array of shape (u + 1,)
        Mass of the rows below each value; the last element is the mass of all rows.
    """

    def __init__(self, values, mass, per_length):
        self.values, place = np.unique(values, return_inverse=True)
        self.below = np.concatenate([[0.0], np.cumsum(np.bincount(place, mass))])
        self.per_length = per_length

    def look_ahead(self, whole):
        """Return the cut at the edge of a sparse interval: (density, place, n_below).

        This is CLTree's look-ahead, steps 2 to 7 of its algorithm evaluateCuts. The first cut is
        the one with the largest information gain. Up to two further cuts, each inside a sparse part
        next to the previous cut, move it to the place where a dense interval ends. The density is
        that of the sparse interval beside the returned cut. `n_below` is -1 if no cut has a
        positive gain.
        """
        first = self._best_gain(whole)
        if first is None:
            return np.inf, 0.0, -1
        left, right = _halves(whole, first)
        is_left = self._density(left) <= self._density(right)
        sparse = left if is_left else right
        second = self._best_gain(sparse)
        if second is None:
            return self._density(sparse), *first
        left, right = _halves(sparse, second)
        outer, between = (left, right) if is_left else (right, left)
        density = self._density(between)
        if density > self._density(outer):
            return self._density(outer), *second
        third = self._best_gain(between)
        if third is None:
            return density, *second
        return min(map(self._density, _halves(between, third))), *third

    def _density(self, part):
        """Return the mass of the rows divided by that of the uniform points in an interval."""
        n = (part[2] - part[0]) * self.per_length
        return (self.below[part[3]] - self.below[part[1]]) / n if n > 0 else np.inf

    def _best_gain(self, part):
        """Return the cut of an interval with the largest information gain: (place, n_below).

        The rows whose value equals the place may go left or right; the function takes the choice
        with the larger gain. If the place is an end of the interval, one side contains only these
        rows and has length 0. The distinct values 0..n_below-1 of the feature go left. The result
        is None if no cut has a positive gain.
        """
        low, first, high, last = part
        places = np.repeat(self.values[first:last], 2)
        n_below = first + (np.arange(len(places)) + 1) // 2  # the rows go right, then left
        rows, points = self.below[last] - self.below[first], (high - low) * self.per_length
        left, points_left = (
            self.below[n_below] - self.below[first],
            (places - low) * self.per_length,
        )
        gain = _entropy(rows, points) - _entropy(left, points_left)
        gain -= _entropy(rows - left, points - points_left)
        # Not cuts: one side would have no rows and length 0.
        gain[(places == low) & (n_below == first)] = 0.0
        gain[(places == high) & (n_below == last)] = 0.0
        most = gain.max(initial=0.0)
        if most <= _LEAST_GAIN * (rows + points):
            return None
        at = int(np.argmax(gain * (1.0 + _LEAST_GAIN) >= most))
        return places[at], int(n_below[at])


def _halves(part, cut):
    """Return the two intervals into which a cut (place, n_below) divides an interval."""
    return (*part[:2], *cut), (*cut, *part[2:])


def _entropy(y, n):
    """Return y + n times the entropy, in bits, of the fractions y / (y + n) and n / (y + n).

    y is the mass of some rows, n the mass of the uniform points.
    """
    total = np.maximum(y + n, np.finfo(float).tiny)
    return -(xlogy(y, y / total) + xlogy(n, n / total)) / np.log(2.0)


def _pruned(growth, boxes, least, min_rd):
    """Return the nodes that are leaves of the pruned tree (the paper's evaluatePrune)."""
    is_end = {}
    for node in reversed(range(growth.n_nodes)):
        children = [growth.left[node], growth.right[node]]
        if children[0] < 0:
            is_end[node] = True
            continue
        for child in children:
            is_end[child] = is_end[child] or boxes[child].n_rows < least
        sparser, denser = sorted(boxes[child].density for child in children)
        is_end[node] = all(is_end[child] for child in children) and (
            sparser > min_rd or denser < 1.0
        )
    ends, todo = set(), [0]
    while todo:
        node = todo.pop()
        if is_end[node]:
            ends.add(node)
        else:
            todo += [growth.left[node], growth.right[node]]
    return ends


def _labels(points, boxes):
    """Return the labels of the leaves: join dense ones, then add sparse ones to the nearest."""
    nodes = sorted(boxes)
    full = [node for node in nodes if len(boxes[node].rows)]
    dense = [node for node in full if boxes[node].density >= 1.0] or full
    statistics = {node: deviance(points, boxes[node].rows) for node in full}
    group, means = merge_closest([statistics[node] for node in dense], len(points.centers))
    group = dict(zip(dense, group, strict=True))
    for node in nodes:
        if node not in group:
            box = boxes[node]
            middle = statistics[node][1] if node in statistics else (box.low + box.high) / 2
            group[node] = cdist(middle[None], means).argmin()
    rows_of = {node: boxes[node].rows for node in nodes}
    return matched_labels(points, rows_of, [group[node] for node in nodes])


def prune_stepwise(points, growth, max_leaves):
    """Merge pairs of sibling leaves, the weakest splits first, until there are few enough leaves.

    The next pair is the one whose union in its best cluster increases the cost least; ties go to
    the lowest node. The cost is the sum of squared distances to the cluster means before pruning.
    Clusters may lose all their rows. Splits whose leaves all have one label are removed as well.

    Parameters
    ----------
    points : BuilderInput
    growth : Growth
        All its leaves have rows and labels. It is modified.
    max_leaves : int >= 1

    Returns
    -------
    Growth
    """
    costs, clusters = _costs(points, growth)
    left, right, label = np.array(growth.left), np.array(growth.right), np.array(growth.label)
    is_leaf, best = left < 0, clusters[costs.argmin(axis=1)]
    growth.label = np.where(is_leaf, label, best).tolist()
    # Cost of the rows of each node, in the cluster of the leaf or in its best cluster.
    paid = costs[np.arange(len(left)), np.searchsorted(clusters, growth.label)]
    loss, undone = paid - (paid[left] + paid[right]), set()
    for _ in range(growth.n_leaves - max_leaves):
        is_pair = ~is_leaf & is_leaf[left] & is_leaf[right]
        node = int(np.where(is_pair, loss, np.inf).argmin())
        is_leaf[node] = True
        undone.add(node)
    kept = growth.without(undone).to_tree(points.X.shape[1])
    return Growth.from_tree(kept.prune())


def _costs(points, growth):
    """Return the cost of the rows of each node in each cluster that has rows.

    Returns
    -------
    costs : float64 array of shape (n_nodes, number of clusters with rows)
    clusters : int64 array, the numbers of these clusters
    """
    X, weight = points.X[points.rows], points.weight[points.rows]
    leaves = growth.to_tree(X.shape[1]).route(kernel_arrays(X))
    clusters, of_row = np.unique(np.array(growth.label)[leaves], return_inverse=True)
    distances = squared_distances(X, cluster_means(X, of_row, weight, len(clusters)))
    costs = cluster_sums(distances, leaves, weight, growth.n_nodes)
    for node in reversed(range(growth.n_nodes)):  # children have higher numbers than their parent
        if growth.left[node] >= 0:
            costs[node] = costs[growth.left[node]] + costs[growth.right[node]]
    return costs, clusters
