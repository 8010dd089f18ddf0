"""stability: refits to resamples and with other seeds, and what is told of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, scale

from greedy import IMM, ExKMC
from tao_cluster import TAOClustering, stability
from tao_cluster.problem.repeats import content_order


@pytest.fixture(scope="module")
def wine():
    found = load_wine(as_frame=True)
    return pd.DataFrame(scale(found.data), columns=found.data.columns)


@pytest.fixture(scope="module")
def found(wine):
    return stability(ExKMC(3, max_leaves=5, random_state=0), wine, n=6)


@pytest.mark.slow
def test_table_has_one_row_per_refit(found, wine):
    table = found.table
    assert table["kind"].tolist() == ["resample"] * 6 + ["seed"] * 6
    assert table["leaves"].between(3, 5).all()
    assert (table["parameters"] == 3 * table["leaves"] - 2).all()
    assert table["ARI"].between(-1, 1).all()
    resamples = table["kind"] == "resample"
    assert table.loc[resamples, "cost_increase_new"].notna().all()
    assert table.loc[~resamples, "cost_increase_new"].isna().all()
    np.testing.assert_array_equal(found.model.predict(wine), found.model.labels_)


def test_a_resample_is_the_fit_to_repeated_rows(wine):
    n_rows = len(wine)
    found = stability(ExKMC(3, max_leaves=5, random_state=0), wine, n=2, random_state=3)
    rng = np.random.RandomState(3)
    drawn = content_order(wine)[rng.randint(n_rows, size=n_rows)]
    first = np.bincount(drawn, minlength=n_rows)
    rows = np.repeat(np.arange(n_rows), first)
    again = ExKMC(3, max_leaves=5, random_state=0).fit(wine.iloc[rows])
    row = found.table.iloc[0]
    assert row["cost_increase"] == pytest.approx(again.cost_increase_)
    assert row["ARI"] == pytest.approx(
        adjusted_rand_score(found.model.labels_, again.predict(wine))
    )
    assert row["cost_increase_new"] == pytest.approx(again.cost_increase(wine[first == 0]))


def test_pairs_and_features_follow_from_the_refits(wine):
    model = IMM(3, random_state=0).fit(wine)
    found = stability(model, wine, n=3)
    assert found.model is model
    # IMM has no random numbers but those of the free clustering, the same one with every seed.
    assert found.pairs["seed"] == pytest.approx(1)
    assert found.table.loc[3:, "ARI"].tolist() == pytest.approx([1, 1, 1])
    assert 0 < found.pairs["resample"] < 1
    tree = model.tree_
    used = {wine.columns[j] for j in tree.used_features}
    features = found.features
    assert used <= set(features.index)
    assert set(features.index[features["model"] > 0]) == used
    root = wine.columns[tree.split_indices[0]]
    assert features.loc[root, "model"] == 1  # on every path
    assert (features.loc[sorted(used), "seeds"] == 1).all()
    assert ((features["resamples"] * 3) % 1).abs().max() < 1e-9
    assert features["resamples"].is_monotonic_decreasing
    assert (features["rows"] <= features[["resamples", "seeds"]].mean(axis=1) + 1e-9).all()


def test_a_reference_that_is_given_stays(wine):
    reference = KMeans(3, n_init=1, random_state=0).fit(wine)
    centers = reference.cluster_centers_.copy()
    for given in (reference, centers):
        found = stability(IMM(3, reference=given), wine, n=2)
        np.testing.assert_array_equal(found.model.free_centers_, centers)
        assert found.table.loc[2:, "ARI"].tolist() == [1, 1]
    np.testing.assert_array_equal(reference.cluster_centers_, centers)
    assert reference.random_state == 0


@pytest.mark.slow
def test_weights_embedding_and_processes(wine):
    weight = np.where(np.arange(len(wine)) < 30, 0.0, 2.0)
    options = {"sample_weight": weight, "embedding": wine.to_numpy()[:, :5], "n": 2}
    a = stability(IMM(3, random_state=0), wine, **options)
    b = stability(IMM(3, random_state=0), wine, n_jobs=2, **options)
    pd.testing.assert_frame_equal(a.table, b.table)
    pd.testing.assert_frame_equal(a.features, b.features)
    other = stability(IMM(3, random_state=0), wine, random_state=1, **options)
    assert not a.table.equals(other.table)


def test_pipelines_refit_as_a_whole():
    X = load_iris(as_frame=True).data
    found = stability(make_pipeline(StandardScaler(), IMM(3, random_state=0)), X, n=2)
    assert set(found.features.index) <= set(X.columns)
    assert len(found.table) == 4
    with pytest.raises(
        ValueError, match="Pipeline does not support sample_weight: transform X first"
    ):
        stability(make_pipeline(IMM(3)), X, n=2, sample_weight=np.ones(len(X)))


@pytest.mark.slow
def test_refits_warn_once(wine):
    model = TAOClustering(3, lambda_=1.0, depth=1, random_state=0)
    with pytest.warns(UserWarning, match="depth"):
        model.fit(wine)
    with pytest.warns(UserWarning, match="^4 of 4 refits warned. The first warning: ") as caught:
        stability(model, wine, n=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_wrong_arguments_raise(wine):
    with pytest.raises(ValueError, match="n=1 must be at least 2"):
        stability(IMM(3), wine, n=1)
    with pytest.raises(ValueError, match=r"n=2\.5 must be an integer"):
        stability(IMM(3), wine, n=2.5)
    with pytest.raises(ValueError, match="y is used only by a model with objective="):
        stability(IMM(3), wine, y=np.zeros(len(wine)))
    with pytest.raises(ValueError, match=r"an estimator of this project .* got KMeans"):
        stability(KMeans(3), wine)


@pytest.mark.slow
def test_labels_go_with_their_rows(wine):
    y = load_wine().target_names[load_wine().target]
    model = TAOClustering(objective="labels", lambda_=1.0, depth=2, random_state=0)
    found = stability(model, wine, n=3, y=y)
    assert found.table["ARI"].min() > 0.5
    assert found.table["cost_increase_new"].dropna().between(0, 30).all()
    piped = stability(make_pipeline(StandardScaler(), model), wine, n=2, y=y)
    assert piped.table["ARI"].min() > 0.5


@pytest.mark.slow
def test_it_is_reproducible_without_a_seed_of_the_model(wine):
    restless = IMM(3, reference=KMeans(3, init="random", n_init=1, max_iter=1))
    a, b = (stability(restless, wine, n=3) for _ in range(2))
    pd.testing.assert_frame_equal(a.table, b.table)
    pd.testing.assert_frame_equal(a.features, b.features)
    assert a.pairs == b.pairs


@pytest.mark.slow
def test_features_of_pipelines_are_raw_columns():
    hours = np.tile([1.0, 2.0, 30.0, 31.0], 10)
    table = pd.DataFrame({"plan": np.tile(["gold", "free"], 20), "hours": hours})
    steps = make_column_transformer((OneHotEncoder(), ["plan"]), (StandardScaler(), ["hours"]))
    found = stability(make_pipeline(steps, IMM(4, random_state=0)), table, n=3)
    assert "hours" in found.features.index
    assert set(found.features.index) <= {"hours", "plan is gold", "plan is free"}
    unseen = stability(make_pipeline(PCA(1), IMM(2, random_state=0)), table[["hours"]], n=2)
    assert list(unseen.features.index) == ["pca0"]
    squares = make_pipeline(FunctionTransformer(np.square), IMM(2, random_state=0))
    assert list(stability(squares, table[["hours"]], n=2).features.index) == ["hours"]


@pytest.mark.slow
def test_printed_form_has_readable_headings(found):
    text = repr(found)
    assert "ExKMC, 12 refits" in text
    assert f"{found.pairs['resample']:.2f} between resamples" in text
    assert found.features.index[0] in text
    for heading in ("ARI with the model", "cost increase, %", "rows (refits)", "Share of the rows"):
        assert heading in text
        assert heading in found._repr_html_()
    mean = found.summary.loc["ARI", ("resample", "mean")]
    assert mean == pytest.approx(found.table["ARI"][:6].mean())
    assert f"{mean:.2f}" in text
    assert found._repr_html_().count("<table") == 2
