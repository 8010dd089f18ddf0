"""The axis-aligned estimators: conventions, attributes, trade-off curve, search, initial trees."""

import pickle
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import rest_in_sweeps
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import normalized_mutual_info_score

from greedy import (
    CUBT,
    EMN,
    IMM,
    CLTree,
    ExGreedy,
    ExKMC,
    ExShallow,
    ExShallowSearch,
    KDTree,
    build_exkmc,
    build_imm,
)
from greedy.estimators import search
from greedy.methods import expansion
from tao_cluster import TAOClustering
from tao_cluster.initial_trees.initial import InitialTree
from tao_cluster.measures import (
    feature_usage,
    normalized_mutual_information,
    weighted_average_explanation_size,
)
from tao_cluster.plot import plot_tree

BUILDERS = {"imm": IMM, "exkmc": ExKMC, "exgreedy": ExGreedy, "exshallow": ExShallow}
METHODS = [IMM, ExKMC, ExGreedy, ExShallow, ExShallowSearch, EMN, KDTree, CUBT, CLTree]


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    return request.param


def test_attributes_agree(method, digits, digits_reference):
    model = method(10, reference=digits_reference).fit(digits)
    labels = model.labels_
    assert labels.dtype == np.int32
    for again in (model.predict(digits), model.tree_.predict(digits)):
        np.testing.assert_array_equal(again, labels)
    np.testing.assert_array_equal(model.tree_.leaf_label[model.apply(digits)], labels)
    inertia = ((digits - model.cluster_centers_[labels]) ** 2).sum()
    assert model.inertia_ == pytest.approx(inertia)
    assert model.score(digits) == pytest.approx(-inertia)
    surrogate = ((digits - digits_reference.cluster_centers_[labels]) ** 2).sum()
    assert model.surrogate_score(digits) == pytest.approx(-surrogate)
    assert model.cost_increase_ == pytest.approx(100 * (inertia / digits_reference.inertia_ - 1))
    np.testing.assert_array_equal(model.free_labels_, digits_reference.labels_)
    assert model.n_iter_ == len(model.history_)
    assert model.n_features_in_ == 64
    assert model.tree_.n_parameters == 3 * model.tree_.n_leaves - 2


def test_history_lists_the_cuts(digits, digits_reference):
    model = ExGreedy(10, reference=digits_reference).fit(digits)
    tree = model.tree_
    assert [record["leaves"] for record in model.history_] == list(range(2, 11))
    for record in model.history_:
        assert tree.split(record["node"])[0] == [record["feature"]]
        assert tree.threshold[record["node"]] == record["threshold"]


@pytest.mark.slow
def test_fits_are_equal_for_any_n_jobs_and_after_pickling(method, digits):
    models = [method(10, random_state=0, n_jobs=n).fit(digits) for n in (None, 2, -1)]
    for other in (*models[1:], pickle.loads(pickle.dumps(models[0]))):  # noqa: S301
        assert other.tree_ == models[0].tree_
        assert other.inertia_ == models[0].inertia_
    assert clone(models[0]).get_params() == models[0].get_params()


def test_references(method, digits, digits_reference):
    given = method(10, reference=digits_reference).fit(digits)
    centers = method(10, reference=digits_reference.cluster_centers_).fit(digits)
    unfitted = method(10, reference=KMeans(10, n_init=10, random_state=0)).fit(digits)
    assert given.tree_ == centers.tree_
    ours = method(10, random_state=0).fit(digits)
    assert ours.tree_ == unfitted.tree_
    # The threads of the given k-means make the last bits of its centres.
    np.testing.assert_array_equal(ours.labels_, given.labels_)
    with pytest.raises(ValueError, match="n_clusters=3"):
        method(3, reference=digits_reference).fit(digits)


@pytest.mark.slow
def test_sparse_and_weighted_fits(method, digits, digits_reference):
    dense = method(10, reference=digits_reference).fit(digits)
    sparse = method(10, reference=digits_reference).fit(sp.csr_matrix(digits))
    assert sparse.tree_ == dense.tree_
    assert sparse.inertia_ == pytest.approx(dense.inertia_)
    weight = np.random.default_rng(0).integers(0, 3, len(digits))
    weighted = method(10, reference=digits_reference).fit(digits, sample_weight=weight)
    repeated = method(10, reference=digits_reference).fit(np.repeat(digits, weight, axis=0))
    assert weighted.tree_ == repeated.tree_
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


def test_an_embedding_is_clustered_and_X_is_cut(method, digits):
    low = PCA(4, random_state=0).fit_transform(digits)
    model = method(6, random_state=0).fit(digits, embedding=low)
    assert model.cluster_centers_.shape == (6, 4)
    assert model.tree_.n_features == 64
    assert model.score(digits, embedding=low) == pytest.approx(-model.inertia_)
    assert model.surrogate_score(digits, embedding=low) <= model.score(digits, embedding=low)
    with pytest.raises(ValueError, match="needs the embedding"):
        model.surrogate_score(digits)


def test_weights_that_overflow_are_refused(method, digits):
    with pytest.raises(ValueError, match="sample_weight must sum to less than"):
        method(3).fit(digits, sample_weight=np.full(len(digits), 1e305))


def test_not_fitted(method):
    for call in ("predict", "apply", "score", "surrogate_score"):
        with pytest.raises(NotFittedError):
            getattr(method(), call)(np.zeros((2, 2)))
    with pytest.raises(NotFittedError):
        ExKMC().tree_at(9)


def test_degenerate_data_fit_draw_and_export(method):
    one_row = method(1).fit([[1.0, 2.0]])
    one_cluster = method(1, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters"):
        equal = method(3, random_state=0).fit(np.ones((5, 2)))
    with pytest.warns(ConvergenceWarning, match="2 of 3 clusters"):
        few = method(3, random_state=0).fit([[0.0, 0], [0, 0], [0, 1], [0, 1]])
    assert set(few.labels_) == {0, 1}
    for model in (one_row, one_cluster, equal):
        assert model.tree_.n_leaves == 1
        assert set(model.labels_) == {0}
    for model in (one_row, one_cluster, equal, few):
        assert model.tree_.to_text()
        assert model.inertia_ >= 0
        plt.close(plot_tree(model).figure)


def test_bad_fits_keep_the_earlier_one(method, digits):
    model = method(4, random_state=0).fit(digits)
    tree = model.tree_
    for X in (np.full((9, 2), np.nan), digits[:3], np.eye(9) * 1e200):
        with pytest.raises(ValueError, match=r"NaN|n_samples=3 should be|overflow"):
            model.fit(X)
    assert model.tree_ is tree
    np.testing.assert_array_equal(model.predict(digits), model.labels_)


# ---------------------------------------------------------------- ExKMC's curve


def test_one_fit_gives_the_whole_curve(digits, digits_reference):
    options = {"reference": digits_reference}
    model = ExKMC(10, max_leaves=40, **options).fit(digits)
    assert [record["leaves"] for record in model.trace_] == list(range(10, 41))
    for record in model.trace_[::6]:
        smaller = ExKMC(10, max_leaves=record["leaves"], **options).fit(digits)
        assert model.tree_at(record["leaves"]) == smaller.tree_
        assert record["cost"] == pytest.approx(smaller.inertia_)
        assert record["cost_increase"] == pytest.approx(smaller.cost_increase_)
        assert record["surrogate"] == pytest.approx(-smaller.surrogate_score(digits))
    assert model.tree_at(40) == model.tree_
    assert model.tree_at(10) == IMM(10, **options).fit(digits).tree_
    with pytest.raises(ValueError, match="must be a whole number"):
        model.tree_at(20.0)
    for leaves in (9, 41):
        with pytest.raises(ValueError, match=rf"n_leaves={leaves} must lie in 10\.\.40"):
            model.tree_at(leaves)


@pytest.mark.parametrize("base", ["imm", "none"])
def test_the_surrogate_never_rises(base, rng):
    for k in (2, 5, 9):
        X = np.round(rng.normal(size=(300, 3)), 1)  # ties
        model = ExKMC(k, max_leaves=60, base=base, random_state=0).fit(X)
        surrogate = [record["surrogate"] for record in model.trace_]
        assert np.all(np.diff(surrogate) <= 0)
        assert model.trace_[-1]["surrogate"] >= model.free_inertia_ * (1 - 1e-9)
        assert model.trace_[0]["leaves"] == (k if base == "imm" else 1)


def test_midpoints_hold_along_the_curve(digits, digits_reference):
    model = ExKMC(10, max_leaves=30, reference=digits_reference).fit(digits)
    small = ExKMC(10, max_leaves=20, reference=digits_reference).fit(digits)
    assert model.tree_at(20) == small.tree_
    assert model.trace_[-11]["cost"] == pytest.approx(small.inertia_)
    cuts = {(cut["feature"], cut["threshold"]) for cut in model.history_}
    nodes = model.tree_.decision_nodes
    assert cuts == {(model.tree_.split(i)[0][0], model.tree_.threshold[i]) for i in nodes}
    values = ExKMC(10, max_leaves=30, midpoints=False, reference=digits_reference).fit(digits)
    assert [r["cost"] for r in values.trace_] == [r["cost"] for r in model.trace_]
    assert values.tree_ != model.tree_


@pytest.mark.parametrize("method", [IMM, ExGreedy, ExShallow, ExKMC])
def test_thresholds_are_midpoints_by_default(method):
    """Petal length of iris: 1.9 cm at most in one species, 3 cm at least in the others."""
    model = method(3, random_state=0).fit(load_iris().data)
    assert "x2 <= 2.45" in model.to_text()
    assert (
        "x2 <= 1.9\n" in method(3, midpoints=False, random_state=0).fit(load_iris().data).to_text()
    )


def test_leaves_default_to_twice_the_clusters(digits, digits_reference):
    assert ExKMC(10, reference=digits_reference).fit(digits).tree_.n_leaves == 20
    with pytest.raises(ValueError, match="max_leaves=9 must be at least"):
        ExKMC(10, max_leaves=9, reference=digits_reference).fit(digits)


def test_leaves_that_no_cut_improves_stay():
    """Iris: 7 leaves have no row of another cluster."""
    model = ExKMC(3, max_leaves=12, random_state=0).fit(load_iris().data)
    assert (model.tree_.n_leaves, model.cost_increase_) == (7, 0.0)
    assert model.tree_at(12) == model.tree_


# ---------------------------------------------------------------- the search for a depth factor


def test_search_meets_goals(digits, digits_reference):
    options = {"reference": digits_reference}
    plain = ExShallow(10, **options).fit(digits)
    size = weighted_average_explanation_size(plain.tree_, digits)
    same = ExShallowSearch(10, **options).fit(digits)
    assert same.tree_ == plain.tree_
    assert same.depth_factor_ == 0.03
    short = ExShallowSearch(10, max_explanation_size=size - 0.3, **options).fit(digits)
    assert weighted_average_explanation_size(short.tree_, digits) <= size - 0.3
    assert short.depth_factor_ > 0.03
    limit = plain.cost_increase_ + 2
    both = ExShallowSearch(10, max_cost_increase=limit, **options).fit(digits)
    assert both.cost_increase_ <= limit
    assert weighted_average_explanation_size(both.tree_, digits) <= size
    assert len(both.history_) == 12
    for record in both.history_:
        fit = ExShallow(10, depth_factor=record["depth_factor"], **options).fit(digits)
        assert record["cost_increase"] == pytest.approx(fit.cost_increase_)


def test_search_says_when_a_goal_is_out_of_reach(digits, digits_reference):
    with pytest.warns(ConvergenceWarning, match="costs at most 1 % more"):
        model = ExShallowSearch(
            10, max_cost_increase=1, max_iter=4, reference=digits_reference
        ).fit(digits)
    assert model.cost_increase_ == min(record["cost_increase"] for record in model.history_)
    assert model.n_iter_ == len(model.history_) == 4
    assert model.history_[-1]["depth_factor"] == 0


# ---------------------------------------------------------------- as initial trees, measures


@pytest.mark.slow
@pytest.mark.parametrize("name", rest_in_sweeps(BUILDERS, "ExKMC"))
def test_builders_are_initial_trees(name, digits, digits_reference):
    options = {"lambda_": 0.1, "reference": digits_reference, "random_state": 0}
    by_name = TAOClustering(10, init=name, **options).fit(digits)
    builder = BUILDERS[name]
    assert isinstance(builder(), InitialTree)
    as_object = TAOClustering(10, init=builder(), **options).fit(digits)
    assert by_name.tree_ == as_object.tree_
    axis_aligned = builder(10, reference=digits_reference).fit(digits)
    assert by_name.cost_increase_ < axis_aligned.cost_increase_ / 2


@pytest.mark.slow
def test_the_search_is_an_initial_tree(digits, digits_reference):
    search = ExShallowSearch(10, max_explanation_size=3.5)
    options = {"lambda_": 0.1, "reference": digits_reference, "random_state": 0}
    assert TAOClustering(10, init=search, **options).fit(digits).tree_.n_leaves >= 2
    tree = ExShallowSearch(10, max_explanation_size=3.5, reference=digits_reference).fit(digits)
    centers, weight = digits_reference.cluster_centers_, np.ones(len(digits))
    built = search.build(digits, digits_reference.labels_, centers, weight)
    assert built == tree.tree_


def test_builders_check_their_parameters_as_initial_trees(digits):
    with pytest.raises(ValueError, match="'depth_factor' parameter of ExShallow"):
        TAOClustering(4, init=ExShallow(depth_factor=-1.0)).fit(digits)


def interrupt_after(monkeypatch, place, n_calls):
    """Raise KeyboardInterrupt at a later call of a function."""
    module, name = place
    function, calls = getattr(module, name), []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) > n_calls:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, interrupted)


def test_an_interrupted_expansion_keeps_its_leaves(digits, digits_reference, monkeypatch):
    interrupt_after(monkeypatch, (expansion, "surrogate_cut"), 25)
    model = ExKMC(10, max_leaves=60, reference=digits_reference)
    with pytest.warns(ConvergenceWarning, match=r"Interrupted: the tree has \d+ of at most 60"):
        model.fit(digits)
    monkeypatch.undo()
    n_leaves = model.tree_.n_leaves
    assert 10 < n_leaves < 60
    assert (
        model.tree_ == ExKMC(10, max_leaves=n_leaves, reference=digits_reference).fit(digits).tree_
    )
    assert model.trace_[-1]["leaves"] == n_leaves


def test_an_interrupted_search_keeps_its_best_tree(digits, digits_reference, monkeypatch):
    interrupt_after(monkeypatch, (search, "part_centers"), 3)
    model = ExShallowSearch(10, max_cost_increase=20, reference=digits_reference)
    with pytest.warns(ConvergenceWarning, match="Interrupted: the best of 3 trees is kept"):
        model.fit(digits)
    assert model.cost_increase_ <= 20
    interrupt_after(monkeypatch, (search, "part_centers"), 0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(digits)


@pytest.mark.slow
def test_initial_tree_with_an_embedding(digits):
    low = PCA(4, random_state=0).fit_transform(digits)
    model = TAOClustering(5, lambda_=0.1, init="imm", random_state=0)
    assert model.fit(digits, embedding=low).tree_.n_features == 64


def test_names_and_builders_agree(digits, digits_reference):
    centers = digits_reference.cluster_centers_
    assert IMM(10, reference=centers).fit(digits).tree_ == build_imm(digits, centers)
    rng = np.random.default_rng(0)
    for _ in range(40):  # rows as far from one centre as from another
        X = rng.integers(0, 5, size=(12, 2)).astype(float)
        centers_ = rng.integers(0, 5, size=(4, 2)).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert IMM(4, reference=centers_).fit(X).tree_ == build_imm(X, centers_)
    exkmc = ExKMC(10, max_leaves=33, reference=centers).fit(digits)
    assert exkmc.tree_ == build_exkmc(digits, centers, max_leaves=33)


def test_agreement_is_that_of_scikit_learn(digits, digits_reference, rng):
    labels = IMM(10, reference=digits_reference).fit(digits).labels_
    own = normalized_mutual_information(labels, digits_reference.labels_)
    assert own == pytest.approx(normalized_mutual_info_score(digits_reference.labels_, labels))
    weight = rng.integers(0, 3, len(labels))
    repeated = [np.repeat(part, weight) for part in (labels, digits_reference.labels_)]
    assert normalized_mutual_information(labels, digits_reference.labels_, weight) == pytest.approx(
        normalized_mutual_info_score(*repeated)
    )
    assert normalized_mutual_information([0, 0], [3, 3]) == 1.0
    assert normalized_mutual_information([0, 1], [3, 3]) == 0.0


def test_feature_usage_counts_rows_by_path(digits, digits_reference):
    tree = ExGreedy(10, reference=digits_reference).fit(digits).tree_
    usage = feature_usage(tree, digits)
    assert usage.shape == (64,)
    np.testing.assert_array_equal(np.flatnonzero(usage), tree.used_features)
    root = tree.split(0)[0][0]
    assert usage[root] == pytest.approx(1.0)
    twice = feature_usage(tree, digits, np.full(len(digits), 2.0))
    np.testing.assert_allclose(twice, usage)
