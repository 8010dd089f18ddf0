"""The penalty method: clustering step, mu_0, direct fit, and the path along mu."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scripted import Scripted
from sklearn.exceptions import ConvergenceWarning

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.initial_trees import Bisecting, Random

K = 4
STRENGTHS = {
    "lambda/mu": lambda lambda_, mu, first: lambda_ / mu,
    "constant": lambda lambda_, mu, first: lambda_,
    "lambda*mu_0/mu": lambda lambda_, mu, first: lambda_ * first / mu,
    "lambda/max(mu,1)": lambda lambda_, mu, first: lambda_ / max(mu, 1.0),
}
SHORT = PenaltyMethod(n_init=1, tao_iter=2, init_tao_iter=5, refine=False)

# Some trees here are small, so that clusters are lost or cost much.
pytestmark = pytest.mark.filterwarnings("ignore:The tree", "ignore:lambda_=")


@pytest.fixture
def X(rng):
    return rng.normal(size=(150, 4))


@pytest.fixture
def weight(rng):
    return rng.uniform(0.5, 2.0, 150)


def fitted(X, algorithm, k=K, *, weight=None, **parameters):
    parameters = {"lambda_": 0.3, "depth": 3, "random_state": 0} | parameters
    return TAOClustering(k, algorithm=algorithm, **parameters).fit(X, sample_weight=weight)


def column(model, name, stage="penalty"):
    return np.array([record[name] for record in model.history_ if record["stage"] == stage])


# ---------------------------------------------------------------- equations of the path


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


def by_the_book(model, tree, X, weight):
    """Yield mu, the weight of the mismatches and the cost of each round, if tests do not change.

    The leaves then follow the assignments. Their outputs are the majority or the shares.
    """
    method, leaves = model.algorithm, tree.apply(X)
    labels, centers = model.free_labels_, model.free_centers_
    is_squared = method.penalty == "squared"
    outputs = np.eye(K)[tree.leaf_label]  # of a leaf, by cluster
    distances, mu = cdist(X, centers, "sqeuclidean"), None
    for _ in range(method.n_mu_steps + 1):
        of_row = outputs[leaves]
        penalty = cdist(of_row, np.eye(K), "sqeuclidean") if is_squared else 1.0 - of_row
        if mu is None:
            summary = {"least": min, "median": np.median}[method.initial_mu]
            mu = smallest_mu(distances, labels, penalty, summary)
        labels, centers = by_alternation(X, weight, labels, centers, penalty, mu)
        for leaf in np.unique(leaves):
            rows = leaves == leaf
            shares = np.bincount(labels[rows], weight[rows], K) / weight[rows].sum()
            outputs[leaf] = shares if is_squared else np.eye(K)[shares.argmax()]
        found = outputs[leaves].argmax(axis=1)
        cost = 0.0
        for k in np.unique(found):
            center = np.average(X[found == k], axis=0, weights=weight[found == k])
            cost += weight[found == k] @ ((X[found == k] - center) ** 2).sum(axis=1)
        yield mu, weight[found != labels].sum(), 100 * (cost / model.free_inertia_ - 1)
        mu *= method.mu_factor


@pytest.mark.spaced(quick=5)
@pytest.mark.parametrize("penalty", ["zero-one", "squared"])
@pytest.mark.parametrize("initial_mu", ["least", "median"])
@pytest.mark.parametrize("strength", STRENGTHS)
def test_path_is_that_of_the_equations(X, weight, penalty, initial_mu, strength):
    """A solver that keeps all tests shows the clustering step, the leaves, mu and the strength."""
    tree, solver = fitted(X, DirectForm(n_init=1, relax=False), weight=weight).tree_, Scripted()
    method = PenaltyMethod(
        1.5,
        20,
        tao_iter=1,
        init_tao_iter=0,
        n_init=1,
        penalty=penalty,
        strength=strength,
        initial_mu=initial_mu,
        node_solver=solver,
        refine=False,
    )
    model = fitted(X, method, weight=weight, init=tree)
    mu, mismatch, cost = zip(*by_the_book(model, tree, X, weight), strict=True)
    n_rounds = len(column(model, "mu"))
    assert n_rounds > 3
    np.testing.assert_allclose(column(model, "mu"), mu[:n_rounds])
    np.testing.assert_allclose(column(model, "mismatch"), mismatch[:n_rounds], atol=1e-12)
    np.testing.assert_allclose(column(model, "cost_increase"), cost[:n_rounds], atol=1e-9)
    assert len(set(mismatch[:n_rounds])) > 2
    expected = {STRENGTHS[strength](0.3, each, mu[0]) for each in mu[:n_rounds]}
    asked = {problem.strength for problem in solver.problems}
    assert all(np.isclose(one, list(expected)).any() for one in asked)
    assert len(asked) == len(expected)


def test_at_large_mu_the_assignment_is_the_trees(X):
    tree = fitted(X, DirectForm(n_init=1, relax=False)).tree_
    method = replace(SHORT, initial_mu=1e6, n_mu_steps=0, init_tao_iter=0, node_solver=Scripted())
    model = fitted(X, method, init=tree)
    assert column(model, "mismatch") == [0]
    np.testing.assert_array_equal(model.labels_, tree.predict(X))


def test_a_first_mu_that_is_given(X):
    model = fitted(X, replace(SHORT, mu_factor=2.0, n_mu_steps=1, initial_mu=0.25))
    assert column(model, "mu").tolist() == [0.25, 0.5]


# ---------------------------------------------------------------- the direct fit


def test_strength_of_the_direct_fit_and_its_passes(X, weight):
    """Lambda over the mean cost of a mismatch, or lambda if the strength needs no mu."""
    for strength in STRENGTHS:
        solver = Scripted()
        method = replace(SHORT, strength=strength, n_mu_steps=0, initial_mu=2.0, node_solver=solver)
        model = fitted(X, method, weight=weight, init=Random(2))
        first, second = np.sort(cdist(X, model.free_centers_, "sqeuclidean"), axis=1)[:, :2].T
        price = np.average(second - first, weights=weight) if strength == "lambda/mu" else 1.0
        problem = solver.problems[0]
        assert problem.strength == pytest.approx(0.3 / price)
        assert model.history_[0]["stage"] == "direct fit"
        assert model.history_[0]["mu"] == 0


def test_the_direct_fit_takes_all_its_passes():
    costs = np.zeros(3)
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(300, 5))
        for i, n_passes in enumerate((0, 3, 20)):
            method = replace(SHORT, tao_iter=3, init_tao_iter=n_passes, n_mu_steps=0)
            model = fitted(X, method, 8, lambda_=1e-3, depth=4, init="random")
            costs[i] += model.history_[0]["cost_increase"]
    assert costs[0] > costs[1] > costs[2]


def test_the_direct_fit_does_not_see_the_scale_of_an_initial_tree(X):
    """LIBLINEAR has no warm start."""
    tree = fitted(X, DirectForm(n_init=1, relax=False), init="random").tree_
    trees = []
    for factor in (2.0**-30, 1.0, 2.0**30):
        tests = {i: (tree.split(i), tree.threshold[i]) for i in tree.decision_nodes}
        scaled = {i: ((used, factor * w), factor * t) for i, ((used, w), t) in tests.items()}
        method = replace(SHORT, init_tao_iter=2, n_mu_steps=0, node_solver="liblinear")
        trees.append(fitted(X, method, init=tree.with_splits(scaled)).tree_)
    assert trees[0] == trees[1] == trees[2]


def test_more_initial_trees_never_raise_the_objective_of_the_start(X):
    """The start is the tree of the least objective (4), so that of eight is no worse than one."""
    for lambda_ in (1.0, 5.0):
        values = []
        for n_init in (1, 8):
            method = replace(
                SHORT, n_init=n_init, tao_iter=1, init_tao_iter=1, n_mu_steps=0, initial_mu=1e-12
            )
            model = fitted(X, method, lambda_=lambda_, init="random")
            values.append(model.inertia_ + lambda_ * np.abs(model.tree_.split_weights).sum())
        assert values[1] < values[0]


# ---------------------------------------------------------------- the end of the path


def test_separated_blobs_cost_nothing_and_need_one_leaf_each(blobs):
    method = PenaltyMethod(1.1, 100, refine=False)
    model = fitted(blobs, method, 4, lambda_=1.0, depth=4)
    assert model.inertia_ == pytest.approx(model.free_inertia_, rel=1e-12)
    assert model.tree_.n_leaves == 4
    assert model.history_[-1]["mismatch"] == 0
    assert len(model.history_) < 20  # the path ends when tree and assignment agree


def test_history_describes_the_path(digits):
    method = replace(SHORT, mu_factor=1.2, n_mu_steps=12, result="last")
    model = fitted(digits[:600], method, 10, depth=4)
    history, tree = model.history_, model.tree_
    assert [record["stage"] for record in history[:2]] == ["direct fit", "penalty"]
    assert len(history) <= 14
    mus = column(model, "mu")
    np.testing.assert_allclose(mus[1:] / mus[:-1], 1.2)
    assert list(history[0]) == [
        *("stage", "lambda", "mu", "cost_increase", "leaves", "non_zeros"),
        *("mismatch", "kept", "sampled", "seconds"),
    ]
    last = history[-1]
    assert (last["leaves"], last["non_zeros"]) == (tree.n_leaves, tree.n_nonzero)
    assert last["cost_increase"] == pytest.approx(model.cost_increase_)
    assert np.all(np.diff([record["seconds"] for record in history]) > 0)
    counts = tree.node_counts(tree.apply(digits[:600]))
    assert np.all(counts > 0)  # dead branches are pruned


@pytest.mark.parametrize("lambda_", [0.3, 3.0, 10.0])
def test_the_best_tree_of_the_path_or_the_last(X, lambda_):
    """The best is that of the last record that is marked as kept."""
    method = replace(SHORT, mu_factor=1.5, n_mu_steps=12)
    objectives = []
    for result in ("best", "last"):
        model = fitted(X, replace(method, result=result), lambda_=lambda_, init="bisecting")
        records = model.history_ if result == "last" else [r for r in model.history_ if r["kept"]]
        assert model.cost_increase_ == pytest.approx(records[-1]["cost_increase"])
        assert model.tree_.n_nonzero == records[-1]["non_zeros"]
        objectives.append(model.inertia_ + lambda_ * np.abs(model.tree_.split_weights).sum())
    assert objectives[0] <= objectives[1] * (1 + 1e-9)


@pytest.mark.slow
def test_a_path_that_collapses_returns_its_best_tree(digits, digits_reference):
    """Rows almost on a bisector make mu_0 tiny: the tree collapses, and stays so to the end."""
    centers = digits_reference.cluster_centers_
    pairs = np.array([(a, b) for a in range(10) for b in range(a)])
    middle = centers[pairs].mean(axis=1)
    X = np.vstack([digits, middle + 1e-8 * (centers[pairs[:, 0]] - middle)])
    method = PenaltyMethod(1.1, 20, n_init=1, refine=False)
    model = fitted(X, method, 10, lambda_=0.1, depth=5, reference=centers, init="bisecting")
    assert model.history_[1]["mu"] < 1e-6
    assert model.history_[-1]["cost_increase"] > 20  # what the last tree would be
    assert model.cost_increase_ < 5


def test_a_tree_that_agrees_may_still_become_sparser(blobs):
    """mu_0 is the cheapest mismatch; the path ends when nothing changes, not when Z = T(X)."""
    wide = fitted(blobs, replace(SHORT, init_tao_iter=0, n_mu_steps=0), init=Bisecting(2))
    assert wide.inertia_ == pytest.approx(wide.free_inertia_)
    method = replace(SHORT, init_tao_iter=0, mu_factor=2.0, n_mu_steps=9, result="last")
    model = fitted(blobs, method, init=wide.tree_, lambda_=1e5)
    assert model.tree_.n_nonzero < wide.tree_.n_nonzero
    assert set(column(model, "mismatch")) == {0.0}
    distances = cdist(blobs, model.free_centers_, "sqeuclidean")
    first, second = np.sort(distances, axis=1)[:, :2].T
    assert column(model, "mu")[0] == pytest.approx((second - first).min())


def test_a_larger_tolerance_ends_the_clustering_step_early(X):
    """With tol=1 after the second assignment, before the fixed point that tol=0 reaches."""
    method = replace(SHORT, mu_factor=3.0, n_mu_steps=8, init_tao_iter=0, node_solver=Scripted())
    tree = fitted(X, replace(SHORT, init_tao_iter=0, initial_mu=1e9), init="random").tree_
    exact, rough, one = (
        fitted(X, replace(method, **options), init=tree)
        for options in ({}, {"tol": 1.0}, {"max_iter": 1})
    )
    mismatches = [tuple(column(model, "mismatch")) for model in (exact, rough, one)]
    assert len(set(mismatches)) == 3


def test_an_interrupted_path_returns_the_best_tree_so_far(X):
    class Interrupting(Scripted):
        def solve(self, problem):
            if len(self.problems) == 20:
                raise KeyboardInterrupt
            return super().solve(problem)

    tree = fitted(X, DirectForm(n_init=1, relax=False)).tree_
    with pytest.warns(ConvergenceWarning, match="best so far is kept"):
        model = fitted(X, replace(SHORT, node_solver=Interrupting()), init=tree)
    assert 1 < len(model.history_) < 20
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("refine", [False, DirectForm(relax=False), True])
def test_refine_ends_the_path_by_the_direct_form(X, refine):
    method = PenaltyMethod(2.0, 2, n_init=1, refine=refine)
    model = fitted(X, method, lambda_=1.0, init="bisecting")
    stages = {record["stage"] for record in model.history_}
    expected = {"direct fit", "penalty"} | ({"direct"} if refine else set())
    assert stages == expected | ({"relax", "exact"} if refine is True else set())


@pytest.mark.slow
def test_refine_and_liblinear(digits, digits_reference):
    options = {"reference": digits_reference, "lambda_": 0.3, "depth": 5, "k": 10}
    options["random_state"] = 1
    for solver in ("newton", "liblinear"):
        method = PenaltyMethod(n_init=1, n_mu_steps=10, node_solver=solver, refine=False)
        plain = fitted(digits, method, **options)
        refined = fitted(digits, replace(method, refine=True), **options)
        assert refined.tree_.n_nonzero < plain.tree_.n_nonzero
        assert refined.inertia_ < plain.inertia_


@pytest.mark.slow
def test_each_option_changes_the_path(X, weight):
    base = replace(SHORT, mu_factor=1.3, n_mu_steps=12, result="last")
    trees = {}
    for options in (
        {},
        {"penalty": "squared"},
        {"strength": "constant", "accept": "always"},
        {"strength": "lambda*mu_0/mu"},
        {"strength": "lambda/max(mu,1)"},
        {"initial_mu": "median", "accept": "if loss falls"},
    ):
        model = fitted(X, replace(base, **options), weight=weight, lambda_=0.1)
        trees[str(options)] = model.tree_
    for one, other in itertools.combinations(trees, 2):
        assert trees[one] != trees[other], (one, other)


# ---------------------------------------------------------------- axis-aligned trees


def test_of_axis_aligned_trees_the_best_as_it_is_starts_the_path(X):
    """No direct fit: a start of the path is one of the trees of the builder."""
    method = PenaltyMethod(n_init=1, n_mu_steps=0, initial_mu=1e-12, refine=False)
    model = fitted(X, method, split="axis", lambda_=0.0, max_leaves=6)
    assert model.history_[0]["leaves"] == 6


@pytest.mark.parametrize("lambda_", [0.0, 1.0])
def test_the_objective_never_rises_at_one_assignment(X, rng, lambda_):
    """Loss plus strength * ||w||_1 (eq. 8) over rounds in which mu is too small to change Z."""
    labels = rng.integers(0, 4, 150)
    method = PenaltyMethod(
        1.001, 9, initial_mu=0.5, strength="constant", tao_iter=1, result="last", refine=False
    )
    model = TAOClustering(
        objective="labels", split="axis", lambda_=lambda_, max_leaves=20, algorithm=method
    ).fit(X, labels)
    costs, sizes = np.array([(r["cost_increase"], r["non_zeros"]) for r in model.history_]).T
    values = costs / 100 * len(X) + lambda_ * sizes
    assert np.all(np.diff(values) <= 1e-9)
    assert values[-1] < values[0]
