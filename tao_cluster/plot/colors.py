"""Colours of pictures: those of the palette, as matplotlib takes them."""

from matplotlib.colors import LinearSegmentedColormap

from ..inspection.palette import NEGATIVE, POSITIVE, SIGNED_STOPS, cluster_color, oklab, text_color

__all__ = ["NEGATIVE", "POSITIVE", "SIGNED", "cluster_color", "oklab", "text_color"]

# Diverging, and white at 0 to the last bit: a faint pixel is a weight, not the background.
SIGNED = LinearSegmentedColormap.from_list("signed", list(SIGNED_STOPS), N=255)
