"""`describe`: its sentences are true, its numbers those of pandas, and its outputs readable."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import CART, IMM, ExKMC, KDTree
from tao_cluster import TAOClustering, describe, table_pipeline

HOLDS = {
    "above": np.greater,
    "at least": np.greater_equal,
    "below": np.less,
    "at most": np.less_equal,
}


def blobs(rng, n=240, d=4, k=4, dtype=np.float64):
    centers = rng.normal(size=(k, d)) * 4
    rows = centers[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    scales, decimals = 10.0 ** rng.integers(-2, 4, size=d), int(rng.integers(0, 4))
    return np.round(rows * scales, decimals).astype(dtype)


def selected(rule, table):
    """The rows that satisfy the rule of a sentence: bool array."""
    if rule == "all of them":
        return np.full(len(table), True)
    parts = rule.removeprefix("either ").split(", or ") if rule.startswith("either") else [rule]
    found = np.full(len(table), False)
    for part in parts:
        here = np.full(len(table), True)
        for condition in re.split(", | and (?!at |above |below )", part):
            total, *bounds = re.split(r" (above|at least|below|at most) ", condition)
            value = np.zeros(len(table))
            for sign, weight, name in re.findall(r"([-+]?) ?(?:([\d.e+-]+?)\*)?(x\d+)", total):
                value = value + float(weight or 1) * (-1 if sign == "-" else 1) * table[name]
            for word, limit in zip(bounds[::2], bounds[1::2], strict=True):
                number = float(limit.removesuffix(" and").replace("\N{NO-BREAK SPACE}", ""))
                here &= HOLDS[word](value, number)
        found |= here
    return found


def is_read_back(model, X):
    found = describe(model, X, rows="people")
    table = pd.DataFrame(np.asarray(X, np.float64), columns=[f"x{j}" for j in range(X.shape[1])])
    labels = model.predict(X)
    for each in found.segments:
        assert each.sentence.startswith(f"{each.rows} p")
        rule = each.sentence.split(": ", 1)[1].split("; ")[0]
        np.testing.assert_array_equal(selected(rule, table), labels == each.cluster)
    shares = [each.share for each in found.segments]
    assert shares == sorted(shares, reverse=True)
    assert sum(each.rows for each in found.segments) == len(X)


@pytest.mark.parametrize("seed", range(8))
def test_a_sentence_selects_its_rows(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    X = blobs(rng, k=k, dtype=[np.float64, np.float32][seed % 2])
    model = [IMM(k, random_state=0), ExKMC(k, max_leaves=k + 3), KDTree(k), CART(k)][seed % 4]
    is_read_back(model.fit(X), X)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_sentence_of_sums_selects_its_rows(seed):
    rng = np.random.default_rng(seed)
    X, k = blobs(rng, k=4), 4
    split = {"split": "axis", "max_leaves": 7} if seed % 3 == 0 else {"lambda_": 0.1, "depth": 3}
    is_read_back(TAOClustering(k, standardize=True, random_state=seed, **split).fit(X), X)


def customers(n=400):
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=n)
    table = pd.DataFrame(
        {
            "customer_id": np.arange(n) + 10_000,
            "yearly spend": np.round(rng.normal(900 + 500 * kind, 250), 2),
            "plan": np.where(rng.random(n) < 0.1 + 0.4 * kind, "gold", "free"),
            "joined": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(300 * kind + rng.integers(200, size=n), unit="D"),
            "active": rng.random(n) < 0.2 + 0.3 * kind,
            "wait": pd.to_timedelta(rng.normal(40, 5, n), unit="h"),
            "income": rng.normal(40_000 + 9000 * kind, 5000).round(-2),
        }
    )
    table["income"] = table["income"].mask(rng.random(n) < np.where(kind == 1, 0.4, 0.02))
    return table


@pytest.fixture(scope="module")
def pipeline():
    table = customers()
    return table_pipeline(table, 3, split="axis", max_leaves=3, random_state=0).fit(table)


@pytest.mark.slow
def test_numbers_are_those_of_pandas(pipeline):
    table = customers()
    found = pipeline[-1].describe
    assert found.__doc__ == describe.__doc__
    found, labels = describe(pipeline, table, rows="customers"), pipeline.predict(table)
    weight = np.arange(1.0, len(table) + 1)
    weighted = describe(pipeline, table, sample_weight=weight)
    assert weighted.table["weight"].sum() == pytest.approx(weight.sum())
    frame, heavy = (d.differences.set_index(["segment", "feature"]) for d in (found, weighted))
    income, is_missing = table["income"], table["income"].isna()
    for k in range(3):
        name, here = f"cluster {k}", labels == k
        for feature, values in {
            "yearly spend": table["yearly spend"],
            "income": income,
            "income is missing": is_missing.astype(float),
            "plan is gold": (table["plan"] == "gold").astype(float),
            "active is True": table["active"].astype(float),
            "wait (days)": table["wait"].dt.total_seconds() / 86_400,
        }.items():
            line, known = frame.loc[(name, feature)], values.notna()
            assert line["mean"] == pytest.approx(values[here].mean())
            assert line["overall"] == pytest.approx(values.mean())
            deviation = (values[here].mean() - values.mean()) / values.std(ddof=0)
            assert line["deviation"] == pytest.approx(deviation, abs=1e-9)
            both = here & known
            expected = np.average(values[both], weights=weight[both])
            assert heavy.loc[(name, feature), "mean"] == pytest.approx(expected)
    assert "customer_id" not in set(found.differences["column"])
    assert re.search(r"joined (after|from|before|up to|\d{4})", found.text)
    assert pipeline[-1].cost_increase_ == pytest.approx(found.cost_increase, rel=1e-9)
    assert f"costs {found.cost_increase:.3g} % more" in found.heading
    model, rows = pipeline[-1], pipeline[:-1].transform(table)
    for s in found.segments:
        here = model.labels_ == s.cluster
        assert s.precision == pytest.approx((model.free_labels_[here] == s.cluster).mean())
        assert s.recall == pytest.approx(here[model.free_labels_ == s.cluster].mean())
        distances = np.where(here, model.transform(rows)[:, s.cluster], np.inf)
        assert s.typical_row == distances.argmin()
    again = describe(pipeline, table[:100])  # free clusters of other rows are the nearest centres
    assert again.segments[0].precision > 0.9


@pytest.mark.slow
def test_contrasts_and_their_intervals(pipeline):
    table = customers()
    found = describe(pipeline, table)
    contrast, labels = found.contrast(0, "cluster 1"), pipeline.predict(table)
    assert "circular" in contrast.text
    assert found.contrast(0, 1).text == contrast.text
    line = contrast.table.set_index("feature").loc["yearly spend"]
    spend = table["yearly spend"]
    parts = [spend[labels == k] for k in (0, 1)]
    assert line["difference"] == pytest.approx(parts[0].mean() - parts[1].mean())
    error = np.sqrt(sum(part.var() / len(part) for part in parts))
    half = (line["high"] - line["low"]) / 2
    assert half == pytest.approx(1.96 * error, rel=0.15)
    big = describe(pipeline, pd.concat([table] * 8)).contrast(0, 1).table.set_index("feature")
    ends = big.loc["yearly spend"]  # of blocks of rows
    assert (ends["high"] - ends["low"]) / 2 == pytest.approx(half / np.sqrt(8), rel=0.15)
    new = found.contrast(0, 1, table[:150])
    assert "did not make" in new.note
    assert new.table["difference"].iloc[0] != contrast.table["difference"].iloc[0]
    only = table[labels == 0]
    with pytest.raises(ValueError, match="cluster 1 has no rows here"):
        describe(pipeline, only).contrast(0, 1)
    with pytest.raises(ValueError, match="must be two clusters"):
        found.contrast(0, 0)
    with pytest.raises(ValueError, match=r"clusters are 0\.\.2, got 7"):
        found.contrast(0, 7)


class Tags(HTMLParser):
    def handle_starttag(self, tag, attrs):
        assert tag in {"html", "head", "meta", "title", "body", "div", "h3", "p", "b", "ul", "li"}


def test_texts_are_escaped(rng):
    X = blobs(rng)
    names = ["<script>alert(1)</script>", "a|b", "*c*", "line\nbreak"]
    found = describe(IMM(4, random_state=0).fit(X), X, feature_names=names, rows="<b>rows</b>")
    Tags().feed(found.to_html())
    assert "<script" not in found.to_markdown().replace("\\<", "")
    assert not re.search(r"(?<!\\)[|*]", found.to_markdown())
    assert len(found.text.split("\n\n")) == 5
    assert found.contrast(0, 1)._repr_html_().count("<li>") == 5


def test_every_kind_of_input(rng):
    """Sparse rows stay sparse; unknown steps are described by raw columns."""
    X = blobs(rng, d=6)
    words = ["red apple", "green apple", "blue car", "red car", "apple pie"] * 8
    embedded = IMM(3, random_state=0).fit(X, embedding=X[:, :2])
    y = np.where(X[:, 0] > np.median(X[:, 0]), "high", "low")
    labelled = TAOClustering(2, objective="labels", random_state=0, max_leaves=2, split="axis")
    sparse = sp.csr_matrix(np.where(np.abs(X) > np.median(np.abs(X)), X, 0.0))
    cases = [
        (IMM(3, random_state=0).fit(sparse), sparse, {}),
        (make_pipeline(TfidfVectorizer(), IMM(2, random_state=0)).fit(words), words, {}),
        (make_pipeline(StandardScaler(), PCA(2), IMM(3, random_state=0)).fit(X), X, {}),
        (embedded, X, {"embedding": X[:, :2]}),
        (embedded, X[:50], {"embedding": X[:50, :2]}),
        (labelled.fit(X, y), X, {"y": y}),
        (labelled, X[:50], {"y": y[:50]}),
        (embedded.tree_, X, {}),
        (IMM(2, random_state=0).fit(X[:9].tolist()), X[:9].tolist(), {}),
    ]
    for model, rows, options in cases:
        found = describe(model, rows, **options)
        assert found.table["share"].sum() == pytest.approx(1)
        assert len(found.differences)
        if hasattr(model, "labels_") or "y" in options:
            assert found.table["recall"].notna().any()
    means = describe(cases[0][0], sparse).differences.set_index(["segment", "feature"])["mean"]
    expected = sparse[cases[0][0].labels_ == 1].mean(axis=0)
    np.testing.assert_allclose([means["cluster 1", f"x{j}"] for j in range(6)], expected.A1)


def test_a_prompt_has_the_facts_that_names_need(rng):
    """A reader that knows only the prompt gives the names of the hidden groups."""
    z = np.repeat([0, 1, 2], [90, 60, 30])
    table = pd.DataFrame({
        "height": np.array([150, 150, 190])[z] + rng.normal(size=180).round(1),
        "weight": np.array([40, 80, 80])[z] + rng.normal(size=180).round(1),
    })  # fmt: skip
    model = IMM(3, random_state=0).fit(table)
    prompt = describe(model, table, rows="people").to_prompt()
    answer = {}
    for k, size in re.findall(r"^Segment (\d): (\d+) people", prompt, re.M):
        facts = prompt.split(f"Segment {k}: ")[1].split("\n\n")[0]
        high, heavy = (float(re.search(rf"{n} ([\d.]+) ", facts)[1]) for n in table)
        answer[k] = f"{'tall' if high > 170 else 'short'} {'heavy' if heavy > 60 else 'light'}"
        assert size == str(model.predict(table).tolist().count(int(k)))
    asked = json.loads(prompt[prompt.rindex("{") :])
    assert asked.keys() == answer.keys() == {"0", "1", "2"}
    model.name_clusters(answer)
    names = np.array(model.cluster_names_)[model.predict(table)]
    assert names.tolist() == np.array(["short light", "short heavy", "tall heavy"])[z].tolist()
    for word in ("three words", "distinct", "promises nothing", "JSON"):
        assert word in prompt
