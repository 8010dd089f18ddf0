"""Exports: the tree in forms that people and other programs read."""

from .dataframe import from_dict, to_dataframe, to_dict
from .dot import to_dot
from .format import Indicator
from .onnx import to_onnx
from .sql import to_sql
from .text import to_rules, to_text

__all__ = [
    "Indicator",
    "from_dict",
    "to_dataframe",
    "to_dict",
    "to_dot",
    "to_onnx",
    "to_rules",
    "to_sql",
    "to_text",
]
