"""IMM, EMN and ExGreedy: a leaf a centre, and every cut parts the centres of its node."""

from dataclasses import dataclass

import numpy as np

from tao_cluster.tree.growth import Growth

from .base import CostTree
from .builder_input import BuilderInput
from .cuts import separating_cut
from .growth import Cut, grow
from .nodes import fixed_labels_node, is_too_coarse, nearest_labels_node, refined_cap


class IMM(CostTree):
    """Iterative Mistake Minimization: one leaf a cluster, few mistakes.

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
    n_clusters : int, default=8
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Costs: squared Euclidean distances to means, or L1 distances to medians.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering that the tree explains: None is scikit-learn's KMeans with
        ``n_init=10`` and this `random_state` (for k-medians, alternation of medians and nearest
        centres), a fitted or unfitted estimator with ``cluster_centers_`` or ``means_``, or the
        centres. Of an estimator with ``labels_`` alone (-1 for noise) the means (medians) of
        their rows are the centres.
    standardize : bool, default=False
        Whether distances are measured between columns that are centred and of unit spread (sparse
        ones of unit spread alone). Cuts are in the units of X anyway, like all that is shown.
        With an embedding it changes nothing.
    midpoints : bool, default=True
        Put thresholds halfway between the values on their two sides. Else they are values of
        the data or of the centres, as in the published programs.
    n_jobs : int, default=None
        Threads that share the features; the tree is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering; nothing else is random.

    Attributes
    ----------
    tree_ : Tree
    labels_ : int32 array of shape (n,)
        The tree's clusters, numbered as the free clustering's.
    cluster_centers_ : array of shape (n_clusters, m)
        Optimal for `labels_`; a cluster without rows keeps its free centre.
    inertia_ : float
        Cost of `labels_` with `cluster_centers_`.
    cost_increase_ : float
        Percent by which `inertia_` exceeds `free_inertia_`; below 0 where the tree has found
        better clusters than the free clustering.
    node_counts_ : float64 array of shape (n_nodes,)
        Weight of the rows that reach each node; without sample weights the number of rows.
    node_rows_ : int64 array of shape (n_nodes,)
        Number of rows that reach each node, whatever their weights.
    split_stds_ : float64 array of shape (n_nonzero,)
        Standard deviation of each feature of each test over the rows of its node, beside
        ``tree_.split_weights``: |weight| times spread ranks features wherever trees are shown.
    feature_importances_ : float64 array of shape (n_features,)
        Share of the cost that the tests of each feature save; it sums to 1, or is 0 throughout
        for a single leaf. A test saves the cost of its rows in the best single cluster, minus
        that cost on its left and on its right. The features of an oblique test share its saving
        in proportion to |weight| times standard deviation over the rows of the node. It is the
        mean decrease in impurity of scikit-learn's trees, with the clustering cost as impurity.
    free_labels_, free_centers_, free_inertia_
        The free clustering.
    history_ : list of dict
        One record a cut, in their order: node, feature, threshold, leaves after it.
    n_iter_ : int
        Number of cuts.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Memory beside X: the (n, n_clusters) distances and O(n); a sparse X is copied once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import IMM
    >>> model = IMM(3, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves
    3
    """

    def _grow(self, points, random_state):
        return part_centers(points, keep_labels=True)


class EMN(CostTree):
    """EMN: one leaf a cluster, few mistakes for each centre that a cut parts.

    Every node is cut where the weight of the rows that are parted from their centre is least, over
    the number of centres on the side that has fewer: the deterministic algorithm of Esfandiari,
    Mirrokni & Narayanan (SODA 2022) for k-means, whose cost is O(k log k) times the reference's,
    in the form in which SpEx (Argov & Wagner, NeurIPS 2025) compares with it. With
    ``objective="kmedians"`` it is the same ratio for nearest centres in L1, without a proven bound.

    In all else it is :class:`IMM`, with its parameters and attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import EMN
    >>> EMN(3, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    def _grow(self, points, random_state):
        return part_centers(points, keep_labels=True, is_ratio=True)


class ExGreedy(CostTree):
    """ExGreedy: one leaf a cluster, each cut with the least induced cost.

    Every cut has the least cost when rows go to the nearest centre of their side (Laber &
    Murtinho 2021, section 4.2). Centres that coincide share a leaf. Parameters and attributes as
    in :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExGreedy
    >>> float(round(ExGreedy(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    3.65
    """

    def _grow(self, points, random_state):
        return part_centers(points)


def part_centers(points, keep_labels=False, depth_factor=0.0, is_ratio=False):
    """Growth of a tree with one centre a leaf; see :class:`PartCenters`."""
    rule = PartCenters(points, keep_labels, depth_factor, is_ratio)
    root = CenterLeaf(points.rows, np.arange(len(points.centers)))
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
    points : BuilderInput
    keep_labels : bool
        IMM: a parted row pays its weight and is dropped. Else it goes to the nearest centre
        of its side and pays what that costs more.
    depth_factor : float >= 0
        Price of the expected depth (ExShallow).
    is_ratio : bool
        Divide the price of a cut by the fewer centres of its sides (EMN, with `keep_labels`).
    """

    points: BuilderInput
    keep_labels: bool = False
    depth_factor: float = 0.0
    is_ratio: bool = False

    def upper_bound(self, leaf):
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
        if best is not None and is_too_coarse(node):
            weight = self.points.weight[node.rows]
            times = len(leaf.centers) // 2 if self.is_ratio else 1  # the best cut's cost at most
            most = refined_cap(best[0] / depth.unit * times, weight, node.scale)
            if most is not None:
                best = self._search(*self._node(leaf, all_left, most))
        return best

    def _node(self, leaf, all_left, most=np.inf):
        terms = (self.points, leaf.rows, leaf.centers)
        if self.keep_labels:
            return fixed_labels_node(*terms, all_left, self.is_ratio, most)
        return nearest_labels_node(*terms, self.depth_factor, leaf.path, most)

    def _search(self, node, depth):
        return self.points.best_cut(
            separating_cut, self.points.inverse_index(node.rows), node, depth
        )

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        is_left = self.points.centers[:, cut.feature] <= cut.threshold
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
