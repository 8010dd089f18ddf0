"""The mu loop: its start, the clustering step, and cases with a known optimum."""

import numpy as np
import pytest
from conftest import make_search
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import PenaltyMethod
from tao_cluster.initial_trees.initial import Bisecting
from tao_cluster.objectives import KMeans
from tao_cluster.optimize.fit import until_interrupted
from tao_cluster.optimize.penalty_method import clustering_step, smallest_effective_mu
from tao_cluster.optimize.tree_step import TreeStep
from tao_cluster.problem.problem import mismatch_prices


def start_of(X, k, depth, **options):
    """A search by the published setting, and its initial tree."""
    options = {"node_solver": "liblinear", "algorithm": "penalty", "refine": False, **options}
    search = make_search(X, k, **options)
    problem, rng = search.problem, np.random.RandomState(0)
    free = problem.free
    tree = Bisecting(depth).build(X, free.labels, free.centers, problem.weight, rng)
    return search, tree


def follow(search, tree, lambda_, method):
    """Result and history of the plain penalty method."""
    *_, state = until_interrupted(method.run(search, iter([tree]), lambda_))
    return state, search.history.records


def penalised_value(X, labels, centers, penalty_matrix, mu):
    rows = np.arange(len(X))
    return ((X - centers[labels]) ** 2).sum() + mu * penalty_matrix[rows, labels].sum()


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 100.0])
def test_clustering_step_never_rises_and_ends_at_a_fixed_point(digits, mu):
    rng = np.random.default_rng(0)
    search, every = make_search(digits, 10), np.arange(len(digits))
    problem = search.problem
    penalty_matrix = np.ones((len(digits), 10))
    penalty_matrix[np.arange(len(digits)), rng.integers(0, 10, len(digits))] = 0  # as if a tree's
    free = problem.free
    labels, centers, values = clustering_step(
        search, free.labels, free.centers, penalty_matrix, every, mu, max_iter=200, tol=0.0
    )
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert values[-1] == pytest.approx(
        penalised_value(digits, labels, centers, penalty_matrix, mu), rel=1e-9
    )
    before = penalised_value(digits, free.labels, free.centers, penalty_matrix, mu)
    assert values[-1] <= before * (1 + 1e-14)  # sums of equal terms in another order
    again, same_centers, _ = clustering_step(
        search, labels, centers, penalty_matrix, every, mu, max_iter=1, tol=0.0
    )
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_allclose(same_centers, centers)


def test_at_large_mu_the_assignment_is_the_trees(digits):
    search, tree = start_of(digits, 10, 4)
    state = search.evaluate(tree)
    table, free = search.settings.penalty.table(tree, 10), search.problem.free
    labels, centers, _ = clustering_step(
        search, free.labels, free.centers, table, state.leaf_of_row, 1e6, max_iter=100, tol=0.0
    )
    np.testing.assert_array_equal(labels, state.labels)
    np.testing.assert_allclose(centers, state.centers)


def test_smallest_effective_mu_is_the_first_that_changes_an_assignment(rng):
    distances = rng.random((50, 4))
    labels = distances.argmin(axis=1)
    output = rng.integers(0, 4, 50)
    penalty_matrix = np.ones((50, 4))
    penalty_matrix[np.arange(50), output] = 0
    mu = smallest_effective_mu(distances, labels, penalty_matrix, np.arange(50))

    def changed(mu):
        return np.sum((distances + mu * penalty_matrix).argmin(axis=1) != labels)

    assert changed(mu * (1 - 1e-9)) == 0
    assert changed(mu * (1 + 1e-9)) == 1


def test_smallest_effective_mu_of_a_tree_that_already_agrees():
    distances = np.array([[0.0, 3.0], [2.5, 0.5]])
    labels = np.array([0, 1])
    agreeing = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert smallest_effective_mu(distances, labels, agreeing, np.arange(2)) == 2.0
    alone = (np.ones((3, 1)), np.zeros(3, int), np.zeros((3, 1)), np.arange(3))
    assert smallest_effective_mu(*alone) is None


def test_schedule():
    values = list(PenaltyMethod(1.5, 3).mu_values(2.0))
    np.testing.assert_allclose(values, [2, 3, 4.5, 6.75])


def test_separated_blobs_cost_nothing_and_need_one_leaf_each(blobs):
    search, tree = start_of(blobs, 4, 4)
    schedule = PenaltyMethod(1.1, 100, tao_iter=5, init_tao_iter=20)
    state, history = follow(search, tree, 1.0, schedule)
    pruned = state.pruned
    assert state.inertia == pytest.approx(search.problem.free.inertia, rel=1e-12)
    assert pruned.n_leaves == 4
    assert history[-1]["mismatch"] == 0
    np.testing.assert_array_equal(pruned.predict(blobs), state.labels)


@pytest.mark.slow
def test_joint_optimisation_beats_the_direct_fit_of_equal_size(digits):
    """KDD'22 section 9.1: the path ends below a tree that only fits the free labels."""
    search, tree = start_of(digits, 10, 4)
    schedule = PenaltyMethod(1.1, 100, tao_iter=5, init_tao_iter=20)
    state, _ = follow(search, tree, 0.3, schedule)
    fitted = tree
    target = search.agreement(search.problem.free.labels)
    step = TreeStep(search.step.view, search.step.solver)
    strengths = np.geomspace(1, 64, 13)
    rivals = [search.evaluate(step.run_freely(fitted, target, s, 20)) for s in strengths]
    smaller = [s for s in rivals if s.pruned.n_nonzero <= state.pruned.n_nonzero]
    assert smaller
    assert state.inertia < min(s.inertia for s in smaller)


def test_history_describes_the_path(digits):
    seen = []
    search, tree = start_of(digits, 10, 3, on_record=seen.append)
    method = PenaltyMethod(1.2, 12, tao_iter=2, init_tao_iter=5)
    state, history = follow(search, tree, 0.3, method)
    assert seen == history
    assert len(history) <= 13
    mus = [record["mu"] for record in history]
    np.testing.assert_allclose(np.divide(mus[1:], mus[:-1]), 1.2)
    assert list(history[0]) == [
        "stage",
        "lambda",
        "mu",
        "cost_increase",
        "leaves",
        "non_zeros",
        "mismatch",
        "kept",
        "seconds",
    ]
    last, pruned = history[-1], state.pruned
    assert last["leaves"] == pruned.n_leaves
    assert last["non_zeros"] == pruned.n_nonzero
    assert last["cost_increase"] == pytest.approx(
        100 * (state.inertia / search.problem.free.inertia - 1)
    )
    assert np.all(np.diff([record["seconds"] for record in history]) > 0)


def test_structure_stays_until_the_end(digits):
    search, tree = start_of(digits, 10, 4)
    state, _ = follow(search, tree, 3.0, PenaltyMethod(1.1, 20, tao_iter=2, init_tao_iter=5))
    np.testing.assert_array_equal(state.tree.children_left, tree.children_left)
    assert state.pruned.n_nodes < tree.n_nodes


def test_the_best_tree_of_the_path_is_returned(digits, monkeypatch):
    """Rows almost on a bisector make mu_0 tiny: the tree collapses, and stays so to the end."""
    centers = make_search(digits, 10).problem.free.centers
    pairs = np.array([(a, b) for a in range(10) for b in range(a)])
    middle = centers[pairs].mean(axis=1)
    to_a = centers[pairs[:, 0]] - middle
    X = np.vstack([digits, middle + 1e-8 * to_a])
    search, tree = start_of(X, 10, 5, reference=centers)
    states, plain = [], search.evaluate

    def record(tree):
        states.append(plain(tree))
        return states[-1]

    monkeypatch.setattr(search, "evaluate", record)
    state, history = follow(search, tree, 0.1, PenaltyMethod(1.1, 20, tao_iter=5, init_tao_iter=20))
    assert history[0]["mu"] < 1e-6
    assert history[-1]["cost_increase"] > 20  # what the last tree would be
    assert state.inertia < 1.05 * search.problem.free.inertia
    assert state.objective(0.1) == min(s.objective(0.1) for s in states)


@pytest.mark.slow
def test_the_path_ends_when_tree_and_assignment_agree(blobs, digits):
    search, tree = start_of(blobs, 4, 4)
    _, history = follow(search, tree, 1.0, PenaltyMethod(1.1, 100, tao_iter=5, init_tao_iter=20))
    assert len(history) < 20
    search, tree = start_of(digits, 10, 5)
    _, history = follow(search, tree, 0.1, PenaltyMethod(1.1, 100, tao_iter=5, init_tao_iter=20))
    assert len(history) < 101
    assert history[-1]["mismatch"] == 0
    assert history[-1]["non_zeros"] == history[-2]["non_zeros"] or history[-2]["mismatch"] > 0


def test_direct_fit_takes_all_its_passes(digits):
    search, tree = start_of(digits, 10, 5)
    problem, step = search.problem, search.step
    strength = 0.03 / problem.mismatch_prices().mean()
    criterion = search.agreement(problem.free.labels)
    methods = (PenaltyMethod(tao_iter=3, init_tao_iter=n) for n in (3, 20))
    values = [
        step.objective(method.direct_fit(search, [tree], 0.03).tree, criterion, strength)
        for method in methods
    ]
    assert values[1] < values[0]


def test_mismatch_prices():
    distances = np.array([[0.0, 3.0, 5.0], [4.0, 1.0, 2.0]])
    np.testing.assert_array_equal(mismatch_prices(distances), [3, 1])
    np.testing.assert_array_equal(mismatch_prices(np.ones((4, 1))), np.zeros(4))


@pytest.mark.slow
def test_dead_branches_are_pruned(digits):
    search, tree = start_of(digits, 10, 5)
    state, _ = follow(search, tree, 0.3, PenaltyMethod(1.1, 60, tao_iter=5, init_tao_iter=20))
    counts = state.pruned.node_counts(state.pruned.apply(digits))
    assert np.all(counts > 0)


def test_an_interrupted_path_returns_the_best_tree_so_far(digits):
    records = []

    def interrupt(record):
        records.append(record)
        if len(records) == 4:
            raise KeyboardInterrupt

    search, tree = start_of(digits, 10, 4, on_record=interrupt)
    with pytest.warns(ConvergenceWarning, match="best so far is kept"):
        state, history = follow(search, tree, 0.3, PenaltyMethod())
    assert len(history) == 4
    start = PenaltyMethod().direct_fit(search, [tree], 0.3)
    assert state.objective(0.3) <= start.objective(0.3)
    np.testing.assert_array_equal(state.pruned.predict(digits), state.labels)


def test_reference_is_scikit_learns_kmeans(digits, digits_reference):
    problem = make_search(digits, 10).problem
    assert isinstance(KMeans().reference(3, 0), SklearnKMeans)
    np.testing.assert_allclose(problem.free.centers, digits_reference.cluster_centers_, atol=1e-12)
    np.testing.assert_array_equal(problem.free.labels, digits_reference.labels_)
    assert problem.free.inertia == pytest.approx(digits_reference.inertia_)
