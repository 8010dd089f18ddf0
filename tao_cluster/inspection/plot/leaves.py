"""What is drawn at a leaf, from top to bottom.

Every part has a height in inches, a method `draw`, and phrases that say how to read it.
"""

from dataclasses import dataclass

import numpy as np

from .boxes import fit
from .colors import cluster_color, text_color
from .glyphs import Glyph

_LINE = 0.125  # inches
_MOST_CLASSES = 3


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
        )
