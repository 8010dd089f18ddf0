"""Noisy copies of rows, with which trees that are fitted to few rows hold on new rows.

The copies are those of a smoothed bootstrap (Silverman & Young 1987): each row plus a fraction of
the difference of two rows of the same free cluster. This noise has the shape of the cluster. The
cost of a copy is known, because the centres are.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import canonical, power_of_two, ranges, row_size
from ..reference import FreeClustering, free_labels
from ..tree.routing import kernel_arrays, project

# A cluster of _FEW rows takes half of the differences for its copies from other clusters.
_FEW = 5.0
_MOST_ROWS, _MOST_VALUES = 20_000, 2e7  # maximum numbers of rows and values with noisy copies
_SPARSE_FACTOR = 3  # a copy of a sparse row stores up to this many times the values of the row
# Strides and steps of the quasi-random sequences that choose the two rows of a difference, and the
# rows whose differences come from other clusters. Equal strides would make the two rows depend on
# each other.
_SEQUENCES = ((7919.0, 0.5 * (np.sqrt(5.0) - 1.0)), (6007.41421356, 0.7548776662466927))
_LENDING = (4001.732, 0.5698402909980532)


@dataclass(frozen=True)
class Noise:
    """How noisy copies of rows are made; see :func:`with_noisy_copies`.

    Parameters
    ----------
    size : float
        Fraction of the difference of two rows that is added to a row. It should not be a simple
        fraction such as 0.5: copies of rounded values would often coincide with values of other
        rows up to rounding errors, so that the unit of a column could change the tree.
    share : float
        Fraction of the total weight that all copies together have.
    """

    size: float
    share: float


def with_noisy_copies(problem, n_copies, noise):
    """Return the problem of the rows and of noisy copies of them; the total weight is the same.

    The copies are deterministic. They depend neither on the order of the rows nor on whether equal
    rows are repeated or weighted.

    Parameters
    ----------
    problem : Problem
    n_copies : int
        Copies per row; fewer if there are many rows.
    noise : Noise

    Returns
    -------
    Problem
        The same object if there are no copies.
    """
    X, space, objective = problem.X, problem.space, problem.objective
    n_copies = min(n_copies, max_copies(X))
    can_copy = objective.can_perturb_rows or objective.explains_labels
    # If two centres are equal, copies would move the centre of one cluster away from its rows, and
    # the other cluster, which has no rows, would get them.
    n_centers = len(np.unique(problem.free.centers, axis=0))
    if (
        n_copies < 1
        or not can_copy
        or n_centers < problem.n_clusters
        or not all(_can_sum_squares(each, n_copies, noise.size) for each in (X, space))
    ):
        return problem
    donors, (of_X, of_space) = _donors(problem, 2 * n_copies), problem.unperturbed
    X = _with_copies(X, donors, noise.size, of_X)
    if space is problem.X:
        space = X
    elif objective.explains_labels:  # each copy gets the label of its row
        space = np.tile(space, (n_copies + 1, 1))
    else:
        space = _with_copies(space, donors, noise.size, of_space)
    weight = np.tile(problem.weight * (noise.share / n_copies), n_copies + 1)
    weight[: problem.n_rows] = (1.0 - noise.share) * problem.weight
    data, centers = objective.prepare(space), problem.free.centers
    labels = free_labels(objective, data, weight, centers)
    labels[: problem.n_rows] = problem.free.labels
    free = FreeClustering.from_labels(objective, data, weight, labels, centers)
    size = problem.leaf_size and problem.leaf_size.with_copies(len(weight))
    terms = {"data": data, "weight": weight, "free": free, "held_out": None, "leaf_size": size}
    return replace(problem, X=X, space=space, **terms)


def max_copies(X):
    """Return the maximum number of noisy copies per row: an int, below 1 if X is too large."""
    n_rows, n_values = X.shape[0], row_size(X) * X.shape[0]
    n_values *= _SPARSE_FACTOR if sp.issparse(X) else 1
    return int(min(_MOST_ROWS / max(n_rows, 1), _MOST_VALUES / max(n_values, 1))) - 1


def _can_sum_squares(X, n_copies, noise):
    """Return whether sums of squares of rows and noisy copies fit into the data type of X."""
    low, high = ranges(X)
    largest = (1 + 2 * noise) * max(high.max(), -low.min())
    n_values = (n_copies + 1) * X.shape[0] * X.shape[1]
    return largest < np.sqrt(np.finfo(X.dtype).max / n_values)


def _with_copies(X, donors, noise, unperturbed=()):
    """Return X and, below it, noisy copies of X: one per pair of rows of `donors`.

    `donors` has shape (2 * number of copies, n). Each copy of a row of X is the row plus `noise`
    times the difference of its two donors, which are other rows. Copies keep the values of the
    columns `unperturbed`, which only an array can have.

    If a noisy copy would have only zeros, the row is copied unchanged, because the cosine distance
    is not defined for zeros.
    """
    parts = [X]
    for one, other in zip(donors[::2], donors[1::2], strict=True):
        copies = X + (X[one] - X[other]) * X.dtype.type(noise)
        if len(unperturbed):
            copies[:, unperturbed] = X[:, unperturbed]
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


def _donors(problem, n_donors):
    """Return `n_donors` rows of similar clusters for each row: int array (n_donors, n).

    Noisy copies of a row are computed from them. Two donors of a row, next to each other, give the
    difference that is added to it. They are rows of its free cluster. Few rows do not show how a
    cluster varies, so for some rows of small clusters they are the donors of a row of any cluster.

    The rows of a cluster are ordered by a random projection. The place of a row is the share of the
    weight of its cluster that lies before it; equal rows have the same place. The places of the
    donors of a row are quasi-random sequences that start from the place of the row.
    """
    X, weight, labels = problem.X, problem.weight, problem.free.labels
    n_features = X.shape[1]
    direction = np.empty(n_features)
    direction[_in_order_of_values(X)] = np.random.RandomState(0).standard_normal(n_features)
    rows = np.arange(problem.n_rows)
    key = project(kernel_arrays(X), rows, np.arange(n_features, dtype=np.int32), direction)
    order = np.lexsort((key, labels))
    donors, lent = np.empty((n_donors, len(rows)), np.intp), np.empty(len(rows))
    bounds = np.flatnonzero(np.diff(labels[order], prepend=-1, append=-1))
    for start, stop in itertools.pairwise(bounds):
        members = order[start:stop]
        above, place, n_different = _places(key[members], weight[members])
        lent[members] = _FEW / (_FEW + n_different)
        for m in range(n_donors):
            stride, step = _SEQUENCES[m % 2]
            donors[m, members] = members[_rows_at(above, stride * place + (m + 1) * step)]
    return _with_lenders(donors, key, weight, lent)


def _in_order_of_values(X):
    """Return the columns of X ordered by their values, so that their places in X do not matter."""
    low, high = ranges(X)
    means = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    # Rounded, because sums can depend on the place of a column, but alike for data of any scale.
    means = (means / power_of_two(max(high.max(), -low.min()))).astype(np.float32)
    return np.lexsort((means, low, high))


def _with_lenders(donors, key, weight, lent):
    """Return the donors, of which some pairs are those of any other row.

    Parameters
    ----------
    donors : int array of shape (n_donors, n)
    key, weight : float64 arrays of shape (n,)
    lent : float64 array of shape (n,)
        The share of the pairs of each row that come from another row.
    """
    order = np.argsort(key, kind="stable")
    above, place_in_order, _ = _places(key[order], weight[order])
    place = np.empty(len(order))
    place[order] = place_in_order
    found = donors.copy()
    (stride, step), (lending_stride, lending_step) = _SEQUENCES[0], _LENDING
    for m in range(0, len(donors), 2):
        lender = order[_rows_at(above, stride * place + (m + 1) * step)]
        takes = (lending_stride * place + (m + 1) * lending_step) % 1.0 < lent
        found[m : m + 2, takes] = donors[m : m + 2, lender[takes]]
    return found


def _places(key, weight):
    """Return where rows lie in the order of their keys, which are ascending.

    Returns
    -------
    above : float64 array of shape (n,), weight of each row and of all rows before it
    place : float64 array of shape (n,)
        Share of the weight before each row, plus half of its own. Rows with equal keys share one.
    n_different : int, number of different keys
    """
    above = np.cumsum(weight)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    below = np.append(0.0, above)[first]
    upto = above[np.append(first[1:], len(key)) - 1]
    return above, (0.5 * (below + upto) / above[-1])[group], len(first)


def _rows_at(above, places):
    """Return the rows at some places, of which only the fractional parts count: int array."""
    found = np.searchsorted(above, places % 1.0 * above[-1], side="right")
    return np.minimum(found, len(above) - 1)
