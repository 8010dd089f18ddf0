"""Colours of clusters and of signed weights, used by pictures and the page."""

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
_EQUAL_CONTRAST = 0.05 * (21**0.5 - 1)  # luminance with equal contrast to black and to white


def cluster_color(label):
    """Return the colour of a cluster as (red, green, blue), each from 0 to 1.

    It does not depend on the number of clusters. Colours repeat after 64 clusters.
    """
    text = _CLUSTERS[label % len(_CLUSTERS)]
    return tuple(int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))


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
