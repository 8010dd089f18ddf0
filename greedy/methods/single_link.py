"""Ex-SingleLink: clusters with a large spacing, each cut with the largest one that it can leave."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval, validate_params

from tao_cluster._utils.matrices import check_rows, rows_of
from tao_cluster._utils.threads import one_thread
from tao_cluster.objectives import Edges, Spacing, SpannedRows
from tao_cluster.problem.inputs import check_embedding, fitting_weight
from tao_cluster.tree.growth import Growth

from ..cuts import spacing_cut
from ..growth import Cut, grow
from ..points import Points
from .start import SHARED, finish


@validate_params(
    {**SHARED, "n_clusters": [Interval(Integral, 1, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
@one_thread()
def build_exsinglelink(
    X, n_clusters, *, sample_weight=None, embedding=None, midpoints=True, n_jobs=None
):
    """Ex-SingleLink: an explainable clustering whose clusters are far from each other.

    The spacing of a clustering is the least distance between rows of different clusters; single
    linkage makes it largest. A leaf with rows of several clusters of single linkage is cut where
    the spacing between the sides is largest, ties to the lowest feature and threshold, and the
    leaf with the largest such spacing comes first, until there are as many leaves as clusters.
    The spacing is then at least the largest possible one over n - k (Laber & Murtinho 2021,
    algorithm 3 and lemma 8).

    The first minimum spanning tree takes O(n^2 d) time and O(n) memory beside the rows. After a
    cut, distances are measured between the parts alone into which it divides the tree of a side.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        float32 or float64. Sparse input is copied into columns and never made dense.
    n_clusters : int >= 1
    sample_weight : array-like of shape (n,), optional
        At least 0; a row of weight 0 is an absent row, other weights do not matter.
    embedding : array-like or sparse matrix of shape (n, m), optional
        Where distances are measured; cuts are on X, which may part no two rows of some clusters.
    midpoints : bool, default=True
        Put thresholds halfway between the values on their two sides; else they are values.
    n_jobs : int, optional
        Threads that share the features; the tree is the same for any number.

    Returns
    -------
    Tree
        With a leaf a cluster of single linkage, fewer if there are fewer distinct rows. Leaves
        have the numbers of clusters of single linkage that share as many rows with them as
        possible; these are numbered by their first rows.

    Raises
    ------
    ValueError
        If the input has NaN or infinite values or shapes that do not fit, the weights are
        negative or all zero, there are fewer rows than clusters or squared norms overflow.

    Examples
    --------
    >>> from greedy import build_exsinglelink
    >>> build_exsinglelink([[0.0], [1.0], [2.0], [8.0], [9.0]], 2).to_rules()
    ['if x0 <= 5 then cluster 0', 'if x0 > 5 then cluster 1']
    """
    X = check_rows(X)
    space = X if embedding is None else check_embedding(embedding, X.shape[0])
    weight = fitting_weight(sample_weight, X)
    present = weight > 0
    if present.sum() < n_clusters:
        raise ValueError(f"n_samples={present.sum()} should be >= n_clusters={n_clusters}.")
    if not present.all():
        X, space = rows_of(X, space, present)
        weight = weight[present]
    objective = Spacing()
    data = objective.prepare(space)
    labels = objective.free_labels(data, n_clusters, weight)
    points = Points.without_centers(X, labels, weight, n_jobs)
    return finish(part_spanned(points, data), points, midpoints)


def part_spanned(points, data):
    """Growth of the widest cuts; see :func:`build_exsinglelink`.

    Parameters
    ----------
    points : Points
        Their labels are those of single linkage.
    data : SpannedRows, the same rows where distances are measured
    """
    rule, growth = WidestCuts(points, data), Growth()
    leaves = {growth.add(): Linked(points.rows, data, data.edges)}
    n_clusters = len(np.unique(points.labels))
    grow(growth, leaves, rule, n_clusters)
    nodes, shared = sorted(leaves), np.zeros((len(leaves), points.labels.max() + 1))
    for place, node in enumerate(nodes):
        rows = leaves[node].rows
        np.add.at(shared[place], points.labels[rows], points.weight[rows])
    for place, label in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        growth.label[nodes[place]] = int(label)
    return growth


@dataclass(frozen=True, eq=False)
class Linked:
    """Rows (int64 array, increasing) and what is left of the spanning tree above them."""

    rows: np.ndarray
    data: SpannedRows
    forest: Edges

    label = 0  # found when all leaves are there

    @cached_property
    def edges(self):
        """Their minimum spanning tree."""
        if len(self.forest.squared) == len(self.rows) - 1:
            return self.forest
        return self.data.join(self.rows, self.forest)


@dataclass(frozen=True, eq=False)
class WidestCuts:
    """Cut a leaf with rows of several clusters where the spacing is largest.

    Parameters
    ----------
    points : Points
    data : SpannedRows
    """

    points: Points
    data: SpannedRows

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`: the spacing is not known before the search."""
        labels = self.points.labels[leaf.rows]
        return np.inf if (labels != labels[0]).any() else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if the rows are equal in X."""
        place = np.empty(self.points.X.shape[0], np.int64)
        place[leaf.rows] = np.arange(len(leaf.rows))
        terms = (leaf.rows, place[leaf.edges.ends], leaf.edges.squared)
        best = self.points.best_cut(spacing_cut, self.points.slot(leaf.rows), *terms)
        return best and Cut(best[1], best[2], -best[0])

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        is_left = np.zeros(self.points.X.shape[0], bool)
        is_left[leaf.rows] = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        sides = is_left[leaf.edges.ends]
        return (
            Linked(leaf.rows[is_left[leaf.rows]], self.data, leaf.edges.some(sides.all(axis=1))),
            Linked(leaf.rows[~is_left[leaf.rows]], self.data, leaf.edges.some(~sides.any(axis=1))),
        )
