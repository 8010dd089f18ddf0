"""Penalties P(z, T(x)) on disagreement (eq. 6), and the losses that a tree step minimises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ._utils.jit import jit
from .tree import Tree

__all__ = ["Penalty", "SquaredError", "ZeroOne"]


@runtime_checkable
class Penalty(Protocol):
    """What a penalty on disagreement must offer.

    Because a leaf has one output, P(e_k, theta_leaf) over all leaves and clusters is a small
    table; the optimiser reads everything it needs from it. `is_binary`: all values are 0 or 1,
    so that node problems have no weights but those of the rows.
    """

    is_binary: bool

    def leaf(self, labels, weight, n_clusters) -> tuple[int, np.ndarray | None]:
        """Optimal output of a leaf for the rows in it (eq. 10): label and histogram."""

    def table(self, tree, n_clusters) -> np.ndarray:
        """P(e_k, output of node i) at leaves, float64 array of shape (n_nodes, n_clusters)."""


@dataclass(frozen=True)
class ZeroOne:
    """P = 1 if the cluster differs from the leaf's label, else 0; leaves carry a label.

    The label is the majority of the weight in the leaf, ties to the lowest cluster.
    """

    is_binary = True

    def leaf(self, labels, weight, n_clusters):
        """Majority label; no histogram."""
        votes = np.bincount(labels, weights=weight, minlength=n_clusters)
        return int(votes.argmax()), None

    def table(self, tree, n_clusters):
        """One minus the one-hot label of each leaf."""
        return 1.0 - _certain(tree, n_clusters)


@dataclass(frozen=True)
class SquaredError:
    """P = ||e_z - theta||^2; leaves carry a histogram theta over the clusters (section 7).

    The histogram is the share of each cluster in the weight of the leaf, the label its largest,
    ties to the lowest. A node's rows then weigh by how much the histograms differ that
    they reach through either child.
    """

    is_binary = False

    def leaf(self, labels, weight, n_clusters):
        """Label and normalised histogram."""
        votes = np.bincount(labels, weights=weight, minlength=n_clusters)
        return int(votes.argmax()), votes / votes.sum()

    def table(self, tree, n_clusters):
        """1 - 2 theta_k + ||theta||^2; a leaf without a histogram is certain of its label."""
        theta = leaf_histograms(tree, n_clusters)
        return 1.0 - 2.0 * theta + (theta**2).sum(axis=1, keepdims=True)


def leaf_histograms(tree, n_clusters):
    """Histogram over the clusters at each leaf; one that is certain of its label by default.

    Parameters
    ----------
    tree : Tree
    n_clusters : int

    Returns
    -------
    float64 array of shape (n_nodes, n_clusters), zeros at decision nodes; read-only where it is
    the tree's own
    """
    if tree.leaf_value is not None and tree.leaf_value.shape[1] == n_clusters:
        return tree.leaf_value
    return _certain(tree, n_clusters)


def _certain(tree, n_clusters):
    value = np.zeros((tree.n_nodes, n_clusters))
    value[tree.leaves, tree.leaf_label[tree.leaves]] = 1.0
    return value


class Criterion(Protocol):
    """The loss a tree step minimises, as a function of the leaf each row is given.

    Penalised and direct forms of the problem differ only here.
    """

    def loss_at(self, tree: Tree) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """The loss with the outputs of this tree's leaves.

        It is a function (rows, leaves) -> float64 array of shape (m,): the weighted loss of
        rows[m] at leaves[m].
        """

    def best_output(self, rows: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Label (and histogram) with the least summed loss over some rows (eq. 10)."""


@dataclass(frozen=True, eq=False)
class LabelCriterion:
    """Disagreement with target labels: c_n P(z_n, output of the leaf) (eq. 8).

    Parameters
    ----------
    penalty : Penalty
    labels : int array of shape (n,), the assignments z
    weight : float64 array of shape (n,)
    n_clusters : int
    """

    penalty: Penalty
    labels: np.ndarray
    weight: np.ndarray
    n_clusters: int

    def loss_at(self, tree):
        """See :class:`Criterion`."""
        table = self.penalty.table(tree, self.n_clusters)
        return lambda rows, leaves: self.weight[rows] * table[leaves, self.labels[rows]]

    def best_output(self, rows):
        """See :class:`Criterion`."""
        return self.penalty.leaf(self.labels[rows], self.weight[rows], self.n_clusters)


@dataclass(frozen=True, eq=False)
class CostCriterion:
    """Cost c_n d(x_n, psi) to the centre of the leaf's label, for fixed centres (eq. 4).

    Parameters
    ----------
    distances : float64 array of shape (n, k), d(x_n, psi_k)
    weight : float64 array of shape (n,)
    """

    distances: np.ndarray
    weight: np.ndarray

    def loss_at(self, tree):
        """See :class:`Criterion`."""

        def loss(rows, leaves):
            out = np.empty(len(rows))
            _fill_costs(self.distances, self.weight, rows, leaves, tree.leaf_label, out)
            return out

        return loss

    def best_output(self, rows):
        """Label with the least summed cost, ties to the lowest; no histogram."""
        return int((self.weight[rows] @ self.distances[rows]).argmin()), None


@jit
def _fill_costs(distances, weight, rows, leaves, label, out):
    # Half the time of numpy's indexing, which gathers twice; passes ask for it at every node.
    for r in range(rows.shape[0]):
        out[r] = weight[rows[r]] * distances[rows[r], label[leaves[r]]]
