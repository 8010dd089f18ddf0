"""Pictures of trees, with matplotlib; no other part imports it."""

from .curves import plot_history, plot_path, plot_tradeoff
from .regions import plot_regions
from .tree import plot_tree, save_tree

__all__ = [
    "plot_history",
    "plot_path",
    "plot_regions",
    "plot_tradeoff",
    "plot_tree",
    "save_tree",
]
