"""The problem of a fit: what a tree is to explain. It stays as it is from input to result."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._utils.matrices import check_sizes, row_blocks, rows_of
from ..objectives import Objective, cluster_means
from ..reference import FreeClustering, cost_increase, free_clustering, free_labels, optimal_centers
from ..tree import Tree
from ..tree.routing import kernel_view

_ROUNDING = 1e-12


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
    reference, random_state
        What `free` was found by; see :func:`.reference.free_clustering`.
    held_out : bool array of shape (n,), optional
        Rows on which a choice between trees is to be made, which the trees have not seen.
    scaling : Scaling, optional
        What has made X of the user's columns.
    """

    X: Any
    space: Any
    objective: Objective
    data: Any
    weight: np.ndarray
    free: FreeClustering
    reference: Any = None
    random_state: Any = None
    held_out: np.ndarray | None = None
    scaling: Any = None

    @classmethod
    def of(cls, X, space, weight, objective, reference, n_clusters, random_state, **further):
        """The problem of some rows and a reference; see :func:`.reference.free_clustering`."""
        check_sizes(space, weight)
        data = objective.prepare(space)
        free = free_clustering(reference, objective, space, data, n_clusters, weight, random_state)
        return cls(X, space, objective, data, weight, free, reference, random_state, **further)

    def of_rows(self, rows, weight=None):
        """The problem of some of the rows, perhaps of other weights, with the centres of all."""
        X, space = rows_of(self.X, self.space, rows)
        data = self.objective.prepare(space)
        weight = self.weight[rows] if weight is None else weight
        labels, centers = self.free.labels[rows], self.free.centers
        inertia = self.objective.value(data, labels, weight, centers)
        free = FreeClustering(labels, centers, inertia)
        return replace(self, X=X, space=space, data=data, weight=weight, free=free, held_out=None)

    def seen(self):
        """The problem of the rows that are not held out, with a free clustering of their own."""
        rows = np.flatnonzero(~self.held_out)
        X, space = rows_of(self.X, self.space, rows)
        return Problem.of(
            X,
            space,
            self.weight[rows],
            self.objective,
            self.reference,
            self.n_clusters,
            self.random_state,
            scaling=self.scaling,
        )

    def unseen(self, centers):
        """The problem of the rows that are held out, beside free centres of others."""
        rows = np.flatnonzero(self.held_out)
        X, space = rows_of(self.X, self.space, rows)
        return Problem.beside(centers, X, space, self.weight[rows], self.objective)

    @classmethod
    def beside(cls, centers, X, space, weight, objective):
        """The problem of rows whose free clustering is that of the nearest of given centres."""
        data = objective.prepare(space)
        labels = free_labels(objective, data, weight, centers)
        free = FreeClustering(labels, centers, objective.value(data, labels, weight, centers))
        return cls(X, space, objective, data, weight, free)

    def cost_increase(self, inertia):
        """Percent by which a cost exceeds the free one; of all weight, for given labels."""
        if self.objective.explains_labels:
            weight = float(self.weight[self.data >= 0].sum())
            if weight == 0:
                raise ValueError("None of the rows has a label, so that nothing can be wrong.")
            return 100 * inertia / weight
        if self.free.inertia == 0 and inertia <= _ROUNDING * self.mismatch_cost:
            return 0.0
        return cost_increase(inertia, self.free.inertia)

    def cost_at(self, increase):
        """The cost that is such an increase in percent; see :meth:`cost_increase`."""
        if self.objective.explains_labels:
            return increase / 100 * float(self.weight.sum())
        return self.free.inertia * (1 + increase / 100)

    @cached_property
    def undivided_cost(self):
        """The cost of all rows in one cluster, that of most rows."""
        largest = np.bincount(self.free.labels, self.weight).argmax()
        labels = np.full(self.n_rows, largest, self.free.labels.dtype)
        return optimal_centers(self.objective, self.data, labels, self.weight, self.free)[1]

    @cached_property
    def mismatch_cost(self):
        """What a mismatch costs, summed: the size of costs where the free ones are 0."""
        return float(self.weight @ self.mismatch_prices())

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
    leaf_of_row : int32 array of shape (n,), the leaf that each row reaches, where that is known
    """

    tree: Tree
    attributes: dict[str, Any]
    leaf_of_row: np.ndarray | None = None

    def leaves(self, problem, n_jobs):
        """The leaf that each row of the problem reaches: int32 array of shape (n,)."""
        if self.leaf_of_row is not None:
            return self.leaf_of_row
        return self.tree.route(kernel_view(problem.X), n_jobs=n_jobs)


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
