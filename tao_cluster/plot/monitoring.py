"""Picture of two months: sizes of clusters then and now, flows between them, and moved columns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ..columns.names import brief
from ..inspection.palette import cluster_color
from .boxes import wrap
from .style import STYLE, drawn_with, make_drawable

_WIDTH, _LINE, _N_BARS, _DPI = 8.0, 0.24, 12, 100
_BAR, _GAP = 0.12, 0.015  # width of the stacked bars, and the gap between their parts
_COLORS = {"stable": "0.7", "watch": "#E69F00", "moved": "#C1272D"}


def plot_monitor(segments, transitions, indices, limits, title):
    """Draw sizes then and now (with flows between them, if known), and the largest indices.

    Parameters
    ----------
    segments : pandas.DataFrame with share_then and share_now, by name
    transitions : pandas.DataFrame of numbers of rows, or None
    indices : pandas.DataFrame, by name of the column or test
        Columns psi (population stability index) and status ("stable", "watch" or "moved").
    limits : pair of float
    title : str

    Returns
    -------
    array of two matplotlib Axes
    """
    bars = indices.sort_values("psi", ascending=False, kind="stable").head(_N_BARS)
    n_lines = max(len(bars), 1.4 * len(segments), 8)
    with drawn_with(STYLE):
        size = (_WIDTH, 0.9 + _LINE * n_lines)
        figure, axes = plt.subplots(1, 2, figsize=size, dpi=_DPI, layout="constrained")
        if transitions is None:
            _draw_sizes(axes[0], segments)
        else:
            _draw_flows(axes[0], transitions)
        _draw_indices(axes[1], bars, limits)
        figure.suptitle("\n".join(wrap(title, 9, _WIDTH - 0.4)), x=0.01, ha="left", fontsize=9)
        make_drawable(figure, [*segments.index, *bars.index])
    return axes


def _draw_sizes(ax, segments):
    """Draw two bars per cluster: its share then (pale) and now."""
    for i, (name, line) in enumerate(segments.iterrows()):
        for place, share, alpha in (
            (i - 0.2, line["share_then"], 0.45),
            (i + 0.2, line["share_now"], 1),
        ):
            ax.barh(place, 100 * share, 0.36, color=_color(i, name), alpha=alpha)
    ax.set_yticks(range(len(segments)), [brief(str(name), 24) for name in segments.index])
    ax.invert_yaxis()
    ax.set_axisbelow(True)
    ax.set_xlabel("% of the rows: then (pale) and now")


def _draw_flows(ax, transitions):
    """Draw one part per cluster in a bar on each side, and a band per pair of clusters."""
    counts = transitions.to_numpy()
    total = max(1, counts.sum())
    starts = []
    for side, names in enumerate((transitions.index, transitions.columns)):
        heights = counts.sum(axis=1 - side) / total
        starts.append(np.append(0, np.cumsum(heights + _GAP))[:-1])
        for i, (name, height, low) in enumerate(zip(names, heights, starts[side], strict=True)):
            if height:
                ax.bar(side, height, _BAR, bottom=low, color=_color(i, name))
                place, align = (-_BAR, "right") if side == 0 else (1 + _BAR, "left")
                text = f"{brief(str(name), 20)} {100 * height:.0f} %"
                ax.text(place, low + height / 2, text, ha=align, va="center", fontsize=7)
    left, right = (start.copy() for start in starts)
    for i, j in np.argwhere(counts):
        height = counts[i, j] / total
        a, b, x, y = left[i], right[j], _BAR / 2, 1 - _BAR / 2
        points = [(x, a), (0.5, a), (0.5, b), (y, b)]
        back = [(y, b + height), (0.5, b + height), (0.5, a + height), (x, a + height)]
        codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
        color = _color(i, transitions.index[i])
        ax.add_patch(PathPatch(Path(points + back, codes), color=color, alpha=0.35, linewidth=0))
        left[i] += height
        right[j] += height
    ax.set(xlim=(-0.75, 1.75), xticks=[0, 1], xticklabels=["then", "now"], yticks=[])
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)


def _color(i, name):
    """Return the colour of a cluster; rows without one, left and new rows are grey."""
    return "0.6" if name in ("no segment", "(new)", "(left)") else cluster_color(i)


def _draw_indices(ax, bars, limits):
    colors = [_COLORS[status] for status in bars["status"]]
    ax.barh(range(len(bars)), bars["psi"], 0.7, color=colors)
    ax.set_yticks(range(len(bars)), [brief(str(name), 34) for name in bars.index])
    ax.invert_yaxis()
    ax.set_axisbelow(True)
    for limit in limits:
        ax.axvline(limit, color="0.3", linestyle="--", linewidth=0.8)
    ax.set_xlabel("population stability index")
