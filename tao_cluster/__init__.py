"""Explainable clustering by decision trees."""

from .tree import Tree

__version__ = "0.1.0"
__all__ = ["Tree", "__version__"]
