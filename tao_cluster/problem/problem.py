"""The problem of a fit: what a tree is to explain. It stays as it is from input to result."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.matrices import row_blocks, rows_of
from ..core.tree import Tree
from .objectives import Objective, cluster_means
from .reference import FreeClustering, free_clustering


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, their weights and their free clustering.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        What the tree tests.
    space : array or CSR matrix of shape (n, m)
        Where the rows are clustered: the embedding, or X, the same object.
    objective : Objective
    data : result of ``objective.prepare(space)``
    weight : float64 array of shape (n,), positive
    free : FreeClustering
    """

    X: Any
    space: Any
    objective: Objective
    data: Any
    weight: np.ndarray
    free: FreeClustering

    @classmethod
    def of(cls, X, space, weight, objective, reference, n_clusters, random_state):
        """The problem of some rows and a reference; see :func:`.reference.free_clustering`."""
        data = objective.prepare(space)
        free = free_clustering(reference, objective, space, data, n_clusters, weight, random_state)
        return cls(X, space, objective, data, weight, free)

    def of_rows(self, rows):
        """The problem of some of the rows, with the centres of all."""
        X, space = rows_of(self.X, self.space, rows)
        data, weight = self.objective.prepare(space), self.weight[rows]
        labels, centers = self.free.labels[rows], self.free.centers
        inertia = self.objective.value(data, labels, weight, centers)
        return Problem(
            X, space, self.objective, data, weight, FreeClustering(labels, centers, inertia)
        )

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.weight)

    @property
    def n_clusters(self):
        """Number of clusters."""
        return len(self.free.centers)

    def mismatch_prices(self):
        """By how much each row's second nearest free centre is farther away than its nearest."""
        return mismatch_prices(self.objective.distances(self.data, self.free.centers))

    def positions(self):
        """The free centres where the tree sees them: float64 array of shape (k, d).

        They are the means of their rows, unless they are means in the space of X already.
        """
        if self.space is self.X and self.objective.centers_are_means:
            return self.free.centers
        return cluster_means(self.X, self.free.labels, self.weight, self.n_clusters)


@dataclass(frozen=True, eq=False)
class Result:
    """What a fit ends with.

    Parameters
    ----------
    tree : Tree
    attributes : dict, further fitted attributes of the estimator by name
    """

    tree: Tree
    attributes: dict[str, Any]


def mismatch_prices(distances):
    """Distance d to the second nearest centre minus that to the nearest: float64 array (n,).

    All 0 if there is one centre only.
    """
    if distances.shape[1] < 2:
        return np.zeros(len(distances))
    prices = np.empty(len(distances))
    for part in row_blocks(distances):  # each is copied
        nearest = np.partition(distances[part], 1, axis=1)
        prices[part] = nearest[:, 1] - nearest[:, 0]
    return prices
