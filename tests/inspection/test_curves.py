"""Pictures of paths, trade-offs, histories and regions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone

from greedy import CART, IMM, ExKMC
from tao_cluster import PenaltyMethod, TAOClustering, compare, tao_path
from tao_cluster.comparison import Comparison
from tao_cluster.plot import cluster_color, plot_history, plot_path, plot_regions, plot_tradeoff
from tao_cluster.plot.curves import SIZE_NAMES, STAGES, cost_label


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# ---------------------------------------------------------------- curves and regions


@pytest.fixture(scope="module")
def path():
    X = np.random.default_rng(0).normal(size=(300, 4))
    return X, tao_path(X, 4, [0.1, 1, 10, 40], depth=3, random_state=0)


@pytest.mark.slow
def test_path_shows_every_tree_and_the_knee(path):
    _, models = path
    ax = plot_path(models, title="a path")
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, [model.tree_.n_parameters for model in models])
    np.testing.assert_array_equal(y, [model.cost_increase_ for model in models])
    notes = [text.get_text() for text in ax.texts]
    assert sum(text.startswith("knee, λ = ") for text in notes) == 1
    knee_or_end = {f"λ = {model.lambda_:g}" for model in (models[0], models[-1])}
    assert {text for text in notes if text.startswith("λ")} <= knee_or_end
    assert plot_path(models[:1], ax=ax) is ax


def looks_of(ax):
    """Colour and marker of each series by its name, without remarks in brackets."""
    lines = {
        line.get_label().split(" (")[0]: line for line in ax.lines if line.get_label()[0] != "_"
    }
    return {name: (line.get_color(), line.get_marker()) for name, line in lines.items()}


def names_of(ax):
    """The names of the series beside their lines and in the legend below, in their order."""
    lines = [line for line in ax.lines if not line.get_label().startswith("_child")]
    legend = ax.get_legend()
    written = [text.get_text() for text in [*ax.texts, *(legend.get_texts() if legend else [])]]
    assert sorted(written) == sorted(line.get_label() for line in lines)
    return [line.get_label() for line in lines]


@pytest.mark.slow
def test_axes_name_the_free_clustering(path):
    X, models = path
    pictures = plot_path(models), plot_tradeoff(models), plot_history(models[0])
    for ax in pictures:
        assert ax.get_ylabel() == "cost above k-means, %"
    given = IMM(4, reference=models[0].free_centers_).fit(X)
    assert plot_tradeoff([given]).get_ylabel() == "cost above the free clustering, %"
    assert cost_label(models, new=True) == "cost of held-out rows above k-means, %"
    labels = TAOClustering(objective="labels")
    assert cost_label([labels]) == "rows with another label, %"
    assert cost_label([labels], new=True) == "held-out rows with another label, %"


@pytest.mark.slow
def test_markers_that_would_coincide_are_nested(path):
    _, models = path
    place = models[0].tree_.n_parameters, models[0].cost_increase_
    for width in (3.3, 6.5):
        ax = plot_tradeoff([*models, models[0], models[0]], labels=[*"aaaa", *"bc"], width=width)
        assert all(line.get_transform() == ax.transData for line in ax.lines)
        shown = {}  # size and shape of each marker at the place of three series
        for line in ax.lines:
            at = line.get_xydata()
            every = range(len(at)) if line.get_markevery() is None else line.get_markevery()
            if any(tuple(at[i]) == place for i in every):
                shown[line.get_color()] = line.get_markersize(), line.get_markerfacecolor()
        sizes, faces = zip(*shown.values(), strict=True)
        assert len(set(sizes)) == len(shown) == 3
        assert [face == "none" for face in faces] == [size > min(sizes) for size in sizes]
        assert [text.get_text() for text in ax.texts] == ["a"]
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["b", "c"]


@pytest.mark.slow
def test_a_method_looks_alike_in_all_pictures(path):
    X, models = path
    reference = models[0].free_centers_
    imm, exkmc, cart = (make(4, reference=reference).fit(X) for make in (IMM, ExKMC, CART))
    titles = {"TAO oblique": models[0], "ExKMC": exkmc, "IMM": imm, "CART": cart}
    every = looks_of(Comparison.from_models(titles, X).plot())
    assert len(set(every.values())) == 4
    others = compare(X, 4, ["imm", "cart", "exkmc"], validation=0.3, budgets=[4, 6])
    pictures = [others.plot(new=new) for new in (True, False)]
    pictures += [others.plot("leaves"), plot_tradeoff([cart, imm]), plot_tradeoff([exkmc, cart])]
    for ax in pictures:
        own = looks_of(ax)
        assert own == {name: every[name] for name in own}
    oblique = every["TAO oblique"]
    assert looks_of(plot_tradeoff([imm, models[0]]))["TAOClustering"] == oblique
    assert plot_path(models).lines[0].get_color() == oblique[0]
    # A series with a name of its own never looks like a known method, wherever it stands.
    mine = looks_of(Comparison.from_models({"mine": cart, "other": imm} | titles, X).plot())
    assert {name: mine[name] for name in titles} == every
    assert len(set(mine.values())) == 6
    # Two series of one method differ.
    assert len(set(looks_of(plot_tradeoff([imm, imm], labels=["a", "b"])).values())) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("costs", "scale"), [((0.1, 3.0), "log"), ((0.2, 3.0), "linear"), ((0.0, 3.0), "linear")]
)
def test_one_rule_makes_axes_of_costs_logarithmic(path, costs, scale):
    X, models = path
    pair = [clone(models[0]).fit(X), clone(models[0]).fit(X)]
    for model, cost in zip(pair, costs, strict=True):
        model.cost_increase_ = cost
    record = dict(pair[0].history_[0])
    pair[0].history_ = [record | {"cost_increase": costs[1]}]
    table = Comparison.from_models({"a": pair[0], "b": pair[1]}, X)
    pictures = plot_path(pair), plot_tradeoff(pair), table.plot(), plot_history(pair[0])
    assert [ax.get_yscale() for ax in pictures] == [scale] * 4
    if scale == "linear":
        assert all(ax.get_ylim()[0] <= 0 for ax in pictures)


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("size", ["leaves", "parameters", "explanation_size"])
def test_tradeoff_joins_models_of_a_label(path, size):
    X, models = path
    reference = models[0].free_centers_
    others = [ExKMC(4, max_leaves=n, reference=reference).fit(X) for n in (12, 4)]
    others.append(IMM(4, reference=reference).fit(X))
    ax = plot_tradeoff([*models, *others], size=size, X=X)
    assert ax.get_xlabel() == SIZE_NAMES["WAES" if size == "explanation_size" else size]
    assert plot_tradeoff(others).get_xlabel() == SIZE_NAMES["parameters"]
    assert names_of(ax) == ["TAOClustering", "ExKMC", "IMM"]
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
    assert names_of(ax) == ["TAOClustering, split=oblique", "TAOClustering, split=axis", "IMM"]
    assert set(ax.lines[1].get_ydata()) == {model.cost_increase_ for model in axis}
    # How lambda was chosen is no method.
    chosen = clone(models[0]).fit(X).set_params(lambda_="auto")
    assert names_of(plot_tradeoff([models[0], chosen])) == ["TAOClustering"]


def test_tradeoff_names_wrong_arguments(path):
    _, models = path
    with pytest.raises(ValueError, match="pass them as X"):
        plot_tradeoff(models, size="explanation_size")
    with pytest.raises(ValueError, match="parameters, leaves, explanation_size"):
        plot_tradeoff(models, size="nodes")
    with pytest.raises(ValueError, match="one entry per model; got 1 for 4 models"):
        plot_tradeoff(models, labels=["one"])


@pytest.mark.slow
def test_history_by_stage_and_along_mu(path):
    X, models = path
    records = models[-1].history_
    ax = plot_history(models[-1])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    stages = list(dict.fromkeys(record["stage"] for record in records))
    assert names[: len(stages)] == [STAGES[stage][0] for stage in stages]
    result = f"result: {models[-1].cost_increase_:.2f} %"
    assert set(names[len(stages) :]) <= {result, "not kept"}
    lines = {line.get_label(): line for line in ax.lines}
    for stage in stages:  # one line per stage: a break where another stage lies between
        drawn = lines[STAGES[stage][0]].get_ydata()
        own = [each["cost_increase"] if each["stage"] == stage else np.nan for each in records]
        np.testing.assert_array_equal(drawn, own)
    assert len({lines[name].get_color() for name in names[: len(stages)]}) == len(stages)
    assert lines[result].get_ydata()[0] == models[-1].cost_increase_
    penalty = TAOClustering(
        4, lambda_=1, algorithm=PenaltyMethod(refine=False), random_state=0
    ).fit(X)
    ax = plot_history(penalty)
    assert ax.get_xscale() == "log"
    points = {line.get_label(): line.get_xydata() for line in ax.lines}
    first = points[STAGES["direct fit"][0]]
    assert 0 < np.nanmin(first[:, 0]) < np.nanmin(points[STAGES["penalty"][0]][1:, 0])
    still = TAOClustering(1, random_state=0).fit(X)
    still.history_.clear()
    with pytest.raises(ValueError, match="history_ is empty"):
        plot_history(still)
    with pytest.raises(ValueError, match="IMM does not record the stages"):
        plot_history(IMM(4, random_state=0).fit(X))


@pytest.mark.slow
def test_regions_of_the_plane(blobs):
    model = TAOClustering(4, random_state=0).fit(blobs[:, :2])
    axes = plot_regions(model, blobs[:, :2], title="blobs")
    assert len(axes) == 2
    assert "4 leaves" in axes[1].get_title(loc="left")
    for ax in axes:
        shown = ax.collections[0].get_array()
        assert len(np.unique(shown)) == 4
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
        # Each row has the colour that its cluster has in every picture.
        colors = [cluster_color(label) for label in model.free_labels_]
        np.testing.assert_allclose(ax.collections[2].get_facecolor()[:, :3], colors)
        mesh = ax.collections[0]
        pale = [mesh.cmap(mesh.norm(label))[:3] for label in range(4)]
        for label, color in enumerate(pale):
            own = 1 - np.array(cluster_color(label))
            share = (1 - np.array(color)) @ own / (own @ own)
            np.testing.assert_allclose(1 - np.array(color), share * own, atol=1e-6)
    with pytest.raises(ValueError, match=r"two columns of the fit; its shape is \(240, 3\)"):
        plot_regions(model, blobs)
    with pytest.raises(ValueError, match="this model has 3: fit it to two columns"):
        plot_regions(IMM(4, random_state=0).fit(blobs), blobs)
    with pytest.raises(ValueError, match="nearest free centres"):
        plot_regions(model.tree_, blobs[:, :2])


def test_curves_of_one_model_or_none_raise(path):
    for draw in (plot_path, plot_tradeoff):
        with pytest.raises(TypeError, match="list of fitted estimators, such as tao_path returns"):
            draw(path[1][0])
        with pytest.raises(ValueError, match="empty list"):
            draw([])
