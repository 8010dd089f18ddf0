"""Passes over all rows: the free centres, and the weights, thresholds and labels of a tree."""

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
from ..tree.split_statistics import rounded, stds_of, threshold_gaps, value_moments
from .coreset import uniforms
from .statistics import Sums, table
from .thresholds import Bracket, best_thresholds, node_gains

NODE_ROWS = 8000  # rows of a node, expected, by which its weights are refitted

# Other thresholds might cost less by so much of the cost, in all, when one is taken for the least.
RESOLUTION = 1e-5

# Passes end when one lowers the cost by no more than this share.
_SMALL = 1e-4

_ROUNDING = 1e-12


def lloyd(source, centers, tol, least_gain=0.0, max_iter=100):
    """Alternate assignments and centres over all rows; a cluster without rows keeps its centre.

    Parameters
    ----------
    source : AllRows
    centers : float64 array of shape (k, m), the start
    tol : float
        It ends when the summed squares of the shifts of the centres are no more than this.
    least_gain : float
        It ends, too, when these squares, times the weights of the clusters, are no more: by so much
        the cost of k-means has fallen.
    max_iter : int, passes over the rows at most

    Returns
    -------
    centers : float64 array of shape (k, m)
    n_iter : int
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
    """Sums (k, m) of the rows nearest to each centre, and their weights (k,)."""

    sums: np.ndarray
    weight: np.ndarray


def _assign(rows, centers):
    k, objective = len(centers), rows.objective
    labels = nearest_center(objective, rows.data, centers)
    sums = objective.cluster_sums(rows.data, labels, rows.weight, k)
    return _Assigned(sums, np.bincount(labels, rows.weight, k))


def free_inertia(rows, centers):
    """Return the cost of some rows at their nearest centres."""
    labels = nearest_center(rows.objective, rows.data, centers)
    return rows.objective.value(rows.data, labels, rows.weight, centers)


def refine(source, sample, state, evaluate, n_passes, rng, at_midpoints):
    """Yield better and better states of a tree.

    Parameters
    ----------
    source : AllRows
    sample : WeightedRows, which stand for all
    state : object with a `tree`, its optimal `centers` and its `inertia` over all rows
    evaluate : callable(Relabeled) -> such an object
    n_passes : int, at most
    rng : RandomState
    at_midpoints : bool, whether thresholds lie halfway between rows
    """
    for _ in range(n_passes):
        found = improved(source, state, sample, rng, at_midpoints)
        if found is None:
            return
        before, state = state, evaluate(found)
        if state.inertia > before.inertia * (1 + _ROUNDING):  # equal: thresholds between rows
            return
        yield state
        if before.inertia - state.inertia <= _SMALL * before.inertia:
            return


def improved(source, state, sample, rng, at_midpoints):
    """Return the tree after one pass over all rows; its labels and centres follow.

    Parameters as for :func:`refine`.

    Returns
    -------
    Relabeled; None where no test changes
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
    trees = [tree.with_splits(some) for some in _together(tree, updates)]
    return relabel_leaves(source, trees, centers)


@dataclass(frozen=True, eq=False)
class _Drawn(Sums):
    """Values (m, features of the test) and steps (m,) of rows, in lists of parts."""

    values: list
    steps: list


def _draw(rows, tree, centers, threshold, seed):
    """Draw rows of each node with probability min(1, |gain| / threshold)."""
    drawn = [_Drawn([], []) for _ in range(tree.n_nodes)]
    for node, at, gain in node_gains(rows, tree, centers):
        size, t = np.abs(gain), threshold[node]
        kept = uniforms(rows.numbers[at], seed + node) * t < size
        values = as_array(rows.X[at[kept]][:, tree.split(node)[0]])
        steps = np.copysign(np.maximum(size[kept], t), gain[kept])
        drawn[node] = _Drawn([values.astype(np.float64)], [steps])
    return table(drawn)


def _brackets(tree, node, drawn):
    """The test of a node, and what its weights become by the rows that were drawn."""
    old = Split.from_tree(tree, node)
    if not len(old.indices) or not drawn.values:
        return []
    values, steps = np.concatenate(drawn.values), np.concatenate(drawn.steps)
    if not len(steps):
        return []
    numbers, view = np.arange(len(steps)), kernel_arrays(values)
    own = Split(np.arange(len(old.indices), dtype=np.int32), old.weights, old.threshold)
    splits = [own]
    if len(old.indices) > 1:
        test = Candidate.of(NodeRows(values, numbers, steps), own).improved(price=0.0)
        now = steps[project(view, numbers, own.indices, own.weights) <= own.threshold].sum()
        if test.loss < now:
            splits.append(_of_unit_weight(test.split))
    brackets = []
    for split in splits:
        if len(split.indices):
            projected = project(view, numbers, split.indices, split.weights)
            named = Split(old.indices[split.indices], split.weights, split.threshold)
            brackets.append(Bracket.of(node, named, projected))
    return brackets


def _of_unit_weight(split):
    """The test, with weight 1 or -1 if it is of one feature."""
    if len(split.indices) != 1:
        return split
    size = abs(float(split.weights[0]))
    return Split(split.indices, np.sign(split.weights), split.threshold / size)


def _updates(found):
    """The best test of each node where it costs less than the one that is there."""
    now, best = {}, {}
    for test in found:  # the one that is there comes first
        now.setdefault(test.node, test.cost_now)
        if test.node not in best or test.cost < best[test.node].cost:
            best[test.node] = test
    return {
        node: ((test.best.indices, test.best.weights), test.best.threshold)
        for node, test in best.items()
        if test.cost < now[node] or test.best is not test.split
    }


def _together(tree, updates):
    """Sets of updates that are tried: all, and those of every other depth.

    Each update is the best for the rest of the tree as it is; tests above and below each other may
    get into each other's way, those of one depth share no rows.
    """
    odd = {node: update for node, update in updates.items() if tree.depth[node] % 2}
    even = {node: update for node, update in updates.items() if not tree.depth[node] % 2}
    return [updates, odd, even] if odd and even else [updates]


class Relabeled(NamedTuple):
    """A tree with the cheapest labels of its leaves, and the centres that follow from them.

    Parameters
    ----------
    tree : Tree, without branches that no row reaches
    centers : float64 array of shape (k, m), optimal for its labels if the objective has centres
        that follow from sums, else those that were given
    """

    tree: Tree
    centers: np.ndarray


def relabel_leaves(source, trees, centers, relabels=True):
    """Return the cheapest of some trees, each with its leaves labelled by their summed cost.

    Parameters
    ----------
    source : AllRows
    trees : list of Tree, of one size
    centers : float64 array of shape (k, m)
    relabels : bool, whether leaves get other labels

    Returns
    -------
    Relabeled; ties to the first of the trees, and to the lowest label
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
    """Costs (n_nodes, k), weights (n_nodes,) and sums (n_nodes, m) or None of rows of leaves."""

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
    """What users are shown of a tree: exact sums over all rows.

    Parameters
    ----------
    cost : float, of the rows at the centres of their leaves
    mass : float64 array of shape (n_nodes,), weights of the rows of leaves
    sums, squares, most, above
        See :func:`tao_cluster.tree.split_statistics.value_moments`.
    agreement : float64 array of shape (n_nodes, k), weights by leaf and nearest free centre; None
        for trees without histograms
    """

    cost: float
    mass: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    most: np.ndarray
    above: np.ndarray
    agreement: np.ndarray | None
    combine: ClassVar = {"most": np.maximum, "above": np.minimum}

    def counts(self, tree):
        """Weight that reaches each node: float64 array of shape (n_nodes,)."""
        return tree.subtree_sums(self.mass)

    def spreads(self, tree):
        """Spread of each feature of each test over the rows of its node."""
        counts = self.counts(tree)
        counts = counts / max(counts[0], np.finfo(float).tiny)
        moments = (self.sums, self.squares, self.most, self.above)
        return rounded(stds_of(tree, moments, counts, keeps_all=True))

    def gaps(self, tree):
        """How far above the thresholds of tests of one feature the next row lies."""
        return threshold_gaps(tree, self.above)

    def histograms(self):
        """Shares of the free clusters in each leaf: float64 array of shape (n_nodes, k)."""
        total = self.agreement.sum(axis=1, keepdims=True)
        return self.agreement / np.where(total > 0, total, 1.0)


def describe(rows, tree, centers, origin, free_centers, total):
    """Return the statistics of a tree for some rows.

    Parameters
    ----------
    rows : WeightedRows
    tree : Tree
    centers : float64 array of shape (k, m)
    origin : float64 array of shape (n_nonzero,), a value of each feature of each test
    free_centers : float64 array of shape (k, m)
    total : float, weight of all rows

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
    return TreeStatistics(cost, mass, *moments, agreement)
