"""Lists of features: words by size, bars by length."""

from dataclasses import dataclass

import numpy as np

from ..boxes import text_width
from ..colors import NEGATIVE, POSITIVE
from ..views import number
from .base import CONDITION, LINE, write_threshold


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

    convention = ("red words push right, blue words left", CONDITION)
    leaf_convention = ("leaves show the words of largest mean",)

    @property
    def leaf_height(self):
        """All words."""
        return self.n_words * LINE + 0.08

    @property
    def test_height(self):
        """All words and the threshold."""
        return self.leaf_height + LINE + 0.03

    def draw_test(self, ax, box, split):
        """Words of a decision node, and its threshold."""
        box.frame(ax, rounded=True, fill="white")
        indices, _, effects = split.largest(self.n_words)
        order = np.lexsort((-np.abs(effects), effects < 0))
        colors = np.where(effects[order] > 0, POSITIVE, NEGATIVE)
        self._list(
            ax, box.part(height=box.height - LINE - 0.03), indices[order], effects[order], colors
        )
        write_threshold(ax, box, "w.x", split)

    def draw_leaf(self, ax, box, leaf):
        """Words of largest mean."""
        mean = leaf.mean
        indices = np.argsort(-mean, kind="stable")[: self.n_words]
        indices = indices[mean[indices] > 0]
        self._list(ax, box, indices, mean[indices], ["0.15"] * len(indices))
        return box

    def _list(self, ax, box, indices, weights, colors):
        sizes = 5.6 + 3.0 * np.abs(weights) / np.abs(weights).max(initial=1e-300)
        lines = box.part(margin=0.04).lines(len(indices), LINE)
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
        return (*bars, CONDITION)

    @property
    def test_height(self):
        """All bars and the threshold."""
        return (self.n_bars + (self.n_bars > 1)) * LINE + 0.13

    @property
    def leaf_height(self):
        """All bars."""
        return self.n_leaf_bars * LINE + 0.08

    def draw_test(self, ax, box, split):
        """Weights and threshold of a decision node."""
        box.frame(ax, rounded=True, fill="white")
        if split.condition is not None:
            box.part(margin=0.05).write(ax, split.condition, 7.5)
            return
        indices, weights, effects = split.largest(self.n_bars)
        colors = np.where(effects > 0, POSITIVE, NEGATIVE)
        texts = [number(weight, ".2g") for weight in weights]
        self._draw(ax, box.part(height=box.height - LINE - 0.03), indices, effects, colors, texts)
        write_threshold(ax, box, "sum" if len(split.indices) else "0", split)

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
        lines = box.lines(len(indices), LINE)
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
