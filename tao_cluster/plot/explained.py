"""Pictures of a decision path, of the features of a cluster, and of the stability of a model."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from ..columns.names import brief
from ..export.format import tested_name, typeset, value_text
from ..inspection.palette import NEGATIVE, POSITIVE, cluster_color
from .curves import COST, STYLE, scale_costs

# In inches: width of a figure (_WIDTH), height of a bar (_LINE), height of the title and the axis
# of one test (_AROUND). _DPI is in dots per inch.
_WIDTH, _LINE, _AROUND, _DPI = 6.4, 0.21, 0.62, 100
_LONGEST_TITLE = 100  # characters; the layout would shrink the axes for a longer title
_PALE = "0.87"


def plot_decision_path(tests, title):
    """Draw the tests of one decision path, one below the other.

    A test of several features is drawn as a sum: each bar begins where the bar above it ends, the
    dark bar is the sum, and the dashed line is the threshold. For a test of one feature, the point
    is the value. A test on the levels of a categorical column is written.

    Parameters
    ----------
    tests : sequence of :class:`tao_cluster.explanations.PathTest`
    title : str

    Returns
    -------
    array of matplotlib Axes
        One per test; a single empty one if there are no tests.
    """
    heights = [_height(test) for test in tests] or [_AROUND]
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(heights),
            figsize=(_WIDTH, sum(heights) + 0.3),
            height_ratios=heights,
            dpi=_DPI,
            layout="constrained",
            squeeze=False,
        )
        axes = axes[:, 0]
        for ax, test in zip(axes, tests, strict=False):
            if test.fact is not None:
                _write_outcome(ax, test)
                ax.set_axis_off()
            else:
                (_draw_sum if test.bound is None else _draw_value)(ax, test)
        if not tests:
            axes[0].set_axis_off()
        figure.suptitle(
            brief(title, _LONGEST_TITLE), x=0.01, ha="left", fontweight="bold", parse_math=False
        )
    return axes


def _height(test):
    """Return the height of the axes of a test, with its title, in inches."""
    if test.fact is not None:
        return 1.2 * _LINE
    return (len(test.steps) + (test.bound is None)) * _LINE + _AROUND


def _draw_sum(ax, test):
    """Draw the products as bars that add up, the sum and the threshold."""
    steps = test.steps
    for line, (*_, product, start) in enumerate(steps):
        color, end = POSITIVE if product > 0 else NEGATIVE, start + product
        ax.barh(line, product, 0.7, left=start, color=color)
        ax.plot([end, end], [line - 0.35, line + 1.35], color="0.6", linewidth=0.6)
    ax.barh(len(steps), test.total, 0.7, color="0.3")
    _name_lines(ax, [*(f"{name} = {number}" for name, number, *_ in steps), "sum"])
    ax.axvline(0.0, color="0.75", linewidth=0.6, zorder=0)
    _draw_limit(ax, test, test.threshold)
    _make_room(ax, [0.0, test.total, test.threshold, *(start for *_, start in steps)])


def _draw_value(ax, test):
    """Draw a test of one feature: the value of the row and the threshold."""
    (term,) = test.contributions
    ax.plot([test.bound.value, term.value], [0, 0], color=_PALE, linewidth=5, zorder=1)
    ax.plot([term.value], [0], "o", color="0.3", markersize=6)
    _name_lines(ax, [tested_name(term.name)])
    if value_text(term.name, term.value):
        ax.xaxis.set_major_formatter(lambda x, _: value_text(term.name, x))
        ax.xaxis.set_major_locator(MaxNLocator(4))
    _draw_limit(ax, test, test.bound.value)
    _make_room(ax, [term.value, test.bound.value])


def _draw_limit(ax, test, value):
    """Draw the threshold, and write the outcome of the test above it."""
    ax.axvline(value, color="black", linewidth=1.2, linestyle="--")
    _write_outcome(ax, test)


def _write_outcome(ax, test):
    text = brief(f"{typeset(test.outcome)}: {test.side}", _LONGEST_TITLE)
    ax.set_title(text, loc="left", fontsize=8, parse_math=False)


def _make_room(ax, values):
    """Set the limits of the x axis a little beyond all values."""
    low, high = min(values), max(values)
    beyond = 0.05 * (high - low) or 0.5 * abs(low) or 1.0
    ax.set_xlim(low - beyond, high + beyond)


def _name_lines(ax, names):
    """Write one name beside each bar, from top to bottom, and hide the horizontal grid lines."""
    ax.set_yticks(range(len(names)), [brief(name) for name in names])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_axisbelow(True)


def plot_cluster_profile(roles, *, ax=None, title=""):
    """Draw the direction and the strength of the features that lead to a cluster.

    The pale bar is the strength in both directions, the coloured bar is the direction.

    Parameters
    ----------
    roles : sequence of :class:`tao_cluster.explanations.FeatureRole`
    ax : matplotlib Axes, default a new figure
    title : str

    Returns
    -------
    matplotlib Axes
    """
    with mpl.rc_context(STYLE):
        if ax is None:
            size = (_WIDTH * 0.8, max(1, len(roles)) * _LINE + 0.8)
            _, ax = plt.subplots(figsize=size, dpi=_DPI, layout="constrained")
        lines = np.arange(len(roles))
        strength = np.array([role.strength for role in roles])
        direction = np.array([role.direction for role in roles])
        ax.barh(lines, 2 * strength, 0.75, left=-strength, color=_PALE)
        colors = [POSITIVE if value > 0 else NEGATIVE for value in direction]
        ax.barh(lines, direction, 0.45, color=colors)
        ax.axvline(0.0, color="0.4", linewidth=0.8)
        _name_lines(ax, [str(role.name) for role in roles])
        ax.set_xlabel("small values lead here  \N{LEFTWARDS ARROW} 0 \N{RIGHTWARDS ARROW}  large")
        ax.set_title(brief(title, _LONGEST_TITLE), loc="left", parse_math=False)
    return ax


_SIZE = (10.0, 3.2)
_N_FEATURES = 12
_NAMES = {"resample": "resamples", "seed": "seeds"}
_MARKERS = {"resample": "o", "seed": "D"}


def plot_stability(table, features, title=None):
    """Draw three panels: agreement with the model, cost against size, most used features.

    Parameters
    ----------
    table : pandas.DataFrame, one row per refit
        Columns kind ("resample" or "seed"), ARI, cost_increase (percent) and parameters (number).
    features : pandas.DataFrame, one row per feature, the most used first
        Columns resamples and seeds: the share of these refits that test the feature. Column rows:
        the share of the rows whose decision path tests it.
    title : str, optional

    Returns
    -------
    array of three matplotlib Axes
    """
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=_SIZE, dpi=_DPI, layout="constrained")
        for i, (kind, part) in enumerate(table.groupby("kind", sort=False)):
            look = {"color": cluster_color(i), "marker": _MARKERS[kind], "alpha": 0.7}
            look |= {"linestyle": "none", "markersize": 4}
            _stripe(axes[0], i, part["ARI"].to_numpy(), look)
            axes[1].plot(part["parameters"], part["cost_increase"], label=_NAMES[kind], **look)
        kinds = table["kind"].unique()
        axes[0].set_xticks(range(len(kinds)), [_NAMES[kind] for kind in kinds])
        axes[0].set_xlim(-0.5, len(kinds) - 0.5)
        axes[0].set_ylim(min(0.0, table["ARI"].min()), 1.02)
        axes[0].set_ylabel("agreement with the model (ARI)")
        axes[1].set_xlabel("number of parameters")
        axes[1].xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[1].set_ylabel(COST)
        scale_costs(axes[1])
        axes[1].legend(frameon=False)
        _bars(axes[2], features.head(_N_FEATURES))
        figure.suptitle(title or "", x=0.01, ha="left")
    return axes


def _stripe(ax, place, values, look):
    """Draw sorted values side by side around x = `place`, and their mean as a horizontal line."""
    offsets = np.linspace(-0.2, 0.2, len(values))
    ax.plot(place + offsets, np.sort(values), **look)
    ax.plot([place - 0.3, place + 0.3], [values.mean()] * 2, color="0.2", linewidth=1)


def _bars(ax, features):
    """Draw the share of the refits that test each feature, and the share of the rows."""
    places = np.arange(len(features))
    for i, name in enumerate(_NAMES.values()):
        color = cluster_color(i)
        ax.barh(places + 0.4 * i - 0.2, features[name], 0.38, color=color, label=name)
    ax.plot(features["rows"], places, "|", color="0.1", markersize=12, label="share of rows")
    ax.set_yticks(places, [brief(str(name)) for name in features.index])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, 1.02)
    ax.set_xlabel("share of refits that test the feature")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3)
