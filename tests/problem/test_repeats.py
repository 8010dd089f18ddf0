"""Merging of repeated rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from tao_cluster.problem.repeats import distinct_rows


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sp.csr_matrix])
def test_distinct_rows_of_small_numbers(rng, form):
    X, weight = rng.integers(0, 2, (300, 5)).astype(float), rng.integers(1, 4, 300).astype(float)
    data = form(X)
    rows, merged, group = distinct_rows(data, data, weight)
    found, inverse = np.unique(X, axis=0, return_inverse=True)
    assert sorted(map(tuple, X[rows])) == sorted(map(tuple, found))
    total = np.bincount(inverse.ravel(), weight)
    by_row = {tuple(row): sum_ for row, sum_ in zip(found, total, strict=True)}
    np.testing.assert_array_equal(merged, [by_row[tuple(row)] for row in X[rows]])
    np.testing.assert_array_equal(X[rows][group], X)
    shuffled = rng.permutation(300)
    data = form(X[shuffled])
    again, merged_again, _ = distinct_rows(data, data, weight[shuffled])
    np.testing.assert_array_equal(X[shuffled][again], X[rows])  # one order of contents
    np.testing.assert_array_equal(merged_again, merged)


def test_rows_differ_if_their_embeddings_do():
    X, E = np.ones((4, 2)), np.array([[1.0], [2.0], [1.0], [3.0]])
    rows, weight, _ = distinct_rows(X, E, np.ones(4))
    assert sorted(E[rows].ravel()) == [1, 2, 3]
    assert sorted(weight) == [1, 1, 2]


def test_equal_keys_alone_do_not_make_rows_equal(monkeypatch):
    monkeypatch.setattr("tao_cluster.problem.repeats.row_keys", lambda X, *_: np.zeros(X.shape[0]))
    X = np.array([[1.0], [1.0], [2.0], [2.0], [2.0]])
    rows, weight, _ = distinct_rows(X, X, np.ones(5))
    np.testing.assert_array_equal(X[rows].ravel(), [1, 2])
    np.testing.assert_array_equal(weight, [2, 3])
