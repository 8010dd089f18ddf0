"""Fits on weights, embeddings and data at the edge: degenerate, huge, tiny, far away, bad."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import small
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import Pipeline

from greedy import IMM
from tao_cluster import PenaltyMethod, TAOClustering, load
from tao_cluster.columns import raw_view
from tao_cluster.export import to_dot, to_sql

# ---------------------------------------------------------------- weights, embedding

# Where data are strange, trees lose clusters and lambda is far from its range.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{sentence}")
    for sentence in ("The tree has lost", "A tree of at most", "lambda_=", "The tree costs")
]


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.zeros(200), "at least one"),
        (-np.ones(200), "Negative"),
        (np.ones(3), "3 entries, but X has"),
        (np.linspace(0.1, 1, 200), "must be integers"),
    ],
)
def test_bad_weights(X, weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(algorithm=PenaltyMethod(node_solver="liblinear", refine=False)).fit(
            X, sample_weight=weight
        )


@pytest.mark.slow
def test_embedding_is_clustered_and_X_explains(digits):
    E = PCA(5, random_state=0).fit_transform(digits)
    model = TAOClustering(10, lambda_=0.3, random_state=0).fit(digits, embedding=E)
    assert model.cluster_centers_.shape == (10, 5)
    assert model.tree_.n_features == 64
    assert model.cost_increase_ < 15
    inertia = ((E - model.cluster_centers_[model.predict(digits)]) ** 2).sum()
    assert model.inertia_ == pytest.approx(inertia)
    assert model.score(digits, embedding=E) == pytest.approx(-inertia)
    assert model.transform(E).shape == (len(E), 10)
    with pytest.raises(ValueError, match="fit was given an embedding"):
        model.score(digits)
    with pytest.raises(ValueError, match="64 features, but TAOClustering is expecting 5"):
        model.transform(digits)
    again = TAOClustering(10, lambda_=0.3, random_state=0).fit_transform(digits, embedding=E)
    np.testing.assert_allclose(again, model.transform(E))
    with pytest.raises(ValueError, match="fit was given no embedding"):
        small().fit(digits).score(digits, embedding=digits)
    with pytest.raises(ValueError, match="embedding has 3 entries, but X has"):
        small().fit(digits, embedding=E[:3])


# ---------------------------------------------------------------- degenerate data


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0, 0], [5, 0], [0, 5]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="Only 3 of 5 clusters have rows") as caught:
        model = small(5, lambda_=0.01).fit(X)
    assert Path(caught[0].filename).name == Path(__file__).name  # the user's line
    assert set(model.labels_) == {0, 1, 2}
    assert set(model.free_labels_) == {0, 1, 2}
    assert model.cost_increase_ == 0
    with pytest.warns(ConvergenceWarning, match="Only 1 of 2"):
        assert small(2).fit(np.ones((6, 2))).tree_.n_leaves == 1


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("depth", [0, 30])
def test_extreme_depths(X, depth):
    model = small(depth=depth).fit(X)
    assert model.tree_.max_depth <= depth
    assert len(np.unique(model.labels_)) == (1 if depth == 0 else 3)


def test_bad_data(X):
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        small().fit(X[:2])
    with pytest.raises(ValueError, match="rows of weight 0 are not counted"):
        small().fit(X, sample_weight=np.arange(len(X)) < 2)
    with pytest.raises(ValueError, match="NaN"):
        small().fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="overflow float64"):
        small().fit(X * 1e200)
    with pytest.raises(NotFittedError):
        small().predict(X)


def test_a_failed_fit_loses_nothing(X):
    model = small(algorithm=PenaltyMethod(node_solver="liblinear", refine=False)).fit(X)
    tree = model.tree_
    with pytest.raises(ValueError, match="must be integers"):
        model.fit(X, sample_weight=np.linspace(0.1, 1, len(X)))
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit(np.zeros((2, 7)))
    assert model.tree_ is tree
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.slow
@pytest.mark.parametrize("value", [1e4, 1e12])
def test_one_row_far_away(digits, value):
    """All curvature of a node may lie on one row."""
    X = digits[:600].copy()
    X[0, 0] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # clusters without rows
        model = TAOClustering(8, random_state=0).fit(X)
    assert model.cost_increase_ < 20


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["direct", PenaltyMethod(n_mu_steps=10)])
def test_weights_of_all_sizes(digits, algorithm):
    X, weight = digits[:600], 10 ** np.random.default_rng(3).uniform(-12, 6, 600)
    model = TAOClustering(8, algorithm=algorithm, lambda_=weight.mean(), random_state=0).fit(
        X, sample_weight=weight
    )
    assert model.cost_increase_ < 5


def test_next_to_no_price_overflows_nothing():
    """Rows that any test parts, without a price: bounds of rounding are large, not infinite."""
    X = np.hstack([np.eye(40), np.zeros((40, 200))])
    model = TAOClustering(4, lambda_=0, random_state=0).fit(X)
    assert model.cost_increase_ == 0


def test_rows_without_direction_are_counted_as_the_user_does():
    """The fit merges equal rows and drops those of weight 0; messages count the rows of X."""
    rows = np.repeat([[1.0, 2.0], [3.0, 1.0], [0.0, 0.0], [1.0, 5.0]], [5, 3, 2, 4], axis=0)
    model, weight = TAOClustering(2, objective="spherical", lambda_=1.0), np.ones(14)
    with pytest.raises(ValueError, match=r"^2 of 14 rows \(the first is row 8, counting from 0\)"):
        model.fit(rows)
    with pytest.raises(ValueError, match=r"^2 of 14 rows \(the first is row 8,"):
        model.fit(np.ones((14, 1)), embedding=rows)
    weight[[0, 8]] = 0
    with pytest.raises(ValueError, match=r"^1 of 14 rows \(the first is row 9,"):
        model.fit(rows, sample_weight=weight)
    model.fit(rows[:8])
    with pytest.raises(ValueError, match=r"^2 of 14 rows \(the first is row 8,"):
        model.score(rows)


def test_the_column_whose_standard_deviation_overflows_is_named():
    table = pd.DataFrame({"a": np.arange(6.0), "b": 1e300 * np.arange(6.0)})
    with pytest.raises(ValueError, match="column 'b' of X overflows"):
        IMM(2, standardize=True).fit(table)


# ---------------------------------------------------------------- names that are not strings

LEVELS = pd.MultiIndex.from_tuples([("sales", 2020), ("sales", 2021), ("costs", 2020), ("n", "")])
DISPLAYED = ["sales / 2020", "sales / 2021", "costs / 2020", "n"]
ALIKE = pd.MultiIndex.from_tuples([("a / b", "c"), ("a", "b / c"), (1, "a"), ("1", "a")])
NAMES = [
    (ALIKE, list(map(str, ALIKE))),
    (pd.Index([4, 1, 12, 7]), ["4", "1", "12", "7"]),
    (LEVELS, DISPLAYED),
    (pd.date_range("2024-01-01", periods=4), [f"2024-01-0{day}" for day in range(1, 5)]),
]


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize(("columns", "displayed"), NAMES)
@pytest.mark.parametrize("model", [IMM(3), TAOClustering(3, split="axis", random_state=0)])
def test_names_that_are_not_strings_are_displayed(model, columns, displayed, X, tmp_path):
    table = pd.DataFrame(X[:, :4], columns=columns)
    model.fit(table)
    assert not hasattr(model, "feature_names_in_")  # the rule of scikit-learn
    named = model.tree_.used_features[0]
    model.save(tmp_path / "model.json")
    for each in (model, load(tmp_path / "model.json")):
        parts = [each.to_text(), str(each.to_rules()), str(each.explain(table.iloc[0]))]
        parts += [str(each.describe(table)), to_sql(each), to_dot(each), each.to_html(X=table)]
        parts += [text.get_text() for text in each.plot(X=table).texts]
        parts += [str(raw_view(Pipeline([("model", each)])).to_text())]
        assert sum(displayed[named] in part for part in parts) >= 8
        assert not any(f"x{named} <=" in part for part in parts)
        np.testing.assert_array_equal(each.predict(table), model.labels_)
        np.testing.assert_array_equal(each.predict(X[:, :4]), model.labels_)
        with pytest.raises(ValueError, match="their order differs"):
            each.predict(table[columns[::-1]])
        with pytest.raises(ValueError, match=r"unseen in fit: 'z'.*missing"):
            each.predict(table.set_axis([*displayed[:3], "z"], axis=1))
        reordered = table.iloc[0][columns[::-1]]
        assert str(each.explain(reordered)) == str(each.explain(table.iloc[0]))
    assert "x0" in model.fit(np.repeat(X[:, :1], 4, axis=1)).to_text()  # nothing is left of it


def test_default_names_of_pandas_are_no_names(X):
    table = pd.DataFrame(X)
    model = IMM(3).fit(table)
    assert f"x{model.tree_.used_features[0]} <=" in model.to_text()
    model.predict(pd.DataFrame(X, columns=[10, 11, 12, 13, 14]))
    with pytest.raises(ValueError, match="their order differs"):
        model.predict(table[[1, 0, 2, 3, 4]])
