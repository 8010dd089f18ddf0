"""TAOClustering as a scikit-learn estimator: contract, determinism, forms of input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit, small
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from tao_cluster import DirectForm, TAOClustering

# scikit-learn's checks and small() have trees of few leaves and one lambda for all data.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{sentence}")
    for sentence in ("The tree has lost", "A tree of at most", "lambda_=")
]


@pytest.mark.spaced(quick=3, slow=9)
@parametrize_with_checks([TAOClustering(algorithm=DirectForm(n_init=1), depth=2, lambda_=1.0)])
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        # Some checks have fewer distinct rows than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# ---------------------------------------------------------------- what the paper promises


@pytest.mark.slow
def test_lambda_trades_cost_for_size(digits, digits_reference):
    few, options = digits[:900], {"reference": digits_reference, "random_state": 0}
    models = [TAOClustering(10, lambda_=lambda_, **options).fit(few) for lambda_ in (0.01, 3, 30)]
    assert np.all(np.diff([m.cost_increase_ for m in models]) > 0)
    assert np.all(np.diff([m.tree_.n_parameters for m in models]) < 0)


# ---------------------------------------------------------------- determinism


@pytest.mark.slow
def test_threads_of_libraries_change_nothing(digits, digits_reference):
    few = digits[:900]
    for reference in (digits_reference, None):
        with threadpool_limits(limits=2):
            model = small(10, reference=reference).fit(few)
        assert_same_fit(model, small(10, reference=reference).fit(few))


def test_pickle_and_later_fits(X):
    model = small().fit(X)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_same_fit(model, again)
    assert_same_fit(model, again.fit(X))


@pytest.mark.slow
def test_predictions_do_not_depend_on_the_batch_or_precision(digits):
    X = digits[:900].astype(np.float32)
    model = small(10, lambda_=0.1).fit(X)
    alone = np.concatenate([model.predict(X[[i]]) for i in range(0, len(X), 13)])
    np.testing.assert_array_equal(model.predict(X)[::13], alone)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(np.float64)))
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(X)), model.labels_)


# ---------------------------------------------------------------- forms of input


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        np.float32,
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_matrix,
        lambda X: pd.DataFrame(X, columns=list("abcde")),
        lambda X: X.tolist(),
    ],
)
def test_forms_of_input(X, form):
    X = X.astype(np.float32)  # exact in every form
    model = small().fit(form(X))
    np.testing.assert_array_equal(model.predict(form(X)), model.labels_)
    assert model.cost_increase_ == pytest.approx(small().fit(X).cost_increase_, abs=0.5)


@pytest.mark.slow
def test_sparse_input_with_long_indices(X):
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    assert_same_fit(small().fit(matrix), small().fit(sp.csr_matrix(X)))


@pytest.mark.slow
def test_storage_of_sparse_input_changes_nothing(X):
    halves = sp.csr_matrix(np.hstack([X / 2, X / 2]))
    halves.indices %= X.shape[1]  # every entry twice, half each
    doubled = sp.csr_matrix((halves.data, halves.indices, halves.indptr), shape=X.shape)
    mixed = sp.csr_matrix(X)
    mixed.indptr = mixed.indptr.astype(np.int64)
    plain = small().fit(sp.csr_matrix(X))
    for matrix in (doubled, mixed):
        before = matrix.copy()
        assert_same_fit(small().fit(matrix), plain)
        np.testing.assert_array_equal(matrix.data, before.data)  # not altered
    np.testing.assert_allclose(plain.transform(doubled), plain.transform(X), atol=1e-6)


def test_sparse_and_dense_agree(rng):
    X = sp.random(300, 40, density=0.1, random_state=0, format="csr")
    X = X + sp.csr_matrix(np.kron(np.eye(3), np.ones((100, 40 // 3)))[:, :39] @ np.eye(39, 40))
    sparse, dense = small().fit(sp.csr_matrix(X)), small().fit(X.toarray())
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


def test_names_of_columns(X):
    model = small().fit(pd.DataFrame(X, columns=list("abcde")))
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
    assert list(model.get_feature_names_out()) == [f"taoclustering{k}" for k in range(3)]


def test_input_is_not_altered(X):
    before, weight = X.copy(), np.ones(len(X))
    small().fit(X, sample_weight=weight)
    np.testing.assert_array_equal(X, before)
