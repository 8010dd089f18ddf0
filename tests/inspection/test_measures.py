"""Measures on trees small enough to count by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import CART, ExKMC
from tao_cluster import TAOClustering, Tree, load, outofcore
from tao_cluster.columns import raw_view
from tao_cluster.measures import (
    adjusted_rand_index,
    cost_increase,
    feature_usage,
    normalized_mutual_information,
    weighted_average_depth,
    weighted_average_explanation_size,
)


@pytest.fixture
def staircase():
    """Leaves at depth 1, 2, 3, 3; feature 0 is cut three times, always from above."""
    return Tree.from_splits(
        [1, 3, -1, 5, -1, -1, -1],
        [2, 4, -1, 6, -1, -1, -1],
        [([0], [1.0])] * 2 + [None, ([0], [1.0]), None, None, None],
        [3.0, 2.0, 0, 1.0, 0, 0, 0],
        [-1, -1, 3, -1, 2, 0, 1],
        n_features=1,
    )


def test_depth_and_explanation_size(staircase):
    X = np.array([[3.5], [2.5], [1.5], [0.5]])
    assert weighted_average_depth(staircase, X) == (1 + 2 + 3 + 3) / 4
    # x > 3 | 2 < x <= 3 | 1 < x <= 2 | x <= 1
    assert weighted_average_explanation_size(staircase, X) == (1 + 2 + 2 + 1) / 4
    weight = np.array([3.0, 0, 0, 1])
    assert weighted_average_depth(staircase, X, weight) == (3 * 1 + 3) / 4
    assert weighted_average_explanation_size(staircase, X, weight) == 1


@pytest.mark.parametrize(
    ("cost", "free", "percent"),
    [(110, 100, 10), (90, 100, -10), (0, 0, 0), (1, 0, np.inf), (4 * (1 + 1e-15), 4, 0)],
)
def test_cost_increase(cost, free, percent):
    assert cost_increase(cost, free) == pytest.approx(percent, abs=0)


@pytest.mark.parametrize("seed", range(2))
def test_adjusted_rand_index_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(4, size=60), rng.integers(3, size=60)
    others[:30] = labels[:30] // 2
    names = np.array(["a", "b", None], dtype=object)[others]
    assert adjusted_rand_index(labels, names) == pytest.approx(adjusted_rand_score(labels, others))
    weight = rng.integers(0, 2, size=60)
    rows = np.flatnonzero(weight)
    assert adjusted_rand_index(labels, others, weight) == pytest.approx(
        adjusted_rand_score(labels[rows], others[rows])
    )


@pytest.mark.parametrize("factor", [1 / 150, 1e-190, 1e-12, 3.7, 1e99])
@pytest.mark.parametrize("heaviest", [1.0, 1e14, 1e160])
def test_agreement_of_equal_and_of_independent_labels(rng, factor, heaviest):
    labels, others, weight = rng.integers(3, size=600), rng.integers(3, size=600), rng.random(600)
    weight[0] = heaviest
    for measure in (adjusted_rand_index, normalized_mutual_information):
        assert measure(labels, labels, factor * weight) == pytest.approx(1)
        plain = measure(labels, others, weight)
        # With one dominant row, all others together are a rounding error of the total weight.
        rounding = 1e-12 if heaviest == 1 else 1e-4
        assert measure(labels, others, factor * weight) == pytest.approx(plain, abs=rounding)
        assert plain < 0.05 or heaviest > 1


def test_adjusted_rand_index_at_its_ends():
    assert adjusted_rand_index([0, 1, 2], [5, 4, 3]) == 1  # each row alone
    assert adjusted_rand_index([0, 0, 0], [1, 1, 1]) == 1
    assert adjusted_rand_index([0, 0, 0], [0, 1, 2]) == 0
    assert adjusted_rand_index([0], [1]) == 1


def test_measures_refuse_weights_that_weigh_nothing(staircase):
    X = np.array([[3.5], [2.5]])
    for measure in (weighted_average_depth, weighted_average_explanation_size, feature_usage):
        for weight in ([0.0, 0.0], [1.0], [1.0, -1.0], [1.0, np.nan]):
            with pytest.raises(ValueError, match=r"sample_weight (must be|has 1)"):
                measure(staircase, X, weight)
    with pytest.raises(ValueError, match="sample_weight must be 2"):
        normalized_mutual_information([0, 1], [0, 1], [0, 0])
    many = np.arange(30_000)  # as many clusters as rows: nothing of size rows x rows
    assert normalized_mutual_information(many, many[::-1]) == pytest.approx(1)


# ---------------------------------------------------------------- feature_importances_


def importances_by_definition(model, X, costs):
    """Return the importances, node by node, from the cost (n, k) of each row in each cluster."""
    tree, reaches = model.tree_, model.decision_path(X).toarray().astype(bool)

    def least(node):
        return costs[reaches[:, node]].sum(axis=0).min()

    shares = np.zeros(tree.n_features)
    for node in tree.decision_nodes:
        saved = least(node) - least(tree.children_left[node]) - least(tree.children_right[node])
        indices, weights = tree.split(node)
        effect = np.abs(weights) * X[reaches[:, node]][:, indices].std(axis=0)
        shares[indices] += saved * effect / effect.sum()
    return shares / shares.sum()


@pytest.mark.parametrize(
    "model",
    [
        TAOClustering(3, lambda_=1, depth=3, standardize=True, random_state=0),
        TAOClustering(3, split="axis", objective="kmedians", random_state=0),
        ExKMC(3, max_leaves=6, random_state=0),
        CART(3, random_state=0),
    ],
    ids=["standardized", "kmedians", "ExKMC", "CART"],
)
def test_importances_are_shares_of_the_saved_cost(model, tmp_path):
    X = np.repeat(load_wine().data[:, [0, 6, 9, 12]], 2, axis=0)
    model.fit(X)
    costs = model.transform(X)
    if getattr(model, "objective", "kmeans") == "kmeans":
        costs = costs**2
    expected = importances_by_definition(model, X, costs)
    np.testing.assert_allclose(model.feature_importances_, expected, atol=1e-7)
    assert model.feature_importances_.shape == (model.n_features_in_,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json")
    np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)


def test_importances_of_labels_weights_and_blocks():
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(X)) % 3
    model = TAOClustering(objective="labels", lambda_=0.01, random_state=0)
    model.fit(X, y, sample_weight=weight)
    costs = (y[:, None] != np.arange(3)).astype(float)
    rows = np.repeat(np.arange(len(X)), weight)
    expected = importances_by_definition(model, X[rows], costs[rows])
    np.testing.assert_allclose(model.feature_importances_, expected, atol=1e-7)
    model = outofcore.fit(TAOClustering(3, lambda_=1, random_state=0), [X[:70], X[70:]])
    expected = importances_by_definition(model, X, model.transform(X) ** 2)
    np.testing.assert_allclose(model.feature_importances_, expected, atol=1e-4)
    assert model.node_rows_[0] == len(X)


def test_importances_of_a_pipeline_are_of_its_raw_columns():
    X = load_iris().data
    pipeline = make_pipeline(StandardScaler(), TAOClustering(3, lambda_=1, random_state=0)).fit(X)
    view = raw_view(pipeline)
    np.testing.assert_allclose(
        view.feature_importances_, pipeline[-1].feature_importances_, atol=1e-12
    )
