"""The data sets of the papers: shapes and seeds, and that they show what they were made for."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from benchmarks.synthetic import synthetic_one, synthetic_two
from greedy import CART, IMM, DPTree, ExGreedy, ExKCenter, ExKMC, ExShallow, ExSingleLink


def ratio(model):
    """Cost over that of the reference."""
    return 1 + model.cost_increase_ / 100


# ---------------------------------------------------------------- what they are


@pytest.mark.parametrize("make", [synthetic_one, synthetic_two])
def test_seeds_make_the_data(make):
    sizes = (40, 9) if make is synthetic_one else (4, 9)
    X, y, centers = make(*sizes, random_state=3)
    again = make(*sizes, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(again[0], X)
    np.testing.assert_array_equal(again[1], y)
    assert not np.array_equal(make(*sizes, random_state=4)[0], X)
    assert X.dtype == np.float64
    assert len(X) == len(y)
    assert centers.shape == (y.max() + 1, 9)


def test_synthetic_one_is_what_it_says():
    X, y, centers = synthetic_one(401, 30, n_flips=3, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), [2, 200, 199])
    np.testing.assert_array_equal(X[:2, 0], 1000)
    np.testing.assert_array_equal(X[:2, 1:], [[0] * 29, [1] * 29])
    assert (X[2:, 0] == 0).all()
    assert ((X[y == 1] == 0).sum(axis=1) == 4).all()
    assert ((X[y == 2] == 1).sum(axis=1) == 3).all()
    np.testing.assert_allclose(centers[1], X[y == 1].mean(axis=0))


def test_synthetic_two_is_what_it_says():
    X, y, centers = synthetic_two(5, 40, random_state=0)
    differs = centers[y] != X
    assert (differs.sum(axis=1) == 1).all()
    assert (X[differs] == 0).all()
    for k in range(5):
        np.testing.assert_array_equal(differs[y == k].sum(axis=0), 1)
    assert set(np.unique(centers)) == {-1.0, 1.0}


@pytest.mark.parametrize(("k", "d"), [(3, 1), (9, 2), (30, 3), (81, 6), (100, 40)])
def test_kcenter_lower_bound_is_what_it_says(k, d):
    X, y, centers = kcenter_lower_bound(k, d)
    own = cdist(X, centers)
    assert own[np.arange(len(X)), y].max() == 0.75
    if d > 1:  # on a line, rows 3 / 4 away are nearer to the next centre
        np.testing.assert_array_equal(own.argmin(axis=1), y)
    n_near = (len(X) - k) // (2 * d)
    for column in centers[:n_near].T:  # fact 1
        np.testing.assert_array_equal(np.sort(column), np.arange(n_near))
    between = cdist(centers, centers)[np.triu_indices(k, 1)]
    period, base = _period_and_base(n_near, d, k)
    assert between.min() >= np.sqrt(d // period) * base ** (period - 1) / 2  # lemma 1


def _period_and_base(n_near, d, k):
    """p and b of b ** p centres; the largest p that the paper allows where there are several."""
    for period in range(d, 0, -1):
        base = round(n_near ** (1 / period))
        if base**period == n_near and base >= 3 and base**period <= k < (base + 1) ** period:
            return period, base
    raise AssertionError


def test_spacing_lower_bound_is_what_it_says():
    for k, n in ((2, 6), (4, 104), (7, 31)):
        X, y = spacing_lower_bound(k, n)
        assert (len(X), y.max() + 1) == (n, k)
        distances = cdist(X, X)
        assert distances[y[:, None] != y].min() == (n - k) / 2 - 1
        assert len(np.unique(X, axis=0)) == n


# ---------------------------------------------------------------- what they show


def test_synthetic_one_is_bad_for_cart_alone():
    X, _, centers = synthetic_one(2000, 400, random_state=0)
    reference = {"reference": centers}
    assert ratio(CART(3, max_leaves=3, random_state=0, **reference).fit(X)) > 5
    assert ratio(IMM(3, **reference).fit(X)) < 1.2
    assert ratio(ExKMC(3, max_leaves=6, **reference).fit(X)) < 1.01


def test_exkmc_falls_linearly_on_synthetic_two():
    """Theorem 4: ExKMC's cost falls by about as much a leaf, to that of k-means."""
    n_clusters, n_features = 12, 120
    X, y, _ = synthetic_two(n_clusters, n_features, random_state=0)
    means = np.array([X[y == k].mean(axis=0) for k in range(n_clusters)])
    most = int(3 * n_clusters * np.log2(n_clusters))
    model = ExKMC(n_clusters, max_leaves=most, reference=means).fit(X)
    np.testing.assert_array_equal(model.free_labels_, y)
    surrogate = np.array([record["surrogate"] for record in model.trace_]) / model.free_inertia_
    assert surrogate[0] > 1 + np.log2(n_clusters) / 4  # IMM's
    assert surrogate[-1] == pytest.approx(1)
    assert model.cost_increase_ == pytest.approx(0, abs=1e-9)
    np.testing.assert_array_equal(model.labels_, y)
    steps = -np.diff(surrogate)
    # A leaf takes out a mistake, which costs about half the distance of two codewords squared.
    mistake = 2 * n_features / (n_clusters * (n_features - 1))
    assert np.all(steps > 0.5 * mistake)
    leaves = np.arange(len(surrogate))
    assert np.corrcoef(leaves, surrogate)[0, 1] < -0.98


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "share"), [("kmeans", 1 / 4), ("kmedians", 1 / 8)])
def test_every_tree_with_k_leaves_pays_the_logarithm(objective, share):
    """Codewords differ by 2 in half of the features: 2 d in squares, d in L1 distance."""
    for k in (8, 16, 32):
        X, _, centers = synthetic_two(k, 4 * k, random_state=0)
        for method in (IMM, ExGreedy, ExShallow, DPTree):
            model = method(k, objective=objective, reference=centers).fit(X)
            assert ratio(model) > 1 + share * np.log2(k), method


@pytest.mark.slow
@pytest.mark.parametrize("rest", ["grid", "halves"])
def test_every_tree_pays_for_far_centres(rest):
    """Lemma 2, whose bound grows with k ** (1 - 1 / d); and the upper bound of theorem 2."""
    for d, sizes in ((2, (9, 36, 144)), (3, (27, 64, 125))):
        costs = []
        for k in sizes:
            X, _, centers = kcenter_lower_bound(k, d, period=d)
            model = ExKCenter(k, rest=rest, reference=centers).fit(X)
            assert model.free_inertia_ == 0.75
            base = round(k ** (1 / d))
            assert model.inertia_ >= base ** (d - 1) / 4 - 3 / 8
            assert model.inertia_ <= 4 * np.sqrt(d) * k ** (1 - 1 / d) * 0.75
            costs.append(model.inertia_)
        order = np.log(costs[-1] / costs[0]) / np.log(sizes[-1] / sizes[0])
        assert order > 0.8 * (1 - 1 / d)


def test_a_far_spacing_is_lost():
    for n in (24, 104, 404):
        X, y = spacing_lower_bound(4, n)
        model = ExSingleLink(4).fit(X)
        assert model.free_spacing_ == (n - 4) / 2 - 1
        assert model.spacing_ == 1
        agree = model.free_labels_[:, None] == model.free_labels_
        np.testing.assert_array_equal(agree, y[:, None] == y)


# ---------------------------------------------------------------- data of lower bounds


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
    """
    size = (n_samples - n_clusters) // 2
    arm = np.arange(1.0, size + 1)
    others = np.arange(1.0, n_clusters) * (size - 1)
    x = np.concatenate([[0.0], np.zeros(size), arm, others])
    height = np.concatenate([[0.0], arm, np.zeros(size), np.full(n_clusters - 1, size - 1.0)])
    y = np.append(np.zeros(2 * size + 1, np.int64), np.arange(1, n_clusters))
    return np.column_stack([x, height]), y


def kcenter_lower_bound(n_clusters=27, n_features=3, period=None):
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

    Returns
    -------
    X : float64 array of shape (k + 2 d b ** p, d)
        First the centres, then the rows around the near ones. The i-th far centre has
        (i + 1) k ** 2 in every coordinate; the paper's k ** i soon exceeds the range of floats.
    y : int64 array of shape (k + 2 d b ** p,)
        Clusters.
    centers : float64 array of shape (k, d)
    """
    period = _period(n_clusters, n_features) if period is None else period
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
    return np.vstack([centers, around]), y, centers


def _period(n_clusters, n_features):
    """Return the default `period` of :func:`kcenter_lower_bound`: 3 ** period <= `n_clusters`."""
    most = n_features
    if n_clusters > np.e:
        ratio = np.log(n_clusters) / np.log(np.log(n_clusters)) if n_clusters > 15 else most
        most = min(most, int(ratio))
    while 3**most > n_clusters:
        most -= 1
    return max(most, 1)
