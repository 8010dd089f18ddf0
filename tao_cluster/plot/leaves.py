"""What is drawn at a leaf, from top to bottom, and in the panels beside the tree."""

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np

from ..inspection.palette import cluster_color, text_color
from ..tree import labels_of
from .boxes import Box, fit, text_width
from .curves import STYLE, plot_history
from .glyphs import Glyph, Image

_LINE = 0.125  # inches
_MOST_CLASSES = 3
_MOST_CLUSTERS = 4  # of a box that stands for a subtree


def leaf_parts(tree, rows, glyph):
    """The parts of every leaf of a tree: only what is known is shown."""
    parts = [Picture(glyph)] if rows is not None else []
    if rows is not None and rows.classes is not None:
        present = max(np.count_nonzero(rows.class_shares(leaf)) for leaf in tree.leaves)
        parts.append(Classes(min(_MOST_CLASSES, present)))
    if tree.leaf_value is not None:
        parts.append(Strip())
    return [*parts, Name(rows is not None)]


@dataclass(frozen=True)
class Picture:
    """What the glyph makes of the rows, framed in the colour of the cluster."""

    glyph: Glyph

    @property
    def height(self):
        """As the glyph has it."""
        return self.glyph.leaf_height

    @property
    def convention(self):
        """As the glyph has it."""
        return self.glyph.leaf_convention

    def draw(self, ax, box, leaf):
        """Draw into a box."""
        place = self.glyph.draw_leaf(ax, box, leaf) or box
        place.frame(ax, color=leaf.color, linewidth=1.8)


@dataclass(frozen=True)
class Classes:
    """The most frequent true classes, each a grey bar as long as its share with name and share."""

    n_shown: int

    convention = ("grey bars are shares of the true classes",)

    @property
    def height(self):
        """All lines."""
        return self.n_shown * _LINE + 0.07

    def draw(self, ax, box, leaf):
        """Draw into a box."""
        shares = leaf.rows.class_shares(leaf.node)
        largest = np.argsort(-shares, kind="stable")[: self.n_shown]
        lines = box.part(0.05).lines(self.n_shown, _LINE)
        for c, line in zip(largest[shares[largest] > 0], lines, strict=False):
            line.bar(ax, box.left, shares[c] * box.width, 0.86 * _LINE, "0.86")
            percent = f"{100 * shares[c]:.0f} %"
            line.write(ax, percent, 5.8, x=box.right - 0.02, ha="right", color="0.3")
            room = box.width - 0.35
            line.write(ax, leaf.rows.class_names[c], 6, x=box.left + 0.03, ha="left", room=room)


@dataclass(frozen=True)
class Strip:
    """The leaf's histogram over the clusters: one strip in their colours."""

    height: float = 0.13

    convention = ("strips are shares of the clusters",)

    def draw(self, ax, box, leaf):
        """Draw into a box."""
        shares = leaf.tree.leaf_value[leaf.node]
        widths = shares / (shares.sum() or 1.0) * box.width
        starts = box.left + np.cumsum(widths) - widths
        for label in np.flatnonzero(widths):
            box.bar(ax, starts[label], widths[label], 0.08, cluster_color(label))


@dataclass(frozen=True)
class Name:
    """The cluster on its colour, and how many rows."""

    has_rows: bool

    convention = ()

    @property
    def height(self):
        """One or two lines."""
        return 0.38 if self.has_rows else 0.26

    def draw(self, ax, box, leaf):
        """Draw into a box."""
        label, size = fit(leaf.name, 7, box.width - 0.1)
        if self.has_rows:
            count = int(leaf.rows.counts[leaf.node])
            label += f"\n{count} row{'s' if count != 1 else ''}"
        ax.text(
            box.x,
            box.y - 0.02,
            label,
            ha="center",
            va="center",
            fontsize=size * box.scale,
            fontweight="bold",
            linespacing=1.15,
            color=text_color(leaf.color),
            bbox={"facecolor": leaf.color, "edgecolor": "none", "boxstyle": "round,pad=0.3"},
            zorder=5,
            parse_math=False,
        )


@dataclass(frozen=True, eq=False)
class Subtree:
    """What stands for the nodes below `max_depth`: their leaves, and the clusters among them.

    Parameters
    ----------
    n_leaves : int
    shares : float array of shape (n_clusters,), of the rows, or of the leaves without rows
    names : list of str, of the clusters
    n_rows : float, None if they are not known
    """

    n_leaves: int
    shares: np.ndarray
    names: list[str]
    n_rows: float | None

    @property
    def _largest(self):
        """The clusters with the largest shares."""
        order = np.argsort(-self.shares, kind="stable")[:_MOST_CLUSTERS]
        return order[self.shares[order] > 0]

    @property
    def height(self):
        """A strip, a line a cluster, one for those left out, and the count."""
        n_present = np.count_nonzero(self.shares)
        return 0.2 + (min(n_present, _MOST_CLUSTERS) + (n_present > _MOST_CLUSTERS)) * _LINE + 0.38

    def draw(self, ax, box):
        """Draw into a box."""
        box.frame(ax, rounded=True, fill="0.97", color="0.6")
        inner = box.part(0.05, 0.11, margin=0.06)
        left = inner.left
        for label in np.flatnonzero(self.shares):
            width = self.shares[label] * inner.width
            inner.bar(ax, left, width, inner.height, cluster_color(label), zorder=4)
            left += width
        line = box.part(0.19, _LINE, margin=0.06)
        for label in self._largest:
            percent = f"{100 * self.shares[label]:.0f} %"
            line.bar(ax, line.left, 0.07, 0.07, cluster_color(label), zorder=4)
            line.write(ax, percent, 5.8, x=line.right, ha="right", color="0.3")
            room = line.width - 0.37
            name = self.names[label]
            if text_width(name, 5.4) > room:  # the colour says that it is a cluster
                name = name.removeprefix("cluster ")
            line.write(ax, name, 6, x=line.left + 0.11, ha="left", room=room)
            line = line.part(_LINE, _LINE)
        hidden = np.count_nonzero(self.shares) - len(self._largest)
        if hidden:
            line.write(ax, f"{hidden} more", 5.8, x=line.left + 0.1, ha="left", color="0.3")
        count = box.part(box.height - 0.34, 0.16)
        count.write(ax, f"{self.n_leaves} leaves", 7, fontweight="bold")  # two at least
        if self.n_rows is not None:
            text = f"{self.n_rows:.10g} row{'s' if self.n_rows != 1 else ''}"
            box.part(box.height - 0.19, 0.14).write(ax, text, 6, color="0.3")


_CAPTION = 0.2  # inches


def make_panels(names, estimator, tree, image_shape):
    """Panel objects: a `width`, a `height`, both in inches, a `caption` and a `draw`.

    Raises
    ------
    ValueError
        If a name is unknown, or what a panel shows is not there.
    """
    unknown = [name for name in names if name not in _MAKERS]
    if unknown:
        raise ValueError(f"panels must be among {', '.join(_MAKERS)}; got {unknown[0]!r}.")
    return [_MAKERS[name](estimator, tree, image_shape) for name in names]


@dataclass(frozen=True, eq=False)
class Mask:
    """Which pixels some test of the tree uses."""

    tree: Any
    image: Image
    width: float = 1.2

    @classmethod
    def of(cls, estimator, tree, image_shape):
        """Needs the shape of the image."""
        return cls(tree, Image(_checked(image_shape, "mask"), cls.width))

    @property
    def height(self):
        """In proportion."""
        return self.image.leaf_height

    @property
    def caption(self):
        """How many."""
        return f"{len(self.tree.used_features)} of {self.tree.n_features} pixels are used"

    def draw(self, ax, box):
        """Used pixels dark."""
        used = np.zeros(self.tree.n_features)
        used[self.tree.used_features] = 0.75
        self.image.draw(ax, box, used, "gray_r", 0.0, 1.0).frame(ax)


@dataclass(frozen=True, eq=False)
class Centers:
    """The centres of the free clustering as images, with the rows of each."""

    centers: np.ndarray
    counts: np.ndarray
    image: Image
    n_columns: int

    @classmethod
    def of(cls, estimator, tree, image_shape):
        """Needs the shape of the image and a fitted estimator."""
        shape = _checked(image_shape, "centers")
        centers = getattr(estimator, "free_centers_", None)
        if centers is None:
            raise ValueError("The panel 'centers' needs a fitted estimator, not only its tree.")
        if centers.shape[1] != shape[0] * shape[1]:
            raise ValueError("The panel 'centers' needs centres in the space of the features.")
        labels = labels_of(estimator, "free_labels_")
        counts = np.bincount(labels[labels >= 0], minlength=len(centers))
        return cls(centers, counts, Image(shape, 0.52), _n_columns(len(centers)))

    caption = "free clustering: centres and rows"

    @property
    def width(self):
        """All columns."""
        return self.n_columns * (self.image.width + 0.1)

    @property
    def height(self):
        """All lines."""
        n_lines = -(-len(self.centers) // self.n_columns)
        return n_lines * (self.image.leaf_height + 0.24)

    def draw(self, ax, box):
        """One image a centre, framed in the colour of its cluster."""
        limits = float(self.centers.min()), float(self.centers.max())
        wide, high = self.image.width, self.image.leaf_height
        for label, center in enumerate(self.centers):
            line, column = divmod(label, self.n_columns)
            left = box.left + column * (wide + 0.1) + 0.05
            top = box.top - line * (high + 0.24)
            place = self.image.draw(
                ax, Box(left, top, wide, high, box.scale), center, "gray_r", *limits
            )
            place.frame(ax, color=cluster_color(label), linewidth=1.5)
            note = Box(left, top - high - 0.01, wide, 0.15, box.scale)
            note.write(ax, f"{label}: {self.counts[label]}", 6.5)


@dataclass(frozen=True, eq=False)
class Course:
    """Cost increase of the trees that the fit looked at."""

    model: Any
    width: float = 2.4
    height: float = 1.75

    caption = "course of the fit"

    @classmethod
    def of(cls, estimator, tree, image_shape):
        """Needs an estimator that keeps a history."""
        if not hasattr(estimator, "history_"):
            raise ValueError("The panel 'history' needs a fitted TAOClustering.")
        return cls(estimator)

    def draw(self, ax, box):
        """Axes of its own, with room for its labels inside the box."""
        left, below = 0.42, 0.36
        place = (box.left + left, box.bottom + below, box.width - left, box.height - below)
        with mpl.rc_context(STYLE):
            inset = ax.inset_axes(place, transform=ax.transData)
            plot_history(self.model, ax=inset)
        inset.set_ylabel("cost increase, %")
        texts = [inset.xaxis.label, inset.yaxis.label, *inset.get_legend().get_texts()]
        for text in texts:
            text.set_fontsize(6.5 * box.scale)
        inset.tick_params(labelsize=6.5 * box.scale)
        inset.xaxis.labelpad = inset.yaxis.labelpad = 1


def _n_columns(n):
    """Columns of a grid, higher than wide, with the fewest empty places."""
    around = range(int(np.ceil(np.sqrt(n / 2.5))), int(np.ceil(np.sqrt(n))) + 1)
    return min(around, key=lambda columns: -n % columns)


def _checked(image_shape, name):
    if image_shape is None:
        raise ValueError(f"The panel {name!r} needs image_shape.")
    return tuple(image_shape)


_MAKERS = {"mask": Mask.of, "centers": Centers.of, "history": Course.of}


def panel_boxes(panels, occupied, scale):
    """Boxes of the panels, below each other where the tree leaves room, else beside it.

    Parameters
    ----------
    panels : list of panels
    occupied : list of (top, right), how far to the right the tree reaches below a height
        Tops are negative and fall.
    scale : float

    Returns
    -------
    list of Box
    """
    height = sum(panel.height + 2 * _CAPTION for panel in panels)
    left = max(right for top, right in occupied if top > -height) + 0.3
    boxes, top = [], 0.0
    for panel in panels:
        boxes.append(Box(left, top - _CAPTION, panel.width, panel.height, scale))
        top -= panel.height + 2 * _CAPTION
    return boxes


def draw_panel(ax, panel, box):
    """A panel below its caption."""
    panel.draw(ax, box)
    caption = Box(box.left, box.top + _CAPTION, box.width, _CAPTION, box.scale)
    caption.write(ax, panel.caption, 7.5, color="0.25", room=10.0, x=box.left, ha="left")
