"""Cuts of least impurity, by which ExKMC goes on where none saves."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy import ExKMC
from greedy.builder_input import BuilderInput
from greedy.cuts import gini_cut
from greedy.nodes import impurity_node
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth

build_exkmc = partial(built, ExKMC)


def impurity(labels, weight):
    total = Fraction(int(weight.sum()))
    masses = [Fraction(int(weight[labels == c].sum())) for c in np.unique(labels)]
    return total - sum(mass * mass for mass in masses) / total


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14), d=st.integers(1, 3), k=st.integers(1, 4))
def test_purest_cut_is_exact(form, seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)).astype(float)
    weight = rng.integers(1, 4, n)
    points = BuilderInput.from_centers(
        form(X), rng.integers(0, 4, (k, d)).astype(float), weight, n_jobs=2
    )
    rows = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    labels = points.distances[rows].argmin(axis=1)
    before, best = impurity(labels, weight[rows]), None
    for feature in range(d):
        for threshold in np.unique(X[rows, feature])[:-1]:
            left = X[rows, feature] <= threshold
            sides = (impurity(labels[side], weight[rows][side]) for side in (left, ~left))
            found = (sum(sides), feature, threshold)
            best = found if best is None else min(best, found)
    cut = points.best_cut(gini_cut, points.inverse_index(rows), impurity_node(points, rows))
    if best is None or before == 0:
        assert cut is None
    else:
        assert cut[1:] == best[1:]
        assert -cut[0] == pytest.approx(float((before - best[0]) / before))


def test_a_cut_that_saves_nothing_makes_way_for_cuts_that_do():
    """A chessboard: no single cut of four squares saves anything, three save all."""
    X = np.repeat([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]], 5, axis=0)
    place = np.repeat([0.0, 1.0, 1.0, 0.0], 5)[:, None]
    centers, options = np.array([[0.0], [1.0]]), {"base": "none", "embedding": place}
    tree = build_exkmc(X, centers, max_leaves=4, **options)
    np.testing.assert_array_equal(tree.predict(X), place.ravel())
    assert tree.n_leaves == 4
    assert build_exkmc(X, centers, max_leaves=3, **options).n_leaves == 3  # one half is right
    assert build_exkmc(X, centers, max_leaves=2, **options).n_leaves == 1  # taken back
    doubled = build_exkmc(
        np.repeat(X, 2, axis=0),
        centers,
        base="none",
        max_leaves=4,
        embedding=np.repeat(place, 2, axis=0),
    )
    weights = build_exkmc(X, centers, max_leaves=4, sample_weight=np.full(20, 2.0), **options)
    assert doubled == weights == tree
    assert build_exkmc(sp.csr_matrix(X), centers, max_leaves=4, **options) == tree


def test_rows_that_cannot_be_parted_stay_together():
    X, place = np.zeros((6, 2)), np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0]])
    tree = build_exkmc(X, np.array([[0.0], [1.0]]), base="none", max_leaves=6, embedding=place)
    assert tree.n_leaves == 1


@pytest.mark.parametrize("seed", range(5))
def test_every_test_has_one_in_its_subtree_that_saves(seed):
    """So it has no subtree that a leaf could replace, and the trace never rises."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (80, 3)).astype(float)
    model = ExKMC(4, max_leaves=40, base="none", random_state=seed, midpoints=False).fit(X)
    distances = ((X[:, None] - model.free_centers_) ** 2).sum(axis=2)
    reached = model.tree_.decision_path(X).toarray().astype(bool)

    def cost(node):
        return distances[reached[:, node]].sum(axis=0).min()

    tree = model.tree_
    for node in tree.decision_nodes:
        below = tree.path_matrix[:, [node]].toarray().ravel() > 0
        leaves = [leaf for leaf in tree.leaves if below[leaf]]
        assert sum(cost(leaf) for leaf in leaves) < cost(node) - 1e-9
    assert np.all(np.diff([record["surrogate"] for record in model.trace_]) <= 1e-9)


def test_a_growth_without_some_nodes():
    growth, split = Growth(), Split.from_feature(0, 1.0)
    growth.add(9)
    left, right = growth.split(0, split, (1, 2))
    growth.split(left, split, (3, 4))
    growth.split(right, Split.from_feature(1, 2.0), (5, 6))
    fewer = growth.without({left})
    assert (fewer.left, fewer.right) == ([1, -1, 3, -1, -1], [2, -1, 4, -1, -1])
    assert fewer.label == [9, 1, 2, 5, 6]
    assert fewer.splits[2].threshold == 2.0
    assert growth.without(set()).to_tree(2) == growth.to_tree(2)
    assert growth.without({0}).to_tree(2).n_leaves == 1
