"""DPTree: its search trees against all search trees, its tree against plain code, its bounds."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from greedy import DPTree

SMALL = {"max_examples": 80, "deadline": None}
METRICS = {"kmeans": "sqeuclidean", "kmedians": "cityblock"}
POWERS = {"kmeans": 2, "kmedians": 1}
OBJECTIVES = st.sampled_from(sorted(POWERS))


def test_roots_do_not_move_with_their_range():
    """Why Knuth's speed-up does not serve: it looks between the roots of the shorter ranges.

    The root of the ranges 0..3 and 1..4 are the cuts 1 and 2; that of 0..4 is the cut 0.
    """
    centers, parted = np.array([[0.0], [1], [4], [7], [8]]), [1, 5, 5, 4]
    options = {"objective": "kmedians", "midpoints": False, "ties": "first"}

    def root(first, last):
        """The first cut; a row at centre j + 1 that belongs to j is parted by the cut j alone."""
        some = np.arange(first, last)
        terms = {"labels": some - first, "sample_weight": np.array(parted)[some]}
        X = centers[first + 1 : last + 1]
        return built(DPTree, X, centers[first : last + 1], **terms, **options).threshold[0]

    assert (root(0, 3), root(0, 4), root(1, 4)) == (2.5, 0.5, 5.5)


# ---------------------------------------------------------------- the tree


@st.composite
def problems(draw):
    """Few rows and centres with whole coordinates: ties, duplicates, weights of 0."""
    n, d, k = draw(st.integers(1, 12)), draw(st.integers(1, 3)), draw(st.integers(1, 5))
    values = st.integers(0, draw(st.sampled_from([1, 3, 8])))
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    centers = draw(hnp.arrays(np.float64, (k, d), elements=values))
    weight = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 3)))
    weight[0] += 1
    return X, centers, weight


def plain_search_tree(X, centers, weight, labels, feature, power):
    """Root of any range of the centres in the order of a feature: (first, last) -> threshold."""
    order = sorted(range(len(centers)), key=lambda c: (centers[c, feature], c))
    places = [Fraction(centers[c, feature]) for c in order]

    def parted(j):
        middle = float((places[j] + places[j + 1]) / 2)
        return int(weight[(X[:, feature] <= middle) != (own <= middle)].sum())

    own = centers[labels, feature]

    @cache
    def best(a, b):
        options = [
            (parted(j) * (places[b] - places[a]) ** power + best(a, j)[0] + best(j + 1, b)[0], j)
            for j in range(a, b)
            if places[j] < places[j + 1]
        ]
        return min(options, default=(0, None))

    return order, places, best


def plain_tree(X, centers, weight, objective):
    """Algorithm 2: {centres of a node: (feature, threshold), or the label of a leaf}."""
    labels = cdist(X, centers, METRICS[objective]).argmin(axis=1)
    nodes, todo = {}, [tuple(range(len(centers)))]
    while todo:
        some = todo.pop()
        extent = np.ptp(centers[list(some)], axis=0)
        if extent.max() == 0:
            nodes[some] = some[0]
            continue
        feature = int(extent.argmax())
        order, places, best = plain_search_tree(
            X, centers, weight, labels, feature, POWERS[objective]
        )
        ranks = [order.index(c) for c in some]
        a, b = 0, len(centers) - 1
        while True:  # down to the node that is the first to part them
            j = best(a, b)[1]
            if max(ranks) <= j:
                b = j
            elif min(ranks) > j:
                a = j + 1
            else:
                break
        threshold = float((places[j] + places[j + 1]) / 2)
        nodes[some] = (feature, threshold)
        left = tuple(c for c in some if centers[c, feature] <= threshold)
        todo += [left, tuple(c for c in some if c not in left)]
    return nodes


def nodes_of(tree, centers):
    """The same for a Tree."""
    nodes, todo = {}, [(0, tuple(range(len(centers))))]
    while todo:
        node, some = todo.pop()
        if tree.children_left[node] < 0:
            nodes[some] = tree.leaf_label[node]
            continue
        (feature,), threshold = tree.split(node)[0], tree.threshold[node]
        nodes[some] = (feature, threshold)
        left = tuple(c for c in some if centers[c, feature] <= threshold)
        todo.append((tree.children_left[node], left))
        todo.append((tree.children_right[node], tuple(c for c in some if c not in left)))
    return nodes


@pytest.mark.slow
@settings(**SMALL)
@given(problems(), OBJECTIVES)
def test_the_tree_is_that_of_the_paper(problem, objective):
    X, centers, weight = problem
    tree = built(
        DPTree, X, centers, objective=objective, sample_weight=weight, midpoints=False, ties="first"
    )
    assert nodes_of(tree, centers) == plain_tree(X, centers, weight, objective)


@pytest.mark.parametrize("objective", ["kmeans", "kmedians"])
def test_the_bounds_of_the_paper_hold(objective):
    """Theorems 3 and 4, with the reference centres."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, d, k = rng.integers(20, 80), rng.integers(1, 4), rng.integers(2, 9)
        draw = (rng.normal, rng.standard_cauchy, rng.random)[rng.integers(3)]
        X = draw(size=(n, d))
        centers = X[rng.choice(n, k, replace=False)]
        distances = cdist(X, centers, METRICS[objective])
        free = distances.min(axis=1).sum()
        labels = built(DPTree, X, centers, objective=objective).predict(X)
        cost = distances[np.arange(n), labels].sum()
        factor = 4 * d * np.log2(k) * (k if objective == "kmeans" else 1)
        assert cost <= (1 + factor) * free


def test_only_features_that_cut_are_looked_at(rng):
    """Wide data: a search tree for at most k - 1 of 3000 features, and the tree of those alone."""
    X = rng.normal(size=(60, 3000))
    centers = KMeans(4, n_init=1, random_state=0).fit(X).cluster_centers_
    tree = built(DPTree, X, centers)
    used = tree.used_features
    assert len(used) <= 3
    labels = cdist(X, centers).argmin(axis=1)
    small = built(DPTree, X[:, used], centers[:, used], labels=labels)
    np.testing.assert_array_equal(small.predict(X[:, used]), tree.predict(X))


def test_neighbouring_floats_are_parted():
    low = 1.0
    high = np.nextafter(low, 2)
    tree = built(DPTree, [[low], [high]], [[low], [high]], midpoints=False, ties="first")
    np.testing.assert_array_equal(tree.predict([[low], [high]]), [0, 1])
