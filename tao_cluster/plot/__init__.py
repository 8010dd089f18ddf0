"""Pictures of trees, with matplotlib; no other part imports it."""

from .tree import plot_tree, save_tree

__all__ = ["plot_tree", "save_tree"]
