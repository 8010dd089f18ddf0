"""The picture of a tree: tests at the nodes, what the rows look like at the leaves."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ...core.tree import tree_of
from ..columns import numbers_of, shown
from ..report import cluster_names, gaps_of, spreads_of, terms_at
from ..tolerances import tolerances
from .boxes import Box, text_width, wrap
from .glyphs import Glyph, choose_glyph
from .layout import level_tops, tidy_positions
from .leaves import leaf_parts
from .panels import draw_panel, make_panels, panel_boxes
from .views import LeafView, Rows, SplitView

_STYLE = {"font.size": 8, "font.family": "sans-serif"}
_DPI = 150
_MOST_PIXELS = 60_000  # a side; the renderer stops at 2 ** 16
_SPACE = 0.14  # between boxes, inches
_HEADER = 0.17  # line above a node
_MARGIN = 0.12
_TITLE_LINE, _TITLE_SIZE = 0.155, 8
_LEAST_WIDTH = 5.2  # inches, for the title


def plot_tree(
    tree,
    X=None,
    *,
    y=None,
    nodes="auto",
    image_shape=None,
    feature_names=None,
    class_names=None,
    panels=(),
    scaled=False,
    ax=None,
    title=None,
):
    """Draw a tree.

    A test shows its weights: red features push a row to the right (towards w.x > threshold),
    blue ones to the left, white is exactly 0. Features are chosen and sized by their effect,
    |weight| times spread over the rows of the node (of X, or else of the fit; of a bare tree by
    weight); numbers, and the colours of pixels, are weights. A leaf shows its cluster, and with X
    its rows and their mean; the width of an edge is the share of the rows that take it. A cluster
    has the same colour everywhere.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count and average; needed for everything at the leaves but their clusters.
    y : array-like of shape (n,), optional
        True classes of the rows; a leaf shows the shares of the three most frequent ones.
    nodes : {"auto", "image", "words", "bars", "projection"} or Glyph, default="auto"
        How nodes are drawn. "image": weights as pixels. "words": names of the features of
        largest effect, larger where the effect is. "bars": horizontal bars of the largest
        effects; a test of one feature is written out. "projection": histogram of w.x over the
        node's rows by the side they take. "auto": "image" if `image_shape` is given; else
        "words" if X is sparse or the tree uses more than 30 features; else "bars".
        An object with the attributes and methods of :class:`tao_cluster.plot.Glyph`
        draws them as it likes.
    image_shape : (height, width), optional
        Draw features as pixels; height * width = n_features.
    feature_names : sequence of str, optional
        Default those that the estimator was fitted with, or x0, x1, ...
    class_names : sequence of str, optional
        In the order of the sorted distinct values of `y`; default these values.
    panels : sequence of {"mask", "centers", "history"}, default=()
        Beside the tree: the pixels that some test uses, the centres of the free clustering as
        images, the cost increase along the fit.
    scaled : bool, default=False
        Whether numbers and pixels are weights times the spread of their feature.
    ax : matplotlib Axes, optional
        Default a new figure of a size that fits the tree; text shrinks with smaller axes.
    title : str, optional

    Returns
    -------
    matplotlib Axes
        One unit is one inch of the figure that would fit.

    Raises
    ------
    ValueError
        If `image_shape`, `feature_names`, `y` or `class_names` do not fit, if `nodes` or a
        panel is unknown, or if what they show is not given.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_tree
    >>> iris = load_iris()
    >>> model = TAOClustering(3, lambda_=5, depth=2, random_state=0).fit(iris.data)
    >>> ax = plot_tree(
    ...     model, iris.data, y=iris.target, feature_names=iris.feature_names,
    ...     class_names=iris.target_names)
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    >>> plt.close(ax.figure)
    """
    estimator, names = shown(tree, feature_names)
    tree = tree_of(estimator)
    if X is None and y is not None:
        raise ValueError("y needs X, the rows whose classes it holds.")
    rows = None if X is None else Rows.of(tree, numbers_of(estimator, X), y, class_names)
    glyph = choose_glyph(nodes, tree, rows, image_shape, names)
    panels = make_panels(panels, estimator, tree, image_shape)
    spreads = spreads_of(estimator) if rows is None else rows.spreads
    terms = [terms_at(tree, node, names, spreads, scaled) for node in range(tree.n_nodes)]
    labels = cluster_names(estimator, int(tree.leaf_label.max()) + 1)
    counts = getattr(estimator, "node_counts_", None) if rows is None else rows.counts
    counts = [None] * tree.n_nodes if counts is None else counts
    nodes = [{"terms": t, "count": n} for t, n in zip(terms, counts, strict=True)]
    allowed = tolerances(tree, nodes, gaps_of(estimator))
    with mpl.rc_context(_STYLE):
        return _Picture(tree, rows, glyph, panels, title, terms, labels, allowed).draw(ax)


def save_tree(path, tree, X=None, **options):
    """Draw a tree into a file; other parameters as for :func:`plot_tree`."""
    figure = plot_tree(tree, X, **options).figure
    figure.savefig(path)
    plt.close(figure)


@dataclass(frozen=True, eq=False)
class _Picture:
    """A tree with what is drawn at its nodes, and where: inches, the top of the tree at 0."""

    tree: Any
    rows: Rows | None
    glyph: Glyph
    panels: list
    title: str | None
    terms: list
    labels: list
    tolerances: dict

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
        ax.set_ylim(_MARGIN - size[1], _MARGIN)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title("\n".join(lines), fontsize=_TITLE_SIZE * scale, parse_math=False)
        return ax

    # ------------------------------------------------------------------ geometry

    @cached_property
    def _parts(self):
        return leaf_parts(self.tree, self.rows, self.glyph)

    @cached_property
    def _x(self):
        """Centre of every node."""
        slot = self.glyph.width + _SPACE
        return tidy_positions(self.tree)[0] * slot + self.glyph.width / 2

    @cached_property
    def _levels(self):
        """Top and bottom of every level, negative."""
        tree = self.tree
        is_leaf = tree.children_left < 0
        header = np.where(is_leaf & (self.rows is None), 0.0, _HEADER)
        leaf_height = sum(part.height for part in self._parts)
        heights = header + np.where(is_leaf, leaf_height, self.glyph.test_height)
        children = (tree.children_left, tree.children_right)
        tops, bottoms = level_tops(tree.depth, heights, self._x, children)
        return -tops, -bottoms

    @cached_property
    def _width(self):
        boxes = self._panel_boxes()
        right = max([box.left + max(box.width, 1.9) + 0.06 for box in boxes], default=0.0)
        return max(right, self._x.max() + self.glyph.width / 2)

    @cached_property
    def _size(self):
        """Inches of the drawing, and the lines of its title."""
        lowest = min([box.bottom for box in self._panel_boxes()], default=0.0)
        height = -min(lowest, self._levels[1][-1]) + 2 * _MARGIN
        width = max(_LEAST_WIDTH, self._width + 2 * _MARGIN)
        return np.array([width, height]), self._title_lines(width)

    def _panel_boxes(self, scale=1.0):
        if not self.panels:
            return []
        depth, right = self.tree.depth, self._x + self.glyph.width / 2
        # The edges to a level leave from the one above.
        starts = np.concatenate([[0.0], self._levels[1][:-1]])
        occupied = [(start, right[depth == i].max()) for i, start in enumerate(starts)]
        return panel_boxes(self.panels, occupied, scale)

    def _title_lines(self, width):
        """The title, and how to read the picture, in lines that fit."""
        phrases = list(self.glyph.convention) if self.tree.n_leaves > 1 else []
        phrases += [phrase for part in self._parts for phrase in part.convention]
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
        depth = self.tree.depth[node]
        left, top = self._x[node] - self.glyph.width / 2, self._levels[0][depth]
        header = Box(left, top, self.glyph.width, _HEADER, scale)
        if self.tree.children_left[node] >= 0:
            tolerance = self.tolerances.get(node)
            split = SplitView(self.tree, node, self.rows, self.terms[node], tolerance)
            n_used = len(split.indices)
            header.write(ax, f"{n_used} feature{'s' if n_used != 1 else ''}", 7, color="0.3")
            box = Box(left, top - _HEADER, self.glyph.width, self.glyph.test_height, scale)
            self.glyph.draw_test(ax, box, split)
            return
        name = self.labels[self.tree.leaf_label[node]]
        leaf = LeafView(self.tree, node, self.rows, name)
        if self.rows is not None:
            header.write(ax, f"{100 * self._share(node):.1f} %", 7, color="0.3")
            top -= _HEADER
        for part in self._parts:
            part.draw(ax, Box(left, top, self.glyph.width, part.height, scale), leaf)
            top -= part.height

    def _share(self, node):
        """Share of the rows that reach a node."""
        return self.rows.counts[node] / max(1, self.rows.counts[0])

    def _is_free(self, node, child):
        """Whether no leaf of a node's level is in the way of an edge that leaves at once."""
        tree = self.tree
        beside = (tree.depth == tree.depth[node]) & (tree.children_left < 0)
        low, high = sorted((self._x[node], self._x[child]))
        x, half = self._x[beside], self.glyph.width / 2
        return not np.any((x + half > low) & (x - half < high))

    def _draw_edges(self, ax, node, scale):
        """Curves to both children, side by side where they start."""
        tree, (tops, bottoms) = self.tree, self._levels
        depth = tree.depth[node]
        start = tops[depth] - _HEADER - self.glyph.test_height
        end = tops[depth + 1]
        for child, side in ((tree.children_left[node], -1), (tree.children_right[node], 1)):
            width = 0.6 + 8 * (0.2 if self.rows is None else self._share(child))
            x = self._x[node] + side * width / 72 / 2
            turn = start if self._is_free(node, child) else bottoms[depth]
            bend = 0.55 * (turn - end)
            points = [(x, start), (x, turn), (x, turn - bend)]
            points += [(self._x[child], end + bend), (self._x[child], end)]
            codes = [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3]
            style = {"edgecolor": "0.72", "facecolor": "none", "capstyle": "butt", "zorder": 1}
            ax.add_artist(PathPatch(Path(points, codes), linewidth=width * scale, **style))


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
