"""TAOClustering as a scikit-learn estimator: contract, input, determinism, degenerate data."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from tao_cluster import TAOClustering, Tree
from tao_cluster.core.split import Split
from tao_cluster.inspection.measures import cost_increase
from tao_cluster.problem import objectives as objectives_module
from tao_cluster.search.starts.initial import Bisecting, Centroids
from tao_cluster.solvers import Liblinear, Newton


@parametrize_with_checks(
    [TAOClustering(), TAOClustering(n_clusters=3, lambda_=0.1, depth=2, n_init=2)],
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        # Some checks have fewer distinct rows than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def small(n_clusters=3, **options):
    return TAOClustering(n_clusters, **{"lambda_": 1.0, "depth": 3, "random_state": 0, **options})


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 5))


def assert_same_fit(a, b):
    assert a.tree_ == b.tree_
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == b.inertia_


# ---------------------------------------------------------------- what the paper promises


def test_digits_front(digits, digits_reference):
    """What a plain implementation of the paper reaches here: 1.13 % with 149 weights."""
    front = {}
    for lambda_ in (0.03, 0.1, 0.3):
        model = TAOClustering(
            10, lambda_=lambda_, depth=5, reference=digits_reference, random_state=0
        ).fit(digits)
        front[lambda_] = (model.cost_increase_, model.tree_.n_nonzero)
    assert any(cost <= 1.2 and non_zeros <= 200 for cost, non_zeros in front.values())
    assert front[0.03][0] <= 0.4


def test_attributes_agree(digits, digits_reference):
    model = TAOClustering(10, lambda_=0.3, reference=digits_reference, random_state=0).fit(digits)
    tree, labels = model.tree_, model.labels_
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(tree.predict(digits), labels)
    np.testing.assert_array_equal(model.predict(digits), labels)
    np.testing.assert_array_equal(tree.leaf_label[model.apply(digits)], labels)
    np.testing.assert_array_equal(
        model.decision_path(digits).toarray(), tree.decision_path(digits).toarray()
    )
    for k in np.unique(labels):
        np.testing.assert_allclose(
            model.cluster_centers_[k], digits[labels == k].mean(axis=0), atol=1e-12
        )
    inertia = ((digits - model.cluster_centers_[labels]) ** 2).sum()
    assert model.inertia_ == pytest.approx(inertia)
    assert model.score(digits) == pytest.approx(-inertia)
    assert model.free_inertia_ == pytest.approx(digits_reference.inertia_)
    assert model.cost_increase_ == cost_increase(model.inertia_, model.free_inertia_)
    np.testing.assert_array_equal(model.free_labels_, digits_reference.labels_)
    np.testing.assert_array_equal(model.free_centers_, digits_reference.cluster_centers_)
    distances = np.linalg.norm(digits[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(digits), distances, atol=1e-6)
    assert len(model.history_) == model.n_iter_
    assert tree.prune(tree.node_counts(tree.apply(digits))) == tree  # nothing dead is left


def test_lambda_trades_cost_for_size(digits, digits_reference):
    models = [
        TAOClustering(10, lambda_=lambda_, reference=digits_reference, random_state=0).fit(digits)
        for lambda_ in (0.01, 0.3, 10)
    ]
    assert np.all(np.diff([m.cost_increase_ for m in models]) > 0)
    assert np.all(np.diff([m.tree_.n_parameters for m in models]) < 0)


# ---------------------------------------------------------------- determinism


def test_two_fits_are_bit_equal_for_any_n_jobs(rng):
    X = rng.normal(size=(9000, 4))  # enough rows for a second thread to start
    fits = [small(5, lambda_=5, n_mu_steps=5, n_jobs=n).fit(X) for n in (None, 1, 2, -1)]
    for other in fits[1:]:
        assert_same_fit(fits[0], other)


def test_concurrent_fits_are_alone_and_leave_the_libraries_as_they_were(X):
    def threads():
        return [library["num_threads"] for library in threadpool_info()]

    before, alone = threads(), small().fit(X)
    with ThreadPoolExecutor(3) as pool:
        for model in pool.map(lambda _: small().fit(X), range(6)):
            assert_same_fit(model, alone)
    assert threads() == before


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_of_libraries_change_nothing(digits, digits_reference, threads):
    for reference in (digits_reference, None):
        with threadpool_limits(limits=threads):
            model = small(10, reference=reference).fit(digits)
        assert_same_fit(model, small(10, reference=reference).fit(digits))


def test_pickle_and_later_fits(X):
    model = small().fit(X)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_same_fit(model, again)
    assert_same_fit(model, again.fit(X))


def test_predictions_do_not_depend_on_the_batch_or_precision(digits):
    X = digits.astype(np.float32)
    model = small(10, lambda_=0.1).fit(X)
    alone = np.concatenate([model.predict(X[[i]]) for i in range(0, len(X), 13)])
    np.testing.assert_array_equal(model.predict(X)[::13], alone)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(np.float64)))
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(X)), model.labels_)


# ---------------------------------------------------------------- forms of input


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        np.float32,
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_matrix,
        lambda X: pd.DataFrame(X, columns=list("abcde")),
        lambda X: X.tolist(),
    ],
)
def test_forms_of_input(X, form):
    X = X.astype(np.float32)  # exact in every form
    model = small().fit(form(X))
    np.testing.assert_array_equal(model.predict(form(X)), model.labels_)
    assert model.cost_increase_ == pytest.approx(small().fit(X).cost_increase_, abs=0.5)


def test_sparse_input_with_long_indices(X):
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    assert_same_fit(small().fit(matrix), small().fit(sp.csr_matrix(X)))


def test_storage_of_sparse_input_changes_nothing(X):
    halves = sp.csr_matrix(np.hstack([X / 2, X / 2]))
    halves.indices %= X.shape[1]  # every entry twice, half each
    doubled = sp.csr_matrix((halves.data, halves.indices, halves.indptr), shape=X.shape)
    mixed = sp.csr_matrix(X)
    mixed.indptr = mixed.indptr.astype(np.int64)
    plain = small().fit(sp.csr_matrix(X))
    for matrix in (doubled, mixed):
        before = matrix.copy()
        assert_same_fit(small().fit(matrix), plain)
        np.testing.assert_array_equal(matrix.data, before.data)  # not altered
    np.testing.assert_allclose(plain.transform(doubled), plain.transform(X), atol=1e-6)


def test_sparse_and_dense_agree(rng):
    X = sp.random(300, 40, density=0.1, random_state=0, format="csr")
    X = X + sp.csr_matrix(np.kron(np.eye(3), np.ones((100, 40 // 3)))[:, :39] @ np.eye(39, 40))
    sparse, dense = small().fit(sp.csr_matrix(X)), small().fit(X.toarray())
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


def test_names_of_columns(X):
    model = small().fit(pd.DataFrame(X, columns=list("abcde")))
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
    assert list(model.get_feature_names_out()) == [f"taoclustering{k}" for k in range(3)]


def test_input_is_not_altered(X):
    before, weight = X.copy(), np.ones(len(X))
    small().fit(X, sample_weight=weight)
    np.testing.assert_array_equal(X, before)


def test_shift_and_scale_change_no_cluster(X):
    plain = small().fit(X)
    np.testing.assert_array_equal(small().fit(X + 1e6).labels_, plain.labels_)
    # E scales with the square, ||w||_1 with the inverse of the scale.
    scaled = small(lambda_=2.0**-60).fit(X * 2.0**-20)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)


# ---------------------------------------------------------------- parameters


def test_reference_forms(X):
    fitted = KMeans(3, n_init=10, random_state=0).fit(X)
    default = small().fit(X)
    for reference in (
        fitted,
        fitted.cluster_centers_,
        fitted.cluster_centers_.tolist(),
        KMeans(3, n_init=10, random_state=0),
        KMeans(3, n_init=10),  # takes the seed of the estimator
    ):
        free = small(reference=reference).fit(X)
        np.testing.assert_allclose(free.free_centers_, fitted.cluster_centers_)
        np.testing.assert_array_equal(free.labels_, default.labels_)
    small(reference=MiniBatchKMeans(3, n_init=1, random_state=0)).fit(X)


def test_reference_is_not_altered(X):
    reference = KMeans(3, n_init=1)
    small(reference=reference).fit(X)
    assert reference.random_state is None
    assert not hasattr(reference, "cluster_centers_")


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (KMeans(4, n_init=1), "n_clusters=3 centres with 5 features"),
        (np.zeros((3, 4)), "n_clusters=3 centres with 5 features"),
        (np.full((3, 5), np.nan), "reference contains NaN"),
        (AgglomerativeClustering(3), "no cluster_centers_"),
    ],
)
def test_bad_references(X, reference, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(reference=reference).fit(X)


def test_initial_tree_forms(X):
    tree = small().fit(X).tree_
    assert small(init=tree, init_tao_iter=0, n_mu_steps=0).fit(X).tree_.max_depth <= tree.max_depth
    assert_same_fit(small(init=Bisecting(3)).fit(X), small(init="bisecting").fit(X))
    assert_same_fit(small(init=Centroids(3)).fit(X), small(init="centroids").fit(X))
    with pytest.raises(ValueError, match="initial tree has 2 features"):
        small(init=Tree.single_leaf(0, 2)).fit(X)


def test_restarts_keep_the_best_direct_fit(digits, digits_reference):
    options = {"lambda_": 0.1, "reference": digits_reference, "tao_iter": 2, "init_tao_iter": 2}
    options |= {"n_mu_steps": 0, "depth": 3, "trim": 0, "random_state": 0}
    objectives = []
    for n_init in (1, 2, 4):  # the same initial trees, then further ones
        model = TAOClustering(10, n_init=n_init, **options).fit(digits)
        objectives.append(model.inertia_ + 0.1 * np.abs(model.tree_.split_weights).sum())
    assert objectives[0] >= objectives[1] >= objectives[2]
    assert objectives[0] > objectives[2]


def test_trimming_moves_no_row(digits, digits_reference):
    options = {"lambda_": 0.1, "reference": digits_reference, "random_state": 0}
    full = TAOClustering(10, trim=0, **options).fit(digits)
    trimmed = TAOClustering(10, **options).fit(digits)
    everything = TAOClustering(10, trim=1, **options).fit(digits)
    for other in (trimmed, everything):
        np.testing.assert_array_equal(other.labels_, full.labels_)
        assert other.tree_.n_leaves == full.tree_.n_leaves
    sizes = [model.tree_.n_nonzero for model in (full, trimmed, everything)]
    assert sizes[0] > sizes[1] > sizes[2]
    for node in full.tree_.decision_nodes:
        assert set(trimmed.tree_.split(node)[0]) <= set(full.tree_.split(node)[0])


def test_solver_objects(X):
    assert_same_fit(small(node_solver=Liblinear()).fit(X), small(node_solver="liblinear").fit(X))
    assert_same_fit(small(node_solver="auto").fit(X), small(node_solver="newton").fit(X))


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 0},
        {"lambda_": -1},
        {"depth": -1},
        {"objective": "k-means"},
        {"objective": object()},
        {"split": "diagonal"},
        {"penalty": "hinge"},
        {"init": "zero"},
        {"node_solver": "saga"},
        {"mu_factor": 1.0},
        {"reference": "kmeans"},
        {"tao_iter": 0},
    ],
)
def test_bad_parameters(X, options):
    with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter of TAOClustering"):
        small(**options).fit(X)


def test_own_objective_plugs_in(X):
    """An objective is any object with the methods of the protocol."""

    class Doubled:
        def __getattr__(self, name):
            return getattr(objectives_module.KMeans(), name)

        def reference(self, n_clusters, random_state):
            return KMeans(n_clusters, n_init=10, random_state=random_state)

        def prepare(self, rows):
            return objectives_module.KMeans().prepare(rows)

        def distances(self, data, centers):
            return 2 * objectives_module.KMeans().distances(data, centers)

        def update_centers(self, *args):
            return objectives_module.KMeans().update_centers(*args)

        def value(self, *args):
            return 2 * objectives_module.KMeans().value(*args)

        def as_distance(self, dissimilarities):
            return dissimilarities

    doubled, plain = small(objective=Doubled(), lambda_=2.0).fit(X), small().fit(X)
    np.testing.assert_array_equal(doubled.labels_, plain.labels_)
    assert doubled.inertia_ == pytest.approx(2 * plain.inertia_)


@dataclass(frozen=True)
class SquaredError:
    """Histogram leaves, P(z, theta) = ||z - theta||^2 (section 7)."""

    is_binary = False

    def leaf(self, labels, weight, n_clusters):
        histogram = np.bincount(labels, weight, n_clusters) / weight.sum()
        return int(histogram.argmax()), histogram

    def table(self, tree, n_clusters):
        value = tree.leaf_value
        if value is None:
            value = np.eye(n_clusters)[tree.leaf_label]
        return (value**2).sum(axis=1, keepdims=True) - 2 * value + 1


@dataclass(frozen=True)
class Weighted:
    """A node solver with instance weights: scikit-learn's, with a nearly free threshold."""

    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        class Bound:
            def fit(self, rows, goes_right, weight, strength, warm_start):
                model = LogisticRegression(
                    C=1 / max(strength, 1e-4), l1_ratio=1, solver="liblinear", random_state=0,
                    intercept_scaling=1000,
                ).fit(X[rows], goes_right, weight)  # fmt: skip
                return Split.from_dense(model.coef_[0], -model.intercept_[0])

        return Bound()


def test_own_penalty_and_solver_plug_in(X):
    """Histogram leaves and real-valued weights need no change of the loop."""
    model = small(penalty=SquaredError(), node_solver=Weighted(), n_mu_steps=30).fit(X)
    tree = model.tree_
    assert tree.leaf_value.shape == (tree.n_nodes, 3)
    np.testing.assert_allclose(tree.leaf_value[tree.leaves].sum(axis=1), 1)
    assert Tree.from_json(tree.to_json()) == tree
    assert model.cost_increase_ < 20
    again = small(init=tree).fit(X)  # labels again: the histograms go
    assert again.tree_.leaf_value is None
    with pytest.raises(ValueError, match="which SquaredError needs"):
        small(penalty=SquaredError(), node_solver="liblinear").fit(X)
    with pytest.raises(ValueError, match="not Newton and SquaredError"):
        small(penalty=SquaredError(), algorithm="direct").fit(X)


def test_verbose_shows_a_bar(X, capsys):
    small(verbose=1, n_mu_steps=3).fit(X)
    shown = capsys.readouterr().err
    for word in ("mu", "cost_increase", "leaves", "non_zeros"):
        assert word in shown
    small(n_mu_steps=3).fit(X)
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_leaves_a_usable_estimator(digits, monkeypatch):
    calls = []
    plain = objectives_module.KMeans.update_centers

    def update_centers(self, *args):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return plain(self, *args)

    monkeypatch.setattr(objectives_module.KMeans, "update_centers", update_centers)
    with pytest.warns(ConvergenceWarning, match="Interrupted") as caught:
        model = small(10, lambda_=0.1).fit(digits)
    assert Path(caught[0].filename).name == Path(__file__).name
    assert 0 < model.n_iter_ < 100
    np.testing.assert_array_equal(model.predict(digits), model.labels_)


# ---------------------------------------------------------------- weights, embedding


def test_weight_zero_is_an_absent_row(X):
    weight = np.ones(len(X))
    weight[::4] = 0
    weighted, absent = small().fit(X, sample_weight=weight), small().fit(X[weight > 0])
    assert weighted.tree_ == absent.tree_
    assert weighted.inertia_ == absent.inertia_
    assert len(weighted.labels_) == len(weighted.free_labels_) == len(X)
    np.testing.assert_array_equal(weighted.labels_[weight > 0], absent.labels_)
    np.testing.assert_array_equal(weighted.free_labels_[weight > 0], absent.free_labels_)


@pytest.mark.parametrize("node_solver", [Liblinear(1e-8), Newton(1e-10)])
def test_weight_two_is_a_repeated_row(X, rng, node_solver):
    """With the same reference and initial tree, which draw rows at random."""
    weight = rng.integers(1, 4, len(X))
    repeated = np.repeat(X, weight, axis=0)
    options = {
        "reference": KMeans(3, n_init=1, random_state=0).fit(X),
        "init": small().fit(X).tree_,
    }
    options |= {"node_solver": node_solver, "algorithm": "penalty", "refine": False}
    weighted = small(**options).fit(X, sample_weight=weight)
    plain = small(**options).fit(repeated)
    np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))
    assert weighted.inertia_ == pytest.approx(plain.inertia_)
    assert weighted.score(X, sample_weight=weight) == pytest.approx(plain.score(repeated))


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.zeros(200), "at least one"),
        (-np.ones(200), "Negative"),
        (np.ones(3), "sample_weight.shape"),
        (np.linspace(0.1, 1, 200), "whole numbers"),
    ],
)
def test_bad_weights(X, weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(node_solver="liblinear").fit(X, sample_weight=weight)


def test_embedding_is_clustered_and_X_explains(digits):
    E = PCA(5, random_state=0).fit_transform(digits)
    model = TAOClustering(10, lambda_=0.3, random_state=0).fit(digits, embedding=E)
    assert model.cluster_centers_.shape == (10, 5)
    assert model.tree_.n_features == 64
    assert model.cost_increase_ < 15
    inertia = ((E - model.cluster_centers_[model.predict(digits)]) ** 2).sum()
    assert model.inertia_ == pytest.approx(inertia)
    assert model.score(digits, embedding=E) == pytest.approx(-inertia)
    assert model.transform(E).shape == (len(E), 10)
    with pytest.raises(ValueError, match="score needs the embedding"):
        model.score(digits)
    with pytest.raises(ValueError, match="64 features, but TAOClustering is expecting 5"):
        model.transform(digits)
    again = TAOClustering(10, lambda_=0.3, random_state=0).fit_transform(digits, embedding=E)
    np.testing.assert_allclose(again, model.transform(E))
    with pytest.raises(ValueError, match="takes an embedding only if"):
        small().fit(digits).score(digits, embedding=digits)
    with pytest.raises(ValueError, match="embedding has 3 rows"):
        small().fit(digits, embedding=E[:3])


# ---------------------------------------------------------------- degenerate data


@pytest.mark.parametrize(
    ("rows", "n_clusters"),
    [
        (np.zeros((1, 3)), 1),
        (np.ones((20, 3)), 1),
        (np.random.default_rng(0).normal(size=(30, 2)), 1),
    ],
)
def test_one_cluster_is_one_leaf(rows, n_clusters):
    model = small(n_clusters).fit(rows)
    assert model.tree_.n_leaves == 1
    assert model.cost_increase_ == 0
    np.testing.assert_array_equal(model.labels_, np.zeros(len(rows)))


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0, 0], [5, 0], [0, 5]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="Only 3 of 5 clusters have rows") as caught:
        model = small(5, lambda_=0.01).fit(X)
    assert Path(caught[0].filename).name == Path(__file__).name  # the user's line
    assert set(model.labels_) == {0, 1, 2}
    assert set(model.free_labels_) == {0, 1, 2}
    assert model.cost_increase_ == 0
    with pytest.warns(ConvergenceWarning, match="Only 1 of 2"):
        assert small(2).fit(np.ones((6, 2))).tree_.n_leaves == 1


def test_as_many_clusters_as_rows(X):
    model = small(5, lambda_=1e-3).fit(X[:5])
    assert model.inertia_ == 0
    assert model.cost_increase_ == 0
    assert model.tree_.n_leaves == 5


def test_constant_columns_are_not_used(X):
    model = small().fit(np.c_[X, np.full(len(X), 3.0)])
    assert 5 not in model.tree_.used_features


@pytest.mark.parametrize("depth", [0, 30])
def test_extreme_depths(X, depth):
    model = small(depth=depth).fit(X)
    assert model.tree_.max_depth <= depth
    assert len(np.unique(model.labels_)) == (1 if depth == 0 else 3)


@pytest.mark.parametrize("lambda_", [0, 1e9])
def test_extreme_lambdas(X, lambda_):
    model = small(lambda_=lambda_).fit(X)
    assert (model.tree_.n_leaves == 1) == (lambda_ > 0)


def test_bad_data(X):
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        small().fit(X[:2])
    with pytest.raises(ValueError, match="rows of weight 0 are not counted"):
        small().fit(X, sample_weight=np.arange(len(X)) < 2)
    with pytest.raises(ValueError, match="NaN"):
        small().fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="overflow float64"):
        small().fit(X * 1e200)
    with pytest.raises(NotFittedError):
        small().predict(X)


def test_a_failed_fit_loses_nothing(X):
    model = small(node_solver="liblinear").fit(X)
    tree = model.tree_
    with pytest.raises(ValueError, match="whole numbers"):
        model.fit(X, sample_weight=np.linspace(0.1, 1, len(X)))
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit(np.zeros((2, 7)))
    assert model.tree_ is tree
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("value", [1e4, 1e8, 1e12])
def test_one_row_far_away(digits, value):
    """All curvature of a node may lie on one row."""
    X = digits[:600].copy()
    X[0, 0] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # clusters without rows
        model = TAOClustering(8, random_state=0).fit(X)
    assert model.cost_increase_ < 20


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("algorithm", ["direct", "penalty"])
def test_weights_of_all_sizes(digits, seed, algorithm):
    X, weight = digits[:600], 10 ** np.random.default_rng(seed).uniform(-12, 6, 600)
    model = TAOClustering(
        8, algorithm=algorithm, lambda_=weight.mean(), n_mu_steps=10, random_state=0
    ).fit(X, sample_weight=weight)
    assert model.cost_increase_ < 5


@pytest.mark.parametrize("scale", [2.0**-130, 2.0**-60, 2.0**60, 2.0**130])
def test_scale_of_the_data_changes_no_tree(digits, scale):
    """Far beyond what single precision holds; lambda has the units of the cube."""
    X = digits[:600]
    plain = TAOClustering(8, random_state=0).fit(X)
    scaled = TAOClustering(8, lambda_=10 * scale**3, random_state=0).fit(X * scale)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    assert scaled.tree_.n_parameters == plain.tree_.n_parameters


def test_an_interrupt_while_storing_changes_nothing(X, monkeypatch):
    model = small().fit(X)
    tree, labels = model.tree_, model.labels_

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("tao_cluster.base.optimal_centers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100])
    assert model.tree_ is tree
    assert model.labels_ is labels
