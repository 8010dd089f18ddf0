"""What all rows say of a tree: costs of leaves at every cluster, centres, and what is shown."""

from dataclasses import dataclass

import numpy as np

from ...objectives.base import cluster_sums
from ...reference import nearest_center
from ...tree import Tree
from ...tree.spreads import gaps_of, rounded, spreads_of, value_moments
from ..blocks import sum_over_blocks
from ..rows import Reader
from ..sums import Least, Most, Sums, Tables


@dataclass(frozen=True, eq=False)
class _Trees:
    """Trees over the same rows, and the centres at which these cost."""

    reader: Reader
    centers: np.ndarray
    trees: list


@dataclass(frozen=True, eq=False)
class _Weighed(Sums):
    """Of each tree: costs (n_nodes, k), row sums (n_nodes, m) and weights (n_nodes,) of leaves."""

    costs: Tables
    sums: Tables
    mass: Tables


@dataclass(frozen=True, eq=False)
class Weighed:
    """A tree with the cheapest labels of its leaves, and the centres that follow from them.

    Parameters
    ----------
    tree : Tree, without branches that no row reaches
    centers : float64 array of shape (k, m), optimal for its labels
    cost : float, of all rows at the centres that it was weighed by
    """

    tree: Tree
    centers: np.ndarray
    cost: float


def _weigh(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    objective, weight = rows.objective, rows.weight
    distances = objective.distances(rows.data, state.centers)
    costs, sums, mass = [], [], []
    for tree in state.trees:
        leaves = tree.route(rows.view)
        costs.append(cluster_sums(distances, leaves, weight, tree.n_nodes))
        sums.append(objective.cluster_sums(rows.data, leaves, weight, tree.n_nodes))
        mass.append(np.bincount(leaves, weight, tree.n_nodes))
    return _Weighed(Tables(costs), Tables(sums), Tables(mass))


def weigh(blocks, reader, trees, centers, relabels=True):
    """The cheapest of some trees, each with its leaves labelled by their summed cost.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    trees : list of Tree, of one size
    centers : float64 array of shape (k, m)
    relabels : bool, whether leaves get other labels

    Returns
    -------
    Weighed; ties to the first of the trees, and to the lowest label
    """
    found = sum_over_blocks(_weigh, blocks, _Trees(reader, centers, trees))
    given = zip(trees, found.costs.arrays, found.mass.arrays, strict=True)
    labels = [_labels(tree, costs, mass, relabels) for tree, costs, mass in given]
    totals = [
        costs[np.arange(len(label)), label][tree.leaves].sum()
        for tree, costs, label in zip(trees, found.costs.arrays, labels, strict=True)
    ]
    best = int(np.argmin(totals))
    tree, label, mass = trees[best], labels[best], found.mass.arrays[best]
    has_rows = np.flatnonzero(mass > 0)
    k = len(centers)
    sums, total = np.zeros(centers.shape), np.bincount(label[has_rows], mass[has_rows], k)
    np.add.at(sums, label[has_rows], found.sums.arrays[best][has_rows])
    centers = reader.space.objective.centers_of(sums, total, centers)
    tree = tree.with_leaves(label, tree.leaf_value).prune(tree.sums_below(mass))
    return Weighed(tree, centers, float(totals[best]))


def _labels(tree, costs, mass, relabels):
    """The cheapest label of each leaf that has rows; else that of the tree."""
    label = tree.leaf_label.copy()
    if relabels:
        has_rows = np.flatnonzero(mass > 0)
        label[has_rows] = costs[has_rows].argmin(axis=1)
    return label


@dataclass(frozen=True, eq=False)
class _Shown:
    """A tree and its centres, what its tests are measured from, free centres, all weight."""

    reader: Reader
    tree: Tree
    centers: np.ndarray
    origin: np.ndarray
    free_centers: np.ndarray
    total: float


@dataclass(frozen=True, eq=False)
class Described(Sums):
    """What is told of a tree: exact sums over all rows.

    Parameters
    ----------
    cost : float, of the rows at the centres of their leaves
    mass : float64 array of shape (n_nodes,), weights of the rows of leaves
    sums, squares, most, above
        See :func:`tao_cluster.tree.spreads.value_moments`.
    agreement : float64 array of shape (n_nodes, k), weights by leaf and nearest free centre; None
        for trees without histograms
    """

    cost: float
    mass: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    most: Most
    above: Least
    agreement: np.ndarray | None

    def counts(self, tree):
        """Weight that reaches each node: float64 array of shape (n_nodes,)."""
        return tree.sums_below(self.mass)

    def spreads(self, tree):
        """Spread of each feature of each test over the rows of its node."""
        counts = self.counts(tree)
        counts = counts / max(counts[0], np.finfo(float).tiny)
        moments = (self.sums, self.squares, self.most.values, self.above.values)
        return rounded(spreads_of(tree, moments, counts, keeps_all=True))

    def gaps(self, tree):
        """How far above the thresholds of tests of one feature the next row lies."""
        return gaps_of(tree, self.above.values)

    def histograms(self):
        """Shares of the free clusters in each leaf: float64 array of shape (n_nodes, k)."""
        total = self.agreement.sum(axis=1, keepdims=True)
        return self.agreement / np.where(total > 0, total, 1.0)


def _describe(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    tree, weight, objective = state.tree, rows.weight, rows.objective
    leaves = tree.route(rows.view)
    cost = objective.value(rows.data, tree.leaf_label[leaves], weight, state.centers)
    mass = np.bincount(leaves, weight, tree.n_nodes)
    agreement = None
    if tree.leaf_value is not None:
        labels, k = nearest_center(objective, rows.data, state.free_centers), len(state.centers)
        agreement = np.bincount(leaves * k + labels, weight, tree.n_nodes * k).reshape(-1, k)
    share = weight / state.total
    *moments, most, above = value_moments(tree, rows.view, leaves, share, state.origin)
    return Described(cost, mass, *moments, Most(most), Least(above), agreement)


def describe(blocks, reader, tree, centers, origin, free_centers, total):
    """What is told of a tree.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    tree : Tree
    centers : float64 array of shape (k, m)
    origin : float64 array of shape (n_nonzero,), a value of each feature of each test
    free_centers : float64 array of shape (k, m)
    total : float, weight of all rows

    Returns
    -------
    Described
    """
    state = _Shown(reader, tree, centers, origin, free_centers, total)
    return sum_over_blocks(_describe, blocks, state)
