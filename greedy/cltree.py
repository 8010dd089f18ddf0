"""CLTree: dense regions by decision trees that part the rows from uniform points."""

import heapq
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils._param_validation import Interval

from tao_cluster._utils.matrices import ranges
from tao_cluster.objectives import cluster_means
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from .base import POSITIVE, CostTree
from .builder_input import BuilderInput, squared_distances
from .cuts.impurity import Region, density_cut
from .growth import Cut, grow
from .leaf_clusters import deviance, matched_leaf_labels, merge_closest, pruned_growth
from .nodes import quantization_scale, quantized


@dataclass(kw_only=True, eq=False, repr=False)
class CLTree(CostTree):
    """The baseline: clusters as the dense regions of a tree that parts rows from uniform points.

    Liu, Xia & Yu (2000, 2005). Every region is filled with uniform points, as many as it has from
    its parent, at least as many as rows; they are never made, only counted. A cut of a feature
    has the most information gain on rows against uniform points; then up to two further cuts
    in the sparser side of the one before (evaluateCuts) move it to the edge of a dense region.
    The feature whose cut has the sparsest region beside it is taken. The tree is pruned from
    below (evaluatePrune): regions of few rows are not looked into, and two ends are one if the
    sparser one has a relative density (rows over uniform points) above `min_rd`, or if the denser
    one has fewer rows than uniform points.

    The paper leaves its user with the regions that have more rows than uniform points. Here they
    become `n_clusters` clusters: the two of them that lose least by it are joined (as
    :class:`CUBT` joins leaves) until there are few enough, a sparse region belongs to the cluster
    with the nearest mean (to its rows' mean, without rows to its middle), and the clusters get the
    numbers of the reference's with which they agree best. With fewer dense regions fewer clusters
    have rows. With an embedding it is still X that is clustered. Where the paper cuts, boundaries
    are closed: a row at the boundary belongs to the side with which more information is gained.

    For the paper a tree is a search for regions, and most of its leaves are none. Here it has to
    be read: a cut is left out if a side of it ends with less than the share `min_y` of the rows,
    which then go with the other side, or if both sides are of one cluster; then further cuts are
    taken back, those first that save least of the squared distances to the clusters' means,
    until there are `max_leaves` leaves.

    Parameters
    ----------
    max_leaves : int, default=None
        Leaves at most, which is not in the paper; None is four times the number of clusters.
    min_split : float in (0, 1], default=0.02
        Share of the rows (weight) that a region needs to be cut.
    min_y : float in [0, 1], default=0.01
        Share of the rows below which a region is not looked into when the tree is pruned, and
        is no leaf.
    min_rd : float, default=0.1
        Relative density above which a region is joined with its neighbour.
    n_clusters, objective, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Notes
    -----
    The defaults are ours; the papers look for the best on a grid.

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
        rule = CutDensity.of(points, self.min_split)
        growth, boxes = Growth(), {}
        leaves = _Kept({growth.add(): rule.root()}, boxes)
        grow(growth, leaves, rule, 1 if n_clusters == 1 else None)
        least = self.min_y * rule.mass[points.rows].sum()
        ends = _pruned(growth, boxes, least, self.min_rd)
        rows_of = {node: boxes[node].rows for node in ends}
        idle = [node for node, box in boxes.items() if box.n_rows < max(least, 1)]
        labels = _labels(points, boxes, rows_of)
        growth = pruned_growth(growth, ends, labels, points.n_features, idle)
        max_leaves = 4 * n_clusters if self.max_leaves is None else self.max_leaves
        return prune_stepwise(points, growth, max_leaves)


@dataclass(frozen=True, eq=False)
class Box:
    """Rows of a region, the region, and how much it has of rows and of uniform points."""

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_rows: int
    n_uniform: float
    label: int = 0

    @property
    def density(self):
        """Rows over uniform points."""
        return self.n_rows / self.n_uniform if self.n_uniform > 0 else np.inf


@dataclass(frozen=True)
class BoxCut(Cut):
    """A cut, and where it parts the box."""

    place: float = 0.0


class _Kept(dict):
    """Leaves by node that are all remembered, in `boxes`, when they are no leaves any more."""

    def __init__(self, leaves, boxes):
        super().__init__(leaves)
        self.boxes = boxes
        boxes.update(leaves)

    def __setitem__(self, node, leaf):
        super().__setitem__(node, leaf)
        self.boxes[node] = leaf


@dataclass(frozen=True, eq=False)
class CutDensity:
    """Cut regions beside their sparsest part.

    Parameters
    ----------
    points : BuilderInput
    mass : int64 array of shape (n,), weights as whole numbers
    least : float, mass that a region needs to be cut
    """

    points: BuilderInput
    mass: np.ndarray
    least: float

    @classmethod
    def of(cls, points, min_split):
        """The rule for some rows."""
        weight = points.weight
        scale, _ = quantization_scale(weight.sum(), len(weight), np.inf)
        mass = quantized(np.ones(len(weight)), scale, weight, np.inf)
        return cls(points, mass, min_split * mass[points.rows].sum())

    def root(self):
        """The region of all rows."""
        rows = self.points.rows
        n_rows = int(self.mass[rows].sum())
        return Box(rows, *ranges(self.points.X[rows]), n_rows, float(n_rows))

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`: the mass of the rows."""
        return float(leaf.n_rows) if leaf.n_rows >= self.least else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if nothing is gained."""
        n_uniform = max(leaf.n_uniform, float(leaf.n_rows))
        region = Region(leaf.rows, self.mass, leaf.low, leaf.high, n_uniform)
        best = self.points.best_cut(density_cut, self.points.inverse_index(leaf.rows), region)
        return best and BoxCut(best[1], best[2], float(leaf.n_rows), best[3])

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        goes_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        length = leaf.high[cut.feature] - leaf.low[cut.feature]
        share = (cut.place - leaf.low[cut.feature]) / length
        n_uniform, parts = max(leaf.n_uniform, float(leaf.n_rows)), []
        for is_left in (True, False):
            rows = leaf.rows[goes_left == is_left]
            low, high = leaf.low.copy(), leaf.high.copy()
            (high if is_left else low)[cut.feature] = cut.place
            part = (share if is_left else 1.0 - share) * n_uniform
            parts.append(Box(rows, low, high, int(self.mass[rows].sum()), part))
        return tuple(parts)


def _pruned(growth, boxes, least, min_rd):
    """Nodes that are the leaves of the pruned tree (evaluatePrune)."""
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


def _labels(points, boxes, rows_of):
    """Labels of the leaves: dense ones joined, sparse ones to the nearest cluster."""
    full = sorted(node for node in rows_of if len(rows_of[node]))
    dense = [node for node in full if boxes[node].density >= 1.0] or full
    statistics = {node: deviance(points, rows_of[node]) for node in full}
    group, joint = merge_closest([statistics[node] for node in dense], len(points.centers))
    group = dict(zip(dense, group, strict=True))
    sparse = sorted(set(rows_of) - set(dense))
    if sparse:
        middle = [
            statistics[node][1] if node in statistics else (boxes[node].low + boxes[node].high) / 2
            for node in sparse
        ]
        nearest = cdist(middle, [mean for _, mean, _ in joint]).argmin(axis=1)
        group |= dict(zip(sparse, nearest, strict=True))
    return matched_leaf_labels(points, rows_of, group)


def prune_stepwise(points, growth, max_leaves):
    """The growth without the cuts that matter least, until it has few enough leaves.

    Of two leaves of one node those come first that raise the cost least as one leaf of the best
    cluster: squared distances to the means that the clusters have before, ties to the lowest
    node. Clusters may lose all their rows. A cut between leaves of one cluster is left out.

    Parameters
    ----------
    points : BuilderInput
    growth : Growth, all of whose leaves have rows and labels; altered
    max_leaves : int >= 1

    Returns
    -------
    Growth
    """
    costs, clusters = _costs(points, growth)
    paid = costs.min(axis=1)  # as one leaf
    for node, left in enumerate(growth.left):
        if left < 0:
            paid[node] = costs[node, np.searchsorted(clusters, growth.label[node])]
        else:
            growth.label[node] = int(clusters[costs[node].argmin()])
    is_leaf, undone = np.array(growth.left) < 0, set()
    parent = {child: node for node in np.flatnonzero(~is_leaf) for child in _children(growth, node)}
    twins = [node for node in set(parent.values()) if is_leaf[_children(growth, node)].all()]
    queue = [(paid[node] - paid[_children(growth, node)].sum(), node) for node in twins]
    heapq.heapify(queue)
    for _ in range(growth.n_leaves - max_leaves):
        _, node = heapq.heappop(queue)
        undone.add(node)
        is_leaf[node], above = True, parent.get(node)
        if above is not None and is_leaf[_children(growth, above)].all():
            loss = paid[above] - paid[_children(growth, above)].sum()
            heapq.heappush(queue, (loss, above))
    kept = growth.without(undone).to_tree(points.X.shape[1])
    return Growth.from_tree(kept.prune())


def _children(growth, node):
    return [growth.left[node], growth.right[node]]


def _costs(points, growth):
    """What each node pays in each cluster that has rows: (n_nodes, n_clusters); and these."""
    X, weight = points.X[points.rows], points.weight[points.rows]
    leaves = growth.to_tree(X.shape[1]).route(kernel_arrays(X))
    clusters, of_row = np.unique(np.array(growth.label)[leaves], return_inverse=True)
    distances = squared_distances(X, cluster_means(X, of_row, weight, len(clusters)))
    costs = np.zeros((growth.n_nodes, len(clusters)))
    np.add.at(costs, leaves, weight[:, None] * distances)
    for node in reversed(range(growth.n_nodes)):  # children after their parent
        if growth.left[node] >= 0:
            costs[node] = costs[_children(growth, node)].sum(axis=0)
    return costs, clusters
