"""Colours of clusters and of signed weights, the same in pictures and on the page."""

import numpy as np

# From the largest negative weight over 0 to the largest positive one: white at 0.
SIGNED_STOPS = ("#053061", "#2f79b5", "#a7cfe4", "#ffffff", "#f9b99b", "#c8373d", "#67001f")
POSITIVE, NEGATIVE = "#b2222c", "#1f66a8"  # right and left, dark enough for text on white

# The first ten are those that readers with and without a colour deficiency tell apart best: found
# by exchange over a grid of 16 ** 3 colours, for the largest least distance over three kinds of
# sight, that of the common one counted 0.72 times; farthest first, so that few clusters are
# farther apart. Each of the others is the colour of a grid of 13 ** 3 farthest from those before,
# neither grey nor glaring (chroma 0.06 to 0.2 in OKLab), and seen on white (lightness 0.4 to 0.82).
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
_EVEN = 0.05 * (21**0.5 - 1)  # luminance whose contrasts with black and white are equal


def cluster_color(label):
    """Colour of a cluster, as (red, green, blue); it does not depend on how many there are.

    After 64 clusters the colours repeat: nobody tells more apart.
    """
    text = _CLUSTERS[label % len(_CLUSTERS)]
    return tuple(int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))


def text_color(background):
    """Black or white, whichever is read better on a colour."""
    return "white" if luminance(background) < _EVEN else "black"


def luminance(rgb):
    """Relative luminance of a colour, 0 to 1, as contrasts are computed of it (WCAG 2.2)."""
    return float(linear(rgb) @ (0.2126, 0.7152, 0.0722))


def linear(rgb):
    """Amounts of light of an sRGB colour, or of several: float array."""
    rgb = np.asarray(rgb)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def hex_color(rgb):
    """A colour as "#rrggbb"."""
    return "#" + "".join(f"{round(255 * value):02x}" for value in rgb)
