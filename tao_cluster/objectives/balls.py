"""Euclidean distances to places, and the smallest ball that holds some rows."""

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from .._utils.matrices import as_array, row_blocks

_N_NEW = 16  # rows outside a ball that are looked at together
ROUNDING = 1e-12

# In more columns nearly every row may be on the sphere, as documents are; then a ball is closed in
# on until its squared radius is known to this share, in this many steps at most.
_MOST_COLUMNS = 1024
_SHARE, _MOST_STEPS = 1e-3, 300


def check_norms(X):
    """ValueError if squared norms of rows overflow."""
    with np.errstate(over="ignore"):
        for part in row_blocks(X):
            norms = row_norms(X[part].astype(np.float64, copy=False), squared=True)
            if not np.isfinite(4 * norms.max(initial=0.0)):
                raise ValueError("The squared norms of the rows of X overflow; rescale the data.")


def as_dense(rows):
    """Dense copy of a few rows: float64 array."""
    return as_array(rows).astype(np.float64)


def euclidean(X, places):
    """Euclidean distances: float64 array of shape (n, k), by differences for dense rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    places : float64 array of shape (k, d)
    """
    measure = euclidean_distances if sp.issparse(X) else cdist
    out = np.empty((X.shape[0], len(places)))
    for part in row_blocks(X):
        out[part] = measure(X[part].astype(np.float64, copy=False), places)
    return out


def smallest_ball(rows):
    """Centre of the smallest ball that holds some rows: float64 array of shape (d,).

    The ball of a few rows is made larger by the rows farthest outside, until there are none;
    every pass over the rows takes O(n d) time, and there are few. In more than 1024 columns the
    radius is the least one up to a share of 5e-4.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d), n >= 1
    """
    if rows.shape[1] > _MOST_COLUMNS:
        return _closed_in(rows)
    some, radius = np.empty(0, np.intp), -np.inf
    center = as_dense(rows[:1])[0]
    while True:
        distances = euclidean(rows, center[None])[:, 0]
        farthest = np.argsort(-distances, kind="stable")[:_N_NEW]
        outside = farthest[distances[farthest] > radius * (1 + ROUNDING)]
        outside = outside[~np.isin(outside, some)]
        if len(outside) == 0:
            return center
        some = np.append(some, outside)
        center, radius = _ball_of_few(as_dense(rows[some]))


def _ball_of_few(points):
    """Centre and radius of the smallest ball of some points, which it walks to.

    Fischer, Gaertner & Kutz (2003), "Fast smallest-enclosing-ball computation in high dimensions".
    The centre of a ball with some points on its sphere, its support, moves towards the nearest
    place of their affine hull until another point is on the sphere; where it has arrived, a
    point that pulls the wrong way leaves the support.
    """
    center = points[0]
    support = [int(cdist(points, center[None])[:, 0].argmax())]
    for _ in range(20 * sum(points.shape)):  # never seen to be needed; a ball that holds all anyway
        first, spans = points[support[0]], points[support[1:]] - points[support[0]]
        shares = np.linalg.lstsq(spans.T, center - first)[0] if len(spans) else np.empty(0)
        way = first + shares @ spans - center
        radius = np.linalg.norm(first - center)
        if np.linalg.norm(way) <= ROUNDING * radius:
            shares = np.append(1 - shares.sum(), shares)
            if shares.min() >= -ROUNDING:
                break
            support.pop(int(shares.argmin()))
            continue
        step, stop = _first_on_sphere(points, support, center, way)
        center = center + step * way
        if stop is not None:
            support.append(stop)
    return center, cdist(points, center[None]).max()


def _first_on_sphere(points, support, center, way):
    """How far the centre moves along its way, at most 1, and the point that stops it, if any."""
    first = points[support[0]]
    slack = ((first - center) ** 2).sum() - ((points - center) ** 2).sum(axis=1)
    rate = 2 * (first - points) @ way
    # Points of the support's hull stay on the sphere; their rate is rounding.
    least = ROUNDING * np.linalg.norm(way) * np.linalg.norm(first - center)
    is_near = rate > least
    is_near[support] = False
    steps = np.full(len(points), np.inf)
    steps[is_near] = np.maximum(slack[is_near], 0.0) / rate[is_near]
    stop = int(steps.argmin())
    return (float(steps[stop]), stop) if steps[stop] < 1 else (1.0, None)


def _closed_in(rows):
    """Centre of nearly the smallest ball, as a weighted mean of rows.

    Frank-Wolfe steps with steps away (Yildirim 2008, "Two algorithms for the minimum enclosing ball
    problem", algorithm 4.1): the mean moves towards the farthest row, or away from the nearest one
    that it is made of. The weighted mean of the squared distances is a lower bound of the
    squared radius.
    """
    share = np.zeros(rows.shape[0])
    first = int(euclidean(rows, as_dense(rows[:1]))[:, 0].argmax())
    share[[0, first]] = 0.5
    if first == 0:
        return as_dense(rows[:1])[0]
    center, measure = share @ rows, _measure(rows)
    for _ in range(_MOST_STEPS):
        squared = measure(center)
        bound = share @ squared
        far, near = int(squared.argmax()), int(np.where(share > 0, squared, np.inf).argmin())
        above, below = squared[far] / bound - 1, 1 - squared[near] / bound
        if above <= _SHARE:
            break
        row, step = far, above / (2 * (1 + above))
        if below > above:
            most = share[near] / (1 - share[near])  # with this step the row has no share left
            row, step = near, -min(below / (2 * (1 - below)) if below < 1 else most, most)
            share[near] = 0.0 if step == -most else share[near]
        center = (1 - step) * center + step * as_dense(rows[[row]])[0]
        share *= 1 - step
        share[row] += step if share[row] > 0 or step > 0 else 0.0
    return center


def _measure(rows):
    """Function of a centre: squared distances of the rows, from what is computed once."""
    if not sp.issparse(rows):
        return lambda center: cdist(rows, center[None], "sqeuclidean")[:, 0]
    norms = row_norms(rows.astype(np.float64, copy=False), squared=True)
    return lambda center: np.maximum(norms - 2 * (rows @ center) + center @ center, 0.0)
