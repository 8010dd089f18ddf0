"""Penalties P(z, T(x)) for disagreement, and the losses that a tree step minimises.

The penalty method assigns each row x to a cluster z, and the tree has the output T(x) for this row.
Numbers of equations and sections are those of the KDD'22 paper (Gabidolla & Carreira-Perpinan).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ._utils.jit import jit
from ._utils.matrices import first_least
from ._utils.options import Part
from .tree import Tree

__all__ = ["Penalty", "SquaredError", "ZeroOne"]

_ROUNDING = 1e-12  # smaller relative differences of costs are rounding errors


@runtime_checkable
class Penalty(Protocol):
    """A penalty for the disagreement of an assignment with the output of a leaf.

    All rows of a leaf have the same output theta. The penalties P(e_k, theta) of all leaves and
    clusters k are thus a small table, which is all that the optimiser needs. Here e_k is the
    one-hot vector of cluster k.

    Attributes
    ----------
    is_binary : bool
        Whether all penalties are 0 or 1. The instance weights at a node are then the weights of the
        rows; otherwise they also depend on the penalties.
    """

    is_binary: bool

    def leaf(self, labels, weight, n_clusters) -> tuple[int, np.ndarray | None]:
        """Return the output of a leaf that suits its rows best (eq. 10): label, histogram or None.

        Parameters
        ----------
        labels : int array of shape (m,), the assignments of the rows of the leaf
        weight : float64 array of shape (m,)
        n_clusters : int
        """

    def table(self, tree, n_clusters) -> np.ndarray:
        """Return P(e_k, output of leaf i) at [i, k]: float64 array (n_nodes, n_clusters)."""


@dataclass(frozen=True)
class ZeroOne(Part):
    """Penalty of 1 if the assignment of a row differs from the label of its leaf, and 0 otherwise.

    The label of a leaf is the cluster to which rows with the largest total weight are assigned. If
    several clusters have the same weight, it is the lowest one.
    """

    is_binary = True

    def leaf(self, labels, weight, n_clusters):
        """Return the label with the largest total weight in a leaf, and None: no histogram."""
        votes = np.bincount(labels, weights=weight, minlength=n_clusters)
        return _cheapest(-votes), None

    def table(self, tree, n_clusters):
        """Return one minus the one-hot vector of the label of each leaf; see :class:`Penalty`."""
        return 1.0 - _certain(tree, n_clusters)


@dataclass(frozen=True)
class SquaredError(Part):
    """Penalty ||e_z - theta||^2, where theta is the histogram of a leaf (section 7).

    e_z is the one-hot vector of the assignment z of a row. Entry k of the histogram is the share of
    cluster k in the weight of the rows of the leaf. The label of the leaf is the cluster with the
    largest share, or the lowest one of several. At a node, the instance weight of a row is the
    weight of the row times the difference of its penalties on both sides.
    """

    is_binary = False

    def leaf(self, labels, weight, n_clusters):
        """Return the label of a leaf with the largest share, and the histogram of all shares."""
        votes = np.bincount(labels, weights=weight, minlength=n_clusters)
        return _cheapest(-votes), votes / votes.sum()

    def table(self, tree, n_clusters):
        """Return 1 - 2 theta_k + ||theta||^2 for each leaf and cluster k; see :class:`Penalty`.

        A leaf without a histogram counts as if all its rows were assigned to its label.
        """
        theta = leaf_histograms(tree, n_clusters)
        return 1.0 - 2.0 * theta + (theta**2).sum(axis=1, keepdims=True)


def leaf_histograms(tree, n_clusters):
    """Return the histogram over the clusters at each leaf.

    A leaf without a histogram gets the one-hot vector of its label.

    Parameters
    ----------
    tree : Tree
    n_clusters : int

    Returns
    -------
    float64 array of shape (n_nodes, n_clusters)
        Zeros at decision nodes. It can be the array of the tree itself, which is read-only.
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

    The tree steps of the penalty method and of the direct form differ only in this criterion.
    """

    def loss_at(self, tree: Tree) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return a function that computes the losses of rows in leaves of the tree.

        The function takes row numbers and leaves, two int arrays of shape (m,). It returns a
        float64 array of shape (m,): entry i is the weighted loss of row rows[i] in leaf leaves[i].
        """

    def best_output(self, rows: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Return the label, and histogram or None, of least loss summed over `rows` (eq. 10)."""


@dataclass(frozen=True, eq=False)
class LabelCriterion:
    """Loss c_n P(z_n, output of the leaf) of row n: its disagreement with assignments (eq. 8).

    c_n is the weight of row n, and z_n is its assignment.

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
        """Return a function (rows, leaves) -> weighted penalties; see :meth:`Criterion.loss_at`.

        Entry i is the weight of row rows[i] times the penalty for its assignment in leaf leaves[i].
        """
        table = self.penalty.table(tree, self.n_clusters)
        return lambda rows, leaves: self.weight[rows] * table[leaves, self.labels[rows]]

    def best_output(self, rows):
        """Return the label and histogram (or None) of least penalty for the assigned clusters."""
        return self.penalty.leaf(self.labels[rows], self.weight[rows], self.n_clusters)


@dataclass(frozen=True, eq=False)
class CostCriterion:
    """Loss c_n d(x_n, psi_k) of row n in a leaf of label k, for fixed centres psi (eq. 4).

    c_n is the weight of row n, and d is the dissimilarity of the clustering objective.

    Parameters
    ----------
    distances : float64 array of shape (n, k), d(x_n, psi_k)
    weight : float64 array of shape (n,)
    """

    distances: np.ndarray
    weight: np.ndarray

    def loss_at(self, tree):
        """Return a function (rows, leaves) -> weighted costs; see :meth:`Criterion.loss_at`.

        Entry i is the weight of row rows[i] times its dissimilarity to the centre of the label of
        leaf leaves[i].
        """

        def loss(rows, leaves):
            out = np.empty(len(rows))
            _fill_costs(self.distances, self.weight, rows, leaves, tree.leaf_label, out)
            return out

        return loss

    def best_output(self, rows):
        """Return the label of least cost summed over `rows` (on ties the lowest), and None."""
        return _cheapest(self.weight[rows] @ self.distances[rows]), None


def _cheapest(costs):
    """Return the cluster of least cost, the lowest one of those that cost the same up to rounding.

    All costs are sums of numbers of the same sign, so the error of each is a share of itself.
    """
    return first_least(costs, _ROUNDING * abs(costs.min()))


@jit
def _fill_costs(distances, weight, rows, leaves, label, out):
    # This compiled loop takes half the time of NumPy's fancy indexing. It runs at each node in
    # every pass.
    for r in range(rows.shape[0]):
        out[r] = weight[rows[r]] * distances[rows[r], label[leaves[r]]]
