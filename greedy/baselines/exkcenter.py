"""Ex-kCenter: cuts that separate no row from its centre, then boxes of equal size."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import StrOptions

from tao_cluster._utils.matrices import ranges
from tao_cluster.objectives import KCenter
from tao_cluster.tree.tree import midpoint

from ..base import GreedyTree, Method
from ..builder_input import BuilderInput
from ..growth import Cut, RowRule, grow, grown


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

    keeps_labels = True

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "rest": [StrOptions({"grid", "halves"})],
    }

    def _method(self):
        return Method(KCenter(), self._fit_tree)

    def _grow(self, points, random_state):
        root = Cell(points.rows, np.unique(points.labels[points.rows]))
        growth, leaves = grown(CleanCuts(points), root)
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
    rule = Halves(points) if rest == "halves" else Grid(points, cell)
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


class CleanCuts:
    """Rule of growth: make cuts that separate no row from its centre.

    A cut is clean if it crosses no bounding box of a cluster. Clean cuts never divide a box, so
    that the boxes are computed once.

    Parameters
    ----------
    points : BuilderInput

    Attributes
    ----------
    low, high : float64 arrays of shape (k, d)
        Bounding box of each cluster and its centre; not used for clusters without rows.
    """

    def __init__(self, points):
        self.points, self.low, self.high = points, points.centers.copy(), points.centers.copy()
        labels = points.labels[points.rows]
        for k in np.unique(labels):
            least, largest = ranges(points.X[points.rows[labels == k]])
            self.low[k] = np.minimum(self.low[k], least)
            self.high[k] = np.maximum(self.high[k], largest)

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


class Grid(RowRule):
    """Rule of growth: cut a box into m parts of equal width per feature, middle cuts first.

    Parameters
    ----------
    points : BuilderInput
    cell : Cell
        The grid divides the bounding box of its rows and centres.

    Attributes
    ----------
    cuts : float64 array of shape (d, m - 1)
        The thresholds; NaN in features without extent.
    """

    def __init__(self, points, cell):
        low, high = ranges(points.X[cell.rows])
        places = points.centers[cell.clusters]
        low = np.minimum(low, places.min(axis=0))
        extent = np.maximum(high, places.max(axis=0)) - low
        n_parts = integer_root(len(cell.clusters), np.count_nonzero(extent))
        width = np.where(extent > 0, extent / n_parts, np.nan)
        self.points, self.cuts = points, low[:, None] + np.arange(1, n_parts) * width[:, None]

    def leaf(self, rows):
        """Return a leaf with the given rows."""
        return RowLeaf(rows)

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf."""
        del leaf
        return np.inf

    def search(self, leaf):
        """Return the middle one of the cuts between rows, in the first feature that has any."""
        for feature in np.flatnonzero(~np.isnan(self.cuts).any(axis=1) & (self.cuts.size > 0)):
            values, cuts = self.points.column(leaf.rows, feature), self.cuts[feature]
            some = cuts[(values.min() <= cuts) & (cuts < values.max())]
            if len(some):
                return Cut(int(feature), float(some[len(some) // 2]), np.inf)
        return None


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
class Halves(RowRule):
    """Rule of growth: cut the longest side of the bounding boxes of all leaves in its middle.

    Parameters
    ----------
    points : BuilderInput
    """

    points: BuilderInput

    def leaf(self, rows):
        """Return the leaf of some rows, with their bounding box (without the centres)."""
        return BoundedLeaf(rows, *ranges(self.points.X[rows]))

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: the longest side of the bounding box.

        It is 0 if all rows are equal.
        """
        return float((leaf.high - leaf.low).max())

    def search(self, leaf):
        """Return the cut through the middle of the longest side (ties: the lowest feature)."""
        feature = int((leaf.high - leaf.low).argmax())
        middle = midpoint(leaf.low[feature], leaf.high[feature])
        return Cut(feature, middle, self.upper_bound(leaf))


@dataclass(frozen=True, eq=False)
class RowLeaf:
    """Rows of a leaf: an int64 array."""

    rows: np.ndarray

    label = 0  # unused; split_cell sets the labels of the tree


@dataclass(frozen=True, eq=False)
class BoundedLeaf(RowLeaf):
    """Rows of a leaf and their bounding box: float64 arrays of shape (d,)."""

    low: np.ndarray
    high: np.ndarray
