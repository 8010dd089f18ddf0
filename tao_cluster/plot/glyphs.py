"""Node glyphs: small objects that draw what a node tests or holds into a box."""

from dataclasses import dataclass

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch

from ..export.names import weighted_sum

# Diverging, and white at 0 to the last bit: a faint pixel is a weight, not the background.
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#053061", "#2f79b5", "#a7cfe4", "#ffffff", "#f9b99b", "#c8373d", "#67001f"], N=255
)


@dataclass(frozen=True)
class Box:
    """Centre and half-width of the square a glyph fills, in data coordinates."""

    x: float
    y: float
    half: float

    @property
    def extent(self):
        """(left, right, bottom, top)."""
        return (self.x - self.half, self.x + self.half, self.y - self.half, self.y + self.half)


@dataclass(frozen=True)
class Image:
    """Values of all features as a picture.

    Weights: a diverging scale symmetric about 0, white exactly 0, red positive (pushes a row to
    the right), blue negative. Means: grey, from the least to the largest value of the data.

    Parameters
    ----------
    shape : (height, width)
    """

    shape: tuple[int, int]

    def draw_test(self, ax, box, tree, node):
        """Weights of a decision node."""
        indices, weights = tree.split(node)
        image = np.zeros(tree.n_features)
        image[indices] = weights
        limit = np.abs(weights).max(initial=0) or 1.0
        self._draw(ax, box, image, SIGNED, -limit, limit)

    def draw_leaf(self, ax, box, mean, limits):
        """Mean of the rows in a leaf."""
        self._draw(ax, box, mean, "gray_r", *limits)

    def _draw(self, ax, box, image, cmap, low, high):
        height, width = self.shape
        scale = box.half / max(height, width)
        extent = (
            box.x - width * scale,
            box.x + width * scale,
            box.y - height * scale,
            box.y + height * scale,
        )
        ax.imshow(
            image.reshape(self.shape),
            cmap=cmap,
            vmin=low,
            vmax=high,
            extent=extent,
            interpolation="nearest",
            zorder=2,
        )
        _frame(ax, extent, boxstyle="square,pad=0", fill=False, zorder=3)


@dataclass(frozen=True)
class Terms:
    """The largest weights of a test as lines of text; leaves are empty boxes.

    Parameters
    ----------
    feature_names : list of str
    n_terms : int, lines shown
    """

    feature_names: list[str]
    n_terms: int = 4

    def draw_test(self, ax, box, tree, node):
        """The sum and the threshold of a decision node."""
        indices, weights = tree.split(node)
        order = np.argsort(-np.abs(weights), kind="stable")[: self.n_terms]
        lines = [
            weighted_sum(indices[[j]], weights[[j]], self.feature_names, precision=2) for j in order
        ]
        if len(indices) > len(lines):
            lines.append(f"+ {len(indices) - len(lines)} more")
        lines.append(f"$\\leq$ {tree.threshold[node]:.3g}")
        self._box(ax, box, "white")
        ax.text(box.x, box.y, "\n".join(lines), ha="center", va="center", fontsize=6, zorder=4)

    def draw_leaf(self, ax, box, mean, limits):
        """An empty box."""
        del mean, limits
        self._box(ax, box, "0.93")

    def _box(self, ax, box, color):
        style = "round,pad=0,rounding_size=0.06"
        _frame(ax, box.extent, boxstyle=style, facecolor=color, zorder=2)


def _frame(ax, extent, **style):
    """The outline that all glyphs share, around (left, right, bottom, top)."""
    left, right, bottom, top = extent
    size = (right - left, top - bottom)
    patch = FancyBboxPatch((left, bottom), *size, edgecolor="0.35", linewidth=0.8, **style)
    ax.add_patch(patch)
