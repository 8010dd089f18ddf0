"""KDTree: medians of the features of most variance, leaves labelled by what they cost."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.sparsefuncs import mean_variance_axis

from tao_cluster._utils.threads import one_thread
from tao_cluster.tree.growth import Growth

from ...growth import Cut, grow
from ...nodes import surrogate_node
from ...points import DISTANCES, Points
from ..expansion import SurrogateLeaf
from ..start import SHARED, finish
from .leaves import one_leaf

PARAMETERS = {"max_leaves": [None, Interval(Integral, 1, None, closed="left")]}

_DIGITS = 9  # by which variances are told apart


@validate_params(
    {**SHARED, **PARAMETERS, "objective": [StrOptions(set(DISTANCES))]},
    prefer_skip_nested_validation=True,
)
@one_thread()
def build_kdtree(
    X,
    centers,
    *,
    max_leaves=None,
    objective="kmeans",
    sample_weight=None,
    embedding=None,
    midpoints=True,
    n_jobs=None,
):
    """KDTree: cuts at the median of the feature of most variance; the reference labels the leaves.

    The baseline of Frost, Moshkovitz & Rashtchian (2020), appendix B.1 (Bentley 1975). A leaf
    gets the label that costs least with the reference centres. The leaf of the most rows is cut
    next, so that 2^m leaves are the balanced tree that the paper compares with; other numbers of
    leaves are possible here. Variances are those of the columns of X as they are.

    Parameters
    ----------
    max_leaves : int, default 2 k
        Fewer where rows are equal, one for one centre.
    X, centers, objective, sample_weight, embedding, midpoints, n_jobs
        As in :func:`build_imm`, like the return value and the errors.

    Examples
    --------
    >>> from greedy import build_kdtree
    >>> tree = build_kdtree([[0.0], [1.0], [8.0], [9.0]], [[0.5], [8.5]], max_leaves=2)
    >>> tree.to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, None, n_jobs, objective=objective)
    return finish(kd_growth(points, max_leaves), points, midpoints)


def kd_growth(points, max_leaves):
    """The growth of :func:`build_kdtree`."""
    if len(points.positions) == 1:
        return one_leaf()
    rule, growth = CutMedian(points), Growth()
    root = rule.leaf(points.rows)
    max_leaves = 2 * len(points.positions) if max_leaves is None else max_leaves
    grow(growth, {growth.add(root.label): root}, rule, max_leaves)
    return growth


@dataclass(frozen=True, eq=False)
class CutMedian:
    """Cut the leaf of the most rows at the median of its feature of most variance."""

    points: Points

    def leaf(self, rows):
        """Leaf of some rows."""
        return SurrogateLeaf(surrogate_node(self.points, rows))

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`: the weight of the rows."""
        return self.points.weight[leaf.node.rows].sum()

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if all rows are equal."""
        rows = leaf.node.rows
        part, power = np.frexp(self._variance(rows))
        rounded = np.ldexp(np.round(part, _DIGITS), power)  # or sums of floats decide ties
        for feature in np.argsort(-rounded, kind="stable"):
            threshold = self._median(rows, int(feature))
            if threshold is not None:
                return Cut(int(feature), threshold, self.promise(leaf))
        return None

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows = leaf.node.rows
        goes_left = self.points.goes_left(rows, cut.feature, cut.threshold)
        return self.leaf(rows[goes_left]), self.leaf(rows[~goes_left])

    def _variance(self, rows):
        X, weight = self.points.X[rows], self.points.weight[rows]
        if sp.issparse(X):
            return mean_variance_axis(X.astype(np.float64), axis=0, weights=weight)[1]
        mean = np.average(X, axis=0, weights=weight)
        return np.average((X - mean) ** 2, axis=0, weights=weight)

    def _median(self, rows, feature):
        """The value after which the weights of both sides differ least, ties to the lowest."""
        values, place = np.unique(self.points.column(rows, feature), return_inverse=True)
        if len(values) < 2:
            return None
        below = np.bincount(place.ravel(), self.points.weight[rows]).cumsum()
        return float(values[np.abs(2 * below[:-1] - below[-1]).argmin()])
