"""Sparse rows: products, sums and parts are those of the same rows as an array, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from greedy.builder_input import column_arrays
from tao_cluster._utils.matrices import rows_between
from tao_cluster.objectives.base import cluster_sums
from tao_cluster.solvers.newton_data import Storage, is_sparse, part_of
from tao_cluster.tree import routing
from tao_cluster.tree.routing import kernel_arrays, project

N_ROWS, N_COLUMNS = 400, 3000


@pytest.fixture
def X(rng):
    """Rows of some 100 values, one without any, one whose last value is in the last column."""
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    X[rng.random(X.shape) > 0.03] = 0
    X[7], X[8, -1] = 0, 1.0
    return sp.csr_matrix(X)


# Few features are searched in a row; the table, the search in long splits and the merge of both
# lists are ways to the same sum.
@pytest.mark.parametrize("table_rows", [0.0, np.inf])
@pytest.mark.parametrize("n_features", [0, 1, 2, 3, 4, 30, 300, N_COLUMNS])
def test_products_have_the_bits_of_the_array(rng, monkeypatch, X, n_features, table_rows):
    monkeypatch.setattr(routing, "_TABLE_ROWS", table_rows)
    indices = np.sort(rng.permutation(N_COLUMNS)[:n_features]).astype(np.int32)
    weights, rows = rng.normal(size=n_features), np.arange(N_ROWS)[::-1].copy()
    found = project(kernel_arrays(X), rows, indices, weights)
    np.testing.assert_array_equal(found, project(X.toarray(), rows, indices, weights))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_clusters(rng, X, dtype):
    labels, weight = rng.integers(5, size=N_ROWS), rng.random(N_ROWS)
    X = X.astype(dtype)
    sums = cluster_sums(X, labels, weight, 6)
    np.testing.assert_array_equal(sums, cluster_sums(X.toarray(), labels, weight, 6))
    member = weight[:, None] * (labels[:, None] == np.arange(6))
    np.testing.assert_allclose(sums, member.T @ X.toarray().astype(float), atol=1e-12)


@pytest.mark.parametrize("part", [slice(0, 5), slice(7, 8), slice(390, 900), slice(0, 0)])
def test_consecutive_rows(X, part):
    np.testing.assert_array_equal(rows_between(X, part).toarray(), X.toarray()[part])
    np.testing.assert_array_equal(rows_between(X.toarray(), part), X.toarray()[part])


def test_parts_stay_sparse_where_they_are_not_filled(rng, X):
    rows, features = np.sort(rng.permutation(N_ROWS)[:50]), np.arange(5, N_COLUMNS, 3)
    wanted = X.toarray()[rows][:, features]
    view, terms = kernel_arrays(X), (rows, features, N_COLUMNS)
    view = (view[0], view[1].astype(np.uint32), view[2])
    parts = part_of(view, *terms, 0.1)
    assert is_sparse(parts)
    np.testing.assert_array_equal(sp.csr_matrix(parts, shape=wanted.shape).toarray(), wanted)
    np.testing.assert_array_equal(part_of(view, *terms, 0.01), wanted)
    np.testing.assert_array_equal(part_of(X.toarray(), *terms, 0.1), wanted)


def test_a_refit_takes_no_more_room_than_its_values(X):
    features = np.arange(1000)
    block = Storage.from_matrix(X).block(np.arange(N_ROWS), features)
    assert is_sparse(block.values)
    assert len(block.values[0]) == X[:, features].nnz
    assert block.row_size == X[:, features].nnz / N_ROWS


def test_columns_are_copied_once_while_they_live(rng):
    X = sp.random(50, 8, 0.3, "csr", random_state=0)
    first = column_arrays(X)
    assert all(a is b for a, b in zip(column_arrays(X), first, strict=True))
    kept = first[0].copy()
    del first
    X.data *= 2  # nobody has its columns any more
    second = column_arrays(X)
    np.testing.assert_array_equal(second[0], 2 * kept)
    assert column_arrays(X.copy())[0] is not second[0]
