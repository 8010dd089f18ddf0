"""Rows without a cluster: trimmed clusterings, and labels that mean noise."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans

import greedy
from tao_cluster import (
    DirectForm,
    TAOClustering,
    compare,
    describe,
    load,
    monitor,
    outofcore,
    refit,
    table_pipeline,
    tao_path,
)
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_query, to_rules, to_sql, to_text
from tao_cluster.objectives import Labels, Trimmed
from tao_cluster.page import to_html
from tao_cluster.plot import plot_tree
from tao_cluster.report import report

FAST = DirectForm(n_init=1, relax=False, search="none")
GOOD = DirectForm(n_init=2, search="none")


def far_rows(seed, n=300, share=0.05, k=3, d=2):
    """Return rows in k groups, and whether each is one of a share of rows far from all groups."""
    rng = np.random.default_rng(seed)
    centers = 12.0 * rng.permutation(np.indices((4,) * d).reshape(d, -1).T)[:k]
    X = centers[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    is_far = np.arange(n) < share * n
    X[is_far] = rng.uniform(60, 120, size=(is_far.sum(), d)) * rng.choice(
        [-1, 1], (is_far.sum(), d)
    )
    return X, is_far


def trimmed(seed=0, share=0.05, **parameters):
    given = {
        "n_clusters": 3,
        "random_state": seed,
        "algorithm": GOOD,
        "objective": Trimmed(share=share),
    }
    return TAOClustering(**given | parameters)


@pytest.mark.spaced(quick=2)
@pytest.mark.filterwarnings("ignore:The tree has lost", "ignore:The tree costs")
@pytest.mark.parametrize("seed", range(12))
def test_a_tree_leaves_out_at_most_the_share_of_the_weight(seed):
    rng = np.random.default_rng(seed)
    X, _ = far_rows(seed, share=rng.uniform(0, 0.15))
    weight = rng.uniform(0, 3, len(X)) * (rng.uniform(size=len(X)) > 0.1) if seed % 2 else None
    share, split = rng.choice([0.0, 0.02, 0.05, 0.1, 0.3]), rng.choice(["oblique", "axis"])
    limits = {"max_leaves": int(rng.integers(2, 8))} if seed % 3 == 0 else {}
    model = trimmed(seed, share, split=split, standardize=seed % 4 == 0, algorithm=FAST, **limits)
    model.fit(X, sample_weight=weight)
    weight = np.ones(len(X)) if weight is None else weight
    for labels in (model.labels_, model.free_labels_):
        assert weight[labels == -1].sum() <= (share + 1e-9) * weight.sum()
    assert model.trimmed_share_ == pytest.approx(weight[model.labels_ == -1].sum() / weight.sum())
    assert set(model.labels_) <= {-1, 0, 1, 2}
    assert len(model.cluster_centers_) == len(model.free_centers_) == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.cost_increase(X, sample_weight=weight) == pytest.approx(model.cost_increase_)
    assert -model.score(X, sample_weight=weight) == pytest.approx(model.inertia_)
    assert model.transform(X).shape == (len(X), 3)
    nodes = report(model)["nodes"]
    reached = np.array([nodes[leaf]["cluster"] for leaf in model.apply(X)])
    np.testing.assert_array_equal(reached, model.labels_)


@pytest.mark.slow
def test_far_rows_get_no_cluster_and_do_not_move_centres():
    for seed in range(2):
        X, is_far = far_rows(seed)
        model = trimmed(seed).fit(X)
        np.testing.assert_array_equal(model.free_labels_ == -1, is_far)
        near = KMeans(3, n_init=10, random_state=0).fit(X[~is_far])
        price = model.trimming_price_
        assert price == pytest.approx(near.transform(X[~is_far]).min(axis=1).max() ** 2)
        assert model.free_inertia_ == pytest.approx(near.inertia_ + price * is_far.sum())
        assert model.cost_increase_ < 5


def test_a_path_keeps_to_the_share():
    X, _ = far_rows(2)
    terms = {"leaves": [3, 5, 8], "objective": Trimmed(share=0.04), "algorithm": FAST}
    for model in tao_path(X, 3, split="axis", random_state=0, **terms):
        assert np.mean(model.labels_ == -1) <= 0.04


def outputs(model, X, noise):
    """Check what all outputs call rows without a cluster, and that -1 stands for them."""
    row = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
    assert (model.predict(row) == -1).all()
    assert f"--- {noise}" in to_text(model)
    assert any(f"then {noise} (" in rule for rule in to_rules(model))
    assert re.search("THEN -1$", to_sql(model), flags=re.MULTILINE)
    frame = (
        X if hasattr(X, "iloc") else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    )
    selected = frame.query(to_query(model)[-1]).index
    np.testing.assert_array_equal(selected, np.flatnonzero(model.predict(X) == -1))
    assert noise in set(to_dataframe(model)["name"])
    assert explain(model, row).name == noise
    other = nearest_change(model, row, 0)
    assert model.predict(other.row)[0] == 0
    assert nearest_change(model, other.row, -1).name == noise
    assert noise in to_html(model, X=X)._repr_html_()
    texts = plot_tree(model, X=X).get_figure().findobj(lambda artist: hasattr(artist, "get_text"))
    assert any(text.get_text().startswith(noise) for text in texts)


@pytest.mark.slow
def test_outputs_name_rows_without_a_cluster(tmp_path):
    X, _ = far_rows(3)
    model = trimmed().fit(X)
    outputs(model, X, "no segment")
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.cost_increase(X) == model.cost_increase_
    for copy in (loaded, clone(model).fit(X)):
        np.testing.assert_array_equal(copy.predict(X), model.labels_)


NAMED = {
    "trimmed": (Trimmed(share=0.1), ["a", "b", "c"]),
    "all named": (Trimmed("kmedians"), ["a", "b", "c", "nobody"]),
    "noise": (Labels(noise="explain"), {-1: "nobody", 0: "a", 1: "b"}),
    "labels": ("labels", {1: "b"}),
}


@pytest.mark.filterwarnings("ignore:The tree costs")
@pytest.mark.parametrize("kind", NAMED)
def test_names_of_all_clusters_and_of_noise_are_saved(kind, tmp_path):
    (X, is_far), (objective, names) = far_rows(2, n=90), NAMED[kind]
    y = np.where(is_far, -1, X[:, 0] > np.median(X[:, 0]))
    model = trimmed(objective=objective, algorithm=FAST).fit(X, y).name_clusters(names)
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    again = refit(loaded, X, y=None if kind in ("trimmed", "all named") else y, verbose=0)
    for other in (loaded, pickle.loads(pickle.dumps(model)), again):  # noqa: S301
        assert to_rules(other) == to_rules(model)
    document = (tmp_path / "model.json").read_text()
    (tmp_path / "model.json").write_text(
        document.replace('"cluster_names_": [', '"cluster_names_": ["z", ')
    )
    with pytest.raises(ValueError, match="cluster_names_ must be"):
        load(tmp_path / "model.json")


@pytest.mark.slow
def test_descriptions_names_and_months_of_rows_without_a_cluster():
    X, _ = far_rows(3)
    model = trimmed().fit(X).name_clusters(["a", "b", "c"])
    found, labels = describe(model, X), model.labels_
    assert set(found.table["segment"]) == {"a", "b", "c", "no segment"}
    assert found.table["rows"].tolist() == [
        np.sum(labels == segment.number) for segment in found.segments
    ]
    assert found.cost_increase == pytest.approx(model.cost_increase_)
    first = found.contrast("no segment", "a").table.iloc[0]
    column = int(first["feature"][1:])
    expected = X[labels == -1, column].mean() - X[labels == 0, column].mean()
    assert first["difference"] == pytest.approx(expected)
    months = monitor(model, X, X[::2]).segments
    assert months["rows_now"].to_dict() == {
        name: np.sum(labels[::2] == k) for k, name in enumerate(["a", "b", "c"])
    } | {"no segment": np.sum(labels[::2] == -1)}
    later = refit(model, X[::2], verbose=0)
    np.testing.assert_array_equal(later.predict(X), labels)


@pytest.mark.slow
def test_outputs_of_a_table_name_rows_without_a_cluster():
    X, _ = far_rows(3)
    frame = pd.DataFrame(X, columns=["spend", "orders"])
    outputs(
        table_pipeline(frame, 3, objective=Trimmed(), random_state=0).fit(frame),
        frame,
        "no segment",
    )


@pytest.mark.slow
def test_noise_of_hdbscan_is_left_out_or_explained(tmp_path):
    X, is_far = far_rows(4)
    labels = HDBSCAN(min_cluster_size=20, copy=True).fit(X).labels_
    assert (labels[is_far] == -1).all()
    left_out = TAOClustering(objective="labels", random_state=0).fit(X, labels)
    assert left_out.n_noise_ == report(left_out)["summary"]["noise"] == np.sum(labels == -1)
    assert -1 not in left_out.labels_
    model = TAOClustering(objective=Labels(noise="explain"), random_state=0).fit(X, labels)
    assert model.n_noise_ == 0
    assert model.classes_.tolist() == np.unique(labels).tolist()
    np.testing.assert_array_equal(model.labels_, labels)
    outputs(model, X, "noise")
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict(X), labels)
    unknown = np.append(np.nan, labels[1:])
    found = TAOClustering(objective=Labels("explain"), random_state=0).fit(X, unknown).free_labels_
    assert found[0] is None
    assert found[1] == -1


@pytest.mark.slow
def test_references_with_noise():
    X, is_far = far_rows(5)
    clusterer = DBSCAN(eps=1.5).fit(X)
    with pytest.warns(UserWarning, match="15 of 300 rows as noise"):
        plain = TAOClustering(3, reference=clusterer, algorithm=FAST).fit(X)
    assert -1 not in plain.labels_
    with pytest.warns(UserWarning, match="as noise"):
        model = trimmed(reference=clusterer).fit(X)
    np.testing.assert_array_equal(model.free_labels_ == -1, is_far)
    with pytest.raises(ValueError, match="give its labels_ as y"):
        TAOClustering(objective="labels", reference=clusterer).fit(X, clusterer.labels_)


@pytest.mark.parametrize("share", [-0.1, 0.5, np.nan, "all", None, True])
def test_invalid_shares_raise(share):
    with pytest.raises(ValueError, match="share"):
        Trimmed(share=share)


@pytest.mark.slow
def test_unsupported_uses_raise():
    X, _ = far_rows(6)
    with pytest.raises(ValueError, match="Labels is not"):
        Trimmed(Labels())
    with pytest.raises(ValueError, match="noise"):
        Labels(noise="hide")
    for use in (
        lambda: greedy.CART(3, objective=Trimmed()).fit(X),
        lambda: compare(X, 3, objective=Trimmed()),
        lambda: outofcore.fit(trimmed(), [X]),
    ):
        with pytest.raises(ValueError, match="Trimmed"):
            use()


def planted(kind, seed):
    """Return rows in four groups with wrong rows of one kind, and whether each is wrong."""
    rng = np.random.default_rng([seed, 74])
    X = rng.permutation(np.indices((3,) * 4).reshape(4, -1).T)[rng.integers(4, size=600)] * 9.0
    X += rng.normal(size=X.shape)
    is_wrong = np.arange(600) < {"none": 0, "uniform": 30, "far group": 12, "code": 6}[kind]
    if kind == "uniform":
        X[is_wrong] = rng.uniform(-150, 150, (30, 4))
    elif kind == "far group":
        X[is_wrong] += 80 * rng.choice([-1, 1], 4)
    else:
        X[is_wrong, rng.integers(4)] = -999
    return X, is_wrong


@pytest.mark.filterwarnings("ignore:The tree has lost", "ignore:The tree costs")
@pytest.mark.parametrize("kind", ["none", "uniform", "far group", "code"])
@pytest.mark.parametrize("seed", range(2))
def test_the_share_of_far_rows_is_found(kind, seed):
    X, is_wrong = planted(kind, seed)
    model = TAOClustering(4, objective="trimmed", algorithm=GOOD, random_state=0).fit(X)
    assert ((model.free_labels_ == -1) != is_wrong).sum() <= 2
    order = np.random.default_rng(seed).permutation(len(X))
    others = clone(model).fit(X[order]), clone(model).fit(1000 * X), clone(model).fit(X[::-1])
    for other, rows in zip(others, (order, slice(None), slice(None, None, -1)), strict=True):
        assert np.array_equal(other.free_labels_ == -1, (model.free_labels_ == -1)[rows])
    weight = np.random.default_rng(seed).integers(1, 4, len(X))
    weighted = clone(model).fit(X, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0))
    assert weighted.trimmed_share_ == pytest.approx(repeated.trimmed_share_)
    assert weighted.trimming_price_ == pytest.approx(repeated.trimming_price_)


@pytest.mark.parametrize("name", [None, "income"])
def test_a_cluster_of_one_far_value_is_reported(name):
    X = planted("none", 0)[0]
    X[0, 2] = 1e6
    rows = X if name is None else pd.DataFrame(X, columns=["a", "b", name, "d"])
    with pytest.warns(UserWarning, match=f"0.17 % of the rows; column {repr(name) if name else 2}"):
        TAOClustering(4, algorithm=FAST, random_state=0).fit(rows)


@pytest.mark.filterwarnings("error:Clusters of a few rows", "ignore:The tree has lost")
@pytest.mark.parametrize("k", [4, 60])
def test_small_groups_that_are_no_errors_are_not_reported(k):
    TAOClustering(k, algorithm=FAST, random_state=0).fit(planted("none", 1)[0])


def test_a_tree_that_cannot_cut_off_far_rows_says_so():
    rng, angle = np.random.default_rng(0), np.arange(12.0)
    ring = 400 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([rng.normal(size=(300, 2)), rng.normal(20, 1, (300, 2)), ring])
    model = TAOClustering(2, objective="trimmed", split="axis", max_leaves=3, random_state=0)
    with pytest.warns(UserWarning, match="more than the trimmed clustering. Give it more leaves"):
        model.fit(X)
