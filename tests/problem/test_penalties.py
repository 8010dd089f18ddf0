"""Penalties by their definitions; what mismatches cost; clusters without rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from tao_cluster import Tree
from tao_cluster.objectives import KMeans, KMedians
from tao_cluster.penalties import CostCriterion, SquaredError, ZeroOne
from tao_cluster.problem.problem import Problem, mismatch_prices
from tao_cluster.reference import free_clustering


@pytest.fixture
def tree():
    """A root, leaf 1 of cluster 2 and leaf 2 of cluster 0."""
    return Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0, 0, 0], [-1, 2, 0], 1
    )


# ---------------------------------------------------------------- penalties


def test_squared_error_is_a_squared_distance(tree):
    """||e_k - theta||^2, of which ||theta||^2 differs from leaf to leaf."""
    theta = np.array([[0, 0, 0], [0.5, 0.3, 0.2], [0.1, 0.9, 0.0]])
    with_histograms = tree.with_leaves(tree.leaf_label, theta)
    expected = cdist(theta[1:], np.eye(3), "sqeuclidean")
    np.testing.assert_allclose(SquaredError().table(with_histograms, 3)[1:], expected)
    certain = SquaredError().table(tree, 3)[1:]  # a leaf without a histogram
    np.testing.assert_allclose(certain, 2 * ZeroOne().table(tree, 3)[1:])


def test_histogram_is_the_share_of_each_cluster():
    """It minimises the weighted sum of ||e_z - theta||^2, and so do no other shares."""
    labels, weight = np.array([2, 0, 2, 1]), np.array([1.0, 2.0, 0.5, 4.5])
    label, theta = SquaredError().leaf(labels, weight, 4)
    assert label == 1
    np.testing.assert_allclose(theta, [0.25, 0.5625, 0.1875, 0])
    np.testing.assert_allclose(theta, weight @ np.eye(4)[labels] / weight.sum())


@pytest.mark.parametrize("penalty", [ZeroOne(), SquaredError()])
def test_equal_votes_go_to_the_lowest_cluster(penalty):
    assert penalty.leaf(np.array([3, 1, 3, 1, 2]), np.ones(5), 5)[0] == 1


def test_cost_criterion_weighs_costs(tree):
    distances, weight = np.array([[1.0, 2, 3], [6, 5, 0]]), np.array([1.0, 10.0])
    criterion = CostCriterion(distances, weight)
    loss = criterion.loss_at(tree)
    np.testing.assert_array_equal(loss(np.arange(2), np.array([1, 2])), [3, 60])
    assert criterion.best_output(np.arange(2)) == (2, None)
    assert CostCriterion(distances, weight[::-1]).best_output(np.arange(2)) == (0, None)


# ---------------------------------------------------------------- the problem


def test_a_mismatch_costs_what_the_second_centre_is_farther_away(rng):
    distances = rng.uniform(1, 5, (30, 4))
    expected = [np.sort(row)[1] - row.min() for row in distances]
    np.testing.assert_allclose(mismatch_prices(distances), expected)


def test_the_tree_sees_means_of_rows(rng):
    """Medians are no means; means of an embedding are no means in the space of X."""
    X, weight = np.abs(rng.normal(size=(60, 3))), rng.uniform(0.5, 2, 60)
    for objective, space in ((KMedians(), X), (KMeans(), X[:, :2].copy()), (KMeans(), X)):
        problem = Problem.from_rows(X, space, weight, objective, space[:4], 4, 0)
        labels = problem.free.labels
        means = [np.average(X[labels == k], axis=0, weights=weight[labels == k]) for k in range(4)]
        if space is X and isinstance(objective, KMeans):
            assert problem.positions() is problem.free.centers
        else:
            np.testing.assert_allclose(problem.positions(), means)


class Fixed(BaseEstimator):
    """An estimator whose second centre is far from all rows."""

    def fit(self, X, y=None, sample_weight=None):
        self.cluster_centers_ = np.array([[0.0], [1e6], [10.0]])
        return self


def test_clusters_without_rows_come_last():
    X, objective = np.array([[0.0], [1.0], [9.0], [10.0]]), KMeans()
    data = objective.prepare(X)
    with pytest.warns(UserWarning, match="Only 2 of 3 clusters have rows"):
        free = free_clustering(Fixed(), objective, X, data, 3, np.ones(4), 0)
    np.testing.assert_array_equal(free.labels, [0, 0, 1, 1])
    np.testing.assert_array_equal(free.centers.ravel(), [0, 10, 1e6])
    assert free.inertia == pytest.approx(2.0)
