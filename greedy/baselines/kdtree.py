"""KDTree: cuts at the median of the feature of largest variance (a baseline)."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from tao_cluster.tree.margins import TIE

from ..base import POSITIVE, CostTree
from ..builder_input import BuilderInput, clipped
from ..growth import Cut, RowRule, grown
from ..surrogate_cuts import surrogate_node

_DIGITS = 9  # variances that agree in this many significant digits count as equal


@dataclass(kw_only=True, eq=False, repr=False)
class KDTree(CostTree):
    """KDTree: cut at medians of the features of largest variance, whatever the clusters.

    Use it as a baseline: a tree whose cuts do not know the clustering that it explains.

    The leaf with the most rows is cut at the median of its feature of largest variance (Bentley
    1975; Frost, Moshkovitz & Rashtchian 2020, appendix B.1). Each leaf gets the label of smallest
    cost with the reference centres. With 2^m leaves, these cuts give the balanced tree that the
    paper compares with. Then `fit` removes splits whose leaves all have the same label, which
    changes no cluster: the tree may have fewer than `max_leaves` leaves and need not be balanced.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_leaves : int, default=None
        Maximum number of leaves. None means twice the number of clusters. With fewer leaves than
        clusters, some clusters have no rows.
    objective, reference, standardize, midpoints, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. Variances are those of the standardised columns with
        ``standardize=True``. The attributes and errors are also those of :class:`IMM`. There is no
        parameter `ties`, because the variances choose the features.

    Notes
    -----
    A level takes O(n d) for the variances and O(n log n) for the medians. Memory beside X is that
    of :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import KDTree
    >>> KDTree(3, max_leaves=4, random_state=0).fit(load_iris().data).tree_.max_depth
    2
    """

    max_leaves: int | None = None
    ties: str = field(default="first", init=False)  # not a parameter: variances choose the feature

    _parameter_constraints: ClassVar[dict] = {
        **CostTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
    }

    def _grow(self, points, random_state):
        rule, n_clusters = CutMedian(points), len(points.centers)
        max_leaves = 2 * n_clusters if self.max_leaves is None else self.max_leaves
        max_leaves = 1 if n_clusters == 1 else max_leaves
        return grown(rule, rule.leaf(points.rows), max_leaves)[0]


@dataclass(frozen=True, eq=False)
class CutMedian(RowRule):
    """Rule of growth: cut the leaf with most rows at the median of its most variable feature."""

    points: BuilderInput

    def leaf(self, rows):
        """Return the leaf of some rows."""
        return surrogate_node(self.points, rows)

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: the weight of the rows of the leaf.

        The leaf of the largest weight is therefore cut first.
        """
        return self.points.weight[leaf.rows].sum()

    def search(self, leaf):
        """Return the cut at the median of the most variable feature; None if all rows are equal."""
        rows, points = leaf.rows, clipped(self.points, leaf.rows)
        if points is None:
            return None
        part, power = np.frexp(self._variance(rows))
        # Variances are rounded, since otherwise the rounding errors of sums would decide ties.
        rounded = np.ldexp(np.round(part, _DIGITS), power)
        for feature in np.argsort(-rounded, kind="stable"):
            threshold = self._median(points, rows, int(feature))
            if threshold is not None:
                return Cut(int(feature), threshold, self.upper_bound(leaf))
        return None

    def _variance(self, rows):
        X, weight = self.points.X[rows], self.points.weight[rows]
        if sp.issparse(X):
            return mean_variance_axis(X.astype(np.float64), axis=0, weights=weight)[1]
        mean = np.average(X, axis=0, weights=weight)
        return np.average((X - mean) ** 2, axis=0, weights=weight)

    def _median(self, points, rows, feature):
        """Return the value at which the weights of both sides differ least (ties: the lowest).

        Return None if all rows have the same value.
        """
        values, place = np.unique(points.column(rows, feature), return_inverse=True)
        if len(values) < 2:
            return None
        below = np.bincount(place.ravel(), points.weight[rows]).cumsum()
        difference = np.abs(2 * below[:-1] - below[-1])
        return float(values[np.argmax(difference <= difference.min() + TIE * below[-1])])
