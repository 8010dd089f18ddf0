"""IMM, EMN and ExGreedy: one leaf per centre, so that every cut separates centres of its node."""

from dataclasses import dataclass

import numpy as np

from .base import CostTree
from .builder_input import KEPT, BuilderInput, clipped
from .cuts import refined_cap
from .growth import Cut, grown
from .separating_cuts import separating_cut, separation_node, weight_above


@dataclass(eq=False, repr=False)
class IMM(CostTree):
    """Iterative Mistake Minimization: explain k clusters by an axis-aligned tree with k leaves.

    Use it as the standard baseline of explainable clustering: it is fast and has a proven bound.
    :class:`ExGreedy` usually costs less with the same number of leaves, and :class:`ExKMC` costs
    less with more leaves.

    A row is a mistake if a cut separates it from its centre. Every node is cut where the weight
    of the mistakes is smallest, and the mistakes are dropped before the children are cut
    (Dasgupta, Frost, Moshkovitz & Rashtchian 2020, algorithm 1). Thresholds lie in [min, max) of
    the remaining centres. The tree always has one leaf per centre, as the algorithm prescribes,
    even if a leaf has few rows or none. Centres that coincide share a leaf, with the lowest label.

    One rule comes from the published program, not from the paper. If mistakes have been dropped,
    a cut may leave no remaining row on its right although centres lie there; the leaf on the
    right would get no row. Such a cut is made only if there is no other. The rule lowers the
    cost increase on the UCI letter data (26 clusters, standardised) from 33.1 % to 32.2 %.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, which is also the number of leaves.
    objective : {"kmeans", "kmedians"}, default="kmeans"
        The cost: "kmeans" sums squared Euclidean distances to means, "kmedians" sums L1 distances
        to medians.
    reference : None, estimator, pipeline or array of shape (n_clusters, m), default=None
        The free clustering, that is, the clustering without a tree that the tree explains:

        - None: scikit-learn's KMeans with ``n_init=10`` and this `random_state` (for
          ``objective="kmedians"``, alternation of medians and nearest centres);
        - a fitted or unfitted estimator with ``cluster_centers_`` or ``means_``. If it has only
          ``labels_`` (-1 for noise), the means (medians) of the rows of each label are the centres;
        - a pipeline that ends in such an estimator: its transformed columns are the embedding;
        - the array of centres.
    standardize : bool, default=False
        Whether to compute distances from columns with mean 0 and standard deviation 1 (sparse
        columns are not centred). Thresholds and centres are in the units of X in either case. If
        `fit` gets an embedding, distances are those of the embedding and this has no effect.
    midpoints : bool, default=True
        Whether to put thresholds halfway between the neighbouring values on their two sides.
        Otherwise a threshold is a value of the data or of a centre, as in the published programs.
    ties : {"widest", "first"}, default="widest"
        Which of the features to test that divide the rows and centres of a node alike. "widest"
        takes the one with the largest gap between the two sides, divided by the standard deviation
        of the feature over the rows of the node (ties: the lowest feature). On new rows, such a
        test errs least. "first" takes the lowest feature, as the published programs do.
    min_samples_leaf : int >= 1 or float in (0, 0.5], default=1
        Minimum size of each leaf that a cut makes. An int is a number of rows of positive weight,
        whatever their weights. A float is a share of the total weight of the rows. With 1, the
        default, there is no minimum: the published algorithms may leave a leaf without rows.
    constraints : Constraints, optional
        Only `columns` or `not_tested`, which say what columns the tests may use; see
        :class:`tao_cluster.Constraints`. All columns determine the clusters.
    n_jobs : int, default=None
        Number of threads that search the features; the tree is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering. Nothing else in this method is random.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    labels_ : int32 array of shape (n,)
        Cluster of each row according to the tree, numbered as in the free clustering.
    cluster_centers_ : array of shape (n_clusters, m)
        Optimal centres for `labels_`. A cluster without rows keeps its free centre.
    inertia_ : float
        Cost of `labels_` with `cluster_centers_`.
    cost_increase_ : float
        Percentage by which `inertia_` exceeds `free_inertia_`. It is negative if the tree has
        found better clusters than the free clustering.
    node_counts_ : float64 array of shape (n_nodes,)
        Weight of the rows that reach each node; without sample weights the number of rows.
    node_rows_ : int64 array of shape (n_nodes,)
        Number of rows of positive weight that reach each node.
    split_stds_ : float64 array of shape (n_nonzero,)
        Standard deviation of the feature of each test over the rows of its node, in the order of
        ``tree_.split_weights``. Exports and plots rank features by |weight| times this value.
    feature_importances_ : float64 array of shape (n_features,)
        Share of the cost that the tests of each feature save. The shares sum to 1; all are 0 if
        the tree is a single leaf. The saving of a test is the cost of its rows in the best single
        cluster, minus that cost on its left and on its right. The features of an oblique test
        share its saving in proportion to |weight| times standard deviation over the rows of the
        node. This is the mean decrease in impurity of scikit-learn's trees, with the clustering
        cost as impurity.
    free_labels_ : int32 array of shape (n,)
        Cluster of each row in the free clustering.
    free_centers_ : array of shape (n_clusters, m)
        Centres of the free clustering.
    free_inertia_ : float
        Cost of the free clustering.
    history_ : list of dict
        One record per cut, in the order of the cuts: node, feature, threshold, and the number of
        leaves after the cut.
    n_iter_ : int
        Number of cuts.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X is a DataFrame with string names.

    Raises
    ------
    ValueError
        If X has NaN, infinite or non-numeric values or fewer rows than clusters, or if the
        reference does not have `n_clusters` centres in the columns of X.

    Warns
    -----
    ConvergenceWarning
        If clusters of the free clustering have no rows, for example because X has fewer distinct
        rows than `n_clusters`.

    Notes
    -----
    Memory beside X:

    =============================== ======================
    distances to the centres        8 n k bytes
    labels, weights, costs of rows  O(n)
    a sparse X                      one copy by columns
    =============================== ======================

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import IMM
    >>> model = IMM(3, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves
    3
    """

    def _grow(self, points, random_state):
        return separate_centers(points, keep_labels=True)


@dataclass(eq=False, repr=False)
class EMN(CostTree):
    """EMN: like IMM with one leaf per cluster, but with a preference for balanced cuts.

    Use it instead of :class:`IMM` if a shallow tree or the stronger bound matters: its k-means
    cost is O(k log k) times that of the reference.

    Every node is cut where a ratio is smallest: the weight of the rows that the cut separates
    from their centre, divided by the number of centres on the side with fewer centres. This is
    the deterministic algorithm of Esfandiari, Mirrokni & Narayanan (SODA 2022) for k-means, in
    the form in which Argov & Wagner (NeurIPS 2025) compare with it. With
    ``objective="kmedians"`` rows belong to their nearest centres in L1, and no bound is proven.

    The parameters, attributes, errors and memory are those of :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import EMN
    >>> EMN(3, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    def _grow(self, points, random_state):
        return separate_centers(points, keep_labels=True, is_ratio=True)


@dataclass(eq=False, repr=False)
class ExGreedy(CostTree):
    """ExGreedy: one leaf per cluster, with the cut of smallest cost at every node.

    Use it if every cluster should have exactly one leaf and the cost matters most.

    The cost of a cut is the cost of assigning each row to the nearest centre on its side of the
    cut (Laber & Murtinho 2021, section 4.2). Centres that coincide share a leaf. No bound is
    proven.

    The parameters, attributes, errors and memory are those of :class:`IMM`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExGreedy
    >>> float(round(ExGreedy(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    3.65
    """

    def _grow(self, points, random_state):
        return separate_centers(points)


def separate_centers(points, keep_labels=False, depth_factor=0.0, is_ratio=False):
    """Grow a tree that has one reference centre in each leaf, and return its Growth.

    The parameters are those of :class:`SeparateCenters`.
    """
    rule = SeparateCenters(points, keep_labels, depth_factor, is_ratio)
    every, above = np.arange(len(points.centers)), None
    is_small = points.n_features * len(every) ** 2 <= KEPT
    is_exact = points.leaf_size is None and np.array_equal(points.weight, np.rint(points.weight))
    if keep_labels and is_small and is_exact:
        above = weight_above(points, points.rows, every)
    root = CenterLeaf(points.rows, every, cell=points.rows, above=above)
    growth, leaves = grown(rule, root)
    if points.leaf_size is not None:
        for node, leaf in leaves.items():
            growth.label[node] = _cheapest_center(points, leaf)
    return growth


def _cheapest_center(points, leaf):
    """Return the centre of a leaf with the smallest cost for its rows; ties go to the lowest."""
    costs = points.weight[leaf.rows] @ points.distances[leaf.rows][:, leaf.centers]
    return int(leaf.centers[costs.argmin()])


@dataclass(frozen=True, eq=False)
class CenterLeaf:
    """Rows and reference centres (increasing int64 arrays) in the cell of a leaf.

    `path` lists the branches (feature, is_left) from the root. `is_complete` is False if a row of
    the cell has been dropped, because a cut separated it from its centre. `cell` is the rows with
    those that have been dropped. `above` is the result of :func:`weight_above`, if it is known.
    """

    rows: np.ndarray
    centers: np.ndarray
    path: tuple = ()
    is_complete: bool = True
    cell: np.ndarray | None = None
    above: np.ndarray | None = None

    @property
    def label(self):
        """Label of the leaf: its centre, or the lowest of several that coincide."""
        return self.centers[0]


@dataclass(frozen=True, eq=False)
class SeparateCenters:
    """Rule of growth: cut until every leaf has one centre (IMM, EMN, ExGreedy, ExShallow).

    Parameters
    ----------
    points : BuilderInput
    keep_labels : bool
        True (IMM): a row that is separated from its centre costs its weight and is dropped.
        False: such a row moves to the nearest centre on its side and costs the difference.
    depth_factor : float >= 0
        Penalty per unit of expected depth (ExShallow).
    is_ratio : bool
        Whether to divide the cost of a cut by the number of centres on the side with fewer
        centres (EMN, with `keep_labels`).
    """

    points: BuilderInput
    keep_labels: bool = False
    depth_factor: float = 0.0
    is_ratio: bool = False

    def upper_bound(self, leaf):
        """Return an upper bound of the gain of the best cut: inf for several centres, else 0."""
        return np.inf if len(leaf.centers) > 1 else 0.0

    def search(self, leaf):
        """Return the best cut between centres of the leaf, or None if there is none."""
        points = clipped(self.points, leaf.cell)
        if points is None:
            return None
        best = self._best(points, leaf, leaf.is_complete)
        if best is None and not leaf.is_complete:
            best = self._best(points, leaf, True)
        return best and Cut(best[1], best[2], np.inf)

    def _best(self, points, leaf, all_left):
        node = self._node(points, leaf, all_left)
        inverse = points.inverse_index(node.rows)
        best = points.best_cut(separating_cut, points, inverse, node)
        if best is not None and node.is_too_coarse:
            # With `is_ratio`, the cost was divided by the number of centres on the side with fewer
            # centres, at most half of all. The product is an upper bound of the undivided cost.
            times = len(leaf.centers) // 2 if self.is_ratio else 1
            most = refined_cap(best[0] / node.unit * times, node.weight, node.scale)
            if most is not None:
                node = self._node(points, leaf, all_left, most)
                best = points.best_cut(separating_cut, points, inverse, node)
        return best

    def _node(self, points, leaf, all_left, most=np.inf):
        terms = (self.keep_labels, self.depth_factor, leaf.path, most)
        options = {"all_left": all_left, "is_ratio": self.is_ratio, "above": leaf.above}
        return separation_node(points, leaf.rows, leaf.centers, *terms, **options)

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the rows and centres of a leaf."""
        terms = (cut.feature, cut.threshold)
        rows_left = self.points.goes_left(leaf.rows, *terms)
        is_left = self.points.centers[:, cut.feature] <= cut.threshold
        cell, cell_left, parts = leaf.rows, rows_left, []
        if self.points.leaf_size is not None and len(leaf.cell) > len(leaf.rows):
            cell, cell_left = leaf.cell, self.points.goes_left(leaf.cell, *terms)
        owned_left = is_left[self.points.labels[leaf.rows]] if self.keep_labels else rows_left
        is_kept = rows_left == owned_left
        for goes_left in (True, False):
            is_in, is_here = rows_left == goes_left, is_left[leaf.centers] == goes_left
            rows, centers, above = leaf.rows[is_in & is_kept], leaf.centers[is_here], leaf.above
            if above is not None and len(centers) > 1:
                above = above[:, is_here][:, :, np.append(is_here, [True, True])]
                above -= weight_above(self.points, leaf.rows[~(is_in | is_kept)], centers)
            path = (*leaf.path, (cut.feature, goes_left))
            is_complete = leaf.is_complete and bool(is_kept[is_in].all())
            own = cell[cell_left == goes_left]
            parts.append(CenterLeaf(rows, centers, path, is_complete, own, above))
        return tuple(parts)
