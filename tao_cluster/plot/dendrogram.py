"""`plot_nested`: a picture of nested clusterings, as one dendrogram with the tests of the tree."""

import numpy as np

from ..columns.names import MARK
from ..columns.view import flat_steps
from ..export.format import more_text, percent_text
from ..inspection.palette import cluster_color
from ..inspection.rows import Values, check_image_shape
from ..objectives.base import cluster_sums
from ..report import check_weight
from .boxes import Box, is_cut, name_lines, text_width, wrap
from .glyphs import Image
from .leaves import short_name
from .split_view import TreeView, condition_lines
from .style import Target, drawn_with, inches_of, ink, make_drawable, new_axes

_MOST_TERMS = 2  # of a sum
# In inches of a picture with text of _SIZE points, which is magnified as a whole: width of the
# numbers of clusters (_SIDE), margin (_MARGIN), height of a line of text (_LINE), least distance of
# two levels (_LEVEL), height that the costs have at least if the picture may be high (_COSTS).
_SIDE, _MARGIN, _LINE, _LEVEL, _COSTS = 0.95, 0.12, 0.13, 0.17, 2.6
_SIZE, _GAP = 6.5, 0.1  # points; inches around boxes
# In inches: least width of a cluster with columns, largest width of a test and of the picture.
_LEAST_SLOT, _MOST_WIDTH, _WIDEST = 0.7, 1.6, 14.0
_LINES = "Lines show the number of clusters and the cost in percent; close ones are drawn apart."
_COLUMNS = (
    "Rows go left if the condition holds.",
    "Clusters show means, and in parentheses those of all rows.",
)
_IMAGES = (
    "Red pixels push an image right, blue pixels push it left.",
    "A division shows the mean of its rows and its test.",
)


def plot_nested(trees, *, levels=None, ax=None, title=None, image_shape=None, **options):
    """Draw nested clusterings as a dendrogram from the top.

    - A bar is the division of a cluster. It is as low as the cost that remains after it, where
      tests need no more space than that. Above the bar is its test; "several tests" stands for
      tests that make the division together.
    - A thin line per level has the number of clusters and the cost in percent of that of a single
      cluster.
    - At the ends are the clusters: name, share of the rows, and the two columns in which the mean
      differs most from that of all rows, or the mean as an image.
    - The width of a branch is its share of the rows, and its colour is that of the cluster at the
      levels that it crosses.

    Parameters
    ----------
    trees : :class:`tao_cluster.NestedTrees`
    levels : sequence of int, optional
        The numbers of clusters whose lines are drawn. Default: all.
    ax : matplotlib Axes, optional
        Default: a new figure. In smaller axes the text shrinks, unless it has a `font_size`.
    title : str, optional
    image_shape : (height, width), optional
        Draw rows and tests as images; height * width is the number of features.
    **options
        style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_tree`. On a
        screen, the default width depends on the number of clusters, and the smallest text has 6.5
        points.

    Returns
    -------
    matplotlib Axes
        One data unit is one inch of a new figure.

    Raises
    ------
    ValueError
        If `image_shape` does not fit the rows, if a level is not from 1 to the number of clusters,
        or if the text does not fit the given size. The message has the size that suffices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering, nested
    >>> X = load_iris(as_frame=True).data
    >>> model = TAOClustering(3, split="axis", max_leaves=3, random_state=0).fit(X)
    >>> ax = nested(model, X).plot()
    >>> [text.get_text() for text in ax.texts if "≤" in text.get_text()][0]
    'petal length (cm) ≤ 2.4'
    """
    k = trees.n_clusters
    levels = list(range(1, k + 1) if levels is None else levels)
    if not set(levels) <= set(range(1, k + 1)):
        raise ValueError(f"levels must be numbers of clusters from 1 to {k}; got {levels}.")
    target = Target.from_options(**options, ax=ax)
    with drawn_with(target.parameters, ax, is_chart=False):
        return _Dendrogram(trees, image_shape, title, target).draw(ax, levels)


class _Dendrogram:
    """Content and layout of a dendrogram, in inches from its upper left corner.

    Parameters
    ----------
    trees : NestedTrees
    image_shape : (height, width), or None
    title : str, or None
    target : Target
    """

    def __init__(self, trees, image_shape, title, target):
        self.trees, self.target, k = trees, target, trees.n_clusters
        self.scale = (target.font_size or _SIZE) / _SIZE
        X, weight, labels = trees._X, trees._further["sample_weight"], trees.labels[-1]
        view = TreeView.from_model(trees.model, X, weight)
        self.tree, self.names, self.abbreviate = view.tree, view.labels, view.abbreviate
        mass = check_weight(weight, labels)
        self.mass, self.image_shape = np.bincount(labels, mass, k), image_shape
        if image_shape is None:
            values = Values.from_rows(trees.model, view.model, X, view.names)
            self.means = values.means(labels, mass, k)
        else:
            check_image_shape(image_shape, self.tree.n_features)
            self.sums, self.limits = cluster_sums(view.rows.X, labels, mass, k), view.rows.limits
        self.views = [i >= 0 and view.split(i) for i in trees.nodes.tolist()]
        costs = [flat_steps(trees.cut(n))[-1][1].inertia_ for n in range(1, k + 1)]
        self.cost = np.array(costs) / (costs[0] or 1.0)
        self.saved = (1 - self.cost) / ((1 - self.cost[-1]) or 1.0)
        self._fit(title)

    def _fit(self, title):
        """Choose the width of a cluster, the columns below it and the height of the costs.

        Raises
        ------
        ValueError
            If the text does not fit the size of the target.
        """
        k, target, scale = len(self.names), self.target, self.scale
        usual = np.clip(9.0 / k, *((0.8, 1.3) if self.image_shape is None else (0.62, 0.8)))
        given = min(usual, (_WIDEST - _SIDE) / k)
        if target.width is not None:
            given = (target.width / scale - _SIDE - _MARGIN) / k
        slot, self.costs = max(given, 0.2), _COSTS if target.height is None else 0.0
        while not self._lay_out(slot, 2) and slot < _MOST_WIDTH:  # wider tests are not drawn
            slot += 0.05
        # At least so wide that the notes have few lines.
        self.width = max(_SIDE + k * slot + _MARGIN, 3.4 * (target.width is None))
        notes = [*(_IMAGES if self.image else _COLUMNS), _LINES]
        notes[0] += f" In names, {self.abbreviate.note}." if self.abbreviate.note else ""
        self.caption, room = " ".join(notes), self.width - 2 * _MARGIN
        texts = [title, *notes[: target.style == "screen"]]
        self.lines = [line for text in texts if text for line in wrap(text, 8, room)]
        self.above = _LINE * 1.2 * len(self.lines) + 0.14 * bool(self.lines)
        height = self.height if target.height is None else target.height / scale
        if self.height > height:
            self._lay_out(slot, 0)
        if (target.width is not None and slot > given) or self.height > height:
            raise target.too_small("dendrogram", scale * self.width, scale * self.height)
        self.y += (height - self.height) * self.saved

    @property
    def height(self):
        """Height of the drawing with its title, in inches."""
        tall = max(len(a) + len(b) for a, b in zip(self.heads, self.ends, strict=True))
        images = self.image.leaf_height if self.image else 0.0
        return self.above + self.y[-1] + 0.6 + _LINE * tall + images

    def _lay_out(self, slot, n_columns):
        """Place everything, for a width of a cluster; return whether the text fits."""
        self.slot, self.image, k = slot, None, len(self.names)
        columns = [[] for _ in range(k)]
        if self.image_shape is not None:
            self.image = Image(tuple(self.image_shape), min(slot - 0.1, 0.7 if n_columns else 0.4))
        elif slot >= _LEAST_SLOT:
            own = [self._differences(c, n_columns) for c in range(k)]
            if all(text_width(line, _SIZE) <= slot - 0.08 for lines in own for line in lines):
                columns = own
        short = [name if slot > 1 else short_name(name) for name in self.names]
        self.heads = [name_lines(name, _SIZE, 0.85 * slot - _GAP, 3) for name in short]
        shares = [percent_text(share) for share in self.mass / self.mass.sum()]
        self.ends = [[share, *lines] for share, lines in zip(shares, columns, strict=True)]
        self.x, self.pairs, self.bars, self.widths = self._across()
        self.tests = [
            [] if view and self.image else _test_lines(view, width)
            for view, width in zip(self.views, self.widths, strict=True)
        ]
        side = 0.0 if self.image is None else self.image.leaf_height
        self.heights = [max(side, _LINE * len(lines) + 0.05) for lines in self.tests]
        self.tops, self.y = self._along()
        begins = MARK if self.abbreviate.prefix else ""  # the mark of short names is explained
        fits = [text_width(share, _SIZE) <= slot - 0.08 for share in shares]
        for lines, width in zip(self.tests, self.widths, strict=True):
            fits += ["{" in line or text_width(line, _SIZE) <= width - 0.1 for line in lines]
            fits += [not is_cut(line.lstrip(begins)) for line in lines]
        return all(fits)

    def _differences(self, c, n_columns):
        """Return lines about the columns in which a cluster differs most from all rows."""
        means, lines = self.means, []
        for j in means.largest(means.deviations(c), n_columns):
            name = self.abbreviate(means.features[j].label)
            lines += name_lines(name, _SIZE, self.slot - _GAP, 1)
            both = f"{means.text(j, means.mean[c, j])} ({means.text(j, means.overall[j])})"
            lines += wrap(both, _SIZE, self.slot - _GAP)
        return lines

    def _across(self):
        """Return the centres of the clusters, and of each division its parts, bar and width.

        The parts of a division are from left to right, and its bar is between their branches. The
        width is that of the space for its test.
        """
        levels, order, pairs = self.trees.levels, [0], []
        for new, view in enumerate(self.views, 1):
            own = int(self.trees.divided[new - 1])
            pairs.append([own, new])
            if view:  # the part on the left side of the test is on the left
                below = self.tree.path_matrix[:, self.tree.children_left[view.node]].nonzero()[0]
                is_new = levels[new][self.tree.leaf_label[below[-1]]] == new
                pairs[-1] = [new, own] if is_new else [own, new]
            i = order.index(own)
            order[i : i + 1] = pairs[-1]
        x = np.empty(len(order))
        x[order] = _SIDE + (np.arange(len(order)) + 0.5) * self.slot
        low, high, middle, bars, widths = x - self.slot / 2, x + self.slot / 2, x.copy(), [], []
        for pair in reversed(pairs):
            own = min(pair)
            bars.append(middle[pair])
            low[own], high[own], middle[own] = low[pair].min(), high[pair].max(), bars[-1].mean()
            free = 2 * min(middle[own] - low[own], high[own] - middle[own]) - _GAP
            widths.append(min(free, _MOST_WIDTH))
        return x, pairs, bars[::-1], widths[::-1]

    def _along(self):
        """Return the levels where branches begin, of divided clusters and of the last ones.

        The second result is where the levels are, in inches below the top.
        """
        y = self.costs * self.saved
        top, tops = np.zeros(len(self.x), dtype=int), []
        for i, pair in enumerate(self.pairs):
            tops.append(top[min(pair)])
            y[i + 1] = max(y[i + 1], y[i] + _LEVEL, y[tops[-1]] + self.heights[i] + 2 * _GAP)
            top[pair] = i + 1
        return [*tops, *top], y

    # ------------------------------------------------------------------ drawing

    def draw(self, ax, levels):
        """Draw everything into the given axes, or into a new figure."""
        size, end = np.array([self.width, self.height - self.above]), self.y[-1] + 0.3
        if ax is None:
            inches = self.scale * np.array([self.width, self.height, self.above])
            ax = new_axes(*inches, self.target)
        elif self.target.font_size is None:
            self.scale = min(1.0, *(inches_of(ax) / size))
        self.ax = ax
        for level in levels:
            y = -self.y[level - 1] - 0.06
            self._draw_line([_MARGIN, size[0] - _MARGIN], [y, y], 0.6, "0.85", 0)
            line = self._box(_MARGIN, y + _LINE, _SIDE - 2 * _MARGIN, _LINE)
            line.write(ax, str(level), 7.5, x=line.left, ha="left", fontweight="bold")
            percent = f"{100 * self.cost[level - 1]:.1f} %"
            line.write(ax, percent, 6.5, x=line.right, ha="right", color="0.4")
        for i in range(len(self.pairs)):
            self._draw_division(i)
        for c in range(len(self.x)):
            self._draw_end(c, end)
        ax.set(xlim=(0, size[0]), ylim=(_MARGIN - size[1], _MARGIN), aspect="equal")
        ax.set_axis_off()
        ax.set_title("\n".join(self.lines), fontsize=8 * self.scale, parse_math=False)
        ax.caption = ax.figure.caption = self.caption
        make_drawable(ax)
        return ax

    def _box(self, left, top, width, height):
        return Box(left, top, width, height, self.scale)

    def _draw_line(self, x, y, width, color, zorder):
        style = {"linewidth": width * self.scale, "solid_capstyle": "butt", "zorder": zorder}
        self.ax.plot(x, y, color=ink(color), **style)

    def _draw_branch(self, level, c, x, top, bottom):
        """Draw the branch of cluster c of a level; return the clusters at its ends, as a mask."""
        members = self.trees.levels[level - 1] == c
        width = 0.8 + 8 * self.mass[members].sum() / self.mass.sum()
        self._draw_line([x, x], [-top, -bottom], width, cluster_color(c), 1)
        return members

    def _draw_division(self, i):
        """Draw the branch of a cluster that is divided, its test, and the bar below it."""
        y, bar, lines, height = self.y[i + 1], self.bars[i], self.tests[i], self.heights[i]
        members = self._draw_branch(i + 1, min(self.pairs[i]), bar.mean(), self.y[self.tops[i]], y)
        self._draw_line(bar, [-y, -y], 1.2, "0.3", 2)
        longest = max((text_width(line, _SIZE) for line in lines), default=0)
        width = min(longest + 0.2, self.widths[i])
        box = self._box(bar.mean() - width / 2, height - y + 0.05, width, height)
        if self.image:
            side = self.image.width
            place = self._box(bar.mean() - side - 0.02, box.top, side, height)
            self._draw_mean(place, members)
            box = self._box(bar.mean() + 0.02, box.top, side, height)
            if not lines:
                self.image.draw_weights(self.ax, box, self.views[i])
                return
        else:
            box.frame(self.ax, rounded=True, fill="1.0", color="0.6", zorder=2.5)
        for line, place in zip(lines, box.part(margin=0.05).lines(len(lines), _LINE), strict=True):
            place.write(self.ax, line, _SIZE, may_cut="{" in line)

    def _draw_mean(self, box, members):
        mean = self.sums[members].sum(axis=0) / (self.mass[members].sum() or 1.0)
        self.image.draw(self.ax, box, mean, "gray_r", *self.limits).frame(self.ax, linewidth=0.5)

    def _draw_end(self, c, top):
        """Draw a cluster: its mean as an image, its name on its colour, its share and columns."""
        x, k, width, color = self.x[c], len(self.x), self.slot - 0.08, cluster_color(c)
        members = self._draw_branch(k, c, x, self.y[self.tops[k - 1 + c]], top)
        if self.image:
            side, height = self.image.width, self.image.leaf_height
            self._draw_mean(self._box(x - side / 2, -top, side, height), members)
            top += height + 0.05
        box = self._box(x - width / 2, -top, width, 0.06 + _LINE * len(self.heads[c]))
        box.frame(self.ax, rounded=True, fill=color, color="none")
        for line, place in zip(self.heads[c], box.lines(len(self.heads[c]), _LINE), strict=True):
            place.write(self.ax, line, _SIZE, color="0.0", on=color, fontweight="bold")
        for j, line in enumerate(self.ends[c]):
            place = self._box(box.left, box.bottom - 0.04 - j * _LINE, width, _LINE)
            place.write(self.ax, line, _SIZE, color="0.4" if j else "0.15", may_cut=False)


def _test_lines(view, width):
    """Return the test of a division in a short form."""
    if not view:
        return ["several tests"]
    if view.written is not None:
        return condition_lines(*view.written, width - 0.14, 3)
    more = len(view.terms) - _MOST_TERMS
    lines = view.term_lines(len(view.terms), _SIZE, width - 0.14)[:_MOST_TERMS]
    return [*lines, f"{f'+ {more_text(more)} ' if more > 0 else ''}≤ {view.limit}"]
