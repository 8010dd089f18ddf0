"""`plot_tree`: a picture of a tree with its tests and with the mean of the rows in its leaves."""

import inspect
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from sklearn.utils.validation import _num_samples

from ..columns.names import AS_THEY_ARE, Abbreviation, Indicator, Numbered, printable_lines
from ..columns.view import one_row, shown
from ..export.format import cut_word, edge_signs
from ..inspection.rows import Rows, decision_paths
from ..report import check_weight, report
from ..tree import Tree, tree_of
from .boxes import Box, text_width, wrap
from .glyphs import Glyph, LeafView, choose_glyph
from .layout import Layout
from .leaves import Subtree, count_lines, draw_panel, leaf_parts, make_panels, panel_boxes
from .split_view import SplitView
from .style import drawn_with, make_drawable

_STYLE = {"font.size": 8, "font.family": "sans-serif"}
_ORIENTATIONS = ("vertical", "horizontal")
_DPI = 150
_MOST_NAMES = 500  # names that are compared to find a beginning that they share
_MOST_PIXELS = 60_000  # limit of width and height; matplotlib renders fewer than 2 ** 16 pixels
# In inches: smallest gap between boxes (_SPACE), height of the line of text above a node (_HEADER),
# margin of the drawing (_MARGIN).
_SPACE, _HEADER, _MARGIN = 0.14, 0.17, 0.12
_TITLE_LINE, _TITLE_SIZE = 0.155, 8  # title: height of a line in inches, size in points
_LEAST_WIDTH = 5.2  # inches, so that a title fits
_SIGN = 0.12  # inches, height of the sign (such as ≤) on an edge
_MARKED = "0.0"  # black, for a highlighted path; no cluster or side has this colour


def plot_tree(
    tree,
    X=None,
    *,
    y=None,
    sample_weight=None,
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
    """Draw a tree with matplotlib.

    - A test shows its weights. Red features push a row to the right (towards sum > threshold),
      blue features push it to the left. If features are pixels, the weights are drawn over the
      pale mean of the rows that reach the node, and each test has its own colour scale.
    - Features are selected and sized by their effect. The effect is |weight| times the standard
      deviation of the feature over the rows of the node: rows of X, or else of the fit. For a
      `Tree` without X it is |weight|. Numbers and the colours of pixels are the weights themselves.
    - A sign on each edge states the side of the threshold. If X is given, the width of an edge is
      the share of the rows that take it.
    - A leaf shows its cluster. If X is given, it also shows its number of rows and their mean.
    - A cluster has the same colour everywhere.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count and average. Without X, leaves show only their clusters.
    y : array-like of shape (n,), optional
        True classes of the rows. A leaf shows the shares of its three most frequent classes.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X. Means, shares and effects are then weighted, and leaves show
        their weight beside their number of rows.
    nodes : {"auto", "image", "words", "bars", "projection"} or Glyph, default="auto"
        How nodes are drawn:

        - "image": the weights as pixels;
        - "words": the names of the features with the largest effects, in a size that follows the
          effect;
        - "bars": horizontal bars of the largest effects; a test of one feature is written out;
        - "projection": a histogram of the tested feature, or of w.x, over the rows of the node,
          stacked by cluster, with the threshold in the units of the columns;
        - "auto": "image" if `image_shape` is given, else "words" if X is sparse, because its
          features are then the words of a vocabulary, else "bars";
        - an object with the attributes and methods of :class:`tao_cluster.plot.Glyph` draws the
          nodes itself.
    image_shape : (height, width), optional
        Draw features as pixels; height * width = n_features.
    feature_names : sequence of str, optional
        Default: the names that the estimator was fitted with, or x0, x1, ...
    class_names : sequence of str, optional
        Names of the sorted distinct values of `y`. Default: these values.
    panels : sequence of {"mask", "centers", "history"}, default=()
        Panels beside the tree: the pixels that the tests use ("mask"), the centres of the free
        clustering as images ("centers"), the cost increase during the fit ("history").
    scaled : bool, default=False
        Multiply numbers and pixels by the standard deviations of their features.
    ax : matplotlib Axes, optional
        Default: a new figure in the size of the tree. In smaller axes the text shrinks.
    title : str, optional
    max_depth : int, optional
        Depth below which the tree is not drawn; the root has depth 0. Each subtree at this depth
        becomes one box with its number of leaves and the shares of its clusters.
    orientation : {"vertical", "horizontal"}, default="vertical"
        Whether a node is drawn above its children, or to their left.
    highlight : int or row, optional
        A row whose decision path is drawn in black, with its weighted sum at each test: the
        position of a row of X, or a row as :func:`tao_cluster.explanations.explain` takes it.

    Returns
    -------
    matplotlib Axes
        One data unit is one inch of a figure in the size of the tree.

    Raises
    ------
    ValueError
        If an option has an unknown value, does not fit the tree or X, or needs another argument
        that is missing. The message names the option.

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
    estimator, names = shown(tree, feature_names, X)
    tree = tree_of(estimator)
    if X is None and sample_weight is not None:
        raise ValueError("sample_weight needs X, the rows that it weights.")
    weight = None if sample_weight is None else check_weight(sample_weight, _num_samples(X))
    rows = Rows.from_data(estimator, X, y, class_names, weight)
    if orientation not in _ORIENTATIONS:
        raise ValueError(f"orientation must be one of {_ORIENTATIONS}; got {orientation!r}.")
    abbreviate = abbreviation_of(tree, names)
    shown_names = names
    if abbreviate.prefix:  # names of categories keep their type
        shown_names = [n if isinstance(n, Indicator) else abbreviate(n) for n in names]
    glyph = choose_glyph(nodes, tree, rows, image_shape, shown_names)
    panels = make_panels(panels, estimator, tree, image_shape)
    upper = UpperTree.from_tree(tree, max_depth)
    facts = report(estimator, X, feature_names=names, sample_weight=weight, scaled=scaled)
    labels = [part["name"] for part in facts["clusters"]]
    upper_rows = None if rows is None else rows.through(upper.tree, upper.stands_for)
    picture = Picture(
        tree=upper.tree,
        rows=upper_rows,
        glyph=glyph,
        panels=panels,
        title=title and printable_lines(title),
        tests=[facts["nodes"][i] for i in upper.origin],
        labels=labels,
        subtrees=_subtrees(tree, upper, labels, facts["nodes"], upper_rows),
        path=_path_sums(estimator, X, highlight, feature_names, upper),
        is_horizontal=orientation == "horizontal",
        abbreviate=abbreviate,
    )
    with drawn_with(_STYLE):
        return picture.draw(ax)


def abbreviation_of(tree, names):
    """Return the Abbreviation of the names of features in pictures of a tree.

    Parameters
    ----------
    tree : Tree
    names : sequence of str
        If there are many, only the names of tested features are looked at.
    """
    if isinstance(names, Numbered):
        return AS_THEY_ARE
    few = len(names) <= _MOST_NAMES
    return Abbreviation.from_names(names if few else [names[j] for j in tree.used_features])


def _subtrees(tree, upper, labels, nodes, rows):
    """Return the summary of each subtree that is not drawn, by its node in the upper tree."""
    summaries = {}
    for node, leaves in upper.hidden.items():
        sizes = np.array([nodes[leaf]["count"] or 0.0 for leaf in leaves])
        if not np.any(sizes):  # no row reaches the subtree, or rows are not known
            sizes = np.ones(len(leaves))
        shares = np.bincount(tree.leaf_label[leaves], sizes, minlength=len(labels))
        counted = [] if rows is None else count_lines(rows, node)
        summaries[node] = Subtree(len(leaves), shares / shares.sum(), labels, counted)
    return summaries


def _path_sums(estimator, X, highlight, feature_names, upper):
    """Return the weighted sum of the highlighted row at each drawn node of its path.

    The result is a dict by node of the upper tree. The last node has the value None.
    """
    if highlight is None:
        return {}
    if isinstance(highlight, int | np.integer) and not isinstance(highlight, bool):
        if X is None:
            raise ValueError(f"highlight={highlight} is the position of a row of X: pass X, too.")
        n_rows = np.shape(X)[0]
        if not -n_rows <= highlight < n_rows:
            raise ValueError(
                f"highlight={highlight} must be the position of a row, from {-n_rows} to "
                f"{n_rows - 1}: X has {n_rows} rows."
            )
        position = int(highlight) % n_rows
        highlight = X.iloc[[position]] if hasattr(X, "iloc") else X[position : position + 1]
    (path,) = decision_paths(estimator, one_row(estimator, highlight, feature_names))
    drawn = {node: i for i, node in enumerate(upper.origin.tolist()) if i not in upper.hidden}
    sums = {drawn[node]: total for node, total in path.totals.items() if node in drawn}
    return sums | {int(upper.stands_for[path.leaf]): None}


def save_tree(path, tree, X=None, **options):
    """Draw a tree and save the picture.

    Parameters
    ----------
    path : path-like
        The suffix selects the format, e.g. ".png", ".svg" or ".pdf".
    tree, X, **options
        Parameters of :func:`plot_tree`.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ValueError
        As :func:`plot_tree`, or if matplotlib does not know the suffix.

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


_PARAMETERS = [
    inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    *inspect.signature(plot_tree).parameters.values(),
]
# The complete signature, which help() and tab completion show.
save_tree.__signature__ = inspect.Signature(_PARAMETERS)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Picture:
    """The content of a picture and its layout, in inches from the top of the tree.

    Parameters
    ----------
    tree : Tree, down to the depth that is drawn
    rows : Rows, or None
    glyph : Glyph
    panels : list of Panel
    title : str, or None
    tests : list of dict, the nodes of :func:`tao_cluster.report.report`
    labels : list of str, names of the clusters
    subtrees : dict of Subtree, by the node at which it is summarised
    path : dict of float
        Weighted sum of the highlighted row at each node of its path; None at its last node.
    is_horizontal : bool, whether the root is on the left instead of at the top
    abbreviate : Abbreviation, of the names of features
    """

    tree: Any
    rows: Rows | None
    glyph: Glyph
    panels: list
    title: str | None
    tests: list
    labels: list
    subtrees: dict
    path: dict
    is_horizontal: bool
    abbreviate: Abbreviation

    def draw(self, ax):
        """Draw the whole tree into the given axes, or into a new figure if `ax` is None."""
        size, lines = self._size
        if ax is None:
            ax = new_axes(size, len(lines))
        scale = min(1.0, *(inches_of(ax) / size))
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
        make_drawable(ax)
        return ax

    # ------------------------------------------------------------------ geometry

    @cached_property
    def _parts(self):
        return leaf_parts(self.tree, self.rows, self.glyph, self.labels)

    @cached_property
    def _layout(self):
        tree = self.tree
        is_leaf = tree.children_left < 0
        header = np.where(is_leaf & (self.rows is None) & (not self.path), 0.0, _HEADER)
        leaf_height = sum(part.height for part in self._parts)
        heights = header + np.where(is_leaf, leaf_height, self.glyph.test_height)
        for node, subtree in self.subtrees.items():
            heights[node] = header[node] + subtree.height
        return Layout.compact(tree, self.glyph.width, heights, _SPACE, self.is_horizontal)

    @cached_property
    def _top(self):
        """Upper end of all boxes: 0, or above it in a horizontal tree with high inner boxes."""
        return max(0.0, self._layout.corners[:, 1].max())

    @cached_property
    def _panel_boxes(self):
        return panel_boxes(self.panels, self._layout.occupied)

    @cached_property
    def _width(self):
        rights = [box.left + max(box.width, 1.9) + 0.06 for box in self._panel_boxes]
        right = max(rights, default=0.0)
        return max(right, self._layout.right)

    @cached_property
    def _size(self):
        """Width and height of the drawing in inches, and the lines of its title."""
        lowest = min([box.bottom for box in self._panel_boxes], default=0.0)
        height = self._top - min(lowest, self._layout.bottom) + 2 * _MARGIN
        width = max(_LEAST_WIDTH, self._width + 2 * _MARGIN)
        return np.array([width, height]), self._title_lines(width)

    def _title_lines(self, width):
        """Return the lines of the title and of the legend below it, wrapped to the width."""
        phrases = list(self.glyph.convention) if self.tree.n_leaves > 1 else []
        if self.is_horizontal:  # the left child is drawn above the right one
            turned = {"left": "up", "right": "down"}
            phrases = [re.sub(r"\b(left|right)\b", lambda m: turned[m[0]], p) for p in phrases]
        phrases += [phrase for part in self._parts for phrase in part.convention]
        if any(cut_word(self.tests[node]) for node in self.tree.decision_nodes):
            phrases.append("gap, thin, crowd: the density of the rows at the cut")
        if self.abbreviate.note:
            phrases.append(f"in names, {self.abbreviate.note}")
        if self.path:
            phrases.append("black: the path of one row, with its sums")
        max_width = width - 2 * _MARGIN
        lines = wrap(self.title, _TITLE_SIZE, max_width) if self.title else []
        for i, phrase in enumerate(phrases):
            longer = f"{lines[-1]}; {phrase}" if i else phrase
            if i and text_width(longer, _TITLE_SIZE) < max_width:
                lines[-1] = longer
            else:
                lines += wrap(phrase, _TITLE_SIZE, max_width)
        return lines

    # ------------------------------------------------------------------ drawing

    def _draw_node(self, ax, node, scale):
        left, top = self._layout.corners[node]
        is_test = self.tree.children_left[node] >= 0
        height = self._layout.heights[node]
        if is_test or self.rows is not None or self.path:
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
        if node in self.path:
            around = Box(left - 0.04, box.top + 0.02, box.width + 0.08, height + 0.05, scale)
            around.frame(ax, rounded=True, color=_MARKED, linewidth=1.6, zorder=2.8)

    def _split(self, node):
        known = (self.tests[node], self.labels, self.abbreviate)
        return SplitView(self.tree, node, self.rows, *known)

    def _write_header(self, ax, node, box):
        """Write the line above a node: sum of the highlighted row, number of features, or share.

        The number of features is left out if it is one. Where a cut lies follows, if it is known.
        """
        test, n_used, text = self.tests[node], 1, ""
        if self.tree.children_left[node] >= 0 and test["levels"] is None:
            n_used = len(test["terms"])
        if self.path.get(node) is not None:
            text = self._split(node).value_text(self.path[node])
            box.write(ax, text, 7, color=_MARKED, fontweight="bold", may_cut=False)
            return
        if node in self.path:
            box.write(ax, "the row", 7, color=_MARKED, fontweight="bold")
            return
        if n_used != 1:
            text = f"{n_used} {getattr(self.glyph, 'counted', 'feature')}s"
        elif self.rows is not None:
            text = f"{100 * self._share(node):.1f} %" if node else "all rows"
        cut = cut_word(test) if self.tree.children_left[node] >= 0 else None
        kept = f"{' · ' if text else ''}{cut}" if cut else ""
        if text or kept:
            box.write(ax, text, 7, kept=kept, color="0.3")

    def _share(self, node):
        """Return the share of the rows, or of their weight, that reaches a node."""
        return self.rows.counts[node] / (self.rows.counts[0] or 1)

    def _draw_edges(self, ax, node, scale):
        """Draw the edges to both children, side by side at their start, with their signs."""
        children = (self.tree.children_left[node], self.tree.children_right[node])
        for child, side, sign in zip(children, (-1, 1), edge_signs(self.tests[node]), strict=True):
            width = 0.6 + 8 * (0.2 if self.rows is None else self._share(child))
            points = self._layout.edge(node, child, side * width / 72 / 2)
            corners = self._layout.connection(child)
            _draw_curve(ax, points, corners, width * scale, "0.72", 1)
            if child in self.path:
                _draw_curve(ax, points, corners, 2.2 * scale, _MARKED, 1.5)
            x, y = np.array([1, 3, 3, 1]) @ np.array(points)[1:] / 8  # the middle of the curve
            box = Box(x - _SIGN, y + _SIGN / 2, 2 * _SIGN, _SIGN, scale)
            behind = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.05"}
            box.write(ax, sign, 7.5, color="0.15", may_cut=False, bbox=behind)


def _draw_curve(ax, points, corners, width, color, zorder):
    """Draw an edge and, for a node of another column, the line that continues it."""
    codes = [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3, *[Path.LINETO] * (len(corners) - 1)]
    style = {"edgecolor": color, "facecolor": "none", "capstyle": "butt", "zorder": zorder}
    style["joinstyle"] = "round"
    path = Path([*points, *corners[1:]], codes)
    ax.add_artist(PathPatch(path, linewidth=width, **style))


def new_axes(size, n_lines):
    """Return new axes of this size in inches, with room for the title above them."""
    above = n_lines * _TITLE_LINE + 0.14
    width, height = size[0], size[1] + above
    dpi = min(_DPI, _MOST_PIXELS / max(width, height))
    figure = plt.figure(figsize=(width, height), dpi=dpi)
    return figure.add_axes((0, 0, 1, size[1] / height))


def inches_of(ax):
    """Return the width and height of axes in inches."""
    box = ax.get_position()
    return np.array([box.width, box.height]) * ax.get_figure(root=True).get_size_inches()


@dataclass(frozen=True, eq=False)
class UpperTree:
    """The part of a tree above a depth.

    Parameters
    ----------
    tree : Tree, in which the subtrees at that depth are replaced by leaves
    origin : int array of shape (tree.n_nodes,), numbers of its nodes in the whole tree
    stands_for : int array of shape (n_nodes of the whole tree,)
        For each node of the whole tree, the node of `tree` that is or contains it.
    hidden : dict of int arrays
        For each replaced subtree, its leaves in the whole tree, by its node in `tree`.
    """

    tree: Any
    origin: np.ndarray
    stands_for: np.ndarray
    hidden: dict

    @classmethod
    def from_tree(cls, tree, max_depth):
        """Cut a tree at a depth; None keeps all of it.

        Raises
        ------
        ValueError
            If `max_depth` is not an integer of at least 0.
        """
        depth = tree.max_depth if max_depth is None else max_depth
        if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 0:
            raise ValueError(f"max_depth must be an integer of at least 0; got {max_depth!r}.")
        origin = np.flatnonzero(tree.depth <= depth)
        number = np.full(tree.n_nodes, -1)
        number[origin] = np.arange(len(origin))
        for node in range(tree.n_nodes):  # a parent comes before its children
            if number[node] < 0:
                number[node] = number[tree.parent[node]]
        is_cut = (tree.depth[origin] == depth) & (tree.children_left[origin] >= 0)
        leaves = tree.leaves
        hidden = {int(i): leaves[number[leaves] == i] for i in np.flatnonzero(is_cut)}
        if not hidden:
            return cls(tree, origin, number, {})
        return cls(_cut(tree, origin, number, hidden), origin, number, hidden)


def _cut(tree, origin, number, hidden):
    """Return the tree of the nodes `origin`, in which roots of hidden subtrees become leaves."""
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
