"""Objective (4), what a descent keeps and when it ends, comparison of starts, stages of a fit."""

import numpy as np
import pytest
from conftest import make_search
from scipy.spatial.distance import cdist

from tao_cluster import Tree
from tao_cluster.initial_trees.initial import Bisecting, Random
from tao_cluster.optimize.direct_form import DirectForm, best_start, descend, finish
from tao_cluster.optimize.oblique_search import refit
from tao_cluster.solvers import Refit

LINE = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
# Thresholds on it, from the best to the worst.
BEST, GOOD, BAD, WORST = 5.0, 10.5, 11.5, 99.0


def stump(threshold, weight=1.0):
    """x <= threshold goes to cluster 0; `weight` is its ||w||_1."""
    splits = [([0], [weight]), None, None]
    return Tree.from_splits(
        [1, -1, -1], [2, -1, -1], splits, [weight * threshold, 0, 0], [-1, 0, 1], 1
    )


class Scripted:
    """A tree step whose passes give the trees of a list, the last one again and again."""

    def __init__(self, *trees):
        self.trees, self.judged = list(trees), []

    def one_pass(self, tree, criterion, strength, is_judged):
        self.judged.append(is_judged)
        return self.trees.pop(0) if self.trees else tree


def on_a_line(**options):
    return make_search(LINE, 2, reference=[[1.0], [11.0]], **options)


def threshold_after(search, start, *trees, lambda_=0.01, **options):
    """Threshold of what a descent from a tree through others ends with."""
    state = descend(search, search.evaluate(start), lambda_, step=Scripted(*trees), **options)
    return state.tree.threshold[0] / state.tree.split(0)[1][0]


# ---------------------------------------------------------------- objective (4)


def test_objective_counts_what_rows_reach(rng):
    """Weights below a test that sends all rows one way are dead, and cost nothing."""
    X = rng.uniform(-1, 1, (40, 2))
    weight = rng.uniform(0.5, 2, 40)
    tree = Tree.from_splits(
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [([0], [2.0]), ([1], [7.0]), ([0, 1], [3.0, -4.0]), None, None, None, None],
        [0.0, 99.0, 0.5, 0, 0, 0, 0],  # all rows go left at node 1
        [-1, -1, -1, 0, 1, 1, 2],
        2,
    )
    search = make_search(X, 4, reference=X[:4], weight=weight)
    state = search.evaluate(tree)
    labels = tree.predict(X)
    centers = X[:4].copy()  # a cluster without rows keeps its free centre
    for k in range(3):
        centers[k] = np.average(X[labels == k], axis=0, weights=weight[labels == k])
    cost = weight @ ((X - centers[labels]) ** 2).sum(axis=1)
    assert state.inertia == pytest.approx(cost)
    assert state.objective(0.0) == state.inertia
    assert state.objective(0.5) == pytest.approx(cost + 0.5 * (2 + 3 + 4))
    np.testing.assert_allclose(state.centers, centers)


def test_distances_are_to_the_centres_asked_for(rng):
    X = rng.normal(size=(20, 3))
    search = make_search(X, 3, reference=X[:3])
    for centers in (X[:3], X[3:6]):
        for _ in range(2):
            found = search.distances(centers)
            np.testing.assert_allclose(found, cdist(X, centers, "sqeuclidean"), atol=1e-12)


# ---------------------------------------------------------------- one descent


def test_best_tree_of_a_descent_is_kept():
    search = on_a_line()
    assert threshold_after(search, stump(BAD), stump(BEST), stump(WORST)) == BEST
    assert threshold_after(search, stump(WORST), stump(BAD), stump(GOOD)) == GOOD


def test_start_counts_unless_its_scale_means_nothing():
    search, trees = on_a_line(), (stump(WORST), stump(BAD))
    assert threshold_after(search, stump(BEST), *trees) == BEST
    assert threshold_after(search, stump(BEST), *trees, keeps_start=False) == BAD
    assert threshold_after(search, stump(BEST), keeps_start=False) == BEST  # there is no other
    judged = on_a_line(split="axis", init=stump(BEST))
    assert threshold_after(judged, stump(BEST), *trees, keeps_start=False) == BEST


def test_trees_are_compared_by_objective_4_or_as_the_price_says():
    search, dear, cheap = on_a_line(), stump(BEST, 1e4), stump(GOOD, 1.0)
    assert search.evaluate(dear).inertia < search.evaluate(cheap).inertia
    options = {"lambda_": 1.0}
    assert threshold_after(search, stump(WORST), dear, cheap, **options) == GOOD
    assert threshold_after(search, stump(WORST), dear, cheap, price=0.0, **options) == BEST


def test_two_passes_without_a_better_tree_end_a_descent():
    bad = (stump(BAD), stump(WORST))
    for search in (on_a_line(), on_a_line(split="axis", init=stump(BEST))):
        assert threshold_after(search, stump(GOOD), bad[0], stump(BEST), n_passes=9) == BEST
        assert threshold_after(search, stump(GOOD), *bad, stump(BEST), n_passes=9) == GOOD


def test_no_more_passes_than_asked_for():
    search = on_a_line()
    for n_passes in (1, 2):
        trees = [stump(threshold) for threshold in (BAD, GOOD, BEST)]
        found = threshold_after(search, stump(WORST), *trees, n_passes=n_passes)
        assert found == (BAD, GOOD)[n_passes - 1]
    assert len(search.history.records) == 3


@pytest.mark.parametrize(("split", "is_judged"), [("oblique", False), ("axis", True)])
def test_only_exact_solvers_have_their_updates_judged(split, is_judged):
    step = Scripted(stump(GOOD), stump(BEST))
    search = on_a_line(split=split, init=stump(BEST))
    descend(search, search.evaluate(stump(BAD)), 0.1, step=step)
    assert set(step.judged) == {is_judged}


# ---------------------------------------------------------------- starts and stages


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 4))


def trees_of(search, builder, n=1):
    problem, rng = search.problem, np.random.RandomState(0)
    free = problem.free
    return [
        builder.build(problem.X, free.labels, free.centers, problem.weight, rng) for _ in range(n)
    ]


@pytest.mark.slow
def test_initial_trees_are_compared_by_objective_4(X):
    search, differs = make_search(X, 5), 0
    trees = trees_of(search, Random(3), 6)
    for lambda_ in (1.0, 10.0, 30.0):
        alone = [best_start(search, [tree], lambda_, 0) for tree in trees]
        values = [state.objective(lambda_) for state in alone]
        for order in (trees, trees[::-1]):
            assert best_start(search, order, lambda_, 0).objective(lambda_) == min(values)
        differs += np.argmin(values) != np.argmin([state.inertia for state in alone])
        differs += np.argmin(values) not in {0, len(values) - 1}
    assert differs


def test_direct_form_comes_from_a_tenth_of_lambda(X):
    search, again = make_search(X, 5, relax=False), make_search(X, 5, relax=False)
    _, start, first, second, last = DirectForm().run(
        search, iter(trees_of(search, Bisecting(3))), 2
    )
    strengths = [r["lambda"] for r in search.history.records if r["stage"] == "direct"]
    assert sorted(set(strengths)) == pytest.approx([0.2, 2.0])
    assert strengths == sorted(strengths)
    assert first.tree == descend(again, start, 0.2).tree
    assert second.tree == descend(again, first, 2.0).tree
    assert first.tree != start.tree
    assert first.tree != second.tree
    assert last is second


@pytest.mark.parametrize("relax", [False, True])
def test_relax_is_what_ends_a_descent(X, relax):
    search = make_search(X, 5, relax=relax)
    state = descend(search, search.evaluate(*trees_of(search, Bisecting(3))), 1.0)
    states = list(finish(search, state, 1.0))
    assert states[0] is state
    assert len(states) == 1 + 2 * relax


def test_refits_are_two_rounds_by_weight_and_one_of_little_strength(X, monkeypatch):
    asked, plain = [], Refit.solve

    def spy(self, problem):
        asked.append((self.reweights, problem.strength))
        return plain(self, problem)

    monkeypatch.setattr(Refit, "solve", spy)
    search = make_search(X, 5)
    refit(search, descend(search, search.evaluate(*trees_of(search, Bisecting(3))), 1.0), 1.0)
    reweighted = [strength for by_weight, strength in asked if by_weight]
    assert set(reweighted) == {1.0}
    rest = {strength for by_weight, strength in asked if not by_weight}
    assert len(rest) == 1
    assert 0 < rest.pop() < 0.1
    stages = [r["lambda"] for r in search.history.records if r["stage"] == "relax"]
    assert stages.count(1.0) == 2


def test_refits_are_compared_by_cost():
    """Of the last stage the cheapest tree is the result; here, that is its start now and then."""
    for seed, lambda_ in ((0, 1.0), (1, 0.1), (10, 5.0), (11, 0.1)):
        search = make_search(np.random.default_rng(seed).normal(size=(200, 4)), 5)
        start = descend(search, search.evaluate(*trees_of(search, Bisecting(3))), lambda_)
        seen, plain = [], search.evaluate
        search.evaluate = lambda tree, plain=plain, seen=seen: seen.append(plain(tree)) or seen[-1]
        state = refit(search, start, lambda_)
        last = [r["lambda"] < lambda_ for r in search.history.records if r["stage"] == "relax"]
        assert len(last) == len(seen)
        of_last = seen[last.index(True) - 1 :]
        assert state.inertia == min(s.inertia for s in of_last)
