"""Node glyphs: small objects that draw what a node tests, or what a leaf holds, into a box."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from matplotlib.patches import StepPatch

from ..export.names import terms_text
from ..rows import picture_kind
from .boxes import Box, text_width
from .colors import NEGATIVE, POSITIVE, SIGNED
from .views import number

_LINE = 0.135  # inches
_CONDITION = "left where the condition holds, else right"


@runtime_checkable
class Glyph(Protocol):
    """What draws nodes.

    `width` is that of its boxes in inches, `test_height` and `leaf_height` are their heights;
    `convention` and `leaf_convention` say in phrases how to read them.
    """

    width: float
    test_height: float
    leaf_height: float
    convention: tuple[str, ...]
    leaf_convention: tuple[str, ...]

    def draw_test(self, ax, box, split):
        """Draw a decision node, a `SplitView`, into a box."""

    def draw_leaf(self, ax, box, leaf):
        """Draw the rows of a leaf, a `LeafView`, into a box; returns the box to be framed."""


@dataclass(frozen=True)
class Image:
    """Values of all features as a picture.

    Weights: a diverging scale symmetric about 0, white exactly 0, red positive (pushes a row to
    the right), blue negative. Means: grey, from the least to the largest value of the data.

    Parameters
    ----------
    shape : (height, width)
    width : float, inches, of a square that it fits into
    """

    shape: tuple[int, int]
    width: float = 0.8

    @classmethod
    def of(cls, shape):
        """A size at which single pixels are seen."""
        return cls(tuple(shape), float(np.clip(max(shape) / 28, 0.8, 1.2)))

    convention = (
        "red pixels push right, blue pixels left",
        "white is weight 0",
        "left if w.x <= threshold, else right",
    )
    leaf_convention = ("leaves show the mean of their rows",)

    @property
    def test_height(self):
        """In proportion to the width, but not above it."""
        return self.width * min(1.0, self.shape[0] / self.shape[1])

    leaf_height = test_height

    def draw_test(self, ax, box, split):
        """Weights of a decision node."""
        image = np.zeros(split.tree.n_features)
        image[split.indices] = split.shown
        limit = np.abs(split.shown).max(initial=0) or 1.0
        if split.condition is not None:
            _write_threshold(ax, box, "", split)
            box = box.part(height=box.height - _LINE - 0.03)
        self.draw(ax, box, image, SIGNED, -limit, limit).frame(ax)

    def draw_leaf(self, ax, box, leaf):
        """Mean of the rows in a leaf."""
        return self.draw(ax, box, leaf.mean, "gray_r", *leaf.rows.limits)

    def draw(self, ax, box, values, cmap, low, high):
        """Draw one value a pixel; returns the box that the picture takes."""
        height, width = self.shape
        scale = min(box.width / width, box.height / height)
        width, height = width * scale, height * scale
        place = Box(box.x - width / 2, box.y + height / 2, width, height, box.scale)
        ax.imshow(
            np.reshape(values, self.shape),
            cmap=cmap,
            vmin=low,
            vmax=high,
            extent=(place.left, place.right, place.bottom, place.top),
            interpolation="nearest",
            zorder=2,
        )
        return place


@dataclass(frozen=True)
class Words:
    """The words of largest effect: red ones, then blue ones, larger where the effect is.

    Parameters
    ----------
    feature_names : list of str
    n_words : int, most words a node
    width : float, inches
    """

    feature_names: list[str]
    n_words: int = 6
    width: float = 1.05

    convention = ("red words push right, blue words left", _CONDITION)
    leaf_convention = ("leaves show the words of largest mean",)

    @property
    def leaf_height(self):
        """All words."""
        return self.n_words * _LINE + 0.08

    @property
    def test_height(self):
        """All words and the threshold."""
        return self.leaf_height + _LINE + 0.03

    def draw_test(self, ax, box, split):
        """Words of a decision node, and its threshold."""
        box.frame(ax, rounded=True, fill="white")
        indices, _, effects = split.largest(self.n_words)
        order = np.lexsort((-np.abs(effects), effects < 0))
        colors = np.where(effects[order] > 0, POSITIVE, NEGATIVE)
        self._list(
            ax, box.part(height=box.height - _LINE - 0.03), indices[order], effects[order], colors
        )
        _write_threshold(ax, box, "w.x", split)

    def draw_leaf(self, ax, box, leaf):
        """Words of largest mean."""
        mean = leaf.mean
        indices = np.argsort(-mean, kind="stable")[: self.n_words]
        indices = indices[mean[indices] > 0]
        self._list(ax, box, indices, mean[indices], ["0.15"] * len(indices))
        return box

    def _list(self, ax, box, indices, weights, colors):
        sizes = 5.6 + 3.0 * np.abs(weights) / np.abs(weights).max(initial=1e-300)
        lines = box.part(margin=0.04).lines(len(indices), _LINE)
        for j, size, color, line in zip(indices, sizes, colors, lines, strict=True):
            line.write(ax, self.feature_names[j], size, color=str(color))


@dataclass(frozen=True)
class Bars:
    """Horizontal bars of the largest effects with their weights; one feature is written out.

    Leaves: the features in which the mean of the rows is farthest from that of all rows, in
    standard deviations.

    Parameters
    ----------
    feature_names : list of str
    n_bars : int, most bars a node
    n_leaf_bars : int, bars of a leaf
    width : float, inches
    """

    feature_names: list[str]
    n_bars: int = 5
    n_leaf_bars: int = 3
    width: float = 1.75

    leaf_convention = ("leaves show differences from the mean of all rows, in standard deviations",)

    @classmethod
    def of(cls, tree, feature_names):
        """Boxes that are as large as the tests of the tree ask for."""
        most = int(np.diff(tree.split_indptr).max())
        used = [text_width(feature_names[j], 6.5) for j in tree.used_features]
        width = float(np.clip(max(used, default=0.0) + 0.85, 1.2, 1.9))
        return cls(feature_names, min(5, max(1, most)), min(3, tree.n_features), width)

    @property
    def convention(self):
        """Of bars only where there are some."""
        bars = ("red bars push right, blue bars left, by weight times spread",)
        bars = bars if self.n_bars > 1 else ()
        return (*bars, _CONDITION)

    @property
    def test_height(self):
        """All bars and the threshold."""
        return (self.n_bars + (self.n_bars > 1)) * _LINE + 0.13

    @property
    def leaf_height(self):
        """All bars."""
        return self.n_leaf_bars * _LINE + 0.08

    def draw_test(self, ax, box, split):
        """Weights and threshold of a decision node."""
        box.frame(ax, rounded=True, fill="white")
        if split.condition is not None:
            box.part(margin=0.05).write(ax, split.condition, 7.5)
            return
        indices, weights, effects = split.largest(self.n_bars)
        colors = np.where(effects > 0, POSITIVE, NEGATIVE)
        texts = [number(weight, ".2g") for weight in weights]
        self._draw(ax, box.part(height=box.height - _LINE - 0.03), indices, effects, colors, texts)
        _write_threshold(ax, box, "sum" if len(split.indices) else "0", split)

    def draw_leaf(self, ax, box, leaf):
        """Largest deviations of the mean."""
        deviation = leaf.deviation
        indices = np.argsort(-np.abs(deviation), kind="stable")[: self.n_leaf_bars]
        shown = deviation[indices]
        texts = [number(value, "+.1f") for value in shown]
        self._draw(ax, box, indices, shown, [leaf.color] * len(shown), texts)
        return box

    def _draw(self, ax, box, indices, values, colors, texts):
        """Names on the left; bars from a zero line, their values on its empty side."""
        half = 0.3
        zero = box.right - half - 0.05
        largest = np.abs(values).max(initial=0) or 1.0
        lines = box.lines(len(indices), _LINE)
        for j, value, color, text, line in zip(indices, values, colors, texts, lines, strict=True):
            room = zero - half - 0.05 - box.left
            name = self.feature_names[j]
            line.write(ax, name, 6.5, x=box.left + 0.06, ha="left", room=room - 0.06)
            line.bar(ax, zero, half * value / largest, 0.085, color, zorder=4)
            side = -1 if value > 0 else 1
            align = "right" if value > 0 else "left"
            place = {"x": zero + side * 0.03, "ha": align, "room": half - 0.03}
            line.write(ax, text, 5.6, color="0.4", may_cut=False, **place)
        if lines:
            ends = [lines[0].top, lines[-1].bottom]
            ax.plot([zero, zero], ends, color="0.35", linewidth=0.6 * box.scale, zorder=4)


@dataclass(frozen=True)
class Projection:
    """Histogram of w.x over the rows of a node by the side they take, and the threshold.

    Parameters
    ----------
    leaves : Glyph that draws the leaves
    feature_names : list of str
    n_bins : int
    test_height : float, inches
    """

    leaves: Glyph
    feature_names: list[str]
    n_bins: int = 24
    test_height: float = 0.95

    @property
    def width(self):
        """Wide enough for the leaves."""
        return max(1.3, self.leaves.width)

    @property
    def leaf_height(self):
        """As the other glyph has it."""
        return self.leaves.leaf_height

    @property
    def convention(self):
        """What the colours are."""
        return (
            "histograms of w.x: blue rows go left (w.x <= threshold), red rows right",
            "the line is the threshold",
        )

    @property
    def leaf_convention(self):
        """As the other glyph has it."""
        return self.leaves.leaf_convention

    def draw_test(self, ax, box, split):
        """Histogram, threshold and the features."""
        box.frame(ax, rounded=True, fill="white")
        floor = box.bottom + 2 * _LINE + 0.05
        plot = Box(box.left + 0.08, box.top - 0.05, box.width - 0.16, box.top - 0.05 - floor)
        self._draw_histogram(ax, plot, *split.projections(), split.threshold)
        features = "" if split.condition else terms_text(split.terms, 2, max_terms=2)
        line = box.part(box.height - 2 * _LINE - 0.04, _LINE, margin=0.05)
        line.write(ax, features, 6, color="0.3")
        _write_threshold(ax, box, "w.x", split)

    def draw_leaf(self, ax, box, leaf):
        """As the other glyph draws it."""
        return self.leaves.draw_leaf(ax, box, leaf)

    def _draw_histogram(self, ax, box, values, goes_left, threshold):
        """Rows of both sides, stacked, and the line."""
        low = min(values.min(initial=np.inf), threshold)
        high = max(values.max(initial=-np.inf), threshold)
        edges = np.linspace(low, high if high > low else low + 1.0, self.n_bins + 1)
        left, right = (np.histogram(values[side], edges)[0] for side in (goes_left, ~goes_left))
        unit = box.height / max(1, np.max(left + right))
        base = np.full(self.n_bins, box.bottom)
        middle, top = base + left * unit, base + (left + right) * unit
        scale = box.width / (edges[-1] - low)
        places = box.left + (edges - low) * scale
        for lower, upper, color in ((base, middle, NEGATIVE), (middle, top, POSITIVE)):
            style = {"facecolor": color, "fill": True, "linewidth": 0, "zorder": 4}
            ax.add_artist(StepPatch(upper, places, baseline=lower, **style))
        at = box.left + (threshold - low) * scale
        ends = [box.bottom, box.top + 0.02]
        ax.plot([at, at], ends, color="black", linewidth=0.9, zorder=5)


def _write_threshold(ax, box, name, split):
    """The last line of a box: what is at most what."""
    line = box.part(box.height - _LINE - 0.045, _LINE, margin=0.05)
    line.write(ax, split.condition or f"{name} ≤ {number(split.threshold)}", 6, color="0.4")


# ---------------------------------------------------------------- which one


def choose_glyph(nodes, tree, rows, image_shape, feature_names):
    """The glyph object that `nodes` of :func:`tao_cluster.plot.plot_tree` stands for.

    Raises
    ------
    ValueError
        If `nodes` is unknown, or what it needs is missing.
    """
    if image_shape is not None and image_shape[0] * image_shape[1] != tree.n_features:
        raise ValueError(f"image_shape {image_shape} does not hold {tree.n_features} features.")
    if not isinstance(nodes, str):
        if isinstance(nodes, Glyph):
            return nodes
        raise ValueError(f"nodes must be {_CHOICES}; got {nodes!r}.")
    if nodes == "auto":
        nodes = picture_kind(tree, rows, image_shape, feature_names)
    if nodes not in _MAKERS:
        raise ValueError(f"nodes must be {_CHOICES}; got {nodes!r}.")
    return _MAKERS[nodes](tree, rows, image_shape, feature_names)


def _make_image(tree, rows, image_shape, feature_names):
    if image_shape is None:
        raise ValueError("nodes='image' needs image_shape, the height and width of a picture.")
    return Image.of(image_shape)


def _make_projection(tree, rows, image_shape, feature_names):
    if rows is None:
        raise ValueError("nodes='projection' needs X, the rows whose sums w.x it shows.")
    leaves = _MAKERS[picture_kind(tree, rows, image_shape, feature_names)]
    return Projection(leaves(tree, rows, image_shape, feature_names), feature_names)


_MAKERS = {
    "image": _make_image,
    "words": lambda tree, rows, image_shape, names: Words(names),
    "bars": lambda tree, rows, image_shape, names: Bars.of(tree, names),
    "projection": _make_projection,
}
_CHOICES = f"{', '.join(map(repr, ('auto', *_MAKERS)))} or an object with draw_test and draw_leaf"
