"""Boxes, where a glyph draws, with text that keeps to them."""

import functools
from dataclasses import dataclass

from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path

_SMALLEST = 5.4  # points; a longer text is cut
_HINTING = 1.06  # drawn text is that much wider than its outline, at most


@dataclass(frozen=True)
class Box:
    """A rectangle, in inches of the drawing.

    Parameters
    ----------
    left, top, width, height : float
    scale : float, size of the drawing's inch on paper, for sizes of text
    """

    left: float
    top: float
    width: float
    height: float
    scale: float = 1.0

    @property
    def x(self):
        """Horizontal centre."""
        return self.left + self.width / 2

    @property
    def y(self):
        """Vertical centre."""
        return self.top - self.height / 2

    @property
    def right(self):
        """Right edge."""
        return self.left + self.width

    @property
    def bottom(self):
        """Lower edge."""
        return self.top - self.height

    def part(self, top=0.0, height=None, margin=0.0):
        """The part that starts `top` below the upper edge, with a margin left and right."""
        height = self.height - top if height is None else height
        width = self.width - 2 * margin
        return Box(self.left + margin, self.top - top, width, height, self.scale)

    def lines(self, n, height):
        """N parts of one height, below each other, vertically centred."""
        start = (self.height - n * height) / 2
        return [self.part(start + i * height, height) for i in range(n)]

    def frame(self, ax, *, rounded=False, color="0.35", fill="none", linewidth=0.8, zorder=3):
        """Draw the outline."""
        style = "round,pad=0,rounding_size=0.05" if rounded else "square,pad=0"
        patch = FancyBboxPatch(
            (self.left, self.bottom),
            self.width,
            self.height,
            boxstyle=style,
            edgecolor=color,
            facecolor=fill,
            linewidth=linewidth * self.scale,
            zorder=zorder,
        )
        ax.add_artist(patch)

    def bar(self, ax, left, width, height, color, zorder=2):
        """Draw a horizontal bar at half height; of negative width, it goes to the left."""
        place = (left, self.y - height / 2)
        ax.add_artist(Rectangle(place, width, height, color=color, linewidth=0, zorder=zorder))

    def write(self, ax, text, size, *, x=None, ha="center", room=None, may_cut=True, **style):
        """Write one line at half height, smaller or cut where it does not fit.

        Parameters
        ----------
        text : str, never read as formulas
        size : float, points
        x : float, default the centre
        room : float, inches it may take, default the width
        may_cut : bool, default=True
            Whether a long text loses its end: half a number would be another one.
        **style : further properties of the text
        """
        text, size = fit(text, size, self.width if room is None else room, may_cut)
        style = {"va": "center_baseline", "zorder": 5, "color": "0.15", **style}
        x = self.x if x is None else x
        size *= self.scale
        return ax.text(x, self.y, text, ha=ha, fontsize=size, parse_math=False, **style)


def fit(text, size, room, may_cut=True):
    """Text and size in points that take at most `room` inches: first smaller, then cut."""
    natural = _natural_width(text)
    if natural == 0 or size * natural <= room:
        return text, size
    if _SMALLEST * natural <= room or not may_cut:
        return text, room / natural
    fits, too_long = 1, len(text)  # characters: bisected, since long texts are slow to measure
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if _SMALLEST * _natural_width(text[:middle] + "…") <= room:
            fits = middle
        else:
            too_long = middle
    return text[:fits] + "…", _SMALLEST


def text_width(text, size):
    """Inches that a line of text takes at a size in points."""
    return size * _natural_width(text)


def wrap(text, size, room):
    """Lines of whole words that take at most `room` inches; lines of the text stay lines."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if line and text_width(longer, size) > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


@functools.lru_cache(4096)
def _natural_width(text):
    """Width in inches at a size of one point."""
    # Measured at a size where rounding does not matter.
    font = FontProperties(family="sans-serif", size=100)
    return text_to_path.get_text_width_height_descent(text, font, False)[0] / 7200 * _HINTING
