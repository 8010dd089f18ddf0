"""Where everything of a picture of a tree goes, and how it is drawn."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ...inspection.rows import Rows
from ..boxes import Box, text_width, wrap
from ..glyphs import Glyph
from ..views import LeafView, SplitView
from .layout import Places
from .leaves import leaf_parts
from .panels import draw_panel, panel_boxes

_DPI = 150
_MOST_PIXELS = 60_000  # a side; the renderer stops at 2 ** 16
_SPACE = 0.14  # between boxes, inches
_HEADER = 0.17  # line above a node
_MARGIN = 0.12
_TITLE_LINE, _TITLE_SIZE = 0.155, 8
_LEAST_WIDTH = 5.2  # inches, for the title
_SIGN = 0.12  # height of what an edge says
_MARKED = "0.0"  # the way of one row: no colour of a cluster, or of a side


@dataclass(frozen=True, eq=False)
class Picture:
    """A tree with what is drawn at its nodes, and where: inches, the top of the tree at 0.

    Parameters
    ----------
    tree : Tree, as far as it is drawn
    rows : Rows, or None
    glyph : Glyph
    panels : list of panels
    title : str, or None
    terms : list of the terms of each node
    labels : list of str, names of the clusters
    tolerances : list of float or None, by node, how far a shown threshold may be from it
    subtrees : dict of Subtree, by node that stands for others
    way : dict of float, the sums of a highlighted row by node; None where it ends
    is_horizontal : bool
    """

    tree: Any
    rows: Rows | None
    glyph: Glyph
    panels: list
    title: str | None
    terms: list
    labels: list
    tolerances: list
    subtrees: dict
    way: dict
    is_horizontal: bool

    def draw(self, ax):
        """Draw everything, into a new figure if there are no axes."""
        size, lines = self._size
        if ax is None:
            ax = _new_axes(size, len(lines))
        scale = min(1.0, *(_inches(ax) / size))
        for node in self.tree.decision_nodes:
            self._draw_edges(ax, node, scale)
        for node in range(self.tree.n_nodes):
            self._draw_node(ax, node, scale)
        for panel, box in zip(self.panels, self._panel_boxes(scale), strict=True):
            draw_panel(ax, panel, box)
        middle = self._width / 2
        ax.set_xlim(middle - size[0] / 2, middle + size[0] / 2)
        ax.set_ylim(_MARGIN - size[1] + self._top, _MARGIN + self._top)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title("\n".join(lines), fontsize=_TITLE_SIZE * scale, parse_math=False)
        return ax

    # ------------------------------------------------------------------ geometry

    @cached_property
    def _parts(self):
        return leaf_parts(self.tree, self.rows, self.glyph)

    @cached_property
    def _places(self):
        tree = self.tree
        is_leaf = tree.children_left < 0
        header = np.where(is_leaf & (self.rows is None) & (not self.way), 0.0, _HEADER)
        leaf_height = sum(part.height for part in self._parts)
        heights = header + np.where(is_leaf, leaf_height, self.glyph.test_height)
        for node, subtree in self.subtrees.items():
            heights[node] = header[node] + subtree.height
        return Places(tree, self.glyph.width, heights, _SPACE, self.is_horizontal)

    @cached_property
    def _top(self):
        """How far the boxes reach above 0."""
        return max(0.0, self._places.corners[:, 1].max())

    @cached_property
    def _width(self):
        boxes = self._panel_boxes()
        right = max([box.left + max(box.width, 1.9) + 0.06 for box in boxes], default=0.0)
        return max(right, self._places.right)

    @cached_property
    def _size(self):
        """Inches of the drawing, and the lines of its title."""
        lowest = min([box.bottom for box in self._panel_boxes()], default=0.0)
        height = self._top - min(lowest, self._places.bottom) + 2 * _MARGIN
        width = max(_LEAST_WIDTH, self._width + 2 * _MARGIN)
        return np.array([width, height]), self._title_lines(width)

    def _panel_boxes(self, scale=1.0):
        if not self.panels:
            return []
        return panel_boxes(self.panels, self._places.occupied, scale)

    def _title_lines(self, width):
        """The title, and how to read the picture, in lines that fit."""
        phrases = list(self.glyph.convention) if self.tree.n_leaves > 1 else []
        if self.is_horizontal:  # the left child is the upper one
            turned = {"left": "up", "right": "down"}
            phrases = [re.sub(r"\b(left|right)\b", lambda m: turned[m[0]], p) for p in phrases]
        phrases += [phrase for part in self._parts for phrase in part.convention]
        if self.way:
            phrases.append("black: the way of one row, with its sums")
        room = width - 2 * _MARGIN
        lines = wrap(self.title, _TITLE_SIZE, room) if self.title else []
        for i, phrase in enumerate(phrases):
            longer = f"{lines[-1]}; {phrase}" if i else phrase
            if i and text_width(longer, _TITLE_SIZE) < room:
                lines[-1] = longer
            else:
                lines += wrap(phrase, _TITLE_SIZE, room)
        return lines

    # ------------------------------------------------------------------ drawing

    def _draw_node(self, ax, node, scale):
        left, top = self._places.corners[node]
        is_test = self.tree.children_left[node] >= 0
        height = self._places.heights[node]
        if is_test or self.rows is not None or self.way:
            self._write_header(ax, node, Box(left, top, self.glyph.width, _HEADER, scale))
            top, height = top - _HEADER, height - _HEADER
        box = Box(left, top, self.glyph.width, height, scale)
        if is_test:
            self.glyph.draw_test(ax, box, self._split(node))
        elif node in self.subtrees:
            self.subtrees[node].draw(ax, box)
        else:
            leaf = LeafView(self.tree, node, self.rows, self.labels[self.tree.leaf_label[node]])
            for part in self._parts:
                part.draw(ax, Box(left, top, self.glyph.width, part.height, scale), leaf)
                top -= part.height
        if node in self.way:
            around = Box(left - 0.04, box.top + 0.02, box.width + 0.08, height + 0.05, scale)
            around.frame(ax, rounded=True, color=_MARKED, linewidth=1.6, zorder=2.8)

    def _split(self, node):
        return SplitView(self.tree, node, self.rows, self.terms[node], self.tolerances[node])

    def _write_header(self, ax, node, box):
        """The line above a node: the sum of the highlighted row, features, or share of rows."""
        if self.way.get(node) is not None:
            text = self._split(node).value_text(self.way[node])
            box.write(ax, text, 7, color=_MARKED, fontweight="bold", may_cut=False)
        elif node in self.way:
            box.write(ax, "the row", 7, color=_MARKED, fontweight="bold")
        elif self.tree.children_left[node] >= 0:
            n_used = len(self.terms[node])
            box.write(ax, f"{n_used} feature{'s' if n_used != 1 else ''}", 7, color="0.3")
        elif self.rows is not None:
            box.write(ax, f"{100 * self._share(node):.1f} %", 7, color="0.3")

    def _share(self, node):
        """Share of the rows that reach a node."""
        return self.rows.counts[node] / max(1, self.rows.counts[0])

    def _draw_edges(self, ax, node, scale):
        """Curves to both children, side by side where they start, and what they say."""
        children = (self.tree.children_left[node], self.tree.children_right[node])
        for child, side, sign in zip(children, (-1, 1), self._split(node).signs, strict=True):
            width = 0.6 + 8 * (0.2 if self.rows is None else self._share(child))
            points = self._places.edge(node, child, side * width / 72 / 2)
            self._draw_curve(ax, points, width * scale, "0.72", 1)
            if child in self.way:
                self._draw_curve(ax, points, 2.2 * scale, _MARKED, 1.5)
            (x, y), height = self._places.middle_of(points), _SIGN
            box = Box(x - height, y + height / 2, 2 * height, height, scale)
            behind = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.05"}
            box.write(ax, sign, 7.5, color="0.15", may_cut=False, bbox=behind)

    def _draw_curve(self, ax, points, width, color, zorder):
        codes = [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3]
        style = {"edgecolor": color, "facecolor": "none", "capstyle": "butt", "zorder": zorder}
        ax.add_artist(PathPatch(Path(points, codes), linewidth=width, **style))


def _new_axes(size, n_lines):
    """Axes of exactly that size below so many lines of title."""
    above = n_lines * _TITLE_LINE + 0.14
    width, height = size[0], size[1] + above
    dpi = min(_DPI, _MOST_PIXELS / max(width, height))
    figure = plt.figure(figsize=(width, height), dpi=dpi)
    return figure.add_axes((0, 0, 1, size[1] / height))


def _inches(ax):
    """Width and height of axes."""
    box = ax.get_position()
    return np.array([box.width, box.height]) * ax.get_figure(root=True).get_size_inches()
