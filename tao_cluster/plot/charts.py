"""What all charts share: size, ticks, limits, names beside lines; and charts of several panels."""

from contextlib import contextmanager
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from matplotlib.transforms import ScaledTranslation

from ..columns.names import printable
from ..inspection.palette import cluster_color
from .boxes import name_lines, wrap
from .style import TEXT, Target, drawable, drawn_with, font_size, ink, make_drawable

# In inches for text of at most 10 points: width and height per panel of the smallest figure, and
# width of the narrowest one with panels side by side.
_LEAST, _WIDE = (2.5, 1.2), 5.0
_PAD, _GAP = 8, 2.5  # points: from data to the edge of the axes, from a name to lines and markers
_MOST_ROOM = 0.45  # of the width of the axes for names at the ends of lines
# An axis of costs is logarithmic if the ratio of the largest to the smallest value exceeds _FAR.
_FAR = 20
# Ticks of logarithmic axes: the first ones that fit. The densest are for less than a decade.
_SUBS = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
_PAIR = ("#0072B2", "#D55E00")
_OTHER = "0.55"
_N_BARS = 12


def plot_n_clusters(table, chosen, limits, title=None, **options):
    """Draw the evidence for each number of clusters, and its costs.

    Parameters
    ----------
    table : pandas.DataFrame, `table` of :class:`tao_cluster.n_clusters.NClusters`
    chosen : int, the suggested number, which is marked if it is in the table
    limits : dict of str to float, least values of the columns gaps and stability
    title : str, optional
    **options : of :func:`chart`

    Returns
    -------
    array of two matplotlib Axes
    """
    lines = {"gaps": "gaps", "stability": "found again", "silhouette": "silhouette"}
    costs = {"cost_increase": "fitted rows", "cost_increase_new": "new rows"}
    has_trees = "cost_increase" in table
    with chart("ab", "a\nb", heights=(3.2, 5.0), **options) as (axes, _):
        names = [lines, costs if has_trees else {"free_cost": "_"}]
        for ax, part in zip(axes, names, strict=True):
            for (column, name), color in zip(part.items(), (*_PAIR, _OTHER), strict=False):
                look = {"color": ink(color), "label": name}
                ax.plot(table.index, table[column], "--" if color == _OTHER else "o-", **look)
                if column in limits:
                    ax.hlines(limits[column], *table.index[[0, -1]], ink(color), ":", linewidth=1)
            if chosen in table.index:
                ax.axvline(chosen, color=ink("0.4"), linestyle=":")
            ax.set_xlabel("number of clusters")
        axes[0].set_ylabel("share of divisions, or index")
        axes[1].set_ylabel("cost of the tree, % above no tree" if has_trees else "cost per row")
        for ax in axes:
            ax.update_datalim([(table.index[0], 0.0)])
        axes[0].update_datalim([(table.index[0], 1.0)])
        write_head(axes[0].figure, f"suggestion: {chosen} clusters" if title is None else title)
        finish(*axes, whole=True)
        for ax in axes:
            label_lines(ax, ax.get_legend_handles_labels()[0])
            first, last = table.index[[0, -1]]
            ax.set_xticks([tick for tick in ax.get_xticks() if first <= tick <= last])
            ax.spines.bottom.set_bounds(ax.get_xlim()[0], last)
    return np.array(axes)


def plot_stability(table, features, title=None, **options):
    """Draw three panels: agreement with the model, cost against size, most used features.

    Parameters
    ----------
    table : pandas.DataFrame, one row per refit
        Columns kind ("resample" or "seed"), ARI, cost_increase (percent) and parameters (number).
    features : pandas.DataFrame, one row per feature, the most used first
        Columns resamples and seeds: the share of these refits that test the feature. Column rows:
        the share of the rows whose decision path tests it.
    title : str, optional
    **options : of :func:`chart`

    Returns
    -------
    matplotlib Figure with three axes
    """
    kinds = {"resample": "resamples", "seed": "seeds"}
    shown = features.head(_N_BARS)
    height = 0.9 + 0.32 * max(len(shown), 4)
    layout = {"heights": (max(height, 3.8), 3.9 + height), "ratios": (1, 1.7)}
    with chart("ac\nbc", "a\nb\nc", **layout, **options) as ((agreement, cost, usage), _):
        for i, (kind, part) in enumerate(table.groupby("kind", sort=False)):
            look = {"color": ink(_PAIR[i]), "marker": "oD"[i], "alpha": 0.7, "ls": "none"}
            values = np.sort(part["ARI"])
            agreement.plot(values, i + np.linspace(0.25, -0.25, len(values)), **look)
            agreement.plot([values.mean()] * 2, [i - 0.35, i + 0.35], color=ink("0.2"))
            cost.plot(part["parameters"], part["cost_increase"], **look)
            bars = {"color": ink(_PAIR[i]), "label": kinds[kind]}
            usage.barh(np.arange(len(shown)) + 0.4 * i - 0.2, shown[kinds[kind]], 0.38, **bars)
        agreement.set_xlabel("agreement with the model (ARI)")
        low = table["ARI"].min()
        low = min(np.floor(10 * low) / 10, 0.9) if low > 0.5 else 0
        agreement.update_datalim([(low, -0.4), (1, 1.4)])
        _name_bars(agreement, table["kind"].map(kinds).unique())
        cost.set(xlabel="number of parameters", ylabel="cost above the free clustering, %")
        usage.plot(shown["rows"], np.arange(len(shown)), "|", color=ink("0.1"), ms=10, label="rows")
        usage.set_xlabel("share that tests the column")
        _name_bars(usage, shown.index)
        usage.update_datalim([(0, 0), (1, 0)])
        write_head(cost.figure, title)
        finish(agreement, usage)
        finish(cost, whole=True, costs=True)
        legend_below(usage, [*usage.containers, usage.lines[-1]])
    return cost.figure


def plot_monitor(segments, columns, limit, title, **options):
    """Draw the sizes of the clusters then and now, and the columns that differ most.

    Parameters
    ----------
    segments : pandas.DataFrame with share_then, share_now, rows_now and new_rows, by name
    columns : pandas.DataFrame, by name
        Columns psi (population stability index) and status ("stable" or "moved").
    limit : float, the least index of a column that has moved
    title : str
    **options : of :func:`chart`

    Returns
    -------
    array of two matplotlib Axes
    """
    bars = columns.sort_values("psi", ascending=False, kind="stable").head(_N_BARS)
    heights = [0.8 + 0.32 * n for n in (1.5 * max(len(segments), 3), max(len(bars), 5))]
    layout = {"heights": (0.3 + max(heights), 0.3 + sum(heights)), "ratios": heights}
    with chart("ab", "a\nb", **layout, **options) as (axes, _):
        colors = {"stable": ink("0.55"), "moved": ink("#C1272D")}
        own = [cluster_color(i, name) for i, name in enumerate(segments.index)]
        edges = {"edgecolor": [ink(color) for color in own], "linewidth": 0.8}
        whens = (-0.2, segments["share_then"], "none"), (0.2, segments["share_now"], own)
        for shift, shares, faces in whens:
            places = np.arange(len(segments)) + shift
            axes[0].barh(places, 100 * shares, 0.36, facecolor=faces, **edges)
        new = 100 * (segments["new_rows"] / segments["rows_now"].sum()).to_numpy()
        marks = {"facecolor": "none", "edgecolor": ink("0.1"), "hatch": "////", "linewidth": 0.8}
        here, left = np.flatnonzero(new), 100 * shares.to_numpy() - new
        axes[0].barh(here + 0.2, new[here], 0.36, left[here], **marks)
        axes[0].set_xlabel("% of the rows: then (hollow), now")
        axes[1].barh(range(len(bars)), bars["psi"], 0.7, color=[colors[s] for s in bars["status"]])
        axes[1].set_xlabel("population stability index")
        axes[1].update_datalim([(limit, 0)])
        axes[1].axvline(limit, color=ink("0.3"), linestyle="--")
        _name_bars(axes[0], segments.index)
        _name_bars(axes[1], bars.index)
        write_head(axes[0].figure, title)
        finish(*axes)
        if len(here):
            legend_below(axes[0], [Rectangle((0, 0), 1, 1, label="new groups", **marks)])
        if (bars["status"] == "moved").any():
            legend_below(axes[1], [Rectangle((0, 0), 1, 1, color=colors["moved"], label="moved")])
        make_drawable(axes[0].figure, [*segments.index, *bars.index])
    return np.array(axes)


# ---------------------------------------------------------------------- sizes


@contextmanager
def chart(wide="a", narrow="a", *, heights=(None, None), ratios=None, ax=None, **options):
    """Draw a chart. On a screen, fonts and the width are those of rcParams by default.

    Parameters
    ----------
    wide, narrow : str, mosaics of panels of a wide and of a narrow figure
    heights : pair of float, their heights in inches for text of at most 10 points
    ratios : sequence of float, heights of the rows, or of all of them but the last, optional
    ax : matplotlib Axes, optional
        Given axes of a single panel.
    **options : of :meth:`.style.Target.from_options`

    Yields
    ------
    axes : list of matplotlib Axes
    target : Target
    """
    target = Target.from_options(**options, ax=ax)
    with drawn_with(target.of_chart, ax):
        yield [ax] if ax else _panels(target, wide, narrow, *heights, ratios), target


def _panels(target, wide, narrow, height_wide, height_narrow, ratios):
    """Return the axes of a new figure; see :func:`chart`."""
    width, unit = target.width or plt.rcParams["figure.figsize"][0], max(1.0, font_size() / 10)
    is_wide = width >= _WIDE * unit
    mosaic = wide if is_wide else narrow
    usual = (height_wide if is_wide else height_narrow) or 1.5 + 0.3 * width / unit
    height, n_rows = target.height or usual * unit, mosaic.count("\n") + 1
    least = unit * _LEAST[0], unit * _LEAST[1] * n_rows
    if width < least[0] or height < least[1]:
        raise target.too_small("chart", *least)
    if n_rows == 1:
        ratios = None
    elif ratios is not None and len(ratios) < n_rows:
        ratios = [*ratios, usual - sum(ratios)]
    options = {"figsize": (width, height), "dpi": target.dpi, "layout": "constrained"}
    figure, axes = plt.subplot_mosaic(mosaic, height_ratios=ratios, **options)
    for name in sorted(axes):  # `figure.axes` in the order of the letters
        figure.delaxes(axes[name])
        figure.add_axes(axes[name])
    return [axes[name] for name in sorted(axes)]


def write_head(figure, title):
    """Write the title of a figure in as many lines as it needs."""
    if title:
        text = figure.suptitle(title, x=0.01, ha="left", size=font_size(), parse_math=False)
        _wrap(text, 0.97 * figure.bbox.width)


def _name_bars(ax, names):
    """Write a name beside each bar, from top to bottom."""
    most = 0.45 * ax.figure.get_size_inches()[0] * (ax.bbox.width / ax.figure.bbox.width) ** 0.5
    label_bars(ax, [name_lines(printable(str(name)), font_size(), most) for name in names])


def label_bars(ax, labels):
    """Write the lines of a label beside each bar, from top to bottom, without horizontal grid."""
    texts = [drawable("\n".join(lines)).text for lines in labels]
    ax.set_yticks(range(len(texts)), texts, parse_math=False, linespacing=0.95)
    ax.set_ylim(len(texts) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")


def lay_out(ax):
    """Bring the axes to their place, as far as the figure has a layout."""
    engine = ax.figure.get_layout_engine()
    if engine is not None:
        engine.execute(ax.figure)


def _wrap(text, most):
    """Break the lines of a text (artist) so that none is longer than `most` pixels."""
    joined = " ".join(text.get_text().split())
    lines = wrap(joined, text.get_fontsize(), most / text.get_figure(root=True).dpi)
    text.set_text("\n".join(lines))


def finish(*axes, whole=False, costs=False, log_x=False):
    """Set scales, limits and ticks so that no marker is cut, and break long labels of the axes.

    Parameters
    ----------
    *axes : matplotlib Axes
    whole : bool, default=False
        Whether the x coordinates are integers.
    costs : bool, default=False
        Whether the y axis has costs; see :func:`scale_costs`.
    log_x : bool, default=False
        Whether the x axis may become logarithmic.
    """
    for ax in axes:
        low, high = ax.dataLim.intervalx
        if log_x and high > 8 * max(low, 0.0):
            ax.set_xscale("log")
        elif whole and high - low < 2:
            ax.update_datalim([(low - 1, ax.dataLim.y0), (high + 1, ax.dataLim.y0)])
    if costs:
        scale_costs(*axes)
    lay_out(axes[0])
    for ax in axes:
        _wrap(ax.xaxis.label, max(ax.bbox.width, 0.6 * ax.get_tightbbox().width))
        _wrap(ax.yaxis.label, ax.bbox.height)
    lay_out(axes[0])
    for ax in axes:
        pad(ax)
        for axis, is_whole in ((ax.xaxis, whole), (ax.yaxis, False)):
            if axis.get_scale() == "log":
                log_ticks(axis)
            elif isinstance(axis.get_major_locator(), MaxNLocator):  # of numbers, not of names
                n = int(np.clip(_length(axis) / _room(axis), 2, 6))
                axis.set_major_locator(MaxNLocator(n, integer=is_whole, steps=[1, 2, 5, 10]))
    lay_out(axes[0])


def pad(ax, further=0.0):
    """Set limits of the axes so that markers, larger by `further` points, are inside."""
    pads = (_PAD + further) * ax.figure.dpi / 72
    ax.margins(*pads / np.maximum(ax.bbox.size - 2 * pads, pads))
    ax.autoscale_view()


def scale_costs(*axes):
    """Make the axes of costs logarithmic or linear, by one rule for all pictures of costs.

    They are logarithmic if all costs are positive and the largest is more than 20 times the
    smallest. Otherwise they are linear and include 0. Axes that are passed together are treated
    alike.

    Parameters
    ----------
    *axes : matplotlib Axes, whose lines have the costs as y coordinates
    """
    costs = np.concatenate([line.get_ydata() for ax in axes for line in ax.lines])
    low, high = np.nanmin(costs), np.nanmax(costs)
    for ax in axes:
        if low > 0 and high > _FAR * low:
            ax.set_yscale("log")
            log_ticks(ax.yaxis)
        elif ax.get_yscale() == "linear":  # given axes may have a logarithmic scale
            ax.update_datalim([(ax.dataLim.x0, 0.0)])
            ax.autoscale_view()


def log_ticks(axis):
    """Set ticks of a logarithmic axis, written without exponents, as many as fit."""
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    gaps = [np.diff(np.log10([*subs, 10])).min() * _length(axis) / decades for subs in _SUBS]
    fits = [gap >= _room(axis) for gap in gaps]
    fits[0] &= decades < 1
    axis.set_major_locator(LogLocator(subs=_SUBS[fits.index(True) if any(fits) else -1]))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _length(axis):
    """Return the length of an axis in points."""
    return axis.axes.bbox.size["xy".index(axis.axis_name)] * 72 / axis.figure.dpi


def _room(axis):
    """Return the length that the label of a tick needs, in points."""
    return font_size() * (2.6 if axis.axis_name == "x" else 1.5)


# ---------------------------------------------------------------------- names of lines


def legend_below(ax, handles=None, *, grows=False):
    """Write a legend below the axes, in as many columns as fit; it is not clipped.

    If it `grows`, the figure of single axes becomes higher. Otherwise, the axes become lower.
    """
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not handles:
        return
    lay_out(ax)
    box, inches = ax.get_tightbbox(), ax.figure.dpi_scale_trans
    shift = ScaledTranslation(*(box.min - ax.bbox.min) / ax.figure.dpi, inches)
    place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "borderaxespad": 0.3, "borderpad": 0}
    place |= {"bbox_transform": ax.transAxes + shift, "handlelength": 1.2, "columnspacing": 1}
    place["handletextpad"] = 0.5
    for n_columns in range(min(len(handles), 4), 0, -1):
        # Names are set afterwards, because a legend leaves out those that start with "_".
        legend = ax.legend(handles, map(str, range(len(handles))), ncols=n_columns, **place)
        for text, handle in zip(legend.get_texts(), handles, strict=True):
            text.set_parse_math(False)
            found = drawable(handle.get_label())
            text.set(text=found.text, fontfamily=[*text.get_fontfamily(), *found.families])
        legend_box = legend.get_window_extent()
        if legend_box.width <= box.width:
            break
    if grows and ax.figure.axes == [ax] and ax.figure.get_layout_engine() is not None:
        width, height = ax.figure.get_size_inches()
        ax.figure.set_size_inches(width, height + legend_box.height / ax.figure.dpi)
    lay_out(ax)


def label_lines(ax, lines, *, grows=False):
    """Write the name of each line right of its last point, and those of single points in a legend.

    The x axis is extended so that the names fit. The legend, which is below the axes, also
    has the names of lines for which there is no place. See :func:`legend_below` for `grows`.
    """
    lasts = {line: line.get_xydata()[~np.isnan(line.get_ydata())] for line in lines}
    lasts = {line: points[-1:] for line, points in lasts.items() if len(points) > 1}
    lasts = dict(sorted(lasts.items(), key=lambda item: item[1][0, 1]))
    named = {line: write_text(ax, line.get_label(), line.get_color()) for line in lasts}
    if not _make_room(ax, list(named.values()), list(lasts.values())):
        while named:
            named.popitem()[1].remove()
    has_legend = False
    while True:
        ends = [lasts[line] for line in named]
        left = [list(named)[i] for i in place_texts(ax, list(named.values()), ends, spread=True)]
        for line in left:
            named.pop(line).remove()
        if has_legend and not left:
            break
        legend_below(ax, [line for line in lines if line not in named], grows=grows)
        has_legend = True  # above it, the axes may be lower: names move


def write_text(ax, text, color):
    """Return a text, which :func:`place_texts` moves to its place: matplotlib Annotation.

    It can also be read on a shade.
    """
    style = {"color": ink(color, 1.2 * TEXT), "parse_math": False, "annotation_clip": False}
    found = drawable(text)
    note = ax.annotate(found.text, (0, 0), (0, 0), textcoords="offset points", **style)
    note.set_fontfamily([*note.get_fontfamily(), *found.families])
    return note


def note_above(ax, x, text, side="center"):
    """Write a text above the axes: matplotlib Annotation."""
    style = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "va": "bottom"}
    style |= {"ha": side, "parse_math": False}
    return ax.annotate(text, (x, 1.0), (0, 2), **style)


def _make_room(ax, texts, ends):
    """Extend the x axis for text right of these points; return False if it needs too much."""
    start, length = ax.bbox.x0, ax.bbox.width
    widths = [text.get_window_extent().width + 3.5 * _GAP * ax.figure.dpi / 72 for text in texts]
    places = [ax.transData.transform(end[0])[0] - start for end in ends]
    # On an axis that is longer by a factor, the points are nearer to its start by this factor.
    factors = [x / max(length - width, 1.0) for x, width in zip(places, widths, strict=True)]
    factor = max([1.0, *factors])
    if factor > 1 / (1 - _MOST_ROOM):
        return False
    at = np.array([[start, ax.bbox.y0], [start + factor * length, ax.bbox.y0]])
    ax.set_xlim(ax.transData.inverted().transform(at)[:, 0])
    return True


def place_texts(ax, texts, ends, spread=False):
    """Move each text beside one of its points, where it covers neither lines nor other text.

    Parameters
    ----------
    ax : matplotlib Axes
    texts : list of matplotlib Annotation
    ends : list of arrays of shape (n, 2)
        Points of each text, the best one first.
    spread : bool, default=False
        Whether all of them are right of their points, and higher or lower if necessary.

    Returns
    -------
    list of int, positions of those for which there is no place
    """
    pixels = ax.figure.dpi / 72
    taken, frame, left = _taken(ax), ax.bbox.get_points(), []
    for i, text in enumerate(texts):
        size = text.get_window_extent().size
        for at in ends[i][:: max(1, len(ends[i]) // 6)]:
            corners = _corners(ax.transData.transform(at), size, pixels, spread)
            corner = next((each for each in corners if _is_free(each, size, taken, frame)), None)
            if corner is not None:
                break
        else:
            left.append(i)
            continue
        text.xy = at
        shift = (corner - text.get_window_extent().min) / pixels
        text.set_position(np.array(text.get_position()) + shift)
        grid = corner + list(product(*(np.linspace(0, length, 12) for length in size)))
        taken = np.vstack([taken, np.column_stack([grid, np.full(len(grid), _GAP * pixels)])])
    return left


def write_notes(ax, texts, ends, color="0.3"):
    """Write notes beside their points as far as there is place; see :func:`place_texts`."""
    notes = [write_text(ax, text, color) for text in texts]
    for i in place_texts(ax, notes, ends):
        notes[i].remove()


def _corners(point, size, pixels, spread):
    """Return lower left corners of a text beside a point: right of it, above, below, left."""
    width, height = size
    gap = 3.2 * _GAP * pixels
    shifts = [0, 0.5, -0.5, 1, *([1.5, 2, 2.5] if spread else []), -1, 1.5, -1.5, -2, -2.5]
    shifts = [(shift - 0.5) * height for shift in (shifts if spread else shifts[:-2])]
    right, left = ([(x, shift) for shift in shifts] for x in (gap, -gap - width))
    sides = product((gap, -gap - height), (-0.5, 0.0, -1.0, -0.25, -0.75))
    others = [*((shift * width, side) for side, shift in sides), *left]
    return point + np.array(right if spread else right + others)


def _is_free(corner, size, taken, frame):
    """Whether a text covers nothing and lies inside the axes."""
    if np.any(corner < frame[0]) or np.any(corner + size > frame[1] + 1):
        return False
    gap = np.maximum(corner - taken[:, :2], taken[:, :2] - corner - size).max(axis=1)
    return not np.any(gap < taken[:, 2])


def _taken(ax):
    """Return points along all lines, and their distance from a text: array (n, 3), in pixels."""
    pixels, found = ax.figure.dpi / 72, [np.empty((0, 3))]
    for line in ax.lines:
        points = line.get_transform().transform(line.get_xydata())
        radius = line.get_markersize() / 2 if line.get_marker() not in {"None", "", None} else 0
        if line.get_linestyle() != "None" and len(points) > 1:
            n = np.nan_to_num(np.abs(np.diff(points, axis=0)).max(axis=1) // (3 * pixels)) + 1
            at = [i + np.linspace(0, 1, int(k), endpoint=False) for i, k in enumerate(n)]
            at = np.concatenate([*at, [len(points) - 1]])
            points = np.column_stack([np.interp(at, range(len(points)), p) for p in points.T])
        points = points[~np.isnan(points).any(axis=1)]
        found.append(np.column_stack([points, np.full(len(points), (radius + _GAP) * pixels)]))
    return np.vstack(found)
