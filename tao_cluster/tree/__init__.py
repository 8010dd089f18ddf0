"""The tree: a struct of arrays, its invariants, growth, pruning, storage, and what people read."""

from .split import Split
from .tree import Tree, labels_of, same_array, tree_of

__all__ = ["Split", "Tree", "labels_of", "same_array", "tree_of"]
