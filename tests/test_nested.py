"""`nested` and `fit_nested`: each number of clusters has a model, and clusters only divide."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import DIVCLUST, ExKMC
from tao_cluster import DirectForm, TAOClustering, fit_nested, load, nested, save, table_pipeline
from tao_cluster.export import to_sql

slow = partial(pytest.param, marks=pytest.mark.slow)
QUICK = {"algorithm": DirectForm(n_init=1, search="none", copies=0), "random_state": 3}
WINE = StandardScaler().fit_transform(load_wine().data)


def assert_nested(trees, X):
    """Clusters only divide, one at a time, and each cut is a fitted model of its level."""
    n_clusters = trees.n_clusters
    for k in range(1, n_clusters + 1):
        model, labels = trees.cut(k), trees.labels[k - 1]
        assert np.array_equal(model.predict(X), labels)
        assert set(labels) == set(range(k))
        last = model[-1] if hasattr(model, "steps") else model
        assert last.get_params()["n_clusters"] == k
        assert last.cluster_centers_.shape[0] == k
    for coarse, fine in pairwise(trees.labels):
        pairs = np.unique(np.column_stack([coarse, fine]), axis=0)
        assert len(pairs) == fine.max() + 1  # no cluster of the finer level is in two coarser ones
        stays = fine < fine.max()
        assert np.array_equal(coarse[stays], fine[stays])
    table = trees.table
    assert (np.diff(table["cost"]) <= 1e-9 * table["cost"].iloc[0]).all()
    assert (np.diff(table["n_leaves"]) >= 0).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: TAOClustering(5, **QUICK),
        slow(lambda: TAOClustering(5, split="axis", standardize=True, **QUICK)),
        lambda: ExKMC(4, max_leaves=7, random_state=0),
        slow(lambda: make_pipeline(StandardScaler(), TAOClustering(5, **QUICK))),
    ],
)
@pytest.mark.parametrize("form", ["prunings", "merges"])
def test_clusters_only_divide(make, form, tmp_path):
    model = make().fit(WINE)
    before = model.predict(WINE)
    trees = nested(model, WINE, form=form)
    assert_nested(trees, WINE)
    assert np.array_equal(model.predict(WINE), before)
    if form == "merges":
        pairs = np.unique(np.column_stack([before, trees.labels[-1]]), axis=0)
        assert len(pairs) == trees.n_clusters  # the clusters of the model, with other numbers
    if hasattr(model, "steps"):  # only pipelines of tables can be saved
        return
    save(trees.cut(2), tmp_path / "two.json")
    assert np.array_equal(load(tmp_path / "two.json").predict(WINE), trees.labels[1])


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(3, 6), st.booleans())
@settings(max_examples=4, deadline=None)
def test_the_order_of_divisions_costs_least(seed, k, has_weights):
    """By brute force: no other order of prunings has a lower mean cost over all levels.

    With fewer levels than leaves, the last level is at most as good as the best pruning allows.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 2)) * rng.choice([0.1, 1, 5], (60, 1))
    weight = rng.integers(1, 4, 60).astype(float) if has_weights else np.ones(60)
    model = DIVCLUST(k, random_state=0).fit(X, sample_weight=weight)
    trees = nested(model, X, sample_weight=weight)
    tree, paths = model.tree_, model.decision_path(X).toarray().astype(bool)

    def cost(node):
        rows, own = X[paths[:, node]], weight[paths[:, node]]
        return float(own @ ((rows - np.average(rows, axis=0, weights=own)) ** 2).sum(axis=1))

    def best(front):
        """Return the least sum of costs from a pruning on to all leaves."""
        here = sum(map(cost, front))
        inner = [i for i in front if tree.children_left[i] >= 0]
        divided = [
            front - {i} | {int(tree.children_left[i]), int(tree.children_right[i])} for i in inner
        ]
        return here + min(map(best, divided), default=0.0)

    assert trees.table["cost"].sum() == pytest.approx(best(frozenset({0})))
    few = nested(model, X, k - 1, sample_weight=weight).table["cost"]
    assert few.sum() <= trees.table["cost"].iloc[:-1].sum() * (1 + 1e-9)


@pytest.mark.slow
def test_trained_trees_are_nested_and_cost_no_more_than_cut_back_ones():
    terms = {"random_state": 0, "algorithm": DirectForm(search="none", copies=5)}
    trees = fit_nested(WINE, 5, max_leaves=5, **terms)
    assert_nested(trees, WINE)
    model = TAOClustering(5, max_cost_increase=2, **terms).fit(WINE)
    cut_back = nested(model, WINE, form="prunings")
    assert trees.table["cost_increase"].mean() < cut_back.table["cost_increase"].mean()
    assert list(trees.table["n_leaves"]) == [1, 2, 3, 4, 5]
    assert (trees.nodes >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "weights"])
def test_the_same_tree_for_other_forms_of_the_rows(kind):
    X, _ = make_blobs(90, 3, centers=4, random_state=1)
    X = X.round(1)
    trees = fit_nested(X, 4, **QUICK)
    if kind == "sparse":
        other = fit_nested(sp.csr_matrix(X), 4, **QUICK)
        assert np.mean(other.labels == trees.labels) > 0.99
    else:
        twice = fit_nested(np.vstack([X, X[:40]]), 4, **QUICK)
        weight = np.where(np.arange(len(X)) < 40, 2.0, 1.0)
        trees = fit_nested(X, 4, sample_weight=weight, **QUICK)
        assert np.array_equal(twice.labels[:, : len(X)], trees.labels)


def test_a_given_dendrogram_is_explained():
    """Three far groups, one of which has two parts: each level is found, and says so."""
    X, group = make_blobs(
        200, 3, centers=[[0, 0, 0], [3, 0, 0], [0, 40, 0], [0, 0, 90]], random_state=0
    )
    matrix = linkage(X, "ward")
    trees = fit_nested(X, 4, reference=matrix, **QUICK)
    assert trees.agreement[:3].tolist() == [1.0, 1.0, 1.0]
    assert trees.agreement[3] > 0.8
    assert list(trees.table["agreement"]) == trees.agreement.tolist()
    assert len(np.unique(trees.labels[2][group == 0])) == 1
    with pytest.raises(ValueError, match="200 rows, but the data have 100"):
        fit_nested(X[:100], 4, reference=matrix, **QUICK)


def test_rows_without_a_cluster_in_the_dendrogram():
    """A condensed tree of HDBSCAN with noise: labelled rows are explained, the others ignored."""
    X = load_iris().data[::2]
    order = np.argsort(X[:, 2])
    one, two, noise = order[:25], order[35:70], np.r_[order[25:35], order[70:]]
    lines = [(75, i, 0.1, 1) for i in noise] + [(75, 76, 0.5, 25), (75, 77, 0.5, 35)]
    lines += [(76, i, 2.0, 1) for i in one] + [(77, i, 2.0, 1) for i in two]
    tree = pd.DataFrame(lines, columns=["parent", "child", "lambda_val", "child_size"])
    for algorithm in (QUICK["algorithm"], DirectForm(search="none", copies=3)):
        trees = fit_nested(X, 2, reference=tree, algorithm=algorithm, random_state=0)
        assert trees.agreement[1] == 1.0
        assert trees.table["cost"].notna().all()


def test_later_changes_of_the_frame_and_new_rows():
    frame = load_iris(as_frame=True).data
    trees = fit_nested(frame, estimator=TAOClustering(3), max_leaves=4, **QUICK)
    frame["segment"] = trees.labels[1]
    assert trees.n_clusters == 3
    assert np.array_equal(trees.cut(2).labels_, frame["segment"])
    assert np.array_equal(trees.predict(frame.drop(columns="segment"), 2), frame["segment"])


def test_names_carry_over():
    X = load_iris().data
    model = TAOClustering(3, max_leaves=3, **QUICK).fit(X)
    model.name_clusters(["short", "wide", "long"])
    trees = nested(model, X)
    names = trees.cut(2).cluster_names_
    assert sorted(" + ".join(names).split(" + ")) == ["long", "short", "wide"]
    assert sorted(trees.cut(3).cluster_names_) == ["long", "short", "wide"]
    by_name = {name: trees.labels[2] == c for c, name in enumerate(trees.cut(3).cluster_names_)}
    for name, number in zip(["short", "wide", "long"], range(3), strict=True):
        assert np.array_equal(by_name[name], model.labels_ == number)


@pytest.mark.slow
def test_raw_tables():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 240)
    table = pd.DataFrame({
        "spend": group * 500.0 + rng.normal(1000, 60, 240),
        "plan": np.where(group == 1, "gold", rng.choice(["free", "team"], 240)),
    })  # fmt: skip
    pipeline = table_pipeline(table, 3, verbose=0)
    trees = fit_nested(table, 4, pipeline, max_leaves=4, random_state=0)
    assert_nested(trees, table)
    assert "spend" in to_sql(trees.cut(2))


@pytest.mark.slow
def test_degenerate_rows_and_bad_input():
    model = TAOClustering(3, **QUICK).fit(WINE)
    assert nested(model, WINE, 1).table["n_leaves"].tolist() == [1]
    lost = ExKMC(4, min_samples_leaf=60, random_state=0).fit(WINE)
    assert nested(lost, WINE).n_clusters < 4
    several = TAOClustering(2, max_leaves=5, split="axis", **QUICK).fit(WINE)
    several.name_clusters(["a", "b"])
    assert nested(several, WINE).n_clusters == 2
    names = nested(several, WINE, 3, form="prunings").model.cluster_names_
    assert len(set(names)) == 3
    for call, message in [
        (lambda: fit_nested(WINE, 1), "at least 2"),
        (lambda: fit_nested(WINE, range(2, 5)), "largest number"),
        (lambda: fit_nested(np.repeat(WINE[:3], 5, axis=0), 4), "3 distinct rows"),
        (lambda: fit_nested(WINE, 4, KMeans(4)), "TAOClustering"),
        (lambda: fit_nested(WINE, 4, objective="spherical"), 'objective="kmeans"'),
        (lambda: nested(model, WINE, 40), "from 1 to"),
        (lambda: nested(model, WINE, form="cuts"), "form must be one of"),
        (lambda: nested(model, WINE[:, :4]), "features"),
        (lambda: nested(model, WINE).cut(9), "from 1 to 3"),
        (lambda: fit_nested(WINE, 3, TAOClustering(3, reference=WINE[:3])), "reference=None"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    labelled = TAOClustering(objective="labels", **QUICK).fit(WINE, load_wine().target)
    with pytest.raises(ValueError, match="needs an objective"):
        nested(labelled, WINE)
