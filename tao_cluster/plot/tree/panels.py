"""Side panels: what belongs to the whole tree, drawn beside it."""

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np

from ...tree import labels_of
from ..boxes import Box
from ..colors import cluster_color
from ..curves import STYLE, plot_history
from ..glyphs import Image

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
