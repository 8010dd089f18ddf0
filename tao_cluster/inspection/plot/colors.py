"""Colours: one a cluster wherever it is drawn, and the diverging scale of signed weights."""

import functools

import numpy as np
from matplotlib.colors import TABLEAU_COLORS, LinearSegmentedColormap, to_rgb

# Diverging, and white at 0 to the last bit: a faint pixel is a weight, not the background.
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#053061", "#2f79b5", "#a7cfe4", "#ffffff", "#f9b99b", "#c8373d", "#67001f"], N=255
)
POSITIVE, NEGATIVE = "#b2222c", "#1f66a8"  # right and left, dark enough for text on white

_MOST_COLORS = 64  # then they repeat: nobody tells more apart
_LIGHTNESS = (0.4, 0.82)  # of OKLab: seen on white, and apart from black frames
_CHROMA = (0.06, 0.2)  # greys are for edges, and glaring colours for nobody
_LMS = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
_LAB = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]


def cluster_color(label):
    """Colour of a cluster, as (red, green, blue); it does not depend on how many there are."""
    return _palette()[label % _MOST_COLORS]


def text_color(background):
    """Black or white, whichever is read better on a colour."""
    return "white" if oklab(np.array(background))[0] < 0.7 else "black"


def oklab(rgb):
    """Lightness and two opponent axes in which distances are about as they look (Ottosson)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ np.transpose(_LMS)) @ np.transpose(_LAB)


@functools.cache
def _palette():
    """The well-known ten without grey, then always the colour farthest from those before."""
    chosen = [to_rgb(value) for name, value in TABLEAU_COLORS.items() if name != "tab:gray"]
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
        chosen.append(tuple(grid[nearest.argmax()]))
        nearest = np.minimum(nearest, _distance(places, chosen[-1]))
    return chosen


def _distance(places, color):
    return np.linalg.norm(places - oklab(np.array(color)), axis=1)
