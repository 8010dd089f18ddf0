"""Pixels: weights over the mean of the rows of a test, means at leaves."""

from dataclasses import dataclass

import numpy as np

from ..boxes import Box
from ..colors import SIGNED
from ..views import number
from .base import LINE, write_threshold

_STRIP = 0.05  # height of the colour scale, inches
_PALE = 0.4  # darkness of the darkest pixel of a mean below weights
_SOLID = (0.55, 0.45)  # opacity of the faintest weight over a mean, and what the largest adds


@dataclass(frozen=True)
class Image:
    """Values of all features as a picture.

    Weights: a diverging scale symmetric about 0, red positive (pushes a row to the right), blue
    negative; a weight of 0 leaves the pale mean of the node's rows below it, or white where no
    rows are known. Each test has a scale of its own, drawn below it. Means at leaves: grey, from
    the least to the largest value of the data.

    Parameters
    ----------
    shape : (height, width)
    width : float, inches, of a square that it fits into
    has_means : bool, whether weights lie over the means of rows
    """

    shape: tuple[int, int]
    width: float = 0.8
    has_means: bool = False

    @classmethod
    def of(cls, shape, has_means=False):
        """A size at which single pixels are seen."""
        return cls(tuple(shape), float(np.clip(max(shape) / 28, 0.8, 1.2)), has_means)

    @property
    def convention(self):
        """What colours say, and what no colour does."""
        none = "no colour: weight 0, pale grey is the mean of the rows that come here"
        return (
            "red pixels push right, blue pixels left",
            none if self.has_means else "white is weight 0",
            "left if the sum of weight * pixel is at most the threshold, else right",
        )

    leaf_convention = ("leaves show the mean of their rows",)

    @property
    def leaf_height(self):
        """In proportion to the width, but not above it."""
        return self.width * min(1.0, self.shape[0] / self.shape[1])

    @property
    def test_height(self):
        """The picture, its colour scale and the threshold."""
        return self.leaf_height + _STRIP + 2 * LINE + 0.08

    def draw_test(self, ax, box, split):
        """Weights of a decision node over the mean of its rows."""
        limit = np.abs(split.shown).max(initial=0) or 1.0
        image = np.zeros(split.tree.n_features)
        image[split.indices] = split.shown
        alpha = np.zeros(split.tree.n_features)
        alpha[split.indices] = _SOLID[0] + _SOLID[1] * np.abs(split.shown) / limit
        place = box.part(height=self.leaf_height)
        opacity = {"alpha": np.reshape(alpha, self.shape)} if split.rows is not None else {}
        framed = self.draw(ax, place, image, SIGNED, -limit, limit, zorder=2.5, **opacity)
        if split.rows is not None:
            low, high = split.rows.limits
            self.draw(ax, place, split.mean, "gray_r", low, low + (high - low) / _PALE)
        framed.frame(ax)
        if len(split.indices):
            self._draw_scale(ax, box.part(self.leaf_height + 0.04, _STRIP), limit)
        write_threshold(ax, box, "sum" if len(split.indices) else "0", split)

    def draw_leaf(self, ax, box, leaf):
        """Mean of the rows in a leaf."""
        return self.draw(ax, box, leaf.mean, "gray_r", *leaf.rows.limits)

    def draw(self, ax, box, values, cmap, low, high, **style):
        """Draw one value a pixel; returns the box that the picture takes."""
        height, width = self.shape
        scale = min(box.width / width, box.height / height)
        width, height = width * scale, height * scale
        place = Box(box.x - width / 2, box.y + height / 2, width, height, box.scale)
        ax.imshow(
            np.reshape(values, self.shape),
            cmap=cmap,
            vmin=low,
            vmax=high,
            extent=(place.left, place.right, place.bottom, place.top),
            interpolation="nearest",
            **{"zorder": 2, **style},
        )
        return place

    def _draw_scale(self, ax, box, limit):
        """The colours of a test in a strip, with the weights at its ends."""
        edges = np.linspace(box.left, box.right, 64)
        heights = [box.bottom, box.top]
        values = np.linspace(-limit, limit, 63)[None]
        ax.pcolormesh(edges, heights, values, cmap=SIGNED, vmin=-limit, vmax=limit, zorder=2)
        line = Box(box.left, box.bottom - 0.02, box.width, LINE - 0.02, box.scale)
        text = number(limit, ".2g")
        room = 0.42 * box.width
        for x, ha, end in (
            (box.left, "left", f"\N{MINUS SIGN}{text}"),
            (box.right, "right", text),
        ):
            line.write(ax, end, 5.6, x=x, ha=ha, room=room, color="0.4", may_cut=False)
        line.write(ax, "0", 5.6, room=0.1 * box.width, color="0.4", may_cut=False)
