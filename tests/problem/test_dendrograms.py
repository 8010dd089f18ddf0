"""The nested partitions of given dendrograms."""

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, BisectingKMeans
from sklearn.neighbors import kneighbors_graph

from tao_cluster.dendrograms import levels_of

N, K = 60, 12


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3)) * [3, 1, 1]


def groups(labels):
    """The partition without its numbers: the first row of the cluster of each row."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def check_levels(levels):
    """Each level divides one cluster of the level above and keeps the number of the larger part."""
    assert levels.dtype == np.int32
    assert not levels[0].any()
    for k in range(1, len(levels)):
        above, level = levels[k - 1], levels[k]
        assert sorted(set(level[level >= 0])) == list(range(k + 1))
        (divided,) = set(above[level == k])
        is_elsewhere = above != divided
        np.testing.assert_array_equal(level[is_elsewhere], above[is_elsewhere])
        assert set(level[~is_elsewhere]) <= {-1, divided, k}
        kept, new = np.flatnonzero(level == divided), np.flatnonzero(level == k)
        assert (-len(kept), kept[0]) < (-len(new), new[0])


@pytest.mark.parametrize("method", ["ward", "complete", "average", "single", "centroid"])
def test_levels_of_a_linkage_are_those_of_scipy_and_scikit_learn(X, method):
    merges = linkage(X, method)
    levels = levels_of(merges, N, N)
    check_levels(levels)
    np.testing.assert_array_equal(levels_of(merges.tolist(), N, 5), levels[:5])
    if method == "centroid":  # its heights decrease in places, and fcluster cuts at heights
        return
    for k, level in enumerate(levels[:-2], 1):  # SciPy 1.12 has no cut with N - 1 or N clusters
        expected = fcluster(merges, k, "maxclust")
        np.testing.assert_array_equal(groups(level), groups(expected))
    model = AgglomerativeClustering(3, linkage=method).fit(X)
    np.testing.assert_array_equal(levels_of(model, N, N), levels)


@pytest.mark.parametrize("connectivity", [False, True])
def test_levels_of_agglomerative_clustering_are_its_labels(X, connectivity):
    graph = kneighbors_graph(X, 8) if connectivity else None
    graph = None if graph is None else graph + graph.T
    full = AgglomerativeClustering(None, distance_threshold=2.0, connectivity=graph).fit(X)
    levels = levels_of(full, N, K)
    check_levels(levels)
    for k, level in enumerate(levels, 1):
        labels = AgglomerativeClustering(k, connectivity=graph).fit_predict(X)
        np.testing.assert_array_equal(groups(level), groups(labels))


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_levels_of_bisecting_k_means_are_the_labels_of_fits_with_fewer_clusters(X, strategy):
    def fitted(k):
        return BisectingKMeans(k, random_state=0, bisecting_strategy=strategy).fit(X)

    levels = levels_of(fitted(7), N, 7)
    check_levels(levels)
    for k, level in enumerate(levels[:-1], 1):
        model = fitted(k)
        np.testing.assert_array_equal(groups(level), groups(model.labels_))
        np.testing.assert_array_equal(levels_of(model, N, k), levels[:k])


class CondensedTree:
    """The methods of the condensed tree of hdbscan that are used."""

    def __init__(self, table):
        self.to_pandas = lambda: table
        self.to_numpy = lambda: table.to_records(index=False)


def test_levels_of_a_condensed_tree():
    # Rows 0 to 9; row 9 leaves the root 10, and row 8 leaves the cluster 11, before they divide.
    edges = [(10, 9, 0.5), (10, 11, 1.0), (10, 12, 1.0), (11, 8, 1.5), (11, 13, 3.0), (11, 14, 3.0)]
    edges += [(12, 15, 2.0), (12, 16, 2.0), *((13, row, 4.0) for row in (0, 1))]
    edges += [(14, 2, 4.0), (14, 3, 4.0), (15, 4, 2.5), (16, 5, 9.0), (16, 6, 9.0), (16, 7, np.inf)]
    table = pd.DataFrame(edges, columns=["parent", "child", "lambda_val"])
    expected = [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 1, 0, -1],
        [0, 0, 0, 0, 2, 1, 1, 1, 0, -1],
        [0, 0, 3, 3, 2, 1, 1, 1, -1, -1],
    ]
    model = HDBSCAN(copy=True)
    model.condensed_tree_ = CondensedTree(table)
    for reference in (table, model, model.condensed_tree_, model.condensed_tree_.to_numpy()):
        np.testing.assert_array_equal(levels_of(reference, 10, 4), expected)
        np.testing.assert_array_equal(levels_of(reference, 10, 2), expected[:2])
    check_levels(np.array(expected, dtype=np.int32))


def test_what_cannot_be_read_raises_one_message(X):
    graph = kneighbors_graph(X, 8)
    part = AgglomerativeClustering(20, connectivity=graph + graph.T, compute_full_tree=False)
    twice = BisectingKMeans(4, random_state=0).fit(np.repeat([[0.0], [1.0], [5.0]], 20, axis=0))
    for reference, n_rows, n_clusters, message in [
        (linkage(X), N + 1, 3, "has 60 rows, but the data have 61"),
        (linkage(X), N, N + 1, "n_clusters=61 must be an integer from 1 to 60"),
        (linkage(X), N, 2.0, "n_clusters=2.0 must be an integer"),
        (BisectingKMeans(3).fit(X), N, 4, "an integer from 1 to 3"),
        (twice, N, 4, "Division 3 .* without rows; use n_clusters=3"),
        (part.fit(X), N, 3, "stopped after 40 of 59 merges; fit it with compute_full_tree=True"),
        (HDBSCAN(copy=True).fit(X), N, 3, "The HDBSCAN of scikit-learn stores no tree"),
        (AgglomerativeClustering(), N, 3, "from the AgglomerativeClustering. Give a linkage"),
        (X, N, 3, "from the ndarray. Give a linkage matrix"),
        ("ward", N, 3, "from the str. Give"),
    ]:
        with pytest.raises(ValueError, match=message):
            levels_of(reference, n_rows, n_clusters)
