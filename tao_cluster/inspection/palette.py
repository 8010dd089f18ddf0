"""Colours of clusters, methods and signed weights, used by pictures and the page."""

import itertools
import re
from typing import NamedTuple

import numpy as np

# Colours from the largest negative weight to the largest positive one, with white at 0.
SIGNED_STOPS = ("#053061", "#2f79b5", "#a7cfe4", "#ffffff", "#f9b99b", "#c8373d", "#67001f")
POSITIVE, NEGATIVE = "#b2222c", "#1f66a8"  # for numbers > 0 and < 0; readable on white

# The first ten colours are easy to distinguish with and without a colour deficiency. An exchange
# search over a grid of 16 ** 3 colours maximised their smallest distance over three kinds of
# vision, with distances in normal vision multiplied by 0.72. They are sorted so that the first few
# are farthest apart. Each further colour is the one of a grid of 13 ** 3 that is farthest from all
# before it, among colours that are neither grey nor glaring and visible on white (OKLab chroma of
# 0.06 to 0.2, lightness of 0.4 to 0.82).
_CLUSTERS = (
    *("#0066dd", "#ddcc33", "#886600", "#00ddff", "#551199", "#880022", "#ff8899", "#aa88ff"),
    *("#bb4488", "#66aa00", "#005555", "#5595aa", "#d48000", "#008000", "#55d495", "#6a5595"),
    *("#ff95ff", "#bf2a00", "#2a95ff", "#bfaad4", "#ea5555", "#0040aa", "#9555d4", "#6a4000"),
    *("#80006a", "#95aa80", "#aa80aa", "#ffaa6a", "#2a806a", "#ea6abf", "#006a95", "#00aa80"),
    *("#955555", "#6a4055", "#2a5500", "#aa0055", "#bfaa00", "#802aaa", "#2abfbf", "#95d42a"),
    *("#80aaff", "#aa806a", "#5540bf", "#8080d4", "#404080", "#d49580", "#95952a", "#2a80bf"),
    *("#bfbf80", "#ff8040", "#bf55bf", "#409540", "#954000", "#00bfff", "#556a00", "#bf5555"),
    *("#2abf6a", "#eaaaaa", "#954080", "#808055", "#00aad4", "#6a6aea", "#006a40", "#d45500"),
)


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
# What the titles of methods stand for, with the keys of `_METHODS`.
_LONG_NAMES = {
    "taooblique": "tree alternating optimization, sums of features",
    "taoaxis": "tree alternating optimization, single features",
    "exkmc": "expanding explainable k-means clustering",
    "imm": "iterative mistake minimization",
    "cart": "classification and regression trees",
    "exgreedy": "greedy cuts, one leaf per cluster",
    "exshallow": "short explanations, one leaf per cluster",
    "kauri": "k-means as unsupervised reward ideal",
    "spex": "cuts of small conductance",
    "spexoblique": "oblique cuts of small conductance",
    "kdtree": "median cuts",
    "cubt": "clustering using unsupervised binary trees",
    "cltree": "clustering by tree construction",
    "emn": "random cuts of Esfandiari, Mirrokni, Narayanan",
    "randomcuts": "best of several trees",
    "dptree": "dynamic programming, one feature",
    "mixturetree": "tree of a Gaussian mixture",
    "divclust": "divisive clustering, one leaf per cluster",
}
_OTHER_LOOKS = (
    Look("#CCAA00", "o", is_hollow=False),
    Look("#551133", "s", is_hollow=True),
    Look("#FF4466", "D", is_hollow=False),
    Look("#002277", "^", is_hollow=True),
    Look("#885588", "v", is_hollow=False),
    Look("#3300BB", "P", is_hollow=True),
)
_EQUAL_CONTRAST = 0.05 * (21**0.5 - 1)  # luminance with equal contrast to black and to white


def cluster_color(label):
    """Return the colour of a cluster as (red, green, blue), each from 0 to 1.

    All pictures and pages use it. It does not depend on the number of clusters. Colours repeat
    after 64 clusters.

    Examples
    --------
    >>> from tao_cluster.plot import cluster_color
    >>> cluster_color(0)
    (0.0, 0.4, 0.8666666666666667)
    """
    text = _CLUSTERS[label % len(_CLUSTERS)]
    return tuple(int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))


def tint(color, share):
    """Return a paler colour: `share` of the colour (red, green, blue), and otherwise white."""
    return tuple(1.0 - share * (1.0 - value) for value in color)


def method_look(title):
    """Return the look of a method, given its title in `compare` or its class; None if unknown.

    Examples
    --------
    >>> method_look("k-d tree") == method_look("KDTree"), method_look("mine") is None
    (True, True)
    """
    return _METHODS.get(_key(title))


def long_name(title):
    """Return what the title of a method stands for; empty if the method is unknown."""
    return _LONG_NAMES.get(_key(title), "")


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
    return "white" if luminance(background) < _EQUAL_CONTRAST else "black"


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
