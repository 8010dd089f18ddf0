"""The free clustering: finished where the library stops early, and the same of sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine

from greedy import CART, IMM
from tao_cluster._utils.threads import one_thread
from tao_cluster.problem.repeats import content_order


def badly_scaled(seed):
    """One column of a thousand times the others' size, with far rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4))
    X[:, :2] += 3 * rng.integers(0, 3, (400, 2))
    X[:, 3] = 1e3 * rng.standard_t(1.5, 400)
    return X


def means(X, labels):
    return np.array([X[labels == k].mean(axis=0) for k in range(labels.max() + 1)])


def cost(X, labels):
    return ((X - means(X, labels)[labels]) ** 2).sum()


@pytest.mark.filterwarnings("ignore:Clusters of a few rows")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_the_free_clustering_is_settled(seed):
    X = badly_scaled(seed)
    X = X[content_order(X)]  # k-means draws rows by position
    theirs = KMeans(8, n_init=10, random_state=0).fit(X)
    assert cost(X, theirs.labels_) < theirs.inertia_ * (1 - 1e-6)  # or there is nothing to see
    model = CART(8, random_state=0).fit(X)
    labels = model.free_labels_
    assert model.free_inertia_ == pytest.approx(cost(X, labels), rel=1e-10)
    assert model.free_inertia_ < theirs.inertia_ * (1 - 1e-6)
    distances = ((X[:, None] - model.free_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), labels)
    np.testing.assert_allclose(model.free_centers_, means(X, labels), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("load", [load_digits, load_wine])
def test_what_is_settled_keeps_its_bits(load):
    X = load().data
    X = X[content_order(X)]  # the order in which a fit sees the rows
    with one_thread():
        theirs = KMeans(3, n_init=10, random_state=0).fit(X)
    model = CART(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.free_centers_, theirs.cluster_centers_)


def test_a_reference_of_the_user_is_left_as_it_is():
    X, reference = badly_scaled(3), KMeans(8, n_init=10, random_state=0)
    X = X[content_order(X)]
    with one_thread():
        theirs = KMeans(8, n_init=10, random_state=0).fit(X)
    for given in (reference, theirs):
        model = CART(8, reference=given).fit(X)
        assert model.free_inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_sparse_rows_have_the_free_clustering_of_dense_ones(k):
    # Elkan's bounds leave out distances that cannot matter; of one cluster there are none.
    rng = np.random.default_rng(0)
    X = rng.random((300, 60)) * (rng.random((300, 60)) < 0.1)
    X[np.arange(300), np.arange(300) % 7] = 2.0
    of_sparse, of_dense = (CART(k, random_state=0).fit(rows) for rows in (sp.csr_array(X), X))
    np.testing.assert_array_equal(of_sparse.free_labels_, of_dense.free_labels_)
    assert of_sparse.free_inertia_ == pytest.approx(of_dense.free_inertia_, rel=1e-10)
    objective = of_sparse._method().objective
    assert objective.sparse_reference(7, 0).algorithm == "elkan"
    assert objective.reference(7, 0).algorithm == "lloyd"


@pytest.mark.slow
@pytest.mark.parametrize("shift", ["offset", "distant row"])
def test_single_precision_of_the_starts_does_not_show(shift):
    """Far from 0, or beside a distant row, rows differ by less than single precision can tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 50)) + 4 * rng.normal(size=(22, 50))[rng.integers(22, size=4000)]
    if shift == "offset":
        X += 1e8
    else:
        X[0] = 1e10
    model = IMM(22, random_state=0).fit(X)
    best = KMeans(22, n_init=10, random_state=0).fit(X).inertia_
    assert model.free_inertia_ <= 1.01 * best
