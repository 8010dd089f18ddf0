"""The tree: a struct of arrays, its invariants, growth, pruning, storage, and what people read."""

from .tree import Split, Tree, labels_of, midpoint, same_array, tree_of

__all__ = ["Split", "Tree", "labels_of", "midpoint", "same_array", "tree_of"]
