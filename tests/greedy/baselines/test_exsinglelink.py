"""Ex-SingleLink: spanning trees, cuts against all cuts, the bound, rows that coincide."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from greedy import ExSingleLink
from tao_cluster.objectives import Spacing, SpannedRows

SMALL = {"max_examples": 60, "deadline": None}


def squared_spacing(distances, labels):
    """Least squared distance between rows of different clusters."""
    return distances[labels[:, None] != labels].min(initial=np.inf)


def fitted(X, k, weight=None, embedding=None, **options):
    """A fitted model; clusters may be without rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ExSingleLink(k, **options).fit(X, sample_weight=weight, embedding=embedding)


def linked(X, k, **options):
    """The tree of a fit."""
    return fitted(X, k, **options).tree_


@st.composite
def rows(draw, most=14):
    """Few rows with whole coordinates: many ties, duplicates."""
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 3))
    values = st.integers(0, draw(st.sampled_from([1, 4, 12])))
    return draw(hnp.arrays(np.float64, (n, d), elements=values))


# ---------------------------------------------------------------- spanning trees, the objective


@pytest.mark.slow
@settings(**SMALL)
@given(rows(), st.data())
def test_edges_are_a_minimum_spanning_tree(X, data):
    n = len(X)
    squared = cdist(X, X, "sqeuclidean")
    # scipy reads zeros as missing edges.
    expected = np.sort(minimum_spanning_tree(squared + 1).data - 1)
    for form in (X, np.asfortranarray(X), X.astype(np.float32), sp.csr_matrix(X)):
        spanned = SpannedRows(form)
        edges = spanned.edges
        np.testing.assert_array_equal(edges.squared, expected)
        np.testing.assert_array_equal(squared[tuple(edges.ends.T)], edges.squared)
        assert len(set(edges.components(n))) == 1
        # Of some rows, the part of the tree between them is known.
        some = np.flatnonzero(data.draw(hnp.arrays(bool, n)))
        if len(some) == 0:
            continue
        inside = edges.some(np.isin(edges.ends, some).all(axis=1))
        joined = spanned.join(some, inside)
        own = minimum_spanning_tree(squared[np.ix_(some, some)] + 1).data - 1
        np.testing.assert_array_equal(joined.squared, np.sort(own))
        assert set(joined.ends.ravel()) <= set(some)


@pytest.mark.slow
@settings(**SMALL)
@given(rows(), st.integers(1, 5), st.data())
def test_the_free_clustering_is_single_linkage(X, k, data):
    objective, ones = Spacing(), np.ones(len(X))
    spanned, squared = objective.prepare(X), cdist(X, X, "sqeuclidean")
    labels = objective.free_labels(spanned, k, ones)
    n_distinct = len(np.unique(X, axis=0))
    assert list(np.unique(labels)) == list(range(min(k, n_distinct)))
    first = [np.flatnonzero(labels == c)[0] for c in np.unique(labels)]
    assert first == sorted(first)
    free = squared_spacing(squared, labels)
    assert objective.squared_spacing(spanned, labels, ones) == free
    if 1 < k <= n_distinct and len(X) > 1:
        theirs = fcluster(linkage(X, "single"), k, "maxclust")
        if len(np.unique(theirs)) == k:  # fewer where edges are equal
            assert free == squared_spacing(squared, theirs)
    # The spacing of any clustering, also beside rows of weight 0.
    some = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 2)))
    weight = data.draw(hnp.arrays(np.float64, len(X), elements=st.integers(0, 1)))
    kept = weight > 0
    if kept.any():
        expected = squared_spacing(squared[np.ix_(kept, kept)], some[kept])
        assert objective.squared_spacing(spanned, some, weight) == expected
        value = objective.value(spanned, some, weight, None)
        with np.errstate(divide="ignore"):
            assert value == 1 / np.sqrt(expected)


# ---------------------------------------------------------------- the tree


def widest_cut(X, squared, some):
    """(squared spacing, feature, threshold) of the first best cut of some rows, None if none."""
    cuts = [
        (-squared[np.ix_(some[left], some[~left])].min(), feature, threshold)
        for feature in range(X.shape[1])
        for threshold in np.unique(X[some, feature])[:-1]
        for left in [X[some, feature] <= threshold]
    ]
    return min(cuts, default=None)


def plain_leaves(X, squared, labels, k):
    """Algorithm 3, the leaf with the widest cut first: leaves as tuples of rows, cuts in order."""
    leaves, cuts = {0: np.arange(len(X))}, []
    number = 1
    while len(leaves) < k:
        found = {
            node: widest_cut(X, squared, some)
            for node, some in leaves.items()
            if len(set(labels[some])) > 1
        }
        found = {node: cut for node, cut in found.items() if cut is not None}
        if not found:
            break
        node = min(found, key=lambda node: (found[node][0], node))
        _, feature, threshold = found[node]
        some = leaves.pop(node)
        left = X[some, feature] <= threshold
        leaves[number], leaves[number + 1] = some[left], some[~left]
        number += 2
        cuts.append((feature, threshold))
    return leaves, cuts


@pytest.mark.slow
@settings(**SMALL)
@given(rows(), st.integers(1, 5), st.booleans())
def test_every_cut_leaves_the_largest_spacing(X, k, is_embedded):
    k = min(k, len(X))
    space = X[::-1].copy() if is_embedded else X
    embedding = space if is_embedded else None
    model = fitted(X, k, embedding=embedding, midpoints=False, ties="first")
    tree, labels = model.tree_, model.free_labels_
    squared = cdist(space, space, "sqeuclidean")
    leaves, cuts = plain_leaves(X, squared, labels, len(set(labels)))
    made = sorted(tree.decision_nodes, key=lambda node: tree.children_left[node])
    assert [(int(tree.split(node)[0][0]), tree.threshold[node]) for node in made] == cuts
    np.testing.assert_array_equal(np.unique(tree.apply(X)), sorted(leaves))
    assert len(set(tree.leaf_label[tree.leaves])) == tree.n_leaves
    if not is_embedded:
        assert tree.n_leaves == min(k, len(np.unique(X, axis=0)))


def test_the_bound_of_the_paper_holds():
    """Lemma 8: the spacing is at least the free one over n - k."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, d, k = rng.integers(6, 80), rng.integers(1, 5), rng.integers(2, 6)
        X = (rng.normal, rng.standard_cauchy, rng.random)[rng.integers(3)](size=(n, d))
        model = ExSingleLink(k).fit(X)
        assert model.spacing_ >= model.free_spacing_ / (n - k)
        squared = cdist(X, X, "sqeuclidean")
        assert model.spacing_ == pytest.approx(np.sqrt(squared_spacing(squared, model.labels_)))
        free = np.sqrt(squared_spacing(squared, model.free_labels_))
        assert model.free_spacing_ == pytest.approx(free)
        assert model.inertia_ == pytest.approx(1 / model.spacing_)
        price = model.free_spacing_ / model.spacing_
        assert model.cost_increase_ == pytest.approx(100 * (price - 1))
        assert model.score(X) == pytest.approx(-model.inertia_)


def test_separated_clusters_are_found(blobs):
    model = ExSingleLink(4).fit(blobs)
    assert model.cost_increase_ == 0
    np.testing.assert_array_equal(model.labels_, model.free_labels_)
    means = [blobs[model.labels_ == k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means)
    np.testing.assert_allclose(model.transform(blobs), cdist(blobs, means))
    assert model.cost_increase(blobs[::2]) == 0


def test_rows_that_differ_in_the_embedding_alone_stay_together():
    X = np.array([[0.0], [0.0], [5.0], [5.0]])
    low = np.array([[0.0], [9.0], [30.0], [31.0]])
    model = ExSingleLink(3).fit(X, embedding=low)
    assert model.tree_.n_leaves == 2  # single linkage parts the first two, X cannot
    assert model.spacing_ == 21
    assert model.free_spacing_ == 9
    assert model.cost_increase_ < 0


def test_rows_that_coincide_and_fewer_than_clusters():
    X = np.array([[0.0, 0], [0, 0], [3, 4], [3, 4]])
    with pytest.warns(ConvergenceWarning, match="Only 2 of 3 clusters have rows"):
        model = ExSingleLink(3).fit(X)
    assert set(model.labels_) == {0, 1}
    assert model.spacing_ == model.free_spacing_ == 5
    one = ExSingleLink(1).fit(X)
    assert (one.spacing_, one.inertia_, one.cost_increase_) == (np.inf, 0, 0)
    assert linked(X, 4).n_leaves == 2


def test_too_few_rows_get_a_message():
    with pytest.raises(ValueError, match="n_samples=1 should be >= n_clusters=2"):
        ExSingleLink(2).fit([[0.0], [1.0]], sample_weight=[1, 0])
    with pytest.raises(ValueError, match="'n_clusters' parameter of ExSingleLink"):
        ExSingleLink(0).fit([[0.0]])
