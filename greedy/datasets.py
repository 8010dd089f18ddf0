"""Synthetic data sets of the papers, on which explainable clusterings cost little or much."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params

__all__ = [
    "imm_lower_bound",
    "kcenter_lower_bound",
    "spacing_lower_bound",
    "synthetic_one",
    "synthetic_two",
]

_AT_LEAST = {n: [Interval(Integral, n, None, closed="left")] for n in range(1, 5)}
_RETURN = {"return_centers": ["boolean"]}


def _returned(X, y, centers, return_centers):
    return (X, y, centers) if return_centers else (X, y)


@validate_params(
    {
        "n_samples": _AT_LEAST[4],
        "n_features": _AT_LEAST[3],
        "n_flips": _AT_LEAST[1],
        "outlier": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        **_RETURN,
    },
    prefer_skip_nested_validation=True,
)
def synthetic_one(
    n_samples=5000,
    n_features=1000,
    *,
    n_flips=2,
    outlier=1000.0,
    random_state=None,
    return_centers=False,
):
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
    return_centers : bool, default=False
        Whether to return the centres as well.

    Returns
    -------
    X : float64 array of shape (n_samples, n_features)
    y : int64 array of shape (n_samples,)
        Clusters: 0 for the outliers, which come first, 1 and 2 for the halves.
    centers : float64 array of shape (3, n_features)
        Means of the clusters, only if `return_centers`.

    Raises
    ------
    ValueError
        If `n_flips` is not less than `n_features`.

    Examples
    --------
    >>> from greedy.datasets import synthetic_one
    >>> X, y = synthetic_one(6, 5, n_flips=1, outlier=9, random_state=0)
    >>> X[:2].tolist(), y.tolist()
    ([[9.0, 0.0, 0.0, 0.0, 0.0], [9.0, 1.0, 1.0, 1.0, 1.0]], [0, 0, 1, 1, 2, 2])
    """
    if n_flips >= n_features:
        raise ValueError(f"n_flips={n_flips} must be below n_features={n_features}.")
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
    centers = np.array([X[y == k].mean(axis=0) for k in range(3)])
    return _returned(X, y, centers, return_centers)


@validate_params(
    {
        "n_clusters": _AT_LEAST[1],
        "n_features": _AT_LEAST[1],
        "random_state": ["random_state"],
        **_RETURN,
    },
    prefer_skip_nested_validation=True,
)
def synthetic_two(n_clusters=30, n_features=1000, *, random_state=None, return_centers=False):
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
    return_centers : bool, default=False
        Whether to return the centres as well.

    Returns
    -------
    X : float64 array of shape (n_clusters * n_features, n_features)
    y : int64 array of shape (n_clusters * n_features,)
        Clusters.
    centers : float64 array of shape (n_clusters, n_features)
        The codewords, only if `return_centers`. The means of the clusters are the codewords
        times 1 - 1 / n_features.

    Examples
    --------
    >>> from greedy.datasets import synthetic_two
    >>> X, y = synthetic_two(2, 3, random_state=1)
    >>> X.tolist()[:3], y.tolist()
    ([[0.0, 1.0, -1.0], [1.0, 0.0, -1.0], [1.0, 1.0, 0.0]], [0, 0, 0, 1, 1, 1])
    """
    rng = check_random_state(random_state)
    codewords = 2.0 * rng.randint(2, size=(n_clusters, n_features)) - 1
    X = np.repeat(codewords, n_features, axis=0)
    X[np.arange(len(X)), np.tile(np.arange(n_features), n_clusters)] = 0.0
    y = np.repeat(np.arange(n_clusters), n_features)
    return _returned(X, y, codewords, return_centers)


@validate_params(
    {
        "n_clusters": _AT_LEAST[2],
        "n_features": [None, *_AT_LEAST[1]],
        "random_state": ["random_state"],
        **_RETURN,
    },
    prefer_skip_nested_validation=True,
)
def imm_lower_bound(n_clusters=32, n_features=None, *, random_state=None, return_centers=False):
    """Make the data of :func:`synthetic_two` with as many features as the lower bound needs.

    On these data, every axis-aligned tree with k leaves costs Omega(log k) times the optimum,
    for k-means and for k-medians (Dasgupta, Frost, Moshkovitz & Rashtchian 2020, theorem 2). A
    tree whose cuts halve the centres separates k / 2 rows from their centres per level.

    Parameters
    ----------
    n_clusters : int >= 2, default=32
        Number of clusters.
    n_features : int >= 1, default=None
        Number of columns. None means four times the number of clusters: enough for codewords
        that are far apart, and few enough for a balanced tree to be a good one.
    random_state, return_centers
        As in :func:`synthetic_two`. The return values are also those of `synthetic_two`.

    Examples
    --------
    >>> from greedy.datasets import imm_lower_bound
    >>> imm_lower_bound(8, random_state=0)[0].shape
    (256, 32)
    """
    n_features = 4 * n_clusters if n_features is None else n_features
    return synthetic_two(
        n_clusters, n_features, random_state=random_state, return_centers=return_centers
    )


@validate_params(
    {"n_clusters": _AT_LEAST[2], "n_samples": _AT_LEAST[4]}, prefer_skip_nested_validation=True
)
def spacing_lower_bound(n_clusters=4, n_samples=104):
    """Make an L-shaped cluster and distant rows: no axis-aligned tree keeps their large spacing.

    The best clustering has the spacing (n - k) / 2 - 1, but every axis-aligned tree has the
    spacing 1 (Laber & Murtinho 2021, section 5.1). Let p = (n - k) / 2. One cluster has the rows
    (0, i) and (i, 0) for i = 0..p. The others are the single rows ((i - 1)(p - 1), p - 1) for
    i = 2..k. An axis-aligned cut that separates rows of the first two clusters must also separate
    neighbours in the first one.

    Parameters
    ----------
    n_clusters : int >= 2, default=4
        Number of clusters, k.
    n_samples : int >= n_clusters + 4, default=104
        Number of rows, n; n - k must be even.

    Returns
    -------
    X : float64 array of shape (n_samples, 2)
    y : int64 array of shape (n_samples,)
        Clusters of the largest spacing, (n_samples - n_clusters) / 2 - 1.

    Raises
    ------
    ValueError
        If n - k is odd or below 4.

    Examples
    --------
    >>> from greedy.datasets import spacing_lower_bound
    >>> spacing_lower_bound(2, 6)[0].tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]
    """
    size, odd = divmod(n_samples - n_clusters, 2)
    if odd or size < 2:
        raise ValueError(
            f"n_samples - n_clusters = {n_samples} - {n_clusters} = {n_samples - n_clusters} must "
            "be even and at least 4."
        )
    arm = np.arange(1.0, size + 1)
    others = np.arange(1.0, n_clusters) * (size - 1)
    x = np.concatenate([[0.0], np.zeros(size), arm, others])
    height = np.concatenate([[0.0], arm, np.zeros(size), np.full(n_clusters - 1, size - 1.0)])
    y = np.append(np.zeros(2 * size + 1, np.int64), np.arange(1, n_clusters))
    return np.column_stack([x, height]), y


@validate_params(
    {
        "n_clusters": _AT_LEAST[3],
        "n_features": _AT_LEAST[1],
        "period": [None, *_AT_LEAST[1]],
        **_RETURN,
    },
    prefer_skip_nested_validation=True,
)
def kcenter_lower_bound(n_clusters=27, n_features=3, *, period=None, return_centers=False):
    """Make data on which every axis-aligned tree with k leaves has a large k-center cost.

    The centres have the cost 3 / 4, but every axis-aligned tree with k leaves costs at least
    ``sqrt(d // p) * b ** (p - 1) / 4 - 3 / 8``, whatever its centres (Laber & Murtinho 2021,
    section 2.1). There are b ** p <= k near centres. Coordinate j of a near centre is its number
    in base b with the p digits rotated by j - 1 places, so that each coordinate has every value
    0..b ** p - 1 once. Around each near centre are two rows per feature, at -3 / 4 and +3 / 4.
    The other k - b ** p centres are single rows far away from everything.

    Parameters
    ----------
    n_clusters : int >= 3, default=27
        Number of clusters, k.
    n_features : int >= 1, default=3
        Number of columns, d.
    period : int, default=None
        The number p of digits, at most d and at most log3 k. None is the paper's choice, which
        makes the bound large: d if d <= ln k / ln ln k, otherwise ln k / ln ln k rounded down.
    return_centers : bool, default=False
        Whether to return the centres as well.

    Returns
    -------
    X : float64 array of shape (k + 2 d b ** p, d)
        First the centres, then the rows around the near ones. The i-th far centre has
        (i + 1) k ** 2 in every coordinate; the paper's k ** i soon exceeds the range of floats.
    y : int64 array of shape (k + 2 d b ** p,)
        Clusters.
    centers : float64 array of shape (k, d)
        Only if `return_centers`.

    Raises
    ------
    ValueError
        If the period exceeds d or log3 k.

    Examples
    --------
    >>> from greedy.datasets import kcenter_lower_bound
    >>> kcenter_lower_bound(27, 9, period=3)[0][14].tolist()
    [14.0, 22.0, 16.0, 14.0, 22.0, 16.0, 14.0, 22.0, 16.0]
    """
    period = _period(n_clusters, n_features) if period is None else period
    if period > n_features or 3**period > n_clusters:
        raise ValueError(
            f"period={period} must be at most n_features={n_features}, and 3 ** period at most "
            f"n_clusters={n_clusters}."
        )
    base = 3
    while (base + 1) ** period <= n_clusters:
        base += 1
    n_near = base**period
    numbers, shifts = np.arange(n_near), [np.arange(n_near)]
    # Each round moves the last digit of every number, written in `base`, to the front.
    for _ in range(period - 1):
        numbers = numbers // base + numbers % base * base ** (period - 1)
        shifts.append(numbers)
    near = np.column_stack([shifts[feature % period] for feature in range(n_features)])
    far = np.arange(n_near + 1.0, n_clusters + 1)[:, None] * n_clusters**2
    centers = np.vstack([near.astype(np.float64), np.repeat(far, n_features, axis=1)])
    around = np.repeat(centers[:n_near], 2 * n_features, axis=0)
    steps = np.repeat(np.eye(n_features), 2, axis=0) * np.tile([-0.75, 0.75], n_features)[:, None]
    around += np.tile(steps, (n_near, 1))
    y = np.append(np.arange(n_clusters), np.repeat(np.arange(n_near), 2 * n_features))
    return _returned(np.vstack([centers, around]), y, centers, return_centers)


def _period(n_clusters, n_features):
    """Return the default `period` of :func:`kcenter_lower_bound`: 3 ** period <= `n_clusters`."""
    most = n_features
    if n_clusters > np.e:
        ratio = np.log(n_clusters) / np.log(np.log(n_clusters)) if n_clusters > 15 else most
        most = min(most, int(ratio))
    while 3**most > n_clusters:
        most -= 1
    return max(most, 1)
