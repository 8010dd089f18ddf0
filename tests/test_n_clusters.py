"""choose_n_clusters, n_clusters="auto" and the density of the rows at each test."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.n_clusters import NUMBERS, WITH, WITHOUT, clustered, without
from greedy import IMM
from tao_cluster import TAOClustering, choose_n_clusters, load, outofcore, table_pipeline
from tao_cluster.report import report
from tao_cluster.separation import suggest

SQUARE = [[0, 0], [9, 0], [0, 9], [9, 9]]


def rows(n=400, seed=0):
    """Four round clusters, far apart, and their labels."""
    return make_blobs(n, centers=SQUARE, random_state=seed)


def suggested(X, seed, numbers=NUMBERS):
    return suggest(X, TAOClustering(random_state=seed), numbers, trees=False).n_clusters


def density_by_definition(p, weight):
    """The ratio of kernel densities, without bins."""
    left = p <= 0
    stds = [np.sqrt(np.cov(p[side], aweights=weight[side], ddof=0)) for side in (left, ~left)]
    h = 1.06 * min(std for std in stds if std > 0) * len(np.unique(p)) ** -0.2
    grid = np.unique(np.concatenate([np.linspace(-h, h, 201), p]))
    f = np.exp(-0.5 * ((grid[:, None] - p) / h) ** 2) @ weight
    return f[np.abs(grid) <= h].min() / min(f[grid <= 0].max(), f[grid > 0].max())


@pytest.mark.spaced(quick=0)
@pytest.mark.parametrize("n_values", [4, 6, 11])
def test_columns_of_few_integers_do_not_look_like_gaps(n_values):
    rng = np.random.default_rng(n_values)
    counts = rng.integers(0, n_values, (900, 2))  # they say nothing about the groups
    groups = 8 * rng.integers(0, 2, (900, 1)) + rng.normal(size=(900, 2))
    X = np.hstack([groups, counts])
    options = {"trees": False, "standardize": True, "random_state": 0}
    assert choose_n_clusters(X, range(2, 8), **options).n_clusters == 2
    assert choose_n_clusters(counts.astype(float), range(2, 8), **options).n_clusters == 1


@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_density_at_each_test_follows_its_definition(split):
    X = make_blobs(150, 3, centers=4, cluster_std=2.5, random_state=0)[0]
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    options = {"split": split, "max_leaves": 4, "random_state": 0, "standardize": True}
    model = TAOClustering(4, **options).fit(X, sample_weight=weight)
    paths = model.decision_path(X).toarray().astype(bool)
    assert np.isnan(model.split_densities_[model.tree_.leaves]).all()
    for node in model.tree_.decision_nodes:
        here, (columns, weights) = paths[:, node] & (weight > 0), model.tree_.split(node)
        p = X[np.ix_(here, columns)] @ weights - model.tree_.threshold[node]
        expected = density_by_definition(p, weight[here])
        assert model.split_densities_[node] == pytest.approx(expected, abs=0.05)


def test_density_does_not_depend_on_layout_threads_repeats_and_factors(tmp_path):
    X, _ = rows(120)
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    fit = IMM(5, random_state=0).fit
    model = fit(X, sample_weight=weight)
    found = [
        fit(np.asfortranarray(X), sample_weight=1e-9 * weight).split_densities_,
        fit(sp.csr_matrix(X), sample_weight=weight).split_densities_,
        fit(np.repeat(X, weight, axis=0)).split_densities_,
        IMM(5, random_state=0, n_jobs=2).fit(X, sample_weight=weight).split_densities_,
    ]
    for each in found:
        np.testing.assert_allclose(each, model.split_densities_, rtol=1e-3)
    single = fit(X.astype(np.float32), sample_weight=weight).split_densities_
    np.testing.assert_allclose(single, model.split_densities_, atol=0.02)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json").split_densities_
    np.testing.assert_array_equal(again, model.split_densities_)
    given = [node["density"] for node in report(model, X, sample_weight=weight)["nodes"]]
    np.testing.assert_allclose(np.array(given, float), model.split_densities_, rtol=1e-3)
    blocks = outofcore.fit(IMM(5, random_state=0), [X], random_state=0)
    assert blocks.split_densities_.shape == (blocks.tree_.n_nodes,)


@pytest.mark.slow
def test_displays_say_where_a_cut_lies():
    X, _ = rows()
    model = TAOClustering(4, max_leaves=4, random_state=0).fit(X)
    assert (model.split_densities_[model.tree_.decision_nodes] < 0.1).all()
    why = model.explain(X[0])
    assert all(line.endswith("(cut in a gap)") for line in str(why).splitlines()[:-1])
    assert why.to_frame()["density"].max() < 0.1
    words = [text.get_text() for text in model.plot(X).texts]
    assert sum(word.endswith("gap") for word in words) == 3
    assert "The cut lies in a gap: the rows are " in model.to_html()
    uniform = np.random.default_rng(0).random((400, 1))
    crowd = TAOClustering(2, max_leaves=2, random_state=0).fit(uniform)
    assert "(cut in a crowd)" in str(crowd.explain(uniform[0]))
    pipeline = make_pipeline(StandardScaler(), TAOClustering(4, max_leaves=4, random_state=0))
    assert "cut in a gap" in str(pipeline.fit(X)[-1].explain(X[0]))


@pytest.mark.slow
def test_suggestion_has_a_reason_and_a_table():
    X, _ = rows()
    found = choose_n_clusters(X, [2, 4, 5], random_state=0)
    assert found.n_clusters == 4
    assert found.reason.startswith("4 clusters: between any two of them, the rows are at most ")
    assert "groups that are apart, which need not be" in found.reason
    assert list(found.table.index) == [2, 4, 5]
    assert (found.table["density"] <= 0.5).tolist() == [True, True, False]
    assert found.table.loc[4, "parameters"] == 10
    assert found.table.notna().all(axis=None)
    assert len(found.plot()) == 2
    few = choose_n_clusters(X[:100], [4], trees=False, random_state=0)
    assert few.n_clusters == 4
    assert "fewer than 35 rows per cluster" in few.reason


@pytest.mark.slow
def test_every_kind_of_data_and_estimator():
    X, _ = rows()
    options = {"trees": False, "random_state": 0}
    sparse = choose_n_clusters(sp.csr_matrix(X), [3, 4, 5], **options)
    assert sparse.n_clusters == 4
    far = X * [1, 1000]
    assert choose_n_clusters(far, [3, 4, 5], standardize=True, **options).n_clusters == 4
    estimator = make_pipeline(StandardScaler(), TAOClustering(split="axis"))
    found = choose_n_clusters(far, [3, 4], estimator=estimator, random_state=0)
    assert found.n_clusters == 4
    table = pd.DataFrame(X, columns=["a", "b"]).assign(id=range(len(X)))
    table["a"] = [f"{a:.3f} kg" for a in table["a"]]
    assert choose_n_clusters(table, [3, 4, 5], **options).n_clusters == 4
    noise = np.random.default_rng(0).random((len(X), 3))
    assert choose_n_clusters(noise, [3, 4, 5], **options).n_clusters == 1
    assert choose_n_clusters(noise, [3, 4, 5], embedding=X, **options).n_clusters == 4
    pipeline = table_pipeline(table, "auto", random_state=0)
    assert pipeline[-1].n_clusters == pipeline.suggestion_.n_clusters == 4
    assert len(np.unique(pipeline.fit(table).predict(table))) == 4
    again = choose_n_clusters(X, [3, 4, 5], n_jobs=2, **options)
    pd.testing.assert_frame_equal(again.table, choose_n_clusters(X, [3, 4, 5], **options).table)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_data_without_clusters_and_tiny_data_have_one():
    for X in (np.ones((60, 2)), np.arange(4.0)[:, None], np.ones((3, 1))):
        found = choose_n_clusters(X, range(2, len(X) + 1)[:11], trees=False, random_state=0)
        assert found.n_clusters == 1
        assert found.reason.startswith("No clusters found")
    table = pd.DataFrame({"x": np.random.default_rng(0).random(200)})
    with pytest.warns(UserWarning, match=r"No clusters found.* Give n_clusters"):
        pipeline = table_pipeline(table, "auto", random_state=0)
    assert pipeline[-1].n_clusters == 1


@pytest.mark.parametrize("numbers", [range(1, 4), [], 5, "auto", [2, 401], [2.5], [None]])
def test_numbers_that_cannot_be_compared_raise(numbers):
    with pytest.raises(ValueError, match="must be several numbers from 2 to 400"):
        choose_n_clusters(rows()[0], numbers)


def test_settings_that_would_not_be_used_raise():
    X, _ = rows()
    with pytest.raises(ValueError, match="exclude each other"):
        choose_n_clusters(X, [2], estimator=TAOClustering(), split="axis")
    with pytest.raises(TypeError, match="must be a TAOClustering"):
        choose_n_clusters(X, [2], estimator=IMM())
    for options in ({"reference": X[:2]}, {"objective": "labels"}):
        with pytest.raises(ValueError, match="set the number of clusters themselves"):
            choose_n_clusters(X, [2], **options)


@pytest.mark.slow
def test_fresh_sets():
    """A few small sets, each of which is found with a wide margin."""
    numbers = range(2, 7)
    for i, kind in enumerate(WITH[:2]):
        X, k = clustered(kind, np.random.default_rng([77, i]), 400, most_clusters=4)
        assert suggested(X, i, numbers) == k
    for i, kind in enumerate(WITHOUT[:2]):
        assert suggested(without(kind, np.random.default_rng([78, i]), 400), i, numbers) == 1
