"""The problem of a fit: what a tree is to explain. It stays as it is from input to result.

Of few rows, noisy copies can stand beside them: what a tree is to hold for, so that it holds for
other rows, too. The copies are those of a smoothed bootstrap (Silverman & Young 1987): each row
plus a part of the difference of two rows of its free cluster, which are noise of the shape of the
cluster. What they cost is known, since the centres are.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import canonical, check_sizes, ranges, row_blocks, row_size, rows_of
from ..objectives import Objective, cluster_means
from ..reference import FreeClustering, cost_increase, free_clustering, free_labels, optimal_centers
from ..tree import Tree
from ..tree.routing import kernel_arrays, project

_ROUNDING = 1e-12

_NOISE = 0.3  # of the difference of two rows
_SHARE = 0.3  # of the weight, that all copies have
_MOST_ROWS, _MOST_VALUES = 20_000, 2e7  # with the copies
_SPARSE_FACTOR = 3  # values stored for a copy, for one of a row
_GOLDEN, _STRIDE = 0.5 * (np.sqrt(5.0) - 1.0), 7919.0


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
        return self.tree.route(kernel_arrays(problem.X), n_jobs=n_jobs)


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


def smoothed(problem, n_copies):
    """The problem of the rows and of noisy copies, of the same weight in all.

    Nothing is drawn: the mates of a row follow from its place among the rows of its cluster, so
    that neither their order nor the way in which equal rows are told changes the copies.

    Parameters
    ----------
    problem : Problem
    n_copies : int, of each row; fewer where there are many rows

    Returns
    -------
    Problem; the same object where there are no copies
    """
    X, space, objective = problem.X, problem.space, problem.objective
    n_copies = min(n_copies, _affordable(X))
    can_copy = objective.can_perturb_rows or objective.explains_labels
    if n_copies < 1 or not can_copy or not all(_have_room(each, n_copies) for each in (X, space)):
        return problem
    mates = _mates(problem, 2 * n_copies)
    X = _with_copies(X, mates)
    if space is problem.X:
        space = X
    elif objective.explains_labels:  # a copy has the label of its row
        space = np.tile(space, (n_copies + 1, 1))
    else:
        space = _with_copies(space, mates)
    weight = np.tile(problem.weight * (_SHARE / n_copies), n_copies + 1)
    weight[: problem.n_rows] = (1.0 - _SHARE) * problem.weight
    data, centers = objective.prepare(space), problem.free.centers
    labels = free_labels(objective, data, weight, centers)
    labels[: problem.n_rows] = problem.free.labels
    free = FreeClustering(labels, centers, objective.value(data, labels, weight, centers))
    terms = {"data": data, "weight": weight, "free": free, "held_out": None}
    return replace(problem, X=X, space=space, **terms)


def _affordable(X):
    """Copies of each row for which there is room."""
    n_rows, n_values = X.shape[0], row_size(X) * X.shape[0]
    n_values *= _SPARSE_FACTOR if sp.issparse(X) else 1
    return int(min(_MOST_ROWS / max(n_rows, 1), _MOST_VALUES / max(n_values, 1))) - 1


def _have_room(X, n_copies):
    """Whether sums of the squares of rows and copies cannot overflow the type of the rows."""
    low, high = ranges(X)
    largest = (1 + 2 * _NOISE) * max(high.max(), -low.min())
    n_values = (n_copies + 1) * X.shape[0] * X.shape[1]
    return largest < np.sqrt(np.finfo(X.dtype).max / n_values)


def _with_copies(X, mates):
    """Rows, and each plus a part of the difference of two others, for each two rows of mates.

    Where nothing would be left of a row it is copied as it is: no direction is lost.
    """
    parts = [X]
    for one, other in zip(mates[::2], mates[1::2], strict=True):
        copies = X + (X[one] - X[other]) * X.dtype.type(_NOISE)
        is_left = np.asarray((copies != 0).sum(axis=1)).ravel() > 0
        if not is_left.all():
            copies = _stacked([copies, X])
            own = np.arange(len(is_left))
            copies = copies[np.where(is_left, own, len(own) + own)]
        parts.append(copies)
    return _stacked(parts)


def _stacked(parts):
    if sp.issparse(parts[0]):
        return canonical(sp.vstack(parts, format="csr"))
    return np.vstack(parts)


def _mates(problem, n_mates):
    """Rows of the same free cluster for each row: int array of shape (n_mates, n).

    A row's place is its share of the weight of its cluster, in the order of a random projection;
    equal rows have one place. Its mates are at places that look as if they were drawn.
    """
    X, weight, labels = problem.X, problem.weight, problem.free.labels
    n_features = X.shape[1]
    direction = np.random.RandomState(0).standard_normal(n_features)
    rows = np.arange(problem.n_rows)
    key = project(kernel_arrays(X), rows, np.arange(n_features, dtype=np.int32), direction)
    order = np.lexsort((key, labels))
    mates = np.empty((n_mates, len(rows)), np.intp)
    bounds = np.flatnonzero(np.diff(labels[order], prepend=-1, append=-1))
    for start, stop in itertools.pairwise(bounds):
        members = order[start:stop]
        above = np.cumsum(weight[members])
        _, first, group = np.unique(key[members], return_index=True, return_inverse=True)
        below = np.append(0.0, above)[first]
        upto = above[np.append(first[1:], len(members)) - 1]
        place = (0.5 * (below + upto) / above[-1])[group]
        for m in range(n_mates):
            there = (_STRIDE * place + (m + 1) * _GOLDEN) % 1.0
            found = np.searchsorted(above, there * above[-1], side="right")
            mates[m, members] = members[np.minimum(found, len(members) - 1)]
    return mates
