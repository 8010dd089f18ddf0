"""Style of pictures: sizes, inks that can be read on their ground, and fonts, or □ without a font.

Inks depend on what is behind them: on the face colour of the figure, and in charts on that of the
axes, as the user's style sets them. Drawings of trees have no axes, but only the figure.
"""

import functools
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

from ..inspection.palette import contrast, readable, text_color

_AXES: dict[str, object] = {"axes.spines.top": False, "axes.spines.right": False}
_AXES |= {"axes.grid": True, "axes.axisbelow": True, "legend.frameon": False, "text.usetex": False}
# Parameters of text and lines beside axes, which are drawn on the figure.
_BESIDE = "text.color axes.labelcolor axes.titlecolor axes.edgecolor legend.labelcolor xtick.color "
_BESIDE += "xtick.labelcolor ytick.color ytick.labelcolor"
_LABELS = ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
TEXT, LINE = 4.5, 3.0  # least contrasts of text, and of lines and marks, as WCAG 2.2 sets them

_MOST_PIXELS = 60_000  # limit of width and height; matplotlib renders fewer than 2 ** 16 pixels

_fonts: list[str] = []  # of the pictures that are being drawn, since each look-up takes long
_REPLACEMENT = "\N{WHITE SQUARE}"
_MOST_FONTS = 3  # largest number of additional fonts for one text
_MOST_LISTED = 10  # number of characters that the warning lists
_PREFERRED: tuple[str, ...] = ("Noto Sans CJK", "Noto Sans", "Source Han Sans", "WenQuanYi")
_PREFERRED += ("Hiragino", "PingFang", "Yu Gothic", "Microsoft YaHei", "MS Gothic", "Malgun Gothic")
_UNUSABLE = "Last Resort"  # it has a sign for every character, but not the characters


@contextmanager
def drawn_with(parameters, ax=None, *, is_chart=True):
    """Draw with parameters of Matplotlib; afterwards all have their old values again.

    The first figure of a notebook loads the backend, which turns the interactive mode on. This must
    last, because the notebook would not show later figures without it.

    Parameters
    ----------
    parameters : dict, of Matplotlib
    ax : matplotlib Axes, optional
        Given axes, whose ground may be another one than that of new axes.
    is_chart : bool, default=True
        Whether the picture shows axes, with a ground of their own.
    """
    with mpl.rc_context(parameters):
        paint = mpl.rcParams
        ink = to_rgb(paint["text.color"])
        page = to_rgb(text_color(ink))  # seen through transparent figures
        figures = [] if ax is None else [ax.get_figure(root=True), ax.figure]
        for face in [each.get_facecolor() for each in figures] or [paint["figure.facecolor"]]:
            page = _over(face, page)
        inside = paint["axes.facecolor"] if ax is None else ax.get_facecolor()
        paint["axes.facecolor"] = _over(inside, page) if is_chart else page
        paint.update(dict.fromkeys(_BESIDE.split(), readable(ink, page, TEXT)))
        paint["grid.color"] = shade("0.92")
        _fonts.append(findfont(FontProperties()))
        try:
            yield
        finally:
            _fonts.pop()
        is_interactive = mpl.is_interactive()
    mpl.interactive(is_interactive)


def _over(face, page):
    """Return the colour that a face, which may be transparent, has on a page."""
    *rgb, alpha = to_rgba(face)
    return tuple(alpha * a + (1 - alpha) * b for a, b in zip(rgb, page, strict=True))


def ink(color, least=LINE, on=None):
    """Return a colour as it is drawn on a ground, so that it can be seen: (red, green, blue).

    Parameters
    ----------
    color : str or (red, green, blue)
        A colour on white. A grey is a string such as "0.4", from the strongest ink to the ground.
    least : float, smallest contrast to the ground
    on : (red, green, blue), default the ground of the picture
    """
    ground, rgb = to_rgb(mpl.rcParams["axes.facecolor"] if on is None else on), to_rgb(color)
    if isinstance(color, str) and color.startswith(("0.", "1.")):
        rgb = _over((*to_rgb(text_color(ground)), 1.0 - float(color)), ground)
    return readable(rgb, ground, least)


def shade(grey):
    """Return a grey fill, on which the strongest ink can be read, for the ground of the picture.

    It is towards the ink or, on a ground of medium lightness, away from it.
    """
    strong, ground, fill = (np.array(ink(name, 1.0)) for name in ("0.0", "1.0", grey))
    return tuple(fill if contrast(fill, strong) >= TEXT else np.clip(2 * ground - fill, 0.0, 1.0))


class Target(NamedTuple):
    """What a picture is drawn for.

    Parameters
    ----------
    style : {"paper", "slide", "screen"}
    width, height : float, inches; None if the picture may be as wide or high as it needs
    font_size : float, points, size of the smallest text; None for the usual sizes of a screen
    """

    style: str
    width: float | None
    height: float | None
    font_size: float | None

    @classmethod
    def from_options(
        cls, style="screen", width=None, height=None, figsize=None, font_size=None, *, ax=None
    ):
        """Check the options of a picture and complete them by those of the style.

        Parameters
        ----------
        style, width, height, figsize, font_size : as for `plot_tree`
        ax : matplotlib Axes, optional
            Given axes.

        Raises
        ------
        ValueError
            If an option is not positive, or if two of them contradict each other.
        """
        if style not in _TARGETS:
            raise ValueError(f"style must be one of {', '.join(_TARGETS)}; got {style!r}.")
        given = {"width": width, "height": height, "figsize": figsize, "font_size": font_size}
        given = {name: value for name, value in given.items() if value is not None}
        sizes = [name for name in given if name != "font_size"] + ["ax"] * (ax is not None)
        if len(sizes) > 1 and sizes != ["width", "height"]:
            raise ValueError(f"Pass either {sizes[0]} or {sizes[-1]}, not both: each is a size.")
        for name, value in given.items():
            numbers = np.asarray(value)
            is_number = numbers.dtype.kind in "iuf" and numbers.shape == (2,) * (name == "figsize")
            if not is_number or not np.all((numbers > 0) & (numbers < np.inf)):
                raise ValueError(f"{name} must be finite and greater than 0; got {value!r}.")
        if style == "screen" and (not sizes or (sizes == ["ax"] and font_size is None)):
            return cls(style, None, None, font_size)
        if ax is not None or figsize is not None:
            width, height = figsize if ax is None else inches_of(ax)
        usual_width, usual_height, usual_size = _TARGETS[style]
        if height is None and style == "slide":
            height = usual_height if width is None else width * usual_height / usual_width
        usual_size = mpl.rcParams["font.size"] if style == "paper" else usual_size
        return cls(style, float(width or usual_width), height, font_size or usual_size)

    @property
    def parameters(self):
        """Parameters of Matplotlib; "paper" keeps the family of the user, such as that of LaTeX."""
        own = {} if self.style == "paper" else {"font.family": "sans-serif"}
        return {**_AXES, "font.size": self.font_size or 8, **own}

    @property
    def of_chart(self):
        """Parameters of Matplotlib of a chart: fonts of rcParams unless a size is given."""
        fonts = dict.fromkeys(_LABELS, "medium") | self.parameters if self.font_size else _AXES
        unit = max(1.0, (self.font_size or font_size()) / 10)
        return {**fonts, "lines.linewidth": unit, "lines.markersize": 4 * unit}

    def too_small(self, what, *size, further=""):
        """Return the ValueError of a picture that needs this (width, height) in inches, or more."""
        sizes = zip(("width", "height"), size, strict=False)
        least = [f"{side}={np.ceil(10 * inches - 1e-6) / 10:g}" for side, inches in sizes]
        needs = f"; it needs at least {' and '.join(least)} inches" if least else ""
        return ValueError(
            f"The {what} cannot be read at this size with text of {font_size():g} points{needs}. "
            f"Give it a larger size or a smaller font_size.{further}"
        )

    @property
    def dpi(self):
        """Dots per inch of a new figure; images in vector files have this resolution."""
        return 300 if self.style == "paper" else 150


# Width and height in inches, and size of the smallest text in points; see `Target`.
_TARGETS = {"paper": (6.5, None, None), "slide": (40 / 3, 7.5, 16.0), "screen": (8.0, None, None)}


def new_axes(width, height, above, target):
    """Return new axes in a figure, with space for the title above them.

    The figure has the size of the target, or else the width and height, all in inches.
    """
    width, height = target.width or width, target.height or height
    dpi = min(target.dpi, _MOST_PIXELS / max(width, height))
    figure = plt.figure(figsize=(width, height), dpi=dpi)
    return figure.add_axes((0, 0, 1, 1 - above / height))


def inches_of(ax):
    """Return the width and height of axes in inches."""
    box = ax.get_position()
    return np.array([box.width, box.height]) * ax.get_figure(root=True).get_size_inches()


class Drawable(NamedTuple):
    """A text as it can be drawn.

    Parameters
    ----------
    text : str
        The text with □ in place of each character that no installed font has.
    families : list of str
        Names of the fonts that are needed besides the default font.
    lost : set of str
        The replaced characters.
    """

    text: str
    families: list[str]
    lost: set[str]


def drawable(text):
    """Return a text as it can be drawn with the installed fonts: Drawable."""
    if text.isascii():
        return Drawable(text, [], set())
    lacking = frozenset(c for c in text if not c.isspace()) - _characters(default_font())
    if not lacking:
        return Drawable(text, [], set())
    families, lost = _additional_fonts(lacking, len(fontManager.ttflist))
    return Drawable("".join(_REPLACEMENT if c in lost else c for c in text), families, {*lost})


def make_drawable(artist, names=()):
    """Give each text below an artist the fonts that it needs.

    Parameters
    ----------
    artist : matplotlib artist
    names : iterable of str
        Texts of which :func:`drawable` was drawn already; the warning counts their characters, too.

    Warns
    -----
    UserWarning
        If no installed font has some characters. There is one warning for all of them.
    """
    lost = set().union(*(drawable(name).lost for name in names))
    for text in artist.findobj(Text):
        found = drawable(text.get_text())
        if found.families or found.lost:
            text.set_text(found.text)
            text.set_fontfamily([*text.get_fontfamily(), *found.families])
            lost |= found.lost
    if lost:
        listed = "".join(sorted(lost)[:_MOST_LISTED]) + ("…" if len(lost) > _MOST_LISTED else "")
        warnings.warn(
            f"No installed font has the characters {listed!r}; the picture shows {_REPLACEMENT} "
            "instead. Install a font that has them, such as Noto Sans CJK, or pass its file to "
            "matplotlib.font_manager.fontManager.addfont.",
            stacklevel=2,
        )


def font_size():
    """Return the size in points of the text of a picture with axes."""
    return float(mpl.rcParams["font.size"])


def default_font():
    """Return the path of the font that matplotlib uses now."""
    return _fonts[-1] if _fonts else findfont(FontProperties())


@functools.lru_cache(512)
def _characters(path):
    """Return the characters of a font file: frozenset of str. It is empty for unreadable files."""
    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@functools.lru_cache(512)
def _additional_fonts(lacking, n_installed):
    """Return the names of fonts that have as many of some characters as possible, and the rest.

    The number of installed fonts is a part of the key of the cache.
    """
    del n_installed
    paths = {
        entry.name: entry.fname
        for entry in fontManager.ttflist
        if _UNUSABLE not in entry.name and entry.style == "normal"
    }
    order = sorted(paths, key=lambda name: (not name.startswith(_PREFERRED), name))
    families = []
    while lacking and len(families) < _MOST_FONTS:
        best = max(order, key=lambda name: len(lacking & _characters(paths[name])), default=None)
        covered = frozenset() if best is None else lacking & _characters(paths[best])
        if not covered:
            break
        families.append(best)
        lacking -= covered
    return families, lacking
