"""The direct form: starts, passes, refits, exact passes, search, and the last simplification."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit
from scripted import Scripted, split_of
from sklearn.datasets import load_wine

from tao_cluster import DirectForm, TAOClustering, Tree, tao_path
from tao_cluster.solvers import Newton, NodeProblem, Refit

LINE = np.repeat(np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]), 2, axis=1)
# Thresholds on it, from the best to the worst.
BEST, GOOD, BAD, WORST = 5.0, 10.5, 11.5, 99.0


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 4))


def fitted(X, k=5, **parameters):
    """A fit by few starts, with the options of the direct form among its parameters."""
    names = DirectForm.__dataclass_fields__.keys() & parameters.keys()
    algorithm = DirectForm(**{"n_init": 1} | {name: parameters.pop(name) for name in names})
    options = {"lambda_": 1.0, "depth": 3, "random_state": 0, "algorithm": algorithm} | parameters
    return TAOClustering(k, **options).fit(X)


def records(model, stage):
    return [record for record in model.history_ if record["stage"] == stage]


# ---------------------------------------------------------------- passes


def at(threshold, norm=1.0):
    """The test x <= threshold on LINE, whose ||w||_1 is `norm`."""
    return split_of([norm / 2, norm / 2], norm * threshold)


def threshold_after(*answers, start=WORST, lambda_=0.01):
    """Threshold of the result of passes whose tests are the answers, without refits."""
    split = at(start)
    tests = [(split.indices, split.weights), None, None]
    tree = Tree.from_splits([1, -1, -1], [2, -1, -1], tests, [start, 0, 0], [-1, 0, 1], 2)
    options = {"relax": False, "trim": 0, "node_solver": Scripted(*answers)}
    tree = fitted(LINE, 2, init=tree, reference=LINE[[1, 4]], lambda_=lambda_, **options).tree_
    return tree.threshold[0] / tree.split(0)[1].sum()


@pytest.mark.filterwarnings("ignore:The tree costs")
def test_the_best_tree_of_the_passes_is_kept():
    assert threshold_after(at(GOOD), at(BEST), at(BAD), at(BAD)) == BEST
    assert threshold_after(at(BEST), at(GOOD), at(BAD), at(BAD)) == BEST


@pytest.mark.filterwarnings("ignore:The tree costs")
def test_the_scale_of_an_initial_tree_does_not_count():
    """The first pass replaces it, whatever it costs."""
    assert threshold_after(at(GOOD), at(BAD), at(BAD), start=BEST) == GOOD


@pytest.mark.filterwarnings("ignore:The tree costs")
def test_trees_are_compared_by_objective_4():
    """The cost plus lambda * ||w||_1: the cheaper tree is worse if its weights are large."""
    assert threshold_after(at(BEST, 1e4), at(GOOD), at(BEST, 1e4), lambda_=1.0) == GOOD
    assert threshold_after(at(BEST, 2.0), at(GOOD), at(BEST, 2.0), lambda_=0.5) == BEST


def test_the_direct_form_comes_from_a_tenth_of_lambda(X):
    model = fitted(X, relax=False, lambda_=2.0)
    strengths = [record["lambda"] for record in records(model, "direct")]
    assert sorted(set(strengths)) == pytest.approx([0.2, 2.0])
    assert strengths == sorted(strengths)
    assert {record["lambda"] for record in records(model, "start")} == {strengths[0]}


# ---------------------------------------------------------------- refits and exact passes


def test_relax_adds_refits_and_exact_passes(X):
    plain, relaxed = (fitted(X, relax=relax, copies=0) for relax in (False, True))
    assert {record["stage"] for record in plain.history_} == {"start", "direct"}
    assert {"relax", "exact"} <= {record["stage"] for record in relaxed.history_}
    strengths = [record["lambda"] for record in records(relaxed, "relax")]
    assert strengths.count(1.0) == 2  # two rounds by weight
    assert 0 < strengths[-1] < 0.1  # and one of little strength
    assert relaxed.inertia_ < plain.inertia_
    assert relaxed.tree_.n_nonzero < plain.tree_.n_nonzero


@pytest.mark.slow
def test_kept_trees_of_refits_cost_less_and_those_of_exact_passes_have_less_score(X):
    """Refits are compared by cost, exact passes by cost plus a penalty per parameter."""
    n_refits, n_exact = 0, 0
    for lambda_ in (0.1, 0.3, 1.0, 2.0, 5.0):
        model = fitted(X, copies=0, lambda_=lambda_, search="none")
        refits = [r for r in records(model, "relax") if r["kept"] and r["lambda"] < lambda_]
        exact = [r for r in records(model, "exact") if r["kept"]]
        assert np.all(np.diff([r["cost_increase"] for r in refits]) < 0)
        for one, other in itertools.pairwise([*refits[-1:], *exact]):
            sizes = [r["non_zeros"] + 2 * r["leaves"] - 1 for r in (one, other)]
            costs = [model.free_inertia_ * r["cost_increase"] / 100 for r in (one, other)]
            assert costs[1] + other["lambda"] * sizes[1] < costs[0] + other["lambda"] * sizes[0]
        n_refits, n_exact = n_refits + len(refits), n_exact + len(exact)
    assert min(n_refits, n_exact) > 2


def test_adaptive_refits_drop_small_weights(rng):
    X = rng.normal(size=(500, 6))
    goes_right = X @ [3.0, -2, 0.1, 0.1, 0, 0] + 0.3 * rng.normal(size=500) > 0
    bound, every, ones = Newton().bind(X), np.arange(500), np.ones(500)
    first, _ = bound.solve(NodeProblem(every, goes_right, ones, 1.0))
    refitting = Refit(bound, X, reweights=True)
    second, _ = refitting.solve(NodeProblem(every, goes_right, ones, 3.0, first))
    assert len(first.indices) > 3
    assert {0, 1} <= set(second.indices)
    assert len(second.indices) < len(first.indices)


# ---------------------------------------------------------------- search


def digits_fit(digits, **parameters):
    return fitted(digits[:600], 10, depth=4, n_init=2, **parameters)


@pytest.mark.slow
def test_a_search_keeps_better_and_better_trees(digits):
    """By the number of parameters, with a limit of cost; all of them are within it."""
    model = digits_fit(digits, lambda_="auto", max_cost_increase=4.0, search="fast", copies=0)
    kept = [record for record in records(model, "search") if record["kept"]]
    sizes = [record["non_zeros"] + 2 * record["leaves"] - 1 for record in kept]
    assert len(records(model, "search")) >= 4
    assert np.all(np.diff(sizes) <= 0)
    assert model.cost_increase_ <= 4.0 + 1e-9


@pytest.mark.slow
def test_a_path_is_searched_where_that_is_asked_for():
    common = {"lambdas": [1.0, 10.0, 100.0], "standardize": True, "random_state": 0, "depth": 3}
    fast, thorough = (
        tao_path(load_wine().data, 3, algorithm=DirectForm(search=search), **common)
        for search in ("fast", "thorough")
    )
    n_fast, n_thorough = (len(records(models[-1], "search")) for models in (fast, thorough))
    assert n_fast < len(fast) * 30 <= n_thorough


@pytest.mark.slow
def test_initial_trees_of_many_rows_are_compared_on_a_sample(rng):
    """Records of the starts have the costs of the sample, and lambda has the weight of all rows."""
    centers = 4 * rng.normal(size=(6, 5))
    X = centers[rng.integers(0, 6, 21_000)] + rng.normal(size=(21_000, 5))
    model, again = (fitted(X, 6, n_init=4, lambda_=50.0, n_jobs=j) for j in (1, 2))
    assert_same_fit(model, again)
    assert model.cost_increase_ < 3
    starts = records(model, "start")
    assert all(record["sampled"] for record in starts)
    assert starts[0]["lambda"] == pytest.approx(5.0)
    direct = [record["sampled"] for record in records(model, "direct")]
    assert direct == sorted(direct, reverse=True)  # passes over the sample come first
    assert direct[0]
    assert not direct[-1]
    assert not any(record["sampled"] for record in records(model, "relax"))


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_tree_does_not_depend_on_threads(rng, form):
    """Rows enough for threads over nodes and over rows."""
    centers = 3 * rng.normal(size=(8, 6))
    X = form(centers[rng.integers(0, 8, 9000)] + rng.normal(size=(9000, 6)))
    one, three = (fitted(X, 8, n_init=2, depth=4, lambda_=3.0, n_jobs=j) for j in (1, 3))
    assert_same_fit(one, three)
    seconds = {"seconds": 0}
    assert [r | seconds for r in one.history_] == [r | seconds for r in three.history_]


# ---------------------------------------------------------------- the last simplification


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_trimming_changes_no_label(share):
    X = np.random.default_rng(1).normal(size=(200, 5))
    full, trimmed = (fitted(X, relax=False, trim=trim, lambda_=0.01) for trim in (0, share))
    np.testing.assert_array_equal(full.labels_, trimmed.labels_)
    assert trimmed.tree_.n_nonzero < full.tree_.n_nonzero
    for node in full.tree_.decision_nodes:
        kept = np.isin(full.tree_.split(node)[0], trimmed.tree_.split(node)[0])
        rows = full.tree_.decision_path(X).toarray()[:, node] > 0
        effect = np.abs(full.tree_.split(node)[1]) * X[rows][:, full.tree_.split(node)[0]].std(
            axis=0
        )
        assert np.all(effect[~kept] < share * effect.max())


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.float32, sp.csr_matrix])
def test_tests_of_one_feature_have_weight_1_and_a_threshold_at_a_midpoint(form):
    n_tests = 0
    for seed in range(3):
        dense = np.random.default_rng(seed).integers(-4, 5, (80, 3)) * 0.7
        X, dense = form(dense), dense.astype(form(dense).dtype).astype(float)
        for options in ({"lambda_": 30.0}, {"split": "axis", "max_leaves": 5, "search": "none"}):
            tree = fitted(X, 2, **options).tree_
            visits = tree.decision_path(X).toarray() > 0
            for node in tree.decision_nodes:
                (first, *rest), weights = tree.split(node)
                if rest:
                    continue
                values = weights[0] * dense[visits[:, node], first]
                is_left = values <= tree.threshold[node]
                middle = (values[is_left].max() + values[~is_left].min()) / 2
                assert abs(weights[0]) == 1
                assert tree.threshold[node] == pytest.approx(middle)
                n_tests += 1
    assert n_tests > 5
