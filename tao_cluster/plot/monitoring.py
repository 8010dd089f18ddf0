"""Picture of two months: sizes of clusters then and now, and how far distributions have moved."""

import matplotlib.pyplot as plt

from ..columns.names import brief
from ..inspection.palette import cluster_color
from .boxes import wrap
from .style import STYLE, drawn_with, make_drawable

_WIDTH, _LINE, _N_BARS, _DPI = 8.0, 0.24, 12, 100
_COLORS = {"stable": "0.7", "watch": "#E69F00", "moved": "#C1272D"}


def plot_monitor(segments, indices, limits, title):
    """Draw the sizes of the clusters then and now, and the largest population stability indices.

    Parameters
    ----------
    segments : pandas.DataFrame with share_then and share_now, by name
    indices : pandas.DataFrame, by name of the column or test
        Columns psi (population stability index) and status ("stable", "watch" or "moved").
    limits : dict of float, by status
    title : str

    Returns
    -------
    array of two matplotlib Axes
    """
    bars = indices.sort_values("psi", ascending=False, kind="stable").head(_N_BARS)
    with drawn_with(STYLE):
        size = (_WIDTH, 0.9 + _LINE * max(len(bars), 1.4 * len(segments), 6))
        figure, axes = plt.subplots(1, 2, figsize=size, dpi=_DPI, layout="constrained")
        colors = [cluster_color(i, name) for i, name in enumerate(segments.index)]
        for shift, when, alpha in ((-0.2, "then", 0.45), (0.2, "now", 1.0)):
            places = [i + shift for i in range(len(segments))]
            shares = 100 * segments[f"share_{when}"]
            axes[0].barh(places, shares, 0.36, color=colors, alpha=alpha)
        axes[0].set_xlabel("% of the rows: then (pale) and now")
        colors = [_COLORS[status] for status in bars["status"]]
        axes[1].barh(range(len(bars)), bars["psi"], 0.7, color=colors)
        axes[1].set_xlabel("population stability index")
        for limit in limits.values():
            axes[1].axvline(limit, color="0.3", linestyle="--", linewidth=0.8)
        for ax, table in zip(axes, (segments, bars), strict=True):
            ax.set_yticks(range(len(table)), [brief(str(name), 34) for name in table.index])
            ax.invert_yaxis()
            ax.set_axisbelow(True)
        figure.suptitle("\n".join(wrap(title, 9, _WIDTH - 0.4)), x=0.01, ha="left", fontsize=9)
        make_drawable(figure, [*segments.index, *bars.index])
    return axes
