"""CUBT: a tree of least deviance that is pruned and whose leaves are joined (a baseline)."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils._param_validation import Interval

from tao_cluster._utils.threads import check_interrupted
from tao_cluster.tree.routing import kernel_arrays

from ..base import POSITIVE, CostTree
from ..growth import Cut, RowRule, grown
from .leaf_clusters import deviance, matched_labels, merge_closest, pruned_growth
from .sorted_columns import SortedColumns, side_sums

_ROUNDED = 2.0**40  # savings are rounded to multiples of (deviance of the node) / _ROUNDED


@dataclass(kw_only=True, eq=False, repr=False)
class CUBT(CostTree):
    """CUBT: clustering by an unsupervised binary tree that is pruned and joined.

    Use it as a baseline: a tree that forms its own clusters, without the free clustering. The
    reference only gives the cluster numbers and the cost to compare with.

    The method has three stages (Fraiman, Ghattas & Svarc 2013):

    1. Growth. A leaf is cut where the deviance (sum of squared distances to the leaf means) falls
       most.
    2. Pruning. Pairs of sibling leaves are merged, the least dissimilar pair first. To compute
       the dissimilarity of two leaves, take the distance of each row of one leaf to the nearest
       row of the other, and average the smallest ones (the share `quantile` of them). The
       dissimilarity is the larger one of the averages of both directions.
    3. Joining. The two leaves or groups of leaves whose union increases the deviance least are
       joined, until there are `n_clusters` groups.

    Then each group gets the number of the reference cluster with which it agrees best. Splits
    whose leaves all belong to one group are removed. If stage 2 leaves fewer leaves than
    clusters, some clusters have no rows. If `fit` gets an embedding, the tree still clusters X.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters (`nclass` of the authors' program).
    max_leaves : int, default=None
        Maximum number of leaves after stage 2 (`nleaves`). None means twice the number of
        clusters.
    min_size : float, default=0
        Minimum weight of the rows of a leaf that is cut (`minsize`), in the unit of the sample
        weights.
    min_dev : float in [0, 1], default=0.001
        Minimum decrease in deviance of a cut, as a share of the deviance of all rows (`mindev`).
    min_dist : float, default=0
        Sibling leaves with a smaller dissimilarity are merged, even if the tree has at most
        `max_leaves` leaves (`mindist`). The unit is that of the columns of X, or standard
        deviations with ``standardize=True``.
    quantile : float in (0, 1], default=0.2
        Share of the smallest distances that define the dissimilarity (the paper's delta).
    objective, reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The attributes and errors are also those of :class:`IMM`.

    Notes
    -----
    The papers search the best parameters on a grid; the default values are our choice.

    ============================================== ==================
    time of the best cut of a leaf of m rows       O(m d) per feature
    time of the dissimilarity of leaves of m rows  O(m^2 d)
    ============================================== ==================

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CUBT
    >>> CUBT(3, max_leaves=3, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    max_leaves: int | None = None
    min_size: float = 0
    min_dev: float = 0.001
    min_dist: float = 0.0
    quantile: float = 0.2

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
        "min_size": [Interval(Real, 0, None, closed="left")],
        "min_dev": [Interval(Real, 0, 1, closed="both")],
        "min_dist": [Interval(Real, 0, None, closed="left")],
        "quantile": [Interval(Real, 0, 1, closed="right")],
    }

    def _grow(self, points, random_state):
        n_clusters = len(points.centers)
        rule = CutDeviance(points, self.min_size, self.min_dev)
        growth, leaves = grown(rule, rule.leaf(points.rows), 1 if n_clusters == 1 else None)
        rows_of = {node: leaf.rows for node, leaf in leaves.items()}
        max_leaves = 2 * n_clusters if self.max_leaves is None else self.max_leaves
        found = _pruned(points, growth, rows_of, max_leaves, self.min_dist, self.quantile)
        rows_of = dict(sorted(found.items()))
        group, _ = merge_closest([deviance(points, rows) for rows in rows_of.values()], n_clusters)
        label = matched_labels(points, rows_of, group)
        return pruned_growth(growth, label, points.n_features)


@dataclass(frozen=True, eq=False)
class DevianceLeaf:
    """Rows of a leaf, their weight and mean, and the sum of squared distances to the mean."""

    rows: np.ndarray
    weight: float
    mean: np.ndarray
    deviance: float
    label: int = 0


class CutDeviance(RowRule):
    """Rule of growth: cut the leaf whose best cut reduces the deviance most.

    Parameters
    ----------
    points : BuilderInput
    min_size : float
        Minimum weight of a leaf that is cut, in the unit of the sample weights.
    min_dev : float
        Minimum decrease in deviance of a cut, as a share of the deviance of all rows.
    """

    def __init__(self, points, min_size, min_dev):
        self.points, self.min_size = points, min_size / points.weight_unit
        self.least = min_dev * deviance(points, points.rows)[2]

    def leaf(self, rows):
        """Return a leaf that contains the given rows."""
        return DevianceLeaf(rows, *deviance(self.points, rows))

    def upper_bound(self, leaf):
        """Return the deviance of the leaf, or 0 if its weight is below `min_size`."""
        return leaf.deviance if leaf.weight >= self.min_size else 0.0

    def search(self, leaf):
        """Return the cut that reduces the deviance most, or None if none reaches `least`."""
        if leaf.deviance == 0:
            return None
        order = SortedColumns.from_rows(self.points, leaf.rows)
        squared, inside = self._side_sums(leaf, order)
        outside = leaf.weight - inside
        share = np.where(np.minimum(inside, outside) > 0, squared, -np.inf) / leaf.deviance
        with np.errstate(divide="ignore"):
            share = share * (1.0 / inside + 1.0 / outside)
        # Rounding makes equally good cuts equal. The lowest feature and threshold then win.
        found = order.best_cut(np.rint(share * _ROUNDED))
        if found is None:
            return None
        gain = found[0] / _ROUNDED * leaf.deviance
        return Cut(*found[1:], gain) if gain > 0 and gain >= self.least else None

    def _side_sums(self, leaf, order):
        """Return ||D||^2 and the weight of the rows that have moved, for each entry of `order`.

        D is the weighted sum of (x - mean of the leaf) over the rows x that have moved. The same
        sum over the other rows is -D. A cut therefore reduces the deviance by
        ||D||^2 (1 / weight + 1 / weight of the other rows).
        """
        points, X, mean = self.points, self.points.X, leaf.mean
        norms, n_columns = np.empty(len(order.rows)), X.shape[1]
        inside = order.cumulated(points.weight)
        if sp.issparse(X):
            space = kernel_arrays(X)
        else:
            space = np.zeros(X.shape)
            space[leaf.rows] = X[leaf.rows] - mean
        nothing = (np.full(n_columns, -1), np.empty((0, n_columns)))  # no sums are kept
        terms = (space, order, points.weight)
        points.over_features(lambda lo, hi: side_sums(*terms, lo, hi, norms, *nothing))
        if sp.issparse(X):  # `norms` are those of the sums of x
            product = order.cumulated(points.weight * (X @ mean))
            norms += inside * (inside * (mean @ mean) - 2.0 * product)
        return np.maximum(norms, 0.0), inside


def _pruned(points, growth, rows_of, max_leaves, min_dist, quantile):
    """Prune as in stage 2 of :class:`CUBT`; return the rows of the remaining leaves by node."""
    rows_of, found = dict(rows_of), {}
    while True:
        check_interrupted()
        for node in range(growth.n_nodes):
            children = growth.left[node], growth.right[node]
            if node not in found and all(child in rows_of for child in children):
                found[node] = dissimilarity(points, *map(rows_of.get, children), quantile)
        if not found:
            return rows_of
        node = min(found, key=lambda node: (found[node], node))
        if len(rows_of) <= max_leaves and found[node] >= min_dist:
            return rows_of
        del found[node]
        parts = rows_of.pop(growth.left[node]), rows_of.pop(growth.right[node])
        rows_of[node] = np.sort(np.concatenate(parts))


def dissimilarity(points, rows, others, quantile):
    """Return the dissimilarity of two leaves: see stage 2 of :class:`CUBT`.

    Parameters
    ----------
    points : BuilderInput
    rows, others : int64 arrays
        Rows of the two leaves.
    quantile : float in (0, 1]

    Returns
    -------
    float
    """
    return max(
        _mean_of_smallest(points, *pair, quantile) for pair in ((rows, others), (others, rows))
    )


def _mean_of_smallest(points, rows, others, quantile):
    _, nearest = pairwise_distances_argmin_min(points.X[rows], points.X[others])
    order = np.argsort(nearest, kind="stable")
    nearest, weight = nearest[order], points.weight[rows][order]
    most = quantile * weight.sum()
    before = np.cumsum(weight) - weight
    counted = np.clip(most - before, 0, weight)  # the last row may count in part
    return float(counted @ nearest / counted.sum())
