"""Penalties P(z, T(x)) for disagreement (eq. 6), and the losses that a tree step minimises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ._utils.jit import jit
from .tree import Tree

__all__ = ["Penalty", "SquaredError", "ZeroOne"]


@runtime_checkable
class Penalty(Protocol):
    """A penalty for the disagreement of an assignment with the output of a leaf.

    A leaf has one output, so P(e_k, theta_leaf) over all leaves and clusters is a small table, from
    which the optimiser reads everything.

    Attributes
    ----------
    is_binary : bool
        Whether all values are 0 or 1, so that node problems have no instance weights beyond those
        of the rows.
    """

    is_binary: bool

    def leaf(self, labels, weight, n_clusters) -> tuple[int, np.ndarray | None]:
        """Return the optimal output of a leaf for its rows (eq. 10): label and histogram."""

    def table(self, tree, n_clusters) -> np.ndarray:
        """Return P(e_k, output of node i) at leaves: float64 array (n_nodes, n_clusters)."""


@dataclass(frozen=True)
class ZeroOne:
    """P is 1 if the cluster differs from the label of the leaf, and 0 otherwise.

    A leaf has the label with the largest weight, ties to the lowest cluster.
    """

    is_binary = True

    def leaf(self, labels, weight, n_clusters):
        """Return the majority label, and None in place of a histogram."""
        votes = np.bincount(labels, weights=weight, minlength=n_clusters)
        return int(votes.argmax()), None

    def table(self, tree, n_clusters):
        """Return one minus the one-hot label of each leaf."""
        return 1.0 - _certain(tree, n_clusters)


@dataclass(frozen=True)
class SquaredError:
    """P = ||e_z - theta||^2; leaves have a histogram theta over the clusters (section 7).

    The histogram has the share of each cluster in the weight of the leaf. The label is the largest
    one, ties to the lowest. At a node, the instance weight of a row is the difference of its
    penalties in the leaves of both children.
    """

    is_binary = False

    def leaf(self, labels, weight, n_clusters):
        """Return the label and the normalised histogram."""
        votes = np.bincount(labels, weights=weight, minlength=n_clusters)
        return int(votes.argmax()), votes / votes.sum()

    def table(self, tree, n_clusters):
        """Return 1 - 2 theta_k + ||theta||^2; a leaf without a histogram counts as pure."""
        theta = leaf_histograms(tree, n_clusters)
        return 1.0 - 2.0 * theta + (theta**2).sum(axis=1, keepdims=True)


def leaf_histograms(tree, n_clusters):
    """Return the histogram over the clusters at each leaf; leaves without one count as pure.

    Parameters
    ----------
    tree : Tree
    n_clusters : int

    Returns
    -------
    float64 array of shape (n_nodes, n_clusters)
        Zeros at decision nodes. It is read-only if it is the array of the tree.
    """
    if tree.leaf_value is not None and tree.leaf_value.shape[1] == n_clusters:
        return tree.leaf_value
    return _certain(tree, n_clusters)


def _certain(tree, n_clusters):
    value = np.zeros((tree.n_nodes, n_clusters))
    value[tree.leaves, tree.leaf_label[tree.leaves]] = 1.0
    return value


class Criterion(Protocol):
    """The loss that a tree step minimises, as a function of the leaf of each row.

    It is the only difference between the penalty method and the direct form in a tree step.
    """

    def loss_at(self, tree: Tree) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return the loss for the outputs of the leaves of a tree.

        It is a function (rows, leaves) -> float64 array of shape (m,): the weighted loss of rows[m]
        at leaves[m].
        """

    def best_output(self, rows: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Return the label (and histogram) with the least summed loss over rows (eq. 10)."""


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
        """Return the label with the least summed cost, ties to the lowest; no histogram."""
        return int((self.weight[rows] @ self.distances[rows]).argmin()), None


@jit
def _fill_costs(distances, weight, rows, leaves, label, out):
    # This takes half the time of numpy's fancy indexing, and passes need it at every node.
    for r in range(rows.shape[0]):
        out[r] = weight[rows[r]] * distances[rows[r], label[leaves[r]]]
