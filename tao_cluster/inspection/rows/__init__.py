"""Rows in a tree: what they look like at its nodes, and the ways that they take."""

from .at_nodes import Rows, picture_kind
from .ways import ways

__all__ = ["Rows", "picture_kind", "ways"]
