"""Histograms of the sums that a test compares with its threshold."""

from dataclasses import dataclass

import numpy as np
from matplotlib.patches import StepPatch

from ...export.names import terms_text
from ..boxes import Box
from ..colors import NEGATIVE, POSITIVE
from .base import LINE, Glyph, write_threshold


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
        floor = box.bottom + 2 * LINE + 0.05
        plot = Box(box.left + 0.08, box.top - 0.05, box.width - 0.16, box.top - 0.05 - floor)
        self._draw_histogram(ax, plot, *split.projections(), split.threshold)
        features = "" if split.condition else terms_text(split.terms, 2, max_terms=2)
        line = box.part(box.height - 2 * LINE - 0.04, LINE, margin=0.05)
        line.write(ax, features, 6, color="0.3")
        write_threshold(ax, box, "w.x", split)

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
