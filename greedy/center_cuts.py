"""IMM, EMN and ExGreedy: one leaf per centre, so that every cut separates centres of its node."""

from dataclasses import dataclass

import numpy as np

from tao_cluster._utils.jit import jit
from tao_cluster.tree.growth import Growth

from .base import CostTree
from .builder_input import BuilderInput, clipped, nearest_two
from .cuts import (
    COARSE,
    bin_sums,
    first_best,
    quantization_scale,
    quantized,
    refined_cap,
    search_intervals,
)
from .growth import Cut, grow


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
    root = CenterLeaf(points.rows, np.arange(len(points.centers)), cell=points.rows)
    growth = Growth()
    leaves = {growth.add(root.label): root}
    grow(growth, leaves, rule)
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
    those that have been dropped.
    """

    rows: np.ndarray
    centers: np.ndarray
    path: tuple = ()
    is_complete: bool = True
    cell: np.ndarray | None = None

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
        terms = (points, leaf.rows, leaf.centers)
        if self.keep_labels:
            return fixed_labels_node(*terms, all_left, self.is_ratio, most)
        return nearest_labels_node(*terms, self.depth_factor, leaf.path, most)

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the rows and centres of a leaf."""
        terms = (cut.feature, cut.threshold)
        rows_left, is_left = self.points.goes_left(leaf.rows, *terms), self._centers_left(cut)
        has_dropped = len(leaf.cell) > len(leaf.rows) and self.points.leaf_size is not None
        cell_left = self.points.goes_left(leaf.cell, *terms) if has_dropped else rows_left
        cell, parts = leaf.cell if has_dropped else leaf.rows, []
        for goes_left in (True, False):
            rows = everything = leaf.rows[rows_left == goes_left]
            if self.keep_labels:
                rows = rows[is_left[self.points.labels[rows]] == goes_left]
            centers = leaf.centers[is_left[leaf.centers] == goes_left]
            path = (*leaf.path, (cut.feature, goes_left))
            is_complete = leaf.is_complete and len(rows) == len(everything)
            own = cell[cell_left == goes_left] if has_dropped else everything
            parts.append(CenterLeaf(rows, centers, path, is_complete, own))
        return tuple(parts)

    def _centers_left(self, cut):
        return self.points.centers[:, cut.feature] <= cut.threshold


# ---------------------------------------------------------------- the search for a cut

_SLACK = 1e-12  # lower bounds are reduced by this fraction, because floats are rounded
_SUMS = 2**15  # number of sums that fit into the processor's cache together


@dataclass(frozen=True, eq=False)
class SeparationNode:
    """A node of m rows and c reference centres, with the cost of separating rows from centres.

    The criterion of a cut is ``unit * cost + factor * expected depth``, to be minimised. The cost
    is the sum of the quantized excess costs of the rows that the cut separates from their centres.
    If `distances` is None, the excess cost of a row is `excess`. Otherwise the row moves to the
    nearest centre on its own side of the cut, and `excess`, the excess cost of its second nearest
    centre, is only a lower bound.
    """

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the node
    label: np.ndarray  # (m,) int64, the centre of each row, as a position in `centers`
    excess: np.ndarray  # (m,) float64, quantized excess costs
    centers: np.ndarray  # (c, d) float64, coordinates of the centres
    center_ids: np.ndarray  # (c,) int64, numbers of the centres (columns of `distances`)
    weight: np.ndarray  # (m,) float64, weights of the rows
    scale: float  # factor by which costs are multiplied before they are rounded
    cap: float  # largest quantized cost of a row
    all_left: bool = True  # whether a cut may send all rows left although centres lie on its right
    is_ratio: bool = False  # whether costs are divided by the smaller number of centres of a side
    distances: np.ndarray | None = None  # (n, k) float64, cost of each row of X at each centre
    second: np.ndarray | None = None  # (m,) int64, second nearest centre of each row
    nearest: np.ndarray | None = None  # (m,) float64, distance to the nearest centre of the node
    factor: float = 0.0  # weight of the expected depth
    unit: float = 1.0
    mass: np.ndarray | None = None  # (m,) float64, quantized weights; None if the factor is 0
    used: np.ndarray | None = None  # (2, d) bool, [0, f] ([1, f]): the path goes left (right) at f

    @property
    def is_too_coarse(self):
        """Whether the quantized excess cost of some row has too large a rounding error."""
        return bool((self.excess < COARSE * np.maximum(self.weight, 1.0)).any())

    @property
    def alternatives(self):
        """`distances`, `second`, `nearest` and `center_ids` for a kernel; empty without distances."""
        if self.distances is None:
            return np.empty((0, 0)), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
        return self.distances, self.second, self.nearest, self.center_ids

    def criterion(self, cost, n_left, features, low=None, high=None):
        """Return the criterion of some cuts, or lower bounds of it.

        Parameters
        ----------
        cost : float64 array of shape (F, J), costs of J cuts per feature
        n_left : int array of shape (J,), number of centres on the left of these cuts
        features : int array of shape (F,)
        low, high : float64 arrays of shape (F, J)
            Smallest and largest possible mass of the rows on the left; not used if the factor is 0.
            If the two differ, the result is a lower bound.
        """
        c, value = len(self.centers), cost * self.unit
        if self.is_ratio:
            # Dividing, instead of multiplying by the inverse, gives equal floats for equal ratios.
            value /= np.minimum(n_left, c - n_left)
        if self.factor > 0:
            total = self.mass.sum()
            if total > 0:
                low, high = low / total, high / total
            else:  # without rows, use the fraction of the centres
                low = high = np.tile(n_left / c, (len(features), 1))
            depth, used = np.empty(cost.shape), self.used[:, features].astype(float, order="C")
            _expected_depths(low, high, n_left, c, used, depth)
            value += self.factor * depth
            value -= np.where(low < high, _SLACK * np.abs(value), 0.0)
        return value


def fixed_labels_node(points, rows, centers, all_left, is_ratio, cost_bound=np.inf):
    """Return a node whose rows keep their labels, as in IMM and EMN.

    A row that a cut separates from its centre costs its weight.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array, rows whose label is among `centers`
    centers : int64 array, increasing
    all_left : bool
        Whether a cut may send all rows left although centres lie on its right.
    is_ratio : bool
        Whether the cost of a cut is divided by the number of centres on the smaller side (EMN).
    cost_bound : float, optional
        Upper bound of the cost of the best cut; see :func:`greedy.cuts.refined_cap`.

    Returns
    -------
    SeparationNode
    """
    position = np.zeros(len(points.centers), np.int64)
    position[centers] = np.arange(len(centers))
    weight = points.weight[rows]
    scale, cap = quantization_scale(weight.sum(), len(rows), cost_bound)
    return SeparationNode(
        rows=rows,
        label=position[points.labels[rows]],
        excess=quantized(np.ones(len(rows)), scale, weight, cap),
        centers=points.centers[centers],
        center_ids=centers,
        weight=weight,
        scale=scale,
        cap=cap,
        all_left=all_left,
        is_ratio=is_ratio,
    )


def nearest_labels_node(points, rows, centers, factor, path, cost_bound=np.inf):
    """Return a node whose rows belong to its nearest centre, as in ExGreedy and ExShallow.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
    centers : int64 array, increasing
    factor : float, weight of the expected depth
    path : sequence of (feature, is_left), branches from the root to the node
    cost_bound : float, optional
        Upper bound of the cost of the best cut; see :func:`greedy.cuts.refined_cap`.

    Returns
    -------
    SeparationNode
    """
    weight, mass, unit = points.weight[rows], None, 1.0
    label, second, nearest, gap, distance_range = nearest_two(points.distances, rows, centers)
    scale, cap = quantization_scale(weight @ distance_range, len(rows), cost_bound)
    if factor > 0:
        weight_scale, _ = quantization_scale(weight.sum(), len(rows))
        mass = quantized(np.ones(len(rows)), weight_scale, weight, np.inf)
        # The unit turns costs into shares of the cost of the rows at their nearest centres. That
        # cost counts as at least one quantization unit.
        unit = 1.0 / max(scale * (weight @ nearest), 1.0)
    used = np.zeros((2, points.n_features), bool)
    for feature, is_left in path:
        used[0 if is_left else 1, feature] = True
    return SeparationNode(
        rows=rows,
        label=label,
        excess=quantized(gap, scale, weight, cap),
        centers=points.centers[centers],
        center_ids=centers,
        weight=weight,
        scale=scale,
        cap=cap,
        distances=points.distances,
        second=second,
        nearest=nearest,
        factor=float(factor),
        unit=unit,
        mass=mass,
        used=used,
    )


def separating_cut(points, inverse, node, lo, hi):
    """Find the best cut among those that separate some centres of a node, over features lo..hi-1.

    The edges of a feature are the sorted coordinates of the c centres. A cut at a threshold in
    [edge j, edge j + 1) leaves centres 0..j, in the order of the feature, on the left. A larger
    threshold in this interval can reduce the cost at edge j at most by the costs of the rows inside
    that belong to the left. For m rows, the sums take O(m c) time per feature (O(m log c) for many
    centres) and O(c ** 2) time per feature.

    Parameters
    ----------
    points : BuilderInput
    inverse : int64 array, inverse index of `node.rows`
    node : SeparationNode
    lo, hi : int

    Returns
    -------
    (value, feature, threshold); the feature is -1 if no cut separates two centres
    """
    coordinates, features = np.ascontiguousarray(node.centers[:, lo:hi].T), np.arange(lo, hi)
    order = np.argsort(coordinates, axis=1, kind="stable")
    rank, edges = np.argsort(order, axis=1), np.take_along_axis(coordinates, order, axis=1)
    sums = edge_sums(points, inverse, node, edges, rank, lo)
    best, bounds = _cuts_at_edges(node, edges, sums, features)

    def search(i, j):
        return _cut_between_edges(points, node, lo + i, j, edges[i], rank[i])

    return search_intervals(bounds, features, best, search)


def edge_sums(points, inverse, node, edges, rank, lo):
    """Sum the excess costs of the rows at every edge j of the features lo, lo + 1, and so on.

    The last edge is not evaluated, since no centres lie on its right.

    Parameters
    ----------
    edges : float64 array of shape (F, c), thresholds in increasing order
    rank : int64 array of shape (F, c), position of each centre, sorted by the feature

    Returns
    -------
    cost : float64 array of shape (F, c - 1)
        Excess costs of the rows that the cut at edge j separates from their centres.
    savable : float64 array of shape (F, c - 1)
        The largest reduction of `cost` that a threshold between edges j and j + 1 can achieve.
    beyond : float64 array of shape (F, c - 1)
        Excess costs of all rows whose centres lie above edge j.
    mass : float64 array of shape (F, c)
        Mass of the rows up to edge j; zeros if the node has no masses.
    """
    (n_features, c), terms = edges.shape, node.excess[:, None]
    if node.mass is not None:
        terms = np.column_stack([node.excess, node.mass])
    cost, savable = np.zeros((2, n_features, c - 1))
    mass, width = np.zeros((n_features, c)), max(1, _SUMS // (c + 1) ** 2)
    totals = np.bincount(node.label, node.excess, c)
    for start in range(0, n_features, width):
        some = np.arange(start, min(start + width, n_features))
        args = (points, node.rows, inverse, lo + some, edges[some], terms)
        sums = bin_sums(*args, group=node.label, n_groups=c)
        excess, is_left = sums[..., 0], rank[some][:, :, None] <= np.arange(c - 1)
        # above[f, l, j] is the sum over the rows of label l whose value of feature f is above edge
        # j. The cut at an edge separates two kinds of rows from their centres: rows above the edge
        # whose centre is on the left, and the other rows whose centre is on the right.
        above = np.cumsum(excess[:, :, :0:-1], axis=2)[:, :, ::-1][:, :, : c - 1]
        cost[some] = np.where(is_left, above, totals[:, None] - above).sum(axis=1)
        savable[some] = np.where(is_left, excess[:, :, 1:c], 0).sum(axis=1)
        mass[some] = np.cumsum(sums[..., -1].sum(axis=1), axis=1)[:, :c]
    by_rank = np.take_along_axis(np.tile(totals, (n_features, 1)), np.argsort(rank, axis=1), 1)
    return cost, savable, totals.sum() - np.cumsum(by_rank, axis=1)[:, :-1], mass


def _cuts_at_edges(node, edges, sums, features):
    """Return the best cut at an edge, and a lower bound of the criterion for each interval.

    Interval j contains the thresholds from edge j up to, but without, edge j + 1. The bound of an
    empty interval is infinite.

    The costs at edges are exact only if the node has no `distances`. Otherwise they are lower
    bounds, and the returned cut has the feature -1. If `node.all_left` is False, an edge with
    cost == beyond > 0 (see :func:`edge_sums`) is not evaluated here, because all rows may lie on
    its left. The search of the interval that begins at this edge evaluates it.

    Returns
    -------
    best : tuple (value of the criterion, feature, threshold)
    bounds : float64 array of shape (F, c - 1)
    """
    cost, savable, beyond, mass = sums
    n_left, low, high = np.arange(1, edges.shape[1]), mass[:, :-1], mass[:, 1:]
    is_no_cut = edges[:, :-1] == edges[:, 1:]
    bounds = node.criterion(cost - savable, n_left, features, low, high)
    bounds[is_no_cut] = np.inf
    if node.distances is None:
        if not node.all_left:
            is_no_cut |= (cost == beyond) & (beyond > 0)
        values = node.criterion(cost, n_left, features, low, low)
        values[is_no_cut] = np.inf
        i, j = divmod(int(values.argmin()), values.shape[1])
        if values[i, j] < np.inf:
            return (float(values[i, j]), int(features[i]), float(edges[i, j])), bounds
    return (np.inf, -1, np.inf), bounds


def _cut_between_edges(points, node, feature, j, edges, rank):
    """Return the best cut of a feature with a threshold in [edges[j], edges[j + 1])."""
    values, low = points.column(node.rows, feature), edges[j]
    rows, change = np.empty(len(values) + 1, np.int64), np.empty(len(values))
    terms = (node.label, node.excess, *node.alternatives, node.weight, node.scale, node.cap)
    interval = (low, edges[j + 1], rank <= j)
    n, n_left, first = _costs_between(values, *interval, node.rows, *terms, rows, change)
    inside, values_inside = rows[:n], values[rows[:n]]
    order = np.argsort(values_inside, kind="stable")
    cost = np.cumsum(np.append(first, change[:n][order]))
    mass = cost
    if node.mass is not None:
        mass = np.cumsum(np.append(node.mass[values <= low].sum(), node.mass[inside[order]]))
    n_centers = np.full(len(cost), j + 1)
    (found,) = node.criterion(cost[None], n_centers, np.array([feature]), mass[None], mass[None])
    if not node.all_left:  # a row must stay on the right, unless no row is parted from its centre
        found[(cost > 0) & (n_left + np.arange(len(cost)) == len(values))] = np.inf
    return first_best(found, feature, np.append(low, values_inside[order]))


@jit
def _costs_between(
    values,
    low,
    high,
    is_left,
    row_numbers,
    label,
    excess,
    distances,
    second,
    nearest,
    center_ids,
    weight,
    scale,
    cap,
    inside,
    change,
):
    """Find the rows inside the interval (low, high), and what they change in the cost of a cut.

    Only the rows inside and those that a cut at `low` separates from their centres are looked at.
    The excess cost of such a row is `excess` if it keeps its label (`distances` has no rows) or if
    its second nearest centre lies on the other side than its nearest centre. Otherwise the row
    moves to the nearest centre of the other side.

    Returns
    -------
    n : int
        Number of rows inside. Their positions are written to `inside` (which has one element more
        than there are rows), and to `change` by how much the cost grows when each goes left.
    n_left : int, number of rows whose value is at most `low`
    cost : float, cost of the cut at `low`
    """
    n = n_left = 0
    for r in range(values.shape[0]):  # no `if`, since the processor could not predict the branches
        value = values[r]
        inside[n] = r
        n += ((value <= low) != is_left[label[r]]) | ((value > low) & (value < high))
        n_left += value <= low
    n_inside, total = 0, 0.0
    for i in range(n):
        r = inside[i]
        goes_left, cost = is_left[label[r]], excess[r]
        if distances.shape[0] and is_left[second[r]] == goes_left:
            least = np.inf
            for c in range(center_ids.shape[0]):
                if is_left[c] != goes_left:
                    least = min(least, distances[row_numbers[r], center_ids[c]])
            cost = min(np.rint(np.rint((least - nearest[r]) * scale) * weight[r]), cap)
        if (values[r] <= low) != goes_left:
            total += cost
        if low < values[r] < high:
            inside[n_inside] = r
            change[n_inside] = -cost if goes_left else cost
            n_inside += 1
    return n_inside, n_left, total


@jit
def _expected_depths(low, high, n_left, n_centers, used, out):
    """Write the estimated average leaf depth (WAD) of J cuts for each of F features to `out`.

    The algorithms are EvalWAD and EvalDExp of Laber, Murtinho & Oliveira (2023), algorithms 2 and
    3. WAD is the weighted average depth of the leaves below the node of the cut. The estimate
    assumes that every further node divides its rows and centres in the proportions of this cut. The
    number of centres is rounded: of K centres the left side gets ceil(K n_left / n_centers), at
    least 1 and at most K - 1.

    Parameters
    ----------
    low, high : float64 arrays of shape (F, J)
        Range of the fraction of the rows that go left. If low < high, the result is a lower bound
        for all fractions in this range.
    n_left : int array of shape (J,), number of centres on the left
    n_centers : int, number of centres in the node
    used : float64 array of shape (2, F)
        used[0, f] is 1 if the left branch makes an earlier condition on the path redundant, else 0;
        used[1, f] is the same for the right branch.
    out : float64 array of shape (F, J)
    """
    table = np.empty(n_centers + 1)
    for f in range(out.shape[0]):
        for j in range(out.shape[1]):
            table[1] = 0.0
            for k in range(2, n_centers + 1):
                k_left = min(max((k * n_left[j] + n_centers - 1) // n_centers, 1), k - 1)
                left, right = table[k_left], table[k - k_left]
                if k == n_centers:
                    left, right = left - used[0, f], right - used[1, f]
                at_low = low[f, j] * left + (1.0 - low[f, j]) * right
                at_high = high[f, j] * left + (1.0 - high[f, j]) * right
                table[k] = 1.0 + min(at_low, at_high)  # linear in the fraction: least at an end
            out[f, j] = table[n_centers]
