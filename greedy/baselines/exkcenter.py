"""Ex-kCenter: cuts that separate no row from its centre, then boxes of equal size."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import StrOptions

from tao_cluster._utils.matrices import ranges
from tao_cluster.objectives import KCenter
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.tree import midpoint

from ..base import GreedyTree, Method
from ..builder_input import BuilderInput
from ..growth import Cut, grow


@dataclass(kw_only=True, eq=False, repr=False)
class ExKCenter(GreedyTree):
    """Ex-kCenter: a tree whose clusters have a small radius.

    Use it if no row may be far from the centre of its cluster. The cost is the largest Euclidean
    distance of a row to the centre of its cluster, and the best centre is that of the smallest
    enclosing ball. Weights have no effect, except that rows of weight 0 are ignored.

    A cut is clean if it separates no row from its reference centre. Clean cuts are made as long
    as there are any. Their order does not change the final cells; the cut that divides the
    centres most evenly comes first (ties: lowest feature, then lowest threshold). A cell of s
    centres without a clean cut is divided into floor(s ** (1 / d)) ** d boxes of equal size,
    where d is the number of features in which the cell has any extent (Laber & Murtinho 2021,
    algorithm 1). Cuts of this grid that leave no rows on a side are omitted. The leaves of a cell
    get different labels of its centres such that the sum of their distances to the farthest row
    is smallest. A centre without rows gets no leaf.

    With optimal centres, the cost is O(sqrt(d) k ** (1 - 1 / d)) times the optimal cost if the
    reference is optimal (theorem 2). In many dimensions (s < 2 ** d) the grid is a single box;
    then ``rest="halves"`` gives one leaf per centre and costs less.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and the maximum number of leaves.
    rest : {"grid", "halves"}, default="grid"
        How to divide a cell of s centres that no clean cut divides: "grid" is the paper's grid;
        "halves" makes s - 1 cuts, each through the middle of the longest side among the bounding
        boxes of the leaves.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering. None is :class:`tao_cluster.objectives.FarthestFirst`; other values
        are as in :class:`IMM`.
    standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The errors are also those of :class:`IMM`.

    Attributes
    ----------
    inertia_, free_inertia_ : float
        Largest distance of a row to the centre of its cluster, for the tree and for the free
        clustering; distances of standardised columns with ``standardize=True``.
    tree_, labels_, cluster_centers_, cost_increase_, ...
        As in :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExKCenter
    >>> model = ExKCenter(3, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves, round(model.cost_increase_, 1)
    (2, 85.8)
    >>> halves = ExKCenter(3, rest="halves", random_state=0).fit(load_iris().data)
    >>> halves.tree_.n_leaves, round(halves.cost_increase_, 1)
    (3, 13.4)
    """

    rest: str = "grid"

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "rest": [StrOptions({"grid", "halves"})],
    }

    def _method(self):
        return Method(KCenter(), self._fit_tree)

    def _points(self, problem, labels=None):
        return super()._points(problem, problem.free.labels)

    def _grow(self, points, random_state):
        rule, growth = CleanCuts.from_input(points), Growth()
        root = Cell(points.rows, np.unique(points.labels[points.rows]))
        leaves = {growth.add(root.label): root}
        grow(growth, leaves, rule)
        for node, cell in sorted(leaves.items()):
            if len(cell.clusters) > 1:
                split_cell(growth, node, cell, points, self.rest)
        return growth


def split_cell(growth, node, cell, points, rest):
    """Divide a cell without a clean cut into at most as many leaves as it has centres.

    Parameters
    ----------
    growth : Growth
        It is modified.
    node : int
        The leaf of the cell.
    cell : Cell
    points : BuilderInput
    rest : {"grid", "halves"}
    """
    rule = Halves(points) if rest == "halves" else Grid.from_cell(points, cell)
    leaves = {node: rule.leaf(cell.rows)}
    grow(growth, leaves, rule, growth.n_leaves + len(cell.clusters) - 1)
    nodes = sorted(leaves)
    # `points.distances` are squared; the labels minimise a sum of distances that are not squared.
    farthest = [points.distances[leaves[leaf].rows][:, cell.clusters].max(axis=0) for leaf in nodes]
    for leaf, cluster in zip(*linear_sum_assignment(np.sqrt(farthest)), strict=True):
        growth.label[nodes[leaf]] = int(cell.clusters[cluster])


@dataclass(frozen=True, eq=False)
class Cell:
    """Rows of a leaf and the clusters that they belong to: increasing int64 arrays."""

    rows: np.ndarray
    clusters: np.ndarray

    @property
    def label(self):
        """Label of the leaf: the lowest of its clusters."""
        return self.clusters[0]


@dataclass(frozen=True, eq=False)
class CleanCuts:
    """Rule of growth: make cuts that separate no row from its centre.

    A cut is clean if it crosses no bounding box of a cluster. Clean cuts never divide a box, so
    that the boxes are computed once.

    Parameters
    ----------
    points : BuilderInput
    low, high : float64 arrays of shape (k, d)
        Bounding box of each cluster and its centre; not used for clusters without rows.
    """

    points: BuilderInput
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def from_input(cls, points):
        """Compute the bounding boxes of the clusters of a BuilderInput and return the rule."""
        low, high = points.centers.copy(), points.centers.copy()
        labels = points.labels[points.rows]
        for k in np.unique(labels):
            least, largest = ranges(points.X[points.rows[labels == k]])
            low[k], high[k] = np.minimum(low[k], least), np.maximum(high[k], largest)
        return cls(points, low, high)

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf for several centres, else 0."""
        return np.inf if len(leaf.clusters) > 1 else 0.0

    def search(self, leaf):
        """Return the clean cut that divides the centres most evenly; None if there is none."""
        low = np.sort(self.low[leaf.clusters], axis=0)
        high = np.sort(self.high[leaf.clusters], axis=0)
        # A cut with j boxes on its left is clean if the j smallest upper ends lie below the other
        # lower ends.
        is_clean = (high[:-1] < low[1:]).T
        if not is_clean.any():
            return None
        n_left = np.arange(1, len(leaf.clusters))
        evenness = np.minimum(n_left, n_left[::-1])
        feature, place = divmod(np.where(is_clean, evenness, 0).argmax(), len(n_left))
        return Cut(int(feature), float(high[place, feature]), np.inf)

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides a leaf."""
        rows_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        is_left = self.high[leaf.clusters, cut.feature] <= cut.threshold
        return (
            Cell(leaf.rows[rows_left], leaf.clusters[is_left]),
            Cell(leaf.rows[~rows_left], leaf.clusters[~is_left]),
        )


@dataclass(frozen=True, eq=False)
class Box:
    """Rows of a leaf, and the grid cuts that may still be made: lo..hi-1 in each feature."""

    rows: np.ndarray
    lo: np.ndarray
    hi: np.ndarray

    label = 0  # unused; split_cell sets the labels of the tree


@dataclass(frozen=True, eq=False)
class Grid:
    """Rule of growth: cut a box into m parts of equal width per feature, middle cuts first.

    Parameters
    ----------
    points : BuilderInput
    low, width : float64 arrays of shape (d,)
        Lower corner of the box, and width of its parts (0 in features without extent).
    n_parts : int
        The number m of parts in each feature with an extent.
    """

    points: BuilderInput
    low: np.ndarray
    width: np.ndarray
    n_parts: int

    @classmethod
    def from_cell(cls, points, cell):
        """Return the grid of the bounding box of a cell's rows and centres."""
        low, high = ranges(points.X[cell.rows])
        places = points.centers[cell.clusters]
        low = np.minimum(low, places.min(axis=0))
        extent = np.maximum(high, places.max(axis=0)) - low
        n_parts = integer_root(len(cell.clusters), np.count_nonzero(extent))
        return cls(points, low, extent / n_parts, n_parts)

    def leaf(self, rows):
        """Return a leaf with the given rows, in which all cuts of the grid may still be made."""
        lo = np.zeros(len(self.low), np.int64)
        return Box(rows, lo, np.where(self.width > 0, self.n_parts - 1, lo))

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf or 0.

        It is inf if a cut of the grid may still be made in the leaf.
        """
        return np.inf if (leaf.lo < leaf.hi).any() else 0.0

    def search(self, leaf):
        """Return the middle one of the cuts between rows, in the first feature that has any."""
        for feature in np.flatnonzero(leaf.lo < leaf.hi):
            values = self.points.column(leaf.rows, feature)
            numbers = np.arange(leaf.lo[feature], leaf.hi[feature])
            cuts = self._threshold(feature, numbers)
            some = numbers[(values.min() <= cuts) & (cuts < values.max())]
            if len(some):
                threshold = self._threshold(feature, some[len(some) // 2])
                return Cut(int(feature), float(threshold), np.inf)
        return None

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides a leaf."""
        is_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        numbers = np.arange(self.n_parts - 1)
        at = int(np.searchsorted(self._threshold(cut.feature, numbers), cut.threshold))
        hi, lo = leaf.hi.copy(), leaf.lo.copy()
        hi[cut.feature], lo[cut.feature] = at, at + 1
        return Box(leaf.rows[is_left], leaf.lo, hi), Box(leaf.rows[~is_left], lo, leaf.hi)

    def _threshold(self, feature, number):
        return self.low[feature] + (number + 1) * self.width[feature]


def integer_root(n, power):
    """Return the largest integer m >= 1 with m ** power <= n; 1 if the power is 0.

    Examples
    --------
    >>> integer_root(27, 3), integer_root(26, 3), integer_root(5, 60)
    (3, 2, 1)
    """
    m = 1
    while power and (m + 1) ** int(power) <= n:
        m += 1
    return m


@dataclass(frozen=True, eq=False)
class Halves:
    """Rule of growth: cut the longest side of the bounding boxes of all leaves in its middle.

    Parameters
    ----------
    points : BuilderInput
    """

    points: BuilderInput

    def leaf(self, rows):
        """Return the leaf of some rows, with their bounding box (without the centres)."""
        low, high = ranges(self.points.X[rows])
        return BoundedLeaf(rows, low, high)

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: the longest side of the bounding box.

        It is 0 if all rows are equal.
        """
        return float((leaf.high - leaf.low).max())

    def search(self, leaf):
        """Return the cut through the middle of the longest side (ties: the lowest feature)."""
        side = leaf.high - leaf.low
        feature = int(side.argmax())
        middle = midpoint(leaf.low[feature], leaf.high[feature])
        return Cut(feature, middle, float(side[feature]))

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides a leaf."""
        is_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        return self.leaf(leaf.rows[is_left]), self.leaf(leaf.rows[~is_left])


@dataclass(frozen=True, eq=False)
class BoundedLeaf:
    """Rows of a leaf (int64 array) and their bounding box (float64 arrays of shape (d,))."""

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray

    label = 0  # unused; split_cell sets the labels of the tree
