"""Oblique trees with a cap on the features per test: every test of every tree keeps to it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit, make_search, random_tree
from sklearn.datasets import make_blobs

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, outofcore, tao_path
from tao_cluster.solvers import Exact, Liblinear, Newton, NodeProblem, Status
from tao_cluster.solvers.capped import Capped, bind
from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_arrays

ROWS = make_blobs(160, n_features=7, centers=5, cluster_std=4.0, random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(1, 4, len(ROWS)).astype(float)


def direct(cap, **options):
    return DirectForm(n_init=3, max_features_per_test=cap, **options)


# Parameters of TAOClustering for a cap; each combination has tests of more features without it.
COMBINATIONS = {
    "knee": lambda cap: {"algorithm": direct(cap)},
    "lambda": lambda cap: {"algorithm": direct(cap), "lambda_": 10.0},
    "limit of size": lambda cap: {"algorithm": direct(cap), "max_parameters": 30},
    "limit of cost": lambda cap: {"algorithm": direct(cap), "max_cost_increase": 4.0},
    "no refits": lambda cap: {"algorithm": direct(cap, relax=False), "lambda_": 10.0},
    "voronoi": lambda cap: {"algorithm": direct(cap), "lambda_": 10.0, "init": "bisecting"},
    "small leaves": lambda cap: {
        "algorithm": direct(cap), "lambda_": 10.0, "min_samples_leaf": 18,
    },
    "standardized": lambda cap: {"algorithm": direct(cap), "lambda_": 1.0, "standardize": True},
    "medians": lambda cap: {"algorithm": direct(cap), "lambda_": 10.0, "objective": "kmedians"},
    "sample": lambda cap: {"algorithm": direct(cap, max_rows=100), "lambda_": 10.0},
    "exact": lambda cap: {
        "algorithm": direct(cap, node_solver=Exact(), search="none"), "lambda_": 100.0,
    },
    "penalty": lambda cap: {
        "algorithm": PenaltyMethod(
            n_init=1, node_solver="liblinear", refine=DirectForm(max_features_per_test=cap)
        ),
        "lambda_": 10.0,
    },
}  # fmt: skip
QUICK = ("no refits", "exact", "lambda")


def widths(tree):
    """Number of features of each test."""
    return np.diff(tree.split_indptr)[tree.decision_nodes]


def fitted(name, cap, X=ROWS, **fit):
    parameters = {"depth": 4, "random_state": 0, **COMBINATIONS[name](cap)}
    return TAOClustering(5, **parameters).fit(X, **fit)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in COMBINATIONS],
)
def test_every_test_keeps_to_the_cap(name):
    assert widths(fitted(name, None).tree_).max() > 2
    for cap in (1, 2):
        model = fitted(name, cap)
        assert model.tree_.n_leaves > 2
        assert widths(model.tree_).max() == cap


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["no refits", pytest.param("lambda", marks=pytest.mark.slow)])
def test_the_cap_holds_for_sparse_rows_weights_and_threads(name):
    sparse = sp.csr_matrix(np.where(ROWS > 0, ROWS, 0.0))
    for X in (ROWS, ROWS.astype(np.float32), sparse):
        model = fitted(name, 2, X, sample_weight=WEIGHT)
        assert widths(model.tree_).max() == 2
    parameters = {**model.get_params(), "n_jobs": 2}
    assert_same_fit(model, TAOClustering(**parameters).fit(sparse, sample_weight=WEIGHT))


def test_labels_paths_and_fits_out_of_core_keep_to_the_cap():
    labels = (ROWS[:, :3].sum(axis=1) > 0).astype(int) + (ROWS[:, 3] > 2)
    options = {"random_state": 0, "algorithm": direct(2)}
    models = [TAOClustering(objective="labels", lambda_=1.0, **options).fit(ROWS, labels)]
    models += tao_path(ROWS, 5, [3.0, 30.0], depth=4, **options)
    blocks = [ROWS[:80], ROWS[80:]]
    estimator = TAOClustering(5, lambda_=10.0, depth=4, **options)
    models.append(outofcore.fit(estimator, blocks, coreset_size=90, random_state=0))
    assert all(widths(model.tree_).max() == 2 for model in models)


@pytest.mark.parametrize("name", ["no refits", pytest.param("lambda", marks=pytest.mark.slow)])
def test_a_cap_that_no_test_exceeds_changes_nothing(name):
    one, other = fitted(name, None), fitted(name, ROWS.shape[1])
    assert one.tree_ == other.tree_
    assert one.inertia_ == other.inertia_


def test_axis_aligned_tests_on_sets_and_single_features_have_no_cap():
    search = make_search(ROWS, 5, split="axis", algorithm=direct(1))
    assert search.settings.max_features is None


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_initial_trees_keep_the_sides_of_most_rows(form):
    X = np.random.default_rng(0).normal(size=(500, 3)) * [9.0, 9.0, 0.1]
    wide = Split.from_dense(np.array([1.0, -1.0, 2.0]), 3.0)
    tree = random_tree(np.random.default_rng(0), 3, n_nodes=3)
    tree = tree.with_splits({0: ((wide.indices, wide.weights), wide.threshold)})
    goes_left = X @ [1.0, -1.0, 2.0] <= 3.0
    search = make_search(form(X), 2, algorithm=direct(2))
    found = search.start_from(tree)
    assert found.split(0)[0].tolist() == [0, 1]
    agrees = (X[:, :2] @ found.split(0)[1] <= found.threshold[0]) == goes_left
    assert agrees.mean() > 0.98


@dataclass
class Fixed:
    """A bound solver with fixed weights on the features that it may use."""

    weights: np.ndarray
    problems: list = field(default_factory=list)

    def solve(self, problem):
        self.problems.append(problem)
        allowed = np.arange(len(self.weights)) if problem.features is None else problem.features
        weights = np.zeros(len(self.weights))
        weights[allowed] = self.weights[allowed]
        return Split.from_dense(weights, 1e3), Status(steps=len(self.problems))


def test_half_of_the_features_go_at_a_time_and_the_largest_effects_stay(rng):
    # The effects are 4, 3, 0.1, 2, 1 and 0.2: neither the weights nor the scales decide alone.
    X = rng.normal(size=(400, 6)) * [40, 1, 1, 2, 0.01, 1]
    X /= X.std(axis=0) / [40, 1, 1, 2, 0.01, 1]
    solver = Fixed(np.array([0.1, 3.0, 0.1, -1.0, 100.0, 0.2]))
    goes_right = X[:, 0] > 5
    factors = np.arange(1.0, 7.0)
    problem = NodeProblem(
        np.arange(400), goes_right, np.ones(400), 1.0, features=np.arange(6), factors=factors
    )
    split, status = Capped(solver, X, kernel_arrays(X), 1).solve(problem)
    given = [each.features.tolist() for each in solver.problems]
    assert given == [[0, 1, 2, 3, 4, 5], [0, 1, 3], [0]]
    for each in solver.problems:
        np.testing.assert_array_equal(each.factors, factors[each.features])
    assert status.steps == 3
    # The threshold is the best one, not that of the solver.
    assert split.indices.tolist() == [0]
    np.testing.assert_array_equal(X[:, 0] * 0.1 > split.threshold, goes_right)


def test_effects_count_rows_by_their_weights(rng):
    X = np.ones((6, 2))
    X[:2, 0], X[2:, 1] = [-5.0, 5.0], [-1.0, 1.0, -1.0, 1.0]
    solver, weight = Fixed(np.array([1.0, 1.0])), np.array([1e-6, 1e-6, 1, 1, 1, 1])
    problem = NodeProblem(np.arange(6), np.arange(6) % 2 > 0, weight, 1.0)
    for some, best in ((problem, 1), (replace(problem, weight=np.ones(6)), 0)):
        split, _ = Capped(solver, X, kernel_arrays(X), 1).solve(some)
        assert split.indices.tolist() == [best]


@pytest.mark.parametrize("cap", [1, 2, 3])
@pytest.mark.parametrize("solver", [Newton(), Exact(), Liblinear()], ids=lambda s: type(s).__name__)
def test_solvers_use_the_features_that_they_may_have(rng, solver, cap):
    X = rng.normal(size=(600, 5))
    goes_right = X @ [3.0, -2.0, 1.0, 0.5, 0.0] > 0.3
    terms = np.arange(600), goes_right, np.ones(600), 0.01
    split, _ = bind(solver, X, cap).solve(NodeProblem(*terms, warm_start=Split.constant(True)))
    assert len(split.indices) == cap
    wrong = np.mean((X[:, split.indices] @ split.weights > split.threshold) != goes_right)
    assert wrong < (0.26, 0.14, 0.07)[cap - 1]
