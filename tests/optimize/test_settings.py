"""Every combination of objective, penalty, split and node solver works or says what to use."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from greedy import ExKMC
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.objectives import KMedians
from tao_cluster.solvers import Axis, Liblinear

OBJECTIVES = ("kmeans", "spherical", "kmedians", "kmedoids", "labels")
SPLITS = ("oblique", "axis")
COMBINATIONS = list(
    itertools.product(
        OBJECTIVES,
        ("zero-one", "squared"),
        SPLITS,
        ("liblinear", "liblinear-weighted", "newton"),
        ("dense", "sparse"),
    )
)

SHORT = PenaltyMethod(n_mu_steps=8, mu_factor=2.0)


def sentence(penalty, split, node_solver):
    """What a combination that cannot work is told; None if it works."""
    if split == "axis" and node_solver != "newton":
        return "for split='axis' leave node_solver at its default"
    if penalty == "squared" and node_solver == "liblinear":
        return "use penalty='zero-one' or node_solver='newton'"
    return None


GROUPS = np.repeat([0, 1, 2], 40)


@pytest.fixture(scope="module")
def X():
    """Three groups on rays from the origin, so that every objective sees them."""
    rng = np.random.default_rng(0)
    rays = np.array([[5.0, 0, 0, 1], [0, 4.0, 1, 0], [1, 1, 6.0, 0]])
    return np.repeat(rays, 40, axis=0) + 0.3 * rng.normal(size=(120, 4))


@pytest.mark.spaced(quick=2, slow=12)
@pytest.mark.parametrize(("objective", "penalty", "split", "node_solver", "form"), COMBINATIONS)
def test_combination(X, objective, penalty, split, node_solver, form):
    algorithm = replace(SHORT, penalty=penalty, node_solver=node_solver, refine=False)
    if (penalty, node_solver) == ("zero-one", "newton"):
        algorithm = "direct"
    options = {"lambda_": 0.05, "depth": 2, "objective": objective, "split": split}
    model = TAOClustering(3, algorithm=algorithm, random_state=0, **options)
    data = X if form == "dense" else sp.csr_matrix(X)
    expected = sentence(penalty, split, node_solver)
    if expected is not None:
        with pytest.raises(ValueError, match=expected):
            model.fit(data, GROUPS)
        return
    model.fit(data, GROUPS)
    groups = model.labels_.reshape(3, 40)
    assert (groups == groups[:, :1]).mean() > 0.95
    assert len(set(groups[:, 0])) == 3
    assert abs(model.cost_increase_) < 5
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    assert model.score(data, GROUPS) == pytest.approx(-model.inertia_)
    assert model.transform(data).shape == (120, 3)
    assert hasattr(model, "predict_proba") == (penalty == "squared")
    if penalty == "squared":
        shares = model.predict_proba(data)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
    if split == "axis":
        tree = model.tree_
        assert np.all(np.diff(tree.split_indptr)[tree.decision_nodes] == 1)
        assert np.all(tree.split_weights == 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"split": "axis", "init": "bisecting"}, "with weight 1: use init='auto', 'imm'"),
        ({"split": "axis", "init": "random"}, "tests single features"),
        (
            {"split": "axis", "algorithm": PenaltyMethod(node_solver=Liblinear())},
            "split='axis' leave node_solver at its default",
        ),
        (
            {"algorithm": DirectForm(node_solver=Axis())},
            "split='oblique' leave node_solver at its default",
        ),
        ({"objective": KMedians}, r"KMedians is a class; give an object, KMedians\(\)"),
        ({"algorithm": DirectForm(node_solver=Axis)}, r"Axis is a class"),
        ({"algorithm": PenaltyMethod(penalty="squared"), "max_parameters": 9}, "would not be used"),
        ({"algorithm": "penalty", "max_parameters": 80}, "the penalty method would not be used"),
        ({"algorithm": PenaltyMethod(refine=False), "max_cost_increase": 1}, "would not be used"),
    ],
)
def test_unsuitable_parts_are_told_at_once(X, options, expected):
    with pytest.raises(ValueError, match=expected):
        TAOClustering(3, **options).fit(X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree", "ignore:The matrix")
def test_the_default_depth_has_room_for_all_clusters(rng):
    """Depth 5, or one more than a balanced tree of one leaf per cluster needs."""
    X = rng.normal(size=(200, 3))
    algorithm = DirectForm(n_init=1, relax=False)
    for n_clusters, depth in ((16, 5), (17, 6), (33, 7)):
        options = {"reference": X[:n_clusters], "algorithm": algorithm, "random_state": 0}
        default, same, less = (
            TAOClustering(n_clusters, lambda_=0.01, depth=each, **options).fit(X).tree_
            for each in ("auto", depth, depth - 1)
        )
        assert default == same != less


@pytest.mark.slow
def test_published_is_the_interpretation_nearest_to_the_paper(digits):
    """Figure 3: the cost falls along mu from the direct fit; the result is the last tree."""
    options = {"lambda_": 1.0, "depth": 5, "random_state": 0}
    model = TAOClustering(10, algorithm="published", **options).fit(digits)
    direct, *path = model.history_
    assert direct["stage"] == "direct fit"
    assert path[-1]["cost_increase"] < direct["cost_increase"]
    assert model.cost_increase_ == pytest.approx(path[-1]["cost_increase"])
    assert model.tree_.n_nonzero == path[-1]["non_zeros"]
    assert model.predict_proba(digits).shape == (len(digits), 10)
    same = PenaltyMethod(
        n_init=8, penalty="squared", strength="constant", accept="always", result="last",
        refine=False,
    )  # fmt: skip
    again = TAOClustering(10, algorithm=same, init="bisecting", **options).fit(digits)
    assert again.tree_ == model.tree_


def test_spherical_refuses_rows_without_direction(X):
    data = X.copy()
    data[5] = 0
    with pytest.raises(ValueError, match="the first is row"):
        TAOClustering(3, objective="spherical").fit(data)
    with pytest.raises(ValueError, match="underflow"):
        TAOClustering(3, objective="spherical").fit(X * 1e-200)
    # A row of weight 0 is not there.
    weight = np.ones(120)
    weight[5] = 0
    options = {"objective": "spherical", "lambda_": 0.05, "depth": 2}
    options["algorithm"] = DirectForm(n_init=1)
    model = TAOClustering(3, random_state=0, **options).fit(data, sample_weight=weight)
    assert model.free_labels_[5] == -1
    without = TAOClustering(3, random_state=0, **options).fit(np.delete(data, 5, axis=0))
    assert model.tree_ == without.tree_


def test_a_start_that_is_the_result_has_histograms(X):
    algorithm = PenaltyMethod(n_mu_steps=0, penalty="squared", refine=False)
    options = {"split": "axis", "init": ExKMC(max_leaves=4), "algorithm": algorithm}
    model = TAOClustering(3, random_state=0, **options).fit(X)
    free = np.eye(3)[model.free_labels_]
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        np.testing.assert_allclose(
            model.predict_proba(X)[leaves == leaf][0], free[leaves == leaf].mean(axis=0)
        )
    plain = TAOClustering(
        3, lambda_=0.05, depth=2, algorithm=DirectForm(n_init=1), random_state=0
    ).fit(X)
    plain.set_params(algorithm=PenaltyMethod(penalty="squared", refine=False))
    assert not hasattr(plain, "predict_proba")


@pytest.mark.slow
def test_medoids_of_precomputed_dissimilarities(X):
    from scipy.spatial.distance import cdist

    from tao_cluster.objectives import KMedoids

    full = cdist(X, X, "cityblock")
    options = {"lambda_": 0.05, "depth": 2, "random_state": 0}
    plain = TAOClustering(3, objective=KMedoids("manhattan"), **options).fit(X)
    other = TAOClustering(3, objective=KMedoids("precomputed"), **options).fit(X, embedding=full)
    assert other.inertia_ == pytest.approx(plain.inertia_)
    np.testing.assert_array_equal(other.predict(X), other.labels_)
    medoids = other.cluster_centers_.argmax(axis=1)
    assert set(map(tuple, X[medoids])) == set(map(tuple, plain.cluster_centers_))


@pytest.mark.spaced(quick=0, slow=3)
@pytest.mark.parametrize(
    ("limit", "n_rounds"),
    [({}, 0), ({"lambda_": 0.05}, 0), ({"max_cost_increase": 2.0}, 1), ({"max_parameters": 20}, 1)],
)
def test_the_search_makes_rounds_where_they_pay(rng, limit, n_rounds):
    """Beside its rounds, of which "fast" has four, a search compares a tree with simpler ones."""
    X, counts = rng.normal(size=(60, 3)), []
    for search in ("none", "auto", "fast"):
        algorithm = DirectForm(n_init=1, search=search)
        model = TAOClustering(3, random_state=0, depth=3, algorithm=algorithm, **limit).fit(X)
        counts.append([record["stage"] for record in model.history_].count("search"))
    none, auto, fast = counts
    assert none == 0
    assert fast - auto == 4 - n_rounds
