"""min_samples_leaf: no leaf of a fitted tree has fewer rows, or less weight, than allowed."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp

import greedy
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, outofcore

METHODS = {
    name: getattr(greedy, name)
    for name in (
        *("IMM", "EMN", "ExGreedy", "ExShallow", "ExShallowSearch", "ExKMC", "DPTree"),
        *("RandomCuts", "Kauri", "SpEx", "ExKCenter", "ExSingleLink", "CART", "CUBT", "CLTree"),
        *("DIVCLUST", "KDTree", "MixtureTree"),
    )
}
OPTIONS = {
    **{name: {"max_leaves": 12} for name in ("ExKMC", "Kauri", "SpEx", "CART", "KDTree")},
    "SpEx oblique": {"split": "oblique", "max_leaves": 8},
}
TAO = {
    "axis": {"split": "axis", "max_leaves": 12},
    "axis, first tree": {"split": "axis", "depth": 4, "algorithm": DirectForm(search="none")},
    "oblique": {"lambda_": 1.0},
    "penalty": {"lambda_": 5.0, "algorithm": PenaltyMethod(n_mu_steps=20)},
    "published": {"lambda_": 5.0, "algorithm": PenaltyMethod(n_mu_steps=10, refine=False)},
    "sample": {"lambda_": 1.0, "algorithm": DirectForm(max_rows=80)},
}


def table(seed, n_rows=150):
    """Rows of four clusters with ties, repeated rows and two far rows."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 4, (4, 5))
    X = centers[rng.integers(4, size=n_rows)] + rng.normal(size=(n_rows, 5))
    X[3], X[4], X[20:30] = X[3] + 40, X[4] - 30, X[5]
    X = X.round(1)
    return X, rng.integers(0, 4, n_rows) * 0.7 + 0.0


def check_leaves(model, X, weight, least):
    """No leaf is smaller than `least`; rows of weight 0 do not count."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    leaf, n_nodes = model.apply(X), model.tree_.n_nodes
    is_count = isinstance(least, int)
    size = np.bincount(leaf, weight > 0 if is_count else weight, n_nodes)[model.tree_.leaves]
    assert size.min() >= (least if is_count else least * weight.sum() * (1 - 1e-9))


def check(make, rests_sparse=False, n_seeds=2):
    for seed in range(n_seeds):
        X, weight = table(seed)
        for form in (X, sp.csr_matrix(np.where(X < 1, 0.0, X))):
            if sp.issparse(form) and rests_sparse:
                continue
            for some in (None, weight):
                for least in (9, 0.1):
                    model = make(min_samples_leaf=least).fit(form, sample_weight=some)
                    check_leaves(model, form, some, least)


@pytest.mark.spaced(quick=1, slow=1)
@pytest.mark.parametrize("name", [*METHODS, "SpEx oblique"])
def test_no_leaf_of_a_greedy_tree_is_smaller(name):
    method, options = METHODS[name.split()[0]], OPTIONS.get(name, {})
    check(lambda **least: method(4, **options, **least), name == "MixtureTree")


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.filterwarnings("ignore:The tree has lost", "ignore:lambda_=", "ignore:The node solver")
@pytest.mark.parametrize("name", TAO)
def test_no_leaf_of_tao_is_smaller(name):
    check(lambda **least: TAOClustering(4, random_state=0, **TAO[name], **least), n_seeds=1)


@pytest.mark.parametrize("split", ["axis", "oblique"])
def test_labels_are_explained_by_leaves_of_enough_rows(split):
    X, weight = table(0)
    y = np.where(X[:, 0] > 1, "a", np.where(X[:, 1] > 0, "b", "c"))
    for some, least in ((None, 9), (weight, 0.1)):
        model = TAOClustering(objective="labels", split=split, lambda_=0.5, random_state=0)
        model.set_params(min_samples_leaf=least).fit(X, y, sample_weight=some)
        check_leaves(model, X, some, least)
        assert model.tree_.n_leaves > 1


@pytest.mark.parametrize("name", ["IMM", "ExGreedy", "ExKMC", "Kauri", "CUBT", "DIVCLUST"])
def test_the_best_cut_of_enough_rows_is_found(name):
    """With two clusters and one test, the constrained cut is the best of all allowed ones."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(4, 2)) + 9])
    model = METHODS[name](2, min_samples_leaf=8, random_state=0)
    model = model.set_params(max_leaves=2) if name in OPTIONS else model
    model.fit(X)
    assert model.tree_.n_leaves == 2
    assert sorted(model.node_rows_[model.tree_.leaves]) == [8, 26]


def lost_clusters(n_lost):
    """A context in which `fit` warns that clusters are lost, and names the parameter."""
    return pytest.warns(UserWarning, match="smaller min_samples_leaf") if n_lost else nullcontext()


def test_repeated_rows_count_as_often_as_they_occur():
    X = np.repeat([[0.0], [1.0], [10.0]], [5, 5, 3], axis=0)
    for least, expected in ((3, [3, 5, 5]), (4, [5, 8]), (6, [13])):
        model = TAOClustering(3, split="axis", max_leaves=3, min_samples_leaf=least, random_state=0)
        with lost_clusters(3 - len(expected)):
            found = model.fit(X)
        assert sorted(found.node_rows_[found.tree_.leaves]) == expected
    weights = np.array([5.0, 5.0, 3.0])  # three rows
    model = TAOClustering(3, split="axis", max_leaves=3, min_samples_leaf=2, random_state=0)
    with lost_clusters(2):
        model.fit(np.array([[0.0], [1.0], [10.0]]), sample_weight=weights)
    assert model.tree_.n_leaves == 1


@pytest.mark.parametrize("least", [0, 0.0, 0.6, -1, "2", None])
def test_other_values_raise(least):
    X, _ = table(0)
    for make in (TAOClustering, greedy.IMM, greedy.CART, greedy.MixtureTree):
        with pytest.raises(ValueError, match="min_samples_leaf"):
            make(4, min_samples_leaf=least).fit(X)


def test_out_of_core_fits_say_that_they_cannot_count_leaves():
    X, _ = table(0)
    for estimator in (TAOClustering(4, min_samples_leaf=5), greedy.IMM(4, min_samples_leaf=0.1)):
        with pytest.raises(ValueError, match=r"min_samples_leaf=[0-9.]+ is not supported"):
            outofcore.fit(estimator, X)
