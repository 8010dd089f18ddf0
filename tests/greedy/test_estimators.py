"""What all estimators of greedy promise: attributes, forms of the rows, small data, starts."""

import pickle
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from building import interrupt_after
from conftest import rest_in_sweeps
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import greedy.growth
from greedy import (
    CART,
    CUBT,
    DIVCLUST,
    EMN,
    IMM,
    CLTree,
    DPTree,
    ExGreedy,
    ExKCenter,
    ExKMC,
    ExShallow,
    ExShallowSearch,
    ExSingleLink,
    Kauri,
    KDTree,
    MixtureTree,
    RandomCuts,
    SpEx,
)
from greedy.baselines import kauri
from tao_cluster import TAOClustering
from tao_cluster.initial_trees import InitialTree
from tao_cluster.measures import feature_usage, normalized_mutual_information
from tao_cluster.plot import plot_tree
from tao_cluster.problem.repeats import content_order

OF_COSTS = [IMM, EMN, ExGreedy, ExShallow, DPTree, RandomCuts, KDTree, CUBT, CLTree]
OTHERS = [ExShallowSearch, ExKMC, Kauri, SpEx, DIVCLUST]
OF_KMEANS = {method.__name__: method for method in (*OF_COSTS, *OTHERS)}
METHODS = {
    **OF_KMEANS,
    "DPTree for medians": partial(DPTree, objective="kmedians"),
    "ExKCenter": ExKCenter,
    "ExKCenter by halves": partial(ExKCenter, rest="halves"),
    "ExSingleLink": ExSingleLink,
    "Kauri, many leaves": partial(Kauri, max_leaves=12),
}
QUICK = {"ExKMC"}


def rest_slow(names):
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in names]


def run(estimator, check):
    with warnings.catch_warnings():
        # Some checks have fewer distinct rows than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.spaced(quick=8, slow=20)
@parametrize_with_checks([ExKMC()])
def test_scikit_learn_conventions(estimator, check):
    run(estimator, check)


# Methods whose `fit` differs from that of ExKMC. For the others, only the checks whose results
# depend on the search for cuts are tried, and all of them in sweeps.
WITH_OWN_CODE = ("SpEx", "ExSingleLink")
SHARED = [name for name in METHODS if name not in {"ExKMC", *WITH_OWN_CODE}]
OF_THE_SEARCH = [
    estimator_checks.check_clustering,
    estimator_checks.check_fit_idempotent,
    estimator_checks.check_methods_sample_order_invariance,
]


@pytest.mark.slow
@parametrize_with_checks([*(METHODS[name]() for name in WITH_OWN_CODE), MixtureTree()])
def test_scikit_learn_conventions_of_the_others(estimator, check):
    run(estimator, check)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("check", OF_THE_SEARCH, ids=lambda check: check.__name__)
def test_scikit_learn_conventions_that_depend_on_the_search(name, check):
    run(METHODS[name](), lambda estimator: check(type(estimator).__name__, estimator))


def fitted(name, X, k=5, sample_weight=None, **options):
    """A fit whose free clustering is that of given centres, but for single linkage."""
    reference = {} if name == "ExSingleLink" else {"reference": as_array(X)[:k]}
    model = METHODS[name](k, random_state=0, **reference, **options)
    return model.fit(X, sample_weight=sample_weight)


def as_array(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("name", rest_slow(METHODS))
def test_attributes_agree(name, digits):
    X = digits[:300]
    model = fitted(name, X, 6)
    labels, tree = model.labels_, model.tree_
    assert labels.dtype == np.int32
    for again in (model.predict(X), tree.predict(X), tree.leaf_label[model.apply(X)]):
        np.testing.assert_array_equal(again, labels)
    assert model.score(X) == pytest.approx(-model.inertia_)
    increase = 100 * (model.inertia_ / model.free_inertia_ - 1)
    assert model.cost_increase_ == pytest.approx(increase)
    assert model.cluster_centers_.shape == model.free_centers_.shape == (6, 64)
    assert model.transform(X).shape == (300, 6)
    assert model.n_features_in_ == 64
    assert model.n_iter_ == len(model.history_)
    if name != "ExShallowSearch":  # whose history lists trees, not cuts
        for record in model.history_:
            assert tree.split(record["node"])[0] == [record["feature"]]
            assert tree.threshold[record["node"]] == record["threshold"]
    if name in {"IMM", "ExGreedy", "DPTree", "DIVCLUST"}:  # no cut is taken back or joined
        assert [record["leaves"] for record in model.history_] == list(range(2, 7))
    if name in OF_KMEANS:
        inertia = ((X - model.cluster_centers_[labels]) ** 2).sum()
        assert model.inertia_ == pytest.approx(inertia)
        surrogate = ((X - X[:6][labels]) ** 2).sum()
        assert model.surrogate_score(X) == pytest.approx(-surrogate)
        assert tree.n_parameters == 3 * tree.n_leaves - 2


@pytest.mark.spaced(quick=1, slow=4)
@pytest.mark.parametrize("name", METHODS)
def test_fits_are_equal_for_any_n_jobs_and_after_pickling(name, digits):
    X = digits[:120]
    models = [fitted(name, X, n_jobs=n) for n in (None, 2, -1)]
    for other in (*models[1:], pickle.loads(pickle.dumps(models[0]))):  # noqa: S301
        assert other.tree_ == models[0].tree_
        assert other.inertia_ == models[0].inertia_
    assert clone(models[0]).get_params().keys() == models[0].get_params().keys()


@pytest.mark.spaced(quick=1, slow=4)
@pytest.mark.parametrize("name", METHODS)
def test_forms_of_the_rows_change_nothing(name, digits):
    X = np.round(digits[:120] * 16)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    weight[:5] = 1
    model = fitted(name, X, sample_weight=weight)
    repeats = np.r_[np.arange(5), np.repeat(np.arange(5, 120), weight[5:])]
    repeated = fitted(name, X[repeats])
    assert repeated.tree_ == model.tree_
    assert repeated.inertia_ == pytest.approx(model.inertia_)
    order = np.r_[np.arange(5), 5 + np.random.default_rng(1).permutation(115)]
    shuffled = fitted(name, X[order], sample_weight=weight[order])
    np.testing.assert_array_equal(shuffled.labels_, model.labels_[order])
    single = fitted(name, X.astype(np.float32), sample_weight=weight)
    np.testing.assert_array_equal(single.labels_, model.labels_)
    sparse = fitted(name, sp.csr_matrix(X), sample_weight=weight)
    assert sparse.tree_ == model.tree_
    assert sparse.inertia_ == pytest.approx(model.inertia_)


@pytest.mark.slow
def test_references(digits, digits_reference):
    given = IMM(10, reference=digits_reference).fit(digits)
    np.testing.assert_array_equal(given.free_labels_, digits_reference.labels_)
    assert given.free_inertia_ == pytest.approx(digits_reference.inertia_)
    centers = IMM(10, reference=digits_reference.cluster_centers_).fit(digits)
    unfitted = IMM(10, reference=KMeans(10, n_init=10, random_state=0)).fit(digits)
    assert given.tree_ == centers.tree_
    ours = IMM(10, random_state=0).fit(digits)
    assert ours.tree_ == unfitted.tree_
    # k-means draws rows by position, and an estimator gives it the rows in an order of its own.
    ordered = digits[content_order(digits)]
    theirs = KMeans(10, n_init=10, random_state=0).fit(ordered)
    np.testing.assert_array_equal(
        ours.labels_, IMM(10, reference=theirs).fit(ordered).predict(digits)
    )
    with pytest.raises(ValueError, match="n_clusters=3"):
        IMM(3, reference=digits_reference).fit(digits)


@pytest.mark.spaced(quick=1, slow=5)
@pytest.mark.parametrize("name", METHODS)
def test_an_embedding_is_clustered_and_X_is_cut(name, digits):
    X = digits[:200]
    low = PCA(4, random_state=0).fit_transform(X)
    model = METHODS[name](5, random_state=0).fit(X, embedding=low)
    assert model.cluster_centers_.shape == (5, 4)
    assert model.tree_.n_features == 64
    assert model.score(X, embedding=low) == pytest.approx(-model.inertia_)
    assert np.isfinite(model.cost_increase(X[::3], embedding=low[::3]))
    with pytest.raises(ValueError, match="fit was given an embedding"):
        model.score(X)
    if name in OF_KMEANS:
        assert model.surrogate_score(X, embedding=low) <= model.score(X, embedding=low)


@pytest.mark.spaced(quick=1, slow=5)
@pytest.mark.filterwarnings("ignore:The tree costs")  # k-means centres are not those of k-center
@pytest.mark.parametrize("name", METHODS)
def test_standardised_columns_decide_and_users_units_are_shown(name):
    X = load_wine().data
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    centers = KMeans(3, random_state=0).fit(scaled).cluster_centers_
    same = METHODS[name](3, random_state=0, reference=centers).fit(scaled)
    centers = centers * X.std(axis=0) + X.mean(axis=0)
    model = METHODS[name](3, random_state=0, standardize=True, reference=centers).fit(X)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.inertia_ == pytest.approx(same.inertia_)
    back = same.cluster_centers_ * X.std(axis=0) + X.mean(axis=0)
    np.testing.assert_allclose(model.cluster_centers_, back)
    for node in model.tree_.decision_nodes:
        feature = model.tree_.split(node)[0][0]
        assert X[:, feature].min() < model.tree_.threshold[node] < X[:, feature].max()


@pytest.mark.parametrize("name", METHODS)
def test_not_fitted(name):
    for call in ("predict", "apply", "score", "surrogate_score"):
        with pytest.raises(NotFittedError):
            getattr(METHODS[name](), call)(np.zeros((2, 2)))


@pytest.mark.parametrize("name", rest_slow(METHODS))
def test_degenerate_data_fit_draw_and_export(name):
    method = METHODS[name]
    one_row = method(1).fit([[1.0, 2.0]])
    one_cluster = method(1, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters"):
        equal = method(3, random_state=0).fit(np.ones((5, 2)))
    with pytest.warns(ConvergenceWarning, match="2 of 3 clusters"):
        few = method(3, random_state=0).fit(np.repeat([[0.0, 0], [0, 1]], 10, axis=0))
    assert set(few.labels_) == {0, 1}
    for model in (one_row, one_cluster, equal):
        assert model.tree_.n_leaves == 1
        assert set(model.labels_) == {0}
    for model in (one_row, one_cluster, equal, few):
        assert model.to_text()
        assert model.inertia_ >= 0
    plt.close(plot_tree(few).figure)


@pytest.mark.parametrize("method", [IMM, ExSingleLink])
def test_bad_fits_keep_the_earlier_one(method, digits):
    X = digits[:100]
    model = method(4, random_state=0).fit(X)
    tree = model.tree_
    for bad in (np.full((9, 2), np.nan), X[:3], np.eye(9) * 1e200):
        with pytest.raises(ValueError, match=r"NaN|n_samples=3 should be|overflow"):
            model.fit(bad)
    with pytest.raises(ValueError, match="sample_weight must sum to less than"):
        model.fit(X, sample_weight=np.full(len(X), 1e305))
    assert model.tree_ is tree
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def strange():
    rng = np.random.default_rng(0)
    return {
        "units": load_wine().data,
        "dummies": np.eye(7)[rng.integers(0, 7, (120, 4))].reshape(120, 28),
        "wide": rng.normal(size=(60, 200)),
        "heavy": rng.standard_cauchy((200, 3)),
        "far": rng.normal(size=(100, 2)) + 1e6,
        "counts": np.floor(rng.exponential(size=(200, 30)) ** 3),
        "constant": np.c_[np.ones(80), rng.normal(size=80), np.zeros(80)],
    }


@pytest.mark.filterwarnings("ignore:Clusters of a few rows")
@pytest.mark.spaced(quick=0, slow=12)
@pytest.mark.parametrize("kind", list(strange()))
@pytest.mark.parametrize(
    "name", rest_in_sweeps(METHODS, "IMM", "Kauri", "SpEx", "ExKCenter", "ExSingleLink")
)
def test_strange_rows(name, kind):
    X, options = strange()[kind], {"random_state": 0}
    for objective in ("kmeans", "kmedians") if METHODS[name] in OF_COSTS else (None,):
        if objective is not None:
            options["objective"] = objective
        model = METHODS[name](4, **options).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert np.isfinite(model.inertia_)
        assert set(model.labels_) <= set(range(4))
        assert model.tree_.to_text()
        # Sparse distances lose digits where columns lie far from zero.
        if kind != "far" and objective is not None:
            same = {**options, "reference": model.free_centers_}
            dense, sparse = (METHODS[name](4, **same).fit(form) for form in (X, sp.csr_matrix(X)))
            assert (dense.labels_ == sparse.labels_).mean() > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("method", [IMM, DPTree, CLTree])
def test_a_hundred_clusters(method):
    X = np.random.default_rng(0).normal(size=(1500, 5))
    finer = {"min_split": 0.002, "min_y": 0.001} if method is CLTree else {}
    model = method(100, reference=X[:100], **finer).fit(X)
    assert len(set(model.labels_)) > 50
    assert model.tree_.n_leaves >= 51


def test_emn_is_the_figure_of_the_literature(digits, digits_reference):
    found = EMN(10, reference=digits_reference).fit(digits).cost_increase_
    assert found == pytest.approx(24.3, abs=0.5)


@pytest.mark.parametrize("method", [IMM, ExGreedy, ExShallow, ExKMC])
def test_thresholds_are_midpoints_by_default(method):
    """Petal length of iris: 1.9 cm at most in one species, 3 cm at least in the others."""
    X = load_iris().data
    model = method(3, random_state=0).fit(X)
    assert np.isclose(model.tree_.threshold, 2.45).any()
    assert "x2 <= 2.4\n" in model.to_text()  # the lengths have one decimal
    values = method(3, midpoints=False, random_state=0).fit(X)
    assert "x2 <= 1.9\n" in values.to_text()


# ---------------------------------------------------------------- leaves that save nothing


def tables_with_repeats():
    rng = np.random.default_rng(0)
    return {
        "iris": load_iris().data,
        "wine": load_wine().data,
        "repeats": np.repeat([[0.0, 0], [0, 1], [1, 0], [1, 1], [4, 4], [4, 5]], 7, axis=0),
        "grid": rng.integers(0, 3, (150, 3)).astype(float),
    }


MANY_LEAVES = {
    "ExKMC": ExKMC,
    "ExKMC from a leaf": partial(ExKMC, base="none"),
    "CART": CART,
    "KDTree": KDTree,
    "CUBT": CUBT,
    "CLTree": CLTree,
    "Kauri": Kauri,
    "SpEx": SpEx,
    "SpEx of neighbours": partial(SpEx, graph="knn"),
    "SpEx oblique": partial(SpEx, split="oblique"),
    "MixtureTree": MixtureTree,
    "RandomCuts bicriteria": partial(RandomCuts, rule="bicriteria"),
}


@pytest.mark.spaced(quick=4, slow=14)
@pytest.mark.parametrize("kind", tables_with_repeats())
@pytest.mark.parametrize("name", {**METHODS, **MANY_LEAVES})
def test_no_tree_keeps_a_split_whose_leaves_have_one_label(name, kind):
    X, method = tables_with_repeats()[kind], {**METHODS, **MANY_LEAVES}[name]
    has_size = "max_leaves" in method().get_params()
    for k in (2, 5):
        for size in (None, 3 * k, 40) if has_size else (None,):
            own = {"max_leaves": size} if has_size else {}
            model = method(k, random_state=0, **own).fit(X)
            tree = model.tree_
            assert tree.n_leaves == tree.prune().n_leaves
            assert not has_size or (model.node_rows_ > 0).all()
            if model.n_iter_ and "history_" in vars(model) and name != "ExShallowSearch":
                assert model.history_[-1]["leaves"] == tree.n_leaves


@pytest.mark.parametrize("kind", tables_with_repeats())
@pytest.mark.parametrize("base", ["imm", "none"])
def test_every_leaf_of_exkmc_beyond_its_base_saves_cost(base, kind):
    """Two leaves of one node cost more with either label on both, in the reference's centres."""
    X = tables_with_repeats()[kind]
    for k in (2, 5):
        model = ExKMC(k, max_leaves=40, base=base, random_state=0).fit(X)
        tree, leaves = model.tree_, model.apply(X)
        distances = ((X[:, None] - model.free_centers_) ** 2).sum(axis=2)
        first = 2 * model.trace_[0]["leaves"] - 1  # nodes of the base
        for left, right in zip(tree.children_left, tree.children_right, strict=True):
            if left < first or tree.children_left[[left, right]].max() >= 0:
                continue
            costs = [distances[leaves == leaf].sum(axis=0) for leaf in (left, right)]
            assert sum(costs).min() > costs[0].min() + costs[1].min()


@pytest.mark.parametrize("name", ["CART", "KDTree", "SpEx of neighbours"])
def test_removed_splits_change_no_label(name, monkeypatch):
    X = load_iris().data
    model = MANY_LEAVES[name](5, max_leaves=10, random_state=0).fit(X)
    for place, function in (
        ("greedy.base.without_redundant_splits", lambda growth: growth),
        ("tao_cluster.tree.Tree.prune", lambda tree, counts=None: tree),
    ):
        monkeypatch.setattr(place, function)
    whole = MANY_LEAVES[name](5, max_leaves=10, random_state=0).fit(X)
    assert model.tree_.n_leaves < whole.tree_.n_leaves
    np.testing.assert_array_equal(model.labels_, whole.labels_)


# ---------------------------------------------------------------- as initial trees


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"ExKCenter"}))
def test_they_are_initial_trees(name, digits):
    """But for ExKCenter's grid, which is one box where columns are many."""
    X, init = digits[:200], METHODS[name]()
    assert isinstance(init, InitialTree)
    model = TAOClustering(4, init=init, lambda_=0.1, random_state=0).fit(X)
    rng = np.random.RandomState(0)
    start = init.build(X, model.free_labels_, model.free_centers_, np.ones(len(X)), rng)
    labels = start.predict(X)
    parts = [X[labels == k] for k in np.unique(labels)]
    assert model.inertia_ < sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)


# ---------------------------------------------------------------- Ctrl-C

IN_GROWTH = (greedy.growth, "_replace")
INTERRUPTED = {
    "ExKMC": (partial(ExKMC, max_leaves=60), IN_GROWTH, 12),
    "SpEx": (SpEx, IN_GROWTH, 3),
    "SpEx of neighbours": (partial(SpEx, graph="knn"), IN_GROWTH, 3),
    "DIVCLUST": (DIVCLUST, IN_GROWTH, 3),
    "Kauri": (partial(Kauri, max_leaves=30), (kauri, "side_sums"), 20),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_growth_keeps_its_leaves(name, digits, digits_reference, monkeypatch):
    method, *place = INTERRUPTED[name]
    full, model = (method(10, reference=digits_reference) for _ in range(2))
    full.fit(digits)
    interrupt_after(monkeypatch, *place)
    with pytest.warns(ConvergenceWarning, match=r"Interrupted: the tree has \d+ of at most"):
        model.fit(digits)
    assert 1 < model.tree_.n_leaves < full.tree_.n_leaves
    assert model.history_ == full.history_[: model.n_iter_]
    np.testing.assert_array_equal(model.predict(digits), model.labels_)


# ---------------------------------------------------------------- measures of their trees


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
