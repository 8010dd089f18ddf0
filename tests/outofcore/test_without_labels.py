"""Models that were fitted to rows in blocks: what they keep is used as ever, the rest is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from greedy import IMM
from greedy.bounds import bound_of
from tao_cluster import TAOClustering, load, outofcore
from tao_cluster.comparison import Comparison
from tao_cluster.measures import explainability, price_of_explainability

X = load_iris().data


@pytest.fixture(scope="module", params=["axis", "greedy", "frame"])
def model(request):
    if request.param == "greedy":
        return outofcore.fit(IMM(3, random_state=0), [X[:70], X[70:]], random_state=0)
    frame = load_iris(as_frame=True).data
    rows = [frame[:70], frame[70:]] if request.param == "frame" else [X[:70], X[70:]]
    split = "axis" if request.param == "axis" else "oblique"
    estimator = TAOClustering(3, lambda_=2, depth=3, split=split, random_state=0)
    return outofcore.fit(estimator, rows, random_state=0)


def rows_for(model):
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def test_it_is_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.json")
    loaded, rows = load(tmp_path / "model.json"), rows_for(model)
    assert loaded.tree_ == model.tree_
    assert set(vars(loaded)) == set(vars(model))
    assert np.array_equal(loaded.predict(rows), model.predict(rows))
    assert str(loaded.explain(rows[:1])) == str(model.explain(rows[:1]))


def test_it_is_shown(model, tmp_path):
    model.plot()
    model.plot(X=rows_for(model))
    model.to_html(tmp_path / "a.html")
    model.to_html(tmp_path / "b.html", X=rows_for(model))
    assert "cluster" in model.to_text()


def test_it_is_compared_without_rows(model):
    table = Comparison.from_models({"a": model}).table
    assert table.loc["a", "cost_increase"] == model.cost_increase_
    assert table.loc["a", "leaves"] == model.tree_.n_leaves
    assert table.loc["a", ["WAD", "WAES", "NMI", "ARI"]].isna().all()


@pytest.mark.parametrize(
    "use",
    [
        lambda model: Comparison.from_models({"a": model}, rows_for(model)),
        lambda model: explainability(model, X),
        lambda model: price_of_explainability(model, X),
        lambda model: model.plot(panels=["centers"], image_shape=(2, 2)),
    ],
)
def test_what_needs_labels_of_rows_says_so(model, use):
    with pytest.raises(
        ValueError, match=r"has no (free_)?labels_: it was fitted to rows in blocks"
    ):
        use(model)


def test_a_bound_needs_the_number_of_rows():
    model = outofcore.fit(IMM(3, random_state=0), X, random_state=0)
    with pytest.raises(ValueError, match="has no labels_: it was fitted to rows in blocks"):
        bound_of(model)
