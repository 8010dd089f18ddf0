"""What is drawn at a leaf, from top to bottom, and in the panels beside the tree."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import matplotlib as mpl
import numpy as np

from ..inspection.palette import cluster_color, text_color
from ..tree import labels_of
from .boxes import Box, fit, text_width
from .curves import STYLE, plot_history
from .glyphs import Image

_LINE = 0.125  # inches
_MOST_CLASSES = 3
_MOST_CLUSTERS = 4  # of a box that stands for a subtree
_CAPTION = 0.2  # inches, above a panel


class LeafPart(NamedTuple):
    """A part of every leaf: its height in inches, how it is drawn, and phrases that explain it."""

    height: float
    draw: Callable  # (ax, box, leaf)
    convention: tuple[str, ...] = ()


def leaf_parts(tree, rows, glyph):
    """The parts of every leaf of a tree, from top to bottom: only what is known is shown."""
    parts = []
    if rows is not None:
        parts.append(LeafPart(glyph.leaf_height, partial(_draw_rows, glyph), glyph.leaf_convention))
    if rows is not None and rows.classes is not None:
        present = max(np.count_nonzero(rows.class_shares(leaf)) for leaf in tree.leaves)
        n_shown = min(_MOST_CLASSES, present)
        grey = ("grey bars are shares of the true classes",)
        parts.append(LeafPart(n_shown * _LINE + 0.07, partial(_draw_classes, n_shown), grey))
    if tree.leaf_value is not None:
        parts.append(LeafPart(0.13, _draw_histogram, ("strips are shares of the clusters",)))
    return [*parts, LeafPart(0.26 if rows is None else 0.38, _draw_name)]


def _draw_rows(glyph, ax, box, leaf):
    """What the glyph makes of the rows, framed in the colour of the cluster."""
    place = glyph.draw_leaf(ax, box, leaf) or box
    place.frame(ax, color=leaf.color, linewidth=1.8)


def _draw_classes(n_shown, ax, box, leaf):
    """The most frequent true classes, each a grey bar as long as its share with name and share."""
    shares = leaf.rows.class_shares(leaf.node)
    largest = np.argsort(-shares, kind="stable")[:n_shown]
    lines = box.part(0.05).lines(n_shown, _LINE)
    for c, line in zip(largest[shares[largest] > 0], lines, strict=False):
        line.bar(ax, box.left, shares[c] * box.width, 0.86 * _LINE, "0.86")
        percent = f"{100 * shares[c]:.0f} %"
        line.write(ax, percent, 5.8, x=box.right - 0.02, ha="right", color="0.3")
        room = box.width - 0.35
        line.write(ax, leaf.rows.class_names[c], 6, x=box.left + 0.03, ha="left", room=room)


def _draw_histogram(ax, box, leaf):
    """The leaf's histogram over the clusters."""
    shares = leaf.tree.leaf_value[leaf.node]
    _draw_shares(ax, box, shares / (shares.sum() or 1.0), 0.08)


def _draw_shares(ax, box, shares, height, zorder=2):
    """Shares of the clusters as one strip in their colours."""
    widths = shares * box.width
    starts = box.left + np.cumsum(widths) - widths
    for label in np.flatnonzero(widths):
        box.bar(ax, starts[label], widths[label], height, cluster_color(label), zorder)


def _draw_name(ax, box, leaf):
    """The cluster on its colour, and how many rows."""
    label, size = fit(leaf.name, 7, box.width - 0.1)
    if leaf.rows is not None:
        count = int(leaf.rows.counts[leaf.node])
        label += f"\n{count} row{'s' if count != 1 else ''}"
    behind = {"facecolor": leaf.color, "edgecolor": "none", "boxstyle": "round,pad=0.3"}
    style = {"ha": "center", "va": "center", "fontweight": "bold", "linespacing": 1.15}
    style |= {"fontsize": size * box.scale, "color": text_color(leaf.color), "bbox": behind}
    ax.text(box.x, box.y - 0.02, label, zorder=5, parse_math=False, **style)


class Subtree(NamedTuple):
    """What stands for the nodes below `max_depth`: their leaves, and the clusters among them.

    Parameters
    ----------
    n_leaves : int
    shares : float array of shape (n_clusters,), of the rows, or of the leaves
    names : list of str, of the clusters
    n_rows : float, None if they are not known
    """

    n_leaves: int
    shares: np.ndarray
    names: list[str]
    n_rows: float | None

    @property
    def height(self):
        """A strip, a line a cluster, one for those left out, and the count."""
        n_present = np.count_nonzero(self.shares)
        return 0.2 + (min(n_present, _MOST_CLUSTERS) + (n_present > _MOST_CLUSTERS)) * _LINE + 0.38

    def draw(self, ax, box):
        """Draw into a box."""
        box.frame(ax, rounded=True, fill="0.97", color="0.6")
        _draw_shares(ax, box.part(0.05, 0.11, margin=0.06), self.shares, 0.11, zorder=4)
        present = np.argsort(-self.shares, kind="stable")[: np.count_nonzero(self.shares)]
        line = box.part(0.19, _LINE, margin=0.06)
        for label in present[:_MOST_CLUSTERS]:
            percent = f"{100 * self.shares[label]:.0f} %"
            line.bar(ax, line.left, 0.07, 0.07, cluster_color(label), zorder=4)
            line.write(ax, percent, 5.8, x=line.right, ha="right", color="0.3")
            room = line.width - 0.37
            name = self.names[label]
            if text_width(name, 5.4) > room:  # the colour says that it is a cluster
                name = name.removeprefix("cluster ")
            line.write(ax, name, 6, x=line.left + 0.11, ha="left", room=room)
            line = line.part(_LINE, _LINE)
        if len(present) > _MOST_CLUSTERS:
            more = f"{len(present) - _MOST_CLUSTERS} more"
            line.write(ax, more, 5.8, x=line.left + 0.1, ha="left", color="0.3")
        count = box.part(box.height - 0.34, 0.16)
        count.write(ax, f"{self.n_leaves} leaves", 7, fontweight="bold")  # two at least
        if self.n_rows is not None:
            text = f"{self.n_rows:.10g} row{'s' if self.n_rows != 1 else ''}"
            box.part(box.height - 0.19, 0.14).write(ax, text, 6, color="0.3")


# ---------------------------------------------------------------- panels beside the tree


class Panel(NamedTuple):
    """What belongs to the whole tree, drawn beside it; sizes in inches."""

    width: float
    height: float
    caption: str
    draw: Callable  # (ax, box)


def make_panels(names, estimator, tree, image_shape):
    """Panels by their names; ValueError for an unknown one, or one that lacks what it shows."""
    unknown = [name for name in names if name not in _MAKERS]
    if unknown:
        raise ValueError(f"panels must be among {', '.join(_MAKERS)}; got {unknown[0]!r}.")
    without = [name for name in names if name in ("mask", "centers") and image_shape is None]
    if without:
        raise ValueError(f"The panel {without[0]!r} needs image_shape.")
    return [_MAKERS[name](estimator, tree, image_shape) for name in names]


def _mask(estimator, tree, image_shape):
    """Which pixels some test of the tree uses: dark."""
    image, used = Image(tuple(image_shape), 1.2), np.zeros(tree.n_features)
    used[tree.used_features] = 0.75

    def draw(ax, box):
        image.draw(ax, box, used, "gray_r", 0.0, 1.0).frame(ax)

    caption = f"{len(tree.used_features)} of {tree.n_features} pixels are used"
    return Panel(image.width, image.leaf_height, caption, draw)


def _centers(estimator, tree, image_shape):
    """The centres of the free clustering as images, with the rows of each."""
    image = Image(tuple(image_shape), 0.52)
    centers = getattr(estimator, "free_centers_", None)
    if centers is None:
        raise ValueError("The panel 'centers' needs a fitted estimator, not only its tree.")
    if centers.shape[1] != image_shape[0] * image_shape[1]:
        raise ValueError("The panel 'centers' needs centres in the space of the features.")
    labels = labels_of(estimator, "free_labels_")
    counts = np.bincount(labels[labels >= 0], minlength=len(centers))
    n_columns = _n_columns(len(centers))
    wide, high = image.width + 0.1, image.leaf_height + 0.24

    def draw(ax, box):
        limits = float(centers.min()), float(centers.max())
        for label, center in enumerate(centers):
            line, column = divmod(label, n_columns)
            left, top = box.left + column * wide + 0.05, box.top - line * high
            place = Box(left, top, image.width, image.leaf_height, box.scale)
            place = image.draw(ax, place, center, "gray_r", *limits)
            place.frame(ax, color=cluster_color(label), linewidth=1.5)
            note = Box(left, top - image.leaf_height - 0.01, image.width, 0.15, box.scale)
            note.write(ax, f"{label}: {counts[label]}", 6.5)

    n_lines = -(-len(centers) // n_columns)
    return Panel(n_columns * wide, n_lines * high, "free clustering: centres and rows", draw)


def _history(estimator, tree, image_shape):
    """Cost increase of the trees that the fit looked at, in axes of their own."""
    if not hasattr(estimator, "history_"):
        raise ValueError("The panel 'history' needs a fitted TAOClustering.")

    def draw(ax, box):
        left, below = 0.42, 0.36  # room for the labels
        place = (box.left + left, box.bottom + below, box.width - left, box.height - below)
        with mpl.rc_context(STYLE):
            inset = ax.inset_axes(place, transform=ax.transData)
            plot_history(estimator, ax=inset)
        inset.set_ylabel("cost increase, %")
        texts = [inset.xaxis.label, inset.yaxis.label, *inset.get_legend().get_texts()]
        for text in texts:
            text.set_fontsize(6.5 * box.scale)
        inset.tick_params(labelsize=6.5 * box.scale)
        inset.xaxis.labelpad = inset.yaxis.labelpad = 1

    return Panel(2.4, 1.75, "course of the fit", draw)


_MAKERS = {"mask": _mask, "centers": _centers, "history": _history}


def _n_columns(n):
    """Columns of a grid, higher than wide, with the fewest empty places."""
    around = range(int(np.ceil(np.sqrt(n / 2.5))), int(np.ceil(np.sqrt(n))) + 1)
    return min(around, key=lambda columns: -n % columns)


def panel_boxes(panels, occupied):
    """Boxes of the panels, below each other where the tree leaves room, else beside it.

    Parameters
    ----------
    panels : list of Panel
    occupied : list of (top, right)
        From this height on downwards the tree takes room up to there; see `Places.occupied`.
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
    """A panel below its caption."""
    panel.draw(ax, box)
    caption = Box(box.left, box.top + _CAPTION, box.width, _CAPTION, box.scale)
    caption.write(ax, panel.caption, 7.5, color="0.25", room=10.0, x=box.left, ha="left")
