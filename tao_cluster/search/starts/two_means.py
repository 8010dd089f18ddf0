"""2-means of some rows, for the nodes of initial trees: rough and quick."""

import numpy as np
import scipy.sparse as sp

_N_STEPS = 30  # rows that change sides after so many are few


def two_means(X, weight, rng, n_init=1):
    """Centres of two clusters of some rows.

    Lloyd's algorithm from k-means++ seeds. scikit-learn's, which is made for more rows and
    clusters, takes ten times as long for a node of a hundred rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d)
    weight : float64 array of shape (m,), positive
    rng : RandomState
    n_init : int, restarts, of which the best one counts

    Returns
    -------
    (2, d) float64 array; None if all rows are equal
    """
    X = X.astype(np.float64)
    origin = np.zeros(X.shape[1]) if sp.issparse(X) else X.mean(axis=0)
    if not sp.issparse(X):
        X -= origin  # keeps the digits of rows far from zero
    everything = weight @ X
    found = [_restart(X, weight, everything, rng) for _ in range(n_init)]
    saved, centers = max(found, key=lambda pair: pair[0])
    return None if saved <= 0 else centers + origin


def _restart(X, weight, everything, rng):
    """What two clusters save over one but for a constant, and their centres."""
    seeds, goes_right = _seeds(X, weight, rng), None
    if seeds is None:
        return 0.0, None
    left, right = seeds
    for _ in range(_N_STEPS):
        moved = X @ (right - left) > (right @ right - left @ left) / 2
        if moved.all() or not moved.any() or np.array_equal(moved, goes_right):
            break
        goes_right = moved
        heavy = weight @ goes_right
        total = np.where(goes_right, weight, 0.0) @ X
        left, right = (everything - total) / (weight.sum() - heavy), total / heavy
    if goes_right is None:
        return 0.0, None
    gap = right - left
    return heavy * (weight.sum() - heavy) * (gap @ gap), np.array([left, right])


def _seeds(X, weight, rng):
    """Two different rows, the second drawn by its distance to the first; None if all are equal."""
    first = _row(X, rng.choice(len(weight), p=weight / weight.sum()))
    norms = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    norms = np.asarray(norms).ravel()
    distances = norms - 2 * (X @ first) + first @ first
    distances[distances <= 1e-12 * (norms + first @ first)] = 0.0  # rounding
    shares = weight * distances
    if not shares.any():
        return None
    return first, _row(X, rng.choice(len(weight), p=shares / shares.sum()))


def _row(X, i):
    return X[[i]].toarray()[0] if sp.issparse(X) else X[i]
