"""Merging of repeated rows and of weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tao_cluster.problem.repeats import as_repeats, distinct_rows


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


@pytest.mark.slow
@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.floats(1e-6, 1e6))
def test_as_repeats_finds_the_unit(counts, unit):
    """Weights that are multiples of their least one, which rounding may have blurred."""
    counts = np.array([1, *counts])
    repeats, found = as_repeats(np.array([sum([unit] * int(c)) for c in counts]))
    np.testing.assert_allclose(repeats * found, counts * unit, rtol=1e-12)
    np.testing.assert_array_equal(repeats * (found / unit) - counts < 1e-9, True)


def test_repeats_are_found_among_numbers_of_any_kind(rng):
    for n in (1, 2, 5, 300):
        for most in (n, n * n, 10**9):
            X = rng.integers(0, most, (n, 1)) * 2.0**40
            assert len(distinct_rows(X, X, np.ones(n))[0]) == len(np.unique(X))
    X = np.array([[0.0], [1.0], [-0.0]])
    rows, weight, _ = distinct_rows(X, X, np.ones(3))
    assert sorted(X[rows, 0]) == [0, 1]
    assert sorted(weight) == [1, 2]


def test_as_repeats_of_whole_numbers_and_others():
    repeats, unit = as_repeats(np.array([4.0, 6.0]))
    np.testing.assert_array_equal(repeats, [2, 3])
    assert unit == 2
    assert as_repeats(np.array([1.0, 1.5])) is None
