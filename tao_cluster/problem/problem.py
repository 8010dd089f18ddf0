"""The problem that a fit solves: rows, weights, objective and free clustering. It is immutable.

All sets of rows of a fit are problems: the distinct rows of the user, a sample of them, the rows
that are held out or not, and the rows with noisy copies (:mod:`.copies`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._utils.matrices import check_sizes, row_blocks, rows_of
from ..objectives import Objective, cluster_means
from ..reference import (
    FreeClustering,
    cost_increase,
    free_clustering,
    free_labels,
    nearest_center,
    optimal_centers,
    trimmed_clustering,
)
from ..tree import Tree
from ..tree.leaf_size import LeafSize
from ..tree.routing import kernel_arrays

_ROUNDING = 1e-12

# A row has at most this multiple of the weight of all lighter rows; see `with_limited_weights`.
_MOST_WEIGHT = 1e6
# The cost of assigning all rows to their second nearest centres counts as at most this multiple of
# the cost that the free clustering saves compared with a single cluster.
_MANY_TIMES = 10.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, their weights and their free clustering (the clustering without a tree).

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The features that the tree tests.
    space : array or CSR matrix of shape (n, m)
        The rows in the clustering space: the embedding, or the same object as X.
    objective : Objective
    data : result of ``objective.prepare(space)``
    weight : float64 array of shape (n,), positive
    free : FreeClustering
    reference, random_state
        The arguments with which `free` was computed; see :func:`.reference.free_clustering`.
    held_out : bool array of shape (n,), optional
        Whether each row is held out: not used to fit trees, but to choose between trees.
    scaling : Scaling, optional
        The scaling that was applied to the columns of the user to get X.
    leaf_size : LeafSize, optional
        The minimum size of the leaves of a tree.
    levels : Levels, optional
        Categorical variables among the columns of X, whose levels tests can combine to sets.
    unperturbed : tuple of two int arrays
        Columns of X, and columns of `space`, whose values noisy copies of rows keep; see
        :func:`.copies.with_noisy_copies`. By default there are none.
    limits : SplitLimits, optional
        Which columns tests may use, and how often and where.
    n_jobs : int, default=1
        Number of threads that find the free clustering.
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
    leaf_size: LeafSize | None = None
    levels: Any = None
    unperturbed: tuple = ((), ())
    limits: Any = None
    n_jobs: int = 1

    @classmethod
    def from_rows(
        cls, X, space, weight, objective, reference, n_clusters, random_state, n_jobs=1, **further
    ):
        """Return the problem of some rows, with the free clustering of a reference.

        See :func:`.reference.free_clustering` for `reference`.

        Raises
        ------
        ValueError
            If squared distances overflow or underflow.
        InvalidRowsError
            If the objective is not defined for some rows.
        """
        check_sizes(space, weight)
        data = objective.prepare(space)
        terms = (objective, space, data, n_clusters, weight, random_state, n_jobs)
        if objective.trims:
            objective, free = trimmed_clustering(reference, *terms)
        else:
            free = free_clustering(reference, *terms)
        terms = (X, space, objective, data, weight, free, reference, random_state)
        return cls(*terms, n_jobs=n_jobs, **further)

    def subset(self, rows, weight=None):
        """Return the problem of some of the rows, with the free centres of all rows.

        The rows may get other weights.
        """
        X, space = rows_of(self.X, self.space, rows)
        data = self.objective.prepare(space)
        weight = self.weight[rows] if weight is None else weight
        size = self.leaf_size and self.leaf_size.part(rows, weight / self.weight[rows])
        terms = (self.free.labels[rows], self.free.centers)
        free = FreeClustering.from_labels(self.objective, data, weight, *terms)
        terms = {"data": data, "weight": weight, "free": free, "leaf_size": size}
        return replace(self, X=X, space=space, **terms, held_out=None)

    def with_limited_weights(self):
        """Return a problem with nearly the same solutions that sums of weights do not round away.

        A row with a million times the weight of all lighter rows attracts the centre of its leaf,
        so that its cost is negligible. A larger weight changes nothing, but rounding errors of sums
        would exceed the costs of the other rows. Such a row, and all heavier rows, are therefore
        scaled down together, if there are no more of them than clusters: each can then have a
        centre of its own. The rows of other problems keep their weights.
        """
        weight = limited_weights(self.weight, self.n_clusters)
        if weight is self.weight:
            return self
        terms = (self.data, weight, self.free.labels, self.free.centers)
        free = FreeClustering.from_labels(self.objective, *terms)
        return replace(self, weight=weight, free=free)

    def training_part(self):
        """Return the problem of the rows that are not held out, with their own free clustering."""
        rows = np.flatnonzero(~self.held_out)
        X, space = rows_of(self.X, self.space, rows)
        return Problem.from_rows(
            X,
            space,
            self.weight[rows],
            self.objective,
            self.reference,
            self.n_clusters - self.objective.trims,
            self.random_state,
            scaling=self.scaling,
            leaf_size=self.leaf_size and self.leaf_size.part(rows),
            unperturbed=self.unperturbed,
            limits=self.limits,
            n_jobs=self.n_jobs,
        )

    def validation_part(self, centers):
        """Return the problem of the rows that are held out, with given free centres."""
        rows = np.flatnonzero(self.held_out)
        X, space = rows_of(self.X, self.space, rows)
        return Problem.from_centers(centers, X, space, self.weight[rows], self.objective)

    @classmethod
    def from_centers(cls, centers, X, space, weight, objective):
        """Return the problem of rows whose free clusters are the nearest of given centres."""
        data = objective.prepare(space)
        labels = free_labels(objective, data, weight, centers)
        free = FreeClustering.from_labels(objective, data, weight, labels, centers)
        return cls(X, space, objective, data, weight, free)

    def at_price(self, price):
        """Return the problem with another price of rows without a cluster, at the same centres."""
        objective, centers = replace(self.objective, price=price), self.free.centers
        terms = (self.weight, nearest_center(objective, self.data, centers), centers)
        free = FreeClustering.from_labels(objective, self.data, *terms)
        return replace(self, objective=objective, free=free)

    def cost_increase(self, inertia):
        """Return by how many percent a cost exceeds the cost of the free clustering.

        If labels are explained, return the cost in percent of the weight of all labelled rows.
        """
        if self.objective.explains_labels:
            weight = float(self.weight[self.data >= 0].sum())
            if weight == 0:
                raise ValueError("None of the rows has a label, so that no error rate is defined.")
            return 100 * inertia / weight
        if self.free.inertia == 0 and inertia <= _ROUNDING * self.mismatch_cost:
            return 0.0
        return cost_increase(inertia, self.free.inertia)

    def cost_at(self, increase):
        """Return the cost that exceeds the free cost by a percentage; see :meth:`cost_increase`."""
        if self.objective.explains_labels:
            return increase / 100 * float(self.weight.sum())
        return self.free.inertia * (1 + increase / 100)

    @cached_property
    def undivided_cost(self):
        """Cost if all rows are assigned to the largest free cluster."""
        largest = np.bincount(self.free.labels, self.weight).argmax()
        labels = np.full(self.n_rows, largest, self.free.labels.dtype)
        return optimal_centers(self.objective, self.data, labels, self.weight, self.free)[1]

    @cached_property
    def mismatch_cost(self):
        """Increase in cost if every row is assigned to its second nearest free centre.

        It serves as a scale for costs if the free clustering costs 0. A row with most of the weight
        would dominate it, although such a row never ends up in a wrong cluster: it attracts the
        centre of its leaf. The result is therefore limited by a multiple of the cost that the free
        clustering saves compared with a single cluster.
        """
        most = float(self.weight @ self.mismatch_prices)
        return min(most, _MANY_TIMES * max(0.0, self.undivided_cost - self.free.inertia))

    @property
    def n_rows(self):
        """Number of rows n of the problem."""
        return len(self.weight)

    @property
    def n_clusters(self):
        """Number of clusters k of the free clustering.

        If the objective trims rows, the last of them has the rows without a cluster.
        """
        return len(self.free.centers)

    def n_used(self, labels):
        """Return the number of clusters among some labels, without that of rows left out."""
        return len(np.unique(labels[labels < self.n_clusters - self.objective.trims]))

    @cached_property
    def mismatch_prices(self):
        """Cost of the second nearest free centre of each row minus that of its nearest one."""
        return mismatch_prices(self.objective.distances(self.data, self.free.centers))

    def positions(self):
        """Return the free centres in the space of X: float64 array of shape (k, d).

        If the centres are not means of rows of X, the means of the free clusters replace them.
        """
        if self.space is self.X and self.objective.centers_are_means:
            return self.free.centers
        return cluster_means(self.X, self.free.labels, self.weight, self.n_clusters)


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a fit.

    Parameters
    ----------
    tree : Tree
    attributes : dict
        Further fitted attributes of the estimator, by name.
    leaf_of_row : int32 array of shape (n,), optional
        The leaf that each row reaches, if it is already known.
    is_complete : bool
        False if a KeyboardInterrupt ended the fit early.
    is_in_units : bool
        Whether the tree tests the columns as the user gave them, also if the problem has a scaling.
    """

    tree: Tree
    attributes: dict[str, Any]
    leaf_of_row: np.ndarray | None = None
    is_complete: bool = True
    is_in_units: bool = False

    def leaves(self, problem, n_jobs):
        """Return the leaf that each row of the problem reaches: int32 array of shape (n,)."""
        if self.leaf_of_row is not None:
            return self.leaf_of_row
        return self.tree.route(kernel_arrays(problem.X), n_jobs=n_jobs)


def limited_weights(weight, most_heavy):
    """Return the weights, with heavy rows scaled down to a million times all lighter rows.

    The array itself is returned if no weight is so large, or if more than `most_heavy` rows would
    be scaled down.

    Examples
    --------
    >>> limited_weights(np.array([1.0, 2e14, 1.0, 4e14]), 2)
    array([1.e+00, 2.e+06, 1.e+00, 4.e+06])
    """
    order = np.argsort(weight, kind="stable")
    limited = weight[order]
    is_heavy = limited[1:] > _MOST_WEIGHT * np.cumsum(limited)[:-1]
    is_heavy[: max(0, len(is_heavy) - most_heavy)] = False
    if not is_heavy.any():
        return weight
    for first in np.flatnonzero(is_heavy) + 1:
        limited[first:] *= min(1.0, _MOST_WEIGHT * limited[:first].sum() / limited[first])
    found = np.empty_like(weight)
    found[order] = limited
    return found


def mismatch_prices(distances):
    """Return d(x, second nearest centre) - d(x, nearest centre) per row: float64 array (n,).

    All values are 0 if there is only one centre.
    """
    if distances.shape[1] < 2:
        return np.zeros(len(distances))
    prices = np.empty(len(distances))
    for part in row_blocks(distances):  # in blocks, because np.partition copies its argument
        nearest = np.partition(distances[part], 1, axis=1)
        prices[part] = nearest[:, 1] - nearest[:, 0]
    return prices
