"""`refit`: tests, columns or nothing stay; numbers and names of clusters always do."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tao_cluster
from greedy import ExKMC
from tao_cluster import DirectForm, TAOClustering, refit, table_pipeline

slow = partial(pytest.param, marks=pytest.mark.slow)
KEEPS = ("tests", "columns", "nothing")
QUICK = {"algorithm": DirectForm(n_init=1, search="none", copies=0), "random_state": 3}


def blobs(seed, n=600, k=4, d=5):
    """Clear clusters: rows of an even and of an odd month, and their group."""
    X, group = make_blobs(n, d, centers=10 * np.eye(k, d), cluster_std=1.0, random_state=seed)
    return X[::2], X[1::2], group[1::2]


def customers(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    table = pd.DataFrame({
        "spend": group * 500.0 + rng.normal(1000, 60, n) + shift,
        "orders": (group == 1) * 20 + rng.poisson(4, n),
        "plan": rng.choice(["free", "gold", "team"], n),
        "age": rng.normal(45, 9, n).round(),
    })  # fmt: skip
    table.loc[rng.random(n) < 0.1, "age"] = np.nan
    return table


def share_equal(model, other, X):
    return np.mean(model.predict(X) == other.predict(X))


MODELS = {
    "oblique": lambda: TAOClustering(4, **QUICK),
    "axis": lambda: TAOClustering(4, split="axis", standardize=True, **QUICK),
    "squared": lambda: TAOClustering(
        4, algorithm=tao_cluster.PenaltyMethod(penalty="squared"), lambda_=0.1, random_state=3
    ),
    "greedy": lambda: ExKMC(4, max_leaves=7, standardize=True, random_state=3),
    "pipeline": lambda: make_pipeline(StandardScaler(), TAOClustering(4, **QUICK)),
}


@pytest.mark.parametrize("name", ["oblique", "greedy", *map(slow, ["axis", "squared", "pipeline"])])
def test_numbers_stay_and_tests_stay_exactly(name, tmp_path, capsys):
    then, now, _ = blobs(7)
    model = MODELS[name]().fit(then)
    before = tao_cluster.export.to_sql(model), model.predict(now)
    for keep in KEEPS if name != "greedy" else ("tests", "nothing"):
        found = refit(model, now, keep)
        assert "of the rows keep their cluster" in capsys.readouterr().out
        assert share_equal(model, found, now) >= 0.99, keep
        last = found[-1] if name == "pipeline" else found
        assert last.node_rows_[0] == len(now) == len(last.labels_)
        np.testing.assert_array_equal(last.labels_, found.predict(now))
        agreement = np.mean(last.free_labels_ == last.labels_)
        assert agreement >= 0.98  # the free clusters have the same numbers
        if name != "pipeline":
            assert last.cost_increase(now) == pytest.approx(last.cost_increase_, abs=1e-6)
            found.save(tmp_path / "model.json")
            assert tao_cluster.load(tmp_path / "model.json").tree_ == found.tree_
        if keep == "tests":
            assert last.tree_ == (model[-1] if name == "pipeline" else model).tree_
            assert tao_cluster.export.to_sql(found) == before[0]
    assert tao_cluster.export.to_sql(model) == before[0]
    np.testing.assert_array_equal(model.predict(now), before[1])


@pytest.mark.parametrize("seed", [0, slow(1)])
@pytest.mark.parametrize("split", ["axis", "oblique"])
def test_columns_and_structure_stay_while_the_cost_falls(seed, split):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6))
    model = TAOClustering(
        5, split=split, max_leaves=7, standardize=seed % 2 == 0, min_samples_leaf=5, **QUICK
    ).fit(X[:200])
    drift = X[200:] + rng.normal(size=6)
    same, moved = (refit(model, drift, keep, verbose=0) for keep in ("tests", "columns"))
    assert moved.inertia_ <= same.inertia_ * (1 + 1e-9)
    for name in ("children_left", "split_indptr", "split_indices"):
        np.testing.assert_array_equal(getattr(moved.tree_, name), getattr(model.tree_, name))
    if split == "axis":
        np.testing.assert_array_equal(moved.tree_.split_weights, model.tree_.split_weights)


@pytest.mark.slow
def test_columns_follow_a_drift():
    then, now, _ = blobs(3)
    drift = now + np.array([4.0, -4.0, 0.0, 3.0, 0.0])
    for split in ("axis", "oblique"):
        model = TAOClustering(4, split=split, **QUICK).fit(then)
        cost = [refit(model, drift, keep, verbose=0).cost_increase_ for keep in KEEPS]
        assert cost[1] < 0.2 * cost[0], (split, cost)


def test_a_new_fit_is_a_fit_with_other_numbers():
    then, now, _ = blobs(5)
    model = TAOClustering(4, **QUICK).fit(then)
    found = refit(model, now, "nothing", verbose=0)
    plain = TAOClustering(4, **QUICK).fit(now)
    assert found.inertia_ == plain.inertia_
    np.testing.assert_array_equal(found.tree_.threshold, plain.tree_.threshold)
    pairs = set(zip(found.labels_.tolist(), plain.labels_.tolist(), strict=True))
    assert len(pairs) == 4
    np.testing.assert_allclose(
        found.cluster_centers_[[a for a, _ in pairs]], plain.cluster_centers_[[b for _, b in pairs]]
    )


@pytest.mark.parametrize("keep", ["columns", slow("tests"), slow("nothing")])
@pytest.mark.parametrize("split", ["axis", "oblique"])
def test_raw_tables_keep_their_schema_and_encoding(keep, split):
    then, now = customers(300, 0), customers(250, 1)
    now.loc[:5, "plan"] = "new plan"
    model = table_pipeline(then, 3, split=split, **QUICK).fit(then)
    model[-1].cluster_names_ = ["a", "b", "c"]
    found = refit(model, now, keep, verbose=0)
    assert type(found) is type(model)
    assert share_equal(model, found, now) >= 0.97
    assert found[-1].cluster_names_ == ["a", "b", "c"]
    assert found.schema_ is model.schema_ or keep == "nothing"
    if keep != "nothing":
        assert found[0] is model[0]
        assert found[1] is model[1]
        names = tao_cluster.report.report(found)["summary"]["used_features"]
        assert names == tao_cluster.report.report(model)["summary"]["used_features"]
    assert (tao_cluster.export.to_sql(found) == tao_cluster.export.to_sql(model)) >= (
        keep == "tests"
    )


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["columns", "nothing"])
def test_weights_embeddings_labels_and_sparse_rows(keep):
    then, now, group = blobs(2)
    weight = np.random.default_rng(0).integers(0, 3, len(now))
    model = TAOClustering(4, **QUICK).fit(then)
    found = refit(model, now, keep, sample_weight=weight, verbose=0)
    assert found.inertia_ == pytest.approx(-found.score(now, sample_weight=weight))
    assert share_equal(model, found, now) >= 0.99
    sparse = refit(model, sp.csr_matrix(now), keep, verbose=0)
    assert share_equal(model, sparse, now) >= 0.99

    model = TAOClustering(4, **QUICK).fit(then, embedding=then[:, :4])
    found = refit(model, now, keep, embedding=now[:, :4], verbose=0)
    assert found.cluster_centers_.shape == (4, 4)
    assert share_equal(model, found, now) >= 0.99
    with pytest.raises(ValueError, match="embedding"):
        refit(model, now, keep)

    names = np.array(["d", "a", "c", "b"])[group]
    model = TAOClustering(4, objective="labels", **QUICK).fit(now, names)
    found = refit(model, now[::2], keep, y=names[::2], verbose=0)
    assert found.classes_.tolist() == ["a", "b", "c", "d"]
    assert found.cost_increase_ < 2
    with pytest.raises(ValueError, match="refit needs the same labels"):
        refit(model, now, keep, y=np.where(names == "d", "e", names))


def test_what_is_new_and_which_rules_lost_their_rows_is_said():
    rng = np.random.default_rng(0)
    places = 20.0 * np.eye(5)
    places[4, 0] = 20.0  # a new group next to the first one, where no old test looks
    groups = np.repeat([0, 1, 2, 3], 100), np.repeat([0, 1, 2, 4], [150, 100, 100, 50])
    old, new = (places[group] + rng.normal(size=(400, 5)) for group in groups)
    model = TAOClustering(4, split="axis", **QUICK).fit(old)
    gone, home = model.predict(places[[3, 0]])
    found = refit(model, new, "nothing", verbose=0)
    number = found.predict(places[[4]])[0]
    text = f"cluster {number} is another segment than before: its rows were in cluster {home} (100 "
    assert text in found.refit_changes_
    assert found.refit_changes_.count("another segment") == 1
    few = refit(model, old[model.predict(old) != gone], "tests", verbose=0).refit_changes_
    rules = few.split("No row fulfils these rules any more:\n")[1].splitlines()
    assert len(rules) == 1
    assert rules[0].endswith(f"then cluster {gone} (0 rows, 0.0 %)")
    lines = {line.split("  ")[0]: line.split()[-1] for line in few.splitlines()}
    assert lines[f"cluster {gone}"] == "-"
    assert lines[f"cluster {home}"] == "100.0"
    assert "another segment" not in few
    assert "No row fulfils" not in refit(model, old, "tests", verbose=0).refit_changes_


def test_what_cannot_be_kept_raises():
    then, now, _ = blobs(1)
    with pytest.raises(ValueError, match="keep must be one of"):
        refit(TAOClustering(4), now, "structure")
    with pytest.raises(ValueError, match='use keep="tests"'):
        refit(ExKMC(4, random_state=0).fit(then), now, "columns")
    model = TAOClustering(4, **QUICK).fit(then)
    with pytest.raises(ValueError, match=r"tao_cluster\.refit"):
        TAOClustering(4, init=model.tree_).fit(now[:, :3])
