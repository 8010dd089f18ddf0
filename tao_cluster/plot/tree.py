"""`plot_tree`: a picture of a tree with its tests and with the mean of the rows in its leaves."""

import inspect
import re
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ..columns.names import MARK, Indicator, printable_lines
from ..columns.table_reader import reads_once
from ..columns.view import one_row
from ..export.format import cut_word
from ..inspection.rows import decision_paths
from .boxes import BARE, FORM_SIZE, FORMS, FULL, HIGH, Box, Sizes, is_readable, sizes_of, wrap
from .glyphs import CONDITION, Image, LeafView, choose_glyph
from .layout import DEEP, Layout, UpperTree
from .leaves import Subtree, count_lines, draw_panel, leaf_parts, make_panels, panel_boxes
from .split_view import TreeView
from .style import Target, drawn_with, inches_of, ink, make_drawable, new_axes

_ORIENTATIONS = ("auto", "vertical", "horizontal")
# In inches: height of the line of text above a node (_HEADER), margin of the drawing (_MARGIN).
_HEADER, _MARGIN = 0.17, 0.12
_TITLE_LINE, _TITLE_SIZE = 0.155, 8  # title: height of a line in inches, size in points
_LEAST_WIDTH = 5.2  # inches, so that a title fits
_SIGN = 0.12  # inches, height of the "yes" or "no" on an edge
_MARKED = "0.0"  # the strongest ink, for a highlighted path; no cluster or side has this colour

_OF_PARTS = " max_depth= and root= draw a part of the tree."
_STEP = 1.03  # factor between sizes that are tried to find one at which a tree can be read
# In inches: largest height of a picture without a given one (at first _COLUMN times its width, then
# _PAGE), and largest sizes of the gaps between boxes that are moved apart to fill a picture.
_COLUMN, _PAGE, _LARGEST = 1.2, 9.0, {"space": 0.6, "gap": 0.7}


@np.errstate(under="ignore")
@reads_once
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
    root=0,
    orientation="auto",
    highlight=None,
    width=None,
    height=None,
    figsize=None,
    font_size=None,
    style="screen",
):
    """Draw a tree with matplotlib.

    - A test shows its weights. Red features push a row to the right (towards sum > threshold),
      blue features push it to the left. If features are pixels, the weights are drawn over the
      pale mean of the rows that reach the node, and each test has its own colour scale.
    - Features are selected and sized by their effect. The effect is |weight| times the standard
      deviation of the feature over the rows of the node: rows of X, or else of the fit. For a
      `Tree` without X it is |weight|. Numbers and the colours of pixels are the weights themselves.
    - Rows that meet the condition of a test follow the edge "yes" to the left. If X is given, the
      width of an edge is the share of the rows that take it.
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
        Default: a new figure. The tree is laid out for the size of these axes if `style` or
        `font_size` is given. Otherwise it has its usual layout, and its text shrinks to fit.
    title : str, optional
        Figures for the screen have a legend of one sentence below it; "" leaves both out.
    max_depth : int, optional
        Depth below which the tree is not drawn; the root has depth 0. Each subtree at this depth
        becomes one box with its number of leaves and the shares of its clusters.
    root : int, default=0
        Node whose subtree is drawn, with the rows that reach it.
    orientation : {"auto", "vertical", "horizontal"}, default="auto"
        Whether a node is drawn above its children, or to their left. "auto" is "vertical" unless
        the tree fits the given size only, or with more details, in the other direction.
    highlight : int or row, optional
        A row whose decision path is a strong line, with its weighted sum at each test: the
        position of a row of X, or a row as :func:`tao_cluster.explanations.explain` takes it.
    width, height : float, optional
        Size of the figure in inches. Text keeps its size, and the layout changes until the tree
        fits: shorter labels, fewer bars, smaller images, leaves in two rows, from left to right.
        Without a height, the figure is as high as the tree needs.
    figsize : (width, height), optional
        Another way to give both.
    font_size : float, optional
        Size in points of the smallest text. Default: 8 on a screen if a size is given,
        ``rcParams["font.size"]`` on paper, 16 on a slide.
    style : {"screen", "paper", "slide"}, default="screen"
        - "screen": the figure is as large as the tree needs unless a size is given.
        - "paper": 6.5 inches wide by default, in the font family of ``rcParams``, and without text
          that explains the signs. It belongs into the caption, and `caption` has it.
        - "slide": 13.33 x 7.5 inches by default. The tree is magnified until it fills the slide.

    Returns
    -------
    matplotlib Axes
        Its attribute `caption`, also of its figure, explains the signs. One data unit is one inch
        of a figure in the usual layout.

    Raises
    ------
    ValueError
        If an option has an unknown value, does not fit the tree or X, or needs another argument
        that is missing. The message names the option. If the tree cannot be read at the given size,
        the message has the smallest size that suffices.

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
    >>> ax = plot_tree(model, iris.data, style="paper", width=3.3, font_size=8)
    >>> ax.figure.savefig("iris.pdf")  # doctest: +SKIP
    >>> print(ax.caption)  # doctest: +SKIP
    >>> plt.close("all")
    """
    if orientation not in _ORIENTATIONS:
        raise ValueError(f"orientation must be one of {_ORIENTATIONS}; got {orientation!r}.")
    target = Target.from_options(style, width, height, figsize, font_size, ax=ax)
    if X is None and sample_weight is not None:
        raise ValueError("sample_weight needs X, the rows that it weights.")
    options = {"scaled": scaled, "y": y, "class_names": class_names}
    whole = TreeView.from_model(tree, X, sample_weight, feature_names, **options)
    estimator, tree, rows, names = whole.model, whole.tree, whole.rows, whole.names
    if whole.abbreviate.prefix:  # names of categories keep their type
        names = [n if isinstance(n, Indicator) else whole.abbreviate(n) for n in names]
    upper = UpperTree.from_tree(tree, max_depth, root)
    rows = None if rows is None else rows.through(upper.tree, upper.stands_for)
    if root and rows is not None and not len(rows.leaf_of_row):
        raise ValueError(f"No row of X reaches root={root}; leave X out to draw its tests.")
    nodes_drawn = [whole.nodes[i] for i in upper.origin]
    if target.width is not None:
        target = target._replace(font_size=target.font_size or 8.0)
    glyph_of = partial(choose_glyph, nodes, upper.tree, rows, image_shape, names)
    with drawn_with(target.parameters, ax, is_chart=False):
        picture = Picture(
            **vars(whole) | {"tree": upper.tree, "rows": rows, "nodes": nodes_drawn},
            glyph_of=cache(glyph_of),
            panels=make_panels(panels, estimator, tree, image_shape),
            title=title and printable_lines(title),
            subtrees=_subtrees(whole, upper, rows),
            path=_path_sums(estimator, X, highlight, feature_names, upper),
            target=target,
            sizes=Sizes(is_horizontal=orientation == "horizontal"),
            root=int(upper.origin[0]),
            has_legend=style == "screen" and title != "",
        )
        if target.width is not None or target.height is not None:
            return _fitted(picture, orientation, ax)
        if target.font_size is None:
            return picture.draw(ax, None)
        return picture.draw(ax, target.font_size / picture.sizes.smallest)


def _fitted(picture, orientation, ax):
    """Draw the fullest form of a picture that can be read at the size of its target.

    Raises
    ------
    ValueError
        If no form can be read. The message has the smallest size that suffices.
    """
    target, unreadable, last = picture.target, set(), 0.0
    drawn, others = _search(picture, orientation, ax, unreadable)
    if drawn is not None:
        return drawn
    # The smallest size at which a form can be read, with the given height if some form fits it.
    for form in sorted(others, key=_excess):
        is_high, excess = _excess(form)
        if _boxes(form.sizes) in unreadable or excess < _STEP * last:
            continue
        last, inches = excess, np.ceil(10 * target.font_size / FORM_SIZE * form.size + 0.5) / 10
        height = inches[1] if is_high else target.height
        sized = replace(picture, target=target._replace(width=inches[0], height=height))
        drawn, _ = _search(sized, orientation, None, unreadable)
        if drawn is not None:
            plt.close(drawn.figure)
            raise target.too_small("tree", *inches[: 1 + is_high], further=_OF_PARTS)
    raise target.too_small("tree", further=_OF_PARTS)


def _excess(form):
    """Return whether a form is higher than its place, and by which factor it is too large."""
    return form.size[1] > form.place[1] + 1e-6, max(form.size / form.place)


def _search(picture, orientation, ax, unreadable):
    """Draw the fullest form that can be read.

    Returns the axes or None, and the larger forms. Texts that are too short depend on the boxes,
    and not on their places: boxes in `unreadable`, which this function extends, are not drawn.
    """
    target, scale, larger = picture.target, picture.target.font_size / FORM_SIZE, []
    width = np.inf if target.width is None else target.width / scale
    stages = [(FORMS, target.height)]
    if target.height is None:  # a page is used up by sums, or if a form that is lower does not fit
        low, page = min(_PAGE, max(_COLUMN * target.width, 2.0)), max(_PAGE, target.width)
        high = [(FORMS[:1], low), (HIGH, page)] * getattr(picture.glyph, "has_sums", False)
        stages = [*high, (FORMS, low), (FORMS, page)]
    may_fold = picture.tree.max_depth + 1 >= DEEP
    tried = [(sizes, h) for forms, h in stages for sizes in sizes_of(forms, orientation, may_fold)]
    for sizes, height in tried:
        if _boxes(sizes) in unreadable:
            continue
        place = (width, height / scale)
        form = replace(picture, sizes=sizes, place=place)
        if np.any(form.size > np.add(place, 1e-6)):
            larger.append(form)
            continue
        drawn = form.stretched(*place).draw_checked(ax, scale)
        if drawn is not None:
            return drawn, larger
        unreadable.add(_boxes(sizes))
    return None, larger


def _boxes(sizes):
    """Return what the boxes of a form depend on."""
    return sizes._replace(is_horizontal=False, is_staggered=False, is_folded=False)


def _subtrees(whole, upper, rows):
    """Return the summary of each subtree that is not drawn, by its node in the upper tree."""
    summaries = {}
    for node, leaves in upper.hidden.items():
        sizes = np.array([whole.nodes[leaf]["count"] or 0.0 for leaf in leaves])
        if not np.any(sizes):  # no row reaches the subtree, or rows are not known
            sizes = np.ones(len(leaves))
        shares = np.bincount(whole.tree.leaf_label[leaves], sizes, minlength=len(whole.labels))
        counted = [] if rows is None else count_lines(rows, node)
        summaries[node] = Subtree(len(leaves), shares / shares.sum(), whole.labels, counted)
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
    if upper.stands_for[path.leaf] < 0:
        raise ValueError("highlight: the row does not reach the node root, which is drawn.")
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
class Picture(TreeView):
    """The content of a picture and its layout, in inches from the top of the tree.

    Parameters
    ----------
    model, tree, ...
        As for `TreeView`; the tree is that down to the depth that is drawn.
    glyph_of : callable (sizes), which returns the Glyph
    panels : list of Panel
    title : str, or None
    subtrees : dict of Subtree, by the node at which it is summarised
    path : dict of float
        Weighted sum of the highlighted row at each node of its path; None at its last node.
    target : Target
    sizes : Sizes
    root : int, number in the whole tree of the node that is drawn as the root
    has_legend : bool, whether its colours are explained above it
    place : (width, height), shape of the place of the drawing
    """

    glyph_of: Any
    panels: list
    title: str | None
    subtrees: dict
    path: dict
    target: Target
    sizes: Sizes
    root: int
    has_legend: bool
    place: tuple = (1.0, 1.0)

    def draw(self, ax, scale):
        """Draw the whole tree into the given axes, or into a new figure if `ax` is None.

        `scale` is the length of an inch of the drawing on paper. If it is None, the tree is shrunk
        to the axes.
        """
        size, lines = self.size, self._title_lines
        above = self._above * (scale or 1.0)
        if ax is None:
            ax = new_axes(*size * (scale or 1.0), above, self.target)
        extent = inches_of(ax)
        if scale is None:
            drawing = size - (0.0, self._above)
            scale = min(1.0, *(extent / drawing))
            extent = drawing * scale
        for node in self.tree.decision_nodes:
            self._draw_edges(ax, node, scale)
        for node in range(self.tree.n_nodes):
            self._draw_node(ax, node, scale)
        middle = np.array([self._width / 2, self._margin - (size[1] - self._above) / 2])
        low, high = middle - extent / scale / 2, middle + extent / scale / 2
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        for panel, box in zip(self.panels, self._panel_boxes, strict=True):
            draw_panel(ax, panel, replace(box, scale=scale, smallest=self.sizes.smallest))
        ax.set_axis_off()
        size = max(_TITLE_SIZE, self.sizes.smallest) * scale
        ax.set_title("\n".join(lines), fontsize=size, parse_math=False)
        ax.caption = ax.figure.caption = self.caption
        make_drawable(ax)
        return ax

    def draw_checked(self, ax, scale):
        """Draw as `draw`, magnified to the size of a slide; return None if it cannot be read."""
        target = self.target
        if target.style == "slide":
            scale = min((target.width, target.height) / self.size)
        scratch = ax and plt.figure(figsize=inches_of(ax)).add_axes((0, 0, 1, 1))
        drawn = self.draw(scratch, scale)
        layout = self._layout
        frames = np.column_stack([layout.widths, -layout.heights])
        frames = np.stack([layout.corners, layout.corners + frames])
        # The mark at the beginning of abbreviated names is explained.
        begins = MARK if self.abbreviate.prefix else ""
        can_be_read = is_readable(drawn, target.font_size, frames, begins)
        if ax is None and can_be_read:
            return drawn
        plt.close(drawn.figure)
        return self.draw(ax, scale) if can_be_read else None

    def stretched(self, width, height):
        """Return the picture with its boxes moved apart, if it is smaller than this size."""
        best, at_most = self, np.array([width, height])
        if self.target.height is None:
            at_most[1] = 1.1 * self.size[1]
        elif self.target.style == "slide":  # magnified, but still with some more space
            at_most = np.minimum(at_most, 1.1 * at_most / min(at_most / self.size))
        names = ("gap", "space") if self.sizes.is_horizontal else ("space", "gap")
        for name in names:
            old = getattr(best.sizes, name)
            for share in np.linspace(1.0, 0.0, 20, endpoint=False).tolist():
                value = old + share * max(_LARGEST[name] - old, 0.0)
                tried = replace(best, sizes=best.sizes._replace(**{name: value}))
                if np.all(tried.size <= at_most):
                    best = tried
                    break
        return best

    # ------------------------------------------------------------------ geometry

    @cached_property
    def glyph(self):
        """The Glyph in the sizes of the picture."""
        return self.glyph_of(sizes=_boxes(self.sizes))

    @cached_property
    def _parts(self):
        return leaf_parts(self.tree, self.rows, self.glyph, self.labels, self.sizes)

    @cached_property
    def _has_header(self):
        """Whether each node has a line of text above it: bool array of shape (n_nodes,)."""
        is_full = self.sizes.details == FULL
        is_empty = (self.tree.children_left < 0) & (self.rows is None)
        return np.where(is_empty | (not is_full), bool(self.path), True)

    @cached_property
    def _layout(self):
        is_leaf, sizes = self.tree.children_left < 0, self.sizes
        header = np.where(self._has_header, _HEADER, 0.0)
        leaf_height = sum(part.height for part in self._parts)
        heights = header + np.where(is_leaf, leaf_height, self.glyph.test_height)
        widths = np.where(is_leaf, self._leaf_width, self.glyph.width)
        for node, subtree in self.subtrees.items():
            heights[node], widths[node] = header[node] + subtree.height, self.glyph.width
        options = {"gap": sizes.gap, "is_staggered": sizes.is_staggered}
        options |= {"shape": self.place if sizes.is_folded else None}
        return Layout.compact(
            self.tree, widths, heights, sizes.space, sizes.is_horizontal, **options
        )

    @property
    def _leaf_width(self):
        """Width of the leaves: that of the tests, unless leaves are only labels."""
        width, label = self.glyph.width, self._parts[-1].width
        if self.sizes.details == FULL or self.path:
            return width
        return label if len(self._parts) == 1 else max(width, label)

    @cached_property
    def _panel_boxes(self):
        return panel_boxes(self.panels, self._layout.occupied)

    @cached_property
    def _width(self):
        rights = [box.left + max(box.width, 1.9) + 0.06 for box in self._panel_boxes]
        return max([*rights, self._layout.right])

    @cached_property
    def size(self):
        """Width and height of the drawing with its title, in inches."""
        lowest = min([box.bottom for box in self._panel_boxes], default=0.0)
        height = -min(lowest, self._layout.bottom) + 2 * self._margin
        width = self._width + 2 * self._margin
        if self.target.width is None:
            width = max(_LEAST_WIDTH, width)
        return np.array([width, height + self._above])

    @property
    def _above(self):
        """Height of the title in inches."""
        return len(self._title_lines) * _TITLE_LINE + (0.06 if self._title_lines else 0.0)

    @property
    def _margin(self):
        return _MARGIN if self.target.width is None else 0.06 if self.path else 0.03

    @property
    def caption(self):
        """What explains the signs of the picture: str."""
        return " ".join(map(_sentence, self._phrases))

    @cached_property
    def _phrases(self):
        """The phrases that explain the signs: list of str."""
        phrases = list(self.glyph.convention) if self.tree.n_leaves > 1 else []
        if self.sizes.is_horizontal:  # the left child is drawn above the right one
            turned = {"left": "up", "right": "down"}
            phrases = [re.sub(r"\b(left|right)\b", lambda m: turned[m[0]], p) for p in phrases]
        phrases += [phrase for part in self._parts for phrase in part.convention]
        has_cuts = any(cut_word(self.nodes[node]) for node in self.tree.decision_nodes)
        if has_cuts and self._has_header[0]:
            phrases.append("gap, thin and crowd say how dense the rows are at the cut")
        if self.abbreviate.note:
            phrases.append(f"in names, {self.abbreviate.note}")
        if self.path:
            phrases.append("the strong line is the path of one row, with its sums")
        return phrases

    @cached_property
    def _title_lines(self):
        """The lines of the title and, if it has one, of the legend below it."""
        width = self._width + 2 * self._margin
        if self.target.width is None:
            width = max(_LEAST_WIDTH, width)
        else:
            width = self.target.width * FORM_SIZE / self.target.font_size
        first = [phrase for phrase in self._phrases if phrase != CONDITION] or self._phrases
        shown = [*first[:1], *[f"in names, {self.abbreviate.note}"] * bool(self.abbreviate.note)]
        texts = [self.title, self.has_legend and " ".join(map(_sentence, dict.fromkeys(shown)))]
        width -= 2 * self._margin
        return [line for text in texts if text for line in wrap(text, _TITLE_SIZE, width)]

    # ------------------------------------------------------------------ drawing

    def _draw_node(self, ax, node, scale):
        left, top = self._layout.corners[node]
        width, height = self._layout.widths[node], self._layout.heights[node]
        if self._has_header[node]:
            box = Box(left, top, width, _HEADER, scale, self.sizes.smallest)
            self._write_header(ax, node, box)
            top, height = top - _HEADER, height - _HEADER
        box = Box(left, top, width, height, scale, self.sizes.smallest)
        if self.tree.children_left[node] >= 0:
            self.glyph.draw_test(ax, box, self.split(node))
        elif node in self.subtrees:
            self.subtrees[node].draw(ax, box)
        else:
            leaf = LeafView(self.tree, node, self.rows, self.labels[self.tree.leaf_label[node]])
            for part in self._parts:
                part.draw(ax, box.at(left, top, width, part.height), leaf)
                top -= part.height
        if node in self.path:
            around = box.at(left - 0.04, box.top + 0.02, width + 0.08, height + 0.05)
            around.frame(ax, rounded=True, color=_MARKED, linewidth=1.6, zorder=2.8)

    def _write_header(self, ax, node, box):
        """Write the line above a node: sum of the highlighted row, number of features, or share.

        The number of features is left out if it is one. Where a cut lies follows, if it is known.
        """
        test, n_used, text = self.nodes[node], 1, ""
        if self.tree.children_left[node] >= 0 and test["levels"] is None:
            n_used = len(test["terms"])
        if self.path.get(node) is not None:
            text = self.split(node).value_text(self.path[node])
            box.write(ax, text, 7, color=_MARKED, fontweight="bold", may_cut=False)
            return
        if node in self.path:
            box.write(ax, "the row", 7, color=_MARKED, fontweight="bold")
            return
        if self.sizes.details != FULL:
            return
        if n_used != 1:
            text = f"{n_used} {getattr(self.glyph, 'counted', 'feature')}s"
        elif self.rows is not None:
            whole = f"rows of node {self.root}" if self.root else "all rows"
            text = f"{100 * self._share(node):.1f} %" if node else whole
        cut = cut_word(test) if self.tree.children_left[node] >= 0 else None
        kept = f"{' · ' if text else ''}{cut}" if cut else ""
        if text or kept:
            box.write(ax, text, 7, kept=kept, color="0.3")

    def _share(self, node):
        """Return the share of the rows, or of their weight, that reaches a node."""
        return self.rows.counts[node] / (self.rows.counts[0] or 1)

    def _draw_edges(self, ax, node, scale):
        """Draw the edges to both children, side by side at their start, with yes and no."""
        children, middles = (self.tree.children_left[node], self.tree.children_right[node]), []
        for child, side in zip(children, (-1, 1), strict=True):
            most = min(8.0, 10 * self.glyph.width)
            width = 0.6 + most * (0.2 if self.rows is None else self._share(child))
            points = self._layout.edge(node, child, side * width / 72 / 2)
            corners = self._layout.connection(child)
            if self.sizes.is_horizontal and len(self._parts) == 1 and child in self.tree.leaves:
                # A label is in the middle of its box, and narrower.
                corners = corners or [points[-1]]
                corners = [*corners, np.add(corners[-1], (self._layout.widths[child] / 2, 0))]
            _draw_curve(ax, points, corners, width * scale, "0.72", 1)
            if child in self.path:
                _draw_curve(ax, points, corners, 2.2 * scale, _MARKED, 1.5)
            middles.append(np.array([1, 3, 3, 1]) @ np.array(points)[1:] / 8)
        no_condition = isinstance(self.glyph, Image)  # in the smallest form
        if self.sizes.details == BARE and (no_condition or not _has_space(self._layout, middles)):
            return
        for (x, y), sign in zip(middles, ("yes", "no"), strict=True):
            box = Box(x - _SIGN, y + _SIGN / 2, 2 * _SIGN, _SIGN, scale, self.sizes.smallest)
            behind = {"facecolor": plt.rcParams["axes.facecolor"], "edgecolor": "none"}
            behind["boxstyle"] = "round,pad=0.05"
            size = 7.5 if self.sizes.details == FULL else FORM_SIZE
            box.write(ax, sign, size, color="0.15", may_cut=False, bbox=behind)


def _sentence(phrase):
    """Return a phrase as a sentence."""
    return f"{phrase[:1].upper()}{phrase[1:]}."


def _has_space(layout, middles):
    """Whether signs in the middles of two edges are apart and outside the boxes of nodes."""
    sizes = np.column_stack([layout.widths, layout.heights])
    off = [np.abs(layout.corners + sizes * (0.5, -0.5) - xy) - sizes / 2 for xy in middles]
    off.append(np.abs(np.diff(middles, axis=0)) - _SIGN / 2)
    return all(np.all(np.any(apart > 0.4 * _SIGN, axis=1)) for apart in off)


def _draw_curve(ax, points, corners, width, color, zorder):
    """Draw an edge and, for a node of another column, the line that continues it."""
    codes = [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3, *[Path.LINETO] * (len(corners) - 1)]
    style = {"edgecolor": ink(color), "facecolor": "none", "capstyle": "butt", "zorder": zorder}
    path = Path([*points, *corners[1:]], codes)
    ax.add_artist(PathPatch(path, linewidth=width, joinstyle="round", **style))
