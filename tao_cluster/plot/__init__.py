"""Pictures of trees, paths, histories and regions, drawn with matplotlib."""

from ..inspection.palette import cluster_color
from .curves import plot_history, plot_path, plot_regions, plot_tradeoff
from .decision_tests import plot_test, plot_tests
from .glyphs import Bars, Glyph, Image, Projection, Words
from .tree import plot_tree, save_tree

__all__ = [
    "Bars",
    "Glyph",
    "Image",
    "Projection",
    "Words",
    "cluster_color",
    "plot_history",
    "plot_path",
    "plot_regions",
    "plot_test",
    "plot_tests",
    "plot_tradeoff",
    "plot_tree",
    "save_tree",
]
