"""Synthetic data sets of the papers, on which explainable clusterings cost little or much."""

import numpy as np
from sklearn.utils import check_random_state


def synthetic_one(n_samples=5000, n_features=1000, *, n_flips=2, outlier=1e3, random_state=None):
    """Make two large clusters and a third one of two outliers: hard for CART, easy for IMM.

    This is Synthetic I of Frost, Moshkovitz & Rashtchian (2020), appendix B.2:

    - the outliers are (v, 0, ..., 0) and (v, 1, ..., 1);
    - half of the other rows are 1, except in the first feature and in `n_flips` random features,
      where they are 0;
    - the remaining rows are 0, except in `n_flips` random features, where they are 1.

    Every feature except the first separates the two halves almost without error, so CART splits on
    such a feature. This split also separates the two outliers from each other. A tree with three
    leaves then puts one outlier into the same leaf as a half. A split on the first feature
    separates the outliers from all other rows without error.

    Parameters
    ----------
    n_samples : int >= 4, default=5000
        Number of rows.
    n_features : int >= 3, default=1000
        Number of columns.
    n_flips : int, default=2
        Number of flipped features per row, less than `n_features`. The copies of the paper that
        we know do not print this number. More flips increase the cost of every method.
    outlier : float > 0, default=1000
        The value v.
    random_state : int, RandomState instance or None, default=None
        Seed of the flipped features.

    Returns
    -------
    X : float64 array of shape (n_samples, n_features)
    y : int64 array of shape (n_samples,)
        Clusters: 0 for the outliers, which come first, 1 and 2 for the halves.
    centers : float64 array of shape (3, n_features)
        Means of the clusters.

    Examples
    --------
    >>> from benchmarks.synthetic import synthetic_one
    >>> X, y, centers = synthetic_one(6, 5, n_flips=1, outlier=9, random_state=0)
    >>> X[:2].tolist(), y.tolist()
    ([[9.0, 0.0, 0.0, 0.0, 0.0], [9.0, 1.0, 1.0, 1.0, 1.0]], [0, 0, 1, 1, 2, 2])
    """
    rng = check_random_state(random_state)
    y = np.zeros(n_samples, np.int64)
    y[2:] = 1
    y[2 + (n_samples - 1) // 2 :] = 2
    X = np.zeros((n_samples, n_features))
    X[y == 1, 1:] = 1.0
    for row in range(2, n_samples):
        flipped = 1 + rng.choice(n_features - 1, n_flips, replace=False)
        X[row, flipped] = 1.0 - X[row, flipped]
    X[:2, 0] = outlier
    X[1, 1:] = 1.0
    return X, y, np.array([X[y == k].mean(axis=0) for k in range(3)])


def synthetic_two(n_clusters=30, n_features=1000, *, random_state=None):
    """Make random codewords with neighbours: k leaves cost Omega(log k) times the optimum.

    This is Synthetic II of Frost, Moshkovitz & Rashtchian (2020), section 3.4, taken from
    Moshkovitz, Dasgupta, Rashtchian & Frost (2020). A centre is a random row of -1 and 1. Its
    cluster has one row per feature: the centre with this feature set to 0. Every cut separates
    one row from each centre on one of its sides, which costs as much as a whole cluster. ExKMC
    with O(k log k) leaves finds the clusters, and its cost falls linearly (theorem 4).

    Parameters
    ----------
    n_clusters : int >= 1, default=30
        Number of clusters.
    n_features : int >= 1, default=1000
        Number of columns, which is also the number of rows per cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the codewords.

    Returns
    -------
    X : float64 array of shape (n_clusters * n_features, n_features)
    y : int64 array of shape (n_clusters * n_features,)
        Clusters.
    centers : float64 array of shape (n_clusters, n_features)
        The codewords. The means of the clusters are the codewords times 1 - 1 / n_features.

    Examples
    --------
    >>> from benchmarks.synthetic import synthetic_two
    >>> X, y, centers = synthetic_two(2, 3, random_state=1)
    >>> X.tolist()[:3], y.tolist()
    ([[0.0, 1.0, -1.0], [1.0, 0.0, -1.0], [1.0, 1.0, 0.0]], [0, 0, 0, 1, 1, 1])
    """
    rng = check_random_state(random_state)
    codewords = 2.0 * rng.randint(2, size=(n_clusters, n_features)) - 1
    X = np.repeat(codewords, n_features, axis=0)
    X[np.arange(len(X)), np.tile(np.arange(n_features), n_clusters)] = 0.0
    y = np.repeat(np.arange(n_clusters), n_features)
    return X, y, codewords
