"""The messy file of notebook 7 and its next month: each step against the hidden truth."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "7_customer_segments.ipynb"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def job():
    """What the cells of the notebook have made, up to the next month."""
    pytest.importorskip("matplotlib").use("agg")
    cells, names = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"], {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            exec(source, names)  # noqa: S102
        if "loaded = tao_cluster.load" in source:
            return names
    raise AssertionError("the notebook has no next month")


def test_the_file_is_as_messy_as_it_should_be(job):
    table = job["september"]
    assert table.shape == (20_000, 18)
    assert 0.001 < (table["annual_spend"] > 20_000).mean() < 0.003
    assert table["income"].isin([" "]).mean() > 0.1
    assert {table[c].dtype.kind for c in ("signup_date", "income", "distance")} == {"O"}


def test_k_is_that_of_the_hidden_kinds(job):
    assert job["choice"].n_apart == job["choice"].n_segments == len(set(job["kind"])) == 5


def test_segments_and_names_are_the_hidden_kinds(job):
    clusters, kind = job["pipeline"].predict(job["september"]), job["kind"]
    assert adjusted_rand_score(kind, clusters) > 0.97
    assert np.mean(job["own"] == [job["titles"][each] for each in kind]) > 0.98
    assert (job["in_database"].fillna("no segment") == job["own"]).all()
    is_wrong = job["september"]["annual_spend"] > 20_000
    assert (clusters[is_wrong] == -1).mean() > 0.5
    assert (clusters[~is_wrong] == -1).mean() < 0.005


def test_sentences_and_cards_have_the_typical_numbers(job):
    table = job["report"].table.set_index("segment")
    shares = {"Regulars": 0.36, "Bargain hunters": 0.22, "Big spenders": 0.14, "Newcomers": 0.16}
    for name, share in (shares | {"Lapsed": 0.12}).items():
        assert table.loc[name, "share"] == pytest.approx(share, abs=0.02)
        assert table.loc[name, "sentence"].startswith(f"{name}: ") or name in job["names"].values
    assert "age 58 against 43" in table.loc["Lapsed", "sentence"]


def test_the_nearest_change_leads_to_the_segment(job):
    change = job["nearest_change"](job["pipeline"], job["lapsed"], "Regulars")
    assert job["pipeline"].predict(change.row)[0] == change.cluster


def test_the_next_month_has_one_new_kind_of_customers(job):
    change, is_firm = job["change"], job["is_firm"]
    assert any("are new" in reason for reason in change.reasons)
    found = np.isin(np.arange(len(is_firm)), change.groups[0])
    assert found[is_firm].mean() > 0.9
    assert is_firm[found].mean() > 0.9
    assert any("phone" in sentence for sentence in change.new_segments)
    moved = change.columns.index[change.columns["status"] == "moved"]
    assert list(moved) == ["channel"]
    assert not change.segments["moved"].str.contains("satisfaction|region|language").any()
    both = change.transitions.drop(index="(new)", columns="(left)").to_numpy()
    assert np.trace(both) / both.sum() > 0.97


def test_without_a_change_nothing_is_reported(job):
    """Another sample of the same customers."""
    table, _ = job["customers"](15_000, seed=7)
    change = job["monitor"](job["pipeline"], job["september"], table.replace({" ": None}))
    assert change.reasons == []
    assert len(change.groups) == 0


def test_a_refit_keeps_rules_and_names(job):
    assert job["to_sql"](job["same_rules"]) == job["to_sql"](job["pipeline"])


def test_one_cluster_more_gives_the_new_kind_a_segment_of_its_own(job):
    october, six = job["october"], job["six"]
    clusters = six.predict(october)
    assert (job["loaded"].predict(october) == clusters).all()
    is_company = clusters == list(six[-1].cluster_names_).index("Companies")
    assert (is_company == job["is_firm"]).mean() > 0.99
