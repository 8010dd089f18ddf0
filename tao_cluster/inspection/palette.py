"""Colours of clusters, methods and signed weights, used by pictures and the page."""

import functools
import itertools
import re
from typing import NamedTuple

import numpy as np

# Colours from the largest negative weight to the largest positive one, with white at 0.
SIGNED_STOPS = ("#053061", "#2f79b5", "#a7cfe4", "#ffffff", "#f9b99b", "#c8373d", "#67001f")
POSITIVE, NEGATIVE = "#b2222c", "#1f66a8"  # for numbers > 0 and < 0; readable on white

# Hues of clusters: calm (OKLab chroma of 0.06 to 0.13) and similar in lightness (0.60 to 0.84), so
# that black text has a contrast of at least 5 on all. An exchange search maximised the smallest
# distance over protanopia, deuteranopia and tritanopia (Machado et al. 2009, severity 1), which is
# 0.074 in OKLab; in normal vision it is 0.125. Those that differ most come first.
_HUES: tuple[str, ...] = ("#5f9ce8", "#e5a34a", "#448f86", "#bd645b", "#c5d572", "#8b6fbe")
_HUES += ("#7ddae8", "#d17cb8", "#a88806", "#b6aeff", "#8cae89", "#f5b6b7")
_DEEP, _PALE = 0.5, 0.5  # share of the intensity, and of the colour beside white
_GREY, _WITHOUT_CLUSTER = (0.6, 0.6, 0.6), ("no segment", "noise")


class Look(NamedTuple):
    """The colour and the marker of a method in all pictures of costs.

    Parameters
    ----------
    color : str
    marker : str, a marker of matplotlib
    is_hollow : bool
        Hollow markers are larger, so that the points below them remain visible.
    """

    color: str
    marker: str
    is_hollow: bool


# The keys are the titles of methods, as `method_look` shortens them. The first colours are those of
# Okabe and Ito. The last ones, and those of `_OTHER_LOOKS`, are the colours of a grid of 16 ** 3
# that are farthest from all before them, as for clusters.
_METHODS = {
    "taooblique": Look("#0072B2", "o", is_hollow=False),
    "taoaxis": Look("#009E73", "s", is_hollow=True),
    "exkmc": Look("#D55E00", "D", is_hollow=False),
    "imm": Look("#000000", "^", is_hollow=True),
    "cart": Look("#56B4E9", "v", is_hollow=False),
    "exgreedy": Look("#888888", "P", is_hollow=True),
    "exshallow": Look("#6B4F1D", "X", is_hollow=True),
    "kauri": Look("#AA1155", "<", is_hollow=False),
    "spex": Look("#5E3C99", ">", is_hollow=True),
    "spexoblique": Look("#8877FF", ">", is_hollow=False),
    "kdtree": Look("#77BB99", "d", is_hollow=False),
    "cubt": Look("#771100", "p", is_hollow=True),
    "cltree": Look("#0044DD", "h", is_hollow=False),
    "emn": Look("#0099BB", "^", is_hollow=False),
    "randomcuts": Look("#AA5544", "*", is_hollow=True),
    "dptree": Look("#114477", "v", is_hollow=True),
    "mixturetree": Look("#771155", "H", is_hollow=False),
    "divclust": Look("#FF00DD", "8", is_hollow=True),
}
_OTHER_LOOKS = (
    Look("#CCAA00", "o", is_hollow=False),
    Look("#551133", "s", is_hollow=True),
    Look("#FF4466", "D", is_hollow=False),
    Look("#002277", "^", is_hollow=True),
    Look("#885588", "v", is_hollow=False),
    Look("#3300BB", "P", is_hollow=True),
)


def cluster_color(label, name=None):
    """Return the colour of a cluster as (red, green, blue), each from 0 to 1.

    All pictures and pages use it. It depends on nothing but the number of the cluster, which a
    refit keeps. The first 12 colours differ also for readers with a colour deficiency. Clusters 12
    to 23 have the same hues in a deeper shade, clusters 24 to 35 in a paler one; then the colours
    repeat. Text is readable on every colour: white on the deeper shade, and black on the others.

    Parameters
    ----------
    label : int
        Number of the cluster; -1, for rows without a cluster, is grey.
    name : str, optional
        Name of the cluster. Grey also shows clusters with the name "no segment" or "noise", whose
        position in a tree is not -1.

    Returns
    -------
    tuple of three floats

    Examples
    --------
    >>> from tao_cluster.plot import cluster_color
    >>> [round(value, 2) for value in cluster_color(0)]
    [0.37, 0.61, 0.91]
    >>> cluster_color(-1)
    (0.6, 0.6, 0.6)
    """
    if label < 0 or name in _WITHOUT_CLUSTER:
        return _GREY
    level, hue = divmod(int(label), len(_HUES))
    color = tuple(int(_HUES[hue][i : i + 2], 16) / 255 for i in (1, 3, 5))
    deep = tuple(_DEEP * value for value in color)
    return (color, deep, tint(color, _PALE))[level % 3]


def tint(color, share):
    """Return a paler colour: `share` of the colour (red, green, blue), and otherwise white."""
    return tuple(1.0 - share * (1.0 - value) for value in color)


@functools.lru_cache(4096)
def readable(color, ground=(1.0, 1.0, 1.0), least=2.0):
    """Return a colour with at least a contrast to a ground, mixed with black or white if necessary.

    The defaults are those of lines, frames and dots on white.

    Parameters
    ----------
    color, ground : (red, green, blue), each from 0 to 1
    least : float, at most 4.58, which either black or white has on every ground
    """
    end = float(text_color(ground) == "white")
    for share in np.linspace(0.0, 1.0, 51).tolist():
        mixed = tuple(value + share * (end - value) for value in color)
        if contrast(mixed, ground) >= least:
            break
    return mixed


def contrast(a, b):
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    dark, light = sorted([luminance(a), luminance(b)])
    return (light + 0.05) / (dark + 0.05)


def method_look(title):
    """Return the look of a method, given its title in `compare` or its class; None if unknown.

    Examples
    --------
    >>> method_look("k-d tree") == method_look("KDTree"), method_look("mine") is None
    (True, True)
    """
    return _METHODS.get(_key(title))


def _key(title):
    return re.sub("[^a-z0-9]", "", title.lower())


def series_looks(methods):
    """Return the look of each series of a picture: dict of Look by the name of the series.

    A known method has the same look in every picture. A further series of the same method, and a
    method without a look of its own, gets one of the other looks, in the order of the series.

    Parameters
    ----------
    methods : dict of str to str, the title of the method of each series
    """
    others, taken, found = itertools.cycle(_OTHER_LOOKS), set(), {}
    for name, title in methods.items():
        look = method_look(title)
        found[name] = next(others) if look is None or look in taken else look
        taken.add(look)
    return found


def text_color(background):
    """Return "black" or "white", whichever has the larger contrast to a background colour."""
    black, white = (contrast(background, (grey, grey, grey)) for grey in (0.0, 1.0))
    return "white" if white > black else "black"


def luminance(rgb):
    """Return the relative luminance of a colour, from 0 to 1, as WCAG 2.2 defines it."""
    return float(linear(rgb) @ (0.2126, 0.7152, 0.0722))


def linear(rgb):
    """Return the linear intensities of sRGB colours: float array of the same shape."""
    rgb = np.asarray(rgb)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def hex_color(rgb):
    """Return a colour as "#rrggbb"."""
    return "#" + "".join(f"{round(255 * value):02x}" for value in rgb)
