"""The problem of a fit, and what follows from a tree in it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .criteria import CostCriterion, LabelCriterion
from .measures import cost_increase
from .objectives import Objective
from .penalties import Penalty
from .reference import FreeClustering
from .tree import Tree


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays fixed during a fit.

    Parameters
    ----------
    objective, penalty : Objective, Penalty
    data : result of ``objective.prepare``
    weight : float64 array of shape (n,)
    free : FreeClustering
    """

    objective: Objective
    penalty: Penalty
    data: Any
    weight: np.ndarray
    free: FreeClustering

    @property
    def n_clusters(self):
        """Number of clusters."""
        return len(self.free.centers)

    def agreement(self, labels):
        """What the tree step minimises for assignments `labels` (eq. 8)."""
        return LabelCriterion(self.penalty, labels, self.weight, self.n_clusters)

    def cost(self, distances):
        """What the tree step minimises in the direct form, for fixed centres (eq. 4)."""
        return CostCriterion(distances, self.weight)


@dataclass(frozen=True, eq=False)
class State:
    """A tree and what follows from it.

    Parameters
    ----------
    tree : Tree
    pruned : Tree, without dead nodes
    leaf_of_row : int array of shape (n,), leaves of the full tree
    labels : int array of shape (n,), its assignment
    centers : float64 array of shape (k, m), optimal for the labels
    distances : float64 array of shape (n, k), to these centres
    inertia : float, the cost of the labels
    """

    tree: Tree
    pruned: Tree
    leaf_of_row: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    distances: np.ndarray
    inertia: float

    def objective(self, lambda_):
        """Cost plus lambda sum_i ||w_i||_1 over the pruned tree (eq. 4)."""
        return self.inertia + lambda_ * np.abs(self.pruned.split_weights).sum()

    def record(self, problem):
        """What a history shows of it: cost_increase (percent), leaves, non_zeros."""
        return {
            "cost_increase": cost_increase(self.inertia, problem.free.inertia),
            "leaves": self.pruned.n_leaves,
            "non_zeros": self.pruned.n_nonzero,
        }


def evaluate(problem, step, tree):
    """State of a tree; clusters without rows keep their free centres.

    Parameters
    ----------
    problem : Problem
    step : TreeStep, which routes
    tree : Tree

    Returns
    -------
    State
    """
    leaf_of_row = step.route(tree)
    labels = tree.leaf_label[leaf_of_row]
    objective, data = problem.objective, problem.data
    centers = objective.update_centers(data, labels, problem.weight, problem.free.centers)
    distances = objective.distances(data, centers)
    inertia = float(problem.weight @ distances[np.arange(len(labels)), labels])
    pruned = tree.prune(tree.node_counts(leaf_of_row))
    return State(tree, pruned, leaf_of_row, labels, centers, distances, inertia)


def with_histograms(tree, leaf_of_row, problem):
    """The tree with a histogram of the free clustering in every leaf; labels stay.

    Parameters
    ----------
    tree : Tree, each leaf with rows
    leaf_of_row : int array of shape (n,)
    problem : Problem, whose penalty has histograms

    Returns
    -------
    Tree
    """
    agreement = problem.agreement(problem.free.labels)
    value = np.zeros((tree.n_nodes, problem.n_clusters))
    for leaf in tree.leaves:
        value[leaf] = agreement.best_output(np.flatnonzero(leaf_of_row == leaf))[1]
    return tree.with_leaves(tree.leaf_label, value)
