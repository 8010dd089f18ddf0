"""Limits hold, or one warning says why not; noisy copies; thresholds of axis-aligned trees."""

import warnings

import numpy as np
import pytest
from conftest import assert_same_fit
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from tao_cluster import DirectForm, TAOClustering
from tao_cluster.optimize.algorithms import AxisAligned

WINE = StandardScaler().fit_transform(load_wine().data)


# ---------------------------------------------------------------- limits


def drawn(rng):
    """Data and parameters of a fit with limits, at random."""
    n, d, k = int(rng.integers(20, 120)), int(rng.integers(1, 5)), int(rng.integers(2, 7))
    X = rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, (n, 1))
    if rng.random() < 0.3:
        X = X.round()  # equal rows and ties
    split = rng.choice(["oblique", "axis"])
    parameters = {"n_clusters": k, "split": str(split), "random_state": 0, "depth": 3}
    parameters["algorithm"] = DirectForm(
        n_init=1,
        search=str(rng.choice(["auto", "none"])),
        copies=int(rng.choice([0, 3])),
        max_rows=30 if rng.random() < 0.2 else None,
    )
    limit = rng.choice(["max_parameters", "max_cost_increase", "none"])
    if limit == "max_parameters":
        parameters["max_parameters"] = int(rng.integers(1, 30))
    elif limit == "max_cost_increase":
        parameters["max_cost_increase"] = float(rng.choice([0.0, 2.0, 20.0]))
    if limit == "none" or rng.random() < 0.4:
        parameters["max_leaves"] = int(rng.integers(1, 9))
    elif rng.random() < 0.3:
        parameters["validation"] = 0.25
    if rng.random() < 0.4:
        parameters["min_samples_leaf"] = int(rng.integers(2, 12))
    return X, parameters


def broken(model, X):
    """Names of the limits that a model does not keep to."""
    tree, sizes = model.tree_, np.bincount(model.apply(X), minlength=model.tree_.n_nodes)
    cost = getattr(model, "validation_cost_increase_", model.cost_increase_)
    found = {
        "max_parameters": tree.n_parameters > (model.max_parameters or np.inf),
        "max_leaves": tree.n_leaves > (model.max_leaves or np.inf),
        "max_cost_increase": model.max_cost_increase is not None
        and cost > model.max_cost_increase + 1e-9,
        # Axis-aligned trees of a given depth have at most 2 ** depth leaves; their depth is free.
        "depth": model.split == "oblique" and tree.max_depth > model.depth,
        "min_samples_leaf": tree.n_leaves > 1 and sizes[tree.leaves].min() < model.min_samples_leaf,
    }
    return [name for name, is_broken in found.items() if is_broken]


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(7), pytest.param(range(7, 50), marks=pytest.mark.sweep)], ids=["few", "many"]
)
def test_a_limit_holds_or_one_warning_says_why_not(seeds):
    for seed in seeds:
        X, parameters = drawn(np.random.default_rng(seed))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = TAOClustering(**parameters).fit(X)
        messages = [str(warning.message) for warning in caught]
        for name in broken(model, X):
            assert sum(name in message for message in messages) == 1, (seed, name, messages)
        assert len(set(messages)) == len(messages), (seed, messages)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree")
def test_a_given_depth_is_the_largest_one_of_an_oblique_tree():
    """Axis-aligned trees, with which it competes, can be deeper."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 3)) + 2 * rng.normal(size=(8, 3))[rng.integers(8, size=80)]
        model = TAOClustering(8, depth=3, random_state=0).fit(X)
        assert model.tree_.max_depth <= 3


# ---------------------------------------------------------------- noisy copies


def fitted(X, copies, seed=0, *, search="auto", **parameters):
    algorithm = DirectForm(n_init=2, search=search, copies=copies)
    options = {"random_state": seed, "algorithm": algorithm, "reference": X[:4]} | parameters
    return TAOClustering(4, **options).fit(X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree")
def test_without_copies_a_fit_minimises_the_cost_of_its_own_rows(rng):
    costs, limit = [], {"split": "axis", "max_leaves": 6}
    for seed in range(4):
        X = rng.normal(size=(40, 3))
        costs.append([fitted(X, copies, seed, **limit).cost_increase_ for copies in (0, 8)])
    without, many = np.mean(costs, axis=0)
    assert without < many


@pytest.mark.parametrize("copies", ["auto", 0, 2])
def test_reported_costs_are_those_of_the_rows_alone(rng, copies):
    X = rng.normal(size=(70, 4))
    model = fitted(X, copies, lambda_=1.0, depth=3)
    own = model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx(((X - own) ** 2).sum())
    assert model.cost_increase_ == pytest.approx(100 * (model.inertia_ / model.free_inertia_ - 1))
    kept = [record["cost_increase"] for record in model.history_ if record["kept"]]
    assert np.isclose(kept, model.cost_increase_, rtol=1e-9).any()


@pytest.mark.slow
def test_copies_by_default(rng):
    X, options = rng.normal(size=(40, 4)), {"lambda_": 1.0, "depth": 2}
    default = fitted(X, "auto", **options)
    assert_same_fit(default, fitted(X, 3, **options))
    assert default.tree_ != fitted(X, 0, **options).tree_
    thorough = fitted(X, "auto", search="thorough", **options)
    assert_same_fit(thorough, fitted(X, 8, search="thorough", **options))


# ---------------------------------------------------------------- thresholds


@pytest.mark.parametrize("midpoints", [True, False])
def test_thresholds_between_values_or_at_the_lower_value(midpoints):
    kind = AxisAligned(midpoints=midpoints)
    options = {"max_leaves": 6, "algorithm": DirectForm(n_init=1, search="none")}
    tree = TAOClustering(3, split=kind, random_state=0, **options).fit(WINE).tree_
    visits = tree.decision_path(WINE).toarray() > 0
    for node in tree.decision_nodes:
        values, threshold = WINE[visits[:, node], tree.split(node)[0][0]], tree.threshold[node]
        low, high = values[values <= threshold].max(), values[values > threshold].min()
        assert threshold == (low + (high - low) / 2 if midpoints else low)
