"""Spread: how refits of a model agree with it, what they cost and what they test."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from ..columns import brief
from .colors import cluster_color
from .curves import STYLE

_SIZE, _DPI = (10.0, 3.2), 100
_N_FEATURES = 12
_NAMES = {"resample": "resamples", "seed": "seeds"}
_MARKERS = {"resample": "o", "seed": "D"}


def plot_stability(table, features, title=None):
    """Three panels: agreement with the model, cost against size, the features most used.

    Parameters
    ----------
    table : DataFrame with the columns kind, ARI, cost_increase, parameters; a row a refit
    features : DataFrame with the columns resamples, seeds, rows; a row a feature
    title : str, optional

    Returns
    -------
    array of three matplotlib Axes
    """
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=_SIZE, dpi=_DPI, layout="constrained")
        for i, (kind, part) in enumerate(table.groupby("kind", sort=False)):
            look = {"color": cluster_color(i), "marker": _MARKERS[kind], "alpha": 0.7}
            _stripe(axes[0], i, part["ARI"].to_numpy(), look)
            axes[1].plot(
                part["parameters"],
                part["cost_increase"],
                linestyle="none",
                markersize=4,
                label=_NAMES[kind],
                **look,
            )
        kinds = table["kind"].unique()
        axes[0].set_xticks(range(len(kinds)), [_NAMES[kind] for kind in kinds])
        axes[0].set_xlim(-0.5, len(kinds) - 0.5)
        axes[0].set_ylim(min(0.0, table["ARI"].min()), 1.02)
        axes[0].set_ylabel("agreement with the model (ARI)")
        axes[1].set_xlabel("parameters (weights, thresholds, leaves)")
        axes[1].set_ylabel("cost over the free clustering, %")
        axes[1].legend(frameon=False)
        _bars(axes[2], features.head(_N_FEATURES))
        figure.suptitle(title or "", x=0.01, ha="left")
    return axes


def _stripe(ax, place, values, look):
    """Values of one kind side by side, in order, and their mean."""
    offsets = np.linspace(-0.2, 0.2, len(values))
    ax.plot(place + offsets, np.sort(values), linestyle="none", markersize=4, **look)
    ax.plot([place - 0.3, place + 0.3], [values.mean()] * 2, color="0.2", linewidth=1)


def _bars(ax, features):
    """Share of the refits that test a feature, and of the rows on whose path it is."""
    places = np.arange(len(features))
    for i, name in enumerate(_NAMES.values()):
        color = cluster_color(i)
        ax.barh(places + 0.4 * i - 0.2, features[name], 0.38, color=color, label=name)
    ax.plot(features["rows"], places, "|", color="0.1", markersize=12, label="share of the rows")
    ax.set_yticks(places, [brief(str(name)) for name in features.index])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, 1.02)
    ax.set_xlabel("share of the refits that test it")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3)
