"""What is drawn at a leaf, from top to bottom.

Every part has a height in inches, a method `draw`, and phrases that say how to read it.
"""

from dataclasses import dataclass

import numpy as np

from ..boxes import fit, text_width
from ..colors import cluster_color, text_color
from ..glyphs import Glyph

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
