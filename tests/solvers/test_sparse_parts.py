"""Parts of sparse rows: the same values, and sums to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tao_cluster.optimize.step.columns_of_tests import ColumnsOfTests
from tao_cluster.optimize.step.decisions import Decisions

from tao_cluster import TAOClustering, Tree
from tao_cluster.optimize.tree_step import TreeStep
from tao_cluster.penalties import ZeroOne
from tao_cluster.problem.criteria import LabelCriterion
from tao_cluster.solvers import NarrowableSolver, Newton, NodeProblem
from tao_cluster.solvers.sparse_parts import FewColumns, columns_of_rows
from tao_cluster.tree.routing import kernel_view, project


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


def tree_of(features, n_columns):
    """A tree of one test, of some features."""
    split = (features, np.ones(len(features)))
    terms = [split, None, None], [0.0] * 3, [-1, 0, 1], n_columns
    return Tree.from_splits([1, -1, -1], [2, -1, -1], *terms)


# What a row has, and how many of it: rows are read by a table, in one pass or by searching.
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "density", "most"),
    [(60, 300, 0.05, 40), (60, 300, 0.9, 3), (3, 3000, 0.05, 40), (3, 3000, 0.02, 1500)],
)
def test_sums_over_tested_columns_have_the_same_bits(n_rows, n_columns, density, most):
    X, rng = sparse(1, n_rows, n_columns, density), np.random.default_rng(1)
    view, rows = kernel_view(X), np.arange(n_rows)
    columns, n_copies = ColumnsOfTests(view), 0
    for _ in range(30):
        features = np.unique(rng.integers(n_columns, size=rng.integers(1, most)))
        columns.expect(tree_of(features, n_columns))
        n_copies += columns.of(features) is not view
        weights = rng.normal(size=len(features))
        found = project(columns.of(features), rows, features, weights)
        np.testing.assert_array_equal(found, project(view, rows, features, weights))
    assert n_copies


def test_a_copy_is_read_where_it_has_what_is_asked_for():
    X = sparse(2)
    view, features = kernel_view(X), np.array([5, 7])
    columns = ColumnsOfTests(view)
    assert columns.of(features) is view
    columns.expect(tree_of(features, X.shape[1]))
    copy = columns.of(features)
    assert copy is not view
    assert columns.of(features[:1]) is copy
    assert columns.of(np.array([6])) is view
    columns.expect(tree_of(features[1:], X.shape[1]))
    assert columns.of(features) is copy
    columns.expect(tree_of([6], X.shape[1]))
    assert columns.of(np.array([5, 6, 7])) is not view  # what was asked for may be so again


def test_arrays_are_read_as_they_are():
    X = np.ones((4, 3))
    columns = ColumnsOfTests(kernel_view(X))
    columns.expect(tree_of([0], 3))
    assert columns.of(np.array([0])) is X


@pytest.mark.slow
def test_threads_read_the_same_copy():
    """From 8192 rows on a second thread is started."""
    X = sparse(6, 20_000, 400, 0.03)
    labels = (np.asarray(X[:, :20].sum(axis=1)).ravel() > 0.4).astype(int)
    trees = []
    for n_jobs in (1, 3):
        step = TreeStep(kernel_view(X), Newton().bind(X), n_jobs)
        target = LabelCriterion(ZeroOne(), labels, np.ones(len(labels)), 2)
        tree = tree_of(np.arange(20), 400)
        for _ in range(2):
            assert step.view_of(tree) is not step.view
            tree = step.one_pass(tree, target, 200.0, is_judged=False)
        trees.append(tree.to_json())
    assert trees[0] == trees[1]


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


@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_copies_of_tested_columns_change_no_tree(split, monkeypatch):
    X = sparse(4, 500, 400, 0.03)

    def fitted():
        return TAOClustering(4, depth=3, split=split, random_state=0, n_init=1).fit(X)

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


def test_decisions_hold_no_copy_of_large_parts():
    X = sparse(5)
    decisions = Decisions(kernel_view(X))
    decisions.columns.expect(tree_of(np.arange(X.shape[1]), X.shape[1]))
    assert decisions.columns.of(np.arange(X.shape[1])) is decisions._view
