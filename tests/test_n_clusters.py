"""choose_n_clusters, n_clusters="auto" and the density of the rows at each test."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import IMM
from tao_cluster import TAOClustering, choose_n_clusters, load, outofcore, table_pipeline
from tao_cluster.objectives import KMeans, Trimmed
from tao_cluster.report import report

SQUARE = [[0, 0], [9, 0], [0, 9], [9, 9]]
QUICK = {"trees": False, "random_state": 0}


def rows(n=400, seed=0):
    """Four round clusters, far apart, and their labels."""
    return make_blobs(n, centers=SQUARE, random_state=seed)


def category(n, levels, seed, weight=1.0):
    """A category that is independent of the rows, as 0/1 columns of the given weight."""
    drawn = np.random.default_rng(seed).integers(levels, size=n)
    return np.eye(levels)[drawn] * weight / np.sqrt(2)


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
    options = {"standardize": True, **QUICK}
    assert choose_n_clusters(X, [2, 3, 4], **options).n_apart == 2
    assert choose_n_clusters(counts.astype(float), [2, 4, 6], **options).n_apart == 1


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


def test_groups_are_apart_beside_independent_categories():
    X, _ = rows(200)
    alone = choose_n_clusters(X, [4, 5], **QUICK)
    assert (alone.n_apart, alone.n_clusters) == (4, 4)
    beside = np.hstack([X / 4, category(len(X), 3, 1), category(len(X), 2, 2)])
    assert choose_n_clusters(beside, [4, 12], **QUICK).n_apart == 4


def test_segments_without_gaps_are_found_again():
    X, _ = make_blobs(600, centers=2.6 * np.eye(3) / np.sqrt(2), random_state=3)
    found = choose_n_clusters(X, [2, 3, 4], **QUICK)
    assert (found.n_apart, found.n_segments, found.n_clusters) == (1, 3, 3)
    assert found.reason.startswith("No groups are apart. ")
    assert "3 segments are found again in other rows (Jaccard index" in found.reason
    assert "so they divide the rows reliably" in found.reason
    assert found.stability.loc[3].dropna().tolist() == found.stability.loc[3, :2].tolist()
    pd.testing.assert_series_equal(
        found.stability.min(axis=1), found.table["stability"], check_names=False
    )


def test_columns_of_few_values_alone_give_no_groups():
    X = np.hstack([category(300, 3, 0), category(300, 2, 1)])
    found = choose_n_clusters(X, [5, 6, 7], **QUICK)
    assert (found.n_apart, found.n_segments) == (1, 6)  # each pair of levels is a segment
    assert "no column has more than 10 values" in found.reason
    assert found.table["few_valued"].isna().all()
    noise = np.random.default_rng(0).normal(size=(300, 3))
    found = choose_n_clusters(np.hstack([9 * X, noise]), [6], **QUICK)
    assert (found.n_clusters, found.table.loc[6, "stability"]) == (1, 1)
    assert "found again only by columns with at most 10 values" in found.reason
    assert "set a number by its use" in found.reason


def test_a_number_is_given_up_only_if_it_cannot_hold(monkeypatch):
    X, _ = make_blobs(300, centers=2.6 * np.eye(3) / np.sqrt(2), random_state=3)
    before = choose_n_clusters(X, [3, 5], **QUICK).table
    monkeypatch.setattr("tao_cluster.separation.MAJORITY", 0.0)  # then no number is given up
    after = choose_n_clusters(X, [3, 5], **QUICK).table
    assert ((before["stability"] >= 0.7) == (after["stability"] >= 0.7)).tolist() == [True, True]
    pd.testing.assert_series_equal(before.loc[3], after.loc[3], check_exact=True)
    assert before.loc[5, "density"] != after.loc[5, "density"]  # of fewer halvings


def test_copies_of_rows_are_rows():
    X, _ = rows(120)
    copies = np.random.default_rng(0).integers(1, 4, len(X))
    found = choose_n_clusters(np.repeat(X, copies, axis=0), [3, 4, 5], **QUICK)
    assert found.n_apart == 4
    assert found.table.loc[4, "smallest"] > 30  # rows, not different rows


@pytest.mark.slow
def test_suggestion_has_a_reason_and_a_table():
    X, _ = rows()
    found = choose_n_clusters(X, [2, 4, 5], random_state=0)
    assert found.n_clusters == 4
    assert found.reason.startswith("4 groups are apart: there is a gap between any two of them in")
    assert list(found.table.index) == [2, 4, 5]
    assert (found.table["gaps"] >= 0.5).tolist() == [True, True, False]
    assert found.table.loc[4, "parameters"] == 10
    assert found.table.notna().all(axis=None)
    assert len(found.plot()) == 2
    few = choose_n_clusters(X[:100], [4], **QUICK)
    assert few.n_clusters == 4
    assert "fewer than 35 rows per cluster" in few.reason
    assert "measured on 300 of the 400" in choose_n_clusters(X, [4], max_rows=300, **QUICK).reason


@pytest.mark.slow
def test_every_kind_of_data_and_estimator():
    X, _ = rows()
    sparse = choose_n_clusters(sp.csr_matrix(X), [3, 4, 5], **QUICK)
    assert sparse.n_clusters == 4
    dense = choose_n_clusters(X, [3, 4, 5], **QUICK)
    np.testing.assert_allclose(sparse.table, dense.table, rtol=0.02)
    far = X * [1, 1000]
    assert choose_n_clusters(far, [3, 4, 5], standardize=True, **QUICK).n_clusters == 4
    estimator = make_pipeline(StandardScaler(), TAOClustering(split="axis"))
    found = choose_n_clusters(far, [3, 4], estimator=estimator, random_state=0)
    assert found.n_clusters == 4
    table = pd.DataFrame(X, columns=["a", "b"]).assign(id=range(len(X)))
    table["a"] = [f"{a:.3f} kg" for a in table["a"]]
    assert choose_n_clusters(table, [3, 4, 5], **QUICK).n_clusters == 4
    noise = np.random.default_rng(0).random((len(X), 3))
    assert choose_n_clusters(noise, [3, 4, 5], **QUICK).n_apart == 1
    assert choose_n_clusters(noise, [3, 4, 5], embedding=X, **QUICK).n_apart == 4
    pipeline = table_pipeline(table, "auto", random_state=0)
    assert pipeline[-1].n_clusters == pipeline.suggestion_.n_clusters == 4
    assert len(np.unique(pipeline.fit(table).predict(table))) == 4
    again = choose_n_clusters(X, [3, 4, 5], n_jobs=2, **QUICK)
    pd.testing.assert_frame_equal(again.table, dense.table)


class OtherKMeans(KMeans):
    """An objective of a user, whose free clustering has no starts."""

    def reference(self, n_clusters, random_state):
        from sklearn.cluster import MiniBatchKMeans

        return MiniBatchKMeans(n_clusters, n_init=20, random_state=random_state)


@pytest.mark.slow
@pytest.mark.parametrize(
    "objective",
    ["spherical", "kmedians", "kmedoids", Trimmed(), Trimmed("kmedians"), OtherKMeans()],
)
def test_every_objective_finds_groups(objective):
    rng = np.random.default_rng(0)
    X = 9 * np.eye(3)[rng.integers(3, size=300)] + rng.normal(size=(300, 3)) + 1
    if getattr(objective, "trims", False):
        X[:5] *= 40  # errors
    found = choose_n_clusters(X, [2, 3, 4], objective=objective, **QUICK)
    assert found.n_apart == 3
    assert (found.stability.loc[3].dropna() > 0.9).all()


def test_sparse_rows_stay_sparse(monkeypatch):
    X = sp.csr_matrix(np.hstack([rows(200)[0], np.zeros((200, 50))]))
    to_array, heights = sp.csr_matrix.toarray, []

    def toarray(self, *terms, **options):
        heights.append(self.shape[0])
        return to_array(self, *terms, **options)

    monkeypatch.setattr(sp.csr_matrix, "toarray", toarray)
    assert choose_n_clusters(X, [3, 4], **QUICK).n_apart == 4
    assert max(heights) <= 4  # centres at rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_data_without_clusters_and_tiny_data_have_one():
    for X in (np.ones((60, 2)), np.arange(4.0)[:, None], np.ones((3, 1)), np.arange(9.0)[:, None]):
        found = choose_n_clusters(X, range(2, len(X) + 1)[:11], **QUICK)
        assert found.n_clusters == 1
        assert (
            found.reason.startswith("No groups are apart.")
            or "groups cannot" in found.reason
            or ("too few to show groups" in found.reason)
        )
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 8)))
    with pytest.warns(UserWarning, match=r"No groups are apart.* set a number by its use"):
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
