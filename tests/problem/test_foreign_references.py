"""References that were fitted to other data, and pipelines that end in a clusterer."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import (
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
)
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

import tao_cluster
from greedy import IMM
from tao_cluster import TAOClustering, compare, outofcore, stability
from tao_cluster.objectives import AlternatingClustering, KMedians
from tao_cluster.problem.repeats import content_order

FRAME = load_wine(as_frame=True).data
X = FRAME.to_numpy()
SCALED = StandardScaler().fit_transform(X)
ORDERED = FRAME.iloc[content_order(FRAME)]  # the order in which a fit sees the rows
METHODS = {
    "oblique": lambda reference, **options: TAOClustering(
        3, lambda_=1.0, depth=2, reference=reference, random_state=0, **options
    ),
    "axis": lambda reference, **options: TAOClustering(
        3, split="axis", max_leaves=4, reference=reference, random_state=0, **options
    ),
    "imm": lambda reference, **options: IMM(3, reference=reference, random_state=0, **options),
}


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


def kmeans(data, k=3):
    return KMeans(k, n_init=1, random_state=0).fit(data)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (FRAME.columns[::-1], r"another order: its column 0 is 'alcohol', that of X is 'proline'"),
        (
            ["other", *FRAME.columns[1:]],
            r"X lacks 'alcohol', and the reference does not know 'other'",
        ),
    ],
)
def test_a_reference_of_other_columns(method, columns, message):
    frame = FRAME.set_axis(list(columns), axis=1) if "other" in columns else FRAME[columns]
    with pytest.raises(ValueError, match=message):
        method(kmeans(FRAME)).fit(frame)


def test_a_reference_of_other_columns_than_blocks():
    frame = FRAME[FRAME.columns[::-1]]
    with pytest.raises(ValueError, match="another order"):
        outofcore.fit(IMM(3, reference=kmeans(FRAME)), [frame[:90], frame[90:]], random_state=0)
    numbered = [part.set_axis(range(13), axis=1) for part in (FRAME[:90], FRAME[90:])]
    outofcore.fit(IMM(3, reference=kmeans(FRAME)), numbered, random_state=0)


def test_a_fitted_reference_of_rows_that_are_drawn_again():
    options = {"splits": 2, "resampling": "bootstrap", "reference": kmeans(FRAME)}
    assert len(compare(FRAME, 3, ["imm"], **options).table) == 2
    with pytest.raises(ValueError, match="another order"):
        compare(FRAME[FRAME.columns[::-1]], 3, ["imm"], **options)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(
    "data", [SCALED, X[:, ::-1], X[::-1], 10 * X], ids=["scaled", "columns", "rows", "units"]
)
def test_a_reference_of_other_data(method, data, standardize, form):
    message = r"does not belong to these data: \d+ of its 178 labels_.*make_pipeline.*objective="
    with pytest.raises(ValueError, match=message):
        method(kmeans(data), standardize=standardize).fit(form(X))


@pytest.mark.spaced(quick=2)
@pytest.mark.parametrize(
    "reference",
    [
        KMeans(3, n_init=1, max_iter=1, tol=10.0, random_state=0),
        MiniBatchKMeans(3, n_init=1, batch_size=16, max_iter=1, random_state=0),
        BisectingKMeans(3, random_state=0),
        GaussianMixture(3, random_state=0),
        AgglomerativeClustering(3),
        KMeans(3, n_init=1, random_state=0).set_params(algorithm="elkan"),
    ],
    ids=lambda reference: type(reference).__name__,
)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters", "ignore:.*did not converge")
@pytest.mark.filterwarnings("ignore:The tree costs .* less than the reference")
@pytest.mark.parametrize("standardize", [False, True])
def test_honest_references_are_accepted(reference, standardize):
    for data in (X, X.astype(np.float32), FRAME):
        fitted = reference.fit(data)
        assert len(IMM(3, reference=fitted, standardize=standardize).fit(data).labels_) == 178
    weight = np.random.default_rng(0).uniform(0.5, 2, 178)
    if hasattr(reference, "cluster_centers_"):
        fitted = reference.fit(X, sample_weight=weight)
        IMM(3, reference=fitted).fit(X, sample_weight=weight)
        IMM(3, reference=fitted).fit(X[:100])  # other rows: there are no labels to compare


class WithoutPredict(ClusterMixin, BaseEstimator):
    """A fitted clusterer whose metric is unknown, since it cannot predict."""

    def __init__(self, other):
        self.other = other
        self.cluster_centers_, self.labels_ = other.cluster_centers_, other.labels_

    def fit(self, X, y=None):
        return self


def test_a_reference_without_predict():
    rows = np.random.default_rng(0).standard_cauchy((500, 2))
    medians = AlternatingClustering(4, KMedians(), random_state=0).fit(rows)
    nearest = ((rows[:, None] - medians.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
    assert np.sum(nearest != medians.labels_) > 0.05 * len(rows)  # or there is nothing to accept
    IMM(4, reference=WithoutPredict(medians)).fit(rows)
    with pytest.raises(ValueError, match="does not belong to these data"):
        IMM(3, reference=WithoutPredict(kmeans(SCALED))).fit(X)


@pytest.mark.filterwarnings("ignore:lambda_=1 is small")
def test_centres_of_other_data_without_labels(method):
    centers = kmeans(SCALED).cluster_centers_
    with pytest.warns(ConvergenceWarning, match="Only 1 of 3 clusters.*may belong to other data"):
        method(centers).fit(X)


LABELS = kmeans(X).labels_


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        LABELS.tolist(),
        pd.Series(LABELS),
        LABELS.astype(float),
        LABELS.astype(str),
        ["a", "b"],
    ],
    ids=["array", "list", "series", "floats", "strings", "few"],
)
def test_labels_are_no_reference(method, labels):
    with pytest.raises(ValueError, match=r"as labels are.*objective='labels'") as caught:
        method(labels).fit(X)
    assert len(str(caught.value)) < 400


def test_centres_of_one_column(method):
    with pytest.raises(ValueError, match=r"shape \(n_clusters, 1\), as of reference\.reshape"):
        method([11.5, 12.5, 13.5]).fit(X[:, [0]])
    method(np.array([[11.5], [12.5], [13.5]])).fit(X[:, [0]])


# ---------------------------------------------------------------- pipelines


def pipeline():
    return make_pipeline(StandardScaler(), PCA(4), KMeans(3, n_init=3, random_state=0))


@pytest.mark.spaced(quick=1, slow=4)
@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize("data", [ORDERED.to_numpy(), ORDERED], ids=["array", "frame"])
def test_a_pipeline_clusters_its_transformed_columns(method, is_fitted, data):
    reference = pipeline().fit(data) if is_fitted else pipeline()
    model = method(reference).fit(data)
    expected = pipeline().fit(data)
    embedding = expected[:-1].transform(data)
    np.testing.assert_allclose(model.free_centers_, expected[-1].cluster_centers_)
    other = method(expected[-1]).fit(data, embedding=embedding)
    assert model.tree_ == other.tree_
    assert model.tree_.n_features == 13
    new = data[20:90]
    # The columns are transformed for other rows at a time, which may round sums differently.
    embedding, close = embedding[20:90], np.testing.assert_allclose
    close(model.score(new), other.score(new, embedding=embedding), rtol=1e-12)
    close(model.cost_increase(new), other.cost_increase(new, embedding=embedding), rtol=1e-9)
    close(model.transform(new), other.transform(embedding), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(new), other.predict(new))
    assert not hasattr(reference[0], "mean_") or is_fitted  # what was given stays as it was


def test_a_fit_without_a_pipeline_forgets_that_of_an_earlier_one():
    model = IMM(3, reference=pipeline()).fit(X)
    model.set_params(reference=None, random_state=0).fit(X)
    assert model.transform(X).shape == (178, 3)
    assert model.score(X) == pytest.approx(-model.inertia_)


@pytest.mark.slow
def test_a_pipeline_with_random_steps_follows_the_seed_of_the_model(method):
    clusterer = KMeans(3, n_init=1)
    reference = make_pipeline(StandardScaler(), GaussianRandomProjection(4), clusterer)
    trees = [method(reference).fit(X).tree_ for _ in range(2)]
    assert trees[0] == trees[1]
    assert reference.get_params()["gaussianrandomprojection__random_state"] is None


def test_a_pipeline_and_an_embedding_exclude_each_other(method):
    with pytest.raises(ValueError, match="both define the space"):
        method(pipeline()).fit(X, embedding=SCALED)


def test_blocks_need_the_embedding_of_a_pipeline():
    with pytest.raises(ValueError, match="give the result as embedding"):
        outofcore.fit(IMM(3, reference=pipeline()), [X[:90], X[90:]], random_state=0)


@pytest.mark.slow
def test_a_pipeline_in_comparisons_stability_and_files(tmp_path):
    found = compare(X, 3, ["imm", "exkmc"], reference=pipeline(), random_state=0)
    assert found.table["cost_increase"].max() < 100
    model = IMM(3, reference=pipeline(), random_state=0).fit(X)
    assert stability(model, X, n=2) is not None
    path = tmp_path / "model.json"
    with pytest.warns(UserWarning, match="its transformers are not saved"):
        model.save(path)
    loaded = tao_cluster.load(path)
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    embedding = pipeline().fit(X)[:-1].transform(X)
    assert loaded.score(X, embedding=embedding) == pytest.approx(model.score(X))


def test_the_transformers_of_a_comparison_do_not_see_held_out_rows():
    options = {"methods": ["imm"], "validation": np.arange(60), "random_state": 0}
    rows = ORDERED.to_numpy()
    found = compare(rows, 3, reference=pipeline(), **options).table
    fitted = pipeline().fit(rows[60:])
    embedding = fitted[:-1].transform(rows)
    other = compare(rows, 3, reference=fitted[-1], embedding=embedding, **options).table
    columns = [name for name in found if "seconds" not in name]
    pd.testing.assert_frame_equal(found[columns], other[columns])


def test_transform_of_a_loaded_model_needs_the_transformers(tmp_path):
    model = IMM(3, reference=pipeline(), random_state=0).fit(X)
    with pytest.warns(UserWarning, match="transformers are not saved"):
        model.save(tmp_path / "model.json")
    loaded = tao_cluster.load(tmp_path / "model.json")
    with pytest.raises(ValueError, match="whose transformers were not saved"):
        loaded.transform(X)
    with pytest.warns(UserWarning, match="will have its default"):
        model.save(tmp_path / "model.json")
    loaded.set_params(random_state=0).fit(X)
    assert loaded.transform(X).shape == (178, 3)


def test_nested_and_half_fitted_pipelines():
    nested = make_pipeline(StandardScaler(), make_pipeline(PCA(4), pipeline()[-1]))
    assert IMM(3, reference=nested).fit(X).tree_ == IMM(3, reference=pipeline()).fit(X).tree_
    with pytest.raises(ValueError, match="whose KMeans is fitted, but whose transformers are not"):
        IMM(3, reference=make_pipeline(StandardScaler(), kmeans(SCALED))).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize(
    "reference",
    [kmeans(X, 5), kmeans(X, 5).cluster_centers_, AgglomerativeClustering(5)],
    ids=["fitted", "centres", "to fit"],
)
def test_a_reference_of_another_number_of_clusters_names_the_number(reference):
    for model in (IMM(3), TAOClustering(3, random_state=0)):
        with pytest.raises(ValueError, match=r"Use n_clusters=5\.") as caught:
            model.set_params(reference=reference).fit(X)
        remedy = int(re.search(r"n_clusters=(\d+)\.$", str(caught.value))[1])
        assert model.set_params(n_clusters=remedy).fit(X).free_labels_.max() == 4


def test_wide_sparse_rows_in_a_pipeline():
    digits = sp.csr_matrix(load_digits().data[:300])
    reference = make_pipeline(StandardScaler(with_mean=False), KMeans(5, n_init=1, random_state=0))
    model = IMM(5, reference=reference).fit(digits)
    assert sp.issparse(model._embedder.transform(digits))
    assert model.cost_increase(digits) == pytest.approx(model.cost_increase_)


@pytest.mark.spaced(quick=0)
@pytest.mark.parametrize("cluster_all", [True, False])
def test_a_reference_with_a_metric_or_noise_of_its_own(cluster_all):
    fitted = MeanShift(bandwidth=120, cluster_all=cluster_all).fit(X)
    assert cluster_all or np.sum(fitted.labels_ < 0) > 4  # noise has no nearest centre
    assert IMM(len(fitted.cluster_centers_), reference=fitted).fit(X).tree_.n_leaves > 1
