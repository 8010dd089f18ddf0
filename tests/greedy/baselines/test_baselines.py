"""KDTree, CUBT and CLTree: cuts against plain searches, pruning, joining, and numbers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_iris, make_blobs
from sklearn.tree import DecisionTreeClassifier

from greedy import CUBT, CLTree, KDTree
from greedy.baselines.cltree import CutDensity, prune_stepwise
from greedy.baselines.cubt import dissimilarity
from greedy.baselines.leaf_clusters import deviance, merge_closest
from greedy.builder_input import BuilderInput
from tao_cluster.reference import match_labels
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth

SMALL = {"max_examples": 30, "deadline": None}


@st.composite
def tables(draw):
    """Few rows with whole coordinates (ties, duplicates, zeros, negative ones) and weights."""
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    X = draw(hnp.arrays(np.float64, (n, d), elements=st.integers(-3, 3)))
    return X, draw(hnp.arrays(np.int64, n, elements=st.integers(0, 3)).filter(np.any))


def points_of(X, weight):
    return BuilderInput.from_centers(X, np.zeros((1, X.shape[1])), sample_weight=weight)


def spread(X, weight):
    mean = np.average(X, axis=0, weights=weight)
    return float(weight @ ((X - mean) ** 2).sum(axis=1))


# ---------------------------------------------------------------- CUBT


@pytest.mark.slow
@settings(**SMALL)
@given(tables())
def test_deviance_cuts_are_the_best(table):
    X, weight = table
    X, weight = X[weight > 0], weight[weight > 0].astype(float)
    whole, best = spread(X, weight), {}
    for f in range(X.shape[1]):
        for threshold in np.unique(X[:, f])[:-1]:
            left = X[:, f] <= threshold
            parts = sum(spread(X[s], weight[s]) for s in (left, ~left))
            best[f, threshold] = whole - parts
    options = {"max_leaves": 2, "min_size": 0, "min_dev": 0, "midpoints": False, "ties": "first"}
    for form in (X, sp.csr_matrix(X)):
        tree = built(CUBT, form, X[:2], sample_weight=weight, **options)
        if tree.n_leaves == 1:
            assert max(best.values(), default=0) < 1e-9 or len(X) == 1
            continue
        most = max(best.values())
        first = min(key for key, gain in best.items() if gain > most - 1e-10 * whole)
        assert (tree.split(0)[0][0], tree.threshold[0]) == first


@pytest.mark.sweep
def test_cubt_respects_its_limits():
    X = make_blobs(120, centers=6, random_state=0)[0]
    centers = X  # as many clusters as rows: no leaves are joined
    assert built(CUBT, X, centers, max_leaves=1).n_leaves == 1
    assert built(CUBT, X, centers, max_leaves=4).n_leaves == 4
    assert built(CUBT, X, centers, max_leaves=120, min_dist=1e9).n_leaves == 1
    total = spread(X, np.ones(len(X)))
    tree = built(CUBT, X, centers, max_leaves=120, min_dev=0.02, midpoints=False, ties="first")
    leaf = tree.apply(X)
    rows = {node: np.isin(leaf, _below(tree, node)) for node in range(tree.n_nodes)}
    for node in tree.decision_nodes:
        parts = [rows[child] for child in (tree.children_left[node], tree.children_right[node])]
        saved = spread(X[rows[node]], np.ones(rows[node].sum()))
        saved -= sum(spread(X[part], np.ones(part.sum())) for part in parts)
        assert saved >= 0.02 * total * (1 - 1e-9)
    coarse = built(CUBT, X, centers, max_leaves=120, min_size=60)
    assert coarse.n_leaves < built(CUBT, X, centers, max_leaves=120, min_size=8).n_leaves


def _below(tree, node):
    if tree.children_left[node] < 0:
        return [node]
    sides = tree.children_left[node], tree.children_right[node]
    return [leaf for side in sides for leaf in _below(tree, side)]


def test_dissimilarity_is_the_mean_of_the_smallest_distances():
    X = np.array([[0.0], [1.0], [4.0], [6.0], [9.0]])
    left, right = np.array([0, 1]), np.array([2, 3, 4])
    points = points_of(X, None)
    assert dissimilarity(points, left, right, 1.0) == (3 + 5 + 8) / 3
    assert dissimilarity(points, left, right, 0.5) == pytest.approx((3 + 0.5 * 5) / 1.5)
    weighted = points_of(X, [1, 1, 2, 1, 1])
    assert dissimilarity(weighted, left, right, 0.5) == 3.0
    assert dissimilarity(weighted, left, right, 1.0) == (2 * 3 + 5 + 8) / 4


@pytest.mark.slow
@settings(**SMALL)
@given(tables(), st.integers(1, 4))
def test_joins_lose_the_least_deviance(table, n_clusters):
    X, weight = table
    X, weight = X[weight > 0], weight[weight > 0].astype(float)
    points = points_of(X, weight)
    members = [[row] for row in range(len(X))]
    group, means = merge_closest([deviance(points, np.array(m)) for m in members], n_clusters)
    assert len(means) == min(n_clusters, len(X)) == len(set(group))
    joint = [deviance(points, np.flatnonzero(group == g)) for g in range(len(means))]
    for mean, (_, expected, _) in zip(means, joint, strict=True):
        np.testing.assert_allclose(mean, expected, atol=1e-9)
    if len(X) == n_clusters + 1:  # one join: the least of all
        lost = min(spread(X[[a, b]], weight[[a, b]]) for a in range(len(X)) for b in range(a))
        assert sum(found[2] for found in joint) == pytest.approx(lost)


# ---------------------------------------------------------------- CLTree


def bits(y, n):
    total = y + n
    return sum(-p * np.log2(p / total) for p in (y, n) if p > 0)


def plain_cut(x, w, low, high, density):
    """The best (place, whether rows at it go right) of a part, from rows; None if no gain."""
    inside = (high - low) * density
    best = None
    for value in np.unique(x):
        for goes_right in (True, False):
            left = x < value if goes_right else x <= value
            if (value == low and not left.any()) or (value == high and left.all()):
                continue
            y, n = w[left].sum(), (value - low) * density
            gain = bits(w.sum(), inside) - bits(y, n) - bits(w.sum() - y, inside - n)
            if gain > 1e-12 * (w.sum() + inside) and (best is None or gain > best[0] * (1 + 1e-12)):
                best = (gain, value, goes_right)
    return best and best[1:]


def halves(part, cut):
    x, w, low, high = part
    left = x < cut[0] if cut[1] else x <= cut[0]
    return (x[left], w[left], low, cut[0]), (x[~left], w[~left], cut[0], high)


def plain_look_ahead(x, w, low, high, density):
    """evaluateCuts for one feature, word by word: (density beside the cut, cut)."""

    def relative(part):
        return part[1].sum() / ((part[3] - part[2]) * density) if part[3] > part[2] else np.inf

    def cut_of(part):
        return plain_cut(*part, density)

    first = cut_of((x, w, low, high))
    if first is None:
        return None
    left, right = halves((x, w, low, high), first)
    is_left = relative(left) <= relative(right)
    sparse = left if is_left else right
    second = cut_of(sparse)
    if second is None:
        return relative(sparse), first
    parts = halves(sparse, second)
    outer, between = parts if is_left else parts[::-1]
    if relative(between) > relative(outer):
        return relative(outer), second
    third = cut_of(between)
    if third is None:
        return relative(between), second
    return min(relative(part) for part in halves(between, third)), third


@pytest.mark.slow
@settings(**SMALL)
@given(tables(), st.floats(1.0, 4.0))
def test_density_cuts_look_ahead_as_the_paper_says(table, times):
    X, weight = table
    for form in (X, sp.csr_matrix(X)):
        points = points_of(form, weight)
        rule = CutDensity(points, 0.0)
        box = rule.root()
        scale = rule.mass[points.rows].sum() / weight.sum()
        n_uniform = times * box.n_rows
        got = rule.search(replace(box, n_uniform=float(n_uniform)))
        expected = []
        kept = weight > 0
        for f in range(X.shape[1]):
            x, w = X[kept, f], weight[kept] * scale
            if x.min() < x.max():
                length = x.max() - x.min()
                found = plain_look_ahead(x, w, x.min(), x.max(), n_uniform / length)
                if found is not None:
                    at, goes_right = found[1]
                    threshold = np.nextafter(at, -np.inf) if goes_right else at
                    expected.append((np.float32(found[0]), f, threshold))
        if not expected:
            assert got is None
            continue
        least = min(expected)[0]
        near = [cut[1:] for cut in expected if cut[0] == pytest.approx(least, rel=1e-6)]
        assert (got.feature, got.threshold) in near


def test_cltree_finds_dense_regions_among_sparse_rows():
    rng = np.random.default_rng(0)
    dense = [rng.uniform(0, 1, (200, 2)) + at for at in ([0, 0], [8, 8], [0, 8])]
    X = np.concatenate([*dense, rng.uniform(0, 9, (12, 2))])
    labels = np.repeat([0, 1, 2], 200)
    centers = np.array([part.mean(axis=0) for part in dense])
    tree = built(CLTree, X, centers)
    assert (tree.predict(X)[:600] == labels).mean() > 0.95
    order = [2, 0, 1]  # the reference gives the numbers
    again = built(CLTree, X, centers[order])
    np.testing.assert_array_equal(np.array(order)[again.predict(X)], tree.predict(X))


@pytest.mark.slow
def test_cltree_prunes():
    X = load_iris().data
    many = {"max_leaves": 1000, "min_y": 0.0}
    centers = X  # no regions are joined for lack of clusters
    sizes = [built(CLTree, X, centers, min_rd=r, **many).n_leaves for r in (100.0, 1.0, 0.1, 0.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    few = built(CLTree, X, centers, min_y=0.5, min_rd=100.0, max_leaves=1000)
    assert few.n_leaves < sizes[0]
    assert built(CLTree, X, centers, min_split=0.5, **many).n_leaves < sizes[0]
    rule = CutDensity(points_of(X, np.ones(len(X))), 1.0)
    assert rule.upper_bound(rule.root()) > 0  # the root has all rows


def test_regions_of_few_rows_are_no_leaves():
    dense = np.linspace(0.0, 1.0, 50)
    X = np.concatenate([dense, dense + 8, [30.0]])[:, None]
    assert built(CLTree, X, X[[25, 75, 100]], min_y=0.0).predict([[30.0]]) == [2]
    tree = built(CLTree, X, X[[25, 75, 100]], min_y=0.05)
    assert tree.predict([[0.5], [8.5], [30.0]]).tolist() == [0, 1, 1]


@pytest.mark.slow
@settings(**SMALL)
@given(tables(), st.integers(0, 3))
def test_the_cheapest_pair_of_leaves_is_merged_first(table, seed):
    X, weight = table
    points = points_of(X, weight)
    rows = points.rows
    tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=seed).fit(
        X[rows], np.random.default_rng(seed).integers(0, 3, len(rows))
    )
    growth = grown_of(tree)
    if growth.n_leaves < 2:
        return
    leaf, label = tree.apply(X[rows]), np.array(growth.label)
    w = points.weight[rows][:, None]
    known = np.unique(label[leaf])
    parts = [label[leaf] == c for c in known]
    means = [np.average(X[rows][part], axis=0, weights=w[part, 0]) for part in parts]
    paid = w * ((X[rows][:, None] - np.array(means)) ** 2).sum(axis=2)
    losses = {}
    for node, (left, right) in enumerate(zip(growth.left, growth.right, strict=True)):
        if left >= 0 and growth.left[left] < 0 and growth.left[right] < 0:
            before = sum(paid[leaf == c, known == label[c]].sum() for c in (left, right))
            losses[node] = paid[np.isin(leaf, (left, right))].sum(axis=0).min() - before
    kept = prune_stepwise(points, growth, growth.n_leaves - 1)
    assert kept.n_leaves < growth.n_leaves
    found = kept.to_tree(X.shape[1])
    after = paid[np.arange(len(rows)), np.searchsorted(known, found.predict(X[rows]))].sum()
    before = paid[np.arange(len(rows)), np.searchsorted(known, label[leaf])].sum()
    assert after - before == pytest.approx(min(losses.values()), abs=1e-6)


def grown_of(fitted):
    """The growth of a tree of scikit-learn's."""
    tree, growth = fitted.tree_, Growth()
    growth.left, growth.right = tree.children_left.tolist(), tree.children_right.tolist()
    growth.label = tree.value[:, 0].argmax(axis=1).tolist()
    growth.splits = [
        Split.from_feature(f, t) if f >= 0 else None
        for f, t in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)
    ]
    return growth


# ---------------------------------------------------------------- KDTree


@pytest.mark.slow
@settings(**SMALL)
@given(tables())
def test_kd_cuts_are_medians_of_the_widest_feature(table):
    X, weight = table
    tree = built(KDTree, X, X[:2], max_leaves=2, sample_weight=weight, midpoints=False)
    X, weight = X[weight > 0], weight[weight > 0]
    if len(np.unique(X, axis=0)) == 1:
        assert tree.n_leaves == 1
        return
    mean = np.average(X, axis=0, weights=weight)
    variance = np.round(np.average((X - mean) ** 2, axis=0, weights=weight), 9)
    feature = int(variance.argmax())
    values = np.unique(X[:, feature])[:-1]
    uneven = [abs(2 * weight[X[:, feature] <= v].sum() - weight.sum()) for v in values]
    assert tree.split(0)[0].tolist() == [feature]
    assert tree.threshold[0] == values[int(np.argmin(uneven))]


@pytest.mark.slow
def test_kd_leaves_get_the_label_of_least_surrogate_cost(digits, digits_reference):
    centers = digits_reference.cluster_centers_
    tree = built(KDTree, digits, centers, max_leaves=16)
    assert tree.n_leaves == 16
    leaf = tree.apply(digits)
    for node in tree.leaves:
        rows = digits[leaf == node]
        costs = ((rows[:, None] - centers) ** 2).sum(axis=(0, 2))
        assert costs[tree.leaf_label[node]] == pytest.approx(costs.min())
    balanced = built(KDTree, np.arange(64.0)[:, None], np.arange(2.0)[:, None], max_leaves=8)
    assert set(balanced.depth[balanced.leaves]) == {3}


# ---------------------------------------------------------------- what all share


# ---------------------------------------------------------------- numbers


@pytest.mark.slow
@given(st.integers(1, 5), st.data())
def test_matching_is_the_best_permutation(k, data):
    pairs = data.draw(hnp.arrays(np.int64, (12, 2), elements=st.integers(-1, k - 1)))
    weight = data.draw(hnp.arrays(np.int64, 12, elements=st.integers(0, 3)))
    labels, free = pairs.T
    number = match_labels(labels, free, k, weight)
    assert sorted(number) == list(range(k))
    has_both = (labels >= 0) & (free >= 0)
    labels, free, weight = labels[has_both], free[has_both], weight[has_both]
    agreed = weight[number[labels] == free].sum()
    for swap in range(k):
        other = number.copy()
        other[[0, swap]] = other[[swap, 0]]
        assert weight[other[labels] == free].sum() <= agreed


def test_labels_out_of_range_raise():
    with pytest.raises(ValueError, match=r"must lie in 0\.\.1"):
        match_labels([0, 2], [0, 1], 2)
