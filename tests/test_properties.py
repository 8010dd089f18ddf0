"""What holds of every fit, on small random data: routing, cost, units, origin, order of columns."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from greedy import CART, IMM, DPTree, ExGreedy, ExKMC, ExShallow, Kauri
from tao_cluster import TAOClustering
from tao_cluster.objectives import KMeans

few = settings(max_examples=8, derandomize=True, deadline=None, database=None)

# Multiples of 1/8, of which sums and squares are exact.
rows = st.tuples(st.integers(5, 20), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-40, 40))
)
n_clusters = st.integers(1, 4)


def oblique(k, unit=1.0, **options):
    return TAOClustering(k, lambda_=unit**3, depth=2, random_state=0, **options)


def of(cls):
    def make(k, unit=1.0, **options):
        del unit
        return cls(k, random_state=0, **options)

    return make


METHODS = {cls.__name__: of(cls) for cls in (IMM, ExKMC, ExGreedy, ExShallow, DPTree, Kauri, CART)}
METHODS |= {
    "oblique": oblique,
    "axis": lambda k, unit=1.0, **options: TAOClustering(
        k, split="axis", depth=2, random_state=0, **options
    ),
    "penalty": lambda k, unit=1.0, **options: oblique(k, unit, algorithm="penalty", **options),
}


@pytest.fixture(params=list(METHODS), scope="module")
def method(request):
    return METHODS[request.param]


def fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lambda, of clusters without rows
        return model.fit(X)


@pytest.mark.spaced(quick=2, slow=5)
@few
@given(rows, n_clusters)
def test_routing_parts_the_rows(method, X, k):
    X = X / 8
    model = fit(method(k), X)
    tree, leaves = model.tree_, model.apply(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(tree.leaf_label[leaves], model.labels_)
    assert (tree.children_left[leaves] < 0).all()
    visits = tree.decision_path(X).toarray() > 0
    np.testing.assert_array_equal(visits.sum(axis=0), model.node_counts_)
    assert visits[:, 0].all()
    for node in tree.decision_nodes:
        left, right = visits[:, tree.children_left[node]], visits[:, tree.children_right[node]]
        np.testing.assert_array_equal(left ^ right, visits[:, node])
        features, weights = tree.split(node)[:2]
        goes_left = X[:, features] @ weights <= tree.threshold[node]
        margin = np.abs(X[:, features] @ weights - tree.threshold[node])
        is_clear = visits[:, node] & (margin > 1e-9 * (1 + np.abs(tree.threshold[node])))
        np.testing.assert_array_equal(left[is_clear], goes_left[is_clear])


@pytest.mark.spaced(quick=2, slow=5)
@few
@given(rows, n_clusters)
def test_no_tree_costs_more_than_its_single_leaf(method, X, k):
    X = X / 8
    model = fit(method(k), X)
    single = ((X - X.mean(axis=0)) ** 2).sum()
    assert model.inertia_ <= single * (1 + 1e-12)
    own = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.inertia_ == pytest.approx(own, abs=1e-9)


@pytest.mark.spaced(quick=1, slow=3)
@few
@given(rows, n_clusters, st.integers(-40, 40))
def test_units_change_no_assignment(method, X, k, power):
    """E has the square of the unit and ||w||_1 its inverse, so that lambda has the cube."""
    X, unit = X / 8, 2.0**power
    plain, scaled = fit(method(k), X), fit(method(k, unit), X * unit)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_array_equal(scaled.free_labels_, plain.free_labels_)
    assert scaled.tree_.n_parameters == plain.tree_.n_parameters


@pytest.mark.spaced(quick=0, slow=4)
@few
@given(rows, n_clusters, st.integers(-1000, 1000))
def test_an_origin_changes_no_assignment(method, X, k, shift):
    X, k = X / 8, min(k, len(np.unique(X, axis=0)))
    centers = np.unique(X, axis=0)[:k]
    plain = fit(method(k, reference=centers), X)
    moved = fit(method(k, reference=centers + shift), X + shift)
    np.testing.assert_array_equal(moved.free_labels_, plain.free_labels_)
    np.testing.assert_array_equal(moved.labels_, plain.labels_)


@pytest.mark.spaced(quick=0, slow=4)
@few
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.permutations(range(4)))
def test_permuted_columns_permute_the_tree(method, seed, k, order):
    """Where nothing is tied: of equally good tests the one of the first column wins.

    Counts of rows are often tied, so that one column parts the clusters here, and no other does.
    Weights of oblique tests are found to a tolerance; only their rows are compared.
    """
    X = np.random.default_rng(seed).normal(size=(5 * k, 4))
    X[:, 0] += 30 * np.repeat(np.arange(k), 5)
    centers = X[::5]
    plain = fit(method(k, reference=centers), X)
    permuted = fit(method(k, reference=centers[:, order]), X[:, order])
    np.testing.assert_array_equal(permuted.labels_, plain.labels_)
    if set(np.diff(plain.tree_.split_indptr)) <= {0, 1}:
        assert_permuted(permuted.tree_, plain.tree_, order)


@few
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.permutations(range(4)))
def test_permuted_columns_permute_the_tree_of_least_cost(seed, k, order):
    """Sums of distances of random rows are not tied, whatever the clusters are."""
    X = np.random.default_rng(seed).normal(size=(15, 4))
    plain = fit(DPTree(k, reference=X[:k]), X)
    permuted = fit(DPTree(k, reference=X[:k][:, order]), X[:, order])
    np.testing.assert_array_equal(permuted.labels_, plain.labels_)
    assert_permuted(permuted.tree_, plain.tree_, order)


def assert_permuted(tree, other, order):
    """A tree is another one of columns in another order, each with a test of one column."""
    np.testing.assert_array_equal(tree.children_left, other.children_left)
    np.testing.assert_array_equal(tree.threshold, other.threshold)
    np.testing.assert_array_equal(np.asarray(order)[tree.split_indices], other.split_indices)


@few
@given(rows)
def test_the_objective_of_the_free_clustering_is_what_kmeans_says(X):
    X = X / 8
    model = fit(IMM(2, random_state=0), X)
    objective = KMeans()
    data = objective.prepare(X)
    distances = objective.distances(data, model.free_centers_)
    assert model.free_inertia_ == pytest.approx(distances.min(axis=1).sum(), abs=1e-9)
