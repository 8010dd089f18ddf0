"""Pipelines in their raw columns: the same tree, in the names and units of the table."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import rest_in_sweeps
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from greedy import IMM, ExKMC
from tao_cluster import TAOClustering, describe
from tao_cluster.columns import raw_view, shown
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_rules, to_sql, to_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_tree
from tao_cluster.report import report

pd = pytest.importorskip("pandas", reason="tables with names")

SCALERS = {
    "standard": StandardScaler(),
    "mean only": StandardScaler(with_std=False),
    "min-max": MinMaxScaler(feature_range=(-1, 2)),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, not centred": RobustScaler(with_centering=False),
    "chain": make_pipeline(MinMaxScaler(), StandardScaler(), MaxAbsScaler()),
    "selection": make_pipeline(VarianceThreshold(0.05), "passthrough", StandardScaler()),
    "nothing": FunctionTransformer(),
}


INCREASING = {
    "log1p": FunctionTransformer(np.log1p),
    "sqrt, scaled": make_pipeline(FunctionTransformer(np.sqrt), StandardScaler()),
    "Yeo-Johnson": PowerTransformer(),
    "Box-Cox": PowerTransformer(method="box-cox"),
    "quantiles": QuantileTransformer(n_quantiles=50),
    "normal quantiles": QuantileTransformer(n_quantiles=30, output_distribution="normal"),
    "bins": KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    "clipped": MinMaxScaler((0, 2), clip=True),
    "binary": Binarizer(threshold=2.2),
    "with an inverse": FunctionTransformer(lambda x: np.log(x + 1), lambda z: np.exp(z) - 1),
    "decreasing": FunctionTransformer(lambda x: -2 * np.sqrt(x), lambda z: np.square(z / 2)),
}
INCREASING |= {name: SCALERS[name] for name in ("standard", "min-max", "chain")}


def axis_model(midpoints=False):
    """Thresholds are values of rows unless they are midpoints, so that rows meet them."""
    return ExKMC(3, max_leaves=9, midpoints=midpoints, random_state=0)


def oblique_model(k=3, lambda_="auto"):
    return TAOClustering(k, lambda_=lambda_, depth=3, random_state=0)


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


def routed(pipeline, X):
    """Leaves, by the steps of the pipeline themselves."""
    return pipeline[-1].apply(pipeline[:-1].transform(X))


# ---------------------------------------------------------------------------- numbers


@pytest.mark.spaced(quick=0, slow=5)
@pytest.mark.parametrize("name", SCALERS)
@pytest.mark.parametrize("model", [axis_model(), axis_model(True), oblique_model()], ids=str)
def test_the_raw_tree_routes_as_the_pipeline(wine, name, model):
    pipeline = make_pipeline(SCALERS[name], model).fit(wine)
    view = raw_view(pipeline)
    assert set(view.feature_names_in_) <= set(wine.columns)
    np.testing.assert_array_equal(view.tree_.apply(view.numbers(wine)), routed(pipeline, wine))
    np.testing.assert_array_equal(view.predict(wine), pipeline.predict(wine))
    np.testing.assert_array_equal(view.predict(wine), view.labels_)
    values = wine[list(view.feature_names_in_)].to_numpy()
    np.testing.assert_array_equal(view.numbers(wine), values)


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize("name", INCREASING)
@pytest.mark.parametrize("midpoints", rest_in_sweeps([False, True], True))
def test_thresholds_of_increasing_functions_are_exact(wine, name, midpoints):
    """Rows of the table, the floats next to each threshold, and rows outside of the fit."""
    model = ExKMC(3, max_leaves=4, midpoints=midpoints, random_state=0)
    pipeline = make_pipeline(INCREASING[name], model).fit(wine)
    view = raw_view(pipeline)
    tree, rows = view.tree_, [*wine.to_numpy(), *wine.to_numpy() * 3, *wine.to_numpy() / 7]
    for node in tree.decision_nodes:
        ((feature,), (weight,)) = tree.split(node)
        at = weight * tree.threshold[node]
        for value in (at, math.nextafter(at, math.inf), math.nextafter(at, -math.inf)):
            rows.append(wine.to_numpy()[node].copy())
            rows[-1][feature] = value
    rows = pd.DataFrame(np.array(rows), columns=wine.columns)
    np.testing.assert_array_equal(tree.apply(rows.to_numpy()), routed(pipeline, rows))
    stds = view.split_stds_[[0]]
    actual = wine.to_numpy()[:, view.tree_.split(0)[0]].std()
    assert 0.2 * actual < stds[0] < 5 * actual or name in ("bins", "quantiles", "binary")
    text = to_text(pipeline)
    assert any(column in text for column in wine.columns)


def test_sums_of_nonlinear_columns_raise(wine):
    pipeline = make_pipeline(FunctionTransformer(np.log1p), oblique_model()).fit(wine)
    with pytest.raises(ValueError, match=r'pipeline\[-1\]\.to_text.*split="axis"'):
        to_text(pipeline)


WORDS = ["price price low", "price high", "film actor", "actor film scene", "scene film"] * 4


@pytest.mark.spaced(quick=2)
@pytest.mark.parametrize(
    "steps",
    [
        [TfidfVectorizer()],
        [CountVectorizer(), TfidfTransformer()],
        [CountVectorizer(), MaxAbsScaler()],
        [HashingVectorizer(n_features=16)],
    ],
    ids=["tf-idf", "counts", "scaled", "hashed"],
)
@pytest.mark.parametrize("texts", [WORDS, pd.Series(WORDS), np.array(WORDS, dtype=object)])
def test_words_of_vectorizers(steps, texts):
    pipeline = make_pipeline(*steps, IMM(2, random_state=0)).fit(texts)
    view = raw_view(pipeline)
    np.testing.assert_array_equal(view.predict(texts), pipeline.predict(texts))
    np.testing.assert_array_equal(view.tree_.predict(view.numbers(texts)), pipeline.predict(texts))
    name = str(view.feature_names_in_[view.tree_.used_features[0]])
    if not isinstance(steps[0], HashingVectorizer):
        assert name in steps[0].get_feature_names_out()
    assert name in to_text(pipeline)
    assert name in str(explain(pipeline, WORDS[0]))
    assert len(explain(pipeline, texts[:3])) == 3
    assert explain(pipeline, [WORDS[2]]).cluster == pipeline.predict([WORDS[2]])[0]
    found = describe(pipeline, texts)
    assert name in str(found)
    assert found.table["rows"].sum() == len(WORDS)
    other = 1 - pipeline.predict(WORDS[:1])[0]
    changed = nearest_change(pipeline, WORDS[0], other, bounds=None)
    assert view.predict(changed.row) == other
    plot_tree(pipeline, texts)
    report(pipeline, texts)


def test_values_next_to_thresholds_are_in_raw_units(wine):
    """A pipeline knows the same raw values next to its thresholds as its rows have."""
    table = wine.assign(kind=np.where(wine["hue"] > 1, "dark", "pale"))
    steps = make_column_transformer(
        (make_pipeline(OneHotEncoder(sparse_output=False), MinMaxScaler((0, 30))), ["kind"]),
        (StandardScaler(), list(wine.columns)),
    )
    pipeline = make_pipeline(steps, axis_model(midpoints=True)).fit(table)
    names = raw_view(pipeline).feature_names_in_[raw_view(pipeline).tree_.used_features]
    assert {"kind is dark", "kind is pale"} & set(names)
    found, expected = (
        np.array([node["between"] for node in report(model, rows)["nodes"]], dtype=float)
        for model, rows in (
            (pipeline, None),
            (raw_view(pipeline).tree_, raw_view(pipeline).numbers(table)),
        )
    )
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(found).sum() == 6


def test_tests_that_turn_a_feature_around(wine):
    """A test of one feature with a weight below 0, as oblique trees have them."""
    pipeline = make_pipeline(StandardScaler(), axis_model()).fit(wine)
    tree = pipeline[-1].tree_
    turned = {
        node: ((tree.split(node)[0], [-0.3]), -0.3 * tree.threshold[node])
        for node in tree.decision_nodes
    }
    pipeline[-1].tree_ = tree.with_splits(turned)
    raw = raw_view(pipeline).tree_
    assert set(raw.split_weights) == {-1.0}
    np.testing.assert_array_equal(raw.apply(wine), routed(pipeline, wine))


def test_sums_differ_by_rounding_only(wine):
    pipeline = make_pipeline(StandardScaler(), oblique_model()).fit(wine)
    tree, raw = pipeline[-1].tree_, raw_view(pipeline).tree_
    Z, X = pipeline[:-1].transform(wine), wine.to_numpy()
    assert raw.n_nonzero > len(raw.decision_nodes)
    for node in raw.decision_nodes:
        margins = [
            data[:, t.split(node)[0]] @ t.split(node)[1] - t.threshold[node]
            for data, t in ((X, raw), (Z, tree))
        ]
        np.testing.assert_allclose(margins[0], margins[1], atol=1e-10)


def test_columns_that_two_steps_use_are_one_feature(wine):
    twice = make_column_transformer(
        (StandardScaler(), ["alcohol", "proline"]), (MinMaxScaler(), ["proline", "hue"])
    )
    pipeline = make_pipeline(twice, oblique_model()).fit(wine)
    tree = pipeline[-1].tree_  # alcohol, proline, proline, hue
    both = {0: (([0, 1, 2], [0.5, 1.0, 3.0]), 1.5)}
    pipeline[-1].tree_ = tree.with_splits(both)
    view = raw_view(pipeline)
    assert view.tree_.split(0)[0].tolist() == [0, 2]
    assert list(view.feature_names_in_) == ["alcohol", "hue", "proline"]
    np.testing.assert_array_equal(view.tree_.apply(view.numbers(wine)), routed(pipeline, wine))


def test_centres_and_spreads_in_raw_units(wine):
    pipeline = make_pipeline(MinMaxScaler(), StandardScaler(), oblique_model()).fit(wine)
    model, view = pipeline[-1], raw_view(pipeline)
    means = wine.groupby(model.labels_).mean()
    np.testing.assert_allclose(view.cluster_centers_, means, rtol=1e-9)
    assert view.free_centers_.shape == means.shape
    root = view.tree_.split(0)[0]
    spreads = wine.to_numpy().std(axis=0)[root]
    np.testing.assert_allclose(view.split_stds_[: len(root)], spreads, rtol=1e-8)


@pytest.mark.slow
def test_sparse_rows_stay_sparse():
    X = sp.random(300, 400, 0.05, format="csr", random_state=0)
    steps = (StandardScaler(with_mean=False), MaxAbsScaler())
    pipeline = make_pipeline(*steps, oblique_model(lambda_=0.1)).fit(X)
    view = raw_view(pipeline)
    numbers = view.numbers(X)
    assert sp.issparse(numbers)
    assert numbers.nnz == X.nnz
    np.testing.assert_array_equal(view.tree_.apply(numbers), routed(pipeline, X))
    assert "x" in to_text(pipeline)


# ---------------------------------------------------------------------------- errors


def _square(x):
    return np.square(x)


def _running(x):
    return np.cumsum(x, axis=1)


def _steps(z):
    return np.diff(z, axis=1, prepend=0)


def _less_mean(x):
    return x - x.mean(axis=0)


@pytest.mark.spaced(quick=16)
@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((PCA(2),), r"'pca' \(PCA\) .*embedding=Z"),
        ((FunctionTransformer(_square, np.sqrt),), r"not known to be monotone in each column"),
        ((FunctionTransformer(_running, _steps),), r"not known to be monotone in each column"),
        (
            (FunctionTransformer(_less_mean, _square, check_inverse=False),),
            r"'functiontransformer' .* applies",
        ),
        ((SplineTransformer(),), r"'splinetransformer'.*pipeline\[-1\]\.to_text\("),
        ((OrdinalEncoder(),), r"'ordinalencoder' \(OrdinalEncoder\) .* is not supported"),
        ((StandardScaler(), Normalizer()), r"'normalizer' \(Normalizer\)"),
        ((FunctionTransformer(np.square),), r"'functiontransformer' .* applies a function"),
        ((KBinsDiscretizer(2),), r"'kbinsdiscretizer' .* encodes bins as 'onehot'"),
        ((SimpleImputer(missing_values=-1),), r"replaces the values -1"),
        ((MinMaxScaler(), OneHotEncoder()), "a step before it has transformed"),
        ((make_column_transformer((make_pipeline(PCA(1)), [0, 1])),), r"'pca' \(PCA\)"),
    ],
    ids=lambda value: type(value[-1]).__name__ if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("export", [to_text, to_sql, to_html, raw_view, report])
def test_other_steps_raise_an_error_with_a_remedy(steps, words, export):
    X = np.random.default_rng(0).integers(0, 5, (60, 3)).astype(float)
    pipeline = make_pipeline(*steps, IMM(2, random_state=0)).fit(X)
    with pytest.raises(ValueError, match=words) as error:
        export(pipeline)
    check_advice(error, pipeline, X)


def check_advice(error, pipeline, X):
    """The expressions in the message work, and show the names that the steps give."""
    advice = re.search(r"fitted to is (.*?); (describe\(.*?\)) compares", str(error.value))
    text, table = (
        eval(code, {**globals(), "pipeline": pipeline, "X": X})  # noqa: S307
        for code in advice.groups()
    )
    assert "cluster" in text
    assert table.table["rows"].sum() == len(X)
    if all(hasattr(step, "get_feature_names_out") for step in pipeline[:-1]):
        assert any(name in text for name in pipeline[:-1].get_feature_names_out())


def overall(model, X, **options):
    """The mean over all rows of each feature that `describe` compares."""
    return describe(model, X, **options).differences.groupby("feature")["overall"].first()


@pytest.mark.slow
def test_the_error_message_of_strings_and_nested_pipelines(wine):
    table = wine.assign(
        kind=np.where(wine["hue"] > 1, "dark", "pale"), at=pd.Timestamp("2020-05-05")
    )
    table["hue"] = table["hue"].where(table["hue"] < 1.2)
    ordinal = make_column_transformer((OrdinalEncoder(), ["kind"]), (StandardScaler(), ["ash"]))
    words = make_column_transformer((CountVectorizer(), "kind"), (StandardScaler(), ["ash"]))
    filled = make_pipeline(SimpleImputer(), StandardScaler(), PCA(2))
    numbers = make_column_transformer((filled, ["hue", "ash"]), ("drop", ["kind"]))
    model = IMM(2, random_state=0)
    for steps in ([ordinal, model], [words, model], [numbers, make_pipeline(PCA(2), model)]):
        pipeline = make_pipeline(*steps).fit(table)
        with pytest.raises(ValueError, match=r"\[-1\]\.to_text\(") as error:
            to_text(pipeline)
        if steps[-1] is model:
            check_advice(error, pipeline, table)
        shares = overall(pipeline, table)
        assert shares["kind is pale"] == (table["kind"] == "pale").mean()
        np.testing.assert_allclose(shares["hue"], table["hue"].mean())
        assert shares["hue is missing"] == table["hue"].isna().mean()
        assert "at" not in shares
    rows = [{"a": 1.0, "b": 2.0}, {"a": 5.0, "c": 1.0}] * 10
    pipeline = make_pipeline(DictVectorizer(sparse=False), PCA(2), model).fit(rows)
    with pytest.raises(ValueError, match="PCA") as error:
        to_text(pipeline)
    check_advice(error, pipeline, rows)
    assert overall(pipeline, rows)["a"] == 3.0
    logs = make_pipeline(FunctionTransformer(np.log1p), oblique_model()).fit(wine)
    weighted = overall(logs, wine, sample_weight=np.arange(178))
    expected = np.average(wine, axis=0, weights=np.arange(178))
    np.testing.assert_allclose(weighted[list(wine)], expected)


def test_keys_of_dicts_are_features():
    rows = [{"a": 1.0, "b": 2.0}, {"a": 5.0, "c": 1.0}, {"b": 2.0, "town": "Rome"}] * 5
    pipeline = make_pipeline(DictVectorizer(), IMM(3, random_state=0)).fit(rows)
    assert "a <= " in to_text(pipeline)
    assert "a = 1 " in str(explain(pipeline, rows[0]))
    np.testing.assert_allclose(overall(pipeline, rows)["town=Rome"], 1 / 3)


@pytest.mark.parametrize(
    "names",
    [range(1, 14), pd.date_range("2024-01-01", periods=13), [("sum", j) for j in range(13)]],
    ids=["integers", "dates", "levels"],
)
def test_names_that_are_not_strings(wine, names):
    """A scaler does not store them, so they are those of the rows that are given."""
    named = pd.DataFrame(wine.to_numpy(), columns=pd.Index(names))
    pipeline = make_pipeline(StandardScaler(), IMM(3, random_state=0)).fit(named)
    parts = [name if isinstance(name, tuple) else (name,) for name in named]
    own = [" / ".join(map(str, part)).removesuffix(" 00:00:00") for part in parts]
    unnamed = raw_view(pipeline)
    used = int(unnamed.tree_.split(0)[0][0])
    name = own[used]
    row, k = named.iloc[0], (pipeline.predict(named)[0] + 1) % 3
    for text in (
        *(explain(pipeline, each) for each in (row, dict(row), named[:1])),
        describe(pipeline, named),
        "\n".join(pipeline[-1].to_rules(own)),
        "\n".join(to_rules(pipeline, X=named)),
        report(pipeline, named),
        to_html(pipeline, X=named),
    ):
        assert name in str(text)
    assert {*overall(pipeline, named).index} == {*own}
    change = nearest_change(pipeline, row, k, bounds={name: (None, None)})
    assert all(str(each.name) in own for each in change.changes)
    assert f"x{used}" in to_text(pipeline)


def test_what_is_no_fitted_pipeline_with_a_tree(wine):
    pipeline = make_pipeline(StandardScaler(), axis_model())
    with pytest.raises(NotFittedError):
        to_text(pipeline)
    with pytest.raises(TypeError, match=r"Expected a Tree.*got KMeans"):
        to_text(make_pipeline(StandardScaler(), KMeans(2, n_init=1)).fit(wine))
    with pytest.raises(ValueError, match="2 feature names for 13 features"):
        to_text(pipeline.fit(wine), feature_names=["a", "b"])
    assert not hasattr(raw_view(pipeline), "fit")
    assert shown(pipeline[-1])[0] is pipeline[-1]
