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

build_exkmc = partial(built, ExKMC)


def impurity(labels, weight):
    total = Fraction(int(weight.sum()))
    masses = [Fraction(int(weight[labels == c].sum())) for c in np.unique(labels)]
    return total - sum(mass * mass for mass in masses) / total


def best_cut(X, weight, distances, rows):
    """(gain, feature, threshold) of ExKMC's cut of a leaf, and None if it stays a leaf.

    The gain is the saving or, where no cut saves, the reduction of the impurity minus 2.
    """
    costs = weight[rows] @ distances[rows]
    nearest = distances[rows].argmin(axis=1)
    if (distances[rows, costs.argmin()] == distances[rows].min(axis=1)).all():
        return None
    before, saving, purest = impurity(nearest, weight[rows]), (0, 0, 0), (-3, 0, 0)
    for feature in range(X.shape[1]):
        for threshold in np.unique(X[rows, feature])[:-1]:
            left = X[rows, feature] <= threshold
            sides = [weight[rows][s] @ distances[rows][s] for s in (left, ~left)]
            saved = Fraction(int(costs.min() - sum(side.min() for side in sides)))
            after = sum(impurity(nearest[s], weight[rows][s]) for s in (left, ~left))
            saving = max(saving, (saved, -feature, -threshold))
            if before > 0:
                purest = max(purest, ((before - after) / before - 2, -feature, -threshold))
    gain, feature, threshold = saving if saving[0] > 0 else purest
    return None if gain == -3 else (gain, -feature, -threshold)


def plain_cuts(X, weight, distances, max_leaves):
    """All (feature, threshold, rows) of ExKMC from one leaf, but for those that never pay."""
    leaves, found, cuts, number = {0: np.arange(len(X))}, {}, {}, 1
    while True:
        for node, rows in leaves.items():
            if node not in found:
                found[node] = best_cut(X, weight, distances, rows)
        open_leaves = [node for node in leaves if found[node] is not None]
        if len(leaves) >= max_leaves or not open_leaves:
            break
        node = max(open_leaves, key=lambda node: (found[node][0], -node))
        gain, feature, threshold = found[node]
        rows = leaves.pop(node)
        left = X[rows, feature] <= threshold
        leaves |= {number: rows[left], number + 1: rows[~left]}
        cuts[node] = (gain, (number, number + 1), (feature, threshold, tuple(rows)))
        number += 2
    useful = set()
    for node, (gain, children, _) in reversed(cuts.items()):
        if gain > 0 or useful & set(children):
            useful.add(node)
    return {cuts[node][2] for node in useful}


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14), d=st.integers(1, 3), k=st.integers(1, 4))
def test_purest_cuts_are_exact(form, seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)).astype(float)
    weight, centers = rng.integers(1, 4, n), rng.integers(0, 4, (k, d)).astype(float)
    max_leaves = k + int(rng.integers(0, 6))
    options = {"base": "none", "midpoints": False, "ties": "first", "sample_weight": weight}
    tree = build_exkmc(form(X), centers, max_leaves=max_leaves, n_jobs=2, **options)
    distances = ((X[:, None] - centers) ** 2).sum(axis=2)
    reached = tree.decision_path(X).toarray().astype(bool)
    found = {
        (int(tree.split(node)[0][0]), tree.threshold[node], tuple(np.flatnonzero(reached[:, node])))
        for node in tree.decision_nodes
    }
    assert found == plain_cuts(X, weight, distances, max_leaves)
    for leaf in tree.leaves:
        costs = weight[reached[:, leaf]] @ distances[reached[:, leaf]]
        assert tree.leaf_label[leaf] == costs.argmin()


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
