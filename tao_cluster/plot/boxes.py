"""Boxes: rectangles that glyphs draw into, text that fits into them, and the sizes of both."""

import functools
import itertools
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from matplotlib.font_manager import FontProperties, get_font
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path

from ..columns.names import MARK, brief
from .style import TEXT, default_font, drawable, ink

SMALLEST = 5.4  # smallest font size in points; text that does not fit at this size is cut
_BREAKS = r" _/.,;:\-"  # a name may be broken behind one of these characters
_HINTING = 1.06  # drawn text is at most this many times as wide as its outline
_OVERLAP = 0.25  # of a line of text, in which two boxes of text may overlap
_LEAST_CUT = 9  # characters that remain at least of a line that is cut
LINE = 0.135  # height of a line of text, inches
FULL, BRIEF, BARE = 2, 1, 0  # what the nodes of a picture show; see `Sizes.details`


class Sizes(NamedTuple):
    """Sizes of the nodes of a tree in inches of the drawing, and how much the nodes show.

    A drawing is magnified as a whole until its smallest text has the size that its reader needs.

    Parameters
    ----------
    smallest : float, points
        Size of the smallest text. A text that does not fit at this size is cut.
    n_terms, n_lines : int
        Largest number of bars or words at a test, and of features or words at a leaf.
    box : float
        Width of the boxes, relative to that of full boxes.
    details : {0, 1, 2}
        FULL boxes have counts above nodes, weights beside bars and colour scales. BRIEF boxes do
        not. BARE leaves are labels, with shares if `n_lines` > 0; BARE images have no thresholds.
    space, gap : float, inches
        Smallest gaps between the boxes of a level, and between two levels.
    is_horizontal, is_staggered, is_folded : bool
        Whether the root is on the left, whether one of two sibling leaves stands a level lower, and
        whether a tree of many levels may be folded into columns.
    """

    smallest: float = SMALLEST
    n_terms: int = 5
    n_lines: int = 3
    box: float = 1.0
    details: int = FULL
    space: float = 0.14
    gap: float = 0.26
    is_horizontal: bool = False
    is_staggered: bool = False
    is_folded: bool = True


# The forms of a tree, from the fullest to the shortest. The box of each is its narrowest one.
FORM_SIZE = 6.0  # points, of the smallest text of a form before the drawing is magnified
FORMS = (
    Sizes(FORM_SIZE, 5, 3, 0.8, FULL, 0.14, 0.26),
    Sizes(FORM_SIZE, 4, 2, 0.6, BRIEF, 0.1, 0.22),
    Sizes(FORM_SIZE, 3, 1, 0.5, BRIEF, 0.08, 0.2),
    Sizes(FORM_SIZE, 2, 1, 0.4, BRIEF, 0.06, 0.18),
    Sizes(FORM_SIZE, 1, 0, 0.3, BRIEF, 0.05, 0.17),
    Sizes(FORM_SIZE, 1, 1, 0.4, BARE, 0.025, 0.1),
    Sizes(FORM_SIZE, 1, 0, 0.15, BARE, 0.025, 0.1),
)
# Forms of sums for a free height: narrow boxes with as many terms as possible.
_LOW = (FORMS[1], *FORMS[4:6])
HIGH = tuple(form._replace(n_terms=n, box=0.3) for n in (12, 5, 3) for form in _LOW)
# By how much boxes must be wider to be preferred: in a tree from left to right, and folded.
_TURNED, _FOLDED = 0.15, 0.1


def sizes_of(forms, orientation, may_fold):
    """Yield the Sizes of the forms of a tree in the order in which they are tried.

    Parameters
    ----------
    forms : sequence of Sizes
    orientation : {"auto", "vertical", "horizontal"}
    may_fold : bool, whether the tree may be folded
    """
    turned = {"vertical": (False,), "horizontal": (True,)}.get(orientation, (False, True))
    # In two rows, a leaf looks deeper than it is: this is tried where no form fits otherwise.
    for is_staggered, form in itertools.product((False, True)[: 1 + (False in turned)], forms):
        boxes = np.arange(1.0, form.box - 1e-6, -0.1 if form.box > 0.2 else -0.05).tolist()
        tried = [
            (_TURNED * is_turned + _FOLDED * is_folded - box, box, is_turned, is_folded)
            for is_turned in ((False,) if is_staggered else turned)
            for is_folded in (False, True)[: 1 + may_fold]
            for box in boxes
        ]
        for _, box, is_turned, is_folded in sorted(tried, key=lambda one: one[0]):
            yield Sizes(*form._replace(box=box)[:7], is_turned, is_staggered, is_folded)


@dataclass(frozen=True)
class Box:
    """A rectangle of a drawing.

    Parameters
    ----------
    left, top, width, height : float
        Inches of the drawing; y grows upwards.
    scale : float, default=1.0
        Length of an inch of the drawing on paper. Sizes of text and widths of lines are multiplied
        by it.
    smallest : float, points, size of the smallest text before the multiplication
    """

    left: float
    top: float
    width: float
    height: float
    scale: float = 1.0
    smallest: float = SMALLEST

    @property
    def x(self):
        """X coordinate of the centre of the box, in inches."""
        return self.left + self.width / 2

    @property
    def y(self):
        """Y coordinate of the centre of the box, in inches."""
        return self.top - self.height / 2

    @property
    def right(self):
        """X coordinate of the right edge, in inches."""
        return self.left + self.width

    @property
    def bottom(self):
        """Y coordinate of the lower edge, in inches."""
        return self.top - self.height

    def part(self, top=0.0, height=None, margin=0.0):
        """Return the part that starts `top` inches below the upper edge, inset left and right.

        It has the given height, by default down to the lower edge.
        """
        height = self.height - top if height is None else height
        width = self.width - 2 * margin
        return self.at(self.left + margin, self.top - top, width, height)

    def at(self, left, top, width, height):
        """Return a box at another place with the same scale and smallest text."""
        return replace(self, left=left, top=top, width=width, height=height)

    def lines(self, n, height):
        """Return n parts of the same height, one below the other, vertically centred."""
        start = (self.height - n * height) / 2
        return [self.part(start + i * height, height) for i in range(n)]

    def frame(self, ax, *, rounded=False, color="0.35", fill="none", linewidth=0.8, zorder=3):
        """Draw the outline of the box into the axes, by default a grey one on the ground."""
        look = {"linewidth": linewidth * self.scale, "zorder": zorder}
        look["boxstyle"] = "round,pad=0,rounding_size=0.05" if rounded else "square,pad=0"
        look["edgecolor"] = color if color == "none" else ink(color)
        look["facecolor"] = fill if fill == "none" else ink(fill, 1.0)
        ax.add_artist(FancyBboxPatch((self.left, self.bottom), self.width, self.height, **look))

    def bar(self, ax, left, width, height, color, zorder=2):
        """Draw a horizontal bar at half height. A negative width draws it to the left."""
        place = (left, self.y - height / 2)
        ax.add_artist(Rectangle(place, width, height, color=color, linewidth=0, zorder=zorder))

    def write(
        self, ax, text, size, *, x=None, ha="center", max_width=None, may_cut=True, kept="", **style
    ):
        """Write one line at half height; text that does not fit is shrunk, and then cut.

        Parameters
        ----------
        text : str, never parsed as a formula
        size : float, points
        x : float, horizontal position of the text, default the horizontal centre
        ha : {"left", "center", "right"}, horizontal alignment at `x`
        max_width : float, available width in inches, default the width of the box
        may_cut : bool, default=True
            Whether the middle of a long text may be replaced by "…". False for numbers, since a
            part of a number would be a different number.
        kept : str, default=""
            The end of the line, which is never cut, such as the comparison with a threshold.
        **style
            Properties of :class:`matplotlib.text.Text`. The color is one on white, by default
            "0.15"; `on` is the colour behind the text, by default the ground of the picture.
        """
        width = self.width if max_width is None else max_width
        text, size = fit(text, max(size, self.smallest), width, may_cut, kept, self.smallest)
        color = ink(style.pop("color", "0.15"), TEXT, style.pop("on", None))
        style = {"va": "center_baseline", "zorder": 5, "color": color, **style}
        x = self.x if x is None else x
        size *= self.scale
        return ax.text(x, self.y, text, ha=ha, fontsize=size, parse_math=False, **style)


def fit(text, size, max_width, may_cut=True, kept="", smallest=SMALLEST):
    """Return a line and its size in points that fit into `max_width` inches.

    A long line is first shrunk. Then the middle of `text` is replaced by "…", but `kept`, the end
    of the line, stays complete. If `smallest` is not the usual one, no text is smaller.
    """
    natural = _natural_width(text + kept)
    if natural == 0 or size * natural <= max_width:
        return text + kept, size
    least = smallest if smallest != SMALLEST else 0.0
    if smallest * natural <= max_width or not may_cut:
        return text + kept, max(least, max_width / natural)
    line = shortened(text, lambda cut: smallest * _natural_width(cut + kept) <= max_width) + kept
    return line, max(least, min(smallest, max_width / _natural_width(line)))


def shortened(text, does_fit):
    """Return the longest form of a text without its middle that fits, at least two characters."""
    # Bisection over the number of characters, because long strings are slow to measure.
    fits, too_long = 2, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if does_fit(brief(text, middle)):
            fits = middle
        else:
            too_long = middle
    return brief(text, fits)


def text_width(text, size):
    """Return the width in inches of a line of text at a size in points."""
    return size * _natural_width(text)


def word_width(text, size):
    """Return the width in inches of the longest part of a text that is not broken into lines."""
    return max(text_width(part.rstrip(), size) for part in re.split(f"(?<=[{_BREAKS}])", text))


def wrap(text, size, max_width, breaks=" "):
    """Wrap a text into lines of at most `max_width` inches; line breaks are kept.

    Lines break behind the characters `breaks`.
    """
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for piece in re.split(f"(?<=[{breaks}])", paragraph):
            if line and text_width((line + piece).rstrip(), size) > max_width:
                lines.append(line.rstrip())
                line = ""
            line += piece
        lines.append(line.rstrip())
    return lines


def name_lines(name, size, max_width, n_lines=2, breaks=_BREAKS):
    """Return a name as at most `n_lines` lines; "…" replaces the middle of longer names.

    Lines break at spaces and punctuation. A word that is too long breaks at any character.
    """

    def wrapped(text):
        lines = []
        for line in wrap(text, size, max_width, breaks):
            fits = text_width(line, size) <= max_width
            lines += [line] if fits else wrap(line, size, max_width, r"\s\S")
        return lines

    lines = wrapped(name)
    if len(lines) > n_lines:
        lines = wrapped(shortened(name, lambda cut: len(wrapped(cut)) <= n_lines))
    return lines[:n_lines]


def _natural_width(text):
    """Return the width of a text in inches at a size of one point, in the font of the picture."""
    return _measured(text, default_font())


@functools.lru_cache(8192)
def _measured(text, path):
    # Measured at a large size, so that rounding does not matter.
    text, families, _ = drawable(text)
    font = FontProperties(family=[get_font(path).family_name, *families], size=100)
    return text_to_path.get_text_width_height_descent(text, font, False)[0] / 7200 * _HINTING


def is_cut(line):
    """Whether so little is left of a line that it cannot be understood."""
    return MARK in line and len(line) < _LEAST_CUT


def is_readable(ax, least, frames, begins=""):
    """Whether all text of a picture has its size, is apart, and in the figure and their box.

    Parameters
    ----------
    ax : matplotlib Axes
    least : float, points, smallest size of a text
    frames : float array of shape (2, n, 2)
        Upper left and lower right corners of the boxes of the nodes.
    begins : str
        Characters that may be cut from the beginning of a text.
    """
    ax.figure.draw_without_rendering()
    texts = [text for text in (*ax.texts, ax.title) if text.get_text().strip()]
    lines = [line.lstrip(begins) for text in texts for line in text.get_text().split("\n")]
    if any(map(is_cut, lines)):
        return False
    boxes = np.array([text.get_window_extent().extents for text in texts])
    starts, ends = boxes[:, :2], boxes[:, 2:]
    line, page = least * ax.figure.dpi / 72, ax.figure.bbox.extents
    shared = np.minimum(ends[:, None], ends) - np.maximum(starts[:, None], starts)
    overlaps = np.all(shared > _OVERLAP * line, axis=2) & ~np.eye(len(boxes), dtype=bool)
    first, last = (ax.transData.transform(corners) for corners in frames)
    (left, top), (right, bottom) = first.T[:, None], last.T[:, None]
    x, y = ((starts + ends) / 2).T[:, :, None]
    is_inside = (x > left) & (x < right) & (y > bottom) & (y < top)
    is_wide = (starts[:, :1] < left) | (ends[:, :1] > right)
    is_small = min(text.get_fontsize() for text in texts) < least - 0.01
    is_outside = np.any(starts < page[:2] - 1) or np.any(ends > page[2:] + 1)
    return not (is_small or is_outside or overlaps.any() or np.any(is_inside & is_wide))
