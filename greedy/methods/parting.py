"""Trees with a leaf a centre, whose cuts part the centres: IMM, EMN, ExGreedy, ExShallow."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from tao_cluster._utils.threads import one_thread
from tao_cluster.tree.growth import Growth

from ..cuts import parting_cut
from ..growth import Cut, grow
from ..nodes import finer_bound, fixed_labels_node, is_coarse, nearest_labels_node
from ..points import DISTANCES, Points
from .start import SHARED, finish

_SHARED = {**SHARED, "objective": [StrOptions(set(DISTANCES))]}


@validate_params(_SHARED, prefer_skip_nested_validation=True)
@one_thread()
def build_imm(
    X,
    centers,
    *,
    objective="kmeans",
    sample_weight=None,
    embedding=None,
    labels=None,
    midpoints=True,
    n_jobs=None,
):
    """Iterative Mistake Minimization: the tree with one leaf a centre and few mistakes.

    Every node is cut where the fewest rows (by weight) are parted from their centre; these are
    dropped before its children are cut (Dasgupta, Frost, Moshkovitz & Rashtchian 2020,
    algorithm 1). Thresholds lie in [min, max) of the centres that are left. Centres that coincide
    share a leaf, with the lowest label.

    One rule is not in the paper, but in its published program: where rows have been dropped, a
    cut that leaves none of the others on its right, though some belong there, is made only if
    there is no other, since it would give a leaf that no row reaches. Without it the tree of
    the UCI letter data (26 clusters, standardised) costs 33.1 % more than k-means, with it 32.2 %.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        float32 or float64. Sparse input is copied into columns and never made dense; its
        distances lose digits where columns lie far from zero.
    centers : array-like of shape (k, m)
        Reference centres; m = d without an embedding.
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Whether the nearest centre is that of least Euclidean or of least L1 distance.
    sample_weight : array-like of shape (n,), optional
        At least 0; a row of weight 0 is an absent row, one of weight 2 is the row twice.
    embedding : array-like or sparse matrix of shape (n, m), optional
        Where distances are measured and the centres are; cuts are on X, which sees a centre
        at the mean of its rows.
    labels : int array-like of shape (n,), optional
        Cluster of each row in the free clustering, by default that of its nearest centre.
    midpoints : bool, default=True
        Put thresholds halfway between the values on their two sides. Else they are values of
        the data or of the centres, as in the published programs.
    n_jobs : int, optional
        Threads that share the features; the tree is the same for any number.

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        If the input has NaN or infinite values or shapes that do not fit, if the weights are
        negative or all zero, or if squared distances overflow.

    Examples
    --------
    >>> from greedy import build_imm
    >>> build_imm([[0.0], [1.0], [8.0], [9.0]], centers=[[0.5], [8.5]]).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, labels, n_jobs, objective=objective)
    return finish(part_centers(points, keep_labels=True), points, midpoints)


@validate_params(_SHARED, prefer_skip_nested_validation=True)
@one_thread()
def build_exgreedy(
    X,
    centers,
    *,
    objective="kmeans",
    sample_weight=None,
    embedding=None,
    midpoints=True,
    n_jobs=None,
):
    """ExGreedy: every cut has the least cost when rows go to the nearest centre of their side.

    Laber & Murtinho (2021), section 4.2. One centre a leaf; centres that coincide share one.
    With ``objective="kmedians"`` costs are L1 distances.

    Parameters, return value and errors as in :func:`build_imm`.

    Examples
    --------
    >>> from greedy import build_exgreedy
    >>> build_exgreedy([[0.0], [1.0], [8.0], [9.0]], centers=[[0.5], [8.5]]).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, None, n_jobs, objective=objective)
    return finish(part_centers(points), points, midpoints)


@validate_params(
    {**_SHARED, "depth_factor": [Interval(Real, 0, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
@one_thread()
def build_exshallow(
    X,
    centers,
    *,
    depth_factor=0.03,
    objective="kmeans",
    sample_weight=None,
    embedding=None,
    midpoints=True,
    n_jobs=None,
):
    """ExShallow: ExGreedy's cost over the node's cost, plus a price of the expected depth.

    Laber, Murtinho & Oliveira (2023), algorithms 1 to 3. Where the paper's EvalWAD divides
    centres, the left side gets ceil(K r_c) of them, at least 1 and at most K - 1; rows stay
    divisible and count by their weight.

    Parameters
    ----------
    depth_factor : float >= 0, default=0.03
        The paper's lambda: larger values give shallower trees; 0 is ExGreedy.
    X, centers, objective, sample_weight, embedding, midpoints, n_jobs
        As in :func:`build_imm`, like the return value and the errors.

    Examples
    --------
    >>> from greedy import build_exshallow
    >>> build_exshallow([[0.0], [1.0], [8.0], [9.0]], centers=[[0.5], [8.5]]).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, None, n_jobs, objective=objective)
    return finish(part_centers(points, depth_factor=depth_factor), points, midpoints)


@validate_params(_SHARED, prefer_skip_nested_validation=True)
@one_thread()
def build_emn(
    X,
    centers,
    *,
    objective="kmeans",
    sample_weight=None,
    embedding=None,
    labels=None,
    midpoints=True,
    n_jobs=None,
):
    """EMN: IMM with a ratio, few rows parted from their centre for each centre that a cut parts.

    Every node is cut where the weight of the rows that are parted from their centre is least, over
    the number of centres on the side that has fewer: the deterministic algorithm of Esfandiari,
    Mirrokni & Narayanan (SODA 2022) for k-means, whose cost is O(k log k) times the reference's,
    in the form in which SpEx (Argov & Wagner, NeurIPS 2025) compares with it. With
    ``objective="kmedians"`` it is the same ratio for nearest centres in L1, without a proven bound.

    In all else it is :func:`build_imm`, with its parameters, return value and errors.

    Examples
    --------
    >>> from greedy import build_emn
    >>> build_emn([[0.0], [1.0], [8.0], [9.0]], centers=[[0.5], [8.5]]).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, labels, n_jobs, objective=objective)
    return finish(part_centers(points, keep_labels=True, is_ratio=True), points, midpoints)


def part_centers(points, keep_labels=False, depth_factor=0.0, is_ratio=False):
    """Growth of a tree with one centre a leaf; see :class:`greedy.methods.parting.PartCenters`."""
    rule = PartCenters(points, keep_labels, depth_factor, is_ratio)
    root = CenterLeaf(points.rows, np.arange(len(points.positions)))
    growth = Growth()
    grow(growth, {growth.add(root.label): root}, rule)
    return growth


@dataclass(frozen=True, eq=False)
class CenterLeaf:
    """Rows, reference centres (int64, increasing) and edges (feature, is_left) of a cell.

    `is_complete` tells that no row of the cell has been dropped.
    """

    rows: np.ndarray
    centers: np.ndarray
    path: tuple = ()
    is_complete: bool = True

    @property
    def label(self):
        """Its centre; the lowest of several that coincide."""
        return self.centers[0]


@dataclass(frozen=True, eq=False)
class PartCenters:
    """Split until every leaf has one reference centre (IMM, EMN, ExGreedy, ExShallow).

    Parameters
    ----------
    points : Points
    keep_labels : bool
        IMM: a parted row pays its weight and is dropped. Else it goes to the nearest centre
        of its side and pays what that costs more.
    depth_factor : float >= 0
        Price of the expected depth (ExShallow).
    is_ratio : bool
        Divide the price of a cut by the fewer centres of its sides (EMN, with `keep_labels`).
    """

    points: Points
    keep_labels: bool = False
    depth_factor: float = 0.0
    is_ratio: bool = False

    def promise(self, leaf):
        """See :class:`greedy.growth.Rule`: every leaf with several centres must be split."""
        return np.inf if len(leaf.centers) > 1 else 0.0

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if the centres coincide."""
        best = self._best(leaf, leaf.is_complete)
        if best is None and not leaf.is_complete:
            best = self._best(leaf, True)
        return best and Cut(best[1], best[2], np.inf)

    def _best(self, leaf, all_left):
        node, depth = self._node(leaf, all_left)
        best = self._search(node, depth)
        if best is not None and is_coarse(node):
            weight = self.points.weight[node.rows]
            times = len(leaf.centers) // 2 if self.is_ratio else 1  # the best cut's cost at most
            most = finer_bound(best[0] / depth.unit * times, weight, node.scale)
            if most is not None:
                best = self._search(*self._node(leaf, all_left, most))
        return best

    def _node(self, leaf, all_left, most=np.inf):
        terms = (self.points, leaf.rows, leaf.centers)
        if self.keep_labels:
            return fixed_labels_node(*terms, all_left, self.is_ratio, most)
        return nearest_labels_node(*terms, self.depth_factor, leaf.path, most)

    def _search(self, node, depth):
        return self.points.best_cut(parting_cut, self.points.slot(node.rows), node, depth)

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        is_left = self.points.positions[:, cut.feature] <= cut.threshold
        parts = []
        for goes_left in (True, False):
            rows = everything = leaf.rows[rows_left == goes_left]
            if self.keep_labels:
                rows = rows[is_left[self.points.labels[rows]] == goes_left]
            centers = leaf.centers[is_left[leaf.centers] == goes_left]
            path = (*leaf.path, (cut.feature, goes_left))
            is_complete = leaf.is_complete and len(rows) == len(everything)
            parts.append(CenterLeaf(rows, centers, path, is_complete))
        return tuple(parts)
