"""Axis-aligned trees along the number of leaves: goals, the knee, paths, and useless leaves."""

import functools

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from tao_cluster import DirectForm, TAOClustering, tao_path

WINE, LEAVES = load_wine().data, (3, 4, 5, 7)


@functools.cache  # several tests compare with the same fits
def fitted(**options):
    return TAOClustering(3, split="axis", standardize=True, random_state=0, **options).fit(WINE)


def labels_below(tree, node, X):
    """Return the label of each row if it goes down from a node of the tree."""
    if tree.children_left[node] < 0:
        return np.full(len(X), tree.leaf_label[node])
    indices, weights = tree.split(node)
    goes_left = X[:, indices] @ weights <= tree.threshold[node]
    children = (tree.children_left[node], tree.children_right[node])
    return np.where(goes_left, *(labels_below(tree, child, X) for child in children))


@pytest.mark.slow
def test_a_limit_is_met_as_well_as_by_any_single_fit():
    models = [fitted(max_leaves=n) for n in LEAVES]
    singles = [(model.tree_.n_parameters, model.cost_increase_) for model in models]
    for limit in (7, 10, 14):
        model = fitted(max_parameters=limit)
        assert model.tree_.n_parameters <= limit
        best = min(cost for size, cost in singles if size <= limit)
        assert model.cost_increase_ <= best + 1e-9
    for limit in (0.2, 2.0):
        model = fitted(max_cost_increase=limit)
        assert model.cost_increase_ <= limit + 1e-9
        best = min((size for size, cost in singles if cost <= limit), default=np.inf)
        assert model.tree_.n_parameters <= best


@pytest.mark.slow
def test_costs_of_a_path_fall_and_are_those_of_single_fits():
    """On the rows alone; the last passes on noisy copies can raise the cost of either."""
    own_rows = {"algorithm": DirectForm(copies=0)}
    options = {"standardize": True, "random_state": 0, **own_rows}
    models = tao_path(WINE, 3, split="axis", leaves=LEAVES, **options)
    assert [model.max_leaves for model in models] == list(LEAVES)
    assert np.all(np.diff([model.cost_increase_ for model in models]) <= 1e-9)
    for model in models:
        single = fitted(max_leaves=model.max_leaves, **own_rows)
        assert model.tree_.n_leaves <= model.max_leaves
        assert model.cost_increase_ <= single.cost_increase_ + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "goal", [{"max_parameters": 13}, {"max_cost_increase": 30.0}], ids=["size", "cost"]
)
def test_rows_held_out_choose_the_size(goal):
    model = fitted(validation=0.2, **goal)
    assert model.validation_cost_increase_ > model.cost_increase_
    assert model.tree_.n_parameters <= goal.get("max_parameters", np.inf)
    assert model.validation_cost_increase_ <= goal.get("max_cost_increase", np.inf)
    assert len(model.labels_) == len(WINE)


@pytest.mark.slow
def test_fewer_leaves_than_clusters():
    with pytest.warns(UserWarning, match="at most 2 leaves cannot have all 3 clusters"):
        model = fitted(max_leaves=2)
    assert model.tree_.n_leaves == 2
    with pytest.warns(UserWarning, match="lost 1 of 3 clusters"):
        assert fitted(max_parameters=4).tree_ == model.tree_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "axis", "lambdas": [1.0]}, "give leaves="),
        ({"leaves": [3, 4]}, "follow lambdas"),
        ({"lambda_": 1.0}, "lambda_=1.0 would not be used"),
        ({"split": "axis", "leaves": [2.5]}, "positive integers"),
        ({"split": "axis", "leaves": [0]}, "positive integers"),
        ({"split": "axis", "leaves": [4], "max_leaves": 3}, "leaves sets the sizes"),
        ({"split": "axis", "leaves": [4], "depth": 1}, "leaves sets the sizes"),
        ({"split": "axis", "max_parameters": 9}, "knee"),
        ({"split": "axis", "validation": 0.2}, "knee"),
    ],
)
def test_arguments_of_a_path_that_would_not_be_used_raise(options, message):
    with pytest.raises(ValueError, match=message):
        tao_path(load_iris().data, 3, **options)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["oblique", "axis"])
@pytest.mark.parametrize("name", ["wine", "doubled"])
def test_no_leaf_is_useless(name, split):
    """Without a split the rows of its node cost more, at centres that follow."""
    rng = np.random.default_rng(0)
    doubled = np.repeat(rng.integers(0, 3, (12, 3)).astype(float), 3, axis=0)
    X, k = (doubled, 4) if name == "doubled" else (WINE, 3)
    large = {"max_leaves": 30} if split == "axis" else {"max_cost_increase": 0.01}
    for options in (large, {"algorithm": DirectForm(search="none")}):
        model = TAOClustering(k, split=split, random_state=0, **options).fit(X)
        tree, leaves = model.tree_, model.apply(X)
        for node in tree.decision_nodes:
            rows = np.flatnonzero(tree.paths(leaves).toarray()[:, node])
            others = []
            for child in (tree.children_left[node], tree.children_right[node]):
                labels = model.labels_.copy()
                labels[rows] = labels_below(tree, child, X[rows])
                parts = (X[labels == label] for label in np.unique(labels))
                others.append(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
            assert min(others) > model.inertia_ * (1 + 1e-13)
