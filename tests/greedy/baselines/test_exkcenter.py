"""Ex-kCenter: clean cuts against plain code, the grid, halves, labels, the bound."""

import numpy as np
import pytest
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from greedy import ExKCenter
from tao_cluster.objectives import KCenter

SMALL = {"max_examples": 60, "deadline": None}
REST = st.sampled_from(["grid", "halves"])


@st.composite
def problems(draw):
    """Few rows and centres with whole coordinates, weights of 0 among them."""
    n, d, k = draw(st.integers(1, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    values = st.integers(0, draw(st.sampled_from([1, 4, 12])))
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    centers = draw(hnp.arrays(np.float64, (k, d), elements=values))
    weight = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 2)))
    weight[0] += 1
    return X, centers, weight


def integer_root(n, power):
    """Largest m with m ** power <= n."""
    return max(m for m in range(1, n + 1) if m == 1 or (power and m ** int(power) <= n))


def clean_cells(X, centers, labels, rows):
    """Cells of rows that clean cuts leave in the end: any clean cut first, the last one here."""
    used = np.unique(labels[rows])
    for feature in range(X.shape[1]):
        places = np.concatenate([X[rows, feature], centers[used, feature]])
        for threshold in np.unique(places)[:-1][::-1]:
            left = X[rows, feature] <= threshold
            own_left = centers[labels[rows], feature] <= threshold
            if (left == own_left).all() and 0 < left.sum() < len(left):
                return [
                    cell
                    for part in (rows[left], rows[~left])
                    for cell in clean_cells(X, centers, labels, part)
                ]
    return [rows]


@pytest.mark.slow
@settings(**SMALL)
@given(problems(), REST)
def test_leaves_are_clean_cells_or_parts_of_one(problem, rest):
    X, centers, weight = problem
    tree = built(ExKCenter, X, centers, rest=rest, sample_weight=weight, midpoints=False)
    labels = cdist(X, centers, "sqeuclidean").argmin(axis=1)
    leaf, present = tree.apply(X), np.flatnonzero(weight)
    cells = clean_cells(X, centers, labels, present)
    assert tree.n_leaves <= len(np.unique(labels[present]))
    for rows in cells:
        clusters, leaves = np.unique(labels[rows]), np.unique(leaf[rows])
        others = np.setdiff1d(present, rows)
        assert not set(leaves) & set(leaf[others])
        if len(clusters) == 1:
            assert list(tree.leaf_label[leaves]) == [clusters[0]]
            continue
        assert len(leaves) <= len(clusters)
        assert set(tree.leaf_label[leaves]) <= set(clusters)
        assert len(set(tree.leaf_label[leaves])) == len(leaves)
        everything = np.vstack([X[rows], centers[clusters]])
        low, extent = everything.min(axis=0), np.ptp(everything, axis=0)
        if rest == "grid":
            n_parts = integer_root(len(clusters), np.count_nonzero(extent))
            inner = [low + extent * part / n_parts for part in range(1, n_parts)]
            box = sum((X[rows] > edge) * 1 for edge in inner) + np.zeros_like(X[rows])
            same_box = (box[:, None] == box).all(axis=2)
            np.testing.assert_array_equal(leaf[rows][:, None] == leaf[rows], same_box)
        elif len(leaves) < len(clusters):  # no side is left to cut
            assert all(np.ptp(X[rows[leaf[rows] == one]], axis=0).max() == 0 for one in leaves)


@pytest.mark.slow
def test_the_bound_of_the_paper_holds(rng):
    """Theorem 2's proof: boxes of sides L / floor(s ** (1 / d)), where OPT >= L / (2 s)."""
    for _ in range(20):
        n, d, k = rng.integers(20, 100), rng.integers(1, 4), rng.integers(2, 30)
        X = (rng.normal, rng.standard_cauchy, rng.random)[rng.integers(3)](size=(n, d))
        model = ExKCenter(min(k, n), random_state=0).fit(X)
        free = model.free_inertia_
        worst = max(2 * s * np.sqrt(d) / integer_root(s, d) for s in range(1, k + 1))
        assert model.inertia_ <= max(1, worst) * free * (1 + 1e-9)
        own = cdist(X, model.cluster_centers_)[np.arange(n), model.labels_]
        assert model.inertia_ == pytest.approx(own.max())


def test_separated_clusters_cost_nothing(blobs):
    for rest in ("grid", "halves"):
        model = ExKCenter(4, rest=rest, random_state=0).fit(blobs)
        assert model.tree_.n_leaves == 4
        assert model.cost_increase_ == 0
        np.testing.assert_array_equal(model.labels_, model.free_labels_)


def test_clean_cuts_part_centres_evenly():
    X = np.arange(16.0)[:, None]
    tree = built(ExKCenter, X, X)
    assert (tree.n_leaves, tree.max_depth) == (16, 4)


def test_halves_serve_where_the_grid_is_one_box(digits):
    centers = digits[:10]
    grid = ExKCenter(10, reference=centers).fit(digits)
    halves = ExKCenter(10, rest="halves", reference=centers).fit(digits)
    assert grid.tree_.n_leaves == 1  # 10 < 2 ** 64
    assert halves.tree_.n_leaves == 10
    assert halves.inertia_ < grid.inertia_
    data, ones = KCenter().prepare(digits), np.ones(len(digits))
    value = KCenter().value(data, halves.labels_, ones, halves.cluster_centers_)
    assert halves.inertia_ == pytest.approx(value)
