"""`plot_tree`: the picture of a tree, tests at the nodes, what the rows look like at the leaves."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ..columns.names import printable_lines
from ..columns.view import one_row, shown
from ..export.format import edge_signs
from ..inspection.rows import Rows, decision_paths
from ..report import report
from ..tree import Tree, tree_of
from .boxes import Box, text_width, wrap
from .glyphs import Glyph, LeafView, SplitView, choose_glyph
from .layout import Places
from .leaves import Subtree, draw_panel, leaf_parts, make_panels, panel_boxes

_STYLE = {"font.size": 8, "font.family": "sans-serif"}
_ORIENTATIONS = ("vertical", "horizontal")
_DPI = 150
_MOST_PIXELS = 60_000  # a side; the renderer stops at 2 ** 16
_SPACE = 0.14  # between boxes, inches
_HEADER = 0.17  # line above a node
_MARGIN = 0.12
_TITLE_LINE, _TITLE_SIZE = 0.155, 8
_LEAST_WIDTH = 5.2  # inches, for the title
_SIGN = 0.12  # height of what an edge says
_MARKED = "0.0"  # the way of one row: no colour of a cluster, or of a side


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
    max_depth=None,
    orientation="vertical",
    highlight=None,
):
    """Draw a tree.

    A test shows its weights: red features push a row to the right (towards w.x > threshold),
    blue ones to the left; weights of images lie over the pale mean of the rows that come there,
    with a colour scale each. Edges say which side of the threshold they are. Features are chosen
    and sized by their effect, |weight| times spread over the rows of the node (of X, or else of
    the fit; of a bare tree by weight); numbers, and the colours of pixels, are weights. A leaf
    shows its cluster, and with X its rows and their mean; the width of an edge is the share of
    the rows that take it. A cluster has the same colour everywhere.

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
    max_depth : int, optional
        Tests at this depth (the root has depth 0) and what is below them become one box each:
        how many leaves there are, and which clusters they or their rows belong to.
    orientation : {"vertical", "horizontal"}, default="vertical"
        Whether the root is above its children, or on their left.
    highlight : int or row, optional
        A row of X by its position, or any row as :func:`tao_cluster.explanations.explain` takes
        it: its path is drawn strongly, with its sums at the tests.

    Returns
    -------
    matplotlib Axes
        One unit is one inch of the figure that would fit.

    Raises
    ------
    ValueError
        If `image_shape`, `feature_names`, `y` or `class_names` do not fit, if `nodes` or a
        panel is unknown, if what they show is not given, or if `max_depth`, `orientation` or
        `highlight` is none of what is named above.

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
    rows = Rows.of(estimator, X, y, class_names)
    if orientation not in _ORIENTATIONS:
        raise ValueError(f"orientation must be one of {_ORIENTATIONS}; got {orientation!r}.")
    glyph = choose_glyph(nodes, tree, rows, image_shape, names)
    panels = make_panels(panels, estimator, tree, image_shape)
    upper = Upper.of(tree, max_depth)
    facts = report(estimator, X, feature_names=names, scaled=scaled)
    labels = [part["name"] for part in facts["clusters"]]
    picture = Picture(
        tree=upper.tree,
        rows=None if rows is None else rows.through(upper.tree, upper.stands_for),
        glyph=glyph,
        panels=panels,
        title=title and printable_lines(title),
        tests=[facts["nodes"][i] for i in upper.origin],
        labels=labels,
        subtrees=_subtrees(tree, upper, labels, facts["nodes"], rows is not None),
        way=_way(estimator, X, highlight, feature_names, upper),
        is_horizontal=orientation == "horizontal",
    )
    with mpl.rc_context(_STYLE):
        return picture.draw(ax)


def _subtrees(tree, upper, labels, nodes, has_rows):
    """What stands for the nodes that are not drawn, by node of the upper tree."""
    found = {}
    for node, leaves in upper.hidden.items():
        sizes = np.array([nodes[leaf]["count"] or 0.0 for leaf in leaves])
        if not np.any(sizes):  # no row comes here, or rows are not known
            sizes = np.ones(len(leaves))
        shares = np.bincount(tree.leaf_label[leaves], sizes, minlength=len(labels))
        n_rows = nodes[upper.origin[node]]["count"] if has_rows else None
        found[node] = Subtree(len(leaves), shares / shares.sum(), labels, n_rows)
    return found


def _way(estimator, X, highlight, feature_names, upper):
    """The sums of a row at the nodes of the upper tree that it visits, None at its end."""
    if highlight is None:
        return {}
    if isinstance(highlight, int | np.integer) and not isinstance(highlight, bool):
        n_rows = 0 if X is None else np.shape(X)[0]
        if not -n_rows <= highlight < n_rows:
            raise ValueError(f"highlight={highlight} is a row of X, which has {n_rows} rows.")
        position = int(highlight) % n_rows
        highlight = X.iloc[[position]] if hasattr(X, "iloc") else X[position : position + 1]
    (way,) = decision_paths(estimator, one_row(estimator, highlight, feature_names))
    drawn = {node: i for i, node in enumerate(upper.origin.tolist()) if i not in upper.hidden}
    sums = {drawn[node]: total for node, total in way.totals.items() if node in drawn}
    return sums | {int(upper.stands_for[way.leaf]): None}


def save_tree(path, tree, X=None, **options):
    """Draw a tree into a file; other parameters as for :func:`plot_tree`.

    Examples
    --------
    >>> import os, tempfile
    >>> from tao_cluster import Tree
    >>> from tao_cluster.plot import save_tree
    >>> save_tree(os.path.join(tempfile.mkdtemp(), "tree.png"), Tree.single_leaf(0, 2))
    """
    figure = plot_tree(tree, X, **options).figure
    figure.savefig(path)
    plt.close(figure)


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
    tests : list of dict, the nodes in a report
    labels : list of str, names of the clusters
    subtrees : dict of Subtree, by node that stands for others
    way : dict of float, the sums of a highlighted row by node; None where it ends
    is_horizontal : bool
    """

    tree: Any
    rows: Rows | None
    glyph: Glyph
    panels: list
    title: str | None
    tests: list
    labels: list
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
        for panel, box in zip(self.panels, self._panel_boxes, strict=True):
            draw_panel(ax, panel, replace(box, scale=scale))
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
    def _panel_boxes(self):
        return panel_boxes(self.panels, self._places.occupied)

    @cached_property
    def _width(self):
        rights = [box.left + max(box.width, 1.9) + 0.06 for box in self._panel_boxes]
        right = max(rights, default=0.0)
        return max(right, self._places.right)

    @cached_property
    def _size(self):
        """Inches of the drawing, and the lines of its title."""
        lowest = min([box.bottom for box in self._panel_boxes], default=0.0)
        height = self._top - min(lowest, self._places.bottom) + 2 * _MARGIN
        width = max(_LEAST_WIDTH, self._width + 2 * _MARGIN)
        return np.array([width, height]), self._title_lines(width)

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
        return SplitView(self.tree, node, self.rows, self.tests[node])

    def _write_header(self, ax, node, box):
        """The line above a node: the sum of the highlighted row, features, or share of rows."""
        if self.way.get(node) is not None:
            text = self._split(node).value_text(self.way[node])
            box.write(ax, text, 7, color=_MARKED, fontweight="bold", may_cut=False)
        elif node in self.way:
            box.write(ax, "the row", 7, color=_MARKED, fontweight="bold")
        elif self.tree.children_left[node] >= 0:
            n_used = len(self.tests[node]["terms"])
            box.write(ax, f"{n_used} feature{'s' if n_used != 1 else ''}", 7, color="0.3")
        elif self.rows is not None:
            box.write(ax, f"{100 * self._share(node):.1f} %", 7, color="0.3")

    def _share(self, node):
        """Share of the rows that reach a node."""
        return self.rows.counts[node] / max(1, self.rows.counts[0])

    def _draw_edges(self, ax, node, scale):
        """Curves to both children, side by side where they start, and what they say."""
        children = (self.tree.children_left[node], self.tree.children_right[node])
        for child, side, sign in zip(children, (-1, 1), edge_signs(self.tests[node]), strict=True):
            width = 0.6 + 8 * (0.2 if self.rows is None else self._share(child))
            points = self._places.edge(node, child, side * width / 72 / 2)
            self._draw_curve(ax, points, width * scale, "0.72", 1)
            if child in self.way:
                self._draw_curve(ax, points, 2.2 * scale, _MARKED, 1.5)
            x, y = np.array([1, 3, 3, 1]) @ np.array(points)[1:] / 8  # half way along the curve
            box = Box(x - _SIGN, y + _SIGN / 2, 2 * _SIGN, _SIGN, scale)
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


@dataclass(frozen=True, eq=False)
class Upper:
    """The nodes of a tree down to a depth.

    Parameters
    ----------
    tree : Tree, whose tests at that depth have become leaves
    origin : int array of shape (tree.n_nodes,), node numbers in the whole tree
    stands_for : int array, node of the upper tree that holds each node of the whole one
    hidden : dict of int arrays, by node of the upper tree the leaves of the whole one below it
    """

    tree: Any
    origin: np.ndarray
    stands_for: np.ndarray
    hidden: dict

    @classmethod
    def of(cls, tree, max_depth):
        """The tree as far as it is drawn, all of it if `max_depth` is None.

        Raises
        ------
        ValueError
            If it is not a whole number of at least 0.
        """
        depth = tree.max_depth if max_depth is None else max_depth
        if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 0:
            raise ValueError(f"max_depth must be a whole number of at least 0; got {max_depth!r}.")
        origin = np.flatnonzero(tree.depth <= depth)
        number = np.full(tree.n_nodes, -1)
        number[origin] = np.arange(len(origin))
        for node in range(tree.n_nodes):  # parents come first
            if number[node] < 0:
                number[node] = number[tree.parent[node]]
        is_cut = (tree.depth[origin] == depth) & (tree.children_left[origin] >= 0)
        leaves = tree.leaves
        hidden = {int(i): leaves[number[leaves] == i] for i in np.flatnonzero(is_cut)}
        if not hidden:
            return cls(tree, origin, number, {})
        return cls(_cut(tree, origin, number, hidden), origin, number, hidden)


def _cut(tree, origin, number, hidden):
    """The tree of some nodes, where those with something hidden are leaves."""
    children = [
        np.where(side[origin] < 0, -1, number[side[origin]])
        for side in (tree.children_left, tree.children_right)
    ]
    splits = [tree.split(i) for i in origin]
    label, threshold = tree.leaf_label[origin].copy(), tree.threshold[origin].copy()
    value = None if tree.leaf_value is None else tree.leaf_value[origin].copy()
    for node, leaves in hidden.items():
        for side in children:
            side[node] = -1
        splits[node], threshold[node] = None, 0.0
        label[node] = tree.leaf_label[leaves[0]]
        if value is not None:
            value[node] = tree.leaf_value[leaves[0]]
    return Tree.from_splits(*children, splits, threshold, label, tree.n_features, value)
