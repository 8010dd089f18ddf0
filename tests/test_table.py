"""table_pipeline: decisions about columns, balance of categories, and the steps of the pipeline."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from tao_cluster import OpenQuestionsError, TAOClustering, table_pipeline
from tao_cluster.columns.readers import UnreadableCellError

N = 240
SINCE = "days since 2020-01-05"
BOTH_AND_MISSING = "2 levels, one more for missing values"


def decision(values, name="c", **options):
    """Decision about one column, beside a column of numbers."""
    table = pd.DataFrame({name: values})
    table["other"] = np.random.default_rng(0).normal(size=len(table))
    return table_pipeline(table, **options).decisions_.iloc[0]


def asked(values, name="c", **options):
    """The answers to the question about a column, and the careful one."""
    with pytest.raises(OpenQuestionsError) as found:
        decision(values, name, **options)
    (question,) = found.value.questions
    assert question.where == name
    return question.answers, question.careful


def structured_table(seed, n=N, n_clusters=3):
    """A table with clusters in its numbers, and with columns of all kinds."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n)
    days = pd.to_timedelta(400 * truth + rng.integers(0, 60, n), unit="D")
    income = np.exp(8 + truth + 0.1 * rng.normal(size=n)).round(-1)
    table = pd.DataFrame(
        {
            "Customer ID": rng.permutation(n) + 7000,
            "age": 25 + 20 * truth + rng.integers(0, 6, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, income),
            "weight": [f"{w:.1f} kg" for w in 60 + 12 * truth + rng.normal(size=n)],
            "joined": (pd.Timestamp("2019-03-01") + days).strftime("%Y-%m-%d"),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice([*"abcdefghijk", "rare"], n, p=[*[0.09] * 11, 0.01]),
            "vip": pd.Series(rng.choice([True, False, None], n), dtype=object),
            "remark": [f"text number {j} of a customer" for j in range(n)],
            "country": "DE",
        }
    )
    return table, truth


@pytest.mark.parametrize(
    ("values", "kind", "done"),
    [
        (np.linspace(0, 1, N), "number", "number"),
        ([1.5, np.nan] * 120, "constant", "left out"),
        ([1.5, np.nan, 2.5, 3.5] * 60, "number", "number, median where missing"),
        (["a", "b", None] * 80, "category", "2 levels, one more for missing values"),
        (["a", None] * 120, "category", "1 levels, one more for missing values"),
        (pd.Categorical(["a", "b"] * 120), "category", "2 levels"),
        ([True, False] * 120, "category", "2 levels"),
        ([0, 1] * 120, "category", "2 levels"),
        ([0.0, 1.0, np.nan] * 80, "category", "2 levels, one more for missing values"),
        ([f"level {j % 30:x}" for j in range(N)], "category", "19 most frequent levels, and other"),
        (["3 EUR", "4.5 EUR"] * 120, "number", "number"),
        (["3", "4.5"] * 120, "number", "number"),
        (["-$185.00", "$20.50"] * 120, "number", "number"),
        (["\u22121", "\u22122.5", "3"] * 80, "number", "number"),
        (["5\u00a0000", "12\u00a0500", "70"] * 80, "number", "number"),
        (["223 m2", "70 m2"] * 120, "number", "number"),
        (["10.0.3.7", "10.0.3.8"] * 120, "category", "2 levels"),
        (["3x", "12x"] * 120, "category", "2 levels"),
        (["0", "1"] * 120, "category", "2 levels"),
        (["\u0661\u0662", "\u0663\u0664"] * 120, "category", "2 levels"),
        (pd.Categorical([1, 2, 3] * 80), "category", "3 levels"),
        (pd.array([1, 2, 3, None] * 60, dtype="Int64"), "number", "number, median where missing"),
        (pd.array([True, False, None] * 80, dtype="boolean"), "category", BOTH_AND_MISSING),
        (["8:05", "9:43", "12:30"] * 80, "time", "hours since midnight"),
        (
            [datetime.date(2020, 1, 5), datetime.date(2020, 2, 1)] * 120,
            "date",
            "days since 2020-01-05",
        ),
        ([pd.Timestamp("2020-01-05"), pd.NaT] * 120, "constant", "left out"),
        (pd.period_range("2020-01", periods=N, freq="D"), "date", "left out"),
        ([f"{j}-{j + 1}" for j in range(12)] * 20, "category", "12 levels"),
        (["09:30", "17:45"] * 120, "time", "hours since midnight"),
        (["2020-01-05", "2020-02-01"] * 120, "date", "days since 2020-01-05"),
        (pd.to_datetime(["2020-01-05", "2020-02-01"] * 120), "date", "days since 2020-01-05"),
        ([f"Person {j}" for j in range(N)], "name", "left out"),
        (["x"] * N, "constant", "left out"),
        ([None] * N, "constant", "left out"),
        (["?", "x"] * 120, "category", "1 levels, one more for missing values"),
        ([[1]] * N, "other", "left out"),
    ],
)
def test_each_kind_of_column_has_its_decision(values, kind, done):
    found = decision(values)
    assert (found["kind"], found["done"]) == (kind, done)
    assert found["why"] or done != "left out"


@pytest.mark.filterwarnings("ignore:Many values are missing")
@pytest.mark.parametrize(
    ("values", "answer", "careful"),
    [
        (["3 EUR", "4 USD", "5 EUR"] * 80, {"kind": "category"}, {"use": False}),
        (["(185)", "(20)", "31.5"] * 80, {"use": False}, {"use": False}),
        (["6/3/1984", "12/30/2001"] * 120, {"kind": "date", "format": "%m/%d/%Y"}, None),
        (["June 03, 1984", "May 30, 2001"] * 120, {"kind": "date", "format": "%B %d, %Y"}, None),
        (["06/30/1984 14:30"] * 9 + ["12/30/2001 08:00"] * 9,
         {"kind": "date", "format": "%m/%d/%Y %H:%M"}, None),
        (["6/3/84", "12/30/01"] * 120, {"kind": "date", "format": "%m/%d/%y"}, None),
        (["02134", "10001"] * 120, {"kind": "category"}, None),
        (["24:00", "09:30", "17:45"] * 80,
         {"kind": "time", "format": "%H:%M", "missing": ["24:00"]}, {"use": False}),
        ([*["1", "2"] * 119, "twelve", "3"], {"kind": "number", "missing": ["twelve"]}, None),
        ([f"{j} {'kg' if j % 3 else 'lb'}" for j in range(N)], {"use": False}, {"use": False}),
    ],
)  # fmt: skip
def test_columns_in_doubt_are_asked_about_and_the_answers_work(values, answer, careful):
    answers, found = asked(values)
    assert answer in answers
    assert found == (answer if careful is None else careful)
    for each in answers:
        kind = each.get("kind", "other")
        assert decision(values, schema={"c": each})["kind"] == kind
    with pytest.warns(UserWarning, match="column 'c'"):
        decision(values, doubts="warn")
    with pytest.raises(ValueError, match="doubts must be 'ask' or 'warn'"):
        decision(values, doubts="no")


@pytest.mark.filterwarnings("ignore:Taken as the most careful answers")
@pytest.mark.parametrize(
    ("name", "values", "is_name"),
    [
        ("CustomerID", np.arange(N) % 50, True),
        ("customer_id", np.random.default_rng(1).integers(0, 10**6, N), True),
        ("zip", np.arange(N) % 90, True),
        ("phone nr", np.arange(N) % 90, True),
        ("userid", np.arange(N) % 90, True),
        ("ref", np.random.default_rng(1).permutation(N) + 500, True),
        ("ref", np.random.default_rng(1).integers(0, 10**6, N), True),
        ("ref", np.random.default_rng(1).integers(0, 10**6, N).astype(float), True),
        ("row", np.arange(N), True),
        ("humid", np.random.default_rng(1).integers(0, 100, N), False),
        ("orderId", np.arange(N) % 90, True),
        ("barcode", np.arange(N) % 90 + 4_000_000_000_000, True),
        ("store", np.arange(N) % 90, True),
        *(
            (word, np.random.default_rng(1).poisson(20, N), False)
            for word in ("humid", "Madrid", "Valladolid", "typhoid", "asteroid", "orchid", "El Cid")
        ),
        ("price_per_unit", np.random.default_rng(1).poisson(20, N), False),
        ("paid", np.random.default_rng(1).lognormal(8, 1, N).round(), False),
        ("income", np.random.default_rng(1).lognormal(10, 0.5, N).round(), False),
        ("proline", load_wine().data[:, -1], False),
        ("score", np.random.default_rng(1).normal(5000, 900, N).round(), False),
        ("age", np.arange(N) % 60, False),
        ("length", np.random.default_rng(1).random(N), False),
    ],
)
def test_identifiers_are_left_out_and_measurements_are_not(name, values, is_name):
    found = decision(values, name, doubts="warn")
    assert (found["done"] == "left out") == is_name
    if is_name:
        assert decision(values, name, keep=[name])["kind"] == "number"


def test_integers_that_may_name_the_rows_are_asked_about():
    values = np.random.default_rng(1).integers(30_000, 90_000, N)
    assert asked(values, "salary") == (({"use": False}, {"kind": "number"}), {"use": False})
    assert decision(values, "salary", keep=["salary"])["kind"] == "number"
    why = decision(np.arange(N) % 3, "status_code")["why"]
    assert why.endswith("categorical=['status_code'] uses it as a category")
    assert decision(values[:51], "income")["kind"] == "number"  # too few to know


def test_cells_of_another_type_are_the_same_level_or_raise():
    table = pd.DataFrame({"b": [True, False] * 120, "code": [1, 2, 3] * 80})
    table["x"] = np.random.default_rng(0).normal(size=N)
    pipeline = table_pipeline(table, 3, categorical=["code"], random_state=0).fit(table)
    expected = pipeline.predict(table)
    for other in (
        table.assign(b=table["b"].astype(str)),
        table.assign(b=table["b"].astype(int)),
        table.assign(code=table["code"].astype(str)),
        table.astype({"b": object, "code": "Int64"}),
    ):
        np.testing.assert_array_equal(pipeline.predict(other), expected)
    with pytest.raises(UnreadableCellError, match="'maybe' is not a truth value"):
        pipeline[:-1].transform(table.assign(b="maybe"))


@pytest.mark.slow
def test_words_for_missing_values_count_in_new_rows_too():
    table, _ = structured_table(0)
    table.loc[3, "region"] = None
    pipeline = table_pipeline(table, 3, random_state=0).fit(table)
    new = table.head(3).astype({"income": object})
    gap = pipeline.predict(new.assign(income=np.nan, region=None))
    np.testing.assert_array_equal(pipeline.predict(new.assign(income=" n/a", region="NA ")), gap)


@pytest.mark.slow
def test_one_row_as_a_series_raises_with_the_remedy():
    table, _ = structured_table(0)
    pipeline = table_pipeline(table, 3, random_state=0).fit(table)
    with pytest.raises(ValueError, match=r"got a Series. One row is df.iloc\[\[0\]\]"):
        pipeline.predict(table.iloc[0])


def test_words_for_missing_values_can_be_chosen():
    values = ["None", "gravel", "paved"] * 80
    assert decision(values)["missing"] == 80
    assert decision(values, na_values=["-"])["missing"] == 0
    assert decision(["unknown", "12", "15", "13"] * 60, na_values=["unknown"])["missing"] == 60
    assert decision(["12 kg", "n/a", "15 kg", "13 kg"] * 60)["kind"] == "number"


def test_many_missing_numbers_warn_with_their_share():
    with pytest.warns(UserWarning, match=r"missing in deck \(50 %\)"):
        decision([1.5, None, 2.5, None] * 60, "deck")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decision(["a", None, "b", None] * 60)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["agee"]}, "drop: there is no column 'agee'"),
        ({"keep": "age"}, "keep must be a list of names"),
        ({"columns": ["remark", "x"]}, "columns: there is no column 'x'"),
        ({"missing": "mean"}, "missing must be one of 'median', 'indicator', 'refuse'"),
        ({"missing": "refuse"}, r"column 'income' has \d+ missing values"),
        ({"category_weight": 0}, "category_weight must be a positive number"),
        ({"max_levels": 1}, "max_levels must be an integer of at least 2"),
        ({"na_values": "n.a."}, "na_values must be a list"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"drop": ["age"], "keep": ["age"]}, "drop and keep both name 'age'"),
        ({"date_parts": ["year"]}, "date_parts must be from 'month', 'weekday', 'hour'"),
        ({"columns": ["country"]}, "No column is left to cluster by"),
    ],
)
def test_wrong_options_raise(options, message):
    table, _ = structured_table(0)
    with pytest.raises(ValueError, match=message):
        table_pipeline(table, **options)
    with pytest.raises(ValueError, match="pandas DataFrame"):
        table_pipeline(table.to_numpy())
    with pytest.raises(ValueError, match="named 'age'"):
        table_pipeline(table[["age", "age"]])


def test_the_decisions_cover_every_column_once():
    table, _ = structured_table(0)
    found = table_pipeline(table).decisions_
    assert found["column"].tolist() == table.columns.tolist()
    assert found["missing"].tolist() == table.isna().sum().tolist()
    assert found.loc[found["done"] == "left out", "column"].tolist() == [
        *("Customer ID", "remark", "country"),
    ]


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_clusters_follow_the_numbers_and_not_the_levels(split):
    table, truth = structured_table(1)
    pipeline = table_pipeline(table, 3, split=split, random_state=0).fit(table)
    assert adjusted_rand_score(truth, pipeline.predict(table)) >= 0.95


@pytest.mark.slow
def test_strings_beside_numbers_are_categories():
    table = pd.DataFrame({"size": ["S", "M", 42] * 80, "z": np.arange(N) / 7})
    pipeline = table_pipeline(table, 3, random_state=0).fit(table)
    assert "size is 42" in pipeline[:-1].get_feature_names_out()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_unrelated_columns_with_rare_levels_do_not_make_clusters(seed):
    numbers, truth = make_blobs(600, 3, centers=4, cluster_std=1.0, random_state=seed + 10)
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(numbers, columns=list("xyz"))
    table["sex"] = rng.choice(["f", "m"], 600, p=[0.02, 0.98])
    table["region"] = rng.choice([f"r{j}" for j in range(12)], 600)
    free = TAOClustering(4, random_state=0).fit(StandardScaler().fit_transform(numbers))
    pipeline = table_pipeline(table, 4, random_state=0).fit(table)
    assert adjusted_rand_score(free.free_labels_, pipeline[-1].free_labels_) >= 0.9
    assert adjusted_rand_score(truth, pipeline.predict(table)) >= 0.9


@pytest.mark.slow
def test_clusters_that_are_the_levels_of_a_column_warn():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=N), "y": rng.normal(size=N)})
    table["Department"] = rng.choice(["sales", "support", "services"], N)
    pipeline = table_pipeline(table, 3, category_weight=6.0, random_state=0)
    with pytest.warns(UserWarning, match="The clusters are nearly the levels of Department"):
        pipeline.fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table_pipeline(table, 3, category_weight=0.5, random_state=0).fit(table)


def test_two_levels_are_one_category_weight_apart_and_numbers_are_standardised():
    table, _ = structured_table(2)
    for weight in (1.0, 2.5):
        pipeline = table_pipeline(table, 3, category_weight=weight, columns=["region", "age"])
        rows = pipeline[:-1].fit_transform(table)
        assert rows["age"].std(ddof=0) == pytest.approx(1)
        levels = rows.drop(columns="age").drop_duplicates().to_numpy()
        squares = ((levels[:, None] - levels) ** 2).sum(axis=2)
        np.testing.assert_allclose(squares + weight**2 * np.eye(len(levels)), weight**2)


def test_an_indicator_marks_missing_numbers():
    table, _ = structured_table(0)
    pipeline = table_pipeline(table, missing="indicator", columns=["income", "age"])
    rows = pipeline[:-1].fit_transform(table)
    is_missing = table["income"].isna().to_numpy()
    assert rows.shape[1] == 3
    np.testing.assert_array_equal(rows.iloc[:, -1] == 1, is_missing)


@pytest.mark.slow
def test_the_pipeline_is_an_ordinary_one():
    table, _ = structured_table(0)
    pipeline = table_pipeline(table, 3, max_leaves=3, random_state=0, date_parts=["month"])
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline[-1], TAOClustering)
    assert pipeline[-1].max_leaves == 3
    first = pipeline.fit(table).predict(table)
    np.testing.assert_array_equal(clone(pipeline).fit_predict(table), first)
    new = table.sample(frac=1, axis=1, random_state=0).drop(columns=["remark", "country"])
    new.loc[new.index[0], "region"] = "a level that fit has not seen"
    np.testing.assert_array_equal(pipeline.predict(new)[1:], first[1:])
    gap = new.astype({"age": float})
    gap.loc[3, "age"] = np.nan
    assert pipeline[0].usable_rows(gap).sum() == N - 1
    with pytest.raises(ValueError, match=r"column 'age' has 1 missing values, but had none in"):
        pipeline[:-1].transform(gap)


def test_a_date_of_the_schema_has_the_chosen_parts():
    table = pd.DataFrame({"day": ["31.01.2020", "05.07.2021", "11.12.2021"] * 30})
    answer = {"day": {"kind": "date", "format": "%d.%m.%Y"}}
    rows = table_pipeline(table, schema=answer, date_parts=["month"])[0].fit_transform(table)
    assert rows["day month"].tolist() == [1, 7, 12] * 30
