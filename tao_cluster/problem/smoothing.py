"""Few rows and noisy copies of them: what a tree is to hold for, so that it holds for others, too.

The copies are those of a smoothed bootstrap (Silverman & Young 1987): each row plus a part of the
difference of two rows of its free cluster, which are noise of the shape of the cluster. What they
cost is known, since the centres are.
"""

import itertools
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import canonical, row_size
from ..reference import FreeClustering, free_labels
from ..tree.routing import kernel_view, project

_NOISE = 0.3  # of the difference of two rows
_SHARE = 0.3  # of the weight, that all copies have
_MOST_ROWS, _MOST_VALUES = 20_000, 2e7  # with the copies
_SPARSE_FACTOR = 3  # values stored for a copy, for one of a row
_GOLDEN, _STRIDE = 0.5 * (np.sqrt(5.0) - 1.0), 7919.0


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
    n_copies = min(n_copies, _affordable(problem.X))
    if n_copies < 1:
        return problem
    mates = _mates(problem, 2 * n_copies)
    X = _with_copies(problem.X, mates)
    try:
        return _of_copies(problem, X, mates)
    except ValueError:  # values so large that copies overflow, or directions that cancel
        return problem


def _affordable(X):
    """Copies of each row for which there is room."""
    n_rows, n_values = X.shape[0], row_size(X) * X.shape[0]
    n_values *= _SPARSE_FACTOR if sp.issparse(X) else 1
    return int(min(_MOST_ROWS / max(n_rows, 1), _MOST_VALUES / max(n_values, 1))) - 1


def _of_copies(problem, X, mates):
    objective, n_copies = problem.objective, len(mates) // 2
    if problem.space is problem.X:
        space = X
    elif objective.explains_labels:  # a copy has the label of its row
        space = np.tile(problem.space, (n_copies + 1, 1))
    else:
        space = _with_copies(problem.space, mates)
    data = objective.prepare(space)
    weight = np.tile(problem.weight * (_SHARE / n_copies), n_copies + 1)
    weight[: problem.n_rows] = (1.0 - _SHARE) * problem.weight
    centers = problem.free.centers
    labels = free_labels(objective, data, weight, centers)
    labels[: problem.n_rows] = problem.free.labels
    free = FreeClustering(labels, centers, objective.value(data, labels, weight, centers))
    terms = {"data": data, "weight": weight, "free": free, "held_out": None}
    return replace(problem, X=X, space=space, **terms)


def _with_copies(X, mates):
    """Rows, and each plus a part of the difference of two others, for each two rows of mates."""
    parts = [X]
    with np.errstate(over="ignore", invalid="ignore"):
        for one, other in zip(mates[::2], mates[1::2], strict=True):
            parts.append(X + (X[one] - X[other]) * X.dtype.type(_NOISE))
    return canonical(sp.vstack(parts, format="csr")) if sp.issparse(X) else np.vstack(parts)


def _mates(problem, n_mates):
    """Rows of the same free cluster for each row: int array of shape (n_mates, n).

    A row's place is its share of the weight of its cluster, in the order of a random projection;
    equal rows have one place. Its mates are at places that look as if they were drawn.
    """
    X, weight, labels = problem.X, problem.weight, problem.free.labels
    n_features = X.shape[1]
    direction = np.random.RandomState(0).standard_normal(n_features)
    rows = np.arange(problem.n_rows)
    key = project(kernel_view(X), rows, np.arange(n_features, dtype=np.int32), direction)
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
