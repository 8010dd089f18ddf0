"""What a glyph is, and the line of text that all tests end with."""

from typing import Protocol, runtime_checkable

from ..views import number

LINE = 0.135  # inches
CONDITION = "left where the condition holds, else right"


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


def write_threshold(ax, box, name, split):
    """The last line of a box: what is at most what."""
    line = box.part(box.height - LINE - 0.045, LINE, margin=0.05)
    line.write(ax, split.condition or f"{name} ≤ {number(split.threshold)}", 6, color="0.4")
