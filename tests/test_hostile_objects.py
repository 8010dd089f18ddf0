"""Objects that look sound and are not: one sentence, or the right result, and nothing silent."""

import runpy
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from conftest import rest_in_sweeps

from greedy import CART, IMM, ExKMC, Kauri
from tao_cluster import TAOClustering, load, outofcore
from tao_cluster.objectives import KMeans

FORMS = [np.asarray, sp.csr_matrix, sp.csr_array]


@pytest.fixture
def X(rng):
    """Three far clusters of twenty rows."""
    X = rng.normal(size=(60, 4))
    X[20:40] += 6
    X[40:] -= 6
    return X


def cost_of(model, X, weight=None):
    """Of the clusters of a model, by differences."""
    squares = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    return squares @ (np.ones(len(X)) if weight is None else weight)


# ---------------------------------------------------------------- sparse matrices


def unsound(X):
    """Matrices that scipy makes without looking: compiled code would read beside them."""
    good = sp.csr_matrix(X)
    for at, index in ((0, 99), (3, -3), (5, 2**30), (-1, X.shape[1])):
        indices = good.indices.copy()
        indices[at] = index
        yield sp.csr_matrix((good.data, indices, good.indptr), shape=X.shape)
    indptr = good.indptr.copy()
    indptr[5] = 2
    yield sp.csr_matrix((good.data, good.indices, indptr), shape=X.shape)
    columns = sp.csc_matrix(X)
    columns.indices[0] = len(X)
    yield columns


@pytest.mark.parametrize("number", [0, 1, 4, 5])
def test_indices_outside_a_sparse_matrix_are_refused_everywhere(X, number):
    bad = list(unsound(X))[number]
    fitted = IMM(3, random_state=0).fit(X)
    uses = [
        lambda: IMM(3).fit(bad),
        lambda: TAOClustering(3).fit(bad),
        lambda: CART(3).fit(bad),
        lambda: fitted.predict(bad),
        lambda: fitted.transform(bad),
        lambda: fitted.score(bad),
        lambda: fitted.tree_.predict(bad),
        lambda: outofcore.fit(TAOClustering(3, lambda_=1.0), [bad]),
    ]
    for use in uses:
        with pytest.raises(ValueError, match="not a valid sparse matrix"):
            use()
    with pytest.raises(ValueError, match="embedding is not a valid sparse matrix"):
        IMM(3).fit(X, embedding=bad)


# ---------------------------------------------------------------- costs


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [0.0, 1e5])
def test_a_large_column_does_not_swallow_the_cost(X, form, value):
    model = IMM(3, random_state=0).fit(form(np.c_[X, np.full(60, value)]))
    assert model.inertia_ == pytest.approx(cost_of(IMM(3, random_state=0).fit(X), X), rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_a_far_row_does_not_swallow_the_cost(X, form):
    far = np.r_[X, [[1e9] * 4]]
    model = IMM(4, random_state=0).fit(form(far))
    assert model.inertia_ == pytest.approx(cost_of(model, far), rel=1e-9)
    assert model.inertia_ > 100


def test_distances_of_sparse_rows_without_digits_are_told(X):
    far = np.c_[X, np.full(60, 1e7)]
    with pytest.warns(UserWarning, match="Column 4 of sparse X is so far from 0") as caught:
        model = IMM(3, random_state=0).fit(sp.csr_matrix(far))
    assert len([w for w in caught if "Column 4" in str(w.message)]) == 1
    assert model.inertia_ == pytest.approx(cost_of(model, far), rel=1e-6)
    assert IMM(3, random_state=0).fit(far).cost_increase_ == 0  # an array is shifted


@pytest.mark.parametrize("seed", range(2))
def test_costs_of_sparse_rows_are_those_of_arrays(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 8)) * (rng.random((50, 8)) < rng.random(8)) + [0, 0, 0, 5, 0, 0, 0, 0]
    weight, labels = rng.random(50), rng.integers(3, size=50)
    objective = KMeans()
    centers = rng.normal(size=(4, 8))
    costs = [objective.value(objective.prepare(form(X)), labels, weight, centers) for form in FORMS]
    np.testing.assert_allclose(costs, costs[0], rtol=1e-12)
    stored = sp.csr_matrix(X)
    stored.data[::3] = 0  # stored zeros are zeros
    data = objective.prepare(stored), objective.prepare(stored.toarray())
    costs = [objective.value(each, labels, weight, centers) for each in data]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_rows_on_their_centres_cost_nothing(rng, form):
    rows = rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.6)
    X, weight = np.repeat(rows, 9, axis=0), rng.random(45)
    labels, objective = np.repeat(np.arange(5), 9), KMeans()
    data = objective.prepare(form(X))
    centers = objective.update_centers(data, labels, weight, np.zeros((5, 7)))
    assert objective.value(data, labels, weight, centers) == 0


@pytest.mark.parametrize("ratio", [1e16, 1e90])
@pytest.mark.parametrize("method", rest_in_sweeps([IMM, ExKMC, CART, Kauri], IMM))
def test_one_heavy_row_does_not_swallow_the_cost(X, method, ratio):
    weight = np.ones(60)
    weight[0] = ratio
    model = method(3, random_state=0).fit(X, sample_weight=weight)
    # Of the heavy row's cluster centre and place differ by rounding alone.
    others = np.arange(60) > 0
    own = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    assert model.inertia_ == pytest.approx(own[others].sum(), rel=1e-9)
    assert model.free_inertia_ > 100


# ---------------------------------------------------------------- arguments


def test_tables_of_arrow_have_names(X):
    names = list("abcd")
    table = pa.table(dict(zip(names, X.T, strict=True)))
    model = IMM(3, random_state=0).fit(table)
    assert list(model.feature_names_in_) == names
    assert model.tree_ == IMM(3, random_state=0).fit(X).tree_
    twice = pa.Table.from_arrays([pa.array(X[:, 0])] * 2, names=["a", "a"])
    with pytest.raises(ValueError, match="several columns of the name 'a'"):
        IMM(3).fit(twice)


@pytest.mark.parametrize("validation", [{1, 2}, {"a": 1}])
def test_what_is_held_out_is_a_list(X, validation):
    with pytest.raises(ValueError, match="validation"):
        TAOClustering(3, lambda_=1.0, validation=validation).fit(X)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("wrong", [{"random_state": -1}, {"lambda_": -1.0}, {"n_clusters": "x"}])
def test_what_could_not_be_loaded_is_not_saved(X, tmp_path, wrong):
    model = TAOClustering(3, lambda_=1.0, random_state=0).fit(X)
    model.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        model.set_params(**wrong).save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").tree_ == model.tree_  # what was there before


def test_counts_beyond_those_of_the_root_are_refused(X, tmp_path):
    model = IMM(3, random_state=0).fit(X)
    model.node_counts_ = np.r_[5e-324, model.node_counts_[1:]]
    model.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match="largest at the root"):
        load(tmp_path / "model.json")


# ---------------------------------------------------------------- threads


@pytest.mark.slow
def test_a_prediction_beside_a_fit_is_of_one_of_the_two_models(X):
    model = IMM(3, random_state=0).fit(X)
    allowed = [model.labels_, IMM(5, random_state=0).fit(X).labels_]
    wrong, is_over, interval = [], threading.Event(), sys.getswitchinterval()

    def use():
        while not is_over.is_set():
            try:
                found = model.predict(X)
                paths = model.decision_path(X)
            except Exception as error:
                wrong.append(error)
                continue
            if not any(np.array_equal(found, labels) for labels in allowed):
                wrong.append(found)
            if paths.shape[1] not in {5, 9}:
                wrong.append(paths)

    threads = [threading.Thread(target=use) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for n_clusters in [5, 3] * 4:
            model.set_params(n_clusters=n_clusters).fit(X)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert wrong == []


# ---------------------------------------------------------------- the command line


def main(arguments):
    """Run ``python -m tao_cluster`` in this process; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tao_cluster", *arguments])
        with pytest.raises(SystemExit) as caught:
            runpy.run_module("tao_cluster", run_name="__main__")
    return caught.value.code


@pytest.fixture
def fitted(X, tmp_path):
    """Folder of a fit to a table of three columns."""
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame[list("cab")].to_csv(tmp_path / "turned.csv", index=False)
    frame[list("ab")].to_csv(tmp_path / "few.csv", index=False)
    arguments = ["-k", "3", "--lambda", "1", "--out", str(tmp_path / "fit")]
    assert main(["fit", str(tmp_path / "rows.csv"), *arguments]) == 0
    return tmp_path


@pytest.mark.slow
def test_a_model_that_was_moved_finds_columns_by_name(fitted, capsys):
    (fitted / "moved.json").write_bytes((fitted / "fit" / "model.json").read_bytes())

    def labels(table, out):
        arguments = [str(fitted / "moved.json"), str(fitted / table), "--out", str(fitted / out)]
        return main(["predict", *arguments]), fitted / out

    (code, straight), (other, turned) = labels("rows.csv", "1.csv"), labels("turned.csv", "2.csv")
    assert code == other == 0
    assert straight.read_bytes() == turned.read_bytes()
    code, _ = labels("few.csv", "3.csv")
    assert code != 0
    assert "there is no column 'c', which the model uses" in capsys.readouterr().err


@pytest.mark.slow
def test_a_column_is_used_once(fitted, capsys):
    assert main(["fit", str(fitted / "rows.csv"), "-k", "3", "--columns", "a,b,a"]) != 0
    assert "columns names 'a' more than once" in capsys.readouterr().err


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_a_folder_that_cannot_be_made_is_told_before_the_fit(fitted, capsys, name):
    arguments = ["-k", "3", "--lambda", "1", "--out", str(fitted / name)]
    assert main(["fit", str(fitted / "rows.csv"), *arguments]) != 0
    told = capsys.readouterr()
    assert "tree" not in told.out
    assert told.err.count("\n") == 1
