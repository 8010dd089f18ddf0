"""The picture of a tree: tests at the nodes, what the rows look like at the leaves."""

from .drawing import plot_tree, save_tree

__all__ = ["plot_tree", "save_tree"]
