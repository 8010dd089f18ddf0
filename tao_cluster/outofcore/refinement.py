"""Passes over all rows that improve the free centres, and the weights, thresholds and labels."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._utils.matrices import as_array
from ..objectives.base import cluster_sums
from ..reference import nearest_center
from ..solvers.exact import Candidate
from ..solvers.exact import Rows as NodeRows
from ..tree import Split, Tree
from ..tree.routing import kernel_arrays, project
from ..tree.split_statistics import rounded, sides_of, stds_of, value_moments
from .coreset import uniforms
from .statistics import Sums, table
from .thresholds import Bracket, best_thresholds, node_gains

NODE_ROWS = 8000  # expected number of sampled rows per node, to which its weights are refitted

# The search for thresholds ends when other thresholds, for all tests together, could lower the cost
# by at most this share of the cost.
RESOLUTION = 1e-5

# Refinement ends when a pass lowers the cost by at most this share.
_SMALL = 1e-4

_ROUNDING = 1e-12  # costs whose relative difference is at most this are regarded as equal


def lloyd(source, centers, tol, least_gain=0.0, max_iter=100):
    """Run Lloyd's algorithm over all rows. A cluster without rows keeps its centre.

    Parameters
    ----------
    source : AllRows
    centers : float64 array of shape (k, m), initial centres
    tol : float
        Stop when the summed squared shifts of the centres are at most `tol`.
    least_gain : float
        Stop when the summed squared shifts, weighted by the weights of the clusters, are at most
        `least_gain`. For k-means, this sum is the decrease of the cost.
    max_iter : int, largest number of passes

    Returns
    -------
    centers : float64 array of shape (k, m)
    n_iter : int, number of passes
    """
    objective = source.reader.objective
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        found = source.sum(_assign, centers)
        before, centers = centers, objective.centers_of(found.sums, found.weight, centers)
        shifts = ((centers - before) ** 2).sum(axis=1)
        if shifts.sum() <= tol or found.weight @ shifts <= least_gain:
            break
    return centers, n_iter


@dataclass(frozen=True, eq=False)
class _Assigned(Sums):
    """Sum (k, m) and total weight (k,) of the rows nearest to each centre."""

    sums: np.ndarray
    weight: np.ndarray


def _assign(rows, centers):
    k, objective = len(centers), rows.objective
    labels = nearest_center(objective, rows.data, centers)
    sums = objective.cluster_sums(rows.data, labels, rows.weight, k)
    return _Assigned(sums, np.bincount(labels, rows.weight, k))


def free_inertia(rows, centers):
    """Return the cost of rows at their nearest centres."""
    labels = nearest_center(rows.objective, rows.data, centers)
    return rows.objective.value(rows.data, labels, rows.weight, centers)


def refine(source, sample, state, evaluate, n_passes, rng, at_midpoints):
    """Yield the state of a tree after each refinement pass; stop when a pass increases its cost.

    Parameters
    ----------
    source : AllRows
    sample : WeightedRows, a weighted sample of all rows
    state : object with a `tree`, its optimal `centers` and its `inertia` over all rows
    evaluate : callable (Relabeled) -> state of its tree, an object like `state`
    n_passes : int, largest number of passes
    rng : RandomState
    at_midpoints : bool, whether thresholds are put halfway between rows
    """
    for _ in range(n_passes):
        found = refinement_pass(source, state, sample, rng, at_midpoints)
        if found is None:
            return
        before, state = state, evaluate(found)
        # An equal cost is accepted, because a pass can move thresholds halfway between rows.
        if state.inertia > before.inertia * (1 + _ROUNDING):
            return
        yield state
        if before.inertia - state.inertia <= _SMALL * before.inertia:
            return


def refinement_pass(source, state, sample, rng, at_midpoints):
    """Return the tree after one refinement pass over all rows.

    Parameters are those of :func:`refine`.

    Returns
    -------
    Relabeled, or None if no test changes
    """
    tree, centers = state.tree, state.centers
    sizes = np.zeros(tree.n_nodes)
    for node, _, gain in node_gains(sample, tree, centers):
        sizes[node] = np.abs(gain).sum()
    threshold = np.where(sizes > 0, sizes / NODE_ROWS, np.inf)
    seed = int(rng.randint(2**31))
    drawn = source.sum(_draw, tree, centers, threshold, seed)
    brackets = [
        bracket
        for node in tree.decision_nodes.tolist()
        for bracket in _brackets(tree, node, drawn[node])
    ]
    resolution = RESOLUTION * state.inertia
    updates = _updates(best_thresholds(source, tree, centers, brackets, resolution, at_midpoints))
    if not updates:
        return None
    trees = [tree.with_splits(some) for some in _update_sets(tree, updates)]
    return relabel_leaves(source, trees, centers)


@dataclass(frozen=True, eq=False)
class _Drawn(Sums):
    """Rows drawn for the test of one node, as lists with one array per block.

    Parameters
    ----------
    values : list of float64 arrays of shape (m, n_terms), features in the test
    differences : list of float64 arrays of shape (m,)
        Cost of each row in the left child minus that in the right child. It is divided by the
        probability of drawing the row.
    """

    values: list
    differences: list


def _draw(rows, tree, centers, threshold, seed):
    """Draw rows of each node with probability min(1, |gain| / threshold[node]).

    The gain of a row is its cost in the left child minus its cost in the right child.
    """
    drawn = [_Drawn([], []) for _ in range(tree.n_nodes)]
    for node, at, gain in node_gains(rows, tree, centers):
        size, t = np.abs(gain), threshold[node]
        kept = uniforms(rows.numbers[at], seed + node) * t < size
        values = as_array(rows.X[at[kept]][:, tree.split(node)[0]])
        differences = np.copysign(np.maximum(size[kept], t), gain[kept])
        drawn[node] = _Drawn([values.astype(np.float64)], [differences])
    return table(drawn)


def _brackets(tree, node, drawn):
    """Return Brackets for the current test of a node and for the test with refitted weights.

    The weights are refitted to the drawn rows. The second bracket is left out if refitting does not
    lower the cost of these rows, and both are left out if no rows were drawn.
    """
    old = Split.from_tree(tree, node)
    if not len(old.indices) or not drawn.values:
        return []
    values, differences = np.concatenate(drawn.values), np.concatenate(drawn.differences)
    if not len(differences):
        return []
    numbers, view = np.arange(len(differences)), kernel_arrays(values)
    own = Split(np.arange(len(old.indices), dtype=np.int32), old.weights, old.threshold)
    splits = [own]
    if len(old.indices) > 1:
        test = Candidate.from_split(NodeRows(values, numbers, differences), own).improved(price=0.0)
        now = differences[project(view, numbers, own.indices, own.weights) <= own.threshold].sum()
        if test.loss < now:
            splits.append(_of_unit_weight(test.split))
    brackets = []
    for split in splits:
        if len(split.indices):
            projected = project(view, numbers, split.indices, split.weights)
            named = Split(old.indices[split.indices], split.weights, split.threshold)
            brackets.append(Bracket.from_values(node, named, projected))
    return brackets


def _of_unit_weight(split):
    """Scale the test of one feature to weight 1 or -1; return other tests as they are."""
    if len(split.indices) != 1:
        return split
    size = abs(float(split.weights[0]))
    return Split(split.indices, np.sign(split.weights), split.threshold / size)


def _updates(found):
    """Return the best test of each node that differs from the current test.

    Parameters
    ----------
    found : list of Bracket, first the one of the current test for each node

    Returns
    -------
    dict of int to ((features, weights), threshold), by node
    """
    now, best = {}, {}
    for test in found:  # the first bracket in the list for each node holds its current test
        now.setdefault(test.node, test.cost_now)
        if test.node not in best or test.cost < best[test.node].cost:
            best[test.node] = test
    return {
        node: ((test.best.indices, test.best.weights), test.best.threshold)
        for node, test in best.items()
        if test.cost < now[node] or test.best is not test.split
    }


def _update_sets(tree, updates):
    """Return the sets of updates to try: all of them, those of odd depths, those of even depths.

    An update replaces the test of a node. Each update is optimal while the rest of the tree is
    fixed. Updates of nodes above and below each other may conflict; those of nodes at the same
    depth concern disjoint rows.
    """
    odd = {node: update for node, update in updates.items() if tree.depth[node] % 2}
    even = {node: update for node, update in updates.items() if not tree.depth[node] % 2}
    return [updates, odd, even] if odd and even else [updates]


class Relabeled(NamedTuple):
    """A tree with leaf labels of least cost, and the centres of its clusters.

    Parameters
    ----------
    tree : Tree, without branches that no row reaches
    centers : float64 array of shape (k, m)
        Optimal centres for the labels if they can be computed from sums over rows, else the centres
        for which the labels were chosen.
    """

    tree: Tree
    centers: np.ndarray


def relabel_leaves(source, trees, centers, relabels=True):
    """Label the leaves of several trees by least total cost, and return the best of the trees.

    Parameters
    ----------
    source : AllRows
    trees : list of Tree, with the same number of nodes
    centers : float64 array of shape (k, m)
    relabels : bool, default=True
        Whether leaves may get other labels.

    Returns
    -------
    Relabeled
        If several trees, or several labels of a leaf, have the same cost, the first is chosen.
    """
    found = source.sum(_leaf_sums, trees, centers)
    results = []
    for tree, sums in zip(trees, found, strict=True):
        label, has_rows = tree.leaf_label.copy(), np.flatnonzero(sums.mass > 0)
        if relabels:
            label[has_rows] = sums.costs[has_rows].argmin(axis=1)
        total = float(sums.costs[has_rows, label[has_rows]].sum())
        results.append((total, tree, label, has_rows, sums))
    _, tree, label, has_rows, sums = min(results, key=lambda result: result[0])
    if sums.rows is not None:
        mass = np.bincount(label[has_rows], sums.mass[has_rows], len(centers))
        of_clusters = np.zeros(centers.shape)
        np.add.at(of_clusters, label[has_rows], sums.rows[has_rows])
        centers = source.reader.objective.centers_of(of_clusters, mass, centers)
    tree = tree.with_leaves(label, tree.leaf_value).prune(tree.subtree_sums(sums.mass))
    return Relabeled(tree, centers)


@dataclass(frozen=True, eq=False)
class _LeafSums(Sums):
    """Sums over the rows of each leaf; 0 for decision nodes.

    Parameters
    ----------
    costs : float64 array of shape (n_nodes, k)
        Cost of assigning all rows of the leaf to each centre.
    mass : float64 array of shape (n_nodes,), sum of the weights of the rows
    rows : float64 array of shape (n_nodes, m), or None
        Weighted sum of the rows; None if the objective has no `cluster_sums`.
    """

    costs: np.ndarray
    mass: np.ndarray
    rows: np.ndarray | None


def _leaf_sums(rows, trees, centers):
    objective, weight, found = rows.objective, rows.weight, []
    distances = objective.distances(rows.data, centers)
    for tree in trees:
        leaves, n = tree.route(rows.view), tree.n_nodes
        of_rows = None
        if objective.cluster_sums is not None:
            of_rows = objective.cluster_sums(rows.data, leaves, weight, n)
        costs, mass = cluster_sums(distances, leaves, weight, n), np.bincount(leaves, weight, n)
        found.append(_LeafSums(costs, mass, of_rows))
    return table(found)


@dataclass(frozen=True, eq=False)
class TreeStatistics(Sums):
    """Sums over all rows from which the statistics of a tree that users see are computed.

    Arrays with one entry per node are 0 for decision nodes, unless stated otherwise.

    Parameters
    ----------
    cost : float, total cost of the rows at the centres of the clusters of their leaves
    mass : float64 array of shape (n_nodes,), total weight of the rows of each leaf
    n_rows : float64 array of shape (n_nodes,), number of rows of each leaf
    costs : float64 array of shape (n_nodes, k), cost of the rows of each leaf at each centre
    sums, squares, most, below, above
        Moments of the features of the tests over the rows of their nodes; see
        :func:`tao_cluster.tree.split_statistics.value_moments`.
    agreement : float64 array of shape (n_nodes, k), or None for trees without histograms
        Total weight of the rows of each leaf by their nearest free centre.
    """

    cost: float
    mass: np.ndarray
    n_rows: np.ndarray
    costs: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    most: np.ndarray
    below: np.ndarray
    above: np.ndarray
    agreement: np.ndarray | None
    combine: ClassVar = {"most": np.maximum, "below": np.maximum, "above": np.minimum}

    def counts(self, tree):
        """Return the total weight of the rows of each node: float64 array of shape (n_nodes,)."""
        return tree.subtree_sums(self.mass)

    def stds(self, tree):
        """Return the standard deviation of each feature of each test over the rows of its node."""
        counts = self.counts(tree)
        counts = counts / max(counts[0], np.finfo(float).tiny)
        moments = (self.sums, self.squares, self.most)
        return rounded(stds_of(tree, moments, counts, keeps_all=True))

    def sides(self, tree):
        """Return the tested values next to each threshold; see `split_sides_` of an estimator."""
        return sides_of(tree, self.below, self.above)

    def histograms(self):
        """Return the share of each free cluster in the weight of each leaf: array (n_nodes, k)."""
        total = self.agreement.sum(axis=1, keepdims=True)
        return self.agreement / np.where(total > 0, total, 1.0)


def tree_statistics(rows, tree, centers, origin, free_centers, total):
    """Return the statistics of a tree over the rows of a block.

    Parameters
    ----------
    rows : WeightedRows
    tree : Tree
    centers : float64 array of shape (k, m)
    origin : float64 array of shape (n_nonzero,)
        One value per feature of each test, which is subtracted from the feature for numerical
        accuracy.
    free_centers : float64 array of shape (k, m), centres of the clustering without a tree
    total : float, total weight of all rows

    Returns
    -------
    TreeStatistics
    """
    weight, objective, leaves = rows.weight, rows.objective, tree.route(rows.view)
    cost = objective.value(rows.data, tree.leaf_label[leaves], weight, centers)
    mass, agreement = np.bincount(leaves, weight, tree.n_nodes), None
    if tree.leaf_value is not None:
        labels, k = nearest_center(objective, rows.data, free_centers), len(centers)
        agreement = np.bincount(leaves * k + labels, weight, tree.n_nodes * k).reshape(-1, k)
    moments = value_moments(tree, rows.view, leaves, weight / total, origin)
    n_rows = np.bincount(leaves, minlength=tree.n_nodes).astype(np.float64)
    distances = objective.distances(rows.data, centers)
    costs = cluster_sums(distances, leaves, weight, tree.n_nodes)
    return TreeStatistics(cost, mass, n_rows, costs, *moments, agreement)
