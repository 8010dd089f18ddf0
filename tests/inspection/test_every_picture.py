"""Every kind of picture: contrast in several styles, measured from pixels, and sizes."""

import re
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import rest_in_sweeps
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.text import Text
from sight import linear
from sklearn.datasets import load_wine

from greedy import IMM
from tao_cluster import (
    DirectForm,
    TAOClustering,
    choose_n_clusters,
    compare,
    describe,
    monitor,
    nested,
    stability,
    tao_path,
)
from tao_cluster.explanations import explain
from tao_cluster.plot import (
    plot_history,
    plot_path,
    plot_regions,
    plot_test,
    plot_tests,
    plot_tradeoff,
    plot_tree,
)

STYLES = {
    "default": {},
    "dark": "dark_background",
    "seaborn": "seaborn-v0_8-darkgrid",
    "blue": {"figure.facecolor": "#1f77b4", "axes.facecolor": "#1f77b4"},
    "transparent on a dark page": {"figure.facecolor": "none", "axes.facecolor": "none"}
    | dict.fromkeys(["text.color", "axes.labelcolor", "xtick.color", "ytick.color"], "white"),
}
STYLES_AND_STEPS = rest_in_sweeps([("dark", 2), *((style, 1) for style in STYLES)], ("dark", 2))
TEXT, MARK = 4.5, 3.0  # least contrasts of WCAG 2.2


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def every_kind():
    """A function (**options) per kind of picture, by name."""
    wine = load_wine(as_frame=True)
    X = wine.data.iloc[::2, :6].rename(columns={"alcalinity_of_ash": "alcalinity of the ash"})
    quick = DirectForm(n_init=1, search="none", copies=0)
    fit = {"standardize": True, "random_state": 0, "algorithm": quick}
    axis = TAOClustering(4, split="axis", max_leaves=4, **fit).fit(X)
    oblique = TAOClustering(4, max_parameters=24, **fit).fit(X)
    axis.name_clusters({0: "Light wines"})
    plane = IMM(3, random_state=0).fit(X.iloc[:, :2])
    image = {"image_shape": (2, 3)}
    methods = {"own": TAOClustering(max_parameters=12, algorithm=quick)}
    methods |= {name: name for name in ("exkmc", "imm", "cart", "kauri")}
    fits = compare(X, 3, methods, random_state=0)
    path = tao_path(X, 4, [0.1, 1, 10, 100], depth=3, **fit)
    panels = {"panels": ("mask", "centers", "history"), **image}
    shown = {"y": wine.target[::2], "class_names": list(wine.target_names)}
    return {
        "bars": lambda **o: plot_tree(axis, X, **shown, **o),
        "oblique": lambda **o: plot_tree(oblique, X, highlight=0, **o),
        "words": lambda **o: plot_tree(oblique, X, nodes="words", **o),
        "image": lambda **o: plot_tree(oblique, X, **image, **o),
        "panels": lambda **o: plot_tree(oblique, X, **panels, **o),
        "projection": lambda **o: plot_tree(oblique, X, nodes="projection", **o),
        "subtrees": lambda **o: plot_tree(axis, X, max_depth=1, **o),
        "test of one column": lambda **o: plot_test(axis, 0, X, **o),
        "tests": lambda **o: plot_tests(oblique, X, **o),
        "cards": lambda **o: describe(axis, X).plot(**o),
        "path": lambda **o: plot_path(path, **o),
        "trade-off": lambda **o: plot_tradeoff([axis, oblique, *path], **o),
        "comparison": fits.plot,
        "history": lambda **o: plot_history(oblique, **o),
        "nested": lambda **o: nested(axis, X).plot(**o),
        "nested images": lambda **o: nested(axis, X).plot(**image, **o),
        "months": lambda **o: monitor(axis, X[::2], X[1::2] * 1.2).plot(**o),
        "number of clusters": choose_n_clusters(X, range(2, 5), random_state=0).plot,
        "stability": stability(axis, X, n=2, random_state=0).plot,
        "decision path": lambda **o: explain(oblique, X.iloc[[0]]).plot(**o),
        "decision path of columns": lambda **o: explain(axis, X.iloc[[0]]).plot(**o),
        "image path": lambda **o: explain(oblique, X.iloc[[0]]).plot(**image, **o),
        "regions": lambda **o: plot_regions(plane, X.iloc[:, :2], **o),
    }


def contrast(colors, ground):
    """The contrasts of colours to a ground, as WCAG 2.2 defines them."""
    a, b = (linear(np.asarray(c)[..., :3]) @ (0.2126, 0.7152, 0.0722) for c in (colors, ground))
    return (np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05)


def figure_of(drawn):
    return drawn if hasattr(drawn, "savefig") else np.ravel(drawn)[0].figure


def weak_texts(figure):
    """The texts that cannot be read, with their contrast to the pixels behind them."""
    texts = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    for text in texts:
        text.set_alpha(0.0)
    figure.canvas.draw()
    boxes = [np.round(t.get_window_extent().extents).astype(int) for t in texts]
    pixels = np.asarray(figure.canvas.buffer_rgba())[::-1]
    page = 1.0 - is_light(mpl.rcParams["text.color"])  # behind a transparent figure
    opacity = pixels[..., 3:] / 255
    pixels = pixels[..., :3] / 255 * opacity + page * (1 - opacity)
    for text, (left, low, right, high) in zip(texts, boxes, strict=True):
        behind = pixels[max(low, 0) : high, max(left, 0) : right].reshape(-1, 3)
        if len(behind):  # a line may pass behind a text
            found = np.quantile(contrast(to_rgb(text.get_color()), behind), 0.2)
            if found < TEXT - 0.02:
                yield text.get_text(), text.get_color(), round(float(found), 2)


def is_light(color):
    return contrast(to_rgb(color), (0.0, 0.0, 0.0)) > contrast(to_rgb(color), (1.0, 1.0, 1.0))


def weak_marks(figure):
    """The lines, frames and markers that cannot be seen, with their contrast to the axes."""
    insets = [inset for ax in figure.axes for inset in ax.child_axes]
    for ax in [*figure.axes, *insets]:
        behind = np.full(3, 1.0 - is_light(mpl.rcParams["text.color"]))
        for face in [figure.get_facecolor(), *([ax.get_facecolor()] if ax.axison else [])]:
            *rgb, alpha = to_rgba(face)
            behind = alpha * np.array(rgb) + (1 - alpha) * behind
        filled = [each for each in ax.collections if not isinstance(each, LineCollection)]
        if ax.axison and (ax.images or filled):
            behind = np.ones(3)  # pale pixels
        shown = [(line, [line.get_color(), line.get_markeredgecolor()]) for line in ax.lines]
        kinds = (FancyBboxPatch, PathPatch)
        shown += [(p, [p.get_edgecolor()]) for p in ax.patches if isinstance(p, kinds)]
        for artist, colors in shown:
            seen = [to_rgba(color) for color in colors if to_rgba(color)[3]]
            found = max((contrast(color, behind) for color in seen), default=MARK)
            if found < MARK - 0.02:
                yield artist, seen, round(float(found), 2)


@pytest.fixture(scope="module")
def pictures():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits to few rows
        return every_kind()


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES_AND_STEPS, ids=lambda style: "-".join(map(str, style)))
def test_all_texts_and_marks_can_be_seen(pictures, style):
    """In sweeps, all pictures in all styles; else every second picture in one of them."""
    style, step = style
    with plt.style.context(STYLES[style]):
        for name in list(pictures)[::step]:
            figure = figure_of(pictures[name]())
            figure.set_dpi(72)
            weak = [*weak_texts(figure), *weak_marks(figure)]
            assert not weak, (name, weak[:3])
            plt.close(figure)


@pytest.mark.slow
def test_given_axes_have_the_ground_of_their_figure(pictures):
    for name in ("bars", "path", "test of one column"):
        with plt.style.context("dark_background"):
            ax = plt.figure(figsize=(8, 6), dpi=72).add_axes((0.1, 0.1, 0.6, 0.8))
        assert pictures[name](ax=ax) is ax
        with mpl.rc_context({"text.color": "white"}):
            assert not [*weak_texts(ax.figure)], name


FEW = ("path", "comparison", "nested")
TARGETS = {
    "paper": ({"style": "paper", "width": 3.3, "font_size": 7}, 7),
    "slide": ({"style": "slide", "width": 40 / 3, "height": 7.5}, 16),
    "screen": ({"width": 8.5, "height": 9.5}, 6.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_every_picture_has_the_same_options(pictures, target):
    options, smallest = TARGETS[target]
    for name in FEW:
        draw, given = pictures[name], options
        try:
            figure = figure_of(draw(**given))
        except ValueError as error:  # the size that it names suffices
            least = re.findall(r"(width|height)=([\d.]+)", str(error))
            given = options | {side: float(length) for side, length in least}
            figure = figure_of(draw(**given))
        figure.draw_without_rendering()
        for side, length in zip(("width", "height"), figure.get_size_inches(), strict=True):
            assert length == pytest.approx(given.get(side, length)), name
        texts = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
        assert min(t.get_fontsize() for t in texts) > smallest - 0.01, name
        for text in [*figure.texts, *(t for ax in figure.axes for t in ax.texts)]:
            box, page = text.get_window_extent(), figure.bbox
            if text.get_text().strip():
                assert box.x0 > -2 < box.y0, (name, text)
                assert max(box.x1 - page.x1, box.y1 - page.y1) < 2, (name, text)
            assert not re.search(r"\d…|… ?[\d%]", text.get_text()), name  # no part of a number
        plt.close(figure)
    with pytest.raises(TypeError, match="colour"):
        pictures["path"](colour="red")
