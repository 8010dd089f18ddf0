"""Charts at the widths of a column and of a page, measured from the renderer."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from tao_cluster import (
    TAOClustering,
)
from tao_cluster.export.format import number_text
from tao_cluster.plot import plot_history
from tao_cluster.plot.charts import plot_monitor, plot_n_clusters, plot_stability
from tao_cluster.plot.curves import plot_series

WIDTHS = (3.3, 6.5)
FONTS = ({"font.size": 7}, {"font.size": 10}, {"font.size": 9, "font.family": "serif"})


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def figure_of(drawn):
    return drawn if hasattr(drawn, "savefig") else np.ravel(drawn)[0].figure


def check(figure):
    """No two texts overlap, none leaves the figure, and no marker is cut."""
    figure.canvas.draw()
    frame = figure.bbox
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    left = {id(text) for text in hidden(figure)}
    shown = [text for text in texts if text.get_visible() and id(text) not in left]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    for i, (text, box) in enumerate(boxes):
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= frame.width + 1, text
        assert box.y1 <= frame.height + 1, text
        for other, its in boxes[:i]:
            width = min(box.x1, its.x1) - max(box.x0, its.x0)
            height = min(box.y1, its.y1) - max(box.y0, its.y0)
            assert min(width, height) < 1.5, (text, other)
    for ax in figure.axes:
        for line in ax.lines:
            if line.get_marker() in {"None", "", "|"}:
                continue
            points = line.get_transform().transform(line.get_xydata())
            points = points[~np.isnan(points).any(axis=1)]
            radius = line.get_markersize() / 2 * figure.dpi / 72 - 1
            assert np.all(points - radius >= ax.bbox.min), line.get_label()
            assert np.all(points + radius <= ax.bbox.max), line.get_label()
    sizes = {round(text.get_fontsize(), 3) for text in shown}
    assert min(sizes) >= plt.rcParams["font.size"] - 1e-6


def hidden(figure):
    """Labels of ticks outside the limits, which are not drawn."""
    for axis in [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


@pytest.mark.spaced(quick=1, slow=3)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(4))
def test_series_of_any_places(width, seed):
    """Up to eight series, single points among them, that coincide or differ in magnitude."""
    rng = np.random.default_rng(seed)
    names = ["TAO oblique", "ExKMC", "a name of some length", "IMM", "_x", "$y$", "CART", "Kauri"]
    points = {}
    for name in names[: rng.integers(1, 9)]:
        n = rng.integers(1, 6)
        x = np.sort(rng.choice([7, 10, 16, 28, 58, 118] if seed % 2 else np.arange(3, 9), n))
        y = np.round(10 ** rng.uniform(-2 if seed % 3 else 0, 1.5, n), rng.integers(0, 3))
        errors = [rng.uniform(0, 0.3, n) * y] if seed % 4 == 0 else []
        points[name] = np.column_stack([x, y, *errors])
    with plt.rc_context(FONTS[seed % 3]):
        ax = plot_series(points, "parameters", "cost above k-means, %", width=width, title="T")
        check(ax.figure)
        legend = ax.get_legend()
        written = [text.get_text() for text in [*ax.texts, *(legend.get_texts() if legend else [])]]
    assert sorted(written) == sorted(points)
    ticks = ax.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))  # numbers of parameters are integers


@pytest.mark.slow
def test_panels_of_random_tables():
    seed, width = 1, 3.3
    rng = np.random.default_rng(seed)
    names = [f"{'very ' * int(i % 4)}long_name_{i}" for i in range(rng.integers(1, 15))]
    ks = np.arange(2, rng.integers(4, 13))
    table = pd.DataFrame(
        rng.uniform(0, 1, (len(ks), 5)) * [1, 1, 1, 5, 12],
        index=ks,
        columns=["gaps", "stability", "silhouette", "cost_increase", "cost_increase_new"],
    )
    refits = pd.DataFrame(
        {
            "kind": np.repeat(["resample", "seed"], 6),
            "ARI": rng.uniform(-0.1, 1, 12),
            "cost_increase": 10.0 ** rng.uniform(-2, seed, 12),
            "parameters": 16 if seed % 2 else rng.integers(10, 14, 12),
        }
    )
    shares = pd.DataFrame(rng.uniform(0, 1, (len(names), 3)), index=names)
    shares.columns = ["resamples", "seeds", "rows"]
    segments = pd.DataFrame(
        rng.uniform(0, 1, (3, 2)), index=names[:1] * 3, columns=["share_then", "share_now"]
    ).assign(rows_now=[10, 20, 30], new_rows=[0, 5, 30])
    status = rng.choice(["stable", "moved"], len(names))
    indices = pd.DataFrame({"psi": rng.uniform(0, 2, len(names)), "status": status}, index=names)
    with plt.rc_context(FONTS[seed % 3]):
        axes = plot_n_clusters(table, 3, {"gaps": 0.5, "stability": 0.7}, width=width)
        check(figure_of(axes))
        for ax in axes:  # no number of clusters beyond those of the table
            assert ax.spines.bottom.get_bounds()[1] == ks[-1]
            assert set(ax.get_xticks()) <= set(ks)
        figure = plot_stability(refits, shares, "A title", width=width)
        check(figure)
        refits["ARI"] = refits["ARI"].abs() / 3 + 0.62
        low = plot_stability(refits, shares, width=width).axes[0].get_xlim()[0]
        assert 0.5 < low < 0.62
        sentence = "Refit: the rows at the test of a long name have moved. " * 2
        check(figure_of(plot_monitor(segments, indices, 0.1, sentence, width=width)))
        legends = [ax.get_legend().get_texts()[0].get_text() for ax in plt.gcf().axes]
        assert legends == ["new groups", "moved"]
    ticks = figure.axes[1].get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_a_width_is_of_a_new_figure():
    _, ax = plt.subplots()
    points = {"a": [(1, 2.0), (2, 1.0)]}
    with pytest.raises(ValueError, match="either width or ax, not both"):
        plot_series(points, "leaves", "cost", ax=ax, width=3.3)
    with pytest.raises(
        ValueError, match=r"chart cannot be read .* at least width=2\.5 and height=1\.2 inches"
    ):
        plot_series(points, "leaves", "cost", width=1)
    with plt.rc_context({"figure.figsize": (4.0, 1.0)}):
        assert plot_series(points, "leaves", "cost").figure.get_size_inches()[0] == 4.0


@pytest.mark.slow
def test_changes_of_lambda_are_marked_in_the_history():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = TAOClustering(3, lambda_=1.0, random_state=0).fit(X)
    lambdas = np.array([record["lambda"] for record in model.history_])
    ax = plot_history(model, width=6.5)
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]
    assert marks == [i + 1.5 for i in np.flatnonzero(np.diff(lambdas))]
    ax.figure.draw_without_rendering()
    edges = ax.transData.transform([(x, 1.0) for x in [0.5, *marks, len(lambdas) + 0.5]])[:, 0]
    for i, note in enumerate(ax.texts):  # each is above its interval
        box = note.get_window_extent()
        (at,) = [
            j for j in range(len(marks) + 1) if edges[j] < np.mean(box.intervalx) < edges[j + 1]
        ]
        assert edges[at] - 1 <= box.x0 <= box.x1 <= edges[at + 1] + 1
        value = lambdas[int([0.5, *marks][at] - 0.5)]
        assert note.get_text() == ("" if i else "λ = ") + number_text(value, 2)
