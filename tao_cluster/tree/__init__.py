"""Trees: arrays, validation, growth, pruning, routing, and storage."""

from .tree import Split, Tree, labels_of, midpoint, same_array, tree_of

__all__ = ["Split", "Tree", "labels_of", "midpoint", "same_array", "tree_of"]
