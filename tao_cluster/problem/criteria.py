"""What a tree step minimises: disagreement with target labels, or the clustering cost itself."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._utils.jit import jit
from ..penalties import Penalty
from ..tree import Tree


@jit
def _costs(distances, weight, rows, leaves, label, out):
    for r in range(rows.shape[0]):
        out[r] = weight[rows[r]] * distances[rows[r], label[leaves[r]]]


class LeafLoss(Protocol):
    """Weighted loss c_n L(x_n, leaf) of row n at a leaf."""

    def __call__(self, rows: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        """Loss of rows[m] at leaves[m]: float64 array of shape (m,)."""


class Criterion(Protocol):
    """The loss a tree step minimises, as a function of the leaf each row is given.

    Penalised and direct forms of the problem differ only here.
    """

    def loss_at(self, tree: Tree) -> LeafLoss:
        """The loss with the outputs of this tree's leaves."""

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
        label = tree.leaf_label

        def loss(rows, leaves):
            found = np.empty(len(rows))
            _costs(self.distances, self.weight, rows, leaves, label, found)
            return found

        return loss

    def best_output(self, rows):
        """Label with the least summed cost, ties to the lowest; no histogram."""
        return int((self.weight[rows] @ self.distances[rows]).argmin()), None
