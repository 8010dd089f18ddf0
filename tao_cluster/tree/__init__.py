"""The tree: a struct of arrays, its invariants, growth, pruning, storage, and what people read."""

from .tree import Split, Tree, halfway, labels_of, same_array, tree_of

__all__ = ["Split", "Tree", "halfway", "labels_of", "same_array", "tree_of"]
