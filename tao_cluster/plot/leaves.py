"""Drawing of the parts of a leaf, the box of a hidden subtree, and the panels beside a tree."""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..export.format import count_text, percent_text
from ..inspection.palette import cluster_color
from ..report import cluster_names
from ..tree import labels_of
from .boxes import BARE, FULL, Box, fit, name_lines, text_width
from .curves import plot_history
from .glyphs import Image
from .style import ink, shade

_LINE = 0.125  # height of a line of text, inches
_MOST_CLASSES = 3
_MOST_CLUSTERS = 4  # number of clusters listed in the box of a hidden subtree
_BOLD, _SMALL = 1.12, 6  # width of bold text beside plain text; points of a name of several lines
_CAPTION = 0.2  # inches, height of the caption above a panel
_WIDEST = 1.3  # inches, of the name of a cluster below its centre
_LEGEND = 0.55  # inches, height of the legend below an optimisation history


class LeafPart(NamedTuple):
    """A part of every leaf.

    Parameters
    ----------
    height : float, inches
    draw : callable (ax, box, leaf)
    convention : tuple of str, phrases of the legend that explain the part
    width : float, inches that the part needs
    """

    height: float
    draw: Callable
    convention: tuple[str, ...] = ()
    width: float = 0.0


def leaf_parts(tree, rows, glyph, names, sizes):
    """Return the parts of each leaf from top to bottom; parts without data are left out.

    The `names` are those of the clusters. If one is long, all leaves have space for its lines.
    """
    parts, is_bare = [], sizes.details == BARE
    if rows is not None and glyph.leaf_height > 0 and (not is_bare or isinstance(glyph, Image)):
        parts.append(LeafPart(glyph.leaf_height, partial(_draw_rows, glyph), glyph.leaf_convention))
    if rows is not None and rows.classes is not None and not is_bare and sizes.n_lines:
        present = max(np.count_nonzero(rows.class_shares(leaf)) for leaf in tree.leaves)
        n_shown = min(_MOST_CLASSES, present, sizes.n_lines)
        most = "" if n_shown == present else f"{n_shown} most frequent "
        classes = "most frequent true class" if n_shown == 1 else f"{most}true classes"
        grey = (f"grey bars are shares of the {classes}",)
        parts.append(LeafPart(n_shown * _LINE + 0.07, partial(_draw_classes, n_shown), grey))
    if tree.leaf_value is not None:
        parts.append(LeafPart(0.13, _draw_histogram, ("strips are shares of the clusters",)))
    is_image = isinstance(glyph, Image)
    labels, legend = _labels(tree, rows, names, glyph.width, sizes, is_image or is_bare)
    n_lines = max(len(lines) for lines, _ in labels.values()) - 1
    pad, size, line = (0.15, sizes.smallest, 0.105) if is_bare else (0.3, 7, 0.12)
    # In a tree from left to right, the label is beside the image.
    is_beside = is_image and sizes.is_horizontal and sizes.details != FULL and len(parts) == 1
    inset = pad * size / 72 + (0.04 if parts and not is_beside else 0.0)  # above the text, inches
    height = inset + pad * size / 72 + line * (n_lines + 1) + 0.03 * (sizes.details == FULL)
    widths = [text_width(line, own) for lines, own in labels.values() for line in lines]
    draw = partial(_draw_name, labels, pad, inset)
    width = 0.1 - 0.05 * is_bare + _BOLD * max(widths)
    if is_beside:
        (image,) = parts
        beside = partial(_draw_beside, image.draw, glyph.width, draw, height)
        whole = max(image.height, height)
        return [LeafPart(whole, beside, (*image.convention, *legend), glyph.width + width)]
    return [*parts, LeafPart(height, draw, legend, width)]


def _labels(tree, rows, names, width, sizes, is_short):
    """Return the lines of the label of each leaf with their size, and phrases for the legend.

    Full labels have the name of the cluster and the number of rows. Others have the share of the
    rows, in the line of the name if it fits: "cluster 5 · 10 %", or "5 · 10 %" if they `is_short`.
    Those of the last form have only the name.
    """
    size, smallest = 7 if sizes.details != BARE else sizes.smallest, sizes.smallest
    width, leaves, legend = (width - 0.1) / _BOLD, tree.leaves.tolist(), []
    own = {leaf: names[tree.leaf_label[leaf]] for leaf in leaves}
    if sizes.details == FULL:
        counts = {leaf: [] if rows is None else count_lines(rows, leaf) for leaf in leaves}
        return {leaf: _lines(own[leaf], size, width, smallest, counts[leaf]) for leaf in leaves}, ()
    counts, ends = {leaf: [] for leaf in leaves}, dict.fromkeys(leaves, "")
    if rows is not None and (sizes.details != BARE or sizes.n_lines):
        counts = {i: [percent_text(rows.counts[i] / (rows.counts[0] or 1))] for i in leaves}
        ends = {leaf: f" · {text}" for leaf, (text,) in counts.items()}
        legend.append("percentages at leaves are shares of the rows")
    short, joined = {i: short_name(own[i]) for i in leaves}, {i: own[i] + ends[i] for i in leaves}
    tried, points = (joined, size) if is_short else (own, smallest)
    if max(text_width(line, points) for line in tried.values()) > width and short != own:
        legend.append("numbers at leaves are clusters")
        own, joined = short, {i: short[i] + ends[i] for i in leaves}
    kept = joined if sizes.details == BARE else own  # a number is never cut
    width = max([width, *(text_width(kept[i], smallest) for i in leaves if own[i].isdigit())])
    if all(text_width(line, size) <= width for line in joined.values()):
        own, counts = joined, {leaf: [] for leaf in leaves}
    return {i: _lines(own[i], size, width, smallest, counts[i]) for i in leaves}, tuple(legend)


def _draw_rows(glyph, ax, box, leaf):
    """Let the glyph draw the rows, in a frame of the colour of the cluster."""
    place = glyph.draw_leaf(ax, box, leaf) or box
    place.frame(ax, color=leaf.color, linewidth=1.8)


def _draw_classes(n_shown, ax, box, leaf):
    """Draw a grey bar, a name and a percentage for each of the most frequent true classes."""
    shares = leaf.rows.class_shares(leaf.node)
    largest = np.argsort(-shares, kind="stable")[:n_shown]
    lines = box.part(0.05).lines(n_shown, _LINE)
    for c, line in zip(largest[shares[largest] > 0], lines, strict=False):
        line.bar(ax, box.left, shares[c] * box.width, 0.86 * _LINE, shade("0.86"))
        percent = f"{100 * shares[c]:.0f} %"
        line.write(ax, percent, 5.8, x=box.right - 0.02, ha="right", color="0.0")
        place = {"x": box.left + 0.03, "ha": "left", "max_width": box.width - 0.35}
        line.write(ax, leaf.rows.class_names[c], 6, color="0.0", **place)


def _draw_histogram(ax, box, leaf):
    """Draw the shares of the free clusters in a leaf, its histogram, as one coloured strip."""
    shares = leaf.tree.leaf_value[leaf.node]
    _draw_shares(ax, box, shares / (shares.sum() or 1.0), 0.08)


def _draw_shares(ax, box, shares, height, zorder=2, names=None):
    """Draw the shares of the clusters as one strip in their colours."""
    widths = shares * box.width
    starts = box.left + np.cumsum(widths) - widths
    for label in np.flatnonzero(widths):
        color = cluster_color(label, names and names[label])
        box.bar(ax, starts[label], widths[label], height, color, zorder)


def _draw_name(labels, pad, inset, ax, box, leaf):
    """Write the label of a leaf on the colour of its cluster."""
    lines, size = labels[leaf.node]
    behind = {"facecolor": leaf.color, "edgecolor": "none", "boxstyle": f"round,pad={pad}"}
    style = {"ha": "center", "va": "top", "fontweight": "bold", "linespacing": 1.15}
    style |= {"fontsize": size * box.scale, "color": ink("0.0", on=leaf.color), "bbox": behind}
    ax.text(box.x, box.top - inset, "\n".join(lines), zorder=5, parse_math=False, **style)


def _draw_beside(draw_rows, width, draw_name, height, ax, box, leaf):
    """Draw the rows of a leaf and its label on their right."""
    draw_rows(ax, box.at(box.left, box.top, width, box.height), leaf)
    top = box.top - (box.height - height) / 2
    draw_name(ax, box.at(box.left + width, top, box.width - width, height), leaf)


def _lines(name, size, width, smallest, below):
    """Return the name of a cluster as its lines in a leaf and those below it, and their size."""
    line, size = fit(name, size, width)
    if size <= max(_SMALL, smallest):
        size = max(_SMALL, smallest)
        return [*name_lines(name, size, width, 3), *below], size
    return [line, *below], size


def count_lines(rows, leaf):
    """Return the lines that count the rows of a leaf, such as ["12 rows", "weight 30.5"].

    Parameters
    ----------
    rows : Rows
    leaf : int, its node number in the tree of the rows

    Returns
    -------
    list of str
        The number of rows, and for weighted rows a second line with their weight.
    """
    is_here, weight = rows.leaf_of_row == leaf, None
    if rows.weight is not None:
        is_here, weight = is_here & (rows.weight > 0), float(rows.counts[leaf])
    size = {"rows": np.count_nonzero(is_here), "weight": weight, "counted": "rows"}
    return count_text(size).split(", ")


class Subtree(NamedTuple):
    """Summary of a subtree that is not drawn: its leaves, clusters and rows.

    Parameters
    ----------
    n_leaves : int
    shares : float array of shape (n_clusters,)
        Share of the rows of the subtree in each cluster. If no rows are known or none reaches the
        subtree, it is the share of its leaves.
    names : list of str, names of the clusters
    counted : list of str, lines that count the rows; empty without rows
    """

    n_leaves: int
    shares: np.ndarray
    names: list[str]
    counted: list[str]

    @property
    def height(self):
        """Height of the box in inches: a strip, a line per cluster, and the counts."""
        n_present = np.count_nonzero(self.shares)
        n_lines = min(n_present, _MOST_CLUSTERS) + (n_present > _MOST_CLUSTERS)
        return 0.2 + n_lines * _LINE + 0.23 + 0.15 * max(1, len(self.counted))

    def draw(self, ax, box):
        """Draw the summary into a box."""
        box.frame(ax, rounded=True, fill="1.0", color="0.6")
        strip = box.part(0.05, 0.11, margin=0.06)
        _draw_shares(ax, strip, self.shares, 0.11, 4, self.names)
        present = np.argsort(-self.shares, kind="stable")[: np.count_nonzero(self.shares)]
        line = box.part(0.19, _LINE, margin=0.06)
        for label in present[:_MOST_CLUSTERS]:
            percent = f"{100 * self.shares[label]:.0f} %"
            line.bar(ax, line.left, 0.07, 0.07, cluster_color(label, self.names[label]), zorder=4)
            line.write(ax, percent, 5.8, x=line.right, ha="right", color="0.3")
            max_width = line.width - 0.37
            name = self.names[label]
            # Beside the colour, a short label is enough.
            if text_width(name, line.smallest) > max_width:
                name = short_name(name)
            line.write(ax, name, 6, x=line.left + 0.11, ha="left", max_width=max_width)
            line = line.part(_LINE, _LINE)
        if len(present) > _MOST_CLUSTERS:
            more = f"{len(present) - _MOST_CLUSTERS} more"
            line.write(ax, more, 5.8, x=line.left + 0.1, ha="left", color="0.3")
        top = box.height - 0.19 - 0.15 * max(1, len(self.counted))
        line = box.part(top, 0.16)
        line.write(ax, f"{self.n_leaves} leaves", 7, fontweight="bold")  # never 1 leaf
        for i, text in enumerate(self.counted):
            box.part(top + 0.15 * (i + 1), 0.14).write(ax, text, 6, color="0.3")


def short_name(name):
    """Return the name of a cluster beside its colour: the number alone of "cluster 7"."""
    return re.sub(r"^cluster (?=\d+$)", "", name)


# ---------------------------------------------------------------- panels beside the tree


class Panel(NamedTuple):
    """A drawing beside the tree that concerns the whole tree.

    Parameters
    ----------
    width, height : float, inches
    caption : str
    draw : callable (ax, box)
    """

    width: float
    height: float
    caption: str
    draw: Callable


def make_panels(names, estimator, tree, image_shape):
    """Return the panels with the given names.

    Raises
    ------
    ValueError
        If a name is unknown, or if the data that a panel shows are missing.
    """
    names = [names] if isinstance(names, str) else names
    unknown = [name for name in names if name not in _MAKERS]
    if unknown:
        raise ValueError(f"panels must be among {', '.join(_MAKERS)}; got {unknown[0]!r}.")
    without = [name for name in names if name in ("mask", "centers") and image_shape is None]
    if without:
        raise ValueError(f"The panel {without[0]!r} needs image_shape=(height, width).")
    return [_MAKERS[name](estimator, tree, image_shape) for name in names]


def _mask(estimator, tree, image_shape):
    """Return the panel that shows, in dark grey, the pixels that the tests use."""
    image, used = Image(tuple(image_shape), 1.2), np.zeros(tree.n_features)
    used[tree.used_features] = 0.75

    def draw(ax, box):
        image.draw(ax, box, used, "gray_r", 0.0, 1.0).frame(ax)

    caption = f"{len(tree.used_features)} of {tree.n_features} pixels are used"
    return Panel(image.width, image.leaf_height, caption, draw)


def _centers(estimator, tree, image_shape):
    """Return the panel that shows the free centres as images, with their numbers of rows."""
    image = Image(tuple(image_shape), 0.52)
    centers = getattr(estimator, "free_centers_", None)
    if centers is None:
        raise ValueError("The panel 'centers' needs a fitted estimator with free_centers_.")
    if centers.shape[1] != image_shape[0] * image_shape[1]:
        raise ValueError(
            "The panel 'centers' draws centres as images, but the centres of this model have "
            f"{centers.shape[1]} coordinates and its images {tree.n_features} pixels: the "
            "model clusters an embedding. Leave the panel out."
        )
    labels = labels_of(estimator, "free_labels_")
    counts = np.bincount(labels[labels >= 0], minlength=len(centers))
    n_columns, names = _n_columns(len(centers)), cluster_names(estimator)
    notes = [(short_name(name), f": {n}") for name, n in zip(names, counts, strict=False)]
    longest = max(text_width(name + count, 6.5) for name, count in notes)
    width, high = max(image.width, min(longest, _WIDEST)), image.leaf_height + 0.24
    wide = width + 0.1

    def draw(ax, box):
        limits = float(centers.min()), float(centers.max())
        for label, (center, (name, count)) in enumerate(zip(centers, notes, strict=True)):
            line, column = divmod(label, n_columns)
            left, top = box.left + column * wide + 0.05, box.top - line * high
            corner = left + (width - image.width) / 2, top
            place = box.at(*corner, image.width, image.leaf_height)
            place = image.draw(ax, place, center, "gray_r", *limits)
            place.frame(ax, color=cluster_color(label), linewidth=1.5)
            note = box.at(left, top - image.leaf_height - 0.01, width, 0.15)
            note.write(ax, name, 6.5, kept=count)

    n_lines = -(-len(centers) // n_columns)
    return Panel(n_columns * wide, n_lines * high, "free clustering: centres and rows", draw)


def _history(estimator, tree, image_shape):
    """Return the panel that shows the cost increase of the trees that the fit evaluated."""
    if not hasattr(estimator, "history_"):
        raise ValueError(
            "The panel 'history' needs a fitted TAOClustering; "
            f"{type(estimator).__name__} has no history_."
        )

    def draw(ax, box):
        left, below = 0.42, 0.36 + _LEGEND  # inches, for the axis labels and the legend
        place = (box.left + left, box.bottom + below, box.width - left, box.height - below)
        inset = ax.inset_axes(place, transform=ax.transData)
        plot_history(estimator, ax=inset, font_size=max(6.5, box.smallest) * box.scale)
        inset.set_ylabel("cost increase, %")

    return Panel(2.8, 1.75 + _LEGEND, "optimisation history", draw)


_MAKERS = {"mask": _mask, "centers": _centers, "history": _history}


def _n_columns(n):
    """Return the number of columns of a grid of n cells, higher than wide, with few empty cells."""
    around = range(int(np.ceil(np.sqrt(n / 2.5))), int(np.ceil(np.sqrt(n))) + 1)
    return min(around, key=lambda columns: -n % columns)


def panel_boxes(panels, occupied):
    """Return the boxes of the panels, one below the other, right of the tree.

    Parameters
    ----------
    panels : list of Panel
    occupied : list of (top, right)
        Where each level of the tree begins, and its right end; see `Layout.occupied`.

    Returns
    -------
    list of Box
    """
    if not panels:
        return []
    height = sum(panel.height + 2 * _CAPTION for panel in panels)
    left = max(right for top, right in occupied if top > -height) + 0.3
    boxes, top = [], 0.0
    for panel in panels:
        boxes.append(Box(left, top - _CAPTION, panel.width, panel.height))
        top -= panel.height + 2 * _CAPTION
    return boxes


def draw_panel(ax, panel, box):
    """Draw a panel and its caption."""
    panel.draw(ax, box)
    caption = box.at(box.left, box.top + _CAPTION, box.width, _CAPTION)
    caption.write(ax, panel.caption, 7.5, color="0.25", max_width=10.0, x=box.left, ha="left")
