"""Colours of clusters and of signed weights, the same in pictures and on the page."""

import functools

import numpy as np

# From the largest negative weight over 0 to the largest positive one: white at 0.
SIGNED_STOPS = ("#053061", "#2f79b5", "#a7cfe4", "#ffffff", "#f9b99b", "#c8373d", "#67001f")
POSITIVE, NEGATIVE = "#b2222c", "#1f66a8"  # right and left, dark enough for text on white

# Ten that readers with and without a colour deficiency tell apart: found by exchange over a grid
# of 16 ** 3 colours, for the largest least distance over three kinds of sight, that of the common
# one counted 0.72 times. The order is farthest first, so that few clusters are farther apart.
_FIRST = (
    *("#0066dd", "#ddcc33", "#886600", "#00ddff", "#551199"),
    *("#880022", "#ff8899", "#aa88ff", "#bb4488", "#66aa00"),
)
_EVEN = 0.05 * (21**0.5 - 1)  # luminance whose contrasts with black and white are equal
_MOST_COLORS = 64  # then they repeat: nobody tells more apart
_LIGHTNESS = (0.4, 0.82)  # of OKLab: seen on white, and apart from black frames
_CHROMA = (0.06, 0.2)  # greys are for edges, and glaring colours for nobody
_LMS = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
_LAB = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]

# What linear RGB looks like to readers who lack a kind of cone.
# Machado, Oliveira, Fernandes, A Physiologically-based Model for Simulation of Color Vision
# Deficiency, 2009, severity 1.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def cluster_color(label):
    """Colour of a cluster, as (red, green, blue); it does not depend on how many there are."""
    return _palette()[label % _MOST_COLORS]


def text_color(background):
    """Black or white, whichever is read better on a colour."""
    return "white" if luminance(background) < _EVEN else "black"


def luminance(rgb):
    """Relative luminance of a colour, 0 to 1, as contrasts are computed of it (WCAG 2.2)."""
    return float(_linear(np.array(rgb)) @ (0.2126, 0.7152, 0.0722))


def hex_color(rgb):
    """A colour as "#rrggbb"."""
    return "#" + "".join(f"{round(255 * value):02x}" for value in rgb)


def oklab(rgb, deficiency=None):
    """Lightness and two opponent axes in which distances are about as they look (Ottosson).

    Parameters
    ----------
    rgb : float array of shape (..., 3), 0 to 1
    deficiency : {"protanopia", "deuteranopia"}, optional
        Of the eyes to which they look so.
    """
    linear = _linear(rgb)
    if deficiency is not None:
        linear = np.clip(linear @ np.transpose(DEFICIENCIES[deficiency]), 0.0, 1.0)
    return np.cbrt(linear @ np.transpose(_LMS)) @ np.transpose(_LAB)


def _linear(rgb):
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _rgb(text):
    return tuple(int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))


@functools.cache
def _palette():
    """The ten, then always the colour farthest from those before."""
    chosen = [_rgb(text) for text in _FIRST]
    steps = np.linspace(0.0, 1.0, 13)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    places = oklab(grid)
    usable = (places[:, 0] > _LIGHTNESS[0]) & (places[:, 0] < _LIGHTNESS[1])
    chroma = np.hypot(places[:, 1], places[:, 2])
    usable &= (chroma > _CHROMA[0]) & (chroma < _CHROMA[1])
    grid, places = grid[usable], places[usable]
    nearest = np.full(len(grid), np.inf)
    for color in chosen:
        nearest = np.minimum(nearest, _distance(places, color))
    while len(chosen) < _MOST_COLORS:
        chosen.append(tuple(grid[nearest.argmax()].tolist()))
        nearest = np.minimum(nearest, _distance(places, chosen[-1]))
    return chosen


def _distance(places, color):
    return np.linalg.norm(places - oklab(np.array(color)), axis=1)
