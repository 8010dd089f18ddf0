"""Parameters of TAOClustering: their forms, own parts, what is refused."""

import inspect
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from conftest import assert_same_fit, small
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, Tree
from tao_cluster import objectives as objectives_module
from tao_cluster.initial_trees.builders import Bisecting, Centroids
from tao_cluster.solvers import Liblinear, Newton, Status
from tao_cluster.tree import Split

# ---------------------------------------------------------------- parameters

# small() has trees of few leaves.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{sentence}")
    for sentence in ("The tree has lost", "A tree of at most")
]


@pytest.mark.slow
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
        (AgglomerativeClustering(4), "n_clusters=3 centres with 5 features"),
        (PCA(3), "no cluster_centers_, means_ or labels_"),
    ],
)
def test_bad_references(X, reference, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(reference=reference).fit(X)


@pytest.mark.slow
def test_initial_tree_forms(X):
    stump = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.0, 0, 0], [-1, 0, 1], 5
    )
    assert small(init=stump).fit(X).tree_.n_leaves == 2  # the structure of a given tree stays
    assert small().fit(X).tree_.n_leaves >= 3
    assert_same_fit(small(init=Bisecting(3)).fit(X), small(init="bisecting").fit(X))
    assert_same_fit(small(init=Centroids(3)).fit(X), small(init="centroids").fit(X))
    with pytest.raises(ValueError, match="initial tree has 2 features"):
        small(init=Tree.single_leaf(0, 2)).fit(X)


def test_restarts_keep_the_best_direct_fit(digits, digits_reference):
    """Of the penalty method, whose path is one mu here."""
    method = PenaltyMethod(tao_iter=2, init_tao_iter=2, n_mu_steps=0, refine=False)
    options = {"lambda_": 0.1, "reference": digits_reference, "depth": 3, "random_state": 0}
    objectives = []
    for n_init in (1, 2, 4):  # the same initial trees, then further ones
        algorithm = replace(method, n_init=n_init)
        model = TAOClustering(10, algorithm=algorithm, **options).fit(digits)
        objectives.append(model.inertia_ + 0.1 * np.abs(model.tree_.split_weights).sum())
    assert objectives[0] >= objectives[1] >= objectives[2]
    assert objectives[0] > objectives[2]


@pytest.mark.slow
def test_trimming_moves_no_row(digits, digits_reference):
    options = {"lambda_": 0.1, "reference": digits_reference, "random_state": 0}
    full, trimmed, everything = (
        TAOClustering(10, algorithm=DirectForm(relax=False, trim=trim), **options).fit(digits)
        for trim in (0, 0.05, 1)
    )
    for other in (trimmed, everything):
        np.testing.assert_array_equal(other.labels_, full.labels_)
        assert other.tree_.n_leaves == full.tree_.n_leaves
    sizes = [model.tree_.n_nonzero for model in (full, trimmed, everything)]
    assert sizes[0] > sizes[1] > sizes[2]
    for node in full.tree_.decision_nodes:
        assert set(trimmed.tree_.split(node)[0]) <= set(full.tree_.split(node)[0])


def test_solver_objects(X):
    for cls, part, name in (
        (PenaltyMethod, Liblinear(), "liblinear"),
        (DirectForm, Newton(), "newton"),
    ):
        one, other = (small(algorithm=cls(node_solver=solver)).fit(X) for solver in (part, name))
        assert_same_fit(one, other)


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 0},
        {"lambda_": -1},
        {"depth": -1},
        {"objective": "k-means"},
        {"objective": object()},
        {"split": "diagonal"},
        {"init": "zero"},
        {"algorithm": "mu"},
        {"reference": "kmeans"},
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
            def solve(self, problem):
                model = LogisticRegression(
                    C=1 / max(problem.strength, 1e-4), l1_ratio=1, solver="liblinear",
                    intercept_scaling=1000, random_state=0,
                ).fit(X[problem.rows], problem.goes_right, problem.weight)  # fmt: skip
                return Split.from_dense(model.coef_[0], -model.intercept_[0]), Status()

        return Bound()


def test_own_penalty_and_solver_plug_in(X):
    """Histogram leaves and real-valued weights need no change of the loop."""
    model = small(
        algorithm=PenaltyMethod(
            n_mu_steps=30, penalty=SquaredError(), node_solver=Weighted(), refine=False
        )
    ).fit(X)
    tree = model.tree_
    assert tree.leaf_value.shape == (tree.n_nodes, 3)
    np.testing.assert_allclose(tree.leaf_value[tree.leaves].sum(axis=1), 1)
    assert Tree.from_json(tree.to_json()) == tree
    assert model.cost_increase_ < 20
    again = small(init=tree).fit(X)  # labels again: the histograms go
    assert again.tree_.leaf_value is None
    with pytest.raises(ValueError, match="which SquaredError needs"):
        small(
            algorithm=PenaltyMethod(penalty=SquaredError(), node_solver="liblinear", refine=False)
        ).fit(X)


@pytest.mark.parametrize(
    ("cls", "option"),
    [
        (DirectForm, {"n_init": 0}),
        (DirectForm, {"search": "long"}),
        (DirectForm, {"trim": 2}),
        (DirectForm, {"max_rows": 0}),
        (DirectForm, {"max_features_per_test": 0}),
        (DirectForm, {"max_features_per_test": 1.5}),
        (DirectForm, {"node_solver": "saga"}),
        (PenaltyMethod, {"penalty": "hinge"}),
        (PenaltyMethod, {"strength": "mu"}),
        (PenaltyMethod, {"accept": "never"}),
        (PenaltyMethod, {"result": "first"}),
        (PenaltyMethod, {"initial_mu": 0}),
        (PenaltyMethod, {"node_solver": "saga"}),
        (PenaltyMethod, {"refine": "yes"}),
    ],
)
def test_bad_settings_of_an_algorithm(cls, option):
    with pytest.raises(ValueError, match=f"'{next(iter(option))}' parameter of {cls.__name__}"):
        cls(**option)


def test_settings_that_would_not_be_used_raise():
    with pytest.raises(ValueError, match=r"n_init of the DirectForm .* PenaltyMethod\(n_init"):
        PenaltyMethod(refine=DirectForm(n_init=2))
    with pytest.raises(ValueError, match="needs relax=True"):
        DirectForm(search="thorough", relax=False)
    with pytest.raises(ValueError, match="n_init=True is a boolean"):
        DirectForm(n_init=True)


@pytest.mark.parametrize("name", ["n_init", "relax", "penalty", "refine", "search", "max_rows"])
def test_settings_of_algorithms_are_no_parameters(name):
    with pytest.raises(TypeError, match=name):
        TAOClustering(3, **{name: 1})


def test_the_signature_is_short():
    assert len(inspect.signature(TAOClustering).parameters) <= 17


def test_verbose_shows_a_bar(X, capsys):
    small(verbose=1).fit(X)
    shown = capsys.readouterr().err
    for word in ("mu", "cost_increase", "leaves", "non_zeros"):
        assert word in shown
    small().fit(X)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
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
        model = small(10, lambda_=0.1, depth=4).fit(digits)
    assert Path(caught[0].filename).name == Path(__file__).name
    assert 0 < model.n_iter_ < 100
    np.testing.assert_array_equal(model.predict(digits), model.labels_)
