"""`plot_nested`: a picture of nested clusterings, as one dendrogram with the tests of the tree."""

import numpy as np

from ..columns.view import flat_steps, shown
from ..export.format import more_text, percent_text
from ..inspection.palette import cluster_color, text_color, tint
from ..inspection.rows import Rows, check_image_shape
from ..inspection.values import Values
from ..objectives.base import cluster_sums
from ..report import check_weight, report
from ..tree import tree_of
from .boxes import Box, name_lines, text_width, wrap
from .glyphs import Image
from .leaves import short_name
from .split_view import SplitView, condition_lines
from .style import Target, drawn_with, make_drawable
from .tree import abbreviation_of, inches_of, new_axes

_SCREEN = Target("screen", None, None, None)
_MOST_TERMS = 2  # of a sum
_STYLE = {"font.size": 8, "font.family": "sans-serif"}
# In inches: width of the numbers of clusters (_SIDE), margin (_MARGIN), height of a line of text
# (_LINE), least distance of two levels (_LEVEL), height that the costs have at least (_COSTS).
_SIDE, _MARGIN, _LINE, _LEVEL, _COSTS = 0.95, 0.12, 0.13, 0.17, 2.6
_SIZE, _GAP = 6.5, 0.1  # points; inches around boxes
# In inches: least width of a cluster with columns, largest width of a test and of the picture.
_LEAST_SLOT, _MOST_WIDTH, _WIDEST = 0.7, 1.6, 14.0
_NOTE = "Lines: the number of clusters and the cost in percent; close levels are drawn apart."
_COLUMNS = "Rows go left if the condition holds. Clusters show the mean (mean of all rows)."
_IMAGES = (
    "A division shows the mean of its rows and its test: red pixels push right, blue ones left."
)


def plot_nested(trees, *, levels=None, width=None, ax=None, title=None, image_shape=None):
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
    width : float, optional
        Width of the picture in inches. Default: by the number of clusters, at most 14.
    ax : matplotlib Axes, optional
        Default: a new figure. In smaller axes the text shrinks.
    title : str, optional
    image_shape : (height, width), optional
        Draw rows and tests as images; height * width is the number of features.

    Returns
    -------
    matplotlib Axes
        One data unit is one inch of a new figure.

    Raises
    ------
    ValueError
        If `image_shape` does not fit the rows, or if a level is not from 1 to the number of
        clusters.

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
    k, has_images = trees.n_clusters, image_shape is not None
    levels = list(range(1, k + 1) if levels is None else levels)
    if not set(levels) <= set(range(1, k + 1)):
        raise ValueError(f"levels must be numbers of clusters from 1 to {k}; got {levels}.")
    slot = np.clip(9.0 / k, *((0.62, 0.8) if has_images else (0.8, 1.3)))
    slot = min(slot, (_WIDEST - _SIDE) / k) if width is None else (width - _SIDE - _MARGIN) / k
    with drawn_with(_STYLE):
        return _Dendrogram(trees, float(slot), image_shape).draw(ax, levels, title)


class _Dendrogram:
    """Content and layout of a dendrogram, in inches from its upper left corner.

    Parameters
    ----------
    trees : NestedTrees
    slot : float, inches, width of a cluster
    image_shape : (height, width), or None
    """

    def __init__(self, trees, slot, image_shape):
        self.trees, self.slot, k = trees, slot, trees.n_clusters
        X, weight, labels = trees._X, trees._further["sample_weight"], trees.labels[-1]
        view, names = shown(trees.model, None, X)
        self.tree = tree_of(view)
        facts = report(view, X, feature_names=names, sample_weight=weight)
        clusters = [part["name"] for part in facts["clusters"]]
        self.abbreviate = abbreviation_of(self.tree, names)
        known = (clusters, self.abbreviate)
        mass = check_weight(weight, labels)
        self.mass = np.bincount(labels, mass, k)
        rows, self.image, columns = None, None, [[] for _ in range(k)]
        if image_shape is not None:
            check_image_shape(image_shape, self.tree.n_features)
            rows = Rows.from_data(view, X, weight=mass)
            self.image = Image(tuple(image_shape), min(slot - 0.1, 0.7))
            self.sums, self.limits = cluster_sums(rows.X, labels, mass, k), rows.limits
        elif slot >= _LEAST_SLOT:
            means = Values.from_rows(trees.model, view, X, names).means(labels, mass, k)
            columns = [self._differences(means, c) for c in range(k)]
        short = [name if slot > 1 else short_name(name) for name in clusters]
        self.heads = [name_lines(name, _SIZE, 0.85 * slot - _GAP, 3) for name in short]
        shares = [percent_text(share) for share in self.mass / self.mass.sum()]
        self.ends = [[share, *lines] for share, lines in zip(shares, columns, strict=True)]
        nodes = [(i, facts["nodes"][i]) for i in trees.nodes.tolist()]
        self.views = [i >= 0 and SplitView(self.tree, i, rows, fact, *known) for i, fact in nodes]
        costs = [flat_steps(trees.cut(n))[-1][1].inertia_ for n in range(1, k + 1)]
        self.cost = np.array(costs) / (costs[0] or 1.0)
        self.x, self.pairs, self.bars, self.widths = self._across()
        self.tests = [
            [] if view and self.image else _test_lines(view, width)
            for view, width in zip(self.views, self.widths, strict=True)
        ]
        side = 0.0 if self.image is None else self.image.leaf_height
        self.heights = [max(side, _LINE * len(lines) + 0.05) for lines in self.tests]
        self.tops, self.y = self._along()

    def _differences(self, means, c):
        """Return the two columns in which a cluster differs most from all rows, two lines each."""
        lines = []
        for j in means.largest(means.deviations(c), 2):
            name = self.abbreviate(means.features[j].label)
            lines += name_lines(name, _SIZE, self.slot - _GAP, 1)
            lines.append(f"{means.text(j, means.mean[c, j])} ({means.text(j, means.overall[j])})")
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
        """Return where branches begin, of divided clusters and of the last ones, and the levels.

        All are in inches below the top.
        """
        y = _COSTS * (1 - self.cost) / ((1 - self.cost[-1]) or 1.0)
        top, tops = np.zeros(len(self.x)), []
        for i, pair in enumerate(self.pairs):
            tops.append(top[min(pair)])
            y[i + 1] = max(y[i + 1], y[i] + _LEVEL, tops[-1] + self.heights[i] + 2 * _GAP)
            top[pair] = y[i + 1]
        return [*tops, *top], y

    # ------------------------------------------------------------------ drawing

    def draw(self, ax, levels, title):
        """Draw everything into the given axes, or into a new figure."""
        size = np.array([max(_SIDE + len(self.x) * self.slot + _MARGIN, 3.4), 0.0])
        end = self.y[-1] + 0.3
        tall = max(len(a) + len(b) for a, b in zip(self.heads, self.ends, strict=True))
        size[1] = end + _LINE * tall + 0.3 + (self.image.leaf_height if self.image else 0.0)
        notes = [title] if title else []
        notes += [_NOTE, _IMAGES if self.image else _COLUMNS]
        notes += [f"In names, {self.abbreviate.note}."] if self.abbreviate.note else []
        lines = [line for note in notes for line in wrap(note, 8, size[0] - 2 * _MARGIN)]
        if ax is None:
            above = _LINE * 1.2 * len(lines) + 0.14
            ax = new_axes(size[0], size[1] + above, above, _SCREEN)
        self.ax, self.scale = ax, min(1.0, *(inches_of(ax) / size))
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
        ax.set_title("\n".join(lines), fontsize=8 * self.scale, parse_math=False)
        make_drawable(ax)
        return ax

    def _box(self, left, top, width, height):
        return Box(left, top, width, height, self.scale)

    def _draw_line(self, x, y, width, color, zorder):
        style = {"linewidth": width * self.scale, "solid_capstyle": "butt", "zorder": zorder}
        self.ax.plot(x, y, color=color, **style)

    def _draw_branch(self, level, c, x, top, bottom):
        """Draw the branch of cluster c of a level; return the clusters at its ends, as a mask."""
        members = self.trees.levels[level - 1] == c
        width = 0.8 + 8 * self.mass[members].sum() / self.mass.sum()
        self._draw_line([x, x], [-top, -bottom], width, tint(cluster_color(c), 0.75), 1)
        return members

    def _draw_division(self, i):
        """Draw the branch of a cluster that is divided, its test, and the bar below it."""
        y, bar, lines, height = self.y[i + 1], self.bars[i], self.tests[i], self.heights[i]
        members = self._draw_branch(i + 1, min(self.pairs[i]), bar.mean(), self.tops[i], y)
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
            box.frame(self.ax, rounded=True, fill="white", color="0.6", zorder=2.5)
        for line, place in zip(lines, box.part(margin=0.05).lines(len(lines), _LINE), strict=True):
            place.write(self.ax, line, _SIZE)

    def _draw_mean(self, box, members):
        mean = self.sums[members].sum(axis=0) / (self.mass[members].sum() or 1.0)
        self.image.draw(self.ax, box, mean, "gray_r", *self.limits).frame(self.ax, linewidth=0.5)

    def _draw_end(self, c, top):
        """Draw a cluster: its mean as an image, its name on its colour, its share and columns."""
        x, k, width, ink = self.x[c], len(self.x), self.slot - 0.08, text_color(cluster_color(c))
        members = self._draw_branch(k, c, x, self.tops[k - 1 + c], top)
        if self.image:
            side, height = self.image.width, self.image.leaf_height
            self._draw_mean(self._box(x - side / 2, -top, side, height), members)
            top += height + 0.05
        box = self._box(x - width / 2, -top, width, 0.06 + _LINE * len(self.heads[c]))
        box.frame(self.ax, rounded=True, fill=cluster_color(c), color="none")
        for line, place in zip(self.heads[c], box.lines(len(self.heads[c]), _LINE), strict=True):
            place.write(self.ax, line, _SIZE, color=ink, fontweight="bold")
        for j, line in enumerate(self.ends[c]):
            place = self._box(box.left, box.bottom - 0.04 - j * _LINE, width, _LINE)
            place.write(self.ax, line, _SIZE, color="0.15" if j % 2 else "0.4")


def _test_lines(view, width):
    """Return the test of a division in a short form."""
    if not view:
        return ["several tests"]
    if view.written is not None:
        return condition_lines(*view.written, width - 0.14, 3)
    more = len(view.terms) - _MOST_TERMS
    lines = view.term_lines(len(view.terms), _SIZE, width - 0.14)[:_MOST_TERMS]
    return [*lines, f"{f'+ {more_text(more)} ' if more > 0 else ''}≤ {view.limit}"]
