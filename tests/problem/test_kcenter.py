"""The k-center objective: smallest balls, the largest distance, farthest-first traversal."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import nnls
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from greedy import CART
from tao_cluster import TAOClustering
from tao_cluster.objectives import FarthestFirst, KCenter, Objective, Spacing, kcenter
from tao_cluster.objectives.kcenter import smallest_ball

FORMS = [np.asarray, np.float32, sp.csr_matrix, sp.csr_array]


def optimality_gap(X, center):
    """How far the centre is from the convex hull of the rows on the sphere, over the radius.

    0 is necessary and sufficient for the smallest ball.
    """
    distances = cdist(X, center[None])[:, 0]
    radius = distances.max()
    if radius == 0:
        return 0.0
    on_sphere = X[distances >= radius * (1 - 1e-8)]
    system = np.vstack([(on_sphere - center).T / radius, np.ones(len(on_sphere))])
    return nnls(system, np.append(np.zeros(X.shape[1]), 1.0))[1]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 5)),
        elements=st.integers(0, 4),
    )
)
def test_balls_of_whole_numbers(X):
    """Many rows on the sphere, in one line, in one place."""
    assert optimality_gap(X, smallest_ball(X)) < 1e-7


@pytest.mark.parametrize("shape", [(3, 2), (40, 1), (300, 7), (50, 200), (3000, 30)])
def test_balls_of_random_rows(rng, shape):
    for draw in (rng.normal, rng.standard_cauchy, rng.random):
        X = draw(size=shape)
        center = smallest_ball(X)
        assert optimality_gap(X, center) < 1e-7
        shifted = smallest_ball(X + 2.0**20)
        radius = cdist(X, center[None]).max()
        np.testing.assert_allclose(shifted - 2.0**20, center, atol=1e-6 * radius)
        np.testing.assert_allclose(smallest_ball(sp.csr_matrix(X)), center, atol=1e-6 * radius)


@pytest.mark.parametrize("shape", [(2, 3), (60, 4), (100, 40)])
def test_balls_of_many_columns_are_closed_in_on(rng, shape):
    for X in (rng.normal(size=shape), rng.standard_cauchy(shape), rng.integers(0, 2, shape) * 1.0):
        center = kcenter._closed_in(X)
        exact = kcenter._ball_of_few(X)[1]
        assert exact * (1 - 1e-9) <= cdist(X, center[None]).max() <= exact * (1 + 5e-4)
    np.testing.assert_array_equal(kcenter._closed_in(np.ones((4, 3))), np.ones(3))
    documents = sp.random(100, 1500, 0.02, format="csr", random_state=0)
    dense = smallest_ball(documents.toarray())
    np.testing.assert_allclose(smallest_ball(documents), dense, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_kcenter_is_what_it_says(rng, form):
    X, centers = rng.normal(size=(3000, 4)), rng.normal(size=(4, 4))
    labels, weight = rng.integers(0, 3, 3000), rng.integers(0, 2, 3000).astype(float)
    objective = KCenter()
    assert isinstance(objective, Objective)
    data = objective.prepare(form(X))
    expected = cdist(X, centers)
    np.testing.assert_allclose(objective.distances(data, centers), expected, rtol=1e-5, atol=1e-6)
    own = expected[np.arange(3000), labels]
    value = objective.value(data, labels, weight, centers)
    assert value == pytest.approx(own[weight > 0].max(), rel=1e-6)
    updated = objective.update_centers(data, labels, weight, centers)
    for k in range(3):
        rows = X[(labels == k) & (weight > 0)]
        radius = cdist(rows, updated[k][None]).max()
        assert radius == pytest.approx(cdist(rows, smallest_ball(rows)[None]).max(), rel=1e-5)
    np.testing.assert_array_equal(updated[3], centers[3])  # no rows: kept


def best_radius(X, k):
    """Least largest distance over all partitions into at most k clusters."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(X)):
        radii = [
            cdist(rows, smallest_ball(rows)[None]).max()
            for rows in (X[np.array(labels) == c] for c in set(labels))
        ]
        best = min(best, max(radii))
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_farthest_first_is_at_most_twice_the_optimum(seed):
    X = np.random.default_rng(seed).normal(size=(7, 2))
    optimum = best_radius(X, 3)
    for first in range(5):
        alone = FarthestFirst(3, n_init=1, max_iter=0, random_state=first).fit(X)
        assert optimum <= alone.inertia_ <= 2 * optimum
        assert all((center == X).all(axis=1).any() for center in alone.cluster_centers_)
        moved = FarthestFirst(3, n_init=1, random_state=first).fit(X)
        assert optimum * (1 - 1e-9) <= moved.inertia_ <= alone.inertia_
    best = FarthestFirst(3, random_state=0).fit(X)
    assert best.inertia_ <= 1.2 * optimum
    assert best.inertia_ == pytest.approx(
        KCenter().value(X, best.labels_, np.ones(7), best.cluster_centers_)
    )


@pytest.mark.slow
def test_weights_and_repeats_do_not_matter(rng):
    X = rng.normal(size=(80, 3))
    weight = rng.integers(0, 4, 80)
    options = {"random_state": 3, "n_init": 2}
    model = FarthestFirst(5, **options).fit(X, sample_weight=weight)
    repeated = FarthestFirst(5, **options).fit(np.repeat(X, weight, axis=0))
    present = FarthestFirst(5, **options).fit(X[weight > 0])
    for other in (repeated, present):
        np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    sparse = FarthestFirst(5, **options).fit(sp.csr_matrix(X), sample_weight=weight)
    np.testing.assert_allclose(sparse.inertia_, model.inertia_)


def test_bad_rows_get_a_sentence():
    for objective in (KCenter(), Spacing()):
        with pytest.raises(ValueError, match="overflow; rescale"):
            objective.prepare(np.eye(3) * 1e200)
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        FarthestFirst(3).fit([[0.0], [1.0]])


@pytest.mark.slow
@parametrize_with_checks([FarthestFirst()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("objective", [KCenter(), Spacing()])
def test_tao_clustering_refuses_what_is_no_sum(objective, rng):
    with pytest.raises(
        ValueError, match=rf"a sum over rows, which {type(objective).__name__} is not"
    ):
        TAOClustering(3, objective=objective).fit(rng.normal(size=(20, 2)))


@pytest.mark.slow
def test_cart_is_told_in_largest_distances(rng):
    X = rng.normal(size=(200, 2))
    model = CART(4, objective=KCenter(), random_state=0).fit(X)
    own = cdist(X, model.cluster_centers_)[np.arange(200), model.labels_]
    assert model.inertia_ == pytest.approx(own.max())
    increase = 100 * (model.inertia_ / model.free_inertia_ - 1)
    assert model.cost_increase_ == pytest.approx(increase)


@pytest.mark.slow
def test_alternation_goes_on_where_the_largest_distance_stays():
    """Of tenths, as here, it often does: rounding alone would say whether it goes on."""
    X = load_iris().data
    costs = [FarthestFirst(3, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(6)]
    assert max(costs) < 1.4  # 1.42 where it ended
    shifted = [FarthestFirst(3, n_init=1, random_state=s).fit(X + 0.1).inertia_ for s in range(6)]
    np.testing.assert_allclose(shifted, costs, rtol=1e-9)
