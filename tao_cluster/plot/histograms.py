"""Histograms of the values that a test compares, stacked by cluster, and the glyph that draws them.

They follow the pictures of the package dtreeviz: real units, the clusters of the rows stacked, and
the threshold marked with its value.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.patches import StepPatch

from ..export.format import value_text
from ..inspection.palette import cluster_color
from .boxes import LINE, fit, text_width
from .split_view import condition_lines, number
from .style import ink, shade

_N_LINES, _TEXT_SIZE = 2, 6.3  # of the text below a histogram: lines, size in points
_NARROW = 60  # integers with at most this range get bins of width 1, if there are enough bins
_MOST_LEVELS = 6  # levels that get their own bar
SHADE = "0.9"  # grey on white, behind the rows that go left


class Stacks(NamedTuple):
    """Stacked bars: the weight of the rows of each cluster in each bin.

    Parameters
    ----------
    edges : float array of shape (n_bins + 1,)
    heights : float array of shape (n_present, n_bins)
    clusters : int array of shape (n_present,)
        The clusters that have rows.
    left_range : (float, float)
        The part of the axis whose rows go left.
    ticks : list of (float, str)
        Names of the bars of a test on levels; empty for numbers.
    """

    edges: np.ndarray
    heights: np.ndarray
    clusters: np.ndarray
    left_range: tuple[float, float]
    ticks: list

    def steps(self, unit=1.0):
        """Yield the cluster, the lower and the upper outline of each layer, in steps of `unit`."""
        tops = np.cumsum(self.heights, axis=0) * unit
        for cluster, top, own in zip(self.clusters, tops, self.heights * unit, strict=True):
            yield int(cluster), top - own, top


def stacks_of(split, n_bins=24):
    """Return the stacked bars of the rows of a node.

    The threshold is the edge of two bins, and each row is in a bin on its own side.

    Parameters
    ----------
    split : SplitView, with rows
    n_bins : int
        Approximate number of bins.

    Returns
    -------
    Stacks
    """
    tested = split.tested()
    if split.facts["levels"] is not None:
        return _stacks_of_levels(split, tested)
    edges, n_lower = _edges(tested.values, tested.threshold, n_bins)
    place = np.searchsorted(edges, tested.values, side="right") - 1
    lower, upper = np.minimum(place, n_lower - 1), np.maximum(place, n_lower)
    place = np.clip(np.where(tested.is_lower, lower, upper), 0, len(edges) - 2)
    sides = (edges[0], tested.threshold), (tested.threshold, edges[-1])
    return _stacked(place, edges, tested, sides[0] if tested.is_left_lower else sides[1], [])


def _edges(values, threshold, n_bins):
    """Return the edges of the bins, and the number of bins below the threshold."""
    finite = values[np.isfinite(values)]
    low, high = finite.min(initial=threshold), finite.max(initial=threshold)
    step = (high - low) / n_bins or abs(threshold) or 1.0
    if high - low <= _NARROW and np.all(finite == np.round(finite)) and high > low:
        step = max(1.0, np.ceil(step))
    n_lower = max(1, int(np.ceil((threshold - low) / step - 1e-9)))
    n_upper = max(1, int(np.ceil((high - threshold) / step - 1e-9)))
    return threshold + step * np.arange(-n_lower, n_upper + 1), n_lower


def _stacks_of_levels(split, tested):
    """Return the bars of a test on levels: one per listed level, and one for all others."""
    levels = split.facts["levels"]
    is_here = split.columns(levels["features"]) != 0
    names = [name.level for name in levels["names"]]
    if len(names) > _MOST_LEVELS:
        is_here, names = is_here.any(axis=1)[:, None], [f"{len(names)} levels"]
    is_listed, n = is_here.any(axis=1), len(names)
    place, names = np.where(is_listed, np.argmax(is_here, axis=1), n), [*names, "others"]
    if not levels["is_left"]:  # the rows that go left are drawn at the left
        place, names, n = np.where(is_listed, place + 1, 0), ["others", *names[:-1]], 1
    starts = np.arange(len(names))[:, None] + [0.0, 0.12, 0.88]  # a gap, the bar, another gap
    edges, ticks = np.append(starts, len(names)), [(i + 0.5, name) for i, name in enumerate(names)]
    return _stacked(3 * place + 1, edges, tested, (0.0, float(n)), ticks)


def _stacked(place, edges, tested, left_range, ticks):
    clusters, row_of = np.unique(tested.clusters, return_inverse=True)
    heights = np.zeros((len(clusters), len(edges) - 1))
    np.add.at(heights, (row_of, place), 1.0 if tested.weight is None else tested.weight)
    return Stacks(edges, heights, clusters, left_range, ticks)


@dataclass(frozen=True)
class Projection:
    """Glyph that draws a histogram of the values that a test compares with its threshold.

    These are the values of the feature, or the weighted sum w.x of several features, over the rows
    of the node. Rows are stacked in the colours of their clusters. A line marks the threshold, and
    the side of the rows that go left is grey.

    Parameters
    ----------
    leaves : Glyph
        The glyph that draws the leaves.
    feature_names : list of str
    n_bins : int, default=24
        Approximate number of bins of each histogram.
    test_height : float, default=1.1
        Height of the boxes of tests in inches.
    width : float, default=1.5
        Width of all boxes in inches.
    """

    leaves: Any
    feature_names: list[str]
    n_bins: int = 24
    test_height: float = 1.1
    width: float = 1.5

    convention = (
        "histograms of the tested values, by cluster",
        "the line is the threshold; rows on the grey side go left, others right",
    )

    @property
    def leaf_height(self):
        """Height of a leaf in inches, as the glyph `leaves` defines it."""
        return self.leaves.leaf_height

    @property
    def leaf_convention(self):
        """Phrases for the legend that explain a leaf, as the glyph `leaves` defines them."""
        return self.leaves.leaf_convention

    def draw_test(self, ax, box, split):
        """Draw the histogram, its axis with the threshold, and the features."""
        box.frame(ax, rounded=True, fill="1.0")
        text_height = _N_LINES * 0.8 * LINE
        below = text_height + LINE + 0.06
        plot = box.part(0.05, box.height - 0.05 - below, margin=0.08)
        stacks = stacks_of(split, self.n_bins)
        _draw_stacks(ax, plot, stacks, split.labels)
        axis = box.part(box.height - below + 0.01, LINE, margin=0.04)
        if stacks.ticks:
            _write_levels(ax, plot, axis, stacks)
        else:
            _write_axis(ax, plot, axis, stacks, split)
        if split.written is None:
            lines = split.term_lines(_N_LINES, _TEXT_SIZE, box.width - 0.1)
        else:
            lines = condition_lines(*split.written, box.width - 0.1, _N_LINES)
        text = box.part(box.height - text_height - 0.03, text_height, margin=0.05)
        for line, part in zip(lines, text.lines(len(lines), 0.8 * LINE), strict=True):
            part.write(ax, line, _TEXT_SIZE, color="0.3", may_cut="{" in line)

    def draw_leaf(self, ax, box, leaf):
        """Draw a leaf with the glyph `leaves`."""
        return self.leaves.draw_leaf(ax, box, leaf)


def _draw_stacks(ax, box, stacks, labels):
    """Draw stacked bars into a box, with the grey side and the line of the threshold."""
    low, high = stacks.edges[[0, -1]]
    scale = box.width / (high - low)
    start, end = (box.left + (x - low) * scale for x in stacks.left_range)
    box.bar(ax, start, end - start, box.height, shade(SHADE), zorder=3.2)
    unit = 0.97 * box.height / (stacks.heights.sum(axis=0).max(initial=0) or 1)
    places = box.left + (stacks.edges - low) * scale
    for cluster, base, top in stacks.steps(unit):
        color = cluster_color(cluster, labels[cluster])
        style = {"facecolor": color, "fill": True, "linewidth": 0, "zorder": 4}
        patch = StepPatch(box.bottom + top, places, baseline=box.bottom + base, **style)
        ax.add_artist(patch)
    outline = {"edgecolor": ink("0.35"), "linewidth": 0.5 * box.scale, "zorder": 4.2}
    total = box.bottom + stacks.heights.sum(axis=0) * unit
    ax.add_artist(StepPatch(total, places, baseline=box.bottom, fill=False, **outline))
    bottom = [box.bottom, box.bottom]
    ax.plot([box.left, box.right], bottom, color=ink("0.35"), linewidth=0.6 * box.scale, zorder=4.5)
    at = end if stacks.left_range[0] == low else start
    line = {"color": ink("0.0"), "linewidth": 0.9 * box.scale, "zorder": 5}
    ax.plot([at, at], [box.bottom - 0.03, box.top + 0.02], **line)


def _write_axis(ax, plot, line, stacks, split):
    """Write the threshold below its line, and the ends of the axis where there is space."""
    low, high = stacks.edges[[0, -1]]
    threshold = next(x for x in stacks.left_range if low < x < high)
    at = plot.left + (threshold - low) * plot.width / (high - low)
    text, size = fit(split.limit, 6.3, line.width, may_cut=False, smallest=line.smallest)
    half = text_width(text, size) / 2
    at = float(np.clip(at, line.left + half, line.right - half))
    line.write(ax, text, size, x=at, may_cut=False, color="0.0", fontweight="bold")
    for value, x, side in ((low, plot.left, "left"), (high, plot.right, "right")):
        text = axis_number(split, value, high - low)
        space = abs(at - x) - 1.12 * half - 0.05
        if text_width(text, max(5.6, line.smallest)) <= space:
            line.write(ax, text, 5.6, x=x, ha=side, color="0.4", max_width=space, may_cut=False)


def _write_levels(ax, plot, line, stacks):
    """Write the name of each bar below it."""
    width = plot.width / len(stacks.ticks)
    for x, name in stacks.ticks:
        line.write(ax, name, 5.8, x=plot.left + x * width, color="0.3", max_width=width - 0.04)


def axis_number(split, value, length):
    """Return a number at the axis of a test, rounded to a hundredth of the length of the axis."""
    name = split.terms[0]["name"] if len(split.terms) == 1 else ""
    date = value_text(name, value)
    if date:
        return date
    decimals = max(0, 2 - int(np.floor(np.log10(length)))) if length > 0 else 2
    rounded = round(float(value), decimals)
    return number(rounded + 0.0, ".3g" if abs(rounded) < 1e3 or abs(rounded) >= 1e6 else ".0f")
