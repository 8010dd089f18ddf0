"""Noisy copies of few rows: what they are, and what does not change them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs

from tao_cluster.objectives import ByDistances, KMeans, KMedoids, Labels, SphericalKMeans
from tao_cluster.problem.copies import Noise, _donors, with_noisy_copies
from tao_cluster.problem.problem import Problem

BLOBS = make_blobs(120, 4, centers=3, random_state=0)[0]
CENTERS = np.array([BLOBS[:40].mean(axis=0), BLOBS[40:80].mean(axis=0), BLOBS[80:].mean(axis=0)])
DIGITS = load_digits().data[:300]


NOISE = Noise(size=0.3, share=0.3)


def smoothed(problem, n_copies, noise=NOISE):
    return with_noisy_copies(problem, n_copies, noise)


def problem_of(X=BLOBS, weight=None, space=None, objective=None, centers=CENTERS):
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=float)
    space = X if space is None else space
    return Problem.from_centers(np.asarray(centers, float), X, space, weight, objective or KMeans())


def sorted_rows(X):
    return X[np.lexsort(X.T)]


def test_copies_are_rows_with_a_part_of_the_difference_of_two_of_one_cluster():
    problem = problem_of()
    many = smoothed(problem, 3)
    assert many.n_rows == 4 * problem.n_rows
    np.testing.assert_array_equal(many.X[:120], BLOBS)
    np.testing.assert_array_equal(many.free.labels[:120], problem.free.labels)
    labels, is_own = problem.free.labels, []
    for row, copy in enumerate(many.X[120:240]):
        gaps = []
        for cluster in range(3):
            rows = BLOBS[labels == cluster]
            noise = 0.3 * (rows[:, None] - rows[None])
            gaps.append(np.abs(noise - (copy - BLOBS[row])).sum(axis=2).min())
        assert min(gaps) < 1e-9
        is_own.append(gaps[labels[row]] < 1e-9)
    assert 0.85 < np.mean(is_own) < 1  # a few differences come from other clusters
    # They are no repeats of each other.
    assert len(np.unique(many.X.round(9), axis=0)) > 450


def test_the_two_rows_of_a_difference_are_independent():
    X = np.arange(200.0)[:, None]
    donors = _donors(problem_of(X, centers=[[100.0]]), 16)
    for rows in (donors[::2], donors[1::2]):
        assert np.bincount(rows.ravel(), minlength=200).std() < np.sqrt(8)  # all rows serve
    assert abs(np.corrcoef(donors[::2].ravel(), donors[1::2].ravel())[0, 1]) < 0.1


def test_a_cluster_of_one_row_gets_noise_from_other_clusters():
    X = np.append(BLOBS, [[50.0, 50.0, 50.0, 50.0]], axis=0)
    many = smoothed(problem_of(X, centers=[*CENTERS, X[-1]]), 8)
    copies = many.X[241::121]
    assert (many.free.labels[120::121] == 3).all()
    assert 4 <= np.any(copies != X[-1], axis=1).sum() <= 7  # one of six keeps its own, no noise


@pytest.mark.parametrize("n_columns", [4, 2])
def test_copies_keep_the_values_of_some_columns(n_columns):
    problem = problem_of()
    if n_columns == 2:
        problem = problem_of(space=BLOBS[:, :2], centers=CENTERS[:, :2])
    problem = replace(problem, unperturbed=(np.array([1, 3]), np.array([1])))
    many = smoothed(problem, 2)
    np.testing.assert_array_equal(many.X[:, [1, 3]], np.tile(BLOBS[:, [1, 3]], (3, 1)))
    assert (many.X[120:, 0] != np.tile(BLOBS[:, 0], 2)).mean() > 0.9
    np.testing.assert_array_equal(many.space, many.X[:, :n_columns])


def test_rows_keep_the_free_labels_that_they_have():
    problem = problem_of()
    labels = (problem.free.labels + 1) % 3
    moved = replace(problem, free=replace(problem.free, labels=labels))
    np.testing.assert_array_equal(smoothed(moved, 1).free.labels[:120], labels)


def test_weight_stays_and_most_of_it_is_that_of_the_rows():
    weight = np.random.RandomState(0).uniform(0.5, 2, 120)
    many = smoothed(problem_of(weight=weight), 3)
    assert many.weight.sum() == pytest.approx(weight.sum())
    np.testing.assert_allclose(many.weight[:120], 0.7 * weight)
    np.testing.assert_allclose(many.weight[120:], np.tile(0.1 * weight, 3))
    assert many.free.inertia == pytest.approx(
        many.objective.value(many.data, many.free.labels, many.weight, many.free.centers)
    )


def test_a_row_of_weight_two_is_two_rows():
    weight = np.where(np.arange(120) % 3 == 0, 2, 1)
    weighted = smoothed(problem_of(weight=weight), 2)
    repeated = smoothed(problem_of(np.repeat(BLOBS, weight, axis=0)), 2)
    for a, b in ((weighted, repeated), (repeated, weighted)):
        gap = np.abs(a.X[:, None] - b.X[None]).sum(axis=2).min(axis=1)
        assert gap.max() == 0
    assert weighted.free.inertia == pytest.approx(repeated.free.inertia, rel=1e-12)


def test_neither_the_order_of_rows_nor_their_storage_changes_the_copies():
    order = np.random.RandomState(0).permutation(120)
    some, other = smoothed(problem_of(), 2), smoothed(problem_of(BLOBS[order]), 2)
    np.testing.assert_array_equal(sorted_rows(some.X), sorted_rows(other.X))
    centers = DIGITS[:10]
    dense = smoothed(problem_of(DIGITS, centers=centers), 2)
    sparse = smoothed(problem_of(sp.csr_matrix(DIGITS), centers=centers), 2)
    assert sparse.X.has_canonical_format
    np.testing.assert_allclose(sparse.X.toarray(), dense.X, atol=1e-12)
    single = smoothed(problem_of(DIGITS.astype(np.float32), centers=centers), 2)
    assert single.X.dtype == np.float32
    np.testing.assert_allclose(single.X, dense.X, atol=1e-5)


@pytest.mark.parametrize("stored", [np.array, sp.csr_matrix])
def test_the_order_of_columns_does_not_change_the_copies(stored):
    X = np.column_stack([BLOBS, np.sort(BLOBS[:, 0])])  # two columns with an equal range and mean
    X[60, 4] += 0.1  # now with another mean
    order, centers = [3, 0, 4, 2, 1], X[[0, 50, 110]]
    plain = smoothed(problem_of(stored(X), centers=centers), 2).X
    other = smoothed(problem_of(stored(X[:, order]), centers=centers[:, order]), 2).X
    if sp.issparse(plain):
        plain, other = plain.toarray(), other.toarray()
    np.testing.assert_array_equal(other, plain[:, order])


def test_there_are_no_copies_of_many_rows_or_values(monkeypatch):
    problem = problem_of()
    assert smoothed(problem, 0) is problem
    monkeypatch.setattr("tao_cluster.problem.copies._MOST_ROWS", 370)
    assert smoothed(problem, 9).n_rows == 360
    monkeypatch.setattr("tao_cluster.problem.copies._MOST_VALUES", 2 * BLOBS.size - 1)
    assert smoothed(problem, 9) is problem


def test_an_embedding_has_the_same_donors():
    space = 2.0 * BLOBS[:, :2]
    many = smoothed(problem_of(space=space, centers=2 * CENTERS[:, :2]), 2)
    np.testing.assert_allclose(many.space, 2.0 * many.X[:, :2])


def test_copies_have_the_given_labels_of_their_rows():
    y = np.arange(120.0)[:, None] % 3
    y[:5] = -1
    problem = problem_of(space=y, objective=Labels(), centers=[[0], [1], [2]])
    many = smoothed(problem, 2)
    np.testing.assert_array_equal(many.data, np.tile(problem.data, 3))


class Codes(ByDistances):
    """k-modes, which takes whole numbers only; it does not say whether rows can be perturbed."""

    n_init = 1

    def prepare(self, X):
        if (np.floor(X) != X).any():
            raise ValueError("codes must be whole numbers")
        return X

    def distances(self, data, centers):
        return (data[:, None] != centers[None]).sum(axis=2) * 1.0

    def update_centers(self, data, labels, weight, centers):
        return np.array([np.round(data[labels == k].mean(axis=0)) for k in range(len(centers))])


@pytest.mark.parametrize("objective", [KMedoids("precomputed"), KMedoids("hamming"), Codes()])
def test_codes_and_dissimilarities_are_not_perturbed(objective):
    X = np.random.RandomState(0).randint(0, 3, (40, 40)).astype(float)
    X = np.where(np.eye(40, dtype=bool), 0.0, X)
    problem = problem_of(X, objective=objective, centers=np.eye(40)[:3])
    assert smoothed(problem, 2) is problem
    with_features = problem_of(BLOBS[:40], space=X, objective=objective, centers=np.eye(40)[:3])
    assert smoothed(with_features, 2) is with_features


@pytest.mark.filterwarnings("error")
def test_where_copies_mean_nothing_there_are_none():
    huge = problem_of(BLOBS * 2.0**500, centers=CENTERS * 2.0**500)
    assert smoothed(huge, 2).n_rows in (120, 360)  # not an error
    vast = problem_of(np.array([[0.8e154], [-0.8e154], [0.0]]), centers=[[0.0]])
    assert smoothed(vast, 2) is vast  # squares of copies overflow
    twice = problem_of(centers=[*CENTERS, CENTERS[0]])
    assert smoothed(twice, 2) is twice  # a cluster has no rows
    same = smoothed(problem_of(np.ones((5, 4))), 2)
    np.testing.assert_array_equal(same.X, 1)
    ring = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert smoothed(problem_of(ring, objective=SphericalKMeans(), centers=ring), 2).n_rows == 9
