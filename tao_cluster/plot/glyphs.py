"""Node glyphs: objects that draw the test of a node, or the rows of a leaf, into a box."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import StepPatch

from ..columns.names import level_features, levels_text, printable
from ..export.format import more_text, value_text
from ..inspection.palette import NEGATIVE, POSITIVE, SIGNED_STOPS, cluster_color
from ..inspection.rows import Rows, picture_kind
from ..tree.conditions import level_sets
from .boxes import BARE, FULL, LINE, Sizes, fit, name_lines, text_width, word_width
from .split_view import SHADE, condition_lines, number, stacks_of, weight_text
from .style import ink, shade

# A diverging colour map that is exactly white at 0, so that every tinted pixel has a weight.
SCREEN = Sizes()
SIGNED = LinearSegmentedColormap.from_list("signed", list(SIGNED_STOPS), N=255)
_BAR_HEIGHTS = {1: LINE, 2: 1.75 * LINE}  # of a bar with a name of one or two lines, inches
_MARGINS = 0.06  # sum of the left and right margins of a condition, inches
_MOST_LINES = 5  # maximum number of lines of a condition
_NAME_SIZE, _NAME_WIDTH = 6.5, 1.02  # of a name beside a bar: size in points, width in inches
_NUMBER_SIZE, _HALF = 5.6, 0.35  # of a bar: size of its number in points, longest bar in inches
# Their widths stand for those of all numbers.
_USUAL_COMPARISON, _USUAL_WEIGHT = "≥ \N{MINUS SIGN}0.00000", "\N{MINUS SIGN}0.000"
# In inches: width of the bars of a leaf, of the largest boxes of tables, and of a shortened name at
# a leaf that can be read.
_LEAF_BAR, _WIDEST, _LEAST_NAME = 0.3, 2.05, 0.8
_STRIP = 0.05  # height of the colour scale, inches
PALE = 0.4  # darkness, from 0 to 1 (black), of the largest value of a mean image under weights
_SOLID = (0.55, 0.45)  # opacity of a weight w drawn over a mean: 0.55 + 0.45 |w| / max |w|
_N_LINES, _TEXT_SIZE = 2, 6.3  # of the text below a histogram: lines, size in points
CONDITION = "a row goes left (yes) if the condition holds, and right (no) otherwise"
_CHOICES = (
    "'auto', 'image', 'words', 'bars', 'projection' or an object with draw_test and draw_leaf"
)


@runtime_checkable
class Glyph(Protocol):
    """Protocol of the objects that draw nodes.

    Parameters
    ----------
    width : float
        Width of the boxes in inches.
    test_height : float, or float array of shape (n_nodes,)
        Heights of the boxes of tests in inches.
    leaf_height : float
        Height of the boxes of leaves in inches.
    convention, leaf_convention : tuple of str
        Phrases that explain how to read tests and leaves. The caption has all of them, and the
        legend the first one.
    counted : str, optional
        What the line above a test calls a feature, such as "word".
    """

    width: float
    test_height: Any
    leaf_height: float
    convention: tuple[str, ...]
    leaf_convention: tuple[str, ...]

    def draw_test(self, ax, box, split):
        """Draw a decision node (a `SplitView`) into a `Box`."""

    def draw_leaf(self, ax, box, leaf):
        """Draw the rows of a leaf (a `LeafView`), and return the Box that gets a frame."""


def choose_glyph(nodes, tree, rows, image_shape, feature_names, sizes=SCREEN):
    """Return the glyph for the argument `nodes` of :func:`tao_cluster.plot.plot_tree`.

    Raises
    ------
    ValueError
        If `nodes` is unknown, or if it needs an argument that is missing.
    """
    kind = picture_kind(tree, rows, image_shape, feature_names)
    if isinstance(nodes, Glyph):
        return nodes
    if nodes == "auto":
        nodes = kind
    if nodes == "image":
        if image_shape is None:
            raise ValueError("nodes='image' needs image_shape=(height, width) of the pictures.")
        return Image.from_shape(image_shape, rows is not None, sizes)
    if nodes == "words":
        n_terms = int(np.diff(tree.split_indptr).max(initial=0))
        n_words, width = sizes.n_terms + (sizes.details == FULL), sizes.box * Words.width
        return Words(feature_names, n_words, width, _has_line(n_terms - n_words, width, sizes))
    if nodes == "bars":
        return Bars.from_tree(tree, feature_names, rows, sizes)
    if nodes == "projection":
        if rows is None:
            raise ValueError("nodes='projection' needs X: its histograms are of the rows of X.")
        leaves = choose_glyph(kind, tree, rows, image_shape, feature_names, sizes)
        return Projection(leaves, feature_names, width=max(1.5 * sizes.box, leaves.width))
    raise ValueError(f"nodes must be {_CHOICES}; got {nodes!r}.")


def _has_line(n_more, width, sizes):
    """Whether the features that a test does not show are counted above its threshold."""
    joined = f"+ {n_more} more {_USUAL_COMPARISON}"
    return bool(n_more > 0 and (sizes.details == FULL or text_width(joined, 6) > width - 0.1))


def _write_threshold(ax, box, name, split, n_more=0, counted=None):
    """Write the condition of the test into the last line of its box.

    The features that the box does not show are counted in this line, or in one above it if
    `counted`, what they are called, is given.
    """
    line = box.part(box.height - LINE - 0.045, LINE, margin=0.05)
    size, style = max(6.0, line.smallest), {"color": "0.4", "may_cut": False}
    more = f"+ {n_more} more" if n_more > 0 else ""
    if more and counted:
        texts = (f"+ {more_text(n_more, counted)}", more)
        _write_first(ax, box.part(box.height - 2 * LINE - 0.045, LINE, 0.05), texts, size, style)
        more = ""
    if split.written:
        line.write(ax, split.written[0], size, kept=f" {split.written[1]}", color="0.4")
    else:
        starts = (f"{more}, {name} ", f"{more} ") if more else (f"{name} ", "")
        _write_first(ax, line, [f"{start}≤ {split.limit}" for start in starts], size, style)


def _write_first(ax, line, texts, size, style):
    """Write the first text that fits into a line, or the last one."""
    fitting = (text for text in texts if text_width(text, size) <= line.width)
    line.write(ax, next(fitting, texts[-1]), size, **style)


@dataclass(frozen=True)
class Image:
    """Glyph that draws the values of all features as the pixels of an image.

    A positive weight is red (it pushes a row to the right), a negative one is blue. A pixel of
    weight 0 shows the pale mean of the rows of the node, or is white if there are no rows. Each
    test has its own colour scale, which is drawn below it. A leaf shows the mean of its rows in
    grey: white is the smallest value of X, and black is the largest.

    Parameters
    ----------
    shape : (height, width)
    width : float, default=0.8
        Side in inches of the square into which the image fits.
    has_means : bool, default=False
        Whether weights are drawn over the means of rows. It changes only the legend.
    details : {0, 1, 2}, default=2
        See `Sizes` in `tao_cluster.plot.boxes`.
    """

    shape: tuple[int, int]
    width: float = 0.8
    has_means: bool = False
    details: int = FULL

    @classmethod
    def from_shape(cls, shape, has_means=False, sizes=SCREEN):
        """Return the glyph for images of `shape` = (height, width) in pixels.

        Larger images are drawn in larger squares; full ones have 0.8 to 1.2 inches.
        """
        width = sizes.box * float(np.clip(max(shape) / 28, 0.8, 1.2))
        return cls(tuple(shape), width, has_means, sizes.details)

    @property
    def convention(self):
        """Phrases for the legend that explain the colours."""
        none = "pale grey is the mean of the rows that reach the node, where the weight is 0"
        signs = "a row goes left if the sum of weight * pixel is at most the threshold"
        return (
            "red pixels push an image right, blue pixels push it left",
            none if self.has_means else "white is weight 0",
            signs if self.details == BARE else f"{CONDITION}; the sum is that of weight * pixel",
        )

    leaf_convention = ("leaves show the mean of their rows",)

    @property
    def leaf_height(self):
        """Height of the box of a leaf in inches: that of the image, at most its width."""
        return self.width * min(1.0, self.shape[0] / self.shape[1])

    @property
    def test_height(self):
        """Height of the box of a test in inches: the image, its colour scale and threshold."""
        below = (0.0, LINE + 0.05, _STRIP + 2 * LINE + 0.08)
        return self.leaf_height + below[self.details]

    def draw_test(self, ax, box, split):
        """Draw the weights of a decision node over the mean of its rows."""
        limit = self.draw_weights(ax, box.part(height=self.leaf_height), split)
        if split.terms and self.details == FULL:
            self._draw_scale(ax, box.part(self.leaf_height + 0.04, _STRIP), limit)
        if self.details != BARE:
            _write_threshold(ax, box, "sum" if split.terms else "0", split)

    def draw_weights(self, ax, box, split):
        """Draw the weights of a test over the mean of its rows; return the largest |weight|."""
        weights = split.shown
        limit = np.abs(weights).max(initial=0) or 1.0
        image, alpha = np.zeros((2, split.tree.n_features))
        image[split.indices] = weights
        alpha[split.indices] = _SOLID[0] + _SOLID[1] * np.abs(weights) / limit
        opacity = {"alpha": np.reshape(alpha, self.shape)} if split.rows is not None else {}
        framed = self.draw(ax, box, image, SIGNED, -limit, limit, zorder=2.5, **opacity)
        if split.rows is not None:
            low, high = split.rows.limits
            self.draw(ax, box, split.mean, "gray_r", low, low + (high - low) / PALE)
        framed.frame(ax)
        return limit

    def draw_leaf(self, ax, box, leaf):
        """Draw the mean of the rows in a leaf."""
        return self.draw(ax, box, leaf.mean, "gray_r", *leaf.rows.limits)

    def draw(self, ax, box, values, cmap, low, high, **style):
        """Draw one value per pixel, and return the box of the image."""
        height, width = self.shape
        scale = min(box.width / width, box.height / height)
        width, height = width * scale, height * scale
        place = box.at(box.x - width / 2, box.y + height / 2, width, height)
        style = {"interpolation": "nearest", "zorder": 2, **style}
        style["extent"] = (place.left, place.right, place.bottom, place.top)
        ax.imshow(np.reshape(values, self.shape), cmap=cmap, vmin=low, vmax=high, **style)
        return place

    def _draw_scale(self, ax, box, limit):
        """Draw the colour scale of a test as a strip, with the weights at its ends."""
        edges = np.linspace(box.left, box.right, 64)
        heights = [box.bottom, box.top]
        values = np.linspace(-limit, limit, 63)[None]
        ax.pcolormesh(edges, heights, values, cmap=SIGNED, vmin=-limit, vmax=limit, zorder=2)
        line = box.at(box.left, box.bottom - 0.02, box.width, LINE - 0.02)
        text = weight_text(-limit, 5.6, 0.42 * box.width).removeprefix("\N{MINUS SIGN}")
        style = {"color": "0.4", "may_cut": False}
        ends = {"max_width": 0.42 * box.width, **style}
        line.write(ax, f"\N{MINUS SIGN}{text}", 5.6, x=box.left, ha="left", **ends)
        line.write(ax, text, 5.6, x=box.right, ha="right", **ends)
        line.write(ax, "0", 5.6, max_width=0.1 * box.width, **style)


@dataclass(frozen=True)
class Words:
    """Glyph that writes the names of the features with the largest effects.

    The effect of a feature is its weight times its standard deviation over the rows of the node.
    Names with positive effects come first and are red. The others are blue. The larger the effect,
    the larger is the name. A leaf shows the names of the features with the largest means.

    Parameters
    ----------
    feature_names : list of str
    n_words : int, default=6
        Largest number of words per node.
    width : float, default=1.05
        Width of the boxes in inches.
    has_more : bool, default=False
        Whether some test has more words than its box, which has a line of its own to count them.
    """

    feature_names: list[str]
    n_words: int = 6
    width: float = 1.05
    has_more: bool = False

    counted = "word"
    convention = (
        "red words push a row right, blue words push it left",
        "larger words have larger effects (weight * standard deviation)",
        f"{CONDITION}; the sum is that of weight * value",
    )
    leaf_convention = ("leaves show the words of largest mean",)

    @property
    def leaf_height(self):
        """Height of the box of a leaf in inches: one line per word."""
        return self.n_words * LINE + 0.08

    @property
    def test_height(self):
        """Height of the box of a test in inches: one line per word, and one for the threshold."""
        return self.leaf_height + (1 + self.has_more) * LINE + 0.03

    def draw_test(self, ax, box, split):
        """Draw the words of a decision node and its threshold."""
        box.frame(ax, rounded=True, fill="1.0")
        indices, _, effects = split.largest(self.n_words)
        order = np.lexsort((-np.abs(effects), effects < 0))
        indices, effects = indices[order], effects[order]
        colors = np.where(effects > 0, POSITIVE, NEGATIVE)
        height = box.height - (1 + self.has_more) * LINE - 0.03
        self._list(ax, box.part(height=height), indices, effects, colors)
        n_more, counted = len(split.terms) - len(indices), self.counted if self.has_more else None
        _write_threshold(ax, box, "sum", split, n_more, counted)

    def draw_leaf(self, ax, box, leaf):
        """Draw the words with the largest means in a leaf."""
        indices, means = leaf.rows.words(leaf.node, self.n_words)
        self._list(ax, box, indices, means, ["0.15"] * len(indices))
        return box

    def _list(self, ax, box, indices, weights, colors):
        sizes = 5.6 + 3.0 * np.abs(weights) / np.abs(weights).max(initial=1e-300)
        lines = box.part(margin=0.04).lines(len(indices), LINE)
        for j, size, color, line in zip(indices, sizes, colors, lines, strict=True):
            line.write(ax, self.feature_names[j], size, color=str(color))


@dataclass(frozen=True)
class Bars:
    """Glyph that draws the largest effects of a test as horizontal bars, with their weights.

    The effect of a feature is its weight times its standard deviation over the rows of the node. A
    test of a single feature, or of the levels of one column, is written as a condition instead. A
    leaf shows the features in which the mean of its rows differs most from the mean of all rows:
    both means in the units of the column, "income 83 000 (47 000)", and a bar for their difference
    in standard deviations. Means of categories are shares: "island: Torgersen 84 % (15 %)".

    Parameters
    ----------
    feature_names : list of str
    n_bars : int, default=5
        Largest number of bars per test.
    n_leaf_bars : int, default=3
        Number of bars per leaf.
    width : float, default=1.75
        Width of the boxes in inches.
    n_lines : int, default=1
        Largest number of lines of a written condition.
    n_name_lines : {1, 2}, default=1
        Number of lines of the name of a feature at tests.
    is_wrapped : bool, default=False
        Whether the name of a feature at a leaf has a line of its own above its means.
    has_line : bool, default=False
        Whether further features are counted in a line of their own above the threshold.
    leaf_limit : float, default=0.0
        Longest bar of leaves with 1 % of the rows, in standard deviations; 0 if there are no bars.
    has_sums : bool, default=True
        Whether some test is a sum of several features.
    n_listed : int array of shape (n_nodes,), optional
        Number of terms of each test that are written with their weights, instead of drawn as bars.
    """

    feature_names: list[str]
    n_bars: int = 5
    n_leaf_bars: int = 3
    width: float = 1.75
    n_lines: int = 1
    n_name_lines: int = 1
    is_wrapped: bool = False
    has_line: bool = False
    leaf_limit: float = 0.0
    has_sums: bool = True
    n_listed: Any = None

    @classmethod
    def from_tree(cls, tree, feature_names, rows=None, sizes=SCREEN):
        """Return the glyph in the size that the tests and leaves of the tree need."""
        sets, is_full = level_sets(tree, level_features(tree, feature_names)), sizes.details == FULL
        n_terms = np.diff(tree.split_indptr)
        n_terms[list(sets)] = 1
        n_bars = min(sizes.n_terms, max(1, int(n_terms.max())))
        n_leaf_bars = min(sizes.n_lines, tree.n_features)
        leaves = () if rows is None else tree.leaves.tolist()
        means = {leaf: rows.differences(leaf, n_leaf_bars, feature_names) for leaf in leaves}
        found = [each for own in means.values() for each in own]
        size = max(_NAME_SIZE, sizes.smallest)
        tested = [feature_names[j] for j in tree.used_features]
        names = [*tested, *(each.name for each in found)]
        lines = [line for name in names for line in name_lines(name, size, _NAME_WIDTH)]
        widest = max((text_width(line, size) for line in lines), default=0.0) + 0.92
        # A single bar for each leaf says little, and without differences there is none.
        # A few rows can lie far away, such as those without a segment. They do not set the scale.
        large = [own for leaf, own in means.items() if 100 * rows.counts[leaf] >= rows.counts[0]]
        limit = max((abs(each.deviation) for own in large for each in own), default=0.0)
        limit = limit if n_leaf_bars > 1 and limit > 1e-9 else 0.0
        numbers = [text_width(each.text, size) + _LEAF_BAR * (limit > 0) for each in found]
        pairs = [(text_width(each.name, size), n) for each, n in zip(found, numbers, strict=True)]
        wanted = max([widest, *(min(0.25 + name + n, _WIDEST) for name, n in pairs)])
        single = [i for i in tree.decision_nodes if n_terms[i] == 1 and i not in sets]
        written = [_written_set(found, feature_names) for found in sets.values()]
        written += [(feature_names[tree.split(i)[0][0]], _USUAL_COMPARISON) for i in single]
        # Words of the usual length are not broken, nor numbers, however small the boxes are.
        word = max((word_width(column, size) for column, _ in written), default=0.0)
        width = sizes.box * float(np.clip(wanted, 1.2, _WIDEST))
        both = max([0.0, *numbers]) * max(_NUMBER_SIZE, sizes.smallest) / size + 0.1
        width = max(width, min(word, _LEAST_NAME) + _MARGINS + 0.01, both)
        least = max((min(name, _LEAST_NAME) + n for name, n in pairs), default=0.0)
        is_wrapped = least > width - 0.2
        n_leaf_bars = min(n_leaf_bars, 2) if is_wrapped else n_leaf_bars
        most = _MOST_LINES if is_full else 3
        texts = [condition_lines(*pair, width - _MARGINS, most, size) for pair in written]
        n_lines = max(map(len, texts), default=1)
        start, beside = ("", _NAME_WIDTH) if is_full else (f"{_USUAL_WEIGHT} ", width - 0.12)
        n_name_lines = 1 + any(text_width(start + name, size) > beside for name in tested)
        shape = (n_bars, n_leaf_bars, width, n_lines, n_name_lines, is_wrapped)
        has_line = _has_line(n_terms.max() - n_bars, width, sizes)
        listed = None if is_full else np.minimum(n_terms, n_bars)
        return cls(feature_names, *shape, has_line, limit, bool(n_terms.max() > 1), listed)

    @property
    def convention(self):
        """Phrases for the legend that explain the bars and the condition of a test."""
        bars = (
            "red bars push a row right, blue bars push it left",
            "bars show weight * standard deviation",
        )
        if self.n_listed is not None:
            bars = ("red weights push a row right, blue weights push it left",)
        return (*bars, CONDITION) if self.has_sums else (CONDITION,)

    @property
    def leaf_convention(self):
        """Phrases for the legend that explain the means and bars of leaves."""
        means = "leaves show means, and in parentheses those of all rows"
        bars = "bars of leaves are the differences in standard deviations"
        return (means, bars) if self.leaf_limit else (means,)

    @property
    def test_height(self):
        """Height in inches of the box of a test: its bars and, if several, its threshold."""
        n_bars = self.n_bars if self.n_listed is None else self.n_listed
        bars = n_bars * _BAR_HEIGHTS[self.n_name_lines] + (1 + self.has_line) * LINE
        bars = bars if self.has_sums else LINE
        return np.maximum(bars, self.n_lines * LINE) + (0.13 if self.n_listed is None else 0.08)

    @property
    def leaf_height(self):
        """Height of the box of a leaf in inches: one line per feature, or two for long names."""
        return self.n_leaf_bars * (1 + self.is_wrapped) * LINE + 0.08 * (self.n_leaf_bars > 0)

    def draw_test(self, ax, box, split):
        """Draw the weights and the threshold of a decision node."""
        box.frame(ax, rounded=True, fill="1.0")
        if split.written is not None:
            size = max(_NAME_SIZE, box.smallest)
            lines = condition_lines(*split.written, box.width - _MARGINS, self.n_lines, size)
            comparison = split.written[1]
            for line, part in zip(lines, box.lines(len(lines), LINE), strict=True):
                # A part of the names of levels may be left out, but not of a value.
                ends = () if "{" in comparison else (comparison, line)
                kept = next((x for x in ends if line.endswith(x) and comparison.endswith(x)), "")
                name = line.removesuffix(kept)
                size = 7.5 if len(lines) == 1 else _NAME_SIZE
                part.part(margin=_MARGINS / 2).write(ax, name, size, kept=kept)
            return
        indices, weights, effects = split.largest(self.n_bars)
        place = box.part(height=box.height - (1 + self.has_line) * LINE - 0.03)
        largest = np.abs(effects).max(initial=0) or 1.0
        lines = place.lines(len(indices), _BAR_HEIGHTS[self.n_name_lines])
        for j, weight, value, line in zip(indices, weights, effects, lines, strict=True):
            name, color = self.feature_names[j], POSITIVE if value > 0 else NEGATIVE
            text = weight_text(weight, _NUMBER_SIZE, _HALF - 0.03)
            if self.n_listed is not None:
                _write_name(ax, line, f"{text} {name}", line.width - 0.12, color)
                continue
            zero, side = line.right - _HALF - 0.05, -1 if value > 0 else 1
            _write_name(ax, line, name, zero - _HALF - 0.11 - line.left)
            line.bar(ax, zero, _HALF * value / largest, 0.085, ink(color), zorder=4)
            # The weight is on the other side of the zero line than the bar.
            style = {"x": zero + side * 0.03, "ha": "right" if value > 0 else "left"}
            style |= {"max_width": _HALF - 0.03, "may_cut": False, "color": "0.4"}
            line.write(ax, text, _NUMBER_SIZE, **style)
            _draw_zero(ax, line, zero)
        n_more, counted = len(split.terms) - len(indices), "feature" if self.has_line else None
        _write_threshold(ax, box, "sum" if split.terms else "0", split, n_more, counted)

    def draw_leaf(self, ax, box, leaf):
        """Draw the features in which the mean of a leaf differs most from that of all rows."""
        found = leaf.rows.differences(leaf.node, self.n_leaf_bars, self.feature_names)
        wide = _LEAF_BAR * (self.leaf_limit > 0)
        lines = box.lines(len(found), (1 + self.is_wrapped) * LINE)
        for each, line in zip(found, lines, strict=True):
            last = line.part(line.height - LINE, margin=0.05)
            if self.leaf_limit:
                zero = last.right - wide / 2 + 0.03
                bar = (wide / 2 - 0.03) * np.clip(each.deviation / self.leaf_limit, -1, 1)
                last.bar(ax, zero, bar, 0.075, ink(leaf.color), zorder=4)
                _draw_zero(ax, last, zero)
            style = {"x": last.right - wide, "ha": "right", "max_width": last.width - wide}
            last.write(ax, each.text, _NUMBER_SIZE, color="0.3", may_cut=False, **style)
            numbers = text_width(each.text, max(_NUMBER_SIZE, box.smallest)) + wide + 0.05
            name = line.part(height=LINE)
            rest = name.width - 0.1 - (0.0 if self.is_wrapped else numbers)
            _write_name(ax, name, each.name, rest)
        return box


def _draw_zero(ax, line, zero):
    """Draw the zero line of a bar."""
    style = {"color": ink("0.35"), "linewidth": 0.6 * line.scale, "zorder": 4}
    ax.plot([zero, zero], [line.top, line.bottom], **style)


def _write_name(ax, box, name, max_width, color="0.15"):
    """Write the name of a feature at the left, on two lines if the box is high enough."""
    size, lines = max(_NAME_SIZE, box.smallest), [name]
    if box.height > LINE and text_width(name, size) > max_width:
        lines = name_lines(name, size, max_width)
    for text, line in zip(lines, box.lines(len(lines), 0.7 * LINE), strict=True):
        place = {"x": box.left + 0.06, "ha": "left", "max_width": max_width}
        line.write(ax, text, _NAME_SIZE, color=color, **place)


def _written_set(found, feature_names):
    """Return the column of a LevelSet and the comparison with its levels, as two strings."""
    column, names = printable(found.variable), [feature_names[j] for j in found.features]
    text = levels_text(found.variable, names, is_listed=found.is_listed)
    return column, text.removeprefix(f"{column} ")


@dataclass(frozen=True)
class Projection:
    """Glyph that draws a histogram of the values that a test compares with its threshold.

    These are the values of the feature, or the weighted sum w.x of several features, over the rows
    of the node. Rows are stacked in the colours of their clusters. A line marks the threshold, and
    the side of the rows that go left is grey. The pictures follow those of the package dtreeviz.

    Parameters
    ----------
    leaves : Glyph
        The glyph that draws the leaves.
    feature_names : list of str
    n_bins : int, default=24
        Approximate number of bins of each histogram.
    test_height : float, default=1.1
        Height of the boxes of tests in inches.
    width : float, default=1.5
        Width of all boxes in inches.
    """

    leaves: Any
    feature_names: list[str]
    n_bins: int = 24
    test_height: float = 1.1
    width: float = 1.5

    convention = (
        "rows on the grey side of the threshold go left, the others right",
        "histograms show the tested values, by cluster",
    )

    @property
    def leaf_height(self):
        """Height of a leaf in inches, as the glyph `leaves` defines it."""
        return self.leaves.leaf_height

    @property
    def leaf_convention(self):
        """Phrases for the legend that explain a leaf, as the glyph `leaves` defines them."""
        return self.leaves.leaf_convention

    def draw_test(self, ax, box, split):
        """Draw the histogram, its axis with the threshold, and the features."""
        box.frame(ax, rounded=True, fill="1.0")
        text_height = _N_LINES * 0.8 * LINE
        below = text_height + LINE + 0.06
        plot = box.part(0.05, box.height - 0.05 - below, margin=0.08)
        stacks = stacks_of(split, self.n_bins)
        _draw_stacks(ax, plot, stacks, split.labels)
        axis = box.part(box.height - below + 0.01, LINE, margin=0.04)
        if stacks.ticks:
            _write_levels(ax, plot, axis, stacks)
        else:
            _write_axis(ax, plot, axis, stacks, split)
        if split.written is None:
            lines = split.term_lines(_N_LINES, _TEXT_SIZE, box.width - 0.1)
        else:
            lines = condition_lines(*split.written, box.width - 0.1, _N_LINES)
        text = box.part(box.height - text_height - 0.03, text_height, margin=0.05)
        for line, part in zip(lines, text.lines(len(lines), 0.8 * LINE), strict=True):
            part.write(ax, line, _TEXT_SIZE, color="0.3", may_cut="{" in line)

    def draw_leaf(self, ax, box, leaf):
        """Draw a leaf with the glyph `leaves`."""
        return self.leaves.draw_leaf(ax, box, leaf)


def _draw_stacks(ax, box, stacks, labels):
    """Draw stacked bars into a box, with the grey side and the line of the threshold."""
    low, high = stacks.edges[[0, -1]]
    scale = box.width / (high - low)
    start, end = (box.left + (x - low) * scale for x in stacks.left_range)
    box.bar(ax, start, end - start, box.height, shade(SHADE), zorder=3.2)
    unit = 0.97 * box.height / (stacks.heights.sum(axis=0).max(initial=0) or 1)
    places = box.left + (stacks.edges - low) * scale
    for cluster, base, top in stacks.steps(unit):
        color = cluster_color(cluster, labels[cluster])
        style = {"facecolor": color, "fill": True, "linewidth": 0, "zorder": 4}
        patch = StepPatch(box.bottom + top, places, baseline=box.bottom + base, **style)
        ax.add_artist(patch)
    outline = {"edgecolor": ink("0.35"), "linewidth": 0.5 * box.scale, "zorder": 4.2}
    total = box.bottom + stacks.heights.sum(axis=0) * unit
    ax.add_artist(StepPatch(total, places, baseline=box.bottom, fill=False, **outline))
    bottom = [box.bottom, box.bottom]
    ax.plot([box.left, box.right], bottom, color=ink("0.35"), linewidth=0.6 * box.scale, zorder=4.5)
    at = end if stacks.left_range[0] == low else start
    line = {"color": ink("0.0"), "linewidth": 0.9 * box.scale, "zorder": 5}
    ax.plot([at, at], [box.bottom - 0.03, box.top + 0.02], **line)


def _write_axis(ax, plot, line, stacks, split):
    """Write the threshold below its line, and the ends of the axis where there is space."""
    low, high = stacks.edges[[0, -1]]
    threshold = next(x for x in stacks.left_range if low < x < high)
    at = plot.left + (threshold - low) * plot.width / (high - low)
    text, size = fit(split.limit, 6.3, line.width, may_cut=False, smallest=line.smallest)
    half = text_width(text, size) / 2
    at = float(np.clip(at, line.left + half, line.right - half))
    line.write(ax, text, size, x=at, may_cut=False, color="0.0", fontweight="bold")
    for value, x, side in ((low, plot.left, "left"), (high, plot.right, "right")):
        text = _axis_number(split, value, high - low)
        space = abs(at - x) - 1.12 * half - 0.05
        if text_width(text, max(5.6, line.smallest)) <= space:
            line.write(ax, text, 5.6, x=x, ha=side, color="0.4", max_width=space, may_cut=False)


def _write_levels(ax, plot, line, stacks):
    """Write the name of each bar below it."""
    width = plot.width / len(stacks.ticks)
    for x, name in stacks.ticks:
        line.write(ax, name, 5.8, x=plot.left + x * width, color="0.3", max_width=width - 0.04)


def _axis_number(split, value, length):
    """Return a number at the axis of a test, rounded to a hundredth of the length of the axis."""
    name = split.terms[0]["name"] if len(split.terms) == 1 else ""
    date = value_text(name, value)
    if date:
        return date
    decimals = max(0, 2 - int(np.floor(np.log10(length)))) if length > 0 else 2
    rounded = round(float(value), decimals)
    return number(rounded + 0.0, ".3g" if abs(rounded) < 1e3 or abs(rounded) >= 1e6 else ".0f")


@dataclass(frozen=True, eq=False)
class LeafView:
    """The data of a leaf that glyphs draw; they draw leaves only if plot_tree was given X.

    Parameters
    ----------
    tree : Tree
    node : int
    rows : Rows, or None
    name : str, name of the cluster
    """

    tree: Any
    node: int
    rows: Rows | None
    name: str

    @property
    def label(self):
        """Number of the cluster."""
        return int(self.tree.leaf_label[self.node])

    @property
    def color(self):
        """Colour of the cluster."""
        return cluster_color(self.label, self.name)

    @property
    def mean(self):
        """Mean of each feature over the rows of the leaf; 0 if there are none."""
        return self.rows.means[self.node]
