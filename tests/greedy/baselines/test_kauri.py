"""Kauri against a plain search over all cuts and assignments, its invariances and the peer."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from greedy import Kauri


def cost(X, weight, labels):
    total = 0.0
    for label in np.unique(labels):
        some, w = X[labels == label], weight[labels == label]
        total += w @ ((some - w @ some / w.sum()) ** 2).sum(axis=1)
    return total


def assignments(own, is_whole, used, k):
    """Clusters of the two halves of a leaf: star, switch, double star, reallocation."""
    others = [label for label in used if label != own]
    free = [label for label in range(k) if label not in used][:2]
    for target in [*others, *free[:1]]:
        yield target, own
        yield own, target
    if not is_whole:
        yield from itertools.permutations(others, 2)
        if len(free) == 2:
            yield tuple(free)


def least_cost(X, weight, leaves, k):
    """Least cost that a cut of a leaf can lead to; `leaves` are pairs (rows, label)."""
    labels = np.empty(len(X), int)
    for rows, label in leaves:
        labels[rows] = label
    used, best = sorted(set(labels.tolist())), np.inf
    for rows, own in leaves:
        is_whole = len(rows) == (labels == own).sum()
        for feature in range(X.shape[1]):
            for value in np.unique(X[rows, feature])[:-1]:
                left = X[rows, feature] <= value
                for here, there in assignments(own, is_whole, used, k):
                    changed = labels.copy()
                    changed[rows] = np.where(left, here, there)
                    best = min(best, cost(X, weight, changed))
    return best, cost(X, weight, labels)


@st.composite
def problems(draw):
    """Few rows with whole coordinates (many ties, duplicates), whole weights."""
    n, d, k = draw(st.integers(1, 9)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    values = st.integers(-2, draw(st.sampled_from([1, 3, 8])))
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    weight = draw(hnp.arrays(np.float64, n, elements=st.integers(1, 3)))
    return X, weight, k, draw(st.integers(1, 7))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(problems(), st.booleans())
def test_every_step_is_the_best_of_all(problem, is_sparse):
    X, weight, k, max_leaves = problem
    given_X = sp.csr_matrix(X) if is_sparse else X
    centers = X[np.arange(k) % len(X)]
    leaves, now = [(np.arange(len(X)), 0)], cost(X, weight, np.zeros(len(X), int))
    for size in range(1, max_leaves + 1):  # a tree with one leaf more has one step more
        tree = built(Kauri, given_X, centers, sample_weight=weight, max_leaves=size)
        labels, leaf = tree.predict(X), tree.apply(X)
        assert len(np.unique(leaf)) == tree.n_leaves <= size
        if size > 1:
            best, _ = least_cost(X, weight, leaves, k)
            if tree.n_leaves < size:
                assert best >= now - 1e-9
                break
            assert cost(X, weight, labels) == pytest.approx(best, abs=1e-9)
        now = cost(X, weight, labels)
        leaves = [(np.flatnonzero(leaf == one), tree.leaf_label[one]) for one in tree.leaves]


@pytest.mark.slow
def test_it_is_as_good_as_the_peer(digits, digits_reference):
    """Cost increases of gemclus 1.1.1 (see benchmarks/evidence/tables/peers.py)."""
    for leaves, peer in ((10, 19.08), (20, 10.79), (40, 6.13)):
        model = Kauri(10, max_leaves=leaves, reference=digits_reference).fit(digits)
        assert model.cost_increase_ <= peer + 0.005
    wine = StandardScaler().fit_transform(load_wine().data)
    for X, figures in ((load_iris().data, (9.57, 1.40)), (wine, (12.18, 0.12))):
        reference = KMeans(3, n_init=10, random_state=0).fit(X)
        for leaves, peer in zip((3, 6), figures, strict=True):
            model = Kauri(3, max_leaves=leaves, reference=reference).fit(X)
            assert model.cost_increase_ <= peer + 0.005


def test_ties_go_to_the_lowest_feature_and_threshold(rng):
    X = rng.integers(0, 5, (60, 2)).astype(float)
    copies = np.hstack([X, -X, X])
    tree = built(Kauri, copies, copies[:4], max_leaves=8)
    assert set(tree.used_features.tolist()) <= {0, 1}
    # Two blocks far apart with equal gaps inside: the lower cut comes first.
    line = np.array([[0.0], [1.0], [10.0], [11.0]])
    tree = built(Kauri, line, line[:3], max_leaves=3, midpoints=False)
    assert tree.threshold[tree.decision_nodes].tolist() == [1.0, 0.0]


@pytest.mark.slow
def test_far_from_the_origin_and_wide(rng):
    X = rng.integers(0, 8, (80, 3)).astype(float)
    near = built(Kauri, X, X[:4], max_leaves=9)
    far = built(Kauri, X + 2.0**24, X[:4] + 2.0**24, max_leaves=9)
    np.testing.assert_array_equal(near.predict(X), far.predict(X + 2.0**24))
    wide = rng.normal(size=(30, 200))  # more columns than rows: another basis, the same costs
    tree = built(Kauri, wide, wide[:3], max_leaves=2)
    best, _ = least_cost(wide[:, :8], np.ones(30), [(np.arange(30), 0)], 3)
    assert best < np.inf
    labels = tree.predict(wide)
    assert cost(wide, np.ones(30), labels) == pytest.approx(least_cost_of_one_cut(wide), rel=1e-12)


def least_cost_of_one_cut(X):
    ones = np.ones(len(X))
    return min(
        cost(X, ones, (X[:, feature] > value).astype(int))
        for feature in range(X.shape[1])
        for value in np.sort(X[:, feature])[:-1]
    )


def test_an_embedding_is_clustered(rng):
    X = rng.normal(size=(100, 3))
    space = np.where(X[:, [1]] > 0.3, 5.0, 0.0) + rng.normal(0, 0.1, (100, 2))
    for embedding in (space, sp.csr_matrix(space)):
        tree = built(Kauri, X, space[:2], embedding=embedding)
        assert tree.n_leaves == 2
        assert tree.used_features.tolist() == [1]


def test_heavy_tails_and_units(rng):
    X = rng.standard_cauchy(size=(500, 4))
    tree = built(Kauri, X, X[:5], max_leaves=12)
    assert len(np.unique(tree.predict(X))) == 5  # outliers; no cut of the rest would save anything
    scaled = built(Kauri, X * 2.0**-20, X[:5] * 2.0**-20, max_leaves=12)
    np.testing.assert_array_equal(scaled.predict(X * 2.0**-20), tree.predict(X))


def test_clusters_have_the_numbers_of_the_free_ones(blobs):
    reference = KMeans(4, n_init=10, random_state=0).fit(blobs)
    model = Kauri(4, reference=reference).fit(blobs)
    np.testing.assert_array_equal(model.labels_, reference.labels_)
    assert model.cost_increase_ == 0.0
    assert model.tree_.n_leaves == 4
