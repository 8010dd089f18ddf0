"""Parts of sparse rows: the same values, and sums to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import TAOClustering
from tao_cluster.solvers import NarrowableSolver, Newton, NodeProblem
from tao_cluster.solvers.sparse_parts import FewColumns, columns_of_rows
from tao_cluster.tree.routing import kernel_view


def sparse(seed, n_rows=60, n_columns=300, density=0.05, dtype=np.float64):
    X = sp.random(n_rows, n_columns, density, "csr", dtype, random_state=seed)
    X.sort_indices()
    return X


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_columns_of_rows_are_those_of_scipy(seed, dtype):
    rng = np.random.default_rng(seed)
    X = sparse(seed, rng.integers(1, 30), rng.integers(1, 30), rng.random(), dtype)
    rows = np.flatnonzero(rng.random(X.shape[0]) < rng.random())
    found, expected = columns_of_rows(X, rows), X[rows].tocsc()
    assert found.dtype == dtype
    assert found.has_canonical_format
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_few_columns_are_copied_and_many_are_not():
    X = sparse(0)
    columns, is_wanted = FewColumns(kernel_view(X), X.shape[1]), np.zeros(X.shape[1], bool)
    is_wanted[[3, 20, 299]] = True
    copy = sp.csr_matrix(columns.copied(is_wanted), shape=X.shape)
    assert copy.nnz == X[:, is_wanted].nnz > 0
    np.testing.assert_array_equal(copy.toarray(), X.toarray() * is_wanted)
    assert columns.copied(np.ones(X.shape[1], bool)) is None
    none = columns.copied(np.zeros(X.shape[1], bool))
    assert len(none[0]) == 0
    assert not none[2].any()


def test_a_narrowed_solver_finds_the_same_tests(rng):
    X = sparse(3, 400, 300, 0.05)
    bound, features = Newton().bind(X), np.arange(0, 30, 2)
    assert isinstance(bound, NarrowableSolver)
    narrow = bound.narrowed(features)
    assert len(narrow.storage.values[0]) == X[:, features].nnz < X.nnz / 8
    rows = np.arange(X.shape[0])
    goes_right = np.asarray(X[:, features].sum(axis=1)).ravel() > 0.5
    for some in (rows, rows[:350], rows[::7]):
        weight = rng.uniform(0.5, 2, len(some))
        problem = NodeProblem(some, goes_right[some], weight, 0.1, features=features)
        (split, status), (expected, _) = narrow.solve(problem), bound.solve(problem)
        assert status.converged
        assert len(split.indices)
        assert split.same_as(expected)
    for others in (None, np.arange(4)):
        with pytest.raises(ValueError, match="narrowed to some features"):
            narrow.solve(replace(problem, features=others))


def test_copies_of_few_columns_change_no_tree(monkeypatch):
    X = sparse(4, 500, 400, 0.03)

    def fitted():
        return TAOClustering(4, depth=3, random_state=0, n_init=1).fit(X)

    copied, copies = FewColumns.copied, []

    def counted(self, is_wanted):
        copies.append(copied(self, is_wanted))
        return copies[-1]

    monkeypatch.setattr(FewColumns, "copied", counted)
    with_copies = fitted()
    assert any(copy is not None for copy in copies)
    monkeypatch.setattr("tao_cluster.solvers.sparse_parts._MOST_COPIED", 0.0)
    copies.clear()
    without = fitted()
    assert all(copy is None or len(copy[0]) == 0 for copy in copies)
    assert with_copies.tree_.to_json() == without.tree_.to_json()
