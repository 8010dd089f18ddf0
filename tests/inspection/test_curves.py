"""Pictures of paths, trade-offs, histories and regions."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from greedy import IMM, ExKMC
from tao_cluster import PenaltyMethod, TAOClustering, tao_path
from tao_cluster.plot import plot_history, plot_path, plot_regions, plot_tradeoff


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# ---------------------------------------------------------------- curves and regions


@pytest.fixture(scope="module")
def path():
    X = np.random.default_rng(0).normal(size=(300, 4))
    return X, tao_path(X, 4, [0.1, 1, 10, 40], depth=3, random_state=0)


def test_path_shows_every_tree_and_the_knee(path):
    _, models = path
    ax = plot_path(models, title="a path")
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, [model.tree_.n_parameters for model in models])
    np.testing.assert_array_equal(y, [model.cost_increase_ for model in models])
    assert ax.get_legend().get_texts()[0].get_text() == "knee"
    assert plot_path(models[:1], ax=ax) is ax


@pytest.mark.parametrize("size", ["leaves", "parameters", "explanation_size"])
def test_tradeoff_joins_models_of_a_label(path, size):
    X, models = path
    reference = models[0].free_centers_
    others = [ExKMC(4, max_leaves=n, reference=reference).fit(X) for n in (12, 4)]
    others.append(IMM(4, reference=reference).fit(X))
    ax = plot_tradeoff([*models, *others], size=size, X=X)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "TAOClustering",
        "ExKMC",
        "IMM",
    ]
    x, y = ax.lines[1].get_data()
    assert x[0] < x[1]
    assert set(y) == {model.cost_increase_ for model in others[:2]}


@pytest.mark.slow
def test_tradeoff_has_one_series_a_method(path):
    X, models = path
    reference = models[0].free_centers_
    axis = [
        TAOClustering(4, split="axis", max_leaves=n, reference=reference).fit(X) for n in (4, 8)
    ]
    ax = plot_tradeoff([*models, *axis, IMM(4, reference=reference).fit(X)])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["TAOClustering, split=oblique", "TAOClustering, split=axis", "IMM"]
    assert set(ax.lines[1].get_ydata()) == {model.cost_increase_ for model in axis}
    # How lambda was chosen is no method.
    chosen = clone(models[0]).fit(X).set_params(lambda_="auto")
    assert len(plot_tradeoff([models[0], chosen]).get_legend().get_texts()) == 1


def test_tradeoff_says_what_it_needs(path):
    _, models = path
    with pytest.raises(ValueError, match="pass them as X"):
        plot_tradeoff(models, size="explanation_size")
    with pytest.raises(ValueError, match="leaves, parameters, explanation_size"):
        plot_tradeoff(models, size="nodes")
    with pytest.raises(ValueError, match="one entry per model; got 1 for 4 models"):
        plot_tradeoff(models, labels=["one"])


@pytest.mark.slow
def test_history_by_stage_and_along_mu(path):
    X, models = path
    ax = plot_history(models[-1])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == list(dict.fromkeys(record["stage"] for record in models[-1].history_))
    penalty = TAOClustering(
        4, lambda_=1, algorithm=PenaltyMethod(refine=False), random_state=0
    ).fit(X)
    assert plot_history(penalty).get_xscale() == "log"
    still = TAOClustering(1, random_state=0).fit(X)
    still.history_.clear()
    with pytest.raises(ValueError, match="history_ is empty"):
        plot_history(still)
    with pytest.raises(ValueError, match="IMM records no history"):
        plot_history(IMM(4, random_state=0).fit(X))


def test_regions_of_the_plane(blobs):
    model = TAOClustering(4, random_state=0).fit(blobs[:, :2])
    axes = plot_regions(model, blobs[:, :2], title="blobs")
    assert len(axes) == 2
    assert "4 leaves" in axes[1].get_title(loc="left")
    for ax in axes:
        shown = ax.collections[0].get_array()
        assert len(np.unique(shown)) == 4
    with pytest.raises(ValueError, match=r"two columns of the fit; its shape is \(240, 3\)"):
        plot_regions(model, blobs)
    with pytest.raises(ValueError, match="this model has 3: fit it to two columns"):
        plot_regions(IMM(4, random_state=0).fit(blobs), blobs)
    with pytest.raises(ValueError, match="nearest free centres"):
        plot_regions(model.tree_, blobs[:, :2])


def test_regions_of_standardised_tables_are_those_of_the_fit(blobs):
    X = pd.DataFrame(blobs[:, :2] * [1.0, 500.0], columns=["height", "width"])
    model = IMM(4, standardize=True, random_state=0).fit(X)
    free = plot_regions(model, X)[0].collections[0].get_array().reshape(400, 400)
    low, high = X.min().to_numpy(), X.max().to_numpy()
    margin = 0.05 * (high - low)
    cells = (X.to_numpy() - low + margin) / (high - low + 2 * margin) * 399
    column, line = np.round(cells).astype(int).T
    assert np.mean(free[line, column] == model.free_labels_) > 0.97


def test_curves_of_one_model_or_none_say_what_they_take(path):
    for draw in (plot_path, plot_tradeoff):
        with pytest.raises(TypeError, match="list of fitted estimators, such as tao_path returns"):
            draw(path[1][0])
        with pytest.raises(ValueError, match="empty list"):
            draw([])


def test_style_is_left_alone(path):
    before = dict(plt.rcParams)
    plot_path(path[1])
    plot_history(path[1][0])
    assert dict(plt.rcParams) == before
