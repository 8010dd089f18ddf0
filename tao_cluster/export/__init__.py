"""Exports: the tree in forms that people and other programs read."""

from .plain import from_dict, to_dict
from .rules import to_rules
from .text import to_text

__all__ = ["from_dict", "to_dict", "to_rules", "to_text"]
