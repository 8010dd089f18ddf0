"""The penalty method: clustering step, mu_0, direct fit, and the path along mu."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_search
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning

from greedy import ExKMC
from tao_cluster import DirectForm, PenaltyMethod
from tao_cluster.initial_trees.builders import Bisecting, Random
from tao_cluster.objectives import KMeans
from tao_cluster.optimize.fit import until_interrupted
from tao_cluster.optimize.penalty_method import clustering_step, smallest_effective_mu
from tao_cluster.optimize.tree_step import TreeStep, objective
from tao_cluster.penalties import LabelCriterion, SquaredError, ZeroOne
from tao_cluster.problem.problem import mismatch_prices


def start_of(X, k, depth, **options):
    """A search by the published setting, and its initial tree."""
    options = {"algorithm": PenaltyMethod(node_solver="liblinear", refine=False), **options}
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


@pytest.mark.parametrize("is_graded", [False, True])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 100.0])
def test_clustering_step_never_rises_and_ends_at_a_fixed_point(digits, mu, is_graded):
    rng = np.random.default_rng(0)
    search, every = make_search(digits, 10), np.arange(len(digits))
    problem = search.problem
    penalty_matrix = np.ones((len(digits), 10))
    penalty_matrix[np.arange(len(digits)), rng.integers(0, 10, len(digits))] = 0  # as if a tree's
    if is_graded:  # as with the squared error
        penalty_matrix = rng.random(penalty_matrix.shape)
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
    search, tree = start_of(digits[:500], 10, 4)
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
    rivals = [
        search.evaluate(*step.run_freely(step.routed(fitted), target, s, 20)) for s in strengths
    ]
    smaller = [s for s in rivals if s.pruned.n_nonzero <= state.pruned.n_nonzero]
    assert smaller
    assert state.inertia < min(s.inertia for s in smaller)


def test_history_describes_the_path(digits):
    seen = []
    search, tree = start_of(digits, 10, 3, on_record=seen.append)
    method = PenaltyMethod(1.2, 12, tao_iter=2, init_tao_iter=5)
    state, history = follow(search, tree, 0.3, method)
    assert seen == history
    assert history[0]["stage"] == "direct fit"
    assert history[0]["mu"] == 0
    assert len(history) <= 14
    mus = [record["mu"] for record in history[1:]]
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
        "sampled",
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
    search, tree = start_of(digits[:500], 10, 4)
    state, _ = follow(search, tree, 3.0, PenaltyMethod(1.1, 20, tao_iter=2, init_tao_iter=5))
    np.testing.assert_array_equal(state.tree.children_left, tree.children_left)
    assert state.pruned.n_nodes < tree.n_nodes


@pytest.mark.slow
def test_the_best_tree_of_the_path_is_returned(digits, monkeypatch):
    """Rows almost on a bisector make mu_0 tiny: the tree collapses, and stays so to the end."""
    centers = make_search(digits, 10).problem.free.centers
    pairs = np.array([(a, b) for a in range(10) for b in range(a)])
    middle = centers[pairs].mean(axis=1)
    to_a = centers[pairs[:, 0]] - middle
    X = np.vstack([digits, middle + 1e-8 * to_a])
    search, tree = start_of(X, 10, 5, reference=centers)
    states, plain = [], search.evaluate

    def record(*found):
        states.append(plain(*found))
        return states[-1]

    monkeypatch.setattr(search, "evaluate", record)
    state, history = follow(search, tree, 0.1, PenaltyMethod(1.1, 20, tao_iter=5, init_tao_iter=20))
    assert history[1]["mu"] < 1e-6
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
    search, tree = start_of(digits[:600], 10, 4)
    problem = search.problem
    strength = 0.03 / problem.mismatch_prices().mean()
    criterion = search.agreement(problem.free.labels)
    methods = (PenaltyMethod(tao_iter=3, init_tao_iter=n) for n in (3, 20))
    values = [
        objective(method.direct_fit(search, [tree], 0.03).routed, criterion, strength)
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

    digits = digits[:500]
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


K = 4


@pytest.fixture
def X(rng):
    return rng.normal(size=(150, 4))


@pytest.fixture
def weight(rng):
    return rng.uniform(0.5, 2.0, 150)


def search_of(X, weight=None, **options):
    options = {"algorithm": PenaltyMethod(refine=False), **options}
    return make_search(X, K, weight=weight, **options)


def initial_tree(search, builder, seed=0):
    problem = search.problem
    free, rng = problem.free, np.random.RandomState(seed)
    return builder.build(problem.X, free.labels, free.centers, problem.weight, rng)


def scaled(tree, factor):
    """The same tests in other numbers."""
    tests = {i: (tree.split(i), tree.threshold[i]) for i in tree.decision_nodes}
    return tree.with_splits(
        {i: ((used, factor * w), factor * t) for i, ((used, w), t) in tests.items()}
    )


def smallest_mu(distances, labels, penalty, summary=min):
    """Over rows and clusters: what a row pays for another cluster, over what it relieves.

    Where the tree agrees already, the least that any row pays. `summary` is that of the rows.
    """
    paid, ratios = [], []
    for d, z, p in zip(distances, labels, penalty, strict=True):
        others = [k for k in range(len(d)) if d[k] > d[z]]
        paid.append(min(d[k] - d[z] for k in others))
        relieved = [(d[k] - d[z]) / (p[z] - p[k]) for k in others if p[z] > p[k]]
        ratios += [min(relieved)] if relieved else []
    return summary(ratios or paid)


def by_alternation(X, weight, labels, centers, penalty, mu):
    """Eq. 7 by alternation; clusters without rows keep their centroids."""
    before = None
    while not np.array_equal(labels, before):
        before, centers = labels, centers.copy()
        labels = (cdist(X, centers, "sqeuclidean") + mu * penalty).argmin(axis=1)
        for k in np.unique(labels):
            rows = labels == k
            centers[k] = np.average(X[rows], axis=0, weights=weight[rows])
    return labels, centers


def penalties_of(tree, X, is_squared):
    """P(e_k, T(x_n)) at [n, k]."""
    if is_squared:
        return cdist(tree.leaf_value[tree.apply(X)], np.eye(K), "sqeuclidean")
    return (tree.predict(X)[:, None] != np.arange(K)).astype(float)


def by_the_book(search, tree, lambda_, method, strengths=lambda lambda_, mu, first: lambda_ / mu):
    """Yield mu and the tree of each round, up to the one with Z = T(X) and nothing new."""
    X, weight, free = search.problem.X, search.problem.weight, search.problem.free
    step = TreeStep(search.step.view, search.step.solver)
    labels, centers = free.labels, free.centers
    is_squared = method.penalty == "squared"
    first = mu = smallest_mu(
        cdist(X, centers, "sqeuclidean"),
        labels,
        penalties_of(tree, X, is_squared),
        {"least": min, "median": np.median}[method.initial_mu],
    )
    for _ in range(method.n_mu_steps + 1):
        penalty = penalties_of(tree, X, is_squared)
        labels, centers = by_alternation(X, weight, labels, centers, penalty, mu)
        kind = SquaredError() if is_squared else ZeroOne()
        criterion, before = LabelCriterion(kind, labels, weight, K), tree
        strength = strengths(lambda_, mu, first)
        found = step.run(step.routed(tree), criterion, strength, method.tao_iter, method.accept)
        tree = found.tree
        yield mu, tree
        if tree is before and np.array_equal(tree.predict(X), labels):
            return
        mu *= method.mu_factor


@pytest.mark.parametrize(("factor", "n_steps"), [(1.3, 60), (2.0, 6)])
def test_path_is_that_of_the_equations(factor, n_steps):
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(300, 4)), rng.uniform(0.5, 2.0, 300)
    search = search_of(X, weight)
    method = PenaltyMethod(factor, n_steps, tao_iter=2, init_tao_iter=3)
    start = method.direct_fit(search, [initial_tree(search, Bisecting(3))], 0.1)
    expected = list(by_the_book(search, start.tree, 0.1, method))
    states = list(method.alternate(search, start, 0.1))
    history = search.history.records
    assert len(history) == len(expected)
    assert len(expected) == 7 if n_steps == 6 else 7 < len(expected) < 60
    np.testing.assert_allclose([r["mu"] for r in history], [mu for mu, _ in expected])
    assert len({tree.to_json() for _, tree in expected}) > 1
    found = [search.evaluate(tree) for _, tree in expected]
    costs = [100 * (s.inertia / search.problem.free.inertia - 1) for s in found]
    np.testing.assert_allclose([r["cost_increase"] for r in history], costs, atol=1e-9)
    # Each state is the best so far, by objective (4).
    so_far = np.minimum.accumulate([s.objective(0.1) for s in (start, *found)])[1:]
    np.testing.assert_allclose([s.objective(0.1) for s in states], so_far, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "strengths"),
    [
        ({"penalty": "squared"}, lambda lambda_, mu, first: lambda_ / mu),
        ({"strength": "constant", "accept": "always"}, lambda lambda_, mu, first: lambda_),
        ({"strength": "lambda*mu_0/mu"}, lambda lambda_, mu, first: lambda_ * first / mu),
        ({"strength": "lambda/max(mu,1)"}, lambda lambda_, mu, first: lambda_ / max(mu, 1)),
        (
            {"penalty": "squared", "initial_mu": "median", "accept": "if loss falls"},
            lambda lambda_, mu, first: lambda_ / mu,
        ),
    ],
)
def test_paths_of_other_interpretations_are_those_of_their_equations(options, strengths):
    """Each option changes the path, the clustering step pays the penalties of histograms, too."""
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(300, 4)), rng.uniform(0.5, 2.0, 300)
    method = PenaltyMethod(1.3, 12, tao_iter=2, init_tao_iter=3, refine=False, result="last")
    method = replace(method, **options)
    search = search_of(X, weight, algorithm=method)
    start = method.direct_fit(search, [initial_tree(search, Bisecting(3))], 0.1)
    expected = list(by_the_book(search, start.tree, 0.1, method, strengths))
    states = list(method.alternate(search, start, 0.1))
    mus = [record["mu"] for record in search.history.records]
    np.testing.assert_allclose(mus, [mu for mu, _ in expected])
    for state, (_, tree) in zip(states, expected, strict=True):
        np.testing.assert_array_equal(state.labels, tree.predict(X))
        np.testing.assert_allclose(state.tree.split_weights, tree.split_weights, rtol=1e-6)
    for name in options:
        other = replace(method, **{name: getattr(PenaltyMethod, name)})
        search = search_of(X, weight, algorithm=other)
        start = other.direct_fit(search, [initial_tree(search, Bisecting(3))], 0.1)
        *_, last = other.alternate(search, start, 0.1)
        assert last.tree != states[-1].tree, name


@pytest.mark.parametrize("strength", ["constant", "lambda*mu_0/mu", "lambda/max(mu,1)"])
def test_direct_fit_of_other_strengths_has_lambda(X, strength, monkeypatch):
    search, seen = search_of(X), []
    plain = search.step.one_pass

    def one_pass(start, criterion, strength, *judged, **free):
        seen.append(strength)
        return plain(start, criterion, strength, *judged, **free)

    monkeypatch.setattr(search.step, "one_pass", one_pass)
    method = PenaltyMethod(tao_iter=2, init_tao_iter=3, strength=strength)
    method.direct_fit(search, [initial_tree(search, Random(3))], 0.3)
    assert seen == [0.3] * 3


def test_a_first_mu_that_is_given(X):
    search = search_of(X)
    start = search.evaluate(initial_tree(search, Bisecting(2)))
    list(PenaltyMethod(2.0, 1, initial_mu=0.25).alternate(search, start, 0.5))
    assert [record["mu"] for record in search.history.records] == [0.25, 0.5]


def test_best_tree_of_the_path_and_not_the_last(X):
    """Whatever is best: the start, one on the way or the end."""
    n_before_the_end = 0
    for seed, lambda_ in itertools.product(range(3), (0.3, 3.0, 10.0)):
        search = search_of(X)
        start = search.evaluate(initial_tree(search, Bisecting(3), seed))
        seen, plain = [start], search.evaluate
        search.evaluate = lambda *found, plain=plain, seen=seen: (
            seen.append(plain(*found)) or seen[-1]
        )
        *_, last = PenaltyMethod(1.5, 12).alternate(search, start, lambda_)
        values = [state.objective(lambda_) for state in seen]
        assert last.objective(lambda_) == min(values)
        n_before_the_end += values[-1] > min(values)
        *_, last = PenaltyMethod(1.5, 12, result="last").alternate(search, start, lambda_)
        assert last is seen[-1]
    assert n_before_the_end


def test_mu_0_of_histograms(X, weight):
    """Their penalties differ by less than 1: mu_0 is the ratio, not the difference of costs."""
    search = search_of(X, weight, algorithm=PenaltyMethod(penalty="squared", refine=False))
    method = PenaltyMethod(n_mu_steps=0, tao_iter=1, init_tao_iter=2)
    start = method.direct_fit(search, [initial_tree(search, Bisecting(2))], 0.5)
    free, theta = search.problem.free, start.tree.leaf_value[start.leaf_of_row]
    penalty = ((np.eye(K)[None] - theta[:, None]) ** 2).sum(axis=2)
    list(method.alternate(search, start, 0.5))
    expected = smallest_mu(cdist(X, free.centers, "sqeuclidean"), free.labels, penalty)
    assert search.history.records[0]["mu"] == pytest.approx(expected)


def test_of_the_initial_trees_the_one_of_least_objective_is_kept(X):
    search, method = search_of(X), PenaltyMethod(tao_iter=1, init_tao_iter=1)
    trees = [initial_tree(search, Random(3), seed) for seed in range(8)]
    differs = 0
    for lambda_ in (1.0, 5.0, 20.0):
        alone = [method.direct_fit(search, [tree], lambda_) for tree in trees]
        values = [state.objective(lambda_) for state in alone]
        assert values[0] > min(values) < values[-1]
        for order in (trees, trees[::-1]):
            kept = method.direct_fit(search, order, lambda_)
            assert kept.objective(lambda_) == min(values)
        differs += np.argmin(values) != np.argmin([state.inertia for state in alone])
    assert differs  # the cost alone would keep another


def test_of_axis_aligned_trees_the_best_as_it_is_starts_the_path(X):
    search = search_of(X, split="axis", init="exkmc")
    centers = search.problem.free.centers
    trees = [ExKMC(max_leaves=n).build(X, None, centers, None) for n in (4, 6, 10)]
    for lambda_, best in ((0.0, 2), (1e3, 0)):
        for order in itertools.permutations(trees):
            states = PenaltyMethod(n_mu_steps=0).run(search, iter(order), lambda_)
            _, start = next(states), next(states)
            assert start.tree == trees[best]


def test_direct_fit_has_the_strength_and_the_passes_that_it_says(X, weight, monkeypatch):
    search = search_of(X, weight)
    first, second = np.sort(cdist(X, search.problem.free.centers, "sqeuclidean"), axis=1)[:, :2].T
    price = np.average(second - first, weights=weight)
    seen, plain = [], search.step.one_pass

    def one_pass(start, criterion, strength, is_judged, *has_price):
        np.testing.assert_array_equal(criterion.labels, search.problem.free.labels)
        seen.append((strength, is_judged))
        return plain(start, criterion, strength, is_judged, *has_price)

    monkeypatch.setattr(search.step, "one_pass", one_pass)
    method = PenaltyMethod(tao_iter=2, init_tao_iter=3)
    method.direct_fit(search, [initial_tree(search, Random(3))], 0.3)
    strengths, judged = zip(*seen, strict=True)
    np.testing.assert_allclose(strengths, 0.3 / price)
    assert judged == (False, False, True)


def test_direct_fit_does_not_see_the_scale_of_an_initial_tree(X):
    # LIBLINEAR has no warm start.
    search = search_of(X, algorithm=PenaltyMethod(node_solver="liblinear", refine=False))
    method = PenaltyMethod(tao_iter=2, init_tao_iter=2)
    tree = initial_tree(search, Random(3))
    for factor in (2.0**-30, 2.0**30):
        other = method.direct_fit(search, [scaled(tree, factor)], 1.0)
        assert other.tree == method.direct_fit(search, [tree], 1.0).tree


def test_clustering_step_ends_early_if_tol_says_so(monkeypatch):
    """With tol=1 after the second assignment; the centroids then follow once more."""
    counts, plain = {0.0: 0, 1.0: 0}, KMeans.update_centers
    X, n_rounds = np.random.default_rng(1).normal(size=(300, 4)), 0
    for tol, factor in itertools.product(counts, (3.0, 30.0)):
        search = search_of(X)
        start = search.evaluate(initial_tree(search, Random(2)))

        def update_centers(*args, tol=tol):
            counts[tol] += 1
            return plain(*args)

        with monkeypatch.context() as patch:
            patch.setattr(KMeans, "update_centers", update_centers)
            list(PenaltyMethod(factor, 8, tol=tol).alternate(search, start, 0.1))
        n_rounds += len(search.history.records) if tol else 0
    assert counts[1.0] < counts[0.0]
    assert counts[1.0] <= 3 * n_rounds  # two of the clustering step, one of the tree


def test_a_tree_that_agrees_may_still_become_sparser(blobs):
    """mu_0 is the cheapest mismatch; the path ends when nothing changes, not when Z = T(X)."""
    search, method = search_of(blobs), PenaltyMethod(2.0, 9)
    start = search.evaluate(scaled(initial_tree(search, Bisecting(2)), 1e3))
    np.testing.assert_array_equal(start.labels, search.problem.free.labels)
    expected = list(by_the_book(search, start.tree, 100.0, method))
    *_, last = method.alternate(search, start, 100.0)
    history = search.history.records
    np.testing.assert_allclose([r["mu"] for r in history], [mu for mu, _ in expected])
    assert last.pruned.n_nonzero < start.pruned.n_nonzero
    assert [r["mismatch"] for r in history] == [0.0] * len(history)
    assert len(history) > 1


@pytest.mark.parametrize("refine", [False, True])
def test_refine_ends_the_path_by_the_direct_form(X, refine):
    search = search_of(X, algorithm=PenaltyMethod(refine=refine and DirectForm(relax=False)))
    method, tree = PenaltyMethod(2.0, 2), initial_tree(search, Bisecting(3))
    *_, last = method.run(search, iter([tree]), 3.0)
    stages = {record["stage"] for record in search.history.records}
    assert stages == {"direct fit", "penalty"} | ({"direct"} if refine else set())
    assert last.inertia > 0
