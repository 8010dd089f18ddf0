"""Ex-kCenter: cuts that part no row from its centre, then boxes of equal size."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import StrOptions

from tao_cluster._utils.matrices import ranges
from tao_cluster.objectives import KCenter
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.tree import midpoint

from .base import GreedyTree, Method
from .builder_input import BuilderInput
from .growth import Cut, grow


@dataclass(kw_only=True, eq=False, repr=False)
class ExKCenter(GreedyTree):
    """Ex-kCenter: clusters no row of which is far from its centre.

    Clean cuts, which part no row from its reference centre, are made as long as there are any;
    in the end they give the same cells in whatever order they are made, so the one that parts
    the centres most evenly comes first, ties to the lowest feature and threshold. A cell of s
    centres that no clean cut parts is divided into floor(s ** (1 / d)) ** d boxes of equal size,
    d being the number of features in which it has any extent (Laber & Murtinho 2021, algorithm
    1). Cuts of the grid that leave no rows on a side are left out. Leaves of a cell have different
    labels out of those of its centres, so that their summed distances to the farthest row are
    least; a centre without rows gets no leaf.

    With centres anywhere the largest distance is O(sqrt(d) k ** (1 - 1 / d)) times the optimal
    one, if the reference is optimal (theorem 2). In many dimensions, s < 2 ** d, the grid is the
    cell itself: then ``rest="halves"`` has the same number of leaves as centres and less cost.

    Every cost is the largest Euclidean distance of a row to the centre of its cluster, and the
    best centre of a cluster is the middle of the smallest ball that holds it. Weights do not
    matter, but that rows of weight 0 are absent.

    Parameters
    ----------
    rest : {"grid", "halves"}, default="grid"
        What is done with a cell of s centres where no clean cut is left: the paper's grid, or
        s - 1 further cuts, each through the middle of the longest side of the box of the leaf
        that has the longest one.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering: None is :class:`tao_cluster.objectives.FarthestFirst`, others as
        in :class:`IMM`.
    n_clusters, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Attributes
    ----------
    inertia_, free_inertia_ : float
        Largest distance of a row to the centre of its cluster.

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
        rule, growth = CleanCuts.of(points), Growth()
        root = Cell(points.rows, np.unique(points.labels[points.rows]))
        leaves = {growth.add(root.label): root}
        grow(growth, leaves, rule)
        for node, cell in sorted(leaves.items()):
            if len(cell.clusters) > 1:
                divide_cell(growth, node, cell, points, self.rest)
        return growth


def divide_cell(growth, node, cell, points, rest):
    """Divide a cell of several centres that no clean cut parts into as many leaves at most.

    Parameters
    ----------
    growth : Growth, altered
    node : int, the leaf of the cell
    cell : Cell
    points : BuilderInput
    rest : {"grid", "halves"}
    """
    rule = Halves(points) if rest == "halves" else Grid.of(points, cell)
    leaves = {node: rule.leaf(cell.rows)}
    grow(growth, leaves, rule, growth.n_leaves + len(cell.clusters) - 1)
    nodes = sorted(leaves)
    # Squared distances order rows as distances do, but sums are those of distances.
    farthest = [points.distances[leaves[leaf].rows][:, cell.clusters].max(axis=0) for leaf in nodes]
    for leaf, cluster in zip(*linear_sum_assignment(np.sqrt(farthest)), strict=True):
        growth.label[nodes[leaf]] = int(cell.clusters[cluster])


@dataclass(frozen=True, eq=False)
class Cell:
    """Rows and the clusters that they belong to: int64 arrays, increasing."""

    rows: np.ndarray
    clusters: np.ndarray

    @property
    def label(self):
        """The lowest of the clusters."""
        return self.clusters[0]


@dataclass(frozen=True, eq=False)
class CleanCuts:
    """Cut where no row is parted from its centre.

    A cut is clean where it goes through no box of a cluster. Boxes are never divided, so that
    they are made once.

    Parameters
    ----------
    points : BuilderInput
    low, high : float64 arrays of shape (k, d)
        Box of each cluster with its centre; anything for clusters without rows.
    """

    points: BuilderInput
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, points):
        """The rule of some points."""
        low, high = points.centers.copy(), points.centers.copy()
        labels = points.labels[points.rows]
        for k in np.unique(labels):
            least, largest = ranges(points.X[points.rows[labels == k]])
            low[k], high[k] = np.minimum(low[k], least), np.maximum(high[k], largest)
        return cls(points, low, high)

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`: every leaf with several centres is to be split."""
        return np.inf if len(leaf.clusters) > 1 else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if there is no clean cut."""
        low = np.sort(self.low[leaf.clusters], axis=0)
        high = np.sort(self.high[leaf.clusters], axis=0)
        # With j boxes to the left of a cut, these end before any other begins.
        is_clean = (high[:-1] < low[1:]).T
        if not is_clean.any():
            return None
        n_left = np.arange(1, len(leaf.clusters))
        evenness = np.minimum(n_left, n_left[::-1])
        feature, place = divmod(np.where(is_clean, evenness, 0).argmax(), len(n_left))
        return Cut(int(feature), float(high[place, feature]), np.inf)

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        is_left = self.high[leaf.clusters, cut.feature] <= cut.threshold
        return (
            Cell(leaf.rows[rows_left], leaf.clusters[is_left]),
            Cell(leaf.rows[~rows_left], leaf.clusters[~is_left]),
        )


@dataclass(frozen=True, eq=False)
class Box:
    """Rows, and for each feature the numbers lo..hi-1 of the cuts of the grid that are left."""

    rows: np.ndarray
    lo: np.ndarray
    hi: np.ndarray

    label = 0  # found when all boxes are there


@dataclass(frozen=True, eq=False)
class Grid:
    """Cut a box into m ** d boxes of equal size, middle cuts first.

    Parameters
    ----------
    points : BuilderInput
    low, width : float64 arrays of shape (d,)
        Where the box begins, and how wide its parts are; 0 where it has no extent.
    n_parts : int, the m of every feature with an extent
    """

    points: BuilderInput
    low: np.ndarray
    width: np.ndarray
    n_parts: int

    @classmethod
    def of(cls, points, cell):
        """The grid of the box of a cell's rows and centres."""
        low, high = ranges(points.X[cell.rows])
        places = points.centers[cell.clusters]
        low = np.minimum(low, places.min(axis=0))
        extent = np.maximum(high, places.max(axis=0)) - low
        n_parts = whole_root(len(cell.clusters), np.count_nonzero(extent))
        return cls(points, low, extent / n_parts, n_parts)

    def leaf(self, rows):
        """The whole box."""
        lo = np.zeros(len(self.low), np.int64)
        return Box(rows, lo, np.where(self.width > 0, self.n_parts - 1, lo))

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`."""
        return np.inf if (leaf.lo < leaf.hi).any() else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; the first feature with a cut that parts the rows."""
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
        """See :class:`greedy.growth.Rule`."""
        is_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        numbers = np.arange(self.n_parts - 1)
        at = int(np.searchsorted(self._threshold(cut.feature, numbers), cut.threshold))
        hi, lo = leaf.hi.copy(), leaf.lo.copy()
        hi[cut.feature], lo[cut.feature] = at, at + 1
        return Box(leaf.rows[is_left], leaf.lo, hi), Box(leaf.rows[~is_left], lo, leaf.hi)

    def _threshold(self, feature, number):
        return self.low[feature] + (number + 1) * self.width[feature]


def whole_root(n, power):
    """Largest m >= 1 with m ** power <= n; 1 for power 0.

    Examples
    --------
    >>> whole_root(27, 3), whole_root(26, 3), whole_root(5, 60)
    (3, 2, 1)
    """
    m = 1
    while power and (m + 1) ** int(power) <= n:
        m += 1
    return m


@dataclass(frozen=True, eq=False)
class Halves:
    """Cut the leaf whose box has the longest side in the middle of this side.

    Parameters
    ----------
    points : BuilderInput
    """

    points: BuilderInput

    def leaf(self, rows):
        """Leaf of some rows: their box is that of the rows alone."""
        low, high = ranges(self.points.X[rows])
        return Half(rows, low, high)

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`: the longest side, 0 if all rows are equal."""
        return float((leaf.high - leaf.low).max())

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; ties to the lowest feature."""
        side = leaf.high - leaf.low
        feature = int(side.argmax())
        middle = midpoint(leaf.low[feature], leaf.high[feature])
        return Cut(feature, middle, float(side[feature]))

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        is_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        return self.leaf(leaf.rows[is_left]), self.leaf(leaf.rows[~is_left])


@dataclass(frozen=True, eq=False)
class Half:
    """Rows and their box: int64 array, float64 arrays of shape (d,)."""

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray

    label = 0  # found when all leaves are there
