"""Style of pictures: parameters of Matplotlib, and fonts for what the default font lacks, or □."""

import functools
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

_AXES: dict[str, object] = {"axes.spines.top": False, "axes.spines.right": False}
_AXES |= {"axes.grid": True, "grid.color": "0.92"}
STYLE = {"font.size": 8, "font.family": "sans-serif", **_AXES}

_REPLACEMENT = "\N{WHITE SQUARE}"
_MOST_FONTS = 3  # largest number of additional fonts for one text
_MOST_LISTED = 10  # number of characters that the warning lists
_PREFERRED: tuple[str, ...] = ("Noto Sans CJK", "Noto Sans", "Source Han Sans", "WenQuanYi")
_PREFERRED += ("Hiragino", "PingFang", "Yu Gothic", "Microsoft YaHei", "MS Gothic", "Malgun Gothic")
_UNUSABLE = "Last Resort"  # it has a sign for every character, but not the characters


@contextmanager
def drawn_with(parameters):
    """Draw with parameters of Matplotlib; afterwards all have their old values again.

    The first figure of a notebook loads the backend, which turns the interactive mode on. This must
    last, because the notebook would not show later figures without it.

    Parameters
    ----------
    parameters : dict, of Matplotlib
    """
    with mpl.rc_context(parameters):
        yield
        is_interactive = mpl.is_interactive()
    mpl.interactive(is_interactive)


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
    def from_options(cls, style, width, height, figsize=None, font_size=None, ax_size=None):
        """Check the options of a picture and complete them by those of the style.

        Parameters
        ----------
        ax_size : (width, height) in inches of given axes, optional

        Raises
        ------
        ValueError
            If an option is unknown or not positive, or if two of them contradict each other.
        """
        if style not in _TARGETS:
            raise ValueError(f"style must be one of {', '.join(_TARGETS)}; got {style!r}.")
        given = {"width": width, "height": height, "figsize": figsize, "font_size": font_size}
        given = {name: value for name, value in given.items() if value is not None}
        sizes = [name for name in given if name != "font_size"] + ["ax"] * (ax_size is not None)
        if len(sizes) > 1 and sizes != ["width", "height"]:
            raise ValueError(f"Pass either {sizes[0]} or {sizes[-1]}, not both: each is a size.")
        for name, value in given.items():
            numbers = np.asarray(value)
            is_number = numbers.dtype.kind in "iuf" and numbers.shape == (2,) * (name == "figsize")
            if not is_number or not np.all((numbers > 0) & (numbers < np.inf)):
                raise ValueError(f"{name} must be finite and greater than 0; got {value!r}.")
        if style == "screen" and (not sizes or (sizes == ["ax"] and font_size is None)):
            return cls(style, None, None, font_size)
        width, height = next((s for s in (figsize, ax_size) if s is not None), (width, height))
        usual_width, usual_height, usual_size = _TARGETS[style]
        if height is None and style == "slide":
            height = usual_height if width is None else width * usual_height / usual_width
        size = font_size or usual_size or mpl.rcParams["font.size"]
        return cls(style, float(width or usual_width), height, float(size))

    @property
    def parameters(self):
        """Parameters of Matplotlib; "paper" keeps the family of the user, such as that of LaTeX."""
        own = {} if self.style == "paper" else {"font.family": "sans-serif"}
        return {**_AXES, "text.usetex": False, "font.size": self.font_size or 8, **own}

    @property
    def dpi(self):
        """Dots per inch of a new figure; images in vector files have this resolution."""
        return 300 if self.style == "paper" else 150


# Width and height in inches, and size of the smallest text in points; see `Target`.
_TARGETS = {"paper": (6.5, None, None), "slide": (40 / 3, 7.5, 16.0), "screen": (8.0, None, 8.0)}


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
    return findfont(FontProperties())


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
