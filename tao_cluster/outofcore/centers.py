"""The free clustering of all rows: Lloyd's algorithm by sums over blocks."""

from dataclasses import dataclass

import numpy as np

from ..reference import nearest_center
from .statistics import Sums


def lloyd(source, centers, tol, least_gain=0.0, max_iter=100):
    """Alternate assignments and centres over all rows; a cluster without rows keeps its centre.

    Parameters
    ----------
    source : AllRows
    centers : float64 array of shape (k, m), the start
    tol : float
        It ends when the summed squares of the shifts of the centres are no more than this.
    least_gain : float
        It ends, too, when these squares, times the weights of the clusters, are no more: by so much
        the cost of k-means has fallen.
    max_iter : int, passes over the rows at most

    Returns
    -------
    centers : float64 array of shape (k, m)
    n_iter : int
    """
    objective = source.reader.objective
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        found = source.sum(_assign, centers)
        before, centers = centers, objective.centers_of(found.sums, found.weight, centers)
        shifts = ((centers - before) ** 2).sum(axis=1)
        if shifts.sum() <= tol or found.weight @ shifts <= least_gain:
            break
    return centers, n_iter


def free_inertia(source, centers):
    """Return the cost of all rows at their nearest centres."""
    return source.sum(_value, centers)


@dataclass(frozen=True, eq=False)
class _Assigned(Sums):
    """Sums (k, m) of the rows nearest to each centre, and their weights (k,)."""

    sums: np.ndarray
    weight: np.ndarray


def _assign(rows, centers):
    k, objective = len(centers), rows.objective
    labels = nearest_center(objective, rows.data, centers)
    sums = objective.cluster_sums(rows.data, labels, rows.weight, k)
    return _Assigned(sums, np.bincount(labels, rows.weight, k))


def _value(rows, centers):
    labels = nearest_center(rows.objective, rows.data, centers)
    return rows.objective.value(rows.data, labels, rows.weight, centers)
